/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Policies against references written apart from the engine: random small instances go in as
 * views, and what comes out as plans is compared with every assignment, or with a plain
 * re-statement of the rule. Nothing of the engine but engine.h is used.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/engine/engine.h"

#define JOBS  8
#define CORES 64

static uint64_t state;

static int rnd(int n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (int)((state >> 11) % (uint64_t)n);
}

struct world {
	struct topo *t;
	struct engine *e;
	struct plan plan;
	struct view v;
	struct view_job job[JOBS];
	struct speed_point speed[JOBS][8];
	char id[JOBS][16];
	int n, s; /* jobs, domains */
};

static void open_world(struct world *w, const char *source, const char *spec, int n)
{
	struct policy_cfg cfg = {.max_jobs = JOBS};
	struct errbuf err = {""};
	int rc;

	memset(w, 0, sizeof(*w));
	ck_assert_int_eq(topo_load(&w->t, source, NULL), 0);
	cfg.topo = w->t;
	rc = engine_create(&w->e, spec, &cfg, &err);
	ck_assert_msg(rc == 0, "%s: %s", spec, err.text);
	ck_assert_int_eq(plan_init(&w->plan, JOBS, NULL), 0);
	w->n = n;
	w->s = w->t->n_domains;
	w->v = (struct view){.job = w->job, .n_jobs = n, .seed = state};
	for (int i = 0; i < n; i++) {
		snprintf(w->id[i], sizeof(w->id[i]), "j%d", i);
		w->job[i] = (struct view_job){
			.id = w->id[i],
			.order = i,
			.nodes = 1,
			.home_numa = -1,
			.rss_bytes = -1,
			.core = -1,
			.type = "t",
			.threads = 1,
		};
	}
}

static void close_world(struct world *w)
{
	plan_done(&w->plan);
	engine_free(w->e);
	topo_free(w->t);
}

static void tell(struct world *w, int i, enum signal_id id, double x)
{
	w->job[i].signal[id] = (struct signal){x, PROVENANCE_HW};
}

static void decide(struct world *w)
{
	struct errbuf err = {""};
	int rc;

	for (int i = 0; i < w->n; i++)
		w->job[i].sample_no++;
	rc = engine_decide(w->e, &w->v, &w->plan, &err);
	ck_assert_msg(rc == 0, "%s: %s", engine_policy(w->e)->name, err.text);
}

static void carry_out(struct world *w)
{
	for (int i = 0; i < w->n; i++)
		w->job[i].current = w->plan.job[i].coreset;
}

/* The one domain of a job's cores. */
static int domain_of(const struct world *w, int i)
{
	int d = 0;

	while (!coreset_intersects(&w->plan.job[i].coreset, &w->t->domain[d].pus))
		d++;
	ck_assert(coreset_is_subset(&w->plan.job[i].coreset, &w->t->domain[d].pus));
	return d;
}

static bool same_groups(const struct world *w, const int *want)
{
	for (int i = 0; i < w->n; i++)
		for (int j = 0; j < i; j++)
			if ((want[i] == want[j]) != (domain_of(w, i) == domain_of(w, j)))
				return false;
	return true;
}

