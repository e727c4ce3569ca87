/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Policies that deal cores by curves against references written apart from the engine: random small
 * instances go in as views, and what comes out as plans is compared with every assignment, or with
 * a plain re-statement of the rule. Nothing of the engine but engine.h is used.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "tests/unit/reference_world.h"

static const char *const machines[] = {
	"pack:2 core:4", "pack:3 core:4", "pack:4 core:2", "core:2", "pack:2 l3:2 core:3 pu:2"};
#define N_MACHINES 5

struct sbmp_case {
	double fit[WORLD_JOBS][3], peak[WORLD_JOBS];
	int n, units, size, objective;
};

static double sbmp_value(const struct sbmp_case *x, const int *units)
{
	int all = x->units * x->size;
	double sum = 0, most = 0;

	for (int i = 0; i < x->n; i++) {
		double speed = 1 / world_curve(x->fit[i], units[i] * x->size);
		double slow = x->peak[i] / speed;

		most = fmax(most, slow);
		sum += x->objective == 0   ? slow / x->n
		       : x->objective == 1 ? -1 / slow
					   : -speed * world_curve(x->fit[i], all);
	}
	return x->objective == 3 ? most : sum;
}

/* Section 3.1 as published: from equal parts the best transfer while there is one. */
static void climb(const struct sbmp_case *x, int *units)
{
	for (int i = 0; i < x->n; i++)
		units[i] = x->units / x->n + (i < x->units % x->n);
	for (;;) {
		double now = sbmp_value(x, units) * x->n, best = now - 1e-9;
		int from = -1, to = -1;

		for (int i = 0; i < x->n; i++)
			for (int j = 0; j < x->n; j++) {
				double v;

				if (i == j || units[i] < 2)
					continue;
				units[i]--;
				units[j]++;
				v = sbmp_value(x, units) * x->n;
				units[i]++;
				units[j]--;
				if (v < best - (from < 0 ? 0 : 1e-11)) {
					best = v;
					from = i;
					to = j;
				}
			}
		if (from < 0)
			return;
		units[from]--;
		units[to]++;
	}
}

START_TEST(sbmp_deals_units_as_well_as_any_assignment)
{
	static const struct {
		const char *source;
		int units, size;
	} on[] = {{"pack:4 l3:2 core:6", 8, 6}, {"pack:2 l3:2 core:3", 4, 3}, {"core:8", 8, 1},
		{"pack:3 l3:2 core:2", 6, 2}};
	static const char *const specs[] = {"sbmp", "sbmp,objective=stp", "sbmp,objective=wspeedup",
		"sbmp,objective=worst", "sbmp,search=paper", "sbmp-pp", "sbmp-cd"};
	static const int objective[] = {0, 1, 2, 3, 0, 0, 0};

	for (int c = 0; c < 40; c++) {
		struct sbmp_case x = {.objective = objective[_i]};
		struct world w;
		int m = world_rnd(4), all = on[m].units * on[m].size, got[WORLD_JOBS],
		    trial[WORLD_JOBS] = {0};
		double best = INFINITY;

		x.n = 1 + world_rnd(4);
		x.units = on[m].units;
		x.size = on[m].size;
		world_open(&w, on[m].source, specs[_i], x.n);
		for (int i = 0; i < x.n; i++) {
			double b = world_rnd(1000) / 1000.0,
			       g = (1 - b) * world_rnd(100) / 1000 * world_rnd(2);
			int points = 0;

			x.fit[i][0] = 1 - b - g;
			x.fit[i][1] = b;
			x.fit[i][2] = g;
			for (int p = 0, last = 0; p < 4; p++) {
				const int at[] = {1, all / 4, all / 2, all};

				if (at[p] > last)
					w.speed[i][points++] = (struct speed_point){
						at[p], 1 / world_curve(x.fit[i], at[p])};
				last = at[p];
			}
			for (int u = 1; u <= x.units; u++)
				x.peak[i] = fmax(x.peak[i], 1 / world_curve(x.fit[i], u * x.size));
			w.job[i].speed = w.speed[i];
			w.job[i].n_speed = points;
			world_tell(&w, i, SIGNAL_UTILIZATION, 0.9);
		}
		world_decide(&w);
		for (int i = 0; i < x.n; i++)
			got[i] = w.plan.job[i].cores / x.size;
		if (_i == 4) {
			climb(&x, trial);
			for (int i = 0; i < x.n; i++)
				ck_assert_int_eq(got[i], trial[i]);
		} else {
			do {
				int units[WORLD_JOBS], sum = 0;

				for (int i = 0; i < x.n; i++)
					sum += units[i] = trial[i] + 1;
				if (sum == x.units)
					best = fmin(best, sbmp_value(&x, units));
			} while (world_next_assignment(trial, x.n, x.units));
			ck_assert_double_eq_tol(sbmp_value(&x, got), best, 1e-7);
			ck_assert_double_eq_tol(fabs(w.plan.score), fabs(best), 1e-7);
		}
		world_close(&w);
	}
}
END_TEST

