/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * v1.c - cgroup v1: the step's cpuset directory, beside any v2 tree (hybrid). Writes the step
 * level only; the job level is Slurm's, which rewrites it to its allocation at each new step and
 * fails that step when an older one holds CPUs outside. So a set outside the job level is refused.
 */
#include "nodesvc/actuate/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

static int find_mount(
	const struct fsroot *root, char *mount, char *top, size_t size, struct errbuf *err)
{
	cleanup_free char *text = NULL;
	ssize_t n = fsroot_read_alloc(root, "proc/self/mountinfo", &text);
	char path[FILE_MAX];

	if (n < 0)
		return err_set(err, -ENOTSUP, "/proc/self/mountinfo: %s", strerror((int)-n));
	if (locate_v1_mount(text, mount, top, size) < 0)
		return err_set(err, -ENOTSUP, "no cgroup v1 cpuset hierarchy is mounted");
	snprintf(path, sizeof(path), "%s/cpuset.cpus", mount);
	if (!fsroot_exists(root, path))
		return err_set(err, -ENOTSUP, "/%s is not there", path);
	return 0;
}

static int v1_probe(const struct fsroot *root, struct errbuf *why)
{
	char mount[256], top[256];

	return find_mount(root, mount, top, sizeof(mount), why);
}

static int need_mount(struct actuate *a, struct errbuf *err)
{
	return a->mount[0] ? 0
			   : find_mount(a->root, a->mount, a->mount_root, sizeof(a->mount), err);
}

