/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * masks.c - what happens to threads' affinity masks when their step's cpuset changes.
 *
 * From Linux 6.2 on the kernel remembers what sched_setaffinity() was last called with and shows
 * memory AND cpuset, or the whole cpuset where the two do not meet. Before, a change of the cpuset
 * wiped every mask. One recipe serves both: threads are *released*, that is, given all CPUs. They
 * then follow each write of the cpuset by themselves, threads born later inherit that, and no
 * thread is ever pinned to a mask that was merely read.
 *
 * It also tells our doing from others'. We only ever hand out "all CPUs", so a mask that differs
 * from the cpuset is remembered from Slurm (the original of the thread's process) or is the
 * program's own (OMP_PROC_BIND and the like):
 *   - Slurm's: released;
 *   - the program's, inside the new set: left alone;
 *   - the program's, outside: the kernel itself gives it the whole set, and gives the pin back when
 *     the set covers it again;
 *   - the program's, partly outside: released, or all threads of a region could end up on one CPU.
 * A mask that is all the cpuset has is no choice: programs read theirs and set it again (GROMACS,
 * when it has counted the CPUs). The kernel would remember it all the same, so at each change
 * whoever shows the whole cpuset is released once more, but for pins that this hides (tell_pins()).
 * Those no reading tells any more, so they are in the ledger, for whoever comes after a crash.
 * Tasks that Slurm bound to different parts of their step are not released but given the same parts
 * of the new set (ranks.c); that mask is told from a program's own by working it out again.
 *
 * Going back, the cpuset is written first; a thread that then shows the whole original cpuset has
 * been released and gets its original unless that was the whole cpuset too ("no mask" and "mask =
 * whole cpuset" look the same from outside; a released thread behaves as the former). A thread that
 * shows less has a memory of its own, which is what it should have. Not knowable: a program that
 * asked for all CPUs by itself while its step was ours is put back to Slurm's mask.
 */
#include "nodesvc/actuate/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/aside.h"
#include "common/cleanup.h"

/* Threads that appear while others are being released; a round takes
 * microseconds per thread: what outruns twenty keeps changing masks on purpose. */
#define ROUNDS_MAX 20
#define UNSETTLED  "%s: its threads still change their masks after %d rounds"
/* Levels of fork that are followed back to a process of the ledger. */
#define PARENTS_MAX 16

void masks_done(struct masks *m)
{
	rows_free(&m->ledger);
	rows_free(&m->recorded_pins);
	rows_free(&m->seen);
	rows_free(&m->pins);
	free(m->thread);
	free(m->workers);
	proc_known_free(&m->known);
}

static struct coreset all_cpus(void)
{
	struct coreset all;

	coreset_zero(&all);
	coreset_add_range(&all, 0, CORESET_MAX - 1);
	return all;
}

static int scan(struct masks *m, struct proc_thread **ret, int *ret_n, struct errbuf *err)
{
	int rc = m->h->scan(m->a->root, m->dir, &m->known, ret, ret_n);

	m->a->read_rc = 0;

	if (rc < 0)
		return err_set(err, rc, "%s: cannot list its threads: %s", m->path,
			rc == -ENOENT ? "the step has ended" : strerror(-rc));
	return 0;
}

/* proc_stat_read(); what could not be read is not taken for gone: check_read(). */
static int read_stat(const struct masks *m, pid_t tgid, pid_t tid, struct proc_stat *ret)
{
	int rc = proc_stat_read(m->a->root, tgid, tid, ret);

	if (rc < 0 && rc != -ESRCH && !m->a->read_rc)
		m->a->read_rc = rc;
	return rc;
}

/* Between two threads. Passes over others' may be made meanwhile. */
static int breathe(const struct masks *m, struct errbuf *err)
{
	int rc = m->a->read_rc;
	bool stop = aside_breathe();

	m->a->read_rc = rc;
	return stop ? err_set(err, -ECANCELED, "%s: stopped", m->path) : 0;
}

/* proc_get_mask(), likewise. */
static int get_mask(const struct masks *m, pid_t tid, struct coreset *ret)
{
	int rc = proc_get_mask(tid, ret);

	if (rc < 0 && rc != -ESRCH && !m->a->read_rc)
		m->a->read_rc = rc;
	return rc;
}

static int check_read(const struct masks *m, struct errbuf *err)
{
	int rc = m->a->read_rc;

	return rc < 0 ? err_set(err, rc, "%s: cannot read its threads: %s", m->path, strerror(-rc))
		      : 0;
}

/* A thread's start time, read once per change: no tid is given anew within that time. */
static bool start_of(const struct masks *m, pid_t tgid, pid_t tid, uint64_t *ret)
{
	const struct ledger_thread *seen = rows_find_tid(&m->seen, tid);
	struct proc_stat st;

	if (!seen && read_stat(m, tgid, tid, &st) < 0)
		return false;
	*ret = seen ? seen->start_ticks : st.start_ticks;
	return true;
}

/*
 * The mask that @tid had, or would have had: its own row, its process's, that of the process it
 * was forked from; NULL: the step's cpuset.
 */
static const struct coreset *find_original(
	const struct masks *m, const struct rows *rows, pid_t tid, pid_t tgid)
{
	const struct ledger_thread *row;
	struct proc_stat st;
	uint64_t start;

	if (!start_of(m, tgid, tid, &start))
		return NULL;
	row = rows_find(rows, tid, start);
	if (!row && tid != tgid && start_of(m, tgid, tgid, &start))
		row = rows_find(rows, tgid, start);
	if (row)
		return &row->mask;
	for (int i = 0; i < PARENTS_MAX; i++) {
		if (read_stat(m, tgid, tgid, &st) < 0 || st.ppid <= 1)
			return NULL;
		tgid = st.ppid;
		if (read_stat(m, tgid, tgid, &st) < 0)
			return NULL;
		/* A task that slurmstepd forks later is not born with its mask. */
		if (strcmp(st.comm, "slurmstepd") == 0)
			return NULL;
		row = rows_find(rows, tgid, st.start_ticks);
		if (row)
			return &row->mask;
	}
	return NULL;
}

/* Slurm's mask of the thread's process, where that is a part of the step's CPUs; else NULL. */
static const struct coreset *find_part(const struct masks *m, const struct proc_thread *t)
{
	const struct coreset *slurm = find_original(m, &m->ledger, t->tgid, t->tgid);

	return slurm && !coreset_is_subset(&m->original, slurm) &&
			       coreset_intersects(slurm, &m->original)
		       ? slurm
		       : NULL;
}

/* What a thread of the step is to have when the step has @set: its rank's share, or the whole. */
static struct coreset share_of(
	const struct masks *m, const struct proc_thread *t, const struct coreset *set)
{
	const struct coreset *part = m->has_ranks ? find_part(m, t) : NULL;
	struct coreset share = *set;

	if (part)
		ranks_share(&share, part, &m->original, set);
	return share;
}

/* Is @mask, read under cpuset @cpus, what is left there of the share that @part has of @set? */
static bool has_part_of(const struct masks *m, const struct coreset *mask,
	const struct coreset *set, const struct coreset *cpus, const struct coreset *part)
{
	struct coreset share;

	ranks_share(&share, part, &m->original, set);
	coreset_and(&share, &share, cpus);
	return coreset_is_equal(mask, &share);
}

/* The same of any set that a failed way back may have left. */
static bool has_part_of_tried(const struct masks *m, const struct coreset *mask,
	const struct coreset *cpus, const struct coreset *part)
{
	const struct coreset *set;

	for (int at = 0; (set = watch_next_tried(m->a, m->path, &at));)
		if (has_part_of(m, mask, set, cpus, part))
			return true;
	return false;
}

/* Is @mask, read under cpuset @cpus, its rank's share of that, or of what the step had last? */
static bool is_rank_mask(const struct masks *m, const struct coreset *mask,
	const struct coreset *cpus, const struct proc_thread *t)
{
	const struct coreset *part = find_part(m, t);
	struct coreset share;

	if (!part)
		return false;
	ranks_share(&share, part, &m->original, cpus);
	if (coreset_is_equal(mask, &share))
		return true;
	return has_part_of(m, mask, &m->last, cpus, part) || has_part_of_tried(m, mask, cpus, part);
}

/* Is @mask, read under cpuset @cpus, the program's own choice (neither the whole nor Slurm's, nor
 * its rank's)? */
static bool is_own_pin(const struct masks *m, const struct coreset *mask,
	const struct coreset *cpus, const struct proc_thread *t)
{
	const struct coreset *slurm;
	struct coreset here;

	if (coreset_is_equal(mask, cpus))
		return false;
	slurm = find_original(m, &m->ledger, t->tgid, t->tgid);
	if (!slurm)
		return true;
	coreset_and(&here, slurm, cpus);
	return !coreset_is_equal(mask, &here) && !is_rank_mask(m, mask, cpus, t);
}

/*
 * Adds a row to @fresh unless the ledger has the thread, or can tell its original without.
 * @mask: as read under cpuset @cpus; @as_read: nothing of ours has touched it.
 */
static int note(const struct masks *m, const struct proc_thread *t, const struct coreset *mask,
	const struct coreset *cpus, bool as_read, struct rows *fresh)
{
	struct ledger_thread row = {.tid = t->tid};
	const struct coreset *original;

	if (!start_of(m, t->tgid, t->tid, &row.start_ticks) ||
		rows_find(&m->ledger, t->tid, row.start_ticks))
		return 0;
	if (as_read || is_own_pin(m, mask, cpus, t)) {
		row.mask = *mask;
	} else if (t->tid == t->tgid) {
		original = find_original(m, &m->ledger, t->tid, t->tgid);
		row.mask = original ? *original : m->original;
	} else {
		return 0; /* born under us: as its leader, whose row outlives it */
	}
	snprintf(row.path, sizeof(row.path), "%s", m->path);
	return rows_put(fresh, &row);
}

static int put_all(struct rows *to, const struct rows *from, struct errbuf *err)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < from->n; i++)
		rc = rows_put(to, &from->v[i]);
	return rc < 0 ? err_set(err, rc, "out of memory") : 0;
}

