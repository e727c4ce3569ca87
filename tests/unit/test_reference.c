/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Policies that place against references written apart from the engine: random small instances go
 * in as views, and what comes out as plans is compared with every assignment, or with a plain
 * re-statement of the rule. Nothing of the engine but engine.h is used.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/reference_world.h"

#define CORES 64

static const char *const machines[] = {
	"pack:2 core:4", "pack:3 core:4", "pack:4 core:2", "core:2", "pack:2 l3:2 core:3 pu:2"};
#define N_MACHINES 5

static bool same_groups(const struct world *w, const int *want)
{
	for (int i = 0; i < w->n; i++)
		for (int j = 0; j < i; j++)
			if ((want[i] == want[j]) !=
				(world_domain_of(w, i) == world_domain_of(w, j)))
				return false;
	return true;
}

static bool is_even(const int *a, int n, int s)
{
	int count[CORES] = {0};

	for (int i = 0; i < n; i++)
		count[a[i]]++;
	for (int d = 0; d < s; d++)
		if (count[d] < n / s || count[d] > (n + s - 1) / s)
			return false;
	return true;
}

static double differences(const double *r, const int *a, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		for (int j = 0; j < i; j++)
			sum += a[i] == a[j] ? fabs(r[i] - r[j]) : 0;
	return sum;
}

START_TEST(lira_is_the_best_of_all_groupings)
{
	for (int c = 0; c < 60; c++) {
		struct world w;
		double r[WORLD_JOBS], best = -1;
		int trial[WORLD_JOBS] = {0}, got[WORLD_JOBS];

		world_open(&w, machines[c % N_MACHINES],
			_i == 0   ? "lira"
			: _i == 1 ? "lira-static"
				  : "lira,tie=first",
			2 + world_rnd(WORLD_JOBS - 1));
		for (int i = 0; i < w.n; i++) {
			bool idle = _i != 1 && world_rnd(6) == 0;

			r[i] = world_rnd(3) ? world_rnd(100) : world_rnd(5);
			world_tell(&w, i, SIGNAL_LOADS, r[i]);
			world_tell(&w, i, SIGNAL_UTILIZATION, idle ? 0.1 : 0.9);
			if (idle)
				r[i] = 0;
		}
		world_decide(&w);
		if (w.n > w.s) {
			do {
				if (is_even(trial, w.n, w.s))
					best = fmax(best, differences(r, trial, w.n));
			} while (world_next_assignment(trial, w.n, w.s));
			for (int i = 0; i < w.n; i++)
				got[i] = world_domain_of(&w, i);
			ck_assert(is_even(got, w.n, w.s));
			ck_assert_double_eq_tol(w.plan.score, best, 1e-9);
			ck_assert_double_eq_tol(differences(r, got, w.n), best, 1e-9);
		}
		world_close(&w);
	}
}
END_TEST

/* Descending or ascending order by value; of equal ones the earlier first. */
static void sort_by(int *idx, int n, const double *value)
{
	for (int i = 0; i < n; i++) {
		int j = i;

		for (; j > 0 && value[idx[j - 1]] > value[i]; j--)
			idx[j] = idx[j - 1];
		idx[j] = i;
	}
}

/* "basically same": full rounds of outer pairs, what is left one by one to the smaller sum. */
static void pair_ends(const double *value, int n, int s, bool strict, int *ret)
{
	int idx[WORLD_JOBS], count[CORES] = {0}, low = 0, high = n - 1;
	double sum[CORES] = {0};

	sort_by(idx, n, value);
	for (int p = 0; low < high && (strict || p < n / (2 * s) * s); p++, low++, high--) {
		int d = p % s;

		if (!strict && s > 2 && (p / s) % 2)
			d = s - 1 - d;
		ret[idx[low]] = ret[idx[high]] = d;
		count[d] += 2;
		sum[d] += value[idx[low]] + value[idx[high]];
		if (strict && high - low == 2)
			ret[idx[low + 1]] = (p + 1) % s; /* the paper does not say */
	}
	if (strict && n == 1)
		ret[idx[0]] = 0;
	for (bool larger = true; !strict && low <= high; larger = !larger) {
		int k = larger ? idx[high--] : idx[low++], to = -1;

		for (int pass = 0; pass < 2 && to < 0; pass++)
			for (int d = 0; d < s; d++)
				if (count[d] < (pass ? (n + s - 1) / s : n / s) &&
					(to < 0 || sum[d] < sum[to]))
					to = d;
		ret[k] = to;
		count[to]++;
		sum[to] += value[k];
	}
}

