/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf.c - counts from perf_event_open(2): of a whole cgroup, per CPU, where the step has one to
 * itself; else of each thread, with what it starts later. Hardware events only: a software event
 * that works says nothing about a PMU.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/coreset.h"
#include "common/ipc.h"
#include "nodesvc/counters/counters.h"
#include "nodesvc/counters/cover.h"
#include "nodesvc/counters/events.h"
#include "nodesvc/counters/probe.h"

#define CACHE(level, op, result)                                                                   \
	(PERF_COUNT_HW_CACHE_##level | PERF_COUNT_HW_CACHE_OP_##op << 8 |                          \
		PERF_COUNT_HW_CACHE_RESULT_##result << 16)

struct event_kind {
	enum counter_id counter;
	uint32_t type;
	uint64_t config;
	const char *name;
};

/* The kernel's generic events, in order of preference; an event map of the CPU at hand comes
 * before them. Last-level accesses are reads where the kernel tells them apart: what makes a
 * thread wait. */
static const struct event_kind generic[] = {
	{COUNTER_INSTRUCTIONS, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, "instructions"},
	{COUNTER_CYCLES, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, "cpu-cycles"},
	{COUNTER_LOADS, PERF_TYPE_HW_CACHE, CACHE(L1D, READ, ACCESS), "L1-dcache-loads"},
	{COUNTER_LLC_REFS, PERF_TYPE_HW_CACHE, CACHE(LL, READ, ACCESS), "LLC-loads"},
	{COUNTER_LLC_REFS, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, "cache-references"},
	{COUNTER_LLC_MISSES, PERF_TYPE_HW_CACHE, CACHE(LL, READ, MISS), "LLC-load-misses"},
	{COUNTER_LLC_MISSES, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, "cache-misses"},
};
#define N_GENERIC (sizeof(generic) / sizeof(generic[0]))
#define N_KINDS   (N_GENERIC + COUNTER_COUNT)

/* The events tried on this machine, and what the probe saw counting; the machine does not change
 * while we run. */
static struct event_kind kinds[N_KINDS];
static const struct event_kind *chosen[COUNTER_COUNT];
static const struct event_map *map; /* NULL: none for this CPU */
static bool usable;

struct event_set {
	int fd[COUNTER_COUNT]; /* -1 not counted */
};

struct counters {
	bool by_cgroup;
	struct cover cover;
	struct event_set *set; /* one per CPU or thread */
	int n_sets;
};

static int event_open(const struct event_kind *k, pid_t pid, int cpu, unsigned long flags)
{
	struct perf_event_attr attr = {
		.type = k->type,
		.size = sizeof(attr),
		.config = k->config,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.inherit = !(flags & PERF_FLAG_PID_CGROUP),
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, pid, cpu, -1, flags | PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

/* Adds what @fd counted; false: it never ran although it should have. */
static bool event_read(int fd, double *sum, double *ratio)
{
	struct {
		uint64_t value, enabled, running;
	} v;

	if (read(fd, &v, sizeof(v)) != sizeof(v))
		return false;
	if (!v.enabled)
		return true; /* its thread has not run yet */
	if (!v.running)
		return false;
	*sum += (double)v.value * ((double)v.enabled / (double)v.running);
	*ratio = fmin(*ratio, (double)v.running / (double)v.enabled);
	return true;
}

static int explain(int rc, struct errbuf *why)
{
	char text[16] = "?";
	cleanup_close int fd = -1;
	ssize_t n;

	switch (-rc) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
	case EOPNOTSUPP:
		return err_set(why, -ENOTSUP,
			"no hardware counters on this machine: "
			"perf_event_open(instructions): %s",
			strerror(-rc));
	case EACCES:
	case EPERM:
		fd = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
		if (n > 0)
			text[n - (text[n - 1] == '\n')] = '\0';
		return err_set(why, -EACCES,
			"perf_event_open: %s "
			"(kernel.perf_event_paranoid = %s; run as root or lower it)",
			strerror(-rc), text);
	case ENOSYS:
		return err_set(why, -ENOTSUP, "this kernel has no perf events");
	}
	return err_set(why, rc, "perf_event_open: %s", strerror(-rc));
}

/* Fills kinds[]; returns how many. Instructions stay the first: what probing hangs on. */
static size_t list_kinds(void)
{
	struct fsroot root = {.fd = -1};
	struct cpu_id id;
	size_t n = 0;

	map = NULL;
	if (!fsroot_open(&root, NULL, NULL) && !cpu_id_read(&id, &root, NULL))
		map = event_map_find(&id);
	fsroot_close(&root);
	kinds[n++] = generic[0];
	for (int c = 0; map && c < COUNTER_COUNT; c++)
		if (map->code[c].name)
			kinds[n++] = (struct event_kind){(enum counter_id)c, PERF_TYPE_RAW,
				map->code[c].config, map->code[c].name};
	for (size_t i = 1; i < N_GENERIC; i++)
		kinds[n++] = generic[i];
	return n;
}

static const char *perf_event(enum counter_id c, const char **ret_remark)
{
	bool raw = chosen[c] && chosen[c]->type == PERF_TYPE_RAW;

	*ret_remark = map && (raw || !map->code[c].name) ? map->code[c].remark : NULL;
	return chosen[c] ? chosen[c]->name : NULL;
}

static int perf_probe(uint32_t *ret_provides, struct errbuf *why)
{
	struct probe_child child;
	uint32_t provides = 0;
	size_t n_kinds = list_kinds();
	int fd[N_KINDS], rc, first_rc = 0;

	memset(chosen, 0, sizeof(chosen));
	usable = false;
	rc = probe_child_start(&child, why);
	if (rc)
		return rc;
	for (size_t i = 0; i < n_kinds; i++) {
		fd[i] = event_open(&kinds[i], child.pid, -1, 0);
		if (i == 0 && fd[i] < 0)
			first_rc = fd[i];
	}
	/* Without instructions there is no PMU to speak of; do not spend the child's work. */
	rc = first_rc ? explain(first_rc, why) : probe_child_go(&child, why);
	for (size_t i = 0; i < n_kinds; i++) {
		enum counter_id c = kinds[i].counter;
		double sum = 0.0, ratio = 1.0;

		if (fd[i] < 0)
			continue;
		if (!rc && !chosen[c] && event_read(fd[i], &sum, &ratio) &&
			probe_is_plausible(c, (uint64_t)sum)) {
			chosen[c] = &kinds[i];
			provides |= COUNTER_BIT(c);
		}
		close(fd[i]);
	}
	probe_child_finish(&child);
	if (rc)
		return rc;
	if (!provides)
		return err_set(why, -ENOTSUP,
			"hardware events open, but none counted the work of a child");
	usable = true;
	*ret_provides = provides;
	return 0;
}

static void perf_close(struct counters *c)
{
	if (!c)
		return;
	for (int i = 0; i < c->n_sets; i++)
		for (int e = 0; e < COUNTER_COUNT; e++)
			if (c->set[i].fd[e] >= 0)
				close(c->set[i].fd[e]);
	free(c->set);
	cover_done(&c->cover);
	free(c);
}

/* Opens the chosen events; -ESRCH: the thread has gone, nothing added. */
static int add_set(struct counters *c, pid_t pid, int cpu, unsigned long flags, struct errbuf *err)
{
	struct event_set s, *grown;
	int rc = 0;

	grown = realloc(c->set, sizeof(*c->set) * (size_t)(c->n_sets + 1));
	if (!grown)
		return err_set(err, -ENOMEM, "perf: out of memory");
	c->set = grown;
	for (int e = 0; e < COUNTER_COUNT; e++) {
		s.fd[e] = chosen[e] && !rc ? event_open(chosen[e], pid, cpu, flags) : -1;
		if (chosen[e] && !rc && s.fd[e] < 0)
			rc = s.fd[e];
	}
	if (rc) {
		for (int e = 0; e < COUNTER_COUNT; e++)
			if (s.fd[e] >= 0)
				close(s.fd[e]);
		return rc == -ESRCH ? rc : explain(rc, err);
	}
	c->set[c->n_sets++] = s;
	return 0;
}

static int open_cgroup(struct counters *c, const char *cgroup, struct errbuf *err)
{
	cleanup_close int dir = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_file FILE *f = NULL;
	char line[CORESET_STR_MAX];
	struct coreset online;
	int rc;

	if (dir < 0)
		return err_set(err, -errno, "%s: %s", cgroup, strerror(errno));
	f = fopen("/sys/devices/system/cpu/online", "re");
	if (!f || !fgets(line, sizeof(line), f))
		return err_set(err, -EIO, "perf: cannot read the list of online CPUs");
	rc = coreset_parse(&online, line, err);
	if (rc)
		return rc;
	coreset_for_each (cpu, &online) {
		rc = add_set(c, dir, cpu, PERF_FLAG_PID_CGROUP, err);
		if (rc)
			return rc;
	}
	c->by_cgroup = true;
	return 0;
}

static int take_up(struct counters *c, const struct counter_target *target, struct errbuf *err)
{
	for (int i = 0; i < target->n_tids; i++) {
		int rc = cover_take(&c->cover, target->tid[i]);

		if (rc < 0)
			return err_set(err, rc, "perf: out of memory");
		if (rc == 0)
			continue;
		rc = add_set(c, target->tid[i], -1, 0, err);
		if (rc && rc != -ESRCH)
			return rc;
	}
	cover_seal(&c->cover);
	return 0;
}

static int perf_open(struct counters **ret, const struct counter_target *target, struct errbuf *err)
{
	struct counters *c;
	uint32_t provides;
	int rc;

	if (!usable) {
		rc = perf_probe(&provides, err);
		if (rc)
			return rc;
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return err_set(err, -ENOMEM, "perf: out of memory");
	cover_init(&c->cover, true);
	if (target->cgroup && !open_cgroup(c, target->cgroup, NULL)) {
		*ret = c;
		return 0;
	}
	/* A cgroup that perf does not take (a controller mounted elsewhere): thread by thread. */
	for (int i = 0; i < c->n_sets; i++)
		for (int e = 0; e < COUNTER_COUNT; e++)
			if (c->set[i].fd[e] >= 0)
				close(c->set[i].fd[e]);
	c->n_sets = 0;
	rc = take_up(c, target, err);
	if (!rc && !c->n_sets)
		rc = err_set(err, -ESRCH, "perf: none of the step's threads is there");
	if (rc) {
		perf_close(c);
		return rc;
	}
	*ret = c;
	return 0;
}

static int perf_read(struct counters *c, const struct counter_target *target, struct sample *ret,
	struct errbuf *err)
{
	struct sample s = {.running_ratio = 1.0};

	if (!target->n_tids)
		return err_set(err, -ESRCH, "perf: the step has no threads left");
	if (!c->by_cgroup) {
		int rc = take_up(c, target, err);

		if (rc)
			return rc;
	}
	s.t_ns = ipc_now_ns();
	for (int e = 0; e < COUNTER_COUNT; e++) {
		double sum = 0.0;
		bool whole = chosen[e];

		for (int i = 0; i < c->n_sets && whole; i++)
			whole = event_read(c->set[i].fd[e], &sum, &s.running_ratio);
		if (!whole)
			continue;
		s.count[e] = (uint64_t)sum;
		s.valid |= COUNTER_BIT(e);
	}
	*ret = s;
	return 0;
}

const struct counters_ops counters_perf = {
	.name = "perf",
	.event = perf_event,
	.probe = perf_probe,
	.open = perf_open,
	.read = perf_read,
	.close = perf_close,
};
