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
	assert_no_engine("fair", (struct policy_cfg){.max_jobs = 0},
		"an engine for 0 jobs: 1 to 1024 expected");
	assert_no_engine("fair", (struct policy_cfg){.max_jobs = 100000},
		"an engine for 100000 jobs: 1 to 1024 expected");
}
END_TEST

/* Ways to spoil a good view of three jobs, and what is said to it. */
static const char *spoil(struct small_node *x, int how)
{
	static char long_id[JOB_ID_MAX + 8];
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
	case 3: /* known from the view before */
		x->job[2].id = x->job[0].id;
		return "job j0: twice in one view";
	case 4: /* both new */
		x->job[1].id = x->job[2].id = "new";
		return "job new: twice in one view";
	case 5:
		x->v.n_jobs = SMALL_NODE_JOBS + 1;
		return "41 jobs: the engine was made for 40";
	case 6:
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
#define SPOILS 8

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

/* Figures of job 2 that cannot be, and what is said of it. */
static const char *spoil_figure(struct view_job *j, int how)
{
	static struct speed_point speed[2] = {{1, 1}, {2, 1e308}};

	switch (how) {
	case 0:
		j->signal[SIGNAL_LOADS] = (struct signal){-1, PROVENANCE_HW};
		return "loads_per_s: no figure, taken for unknown";
	case 1:
		j->signal[SIGNAL_UTILIZATION] = (struct signal){NAN, PROVENANCE_OS};
		return "utilization: no figure, taken for unknown";
	case 2:
		j->signal[SIGNAL_INSTRUCTIONS] = (struct signal){INFINITY, PROVENANCE_PROFILE};
		return "instructions_per_s: no figure, taken for unknown";
	case 3:
		j->signal[SIGNAL_PROGRESS] = (struct signal){1e308, PROVENANCE_APP};
		return "progress_per_s: no figure, taken for unknown";
	case 4:
		j->speed = speed;
		j->n_speed = 2;
		return "speed: no figure, taken for unknown";
	case 5:
		j->rss_bytes = NAN;
		return "rss_bytes: no figure, taken for unknown";
	case 6:
		j->qos = INFINITY;
		return "qos: no figure, taken for unknown";
	case 7:
		j->in_turns = true;
		j->wanted_s = NAN;
		return "wanted_s or served_s: no figure, taken for unknown";
	case 8:
		j->has_executed = true;
		j->executed = 1.5;
		return "executed: no figure, taken for unknown";
	default:
		j->min_cores = 1000;
		return "min_cores: more than its envelope has";
	}
}
#define FIGURES 10

static const char *const all_policies[] = {"fair", "spread", "callisto", "lira", "llc-complex",
	"dio", "sbmp", "sbmp-cd", "gang", "das-dam-c", "mapper", "hillclimb", "auto"};
#define N_POLICIES (int)(sizeof(all_policies) / sizeof(all_policies[0]))

START_TEST(a_bad_figure_is_one_jobs_alone)
{
	const char *spec = all_policies[_i / FIGURES], *text;
	struct small_node x;
	int rc;

	small_node_open(&x, "pack:2 core:4", spec, 3);
	x.plan.want_explain = true;
	for (int i = 0; i < 3; i++)
		for (int s = 0; s < SIGNAL_COUNT; s++)
			x.job[i].signal[s] = (struct signal){0.5, PROVENANCE_HW};
	text = spoil_figure(&x.job[2], _i % FIGURES);
	rc = small_node_try(&x);
	/* What needs the figure says so of this job; whoever stands in has it placed. */
	if (rc == -ENODATA || rc == -ENOTSUP) {
		ck_assert_msg(strncmp(x.err.text, "job j2: ", 8) == 0, "%s", x.err.text);
	} else {
		ck_assert_msg(rc == 0, "%s: %s", spec, x.err.text);
		ck_assert_msg(strstr(x.plan.job[2].why, text) != NULL, "%s: '%s' wanted, '%s'",
			spec, text, x.plan.job[2].why);
		ck_assert(!strstr(x.plan.job[0].why, text) && !strstr(x.plan.job[1].why, text));
	}
	ck_assert(rc == 0 || strcmp(spec, "fair") != 0);
	small_node_close(&x);
}
END_TEST

START_TEST(a_job_without_a_cpu_keeps_nobody_from_being_placed)
{
	struct small_node x;
	struct coreset reserved;

	small_node_open(&x, "pack:2 core:4", "fair", 3);
	x.plan.want_explain = true;
	coreset_zero(&reserved);
	coreset_add_range(&reserved, 0, 3);
	x.job[1].envelope = reserved;
	x.v.reserved = &reserved;
	small_node_decide(&x);
	ck_assert_int_eq(x.plan.job[1].role, ROLE_EXCLUDED);
	ck_assert_ptr_nonnull(strstr(x.plan.job[1].why, "no CPU is left in it (reserved?)"));
	ck_assert_int_eq(x.plan.job[0].cores, 2);
	ck_assert_int_eq(x.plan.job[2].cores, 2);
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
	ck_assert_str_eq(provenance_name(PROVENANCE_CALLS), "calls");
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
	ck_assert_int_eq(small_node_try(&x), -ENOTSUP);
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
	t = tcase(s, "one job's bad figure is that job's alone");
	tcase_add_loop_test(t, a_bad_figure_is_one_jobs_alone, 0, N_POLICIES * FIGURES);
	tcase_add_test(t, a_job_without_a_cpu_keeps_nobody_from_being_placed);
	t = tcase(s, "what there is no room for is refused");
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
