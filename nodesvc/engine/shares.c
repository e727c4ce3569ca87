/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shares.c - reads a view: competitors, domains, sizes.
 */
#include "nodesvc/engine/internal.h"

#include <errno.h>
#include <string.h>

void shares_init(struct shares *c, const struct policy_cfg *cfg)
{
	size_t jobs = (size_t)cfg->max_jobs, cores = (size_t)cfg->topo->n_cores;
	size_t domains = (size_t)cfg->topo->n_domains, most = jobs > cores ? jobs : cores;

	memset(c, 0, sizeof(*c));
	c->t = cfg->topo;
	c->max_jobs = cfg->max_jobs;
	c->independent = cfg->multi_node_independent;
	c->job = arena_alloc(cfg->memory, jobs, sizeof(int));
	c->size = arena_alloc(cfg->memory, jobs, sizeof(int));
	c->domain = arena_alloc(cfg->memory, domains, sizeof(int));
	c->capacity = arena_alloc(cfg->memory, domains, sizeof(int));
	c->first_core = arena_alloc(cfg->memory, domains, sizeof(int));
	c->core = arena_alloc(cfg->memory, cores, sizeof(int));
	c->core_domain = arena_alloc(cfg->memory, cores, sizeof(int));
	c->owner = arena_alloc(cfg->memory, cores, sizeof(int));
	c->running = arena_alloc(cfg->memory, cores, sizeof(int));
	c->words = c->t->n_words;
	c->scratch = arena_alloc(cfg->memory, 4 * most, sizeof(int));
	c->member = arena_alloc(cfg->memory, jobs, sizeof(int));
	c->first_member = arena_alloc(cfg->memory, domains + 1, sizeof(int));
	c->load = arena_alloc(cfg->memory, domains, sizeof(*c->load));
	c->sorted = arena_alloc(cfg->memory, jobs, sizeof(int));
	c->envelope = arena_alloc(cfg->memory, jobs, sizeof(*c->envelope));
	c->of_job = arena_alloc(cfg->memory, jobs, sizeof(*c->of_job));
	c->base = arena_alloc(cfg->memory, jobs, sizeof(*c->base));
	c->piece = arena_alloc(cfg->memory, jobs, sizeof(*c->piece));
	c->allowed = arena_alloc(cfg->memory, jobs * domains, 1);
	c->polls = arena_alloc(cfg->memory, jobs, sizeof(*c->polls));
	c->reach = arena_alloc(cfg->memory, jobs, sizeof(*c->reach));
	c->here = arena_alloc(cfg->memory, jobs, sizeof(*c->here));
	c->place = arena_alloc(cfg->memory, cores, sizeof(int));
	c->queue = arena_alloc(cfg->memory, jobs, sizeof(int));
	c->before = arena_alloc(cfg->memory, jobs, sizeof(int));
	c->full = arena_alloc(cfg->memory, jobs, sizeof(bool));
	c->via = arena_alloc(cfg->memory, jobs, sizeof(int));
}

