/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * option.h - a policy's options: one table per policy, read strictly.
 */
#ifndef COLOC_ENGINE_OPTION_H
#define COLOC_ENGINE_OPTION_H

#include <stddef.h>

#include "nodesvc/engine/policy.h"

enum option_type {
	OPTION_DOUBLE, /* double, min <= value <= max */
	OPTION_INT,    /* int, min <= value <= max */
	OPTION_BOOL,   /* bool: yes no 1 0 true false */
	OPTION_CHOICE, /* int: index in choice, "a|b|c" */
};

struct option_spec {
	const char *key;
	enum option_type type;
	size_t offset; /* into the policy's configuration struct */
	double min, max;
	const char *choice;
};

/*
 * option_read - stores every option of @cfg by @spec (ends with key NULL; NULL: takes none).
 * Errors: -EINVAL, the text names policy, key and value; values read so far stay stored.
 */
int option_read(const struct policy_cfg *cfg, const char *policy, const struct option_spec *spec,
	void *ret, struct errbuf *err);

#endif
