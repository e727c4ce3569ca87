/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mixes.h - what realmix runs: mixes of programs, and the ways ("arms") to share a node.
 */
#ifndef COLOC_REALMIX_MIXES_H
#define COLOC_REALMIX_MIXES_H

#include <stddef.h>

#include "contrib/bench/realmix/measure.h"

/* The n-th; NULL past the last. */
const struct mix *mixes_get(size_t n);
const struct arm *arms_get(size_t n);
const struct mix *mixes_find(const char *name); /* NULL unknown */
const struct arm *arms_find(const char *name);  /* NULL unknown */

/* Where a mix's programs and their inputs are, and for how large a node. */
struct mix_paths {
	const char *programs; /* folder of contrib/programs */
	const char *inputs;   /* folder with water.tpr for GROMACS; NULL none */
	int cpus;             /* of the node: what they do is dealt to so many */
};

/*
 * mix_prepare - @base with its paths filled in, each program writing files of its own, and with
 * work for all of the node.
 * @ret points to static memory: one prepared mix at a time. Errors: -errno a program or an input is
 * not there, named.
 */
int mix_prepare(
	const struct mix *base, const struct mix_paths *paths, struct mix *ret, struct errbuf *err);

#endif
