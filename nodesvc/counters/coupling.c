/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/counters/coupling.h"

#include <math.h>
#include <stdio.h>

#include "common/aside.h"
#include "nodesvc/counters/idle.h"

/* Regions of 1.2 ms shared by two threads gain by turns, of 3.8 ms do not (contrib/bench/rebind).
 */
#define COUPLED_S 0.001
/* Halfway to who waits for nobody (coupling.h). */
#define LOOSE_S 0.002
/* Samples in a row; at the start four in a second, later one in two to eight seconds. */
#define YES_SAMPLES 2
#define NO_SAMPLES  3
#define GAP_MAX     16

static const char *const libraries[] = {"/libgomp", "/libomp", "/libiomp5", "/libmpi"};

static bool maps_runtime(const struct fsroot *root, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/%d/maps", (int)tid);
	return fsroot_find(root, path, libraries, sizeof(libraries) / sizeof(libraries[0]));
}

static void look(void *arg)
{
	struct look *l = arg;

	for (; l->at < l->n && !l->found && !aside_breathe(); l->at++)
		l->found = maps_runtime(l->root, l->tid[l->at]);
}

/* Found once it stays: nobody unloads one. */
static void begin_look(struct coupling *c, const struct fsroot *root, const pid_t *tid, int n)
{
	if (c->runtime || c->look || --c->wait > 0)
		return;
	c->look = look_begin(root, tid, n, 0, COUPLING_LOOK_MAX, look);
	if (!c->look)
		return;
	c->gap = c->gap == 0 ? 1 : 2 * c->gap;
	if (c->gap > GAP_MAX)
		c->gap = GAP_MAX;
	c->wait = c->gap;
}

void coupling_go_on(struct coupling *c)
{
	if (!look_go_on(c->look))
		return;
	c->runtime |= c->look->found;
	look_done(&c->look);
}

bool coupling_sample(struct coupling *c, const struct fsroot *root, const pid_t *tid, int n,
	int cores, double stretch_s, double runnable, bool turning)
{
	bool was = c->on, busy, often;

	if (isnan(stretch_s) || isnan(runnable))
		return false;
	busy = n > 1 && runnable >= fmax(BUSY_COMPUTES, IDLE_PART * cores);
	often = stretch_s < COUPLED_S;
	if (busy && often && !c->on)
		begin_look(c, root, tid, n);
	coupling_go_on(c);
	c->yes = busy && often && c->runtime ? c->yes + 1 : 0;
	c->no = (!busy || stretch_s >= LOOSE_S) && !turning ? c->no + 1 : 0;
	if (c->yes >= YES_SAMPLES)
		c->on = true;
	else if (c->no >= NO_SAMPLES)
		c->on = false;
	return c->on != was;
}
