/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options of the das policies that the papers leave off: tries now and then (explore=), and
 * times that grow old (age=).
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/small_node.h"

/* Of a type "t": places of core 0 as quick as given, the rest slow. */
static const struct ptt_entry table[] = {
	{"t", 0, 1, 1.0, 0},
	{"t", 0, 2, 8.0, 0},
	{"t", 0, 4, 8.0, 0},
	{"t", 1, 1, 8.0, 0},
	{"t", 2, 1, 8.0, 0},
	{"t", 2, 2, 8.0, 0},
	{"t", 3, 1, 8.0, 0},
};
#define N_TABLE (int)(sizeof(table) / sizeof(table[0]))

static void open_node(struct small_node *x, const char *spec)
{
	small_node_open(x, "pack:1 core:4", spec, 1);
	x->v.ptt = table;
	x->v.n_ptt = N_TABLE;
	x->v.seed = 1;
	x->job[0].type = "t";
	x->job[0].core = 0;
}

/* A task of the type ended on core 0 alone after so long: the job is looked at anew. */
static void task_done(struct small_node *x, struct event *e, double seconds)
{
	*e = (struct event){.type = EVENT_TASK_DONE,
		.task_type = "t",
		.core = 0,
		.width = 1,
		.seconds = seconds};
	x->v.event = e;
	x->v.n_events = 1;
	x->v.now_s += 1;
	small_node_decide(x);
}

/* How often in a thousand looks the job got how many cores. */
static void count_widths(const char *spec, int ret[5])
{
	struct small_node x;
	struct event e;

	memset(ret, 0, 5 * sizeof(*ret));
	open_node(&x, spec);
	small_node_decide(&x);
	for (int i = 0; i < 1000; i++) {
		/* Where it starts decides which places are local. */
		x.job[0].core = 0;
		task_done(&x, &e, 1);
		ck_assert_int_le(x.plan.job[0].cores, 4);
		ck_assert(coreset_has(&x.plan.job[0].coreset, 0));
		ret[x.plan.job[0].cores]++;
	}
	small_node_close(&x);
}

START_TEST(explore_tries_each_place_of_the_core_as_often_as_told)
{
	int never[5], some[5], always[5];

	count_widths("das-rwsm-c", never);
	ck_assert_int_eq(never[1], 1000);
	count_widths("das-rwsm-c,explore=0.3", some);
	/* Two of three tries are not the best place: 200 of 1000, and six deviations (76). */
	ck_assert_int_ge(some[2] + some[4], 124);
	ck_assert_int_le(some[2] + some[4], 276);
	count_widths("das-rwsm-c,explore=1", always);
	for (int w = 1; w <= 4; w *= 2) {
		ck_assert_int_ge(always[w], 233);
		ck_assert_int_le(always[w], 433);
	}
}
END_TEST

START_TEST(explore_leaves_a_taken_place_alone)
{
	struct small_node x;
	struct event e;

	open_node(&x, "das-rwsm-c,explore=1");
	x.v.n_jobs = 2;
	x.job[0].type = "u"; /* of which no task ends: it stays */
	x.job[0].core = 3;
	coreset_add(&x.job[0].envelope, 3);
	x.job[1].type = "t";
	small_node_decide(&x);
	for (int i = 0; i < 200; i++) {
		x.job[1].core = 0;
		task_done(&x, &e, 1);
		ck_assert_int_eq(x.plan.job[0].cores, 1);
		ck_assert_int_le(x.plan.job[1].cores, 2);
		ck_assert(!coreset_has(&x.plan.job[1].coreset, 3));
	}
	small_node_close(&x);
}
END_TEST

/* Core 1 was slow once; nothing of it is heard again. */
static int looks_until_core_1(const char *spec)
{
	static const struct ptt_entry once[] = {
		{"t", 0, 1, 1.0, 0}, {"t", 0, 2, 9.0, 0}, {"t", 1, 1, 1.5, 0}};
	struct small_node x;
	struct event e;
	int looks = 0;

	small_node_open(&x, "pack:1 core:2", spec, 1);
	x.v.ptt = once;
	x.v.n_ptt = 3;
	x.job[0].type = "t";
	x.job[0].has_priority = x.job[0].priority_high = true;
	small_node_decide(&x);
	ck_assert(coreset_has(&x.plan.job[0].coreset, 0));
	/* Core 0 has become a little slower than core 1 was at its best; not as slow as it is
	 * remembered. */
	while (looks < 200 && coreset_has(&x.plan.job[0].coreset, 0)) {
		task_done(&x, &e, 1.2);
		looks++;
	}
	small_node_close(&x);
	return looks;
}

START_TEST(age_tries_a_place_again_that_was_slow_once)
{
	int soon = looks_until_core_1("das-da,age=5"), late = looks_until_core_1("das-da,age=50");

	ck_assert_int_eq(looks_until_core_1("das-da"), 200);
	ck_assert_int_gt(soon, 5);
	ck_assert_int_eq(late - soon, 45);
	ck_assert_int_lt(late, 200);
}
END_TEST

