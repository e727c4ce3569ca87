/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program itself over a store made here; outputs are tests/golden/acct-NAME.txt, rewritten by
 * UPDATE_GOLDEN=1 and reviewed as code.
 */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "common/msg.h"
#include "nodesvc/record/record.h"
#include "tests/unit/cli.h"
#include "tests/unit/hostile.h"
#include "tests/unit/tmpdir.h"

#define S     INT64_C(1000000000)
#define START (INT64_C(1700000000) * S) /* 2023-11-14T22:13:20Z */
#define NONE  UINT32_C(0xfffffffe)

static struct tmpdir tmp;

/* A job of two steps, one measured, with its history, and an older record of the same step. */
static void fill_measured(struct record *r)
{
	struct step_figures figures = STEP_FIGURES_NONE;
	struct step_row row = {.job_id = 50,
		.array_task_id = NONE,
		.node = "n07",
		.name = "<script>alert(\"x\")</script>&'",
		.program = "pagerank",
		.uid = 1000,
		.user = "ada",
		.account = "phys",
		.partition = "other",
		.policy = "lira",
		.cores = 1,
		.coreset = "1",
		.coreset_history = "0-1;1",
		.partners = "51.0",
		.start_ns = START - 9000 * S,
		.end_ns = START - 8900 * S,
		.rebinds = 1,
		.tasks = 2,
		.exit_code = 0,
		.state = STEP_COMPLETED};
	struct signal signal[SIGNAL_COUNT] = {[SIGNAL_UTILIZATION] = {0.5, PROVENANCE_OS}};
	struct record_thin thin = {0};
	struct errbuf err = {""};

	ck_assert_int_eq(record_step_put(r, &row, &err), 0);
	row.row_id = 0;
	row.start_ns += 1000 * S;
	row.end_ns += 1000 * S;
	figures.ntt_share = 1.25;
	figures.ntt_full = 2.5;
	figures.stp_share = 1.625;
	figures.stp_full = 0.8125;
	figures.antt_share = 1.2;
	figures.antt_full = 2.4;
	figures.gain_placement = 1.5;
	figures.gain_placement_lo = 1.4;
	figures.gain_placement_hi = 1.625;
	figures.gain_basis = "app";
	figures.solo_speed = 26400.5;
	figures.shared_speed = 10560.25;
	figures.speed_unit = "iterations";
	figures.speed_basis = "alone";
	figures.phases = 2;
	figures.moves = 3;
	figures.windows = 14;
	figures.gain_launch = 3.25;
	figures.gain_launch_lo = 3;
	figures.gain_launch_hi = 3.5;
	figures.launch = "control";
	figures.launches = 9;
	figures.gap_ns = 2500000000;
	figures.gap_from_ns = START - 7950 * S;
	figures.gap_to_ns = START - 7940 * S;
	row.figures = &figures;
	ck_assert_int_eq(record_step_put(r, &row, &err), 0);
	ck_assert_int_eq(record_coreset(r, row.row_id, row.start_ns, "0-1", "alone: all", &err), 0);
	ck_assert_int_eq(
		record_coreset(r, row.row_id, row.start_ns + 20 * S, "1", "<b>51.0 came", &err), 0);
	ck_assert_int_eq(record_phase(r, row.row_id, row.start_ns + 50 * S, "\"><i>0.5", &err), 0);
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(record_sample(r, row.row_id, &thin, row.start_ns + i * 20 * S,
					 signal, &err),
			1);
	row.row_id = 0;
	row.step_id = 1;
	row.figures = NULL;
	row.start_ns += 100 * S;
	row.end_ns += 100 * S;
	row.exit_code = 3 << 8;
	row.state = STEP_FAILED;
	row.partners = "51.0,52.0";
	ck_assert_int_eq(record_step_put(r, &row, &err), 0);
}

static void fill(void)
{
	struct step_row row[] = {
		{.job_id = 41,
			.array_task_id = NONE,
			.node = "n1",
			.name = "stencil",
			.program = "stencil",
			.uid = 1000,
			.user = "ada",
			.account = "phys",
			.partition = "coloc",
			.policy = "lira",
			.cores = 1,
			.coreset = "0",
			.coreset_history = "0-1;0",
			.partners = "42.0",
			.start_ns = START,
			.end_ns = START + 75 * S,
			.rebinds = 1,
			.tasks = 1,
			.exit_code = 0,
			.state = STEP_COMPLETED},
		{.job_id = 42,
			.array_task_id = NONE,
			.node = "n1",
			.name = "a-name-that-is-rather-long",
			.program = "hog",
			.uid = 1001,
			.user = "bob",
			.account = "chem",
			.partition = "coloc",
			.policy = "lira",
			.req_policy = "fair",
			.reason = "lira rules this node",
			.cores = 1,
			.coreset = "1",
			.coreset_history = "1",
			.partners = "41.0",
			.start_ns = START + 10 * S,
			.end_ns = START + 90070 * S,
			.tasks = 2,
			.exit_code = 2 << 8,
			.state = STEP_FAILED},
		{.job_id = 44,
			.step_id = 0xfffffffb,
			.array_job_id = 43,
			.array_task_id = 7,
			.node = "n1",
			.name = "bad\nname\033[31m|\xc3\xa9",
			.uid = 1000,
			.user = "ada",
			.policy = "none",
			.reason = "bound by the user",
			.start_ns = START + 20 * S,
			.end_ns = START + 21 * S,
			.exit_code = 9,
			.state = STEP_FAILED,
			.dry_run = true},
		{.job_id = 45,
			.array_task_id = NONE,
			.node = "n1",
			.name = "lost",
			.uid = 1000,
			.user = "ada",
			.policy = "lira",
			.start_ns = START + 30 * S,
			.end_ns = START + 40 * S,
			.exit_code = -1,
			.state = STEP_UNKNOWN},
	};
	struct record *r = NULL;
	struct errbuf err = {""};

	ck_assert_msg(
		record_open(&r, tmpdir_path(&tmp, "coloc.db"), false, &err) == 0, "%s", err.text);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		ck_assert_msg(record_step_put(r, &row[i], &err) == 0, "%s", err.text);
	fill_measured(r);
	record_close(r);
}

