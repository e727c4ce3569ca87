/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the driver tells a policy, heard through drive_watch.
 */
#include "nodesvc/sim/drive.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct topo *topo;
static struct machine machine;
static struct program program[2];
static struct run_spec spec[2];

/* What was heard. */
static struct heard {
	int decisions, ticks, phases;
	double phase_s[64];
	uint64_t sample_no;
	double loads[2000], busy[2000];
	int n;
} heard;

static void listen(void *ctx, const struct view *v, const struct plan *p, const char *refused)
{
	struct heard *h = ctx;

	(void)p;
	(void)refused;
	h->decisions++;
	for (int e = 0; e < v->n_events; e++) {
		h->ticks += v->event[e].type == EVENT_TICK;
		if (v->event[e].type == EVENT_PHASE && h->phases < 64)
			h->phase_s[h->phases++] = v->now_s;
	}
	h->sample_no = v->job[0].sample_no;
	if (h->n < 2000) {
		h->loads[h->n] = v->job[0].signal[SIGNAL_LOADS].value;
		h->busy[h->n++] = v->job[0].signal[SIGNAL_UTILIZATION].value;
	}
}

static const struct drive_watch watch = {&heard, listen};

static void setup(void)
{
	struct machine_params p;
	struct errbuf err = {""};

	machine_defaults(&p);
	p.llc_bytes = 20e6;
	ck_assert_int_eq(topo_load(&topo, "pack:2 core:8 pu:1", &err), 0);
	ck_assert_int_eq(machine_init(&machine, topo, &p, &err), 0);
	memset(program, 0, sizeof(program));
	for (int i = 0; i < 2; i++) {
		program[i].n_phases = 1;
		phase_init(&program[i].phase[0]);
		program[i].phase[0].seconds = 1000;
		spec[i] = (struct run_spec){.program = &program[i], .threads = 8};
	}
	strcpy(program[0].name, "a");
	strcpy(program[1].name, "b");
	memset(&heard, 0, sizeof(heard));
}

static void teardown(void)
{
	machine_done(&machine);
	topo_free(topo);
}

static void drive(const char *policy, double seconds, double sample_s, double decide_s,
	enum phase_events phases)
{
	static struct drive_result r;
	struct drive d;
	struct errbuf err = {""};

	drive_defaults(&d);
	d.m = &machine;
	d.spec = spec;
	d.n_jobs = 2;
	d.policy = policy;
	d.seed = 7;
	d.most_s = seconds;
	d.sample_s = sample_s;
	d.decide_s = decide_s;
	d.phases = phases;
	d.watch = &watch;
	ck_assert_msg(drive_run(&d, &r, &err) == 0, "%s", err.text);
}

START_TEST(samples_come_between_decisions)
{
	drive("fair", 60, 0.5, 5, PHASES_NONE);
	ck_assert_int_ge(heard.ticks, 11);
	ck_assert_int_le(heard.ticks, 12);
	/* 0.1 % of samples come late. */
	ck_assert_uint_ge(heard.sample_no, 105);
	ck_assert_uint_le(heard.sample_no, 120);
}
END_TEST

START_TEST(decisions_come_between_samples)
{
	drive("fair", 10, 2, 0.1, PHASES_NONE);
	ck_assert_int_ge(heard.ticks, 98);
	ck_assert_uint_le(heard.sample_no, 5);
}
END_TEST

/* The first program halves its busy time 20 s into each run of 40 s. */
static void two_phases(void)
{
	program[0].n_phases = 2;
	program[0].phase[0].seconds = program[0].phase[1].seconds = 20;
	program[0].phase[1] = program[0].phase[0];
	program[0].n_points = 1;
	program[0].point[0].cores = 8;
	program[0].point[0].utilization = 0.9;
	program[0].phase[1].utilization_scale = 0.4;
}

START_TEST(phase_change_is_told_when_sensors_show_it)
{
	two_phases();
	drive("fair", 39, 0.2, 0, PHASES_WIDTH);
	ck_assert_int_eq(heard.phases, 1);
	/* 20 s alone on 16 cores are 40 s on its 8; the first reading after may be of both. */
	ck_assert_double_ge(heard.phase_s[0], 20);
}
END_TEST

