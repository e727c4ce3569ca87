/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guard over policies in the daemon: which sets are the same, what a verdict does to the steps,
 * and what is left of it after a restart. Windows are the test's; the backend "none" moves nobody.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/msg.h"
#include "nodesvc/choose/internal.h"
#include "nodesvc/choose/choose.h"
#include "nodesvc/measure/measure.h"
#include "tests/unit/daemon_fixture.h"
#include "tests/unit/tmpdir.h"

static struct daemon d;
static struct tmpdir tmp;
static struct errbuf err;
static struct msg in, out;

static void node(void)
{
	strcpy(d.node->type, "model, 2 cores");
}

static void setup(void)
{
	memset(&err, 0, sizeof(err));
	tmpdir_create(&tmp);
	daemon_up(&d, tmp.dir, node);
	ck_assert_int_eq(quarantine_open(d.choose, &err), 0);
}

static void teardown(void)
{
	daemon_down(&d);
	tmpdir_remove(&tmp);
}

static struct step *start_as(uint32_t job, const char *type, uint32_t uid, const char *cores)
{
	msg_init(&in, "step_start");
	msg_putf(&in, "job", "%u", job);
	msg_put(&in, "step", "0");
	msg_putf(&in, "uid", "%u", uid);
	msg_put(&in, "ntasks", "1");
	msg_put(&in, "name", "/usr/bin/app");
	msg_put(&in, "tag", type);
	if (cores)
		msg_put(&in, "job_cores", cores);
	arrival_step(&d, &in, &out);
	arrival_after_answer(&d);
	ck_assert_str_eq(msg_get(&out, "type"), "step_ok");
	return jobs_find(d.jobs, job, 0, 0);
}

static struct step *start(uint32_t job, const char *type)
{
	return start_as(job, type, 0, NULL);
}

static void finish(uint32_t job)
{
	msg_init(&in, "step_end");
	msg_putf(&in, "job", "%u", job);
	msg_put(&in, "step", "0");
	departure_step(&d, &in);
}

/* One window of all that run: @ratio of the speed under Slurm's placement, a little up and down. */
static bool window(double ratio)
{
	static int k;
	int n = jobs_count_managed(d.jobs);
	struct quarantine_window w = {.steps = n,
		.known = n,
		.sum_log = n * (log(ratio) + (k++ % 2 ? 0.01 : -0.01)),
		.bases = UINT32_C(1) << PROVENANCE_APP};

	return quarantine_window(d.choose, &w);
}

static bool windows(double ratio, int n)
{
	bool decided = false;

	while (n-- > 0 && !decided)
		decided = window(ratio);
	return decided;
}

static void tick(void)
{
	decide_run(d.choose, EVENT_TICK, NULL, NULL);
}

/* colocd ends and is started again; the steps are those of before. */
static void restart(void)
{
	quarantine_close(d.choose);
	daemon_close_rooms(&d);
	record_close(d.record);
	d.record = NULL;
	ck_assert_int_eq(record_open(&d.record, tmpdir_path(&tmp, "coloc.db"), false, &err), 0);
	ck_assert_int_eq(daemon_open_rooms(&d, &err), 0);
	d.choose->record = d.record;
	d.choose->measure = d.measure;
	d.choose->books = d.books;
	ck_assert_int_eq(quarantine_open(d.choose, &err), 0);
	tick();
}

static const struct judged *only(void)
{
	ck_assert_int_eq(quarantine_count(d.choose), 1);
	return quarantine_get(d.choose, 0);
}

/* ---- sets ---- */

START_TEST(a_set_is_the_same_in_any_order)
{
	start(1, "lmp");
	start(2, "gmx");
	start(3, "lmp");
	window(1);
	finish(1);
	finish(2);
	finish(3);
	start(4, "gmx");
	start(5, "lmp");
	start(6, "lmp");
	window(1);
	ck_assert_str_eq(only()->members, "gmx@root:2 + 2*lmp@root:2");
	ck_assert_int_eq(only()->windows, 2);
	ck_assert_str_eq(only()->policy, "fair");
	ck_assert_str_eq(only()->node_type, "model, 2 cores");
	ck_assert_str_eq(only()->basis, "app");
}
END_TEST

