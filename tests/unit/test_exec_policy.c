/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A policy that is a program (exec:COMMAND), as users run it: what it may say, and what is refused
 * with which words. tests/check-exec-policy.sh compares an example with the policy it restates.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/cli.h"

#define TWO "{\"jobs\": [{\"id\": \"A\"}, {\"id\": \"B\"}]}"

/* Runs `colocsim plan` on @views with the shell text @program as policy. */
static int plan(const char *program, const char *views, const char *options)
{
	char line[4096];

	snprintf(line, sizeof(line),
		"cat >policy-$$.sh <<'X'\n%s\nX\n"
		"printf '%%s' '%s' | \"$B/colocsim\" plan --policy=\"exec:sh policy-$$.sh\" %s "
		"--topology='pack:2 core:2' --jobs=- --json; rc=$?; rm policy-$$.sh; (exit $rc)",
		program, views, options);
	return cli_shell(line);
}

/* Each answers its first view with the text, then listens on. */
static const struct {
	const char *answer, *text;
	int rc;
} answers[] = {
	{"{\"jobs\": []}", "\"coreset\": \"0-3\"", 0},
	{"{\"jobs\": [{\"id\": \"A\", \"coreset\": \"0-1\"}, {\"id\": \"B\", \"coreset\": "
	 "\"2-3\"}]}",
		"\"moves\": 2", 0},
	{"{\"jobs\": [{\"id\": \"B\", \"coreset\": \"3\", \"why\": \"because\"}, {\"id\": \"A\", "
	 "\"coreset\": \"0\"}], \"score\": 1.5}",
		"\"score\": 1.5", 0},
	{"{\"jobs\": [], \"slices\": [{\"jobs\": [\"A\"], \"ms\": 7}, {\"jobs\": [\"B\"], \"ms\": "
	 "9}]}",
		"\"jobs\": [ \"B\" ], \"ms\": 9", 0},
	{"{\"jobs\": [{\"id\": \"A\", \"coreset\": \"0-1\", \"role\": \"donor\"}, {\"id\": \"B\", "
	 "\"coreset\": \"2-3\", \"role\": \"donee\", \"donors\": [\"A\"], \"lent_from\": "
	 "[{\"coreset\": \"0\", \"weight\": 5}]}]}",
		"\"weight\": 5", 0},
	{"{\"jobs\": [{\"id\": \"A\", \"coreset\": \"0-1\"}, {\"id\": \"B\", \"coreset\": "
	 "\"2-3\"}],"
	 " \"experiments\": [{\"job\": \"A\", \"cores\": 1, \"ms\": 9, \"coreset\": \"1\"}]}",
		"\"ms\": 9", 0},
	{"{\"jobs\": [{\"id\": \"A\", \"coreset\": \"0-1\", \"cluster\": 1}, {\"id\": \"B\", "
	 "\"coreset\": \"2-3\", \"cluster\": 0}], \"clusters\": [{\"ways\": 0.75}, "
	 "{\"ways\": 0.25, \"bandwidth\": 0.5}]}",
		"\"bandwidth\": 0.5", 0},
	{"{\"jobs\": [{\"id\": \"A\"}], \"clusters\": [{\"ways\": 2}]}", "clusters.ways: 2", 1},
	{"{\"jobs\": [{\"id\": \"A\"}], \"clusters\": [{\"ways\": 0.5}]}", "1 clusters", 1},
	{"{\"jobs\": [{\"id\": \"A\", \"coreset\": \"0-2\"}, {\"id\": \"B\", \"coreset\": "
	 "\"2-3\"}]}",
		"job B: shares CPUs with a job outside its group", 1},
	{"{\"jobs\": [{\"id\": \"A\", \"coreset\": \"7\"}]}",
		"job A: its coreset leaves the envelope", 1},
	{"{\"jobs\": [{\"id\": \"A\", \"coreset\": \"x\"}]}",
		"answer 1: job A: coreset: \"x\": list of CPUs", 1},
	{"{\"jobs\": [{\"id\": \"Z\"}]}", "answer 1: jobs[0].id: \"Z\": a job of the view", 1},
	{"{\"jobs\": [{\"coreset\": \"1\"}]}", "answer 1: jobs[0]: id is missing", 1},
	{"{\"jobs\": [{\"id\": \"A\"}, {\"id\": \"A\"}]}", "answer 1: job A: id: twice", 1},
	{"{\"jobs\": [{\"id\": \"A\", \"role\": \"boss\"}]}", "job A: role: \"boss\"", 1},
	{"{\"jobs\": [{\"id\": \"A\", \"colour\": 1}]}", "job A: unknown key 'colour'", 1},
	{"{\"jobs\": [{\"id\": \"A\", \"donors\": [\"B\"]}]}", "as many entries as donors", 1},
	{"{\"jobs\": {}}", "jobs: {}: list expected", 1},
	{"{\"jobs\": [], \"colour\": 1}", "unknown key 'colour'", 1},
	{"{\"jobs\": [], \"slices\": [{\"jobs\": [\"Q\"], \"ms\": 1}]}", "slices[0].jobs: \"Q\"",
		1},
	{"{\"jobs\": [], \"slices\": [{\"jobs\": [\"A\"]}]}", "slice 0 is empty", 1},
	{"{\"jobs\": [], \"experiments\": [{\"job\": \"A\", \"cores\": 0}]}",
		"experiments[0].cores: 0", 1},
	{"{\"jobs\": [], \"score\": \"much\"}", "score: \"much\"", 1},
	{"{}", "answer 1: jobs is missing", 1},
	{"{\"refused\": \"not today\"}", "view: not today", 1},
	{"{\"refused\": \"no\", \"jobs\": []}", "nothing else expected beside it", 1},
	{"[]", "answer 1: plan: []: object expected", 1},
	{"hello", "answer 1: no JSON object: 'hello'", 1},
	{"{\"jobs\": []} {}", "answer 1: no JSON object: '{\"jobs\": []} {}'", 1},
	{"{\"jobs\": [", "answer 1: no JSON object", 1},
	{"", "answer 1: no JSON object: ''", 1},
};