/* What is decided of a "t" of owner 2, after tasks of @owner's @type were seen at every place. */
static void decide_after(const char *type, int64_t owner, char *ret, size_t size)
{
	struct small_node x;
	struct event e;

	small_node_open(&x, "pack:1 core:4", "das-dam-p", 1);
	x.plan.want_explain = true;
	x.job[0].type = "t";
	x.job[0].owner = 2;
	x.job[0].has_priority = x.job[0].priority_high = true;
	for (int i = 0; i < N_TABLE; i++) {
		e = (struct event){.type = EVENT_TASK_DONE,
			.task_type = type,
			.owner = owner,
			.core = table[i].core,
			.width = table[i].width,
			.seconds = table[i].core == 2 ? 1 : 8};
		x.v.event = &e;
		x.v.n_events = 1;
		x.v.n_jobs = i == N_TABLE - 1;
		x.v.now_s += 1;
		small_node_decide(&x);
	}
	snprintf(ret, size, "%d+%d: %s; %s", x.plan.job[0].place_core, x.plan.job[0].place_width,
		x.plan.job[0].why, x.plan.explain);
	small_node_close(&x);
}

START_TEST(what_is_learnt_is_its_owners)
{
	static char own[PLAN_EXPLAIN_MAX + 400], others[sizeof(own)], nobodys[sizeof(own)];

	decide_after("t", 2, own, sizeof(own));
	decide_after("t", 1, others, sizeof(others));
	decide_after("u", 1, nobodys, sizeof(nobodys));
	ck_assert_str_eq(others, nobodys);
	ck_assert_int_eq(strncmp(own, "2+", 2), 0);
	ck_assert_int_ne(strncmp(others, "2+", 2), 0);
}
END_TEST

/* A table that a driver brings has owners, too. */
START_TEST(a_table_is_its_owners)
{
	static struct ptt_entry own[N_TABLE];
	struct small_node x;

	memcpy(own, table, sizeof(own));
	for (int i = 0; i < N_TABLE; i++) {
		own[i].owner = 2;
		own[i].seconds = own[i].core == 2 ? 1 : 8;
	}
	for (int owner = 1; owner <= 2; owner++) {
		small_node_open(&x, "pack:1 core:4", "das-dam-p", 1);
		x.v.ptt = own;
		x.v.n_ptt = N_TABLE;
		x.job[0].type = "t";
		x.job[0].owner = owner;
		x.job[0].has_priority = x.job[0].priority_high = true;
		small_node_decide(&x);
		ck_assert_int_eq(x.plan.job[0].place_core, owner == 2 ? 2 : 0);
		small_node_close(&x);
	}
}
END_TEST

/* Who has programs without end crowds out his own. */
START_TEST(the_owner_who_has_most_makes_room)
{
	static struct ptt_entry own[N_TABLE];
	static char name[300][16];
	static struct event e[300];
	struct small_node x;

	memcpy(own, table, sizeof(own));
	for (int i = 0; i < N_TABLE; i++) {
		own[i].owner = 2;
		own[i].seconds = own[i].core == 2 ? 1 : 8;
	}
	for (int i = 0; i < 300; i++) {
		snprintf(name[i], sizeof(name[i]), "x%d", i);
		e[i] = (struct event){.type = EVENT_TASK_DONE,
			.task_type = name[i],
			.owner = 1,
			.width = 1,
			.seconds = 1};
	}
	small_node_open(&x, "pack:1 core:4", "das-dam-p", 1);
	x.v.ptt = own;
	x.v.n_ptt = N_TABLE;
	x.v.event = e;
	x.v.n_events = 300;
	x.job[0].type = "u";
	x.job[0].owner = 1;
	small_node_decide(&x);
	x.v.n_events = 0;
	x.v.now_s += 1;
	snprintf(x.id[0], sizeof(x.id[0]), "next");
	x.job[0].type = "t";
	x.job[0].owner = 2;
	x.job[0].has_priority = x.job[0].priority_high = true;
	coreset_zero(&x.job[0].current);
	small_node_decide(&x);
	ck_assert_int_eq(x.plan.job[0].place_core, 2);
	small_node_close(&x);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("das");
	SRunner *r;
	TCase *t;
	int failed;

	t = tcase_create("explore= takes a place by chance");
	tcase_add_test(t, explore_tries_each_place_of_the_core_as_often_as_told);
	tcase_add_test(t, explore_leaves_a_taken_place_alone);
	suite_add_tcase(s, t);
	t = tcase_create("what is learnt of a program is its owner's");
	tcase_add_test(t, what_is_learnt_is_its_owners);
	tcase_add_test(t, a_table_is_its_owners);
	tcase_add_test(t, the_owner_who_has_most_makes_room);
	suite_add_tcase(s, t);
	t = tcase_create("age= lets times grow old");
	tcase_add_test(t, age_tries_a_place_again_that_was_slow_once);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
