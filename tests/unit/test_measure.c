/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon keeps of its samples: phases, first intervals, speeds alone and in company. The
 * tests write the report pages and the utilisation themselves and bring their own time.
 */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ipc.h"
#include "nodesvc/choose/internal.h"
#include "nodesvc/counters/calls.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/base/log.h"
#include "nodesvc/measure/internal.h"
#include "nodesvc/socket/internal.h"
#include "nodesvc/steps/steps.h"

#define STEP_NS INT64_C(200000000)

static struct daemon d;
static struct errbuf err;
static char dir[64];
static int64_t now_ns;

static void setup(void)
{
	char path[96];

	daemon_init(&d);
	strcpy(dir, "/tmp/coloc-track-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	log_init(LOG_LEVEL_ERROR);
	conf_defaults(d.conf);
	strcpy(d.node->type, "model, 2 cores");
	ck_assert_int_eq(fsroot_open(&d.node->root, dir, &err), 0);
	ck_assert_int_eq(topo_load(&d.node->topo, "core:2 pu:1", &err), 0);
	snprintf(path, sizeof(path), "%s/coloc.db", dir);
	ck_assert_int_eq(record_open(&d.record, path, false, &err), 0);
	ck_assert_int_eq(loop_create(&d.loop, &err), 0);
	ck_assert_int_eq(daemon_open_rooms(&d, &err), 0);
	/* Its own time: the clock of a machine that has just started shows less than a test's. */
	now_ns = STEP_NS;
}

static void teardown(void)
{
	char command[96];

	jobs_done(d.jobs);
	daemon_close_rooms(&d);
	loop_free(d.loop);
	record_close(d.record);
	topo_free(d.node->topo);
	fsroot_close(&d.node->root);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}

static const char *owner = "ada";

static struct step *add(uint32_t job, const char *type, const char *cores)
{
	struct step *s = jobs_add(d.jobs, job, 0, 0);

	ck_assert_ptr_nonnull(s);
	strcpy(s->type, type);
	strcpy(s->user, owner);
	s->located = true;
	s->status = STATUS_PLACED;
	s->envelope = s->slurm_step = d.node->topo->all;
	coreset_parse(&s->coreset, cores, NULL);
	ck_assert_int_eq(pages_create(&s->pages, 1000, &err), 0);
	ck_assert_int_eq(utilization_open(&s->util, &d.node->root, &err), 0);
	s->pages->report->slot[0].pid = 100;
	s->pages->report->slot[0].unit = coloc_name("sweeps");
	priors_open(d.measure, s);
	return s;
}

/* @s did @units, in two reports. */
static void work(struct step *s, double units)
{
	struct coloc_slot *slot = &s->pages->report->slot[0];

	if (units <= 0)
		return;
	slot->progress = coloc_bits(coloc_double(slot->progress) + units);
	slot->updated_ns = now_ns;
	slot->updates += 2;
}

/* One interval in which @s did @units in two reports and wanted its cores so much. */
static bool interval(struct step *s, double units, double busy)
{
	work(s, units);
	s->signal[SIGNAL_UTILIZATION] = (struct signal){busy, PROVENANCE_OS};
	s->sample_no++;
	return reading_judge(d.measure, s, now_ns, STEP_NS / 1e9);
}

static void pass(void)
{
	corun_round(d.measure, STEP_NS / 1e9);
	now_ns += STEP_NS;
}

START_TEST(two_samples_in_another_phase_are_a_change)
{
	struct step *s = add(1, "app", "0-1");
	int seen = 0;

	for (int i = 0; i < 20; i++, pass())
		ck_assert(!interval(s, 10, 0.98));
	ck_assert(!interval(s, 10, 0.45));
	pass();
	ck_assert(interval(s, 10, 0.45));
	pass();
	for (int i = 0; i < 20; i++, pass())
		seen += interval(s, 10, 0.45);
	ck_assert_int_eq(seen, 0);
	for (int i = 0; i < 20; i++, pass())
		seen += interval(s, 10, 0.98);
	ck_assert_int_eq(seen, 1);
	ck_assert_int_eq(s->seen.changes, 2);
	/* The first phase is known again. */
	ck_assert_int_eq(s->seen.n_phases, 2);
	ck_assert_int_eq(s->seen.phase_now, 0);
}
END_TEST

/* Its one thread has run so long in the interval that ends now. */
static void ran(struct step *s, double share)
{
	static const pid_t tid = 100;
	static uint64_t run_ns = 1, slices;
	struct signal wanted;
	char path[96];
	FILE *f;

	run_ns += (uint64_t)(share * STEP_NS);
	snprintf(path, sizeof(path), "%s/proc/%d/schedstat", dir, (int)tid);
	f = fopen(path, "we");
	ck_assert_ptr_nonnull(f);
	fprintf(f, "%llu 0 %llu\n", (unsigned long long)run_ns, (unsigned long long)++slices);
	fclose(f);
	ck_assert_int_eq(
		utilization_read(s->util, &tid, 1, now_ns, 2, NULL, &wanted, NULL, &err), 0);
}

/*
 * A loop that computes for 0.2 ms and sleeps for 4 runs for about a twentieth of the time: beside a
 * load now a little more, which gives a figure, now a little less, which gives none.
 */
START_TEST(deviations_with_no_figure_between_are_not_in_a_row)
{
	static const struct {
		double share, per_cpu_s;
	} sample[] = {
		{.060, 5000},
		{.060, 5000},
		{.060, 5000},
		{.060, 5000},
		{.060, 5000},
		{.060, 2900},
		{.046, 0},
		{.047, 0},
		{.049, 0},
		{.060, 2900},
		{.046, 0},
		{.060, 5000},
		{.045, 0},
		{.060, 2900},
	};
	struct step *s = add(1, "app", "0-1");
	char path[96];

	snprintf(path, sizeof(path), "mkdir -p %s/proc/100", dir);
	ck_assert_int_eq(system(path), 0);
	ran(s, 0);
	for (size_t i = 0; i < sizeof(sample) / sizeof(sample[0]); i++) {
		double share = sample[i].share,
		       rate = sample[i].per_cpu_s > 0 ? sample[i].per_cpu_s : 5000;

		pass();
		ran(s, share);
		s->pages->report->slot[0].updates += 40;
		ck_assert(!interval(s, rate * share * STEP_NS / 1e9, share));
		ck_assert(sample[i].per_cpu_s > 0 || !phases_are_suspect(s));
	}
	ck_assert_int_eq(s->seen.changes, 0);
}
END_TEST

START_TEST(noise_and_little_waiting_change_no_phase)
{
	struct step *s = add(1, "app", "0-1");

	srand48(7);
	for (int i = 0; i < 5000; i++, pass())
		ck_assert(!interval(s, 10, 0.75 + 0.25 * drand48()));
	s = add(2, "idler", "0-1");
	for (int i = 0; i < 5000; i++, pass())
		ck_assert(!interval(s, 1, 0.2 * drand48()));
}
END_TEST

START_TEST(a_move_starts_the_reference_anew)
{
	struct step *s = add(1, "app", "0-1");

	for (int i = 0; i < 20; i++, pass())
		ck_assert(!interval(s, 10, 0.5));
	coreset_parse(&s->coreset, "0", NULL);
	reading_disturb(s);
	for (int i = 0; i < 20; i++, pass())
		ck_assert(!interval(s, 10, 1));
	ck_assert_int_eq(s->seen.changes, 0);
}
END_TEST

START_TEST(epochs_of_the_paper_see_a_change_after_an_epoch)
{
	struct step *s = add(1, "app", "0-1");
	int seen = 0;

	d.conf->phase.detector = DETECTOR_PAPER;
	/* The long first epoch, then one of 2.5 s. */
	for (int i = 0; i < 66; i++, pass())
		ck_assert(!interval(s, 10, 1));
	for (int i = 0; i < 26; i++, pass())
		seen += interval(s, 10, 0.3);
	ck_assert_int_eq(seen, 1);
}
END_TEST

static int count(const struct measurement *m, void *arg)
{
	if (m->signal == SIGNAL_PROGRESS)
		((struct measurement *)arg)[m->kind] = *m;
	return 0;
}

/* ---- counted calls: what the counter of them would say ---- */

bool __wrap_calls_step_work(const struct calls_step *c, struct calls_work *ret);
double __wrap_calls_step_rate(const struct calls_step *c);

static struct calls_work counted_work;
static double counted_rate;

bool __wrap_calls_step_work(const struct calls_step *c, struct calls_work *ret)
{
	(void)c;
	*ret = counted_work;
	return counted_work.figures > 0;
}

double __wrap_calls_step_rate(const struct calls_step *c)
{
	(void)c;
	return counted_rate;
}

bool __wrap_calls_step_choice(const struct calls_step *c, struct calls_choice *ret);

static struct calls_choice counted_choice;

bool __wrap_calls_step_choice(const struct calls_step *c, struct calls_choice *ret)
{
	(void)c;
	*ret = counted_choice;
	return ret->name != NULL;
}

START_TEST(counted_calls_are_a_speed_with_the_first_figure_until_given_up)
{
	struct calls *calls = calls_new(NULL, NULL, 0.005);
	struct step *s = add(1, "app", "0-1");

	counted_work = (struct calls_work){0};
	counted_rate = NAN;
	s->seen.calls.step = calls_step_new(calls, 0, s);
	interval(s, 0, 0.9);
	ck_assert(isnan(s->seen.rate));
	counted_work = (struct calls_work){.total = 10, .t_ns = now_ns, .figures = 1};
	counted_rate = 500;
	interval(s, 0, 0.9);
	ck_assert_double_eq(s->seen.rate, 500);
	pass();
	/* Then it is that of the time between two readings. */
	counted_work = (struct calls_work){
		.total = 10 + 600 * STEP_NS / 1e9, .t_ns = now_ns, .figures = 2};
	counted_rate = 700;
	interval(s, 0, 0.9);
	ck_assert_double_eq_tol(s->seen.rate, 600, 1e-6);
	pass();
	/* No function marks its work any more: what was is no speed of now. */
	counted_rate = NAN;
	interval(s, 0, 0.9);
	ck_assert(isnan(s->seen.rate));
	calls_step_free(s->seen.calls.step);
	s->seen.calls.step = NULL;
	calls_free(calls);
}
END_TEST

/* A run alone of @seconds in which that function is called @per_s times a second; what its next run
 * knows. */
static struct seen_mark after_run(
	const char *name, double spread, double per_s, double seconds, const char *user)
{
	struct calls *calls = calls_new(NULL, NULL, 0.005);
	struct seen_mark mark;
	struct step *s;

	owner = user;
	s = add(1, "app", "0-1");
	s->seen.calls.step = calls_step_new(calls, 0, s);
	counted_work = (struct calls_work){0};
	counted_choice = (struct calls_choice){name, spread, per_s};
	counted_rate = per_s;
	for (double t = 0; t < seconds; t += STEP_NS / 1e9, pass()) {
		counted_work =
			(struct calls_work){.total = counted_work.total + per_s * STEP_NS / 1e9,
				.t_ns = now_ns,
				.figures = counted_work.figures + 1};
		interval(s, 0, 0.9);
	}
	priors_close(d.measure, s);
	counted_choice.name = NULL;
	calls_step_free(s->seen.calls.step);
	s->seen.calls.step = NULL;
	calls_free(calls);
	jobs_remove(d.jobs, s);
	s = add(2, "app", "0-1");
	mark = s->seen.calls.mark_before;
	jobs_remove(d.jobs, s);
	owner = "ada";
	return mark;
}

START_TEST(the_function_that_marks_the_work_is_known_to_the_next_run)
{
	struct seen_mark mark = after_run(NULL, NAN, 0, 1, "ada");

	ck_assert_str_eq(mark.name, "");
	/* A short run tells its name, and no more. */
	mark = after_run("GOMP_parallel", NAN, 900, 0.5, "ada");
	ck_assert_str_eq(mark.name, "GOMP_parallel");
	ck_assert(isnan(mark.spread));
	ck_assert_int_eq(mark.alone_cores, 0);
	mark = after_run("GOMP_parallel", 0.02, 500, 6, "ada");
	ck_assert_str_eq(mark.name, "GOMP_parallel");
	ck_assert_double_eq_tol(mark.spread, 0.02, 1e-6);
	ck_assert_double_eq_tol(mark.alone_per_s, 500, 1);
	ck_assert_int_eq(mark.alone_cores, 2);
	/* What is known of it stays when a run was too short to tell; of another function nothing.
	 */
	mark = after_run("GOMP_parallel", NAN, 800, 0.5, "ada");
	ck_assert_double_eq_tol(mark.alone_per_s, 500, 1);
	ck_assert_double_eq_tol(mark.spread, 0.02, 1e-6);
	mark = after_run("MPI_Allreduce", NAN, 20, 0.5, "ada");
	ck_assert_str_eq(mark.name, "MPI_Allreduce");
	ck_assert(isnan(mark.spread));
	ck_assert_int_eq(mark.alone_cores, 0);
	/* Neither another user's, nor of another kind of node. */
	mark = after_run(NULL, NAN, 0, 1, "bob");
	ck_assert_str_eq(mark.name, "");
	strcpy(d.node->type, "another");
	mark = after_run(NULL, NAN, 0, 1, "ada");
	ck_assert_str_eq(mark.name, "");
}
END_TEST

/* A run that is killed with the service, or goes on for days. */
START_TEST(the_function_is_kept_as_soon_as_it_is_chosen)
{
	struct calls *calls = calls_new(NULL, NULL, 0.005);
	struct step *s = add(1, "app", "0-1"), *next;

	s->seen.calls.step = calls_step_new(calls, 0, s);
	counted_choice = (struct calls_choice){"GOMP_barrier", NAN, 9};
	interval(s, 0, 0.9);
	next = add(2, "app", "0-1");
	ck_assert_str_eq(next->seen.calls.mark_before.name, "GOMP_barrier");
	counted_choice.name = NULL;
	calls_step_free(s->seen.calls.step);
	s->seen.calls.step = NULL;
	calls_free(calls);
}
END_TEST

/* Measurements of another node, that an administrator has brought here, name functions too. */
START_TEST(of_measurements_the_newest_names_the_function)
{
	static const struct {
		int cores;
		const char *unit;
		int64_t last_unix_s;
	} row[] = {{1, "calls of MPI_Send", 9}, {2, "calls of GOMP_parallel", 20},
		{4, "calls of GOMP_barrier", 10}, {8, "sweeps", 30}};
	struct measurement m = {.type = "app",
		.user = "ada",
		.node_type = "model, 2 cores",
		.kind = MEASURED_ALONE,
		.signal = SIGNAL_PROGRESS,
		.source = "calls",
		.count = 1,
		.mean = 5};
	struct learnt kept = {.what = PRIORS_MARKS,
		.node_type = m.node_type,
		.owner = "ada",
		.name = "app",
		.value = "GOMP_single_start 0.1 0 0"};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		m.cores = row[i].cores;
		m.last_unix_s = row[i].last_unix_s;
		strcpy(m.unit, row[i].unit);
		ck_assert_int_eq(record_measurement_put(d.record, &m, &err), 0);
	}
	ck_assert_str_eq(add(1, "app", "0")->seen.calls.mark_before.name, "GOMP_parallel");
	/* What was kept of its runs here is worth more. */
	ck_assert_int_eq(record_learnt_put(d.record, &kept, 9, &err), 0);
	ck_assert_str_eq(add(2, "app", "0")->seen.calls.mark_before.name, "GOMP_single_start");
}
END_TEST

