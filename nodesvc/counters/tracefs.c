/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/counters/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"

#define EVENTS "uprobe_events"

/* Is @root the machine itself? A recorded tree has no kernel. */
static bool is_machine(const struct fsroot *root)
{
	struct stat own, st;

	return fstat(root->fd, &own) == 0 && stat("/", &st) == 0 && own.st_dev == st.st_dev &&
	       own.st_ino == st.st_ino;
}

static int open_dir(const struct fsroot *root)
{
	static const char *const usual[] = {"sys/kernel/tracing", "sys/kernel/debug/tracing"};

	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/" EVENTS, usual[i]);
		if (fsroot_exists(root, path))
			return fsroot_openat(root, usual[i], O_PATH | O_DIRECTORY);
	}
	return is_machine(root) ? fsroot_mount_apart("tracefs") : -ENOENT;
}

/* FNV-1a: of any length, and always the same. */
static uint32_t hash(const char *text)
{
	uint32_t h = 2166136261U;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 16777619U;
	return h;
}

int tracefs_open(
	struct tracefs *ret, const struct fsroot *root, const char *owner, struct errbuf *err)
{
	struct tracefs t = {.events = -1};

	t.dir = open_dir(root);
	if (t.dir == -ENODEV || t.dir == -ENOENT || t.dir == -ENOSYS)
		return err_set(err, -ENOTSUP, "this kernel has no tracefs");
	if (t.dir < 0)
		return err_set(err, t.dir, "tracefs: %s", strerror(-t.dir));
	t.events = openat(t.dir, EVENTS, O_RDWR | O_APPEND | O_CLOEXEC);
	if (t.events < 0) {
		int rc = -errno;

		close(t.dir);
		return rc == -ENOENT ? err_set(err, -ENOTSUP,
					       "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)")
				     : err_set(err, rc, "tracefs " EVENTS ": %s", strerror(-rc));
	}
	snprintf(t.group, sizeof(t.group), "coloc_%08" PRIx32, hash(owner));
	*ret = t;
	return 0;
}

void tracefs_close(struct tracefs *t)
{
	if (t->events >= 0)
		close(t->events);
	if (t->dir >= 0)
		close(t->dir);
	t->events = t->dir = -1;
}

static int read_id(const struct tracefs *t, const char *name, uint64_t *ret)
{
	char path[128], text[32];
	cleanup_close int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "events/%s/%s_%d/id", t->group, name, (int)getpid());
	fd = openat(t->dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return n < 0 ? -errno : -EIO;
	text[n] = '\0';
	*ret = strtoull(text, NULL, 10);
	return *ret ? 0 : -EIO;
}

int tracefs_add(struct tracefs *t, const char *name, int fd, uint64_t offset, uint64_t *ret_id,
	struct errbuf *err)
{
	char line[160];
	uint64_t id = 0;
	int rc, n = snprintf(line, sizeof(line), "p:%s/%s_%d /proc/self/fd/%d:0x%" PRIx64 "\n",
			t->group, name, (int)getpid(), fd, offset);

	/* One of that name is what a killed process left that had our number. */
	tracefs_remove(t, name);
	if (write(t->events, line, (size_t)n) != n)
		return err_set(
			err, -errno, "a probe at 0x%" PRIx64 ": %s", offset, strerror(errno));
	rc = read_id(t, name, &id);
	if (rc < 0) {
		tracefs_remove(t, name);
		return err_set(err, rc, "a probe's number: %s", strerror(-rc));
	}
	*ret_id = id;
	return 0;
}

static int remove_name(struct tracefs *t, const char *name)
{
	char line[112];
	int n = snprintf(line, sizeof(line), "-:%s/%s\n", t->group, name);

	return write(t->events, line, (size_t)n) == n ? 0 : -errno;
}

int tracefs_remove(struct tracefs *t, const char *name)
{
	char own[64];

	snprintf(own, sizeof(own), "%s_%d", name, (int)getpid());
	return remove_name(t, own);
}

/* Does another process of our program have it? That number may have gone to one of any other since.
 */
static bool is_anothers(const char *name)
{
	const char *number = strrchr(name, '_');
	pid_t maker = number ? (pid_t)strtol(number + 1, NULL, 10) : 0;
	struct stat own, its;
	char path[32];

	if (maker <= 0 || maker == getpid())
		return false;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)maker);
	return stat("/proc/self/exe", &own) == 0 && stat(path, &its) == 0 &&
	       its.st_dev == own.st_dev && its.st_ino == own.st_ino;
}

int tracefs_sweep(struct tracefs *t)
{
	char start[48];
	int gone = 0, n;
	/* Not the descriptor that appends: where it reads is where it wrote last. */
	int fd = openat(t->dir, EVENTS, O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	cleanup_free char *line = NULL;
	char(*name)[64] = NULL;
	size_t size = 0;
	int names = 0;

	if (!f) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	n = snprintf(start, sizeof(start), ":%s/", t->group);
	/* First all names: what is taken out while it is read moves the rest. */
	while (getline(&line, &size, f) > 0) {
		const char *at = line[0] ? line + 1 : line;
		char(*more)[64];

		if (strncmp(at, start, (size_t)n) != 0)
			continue;
		more = realloc(name, (size_t)(names + 1) * sizeof(*more));
		if (!more)
			break;
		name = more;
		snprintf(name[names++], sizeof(*name), "%.*s", (int)strcspn(at + n, " \n"), at + n);
	}
	fclose(f);
	for (int i = 0; i < names; i++)
		gone += !is_anothers(name[i]) && remove_name(t, name[i]) == 0;
	free(name);
	return gone;
}
