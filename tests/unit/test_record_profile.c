/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "nodesvc/record/record_internal.h"
#include "tests/unit/record_db.h"

static struct profile profile(const char *type, const char *user, int threads, const char *node)
{
	struct profile p = {
		.threads = threads,
		.solo_s = 1.5,
		.utilization = 0.9,
		.taken_unix_s = 1000,
		.count = 3,
		.spread = 0.01,
	};

	snprintf(p.type, sizeof(p.type), "%s", type);
	snprintf(p.user, sizeof(p.user), "%s", user);
	snprintf(p.node_type, sizeof(p.node_type), "%s", node);
	snprintf(p.source, sizeof(p.source), "papi");
	for (int i = 0; i < SIGNAL_COUNT; i++)
		p.rate[i] = NAN;
	p.rate[SIGNAL_LOADS] = 1e9;
	p.rate[SIGNAL_TIME_LEFT] = 0.25;
	return p;
}

static void put_profile(const char *type, const char *user, int threads, const char *node)
{
	struct profile p = profile(type, user, threads, node);

	ck_assert_msg(record_profile_put(record, &p, &err) == 0, "%s", err.text);
}

START_TEST(profile_reads_back_with_unknown_rates)
{
	struct profile p = profile("lmp", "ada", 2, "2core"), got;

	p.spread = NAN;
	p.ll_bytes = 32e6;
	ck_assert_int_eq(record_profile_put(record, &p, &err), 0);
	ck_assert_int_eq(record_profile_find(record, "lmp", "ada", 2, "2core", &got, &err), 0);
	ck_assert_str_eq(got.type, "lmp");
	ck_assert_str_eq(got.user, "ada");
	ck_assert_str_eq(got.node_type, "2core");
	ck_assert_str_eq(got.source, "papi");
	ck_assert_int_eq(got.threads, 2);
	ck_assert_int_eq(got.count, 3);
	ck_assert_int_eq(got.taken_unix_s, 1000);
	ck_assert(got.solo_s == 1.5 && got.utilization == 0.9 && got.ll_bytes == 32e6);
	ck_assert(isnan(got.spread));
	ck_assert(got.rate[SIGNAL_LOADS] == 1e9 && got.rate[SIGNAL_TIME_LEFT] == 0.25);
	ck_assert(isnan(got.rate[SIGNAL_INSTRUCTIONS]) && isnan(got.rate[SIGNAL_UTILIZATION]));
}
END_TEST

START_TEST(same_key_replaces)
{
	struct profile p = profile("lmp", "ada", 2, "2core"), got;

	put_profile("lmp", "ada", 2, "2core");
	p.solo_s = 9;
	p.rate[SIGNAL_LOADS] = NAN;
	ck_assert_int_eq(record_profile_put(record, &p, &err), 0);
	ck_assert_int_eq(record_profile_find(record, "lmp", "ada", 2, "2core", &got, &err), 0);
	ck_assert(got.solo_s == 9 && isnan(got.rate[SIGNAL_LOADS]));
	ck_assert_int_eq(record_profile_rm(record, "lmp", NULL, &err), 1);
}
END_TEST

static const struct {
	const char *user;
	int threads;
	const char *node, *want;
} BEST[] = {
	{"ada", 2, "a", "ada/2/a"},
	{"ada", 4, "a", "ada/4/b"},
	{"ada", 8, "b", "ada/4/b"},
	{"bob", 2, "a", "bob/2/b"},
	/* She has none: the site's, though others' are closer. */
	{"eve", 4, "b", "root/8/a"},
	{"eve", 2, "a", "root/8/a"},
	{"root", 2, "a", "root/8/a"},
};

START_TEST(best_match_is_user_then_width_then_node)
{
	struct profile got;
	char text[160];

	put_profile("lmp", "ada", 2, "a");
	put_profile("lmp", "ada", 4, "b");
	put_profile("lmp", "bob", 2, "b");
	put_profile("lmp", "root", 8, "a");
	put_profile("xhpl", "eve", 2, "a");
	ck_assert_int_eq(record_profile_find(record, "xhpl", "ada", 2, "a", &got, &err), -ENOENT);
	ck_assert_int_eq(record_profile_find(record, "lmp", BEST[_i].user, BEST[_i].threads,
				 BEST[_i].node, &got, &err),
		0);
	snprintf(text, sizeof(text), "%s/%d/%s", got.user, got.threads, got.node_type);
	ck_assert_str_eq(text, BEST[_i].want);
}
END_TEST

