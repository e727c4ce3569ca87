/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/actuate/actuate.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/schedstat.h"
#include "nodesvc/actuate/internal.h"

#define CPU_IDLE   LEDGER_WHAT_CPU_IDLE
#define SCHED      LEDGER_WHAT_SCHED     /* "sched TID START" */
#define AUTOGROUP  LEDGER_WHAT_AUTOGROUP /* "autogroup PID START" */
#define ROUNDS_MAX 20
/* Threads of one transaction; a step with more takes several. */
#define ROWS_MAX 256
/* Looks of idle_restore_all() at what a fork that began before the first has left. */
#define LOOKS_MAX 50
#define LOOK_NS   20000000
/* So much of a processor ends any fork but one of some GB. */
#define FORK_NS UINT64_C(20000000)
/* Processes above a newborn thread's that are asked for what it inherited. */
#define ABOVE_MAX 16

/* ---- the job's group
 * ------------------------------------------------------------------------------------ */

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

int idle_set_group(struct actuate *a, const struct step_cgroup *s, struct errbuf *err)
{
	struct ledger_setting row = {.what = CPU_IDLE};
	int rc = read_value(a, s->job_path, CPU_IDLE, row.value, sizeof(row.value), err);

	if (rc < 0 || strcmp(row.value, "1") == 0)
		return rc;
	snprintf(row.path, sizeof(row.path), "%s", s->job_path);
	rc = change_inode(a, s->job_path, &row.inode, err);
	if (rc == 0)
		rc = ledger_setting_add(a->ledger, &row, 1, err);
	return rc < 0 ? rc : write_value(a, s->job_path, CPU_IDLE, "1", err);
}

/* ---- each thread
 * ------------------------------------------------------------------------------------ */

/* -ESRCH: it has ended; any other error says nothing of it. */
static int start_of(const struct actuate *a, pid_t tgid, pid_t tid, uint64_t *ret)
{
	struct proc_stat st;
	int rc = proc_stat_read(a->root, tgid, tid, &st);

	if (rc == 0)
		*ret = st.start_ticks;
	return rc;
}

static int unreadable(pid_t tid, int rc, struct errbuf *err)
{
	return err_set(err, rc, "thread %d: cannot be looked at: %s", (int)tid, strerror(-rc));
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

	change_where(a->h, a, step_path, dir, sizeof(dir));
	return a->h->scan(a->root, dir, NULL, ret, ret_n);
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

static int write_autogroup(const struct actuate *a, pid_t pid, const char *nice)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/%d/autogroup", (int)pid);
	return fsroot_write(a->root, path, nice);
}

struct todo {
	struct ledger_setting row[ROWS_MAX];
	pid_t tid[ROWS_MAX], group[ROWS_MAX];
	int n;
};

/* Room for /proc/PID/limits and status. */
#define PROC_TEXT_MAX 4096
/* RLIMIT_NICE counts from nice 20 down. */
#define NICE_0_LIMIT 20
#define CAP_SYS_NICE 23

/* What follows @name in /proc/PID/@file, as a number; -1: not to be had, so nothing is granted. */
static long long proc_number(
	const struct actuate *a, pid_t pid, const char *file, const char *name, int base)
{
	char path[64], text[PROC_TEXT_MAX];
	const char *at;

	snprintf(path, sizeof(path), "proc/%d/%s", (int)pid, file);
	if (fsroot_read(a->root, path, text, sizeof(text)) <= 0)
		return -1;
	at = strstr(text, name);
	return at ? strtoll(at + strlen(name), NULL, base) : -1;
}

bool idle_may_leave(const struct actuate *a, pid_t pid)
{
	long long caps;

	if (proc_number(a, pid, "limits", "\nMax nice priority", 10) >= NICE_0_LIMIT)
		return true;
	caps = proc_number(a, pid, "status", "\nCapEff:", 16);
	return caps >= 0 && (caps >> CAP_SYS_NICE & 1);
}

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
		uint64_t start = 0;

		if (policy < 0 || policy == SCHED_IDLE ||
			start_of(a, t[i].tgid, t[i].tid, &start) < 0)
			continue; /* ended, or is so already */
		if (policy != SCHED_OTHER && policy != SCHED_BATCH)
			continue; /* real time is somebody's decision */
		if (t[i].tid == t[i].tgid && !idle_may_leave(a, t[i].tgid) &&
			start_of(a, t[i].tgid, t[i].tgid, &start) == 0)
			return err_set(err, -EACCES,
				"process %d could not leave SCHED_IDLE by itself (RLIMIT_NICE)",
				(int)t[i].tgid);
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
		uint64_t start = 0;

		if (!t[i].foreign && sched_getscheduler(t[i].tid) == SCHED_IDLE &&
			start_of(a, t[i].tgid, t[i].tid, &start) == 0)
			idle_row(&row[n_rows++], s->step_path, inode, t[i].tid, start, SCHED_IDLE);
	}
	return n_rows ? ledger_setting_add(a->ledger, row, n_rows, err) : 0;
}

