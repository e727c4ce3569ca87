/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Views of any kind for every policy of a node: jobs that come and go, envelopes with holes,
 * figures that cannot be, results that nobody measured. A plan holds what plan_check() asks for,
 * and more here; it is the same whatever the order of the jobs in the view and their names; nobody
 * is refused a plan but for a signal that is missing or by a policy that says what it cannot do,
 * and never by fair.
 *
 * With FUZZ_MAIN this is a program of its own, tests/fuzz/engine_views: for so many seconds of its
 * own cpu time over random views of up to 512 jobs and 1 024 cores, from a seed on. It prints how
 * many decisions took more than 50 ms of cpu time, and the slowest; that is no finding: machines
 * differ.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <time.h>

#include "nodesvc/engine/engine.h"
#include "tests/fuzz/fuzz.h"

#define SLOW_S 0.05

#ifdef FUZZ_MAIN
#define JOBS 512
#else
#define JOBS 48 /* under sanitizers */
#endif

static const char *const topologies[] = {
	"core:1",
	"core:1 pu:2",
	"core:2",
	"core:1 pu:4",
	"numa:1 core:5 pu:1",
	"pack:3 core:3 pu:4",
	"pack:2 core:7 pu:1",
	"pack:1 l3:4 core:3 pu:2",
	"pack:3 l3:3 core:5 pu:2",
	"pack:8 l3:1 core:8 pu:1",
#ifdef FUZZ_MAIN
	"pack:2 l3:5 core:8 pu:2",
	"pack:4 numa:2 core:32 pu:4",
	"pack:2 l3:8 core:64 pu:1",
	"core:1024 pu:1",
	"core:512 pu:2",
#endif
};

static const char *const variants[] = {"lira,tie=balance", "lira,h=0,metric=llc_miss",
	"lira,norm=per_socket,numa=1", "lira-static,tie=missbal", "dio,h=0", "dio,clusters=2",
	"llc-complex,strict=yes", "llc-complex,miss=mpki", "llc-complex,clusters=4,bandwidth=yes",
	"das-rwsm-c,explore=0.3", "das-dam-p,explore=0.2,age=3", "callisto,threads=yes",
	"sbmp,green=yes", "sbmp,objective=worst", "sbmp,objective=stp", "sbmp,search=paper",
	"sbmp,search=paper,objective=worst", "gang,slice_ms=50", "fair,turns=all"};

/* Bytes of the input, then numbers that follow from them. */
struct draw {
	const uint8_t *data;
	size_t size;
	uint64_t state;
};

static uint64_t draw64(struct draw *d)
{
	uint64_t x;

	d->state = d->state * 6364136223846793005u + 1442695040888963407u;
	if (d->size) {
		d->state ^= *d->data++;
		d->size--;
	}
	x = d->state ^ d->state >> 29;
	return (x * 0xbf58476d1ce4e5b9u) >> 17;
}

/* 0 to @n - 1. */
static int below(struct draw *d, int n)
{
	return n < 2 ? 0 : (int)(draw64(d) % (uint64_t)n);
}

static bool one_in(struct draw *d, int n)
{
	return below(d, n) == 0;
}

enum { WITH_SIZES = 1, WITH_ENVELOPES = 2, WITH_TURNS = 4, WITH_ABSURD = 8, WITH_MISSING = 16 };

struct world {
	const struct topo *t;
	struct draw d;
	int kinds, rare; /* one figure in so many cannot be, or is missing */
	struct coreset usable, fast, reserved;
	struct view v;
	struct view_job job[JOBS];
	char id[JOBS][24];
	struct speed_point speed[JOBS][4];
	struct event event[24];
	int serial;
};

/* A second look at the same world: the jobs in another order, under other names. */
struct mirror {
	struct view v;
	struct view_job job[JOBS];
	char id[JOBS][24];
	struct event event[24];
	char event_id[24][24];
	int of[JOBS]; /* whose job of the world it is */
};

static double absurd(struct draw *d)
{
	static const double values[] = {
		0, DBL_MAX, 1e308, DBL_MIN, 5e-324, 1, 1e-300, INFINITY, NAN, -1, 1e15, 1e30};

	return values[below(d, (int)(sizeof(values) / sizeof(values[0])))];
}

static double rate(struct world *w)
{
	return w->kinds & WITH_ABSURD && one_in(&w->d, w->rare) ? absurd(&w->d)
								: below(&w->d, 1000000);
}

