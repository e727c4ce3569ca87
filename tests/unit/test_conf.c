/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nodesvc/conf/conf.h"
#include "nodesvc/conf/conf_keys.h"

static char path[64];

static void setup(void)
{
	int fd;

	strcpy(path, "/tmp/coloc-conf-XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
}

static void teardown(void)
{
	unlink(path);
}

static int load(const char *text, struct conf *c, struct errbuf *err)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
	return conf_load(c, path, false, err);
}

START_TEST(empty_file_gives_the_defaults)
{
	struct conf c, defaults;
	struct errbuf err;
	int rc = load("# nothing\n", &c, &err);

	ck_assert_int_eq(rc, 0);
	conf_defaults(&defaults);
	ck_assert_mem_eq(&c, &defaults, sizeof(c));
	ck_assert_int_eq(c.interval_ms, 227);
	ck_assert_str_eq(c.policy, "auto");
}
END_TEST

START_TEST(every_kind_of_value_is_read)
{
	struct callnames_own own;
	struct conf c;
	struct errbuf err = {""};
	int rc = load(
		"policy: fair\n"
		"allow_policies: [lira, fair]\n"
		"policy_lock: yes\n"
		"policy_conflict: refuse\n"
		"policy_options:\n  lira:\n    tie: first\n  sbmp-pp: {phase: width}\n"
		"domain: core\n"
		"reserve: 0,2-3\n"
		"min_dwell_s: 0.5\n"
		"launch_env:\n  threads: leave\n  idle: leave\n"
		"  openmp: {GOMP_SPINCOUNT: 5}\n"
		"  openmpi: {}\n  mpirun: {PRTE_MCA_bindto: core}\n"
		"calls: {functions: [{program: cfd, function: step_}, {function: a_, program: b},"
		" {program: cfd, function: _ZN3cfd4stepEv}]}\n"
		"events:\n  loads: PAPI_LD_INS\n  mem_bytes: MEM_LINES:ALL*64\n"
		"allow:\n  users: [alice]\n"
		"store: /tmp/x\n",
		&c, &err);

	ck_assert_msg(rc == 0, "%s", err.text);
	ck_assert_str_eq(c.policy, "fair");
	ck_assert_int_eq(c.allow_policies.n, 2);
	ck_assert_str_eq(c.allow_policies.item[1], "fair");
	ck_assert(c.policy_lock);
	ck_assert_int_eq(c.policy_conflict, CONFLICT_REFUSE);
	ck_assert_str_eq(c.policy_options.pair[0].key, "lira.tie");
	ck_assert_str_eq(c.policy_options.pair[0].value, "first");
	ck_assert_str_eq(c.policy_options.pair[1].key, "sbmp-pp.phase");
	ck_assert_str_eq(c.policy_options.pair[1].value, "width");
	ck_assert_int_eq(c.domain, TOPO_CORE);
	ck_assert_int_eq(coreset_count(&c.reserve), 3);
	ck_assert_double_eq_tol(c.min_dwell_s, 0.5, 1e-12);
	ck_assert_int_eq(c.launch_env.threads, THREADS_LEAVE);
	ck_assert_int_eq(c.launch_env.idle, IDLE_LEAVE);
	ck_assert_int_eq(c.launch_env.openmp.n, 1);
	ck_assert_str_eq(c.launch_env.openmp.pair[0].value, "5");
	ck_assert_int_eq(c.launch_env.openmpi.n, 0);
	ck_assert_int_eq(c.launch_env.mpirun.n, 1);
	ck_assert_str_eq(c.launch_env.mpirun.pair[0].value, "core");
	ck_assert_int_eq(c.calls.functions.n, 3);
	conf_functions_of(&c.calls.functions, "cfd", &own);
	ck_assert_int_eq(own.n, 2);
	ck_assert_str_eq(own.name[1], "_ZN3cfd4stepEv");
	conf_functions_of(&c.calls.functions, "cf", &own);
	ck_assert_int_eq(own.n, 0);
	ck_assert_str_eq(c.events.of[COUNTER_LOADS].name, "PAPI_LD_INS");
	ck_assert_str_eq(c.events.of[COUNTER_MEM_BYTES].name, "MEM_LINES:ALL");
	ck_assert_double_eq_tol(c.events.of[COUNTER_MEM_BYTES].factor, 64, 1e-12);
	ck_assert_str_eq(c.events.of[COUNTER_LLC_REFS].name, "");
	ck_assert_str_eq(c.allow.users.item[0], "alice");
	ck_assert_str_eq(c.store, "/tmp/x");
}
END_TEST

