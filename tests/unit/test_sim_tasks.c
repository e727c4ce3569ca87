/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/sim/task_eval.h"
#include "nodesvc/sim/task_preset.h"
#include "nodesvc/sim/task_queue.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const das[] = {
	"das-rws", "das-rwsm-c", "das-fa", "das-fam-c", "das-da", "das-dam-c", "das-dam-p"};
#define N_DAS ((int)(sizeof(das) / sizeof(das[0])))

/* Partitions of like cores without limits, costs or noise: what closed forms are about. */
static struct task_machine plain(int n_partitions, int n_cores)
{
	struct task_machine m = {
		.n_kinds = 1,
		.kind = {{"core", 1e9, 1, 1, true}},
		.n_partitions = n_partitions,
		.steal_s = 1e-9,
	};

	for (int p = 0; p < n_partitions; p++)
		m.partition[p] = (struct task_partition){n_cores, 0, 1e9};
	return m;
}

static struct task_graph one_type(double seconds)
{
	return (struct task_graph){
		.n_types = 1,
		.type = {{.name = "t", .seconds = seconds, .spill = 1, .blocks = 8}},
	};
}

static void init(struct task_machine *m)
{
	struct errbuf err = {""};

	ck_assert_msg(task_machine_init(m, &err) == 0, "%s", err.text);
}

static void layers(struct task_graph *g, int n_tasks, int parallelism)
{
	ck_assert_int_eq(task_graph_layers(g, 0, g->n_types, n_tasks, parallelism, NULL), 0);
}

/* When tasks get their places in run_traced(). */
static enum task_when when;

/* Runs and frees both; the result is static. */
static const struct task_result *run_traced(struct task_machine *m, struct task_graph *g,
	const char *policy, uint64_t seed, void (*trace)(void *, const struct task_trace *),
	void *ctx)
{
	static struct task_result r;
	struct task_run run = {m, g, policy, seed, 1e5, trace, ctx, when};
	struct errbuf err = {""};
	int rc = task_run(&run, &r, &err);

	ck_assert_msg(rc == 0, "%s: %s", policy, err.text);
	return &r;
}

static const struct task_result *run_one(
	struct task_machine *m, struct task_graph *g, const char *policy)
{
	const struct task_result *r;

	init(m);
	r = run_traced(m, g, policy, 1, NULL, NULL);
	task_machine_done(m);
	task_graph_done(g);
	return r;
}

START_TEST(one_core_takes_the_sum)
{
	for (int p = 0; p < N_DAS; p++) {
		struct task_machine m = plain(1, 1);
		struct task_graph g = one_type(0.25);
		const struct task_result *r;

		layers(&g, 40, 3);
		r = run_one(&m, &g, das[p]);
		ck_assert_double_eq_tol(r->seconds, 10, 1e-9);
		ck_assert_int_eq(r->n_tasks, 40);
		ck_assert_int_eq(r->steals, 0);
	}
}
END_TEST

START_TEST(two_like_cores_halve_a_layer)
{
	struct task_machine m = plain(2, 1);
	struct task_graph g = one_type(1);

	/* One task, then a layer of 20 that nothing waits for. */
	layers(&g, 21, 20);
	ck_assert_double_eq_tol(run_one(&m, &g, "das-rws")->seconds, 1 + 10, 1e-6);
}
END_TEST

START_TEST(a_program_beside_ours_halves_a_core)
{
	struct task_machine m = plain(1, 1);
	struct task_graph g = one_type(1);

	m.n_disturbs = 1;
	m.disturb[0] = (struct task_disturb){.share = 0.5, .until_s = INFINITY};
	coreset_add(&m.disturb[0].cores, 0);
	layers(&g, 10, 1);
	ck_assert_double_eq_tol(run_one(&m, &g, "das-rws")->seconds, 20, 1e-9);
}
END_TEST

