/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spank/opts.h"

static struct opts line, env;
static struct errbuf err;

static void setup(void)
{
	memset(&line, 0, sizeof(line));
	memset(&env, 0, sizeof(env));
	memset(&err, 0, sizeof(err));
}

static const struct {
	enum opt_id id;
	const char *text, *kept;
} good[] = {
	{OPT_COLOC, "on", "1"},
	{OPT_COLOC, "OFF", "0"},
	{OPT_COLOC, NULL, "1"},
	{OPT_COLOC, "", "1"},
	{OPT_COLOC, "(null)", "1"},
	{OPT_POLICY, "lira", "lira"},
	{OPT_POLICY, "lira,tie=missbal,a.b-c=0.5", "lira,tie=missbal,a.b-c=0.5"},
	{OPT_POLICY, "lira,dry_run=yes", "lira"},
	{OPT_POLICY, "lira,dry_run=yes,tie=missbal", "lira,tie=missbal"},
	{OPT_PRIORITY, "high", "high"},
	{OPT_TYPE, "gmx_mpi-2.1+x", "gmx_mpi-2.1+x"},
	{OPT_QOS, "1", "1"},
	{OPT_QOS, "0.001", "0.001"},
	{OPT_QOS, ".5", ".5"},
	{OPT_MIN_CORES, "1", "1"},
	{OPT_MIN_CORES, "65536", "65536"},
	{OPT_OMP, NULL, "1"},
	{OPT_OMP, "", "1"},
	{OPT_OMP, "(null)", "1"},
	{OPT_OMP, "no", "0"},
	{OPT_EXCLUDE, NULL, "1"},
	{OPT_VERBOSE, "0", "0"},
	{OPT_VERBOSE, "3", "3"},
};

START_TEST(good_value_is_kept)
{
	int rc = opts_set(&line, good[_i].id, good[_i].text, &err);

	ck_assert_msg(rc == 0, "%s: %s", good[_i].text ? good[_i].text : "(none)", err.text);
	ck_assert_str_eq(opts_get(&line, &env, good[_i].id), good[_i].kept);
}
END_TEST

static const struct {
	enum opt_id id;
	const char *text;
	int rc;
	const char *says;
} bad[] = {
	{OPT_COLOC, "maybe", -EINVAL, "'maybe'"},
	{OPT_POLICY, NULL, -ENOENT, "unknown policy ''"},
	{OPT_POLICY, "(null)", -ENOENT, "unknown policy '(null)'"},
	{OPT_POLICY, "bogus", -ENOENT, "unknown policy 'bogus'"},
	{OPT_POLICY, "lir", -ENOENT, "unknown policy 'lir'"},
	{OPT_POLICY, "liraa", -ENOENT, "unknown policy 'liraa'"},
	{OPT_POLICY, "list", -ENOENT, "unknown policy 'list'"},
	{OPT_POLICY, "", -ENOENT, "unknown policy ''"},
	{OPT_POLICY, "lira,", -EINVAL, "policy option ''"},
	{OPT_POLICY, "lira,tie", -EINVAL, "'tie' is not key=value"},
	{OPT_POLICY, "lira,tie=", -EINVAL, "'tie=' is not key=value"},
	{OPT_POLICY, "lira,=x", -EINVAL, "'=x' is not key=value"},
	{OPT_POLICY, "lira,Tie=x", -EINVAL, "'Tie=x' has a malformed key"},
	{OPT_POLICY, "lira,tie=a b", -EINVAL, "'tie=a b'"},
	{OPT_POLICY, "lira,dry_run=maybe", -EINVAL, "'dry_run=maybe'"},
	{OPT_PRIORITY, "middle", -EINVAL, "priority 'middle'"},
	{OPT_TYPE, "", -EINVAL, "type ''"},
	{OPT_TYPE, "a/b", -EINVAL, "type 'a/b'"},
	{OPT_TYPE, "-x", -EINVAL, "type '-x'"},
	{OPT_TYPE, "..", -EINVAL, "type '..'"},
	{OPT_QOS, "0", -EINVAL, "qos '0'"},
	{OPT_QOS, "1.0001", -EINVAL, "qos '1.0001'"},
	{OPT_QOS, "nan", -EINVAL, "qos 'nan'"},
	{OPT_QOS, "0x1", -EINVAL, "qos '0x1'"},
	{OPT_QOS, "1e-1", -EINVAL, "qos '1e-1'"},
	{OPT_QOS, "0.5.5", -EINVAL, "qos '0.5.5'"},
	{OPT_QOS, "", -EINVAL, "qos ''"},
	{OPT_QOS, ".", -EINVAL, "qos '.'"},
	{OPT_MIN_CORES, "0", -EINVAL, "min-cores '0'"},
	{OPT_MIN_CORES, "+1", -EINVAL, "min-cores '+1'"},
	{OPT_MIN_CORES, " 1", -EINVAL, "min-cores ' 1'"},
	{OPT_MIN_CORES, "1x", -EINVAL, "min-cores '1x'"},
	{OPT_MIN_CORES, "99999999999999999999", -EINVAL, "min-cores"},
	{OPT_VERBOSE, "4", -EINVAL, "verbose '4'"},
	{OPT_VERBOSE, "-1", -EINVAL, "verbose '-1'"},
};

