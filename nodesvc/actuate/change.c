/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * change.c - one change of a step's cpuset and of its threads' masks, and the way back: ledger,
 * write, release, read back; undo when any of it fails. The same in both hierarchies; what v1 and
 * v2 do differently comes as a struct hierarchy.
 */
#include "nodesvc/actuate/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"

void change_where(const struct hierarchy *h, const struct actuate *a, const char *path, char *ret,
	size_t size)
{
	if (!h->where || !h->where(a, path, ret, size))
		snprintf(ret, size, "%s", path);
}

int change_is_there(const struct actuate *a, const char *path, uint64_t inode, struct errbuf *err)
{
	int rc = fsroot_is_there(a->root, path, inode);

	if (rc == 0)
		return err_set(err, -ENOENT, "%s: the step has ended", path);
	return rc < 0 ? err_set(err, rc, "%s: cannot be looked at: %s", path, strerror(-rc)) : 0;
}

int change_inode(const struct actuate *a, const char *path, uint64_t *ret, struct errbuf *err)
{
	struct stat st;
	int rc = fsroot_stat(a->root, path, &st);

	if (rc < 0)
		return err_set(err, rc, "%s: %s", path,
			rc == -ENOENT ? "the step has ended" : strerror(-rc));
	*ret = (uint64_t)st.st_ino;
	return 0;
}

int change_recorded(struct actuate *a, const char *path, struct ledger_cpuset *ret,
	struct coreset *ret_set, struct errbuf *err)
{
	struct ledger_cpuset cs;
	struct coreset set;
	int rc = ledger_get_cpuset(a->ledger, path, &cs, NULL);

	if (rc < 0)
		return rc == -ENOENT ? rc : err_set(err, rc, "%s: cannot read the ledger", path);
	rc = change_is_there(a, path, cs.inode, err);
	if (rc == -ENOENT) {
		rc = ledger_forget(a->ledger, path, err);
		return rc < 0 ? rc : -ENOENT;
	}
	if (rc < 0)
		return rc;
	rc = coreset_parse(&set, cs.cpus, err);
	if (rc < 0)
		return err_wrap(err, -EIO, "ledger: %s", path);
	if (ret)
		*ret = cs;
	if (ret_set)
		*ret_set = set;
	return 0;
}

/*
 * What a step had in force whose own file was empty: what the level above has, without what its job
 * was widened by since. Ranks' shares are parts of that.
 */
static int had_from_above(const struct masks *m, struct coreset *ret, struct errbuf *err)
{
	struct coreset set, job;
	char dir[FILE_MAX];
	char *slash;
	int rc;

	snprintf(dir, sizeof(dir), "%s", m->path);
	slash = strrchr(dir, '/');
	if (!slash)
		return err_set(err, -EINVAL, "%s: no level above", m->path);
	*slash = '\0';
	rc = cpus_read_file(m->a->root, dir, m->h->effective, &set, err);
	if (rc < 0)
		return rc;
	slash = strrchr(dir, '/');
	if (slash) {
		*slash = '\0';
		rc = change_recorded(m->a, dir, NULL, &job, err);
		if (rc < 0 && rc != -ENOENT)
			return rc;
		if (rc == 0 && coreset_intersects(&set, &job))
			coreset_and(&set, &set, &job);
	}
	*ret = set;
	return 0;
}

/* Is what cpuset.cpus holds in force as well? */
static bool says_itself(const struct hierarchy *h)
{
	return strcmp(h->effective, "cpuset.cpus") == 0;
}

