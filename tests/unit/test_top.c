/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `colocctl top` shows, without a terminal: map, order, pages and keys (cells: test_canvas.c).
 * Whole pages are tests/golden/top-NAME.txt, rewritten by UPDATE_GOLDEN=1.
 */
#include <check.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nodesvc/ctl/top.h"
#include "tests/unit/cli.h"

static struct top_model m;
static struct top_view v;

static void setup(void)
{
	setenv("TZ", "UTC", 1);
	tzset();
	ck_assert_ptr_nonnull(setlocale(LC_ALL, "C.UTF-8"));
	top_model_init(&m, true);
	v = (struct top_view){.rows = 24, .cols = 80};
}

static void teardown(void)
{
	top_model_done(&m);
}

/* ---- the daemon's answers ------------------------------------------------------------------- */

struct text {
	char *at;
	size_t len;
};

static void say(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct text *t, const char *fmt, ...)
{
	va_list ap;
	char *more;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&more, fmt, ap);
	va_end(ap);
	ck_assert_int_ge(n, 0);
	t->at = realloc(t->at, t->len + (size_t)n + 1);
	memcpy(t->at + t->len, more, (size_t)n + 1);
	t->len += (size_t)n;
	free(more);
}

/* A node of @domains times @cores, each core of @threads PUs that are numbered as Linux does. */
static void status(int domains, int cores, int threads)
{
	struct text t = {0};

	say(&t,
		"{\"version\":\"0.1.0\",\"host\":\"vm\",\"node\":\"n1\",\"uptime_s\":3725.5,"
		"\"policy\":\"lira\",\"policy_spec\":\"lira,tie=missbal\",\"ruling_by\":\"12.0\","
		"\"domain\":\"l3\",\"n_domains\":%d,\"pus\":\"0-%d\",\"reserved\":null,"
		"\"tick_ms\":1000,\"signals\":{\"source\":\"profile\"},\"steps\":3,"
		"\"decisions\":19,\"rebinds\":4,\"draining\":false,\"dry_run\":false,"
		"\"last_error\":null,\"domain_cores\":[",
		domains, domains * cores * threads - 1);
	for (int d = 0; d < domains; d++) {
		say(&t, "%s[", d ? "," : "");
		for (int c = 0; c < cores; c++) {
			say(&t, "%s\"%d", c ? "," : "", d * cores + c);
			for (int k = 1; k < threads; k++)
				say(&t, ",%d", k * domains * cores + d * cores + c);
			say(&t, "\"");
		}
		say(&t, "]");
	}
	say(&t, "]}");
	ck_assert_int_eq(top_model_status(&m, t.at, NULL), 0);
	free(t.at);
}

#define JOBS                                                                                       \
	"{\"steps\":["                                                                             \
	"{\"id\":\"12.0\",\"user\":\"ada\",\"name\":\"melt\\n\\u001b[31m\",\"program\":\"lmp\","   \
	"\"policy\":\"lira\",\"req_policy\":\"lira\",\"state\":\"placed\",\"cores\":2,"            \
	"\"coreset\":\"0-1\",\"envelope\":\"0-7\",\"slurm_cpus\":\"0-7\",\"threads\":2,\"tasks\":" \
	"1,"                                                                                       \
	"\"signals\":{\"utilization\":{\"value\":0.98,\"provenance\":\"os\"},"                     \
	"\"progress_per_s\":{\"value\":41.5,\"provenance\":\"app\"},"                              \
	"\"loads_per_s\":{\"value\":1234567890.0,\"provenance\":\"profile\"}},"                    \
	"\"progress_unit\":\"steps\",\"rebinds\":1,\"elapsed_s\":90061.5,"                         \
	"\"reason\":\"the least loads beside the most\"},"                                         \
	"{\"id\":\"9.0\",\"user\":\"bob\",\"program\":\"stencil\",\"policy\":\"lira\","            \
	"\"req_policy\":\"fair\",\"state\":\"placed\",\"cores\":2,\"coreset\":\"1-2\","            \
	"\"envelope\":\"0-7\",\"slurm_cpus\":\"0-7\",\"threads\":4,\"signals\":{\"utilization\":{" \
	"\"value\":0.5,\"provenance\":\"os\"}},\"progress_unit\":null,\"rebinds\":0,"              \
	"\"elapsed_s\":61.0,\"reason\":\"lira rules this node\"},"                                 \
	"{\"id\":\"13.batch\",\"user\":\"eve\",\"program\":null,\"policy\":null,"                  \
	"\"req_policy\":null,\"state\":\"observed\",\"cores\":null,\"coreset\":null,"              \
	"\"threads\":null,\"signals\":{},\"rebinds\":null,\"elapsed_s\":1.0,\"reason\":null}]}"