/* Where view job @i goes among the first @n of sorted[]. */
static int place_of(const struct shares *c, int n, int i)
{
	int low = 0, high = n;

	if (view_is_earlier(c->v, c->sorted[n - 1], i))
		return n;
	if (n == 1 || view_is_earlier(c->v, c->sorted[n - 2], i))
		return n - 1;
	while (low < high) {
		int mid = (low + high) / 2;

		if (view_is_earlier(c->v, c->sorted[mid], i))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* All jobs of the view by arrival. One view's order is mostly that of the view before. */
static void sort_jobs(struct shares *c)
{
	if (c->n_sorted != c->v->n_jobs)
		for (int i = 0; i < c->v->n_jobs; i++)
			c->sorted[i] = i;
	c->n_sorted = c->v->n_jobs;
	for (int n = 1; n < c->n_sorted; n++) {
		int i = c->sorted[n], at = place_of(c, n, i);

		if (at == n)
			continue;
		memmove(c->sorted + at + 1, c->sorted + at, (size_t)(n - at) * sizeof(int));
		c->sorted[at] = i;
	}
}

/* Competitors by arrival; the others are placed. */
static int collect_jobs(struct shares *c, struct plan *p, struct errbuf *err)
{
	const struct view *v = c->v;

	for (int i = 0; i < v->n_jobs; i++) {
		const struct coreset *base;

		c->of_job[i] = NULL;
		if (v->job[i].excluded) {
			plan_why(p, i, "excluded: stays where it is");
			continue;
		}
		base = bits_empty(&v->job[i].envelope, c->words) ? &c->t->all : &v->job[i].envelope;
		if (v->reserved) {
			coreset_andnot(&c->base[i], base, v->reserved);
			base = &c->base[i];
		}
		if (bits_empty(base, c->words))
			return err_set(err, -EINVAL,
				"job %s: envelope: no CPU is left in it (reserved?)", v->job[i].id);
		if (v->job[i].cores > 0 && v->job[i].cores > topo_count_cores(c->t, base))
			return err_set(err, -EINVAL, "job %s: cores: %d, but its envelope has %d",
				v->job[i].id, v->job[i].cores, topo_count_cores(c->t, base));
		if (v->job[i].nodes > 1 && !c->independent) {
			p->job[i].coreset = *base;
			plan_why(p, i, "step of %d nodes: keeps its whole envelope",
				v->job[i].nodes);
			continue;
		}
		c->of_job[i] = base;
	}
	sort_jobs(c);
	c->n = 0;
	for (int s = 0; s < v->n_jobs; s++) {
		int i = c->sorted[s];

		if (!c->of_job[i])
			continue;
		c->job[c->n] = i;
		c->envelope[c->n++] = c->of_job[i];
	}
	return 0;
}

static void drop_job(struct shares *c, int k)
{
	c->n--;
	for (; k < c->n; k++) {
		c->job[k] = c->job[k + 1];
		c->size[k] = c->size[k + 1];
		c->envelope[k] = c->envelope[k + 1];
	}
}

static bool same_envelopes(const struct shares *c)
{
	for (int k = 1; k < c->n; k++)
		if (c->envelope[0] != c->envelope[k] &&
			!coreset_is_equal(c->envelope[0], c->envelope[k]))
			return false;
	return true;
}

/* Jobs whose cores nobody else may have get them all and compete no more. */
static void settle_loners(struct shares *c, struct plan *p)
{
	struct coreset mine, some, several;

	/* The cores of one who goes are nobody else's: the others' neighbours stay the same. */
	coreset_zero(&some);
	coreset_zero(&several);
	for (int k = 0; k < c->n; k++) {
		topo_whole_cores(c->t, c->envelope[k], &mine);
		for (int i = 0; i < c->words; i++) {
			several.w[i] |= some.w[i] & mine.w[i];
			some.w[i] |= mine.w[i];
		}
	}
	for (int k = 0; k < c->n;) {
		topo_whole_cores(c->t, c->envelope[k], &mine);
		if (bits_intersect(&mine, &several, c->words)) {
			k++;
			continue;
		}
		p->job[c->job[k]].coreset = *c->envelope[k];
		plan_why(p, c->job[k], "alone in its envelope: all of it");
		drop_job(c, k);
	}
}

static void collect_cores(struct shares *c)
{
	struct coreset usable;
	bool whole = c->uniform && c->envelope[0] == &c->t->all && !c->v->capacity;

	if (whole && c->whole) {
		c->n_domains = c->t->n_domains;
		c->total = c->t->n_cores;
		return;
	}
	c->whole = whole;
	usable = *c->envelope[0];
	for (int k = 1; k < c->n && !c->uniform; k++)
		coreset_or(&usable, &usable, c->envelope[k]);
	c->n_domains = 0;
	c->total = 0;
	for (int i = 0; i < c->t->n_cores; i++)
		c->core_domain[i] = -1;
	for (int d = 0; d < c->t->n_domains; d++) {
		const struct topo_domain *td = &c->t->domain[d];
		int limit =
			c->v->capacity && d < c->v->n_capacity ? c->v->capacity[d] : td->n_cores;
		int n = 0;

		c->first_core[c->n_domains] = c->total;
		for (int i = 0; i < td->n_cores && n < limit; i++) {
			int core = c->t->domain_core[td->first_core + i];

			if (!bits_intersect(&c->t->core[core].pus, &usable, c->words))
				continue;
			c->core_domain[core] = c->n_domains;
			c->core[c->total++] = core;
			n++;
		}
		if (n == 0)
			continue;
		c->domain[c->n_domains] = d;
		c->capacity[c->n_domains++] = n;
	}
}

/* Which cores and domains each job may use, where that is not all. */
static void fill_reach(struct shares *c)
{
	size_t stride = (size_t)c->t->n_domains;

	if (c->uniform)
		return;
	for (int i = 0; i < c->total; i++)
		c->place[c->core[i]] = i;
	memset(c->allowed, 0, (size_t)c->n * stride);
	for (int k = 0; k < c->n; k++) {
		const struct coreset *now = &c->v->job[c->job[k]].current;

		coreset_zero(&c->reach[k]);
		coreset_zero(&c->here[k]);
		bits_for_each (pu, c->envelope[k], c->words) {
			int core = c->t->pu_core[pu], at;

			if (core < 0 || c->core_domain[core] < 0)
				continue;
			at = c->place[core];
			if (bits_has(&c->reach[k], at))
				continue;
			bits_put(&c->reach[k], at);
			if (bits_intersect(&c->t->core[core].pus, now, c->words))
				bits_put(&c->here[k], at);
			c->allowed[(size_t)k * stride + (size_t)c->core_domain[core]] = 1;
		}
	}
}

/* Fair share max(1, C/N) of @cores among the jobs without a size; the earliest get the rest. */
static void deal_equally(struct shares *c, int cores, int n_without)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): there are jobs where sizes are */
	int base = cores / n_without, rest = cores % n_without;

	if (base == 0) {
		base = 1;
		rest = 0;
	}
	for (int k = 0; k < c->n; k++)
		if (c->size[k] == 0) {
			c->size[k] = base + (rest > 0);
			rest--;
		}
}

