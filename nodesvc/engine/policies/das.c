/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * das-rws das-rwsm-c das-fa das-fam-c das-da das-dam-c das-dam-p - the Dynamic Asymmetry
 * Scheduler's family at the grain of job steps: a step is a task, its program the task type, and
 * it gets an execution place (leader core, width) when it starts or a task of its type ends.
 *
 * Slurm has started every step already, so there are no queues and nothing is stolen here: a step
 * that finds its place taken looks again at the next free core, as a thief would.
 *
 * Source: Chen et al., ICPP Workshops 2020, Algorithm 1 and Table 1; order and ties as in the
 * authors' XiTAO runtime.
 */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "nodesvc/engine/internal.h"
#include "nodesvc/engine/ptt.h"

enum variant { DAS_RWS, DAS_RWSM_C, DAS_FA, DAS_FAM_C, DAS_DA, DAS_DAM_C, DAS_DAM_P };

static const char *const variant_name[] = {
	[DAS_RWS] = "das-rws",
	[DAS_RWSM_C] = "das-rwsm-c",
	[DAS_FA] = "das-fa",
	[DAS_FAM_C] = "das-fam-c",
	[DAS_DA] = "das-da",
	[DAS_DAM_C] = "das-dam-c",
	[DAS_DAM_P] = "das-dam-p",
};

/* What a search minimises: time, or time x width ("cost"). */
enum aim { AIM_TIME, AIM_COST };

struct config {
	double explore; /* chance that a local search takes any place (XiTAO 0.1, paper 0) */
	int age;        /* looks after which an entry drifts back; 0 never */
	int weight;     /* of a new sample, in five (section 5.3: 1) */
};

static const struct option_spec options[] = {
	{"explore", OPTION_DOUBLE, offsetof(struct config, explore), 0, 1, NULL},
	{"age", OPTION_INT, offsetof(struct config, age), 0, 60000, NULL},
	{"weight", OPTION_INT, offsetof(struct config, weight), 1, PTT_WEIGHTS, NULL},
	{0},
};

struct job_state {
	bool known;
	int type;
	int place; /* -1 none yet */
	enum aim aim;
};

struct policy {
	enum variant variant;
	struct config cfg;
	struct shares shares;
	struct ptt ptt;
	struct job_state *state; /* [max_jobs] by slot */
	int *core_place;         /* [n_cores] place that holds the core, -1 free */
	int *users;              /* [n_places] */
	int *busy;               /* [n_places] cores of the place that are not free */
	int *fast, n_fast;       /* [n_cores] the statically fast ones of this view */
	bool *looks;             /* [max_jobs] competing job that is to be placed now */
	bool *changed;           /* [PTT_TYPES] a task of the type ended */
	bool has_ptt;
	int next_fast; /* round robin of fa and fam-c */
};

static int create(
	struct policy *p, const struct policy_cfg *cfg, enum variant variant, struct errbuf *err)
{
	size_t n = (size_t)cfg->max_jobs, cores = (size_t)cfg->topo->n_cores;
	int rc;

	p->variant = variant;
	p->cfg.weight = 1;
	rc = option_read(cfg, variant_name[variant], options, &p->cfg, err);
	if (rc)
		return rc;
	shares_init(&p->shares, cfg);
	p->shares.in_place = true; /* a step has a place, and no turns */
	rc = ptt_init(&p->ptt, cfg, err);
	p->ptt.new_weight = p->cfg.weight;
	p->state = arena_alloc(cfg->memory, n, sizeof(*p->state));
	p->core_place = arena_alloc(cfg->memory, cores, sizeof(int));
	p->users = arena_alloc(cfg->memory, (size_t)p->ptt.n_places, sizeof(int));
	p->busy = arena_alloc(cfg->memory, (size_t)p->ptt.n_places, sizeof(int));
	p->fast = arena_alloc(cfg->memory, cores, sizeof(int));
	p->looks = arena_alloc(cfg->memory, n, sizeof(bool));
	p->changed = arena_alloc(cfg->memory, PTT_TYPES, sizeof(bool));
	return rc;
}

