/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guard over the launch environment in the daemon: which launches are drawn, what their time
 * shows, and what becomes of a setting that makes a program slower. How long a launch took is the
 * test's: its start is put back by that.
 */
#include <check.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/command.h"
#include "common/ipc.h"
#include "common/msg.h"
#include "nodesvc/choose/internal.h"
#include "nodesvc/choose/launches.h"
#include "nodesvc/launch/linkage.h"
#include "nodesvc/measure/measure.h"
#include "nodesvc/record/record.h"
#include "nodesvc/steps/steps.h"
#include "tests/unit/daemon_fixture.h"
#include "tests/unit/tmpdir.h"

static struct daemon d;
static struct tmpdir tmp;
static struct errbuf err;
static struct msg in, out;

static void node(void)
{
	d.conf->control_fraction = 0.2;
	srand48(5);
	strcpy(d.node->type, "model, 2 cores");
}

static void setup(void)
{
	memset(&err, 0, sizeof(err));
	tmpdir_create(&tmp);
	daemon_up(&d, tmp.dir, node);
	ck_assert_int_eq(quarantine_open(d.choose, &err), 0);
}

static void teardown(void)
{
	daemon_down(&d);
	tmpdir_remove(&tmp);
}

static uint32_t last_job;
static int nodes = 1;

static struct step *start_as(const char *type, uint32_t uid, const char *args)
{
	msg_init(&in, "step_start");
	msg_putf(&in, "job", "%u", ++last_job);
	msg_put(&in, "step", "0");
	msg_putf(&in, "uid", "%u", uid);
	msg_put(&in, "ntasks", "1");
	msg_putf(&in, "nnodes", "%d", nodes);
	msg_put(&in, "name", "/nonexistent/app");
	msg_put(&in, "tag", type);
	if (args)
		msg_put(&in, "args", args);
	arrival_step(&d, &in, &out);
	arrival_after_answer(&d);
	ck_assert_str_eq(msg_get(&out, "type"), "step_ok");
	return jobs_find(d.jobs, last_job, 0, 0);
}

static struct step *start(const char *type)
{
	return start_as(type, 0, NULL);
}

static struct step *start_on(const char *type, int n)
{
	struct step *s;

	nodes = n;
	s = start(type);
	nodes = 1;
	return s;
}

static bool is_set(const char *name)
{
	size_t len = strlen(name);

	for (const char *v = msg_get(&out, "env"); v; v = msg_get_next(&out, "env", v))
		if (strncmp(v, name, len) == 0 && v[len] == '=')
			return true;
	return false;
}

/* It ran for so long, and its task ended with @status, as wait(2) gives it. */
static void finish_with(struct step *s, double seconds, int status)
{
	int64_t ns = (int64_t)(seconds * 1e9);

	s->start_unix_ns -= ns;
	s->start_mono_ns -= ns;
	ck_assert_int_eq(step_add_task(s, 0, 0), 0);
	s->task[0].ended = true;
	s->n_alive = 0;
	s->exit_status = status;
	msg_init(&in, "step_end");
	msg_putf(&in, "job", "%u", s->job_id);
	msg_put(&in, "step", "0");
	departure_step(&d, &in);
}

static void finish(struct step *s, double seconds)
{
	finish_with(s, seconds, 0);
}

static double about(double seconds)
{
	return seconds * (0.98 + 0.04 * drand48());
}

/* One launch that takes @with seconds with its settings, and @without them. */
static const char *launch(const char *type, double with, double without)
{
	struct step *s = start(type);
	const char *how = s->seen.launch;

	ck_assert_ptr_nonnull(how);
	ck_assert_int_eq(is_set("GOMP_SPINCOUNT"), strcmp(how, "lever") == 0);
	finish(s, about(strcmp(how, "lever") == 0 ? with : without));
	return how;
}

