/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steer.c - a step is placed by its threads' masks, inside the cpuset that Slurm gave it. Nothing
 * that a program may know from its start or from Slurm goes away from under it: whatever mask it
 * sets for itself, the kernel takes. When it has run with that for a moment, it is put where the
 * plan has it, and its own is in the ledger, for the end.
 *
 * Whose is a mask? We know what we gave to each, so what differs is the program's choice. A thread
 * or process that is new has inherited: from its leader, its parent, or (a clone that was under way
 * while we moved all) what was given before. What is new in a process that binds its threads is
 * bound: a thread that only inherited has one CPU for another then, while two that compute would
 * share one. Not knowable: a program that sets the very mask it has.
 *
 * Who does not run is not moved: a process that is young (slurmstepd's fork before exec, too, but
 * where the step is born placed), or a shell, wrapper or launcher that waits. Its mask is its own,
 * and so what its children begin with. A program whose environment binds its OpenMP threads is
 * young for longer: its runtime cuts the places to the CPUs that it finds at its start, which is
 * late where much is linked.
 *
 * One pass over all members does a part of the work at a time: look, tell whose, ledger, set, read
 * back. apply() goes round until a pass changes nothing, actuate_look() does as much as it may at
 * each tick. Of a step in which nothing happens and on whose node nobody was forked it reads masks
 * alone, and neither its cpuset nor its list of threads. Old kernels (before 6.2) wipe masks when a
 * cpuset changes or a task is moved, others cut them: what shows the new cpuset then is nobody's
 * choice.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/aside.h"
#include "common/cleanup.h"
#include "common/launch_names.h"
#include "common/starters.h"
#include "nodesvc/actuate/internal.h"

/* Members that are looked at, written down and set together. */
#define CHUNK 128
/* What outruns so many passes sets masks or forks on purpose: the looks go on with it. */
#define ROUNDS_MAX 20
/* Levels of fork that are followed. */
#define DEPTH_MAX 16
/* How long one change may take of the loop's time; the looks do the rest. */
#define APPLY_NS INT64_C(5000000)
/* Listing a quiet step's threads takes this part of the time at most. */
#define LIST_PART 20
/* A quiet step's threads are listed after so long, whoever was forked meanwhile; and at each look
 * if they are more than so many. */
#define LIST_NS     INT64_C(1000000000)
#define GLANCES_MAX (8 * CHUNK)
/* A clone that was under way has come by then. */
#define UNUSED_MAX 3
/* So much of a processor a program has until its OpenMP runtime has begun. */
#define BEGIN_NS INT64_C(1000000000)

struct todo {
	struct member *t;
	struct coreset now, want;
	bool set;
};

static int64_t read_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static int64_t now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

static struct steer *find(const struct actuate *a, const char *step_path)
{
	for (int i = 0; i < a->n_steers; i++)
		if (strcmp(a->steer[i]->step.step_path, step_path) == 0)
			return a->steer[i];
	return NULL;
}

/* ---- whose mask it is ---------------------------------------------------------------------- */

static struct member *leader_of(struct steer *st, const struct member *t)
{
	struct member *leader = t->tid == t->tgid ? NULL : steer_find(st, t->tgid);

	return leader && leader->row ? leader : NULL;
}

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

static int give_row(
	struct member *t, const struct own *own, const struct coreset *given, bool saved)
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
	rc = give_row(t, &own, ours ? now : &own.mask, true);
	if (rc < 0)
		return rc;
	t->row->start_ticks = stat.start_ticks;
	return ours;
}

