/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policy_life.h - a node's life for one policy, drawn at random: jobs come, end and change, and
 * what the plan says is where they run next.
 *
 * The same life every time: random numbers start from life_seed().
 */
#ifndef COLOC_TEST_POLICY_LIFE_H
#define COLOC_TEST_POLICY_LIFE_H

#include "nodesvc/engine/engine.h"

#define LIFE_JOBS 12

struct life {
	struct topo *t;
	struct engine *e;
	struct plan plan;
	struct view v;
	struct view_job job[LIFE_JOBS];
	struct speed_point speed[LIFE_JOBS][5];
	char id[LIFE_JOBS][16];
	const char *prefix;
	struct event event[64];
	struct coreset fast, reserved;
	int serial;
	bool plain;   /* one envelope, nobody excluded, one node, no minimum */
	bool threads; /* each may use some hardware threads of the first cores, and no more */
};

/* Not 0. */
void life_seed(uint64_t seed);
/* What life_seed() takes for another life to go on like this one. */
uint64_t life_where(void);
/* 0 to @n - 1. */
int life_rnd(int n);

/* @policy: as engine_create() takes it; @prefix: of the jobs' ids. Never copy it: it points into
 * itself. Freed by life_close(). */
void life_open(struct life *w, const char *source, const char *policy, const char *prefix);
void life_close(struct life *w);
void life_arrive(struct life *w);
/* Time passes, and every job has new figures. */
void life_sample(struct life *w);
/* The plan comes true; its experiments have results. */
void life_carry_out(struct life *w);
/* One step of a life; false: the view was refused (not the plan). */
bool life_step(struct life *w);

#endif