int idle_set_threads(struct actuate *a, const struct step_cgroup *s, struct errbuf *err)
{
	static struct todo todo; /* one thread changes */
	const struct sched_param none = {.sched_priority = 0};
	uint64_t inode;
	int rc = change_inode(a, s->step_path, &inode, err);

	for (int round = 0; rc == 0 && round < ROUNDS_MAX; round++) {
		rc = find_busy(a, s, inode, &todo, err);
		if (rc < 0 || todo.n == 0)
			return rc;
		if (round == 0)
			rc = note_own(a, s, inode, err);
		if (rc == 0)
			rc = ledger_setting_add(a->ledger, todo.row, todo.n, err);
		if (rc < 0)
			return rc;
		for (int i = 0; i < todo.n; i++) {
			/* The kernel takes one change in 0.1 s from others than root; what it does
			 * not take, the threads' own policy still does. */
			if (todo.group[i])
				(void)write_autogroup(a, todo.group[i], "19");
			else if (sched_setscheduler(todo.tid[i], SCHED_IDLE, &none) < 0 &&
				 errno != ESRCH)
				return err_set(err, -errno, "thread %d: SCHED_IDLE: %s",
					(int)todo.tid[i], strerror(errno));
		}
	}
	return rc < 0 ? rc : err_set(err, -EAGAIN, "%s: its threads do not settle", s->step_path);
}

static int compare_rows(const void *a, const void *b)
{
	return strcmp(
		((const struct ledger_setting *)a)->what, ((const struct ledger_setting *)b)->what);
}

/* @row is sorted by what it says. */
static const struct ledger_setting *find_row(
	const struct ledger_setting *row, int n, pid_t tid, uint64_t start_ticks)
{
	struct ledger_setting key = {.inode = 0};

	snprintf(key.what, sizeof(key.what), SCHED "%d %llu", (int)tid,
		(unsigned long long)start_ticks);
	return n ? bsearch(&key, row, (size_t)n, sizeof(*row), compare_rows) : NULL;
}

/* What a thread without a row inherited: as its process or the next above that has one. <0: that
 * cannot be read. */
static int inherited(const struct actuate *a, const struct ledger_setting *row, int n, pid_t pid)
{
	for (int i = 0; i < ABOVE_MAX && pid > 1; i++) {
		const struct ledger_setting *r;
		struct proc_stat st;
		int rc = proc_stat_read(a->root, pid, pid, &st);

		if (rc < 0)
			return rc == -ESRCH ? SCHED_OTHER : rc;
		r = find_row(row, n, pid, st.start_ticks);
		if (r)
			return atoi(r->value);
		pid = st.ppid;
	}
	return SCHED_OTHER;
}

/* What thread @tid of process @tgid is to be; <0: it has ended (-ESRCH), or cannot be read. */
static int wanted(
	const struct actuate *a, const struct ledger_setting *row, int n, pid_t tgid, pid_t tid)
{
	const struct ledger_setting *own;
	uint64_t start = 0;
	int rc = start_of(a, tgid, tid, &start);

	if (rc < 0)
		return rc;
	own = find_row(row, n, tid, start);
	return own ? atoi(own->value) : inherited(a, row, n, tgid);
}

/*
 * A thread that was idle, and runnable, when it was woken: it may have stood in the middle of a
 * fork, whose child has its class of when that began and is to be seen when it is over. On a busy
 * node that is as long as it has to wait for its turn.
 */
struct woken {
	pid_t tid, tgid;
	uint64_t start_ticks, run_ns;
};

/* False: it is gone, or asleep, which nobody is in a fork. */
static bool is_runnable(const struct actuate *a, pid_t tgid, pid_t tid, struct woken *ret)
{
	char path[64], text[80];
	struct schedstat run;
	struct proc_stat st;

	if (proc_stat_read(a->root, tgid, tid, &st) < 0 || (st.state != 'R' && st.state != 'D'))
		return false;
	snprintf(path, sizeof(path), "proc/%d/task/%d/schedstat", (int)tgid, (int)tid);
	if (fsroot_read_once(a->root, path, text, sizeof(text)) < 0 || !schedstat_parse(text, &run))
		return false;
	*ret = (struct woken){tid, tgid, st.start_ticks, run.run_ns};
	return true;
}

