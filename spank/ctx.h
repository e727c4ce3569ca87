/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctx.h - what plugin.c calls in each of Slurm's processes. ctx_local.c: srun, sbatch, salloc, as
 * the user. ctx_stepd.c: slurmstepd, as root.
 */
#ifndef COLOC_SPANK_CTX_H
#define COLOC_SPANK_CTX_H

/* spank.h needs both and includes neither. */
#include <stdint.h>
#include <sys/types.h>

#include <slurm/spank.h>

#include "spank/args.h"
#include "spank/opts.h"

/* From srun: "yes" or "no", did the user bind the step (ctx_local.c); none: not known. */
#define BIND_ASKED_ENV "COLOC_BIND_ASKED"
/* Where srun was called, if the step runs there (ctx_local.c): slurmstepd is not there yet. */
#define SRUN_CWD_ENV "COLOC_SRUN_CWD"

/* Ends srun if the line in plugstack.conf is wrong. */
void ctx_local_init(int ac, char **av);
/* An option on the command line, or handed down; ESPANK_SUCCESS or -1, error printed. */
int ctx_local_option(enum opt_id id, const char *text);
/* All options are known. Ends srun if the environment has a bad value. */
void ctx_local_post_opt(void);
/* In srun alone: the program's words are known. */
void ctx_local_user_init(spank_t sp);

void ctx_stepd_init(spank_t sp, const struct args *args);
void ctx_stepd_option(enum opt_id id, const char *text);
void ctx_stepd_post_opt(spank_t sp);
void ctx_stepd_task_post_fork(spank_t sp);
/* In the task, as the user. */
void ctx_stepd_task_init(spank_t sp);
void ctx_stepd_task_exit(spank_t sp);
void ctx_stepd_exit(void);

#endif
