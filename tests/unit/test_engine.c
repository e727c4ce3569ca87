/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What holds for every policy: valid plans for random views and a life of arrivals, ends and
 * changes; the same answers for the same views, for other names and for renumbered CPUs; and the
 * invariant checker against plans that were bent.
 */
#include "nodesvc/engine/engine.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOBS 12

static uint64_t state;

static int rnd(int n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (int)((state >> 11) % (uint64_t)n);
}

static const char *const sources[] = {
	"core:2",
	"pack:2 core:4 pu:2",
	"pack:2 l3:2 core:3 pu:1",
	"pack:1 numa:4 core:4 pu:1",
};
#define N_SOURCES 4

/* Dies of which one has lost cores: reserved PUs make units unequal. */
static void reserve_some(struct coreset *reserved, const struct topo *t)
{
	coreset_zero(reserved);
	if (t->n_cores > 4)
		coreset_or(reserved, reserved, &t->core[0].pus);
}

static int n_policies(void)
{
	int n = 0;

	while (policy_registry[n])
		n++;
	return n;
}

struct world {
	struct topo *t;
	struct engine *e;
	struct plan plan;
	struct view v;
	struct view_job job[JOBS];
	struct speed_point speed[JOBS][5];
	char id[JOBS][16];
	const char *prefix;
	struct event event[64];
	struct coreset fast, reserved;
	int serial;
	bool plain; /* one envelope, nobody excluded, one node, no minimum */
};

static void open_world(struct world *w, const char *source, const char *policy, const char *prefix)
{
	struct policy_cfg cfg = {.max_jobs = JOBS};
	struct errbuf err = {""};
	int rc;

	memset(w, 0, sizeof(*w));
	w->prefix = prefix;
	ck_assert_int_eq(topo_load(&w->t, source, NULL), 0);
	cfg.topo = w->t;
	rc = engine_create(&w->e, policy, &cfg, &err);
	ck_assert_msg(rc == 0, "%s: %s", policy, err.text);
	ck_assert_int_eq(plan_init(&w->plan, JOBS, NULL), 0);
	w->v.job = w->job;
	w->v.event = w->event;
	w->v.seed = 3;
	coreset_or(&w->fast, &w->t->core[0].pus, &w->t->core[1].pus);
	w->v.fast_cores = &w->fast;
}

static void close_world(struct world *w)
{
	plan_done(&w->plan);
	engine_free(w->e);
	topo_free(w->t);
}

static void arrive(struct world *w)
{
	int i = w->v.n_jobs++, cores = w->t->n_cores;
	double serial = rnd(50) / 100.0;

	/* A prefix that ends in '-' numbers downwards: the alphabet goes the other way. */
	snprintf(w->id[i], sizeof(w->id[i]), "%s%d", w->prefix,
		strchr(w->prefix, '-') ? 9999 - w->serial : w->serial);
	w->job[i] = (struct view_job){
		.id = w->id[i],
		.type = w->serial % 2 ? "odd" : "even",
		.order = w->serial++,
		.threads = 1 + rnd(8),
		.home_numa = -1,
		.rss_bytes = -1,
		.core = -1,
		.nodes = rnd(12) == 0 ? 2 : 1,
		.has_priority = rnd(2),
		.priority_high = rnd(2),
		.excluded = rnd(12) == 0,
		.min_cores = rnd(6) == 0 ? 2 : 0,
	};
	if (w->plain) {
		w->job[i].nodes = 1;
		w->job[i].excluded = false;
		w->job[i].min_cores = 0;
	} else if (rnd(5) == 0 && cores >= 4)
		for (int c = rnd(cores - 2); c < cores; c++)
			coreset_or(&w->job[i].envelope, &w->job[i].envelope, &w->t->core[c].pus);
	for (int p = 0; p < 5; p++) {
		int n = p == 0 ? 1 : 1 + p * (cores - 1) / 4;

		w->speed[i][p] = (struct speed_point){n, 1 / (serial + (1 - serial) / n)};
	}
	if (rnd(2)) {
		w->job[i].speed = w->speed[i];
		w->job[i].n_speed = 5;
	}
}