static int note_woken(struct actuate *a, pid_t tgid, pid_t tid)
{
	struct woken w, *more;

	if (!is_runnable(a, tgid, tid, &w))
		return 0;
	if (a->n_woken == a->woken_cap) {
		more = reallocarray(a->woken, (size_t)a->woken_cap * 2 + 64, sizeof(*more));
		if (!more)
			return -ENOMEM;
		a->woken = more;
		a->woken_cap = a->woken_cap * 2 + 64;
	}
	a->woken[a->n_woken++] = w;
	return 0;
}

/* May a fork still be under way of those who were woken? */
static bool may_fork_yet(struct actuate *a)
{
	int kept = 0;

	for (int i = 0; i < a->n_woken; i++) {
		const struct woken *was = &a->woken[i];
		struct woken now;

		if (is_runnable(a, was->tgid, was->tid, &now) &&
			now.start_ticks == was->start_ticks && now.run_ns - was->run_ns < FORK_NS)
			a->woken[kept++] = *was;
	}
	a->n_woken = kept;
	return kept > 0;
}

/* 1 it was idle and is no more, 0 nothing to do, <0. */
static int wake_thread(struct actuate *a, const struct ledger_setting *row, int n, pid_t tgid,
	pid_t tid, struct errbuf *err)
{
	const struct sched_param none = {.sched_priority = 0};
	int policy = sched_getscheduler(tid);

	if (policy != SCHED_IDLE && (policy >= 0 || errno == ESRCH))
		return 0;
	policy = policy < 0 ? -errno : wanted(a, row, n, tgid, tid);
	if (policy < 0)
		return policy == -ESRCH ? 0 : unreadable(tid, policy, err);
	if (policy == SCHED_IDLE) /* its own choice: we changed nothing */
		return 0;
	if (sched_setscheduler(tid, policy, &none) == 0) {
		int rc = note_woken(a, tgid, tid);

		return rc < 0 ? err_set(err, rc, "out of memory") : 1;
	}
	return errno == ESRCH ? 0
			      : err_set(err, -errno, "thread %d: its scheduling class: %s",
					(int)tid, strerror(errno));
}

/* A thread whose row is left, and who is in no directory of the step. */
static int wake_stray(struct actuate *a, const struct ledger_setting *row, struct errbuf *err)
{
	unsigned long long start;
	uint64_t now = 0;
	int tid, rc;

	if (sscanf(row->what + strlen(SCHED), "%d %llu", &tid, &start) != 2 ||
		sched_getscheduler(tid) != SCHED_IDLE)
		return 0;
	rc = start_of(a, tid, tid, &now);
	if (rc < 0)
		return rc == -ESRCH ? 0 : unreadable(tid, rc, err);
	/* Another's by now. */
	return now == start ? wake_thread(a, row, 1, tid, tid, err) : 0;
}

/* One look at all threads. How many were woken; <0: the first that could not be. */
static int wake_round(struct actuate *a, const char *path, const struct ledger_setting *row, int n,
	struct errbuf *err)
{
	cleanup_free struct proc_thread *t = NULL;
	int n_threads = 0, woken = 0, first_rc = 0, rc = idle_scan(a, path, &t, &n_threads);

	if (rc < 0 && (rc != -ENOENT || fsroot_is_there(a->root, path, row->inode) != 0))
		return err_set(err, rc, "%s: cannot list its threads: %s", path, strerror(-rc));
	for (int i = 0; i < n_threads + n; i++) {
		struct errbuf why = {""};

		if (i < n_threads && t[i].foreign)
			continue;
		rc = i < n_threads ? wake_thread(a, row, n, t[i].tgid, t[i].tid, &why)
				   : wake_stray(a, &row[i - n_threads], &why);
		woken += rc > 0;
		/* One that cannot be woken is no reason to leave those after it. */
		if (rc < 0 && !first_rc)
			first_rc = err_set(err, rc, "%s", why.text);
	}
	return first_rc ? first_rc : woken;
}

/*
 * Until a look finds nobody idle. Whoever was born meanwhile has no row. 1: somebody was woken, now
 * or not long ago: a child whose fork began before that is idle as well, and may not be to be seen
 * yet.
 */
static int wake_threads(
	struct actuate *a, const char *path, struct ledger_setting *row, int n, struct errbuf *err)
{
	/* Before the look, which then sees what was born. */
	bool again = may_fork_yet(a);
	int rc;

	qsort(row, (size_t)n, sizeof(*row), compare_rows);
	for (int round = 0; round < ROUNDS_MAX; round++) {
		rc = wake_round(a, path, row, n, err);
		if (rc <= 0)
			return rc < 0 ? rc : again || round > 0;
	}
	return err_set(err, -EAGAIN, "%s: its threads do not settle", path);
}

