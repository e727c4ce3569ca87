/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The site's own events. There need be no PMU: libpfm is told that the CPU is a Xeon of Skylake's
 * kind, so that names are known, and nothing counts.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/counters/counters.h"

/* Names are checked by an x86 libpfm through PAPI. */
#if HAVE_PAPI && defined(__x86_64__)
#define HAVE_NAMES 1
#else
#define HAVE_NAMES 0
#endif

/* PAPI 7.0 forgets a few texts of each event that it looks up, 115 bytes here. */
/* NOLINTBEGIN(bugprone-reserved-identifier): the name is the sanitizer's */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libpapi";
}
/* NOLINTEND(bugprone-reserved-identifier) */

#define LOADS "skx::MEM_INST_RETIRED:ALL_LOADS"

static const struct {
	const char *text, *name;
	double factor;
} good[] = {
	{"PAPI_L3_TCM", "PAPI_L3_TCM", 1},
	{LOADS, LOADS, 1},
	{"OFFCORE_RESPONSE_0:DMND_DATA_RD:u=1*64", "OFFCORE_RESPONSE_0:DMND_DATA_RD:u=1", 64},
	{"X*0.5", "X", 0.5},
};

START_TEST(a_name_and_what_a_count_stands_for_are_read)
{
	char text[COUNTER_EVENT_TEXT_MAX];
	struct counter_event e;

	ck_assert_int_eq(counter_event_parse(&e, good[_i].text, NULL), 0);
	ck_assert_str_eq(e.name, good[_i].name);
	ck_assert_double_eq_tol(e.factor, good[_i].factor, 1e-12);
	ck_assert_str_eq(counter_event_text(&e, text), good[_i].text);
}
END_TEST

START_TEST(auto_names_nothing)
{
	char text[COUNTER_EVENT_TEXT_MAX];
	struct counter_event e = {"X", 2};

	ck_assert_int_eq(counter_event_parse(&e, "auto", NULL), 0);
	ck_assert_str_eq(e.name, "");
	ck_assert_str_eq(counter_event_text(&e, text), "auto");
}
END_TEST

static const struct {
	const char *text, *says;
} bad[] = {
	{"", "'' is no name of an event"},
	{"0x81d0", "'0x81d0' is no name"},
	{"A B", "'A B' is no name"},
	{"A,B", "'A,B' is no name"},
	{"*64", "'*64' is no name"},
	{"A*", "'*': what follows '*' is no number"},
	{"A*0", "'*0': what"},
	{"A*-1", "'*-1': what"},
	{"A*nan", "'*nan': what"},
	{"A*64*2", "'*64*2': what"},
	{"A*1e9", "above 0 and up to 65536"},
	{"A2345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
	 "012345678901234567890123456789012345678",
		"longer than 127"},
};

START_TEST(what_is_no_name_is_refused_and_changes_nothing)
{
	struct counter_event e = {"X", 2};
	struct errbuf err = {""};

	ck_assert_int_eq(counter_event_parse(&e, bad[_i].text, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, bad[_i].says) != NULL, "got: %s", err.text);
	ck_assert_str_eq(e.name, "X");
}
END_TEST

#if HAVE_NAMES
static struct counter_events name(enum counter_id c, const char *text)
{
	struct counter_events e = {0};

	ck_assert_int_eq(counter_event_parse(&e.of[c], text, NULL), 0);
	return e;
}

static void refused(const struct counter_events *e, enum counter_id want, const char *says)
{
	enum counter_id which = COUNTER_COUNT;
	struct errbuf err = {""};

	ck_assert_int_eq(counters_papi.set_events(e, &which, &err), -EINVAL);
	ck_assert_int_eq(which, want);
	ck_assert_msg(strstr(err.text, says) != NULL, "got: %s", err.text);
}

START_TEST(an_event_that_the_cpu_has_not_is_named)
{
	struct counter_events e = name(COUNTER_LOADS, "MEM_INST_RETIRED:ALL_LAODS");
	enum counter_id which = COUNTER_COUNT;

	refused(&e, COUNTER_LOADS, "PAPI knows no event 'MEM_INST_RETIRED:ALL_LAODS' of this CPU");
	e = name(COUNTER_LLC_MISSES, "arm_n1::LL_CACHE_MISS_RD");
	refused(&e, COUNTER_LLC_MISSES, "no event 'arm_n1::LL_CACHE_MISS_RD'");
	e = name(COUNTER_LOADS, LOADS);
	ck_assert_int_eq(counters_papi.set_events(&e, &which, NULL), 0);
	e = name(COUNTER_LLC_REFS, "PAPI_L3_TCA");
	ck_assert_int_eq(counters_papi.set_events(&e, &which, NULL), 0);
}
END_TEST

