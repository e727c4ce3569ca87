/* SPDX-License-Identifier: GPL-2.0-or-later */

#include <errno.h>
#include <math.h>

#include "nodesvc/counters/idle.h"
#include "nodesvc/levers/internal.h"

/* Steps that come and go (burst.h) are looked at this often, and not more often than makes 1 % of a
 * core: a thread costs two lines of proc, 10 us. One that waits longer than this is looked at after
 * slices, as others. */
#define CLOSE_LOOK_NS  (10 * MS)
#define CLOSE_THREAD   MS
#define CLOSE_UNTIL_NS (2000 * MS)
/*
 * The slice of whoever goes first is looked at this often: at one thread of each of its steps, and
 * at all of them only where that one stands still. Whoever stops computing there keeps all others
 * waiting (an MPI program's end, measured: 60 ms of both cores), and whoever was seen to comes back
 * to his slice at once. In other long slices he would have to stand in line again.
 */
#define FIRST_LOOK_NS (10 * MS)
/*
 * A step has started when two looks, so far apart, one after the other, found as many threads
 * computing as it has tasks, or cores if they are fewer: two, because loading a program is work as
 * well. Or so long after it registered. (MPI_Init under srun, measured: 50 ms of loading, 200 ms
 * with a twentieth of a core, then the program's own work.)
 */
#define START_LOOK_NS (50 * MS)
#define START_LOOKS   2
#define START_MOST_NS (1000 * MS)
/* What a step may save up by waiting; in advance it has one slice. */
#define CREDIT_SLICES INT64_C(2)
/* Looks halfway through a slice are in each n-th only, as far as they would cost more than 0.5 % of
 * a core: 10 us for a thread. One that is longer than others is looked at again in between. */
#define LOOK_THREAD_NS (2 * MS)
#define LOOK_SLICES    8
/* At one look; of a step with more it goes on at the next. */
#define LOOK_THREADS    1024
#define LOOK_THREADS_NS (2 * MS)

static int64_t shortest_ns(const int *ms, int n)
{
	int least = ms[0];

	for (int k = 1; k < n; k++)
		least = ms[k] < least ? ms[k] : least;
	return least * MS;
}

int64_t turns_slice_ns(const struct rotate *r)
{
	return shortest_ns(r->ms, r->n_slices);
}

/* What bursts are measured by: not less beside a slice so long that the others are cut for it. */
static int64_t burst_slice_ns(const struct rotate *r)
{
	return shortest_ns(r->asked_ms, r->n_slices);
}

/* ---- who is next --------------------------------------------------------------------------- */

bool turns_wanted_by(const struct step *s, int64_t now_ns)
{
	const struct turn *t = &s->turn;

	return t->hold && t->slices && !t->waiting && !freezer_is_suspended(t->hold) &&
	       now_ns >= t->off_until_ns;
}

bool turns_slice_is_wanted(const struct levers *lv, int slice, int64_t now_ns)
{
	for (int i = 0; i < lv->jobs->n; i++)
		if (lv->jobs->step[i]->turn.slices & (UINT32_C(1) << slice) &&
			turns_wanted_by(lv->jobs->step[i], now_ns))
			return true;
	return false;
}

/* The slice that has more than two thirds of the round: a foreground. -1: there is none. */
static int first_slice(const struct rotate *r)
{
	int longest = 0, total = 0;

	for (int k = 0; k < r->n_slices; k++) {
		total += r->ms[k];
		longest = r->ms[k] > r->ms[longest] ? k : longest;
	}
	return r->n_slices && 3 * r->ms[longest] > 2 * total ? longest : -1;
}

bool turns_have_foreground(const struct rotate *r)
{
	return first_slice(r) >= 0;
}

/* The foreground, if it waits; -1: it does not, or there is none. */
static int waiting_first(const struct levers *lv, int64_t now_ns)
{
	int first = first_slice(lv->rotate);

	return first >= 0 && !turns_slice_is_wanted(lv, first, now_ns) ? first : -1;
}

/* Somebody left it for a moment, and is back. */
static bool is_back(const struct levers *lv, int slice, int64_t now_ns)
{
	for (int i = 0; i < lv->jobs->n; i++) {
		const struct step *s = lv->jobs->step[i];

		if (s->turn.lent && s->turn.slices & (UINT32_C(1) << slice) &&
			turns_wanted_by(s, now_ns))
			return true;
	}
	return false;
}

