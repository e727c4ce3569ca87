/* SPDX-License-Identifier: GPL-2.0-or-later */
/* conf_keys.h - conf_keys.def as a table; coloc.yaml(5) is tested against it. */
#ifndef COLOC_CONF_CONF_KEYS_H
#define COLOC_CONF_CONF_KEYS_H

#include <stddef.h>

#include "nodesvc/conf/conf.h"

enum conf_type {
	CONF_TEXT,         /* char[size] */
	CONF_PATH,         /* absolute, char[size] */
	CONF_PATH_OR_NONE, /* "none": "" */
	CONF_BOOL,
	CONF_INT,
	CONF_DOUBLE,
	CONF_CHOICE,  /* int-sized enum; values: "a|b" in the order of the enum */
	CONF_LIST,    /* struct conf_list */
	CONF_CPULIST, /* struct coreset */
	CONF_DOMAIN,  /* enum topo_level */
	CONF_LOG,     /* log level, char[size] */
	CONF_OPTIONS, /* policy_options: POLICY: {key: value} */
	CONF_OPENMP,  /* struct conf_family: {NAME: value}, of the launch variables' families */
	CONF_OPENMPI,
	CONF_MPIRUN,
	CONF_EVENT,     /* struct counter_event */
	CONF_FUNCTIONS, /* struct conf_functions: [{program: NAME, function: NAME}] */
};

struct conf_key {
	const char *name; /* dotted */
	enum conf_type type;
	size_t offset, size;
	double min, max;    /* CONF_INT, CONF_DOUBLE */
	const char *values; /* CONF_CHOICE */
	bool reload;        /* taken by `colocctl reload`; else it needs a restart */
};

extern const struct conf_key conf_keys[];
extern const size_t conf_n_keys;

/* Index into "a|b|c", or -1. */
int conf_choice(const char *values, const char *text);

#endif
