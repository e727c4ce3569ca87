/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * utilization.c - how much of the cores it could use a step wants, from the scheduler's own
 * account of each thread (schedstat). It does not count work: a spinning thread runs.
 *
 * Times of a thread can only grow. Where one went backwards the number has gone to another
 * thread, which is then only remembered; with threads that are no longer listed forgotten at every
 * read, this spares a second file (stat, for the start time) per thread and read.
 *
 * How many threads there are its user chooses. Where a reading's budget does not reach, it goes on
 * with the next: those that run in turn, and those that do not, each with half of it. What was not
 * read counts as it did when it was.
 */
#include "nodesvc/counters/counters.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/schedstat.h"

/* Idle threads that are asked whether they wait for a core. */
#define ASK_MAX 64
/* A thread that wanted to run for less of its time does no work: timers, collectors of garbage. */
#define WORKS 0.05

struct thread_time {
	pid_t tid;
	uint64_t run_ns, wait_ns, slices;
	int64_t at_ns; /* when it was read; 0 never */
	bool fresh;    /* at the last reading */
	/* Of the time between its last two: */
	bool has_rate, idle;        /* idle: neither ran nor wanted to */
	double ran, held, switched; /* running, delayed; switches a nanosecond */
	int64_t first_ns;           /* first reading; and what it had run and been delayed then */
	uint64_t first_wanted_ns;
};

struct utilization {
	const struct fsroot *root;
	struct thread_time *prev; /* ascending tid */
	int n_prev;
	int64_t prev_ns;
	bool started;
	double running;   /* cores run on at the last read; NAN unknown */
	double ran_s;     /* cpu time between the last two reads; NAN unknown */
	double wanted;    /* the last value; NAN unknown */
	double stretch_s; /* cpu time per time it was given a CPU; NAN unknown */
	/* Between the last two reads, ns: time, cpu time of the thread that had most, delays of all
	 * (those that ended), and cores times elapsed. */
	double elapsed_ns, longest_ns, held_ns, room_ns;
	struct utilization_span span; /* of them */
	bool has_span;
	pid_t next_active, next_idle; /* a reading goes on after these */
	bool idle_first;
	int n_unread; /* at the last reading: of earlier ones */
	int64_t oldest_ns;
	struct thread_time most; /* that thread, as it was last looked at; tid 0 none */
	int64_t most_ns;
};

int utilization_open(struct utilization **ret, const struct fsroot *root, struct errbuf *err)
{
	struct utilization *u = calloc(1, sizeof(*u));

	if (!u)
		return err_set(err, -ENOMEM, "utilization: out of memory");
	u->root = root;
	u->running = u->ran_s = u->wanted = u->stretch_s = NAN;
	*ret = u;
	return 0;
}

double utilization_running(const struct utilization *u)
{
	return u->running;
}

double utilization_ran_s(const struct utilization *u)
{
	return u->ran_s;
}

double utilization_stretch_s(const struct utilization *u)
{
	return u->stretch_s;
}

bool utilization_span(const struct utilization *u, struct utilization_span *ret)
{
	*ret = u->span;
	return u->has_span;
}

void utilization_close(struct utilization *u)
{
	if (!u)
		return;
	free(u->prev);
	free(u);
}

/* 0, -ESRCH the thread is gone, -EPROTO no schedstat line. */
static int read_thread(
	const struct fsroot *root, pid_t tid, struct thread_time *ret, struct errbuf *err)
{
	struct thread_time t = {.tid = tid};
	char path[64], text[128];
	struct schedstat now;
	ssize_t n;

	snprintf(path, sizeof(path), "proc/%d/schedstat", (int)tid);
	n = fsroot_read_once(root, path, text, sizeof(text));
	if (n == -ENOENT || n == -ESRCH)
		return -ESRCH;
	if (n < 0)
		return err_set(err, (int)n, "%s: %s", path, strerror((int)-n));
	if (!schedstat_parse(text, &now))
		return err_set(err, -EPROTO, "%s: '%.40s' is not three numbers", path, text);
	t.run_ns = now.run_ns;
	t.wait_ns = now.wait_ns;
	t.slices = now.slices;
	*ret = t;
	return 0;
}

static int compare_tid(const void *a, const void *b)
{
	pid_t x = ((const struct thread_time *)a)->tid, y = ((const struct thread_time *)b)->tid;

	return (x > y) - (x < y);
}

