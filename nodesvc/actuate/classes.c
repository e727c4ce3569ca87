/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/actuate/actuate.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/schedstat.h"
#include "nodesvc/actuate/internal.h"

/* Where the step's threads are, which may be a cpuset of ours (v1_out.c). */
static int scan_step(struct actuate *a, const struct step_cgroup *s, struct proc_thread **ret,
	int *ret_n, struct errbuf *err)
{
	int rc;

	if (!a->h)
		return err_set(err, -ENOTSUP, "no cgroup hierarchy to act in");
	rc = idle_scan(a, s->step_path, ret, ret_n);
	return rc < 0 ? err_set(err, rc, "%s: cannot list its threads", s->step_path) : 0;
}

static const struct class_thread *find(
	const struct class_thread *v, int n, pid_t tid, uint64_t start_ticks)
{
	for (int i = 0; i < n; i++)
		if (v[i].tid == tid && v[i].start_ticks == start_ticks)
			return &v[i];
	return NULL;
}

static const struct class_thread *find_main(const struct class_thread *v, int n, pid_t pid)
{
	for (int i = 0; i < n; i++)
		if (v[i].tid == pid)
			return &v[i];
	return NULL;
}

/* What a thread that was born idle under us would be: as the main thread of @pid, its process or,
 * if it is the main thread, the process above. */
static int inherited(const struct class_thread *v, int n, const struct class_thread *before,
	int n_before, pid_t pid)
{
	const struct class_thread *main = find_main(v, n, pid);

	if (!main) /* numbers wrap: the one above may come later */
		main = find_main(before, n_before, pid);
	return main && (!main->fixed || main->original == SCHED_IDLE) ? main->original
								      : SCHED_OTHER;
}

int classes_list(struct actuate *a, const struct step_cgroup *s, const struct class_thread *before,
	int n_before, struct class_thread **ret, int *ret_n, struct errbuf *err)
{
	cleanup_free struct proc_thread *t = NULL;
	cleanup_free struct class_thread *v = NULL;
	cleanup_free struct ledger_setting *row = NULL;
	uint64_t inode = 0;
	int n = 0, n_rows = 0, n_threads, rc = scan_step(a, s, &t, &n_threads, err);
	pid_t asked = 0; /* the process that @may_leave is about */
	bool may_leave = false;

	if (rc == 0)
		rc = change_inode(a, s->step_path, &inode, err);
	if (rc < 0)
		return rc;
	v = calloc((size_t)n_threads + 1, sizeof(*v));
	row = calloc((size_t)n_threads + 1, sizeof(*row));
	if (!v || !row)
		return err_set(err, -ENOMEM, "out of memory");
	for (int i = 0; i < n_threads; i++) {
		struct class_thread x = {.tid = t[i].tid, .tgid = t[i].tgid};
		const struct class_thread *old;
		struct proc_stat st;
		int class;

		if (t[i].foreign || proc_stat_read(a->root, x.tgid, x.tid, &st) < 0 ||
			proc_get_mask(x.tid, &x.cpu) < 0)
			continue; /* slurmstepd's, or ended */
		x.start_ticks = st.start_ticks;
		old = find(before, n_before, x.tid, x.start_ticks);
		class = old ? old->original : sched_getscheduler(x.tid);
		if (class < 0)
			continue;
		if (!old && class == SCHED_IDLE && before)
			class = inherited(
				v, n, before, n_before, x.tid == x.tgid ? st.ppid : x.tgid);
		x.original = class;
		if (!old && x.tgid != asked) {
			asked = x.tgid;
			may_leave = idle_may_leave(a, asked);
		}
		/* Real time, and what sets its children's class aside, is somebody's decision. */
		x.fixed = old ? old->fixed
			      : !may_leave || (class != SCHED_OTHER && class != SCHED_BATCH);
		v[n++] = x;
		/* Idle by its own choice: its row tells idle_restore() so. */
		if (!old && (!x.fixed || x.original == SCHED_IDLE))
			idle_row(&row[n_rows++], s->step_path, inode, x.tid, x.start_ticks,
				x.original);
	}
	if (n_rows)
		rc = ledger_setting_add(a->ledger, row, n_rows, err);
	if (rc < 0)
		return rc;
	*ret = take_ptr(v);
	*ret_n = n;
	return 0;
}

int classes_set(const struct class_thread *t, bool low, struct errbuf *err)
{
	const struct sched_param none = {.sched_priority = 0};

	if (t->fixed || sched_setscheduler(t->tid, low ? SCHED_IDLE : t->original, &none) == 0 ||
		errno == ESRCH)
		return 0;
	return err_set(
		err, -errno, "thread %d: its scheduling class: %s", (int)t->tid, strerror(errno));
}

/* How long it ran so far; 0 it cannot be read. */
static uint64_t read_run(const struct actuate *a, const struct class_thread *t, int *fd)
{
	char path[64], text[128];
	cleanup_close int own = -1;
	struct schedstat now;
	int from = fd ? *fd : -1;
	ssize_t n;

	if (from < 0) {
		snprintf(
			path, sizeof(path), "proc/%d/task/%d/schedstat", (int)t->tgid, (int)t->tid);
		from = fsroot_openat(a->root, path, O_RDONLY | O_CLOEXEC);
		if (fd && from >= 0)
			*fd = from;
		else
			own = from; /* NOLINT(clang-analyzer-deadcode.DeadStores): to be closed */
	}
	n = from < 0 ? -1 : pread(from, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	return schedstat_parse(text, &now) ? now.run_ns : 0;
}

bool classes_look(const struct actuate *a, const struct class_thread *t, int *fd, uint64_t *run_ns)
{
	uint64_t run = read_run(a, t, fd), before = *run_ns;
	struct proc_stat st;

	*run_ns = run;
	if (before && run > before)
		return true;
	/* Queued all the time, or not asked before: only its state tells. */
	return proc_stat_read(a->root, t->tgid, t->tid, &st) == 0 && st.state == 'R' &&
	       st.start_ticks == t->start_ticks;
}