#define EXPLAIN                                                                                    \
	"{\"id\":\"12.0\",\"figures\":{\"speed_unit\":\"steps\",\"shared_speed\":40.0,"            \
	"\"solo_speed\":49.2,\"solo_basis\":\"alone\",\"ntt_full\":1.23,\"stp_full\":1.5,"         \
	"\"antt_full\":1.3,\"gain_placement\":1.05,\"gain_placement_lo\":0.98,"                    \
	"\"gain_placement_hi\":1.12,\"gain_basis\":\"app\",\"windows\":12},"                       \
	"\"phases\":{\"changes\":2,\"now\":2,\"table\":[{\"phase\":1,\"cores\":2,"                 \
	"\"utilization\":0.97,\"units_per_cpu_s\":null,\"seconds\":12.0},{\"phase\":2,\"cores\":"  \
	"2,"                                                                                       \
	"\"utilization\":0.31,\"units_per_cpu_s\":20.5,\"seconds\":3.0}]},"                        \
	"\"decisions\":[{\"t_unix\":1700000000.0,\"event\":\"phase\",\"policy\":\"lira\","         \
	"\"from\":\"0-3\",\"to\":\"0-1\",\"moved\":true,\"score\":11.0,\"why\":\"best pair\","     \
	"\"shares\":[\"9.0\"]},{\"t_unix\":1699999990.0,\"event\":\"arrival\","                    \
	"\"policy\":\"lira\",\"from\":null,\"to\":\"0-3\",\"moved\":true,\"score\":null,"          \
	"\"why\":null,\"shares\":null}]}"

static void three_steps(void)
{
	status(2, 4, 1);
	ck_assert_int_eq(top_model_jobs(&m, JOBS, 1700000003.0, NULL), 0);
	ck_assert_int_eq(top_model_detail(&m, "12.0", EXPLAIN, NULL), 0);
}

/* Steps 1.0 to @n.0, the k-th on core k - 1 modulo @cores. */
static void many_steps(int n, int cores)
{
	struct text t = {0};

	say(&t, "{\"steps\":[");
	for (int i = 1; i <= n; i++)
		say(&t,
			"%s{\"id\":\"%d.0\",\"user\":\"user%d\",\"program\":\"p\",\"state\":"
			"\"placed\","
			"\"cores\":1,\"coreset\":\"%d\",\"signals\":{},\"elapsed_s\":%d}",
			i > 1 ? "," : "", i, i % 7, (i - 1) % cores, n - i);
	say(&t, "]}");
	ck_assert_int_eq(top_model_jobs(&m, t.at, 1700000003.0, NULL), 0);
	free(t.at);
}

/* ---- pages ---------------------------------------------------------------------------------- */

static char *lines_of(const struct canvas *c, char *buf, size_t size)
{
	FILE *f = fmemopen(buf, size, "w");

	ck_assert_ptr_nonnull(f);
	*buf = '\0';
	ck_assert_int_eq(canvas_print(c, f), 0);
	fclose(f);
	return buf;
}

/* The page as text, in cli_output. */
static const char *page(void)
{
	struct canvas *c;

	ck_assert_int_eq(top_layout(&m, &v, &c), 0);
	lines_of(c, cli_output, sizeof(cli_output));
	free(c);
	return cli_output;
}

/* The line of the page that begins with @begin; "" none. */
static const char *line(const char *begin)
{
	static char text[4096];

	for (const char *at = page(); *at; at += strcspn(at, "\n") + 1) {
		if (strncmp(at, begin, strlen(begin)) == 0) {
			snprintf(text, sizeof(text), "%.*s", (int)strcspn(at, "\n"), at);
			return text;
		}
	}
	return "";
}

