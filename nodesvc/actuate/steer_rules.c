/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steer_rules.c - what mask a thread is to have where its step is placed. It depends on what the
 * thread has without us (its own), and on where the plan has the step:
 *   - its own is all that the step had, or Slurm's for a task alone: the whole set;
 *   - Slurm bound the step's tasks side by side: the same part of the set (ranks.c);
 *   - its program bound it: its own, if the set is what Slurm gave, or all that the program bound
 *     lies inside the set (or its rank's part of it); else all are translated by their order, so
 *     that four threads on CPUs of their own are two and two on two others, not three on one;
 *   - its process does not run: its own. Who comes of it begins with what Slurm gave, and a program
 *     that takes the mask it is born with for all there is (numactl -C) finds it.
 * A thread may bind itself for a moment: hwloc, and with it Open MPI, looks at each CPU from there
 * and puts back the mask it had. That is left alone, and is no choice.
 * No access to anything.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/actuate/steer.h"

static bool is_all(const struct steer *st, const struct coreset *mask)
{
	return coreset_is_subset(&st->slurm, mask);
}

/* Tasks side by side: two parts beside the whole. */
static bool has_ranks(const struct steer *st)
{
	return st->n_parts > 2;
}

int steer_part(struct steer *st, const struct coreset *cpus)
{
	struct coreset here;
	struct part *more;

	coreset_and(&here, cpus, &st->slurm);
	if (coreset_is_empty(&here) || is_all(st, &here))
		return 0;
	for (int i = 1; i < st->n_parts; i++)
		if (coreset_is_equal(&st->part[i].cpus, &here))
			return i;
	more = realloc(st->part, ((size_t)st->n_parts + 1) * sizeof(*more));
	if (!more)
		return 0;
	st->part = more;
	more[st->n_parts] = (struct part){.cpus = here};
	return st->n_parts++;
}

/* Pins are summed up for a rank, or for the whole step. */
static int group_of(const struct steer *st, const struct own *own)
{
	return has_ranks(st) ? own->part : 0;
}

void steer_sum_pins(struct steer *st)
{
	for (int i = 0; i < st->n_parts; i++)
		coreset_zero(&st->part[i].pins);
	for (int i = 0; i < st->n; i++) {
		const struct own *own = st->member[i].row ? &st->member[i].row->own : NULL;
		struct coreset here;

		if (!own || !own->program || is_all(st, &own->mask))
			continue;
		coreset_and(&here, &own->mask, &st->wall);
		coreset_or(&st->part[group_of(st, own)].pins, &st->part[group_of(st, own)].pins,
			&here);
	}
}

/* Of the set: what the threads of that part have of it. */
static void share_of(const struct steer *st, int part, struct coreset *ret)
{
	*ret = st->set;
	if (part && has_ranks(st))
		ranks_share(ret, &st->part[part].cpus, &st->slurm, &st->set);
	if (coreset_is_empty(ret))
		*ret = st->set;
}

bool steer_is_slurms(const struct steer *st, const struct coreset *mask, struct own *ret)
{
	for (int i = 0; i < st->n_parts; i++)
		if (coreset_is_equal(&st->part[i].cpus, mask)) {
			*ret = (struct own){.mask = *mask, .part = i};
			return true;
		}
	return false;
}

void steer_want(const struct steer *st, const struct own *own, bool rests, struct coreset *ret)
{
	const struct coreset *pins;
	struct coreset share, moved;

	if (rests && coreset_intersects(&own->mask, &st->wall)) {
		coreset_and(ret, &own->mask, &st->wall);
		return;
	}
	*ret = st->set;
	if (is_all(st, &own->mask))
		return;
	share_of(st, own->part, &share);
	*ret = share;
	if (!own->program || !coreset_intersects(&own->mask, &st->wall))
		return;
	pins = &st->part[group_of(st, own)].pins;
	if (coreset_is_equal(&st->set, &st->slurm) || coreset_is_subset(pins, &share)) {
		*ret = own->mask;
		return;
	}
	ranks_share(&moved, &own->mask, pins, &share);
	if (!coreset_is_empty(&moved))
		*ret = moved;
}

const struct handed *steer_find_handed(const struct steer *st, const struct coreset *mask)
{
	for (int i = 0; i < st->n_handed; i++)
		if (coreset_is_equal(&st->handed[i].mask, mask))
			return &st->handed[i];
	return NULL;
}

bool steer_is_same(const struct own *a, const struct own *b)
{
	return a->part == b->part && a->program == b->program &&
	       coreset_is_equal(&a->mask, &b->mask);
}

int steer_hand(struct steer *st, const struct coreset *mask, const struct own *own)
{
	struct handed *h = (struct handed *)steer_find_handed(st, mask);

	if (h) {
		h->several |= !steer_is_same(&h->own, own);
		return 0;
	}
	h = realloc(st->handed, ((size_t)st->n_handed + 1) * sizeof(*h));
	if (!h)
		return -ENOMEM;
	st->handed = h;
	h[st->n_handed++] = (struct handed){.mask = *mask, .own = *own};
	st->unsaved = true;
	return 0;
}

/* ---- who runs -------------------------------------------------------------------------------- */

/* Of its life, before it is moved: what is executed first there (numactl, taskset, a shell) needs
 * 1 to 3 ms, libgomp has read its mask in the first. */
#define YOUNG_NS INT64_C(20000000)
/* A look so soon after the last says nothing of how much it runs. */
#define LOOK_MIN_NS INT64_C(50000000)
/* Who starts others runs now and then itself: so long on end is work. */
#define PATIENCE_NS INT64_C(1000000000)
/* Who works without an end is looked at after such a part of the time for which he has; at least
 * so often. */
#define WORK_TIMES  20
#define LOOK_MAX_NS INT64_C(1000000000)
/* Parts of the time: at most this is rest, at least this is work. */
#define REST_PART 10
#define WORK_PART 2

bool steer_rest_asks(struct rest *p, int64_t now_ns, int64_t cpu_ns)
{
	if (p->settled)
		return false;
	if (cpu_ns >= YOUNG_NS) {
		int64_t after_ns = p->busy_ns / WORK_TIMES;

		after_ns = after_ns < LOOK_MIN_NS   ? LOOK_MIN_NS
			   : after_ns > LOOK_MAX_NS ? LOOK_MAX_NS
						    : after_ns;
		return !p->at_ns || now_ns - p->at_ns >= after_ns;
	}
	p->rests = true;
	return false;
}

bool steer_rest_works(const struct rest *p, int64_t now_ns, int64_t cpu_ns)
{
	return p->at_ns && (cpu_ns - p->cpu_ns) * WORK_PART >= now_ns - p->at_ns;
}

void steer_rest_tell(struct rest *p, int64_t now_ns, int64_t cpu_ns, uint64_t reaped)
{
	int64_t used_ns = cpu_ns - p->cpu_ns, passed_ns = now_ns - p->at_ns;

	if (!p->at_ns || used_ns * REST_PART <= passed_ns) {
		p->rests = true;
		p->busy_ns = 0;
	} else if (steer_rest_works(p, now_ns, cpu_ns)) {
		p->busy_ns = reaped == p->reaped ? p->busy_ns + passed_ns : 0;
		p->rests = reaped != p->reaped || (p->rests && p->busy_ns < PATIENCE_NS);
		p->reaped = reaped;
	} else {
		p->busy_ns = 0;
	}
	p->at_ns = now_ns;
	p->cpu_ns = cpu_ns;
}

/* ---- who is on his way ----------------------------------------------------------------------- */

/* Run with one mask on end: that was chosen. */
#define CHOICE_RAN_NS INT64_C(20000000)
/* One who does not run, or changes all the time. */
#define CHOICE_MOST_NS INT64_C(2000000000)

/* What reads the machine binds itself to each of its CPUs in turn meanwhile. */
#define PUTS_BACK_NS INT64_C(10000000000)

bool steer_puts_back(const struct steered *row, const struct coreset *mask, int64_t now_ns)
{
	return row->given_ns && coreset_is_equal(mask, &row->past) &&
	       (coreset_count(mask) > 1 || now_ns - row->given_ns < PUTS_BACK_NS);
}

bool steer_stray_chose(struct stray *p, const struct coreset *mask, int64_t now_ns, int64_t ran_ns)
{
	if (!p->since_ns || !coreset_is_equal(mask, &p->mask)) {
		if (!p->since_ns)
			p->since_ns = now_ns;
		p->mask = *mask;
		p->ran_ns = ran_ns;
	}
	return ran_ns < 0 || ran_ns - p->ran_ns >= CHOICE_RAN_NS ||
	       now_ns - p->since_ns >= CHOICE_MOST_NS;
}
