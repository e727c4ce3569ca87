/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * opts.h - the options of srun, sbatch and salloc: one table, checked values.
 *
 * Knows nothing of SPANK, so that it is tested without Slurm. A value is kept as the text that the
 * daemon gets. Setting an option twice is harmless: the later value stands.
 *
 * Values come from two places, each a struct opts of its own: the command line (or what an
 * enclosing sbatch or salloc hands down), and the COLOC_* environment. The command line wins.
 */
#ifndef COLOC_SPANK_OPTS_H
#define COLOC_SPANK_OPTS_H

#include <stdbool.h>

#include "common/err.h"

enum opt_id {
	OPT_COLOC,
	OPT_POLICY,
	OPT_PRIORITY,
	OPT_TYPE,
	OPT_QOS,
	OPT_MIN_CORES,
	OPT_OMP,
	OPT_EXCLUDE,
	OPT_VERBOSE,
	OPT_COUNT
};

#define OPT_VALUE_MAX 256

struct opt_desc {
	const char *name;    /* without the leading dashes */
	const char *arginfo; /* NULL: takes no value */
	bool bare;           /* may come without its value, and is on then */
	const char *usage;
	const char *env;     /* the environment's name for it */
	const char *msg_key; /* its key in step_start; NULL: not sent */
};

struct opts {
	bool set[OPT_COUNT];
	bool dry_run; /* from the policy's dry_run=yes */
	char value[OPT_COUNT][OPT_VALUE_MAX];
};

extern const struct opt_desc opt_descs[OPT_COUNT];

/*
 * opts_set - checks @text (NULL: an option without a value was given) and keeps it.
 * Errors: -EINVAL, -ENOENT for an unknown policy (name opts_policies() to the user then);
 * @err has the value. @o as before.
 */
int opts_set(struct opts *o, enum opt_id id, const char *text, struct errbuf *err);

/* Is co-location asked for? --coloc=off wins; any other option implies on. */
bool opts_on(const struct opts *line, const struct opts *env, bool default_on);

/* The value in force, or NULL. */
const char *opts_get(const struct opts *line, const struct opts *env, enum opt_id id);
/* Was dry_run=yes given with the policy in force? */
bool opts_dry_run(const struct opts *line, const struct opts *env);
int opts_verbose(const struct opts *line, const struct opts *env);

/* The names of the known policies, separated by @sep (", " or "\n"), in @buf; truncates. */
const char *opts_policies(char *buf, int size, const char *sep);

/* on|yes|true|1 and off|no|false|0: 0 or -EINVAL. */
int opts_bool(const char *text, bool *ret);

#endif
