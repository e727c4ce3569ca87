/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that counts calls, where there is nothing to count with: a file tree that has no
 * tracefs. With a kernel's: tests/live/calls.sh.
 */
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nodesvc/counters/callworker.h"
#include "tests/unit/fstree.h"

static struct fstree tree;
static struct errbuf err;

static void setup(void)
{
	fstree_make(&tree);
}

static void teardown(void)
{
	fstree_remove(&tree);
}

/* Until it has said all and is gone. */
static void read_to_end(struct callworker *w, struct call_answer *ret)
{
	struct pollfd p = {.fd = callworker_fd(w), .events = POLLIN};
	struct call_answer a;
	int rc = 0;

	while (rc >= 0) {
		ck_assert_int_eq(poll(&p, 1, 60000), 1);
		rc = callworker_take(w, &a);
		if (rc == 1)
			*ret = a;
	}
	ck_assert_int_eq(rc, -EPIPE);
}

START_TEST(without_tracefs_it_says_so_and_ends)
{
	struct call_request r = {.op = CALL_READ};
	struct call_answer a = {.kind = CALL_MADE};
	struct callworker *w;

	ck_assert_msg(callworker_start(&w, &tree.root, "/run/test", &err) == 0, "%s", err.text);
	ck_assert_int_gt(callworker_pid(w), 0);
	read_to_end(w, &a);
	ck_assert_int_eq(a.kind, CALL_READY);
	ck_assert_int_eq(a.rc, -ENOTSUP);
	ck_assert_str_eq(a.text, "this kernel has no tracefs");
	ck_assert_int_eq(callworker_send(w, &r, -1), -EPIPE);
	callworker_stop(w);
	callworker_stop(NULL);
}
END_TEST

/* It closes its socket some time before it has ended: with many events open, seconds. */
START_TEST(one_that_ends_late_is_waited_for_at_the_next_start)
{
	struct callworker *w;
	int status = 0;
	siginfo_t ended;
	pid_t pid = 0;

	for (int i = 0; i < 100 && !WIFSTOPPED(status); i++) {
		ck_assert_int_eq(callworker_start(&w, &tree.root, "/run/test", &err), 0);
		pid = callworker_pid(w);
		kill(pid, SIGSTOP);
		ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
		callworker_stop(w);
	}
	ck_assert(WIFSTOPPED(status));
	kill(pid, SIGCONT);
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
	ck_assert_int_eq(callworker_start(&w, &tree.root, "/run/test", &err), 0);
	ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
	callworker_stop(w);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("callworker");
	TCase *t = tcase_create("where nothing can be counted the process ends");
	SRunner *r;
	int failed;

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, without_tracefs_it_says_so_and_ends);
	tcase_add_test(t, one_that_ends_late_is_waited_for_at_the_next_start);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
