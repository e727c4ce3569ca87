/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgroup.c - the ops that are the same in every hierarchy: what differs is in struct hierarchy.
 */
#include "nodesvc/actuate/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int cgroup_locate(struct actuate *a, pid_t pid, struct step_cgroup *ret, struct errbuf *err)
{
	return locate_pid(a, pid, a->h->controller, ret, err);
}

/* Where its threads are. True: not in the step's directory; what was moved out outlives the step,
 * so that is looked at last: -ENOENT. */
static bool is_out(const struct actuate *a, const struct step_cgroup *s, char *dir, size_t size)
{
	change_where(a->h, a, s->step_path, dir, size);
	return strcmp(dir, s->step_path) != 0;
}

int cgroup_threads(struct actuate *a, const struct step_cgroup *s, pid_t **ret, int *ret_n)
{
	char dir[FILE_MAX];
	bool out = is_out(a, s, dir, sizeof(dir));
	int rc = proc_list(
		a->root, dir, a->h->threads_file, a->h->tells_slurmstepd && !out, ret, ret_n);
	struct stat st;

	if (rc == 0 && out) {
		rc = fsroot_stat(a->root, s->step_path, &st);
		if (rc < 0)
			free(*ret);
	}
	return rc;
}

int cgroup_mark(struct actuate *a, const struct step_cgroup *s, uint64_t *ret)
{
	char dir[FILE_MAX];
	struct stat st;
	int rc = is_out(a, s, dir, sizeof(dir)) ? fsroot_stat(a->root, s->step_path, &st) : 0;

	return rc < 0 ? rc : proc_mark(a->root, dir, a->h->threads_file, ret);
}

int cgroup_apply(struct actuate *a, const struct step_cgroup *s, const struct coreset *set,
	struct actuate_result *ret, struct errbuf *err)
{
	int rc = change_check_set(a, s, set, err);

	if (rc == 0 && a->by_masks)
		return steer_apply(a->h, a, s, set, ret, err);
	/* By one before us, whose way was the other. */
	if (rc == 0 && steer_has(a, s->step_path))
		rc = steer_restore(a->h, a, s, err);
	return rc < 0 ? rc : a->h->apply(a, s, set, ret, err);
}

int cgroup_verify(struct actuate *a, const struct step_cgroup *s, const struct coreset *set)
{
	return (a->by_masks ? steer_verify : change_verify)(a->h, a, s, set);
}

int cgroup_current(
	struct actuate *a, const struct step_cgroup *s, struct coreset *ret, struct errbuf *err)
{
	char dir[FILE_MAX];
	int rc = steer_current(a->h, a, s, ret, err);

	if (rc != -ENOENT)
		return rc;
	change_where(a->h, a, s->step_path, dir, sizeof(dir));
	return cpus_read(a->root, dir, ret, err);
}

bool cgroup_unfit(struct actuate_found *ret, const char *text, const char *advice)
{
	snprintf(ret->text, sizeof(ret->text), "%s", text);
	ret->advice = advice;
	return true;
}
