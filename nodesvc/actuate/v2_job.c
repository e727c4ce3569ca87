/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * v2_job.c - the job level of cgroup v2, where a step's set goes beyond the job's allocation. It
 * is widened, never narrowed below what Slurm gave: slurmstepd and the other steps live on it.
 * Slurm writes its allocation there again at each new step, and the step's set is then no longer
 * in force: the watch tells, and the next apply widens again.
 *
 * Where sets stay inside the allocation nothing here is ever written.
 */
#include "nodesvc/actuate/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

int v2_above(const char *path, int levels, char *ret, size_t size)
{
	size_t len = strlen(path);

	for (; levels > 0; levels--) {
		while (len && path[len - 1] != '/')
			len--;
		if (!len)
			return -EINVAL;
		len--;
	}
	if (len >= size)
		return -ENAMETOOLONG;
	memcpy(ret, path, len);
	ret[len] = '\0';
	return 0;
}

/* The original into the ledger, once. */
static int record(struct actuate *a, const char *job, struct errbuf *err)
{
	struct ledger_cpuset cs = {.inode = 0};
	int rc = change_recorded(a, job, NULL, NULL, err);

	if (rc != -ENOENT)
		return rc;
	rc = change_inode(a, job, &cs.inode, err);
	if (rc == 0)
		rc = cpus_read_text(a->root, job, cs.cpus, sizeof(cs.cpus), NULL, err);
	if (rc < 0)
		return rc;
	snprintf(cs.path, sizeof(cs.path), "%s", job);
	rc = ledger_add(a->ledger, &cs, NULL, 0, err);
	return rc < 0 ? err_wrap(err, rc, "%s: left as it is, no ledger", job) : 0;
}

static int write_job(
	struct actuate *a, const char *job, const struct coreset *set, struct errbuf *err)
{
	int rc = cpus_write(a->root, job, set, err);

	if (rc == 0)
		watch_job(a, job, set);
	return rc;
}

int v2_job_widen(const struct masks *m, const struct coreset *set, struct errbuf *err)
{
	char job[sizeof(((struct step_cgroup *)0)->job_path)];
	char want[CORESET_STR_MAX], got[CORESET_STR_MAX];
	struct actuate *a = m->a;
	struct coreset now, wide;
	int rc = v2_above(m->path, 2, job, sizeof(job));

	if (rc < 0)
		return err_set(err, rc, "%s: no step below a job", m->path);
	rc = cpus_read_file(a->root, job, V2_EFFECTIVE, &now, err);
	if (rc < 0 || coreset_is_subset(set, &now))
		return rc;
	rc = cpus_read(a->root, job, &wide, err);
	if (rc < 0)
		return rc;
	/* Empty: it has all that there is above it. */
	if (!coreset_is_empty(&wide)) {
		rc = record(a, job, err);
		if (rc < 0)
			return rc;
		coreset_or(&wide, &wide, set);
		rc = write_job(a, job, &wide, err);
		if (rc == 0)
			rc = cpus_read_file(a->root, job, V2_EFFECTIVE, &now, err);
		if (rc < 0 || coreset_is_subset(set, &now))
			return rc;
	}
	return err_set(err, -ERANGE, "%s: '%.40s' is not inside '%.40s', all that its job can have",
		m->path, coreset_format(set, want, sizeof(want)),
		coreset_format(&now, got, sizeof(got)));
}

/* What the steps of @job that are in the ledger hold; *@ret_n of them. */
static int held_below(
	struct actuate *a, const char *job, struct coreset *ret, int *ret_n, struct errbuf *err)
{
	size_t len = strlen(job);
	char **path;
	int n, rc = ledger_paths(a->ledger, &path, &n, err);

	if (rc < 0)
		return rc;
	coreset_zero(ret);
	*ret_n = 0;
	for (int i = 0; i < n; i++) {
		struct coreset set;
		int one = strncmp(path[i], job, len) == 0 && path[i][len] == '/'
				  ? cpus_read(a->root, path[i], &set, err)
				  : -ENOENT;

		if (one == 0) {
			coreset_or(ret, ret, &set);
			(*ret_n)++;
		}
		/* What cannot be read may hold anything. */
		if (one < 0 && one != -ENOENT)
			rc = one;
		free(path[i]);
	}
	free(path);
	return rc;
}

int v2_job_settle(struct actuate *a, const char *job_path, struct errbuf *err)
{
	struct ledger_cpuset cs;
	struct coreset original, held;
	int n, rc = change_recorded(a, job_path, &cs, &original, err);

	if (rc < 0)
		return rc == -ENOENT ? 0 : rc;
	rc = held_below(a, job_path, &held, &n, err);
	if (rc < 0)
		return rc;
	coreset_or(&held, &held, &original);
	rc = cpus_put_back(a->root, job_path, V2_EFFECTIVE, &held, &held, err);
	if (rc == 0)
		watch_job(a, job_path, &held);
	if ((rc == -ENOENT && fsroot_is_there(a->root, job_path, cs.inode) == 0) ||
		(rc == 0 && n == 0))
		rc = ledger_forget(a->ledger, job_path, err);
	return rc;
}