START_TEST(unknown_type_is_enoent)
{
	struct profile got = {.threads = 5};

	ck_assert_int_eq(record_profile_find(record, "nope", "ada", 2, "a", &got, &err), -ENOENT);
	ck_assert_str_eq(err.text, "no stored profile of 'nope'");
	ck_assert_int_eq(got.threads, 5);
}
END_TEST

START_TEST(profile_without_type_is_refused)
{
	struct profile p = profile("", "ada", 2, "a");

	ck_assert_int_eq(record_profile_put(record, &p, &err), -EINVAL);
	ck_assert_str_eq(err.text, "profile: 'type' is empty");
}
END_TEST

static int note_profile(const struct profile *p, void *arg)
{
	char *text = arg;

	sprintf(text + strlen(text), "%s/%s ", p->type, p->user);
	return 0;
}

START_TEST(list_and_remove_by_type_and_user)
{
	char text[256] = "";

	put_profile("b", "ada", 2, "a");
	put_profile("a", "bob", 2, "a");
	put_profile("a", "ada", 2, "a");
	ck_assert_int_eq(record_profile_list(record, note_profile, text, &err), 0);
	ck_assert_str_eq(text, "a/ada a/bob b/ada ");
	ck_assert_int_eq(record_profile_rm(record, "a", "bob", &err), 1);
	ck_assert_int_eq(record_profile_rm(record, "a", NULL, &err), 1);
	ck_assert_int_eq(record_profile_rm(record, "a", NULL, &err), 0);
}
END_TEST

static int keep_measurement(const struct measurement *m, void *arg)
{
	*(struct measurement *)arg = *m;
	return 0;
}

START_TEST(measurements_of_one_kind_become_mean_and_spread)
{
	struct measurement m = {.type = "lmp",
				   .user = "ada",
				   .cores = 2,
				   .signal = SIGNAL_PROGRESS,
				   .unit = "steps",
				   .source = "app",
				   .last_unix_s = 100},
			   got;

	ck_assert_int_eq(record_measurement_add(record, &m, 10, &err), 0);
	ck_assert_int_eq(record_measurement_add(record, &m, 14, &err), 0);
	m.last_unix_s = 200;
	ck_assert_int_eq(record_measurement_add(record, &m, 12, &err), 0);
	ck_assert_int_eq(
		record_measurement_list(record, "lmp", NULL, keep_measurement, &got, &err), 0);
	ck_assert_int_eq(got.count, 3);
	ck_assert_double_eq_tol(got.mean, 12, 1e-12);
	ck_assert_double_eq_tol(got.m2, 8, 1e-12);
	ck_assert_int_eq(got.first_unix_s, 100);
	ck_assert_int_eq(got.last_unix_s, 200);
	ck_assert_str_eq(got.unit, "steps");
	/* Another unit is another thing. */
	strcpy(m.unit, "sweeps");
	ck_assert_int_eq(record_measurement_add(record, &m, 7, &err), 0);
	ck_assert_int_eq(
		record_measurement_list(record, NULL, "ada", keep_measurement, &got, &err), 0);
	ck_assert_int_eq(got.count, 1);
	ck_assert_double_eq_tol(got.mean, 7, 1e-12);
	ck_assert_int_eq(record_measurement_add(record, &m, NAN, &err), -EINVAL);
	m.kind = MEASURED_ALONE;
	ck_assert_int_eq(record_measurement_add(record, &m, 8, &err), 0);
	ck_assert_int_eq(record_measurement_rm(record, "lmp", "bob", &err), 0);
	ck_assert_int_eq(record_measurement_rm(record, "lmp", NULL, &err), 2);
}
END_TEST

static int count_measurement(const struct measurement *m, void *arg)
{
	ck_assert_str_ne(measured_name(m->kind), "?");
	++*(int *)arg;
	return 0;
}

/* One row of a store that is another's, or damaged. */
static const char *const strange[] = {
	"'lmp', 'ada', '', 2, -1, 'progress_per_s', 'steps', 'app', 3, 5, 1, 1, 2",
	"'lmp', 'ada', '', 2, 3, 'progress_per_s', 'steps', 'app', 3, 5, 1, 1, 2",
	"'lmp', 'ada', '', 2, 0, 'karma', 'steps', 'app', 3, 5, 1, 1, 2",
	"'lmp', 'ada', '', 2, 0, 'progress_per_s', 'steps', 'app', -1, 5, 1, 1, 2",
	"'lmp', 'ada', '', 2, 0, 'progress_per_s', 'steps', 'app', 3, 9e999, 1, 1, 2",
	"'lmp', 'ada', '', 2, 0, 'progress_per_s', 'steps', 'app', 3, 5, -1, 1, 2",
	"'lmp', 'ada', '', 0, 0, 'progress_per_s', 'steps', 'app', 3, 5, 1, 1, 2",
};