START_TEST(pairs_of_ends_are_spread)
{
	static const char *const specs[] = {"dio", "llc-complex", "llc-complex,strict=1"};

	for (int c = 0; c < 60; c++) {
		struct world w;
		double ref[WORLD_JOBS], miss[WORLD_JOBS], value[WORLD_JOBS], max_ref = 0,
									     max_miss = 0;
		int want[WORLD_JOBS];

		world_open(&w, machines[c % N_MACHINES], specs[_i], 2 + world_rnd(WORLD_JOBS - 1));
		for (int i = 0; i < w.n; i++) {
			ref[i] = world_rnd(1000);
			miss[i] = world_rnd(1000);
			max_ref = fmax(max_ref, ref[i]);
			max_miss = fmax(max_miss, miss[i]);
			world_tell(&w, i, SIGNAL_LLC_REFS, ref[i]);
			world_tell(&w, i, SIGNAL_LLC_MISSES, miss[i]);
		}
		for (int i = 0; i < w.n; i++)
			value[i] = _i == 0 ? miss[i]
					   : 0.2 * ref[i] / fmax(max_ref, 1) +
						     0.8 * miss[i] / fmax(max_miss, 1);
		world_decide(&w);
		if (w.n > w.s) {
			pair_ends(value, w.n, w.s, _i == 2, want);
			ck_assert_msg(same_groups(&w, want), "%s, %d jobs on %s", specs[_i], w.n,
				machines[c % N_MACHINES]);
		}
		world_close(&w);
	}
}
END_TEST

/* Every place of a machine whose caches hold @part cores each: (leader, width), in order. */
static int all_places(int cores, int part, int place[][2])
{
	int n = 0;

	for (int c = 0; c < cores; c++)
		for (int w = 1; w <= part; w++)
			if (part % w == 0 && c % part % w == 0) {
				place[n][0] = c;
				place[n++][1] = w;
			}
	return n;
}

START_TEST(das_chooses_the_least_of_all_places)
{
	static const char *const specs[] = {
		"das-rws", "das-rwsm-c", "das-fa", "das-fam-c", "das-da", "das-dam-c", "das-dam-p"};
	static const struct {
		const char *source;
		int cores, part;
	} on[] = {{"pack:2 l3:2 core:3", 12, 3}, {"pack:2 l3:1 core:4 pu:2", 8, 4},
		{"pack:2 core:6", 12, 6}, {"core:4", 4, 4}};

	for (int c = 0; c < 60; c++) {
		struct world w;
		struct ptt_entry ptt[CORES];
		struct coreset fast;
		int place[CORES][2], m = world_rnd(4), n, core, first_fast = -1, best = -1,
				     high = world_rnd(2);
		bool local, wide, by_time;

		world_open(&w, on[m].source, specs[_i], 1);
		n = all_places(on[m].cores, on[m].part, place);
		for (int i = 0; i < n; i++)
			ptt[i] = (struct ptt_entry){"t", place[i][0], place[i][1],
				world_rnd(40) ? 1 + world_rnd(30) : 0, 0};
		coreset_zero(&fast);
		for (int k = 0; k < on[m].cores; k++)
			if (world_rnd(2) || k == on[m].cores - 1) {
				coreset_or(&fast, &fast, &w.t->core[k].pus);
				first_fast = first_fast < 0 ? k : first_fast;
			}
		core = world_rnd(on[m].cores);
		w.v.ptt = ptt;
		w.v.n_ptt = n;
		w.v.fast_cores = &fast;
		w.job[0].core = core;
		w.job[0].has_priority = true;
		w.job[0].priority_high = high;
		world_decide(&w);
		/* Algorithm 1 and Table 1: where it may look, at which widths, for what. */
		local = !high || _i < 4;
		wide = _i == 1 || _i == 3 || _i >= 5;
		by_time = high && (_i == 4 || _i == 6);
		if (high && (_i == 2 || _i == 3))
			core = first_fast;
		for (int i = 0; i < n; i++) {
			double now = ptt[i].seconds * (by_time ? 1 : place[i][1]);

			if ((local && (core < place[i][0] || core >= place[i][0] + place[i][1])) ||
				(!wide && place[i][1] != 1))
				continue;
			if (best < 0 || now < ptt[best].seconds * (by_time ? 1 : place[best][1]))
				best = i;
		}
		ck_assert_msg(w.plan.job[0].place_core == place[best][0] &&
				      w.plan.job[0].place_width == place[best][1],
			"%s: (%d,%d) wanted, (%d,%d)", specs[_i], place[best][0], place[best][1],
			w.plan.job[0].place_core, w.plan.job[0].place_width);
		world_close(&w);
	}
}
END_TEST

