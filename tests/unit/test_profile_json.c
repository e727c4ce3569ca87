/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nodesvc/counters/profile_json.h"

#define REQUIRED                                                                                   \
	"\"type\":\"a\",\"source\":\"perf\",\"threads\":2,\"solo_s\":0.5,\"utilization\":0.9,"

static struct profile a_profile(void)
{
	struct profile p = {
		.type = "stencil",
		.user = "alice",
		.node_type = "",
		.source = "cachegrind",
		.threads = 2,
		.solo_s = 0.437,
		.utilization = 0.98765432109876543,
		.ll_bytes = 1048576,
		.taken_unix_s = 1700000000,
		.count = 3,
		.spread = 0.1 + 0.2,
	};

	for (int i = 0; i < SIGNAL_COUNT; i++)
		p.rate[i] = NAN;
	p.rate[SIGNAL_LOADS] = 123456789.123456789;
	p.rate[SIGNAL_LLC_MISSES] = 0.0;
	p.rate[SIGNAL_UTILIZATION] = p.utilization;
	return p;
}

START_TEST(profile_survives_the_round_trip)
{
	struct profile p = a_profile(), q;
	struct json_object *o = profile_to_json(&p);
	struct errbuf err = {""};

	ck_assert_ptr_nonnull(o);
	ck_assert_msg(!profile_from_text(
			      json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN), &q, &err),
		"%s", err.text);
	json_object_put(o);
	ck_assert_str_eq(q.type, p.type);
	ck_assert_str_eq(q.user, p.user);
	ck_assert_str_eq(q.source, p.source);
	ck_assert_int_eq(q.threads, 2);
	ck_assert_double_eq(q.solo_s, p.solo_s);
	ck_assert_double_eq(q.utilization, p.utilization);
	ck_assert_double_eq(q.spread, p.spread);
	ck_assert_double_eq(q.ll_bytes, p.ll_bytes);
	ck_assert_int_eq(q.taken_unix_s, p.taken_unix_s);
	ck_assert_int_eq(q.count, 3);
	for (int i = 0; i < SIGNAL_COUNT; i++)
		if (isnan(p.rate[i]))
			ck_assert_double_nan(q.rate[i]);
		else
			ck_assert_double_eq(q.rate[i], p.rate[i]);
}
END_TEST

START_TEST(unknown_is_null_and_waiting_is_said)
{
	struct profile p = a_profile();
	struct json_object *o = profile_to_json(&p);
	const char *text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);

	ck_assert_ptr_nonnull(strstr(text, "\"llc_refs_per_s\":null"));
	ck_assert_ptr_nonnull(strstr(text, "\"waiting\":\"passive\""));
	ck_assert_ptr_null(strstr(text, "NaN"));
	json_object_put(o);
}
END_TEST

START_TEST(absent_is_unknown)
{
	struct profile q;

	ck_assert_int_eq(profile_from_text("{" REQUIRED "\"signals\":{}}", &q, NULL), 0);
	ck_assert_double_nan(q.rate[SIGNAL_LOADS]);
	ck_assert_double_nan(q.spread);
	ck_assert_double_eq(q.ll_bytes, 0.0);
	ck_assert_int_eq(q.count, 1);
}
END_TEST

static const struct {
	const char *text;
	const char *field, *value;
} bad[] = {
	{"", "byte 0", ""},
	{"[]", "JSON", "[ ]"},
	{"{" REQUIRED "\"signals\":{}} x", "byte", ""},
	{"{" REQUIRED "\"signals\":{}}{}", "byte", ""},
	{"{\"signals\":{}}", "'type' is missing", ""},
	{"{" REQUIRED "\"signals\":3}", "signals", "3"},
	{"{" REQUIRED "\"signals\":{\"loads\":3}}", "signals", "'loads'"},
	{"{" REQUIRED "\"signals\":{\"loads_per_s\":-3}}", "loads_per_s", "-3"},
	{"{" REQUIRED "\"signals\":{\"loads_per_s\":\"3\"}}", "loads_per_s", "\"3\""},
	{"{" REQUIRED "\"signals\":{\"llc_miss_ratio\":1.5}}", "llc_miss_ratio", "1.5"},
	{"{" REQUIRED "\"signals\":{\"loads_per_s\":1e999}}", "loads_per_s", ""},
	{"{" REQUIRED "\"signals\":{\"instructions_per_s\":1e308}}", "instructions_per_s",
		"a number from 0 to 1e+15"},
	{"{" REQUIRED "\"signals\":{},\"colour\":1}", "'colour'", ""},
	{"{" REQUIRED "\"signals\":{},\"user\":7}", "user", "7"},
	{"{" REQUIRED "\"signals\":{},\"user\":\"a\\u0000b\"}", "user", ""},
	{"{" REQUIRED "\"signals\":{},\"user\":\"a\\u001bb\"}", "user", ""},
	{"{" REQUIRED "\"signals\":{},\"user\":\"012345678901234567890123456789012\"}", "user",
		"longer than 32"},
	{"{" REQUIRED "\"signals\":{},\"type\":\"\"}", "type", ""},
	{"{" REQUIRED "\"signals\":{},\"type\":null}", "type", "null"},
	{"{" REQUIRED "\"signals\":{},\"threads\":0}", "threads", "0"},
	{"{" REQUIRED "\"signals\":{},\"threads\":2.5}", "threads", "2.5"},
	{"{" REQUIRED "\"signals\":{},\"solo_s\":0}", "solo_s", "0"},
	{"{" REQUIRED "\"signals\":{},\"utilization\":1.01}", "utilization", "1.01"},
	{"{" REQUIRED "\"signals\":{},\"source\":\"guess\"}", "source", "guess"},
	{"{" REQUIRED "\"signals\":{},\"waiting\":\"passive\"}", "waiting", "passive"},
	{"{" REQUIRED "\"signals\":{},\"schema\":2}", "schema", "2"},
	{"{" REQUIRED "\"signals\":{},\"ll_bytes\":-1}", "ll_bytes", "-1"},
};

START_TEST(refusal_names_field_and_value)
{
	struct profile q = {.threads = 77};
	struct errbuf err = {""};

	ck_assert_int_eq(profile_from_text(bad[_i].text, &q, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, bad[_i].field), "%s: %s", bad[_i].text, err.text);
	ck_assert_msg(strstr(err.text, bad[_i].value), "%s: %s", bad[_i].text, err.text);
	ck_assert_int_eq(q.threads, 77);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("profile_json");
	TCase *trip = tcase_create("what goes out comes back"),
	      *strict = tcase_create("what is not a profile is refused by field and value");
	SRunner *r;
	int failed;

	tcase_add_test(trip, profile_survives_the_round_trip);
	tcase_add_test(trip, unknown_is_null_and_waiting_is_said);
	tcase_add_test(trip, absent_is_unknown);
	suite_add_tcase(s, trip);
	tcase_add_loop_test(
		strict, refusal_names_field_and_value, 0, (int)(sizeof(bad) / sizeof(bad[0])));
	suite_add_tcase(s, strict);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
