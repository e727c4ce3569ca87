/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every policy that runs on a node, over random lives of a node: jobs arrive and end, signals
 * drift, each plan is what runs when the next view is seen. Whatever a policy decides, also to
 * stay, must hold the invariants, which engine_decide() checks.
 */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/engine/engine.h"

#define JOBS  12
#define VIEWS 120

static const char *const topologies[] = {
	"core:2 pu:1", "pack:2 core:4 pu:1", "pack:2 l3:2 core:3 pu:2", "pack:1 core:6 pu:1"};

static uint64_t state;

static uint32_t next_random(void)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(state >> 33);
}

static double between(double lo, double hi)
{
	return lo + (hi - lo) * (next_random() % 10001) / 10000;
}

static const struct speed_point speeds[] = {{1, 1}, {2, 1.8}, {4, 3}, {8, 4}};

static void new_job(struct view_job *j, char *id, int number)
{
	static const char *const types[] = {"a", "b", "c"};

	memset(j, 0, sizeof(*j));
	snprintf(id, 16, "%d.0", number);
	j->id = id;
	j->type = types[number % 3];
	j->order = number;
	j->threads = 1 + (int)(next_random() % 8);
	j->home_numa = -1;
	j->rss_bytes = -1;
	j->core = 0;
	j->has_priority = next_random() % 2;
	j->priority_high = next_random() % 2;
	j->speed = speeds;
	j->n_speed = 4;
	j->excluded = false;
	j->bursty = next_random() % 4 == 0;
	j->coupled = next_random() % 2 == 0;
	j->polling = next_random() % 4 == 0 ? 2 + (int)(next_random() % 4) : 0;
}

static void new_sample(struct view_job *j)
{
	static const double top[] = {1e9, 1e9, 1e8, 1e7, 1e9};

	for (int s = 0; s <= SIGNAL_MEM_BYTES; s++)
		j->signal[s] = (struct signal){between(0, top[s]), PROVENANCE_HW};
	j->signal[SIGNAL_LLC_MISS_RATIO] = (struct signal){between(0, 1), PROVENANCE_HW};
	j->signal[SIGNAL_UTILIZATION] = (struct signal){between(0, 1), PROVENANCE_OS};
	j->signal[SIGNAL_PROGRESS] = (struct signal){between(1, 100), PROVENANCE_APP};
	j->signal[SIGNAL_TIME_LEFT] = (struct signal){between(1, 100), PROVENANCE_APP};
	j->in_turns = true;
	j->wanted_s += between(0.5, 1);
	j->served_s += between(0, 0.5);
	j->sample_no++;
}

static void live(const struct policy_ops *ops, const struct topo *t, uint64_t seed)
{
	struct policy_cfg cfg = {.topo = t, .max_jobs = JOBS, .share_smt = seed % 4 == 0};
	struct view_job job[JOBS];
	static char id[JOBS][16];
	struct engine *e;
	struct plan plan;
	struct errbuf err = {""};
	int n = 0, number = 1;
	struct coreset fast;
	char gone[16];

	state = seed;
	coreset_zero(&fast);
	coreset_add(&fast, 0);
	ck_assert_int_eq(plan_init(&plan, JOBS, &err), 0);
	plan.want_explain = true;
	ck_assert_msg(engine_create(&e, ops->name, &cfg, &err) == 0, "%s", err.text);
	for (int i = 0; i < VIEWS; i++) {
		struct event ev = {.type = EVENT_TICK};
		struct view v = {.now_s = 0.1 * i, .seed = seed, .event = &ev, .n_events = 1};
		uint32_t what = next_random() % 10;
		int rc;

		if (n == 0 || (what < 2 && n < JOBS)) {
			char *mine = id[number % JOBS];

			for (int k = 0; k < n; k++)
				if (job[k].id == mine)
					goto tick; /* its name is still in use */
			new_job(&job[n], mine, number++);
			ev.type = EVENT_ARRIVAL;
			ev.job = job[n].id;
			new_sample(&job[n++]);
		} else if (what == 2) {
			int k = (int)(next_random() % (uint32_t)n);

			snprintf(gone, sizeof(gone), "%s", job[k].id);
			ev.type = EVENT_END;
			ev.job = gone;
			memmove(&job[k], &job[k + 1], (size_t)(--n - k) * sizeof(job[0]));
		}
	tick:
		for (int k = 0; k < n; k++)
			if (what > 5)
				new_sample(&job[k]);
		v.job = job;
		v.fast_cores = &fast;
		v.n_jobs = n;
		rc = engine_decide(e, &v, &plan, &err);
		ck_assert_msg(rc == 0, "%s, seed %llu, view %d, %d jobs: %s", ops->name,
			(unsigned long long)seed, i, n, err.text);
		for (int k = 0; k < n; k++)
			job[k].current = plan.job[k].coreset;
	}
	engine_free(e);
	plan_done(&plan);
}

START_TEST(every_plan_of_a_nodes_life_is_valid)
{
	const struct policy_ops *ops = policy_registry[_i];
	struct errbuf err;

	if (!ops->on_node)
		return;
	for (size_t t = 0; t < sizeof(topologies) / sizeof(topologies[0]); t++) {
		struct topo *topo;

		ck_assert_int_eq(topo_load(&topo, topologies[t], &err), 0);
		for (uint64_t seed = 1; seed <= 20; seed++)
			live(ops, topo, seed);
		topo_free(topo);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sequence");
	SRunner *sr = srunner_create(s);
	TCase *tc = tcase_create("plans stay valid from view to view");
	int failed, n = 0;

	while (policy_registry[n])
		n++;
	tcase_add_loop_test(tc, every_plan_of_a_nodes_life_is_valid, 0, n);
	tcase_set_timeout(tc, 120);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
