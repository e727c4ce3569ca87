/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * utilization.c - how much of the cores it could use a step wants, from the scheduler's own
 * account of each thread (schedstat). It does not count work: a spinning thread runs.
 *
 * Times of a thread can only grow. Where one went backwards the number has gone to another
 * thread, which is then only remembered; with threads that are no longer listed forgotten at every
 * read, this spares a second file (stat, for the start time) per thread and read.
 */
#include "nodesvc/counters/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

struct thread_time {
	pid_t tid;
	uint64_t run_ns, wait_ns, slices;
	bool idle; /* at the last read: did not run since the one before */
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

void utilization_close(struct utilization *u)
{
	if (!u)
		return;
	free(u->prev);
	free(u);
}

/* For each thread at each reading: scanf() would take longer than the kernel does. */
static bool take_number(char **at, uint64_t *ret)
{
	char *end;

	*ret = strtoull(*at, &end, 10);
	if (end == *at)
		return false;
	*at = end;
	return true;
}

/* 0, -ESRCH the thread is gone, -EPROTO no schedstat line. */
static int read_thread(
	const struct fsroot *root, pid_t tid, struct thread_time *ret, struct errbuf *err)
{
	struct thread_time t = {.tid = tid};
	char path[64], text[128], *at = text;
	ssize_t n;

	snprintf(path, sizeof(path), "proc/%d/schedstat", (int)tid);
	n = fsroot_read_once(root, path, text, sizeof(text));
	if (n == -ENOENT || n == -ESRCH)
		return -ESRCH;
	if (n < 0)
		return err_set(err, (int)n, "%s: %s", path, strerror((int)-n));
	if (!take_number(&at, &t.run_ns) || !take_number(&at, &t.wait_ns) ||
		!take_number(&at, &t.slices))
		return err_set(err, -EPROTO, "%s: '%.40s' is not three numbers", path, text);
	*ret = t;
	return 0;
}

static int compare_tid(const void *a, const void *b)
{
	pid_t x = ((const struct thread_time *)a)->tid, y = ((const struct thread_time *)b)->tid;

	return (x > y) - (x < y);
}

/* Time @now ran or wanted to since @u's last read, ns; < 0: not seen then. *@run_ns: it ran;
 * *@held_ns: its delay, more than the interval where it began before; *@slices: added to. */
static double wanted_ns(const struct utilization *u, const struct thread_time *now, double elapsed,
	double *run_ns, double *held_ns, uint64_t *slices)
{
	const struct thread_time *old;
	double ns;

	if (!u->n_prev)
		return -1.0;
	old = bsearch(now, u->prev, (size_t)u->n_prev, sizeof(*old), compare_tid);
	if (!old || now->run_ns < old->run_ns || now->wait_ns < old->wait_ns ||
		now->slices < old->slices)
		return -1.0;
	*run_ns = (double)(now->run_ns - old->run_ns);
	*held_ns = (double)(now->wait_ns - old->wait_ns);
	*slices += now->slices - old->slices;
	ns = *run_ns + *held_ns;
	/* A delay is booked when it ends, so more than the interval can show at once. */
	return fmin(ns, elapsed);
}

int utilization_read(struct utilization *u, const pid_t *tid, int n_tids, int64_t now_ns, int cores,
	struct signal *ret, double *ret_runnable, struct errbuf *err)
{
	cleanup_free struct thread_time *now = NULL;
	double elapsed = (double)(now_ns - u->prev_ns), sum = 0.0, run = 0.0;
	double longest = 0.0, all_held = 0.0;
	struct thread_time most = {.tid = 0};
	struct signal value = {NAN, PROVENANCE_NONE};
	uint64_t slices = 0;
	int n = 0, n_both = 0;
	bool ran = false; /* some kernels print "0 0 0" for all: that is no account */

	now = calloc((size_t)(n_tids > 0 ? n_tids : 1), sizeof(*now));
	if (!now)
		return err_set(err, -ENOMEM, "utilization: out of memory");
	for (int i = 0; i < n_tids; i++) {
		int rc = read_thread(u->root, tid[i], &now[n], err);

		if (rc == -ESRCH)
			continue;
		if (rc)
			return rc;
		n++;
	}
	qsort(now, (size_t)n, sizeof(*now), compare_tid);
	if (u->started && elapsed > 0)
		for (int i = 0; i < n; i++) {
			double run_ns = 0, held_ns = 0;
			double ns = wanted_ns(u, &now[i], elapsed, &run_ns, &held_ns, &slices);

			if (ns < 0)
				continue;
			now[i].idle = run_ns == 0 && held_ns == 0;
			if (run_ns > longest) {
				longest = run_ns;
				most = now[i];
			}
			all_held += held_ns;
			n_both++;
			sum += ns;
			run += run_ns;
			ran |= now[i].slices > 0;
		}
	if (n_both > 0 && ran && cores > 0) {
		value.value = fmin(sum / (elapsed * (n_both < cores ? n_both : cores)), 1.0);
		value.provenance = PROVENANCE_OS;
	}
	*ret = value;
	u->wanted = value.value;
	u->elapsed_ns = elapsed;
	u->longest_ns = longest;
	u->most = most;
	u->most_ns = now_ns;
	u->held_ns = all_held;
	u->room_ns = elapsed * (n_both < cores ? n_both : cores);
	u->running = value.provenance == PROVENANCE_OS ? run / elapsed : NAN;
	u->ran_s = value.provenance == PROVENANCE_OS ? run / 1e9 : NAN;
	/* One that never left its CPU has run in one piece. */
	u->stretch_s = u->ran_s / (double)(slices > 0 ? slices : 1);
	if (ret_runnable)
		*ret_runnable = value.provenance == PROVENANCE_OS ? sum / elapsed : NAN;
	free(u->prev);
	u->prev = take_ptr(now);
	u->n_prev = n;
	u->prev_ns = now_ns;
	u->started = true;
	return 0;
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
	char path[64], text[512];
	const char *state;
	ssize_t n;

	/* /proc/TID/stat adds up all threads of its process: N of them read N times. */
	snprintf(path, sizeof(path), "proc/%d/task/%d/stat", (int)tid, (int)tid);
	n = fsroot_read_once(root, path, text, sizeof(text));
	if (n < 0)
		return false;
	/* "1234 (any name, also with brackets) R ..." */
	state = strrchr(text, ')');
	return state && state[1] == ' ' && state[2] == 'R';
}

double utilization_at_most(const struct utilization *u)
{
	double pending = 0, undisturbed, coupled;

	if (isnan(u->wanted) || !(u->room_ns > 0))
		return NAN;
	for (int i = 0; i < u->n_prev; i++)
		if (u->prev[i].idle && is_runnable(u->root, u->prev[i].tid))
			pending += u->elapsed_ns;
	/* Running threads did so also while another was held up. */
	undisturbed = fmax(u->elapsed_ns - u->held_ns - pending, u->longest_ns);
	coupled = undisturbed > 0 ? u->ran_s * 1e9 * u->elapsed_ns / (u->room_ns * undisturbed) : 1;
	return fmin(fmax(u->wanted + pending / u->room_ns, coupled), 1.0);
}