/* Hall: every set of jobs has as many cores in its envelopes as it gets. */
static bool can_be_dealt(const struct world *w, const int *cores)
{
	for (int set = 1; set < 1 << w->n; set++) {
		struct coreset all;
		int wanted = 0;

		coreset_zero(&all);
		for (int i = 0; i < w->n; i++)
			if (set >> i & 1) {
				coreset_or(&all, &all, &w->job[i].envelope);
				wanted += cores[i];
			}
		if (wanted > coreset_count(&all))
			return false;
	}
	return true;
}

START_TEST(sbmp_is_exact_where_envelopes_differ)
{
	int compared = 0;

	for (int c = 0; c < 80; c++) {
		struct world w;
		double fit[WORLD_JOBS][3], peak[WORLD_JOBS] = {0}, best = INFINITY, got = 0;
		int trial[WORLD_JOBS] = {0}, cores[WORLD_JOBS], most = 0;
		bool overlap = true, differ = false;

		world_open(&w, "core:8", "sbmp", 2 + world_rnd(2));
		for (int i = 0; i < w.n; i++) {
			double b = world_rnd(1000) / 1000.0,
			       g = (1 - b) * world_rnd(20) / 1000 * world_rnd(2);
			int first = world_rnd(7), last = first + 1 + world_rnd(7 - first);

			coreset_add_range(
				&w.job[i].envelope, (unsigned int)first, (unsigned int)last);
			memcpy(fit[i], (double[]){1 - b - g, b, g}, sizeof(fit[i]));
			for (int p = 0; p < 4; p++)
				w.speed[i][p] = (struct speed_point){
					1 << p, 1 / world_curve(fit[i], 1 << p)};
			w.job[i].speed = w.speed[i];
			w.job[i].n_speed = 4;
			for (int n = 1; n <= last - first + 1; n++)
				peak[i] = fmax(peak[i], 1 / world_curve(fit[i], n));
			differ =
				differ || !coreset_is_equal(&w.job[i].envelope, &w.job[0].envelope);
		}
		/* Jobs that overlap with nobody have no part in it. */
		for (int i = 0; i < w.n; i++) {
			bool any = false;

			for (int j = 0; j < w.n; j++)
				any = any || (j != i && coreset_intersects(&w.job[i].envelope,
								&w.job[j].envelope));
			overlap = overlap && any;
		}
		world_decide(&w);
		if (overlap && differ && !isnan(w.plan.score)) {
			for (int round = 0; round < 2; round++) /* as many as possible, then best */
				do {
					double slow = 0;
					int sum = 0;

					for (int i = 0; i < w.n; i++) {
						sum += cores[i] = trial[i] + 1;
						slow += peak[i] * world_curve(fit[i], cores[i]) /
							w.n;
					}
					if (!can_be_dealt(&w, cores))
						continue;
					if (round == 0)
						most = sum > most ? sum : most;
					else if (sum == most)
						best = fmin(best, slow);
				} while (world_next_assignment(trial, w.n, 8));
			for (int i = 0; i < w.n; i++)
				got += peak[i] * world_curve(fit[i], w.plan.job[i].cores) / w.n;
			ck_assert_double_eq_tol(got, best, 1e-9);
			ck_assert_double_eq_tol(w.plan.score, best, 1e-9);
			compared++;
		}
		world_close(&w);
	}
	ck_assert_int_gt(compared, 30);
}
END_TEST