START_TEST(a_disturbance_counts_only_while_it_lasts)
{
	struct task_machine m = plain(1, 1);
	struct task_graph g = one_type(1);

	/* From 2 to 14 s, every 4 s for 2 s: six seconds at half speed cost three. */
	m.n_disturbs = 1;
	m.disturb[0] = (struct task_disturb){
		.share = 0.5, .from_s = 2, .until_s = 14, .period_s = 4, .on_s = 2};
	coreset_add(&m.disturb[0].cores, 0);
	layers(&g, 20, 1);
	ck_assert_double_eq_tol(run_one(&m, &g, "das-rws")->seconds, 23, 1e-9);
}
END_TEST

START_TEST(a_disturbance_may_last_from_task_to_task)
{
	struct task_machine m = plain(1, 1);
	struct task_graph g = one_type(1);

	/* Tasks 3 to 6 of ten take twice as long. */
	m.n_disturbs = 1;
	m.disturb[0] = (struct task_disturb){
		.share = 0.5, .until_s = INFINITY, .from_task = 2, .until_task = 6};
	coreset_add(&m.disturb[0].cores, 0);
	layers(&g, 10, 1);
	ck_assert_double_eq_tol(run_one(&m, &g, "das-rws")->seconds, 6 + 8, 1e-9);
}
END_TEST

START_TEST(kmeans_is_its_parts_and_a_reduction)
{
	struct task_machine m = plain(1, 1);
	struct task_graph g = one_type(1);
	int high = 0;

	g.type[g.n_types++] =
		(struct task_type){.name = "r", .seconds = 0.5, .spill = 1, .blocks = 8};
	ck_assert_int_eq(task_graph_kmeans(&g, 0, 1, 4, 3, 5, NULL), 0);
	ck_assert_int_eq(g.n_tasks, 3 * 5);
	for (int i = 0; i < g.n_tasks; i++) {
		high += g.task[i].high;
		ck_assert_double_eq(g.task[i].work, g.task[i].high ? 5 : 1);
		ck_assert_int_eq(g.task[i].n_before, i % 5 == 4 ? 4 : i >= 5);
	}
	ck_assert_int_eq(high, 3);
	ck_assert_double_eq_tol(run_one(&m, &g, "das-da")->seconds, 3 * (3 + 5 + 0.5), 1e-9);
}
END_TEST

START_TEST(clocks_go_round)
{
	struct task_machine m = plain(1, 1);
	struct task_graph g = one_type(1);

	/* 3 s at the clock that seconds are meant at, 2 s at a quarter: 3.5 tasks in 5 s. */
	m.n_clocks = 1;
	m.clock[0] = (struct task_clock){.n_steps = 2, .hz = {1e9, 0.25e9}, .seconds = {3, 2}};
	coreset_add(&m.clock[0].cores, 0);
	layers(&g, 35, 1);
	ck_assert_double_eq_tol(run_one(&m, &g, "das-rws")->seconds, 50, 1e-9);
}
END_TEST

START_TEST(waiting_for_memory_does_not_follow_the_clock)
{
	struct task_machine m = plain(1, 1);
	struct task_graph g = one_type(1);

	m.n_clocks = 1;
	m.clock[0] = (struct task_clock){.n_steps = 1, .hz = {0.5e9}, .seconds = {1}};
	coreset_add(&m.clock[0].cores, 0);
	g.type[0].memory = 0.6;
	layers(&g, 10, 1);
	ck_assert_double_eq_tol(run_one(&m, &g, "das-rws")->seconds, 10 * (0.4 * 2 + 0.6), 1e-9);
}
END_TEST

START_TEST(streams_divide_the_bandwidth)
{
	struct task_machine m = plain(4, 1);
	struct task_graph g = one_type(1);

	/* Four cores want 4 GB/s, and 2 are there; the first task is alone with them. */
	m.bytes_per_s = 2e9;
	g.type[0].memory = 1;
	g.type[0].bytes = 1e9;
	layers(&g, 41, 40);
	ck_assert_double_eq_tol(run_one(&m, &g, "das-rws")->seconds, 1 + 20, 1e-5);
}
END_TEST

