/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `colocsim plan` as a program: exit statuses, and refusals that name job, field and value.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/cli.h"

/* Runs the shell text with $P = colocsim plan. */
static int run(const char *command)
{
	char line[4096];

	snprintf(line, sizeof(line), "P=\"$B/colocsim plan\"; %s;", command);
	return cli_shell(line);
}

static int plan(const char *policy, const char *views)
{
	char command[2048];

	snprintf(command, sizeof(command),
		"printf '%%s' '%s' | $P --policy=%s --topology='pack:2 core:4' --jobs=- --json",
		views, policy);
	return run(command);
}

static const struct {
	const char *policy, *views, *text;
	int rc;
} cases[] = {
	{"fair", "{\"jobs\": [{\"id\": \"A\"}]}", "\"coreset\": \"0-7\"", 0},
	{"fair", "{}", "\"jobs\": [ ]", 0},
	{"fair", "{\"views\": []}", "\"plans\": [ ]", 0},
	{"fair", "{\"views\": [{\"jobs\": [{\"id\": \"A\"}]}, {}]}", "\"plans\": [ {", 0},
	{"fair", "{\"jobs\": [{}]}", "jobs[0]: id is missing", 1},
	{"fair", "{\"jobs\": [{\"id\": 7}]}", "jobs[0].id: 7: text expected", 1},
	{"fair", "{\"jobs\": [{\"id\": \"A\", \"colour\": 1}]}", "job A: unknown key 'colour'", 1},
	{"fair", "{\"jobs\": [{\"id\": \"A\", \"wanted_s\": 1, \"served_s\": 2}]}",
		"job A: served_s: more than wanted_s", 1},
	{"fair", "{\"jobs\": [{\"id\": \"A\", \"served_s\": 2}]}",
		"job A: served_s: more than wanted_s", 1},
	{"fair", "{\"colour\": 1}", "unknown key 'colour'", 1},
	{"fair", "{\"jobs\": [{\"id\": \"A\", \"cores\": 2.5}]}", "job A: cores: 2.5: whole number",
		1},
	{"fair", "{\"jobs\": [{\"id\": \"A\", \"cores\": 9}]}", "job A: cores: 9, but its envelope",
		1},
	{"fair", "{\"jobs\": [{\"id\": \"A\", \"envelope\": \"0-99\"}]}", "job A: envelope", 1},
	{"fair", "{\"jobs\": [{\"id\": \"A\", \"envelope\": \"a\"}]}", "job A: envelope: \"a\"", 1},
	{"fair", "{\"jobs\": [{\"id\": \"A\", \"signals\": {\"loads_per_s\": -1}}]}",
		"job A: loads_per_s: -1", 1},
	{"fair", "{\"jobs\": [{\"id\": \"A\", \"signals\": {\"loads\": 1}}]}",
		"job A: unknown key 'loads'", 1},
	{"fair", "{\"jobs\": [{\"id\": \"A\", \"utilization\": 1.5}]}", "job A: utilization: 1.5",
		1},
	{"fair", "{\"jobs\": [{\"id\": \"A\", \"speed\": {\"0\": 1}}]}", "job A: unknown key '0'",
		1},
	{"fair", "{\"jobs\": [{\"id\": \"A\", \"speed\": {\"4\": 0}}]}", "speed at 4 cores: 0", 1},
	{"fair", "{\"jobs\": [{\"id\": \"A\", \"priority\": \"mid\"}]}", "job A: priority: \"mid\"",
		1},
	{"fair", "{\"jobs\": [{\"id\": \"A\"}, {\"id\": \"A\"}]}", "job A: id: twice", 1},
	{"fair", "{\"events\": [{\"type\": \"lunch\"}]}", "events[0].type: \"lunch\"", 1},
	{"fair", "{\"events\": [{\"type\": \"arrival\"}]}", "events[0]: job is missing", 1},
	{"fair", "{\"views\": [{}, {\"seed\": 1.5}]}", "view 1: seed: 1.5", 1},
	{"fair", "[1]", "an object expected", 1},
	{"fair", "{\"jobs\": [", "text ends too early", 1},
	{"fair", "{} x", "no JSON: ", 1},
	{"lira", "{\"jobs\": [{\"id\": \"A\"}]}", "job A: loads_per_s is missing, policy", 1},
	{"nosuch", "{}", "unknown policy", 2},
	{"lira,tie=most", "{}", "option tie=most", 2},
};

START_TEST(views_are_read_strictly)
{
	int rc = plan(cases[_i].policy, cases[_i].views);

	ck_assert_msg(rc == cases[_i].rc, "%s: %d: %s", cases[_i].views, rc, cli_output);
	ck_assert_msg(strstr(cli_output, cases[_i].text) != NULL, "'%s' wanted, '%s'",
		cases[_i].text, cli_output);
}
END_TEST