START_TEST(users_widths_programs_and_numbers_tell_sets_apart)
{
	start_as(1, "lmp", 0, "0-1");
	window(1);
	start_as(2, "lmp", 0, "0-1");
	window(1);
	finish(2);
	finish(1);
	start_as(3, "lmp", 65534, "0-1");
	window(1);
	finish(3);
	start_as(4, "lmp", 0, "1");
	window(1);
	finish(4);
	start_as(5, "lmp2", 0, "0-1");
	window(1);
	ck_assert_int_eq(quarantine_count(d.choose), 5);
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(quarantine_get(d.choose, i)->windows, 1);
}
END_TEST

/* A user's name for his program is not another set's, nor anything for a terminal. */
START_TEST(hostile_names_stay_names)
{
	start(1, "a@root:2 + b");
	window(1);
	ck_assert_str_eq(only()->members, "a%40root%3a2%20%2b%20b@root:2");
	finish(1);
	start(2, "\x1b[2J\n2*x");
	window(1);
	ck_assert_str_eq(quarantine_get(d.choose, 1)->members, "%3f%5b2J%3f2%2ax@root:2");
}
END_TEST

START_TEST(ids_differ_and_last)
{
	uint32_t id;

	start(1, "lmp");
	window(1);
	id = quarantine_id(quarantine_get(d.choose, 0));
	start(2, "gmx");
	window(1);
	ck_assert_uint_ne(id, quarantine_id(quarantine_get(d.choose, 1)));
	restart();
	ck_assert_int_eq(quarantine_count(d.choose), 2);
	ck_assert(quarantine_id(quarantine_get(d.choose, 0)) == id ||
		  quarantine_id(quarantine_get(d.choose, 1)) == id);
}
END_TEST

/* Users make sets as they please: more of one than there is room for. */
static void fill(void)
{
	char type[16];

	for (int i = 0; i < QUARANTINE_SETS_MAX + 20; i++) {
		snprintf(type, sizeof(type), "t%d", i);
		start((uint32_t)i + 2, type);
		window(1);
		finish((uint32_t)i + 2);
	}
	ck_assert_int_eq(quarantine_count(d.choose), QUARANTINE_SETS_MAX);
}

START_TEST(sets_are_bounded_and_quarantines_stay)
{
	start(1, "bad");
	ck_assert(windows(0.5, 6));
	finish(1);
	fill();
	start(9999, "bad");
	ck_assert(jobs_find(d.jobs, 9999, 0, 0)->held);
	restart();
	ck_assert_int_eq(quarantine_count(d.choose), QUARANTINE_SETS_MAX);
	ck_assert(jobs_find(d.jobs, 9999, 0, 0)->held);
}
END_TEST

START_TEST(who_has_most_sets_makes_room)
{
	int theirs = 0;

	start_as(1, "rare", 1, NULL);
	window(1);
	finish(1);
	fill();
	for (int i = 0; i < quarantine_count(d.choose); i++)
		theirs += strncmp(quarantine_get(d.choose, i)->members, "rare@", 5) == 0;
	ck_assert_int_eq(theirs, 1);
}
END_TEST

/* ---- a loss ---- */

static const char *coreset_of(const struct step *s)
{
	static char text[CORESET_STR_MAX];

	return coreset_format(&s->coreset, text, sizeof(text));
}

START_TEST(a_policy_that_makes_a_set_worse_is_taken_back)
{
	struct step *a = start(1, "lmp"), *b = start(2, "gmx");
	const struct decision *dec;

	ck_assert_str_eq(coreset_of(a), "0");
	ck_assert(!windows(0.7, 4));
	ck_assert(!a->held);
	ck_assert(windows(0.7, 2));
	tick();
	ck_assert(a->held && b->held);
	ck_assert_str_eq(coreset_of(a), "");
	ck_assert_str_eq(coreset_of(b), "");
	ck_assert_str_eq(a->policy, "none");
	ck_assert_ptr_nonnull(strstr(step_reason(a), "guard: fair made these programs 0."));
	ck_assert_str_eq(step_guard(a), "quarantined");
	dec = step_get_decision(b, 0);
	ck_assert_ptr_nonnull(strstr(dec->why, "guard: fair"));
	/* Nothing moves them again, and nothing is noted at every tick. */
	for (int i = 0; i < 5; i++)
		tick();
	ck_assert_ptr_eq(step_get_decision(b, 0), dec);
	ck_assert_str_eq(coreset_of(a), "");
}
END_TEST

