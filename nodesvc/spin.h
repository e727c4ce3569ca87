/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spin.h - how often libgomp looks for its partners in a given time, on this machine. */
#ifndef COLOC_NODESVC_SPIN_H
#define COLOC_NODESVC_SPIN_H

#include <stddef.h>

/* Longer waits are no short spins, whatever the machine. */
#define SPIN_US_MAX 100000

/*
 * spin_us - microseconds of @text, "13us"; -1: it is no such time (a count, say, or a word of
 * libgomp's own), or not from 0 to SPIN_US_MAX.
 */
int spin_us(const char *text);

/*
 * spin_count - the GOMP_SPINCOUNT that takes @us, two digits of it: 0 for 0, else 1 at least.
 * Measured at the first call, in about a millisecond; then kept. Daemon's thread.
 */
long spin_count(int us);

#endif
