/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reference_world.h - views made up for one policy, and its plans; for comparing these with
 * references written apart from the engine. Nothing of the engine but engine.h is used.
 *
 * The same figures every time: random numbers start from the same seed in every case.
 */
#ifndef COLOC_TEST_REFERENCE_WORLD_H
#define COLOC_TEST_REFERENCE_WORLD_H

#include <check.h>

#include "nodesvc/engine/engine.h"

#define WORLD_JOBS 8

struct world {
	struct topo *t;
	struct engine *e;
	struct plan plan;
	struct view v;
	struct view_job job[WORLD_JOBS];
	struct speed_point speed[WORLD_JOBS][8];
	char id[WORLD_JOBS][16];
	int n, s; /* jobs, domains */
};

/* 0 to @n - 1. */
int world_rnd(int n);
/* @source: topology; @spec: as engine_create() takes it; @n: jobs "j0", "j1" ..., at most
 * WORLD_JOBS. Never copy it: it points into itself. Freed by world_close(). */
void world_open(struct world *w, const char *source, const char *spec, int n);
void world_close(struct world *w);
void world_tell(struct world *w, int i, enum signal_id id, double x);
/* A plan for the view, with new samples; an error fails the test. */
void world_decide(struct world *w);
/* The plan comes true. */
void world_carry_out(struct world *w);
/* The one domain of a job's cores. */
int world_domain_of(const struct world *w, int i);

/* Counts @a, @n digits to @base, up by one; false: back at all zeros. */
bool world_next_assignment(int *a, int n, int base);
/* Time on @n cores, @c: alpha, beta, gamma of SBMP's equation 2. */
double world_curve(const double *c, int n);

/* A case of one test, @loops times, from the seed. */
void world_add_case(Suite *s, const char *name, const TTest *test, int loops);

#endif