static bool next_assignment(int *a, int n, int base)
{
	int k = 0;

	while (k < n && ++a[k] == base)
		a[k++] = 0;
	return k < n;
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

static const char *const machines[] = {
	"pack:2 core:4", "pack:3 core:4", "pack:4 core:2", "core:2", "pack:2 l3:2 core:3 pu:2"};
#define N_MACHINES 5

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
		double r[JOBS], best = -1;
		int trial[JOBS] = {0}, got[JOBS];

		open_world(&w, machines[c % N_MACHINES],
			_i == 0   ? "lira"
			: _i == 1 ? "lira-static"
				  : "lira,tie=first",
			2 + rnd(JOBS - 1));
		for (int i = 0; i < w.n; i++) {
			bool idle = _i != 1 && rnd(6) == 0;

			r[i] = rnd(3) ? rnd(100) : rnd(5);
			tell(&w, i, SIGNAL_LOADS, r[i]);
			tell(&w, i, SIGNAL_UTILIZATION, idle ? 0.1 : 0.9);
			if (idle)
				r[i] = 0;
		}
		decide(&w);
		if (w.n > w.s) {
			do {
				if (is_even(trial, w.n, w.s))
					best = fmax(best, differences(r, trial, w.n));
			} while (next_assignment(trial, w.n, w.s));
			for (int i = 0; i < w.n; i++)
				got[i] = domain_of(&w, i);
			ck_assert(is_even(got, w.n, w.s));
			ck_assert_double_eq_tol(w.plan.score, best, 1e-9);
			ck_assert_double_eq_tol(differences(r, got, w.n), best, 1e-9);
		}
		close_world(&w);
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
	int idx[JOBS], count[CORES] = {0}, low = 0, high = n - 1;
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
		double ref[JOBS], miss[JOBS], value[JOBS], max_ref = 0, max_miss = 0;
		int want[JOBS];

		open_world(&w, machines[c % N_MACHINES], specs[_i], 2 + rnd(JOBS - 1));
		for (int i = 0; i < w.n; i++) {
			ref[i] = rnd(1000);
			miss[i] = rnd(1000);
			max_ref = fmax(max_ref, ref[i]);
			max_miss = fmax(max_miss, miss[i]);
			tell(&w, i, SIGNAL_LLC_REFS, ref[i]);
			tell(&w, i, SIGNAL_LLC_MISSES, miss[i]);
		}
		for (int i = 0; i < w.n; i++)
			value[i] = _i == 0 ? miss[i]
					   : 0.2 * ref[i] / fmax(max_ref, 1) +
						     0.8 * miss[i] / fmax(max_miss, 1);
		decide(&w);
		if (w.n > w.s) {
			pair_ends(value, w.n, w.s, _i == 2, want);
			ck_assert_msg(same_groups(&w, want), "%s, %d jobs on %s", specs[_i], w.n,
				machines[c % N_MACHINES]);
		}
		close_world(&w);
	}
}
END_TEST

/* Relative time on n cores. */
static double curve(const double *c, int n)
{
	return fmax(1e-3, c[0] + c[1] / n + c[2] * n);
}

struct sbmp_case {
	double fit[JOBS][3], peak[JOBS];
	int n, units, size, objective;
};

