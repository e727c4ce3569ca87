/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/engine/burst.h"

void burst_wait(struct burst *b, int64_t now_ns)
{
	if (b->waiting)
		return;
	b->waiting = true;
	b->from_ns = now_ns;
}

void burst_wake(
	struct burst *b, int64_t now_ns, int64_t long_ns, double share, int64_t credit_max_ns)
{
	int64_t waited_ns = now_ns - b->from_ns;

	if (!b->waiting)
		return;
	b->waiting = false;
	b->known = waited_ns >= long_ns;
	if (waited_ns > 0)
		b->credit_ns += (int64_t)((double)waited_ns * share);
	if (b->credit_ns > credit_max_ns)
		b->credit_ns = credit_max_ns;
}

int64_t burst_allowance(const struct burst *b, int64_t slice_ns)
{
	if (!b->known || b->credit_ns + slice_ns <= 0)
		return 0;
	return b->credit_ns + slice_ns;
}

void burst_spend(struct burst *b, int64_t ns)
{
	if (ns > 0)
		b->credit_ns -= ns;
}