bool turns_foreground_is_back(const struct levers *lv, int64_t now_ns)
{
	int first = first_slice(lv->rotate);

	return first >= 0 && first != lv->rotate->slice && is_back(lv, first, now_ns);
}

/* Nobody is in line who goes before the current slice. */
static bool may_go_on(const struct levers *lv, int64_t now_ns)
{
	int first = first_slice(lv->rotate);

	return first < 0 || first == lv->rotate->slice || waiting_first(lv, now_ns) >= 0;
}

void turns_slice_begins(struct levers *lv, int64_t now_ns)
{
	struct rotate *r = lv->rotate;

	if (r->slice < 0)
		return;
	if (r->slice != first_slice(r) && may_go_on(lv, now_ns))
		r->behind = r->slice;
	for (int i = 0; i < lv->jobs->n; i++)
		if (lv->jobs->step[i]->turn.slices & (UINT32_C(1) << r->slice))
			lv->jobs->step[i]->turn.lent = false;
}

int turns_next_slice(const struct levers *lv, int64_t now_ns)
{
	const struct rotate *r = lv->rotate;
	int after = r->slice;

	if (turns_foreground_is_back(lv, now_ns))
		return first_slice(r);
	if (after >= 0 && after == waiting_first(lv, now_ns))
		after = r->behind;
	for (int k = 1; k <= r->n_slices; k++) {
		int slice = (after < 0 ? k - 1 : after + k) % r->n_slices;

		if (turns_slice_is_wanted(lv, slice, now_ns))
			return slice;
	}
	return -1;
}

/* Returns 0 also where nobody is left, or not even the cgroup: then the list is empty. */
static int list_threads(struct levers *lv, struct step *s, bool *ret_changed)
{
	struct thread_list *l = &s->turn.list;
	int rc = thread_list_update(l, lv->actuate, &s->cgroup, ret_changed);

	if (rc == -ENOENT)
		thread_list_done(l);
	return rc == -ENOENT ? 0 : rc;
}

/* Mean number of the listed threads that ran or wanted to since the last call; NAN unknown. */
static double listed_runnable(struct step *s, int64_t now_ns)
{
	const struct thread_list *l = &s->turn.list;
	struct budget budget = budget_of(LOOK_THREADS, LOOK_THREADS_NS);
	struct signal value;
	struct errbuf err = {""};
	double threads = NAN;

	if (l->n == 0)
		return 0;
	/* On the step's own clock: what it was frozen is no time in which it could have run. */
	if (utilization_read(s->turn.util, l->tid, l->n, turn_clock(&s->turn, now_ns), l->n,
		    &budget, &value, &threads, &err) < 0)
		return NAN;
	return threads;
}

/* The same of all it has. */
static double runnable(struct levers *lv, struct step *s, int64_t now_ns)
{
	bool changed;

	if (!s->turn.util || list_threads(lv, s, &changed) < 0)
		return NAN;
	return listed_runnable(s, now_ns);
}

/* From here on. */
static void begin_look(struct levers *lv, struct step *s, int64_t now_ns)
{
	if (s->turn.list.tid)
		listed_runnable(s, now_ns);
	else
		runnable(lv, s, now_ns);
}

static bool waits(struct levers *lv, struct step *s, int64_t now_ns)
{
	struct turn *t = &s->turn;
	double threads = t->util && t->list.tid ? listed_runnable(s, now_ns) : NAN;
	bool changed;

	/* The delay of a thread that others hold up is booked when it ends. */
	if (threads >= IDLE_WAITS ||
		(threads >= 0 && utilization_at_most(t->util) * t->list.n >= IDLE_WAITS))
		return false;
	/* Only now is it worth asking whether it has others. */
	if (!t->util || list_threads(lv, s, &changed) < 0)
		return t->waiting;
	if (t->list.n == 0)
		return true;
	if (changed)
		listed_runnable(s, now_ns);
	/* Others, or no time has passed since the last look: as it was. */
	return changed || isnan(threads) ? t->waiting : true;
}

/* The step's part of the time, were all in line but those of slice @waiting (waiting_first()). */
static double share_of(const struct rotate *r, const struct step *s, int waiting)
{
	int own = 0, total = 0;

	for (int k = 0; k < r->n_slices; k++) {
		bool in = s->turn.slices & (UINT32_C(1) << k);

		if (k == waiting && !in)
			continue;
		total += r->ms[k];
		own += in ? r->ms[k] : 0;
	}
	return total > 0 ? (double)own / total : 0;
}