START_TEST(steady_program_has_no_phase_change)
{
	drive("fair", 300, 0.2, 0, PHASES_WIDTH);
	ck_assert_int_eq(heard.phases, 0);
}
END_TEST

START_TEST(nobody_looks_where_told_not_to)
{
	two_phases();
	drive("fair", 100, 0.2, 0, PHASES_NONE);
	ck_assert_int_eq(heard.phases, 0);
}
END_TEST

/*
 * The sensor is all there is: a property that no counter shows (what threads would lose if they
 * shared cores) changes no bit of any view, and what counters show is never the exact truth.
 */
START_TEST(policy_does_not_see_what_no_counter_shows)
{
	static struct heard before;
	int exact = 0;

	drive("lira", 30, 0.2, 0, PHASES_WIDTH);
	before = heard;
	memset(&heard, 0, sizeof(heard));
	program[0].phase[0].sync = 1;
	program[1].phase[0].sync = 1;
	drive("lira", 30, 0.2, 0, PHASES_WIDTH);
	ck_assert_int_gt(heard.n, 100);
	ck_assert_int_eq(heard.n, before.n);
	for (int i = 2; i < heard.n; i++) {
		ck_assert(heard.loads[i] == before.loads[i]);
		ck_assert(heard.busy[i] == before.busy[i]);
		exact += heard.loads[i] == heard.loads[i - 1];
	}
	/* One program in one phase: without noise every reading would be the same. */
	ck_assert_int_lt(exact, heard.n / 10);
}
END_TEST

/* It has no cores before a decision: experiments of the others, a second each, must not outlast it.
 */
/* What is known of the first job: when a run of it is first seen, and where its memory is last. */
static struct begin {
	char id[JOB_ID_MAX];
	int runs, home;
	double rss;
	struct signal loads[64], counted;
} begin;

static void note_begin(void *ctx, const struct view *v, const struct plan *p, const char *refused)
{
	struct begin *b = ctx;
	const struct view_job *j = &v->job[0];

	(void)p;
	(void)refused;
	b->home = j->home_numa;
	b->rss = j->rss_bytes;
	if (strcmp(b->id, j->id) != 0 && b->runs < 64)
		b->loads[b->runs++] = j->signal[SIGNAL_LOADS];
	strcpy(b->id, j->id);
	if (j->signal[SIGNAL_LOADS].provenance == PROVENANCE_HW)
		b->counted = j->signal[SIGNAL_LOADS];
}

static const struct drive_watch watch_begin = {&begin, note_begin};

static void drive_runs(bool stored)
{
	static struct drive_result r;
	struct drive d;
	struct errbuf err = {""};

	memset(&begin, 0, sizeof(begin));
	drive_defaults(&d);
	d.m = &machine;
	d.spec = spec;
	d.n_jobs = 2;
	d.policy = "fair";
	d.seed = 7;
	d.most_s = 60;
	d.min_runs = 100;
	d.stored = stored;
	d.watch = &watch_begin;
	ck_assert_msg(drive_run(&d, &r, &err) == 0, "%s", err.text);
}

START_TEST(a_run_begins_with_what_the_one_before_has_left)
{
	program[0].phase[0].seconds = 5;
	drive_runs(_i);
	ck_assert_int_ge(begin.runs, 4);
	ck_assert_int_eq(begin.loads[0].provenance, _i ? PROVENANCE_PROFILE : PROVENANCE_NONE);
	for (int k = 1; k < begin.runs; k++) {
		ck_assert_int_eq(begin.loads[k].provenance, PROVENANCE_PROFILE);
		/* Twelve samples of 2 % noise. */
		ck_assert_double_eq_tol(begin.loads[k].value / begin.counted.value, 1, 0.1);
	}
}
END_TEST