START_TEST(bad_value_is_refused_by_name)
{
	ck_assert_int_eq(opts_set(&line, bad[_i].id, bad[_i].text, &err), bad[_i].rc);
	ck_assert_msg(strstr(err.text, bad[_i].says) != NULL, "'%s' does not say %s", err.text,
		bad[_i].says);
	ck_assert_ptr_null(opts_get(&line, &env, bad[_i].id));
}
END_TEST

START_TEST(overlong_value_is_refused)
{
	char text[OPT_VALUE_MAX + 1];

	memset(text, 'a', OPT_VALUE_MAX);
	text[OPT_VALUE_MAX] = '\0';
	for (int id = 0; id < OPT_COUNT; id++)
		ck_assert_int_eq(opts_set(&line, (enum opt_id)id, text, &err), -EINVAL);
}
END_TEST

START_TEST(refusal_keeps_the_earlier_value)
{
	ck_assert_int_eq(opts_set(&line, OPT_POLICY, "lira,dry_run=yes", &err), 0);
	ck_assert_int_lt(opts_set(&line, OPT_POLICY, "fair,x", &err), 0);
	ck_assert_str_eq(opts_get(&line, &env, OPT_POLICY), "lira");
	ck_assert(opts_dry_run(&line, &env));
}
END_TEST

START_TEST(setting_twice_changes_nothing)
{
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(opts_set(&line, OPT_POLICY, "lira,dry_run=yes,k=v", &err), 0);
	ck_assert_str_eq(opts_get(&line, &env, OPT_POLICY), "lira,k=v");
	ck_assert_int_eq(opts_set(&line, OPT_POLICY, "lira", &err), 0);
	ck_assert(!opts_dry_run(&line, &env));
}
END_TEST

START_TEST(line_wins_over_environment)
{
	opts_set(&env, OPT_POLICY, "fair,dry_run=yes", &err);
	opts_set(&env, OPT_TYPE, "env", &err);
	opts_set(&line, OPT_POLICY, "lira", &err);
	ck_assert_str_eq(opts_get(&line, &env, OPT_POLICY), "lira");
	ck_assert_str_eq(opts_get(&line, &env, OPT_TYPE), "env");
	ck_assert(!opts_dry_run(&line, &env));
}
END_TEST

/* "-" not given. Columns: --coloc, another option, COLOC, another variable, default. */
static const struct {
	const char *coloc, *other, *env_coloc, *env_other;
	bool by_default, on;
} ons[] = {
	{"-", "-", "-", "-", false, false},
	{"-", "-", "-", "-", true, true},
	{"on", "-", "-", "-", false, true},
	{"off", "-", "-", "-", true, false},
	{"-", "1", "-", "-", false, true},
	{"off", "1", "-", "-", false, false},
	{"off", "1", "on", "1", true, false},
	{"on", "-", "off", "-", false, true},
	{"-", "1", "off", "-", false, true},
	{"-", "-", "off", "1", true, false},
	{"-", "-", "on", "-", false, true},
	{"-", "-", "-", "1", false, true},
	{"-", "-", "-", "0", false, false},
};

START_TEST(off_wins_and_any_option_implies_on)
{
	if (*ons[_i].coloc != '-')
		opts_set(&line, OPT_COLOC, ons[_i].coloc, &err);
	if (*ons[_i].other != '-')
		opts_set(&line, OPT_EXCLUDE, ons[_i].other, &err);
	if (*ons[_i].env_coloc != '-')
		opts_set(&env, OPT_COLOC, ons[_i].env_coloc, &err);
	if (*ons[_i].env_other != '-')
		opts_set(&env, OPT_EXCLUDE, ons[_i].env_other, &err);
	ck_assert_int_eq(opts_on(&line, &env, ons[_i].by_default), ons[_i].on);
}
END_TEST

START_TEST(policies_are_listed_and_cut_to_size)
{
	char names[1024], small[8];

	opts_policies(names, sizeof(names), ", ");
	ck_assert_ptr_nonnull(strstr(names, "none"));
	ck_assert_ptr_nonnull(strstr(names, ", lira"));
	opts_policies(small, sizeof(small), ", ");
	ck_assert_uint_lt(strlen(small), sizeof(small));
}
END_TEST

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

int main(void)
{
	Suite *s = suite_create("spank opts");
	TCase *values = tcase_create("values are checked and kept as text");
	TCase *both = tcase_create("command line and environment come together");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(values, setup, NULL);
	tcase_add_loop_test(values, good_value_is_kept, 0, COUNT(good));
	tcase_add_loop_test(values, bad_value_is_refused_by_name, 0, COUNT(bad));
	tcase_add_test(values, overlong_value_is_refused);
	tcase_add_test(values, refusal_keeps_the_earlier_value);
	tcase_add_test(values, setting_twice_changes_nothing);
	tcase_add_test(values, policies_are_listed_and_cut_to_size);
	suite_add_tcase(s, values);
	tcase_add_checked_fixture(both, setup, NULL);
	tcase_add_test(both, line_wins_over_environment);
	tcase_add_loop_test(both, off_wins_and_any_option_implies_on, 0, COUNT(ons));
	suite_add_tcase(s, both);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
