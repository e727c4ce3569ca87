/* SPDX-License-Identifier: GPL-2.0-or-later */
/* omp_runtime.c - whose call is it: the OpenMP runtimes of this process, and their functions. */
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "nodesvc/runtime/omp.h"

static const char *const names[OMP_N_SYMBOLS] = {
#define OMP_SYMBOL(name) #name,
#include "nodesvc/runtime/omp_symbols.h"
#undef OMP_SYMBOL
};

struct omp_runtime omp_module[OMP_MODULES_MAX];
_Atomic int omp_n_modules;
static atomic_flag adding = ATOMIC_FLAG_INIT;

static struct omp_runtime next_one = {.handle = RTLD_NEXT};

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

struct omp_runtime *omp_add(const void *caller)
{
	struct search s = {.at = (uintptr_t)caller, .name = ""};
	struct omp_runtime *rt = NULL;
	void *handle = NULL;
	int n;

	dl_iterate_phdr(match, &s);
	/* A library's own dependencies first, as it would be without us (it may have been loaded
	 * for itself alone); the program's are in the order of loading. Before anybody can wait for
	 * us: who loads a library may start a region meanwhile, and the loader waits for that one.
	 */
	if (*s.name && atomic_load(&omp_n_modules) < OMP_MODULES_MAX)
		handle = dlopen(s.name, RTLD_LAZY | RTLD_NOLOAD);
	while (atomic_flag_test_and_set_explicit(&adding, memory_order_acquire))
		;
	n = atomic_load(&omp_n_modules);
	for (int i = 0; i < n && !rt; i++) /* another thread may have been first */
		if (s.at >= omp_module[i].from && s.at < omp_module[i].to)
			rt = &omp_module[i];
	if (!rt && n < OMP_MODULES_MAX && s.to) {
		rt = &omp_module[n];
		rt->from = s.from;
		rt->to = s.to;
		rt->handle = handle ? handle : RTLD_NEXT;
		handle = NULL;
		atomic_store_explicit(&omp_n_modules, n + 1, memory_order_release);
	}
	atomic_flag_clear_explicit(&adding, memory_order_release);
	if (handle)
		dlclose(handle);
	return rt;
}

void *omp_look_up(struct omp_runtime *rt, enum omp_symbol symbol, int required)
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
