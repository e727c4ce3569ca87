/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bind.h - did the user bind the step, or Slurm? SLURM_CPU_BIND_TYPE, all that slurmstepd shows,
 * looks the same for --cpu-bind=threads and --hint=nomultithread. Knows nothing of SPANK.
 */
#ifndef COLOC_SPANK_BIND_H
#define COLOC_SPANK_BIND_H

#include <stdbool.h>
#include <stdio.h>

/* SLURM_CPU_BIND as srun finds it, and its parts SLURM_CPU_BIND_{VERBOSE,TYPE,LIST}; NULL: unset.
 */
struct bind_env {
	const char *whole, *verbose, *type, *list;
};

/* Does SLURM_CPU_BIND hold a binding of the user's? Not one that an enclosing step left there. */
bool bind_in_env(const struct bind_env *env);

/*
 * bind_asked - is the step bound by the user's own word?
 * @line:   srun's command line (/proc/self/cmdline, seekable); NULL: unreadable, then it counts as
 *          bound
 * @argv:   @argc of the program's words, by which its --cpu-bind is told from srun's; 0: unknown,
 *          then either counts
 * @in_env: bind_in_env() when srun began; what the command line says wins
 *
 * --hint, --threads-per-core, --ntasks-per-core, --ntasks-per-socket and -B are no word of the
 * user's about binding, nor are the types none, quiet and verbose.
 */
bool bind_asked(FILE *line, int argc, char *const *argv, bool in_env);

#endif
