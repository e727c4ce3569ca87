/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sensitivity_print.h - `colocsim eval --sensitivity`: runs sensitivity.h and prints its rows. */
#ifndef COLOC_SIM_SENSITIVITY_PRINT_H
#define COLOC_SIM_SENSITIVITY_PRINT_H

#include "nodesvc/sim/sensitivity.h"

/* @e as sensitivity_run() takes it. Returns the exit status; errors go to standard error. */
int sim_sensitivity(const struct eval *e, const struct topo *t, const struct machine_params *params,
	const char *topology, double by, bool json);

#endif
