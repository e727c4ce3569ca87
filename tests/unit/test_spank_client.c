/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/ipc.h"
#include "spank/client.h"

#define MS INT64_C(1000000)
/* Deadlines are held to the millisecond on a quiet machine; this is for a busy one. */
#define SLACK_MS 400

static char dir[] = "/tmp/coloc-client.XXXXXX";
static char path[64];
static int listener;
static pid_t server;
static struct client client;
static struct msg m, reply;
static struct errbuf err;

static void setup(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/sock", dir);
	strcpy(addr.sun_path, path);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(listen(listener, 4), 0);
	server = 0;
	msg_init(&m, "task_start");
	memset(&err, 0, sizeof(err));
}

static void teardown(void)
{
	client_done(&client);
	if (server > 0) {
		kill(server, SIGKILL);
		waitpid(server, NULL, 0);
	}
	close(listener);
	unlink(path);
	rmdir(dir);
}

/* Answers @answers messages of each connection, then closes it. */
static void serve(int answers)
{
	server = fork();
	if (server != 0)
		return;
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		for (int i = 0; i < answers; i++) {
			if (ipc_recv(fd, &m, ipc_now_ns() + 10000 * MS, NULL) < 0)
				break;
			msg_init(&reply, "task_ok");
			ipc_send(fd, &reply, ipc_now_ns() + 1000 * MS, NULL);
		}
		close(fd);
	}
}

static int64_t ask_ms(int *ret_rc)
{
	int64_t start = ipc_now_ns();

	*ret_rc = client_ask(&client, &m, &reply, &err);
	return (ipc_now_ns() - start) / MS;
}

START_TEST(answered_question_keeps_the_connection)
{
	int rc, fd;

	serve(2);
	client_init(&client, path, 2000);
	ask_ms(&rc);
	ck_assert_int_eq(rc, 0);
	ck_assert_str_eq(msg_get(&reply, "type"), "task_ok");
	fd = client.fd;
	ask_ms(&rc);
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(client.fd, fd);
}
END_TEST

START_TEST(silent_server_costs_the_budget_once)
{
	int64_t ms;
	int rc;

	client_init(&client, path, 100);
	ms = ask_ms(&rc);
	ck_assert_int_eq(rc, -ETIMEDOUT);
	ck_assert_int_ge(ms, 90); /* all but what is kept for the rest of the delay */
	ck_assert_int_le(ms, 100 + SLACK_MS);
	ck_assert_int_eq(client.budget_ns, 0);
	/* Nothing is left for a second one. */
	ms = ask_ms(&rc);
	ck_assert_int_eq(rc, -ETIMEDOUT);
	ck_assert_int_le(ms, SLACK_MS / 2);
}
END_TEST

START_TEST(full_backlog_costs_no_more_than_the_budget)
{
	struct client waiting[16];
	int64_t ms;
	int rc;

	for (int i = 0; i < 16; i++) {
		client_init(&waiting[i], path, 1);
		client_tell(&waiting[i], &m, NULL);
	}
	client_init(&client, path, 100);
	ms = ask_ms(&rc);
	ck_assert_int_eq(rc, -ETIMEDOUT);
	ck_assert_int_le(ms, 100 + SLACK_MS);
	for (int i = 0; i < 16; i++)
		client_done(&waiting[i]);
}
END_TEST

START_TEST(time_between_questions_is_not_waiting)
{
	struct timespec nap = {.tv_nsec = 150 * MS};
	int rc;

	serve(2);
	client_init(&client, path, 100 + SLACK_MS);
	ask_ms(&rc);
	ck_assert_int_eq(rc, 0);
	client.budget_ns = 100 * MS;
	nanosleep(&nap, NULL);
	ask_ms(&rc);
	ck_assert_int_eq(rc, 0);
	ck_assert_int_gt(client.budget_ns, 0);
}
END_TEST

START_TEST(lost_connection_is_opened_anew)
{
	int rc;

	serve(1);
	client_init(&client, path, 2000);
	for (int i = 0; i < 3; i++) {
		ask_ms(&rc);
		ck_assert_msg(rc == 0, "question %d: %s", i, err.text);
	}
}
END_TEST

START_TEST(nobody_there_is_told_at_once)
{
	int64_t ms;
	int rc;

	unlink(path);
	client_init(&client, path, 2000);
	ms = ask_ms(&rc);
	ck_assert_int_eq(rc, -ENOENT);
	ck_assert_int_le(ms, SLACK_MS);
	ck_assert_ptr_nonnull(strstr(err.text, path));
}
END_TEST

START_TEST(telling_needs_no_budget_and_waits_for_nobody)
{
	int64_t start;

	client_init(&client, path, 1);
	client.budget_ns = 0;
	start = ipc_now_ns();
	ck_assert_int_eq(client_tell(&client, &m, &err), 0);
	ck_assert_int_le((ipc_now_ns() - start) / MS, SLACK_MS);
}
END_TEST

START_TEST(forked_child_does_not_talk)
{
	int status;
	pid_t pid;

	client_init(&client, path, 100);
	pid = fork();
	if (pid == 0)
		_exit(client_tell(&client, &m, NULL) == -EPERM ? 0 : 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("spank client");
	TCase *t = tcase_create("a step waits for the service no longer than its budget");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, answered_question_keeps_the_connection);
	tcase_add_test(t, silent_server_costs_the_budget_once);
	tcase_add_test(t, full_backlog_costs_no_more_than_the_budget);
	tcase_add_test(t, time_between_questions_is_not_waiting);
	tcase_add_test(t, lost_connection_is_opened_anew);
	tcase_add_test(t, nobody_there_is_told_at_once);
	tcase_add_test(t, telling_needs_no_budget_and_waits_for_nobody);
	tcase_add_test(t, forked_child_does_not_talk);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
