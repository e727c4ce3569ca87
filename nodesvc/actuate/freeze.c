/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/actuate/actuate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "nodesvc/actuate/internal.h"

#define LEDGER_WHAT LEDGER_WHAT_FREEZER

struct freezer_hold {
	struct freezer_hold *next;
	char dir[256], file[FILE_MAX]; /* below the fsroot */
	uint64_t inode;                /* of dir */
	dev_t file_dev;
	ino_t file_ino;
	int guard_slot; /* -1 none */
	bool recorded, frozen, suspended;
};

struct freezer {
	struct actuate at; /* root, mount and hierarchy, as locate_pid() wants them */
	struct ledger *ledger;
	struct guard *guard;
	const struct freezer_kind *w;
	struct freezer_hold *held;
	int n_held;
	int watch_fd;
};

int freezer_open(struct freezer **ret, const struct fsroot *root, struct ledger *ledger,
	struct guard *guard, struct errbuf *err)
{
	struct freezer *f = calloc(1, sizeof(*f));
	char why[4 * sizeof(err->text)] = ""; /* of each hierarchy, cut at the end */

	if (!f)
		return err_set(err, -ENOMEM, "freezer: out of memory");
	f->at.root = root;
	f->ledger = ledger;
	f->guard = guard;
	f->watch_fd = -1;
	for (int i = 0; hierarchies[i] && !f->w; i++) {
		const struct freezer_kind *w = &hierarchies[i]->freezer;
		size_t n = strlen(why);
		struct errbuf one = {""};

		f->at.h = hierarchies[i];
		if (locate_mount(root, &w->mount, f->at.mount, f->at.mount_root,
			    sizeof(f->at.mount), &one) == 0)
			f->w = w;
		else
			snprintf(why + n, sizeof(why) - n, "%s%s", n ? "; " : "", one.text);
	}
	if (!f->w) {
		free(f);
		return err_set(err, -ENOTSUP, "%s", why);
	}
	*ret = f;
	return 0;
}

void freezer_close(struct freezer *f)
{
	struct errbuf err;

	if (!f)
		return;
	while (f->held)
		freezer_drop(f, f->held, &err);
	if (f->watch_fd >= 0)
		close(f->watch_fd);
	free(f);
}

static int write_state(const struct freezer *f, const char *dir, uint64_t inode, const char *text,
	struct errbuf *err)
{
	char file[FILE_MAX];
	int rc = change_is_there(&f->at, dir, inode, err);

	if (rc < 0)
		return rc;
	snprintf(file, sizeof(file), "%s/%s", dir, f->w->file);
	rc = fsroot_write(f->at.root, file, text);
	if (rc < 0 && fsroot_is_there(f->at.root, dir, inode) == 0)
		rc = -ENOENT;
	else if (rc == -ENOENT)
		rc = -EIO; /* the directory is there without the file */
	return rc < 0 ? err_set(err, rc, "%s: cannot write %s: %s", file, text, strerror(-rc)) : 0;
}

static int restore_row(struct freezer *f, const struct ledger_setting *row, struct errbuf *err)
{
	int rc = write_state(f, row->path, row->inode, f->w->thaw, err);

	return rc == 0 || rc == -ENOENT
		       ? ledger_setting_forget(f->ledger, row->path, LEDGER_WHAT, err)
		       : rc;
}

int freezer_restore_path(struct freezer *f, const char *path, struct errbuf *err)
{
	cleanup_free struct ledger_setting *row = NULL;
	int n, rc = ledger_settings(f->ledger, path, LEDGER_WHAT, &row, &n, err);

	return rc < 0 || n == 0 ? rc : restore_row(f, row, err);
}

bool freezer_holds(const struct freezer *f, const char *path)
{
	for (const struct freezer_hold *h = f->held; h; h = h->next)
		if (strcmp(h->dir, path) == 0)
			return true;
	return false;
}

int freezer_restore_all(struct freezer *f, bool thawed, struct errbuf *err)
{
	cleanup_free struct ledger_setting *row = NULL;
	int n, done = 0, first_rc = 0;
	int rc = ledger_settings(f->ledger, NULL, LEDGER_WHAT, &row, &n, err);

	if (rc < 0)
		return rc;
	for (int i = 0; i < n; i++) {
		struct errbuf why = {""};

		rc = thawed ? ledger_setting_forget(f->ledger, row[i].path, LEDGER_WHAT, &why)
			    : restore_row(f, &row[i], &why);
		if (rc == 0)
			done++;
		else if (!first_rc)
			first_rc = err_set(err, rc, "%s", why.text);
	}
	return first_rc ? first_rc : done;
}

