/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * engine.h - one decision: view -> policy -> checked plan. Pure; the same on the node, in replay
 * and in the simulator.
 *
 * One thread per engine. After engine_create() nothing is allocated and no system call is made.
 */
#ifndef COLOC_ENGINE_ENGINE_H
#define COLOC_ENGINE_ENGINE_H

#include "nodesvc/engine/policy.h"

struct engine;

/*
 * engine_create - an instance of one policy.
 * @spec: "NAME" or "NAME,key=value,..."; values given here win over @cfg->option.
 * Errors: -ENOENT unknown policy (text lists the known ones), -EINVAL bad option (text names key
 * and value), -ENOMEM. Free with engine_free().
 */
int engine_create(
	struct engine **ret, const char *spec, const struct policy_cfg *cfg, struct errbuf *err);
/*
 * engine_create_with - the same around @ops, which no registry knows (a program of colocsim's
 * user); @cfg's options are all handed on. @ops outlives the engine.
 */
int engine_create_with(struct engine **ret, const struct policy_ops *ops,
	const struct policy_cfg *cfg, struct errbuf *err);
void engine_free(struct engine *e);
const struct policy_ops *engine_policy(const struct engine *e);

/*
 * engine_decide - observes the view's events and samples, decides, checks the plan.
 * @ret: from plan_init() with the same max_jobs; on an error it holds nothing of use.
 * A figure of one job that cannot be (signal_is_sane(), a speed, an account) is unknown for that
 * job, and a minimum above what its envelope has is one of all of it: its "why" says so.
 * Errors: -ENODATA a needed signal is missing (text names job and field), -ENOTSUP the policy
 * cannot place such jobs (text says why; another can), -EINVAL bad view, -EPROTO the policy's plan
 * broke an invariant (a bug: the driver keeps the old placement).
 */
int engine_decide(struct engine *e, const struct view *v, struct plan *ret, struct errbuf *err);

/* Would engine_decide() ask the policy, or say -ENODATA without it? */
bool engine_has_signals(const struct engine *e, const struct view *v);

/* Signals of @v that the policy needs and job @i lacks, as SIGNAL_BIT()s. */
uint32_t engine_missing(const struct engine *e, const struct view *v, int i);

#endif
