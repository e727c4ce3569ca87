/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/counters/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/aside.h"
#include "common/cleanup.h"
#include "common/runtimes.h"

#define FIRST_NS INT64_C(500000000)
#define LAST_NS  INT64_C(300000000000)

/* "7f…-7f… r-xp 00000000 08:01 1234   /usr/lib/libgomp.so.1.0.0": one that is deleted counts too.
 */
static uint32_t runtime_in(const char *line)
{
	const char *slash = strrchr(line, '/');

	return slash ? runtime_of(slash + 1) : 0;
}

static uint32_t runtimes_in_maps(const struct fsroot *root, pid_t pid)
{
	cleanup_close int fd = -1;
	char path[64], buf[8192];
	uint32_t found = 0;
	size_t kept = 0;

	snprintf(path, sizeof(path), "proc/%d/maps", (int)pid);
	fd = fsroot_openat(root, path, O_RDONLY);
	while (fd >= 0 && !aside_breathe()) {
		ssize_t got = read(fd, buf + kept, sizeof(buf) - 1 - kept);
		char *line = buf, *end;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		buf[kept + (size_t)got] = '\0';
		for (; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			found |= runtime_in(line);
		}
		kept = strlen(line);
		/* No path is so long. */
		if (kept == sizeof(buf) - 1)
			break;
		memmove(buf, line, kept);
	}
	return found;
}

static void look(void *arg)
{
	struct look *l = arg;

	for (; l->at < l->n && l->processes < MAPPED_LOOK_MAX && !aside_breathe(); l->at++) {
		if (!fsroot_is_process(l->root, l->tid[l->at]))
			continue;
		l->found |= runtimes_in_maps(l->root, l->tid[l->at]);
		l->processes++;
	}
}

void mapped_go_on(struct mapped *m)
{
	if (!m->look || !look_go_on(m->look))
		return;
	m->runtimes |= m->look->found;
	m->at += m->look->at;
	look_done(&m->look);
}

void mapped_sample(
	struct mapped *m, const struct fsroot *root, const pid_t *tid, int n, int64_t now_ns)
{
	if (n > 0 && !m->look && now_ns >= m->next_ns) {
		if (m->at >= n)
			m->at = 0;
		if (m->next_ns)
			m->look = look_begin(root, tid, n, m->at, MAPPED_THREADS_MAX, look);
		m->gap_ns = m->next_ns ? 2 * m->gap_ns : FIRST_NS;
		if (m->gap_ns > LAST_NS)
			m->gap_ns = LAST_NS;
		m->next_ns = now_ns + m->gap_ns;
	}
	mapped_go_on(m);
}

uint64_t mapped_code(const struct fsroot *root, pid_t pid)
{
	char path[64], text[4096];
	const char *own, *libraries;
	uint64_t kib;
	struct stat st;

	snprintf(path, sizeof(path), "proc/%d/exe", (int)pid);
	if (fsroot_stat_known(root, path, &st) < 0)
		return 0;
	/* Of somebody in very many groups these are further down, and not found. */
	snprintf(path, sizeof(path), "proc/%d/status", (int)pid);
	if (fsroot_read_once(root, path, text, sizeof(text)) <= 0)
		return 0;
	own = strstr(text, "\nVmExe:");
	libraries = strstr(text, "\nVmLib:");
	if (!own || !libraries)
		return 0;
	kib = strtoull(own + strlen("\nVmExe:"), NULL, 10) +
	      strtoull(libraries + strlen("\nVmLib:"), NULL, 10);
	/* Mixed, so that no two of the three make up for each other. */
	return 1 |
	       ((((uint64_t)st.st_dev * 0x9e3779b97f4a7c15 + st.st_ino) * 0x9e3779b97f4a7c15 + kib)
		       << 1);
}