static double sbmp_value(const struct sbmp_case *x, const int *units)
{
	int all = x->units * x->size;
	double sum = 0, most = 0;

	for (int i = 0; i < x->n; i++) {
		double speed = 1 / curve(x->fit[i], units[i] * x->size);
		double slow = x->peak[i] / speed;

		most = fmax(most, slow);
		sum += x->objective == 0   ? slow / x->n
		       : x->objective == 1 ? -1 / slow
					   : -speed * curve(x->fit[i], all);
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
		int m = rnd(4), all = on[m].units * on[m].size, got[JOBS], trial[JOBS] = {0};
		double best = INFINITY;

		x.n = 1 + rnd(4);
		x.units = on[m].units;
		x.size = on[m].size;
		open_world(&w, on[m].source, specs[_i], x.n);
		for (int i = 0; i < x.n; i++) {
			double b = rnd(1000) / 1000.0, g = (1 - b) * rnd(100) / 1000 * rnd(2);
			int points = 0;

			x.fit[i][0] = 1 - b - g;
			x.fit[i][1] = b;
			x.fit[i][2] = g;
			for (int p = 0, last = 0; p < 4; p++) {
				const int at[] = {1, all / 4, all / 2, all};

				if (at[p] > last)
					w.speed[i][points++] = (struct speed_point){
						at[p], 1 / curve(x.fit[i], at[p])};
				last = at[p];
			}
			for (int u = 1; u <= x.units; u++)
				x.peak[i] = fmax(x.peak[i], 1 / curve(x.fit[i], u * x.size));
			w.job[i].speed = w.speed[i];
			w.job[i].n_speed = points;
			tell(&w, i, SIGNAL_UTILIZATION, 0.9);
		}
		decide(&w);
		for (int i = 0; i < x.n; i++)
			got[i] = w.plan.job[i].cores / x.size;
		if (_i == 4) {
			climb(&x, trial);
			for (int i = 0; i < x.n; i++)
				ck_assert_int_eq(got[i], trial[i]);
		} else {
			do {
				int units[JOBS], sum = 0;

				for (int i = 0; i < x.n; i++)
					sum += units[i] = trial[i] + 1;
				if (sum == x.units)
					best = fmin(best, sbmp_value(&x, units));
			} while (next_assignment(trial, x.n, x.units));
			ck_assert_double_eq_tol(sbmp_value(&x, got), best, 1e-7);
			ck_assert_double_eq_tol(fabs(w.plan.score), fabs(best), 1e-7);
		}
		close_world(&w);
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
		double fit[JOBS][3], peak[JOBS] = {0}, best = INFINITY, got = 0;
		int trial[JOBS] = {0}, cores[JOBS], most = 0;
		bool overlap = true, differ = false;

		open_world(&w, "core:8", "sbmp", 2 + rnd(2));
		for (int i = 0; i < w.n; i++) {
			double b = rnd(1000) / 1000.0, g = (1 - b) * rnd(20) / 1000 * rnd(2);
			int first = rnd(7), last = first + 1 + rnd(7 - first);

			coreset_add_range(
				&w.job[i].envelope, (unsigned int)first, (unsigned int)last);
			memcpy(fit[i], (double[]){1 - b - g, b, g}, sizeof(fit[i]));
			for (int p = 0; p < 4; p++)
				w.speed[i][p] =
					(struct speed_point){1 << p, 1 / curve(fit[i], 1 << p)};
			w.job[i].speed = w.speed[i];
			w.job[i].n_speed = 4;
			for (int n = 1; n <= last - first + 1; n++)
				peak[i] = fmax(peak[i], 1 / curve(fit[i], n));
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
		decide(&w);
		if (overlap && differ && !isnan(w.plan.score)) {
			for (int round = 0; round < 2; round++) /* as many as possible, then best */
				do {
					double slow = 0;
					int sum = 0;

					for (int i = 0; i < w.n; i++) {
						sum += cores[i] = trial[i] + 1;
						slow += peak[i] * curve(fit[i], cores[i]) / w.n;
					}
					if (!can_be_dealt(&w, cores))
						continue;
					if (round == 0)
						most = sum > most ? sum : most;
					else if (sum == most)
						best = fmin(best, slow);
				} while (next_assignment(trial, w.n, 8));
			for (int i = 0; i < w.n; i++)
				got += peak[i] * curve(fit[i], w.plan.job[i].cores) / w.n;
			ck_assert_double_eq_tol(got, best, 1e-9);
			ck_assert_double_eq_tol(w.plan.score, best, 1e-9);
			compared++;
		}
		close_world(&w);
	}
	ck_assert_int_gt(compared, 30);
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
		int place[CORES][2], m = rnd(4), n, core, first_fast = -1, best = -1, high = rnd(2);
		bool local, wide, by_time;

		open_world(&w, on[m].source, specs[_i], 1);
		n = all_places(on[m].cores, on[m].part, place);
		for (int i = 0; i < n; i++)
			ptt[i] = (struct ptt_entry){
				"t", place[i][0], place[i][1], rnd(40) ? 1 + rnd(30) : 0};
		coreset_zero(&fast);
		for (int k = 0; k < on[m].cores; k++)
			if (rnd(2) || k == on[m].cores - 1) {
				coreset_or(&fast, &fast, &w.t->core[k].pus);
				first_fast = first_fast < 0 ? k : first_fast;
			}
		core = rnd(on[m].cores);
		w.v.ptt = ptt;
		w.v.n_ptt = n;
		w.v.fast_cores = &fast;
		w.job[0].core = core;
		w.job[0].has_priority = true;
		w.job[0].priority_high = high;
		decide(&w);
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
		close_world(&w);
	}
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
		int n = 2 + rnd(3), fair[JOBS], n_min[JOBS], alloc[JOBS], unowned = 0;
		double efficiency[JOBS], q = rnd(2) ? 0.85 : 0.5 + rnd(50) / 100.0;

		open_world(&w, "pack:2 core:8", "mapper", n);
		for (int i = 0; i < n; i++) {
			double speed = 1;

			for (int p = 0; p < 5; p++) {
				w.speed[i][p] = (struct speed_point){cores[p], speed};
				speed *= rnd(5) ? 1 + rnd(100) / 100.0 : 0.7 + rnd(30) / 100.0;
			}
			w.job[i].speed = w.speed[i];
			w.job[i].n_speed = 5;
			w.job[i].qos = q;
			fair[i] = 16 / n + (i >= n - 16 % n);
		}
		decide(&w);
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
		close_world(&w);
	}
}
END_TEST