static int look_at(
	struct actuate *a, struct steer *st, struct member *t, struct coreset *ret_now, int depth);

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
		rc = look_at(a, st, parent, &mask, depth + 1);
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
	return !steer_stray_chose(t->stray, now, now_ns(), proc_ran_ns(a->root, t->tgid, t->tid));
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
	struct member *leader = leader_of(st, t);
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
		return steer_is_same(&own, &leader->row->own) ? 0 : give_row(t, &own, now, false);
	if (!t->row && !leader) {
		rc = inherit(a, st, t, now, &own, &start, depth);
		if (rc < 0)
			return rc;
	} else if (was_seen && !st->leaving) {
		rc = wait_for_choice(a, t, now);
		if (rc)
			return rc;
		/* Back to what it had from Slurm. */
		if (t->row && !t->row->own.program && coreset_is_equal(now, &t->row->own.mask))
			return 0;
	}
	if (rc > 0) {
		rc = give_row(t, &own, now, !own.program);
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
		rc = give_row(t, &own, now, false);
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
	return give_row(t, &own, now, t->row != NULL);
}

/* Does the environment that process @pid began with bind its OpenMP threads? -EAGAIN: it is empty,
 * as that of a process whose exec is under way: the kernel shows its executable first. */
static int binds(const struct actuate *a, pid_t pid)
{
#define FAMILY(family)    FAMILY_##family,
#define VAR(family, name) {FAMILY_##family, name "="},
	enum family { LAUNCH_FAMILIES(FAMILY) };
	static const struct {
		enum family family;
		const char *name;
	} known[] = {LAUNCH_VARS(VAR)};
	enum { N_KNOWN = sizeof(known) / sizeof(known[0]) };
	const char *variable[N_KNOWN];
	int n = 0;
	char path[64], first[2];

	snprintf(path, sizeof(path), "proc/%d/environ", (int)pid);
	if (fsroot_read_once(a->root, path, first, sizeof(first)) == 0)
		return -EAGAIN;
	for (int i = 0; i < N_KNOWN; i++)
		if (known[i].family == FAMILY_openmp_bind)
			variable[n++] = known[i].name;
	return fsroot_find(a->root, path, variable, n);
}

/* Does the process that @t leads run? What cannot be read is taken for running, as anybody who is
 * placed. */
static void watch_rest(struct actuate *a, const struct steer *st, const struct member *t)
{
	struct rest *p = &t->row->rest;
	int64_t cpu_ns, at_ns = now_ns();
	struct proc_stat stat = {.child_faults = p->reaped};
	enum starter starter = STARTER_NONE;
	char executable[256];
	int rc;

	if (st->first && st->step.born_placed)
		p->settled = true;
	if (p->settled)
		return;
	if (proc_cpu_ns(t->tid, &cpu_ns) < 0)
		p->settled = true; /* NOLINT(bugprone-branch-clone): in order of what they cost */
	else if (!steer_rest_asks(p, at_ns, cpu_ns) || (p->begins && cpu_ns < BEGIN_NS))
		return;
	else if (proc_executable(a->root, t->tid, executable, sizeof(executable)) < 0)
		p->settled = true;
	else if ((starter = starter_of(executable)) == STARTER_NONE) {
		rc = cpu_ns < BEGIN_NS ? binds(a, t->tid) : 0;
		p->begins = rc > 0;
		p->settled = rc == 0;
	}
	/* One that computes is in line on a crowded node. So is a shell that has not begun yet. */
	if (!p->settled && starter == STARTER_INTERPRETER)
		cpu_ns += proc_waited_ns(a->root, t->tid);
	if (!p->settled && !p->begins && steer_rest_works(p, at_ns, cpu_ns) &&
		proc_stat_read(a->root, t->tid, t->tid, &stat) < 0)
		p->settled = true;
	if (p->settled || p->begins)
		p->rests = !p->settled;
	else
		steer_rest_tell(p, at_ns, cpu_ns, stat.child_faults);
}

/* Threads go by the process that they are of. */
static bool rests(struct steer *st, const struct member *t)
{
	const struct member *leader = t->tid == t->tgid ? t : leader_of(st, t);

	return leader && leader->row && leader->row->rest.rests;
}