static void leave(struct world *w, int i)
{
	int last = --w->v.n_jobs;

	/* Like a table with a hole filled: order in the view is not order of arrival. */
	w->job[i] = w->job[last];
	memcpy(w->id[i], w->id[last], sizeof(w->id[i]));
	memcpy(w->speed[i], w->speed[last], sizeof(w->speed[i]));
	w->job[i].id = w->id[i];
	if (w->job[i].speed)
		w->job[i].speed = w->speed[i];
}

static void sample(struct world *w)
{
	w->v.now_s += 1 + rnd(5);
	for (int i = 0; i < w->v.n_jobs; i++) {
		for (int s = 0; s < SIGNAL_COUNT; s++) {
			bool ratio = s == SIGNAL_UTILIZATION || s == SIGNAL_LLC_MISS_RATIO;

			w->job[i].signal[s].value = ratio ? rnd(100) / 100.0 : rnd(1000);
			w->job[i].signal[s].provenance = PROVENANCE_HW;
		}
		w->job[i].sample_no++;
	}
}

static void carry_out(struct world *w)
{
	w->v.n_events = 0;
	for (int i = 0; i < w->plan.n_jobs; i++)
		w->job[i].current = w->plan.job[i].coreset;
	for (int e = 0; e < w->plan.n_experiments && w->v.n_events < 60; e++)
		w->event[w->v.n_events++] = (struct event){
			.type = EVENT_EXPERIMENT_RESULT,
			.job = w->plan.job[w->plan.experiment[e].job].id,
			.cores = w->plan.experiment[e].cores,
			.speed = 1 + sqrt(w->plan.experiment[e].cores),
		};
	/* A view must not point into the plan that is being made. */
	for (int e = 0; e < w->v.n_events; e++)
		w->event[e].job = w->job[view_job_index(&w->v, w->event[e].job)].id;
	if (rnd(4) == 0)
		w->event[w->v.n_events++] = (struct event){
			.type = EVENT_TASK_DONE,
			.task_type = "odd",
			.width = 1,
			.seconds = 1 + rnd(9),
		};
	if (rnd(6) == 0 && w->v.n_jobs)
		w->event[w->v.n_events++] =
			(struct event){.type = EVENT_PHASE, .job = w->job[0].id};
}

/* One step of a life; false: the view was refused (not the plan). */
static bool step(struct world *w)
{
	struct errbuf err = {""};
	int rc;

	if (w->v.n_jobs && rnd(4) == 0) {
		int i = rnd(w->v.n_jobs);

		for (int e = 0; e < w->v.n_events; e++)
			if (w->event[e].job)
				w->event[e].job = NULL;
		for (int e = 0; e < w->v.n_events; e++)
			w->event[e].type = EVENT_TICK;
		leave(w, i);
	}
	if (w->v.n_jobs < JOBS && rnd(2))
		arrive(w);
	sample(w);
	w->plan.want_explain = true;
	rc = engine_decide(w->e, &w->v, &w->plan, &err);
	ck_assert_msg(rc != -EPROTO, "%s: %s", engine_policy(w->e)->name, err.text);
	if (rc == 0)
		carry_out(w);
	else
		w->v.n_events = 0;
	return rc == 0;
}

START_TEST(random_lives_give_valid_plans)
{
	for (int s = 0; s < N_SOURCES; s++) {
		struct world w;
		int decided = 0;

		state = 1234567 + (uint64_t)_i * 77 + (uint64_t)s;
		open_world(&w, sources[s], policy_registry[_i]->name, "j");
		reserve_some(&w.reserved, w.t);
		for (int i = 0; i < 250; i++) {
			w.v.reserved = i < 125 ? NULL : &w.reserved;
			decided += step(&w);
		}
		/* gang and the oracles refuse some mixes; nobody refuses most. */
		ck_assert_msg(decided > 25, "%s on %s: %d plans", policy_registry[_i]->name,
			sources[s], decided);
		close_world(&w);
	}
}
END_TEST

