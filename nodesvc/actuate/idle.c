/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/actuate/idle.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "nodesvc/actuate/v1.h"

#define CPU_IDLE   "cpu.idle"
#define SCHED      "sched "     /* "sched TID START" */
#define AUTOGROUP  "autogroup " /* "autogroup PID START" */
#define ROUNDS_MAX 20
/* Threads of one transaction; a step with more takes several. */
#define ROWS_MAX 256
/* Processes above a newborn thread's that are asked for what it inherited. */
#define ABOVE_MAX 16

/* ---- v2 ------------------------------------------------------------------------------------ */

static int read_value(const struct actuate *a, const char *dir, const char *file, char *ret,
	size_t size, struct errbuf *err)
{
	char path[FILE_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	n = fsroot_read(a->root, path, ret, size);
	if (n < 0)
		return err_set(err, n == -ENOENT && fsroot_exists(a->root, dir) ? -ENOTSUP : (int)n,
			"/%s: %s", path, strerror((int)-n));
	ret[strcspn(ret, "\n")] = '\0';
	return 0;
}

static int write_value(const struct actuate *a, const char *dir, const char *file, const char *text,
	struct errbuf *err)
{
	char path[FILE_MAX];
	int rc;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	rc = fsroot_write(a->root, path, text);
	return rc < 0 ? err_set(err, rc, "/%s: %s", path, strerror(-rc)) : 0;
}

static int set_group(struct actuate *a, const struct step_cgroup *s, struct errbuf *err)
{
	struct ledger_setting row = {.what = CPU_IDLE};
	int rc = read_value(a, s->job_path, CPU_IDLE, row.value, sizeof(row.value), err);

	if (rc < 0 || strcmp(row.value, "1") == 0)
		return rc;
	snprintf(row.path, sizeof(row.path), "%s", s->job_path);
	row.inode = (uint64_t)fsroot_inode(a->root, s->job_path);
	rc = ledger_setting_add(a->ledger, &row, 1, err);
	return rc < 0 ? rc : write_value(a, s->job_path, CPU_IDLE, "1", err);
}

/* ---- v1 ------------------------------------------------------------------------------------ */

static bool start_of(const struct actuate *a, pid_t tgid, pid_t tid, uint64_t *ret)
{
	struct proc_stat st;

	if (proc_stat_read(a->root, tgid, tid, &st) < 0)
		return false;
	*ret = st.start_ticks;
	return true;
}

static void add_row(struct ledger_setting *row, const char *path, uint64_t inode, const char *what,
	pid_t tid, uint64_t start, const char *value)
{
	memset(row, 0, sizeof(*row));
	snprintf(row->path, sizeof(row->path), "%s", path);
	snprintf(row->what, sizeof(row->what), "%s%d %llu", what, (int)tid,
		(unsigned long long)start);
	snprintf(row->value, sizeof(row->value), "%s", value);
	row->inode = inode;
}

void idle_row(struct ledger_setting *ret, const char *path, uint64_t inode, pid_t tid,
	uint64_t start_ticks, int policy)
{
	char value[16];

	snprintf(value, sizeof(value), "%d", policy);
	add_row(ret, path, inode, SCHED, tid, start_ticks, value);
}

int idle_scan(struct actuate *a, const char *step_path, struct proc_thread **ret, int *ret_n)
{
	char dir[FILE_MAX];

	if (a->ops == &actuate_cgroup_v2)
		return proc_scan_tree(a->root, step_path, ret, ret_n);
	return v1_out_scan(a->root, v1_out_where(a, step_path, dir, sizeof(dir)) ? dir : step_path,
		NULL, ret, ret_n);
}

/* "/autogroup-11 nice 0"; -ENOTSUP: there is none. */
static int read_autogroup(const struct actuate *a, pid_t pid, int *ret_nice)
{
	char path[64], text[64];
	const char *nice;

	snprintf(path, sizeof(path), "proc/%d/autogroup", (int)pid);
	if (fsroot_read(a->root, path, text, sizeof(text)) <= 0)
		return -ENOTSUP;
	nice = strstr(text, "nice ");
	if (!nice)
		return -ENOTSUP;
	*ret_nice = (int)strtol(nice + 5, NULL, 10);
	return 0;
}

static void write_autogroup(const struct actuate *a, pid_t pid, const char *nice)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/%d/autogroup", (int)pid);
	/* The kernel takes one change in 0.1 s from others than root; what it does not take, the
	 * threads' own policy still does. */
	(void)fsroot_write(a->root, path, nice);
}

struct todo {
	struct ledger_setting row[ROWS_MAX];
	pid_t tid[ROWS_MAX], group[ROWS_MAX];
	int n;
};

