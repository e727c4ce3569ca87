/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/kernel_fake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/ledger_mem.h"

#define NODE_CPUS "0-15"
#define JOB_CPUS  "0-9"
#define SCOPE     "cg/system.slice/n_slurmstepd.scope"
#define TID0      100000

struct kernel_fake fake;

struct coreset fake_set(const char *text)
{
	struct coreset s;

	if (coreset_parse(&s, text, NULL) < 0)
		abort();
	return s;
}

struct coreset fake_in_force(int dir)
{
	struct coreset above, s = fake.dir[dir].cpus;

	if (!fake.v2)
		return s;
	if (fake.dir[dir].parent < 0)
		return coreset_is_empty(&s) ? fake_set(NODE_CPUS) : s;
	above = fake_in_force(fake.dir[dir].parent);
	coreset_and(&s, &s, &above);
	return coreset_is_empty(&s) ? above : s;
}

struct coreset fake_mask(const struct fake_thread *t)
{
	struct coreset cpus = fake_in_force(fake.n_dirs - 1), s;

	coreset_and(&s, &t->asked, &cpus);
	return coreset_is_empty(&s) ? cpus : s;
}

static void make_dir(const char *path)
{
	char file[300];

	snprintf(file, sizeof(file), "%s/.", path);
	fstree_put(&fake.tree, strcat(file, "keep"), "");
}

static void remove_dir(const char *path)
{
	char full[400];

	snprintf(full, sizeof(full), "%s/%s/.keep", fake.tree.dir, path);
	unlink(full);
	*strrchr(full, '/') = '\0';
	rmdir(full);
}

/* ---- threads ----------------------------------------------------------------------------------
 */

static struct fake_thread *find_thread(pid_t tid)
{
	int i = (int)tid - TID0;

	return i >= 0 && i < fake.n_threads && fake.thread[i].alive ? &fake.thread[i] : NULL;
}

static int add_thread(const struct fake_thread *t)
{
	char path[64];
	int i = fake.n_threads++;

	if (i == FAKE_THREADS)
		abort();
	fake.thread[i] = *t;
	fake.thread[i].tid = TID0 + i;
	if (!t->tgid)
		fake.thread[i].tgid = TID0 + i;
	snprintf(path, sizeof(path), "proc/%d/task/%d", (int)fake.thread[i].tgid, TID0 + i);
	make_dir(path);
	return i;
}

int fake_add_thread(int leader, pid_t ppid, const char *mask)
{
	return add_thread(&(struct fake_thread){.tgid = leader < 0 ? 0 : fake.thread[leader].tid,
		.ppid = ppid,
		.alive = true,
		.asked = fake_set(mask),
		.first = fake_set(mask)});
}

void fake_end(int i)
{
	pid_t tid = fake.thread[i].tid;
	bool all = tid == fake.thread[i].tgid;
	char path[64];

	for (int k = 0; k < fake.n_threads; k++) {
		struct fake_thread *t = &fake.thread[k];

		if (all && t->ppid == tid) {
			t->orphan = true;
			t->ppid = 1;
		}
		if (!t->alive || (t->tid != tid && !(all && t->tgid == tid)))
			continue;
		t->alive = false;
		snprintf(path, sizeof(path), "proc/%d/task/%d", (int)t->tgid, (int)t->tid);
		remove_dir(path);
	}
}

static void fork_all(void)
{
	for (int i = 0, n = fake.n_threads; i < n; i++) {
		struct fake_thread t = fake.thread[i];

		if (!t.alive || t.tid != t.tgid || t.stepd)
			continue;
		t.stubborn = false;
		add_thread(&t);
		t.ppid = t.tgid;
		t.tgid = 0;
		add_thread(&t);
	}
}

static void end_last_rank(void)
{
	for (int i = fake.n_threads - 1; i > 0; i--)
		if (fake.thread[i].alive && fake.thread[i].tid == fake.thread[i].tgid &&
			fake.thread[i].ppid == 1 && !fake.thread[i].stepd) {
			fake_end(i);
			return;
		}
}