START_TEST(a_good_policy_and_a_small_loss_are_left_alone)
{
	struct step *a = start(1, "lmp");

	ck_assert(!windows(1.3, 40));
	ck_assert_str_eq(step_guard(a), "better");
	finish(1);
	a = start(2, "gmx");
	ck_assert(!windows(0.97, 100));
	tick();
	ck_assert(!a->held);
	ck_assert_str_eq(step_guard(a), "worse"); /* told, and not acted on */
}
END_TEST

START_TEST(a_set_in_quarantine_is_left_alone_from_its_start)
{
	struct step *a, *b;

	start(1, "lmp");
	start(2, "gmx");
	windows(0.7, 6);
	finish(1);
	finish(2);
	a = start(3, "gmx");
	ck_assert(!a->held); /* alone it is another set */
	ck_assert_str_eq(coreset_of(a), "0-1");
	b = start(4, "lmp");
	ck_assert(a->held && b->held);
	ck_assert_str_eq(msg_get(&out, "policy"), "none");
	ck_assert_ptr_nonnull(strstr(msg_get(&out, "reason"), "in quarantine until"));
	/* Both sides of a window had it. */
	ck_assert_ptr_nonnull(msg_get(&out, "env"));
	ck_assert_ptr_nonnull(strstr(msg_get(&out, "env"), "="));
}
END_TEST

START_TEST(other_company_is_another_set)
{
	struct step *a = start(1, "lmp"), *c;

	start(2, "gmx");
	windows(0.7, 6);
	tick();
	ck_assert(a->held);
	c = start(3, "amg");
	ck_assert(!a->held && !c->held);
	ck_assert_str_ne(coreset_of(a), "");
	ck_assert_str_eq(a->policy, "fair");
	ck_assert_str_eq(step_reason(a), "");
	finish(3);
	ck_assert(a->held);
	ck_assert_str_eq(coreset_of(a), "");
	/* Its record keeps that it was. */
	finish(2);
	ck_assert(!a->held);
	ck_assert_str_eq(step_guard(a), "quarantined");
}
END_TEST

static void rule(const char *policy)
{
	snprintf(d.conf->policy, sizeof(d.conf->policy), "%s", policy);
	ck_assert_int_eq(ruling_reconfigure(d.choose, &err), 0);
	tick();
}

START_TEST(quarantine_is_the_policys_own)
{
	struct step *a = start(1, "lmp");

	start(2, "gmx");
	windows(0.7, 6);
	tick();
	ck_assert(a->held);
	rule("spread");
	ck_assert(!a->held);
	ck_assert_str_eq(a->policy, "spread");
	rule("fair");
	ck_assert(a->held);
	rule("none");
	ck_assert(!a->held);
	ck_assert_str_eq(a->policy, "none");
	ck_assert_str_eq(step_reason(a), "");
}
END_TEST

/* lira has no signals here: fair stands in, and what fair does is fair's. */
START_TEST(the_fallback_is_judged_for_itself)
{
	struct step *a;

	snprintf(d.conf->policy, sizeof(d.conf->policy), "lira,tie=first");
	ck_assert_int_eq(ruling_reconfigure(d.choose, &err), 0);
	a = start(1, "lmp");
	start(2, "gmx");
	start(3, "amg");
	ck_assert_str_eq(a->policy, "fair");
	windows(0.7, 6);
	ck_assert_str_eq(only()->policy, "fair");
	tick();
	ck_assert(a->held);
	ck_assert_ptr_nonnull(strstr(step_reason(a), "guard: fair"));
}
END_TEST

START_TEST(who_stands_in_for_a_quarantined_policy_is_not_tried)
{
	struct judged j = {.policy = "lira",
		.node_type = "model, 2 cores",
		.members = "amg@root:2 + gmx@root:2 + lmp@root:2",
		.windows = 9,
		.mean = -0.5,
		.m2 = 0.01,
		.last_unix_s = time(NULL),
		.until_unix_s = time(NULL) + 100};
	struct step *a;

	snprintf(d.conf->policy, sizeof(d.conf->policy), "lira");
	ck_assert_int_eq(ruling_reconfigure(d.choose, &err), 0);
	a = start(1, "lmp");
	start(2, "gmx");
	start(3, "amg");
	ck_assert_str_eq(a->policy, "fair");
	ck_assert_int_eq(record_judged_put(d.record, &j, &err), 0);
	restart();
	ck_assert(a->held);
	ck_assert_ptr_nonnull(strstr(step_reason(a), "guard: lira"));
}
END_TEST

