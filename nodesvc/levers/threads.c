/* SPDX-License-Identifier: GPL-2.0-or-later */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/ipc.h"
#include "nodesvc/actuate/actuate.h"
#include "nodesvc/levers/internal.h"
#include "nodesvc/engine/engine.h"
#include "nodesvc/base/log.h"

#define MS INT64_C(1000000)

/* One thread of thread[] of the engine's state. */
struct seen {
	struct step *step;
	int at;          /* in the step's list */
	int fd;          /* its schedstat; -1 not open */
	uint64_t run_ns; /* at the last look */
	enum { UNKNOWN, HIGH, LOW } class;
};

struct threads {
	struct loop_source *timer;
	int hysteresis_ms, timer_ms; /* of the plan; as the timer is set, 0 not */
	struct priority p;
	struct seen *seen;  /* [p.n_threads] */
	struct step **step; /* [p.n_jobs] */
};

static struct class_thread *thread_of(const struct seen *x)
{
	return &x->step->prio.thread[x->at];
}

static bool takes_part(const struct step *s)
{
	return !coreset_is_empty(&s->prio.low);
}

/* ---- the engine's arrays ------------------------------------------------------------------- */

static void drop_all(struct threads *t)
{
	for (int i = 0; i < t->p.n_threads; i++)
		if (t->seen[i].fd >= 0)
			close(t->seen[i].fd);
	free(t->p.slot);
	free(t->p.thread);
	free(t->seen);
	free(t->step);
	t->p = (struct priority){.slot = NULL};
	t->seen = NULL;
	t->step = NULL;
}

/* A thread's number is used again; its start is not. */
static int64_t id_of(const struct class_thread *x)
{
	return (int64_t)(x->start_ticks << 22 ^ (uint64_t)x->tid);
}

static const struct priority_slot *slot_before(
	const struct threads *t, const struct step *s, int pu)
{
	for (int i = 0; i < t->p.n_slots; i++)
		if (t->p.slot[i].pu == pu && t->step[t->p.slot[i].job] == s)
			return &t->p.slot[i];
	return NULL;
}

static void add_step(struct threads *to, const struct threads *before, struct step *s)
{
	int job = to->p.n_jobs++;

	to->step[job] = s;
	for (int pu = coreset_next(&s->coreset, 0); pu >= 0;
		pu = coreset_next(&s->coreset, pu + 1)) {
		const struct priority_slot *old = slot_before(before, s, pu);
		struct priority_slot *slot = &to->p.slot[to->p.n_slots++];

		if (old)
			*slot = *old;
		slot->pu = pu;
		slot->job = job;
	}
	for (int i = 0; i < s->prio.n; i++) {
		const struct class_thread *x = &s->prio.thread[i];
		int at = to->p.n_threads;

		if (x->fixed)
			continue;
		to->p.thread[at] = (struct priority_thread){
			.id = id_of(x), .job = job, .leader = x->tid == x->tgid, .cpu = x->cpu};
		to->seen[at] = (struct seen){.step = s, .at = i, .fd = -1};
		to->p.n_threads++;
	}
}

/* What is known of a thread goes with it; both lists are in the order of their steps' threads. */
static void carry(struct threads *to, struct threads *from)
{
	for (int i = 0, k = 0; i < to->p.n_threads; i++)
		for (int n = 0; n < from->p.n_threads; n++, k++) {
			struct seen *old = &from->seen[k % from->p.n_threads];

			if (from->p.thread[k % from->p.n_threads].id != to->p.thread[i].id)
				continue;
			to->seen[i].fd = old->fd;
			to->seen[i].run_ns = old->run_ns;
			to->seen[i].class = old->class;
			old->fd = -1;
			k++;
			break;
		}
	to->p.next = from->p.next;
}

/* The arrays anew from the steps' lists. -ENOMEM: they are empty. */
static int collect(struct levers *lv)
{
	struct threads *t = lv->threads, now = {.timer = t->timer};
	size_t n_threads = 1, n_slots = 1, n_steps = 1;

	now.hysteresis_ms = t->hysteresis_ms;
	now.timer_ms = t->timer_ms;
	for (int i = 0; i < lv->jobs->n; i++) {
		const struct step *s = lv->jobs->step[i];

		if (!takes_part(s))
			continue;
		n_steps++;
		n_slots += (size_t)coreset_count(&s->coreset);
		n_threads += (size_t)s->prio.n;
	}
	now.p.slot = calloc(n_slots, sizeof(*now.p.slot));
	now.p.thread = calloc(n_threads, sizeof(*now.p.thread));
	now.seen = calloc(n_threads, sizeof(*now.seen));
	now.step = calloc(n_steps, sizeof(struct step *));
	if (!now.p.slot || !now.p.thread || !now.seen || !now.step) {
		drop_all(&now);
		drop_all(t);
		return -ENOMEM;
	}
	for (int i = 0; i < lv->jobs->n; i++)
		if (takes_part(lv->jobs->step[i]))
			add_step(&now, t, lv->jobs->step[i]);
	carry(&now, t);
	drop_all(t);
	*t = now;
	priority_assign(&t->p);
	return 0;
}

