/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trial.h - of the room's own: trials, and what decide.c has them do. */
#ifndef COLOC_NODESVC_CHOOSE_TRIAL_H
#define COLOC_NODESVC_CHOOSE_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/coreset.h"
#include "common/err.h"
#include "nodesvc/engine/plan.h"
#include "nodesvc/engine/view.h"

struct choose;
struct loop_source;

enum trial_kind { TRIAL_NONE, TRIAL_EXPERIMENT, TRIAL_WINDOW };
struct trial_experiment {
	char job[JOB_ID_MAX];
	int cores, ms;
	struct coreset coreset;
};
struct trial {
	enum trial_kind kind;
	int stage, tries;
	bool displaced; /* steps are where the plan does not have them */
	bool in_company;
	struct loop_source *timer;
	int n, at;
	struct trial_experiment x[PLAN_EXPERIMENTS_MAX];
	int64_t next_window_ns; /* 0: none considered yet */
};

int trial_open(struct choose *ch, struct errbuf *err);
void trial_close(struct choose *ch);
/* Why the plan's experiments cannot be carried out; NULL they can. */
const char *trial_refuses(struct choose *ch, const struct plan *p, char *buf, size_t size);
void trial_experiments(struct choose *ch, const struct plan *p);

#endif