START_TEST(a_fallback_that_does_not_decide_holds_nobody)
{
	struct quarantine_says says;
	struct step *a = start(1, "lmp");

	start(2, "gmx");
	windows(0.7, 6); /* fair's, which stands in where spread cannot */
	tick();
	quarantine_say(d.choose, &says);
	ck_assert(says.held);
	ck_assert_ptr_eq(says.set, only());
	rule("spread");
	ck_assert(!a->held);
	quarantine_say(d.choose, &says);
	ck_assert_ptr_null(says.set);
	ck_assert(!says.held);
	ck_assert_int_eq(says.judged.verdict, VERDICT_UNKNOWN);
}
END_TEST

START_TEST(options_of_the_configuration_are_part_of_the_policy)
{
	struct step *a;

	d.conf->policy_options.n = 1;
	strcpy(d.conf->policy_options.pair[0].key, "das-rws.age");
	strcpy(d.conf->policy_options.pair[0].value, "5");
	snprintf(d.conf->policy, sizeof(d.conf->policy), "das-rws,weight=2");
	ck_assert_int_eq(ruling_reconfigure(d.choose, &err), 0);
	a = start(1, "lmp");
	ck_assert_str_eq(a->policy, "das-rws");
	ck_assert(windows(0.7, 6));
	ck_assert_str_eq(only()->policy, "das-rws,age=5,weight=2");
	tick();
	ck_assert(a->held);
	strcpy(d.conf->policy_options.pair[0].value, "6");
	rule("das-rws,weight=2");
	ck_assert(!a->held);
}
END_TEST

/* ---- time ---- */

START_TEST(a_restart_forgets_nothing)
{
	struct step *a = start(1, "lmp");

	windows(0.7, 3);
	restart();
	ck_assert_int_eq(only()->windows, 3);
	ck_assert(windows(0.7, 3));
	restart();
	ck_assert(a->held);
	ck_assert_int_eq(only()->times, 1);
	ck_assert_int_eq(only()->windows, 5);
	ck_assert(quarantine_is_active(only()));
}
END_TEST

static void put(int64_t last_s, int64_t until_s)
{
	struct judged j = {.policy = "fair",
		.node_type = "model, 2 cores",
		.members = "lmp@root:2",
		.windows = 9,
		.mean = -0.5,
		.m2 = 0.01,
		.last_unix_s = time(NULL) + last_s,
		.until_unix_s = until_s ? time(NULL) + until_s : 0,
		.times = 1};

	ck_assert_msg(record_judged_put(d.record, &j, &err) == 0, "%s", err.text);
	restart();
}

START_TEST(after_its_time_the_policy_is_tried_anew)
{
	struct step *a = start(1, "lmp");

	put(-100, 50);
	ck_assert(a->held);
	put(-100, -1);
	ck_assert(!a->held);
	/* What led to it does not count any more: it is not back at the first window. */
	ck_assert_int_eq(only()->windows, 0);
	ck_assert(!window(0.7));
	ck_assert_int_eq(only()->windows, 1);
	ck_assert_int_eq(only()->times, 1);
	ck_assert(windows(0.7, 5));
	ck_assert_int_eq(only()->times, 2);
}
END_TEST

START_TEST(a_clock_set_back_does_not_make_it_longer)
{
	struct step *a = start(1, "lmp");

	put(0, 1000000000);
	ck_assert(a->held);
	ck_assert_int_le(only()->until_unix_s, time(NULL) + 168 * 3600);
}
END_TEST

START_TEST(what_is_too_old_is_forgotten)
{
	start(1, "lmp");
	put(-168 * 3600 - 10, 0);
	ck_assert_int_eq(quarantine_count(d.choose), 0);
	restart();
	ck_assert_int_eq(quarantine_count(d.choose), 0);
	put(-168 * 3600 + 100, 0);
	ck_assert_int_eq(only()->windows, 9);
}
END_TEST

