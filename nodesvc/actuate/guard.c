/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/actuate/actuate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/ipc.h"

/* The child's own numbers for what it keeps. */
#define CHILD_WAKE 3
#define CHILD_ROOT 4
/* A write that fails is tried again: the group may be on its way out. */
#define TRIES 5

/* Of a slot: nobody's, the daemon's, the guard's own to thaw and to free. */
enum { SLOT_FREE, SLOT_HELD, SLOT_LEFT };

struct guard_slot {
	_Atomic int used;         /* written last by the daemon */
	_Atomic int64_t until_ns; /* 0: not frozen by us */
	char thaw[8], file[304];
};

struct guard_table {
	/* The guard sleeps until then, or until the socket wakes it (INT64_MAX); 0: it is up. */
	_Atomic int64_t wakes_ns;
	_Atomic int top; /* no slot from here on was ever used */
	struct guard_slot slot[];
};

struct guard {
	const struct fsroot *root;
	char mark[320];            /* guard_start(); "" none */
	struct guard_table *table; /* shared */
	size_t table_bytes;
	int max;
	pid_t pid;
	int pid_fd, wake_fd;
};

/* ---- the child ----------------------------------------------------------------------------- */

static bool thaw(struct guard_slot *s)
{
	size_t len = strlen(s->thaw);
	int fd = openat(CHILD_ROOT, s->file, O_WRONLY | O_CLOEXEC);
	bool done;

	if (fd < 0)
		return errno == ENOENT; /* the step has ended */
	done = write(fd, s->thaw, len) == (ssize_t)len || errno == ENODEV;
	close(fd);
	return done;
}

/* Thaws what is armed and, unless @all, overdue; returns how many. */
static int thaw_due(struct guard_table *t, bool all, int64_t *ret_next_ns)
{
	int64_t now = ipc_now_ns(), next = 0;
	int n = 0, top = atomic_load(&t->top);

	for (int i = 0; i < top; i++) {
		struct guard_slot *s = &t->slot[i];
		int64_t until;

		if (!atomic_load_explicit(&s->used, memory_order_acquire))
			continue;
		until = atomic_load(&s->until_ns);
		if (!until)
			continue;
		if (all || until <= now) {
			/* The daemon may arm it anew at any time: take back what we saw only. */
			if (!thaw(s)) {
				until = now + INT64_C(20000000); /* once more */
			} else {
				n += atomic_compare_exchange_strong(&s->until_ns, &until, 0);
				until = 0;
				if (atomic_load(&s->used) == SLOT_LEFT)
					atomic_store_explicit(
						&s->used, SLOT_FREE, memory_order_release);
			}
		}
		if (until && (!next || until < next))
			next = until;
	}
	*ret_next_ns = next;
	return n;
}

/* Waits for the socket, or for the first deadline; false: the daemon has gone. */
static bool wait_for(struct guard_table *t, int64_t *next_ns)
{
	struct pollfd p = {.fd = CHILD_WAKE, .events = POLLIN};
	int ms = -1, rc;
	char drop[64];

	/* What is armed for earlier from here on comes with a wake-up; what was before, look. */
	atomic_store(&t->wakes_ns, *next_ns ? *next_ns : INT64_MAX);
	thaw_due(t, false, next_ns);
	if (*next_ns) {
		int64_t left_ms = (*next_ns - ipc_now_ns()) / 1000000;

		ms = left_ms < 0 ? 0 : left_ms < INT_MAX ? (int)left_ms + 1 : INT_MAX;
	}
	rc = poll(&p, 1, ms);
	atomic_store(&t->wakes_ns, 0);
	return !(rc > 0 && read(CHILD_WAKE, drop, sizeof(drop)) == 0);
}

/* For the next daemon: what its ledger names is thawed. Whoever takes no part needs none. */
static void leave_mark(const struct guard_table *t, const char *mark)
{
	bool any = false;
	int fd;

	for (int i = 0; i < atomic_load(&t->top); i++)
		any |= atomic_load(&t->slot[i].used) != SLOT_FREE;
	if (!any || !*mark)
		return;
	fd = openat(CHILD_ROOT, mark, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0)
		close(fd);
}

static void watch(struct guard_table *t, const char *mark)
{
	int64_t next = 0;
	int n;

	while (wait_for(t, &next)) {
		n = thaw_due(t, false, &next);
		if (n)
			dprintf(STDERR_FILENO, "colocd: guard: %d steps thawed past their limit\n",
				n);
	}
	n = 0;
	for (int i = 0; i < TRIES; i++) {
		n += thaw_due(t, true, &next);
		if (!next)
			break;
		nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	}
	if (!next)
		leave_mark(t, mark);
	if (n)
		dprintf(STDERR_FILENO, "colocd: guard: colocd is gone, %d steps thawed\n", n);
}

