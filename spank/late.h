/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * late.h - what the service says of the environment when the tasks have forked and none has
 * exec'ed.
 *
 * Each task has a copy of the step's environment by then, which slurmstepd cannot reach: the
 * records go through memory that both share, and the task puts them in itself (task_init, which
 * Slurm calls when task_post_fork has been called for all). exec drops that memory.
 */
#ifndef COLOC_SPANK_LATE_H
#define COLOC_SPANK_LATE_H

#include "common/msg.h"
#include "spank/launch.h"

/* In slurmstepd, before it forks. Where there is no memory the tasks keep what they have. */
void late_open(void);
/* In slurmstepd: the env= records of @reply, all or, where they are too long, none. */
void late_put(const struct msg *reply);
/* In a task: launch_renew() of each. */
void late_apply(const struct launch_io *io);

#endif