/* What the page shows: lines of KEY: "EVENT" in its yaml block. */
START_TEST(the_events_of_doc_counters_md_are_known)
{
	static const char *const keys[COUNTER_COUNT] = {
		[COUNTER_LOADS] = "loads",
		[COUNTER_LLC_MISSES] = "llc_misses",
		[COUNTER_MEM_BYTES] = "mem_bytes",
	};
	const char *src = getenv("COLOC_SRCDIR");
	struct counter_events e = {0};
	enum counter_id which = COUNTER_COUNT;
	struct errbuf err = {""};
	char path[4096], line[256], key[32], text[COUNTER_EVENT_TEXT_MAX];
	bool inside = false;
	int n = 0;
	FILE *page;

	snprintf(path, sizeof(path), "%s/doc/counters.md", src ? src : ".");
	page = fopen(path, "re");
	ck_assert_msg(page != NULL, "%s", path);
	while (fgets(line, sizeof(line), page)) {
		if (!strncmp(line, "```", 3))
			inside = !strncmp(line, "```yaml", 7);
		if (!inside || sscanf(line, " %31[a-z_]: \"%127[^\"]", key, text) != 2)
			continue;
		for (int c = 0; c < COUNTER_COUNT; c++) {
			if (!keys[c] || strcmp(keys[c], key))
				continue;
			ck_assert_int_eq(counter_event_parse(&e.of[c], text, NULL), 0);
			n++;
		}
	}
	fclose(page);
	ck_assert_int_eq(n, 3);
	ck_assert_msg(counters_papi.set_events(&e, &which, &err) == 0, "%s", err.text);
}
END_TEST

START_TEST(an_event_counts_one_thing)
{
	struct counter_events e = name(COUNTER_LLC_MISSES, LOADS);

	e.of[COUNTER_LOADS] = e.of[COUNTER_LLC_MISSES];
	refused(&e, COUNTER_LLC_MISSES, "'" LOADS "' counts the loads already");
}
END_TEST

START_TEST(an_unknown_event_is_a_reason_not_to_count_by_papi)
{
	struct counter_events e = name(COUNTER_LOADS, "NO_SUCH_EVENT");
	struct counters_choice c;

	counters_choose(&c, "papi,none", &e);
	ck_assert_ptr_eq(c.ops, &counters_none);
	ck_assert_msg(strstr(c.report, "papi: for the loads: PAPI knows no event 'NO_SUCH_EVENT'"),
		"%s", c.report);
}
END_TEST

/* The name is right, this kernel has no PMU to count it, or another one. */
START_TEST(an_event_that_does_not_count_says_why)
{
	struct counter_events e = name(COUNTER_LOADS, LOADS);
	enum counter_id which = COUNTER_COUNT;
	const char *remark = NULL, *event;
	struct errbuf why = {""};
	uint32_t provides = 0;
	int rc;

	ck_assert_int_eq(counters_papi.set_events(&e, &which, NULL), 0);
	rc = counters_papi.probe(&provides, &why);
	event = counters_papi.event(COUNTER_LOADS, &remark);
	ck_assert_ptr_nonnull(remark);
	if (event) { /* such a Xeon it is, with its PMU */
		ck_assert_str_eq(event, LOADS);
		ck_assert_str_eq(remark, "named in the configuration");
		return;
	}
	ck_assert_msg(!strncmp(remark, "not counting: ", 14) && strlen(remark) > 20, "%s", remark);
	ck_assert_uint_eq(provides & COUNTER_BIT(COUNTER_LOADS), 0);
	/* What else there is has nothing to do with it. */
	counters_papi.event(COUNTER_LLC_REFS, &remark);
	ck_assert_ptr_null(remark);
	if (rc)
		ck_assert_str_ne(why.text, "");
}
END_TEST
#endif

int main(void)
{
	Suite *s = suite_create("site_events");
	TCase *text = tcase_create("an event is a name and what a count of it stands for");
	SRunner *r;
	int failed;

	tcase_add_loop_test(text, a_name_and_what_a_count_stands_for_are_read, 0,
		sizeof(good) / sizeof(good[0]));
	tcase_add_test(text, auto_names_nothing);
	tcase_add_loop_test(text, what_is_no_name_is_refused_and_changes_nothing, 0,
		sizeof(bad) / sizeof(bad[0]));
	suite_add_tcase(s, text);
#if HAVE_NAMES
	TCase *names = tcase_create("the library knows the names, the probe what counts");

	/* Before PAPI is started, once in a process. */
	setenv("LIBPFM_FORCE_PMU", "skx", 1);
	tcase_add_test(names, an_event_that_the_cpu_has_not_is_named);
	tcase_add_test(names, the_events_of_doc_counters_md_are_known);
	tcase_add_test(names, an_event_counts_one_thing);
	tcase_add_test(names, an_unknown_event_is_a_reason_not_to_count_by_papi);
	tcase_add_test(names, an_event_that_does_not_count_says_why);
	suite_add_tcase(s, names);
#endif
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