/* -ESRCH: it has ended. slurmstepd's: 0, and nothing is told. */
static int look_at(
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
		rc = look_at(a, st, leader, &mask, depth + 1);
		if (rc < 0 && rc != -ESRCH)
			return rc;
	}
	rc = proc_get_mask(t->tid, ret_now);
	if (rc == 0)
		rc = judge(a, st, t, ret_now, depth);
	if (rc == 0 && t->tid == t->tgid)
		watch_rest(a, st, t);
	return rc;
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

static struct own *own_of(struct steer *st, struct member *t)
{
	struct member *leader = t->row ? t : leader_of(st, t);

	return leader ? &leader->row->own : NULL;
}

static bool has_it(
	struct steer *st, struct member *t, const struct coreset *now, const struct coreset *want)
{
	struct member *by = t->row ? t : leader_of(st, t);

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
		rc = give_row(t, own_of(st, t), got, true);
	}
	if (!t->row || rc < 0)
		return rc;
	t->row->past_own = t->row->own;
	if (!coreset_is_equal(&t->row->given, got))
		t->row->past = t->row->given;
	t->row->asked = *want;
	t->row->given = *got;
	return coreset_is_equal(got, want) ? 0 : steer_hand(st, got, &t->row->own);
}

static int set_one(struct steer *st, const struct todo *todo)
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

static int read_wall(struct actuate *a, struct steer *st, struct errbuf *err)
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

static int list(struct actuate *a, struct steer *st, struct errbuf *err)
{
	/* What it cost, not how long others had the processor meanwhile. */
	int64_t began_ns = read_clock(CLOCK_THREAD_CPUTIME_ID), cost_ns;
	int rc;

	change_where(st->h, a, st->step.step_path, st->dir, sizeof(st->dir));
	rc = steer_list(a, st);
	cost_ns = read_clock(CLOCK_THREAD_CPUTIME_ID) - began_ns;
	st->listed_ns = now_ns();
	st->newest = a->newest;
	st->next_ns = st->listed_ns + cost_ns * LIST_PART;
	return rc < 0 ? err_set(err, rc, "%s: cannot list its threads: %s", st->step.step_path,
				rc == -ENOENT ? "the step has ended" : strerror(-rc))
		      : 0;
}

/* The members from st->at on, as many as go together; *@ret_n of them live and are not
 * slurmstepd's. */
static int look_on(struct actuate *a, struct steer *st, struct todo todo[CHUNK], int *ret_n,
	struct errbuf *err)
{
	int n = 0, rc = 0, end = st->at + CHUNK < st->n ? st->at + CHUNK : st->n;