static void has(const char *text)
{
	ck_assert_msg(strstr(page(), text) != NULL, "no '%s' in:\n%s", text, cli_output);
}

static void lacks(const char *text)
{
	ck_assert_msg(strstr(page(), text) == NULL, "'%s' in:\n%s", text, cli_output);
}

static const struct {
	const char *name;
	bool batch;
	int rows, cols, domains, cores, threads;
} PAGE[] = {
	{"narrow", false, 24, 80, 2, 4, 1},
	{"wide", false, 30, 200, 2, 4, 1},
	{"smt", false, 24, 100, 1, 4, 2},
	{"big-node", false, 40, 120, 4, 64, 1},
	{"flat", false, 7, 60, 2, 4, 1},
	{"batch", true, 0, 0, 2, 4, 1},
	{"batch-narrow", true, 0, 64, 2, 4, 1},
};

START_TEST(page_is_golden)
{
	three_steps();
	status(PAGE[_i].domains, PAGE[_i].cores, PAGE[_i].threads);
	v.batch = PAGE[_i].batch;
	v.rows = PAGE[_i].rows;
	v.cols = PAGE[_i].cols;
	strcpy(v.selected, "12.0");
	page();
	cli_assert_golden("top", PAGE[_i].name);
}
END_TEST

/* In the table and among the details, which go on in the next row and break no word. */
START_TEST(next_slice_is_shown_and_long_lines_go_on)
{
	status(1, 2, 1);
	ck_assert_int_eq(
		top_model_jobs(&m,
			"{\"steps\":[{\"id\":\"1.0\",\"program\":\"a\",\"state\":"
			"\"placed\",\"turn\":{\"runs\":false,\"next_ms\":230,"
			"\"slice_ms\":100,\"of\":4},\"reason\":\"the whole node before the "
			"others until it has had its part of it\"},{\"id\":\"2.0\","
			"\"program\":\"b\",\"state\":\"placed\",\"turn\":{\"runs\":true,"
			"\"next_ms\":300,\"slice_ms\":100,\"of\":4}},{\"id\":\"3.0\","
			"\"turn\":null}]}",
			1700000003.0, NULL),
		0);
	v.rows = 24;
	v.cols = 60;
	strcpy(v.selected, "1.0");
	has("in 230 ms");
	has(" runs");
	has("Turn      waits; next slice of 100 ms in 230 ms, one of 4\n");
	has("Reason    the whole node before the others until it has had\n          its part of "
	    "it\n");
	strcpy(v.selected, "3.0");
	lacks("Turn  ");
}
END_TEST

START_TEST(help_is_golden)
{
	three_steps();
	v.help = true;
	page();
	cli_assert_golden("top", "help");
}
END_TEST

START_TEST(every_size_fits)
{
	struct canvas *c;

	three_steps();
	if (_i)
		many_steps(200, 8);
	for (v.rows = -1; v.rows <= 30; v.rows++) {
		for (v.cols = -1; v.cols <= 100; v.cols += v.cols < 20 ? 1 : 9) {
			static char text[65536];
			int n = 0;

			ck_assert_int_eq(top_layout(&m, &v, &c), 0);
			ck_assert_int_eq(c->rows, v.rows < 0 ? 0 : v.rows);
			ck_assert_int_eq(c->cols, v.cols < 0 ? 0 : v.cols);
			ck_assert_int_le(v.page, v.rows > 0 ? v.rows : 0);
			lines_of(c, text, sizeof(text));
			for (char *p = text, *end; (end = strchr(p, '\n')); p = end + 1, n++) {
				*end = '\0';
				ck_assert_int_le(canvas_width(p), c->cols);
			}
			ck_assert_int_eq(n, c->rows);
			/* From three rows on somebody is to be seen. */
			if (v.rows >= 3 && v.cols >= 9)
				ck_assert_int_ge(v.page, 1);
			free(c);
		}
	}
}
END_TEST