START_TEST(hillclimb_stops_where_no_transfer_gains_a_percent)
{
	for (int c = 0; c < 20; c++) {
		struct world w;
		int n = 2 + rnd(3);
		double serial[JOBS];

		open_world(&w, "core:12", "hillclimb", n);
		for (int i = 0; i < n; i++)
			serial[i] = rnd(100) / 100.0;
		for (int round = 0; round < 400; round++) {
			for (int i = 0; i < n; i++) {
				int cores = round ? w.plan.job[i].cores : 1;

				tell(&w, i, SIGNAL_INSTRUCTIONS,
					1 / (serial[i] + (1 - serial[i]) / cores));
			}
			decide(&w);
			carry_out(&w);
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
		close_world(&w);
	}
}
END_TEST

START_TEST(shares_are_exact)
{
	static const char *const specs[] = {"fair", "callisto", "spread", "gang"};

	for (int c = 0; c < 60; c++) {
		struct world w;
		int n = 1 + rnd(JOBS), total, used = 0, donors = 0;

		open_world(&w, machines[c % N_MACHINES], specs[_i], n);
		total = w.t->n_cores;
		for (int i = 0; i < n; i++) {
			double u = rnd(100) / 100.0;

			tell(&w, i, SIGNAL_UTILIZATION, u);
			donors += u < 0.7;
		}
		decide(&w);
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
				ck_assert_int_eq(domain_of(&w, i), i % w.s);
			if (_i == 1 && donors > 0 && donors < n) {
				bool donor = w.job[i].signal[SIGNAL_UTILIZATION].value < 0.7;

				ck_assert_int_eq(j->role, donor ? ROLE_DONOR : ROLE_DONEE);
				ck_assert_int_eq(j->n_lent, donor ? 0 : donors);
			}
		}
		if (_i < 3 && n <= total)
			ck_assert_int_eq(used, total); /* disjoint: the checker saw to it */
		close_world(&w);
	}
}
END_TEST

START_TEST(oracles_on_curves_are_best_and_worst_of_all)
{
	static const char *const specs[] = {"best-static", "worst-static", "oracle"};

	for (int c = 0; c < 40; c++) {
		struct world w;
		int n = 1 + rnd(3), trial[JOBS] = {0};
		double least = INFINITY, most = -INFINITY;

		open_world(&w, "core:8", specs[_i], n);
		for (int i = 0; i < n; i++) {
			for (int p = 0; p < 8; p++)
				w.speed[i][p] = (struct speed_point){p + 1, 1 + rnd(100) / 10.0};
			w.job[i].speed = w.speed[i];
			w.job[i].n_speed = 8;
		}
		decide(&w);
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
		} while (next_assignment(trial, n, 8));
		ck_assert_double_eq_tol(w.plan.score, _i == 1 ? most : least, 1e-9);
		close_world(&w);
	}
}
END_TEST

/* What the simulator would be: worth by who shares a domain with whom. */
struct truth {
	const struct topo *t;
	double together[JOBS][JOBS];
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
		struct policy_cfg cfg = {.max_jobs = JOBS, .truth = worth, .truth_ctx = &x};
		int n = 4 + rnd(4), trial[JOBS] = {0};
		double best = -INFINITY, first;

		open_world(&w, c % 2 ? "pack:2 core:4" : "pack:3 core:4", specs[_i], n);
		engine_free(w.e);
		cfg.topo = x.t = w.t;
		ck_assert_int_eq(engine_create(&w.e, specs[_i], &cfg, NULL), 0);
		for (int round = 0; round < 2; round++) {
			/* The second round has another truth: only the oracle follows it. */
			for (int i = 0; i < n; i++)
				for (int j = 0; j < i; j++)
					x.together[i][j] = rnd(1000) / 100.0;
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
			} while (next_assignment(trial, n, w.s));
			x.asked = 0;
			decide(&w);
			carry_out(&w);
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
		close_world(&w);
	}
}
END_TEST

