/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * aside.h - work whose size others choose, in slices: it runs on a stack of its own and gives the
 * loop its turn back in between, so that it can be written as if it had all the time.
 *
 * One thread: the loop stands still while the work runs, and the work while the loop does. What
 * the work reads and writes may have changed after each aside_breathe(), where alone it pauses;
 * never inside a transaction.
 */
#ifndef COLOC_COMMON_ASIDE_H
#define COLOC_COMMON_ASIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

struct aside;

/* Bytes of its stack. */
#define ASIDE_STACK (512u << 10)

/* @fn has not begun yet. -ENOMEM. Inside such a work: -EDEADLK. */
int aside_start(struct aside **ret, void (*fn)(void *arg), void *arg, struct errbuf *err);
/* Lets it run for @slice_ns, a little more at most. True: it has ended. */
bool aside_go_on(struct aside *a, int64_t slice_ns);
/* The processor time of all its slices. */
int64_t aside_spent_ns(const struct aside *a);
/* Frees it. One that has not ended is told to stop, and goes on until it does. NULL is fine. */
void aside_end(struct aside *a);

/*
 * aside_breathe - in loops over what others choose the number of: pauses when the slice is over.
 * True: nobody waits for the result any more, stop. Outside of such a work false, at once. Keeps
 * errno.
 */
bool aside_breathe(void);

#endif