/* How many launches until its settings are withheld; 0: they are not in so many. */
static int withheld_after(const char *type, double with, double without, int most)
{
	for (int n = 1; n <= most; n++)
		if (strcmp(launch(type, with, without), "withheld") == 0)
			return n;
	return 0;
}

static const char *text_of(const char *column, uint32_t job)
{
	static char text[128];
	char command[512];
	FILE *p;

	snprintf(command, sizeof(command),
		"python3 -c \"import sqlite3;print(sqlite3.connect('%s').execute("
		"'SELECT %s FROM step WHERE job_id=%u').fetchone()[0])\"",
		tmpdir_path(&tmp, "coloc.db"), column, job);
	p = popen(command, "r");
	if (!fgets(text, sizeof(text), p))
		*text = '\0';
	pclose(p);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

START_TEST(settings_that_slow_a_program_are_withheld_within_thirty_launches)
{
	struct step *s;
	int n = withheld_after("app", 100, 50, 40);

	ck_assert_msg(n > 0 && n <= 30, "after %d launches", n);
	/* The next one, too, and why is told. */
	s = start("app");
	ck_assert_str_eq(s->seen.launch, "withheld");
	ck_assert_int_gt(s->n_env, 0);
	for (int i = 0; i < s->n_env; i++)
		ck_assert_msg(strstr(s->env[i].why, "guard: with it the program was 0.") != NULL,
			"%s: %s", s->env[i].name, s->env[i].why);
	ck_assert_ptr_null(msg_get(&out, "env"));
	finish(s, 50);
	ck_assert_str_eq(text_of("launch", last_job), "withheld");
	ck_assert(fabs(atof(text_of("gain_launch", last_job)) - 0.5) < 0.05);
	/* Others have theirs. */
	ck_assert_str_eq(launch("other", 100, 50), "lever");
	ck_assert_int_eq(quarantine_count(d.choose), 1);
	ck_assert_str_eq(quarantine_get(d.choose, 0)->policy, LAUNCHES_POLICY);
	ck_assert_str_eq(quarantine_get(d.choose, 0)->basis, "elapsed");
}
END_TEST

START_TEST(settings_that_do_no_harm_stay)
{
	double gain;

	ck_assert_int_eq(withheld_after("same", 100, 100, 60), 0);
	ck_assert_int_eq(withheld_after("better", 50, 100, 60), 0);
	/* What they gain stands in the accounting, by time. */
	while (strcmp(launch("better", 50, 100), "lever") != 0)
		;
	gain = atof(text_of("gain_launch", last_job));
	ck_assert_msg(gain > 1.8 && gain < 2.2, "%g", gain);
	ck_assert_str_eq(text_of("gain_basis", last_job), "elapsed");
}
END_TEST

START_TEST(a_restart_and_a_fraction_of_nothing_keep_what_is_known)
{
	ck_assert_int_gt(withheld_after("app", 100, 50, 40), 0);
	quarantine_close(d.choose);
	ck_assert_int_eq(quarantine_open(d.choose, &err), 0);
	d.conf->control_fraction = 0;
	ck_assert_str_eq(launch("app", 100, 50), "withheld");
	d.conf->guard.enabled = false;
	ck_assert_str_eq(launch("app", 100, 50), "lever");
	d.conf->guard.enabled = true;
	ck_assert_str_eq(launch("app", 100, 50), "withheld");
	/* The operator ends it. */
	ck_assert_int_eq(quarantine_forget(d.choose, NULL), 1);
	ck_assert_str_eq(launch("app", 100, 50), "lever");
}
END_TEST

/* As a daemon leaves the room, and the next one enters it. */
static void restart(void)
{
	launches_close(d.choose);
	quarantine_close(d.choose);
	ck_assert_int_eq(launches_open(d.choose, &err), 0);
	ck_assert_int_eq(quarantine_open(d.choose, &err), 0);
}

START_TEST(launches_of_before_a_restart_count)
{
	int n = 0;
	const char *how = "";

	/* Known once, it is drawn at its first launch under the next daemon. */
	while (strcmp(how, "withheld") != 0 && n < 40) {
		how = launch("app", 100, 50);
		n++;
		restart();
	}
	ck_assert_msg(n <= 30, "after %d launches", n);
	/* Nothing is counted twice. */
	ck_assert_int_eq(quarantine_get(d.choose, 0)->times, 1);
	ck_assert_int_le(quarantine_get(d.choose, 0)->windows, n / 2);
}
END_TEST

START_TEST(a_launch_that_a_restart_finds_running_counts)
{
	static struct msg carried;
	int n = 0;
	const char *how = "";

	for (; strcmp(how, "withheld") != 0 && n < 40; n++) {
		struct step *s = start("app");
		uint32_t job = s->job_id;
		double seconds;

		how = s->seen.launch;
		seconds = about(strcmp(how, "lever") == 0 ? 100 : 50);
		carry_save(s, &carried);
		jobs_remove(d.jobs, s);
		restart();
		s = jobs_add(d.jobs, job, 0, 0);
		strcpy(s->type, "app");
		strcpy(s->user, "root");
		s->envelope = d.node->topo->all;
		ck_assert_int_eq(carry_load(s, &carried, &err), 0);
		finish(s, seconds);
	}
	ck_assert_msg(n <= 30, "after %d launches", n);
}
END_TEST

static int count_rows(const struct learnt *m, void *arg)
{
	++*(int *)arg;
	ck_assert_str_eq(m->owner, "root");
	return 0;
}

static int rows(void)
{
	int n = 0;

	ck_assert_int_eq(record_learnt_list(d.record, LAUNCHES_POLICY, count_rows, &n, &err), 0);
	return n;
}

/* Another node's, another user's, and none at all. */
START_TEST(only_a_programs_own_launches_are_known_after_a_restart)
{
	static const char *const odd[] = {"", "x", "1 2 3", "0 1 1 1 0 0 0 0;",
		"5 nan 1 1 0 0 0 0;", "5 1 -1 1 0 0 0 0;", "5 1 inf 1 0 0 0 0;",
		"5 1 1 -5 0 0 0 0;", "5 1 1 1 2 0 0 0;", "5 1 1 1 0 4 0 0;", "5 1 1 1 0 0 1 1e300;",
		"5 1 1 1 0 0 0 0; 0 0 1 1; 0 9 1 1;", "5 1 1 1 0 0 0 0; 0 0 1 nan;",
		"5 1 1 1 0 0 0 0; ", "5 1 1 1 0 0 0 0;x", "99999999999 1 1 1 0 0 0 0;"};
	struct learnt m = {.what = LAUNCHES_POLICY, .node_type = "model, 2 cores", .owner = "root"};
	char name[32];

	finish(start("app"), 100);
	ck_assert_int_eq(rows(), 1);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		snprintf(name, sizeof(name), "odd%zu@root:2", i);
		m.name = name;
		m.value = odd[i];
		ck_assert_int_eq(record_learnt_put(d.record, &m, LAUNCHES_KEYS, &err), 0);
	}
	m.node_type = "another";
	m.name = "elsewhere@root:2";
	m.value = "5 1 1 1 0 0 0 0;";
	ck_assert_int_eq(record_learnt_put(d.record, &m, LAUNCHES_KEYS, &err), 0);
	restart();
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		snprintf(name, sizeof(name), "odd%zu", i);
		ck_assert_str_eq(launch(name, 100, 100), "lever");
	}
	ck_assert_str_eq(launch("elsewhere", 100, 100), "lever");
	ck_assert_str_eq(start_as("app", 1, NULL)->seen.launch, "lever");
	finish(jobs_find(d.jobs, last_job, 0, 0), 100);
	/* Of two draws of what is known one is without. */
	ck_assert_str_ne(launch("app", 100, 100), launch("app", 100, 100));
}
END_TEST

