/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files below /proc and /sys, whole: "PATH\n" and its text, several with "\n===\n" between. What
 * reads them through an fsroot (schedstat, status, maps, environ, cgroup, task lists, cpusets,
 * caches) refuses or has figures that can be.
 */
#include <errno.h>
#include <math.h>
#include <sys/stat.h>

#include "nodesvc/actuate/internal.h"
#include "nodesvc/counters/counters.h"
#include "nodesvc/counters/events.h"
#include "nodesvc/ctl/ctl.h"
#include "nodesvc/counters/polling.h"
#include "tests/fuzz/fuzz.h"

#define STEP_V1 "sys/fs/cgroup/cpuset/slurm_n/uid_0/job_1/step_0"
#define STEP_V2 "sys/fs/cgroup/system.slice/slurmstepd.scope/job_1/step_0/user"

/* Only these: what nobody reads is no input. */
static const char *const known[] = {
	"proc/1/schedstat",
	"proc/2/schedstat",
	"proc/1/status",
	"proc/1/maps",
	"proc/1/environ",
	"proc/1/stat",
	"proc/1/cgroup",
	"proc/self/mountinfo",
	"proc/cpuinfo",
	STEP_V1 "/cpuset.cpus",
	STEP_V1 "/tasks",
	STEP_V2 "/cpuset.cpus",
	STEP_V2 "/cpuset.cpus.effective",
	STEP_V2 "/cgroup.threads",
	"sys/devices/system/cpu/cpu0/cache/index0/size",
	"sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list",
	"sys/devices/system/cpu/cpu0/cache/index0/type",
	"sys/devices/system/cpu/cpu0/cache/index0/level",
};
#define N_KNOWN (sizeof(known) / sizeof(known[0]))

static void put(const char *path, const char *text)
{
	char full[512];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", fuzz_dir(), path);
	for (char *p = full + strlen(fuzz_dir()) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(full, 0755);
		*p = '/';
	}
	f = fopen(full, "we");
	FUZZ_ASSERT(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void clear(void)
{
	char full[512];

	for (size_t i = 0; i < N_KNOWN; i++) {
		snprintf(full, sizeof(full), "%s/%s", fuzz_dir(), known[i]);
		unlink(full);
	}
}

static void check_utilization(const struct fsroot *root)
{
	const pid_t tid[] = {1, 2};
	struct utilization *u = NULL;
	struct polling p = {0};
	struct errbuf err = {""};
	double runnable = NAN;
	struct signal s;

	FUZZ_ASSERT(utilization_open(&u, root, NULL) == 0);
	for (int i = 0; i < 2; i++) {
		int rc = utilization_read(
			u, tid, 2, INT64_C(1000000000) * (i + 1), 2, NULL, &s, &runnable, &err);

		FUZZ_ASSERT_RESULT(rc, err);
		if (rc < 0)
			break;
		FUZZ_ASSERT(s.provenance == PROVENANCE_NONE || (s.value >= 0 && s.value <= 1));
		if (i == 0)
			put("proc/1/schedstat", "2000000000 1000000000 99999\n");
	}
	polling_sample(&p, root, tid, 2, 2);
	FUZZ_ASSERT(p.ranks >= 0 && p.ranks <= 2);
	look_done(&p.look);
	utilization_close(u);
}

static void check_step(const struct fsroot *root, const char *dir, const char *file,
	int (*scan)(
		const struct fsroot *root, const char *path, struct proc_thread **ret, int *ret_n))
{
	struct proc_thread *threads = NULL;
	struct coreset set = {{42}};
	struct errbuf err = {""};
	char text[CPUS_TEXT_MAX];
	uint64_t mark;
	int n = 0;

	if (scan(root, dir, &threads, &n) == 0)
		for (int i = 0; i < n; i++)
			FUZZ_ASSERT(threads[i].tid > 0);
	free(threads);
	proc_mark(root, dir, file, &mark);
	if (cpus_read(root, dir, &set, &err) < 0)
		FUZZ_ASSERT(set.w[0] == 42);
	cpus_read_text(root, dir, text, sizeof(text), &set, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char mount[256], top[256];
	struct fsroot root;
	struct errbuf err = {""};
	struct proc_stat st;
	struct cpu_id id;
	struct llc llc = {0};
	char *part;

	clear();
	while ((part = fuzz_part(&data, &size))) {
		char *text = strchr(part, '\n');

		if (text)
			*text++ = '\0';
		for (size_t i = 0; text && i < N_KNOWN; i++)
			if (strcmp(known[i], part) == 0)
				put(part, text);
		free(part);
	}
	FUZZ_ASSERT(fsroot_open(&root, fuzz_dir(), NULL) == 0);
	check_step(&root, STEP_V1, "tasks", proc_scan_all);
	check_step(&root, STEP_V2, "cgroup.threads", proc_scan_tree);
	proc_stat_read(&root, 1, 1, &st);
	locate_mount(&root, &hierarchies[0]->mount, mount, top, sizeof(mount), &err);
	cpu_id_read(&id, &root, &err);
	llc_share(&root, 4, 2, &llc);
	check_utilization(&root);
	fsroot_close(&root);
	return 0;
}
