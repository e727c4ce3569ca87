/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options.h - what the configuration says of a policy. */
#ifndef COLOC_NODESVC_CHOOSE_OPTIONS_H
#define COLOC_NODESVC_CHOOSE_OPTIONS_H

#include "nodesvc/conf/conf.h"
#include "nodesvc/engine/policy.h"

/* The configured options of @spec's policy, at most @max; how many. They point into the
 * configuration, and to what the next call overwrites with the same. */
int options_of(const struct conf *c, const char *spec, struct policy_option *ret, int max);

#endif
