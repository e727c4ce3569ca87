/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * args.h - the key=value arguments of our line in plugstack.conf. Knows nothing of SPANK.
 */
#ifndef COLOC_SPANK_ARGS_H
#define COLOC_SPANK_ARGS_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/err.h"

struct args {
	bool default_on;   /* default=off|on: steps that say nothing */
	char socket[108];  /* socket=PATH; as long as sun_path */
	int timeout_ms;    /* timeout_ms=N: what a step waits for the daemon in all */
	uid_t minimum_uid; /* minimum_uid=N: users below are left alone */
};

void args_init(struct args *a);

/* Takes one argument. Errors: -EINVAL, @err names the key and the value; @a as before. */
int args_set(struct args *a, const char *arg, struct errbuf *err);

#endif
