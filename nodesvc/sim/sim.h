/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sim.h - the commands of colocsim. Each returns the exit status: 0 ok, 1 failed, 2 usage.
 */
#ifndef COLOC_SIM_SIM_H
#define COLOC_SIM_SIM_H

#include <stdbool.h>

enum { SIM_OK = 0, SIM_FAILED = 1, SIM_USAGE = 2 };

int sim_plan(int argc, char **argv);
/* `plan` of a trace: the plan of its last decision, and whether it is the recorded one (0), unless
 * @policy is asked instead. */
int sim_plan_trace(const char *path, const char *policy, bool explain);
int sim_replay(int argc, char **argv);
int sim_eval(int argc, char **argv);
int sim_run_workload(int argc, char **argv);
/* `run` of a file of kind tasks; @policy: instead of the file's, NULL: those. */
int sim_run_tasks(const char *path, const char *policy, bool json, bool csv);

#endif
