/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Specs and views that are refused: the text names the option, or the job and its field, and the
 * next good view is decided as if nothing had been.
 */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/small_node.h"

static struct topo *machine;

static void setup(void)
{
	ck_assert_int_eq(topo_load(&machine, "pack:2 core:4", NULL), 0);
}

static void teardown(void)
{
	topo_free(machine);
}

static void assert_no_engine(const char *spec, struct policy_cfg cfg, const char *text)
{
	struct engine *e = NULL;
	struct errbuf err = {""};

	cfg.topo = machine;
	ck_assert_int_eq(engine_create(&e, spec, &cfg, &err), -EINVAL);
	ck_assert_ptr_null(e);
	ck_assert_str_eq(err.text, text);
}

START_TEST(a_spec_that_is_too_long_is_refused)
{
	char spec[600] = "lira,tie=";

	memset(spec + strlen(spec), 'm', sizeof(spec) - 1 - strlen(spec));
	assert_no_engine(spec, (struct policy_cfg){.max_jobs = 4},
		"policy 'lira,tie=mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm...': too long");
}
END_TEST

START_TEST(too_many_options_are_refused)
{
	struct policy_option option[33];
	char key[33][16];
	struct policy_cfg cfg = {.max_jobs = 4, .option = option, .n_options = 33};

	for (int i = 0; i < 33; i++) {
		snprintf(key[i], sizeof(key[i]), "key%d", i);
		option[i] = (struct policy_option){.key = key[i], .value = "1"};
	}
	assert_no_engine("fair", cfg, "more than 32 policy options");
	/* Another policy's do not count, nor does one that is given twice. */
	for (int i = 0; i < 33; i++)
		option[i].key = i % 2 ? "lira.tie" : "tie";
	assert_no_engine("fair", cfg, "policy 'fair': unknown option 'tie=1'");
}
END_TEST

START_TEST(an_engine_for_no_jobs_is_refused)
{
	assert_no_engine("fair", (struct policy_cfg){.max_jobs = 0}, "an engine for 0 jobs");
	assert_no_engine(
		"fair", (struct policy_cfg){.max_jobs = 100000}, "an engine for 100000 jobs");
}
END_TEST

/* Ways to spoil a good view of three jobs, and what is said to it. */
static const char *spoil(struct small_node *x, int how)
{
	static char long_id[JOB_ID_MAX + 8];
	static struct coreset reserved;
	static const int none[] = {0, 0}, first[] = {4, 0};

	switch (how) {
	case 0:
		x->job[1].id = "";
		return "job id '': 1 to 47 characters expected";
	case 1:
		memset(long_id, 'x', sizeof(long_id) - 1);
		x->job[1].id = long_id;
		return "job id 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx': 1 to 47 "
		       "characters expected";
	case 2:
		x->job[1].id = NULL;
		return "job id '': 1 to 47 characters expected";
	case 3:
		x->job[2].signal[SIGNAL_LOADS] = (struct signal){-1, PROVENANCE_HW};
		return "job j2: loads_per_s is -1";
	case 4:
		x->job[2].signal[SIGNAL_UTILIZATION] = (struct signal){NAN, PROVENANCE_OS};
		return "job j2: utilization is nan";
	case 5: /* known from the view before */
		x->job[2].id = x->job[0].id;
		return "job j0: twice in one view";
	case 6: /* both new */
		x->job[1].id = x->job[2].id = "new";
		return "job new: twice in one view";
	case 7:
		x->v.n_jobs = SMALL_NODE_JOBS + 1;
		return "41 jobs: the engine was made for 40";
	case 8:
		coreset_zero(&reserved);
		for (int pu = 0; pu < 4; pu++)
			coreset_add(&reserved, (unsigned int)pu);
		x->job[1].envelope = reserved;
		x->v.reserved = &reserved;
		return "job j1: envelope: no CPU is left in it (reserved?)";
	case 9:
		x->v.capacity = none;
		x->v.n_capacity = 2;
		return "capacity leaves no core";
	default: /* the second socket, of which nothing may be used */
		x->v.capacity = first;
		x->v.n_capacity = 2;
		for (int pu = 4; pu < 8; pu++)
			coreset_add(&x->job[1].envelope, (unsigned int)pu);
		return "job j1: capacity leaves no core of its envelope";
	}
}
#define SPOILS 11

START_TEST(a_spoilt_view_is_refused_by_name_and_forgotten)
{
	struct small_node x;
	struct view_job job[3];
	struct view v;
	struct coreset was[3];
	const char *text;

	small_node_open(&x, "pack:2 core:4", "fair", 3);
	small_node_decide(&x);
	small_node_decide(&x);
	memcpy(job, x.job, sizeof(job));
	v = x.v;
	for (int i = 0; i < 3; i++)
		was[i] = x.plan.job[i].coreset;
	text = spoil(&x, _i);
	ck_assert_int_eq(small_node_try(&x), -EINVAL);
	ck_assert_str_eq(x.err.text, text);
	memcpy(x.job, job, sizeof(job));
	x.v = v;
	small_node_decide(&x);
	for (int i = 0; i < 3; i++)
		ck_assert(coreset_is_equal(&x.plan.job[i].coreset, &was[i]));
	small_node_close(&x);
}
END_TEST

