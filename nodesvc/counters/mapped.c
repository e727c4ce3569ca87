/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/counters/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/aside.h"
#include "common/cleanup.h"
#include "common/runtimes.h"

#define FIRST_NS INT64_C(500000000)
#define LAST_NS  INT64_C(300000000000)
/* Of the loop's time, at a sample. */
#define SLICE_NS INT64_C(1500000)

struct mapped_look {
	struct aside *work;
	const struct fsroot *root;
	pid_t tid[MAPPED_THREADS_MAX];
	int n, at;
	int processes;
	uint32_t found;
};

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
	struct mapped_look *l = arg;

	for (; l->at < l->n && l->processes < MAPPED_LOOK_MAX && !aside_breathe(); l->at++) {
		if (!fsroot_is_process(l->root, l->tid[l->at]))
			continue;
		l->found |= runtimes_in_maps(l->root, l->tid[l->at]);
		l->processes++;
	}
}

static void begin_look(struct mapped *m, const struct fsroot *root, const pid_t *tid, int n)
{
	struct mapped_look *l = calloc(1, sizeof(*l));

	if (!l)
		return;
	l->root = root;
	if (m->at >= n)
		m->at = 0;
	l->n = n < MAPPED_THREADS_MAX ? n : MAPPED_THREADS_MAX;
	for (int i = 0; i < l->n; i++)
		l->tid[i] = tid[(m->at + i) % n];
	if (aside_start(&l->work, look, l, NULL) < 0) {
		free(l);
		return;
	}
	m->look = l;
}

void mapped_go_on(struct mapped *m)
{
	if (!m->look || !aside_go_on(m->look->work, SLICE_NS))
		return;
	m->runtimes |= m->look->found;
	m->at += m->look->at;
	mapped_done(m);
}

int mapped_left(const struct mapped *m, int *ret_of)
{
	*ret_of = m->look ? m->look->n : 0;
	return m->look ? m->look->n - m->look->at : 0;
}

void mapped_done(struct mapped *m)
{
	if (!m->look)
		return;
	aside_end(m->look->work);
	free(m->look);
	m->look = NULL;
}

void mapped_sample(
	struct mapped *m, const struct fsroot *root, const pid_t *tid, int n, int64_t now_ns)
{
	if (n > 0 && !m->look && now_ns >= m->next_ns) {
		if (m->next_ns)
			begin_look(m, root, tid, n);
		m->gap_ns = m->next_ns ? 2 * m->gap_ns : FIRST_NS;
		if (m->gap_ns > LAST_NS)
			m->gap_ns = LAST_NS;
		m->next_ns = now_ns + m->gap_ns;
	}
	mapped_go_on(m);
}
