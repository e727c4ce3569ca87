/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decide.c - from the live table to a view, through the engine, to a plan for all steps.
 *
 * One policy rules the node's co-located set at a time (ruling.c). When a signal it needs is
 * missing, the configured fallback decides, and every step it placed says so. place.c makes a
 * step's part true.
 */
#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc.h"
#include "nodesvc/base/health.h"
#include "nodesvc/books/books.h"
#include "nodesvc/choose/ptable.h"
#include "nodesvc/choose/quarantine.h"
#include "nodesvc/choose/settled.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/levers/levers.h"
#include "nodesvc/launch/linkage.h"
#include "nodesvc/base/log.h"
#include "nodesvc/measure/measure.h"

/* Nobody has registered for so long: what waits for the disk may be written. */
#define QUIET_NS INT64_C(250000000)
/* Of a tick, for threads that have bound themselves. */
#define LOOK_NS INT64_C(2000000)

/* ---- view ---- */

void decide_envelope(const struct daemon *d, const struct step *s, struct coreset *ret)
{
	*ret = s->envelope;
	/* Steps of several nodes keep their allocation, unless they are placed like any other. */
	if (d->conf.envelope == ENVELOPE_NODE &&
		(s->nnodes <= 1 || d->conf.multi_node != MULTI_NODE_ENVELOPE))
		for (int i = 0; i < d->jobs.n; i++)
			if (step_is_managed(d->jobs.step[i]))
				coreset_or(ret, ret, &d->jobs.step[i]->envelope);
	coreset_and(ret, ret, &d->node.usable);
}

static bool can_be_frozen(const struct daemon *d, const struct step *s)
{
	return s->nnodes <= 1 && !s->batch && !s->dry_run && !d->conf.dry_run && !s->turn.refused &&
	       s->threads <= STEP_THREADS_FROZEN && !levers_no_turns(d->levers);
}

/* For whom turns by the freezer are worth their while; none, or not to be had: no reason. */
static void add_reasons_for_turns(const struct daemon *d, const struct step *s, struct view_job *j)
{
	if (d->conf.gang_polling && s->polling.on && can_be_frozen(d, s))
		j->polling = s->polling.ranks;
	j->coupled = d->conf.gang_coupled && s->coupling.on && can_be_frozen(d, s);
}

