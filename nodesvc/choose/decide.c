/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decide.c - from the live table to a view, through the engine, to a plan for all steps.
 *
 * One policy rules the node's co-located set at a time (ruling.c). When a signal it needs is
 * missing, the configured fallback decides, and every step it placed says so. place.c makes a
 * step's part true.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/ipc.h"
#include "nodesvc/books/books.h"
#include "nodesvc/choose/internal.h"
#include "nodesvc/base/log.h"

/* ---- view ---- */

static void find_envelope(const struct choose *ch, const struct step *s, struct coreset *ret)
{
	*ret = s->envelope;
	/* Steps of several nodes keep their allocation, unless they are placed like any other. */
	if (ch->conf->envelope == ENVELOPE_NODE &&
		(s->nnodes <= 1 || ch->conf->multi_node != MULTI_NODE_ENVELOPE))
		for (int i = 0; i < ch->jobs->n; i++)
			if (step_is_managed(ch->jobs->step[i]))
				coreset_or(ret, ret, &ch->jobs->step[i]->envelope);
	coreset_and(ret, ret, &ch->node->usable);
}

static bool can_be_frozen(const struct choose *ch, const struct step *s)
{
	return s->nnodes <= 1 && !s->batch && !s->dry_run && !ch->conf->dry_run &&
	       !s->turn.refused && s->threads <= STEP_THREADS_FROZEN && !rotate_why_not(ch->levers);
}

/* For whom turns by the freezer are worth their while; none, or not to be had: no reason. */
static void add_reasons_for_turns(const struct choose *ch, const struct step *s, struct view_job *j)
{
	if (ch->conf->gang_polling && s->polling.on && can_be_frozen(ch, s))
		j->polling = s->polling.ranks;
	j->coupled = ch->conf->gang_coupled && s->coupling.on && can_be_frozen(ch, s);
}

static int build_view(struct choose *ch, struct view *v, struct view_job *jobs, struct step **steps)
{
	int64_t now_ns = ipc_now_ns();
	int n = 0;

	for (int i = 0; i < ch->jobs->n; i++) {
		struct step *s = ch->jobs->step[i];
		struct view_job *j = &jobs[n];

		if (!step_is_managed(s) && s->status != STATUS_EXCLUDED)
			continue;
		memset(j, 0, sizeof(*j));
		j->id = s->id;
		j->type = s->type;
		j->owner = s->uid;
		j->order = s->order;
		j->threads = s->threads;
		j->runnable = s->runnable;
		j->min_cores = s->min_cores;
		find_envelope(ch, s, &j->envelope);
		/* Nothing of its allocation is free: an empty envelope would mean the whole node.
		 */
		if (coreset_is_empty(&j->envelope) && s->status != STATUS_EXCLUDED) {
			snprintf(s->reason, sizeof(s->reason), "its allocation is reserved");
			levers_restore(ch->levers, s, STATUS_EXCLUDED, NULL);
		}
		if (s->status == STATUS_EXCLUDED) {
			j->excluded = true;
			j->envelope = s->slurm_step;
			j->current = s->slurm_step;
		} else if (!coreset_is_empty(&s->coreset)) {
			j->current = s->coreset;
		}
		memcpy(j->signal, s->signal, sizeof(j->signal));
		j->sample_no = s->sample_no;
		j->has_executed = s->has_executed;
		j->executed = s->executed;
		j->borrows = !coreset_is_empty(&s->lent);
		if (s->n_speed) {
			j->speed = s->speed;
			j->n_speed = s->n_speed;
		}
		/* Memory that follows is nobody's reason to stay. */
		if (ch->conf->memory == MEMORY_STAY && s->seen.home.look_ns) {
			j->home_numa = s->seen.home.numa;
			j->rss_bytes = s->seen.home.bytes;
		} else {
			j->home_numa = -1;
			j->rss_bytes = -1;
		}
		j->core = -1;
		j->has_priority = s->has_priority;
		j->priority_high = s->priority_high;
		j->qos = s->qos;
		j->nodes = s->nnodes;
		add_reasons_for_turns(ch, s, j);
		j->yielding = s->polling.yields ? s->polling.ranks : 0;
		j->bursty = s->turn.burst.known;
		j->in_turns = s->turn.hold;
		j->wanted_s = (double)turn_wanted_ns(&s->turn, now_ns) / 1e9;
		j->served_s = (double)turn_served_ns(&s->turn, now_ns) / 1e9;
		steps[n++] = s;
	}
	v->now_s = (double)now_ns / 1e9;
	v->seed = 1;
	v->slice_ms = ch->conf->gang_slice_ms;
	v->cache_ways = levers_cache_ways(ch->levers);
	v->job = jobs;
	v->n_jobs = n;
	v->fast_cores = coreset_is_empty(&ch->conf->fast_cores) ? NULL : &ch->conf->fast_cores;
	v->reserved = coreset_is_empty(&ch->conf->reserve) ? NULL : &ch->conf->reserve;
	return n;
}

