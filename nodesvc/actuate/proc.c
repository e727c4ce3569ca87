/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proc.c - threads: who they are, which of them are in a cpuset, and their masks.
 *
 * slurmstepd sits in its step's cpuset with the tasks. Its own threads are told by the *process's*
 * name, as they rename themselves ("acctg" and others, seen with 22.05). A child that it has forked
 * and that has not exec'ed yet bears the same name but is a task already: its parent is a
 * slurmstepd in the same cpuset, while the true one's is not. A user's program that calls itself
 * slurmstepd only loses the mask we would set: the cpuset holds it all the same.
 */
#include "common/schedstat.h"
#include "nodesvc/actuate/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/aside.h"
#include "common/cleanup.h"

_Static_assert(sizeof(struct coreset) == sizeof(cpu_set_t), "a coreset is a cpu_set_t");

int proc_stat_parse(const char *text, struct proc_stat *ret)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	unsigned long long start, minor, major;
	struct proc_stat st = {.state = '?'};
	size_t len;
	int ppid;

	if (!open || !close || close < open)
		return -EINVAL;
	/* Fields 3, 4, 11, 13 and 22: comm is field 2, the last ')' ends it. */
	if (sscanf(close + 1,
		    " %c %d %*d %*d %*d %*d %*u %*u %llu %*u %llu %*u %*u %*d %*d %*d %*d %*d %*d "
		    "%llu",
		    &st.state, &ppid, &minor, &major, &start) != 5)
		return -EINVAL;
	len = (size_t)(close - open - 1);
	if (len >= sizeof(st.comm))
		len = sizeof(st.comm) - 1;
	memcpy(st.comm, open + 1, len);
	st.comm[len] = '\0';
	st.ppid = ppid;
	st.child_faults = minor + major;
	st.start_ticks = start;
	*ret = st;
	return 0;
}

int proc_stat_read(const struct fsroot *root, pid_t tgid, pid_t tid, struct proc_stat *ret)
{
	char path[64], text[1024];
	ssize_t n;

	/* Not /proc/TID/stat: that one sums up all threads of the process at each read. */
	snprintf(path, sizeof(path), "proc/%d/task/%d/stat", (int)tgid, (int)tid);
	n = fsroot_read_once(root, path, text, sizeof(text));
	if (n < 0)
		return n == -ENOENT ? -ESRCH : (int)n;
	return proc_stat_parse(text, ret);
}

static bool read_schedstat(const struct fsroot *root, pid_t tgid, pid_t tid, struct schedstat *ret)
{
	char path[64], text[128];

	snprintf(path, sizeof(path), "proc/%d/task/%d/schedstat", (int)tgid, (int)tid);
	return fsroot_read_once(root, path, text, sizeof(text)) >= 0 && schedstat_parse(text, ret);
}

int64_t proc_waited_ns(const struct fsroot *root, pid_t pid)
{
	struct schedstat s;

	return read_schedstat(root, pid, pid, &s) ? (int64_t)s.wait_ns : 0;
}

int64_t proc_ran_ns(const struct fsroot *root, pid_t tgid, pid_t tid)
{
	struct schedstat s;

	return read_schedstat(root, tgid, tid, &s) ? (int64_t)s.run_ns : -1;
}

int proc_get_mask(pid_t tid, struct coreset *ret)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (sched_getaffinity(tid, sizeof(set), &set) < 0)
		return -errno;
	memcpy(ret, &set, sizeof(*ret));
	return 0;
}

int proc_set_mask(pid_t tid, const struct coreset *mask)
{
	cpu_set_t set;

	memcpy(&set, mask, sizeof(set));
	return sched_setaffinity(tid, sizeof(set), &set) < 0 ? -errno : 0;
}

int proc_cpu_ns(pid_t pid, int64_t *ret)
{
	struct timespec ts;
	clockid_t clock;
	int rc = clock_getcpuclockid(pid, &clock);

	if (rc)
		return -rc;
	if (clock_gettime(clock, &ts) < 0)
		return -errno;
	*ret = ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
	return 0;
}

int proc_executable(const struct fsroot *root, pid_t pid, char *ret, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "proc/%d/exe", (int)pid);
	n = readlinkat(root->fd, path, ret, size - 1);
	if (n < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	ret[n] = '\0';
	return 0;
}

static int compare_pids(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? -1 : x > y;
}