/* ---- a step comes and goes ----------------------------------------------------------------- */

static int find_group(struct freezer *f, pid_t pid, const struct step_cgroup *s,
	struct step_cgroup *ret, struct errbuf *err)
{
	int rc = locate_pid(&f->at, pid, f->w->controller, ret, err);

	if (rc < 0)
		return rc;
	if (ret->step_id != s->step_id || (!ret->sluid[0] && ret->job_id != s->job_id) ||
		strcmp(ret->sluid, s->sluid) != 0)
		return err_set(err, -EPROTO, "process %d is in %.150s, another step", (int)pid,
			ret->step_path);
	return 0;
}

static int find_place(struct freezer *f, pid_t pid, const struct step_cgroup *s,
	struct freezer_hold *h, struct errbuf *err)
{
	struct step_cgroup at;
	struct stat st;
	int rc, fd;

	if (s->step_id == ACTUATE_STEP_BATCH || s->step_id == ACTUATE_STEP_EXTERN ||
		s->step_id == ACTUATE_STEP_INTERACTIVE)
		return err_set(err, -EPERM,
			"batch, extern and interactive steps are never frozen: Slurm waits for "
			"them");
	rc = find_group(f, pid, s, &at, err);
	if (rc < 0)
		return rc;
	snprintf(h->dir, sizeof(h->dir), "%s", at.step_path);
	h->inode = at.step_inode;
	snprintf(h->file, sizeof(h->file), "%s/%s", h->dir, f->w->file);
	fd = fsroot_openat(f->at.root, h->file, O_RDONLY);
	if (fd < 0)
		return err_set(err, fd, "/%s: %s", h->file, strerror(-fd));
	rc = fstat(fd, &st) < 0 ? -errno : 0;
	h->file_dev = st.st_dev;
	h->file_ino = st.st_ino;
	if (rc == 0 && f->watch_fd >= 0 &&
		fanotify_mark(f->watch_fd, FAN_MARK_ADD, FAN_MODIFY, fd, NULL) < 0)
		rc = -errno;
	close(fd);
	return rc < 0 ? err_set(err, rc, "/%s: cannot be watched: %s", h->file, strerror(-rc)) : 0;
}

static int record(struct freezer *f, struct freezer_hold *h, struct errbuf *err)
{
	struct ledger_setting row = {.what = LEDGER_WHAT, .inode = h->inode};
	int rc;

	if (h->recorded)
		return 0;
	snprintf(row.path, sizeof(row.path), "%s", h->dir);
	snprintf(row.value, sizeof(row.value), "%s", f->w->thaw);
	rc = ledger_setting_add(f->ledger, &row, 1, err);
	h->recorded = rc == 0;
	return rc;
}

/*
 * A step that comes frozen, after the watch has begun: by Slurm, unless the ledger has it, when a
 * thaw of ours has failed.
 */
static int know_state(struct freezer *f, struct freezer_hold *h, struct errbuf *err)
{
	cleanup_free struct ledger_setting *row = NULL;
	char text[32];
	int n, rc;

	rc = (int)fsroot_read(f->at.root, h->file, text, sizeof(text));
	if (rc < 0)
		return err_set(err, rc, "/%s: %s", h->file, strerror(-rc));
	if (strncmp(text, f->w->thaw, strlen(f->w->thaw)) == 0)
		return 0;
	rc = ledger_settings(f->ledger, h->dir, LEDGER_WHAT, &row, &n, err);
	for (int i = 0; rc == 0 && i < n; i++)
		h->recorded |= row[i].inode == h->inode;
	h->frozen = h->recorded;
	h->suspended = !h->recorded;
	return rc;
}

int freezer_hold(struct freezer *f, pid_t pid, const struct step_cgroup *s,
	struct freezer_hold **ret, struct errbuf *err)
{
	struct freezer_hold *h = calloc(1, sizeof(*h));
	int rc;