/* step_note() adds nothing more. */
static bool list_is_full(const char *list)
{
	size_t len = strlen(list);

	return len >= 3 && strcmp(list + len - 3, "...") == 0;
}

static void list_shares(struct choose *ch, const struct step *s, char *buf, size_t size)
{
	bool twice = false; /* several nodes of one machine: an id may come again */
	bool full = false;
	size_t len = 0;

	*buf = '\0';
	for (int i = 0; i < ch->jobs->n && !full; i++) {
		const struct step *o = ch->jobs->step[i];
		size_t n;

		if (o == s || !step_is_managed(o) || !coreset_intersects(&o->coreset, &s->coreset))
			continue;
		/* This runs for each pair of steps: what step_note() does, without looking. */
		n = strlen(o->id);
		twice |= o->nodeid != 0;
		if (twice || len + n + 6 >= size) {
			step_note(buf, size, ",", o->id, false);
			len = strlen(buf);
			full = list_is_full(buf);
			continue;
		}
		if (len)
			buf[len++] = ',';
		memcpy(buf + len, o->id, n + 1);
		len += n;
	}
}

static void note_decision(struct choose *ch, struct step *s, const char *event,
	const struct coreset *from, bool moved, const char *shares, struct explanation *explain)
{
	struct decision *dec = step_new_decision(s);

	dec->number = recent_number(ch->recent);
	dec->event = event;
	snprintf(dec->policy, sizeof(dec->policy), "%s", s->policy);
	dec->from = *from;
	dec->to = s->coreset;
	dec->moved = moved;
	dec->score = ch->plan.score;
	snprintf(dec->why, sizeof(dec->why), "%s", s->why);
	snprintf(dec->shares, sizeof(dec->shares), "%s", shares);
	dec->explain = explain;
	if (explain)
		explain->refs++;
}

void decide_note_done(struct choose *ch, const struct step *s)
{
	ch->has_task_done = ptable_note(ch, s, &ch->task_done);
}

/* The plan's coresets and sentences into the table; what changed is marked for decide_finish(). */
static void adopt_plan(struct choose *ch, const struct view *v, struct view_job *jobs,
	struct step **steps, enum event_type type, const char *fallback_why, int *ret_moved)
{
	static uint32_t turns[JOBS_MAX]; /* before */
	struct explanation *explain = NULL;
	bool turned, other_length;
	int moved = 0;