static void look_whether_waits(struct levers *lv, struct step *s, int64_t now_ns)
{
	struct turn *t = &s->turn;
	int64_t slice_ns = burst_slice_ns(lv->rotate);

	t->waiting = waits(lv, s, now_ns);
	if (t->waiting)
		burst_wait(&t->burst, now_ns);
	else
		burst_wake(&t->burst, now_ns, t->lent ? slice_ns : slice_ns / 2);
}

void turns_join(struct levers *lv, struct step *s, int64_t now_ns)
{
	struct turn *t = &s->turn;
	int64_t until_ns = s->start_mono_ns + START_MOST_NS;

	t->start_until_ns = now_ns < until_ns ? until_ns : 0;
	t->start_look_ns = now_ns;
	t->busy_looks = 0;
	t->lent = false;
	t->waiting = t->start_until_ns;
	if (t->waiting)
		runnable(lv, s, now_ns); /* from here on */
}

static void look_whether_started(struct levers *lv, struct step *s, int64_t now_ns)
{
	struct turn *t = &s->turn;
	int cores = coreset_count(&s->coreset);
	double threads;

	if (now_ns - t->start_look_ns < START_LOOK_NS && now_ns < t->start_until_ns)
		return;
	threads = runnable(lv, s, now_ns);
	t->start_look_ns = now_ns;
	if (threads >= BUSY_COMPUTES * (s->n_alive < cores ? s->n_alive : cores))
		t->busy_looks++;
	else if (!isnan(threads))
		t->busy_looks = 0;
	if (t->busy_looks < START_LOOKS && now_ns < t->start_until_ns)
		return;
	t->start_until_ns = 0;
	t->waiting = threads < IDLE_WAITS; /* not known: it does not */
	t->burst = (struct burst){.at_ns = now_ns};
	if (t->waiting)
		burst_wait(&t->burst, now_ns);
}

/* Comes and goes, and has not gone for good. */
static bool is_bursty(const struct step *s, int64_t now_ns)
{
	const struct burst *b = &s->turn.burst;

	return b->known && !(b->waiting && now_ns - b->from_ns > CLOSE_UNTIL_NS);
}

/* Those that wait and are looked at often. */
static bool is_close(const struct step *s, int64_t now_ns)
{
	const struct turn *t = &s->turn;

	return is_bursty(s, now_ns) || (t->lent && now_ns - t->burst.from_ns <= CLOSE_UNTIL_NS);
}

/* Of @n threads, this often and no more. */
static int64_t close_ns(int64_t n)
{
	return n * CLOSE_THREAD > CLOSE_LOOK_NS ? n * CLOSE_THREAD : CLOSE_LOOK_NS;
}

bool turns_wake(struct levers *lv, bool some, int64_t now_ns)
{
	bool woke = false;

	for (int i = 0; i < lv->jobs->n; i++) {
		struct step *s = lv->jobs->step[i];

		if (!s->turn.hold || !s->turn.waiting || freezer_is_suspended(s->turn.hold) ||
			(some && !s->turn.start_until_ns && !is_close(s, now_ns)))
			continue;
		if (s->turn.start_until_ns)
			look_whether_started(lv, s, now_ns);
		else
			look_whether_waits(lv, s, now_ns);
		woke |= !s->turn.waiting;
	}
	return woke;
}

int64_t turns_close_look_ns(const struct levers *lv, bool waiting, int64_t now_ns)
{
	const struct rotate *r = lv->rotate;
	int64_t threads = 0;
	bool any = false;

	for (int i = 0; i < lv->jobs->n; i++) {
		const struct step *s = lv->jobs->step[i];
		const struct turn *t = &s->turn;
		bool in = waiting ? t->hold && t->waiting
				  : t->slices & (UINT32_C(1) << r->slice) &&
					    turns_wanted_by(s, now_ns);

		if (in && (waiting ? is_close(s, now_ns) : is_bursty(s, now_ns))) {
			any = true;
			threads += t->list.n;
		} else if (in && !waiting) {
			return 0; /* a slice is looked at as seldom as the one that never waits */
		}
	}
	if (!any)
		return 0;
	return close_ns(threads);
}

