/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/engine/burst.h"

void burst_wait(struct burst *b, int64_t now_ns)
{
	if (b->waiting)
		return;
	b->waiting = true;
	b->from_ns = now_ns;
}

void burst_wake(struct burst *b, int64_t now_ns, int64_t long_ns)
{
	if (!b->waiting)
		return;
	b->waiting = false;
	b->known = now_ns - b->from_ns >= long_ns;
}

static int64_t balance(const struct burst *b, int64_t now_ns, double share, int64_t ran_ns)
{
	int64_t passed_ns = now_ns > b->at_ns ? now_ns - b->at_ns : 0;

	return b->credit_ns + (int64_t)((double)passed_ns * share) - ran_ns;
}

void burst_account(struct burst *b, int64_t now_ns, double share, int64_t ran_ns, int64_t most_ns)
{
	b->credit_ns = balance(b, now_ns, share, ran_ns);
	b->at_ns = now_ns;
	if (b->credit_ns > most_ns)
		b->credit_ns = most_ns;
	if (b->credit_ns < -most_ns)
		b->credit_ns = -most_ns;
}

int64_t burst_allowance(
	const struct burst *b, int64_t now_ns, double share, int64_t ran_ns, int64_t advance_ns)
{
	int64_t left_ns = balance(b, now_ns, share, ran_ns) + advance_ns;

	return b->known && left_ns > 0 ? left_ns : 0;
}