/* What is not idle yet, at most a transaction's worth. */
static int find_busy(struct actuate *a, const struct step_cgroup *s, uint64_t inode,
	struct todo *ret, struct errbuf *err)
{
	cleanup_free struct proc_thread *t = NULL;
	int n, rc = idle_scan(a, s->step_path, &t, &n);

	ret->n = 0;
	if (rc < 0)
		return err_set(err, rc, "%s: cannot list its threads", s->step_path);
	for (int i = 0; i < n && ret->n + 1 < ROWS_MAX; i++) {
		int policy = t[i].foreign ? SCHED_IDLE : sched_getscheduler(t[i].tid), nice;
		char value[16]; /* the autogroup's */
		uint64_t start;

		if (policy < 0 || policy == SCHED_IDLE || !start_of(a, t[i].tgid, t[i].tid, &start))
			continue; /* ended, or is so already */
		if (policy != SCHED_OTHER && policy != SCHED_BATCH)
			continue; /* real time is somebody's decision */
		ret->tid[ret->n] = t[i].tid;
		ret->group[ret->n] = 0;
		idle_row(&ret->row[ret->n++], s->step_path, inode, t[i].tid, start, policy);
		if (t[i].tid != t[i].tgid || read_autogroup(a, t[i].tgid, &nice) < 0)
			continue;
		snprintf(value, sizeof(value), "%d", nice);
		ret->tid[ret->n] = 0;
		ret->group[ret->n] = t[i].tgid;
		add_row(&ret->row[ret->n++], s->step_path, inode, AUTOGROUP, t[i].tgid, start,
			value);
	}
	return 0;
}

/*
 * Before the first thread is made idle: those that are so by their own choice. Only their rows tell
 * them from threads that are born idle under us (wake_newborn()).
 */
static int note_own(
	struct actuate *a, const struct step_cgroup *s, uint64_t inode, struct errbuf *err)
{
	cleanup_free struct ledger_setting *row = NULL;
	cleanup_free struct proc_thread *t = NULL;
	int n, n_rows = 0, rc = ledger_settings(a->ledger, s->step_path, SCHED, &row, &n, err);

	for (int i = 0; rc == 0 && i < n; i++)
		if (row[i].inode == inode)
			return 0; /* not the first */
	if (rc < 0)
		return rc;
	rc = idle_scan(a, s->step_path, &t, &n);
	if (rc < 0)
		return err_set(err, rc, "%s: cannot list its threads", s->step_path);
	free(take_ptr(row));
	row = calloc((size_t)n + 1, sizeof(*row));
	if (!row)
		return err_set(err, -ENOMEM, "out of memory");
	for (int i = 0; i < n; i++) {
		uint64_t start;

		if (!t[i].foreign && sched_getscheduler(t[i].tid) == SCHED_IDLE &&
			start_of(a, t[i].tgid, t[i].tid, &start))
			idle_row(&row[n_rows++], s->step_path, inode, t[i].tid, start, SCHED_IDLE);
	}
	return n_rows ? ledger_setting_add(a->ledger, row, n_rows, err) : 0;
}

static int set_threads(struct actuate *a, const struct step_cgroup *s, struct errbuf *err)
{
	static struct todo todo; /* one thread changes */
	const struct sched_param none = {.sched_priority = 0};
	uint64_t inode = (uint64_t)fsroot_inode(a->root, s->step_path);

	for (int round = 0; round < ROUNDS_MAX; round++) {
		int rc = find_busy(a, s, inode, &todo, err);

		if (rc < 0 || todo.n == 0)
			return rc;
		if (round == 0)
			rc = note_own(a, s, inode, err);
		if (rc == 0)
			rc = ledger_setting_add(a->ledger, todo.row, todo.n, err);
		if (rc < 0)
			return rc;
		for (int i = 0; i < todo.n; i++) {
			if (todo.group[i])
				write_autogroup(a, todo.group[i], "19");
			else if (sched_setscheduler(todo.tid[i], SCHED_IDLE, &none) < 0 &&
				 errno != ESRCH)
				return err_set(err, -errno, "thread %d: SCHED_IDLE: %s",
					(int)todo.tid[i], strerror(errno));
		}
	}
	return err_set(err, -EAGAIN, "%s: its threads do not settle", s->step_path);
}

static const struct ledger_setting *find_row(
	const struct ledger_setting *row, int n, pid_t tid, uint64_t start_ticks)
{
	char what[48];

	snprintf(what, sizeof(what), SCHED "%d %llu", (int)tid, (unsigned long long)start_ticks);
	for (int i = 0; i < n; i++)
		if (strcmp(row[i].what, what) == 0)
			return &row[i];
	return NULL;
}

