/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mems.c - cpuset.mems of steps, and the machine's memory nodes; mems_move.c has the pages. */
#include "nodesvc/actuate/actuate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "nodesvc/actuate/internal.h"

#define NODES "sys/devices/system/node"

/* ---- the machine --------------------------------------------------------------------------- */

int mems_of_cpus(const struct fsroot *root, const struct coreset *cpus, struct coreset *ret,
	int *ret_n, struct errbuf *err)
{
	struct coreset online, nodes;

	coreset_zero(ret);
	if (!fsroot_exists(root, NODES "/online")) { /* a kernel without NUMA */
		*ret_n = 1;
		return 0;
	}
	if (cpus_read_file(root, NODES, "online", &online, err) < 0)
		return -EIO;
	coreset_zero(&nodes);
	*ret_n = 0;
	coreset_for_each (node, &online) {
		struct coreset own;
		char dir[64];

		snprintf(dir, sizeof(dir), NODES "/node%d", node);
		if (cpus_read_file(root, dir, "cpulist", &own, err) < 0)
			return -EIO;
		if (coreset_intersects(&own, cpus))
			coreset_add(&nodes, (unsigned int)node);
		(*ret_n)++;
	}
	*ret = nodes;
	return 0;
}

/* "Node 0 MemFree:   123 kB" */
static uint64_t meminfo(const char *text, const char *what)
{
	const char *p = strstr(text, what);

	return p ? strtoull(p + strlen(what), NULL, 10) * 1024 : 0;
}

int mems_free(const struct fsroot *root, const struct coreset *nodes, uint64_t *ret_total,
	uint64_t *ret_free, struct errbuf *err)
{
	uint64_t total = 0, available = 0;

	coreset_for_each (node, nodes) {
		char path[64], text[4096];
		ssize_t n;

		snprintf(path, sizeof(path), NODES "/node%d/meminfo", node);
		n = fsroot_read(root, path, text, sizeof(text));
		if (n < 0)
			return err_set(err, (int)n, "/%s: %s", path, strerror((int)-n));
		total += meminfo(text, "MemTotal:");
		available += meminfo(text, "MemFree:") + meminfo(text, "Active(file):") +
			     meminfo(text, "Inactive(file):");
	}
	if (!total)
		return err_set(err, -EIO, "/" NODES ": no node says how much memory it has");
	*ret_total = total;
	*ret_free = available;
	return 0;
}

/* ---- a step's file ------------------------------------------------------------------------- */

/* 0, or -errno with the text; -ENOENT: the directory has gone. */
static int write_text(
	const struct actuate *a, const char *path, const char *text, struct errbuf *err)
{
	char file[FILE_MAX];
	int rc;

	snprintf(file, sizeof(file), "%s/" MEMS_FILE, path);
	rc = fsroot_write(a->root, file, *text ? text : "\n");
	if (rc == -ENODEV)
		rc = -ENOENT;
	return rc < 0 ? err_set(err, rc, "/%s: cannot write '%.60s': %s", file, text, strerror(-rc))
		      : 0;
}

int mems_read(const struct actuate *a, const char *path, struct coreset *ret, struct errbuf *err)
{
	return cpus_read_file(a->root, path, a->h->mems, ret, err);
}

int mems_write(
	const struct actuate *a, const char *path, const struct coreset *nodes, struct errbuf *err)
{
	char want[CORESET_STR_MAX], got[CORESET_STR_MAX];
	struct coreset now = {0};
	int rc;

	coreset_format(nodes, want, sizeof(want));
	rc = write_text(a, path, want, err);
	if (rc == 0)
		rc = cpus_read_file(a->root, path, a->h->mems, &now, err);
	if (rc < 0 || coreset_is_equal(&now, nodes))
		return rc;
	return err_set(err, -EIO, "/%s/%s: wrote '%.40s', reads '%.40s'", path, a->h->mems, want,
		coreset_format(&now, got, sizeof(got)));
}

