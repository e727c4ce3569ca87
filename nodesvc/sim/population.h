/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * population.h - sets of programs to draw combinations from.
 *
 * lira        18 archetypes after the programs of LIRA (ROSS 2015, section 6.1); values are ours
 * parsec      the eight programs of SBMP (PACT 2012), with its published utilisation
 * latent      every property drawn independently: no correlation a policy could live on by luck
 * adversarial programs made to mislead policies
 */
#ifndef COLOC_SIM_POPULATION_H
#define COLOC_SIM_POPULATION_H

#include "nodesvc/sim/drive.h"
#include "nodesvc/sim/machine.h"
#include "nodesvc/sim/program.h"

struct population {
	const char *name;
	const char *topology; /* the paper's machine */
	enum topo_level domain;
	int n_jobs;     /* of a combination, unless told otherwise */
	int n_programs; /* 0: drawn for each combination */
	const struct program *program;
	enum objective objective;
	enum ntt_base base; /* what "alone" means in the paper's figures */
};

/* Errors: -ENOENT, the text lists the known ones. */
int population_find(struct population *ret, const char *name, struct errbuf *err);
/* Constants of the paper's machine that differ from machine_defaults(). */
void population_machine(const struct population *p, struct machine_params *ret);
/*
 * population_combo - programs of combination @k: without repetition inside a combination; all
 * combinations differ as long as there are enough (SBMP's 70 are all of its eight programs).
 * Errors: -EINVAL more jobs than programs.
 */
int population_combo(const struct population *p, uint64_t seed, int k, int n_jobs,
	struct program *ret, struct errbuf *err);

#endif
