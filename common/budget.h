/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * budget.h - how much of a work whose size others choose may be done now: so many things, and until
 * a time; what is left goes on the next time. (Work that cannot say how far it got: aside.h.)
 */
#ifndef COLOC_COMMON_BUDGET_H
#define COLOC_COMMON_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct budget {
	int left;         /* things */
	int taken;        /* so far */
	int64_t until_ns; /* CLOCK_MONOTONIC */
	bool is_short;    /* something was refused */
};

/* However late it is, so many: who is always late gets on all the same. */
#define BUDGET_LEAST 64

/* @things from now on, for @ns. */
struct budget budget_of(int things, int64_t ns);
/* May one more be done? NULL: always. */
bool budget_take(struct budget *b);

#endif