	if (!h)
		return err_set(err, -ENOMEM, "freezer: out of memory");
	h->guard_slot = -1;
	rc = f->n_held < FREEZER_MAX ? find_place(f, pid, s, h, err)
				     : err_set(err, -ENOSPC, "%d steps rotate already", f->n_held);
	if (rc == 0)
		rc = know_state(f, h, err);
	if (rc == 0 && !h->suspended)
		rc = record(f, h, err);
	if (rc == 0 && f->guard) {
		h->guard_slot = guard_add(f->guard, h->file, f->w->thaw);
		if (h->guard_slot < 0) {
			rc = err_set(err, h->guard_slot, "%s: no room with the guard", h->dir);
			/* A row of before tells that it is frozen: nobody else would thaw it. */
			if (!h->frozen)
				ledger_setting_forget(f->ledger, h->dir, LEDGER_WHAT, NULL);
		}
	}
	/* It was to be thawed long ago; where that fails again the guard goes on. */
	if (rc == 0 && h->frozen && freezer_thaw(f, h, err) < 0 && f->guard)
		guard_arm(f->guard, h->guard_slot, 1);
	if (rc < 0) {
		free(h);
		return rc;
	}
	h->next = f->held;
	f->held = h;
	f->n_held++;
	*ret = h;
	return 0;
}

/* Forgets it; the mark of the watch goes with the file, or here. @is_left: it is the guard's now.
 */
static void remove_hold(struct freezer *f, struct freezer_hold *h, bool is_left)
{
	int fd = f->watch_fd >= 0 ? fsroot_openat(f->at.root, h->file, O_RDONLY) : -1;

	if (fd >= 0) {
		fanotify_mark(f->watch_fd, FAN_MARK_REMOVE, FAN_MODIFY, fd, NULL);
		close(fd);
	}
	for (struct freezer_hold **p = &f->held; *p; p = &(*p)->next)
		if (*p == h) {
			*p = h->next;
			break;
		}
	f->n_held--;
	if (f->guard && is_left)
		guard_leave(f->guard, h->guard_slot);
	else if (f->guard)
		guard_remove(f->guard, h->guard_slot);
	free(h);
}

int freezer_drop(struct freezer *f, struct freezer_hold *h, struct errbuf *err)
{
	int rc = freezer_thaw(f, h, err);

	if (rc == -EBUSY || rc == -ENOENT)
		rc = 0;
	if (rc == 0 && h->recorded)
		rc = ledger_setting_forget(f->ledger, h->dir, LEDGER_WHAT, err);
	/* What could not be thawed stays in the ledger, and the guard tries again, at once. */
	remove_hold(f, h, rc < 0 && h->frozen);
	return rc;
}

/* ---- the switch ---------------------------------------------------------------------------- */

int freezer_freeze(struct freezer *f, struct freezer_hold *h, int64_t until_ns, struct errbuf *err)
{
	int rc;

	if (h->suspended)
		return err_set(err, -EBUSY, "%s: suspended by Slurm", h->dir);
	if (h->frozen)
		return 0;
	rc = record(f, h, err);
	if (rc < 0)
		return rc;
	if (f->guard)
		guard_arm(f->guard, h->guard_slot, until_ns);
	rc = write_state(f, h->dir, h->inode, f->w->freeze, err);
	h->frozen = rc == 0;
	if (rc < 0 && f->guard)
		guard_disarm(f->guard, h->guard_slot);
	return rc;
}

int freezer_thaw(struct freezer *f, struct freezer_hold *h, struct errbuf *err)
{
	int rc;

	if (h->suspended)
		return err_set(err, -EBUSY, "%s: suspended by Slurm", h->dir);
	if (!h->frozen)
		return 0;
	rc = write_state(f, h->dir, h->inode, f->w->thaw, err);
	if (rc < 0 && rc != -ENOENT)
		return rc;
	h->frozen = false;
	if (f->guard)
		guard_disarm(f->guard, h->guard_slot);
	return rc;
}

int freezer_find(struct freezer *f, pid_t pid, const struct step_cgroup *s, char *ret, size_t size,
	struct errbuf *err)
{
	struct step_cgroup at;
	int rc = find_group(f, pid, s, &at, err);