static const char *asked(uint32_t uid, const char *cmd)
{
	static char answer[1024];
	static struct msg m;
	char *text = NULL;
	struct socket k;

	daemon_fill_socket(&d, &k);
	msg_init(&m, "ctl");
	msg_put(&m, "cmd", cmd);
	msg_put(&m, "tag", "app");
	if (ctl_run(&k, uid, &m, &text, &err) == 0)
		snprintf(answer, sizeof(answer), "%s", text);
	else
		snprintf(answer, sizeof(answer), "%s", err.text);
	free(text);
	return answer;
}

/* Users 1 and 2 have these names everywhere. */
START_TEST(a_user_is_told_of_his_own_programs_functions)
{
	struct learnt kept = {.what = PRIORS_MARKS, .node_type = "", .name = "app"};

	kept.owner = "daemon";
	kept.value = "GOMP_parallel 0.02 500 2";
	ck_assert_int_eq(record_learnt_put(d.record, &kept, 9, &err), 0);
	kept.owner = "bin";
	kept.value = "MPI_Send 0.02 0 0";
	ck_assert_int_eq(record_learnt_put(d.record, &kept, 9, &err), 0);
	ck_assert_ptr_nonnull(strstr(asked(1, "profile_list"), "GOMP_parallel"));
	ck_assert_ptr_null(strstr(asked(1, "profile_list"), "MPI_Send"));
	ck_assert_ptr_nonnull(strstr(asked(0, "profile_list"), "GOMP_parallel"));
	ck_assert_ptr_nonnull(strstr(asked(0, "profile_list"), "MPI_Send"));
	ck_assert_ptr_nonnull(strstr(asked(1, "profile_rm"), "\"removed\""));
	ck_assert_ptr_nonnull(strstr(asked(1, "profile_rm"), "no profile 'app'"));
	ck_assert_ptr_null(strstr(asked(0, "profile_list"), "GOMP_parallel"));
	ck_assert_ptr_nonnull(strstr(asked(0, "profile_list"), "MPI_Send"));
}
END_TEST