	for (; rc == 0 && st->at < end; st->at++) {
		struct member *t = &st->member[st->at];
		bool was_seen = t->seen;

		rc = look_at(a, st, t, &todo[n].now, 0);
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
		const struct own *own = own_of(st, todo[i].t);

		if (!own || todo[i].t->stray)
			continue;
		if (todo[i].t->foreign)
			todo[i].want = own->mask; /* wiped when the cpuset was written */
		else
			steer_want(st, own, rests(st, todo[i].t), &todo[i].want);
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
	cleanup_free struct todo *todo = calloc(CHUNK, sizeof(*todo));
	int n, rc = todo ? look_on(a, st, todo, &n, err) : -ENOMEM;

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
			rc = set_one(st, &todo[i]);
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

/* Goes on until all is quiet, or @until_ns. 1: quiet. */
static int settle(struct actuate *a, struct steer *st, bool set, int rounds, int64_t until_ns,
	struct errbuf *err)
{
	int rc = 0;

	while (rounds > 0) {
		if (st->at == 0) {
			st->refused = 0;
			rc = read_wall(a, st, err);
			if (rc == 0)
				rc = list(a, st, err);
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
		if (now_ns() >= until_ns)
			break;
	}
	return 0;
}

/* ---- steps --------------------------------------------------------------------------------- */

static void steer_free(struct steer *st)
{
	steer_members_done(st);
	rows_free(&st->recorded);
	rows_free(&st->recorded_pins);
	free(st->part);
	free(st->handed);
	free(st);
}

static void take_out(struct actuate *a, const struct steer *st)
{
	for (int i = 0; i < a->n_steers; i++)
		if (a->steer[i] == st) {
			a->steer[i] = a->steer[--a->n_steers];
			return;
		}
}

static void drop(struct actuate *a, struct steer *st)
{
	take_out(a, st);
	steer_free(st);
}

void steer_close(struct actuate *a)
{
	while (a->n_steers)
		drop(a, a->steer[0]);
	free(a->steer);
	a->steer = NULL;
}

/* The directory of @path's job: the ledger names only the step's. */
static void find_job(const struct hierarchy *h, struct step_cgroup *s)
{
	char *end;

	if (s->job_path[0])
		return;
	snprintf(s->job_path, sizeof(s->job_path), "%s", s->step_path);
	for (int i = 0; i < h->levels_below_job && (end = strrchr(s->job_path, '/')); i++)
		*end = '\0';
}

static int load_rows(struct rows *to, struct ledger_thread *v, int n)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < n; i++)
		rc = rows_put(to, &v[i]);
	free(v);
	return rc;
}

/* What one before us gave it. */
static int load(
	struct actuate *a, struct steer *st, const struct ledger_given *g, struct errbuf *err)
{
	struct ledger_thread *v;
	int n, rc = ledger_get_threads(a->ledger, g->path, &v, &n, err);

