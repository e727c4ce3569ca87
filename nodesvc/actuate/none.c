/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * none.c - changes nothing: where no cgroup backend fits. Steps are still told from the path of
 * any hierarchy that Slurm keeps, so jobs are seen and accounted.
 */
#include "nodesvc/actuate/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

static bool parse(const char *path, struct step_cgroup *ret)
{
	for (int i = 0; hierarchies[i]; i++)
		if (hierarchies[i]->parse(path, ret) == 0)
			return true;
	return false;
}

static int none_locate(struct actuate *a, pid_t pid, struct step_cgroup *ret, struct errbuf *err)
{
	cleanup_free char *text = NULL;
	char file[64];
	ssize_t n;

	snprintf(file, sizeof(file), "proc/%d/cgroup", (int)pid);
	n = fsroot_read_alloc(a->root, file, &text);
	if (n < 0)
		return err_set(err, n == -ESRCH ? -ENOENT : (int)n, "process %d: %s", (int)pid,
			strerror((int)-n));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		const char *path = strchr(line, ':');

		path = path ? strchr(path + 1, ':') : NULL;
		if (path && parse(path + 1, ret)) {
			ret->job_path[0] = ret->step_path[0] = '\0';
			return 0;
		}
	}
	return err_set(err, -ENOENT, "process %d is in no Slurm step", (int)pid);
}

static int none_threads(struct actuate *a, const struct step_cgroup *s, pid_t **ret, int *ret_n)
{
	(void)a, (void)s, (void)ret, (void)ret_n;
	return -ENOTSUP;
}

static int none_allocation(struct actuate *a, const struct step_cgroup *s, struct coreset *ret_job,
	struct coreset *ret_step, struct errbuf *err)
{
	(void)s, (void)err;
	*ret_job = *ret_step = a->all_pus;
	return 0;
}

static int none_apply(struct actuate *a, const struct step_cgroup *s, const struct coreset *set,
	struct actuate_result *ret, struct errbuf *err)
{
	(void)s, (void)set, (void)err;
	*ret = (struct actuate_result){.coreset = a->all_pus};
	return 0;
}

static int none_verify(struct actuate *a, const struct step_cgroup *s, const struct coreset *set)
{
	(void)a, (void)s, (void)set;
	return 0;
}

static int none_current(
	struct actuate *a, const struct step_cgroup *s, struct coreset *ret, struct errbuf *err)
{
	(void)s;
	*ret = a->all_pus;
	return err_set(err, -ENOTSUP, "%s", a->why_not);
}

/* What another backend left in the ledger is not ours to drop. */
static int none_restore(struct actuate *a, const struct step_cgroup *s, struct errbuf *err)
{
	struct ledger_cpuset cs;

	if (!s->step_path[0] || ledger_get_cpuset(a->ledger, s->step_path, &cs, NULL) == -ENOENT)
		return 0;
	return err_set(err, -ENOTSUP, "%s: %s", s->step_path, a->why_not);
}

const struct actuate_ops actuate_none = {
	.name = "none",
	.locate = none_locate,
	.threads = none_threads,
	.allocation = none_allocation,
	.apply = none_apply,
	.verify = none_verify,
	.current = none_current,
	.restore = none_restore,
};
