/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What users may take of the daemon's time: the clocks are the test's, an answer costs 1 ms, so
 * answers are counted, not timed. The peer's uid is the test's, too.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/ipc.h"
#include "common/msg.h"
#include "nodesvc/socket/socket.h"
#include "tests/unit/tmpdir.h"

#define COST_NS   INT64_C(1000000)
#define CLIENTS   8
#define FLOOD_MAX 400
/* The loop goes round without an answer so often before it counts as quiet. */
#define QUIET_TURNS 20

static struct tmpdir tmp;
static struct conf conf;
static struct socket d = {.conf = &conf};
static struct server *server;
static struct loop_source *turns;
static struct errbuf err;

static struct {
	int fd;
	uint32_t uid;
} client[CLIENTS];
static int n_clients, answers_of[CLIENTS];

static int64_t now_ns, used_ns;
static uint32_t next_uid;
static int answers, quiet;
static size_t answer_bytes; /* 0: none, and each client has another question at once */

int64_t __wrap_ipc_now_ns(void);
int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __wrap_ctl_run(const struct socket *of, uint32_t uid, const struct msg *in, char **ret_json,
	struct errbuf *why);

int64_t __wrap_ipc_now_ns(void)
{
	return now_ns;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	if (id != CLOCK_THREAD_CPUTIME_ID)
		return __real_clock_gettime(id, ts);
	ts->tv_sec = used_ns / 1000000000;
	ts->tv_nsec = used_ns % 1000000000;
	return 0;
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	int rc = __real_getsockopt(fd, level, name, value, len);

	if (rc == 0 && level == SOL_SOCKET && name == SO_PEERCRED)
		((struct ucred *)value)->uid = next_uid;
	return rc;
}

/* Each client always has a question waiting. */
static void ask(int i)
{
	static struct msg m;
	char drop[4096];

	while (recv(client[i].fd, drop, sizeof(drop), MSG_DONTWAIT) > 0)
		;
	msg_init(&m, "ctl");
	msg_put(&m, "cmd", "policies");
	ck_assert_int_gt(send(client[i].fd, m.buf, m.len, MSG_DONTWAIT | MSG_NOSIGNAL), 0);
}

int __wrap_ctl_run(const struct socket *of, uint32_t uid, const struct msg *in, char **ret_json,
	struct errbuf *why)
{
	(void)of, (void)in, (void)why;
	used_ns += COST_NS;
	quiet = 0;
	for (int i = 0; i < n_clients; i++)
		if (client[i].uid == uid) {
			answers_of[i]++;
			if (!answer_bytes)
				ask(i);
			break;
		}
	if (++answers == FLOOD_MAX)
		loop_stop(d.loop);
	*ret_json = answer_bytes ? malloc(answer_bytes + 1) : NULL;
	if (*ret_json) {
		memset(*ret_json, 'x', answer_bytes);
		(*ret_json)[answer_bytes] = '\0';
	}
	return 0;
}

static void on_turn(void *arg)
{
	(void)arg;
	if (++quiet == QUIET_TURNS)
		loop_stop(d.loop);
}

/* How many answers there are before nobody gets any more. */
static int serve(void)
{
	answers = quiet = 0;
	memset(answers_of, 0, sizeof(answers_of));
	ck_assert_int_eq(loop_run(d.loop), 0);
	return answers;
}

