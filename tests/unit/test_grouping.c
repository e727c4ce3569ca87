/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groupings, allocations and snakes against brute force on random small instances.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/engine/internal.h"
#include "nodesvc/engine/engine.h"

#define JOBS 8

static uint64_t state = 88172645463325252u;

static int rnd(int n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (int)(state % (uint64_t)n);
}

struct instance {
	struct arena memory;
	struct topo *t;
	struct policy_cfg cfg;
	struct shares c;
	struct grouping g;
	struct plan plan;
	struct view v;
	struct view_job job[JOBS];
	char id[JOBS][16];
	int capacity[8];
	double value[JOBS];
};

/* Kept for the next instance: hwloc takes longer over one than the rest of it. */
static struct topo *topology(const char *source)
{
	static const char *of;
	static struct topo *t;

	if (source != of) {
		topo_free(t);
		t = NULL;
		ck_assert_int_eq(topo_load(&t, source, NULL), 0);
	}
	of = source;
	return t;
}

static void open_instance(struct instance *x, const char *source, int n)
{
	memset(x, 0, sizeof(*x));
	x->t = topology(source);
	x->cfg.topo = x->t;
	x->cfg.max_jobs = JOBS;
	x->cfg.memory = &x->memory;
	shares_init(&x->c, &x->cfg);
	grouping_init(&x->g, &x->cfg);
	ck_assert(!x->memory.failed);
	ck_assert_int_eq(plan_init(&x->plan, JOBS, NULL), 0);
	x->v.job = x->job;
	x->v.n_jobs = n;
	for (int i = 0; i < n; i++) {
		snprintf(x->id[i], sizeof(x->id[i]), "j%d", i);
		x->job[i].id = x->id[i];
		x->job[i].order = i;
		x->job[i].nodes = 1;
		x->value[i] = rnd(3) ? rnd(1000) : rnd(4);
	}
}

static void close_instance(struct instance *x)
{
	plan_done(&x->plan);
	arena_free(&x->memory);
}

static void build(struct instance *x)
{
	struct errbuf err = {""};

	ck_assert_int_eq(plan_reset(&x->plan, &x->v, x->t, &err), 0);
	ck_assert_msg(shares_build(&x->c, &x->v, &x->plan, &err) == 0, "%s", err.text);
}

/* The definition, pair by pair; norm=per_socket divides by the jobs of the domain less one. */
static double pairs(const struct instance *x, const int *domain_of, bool weighted)
{
	int n = x->c.n, smallest = x->c.size[0];
	double sum = 0;

	for (int k = 1; k < n; k++)
		smallest = x->c.size[k] < smallest ? x->c.size[k] : smallest;
	for (int d = 0; d < x->c.n_domains; d++) {
		double one = 0;
		int members = 0;

		for (int i = 0; i < n; i++) {
			members += domain_of[i] == d;
			for (int j = i + 1; j < n; j++)
				if (domain_of[i] == d && domain_of[j] == d)
					one += fabs(x->value[i] - x->value[j]) *
					       (weighted ? (double)x->c.size[i] * x->c.size[j] /
								       smallest / smallest
							 : 1);
		}
		sum += x->g.per_domain && members > 1 ? one / (members - 1) : one;
	}
	return sum;
}

/* Best over all groupings with the given numbers of jobs. */
static double brute(const struct instance *x, const int *count)
{
	int n = x->v.n_jobs, s = x->c.n_domains, domain_of[JOBS] = {0};
	double best = -1;

	for (;;) {
		int jobs[8] = {0}, k = 0;
		bool ok = true;

		for (int i = 0; i < n; i++)
			jobs[domain_of[i]]++;
		for (int d = 0; d < s && ok; d++)
			ok = jobs[d] == count[d];
		if (ok) {
			double v = pairs(x, domain_of, false);

			best = v > best ? v : best;
		}
		while (k < n && ++domain_of[k] == s)
			domain_of[k++] = 0;
		if (k == n)
			return best;
	}
}

static const char *const equal_sources[] = {
	"pack:2 core:4",
	"pack:3 core:4",
	"pack:4 core:2",
	"core:2",
	"core:4",
	"pack:2 core:8",
};
#define EQUAL_SOURCES ((int)(sizeof(equal_sources) / sizeof(equal_sources[0])))
/* Cases that were really compared, all topologies together. The sanitizers look at the code, not
 * at the groupings, and take ten times as long. */
