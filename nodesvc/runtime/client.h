/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client.h - what libcoloc_omp and libcoloc_mpi need of coloc.c beyond coloc.h; not exported. */
#ifndef COLOC_RUNTIME_CLIENT_H
#define COLOC_RUNTIME_CLIENT_H

#include <stdint.h>

struct coloc;

/*
 * client_generation - where the grant's generation stands, to be read by __atomic builtins; odd
 * while the grant changes. The address holds as long as @c. NULL: not attached.
 */
const uint32_t *client_generation(const struct coloc *c);

/* client_counted - @n more of @unit, COLOC_REGIONS or COLOC_OPERATIONS (page.h). A process that
 * tells of what is worth more goes by that: then this does nothing. */
void client_counted(struct coloc *c, const char *unit, unsigned int n);

#endif