/* The table the driver brought, once. */
static int load_ptt(struct policy *p, const struct view *v, struct errbuf *err)
{
	if (p->has_ptt)
		return 0;
	for (int i = 0; i < v->n_ptt; i++) {
		const struct ptt_entry *e = &v->ptt[i];
		int place = ptt_find(&p->ptt, e->core, e->width);

		if (place < 0)
			return err_set(err, -EINVAL, "ptt.%s: core %d, width %d is no place here",
				e->type, e->core, e->width);
		if (seconds_are_sane(e->seconds))
			p->ptt.type[ptt_type(&p->ptt, e->owner, e->type)].seconds[place] =
				e->seconds;
	}
	p->has_ptt = v->n_ptt > 0;
	return 0;
}

static void observe(struct policy *p, const struct view *v, const int *slot)
{
	memset(p->changed, 0, PTT_TYPES * sizeof(bool));
	for (int i = 0; i < v->n_jobs; i++) {
		struct job_state *s = &p->state[slot[i]];

		if (!s->known)
			*s = (struct job_state){
				.known = true,
				.type = ptt_type(&p->ptt, v->job[i].owner, v->job[i].type),
				.place = -1,
			};
	}
	for (int e = 0; e < v->n_events; e++) {
		const struct event *ev = &v->event[e];
		int place, type;

		if (ev->type != EVENT_TASK_DONE || !seconds_are_sane(ev->seconds))
			continue;
		place = ptt_find(&p->ptt, ev->core, ev->width);
		if (place < 0)
			continue;
		type = ptt_type(&p->ptt, ev->owner, ev->task_type);
		ptt_update(&p->ptt, type, place, ev->seconds);
		p->changed[type] = true;
	}
}

static const int *cores_of(const struct policy *p, int place)
{
	return &p->ptt.units.core[p->ptt.place[place].first];
}

/* All cores of the place are usable and the job's, and as many as it must have. */
static bool may_use(const struct policy *p, int k, int place)
{
	const struct shares *c = &p->shares;

	if (p->ptt.place[place].width < c->v->job[c->job[k]].min_cores)
		return false;
	for (int i = 0; i < p->ptt.place[place].width && !c->whole; i++) {
		int core = cores_of(p, place)[i];

		if (c->core_domain[core] < 0 ||
			(!c->uniform && !coreset_intersects(&c->t->core[core].pus, c->envelope[k])))
			return false;
	}
	return true;
}

static bool is_free(const struct policy *p, int place)
{
	return p->busy[place] == 0;
}

/* Numbers of the places that hold @core, ascending. */
static const int *places_at(const struct policy *p, int core, int *ret_n)
{
	*ret_n = p->ptt.first_at_core[core + 1] - p->ptt.first_at_core[core];
	return p->ptt.at_core + p->ptt.first_at_core[core];
}

static void take(struct policy *p, int place)
{
	p->users[place]++;
	for (int i = 0; i < p->ptt.place[place].width; i++) {
		int core = cores_of(p, place)[i], n;
		const int *at = places_at(p, core, &n);

		for (int l = 0; l < n && p->core_place[core] < 0; l++)
			p->busy[at[l]]++;
		p->core_place[core] = place;
	}
}

static double value(const struct policy *p, int type, int place, enum aim aim)
{
	double s = p->ptt.type[type].seconds[place];

	return aim == AIM_COST ? s * p->ptt.place[place].width : s;
}

/* What a search may look at. */
struct search {
	int core;  /* places that hold it; -1 all */
	int width; /* only this width; 0 any */
	enum aim aim;
	bool shared; /* among places already in use, fewest users first; else free ones */
};

/*
 * Least value; an entry not explored (0) is less than any; the first wins a tie (strict <), in
 * order of core, then width, as in XiTAO's globalsearch_PTT.
 */