START_TEST(lines_of_functions_that_cannot_be_are_passed_over)
{
	static const char *const odd[] = {"", "x", "f 0.1 5", "f 0.1 5 2 1", "f -1 5 2",
		"f inf 5 2x", "f 0.1 -5 2", "f 0.1 inf 2", "f 0.1 nan 2", "f 0.1 5 -1",
		"f 0.1 5 99999", "f\033[1m 0.1 5 2"};
	struct seen_mark mark = {.name = "before"};

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		ck_assert_msg(!priors_parse_mark(odd[i], &mark), "%s", odd[i]);
	ck_assert_str_eq(mark.name, "before");
	ck_assert(priors_parse_mark("f nan 0 0", &mark));
	ck_assert(priors_parse_mark("_ZN3fooEv 0.1 5e9 2", &mark));
	ck_assert_str_eq(mark.name, "_ZN3fooEv");
}
END_TEST

START_TEST(first_interval_and_run_alone_become_priors)
{
	struct measurement got[MEASURED_COUNT] = {0};
	struct step *s = add(1, "app", "0-1");
	const char *basis;

	for (int i = 0; i < 30; i++, pass())
		interval(s, 10, 0.9);
	priors_close(d.measure, s);
	jobs_remove(d.jobs, s);
	ck_assert_int_eq(record_measurement_list(d.record, "app", "ada", count, got, &err), 0);
	ck_assert_int_eq(got[MEASURED_ALONE].count, 1);
	ck_assert_double_eq_tol(got[MEASURED_ALONE].mean, 50, 1e-6);
	ck_assert_double_eq_tol(got[MEASURED_SOLO].mean, 50, 1e-6);
	ck_assert_int_eq(got[MEASURED_SHARED].count, 0);
	/* The next run of it is compared with that one. */
	s = add(2, "app", "0");
	interval(s, 10, 0.9);
	ck_assert_double_eq_tol(speed_solo(d.measure, s, &basis), 50, 1e-6);
	ck_assert_str_eq(basis, "profile");
	/* Another user's is none of his business. */
	jobs_remove(d.jobs, s);
	s = add(3, "other", "0");
	interval(s, 10, 0.9);
	ck_assert(isnan(speed_solo(d.measure, s, &basis)));
	ck_assert_ptr_null(basis);
}
END_TEST

START_TEST(a_prior_is_of_the_same_width_and_alone)
{
	static const struct {
		int cores;
		enum measured kind;
		double value;
	} row[] = {{1, MEASURED_ALONE, 1}, {2, MEASURED_SHARED, 2}, {2, MEASURED_ALONE, 3},
		{4, MEASURED_SOLO, 4}};
	struct measurement m = {.type = "app",
		.user = "ada",
		.source = "hw",
		.signal = SIGNAL_LOADS,
		.last_unix_s = 9};
	struct step *s;

	strcpy(m.node_type, d.node->type);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		m.cores = row[i].cores;
		m.kind = row[i].kind;
		ck_assert_int_eq(record_measurement_add(d.record, &m, row[i].value, &err), 0);
	}
	s = add(1, "app", "0-1");
	ck_assert_double_eq_tol(s->signal[SIGNAL_LOADS].value, 3, 1e-12);
	ck_assert_int_eq(s->signal[SIGNAL_LOADS].provenance, PROVENANCE_PROFILE);
	/* Another node's is no prior. */
	strcpy(m.node_type, "other");
	strcpy(m.type, "app2");
	ck_assert_int_eq(record_measurement_add(d.record, &m, 5, &err), 0);
	s = add(2, "app2", "0-1");
	ck_assert_int_eq(s->signal[SIGNAL_LOADS].provenance, PROVENANCE_NONE);
}
END_TEST

START_TEST(a_trials_placement_is_nobodys_speed)
{
	static struct choose ch;
	struct step *a = add(1, "app", "0-1");
	double units;

	add(2, "other", "0");
	for (int i = 0; i < 10; i++, pass())
		interval(a, 10, 0.9);
	units = a->seen.shared.units;
	reading_displace(d.measure, a, true);
	d.choose = &ch;
	ch.trial.kind = TRIAL_WINDOW;
	ch.trial.displaced = true;
	interval(a, 1000, 0.9);
	pass();
	ck_assert_double_eq_tol(a->seen.shared.units, units, 1e-9);
	work(a, 1000);
	d.choose = NULL;
	reading_displace(d.measure, a, false);
	pass();
	interval(a, 10, 0.9);
	ck_assert_double_eq_tol(a->seen.shared.units, units + 10, 1e-9);
}
END_TEST