START_TEST(every_step_is_in_sight_once)
{
	int seen = 0;

	status(2, 4, 1);
	many_steps(200, 8);
	for (int i = 0; i < 200; i++) {
		char want[32];

		snprintf(want, sizeof(want), "> %s ", "");
		page();
		ck_assert_int_eq(v.at, i);
		snprintf(want, sizeof(want), "%d.0 ", i + 1);
		for (const char *at = cli_output; *at; at += strcspn(at, "\n") + 1)
			seen += at[0] == '>' && strncmp(at + 3, want, strlen(want)) == 0;
		ck_assert_int_eq(top_keys(&v, &m, TOP_KEY_DOWN), ACTION_DRAW);
	}
	ck_assert_int_eq(seen, 200);
	ck_assert_int_eq(v.at, 199);
	has("200 of 200");
	top_keys(&v, &m, TOP_KEY_HOME);
	has("1-");
	ck_assert_int_eq(v.first, 0);
}
END_TEST

START_TEST(unknown_is_blank)
{
	three_steps();
	v.cols = 200;
	has("13.batch  eve");
	/* Key, id, user, state and age are all that is known of it. */
	top_keys(&v, &m, TOP_KEY_END);
	ck_assert_str_eq(line("  c"), "");
	v.batch = true;
	{
		char word[5][32] = {{0}};

		ck_assert_int_eq(sscanf(line(" c"), "%31s %31s %31s %31s %31s", word[0], word[1],
					 word[2], word[3], word[4]),
			5);
		ck_assert_str_eq(word[1], "13.batch");
		ck_assert_str_eq(word[2], "eve");
		ck_assert_str_eq(word[3], "observed");
		ck_assert_str_eq(word[4], "00:00:01");
	}
	lacks("nan");
	lacks("null");
}
END_TEST

START_TEST(hostile_name_stays_one_line)
{
	three_steps();
	strcpy(v.selected, "12.0");
	has("job melt??[31m");
	lacks("\033");
}
END_TEST

START_TEST(long_and_wide_names_are_cut)
{
	struct text t = {0};

	status(2, 4, 1);
	say(&t, "{\"steps\":[{\"id\":\"1.0\",\"user\":\"%s\",\"program\":\"%s\",\"signals\":{}}]}",
		"an-administrator-with-a-name", "東京大学気象研究所予報数値モデル");
	ck_assert_int_eq(top_model_jobs(&m, t.at, 1700000003.0, NULL), 0);
	free(t.at);
	has("an-administ+ 東京大学気象研+\n");
	ck_assert_int_eq(canvas_width("東京"), 4);
}
END_TEST

START_TEST(reason_takes_what_is_left)
{
	three_steps();
	v.batch = true;
	v.cols = 0;
	has("the least loads beside the most");
	v.batch = false;
	v.cols = 80;
	ck_assert(strstr(page(), "REASON") == NULL);
	ck_assert(v.is_wide);
	for (int i = 0; v.is_wide; i++) {
		ck_assert_int_lt(i, 30);
		top_keys(&v, &m, TOP_KEY_RIGHT);
		page();
	}
	has("REASON");
	has("STEP");
}
END_TEST

START_TEST(no_steps_is_said)
{
	status(2, 4, 1);
	ck_assert_int_eq(top_model_jobs(&m, "{\"steps\":[]}", 1700000003.0, NULL), 0);
	m.sees_all = false;
	has("None of your job steps is under coloc on this node");
	has("0 of 3 steps are yours");
	m.sees_all = true;
	has("No job steps under coloc on this node");
	ck_assert_int_eq(top_keys(&v, &m, TOP_KEY_DOWN), ACTION_NONE);
}
END_TEST

START_TEST(absence_of_the_daemon_is_said)
{
	has("waiting for colocd");
	top_model_fail(&m, "/sock: Connection refused", 1700000000.0);
	has("No answer since 22:13:20: /sock: Connection refused");
	three_steps();
	lacks("No answer");
	top_model_fail(&m, "/sock: Connection refused", 1700000010.0);
	top_model_fail(&m, "/sock: Connection reset", 1700000020.0);
	has("No answer since 22:13:30; this is of 22:13:23: /sock: Connection reset");
	has("stencil");
	ck_assert_int_eq(top_model_jobs(&m, JOBS, 1700000033.0, NULL), 0);
	lacks("No answer");
}
END_TEST

