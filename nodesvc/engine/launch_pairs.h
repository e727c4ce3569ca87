/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * launch_pairs.h - what launches of a program took, with a setting and without it, becomes windows
 * for verdict.h. Pure.
 *
 * Whether a launch has the setting is drawn, for all that share the node at a time: who shares
 * cores with others feels theirs. So what one draw showed of a program is one outcome, however
 * often it was launched under it. Outcomes are compared with their like only: alone with alone, in
 * company with company, by work with by work. As soon as both sides have one of a kind they are a
 * window: the means of the logarithms, one minus the other, and both are used up. Where the
 * setting does nothing its mean is 0, for who is on which side was drawn.
 */
#ifndef COLOC_ENGINE_LAUNCH_PAIRS_H
#define COLOC_ENGINE_LAUNCH_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

enum launch_side { LAUNCH_WITH, LAUNCH_WITHOUT };

/* Zeroed: none yet. */
struct launch_draws {
	bool half; /* the second of a pair is due, */
	enum launch_side next;
};
/*
 * launch_draw - the side of the next draw, @without of all (0 to 1) without the setting, by
 * @random, uniform in [0, 1). Of one half: in pairs of one each, in random order, so that windows
 * come soon.
 */
enum launch_side launch_draw(struct launch_draws *d, double without, double random);

enum launch_kind {
	LAUNCH_IN_COMPANY = 1, /* bits */
	LAUNCH_BY_WORK = 2,    /* seconds per unit of work, not seconds */
	LAUNCH_KINDS = 4,
};

/* Of one program. Zeroed: empty. */
struct launch_pairs {
	struct {
		int n;
		double sum;
	} waiting[2][LAUNCH_KINDS];
	/* The draw under which it was launched last; 0 none. */
	struct {
		uint64_t draw;
		enum launch_side side;
		int kind, n;
		double sum;
	} open;
};

/*
 * launch_pairs_add - a launch under draw @draw (above 0) took @log_s, the logarithm of seconds, or
 * of seconds per unit of work. True: that made a window; *@ret is the logarithm of speed with the
 * setting over without.
 */
bool launch_pairs_add(struct launch_pairs *p, uint64_t draw, enum launch_side side, int kind,
	double log_s, double *ret);
/* The same of what came under draws before @draw: no more of them is waited for. */
bool launch_pairs_close(struct launch_pairs *p, uint64_t draw, double *ret);

#endif