START_TEST(corun_is_worth_the_solo_time_of_its_work)
{
	struct step *a = add(1, "app", "0-1"), *b;
	struct step_figures f;

	for (int i = 0; i < 40; i++, pass())
		interval(a, 10, 0.9); /* 50/s alone */
	b = add(2, "app", "0");
	memcpy(b->seen.base, (struct seen_base[]){{.cores = 2, .speed = 20, .unit = "sweeps"}},
		sizeof(b->seen.base[0]));
	b->seen.n_bases = 1;
	/* a at half its speed; b in bursts: as much as alone in one interval of two. */
	for (int i = 0; i < 400; i++, pass()) {
		interval(a, 5, 0.9);
		interval(b, i % 2 ? 4 : 0, 0.9);
	}
	corun_figures(d.measure, a, false, &f);
	ck_assert_double_eq_tol(f.ntt_full, 2, 0.02);
	ck_assert_double_eq_tol(f.shared_speed, 25, 0.3);
	ck_assert_str_eq(f.speed_basis, "alone");
	ck_assert_double_eq_tol(f.stp_full, 1, 0.02);
	ck_assert_double_eq_tol(f.antt_full, 2, 0.04);
	corun_figures(d.measure, b, false, &f);
	ck_assert_double_eq_tol(f.ntt_full, 2, 0.02);
	ck_assert_str_eq(f.speed_basis, "profile");
	/* Nobody ever saw it on one core. */
	ck_assert(isnan(f.ntt_share));
	ck_assert(isnan(f.gain_placement));
}
END_TEST

/* Two that share, and do half of what each does alone. */
static void add_pair(struct step *ret[2])
{
	for (int i = 0; i < 2; i++) {
		ret[i] = add((uint32_t)i + 1, "app", i ? "0" : "0-1");
		ret[i]->seen.base[0] =
			(struct seen_base){.cores = 2, .speed = 50, .unit = "sweeps"};
		ret[i]->seen.n_bases = 1;
		interval(ret[i], 5, 0.9);
	}
}

/* A step that runs steadily is read every eight seconds, and windows begin when they are due. */
START_TEST(corun_counts_what_was_done_before_a_trial)
{
	static struct choose ch;
	struct step *s[2];
	struct step_figures f;

	add_pair(s);
	pass();
	d.choose = &ch;
	ch.trial.kind = TRIAL_WINDOW;
	for (int window = 0; window < 20; window++) {
		for (int k = 0; k < 40; k++, pass())
			for (int i = 0; i < 2; i++) {
				work(s[i], 5);
				reading_skip(s[i]);
			}
		for (int i = 0; i < 2; i++)
			reading_displace(d.measure, s[i], true);
		ch.trial.displaced = true;
		for (int k = 0; k < 10; k++, pass())
			for (int i = 0; i < 2; i++)
				interval(s[i], 10, 0.9);
		ch.trial.displaced = false;
		for (int i = 0; i < 2; i++)
			reading_displace(d.measure, s[i], false);
		for (int k = 0; k < 5; k++, pass())
			for (int i = 0; i < 2; i++)
				interval(s[i], 5, 0.9);
	}
	d.choose = NULL;
	corun_figures(d.measure, s[0], false, &f);
	ck_assert_double_eq_tol(f.ntt_full, 2, 0.02);
	ck_assert_double_eq_tol(f.stp_full, 1, 0.02);
	ck_assert_double_eq_tol(f.antt_full, 2, 0.04);
}
END_TEST

/* Its last reading may be eight seconds old. */
START_TEST(corun_counts_what_was_done_until_a_step_ends)
{
	static struct choose ch = {.trial = {.kind = TRIAL_WINDOW, .displaced = true}};
	struct step *s[2];
	struct step_figures f;

	add_pair(s);
	for (int k = 0; k < 80; k++, pass())
		for (int i = 0; i < 2; i++) {
			if (k == 40) {
				interval(s[i], 5, 0.9);
				continue;
			}
			work(s[i], 5);
			reading_skip(s[i]);
		}
	/* Also in the middle of a window. */
	if (_i) {
		d.choose = &ch;
		for (int i = 0; i < 2; i++)
			reading_displace(d.measure, s[i], true);
	}
	corun_end(d.measure, s[0]);
	d.choose = NULL;
	corun_figures(d.measure, s[0], true, &f);
	ck_assert_double_eq_tol(f.ntt_full, 2, 0.04);
	ck_assert_double_eq_tol(f.stp_full, 1, 0.02);
	/* Not twice. */
	corun_settle(d.measure);
	corun_figures(d.measure, s[1], true, &f);
	ck_assert_double_eq_tol(f.stp_full, 1, 0.02);
}
END_TEST

/* However many it has at its end, when the others have gone. */
START_TEST(slow_down_of_a_share_is_of_the_cores_it_had)
{
	struct step *a = add(1, "app", "0-1");
	struct step_figures f;

	add(2, "other", "0");
	memcpy(a->seen.base,
		(struct seen_base[]){{.cores = 2, .speed = 100, .unit = "sweeps"},
			{.cores = 1, .speed = 50, .unit = "sweeps"}},
		2 * sizeof(a->seen.base[0]));
	a->seen.n_bases = 2;
	coreset_parse(&a->coreset, "0", NULL);
	for (int i = 0; i < 400; i++, pass())
		interval(a, 5, 0.9); /* 25/s */
	coreset_zero(&a->coreset);
	corun_figures(d.measure, a, false, &f);
	ck_assert_double_eq_tol(f.ntt_full, 4, 0.05);
	ck_assert_double_eq_tol(f.ntt_share, 2, 0.03);
}
END_TEST

START_TEST(company_of_unknown_speed_leaves_blanks)
{
	struct step *a = add(1, "app", "0-1"), *b;
	struct step_figures f;

	for (int i = 0; i < 40; i++, pass())
		interval(a, 10, 0.9);
	b = add(2, "silent", "0");
	for (int i = 0; i < 40; i++, pass()) {
		interval(a, 5, 0.9);
		interval(b, 0, 0.9);
	}
	corun_figures(d.measure, a, false, &f);
	ck_assert_double_eq_tol(f.ntt_full, 2, 0.1);
	ck_assert(isnan(f.stp_full) && isnan(f.antt_full));
	corun_figures(d.measure, b, false, &f);
	ck_assert(isnan(f.shared_speed) && isnan(f.ntt_full));
	ck_assert_ptr_null(f.speed_unit);
}
END_TEST

START_TEST(a_stored_profile_tells_the_speed_alone_of_a_whole_run)
{
	struct step *a = add(1, "app", "0-1");
	struct step_figures f;

	a->has_profile = true;
	a->profile.solo_s = 4;
	add(2, "other", "0");
	for (int i = 0; i < 41; i++, pass())
		interval(a, 5, 0.9);
	corun_figures(d.measure, a, false, &f);
	ck_assert(isnan(f.solo_speed));
	corun_figures(d.measure, a, true, &f);
	ck_assert_double_eq_tol(f.solo_speed, 41 * 5 / 4.0, 1e-6);
	ck_assert_str_eq(f.speed_basis, "progress");
}
END_TEST

