/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/levers/levers.h"

#include <string.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "nodesvc/base/log.h"
#include "nodesvc/engine/policy.h"
#include "nodesvc/levers/internal.h"
#include "nodesvc/measure/measure.h"

/* All but name and leave may be NULL: nothing to do then. */
struct lever {
	const char *name;
	/* It stands on the step's cores: it ends when they change, and waits while they are
	 * another's choice (a trial). */
	bool on_cores;
	/* What a former daemon left is put back; what cannot be had says so itself. */
	void (*open)(struct levers *lv);
	/* True: the plan says something new that no step's cores show. */
	bool (*plan)(struct levers *lv, const struct plan *p, struct step *const *step);
	void (*apply)(struct levers *lv);
	void (*tick)(struct levers *lv, int64_t now_ns);
	/* Lets go of a step; what it does not hold is no error. @ended: nothing may be left to be
	 * done later. <0: what is not back is owed, and was logged. */
	int (*leave)(struct levers *lv, struct step *s, bool ended);
	/* What it holds of the node. */
	int (*restore_all)(struct levers *lv);
	void (*close)(struct levers *lv);
};

/* In the order in which they take hold. A loan is idle before it is wider: it stands before the
 * CPUs, and so ends after they are back. */
static const struct lever LEVERS[] = {
	{.name = "loans",
		.on_cores = true,
		.open = lend_open,
		.plan = lend_plan,
		.apply = lend_update,
		.leave = lend_end,
		.close = lend_close},
	{.name = "threads' priorities",
		.on_cores = true,
		.plan = threads_plan,
		.apply = threads_update,
		.leave = threads_end,
		.close = threads_close},
	{.name = "cache ways",
		.on_cores = true,
		.open = ways_open,
		.plan = ways_plan,
		.apply = ways_update,
		.leave = ways_end,
		.restore_all = ways_clear,
		.close = ways_close},
	{.name = "CPUs", .leave = place_leave, .close = place_close},
	{.name = "memory nodes",
		.open = memory_open,
		.tick = memory_tick,
		.leave = memory_leave,
		.close = memory_close},
	{.name = "turns",
		.open = rotate_open,
		.plan = rotate_plan,
		.apply = rotate_update,
		.leave = rotate_end,
		.close = rotate_close},
	{.name = "idle CPUs",
		.open = idlepoll_open,
		.tick = idlepoll_tick,
		.restore_all = idlepoll_clear,
		.close = idlepoll_close},
};
#define N_LEVERS ((int)(sizeof(LEVERS) / sizeof(LEVERS[0])))

/* Whose a row of the ledger is, and its way back. */
static const struct owed_kind KINDS[] = {
	[LEDGER_CPUSET] = {"CPUs", place_holds, place_restore_path},
	[LEDGER_CPU_IDLE] = {"cpu.idle", lend_holds, lend_restore_path},
	[LEDGER_SCHED] = {"threads' priorities", lend_holds, lend_restore_path},
	[LEDGER_AUTOGROUP] = {"sessions' priorities", lend_holds, lend_restore_path},
	[LEDGER_MEMS] = {"memory nodes", memory_holds, memory_restore_path},
	[LEDGER_FREEZER] = {"freezer", rotate_holds, rotate_restore_path},
	[LEDGER_RESCTRL] = {"cache ways", ways_hold, ways_restore_path},
	[LEDGER_HALTPOLL] = {"idle CPUs", idlepoll_holds, idlepoll_restore_path},
};
_Static_assert(sizeof(KINDS) / sizeof(KINDS[0]) == LEDGER_KINDS, "every kind has a way back");

/* ---- from start to stop -------------------------------------------------------------------- */

int levers_create(struct levers **ret, const struct conf *conf, const struct node *node,
	struct jobs *jobs, const struct levers_events *on, void *arg)
{
	static const struct levers_events nobody = {.grant = NULL};
	struct levers *lv = calloc(1, sizeof(*lv));

	if (!lv)
		return -ENOMEM;
	lv->conf = conf;
	lv->node = node;
	lv->jobs = jobs;
	lv->on = on ? on : &nobody;
	lv->arg = arg;
	lv->owed.kind_of = KINDS;
	*ret = lv;
	return 0;
}