bool turns_has_ended(struct levers *lv, struct step *s, int64_t now_ns)
{
	struct turn *t = &s->turn;
	bool changed;

	if (!t->hold || t->waiting || list_threads(lv, s, &changed) < 0 || t->list.n > 0)
		return false;
	t->waiting = true;
	burst_wait(&t->burst, now_ns);
	return true;
}

/* Longer than others, so that one who waits in it would keep them waiting, too. */
static bool is_long(const struct rotate *r)
{
	return r->ms[r->slice] * MS >= 2 * turns_slice_ns(r);
}

/* It goes first: is one thread enough to tell that it runs, or is it too soon for all of them? */
static bool runs_on(struct step *s, int64_t now_ns)
{
	struct turn *t = &s->turn;

	if (!t->util || !t->list.tid)
		return false;
	if (utilization_still_runs(t->util, turn_clock(&s->turn, now_ns), IDLE_WAITS))
		return true;
	if (now_ns - t->look_ns < close_ns(t->list.n))
		return true;
	t->look_ns = now_ns;
	return false;
}

bool turns_slice_waits(struct levers *lv, int64_t now_ns, bool *ret_some)
{
	struct rotate *r = lv->rotate;
	bool lends = r->slice == first_slice(r), all = true;

	*ret_some = false;
	for (int i = 0; i < lv->jobs->n; i++) {
		struct step *s = lv->jobs->step[i];

		if (!(s->turn.slices & (UINT32_C(1) << r->slice)) || !turns_wanted_by(s, now_ns))
			continue;
		if (lends && runs_on(s, now_ns)) {
			all = false;
			continue;
		}
		look_whether_waits(lv, s, now_ns);
		s->turn.lent = lends && s->turn.waiting;
		all &= s->turn.waiting;
		*ret_some |= s->turn.waiting;
	}
	return all;
}

/* How far apart looks at so many threads may be in a long slice. */
static int64_t long_look_ns(const struct rotate *r, int64_t threads)
{
	int64_t ns = turns_slice_ns(r);

	return threads * LOOK_THREAD_NS > ns ? threads * LOOK_THREAD_NS : ns;
}

int64_t turns_first_look(struct levers *lv, int64_t now_ns)
{
	struct rotate *r = lv->rotate;
	int64_t next_ns = turns_close_look_ns(lv, false, now_ns), cost_ns = 0;

	if (!next_ns && !is_long(r) && r->skip[r->slice]-- > 0)
		return 0;
	for (int i = 0; i < lv->jobs->n; i++) {
		struct step *s = lv->jobs->step[i];

		if (!(s->turn.slices & (UINT32_C(1) << r->slice)) || !turns_wanted_by(s, now_ns))
			continue;
		begin_look(lv, s, now_ns);
		cost_ns += s->turn.list.n * LOOK_THREAD_NS;
	}
	if (is_long(r))
		return turns_next_look(lv, now_ns);
	cost_ns /= r->ms[r->slice] * MS;
	r->skip[r->slice] = (int)(cost_ns < LOOK_SLICES ? cost_ns : LOOK_SLICES - 1);
	return next_ns ? now_ns + next_ns : r->start_ns + r->ms[r->slice] * MS / 2;
}

int64_t turns_next_look(const struct levers *lv, int64_t now_ns)
{
	const struct rotate *r = lv->rotate;
	int64_t next_ns = turns_close_look_ns(lv, false, now_ns), threads = 0, steps = 0;

	if (next_ns || !is_long(r))
		return next_ns ? now_ns + next_ns : 0;
	for (int i = 0; i < lv->jobs->n; i++) {
		const struct step *s = lv->jobs->step[i];

		if (!(s->turn.slices & (UINT32_C(1) << r->slice)) || !turns_wanted_by(s, now_ns))
			continue;
		threads += s->turn.list.n;
		steps++;
	}
	return now_ns +
	       (r->slice == first_slice(r) ? steps * FIRST_LOOK_NS : long_look_ns(r, threads));
}