static void put_file(const char *name, const char *text)
{
	char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	if (!f) {
		snprintf(path, sizeof(path), "mkdir -p \"$(dirname '%s/%s')\"", dir, name);
		ck_assert_int_eq(system(path), 0);
		snprintf(path, sizeof(path), "%s/%s", dir, name);
		f = fopen(path, "we");
	}
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

/* What the kernel has counted so far: of CPU 0, and of a step's one thread. */
static struct {
	double user_s, stolen_s, ran_s, held_s;
	int slices;
} kernel;

static void waited(struct step *s, double ran, double held, double others, double stolen)
{
	static const pid_t tid = 100;
	struct signal wanted;
	char text[256];

	kernel.user_s += (ran + others) * STEP_NS / 1e9;
	kernel.stolen_s += stolen * STEP_NS / 1e9;
	kernel.ran_s += ran * STEP_NS / 1e9;
	kernel.held_s += held * STEP_NS / 1e9;
	snprintf(text, sizeof(text),
		"cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 %.0f 0 0 5 5 0 0 %.0f 0 0\n"
		"cpu1 0 0 0 0 0 0 0 0 0 0\nintr 1 2 3\ncpu0 99999 0 0 0 0 0 0 0 0 0\n",
		kernel.user_s * (double)sysconf(_SC_CLK_TCK),
		kernel.stolen_s * (double)sysconf(_SC_CLK_TCK));
	put_file("proc/stat", text);
	snprintf(text, sizeof(text), "%.0f %.0f %d\n", kernel.ran_s * 1e9, kernel.held_s * 1e9,
		++kernel.slices);
	put_file("proc/100/schedstat", text);
	ck_assert_int_eq(
		utilization_read(s->util, &tid, 1, now_ns, 2, NULL, &wanted, NULL, &err), 0);
	waits_reading(d.measure, s, now_ns, now_ns);
	now_ns += STEP_NS;
}

static const struct {
	double ran, held, others, stolen;
	const char *text;
} WAITED[] = {
	{1, 0, 0, 0, "none"}, {.5, .5, .5, 0, "outside 50%"}, {.6, 0, 0, .4, "stolen 40%"},
	{.25, 0, .75, 0, "idle 75%"}, /* who else runs is nothing to who does not want to */
};

START_TEST(what_a_step_waits_for_is_told_apart)
{
	struct step *s = add(1, "app", "0");
	struct step_figures f;

	memset(&kernel, 0, sizeof(kernel));
	waited(s, 0, 0, 0, 0);
	corun_figures(d.measure, s, false, &f);
	ck_assert_ptr_null(f.waits);
	for (int i = 0; i < 20; i++)
		waited(s, WAITED[_i].ran, WAITED[_i].held, WAITED[_i].others, WAITED[_i].stolen);
	corun_figures(d.measure, s, false, &f);
	ck_assert_str_eq(f.waits, WAITED[_i].text);
}
END_TEST

START_TEST(time_on_the_way_is_in_no_cause)
{
	struct step *s = add(1, "app", "0");

	memset(&kernel, 0, sizeof(kernel));
	for (int i = 0; i < 40; i++) {
		coreset_parse(&s->coreset, i % 4 < 2 ? "0" : "1", NULL);
		waited(s, .5, .5, .5, 0);
	}
	ck_assert_str_eq(s->seen.waits.text, "");
	/* Nor what others than Coloc stopped it for. */
	for (int i = 0; i < 40; i++) {
		if (i % 4 == 0)
			waits_forget(s);
		waited(s, .5, .5, .5, 0);
	}
	ck_assert_str_eq(s->seen.waits.text, "");
}
END_TEST

START_TEST(a_stall_is_known_where_the_kernel_tells)
{
	struct step *s = add(1, "app", "0");
	char text[128];

	strcpy(s->cgroup.step_path, "sys/fs/cgroup/step_0/user");
	memset(&kernel, 0, sizeof(kernel));
	for (int i = 0; i < 20; i++) {
		snprintf(text, sizeof(text),
			"some avg10=0.00 avg60=0.00 avg300=0.00 total=9000000\n"
			"full avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n",
			i * (int)(STEP_NS / 1000) / 2);
		put_file("sys/fs/cgroup/step_0/user/io.pressure", text);
		waited(s, .25, 0, 0, 0);
	}
	ck_assert_str_eq(s->seen.waits.text, "stalled 50%, idle 25%");
}
END_TEST

static const struct {
	const char *step, *file, *text;
	int numa;
	double bytes; /* v1: pages */
	bool pages;
} HOMES[] = {
	{"sys/fs/cgroup/step_0/user", "sys/fs/cgroup/step_0/user/memory.numa_stat",
		"anon N0=4096 N1=12288\nfile N0=900000 N1=0\nkernel_stack N0=1 N1=1\n"
		"shmem N0=0 N1=8192\nanon_thp N0=0 N1=0\n",
		1, 24576, false},
	{"sys/fs/cgroup/cpuset/slurm/step_0", "sys/fs/cgroup/memory/slurm/step_0/memory.numa_stat",
		"total=30 N0=20 N1=10\nfile=18 N0=18 N1=0\nanon=12 N0=2 N1=10\n"
		"unevictable=0 N0=0 N1=0\nhierarchical_anon=12 N0=2 N1=10\n",
		1, 12, true},
	{"sys/fs/cgroup/step_0/user", "sys/fs/cgroup/step_0/user/memory.numa_stat",
		"anon N0=0 N1=0\n", -1, -1, false},
	{"sys/fs/cgroup/step_0/user", "sys/fs/cgroup/step_0/user/memory.numa_stat",
		"anon N7=4096 N=1 Nx=2 N0\nanon=\n\n", -1, -1, false},
	/* No memory cgroup. */
	{"sys/fs/cgroup/step_0/user", "sys/fs/cgroup/step_0/other", "", -1, -1, false},
};

START_TEST(memory_is_where_the_kernel_accounts_it)
{
	struct step *s = add(1, "app", "0");
	struct topo *one = d.node->topo;

	put_file(HOMES[_i].file, HOMES[_i].text);
	strcpy(s->cgroup.step_path, HOMES[_i].step);
	home_look(d.measure, s, 1);
	ck_assert_int_eq(s->seen.home.look_ns, 0); /* one memory node: nothing to tell */
	ck_assert_int_eq(topo_load(&d.node->topo, "numa:2 core:1 pu:1", &err), 0);
	home_look(d.measure, s, 1);
	ck_assert_int_eq(s->seen.home.numa, HOMES[_i].numa);
	ck_assert_double_eq(s->seen.home.bytes,
		HOMES[_i].bytes * (HOMES[_i].pages ? (double)sysconf(_SC_PAGESIZE) : 1));
	topo_free(d.node->topo);
	d.node->topo = one;
}
END_TEST

START_TEST(a_neighbour_that_coloc_knows_is_no_load_from_outside)
{
	struct step *s = add(1, "app", "0"), *other = add(2, "other", "0");

	other->seen.waits.running = .5;
	memset(&kernel, 0, sizeof(kernel));
	for (int i = 0; i < 20; i++)
		waited(s, .5, .5, .5, 0);
	ck_assert_str_eq(s->seen.waits.text, "neighbour 50%");
}
END_TEST

/* A shell that runs one short command after another: are they it, or others? */
START_TEST(who_only_waits_for_those_that_nobody_sees_is_not_called_idle)
{
	struct step *s = add(1, "app", "0");

	char text[128];
	pid_t *tid = malloc(sizeof(*tid));

	*tid = 100;
	s->pace.list.tid = tid;
	s->pace.list.n = 1;
	memset(&kernel, 0, sizeof(kernel));
	for (int i = 0; i < 20; i++) {
		snprintf(text, sizeof(text), "100 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 %d 14 15",
			20 * i);
		put_file("proc/100/task/100/stat", text);
		waited(s, .2, 0, .8, 0);
	}
	ck_assert_str_eq(s->seen.waits.text, "");
	/* It sleeps, and they are others. */
	for (int i = 0; i < 20; i++)
		waited(s, .2, 0, .8, 0);
	ck_assert_str_eq(s->seen.waits.text, "idle 80%");
}
END_TEST

/* One of two CPUs it fills: half of the node's, all of its own. */
START_TEST(executed_is_of_the_cpus_it_was_dealt)
{
	struct step *s = add(1, "app", _i ? "0-1" : "0");

	memset(&kernel, 0, sizeof(kernel));
	waited(s, 0, 0, 0, 0);
	reading_executed(d.measure, s, now_ns);
	ck_assert(!s->has_executed);
	/* What it waits for a core is not executed. */
	waited(s, .8, .2, 0, 0);
	reading_executed(d.measure, s, now_ns);
	ck_assert(s->has_executed);
	ck_assert_double_eq_tol(s->executed, _i ? .4 : .8, 1e-9);
}
END_TEST

/* PACT 2012, section 3.4: of a donee "only measured at its original partition". */
START_TEST(executed_of_who_borrows_is_of_its_own_cpus)
{
	struct step *s = add(1, "app", "0");

	coreset_parse(&s->lent, "1", NULL);
	memset(&kernel, 0, sizeof(kernel));
	waited(s, 1, 0, 0, 0);
	reading_executed(d.measure, s, now_ns);
	ck_assert(!s->has_executed);
	for (int i = 0; i < 5; i++) {
		/* And as much as all of CPU 1, of which /proc/stat has nothing here. */
		kernel.ran_s += STEP_NS / 1e9;
		waited(s, .6, 0, 0, 0);
		reading_executed(d.measure, s, now_ns);
	}
	ck_assert(s->has_executed);
	ck_assert_double_eq_tol(s->executed, .6, .051);
	/* Its own again. */
	coreset_zero(&s->lent);
	waited(s, .3, 0, 0, 0);
	reading_executed(d.measure, s, now_ns);
	ck_assert_double_eq_tol(s->executed, .3, 1e-9);
}
END_TEST

/* Where Slurm has it, whatever a plan says. */
START_TEST(who_is_not_placed_is_where_slurm_has_it)
{
	struct step *s = add(1, "app", _i ? "1" : "");

	s->status = STATUS_OBSERVED;
	memset(&kernel, 0, sizeof(kernel));
	for (int i = 0; i < 20; i++)
		waited(s, .5, .5, .5, 0);
	ck_assert_str_eq(s->seen.waits.text, "outside 50%");
}
END_TEST

static void add_tasks(struct step *s)
{
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_int_eq(step_add_task(s, i, 1000 + (pid_t)i), 0);
}

/* As one daemon leaves it and the next takes it over, the given time later. */
static struct step *restart(struct step *s, int64_t gap_ns, const char *cores)
{
	static struct msg m;
	struct step *next;

	carry_save(s, &m);
	jobs_remove(d.jobs, s);
	next = add(1, "app", cores);
	add_tasks(next);
	ck_assert_msg(carry_load(next, &m, &err) == 0, "%s", err.text);
	speed_adopt(next, ipc_unix_ns() - gap_ns);
	next->pages->report->slot[0].pid = 0;
	return next;
}

START_TEST(what_was_measured_outlasts_a_restart)
{
	struct step *a = add(1, "app", "0-1"), *b = add(2, "other", "0");
	struct step_figures before, f;

	add_tasks(a);
	a->task[1].ended = true;
	a->task[1].status = 256;
	a->n_alive--;
	strcpy(a->history, "0-1;0");
	a->rebinds = 1;
	a->short_spins = true;
	a->seen.launch = "control";
	a->seen.launch_key = UINT64_MAX >> 1;
	a->seen.launch_draw = 12;
	a->seen.launch_side = LAUNCH_WITHOUT;
	a->seen.launch_mixed = true;
	a->seen.waits.sum.s[WAIT_RAN] = 3;
	a->seen.waits.sum.s[WAIT_TURNS] = 1;
	a->seen.waits.sum.stalls = true;
	for (int i = 0; i < 20; i++, pass())
		interval(a, 10, 0.98);
	for (int i = 0; i < 20; i++, pass())
		interval(a, 10, 0.45);
	for (int i = 0; i < 4; i++)
		gain_mean_add(&a->seen.windows, 0.4 + 0.01 * i);
	corun_figures(d.measure, a, false, &before);
	ck_assert_int_eq(before.gap_ns, 0);
	a = restart(a, 3000000000, "0-1");
	/* Its program has not found the new daemon: it may work or not. */
	interval(a, 0, 0.45);
	ck_assert(isnan(a->seen.done));
	corun_figures(d.measure, a, false, &f);
	ck_assert_double_eq_tol(f.shared_speed, before.shared_speed, 1e-9);
	ck_assert_double_eq_tol(f.gain_placement_lo, before.gain_placement_lo, 1e-12);
	ck_assert_int_eq(f.windows, 4);
	ck_assert_int_eq(f.phases, 1);
	ck_assert_str_eq(f.speed_unit, "sweeps");
	ck_assert_str_eq(f.launch, "control");
	ck_assert_uint_eq(a->seen.launch_key, UINT64_MAX >> 1);
	ck_assert_uint_eq(a->seen.launch_draw, 12);
	ck_assert_int_eq(a->seen.launch_side, LAUNCH_WITHOUT);
	ck_assert(a->seen.launch_mixed);
	ck_assert_int_eq(f.moves, 1);
	ck_assert_str_eq(f.waits, "turns 25%");
	ck_assert(a->seen.waits.sum.stalls);
	ck_assert_str_eq(a->history, "0-1;0");
	ck_assert(a->task[1].ended && a->task[1].status == 256 && a->n_alive == 2);
	ck_assert(!a->exit_unknown);
	ck_assert(a->short_spins);
	ck_assert(f.gap_ns >= 3000000000 && f.gap_from_ns && f.gap_to_ns > f.gap_from_ns);
	/* It has: the gap is over, and stays told. */
	a->pages->report->slot[0].pid = 100;
	a->pages->report->slot[0].unit = coloc_name("sweeps");
	for (int i = 0; i < 20; i++, pass())
		interval(a, 10, 0.45);
	ck_assert_int_eq(a->seen.gap.open_ns, 0);
	ck_assert(a->seen.gap.ns >= 3000000000 && a->seen.gap.ns < 60000000000);
	ck_assert_double_gt(a->seen.shared.seconds, 7);
	corun_figures(d.measure, a, false, &f);
	ck_assert_double_eq_tol(f.shared_speed, before.shared_speed, 1);
	(void)b;
}
END_TEST

static const struct {
	int stride; /* every so many tasks one that failed */
	bool fits;
} WIDE[] = {{5000, true}, {100, true}, {1, true}, {2, false}};

/* Thousands of tasks of which most ended while somebody looked. */
START_TEST(the_end_of_thousands_of_tasks_outlasts_a_restart)
{
	static struct msg m;
	struct step *s = add(1, "app", "0-1"), *next;

	for (uint32_t i = 0; i < 5000; i++)
		ck_assert_int_eq(step_add_task(s, i, 1000 + (pid_t)i), 0);
	for (int i = 0; i < 4999; i++) {
		s->task[i].ended = true;
		s->task[i].status = i % WIDE[_i].stride ? 0 : 256;
		s->n_alive--;
	}
	carry_save(s, &m);
	jobs_remove(d.jobs, s);
	next = add(1, "app", "0-1");
	ck_assert_int_eq(step_add_task(next, 4999, 5999), 0);
	ck_assert_msg(carry_load(next, &m, &err) == 0, "%s", err.text);
	ck_assert_int_eq(next->exit_unknown, !WIDE[_i].fits);
	for (int i = 0; WIDE[_i].fits && i < 4999; i++) {
		struct task *t = step_find_task(next, (uint32_t)i);

		ck_assert(t && t->ended && t->status == (i % WIDE[_i].stride ? 0 : 256));
	}
	ck_assert_int_eq(next->n_alive, 1);
}
END_TEST

/* Company in the gap, and work that nobody counted: neither a run alone nor a whole one. */
START_TEST(a_gap_makes_no_solo_run)
{
	struct measurement got[MEASURED_COUNT] = {0};
	struct step *s = add(1, "app", "0-1");
	struct step_figures f;

	for (int i = 0; i < 30; i++, pass())
		interval(s, 10, 0.9);
	s = restart(s, 1000000000, "0-1");
	s->pages->report->slot[0].pid = 100;
	for (int i = 0; i < 30; i++, pass())
		interval(s, 10, 0.9);
	priors_close(d.measure, s);
	ck_assert_int_eq(record_measurement_list(d.record, "app", "ada", count, got, &err), 0);
	ck_assert_int_eq(got[MEASURED_SOLO].count, 0);
	add(2, "other", "0");
	s->has_profile = true;
	s->profile.solo_s = 4;
	memset(&s->seen.alone, 0, sizeof(s->seen.alone));
	s->seen.n_bases = 0;
	corun_figures(d.measure, s, true, &f);
	ck_assert_ptr_null(f.speed_basis);
}
END_TEST

static const struct {
	const char *key, *value, *error;
} BAD_CARRIED[] = {
	{"shared_s", "x", "carried figures: shared_s: 'x' cannot be"},
	{"shared_s", "inf", "carried figures: shared_s: 'inf' cannot be"},
	{"windows", "1e3", "carried figures: windows: '1e3' cannot be"},
	{"first_done", "2", "carried figures: first_done: '2' cannot be"},
	{"unit", "a-name-longer-than-any-that-a-unit-of-a-speed-may-have",
		"carried figures: unit: 'a-name-longer-than-any-that-a-unit-of-a-' "
		"cannot be"},
	{"version", "2", "message: version=2 is outside 1..1"},
	{"phases", "9", "message: phases=9 is outside 0..8"},
	{"phases", "1", "carried figures: phase: 'nothing' cannot be"},
	{"rebinds", NULL, "carried figures: rebinds: 'nothing' cannot be"},
	{"launch_drawn", "x", "carried figures: launch_drawn: 'x' cannot be"},
	{"launch_drawn", "7 3 2 0", "carried figures: launch_drawn: '7 3 2 0' cannot be"},
	{"launch_drawn", "7 3 1 0 1", "carried figures: launch_drawn: '7 3 1 0 1' cannot be"},
	{"launch_drawn", "7 -3 1 0", "carried figures: launch_drawn: '7 -3 1 0' cannot be"},
};

START_TEST(bad_carried_figures_change_nothing)
{
	static struct msg good, m;
	struct step *s = add(1, "app", "0-1");
	const char *end;

	s->rebinds = 5;
	s->seen.launch_key = 7;
	s->seen.launch_draw = 3;
	carry_save(s, &good);
	/* The same records, but for one. */
	memset(&m, 0, sizeof(m));
	for (const char *r = good.buf; r < good.buf + good.len; r = end + 1) {
		size_t len = strlen(BAD_CARRIED[_i].key);

		end = r + strlen(r);
		if (strncmp(r, BAD_CARRIED[_i].key, len) == 0 && r[len] == '=') {
			msg_put(&m, BAD_CARRIED[_i].key, BAD_CARRIED[_i].value);
			continue;
		}
		memcpy(m.buf + m.len, r, (size_t)(end + 1 - r));
		m.len += (size_t)(end + 1 - r);
	}
	s->rebinds = 7;
	ck_assert_int_eq(carry_load(s, &m, &err), -EINVAL);
	ck_assert_str_eq(err.text, BAD_CARRIED[_i].error);
	ck_assert_int_eq(s->rebinds, 7);
}
END_TEST

static const struct {
	const char *text, *error;
} BAD[] = {
	{"[]", "measurement: JSON: [ ] cannot be"},
	{"{", "measurement: no JSON"},
	{"{\"measured\": 2}", "measurement: measured: 2 cannot be"},
	{"{\"measured\": 1, \"x\": 2}", "measurement: 'x' is no field"},
	{"{\"measured\": 1, \"cores\": 0}", "measurement: cores: 0 cannot be"},
	{"{\"measured\": 1, \"kind\": \"some\"}", "measurement: kind: \"some\" cannot be"},
	{"{\"measured\": 1, \"mean\": -1}", "measurement: mean: -1 cannot be"},
	{"{\"measured\": 1, \"type\": \"\"}", "measurement: type: \"\" cannot be"},
	{"{\"measured\": 1}", "measurement: 'type' is missing"},
};

START_TEST(bad_measurement_is_refused_by_field)
{
	struct measurement m = {.cores = 77};

	ck_assert_int_eq(measured_from_text(BAD[_i].text, &m, &err), -EINVAL);
	ck_assert_str_eq(err.text, BAD[_i].error);
	ck_assert_int_eq(m.cores, 77);
}
END_TEST

START_TEST(measurement_reads_back)
{
	struct measurement m = {.type = "app",
				   .user = "ada",
				   .node_type = "n",
				   .cores = 2,
				   .kind = MEASURED_SOLO,
				   .signal = SIGNAL_PROGRESS,
				   .unit = "sweeps",
				   .source = "app",
				   .count = 3,
				   .mean = 1.0 / 3,
				   .m2 = 0.125,
				   .first_unix_s = 5,
				   .last_unix_s = 6},
			   got;
	struct json_object *o = measured_to_json(&m);

	ck_assert(measured_is_text(json_object_to_json_string(o)));
	ck_assert_int_eq(measured_from_text(json_object_to_json_string(o), &got, &err), 0);
	ck_assert_str_eq(got.unit, "sweeps");
	ck_assert_int_eq(got.kind, MEASURED_SOLO);
	ck_assert(got.mean == m.mean && got.m2 == m.m2);
	json_object_put(o);
	ck_assert(!measured_is_text("{\"type\": \"x\"}"));
}
END_TEST

/* ---- windows by hardware counters, replayed ---- */

/* What the counter shows at the seven readings of a window: before and after A1, before B1, after
 * it, after B2, before A2 and after it (trial.c). */
#define READINGS 7
static struct {
	uint64_t count[READINGS];
	int next;
	bool fails;
} replay;

static int replay_read(struct counters *c, const struct counter_target *target, struct sample *ret,
	struct errbuf *e)
{
	(void)c;
	(void)target;
	if (replay.fails)
		return err_set(e, -EIO, "gone");
	*ret = (struct sample){.t_ns = now_ns + replay.next * STEP_NS,
		.valid = COUNTER_BIT(COUNTER_INSTRUCTIONS),
		.running_ratio = 1};
	ret->count[COUNTER_INSTRUCTIONS] = replay.count[replay.next++];
	return 0;
}

static const struct counters_ops replayed = {.name = "replay", .read = replay_read};

static const struct {
	const char *what;
	uint64_t count[READINGS];
	double ratio; /* of the window; 0: it tells nothing */
} WINDOWS[] = {
	{"steady", {1000, 2000, 3000, 4000, 5000, 6000, 7000}, 1},
	{"twice as fast where it was placed", {0, 2000, 3000, 4000, 5000, 6000, 8000}, 2},
	{"stopped", {1000, 1000, 1000, 1000, 1000, 1000, 1000}, 0},
	{"stopped in the middle", {1000, 2000, 3000, 4000, 4000, 4000, 5000}, 0},
	{"reads 0", {0, 0, 0, 0, 0, 0, 0}, 0},
	{"reads 0 from the third on", {1000, 2000, 0, 0, 0, 0, 0}, 0},
	{"wrapped at 48 bits",
		{(UINT64_C(1) << 48) - 2500, (UINT64_C(1) << 48) - 1500, (UINT64_C(1) << 48) - 500,
			500, 1500, 2500, 3500},
		0},
	{"went backwards", {5000, 6000, 7000, 6500, 7500, 8500, 9500}, 0},
	{"was set back between stretches", {5000, 6000, 100, 1100, 2100, 3100, 4100}, 1},
	{"jumped ahead",
		{1000, UINT64_C(1) << 50, (UINT64_C(1) << 50) + 1000, (UINT64_C(1) << 50) + 2000,
			(UINT64_C(1) << 50) + 3000, (UINT64_C(1) << 50) + 4000,
			(UINT64_C(1) << 50) + 5000},
		0},
};

static struct step *counted(void)
{
	struct step *s = add(1, "app", "0-1");

	pages_free(s->pages);
	s->pages = NULL;
	s->threads = 1;
	s->pace.list.tid = calloc(1, sizeof(pid_t));
	s->pace.list.n = 1;
	s->counters = (struct counters *)&replay;
	s->has_sample = true;
	d.node->counters.ops = &replayed;
	return s;
}

/* As trial.c takes one. */
static bool take_window(struct step *s, double *ret)
{
	static const int from[] = {0, 2, 3, 5}, to[] = {1, 3, 4, 6};
	struct seen_work w[READINGS];
	double speed[4];

	for (int i = 0; i < READINGS; i++)
		speed_read_work(d.measure, s, ipc_now_ns(), &w[i]);
	for (int i = 0; i < 4; i++)
		speed[i] = speed_between(&w[from[i]], &w[to[i]], 5);
	return gain_abba(speed, ret);
}

START_TEST(a_window_tells_nothing_when_its_counter_does_not)
{
	struct step *s = counted();
	double r = 0;
	bool told;

	memset(&replay, 0, sizeof(replay));
	memcpy(replay.count, WINDOWS[_i].count, sizeof(replay.count));
	told = take_window(s, &r);
	s->counters = NULL;
	ck_assert_msg(told == (WINDOWS[_i].ratio > 0), "%s", WINDOWS[_i].what);
	if (told)
		ck_assert_double_eq_tol(exp(r), WINDOWS[_i].ratio, 1e-9);
}
END_TEST

START_TEST(a_counter_that_cannot_be_read_tells_nothing)
{
	struct step *s = counted();
	double r;

	memset(&replay, 0, sizeof(replay));
	replay.fails = true;
	ck_assert(!take_window(s, &r));
	s->counters = NULL;
	ck_assert(!take_window(s, &r));
}
END_TEST

/* Reports: fewer than wanted, fewer than before (its process was another), from before a clock. */
START_TEST(reports_that_do_not_add_up_are_no_speed)
{
	struct seen_work a = {.total = 10, .t_ns = 1000, .count = 100, .basis = PROVENANCE_APP};
	struct seen_work b = {
		.total = 20, .t_ns = INT64_C(1000001000), .count = 105, .basis = PROVENANCE_APP};
	struct seen_work c = b;

	ck_assert_double_eq_tol(speed_between(&a, &b, 5), 10, 1e-9);
	ck_assert(isnan(speed_between(&a, &b, 6)));
	c.count = 3;
	ck_assert(isnan(speed_between(&a, &c, 1)));
	c = b;
	c.total = 9;
	ck_assert(isnan(speed_between(&a, &c, 1)));
	c = b;
	c.t_ns = 1000;
	ck_assert(isnan(speed_between(&a, &c, 1)));
	c = b;
	c.basis = PROVENANCE_HW;
	ck_assert(isnan(speed_between(&a, &c, 1)));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("track");
	TCase *t = tcase_create("phases");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, two_samples_in_another_phase_are_a_change);
	tcase_add_test(t, deviations_with_no_figure_between_are_not_in_a_row);
	tcase_add_test(t, noise_and_little_waiting_change_no_phase);
	tcase_add_test(t, a_move_starts_the_reference_anew);
	tcase_add_test(t, epochs_of_the_paper_see_a_change_after_an_epoch);
	suite_add_tcase(s, t);
	t = tcase_create("speeds alone and in company");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, first_interval_and_run_alone_become_priors);
	tcase_add_test(t, counted_calls_are_a_speed_with_the_first_figure_until_given_up);
	tcase_add_test(t, the_function_that_marks_the_work_is_known_to_the_next_run);
	tcase_add_test(t, the_function_is_kept_as_soon_as_it_is_chosen);
	tcase_add_test(t, of_measurements_the_newest_names_the_function);
	tcase_add_test(t, lines_of_functions_that_cannot_be_are_passed_over);
	tcase_add_test(t, a_user_is_told_of_his_own_programs_functions);
	tcase_add_test(t, a_prior_is_of_the_same_width_and_alone);
	tcase_add_test(t, a_trials_placement_is_nobodys_speed);
	tcase_add_test(t, corun_counts_what_was_done_before_a_trial);
	tcase_add_loop_test(t, corun_counts_what_was_done_until_a_step_ends, 0, 2);
	tcase_add_test(t, corun_is_worth_the_solo_time_of_its_work);
	tcase_add_test(t, company_of_unknown_speed_leaves_blanks);
	tcase_add_test(t, slow_down_of_a_share_is_of_the_cores_it_had);
	tcase_add_test(t, a_stored_profile_tells_the_speed_alone_of_a_whole_run);
	tcase_add_loop_test(t, what_a_step_waits_for_is_told_apart, 0, 4);
	tcase_add_test(t, who_only_waits_for_those_that_nobody_sees_is_not_called_idle);
	tcase_add_loop_test(t, who_is_not_placed_is_where_slurm_has_it, 0, 2);
	tcase_add_loop_test(t, executed_is_of_the_cpus_it_was_dealt, 0, 2);
	tcase_add_test(t, executed_of_who_borrows_is_of_its_own_cpus);
	tcase_add_test(t, time_on_the_way_is_in_no_cause);
	tcase_add_test(t, a_stall_is_known_where_the_kernel_tells);
	tcase_add_loop_test(t, memory_is_where_the_kernel_accounts_it, 0,
		(int)(sizeof(HOMES) / sizeof(HOMES[0])));
	tcase_add_test(t, a_neighbour_that_coloc_knows_is_no_load_from_outside);
	tcase_add_test(t, what_was_measured_outlasts_a_restart);
	tcase_add_loop_test(t, the_end_of_thousands_of_tasks_outlasts_a_restart, 0,
		(int)(sizeof(WIDE) / sizeof(WIDE[0])));
	tcase_add_test(t, a_gap_makes_no_solo_run);
	tcase_add_loop_test(t, bad_carried_figures_change_nothing, 0,
		sizeof(BAD_CARRIED) / sizeof(BAD_CARRIED[0]));
	suite_add_tcase(s, t);
	t = tcase_create("counters that stop, wrap or go backwards make no window");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, a_window_tells_nothing_when_its_counter_does_not, 0,
		(int)(sizeof(WINDOWS) / sizeof(WINDOWS[0])));
	tcase_add_test(t, a_counter_that_cannot_be_read_tells_nothing);
	tcase_add_test(t, reports_that_do_not_add_up_are_no_speed);
	suite_add_tcase(s, t);
	t = tcase_create("measurements travel as JSON");
	tcase_add_loop_test(
		t, bad_measurement_is_refused_by_field, 0, (int)(sizeof(BAD) / sizeof(BAD[0])));
	tcase_add_test(t, measurement_reads_back);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