START_TEST(answers_are_read_strictly)
{
	char program[1024];
	int rc;

	snprintf(program, sizeof(program),
		"read -r head; read -r view; cat <<'Y'\n%s\nY\nread -r view", answers[_i].answer);
	rc = plan(program, TWO, "");
	ck_assert_msg(rc == answers[_i].rc, "%s: %d: %s", answers[_i].answer, rc, cli_output);
	ck_assert_msg(strstr(cli_output, answers[_i].text) != NULL, "'%s' wanted, '%s'",
		answers[_i].text, cli_output);
}
END_TEST

static const struct {
	const char *program, *options, *text;
} failures[] = {
	{"exit 3", "", "answer 1: the program ended with status 3"},
	{"read -r head; read -r view; exit 0", "", "answer 1: the program ended with status 0"},
	{"kill -9 $$", "", "answer 1: the program "},
	{"sleep 60", "--policy-timeout=0.2", "answer 1: none within 0.2 s"},
	{"read -r head; read -r view; printf '{\"jobs\"'; sleep 60", "--policy-timeout=0.2",
		"answer 1: none within 0.2 s"},
	{"read -r head; read -r view; exec tr '\\0' x </dev/zero", "", "longer than 1048576 bytes"},
	{"read -r head; read -r view; printf '{\"jobs\": []}\\n{\"jobs\": []}\\n'; sleep 60", "",
		"answer 1: a line that nobody asked for"},
};

START_TEST(a_program_that_fails_is_told_and_ended)
{
	int rc = plan(failures[_i].program, TWO, failures[_i].options);

	ck_assert_msg(rc == 1, "%s: %d: %s", failures[_i].program, rc, cli_output);
	ck_assert_msg(strstr(cli_output, failures[_i].text) != NULL, "'%s' wanted, '%s'",
		failures[_i].text, cli_output);
}
END_TEST

/* What it is told of 1024 cores is more than a pipe holds: the end is seen while it is written. */
START_TEST(a_program_that_ends_before_it_has_heard_all_is_told)
{
	int rc = cli_shell("printf '%s' '" TWO "' | \"$B/colocsim\" plan --policy='exec:exit 3' "
			   "--topology='pack:16 core:64' --jobs=- --json");

	ck_assert_msg(rc == 1, "%d: %s", rc, cli_output);
	ck_assert_msg(strstr(cli_output, "answer 1: the program ended with status 3") != NULL,
		"got: %s", cli_output);
}
END_TEST