static int wake_group(struct actuate *a, const struct ledger_setting *row, struct errbuf *err)
{
	unsigned long long start;
	uint64_t now = 0;
	int pid, rc;

	if (sscanf(row->what + strlen(AUTOGROUP), "%d %llu", &pid, &start) != 2)
		return 0;
	rc = start_of(a, pid, pid, &now);
	if (rc == 0 && now == start)
		rc = write_autogroup(a, pid, row->value);
	return rc == 0 || rc == -ESRCH || rc == -ENOENT
		       ? 0
		       : err_set(err, rc, "process %d: its autogroup: %s", pid, strerror(-rc));
}

/* ---- both ---------------------------------------------------------------------------------- */

int idle_set(struct actuate *a, const struct step_cgroup *s, struct errbuf *err)
{
	return a->h ? a->h->idle(a, s, err)
		    : err_set(err, -ENOTSUP, "no cgroup hierarchy to act in");
}

static int restore_kind(struct actuate *a, const char *path, const char *kind,
	struct ledger_setting *row, int n, struct errbuf *err)
{
	int rc = 0;

	if (strcmp(kind, SCHED) == 0)
		return wake_threads(a, path, row, n, err);
	if (strcmp(kind, AUTOGROUP) == 0) {
		for (int i = 0; rc == 0 && i < n; i++)
			rc = wake_group(a, &row[i], err);
		return rc;
	}
	rc = change_is_there(a, path, row->inode, err);
	if (rc == 0)
		rc = write_value(a, path, CPU_IDLE, row->value, err);
	return rc < 0 && fsroot_is_there(a->root, path, row->inode) == 0 ? 0 : rc;
}

int idle_restore_path(struct actuate *a, const char *path, struct errbuf *err)
{
	static const char *const kinds[] = {CPU_IDLE, SCHED, AUTOGROUP};
	int again = 0, first_rc = 0;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		cleanup_free struct ledger_setting *row = NULL;
		struct errbuf why = {""};
		int n, rc = ledger_settings(a->ledger, path, kinds[k], &row, &n, &why);

		if (rc == 0 && n > 0) {
			rc = restore_kind(a, path, kinds[k], row, n, &why);
			if (rc == 0)
				rc = ledger_setting_forget(a->ledger, path, kinds[k], &why);
		}
		again |= rc > 0;
		if (rc < 0 && !first_rc)
			first_rc = err_set(err, rc, "%s", why.text);
	}
	return first_rc ? first_rc : again;
}

int idle_restore(struct actuate *a, const struct step_cgroup *s, struct errbuf *err)
{
	int rc = idle_restore_path(a, s->step_path, err), job = 0;

	if (s->job_path[0])
		job = idle_restore_path(a, s->job_path, rc < 0 ? NULL : err);
	return rc < 0 ? rc : job < 0 ? job : rc | job;
}

/* Every path of a kind once, how often it takes. */
static int restore_kinds(struct actuate *a, const char *kind, int *ret_done, struct errbuf *err)
{
	cleanup_free struct ledger_setting *row = NULL;
	int n, again = 0, first_rc = 0, rc = ledger_settings(a->ledger, NULL, kind, &row, &n, err);

	if (rc < 0)
		return rc;
	for (int i = 0; i < n; i++) {
		struct errbuf why = {""};

		/* Rows come by path. */
		if (i > 0 && strcmp(row[i].path, row[i - 1].path) == 0)
			continue;
		rc = idle_restore_path(a, row[i].path, &why);
		again |= rc > 0;
		*ret_done += rc == 0;
		if (rc < 0 && !first_rc)
			first_rc = err_set(err, rc, "%s", why.text);
	}
	return first_rc ? first_rc : again;
}

int idle_restore_all(struct actuate *a, struct errbuf *err)
{
	static const char *const kinds[] = {CPU_IDLE, SCHED, AUTOGROUP};
	int done = 0, first_rc = 0;

	for (int look = 0; look < LOOKS_MAX; look++) {
		bool again = false;

		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			struct errbuf why = {""};
			int rc = restore_kinds(a, kinds[k], &done, &why);

			again |= rc > 0;
			if (rc < 0 && !first_rc)
				first_rc = err_set(err, rc, "%s", why.text);
		}
		if (first_rc || !again)
			return first_rc ? first_rc : done;
		/* Who has had no turn in all this time has not begun to fork either, most likely.
		 */
		if (look == LOOKS_MAX - 2)
			a->n_woken = 0;
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
	}
	return err_set(
		err, -EAGAIN, "threads are born idle all the time: they are looked at again");
}