START_TEST(working_sets_spill_out_of_a_cache)
{
	struct task_machine m = plain(1, 2);
	struct task_graph g = one_type(1);

	/* Two of 2/3 of the cache each: it holds 3/4 of them, waiting is 1 + (5 - 1) / 4. */
	g.type[0].memory = 0.5;
	g.type[0].working_set_bytes = 1e9 * 2 / 3;
	g.type[0].spill = 5;
	layers(&g, 21, 20);
	ck_assert_double_eq_tol(
		run_one(&m, &g, "das-rws")->seconds, 1 + 10 * (0.5 + 0.5 * 2), 1e-5);
}
END_TEST

struct times {
	double begun[64], ended[64];
	struct task_place place[64];
};

static void note_times(void *ctx, const struct task_trace *t)
{
	struct times *x = ctx;

	if (t->step == TASK_STEP_BEGUN && x->begun[t->task] == 0)
		x->begun[t->task] = t->at_s + 1;
	if (t->step == TASK_STEP_ENDED)
		x->ended[t->task] = t->at_s + 1;
	x->place[t->task] = t->place;
}

START_TEST(a_wide_task_loses_what_its_type_says)
{
	static const double width_of[] = {1, 2 / 1.1, 0, 4 / 1.3};

	for (int split = TASK_SPLIT_DYNAMIC; split <= TASK_SPLIT_STATIC; split++) {
		struct task_machine m = plain(1, 4);
		struct task_graph g = one_type(1);
		struct times t = {{0}, {0}, {{0}}};
		int seen[5] = {0};

		g.type[0].width_loss = 0.1;
		g.type[0].split = (enum task_split)split;
		layers(&g, 20, 1);
		init(&m);
		run_traced(&m, &g, "das-dam-p", 1, note_times, &t);
		for (int i = 0; i < 20; i++) {
			int w = t.place[i].width;

			seen[w]++;
			ck_assert_double_eq_tol(t.ended[i] - t.begun[i], 1 / width_of[w - 1], 1e-9);
		}
		/* All seven places once, then the widest, which is fastest. */
		ck_assert_int_eq(seen[1], 4);
		ck_assert_int_eq(seen[2], 2);
		ck_assert_int_eq(seen[4], 14);
		task_machine_done(&m);
		task_graph_done(&g);
	}
}
END_TEST

START_TEST(an_exchange_waits_for_the_other_node)
{
	/* Node 1 at half speed: 2 s of blocks, then node 0, ready after 1 s, has its exchange. */
	struct task_machine m = plain(1, 2);
	struct task_graph g = one_type(1);
	struct times t = {{0}, {0}, {{0}}};

	m.n_nodes = 2;
	m.n_disturbs = 1;
	m.disturb[0] = (struct task_disturb){.share = 0.5, .until_s = INFINITY};
	coreset_add_range(&m.disturb[0].cores, 2, 3);
	g.type[g.n_types++] =
		(struct task_type){.name = "x", .seconds = 0.25, .spill = 1, .blocks = 8};
	init(&m);
	ck_assert_int_eq(m.n_cores, 4);
	ck_assert_int_eq(task_graph_heat(&g, 0, 1, 2, 2, 2, NULL), 0);
	/* 2 x 2 blocks, then an exchange and two blocks of each node. */
	ck_assert_int_eq(g.n_tasks, 4 + 6);
	ck_assert_int_eq(g.task[4].meets, 7 + 1);
	ck_assert_int_eq(g.task[7].meets, 4 + 1);
	run_traced(&m, &g, "das-rws", 1, note_times, &t);
	for (int i = 0; i < g.n_tasks; i++)
		ck_assert_int_eq(t.place[i].core / 2, g.task[i].node);
	ck_assert_double_lt(t.begun[4], 1 + 2);
	ck_assert_double_eq_tol(t.ended[4], 1 + 2 + 0.25, 1e-6);
	ck_assert_double_eq_tol(t.ended[7], 1 + 2 + 0.5, 1e-6);
	task_machine_done(&m);
	task_graph_done(&g);
}
END_TEST

