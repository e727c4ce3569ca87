/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nodesvc/counters/profile_run.h"
#include "nodesvc/counters/solo.h"

static struct profile p;
static struct errbuf err;

static int run(const struct profile_opts *o, const char *command)
{
	const char *argv[] = {"/bin/sh", "-c", command, NULL};

	memset(&p, 0, sizeof(p));
	p.threads = 77;
	err.text[0] = '\0';
	return profile_run(o, (char *const *)argv, &p, &err);
}

static const struct profile_opts cachegrind = {
	.with = "cachegrind", .runs = 1, .ll_bytes = 1 << 20};

START_TEST(missing_valgrind_names_the_package)
{
	char path[4096];
	int rc;

	/* The shell has an absolute path; valgrind would be found on PATH only. */
	snprintf(path, sizeof(path), "%s", getenv("PATH") ? getenv("PATH") : "");
	setenv("PATH", "/nonexistent", 1);
	rc = run(&cachegrind, ":");
	setenv("PATH", path, 1); /* the tests may share one process */
	ck_assert_int_eq(rc, -ENOENT);
	ck_assert_msg(strstr(err.text, "apt install valgrind"), "%s", err.text);
	ck_assert_int_eq(p.threads, 77);
}
END_TEST

START_TEST(failed_command_gives_no_profile)
{
	ck_assert_int_eq(run(&cachegrind, "exit 3"), -ECHILD);
	ck_assert_msg(strstr(err.text, "exit status 3"), "%s", err.text);
	ck_assert_int_eq(p.threads, 77);
	ck_assert_int_eq(run(&cachegrind, "kill -9 $$"), -ECHILD);
	ck_assert_msg(strstr(err.text, "signal 9"), "%s", err.text);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

START_TEST(missing_command_is_named)
{
	const char *argv[] = {"/nonexistent/program", NULL};

	ck_assert_int_eq(profile_run(&cachegrind, (char *const *)argv, &p, &err), -ENOENT);
	ck_assert_msg(strstr(err.text, "/nonexistent/program"), "%s", err.text);
}
END_TEST

static const struct {
	struct profile_opts opts;
	const char *error;
} bad[] = {
	{{.with = "tarot"}, "tarot"},
	{{.with = "cachegrind"}, "the last level is not known"},
	{{.with = "cachegrind", .ll_bytes = 1 << 20, .ll_line = 48}, "48"},
	{{.with = "cachegrind", .ll_bytes = 1 << 20, .runs = -1}, "-1 runs"},
	{{.with = "cachegrind", .ll_bytes = 1 << 20, .threads = -2}, "-2 threads"},
	{{.with = "cachegrind", .ll_bytes = 1 << 20, .type = ""}, "type is empty"},
	{{.with = "cachegrind", .ll_bytes = 1 << 20, .user = "a-user-name-of-more-than-32-letters"},
		"user"},
};

START_TEST(bad_options_are_refused_before_any_run)
{
	ck_assert_int_eq(run(&bad[_i].opts, "exit 3"), -EINVAL);
	ck_assert_msg(strstr(err.text, bad[_i].error), "%s", err.text);
}
END_TEST

START_TEST(source_that_does_not_work_is_refused_with_its_reason)
{
	const struct counters_ops *ops = _i ? &counters_perf : &counters_papi;
	struct profile_opts o = {.with = ops->name, .runs = 1};
	uint32_t provides;
	int rc = run(&o, ":");

	if (!ops->probe(&provides, NULL)) {
		ck_assert_int_eq(rc, 0); /* a machine with counters */
		return;
	}
	ck_assert_int_eq(rc, -ENOTSUP);
	ck_assert_ptr_eq(strstr(err.text, ops->name), err.text);
	ck_assert_int_gt((int)strlen(err.text), 15);
}
END_TEST

START_TEST(output_of_the_command_is_not_ours)
{
	char path[] = "/tmp/coloc-stdout.XXXXXX";
	int fd = mkstemp(path), saved = dup(1), null_fd = open("/dev/null", O_WRONLY);
	int saved_err = dup(2);
	struct solo_result r;
	const char *argv[] = {"/bin/sh", "-c", "echo out; cat", NULL};
	struct solo_opts o = {.argv = (char *const *)argv};
	int rc;

	dup2(fd, 1);
	dup2(null_fd, 2);
	rc = solo_run(&o, &r, &err); /* ends: its standard input is empty */
	dup2(saved, 1);
	dup2(saved_err, 2);
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq((int)lseek(fd, 0, SEEK_END), 0);
	unlink(path);
}
END_TEST

START_TEST(environment_is_set_for_that_run_only)
{
	static const char *const env[] = {"COLOC_TEST_RUN=yes", NULL};
	const char *argv[] = {"/bin/sh", "-c", "test \"$COLOC_TEST_RUN\" = yes", NULL};
	struct solo_opts o = {.argv = (char *const *)argv, .env = env};
	struct solo_result r;

	ck_assert_int_eq(solo_run(&o, &r, &err), 0);
	ck_assert_ptr_null(getenv("COLOC_TEST_RUN"));
	o.env = NULL;
	ck_assert_int_eq(solo_run(&o, &r, &err), -ECHILD);
}
END_TEST

static double cpu_s(pid_t pid)
{
	struct timespec ts = {0};
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) == 0)
		clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Sixty times what its parent has run, whose forks take long under sanitizers. */