START_TEST(a_plan_for_fewer_jobs_is_refused)
{
	struct small_node x;
	struct errbuf err = {""};
	struct plan small;

	small_node_open(&x, "pack:2 core:4", "fair", 3);
	ck_assert_int_eq(plan_init(&small, 0, &err), -EINVAL);
	ck_assert_str_eq(err.text, "a plan for 0 jobs");
	ck_assert_int_eq(plan_init(&small, 2, &err), 0);
	ck_assert_int_eq(engine_decide(x.e, &x.v, &small, &err), -E2BIG);
	ck_assert_str_eq(err.text, "3 jobs: the plan has room for 2");
	plan_done(&small);
	small_node_close(&x);
}
END_TEST

/* Jobs that came at the same moment are told apart by their names, not by their place. */
START_TEST(jobs_of_one_order_go_by_their_names)
{
	struct small_node x;
	struct coreset first;

	small_node_open(&x, "pack:2 core:4", "fair", 2);
	x.job[0].order = x.job[1].order = 7;
	x.job[0].id = "b";
	x.job[1].id = "a";
	small_node_decide(&x);
	first = x.plan.job[1].coreset;
	small_node_close(&x);
	small_node_open(&x, "pack:2 core:4", "fair", 2);
	x.job[0].order = x.job[1].order = 7;
	x.job[0].id = "a";
	x.job[1].id = "b";
	small_node_decide(&x);
	ck_assert(coreset_is_equal(&x.plan.job[0].coreset, &first));
	small_node_close(&x);
}
END_TEST

/* What a user may call a job stays inside its string. */
START_TEST(names_in_the_explanation_are_quoted)
{
	struct small_node x;

	small_node_open(&x, "pack:2 core:4", "das-dam-c", 1);
	x.plan.want_explain = true;
	x.job[0].id = "a\"b\\c\nd";
	small_node_decide(&x);
	ck_assert_msg(strstr(x.plan.explain, "\"a\\\"b\\\\c\\u000ad\""), "%s", x.plan.explain);
	small_node_close(&x);
}
END_TEST

START_TEST(provenances_have_their_documented_names)
{
	ck_assert_str_eq(provenance_name(PROVENANCE_NONE), "none");
	ck_assert_str_eq(provenance_name(PROVENANCE_HW), "hw");
	ck_assert_str_eq(provenance_name(PROVENANCE_APP), "app");
	ck_assert_str_eq(provenance_name(PROVENANCE_PROFILE), "profile");
	ck_assert_str_eq(provenance_name(PROVENANCE_OS), "os");
}
END_TEST

/* gang has a slice per job only while all may take the whole node. */
START_TEST(gang_refuses_more_turns_than_there_are_slices)
{
	struct small_node x;

	small_node_open(&x, "pack:2 core:4", "gang", PLAN_SLICES_MAX + 1);
	small_node_decide(&x);
	ck_assert_int_eq(x.plan.n_slices, PLAN_SLICES_MAX);
	coreset_add(&x.job[5].envelope, 0);
	coreset_add(&x.job[5].envelope, 1);
	ck_assert_int_eq(small_node_try(&x), -EINVAL);
	ck_assert_str_eq(x.err.text,
		"job j0: envelope: differs from others', and 33 jobs need more than 32 slices");
	small_node_close(&x);
}
END_TEST

static TCase *tcase(Suite *s, const char *name)
{
	TCase *t = tcase_create(name);

	tcase_add_checked_fixture(t, setup, teardown);
	suite_add_tcase(s, t);
	return t;
}

int main(void)
{
	Suite *s = suite_create("engine_view");
	SRunner *r;
	TCase *t;
	int failed;

	t = tcase(s, "an engine that cannot be is refused");
	tcase_add_test(t, a_spec_that_is_too_long_is_refused);
	tcase_add_test(t, too_many_options_are_refused);
	tcase_add_test(t, an_engine_for_no_jobs_is_refused);
	t = tcase(s, "a view that cannot be is refused by job and field");
	tcase_add_loop_test(t, a_spoilt_view_is_refused_by_name_and_forgotten, 0, SPOILS);
	tcase_add_test(t, a_plan_for_fewer_jobs_is_refused);
	tcase_add_test(t, gang_refuses_more_turns_than_there_are_slices);
	t = tcase(s, "names mean what they say");
	tcase_add_test(t, jobs_of_one_order_go_by_their_names);
	tcase_add_test(t, names_in_the_explanation_are_quoted);
	tcase_add_test(t, provenances_have_their_documented_names);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