/* Sorts, drops repeats, returns how many remain. */
static int sort_pids(pid_t *pid, int n)
{
	int kept = 0;

	if (n)
		qsort(pid, (size_t)n, sizeof(*pid), compare_pids);
	for (int i = 0; i < n; i++)
		if (!kept || pid[kept - 1] != pid[i])
			pid[kept++] = pid[i];
	return kept;
}

/*
 * The numbers in a `tasks` or `cgroup.procs` file, sorted and without repeats; malloc'ed. -EINVAL:
 * it is no such file.
 */
static int read_pids(
	const struct fsroot *root, const char *dir, const char *file, pid_t **ret, int *ret_n)
{
	cleanup_free char *text = NULL;
	cleanup_free pid_t *pid = NULL;
	char path[FILE_MAX];
	size_t lines = 1;
	int n = 0;
	ssize_t rc;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	rc = fsroot_read_alloc(root, path, &text);
	if (rc < 0) /* ENODEV: removed while open */
		return rc == -ENODEV ? -ENOENT : (int)rc;
	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	pid = calloc(lines, sizeof(*pid));
	if (!pid)
		return -ENOMEM;
	for (char *p = text; *p;) {
		char *end;
		long v = strtol(p, &end, 10);

		if (end == p && !p[strspn(p, "\n")])
			break;
		/* One number a line: there is room for so many. */
		if (end == p || (*end && *end != '\n'))
			return -EINVAL;
		if (v > 0) /* 0: a process of another pid namespace */
			pid[n++] = (pid_t)v;
		p = end + (*end == '\n');
		if (aside_breathe())
			return -ECANCELED;
	}
	*ret_n = sort_pids(pid, n);
	*ret = take_ptr(pid);
	return 0;
}

static bool has_pid(const pid_t *pid, int n, pid_t which)
{
	return n && bsearch(&which, pid, (size_t)n, sizeof(*pid), compare_pids);
}

/* By far the most are not, and a name costs a third of a stat. */
static bool has_other_name(const struct fsroot *root, pid_t pid)
{
	char path[64], name[32];

	snprintf(path, sizeof(path), "proc/%d/comm", (int)pid);
	return fsroot_read_once(root, path, name, sizeof(name)) > 0 &&
	       strcmp(name, "slurmstepd\n") != 0;
}

/* 0 no, 1 yes, <0: that cannot be read. @st: of @pid, unless it has gone. */
static int is_slurmstepd(
	const struct fsroot *root, pid_t pid, const pid_t *procs, int n, struct proc_stat *st)
{
	struct proc_stat parent;
	int rc = proc_stat_read(root, pid, pid, st);

	if (rc < 0)
		return rc == -ESRCH ? 0 : rc;
	if (strcmp(st->comm, "slurmstepd") != 0)
		return 0;
	if (!has_pid(procs, n, st->ppid))
		return 1;
	rc = proc_stat_read(root, st->ppid, st->ppid, &parent);
	if (rc < 0)
		return rc == -ESRCH ? 1 : rc;
	return strcmp(parent.comm, "slurmstepd") != 0;
}

/* @starts: reads the process's start, too, into @ret_start; 0 unknown. */
static int is_foreign(const struct fsroot *root, pid_t pid, const pid_t *procs, int n, bool starts,
	uint64_t *ret_start)
{
	struct proc_stat st = {.start_ticks = 0};
	int rc;

	*ret_start = 0;
	if (!starts && has_other_name(root, pid))
		return 0;
	rc = is_slurmstepd(root, pid, procs, n, &st);
	*ret_start = st.start_ticks;
	return rc;
}

/* Appends those threads of @tgid that are in @tasks, its leader first. */
static int scan_process(const struct fsroot *root, pid_t tgid, bool foreign, uint64_t start,
	const pid_t *tasks, int n_tasks, struct proc_thread *v, int *n)
{
	char path[64];
	int fd, first = *n;
	cleanup_dir DIR *dir = NULL;

	snprintf(path, sizeof(path), "proc/%d/task", (int)tgid);
	fd = fsroot_openat(root, path, O_RDONLY | O_DIRECTORY);
	if (fd < 0) /* gone? */
		return fd == -ENOENT || fd == -ESRCH ? 0 : fd;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	for (struct dirent *e; (errno = 0, e = readdir(dir)) && *n < n_tasks;) {
		pid_t tid = (pid_t)atoi(e->d_name);

		if (aside_breathe())
			return -ECANCELED;
		if (tid <= 0 || !has_pid(tasks, n_tasks, tid))
			continue;
		v[*n] = (struct proc_thread){.tid = tid,
			.tgid = tgid,
			.foreign = foreign,
			.start_ticks = tid == tgid ? start : 0};
		if (tid == tgid && *n > first) {
			struct proc_thread swap = v[first];

			v[first] = v[*n];
			v[*n] = swap;
		}
		(*n)++;
	}
	return errno ? -errno : 0;
}