struct order {
	const struct task_graph *g;
	const struct task_machine *m;
	double last;
	int stolen_high, placed, stolen;
	int begun[4000];
	bool ended[4000];
};

static void check_order(void *ctx, const struct task_trace *t)
{
	struct order *o = ctx;
	const struct task *k = &o->g->task[t->task];

	ck_assert_double_ge(t->at_s, o->last);
	o->last = t->at_s;
	ck_assert_msg(!o->ended[t->task], "task %d: a step after its end", t->task);
	if (t->step == TASK_STEP_STOLEN)
		o->stolen_high += k->high;
	o->stolen += t->step == TASK_STEP_STOLEN;
	if (t->step == TASK_STEP_PLACED) {
		o->placed++;
		int end = t->place.core + t->place.width - 1;

		ck_assert_int_ge(t->place.core, 0);
		ck_assert_int_lt(end, o->m->n_cores);
		ck_assert_int_eq(o->m->core_partition[t->place.core], o->m->core_partition[end]);
	}
	if (t->step == TASK_STEP_BEGUN) {
		ck_assert_int_ge(t->core, t->place.core);
		ck_assert_int_lt(t->core, t->place.core + t->place.width);
		o->begun[t->task]++;
	}
	if (t->step != TASK_STEP_ENDED)
		return;
	ck_assert_int_eq(o->begun[t->task], t->place.width);
	o->ended[t->task] = true;
	for (int i = 0; i < k->n_children; i++)
		ck_assert_int_eq(o->begun[o->g->child[k->first_child + i]], 0);
}

/* A TX2 on which everything happens at once. */
static void rough_machine(struct task_machine *m)
{
	task_preset_machine(m, "tx2");
	m->n_disturbs = 2;
	m->disturb[0] = (struct task_disturb){.share = 0.5,
		.bytes_per_s = 7e9,
		.until_s = INFINITY,
		.period_s = 0.02,
		.on_s = 0.005};
	coreset_add_range(&m->disturb[0].cores, 0, 2);
	m->disturb[1] = (struct task_disturb){.share = 0.1, .from_s = 0.01, .until_s = 0.5};
	coreset_add(&m->disturb[1].cores, 5);
	m->n_clocks = 1;
	m->clock[0] = (struct task_clock){
		.n_steps = 3, .hz = {2035e6, 345e6, 1e9}, .seconds = {0.03, 0.01, 0.005}};
	coreset_add_range(&m->clock[0].cores, 0, 1);
}

static void rough_types(struct task_graph *g)
{
	static const char *const name[] = {"matmul", "copy", "stencil", "heat", "exchange"};

	memset(g, 0, sizeof(*g));
	for (int i = 0; i < 5; i++)
		task_preset_type(&g->type[g->n_types++], name[i]);
	g->type[3].split = TASK_SPLIT_STATIC;
}

START_TEST(random_graphs_end_in_order_under_every_policy)
{
	for (int seed = 0; seed < 12; seed++)
		for (int p = 0; p < N_DAS; p++) {
			when = seed % 2 ? TASK_AT_DEQUEUE : TASK_AT_WAKEUP;
			struct order o = {0};
			struct task_machine m;
			struct task_graph g;
			const struct task_result *r;
			double work = 0;

			rough_machine(&m);
			rough_types(&g);
			init(&m);
			ck_assert_int_eq(task_graph_random(&g, 300, 1 + seed % 4, 0.1 * (seed % 8),
						 (uint64_t)seed, NULL),
				0);
			o.g = &g;
			o.m = &m;
			r = run_traced(&m, &g, das[p], (uint64_t)seed, check_order, &o);
			ck_assert_int_eq(r->n_tasks, 300);
			for (int i = 0; i < 300; i++)
				ck_assert(o.ended[i]);
			for (int c = 0; c < m.n_cores; c++) {
				ck_assert_double_le(r->busy_s[c], r->seconds * (1 + 1e-9));
				work += r->work[c];
			}
			/* Work is conserved: with noise of 3 %, 300 tasks are about 300. */
			ck_assert_double_eq_tol(work, 300, 3);
			/* Section 4.1.2: once, and again by a thief. Section 3.2: once. */
			ck_assert_int_eq(o.placed, 300 + (when == TASK_AT_WAKEUP ? o.stolen : 0));
			task_machine_done(&m);
			task_graph_done(&g);
		}
}
END_TEST