/* Some of the CPUs that are there, at least one. */
static void draw_set(struct world *w, struct coreset *ret)
{
	const struct topo *t = w->t;
	int n = t->n_cores, first = below(&w->d, n), pu;

	coreset_zero(ret);
	switch (below(&w->d, 5)) {
	case 0: /* a core */
		*ret = t->core[first].pus;
		break;
	case 1: /* neighbours */
		for (int c = first, end = first + 1 + below(&w->d, n - first); c < end; c++)
			coreset_or(ret, ret, &t->core[c].pus);
		break;
	case 2: /* with holes */
		coreset_for_each (i, &w->usable)
			if (one_in(&w->d, 2))
				coreset_add(ret, (unsigned int)i);
		break;
	case 3: /* a thread */
		pu = coreset_next(&w->usable, below(&w->d, CORESET_MAX));
		coreset_add(ret, (unsigned int)(pu < 0 ? coreset_next(&w->usable, 0) : pu));
		break;
	default:
		*ret = w->usable;
	}
	coreset_and(ret, ret, &w->usable);
	if (coreset_is_empty(ret))
		*ret = w->usable;
}

static void draw_job(struct world *w, int i)
{
	static const char *const types[] = {"a", "b", "c", "d", NULL};
	struct view_job *j = &w->job[i];
	struct draw *d = &w->d;
	int serial = w->serial++;

	snprintf(w->id[i], sizeof(w->id[i]), "%d.%d", serial * 7919 % 100003, serial);
	*j = (struct view_job){
		.id = w->id[i],
		.type = types[below(d, 5)],
		.order = one_in(d, 3) ? -serial : serial,
		.threads = one_in(d, 4) ? below(d, 5000) : below(d, 9),
		.home_numa = one_in(d, 2) ? -1 : below(d, 4),
		.rss_bytes = one_in(d, 2) ? -1 : rate(w),
		.core = one_in(d, 3) ? below(d, w->t->n_cores) : -1,
		.nodes = one_in(d, 20) ? 2 : 1,
		.has_priority = one_in(d, 2),
		.priority_high = one_in(d, 3),
	};
	if (coreset_is_equal(&w->usable, &w->t->all) == 0 || w->kinds & WITH_ENVELOPES)
		j->envelope = w->usable;
	if (w->kinds & WITH_ENVELOPES && one_in(d, 2))
		draw_set(w, &j->envelope);
	if (w->kinds & WITH_SIZES) {
		j->min_cores = one_in(d, 4) ? below(d, 2 * w->t->n_cores) : 0;
		j->excluded = one_in(d, 10);
		j->qos = one_in(d, 4) ? 0.01 * below(d, 101) : 0;
	}
	if (w->kinds & WITH_SIZES && one_in(d, 8)) { /* more is refused by name */
		struct coreset base;

		plan_base_coreset(&base, &w->v, w->t, j);
		j->cores = topo_count_cores(w->t, &base);
		j->cores = j->cores ? 1 + below(d, j->cores) : 0;
	}
	if (one_in(d, 6) || j->excluded)
		draw_set(w, &j->current);
	if (w->kinds & WITH_TURNS) {
		j->polling = one_in(d, 3) ? below(d, 64) : 0;
		j->coupled = one_in(d, 3);
		j->bursty = one_in(d, 4);
		j->in_turns = one_in(d, 2);
		j->wanted_s = one_in(d, 2) ? 0 : rate(w);
		j->served_s = one_in(d, 2) ? 0 : rate(w);
	}
	if (one_in(d, 2)) {
		int cores = 1;

		for (j->n_speed = 0; j->n_speed < 1 + below(d, 4);) {
			w->speed[i][j->n_speed++] = (struct speed_point){cores,
				w->kinds & WITH_ABSURD ? absurd(d) : 1 + below(d, 400) / 50.0};
			cores += 1 + below(d, 8);
			if (j->n_speed == 4)
				break;
		}
		j->speed = w->speed[i];
	}
}