START_TEST(names_and_repetition_change_nothing)
{
	struct world a, b;

	state = 42 + (uint64_t)_i;
	open_world(&a, sources[1], policy_registry[_i]->name, "j");
	open_world(&b, sources[1], policy_registry[_i]->name, "other-");
	for (int i = 0; i < 60; i++) {
		uint64_t before = state;
		bool ok = step(&a), same;

		state = before;
		same = step(&b) == ok;
		ck_assert(same);
		ck_assert_int_eq(a.plan.n_jobs, b.plan.n_jobs);
		for (int j = 0; ok && j < a.plan.n_jobs; j++)
			ck_assert_msg(
				coreset_is_equal(&a.plan.job[j].coreset, &b.plan.job[j].coreset),
				"%s: step %d, job %d", policy_registry[_i]->name, i, j);
	}
	close_world(&a);
	close_world(&b);
}
END_TEST

/* The same machine with its CPUs numbered across the packages. */
START_TEST(numbers_of_cpus_change_nothing)
{
	struct world a, b;

	state = 4711 + (uint64_t)_i;
	open_world(&a, "pack:2 core:4 pu:1", policy_registry[_i]->name, "j");
	open_world(
		&b, "pack:2 core:4 pu:1(indexes=0,2,4,6,1,3,5,7)", policy_registry[_i]->name, "j");
	ck_assert_int_eq(coreset_next(&b.t->core[1].pus, 0), 2);
	for (int i = 0; i < 60; i++) {
		uint64_t before = state;
		bool ok = step(&a), same;

		state = before;
		same = step(&b) == ok;
		ck_assert(same);
		for (int j = 0; ok && j < a.plan.n_jobs; j++)
			for (int c = 0; c < a.t->n_cores; c++)
				ck_assert_msg(coreset_intersects(
						      &a.plan.job[j].coreset, &a.t->core[c].pus) ==
						      coreset_intersects(&b.plan.job[j].coreset,
							      &b.t->core[c].pus),
					"%s: step %d, job %d, core %d", policy_registry[_i]->name,
					i, j, c);
	}
	close_world(&a);
	close_world(&b);
}
END_TEST

/* The first half of the cores and the second, exchanged. */
static void exchange(const struct topo *t, struct coreset *s)
{
	struct coreset to;

	coreset_zero(&to);
	for (int c = 0; c < t->n_cores; c++)
		if (coreset_intersects(s, &t->core[c].pus))
			coreset_or(&to, &to, &t->core[(c + t->n_cores / 2) % t->n_cores].pus);
	*s = to;
}

static bool share_a_domain(const struct world *w, int i, int j)
{
	for (int d = 0; d < w->t->n_domains; d++)
		if (coreset_intersects(&w->plan.job[i].coreset, &w->t->domain[d].pus) &&
			coreset_intersects(&w->plan.job[j].coreset, &w->t->domain[d].pus))
			return true;
	return false;
}

/*
 * Two sockets that change names: on how many cores each job runs stays, and, where figures and not
 * the order of sockets decide, who sits with whom.
 */
