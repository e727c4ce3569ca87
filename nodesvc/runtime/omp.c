/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/runtime/omp.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "nodesvc/runtime/coloc.h"

/* Modules that start regions; programs have one to three. */
#define MODULES_MAX 32

struct omp_runtime {
	uintptr_t from, to; /* the module's addresses */
	void *handle;       /* to look symbols up; RTLD_NEXT for the program itself */
	_Atomic(void *) symbol[OMP_N_SYMBOLS];
};

static const char *const names[OMP_N_SYMBOLS] = {
#define OMP_SYMBOL(name) #name,
#include "nodesvc/runtime/omp_symbols.h"
#undef OMP_SYMBOL
};

static struct omp_runtime modules[MODULES_MAX];
static _Atomic int n_modules;
static atomic_flag adding = ATOMIC_FLAG_INIT;

static struct omp_runtime next_one = {.handle = RTLD_NEXT};

/* ---- whose call is it ---------------------------------------------------------------------- */

struct search {
	uintptr_t at, from, to;
	char name[512];
};

static int match(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	uintptr_t from = UINTPTR_MAX, to = 0;
	bool inside = false;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t a = info->dlpi_addr + p->p_vaddr, b = a + p->p_memsz;

		if (p->p_type != PT_LOAD)
			continue;
		inside |= s->at >= a && s->at < b;
		from = a < from ? a : from;
		to = b > to ? b : to;
	}
	if (!inside)
		return 0;
	s->from = from;
	s->to = to;
	snprintf(s->name, sizeof(s->name), "%s", info->dlpi_name ? info->dlpi_name : "");
	return 1;
}

static struct omp_runtime *lookup(uintptr_t at)
{
	int n = atomic_load_explicit(&n_modules, memory_order_acquire);

	for (int i = 0; i < n; i++)
		if (at >= modules[i].from && at < modules[i].to)
			return &modules[i];
	return NULL;
}

static struct omp_runtime *add(uintptr_t at)
{
	struct search s = {.at = at};
	struct omp_runtime *rt = NULL;
	int n;

	dl_iterate_phdr(match, &s);
	while (atomic_flag_test_and_set_explicit(&adding, memory_order_acquire))
		;
	rt = lookup(at);
	n = atomic_load(&n_modules);
	if (!rt && n < MODULES_MAX && s.to) {
		rt = &modules[n];
		rt->from = s.from;
		rt->to = s.to;
		/* A library's own dependencies first, as it would be without us (it may have been
		 * loaded for itself alone); the program's are in the order of loading. */
		rt->handle = *s.name ? dlopen(s.name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
		if (!rt->handle)
			rt->handle = RTLD_NEXT;
		atomic_store_explicit(&n_modules, n + 1, memory_order_release);
	}
	atomic_flag_clear_explicit(&adding, memory_order_release);
	return rt;
}

struct omp_runtime *omp_find(const void *caller)
{
	struct omp_runtime *rt = lookup((uintptr_t)caller);

	return rt ? rt : add((uintptr_t)caller);
}

void *omp_real(struct omp_runtime *rt, enum omp_symbol symbol, int required)
{
	void *fn;

	if (!rt)
		rt = &next_one;
	fn = atomic_load_explicit(&rt->symbol[symbol], memory_order_acquire);
	if (fn)
		return fn;
	fn = dlsym(rt->handle, names[symbol]);
	if (!fn && rt->handle != RTLD_NEXT)
		fn = dlsym(RTLD_NEXT, names[symbol]);
	if (!fn && required) {
		fprintf(stderr, "libcoloc_omp: no OpenMP runtime has %s\n", names[symbol]);
		abort();
	}
	atomic_store_explicit(&rt->symbol[symbol], fn, memory_order_release);
	return fn;
}

/* ---- how many threads ---------------------------------------------------------------------- */

static _Atomic(struct coloc *) grant;
static _Atomic int asked_for_grant; /* 0 not yet, 1 somebody does, 2 done */
static _Atomic int hands_off;
static _Atomic int told; /* what omp_get_max_threads() said; 0 never asked */
static bool strict;      /* told once is told for ever */

static int granted(void)
{
	struct coloc *c = atomic_load_explicit(&grant, memory_order_acquire);
	int none = 0;

	if (c)
		return coloc_granted(c, NULL);
	/* At the first region, not at the start: a shell under us never asks. */
	if (atomic_load_explicit(&asked_for_grant, memory_order_relaxed) ||
		!atomic_compare_exchange_strong(&asked_for_grant, &none, 1))
		return 0;
	if (getauxval(AT_SECURE)) {
		atomic_store(&hands_off, 1);
		return 0;
	}
	strict = getenv("COLOC_OMP_STRICT") != NULL;
	c = coloc_attach();
	atomic_store_explicit(&grant, c, memory_order_release);
	return c ? coloc_granted(c, NULL) : 0;
}

/* What the runtime says, inside whose region; false: not ours to change. */
static bool is_open(struct omp_runtime *rt, int *ret_max)
{
	int (*level)(void), (*max)(void);

	if (atomic_load_explicit(&hands_off, memory_order_relaxed))
		return false;
	level = (int (*)(void))omp_real(rt, OMP_omp_get_level, 0);
	max = (int (*)(void))omp_real(rt, OMP_omp_get_max_threads, 0);
	if (!level || !max || level() > 0)
		return false;
	*ret_max = max();
	return true;
}

unsigned int omp_team(struct omp_runtime *rt)
{
	int max, n;

	if (!is_open(rt, &max))
		return 0;
	n = atomic_load_explicit(&told, memory_order_relaxed);
	if (!n)
		n = granted();
	return n > 0 && n < max ? (unsigned int)n : 0;
}

int omp_tell_max(struct omp_runtime *rt)
{
	int (*real)(void) = (int (*)(void))omp_real(rt, OMP_omp_get_max_threads, 1);
	int max, n;

	if (!is_open(rt, &max))
		return real();
	n = granted();
	if (n <= 0 || n > max)
		n = max;
	if (strict && atomic_load_explicit(&told, memory_order_relaxed))
		n = atomic_load_explicit(&told, memory_order_relaxed);
	atomic_store_explicit(&told, n, memory_order_relaxed);
	return n < max ? n : max;
}

void omp_hands_off(void)
{
	atomic_store(&hands_off, 1);
}
