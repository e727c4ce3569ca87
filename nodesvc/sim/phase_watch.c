/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/sim/phase_watch.h"

#include <stdlib.h>

#include "nodesvc/engine/phase.h"

struct phase_watch {
	const struct phase_cfg *cfg;
	struct phase job[];
};

struct phase_watch *phase_watch_create(int n_jobs, bool paper)
{
	struct phase_watch *w = calloc(1, sizeof(*w) + (size_t)n_jobs * sizeof(w->job[0]));

	if (w)
		w->cfg = paper ? &phase_paper : &phase_width;
	return w;
}

void phase_watch_free(struct phase_watch *w)
{
	free(w);
}

void phase_watch_forget(struct phase_watch *w, int job)
{
	w->job[job] = (struct phase){0};
}

bool phase_watch_sample(struct phase_watch *w, int job, double now_s, int cores, double busy)
{
	struct phase *p = &w->job[job];

	if (cores < 1)
		return false;
	/* The reading that ends with another width was taken over two of them. */
	if (!p->started || p->cores != cores) {
		phase_restart(p, w->cfg, now_s, cores);
		return false;
	}
	return phase_sample(p, w->cfg, now_s, busy);
}