/* Straight lines between the points, the last one's slope beyond, through 0 before. */
static double at(const struct speed_point *p, int n, int cores)
{
	for (int i = 1; i < n; i++)
		if (cores <= p[i].cores || i == n - 1) {
			double x = (double)(cores - p[i - 1].cores) / (p[i].cores - p[i - 1].cores);

			if (cores < p[0].cores)
				return p[0].speed * cores / p[0].cores;
			return fmax(0, p[i - 1].speed + x * (p[i].speed - p[i - 1].speed));
		}
	return p[0].speed;
}

START_TEST(mapper_moves_spare_cores_from_the_least_to_the_most_efficient)
{
	static const int cores[] = {1, 2, 4, 8, 16};

	for (int c = 0; c < 200; c++) {
		struct world w;
		int n = 2 + world_rnd(3), fair[WORLD_JOBS], n_min[WORLD_JOBS], alloc[WORLD_JOBS],
		    unowned = 0;
		double efficiency[WORLD_JOBS],
			q = world_rnd(2) ? 0.85 : 0.5 + world_rnd(50) / 100.0;

		world_open(&w, "pack:2 core:8", "mapper", n);
		for (int i = 0; i < n; i++) {
			double speed = 1;

			for (int p = 0; p < 5; p++) {
				w.speed[i][p] = (struct speed_point){cores[p], speed};
				speed *= world_rnd(5) ? 1 + world_rnd(100) / 100.0
						      : 0.7 + world_rnd(30) / 100.0;
			}
			w.job[i].speed = w.speed[i];
			w.job[i].n_speed = 5;
			w.job[i].qos = q;
			fair[i] = 16 / n + (i >= n - 16 % n);
		}
		world_decide(&w);
		for (int i = 0; i < n; i++) {
			const struct speed_point *p = w.speed[i];
			double keep = at(p, 5, fair[i]);

			efficiency[i] = keep / p[0].speed / fair[i];
			for (n_min[i] = 1; at(p, 5, n_min[i]) < q * keep - 1e-9;)
				n_min[i]++;
			alloc[i] = fair[i];
			for (int k = 0; k < 5; k++)
				if (cores[k] < fair[i] &&
					p[k].speed > at(p, 5, alloc[i]) * (1 + 1e-9))
					alloc[i] = cores[k];
			n_min[i] = n_min[i] < alloc[i] ? n_min[i] : alloc[i];
			unowned += fair[i] - alloc[i];
		}
		for (;;) {
			int to = -1, from = -1;

			for (int i = 0; i < n; i++)
				if (alloc[i] < 16 &&
					at(w.speed[i], 5, alloc[i] + 1) >
						at(w.speed[i], 5, alloc[i]) * (1 + 1e-9) &&
					(to < 0 || efficiency[i] > efficiency[to]))
					to = i;
			for (int i = 0; i < n && to >= 0; i++)
				if (alloc[i] > n_min[i] && efficiency[i] < efficiency[to] &&
					(from < 0 || efficiency[i] < efficiency[from]))
					from = i;
			if (to < 0 || (unowned == 0 && from < 0))
				break;
			if (unowned > 0)
				unowned--;
			else
				alloc[from]--;
			alloc[to]++;
		}
		for (int i = 0; i < n; i++)
			ck_assert_msg(w.plan.job[i].cores == alloc[i],
				"case %d, job %d: %d wanted, %d", c, i, alloc[i],
				w.plan.job[i].cores);
		world_close(&w);
	}
}
END_TEST