/*
 * Overlapping but different envelopes: a core counts for 1/(jobs that may use it) to each of them;
 * with equal envelopes this is C/N, with disjoint ones the allocation. A size that is set stays.
 */
static void deal_by_core(struct shares *c)
{
	int *users = c->scratch;
	double part[CORESET_MAX]; /* of a core, to each of its users */

	memset(users, 0, (size_t)c->total * sizeof(int));
	for (int k = 0; k < c->n; k++)
		bits_for_each (i, &c->reach[k], c->words)
			users[i]++;
	for (int i = 0; i < c->total; i++)
		part[i] = users[i] ? 1.0 / users[i] : 0;
	for (int k = 0; k < c->n; k++) {
		double share = 0;

		if (c->size[k] > 0)
			continue;
		bits_for_each (i, &c->reach[k], c->words)
			share += part[i];
		c->size[k] = share < 1 ? 1 : (int)(share + 1e-9);
	}
}

/* Lifts sizes below a job's minimum at the cost of the largest that can spare a core. */
static void lift_to_minimum(struct shares *c)
{
	int need = 0;

	for (int k = 0; k < c->n; k++) {
		int min = c->v->job[c->job[k]].min_cores;

		need += min > 1 ? min : 1;
	}
	if (c->shared || need == c->n || need > c->total)
		return;
	for (int k = 0; k < c->n; k++) {
		int want = c->v->job[c->job[k]].min_cores;

		while (c->size[k] < want) {
			int rich = -1;

			for (int l = c->n - 1; l >= 0; l--) {
				int min = c->v->job[c->job[l]].min_cores;

				if (l != k && c->size[l] > (min > 1 ? min : 1) &&
					(rich < 0 || c->size[l] > c->size[rich]))
					rich = l;
			}
			if (rich < 0)
				break;
			c->size[rich]--;
			c->size[k]++;
		}
	}
}