void turns_set_wake(struct levers *lv, int64_t now_ns)
{
	struct rotate *r = lv->rotate;
	int64_t next_ns = turns_close_look_ns(lv, true, now_ns), threads = 0;

	r->wake_ns = next_ns ? now_ns + next_ns : 0;
	for (int i = 0; i < lv->jobs->n; i++) {
		const struct turn *t = &lv->jobs->step[i]->turn;
		int64_t ns = t->start_look_ns + START_LOOK_NS;

		if (!t->hold || !t->start_until_ns)
			continue;
		ns = ns > now_ns ? ns : now_ns + START_LOOK_NS;
		if (!r->wake_ns || ns < r->wake_ns)
			r->wake_ns = ns;
	}
	if (r->slice < 0 || !is_long(r)) {
		r->wake_all_ns = 0;
		return;
	}
	for (int i = 0; i < lv->jobs->n; i++)
		if (lv->jobs->step[i]->turn.hold && lv->jobs->step[i]->turn.waiting)
			threads += lv->jobs->step[i]->turn.list.n;
	if (r->wake_all_ns <= now_ns)
		r->wake_all_ns = now_ns + long_look_ns(r, threads);
	if (!r->wake_ns || r->wake_all_ns < r->wake_ns)
		r->wake_ns = r->wake_all_ns;
}

bool turns_wake_all(const struct rotate *r, int64_t now_ns)
{
	return r->wake_all_ns && now_ns >= r->wake_all_ns;
}

/* ---- bursts -------------------------------------------------------------------------------- */

/* Those before them have no more than their slices then. */
int64_t turns_latest_end(const struct levers *lv, int64_t now_ns)
{
	const struct rotate *r = lv->rotate;
	int64_t latest_ns = INT64_MAX, before_ns = 0;

	for (int k = 1; k < r->n_slices; k++) {
		int slice = (r->slice + k) % r->n_slices;

		for (int i = 0; i < lv->jobs->n; i++) {
			const struct step *s = lv->jobs->step[i];
			int64_t end_ns;

			if (!(s->turn.slices & (UINT32_C(1) << slice)) ||
				!s->turn.frozen_since_ns || !turns_wanted_by(s, now_ns))
				continue;
			end_ns = s->turn.frozen_since_ns + lv->conf->freeze_max_ms * MS / 10 * 9 -
				 before_ns;
			latest_ns = end_ns < latest_ns ? end_ns : latest_ns;
		}
		before_ns += r->ms[slice] * MS;
	}
	return latest_ns;
}

static bool others_wait_in_line(const struct levers *lv, int64_t now_ns)
{
	const struct rotate *r = lv->rotate;

	for (int k = 1; k < r->n_slices; k++)
		if (turns_slice_is_wanted(lv, (r->slice + k) % r->n_slices, now_ns))
			return true;
	return false;
}

bool turns_go_on(struct levers *lv, int64_t now_ns)
{
	struct rotate *r = lv->rotate;
	int64_t slice_ns, more_ns = INT64_MAX, end_ns;
	int waiting;

	if (r->slice < 0 || r->slice >= r->n_slices || r->end_ns != r->due_ns ||
		!others_wait_in_line(lv, now_ns) || !may_go_on(lv, now_ns))
		return false;
	slice_ns = burst_slice_ns(r);
	waiting = waiting_first(lv, now_ns);
	for (int i = 0; i < lv->jobs->n; i++) {
		const struct step *s = lv->jobs->step[i];
		int64_t ns;

		if (!(s->turn.slices & (UINT32_C(1) << r->slice)) || !turns_wanted_by(s, now_ns))
			continue;
		ns = burst_allowance(&s->turn.burst, now_ns, share_of(r, s, waiting),
			now_ns - r->start_ns, slice_ns);
		more_ns = ns < more_ns ? ns : more_ns;
	}
	if (more_ns == INT64_MAX || more_ns == 0)
		return false;
	end_ns = turns_latest_end(lv, now_ns);
	end_ns = end_ns < r->due_ns + more_ns ? end_ns : r->due_ns + more_ns;
	if (end_ns <= now_ns)
		return false;
	r->end_ns = end_ns;
	return true;
}

void turns_settle(struct levers *lv, int64_t now_ns)
{
	const struct rotate *r = lv->rotate;
	int64_t most_ns = CREDIT_SLICES * burst_slice_ns(r);
	int waiting = waiting_first(lv, now_ns);

	for (int i = 0; i < lv->jobs->n; i++) {
		struct step *s = lv->jobs->step[i];
		bool in = r->slice >= 0 && s->turn.slices & (UINT32_C(1) << r->slice);

		if (s->turn.hold)
			burst_account(&s->turn.burst, now_ns, share_of(r, s, waiting),
				in ? now_ns - r->start_ns : 0, most_ns);
	}
}