static void setup(void)
{
	setenv("TZ", "UTC", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	unsetenv("COLOCACCT_FORMAT");
	unsetenv("COLOC_SOCKET");
	unsetenv("SLURM_TIME_FORMAT");
	tmpdir_create(&tmp);
	fill();
}

static void teardown(void)
{
	tmpdir_remove(&tmp);
}

static int run(const char *args)
{
	return cli_run("colocacct", args);
}

static int run_store(const char *args)
{
	char all[800];

	snprintf(all, sizeof(all), "--store=%s %s", tmp.dir, args);
	return run(all);
}

static const struct {
	const char *name, *args;
} GOLDEN[] = {
	{"default", "-S 2023-11-14"},
	{"noheader", "-n -j 41"},
	{"none", "-j 99"},
	{"widths", "-j 41,42 -o jobid%4,jobname%10,JobName%-8,user%1"},
	{"long", "-S 2023-11-14 -l"},
	{"all", "-S 2023-11-14 -P -o ALL"},
	{"parsable", "-S 2023-11-14 -p"},
	{"parsable2", "-S 2023-11-14 -P --delimiter=,, -n -o JobID,State,ExitCode,Elapsed,End"},
	{"array", "-j 43_7.batch -P -o JobID,JobIDRaw,Reason,DryRun"},
	{"window", "-S 2023-11-14T22:15:00 -E 2023-11-15 -P"},
	{"state", "-j 41,42,43,45 -s F,un -S 11/14/23 -E now -P"},
	{"user", "-S 2023-11-14 -u 1001 -P"},
	{"json", "-S 2023-11-14 --json"},
	{"json-none", "-j 99 --json"},
	{"csv", "-S 2023-11-14 --csv"},
	{"csv-none", "-j 99 --csv"},
	{"figures", "-j 50.0 -P -o "
		    "JobID,SoloSpeed,SharedSpeed,SpeedUnit,SpeedBasis,NTTShare,NTT,STPShare,"
		    "STP,ANTTShare,ANTT,Gain,GainLaunch,GainBasis,Windows,Moves,Phases,"
		    "Launch,Launches,Unmeasured,UnmeasuredFrom,UnmeasuredTo"},
	{"units-small", "-j 50.0 -P --units=m -o SoloSpeed"},
	{"units", "-j 50.0 -P --noconvert --units=k -o SoloSpeed,SharedSpeed"},
	{"noconvert", "-j 50.0 -P --noconvert -o SoloSpeed,SharedSpeed"},
	{"brief", "-j 50 --brief"},
	{"duplicates", "-j 50 -D -P -o JobID,Start,NTT"},
	{"newest", "-j 50 -P -o JobID,Start,NTT"},
	{"job", "-j 50 -X -P -o JobID,JobIDRaw,Start,End,Elapsed,Rebinds,NTasks,Moves,State,"
		"ExitCode,Coreset,Partners,NTT,NodeList"},
	{"accounts", "-S 2023-11-14 -A chem,none -P -o JobID,Account"},
	{"partition", "-S 2023-11-14 -r other -P -o JobID,Partition"},
	{"nodelist", "-S 2023-11-14 -N 'n[06-08,11]' -P -o JobID,NodeList"},
	{"name", "-S 2023-11-14 --name=lost,stencil -P -o JobID,JobName"},
	{"truncate", "-j 42 -S 2023-11-14T22:14:00 -E 2023-11-14T22:15:00 -T -P "
		     "-o JobID,Start,End,Elapsed"},
	{"json-history", "-j 50.0 --json --history"},
	{"helpformat", "--helpformat"},
	{"help", "--help"},
	{"usage", "--usage"},
};

START_TEST(output_is_golden)
{
	ck_assert_msg(run_store(GOLDEN[_i].args) == 0, "%s", cli_output);
	cli_assert_golden("acct", GOLDEN[_i].name);
}
END_TEST

static const struct {
	const char *args, *text;
	int rc;
} REFUSED[] = {
	{"-j 1x", "--jobs: '1x' is no job or step (JOB, JOB.STEP, ARRAYJOB_TASK[.STEP])", 2},
	{"-j ,", "--jobs: ',' names none", 2},
	{"-o JobID,Bogus", "--format: unknown field 'Bogus' (see --helpformat)", 2},
	{"-o JobID%x", "--format: field 'JobID': bad width 'x' (1 to 4096)", 2},
	{"-o JobID%0", "--format: field 'JobID': bad width '0' (1 to 4096)", 2},
	{"-o ,", "--format: no field given", 2},
	{"-S 25:00",
		"--starttime: '25:00' is no time (HH:MM[:SS], MMDD[YY], MM/DD[/YY], "
		"YYYY-MM-DD[THH:MM[:SS]], today, noon, now[{+|-}COUNT[UNIT]])",
		2},
	{"-E soon",
		"--endtime: 'soon' is no time (HH:MM[:SS], MMDD[YY], MM/DD[/YY], "
		"YYYY-MM-DD[THH:MM[:SS]], today, noon, now[{+|-}COUNT[UNIT]])",
		2},
	{"-S now -E now-1hour", "--starttime is later than --endtime", 2},
	{"-s GONE",
		"--state: unknown state 'GONE' (RUNNING R, COMPLETED CD, FAILED F, "
		"UNKNOWN UN)",
		2},
	{"-u no-such-user", "--user: unknown user 'no-such-user'", 2},
	{"--delimiter=", "--delimiter: '' must be 1 to 15 characters", 2},
	{"--units=X", "--units: 'X' is none of K M G T P", 2},
	{"-N n[1", "--nodelist: 'n[1' is no node list: a ']' is missing", 2},
	{"-N n[2-1]", "--nodelist: 'n[2-1]' is no node list: a range must be FROM-TO", 2},
	{"-N n1]", "--nodelist: 'n1]' is no node list: a ']' too many", 2},
	{"-N a,,b", "--nodelist: 'a,,b' is no node list: a name is missing", 2},
	{"-N n[0-9999]", "--nodelist: 'n[0-9999]' names more than 4096 nodes", 2},
	{"-B", "-B, --batch-script: the script is Slurm's: sacct -B", 2},
	{"--completion", "-c, --completion: Coloc keeps no job completion log", 2},
	{"-C gpu", "-C, --constraints: constraints are not recorded: sacct -C", 2},
	{"-f x", "-f, --file: there is no such file; --store names the directory", 2},
	{"-F x", "-F, --flags: scheduler flags are not recorded: sacct -F", 2},
	{"--group=x", "-g, --gid: groups are not recorded: use -u", 2},
	{"-i 1-2", "-i, --nnodes: a line is of one node: sacct -i", 2},
	{"-I 1", "-I, --ncpus: a step's cores change: -o Cores, or sacct -I", 2},
	{"-k 1", "-k, --timelimit-min: time limits are not recorded: sacct -k", 2},
	{"-K 1", "-K, --timelimit-max: time limits are not recorded: sacct -K", 2},
	{"-L", "-L, --allclusters: the store holds one node: see --cluster", 2},
	{"--clusters=a", "-M, --clusters: the store holds one node: see --cluster", 2},
	{"-q x", "-q, --qos: Slurm's QOS is not recorded: sacct -q", 2},
	{"-R x", "-R, --reason: that is Slurm's reason: -o Reason shows Coloc's", 2},
	{"-W x", "-W, --wckeys: wckeys are not recorded: sacct -W", 2},
	{"-x 1", "-x, --associations: associations are not recorded: sacct -x", 2},
	{"--env-vars", "--env-vars: the environment is Slurm's: sacct --env-vars", 2},
	{"--federation", "--federation: the store holds one node: see --cluster", 2},
	{"--local", "--local: the store holds one node: see --cluster", 2},
	{"--whole-hetjob", "--whole-hetjob: components are jobs of their own", 2},
	{"--yaml", "--yaml: use --json", 2},
	{"--cluster -j 12.0",
		"--cluster: '12.0': Slurm's accounting has a line per job and node, not per step",
		1},
	{"12", "unexpected argument '12'", 2},
	{"--bogus", "unrecognized option '--bogus'", 2},
	{"--store=/no/such", "/no/such/coloc.db: cannot open: No such file or directory", 1},
	{"--socket=/no/such",
		"colocd does not answer (users read their rows through it): /no/such: No such "
		"file or directory",
		1},
};

START_TEST(mistake_is_refused_by_name)
{
	bool has_source = strncmp(REFUSED[_i].args, "--s", 3) == 0;
	int rc = has_source ? run(REFUSED[_i].args) : run_store(REFUSED[_i].args);

	ck_assert_msg(rc == REFUSED[_i].rc, "exit %d: %s", rc, cli_output);
	ck_assert_msg(strstr(cli_output, REFUSED[_i].text) != NULL, "got: %s", cli_output);
}
END_TEST

START_TEST(times_follow_the_environment)
{
	static const struct {
		const char *format, *want;
	} FORMS[] = {
		{"%d.%m.%y %H:%M", "14.11.23 22:13\n"},
		{"standard", "2023-11-14T22:13:20\n"},
		{"", "2023-11-14T22:13:20\n"},
	};

	for (size_t i = 0; i < sizeof(FORMS) / sizeof(FORMS[0]); i++) {
		setenv("SLURM_TIME_FORMAT", FORMS[i].format, 1);
		ck_assert_int_eq(run_store("-j 41 --use-local-uid -n -P -o Start"), 0);
		ck_assert_str_eq(cli_output, FORMS[i].want);
	}
}
END_TEST

/* Whatever a user calls a job, it stays text; and the page asks nobody for anything. */
START_TEST(html_escapes_and_loads_nothing)
{
	static const char *const FORBIDDEN[] = {"<script", "alert(\"", "<b>51", "\"><i>0.5",
		"src=", "http:", "https:", "@import", "url(", "javascript", "onload", "<link"};
	static const char *const WANTED[] = {"<!doctype html>", "</html>",
		"&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;&#39;", "default-src 'none'",
		"name=viewport", "prefers-color-scheme:dark", "core 0</div>", "Utilisation",
		"source: os", "1 changes of phase", "1.50 <span class=dim>1.40-1.62"};

	ck_assert_int_eq(run_store("-j 50 --html"), 0);
	for (size_t i = 0; i < sizeof(FORBIDDEN) / sizeof(FORBIDDEN[0]); i++)
		ck_assert_msg(!strstr(cli_output, FORBIDDEN[i]), "has %s", FORBIDDEN[i]);
	for (size_t i = 0; i < sizeof(WANTED) / sizeof(WANTED[0]); i++)
		ck_assert_msg(strstr(cli_output, WANTED[i]) != NULL, "lacks %s:\n%s", WANTED[i],
			cli_output);
	ck_assert_int_eq(run_store("-j 99 --html"), 0);
	ck_assert_ptr_nonnull(strstr(cli_output, "No step was found."));
	ck_assert_int_eq(run_store("-j 45 --html"), 0);
	ck_assert_ptr_nonnull(strstr(cli_output, "Not measured."));
}
END_TEST

/* Row and column are programs; one whose program the page does not have is among the others. */
START_TEST(html_has_slow_down_by_partner)
{
	static const char *const WANTED[] = {"<table class=heat>",
		"<th scope=col>pagerank</th><th scope=col>others</th></tr>",
		"<tr><th scope=row>pagerank</th><td class=r></td><td class=\"r v\" "
		"style=\"--v:100\">2.50 <span class=dim>of 1</span></td></tr>"};

	ck_assert_int_eq(run_store("-j 50 --html"), 0);
	for (size_t i = 0; i < sizeof(WANTED) / sizeof(WANTED[0]); i++)
		ck_assert_msg(strstr(cli_output, WANTED[i]) != NULL, "lacks %s:\n%s", WANTED[i],
			cli_output);
	/* Two that ran together, of which no speed is known: so many steps. */
	ck_assert_int_eq(run_store("-j 41,42 --html"), 0);
	ck_assert_msg(
		strstr(cli_output, "<td class=\"r dim\">1 step</td>") != NULL, "%s", cli_output);
}
END_TEST

/* A table that scrolls is reached by keyboard, its heads and what it is are told aloud; a track of
 * a gain is not, as its figures stand beside it. */
START_TEST(html_is_for_keyboard_and_screen_reader)
{
	static const char *const WANTED[] = {"<html lang=en", "<main>",
		"tabindex=0 role=region aria-label=Steps", "<th scope=col>JobID</th>",
		"role=group aria-label=\"core 0\"", "class=track aria-hidden=true",
		"role=img aria-label=\"Utilisation over time", "a:focus-visible"};

	ck_assert_int_eq(run_store("-j 50 --html"), 0);
	for (size_t i = 0; i < sizeof(WANTED) / sizeof(WANTED[0]); i++)
		ck_assert_msg(strstr(cli_output, WANTED[i]) != NULL, "lacks %s:\n%s", WANTED[i],
			cli_output);
}
END_TEST

/* Who goes through the page by the tab key has not to pass hundreds of bars. */
START_TEST(html_bars_are_few_stops)
{
	struct step_row row = {.job_id = 3000,
		.array_task_id = NONE,
		.name = "moved",
		.uid = 7,
		.coreset = "1",
		.start_ns = START,
		.end_ns = START + 1000 * S,
		.rebinds = 300,
		.state = STEP_COMPLETED};
	struct record *r = NULL;
	struct errbuf err = {""};

	ck_assert_int_eq(run_store("-j 50 --html"), 0);
	ck_assert_ptr_null(strstr(cli_output, "tabindex=-1"));
	ck_assert_int_eq(record_open(&r, tmpdir_path(&tmp, "coloc.db"), false, &err), 0);
	ck_assert_int_eq(record_step_put(r, &row, &err), 0);
	for (int i = 0; i < 300; i++)
		ck_assert_int_eq(record_coreset(r, row.row_id, row.start_ns + i * S,
					 i % 2 ? "1" : "0", "moved", &err),
			0);
	record_close(r);
	ck_assert_int_eq(run_store("-j 3000 --html"), 0);
	ck_assert_ptr_nonnull(strstr(cli_output, "<a tabindex=-1 href="));
	ck_assert_ptr_null(strstr(cli_output, "<a href=\"#s0\" style"));
}
END_TEST

/* More lines than are looked at for the widths. */
START_TEST(long_table_streams_in_the_widths_it_began_with)
{
	struct record *r = NULL;
	struct errbuf err = {""};
	char *line, *save = NULL;
	size_t len;
	int n = 0;

	ck_assert_int_eq(record_open(&r, tmpdir_path(&tmp, "coloc.db"), false, &err), 0);
	for (int i = 0; i < 600; i++) {
		struct step_row row = {.job_id = 1000 + (uint32_t)i,
			.array_task_id = NONE,
			.name = i == 500 ? "much-longer-than-any-before" : "short",
			.uid = 7,
			.user = "eve",
			.start_ns = START + i * S,
			.end_ns = START + i * S,
			.state = STEP_COMPLETED};

		ck_assert_int_eq(record_step_put(r, &row, &err), 0);
	}
	record_close(r);
	ck_assert_int_eq(run_store("-S 2023-11-14 -u 7 -o JobID,JobName,Cores,User"), 0);
	line = strtok_r(cli_output, "\n", &save);
	ck_assert_str_eq(line, "JobID  JobName Cores User");
	len = strlen(line) - 1; /* the last cell is not padded: "eve" under "User" */
	for (; line; line = strtok_r(NULL, "\n", &save), n++) {
		if (n == 502)
			ck_assert_str_eq(line, "1500.0 much-l+       eve");
		ck_assert_msg(n < 2 || strlen(line) == len, "%d: '%s'", n, line);
	}
	ck_assert_int_eq(n, 602);
}
END_TEST

START_TEST(environment_sets_the_format)
{
	setenv("COLOCACCT_FORMAT", "State,JobID", 1);
	ck_assert_int_eq(run_store("-j 41 -P"), 0);
	ck_assert_str_eq(cli_output, "State|JobID\nCOMPLETED|41.0\n");
	ck_assert_int_eq(run_store("-j 41 -P -o User"), 0);
	ck_assert_str_eq(cli_output, "User\nada\n");
	setenv("COLOCACCT_FORMAT", "Bogus", 1);
	ck_assert_int_eq(run_store("-j 41 -P"), 2);
	ck_assert_ptr_nonnull(strstr(cli_output, "COLOCACCT_FORMAT: unknown field 'Bogus'"));
}
END_TEST

START_TEST(manual_has_every_option)
{
	ck_assert_int_eq(run("--help"), 0);
	cli_assert_in_manual("report/colocacct.1");
}
END_TEST

START_TEST(version_is_printed)
{
	ck_assert_int_eq(run("-V"), 0);
	ck_assert_ptr_nonnull(strstr(cli_output, "colocacct (coloc) "));
}
END_TEST

/* One request and its answer: @part, @more and an end. */
static void answer(int fd, const char *cmd, const char *part, const char *more, const char *rc,
	const char *error)
{
	int peer = accept(fd, NULL, NULL);
	struct msg m;

	m.len = (size_t)recv(peer, m.buf, sizeof(m.buf), 0);
	if (msg_check(&m, NULL) < 0 || strcmp(msg_get(&m, "cmd"), cmd) != 0 ||
		(strcmp(cmd, "acct") == 0 && !strstr(msg_get(&m, "json"), "\"jobs\":[\"41\"]")))
		_exit(9);
	for (int i = 0; i < 2; i++) {
		msg_init(&m, "ctl_part");
		msg_put(&m, "json", i ? more : part);
		send(peer, m.buf, m.len, 0);
	}
	msg_init(&m, "ctl_end");
	msg_put(&m, "rc", rc);
	msg_put(&m, "error", error);
	send(peer, m.buf, m.len, 0);
	close(peer);
}

/* A colocd whose rows are @part and @more, and, unless NULL, whose steps are @jobs. */
static pid_t serve_both(
	const char *part, const char *more, const char *rc, const char *error, const char *jobs)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	pid_t pid;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/sock", tmp.dir);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	pid = fork();
	if (pid == 0) {
		answer(fd, "acct", part, more, rc, error);
		if (jobs)
			answer(fd, "jobs", jobs, "]}", "0", NULL);
		_exit(0);
	}
	close(fd);
	return pid;
}