START_TEST(usage_errors_exit_2)
{
	static const char *const commands[] = {
		"$P",
		"$P --policy=fair --topology=core:2",
		"$P --policy=fair --topology=core:2 --jobs=/dev/null extra",
		"$P --policy=fair --topology=core:2 --jobs=/dev/null --domain=rack",
		"$P --frobnicate",
	};
	int rc = run(commands[_i]);

	ck_assert_msg(rc == 2, "%s: %d: %s", commands[_i], rc, cli_output);
}
END_TEST

START_TEST(what_cannot_be_read_exits_1)
{
	static const char *const commands[] = {
		"$P --policy=fair --topology=core:2 --jobs=/nonexistent --json",
		"$P --policy=fair --topology=/nonexistent.xml --jobs=/dev/null --json",
		"$P --policy=fair --topology=banana --jobs=/dev/null --json",
		"echo '{}' | $P --policy=fair --topology=core:2 --domain=l3 --jobs=- --json",
	};
	int rc = run(commands[_i]);

	ck_assert_msg(rc == 1, "%s: %d: %s", commands[_i], rc, cli_output);
}
END_TEST

/* The same as from a file; a command may look at one before it reads it. */
START_TEST(every_file_may_be_a_pipe)
{
	static const char *const commands[] = {
		"cat $S/views.json | $P --policy=fair --topology=core:2 --json --jobs=/dev/stdin",
		"cat $S/views.json | $P --policy=fair --topology=core:2 --json --jobs=-",
		"$P --policy=fair --topology=core:2 --json --jobs=- <$S/views.json",
		("cat $S/tx2.xml | $P --policy=fair --topology=/dev/stdin --jobs=$S/views.json "
		 "--json"),
		"cat $S/das.yaml | $B/colocsim run /dev/stdin",
		"cat $S/das.yaml | $B/colocsim run -",
		"$B/colocsim run - <$S/das.yaml",
		"$B/colocsim run - <$S/run.yaml",
		"cat $S/run.yaml | $B/colocsim run --record=$S/other /dev/stdin",
		"cat $S/trace | $B/colocsim replay /dev/stdin",
		"cat $S/trace | $P /dev/stdin",
	};
	static const char prepare[] =
		"S=${TMPDIR:-/tmp}/test_colocsim_plan.$PPID; mkdir -p $S; trap 'rm -rf $S' EXIT; "
		"D=${COLOC_SRCDIR:-$(dirname \"$0\")/../..}; "
		"echo '{\"jobs\": [{\"id\": \"A\"}, {\"id\": \"B\"}]}' >$S/views.json; "
		"cp $D/tests/golden/tx2.xml $S; "
		"sed 's/^runs: .*/runs: 1/; s/iterations: [0-9]*/iterations: 4/' "
		"$D/contrib/workloads/das-heat.yaml >$S/das.yaml; "
		"printf '%s\\n' 'schema: 1' 'machine: {topology: \"pack:2 core:2\"}' 'policies: "
		"[fair]' "
		"'seconds: 2' "
		"'programs: [{name: a, from: measured/dgemm}]' 'jobs: [{program: a, threads: 2}]' "
		">$S/run.yaml; "
		"$B/colocsim run --record=$S/trace $S/run.yaml >/dev/null; ";
	char line[2048];
	int rc;

	snprintf(line, sizeof(line), "%s %s", prepare, commands[_i]);
	rc = run(line);
	ck_assert_msg(rc == 0, "%s: %d: %s", commands[_i], rc, cli_output);
}
END_TEST

START_TEST(explain_carries_the_figures_only_when_asked)
{
	static const char view[] =
		"echo '{\"jobs\": [{\"id\": \"A\", \"signals\": {\"loads_per_s\": 3}}]}' | "
		"$P --policy=lira --topology=core:2 --jobs=- --json";
	char command[512];

	ck_assert_int_eq(run(view), 0);
	ck_assert_ptr_nonnull(strstr(cli_output, "\"explain\": { }"));
	snprintf(command, sizeof(command), "%s --explain", view);
	ck_assert_int_eq(run(command), 0);
	ck_assert_ptr_nonnull(strstr(cli_output, "\"ema\": { \"A\": 3 }"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("colocsim plan");
	TCase *tc;
	SRunner *r;
	int failed;

	tc = tcase_create("views are read strictly, refusals name job, field and value");
	tcase_set_timeout(tc, 30);
	tcase_add_loop_test(
		tc, views_are_read_strictly, 0, (int)(sizeof(cases) / sizeof(cases[0])));
	suite_add_tcase(s, tc);
	tc = tcase_create("exit status: 0 ok, 1 failed, 2 usage");
	tcase_add_loop_test(tc, usage_errors_exit_2, 0, 5);
	tcase_add_loop_test(tc, what_cannot_be_read_exits_1, 0, 4);
	suite_add_tcase(s, tc);
	tc = tcase_create("every file may be a pipe");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, every_file_may_be_a_pipe, 0, 11);
	suite_add_tcase(s, tc);
	tc = tcase_create("figures are printed on demand");
	tcase_add_test(tc, explain_carries_the_figures_only_when_asked);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
