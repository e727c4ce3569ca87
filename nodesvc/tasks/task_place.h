/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * task_place.h - the engine's das-* policies, asked task by task. A task is a job of its own to
 * the engine: it arrives, gets its execution place, and is gone when the next one asks. Trace
 * table, searches, their order and ties are the engine's.
 */
#ifndef COLOC_TASKS_TASK_PLACE_H
#define COLOC_TASKS_TASK_PLACE_H

#include "nodesvc/engine/engine.h"

#define TASK_SAMPLES_MAX 256

/* hwloc numbers the cores of one cache one after the other. */
struct task_place {
	int core, width; /* cores core .. core + width - 1 */
};

struct task_placer {
	struct engine *engine;
	struct plan plan;
	const struct coreset *fast;
	uint64_t seed, n_decisions;
	bool ignores_priority; /* das-rws, das-rwsm-c: no critical tasks to the runtime either */
	struct coreset usable; /* PUs that places are made of; empty: all. May change at any time */
	int n_samples;
	struct event sample[TASK_SAMPLES_MAX]; /* finished tasks the engine has not seen */
};

/*
 * task_placer_init - @policy: "das-...[,key=value...]". @topo and @fast (PUs of the statically
 * fast cores) outlive it. One thread at a time.
 * Errors: as engine_create(); -EINVAL a policy that places no tasks.
 */
int task_placer_init(struct task_placer *p, const char *policy, const struct topo *topo,
	const struct coreset *fast, uint64_t seed, struct errbuf *err);
void task_placer_done(struct task_placer *p);

/*
 * A task of @type took its leader @seconds. @type outlives the next decision.
 * Errors: those of engine_decide().
 */
int task_placer_report(struct task_placer *p, double now_s, const char *type, struct task_place at,
	double seconds, struct errbuf *err);
/* Where a task of @type runs, asked for by @core. Errors: those of engine_decide(). */
int task_placer_decide(struct task_placer *p, double now_s, const char *type, bool high, int core,
	struct task_place *ret, struct errbuf *err);

#endif