	/* All coresets first: a decision's "shares" speaks of the plan, not of half of it. */
	for (int i = 0; i < v->n_jobs; i++) {
		if (!step_is_managed(steps[i]))
			continue;
		jobs[i].current = steps[i]->coreset;
		steps[i]->coreset = ch->plan.job[i].coreset;
		moved += !coreset_is_equal(&jobs[i].current, &steps[i]->coreset);
	}
	*ret_moved = moved;
	for (int i = 0; i < v->n_jobs; i++)
		turns[i] = steps[i]->turn.slices;
	turned = other_length = levers_plan(ch->levers, &ch->plan, steps);
	for (int i = 0; i < v->n_jobs; i++)
		turned |= turns[i] != steps[i]->turn.slices;
	/* Most ticks change nothing, and nobody's company. */
	if (!moved && !turned && !ch->new_whys && type == EVENT_TICK)
		return;
	ch->new_whys = false;
	if (*ch->plan.explain)
		explain = explanation_new(ch->plan.explain);
	for (int i = 0; i < v->n_jobs; i++) {
		struct step *s = steps[i];
		bool changed = !coreset_is_equal(&jobs[i].current, &s->coreset);
		bool first = coreset_is_empty(&jobs[i].current);
		char shares[sizeof(s->decision[0].shares)];
		const struct decision *last = step_get_decision(s, 0);

		if (!step_is_managed(s))
			continue;
		if (s->granted)
			decide_note_cores(ch, s, ipc_now_ns());
		if (fallback_why)
			snprintf(s->why, sizeof(s->why), "%s (fallback: %.80s)",
				ch->plan.job[i].why, fallback_why);
		else
			snprintf(s->why, sizeof(s->why), "%s", ch->plan.job[i].why);
		/* New company is a decision too, also for one who stays where he is. */
		list_shares(ch, s, shares, sizeof(shares));
		if (changed || !last || turns[i] != s->turn.slices ||
			(other_length && s->turn.slices) || strcmp(last->shares, shares) != 0)
			note_decision(ch, s, event_type_name(type), &jobs[i].current,
				changed && !first, shares, explain);
		/* Tasks that have not started are decide_place()'s. */
		if (changed && !first && s->located && s->status != STATUS_PENDING)
			s->to_apply = true;
	}
	explanation_put(explain);
}

/* What a plan asks for and this node cannot do; NULL all is well. */
static const char *cannot_do(struct choose *ch, const struct plan *p)
{
	static char why[160];

	return p->n_experiments && !levers_cannot(ch->levers, p)
		       ? trial_refuses(ch, p, why, sizeof(why))
		       : levers_cannot(ch->levers, p);
}

/* The fallback's plan, which nobody stands in for: where nobody can be frozen the jobs of its
 * slices run side by side, and are told so. */
static void drop_turns(struct choose *ch, struct plan *p)
{
	const char *why = rotate_why_not(ch->levers);

	if (!p->n_slices || !why)
		return;
	p->n_slices = 0;
	for (int i = 0; i < p->n_jobs; i++) {
		struct plan_job *j = &p->job[i];
		char was[sizeof(j->why)];

		if (j->role != ROLE_GANG)
			continue;
		j->role = ROLE_OWNER;
		memcpy(was, j->why, sizeof(was));
		snprintf(j->why, sizeof(j->why), "no turns (%.50s), else: %.90s", why, was);
	}
}

/* The ruling policy's plan; where it has none, the fallback's, with the reason. */
static int make_plan(struct choose *ch, const struct view *v, struct errbuf *why,
	bool *ret_fallback, struct errbuf *err)
{
	const char *what;
	int64_t start_ns;
	int rc;

	recording_begin(ch, v);
	start_ns = ipc_now_ns();
	rc = engine_decide(ch->engine, v, &ch->plan, why);
	metrics_note(&ch->decision_times, ipc_now_ns() - start_ns);
	recording_answer(ch, false, rc == 0 ? &ch->plan : NULL, why);
	ch->decided_by = engine_policy(ch->engine)->name;
	what = rc == 0 ? cannot_do(ch, &ch->plan) : NULL;
	if (what)
		rc = err_set(why, -ENOTSUP,
			"policy '%s' asks for %s, not to be had on this node%s%.80s",
			ch->decided_by, what,
			ch->plan.n_slices && rotate_why_not(ch->levers) ? ": " : "",
			ch->plan.n_slices && rotate_why_not(ch->levers) ? rotate_why_not(ch->levers)
									: "");
	*ret_fallback = rc < 0;
	if (rc < 0) {
		ch->decided_by = engine_policy(ch->fallback)->name;
		rc = engine_decide(ch->fallback, v, &ch->plan, err);
		recording_answer(ch, true, rc == 0 ? &ch->plan : NULL, err);
		if (rc == 0)
			drop_turns(ch, &ch->plan);
	}
	recording_end(ch);
	return rc;
}