static void draw_samples(struct world *w)
{
	for (int i = 0; i < w->v.n_jobs; i++) {
		struct view_job *j = &w->job[i];

		if (j->sample_no && one_in(&w->d, 4))
			continue;
		for (int s = 0; s < SIGNAL_COUNT; s++) {
			bool ratio = s == SIGNAL_UTILIZATION || s == SIGNAL_LLC_MISS_RATIO;

			j->signal[s] = (struct signal){
				ratio ? below(&w->d, 21) / 20.0 : rate(w), PROVENANCE_HW};
			if (w->kinds & WITH_MISSING && one_in(&w->d, w->rare))
				j->signal[s].provenance = PROVENANCE_NONE;
		}
		j->sample_no++;
	}
	w->v.now_s += one_in(&w->d, 5) ? 12 : one_in(&w->d, 9) ? 1e7 : 0.25;
}

static void draw_events(struct world *w, const struct plan *p)
{
	struct draw *d = &w->d;
	int n = 0;

	for (int k = 0; k < p->n_experiments && n < 20; k++)
		w->event[n++] = (struct event){.type = EVENT_EXPERIMENT_RESULT,
			.job = w->job[p->experiment[k].job].id,
			.cores = p->experiment[k].cores,
			.speed = w->kinds & WITH_ABSURD ? absurd(d) : 1 + below(d, 1000) / 100.0};
	while (n < 23 && w->v.n_jobs && one_in(d, 2))
		w->event[n++] = (struct event){.type = one_in(d, 3) ? EVENT_PHASE : EVENT_TASK_DONE,
			.job = w->job[below(d, w->v.n_jobs)].id,
			.task_type = "a",
			.core = below(d, w->t->n_cores),
			.width = 1 << below(d, 3),
			.seconds = w->kinds & WITH_ABSURD ? absurd(d) : 1 + below(d, 20)};
	w->v.n_events = n;
}

static void begin(struct world *w, const struct topo *t)
{
	struct draw *d = &w->d;
	int most = one_in(d, 2) ? 6 : one_in(d, 2) ? 40 : JOBS;

	w->t = t;
	w->kinds = below(d, 32);
	w->rare = one_in(d, 3) ? 12 : 10000; /* else hardly a policy that needs figures decides */
	w->usable = t->all;
	if (one_in(d, 3)) { /* cores, or threads, that are off */
		struct coreset all = t->all;

		draw_set(w, &w->usable);
		if (one_in(d, 2))
			w->usable = all;
	}
	w->v = (struct view){.seed = draw64(d),
		.slice_ms = one_in(d, 3) ? 0 : below(d, 200),
		.cache_ways = one_in(d, 3) ? 0 : below(d, 33),
		.job = w->job,
		.event = w->event,
		.n_jobs = one_in(d, 8) ? 0 : 1 + below(d, most < JOBS ? most : JOBS)};
	draw_set(w, &w->fast);
	if (!one_in(d, 3))
		w->v.fast_cores = &w->fast;
	if (one_in(d, 4)) {
		w->reserved = t->core[below(d, t->n_cores)].pus;
		if (!coreset_is_equal(&w->reserved, &t->all))
			w->v.reserved = &w->reserved;
	}
	for (int i = 0; i < w->v.n_jobs; i++)
		draw_job(w, i);
	draw_samples(w);
}

/* What the plan said is done; some come, some go. */
static void go_on(struct world *w, const struct plan *p, bool decided)
{
	struct draw *d = &w->d;

	for (int i = 0; decided && i < p->n_jobs; i++)
		if (!w->job[i].excluded)
			w->job[i].current = p->job[i].coreset;
	w->v.n_events = 0;
	if (decided)
		draw_events(w, p);
	if (w->v.n_jobs && one_in(d, 3))
		draw_job(w, below(d, w->v.n_jobs));
	if (w->v.n_jobs < JOBS && one_in(d, 5))
		draw_job(w, w->v.n_jobs++);
	else if (w->v.n_jobs && one_in(d, 5))
		w->v.n_jobs--;
	draw_samples(w);
}

static void make_mirror(struct world *w, struct mirror *m)
{
	int n = w->v.n_jobs;

	m->v = w->v;
	m->v.job = m->job;
	m->v.event = m->event;
	for (int i = 0; i < n; i++)
		m->of[i] = i;
	for (int i = n - 1; i > 0; i--) {
		int k = below(&w->d, i + 1), was = m->of[i];

		m->of[i] = m->of[k];
		m->of[k] = was;
	}
	for (int i = 0; i < n; i++) {
		m->job[i] = w->job[m->of[i]];
		snprintf(m->id[i], sizeof(m->id[i]), "other-%.16s", m->job[i].id);
		m->job[i].id = m->id[i];
	}
	for (int e = 0; e < w->v.n_events; e++) {
		m->event[e] = w->event[e];
		if (!m->event[e].job)
			continue;
		snprintf(m->event_id[e], sizeof(m->event_id[e]), "other-%.16s", m->event[e].job);
		m->event[e].job = m->event_id[e];
	}
}