static int find(const struct policy *p, int k, int type, const struct search *s)
{
	int best = -1, n = p->ptt.n_places;
	const int *at = s->core >= 0 ? places_at(p, s->core, &n) : NULL;
	double best_value = INFINITY;

	for (int l = 0; l < n; l++) {
		int i = at ? at[l] : l;
		double v;

		if (s->shared ? p->users[i] == 0 : !is_free(p, i))
			continue;
		if ((s->width && p->ptt.place[i].width != s->width) || !may_use(p, k, i))
			continue;
		v = value(p, type, i, s->aim);
		/* A shared place: the fewest users count before the value. */
		if (best >= 0 && s->shared && p->users[i] != p->users[best]) {
			if (p->users[i] > p->users[best])
				continue;
		} else if (best >= 0 && !(v < best_value)) {
			continue;
		}
		best = i;
		best_value = v;
	}
	return best;
}

/* A number in [0, 1) from seed, time and job. */
static double chance(const struct view *v, const struct view_job *j, int draw)
{
	uint64_t x = v->seed + (uint64_t)(v->now_s * 1e6) * 2654435761u + (uint64_t)j->order +
		     (uint64_t)draw * CHECK_JOBS_MAX;

	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	x ^= x >> 31;
	return (double)(x >> 11) * 0x1p-53;
}

/* Any place of the partition, once in a while (XiTAO's history_mold). */
static int explore(struct policy *p, const struct view *v, int k, int core)
{
	const struct view_job *j = &v->job[p->shares.job[k]];
	int n = 0, pick, n_places;
	const int *at = places_at(p, core, &n_places);

	if (chance(v, j, 0) >= p->cfg.explore)
		return -1;
	for (int pass = 0; pass < 2; pass++) {
		pick = pass ? (int)(chance(v, j, 1) * n) : 0;
		n = 0;
		for (int i = 0; i < n_places; i++) {
			if (!may_use(p, k, at[i]) || !is_free(p, at[i]))
				continue;
			if (pass && n == pick)
				return at[i];
			n++;
		}
	}
	return -1;
}

/* Where the job is: told by the view, else where it runs; -1 nowhere yet. */
static int current_core(const struct policy *p, const struct view_job *j)
{
	int pu = coreset_next(&j->current, 0);

	if (j->core >= 0 && j->core < p->shares.t->n_cores)
		return j->core;
	return pu >= 0 ? p->shares.t->pu_core[pu] : -1;
}

/* Local search at @core, and where that is taken at each free core in turn, as after a steal. */
static int find_local(struct policy *p, const struct view *v, int k, int slot, int core, int width)
{
	struct search s = {.core = core, .width = width, .aim = AIM_COST};
	const struct shares *c = &p->shares;
	int type = p->state[slot].type, place = -1;

	if (core >= 0 && p->cfg.explore > 0 && !width)
		place = explore(p, v, k, core);
	if (place < 0 && core >= 0)
		place = find(p, k, type, &s);
	for (int i = 0; place < 0 && i < c->total; i++) {
		s.core = c->core[i];
		if (p->core_place[s.core] < 0)
			place = find(p, k, type, &s);
	}
	return place;
}

static void list_fast(struct policy *p, const struct view *v)
{
	const struct topo *t = p->shares.t;

	p->n_fast = 0;
	for (int i = 0; i < t->n_cores && v->fast_cores; i++)
		if (bits_intersect(&t->core[i].pus, v->fast_cores, t->n_words))
			p->fast[p->n_fast++] = i;
}

/* The statically fast cores in turn (Table 1: FA, FAM-C); a taken one is shared. */
static int find_fast(struct policy *p, int k, int type, int width)
{
	int n = p->n_fast, place = -1;

	for (int tries = 0; tries < n && place < 0; tries++) {
		struct search s = {.core = p->fast[(p->next_fast + tries) % n],
			.width = width,
			.aim = AIM_COST};

		place = find(p, k, type, &s);
		s.shared = true;
		if (place < 0)
			place = find(p, k, type, &s);
		if (place >= 0)
			p->next_fast = (p->next_fast + tries + 1) % n;
	}
	return place;
}

