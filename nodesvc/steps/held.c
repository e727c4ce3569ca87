/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/steps/jobs.h"

#include "nodesvc/counters/counters.h"

int64_t turn_frozen_ns(const struct turn *t, int64_t at_ns)
{
	int64_t ns = t->frozen_ns;

	if (t->frozen_since_ns && at_ns > t->frozen_since_ns)
		ns += at_ns - t->frozen_since_ns;
	/* From the newest on: none ended later than now. */
	for (uint32_t i = 1; i <= TURN_FREEZES && i <= t->freezes; i++) {
		int64_t from_ns = t->freeze[(t->freezes - i) % TURN_FREEZES].from_ns;
		int64_t until_ns = t->freeze[(t->freezes - i) % TURN_FREEZES].until_ns;

		if (until_ns <= at_ns)
			break;
		ns -= until_ns - (from_ns > at_ns ? from_ns : at_ns);
	}
	return ns;
}

void turn_thawed(struct turn *t, int64_t now_ns)
{
	if (!t->frozen_since_ns)
		return;
	t->frozen_ns += now_ns - t->frozen_since_ns;
	t->freeze[t->freezes % TURN_FREEZES].from_ns = t->frozen_since_ns;
	t->freeze[t->freezes++ % TURN_FREEZES].until_ns = now_ns;
	t->frozen_since_ns = 0;
}

int64_t turn_clock(const struct turn *t, int64_t at_ns)
{
	return at_ns - turn_frozen_ns(t, at_ns);
}

int64_t turn_wanted_ns(const struct turn *t, int64_t now_ns)
{
	return t->wanted_ns + (t->wants ? now_ns - t->noted_ns : 0);
}

int64_t turn_served_ns(const struct turn *t, int64_t now_ns)
{
	int64_t ns = turn_wanted_ns(t, now_ns) - turn_frozen_ns(t, now_ns);

	/* Whoever ends in a freeze wants nothing any more. */
	return ns > 0 ? ns : 0;
}

void turn_done(struct turn *t)
{
	utilization_close(t->util);
	thread_list_done(&t->list);
}