/* ---- the map -------------------------------------------------------------------------------- */

static const char *map_row(const char *cores)
{
	static char buf[2048];
	struct coreset s;

	ck_assert_int_eq(coreset_parse(&s, cores, NULL), 0);
	return top_map_row(&m.map, &s, buf, sizeof(buf));
}

START_TEST(map_has_domains_and_hardware_threads)
{
	status(2, 4, 1);
	ck_assert_str_eq(map_row("0,5-6"), "#... .##.");
	ck_assert_int_eq(top_map_width(&m.map), 9);
	status(1, 4, 2);
	/* PUs 0 and 4 are core 0. */
	ck_assert_str_eq(map_row("0,4,5"), "#+..");
	status(4, 1, 1);
	ck_assert_str_eq(map_row("3"), "...#");
	status(4, 64, 2);
	ck_assert_int_eq(m.map.n_cores, 256);
	ck_assert_int_eq(top_map_width(&m.map), 259);
}
END_TEST

START_TEST(map_of_a_daemon_that_tells_no_cores)
{
	ck_assert_int_eq(top_model_status(&m, "{\"pus\":\"0-3,8\",\"reserved\":\"8\"}", NULL), 0);
	ck_assert_str_eq(map_row("8"), "....#");
	ck_assert(m.map.core[4].reserved);
	ck_assert(!m.map.core[3].reserved);
	ck_assert_int_eq(top_model_status(&m, "{\"domain_cores\":[[7],\"x\",[\"x\"]]}", NULL), 0);
	ck_assert_int_eq(m.map.n_cores, 0);
	has("coloc top");
}
END_TEST

START_TEST(map_says_who_has_a_core)
{
	three_steps();
	ck_assert_str_eq(line("CPU 0"), "CPU 0 a2b. ....");
	many_steps(80, 4);
	ck_assert_str_eq(line("CPU 0"), "CPU 0 ++++ ....");
}
END_TEST

START_TEST(map_that_does_not_fit_says_so)
{
	status(4, 64, 1);
	many_steps(200, 256);
	v.rows = 8;
	v.cols = 80;
	/* Two rows of 256 cores: 73 and 63 of them. */
	ck_assert(strstr(line("CPU   0"), "more") == NULL);
	has(" more");
	v.rows = 24;
	lacks(" more");
	has("\n    192 ");
}
END_TEST

/* ---- what is kept, and the order ------------------------------------------------------------ */

START_TEST(key_and_details_stay_with_a_step)
{
	struct errbuf err = {""};
	int i;

	three_steps();
	ck_assert_int_eq(m.step[top_model_find(&m, "13.batch")].key, 'c');
	/* 9.0 ends, another comes: it has the letter that is free. */
	ck_assert_int_eq(top_model_jobs(&m,
				 "{\"steps\":[{\"id\":\"13.batch\",\"elapsed_s\":3.0},"
				 "{\"id\":\"12.0\",\"elapsed_s\":90063.0},{\"id\":\"14.0\"}]}",
				 1700000005.0, &err),
		0);
	ck_assert_int_eq(m.n, 3);
	ck_assert_int_eq(top_model_find(&m, "9.0"), -1);
	ck_assert_int_eq(m.step[top_model_find(&m, "13.batch")].key, 'c');
	ck_assert_int_eq(m.step[top_model_find(&m, "14.0")].key, 'b');
	i = top_model_find(&m, "12.0");
	ck_assert_int_eq(m.step[i].key, 'a');
	ck_assert_double_eq(top_step_figure(&m.step[i], "ntt_full"), 1.23);
	/* Younger than it was: another step of that name. */
	ck_assert_int_eq(top_model_jobs(&m, "{\"steps\":[{\"id\":\"12.0\",\"elapsed_s\":1.0}]}",
				 1700000007.0, &err),
		0);
	ck_assert_ptr_null(m.step[0].detail);
	ck_assert_double_nan(top_step_figure(&m.step[0], "ntt_full"));
	/* Details of a step that is gone are nobody's. */
	ck_assert_int_eq(top_model_detail(&m, "9.0", EXPLAIN, &err), 0);
	ck_assert_ptr_null(m.step[0].detail);
}
END_TEST

