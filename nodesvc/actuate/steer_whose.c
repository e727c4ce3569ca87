/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steer_whose.c - whose is a mask? We know what we gave to each, so what differs is the program's
 * choice. A thread or process that is new has inherited: from its leader, its parent, or (a clone
 * that was under way while we moved all) what was given before. What is new in a process that binds
 * its threads is bound: a thread that only inherited has one CPU for another then, while two that
 * compute would share one. Not knowable: a program that sets the very mask it has.
 *
 * Old kernels (before 6.2) wipe masks when a cpuset changes or a task is moved, others cut them:
 * what shows the new cpuset then is nobody's choice.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc.h"
#include "nodesvc/actuate/steer.h"

/* Levels of fork that are followed. */
#define DEPTH_MAX 16

/* The kernel's doing, when the cpuset was changed or the task moved to another. */
static bool is_wiped(const struct steer *st, const struct coreset *now, const struct coreset *given)
{
	struct coreset cut;

	if (!st->wall_moved)
		return false;
	coreset_and(&cut, given, &st->wall);
	return coreset_is_equal(now, &st->wall) || coreset_is_equal(now, &st->past) ||
	       coreset_is_equal(now, &cut);
}

/* The mask of ours that @now is, or what the kernel has left of it. */
static const struct handed *find_given(const struct steer *st, const struct coreset *now)
{
	const struct handed *h = steer_find_handed(st, now);

	for (int i = 0; !h && st->wall_moved && i < st->n_handed; i++) {
		struct coreset cut;

		coreset_and(&cut, &st->handed[i].mask, &st->wall);
		if (coreset_is_equal(&cut, now))
			h = &st->handed[i];
	}
	return h;
}

int steer_give_row(struct member *t, const struct own *own, const struct coreset *given, bool saved)
{
	bool is_new = !t->row;
	struct steered *row = steer_add_row(t);

	if (!row)
		return -ENOMEM;
	if (!is_new) {
		row->past_own = row->own;
		row->past = row->given;
	}
	row->own = *own;
	row->given = *given;
	coreset_zero(&row->asked);
	row->saved = saved;
	return 0;
}

/* What one before us wrote down about @t; 1 found. */
static int take_recorded(struct actuate *a, struct steer *st, struct member *t,
	const struct member *leader, const struct coreset *now)
{
	const struct ledger_thread *pin = rows_find_tid(&st->recorded_pins, t->tid);
	const struct ledger_thread *slurms = rows_find_tid(&st->recorded, t->tid);
	struct proc_stat stat;
	struct own own;
	bool ours;
	int rc;

	if (!pin && !slurms)
		return 0;
	rc = proc_stat_read(a->root, t->tgid, t->tid, &stat);
	if (rc < 0)
		return rc;
	pin = rows_find(&st->recorded_pins, t->tid, stat.start_ticks);
	slurms = rows_find(&st->recorded, t->tid, stat.start_ticks);
	if (!pin && !slurms)
		return 0;
	own.mask = pin ? pin->mask : slurms->mask;
	own.program = pin != NULL;
	own.part = slurms ? steer_part(st, &slurms->mask) : leader ? leader->row->own.part : 0;
	/* Else it has chosen anew since. */
	ours = coreset_is_equal(now, &own.mask) || find_given(st, now) ||
	       is_wiped(st, now, &own.mask);
	rc = steer_give_row(t, &own, ours ? now : &own.mask, true);
	if (rc < 0)
		return rc;
	t->row->start_ticks = stat.start_ticks;
	return ours;
}

/* Does a thread of process @tgid have @mask of us, or had it before its last change? */
static bool has_had(const struct steer *st, pid_t tgid, const struct coreset *mask)
{
	for (int i = 0; i < st->n; i++) {
		const struct member *t = &st->member[i];

		if (t->tgid == tgid && t->row &&
			(coreset_is_equal(mask, &t->row->given) ||
				coreset_is_equal(mask, &t->row->past)))
			return true;
	}
	return false;
}