static int note_cores(const struct measurement *m, void *arg)
{
	int *cores = arg;

	cores[m->cores]++;
	return 0;
}

/* Names of programs are a user's to choose: one who takes another for each run fills no store. */
START_TEST(of_a_user_those_measured_last_stay)
{
	static int cores[RECORD_MEASUREMENTS_MAX + 200];
	struct measurement m = {.type = "lmp", .user = "bob", .cores = 1, .source = "app"};
	int n = 0;

	ck_assert_int_eq(record_measurement_add(record, &m, 1, &err), 0);
	strcpy(m.user, "ada");
	ck_assert_int_eq(record_begin(record, &err), 0);
	for (int i = 1; i < RECORD_MEASUREMENTS_MAX + 100; i++) {
		m.cores = i;
		m.last_unix_s = i;
		ck_assert_int_eq(record_measurement_add(record, &m, 1, &err), 0);
	}
	ck_assert_int_eq(record_end(record, 0, &err), 0);
	ck_assert_int_eq(record_measurement_list(record, NULL, "ada", note_cores, cores, &err), 0);
	for (int i = 0; i < RECORD_MEASUREMENTS_MAX + 200; i++)
		n += cores[i];
	ck_assert_int_eq(n, RECORD_MEASUREMENTS_MAX);
	ck_assert_int_eq(cores[1], 0);
	ck_assert_int_eq(cores[RECORD_MEASUREMENTS_MAX + 99], 1);
	/* Whoever brings them. */
	m.count = 1;
	m.cores = RECORD_MEASUREMENTS_MAX + 150;
	m.last_unix_s = RECORD_MEASUREMENTS_MAX + 150;
	ck_assert_int_eq(record_measurement_put(record, &m, &err), 0);
	memset(cores, 0, sizeof(cores));
	ck_assert_int_eq(record_measurement_list(record, NULL, "ada", note_cores, cores, &err), 0);
	ck_assert_int_eq(cores[RECORD_MEASUREMENTS_MAX + 150], 1);
	ck_assert_int_eq(cores[100], 0);
	ck_assert_int_eq(cores[101], 1);
	memset(cores, 0, sizeof(cores));
	ck_assert_int_eq(record_measurement_list(record, NULL, "bob", note_cores, cores, &err), 0);
	ck_assert_int_eq(cores[1], 1);
}
END_TEST

START_TEST(measurements_that_cannot_be_are_passed_over)
{
	struct measurement m = {.type = "lmp",
		.user = "ada",
		.cores = 2,
		.signal = SIGNAL_PROGRESS,
		.unit = "steps",
		.source = "app",
		.last_unix_s = 100};
	char sql[256];
	int n = 0;

	snprintf(sql, sizeof(sql), "INSERT INTO measurement VALUES (%s)", strange[_i]);
	ck_assert_int_eq(sqlite3_exec(record->db, sql, NULL, NULL, NULL), SQLITE_OK);
	ck_assert_int_eq(
		record_measurement_list(record, NULL, NULL, count_measurement, &n, &err), 0);
	ck_assert_int_eq(n, 0);
	/* Nor is anything added to it. */
	ck_assert_int_eq(record_measurement_add(record, &m, 7, &err), 0);
	ck_assert_int_eq(
		record_measurement_list(record, "lmp", "ada", keep_measurement, &m, &err), 0);
	ck_assert_int_eq(m.count, 1);
	ck_assert_double_eq(m.mean, 7);
	m.kind = (enum measured) - 1;
	ck_assert_int_eq(record_measurement_add(record, &m, 7, &err), -EINVAL);
	ck_assert_int_eq(record_measurement_put(record, &m, &err), -EINVAL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("record_profile");
	TCase *t;

	t = record_db_tcase(s, "the best matching profile is found");
	tcase_add_test(t, profile_reads_back_with_unknown_rates);
	tcase_add_test(t, same_key_replaces);
	tcase_add_loop_test(t, best_match_is_user_then_width_then_node, 0, COUNT(BEST));
	tcase_add_test(t, unknown_type_is_enoent);
	tcase_add_test(t, profile_without_type_is_refused);
	tcase_add_test(t, list_and_remove_by_type_and_user);
	t = record_db_tcase(s, "measurements of intervals add up");
	tcase_add_test(t, measurements_of_one_kind_become_mean_and_spread);
	tcase_add_test(t, of_a_user_those_measured_last_stay);
	t = record_db_tcase(s, "measurements that cannot be are passed over");
	tcase_add_loop_test(t, measurements_that_cannot_be_are_passed_over, 0, COUNT(strange));
	return record_db_run(s);
}
