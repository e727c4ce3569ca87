/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/engine/launch_pairs.h"

#include <math.h>

enum launch_side launch_draw(struct launch_draws *d, double without, double random)
{
	enum launch_side side = random < without ? LAUNCH_WITHOUT : LAUNCH_WITH;

	if (without != 0.5) {
		d->half = false;
		return side;
	}
	if (d->half)
		side = d->next;
	d->half = !d->half;
	d->next = side == LAUNCH_WITH ? LAUNCH_WITHOUT : LAUNCH_WITH;
	return side;
}

static bool take_open(struct launch_pairs *p, double *ret)
{
	int kind = p->open.kind;
	double mean[2];

	if (p->open.n == 0)
		return false;
	p->waiting[p->open.side][kind].n++;
	p->waiting[p->open.side][kind].sum += p->open.sum / p->open.n;
	p->open.n = 0;
	for (int side = LAUNCH_WITH; side <= LAUNCH_WITHOUT; side++) {
		if (p->waiting[side][kind].n == 0)
			return false;
		mean[side] = p->waiting[side][kind].sum / p->waiting[side][kind].n;
	}
	for (int side = LAUNCH_WITH; side <= LAUNCH_WITHOUT; side++) {
		p->waiting[side][kind].n = 0;
		p->waiting[side][kind].sum = 0;
	}
	*ret = mean[LAUNCH_WITHOUT] - mean[LAUNCH_WITH];
	return true;
}

bool launch_pairs_close(struct launch_pairs *p, uint64_t draw, double *ret)
{
	return p->open.draw != draw && take_open(p, ret);
}

bool launch_pairs_add(struct launch_pairs *p, uint64_t draw, enum launch_side side, int kind,
	double log_s, double *ret)
{
	bool window = false;

	if (!isfinite(log_s))
		return false;
	if (p->open.draw != draw || p->open.side != side || p->open.kind != kind)
		window = take_open(p, ret);
	p->open.draw = draw;
	p->open.side = side;
	p->open.kind = kind;
	p->open.sum = p->open.n ? p->open.sum + log_s : log_s;
	p->open.n++;
	return window;
}