/* What a new process has inherited; false: nothing. Its own start is read on the way. */
static int inherit(struct actuate *a, struct steer *st, struct member *t, const struct coreset *now,
	struct own *ret, uint64_t *ret_start, int depth)
{
	const struct handed *h = find_given(st, now);
	struct proc_stat stat, above;
	struct member *parent;
	struct coreset mask;
	int rc = proc_stat_read(a->root, t->tgid, t->tid, &stat);

	if (rc < 0)
		return rc;
	*ret_start = stat.start_ticks;
	parent = steer_find(st, stat.ppid);
	if (parent && !parent->seen && depth < DEPTH_MAX) {
		rc = steer_look_at(a, st, parent, &mask, depth + 1);
		if (rc < 0 && rc != -ESRCH)
			return rc;
	}
	if (parent && parent->row && !parent->foreign) {
		const struct steered *row = parent->row;

		if (coreset_is_equal(now, &row->given) || is_wiped(st, now, &row->given)) {
			*ret = row->own;
			return !st->first || !coreset_is_empty(&row->asked);
		}
		if (coreset_is_equal(now, &row->past)) {
			*ret = row->past_own;
			return 1;
		}
		if (coreset_is_equal(now, &row->own.mask)) { /* it rested then */
			*ret = row->own;
			return !st->first;
		}
	}
	if (!h)
		return 0;
	if (h->guessed && parent && parent->row) {
		*ret = parent->row->own;
		return 1;
	}
	/* Where another's pin was put, or another rank, and its parent never was: it has bound
	 * itself (taskset). */
	if (parent && parent->row && !parent->foreign &&
		(h->own.program || h->own.part != parent->row->own.part) &&
		!has_had(st, parent->tid, now))
		return 0;
	/* A task that Slurm has just forked has its mask from Slurm. */
	if (st->first && (parent || (proc_stat_read(a->root, stat.ppid, stat.ppid, &above) == 0 &&
					    strcmp(above.comm, "slurmstepd") == 0)))
		return 0;
	*ret = h->own;
	return 1;
}

/* A thread that has no row of its own: does it follow its leader? Else, does *@ret_own fit? */
static bool follows(const struct steer *st, bool was_seen, const struct steered *leader,
	const struct coreset *now, struct own *ret_own)
{
	const struct handed *h;

	*ret_own = leader->own;
	if (coreset_is_equal(now, &leader->given))
		/* Of those that a program binds, each has a mask of its own. */
		return was_seen || !leader->own.program || coreset_is_equal(now, &leader->own.mask);
	if (coreset_is_equal(now, &leader->past) && (was_seen || !leader->own.program)) {
		*ret_own = leader->past_own;
		return true;
	}
	if (st->first && !was_seen && coreset_is_equal(now, &leader->own.mask))
		return true;
	if (was_seen && !st->moving)
		return false;
	h = find_given(st, now);
	if (h && h->guessed && !leader->own.program)
		return true;
	if (!h || h->own.part != leader->own.part || (!was_seen && leader->own.program))
		return false;
	*ret_own = h->own;
	return true;
}

/* It shows what it was not given. 1: it may be on its way, and is left alone. */
static int wait_for_choice(const struct actuate *a, struct member *t, const struct coreset *now)
{
	if (!t->stray)
		t->stray = calloc(1, sizeof(*t->stray));
	if (!t->stray)
		return -ENOMEM;
	return !steer_stray_chose(
		t->stray, now, ipc_now_ns(), proc_ran_ns(a->root, t->tgid, t->tid));
}

static void forget_stray(struct member *t)
{
	free(t->stray);
	t->stray = NULL;
}

/* Tells whose @now is, and has that in @t's row, or its leader's; 1: it is too early to tell. */
static int tell_whose(
	struct actuate *a, struct steer *st, struct member *t, const struct coreset *now, int depth)
{
	struct member *leader = steer_leader(st, t);
	bool was_seen = t->seen;
	uint64_t start = 0;
	struct own own;
	int rc = 0;