/* ---- classes ------------------------------------------------------------------------------- */

static void forget(struct step *s)
{
	coreset_zero(&s->prio.low);
	free(s->prio.thread);
	s->prio.thread = NULL;
	s->prio.n = 0;
	s->prio.has_mark = false;
}

static void put_back(struct levers *lv, struct step *s)
{
	struct errbuf err;
	int rc;

	forget(s);
	rc = idle_restore(lv->actuate, &s->cgroup, &err);
	if (rc)
		owed_note(lv, rc < 0 ? err.text : NULL);
	if (rc < 0) {
		log_error("step %s: its threads' priorities: %s", s->id, err.text);
		health_error("step %s: %.200s", s->id, err.text);
	}
}

/* The step's CPUs in the kernel, as the table has them. */
static int apply(struct levers *lv, struct step *s, struct errbuf *err)
{
	struct coreset cpus = step_cpus(s);
	struct actuate_result result;

	return actuate_get_ops(lv->actuate)->apply(lv->actuate, &s->cgroup, &cpus, &result, err);
}

/* Narrower first, then as it was. */
static void leave(struct levers *lv, struct step *s)
{
	struct errbuf err;

	coreset_zero(&s->prio.low);
	if (apply(lv, s, &err) < 0)
		log_warning("step %s: %s", s->id, err.text);
	put_back(lv, s);
	log_info("step %s: its threads have one priority again", s->id);
}

/* Not again for this step: it runs well enough on its own CPUs. */
static void give_up(struct levers *lv, struct step *s, const struct errbuf *err)
{
	s->prio.failed = true;
	snprintf(s->reason, sizeof(s->reason), "no priorities of threads: %.120s", err->text);
	log_warning("step %s: %s", s->id, s->reason);
	leave(lv, s);
}

static int list(struct levers *lv, struct step *s, struct errbuf *err)
{
	const struct actuate_ops *ops = actuate_get_ops(lv->actuate);
	struct step_prio *prio = &s->prio;
	struct class_thread *v;
	uint64_t mark = 0;
	int n, rc;

	/* The number first: who comes in between is found at the next update. */
	prio->has_mark = ops->mark && ops->mark(lv->actuate, &s->cgroup, &mark) == 0;
	prio->mark = mark;
	rc = classes_list(lv->actuate, &s->cgroup, prio->thread, prio->n, &v, &n, err);
	if (rc < 0)
		return rc;
	free(prio->thread);
	prio->thread = v;
	prio->n = n;
	return 0;
}

static bool list_is_old(struct levers *lv, const struct step *s)
{
	const struct actuate_ops *ops = actuate_get_ops(lv->actuate);
	uint64_t mark;

	return !s->prio.has_mark || ops->mark(lv->actuate, &s->cgroup, &mark) < 0 ||
	       mark != s->prio.mark;
}

/* Low before the first foreign CPU; what is high again is told by who owns what. */
static int join(struct levers *lv, struct step *s, struct errbuf *err)
{
	char own[CORESET_STR_MAX], low[CORESET_STR_MAX];
	int rc = step_check_threads(s, STEP_THREADS_EACH, err);

	if (rc == 0)
		rc = list(lv, s, err);
	for (int i = 0; rc == 0 && i < s->prio.n; i++)
		rc = classes_set(&s->prio.thread[i], true, err);
	if (rc < 0)
		return rc;
	s->prio.low = s->prio.wanted;
	rc = apply(lv, s, err);
	if (rc == 0)
		rc = list(lv, s, err); /* where each may run now */
	if (rc == 0)
		log_info("step %s: threads of high priority on %s, its others below those of %s",
			s->id, coreset_format(&s->coreset, own, sizeof(own)),
			coreset_format(&s->prio.low, low, sizeof(low)));
	return rc;
}