static void vanish(void)
{
	for (int i = 0; i < fake.n_threads; i++)
		if (fake.thread[i].alive)
			fake_end(i);
	for (int i = fake.n_dirs - 1; i > 0; i--)
		remove_dir(fake.dir[i].path);
	fake.gone = true;
}

void fake_offline(const char *cpus)
{
	struct coreset off = fake_set(cpus);

	for (int i = 0; i < fake.n_dirs && (i == 0 || !fake.v2); i++)
		coreset_andnot(&fake.dir[i].cpus, &fake.dir[i].cpus, &off);
}

/* ---- what happens at a call ---------------------------------------------------------------------
 */

/* The kernel says ENOENT only of what is gone. */
static const int read_errors[] = {EMFILE, ENFILE, EIO, EACCES, ENOMEM, 0};
static const int write_errors[] = {EBUSY, ENOSPC, EINVAL, EACCES, EPERM, EIO, EMFILE, 0};
static const int mask_errors[] = {EINVAL, EPERM, ENOMEM, 0};
static const int ledger_errors[] = {EIO, ENOSPC, 0};
static const int no_errors[] = {0};

void fake_at(enum fake_event event, int at, int which)
{
	fake.event = event;
	fake.at = at;
	fake.which = which;
	fake.calls = fake.stop_after = 0;
	fake.happened = fake.more = false;
	fake.where[0] = '\0';
}

/*
 * One call of kind @what on @name, which may fail with one of @with (0 ends them). Returns 0 to go
 * on, or the error.
 */
static int call(const char *what, const char *name, const int *with)
{
	int n = 0;

	fake.calls++;
	if (fake.event == FAKE_NOTHING || fake.calls < fake.at)
		return 0;
	if (fake.calls == fake.at)
		snprintf(fake.where, sizeof(fake.where), "%s %s", what, name);
	if (fake.event == FAKE_STOP ||
		(fake.stop_after && fake.calls >= fake.at + fake.stop_after)) {
		fake.happened = true;
		return -EIO;
	}
	if (fake.event == FAKE_REFUSE) {
		fake.happened = with == mask_errors;
		return fake.happened ? -EPERM : 0;
	}
	if (fake.event == FAKE_FAIL || fake.event == FAKE_FAIL_ON) {
		if (fake.event == FAKE_FAIL && fake.calls > fake.at)
			return 0;
		while (with[n])
			n++;
		if (n == 0 || (fake.calls == fake.at && fake.which >= n))
			return 0;
		fake.happened = true;
		if (fake.calls == fake.at)
			fake.more = fake.which + 1 < n;
		return -with[fake.which % n];
	}
	if (fake.calls > fake.at || fake.gone)
		return 0;
	fake.happened = true;
	if (fake.event == FAKE_FORK)
		fork_all();
	else if (fake.event == FAKE_DIE)
		end_last_rank();
	else
		vanish();
	return 0;
}

static int ledger_call(const char *what)
{
	return call("ledger", what, ledger_errors);
}

/* ---- files --------------------------------------------------------------------------------------
 */

static int find_dir(const char *path, const char *file)
{
	for (int i = 0; i < fake.n_dirs; i++) {
		size_t n = strlen(fake.dir[i].path);

		if (strncmp(path, fake.dir[i].path, n) == 0 && path[n] == '/' &&
			strcmp(path + n + 1, file) == 0)
			return i;
	}
	return -1;
}

static int show_threads(int dir, bool procs, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	fake.lists++;
	for (int i = 0; dir == fake.n_dirs - 1 && i < fake.n_threads; i++) {
		const struct fake_thread *t = &fake.thread[i];

		if (t->alive && (!procs || t->tid == t->tgid))
			n += (size_t)snprintf(buf + n, size - n, "%d\n", (int)t->tid);
	}
	return (int)n;
}