/* ---- what must hold ---- */

static const char *spec_now, *source_now;

static bool fail(const struct world *w, const char *what, const char *more)
{
	fprintf(stderr, "%s [%s], %d jobs, kinds %d: %s: %s\n", spec_now, source_now, w->v.n_jobs,
		w->kinds, what, more);
	return false;
}

/* Inside its envelope, and nobody else there but of its group, or at another time. */
static bool check_coresets(const struct world *w, const struct plan *p, bool independent)
{
	static uint32_t slices[JOBS];
	static int owner[CORESET_MAX];

	memset(slices, 0, sizeof(slices));
	memset(owner, 0xff, sizeof(owner));
	for (int s = 0; s < p->n_slices; s++)
		for (int k = 0; k < p->slice[s].n_jobs; k++)
			slices[p->slice[s].job[k]] |= UINT32_C(1) << s;
	for (int i = 0; i < p->n_jobs; i++) {
		const struct view_job *j = &w->job[i];
		struct coreset base;

		if (coreset_is_empty(&p->job[i].coreset))
			return fail(w, "an empty coreset", j->id);
		plan_base_coreset(&base, &w->v, w->t, j);
		if (j->excluded || p->observe || p->job[i].role == ROLE_EXCLUDED ||
			(j->nodes > 1 && !independent))
			continue;
		if (!coreset_is_subset(&p->job[i].coreset, &base))
			return fail(w, "outside its envelope", j->id);
		coreset_for_each (pu, &p->job[i].coreset) {
			int o = owner[pu];

			owner[pu] = i;
			if (o < 0 || (slices[i] && slices[o] && !(slices[i] & slices[o])) ||
				(p->job[i].group >= 0 && p->job[i].group == p->job[o].group &&
					coreset_is_equal(&p->job[i].coreset, &p->job[o].coreset)))
				continue;
			return fail(w, "shares CPUs with one outside its group", j->id);
		}
	}
	return true;
}

/* fair: who asked for nothing and may use the same has the same, but for the remainder. */
static bool check_equal(const struct world *w, const struct plan *p)
{
	int least = INT32_MAX, most = 0;

	if (strcmp(spec_now, "fair") != 0 || w->kinds & (WITH_SIZES | WITH_ENVELOPES | WITH_TURNS))
		return true;
	for (int i = 0; i < p->n_jobs; i++) {
		if (p->job[i].group >= 0 || p->job[i].role != ROLE_OWNER || w->job[i].nodes > 1)
			return true;
		least = p->job[i].cores < least ? p->job[i].cores : least;
		most = p->job[i].cores > most ? p->job[i].cores : most;
	}
	return p->n_jobs == 0 || most - least <= 1 || fail(w, "unequal parts", "fair");
}

static bool check_mirror(const struct world *w, const struct plan *p, const struct mirror *m,
	const struct plan *other)
{
	for (int i = 0; i < other->n_jobs; i++)
		if (!coreset_is_equal(&other->job[i].coreset, &p->job[m->of[i]].coreset))
			return fail(w, "other coresets in another order", w->job[m->of[i]].id);
	return true;
}

static bool may_refuse(const struct world *w, int rc, const struct errbuf *err)
{
	bool known = rc == -ENODATA || rc == -ENOTSUP;

	return (known && strncmp(spec_now, "fair", 4) != 0 && *err->text) ||
	       fail(w, "no plan", err->text);
}

/* ---- runs ---- */

static struct {
	long worlds, views, plans, refused, slow;
	double worst_s;
	char worst[200];
} count;

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* @s: of the faster of two decisions for the same; the other was disturbed more. */
static void note_time(const struct world *w, double s)
{
	count.slow += s > SLOW_S;
	if (s <= count.worst_s)
		return;
	count.worst_s = s;
	snprintf(count.worst, sizeof(count.worst), "%s [%s], %d jobs, kinds %d", spec_now,
		source_now, w->v.n_jobs, w->kinds);
}

struct pair {
	struct engine *engine[2];
	struct plan plan[2];
};

