/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The joint oracle's exact search against one that leaves nothing out, on machines small enough
 * for that.
 */
#include "nodesvc/sim/joint_internal.h"
#include "nodesvc/sim/population.h"
#include "nodesvc/sim/population_drawn.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct topo *topo;
static struct machine machine;
static struct program program[6];
static struct run_spec spec[6];
static struct drive d;
static struct joint *x;

static void set_up(const char *source, enum topo_level level, int n_jobs, uint64_t seed)
{
	struct machine_params p;
	struct errbuf err = {""};

	machine_defaults(&p);
	p.llc_bytes = 6e6;
	p.bytes_per_s = 12e9;
	ck_assert_int_eq(machine_topology(&topo, source, &err), 0);
	ck_assert_int_eq(topo_set_domains(topo, level, &err), 0);
	ck_assert_int_eq(machine_init(&machine, topo, &p, &err), 0);
	population_draw_latent(seed, (int)seed, n_jobs, program);
	for (int i = 0; i < n_jobs; i++)
		spec[i] = (struct run_spec){.program = &program[i]};
	drive_defaults(&d);
	d.m = &machine;
	d.spec = spec;
	d.n_jobs = n_jobs;
	d.policy = "joint-oracle";
}

static void tear_down(void)
{
	joint_free(x);
	x = NULL;
	machine_done(&machine);
	topo_free(topo);
}

/* The best of all ways, one after another. */
struct plain {
	struct way w, best;
	long ways;
};

static void plain_look(struct plain *p)
{
	p->w.value = joint_worth(x, &p->w);
	p->ways++;
	if (p->w.value > p->best.value)
		p->best = p->w;
}

static void plain_levers(struct plain *p)
{
	for (int how = 0; how < JOINT_LOANS; how++) {
		joint_lend(x, how, &p->w);
		for (p->w.cluster = 0; p->w.cluster < UINT32_C(1) << (d.n_jobs - 1); p->w.cluster++)
			for (p->w.quarters = 1; p->w.quarters <= 3; p->w.quarters++)
				plain_look(p);
	}
	p->w.cluster = 0;
	memset(p->w.lent, 0, sizeof(p->w.lent));
}

static int domain_of(int core)
{
	for (int k = 0; k < topo->n_domains; k++) {
		if (core < topo->domain[k].n_cores)
			return k;
		core -= topo->domain[k].n_cores;
	}
	return -1;
}

/* Rows of the jobs of @left from core @at on, then what is next. */
static void plain_rows(
	struct plain *p, uint32_t left, int at, const int *turn, void (*next)(struct plain *))
{
	if (!left && turn) {
		int group = p->w.n_turns++;

		for (int i = 0; i < d.n_jobs; i++)
			left |= turn[i] == group + 1 ? UINT32_C(1) << i : 0;
		if (left)
			plain_rows(p, left, 0, turn, next);
		else
			next(p);
		p->w.n_turns--;
		return;
	}
	if (!left) {
		next(p);
		return;
	}
	for (int i = 0; i < d.n_jobs; i++) {
		uint32_t rest = left & ~(UINT32_C(1) << i);
		int last = topo->n_cores - __builtin_popcount(rest);

		if (!(left >> i & 1))
			continue;
		for (int to = at; to < last; to++) {
			p->w.n[i][domain_of(to)]++;
			if (rest || to + 1 == last)
				plain_rows(p, rest, to + 1, turn, next);
		}
		memset(p->w.n[i], 0, sizeof(p->w.n[i]));
	}
}

/* Each core to each job. */
static void plain_dealings(struct plain *p, int core)
{
	if (core < topo->n_cores) {
		for (int i = 0; i < d.n_jobs; i++) {
			p->w.n[i][domain_of(core)]++;
			plain_dealings(p, core + 1);
			p->w.n[i][domain_of(core)]--;
		}
		return;
	}
	for (int i = 0; i < d.n_jobs; i++) {
		int n = 0;

		for (int k = 0; k < topo->n_domains; k++)
			n += p->w.n[i][k];
		if (n == 0)
			return;
	}
	plain_look(p);
}

static void plain_turns(struct plain *p, int *turn, int i, int used)
{
	uint32_t first = 0;

	if (i < d.n_jobs) {
		for (turn[i] = 0; turn[i] <= used; turn[i]++)
			plain_turns(p, turn, i + 1, used + (turn[i] == used));
		return;
	}
	if (used < 2)
		return;
	for (int k = 0; k < d.n_jobs; k++) {
		p->w.turn[k] = (signed char)turn[k];
		first |= turn[k] == 0 ? UINT32_C(1) << k : 0;
	}
	plain_rows(p, first, 0, turn, plain_look);
}

static const struct {
	const char *topology;
	enum topo_level level;
	int jobs, seeds;
} small[] = {
	{"pack:2 core:3 pu:1", TOPO_PACKAGE, 3, 6},
	{"pack:2 core:2 pu:2", TOPO_PACKAGE, 2, 6},
	{"pack:1 l3:3 core:2 pu:1", TOPO_L3, 3, 4}, /* three caches at one memory */
	{"pack:2 core:3 pu:1", TOPO_PACKAGE, 4, 2},
};