static int show_process(const char *path, char *buf, size_t size)
{
	const struct fake_thread *t;
	int tgid, tid, n = 0;

	if (sscanf(path, "proc/%d/task/%d/stat%n", &tgid, &tid, &n) == 2 && n && !path[n]) {
		t = find_thread(tid);
		if (!t || t->tgid != tgid)
			return -ENOENT;
		return snprintf(buf, size,
			"%d (%s) R %d 1 1 0 -1 0 0 0 0 0 5 6 0 0 20 0 3 0 %d 1 2\n", tid,
			t->stepd ? "slurmstepd" : "app", (int)t->ppid, tid + 7);
	}
	n = 0;
	if (sscanf(path, "proc/%d/status%n", &tid, &n) == 1 && n && !path[n]) {
		t = find_thread(tid);
		return t ? snprintf(buf, size, "Name:\tapp\nTgid:\t%d\nUid:\t0\t0\t0\t0\n",
				   (int)t->tgid)
			 : -ENOENT;
	}
	if (strcmp(path, "proc/loadavg") == 0)
		return snprintf(buf, size, "0.20 0.18 0.12 1/80 %d\n", TID0 + fake.n_threads - 1);
	n = 0;
	if (sscanf(path, "proc/%d/cgroup%n", &tgid, &n) == 1 && n && !path[n])
		return snprintf(buf, size, "%s",
			fake.v2 ? "0::/system.slice/n_slurmstepd.scope/job_1/step_0/user/task_0\n"
				: "3:cpuset:/slurm/uid_0/job_1/step_0\n");
	return -EXDEV;
}

/* -EXDEV: not one of ours. */
static int serve(const char *path, char *buf, size_t size)
{
	struct coreset now;
	int i;

	if ((i = find_dir(path, "cpuset.cpus")) >= 0)
		now = fake.dir[i].cpus;
	else if (fake.v2 && (i = find_dir(path, "cpuset.cpus.effective")) >= 0)
		now = fake_in_force(i);
	else if ((i = find_dir(path, fake.v2 ? "cgroup.threads" : "tasks")) >= 0)
		return fake.gone ? -ENOENT : show_threads(i, false, buf, size);
	else if ((i = find_dir(path, "cgroup.procs")) >= 0)
		return fake.gone ? -ENOENT : show_threads(i, true, buf, size);
	else
		return show_process(path, buf, size);
	if (fake.gone && i > 0)
		return -ENOENT;
	coreset_format(&now, buf, size - 1);
	strcat(buf, "\n");
	return (int)strlen(buf);
}

/* ---- the calls ----------------------------------------------------------------------------------
 */

ssize_t __real_fsroot_read(const struct fsroot *r, const char *path, char *buf, size_t size);
ssize_t __wrap_fsroot_read(const struct fsroot *r, const char *path, char *buf, size_t size);
ssize_t __wrap_fsroot_read_once(const struct fsroot *r, const char *path, char *buf, size_t size);
ssize_t __wrap_fsroot_read_alloc(const struct fsroot *r, const char *path, char **ret);
int __real_fsroot_is_there(const struct fsroot *r, const char *path, uint64_t inode);
int __wrap_fsroot_is_there(const struct fsroot *r, const char *path, uint64_t inode);
int __real_fsroot_stat(const struct fsroot *r, const char *path, struct stat *ret);
int __wrap_fsroot_stat(const struct fsroot *r, const char *path, struct stat *ret);
int __real_fsroot_openat(const struct fsroot *r, const char *path, int flags);
int __wrap_fsroot_openat(const struct fsroot *r, const char *path, int flags);
int __real_fsroot_write(const struct fsroot *r, const char *path, const char *text);
int __wrap_fsroot_write(const struct fsroot *r, const char *path, const char *text);
int __wrap_proc_get_mask(pid_t tid, struct coreset *ret);
int __wrap_proc_set_mask(pid_t tid, const struct coreset *mask);
int __wrap_proc_cpu_ns(pid_t pid, int64_t *ret);
int __wrap_proc_executable(const struct fsroot *r, pid_t pid, char *ret, size_t size);
int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

