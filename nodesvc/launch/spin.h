/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spin.h - how often libgomp looks for its partners in a given time, on this machine. */
#ifndef COLOC_LAUNCH_SPIN_H
#define COLOC_LAUNCH_SPIN_H

/*
 * spin_count - the GOMP_SPINCOUNT that takes @us, two digits of it: 0 for 0, else 1 at least.
 * Measured at the first call, in about a millisecond; then kept. Daemon's thread.
 */
long spin_count(int us);

#endif
