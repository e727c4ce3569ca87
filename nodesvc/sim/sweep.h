/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sweep.h - the grid of a parameter sweep: keys with lists of values, and their cross product.
 * What a key means is its user's (eval_cmd.c). Not thread-safe.
 */
#ifndef COLOC_SIM_SWEEP_H
#define COLOC_SIM_SWEEP_H

#include "common/err.h"

#define SWEEP_KEYS_MAX   8
#define SWEEP_VALUES_MAX 1000
#define SWEEP_POINTS_MAX 10000
#define SWEEP_NAME_MAX   64
#define SWEEP_VALUE_MAX  128

struct sweep_key {
	char name[SWEEP_NAME_MAX];
	int n;
	char (*value)[SWEEP_VALUE_MAX];
};

struct sweep {
	int n; /* 0: one point */
	struct sweep_key key[SWEEP_KEYS_MAX];
};

/*
 * sweep_add - one key: "KEY=a,b,c", or "KEY=FROM:TO:STEP" in numbers, TO with it where a step meets
 * it. Zero @s at first; sweep_done() frees. Errors: -EINVAL, the text names key and value; -E2BIG
 * more keys, values or points than fit; -ENOMEM. @s is then as before.
 */
int sweep_add(struct sweep *s, const char *text, struct errbuf *err);
void sweep_done(struct sweep *s);

int sweep_points(const struct sweep *s);
/* Value of key number @key at @point; the last key's change fastest. */
const char *sweep_value(const struct sweep *s, int point, int key);

#endif