ssize_t __wrap_fsroot_read(const struct fsroot *r, const char *path, char *buf, size_t size)
{
	int rc = call("read", path, read_errors);

	if (rc == 0)
		rc = serve(path, buf, size);
	return rc == -EXDEV ? __real_fsroot_read(r, path, buf, size) : rc;
}

ssize_t __wrap_fsroot_read_once(const struct fsroot *r, const char *path, char *buf, size_t size)
{
	return __wrap_fsroot_read(r, path, buf, size);
}

ssize_t __wrap_fsroot_read_alloc(const struct fsroot *r, const char *path, char **ret)
{
	char *buf = malloc(8192);
	ssize_t n = buf ? __wrap_fsroot_read(r, path, buf, 8192) : -ENOMEM;

	if (n < 0)
		free(buf);
	else
		*ret = buf;
	return n;
}

int __wrap_fsroot_is_there(const struct fsroot *r, const char *path, uint64_t inode)
{
	int rc = call("look for", path, read_errors);

	return rc < 0 ? rc : __real_fsroot_is_there(r, path, inode);
}

int __wrap_fsroot_stat(const struct fsroot *r, const char *path, struct stat *ret)
{
	int rc = call("stat", path, read_errors);

	return rc < 0 ? rc : __real_fsroot_stat(r, path, ret);
}

int __wrap_fsroot_openat(const struct fsroot *r, const char *path, int flags)
{
	int rc = call("open", path, flags & O_PATH ? no_errors : read_errors);

	return rc < 0 ? rc : __real_fsroot_openat(r, path, flags);
}

static bool has_threads(void)
{
	for (int i = 0; i < fake.n_threads; i++)
		if (fake.thread[i].alive)
			return true;
	return false;
}

static int write_cpus(int dir, const struct coreset *set)
{
	int above = fake.dir[dir].parent;
	struct coreset possible = fake_set(NODE_CPUS), was, now;

	if (!coreset_is_subset(set, &possible))
		return -ERANGE;
	if (!fake.v2 && !coreset_is_subset(set, &fake.dir[0].cpus))
		return -EINVAL; /* offline */
	if (coreset_is_empty(set) && dir >= fake.step && has_threads())
		return -ENOSPC;
	if (!fake.v2 && above >= 0 && !coreset_is_subset(set, &fake.dir[above].cpus))
		return -EACCES;
	for (int i = 0; i < fake.n_dirs && !fake.v2; i++)
		if (fake.dir[i].parent == dir && !coreset_is_subset(&fake.dir[i].cpus, set))
			return -EBUSY;
	was = fake_in_force(fake.n_dirs - 1);
	fake.dir[dir].cpus = *set;
	now = fake_in_force(fake.n_dirs - 1);
	/* What is not changed by it is left out, with its threads. */
	for (int i = 0; !fake.remembers && !coreset_is_equal(&was, &now) && i < fake.n_threads; i++)
		fake.thread[i].asked = now;
	return 0;
}

int __wrap_fsroot_write(const struct fsroot *r, const char *path, const char *text)
{
	int i = find_dir(path, "cpuset.cpus"), rc = call("write", path, write_errors);
	struct coreset set;

	if (rc < 0 || i < 0)
		return rc < 0 ? rc : __real_fsroot_write(r, path, text);
	if (fake.gone && i > 0)
		return -ENODEV;
	set = fake_set(text);
	return write_cpus(i, &set);
}