/* "slurm_n/..." of the mounted directory becomes "<mount>/slurm_n/...". */
static int below_mount(const struct actuate *a, char *path, size_t size)
{
	char rel[256];
	int n;

	snprintf(rel, sizeof(rel), "%s", path);
	n = snprintf(path, size, "%s/%s", a->mount, rel);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static int v1_locate(struct actuate *a, pid_t pid, struct step_cgroup *ret, struct errbuf *err)
{
	char file[64], path[512];
	cleanup_free char *text = NULL;
	const char *step = path;
	struct step_cgroup s;
	size_t top;
	ssize_t n;
	int rc = need_mount(a, err);

	if (rc < 0)
		return rc;
	snprintf(file, sizeof(file), "proc/%d/cgroup", (int)pid);
	n = fsroot_read_alloc(a->root, file, &text);
	if (n < 0)
		return err_set(err, n == -ESRCH ? -ENOENT : (int)n, "process %d: %s", (int)pid,
			strerror((int)-n));
	if (locate_cgroup_path(text, "cpuset", path, sizeof(path)) < 0)
		return err_set(err, -ENOENT, "process %d is in no cpuset hierarchy", (int)pid);
	/* /proc names the directory within the hierarchy, of which only a part may be mounted. */
	top = strlen(a->mount_root);
	if (top && strncmp(path + 1, a->mount_root, top) == 0)
		step = path + 1 + top;
	else if (top)
		step = "";
	if (locate_step(step, &s) < 0)
		return err_set(
			err, -ENOENT, "process %d is in '%.150s', no Slurm step", (int)pid, path);
	rc = below_mount(a, s.job_path, sizeof(s.job_path));
	if (rc == 0)
		rc = below_mount(a, s.step_path, sizeof(s.step_path));
	if (rc < 0)
		return err_set(err, rc, "process %d: '%.150s': path too long", (int)pid, path);
	s.step_inode = fsroot_inode(a->root, s.step_path);
	if (!s.step_inode)
		return err_set(err, -ENOENT, "/%.200s: the step has ended", s.step_path);
	*ret = s;
	return 0;
}

static int v1_threads(struct actuate *a, const struct step_cgroup *s, pid_t **ret, int *ret_n)
{
	cleanup_free struct proc_thread *t = NULL;
	pid_t *tid;
	int n, kept = 0, rc = proc_scan(a->root, s->step_path, &t, &n);

	if (rc < 0)
		return rc;
	tid = calloc((size_t)n + 1, sizeof(*tid));
	if (!tid)
		return -ENOMEM;
	for (int i = 0; i < n; i++)
		if (!t[i].foreign)
			tid[kept++] = t[i].tid;
	*ret = tid;
	*ret_n = kept;
	return 0;
}

static bool is_same_dir(const struct actuate *a, const char *path, uint64_t inode)
{
	return fsroot_inode(a->root, path) == (ino_t)inode;
}

/*
 * What the ledger has on the step's directory: 0, or -ENOENT nothing. Rows of an earlier directory
 * of that name are forgotten.
 */
static int recorded(struct actuate *a, const char *path, struct ledger_cpuset *ret,
	struct coreset *ret_set, struct errbuf *err)
{
	struct ledger_cpuset cs;
	struct coreset set;
	int rc = ledger_get_cpuset(a->ledger, path, &cs, NULL);

	if (rc < 0)
		return rc == -ENOENT ? rc : err_set(err, rc, "%s: cannot read the ledger", path);
	if (!is_same_dir(a, path, cs.inode)) {
		rc = ledger_forget(a->ledger, path, err);
		return rc < 0 ? rc : -ENOENT;
	}
	rc = coreset_parse(&set, cs.cpus, err);
	if (rc < 0)
		return err_wrap(err, -EIO, "ledger: %s", path);
	*ret = cs;
	*ret_set = set;
	return 0;
}

static int v1_allocation(struct actuate *a, const struct step_cgroup *s, struct coreset *ret_job,
	struct coreset *ret_step, struct errbuf *err)
{
	struct ledger_cpuset cs;
	struct coreset job, step;
	int rc = cpus_read(a->root, s->job_path, &job, err);

	if (rc < 0)
		return rc;
	/* Under us the file holds our set: Slurm's is in the ledger. */
	rc = recorded(a, s->step_path, &cs, &step, err);
	if (rc == -ENOENT)
		rc = cpus_read(a->root, s->step_path, &step, err);
	if (rc < 0)
		return rc;
	*ret_job = job;
	*ret_step = step;
	return 0;
}

/* Fills @m with what ledger and kernel hold before a change; @cs is what they say originally. */
static int begin(struct masks *m, struct ledger_cpuset *cs, struct errbuf *err)
{
	cleanup_free struct ledger_thread *rows = NULL;
	char text[sizeof(cs->cpus)];
	int n = 0, rc;

	rc = cpus_read_text(m->a->root, m->path, text, sizeof(text), &m->before, err);
	if (rc < 0)
		return rc;
	rc = recorded(m->a, m->path, cs, &m->original, err);
	if (rc == -ENOENT) {
		*cs = (struct ledger_cpuset){.inode = (uint64_t)fsroot_inode(m->a->root, m->path)};
		snprintf(cs->path, sizeof(cs->path), "%s", m->path);
		memcpy(cs->cpus, text, sizeof(cs->cpus));
		m->original = m->before;
		return 0;
	}
	if (rc < 0)
		return rc;
	m->is_ours = true;
	rc = ledger_get_threads(m->a->ledger, m->path, &rows, &n, err);
	for (int i = 0; rc == 0 && i < n; i++)
		rc = rows_put(&m->ledger, &rows[i]);
	return rc;
}

static int check_set(const struct actuate *a, const struct step_cgroup *s,
	const struct coreset *set, struct coreset *ret_job, struct errbuf *err)
{
	char want[CORESET_STR_MAX], have[CORESET_STR_MAX];
	struct coreset job;
	int rc;

	if (coreset_is_empty(set))
		return err_set(err, -EINVAL, "%s: an empty set of CPUs", s->step_path);
	coreset_format(set, want, sizeof(want));
	if (!coreset_is_subset(set, &a->all_pus))
		return err_set(err, -ERANGE, "%s: '%.60s' is not within the node's CPUs '%.60s'",
			s->step_path, want, coreset_format(&a->all_pus, have, sizeof(have)));
	rc = cpus_read(a->root, s->job_path, &job, err);
	if (rc < 0)
		return rc;
	if (!coreset_is_subset(set, &job))
		return err_set(err, -ERANGE, "%s: '%.60s' is not inside the job's CPUs '%.60s'",
			s->step_path, want, coreset_format(&job, have, sizeof(have)));
	if (!is_same_dir(a, s->step_path, s->step_inode))
		return err_set(err, -ENOENT, "%s: the step has ended", s->step_path);
	*ret_job = job;
	return 0;
}

/* Back to before this change. A first change that is undone leaves nothing in the ledger. */
static void undo(struct masks *m, struct errbuf *err)
{
	struct errbuf why = {""};
	int rc = cpus_write(m->a->root, m->path, &m->before, &why);

	if (rc == 0)
		rc = masks_put_back(m, &m->seen, &m->before, &why);
	if (rc == -ENOENT || (rc == 0 && !m->is_ours))
		rc = ledger_forget(m->a->ledger, m->path, &why);
	if (rc < 0) {
		struct errbuf first = *err;

		err_set(err, 0, "%.140s; not undone: %.90s", first.text, why.text);
	}
}

static int v1_apply(struct actuate *a, const struct step_cgroup *s, const struct coreset *set,
	struct actuate_result *ret, struct errbuf *err)
{
	struct masks m = {.a = a, .path = s->step_path};
	struct actuate_result result;
	struct errbuf why = {""};
	struct ledger_cpuset cs;
	struct coreset job;
	int rc = check_set(a, s, set, &job, err);

	if (rc < 0)
		return rc;
	rc = begin(&m, &cs, err);
	if (rc == 0)
		rc = masks_record(&m, m.is_ours ? NULL : &cs, err);
	if (rc < 0) {
		masks_done(&m);
		return rc;
	}
	/* From here on the kernel changes. */
	for (int i = 0; i < 2; i++) {
		rc = cpus_write(a->root, m.path, set, &why);
		if (rc == 0)
			rc = masks_release(&m, set, &result, &why);
		if (rc == 0)
			rc = cpus_check(a->root, m.path, set, &why);
		if (rc != -EIO) /* somebody else may have written in between: once more */
			break;
	}
	if (rc < 0)
		undo(&m, &why);
	masks_done(&m);
	if (rc < 0)
		return err_set(err, rc, "%s", why.text);
	watch_hold(a, s, set, &job);
	*ret = result;
	return 0;
}

static int v1_verify(struct actuate *a, const struct step_cgroup *s, const struct coreset *set)
{
	struct coreset now;
	int rc = cpus_read(a->root, s->step_path, &now, NULL);

	if (rc < 0)
		return rc;
	if (!is_same_dir(a, s->step_path, s->step_inode))
		return -ENOENT;
	return !coreset_is_equal(&now, set);
}

/* The original cpuset, or what the job level still allows of it. */
static int write_original(struct masks *m, struct coreset *ret_target, struct errbuf *err)
{
	char dir[sizeof(((struct step_cgroup *)0)->step_path)];
	struct coreset job;
	char *slash;
	int rc;

	*ret_target = m->original;
	rc = cpus_write(m->a->root, m->path, &m->original, err);
	if (rc != -EACCES)
		return rc;
	/* Slurm has shrunk the job level since. */
	snprintf(dir, sizeof(dir), "%s", m->path);
	slash = strrchr(dir, '/');
	if (!slash)
		return rc;
	*slash = '\0';
	if (cpus_read(m->a->root, dir, &job, NULL) < 0)
		return rc;
	coreset_and(ret_target, &m->original, &job);
	if (coreset_is_empty(ret_target))
		return rc;
	return cpus_write(m->a->root, m->path, ret_target, err);
}

static int v1_restore(struct actuate *a, const struct step_cgroup *s, struct errbuf *err)
{
	struct masks m = {.a = a, .path = s->step_path};
	struct ledger_cpuset cs;
	struct coreset target;
	struct errbuf why = {""};
	int rc = recorded(a, m.path, &cs, &target, err);

	if (rc == -ENOENT)
		goto out;
	if (rc < 0)
		return rc;
	rc = begin(&m, &cs, &why);
	if (rc == 0)
		rc = masks_look(&m, &why);
	if (rc == 0)
		rc = write_original(&m, &target, &why);
	if (rc == 0)
		rc = masks_put_back(&m, &m.ledger, &target, &why);
	if (rc == 0)
		rc = cpus_check(a->root, m.path, &target, &why);
	/* The step ended under our hands: nothing to put back. */
	if (rc == 0 || (rc == -ENOENT && !is_same_dir(a, m.path, cs.inode)))
		rc = ledger_forget(a->ledger, m.path, &why);
	if (rc < 0)
		err_set(err, rc, "%s", why.text);
out:
	masks_done(&m);
	if (rc == 0 || rc == -ENOENT)
		watch_drop(a, m.path);
	return rc == -ENOENT ? 0 : rc;
}

const struct actuate_ops actuate_cgroup_v1 = {
	.name = "cgroup-v1",
	.probe = v1_probe,
	.locate = v1_locate,
	.threads = v1_threads,
	.allocation = v1_allocation,
	.apply = v1_apply,
	.verify = v1_verify,
	.restore = v1_restore,
};
