/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "contrib/bench/realmix/disturb.h"
#include "contrib/bench/realmix/mixes.h"
#include "contrib/bench/realmix/profile.h"
#include "contrib/bench/realmix/report.h"
#include "contrib/bench/realmix/state.h"
#include "contrib/bench/realmix/stats.h"
#include "contrib/bench/realmix/summary.h"
#include "tests/unit/fstree.h"

static double solo_a[] = {1.0, 9.0, 1.2}, solo_b[] = {2.0, 2.0, 2.0};
static double corun_a[] = {2.4, 2.4}, corun_b[] = {3.0, 4.0, 5.0};
static struct times solo[] = {{solo_a, 3}, {solo_b, 3}}, corun[] = {{corun_a, 2}, {corun_b, 3}};

START_TEST(score_is_that_of_the_definition)
{
	struct score s;

	ck_assert_int_eq(stats_score(&s, solo, corun, 2, 0, 1), 0);
	ck_assert_double_eq_tol(s.stp, 1.2 / 2.4 + 2.0 / 4.0, 1e-12);
	ck_assert_double_eq_tol(s.antt, (2.4 / 1.2 + 4.0 / 2.0) / 2, 1e-12);
	ck_assert_double_eq_tol(s.worst_ntt, 2.0, 1e-12);
	ck_assert_double_eq(s.stp_lo, s.stp);
}
END_TEST

START_TEST(alone_scores_one_each)
{
	struct times same[] = {{solo_b, 3}, {solo_b, 3}};
	struct score s;

	ck_assert_int_eq(stats_score(&s, same, same, 2, 100, 1), 0);
	ck_assert_double_eq_tol(s.stp, 2.0, 1e-12);
	ck_assert_double_eq_tol(s.antt, 1.0, 1e-12);
	ck_assert_double_eq_tol(s.stp_lo, 2.0, 1e-12);
	ck_assert_double_eq_tol(s.stp_hi, 2.0, 1e-12);
}
END_TEST

START_TEST(interval_holds_the_score_and_repeats)
{
	struct score s, again;

	ck_assert_int_eq(stats_score(&s, solo, corun, 2, 2000, 7), 0);
	ck_assert_double_lt(s.stp_lo, s.stp);
	ck_assert_double_gt(s.stp_hi, s.stp);
	ck_assert_int_eq(stats_score(&again, solo, corun, 2, 2000, 7), 0);
	ck_assert_mem_eq(&s, &again, sizeof(s));
}
END_TEST

START_TEST(no_runs_no_score)
{
	struct times none[] = {{corun_a, 2}, {corun_b, 0}};
	struct score s = {.stp = 77.0};

	ck_assert_int_eq(stats_score(&s, solo, none, 2, 10, 1), -EINVAL);
	ck_assert_double_eq(s.stp, 77.0);
	ck_assert_double_nan(stats_median(solo_a, 0));
	ck_assert_double_nan(stats_mean(solo_a, 0));
	ck_assert_double_eq_tol(stats_median(solo_a, 2), 5.0, 1e-12);
}
END_TEST

static void burn_cpu_s(double s)
{
	struct timespec t;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	while ((double)t.tv_sec + (double)t.tv_nsec / 1e9 < s);
}

/* The watcher is a child of ours: what this process does is foreign to it. */
START_TEST(foreign_cpu_time_is_seen_and_our_own_is_not)
{
	int from[2], to[2];
	double ratio = -1.0;
	pid_t watcher;
	char b = 0;

	ck_assert_int_eq(pipe(from), 0);
	ck_assert_int_eq(pipe(to), 0);
	watcher = fork();
	if (!watcher) {
		struct disturb *d = disturb_start("/proc", "no-such-node-name");

		if (!d || write(from[1], "", 1) != 1 || read(to[0], &b, 1) != 1)
			_exit(1);
		ratio = disturb_ratio(d);
		disturb_free(d);
		_exit(write(from[1], &ratio, sizeof(ratio)) != sizeof(ratio));
	}
	ck_assert_int_eq((int)read(from[0], &b, 1), 1);
	burn_cpu_s(0.2);
	ck_assert_int_eq((int)write(to[1], "", 1), 1);
	ck_assert_int_eq((int)read(from[0], &ratio, sizeof(ratio)), (int)sizeof(ratio));
	ck_assert_int_eq(waitpid(watcher, NULL, 0), watcher);
	ck_assert_double_gt(ratio, 0.0);
	ck_assert_double_le(ratio, 1.5);
}
END_TEST

