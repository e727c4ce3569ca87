/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steer_pass.c - one pass over all members of a step that is placed by its threads' masks does a
 * part of the work at a time: look, tell whose, ledger, set, read back.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/ipc.h"
#include "nodesvc/actuate/steer.h"

/* Listing a quiet step's threads takes this part of the time at most. */
#define LIST_PART 20
/* A clone that was under way has come by then. */
#define UNUSED_MAX 3

static int64_t processor_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* ---- the ledger ---------------------------------------------------------------------------- */

static int add_saved(struct actuate *a, struct steer *st, struct member *t, struct rows *threads,
	struct rows *pins)
{
	struct steered *row = t->row;
	struct ledger_thread l = {.tid = t->tid, .mask = row->own.mask};

	if (!row->start_ticks) {
		struct proc_stat stat;
		int rc = proc_stat_read(a->root, t->tgid, t->tid, &stat);

		if (rc < 0)
			return rc == -ESRCH ? 0 : rc;
		row->start_ticks = stat.start_ticks;
	}
	l.start_ticks = row->start_ticks;
	snprintf(l.path, sizeof(l.path), "%s", st->step.step_path);
	return rows_put(row->own.program ? pins : threads, &l);
}

/* What is not written yet of what was told about @v, and what is about to be given. @all: the pins
 * of everybody, instead of those that are there. */
static int save(struct actuate *a, struct steer *st, const struct todo *todo, int n, bool all,
	struct errbuf *err)
{
	struct rows threads = {.v = NULL}, pins = {.v = NULL};
	struct ledger_given g = {.set = st->set};
	int rc = 0;

	for (int i = 0; rc == 0 && i < n; i++)
		if (todo[i].t->row && !todo[i].t->row->saved)
			rc = add_saved(a, st, todo[i].t, &threads, &pins);
	for (int i = 0; rc == 0 && all && i < st->n; i++)
		if (st->member[i].row && st->member[i].row->own.program && st->member[i].row->saved)
			rc = add_saved(a, st, &st->member[i], &threads, &pins);
	g.mask = calloc((size_t)st->n_handed + 1, sizeof(*g.mask));
	if (rc == 0 && !g.mask)
		rc = -ENOMEM;
	if (rc < 0)
		err_set(err, rc, "%s: cannot read its threads: %s", st->step.step_path,
			strerror(-rc));
	for (int i = 0; rc == 0 && i < st->n_handed; i++)
		g.mask[g.n++] = st->handed[i].mask;
	snprintf(g.path, sizeof(g.path), "%s", st->step.step_path);
	if (rc == 0 && (threads.n || pins.n || all || st->unsaved || !st->is_recorded)) {
		rc = ledger_steer(a->ledger, st->is_recorded ? NULL : &st->cs, threads.v, threads.n,
			pins.v, pins.n, all, &g, err);
		if (rc < 0)
			err_wrap(err, rc, "%s: left as it is, no ledger", st->step.step_path);
	}
	if (rc == 0) {
		st->is_recorded = true;
		st->unsaved = false;
		st->n_pins_saved = (all ? 0 : st->n_pins_saved) + pins.n;
		for (int i = 0; i < n; i++)
			if (todo[i].t->row)
				todo[i].t->row->saved = true;
	}
	free(g.mask);
	rows_free(&threads);
	rows_free(&pins);
	return rc;
}

/* ---- setting ------------------------------------------------------------------------------- */

struct own *steer_own(struct steer *st, struct member *t)
{
	struct member *leader = t->row ? t : steer_leader(st, t);

	return leader ? &leader->row->own : NULL;
}

static bool has_it(
	struct steer *st, struct member *t, const struct coreset *now, const struct coreset *want)
{
	struct member *by = t->row ? t : steer_leader(st, t);

	return coreset_is_equal(now, want) ||
	       (coreset_is_equal(&by->row->asked, want) && coreset_is_equal(now, &by->row->given));
}

static int set_and_read(pid_t tid, const struct coreset *mask, struct coreset *ret_got)
{
	int rc = proc_set_mask(tid, mask);

	return rc < 0 ? rc : proc_get_mask(tid, ret_got);
}

/* All of the cpuset is asked for as all there is, so that newer kernels do not take it for a choice
 * when the cpuset grows. Where a level below the step has none of it: all, too. */