START_TEST(selection_that_is_gone_goes_to_its_neighbour)
{
	three_steps();
	page();
	top_keys(&v, &m, TOP_KEY_DOWN);
	page();
	ck_assert_str_eq(v.selected, "12.0");
	ck_assert_int_eq(top_model_jobs(&m, "{\"steps\":[{\"id\":\"9.0\"},{\"id\":\"13.batch\"}]}",
				 1700000005.0, NULL),
		0);
	page();
	ck_assert_str_eq(v.selected, "13.batch");
	ck_assert_int_eq(
		top_model_jobs(&m, "{\"steps\":[{\"id\":\"9.0\"}]}", 1700000007.0, NULL), 0);
	page();
	ck_assert_str_eq(v.selected, "9.0");
}
END_TEST

START_TEST(answer_that_is_none_changes_nothing)
{
	static const char *const BAD[] = {
		"", "nonsense", "[]", "{\"steps\":{}}", "{\"steps\":null}", "{}"};
	struct errbuf err = {""};

	three_steps();
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		ck_assert_int_eq(top_model_jobs(&m, BAD[i], 1.0, &err), -EPROTO);
		ck_assert_int_eq(m.n, 3);
	}
	ck_assert_int_eq(top_model_status(&m, "[]", &err), -EPROTO);
	ck_assert_str_eq(err.text, "the answer to 'status' is no JSON object");
	ck_assert_int_eq(top_model_detail(&m, "12.0", "7", &err), -EPROTO);
	has("stencil");
	/* Things in the wrong place are not there. */
	ck_assert_int_eq(top_model_jobs(&m,
				 "{\"steps\":[null,7,{\"id\":\"1.0\",\"signals\":[],"
				 "\"coreset\":\"x\"}]}",
				 1700000005.0, &err),
		0);
	ck_assert_int_eq(top_model_detail(&m, "1.0",
				 "{\"figures\":[],\"phases\":{\"now\":1,\"table\":7},"
				 "\"decisions\":{}}",
				 &err),
		0);
	has("1.0");
}
END_TEST

static const struct {
	enum top_sort by;
	bool reverse;
	const char *order;
} ORDER[] = {
	{SORT_STEP, false, "9.0 12.0 13.batch"},
	{SORT_STEP, true, "13.batch 12.0 9.0"},
	{SORT_USER, false, "12.0 9.0 13.batch"},
	{SORT_PROGRAM, false, "12.0 9.0 13.batch"},
	{SORT_PROGRAM, true, "9.0 12.0 13.batch"},
	{SORT_CORES, false, "12.0 9.0 13.batch"},
	{SORT_BUSY, false, "12.0 9.0 13.batch"},
	{SORT_BUSY, true, "9.0 12.0 13.batch"},
	{SORT_PROGRESS, false, "12.0 9.0 13.batch"},
	{SORT_LOADS, true, "12.0 9.0 13.batch"},
	{SORT_NTT, false, "12.0 9.0 13.batch"},
	{SORT_GAIN, true, "12.0 9.0 13.batch"},
	{SORT_ELAPSED, false, "12.0 9.0 13.batch"},
	{SORT_ELAPSED, true, "13.batch 9.0 12.0"},
};

START_TEST(order_is_as_asked_unknown_last)
{
	char got[4 * TOP_ID_MAX];

	three_steps();
	top_model_sort(&m, ORDER[_i].by, ORDER[_i].reverse);
	snprintf(got, sizeof(got), "%s %s %s", m.step[0].id, m.step[1].id, m.step[2].id);
	ck_assert_msg(strcmp(got, ORDER[_i].order) == 0, "%s%s: %s", top_sort_name(ORDER[_i].by),
		ORDER[_i].reverse ? " reversed" : "", got);
}
END_TEST