#define NINE(x) x ", " x ", " x ", " x ", " x ", " x ", " x ", " x ", " x
#define TEN     "0123456789"
#define LONG    TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "0123456" /* with a '/' 128 */

static const struct {
	const char *text, *says;
} refused[] = {
	{"calls:\n  functions: step_\n",
		":2: key 'calls.functions': want a list of {program: NAME, function: NAME}"},
	{"calls:\n  functions:\n    - {program: a, function: f}\n    - {program: a}\n",
		":4: key 'calls.functions': item 2: want {program: NAME, function: NAME}"},
	{"calls:\n  functions: [{program: /usr/bin/a, function: f}]\n",
		":2: key 'calls.functions': item 1: program '/usr/bin/a' is no name"},
	{"calls:\n  functions: [{program: a, symbol: f}]\n",
		":2: key 'calls.functions': item 1 has 'symbol', not program or function"},
	{"calls:\n  functions: [{program: a, function: f, function: g}]\n",
		"item 1: function 'g' is no name"},
	{"calls:\n  functions: [a]\n", "item 1: want {program: NAME, function: NAME}"},
	{"calls:\n  functions: [" NINE("{program: a, function: f}") "]\n",
		"more than 8 functions of 'a'"},
	{"polcy: lira\n", ":1: unknown key 'polcy'"},
	{"\n\ntick_ms: fast\n", ":3: key 'tick_ms': 'fast' is not a number"},
	{"tick_ms: 1.5\n", ":1: key 'tick_ms': '1.5' is not a whole number"},
	{"tick_ms: 1\n", "key 'tick_ms': 1 is outside 20..60000"},
	{"policy_lock: maybe\n", "'maybe' is neither yes nor no"},
	{"policy_conflict: fight\n", "'fight' is none of ruling|refuse"},
	{"domain: tile\n", "'tile' is none of auto, package"},
	{"reserve: 1-\n", "key 'reserve': '1-' is not a list of CPUs"},
	{"socket: run/x\n", "'run/x' is not an absolute path"},
	{"log: loud\n", "'loud' is none of error"},
	{"policy: lira\npolicy: fair\n", ":2: key 'policy' stands on line 1 already"},
	{"allow_policies: lira\n", "key 'allow_policies': want a list"},
	{"launch_env:\n  idle: never\n", ":2: key 'launch_env.idle': 'never' is none of poll"},
	{"launch_env: yes\n", "key 'launch_env': want a mapping"},
	{"launch_env:\n  openmp: {PATH: /}\n", ":2: key 'launch_env.openmp': 'PATH' is not a var"},
	{"launch_env:\n  openmp: {GOMP_SPINCOUNT: 13ms}\n",
		":2: key 'launch_env.openmp': GOMP_SPINCOUNT: '13ms' is neither auto nor a count "
		"nor 0us"},
	{"launch_env:\n  openmp: {KMP_BLOCKTIME: 1, GOMP_SPINCOUNT: 100001us}\n",
		"GOMP_SPINCOUNT: '100001us' is neither auto nor a count nor 0us to 100000us"},
	{"launch_env:\n  mpirun: {GOMP_SPINCOUNT: 5}\n",
		":2: key 'launch_env.mpirun': 'GOMP_SPINCOUNT' is not a var"},
	{"launch_env:\n  openmp:\n    KMP_BLOCKTIME: 1\n    GOMP_SPINCOUNT: 1\n    KMP_BLOCKTIME: "
	 "2\n",
		":5: key 'launch_env.openmp': 'KMP_BLOCKTIME' stands on line 3 already"},
	{"launch_env:\n  openmpi: {OMPI_MCA_mpi_yield_when_idle: 1, OMPI_MCA_mpi_yield_when_idle: "
	 "1}\n",
		":2: key 'launch_env.openmpi': 'OMPI_MCA_mpi_yield_when_idle' stands on line 2 "
		"already"},
	{"policy_options:\n  lira: {tie: first}\n  fair: {}\n  lira: {tie: last}\n",
		":4: key 'policy_options': 'lira.tie' stands on line 2 already"},
	{"launch_env:\n  omp_library: /" LONG "\n",
		":2: key 'launch_env.omp_library': empty or longer than 127"},
	{"launch_env: {omp_library: lib.so}\n",
		"key 'launch_env.omp_library': 'lib.so' is neither auto nor an absolute path"},
	{"launch_env:\n  speed: 1\n", ":2: unknown key 'launch_env.speed'"},
	{"policy: [a]\n", "key 'policy': want one value"},
	{"- a\n", "want key: value"},
	{"a: [\n", ":2: "},
	{"events:\n  loads: A B\n", ":2: key 'events.loads': 'A B' is no name of an event"},
	{"events: {mem_bytes: A*0}\n", "key 'events.mem_bytes': '*0': what follows '*' is no"},
	{"events:\n  cycles: PAPI_TOT_CYC\n", ":2: unknown key 'events.cycles'"},
	{"events: {loads: [A, B]}\n", "key 'events.loads': want one value"},
	{"min_dwell_s: nan\n", "key 'min_dwell_s': 'nan' is not a number"},
};

