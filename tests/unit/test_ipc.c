/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/ipc.h"

/* Own deadline of the tests; what may pass beyond it on a busy machine is five times as much. */
#define BUDGET_NS INT64_C(40000000)

static struct msg out, in;
static struct errbuf err;
static int pair[2] = {-1, -1};
static char dir[64], path[96];
static int listener = -1;

static int64_t in_time(void)
{
	return ipc_now_ns() + BUDGET_NS;
}

/* How long we were kept from a CPU since we began; 0 where the kernel does not tell. */
static int64_t kept_off_ns(void)
{
	long long ran = 0, waited = 0;
	FILE *f = fopen("/proc/thread-self/schedstat", "re");

	if (!f)
		return 0;
	if (fscanf(f, "%lld %lld", &ran, &waited) != 2)
		waited = 0;
	fclose(f);
	return waited;
}

static int64_t kept_off_before_ns;

/* What others' programs took is not ours: beside a compilation a call took 254 ms once. */
static void took_the_budget(int64_t since_ns)
{
	int64_t took = ipc_now_ns() - since_ns;

	ck_assert_int_ge(took, BUDGET_NS / 2);
	ck_assert_int_le(took - (kept_off_ns() - kept_off_before_ns), 5 * BUDGET_NS);
}

static void setup(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
	strcpy(dir, "/tmp/coloc-ipc-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/sock", dir);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	strcpy(addr.sun_path, path);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(listen(listener, 0), 0);
	err.text[0] = '\0';
	kept_off_before_ns = kept_off_ns();
}

static void teardown(void)
{
	close(pair[0]);
	close(pair[1]);
	close(listener);
	unlink(path);
	rmdir(dir);
}

START_TEST(a_message_goes_there_and_back)
{
	int fd = ipc_connect(path, in_time(), &err), peer;

	ck_assert_msg(fd >= 0, "%s", err.text);
	ck_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	ck_assert(fcntl(fd, F_GETFL) & O_NONBLOCK);
	peer = accept(listener, NULL, NULL);
	msg_init(&out, "ctl");
	msg_put(&out, "cmd", "ping");
	ck_assert_int_eq(ipc_send(fd, &out, in_time(), &err), 0);
	ck_assert_int_eq(ipc_recv(peer, &in, in_time(), &err), 0);
	ck_assert_uint_eq(in.len, out.len);
	ck_assert_str_eq(msg_get(&in, "cmd"), "ping");
	/* Two packets stay two. */
	ck_assert_int_eq(ipc_send(peer, &out, in_time(), &err), 0);
	msg_put(&out, "n", "2");
	ck_assert_int_eq(ipc_send(peer, &out, in_time(), &err), 0);
	ck_assert_int_eq(ipc_recv(fd, &in, in_time(), &err), 0);
	ck_assert_ptr_null(msg_get(&in, "n"));
	ck_assert_int_eq(ipc_recv(fd, &in, in_time(), &err), 0);
	ck_assert_str_eq(msg_get(&in, "n"), "2");
	close(fd);
	close(peer);
}
END_TEST

START_TEST(the_largest_message_fits)
{
	char value[MSG_PART + 1];

	memset(value, 'x', MSG_PART);
	value[MSG_PART] = '\0';
	msg_init(&out, "ctl_part");
	msg_put(&out, "json", value);
	ck_assert_int_eq(ipc_send(pair[0], &out, in_time(), &err), 0);
	ck_assert_int_eq(ipc_recv(pair[1], &in, in_time(), &err), 0);
	ck_assert_uint_eq(strlen(msg_get(&in, "json")), MSG_PART);
}
END_TEST

START_TEST(nobody_answers_in_time)
{
	int64_t start = ipc_now_ns();

	ck_assert_int_eq(ipc_recv(pair[0], &in, in_time(), &err), -ETIMEDOUT);
	ck_assert_ptr_nonnull(strstr(err.text, "recv: "));
	took_the_budget(start);
	/* A deadline that has passed does not wait at all, but takes what is there. */
	ck_assert_int_eq(ipc_recv(pair[0], &in, start, &err), -ETIMEDOUT);
	msg_init(&out, "ctl");
	ck_assert_int_eq(ipc_send(pair[1], &out, start, &err), 0);
	ck_assert_int_eq(ipc_recv(pair[0], &in, start, &err), 0);
}
END_TEST

