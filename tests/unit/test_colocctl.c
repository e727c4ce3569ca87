/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program itself against a daemon of paper: it answers each command with a fixed text in two
 * pieces. Outputs are tests/golden/ctl-NAME.txt, rewritten by UPDATE_GOLDEN=1.
 */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "common/msg.h"
#include "tests/unit/cli.h"
#include "tests/unit/hostile.h"
#include "tests/unit/tmpdir.h"

static struct tmpdir tmp;
static pid_t server;

#define STEP                                                                                       \
	"{\"id\":\"12.0\",\"job\":12,\"step\":0,\"node\":\"n1\",\"user\":\"ada\",\"uid\":1000,"    \
	"\"name\":\"melt\\n\\u001b[31m\",\"program\":\"lmp\",\"type\":null,\"policy\":\"lira\","   \
	"\"req_policy\":\"fair\",\"state\":\"placed\",\"cores\":1,\"coreset\":\"0\","              \
	"\"envelope\":\"0-1\",\"slurm_cpus\":\"0-1\",\"threads\":2,\"tasks\":1,\"signals\":{"      \
	"\"utilization\":{\"value\":0.98,\"provenance\":\"os\"},"                                  \
	"\"loads_per_s\":{\"value\":1234567890.0,\"provenance\":\"profile\"}},"                    \
	"\"waits\":{\"largest\":\"neighbour\",\"text\":\"neighbour 43%, own threads 5%\"},"        \
	"\"rebinds\":1,\"elapsed_s\":90061.5,\"reason\":\"lira rules this node\"}"