START_TEST(details_are_wanted_of_what_is_shown)
{
	int wanted = 0, rounds = 0;
	struct top_step *s;

	status(2, 4, 1);
	many_steps(200, 8);
	page();
	top_layout_want(&m, &v);
	while ((s = top_model_next_wanted(&m))) {
		top_model_detail(&m, s->id, "{}", NULL);
		wanted++;
	}
	ck_assert_int_eq(wanted, v.page);
	/* The order needs those of all, oldest first. */
	v.sort = SORT_NTT;
	page();
	top_layout_want(&m, &v);
	while ((s = top_model_next_wanted(&m)) && rounds++ < 1000) {
		ck_assert_int_eq(s->asked, 0);
		top_model_detail(&m, s->id, "{}", NULL);
	}
	ck_assert_int_eq(rounds, 200 - wanted);
}
END_TEST

/* ---- keys ----------------------------------------------------------------------------------- */

START_TEST(keys_do_what_help_says)
{
	three_steps();
	page();
	ck_assert_int_eq(top_keys(&v, &m, TOP_KEY_NONE), ACTION_NONE);
	ck_assert_int_eq(top_keys(&v, &m, 'x'), ACTION_NONE);
	ck_assert_int_eq(top_keys(&v, &m, TOP_KEY_OTHER), ACTION_NONE);
	ck_assert_int_eq(top_keys(&v, &m, ' '), ACTION_ASK);
	ck_assert_int_eq(top_keys(&v, &m, 12), ACTION_REDRAW);
	ck_assert_int_eq(top_keys(&v, &m, 's'), ACTION_DRAW);
	ck_assert_int_eq(v.sort, SORT_USER);
	top_keys(&v, &m, 'S');
	top_keys(&v, &m, 'S');
	ck_assert_int_eq(v.sort, SORT_ELAPSED);
	top_keys(&v, &m, 's');
	ck_assert_int_eq(v.sort, SORT_STEP);
	top_keys(&v, &m, 'r');
	ck_assert(v.reverse);
	has("sort: step (reversed)");
	top_keys(&v, &m, 'h');
	has("any key: back");
	ck_assert_int_eq(top_keys(&v, &m, 'q'), ACTION_DRAW);
	lacks("any key: back");
	top_keys(&v, &m, TOP_KEY_LEFT);
	ck_assert_int_eq(v.column, 0);
	ck_assert_int_eq(top_keys(&v, &m, 'q'), ACTION_QUIT);
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
	Suite *s = suite_create("top");
	SRunner *r;
	TCase *t;
	int failed;

	t = tcase(s, "a page shows what is known, and fits");
	tcase_add_loop_test(t, page_is_golden, 0, COUNT(PAGE));
	tcase_add_test(t, next_slice_is_shown_and_long_lines_go_on);
	tcase_add_test(t, help_is_golden);
	tcase_add_loop_test(t, every_size_fits, 0, 2);
	tcase_add_test(t, every_step_is_in_sight_once);
	tcase_add_test(t, unknown_is_blank);
	tcase_add_test(t, reason_takes_what_is_left);
	tcase_add_test(t, no_steps_is_said);
	tcase_add_test(t, absence_of_the_daemon_is_said);
	t = tcase(s, "users' texts do no harm");
	tcase_add_test(t, hostile_name_stays_one_line);
	tcase_add_test(t, long_and_wide_names_are_cut);
	t = tcase(s, "the map is the node's");
	tcase_add_test(t, map_has_domains_and_hardware_threads);
	tcase_add_test(t, map_of_a_daemon_that_tells_no_cores);
	tcase_add_test(t, map_says_who_has_a_core);
	tcase_add_test(t, map_that_does_not_fit_says_so);
	t = tcase(s, "a step stays itself from one answer to the next");
	tcase_add_test(t, key_and_details_stay_with_a_step);
	tcase_add_test(t, selection_that_is_gone_goes_to_its_neighbour);
	tcase_add_test(t, answer_that_is_none_changes_nothing);
	tcase_add_loop_test(t, order_is_as_asked_unknown_last, 0, COUNT(ORDER));
	tcase_add_test(t, details_are_wanted_of_what_is_shown);
	t = tcase(s, "keys");
	tcase_add_test(t, keys_do_what_help_says);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