static void set_sizes(struct shares *c)
{
	int given = 0, sum = 0;

	for (int k = 0; k < c->n; k++) {
		const struct view_job *j = &c->v->job[c->job[k]];

		/* Of two wishes that contradict each other the minimum is the stronger. */
		c->size[k] = j->cores <= 0 ? 0 : j->cores < j->min_cores ? j->min_cores : j->cores;
		given += c->size[k] > 0;
		sum += c->size[k];
	}
	c->shared = c->n > c->total;
	c->given = given == c->n && sum <= c->total;
	c->even = !c->given && c->uniform;
	if (!c->given) {
		int without = c->n - given;

		/* Sizes count only where they fit beside one core for each of the others. */
		if (given == c->n || sum + without > c->total) {
			for (int k = 0; k < c->n; k++)
				c->size[k] = 0;
			without = c->n;
			sum = 0;
		}
		for (int k = 0; k < c->n; k++)
			c->even = c->even && c->size[k] == 0 && c->v->job[c->job[k]].min_cores <= 1;
		if (c->uniform)
			deal_equally(c, c->total - sum, without);
		else
			deal_by_core(c);
		lift_to_minimum(c);
	}
}

/* Drops the cores that carving took from the domains. */
static void compact_cores(struct shares *c)
{
	int n_domains = 0, total = 0;

	for (int d = 0; d < c->n_domains; d++) {
		int first = total;

		for (int i = 0; i < c->capacity[d]; i++) {
			int core = c->core[c->first_core[d] + i];

			if (c->core_domain[core] < 0)
				continue;
			c->core_domain[core] = n_domains;
			c->core[total++] = core;
		}
		if (total == first)
			continue;
		c->domain[n_domains] = c->domain[d];
		c->first_core[n_domains] = first;
		c->capacity[n_domains++] = total - first;
	}
	c->n_domains = n_domains;
	c->total = total;
}

static void add_piece(struct shares *c, int k, int d, int size)
{
	if (c->n_pieces < c->max_jobs)
		c->piece[c->n_pieces++] = (struct shares_piece){
			.job = c->job[k],
			.domain = c->domain[d], /* of the topology, until carving is over */
			.size = size,
		};
}

/* Domains that are left have other numbers; a piece whose domain is full is nobody's neighbour. */
static void settle_pieces(struct shares *c)
{
	int n = 0;

	for (int i = 0; i < c->n_pieces; i++)
		for (int d = 0; d < c->n_domains; d++)
			if (c->domain[d] == c->piece[i].domain) {
				c->piece[n] = c->piece[i];
				c->piece[n++].domain = d;
				break;
			}
	c->n_pieces = n;
}

/* Which job runs on a core now; sets may overlap before the first placement. */
static void mark_running(struct shares *c)
{
	for (int i = 0; i < c->t->n_cores; i++)
		c->running[i] = -1;
	for (int k = 0; k < c->n; k++) {
		const struct coreset *now = &c->v->job[c->job[k]].current;

		bits_for_each (pu, now, c->words) {
			int core = c->t->pu_core[pu];

			if (core >= 0 && c->running[core] != k)
				c->running[core] = c->running[core] == -1 ? k : -2;
		}
	}
}