static const struct {
	const char *cmd, *json, *error;
} ANSWER[] = {
	{"ping", "{\"version\":\"0.1.0\",\"pid\":4711,\"uptime_s\":3725.5}", NULL},
	{"status",
		"{\"version\":\"0.1.0\",\"node\":\"n1\",\"host\":\"vm\",\"pid\":4711,"
		"\"uptime_s\":3725.5,\"policy\":\"lira\",\"policy_spec\":\"lira,tie=missbal\","
		"\"ruling_by\":\"12.0\",\"domain\":\"core\",\"n_domains\":2,"
		"\"envelope\":\"allocation\",\"pus\":\"0-1\",\"reserved\":null,"
		"\"interval_ms\":1000,\"tick_ms\":1000,\"actuator\":\"v1\",\"rebind\":\"masks\","
		"\"memory\":\"stay\","
		"\"resctrl\":\"not mounted\",\"signals\":{"
		"\"source\":\"profile\",\"report\":[\"papi: PAPI_attach fails\",\"perf: no PMU\"]},"
		"\"steps\":2,\"tasks\":3,\"ledger_rows\":7,\"draining\":true,\"dry_run\":false,"
		"\"decisions\":19,\"rebinds\":4,\"lags\":["
		"{\"step\":\"12.0\",\"what\":\"threads\",\"left\":19000,\"of\":20000,\"behind_s\":"
		"3.25},"
		"{\"step\":\"12.0\",\"what\":\"the list of threads\",\"behind_s\":0.5},"
		"{\"step\":\"13.0\",\"what\":\"putting back\"}],"
		"\"last_error\":\"step 12.0: gone\","
		"\"store\":\"/var/lib/coloc\",\"config\":\"/etc/coloc/coloc.yaml\"}",
		NULL},
	{"jobs",
		"{\"steps\":[" STEP ",{\"id\":\"13.batch\",\"user\":\"bob\",\"state\":\"observed\","
		"\"cores\":null,\"coreset\":null,\"signals\":{},\"rebinds\":0,"
		"\"elapsed_s\":1.0}]}",
		NULL},
	{"explain",
		"{\"id\":\"12.0\",\"now\":" STEP
		",\"decisions\":[{\"decision\":17,\"t_unix\":1700000000.0,"
		"\"event\":\"arrival\",\"policy\":\"lira\",\"from\":\"0-1\",\"to\":\"0\","
		"\"moved\":true,\"score\":11.0,\"why\":\"best pair\",\"explain\":{\"ema\":[1,2]},"
		"\"shares\":[\"13.0\",\"14.0\"]},{\"decision\":9,\"t_unix\":1699999999.0,\"event\":"
		"\"tick\","
		"\"policy\":\"lira\",\"from\":null,\"to\":\"0-1\",\"moved\":false,\"score\":null,"
		"\"why\":null,\"explain\":null,\"shares\":null}],\"launch_env\":[{"
		"\"name\":\"OMP_NUM_THREADS\",\"value\":\"2\"}],\"not_set\":[{"
		"\"name\":\"GOMP_SPINCOUNT\",\"value\":\"0\",\"why\":\"the user set "
		"OMP_WAIT_POLICY\"}],\"guard\":{\"verdict\":\"worse\",\"ratio\":0.81,\"lo\":0.75,"
		"\"hi\":0.876,\"policy\":\"lira\",\"windows\":9,\"basis\":\"app\","
		"\"why\":null},\"trace\":[{\"coloc_trace\":1},{\"view\":{\"now_s\":1.50}}],"
		"\"decision\":17,\"next\":0}",
		NULL},
	{"policies",
		"{\"ruling\":\"lira,tie=missbal\",\"policies\":[{\"name\":\"none\","
		"\"summary\":\"observe only\",\"options\":null,\"needs\":[],\"usable\":true,"
		"\"reason\":null},{\"name\":\"lira\",\"summary\":\"adaptive\",\"options\":\"tie="
		"balance|missbal\",\"needs\":[\"loads_per_s\"],\"usable\":true,\"reason\":null},{"
		"\"name\":\"oracle\",\"summary\":\"knows it all\",\"needs\":[],\"usable\":false,"
		"\"reason\":\"runs in colocsim only\"}]}",
		NULL},
	{"counters",
		"{\"source\":\"none\",\"report\":[\"papi: no\",\"perf: no\"],\"signals\":[{"
		"\"name\":\"utilization\",\"source\":\"schedstat\",\"available\":true,"
		"\"reason\":null},{\"name\":\"loads_per_s\",\"source\":\"profile\","
		"\"available\":false,\"reason\":\"no hardware counter\"}]}",
		NULL},
	{"release", "{\"released\":[\"12.0\",\"13.0\"],\"rows_left\":0}", NULL},
	{"reload", "{\"changed\":[\"policy\",\"tick_ms\"],\"needs_restart\":[\"domain\"]}", NULL},
	{"drain", "{\"draining\":true}", NULL},
	{"quarantine_list",
		"{\"enabled\":false,\"sets\":[{\"id\":\"0a1b2c3d\",\"policy\":\"lira,tie=first\","
		"\"programs\":\"gmx@bob:8 + 2*lmp@ada:4\",\"verdict\":\"worse\",\"ratio\":0.81,"
		"\"lo\":0.75,\"hi\":0.876,\"windows\":9,\"basis\":\"app\","
		"\"until_unix_s\":null,\"quarantined\":true,\"runs_now\":true},{"
		"\"id\":\"ffffffff\",\"policy\":\"fair\",\"programs\":\"a@b:1\","
		"\"verdict\":\"unknown\",\"ratio\":1.02,\"lo\":null,\"hi\":null,"
		"\"windows\":2,\"basis\":\"hw\",\"quarantined\":false,\"runs_now\":false}]}",
		NULL},
	{"quarantine_rm", "{\"removed\":1}", NULL},
	{"vacuum", "{\"old_steps\":7,\"bytes\":3145728,\"limit_bytes\":1073741824}", NULL},
	{"resume", "", "resume: only root may"},
	{"profile_list",
		"{\"profiles\":[{\"schema\":1,\"type\":\"stencil\",\"user\":\"ada\","
		"\"node_type\":\"\",\"source\":\"cachegrind\",\"threads\":2,\"solo_s\":0.5,"
		"\"utilization\":0.98,\"signals\":{\"loads_per_s\":1e8,\"llc_refs_per_s\":2e5,"
		"\"llc_misses_per_s\":null},\"ll_bytes\":1048576,\"count\":3}],"
		"\"calls\":[{\"type\":\"gmx\",\"user\":\"ada\",\"function\":\"GOMP_parallel\","
		"\"spread\":0.0213,\"alone_per_s\":9980,\"alone_cores\":2},{\"type\":\"lmp\","
		"\"user\":\"bob\",\"function\":\"MPI_Allreduce\",\"spread\":null,"
		"\"alone_per_s\":null,\"alone_cores\":null}]}",
		NULL},
	{"profile_rm", "{\"removed\":1}", NULL},
	{"profile_put", "{\"type\":\"stencil\"}", NULL},
};