START_TEST(names_of_sockets_change_nothing)
{
	const char *name = policy_registry[_i]->name;
	bool by_figures = strncmp(name, "lira", 4) == 0 || strcmp(name, "dio") == 0 ||
			  strcmp(name, "llc-complex") == 0;
	struct world a, b;

	if (strncmp(name, "das-", 4) == 0)
		return; /* places are looked at in order of their cores, by the paper */
	state = 815 + (uint64_t)_i;
	open_world(&a, "pack:2 core:4 pu:2", name, "j");
	open_world(&b, "pack:2 core:4 pu:2", name, "j");
	a.plain = b.plain = true;
	for (int i = 0; i < 60; i++) {
		uint64_t before = state;
		bool ok = step(&a), same;

		state = before;
		same = step(&b) == ok;
		ck_assert(same);
		for (int j = 0; ok && j < a.plan.n_jobs; j++) {
			ck_assert_msg(a.plan.job[j].cores == b.plan.job[j].cores,
				"%s: step %d, job %d: %d cores, then %d", name, i, j,
				a.plan.job[j].cores, b.plan.job[j].cores);
			for (int k = 0; k < j && by_figures; k++)
				ck_assert_msg(share_a_domain(&a, j, k) == share_a_domain(&b, j, k),
					"%s: step %d, jobs %d and %d", name, i, j, k);
		}
		/* What runs in b is a's plan with the sockets exchanged. */
		for (int j = 0; ok && j < a.plan.n_jobs; j++) {
			b.job[j].current = a.plan.job[j].coreset;
			exchange(b.t, &b.job[j].current);
		}
	}
	close_world(&a);
	close_world(&b);
}
END_TEST

/* Jobs of distinct figures in another order of the array, same order of arrival. */
START_TEST(order_in_the_array_changes_nothing)
{
	struct world w;
	struct plan first;
	struct errbuf err = {""};
	struct engine *e = NULL;
	struct policy_cfg cfg = {.max_jobs = JOBS};
	int rc, again;

	state = 7 + (uint64_t)_i;
	open_world(&w, sources[1], policy_registry[_i]->name, "j");
	for (int i = 0; i < 6; i++) {
		arrive(&w);
		w.job[i].nodes = 1;
		w.job[i].excluded = false;
		coreset_zero(&w.job[i].envelope);
	}
	sample(&w);
	ck_assert_int_eq(plan_init(&first, JOBS, NULL), 0);
	rc = engine_decide(w.e, &w.v, &first, &err);
	for (int i = 0; i < 3; i++) {
		struct view_job swap = w.job[i];

		w.job[i] = w.job[5 - i];
		w.job[5 - i] = swap;
	}
	cfg.topo = w.t;
	ck_assert_int_eq(engine_create(&e, policy_registry[_i]->name, &cfg, &err), 0);
	again = engine_decide(e, &w.v, &w.plan, &err);
	ck_assert_int_eq(rc, again);
	for (int i = 0; rc == 0 && i < 6; i++)
		ck_assert_msg(coreset_is_equal(&first.job[i].coreset, &w.plan.job[5 - i].coreset),
			"%s: job %d", policy_registry[_i]->name, i);
	engine_free(e);
	plan_done(&first);
	close_world(&w);
}
END_TEST

