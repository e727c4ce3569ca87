/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watch.c - which steps are held, and inotify on their and their jobs' cpuset.cpus.
 *
 * IN_MODIFY comes for each write(2) to a cgroup file, v1 and v2 alike, also for our own and for
 * one that changes nothing; so values are compared. Removing the directory gives no event.
 */
#include "nodesvc/actuate/internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "common/cleanup.h"

/* The file is opened below the fsroot and named by its descriptor. */
static int add_watch(struct actuate *a, const char *dir)
{
	char path[FILE_MAX];
	cleanup_close int fd = -1;

	if (a->watch_fd < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/cpuset.cpus", dir);
	fd = fsroot_openat(a->root, path, O_PATH);
	if (fd < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return inotify_add_watch(a->watch_fd, path, IN_MODIFY);
}

void watch_open(struct actuate *a)
{
	a->watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
}

static struct held *find(struct actuate *a, const char *step_path)
{
	for (int i = 0; i < a->n_held; i++)
		if (strcmp(a->held[i].step.step_path, step_path) == 0)
			return &a->held[i];
	return NULL;
}

void watch_hold(struct actuate *a, const struct step_cgroup *s, const char *dir,
	const struct coreset *set, const struct coreset *job_set)
{
	struct held *h = find(a, s->step_path);

	if (h && (h->step.step_inode != s->step_inode || strcmp(h->dir, dir) != 0)) {
		watch_drop(a, s->step_path);
		h = NULL;
	}
	if (!h) {
		h = realloc(a->held, (size_t)(a->n_held + 1) * sizeof(*h));
		if (!h)
			return;
		a->held = h;
		h += a->n_held++;
		h->step = *s;
		snprintf(h->dir, sizeof(h->dir), "%s", dir);
		h->wd_step = add_watch(a, dir);
		h->wd_job = add_watch(a, s->job_path);
	}
	h->set = *set;
	h->job_set = *job_set;
}

/* A step's job file is watched once for all of the job's steps. */
static bool is_watched_by_other(const struct actuate *a, const struct held *h)
{
	for (int i = 0; i < a->n_held; i++)
		if (&a->held[i] != h && a->held[i].wd_job == h->wd_job)
			return true;
	return false;
}

const struct coreset *watch_next_tried(const struct actuate *a, const char *step_path, int *at)
{
	while (*at < TRIED_MAX) {
		const struct tried *t = &a->tried[(*at)++];

		if (strcmp(t->step_path, step_path) == 0)
			return &t->set;
	}
	return NULL;
}

void watch_tried(struct actuate *a, const char *step_path, const struct coreset *set)
{
	const struct coreset *known;
	struct tried *t;

	for (int at = 0; (known = watch_next_tried(a, step_path, &at));)
		if (coreset_is_equal(known, set))
			return;
	t = &a->tried[a->next_tried];
	a->next_tried = (a->next_tried + 1) % TRIED_MAX;
	snprintf(t->step_path, sizeof(t->step_path), "%s", step_path);
	t->set = *set;
}

void watch_drop(struct actuate *a, const char *step_path)
{
	struct held *h = find(a, step_path);

	for (int i = 0; i < TRIED_MAX; i++)
		if (strcmp(a->tried[i].step_path, step_path) == 0)
			a->tried[i].step_path[0] = '\0';
	if (!h)
		return;
	if (h->wd_step >= 0)
		inotify_rm_watch(a->watch_fd, h->wd_step);
	if (h->wd_job >= 0 && !is_watched_by_other(a, h))
		inotify_rm_watch(a->watch_fd, h->wd_job);
	*h = a->held[--a->n_held];
}

bool watch_last(const struct actuate *a, const char *step_path, struct coreset *ret)
{
	for (int i = 0; i < a->n_held; i++)
		if (strcmp(a->held[i].step.step_path, step_path) == 0) {
			*ret = a->held[i].set;
			return true;
		}
	return false;
}

void watch_job(struct actuate *a, const char *job_path, const struct coreset *set)
{
	for (int i = 0; i < a->n_held; i++)
		if (strcmp(a->held[i].step.job_path, job_path) == 0)
			a->held[i].job_set = *set;
}

void watch_close(struct actuate *a)
{
	if (a->watch_fd >= 0)
		close(a->watch_fd);
	a->watch_fd = -1;
	free(a->held);
	a->held = NULL;
	a->n_held = 0;
}

int actuate_watch_fd(const struct actuate *a)
{
	return a->watch_fd;
}

/* Has somebody else changed what matters to @h? Takes note of the job's new value. */
static bool is_changed(struct actuate *a, struct held *h)
{
	struct coreset now;
	bool changed = false;

	if (cpus_read(a->root, h->dir, &now, NULL) < 0)
		return false; /* ended: step_end will say so */
	changed = !coreset_is_equal(&now, &h->set);
	if (cpus_read(a->root, h->step.job_path, &now, NULL) == 0 &&
		!coreset_is_equal(&now, &h->job_set)) {
		h->job_set = now;
		changed = true;
	}
	return changed;
}

int actuate_watch_read(struct actuate *a, void (*fn)(const char *step_path, void *arg), void *arg)
{
	char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	cleanup_free bool *hit = NULL;
	cleanup_free char(*path)[sizeof(a->held->step.step_path)] = NULL;
	int n = 0;
	ssize_t len;

	if (a->watch_fd < 0)
		return 0;
	hit = calloc((size_t)a->n_held + 1, sizeof(*hit));
	path = calloc((size_t)a->n_held + 1, sizeof(*path));
	if (!hit || !path)
		return 0; /* verify() will find it */
	while ((len = read(a->watch_fd, buf, sizeof(buf))) > 0) {
		const struct inotify_event *e;

		for (char *p = buf; p < buf + len; p += sizeof(*e) + e->len) {
			e = (const struct inotify_event *)p;
			for (int i = 0; i < a->n_held; i++)
				hit[i] |= (e->mask & IN_Q_OVERFLOW) ||
					  ((e->mask & IN_MODIFY) &&
						  (e->wd == a->held[i].wd_step ||
							  e->wd == a->held[i].wd_job));
		}
	}
	for (int i = 0; i < a->n_held; i++)
		if (hit[i] && is_changed(a, &a->held[i]))
			memcpy(path[n++], a->held[i].step.step_path, sizeof(path[0]));
	/* @fn may change the table. */
	for (int i = 0; i < n; i++)
		fn(path[i], arg);
	return n;
}