/* Fills @m with what ledger and kernel hold before a change; @cs is what they say originally. */
static int begin(struct masks *m, struct ledger_cpuset *cs, struct errbuf *err)
{
	cleanup_free struct ledger_thread *rows = NULL, *pins = NULL;
	char text[sizeof(cs->cpus)];
	int n = 0, rc;

	change_where(m->h, m->a, m->path, m->dir, sizeof(m->dir));
	rc = cpus_read_text(m->a->root, m->dir, text, sizeof(text), &m->before_cpus, err);
	m->before = m->before_cpus;
	if (rc == 0 && !says_itself(m->h))
		rc = cpus_read_file(m->a->root, m->dir, m->h->effective, &m->before, err);
	if (rc < 0)
		return rc;
	if (!watch_last(m->a, m->path, &m->last))
		m->last = m->before;
	rc = change_recorded(m->a, m->path, cs, &m->original_cpus, err);
	if (rc == -ENOENT) {
		*cs = (struct ledger_cpuset){.inode = 0};
		rc = change_inode(m->a, m->path, &cs->inode, err);
		if (rc < 0)
			return rc;
		snprintf(cs->path, sizeof(cs->path), "%s", m->path);
		memcpy(cs->cpus, text, sizeof(cs->cpus));
		m->original_cpus = m->before_cpus;
		m->original = m->before;
		return 0;
	}
	if (rc < 0)
		return rc;
	m->original = m->original_cpus;
	if (coreset_is_empty(&m->original_cpus))
		rc = had_from_above(m, &m->original, err);
	if (rc < 0)
		return rc;
	m->is_ours = true;
	rc = ledger_get_threads(m->a->ledger, m->path, &rows, &n, err);
	for (int i = 0; rc == 0 && i < n; i++)
		rc = rows_put(&m->ledger, &rows[i]);
	if (rc == 0)
		rc = ledger_get_pins(m->a->ledger, m->path, &pins, &n, err);
	for (int i = 0; rc == 0 && i < n; i++)
		rc = rows_put(&m->recorded_pins, &pins[i]);
	return rc;
}

int change_check_set(const struct actuate *a, const struct step_cgroup *s,
	const struct coreset *set, struct errbuf *err)
{
	char want[CORESET_STR_MAX], have[CORESET_STR_MAX];

	if (coreset_is_empty(set))
		return err_set(err, -EINVAL, "%s: an empty set of CPUs", s->step_path);
	if (!coreset_is_subset(set, &a->all_pus))
		return err_set(err, -ERANGE, "%s: '%.60s' is not within the node's CPUs '%.60s'",
			s->step_path, coreset_format(set, want, sizeof(want)),
			coreset_format(&a->all_pus, have, sizeof(have)));
	return change_is_there(a, s->step_path, s->step_inode, err);
}

/* Its files said so: but is the directory gone? */
static bool is_gone(const struct masks *m, const struct ledger_cpuset *cs)
{
	return fsroot_is_there(m->a->root, m->path, cs->inode) == 0;
}

/* Back to before this change. A first change that is undone leaves nothing in the ledger. */
static void undo(struct masks *m, const struct ledger_cpuset *cs, const struct coreset *set,
	struct errbuf *err)
{
	struct errbuf why = {""};
	struct coreset now;
	int rc;

	masks_let_go(m, NULL);
	rc = m->h->write_back(m, &m->before_cpus, &now, &why);
	if (rc == 0)
		rc = masks_put_back(m, &m->seen, &now, &why);
	if ((rc == 0 && !m->is_ours) || (rc == -ENOENT && is_gone(m, cs)))
		rc = ledger_forget(m->a->ledger, m->path, &why);
	if (rc < 0) {
		struct errbuf first = *err;

		watch_tried(m->a, m->path, set);
		watch_tried(m->a, m->path, &m->last);
		err_set(err, rc, "%.140s; not undone: %.90s", first.text, why.text);
	}
}

/* -EIO: the kernel has other CPUs in force than @set. */
static int check_in_force(const struct masks *m, const struct coreset *set, struct errbuf *err)
{
	return cpus_check(m->a->root, m->dir, m->h->effective, set, err);
}

static int check_held(const struct masks *m, const struct coreset *set, struct errbuf *err)
{
	int rc = cpus_check(m->a->root, m->dir, "cpuset.cpus", set, err);

	return rc < 0 || says_itself(m->h) ? rc : check_in_force(m, set, err);
}

/* The kernel changes here. */
static int write_set(
	struct masks *m, const struct coreset *set, struct actuate_result *ret, struct errbuf *err)
{
	int rc = masks_let_go(m, err);

	if (rc == 0 && m->h->make_room)
		rc = m->h->make_room(m, set, err);
	if (rc == 0)
		rc = cpus_write(m->a->root, m->dir, set, err); /* and reads it back */
	if (rc == 0 && !says_itself(m->h))
		rc = check_in_force(m, set, err);
	if (rc == 0)
		rc = masks_release(m, set, ret, err);
	if (rc == 0)
		rc = check_held(m, set, err);
	return rc;
}