/* Ways to bend a plan; false: this plan has nothing to bend in that way. */
static bool bend(struct world *w, int how, int i)
{
	struct plan *p = &w->plan;
	struct plan_job *j = &p->job[i];
	int other = (i + 1) % p->n_jobs;
	bool owner = (j->role == ROLE_OWNER || j->role == ROLE_DONOR || j->role == ROLE_DONEE) &&
		     j->group < 0 && !w->job[i].excluded && w->job[i].nodes <= 1 && !p->observe;

	switch (how) {
	case 0:
		coreset_zero(&j->coreset);
		return true;
	case 1:
		w->job[i].envelope = j->coreset;
		coreset_del(&w->job[i].envelope, (unsigned int)coreset_next(&j->coreset, 0));
		return owner && coreset_count(&j->coreset) > 1;
	case 2:
		coreset_or(&j->coreset, &j->coreset, &p->job[other].coreset);
		j->cores = topo_count_cores(w->t, &j->coreset);
		return owner && other != i && p->n_slices == 0 && !w->job[other].excluded &&
		       w->job[other].nodes <= 1 &&
		       !coreset_is_equal(&j->coreset, &p->job[other].coreset);
	case 3: {
		int pu = coreset_next(&p->job[other].coreset, 0);

		coreset_del(&p->job[other].coreset, (unsigned int)pu);
		coreset_add(&j->coreset, (unsigned int)pu);
		j->cores = topo_count_cores(w->t, &j->coreset);
		p->job[other].cores = topo_count_cores(w->t, &p->job[other].coreset);
		return owner && other != i && p->n_slices == 0 && p->job[other].group < 0 &&
		       !w->job[other].excluded && w->job[other].nodes <= 1 &&
		       coreset_is_empty(&w->job[i].envelope) &&
		       !coreset_intersects(&p->job[i].coreset, &p->job[other].coreset);
	}
	case 4:
		j->cores++;
		return owner;
	case 5:
		w->job[i].excluded = true;
		return !p->observe;
	case 6:
		j->role = ROLE_DONEE;
		j->n_lent = 0;
		return owner;
	case 7:
		j->role = ROLE_DONOR;
		j->n_lent = 1;
		j->lent[0] = (struct plan_lent){
			.coreset = p->job[other].coreset, .donor = other, .weight = 1};
		return owner && other != i;
	case 8:
		j->role = ROLE_DONEE;
		j->n_lent = 1;
		p->job[other].role = ROLE_OWNER;
		j->lent[0] = (struct plan_lent){
			.coreset = p->job[other].coreset, .donor = other, .weight = 1};
		return owner && other != i;
	case 9:
		p->n_slices = 1;
		p->slice[0].n_jobs = 0;
		p->slice[0].ms = 100;
		return true;
	case 10:
		p->n_experiments = 1;
		p->experiment[0] = (struct plan_experiment){
			.job = i, .cores = 1, .ms = 0, .coreset = j->coreset};
		return true;
	case 11:
		memcpy(j->id, "?", 2);
		return true;
	default:
		return false;
	}
}
#define BENDS 12

/* Whoever made the plan, what breaks a rule is refused. */
START_TEST(bent_plans_of_every_policy_are_refused)
{
	struct world w, copy;
	struct plan_job *job = calloc(JOBS, sizeof(*job));
	int refused = 0;

	ck_assert_ptr_nonnull(job);
	state = 31 + (uint64_t)_i;
	open_world(&w, sources[1], policy_registry[_i]->name, "j");
	for (int round = 0; round < 60; round++) {
		if (!step(&w) || w.plan.n_jobs == 0)
			continue;
		for (int how = 0; how < BENDS; how++)
			for (int i = 0; i < w.plan.n_jobs; i++) {
				struct errbuf err = {""};
				bool bent;

				copy = w;
				memcpy(job, w.plan.job, (size_t)w.plan.n_jobs * sizeof(*job));
				copy.plan.job = job;
				copy.v.job = copy.job;
				/* The plan was made before it was carried out. */
				ck_assert_msg(
					plan_check(&copy.plan, &copy.v, w.t, false, &err) == 0,
					"%s", err.text);
				bent = bend(&copy, how, i);
				if (!bent || (how == 5 &&
						     coreset_is_equal(
							     &job[i].coreset, &w.job[i].current) &&
						     job[i].role == ROLE_EXCLUDED))
					continue;
				ck_assert_msg(plan_check(&copy.plan, &copy.v, w.t, false, &err) ==
						      -EINVAL,
					"%s: bend %d of job %d of %d passed",
					policy_registry[_i]->name, how, i, w.plan.n_jobs);
				refused++;
			}
	}
	ck_assert_int_gt(refused, 100);
	free(job);
	close_world(&w);
}
END_TEST

static struct world bent;

static void setup_bent(void)
{
	struct errbuf err = {""};
	int rc;

	state = 99;
	open_world(&bent, "pack:2 core:4 pu:2", "fair", "j");
	for (int i = 0; i < 4; i++) {
		arrive(&bent);
		bent.job[i].nodes = 1;
		bent.job[i].excluded = false;
		bent.job[i].min_cores = 0;
		coreset_zero(&bent.job[i].envelope);
	}
	sample(&bent);
	rc = engine_decide(bent.e, &bent.v, &bent.plan, &err);
	ck_assert_msg(rc == 0, "%s", err.text);
}

static void teardown_bent(void)
{
	close_world(&bent);
}