static void work_beside(pid_t parent)
{
	do
		for (volatile long k = 0; k < 40000000; k++)
			;
	while (cpu_s(getpid()) < 60 * cpu_s(parent));
}

START_TEST(waiting_wrapper_is_no_width)
{
	int ready[2], hold[2];
	pid_t child;
	char b = 0;

	/* A process that waits for two that work: two. */
	ck_assert_int_eq(pipe(ready), 0);
	ck_assert_int_eq(pipe(hold), 0);
	child = fork();
	if (!child) {
		pid_t wrapper = getpid();

		close(hold[1]);
		for (int i = 0; i < 2; i++)
			if (!fork()) {
				work_beside(wrapper);
				if (write(ready[1], "", 1) != 1)
					_exit(1);
				_exit((int)read(hold[0], &b, 1)); /* until the test is over */
			}
		while (wait(NULL) > 0)
			;
		_exit(0);
	}
	close(hold[0]);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq((int)read(ready[0], &b, 1), 1);
	ck_assert_int_eq(solo_count_threads(child), 2);
	ck_assert_int_eq(solo_count_threads(0x3fffffff), 0);
	close(hold[1]);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	close(ready[0]);
	close(ready[1]);
}
END_TEST

static struct thread_wait *waits(int n, const struct thread_wait *from)
{
	struct thread_wait *w = malloc(sizeof(*w) * (size_t)n);

	ck_assert_ptr_nonnull(w);
	memcpy(w, from, sizeof(*w) * (size_t)n);
	return w;
}

START_TEST(delay_of_gone_threads_is_kept)
{
	struct wait_sum w = {0};

	wait_sum_take(&w, waits(2, (struct thread_wait[]){{9, 50}, {7, 10}}), 2);
	ck_assert_uint_eq(wait_sum_ns(&w), 60);
	wait_sum_take(&w, waits(2, (struct thread_wait[]){{7, 15}, {11, 1}}), 2);
	ck_assert_uint_eq(wait_sum_ns(&w), 66);
	wait_sum_take(&w, waits(1, (struct thread_wait[]){{7, 2}}), 1); /* another 7 */
	ck_assert_uint_eq(wait_sum_ns(&w), 50 + 1 + 15 + 2);
	wait_sum_take(&w, NULL, 0);
	ck_assert_uint_eq(wait_sum_ns(&w), 68);
	wait_sum_done(&w);
}
END_TEST

static int n_short;

static void hear(const char *text, void *arg)
{
	(void)arg;
	n_short += strstr(text, "a run takes ") != NULL;
}

/* Said of the native runs: with valgrind or without. */
static int times_called_short(const char *command)
{
	struct profile_opts o = cachegrind;

	o.progress = hear;
	n_short = 0;
	run(&o, command);
	return n_short;
}

START_TEST(short_run_is_called_one)
{
	ck_assert_int_eq(times_called_short(":"), 1);
	ck_assert_int_eq(times_called_short("sleep 0.5"), 0);
}
END_TEST

START_TEST(cachegrind_gives_loads_and_misses)
{
	int rc;

	if (access("/usr/bin/valgrind", X_OK))
		return; /* the refusal is another test's */
	rc = run(&cachegrind, "for i in 1 2 3; do :; done");
	ck_assert_msg(!rc, "%s", err.text);
	ck_assert_str_eq(p.type, "sh");
	ck_assert_str_eq(p.source, "cachegrind");
	ck_assert_double_eq(p.ll_bytes, 1 << 20);
	ck_assert_int_eq(p.threads, 1);
	ck_assert_int_eq(p.count, 1);
	ck_assert_double_nan(p.spread);
	ck_assert_double_gt(p.solo_s, 0.0);
	ck_assert_double_gt(p.utilization, 0.0);
	ck_assert_double_le(p.utilization, 1.0);
	ck_assert_double_gt(p.rate[SIGNAL_LOADS], p.rate[SIGNAL_LLC_REFS]);
	ck_assert_double_gt(p.rate[SIGNAL_LLC_REFS], p.rate[SIGNAL_LLC_MISSES]);
	ck_assert_double_gt(p.rate[SIGNAL_LLC_MISSES], 0.0);
	ck_assert_double_nan(p.rate[SIGNAL_MEM_BYTES]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("profile_run");
	TCase *fail = tcase_create("what cannot be profiled is refused and says why"),
	      *solo = tcase_create("a run is measured without touching the caller"),
	      *done = tcase_create("a profile has what its source counted");
	SRunner *r;
	int failed;

	tcase_add_test(fail, missing_valgrind_names_the_package);
	tcase_add_test(fail, failed_command_gives_no_profile);
	tcase_add_test(fail, missing_command_is_named);
	tcase_add_loop_test(fail, bad_options_are_refused_before_any_run, 0,
		(int)(sizeof(bad) / sizeof(bad[0])));
	tcase_add_loop_test(fail, source_that_does_not_work_is_refused_with_its_reason, 0, 2);
	suite_add_tcase(s, fail);
	tcase_add_test(solo, output_of_the_command_is_not_ours);
	tcase_add_test(solo, environment_is_set_for_that_run_only);
	tcase_add_test(solo, waiting_wrapper_is_no_width);
	tcase_add_test(solo, delay_of_gone_threads_is_kept);
	suite_add_tcase(s, solo);
	tcase_set_timeout(done, 60);
	tcase_add_test(done, short_run_is_called_one);
	tcase_add_test(done, cachegrind_gives_loads_and_misses);
	suite_add_tcase(s, done);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