/* Then the kernel keeps no exit status for anybody. */
START_TEST(an_ignored_sigchld_makes_no_status_up)
{
	int rc = cli_shell("printf '%s' '" TWO "' | env --ignore-signal=CHLD \"$B/colocsim\" plan "
			   "--policy='exec:exit 3' --topology='pack:2 core:2' --jobs=- --json");

	ck_assert_msg(rc == 1, "%d: %s", rc, cli_output);
	ck_assert_msg(
		strstr(cli_output, "answer 1: the program ended\n") != NULL, "got: %s", cli_output);
}
END_TEST

/* What it reads: the machine first, then views that `colocsim plan` reads, with seed and version.
 */
START_TEST(it_reads_the_machine_then_views)
{
	int rc = plan("tee seen | while read -r line; do\n"
		      "case $line in *coloc_policy*) ;; *) echo '{\"jobs\": []}' ;; esac\n"
		      "done",
		"{\"views\": [{\"seed\": 7, \"jobs\": [{\"id\": \"A\"}]}, {\"jobs\": [{\"id\": "
		"\"A\"}]}]}",
		"--share-smt");

	ck_assert_msg(rc == 0, "%d: %s", rc, cli_output);
	rc = cli_shell("cat seen; sed 1d seen | while read -r view; do echo \"$view\" | "
		       "\"$B/colocsim\" plan --policy=fair --topology='pack:2 core:2' --jobs=- "
		       "--json || echo unread; done; rm seen");
	ck_assert_int_eq(rc, 0);
	ck_assert_ptr_nonnull(strstr(cli_output,
		"{\"coloc_policy\":1,\"domain\":\"package\",\"share_smt\":true,"
		"\"multi_node_independent\":false,\"cores\":[{\"pus\":\"0\",\"domain\":0,"
		"\"package\":0"));
	ck_assert_ptr_nonnull(strstr(cli_output, "\"seed\":7"));
	ck_assert_ptr_nonnull(strstr(cli_output, "\"version\":1"));
	/* The second view has where the first plan put it. */
	ck_assert_ptr_nonnull(strstr(cli_output, "\"current\":{\"coreset\":\"0-3\"}"));
	ck_assert_ptr_null(strstr(cli_output, "unread"));
}
END_TEST

static const struct {
	const char *args, *text;
	int rc;
} usages[] = {
	{"plan --policy=exec: --topology=core:2 --jobs=/dev/null --json", "a command expected", 2},
	{"plan --policy=fair --policy-timeout=0 --topology=core:2 --jobs=/dev/null", "=0: 0.001",
		2},
	{"eval --population=lira --policies=exec: --combos=1", "a command expected", 2},
	{"eval --population=lira --policies=fair --policy-timeout=x", "=x: 0.001 to 3600", 2},
	{"run --policy-timeout=9999 x.yaml", "--policy-timeout=9999", 2},
	{"replay --policy-timeout= x", "--policy-timeout=:", 2},
	{"eval --population=lira --policies='exec:exit 4' --combos=1 --workers=1",
		"answer 1: the program ended with status 4", 1},
};

START_TEST(bad_values_are_named)
{
	int rc = cli_run("colocsim", usages[_i].args);

	ck_assert_msg(rc == usages[_i].rc, "%s: %d: %s", usages[_i].args, rc, cli_output);
	ck_assert_msg(strstr(cli_output, usages[_i].text) != NULL, "'%s' wanted, '%s'",
		usages[_i].text, cli_output);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("exec_policy");
	TCase *tc;
	SRunner *r;
	int failed;

	tc = tcase_create("a plan in JSON is read strictly, and what it leaves out stays");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(
		tc, answers_are_read_strictly, 0, (int)(sizeof(answers) / sizeof(answers[0])));
	suite_add_tcase(s, tc);
	tc = tcase_create("one that ends, hangs or says too much is told and ended");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, a_program_that_fails_is_told_and_ended, 0,
		(int)(sizeof(failures) / sizeof(failures[0])));
	tcase_add_test(tc, a_program_that_ends_before_it_has_heard_all_is_told);
	tcase_add_test(tc, an_ignored_sigchld_makes_no_status_up);
	suite_add_tcase(s, tc);
	tc = tcase_create("it is told the machine, then views as colocsim plan reads them");
	tcase_add_test(tc, it_reads_the_machine_then_views);
	suite_add_tcase(s, tc);
	tc = tcase_create("bad values are named");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, bad_values_are_named, 0, (int)(sizeof(usages) / sizeof(usages[0])));
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