/* Nobody is left to place, but the policies still have to hear of an end. */
static void tell_end(struct choose *ch, const struct view *v)
{
	struct errbuf err = {.text = ""};
	int rc;

	recording_begin(ch, v);
	rc = engine_decide(ch->engine, v, &ch->plan, &err);
	recording_answer(ch, false, rc == 0 ? &ch->plan : NULL, &err);
	rc = engine_decide(ch->fallback, v, &ch->plan, &err);
	recording_answer(ch, true, rc == 0 ? &ch->plan : NULL, &err);
	recording_end(ch);
}

/* What a plan without placements still says: who takes turns, who borrows. */
static void take_turns(struct choose *ch, struct step **steps)
{
	levers_plan(ch->levers, &ch->plan, steps);
	levers_apply(ch->levers, trial_is_on(ch));
}

/* The policy is not to rule these steps: of its plan nothing is done. */
static void hold_plan(struct choose *ch, enum event_type type, struct step **steps)
{
	quarantine_hold(ch, event_type_name(type));
	ch->plan.n_slices = 0;
	ch->plan.hysteresis_ms = 0;
	ch->plan.n_clusters = 0;
	for (int i = 0; i < ch->plan.n_jobs; i++)
		ch->plan.job[i].n_lent = 0;
	take_turns(ch, steps);
}

void decide_run(struct choose *ch, enum event_type type, const char *about_id, struct step *later)
{
	/* Static: too large for the stack, and one thread decides. */
	static struct view_job jobs[JOBS_MAX];
	static struct step *steps[JOBS_MAX];
	struct event event[PLAN_EXPERIMENTS_MAX + 2];
	struct view v = {.event = event};
	struct errbuf err, why = {.text = ""};
	const char *policy;
	bool fallback, only_tick;
	int64_t now_ns = ipc_now_ns();
	int rc, moved = 0;

	if (type != EVENT_TICK) {
		settled_forget();
		trial_abort(ch);
		quarantine_stale(ch);
	} else if (trial_is_on(ch)) {
		return;
	}
	for (int i = 0; i < ch->n_results; i++)
		event[v.n_events++] = ch->result[i];
	ch->n_results = 0;
	/* What a new engine is told has it already. */
	if (ch->has_task_done && !ch->engine_is_new)
		event[v.n_events++] = ch->task_done;
	ch->has_task_done = false;
	if (ch->engine_is_new)
		ptable_tell(ch, engine_policy(ch->engine)->name, &v);
	ch->engine_is_new = false;
	event[v.n_events++] = (struct event){.type = type, .job = about_id};
	if (build_view(ch, &v, jobs, steps) == 0) {
		levers_apply(ch->levers, true);
		tell_end(ch, &v);
		return;
	}
	only_tick = type == EVENT_TICK && v.n_events == 1 && v.n_ptt == 0;
	if (only_tick && settled_is(ch, &v, &fallback) && !quarantine_holds(ch, fallback)) {
		decide_finish(ch);
		return;
	}
	settled_forget();
	rc = make_plan(ch, &v, &why, &fallback, &err);
	policy = ch->decided_by;
	ch->n_decisions++;
	ch->new_whys |= fallback != ch->fell_back;
	ch->fell_back = fallback;
	if (fallback && strcmp(ch->fallback_why, why.text) != 0) {
		/* Once, not at every tick. */
		ch->new_whys = true;
		snprintf(ch->fallback_why, sizeof(ch->fallback_why), "%s", why.text);
		log_info("%s decides instead of %s: %s", policy, ch->ruling, why.text);
	}
	if (rc < 0) {
		health_error("policy %s: %.200s", policy, err.text);
		return;
	}
	if (quarantine_holds(ch, fallback)) {
		hold_plan(ch, type, steps);
		return;
	}
	if ((type == EVENT_TICK || type == EVENT_PHASE) && !ch->plan.urgent)
		for (int i = 0; i < v.n_jobs; i++)
			if (!coreset_is_equal(&ch->plan.job[i].coreset, &steps[i]->coreset) &&
				place_must_wait(ch->conf, steps[i], now_ns))
				return;
	for (int i = 0; i < v.n_jobs; i++)
		if (step_is_managed(steps[i]))
			snprintf(steps[i]->policy, sizeof(steps[i]->policy), "%s", policy);
	quarantine_let_go(ch, strcmp(policy, "none") != 0);
	if (strcmp(policy, "none") == 0) {
		take_turns(ch, steps);
		return;
	}
	adopt_plan(ch, &v, jobs, steps, type, fallback ? why.text : NULL, &moved);
	if (!moved && only_tick)
		settled_note(ch, &v, fallback);
	/* What a step's arrival means for the others need not hold up its launch. */
	if (!later)
		decide_finish(ch);
	if (!later && !fallback)
		trial_experiments(ch, &ch->plan);
}