static int choose(struct policy *p, const struct view *v, int k, int slot, bool high)
{
	const struct view_job *j = &v->job[p->shares.job[k]];
	struct job_state *s = &p->state[slot];
	bool molds = p->variant == DAS_RWSM_C || p->variant == DAS_FAM_C ||
		     p->variant == DAS_DAM_C || p->variant == DAS_DAM_P;
	int width = molds ? 0 : 1, core = current_core(p, j), place = -1;
	struct search all = {.core = -1, .width = width, .aim = AIM_COST};

	s->aim = AIM_COST;
	if (p->cfg.age)
		ptt_age(&p->ptt, s->type, p->cfg.age);
	if (high && (p->variant == DAS_FA || p->variant == DAS_FAM_C)) {
		place = find_fast(p, k, s->type, width);
	} else if (high &&
		   (p->variant == DAS_DA || p->variant == DAS_DAM_C || p->variant == DAS_DAM_P)) {
		all.aim = s->aim = p->variant == DAS_DAM_C ? AIM_COST : AIM_TIME;
		place = find(p, k, s->type, &all);
	} else {
		/* Random stealing has no place of its own: the first free core. */
		bool steals = p->variant == DAS_RWS || p->variant == DAS_RWSM_C;

		place = find_local(p, v, k, slot, steals && j->core < 0 ? -1 : core, width);
	}
	if (place < 0) {
		all.width = 0;
		place = find(p, k, s->type, &all);
	}
	if (place < 0) {
		all.shared = true;
		place = find(p, k, s->type, &all);
	}
	return place;
}

/* Running steps keep their places; new ones, and those whose type has news, look again. */
static void keep_places(struct policy *p, const int *slot)
{
	struct shares *c = &p->shares;

	for (int i = 0; i < c->t->n_cores; i++)
		p->core_place[i] = -1;
	memset(p->users, 0, (size_t)p->ptt.n_places * sizeof(int));
	memset(p->busy, 0, (size_t)p->ptt.n_places * sizeof(int));
	for (int k = 0; k < c->n; k++) {
		struct job_state *s = &p->state[slot[c->job[k]]];

		p->looks[k] = s->place < 0 || p->changed[s->type] || !may_use(p, k, s->place) ||
			      !(is_free(p, s->place) || p->users[s->place] > 0);
		if (!p->looks[k] && p->users[s->place] > 0 && c->n <= c->total)
			p->looks[k] = true; /* a core may have become free */
		if (!p->looks[k])
			take(p, s->place);
	}
}

static void whole_place(const struct policy *p, int place, struct coreset *ret)
{
	const int *core = cores_of(p, place);

	coreset_zero(ret);
	for (int i = 0; i < p->ptt.place[place].width; i++)
		coreset_or(ret, ret, &p->shares.t->core[core[i]].pus);
}

static void explain(const struct policy *p, const struct view *v, const int *slot, struct plan *ret)
{
	const struct shares *c = &p->shares;
	struct explain x;
	int places = 0; /* that the first job may use */

	explain_open(&x, ret);
	if (!x.plan)
		return;
	explain_object(&x, "place");
	for (int k = 0; k < c->n; k++) {
		const struct ptt_place *at = &p->ptt.place[p->state[slot[c->job[k]]].place];

		explain_object(&x, v->job[c->job[k]].id);
		explain_number(&x, "core", at->core);
		explain_number(&x, "width", at->width);
		explain_end(&x);
	}
	explain_end(&x);
	explain_object(&x, "cost");
	for (int k = 0; k < c->n; k++) {
		const struct job_state *s = &p->state[slot[c->job[k]]];

		explain_number(&x, v->job[c->job[k]].id, value(p, s->type, s->place, s->aim));
	}
	explain_end(&x);
	for (int i = 0; i < p->ptt.n_places; i++)
		places += c->n > 0 && may_use(p, 0, i);
	explain_number(&x, "places", places);
	explain_close(&x);
}

