/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * launch.h - the launch environment of a step, which hangs on what it links and on what is around
 * it.
 */
#ifndef COLOC_LAUNCH_LAUNCH_H
#define COLOC_LAUNCH_LAUNCH_H

#include "common/msg.h"
#include "nodesvc/conf/conf.h"
#include "nodesvc/steps/jobs.h"

enum launch_around {
	LAUNCH_SHARES,   /* others may run beside it on its cores */
	LAUNCH_POLLED,   /* the same, and idle CPUs poll (idlepoll.c) */
	LAUNCH_IN_TURNS, /* nobody does: who shares its cores is frozen meanwhile */
};
/*
 * launch_decide - @s->env, of its @links and of what its user set himself (@m). @envelope_cores and
 * @placed_cores: of its envelope, and of its first coreset. Where @s->granted is above 0 its
 * threads are counted by that and @s->usual_cores; then @s->threads_why says so.
 */
void launch_decide(const struct conf *c, struct step *s, const struct msg *m, int envelope_cores,
	int placed_cores, enum launch_around around);

/*
 * launch_regrant - before its program has begun another number of cores is granted: the threads
 * that go by that are as many as launch_decide() would have said.
 */
void launch_regrant(struct step *s, int granted, int envelope_cores);
/* Is @v of @s->env such a number? */
bool launch_counts_threads(const struct step *s, const struct launch_var *v);

#endif
