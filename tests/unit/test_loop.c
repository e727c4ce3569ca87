/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "nodesvc/base/loop.h"
#include "nodesvc/base/log.h"

static struct loop *loop;
static struct loop_source *other;
static int count;

static void setup(void)
{
	count = 0;
	ck_assert_int_eq(loop_create(&loop, NULL), 0);
}

static void teardown(void)
{
	loop_free(loop);
}

static void stop_after_three(void *arg)
{
	(void)arg;
	if (++count == 3)
		loop_stop(loop);
}

START_TEST(periodic_timer_goes_on_until_stopped)
{
	struct loop_source *t;

	ck_assert_int_eq(loop_add_timer(loop, stop_after_three, NULL, &t, NULL), 0);
	ck_assert_int_eq(loop_set_timer(t, 1, 1), 0);
	ck_assert_int_eq(loop_run(loop), 0);
	ck_assert_int_eq(count, 3);
	loop_remove(loop, t);
}
END_TEST

static void remove_other(int fd, uint32_t events, void *arg)
{
	(void)fd;
	(void)events;
	(void)arg;
	count++;
	loop_remove(loop, other);
	other = NULL;
	loop_stop(loop);
}

/* Both are ready in the same round; the first removes the second: it must not run. */
START_TEST(source_removed_in_the_same_round_is_not_called)
{
	struct loop_source *a, *b;
	int one[2], two[2];

	ck_assert_int_eq(pipe(one), 0);
	ck_assert_int_eq(pipe(two), 0);
	ck_assert_int_eq(write(one[1], "x", 1), 1);
	ck_assert_int_eq(write(two[1], "x", 1), 1);
	ck_assert_int_eq(loop_add_fd(loop, one[0], EPOLLIN, remove_other, NULL, &a, NULL), 0);
	ck_assert_int_eq(loop_add_fd(loop, two[0], EPOLLIN, remove_other, NULL, &b, NULL), 0);
	other = b;
	ck_assert_int_eq(loop_run(loop), 0);
	ck_assert_int_eq(count, 1);
	loop_remove(loop, a);
	close(one[0]);
	close(one[1]);
	close(two[0]);
	close(two[1]);
}
END_TEST

static void on_signal(int signo, void *arg)
{
	(void)arg;
	count = signo;
	loop_stop(loop);
}

START_TEST(signals_arrive_in_the_loop)
{
	struct loop_source *s;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	ck_assert_int_eq(loop_add_signals(loop, &set, on_signal, NULL, &s, NULL), 0);
	raise(SIGHUP);
	ck_assert_int_eq(loop_run(loop), 0);
	ck_assert_int_eq(count, SIGHUP);
	loop_remove(loop, s);
}
END_TEST

START_TEST(readiness_reaches_the_notify_socket)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	char dir[] = "/tmp/coloc-notify-XXXXXX", buf[64] = "";
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	ck_assert_ptr_nonnull(mkdtemp(dir));
	strcpy(addr.sun_path, dir);
	strcat(addr.sun_path, "/s");
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	setenv("NOTIFY_SOCKET", addr.sun_path, 1);
	ck_assert_int_eq(notify_send("READY=1"), 0);
	ck_assert_int_eq(recv(fd, buf, sizeof(buf) - 1, 0), 7);
	ck_assert_str_eq(buf, "READY=1");
	unsetenv("NOTIFY_SOCKET");
	ck_assert_int_eq(notify_send("READY=1"), 0);
	setenv("WATCHDOG_USEC", "3000000", 1);
	ck_assert_int_eq(notify_watchdog_ms(), 1500);
	close(fd);
	unlink(addr.sun_path);
	rmdir(dir);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("loop");
	SRunner *sr = srunner_create(s);
	TCase *tc;
	int failed;

	tc = tcase_create("timers and signals are delivered");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, periodic_timer_goes_on_until_stopped);
	tcase_add_test(tc, signals_arrive_in_the_loop);
	suite_add_tcase(s, tc);
	tc = tcase_create("a callback may remove any source");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, source_removed_in_the_same_round_is_not_called);
	suite_add_tcase(s, tc);
	tc = tcase_create("the service manager is told");
	tcase_add_test(tc, readiness_reaches_the_notify_socket);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