static pid_t serve(const char *part, const char *more, const char *rc, const char *error)
{
	return serve_both(part, more, rc, error, NULL);
}

static int run_socket(const char *args)
{
	char all[256];

	snprintf(all, sizeof(all), "--socket=%s/sock %s", tmp.dir, args);
	return run(all);
}

START_TEST(daemon_gives_rows_in_pieces)
{
	pid_t pid = serve("{\"steps\":[{\"id\":\"41.0\",\"state\":\"RUN",
		"NING\"},{\"id\":\"42.0\"}]}", "0", NULL);
	int status;

	ck_assert_msg(run_socket("-j 41 -P -o JobID,State,Cores") == 0, "%s", cli_output);
	ck_assert_str_eq(cli_output, "JobID|State|Cores\n41.0|RUNNING|\n42.0||\n");
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* The next slice, of who runs and takes turns alone. */
START_TEST(html_says_whose_turn_it_is)
{
	pid_t pid =
		serve_both("{\"steps\":[{\"id\":\"41.0\",\"name\":\"a<b\",\"state\":\"RUNNING\"},"
			   "{\"id\":\"41.1\",\"name\":\"c\",\"state\":\"RUNNING\"},",
			"{\"id\":\"41.2\",\"state\":\"COMPLETED\"},{\"id\":\"41.3\",\"state\":"
			"\"RUNNING\"}]}",
			"0", NULL,
			"{\"steps\":[1,{\"id\":\"41.1\",\"turn\":{\"runs\":false,\"next_ms\":250,"
			"\"slice_ms\":"
			"100,\"of\":2}},{\"id\":\"41.0\",\"turn\":{\"runs\":true,\"next_ms\":350,"
			"\"slice_ms\":"
			"50,\"of\":2}},{\"id\":\"41.2\",\"turn\":{\"next_ms\":1}},{\"id\":\"41.3\","
			"\"turn\":1}");
	int status;

	ck_assert_msg(run_socket("-j 41 --html") == 0, "%s", cli_output);
	ck_assert_ptr_nonnull(strstr(cli_output, "41.0 a&lt;b</a>: has its slice of 50 ms</li>"));
	ck_assert_ptr_nonnull(
		strstr(cli_output, "41.1 c</a>: next slice of 100 ms in 250 ms</li>"));
	ck_assert_ptr_null(strstr(cli_output, "41.2 </a>:"));
	ck_assert_ptr_null(strstr(cli_output, "41.3 </a>:"));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* Nobody says: the page is as it was. */
START_TEST(html_without_turns_has_no_section)
{
	pid_t pid = serve("{\"steps\":[{\"id\":\"41.0\",\"state\":\"RUN", "NING\"}]}", "0", NULL);

	ck_assert_int_eq(run_socket("-j 41 --html"), 0);
	ck_assert_ptr_null(strstr(cli_output, "Whose turn"));
	waitpid(pid, NULL, 0);
}
END_TEST

/* Nobody runs: nobody is asked. */
START_TEST(html_of_ended_steps_asks_for_no_turns)
{
	pid_t pid = serve_both("{\"steps\":[{\"id\":\"41.0\",\"state\":\"COMPLE", "TED\"}]}", "0",
		NULL, "{\"steps\":[");

	ck_assert_int_eq(run_socket("-j 41 --html"), 0);
	ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0); /* still waits for the question */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
END_TEST

START_TEST(daemon_nonsense_is_told)
{
	pid_t pid = serve("{\"rows\"", ":[]}", "0", NULL);

	ck_assert_int_eq(run_socket("-j 41 -n"), 1);
	ck_assert_ptr_nonnull(strstr(cli_output, "/sock: the answer has no 'steps'"));
	waitpid(pid, NULL, 0);
	/* Nothing on standard output that looks like an answer. */
	ck_assert_int_eq(run("--store=/no/such --json"), 1);
	ck_assert_str_eq(cli_output,
		"colocacct: error: /no/such/coloc.db: cannot open: No such file "
		"or directory\n");
}
END_TEST

static const struct {
	const char *row, *text;
} NO_ROW[] = {
	{"1", "no object"},
	{"null", "no object"},
	{"[]", "no object"},
	{"{\"partners\":\"42.0\"}", "'partners': \"42.0\" is not a list of texts"},
	{"{\"partners\":[1]}", "'partners': [1] is not a list of texts"},
	{"{\"coreset_history\":{}}", "'coreset_history': {} is not a list of texts"},
	{"{\"samples\":[null]}", "'samples': [null] is not a list of objects with times"},
	{"{\"phase_changes\":[{\"unix_s\":1e300}]}",
		"'phase_changes': [{\"unix_s\":1e300}] is not a list of objects with times"},
	{"{\"coreset_changes\":{}}", "'coreset_changes': {} is not a list"},
	{"{\"sample_sources\":[]}", "'sample_sources': [] is not an object"},
	{"{\"start_unix_s\":1,\"elapsed_s\":1e999}", "is not seconds"},
	{"{\"start_unix_s\":-1e12}", "'start_unix_s': -1e12 is not seconds"},
	{"{\"end_unix_s\":\"now\"}", "'end_unix_s': \"now\" is not seconds"},
	{"{\"unmeasured_to_unix_s\":NaN}", "'unmeasured_to_unix_s': NaN is not seconds"},
	{"{\"rebinds\":9223372036854775807}", "'rebinds': 9223372036854775807 is not a count"},
	{"{\"moves\":0.5}", "'moves': 0.5 is not a count"},
	{"{\"exit_status\":256}", "'exit_status': 256 is not a count"},
};

/* Whatever listens at that socket. */
START_TEST(daemon_rows_are_checked)
{
	static const char *const FORMS[] = {"", "-X", "--html", "--csv", "--json"};

	for (size_t i = 0; i < sizeof(FORMS) / sizeof(FORMS[0]); i++) {
		char args[64], more[200], want[200];
		pid_t pid;

		snprintf(more, sizeof(more), "%s]}", NO_ROW[_i].row);
		pid = serve("{\"steps\":[{\"id\":\"41.0\",\"job_id\":41},", more, "0", NULL);
		snprintf(args, sizeof(args), "-j 41 %s", FORMS[i]);
		ck_assert_msg(run_socket(args) == 1, "%s: %s", args, cli_output);
		snprintf(want, sizeof(want), "/sock: step 2 of the answer: ");
		ck_assert_msg(strstr(cli_output, want) != NULL, "%s: %s", args, cli_output);
		ck_assert_msg(
			strstr(cli_output, NO_ROW[_i].text) != NULL, "%s: %s", args, cli_output);
		ck_assert(strncmp(cli_output, "colocacct: error: ", 18) == 0);
		waitpid(pid, NULL, 0);
		unlink(tmpdir_path(&tmp, "sock"));
	}
}
END_TEST

START_TEST(figures_that_are_none_are_not_drawn)
{
	pid_t pid = serve("{\"steps\":[{\"id\":\"41.0\",\"start_unix_s\":1,\"elapsed_s\":9,"
			  "\"rebinds\":0,\"coreset\":\"0\",\"policy\":\"fair\",\"samples\":[{",
		"\"unix_s\":2,\"loads_per_s\":Infinity}],\"gain_placement\":\"inf\","
		"\"gain_placement_lo\":1,\"gain_placement_hi\":NaN}]}",
		"0", NULL);

	ck_assert_int_eq(run_socket("-j 41 --html"), 0);
	ck_assert_ptr_nonnull(strstr(cli_output, "Not measured."));
	ck_assert_ptr_nonnull(strstr(cli_output, "No signals are recorded"));
	ck_assert_ptr_null(strstr(cli_output, ":nan"));
	ck_assert_ptr_null(strstr(cli_output, " nan"));
	waitpid(pid, NULL, 0);
}
END_TEST

/* Of rows without times nothing is said of when, or for how long. */
START_TEST(times_that_are_not_known_are_blank)
{
	pid_t pid = serve("{\"steps\":[{\"id\":\"41.0\",\"policy\":\"fair\",\"coreset\":\"0\","
			  "\"rebinds\":0,\"samples\":[{\"unix_s\":2,\"utilization\":0.5}]},",
		"{\"id\":\"41.1\",\"elapsed_s\":null,\"phase_changes\":[{\"unix_s\":3}]}]}", "0",
		NULL);

	ck_assert_int_eq(run_socket("-j 41 --html"), 0);
	ck_assert_ptr_nonnull(strstr(cli_output, "When these steps ran is not recorded."));
	ck_assert_ptr_null(strstr(cli_output, "from first start to last end"));
	ck_assert_ptr_null(strstr(cli_output, "-15:-30:-8"));
	ck_assert_ptr_null(strstr(cli_output, "1970"));
	ck_assert_ptr_null(strstr(cli_output, ":nan"));
	ck_assert_ptr_null(strstr(cli_output, ">Elapsed<"));
	waitpid(pid, NULL, 0);
	unlink(tmpdir_path(&tmp, "sock"));
	/* One that is known is enough. */
	pid = serve("{\"steps\":[{\"id\":\"41.0\",\"start_unix_s\":100,\"elapsed_s\":90},",
		"{\"id\":\"41.1\"}]}", "0", NULL);
	ck_assert_int_eq(run_socket("-j 41 --html"), 0);
	ck_assert_ptr_nonnull(
		strstr(cli_output, "<b>00:01:30</b><span>from first start to last end</span>"));
	waitpid(pid, NULL, 0);
}
END_TEST

START_TEST(daemon_refusal_is_told)
{
	pid_t pid = serve("", "", "1", "accounting is off");

	ck_assert_int_eq(run_socket("-j 41 -n"), 1);
	ck_assert_str_eq(cli_output, "colocacct: error: accounting is off\n");
	waitpid(pid, NULL, 0);
}
END_TEST

static void fill_hostile(void)
{
	struct record *r = NULL;
	struct errbuf err = {""};

	hostile_load();
	ck_assert_int_eq(record_open(&r, tmpdir_path(&tmp, "coloc.db"), false, &err), 0);
	for (int i = 0; i < hostile_n; i++) {
		const char *name = hostile_name[i];
		struct step_row row = {.job_id = 900 + (uint32_t)i,
			.array_task_id = NONE,
			.node = "n1",
			.name = name,
			.program = name,
			.user = name,
			.account = name,
			.partition = name,
			.policy = "fair",
			.req_policy = name,
			.reason = name,
			.coreset = "0",
			.coreset_history = "0-1;0",
			.start_ns = START + 1000000 * S,
			.end_ns = START + 1000001 * S,
			.state = STEP_COMPLETED};

		ck_assert_int_eq(record_step_put(r, &row, &err), 0);
		ck_assert_int_eq(record_coreset(r, row.row_id, row.start_ns, "0", name, &err), 0);
		ck_assert_int_eq(record_phase(r, row.row_id, row.start_ns, name, &err), 0);
	}
	record_close(r);
}

#define HOSTILE_DAY "-S 2023-11-26 "

static int count(const char *text, const char *word)
{
	int n = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		n++;
	return n;
}

/* Name after name, whatever is in it, a row is one line of so many fields. */
START_TEST(hostile_names_stay_in_their_cells)
{
	int commas = 0;

	fill_hostile();
	ck_assert_int_eq(run_store(HOSTILE_DAY "-l"), 0);
	ck_assert_int_eq(hostile_check("table", cli_output), 2 + hostile_n);
	ck_assert_int_eq(run_store(HOSTILE_DAY "-P -n -o JobID,JobName,Program,User,Account,"
					       "Partition,ReqPolicy,Reason,State"),
		0);
	ck_assert_int_eq(hostile_check("-P", cli_output), hostile_n);
	for (char *p = cli_output, *save = NULL; (p = strtok_r(p, "\n", &save)); p = NULL) {
		ck_assert_int_eq(strncmp(p, "9", 1), 0);
		ck_assert_msg(count(p, "|") == 8, "%s", p);
		ck_assert_msg(strcmp(strrchr(p, '|'), "|COMPLETED") == 0, "%s", p);
	}
	ck_assert_int_eq(run_store(HOSTILE_DAY "--csv"), 0);
	ck_assert_int_eq(hostile_check("--csv", cli_output), 1 + hostile_n);
	for (char *p = cli_output, *save = NULL; (p = strtok_r(p, "\r\n", &save)); p = NULL) {
		bool quoted = false;
		int n = 0;

		for (char *q = p; *q; q++) {
			int next = q[1] == '"' ? q[2] : q[1];

			quoted ^= *q == '"';
			if (quoted || *q != ',')
				continue;
			n++;
			ck_assert_msg(!next || !strchr("=+@\t", next), "%s", q);
			ck_assert_msg(next != '-' || strncmp(q + 1, "-2+", 3) != 0, "%s", q);
		}
		ck_assert(!quoted);
		commas = commas ? commas : n;
		ck_assert_int_eq(n, commas);
	}
}
END_TEST

START_TEST(hostile_names_are_text_in_json_and_html)
{
	int rows;

	fill_hostile();
	ck_assert_int_eq(run_store(HOSTILE_DAY "--json --history"), 0);
	hostile_check("--json", cli_output);
	ck_assert_int_eq(count(cli_output, "\"job_id\""), hostile_n);
	ck_assert_int_eq(count(cli_output, "\\u00"), 0);
	ck_assert_int_eq(run_store(HOSTILE_DAY "--html"), 0);
	rows = hostile_check("--html", cli_output);
	ck_assert_int_gt(rows, 0);
	ck_assert_int_eq(count(cli_output, "<img"), 0);
	ck_assert_int_eq(count(cli_output, "</script><"), 0);
	ck_assert_int_gt(
		count(cli_output, "&lt;img src=x onerror=alert(1)&gt;&amp;&#39;&quot;"), 0);
}
END_TEST

/* A sacct that does @lines; "rec ID NAME COMMENT" prints a record, with the delimiter it was told.
 */
static void stand_in_for_sacct(const char *lines)
{
	char text[8192], path[256];

	snprintf(text, sizeof(text),
		"#!/bin/sh\nfor a; do case $a in --delimiter=*) d=${a#*=} ;; esac; done\n"
		"rec() { printf '%%b' "
		"\"$1$d$1$d$2${d}ada${d}1000${d}acc${d}main${d}COMPLETED${d}\"\\\n"
		"\"0:0${d}1790000000${d}1790000100$d$3\\n\"; }\n%s",
		lines);
	mkdir(tmpdir_path(&tmp, "bin"), 0755);
	tmpdir_write(&tmp, "bin/sacct", text);
	ck_assert_int_eq(chmod(tmp.path, 0755), 0);
	snprintf(path, sizeof(path), "%s/bin:/usr/bin:/bin", tmp.dir);
	ck_assert_int_eq(setenv("PATH", path, 1), 0);
}

/* Whoever may write AdminComment writes what he likes; what is no number is unknown. */
static const struct {
	const char *moves, *shown;
} MOVES[] = {
	{"3", "3"},
	{"0x1p3", ""},
	{"0x10", ""},
	{"nan", ""},
	{"inf", ""},
	{"1e999", ""},
	{"3.5.1", ""},
	{"+3", "3"},
	{"-0.5e1", "-5"},
	{" 3", ""},
	{"\\0033[31m", ""},
};

START_TEST(number_in_admincomment_is_a_number_or_unknown)
{
	bool known = *MOVES[_i].shown;
	char lines[512], want[64];

	snprintf(lines, sizeof(lines),
		"rec 11 job 'coloc/1{node=n1;policy=fair;moves=%s}'\n"
		"rec 12 job 'coloc/1{node=n1;policy=fair;moves=1}'\n",
		MOVES[_i].moves);
	stand_in_for_sacct(lines);
	ck_assert_msg(run("--cluster -S 2020-01-01 -n -P -o JobID,Moves") == 0, "%s", cli_output);
	snprintf(want, sizeof(want), "11|%s\n12|1\n", MOVES[_i].shown);
	ck_assert_str_eq(cli_output, want);
	ck_assert_int_eq(run("--cluster -S 2020-01-01 --json"), 0);
	snprintf(want, sizeof(want), "\"moves\":%s,", MOVES[_i].shown);
	ck_assert_int_eq(count(cli_output, "\"moves\""), known ? 2 : 1);
	ck_assert_msg(!known || strstr(cli_output, want), "%s", cli_output);
}
END_TEST

/* A job's name may look like the line of another's job. */
START_TEST(name_forges_no_line_of_sacct)
{
	hostile_load();
	stand_in_for_sacct(
		"n=0; c='coloc/1{node=n1;policy=fair;moves=1}'\n"
		"while IFS= read -r l; do\n"
		"  case $l in '#'*) continue ;; esac\n"
		"  n=$((n + 1))\n"
		"  rec $n \"$l\" \"$c\"\n"
		"done <\"$COLOC_SRCDIR/tests/hostile-names\"\n"
		"s='\\037'\n"
		"rec 21 "
		"\"x\\n99${s}99${s}n${s}root${s}0${s}a${s}p${s}FAILED${s}0:0${s}1790000000\"\\\n"
		"\"${s}1790000100${s}$c\\n\" \"$c\"\n");
	ck_assert_msg(run("--cluster -S 2020-01-01 -n -P -o JobID,User,State,Moves") == 0, "%s",
		cli_output);
	ck_assert_int_eq(hostile_check("--cluster", cli_output), hostile_n + 1);
	for (int i = 1; i <= hostile_n + 1; i++) {
		char want[64];

		snprintf(want, sizeof(want), "%s%d|ada|COMPLETED|1\n", i > 1 ? "\n" : "", i);
		ck_assert_msg(strstr(cli_output, want) != NULL, "%d: %s", i, cli_output);
	}
}
END_TEST

/* One that goes by the first character of its delimiter alone. */
START_TEST(sacct_of_one_character_is_read)
{
	stand_in_for_sacct("d=$(printf '\\037')\n"
			   "rec 11 job 'coloc/1{node=n1;policy=fair;moves=2}'\n"
			   "echo of a comment, going on\n"
			   "rec 12 job 'coloc/1{node=n1;policy=fair;moves=3}'\n");
	ck_assert_int_eq(run("--cluster -S 2020-01-01 -n -P -o JobID,User,Moves"), 0);
	ck_assert_str_eq(cli_output, "11|ada|2\n12|ada|3\n");
}
END_TEST

#define COUNT(a) (int)(sizeof(a) / sizeof((a)[0]))

static TCase *tcase(Suite *s, const char *name)
{
	TCase *t = tcase_create(name);

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	return t;
}

int main(void)
{
	Suite *s = suite_create("colocacct");
	SRunner *r;
	TCase *t;
	int failed;

	t = tcase(s, "output is what it was when it was reviewed");
	tcase_add_loop_test(t, output_is_golden, 0, COUNT(GOLDEN));
	t = tcase(s, "a mistake is refused by name");
	tcase_add_loop_test(t, mistake_is_refused_by_name, 0, COUNT(REFUSED));
	t = tcase(s, "the page is safe to open");
	tcase_add_test(t, html_escapes_and_loads_nothing);
	tcase_add_test(t, html_has_slow_down_by_partner);
	tcase_add_test(t, html_is_for_keyboard_and_screen_reader);
	tcase_add_test(t, html_bars_are_few_stops);
	tcase_add_test(t, html_says_whose_turn_it_is);
	tcase_add_test(t, html_without_turns_has_no_section);
	tcase_add_test(t, html_of_ended_steps_asks_for_no_turns);
	tcase_add_test(t, times_that_are_not_known_are_blank);
	tcase_add_test(t, times_follow_the_environment);
	t = tcase(s, "a long table begins at once");
	tcase_add_test(t, long_table_streams_in_the_widths_it_began_with);
	t = tcase(s, "the environment sets the format");
	tcase_add_test(t, environment_sets_the_format);
	tcase_add_test(t, version_is_printed);
	t = tcase(s, "the manual page has every option");
	tcase_add_test(t, manual_has_every_option);
	t = tcase(s, "users get their rows from the daemon");
	tcase_add_test(t, daemon_gives_rows_in_pieces);
	tcase_add_test(t, daemon_nonsense_is_told);
	tcase_add_test(t, figures_that_are_none_are_not_drawn);
	tcase_add_test(t, daemon_refusal_is_told);
	t = tcase(s, "a row that is none is refused by name");
	tcase_add_loop_test(t, daemon_rows_are_checked, 0, COUNT(NO_ROW));
	t = tcase(s, "names of users are text, and nothing else");
	tcase_add_test(t, hostile_names_stay_in_their_cells);
	tcase_add_test(t, hostile_names_are_text_in_json_and_html);
	t = tcase(s, "Slurm's accounting is read for what it is");
	tcase_add_loop_test(t, number_in_admincomment_is_a_number_or_unknown, 0, COUNT(MOVES));
	tcase_add_test(t, name_forges_no_line_of_sacct);
	tcase_add_test(t, sacct_of_one_character_is_read);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