START_TEST(the_store_has_as_many_programs_as_are_followed)
{
	char type[16];

	for (int i = 0; i < LAUNCHES_KEYS + 20; i++) {
		snprintf(type, sizeof(type), "p%d", i);
		launch(type, 100, 50);
	}
	ck_assert_int_eq(rows(), LAUNCHES_KEYS);
	restart();
	ck_assert_str_ne(launch(type, 100, 100), launch(type, 100, 100));
	ck_assert_str_eq(launch("p1", 100, 100), "lever");
}
END_TEST

static int note_app(const struct learnt *m, void *arg)
{
	if (strncmp(m->name, "app@root:", strlen("app@root:")) == 0)
		*(int *)arg = atoi(m->value);
	return 0;
}

/* How many launches of root's app the store knows of. */
static int launches_of_app(void)
{
	int n = 0;

	ck_assert_int_eq(record_learnt_list(d.record, LAUNCHES_POLICY, note_app, &n, &err), 0);
	return n;
}

START_TEST(a_users_many_programs_take_nobodys_place)
{
	char type[16];

	launch("app", 100, 100);
	launch("app", 100, 100);
	ck_assert_int_eq(launches_of_app(), 2);
	for (int i = 0; i < LAUNCHES_KEYS + 20; i++) {
		snprintf(type, sizeof(type), "p%d", i);
		finish(start_as(type, 1, NULL), 100);
	}
	ck_assert_int_eq(launches_of_app(), 2);
	launch("app", 100, 100);
	ck_assert_int_eq(launches_of_app(), 3);
}
END_TEST

