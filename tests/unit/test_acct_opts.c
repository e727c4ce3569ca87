/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/report/acct.h"

#define NOW  INT64_C(1700000000) /* 2023-11-14T22:13:20Z; its midnight is 1699920000 */
#define USER 1000

static struct acct_opts opts;
static struct errbuf err;

static void setup(void)
{
	setenv("TZ", "UTC", 1);
	unsetenv("COLOCACCT_FORMAT");
	unsetenv("COLOC_SOCKET");
	memset(&opts, 0, sizeof(opts));
	*err.text = '\0';
}

static void teardown(void)
{
	acct_opts_done(&opts);
}

static int parse(uid_t uid, const char *a, const char *b, const char *c)
{
	char *argv[] = {(char *)"colocacct", (char *)a, (char *)b, (char *)c, NULL};
	int argc = 1 + (a != NULL) + (b != NULL) + (c != NULL);

	return acct_opts_parse(&opts, argc, argv, uid, NOW, &err);
}

START_TEST(root_reads_the_store)
{
	ck_assert_int_eq(parse(0, NULL, NULL, NULL), 0);
	ck_assert_str_eq(opts.store, "/var/lib/coloc");
	ck_assert_str_eq(
		opts.filter, "{\"from_ns\":1699920000000000000,\"to_ns\":1700000000999999999}");
	ck_assert_int_eq(opts.format.n, 9);
}
END_TEST

START_TEST(user_asks_the_daemon)
{
	ck_assert_int_eq(parse(USER, "-j12,13.0", NULL, NULL), 0);
	ck_assert_ptr_null(opts.store);
	ck_assert_str_eq(opts.socket, "/run/coloc/colocd.sock");
	ck_assert_str_eq(opts.filter,
		"{\"jobs\":[\"12\",\"13.0\"],\"from_ns\":0,\"to_ns\":1700000000999999999}");
}
END_TEST

START_TEST(root_with_socket_asks_the_daemon)
{
	ck_assert_int_eq(parse(0, "--socket=/x", NULL, NULL), 0);
	ck_assert_ptr_null(opts.store);
	ck_assert_str_eq(opts.socket, "/x");
}
END_TEST

START_TEST(environment_names_the_socket)
{
	setenv("COLOC_SOCKET", "/y", 1);
	ck_assert_int_eq(parse(USER, NULL, NULL, NULL), 0);
	ck_assert_str_eq(opts.socket, "/y");
}
END_TEST

/* What the environment names is that service's, not what lies where a store usually does. */
START_TEST(environment_names_the_socket_for_root_too)
{
	setenv("COLOC_SOCKET", "/y", 1);
	ck_assert_int_eq(parse(0, NULL, NULL, NULL), 0);
	ck_assert_ptr_null(opts.store);
	ck_assert_str_eq(opts.socket, "/y");
	acct_opts_done(&opts);
	ck_assert_int_eq(parse(0, "--store=.", NULL, NULL), 0);
	ck_assert_str_eq(opts.store, ".");
}
END_TEST

/* 9999-12-31 is sacct's "for ever": in nanoseconds it does not fit. */
START_TEST(time_beyond_nanoseconds_is_the_last)
{
	ck_assert_int_eq(parse(0, "-S1970-01-01", "-E9999-12-31", NULL), 0);
	ck_assert_str_eq(opts.filter, "{\"from_ns\":0,\"to_ns\":9223372035999999999}");
	acct_opts_done(&opts);
	ck_assert_int_eq(parse(0, "-Snow-1", "-Enow+99999999999weeks", NULL), 0);
	ck_assert_str_eq(
		opts.filter, "{\"from_ns\":1699999999000000000,\"to_ns\":9223372035999999999}");
}
END_TEST

START_TEST(user_may_name_himself)
{
	ck_assert_int_eq(parse(USER, "-u1000", "-sr", NULL), 0);
	ck_assert_str_eq(opts.filter,
		"{\"uids\":[1000],\"states\":[\"RUNNING\"],\"from_ns\":1700000000000000000,"
		"\"to_ns\":1700000000999999999}");
}
END_TEST

START_TEST(user_may_not_name_others)
{
	ck_assert_int_eq(parse(USER, "-u1000,1001", NULL, NULL), -EINVAL);
	ck_assert_str_eq(err.text, "--user: only root sees the rows of other users");
	ck_assert_int_eq(parse(USER, "-a", NULL, NULL), -EINVAL);
	ck_assert_str_eq(err.text, "--allusers: only root sees the rows of other users");
	/* Of a store that he can read he sees what is in it. */
	ck_assert_int_eq(parse(USER, "-a", "--store=.", NULL), 0);
}
END_TEST

START_TEST(all_users_lifts_user)
{
	ck_assert_int_eq(parse(0, "-u1000", "-a", "-j1"), 0);
	ck_assert_str_eq(
		opts.filter, "{\"jobs\":[\"1\"],\"from_ns\":0,\"to_ns\":1700000000999999999}");
}
END_TEST

START_TEST(last_format_wins)
{
	ck_assert_int_eq(parse(0, "-l", "-oUser", NULL), 0);
	ck_assert_int_eq(opts.format.n, 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("acct_opts");
	TCase *t = tcase_create("root reads the store, users ask the daemon for their own");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, root_reads_the_store);
	tcase_add_test(t, user_asks_the_daemon);
	tcase_add_test(t, root_with_socket_asks_the_daemon);
	tcase_add_test(t, environment_names_the_socket);
	tcase_add_test(t, environment_names_the_socket_for_root_too);
	tcase_add_test(t, time_beyond_nanoseconds_is_the_last);
	tcase_add_test(t, user_may_name_himself);
	tcase_add_test(t, user_may_not_name_others);
	tcase_add_test(t, all_users_lifts_user);
	tcase_add_test(t, last_format_wins);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
