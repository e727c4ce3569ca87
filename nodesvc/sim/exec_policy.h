/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exec_policy.h - a policy that is a program of its own, "exec:COMMAND": it reads views and answers
 * plans, a JSON line each (doc/policies.md). In colocsim only: colocd starts no such program.
 *
 * One process per engine, started by /bin/sh with the engine and ended with it; its standard error
 * is ours. Engines may be used from different threads, each from one.
 */
#ifndef COLOC_SIM_EXEC_POLICY_H
#define COLOC_SIM_EXEC_POLICY_H

#include <stdbool.h>

#include "nodesvc/engine/engine.h"

#define EXEC_POLICY_VERSION 1
/* The longest answer: a plan of 1024 jobs is some 250 KB. */
#define EXEC_LINE_MAX (1u << 20)

bool exec_policy_is(const char *spec);
/* Of such a spec: -EINVAL no command. Starts nothing. */
int exec_policy_check(const char *spec, struct errbuf *err);
/* How long to wait for an answer, in seconds (10); before the first engine is made. -EINVAL: no
 * number of 0.001 to 3600. */
int exec_policy_read_timeout(const char *text);
#define EXEC_POLICY_TIMEOUT_USAGE "--policy-timeout=%s: 0.001 to 3600 seconds expected"

/*
 * exec_policy_engine - engine_create(), or for "exec:COMMAND" an engine around that program.
 * Errors: engine_create()'s; -EINVAL no command; -errno it cannot be started. engine_decide() then
 * may also say: -EPROTO no plan, -ETIMEDOUT no answer in time, -EPIPE the program ended, -E2BIG a
 * line above EXEC_LINE_MAX; the text names the command and the number of the answer.
 */
int exec_policy_engine(
	struct engine **ret, const char *spec, const struct policy_cfg *cfg, struct errbuf *err);

#endif