/* What its row says of its settings, another daemon knew at its start. */
START_TEST(what_withheld_them_is_told_after_a_restart)
{
	static struct msg carried;
	struct step *s;
	uint32_t job;

	ck_assert_int_gt(withheld_after("app", 100, 50, 40), 0);
	s = start("app");
	job = s->job_id;
	carry_save(s, &carried);
	jobs_remove(d.jobs, s);
	restart();
	s = jobs_add(d.jobs, job, 0, 0);
	strcpy(s->type, "app");
	strcpy(s->user, "root");
	s->envelope = d.node->topo->all;
	ck_assert_int_eq(carry_load(s, &carried, &err), 0);
	finish(s, 50);
	ck_assert_str_eq(text_of("launch", job), "withheld");
	ck_assert(fabs(atof(text_of("gain_launch", job)) - 0.5) < 0.05);
}
END_TEST

START_TEST(nothing_and_all_are_not_drawn)
{
	d.conf->control_fraction = 0;
	for (int i = 0; i < 10; i++)
		ck_assert_str_eq(launch("app", 100, 50), "lever");
	d.conf->control_fraction = 1;
	for (int i = 0; i < 10; i++)
		ck_assert_str_eq(launch("app", 100, 50), "control");
	ck_assert_int_eq(quarantine_count(d.choose), 0);
}
END_TEST

START_TEST(where_there_is_nothing_to_set_nothing_is_drawn)
{
	d.conf->launch_env.enabled = false;
	for (int i = 0; i < 30; i++) {
		struct step *s = start("app");

		ck_assert_ptr_null(s->seen.launch);
		ck_assert_uint_eq(s->seen.launch_draw, 0);
		finish(s, 100);
	}
	d.conf->launch_env.enabled = true;
	for (int i = 0; i < 30; i++) {
		struct step *s = start_on("app", 2);

		ck_assert_str_eq(s->seen.launch, "lever");
		finish(s, 100);
	}
}
END_TEST

