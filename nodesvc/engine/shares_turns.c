/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shares_turns.c - jobs whose processes poll for one another, on fewer cores than processes, take
 * turns with all the others: each polling one alone on its whole envelope, the rest together.
 *
 * A rank that polls for a partner which is not running wastes both its slice and the partner's
 * wait, and no partition mends that (measured on two cores: four LAMMPS of two ranks take 25 s when
 * shared, 34 s packed two to a core, 10 s in turns). A rank that yields loses nothing: drivers
 * report it as not polling.
 */
#include "nodesvc/engine/internal.h"

#define POLLS_MAX (PLAN_SLICES_MAX / 2) /* sbmp's green jobs want slices too */

/* Fewer cores by right than processes that poll; where jobs outnumber cores all are short. */
static bool is_short(const struct shares *c, int k)
{
	int n = c->v->job[c->job[k]].polling;

	return n > 1 && (c->shared || n > c->size[k]);
}

static void give_whole(struct shares *c, int k, struct plan *p)
{
	int i = c->job[k];

	shares_give(c, k, c->core, c->total, p);
	p->job[i].role = ROLE_GANG;
	plan_why(p, i, "%d processes poll for one another, %d cores by right: all cores, in turns",
		c->v->job[i].polling, c->size[k]);
}

/* The slice of whoever does not poll first, then one for each that does. */
static void cut_slices(struct shares *c, const bool *polls, int n_polls, struct plan *p)
{
	int slice_ms = view_slice_ms(c->v), s = n_polls < c->n;
	struct plan_slice *rest = &p->slice[0];

	if (s) {
		rest->n_jobs = 0;
		rest->ms = slice_ms * (c->n - n_polls);
	}
	for (int k = 0; k < c->n; k++) {
		if (!polls[k]) {
			rest->job[rest->n_jobs++] = c->job[k];
			continue;
		}
		p->slice[s].n_jobs = 1;
		p->slice[s].job[0] = c->job[k];
		p->slice[s++].ms = slice_ms;
	}
	p->n_slices = s;
}

bool shares_take_turns(struct shares *c, struct plan *p)
{
	bool *polls = c->polls;
	int n_polls = 0, left = 0;

	if (c->in_place || c->n < 2)
		return false;
	for (int k = 0; k < c->n; k++) {
		/* Whoever overlaps a polling job must be frozen in its turn, or be no neighbour. */
		if (c->v->job[c->job[k]].nodes > 1)
			return false;
		polls[k] = n_polls < POLLS_MAX && is_short(c, k);
		n_polls += polls[k];
	}
	if (n_polls == 0)
		return false;
	cut_slices(c, polls, n_polls, p);
	for (int k = 0; k < c->n; k++) {
		if (polls[k]) {
			give_whole(c, k, p);
			continue;
		}
		c->job[left] = c->job[k];
		c->envelope[left++] = c->envelope[k];
	}
	c->n = left;
	return true;
}