/* The threads @tasks, by the processes @procs. */
static int join(const struct fsroot *root, const pid_t *procs, int n_procs, const pid_t *tasks,
	int n_tasks, bool tell_foreign, bool starts, struct proc_thread **ret, int *ret_n)
{
	cleanup_free struct proc_thread *v = calloc((size_t)n_tasks + 1, sizeof(*v));
	int n = 0;

	/* Every thread leads a process: none of them has a second one. */
	bool single = n_tasks == n_procs &&
		      (!n_tasks || memcmp(tasks, procs, (size_t)n_tasks * sizeof(*tasks)) == 0);

	if (!v)
		return -ENOMEM;
	for (int i = 0; i < n_procs; i++) {
		uint64_t start = 0;
		int rc = tell_foreign ? is_foreign(root, procs[i], procs, n_procs, starts, &start)
				      : 0;

		if (aside_breathe())
			return -ECANCELED;
		if (rc >= 0 && single)
			v[n++] = (struct proc_thread){.tid = procs[i],
				.tgid = procs[i],
				.foreign = rc > 0,
				.start_ticks = start};
		else if (rc >= 0)
			rc = scan_process(root, procs[i], rc > 0, start, tasks, n_tasks, v, &n);
		if (rc < 0)
			return rc;
	}
	*ret = take_ptr(v);
	*ret_n = n;
	return 0;
}