static int no_ledger(const struct masks *m, int rc, struct errbuf *err)
{
	return err_wrap(err, rc, "%s: left as it is, no ledger", m->path);
}

/* One transaction, then the copy in memory. */
static int save(struct masks *m, const struct rows *fresh, struct errbuf *err)
{
	int rc;

	if (!fresh->n)
		return 0;
	rc = ledger_add(m->a->ledger, NULL, fresh->v, fresh->n, err);
	return rc < 0 ? no_ledger(m, rc, err) : put_all(&m->ledger, fresh, err);
}

static int compare_pids(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? -1 : x > y;
}

/* Reads every thread's mask into @seen; with @fresh, notes there what the ledger lacks. */
static int look(struct masks *m, struct rows *fresh, struct errbuf *err)
{
	cleanup_free struct proc_thread *t = NULL;
	int n, rc = scan(m, &t, &n, err);

	m->workers = rc == 0 ? calloc((size_t)n + 1, sizeof(*m->workers)) : NULL;
	if (rc == 0 && !m->workers)
		rc = err_set(err, -ENOMEM, "out of memory");
	for (int i = 0; rc == 0 && i < n; i++) {
		struct ledger_thread row = {.tid = t[i].tid, .start_ticks = t[i].start_ticks};
		struct proc_stat st;

		rc = breathe(m, err);
		if (rc < 0)
			break;
		if (get_mask(m, t[i].tid, &row.mask) < 0)
			continue; /* ended meanwhile */
		if (!row.start_ticks) {
			if (read_stat(m, t[i].tgid, t[i].tid, &st) < 0)
				continue;
			row.start_ticks = st.start_ticks;
		}
		snprintf(row.path, sizeof(row.path), "%s", m->path);
		rc = rows_put(&m->seen, &row);
		if (rc == 0 && fresh)
			rc = note(m, &t[i], &row.mask, &m->before, !m->is_ours, fresh);
		if (t[i].tid != t[i].tgid)
			m->workers[m->n_workers++] = t[i].tid;
	}
	if (m->workers)
		qsort(m->workers, (size_t)m->n_workers, sizeof(*m->workers), compare_pids);
	if (rc == 0) {
		m->thread = take_ptr(t);
		m->n_threads = n;
	}
	return rc < 0 ? rc : check_read(m, err);
}