int mems_record(struct actuate *a, const struct step_cgroup *s, const struct coreset *nodes,
	struct errbuf *err)
{
	struct ledger_setting row = {.what = MEMS_FILE};
	char file[FILE_MAX], text[CPUS_TEXT_MAX], want[CORESET_STR_MAX], have[CORESET_STR_MAX];
	struct coreset jobs;
	ssize_t n;
	int rc;

	if (!a->h)
		return err_set(err, -ENOTSUP, "no cgroup hierarchy to act in");
	rc = change_is_there(a, s->step_path, s->step_inode, err);
	if (rc == 0)
		rc = cpus_read_file(a->root, s->job_path, a->h->mems, &jobs, err);
	if (rc < 0)
		return rc;
	if (coreset_is_empty(nodes) || !coreset_is_subset(nodes, &jobs))
		return err_set(err, -ERANGE, "%s: memory nodes '%.40s' are not inside its '%.40s'",
			s->job_path, coreset_format(nodes, want, sizeof(want)),
			coreset_format(&jobs, have, sizeof(have)));
	snprintf(file, sizeof(file), "%s/" MEMS_FILE, s->step_path);
	n = fsroot_read(a->root, file, text, sizeof(text));
	if (n < 0)
		return err_set(err, (int)n, "/%s: %s", file, strerror((int)-n));
	text[strcspn(text, "\n")] = '\0';
	if (strlen(text) >= sizeof(row.value))
		return err_set(err, -E2BIG, "/%s: a list that the ledger cannot hold", file);
	memcpy(row.value, text, strlen(text) + 1);
	snprintf(row.path, sizeof(row.path), "%s", s->step_path);
	row.inode = s->step_inode;
	return ledger_setting_add(a->ledger, &row, 1, err);
}

/*
 * What the step had, or as much of it as the level above has by now (a memory node may have gone
 * offline); nothing left, or v2's empty list, which is not to be had again while there are threads
 * (ENOSPC): what is in force above, as with CPUs.
 */
static int put_back(struct actuate *a, const char *path, const char *value, struct errbuf *err)
{
	struct coreset nodes;
	char text[CORESET_STR_MAX];
	int rc = write_text(a, path, value, err);

	if (rc == 0 || rc == -ENOENT)
		return rc;
	rc = coreset_parse(&nodes, value, err);
	if (rc == 0)
		rc = cpus_cut_to_above(a->root, path, a->h->mems, &nodes, &nodes, err);
	return rc < 0 ? rc : write_text(a, path, coreset_format(&nodes, text, sizeof(text)), err);
}

int mems_restore_path(struct actuate *a, const char *path, struct errbuf *err)
{
	cleanup_free struct ledger_setting *row = NULL;
	int n, rc = ledger_settings(a->ledger, path, MEMS_FILE, &row, &n, err);

	if (rc < 0 || n == 0)
		return rc;
	rc = change_is_there(a, path, row[0].inode, err);
	if (rc == 0)
		rc = put_back(a, path, row[0].value, err);
	/* It ended, maybe under our hands: nothing to put back. */
	if (rc == -ENOENT && fsroot_is_there(a->root, path, row[0].inode) == 0)
		rc = 0;
	return rc < 0 ? rc : ledger_setting_forget(a->ledger, path, MEMS_FILE, err);
}

int mems_restore(struct actuate *a, const struct step_cgroup *s, struct errbuf *err)
{
	return mems_restore_path(a, s->step_path, err);
}

int mems_restore_all(struct actuate *a, struct errbuf *err)
{
	cleanup_free struct ledger_setting *row = NULL;
	int n, done = 0, first_rc = 0,
	       rc = ledger_settings(a->ledger, NULL, MEMS_FILE, &row, &n, err);

	if (rc < 0)
		return rc;
	for (int i = 0; i < n; i++) {
		struct errbuf why = {""};

		rc = mems_restore_path(a, row[i].path, &why);
		if (rc == 0)
			done++;
		else if (!first_rc)
			first_rc = err_set(err, rc, "%s", why.text);
	}
	return first_rc ? first_rc : done;
}