	if (rc == 0)
		snprintf(ret, size, "%s", at.step_path);
	return rc;
}

int freezer_state(const struct freezer *f, const char *dir)
{
	char file[FILE_MAX], text[64];
	ssize_t n;

	snprintf(file, sizeof(file), "%s/%s", dir, f->w->file);
	n = fsroot_read_once(f->at.root, file, text, sizeof(text));
	if (n < 0)
		return (int)n;
	if (!f->w->events || text[0] != *f->w->thaw)
		return strncmp(text, f->w->thaw, strlen(f->w->thaw)) != 0;
	snprintf(file, sizeof(file), "%s/%s", dir, f->w->events);
	n = fsroot_read_once(f->at.root, file, text, sizeof(text));
	return n > 0 && strstr(text, "frozen 1");
}

bool freezer_is_frozen(const struct freezer_hold *h)
{
	return h->frozen;
}

bool freezer_is_suspended(const struct freezer_hold *h)
{
	return h->suspended;
}

/* ---- others' writes ------------------------------------------------------------------------ */

int freezer_watch(struct freezer *f, struct errbuf *err)
{
	/* NOLINTBEGIN(misc-redundant-expression): O_LARGEFILE is 0 on 64 bits only */
	f->watch_fd = fanotify_init(
		FAN_CLASS_NOTIF | FAN_NONBLOCK | FAN_CLOEXEC, O_RDONLY | O_CLOEXEC | O_LARGEFILE);
	/* NOLINTEND(misc-redundant-expression) */
	if (f->watch_fd >= 0)
		return 0;
	return err_set(err, -errno, "fanotify: %s: Slurm's suspend could not be told from ours",
		strerror(errno));
}

int freezer_watch_fd(const struct freezer *f)
{
	return f->watch_fd;
}

static struct freezer_hold *find_hold(struct freezer *f, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return NULL;
	for (struct freezer_hold *h = f->held; h; h = h->next)
		if (h->file_ino == st.st_ino && h->file_dev == st.st_dev)
			return h;
	return NULL;
}

/* Somebody else wrote @h's file; what it says now. */
static bool judge(struct freezer *f, struct freezer_hold *h, enum freezer_news *ret)
{
	char text[32];
	bool thawed;

	if (fsroot_read(f->at.root, h->file, text, sizeof(text)) <= 0)
		return false;
	thawed = strncmp(text, f->w->thaw, strlen(f->w->thaw)) == 0;
	if (!thawed && !h->suspended) {
		/* From here on it is Slurm's: also after a crash of ours it is not to be thawed. */
		h->suspended = true;
		h->frozen = false;
		if (f->guard)
			guard_disarm(f->guard, h->guard_slot);
		if (ledger_setting_forget(f->ledger, h->dir, LEDGER_WHAT, NULL) == 0)
			h->recorded = false;
		*ret = FREEZER_SUSPENDED;
		return true;
	}
	if (!thawed)
		return false;
	*ret = h->suspended ? FREEZER_RESUMED : FREEZER_THAWED;
	h->suspended = h->frozen = false;
	if (f->guard)
		guard_disarm(f->guard, h->guard_slot);
	return true;
}

static void take_event(struct freezer *f, const struct fanotify_event_metadata *m,
	void (*fn)(struct freezer_hold *h, enum freezer_news news, void *arg), void *arg)
{
	struct freezer_hold *h;
	enum freezer_news news;

	if (m->fd < 0)
		return;
	h = m->pid == getpid() ? NULL : find_hold(f, m->fd);
	if (h && f->guard && m->pid == guard_pid(f->guard))
		h->frozen = false; /* past its limit: the daemon was late */
	else if (h && judge(f, h, &news))
		fn(h, news, arg);
	close(m->fd);
}

void freezer_watch_read(struct freezer *f,
	void (*fn)(struct freezer_hold *h, enum freezer_news news, void *arg), void *arg)
{
	struct fanotify_event_metadata buf[64];

	while (f->watch_fd >= 0) {
		ssize_t n = read(f->watch_fd, buf, sizeof(buf));

		if (n <= 0)
			return;
		for (const struct fanotify_event_metadata *m = buf; FAN_EVENT_OK(m, n);
			m = FAN_EVENT_NEXT(m, n))
			take_event(f, m, fn, arg);
	}
}