static bool decide(struct world *w, struct mirror *m, struct pair *x, bool independent)
{
	struct errbuf err = {""}, other = {""};
	double start_s = cpu_s(), mid_s, first_s, second_s;
	int rc, rc2;

	rc = engine_decide(x->engine[0], &w->v, &x->plan[0], &err);
	first_s = cpu_s() - start_s;
	make_mirror(w, m);
	mid_s = cpu_s();
	rc2 = engine_decide(x->engine[1], &m->v, &x->plan[1], &other);
	second_s = cpu_s() - mid_s;
	note_time(w, first_s < second_s ? first_s : second_s);
	count.views++;
	count.plans += rc == 0;
	count.refused += rc != 0;
	if ((rc == 0) != (rc2 == 0))
		return fail(w, "a plan in one order only", rc ? err.text : other.text);
	if (rc)
		return may_refuse(w, rc, &err);
	return check_coresets(w, &x->plan[0], independent) && check_equal(w, &x->plan[0]) &&
	       check_mirror(w, &x->plan[0], m, &x->plan[1]);
}

static const char *draw_spec(struct draw *d)
{
	int n_variants = (int)(sizeof(variants) / sizeof(variants[0])), n = 0, pick;

	for (int i = 0; policy_registry[i]; i++)
		n += policy_registry[i]->on_node;
	pick = below(d, n + n_variants);
	if (pick >= n)
		return variants[pick - n];
	for (int i = 0;; i++)
		if (policy_registry[i]->on_node && pick-- == 0)
			return policy_registry[i]->name;
}

/* False: something does not hold, which was said. */
static bool run(const uint8_t *data, size_t size)
{
	static struct topo *topo[sizeof(topologies) / sizeof(topologies[0])];
	static struct world w;
	static struct mirror m;
	struct policy_cfg cfg = {.max_jobs = JOBS};
	struct pair x = {{NULL, NULL}, {{0}, {0}}};
	struct errbuf err = {""};
	bool holds = true;
	int at, steps;

	memset(&w, 0, sizeof(w));
	w.d = (struct draw){data, size, 88172645463325252u + size};
	at = below(&w.d, (int)(sizeof(topologies) / sizeof(topologies[0])));
	FUZZ_ASSERT(topo[at] || topo_load(&topo[at], topologies[at], &err) == 0);
	spec_now = draw_spec(&w.d);
	source_now = topologies[at];
	cfg.topo = topo[at];
	cfg.share_smt = one_in(&w.d, 4);
	cfg.multi_node_independent = one_in(&w.d, 4);
	for (int i = 0; i < 2; i++)
		FUZZ_ASSERT(engine_create(&x.engine[i], spec_now, &cfg, &err) == 0 &&
			    plan_init(&x.plan[i], JOBS, &err) == 0);
	begin(&w, topo[at]);
	steps = 1 + below(&w.d, 12);
	for (int s = 0; s < steps && holds; s++) {
		int refused = (int)count.refused;

		holds = decide(&w, &m, &x, cfg.multi_node_independent);
		go_on(&w, &x.plan[0], holds && count.refused == refused);
	}
	for (int i = 0; i < 2; i++) {
		engine_free(x.engine[i]);
		plan_done(&x.plan[i]);
	}
	count.worlds++;
	return holds;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!run(data, size))
		abort();
	return 0;
}

#ifdef FUZZ_MAIN
/* engine_views [SECONDS [SEED]] */
int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 2;
	unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	long findings = 0;

	do {
		uint64_t bytes = seed * 0x9e3779b97f4a7c15u;
		long slow = count.slow;

		if (!run((const uint8_t *)&bytes, sizeof(bytes))) {
			findings++;
			fprintf(stderr, "finding: engine_views 0 %lu\n", seed);
		}
		if (count.slow > slow)
			fprintf(stderr, "slow: engine_views 0 %lu: %s [%s]\n", seed, spec_now,
				source_now);
		seed++;
	} while (cpu_s() < seconds);
	printf("%ld worlds, %ld views, %ld plans, %ld refused with a reason; %ld findings; %ld "
	       "over "
	       "%.0f ms, slowest %.1f ms: %s\n",
		count.worlds, count.views, count.plans, count.refused, findings, count.slow,
		SLOW_S * 1e3, count.worst_s * 1e3, count.worst);
	return findings != 0;
}
#endif
