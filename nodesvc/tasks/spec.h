/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spec.h - the text by which a program, or its user, chooses how tasks are scheduled. */
#ifndef COLOC_TASKS_SPEC_H
#define COLOC_TASKS_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "common/coreset.h"
#include "common/err.h"

#define SPEC_TEXT_MAX 256

struct tasks_spec {
	char policy[SPEC_TEXT_MAX]; /* the engine's part */
	bool at_wakeup;             /* places chosen then (section 4.1.2), not at dequeuing (3.2) */
	bool leader_time;           /* the table gets the leader's part, as in the paper */
	bool all_fast;
	struct coreset fast; /* CPUs of statically fast cores */
	uint64_t seed;
};

/* spec_parse - "POLICY[,KEY=VALUE...]". Errors: -EINVAL, the text names the key. */
int spec_parse(struct tasks_spec *ret, const char *text, struct errbuf *err);

#endif
