/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * task_place.h - the engine's das-* policies, asked task by task. A task is a job of its own to
 * the engine: it arrives, gets its execution place, and is gone when the next one asks. Trace
 * table, searches, their order and ties are the engine's.
 */
#ifndef COLOC_SIM_TASK_PLACE_H
#define COLOC_SIM_TASK_PLACE_H

#include "nodesvc/engine/engine.h"
#include "nodesvc/sim/task_graph.h"

#define TASK_SAMPLES_MAX 256

struct task_place {
	int core, width; /* cores core .. core + width - 1 */
};

struct task_placer {
	const struct task_machine *m;
	const struct task_graph *g;
	struct engine *engine;
	struct plan plan;
	uint64_t seed, n_decisions;
	bool ignores_priority; /* das-rws, das-rwsm-c: no critical tasks to the runtime either */
	int n_samples;
	struct event sample[TASK_SAMPLES_MAX]; /* finished tasks the engine has not seen */
};

/*
 * task_placer_init - @policy: "das-...[,key=value...]".
 * Errors: as engine_create(); -EINVAL a policy that places no tasks.
 */
int task_placer_init(struct task_placer *p, const char *policy, const struct task_machine *m,
	const struct task_graph *g, uint64_t seed, struct errbuf *err);
void task_placer_done(struct task_placer *p);

/* A task of @type took its leader @seconds at @at. Errors: those of engine_decide(). */
int task_placer_report(struct task_placer *p, double now_s, int type, struct task_place at,
	double seconds, struct errbuf *err);
/* Where @task runs, asked for by @core. Errors: those of engine_decide(). */
int task_placer_decide(struct task_placer *p, double now_s, const struct task *task, int core,
	struct task_place *ret, struct errbuf *err);

#endif
