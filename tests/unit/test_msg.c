/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/msg.h"

static struct msg m; /* 32 KiB: not on a small stack */

START_TEST(what_is_put_is_got)
{
	struct errbuf err = {"untouched"};

	msg_init(&m, "step_start");
	msg_put(&m, "name", "./app");
	msg_put(&m, "empty", "");
	msg_put(&m, "skipped", NULL);
	msg_put(&m, "set", "A=1=2\nnext line");
	msg_putf(&m, "job", "%u", 4294967293u);
	ck_assert(!m.overflow);
	ck_assert_int_eq(msg_check(&m, &err), 0);
	ck_assert_str_eq(err.text, "untouched");
	ck_assert_str_eq(msg_get(&m, "coloc"), MSG_VERSION);
	ck_assert_str_eq(msg_get(&m, "type"), "step_start");
	ck_assert_str_eq(msg_get(&m, "name"), "./app");
	ck_assert_str_eq(msg_get(&m, "empty"), "");
	ck_assert_str_eq(msg_get(&m, "set"), "A=1=2\nnext line");
	ck_assert_str_eq(msg_get(&m, "job"), "4294967293");
	ck_assert_ptr_null(msg_get(&m, "skipped"));
	ck_assert_ptr_null(msg_get(&m, "nam")); /* a key is whole */
	ck_assert_ptr_null(msg_get(&m, "A"));
}
END_TEST

START_TEST(repeated_keys_come_in_order)
{
	static const char *const want[] = {"OMP_NUM_THREADS=2", "", "X="};
	const char *v = NULL;
	int n = 0;

	msg_init(&m, "step_ok");
	msg_put(&m, "env", want[0]);
	msg_put(&m, "reason", "r");
	msg_put(&m, "env", want[1]);
	msg_put(&m, "environment", "other");
	msg_put(&m, "env", want[2]);
	while ((v = msg_get_next(&m, "env", v)))
		ck_assert_str_eq(v, want[n++]);
	ck_assert_int_eq(n, 3);
	ck_assert_ptr_null(msg_get_next(&m, "none", NULL));
}
END_TEST

struct bad_case {
	const char *bytes;
	size_t len;
	const char *says;
};

#define BAD(text, says)                                                                            \
	{                                                                                          \
		text, sizeof(text) - 1, says                                                       \
	}

static const struct bad_case bad[] = {
	BAD("", "message of 0 bytes does not end with NUL"),
	BAD("coloc=1\0type=ctl", "message of 16 bytes does not end with NUL"),
	BAD("coloc=2\0type=ctl\0", "protocol 'coloc=2', this side speaks coloc=1"),
	BAD("coloc=10\0type=ctl\0", "protocol 'coloc=10', this side speaks coloc=1"),
	BAD("type=ctl\0coloc=1\0", "protocol 'type=ctl', this side speaks coloc=1"),
	BAD("coloc=1\0cmd=ping\0", "second record 'cmd=ping' is not the type"),
	BAD("coloc=1\0", "message without a type"),
	BAD("coloc=1\0type=ctl\0ping\0", "record 2 'ping' is not key=value"),
	BAD("coloc=1\0type=ctl\0=ping\0", "record 2 '=ping' is not key=value"),
	BAD("coloc=1\0type=ctl\0\0", "record 2 '' is not key=value"),
	BAD("\0", "record 0 '' is not key=value"),
	BAD("coloc\0", "record 0 'coloc' is not key=value"),
};

START_TEST(malformed_table)
{
	const struct bad_case *c = &bad[_i];
	struct errbuf err = {""};

	memcpy(m.buf, c->bytes, c->len);
	m.len = c->len;
	m.overflow = false;
	ck_assert_int_eq(msg_check(&m, &err), -EPROTO);
	ck_assert_str_eq(err.text, c->says);
	ck_assert_int_eq(msg_check(&m, NULL), -EPROTO);
}
END_TEST

