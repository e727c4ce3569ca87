/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mems_move.c - pages of a step's processes to other memory nodes, a chunk at a time.
 *
 * /proc/PID/numa_maps says which mappings have pages elsewhere, /proc/PID/maps how long they are;
 * within one, move_pages(2) is asked where each page is, and moves those that are elsewhere, until
 * as many have been found as there were. Runs in a process of its own.
 */
#include "nodesvc/actuate/actuate.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "nodesvc/actuate/internal.h"

/* Pages of one call: 2 MiB, about a millisecond of copying. */
#define CHUNK 512

struct mover {
	const struct fsroot *root;
	struct coreset nodes;
	int node[CORESET_MAX], n_nodes, turn; /* wanted nodes, taken in turn */
	uint64_t page_bytes;
	int mib_per_s;
	struct mems_moved done;
	uint64_t found_bytes; /* counting only */
	bool counting;
};

bool mems_vma_parse(const char *line, const struct coreset *nodes, struct mems_vma *ret)
{
	struct mems_vma v = {0};
	const char *p;
	char *end;

	v.start = strtoull(line, &end, 16);
	if (end == line || *end != ' ' || strstr(line, " huge "))
		return false;
	p = strstr(line, " file=");
	v.is_file = p && strncmp(p + 6, "/dev/shm/", 9) != 0 && strncmp(p + 6, "/SYSV", 5) != 0 &&
		    strncmp(p + 6, "/memfd:", 7) != 0 && strncmp(p + 6, "/dev/zero", 9) != 0;
	for (p = strstr(line, " N"); p; p = strstr(p + 1, " N")) {
		unsigned long node = strtoul(p + 2, &end, 10);

		if (end != p + 2 && *end == '=' && node < CORESET_MAX &&
			!coreset_has(nodes, (unsigned int)node))
			v.foreign += strtoull(end + 1, NULL, 10);
	}
	*ret = v;
	return v.foreign > 0;
}

static void pause_for(const struct mover *m, uint64_t bytes)
{
	double s = (double)bytes / 1048576 / m->mib_per_s;
	struct timespec ts = {
		.tv_sec = (time_t)s, .tv_nsec = (long)((s - (double)(time_t)s) * 1e9)};

	nanosleep(&ts, NULL);
}

/* How many pages of the chunk are elsewhere; they are moved. <0: the process has gone. */
static int move_chunk(struct mover *m, pid_t pid, const struct mems_vma *v, uint64_t at, int n)
{
	void *page[CHUNK], *away[CHUNK];
	int status[CHUNK], to[CHUNK], n_away = 0, moved = 0;

	for (int i = 0; i < n; i++)
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): an address in another process */
		page[i] = (void *)(uintptr_t)(at + (uint64_t)i * m->page_bytes);
	if (syscall(SYS_move_pages, pid, (unsigned long)n, page, NULL, status, 0) < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		if (status[i] < 0 || coreset_has(&m->nodes, (unsigned int)status[i]))
			continue; /* not there, or where it should be */
		away[n_away] = page[i];
		to[n_away++] = m->node[m->turn++ % m->n_nodes];
	}
	if (!n_away)
		return 0;
	/* Of a file only what nobody else maps: the rest is as much theirs. */
	if (syscall(SYS_move_pages, pid, (unsigned long)n_away, away, to, status,
		    v->is_file ? MPOL_MF_MOVE : MPOL_MF_MOVE_ALL) < 0 &&
		errno == ESRCH)
		return -ESRCH;
	for (int i = 0; i < n_away; i++)
		moved += status[i] >= 0 && coreset_has(&m->nodes, (unsigned int)status[i]);
	m->done.moved_bytes += (uint64_t)moved * m->page_bytes;
	m->done.left_bytes += (uint64_t)(n_away - moved) * m->page_bytes;
	pause_for(m, (uint64_t)n_away * m->page_bytes);
	return n_away;
}

static int move_vma(struct mover *m, pid_t pid, const struct mems_vma *v, uint64_t end)
{
	uint64_t found = 0;

	for (uint64_t at = v->start; at < end && found < v->foreign;) {
		uint64_t left = (end - at) / m->page_bytes;
		int n = left < CHUNK ? (int)left : CHUNK, rc;

		if (n == 0)
			break;
		rc = move_chunk(m, pid, v, at, n);
		if (rc < 0)
			return rc;
		found += (uint64_t)rc;
		at += (uint64_t)n * m->page_bytes;
	}
	return 0;
}

