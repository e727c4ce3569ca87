/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/engine/internal.h"

#include <math.h>

void allocate_init(struct allocate *a, struct arena *memory, int max_jobs, int max_units)
{
	size_t n = (size_t)max_jobs * (size_t)(max_units + 1);

	*a = (struct allocate){.max_jobs = max_jobs,
		.max_units = max_units,
		.cost = arena_alloc(memory, n, sizeof(double)),
		.value = arena_alloc(memory, n, sizeof(double)),
		.choice = arena_alloc(memory, n, sizeof(short))};
}

static double total(const struct allocate *a, int n, enum combine how, const int *units)
{
	double sum = 0, most = -INFINITY;

	for (int i = 0; i < n; i++) {
		double c = *allocate_cost(a, i, units[i]);

		sum += c;
		most = c > most ? c : most;
	}
	return how == COMBINE_SUM ? sum : most;
}

static bool is_convex(const struct allocate *a, int n, int most)
{
	for (int i = 0; i < n; i++)
		for (int u = 2; u < most; u++) {
			double before = *allocate_cost(a, i, u) - *allocate_cost(a, i, u - 1);
			double after = *allocate_cost(a, i, u + 1) - *allocate_cost(a, i, u);

			if (after < before - 1e-12)
				return false;
		}
	return true;
}

/* What job @i's next unit adds to the costs; of the largest, first whoever it would be and is
 * helped. */
static double next_gain(const struct allocate *a, int i, int have, enum combine how)
{
	double now = *allocate_cost(a, i, have), more = *allocate_cost(a, i, have + 1) - now;

	return how == COMBINE_MAX && more < 0 ? -now : more;
}

/* Each further unit to the job it helps most, of those alike to the smallest; exact if convex. */
static void greedy(const struct allocate *a, int n, int units, enum combine how, int *ret_units)
{
	double *gain = a->value;

	for (int i = 0; i < n; i++) {
		ret_units[i] = 1;
		gain[i] = units > n ? next_gain(a, i, 1, how) : 0;
	}
	for (int left = units - n; left > 0; left--) {
		int best = 0, u;

		for (int i = 1; i < n; i++)
			if (gain[i] < gain[best] - 1e-12 ||
				(gain[i] <= gain[best] + 1e-12 && ret_units[i] < ret_units[best]))
				best = i;
		u = ++ret_units[best];
		if (u < units)
			gain[best] = next_gain(a, best, u, how);
	}
}

static void program(struct allocate *a, int n, int units, enum combine how, int *ret_units)
{
	size_t stride = (size_t)a->max_units + 1;
	int spare = units - n;

	/* value[i][s]: least for jobs 0..i with s units beyond one each. */
	for (int i = 0; i < n; i++)
		for (int s = 0; s <= spare; s++) {
			double best = INFINITY;
			int choice = 0;

			for (int extra = i ? 0 : s; extra <= s; extra++) {
				double c = *allocate_cost(a, i, extra + 1), v = c;

				if (i) {
					double rest = a->value[(size_t)(i - 1) * stride +
							       (size_t)(s - extra)];

					v = how == COMBINE_SUM ? rest + c : fmax(rest, c);
				}
				if (v < best - 1e-12) {
					best = v;
					choice = extra;
				}
			}
			a->value[(size_t)i * stride + (size_t)s] = best;
			a->choice[(size_t)i * stride + (size_t)s] = (short)choice;
		}
	for (int i = n - 1, s = spare; i >= 0; i--) {
		int extra = a->choice[(size_t)i * stride + (size_t)s];

		ret_units[i] = extra + 1;
		s -= extra;
	}
}

double allocate_best(struct allocate *a, int n, int units, enum combine how, int *ret_units)
{
	bool convex = how == COMBINE_SUM && is_convex(a, n, units - n + 1);
	double spare = units - n, most;

	a->cut = !convex && n * spare * spare / 2 > ALLOCATE_STEPS_MAX;
	if (convex || a->cut) {
		greedy(a, n, units, how, ret_units);
		return total(a, n, how, ret_units);
	}
	program(a, n, units, how, ret_units);
	most = total(a, n, how, ret_units);
	if (how == COMBINE_SUM || !isfinite(most))
		return most;
	/* Many dealings share the least maximum: of those the one of least sum. */
	for (int i = 0; i < n; i++)
		for (int u = 1; u <= units; u++)
			if (*allocate_cost(a, i, u) > most + 1e-12)
				*allocate_cost(a, i, u) = INFINITY;
	program(a, n, units, COMBINE_SUM, ret_units);
	return total(a, n, how, ret_units);
}

static bool least_fit(const int *least, int n, int units)
{
	int sum = 0;

	for (int i = 0; least && i < n; i++)
		sum += least[i];
	return sum <= units;
}

/* Parts as equal as minima leave them: what is left of them to the smallest, the lowest first. */
static void equal_parts(const int *least, int n, int units, int *ret_units)
{
	int left = units;

	for (int i = 0; i < n; i++) {
		ret_units[i] = least ? least[i] : 1;
		left -= ret_units[i];
	}
	for (; left > 0; left--) {
		int smallest = 0;

		for (int i = 1; i < n; i++)
			if (ret_units[i] < ret_units[smallest])
				smallest = i;
		ret_units[smallest]++;
	}
}

double allocate_climb(
	struct allocate *a, int n, int units, enum combine how, const int *least, int *ret_units)
{
	long a_look = how == COMBINE_SUM ? 1 : n, steps = 0;
	double now;

	if (!least_fit(least, n, units))
		least = NULL;
	equal_parts(least, n, units, ret_units);
	now = total(a, n, how, ret_units);
	for (;;) {
		double best = now;
		int from = -1, to = -1;

		a->cut = steps > ALLOCATE_STEPS_MAX;
		for (int i = 0; i < n && !a->cut; i++) {
			if (ret_units[i] <= (least ? least[i] : 1))
				continue;
			steps += n * a_look;
			if (steps > ALLOCATE_STEPS_MAX && a_look > 1)
				break;
			for (int j = 0; j < n; j++) {
				double v;

				if (j == i)
					continue;
				if (how == COMBINE_SUM) {
					v = now - *allocate_cost(a, i, ret_units[i]) -
					    *allocate_cost(a, j, ret_units[j]) +
					    *allocate_cost(a, i, ret_units[i] - 1) +
					    *allocate_cost(a, j, ret_units[j] + 1);
				} else {
					ret_units[i]--;
					ret_units[j]++;
					v = total(a, n, how, ret_units);
					ret_units[i]++;
					ret_units[j]--;
				}
				/* Rounding must not choose among transfers that are as good. */
				if (v < best - (from < 0 ? 1e-9 : 1e-12)) {
					best = v;
					from = i;
					to = j;
				}
			}
		}
		a->cut = steps > ALLOCATE_STEPS_MAX;
		if (from < 0)
			return total(a, n, how, ret_units);
		ret_units[from]--;
		ret_units[to]++;
		now = total(a, n, how, ret_units);
	}
}