START_TEST(a_program_is_its_user_and_the_class_of_its_arguments)
{
	char *const a[] = {"app", "-n", "10", "in_17.dat", NULL},
		    *const b[] = {"app", "-n", "25", "in_42.dat", NULL},
		    *const c[] = {"app", "-n", "100", "in_17.dat", NULL};
	char args[2][16];

	ck_assert_uint_eq(command_arguments(4, a), command_arguments(4, b));
	ck_assert_uint_ne(command_arguments(4, a), command_arguments(4, c));
	ck_assert_uint_ne(command_arguments(1, a), 0);
	snprintf(args[0], sizeof(args[0]), "%08x", command_arguments(4, a));
	snprintf(args[1], sizeof(args[1]), "%08x", command_arguments(4, c));
	/* Known once, a program is drawn: these are four, each new. */
	finish(start_as("app", 0, args[0]), 100);
	ck_assert_str_eq(start_as("app", 1, args[0])->seen.launch, "lever");
	finish(jobs_find(d.jobs, last_job, 0, 0), 100);
	ck_assert_str_eq(start_as("app", 0, args[1])->seen.launch, "lever");
	finish(jobs_find(d.jobs, last_job, 0, 0), 100);
	ck_assert_str_eq(start_as("else", 0, args[0])->seen.launch, "lever");
}
END_TEST

/* What is set for it; NULL nothing. */
static const char *value_of(const char *name)
{
	size_t len = strlen(name);

	for (const char *v = msg_get(&out, "env"); v; v = msg_get_next(&out, "env", v))
		if (strncmp(v, name, len) == 0 && v[len] == '=')
			return v + len + 1;
	return NULL;
}

START_TEST(threads_are_counted_by_the_plan_with_the_newcomer)
{
	d.conf->control_fraction = 0;
	/* Under fair it takes the site's word. */
	start("a");
	start("b");
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "2");
	finish(jobs_find(d.jobs, last_job, 0, 0), 1);
	finish(jobs_find(d.jobs, last_job - 1, 0, 0), 1);
	if (_i)
		strcpy(d.conf->policy, "auto");
	else
		d.conf->launch_env.threads = THREADS_GRANTED;
	ck_assert_ptr_nonnull(start("a"));
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "2");
	for (int i = 0; i < 3; i++) {
		struct step *s = start("b");

		ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "1");
		ck_assert_str_eq(value_of("OPENBLAS_NUM_THREADS"), "1");
		ck_assert_str_eq(s->threads_why, "1 of 2 cores granted");
	}
	/* Each node would grant another number. */
	start_on("c", 2);
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "2");
}
END_TEST

/* A neighbour that is never drawn, with both cores to be shared. */
static void start_neighbour(void)
{
	d.conf->launch_env.threads = THREADS_GRANTED;
	start_on("beside", 2);
}

/* Its task has been forked, and is about to exec. */
static void fork_task(struct step *s)
{
	s->located = true;
	msg_init(&in, "task_start");
	msg_putf(&in, "job", "%u", s->job_id);
	msg_put(&in, "step", "0");
	msg_put(&in, "task", "0");
	msg_putf(&in, "pid", "%u", 1000 + s->job_id);
	arrival_task(&d, &in, &out);
	arrival_after_answer(&d);
	ck_assert_str_eq(msg_get(&out, "type"), "task_ok");
}

START_TEST(who_came_before_it_begins_is_counted)
{
	struct step *first, *second;

	d.conf->control_fraction = 0;
	if (_i)
		strcpy(d.conf->policy, "auto");
	else
		d.conf->launch_env.threads = THREADS_GRANTED;
	first = start("a");
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "2");
	second = start("b");
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "1");
	fork_task(first);
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "1");
	ck_assert_str_eq(value_of("OPENBLAS_NUM_THREADS"), "1");
	ck_assert_ptr_null(value_of("GOMP_SPINCOUNT"));
	ck_assert_str_eq(first->threads_why, "1 of 2 cores granted");
	ck_assert(first->narrow);
	/* And whoever is alone again has all. */
	finish(first, 1);
	fork_task(second);
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "2");
	ck_assert_str_eq(value_of("OPENBLAS_NUM_THREADS"), "2");
	ck_assert(!second->narrow);
}
END_TEST

START_TEST(whose_threads_are_slurms_are_not_counted_anew)
{
	struct step *s;

	d.conf->control_fraction = 0;
	s = start("a");
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "2");
	start("b");
	fork_task(s);
	ck_assert_ptr_null(msg_get(&out, "env"));
}
END_TEST