/* Where the mapping that begins at @start ends; maps come in ascending order, as numa_maps does. */
static uint64_t end_of(FILE *maps, uint64_t start)
{
	cleanup_free char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, maps) > 0) {
		uint64_t from, to;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) != 2)
			continue;
		if (from == start)
			return to;
		if (from > start)
			break;
	}
	return 0;
}

static FILE *open_proc(const struct mover *m, pid_t pid, const char *file)
{
	char path[64];
	FILE *f;
	int fd;

	snprintf(path, sizeof(path), "proc/%d/%s", (int)pid, file);
	fd = fsroot_openat(m->root, path, 0);
	if (fd < 0)
		return NULL;
	f = fdopen(fd, "re");
	if (!f)
		close(fd);
	return f;
}

/* A process that has gone is no error. */
static void move_process(struct mover *m, pid_t pid)
{
	cleanup_file FILE *numa = open_proc(m, pid, "numa_maps");
	cleanup_file FILE *maps = m->counting ? NULL : open_proc(m, pid, "maps");
	cleanup_free char *line = NULL;
	size_t size = 0;

	if (!numa || (!m->counting && !maps))
		return;
	while (getline(&line, &size, numa) > 0) {
		struct mems_vma v;
		uint64_t end;

		if (!mems_vma_parse(line, &m->nodes, &v))
			continue;
		m->found_bytes += v.is_file ? 0 : v.foreign * m->page_bytes;
		if (m->counting)
			continue;
		end = end_of(maps, v.start);
		if (!end) { /* it has changed since: from the beginning */
			rewind(maps);
			end = end_of(maps, v.start);
		}
		if (end && move_vma(m, pid, &v, end) < 0)
			return;
	}
}

static int each_level(const struct fsroot *root, const char *dir, void *arg, struct errbuf *err)
{
	cleanup_free char *text = NULL;
	char path[FILE_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	n = fsroot_read_alloc(root, path, &text);
	if (n == -ENODEV)
		n = -ENOENT;
	if (n < 0)
		return err_set(err, (int)n, "/%s: %s", path, strerror((int)-n));
	for (char *p = text, *end; *p; p = end + (*end != '\0')) {
		long pid = strtol(p, &end, 10);

		if (end == p)
			break;
		move_process(arg, (pid_t)pid);
	}
	return 0;
}

int mems_move(struct actuate *a, const struct step_cgroup *s, const struct coreset *nodes,
	int mib_per_s, struct mems_moved *ret, struct errbuf *err)
{
	struct mover m = {.root = a->root, .nodes = *nodes, .mib_per_s = mib_per_s};
	uint64_t total = 0, available = 0;
	struct coreset both;
	int rc;

	m.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	coreset_for_each (node, nodes)
		m.node[m.n_nodes++] = node;
	m.counting = true;
	rc = tree_each(a->root, s->step_path, each_level, &m, err);
	if (rc == 0)
		rc = mems_free(a->root, nodes, &total, &available, err);
	if (rc < 0)
		return rc;
	if (m.found_bytes + (uint64_t)(MEMS_RESERVE_RATIO * (double)total) > available)
		return err_set(err, -ENOSPC,
			"%" PRIu64 " MiB to move, %" PRIu64 " of %" PRIu64 " MiB to be had there",
			m.found_bytes >> 20, available >> 20, total >> 20);
	m.counting = false;
	/* The kernel moves no page to where its process may not have any; wider moves none. */
	coreset_zero(&both);
	rc = mems_read(a, s->step_path, &both, err);
	coreset_or(&both, &both, nodes);
	if (rc == 0)
		rc = mems_write(a, s->step_path, &both, err);
	if (rc == 0)
		rc = tree_each(a->root, s->step_path, each_level, &m, err);
	if (rc == 0)
		rc = mems_write(a, s->step_path, nodes, err);
	if (rc == 0)
		*ret = m.done;
	return rc;
}