START_TEST(nobody_reads_in_time)
{
	int64_t start;
	int rc;

	msg_init(&out, "ctl");
	for (int i = 0; i < 100000; i++) {
		start = ipc_now_ns();
		rc = ipc_send(pair[0], &out, in_time(), &err);
		if (rc < 0)
			break;
	}
	ck_assert_int_eq(rc, -ETIMEDOUT);
	took_the_budget(start);
}
END_TEST

START_TEST(nobody_accepts_in_time)
{
	int fd[16], n = 0;
	int64_t start = 0;

	/* A daemon that is stopped: its backlog fills, then connect() must give up. */
	while (n < 16) {
		start = ipc_now_ns();
		fd[n] = ipc_connect(path, in_time(), &err);
		if (fd[n] < 0)
			break;
		n++;
	}
	ck_assert_int_lt(n, 16);
	ck_assert_int_eq(fd[n], -ETIMEDOUT);
	ck_assert_ptr_nonnull(strstr(err.text, "no answer in time"));
	took_the_budget(start);
	while (n)
		close(fd[--n]);
}
END_TEST

START_TEST(a_daemon_that_is_not_there_is_known_at_once)
{
	char absent[128], too_long[200];
	int64_t start = ipc_now_ns();

	snprintf(absent, sizeof(absent), "%s/none", dir);
	ck_assert_int_eq(ipc_connect(absent, in_time(), &err), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, absent));
	close(listener); /* killed: the name stays */
	ck_assert_int_eq(ipc_connect(path, in_time(), &err), -ECONNREFUSED);
	listener = -1;
	memset(too_long, 'p', sizeof(too_long) - 1);
	too_long[sizeof(too_long) - 1] = '\0';
	ck_assert_int_eq(ipc_connect(too_long, in_time(), &err), -ENAMETOOLONG);
	ck_assert_int_lt(ipc_now_ns() - start, BUDGET_NS);
}
END_TEST

START_TEST(an_overfull_message_is_not_sent)
{
	msg_init(&out, "ctl");
	out.overflow = true;
	ck_assert_int_eq(ipc_send(pair[0], &out, in_time(), &err), -EMSGSIZE);
	ck_assert_int_eq(ipc_recv(pair[1], &in, ipc_now_ns(), &err), -ETIMEDOUT);
}
END_TEST

START_TEST(an_oversized_packet_is_refused)
{
	static char big[MSG_MAX + 100];

	ck_assert_int_eq(send(pair[0], big, sizeof(big), 0), (ssize_t)sizeof(big));
	ck_assert_int_eq(ipc_recv(pair[1], &in, in_time(), &err), -EMSGSIZE);
	ck_assert_str_eq(err.text, "message of 32868 bytes, limit 32768");
}
END_TEST

START_TEST(a_malformed_packet_is_refused)
{
	ck_assert_int_eq(send(pair[0], "hello", 5, 0), 5);
	ck_assert_int_eq(ipc_recv(pair[1], &in, in_time(), &err), -EPROTO);
}
END_TEST

START_TEST(the_end_of_the_peer_is_no_signal)
{
	msg_init(&out, "ctl");
	ck_assert_int_eq(ipc_send(pair[0], &out, in_time(), &err), 0);
	close(pair[0]);
	pair[0] = -1;
	/* What was sent before the end still arrives. */
	ck_assert_int_eq(ipc_recv(pair[1], &in, in_time(), &err), 0);
	ck_assert_int_eq(ipc_recv(pair[1], &in, in_time(), &err), -ECONNRESET);
	ck_assert_str_eq(err.text, "the other side closed the connection");
	ck_assert_int_eq(ipc_send(pair[1], &out, in_time(), &err), -EPIPE);
}
END_TEST

#define ADD(sentence, ...)                                                                         \
	do {                                                                                       \
		const TTest *const tests[] = {__VA_ARGS__};                                        \
		TCase *tc = tcase_create(sentence);                                                \
		tcase_add_checked_fixture(tc, setup, teardown);                                    \
		for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)                      \
			tcase_add_test(tc, tests[i]);                                              \
		suite_add_tcase(s, tc);                                                            \
	} while (0)

int main(void)
{
	Suite *s = suite_create("ipc");
	SRunner *sr;
	int failed;

	ADD("messages pass whole", a_message_goes_there_and_back, the_largest_message_fits);
	ADD("no call outlives its deadline", nobody_answers_in_time, nobody_reads_in_time,
		nobody_accepts_in_time, a_daemon_that_is_not_there_is_known_at_once);
	ADD("what is no message is refused", an_overfull_message_is_not_sent,
		an_oversized_packet_is_refused, a_malformed_packet_is_refused);
	ADD("a peer that ends does no harm", the_end_of_the_peer_is_no_signal);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