START_TEST(the_operator_forgets_one_or_all)
{
	struct step *a = start(1, "lmp");
	uint32_t id, other = 1;

	windows(0.7, 6);
	tick();
	ck_assert(a->held);
	id = quarantine_id(only());
	ck_assert_int_eq(quarantine_forget(d.choose, &other), 0);
	ck_assert_int_eq(quarantine_forget(d.choose, &id), 1);
	tick();
	ck_assert(!a->held);
	ck_assert_str_eq(coreset_of(a), "0-1");
	restart();
	ck_assert_int_eq(quarantine_count(d.choose), 0);
	window(1);
	start(2, "gmx");
	window(1);
	ck_assert_int_eq(quarantine_forget(d.choose, NULL), 2);
}
END_TEST

/* ---- unknown ---- */

static const char *why(void)
{
	static struct quarantine_says says;

	quarantine_say(d.choose, &says);
	ck_assert_int_eq(says.judged.verdict, VERDICT_UNKNOWN);
	return says.why;
}

START_TEST(without_everybodys_speed_nothing_is_judged)
{
	struct quarantine_window w = {.steps = 2, .known = 1, .sum_log = -5};

	start(1, "lmp");
	start(2, "gmx");
	ck_assert_str_eq(why(), "nothing is moved"); /* the backend is "none" */
	for (int i = 0; i < 20; i++)
		ck_assert(!quarantine_window(d.choose, &w));
	ck_assert_int_eq(quarantine_count(d.choose), 0);
}
END_TEST

START_TEST(switched_off_it_judges_nothing_and_lets_go)
{
	struct step *a = start(1, "lmp");

	windows(0.7, 6);
	tick();
	ck_assert(a->held);
	d.conf->guard.enabled = false;
	tick();
	ck_assert(!a->held);
	ck_assert(!windows(0.5, 10));
	ck_assert_int_eq(only()->windows, 5);
	ck_assert(strstr(why(), "guard.enabled is no"));
	d.conf->guard.enabled = true;
	tick();
	ck_assert(a->held);
}
END_TEST

START_TEST(without_windows_it_says_so)
{
	d.conf->baseline_fraction = 0;
	start(1, "lmp");
	ck_assert_str_eq(why(), "baseline_fraction is 0: no windows");
}
END_TEST

/* Released by the operator: none of the guard's business any more. */
START_TEST(a_released_step_is_not_held)
{
	struct step *a = start(1, "lmp");

	windows(0.7, 6);
	tick();
	levers_restore(d.levers, a, STATUS_RELEASED, "colocctl release");
	ck_assert_str_eq(step_reason(a), "colocctl release");
	tick();
	ck_assert_int_eq(a->status, STATUS_RELEASED);
}
END_TEST

static void add(Suite *s, const char *name, const TTest *const *tests, int n)
{
	TCase *t = tcase_create(name);

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	for (int i = 0; i < n; i++)
		tcase_add_test(t, tests[i]);
	suite_add_tcase(s, t);
}
#define ADD(s, name, ...)                                                                          \
	add(s, name, (const TTest *const[]){__VA_ARGS__},                                          \
		(int)(sizeof((const TTest *const[]){__VA_ARGS__}) / sizeof(const TTest *)))

int main(void)
{
	Suite *s = suite_create("quarantine");
	SRunner *r;
	int failed;

	ADD(s, "sets of programs are told apart, whatever their order",
		a_set_is_the_same_in_any_order, users_widths_programs_and_numbers_tell_sets_apart,
		hostile_names_stay_names, ids_differ_and_last,
		sets_are_bounded_and_quarantines_stay, who_has_most_sets_makes_room);
	ADD(s, "a policy that makes a set worse is kept away from it",
		a_policy_that_makes_a_set_worse_is_taken_back,
		a_good_policy_and_a_small_loss_are_left_alone,
		a_set_in_quarantine_is_left_alone_from_its_start, other_company_is_another_set,
		quarantine_is_the_policys_own, the_fallback_is_judged_for_itself,
		a_fallback_that_does_not_decide_holds_nobody,
		who_stands_in_for_a_quarantined_policy_is_not_tried,
		options_of_the_configuration_are_part_of_the_policy);
	ADD(s, "a quarantine lasts its time", a_restart_forgets_nothing,
		after_its_time_the_policy_is_tried_anew, a_clock_set_back_does_not_make_it_longer,
		what_is_too_old_is_forgotten, the_operator_forgets_one_or_all);
	ADD(s, "what is not known is not acted on", without_everybodys_speed_nothing_is_judged,
		switched_off_it_judges_nothing_and_lets_go, without_windows_it_says_so,
		a_released_step_is_not_held);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
