/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "spank/args.h"

static struct args args;
static struct errbuf err;

static void setup(void)
{
	args_init(&args);
	memset(&err, 0, sizeof(err));
}

START_TEST(no_argument_gives_the_documented_defaults)
{
	ck_assert(!args.default_on);
	ck_assert_str_eq(args.socket, "/run/coloc/colocd.sock");
	ck_assert_int_eq(args.timeout_ms, 250);
	ck_assert_uint_eq(args.minimum_uid, 0);
}
END_TEST

START_TEST(every_key_is_taken)
{
	ck_assert_int_eq(args_set(&args, "default=on", &err), 0);
	ck_assert_int_eq(args_set(&args, "socket=/tmp/s", &err), 0);
	ck_assert_int_eq(args_set(&args, "timeout_ms=1000", &err), 0);
	ck_assert_int_eq(args_set(&args, "minimum_uid=4294967293", &err), 0);
	ck_assert(args.default_on);
	ck_assert_str_eq(args.socket, "/tmp/s");
	ck_assert_int_eq(args.timeout_ms, 1000);
	ck_assert_uint_eq(args.minimum_uid, 4294967293u);
}
END_TEST

static const struct {
	const char *arg, *says;
} bad[] = {
	{"colour=blue", "unknown key 'colour'"},
	{"colour", "unknown key 'colour'"},
	{"", "unknown key ''"},
	{"=x", "unknown key ''"},
	{"defaults=on", "unknown key 'defaults'"},
	{"default", "'default': default takes on or off"},
	{"default=", "default takes"},
	{"default=maybe", "'default=maybe'"},
	{"socket=relative", "'socket=relative'"},
	{"socket=", "socket takes"},
	{"timeout_ms=0", "'timeout_ms=0'"},
	{"timeout_ms=60001", "'timeout_ms=60001'"},
	{"timeout_ms=-5", "'timeout_ms=-5'"},
	{"timeout_ms=1s", "'timeout_ms=1s'"},
	{"timeout_ms=", "timeout_ms takes"},
	{"minimum_uid=-1", "'minimum_uid=-1'"},
	{"minimum_uid=root", "'minimum_uid=root'"},
	{"minimum_uid=99999999999999999999", "minimum_uid takes"},
};

START_TEST(wrong_argument_is_refused_by_name)
{
	struct args before = args;

	ck_assert_int_eq(args_set(&args, bad[_i].arg, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, bad[_i].says) != NULL, "'%s' does not say %s", err.text,
		bad[_i].says);
	ck_assert_mem_eq(&before, &args, sizeof(args));
}
END_TEST

START_TEST(socket_path_longer_than_an_address_is_refused)
{
	char arg[200] = "socket=/";

	memset(arg + 8, 'x', 106);
	ck_assert_int_eq(args_set(&args, arg, &err), 0);
	arg[8 + 106] = 'x';
	ck_assert_int_eq(args_set(&args, arg, &err), -EINVAL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("spank args");
	TCase *t = tcase_create("the line in plugstack.conf is read key by key");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, no_argument_gives_the_documented_defaults);
	tcase_add_test(t, every_key_is_taken);
	tcase_add_loop_test(
		t, wrong_argument_is_refused_by_name, 0, (int)(sizeof(bad) / sizeof(bad[0])));
	tcase_add_test(t, socket_path_longer_than_an_address_is_refused);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