/* What was asked, so that a test sees job=, tag=, all=1 and json= arrive. */
static void note(const struct msg *m)
{
	static const char *const KEY[] = {"cmd", "job", "tag", "all", "json"};
	FILE *f = fopen(tmpdir_path(&tmp, "asked"), "a");

	for (size_t i = 0; i < sizeof(KEY) / sizeof(KEY[0]); i++) {
		const char *value = msg_get(m, KEY[i]);

		if (value)
			fprintf(f, "%s=%s ", KEY[i], value);
	}
	fputc('\n', f);
	fclose(f);
}

static const char *hostile; /* an older service, which cleans nothing, has a step of that name */

/* @ret: as JSON has it, with the bytes that are none of ASCII as they are. */
static void quote(char *ret, const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20)
			ret += sprintf(ret, "\\u%04x", (unsigned int)*text);
		else
			ret += sprintf(ret, "%s%c", strchr("\"\\", *text) ? "\\" : "", *text);
	}
	*ret = '\0';
}

/* To whatever is asked. */
static void answer_hostile(int fd, struct msg *m)
{
	char name[2048];

	quote(name, hostile);
	msg_init(m, "ctl_part");
	snprintf(m->buf + m->len, sizeof(m->buf) - m->len,
		"json={\"policy\":\"fair\",\"n_domains\":1,\"pus\":\"0-1\",\"last_error\":\"%1$s\","
		"\"steps\":[{\"id\":\"12.0\",\"user\":\"ada\",\"name\":\"%1$s\",\"program\":\"%1$"
		"s\","
		"\"type\":\"%1$s\",\"policy\":\"fair\",\"req_policy\":\"%1$s\",\"state\":"
		"\"placed\","
		"\"cores\":1,\"coreset\":\"0\",\"signals\":{},\"elapsed_s\":1.0,\"reason\":\"%1$"
		"s\"}],"
		"\"id\":\"12.0\",\"now\":{\"id\":\"12.0\",\"user\":\"ada\",\"program\":\"%1$s\","
		"\"policy\":\"fair\",\"req_policy\":\"%1$s\",\"state\":\"placed\",\"coreset\":"
		"\"0\","
		"\"reason\":\"%1$s\"},\"decisions\":[{\"decision\":1,\"t_unix\":1.0,\"event\":"
		"\"arrival\",\"policy\":\"fair\",\"to\":\"0\",\"moved\":true,\"why\":\"%1$s\","
		"\"explain\":{\"job\":\"%1$s\"},\"shares\":[\"13.0\"]}],\"launch_env\":[],"
		"\"not_set\":[{\"name\":\"X\",\"why\":\"%1$s\"}],\"guard\":{\"verdict\":\"better\","
		"\"why\":\"%1$s\"},\"sets\":[{\"id\":\"0\",\"policy\":\"fair\",\"programs\":\"%1$"
		"s\","
		"\"verdict\":\"better\",\"windows\":1}],\"profiles\":[{\"type\":\"%1$s\",\"user\":"
		"\"ada\","
		"\"source\":\"perf\",\"signals\":{}}]}",
		name);
	m->len += strlen(m->buf + m->len) + 1;
	send(fd, m->buf, m->len, 0);
	msg_init(m, "ctl_end");
	msg_put(m, "rc", "0");
	send(fd, m->buf, m->len, 0);
}

static void answer(int fd, struct msg *m)
{
	const char *cmd = msg_get(m, "cmd"), *json = "", *error = "unknown command";
	size_t half;

	if (hostile) {
		answer_hostile(fd, m);
		return;
	}
	for (size_t i = 0; i < sizeof(ANSWER) / sizeof(ANSWER[0]); i++) {
		if (strcmp(ANSWER[i].cmd, cmd) == 0) {
			json = ANSWER[i].json;
			error = ANSWER[i].error;
		}
	}
	half = strlen(json) / 2;
	for (int i = 0; i < 2 && *json; i++) {
		msg_init(m, "ctl_part");
		msg_putf(m, "json", "%.*s", i ? (int)strlen(json) : (int)half,
			json + (i ? half : 0));
		send(fd, m->buf, m->len, 0);
	}
	msg_init(m, "ctl_end");
	msg_put(m, "rc", error ? "1" : "0");
	msg_put(m, "error", error);
	send(fd, m->buf, m->len, 0);
}

