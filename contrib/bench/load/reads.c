/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/bench/load/reads.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_NS INT64_C(200000000) /* of each kind */

static int64_t own_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static bool read_file(const char *path)
{
	char text[8192];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	/* To the end, as whoever wants all of it must. */
	while (n > 0)
		n = read(fd, text, sizeof(text));
	if (fd >= 0)
		close(fd);
	return n == 0;
}

/* As colocd reads a file of one line. */
static bool read_line(const char *path)
{
	char text[128];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool ok = fd >= 0 && read(fd, text, sizeof(text)) > 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

static bool list_dir(const char *path)
{
	DIR *d = opendir(path);

	while (d && readdir(d))
		;
	return d && closedir(d) == 0;
}

static bool read_clock(pid_t pid)
{
	struct timespec ts;
	clockid_t id;

	return clock_getcpuclockid(pid, &id) == 0 && clock_gettime(id, &ts) == 0;
}

/* One descriptor for all rounds: what is left when nothing has to be opened. */
static bool read_kept(const char *path)
{
	static int fd = -1;
	char text[128];

	if (fd < 0)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && pread(fd, text, sizeof(text), 0) > 0;
}

enum kind { SCHEDSTAT, KEPT, CLOCK, TASKS, TASK_DIR, STAT, CPUACCT, CPU_STAT };

static bool look(const struct node *n, enum kind kind, int round)
{
	int i = round % (n->steps * n->tasks);
	int pid = (int)n->task[i];
	char path[256];

	switch (kind) {
	case SCHEDSTAT:
		snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
		return read_line(path);
	case KEPT:
		snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)n->task[0]);
		return read_kept(path);
	case CLOCK:
		return read_clock(pid);
	case TASKS:
		snprintf(path, sizeof(path), "/sys/fs/cgroup/cpuset/%s/uid_0/job_%d/step_0/tasks",
			n->top, round % n->steps + 1);
		return read_file(path);
	case TASK_DIR:
		snprintf(path, sizeof(path), "/proc/%d/task", pid);
		return list_dir(path);
	case STAT:
		snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, pid);
		return read_file(path);
	case CPUACCT:
		return read_file("/sys/fs/cgroup/cpuacct/cpuacct.usage");
	default:
		return read_file("/sys/fs/cgroup/unified/cpu.stat") ||
		       read_file("/sys/fs/cgroup/cpu.stat");
	}
}

static double measure(const struct node *n, enum kind kind)
{
	int64_t start;
	int rounds = 0;

	if (!look(n, kind, 0))
		return NAN;
	start = own_cpu_ns();
	while (own_cpu_ns() - start < ROUNDS_NS) {
		for (int i = 0; i < 64; i++)
			look(n, kind, rounds + i);
		rounds += 64;
	}
	return (double)(own_cpu_ns() - start) / rounds / 1e3;
}

void reads_measure(const struct node *n, struct reads *ret)
{
	*ret = (struct reads){
		.schedstat_us = measure(n, SCHEDSTAT),
		.kept_us = measure(n, KEPT),
		.clock_us = measure(n, CLOCK),
		.tasks_us = measure(n, TASKS),
		.task_dir_us = measure(n, TASK_DIR),
		.stat_us = measure(n, STAT),
		.cpuacct_us = measure(n, CPUACCT),
		.cpu_stat_us = measure(n, CPU_STAT),
	};
}