#ifdef __SANITIZE_ADDRESS__
#define COMPARED 1000
#else
#define COMPARED 10000
#endif

START_TEST(equal_sizes_reach_the_best_of_all_groupings)
{
	const int wanted = (COMPARED + EQUAL_SOURCES - 1) / EQUAL_SOURCES;
	int compared = 0, odd = 0, big = 0, domains = 0;

	/* Draws that leave no choice do not count; ten times as many are never needed. */
	for (int i = 0; compared < wanted && i < 10 * wanted; i++) {
		const enum grouping_tie ties[] = {TIE_BALANCE, TIE_FIRST};
		struct instance x;
		int n = 2 + rnd(JOBS - 1), count[8], domain_of[JOBS], again[JOBS];
		double score, best;

		open_instance(&x, equal_sources[_i], n);
		domains = x.t->n_domains;
		if (rnd(2)) {
			for (int d = 0; d < x.t->n_domains; d++)
				x.capacity[d] = 1 + rnd(x.t->domain[d].n_cores);
			x.v.capacity = x.capacity;
			x.v.n_capacity = x.t->n_domains;
		}
		for (int k = 0; k < n; k++)
			x.job[k].cores = 1;
		x.g.per_domain = rnd(3) == 0;
		build(&x);
		if (!x.c.equal || x.c.n_domains < 2) {
			close_instance(&x);
			continue;
		}
		shares_counts(&x.c, count);
		best = brute(&x, count);
		for (int tie = 0; tie < 2; tie++) {
			int jobs[8] = {0};

			score = grouping_best(&x.g, &x.c, x.value, x.value, ties[tie], domain_of);
			ck_assert_double_eq_tol(score, best, 1e-6);
			ck_assert_double_eq_tol(pairs(&x, domain_of, false), best, 1e-6);
			ck_assert_double_eq_tol(
				grouping_score(&x.g, &x.c, x.value, domain_of), best, 1e-6);
			for (int k = 0; k < n; k++)
				jobs[domain_of[k]]++;
			for (int d = 0; d < x.c.n_domains; d++)
				ck_assert_int_eq(jobs[d], count[d]);
			grouping_best(&x.g, &x.c, x.value, x.value, ties[tie], again);
			ck_assert_mem_eq(domain_of, again, (size_t)n * sizeof(int));
		}
		compared++;
		for (int d = 1; d < x.c.n_domains; d++)
			if (x.c.capacity[d] != x.c.capacity[0]) {
				odd++;
				break;
			}
		for (int d = 0; d < x.c.n_domains; d++)
			if (count[d] > 2) {
				big++;
				break;
			}
		close_instance(&x);
	}
	printf("%s: %d cases compared with brute force, %d with more than two jobs in a domain, "
	       "%d with unequal capacities\n",
		equal_sources[_i], compared, big, odd);
	ck_assert_int_ge(compared, wanted);
	ck_assert(big > 0 || JOBS <= 2 * domains);
}
END_TEST

/* Written out apart from the engine: room for all, and no domain fuller than another, measured
 * from its share, by more than the biggest job; no more jobs than domains: one each. */
static bool may_compete(const struct instance *x, const int *domain_of)
{
	int load[8] = {0}, jobs[8] = {0}, sum = 0, total = 0, biggest = 0;
	double least = 1e9, most = -1e9;

	for (int k = 0; k < x->c.n; k++) {
		load[domain_of[k]] += x->c.size[k];
		jobs[domain_of[k]]++;
		sum += x->c.size[k];
		biggest = x->c.size[k] > biggest ? x->c.size[k] : biggest;
	}
	for (int d = 0; d < x->c.n_domains; d++)
		total += x->c.capacity[d];
	for (int d = 0; d < x->c.n_domains; d++) {
		double above = load[d] - (double)sum * x->c.capacity[d] / total;

		if (load[d] > x->c.capacity[d] || (x->c.n <= x->c.n_domains && jobs[d] > 1))
			return false;
		least = above < least ? above : least;
		most = above > most ? above : most;
	}
	return most - least <= biggest + 1e-9;
}