/*
 * Two processes with different parts of the step, in the ledger now: tasks, or their children. Also
 * those that have ended: who is left keeps his part. (Of a thread that has ended nobody knows
 * whether it was a process.)
 */
static void tell_ranks(struct masks *m)
{
	const struct coreset *first = NULL;

	m->has_ranks = false;
	for (int i = 0; i < m->ledger.n && !m->has_ranks; i++) {
		const struct ledger_thread *row = &m->ledger.v[i];

		if (coreset_is_subset(&m->original, &row->mask) ||
			bsearch(&row->tid, m->workers, (size_t)m->n_workers, sizeof(row->tid),
				compare_pids))
			continue;
		m->has_ranks = first && !coreset_is_equal(first, &row->mask);
		first = &row->mask;
	}
}

/* The pin that the kernel may still remember of a thread that shows all of the cpuset; NULL none.
 */
static const struct ledger_thread *hidden_pin(
	const struct masks *m, const struct ledger_thread *seen)
{
	const struct ledger_thread *pin =
		rows_find(&m->recorded_pins, seen->tid, seen->start_ticks);

	if (!pin || !coreset_is_equal(&seen->mask, &m->before))
		return NULL;
	/* Displaced, or what it left is all there was; else the program has chosen anew. */
	return !coreset_intersects(&pin->mask, &m->before) ||
			       coreset_is_subset(&m->before, &pin->mask)
		       ? pin
		       : NULL;
}