static void expect(const char *text)
{
	struct errbuf err = {""};
	int rc = plan_check(&bent.plan, &bent.v, bent.t, false, &err);

	ck_assert_int_eq(rc, -EINVAL);
	ck_assert_msg(strstr(err.text, text) != NULL, "'%s' wanted, '%s'", text, err.text);
}

static void recount(int i)
{
	bent.plan.job[i].cores = topo_count_cores(bent.t, &bent.plan.job[i].coreset);
}

START_TEST(the_plan_as_made_passes)
{
	struct errbuf err = {""};

	ck_assert_int_eq(plan_check(&bent.plan, &bent.v, bent.t, false, &err), 0);
}
END_TEST

START_TEST(empty_coreset_is_refused)
{
	coreset_zero(&bent.plan.job[1].coreset);
	expect("job j1: its coreset is empty");
}
END_TEST

START_TEST(leaving_the_envelope_is_refused)
{
	coreset_add_range(&bent.job[2].envelope, 0, 1);
	expect("job j2: its coreset leaves the envelope");
}
END_TEST

START_TEST(reserved_cpus_are_refused)
{
	struct coreset reserved;

	coreset_zero(&reserved);
	coreset_add(&reserved, 0);
	bent.v.reserved = &reserved;
	expect("takes reserved CPUs");
}
END_TEST

START_TEST(overlap_is_refused)
{
	coreset_or(&bent.plan.job[0].coreset, &bent.plan.job[0].coreset, &bent.plan.job[3].coreset);
	recount(0);
	expect("shares CPUs with a job outside its group");
}
END_TEST

START_TEST(a_group_must_have_one_coreset)
{
	bent.plan.job[0].group = bent.plan.job[3].group = 1;
	coreset_or(&bent.plan.job[0].coreset, &bent.plan.job[0].coreset, &bent.plan.job[3].coreset);
	recount(0);
	expect("shares CPUs with a job outside its group");
}
END_TEST

START_TEST(half_an_smt_pair_is_refused_unless_shared)
{
	int pu = coreset_next(&bent.plan.job[3].coreset, 0);
	struct errbuf err = {""};

	coreset_del(&bent.plan.job[3].coreset, (unsigned int)pu);
	coreset_add(&bent.plan.job[0].coreset, (unsigned int)pu);
	recount(0);
	recount(3);
	expect("shares an SMT pair");
	ck_assert_int_eq(plan_check(&bent.plan, &bent.v, bent.t, true, &err), 0);
}
END_TEST

START_TEST(wrong_core_count_is_refused)
{
	bent.plan.job[0].cores++;
	expect("its core count is not that of its coreset");
}
END_TEST

START_TEST(too_few_cores_are_refused)
{
	bent.job[0].min_cores = 3;
	expect("fewer than its minimum");
}
END_TEST

START_TEST(capacity_is_kept)
{
	int capacity[2] = {3, 4};

	bent.v.capacity = capacity;
	bent.v.n_capacity = 2;
	expect("more cores than the capacity");
}
END_TEST

START_TEST(excluded_jobs_stay)
{
	bent.job[0].excluded = true;
	bent.plan.job[0].role = ROLE_EXCLUDED;
	coreset_zero(&bent.job[0].current);
	coreset_add(&bent.job[0].current, 15);
	expect("is excluded but would be moved");
}
END_TEST

START_TEST(a_donor_does_not_borrow)
{
	bent.plan.job[0].role = ROLE_DONOR;
	bent.plan.job[0].n_lent = 1;
	bent.plan.job[0].lent[0] =
		(struct plan_lent){.coreset = bent.plan.job[1].coreset, .donor = 1, .weight = 1};
	expect("borrows cores but is not a donee");
}
END_TEST

