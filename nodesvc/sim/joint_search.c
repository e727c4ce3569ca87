/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * joint_search.c - where there are too many ways to look at all: from several of them on by the
 * first step that gains, until none does. On a machine where each job has domains of its own, two
 * jobs gain by a common one only where both have much of it, so steps are of all sizes, and loans
 * are told anew at each.
 */
#include <math.h>

#include "nodesvc/sim/joint_internal.h"

#define GAIN 1e-6

void joint_levers(struct joint *x, const struct way *from, struct way *best)
{
	uint32_t clusters = x->d->n_jobs <= 6 ? UINT32_C(1) << (x->d->n_jobs - 1) : 1;
	struct way w = *from;

	for (int loans = 0; loans < JOINT_LOANS; loans++) {
		joint_lend(x, loans, &w);
		for (uint32_t c = 0; c < clusters; c++)
			for (int quarters = 1; quarters <= (c ? 3 : 1); quarters++) {
				w.cluster = c;
				w.quarters = quarters;
				w.value = joint_worth(x, &w);
				if (w.value > best->value)
					*best = w;
			}
	}
}

static bool is_there(const struct joint *x, int i)
{
	return x->r->job[i].present;
}

/* Takes @w with the loans that belong to its cores, if it is better than @best. */
static bool take(struct joint *x, struct way *w, struct way *best)
{
	joint_lend(x, w->loans, w);
	w->value = joint_worth(x, w);
	if (w->value <= best->value + GAIN)
		return false;
	*best = *w;
	return true;
}

/* Cores of domain @k from @a to @b: all, half of them, and so on. */
static bool try_gift(struct joint *x, struct way *best, int a, int b, int k)
{
	int most = best->n[a][k];

	if (joint_size(x, best, a) == most)
		most--;
	for (int n = most; n > 0; n /= 2) {
		struct way w = *best;

		w.n[a][k] = (short)(w.n[a][k] - n);
		w.n[b][k] = (short)(w.n[b][k] + n);
		if (take(x, &w, best))
			return true;
	}
	return false;
}

/* As many cores of domain @k for cores of domain @l. */
static bool try_exchange(struct joint *x, struct way *best, int a, int b, int k, int l)
{
	int most = best->n[a][k] < best->n[b][l] ? best->n[a][k] : best->n[b][l];

	for (int n = most; n > 0; n /= 2) {
		struct way w = *best;

		w.n[a][k] = (short)(w.n[a][k] - n);
		w.n[b][k] = (short)(w.n[b][k] + n);
		w.n[b][l] = (short)(w.n[b][l] - n);
		w.n[a][l] = (short)(w.n[a][l] + n);
		if (take(x, &w, best))
			return true;
	}
	return false;
}

static bool try_pair(struct joint *x, struct way *best, int a, int b)
{
	bool gained = false;

	for (int k = 0; k < x->t->n_domains; k++) {
		gained |= try_gift(x, best, a, b, k);
		for (int l = 0; l < x->t->n_domains; l++)
			gained |= l != k && try_exchange(x, best, a, b, k, l);
	}
	return gained;
}

static void climb(struct joint *x, struct way *best, long until)
{
	bool gained = true;

	while (gained && x->looks < until) {
		gained = false;
		for (int a = 0; a < x->d->n_jobs; a++)
			for (int b = 0; b < x->d->n_jobs && x->looks < until; b++)
				if (a != b && is_there(x, a) && is_there(x, b))
					gained |= try_pair(x, best, a, b);
	}
}

void joint_search(struct joint *x, struct way *best)
{
	long until = x->looks + JOINT_SEARCH;
	int n = x->n_best < JOINT_STARTS ? x->n_best : JOINT_STARTS;

	for (int from = 0; from < n; from++)
		for (int loans = 0; loans < JOINT_LOANS && x->looks < until; loans++) {
			struct way w = x->best[from], start = {.value = -INFINITY};

			w.loans = (signed char)loans;
			take(x, &w, &start);
			for (double was = -INFINITY; start.value > was;) {
				was = start.value;
				climb(x, &start, until);
				joint_levers(x, &start, &start);
			}
			if (start.value > best->value)
				*best = start;
		}
}