static double brute_sizes(const struct instance *x)
{
	int n = x->c.n, s = x->c.n_domains, domain_of[JOBS] = {0};
	double best = -1;

	for (;;) {
		int k = 0;

		if (may_compete(x, domain_of)) {
			double v = pairs(x, domain_of, true);

			best = v > best ? v : best;
		}
		while (k < n && ++domain_of[k] == s)
			domain_of[k++] = 0;
		if (k == n)
			return best;
	}
}

START_TEST(unequal_sizes_of_few_jobs_reach_the_best_that_fits)
{
	static const char *const sources[] = {"pack:2 core:8", "pack:3 core:6", "pack:4 core:4"};
	int compared = 0;

	for (int i = 0; i < 300; i++) {
		struct instance x;
		int n = 2 + rnd(_i == 2 ? 5 : 7), domain_of[JOBS];
		double best, score;

		open_instance(&x, sources[_i], n);
		if (rnd(2)) {
			for (int d = 0; d < x.t->n_domains; d++)
				x.capacity[d] = 2 + rnd(x.t->domain[d].n_cores - 1);
			x.v.capacity = x.capacity;
			x.v.n_capacity = x.t->n_domains;
		}
		for (int k = 0; k < n; k++)
			x.job[k].cores = 1 + rnd(_i == 2 ? 3 : 4);
		x.g.per_domain = rnd(3) == 0;
		build(&x);
		if (x.c.given && !x.c.equal && x.c.n == n) {
			best = brute_sizes(&x);
			score = grouping_best(&x.g, &x.c, x.value, x.value, TIE_BALANCE, domain_of);
			if (best >= 0) {
				ck_assert_double_eq_tol(score, best, 1e-6);
				ck_assert(may_compete(&x, domain_of));
				compared++;
			}
		}
		close_instance(&x);
	}
	ck_assert_int_gt(compared, 50);
}
END_TEST

/* What the anchors add, from the definition: pairs with a piece weigh like pairs of jobs. */
static double with_pieces(const struct instance *x, const int *domain_of, const double *piece_value)
{
	double sum = 0, smallest = x->c.piece[0].size;
	int n = x->c.n;

	for (int k = 0; k < n; k++)
		smallest = x->c.size[k] < smallest ? x->c.size[k] : smallest;
	for (int k = 0; k < n; k++) {
		for (int j = k + 1; j < n; j++)
			if (domain_of[k] == domain_of[j])
				sum += fabs(x->value[k] - x->value[j]) * x->c.size[k] *
				       x->c.size[j] / smallest / smallest;
		for (int i = 0; i < x->c.n_pieces; i++)
			if (x->c.piece[i].domain == domain_of[k])
				sum += fabs(x->value[k] - piece_value[i]) * x->c.size[k] *
				       x->c.piece[i].size / smallest / smallest;
	}
	return sum;
}

START_TEST(the_rest_of_a_large_job_counts_beside_its_neighbours)
{
	int compared = 0;

	for (int i = 0; i < 300; i++) {
		struct instance x;
		int n = 4 + rnd(4), domain_of[JOBS], trial[JOBS] = {0}, left = 12;
		double best = -1, score, piece_value[JOBS] = {rnd(1000)};

		open_instance(&x, "pack:3 core:4", n);
		x.job[0].cores = 5 + rnd(2); /* a whole domain, and one or two cores of the next */
		left -= x.job[0].cores;
		for (int k = 1; k < n; k++) {
			x.job[k].cores = 1 + (left > n && rnd(2));
			left -= x.job[k].cores;
		}
		build(&x);
		if (x.c.n_pieces == 1 && x.c.n > x.c.n_domains && left >= 0) {
			/* value[] is by competing job: the large one is not among them. */
			grouping_anchor(&x.g, &x.c, x.value, NULL, piece_value);
			score = grouping_best(&x.g, &x.c, x.value, x.value, TIE_BALANCE, domain_of);
			for (int k = 0; k < x.c.n;) {
				/* Equal sizes are balanced by number, as everywhere. */
				int jobs[8] = {0}, count[8];
				bool ok = may_compete(&x, trial);

				shares_counts(&x.c, count);
				for (int j = 0; j < x.c.n; j++)
					jobs[trial[j]]++;
				for (int d = 0; d < x.c.n_domains && x.c.equal; d++)
					ok = ok && jobs[d] >= x.c.n * x.c.capacity[d] / x.c.total &&
					     jobs[d] <= count[d] + 1;
				if (ok) {
					double v = with_pieces(&x, trial, piece_value);

					best = v > best ? v : best;
				}
				k = 0;
				while (k < x.c.n && ++trial[k] == x.c.n_domains)
					trial[k++] = 0;
			}
			if (best >= 0) {
				ck_assert_double_eq_tol(
					score, with_pieces(&x, domain_of, piece_value), 1e-6);
				ck_assert_double_eq_tol(score, best, 1e-6);
				compared++;
			}
		}
		close_instance(&x);
	}
	ck_assert_int_gt(compared, 100);
}
END_TEST

