/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policy.h - what a policy is: a state machine over views, one file in policies/.
 *
 * Adding one touches its file, the registry line in registry.def, the build list and a golden
 * test. A policy sees only its arguments: no clock, descriptor, log, global or randomness.
 */
#ifndef COLOC_ENGINE_POLICY_H
#define COLOC_ENGINE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/err.h"
#include "common/topo.h"
#include "nodesvc/engine/plan.h"
#include "nodesvc/engine/view.h"

struct policy_option {
	const char *key;
	const char *value;
};

struct policy_cfg {
	const struct topo *topo; /* outlives the policy */
	struct arena *memory;    /* outlives it, too; the engine sets it */
	int max_jobs;
	bool share_smt;
	bool multi_node_independent; /* a step of several nodes is placed like any other */
	/*
	 * best-static, worst-static, oracle: what a plan would really be worth, higher is better;
	 * NULL: the views' speed curves tell (sum of slow-downs). Only the simulator knows.
	 */
	double (*truth)(void *truth_ctx, const struct view *v, const struct plan *p);
	void *truth_ctx;
	const struct policy_option *option; /* from "NAME,key=value" and policy_options: */
	int n_options;
};

/* What a policy's plans ask of whoever carries them out, besides coresets. */
#define POLICY_ASKS_SLICES      (UINT32_C(1) << 0)
#define POLICY_ASKS_EXPERIMENTS (UINT32_C(1) << 1)
#define POLICY_ASKS_LENT        (UINT32_C(1) << 2)

struct policy; /* each policy's own state */

struct policy_ops {
	const char *name;    /* YAML key, option value and record value; never renamed */
	const char *summary; /* one line for `list` and `colocctl policies` */
	const char *options; /* "key=a|b key2=N", NULL none; unknown keys are refused by create */
	uint32_t needs;      /* SIGNAL_BIT()s without which it is refused */
	/* Where an option changes what is needed (lira,metric=...); NULL: needs holds. */
	uint32_t (*needs_now)(const struct policy *p);
	/*
	 * What it decides follows from who is there and what was asked for: ids, order, threads,
	 * cores, envelopes, current coresets, priorities; not from signals, speeds, the time or
	 * what it saw before. A driver may leave out ticks between which none of that changed.
	 */
	bool settles;
	/* Each plan gives a job its cores in a slice of its own, as far as there are slices:
	 * whoever runs has them to itself. */
	bool in_turns;
	/* How many threads a program starts with is its to say, by the cores that it gives it. */
	bool deals_threads;
	bool on_node;  /* false: colocsim only (needs the truth) */
	uint32_t asks; /* POLICY_ASKS_*; 0: coresets only */
	size_t size;   /* of struct policy; 0: it has none */
	/* @p is zeroed. Takes all it will ever need (max_jobs) of @cfg->memory; whether there was
	 * enough the engine looks. Errors: -EINVAL names option and value. */
	int (*create)(struct policy *p, const struct policy_cfg *cfg, struct errbuf *err);
	/*
	 * @slot[i]: a small number for view job i, stable while it lives, < max_jobs: state is
	 * kept in arrays by slot. @ret is reset by the engine; fill coresets and why.
	 * Errors: -ENODATA a signal is missing (text names job and field), -ENOTSUP it cannot place
	 * such jobs, -EINVAL.
	 */
	int (*decide)(struct policy *p, const struct view *v, const int *slot, struct plan *ret,
		struct errbuf *err);
	/* Job in @slot is gone; forget it. NULL: stateless. */
	void (*forget)(struct policy *p, int slot);
	/* What is not of that memory, also where create failed. NULL: nothing. */
	void (*free)(struct policy *p);
};

/* All policies, in the order of design.md; NULL-terminated. Names come from registry.def, which
 * spank/ also reads (as names only). */
extern const struct policy_ops *const policy_registry[];
const struct policy_ops *policy_find(const char *name);

/* Index of live job @id in @v, -1 when it is not there. */
int view_job_index(const struct view *v, const char *id);
/* A turn of those that take some, ms: the driver's, or as long as gang's by default. */
int view_slice_ms(const struct view *v);
/* Did job @a of the view arrive before job @b? Equal orders: by id. */
bool view_is_earlier(const struct view *v, int a, int b);
/* -ENODATA with "job A: loads_per_s is missing, policy 'lira' needs it", or what it has instead. */
int policy_no_signal(
	struct errbuf *err, const char *policy, const struct view_job *j, enum signal_id id);

#endif