START_TEST(work_is_conserved)
{
	for (int p = 0; p < N_DAS; p++) {
		struct task_machine m;
		struct task_graph g;
		const struct task_result *r;
		double work = 0;

		rough_machine(&m);
		rough_types(&g);
		for (int i = 0; i < g.n_types; i++)
			g.type[i].noise = 0;
		layers(&g, 500, 4);
		r = run_one(&m, &g, das[p]);
		for (int c = 0; c < 6; c++)
			work += r->work[c];
		ck_assert_double_eq_tol(work, 500, 1e-6);
	}
}
END_TEST

START_TEST(critical_tasks_are_stolen_only_where_nobody_knows_them)
{
	for (int p = 0; p < N_DAS; p++) {
		struct order o = {0};
		struct task_machine m;
		struct task_graph g = one_type(1e-3);
		const struct task_result *r;

		task_preset_machine(&m, "tx2");
		init(&m);
		layers(&g, 1000, 3);
		when = p % 2 ? TASK_AT_DEQUEUE : TASK_AT_WAKEUP;
		o.g = &g;
		o.m = &m;
		r = run_traced(&m, &g, das[p], 1, check_order, &o);
		ck_assert_int_gt(r->steals, 0);
		if (p < 2)
			ck_assert_msg(o.stolen_high > 0, "%s", das[p]);
		else
			ck_assert_msg(o.stolen_high == 0, "%s: %d", das[p], o.stolen_high);
		task_machine_done(&m);
		task_graph_done(&g);
	}
}
END_TEST

struct chain {
	const struct task_graph *g;
	int released_on, placed_elsewhere; /* core that ended the last critical task */
};

/* Of layers: a critical task is released by the critical one before it. */
static void note_critical(void *ctx, const struct task_trace *t)
{
	struct chain *c = ctx;

	if (!c->g->task[t->task].high)
		return;
	if (t->step == TASK_STEP_ENDED)
		c->released_on = t->core;
	if (t->step == TASK_STEP_PLACED && c->released_on >= 0)
		c->placed_elsewhere += t->core != c->released_on;
}

/* Section 4.1.2 has it wait at the leader of its place, section 3.2 where it was released: in both
 * it is the releasing core that asks for the place, and the task goes where that is. */
START_TEST(a_critical_task_is_placed_by_who_releases_it)
{
	for (int p = 2; p < N_DAS; p++)
		for (int w = TASK_AT_WAKEUP; w <= TASK_AT_DEQUEUE; w++) {
			struct task_machine m;
			struct task_graph g = one_type(1e-3);
			struct chain c = {&g, -1, 0};

			task_preset_machine(&m, "tx2");
			init(&m);
			layers(&g, 400, 3);
			when = (enum task_when)w;
			run_traced(&m, &g, das[p], 1, note_critical, &c);
			ck_assert_msg(c.placed_elsewhere == 0, "%s, %d: %d", das[p], w,
				c.placed_elsewhere);
			task_machine_done(&m);
			task_graph_done(&g);
		}
}
END_TEST