static int set_mask(
	const struct steer *st, pid_t tid, const struct coreset *want, struct coreset *ret_got)
{
	struct coreset all;
	int rc;

	coreset_zero(&all);
	coreset_add_range(&all, 0, CORESET_MAX - 1);
	if (coreset_is_subset(&st->wall, want))
		return set_and_read(tid, &all, ret_got);
	rc = set_and_read(tid, want, ret_got);
	if (rc != -EINVAL)
		return rc;
	rc = set_and_read(tid, &all, ret_got);
	/* Its level has some of it: the cpuset was changed meanwhile. */
	return rc == 0 && coreset_intersects(want, ret_got) && !coreset_is_subset(ret_got, want)
		       ? set_and_read(tid, want, ret_got)
		       : rc;
}

/* Notes what @t got of @want. */
static int note_given(
	struct steer *st, struct member *t, const struct coreset *want, const struct coreset *got)
{
	int rc = 0;

	if (!t->row && !coreset_is_equal(got, want)) {
		/* Not as its leader: a level below holds it. */
		rc = steer_give_row(t, steer_own(st, t), got, true);
	}
	if (!t->row || rc < 0)
		return rc;
	t->row->past_own = t->row->own;
	if (!coreset_is_equal(&t->row->given, got)) {
		t->row->past = t->row->given;
		t->row->given_ns = ipc_now_ns();
	}
	t->row->asked = *want;
	t->row->given = *got;
	return coreset_is_equal(got, want) ? 0 : steer_hand(st, got, &t->row->own);
}

int steer_set(struct steer *st, const struct todo *todo)
{
	struct coreset got;
	int rc = set_mask(st, todo->t->tid, &todo->want, &got);

	if (rc == -ESRCH)
		return 0;
	if (rc < 0) {
		st->refused = rc;
		return 0;
	}
	st->changed += !coreset_is_equal(&got, &todo->now);
	return note_given(st, todo->t, &todo->want, &got);
}

/* ---- passes -------------------------------------------------------------------------------- */

int steer_read_wall(struct actuate *a, struct steer *st, struct errbuf *err)
{
	struct coreset wall;
	int rc = cpus_read_file(a->root, st->dir, st->h->effective, &wall, err);

	if (rc < 0 || coreset_is_equal(&wall, &st->wall))
		return rc;
	st->past = st->wall;
	st->wall = wall;
	st->wall_moved = true;
	return 0;
}

int steer_list_now(struct actuate *a, struct steer *st, struct errbuf *err)
{
	/* What it cost, not how long others had the processor meanwhile. */
	int64_t began_ns = processor_ns(), cost_ns;
	int rc;

	change_where(st->h, a, st->step.step_path, st->dir, sizeof(st->dir));
	rc = steer_list(a, st);
	cost_ns = processor_ns() - began_ns;
	st->listed_ns = ipc_now_ns();
	st->newest = a->newest;
	st->next_ns = st->listed_ns + cost_ns * LIST_PART;
	return rc < 0 ? err_set(err, rc, "%s: cannot list its threads: %s", st->step.step_path,
				rc == -ENOENT ? "the step has ended" : strerror(-rc))
		      : 0;
}

int steer_look_on(struct actuate *a, struct steer *st, struct todo todo[STEER_CHUNK], int *ret_n,
	struct errbuf *err)
{
	int n = 0, rc = 0, end = st->at + STEER_CHUNK < st->n ? st->at + STEER_CHUNK : st->n;

	for (; rc == 0 && st->at < end; st->at++) {
		struct member *t = &st->member[st->at];
		bool was_seen = t->seen;

		rc = steer_look_at(a, st, t, &todo[n].now, 0);
		if (rc == -ESRCH) {
			rc = 0;
			continue;
		}
		st->changed += rc == 0 && !was_seen;
		todo[n].set = false;
		todo[n].t = t;
		n += rc == 0 && (!t->foreign || t->row);
	}
	*ret_n = n;
	return rc < 0 ? err_set(err, rc, "%s: cannot read its threads: %s", st->step.step_path,
				strerror(-rc))
		      : 0;
}