/* What a thread without a row inherited: as its process or the next above that has one. */
static int inherited(const struct actuate *a, const struct ledger_setting *row, int n, pid_t pid)
{
	struct proc_stat st;

	for (int i = 0; i < ABOVE_MAX && pid > 1 && proc_stat_read(a->root, pid, pid, &st) == 0;
		i++) {
		const struct ledger_setting *r = find_row(row, n, pid, st.start_ticks);

		if (r)
			return atoi(r->value);
		pid = st.ppid;
	}
	return SCHED_OTHER;
}

/* Threads born while the step was idle have no row. */
static void wake_newborn(
	struct actuate *a, const char *path, const struct ledger_setting *row, int n)
{
	cleanup_free struct proc_thread *t = NULL;
	const struct sched_param none = {.sched_priority = 0};
	int n_threads;

	if (n == 0 || idle_scan(a, path, &t, &n_threads) < 0)
		return;
	for (int i = 0; i < n_threads; i++) {
		uint64_t start;
		int policy;

		if (t[i].foreign || sched_getscheduler(t[i].tid) != SCHED_IDLE ||
			!start_of(a, t[i].tgid, t[i].tid, &start) ||
			find_row(row, n, t[i].tid, start))
			continue;
		policy = inherited(a, row, n, t[i].tgid);
		if (policy != SCHED_IDLE)
			sched_setscheduler(t[i].tid, policy, &none);
	}
}

static void wake_thread(struct actuate *a, const struct ledger_setting *row)
{
	const struct sched_param none = {.sched_priority = 0};
	bool group = strncmp(row->what, AUTOGROUP, strlen(AUTOGROUP)) == 0;
	unsigned long long start;
	uint64_t now;
	int tid;

	if (sscanf(row->what + (group ? strlen(AUTOGROUP) : strlen(SCHED)), "%d %llu", &tid,
		    &start) != 2 ||
		!start_of(a, tid, tid, &now) || now != start)
		return; /* ended: the number may be another's */
	if (group)
		write_autogroup(a, tid, row->value);
	else if (atoi(row->value) != SCHED_IDLE) /* its own choice: we changed nothing */
		sched_setscheduler(tid, atoi(row->value), &none);
}

/* ---- both ---------------------------------------------------------------------------------- */

int idle_set(struct actuate *a, const struct step_cgroup *s, struct errbuf *err)
{
	if (a->ops == &actuate_cgroup_v2)
		return set_group(a, s, err);
	if (a->ops == &actuate_cgroup_v1)
		return set_threads(a, s, err);
	return err_set(err, -ENOTSUP, "no cgroup hierarchy to act in");
}

static int restore_path(struct actuate *a, const char *path, struct errbuf *err)
{
	static const char *const kinds[] = {CPU_IDLE, SCHED, AUTOGROUP};
	int rc = 0;

	for (size_t k = 0; rc == 0 && k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		cleanup_free struct ledger_setting *row = NULL;
		int n;

		rc = ledger_settings(a->ledger, path, kinds[k], &row, &n, err);
		for (int i = 0; rc == 0 && i < n; i++) {
			bool same = (uint64_t)fsroot_inode(a->root, path) == row[i].inode;

			if (k == 0 && same)
				rc = write_value(a, path, CPU_IDLE, row[i].value, err);
			else if (k != 0)
				wake_thread(a, &row[i]);
		}
		if (rc == 0 && kinds[k][0] == SCHED[0] && n > 0)
			wake_newborn(a, path, row, n);
		if (rc == 0 && n > 0)
			rc = ledger_setting_forget(a->ledger, path, kinds[k], err);
	}
	return rc;
}

int idle_restore(struct actuate *a, const struct step_cgroup *s, struct errbuf *err)
{
	int rc = restore_path(a, s->step_path, err);

	return rc == 0 && s->job_path[0] ? restore_path(a, s->job_path, err) : rc;
}

int idle_restore_all(struct actuate *a, struct errbuf *err)
{
	static const char *const kinds[] = {CPU_IDLE, SCHED, AUTOGROUP};
	int done = 0;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		cleanup_free struct ledger_setting *row = NULL;
		int n, rc = ledger_settings(a->ledger, NULL, kinds[k], &row, &n, err);

		for (int i = 0; rc == 0 && i < n; i++) {
			/* Rows come by path: each once. */
			if (i > 0 && strcmp(row[i].path, row[i - 1].path) == 0)
				continue;
			rc = restore_path(a, row[i].path, err);
			done += rc == 0;
		}
		if (rc < 0)
			return rc;
	}
	return done;
}