void levers_attach(
	struct levers *lv, struct loop *loop, struct ledger *ledger, struct actuate *actuate)
{
	lv->loop = loop;
	lv->ledger = ledger;
	lv->actuate = actuate;
}

void levers_open(
	struct levers *lv, struct loop *loop, struct ledger *ledger, struct actuate *actuate)
{
	levers_attach(lv, loop, ledger, actuate);
	for (int i = 0; i < N_LEVERS; i++)
		if (LEVERS[i].open)
			LEVERS[i].open(lv);
}

void levers_close(struct levers *lv)
{
	if (!lv)
		return;
	owed_close(lv);
	for (int i = N_LEVERS - 1; i >= 0; i--)
		if (LEVERS[i].close)
			LEVERS[i].close(lv);
	free(lv);
}

/* ---- the plan ------------------------------------------------------------------------------ */

uint32_t levers_lack(const struct levers *lv)
{
	return (actuate_get_ops(lv->actuate) == &actuate_none ? POLICY_ASKS_LENT : 0) |
	       (rotate_why_not(lv) ? POLICY_ASKS_SLICES : 0);
}

const char *levers_cannot(const struct levers *lv, const struct plan *p)
{
	uint32_t lacks = levers_lack(lv);

	if (p->n_slices && lacks & POLICY_ASKS_SLICES)
		return "time slices";
	if (p->hysteresis_ms && lacks & POLICY_ASKS_LENT)
		return "priorities of threads";
	if (ways_lack(lv, p))
		return ways_lack(lv, p);
	for (int i = 0; i < p->n_jobs; i++)
		if (p->job[i].n_lent && lacks & POLICY_ASKS_LENT)
			return "lent cores";
	return NULL;
}

int levers_cache_ways(const struct levers *lv)
{
	return lv->ways.resctrl ? resctrl_get_caps(lv->ways.resctrl)->n_ways : 0;
}

bool levers_plan(struct levers *lv, const struct plan *p, struct step *const *step)
{
	bool new = false;

	for (int i = 0; i < N_LEVERS; i++)
		if (LEVERS[i].plan)
			new |= LEVERS[i].plan(lv, p, step);
	return new;
}

void levers_apply(struct levers *lv, bool paused)
{
	for (int i = 0; i < N_LEVERS; i++)
		if (LEVERS[i].apply && !(paused && LEVERS[i].on_cores))
			LEVERS[i].apply(lv);
}

void levers_tick(struct levers *lv, int64_t now_ns)
{
	for (int i = 0; i < N_LEVERS; i++)
		if (LEVERS[i].tick)
			LEVERS[i].tick(lv, now_ns);
}

/* ---- one step ------------------------------------------------------------------------------ */

/* In reverse; the first error. */
static int leave(struct levers *lv, struct step *s, bool ended)
{
	int first = 0;

	for (int i = N_LEVERS - 1; i >= 0; i--) {
		int rc = LEVERS[i].leave ? LEVERS[i].leave(lv, s, ended) : 0;

		first = first < 0 ? first : rc;
	}
	return first < 0 ? first : 0;
}

/* Its cores are others now: what stood on the old ones ends. */
static void leave_cores(struct levers *lv, struct step *s)
{
	for (int i = N_LEVERS - 1; i >= 0; i--)
		if (LEVERS[i].on_cores)
			LEVERS[i].leave(lv, s, false);
}

static void note(struct levers *lv, struct step *s, const struct coreset *set, const char *why)
{
	if (lv->on->note)
		lv->on->note(lv->arg, s, set, why);
}

static void grant(struct levers *lv, struct step *s, const struct coreset *set)
{
	if (lv->on->grant)
		lv->on->grant(lv->arg, s, set);
}

static void note_coreset(struct levers *lv, struct step *s)
{
	char text[CORESET_STR_MAX];

	step_note(s->history, sizeof(s->history), ";",
		coreset_format(&s->coreset, text, sizeof(text)), true);
	note(lv, s, &s->coreset, s->why);
}

#define AGAIN "not moved yet, tried again at each tick: "

