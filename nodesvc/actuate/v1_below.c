/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * v1_below.c - cpusets below a step's, which a container runtime makes for its container (runc: a
 * copy of the step's at that time) and nobody changes afterwards. In v1 a level neither shrinks
 * below what is under it nor lends what it gains: without this a container could be neither moved
 * nor widened.
 */
#include "nodesvc/actuate/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Passes over the levels, which are written from the top down. */
#define PASSES_MAX 8

struct below {
	const struct masks *m;
	const struct coreset *set;
	bool busy, grow;
};

static int count(const struct fsroot *root, const char *dir, void *arg, struct errbuf *err)
{
	int *n = arg;

	(void)root;
	(void)dir;
	(void)err;
	(*n)++;
	return 0;
}

int v1_below_count(struct actuate *a, const char *step_path, int *ret_n, struct errbuf *err)
{
	*ret_n = -1; /* itself */
	return tree_each(a->root, step_path, count, ret_n, err);
}

static int record(const struct masks *m, const char *dir, struct errbuf *err)
{
	struct actuate *a = m->a;
	struct ledger_cpuset cs = {.inode = 0};
	struct coreset now;
	int rc = change_recorded(a, dir, NULL, NULL, err);

	if (rc != -ENOENT)
		return rc;
	rc = change_inode(a, dir, &cs.inode, err);
	if (rc < 0)
		return rc;
	if (strlen(dir) >= sizeof(cs.path))
		return err_set(err, -ENAMETOOLONG, "%.200s: too long for the ledger", dir);
	rc = cpus_read_text(a->root, dir, cs.cpus, sizeof(cs.cpus), &now, err);
	if (rc < 0)
		return rc;
	/* A copy of what we gave the step: without us it were one of Slurm's. */
	if (m->is_ours && coreset_is_equal(&now, &m->before_cpus))
		coreset_format(&m->original_cpus, cs.cpus, sizeof(cs.cpus));
	snprintf(cs.path, sizeof(cs.path), "%s", dir);
	rc = ledger_add(a->ledger, &cs, NULL, 0, err);
	return rc < 0 ? err_wrap(err, rc, "%s: left as it is, no ledger", dir) : 0;
}

/* Growing, a level has the set and what it had; else the set, once nothing below has more. */
static int write_level(const struct fsroot *root, const char *dir, void *arg, struct errbuf *err)
{
	struct below *b = arg;
	struct coreset now, want = *b->set;
	bool is_step = strcmp(dir, b->m->dir) == 0;
	int rc;

	if (is_step && !b->grow)
		return 0;
	rc = cpus_read(root, dir, &now, err);
	if (rc == 0 && !is_step)
		rc = record(b->m, dir, err);
	if (rc < 0)
		return rc;
	if (b->grow)
		coreset_or(&want, &want, &now);
	rc = cpus_write(root, dir, &want, err);
	if (rc != -EBUSY || b->grow)
		return rc;
	b->busy = true;
	return 0;
}

int v1_below_follow(const struct masks *m, const struct coreset *set, struct errbuf *err)
{
	struct below b = {.m = m, .set = set, .grow = true};
	int n, rc = v1_below_count(m->a, m->dir, &n, err);

	if (rc < 0 || n == 0)
		return rc;
	rc = tree_each(m->a->root, m->dir, write_level, &b, err);
	b.grow = false;
	for (int pass = 0; rc == 0 && pass < PASSES_MAX; pass++) {
		b.busy = false;
		rc = tree_each(m->a->root, m->dir, write_level, &b, err);
		if (!b.busy)
			break;
	}
	return rc;
}

bool v1_is_below(const char *path)
{
	const char *step = strstr(path, "/step_");

	return step && strchr(step + 1, '/');
}

int v1_below_restore(struct actuate *a, const char *path, struct errbuf *err)
{
	struct ledger_cpuset cs;
	struct coreset original, now;
	int rc = change_recorded(a, path, &cs, &original, err);

	if (rc < 0)
		return rc == -ENOENT ? 0 : rc;
	rc = cpus_put_back(a->root, path, "cpuset.cpus", &original, &now, err);
	return rc == 0 || (rc == -ENOENT && fsroot_is_there(a->root, path, cs.inode) == 0)
		       ? ledger_forget(a->ledger, path, err)
		       : rc;
}

int v1_below_restore_all(struct actuate *a, const char *step_path, struct errbuf *err)
{
	size_t len = strlen(step_path);
	char **path;
	int n, first_rc = 0, rc = ledger_paths(a->ledger, &path, &n, err);

	if (rc < 0)
		return rc;
	for (int i = 0; i < n; i++) {
		struct errbuf why = {""};

		rc = strncmp(path[i], step_path, len) == 0 && path[i][len] == '/'
			     ? v1_below_restore(a, path[i], &why)
			     : 0;
		if (rc < 0 && !first_rc)
			first_rc = err_set(err, rc, "%s", why.text);
		free(path[i]);
	}
	free(path);
	return first_rc;
}