START_TEST(same_seed_same_run_other_seed_other_run)
{
	for (int p = 0; p < N_DAS; p++) {
		struct task_result a, b;
		struct task_machine m;
		struct task_graph g;

		rough_machine(&m);
		rough_types(&g);
		init(&m);
		layers(&g, 400, 3);
		a = *run_traced(&m, &g, das[p], 7, NULL, NULL);
		b = *run_traced(&m, &g, das[p], 7, NULL, NULL);
		ck_assert_mem_eq(&a.seconds, &b.seconds, sizeof(a.seconds));
		ck_assert_int_eq(a.steals, b.steals);
		ck_assert_int_eq(a.n_places, b.n_places);
		ck_assert_mem_eq(a.count, b.count, (size_t)a.n_places * sizeof(a.count[0]));
		ck_assert_mem_eq(a.work, b.work, sizeof(a.work));
		b = *run_traced(&m, &g, das[p], 8, NULL, NULL);
		ck_assert_double_ne(a.seconds, b.seconds);
		task_machine_done(&m);
		task_graph_done(&g);
	}
}
END_TEST

/* Mean tasks/s of 32 seeds on a TX2 whose hit core is @hit; Denver first or last. */
static double mean_rate(const char *policy, bool denver_last, unsigned int hit)
{
	struct task_machine m;
	struct task_graph g = one_type(1e-3);
	double sum = 0;

	task_preset_machine(&m, "tx2");
	if (denver_last) {
		struct task_partition p = m.partition[0];

		m.partition[0] = m.partition[1];
		m.partition[1] = p;
	}
	m.n_disturbs = 1;
	m.disturb[0] = (struct task_disturb){.share = 0.5, .until_s = INFINITY};
	coreset_add(&m.disturb[0].cores, hit);
	init(&m);
	layers(&g, 400, 3);
	for (uint64_t seed = 0; seed < 32; seed++)
		sum += run_traced(&m, &g, policy, seed, NULL, NULL)->tasks_per_s / 32;
	task_machine_done(&m);
	task_graph_done(&g);
	return sum;
}

/* Numbers of cores decide ties and the order in which places are tried, nothing else. */
START_TEST(renamed_cores_do_as_well)
{
	static const char *const policy[] = {"das-rws", "das-fa", "das-da", "das-dam-c"};

	for (int p = 0; p < 4; p++) {
		double first = mean_rate(policy[p], false, 0), last = mean_rate(policy[p], true, 4);

		ck_assert_msg(fabs(last / first - 1) < 0.03, "%s: %g and %g tasks/s", policy[p],
			first, last);
	}
}
END_TEST

START_TEST(the_table_takes_samples_as_the_paper_says)
{
	/* D1: 10, then 20 four times: 12, 13.6, 14.88, 15.904; the fourth passes 15. */
	static const int expected[] = {0, 0, 0, 0, 1};
	struct task_machine m = plain(2, 1);
	struct task_placer p;
	struct errbuf err = {""};
	struct task_place at;

	init(&m);
	ck_assert_int_eq(task_placer_init(&p, "das-da", m.topo, &m.fast, 1, &err), 0);
	task_placer_report(&p, 0, "t", (struct task_place){1, 1}, 15, &err);
	for (int i = 0; i < 5; i++) {
		task_placer_report(&p, 0, "t", (struct task_place){0, 1}, i == 0 ? 10 : 20, &err);
		ck_assert_int_eq(task_placer_decide(&p, 0, "t", true, 0, &at, &err), 0);
		ck_assert_msg(at.core == expected[i], "sample %d: core %d", i, at.core);
	}
	task_placer_done(&p);
	/* With a weight of 3 in 5 the first of them passes 15: 16. */
	ck_assert_int_eq(task_placer_init(&p, "das-da,weight=3", m.topo, &m.fast, 1, &err), 0);
	task_placer_report(&p, 0, "t", (struct task_place){1, 1}, 15, &err);
	for (int i = 0; i < 2; i++) {
		task_placer_report(&p, 0, "t", (struct task_place){0, 1}, i == 0 ? 10 : 20, &err);
		ck_assert_int_eq(task_placer_decide(&p, 0, "t", true, 0, &at, &err), 0);
		ck_assert_int_eq(at.core, i);
	}
	task_placer_done(&p);
	task_machine_done(&m);
}
END_TEST