static void serve(int fd)
{
	for (;;) {
		int peer = accept(fd, NULL, NULL);
		struct msg m = {0};
		ssize_t n = recv(peer, m.buf, sizeof(m.buf), 0);

		m.len = n > 0 ? (size_t)n : 0;
		if (m.len && msg_check(&m, NULL) == 0) {
			note(&m);
			answer(peer, &m);
		}
		close(peer);
	}
}

static void setup(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	setenv("TZ", "UTC", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	tmpdir_create(&tmp);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/sock", tmp.dir);
	setenv("COLOC_SOCKET", addr.sun_path, 1);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(listen(fd, 5), 0);
	server = fork();
	if (server == 0)
		serve(fd);
	close(fd);
}

/* Of tests/hostile-names; -1: a plain name. */
static void setup_hostile(int i)
{
	hostile_load();
	hostile = i < 0 ? "app" : hostile_name[i];
	setup();
	hostile = NULL;
}

static void teardown(void)
{
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	tmpdir_remove(&tmp);
}

static int run(const char *args)
{
	return cli_run("colocctl", args);
}

static const char *asked(void)
{
	static char text[4096];
	FILE *f = fopen(tmpdir_path(&tmp, "asked"), "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[n] = '\0';
	if (f)
		fclose(f);
	return text;
}

static const struct {
	const char *name, *args, *asked;
} GOLDEN[] = {
	{"ping", "ping", "cmd=ping \n"},
	{"ping-json", "--json ping", "cmd=ping \n"},
	{"status", "status", "cmd=status \n"},
	{"jobs", "jobs", "cmd=jobs \n"},
	{"jobs-json", "jobs --json", "cmd=jobs \n"},
	/* The clock at the end of the first line is now. */
	{"top", "top -b -n 1 | sed -E 's/[0-9:]{8}$/HH:MM:SS/'",
		"cmd=status \ncmd=jobs \ncmd=explain job=12.0 \ncmd=explain job=13.batch \n"},
	{"explain", "explain 12.0", "cmd=explain job=12.0 \n"},
	{"explain-view", "explain 12.0 --save-view", "cmd=explain job=12.0 all=1 \n"},
	{"explain-view", "explain 12.0 --save-view=17",
		"cmd=explain job=12.0 all=1 json={\"decision\": 17, \"from\": 0} \n"},
	{"policies", "policies", "cmd=policies \n"},
	{"policies-one", "policies lira", "cmd=policies \n"},
	{"counters", "counters", "cmd=counters \n"},
	{"release", "release 12", "cmd=release job=12 \n"},
	{"release-all", "release --all", "cmd=release all=1 \n"},
	{"release", "release", "cmd=release all=1 \n"},
	{"reload", "reload", "cmd=reload \n"},
	{"drain", "drain", "cmd=drain \n"},
	{"vacuum", "vacuum", "cmd=vacuum \n"},
	{"quarantine", "quarantine", "cmd=quarantine_list \n"},
	{"quarantine-all", "quarantine list --all", "cmd=quarantine_list \n"},
	{"quarantine-rm", "quarantine rm 0a1b2c3d", "cmd=quarantine_rm tag=0a1b2c3d \n"},
	{"profile-list", "profile list", "cmd=profile_list \n"},
	{"profile-show", "profile show stencil", "cmd=profile_list tag=stencil \n"},
	{"profile-export", "profile export", "cmd=profile_list \n"},
	{"profile-rm", "profile rm stencil", "cmd=profile_rm tag=stencil \n"},
	{"help", "--help", ""},
	{"help-profile", "profile --help", ""},
	{"help-explain", "explain --help", ""},
	{"help-top", "top --help", ""},
};

START_TEST(output_is_golden)
{
	ck_assert_msg(run(GOLDEN[_i].args) == 0, "%s", cli_output);
	ck_assert_str_eq(asked(), GOLDEN[_i].asked);
	cli_assert_golden("ctl", GOLDEN[_i].name);
}
END_TEST

static const char *const SHOWN[] = {"jobs", "explain 12.0", "status", "top -b -n 1",
	"quarantine list --all", "profile list", "--json jobs", "--json explain 12.0"};

/* A line more or less would be the name's. */
START_TEST(hostile_name_moves_no_cursor)
{
	for (size_t i = 0; i < sizeof(SHOWN) / sizeof(SHOWN[0]); i++) {
		int n;

		setup_hostile(-1);
		ck_assert_msg(run(SHOWN[i]) == 0, "%s: %s", SHOWN[i], cli_output);
		n = hostile_check(SHOWN[i], cli_output);
		teardown();
		for (int k = 0; k < hostile_n; k++) {
			setup_hostile(k);
			ck_assert_msg(run(SHOWN[i]) == 0, "%s: %s", SHOWN[i], cli_output);
			ck_assert_int_eq(hostile_check(SHOWN[i], cli_output), n);
			teardown();
		}
	}
}
END_TEST

static const struct {
	const char *args;
	int rc;
	const char *text;
} REFUSED[] = {
	{"", 2, "no command given (see colocctl --help)"},
	{"bogus", 2, "unknown command 'bogus' (see colocctl --help)"},
	{"--bogus ping", 2, "unrecognized option '--bogus'"},
	{"ping --bogus", 2, "unrecognized option '--bogus'"},
	{"ping now", 2, "ping: unexpected argument 'now'"},
	{"--timeout=0 ping", 2, "--timeout: '0' is no number of seconds (up to 3600)"},
	{"--timeout=x ping", 2, "--timeout: 'x' is no number of seconds (up to 3600)"},
	{"policies bogus", 1, "policies: no policy 'bogus' on this node"},
	{"explain", 2, "explain: exactly one JOB[.STEP] is needed"},
	{"explain 1 2", 2, "explain: exactly one JOB[.STEP] is needed"},
	{"explain 1x", 2, "explain: '1x' is no job or step"},
	{"release 12 --all", 2, "release: name one JOB[.STEP], or none for all"},
	{"release 12.x", 2, "release: '12.x' is no job or step"},
	{"top now", 2, "top: unexpected argument 'now'"},
	{"top --json", 2, "top: no --json: status, jobs and explain have it"},
	{"top -d 0", 2, "--delay: '0' is no number of seconds from 0.1 to 3600"},
	{"top --delay=", 2, "--delay: '' is no number of seconds"},
	{"top -n 0", 2, "--count: '0' is no number from 1 to 1000000000"},
	{"top -s pid", 2, "--sort: 'pid' is none of step, user, program, cores, busy"},
	{"top -w x", 2, "--width: 'x' is no number from 1 to 4000"},
	{"top -x", 2, "invalid option -- 'x'"},
	{"top", 1, "; -b prints plain text"},
	{"--socket=/no/such top -b -n 1", 1,
		"colocd does not answer: /no/such: No such file or directory"},
	{"check now", 2, "check: unexpected argument 'now'"},
	{"bundle now", 2, "bundle: unexpected argument 'now'"},
	{"bundle --output=/no/such/file", 1, "/no/such/file: No such file or directory"},
	{"quarantine rm", 2, "quarantine: 'list [--all]' or 'rm ID', 'rm all'"},
	{"quarantine rm all --all", 2, "quarantine: 'list [--all]' or 'rm ID', 'rm all'"},
	{"quarantine drop", 2, "quarantine: 'list [--all]' or 'rm ID', 'rm all'"},
	{"profile", 2, "profile: no command given"},
	{"profile rm", 2, "profile rm: TYPE is missing"},
	{"profile rm a b", 2, "profile rm: unexpected argument 'b'"},
	{"profile --with=magic -- true", 2,
		"--with: unknown source 'magic' (papi, perf, cachegrind)"},
	{"profile --ll=big -- true", 2, "--ll: 'big' is no cache (BYTES[,ASSOC,LINE])"},
	{"profile --runs=0 -- true", 2, "--runs: '0' is no number from 1 to 1000"},
	{"profile --type= -- true", 2, "--type: '' must be 1 to 63 characters"},
	{"profile --with=cachegrind --ll=1M -- /no/such/program", 1, "/no/such/program"},
	{"profile import /no/such/file", 1, "/no/such/file: No such file or directory"},
	{"resume", 1, "resume: only root may"},
	{"--socket=/no/such ping", 3,
		"colocd does not answer: /no/such: No such file or directory"},
	{"--socket=/no/such status", 1,
		"colocd does not answer: /no/such: No such file or directory"},
	{"--socket=/no/such profile --ll=1M -- true", 1,
		"nobody to store the profile: --output=FILE keeps it"},
};

START_TEST(mistake_is_refused_by_name)
{
	int rc = run(REFUSED[_i].args);

	ck_assert_msg(rc == REFUSED[_i].rc, "exit %d: %s", rc, cli_output);
	ck_assert_msg(strstr(cli_output, REFUSED[_i].text) != NULL, "got: %s", cli_output);
}
END_TEST

static const char *const COMMAND[] = {"", "check", "status", "jobs", "top", "explain", "policies",
	"counters", "profile", "quarantine", "release", "reload", "drain", "resume", "vacuum",
	"ping", "bundle"};

START_TEST(manual_has_every_option)
{
	char args[64];

	snprintf(args, sizeof(args), "%s --help", COMMAND[_i]);
	ck_assert_int_eq(run(args), 0);
	cli_assert_in_manual("ctl/colocctl.1");
}
END_TEST

START_TEST(hung_daemon_ends_in_time)
{
	kill(server, SIGSTOP);
	ck_assert_int_eq(run("--timeout=0.2 ping"), 3);
	ck_assert_ptr_nonnull(strstr(cli_output, "Connection timed out"));
}
END_TEST

START_TEST(import_stores_each_line)
{
	char args[128];

	tmpdir_write(&tmp, "profiles", "{\"type\":\"a\"}\n\n{\"type\":\"b\"}\n");
	snprintf(args, sizeof(args), "profile import %s/profiles", tmp.dir);
	ck_assert_int_eq(run(args), 0);
	ck_assert_str_eq(cli_output, "Stored: 2\n");
	ck_assert_str_eq(asked(), "cmd=profile_put json={\"type\":\"a\"} \n"
				  "cmd=profile_put json={\"type\":\"b\"} \n");
}
END_TEST

START_TEST(bundle_holds_every_part_and_keeps_files)
{
	static const char *const PART[] = {
		"===== check =====", "===== status =====", "===== jobs =====",
		"===== policies =====", "===== counters =====", "coloc.yaml ====="};
	char args[128];

	ck_assert_msg(run("bundle") == 0, "%s", cli_output);
	for (size_t i = 0; i < sizeof(PART) / sizeof(PART[0]); i++)
		ck_assert_msg(strstr(cli_output, PART[i]) != NULL, "no '%s'", PART[i]);
	tmpdir_write(&tmp, "mine", "mine");
	snprintf(args, sizeof(args), "bundle --output=%s/mine", tmp.dir);
	ck_assert_int_eq(run(args), 1);
	ck_assert_ptr_nonnull(strstr(cli_output, "mine: File exists"));
}
END_TEST

START_TEST(check_exits_by_its_findings)
{
	char args[128];

	snprintf(args, sizeof(args), "check --root=%s", tmp.dir);
	ck_assert_int_eq(run(args), 1);
	ck_assert_ptr_nonnull(strstr(cli_output, "FAIL  slurm.conf"));
	ck_assert_ptr_nonnull(strstr(cli_output, "ok    colocd"));
	ck_assert_int_eq(run("check --json --root=/no/such"), 1);
	ck_assert_ptr_nonnull(strstr(cli_output, "\"schema\":\"coloc.check/1\""));
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
	Suite *s = suite_create("colocctl");
	SRunner *r;
	TCase *t;
	int failed;

	t = tcase(s, "every command asks the right thing and shows the answer");
	tcase_add_loop_test(t, output_is_golden, 0, COUNT(GOLDEN));
	tcase_add_test(t, import_stores_each_line);
	tcase_add_test(t, bundle_holds_every_part_and_keeps_files);
	tcase_add_test(t, check_exits_by_its_findings);
	t = tcase(s, "a mistake is refused by name");
	tcase_add_loop_test(t, mistake_is_refused_by_name, 0, COUNT(REFUSED));
	t = tcase(s, "the manual page has every option");
	tcase_add_loop_test(t, manual_has_every_option, 0, COUNT(COMMAND));
	t = tcase(s, "a hung daemon holds nobody up");
	tcase_add_test(t, hung_daemon_ends_in_time);
	t = tcase_create("what users call their programs moves no cursor");
	tcase_set_timeout(t, 120);
	tcase_add_test(t, hostile_name_moves_no_cursor);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