/* FNV-1a over a file of thread numbers, going on from @hash. */
static int hash_file(const struct fsroot *root, const char *dir, const char *file, uint64_t *hash)
{
	cleanup_free char *text = NULL;
	char path[FILE_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	n = fsroot_read_alloc(root, path, &text);
	if (n < 0)
		return n == -ENODEV ? -ENOENT : (int)n;
	for (ssize_t i = 0; i < n; i++)
		*hash = (*hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	return 0;
}

struct mark {
	const char *file;
	uint64_t hash;
};

static int mark_level(const struct fsroot *root, const char *dir, void *arg, struct errbuf *err)
{
	struct mark *m = arg;

	(void)err;
	return hash_file(root, dir, m->file, &m->hash);
}

int proc_mark(const struct fsroot *root, const char *path, const char *file, uint64_t *ret)
{
	struct mark m = {file, UINT64_C(0xcbf29ce484222325)};
	int rc = tree_each(root, path, mark_level, &m, NULL);

	if (rc == 0)
		*ret = m.hash;
	return rc;
}

struct pids {
	pid_t *v;
	int n;
};

static int append_pids(
	const struct fsroot *root, const char *dir, const char *file, struct pids *all)
{
	cleanup_free pid_t *pid = NULL;
	pid_t *v;
	int n, rc = read_pids(root, dir, file, &pid, &n);

	/* A threaded group has no list of processes: the one above it has them. */
	if (rc < 0)
		return rc == -EOPNOTSUPP ? 0 : rc;
	v = realloc(all->v, (size_t)(all->n + n + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	all->v = v;
	if (n)
		memcpy(v + all->n, pid, (size_t)n * sizeof(*v));
	all->n += n;
	return 0;
}

struct both {
	const char *threads; /* the file that lists them */
	struct pids tasks, procs;
};

/* Threads first: a process that ends in between only makes the list shorter. */
static int add_both(const struct fsroot *root, const char *dir, void *arg, struct errbuf *err)
{
	struct both *b = arg;
	int rc = append_pids(root, dir, b->threads, &b->tasks);

	(void)err;
	return rc < 0 ? rc : append_pids(root, dir, "cgroup.procs", &b->procs);
}

static int scan(const struct fsroot *root, const char *path, const char *threads, bool tell_foreign,
	bool starts, struct proc_thread **ret, int *ret_n)
{
	struct both b = {.threads = threads};
	int rc = tree_each(root, path, add_both, &b, NULL);

	if (rc == 0) {
		/* What moves from one level to another meanwhile is seen twice. */
		b.tasks.n = sort_pids(b.tasks.v, b.tasks.n);
		b.procs.n = sort_pids(b.procs.v, b.procs.n);
		rc = join(root, b.procs.v, b.procs.n, b.tasks.v, b.tasks.n, tell_foreign, starts,
			ret, ret_n);
	}
	free(b.tasks.v);
	free(b.procs.v);
	return rc;
}

struct list {
	const char *file;
	struct pids pids;
};

static int add_list(const struct fsroot *root, const char *dir, void *arg, struct errbuf *err)
{
	struct list *l = arg;

	(void)err;
	return append_pids(root, dir, l->file, &l->pids);
}

int proc_pids(
	const struct fsroot *root, const char *path, const char *file, pid_t **ret, int *ret_n)
{
	struct list l = {.file = file};
	int rc = tree_each(root, path, add_list, &l, NULL);

	if (rc < 0) {
		free(l.pids.v);
		return rc;
	}
	*ret = l.pids.v;
	*ret_n = sort_pids(l.pids.v, l.pids.n);
	return 0;
}

/* A number of /proc/PID/status. */
static bool status_value(const char *text, const char *name, long *ret)
{
	const char *at = strstr(text, name);

	return at && sscanf(at + strlen(name), "%ld", ret) == 1;
}

static int read_status(const struct fsroot *root, pid_t tid, const char *name, long *ret)
{
	char path[64], text[4096];
	ssize_t n;

	snprintf(path, sizeof(path), "proc/%d/status", (int)tid);
	n = fsroot_read_once(root, path, text, sizeof(text));
	if (n < 0)
		return n == -ENOENT ? -ESRCH : (int)n;
	return status_value(text, name, ret) ? 0 : -EINVAL;
}

int proc_tgid(const struct fsroot *root, pid_t tid, pid_t *ret)
{
	long tgid;
	int rc = read_status(root, tid, "\nTgid:", &tgid);

	if (rc == 0)
		*ret = (pid_t)tgid;
	return rc;
}

int proc_is_slurmstepd(const struct fsroot *root, pid_t pid, const pid_t *procs, int n)
{
	struct proc_stat st;
	long uid = 0;
	int rc = has_other_name(root, pid) ? 0 : is_slurmstepd(root, pid, procs, n, &st);

	/* Whoever may call himself so is not thereby left alone. */
	if (rc > 0)
		rc = read_status(root, pid, "\nUid:", &uid);
	else
		return rc;
	return rc < 0 ? (rc == -ESRCH ? 0 : rc) : uid == 0;
}

void proc_known_free(struct proc_known *k)
{
	free(k->v);
	*k = (struct proc_known){.v = NULL};
}

static int compare_tids(const void *a, const void *b)
{
	return compare_pids(
		&((const struct proc_thread *)a)->tid, &((const struct proc_thread *)b)->tid);
}

/* By process, its leader first. */
static int compare_threads(const void *a, const void *b)
{
	const struct proc_thread *x = a, *y = b;

	if (x->tgid != y->tgid)
		return compare_pids(&x->tgid, &y->tgid);
	if ((x->tid == x->tgid) != (y->tid == y->tgid))
		return x->tid == x->tgid ? -1 : 1;
	return compare_pids(&x->tid, &y->tid);
}

static int add_tasks(const struct fsroot *root, const char *dir, void *arg, struct errbuf *err)
{
	(void)err;
	return append_pids(root, dir, "tasks", arg);
}

/* Are those that were taken for slurmstepd's it still? A child that it has forked may be taken for
 * one until it exec's. 1 yes. */
static int still_foreign(const struct fsroot *root, const struct proc_thread *t, int n)
{
	cleanup_free pid_t *procs = calloc((size_t)n + 1, sizeof(*procs));
	int n_procs = 0, rc = procs ? 1 : -ENOMEM;

	for (int i = 0; procs && i < n; i++)
		if (t[i].tid == t[i].tgid)
			procs[n_procs++] = t[i].tgid;
	for (int i = 0; rc == 1 && i < n; i++) {
		struct proc_stat st;

		if (t[i].foreign && t[i].tid == t[i].tgid)
			rc = is_slurmstepd(root, t[i].tid, procs, n_procs, &st);
	}
	return rc;
}

/* Who of @known is still there: 1, or 0 where somebody is new, or another than he was. */
static int rescan(const struct fsroot *root, const char *path, const struct proc_known *known,
	struct proc_thread **ret, int *ret_n)
{
	cleanup_free struct proc_thread *v = NULL;
	struct pids tasks = {.v = NULL};
	int rc = tree_each(root, path, add_tasks, &tasks, NULL);

	if (rc == 0) {
		tasks.n = sort_pids(tasks.v, tasks.n);
		v = calloc((size_t)tasks.n + 1, sizeof(*v));
		rc = v ? 1 : -ENOMEM;
	}
	for (int i = 0; rc == 1 && i < tasks.n; i++) {
		const struct proc_thread key = {.tid = tasks.v[i]};
		const struct proc_thread *t =
			bsearch(&key, known->v, (size_t)known->n, sizeof(key), compare_tids);

		rc = aside_breathe() ? -ECANCELED : t != NULL;
		if (t)
			v[i] = *t; /* NOLINT(clang-analyzer-core.NullDereference): 1 is with it */
	}
	if (rc == 1) {
		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): as above */
		qsort(v, (size_t)tasks.n, sizeof(*v), compare_threads);
		rc = still_foreign(root, v, tasks.n);
	}
	if (rc == 1) {
		*ret_n = tasks.n;
		*ret = take_ptr(v);
	}
	free(tasks.v);
	return rc;
}

/* What cannot be kept is read again. */
static void keep_known(struct proc_known *k, const struct proc_thread *t, int n)
{
	proc_known_free(k);
	k->v = n ? calloc((size_t)n, sizeof(*k->v)) : NULL;
	if (!k->v)
		return;
	memcpy(k->v, t, (size_t)n * sizeof(*t));
	qsort(k->v, (size_t)n, sizeof(*k->v), compare_tids);
	k->n = n;
}

int proc_scan_known(const struct fsroot *root, const char *path, struct proc_known *known,
	struct proc_thread **ret, int *ret_n)
{
	int rc = known && known->n ? rescan(root, path, known, ret, ret_n) : 0;

	if (rc)
		return rc < 0 ? rc : 0;
	rc = scan(root, path, "tasks", true, known != NULL, ret, ret_n);
	if (rc == 0 && known)
		keep_known(known, *ret, *ret_n);
	return rc;
}

int proc_scan_all(const struct fsroot *root, const char *path, struct proc_thread **ret, int *ret_n)
{
	return scan(root, path, "tasks", false, false, ret, ret_n);
}

int proc_scan_tree(
	const struct fsroot *root, const char *path, struct proc_thread **ret, int *ret_n)
{
	/* slurmstepd sits elsewhere; what bears its name here is a task before exec. */
	return scan(root, path, "cgroup.threads", false, false, ret, ret_n);
}

/* Takes the threads of process @tgid out of @pid. */
static int take_out(const struct fsroot *root, pid_t tgid, struct pids *pid)
{
	cleanup_free struct proc_thread *v = calloc((size_t)pid->n + 1, sizeof(*v));
	int n = 0, kept = 0, rc = v ? 0 : -ENOMEM;

	if (rc == 0)
		rc = scan_process(root, tgid, true, 0, pid->v, pid->n, v, &n);
	if (rc < 0 || n == 0)
		return rc;
	qsort(v, (size_t)n, sizeof(*v), compare_tids);
	for (int i = 0; i < pid->n; i++) {
		const struct proc_thread key = {.tid = pid->v[i]};

		if (!bsearch(&key, v, (size_t)n, sizeof(key), compare_tids))
			pid->v[kept++] = pid->v[i];
	}
	pid->n = kept;
	return 0;
}

int proc_list(const struct fsroot *root, const char *path, const char *threads, bool tell_foreign,
	pid_t **ret, int *ret_n)
{
	struct both b = {.threads = threads};
	int rc = tree_each(root, path, add_both, &b, NULL);

	if (rc == 0) {
		b.tasks.n = sort_pids(b.tasks.v, b.tasks.n);
		b.procs.n = sort_pids(b.procs.v, b.procs.n);
	}
	for (int i = 0; rc == 0 && tell_foreign && i < b.procs.n; i++) {
		uint64_t start;

		rc = aside_breathe()
			     ? -ECANCELED
			     : is_foreign(root, b.procs.v[i], b.procs.v, b.procs.n, false, &start);
		if (rc > 0)
			rc = take_out(root, b.procs.v[i], &b.tasks);
	}
	free(b.procs.v);
	if (rc < 0) {
		free(b.tasks.v);
		return rc;
	}
	*ret = b.tasks.v;
	*ret_n = b.tasks.n;
	return 0;
}