static void dial(uint32_t uid)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int i = n_clients++;

	strcpy(addr.sun_path, conf.socket);
	client[i].uid = next_uid = uid;
	client[i].fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(connect(client[i].fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	serve(); /* accepted with this uid */
}

static void setup(void)
{
	struct timespec ts;

	tmpdir_create(&tmp);
	__real_clock_gettime(CLOCK_MONOTONIC, &ts);
	now_ns = ts.tv_sec * INT64_C(1000000000);
	memset(&conf, 0, sizeof(conf));
	answer_bytes = 0;
	ck_assert_int_eq(loop_create(&d.loop, &err), 0);
	snprintf(conf.socket, sizeof(conf.socket), "%s/run/colocd.sock", tmp.dir);
	ck_assert_msg(server_create(&server, &d, &err) == 0, "%s", err.text);
	ck_assert_int_eq(loop_add_timer(d.loop, on_turn, NULL, &turns, &err), 0);
	loop_set_timer(turns, 1, 1);
	n_clients = 0;
}

static void teardown(void)
{
	for (int i = 0; i < n_clients; i++)
		close(client[i].fd);
	loop_remove(d.loop, turns);
	server_free(server);
	loop_free(d.loop);
	tmpdir_remove(&tmp);
}

START_TEST(a_user_has_what_he_saved_and_then_a_tenth)
{
	dial(1000);
	ask(0);
	/* 500 ms saved up are 50 answers of 1 ms at one part in ten; the last may overdraw. */
	ck_assert_int_eq(serve(), 51);
	ck_assert_int_eq(serve(), 0);
	now_ns += INT64_C(100000000);
	ck_assert_int_eq(serve(), 10);
}
END_TEST

START_TEST(root_is_answered_while_a_user_waits)
{
	dial(1000);
	ask(0);
	ck_assert_int_eq(serve(), 51);
	dial(0);
	ask(1);
	ck_assert_int_eq(serve(), FLOOD_MAX);
	ck_assert_int_eq(answers_of[0], 0);
	ck_assert_int_eq(answers_of[1], FLOOD_MAX);
}
END_TEST

START_TEST(all_users_together_have_a_third)
{
	for (uint32_t uid = 1000; uid < 1000 + CLIENTS; uid++)
		dial(uid);
	for (int i = 0; i < CLIENTS; i++)
		ask(i);
	/* 500 ms at one part in three. */
	ck_assert_int_eq(serve(), 167);
	now_ns += INT64_C(300000000);
	ck_assert_int_eq(serve(), 100);
}
END_TEST

/* All of an answer: how many bytes, and its end in @ret_end. */
static size_t take_answer(int i, struct msg *ret_end)
{
	size_t bytes = 0;

	for (int turns_left = 10000; turns_left > 0; turns_left--) {
		ssize_t n = recv(client[i].fd, ret_end->buf, sizeof(ret_end->buf), MSG_DONTWAIT);

		ck_assert_msg(n != 0, "the connection was closed");
		if (n < 0) {
			serve();
			continue;
		}
		ret_end->len = (size_t)n;
		ck_assert_int_eq(msg_check(ret_end, &err), 0);
		if (strcmp(msg_get(ret_end, "type"), "ctl_end") == 0)
			return bytes;
		bytes += strlen(msg_get(ret_end, "json"));
	}
	ck_abort_msg("the answer has no end");
	return 0;
}

START_TEST(an_answer_that_is_too_long_says_so)
{
	static struct msg end;

	dial(1000);
	answer_bytes = 3 << 20;
	ask(0);
	ck_assert_uint_eq(take_answer(0, &end), answer_bytes);
	ck_assert_str_eq(msg_get(&end, "rc"), "0");
	answer_bytes = 6 << 20;
	ask(0);
	ck_assert_uint_eq(take_answer(0, &end), 0);
	ck_assert_str_eq(msg_get(&end, "rc"), "1");
	ck_assert_str_eq(msg_get(&end, "error"),
		"the answer would be too long (6 MiB): ask for less at once");
	/* And goes on. */
	answer_bytes = 1 << 20;
	ask(0);
	ck_assert_uint_eq(take_answer(0, &end), answer_bytes);
}
END_TEST

START_TEST(root_is_told_of_everybody)
{
	static struct msg end;

	dial(0);
	answer_bytes = 20 << 20;
	ask(0);
	ck_assert_uint_eq(take_answer(0, &end), answer_bytes);
	ck_assert_str_eq(msg_get(&end, "rc"), "0");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("server");
	TCase *tc = tcase_create("questions without end get their share of time");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_user_has_what_he_saved_and_then_a_tenth);
	tcase_add_test(tc, root_is_answered_while_a_user_waits);
	tcase_add_test(tc, all_users_together_have_a_third);
	suite_add_tcase(s, tc);
	tc = tcase_create("answers of any length arrive, or say why not");
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, an_answer_that_is_too_long_says_so);
	tcase_add_test(tc, root_is_told_of_everybody);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
