/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_node.c - what the kernel of this node offers, and who else moves processes on it.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "nodesvc/actuate/actuate.h"
#include "nodesvc/ctl/check.h"
#include "nodesvc/ctl/ctl.h"

static void cgroups(struct check_list *l, const struct check_env *e)
{
	struct actuate_found found;

	if (!actuate_find(&e->root, &found))
		check_add(l, CHECK_FAIL, "cgroups",
			"Mount the cpuset controller, or boot with cgroup v2.",
			"neither v2 nor a v1 cpuset hierarchy at /%s", "sys/fs/cgroup");
	else if (found.advice)
		check_add(l, CHECK_FAIL, "cgroups", found.advice, "%s", found.text);
	else
		check_ok(l, "cgroups", "%s", found.text);
}

static bool has_pmu(const struct check_env *e)
{
	static const char *const PMU[] = {"cpu", "cpu_core", "armv8_pmuv3", "armv8_pmuv3_0"};

	for (size_t i = 0; i < sizeof(PMU) / sizeof(PMU[0]); i++) {
		char path[128];

		snprintf(path, sizeof(path), "sys/bus/event_source/devices/%s", PMU[i]);
		if (fsroot_exists(&e->root, path))
			return true;
	}
	return false;
}

static bool is_on_path(const struct check_env *e, const char *name)
{
	const char *env = *e->tree ? NULL : getenv("PATH");
	cleanup_free char *copy = strdup(env ? env : "/usr/local/bin:/usr/bin:/bin");
	char *save = NULL;

	for (char *d = copy ? strtok_r(copy, ":", &save) : NULL; d;
		d = strtok_r(NULL, ":", &save)) {
		char path[PATH_MAX];

		if (snprintf(path, sizeof(path), "%s%s/%s", e->tree, d, name) < (int)sizeof(path) &&
			access(path, X_OK) == 0)
			return true;
	}
	return false;
}

static void counters(struct check_list *l, const struct check_env *e)
{
	char text[64];
	struct json_object *signals;
	int paranoid = 0;
	bool pmu = has_pmu(e);

	if (pmu)
		check_ok(l, "counters", "the kernel has a hardware PMU");
	else
		check_add(l, CHECK_WARN, "counters",
			"Store profiles of the programs (colocctl profile --with=cachegrind -- "
			"COMMAND), "
			"or give the virtual machine a vPMU.",
			"no hardware PMU: policies that need counters use stored profiles");
	if (fsroot_read(&e->root, "proc/sys/kernel/perf_event_paranoid", text, sizeof(text)) > 0)
		paranoid = atoi(text);
	/* colocd is root; this is for users' own `colocctl profile`. */
	if (pmu && paranoid > 2)
		check_add(l, CHECK_WARN, "perf_event",
			"sysctl kernel.perf_event_paranoid=2, for users who take profiles.",
			"perf_event_paranoid is %d: only root counts", paranoid);
	if (is_on_path(e, "valgrind"))
		check_ok(l, "valgrind", "there, for profiles by cachegrind");
	else if (!pmu)
		check_add(l, CHECK_WARN, "valgrind", "Install the package valgrind.",
			"not found: without it and without a PMU no profile can be taken");
	if (!e->status)
		return;
	signals = show_get(e->status, "signals");
	check_ok(l, "signals", "colocd counts by %s", show_text(signals, "source"));
	if (!show_get(signals, "calls"))
		return;
	if (show_bool(signals, "calls"))
		check_ok(l, "calls", "of OpenMP's and MPI's functions are counted, %s",
			show_text(signals, "calls_text"));
	else
		check_add(l, CHECK_WARN, "calls",
			"A kernel with CONFIG_UPROBE_EVENTS, or calls.enabled: yes.",
			"not counted (%s): speeds of programs that publish nothing are unknown",
			show_text(signals, "calls_text"));
}

/* Programs that set affinities or cpusets themselves: two would undo each other. */
static void rivals(struct check_list *l, const struct check_env *e)
{
	static const char *const RIVAL[] = {"numad", "ananicy", "ananicy-cpp", "cpusetd"};
	int fd = fsroot_openat(&e->root, "proc", O_RDONLY | O_DIRECTORY);
	cleanup_dir DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	int found = 0;

	while (d && (entry = readdir(d))) {
		char path[300], comm[64];
		ssize_t n;

		if (!isdigit((unsigned char)*entry->d_name))
			continue;
		snprintf(path, sizeof(path), "proc/%s/comm", entry->d_name);
		n = fsroot_read(&e->root, path, comm, sizeof(comm));
		if (n <= 0)
			continue;
		comm[strcspn(comm, "\n")] = '\0';
		for (size_t i = 0; i < sizeof(RIVAL) / sizeof(RIVAL[0]); i++) {
			if (strcmp(comm, RIVAL[i]) != 0)
				continue;
			found++;
			check_add(l, CHECK_WARN, "rivals", "Stop and disable it on this node.",
				"%s runs (pid %s): it moves processes too, and does not put them "
				"back",
				comm, entry->d_name);
		}
	}
	if (!found)
		check_ok(l, "rivals", "nobody else moves processes");
}

void check_node(struct check_list *l, const struct check_env *e)
{
	cgroups(l, e);
	counters(l, e);
	rivals(l, e);
}