/* The next tick applies the plan once more. */
static void try_again(struct step *s, const struct errbuf *err)
{
	char why[sizeof(s->reason)];

	snprintf(why, sizeof(why), AGAIN "%.100s", err->text);
	if (strcmp(s->reason, why) != 0)
		log_warning("step %s: %s", s->id, why);
	snprintf(s->reason, sizeof(s->reason), "%s", why);
	s->to_apply = true;
}

int levers_place(struct levers *lv, struct step *s, struct errbuf *err)
{
	struct actuate_result result;
	int rc;

	if (lv->conf->dry_run || s->dry_run || actuate_get_ops(lv->actuate) == &actuate_none) {
		s->status = STATUS_OBSERVED;
		if (actuate_get_ops(lv->actuate) == &actuate_none)
			snprintf(s->reason, sizeof(s->reason), "nothing is moved: %.120s",
				actuate_why_not(lv->actuate));
		note_coreset(lv, s);
		return 0;
	}
	rc = place_write(lv, s, &result, err);
	if (rc < 0) {
		if (place_passes(rc)) {
			try_again(s, err);
		} else if (rc != -ENOENT && rc != -ESRCH) {
			/* It would fail at every tick: leave the step alone from now on. */
			char why[160];

			snprintf(why, sizeof(why), "cannot be moved: %.120s", err->text);
			levers_restore(lv, s, STATUS_EXCLUDED, why);
		}
		leave_cores(lv, s);
		return rc;
	}
	/* A narrower cpuset would make its next call fail. */
	if (lv->conf->rebind == REBIND_CPUSET && result.pinned) {
		levers_restore(lv, s, STATUS_EXCLUDED,
			"its program binds its threads: under rebind: cpuset it stays on Slurm's "
			"cores");
		return 0;
	}
	/* What was lent was lent beside the old cores: it is off them now. */
	leave_cores(lv, s);
	s->coreset = result.coreset;
	s->status = STATUS_PLACED;
	if (strncmp(s->reason, AGAIN, strlen(AGAIN)) == 0)
		s->reason[0] = '\0';
	reading_disturb(s);
	grant(lv, s, coreset_is_empty(&s->coreset) ? &s->slurm_step : &s->coreset);
	note_coreset(lv, s);
	memory_follow(lv, s);
	return 0;
}

int levers_restore(struct levers *lv, struct step *s, enum step_status status, const char *why)
{
	int rc = leave(lv, s, false);

	if (rc == 0 && s->located)
		note(lv, s, &s->slurm_step, why);
	s->status = status;
	s->to_apply = false;
	coreset_zero(&s->coreset);
	grant(lv, s, &s->slurm_step);
	if (why)
		snprintf(s->reason, sizeof(s->reason), "%s", why);
	return rc;
}

void levers_end(struct levers *lv, struct step *s)
{
	leave(lv, s, true);
}

bool levers_displace(struct levers *lv, struct step *s, const struct coreset *set)
{
	bool there;

	/* Slurm's way is that all run at once. */
	rotate_leave(lv, s);
	if (place_aside(lv, s, set, &there) < 0 && set)
		return false;
	/* Lent again when the trial is over. */
	leave_cores(lv, s);
	grant(lv, s, set ? set : &s->slurm_step);
	return there;
}

void levers_release(struct levers *lv)
{
	for (int i = N_LEVERS - 1; i >= 0; i--) {
		for (int k = 0; k < lv->jobs->n && LEVERS[i].leave; k++)
			if (LEVERS[i].leave != place_leave)
				LEVERS[i].leave(lv, lv->jobs->step[k], false);
		if (LEVERS[i].restore_all)
			LEVERS[i].restore_all(lv);
	}
}

void levers_get_state(const struct levers *lv, struct levers_state *ret)
{
	ret->memory = memory_says(lv);
	ret->idle = idlepoll_says(lv, ret->idle_text, sizeof(ret->idle_text));
	ret->cache = lv->ways.resctrl ? resctrl_get_caps(lv->ways.resctrl) : NULL;
	ret->cache_why_not = lv->ways.why_not;
	ret->n_clusters = lv->ways.n;
	ret->owed = lv->owed.n;
	ret->owed_why = lv->owed.why;
}