/* It had what it was granted for @first seconds, and both cores for @then. */
static void run_for(struct step *s, double first, double then)
{
	s->grants.since_ns -= (int64_t)((first + then) * 1e9);
	if (then > 0)
		step_note_cores(s, 2, 2, s->grants.since_ns + (int64_t)(first * 1e9));
	finish(s, first + then);
}

/* Its first run beside the neighbour, with what earlier runs had at hand, and nothing drawn. */
static struct step *start_first(void)
{
	struct step *s;

	d.conf->control_fraction = 0;
	d.linkage = linkage_new();
	start_neighbour();
	s = start("app");
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "1");
	return s;
}

START_TEST(who_was_born_narrow_and_got_more_begins_wider)
{
	struct step *s = start_first();

	run_for(s, 1, 9);
	s = start("app");
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "2");
	ck_assert_str_eq(
		s->threads_why, "1 of 2 cores granted; runs that began so had 1.9 in the mean");
	/* It had one to its end, now and again: (1.9 + 1) / 2, and so on. */
	for (int i = 0; i < 3; i++) {
		run_for(s, 40, 0);
		s = start("app");
	}
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "1");
	ck_assert_str_eq(
		s->threads_why, "1 of 2 cores granted; runs that began so had 1.1 in the mean");
	finish(s, 10);
	/* Another user's is another. */
	ck_assert_ptr_nonnull(start_as("app", 1, NULL));
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "1");
	linkage_free(d.linkage);
	d.linkage = NULL;
}
END_TEST

/* Alone at its end for a third of its time: with both threads for a sixth, if they do not keep each
 * other waiting before. */
static const struct {
	double many_first, many_then;
	const char *at_last;
} widths[] = {
	{8, 2, "2"},
	{16, 2, "1"},
	{8.6, 2.6, "2"},
};

START_TEST(all_threads_are_tried_and_stay_where_a_run_takes_less)
{
	struct step *s = start_first();

	ck_assert_int_eq(s->width, 1);
	run_for(s, 8, 4);
	for (int i = 0; i < 6; i++) {
		bool all;

		s = start("app");
		all = strcmp(value_of("OMP_NUM_THREADS"), "2") == 0;
		ck_assert_int_eq(s->width, all ? 2 : 1);
		ck_assert_int_eq(s->narrow, !all);
		if (i == 0) {
			ck_assert(all);
			ck_assert_str_eq(s->threads_why,
				"1 of 2 cores granted; runs that began so had 1.3 in the mean: "
				"begins with all threads");
		}
		if (all)
			run_for(s, widths[_i].many_first, widths[_i].many_then);
		else
			run_for(s, 8, 4);
	}
	ck_assert_ptr_nonnull(start("app"));
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), widths[_i].at_last);
	linkage_free(d.linkage);
	d.linkage = NULL;
}
END_TEST

START_TEST(a_width_that_slows_a_program_is_taken_away_first)
{
	static struct msg carried;
	struct step *s = NULL;
	int n;

	start_neighbour();
	for (n = 0; n < 40; n++) {
		s = start("app");
		ck_assert_str_ne(s->seen.launch, "withheld");
		if (!s->narrow)
			break;
		finish(s, about(strcmp(s->seen.launch, "lever") == 0 ? 100 : 50));
	}
	ck_assert_msg(n > 0 && n <= 30, "after %d launches", n);
	ck_assert_ptr_nonnull(
		strstr(s->threads_why, "not as granted: guard: with it the program was 0."));
	carry_save(s, &carried);
	ck_assert_str_eq(msg_get(&carried, "narrow"), "0");
	/* The rest of its settings has a verdict of its own: here, that they do no harm. */
	for (int i = 0; i < 40; i++) {
		if (is_set("GOMP_SPINCOUNT"))
			ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "2");
		finish(s, about(50));
		s = start("app");
		ck_assert_str_ne(s->seen.launch, "withheld");
		ck_assert(!s->narrow);
	}
	ck_assert_int_eq(quarantine_count(d.choose), 2);
}
END_TEST