START_TEST(shares_are_exact)
{
	static const char *const specs[] = {"fair", "callisto", "spread", "gang"};

	for (int c = 0; c < 60; c++) {
		struct world w;
		int n = 1 + world_rnd(WORLD_JOBS), total, used = 0, donors = 0;

		world_open(&w, machines[c % N_MACHINES], specs[_i], n);
		total = w.t->n_cores;
		for (int i = 0; i < n; i++) {
			double u = world_rnd(100) / 100.0;

			world_tell(&w, i, SIGNAL_UTILIZATION, u);
			donors += u < 0.7;
		}
		world_decide(&w);
		for (int i = 0; i < n; i++) {
			const struct plan_job *j = &w.plan.job[i];
			int share = total / n + (i < total % n);

			used += j->cores;
			if (_i == 3) {
				ck_assert_int_eq(j->cores, total);
				ck_assert_int_eq(w.plan.n_slices, n > 1 ? n : 0);
				ck_assert(n == 1 || (w.plan.slice[i].n_jobs == 1 &&
							    w.plan.slice[i].job[0] == i));
				continue;
			}
			if (n > total)
				continue;
			if (_i < 2)
				ck_assert_int_eq(j->cores, share);
			if (_i == 2 && n > w.s)
				ck_assert_int_eq(world_domain_of(&w, i), i % w.s);
			if (_i == 1 && donors > 0 && donors < n) {
				bool donor = w.job[i].signal[SIGNAL_UTILIZATION].value < 0.7;

				ck_assert_int_eq(j->role, donor ? ROLE_DONOR : ROLE_DONEE);
				ck_assert_int_eq(j->n_lent, donor ? 0 : donors);
			}
		}
		if (_i < 3 && n <= total)
			ck_assert_int_eq(used, total); /* disjoint: the checker saw to it */
		world_close(&w);
	}
}
END_TEST

/* What the simulator would be: worth by who shares a domain with whom. */
struct truth {
	const struct topo *t;
	double together[WORLD_JOBS][WORLD_JOBS];
	int asked;
};

static double worth(void *ctx, const struct view *v, const struct plan *p)
{
	struct truth *x = ctx;
	double sum = 0;

	x->asked++;
	for (int d = 0; d < x->t->n_domains; d++)
		for (int i = 0; i < v->n_jobs; i++)
			for (int j = 0; j < i; j++)
				if (coreset_intersects(&p->job[i].coreset, &x->t->domain[d].pus) &&
					coreset_intersects(
						&p->job[j].coreset, &x->t->domain[d].pus))
					sum += x->together[i][j];
	return sum;
}

START_TEST(oracles_find_the_truths_best_and_worst)
{
	static const char *const specs[] = {"best-static", "worst-static", "oracle"};

	for (int c = 0; c < 20; c++) {
		struct world w;
		struct truth x = {0};
		struct policy_cfg cfg = {.max_jobs = WORLD_JOBS, .truth = worth, .truth_ctx = &x};
		int n = 4 + world_rnd(4), trial[WORLD_JOBS] = {0};
		double best = -INFINITY, first;

		world_open(&w, c % 2 ? "pack:2 core:4" : "pack:3 core:4", specs[_i], n);
		engine_free(w.e);
		cfg.topo = x.t = w.t;
		ck_assert_int_eq(engine_create(&w.e, specs[_i], &cfg, NULL), 0);
		for (int round = 0; round < 2; round++) {
			/* The second round has another truth: only the oracle follows it. */
			for (int i = 0; i < n; i++)
				for (int j = 0; j < i; j++)
					x.together[i][j] = world_rnd(1000) / 100.0;
			best = -INFINITY;
			memset(trial, 0, sizeof(trial));
			do {
				double sum = 0;

				if (!is_even(trial, n, w.s))
					continue;
				for (int i = 0; i < n; i++)
					for (int j = 0; j < i; j++)
						sum += trial[i] == trial[j] ? x.together[i][j] : 0;
				best = fmax(best, _i == 1 ? -sum : sum);
			} while (world_next_assignment(trial, n, w.s));
			x.asked = 0;
			world_decide(&w);
			world_carry_out(&w);
			if (round == 0 || _i == 2) {
				ck_assert_double_eq_tol(w.plan.score, _i == 1 ? -best : best, 1e-9);
				ck_assert_double_eq_tol(
					worth(&x, &w.v, &w.plan), _i == 1 ? -best : best, 1e-9);
				first = w.plan.score;
			} else {
				ck_assert_int_eq(x.asked, 0);
				ck_assert_int_eq(w.plan.moves, 0);
				ck_assert_double_eq(w.plan.score, first);
			}
		}
		world_close(&w);
	}
}
END_TEST