START_TEST(lent_cores_are_the_donors)
{
	bent.plan.job[0].role = ROLE_DONEE;
	bent.plan.job[0].n_lent = 1;
	bent.plan.job[1].role = ROLE_DONOR;
	bent.plan.job[0].lent[0] =
		(struct plan_lent){.coreset = bent.plan.job[2].coreset, .donor = 1, .weight = 1};
	expect("borrows CPUs that the donor or its envelope has not");
	bent.plan.job[1].role = ROLE_OWNER;
	expect("borrows from a job that is not a donor");
}
END_TEST

START_TEST(slices_never_hold_frozen_multi_node_steps)
{
	bent.plan.n_slices = 1;
	bent.plan.slice[0].n_jobs = 1;
	bent.plan.slice[0].job[0] = 0;
	bent.plan.slice[0].ms = 100;
	bent.job[0].nodes = 2;
	expect("must not be frozen");
}
END_TEST

START_TEST(experiments_stay_inside_the_envelope)
{
	bent.plan.n_experiments = 1;
	bent.plan.experiment[0] = (struct plan_experiment){.job = 0, .cores = 2, .ms = 100};
	expect("experiment outside its envelope");
}
END_TEST

START_TEST(bad_specs_are_refused_by_name)
{
	static const struct {
		const char *spec, *text;
	} table[] = {
		{"nosuch", "unknown policy 'nosuch'"},
		{"lira,tie=most", "option tie=most"},
		{"lira,colour=red", "unknown option 'colour=red'"},
		{"lira,h", "option 'h': key=value expected"},
		{"fair,x=1", "unknown option 'x=1'"},
		{"gang,slice_ms=abc", "option slice_ms=abc"},
		{"mapper,q=1.5", "option q=1.5"},
		{"llc-complex,strict=maybe", "option strict=maybe"},
	};
	struct policy_cfg cfg = {.max_jobs = JOBS, .topo = bent.t};
	struct errbuf err = {""};
	struct engine *e = NULL;

	ck_assert_int_lt(engine_create(&e, table[_i].spec, &cfg, &err), 0);
	ck_assert_msg(strstr(err.text, table[_i].text) != NULL, "%s", err.text);
	ck_assert_ptr_null(e);
}
END_TEST

START_TEST(configured_options_yield_to_the_spec)
{
	const struct policy_option options[] = {
		{"gang.slice_ms", "50"}, {"lira.tie", "most"}, /* another policy's: not looked at */
	};
	struct policy_cfg cfg = {
		.max_jobs = JOBS,
		.topo = bent.t,
		.option = options,
		.n_options = 2,
	};
	static const struct {
		const char *spec;
		int ms;
	} table[] = {{"gang", 50}, {"gang,slice_ms=70", 70}};
	struct engine *e = NULL;

	ck_assert_int_eq(engine_create(&e, table[_i].spec, &cfg, NULL), 0);
	ck_assert_int_eq(engine_decide(e, &bent.v, &bent.plan, NULL), 0);
	ck_assert_int_eq(bent.plan.slice[0].ms, table[_i].ms);
	engine_free(e);
}
END_TEST

/* policy_options: {sbmp-pp: {phase: width}} of coloc.yaml, as colocd hands it on. */
START_TEST(the_phase_detector_is_chosen_by_configuration)
{
	static const double u[] = {.9, .9, .9, .4, .4};
	const struct policy_option option = {"sbmp-pp.phase", _i ? "width" : "paper"};
	struct policy_cfg cfg = {
		.max_jobs = JOBS,
		.topo = bent.t,
		.option = &option,
		.n_options = 1,
	};
	struct engine *e = NULL;

	for (int i = 0; i < bent.v.n_jobs; i++) {
		bent.job[i].speed = bent.speed[i];
		bent.job[i].n_speed = 5;
	}
	ck_assert_int_eq(engine_create(&e, "sbmp-pp", &cfg, NULL), 0);
	for (int t = 0; t < 5; t++) {
		bent.v.now_s = 1000 + t;
		for (int i = 0; i < bent.v.n_jobs; i++) {
			bent.job[i].signal[SIGNAL_UTILIZATION] =
				(struct signal){i ? .9 : u[t], PROVENANCE_OS};
			bent.job[i].sample_no++;
		}
		ck_assert_int_eq(engine_decide(e, &bent.v, &bent.plan, NULL), 0);
		for (int i = 0; i < bent.v.n_jobs; i++)
			bent.job[i].current = bent.plan.job[i].coreset;
	}
	/* The paper's first epoch is not over; the other has seen two samples that differ. */
	ck_assert_int_eq(bent.plan.n_experiments > 0, _i);
	engine_free(e);
}
END_TEST

