/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * launch.h - the launch environment of a step: which of the runtimes' variables are the user's
 * own, which an enclosing step got from us, and putting in the daemon's.
 *
 * A variable is ours if COLOC_LAUNCH_ENV names it and its value is still the one we gave it
 * (COLOC_LAUNCH_SUMS); all others are the user's and are never changed. What we set for an
 * enclosing step and is not wanted now is taken out again.
 */
#ifndef COLOC_SPANK_LAUNCH_H
#define COLOC_SPANK_LAUNCH_H

#include "common/msg.h"

/* Access to the step's environment; spank_getenv() and friends, or a test's. 0 or -errno. */
struct launch_io {
	void *env;
	/* -ENOENT: not there; -ENOSPC: there, but longer than @size. */
	int (*get)(void *env, const char *name, char *buf, int size);
	int (*set)(void *env, const char *name, const char *value);
	int (*unset)(void *env, const char *name);
};

/* Appends set=NAME for every known variable that is the user's own. */
void launch_report(const struct launch_io *io, struct msg *m);

/*
 * launch_apply - puts the env= records of @reply (NULL: none) into the environment, takes out
 * inherited ones of ours that it does not have, and updates the two variables that say so.
 * A name that the user has set himself is passed over.
 */
void launch_apply(const struct launch_io *io, const struct msg *reply);

/*
 * launch_renew - "NAME=VALUE": another value for a variable that is still as we set it. One that
 * is not there, or is the user's, is passed over.
 */
void launch_renew(const struct launch_io *io, const char *record);

#endif
