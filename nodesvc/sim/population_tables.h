/* SPDX-License-Identifier: GPL-2.0-or-later */
/* population_tables.h - the programs with names, for population.c. */
#ifndef COLOC_SIM_POPULATION_TABLES_H
#define COLOC_SIM_POPULATION_TABLES_H

#include "nodesvc/sim/program.h"

#define POPULATION_LIRA        18
#define POPULATION_PARSEC      8
#define POPULATION_ADVERSARIAL 10

extern const struct program population_lira[POPULATION_LIRA];
extern const struct program population_parsec[POPULATION_PARSEC];
extern const struct program population_adversarial[POPULATION_ADVERSARIAL];

#endif