/* More finished tasks than the placer keeps between two decisions are not lost. */
START_TEST(samples_without_decisions_reach_the_table)
{
	struct task_machine m = plain(2, 1);
	struct task_placer p;
	struct errbuf err = {""};
	struct task_place at;

	init(&m);
	ck_assert_int_eq(task_placer_init(&p, "das-da", m.topo, &m.fast, 1, &err), 0);
	task_placer_report(&p, 0, "t", (struct task_place){0, 1}, 5, &err);
	for (int i = 0; i < 3 * TASK_SAMPLES_MAX; i++)
		ck_assert_int_eq(task_placer_report(
					 &p, 0, "t", (struct task_place){1, 1}, i ? 1 : 100, &err),
			0);
	ck_assert_int_eq(task_placer_decide(&p, 0, "t", true, 0, &at, &err), 0);
	ck_assert_int_eq(at.core, 1);
	task_placer_done(&p);
	task_machine_done(&m);
}
END_TEST

START_TEST(fixed_asymmetry_takes_fast_cores_in_turn)
{
	struct task_machine m;
	struct task_placer p;
	struct errbuf err = {""};
	struct task_place at;

	task_preset_machine(&m, "tx2");
	init(&m);
	ck_assert_int_eq(task_placer_init(&p, "das-fa", m.topo, &m.fast, 1, &err), 0);
	for (int i = 0; i < 3; i++) { /* D5 */
		ck_assert_int_eq(task_placer_decide(&p, 0, "t", true, 3, &at, &err), 0);
		ck_assert_int_eq(at.core, i % 2);
		ck_assert_int_eq(at.width, 1);
	}
	task_placer_done(&p);
	task_machine_done(&m);
}
END_TEST

START_TEST(results_do_not_depend_on_the_number_of_threads)
{
	struct task_machine m;
	struct task_graph g = one_type(1e-3);
	struct task_eval e = {
		&m, &g, 2, 6, {"das-rws", "das-dam-c"}, 3, 1e4, 1, NULL, TASK_AT_WAKEUP};
	struct task_result *one = calloc(12, sizeof(*one)), *three = calloc(12, sizeof(*three));
	struct task_summary *s = calloc(1, sizeof(*s));
	struct errbuf err = {""};
	double high = 0;

	ck_assert(one && three && s);
	task_preset_machine(&m, "tx2");
	g.type[0].noise = 0.05;
	init(&m);
	layers(&g, 200, 2);
	ck_assert_int_eq(task_eval_run(&e, one, &err), 0);
	e.workers = 3;
	ck_assert_int_eq(task_eval_run(&e, three, &err), 0);
	for (int i = 0; i < 12; i++)
		ck_assert_mem_eq(&one[i].seconds, &three[i].seconds, sizeof(double));
	ck_assert_int_eq(task_eval_sum(&e, one, 1, 0, s, &err), 0);
	ck_assert_double_gt(s->gain.mean, 0);
	ck_assert_double_le(s->gain.low, s->gain.mean);
	ck_assert_double_ge(s->gain.high, s->gain.mean);
	for (int i = 0; i < s->n_places; i++)
		high += s->at[i].high;
	ck_assert_double_eq_tol(high, 1, 1e-9);
	task_machine_done(&m);
	task_graph_done(&g);
	free(one);
	free(three);
	free(s);
}
END_TEST