/* The threads @tid, in ascending order, with what is known of them. NULL out of memory. */
static struct thread_time *carry_over(
	const struct utilization *u, const pid_t *tid, int n_tids, int *ret_n)
{
	struct thread_time *now = calloc((size_t)n_tids + 1, sizeof(*now));
	bool ascending = true;
	int n = 0, old = 0;

	if (!now)
		return NULL;
	for (int i = 0; i < n_tids; i++) {
		now[i].tid = tid[i];
		ascending &= i == 0 || tid[i - 1] < tid[i];
	}
	if (!ascending)
		qsort(now, (size_t)n_tids, sizeof(*now), compare_tid);
	for (int i = 0; i < n_tids; i++) {
		pid_t t = now[i].tid;

		if (n && now[n - 1].tid == t)
			continue;
		while (old < u->n_prev && u->prev[old].tid < t)
			old++;
		now[n] = old < u->n_prev && u->prev[old].tid == t ? u->prev[old]
								  : (struct thread_time){.tid = t};
		now[n++].fresh = false;
	}
	*ret_n = n;
	return now;
}

/* Takes a new reading of @t; what it ran since the one before, if there is one. */
static void take_reading(struct thread_time *t, const struct thread_time *now, int64_t now_ns)
{
	const struct thread_time old = *t;
	double elapsed = (double)(now_ns - old.at_ns);

	*t = *now;
	t->at_ns = now_ns;
	t->fresh = true;
	t->first_ns = now_ns;
	t->first_wanted_ns = now->run_ns + now->wait_ns;
	if (!old.at_ns || !(elapsed > 0) || now->run_ns < old.run_ns ||
		now->wait_ns < old.wait_ns || now->slices < old.slices)
		return;
	t->first_ns = old.first_ns;
	t->first_wanted_ns = old.first_wanted_ns;
	t->has_rate = true;
	t->ran = (double)(now->run_ns - old.run_ns) / elapsed;
	t->held = (double)(now->wait_ns - old.wait_ns) / elapsed;
	t->switched = (double)(now->slices - old.slices) / elapsed;
	t->idle = now->run_ns == old.run_ns && now->wait_ns == old.wait_ns;
}

static bool works(const struct thread_time *t)
{
	double wanted = (double)(t->run_ns + t->wait_ns - t->first_wanted_ns);

	return wanted >= WORKS * (double)(t->at_ns - t->first_ns);
}

struct reader {
	struct utilization *u;
	struct thread_time *v;
	int n;
	int64_t now_ns;
	struct budget *budget;
	struct errbuf *err;
};

/* Reads those that ran when they were looked at last, or the others, from the one after *@next on,
 * at most @most of them. One that has gone has tid 0 then. */
static int read_some(struct reader *r, bool active, int most, pid_t *next)
{
	int first = 0, n = 0;

	while (first < r->n && r->v[first].tid <= *next)
		first++;
	for (int k = 0; k < r->n && n < most; k++) {
		struct thread_time *t = &r->v[(first + k) % r->n], now;
		pid_t tid = t->tid;
		int rc;

		if (!tid || t->fresh || active != (t->has_rate && !t->idle))
			continue;
		if (!budget_take(r->budget))
			return 0;
		n++;
		*next = tid;
		rc = read_thread(r->u->root, tid, &now, r->err);
		if (rc == -ESRCH)
			t->tid = 0;
		else if (rc < 0)
			return rc;
		else
			take_reading(t, &now, r->now_ns);
	}
	return 0;
}

/* All of them; where the budget does not reach, half of its number for each kind, and where time
 * does not, each kind first in turn. */
static int read_all(struct reader *r)
{
	struct utilization *u = r->u;
	int half = r->budget && r->budget->left < r->n ? r->budget->left / 2 : INT_MAX;
	int rc = 0;

	for (int pass = 0; rc == 0 && pass < 3; pass++) {
		bool active = (pass % 2 == 0) != u->idle_first;

		rc = read_some(r, active, pass == 0 ? half : INT_MAX,
			active ? &u->next_active : &u->next_idle);
	}
	u->idle_first = r->budget && r->budget->is_short && !u->idle_first;
	return rc;
}

static int drop_gone(struct thread_time *v, int n)
{
	int kept = 0;

	for (int i = 0; i < n; i++)
		if (v[i].tid)
			v[kept++] = v[i];
	return kept;
}

int utilization_read(struct utilization *u, const pid_t *tid, int n_tids, int64_t now_ns, int cores,
	struct budget *budget, struct signal *ret, double *ret_runnable, struct errbuf *err)
{
	double elapsed = (double)(now_ns - u->prev_ns), sum = 0.0, run = 0.0;
	double longest = 0.0, all_held = 0.0, slices = 0.0;
	struct thread_time most = {.tid = 0};
	struct utilization_span span = {0};
	struct signal value = {NAN, PROVENANCE_NONE};
	int n = 0, n_both = 0, rc;
	cleanup_free struct thread_time *now = carry_over(u, tid, n_tids, &n);
	struct reader r = {u, now, n, now_ns, budget, err};
	bool ran = false; /* some kernels print "0 0 0" for all: that is no account */