/* The ledger has what Slurm set by now. */
static int tell_pins(struct masks *m, struct errbuf *err)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < m->n_threads; i++) {
		const struct ledger_thread *pin = rows_find_tid(&m->seen, m->thread[i].tid);

		if (pin && !is_own_pin(m, &pin->mask, &m->before, &m->thread[i]))
			pin = hidden_pin(m, pin);
		if (pin)
			rc = rows_put(&m->pins, pin);
	}
	return rc < 0 ? err_set(err, rc, "out of memory") : 0;
}

static int tell(struct masks *m, struct errbuf *err)
{
	tell_ranks(m);
	return tell_pins(m, err);
}

int masks_look(struct masks *m, struct errbuf *err)
{
	int rc = look(m, NULL, err);

	return rc < 0 ? rc : tell(m, err);
}

static bool are_pins_recorded(const struct masks *m)
{
	if (m->pins.n != m->recorded_pins.n)
		return false;
	for (int i = 0; i < m->pins.n; i++) {
		const struct ledger_thread *pin = &m->pins.v[i],
					   *was = rows_find(
						   &m->recorded_pins, pin->tid, pin->start_ticks);

		if (!was || !coreset_is_equal(&was->mask, &pin->mask))
			return false;
	}
	return true;
}

int masks_record(struct masks *m, const struct ledger_cpuset *cs, struct errbuf *err)
{
	struct rows fresh = {.v = NULL};
	int rc = look(m, &fresh, err);

	/* Whose a mask is can be told only with the new rows in hand. */
	if (rc == 0)
		rc = put_all(&m->ledger, &fresh, err);
	if (rc == 0)
		rc = tell(m, err);
	if (rc == 0 && (cs || fresh.n || !are_pins_recorded(m))) {
		rc = ledger_record(
			m->a->ledger, cs, fresh.v, fresh.n, m->path, m->pins.v, m->pins.n, err);
		if (rc < 0)
			no_ledger(m, rc, err);
	}
	rows_free(&fresh);
	return rc;
}

int masks_let_go(struct masks *m, struct errbuf *err)
{
	const struct coreset all = all_cpus();
	struct coreset now;

	if (!m->is_ours || !m->has_ranks)
		return 0;
	for (int round = 0; round < ROUNDS_MAX; round++) {
		cleanup_free struct proc_thread *t = NULL;
		int n, changed = 0, first_rc = 0, rc = scan(m, &t, &n, err);

		if (rc == 0)
			rc = cpus_read_file(m->a->root, m->dir, m->h->effective, &now, err);
		for (int i = 0; rc == 0 && i < n; i++) {
			struct coreset mask;
			int set_rc;

			rc = breathe(m, err);
			if (rc < 0)
				break;
			if (t[i].foreign || get_mask(m, t[i].tid, &mask) < 0 ||
				coreset_is_equal(&mask, &now) ||
				!is_rank_mask(m, &mask, &now, &t[i]))
				continue;
			set_rc = proc_set_mask(t[i].tid, &all);
			changed += set_rc == 0;
			if (set_rc < 0 && set_rc != -ESRCH && !first_rc)
				first_rc = err_set(err, set_rc,
					"%s: thread %d: cannot set its mask: %s", m->path,
					(int)t[i].tid, strerror(-set_rc));
		}
		if (rc == 0)
			rc = check_read(m, err);
		if (rc < 0 || changed == 0)
			return rc < 0 ? rc : first_rc;
	}
	return err_set(err, -EAGAIN, UNSETTLED, m->path, ROUNDS_MAX);
}

/* REFRESH: shows what it should, and is given all CPUs once more. */
enum verdict { AS_WANTED, PINNED, REFRESH, RELEASE, REPIN };

struct todo {
	enum verdict verdict;
	struct coreset mask; /* REPIN */
};