	if (rc == 0)
		rc = load_rows(&st->recorded, v, n);
	if (rc == 0)
		rc = ledger_get_pins(a->ledger, g->path, &v, &n, err);
	if (rc == 0) {
		st->n_pins_saved = n;
		rc = load_rows(&st->recorded_pins, v, n);
	}
	st->set = g->set;
	st->first = false;
	st->moving = true;
	for (int i = 0; rc == 0 && i < st->recorded.n; i++)
		steer_part(st, &st->recorded.v[i].mask);
	for (int i = 0; rc == 0 && i < g->n; i++) {
		struct own own = {.mask = st->slurm};

		/* Whose it was: the task's whose share it is. */
		for (int k = 1; k < st->n_parts; k++) {
			const struct own part = {.mask = st->part[k].cpus, .part = k};
			struct coreset share;

			steer_want(st, &part, false, &share);
			if (coreset_is_equal(&share, &g->mask[i]))
				own = part;
		}
		rc = steer_hand(st, &g->mask[i], &own);
		if (rc == 0)
			st->handed[st->n_handed - 1].guessed = true;
	}
	/* Killed while it was widened or narrowed? */
	st->wall_moved = st->with_stepd = true;
	return rc;
}

static int fill(struct actuate *a, struct steer *st, struct errbuf *err)
{
	struct coreset job, recorded;
	int rc = a->ops->allocation(a, &st->step, &job, &st->slurm, err);

	if (rc < 0)
		return rc;
	if (coreset_intersects(&st->slurm, &job))
		coreset_and(&st->slurm, &st->slurm, &job);
	rc = change_recorded(a, st->step.step_path, &st->cs, &recorded, err);
	st->is_recorded = rc == 0;
	if (rc == -ENOENT) {
		snprintf(st->cs.path, sizeof(st->cs.path), "%s", st->step.step_path);
		rc = change_inode(a, st->step.step_path, &st->cs.inode, err);
		if (rc == 0)
			rc = cpus_read_text(a->root, st->step.step_path, st->cs.cpus,
				sizeof(st->cs.cpus), NULL, err);
	}
	if (rc == 0)
		rc = cpus_read_file(a->root, st->dir, st->h->effective, &st->wall, err);
	st->past = st->wall;
	st->part = calloc(1, sizeof(*st->part));
	if (rc < 0 || !st->part)
		return rc < 0 ? rc : -ENOMEM;
	st->part[st->n_parts++].cpus = st->slurm;
	return 0;
}

/* One that is being put back stays with him who does it, who stops; whoever comes then begins anew
 * from the ledger: NULL. */
static struct steer *leave_alone(struct actuate *a, struct steer *st)
{
	if (!st || !st->leaving)
		return st;
	st->abandoned = true;
	take_out(a, st);
	return NULL;
}

/* Has it another cpuset than Slurm gave? */
static bool is_otherwise_placed(struct actuate *a, const char *step_path)
{
	struct ledger_cpuset cs;

	return ledger_get_cpuset(a->ledger, step_path, &cs, NULL) == 0 && !steer_has(a, step_path);
}

/* The step's state: ours, or as one before us has left it, or new. */
static int open_step(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	struct steer **ret, struct errbuf *err)
{
	struct steer *st = leave_alone(a, find(a, s->step_path)), **more;
	struct ledger_given g = {.mask = NULL};
	int rc;

	if (st && (!s->step_inode || st->step.step_inode == s->step_inode)) {
		*ret = st;
		return 0;
	}
	if (st)
		drop(a, st);
	more = realloc(a->steer, ((size_t)a->n_steers + 1) * sizeof(struct steer *));
	if (more)
		a->steer = more;
	/* By one before us, whose way was the other. */
	if (is_otherwise_placed(a, s->step_path)) {
		rc = a->ops->restore(a, s, err);
		if (rc < 0)
			return rc;
	}
	st = calloc(1, sizeof(*st));
	if (!more || !st) {
		free(st);
		return err_set(err, -ENOMEM, "out of memory");
	}
	st->h = h;
	st->step = *s;
	st->first = true;
	find_job(h, &st->step);
	change_where(h, a, s->step_path, st->dir, sizeof(st->dir));
	rc = fill(a, st, err);
	if (rc == 0 && st->is_recorded) {
		st->step.step_inode = st->cs.inode;
		rc = ledger_get_given(a->ledger, s->step_path, &g, err);
		rc = rc == -ENOENT ? 0 : rc < 0 ? rc : load(a, st, &g, err);
	}
	free(g.mask);
	if (rc < 0) {
		steer_free(st);
		return rc == -ENOMEM ? err_set(err, rc, "out of memory") : rc;
	}
	a->steer[a->n_steers++] = st;
	*ret = st;
	return 0;
}

/* So that its file's writes are known, and Slurm's to the job's. */
static void hold(struct actuate *a, const struct steer *st)
{
	struct coreset cpus, job;

	if (cpus_read(a->root, st->dir, &cpus, NULL) < 0)
		return;
	if (cpus_read(a->root, st->step.job_path, &job, NULL) < 0)
		coreset_zero(&job);
	watch_hold(a, &st->step, st->dir, &cpus, &job);
}

static void count(struct steer *st, struct actuate_result *ret)
{
	*ret = (struct actuate_result){.coreset = st->set};
	for (int i = 0; i < st->n; i++) {
		const struct member *t = &st->member[i];
		bool pinned = t->row && t->row->own.program &&
			      !coreset_is_subset(&st->slurm, &t->row->own.mask);

		ret->foreign += t->foreign;
		ret->pinned += !t->foreign && pinned;
		ret->resting += !t->foreign && !pinned && rests(st, t);
		ret->threads += !t->foreign && !pinned && !rests(st, t);
	}
}

/* Its cpuset as wide as its job's, or as it may ever be needed: once. Whose masks are whose is told
 * before, as the kernel may wipe them. */
static int widen(struct actuate *a, struct steer *st, const struct coreset *set, struct errbuf *err)
{
	char want[CORESET_STR_MAX], have[CORESET_STR_MAX];
	int rc = 0;

	if (coreset_is_subset(set, &st->wall) &&
		!(a->outside && st->first && !coreset_is_subset(&a->all_pus, &st->wall)))
		return 0;
	st->at = st->changed = 0;
	st->with_stepd = true;
	rc = settle(a, st, false, ROUNDS_MAX, INT64_MAX, err);
	if (rc < 0)
		return rc;
	rc = st->h->widen(a, &st->step, set, err);
	st->wall_moved = true;
	change_where(st->h, a, st->step.step_path, st->dir, sizeof(st->dir));
	if (rc < 0 && coreset_is_subset(set, &st->wall))
		rc = 0; /* it stays where it is */
	if (rc == 0)
		rc = read_wall(a, st, err);
	if (rc < 0 || coreset_is_subset(set, &st->wall))
		return rc;
	return err_set(err, -ERANGE, "%s: '%.60s' is not inside the job's CPUs '%.60s'",
		st->step.step_path, coreset_format(set, want, sizeof(want)),
		coreset_format(&st->wall, have, sizeof(have)));
}

/* Back to @before; NULL: to Slurm's, of a step that nothing was given before. */
static void undo(
	struct actuate *a, struct steer *st, const struct coreset *before, struct errbuf *err)
{
	struct errbuf first = *err, why = {""};
	struct step_cgroup s = st->step;
	int rc;

