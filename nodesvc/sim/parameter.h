/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parameter.h - the constants of a machine and the properties of programs that may be off, and the
 * same with one of them multiplied.
 *
 * Multiplied, then put back into bounds: a miss ratio does not exceed 1, and what alpha and gamma
 * gain beta loses.
 */
#ifndef COLOC_SIM_PARAMETER_H
#define COLOC_SIM_PARAMETER_H

#include <stdbool.h>

#include "nodesvc/sim/machine.h"
#include "nodesvc/sim/program.h"

/* Parameters have numbers from 1 to less than parameter_count(); 0 is "nothing". */
int parameter_count(void);
/* NULL: there is no such parameter. */
const char *parameter_name(int parameter);
bool parameter_is_program(int parameter);
/* Does nothing where the parameter is not of that kind. */
void parameter_change_machine(int parameter, double factor, struct machine_params *m);
void parameter_change_program(int parameter, double factor, struct program *p);

#endif