int change_apply(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	const struct coreset *set, struct actuate_result *ret, struct errbuf *err)
{
	struct masks m = {.a = a, .h = h, .path = s->step_path};
	struct actuate_result result;
	struct errbuf why = {""};
	struct ledger_cpuset cs;
	struct coreset job;
	int rc = begin(&m, &cs, err);

	if (rc == 0)
		rc = masks_record(&m, m.is_ours ? NULL : &cs, err);
	if (rc < 0) {
		masks_done(&m);
		return rc;
	}
	for (int i = 0; i < 2; i++) {
		rc = write_set(&m, set, &result, &why);
		if (rc != -EIO) /* somebody else may have written in between: once more */
			break;
	}
	if (rc < 0) {
		undo(&m, &cs, set, &why);
		masks_done(&m);
		return err_set(err, rc, "%s", why.text);
	}
	/* Unknown: then the next look at it finds a change. */
	if (cpus_read(a->root, s->job_path, &job, NULL) < 0)
		coreset_zero(&job);
	watch_hold(a, s, m.dir, set, &job);
	masks_done(&m);
	*ret = result;
	return 0;
}

int change_verify(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	const struct coreset *set)
{
	struct coreset now, in_force, last, job;
	char dir[FILE_MAX];
	int rc;

	change_where(h, a, s->step_path, dir, sizeof(dir));
	rc = cpus_read(a->root, dir, &now, NULL);
	in_force = now;
	if (rc == 0 && !says_itself(h))
		rc = cpus_read_file(a->root, dir, h->effective, &in_force, NULL);
	if (rc == 0)
		rc = change_is_there(a, s->step_path, s->step_inode, NULL);
	if (rc < 0)
		return rc;
	if (!coreset_is_equal(&now, set) || !coreset_is_equal(&in_force, set))
		return 1;
	/* Written by one before us: who writes to it from now on is seen at once. */
	if (!watch_last(a, s->step_path, &last)) {
		if (cpus_read(a->root, s->job_path, &job, NULL) < 0)
			coreset_zero(&job);
		watch_hold(a, s, dir, set, &job);
	}
	return 0;
}

/* @keep: the ledger goes on holding the originals. */
static int restore(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	bool keep, struct errbuf *err)
{
	struct masks m = {.a = a, .h = h, .path = s->step_path};
	struct ledger_cpuset cs;
	struct coreset target;
	struct errbuf why = {""};
	int rc = change_recorded(a, m.path, &cs, NULL, err);

	if (rc == -ENOENT) {
		rc = 0;
		goto out;
	}
	if (rc < 0)
		return rc;
	rc = begin(&m, &cs, &why);
	if (rc == 0)
		rc = masks_look(&m, &why);
	/* Whom it could not reach put_back() may. */
	if (rc == 0)
		masks_let_go(&m, NULL);
	if (rc == 0)
		rc = h->write_back(&m, &m.original_cpus, &target, &why);
	if (rc == 0)
		rc = masks_put_back(&m, &m.ledger, &target, &why);
	if (rc == 0)
		rc = check_in_force(&m, &target, &why);
	if (rc == 0 && keep)
		goto out;
	/* The step ended under our hands: nothing to put back. */
	if (rc == 0 || (rc == -ENOENT && is_gone(&m, &cs)))
		rc = ledger_forget(a->ledger, m.path, &why);
	if (rc < 0) {
		watch_tried(a, m.path, &m.last);
		err_set(err, rc, "%s", why.text);
	}
out:
	masks_done(&m);
	if (rc == 0)
		watch_drop(a, m.path);
	return rc;
}

int change_restore(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	struct errbuf *err)
{
	return restore(h, a, s, false, err);
}

int change_put_back(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	struct errbuf *err)
{
	return restore(h, a, s, true, err);
}

int change_record(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	struct errbuf *err)
{
	struct masks m = {.a = a, .h = h, .path = s->step_path};
	struct ledger_cpuset cs;
	int rc = begin(&m, &cs, err);

	if (rc == 0)
		rc = masks_record(&m, m.is_ours ? NULL : &cs, err);
	masks_done(&m);
	return rc;
}
