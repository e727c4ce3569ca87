/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pmu_step SOURCE PID CGROUP|- GO DONE CPUSET CPUS - counts what the process PID of a job step
 * executes between making the file GO and seeing DONE, by our own backend SOURCE (papi, perf) as
 * the daemon would; 200 ms into it the step is moved by writing CPUS to CPUSET. Prints
 * "instructions=N cycles=N provides=MASK before=CPU after=CPU".
 *
 * pmu_step presets - the PAPI presets that would serve, "NAME claimed|absent" each: what the
 * library says it has, to be held against what the probe found counting.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <papi.h>

#include "nodesvc/counters/counters.h"

static int fail(const char *what, const struct errbuf *err)
{
	fprintf(stderr, "pmu_step: %s: %s\n", what, err ? err->text : "");
	return 1;
}

static int presets(void)
{
	static const char *const name[] = {"PAPI_TOT_INS", "PAPI_TOT_CYC", "PAPI_LD_INS",
		"PAPI_L1_DCM", "PAPI_L2_DCA", "PAPI_L2_DCM", "PAPI_L2_TCA", "PAPI_L2_TCM",
		"PAPI_BR_MSP"};

	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
		return fail("PAPI_library_init", NULL);
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		long long count = -1;
		int set = PAPI_NULL;
		bool ok = PAPI_create_eventset(&set) == PAPI_OK &&
			  PAPI_add_named_event(set, name[i]) == PAPI_OK &&
			  PAPI_start(set) == PAPI_OK;

		for (volatile int turn = 0; ok && turn < 100000; turn++)
			;
		if (ok)
			ok = PAPI_stop(set, &count) == PAPI_OK;
		printf("%s %s", name[i], ok ? "claimed" : "absent");
		printf(ok ? " %lld\n" : "\n", count);
	}
	return 0;
}

/* The CPU a process last ran on: field 39 of /proc/PID/stat. */
static int last_cpu(const char *pid)
{
	char path[64], text[1024];
	const char *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	p = strrchr(text, ')');
	for (int field = 2; p && field < 39; field++)
		p = strchr(p + 1, ' ');
	return p ? atoi(p) : -1;
}

static int touch(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

	return fd < 0 ? -1 : close(fd);
}

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		close(fd);
	return n < 0 ? -1 : 0;
}

/* Until the file is there, without waking up in between: the emulated cores have one count of
 * instructions, and what this process executes meanwhile would be the step's. */
static int wait_for(const char *path)
{
	char dir[4096], event[4096] __attribute__((aligned(8)));
	int fd = inotify_init1(IN_CLOEXEC), rc = 0;

	snprintf(dir, sizeof(dir), "%s", path);
	if (fd < 0 || inotify_add_watch(fd, dirname(dir), IN_CREATE) < 0)
		rc = -1;
	while (!rc && access(path, F_OK))
		rc = read(fd, event, sizeof(event)) > 0 ? 0 : -1;
	if (fd >= 0)
		close(fd);
	return rc;
}

int main(int argc, char **argv)
{
	const struct counters_ops *ops;
	struct counter_target target = {NULL, 1, NULL};
	struct counters *c = NULL;
	struct errbuf err = {""};
	struct sample a, b;
	uint32_t provides = 0;
	int before, after;
	pid_t pid;

	if (argc == 2 && !strcmp(argv[1], "presets"))
		return presets();
	if (argc != 8)
		return 2;
	ops = strcmp(argv[1], "papi") ? &counters_perf : &counters_papi;
	pid = (pid_t)atoi(argv[2]);
	target.tid = &pid;
	target.cgroup = strcmp(argv[3], "-") ? argv[3] : NULL;
	if (ops->probe(&provides, &err) || ops->open(&c, &target, &err))
		return fail(argv[1], &err);
	if (ops->read(c, &target, &a, &err))
		return fail("first read", &err);
	if (touch(argv[4]))
		return fail("cannot make GO", NULL);
	usleep(200000);
	before = last_cpu(argv[2]);
	if (put(argv[6], argv[7]))
		return fail("cannot move the step", NULL);
	if (wait_for(argv[5]))
		return fail("cannot wait for DONE", NULL);
	after = last_cpu(argv[2]);
	if (ops->read(c, &target, &b, &err))
		return fail("second read", &err);
	ops->close(c);
	printf("instructions=%" PRIu64 " cycles=%" PRIu64 " provides=%#x before=%d after=%d\n",
		b.count[COUNTER_INSTRUCTIONS] - a.count[COUNTER_INSTRUCTIONS],
		b.count[COUNTER_CYCLES] - a.count[COUNTER_CYCLES], provides, before, after);
	return 0;
}