__attribute__((noreturn)) static void child(struct guard *g, int wake_fd)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	int null = open("/dev/null", O_RDWR), root = dup(g->root->fd), end = dup(wake_fd);
	sigset_t none;

	sigaction(SIGTERM, &ignore, NULL);
	sigaction(SIGINT, &ignore, NULL);
	sigaction(SIGHUP, &ignore, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid(); /* what is sent to the daemon's group is not for us */
	prctl(PR_SET_NAME, "colocd-guard");
	/* Above the numbers we are going to use. */
	root = fcntl(root, F_DUPFD, 10);
	end = fcntl(end, F_DUPFD, 10);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(end, CHILD_WAKE);
	dup2(root, CHILD_ROOT);
	close_range(CHILD_ROOT + 1, ~0u, 0);
	if (null < 0 || root < 0 || end < 0 || chdir("/") < 0)
		_exit(1);
	watch(g->table, g->mark);
	_exit(0);
}

/* ---- the daemon's side --------------------------------------------------------------------- */

int guard_restart(struct guard *g, struct errbuf *err)
{
	sigset_t all, before;
	int fd[2], rc;

	if (g->pid > 0)
		waitpid(g->pid, NULL, 0);
	if (g->pid_fd >= 0)
		close(g->pid_fd);
	if (g->wake_fd >= 0)
		close(g->wake_fd);
	g->pid_fd = g->wake_fd = -1;
	g->pid = 0;
	/* No pipe: a write to one whose reader was killed ends the writer. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd) < 0)
		return err_set(err, -errno, "guard: socketpair: %s", strerror(errno));
	/* None may reach the child before it ignores them. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	g->pid = fork();
	if (g->pid == 0) {
		close(fd[1]);
		child(g, fd[0]);
	}
	rc = -errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(fd[0]);
	g->wake_fd = fd[1];
	if (g->pid < 0) {
		g->pid = 0;
		return err_set(err, rc, "guard: fork: %s", strerror(-rc));
	}
	g->pid_fd = (int)syscall(SYS_pidfd_open, g->pid, 0);
	return 0;
}

int guard_start(struct guard **ret, const struct fsroot *root, const char *mark, int max,
	struct errbuf *err)
{
	struct guard *g = calloc(1, sizeof(*g));
	int rc;

	if (!g)
		return err_set(err, -ENOMEM, "guard: out of memory");
	g->root = root;
	mark += strspn(mark, "/");
	if (strlen(mark) < sizeof(g->mark))
		strcpy(g->mark, mark);
	g->max = max;
	g->pid_fd = g->wake_fd = -1;
	g->table_bytes = sizeof(*g->table) + (size_t)max * sizeof(g->table->slot[0]);
	g->table = mmap(
		NULL, g->table_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (g->table == MAP_FAILED) {
		free(g);
		return err_set(err, -ENOMEM, "guard: out of memory");
	}
	rc = guard_restart(g, err);
	if (rc < 0) {
		guard_stop(g);
		return rc;
	}
	*ret = g;
	return 0;
}

void guard_stop(struct guard *g)
{
	if (!g)
		return;
	if (g->wake_fd >= 0)
		close(g->wake_fd);
	if (g->pid > 0)
		waitpid(g->pid, NULL, 0);
	if (g->pid_fd >= 0)
		close(g->pid_fd);
	munmap(g->table, g->table_bytes);
	free(g);
}

int guard_take_mark(const struct guard *g)
{
	if (!*g->mark || unlinkat(g->root->fd, g->mark, 0) == 0)
		return *g->mark != '\0';
	return errno == ENOENT ? 0 : -errno;
}

pid_t guard_pid(const struct guard *g)
{
	return g->pid;
}

int guard_fd(const struct guard *g)
{
	return g->pid_fd;
}

int guard_add(struct guard *g, const char *file, const char *thaw_text)
{
	for (int i = 0; i < g->max; i++) {
		struct guard_slot *s = &g->table->slot[i];

		if (atomic_load(&s->used))
			continue;
		if (strlen(file) >= sizeof(s->file) || strlen(thaw_text) >= sizeof(s->thaw))
			return -ENAMETOOLONG;
		atomic_store(&s->until_ns, 0);
		strcpy(s->file, file);
		strcpy(s->thaw, thaw_text);
		if (i >= atomic_load(&g->table->top))
			atomic_store(&g->table->top, i + 1);
		atomic_store_explicit(&s->used, SLOT_HELD, memory_order_release);
		return i;
	}
	return -ENOSPC;
}

void guard_arm(struct guard *g, int slot, int64_t until_ns)
{
	int64_t wakes_ns;

	atomic_store(&g->table->slot[slot].until_ns, until_ns);
	wakes_ns = atomic_load(&g->table->wakes_ns);
	/* A full socket wakes it as well. */
	if (until_ns < wakes_ns &&
		atomic_compare_exchange_strong(&g->table->wakes_ns, &wakes_ns, until_ns))
		send(g->wake_fd, "", 1, MSG_NOSIGNAL);
}

void guard_disarm(struct guard *g, int slot)
{
	atomic_store(&g->table->slot[slot].until_ns, 0);
}

void guard_remove(struct guard *g, int slot)
{
	guard_disarm(g, slot);
	atomic_store_explicit(&g->table->slot[slot].used, SLOT_FREE, memory_order_release);
}

void guard_leave(struct guard *g, int slot)
{
	atomic_store(&g->table->slot[slot].used, SLOT_LEFT);
	guard_arm(g, slot, 1);
}