static void put_process(struct fstree *t, int pid, const char *comm, char state, int ticks)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "proc/%d/stat", pid);
	snprintf(text, sizeof(text),
		"%d (%s) %c 1 %d %d 0 -1 4194560 0 0 0 0 %d 0 0 0 20 0 1 0 100 0 0\n", pid, comm,
		state, pid, pid, ticks);
	fstree_put(t, path, text);
}

static void put_total(struct fstree *t, int busy, int idle)
{
	char text[128];

	snprintf(text, sizeof(text), "cpu %d 0 0 %d 0 0 0 0 0 0\n", busy, idle);
	fstree_put(t, "proc/stat", text);
}

/* A slurmstepd that has ended leaves its cgroup, with its tasks' time, before PID 1 waits for it.
 */
START_TEST(zombie_slurmstepd_is_ours_and_another_zombie_is_not)
{
	static const char *const name[] = {"slurmstepd", "make"};
	const double wanted[] = {0, 0.5};
	char proc[96];
	struct fstree t;
	struct disturb *d;

	fstree_make(&t);
	snprintf(proc, sizeof(proc), "%s/proc", t.dir);
	put_total(&t, 0, 0);
	put_process(&t, 900000001, name[_i], 'S', 10);
	fstree_put(&t, "proc/900000001/cgroup", "4:cpuset:/slurm_n1/uid_0/job_1/step_0\n");
	d = disturb_start(proc, "n1");
	ck_assert_ptr_nonnull(d);
	put_total(&t, 100, 100);
	put_process(&t, 900000001, name[_i], 'Z', 110);
	fstree_put(&t, "proc/900000001/cgroup", "4:cpuset:/\n");
	ck_assert_double_eq_tol(disturb_ratio(d), wanted[_i], 1e-9);
	disturb_free(d);
	fstree_remove(&t);
}
END_TEST

/* ---- results kept in files ----------------------------------------------------------------- */

static char state_dir[32];
static struct errbuf err;

