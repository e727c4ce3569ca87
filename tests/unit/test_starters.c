/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>

#include "common/starters.h"

static const struct {
	const char *path;
	enum starter is;
} CASES[] = {
	{"/usr/bin/bash", STARTER_LAUNCHER},
	{"sh", STARTER_LAUNCHER},
	{"/bin/bash (deleted)", STARTER_LAUNCHER},
	{"/opt/mpich/bin/mpiexec.hydra", STARTER_LAUNCHER},
	{"/usr/bin/numactl", STARTER_LAUNCHER},
	{"/usr/bin/python3.11", STARTER_INTERPRETER},
	{"/usr/bin/perl5.36.0", STARTER_INTERPRETER},
	{"/usr/lib/R/bin/exec/R", STARTER_INTERPRETER},
	{"octave-cli-8.4.0", STARTER_INTERPRETER},
	{"tclsh8.6", STARTER_INTERPRETER},
	{"/home/u/sh/solver", STARTER_NONE},
	{"bashful", STARTER_NONE},
	{"", STARTER_NONE},
	{"/", STARTER_NONE},
	{"7", STARTER_NONE},
	{"/x/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/bash",
		STARTER_LAUNCHER},
	{"bashaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", STARTER_NONE},
};

START_TEST(executable_is_known_by_its_name)
{
	ck_assert_msg(starter_of(CASES[_i].path) == CASES[_i].is, "%s", CASES[_i].path);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("starters");
	TCase *t = tcase_create("who starts others is known by name, whatever the release");
	SRunner *r;
	int failed;

	tcase_add_loop_test(
		t, executable_is_known_by_its_name, 0, (int)(sizeof(CASES) / sizeof(CASES[0])));
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