START_TEST(an_impossible_length_is_refused)
{
	msg_init(&m, "ctl");
	m.len = MSG_MAX + 1;
	ck_assert_int_eq(msg_check(&m, NULL), -EPROTO);
}
END_TEST

START_TEST(a_put_that_does_not_fit_is_marked)
{
	static char big[MSG_MAX];
	size_t len;

	memset(big, 'x', sizeof(big) - 1);
	msg_init(&m, "ctl_part");
	len = m.len;
	msg_put(&m, "json", big);
	ck_assert(m.overflow);
	ck_assert_uint_eq(m.len, len);
	/* Exactly full: key, '=', value and NUL. */
	msg_init(&m, "ctl_part");
	big[MSG_MAX - len - strlen("json") - 2] = '\0';
	msg_put(&m, "json", big);
	ck_assert(!m.overflow);
	ck_assert_uint_eq(m.len, MSG_MAX);
	ck_assert_int_eq(msg_check(&m, NULL), 0);
	msg_put(&m, "a", "");
	ck_assert(m.overflow);
	/* A formatted value has its own limit. */
	msg_init(&m, "ctl");
	msg_putf(&m, "x", "%2000d", 1);
	ck_assert(m.overflow);
	/* A piece of JSON as the daemon cuts it fits. */
	msg_init(&m, "ctl_part");
	memset(big, 'x', MSG_PART);
	big[MSG_PART] = '\0';
	msg_put(&m, "json", big);
	ck_assert(!m.overflow);
}
END_TEST

struct int_case {
	const char *value;
	int64_t want;
	int rc;
	const char *says;
};

static const struct int_case ints[] = {
	{"0", 0, 0, NULL},
	{"-5", -5, 0, NULL},
	{"100", 100, 0, NULL},
	{"101", 0, -EINVAL, "message: n=101 is outside -5..100"},
	{"-6", 0, -EINVAL, "message: n=-6 is outside -5..100"},
	{"", 0, -EINVAL, "message: n='' is not a number"},
	{"7x", 0, -EINVAL, "message: n='7x' is not a number"},
	{"0x7", 0, -EINVAL, "message: n='0x7' is not a number"},
	{"1.5", 0, -EINVAL, "message: n='1.5' is not a number"},
	{"99999999999999999999", 0, -EINVAL, "message: n='99999999999999999999' is not a number"},
};

START_TEST(int_table)
{
	const struct int_case *c = &ints[_i];
	struct errbuf err = {""};
	int64_t v = 77;

	msg_init(&m, "ctl");
	msg_put(&m, "n", c->value);
	ck_assert_int_eq(msg_get_int(&m, "n", -5, 100, &v, &err), c->rc);
	ck_assert_int_eq(v, c->rc ? 77 : c->want);
	if (c->says)
		ck_assert_str_eq(err.text, c->says);
	ck_assert_int_eq(msg_get_int(&m, "k", 0, 1, &v, &err), -ENOENT);
	ck_assert_str_eq(err.text, "message has no 'k'");
}
END_TEST

#define N(table) ((int)(sizeof(table) / sizeof((table)[0])))

int main(void)
{
	Suite *s = suite_create("msg");
	TCase *tc = tcase_create("records arrive as they were put");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, what_is_put_is_got);
	tcase_add_test(tc, repeated_keys_come_in_order);
	suite_add_tcase(s, tc);
	tc = tcase_create("a malformed packet is refused with its place");
	tcase_add_loop_test(tc, malformed_table, 0, N(bad));
	tcase_add_test(tc, an_impossible_length_is_refused);
	suite_add_tcase(s, tc);
	tc = tcase_create("an overfull message is never sent half");
	tcase_add_test(tc, a_put_that_does_not_fit_is_marked);
	suite_add_tcase(s, tc);
	tc = tcase_create("numbers are whole and within bounds");
	tcase_add_loop_test(tc, int_table, 0, N(ints));
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