START_TEST(pinned_jobs_stay_and_the_rest_is_best)
{
	for (int i = 0; i < 300; i++) {
		struct instance x;
		int n = 3 + rnd(6), pin[JOBS], domain_of[JOBS], trial[JOBS] = {0}, count[8],
		    pins = 0;
		double best = -1, score;

		open_instance(&x, _i ? "pack:3 core:4" : "pack:2 core:8", n);
		build(&x);
		shares_counts(&x.c, count);
		for (int k = 0; k < n; k++) {
			pin[k] = rnd(3) == 0 ? rnd(x.c.n_domains) : -1;
			/* Never more than balance leaves room for. */
			if (pin[k] >= 0 && --count[pin[k]] < 0)
				pin[k] = -1;
			pins += pin[k] >= 0;
		}
		if (n <= x.c.n_domains || pins == 0) {
			close_instance(&x);
			continue;
		}
		grouping_anchor(&x.g, &x.c, x.value, pin, NULL);
		score = grouping_best(&x.g, &x.c, x.value, x.value, TIE_BALANCE, domain_of);
		for (int k = 0; k < n;) {
			int jobs[8] = {0}, least = n, most = 0;
			bool ok = true;

			for (int j = 0; j < n; j++) {
				jobs[trial[j]]++;
				ok = ok && (pin[j] < 0 || pin[j] == trial[j]);
			}
			for (int d = 0; d < x.c.n_domains; d++) {
				least = jobs[d] < least ? jobs[d] : least;
				most = jobs[d] > most ? jobs[d] : most;
			}
			if (ok && most - least <= 1) {
				double v = pairs(&x, trial, false);

				best = v > best ? v : best;
			}
			k = 0;
			while (k < n && ++trial[k] == x.c.n_domains)
				trial[k++] = 0;
		}
		for (int k = 0; k < n; k++)
			ck_assert(pin[k] < 0 || pin[k] == domain_of[k]);
		ck_assert_double_eq_tol(score, best, 1e-6);
		close_instance(&x);
	}
}
END_TEST

static double brute_allocate(
	struct allocate *a, int n, int units, enum combine how, int i, double so_far, int left)
{
	double best = INFINITY;

	if (i == n)
		return left == 0 ? so_far : INFINITY;
	for (int u = 1; u <= left - (n - 1 - i); u++) {
		double c = *allocate_cost(a, i, u);
		double v = brute_allocate(a, n, units, how, i + 1,
			how == COMBINE_SUM ? so_far + c : fmax(so_far, c), left - u);

		best = v < best ? v : best;
	}
	return best;
}

START_TEST(allocation_reaches_the_best_of_all)
{
	struct arena memory = {.last = NULL};
	struct allocate a;

	allocate_init(&a, &memory, 6, 16);
	for (int i = 0; i < 600; i++) {
		int n = 1 + rnd(5), units = n + rnd(9), given[6], sum = 0;
		enum combine how = rnd(2) ? COMBINE_SUM : COMBINE_MAX;
		bool curve = rnd(2);
		double best, got, start = how == COMBINE_SUM ? 0 : -INFINITY;

		for (int k = 0; k < n; k++) {
			double b = rnd(1000) / 1000.0, g = rnd(100) / 2000.0 * (1 - b);
			struct scalability s = {.alpha = 1 - b - g, .beta = b, .gamma = g};

			for (int u = 1; u <= units; u++)
				*allocate_cost(&a, k, u) =
					curve ? 1 / scalability_speed(&s, u) : rnd(50);
		}
		best = brute_allocate(&a, n, units, how, 0, start, units);
		got = allocate_best(&a, n, units, how, given);
		ck_assert_double_eq_tol(got, best, 1e-9);
		for (int k = 0; k < n; k++)
			sum += given[k];
		ck_assert_int_eq(sum, units);
		ck_assert_double_ge(allocate_climb(&a, n, units, how, NULL, given), best - 1e-9);
	}
	arena_free(&memory);
}
END_TEST