/* Figures that are all different leave order of arrival nothing to decide. */
START_TEST(arrivals_in_another_order_change_nothing)
{
	static const char *const specs[] = {"lira", "lira-static", "lira,norm=per_socket", "dio",
		"llc-complex", "llc-complex,strict=1", "sbmp", "sbmp,objective=stp", "sbmp-pp"};
	bool by_cores = _i >= 6;

	for (int c = 0; c < 40; c++) {
		struct world w, other;
		int n = by_cores ? 2 + rnd(3) : 4 * (1 + rnd(2)), to[JOBS];
		const char *source = by_cores ? "pack:4 l3:2 core:6" : "pack:2 core:4";

		open_world(&w, source, specs[_i], n);
		open_world(&other, source, specs[_i], n);
		for (int i = 0; i < n; i++)
			to[i] = i;
		for (int i = n - 1; i > 0; i--) {
			int j = rnd(i + 1), keep = to[i];

			to[i] = to[j];
			to[j] = keep;
		}
		for (int i = 0; i < n; i++) {
			double b = 0.3 + 0.6 * rnd(100000) / 100000;
			const double fit[] = {0.9 - b, b, 0.1 * rnd(100000) / 100000};

			for (int p = 0; p < 4; p++) {
				const int cores = p ? 6 << p : 1;

				w.speed[i][p] = (struct speed_point){cores, 1 / curve(fit, cores)};
			}
			w.job[i].speed = w.speed[i];
			w.job[i].n_speed = 4;
			tell(&w, i, SIGNAL_LOADS, rnd(1000000) + i / 10.0);
			tell(&w, i, SIGNAL_LLC_MISSES, rnd(1000000) + i / 10.0);
			tell(&w, i, SIGNAL_LLC_REFS, rnd(1000000) + i / 10.0);
			tell(&w, i, SIGNAL_UTILIZATION, 0.9);
		}
		for (int i = 0; i < n; i++) {
			other.job[to[i]] = w.job[i];
			other.job[to[i]].id = other.id[to[i]];
			other.job[to[i]].order = to[i];
		}
		decide(&w);
		decide(&other);
		ck_assert(fabs(w.plan.score - other.plan.score) < 1e-6 || isnan(w.plan.score));
		for (int i = 0; i < n; i++) {
			if (by_cores)
				ck_assert_int_eq(w.plan.job[i].cores, other.plan.job[to[i]].cores);
			for (int j = 0; j < i && !by_cores; j++)
				ck_assert_msg((domain_of(&w, i) == domain_of(&w, j)) ==
						      (domain_of(&other, to[i]) ==
							      domain_of(&other, to[j])),
					"%s, case %d", specs[_i], c);
		}
		close_world(&w);
		close_world(&other);
	}
}
END_TEST

static void seed(void)
{
	state = 88172645463325252u;
}

static void add(Suite *s, const char *name, const TTest *test, int loops)
{
	TCase *tc = tcase_create(name);

	tcase_add_checked_fixture(tc, seed, NULL);
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, test, 0, loops);
	suite_add_tcase(s, tc);
}

int main(void)
{
	Suite *s = suite_create("reference");
	SRunner *r;
	int failed;

	add(s, "lira scores as the best of all groupings", lira_is_the_best_of_all_groupings, 3);
	add(s, "dio and llc-complex pair the ends", pairs_of_ends_are_spread, 3);
	add(s, "sbmp deals as well as any assignment", sbmp_deals_units_as_well_as_any_assignment,
		7);
	add(s, "sbmp is exact where envelopes differ", sbmp_is_exact_where_envelopes_differ, 1);
	add(s, "das takes the least of all places", das_chooses_the_least_of_all_places, 7);
	add(s, "mapper does what its rule says",
		mapper_moves_spare_cores_from_the_least_to_the_most_efficient, 1);
	add(s, "hillclimb ends on a hill", hillclimb_stops_where_no_transfer_gains_a_percent, 1);
	add(s, "fair, callisto, spread and gang share exactly", shares_are_exact, 4);
	add(s, "oracles try everything", oracles_on_curves_are_best_and_worst_of_all, 3);
	add(s, "oracles believe the truth", oracles_find_the_truths_best_and_worst, 3);
	add(s, "no tie, nothing for order of arrival to decide",
		arrivals_in_another_order_change_nothing, 9);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
