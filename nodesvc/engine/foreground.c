/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * foreground.c - of jobs that take turns, who came first goes first for a while.
 *
 * Among n jobs of one length equal turns end all of them last: each takes n times its time alone,
 * where one after another would take (n + 1) / 2 times on average. A foreground is the way
 * between the two for lengths nobody knows: a job goes before the others until it has had so much
 * of the node, then takes its turns in the background. Source: multilevel processor sharing,
 * Kleinrock, Queueing Systems vol. 2, 1976, chapter 4, with two levels: first come first served,
 * then round robin. The others keep a short slice in each round (ours: no job stands still longer
 * than the driver allows).
 *
 * Alone, that rule starves: beside short jobs that come one after another a long one would be in
 * the background for as long as they come. So each has an account of what it had less than equal
 * turns would have given it, since it came; while another than the one in front is behind_ms
 * behind, all take equal turns (ours). Whatever comes, nobody loses more than that by others'
 * foregrounds.
 *
 * Who computes in bursts goes before nobody (ours): what he leaves while he waits the others get
 * anyway, and where all are such the last to come would be left to wait alone at the end.
 */
#include <math.h>

#include "nodesvc/engine/internal.h"

/*
 * What a job has had of its cores: by the driver's sums where it knows them, else by the plans that
 * were made for it. What it leaves while it waits is then neither had nor owed.
 */
struct served {
	double s;        /* seconds of slices */
	double behind_s; /* what equal turns would have given it more; less than 0: it is ahead */
	double part;     /* of the time, under the last plan; 0: it had no turn */
	double equal;    /* what equal turns, by weight, would have given it then */
	bool seen;       /* and the driver's sums then */
	double wanted_s, served_s;
};

void foreground_init(
	struct foreground *f, int first_ms, int behind_ms, const struct policy_cfg *cfg)
{
	*f = (struct foreground){.first_ms = first_ms, .behind_ms = behind_ms};
	if (first_ms > 0)
		f->served = arena_alloc(cfg->memory, (size_t)cfg->max_jobs, sizeof(*f->served));
}

void foreground_forget(struct foreground *f, int slot)
{
	if (f->served)
		f->served[slot] = (struct served){.s = 0};
}

/* Are the sums those of turns since the last decision? Alone it is in no rotation. */
static bool is_measured(const struct served *s, const struct view_job *j)
{
	return s->seen && s->part < 1 && j->in_turns;
}

/* The part of @dt in which it wanted a core. */
static double wanted_part(const struct served *s, const struct view_job *j, double dt)
{
	if (!is_measured(s, j) || dt <= 0)
		return 1;
	return fmin(1, fmax(0, (j->wanted_s - s->wanted_s) / dt));
}

/* To those who had it. Equal turns would have given what one did not want to the others, as if each
 * had waited whatever the others did. */
void foreground_account(struct foreground *f, const struct view *v, const int *slot)
{
	double dt = fmax(0, v->now_s - f->last_s), all = 0, in_line = 0;

	if (!f->served)
		return;
	for (int i = 0; i < v->n_jobs; i++) {
		const struct served *s = &f->served[slot[i]];

		all += s->equal;
		in_line += s->equal * wanted_part(s, &v->job[i], dt);
	}
	for (int i = 0; i < v->n_jobs; i++) {
		const struct view_job *j = &v->job[i];
		struct served *s = &f->served[slot[i]];
		double wanted = wanted_part(s, j, dt), had = dt * s->part, rivals;

		if (is_measured(s, j))
			had = fmax(0, j->served_s - s->served_s);
		rivals = in_line + s->equal * (1 - wanted);
		s->s += had;
		if (s->equal > 0)
			s->behind_s += dt * wanted * fmin(1, s->equal * all / rivals) - had;
		s->part = s->equal = 0;
		s->seen = true;
		s->wanted_s = j->wanted_s;
		s->served_s = j->served_s;
	}
	f->last_s = v->now_s;
}

bool foreground_has_none(const struct shares *c)
{
	for (int k = 0; k < c->n; k++)
		if (!c->v->job[c->job[k]].bursty)
			return false;
	return true;
}

/* The first to come of those in slices who have not had enough; -1 none. */
static int first_unserved(
	const struct foreground *f, const struct shares *c, const int *slot, int parts)
{
	if (foreground_has_none(c))
		return -1;
	for (int k = 0; k < c->n; k++) {
		const struct served *s = &f->served[slot[c->job[k]]];

		if (s->equal > 0 && s->s * 1e3 < (double)f->first_ms * parts)
			return k;
	}
	return -1;
}

/* The part of the time that each has under @p: of the plan that would be made of equal turns, or of
 * the one that is. Who is in no slice always runs, and is nobody's rival. */
static void note_parts(struct foreground *f, const struct shares *c, const int *slot,
	const struct plan *p, bool equal)
{
	int round_ms = 0;

	for (int s = 0; s < p->n_slices; s++)
		round_ms += p->slice[s].ms;
	for (int s = 0; s < p->n_slices; s++)
		for (int k = 0; k < p->slice[s].n_jobs; k++) {
			struct served *of = &f->served[slot[p->slice[s].job[k]]];

			*(equal ? &of->equal : &of->part) += (double)p->slice[s].ms / round_ms;
		}
	for (int k = 0; k < c->n && !equal; k++) {
		struct served *of = &f->served[slot[c->job[k]]];

		if (of->part <= 0)
			of->part = 1;
	}
}

static bool is_in(const struct plan_slice *s, int job)
{
	for (int k = 0; k < s->n_jobs; k++)
		if (s->job[k] == job)
			return true;
	return false;
}

/* Who is not in slice @first and may not be kept waiting for it any longer; -1 nobody. */
static int held_up(const struct foreground *f, const struct shares *c, const int *slot,
	const struct plan *p, int first)
{
	for (int k = 0; k < c->n; k++)
		if (f->served[slot[c->job[k]]].behind_s * 1e3 >= f->behind_ms &&
			!is_in(&p->slice[first], c->job[k]))
			return k;
	return -1;
}

static int slice_of(const struct plan *p, int job)
{
	for (int s = 0; s < p->n_slices; s++)
		if (is_in(&p->slice[s], job))
			return s;
	return -1;
}

int foreground_take(struct foreground *f, const struct shares *c, const int *slot, int parts,
	struct plan *p, int *ret_behind)
{
	int k, first = -1;

	*ret_behind = -1;
	if (!f->served)
		return -1;
	note_parts(f, c, slot, p, true);
	k = p->n_slices > 1 ? first_unserved(f, c, slot, parts) : -1;
	if (k >= 0) {
		first = slice_of(p, c->job[k]);
		*ret_behind = held_up(f, c, slot, p, first);
		if (*ret_behind >= 0)
			first = -1;
	}
	if (first >= 0 && p->slice[first].ms < f->first_ms)
		p->slice[first].ms = f->first_ms;
	note_parts(f, c, slot, p, false);
	return first;
}

void foreground_say(const struct foreground *f, struct plan *p, int first, int parts,
	const char *what, const char *it)
{
	for (int s = 0; s < p->n_slices && p->want_explain; s++)
		for (int k = 0; k < p->slice[s].n_jobs; k++) {
			int i = p->slice[s].job[k];

			if (s == first)
				plan_why(p, i,
					"%s before the others until it has had %s for %d ms, then "
					"in turns",
					what, it, f->first_ms * parts);
			else if (slice_of(p, i) != first)
				plan_why(p, i, "now and then a turn of %d ms: another goes first",
					p->slice[s].ms);
		}
}