/* Nobody makes room for what can be measured where the job runs. */
START_TEST(mapper_measures_the_fair_share_where_the_job_runs)
{
	struct world w;

	for (int c = 0; c < N_MACHINES; c++) {
		world_open(&w, machines[c], "mapper", 2);
		world_decide(&w);
		ck_assert_int_eq(w.plan.n_experiments, w.n);
		for (int e = 0; e < w.n; e++) {
			const struct plan_experiment *x = &w.plan.experiment[e];

			ck_assert_int_eq(x->cores, w.plan.job[x->job].cores);
			ck_assert_msg(coreset_is_equal(&x->coreset, &w.plan.job[x->job].coreset),
				"%s: job %d is measured elsewhere", machines[c], x->job);
		}
		world_close(&w);
	}
}
END_TEST

START_TEST(hillclimb_stops_where_no_transfer_gains_a_percent)
{
	for (int c = 0; c < 20; c++) {
		struct world w;
		int n = 2 + world_rnd(3);
		double serial[WORLD_JOBS];

		world_open(&w, "core:12", "hillclimb", n);
		for (int i = 0; i < n; i++)
			serial[i] = world_rnd(100) / 100.0;
		for (int round = 0; round < 400; round++) {
			for (int i = 0; i < n; i++) {
				int cores = round ? w.plan.job[i].cores : 1;

				world_tell(&w, i, SIGNAL_INSTRUCTIONS,
					1 / (serial[i] + (1 - serial[i]) / cores));
			}
			world_decide(&w);
			world_carry_out(&w);
		}
		for (int i = 0; i < n; i++)
			for (int j = 0; j < n; j++) {
				int a = w.plan.job[i].cores, b = w.plan.job[j].cores;
				double gain;

				if (i == j || a < 2)
					continue;
				gain = (serial[i] + (1 - serial[i]) / a) /
				       (serial[i] + (1 - serial[i]) / (a - 1)) *
				       (serial[j] + (1 - serial[j]) / b) /
				       (serial[j] + (1 - serial[j]) / (b + 1));
				ck_assert_double_le(log(gain) / n, log(1.01) + 1e-9);
			}
		world_close(&w);
	}
}
END_TEST

START_TEST(oracles_on_curves_are_best_and_worst_of_all)
{
	static const char *const specs[] = {"best-static", "worst-static", "oracle"};

	for (int c = 0; c < 40; c++) {
		struct world w;
		int n = 1 + world_rnd(3), trial[WORLD_JOBS] = {0};
		double least = INFINITY, most = -INFINITY;

		world_open(&w, "core:8", specs[_i], n);
		for (int i = 0; i < n; i++) {
			for (int p = 0; p < 8; p++)
				w.speed[i][p] =
					(struct speed_point){p + 1, 1 + world_rnd(100) / 10.0};
			w.job[i].speed = w.speed[i];
			w.job[i].n_speed = 8;
		}
		world_decide(&w);
		do {
			double sum = 0;
			int cores = 0;

			for (int i = 0; i < n; i++) {
				double peak = 0;

				for (int p = 0; p < 8; p++)
					peak = fmax(peak, w.speed[i][p].speed);
				sum += peak / w.speed[i][trial[i]].speed / n;
				cores += trial[i] + 1;
			}
			if (cores == 8) {
				least = fmin(least, sum);
				most = fmax(most, sum);
			}
		} while (world_next_assignment(trial, n, 8));
		ck_assert_double_eq_tol(w.plan.score, _i == 1 ? most : least, 1e-9);
		world_close(&w);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("reference_cores");
	SRunner *r;
	int failed;

	world_add_case(s, "sbmp deals as well as any assignment",
		sbmp_deals_units_as_well_as_any_assignment, 7);
	world_add_case(
		s, "sbmp is exact where envelopes differ", sbmp_is_exact_where_envelopes_differ, 1);
	world_add_case(s, "mapper does what its rule says",
		mapper_moves_spare_cores_from_the_least_to_the_most_efficient, 1);
	world_add_case(s, "mapper measures a job where it runs",
		mapper_measures_the_fair_share_where_the_job_runs, 1);
	world_add_case(s, "hillclimb ends on a hill",
		hillclimb_stops_where_no_transfer_gains_a_percent, 1);
	world_add_case(s, "oracles try everything", oracles_on_curves_are_best_and_worst_of_all, 3);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