/* Its plan gives each launch both cores, and before it begins one comes. It is judged as what it
 * begins with, and that width is not given again. */
START_TEST(a_width_got_at_last_is_judged_as_that)
{
	int n, narrow = 0;

	d.conf->launch_env.threads = THREADS_GRANTED;
	for (n = 0; n < 60; n++) {
		struct step *s = start("app"), *other = start_on("beside", 2);
		bool lever = strcmp(s->seen.launch, "lever") == 0;

		ck_assert_str_ne(s->seen.launch, "withheld");
		ck_assert(!s->narrow);
		fork_task(s);
		if (!s->narrow)
			break;
		narrow++;
		if (lever)
			ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "1");
		else
			ck_assert_ptr_null(msg_get(&out, "env"));
		finish(other, 1);
		finish(s, about(lever ? 100 : 50));
	}
	ck_assert_msg(narrow > 0 && n <= 30, "after %d launches, %d narrow", n, narrow);
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "2");
}
END_TEST

START_TEST(gromacs_says_its_threads_on_the_command_line)
{
	static const struct {
		const char *argv[6];
		const char *by;
	} of[] = {
		{{"gmx", "mdrun", "-ntomp", "4"}, "-ntomp"},
		{{"/opt/bin/gmx_mpi", "mdrun", "-nt", "8"}, "-nt"},
		{{"gmx", "mdrun", "-ntmpi", "2"}, "-ntmpi"},
		{{"env", "A=1", "mdrun_mpi", "-ntomp", "2"}, "-ntomp"},
		{{"gmx", "mdrun", "-ntmpi", "1"}, NULL},
		{{"gmx", "mdrun", "-ntomp", "0"}, NULL},
		{{"gmx", "mdrun", "-ntomp"}, NULL},
		{{"app", "-ntomp", "4"}, NULL},
		{{"app", "-nt", "4", "gmx"}, NULL},
		{{"gmx"}, NULL},
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		int argc = 0;
		const char *by;

		while (of[i].argv[argc])
			argc++;
		by = command_threads_by(argc, (char *const *)of[i].argv);
		ck_assert_int_eq(by == NULL, of[i].by == NULL);
		if (by)
			ck_assert_str_eq(by, of[i].by);
	}
	ck_assert_ptr_null(command_threads_by(0, NULL));
}
END_TEST

START_TEST(who_comes_while_others_run_is_in_their_draw)
{
	struct step *s[2];

	for (int i = 0; i < 2; i++)
		launch(i ? "a" : "b", 100, 100);
	for (int i = 0; i < 40; i++) {
		s[0] = start("a");
		s[1] = start("b");
		ck_assert_str_eq(s[0]->seen.launch, s[1]->seen.launch);
		ck_assert_uint_eq(s[0]->seen.launch_draw, s[1]->seen.launch_draw);
		finish(s[0], about(100));
		finish(s[1], about(100));
	}
}
END_TEST

START_TEST(a_long_run_is_not_in_every_draw)
{
	struct step *s, *t;
	bool mixed = false;

	launch("a", 0.01, 0.01);
	launch("b", 0.01, 0.01);
	s = start("a");
	for (int i = 0; i < 20 && !mixed; i++) {
		usleep(50000); /* more than twice as long as it takes */
		t = start("b");
		ck_assert_uint_ne(t->seen.launch_draw, s->seen.launch_draw);
		mixed = t->seen.launch_side != s->seen.launch_side;
		ck_assert_int_eq(s->seen.launch_mixed, mixed);
		ck_assert(!t->seen.launch_mixed);
		finish(t, 0.01);
	}
	ck_assert(mixed);
}
END_TEST

