/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/counters/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"

/* More than most last levels hold, and cold: the walk must reach and miss the last level. */
#define PROBE_BYTES ((size_t)64 << 20)

/* In the child: async-signal-safe calls only, the parent may have had threads. */
static void work(void)
{
	volatile char *p =
		mmap(NULL, PROBE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int sum = 0;

	if ((void *)p == MAP_FAILED)
		_exit(1);
	for (uint64_t i = 0; i < PROBE_TURNS; i++) {
		size_t at = (size_t)i * 64 % PROBE_BYTES;

		if (i < PROBE_BYTES / 64)
			p[at] = (char)i; /* first round: real pages, not the zero page */
		sum += (unsigned char)p[at];
	}
	p[0] = (char)sum;
}

int probe_child_start(struct probe_child *ret, struct errbuf *err)
{
	int pipe_fd[2];
	pid_t pid;

	*ret = (struct probe_child){.go_fd = -1};
	if (pipe2(pipe_fd, O_CLOEXEC))
		return err_set(err, -errno, "pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0) {
		int rc = -errno;

		close(pipe_fd[0]);
		close(pipe_fd[1]);
		return err_set(err, rc, "fork: %s", strerror(-rc));
	}
	if (pid == 0) {
		char c;

		close(pipe_fd[1]);
		if (read(pipe_fd[0], &c, 1) != 1)
			_exit(1);
		work();
		_exit(0);
	}
	close(pipe_fd[0]);
	ret->pid = pid;
	ret->go_fd = pipe_fd[1];
	return 0;
}

static int reap(struct probe_child *c)
{
	int status = -1;
	pid_t pid = c->pid;

	c->pid = 0;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

int probe_child_go(struct probe_child *c, struct errbuf *err)
{
	int status;

	if (write(c->go_fd, "", 1) != 1)
		return err_set(err, -errno, "cannot start the probe's child: %s", strerror(errno));
	close(take_fd(c->go_fd));
	status = reap(c);
	if (status)
		return err_set(err, -ECHILD, "the probe's child failed (status %d)", status);
	return 0;
}

void probe_child_finish(struct probe_child *c)
{
	if (c->go_fd >= 0)
		close(take_fd(c->go_fd));
	if (c->pid > 0) {
		kill(c->pid, SIGKILL);
		reap(c);
	}
}

bool probe_is_plausible(enum counter_id id, uint64_t count)
{
	/* Upper bounds leave room for an unoptimised or sanitized build (about 60 a turn), cycles
	 * for misses that all go to a far memory. */
	switch (id) {
	case COUNTER_INSTRUCTIONS:
		return count >= 3 * PROBE_TURNS && count <= 200 * PROBE_TURNS;
	case COUNTER_CYCLES:
		return count >= PROBE_TURNS / 4 && count <= 5000 * PROBE_TURNS;
	case COUNTER_LOADS:
		return count >= PROBE_TURNS / 2 && count <= 100 * PROBE_TURNS;
	case COUNTER_LLC_REFS:
	case COUNTER_LLC_MISSES:
		/* Prefetchers decide how many of the cold lines are seen: some must be. */
		return count >= 1000 && count <= 20 * PROBE_TURNS;
	case COUNTER_MEM_BYTES:
		return count >= 64000 && count <= 2000 * PROBE_TURNS;
	case COUNTER_COUNT:
		break;
	}
	return false;
}

const char *counter_name(enum counter_id id)
{
	static const char *const name[COUNTER_COUNT] = {
		[COUNTER_INSTRUCTIONS] = "instructions",
		[COUNTER_CYCLES] = "cycles",
		[COUNTER_LOADS] = "loads",
		[COUNTER_LLC_REFS] = "llc refs",
		[COUNTER_LLC_MISSES] = "llc misses",
		[COUNTER_MEM_BYTES] = "mem bytes",
	};

	return id < COUNTER_COUNT ? name[id] : "?";
}

const char *counter_list(uint32_t mask, char *buf, size_t size)
{
	size_t at = 0;

	buf[0] = '\0';
	for (int c = 0; c < COUNTER_COUNT; c++)
		if (mask & COUNTER_BIT(c) && at < size)
			at += (size_t)snprintf(
				buf + at, size - at, "%s%s", at ? ", " : "", counter_name(c));
	return buf;
}