	if (before) {
		st->set = *before;
		st->at = st->changed = 0;
		st->moving = st->unsaved = true;
		rc = settle(a, st, true, ROUNDS_MAX, now_ns() + APPLY_NS, &why);
		if (rc >= 0 && st->refused)
			rc = err_set(&why, st->refused, "%s", strerror(-st->refused));
	} else if (st->is_recorded) {
		rc = steer_restore(st->h, a, &s, &why);
	} else {
		drop(a, st);
		return;
	}
	if (rc < 0)
		err_set(err, rc, "%.140s; not undone: %.90s", first.text, why.text);
}

int steer_apply(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	const struct coreset *set, struct actuate_result *ret, struct errbuf *err)
{
	struct coreset before;
	struct steer *st;
	bool is_new;
	int rc = open_step(h, a, s, &st, err);

	if (rc < 0)
		return rc;
	is_new = st->first;
	before = is_new ? st->slurm : st->set;
	if (is_new)
		st->set = st->slurm;
	rc = read_wall(a, st, err);
	if (rc == 0)
		rc = widen(a, st, set, err);
	if (rc >= 0) {
		st->moving = true;
		st->unsaved |= !coreset_is_equal(&st->set, set);
		st->set = *set;
		st->at = st->changed = 0;
		rc = settle(a, st, true, ROUNDS_MAX, now_ns() + APPLY_NS, err);
		if (rc >= 0 && st->refused)
			rc = err_set(err, st->refused, "%s: cannot set a thread's mask: %s",
				st->step.step_path, strerror(-st->refused));
	}
	if (rc >= 0) {
		hold(a, st);
		count(st, ret);
		return 0;
	}
	undo(a, st, is_new ? NULL : &before, err);
	return rc;
}

int steer_verify(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	const struct coreset *set)
{
	const struct steer *st = find(a, s->step_path);
	char dir[FILE_MAX];
	struct coreset wall;
	int rc;

	change_where(h, a, s->step_path, dir, sizeof(dir));
	rc = cpus_read_file(a->root, dir, h->effective, &wall, NULL);
	if (rc < 0)
		return rc;
	rc = change_is_there(a, s->step_path, s->step_inode, NULL);
	if (rc < 0)
		return rc;
	return !st || !coreset_is_equal(&st->set, set) || !coreset_is_subset(set, &wall);
}

/* The number of whoever was forked last on the node; 0: unknown. */
static pid_t newest_on_node(const struct actuate *a)
{
	char text[128];
	int newest;

	/* "0.20 0.18 0.12 1/80 11206" */
	return fsroot_read_once(a->root, "proc/loadavg", text, sizeof(text)) > 0 &&
			       sscanf(text, "%*s %*s %*s %*s %d", &newest) == 1 && newest > 0
		       ? newest
		       : 0;
}

/* Has @t what it had, and does it run or rest as before? */
static bool is_as_it_was(struct actuate *a, struct steer *st, const struct member *t)
{
	const struct member *has = t->row ? t : leader_of(st, t);
	struct coreset now;
	bool rested;

	if (!t->seen || !has || proc_get_mask(t->tid, &now) < 0 ||
		!coreset_is_equal(&now, &has->row->given))
		return false;
	if (t->tid != t->tgid)
		return true;
	rested = t->row->rest.rests;
	watch_rest(a, st, t);
	return t->row->rest.rests == rested;
}

/* Nothing was to be done at the last pass, and nothing has happened since. Who was forked is on the
 * step's masks; who was moved here without a fork is found after LIST_NS. */
static bool is_still_quiet(struct actuate *a, struct steer *st)
{
	if (!st->quiet || st->moving || st->at || st->n > GLANCES_MAX || !a->newest ||
		st->newest != a->newest || now_ns() - st->listed_ns >= LIST_NS)
		return false;
	for (int i = 0; i < st->n; i++)
		if (!st->member[i].foreign && !is_as_it_was(a, st, &st->member[i]))
			return false;
	return true;
}

static bool look_at_steps(struct actuate *a, int64_t until_ns)
{
	struct errbuf err;

	for (int i = 0; i < a->n_steers; i++) {
		struct steer *st = a->steer[a->look_at % a->n_steers];
		bool rests = st->leaving ||
			     (!st->moving && st->at == 0 && now_ns() < st->next_ns) ||
			     is_still_quiet(a, st);

		/* What fails is tried again at the next look; who has ended others will tell. */
		if (!rests && settle(a, st, true, st->moving ? ROUNDS_MAX : 1, until_ns, &err) < 0)
			st->at = 0;
		if (!rests && st->at)
			return false;
		a->look_at = (a->look_at + 1) % a->n_steers;
		if (now_ns() >= until_ns)
			return i + 1 == a->n_steers;
	}
	return true;
}

bool actuate_look(struct actuate *a, int64_t budget_ns)
{
	int64_t until_ns = now_ns() + budget_ns;
	bool all;

	/* Before any list is read: whoever comes after that is found at the next look. */
	a->newest = a->n_steers ? newest_on_node(a) : 0;
	all = look_at_steps(a, until_ns);
	a->newest = 0;
	return all;
}

int actuate_left(const struct actuate *a, const struct step_cgroup *s, int *ret_of)
{
	const struct steer *st = find(a, s->step_path);

	*ret_of = st ? st->n : 0;
	return st && st->moving && !st->leaving ? st->n - st->at : 0;
}

/* ---- the way back -------------------------------------------------------------------------- */

/* Others may have their turn here, and may have begun the same anew. */
static int breathe(const struct steer *st, struct errbuf *err)
{
	return aside_breathe() || st->abandoned
		       ? err_set(err, -ECANCELED, "%s: stopped", st->step.step_path)
		       : 0;
}

/* One pass: everybody his own. */
static int put_back(struct actuate *a, struct steer *st, struct errbuf *err)
{
	cleanup_free struct todo *todo = calloc(CHUNK, sizeof(*todo));
	int n, rc = todo ? 0 : -ENOMEM;

	while (rc == 0 && st->at < st->n) {
		rc = breathe(st, err);
		if (rc == 0)
			rc = look_on(a, st, todo, &n, err);
		for (int i = 0; rc == 0 && i < n; i++) {
			const struct own *own = own_of(st, todo[i].t);
			struct coreset cut;

			if (!own)
				continue;
			todo[i].want =
				coreset_is_subset(&st->slurm, &own->mask) ? st->wall : own->mask;
			coreset_and(&cut, &todo[i].want, &st->wall);
			if (!coreset_is_equal(&cut, &todo[i].now))
				rc = set_one(st, &todo[i]);
		}
	}
	return rc;
}

static int put_all_back(struct actuate *a, struct steer *st, struct errbuf *err)
{
	int rc = 0;

	st->moving = true;
	for (int round = 0; rc == 0 && round < ROUNDS_MAX; round++) {
		st->at = st->changed = st->refused = 0;
		rc = read_wall(a, st, err);
		if (rc == 0)
			rc = list(a, st, err);
		if (rc == 0)
			rc = put_back(a, st, err);
		if (rc == 0 && st->changed == 0)
			return st->refused ? err_set(err, st->refused,
						     "%s: cannot put a thread's mask back: %s",
						     st->step.step_path, strerror(-st->refused))
					   : 0;
	}
	return rc < 0 ? rc
		      : err_set(err, -EAGAIN,
				"%s: its threads still change their masks after %d rounds",
				st->step.step_path, ROUNDS_MAX);
}

/* And that is known. */
static bool has_ended(const struct actuate *a, const struct steer *st)
{
	return fsroot_is_there(a->root, st->step.step_path, st->cs.inode) == 0;
}

/* Whose are whose, then Slurm's cpuset where it was widened, then the masks. */
static int go_back(struct actuate *a, struct steer *st, struct errbuf *err)
{
	int rc = 0;

	st->leaving = true;
	if (!has_ended(a, st)) {
		st->at = st->changed = 0;
		st->set = st->slurm;
		rc = list(a, st, err);
		while (rc == 0 && st->at < st->n) {
			cleanup_free struct todo *todo = calloc(CHUNK, sizeof(*todo));
			int n;

			rc = todo ? look_on(a, st, todo, &n, err) : -ENOMEM;
			if (rc == 0)
				rc = breathe(st, err);
		}
	}
	if (rc == 0 || has_ended(a, st)) {
		st->wall_moved = true;
		rc = st->h->narrow(a, &st->step, err);
		change_where(st->h, a, st->step.step_path, st->dir, sizeof(st->dir));
	}
	if (rc == 0 && !has_ended(a, st))
		rc = put_all_back(a, st, err);
	st->leaving = false;
	return rc;
}

bool steer_has(struct actuate *a, const char *step_path)
{
	struct ledger_given g;

	if (find(a, step_path))
		return true;
	if (ledger_get_given(a->ledger, step_path, &g, NULL) < 0)
		return false;
	free(g.mask);
	return true;
}

int steer_restore(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	struct errbuf *err)
{
	struct step_cgroup step = *s;
	struct steer *st;
	int rc;

	if (!steer_has(a, s->step_path))
		return -EXDEV;
	find_job(h, &step);
	rc = change_recorded(a, s->step_path, NULL, NULL, err);
	if (rc < 0 && rc != -ENOENT)
		return rc;
	st = leave_alone(a, find(a, s->step_path));
	if (rc == -ENOENT && !st) /* that directory has gone, and its rows with it */
		return h->narrow(a, &step, err);
	if (!st)
		rc = open_step(h, a, s, &st, err);
	else
		rc = 0;
	if (rc == 0)
		rc = go_back(a, st, err);
	if (st && st->abandoned) {
		steer_free(st);
		return err_set(err, -ECANCELED, "%s: put back by others", s->step_path);
	}
	if (rc == -ENOENT && (!st || has_ended(a, st)))
		rc = 0;
	if (rc == 0)
		rc = ledger_forget(a->ledger, s->step_path, err);
	if (rc < 0)
		return rc;
	watch_drop(a, s->step_path);
	if (st)
		drop(a, st);
	return 0;
}

int steer_current(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	struct coreset *ret, struct errbuf *err)
{
	struct steer *st;
	int rc;

	if (!steer_has(a, s->step_path))
		return -ENOENT;
	rc = open_step(h, a, s, &st, err);
	if (rc < 0)
		return rc;
	hold(a, st);
	*ret = st->set;
	return 0;
}