/* Half of the launches with the settings fail at once, or are cancelled when they take too long. */
START_TEST(what_failed_tells_nothing_and_what_was_ended_at_least_its_time)
{
	struct step *s;
	bool withheld = false;

	for (int i = 0; i < 60; i++) {
		s = start("fails");
		ck_assert_str_ne(s->seen.launch, "withheld");
		if (strcmp(s->seen.launch, "lever") == 0 && i % 2)
			finish_with(s, 500, 1 << 8);
		else
			finish(s, about(100));
	}
	/* Cancelled before it had taken as long as others: nobody knows. */
	for (int i = 0; i < 60; i++) {
		s = start("early");
		ck_assert_str_ne(s->seen.launch, "withheld");
		if (strcmp(s->seen.launch, "lever") == 0 && i > 2)
			finish_with(s, 1, SIGTERM);
		else
			finish(s, about(100));
	}
	for (int i = 0; i < 60 && !withheld; i++) {
		s = start("late");
		withheld = strcmp(s->seen.launch, "withheld") == 0;
		if (strcmp(s->seen.launch, "lever") == 0 && i > 2)
			finish_with(s, 300, SIGTERM);
		else
			finish(s, about(100));
	}
	ck_assert(withheld);
}
END_TEST

START_TEST(more_programs_than_are_followed_do_no_harm)
{
	char type[16];

	for (int i = 0; i < LAUNCHES_KEYS + 50; i++) {
		snprintf(type, sizeof(type), "p%d", i);
		ck_assert_str_eq(launch(type, 100, 50), "lever");
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("launches");
	TCase *tc = tcase_create("launch settings that hurt a program are taken away from it");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, settings_that_slow_a_program_are_withheld_within_thirty_launches);
	tcase_add_test(tc, settings_that_do_no_harm_stay);
	tcase_add_test(tc, a_restart_and_a_fraction_of_nothing_keep_what_is_known);
	tcase_add_test(tc, what_failed_tells_nothing_and_what_was_ended_at_least_its_time);
	tcase_add_test(tc, a_width_that_slows_a_program_is_taken_away_first);
	suite_add_tcase(s, tc);
	tc = tcase_create("what launches showed outlasts a restart");
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, launches_of_before_a_restart_count);
	tcase_add_test(tc, a_launch_that_a_restart_finds_running_counts);
	tcase_add_test(tc, what_withheld_them_is_told_after_a_restart);
	tcase_add_test(tc, only_a_programs_own_launches_are_known_after_a_restart);
	tcase_add_test(tc, the_store_has_as_many_programs_as_are_followed);
	tcase_add_test(tc, a_users_many_programs_take_nobodys_place);
	suite_add_tcase(s, tc);
	tc = tcase_create("whole sets of programs that recur are drawn");
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, nothing_and_all_are_not_drawn);
	tcase_add_test(tc, where_there_is_nothing_to_set_nothing_is_drawn);
	tcase_add_test(tc, a_program_is_its_user_and_the_class_of_its_arguments);
	tcase_add_test(tc, who_comes_while_others_run_is_in_their_draw);
	tcase_add_test(tc, a_long_run_is_not_in_every_draw);
	tcase_add_test(tc, more_programs_than_are_followed_do_no_harm);
	suite_add_tcase(s, tc);
	tc = tcase_create("a program starts with as many threads as cores are granted");
	tcase_add_loop_test(tc, who_came_before_it_begins_is_counted, 0, 2);
	tcase_add_test(tc, whose_threads_are_slurms_are_not_counted_anew);
	tcase_add_test(tc, a_width_got_at_last_is_judged_as_that);
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, threads_are_counted_by_the_plan_with_the_newcomer, 0, 2);
	tcase_add_test(tc, who_was_born_narrow_and_got_more_begins_wider);
	tcase_add_loop_test(tc, all_threads_are_tried_and_stay_where_a_run_takes_less, 0,
		sizeof(widths) / sizeof(widths[0]));
	tcase_add_test(tc, gromacs_says_its_threads_on_the_command_line);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