int __wrap_proc_get_mask(pid_t tid, struct coreset *ret)
{
	int rc = call("getaffinity", "", no_errors);
	const struct fake_thread *t = find_thread(tid);

	if (rc < 0)
		return rc;
	if (!t)
		return -ESRCH;
	*ret = fake_mask(t);
	return 0;
}

int __wrap_proc_set_mask(pid_t tid, const struct coreset *mask)
{
	int rc = call("setaffinity", "", mask_errors);
	struct coreset cpus = fake_in_force(fake.n_dirs - 1);
	struct fake_thread *t = find_thread(tid);

	if (rc < 0)
		return rc;
	if (!t)
		return -ESRCH;
	if (t->stubborn || !coreset_intersects(mask, &cpus))
		return -EINVAL;
	t->asked = *mask;
	if (!fake.remembers)
		coreset_and(&t->asked, mask, &cpus);
	return 0;
}

int __wrap_proc_cpu_ns(pid_t pid, int64_t *ret)
{
	int rc = call("clock_gettime", "", no_errors);
	const struct fake_thread *t = find_thread(pid);

	if (rc < 0)
		return rc;
	if (!t)
		return -ESRCH;
	*ret = t->cpu_ns ? t->cpu_ns : t->young ? 1 : INT64_C(1000000000000);
	return 0;
}

int __wrap_proc_executable(const struct fsroot *r, pid_t pid, char *ret, size_t size)
{
	int rc = call("readlink", "", read_errors);
	const struct fake_thread *t = find_thread(pid);

	(void)r;
	if (rc < 0)
		return rc;
	if (!t)
		return -ESRCH;
	snprintf(ret, size, "%s", t->executable ? t->executable : "/usr/bin/app");
	return 0;
}

/* ---- a node -------------------------------------------------------------------------------------
 */

static void add_dir(const char *path, int parent, const char *cpus)
{
	int i = fake.n_dirs++;

	fake.dir[i].path = path;
	fake.dir[i].parent = parent;
	fake.dir[i].cpus = fake_set(cpus);
	fake.dir[i].first = fake_in_force(i);
	make_dir(path);
}

/* A microsecond a look: a change has its time however busy the machine is. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	static int64_t now_us = 1000000;

	if (clock != CLOCK_MONOTONIC || !ledger_mem_hook)
		return __real_clock_gettime(clock, ret);
	now_us += 1 + fake.later_us;
	fake.later_us = 0;
	*ret = (struct timespec){now_us / 1000000, now_us % 1000000 * 1000};
	return 0;
}

void fake_open(bool v2, bool remembers, const char *step_cpus)
{
	memset(&fake, 0, sizeof(fake));
	fake.v2 = v2;
	fake.remembers = remembers;
	fstree_make(&fake.tree);
	ledger_mem_hook = ledger_call;
	add_dir("cg", -1, NODE_CPUS);
	fstree_put(&fake.tree, "cg/cpuset.cpus", "");
	if (v2) {
		fstree_put(&fake.tree, "cg/cgroup.controllers", "cpuset cpu memory\n");
		fstree_put(&fake.tree, "proc/self/mountinfo", "1 2 0:1 / /cg rw - cgroup2 c rw\n");
		add_dir(SCOPE "/job_1", 0, JOB_CPUS);
		add_dir(SCOPE "/job_1/step_0", 1, "");
		add_dir(SCOPE "/job_1/step_0/user", 2, step_cpus);
		add_dir(SCOPE "/job_1/step_0/user/task_0", 3, "");
		fake.step = 3;
	} else {
		fstree_put(&fake.tree, "proc/self/mountinfo",
			"1 2 0:1 / /cg rw - cgroup c rw,cpuset\n");
		add_dir("cg/slurm/uid_0/job_1", 0, JOB_CPUS);
		add_dir("cg/slurm/uid_0/job_1/step_0", 1, step_cpus);
		fake.step = 2;
	}
}

void fake_close(void)
{
	ledger_mem_hook = NULL;
	fstree_remove(&fake.tree);
}