/* A job larger than any domain gets whole domains and the rest of it from one more. */
static bool carve_one(struct shares *c, struct plan *p)
{
	int most = 0, n = 0, *list = c->scratch;

	for (int d = 0; d < c->n_domains; d++)
		most = c->capacity[d] > most ? c->capacity[d] : most;
	for (int k = 0; k < c->n; k++) {
		int left = c->size[k];

		if (left <= most)
			continue;
		for (int whole = 1; whole >= 0; whole--)
			for (int d = 0; d < c->n_domains && left > 0; d++) {
				const int *core = c->core + c->first_core[d];
				int taken = 0;

				if (whole && c->capacity[d] > left)
					continue;
				for (int i = 0; i < c->capacity[d] && left > 0; i++) {
					if (c->core_domain[core[i]] < 0)
						continue;
					c->core_domain[core[i]] = -1;
					list[n++] = core[i];
					left--;
					taken++;
				}
				if (taken > 0 && taken < c->capacity[d])
					add_piece(c, k, d, taken);
			}
		shares_give(c, k, list, n, p);
		c->whole = false;
		plan_why(p, c->job[k], "%d cores, more than any domain: whole domains first", n);
		drop_job(c, k);
		compact_cores(c);
		return true;
	}
	return false;
}

static void carve(struct shares *c, struct plan *p)
{
	bool any = false;

	while (c->uniform && !c->shared && c->n > 1 && carve_one(c, p))
		any = true;
	settle_pieces(c);
	if (any)
		mark_running(c); /* the jobs left have new numbers */
}

/* The remainder of an equal division makes no job another's better: it goes where cores are left.
 */
static void sum_sizes(struct shares *c)
{
	c->equal = true;
	c->uneven = false;
	for (int d = 1; d < c->n_domains && c->uniform; d++)
		c->uneven = c->uneven || c->capacity[d] != c->capacity[0];
	c->sum = 0;
	c->biggest = 1;
	for (int k = 0; k < c->n; k++) {
		c->equal = c->equal && (c->even || c->size[k] == c->size[0]);
		c->sum += c->size[k];
		c->biggest = c->size[k] > c->biggest ? c->size[k] : c->biggest;
	}
}

/* Cores and sizes of the competitors. */
static int read_sizes(struct shares *c, struct plan *p, struct errbuf *err)
{
	c->uniform = same_envelopes(c);
	if (!c->uniform) { /* a single job stays in: policies have figures to tell about it */
		settle_loners(c, p);
		c->uniform = same_envelopes(c);
	}
	c->n_domains = c->total = c->n_pieces = 0;
	c->equal = true;
	c->shared = c->given = c->even = false;
	if (c->n == 0)
		return 0;
	collect_cores(c);
	if (c->total == 0)
		return err_set(err, -EINVAL, "capacity leaves no core");
	fill_reach(c);
	mark_running(c);
	for (int k = 0; k < c->n && !c->uniform; k++)
		if (coreset_is_empty(&c->reach[k]))
			return err_set(err, -EINVAL,
				"job %s: capacity leaves no core of its envelope",
				c->v->job[c->job[k]].id);
	set_sizes(c);
	return 0;
}

int shares_build(struct shares *c, const struct view *v, struct plan *p, struct errbuf *err)
{
	int rc;

	c->v = v;
	p->may_turn = !c->in_place;
	rc = collect_jobs(c, p, err);
	if (!rc)
		rc = read_sizes(c, p, err);
	if (!rc && shares_take_turns(c, p))
		rc = read_sizes(c, p, err);
	if (rc || c->n == 0)
		return rc;
	if (c->given || c->n > c->n_domains)
		carve(c, p);
	sum_sizes(c);
	return 0;
}

uint64_t shares_set(const struct shares *c)
{
	uint64_t h = 14695981039346656037u + (uint64_t)c->total; /* FNV-1a over ids */

	/* Not over slots: one who comes may have that of one who went. */
	for (int k = 0; k < c->n; k++)
		for (const char *id = c->v->job[c->job[k]].id;; id++) {
			h = (h ^ (uint64_t)(unsigned char)*id) * 1099511628211u;
			if (!*id)
				break;
		}
	return h;
}