	if (!now)
		return err_set(err, -ENOMEM, "utilization: out of memory");
	rc = read_all(&r);
	if (rc < 0)
		return rc;
	n = drop_gone(now, n);
	u->n_unread = 0;
	u->oldest_ns = now_ns;
	for (int i = 0; i < n; i++) {
		const struct thread_time *t = &now[i];

		if (!t->fresh) {
			u->n_unread++;
			if (t->at_ns && t->at_ns < u->oldest_ns)
				u->oldest_ns = t->at_ns;
		}
		if (!u->started || !(elapsed > 0) || !t->has_rate)
			continue;
		if (t->ran > longest) {
			longest = t->ran;
			most = *t;
		}
		all_held += t->held * elapsed;
		span.most_ran_s = fmax(span.most_ran_s, t->ran * elapsed / 1e9);
		span.most_wanted_s =
			fmax(span.most_wanted_s, fmin(t->ran + t->held, 1.0) * elapsed / 1e9);
		span.works += works(t);
		n_both++;
		/* A delay is booked when it ends, so more than the interval can show at once. */
		sum += fmin(t->ran + t->held, 1.0) * elapsed;
		run += t->ran * elapsed;
		slices += t->switched * elapsed;
		ran |= t->slices > 0;
	}
	if (n_both > 0 && ran && cores > 0) {
		value.value = fmin(sum / (elapsed * (n_both < cores ? n_both : cores)), 1.0);
		value.provenance = PROVENANCE_OS;
	}
	*ret = value;
	u->wanted = value.value;
	u->elapsed_ns = elapsed;
	u->longest_ns = longest * elapsed;
	u->most = most;
	u->most_ns = most.tid ? most.at_ns : now_ns;
	u->held_ns = all_held;
	u->room_ns = elapsed * (n_both < cores ? n_both : cores);
	u->running = value.provenance == PROVENANCE_OS ? run / elapsed : NAN;
	u->ran_s = value.provenance == PROVENANCE_OS ? run / 1e9 : NAN;
	span.ran_s = run / 1e9;
	span.held_s = all_held / 1e9;
	u->span = span;
	u->has_span = value.provenance == PROVENANCE_OS && 2 * n_both > n;
	/* One that never left its CPU has run in one piece. */
	u->stretch_s = u->ran_s / fmax(slices, 1.0);
	if (ret_runnable)
		*ret_runnable = value.provenance == PROVENANCE_OS ? sum / elapsed : NAN;
	free(u->prev);
	u->prev = take_ptr(now);
	u->n_prev = n;
	u->prev_ns = now_ns;
	u->started = true;
	return 0;
}

int utilization_unread(const struct utilization *u, int64_t *ret_ns)
{
	*ret_ns = u->n_unread ? u->prev_ns - u->oldest_ns : 0;
	return u->n_unread;
}

bool utilization_still_runs(struct utilization *u, int64_t now_ns, double share)
{
	struct thread_time now;
	double elapsed = (double)(now_ns - u->most_ns);
	bool runs;

	if (!u->most.tid || !(elapsed > 0) || read_thread(u->root, u->most.tid, &now, NULL) < 0)
		return false;
	runs = now.run_ns > u->most.run_ns &&
	       (double)(now.run_ns - u->most.run_ns) >= share * elapsed;
	u->most = now;
	u->most_ns = now_ns;
	return runs;
}

/* Does it run, or wait for a core? */
static bool is_runnable(const struct fsroot *root, pid_t tid)
{
	char text[512];
	const char *state = fsroot_task_stat(root, tid, text, sizeof(text));

	return state && *state == 'R';
}

double utilization_at_most(const struct utilization *u)
{
	double pending = 0, undisturbed, coupled;
	int asked = 0, idle = 0;

	if (isnan(u->wanted) || !(u->room_ns > 0))
		return NAN;
	for (int i = 0; i < u->n_prev; i++) {
		if (!u->prev[i].idle)
			continue;
		idle++;
		if (asked == ASK_MAX)
			continue;
		asked++;
		if (is_runnable(u->root, u->prev[i].tid))
			pending += u->elapsed_ns;
	}
	/* The others as those that were asked. */
	if (asked)
		pending *= (double)idle / asked;
	/* Running threads did so also while another was held up. */
	undisturbed = fmax(u->elapsed_ns - u->held_ns - pending, u->longest_ns);
	coupled = undisturbed > 0 ? u->ran_s * 1e9 * u->elapsed_ns / (u->room_ns * undisturbed) : 1;
	return fmin(fmax(u->wanted + pending / u->room_ns, coupled), 1.0);
}
