/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * burst.h - a job in a rotation that computes for a while, waits for long, and computes again.
 *
 * Such jobs in equal slices end their bursts together and then wait together, with every core idle:
 * measured on two cores, four of them take as long as in equal parts. Run one burst after the
 * other instead, and each computes while the others wait. So a job that gave up its turns may have
 * as much time in one piece later: its share of the time it waited, and one slice more, which it
 * pays back by the wait that follows. One that never waits has its slice and no more, and nobody
 * gets more than his share over time.
 *
 * Ours. Paired gang scheduling (Wiseman & Feitelson, IEEE TPDS 14(6), 2003) is akin: it puts a job
 * that waits and one that computes into the same slice; the rotation thaws all that wait.
 *
 * One struct per job, zeroed at the start. Times are ns of one clock, whatever its origin.
 */
#ifndef COLOC_ENGINE_BURST_H
#define COLOC_ENGINE_BURST_H

#include <stdbool.h>
#include <stdint.h>

struct burst {
	bool known;   /* its last wait was a long one: look closely when the next begins */
	bool waiting; /* since */
	int64_t from_ns;
	int64_t credit_ns; /* time it may have beside its slice; < 0: it has had so much too much */
};

/* It began to wait. No effect while it waits. */
void burst_wait(struct burst *b, int64_t now_ns);
/*
 * It wants to run again. @long_ns: a wait of this length is a long one. @share: its part of the
 * time all in line have, 0..1; @credit_max_ns bounds what may be saved up.
 */
void burst_wake(
	struct burst *b, int64_t now_ns, int64_t long_ns, double share, int64_t credit_max_ns);
/* How long it may go on after a slice of @slice_ns; 0 not at all. */
int64_t burst_allowance(const struct burst *b, int64_t slice_ns);
/* It went on so long. */
void burst_spend(struct burst *b, int64_t ns);

#endif