/* What the engine says, into the kernel; the first step that fails, or NULL. */
static struct step *push(struct threads *t, struct errbuf *err)
{
	for (int i = 0; i < t->p.n_threads; i++) {
		struct seen *x = &t->seen[i];
		bool high = t->p.thread[i].high;

		if (x->class == (high ? HIGH : LOW))
			continue;
		if (classes_set(thread_of(x), !high, err) < 0)
			return x->step;
		x->class = high ? HIGH : LOW;
	}
	return NULL;
}

static void push_all(struct levers *lv)
{
	struct errbuf err;

	/* Each round one step fewer. */
	for (struct step *s; (s = push(lv->threads, &err));) {
		give_up(lv, s, &err);
		if (collect(lv) < 0)
			return;
	}
}

/* ---- looks --------------------------------------------------------------------------------- */

static bool wants(void *arg, int thread)
{
	struct levers *lv = arg;
	struct threads *t = lv->threads;
	struct seen *x = &t->seen[thread];

	/* Owners and guests are looked at every time. */
	return classes_look(lv->actuate, thread_of(x),
		t->p.thread[thread].slot >= 0 ? &x->fd : NULL, &x->run_ns);
}

static void on_timer(void *arg)
{
	struct levers *lv = arg;
	struct threads *t = lv->threads;

	if (priority_look(&t->p, ipc_now_ns(), t->hysteresis_ms * MS, wants, lv) > 0)
		push_all(lv);
}

static void arm(struct threads *t)
{
	int ms = t->p.n_slots ? t->hysteresis_ms : 0;

	if (ms != t->timer_ms)
		loop_set_timer(t->timer, ms, ms);
	t->timer_ms = ms;
}

/* ---- the plan ------------------------------------------------------------------------------ */

bool threads_plan(struct levers *lv, const struct plan *p, struct step *const *step)
{
	for (int i = 0; i < lv->jobs->n; i++)
		coreset_zero(&lv->jobs->step[i]->prio.wanted);
	for (int i = 0; i < p->n_jobs && p->hysteresis_ms; i++)
		step[i]->prio.wanted = p->job[i].low;
	if (p->hysteresis_ms && !lv->threads) {
		lv->threads = calloc(1, sizeof(*lv->threads));
		if (lv->threads &&
			loop_add_timer(lv->loop, on_timer, lv, &lv->threads->timer, NULL) < 0) {
			free(lv->threads);
			lv->threads = NULL;
		}
	}
	if (lv->threads && p->hysteresis_ms)
		lv->threads->hysteresis_ms = p->hysteresis_ms;
	return false;
}

static bool may_join(const struct levers *lv, const struct step *s)
{
	return s->status == STATUS_PLACED && s->located && !s->prio.failed && !s->dry_run &&
	       !lv->conf->dry_run && !coreset_is_empty(&s->prio.wanted) &&
	       !coreset_is_empty(&s->coreset) && step_is_launched(s);
}

void threads_update(struct levers *lv)
{
	bool changed = false;

	if (!lv->threads)
		return;
	for (int i = 0; i < lv->jobs->n; i++) {
		struct step *s = lv->jobs->step[i];
		struct errbuf err;
		int rc = 0;

		if (!may_join(lv, s)) {
			if (!takes_part(s))
				continue;
			leave(lv, s);
		} else if (!coreset_is_equal(&s->prio.low, &s->prio.wanted)) {
			rc = join(lv, s, &err);
		} else if (list_is_old(lv, s)) {
			rc = step_check_threads(s, STEP_THREADS_EACH, &err);
			if (rc == 0)
				rc = list(lv, s, &err);
		} else {
			continue;
		}
		changed = true;
		/* Ended: threads_end() passes by who takes no part. */
		if (rc == -ENOENT)
			put_back(lv, s);
		else if (rc < 0)
			give_up(lv, s, &err);
	}
	if (changed && collect(lv) == 0)
		push_all(lv);
	arm(lv->threads);
}

int threads_end(struct levers *lv, struct step *s, bool ended)
{
	(void)ended;
	if (!takes_part(s))
		return 0;
	put_back(lv, s);
	if (collect(lv) == 0)
		push_all(lv);
	arm(lv->threads);
	return 0;
}

void threads_close(struct levers *lv)
{
	if (!lv->threads)
		return;
	drop_all(lv->threads);
	loop_remove(lv->loop, lv->threads->timer);
	free(lv->threads);
	lv->threads = NULL;
}