/* In a later round: the pin that the program had before, which may look like Slurm's under @set. */
static bool is_kept_pin(const struct masks *m, const struct proc_thread *t,
	const struct coreset *mask, const struct coreset *set)
{
	const struct ledger_thread *was = rows_find_tid(&m->seen, t->tid);

	return was && coreset_is_equal(mask, &was->mask) && coreset_is_subset(mask, set) &&
	       is_own_pin(m, mask, &m->before, t);
}

/* The same for a thread whose rank is to have @want of @set. */
static enum verdict judge_rank(const struct masks *m, const struct proc_thread *t,
	const struct coreset *mask, const struct coreset *set, const struct coreset *want,
	bool first, struct coreset *ret_mask)
{
	const struct ledger_thread *was = first ? rows_find_tid(&m->seen, t->tid) : NULL;

	if (coreset_is_equal(mask, want))
		return AS_WANTED;
	if (!first && is_kept_pin(m, t, mask, set))
		return PINNED;
	if (was && is_own_pin(m, &was->mask, &m->before, t) && coreset_is_subset(&was->mask, set)) {
		*ret_mask = was->mask;
		return coreset_is_equal(mask, &was->mask) ? PINNED : REPIN;
	}
	if (!first && coreset_is_subset(mask, set) && is_own_pin(m, mask, set, t))
		return PINNED;
	*ret_mask = *want;
	return REPIN;
}

/* Is @mask what the kernel leaves under @set of the one the thread had? */
static bool is_cut(
	const struct ledger_thread *was, const struct coreset *mask, const struct coreset *set)
{
	struct coreset left;

	coreset_and(&left, &was->mask, set);
	return coreset_is_equal(mask, &left);
}

/* What is to be done with a thread that shows @mask now that the cpuset is @set. */
static enum verdict judge(const struct masks *m, const struct proc_thread *t,
	const struct coreset *mask, const struct coreset *set, bool first, struct coreset *ret_mask)
{
	const struct ledger_thread *was;
	const struct coreset want = share_of(m, t, set);
	bool on_set = coreset_is_equal(mask, set);

	if (!coreset_is_equal(&want, set))
		return judge_rank(m, t, mask, set, &want, first, ret_mask);
	if (on_set && (!first || (m->is_ours && coreset_is_equal(&m->before, set))))
		return AS_WANTED;
	was = first ? rows_find_tid(&m->seen, t->tid) : NULL;
	if (was && is_own_pin(m, &was->mask, &m->before, t)) {
		if (!coreset_is_subset(&was->mask, set))
			return on_set ? AS_WANTED : RELEASE; /* displaced by the kernel, or cut */
		if (!on_set || coreset_is_equal(&was->mask, set))
			return PINNED;
		*ret_mask = was->mask; /* wiped by the move, as kernels before 6.2 do */
		return REPIN;
	}
	/* It was no pin, and is none for having been remembered: a part that the program chose of
	 * more CPUs, and of which it had all that the step had. */
	if (!on_set && was && is_cut(was, mask, set) && !rows_find_tid(&m->pins, t->tid))
		return RELEASE;
	if (!on_set && !first && is_kept_pin(m, t, mask, set))
		return PINNED;
	if (!on_set)
		return coreset_is_subset(mask, set) && is_own_pin(m, mask, set, t) ? PINNED
										   : RELEASE;
	/* Released though it shows the set: there may be a memory behind, before the first change
	 * or since the last: a program that sets the mask that it read. */
	if (!m->is_ours)
		return RELEASE;
	return rows_find_tid(&m->pins, t->tid) ? AS_WANTED : REFRESH;
}

/* One pass over all threads; *@ret_changed: how many had to be touched. */
static int release_round(struct masks *m, const struct coreset *set, bool first, int *ret_changed,
	struct actuate_result *ret, struct errbuf *err)
{
	cleanup_free struct proc_thread *t = NULL;
	cleanup_free struct todo *todo = NULL;
	const struct coreset all = all_cpus();
	struct rows fresh = {.v = NULL};
	int n, rc = scan(m, &t, &n, err);