static int das_decide(struct policy *p, const struct view *v, const int *slot, struct plan *ret,
	struct errbuf *err)
{
	struct shares *c = &p->shares;
	int rc = shares_build(c, v, ret, err);

	if (!rc)
		rc = load_ptt(p, v, err);
	if (rc)
		return rc;
	observe(p, v, slot);
	list_fast(p, v);
	keep_places(p, slot);
	/* Critical tasks are never behind others in a queue: they choose first. */
	for (int high = 1; high >= 0; high--)
		for (int k = 0; k < c->n; k++) {
			const struct view_job *j = &v->job[c->job[k]];
			bool critical = j->has_priority && j->priority_high &&
					p->variant != DAS_RWS && p->variant != DAS_RWSM_C;
			struct job_state *s = &p->state[slot[c->job[k]]];

			if (!p->looks[k] || critical != (high == 1))
				continue;
			if (critical && (p->variant == DAS_FA || p->variant == DAS_FAM_C) &&
				(!v->fast_cores || coreset_is_empty(v->fast_cores)))
				return err_set(err, -ENODATA,
					"job %s: fast_cores is missing, policy '%s' needs it",
					j->id, variant_name[p->variant]);
			s->place = choose(p, v, k, slot[c->job[k]], critical);
			if (s->place < 0)
				return err_set(err, -ENOTSUP,
					"job %s: envelope, min_cores: no execution place fits it",
					j->id);
			take(p, s->place);
		}
	for (int k = 0; k < c->n; k++) {
		int place = p->state[slot[c->job[k]]].place;
		struct plan_job *j = &ret->job[c->job[k]];
		struct coreset pus;

		if (p->users[place] > 1) {
			whole_place(p, place, &pus);
			shares_seat(c, k, &pus, place, ret);
		} else {
			shares_give(c, k, cores_of(p, place), p->ptt.place[place].width, ret);
		}
		j->place_core = p->ptt.place[place].core;
		j->place_width = p->ptt.place[place].width;
		plan_why(ret, c->job[k], "place: core %d, width %d%s", j->place_core,
			j->place_width, p->users[place] > 1 ? ", shared" : "");
	}
	explain(p, v, slot, ret);
	return 0;
}

static void das_forget(struct policy *p, int slot)
{
	p->state[slot] = (struct job_state){0};
}

#define DAS_VARIANT(ident, id, literal, text)                                                      \
	static int ident##_create(                                                                 \
		struct policy *p, const struct policy_cfg *cfg, struct errbuf *err)                \
	{                                                                                          \
		return create(p, cfg, id, err);                                                    \
	}                                                                                          \
	const struct policy_ops policy_##ident = {                                                 \
		.name = (literal),                                                                 \
		.summary = (text),                                                                 \
		.options = "explore=0..1 age=N weight=1..5",                                       \
		.on_node = true,                                                                   \
		.size = sizeof(struct policy),                                                     \
		.create = ident##_create,                                                          \
		.decide = das_decide,                                                              \
		.forget = das_forget,                                                              \
	}

DAS_VARIANT(das_rws, DAS_RWS, "das-rws", "a free core each, no model (random work stealing)");
DAS_VARIANT(das_rwsm_c, DAS_RWSM_C, "das-rwsm-c", "a free core each, width by least time x width");
DAS_VARIANT(das_fa, DAS_FA, "das-fa", "critical steps on statically fast cores in turn");
DAS_VARIANT(das_fam_c, DAS_FAM_C, "das-fam-c", "das-fa with width by least time x width");
DAS_VARIANT(das_da, DAS_DA, "das-da", "critical steps on the core that is fastest now");
DAS_VARIANT(das_dam_c, DAS_DAM_C, "das-dam-c", "critical steps at the place of least time x width");
DAS_VARIANT(das_dam_p, DAS_DAM_P, "das-dam-p", "critical steps at the place of least time");