	t->seen = true;
	if (!was_seen && (st->recorded.n || st->recorded_pins.n)) {
		rc = take_recorded(a, st, t, leader, now);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	if (t->row && (coreset_is_equal(now, &t->row->given) || is_wiped(st, now, &t->row->given)))
		return 0;
	if (!t->row && leader && is_wiped(st, now, &leader->row->given))
		return 0;
	if (!t->row && leader && follows(st, was_seen, leader->row, now, &own))
		return steer_is_same(&own, &leader->row->own) ? 0
							      : steer_give_row(t, &own, now, false);
	if (!t->row && !leader) {
		rc = inherit(a, st, t, now, &own, &start, depth);
		if (rc < 0)
			return rc;
	} else if (was_seen) {
		rc = st->leaving ? 0 : wait_for_choice(a, t, now);
		if (rc)
			return rc;
		/* Back to what it had from Slurm, or of us when it read that. */
		if (t->row && ((!t->row->own.program && coreset_is_equal(now, &t->row->own.mask)) ||
				      steer_puts_back(t->row, now, ipc_now_ns())))
			return 0;
	}
	if (rc > 0) {
		rc = steer_give_row(t, &own, now, !own.program);
	} else {
		own.mask = *now;
		own.part = t->row ? t->row->own.part : leader ? leader->row->own.part : 0;
		own.program = true;
		/* Before anything of ours a process has what Slurm gave it; who comes of one that
		 * rested has that, too. */
		if (!t->row && !leader && !st->first) {
			steer_is_slurms(st, now, &own);
		} else if (!t->row && !leader) {
			own.program = false;
			own.part = steer_part(st, now);
		}
		rc = steer_give_row(t, &own, now, false);
	}
	if (rc == 0 && start)
		t->row->start_ticks = start;
	return rc;
}

static int judge(
	struct actuate *a, struct steer *st, struct member *t, const struct coreset *now, int depth)
{
	int rc = tell_whose(a, st, t, now, depth);

	if (rc <= 0)
		forget_stray(t);
	return rc < 0 ? rc : 0;
}

/* slurmstepd's masks are nobody's to set; but where the cpuset is written an older kernel wipes
 * them. */
static int note_stepd(struct actuate *a, struct steer *st, struct member *t, struct coreset *now)
{
	struct own own = {.part = 0};
	int rc = proc_get_mask(t->tid, now);

	if (rc == 0 && !t->seen && st->recorded.n) {
		rc = take_recorded(a, st, t, NULL, now);
		t->seen = rc >= 0;
	}
	if (rc < 0)
		return rc;
	if (t->row &&
		(coreset_is_equal(now, &t->row->given) || is_wiped(st, now, &t->row->given))) {
		t->row->given = *now;
		return 0;
	}
	own.mask = *now;
	t->seen = true;
	return steer_give_row(t, &own, now, t->row != NULL);
}

int steer_look_at(
	struct actuate *a, struct steer *st, struct member *t, struct coreset *ret_now, int depth)
{
	struct member *leader;
	struct coreset mask;
	int rc = steer_learn(a, st, t);

	if (rc == 0 && t->foreign && st->with_stepd)
		return note_stepd(a, st, t, ret_now);
	if (rc < 0 || t->foreign) {
		t->seen = rc == 0;
		return rc;
	}
	leader = t->tid == t->tgid ? NULL : steer_find(st, t->tgid);
	if (leader && !leader->seen && depth < DEPTH_MAX) {
		rc = steer_look_at(a, st, leader, &mask, depth + 1);
		if (rc < 0 && rc != -ESRCH)
			return rc;
	}
	rc = proc_get_mask(t->tid, ret_now);
	if (rc == 0)
		rc = judge(a, st, t, ret_now, depth);
	if (rc == 0 && t->tid == t->tgid)
		steer_watch_rest(a, st, t);
	return rc;
}