/* Figures that are all different leave order of arrival nothing to world_decide. */
START_TEST(arrivals_in_another_order_change_nothing)
{
	static const char *const specs[] = {"lira", "lira-static", "lira,norm=per_socket", "dio",
		"llc-complex", "llc-complex,strict=1", "sbmp", "sbmp,objective=stp", "sbmp-pp"};
	bool by_cores = _i >= 6;

	for (int c = 0; c < 40; c++) {
		struct world w, other;
		int n = by_cores ? 2 + world_rnd(3) : 4 * (1 + world_rnd(2)), to[WORLD_JOBS];
		const char *source = by_cores ? "pack:4 l3:2 core:6" : "pack:2 core:4";

		world_open(&w, source, specs[_i], n);
		world_open(&other, source, specs[_i], n);
		for (int i = 0; i < n; i++)
			to[i] = i;
		for (int i = n - 1; i > 0; i--) {
			int j = world_rnd(i + 1), keep = to[i];

			to[i] = to[j];
			to[j] = keep;
		}
		for (int i = 0; i < n; i++) {
			double b = 0.3 + 0.6 * world_rnd(100000) / 100000;
			const double fit[] = {0.9 - b, b, 0.1 * world_rnd(100000) / 100000};

			for (int p = 0; p < 4; p++) {
				const int cores = p ? 6 << p : 1;

				w.speed[i][p] =
					(struct speed_point){cores, 1 / world_curve(fit, cores)};
			}
			w.job[i].speed = w.speed[i];
			w.job[i].n_speed = 4;
			world_tell(&w, i, SIGNAL_LOADS, world_rnd(1000000) + i / 10.0);
			world_tell(&w, i, SIGNAL_LLC_MISSES, world_rnd(1000000) + i / 10.0);
			world_tell(&w, i, SIGNAL_LLC_REFS, world_rnd(1000000) + i / 10.0);
			world_tell(&w, i, SIGNAL_UTILIZATION, 0.9);
		}
		for (int i = 0; i < n; i++) {
			other.job[to[i]] = w.job[i];
			other.job[to[i]].id = other.id[to[i]];
			other.job[to[i]].order = to[i];
		}
		world_decide(&w);
		world_decide(&other);
		ck_assert(fabs(w.plan.score - other.plan.score) < 1e-6 || isnan(w.plan.score));
		for (int i = 0; i < n; i++) {
			if (by_cores)
				ck_assert_int_eq(w.plan.job[i].cores, other.plan.job[to[i]].cores);
			for (int j = 0; j < i && !by_cores; j++)
				ck_assert_msg((world_domain_of(&w, i) == world_domain_of(&w, j)) ==
						      (world_domain_of(&other, to[i]) ==
							      world_domain_of(&other, to[j])),
					"%s, case %d", specs[_i], c);
		}
		world_close(&w);
		world_close(&other);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("reference");
	SRunner *r;
	int failed;

	world_add_case(s, "lira scores as the best of all groupings",
		lira_is_the_best_of_all_groupings, 3);
	world_add_case(s, "dio and llc-complex pair the ends", pairs_of_ends_are_spread, 3);
	world_add_case(
		s, "das takes the least of all places", das_chooses_the_least_of_all_places, 7);
	world_add_case(s, "fair, callisto, spread and gang share exactly", shares_are_exact, 4);
	world_add_case(s, "oracles believe the truth", oracles_find_the_truths_best_and_worst, 3);
	world_add_case(s, "no tie, nothing for order of arrival to decide",
		arrivals_in_another_order_change_nothing, 9);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