/* Two of three need more than an equal part: a unit more for one lowers no maximum. */
START_TEST(climb_starts_from_the_least_that_each_needs)
{
	const int least[] = {5, 1, 5}, too_much[] = {5, 5, 5};
	struct arena memory = {.last = NULL};
	struct allocate a;
	int given[3];

	allocate_init(&a, &memory, 3, 12);
	for (int how = COMBINE_SUM; how <= COMBINE_MAX; how++) {
		for (int k = 0; k < 3; k++)
			for (int u = 1; u <= 12; u++)
				*allocate_cost(&a, k, u) = u < least[k] ? 1e6
							   : k == 1     ? 1e7 / u
									: 1;
		allocate_climb(&a, 3, 12, (enum combine)how, least, given);
		ck_assert_int_eq(given[0], 5);
		ck_assert_int_eq(given[1], 2);
		ck_assert_int_eq(given[2], 5);
		allocate_climb(&a, 3, 12, (enum combine)how, too_much, given);
		ck_assert_int_eq(given[0] + given[1] + given[2], 12);
	}
	arena_free(&memory);
}
END_TEST

START_TEST(fit_is_the_best_curve_with_no_negative_coefficient)
{
	for (int i = 0; i < 300; i++) {
		struct speed_point p[4] = {{1, 1}, {12, 1}, {24, 1}, {48, 1}};
		struct scalability s;
		double error = 0;

		for (int k = 1; k < 4; k++)
			p[k].speed = 0.2 + rnd(10000) / 200.0;
		ck_assert(scalability_fit(p, 4, &s));
		ck_assert_double_ge(s.alpha, 0);
		ck_assert_double_ge(s.beta, 0);
		ck_assert_double_ge(s.gamma, 0);
		ck_assert_double_eq_tol(s.alpha + s.beta + s.gamma, 1, 1e-9);
		for (int k = 1; k < 4; k++)
			error += pow(s.alpha + s.beta / p[k].cores + s.gamma * p[k].cores -
					     1 / p[k].speed,
				2);
		/* No point of a fine grid over the triangle fits better. */
		for (int b = 0; b <= 50; b++)
			for (int g = 0; b + g <= 50; g++) {
				double e = 0;

				for (int k = 1; k < 4; k++)
					e += pow((50 - b - g) / 50.0 + b / 50.0 / p[k].cores +
							 g / 50.0 * p[k].cores - 1 / p[k].speed,
						2);
				ck_assert_double_ge(e, error - 1e-9);
			}
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("grouping");
	TCase *tc;
	SRunner *r;
	int failed;

	tc = tcase_create("the exact method equals brute force for jobs of one size");
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, equal_sizes_reach_the_best_of_all_groupings, 0, EQUAL_SOURCES);
	suite_add_tcase(s, tc);
	tc = tcase_create("few jobs of several sizes are searched to the end");
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, unequal_sizes_of_few_jobs_reach_the_best_that_fits, 0, 3);
	tcase_add_test(tc, the_rest_of_a_large_job_counts_beside_its_neighbours);
	tcase_add_loop_test(tc, pinned_jobs_stay_and_the_rest_is_best, 0, 2);
	suite_add_tcase(s, tc);
	tc = tcase_create("units are dealt at the least cost");
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, allocation_reaches_the_best_of_all);
	suite_add_tcase(s, tc);
	tc = tcase_create("a climb leaves each the least that it needs");
	tcase_add_test(tc, climb_starts_from_the_least_that_each_needs);
	suite_add_tcase(s, tc);
	tc = tcase_create("scalability is fitted inside its bounds");
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, fit_is_the_best_curve_with_no_negative_coefficient);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
