/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * population.h - sets of programs to draw combinations from.
 *
 * lira        18 archetypes after the programs of LIRA (ROSS 2015, section 6.1); values are ours
 * parsec      the eight programs of SBMP (PACT 2012), with its published utilisation
 * latent      every property drawn independently: no correlation a policy could live on by luck
 * adversarial programs made to mislead policies
 * measured    models of real programs (model.h): counted and timed, on fewer cores than simulated
 * spec-wl     the two workloads of the LLC-complex paper, as far as it tells (population_drawn.h)
 * mapper      programs of the suites that MAPPER was run on (population_drawn.h)
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
	int threads;    /* of a program, unless told otherwise; 0: one per hardware thread */
	int n_programs; /* 0: drawn for each combination */
	const struct program *program;
	enum objective objective;
	enum ntt_base base; /* what "alone" means in the paper's figures */
	/* How the paper ran its experiment; runs 0: not told. */
	struct {
		double sample_cycles, decide_s;
		int runs;
		const char *fallback;
	} paper;
	bool fill; /* references that place jobs let those of a domain fill each other's idle time
		    */
	/* Constants of the paper's machine that differ from machine_defaults(). */
	void (*machine)(struct machine_params *ret);
	void (*draw)(uint64_t seed, int k, int n_jobs, struct program *ret); /* NULL: program[] */
};

/*
 * population_find - @ret points into storage that lives as long as the process; `measured` has the
 * models that are built in, read at the first call (one thread only).
 * Errors: -ENOENT, the text lists the known ones.
 */
int population_find(struct population *ret, const char *name, struct errbuf *err);
/* The models of folder @dir in place of those built in. Errors: models_load()'s. */
int population_models(struct population *p, const char *dir, struct errbuf *err);
/* The paper's settings, on a machine of @hz; -ENOENT: there are none. */
int population_paper(const struct population *p, double hz, struct drive *ret);
/* What p->machine does, onto machine_defaults(). */
void population_machine(const struct population *p, struct machine_params *ret);
/*
 * population_combo - programs of combination @k: without repetition inside a combination; all
 * combinations differ as long as there are enough (SBMP's 70 are all of its eight programs).
 * Errors: -EINVAL more jobs than programs.
 */
int population_combo(const struct population *p, uint64_t seed, int k, int n_jobs,
	struct program *ret, struct errbuf *err);

#endif