static void state_setup(void)
{
	strcpy(state_dir, "/tmp/coloc-state-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(state_dir));
}

static void state_teardown(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", state_dir);
	ck_assert_int_eq(system(command), 0);
}

static struct row a_row(const char *mix, const char *arm, int round, double makespan_s)
{
	const struct mix *m = mixes_find(mix);
	struct row row = {.round = round, .makespan_s = makespan_s, .n = m->n};

	snprintf(row.mix, sizeof(row.mix), "%s", mix);
	snprintf(row.arm, sizeof(row.arm), "%s", arm);
	for (int p = 0; p < row.n; p++) {
		snprintf(row.program[p], sizeof(row.program[p]), "%s", m->program[p].name);
		row.time_s[p] = makespan_s * (p + 1) / row.n;
		row.runs[p] = 1;
		row.run_s[p][0] = row.time_s[p];
	}
	return row;
}

static void put(struct row row)
{
	ck_assert_int_eq(state_write_row(&row, state_dir, &err), 0);
}

static void put_solo(const char *program, double s)
{
	struct solo alone = {.run_s = {s, s, s}, .n = 3};

	snprintf(alone.program, sizeof(alone.program), "%s", program);
	ck_assert_int_eq(state_write_solo(&alone, state_dir, &err), 0);
}

START_TEST(rows_come_back_as_they_were)
{
	struct row row = a_row("mpi", "gang", 2, 12.5), back;

	row.time_s[3] = NAN;
	row.runs[3] = 0;
	row.cut = true;
	row.service_s = 0.1625;
	strcpy(row.policy, "gang");
	ck_assert_int_eq(state_is_used(state_dir, &err), 0);
	put(row);
	ck_assert_int_eq(state_is_used(state_dir, &err), 1);
	ck_assert_int_eq(state_read_row(&back, state_dir, "mpi", "gang", 2, &err), 0);
	ck_assert(back.cut && !back.disturbed && back.n == 4);
	ck_assert_double_eq_tol(back.makespan_s, 12.5, 1e-9);
	ck_assert_double_eq_tol(back.time_s[0], 12.5 / 4, 1e-4);
	ck_assert(isnan(back.time_s[3]));
	ck_assert_double_eq_tol(back.service_s, 0.1625, 1e-4);
	ck_assert_str_eq(back.policy, "gang");
	ck_assert_int_eq(state_read_row(&back, state_dir, "mpi", "gang", 1, &err), -ENOENT);
}
END_TEST

static const struct {
	const char *from, *to, *says;
} damage[] = {
	{"{", "", "no JSON object"},
	{"\"version\":1", "\"version\":9", "version"},
	{"\"mpi\"", "\"mixed\"", "mix"},
	{"\"round\":2", "\"round\":3", "round"},
	{"\"makespan_s\":12.5000", "\"makespan_s\":0", "makespan_s"},
	{"\"makespan_s\":12.5000", "\"makespan_s\":-1", "makespan_s"},
	{"\"makespan_s\":12.5000", "\"makespan_s\":\"12\"", "makespan_s"},
	{"\"cut\":false", "\"cut\":null", "cut"},
	{"\"programs\"", "\"others\"", "programs"},
	{"\"runs\":1", "\"runs\":-1", "runs"},
	{"\"runs\":1", "\"runs\":2", "each"},
};

/* Writes a row and has something else in it: the file's path. */
static const char *put_with(struct row row, const char *from, const char *to)
{
	static char path[128];
	char text[4096] = "", *at;
	FILE *f;

	put(row);
	snprintf(path, sizeof(path), "%s/%s.%s.%d.json", state_dir, row.mix, row.arm, row.round);
	f = fopen(path, "r");
	ck_assert_uint_gt(fread(text, 1, sizeof(text) - 1, f), 0);
	fclose(f);
	at = strstr(text, from);
	ck_assert_ptr_nonnull(at);
	f = fopen(path, "w");
	fprintf(f, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	fclose(f);
	return path;
}

START_TEST(a_damaged_file_is_named)
{
	const char *path = put_with(a_row("mpi", "gang", 2, 12.5), damage[_i].from, damage[_i].to);
	struct row back;

	err.text[0] = '\0';
	ck_assert_int_eq(state_read_row(&back, state_dir, "mpi", "gang", 2, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, path));
	ck_assert_ptr_nonnull(strstr(err.text, damage[_i].says));
}
END_TEST

/* Of before colocd's processor time was read. */
START_TEST(what_was_not_read_is_unknown)
{
	struct row read = a_row("mpi", "gang", 1, 12.5), unknown = a_row("mpi", "gang", 2, 12.5),
		   old = a_row("mpi", "gang", 3, 12.5), back;
	static struct summary s;

	read.service_s = 0.2;
	unknown.service_s = NAN;
	put(read);
	put(unknown);
	old.service_s = 0.5;
	put_with(old, "\"service_s\":0.5000,", "");
	ck_assert_int_eq(state_read_row(&back, state_dir, "mpi", "gang", 2, &err), 0);
	ck_assert(isnan(back.service_s));
	ck_assert_int_eq(state_read_row(&back, state_dir, "mpi", "gang", 3, &err), 0);
	ck_assert(isnan(back.service_s));
	ck_assert_int_eq(summary_read(&s, state_dir, mixes_find("mpi"), &err), 0);
	ck_assert_double_eq_tol(summary_find(&s, "gang")->service_s, 0.2, 1e-9);
	put(unknown);
	put_with(old, "\"service_s\":0.5000,", "");
	read.service_s = NAN;
	put(read);
	ck_assert_int_eq(summary_read(&s, state_dir, mixes_find("mpi"), &err), 0);
	ck_assert(isnan(summary_find(&s, "gang")->service_s));
}
END_TEST

START_TEST(estimates_are_students)
{
	const double v[] = {1.0, 2.0, 4.0};
	struct estimate e = estimate_of(v, 3);

	ck_assert_double_eq_tol(e.mean, 2.0, 1e-9);
	/* ln 2 apart: half = t(2) ln 2 / sqrt 3 */
	ck_assert_double_eq_tol(log(e.hi / e.mean), 4.303 * log(2.0) / sqrt(3.0), 1e-9);
	ck_assert_double_eq_tol(e.lo * e.hi, 4.0, 1e-9);
	ck_assert(isnan(estimate_of(v, 1).lo) && isnan(estimate_of(v, 0).mean));
}
END_TEST

static void put_mpi(void)
{
	put_solo("lmp", 5.0);
	for (int k = 1; k <= 3; k++) {
		put(a_row("mpi", "gang", k, 20 + 0.1 * k));
		put(a_row("mpi", "fair", k, 30));
		put(a_row("mpi", "serial", k, 20 + 0.1 * k));
	}
}

START_TEST(ratios_are_paired_and_bounds_are_said)
{
	struct row bad = a_row("mpi", "plain", 1, 200), noise = a_row("mpi", "gang", 4, 500);
	static struct summary s;
	struct estimate e;
	int bound;

	put_mpi();
	bad.cut = true;
	put(bad);
	noise.disturbed = true;
	put(noise);
	ck_assert_int_eq(summary_read(&s, state_dir, mixes_find("mpi"), &err), 0);
	ck_assert_double_eq_tol(s.solo_sum_s, 20.0, 1e-9);
	ck_assert_str_eq(summary_best(&s, ARM_POLICY)->arm->name, "gang");
	ck_assert_str_eq(summary_best(&s, ARM_PEER)->arm->name, "serial");
	ck_assert_int_eq(summary_find(&s, "gang")->n_disturbed, 1);
	e = summary_ratio(summary_find(&s, "gang"), summary_find(&s, "serial"), &bound);
	ck_assert_int_eq(bound, 0);
	ck_assert_int_eq(e.n, 3);
	ck_assert_double_eq_tol(e.lo, 1.0, 1e-6);
	e = summary_ratio(summary_find(&s, "gang"), summary_find(&s, "plain"), &bound);
	ck_assert_int_eq(bound, 1);
	ck_assert_double_eq_tol(e.mean, 200 / 20.1, 1e-3);
	/* Submission to end over the time alone: a quarter, a half, ... of the makespan. */
	ck_assert_double_eq_tol(summary_find(&s, "fair")->antt.mean, 30 * 0.625 / 5, 1e-3);
}
END_TEST

START_TEST(sustained_rows_give_stp)
{
	struct row row = a_row("mpi", "gang", ROUND_SUSTAINED, 0);
	static struct summary s;

	put_mpi();
	for (int p = 0; p < 4; p++) {
		row.runs[p] = 3;
		for (int k = 0; k < 3; k++)
			row.run_s[p][k] = 20;
		row.time_s[p] = 20;
	}
	put(row);
	ck_assert_int_eq(summary_read(&s, state_dir, mixes_find("mpi"), &err), 0);
	ck_assert_double_eq_tol(summary_find(&s, "gang")->stp.mean, 1.0, 1e-9);
	ck_assert_double_eq_tol(summary_find(&s, "gang")->sustained_antt, 4.0, 1e-9);
	ck_assert(isnan(summary_find(&s, "serial")->stp.mean));
}
END_TEST

START_TEST(report_says_met_and_missed)
{
	struct report_input in = {.first_dir = state_dir};
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	put_mpi();
	put(a_row("mpi", "plain", 1, 30));
	ck_assert_int_eq(report_print(f, &in, &err), 0);
	fclose(f);
	ck_assert_ptr_nonnull(
		strstr(text, "| mpi: gang >= 0.95 of one after another | gang / serial: "
			     "1.00 [1.00, 1.00] (rounds: 3) | met |"));
	ck_assert_ptr_nonnull(strstr(text, "gang / plain: 1.49 (rounds: 1) | **missed** |"));
	ck_assert_ptr_nonnull(strstr(text, "better than Slurm's gang in ANTT |  | not measured |"));
	free(text);
}
END_TEST

/* In such a mix each program has its place. */
START_TEST(report_says_each_time_where_programs_are_submitted_in_order)
{
	struct report_input in = {.first_dir = state_dir};
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	put_solo("bursts-40", 5.2);
	put_solo("stencil-short", 1.75);
	put(a_row("first-waits-40", "gang", 1, 9));
	put(a_row("first-waits-40", "gang", 2, 9));
	put(a_row("waits", "gang", 1, 9));
	ck_assert_int_eq(report_print(f, &in, &err), 0);
	fclose(f);
	ck_assert_ptr_nonnull(strstr(text,
		"\nEach submitted 300 ms after the one before it; s from then to its end:\n\n"
		"| arm | bursts-40 | stencil-short | stencil-short |\n|---|---|---|---|\n"
		"| alone | 5.20 | 1.75 | 1.75 |\n"
		"| gang | 3.00 [3.00, 3.00] | 6.00 [6.00, 6.00] | 9.00 [9.00, 9.00] |\n"));
	/* The other's first would have ended then. */
	ck_assert_ptr_null(strstr(text, "| gang | 2.25"));
	free(text);
}
END_TEST

/* @status: of the command that stands for all that is called. */
static int profile_two(
	struct fstree *t, const struct mix *mix, char *done, size_t size, int status, char *ret)
{
	char path[256], script[512];
	struct errbuf why;
	FILE *log = tmpfile();
	size_t n;
	int rc;

	ck_assert_ptr_nonnull(log);
	snprintf(script, sizeof(script), "#!/bin/sh\nshift 2\necho \"$*\"\nexit %d\n", status);
	fstree_put(t, "bin/taskset", script);
	snprintf(path, sizeof(path), "%s/bin/taskset", t->dir);
	ck_assert_int_eq(chmod(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/bin:/usr/bin:/bin", t->dir);
	setenv("PATH", path, 1);
	rc = profile_mix(mix, "/s", fileno(log), done, size, &why);
	rewind(log);
	n = fread(ret, 1, 1023, log);
	ret[n] = '\0';
	fclose(log);
	return rc;
}

/* Two programs of one executable have one profile, and no mix makes it again. */
START_TEST(each_executable_is_profiled_once)
{
	static const struct mix mix = {.name = "m",
		.program = {{"a", {"/x/gmx", "-n", "1"}, 0}, {"b", {"/x/gmx", "-n", "2"}, 0},
			{"c", {"/x/lmp"}, 2}, {"d", {"/x/gm"}, 0}},
		.n = 4};
	char done[256] = "/y/gmx", out[1024];
	struct fstree t;

	fstree_make(&t);
	ck_assert_int_eq(profile_two(&t, &mix, done, sizeof(done), 0, out), 0);
	ck_assert_str_eq(out, "colocctl --socket=/s profile -- /x/gmx -n 1\n"
			      "colocctl --socket=/s profile -- /x/lmp\n"
			      "colocctl --socket=/s profile -- /x/gm\n");
	ck_assert_str_eq(done, "/y/gmx /x/gmx /x/lmp /x/gm");
	ck_assert_int_eq(profile_two(&t, &mix, done, sizeof(done), 0, out), 0);
	ck_assert_str_eq(out, "");
	done[0] = '\0';
	ck_assert_int_eq(profile_two(&t, &mix, done, sizeof(done), 1, out), -EIO);
	ck_assert_str_eq(done, "");
	fstree_remove(&t);
}
END_TEST

/* A command of Slurm's or ours. */
static void put_command(struct fstree *t, const char *name, const char *script)
{
	char path[256];

	snprintf(path, sizeof(path), "bin/%s", name);
	fstree_put(t, path, script);
	snprintf(path, sizeof(path), "%s/bin/%s", t->dir, name);
	ck_assert_int_eq(chmod(path, 0755), 0);
}

/* What three programs of an arm on a node of so many CPUs begin with. */
static const struct {
	const char *arm;
	int cpus;
	const char *says;
} begins[] = {
	{"plain", 8, "omp= blas= usual "},
	{"one", 2, "omp=1 blas=1 usual --coloc-policy=fair"},
	{"one", 8, "omp=2 blas=2 usual --coloc-policy=fair"},
	{"granted", 8, "omp= blas= its own --coloc-policy=fair"},
	{"auto", 8, "omp= blas= usual --coloc-policy=auto"},
};

START_TEST(programs_begin_with_what_the_arm_sets)
{
	static const struct mix mix = {.name = "m",
		.program = {{"a", {"a"}, 0}, {"b", {"b"}, 0}, {"c", {"c"}, 0}},
		.n = 3};
	volatile sig_atomic_t stop = 0;
	struct setting s = {
		.node = {.name = "n1"}, .tries = 1, .foreign_limit = 1e9, .stop = &stop};
	struct measured m;
	struct fstree t;
	char conf[128], path[128], line[256];
	FILE *log = tmpfile();
	int n = 0;

	ck_assert_ptr_nonnull(log);
	fcntl(fileno(log), F_SETFL, O_APPEND);
	fstree_make(&t);
	put_command(&t, "salloc", "#!/bin/sh\necho Granted job allocation 5\n");
	put_command(&t, "scancel", "#!/bin/sh\n");
	put_command(&t, "squeue", "#!/bin/sh\n");
	put_command(&t, "colocctl", "#!/bin/sh\necho '{}'\n");
	put_command(&t, "srun",
		"#!/bin/sh\n"
		"echo omp=$OMP_NUM_THREADS blas=$OPENBLAS_NUM_THREADS $(cat $TEST_CONF)"
		" $(echo \"$*\" | grep -o -e '--coloc-policy=[a-z]*')\n");
	fstree_put(&t, "conf.usual", "usual");
	fstree_put(&t, "conf.granted", "its own");
	fstree_put(&t, "conf", "usual");
	snprintf(conf, sizeof(conf), "%s/conf", t.dir);
	setenv("TEST_CONF", conf, 1);
	snprintf(path, sizeof(path), "%s/bin:/usr/bin:/bin", t.dir);
	setenv("PATH", path, 1);
	s.node.cpus = begins[_i].cpus;
	s.log_fd = fileno(log);
	s.socket = "/s";
	s.conf = conf;
	ck_assert_msg(
		measure_batch(&s, &mix, arms_find(begins[_i].arm), &m, &err) == 0, "%s", err.text);
	measured_free(&m);
	for (rewind(log); fgets(line, sizeof(line), log); n++)
		ck_assert_msg(strncmp(line, begins[_i].says, strlen(begins[_i].says) - 1) == 0,
			"'%s' is not '%s'", line, begins[_i].says);
	ck_assert_int_eq(n, 3);
	fclose(log);
	/* Then all is as it was. */
	log = fopen(conf, "r");
	ck_assert_ptr_nonnull(log);
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), log));
	ck_assert_str_eq(line, "usual");
	fclose(log);
	ck_assert_ptr_null(getenv("OMP_NUM_THREADS"));
	fstree_remove(&t);
}
END_TEST

/* As much for each core, whatever the node has. */
START_TEST(work_is_for_the_nodes_cores)
{
	const struct {
		int cpus;
		const char *parts, *edge;
	} node[] = {{2, "* 800, 1)", "n = 400\n"}, {16, "* 6400, 1)", "n = 800\n"}};
	struct mix mix;

	for (size_t i = 0; i < 2 && access("/usr/bin/python3", X_OK) == 0; i++) {
		struct mix_paths paths = {.programs = "/", .cpus = node[i].cpus};

		ck_assert_int_eq(mix_prepare(mixes_find("pools"), &paths, &mix, &err), 0);
		ck_assert_ptr_nonnull(strstr(mix.program[3].argv[2], node[i].parts));
		ck_assert_int_eq(mix.program[3].ranks, 0);
		ck_assert_int_eq(mix_prepare(mixes_find("numpy"), &paths, &mix, &err), 0);
		ck_assert_ptr_nonnull(strstr(mix.program[0].argv[2], node[i].edge));
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("realmix");
	TCase *score = tcase_create("scores follow their definition"),
	      *interval = tcase_create("the interval shows how far runs differ"),
	      *disturb = tcase_create("what others use is noticed"),
	      *state = tcase_create("results are kept, and damage is named"),
	      *profile = tcase_create("programs are profiled before they are measured"),
	      *begin = tcase_create("an arm's programs begin with its settings");
	SRunner *r;
	int failed;

	tcase_add_test(score, score_is_that_of_the_definition);
	tcase_add_test(score, alone_scores_one_each);
	tcase_add_test(score, no_runs_no_score);
	suite_add_tcase(s, score);
	tcase_add_test(interval, interval_holds_the_score_and_repeats);
	suite_add_tcase(s, interval);
	tcase_add_test(disturb, foreign_cpu_time_is_seen_and_our_own_is_not);
	tcase_add_loop_test(disturb, zombie_slurmstepd_is_ours_and_another_zombie_is_not, 0, 2);
	suite_add_tcase(s, disturb);
	tcase_add_checked_fixture(state, state_setup, state_teardown);
	tcase_add_test(state, rows_come_back_as_they_were);
	tcase_add_loop_test(
		state, a_damaged_file_is_named, 0, (int)(sizeof(damage) / sizeof(damage[0])));
	tcase_add_test(state, what_was_not_read_is_unknown);
	tcase_add_test(state, estimates_are_students);
	tcase_add_test(state, ratios_are_paired_and_bounds_are_said);
	tcase_add_test(state, sustained_rows_give_stp);
	tcase_add_test(state, report_says_met_and_missed);
	tcase_add_test(state, report_says_each_time_where_programs_are_submitted_in_order);
	suite_add_tcase(s, state);
	tcase_add_test(profile, each_executable_is_profiled_once);
	tcase_add_test(profile, work_is_for_the_nodes_cores);
	suite_add_tcase(s, profile);
	tcase_add_loop_test(begin, programs_begin_with_what_the_arm_sets, 0,
		(int)(sizeof(begins) / sizeof(begins[0])));
	suite_add_tcase(s, begin);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