START_TEST(where_memory_is_is_told_where_it_stays)
{
	struct machine_params p = machine.p;
	struct topo *t;
	struct errbuf err = {""};

	program[0].phase[0].working_set_bytes = 7e6;
	drive_runs(false);
	ck_assert_int_eq(begin.home, -1);
	ck_assert_double_lt(begin.rss, 0);
	/* A package has memory of its own, also where the text names none. */
	ck_assert_int_eq(machine_topology(&t, "pack:2 core:8 pu:1", &err), 0);
	ck_assert_int_eq(t->n_numa, 2);
	machine_done(&machine);
	p.numa = NUMA_STICKY;
	ck_assert_int_eq(machine_init(&machine, t, &p, &err), 0);
	drive_runs(false);
	ck_assert_int_eq(begin.home, 0); /* the first of two has the first socket */
	ck_assert_double_eq(begin.rss, 7e6);
	topo_free(t);
}
END_TEST

START_TEST(job_that_comes_during_experiments_is_placed_at_once)
{
	static struct drive_result r;
	struct run_spec many[8];
	struct errbuf err = {""};
	struct drive d;

	program[0].phase[0].seconds = 0.05;
	for (int i = 0; i < 8; i++)
		many[i] = (struct run_spec){.program = &program[i > 0], .threads = 8};
	drive_defaults(&d);
	d.m = &machine;
	d.spec = many;
	d.n_jobs = 8;
	d.policy = "mapper";
	d.seed = 7;
	d.most_s = 12;
	ck_assert_msg(drive_run(&d, &r, &err) == 0, "%s", err.text);
	ck_assert_int_gt(r.job[0].runs, 5);
	ck_assert_double_lt(drive_ntt(&r, 0, NTT_SHARE), 1.5);
}
END_TEST

/* Seventeen on two sockets of eight: nine of them crowd the first and take turns there. The others
 * have one thread each, and are in no slice. */
START_TEST(who_is_in_no_slice_runs_beside_all)
{
	static struct drive_result r[2];
	static const char *const policy[] = {"fair", "fair,turns=all,turns_ms=100"};
	struct run_spec many[17];
	struct errbuf err = {""};
	struct drive d;

	for (int i = 0; i < 17; i++)
		many[i] = (struct run_spec){.program = &program[i > 8], .threads = i > 8 ? 1 : 8};
	for (int i = 0; i < 2; i++)
		program[i].phase[0].seconds = 0.5;
	drive_defaults(&d);
	d.m = &machine;
	d.spec = many;
	d.n_jobs = 17;
	d.seed = 7;
	d.most_s = 60;
	for (int k = 0; k < 2; k++) {
		d.policy = policy[k];
		ck_assert_msg(drive_run(&d, &r[k], &err) == 0, "%s", err.text);
	}
	for (int i = 9; i < 17; i++) {
		ck_assert_int_gt(r[0].job[i].runs, 5);
		ck_assert_int_ge(r[1].job[i].runs, r[0].job[i].runs - 1);
	}
	ck_assert_int_gt(r[1].job[0].runs, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sim_drive");
	TCase *t;
	SRunner *r;
	int failed;

	t = tcase_create("readings and decisions have clocks of their own");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, samples_come_between_decisions);
	tcase_add_test(t, decisions_come_between_samples);
	suite_add_tcase(s, t);

	t = tcase_create("phase changes come from the sensors");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, phase_change_is_told_when_sensors_show_it);
	tcase_add_test(t, steady_program_has_no_phase_change);
	tcase_add_test(t, nobody_looks_where_told_not_to);
	suite_add_tcase(s, t);

	t = tcase_create("what is known of a program as it starts, and where its memory is");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, a_run_begins_with_what_the_one_before_has_left, 0, 2);
	tcase_add_test(t, where_memory_is_is_told_where_it_stays);
	suite_add_tcase(s, t);
	t = tcase_create("experiments keep nobody waiting who has come since");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, job_that_comes_during_experiments_is_placed_at_once);
	suite_add_tcase(s, t);

	t = tcase_create("slices hold up those who are in one");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, who_is_in_no_slice_runs_beside_all);
	suite_add_tcase(s, t);

	t = tcase_create("a policy cannot see the truth");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, policy_does_not_see_what_no_counter_shows);
	suite_add_tcase(s, t);

	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