START_TEST(what_cannot_run_is_refused_with_its_reason)
{
	struct task_machine m = plain(1, 2);
	struct task_graph g = one_type(1);
	struct task_result r = {.seconds = -1};
	struct task_run run = {&m, &g, "lira", 1, 1e4, NULL, NULL, TASK_AT_WAKEUP};
	struct errbuf err = {""};

	init(&m);
	layers(&g, 10, 1);
	ck_assert_int_eq(task_run(&run, &r, &err), -EINVAL);
	ck_assert_str_eq(err.text, "policy 'lira': tasks are placed by das-* only");
	run.policy = "das-nobody";
	ck_assert_int_eq(task_run(&run, &r, &err), -ENOENT);
	run.policy = "das-rws,weight=6";
	ck_assert_int_eq(task_run(&run, &r, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "weight"));
	run.policy = "das-rws";
	run.most_s = 5;
	ck_assert_int_eq(task_run(&run, &r, &err), -ETIME);
	ck_assert_str_eq(err.text, "5 of 10 tasks done after 5 virtual seconds");
	ck_assert_double_eq(r.seconds, -1);
	task_machine_done(&m);
	m.partition[0].n_cores = TASK_CORES_MAX + 1;
	ck_assert_int_eq(task_machine_init(&m, &err), -EINVAL);
	task_graph_done(&g);
	ck_assert_int_eq(task_graph_layers(&g, 0, 1, TASK_TASKS_MAX + 1, 2, &err), -EINVAL);
	ck_assert_int_eq(task_graph_heat(&g, 0, 0, 1, 1, 1, &err), -EINVAL);
	ck_assert_int_eq(task_graph_heat(&g, 0, 0, TASK_NODES_MAX + 1, 2, 1, &err), -EINVAL);
	ck_assert_int_eq(task_graph_kmeans(&g, 0, 0, 4, 1, 0, &err), -EINVAL);
}
END_TEST

START_TEST(owner_takes_the_newest_thief_the_oldest)
{
	struct task_queue q = {0};

	ck_assert_int_eq(task_queue_newest(&q), -1);
	ck_assert_int_eq(task_queue_oldest(&q), -1);
	/* Goes round and grows with its head in the middle. */
	for (int i = 0; i < 12; i++)
		ck_assert_int_eq(task_queue_push(&q, i), 0);
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(task_queue_oldest(&q), i);
	for (int i = 12; i < 100; i++)
		ck_assert_int_eq(task_queue_push(&q, i), 0);
	ck_assert_int_eq(task_queue_newest(&q), 99);
	ck_assert_int_eq(task_queue_oldest(&q), 10);
	for (int i = 98; i > 10; i--)
		ck_assert_int_eq(task_queue_newest(&q), i);
	ck_assert_int_eq(q.n, 0);
	task_queue_done(&q);
}
END_TEST

#define CASE(s, name, ...)                                                                         \
	do {                                                                                       \
		const TTest *const tests_[] = {__VA_ARGS__};                                       \
		TCase *c_ = tcase_create(name);                                                    \
		tcase_set_timeout(c_, 60);                                                         \
		for (size_t i_ = 0; i_ < sizeof(tests_) / sizeof(tests_[0]); i_++)                 \
			tcase_add_test(c_, tests_[i_]);                                            \
		suite_add_tcase(s, c_);                                                            \
	} while (0)

int main(void)
{
	Suite *s = suite_create("sim_tasks");
	SRunner *sr;
	int failed;

	CASE(s, "time follows closed forms", one_core_takes_the_sum, two_like_cores_halve_a_layer,
		a_program_beside_ours_halves_a_core, a_disturbance_counts_only_while_it_lasts,
		a_disturbance_may_last_from_task_to_task, kmeans_is_its_parts_and_a_reduction,
		an_exchange_waits_for_the_other_node, clocks_go_round,
		waiting_for_memory_does_not_follow_the_clock, streams_divide_the_bandwidth,
		working_sets_spill_out_of_a_cache, a_wide_task_loses_what_its_type_says);
	CASE(s, "the runtime loses, doubles and reorders nothing",
		random_graphs_end_in_order_under_every_policy, work_is_conserved,
		critical_tasks_are_stolen_only_where_nobody_knows_them,
		a_critical_task_is_placed_by_who_releases_it,
		owner_takes_the_newest_thief_the_oldest);
	CASE(s, "a run depends on its seed and on nothing else",
		same_seed_same_run_other_seed_other_run, renamed_cores_do_as_well,
		results_do_not_depend_on_the_number_of_threads);
	CASE(s, "places are the engine's", the_table_takes_samples_as_the_paper_says,
		samples_without_decisions_reach_the_table,
		fixed_asymmetry_takes_fast_cores_in_turn);
	CASE(s, "bad input is refused", what_cannot_run_is_refused_with_its_reason);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
