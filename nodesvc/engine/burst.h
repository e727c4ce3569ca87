/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * burst.h - a job in a rotation that computes for a while, waits for long, and computes again.
 *
 * Such jobs in equal slices end their bursts together and then wait together, with every core idle:
 * measured on two cores, four of them take as long as in equal parts. Run one burst after the
 * other instead, and each computes while the others wait. So an account is kept of the time a job
 * has in the rotation beside its share of all time, in line or waiting: one that waited may have as
 * much in one piece, and a little in advance, which it pays back. A job that never waits has its
 * slices and no more, and nobody gets more than his share over time.
 *
 * Ours. Paired gang scheduling (Wiseman & Feitelson, IEEE TPDS 14(6), 2003) is akin: it puts a job
 * that waits and one that computes into the same slice; the rotation thaws all that wait.
 *
 * One struct per job, zeroed but for at_ns, the time it came. Times are ns of one clock, whatever
 * its origin.
 */
#ifndef COLOC_ENGINE_BURST_H
#define COLOC_ENGINE_BURST_H

#include <stdbool.h>
#include <stdint.h>

struct burst {
	bool known;   /* its last wait was a long one: look closely when the next begins */
	bool waiting; /* since */
	int64_t from_ns;
	int64_t at_ns;     /* of the last entry in the account */
	int64_t credit_ns; /* what it may still have; < 0: it has had so much too much */
};

/* It began to wait. No effect while it waits. */
void burst_wait(struct burst *b, int64_t now_ns);
/* It wants to run again. @long_ns: a wait of this length is a long one. */
void burst_wake(struct burst *b, int64_t now_ns, int64_t long_ns);
/*
 * An entry: since the last one it had the node for @ran_ns. @share: its part of the time, 0..1.
 * Not more than @most_ns, and no more than that too much, is remembered.
 */
void burst_account(struct burst *b, int64_t now_ns, double share, int64_t ran_ns, int64_t most_ns);
/*
 * At the end of its slice, in which it has had the node for @ran_ns since the last entry: how long
 * may it go on, with @advance_ns beyond what it has? 0 not at all.
 */
int64_t burst_allowance(
	const struct burst *b, int64_t now_ns, double share, int64_t ran_ns, int64_t advance_ns);

#endif