static int build_view(struct daemon *d, struct view *v, struct view_job *jobs, struct step **steps)
{
	int64_t now_ns = ipc_now_ns();
	int n = 0;

	for (int i = 0; i < d->jobs.n; i++) {
		struct step *s = d->jobs.step[i];
		struct view_job *j = &jobs[n];

		if (!step_is_managed(s) && s->status != STATUS_EXCLUDED)
			continue;
		memset(j, 0, sizeof(*j));
		j->id = s->id;
		j->type = s->type;
		j->order = s->order;
		j->threads = s->threads;
		j->min_cores = s->min_cores;
		decide_envelope(d, s, &j->envelope);
		/* Nothing of its allocation is free: an empty envelope would mean the whole node.
		 */
		if (coreset_is_empty(&j->envelope) && s->status != STATUS_EXCLUDED) {
			snprintf(s->reason, sizeof(s->reason), "its allocation is reserved");
			levers_restore(d->levers, s, STATUS_EXCLUDED, NULL);
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
		if (s->n_speed) {
			j->speed = s->speed;
			j->n_speed = s->n_speed;
		}
		j->home_numa = -1;
		j->rss_bytes = -1;
		j->core = -1;
		j->has_priority = s->has_priority;
		j->priority_high = s->priority_high;
		j->qos = s->qos;
		j->nodes = s->nnodes;
		add_reasons_for_turns(d, s, j);
		j->bursty = s->turn.burst.known;
		j->in_turns = s->turn.hold;
		j->wanted_s = (double)turn_wanted_ns(&s->turn, now_ns) / 1e9;
		j->served_s = (double)turn_served_ns(&s->turn, now_ns) / 1e9;
		steps[n++] = s;
	}
	v->now_s = (double)now_ns / 1e9;
	v->seed = 1;
	v->slice_ms = d->conf.gang_slice_ms;
	v->job = jobs;
	v->n_jobs = n;
	v->fast_cores = coreset_is_empty(&d->conf.fast_cores) ? NULL : &d->conf.fast_cores;
	v->reserved = coreset_is_empty(&d->conf.reserve) ? NULL : &d->conf.reserve;
	return n;
}

/* step_note() adds nothing more. */
static bool list_is_full(const char *list)
{
	size_t len = strlen(list);

	return len >= 3 && strcmp(list + len - 3, "...") == 0;
}

static void list_shares(struct daemon *d, const struct step *s, char *buf, size_t size)
{
	bool twice = false; /* several nodes of one machine: an id may come again */
	bool full = false;
	size_t len = 0;

	*buf = '\0';
	for (int i = 0; i < d->jobs.n && !full; i++) {
		const struct step *o = d->jobs.step[i];
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

static void note_decision(struct daemon *d, struct step *s, const char *event,
	const struct coreset *from, bool moved, const char *shares, struct explain *explain)
{
	struct decision *dec = step_new_decision(s);

	dec->number = trail_number(d->trail);
	dec->event = event;
	snprintf(dec->policy, sizeof(dec->policy), "%s", s->policy);
	dec->from = *from;
	dec->to = s->coreset;
	dec->moved = moved;
	dec->score = d->plan.score;
	snprintf(dec->why, sizeof(dec->why), "%s", s->why);
	snprintf(dec->shares, sizeof(dec->shares), "%s", shares);
	dec->explain = explain;
	if (explain)
		explain->refs++;
}

static const char *event_name(enum event_type e)
{
	static const char *const names[] = {
		[EVENT_ARRIVAL] = "arrival",
		[EVENT_END] = "end",
		[EVENT_PHASE] = "phase",
		[EVENT_TICK] = "tick",
		[EVENT_EXPERIMENT_RESULT] = "experiment_result",
		[EVENT_TASK_DONE] = "task_done",
	};

	return names[e];
}

/* Keeps the decision for explain after the fact. */
static void record_decision(struct daemon *d, const char *event)
{
	struct json_object *root = json_object_new_object();
	struct json_object *list = json_object_new_array();

	if (!root || !list) {
		json_object_put(root);
		json_object_put(list);
		return;
	}
	json_object_object_add(root, "policy", json_object_new_string(d->decided_by));
	for (int i = 0; i < d->plan.n_jobs; i++) {
		struct json_object *o = json_object_new_object();
		char text[CORESET_STR_MAX];

		json_object_object_add(o, "id", json_object_new_string(d->plan.job[i].id));
		json_object_object_add(o, "coreset",
			json_object_new_string(
				coreset_format(&d->plan.job[i].coreset, text, sizeof(text))));
		json_object_array_add(list, o);
	}
	json_object_object_add(root, "jobs", list);
	decisions_note(d->books, event,
		strdup(json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN)));
	json_object_put(root);
}

/* The plan's coresets and sentences into the table; what changed is marked for decide_finish(). */
static void adopt_plan(struct daemon *d, const struct view *v, struct view_job *jobs,
	struct step **steps, enum event_type type, const char *fallback_why, int *ret_moved)
{
	static uint32_t turns[JOBS_MAX]; /* before */
	struct explain *explain = NULL;
	bool turned, other_length;
	int moved = 0;

	/* All coresets first: a decision's "shares" speaks of the plan, not of half of it. */
	for (int i = 0; i < v->n_jobs; i++) {
		if (!step_is_managed(steps[i]))
			continue;
		jobs[i].current = steps[i]->coreset;
		steps[i]->coreset = d->plan.job[i].coreset;
		moved += !coreset_is_equal(&jobs[i].current, &steps[i]->coreset);
	}
	*ret_moved = moved;
	for (int i = 0; i < v->n_jobs; i++)
		turns[i] = steps[i]->turn.slices;
	turned = other_length = levers_plan(d->levers, &d->plan, steps);
	for (int i = 0; i < v->n_jobs; i++)
		turned |= turns[i] != steps[i]->turn.slices;
	/* Most ticks change nothing, and nobody's company. */
	if (!moved && !turned && !d->new_whys && type == EVENT_TICK)
		return;
	d->new_whys = false;
	if (*d->plan.explain)
		explain = explain_new(d->plan.explain);
	for (int i = 0; i < v->n_jobs; i++) {
		struct step *s = steps[i];
		bool changed = !coreset_is_equal(&jobs[i].current, &s->coreset);
		bool first = coreset_is_empty(&jobs[i].current);
		char shares[sizeof(s->decision[0].shares)];
		const struct decision *last = step_get_decision(s, 0);

		if (!step_is_managed(s))
			continue;
		if (fallback_why)
			snprintf(s->why, sizeof(s->why), "%.80s (fallback: %.60s)",
				d->plan.job[i].why, fallback_why);
		else
			snprintf(s->why, sizeof(s->why), "%s", d->plan.job[i].why);
		/* New company is a decision too, also for one who stays where he is. */
		list_shares(d, s, shares, sizeof(shares));
		if (changed || !last || turns[i] != s->turn.slices ||
			(other_length && s->turn.slices) || strcmp(last->shares, shares) != 0)
			note_decision(d, s, event_name(type), &jobs[i].current, changed && !first,
				shares, explain);
		/* Tasks that have not started are decide_place()'s. */
		if (changed && !first && s->located && s->status != STATUS_PENDING)
			s->to_apply = true;
	}
	explain_put(explain);
}

/* What a plan asks for and this node cannot do; NULL all is well. */
static const char *cannot_do(struct daemon *d, const struct plan *p)
{
	static char why[160];

	return p->n_experiments && !levers_cannot(d->levers, p)
		       ? trial_refuses(d, p, why, sizeof(why))
		       : levers_cannot(d->levers, p);
}

/* The fallback's plan, which nobody stands in for: where nobody can be frozen the jobs of its
 * slices run side by side, and are told so. */
static void drop_turns(struct daemon *d, struct plan *p)
{
	const char *why = levers_no_turns(d->levers);

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
static int make_plan(struct daemon *d, const struct view *v, struct errbuf *why, bool *ret_fallback,
	struct errbuf *err)
{
	const char *what;
	int64_t start_ns;
	int rc;

	recording_begin(d, v);
	start_ns = ipc_now_ns();
	rc = engine_decide(d->engine, v, &d->plan, why);
	metrics_note(&d->decision_times, ipc_now_ns() - start_ns);
	recording_answer(d, false, rc == 0 ? &d->plan : NULL, why);
	d->decided_by = engine_policy(d->engine)->name;
	what = rc == 0 ? cannot_do(d, &d->plan) : NULL;
	if (what)
		rc = err_set(why, -ENOTSUP,
			"policy '%s' asks for %s, not to be had on this node%s%.80s", d->decided_by,
			what, d->plan.n_slices && levers_no_turns(d->levers) ? ": " : "",
			d->plan.n_slices && levers_no_turns(d->levers) ? levers_no_turns(d->levers)
								       : "");
	*ret_fallback = rc < 0;
	if (rc < 0) {
		d->decided_by = engine_policy(d->fallback)->name;
		rc = engine_decide(d->fallback, v, &d->plan, err);
		recording_answer(d, true, rc == 0 ? &d->plan : NULL, err);
		if (rc == 0)
			drop_turns(d, &d->plan);
	}
	recording_end(d);
	return rc;
}

/* Nobody is left to place, but the policies still have to hear of an end. */
static void tell_end(struct daemon *d, const struct view *v)
{
	struct errbuf err = {.text = ""};
	int rc;

	recording_begin(d, v);
	rc = engine_decide(d->engine, v, &d->plan, &err);
	recording_answer(d, false, rc == 0 ? &d->plan : NULL, &err);
	rc = engine_decide(d->fallback, v, &d->plan, &err);
	recording_answer(d, true, rc == 0 ? &d->plan : NULL, &err);
	recording_end(d);
}

/* What a plan without placements still says: who takes turns, who borrows. */
static void take_turns(struct daemon *d, struct step **steps)
{
	levers_plan(d->levers, &d->plan, steps);
	levers_apply(d->levers, trial_is_on(d));
}

/* The policy is not to rule these steps: of its plan nothing is done. */
static void hold_plan(struct daemon *d, enum event_type type, struct step **steps)
{
	quarantine_hold(d, event_name(type));
	d->plan.n_slices = 0;
	d->plan.hysteresis_ms = 0;
	d->plan.n_clusters = 0;
	for (int i = 0; i < d->plan.n_jobs; i++)
		d->plan.job[i].n_lent = 0;
	take_turns(d, steps);
}

void decide_run(struct daemon *d, enum event_type type, const char *about_id, struct step *later)
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
		trial_abort(d);
		quarantine_stale(d);
	} else if (trial_is_on(d)) {
		return;
	}
	for (int i = 0; i < d->n_results; i++)
		event[v.n_events++] = d->result[i];
	d->n_results = 0;
	/* What a new engine is told has it already. */
	if (d->has_task_done && !d->engine_is_new)
		event[v.n_events++] = d->task_done;
	d->has_task_done = false;
	if (d->engine_is_new)
		ptable_tell(d, engine_policy(d->engine)->name, &v);
	d->engine_is_new = false;
	event[v.n_events++] = (struct event){.type = type, .job = about_id};
	/* One that is put off is of the plan that goes now. */
	if (d->unrecorded)
		record_decision(d, d->unrecorded);
	d->unrecorded = NULL;
	if (build_view(d, &v, jobs, steps) == 0) {
		levers_apply(d->levers, true);
		tell_end(d, &v);
		return;
	}
	only_tick = type == EVENT_TICK && v.n_events == 1 && v.n_ptt == 0;
	if (only_tick && settled_is(d, &v)) {
		decide_finish(d);
		return;
	}
	settled_forget();
	rc = make_plan(d, &v, &why, &fallback, &err);
	policy = d->decided_by;
	d->n_decisions++;
	d->new_whys |= fallback != d->fell_back;
	d->fell_back = fallback;
	if (fallback && strcmp(d->fallback_why, why.text) != 0) {
		/* Once, not at every tick. */
		d->new_whys = true;
		snprintf(d->fallback_why, sizeof(d->fallback_why), "%s", why.text);
		log_info("%s decides instead of %s: %s", policy, d->ruling, why.text);
	}
	if (rc < 0) {
		health_error("policy %s: %.200s", policy, err.text);
		return;
	}
	if (quarantine_holds(d, fallback)) {
		hold_plan(d, type, steps);
		return;
	}
	if ((type == EVENT_TICK || type == EVENT_PHASE) && !d->plan.urgent)
		for (int i = 0; i < v.n_jobs; i++)
			if (!coreset_is_equal(&d->plan.job[i].coreset, &steps[i]->coreset) &&
				levers_must_wait(d->levers, steps[i], now_ns))
				return;
	for (int i = 0; i < v.n_jobs; i++)
		if (step_is_managed(steps[i]))
			snprintf(steps[i]->policy, sizeof(steps[i]->policy), "%s", policy);
	quarantine_let_go(d, strcmp(policy, "none") != 0);
	if (strcmp(policy, "none") == 0) {
		take_turns(d, steps);
		return;
	}
	adopt_plan(d, &v, jobs, steps, type, fallback ? why.text : NULL, &moved);
	if (moved)
		d->unrecorded = event_name(type);
	else if (only_tick)
		settled_note(d, &v, fallback);
	/* What a step's arrival means for the others need not hold up its launch. */
	if (!later)
		decide_finish(d);
	if (!later && !fallback)
		trial_experiments(d, &d->plan);
}

int decide_place(struct daemon *d, struct step *s, struct errbuf *err)
{
	struct coreset envelope;

	if (!step_is_managed(s))
		return 0;
	if (ipc_now_ns() < s->track.control_until_ns)
		return 0; /* decide_finish() places it later */
	decide_envelope(d, s, &envelope);
	if (coreset_is_empty(&s->coreset) || !coreset_is_subset(&s->coreset, &envelope)) {
		/* The allocation is not what Slurm's item said: decide again with the truth. */
		coreset_zero(&s->coreset);
		decide_run(d, EVENT_ARRIVAL, s->id, s);
	}
	if (coreset_is_empty(&s->coreset) || strcmp(s->policy, "none") == 0) {
		s->status = STATUS_OBSERVED;
		return 0;
	}
	return levers_place(d->levers, s, err);
}

void decide_finish(struct daemon *d)
{
	int64_t now_ns = ipc_now_ns();
	struct errbuf err;

	for (int i = 0; i < d->jobs.n; i++) {
		struct step *s = d->jobs.step[i];

		if (!s->located || !step_is_managed(s))
			continue;
		if (s->to_apply) {
			s->to_apply = false;
			if (levers_place(d->levers, s, &err) < 0)
				continue;
			s->rebinds++;
			d->n_rebinds++;
			levers_count_move(s, now_ns);
			s->dirty = true;
		} else if (s->status == STATUS_PENDING && now_ns >= s->track.control_until_ns &&
			   step_is_launched(s) && !coreset_is_empty(&s->coreset)) {
			/* Left out for a while (a batch shell), or adopted: comes in here. */
			levers_place(d->levers, s, &err);
		}
	}
	levers_apply(d->levers, trial_is_on(d));
	if (d->unrecorded)
		record_decision(d, d->unrecorded);
	d->unrecorded = NULL;
}

/* ---- the tick ---- */

void decide_start_ticking(struct daemon *d)
{
	/* Each stops by itself with the last step: the next one may come between the two. */
	sampler_start(d->measure);
	if (!d->ticking)
		loop_set_timer(d->tick, d->conf.tick_ms, d->conf.tick_ms);
	d->ticking = true;
}

void decide_phases(struct daemon *d)
{
	for (int i = 0; i < d->jobs.n; i++) {
		struct step *s = d->jobs.step[i];

		if (!s->phase_changed)
			continue;
		s->phase_changed = false;
		s->dirty = true;
		if (step_is_managed(s))
			decide_run(d, EVENT_PHASE, s->id, NULL);
	}
}

bool decide_stands_back(const struct daemon *d, int64_t late_ns)
{
	return ipc_now_ns() - d->last_launch_ns < LAUNCH_PAUSE_NS && late_ns < LAUNCH_MAX_NS;
}

void decide_tick(void *daemon)
{
	struct daemon *d = daemon;
	int64_t now_ns = ipc_now_ns();

	if (decide_stands_back(d, d->tick_put_off * LAUNCH_PAUSE_NS)) {
		d->tick_put_off++;
		loop_set_timer(d->tick, LAUNCH_PAUSE_NS / 1000000, d->conf.tick_ms);
		return;
	}
	d->tick_put_off = 0;
	if (d->finish_put_off)
		decide_finish(d);
	d->finish_put_off = false;
	online_look(d);
	if (now_ns - d->last_reconcile_ns >= INT64_C(1000000000)) {
		d->last_reconcile_ns = now_ns;
		lifecycle_reconcile(d, now_ns);
		attach_beat(d, now_ns);
	}
	ptable_flush(d);
	account_flush(d->books);
	store_checkpoint(d->books, now_ns - d->last_launch_ns >= QUIET_NS);
	recording_check(d);
	if (d->jobs.n == 0) {
		/* Whatever is still in the ledger is nobody's. */
		if (ledger_count(d->ledger) > 0)
			levers_owe(d->levers, NULL);
		/* Nothing to watch: an idle node costs no wake-ups. */
		loop_set_timer(d->tick, 0, 0);
		d->ticking = false;
		return;
	}
	linkage_refresh(d->linkage, LINKAGE_WAIT_MS, now_ns);
	suspend_look(d, now_ns);
	actuate_look(d->actuate, LOOK_NS);
	if (jobs_count_managed(&d->jobs))
		decide_run(d, EVENT_TICK, NULL, NULL);
	levers_tick(d->levers, now_ns);
	trial_consider(d, now_ns);
	work_note(&d->work.ticks, ipc_now_ns() - now_ns);
}