	*ret = (struct actuate_result){.coreset = *set};
	*ret_changed = 0;
	if (rc == 0 && !(todo = calloc((size_t)n + 1, sizeof(*todo))))
		rc = -ENOMEM;
	for (int i = 0; rc == 0 && i < n; i++) {
		struct coreset mask;

		ret->foreign += t[i].foreign;
		if (t[i].foreign || get_mask(m, t[i].tid, &mask) < 0)
			continue; /* slurmstepd's, or ended */
		todo[i].verdict = judge(m, &t[i], &mask, set, first, &todo[i].mask);
		ret->threads += todo[i].verdict == AS_WANTED || todo[i].verdict == REFRESH;
		/* Also a pin that has no place in @set. */
		ret->pinned += todo[i].verdict == PINNED || rows_find_tid(&m->pins, t[i].tid);
		rc = note(m, &t[i], &mask, set, false, &fresh);
	}
	if (rc == 0)
		rc = check_read(m, err);
	if (rc == 0)
		rc = save(m, &fresh, err);
	for (int i = 0; rc == 0 && i < n; i++) {
		if (todo[i].verdict < REFRESH)
			continue;
		*ret_changed += todo[i].verdict != REFRESH;
		rc = proc_set_mask(t[i].tid, todo[i].verdict == REPIN ? &todo[i].mask : &all);
		if (rc == -ESRCH)
			rc = 0;
		if (rc < 0)
			err_set(err, rc, "%s: thread %d: cannot set its mask: %s", m->path,
				(int)t[i].tid, strerror(-rc));
	}
	rows_free(&fresh);
	return rc;
}

int masks_release(
	struct masks *m, const struct coreset *set, struct actuate_result *ret, struct errbuf *err)
{
	for (int round = 0; round < ROUNDS_MAX; round++) {
		int changed, rc = release_round(m, set, round == 0, &changed, ret, err);

		/* The round that changes nothing is the one that reads everything back. */
		if (rc < 0 || changed == 0)
			return rc;
	}
	return err_set(err, -EAGAIN, UNSETTLED, m->path, ROUNDS_MAX);
}

/* The mask @t should have now that the cpuset is @target again; NULL: the one it has. */
static const struct coreset *wanted_back(const struct masks *m, const struct rows *rows,
	const struct proc_thread *t, const struct coreset *mask, const struct coreset *target)
{
	const struct ledger_thread *was = rows_find_tid(&m->seen, t->tid);
	bool rank = was && is_rank_mask(m, &was->mask, &m->before, t), whole;
	const struct coreset *original;

	/* It had all there was, and that is what the kernel remembers: no choice of the program's.
	 */
	whole = was && coreset_is_equal(&was->mask, &m->before) && is_cut(was, mask, target) &&
		!rows_find_tid(&m->pins, t->tid);
	if (!coreset_is_equal(mask, target) && !rank && !whole)
		return NULL; /* a memory of its own */
	/* Pinned by the program under us, and wiped by an older kernel on the way back. */
	if (was && !rank && !coreset_is_equal(&was->mask, &m->before))
		return &was->mask;
	original = find_original(m, rows, t->tid, t->tgid);
	return original || !whole ? original : target;
}

int masks_put_back(
	struct masks *m, const struct rows *rows, const struct coreset *target, struct errbuf *err)
{
	const struct coreset all = all_cpus();

	for (int round = 0; round < ROUNDS_MAX; round++) {
		cleanup_free struct proc_thread *t = NULL;
		int n, changed = 0, first_rc = 0, rc = scan(m, &t, &n, err);

		for (int i = 0; rc == 0 && i < n; i++) {
			const struct coreset *want;
			struct coreset mask, cut;

			rc = breathe(m, err);
			if (rc < 0)
				break;
			if (get_mask(m, t[i].tid, &mask) < 0)
				continue; /* ended */
			want = wanted_back(m, rows, &t[i], &mask, target);
			if (!want)
				continue;
			coreset_and(&cut, want, target);
			/* Nothing is left of what it had: the whole, and no mask to be remembered.
			 */
			if (coreset_is_empty(&cut)) {
				want = &all;
				/* All callers have one. */
				cut = *target; /* NOLINT(clang-analyzer-core.NullDereference) */
			}
			if (coreset_is_empty(&cut) || coreset_is_equal(&cut, &mask))
				continue;
			rc = proc_set_mask(t[i].tid, want);
			changed += rc == 0;
			/* One that does not take it is no reason to leave those after it. */
			if (rc < 0 && rc != -ESRCH && !first_rc)
				first_rc = err_set(err, rc,
					"%s: thread %d: cannot put its mask back: %s", m->path,
					(int)t[i].tid, strerror(-rc));
			rc = 0;
		}
		if (rc == 0 && !first_rc)
			rc = check_read(m, err);
		if (rc < 0)
			return rc;
		if (changed == 0)
			return first_rc;
	}
	return err_set(err, -EAGAIN, UNSETTLED, m->path, ROUNDS_MAX);
}
