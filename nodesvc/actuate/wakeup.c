/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/actuate/wakeup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"

#define CPU_DIR "sys/devices/system/cpu"
#define LATENCY "pm_qos_resume_latency_us"
#define WHAT    "resume latency"
/* "sys/devices/system/cpu/cpu1023/power/pm_qos_resume_latency_us" */
#define PATH_SIZE 96
/* The kernel's word for 0, the only latency at which it never halts; "0" is none asked for. */
#define POLLS "n/a"
/* CPUs of one transaction; a larger set takes several. */
#define ROWS_MAX 64

static int read_line(const struct fsroot *root, const char *path, char *ret, size_t size)
{
	ssize_t n = fsroot_read(root, path, ret, size);

	if (n < 0)
		return (int)n;
	ret[strcspn(ret, "\n")] = '\0';
	return 0;
}

static void latency_path(char ret[static PATH_SIZE], const char *dir)
{
	snprintf(ret, PATH_SIZE, "%.40s/power/" LATENCY, dir);
}

int wakeup_probe(const struct fsroot *root, bool *ret_guest, struct errbuf *err)
{
	char text[64];

	if (read_line(root, CPU_DIR "/cpuidle/current_driver", text, sizeof(text)) < 0 ||
		strcmp(text, "none") == 0)
		return err_set(err, -ENOTSUP, "the kernel has no cpuidle driver");
	*ret_guest = strcmp(text, "haltpoll") == 0;
	if (read_line(root, CPU_DIR "/cpu0/cpuidle/state0/name", text, sizeof(text)) < 0 ||
		strcmp(text, "POLL") != 0)
		return err_set(err, -ENOTSUP, "CPUs have no idle state in which they poll");
	if (!fsroot_exists(root, CPU_DIR "/cpu0/power/" LATENCY))
		return err_set(err, -ENOTSUP, "/" CPU_DIR "/cpu0/power/" LATENCY " is not there");
	return 0;
}

/* 1: @ret is to be changed, with its original; 0: it polls already, or is not there. */
static int look_at(
	const struct fsroot *root, int cpu, struct ledger_setting *ret, struct errbuf *err)
{
	char path[PATH_SIZE];
	int rc;

	memset(ret, 0, sizeof(*ret));
	snprintf(ret->path, sizeof(ret->path), CPU_DIR "/cpu%d", cpu);
	snprintf(ret->what, sizeof(ret->what), WHAT);
	latency_path(path, ret->path);
	rc = read_line(root, path, ret->value, sizeof(ret->value));
	if (rc == -ENOENT || (rc == 0 && strcmp(ret->value, POLLS) == 0))
		return 0;
	if (rc < 0)
		return err_set(err, rc, "/%s: %s", path, strerror(-rc));
	ret->inode = (uint64_t)fsroot_inode(root, ret->path);
	return 1;
}

static int write_polls(
	const struct fsroot *root, const struct ledger_setting *row, struct errbuf *err)
{
	char path[PATH_SIZE], text[32] = "";
	int rc;

	latency_path(path, row->path);
	rc = fsroot_write(root, path, POLLS "\n");
	if (rc == 0)
		rc = read_line(root, path, text, sizeof(text));
	if (rc < 0)
		return err_set(err, rc, "/%s: %s", path, strerror(-rc));
	if (strcmp(text, POLLS) != 0)
		return err_set(
			err, -EIO, "/%s: '" POLLS "' was written, '%s' is there", path, text);
	return 0;
}

int wakeup_poll(const struct fsroot *root, struct ledger *ledger, const struct coreset *cpus,
	struct errbuf *err)
{
	struct ledger_setting row[ROWS_MAX];
	int cpu = coreset_next(cpus, 0);

	while (cpu >= 0) {
		int n = 0, rc = 0;

		for (; cpu >= 0 && n < ROWS_MAX; cpu = coreset_next(cpus, cpu + 1)) {
			rc = look_at(root, cpu, &row[n], err);
			if (rc < 0)
				return rc;
			n += rc;
		}
		rc = n ? ledger_setting_add(ledger, row, n, err) : 0;
		for (int i = 0; rc == 0 && i < n; i++)
			rc = write_polls(root, &row[i], err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* What another hand wrote since is its, and a CPU that has gone needs nothing. */
static int put_back(const struct fsroot *root, const struct ledger_setting *row, struct errbuf *err)
{
	char path[PATH_SIZE], text[66];
	int rc;

	latency_path(path, row->path);
	rc = read_line(root, path, text, sizeof(text));
	if (rc == 0 && strcmp(text, POLLS) == 0) {
		snprintf(text, sizeof(text), "%s\n", row->value);
		rc = fsroot_write(root, path, text);
	}
	return rc < 0 && rc != -ENOENT ? err_set(err, rc, "/%s: %s", path, strerror(-rc)) : 0;
}

int wakeup_restore(const struct fsroot *root, struct ledger *ledger, const struct coreset *cpus,
	struct errbuf *err)
{
	cleanup_free struct ledger_setting *row = NULL;
	int n, done = 0, first_rc = 0, rc = ledger_settings(ledger, NULL, WHAT, &row, &n, err);

	if (rc < 0)
		return rc;
	for (int i = 0; i < n; i++) {
		struct errbuf why;
		unsigned int cpu;

		if (sscanf(row[i].path, CPU_DIR "/cpu%u", &cpu) != 1 ||
			(cpus && !coreset_has(cpus, cpu)))
			continue;
		rc = put_back(root, &row[i], &why);
		if (rc == 0)
			rc = ledger_setting_forget(ledger, row[i].path, WHAT, &why);
		if (rc == 0) {
			done++;
		} else if (first_rc == 0) {
			first_rc = rc;
			if (err)
				*err = why;
		}
	}
	return first_rc < 0 ? first_rc : done;
}
