/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/aside.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "common/ipc.h"

struct aside {
	ucontext_t loop, work;
	void (*fn)(void *arg);
	void *arg;
	char *stack; /* its lowest page may not be touched */
	int64_t until_ns, spent_ns;
	bool ended, unwanted;
};

static _Thread_local struct aside *running;
/* Most of such work is short, and there is always some. */
static _Thread_local char *spare;

/* Of processor time: on a busy machine a moment's work may take long. */
static int64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static size_t mapped(void)
{
	return ASIDE_STACK + (size_t)sysconf(_SC_PAGESIZE);
}

static char *map_stack(void)
{
	char *at;

	if (spare) {
		at = spare;
		spare = NULL;
		return at;
	}
	at = mmap(NULL, mapped(), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (at != MAP_FAILED && mprotect(at, mapped() - ASIDE_STACK, PROT_NONE) == 0)
		return at;
	if (at != MAP_FAILED)
		munmap(at, mapped());
	return NULL;
}

static void unmap_stack(char *at)
{
	if (spare)
		munmap(at, mapped());
	else
		spare = at;
}

static void run(void)
{
	struct aside *a = running;

	a->fn(a->arg);
	a->ended = true;
	/* uc_link leads back to the loop. */
}

int aside_start(struct aside **ret, void (*fn)(void *arg), void *arg, struct errbuf *err)
{
	struct aside *a = running ? NULL : calloc(1, sizeof(*a));

	if (running)
		return err_set(err, -EDEADLK, "work aside inside of such work");
	if (!a)
		return err_set(err, -ENOMEM, "out of memory");
	a->fn = fn;
	a->arg = arg;
	a->stack = map_stack();
	if (!a->stack || getcontext(&a->work) < 0) {
		if (a->stack)
			unmap_stack(a->stack);
		free(a);
		return err_set(err, -ENOMEM, "no stack for work aside");
	}
	a->work.uc_stack.ss_sp = a->stack + (mapped() - ASIDE_STACK);
	a->work.uc_stack.ss_size = ASIDE_STACK;
	a->work.uc_link = &a->loop;
	makecontext(&a->work, run, 0);
	*ret = a;
	return 0;
}

bool aside_go_on(struct aside *a, int64_t slice_ns)
{
	int64_t start_ns;
	int saved = errno;

	if (a->ended)
		return true;
	start_ns = cpu_ns();
	a->until_ns = ipc_now_ns() + slice_ns;
	running = a;
	swapcontext(&a->loop, &a->work);
	running = NULL;
	errno = saved;
	a->spent_ns += cpu_ns() - start_ns;
	return a->ended;
}

int64_t aside_spent_ns(const struct aside *a)
{
	return a->spent_ns;
}

void aside_end(struct aside *a)
{
	if (!a)
		return;
	a->unwanted = true;
	while (!a->ended)
		aside_go_on(a, INT64_MAX / 2);
	unmap_stack(a->stack);
	free(a);
}

bool aside_breathe(void)
{
	struct aside *a = running;
	int saved = errno;

	if (!a)
		return false;
	if (!a->unwanted && ipc_now_ns() >= a->until_ns)
		swapcontext(&a->work, &a->loop);
	errno = saved;
	return a->unwanted;
}