/* On a step's cores, itself too. */
static int count_sharers(const struct choose *ch, const struct step *s)
{
	int n = 0;

	for (int i = 0; i < ch->jobs->n; i++) {
		const struct step *o = ch->jobs->step[i];

		n += step_is_managed(o) && coreset_intersects(&o->coreset, &s->coreset);
	}
	return n > 1 ? n : 1;
}

/* Of @cores that @n share, itself too. */
static int granted_of(const struct step *s, int cores, int n)
{
	/* Who takes turns has all of them in its own. */
	if (n == 1 || s->turn.slices || cores == 0)
		return cores;
	return cores >= 2 * n ? cores / n : 1;
}

int decide_granted(const struct choose *ch, const struct step *s)
{
	return granted_of(s, topo_count_cores(ch->node->topo, &s->coreset), count_sharers(ch, s));
}

void decide_note_cores(const struct choose *ch, struct step *s, int64_t now_ns)
{
	int cores = topo_count_cores(ch->node->topo, &s->coreset), n = count_sharers(ch, s);

	step_note_cores(s, granted_of(s, cores, n), (double)cores / n, now_ns);
}

int decide_place(struct choose *ch, struct step *s, struct errbuf *err)
{
	struct coreset envelope;

	if (!step_is_managed(s))
		return 0;
	if (ipc_now_ns() < s->seen.control_until_ns)
		return 0; /* decide_finish() places it later */
	find_envelope(ch, s, &envelope);
	if (coreset_is_empty(&s->coreset) || !coreset_is_subset(&s->coreset, &envelope)) {
		/* The allocation is not what Slurm's item said: decide again with the truth. */
		coreset_zero(&s->coreset);
		decide_run(ch, EVENT_ARRIVAL, s->id, s);
	}
	if (coreset_is_empty(&s->coreset) || strcmp(s->policy, "none") == 0) {
		s->status = STATUS_OBSERVED;
		return 0;
	}
	return levers_place(ch->levers, s, err);
}

void decide_finish(struct choose *ch)
{
	int64_t now_ns = ipc_now_ns();
	struct errbuf err;

	for (int i = 0; i < ch->jobs->n; i++) {
		struct step *s = ch->jobs->step[i];

		if (!s->located || !step_is_managed(s))
			continue;
		if (s->to_apply) {
			s->to_apply = false;
			if (levers_place(ch->levers, s, &err) < 0)
				continue;
			s->rebinds++;
			ch->n_rebinds++;
			place_count_move(s, now_ns);
			s->dirty = true;
		} else if (s->status == STATUS_PENDING && now_ns >= s->seen.control_until_ns &&
			   step_is_launched(s) && !coreset_is_empty(&s->coreset)) {
			/* Left out for a while (a batch shell), or adopted: comes in here. */
			levers_place(ch->levers, s, &err);
		}
	}
	levers_apply(ch->levers, trial_is_on(ch));
}
