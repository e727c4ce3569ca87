/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client.h - what libcoloc_omp needs of coloc.c beyond coloc.h; not exported. */
#ifndef COLOC_RUNTIME_CLIENT_H
#define COLOC_RUNTIME_CLIENT_H

#include <stdint.h>

struct coloc;

/*
 * client_generation - where the grant's generation stands, to be read by __atomic builtins; odd
 * while the grant changes. The address holds as long as @c. NULL: not attached.
 */
const uint32_t *client_generation(const struct coloc *c);

/* client_regions - @n more parallel regions have begun. A process that publishes its progress
 * itself goes by that: then this does nothing. */
void client_regions(struct coloc *c, unsigned int n);

#endif
