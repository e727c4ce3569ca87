/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The invariant checker against plans that were bent; options and signals refused by name.
 */
#include "tests/unit/policy_life.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const sources[] = {
	"core:2",
	"pack:2 core:4 pu:2",
	"pack:2 l3:2 core:3 pu:1",
	"pack:1 numa:4 core:4 pu:1",
};
#define N_SOURCES 4

static int n_policies(void)
{
	int n = 0;

	while (policy_registry[n])
		n++;
	return n;
}

/* Ways to bend a plan; false: this plan has nothing to bend in that way. */
static bool bend(struct life *w, int how, int i)
{
	static int beyond[1];
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
	case 12:
		j->n_lent = PLAN_LENT_MAX + 1;
		return true;
	case 13:
		j->role = ROLE_DONEE;
		j->n_lent = 1;
		p->job[other].role = ROLE_DONOR;
		j->lent[0] = (struct plan_lent){
			.coreset = p->job[other].coreset, .donor = other, .weight = 101};
		return owner && other != i && coreset_is_empty(&w->job[i].envelope);
	case 14:
		p->n_experiments = 1;
		p->experiment[0] = (struct plan_experiment){
			.job = p->n_jobs, .cores = 1, .ms = 100, .coreset = j->coreset};
		return true;
	case 15:
		p->n_slices = PLAN_SLICES_MAX + 1;
		return true;
	case 16:
		p->n_slices = 1;
		p->slice[0].n_jobs = 1;
		p->slice[0].job = beyond; /* the plan's own array is not copied */
		beyond[0] = p->n_jobs;
		p->slice[0].ms = 100;
		return true;
	case 17:
		p->n_jobs--;
		return true;
	case 18:
		/* An envelope that reaches beyond the node, as a hand-written view's may. */
		coreset_add(&j->coreset, 1000);
		w->job[i].envelope = j->coreset;
		return owner;
	case 19:
		j->low = p->job[other].coreset;
		p->hysteresis_ms = 0;
		return true;
	case 20:
		j->low = j->coreset; /* its own */
		p->hysteresis_ms = 10;
		return true;
	case 21:
		coreset_add(&j->low, 1000); /* no such CPU */
		p->hysteresis_ms = 10;
		return true;
	case 22:
		p->n_clusters = 1;
		p->cluster[0] = (struct plan_cluster){.ways = 1};
		return true;
	case 23:
		p->n_clusters = 2;
		p->cluster[0] = p->cluster[1] = (struct plan_cluster){.ways = 0.6};
		return true;
	case 24:
		p->n_clusters = 2;
		p->cluster[0] = p->cluster[1] = (struct plan_cluster){.ways = 0.5};
		p->cluster[1].bandwidth = 1.5;
		return true;
	case 25:
		j->cluster = p->n_clusters;
		return true;
	default:
		return false;
	}
}
#define BENDS 26

/* Whoever made the plan, what breaks a rule is refused. */
START_TEST(bent_plans_of_every_policy_are_refused)
{
	struct life w, copy;
	struct plan_job *job = calloc(LIFE_JOBS, sizeof(*job));
	int refused = 0;

	ck_assert_ptr_nonnull(job);
	life_seed(31 + (uint64_t)_i);
	life_open(&w, sources[1], policy_registry[_i]->name, "j");
	for (int round = 0; round < 60; round++) {
		if (!life_step(&w) || w.plan.n_jobs == 0)
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
	life_close(&w);
}
END_TEST

static struct life bent;

static void setup_bent(void)
{
	struct errbuf err = {""};
	int rc;

	life_seed(99);
	life_open(&bent, "pack:2 core:4 pu:2", "fair", "j");
	for (int i = 0; i < 4; i++) {
		life_arrive(&bent);
		bent.job[i].nodes = 1;
		bent.job[i].excluded = false;
		bent.job[i].min_cores = 0;
		coreset_zero(&bent.job[i].envelope);
	}
	life_sample(&bent);
	rc = engine_decide(bent.e, &bent.v, &bent.plan, &err);
	ck_assert_msg(rc == 0, "%s", err.text);
}

static void teardown_bent(void)
{
	life_close(&bent);
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

static const struct {
	const char *spec, *text;
} bad_specs[] = {
	{"nosuch", "unknown policy 'nosuch'"},
	{"lira,tie=most", "option tie=most"},
	{"lira,colour=red", "unknown option 'colour=red'"},
	{"lira,h", "option 'h': key=value expected"},
	{"fair,x=1", "unknown option 'x=1'"},
	{"gang,slice_ms=abc", "option slice_ms=abc"},
	{"fair,turns_ms=9", "option turns_ms=9"},
	{"fair,turns=some", "option turns=some"},
	{"mapper,q=1.5", "option q=1.5"},
	{"llc-complex,strict=maybe", "option strict=maybe"},
};
#define N_BAD_SPECS (int)(sizeof(bad_specs) / sizeof(bad_specs[0]))

START_TEST(bad_specs_are_refused_by_name)
{
	struct policy_cfg cfg = {.max_jobs = LIFE_JOBS, .topo = bent.t};
	struct errbuf err = {""};
	struct engine *e = NULL;

	ck_assert_int_lt(engine_create(&e, bad_specs[_i].spec, &cfg, &err), 0);
	ck_assert_msg(strstr(err.text, bad_specs[_i].text) != NULL, "%s", err.text);
	ck_assert_ptr_null(e);
}
END_TEST

START_TEST(configured_options_yield_to_the_spec)
{
	const struct policy_option options[] = {
		{"gang.slice_ms", "50"}, {"lira.tie", "most"}, /* another policy's: not looked at */
	};
	struct policy_cfg cfg = {
		.max_jobs = LIFE_JOBS,
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
	/* Who came first goes before the others: his slice is longer. */
	ck_assert_int_eq(bent.plan.slice[1].ms, table[_i].ms);
	engine_free(e);
}
END_TEST

/* policy_options: {sbmp-pp: {phase: width}} of coloc.yaml, as colocd hands it on. */
START_TEST(the_phase_detector_is_chosen_by_configuration)
{
	static const double u[] = {.9, .9, .9, .4, .4};
	const struct policy_option option = {"sbmp-pp.phase", _i ? "width" : "paper"};
	struct policy_cfg cfg = {
		.max_jobs = LIFE_JOBS,
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
	struct policy_cfg cfg = {.max_jobs = LIFE_JOBS, .topo = bent.t};
	struct errbuf err = {""};
	struct engine *e = NULL;

	ck_assert_int_eq(engine_create(&e, "lira,metric=mem_bw", &cfg, NULL), 0);
	bent.job[2].signal[SIGNAL_MEM_BYTES].provenance = PROVENANCE_NONE;
	ck_assert_int_eq(engine_decide(e, &bent.v, &bent.plan, &err), -ENODATA);
	ck_assert_msg(
		strstr(err.text, "job j2: mem_bytes_per_s is missing") != NULL, "%s", err.text);
	engine_free(e);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("plan_check");
	TCase *tc;
	SRunner *r;
	int failed, n = n_policies();

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
	tcase_add_loop_test(tc, bad_specs_are_refused_by_name, 0, N_BAD_SPECS);
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