START_TEST(a_missing_signal_is_told_by_bit_and_name)
{
	struct policy_cfg cfg = {.max_jobs = JOBS, .topo = bent.t};
	struct errbuf err = {""};
	struct engine *e = NULL;

	ck_assert_int_eq(engine_create(&e, "lira,metric=mem_bw", &cfg, NULL), 0);
	bent.job[2].signal[SIGNAL_MEM_BYTES].provenance = PROVENANCE_NONE;
	ck_assert_uint_eq(engine_missing(e, &bent.v, 2), SIGNAL_BIT(SIGNAL_MEM_BYTES));
	ck_assert_uint_eq(engine_missing(e, &bent.v, 1), 0);
	ck_assert_int_eq(engine_decide(e, &bent.v, &bent.plan, &err), -ENODATA);
	ck_assert_msg(
		strstr(err.text, "job j2: mem_bytes_per_s is missing") != NULL, "%s", err.text);
	engine_free(e);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("engine");
	TCase *tc;
	SRunner *r;
	int failed, n = n_policies();

	tc = tcase_create("every policy makes valid plans through random lives");
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, random_lives_give_valid_plans, 0, n);
	suite_add_tcase(s, tc);
	tc = tcase_create("the same views get the same answers whatever jobs are called");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, names_and_repetition_change_nothing, 0, n);
	tcase_add_loop_test(tc, order_in_the_array_changes_nothing, 0, n);
	tcase_add_loop_test(tc, numbers_of_cpus_change_nothing, 0, n);
	tcase_add_loop_test(tc, names_of_sockets_change_nothing, 0, n);
	suite_add_tcase(s, tc);
	tc = tcase_create("a bent plan is refused with job and rule");
	tcase_add_checked_fixture(tc, setup_bent, teardown_bent);
	tcase_add_test(tc, the_plan_as_made_passes);
	tcase_add_test(tc, empty_coreset_is_refused);
	tcase_add_test(tc, leaving_the_envelope_is_refused);
	tcase_add_test(tc, reserved_cpus_are_refused);
	tcase_add_test(tc, overlap_is_refused);
	tcase_add_test(tc, a_group_must_have_one_coreset);
	tcase_add_test(tc, half_an_smt_pair_is_refused_unless_shared);
	tcase_add_test(tc, wrong_core_count_is_refused);
	tcase_add_test(tc, too_few_cores_are_refused);
	tcase_add_test(tc, capacity_is_kept);
	tcase_add_test(tc, excluded_jobs_stay);
	tcase_add_test(tc, a_donor_does_not_borrow);
	tcase_add_test(tc, lent_cores_are_the_donors);
	tcase_add_test(tc, slices_never_hold_frozen_multi_node_steps);
	tcase_add_test(tc, experiments_stay_inside_the_envelope);
	suite_add_tcase(s, tc);
	tc = tcase_create("whoever made a plan, a bent one is refused");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, bent_plans_of_every_policy_are_refused, 0, n);
	suite_add_tcase(s, tc);
	tc = tcase_create("options and signals are refused by name");
	tcase_add_checked_fixture(tc, setup_bent, teardown_bent);
	tcase_add_loop_test(tc, bad_specs_are_refused_by_name, 0, 8);
	tcase_add_loop_test(tc, configured_options_yield_to_the_spec, 0, 2);
	tcase_add_loop_test(tc, the_phase_detector_is_chosen_by_configuration, 0, 2);
	tcase_add_test(tc, a_missing_signal_is_told_by_bit_and_name);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
