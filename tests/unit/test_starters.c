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
	{"/usr/sbin/slurmstepd", STARTER_LAUNCHER},
	{"/usr/sbin/slurmstepd-wlm (deleted)", STARTER_LAUNCHER},
	{"/opt/mpich/bin/mpiexec.hydra", STARTER_LAUNCHER},
	{"/usr/bin/numactl", STARTER_LAUNCHER},
	{"/usr/bin/python3.11", STARTER_INTERPRETER},
	{"/usr/bin/perl5.36.0", STARTER_INTERPRETER},
	{"/usr/lib/R/bin/exec/R", STARTER_INTERPRETER},
	{"octave-cli-8.4.0", STARTER_INTERPRETER},
	{"tclsh8.6", STARTER_INTERPRETER},
	{"/opt/conda/bin/torchrun", STARTER_LAUNCHER},
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

static uint64_t script_of(const char *first, const char *second, const char *third, const char *cwd)
{
	char *argv[] = {(char *)first, (char *)second, (char *)third};

	return starter_script(third ? 3 : second ? 2 : 1, argv, cwd);
}

START_TEST(an_interpreters_program_is_its_script)
{
	uint64_t it = script_of("python3", "/a/train.py", "--lr=1", "/x");

	ck_assert(it == script_of("python3", "/a/train.py", "--lr=2", "/y"));
	ck_assert(it == script_of("python3", "/a/train.py", NULL, NULL));
	ck_assert(it != script_of("python3", "/a/test.py", NULL, "/x"));
	ck_assert(it != script_of("python3", "-u", "/a/train.py", "/x"));
	/* A name that is looked for here is another one there. */
	ck_assert(script_of("perl", "a.pl", "1", "/x") == script_of("perl", "a.pl", "2", "/x"));
	ck_assert(script_of("perl", "a.pl", NULL, "/x") != script_of("perl", "a.pl", NULL, "/y"));
	ck_assert(script_of("python3", "-c", "import a", "/x") !=
		  script_of("python3", "-c", "import b", "/x"));
}
END_TEST

START_TEST(a_launchers_program_is_all_it_is_told)
{
	ck_assert(script_of("env", "A=1", "./a", "/x") == script_of("env", "A=1", "./a", "/x"));
	ck_assert(script_of("env", "A=1", "./a", "/x") != script_of("env", "A=1", "./b", "/x"));
	ck_assert(script_of("env", "A=1", "./a", "/x") != script_of("env", "A=1", "./a", "/y"));
	/* Where an argument ends is part of it. */
	ck_assert(script_of("time", "ab", "c", "/x") != script_of("time", "a", "bc", "/x"));
	ck_assert(script_of("time", "", NULL, "/x") != script_of("time", NULL, NULL, "/x"));
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
	tcase_add_test(t, an_interpreters_program_is_its_script);
	tcase_add_test(t, a_launchers_program_is_all_it_is_told);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