/* What each is to have, and what is to be done for it. */
static int want(struct steer *st, struct todo *todo, int n)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < n; i++) {
		const struct own *own = steer_own(st, todo[i].t);

		if (!own || todo[i].t->stray)
			continue;
		if (todo[i].t->foreign)
			todo[i].want = own->mask; /* wiped when the cpuset was written */
		else
			steer_want(st, own, steer_rests(st, todo[i].t), &todo[i].want);
		if (has_it(st, todo[i].t, &todo[i].now, &todo[i].want)) {
			if (todo[i].t->row) {
				todo[i].t->row->asked = todo[i].want;
				todo[i].t->row->given = todo[i].now;
			}
			continue;
		}
		todo[i].set = true;
		if (!coreset_is_equal(&todo[i].want, &own->mask))
			rc = steer_hand(st, &todo[i].want, own);
	}
	return rc;
}

static bool has_pins(const struct todo *todo, int n)
{
	for (int i = 0; i < n; i++)
		if (todo[i].t->row && !todo[i].t->row->saved)
			return true;
	return false;
}

/* @set: puts them where they are to be; else only tells whose their masks are. */
static int go_on(struct actuate *a, struct steer *st, bool set, struct errbuf *err)
{
	cleanup_free struct todo *todo = calloc(STEER_CHUNK, sizeof(*todo));
	int n, rc = todo ? steer_look_on(a, st, todo, &n, err) : -ENOMEM;

	if (rc < 0)
		return rc;
	if (has_pins(todo, n)) {
		st->changed++; /* what others are to have may be another now */
		steer_sum_pins(st);
	}
	if (set)
		rc = want(st, todo, n);
	if (rc == 0)
		rc = save(a, st, todo, n, false, err);
	for (int i = 0; set && rc == 0 && i < n; i++)
		if (todo[i].set)
			rc = steer_set(st, &todo[i]);
	return rc;
}

/* Masks that nobody has any more. */
static void forget_handed(struct steer *st)
{
	int n = 0;

	for (int i = 0; i < st->n_handed; i++)
		st->handed[i].unused++;
	for (int i = 0; i < st->n; i++) {
		struct handed *h = st->member[i].row ? (struct handed *)steer_find_handed(
							       st, &st->member[i].row->given)
						     : NULL;

		if (h)
			h->unused = 0;
	}
	for (int i = 0; i < st->n_handed; i++)
		if (st->handed[i].unused <= UNUSED_MAX)
			st->handed[n++] = st->handed[i];
	st->n_handed = n;
}

/* Is there a mask that nobody has, and that is not forgotten yet? */
static bool has_unused(const struct steer *st)
{
	for (int i = 0; i < st->n_handed; i++)
		if (st->handed[i].unused)
			return true;
	return false;
}

/* The ended's are not to pile up. */
static int tidy_pins(struct actuate *a, struct steer *st, struct errbuf *err)
{
	int n = 0;

	for (int i = 0; i < st->n; i++)
		n += st->member[i].row && st->member[i].row->own.program;
	return st->n_pins_saved > 2 * n + 64 ? save(a, st, NULL, 0, true, err) : 0;
}

/* The pass is through: 1 nothing was to be done in it. */
static int end_pass(struct actuate *a, struct steer *st, struct errbuf *err)
{
	bool quiet = st->changed == 0;

	st->at = st->changed = 0;
	st->first = st->quiet = false;
	rows_free(&st->recorded);
	rows_free(&st->recorded_pins);
	steer_sum_pins(st);
	if (!quiet)
		return 0;
	/* Who refused has what he had. */
	if (!st->refused)
		st->moving = st->wall_moved = false;
	forget_handed(st);
	st->quiet = !st->refused && !has_unused(st);
	return tidy_pins(a, st, err) < 0 ? -EIO : 1;
}

int steer_settle(struct actuate *a, struct steer *st, bool set, int rounds, int64_t until_ns,
	struct errbuf *err)
{
	int rc = 0;

	while (rounds > 0) {
		if (st->at == 0) {
			st->refused = 0;
			rc = steer_read_wall(a, st, err);
			if (rc == 0)
				rc = steer_list_now(a, st, err);
		}
		if (rc == 0)
			rc = go_on(a, st, set, err);
		if (rc < 0)
			return rc;
		if (st->at >= st->n) {
			rc = end_pass(a, st, err);
			if (rc)
				return rc;
			rounds--;
		}
		if (ipc_now_ns() >= until_ns)
			break;
	}
	return 0;
}