/* By each objective in turn. */
START_TEST(the_exact_search_is_the_best_of_all)
{
	for (int seed = 1; seed <= small[_i].seeds; seed++) {
		struct plain p = {.best.value = -INFINITY};
		struct way found = {.value = -INFINITY};
		struct errbuf err = {""};
		int turn[4] = {0};
		long solves;

		set_up(small[_i].topology, small[_i].level, small[_i].jobs, (uint64_t)seed);
		d.objective = seed % 2 ? OBJECTIVE_STP : OBJECTIVE_ANTT;
		ck_assert_msg(joint_create(&x, &d, &err) == 0, "%s", err.text);
		run_rates(x->r);
		for (int i = 0; i < d.n_jobs; i++)
			x->floor[i] = 0.25 * (seed % 4);
		x->looks = 0;
		ck_assert(exact_search(x->exact, &found));
		solves = x->looks;
		plain_rows(&p, (UINT32_C(1) << d.n_jobs) - 1, 0, NULL, plain_levers);
		if (topo->n_domains <= 2)
			plain_dealings(&p, 0);
		plain_turns(&p, turn, 0, 0);
		ck_assert_msg(fabs(found.value - p.best.value) <= 1e-4 * fabs(p.best.value),
			"%s, seed %d: %.9g found, %.9g is there", small[_i].topology, seed,
			found.value, p.best.value);
		ck_assert_double_eq_tol(joint_worth(x, &found), found.value, 1e-9);
		ck_assert_int_lt(solves, p.ways);
		tear_down();
	}
}
END_TEST

/* Where each job has a domain of its own it begins with whole domains. */
START_TEST(the_bounded_search_comes_near_the_exact_one)
{
	static const struct {
		const char *topology;
		int jobs;
	} all[] = {{"pack:2 core:6 pu:1", 2}, {"pack:3 core:4 pu:1", 3}, {"pack:4 core:3 pu:1", 4}};
	struct errbuf err = {""};

	for (int seed = 1; seed <= 4; seed++) {
		struct way exact, bounded;
		struct statics s = {0};

		set_up(all[_i].topology, TOPO_PACKAGE, all[_i].jobs, (uint64_t)seed);
		ck_assert_msg(joint_create(&x, &d, &err) == 0, "%s", err.text);
		ck_assert_int_eq(statics_list(&s, d.m->topo, d.n_jobs, &err), 0);
		run_place(x->r, s.place, NULL, 0);
		ck_assert(joint_find(x, &s, &exact));
		exact_free(x->exact);
		x->exact = NULL;
		ck_assert(!joint_find(x, &s, &bounded));
		ck_assert_double_ge(bounded.value, 0.999 * exact.value);
		statics_done(&s);
		tear_down();
	}
}
END_TEST

/* Not even by a thousandth, whatever the others gain by it: dgemm gets what pagerank leaves. */
START_TEST(nobody_is_below_the_floor_that_can_be_kept)
{
	static const char *const name[] = {"lammps", "pagerank", "dgemm", "stencil"};
	struct way equal = {.n = {{4, 0}, {4, 0}, {0, 4}, {0, 4}}};
	struct way found = {.value = -INFINITY};
	struct population population;
	struct errbuf err = {""};

	set_up("pack:2 core:8 pu:1", TOPO_PACKAGE, 4, 1);
	machine.p.bytes_per_s = 38e9;
	machine.llc_bytes = 20e6;
	ck_assert_int_eq(population_find(&population, "measured", &err), 0);
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < population.n_programs; k++)
			if (strcmp(population.program[k].name, name[i]) == 0)
				program[i] = population.program[k];
	ck_assert_msg(joint_create(&x, &d, &err) == 0, "%s", err.text);
	run_rates(x->r);
	joint_worth(x, &equal);
	for (int i = 0; i < d.n_jobs; i++)
		x->floor[i] = fmin(0.85, run_speed(x->r, i, x->out));
	ck_assert(exact_search(x->exact, &found));
	joint_worth(x, &found);
	for (int i = 0; i < d.n_jobs; i++)
		ck_assert_double_ge(run_speed(x->r, i, x->out), x->floor[i] - 1e-4);
	tear_down();
}
END_TEST

static enum search search_of(const char *source, int n_jobs, enum numa_mode numa)
{
	static struct drive_result r;
	struct errbuf err = {""};

	set_up(source, TOPO_PACKAGE, n_jobs, 1);
	machine.p.numa = numa;
	d.most_s = 1;
	ck_assert_msg(drive_run(&d, &r, &err) == 0, "%s", err.text);
	tear_down();
	return r.search;
}

START_TEST(it_says_whether_it_was_exact)
{
	ck_assert_int_eq(search_of("pack:2 core:3 pu:1", 3, NUMA_FOLLOW), SEARCH_EXACT);
	ck_assert_int_eq(search_of("pack:2 core:3 pu:1", 3, NUMA_STICKY), SEARCH_BOUNDED);
	ck_assert_int_eq(search_of("pack:2 core:3 pu:1", 5, NUMA_FOLLOW), SEARCH_BOUNDED);
	/* Fewer cores than jobs. */
	ck_assert_int_eq(search_of("pack:1 core:2 pu:1", 4, NUMA_FOLLOW), SEARCH_BOUNDED);
	/* Too many rows. */
	ck_assert_int_eq(search_of("pack:3 core:13 pu:1", 4, NUMA_FOLLOW), SEARCH_BOUNDED);
	/* A domain of two caches. */
	ck_assert_int_eq(search_of("pack:2 l3:2 core:2 pu:1", 3, NUMA_FOLLOW), SEARCH_BOUNDED);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sim_joint");
	TCase *tc = tcase_create("exact: no way is better");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, the_exact_search_is_the_best_of_all, 0,
		(int)(sizeof(small) / sizeof(small[0])));
	suite_add_tcase(s, tc);
	tc = tcase_create("bounded");
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, the_bounded_search_comes_near_the_exact_one, 0, 3);
	suite_add_tcase(s, tc);
	tc = tcase_create("floors are kept");
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, nobody_is_below_the_floor_that_can_be_kept);
	suite_add_tcase(s, tc);
	tc = tcase_create("exact or bounded is told");
	tcase_add_test(tc, it_says_whether_it_was_exact);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