START_TEST(bad_text_is_refused_with_line_key_and_value)
{
	struct conf c = {.interval_ms = 7};
	struct errbuf err = {""};
	int rc = load(refused[_i].text, &c, &err);

	ck_assert_int_lt(rc, 0);
	ck_assert_msg(strstr(err.text, refused[_i].says) != NULL, "got: %s", err.text);
	ck_assert_int_eq(c.interval_ms, 7); /* untouched */
}
END_TEST

START_TEST(file_that_others_may_write_is_refused)
{
	struct conf c;
	struct errbuf err = {""};
	int rc;

	chmod(path, 0666);
	rc = conf_load(&c, path, true, &err);
	ck_assert_int_eq(rc, -EPERM);
	ck_assert_ptr_nonnull(strstr(err.text, geteuid() ? "must be root's" : "mode 0666"));
}
END_TEST

START_TEST(missing_file_is_named)
{
	struct conf c;
	struct errbuf err = {""};
	int rc = conf_load(&c, "/nonexistent/coloc.yaml", false, &err);

	ck_assert_int_eq(rc, -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "/nonexistent/coloc.yaml"));
}
END_TEST

/* The shipped file shows every default: uncommented, it must be the defaults. */
START_TEST(shipped_file_shows_the_defaults)
{
	const char *src = getenv("COLOC_SRCDIR");
	char name[4096], line[512], text[16384] = "";
	struct conf c, defaults;
	struct errbuf err = {""};
	FILE *f;
	int rc;

	snprintf(name, sizeof(name), "%s/etc/coloc.yaml", src ? src : ".");
	f = fopen(name, "r");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f))
		if ((line[0] == '#' && line[1] != ' ' && line[1] != '\n') ||
			(strncmp(line, "#  ", 3) == 0 && line[3] != '#'))
			strncat(text, line + 1, sizeof(text) - strlen(text) - 1);
	fclose(f);
	rc = load(text, &c, &err);
	ck_assert_msg(rc == 0, "%s in:\n%s", err.text, text);
	conf_defaults(&defaults);
	for (size_t i = 0; i < conf_n_keys; i++) {
		const struct conf_key *k = &conf_keys[i];
		const char *dot = strrchr(k->name, '.');
		char want[80];

		snprintf(want, sizeof(want), "%s:", dot ? dot + 1 : k->name);
		ck_assert_msg(strstr(text, want) != NULL, "coloc.yaml does not show '%s'", k->name);
		if (k->type == CONF_OPTIONS || k->type == CONF_FUNCTIONS ||
			k->type == CONF_OPENMP || k->type == CONF_OPENMPI || k->type == CONF_MPIRUN)
			continue; /* carry line numbers */
		ck_assert_msg(
			memcmp((char *)&c + k->offset, (char *)&defaults + k->offset, k->size) == 0,
			"coloc.yaml shows another default for '%s'", k->name);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("conf");
	SRunner *sr = srunner_create(s);
	TCase *tc;
	int failed;

	tc = tcase_create("defaults hold where the file is silent");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, empty_file_gives_the_defaults);
	tcase_add_test(tc, shipped_file_shows_the_defaults);
	suite_add_tcase(s, tc);
	tc = tcase_create("values of every kind are read");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, every_kind_of_value_is_read);
	suite_add_tcase(s, tc);
	tc = tcase_create("bad files are refused with the place and the value");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, bad_text_is_refused_with_line_key_and_value, 0,
		sizeof(refused) / sizeof(refused[0]));
	tcase_add_test(tc, file_that_others_may_write_is_refused);
	tcase_add_test(tc, missing_file_is_named);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
