/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * omp.h - what the files of libcoloc_omp share: which OpenMP runtime a call is meant for, and how
 * many threads a region gets. Nothing of it is exported.
 *
 * The library stands before the OpenMP runtime (LD_PRELOAD). It never raises a team above what the
 * runtime would have made, and touches only regions of the outermost level that leave their size
 * open. Called by the program's threads, several at once.
 */
#ifndef COLOC_RUNTIME_OMP_H
#define COLOC_RUNTIME_OMP_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

/* The OpenMP runtime that one module of the process (program or library) calls. */
struct omp_runtime;

/*
 * omp_find - the runtime behind the code at @caller, found as the loader does it for that module:
 * a process may have several, and each must get its own calls. Remembered per module. NULL: there
 * are too many modules.
 */
struct omp_runtime *omp_find(const void *caller);

enum omp_symbol {
#define OMP_SYMBOL(name) OMP_##name,
#include "nodesvc/runtime/omp_symbols.h"
#undef OMP_SYMBOL
	OMP_N_SYMBOLS,
};
/* The runtime's own function; NULL it has none (@required: the process ends, as it would have at
 * its start). @rt NULL: of the first runtime after us. */
void *omp_real(struct omp_runtime *rt, enum omp_symbol symbol, int required);

/*
 * omp_team - threads for a region that left its size open, 0: let the runtime choose.
 *
 * Between regions only: what is in a region sees one size. After the program has asked for
 * omp_get_max_threads(), every team is as large as it was told, until it asks again: work that was
 * cut by that number is all done.
 */
unsigned int omp_team(struct omp_runtime *rt);
/* omp_get_max_threads() as the program is to see it. */
int omp_tell_max(struct omp_runtime *rt);
/* The program has chosen a size itself: hands off from here on. */
void omp_hands_off(void);

#pragma GCC visibility pop

#endif
