/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/sim/task_run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/sim/rng.h"
#include "nodesvc/sim/task_queue.h"
#include "nodesvc/sim/task_rate.h"

/* Streams of a run's seed. */
enum { STREAM_WORK = 21, STREAM_STEAL, STREAM_CLOCK };

enum core_state {
	CORE_PARKED,   /* nothing to run or to steal */
	CORE_BUSY,     /* in the runtime until .until, then looks for work */
	CORE_STEALING, /* an attempt ends at .until */
	CORE_RUNNING,
};

struct core {
	enum core_state state;
	double until;
	int task;     /* running */
	double since; /* ... it */
	double left;  /* of its own part or block, in tasks */
	double rate;  /* tasks per second */
	double end;   /* of its part at that rate */
	struct task_queue low, high, assembly;
};

struct live_task {
	int waits;
	struct task_place place;
	int came, left_it; /* cores of the place */
	double work;       /* tasks; about 1 */
	int blocks;        /* not taken yet, where members take them */
};

struct sim {
	const struct task_run *run;
	const struct task_machine *m;
	const struct task_graph *g;
	struct task_placer placer[TASK_NODES_MAX];
	struct task_weather weather;
	struct rng steal, clock;
	double now;
	struct core core[TASK_CORES_MAX];
	struct live_task *live;
	int stealable[TASK_NODES_MAX];
	int n_done, looks; /* looks: into the table by the core that acts */
	struct task_result *ret;
	struct errbuf *err;
};

static const struct task_type *type_of(const struct sim *s, int task)
{
	return &s->g->type[s->g->task[task].type];
}

static bool is_critical(const struct sim *s, int task)
{
	return s->g->task[task].high && !s->placer[0].ignores_priority;
}

static int node_of(const struct sim *s, int core)
{
	return core / s->m->node_cores;
}

static void trace(struct sim *s, enum task_step step, int task, int core)
{
	struct task_trace t = {step, s->now, task, core, s->live[task].place};

	if (s->run->trace)
		s->run->trace(s->run->trace_ctx, &t);
}

static int no_memory(struct sim *s)
{
	return err_set(s->err, -ENOMEM, "out of memory");
}

static void wake(struct sim *s, int core)
{
	if (s->core[core].state != CORE_PARKED)
		return;
	s->core[core].state = CORE_BUSY;
	s->core[core].until = s->now;
}

/* A thief's attempts fall anywhere: it has been at it all the time. */
static void wake_thieves(struct sim *s, int node)
{
	for (int c = node * s->m->node_cores; c < (node + 1) * s->m->node_cores; c++)
		if (s->core[c].state == CORE_PARKED) {
			s->core[c].state = CORE_STEALING;
			s->core[c].until = s->now + rng_uniform(&s->steal, 0, s->m->steal_s);
		}
}

static int decide(struct sim *s, int task, int core)
{
	int node = node_of(s, core), base = node * s->m->node_cores;
	int rc = task_placer_decide(&s->placer[node], s->now, type_of(s, task)->name,
		s->g->task[task].high, core - base, &s->live[task].place, s->err);

	s->live[task].place.core += base;
	s->looks++;
	if (!rc)
		trace(s, TASK_STEP_PLACED, task, core);
	return rc;
}

/* All before it are done, the last of them on @core. */
static int release(struct sim *s, int task, int core)
{
	int rc = s->run->when == TASK_AT_WAKEUP ? decide(s, task, core) : 0;
	int home = core;

	if (rc)
		return rc;
	if (is_critical(s, task)) {
		if (s->run->when == TASK_AT_WAKEUP)
			home = s->live[task].place.core;
		if (task_queue_push(&s->core[home].high, task))
			return no_memory(s);
		wake(s, home);
		return 0;
	}
	if (task_queue_push(&s->core[home].low, task))
		return no_memory(s);
	s->stealable[node_of(s, home)]++;
	/* Whoever released it goes on to look; at the start nobody does. */
	wake(s, home);
	wake_thieves(s, node_of(s, home));
	return 0;
}

static int dispatch(struct sim *s, int task)
{
	const struct task_place *p = &s->live[task].place;

	for (int c = p->core; c < p->core + p->width; c++) {
		if (task_queue_push(&s->core[c].assembly, task))
			return no_memory(s);
		wake(s, c);
	}
	return 0;
}

/* The next block of a shared task; false: all are taken. */
static bool take_block(struct sim *s, struct core *c)
{
	struct live_task *t = &s->live[c->task];

	if (t->blocks == 0)
		return false;
	t->blocks--;
	c->left = t->work / type_of(s, c->task)->blocks;
	return true;
}

static void begin(struct sim *s, int core, int task)
{
	struct core *c = &s->core[core];
	struct live_task *t = &s->live[task];
	struct rng r;

	if (t->came++ == 0) {
		/* The same task is the same work under every policy. */
		rng_init(&r, s->run->seed, STREAM_WORK + 1000 * ((uint64_t)task + 1));
		t->work = s->g->task[task].work * exp(type_of(s, task)->noise * rng_normal(&r));
		t->blocks = type_of(s, task)->blocks;
	}
	c->state = CORE_RUNNING;
	c->task = task;
	c->since = s->now;
	c->left = t->work / t->place.width;
	if (t->place.width > 1 && type_of(s, task)->split == TASK_SPLIT_DYNAMIC &&
		!take_block(s, c))
		c->left = 0;
	trace(s, TASK_STEP_BEGUN, task, core);
}

static void stay_busy(struct sim *s, int core)
{
	s->core[core].state = CORE_BUSY;
	s->core[core].until = s->now + s->looks * s->m->decide_s;
	s->looks = 0;
}

/* Looks for work as XiTAO's worker does: assembly queue, own tasks, others'. */
static int look(struct sim *s, int core)
{
	struct core *c = &s->core[core];
	int node = node_of(s, core), task, rc;

	for (;;) {
		task = task_queue_oldest(&c->assembly);
		if (task >= 0) {
			begin(s, core, task);
			return 0;
		}
		task = task_queue_newest(&c->high);
		if (task < 0) {
			task = task_queue_newest(&c->low);
			if (task < 0)
				break;
			s->stealable[node]--;
		}
		if (s->run->when == TASK_AT_DEQUEUE) {
			rc = decide(s, task, core);
			if (!rc)
				rc = dispatch(s, task);
			stay_busy(s, core);
			return rc;
		}
		if (dispatch(s, task))
			return -ENOMEM;
		if (s->live[task].place.core > core ||
			s->live[task].place.core + s->live[task].place.width <= core)
			continue; /* not a member: looks on */
	}
	c->state = s->stealable[node] > 0 && s->m->node_cores > 1 ? CORE_STEALING : CORE_PARKED;
	c->until = s->now + s->m->steal_s;
	return 0;
}

static int steal(struct sim *s, int core)
{
	struct core *c = &s->core[core];
	int node = node_of(s, core), victim, task, rc;

	if (c->assembly.n > 0 || c->high.n > 0 || c->low.n > 0)
		return look(s, core);
	victim = node * s->m->node_cores + rng_below(&s->steal, s->m->node_cores - 1);
	victim += victim >= core;
	task = task_queue_oldest(&s->core[victim].low);
	if (task < 0)
		return look(s, core);
	s->stealable[node]--;
	s->ret->steals++;
	trace(s, TASK_STEP_STOLEN, task, core);
	rc = decide(s, task, core);
	if (!rc)
		rc = dispatch(s, task);
	stay_busy(s, core);
	return rc;
}

static void count(struct sim *s, int task)
{
	struct task_result *r = s->ret;
	struct task_place at = s->live[task].place;
	int i = 0;

	while (i < r->n_places &&
		(r->count[i].place.core < at.core ||
			(r->count[i].place.core == at.core && r->count[i].place.width < at.width)))
		i++;
	if (i == r->n_places || r->count[i].place.core != at.core ||
		r->count[i].place.width != at.width) {
		memmove(&r->count[i + 1], &r->count[i],
			(size_t)(r->n_places - i) * sizeof(r->count[0]));
		r->count[i] = (struct task_count){.place = at};
		r->n_places++;
	}
	r->count[i].all++;
	r->count[i].high += s->g->task[task].high;
	r->n_high += s->g->task[task].high;
}

/* @core is done with its part; the last one out ends the task. */
static int leave(struct sim *s, int core)
{
	struct core *c = &s->core[core];
	int task = c->task, rc = 0;
	struct live_task *t = &s->live[task];
	double seconds = s->now - c->since, late = type_of(s, task)->clock_s;
	struct task_place at = t->place;
	int node = node_of(s, core);

	/* A leader that came when all was done has measured nothing. */
	if (core == t->place.core && seconds > 0) {
		if (late > 0)
			seconds -= late * log(1 - rng_uniform(&s->clock, 0, 1));
		at.core -= node * s->m->node_cores;
		rc = task_placer_report(
			&s->placer[node], s->now, type_of(s, task)->name, at, seconds, s->err);
	}
	if (++t->left_it == t->place.width) {
		const struct task *k = &s->g->task[task];

		s->n_done++;
		task_weather_ended(&s->weather);
		trace(s, TASK_STEP_ENDED, task, core);
		count(s, task);
		for (int i = 0; i < k->n_children && !rc; i++) {
			int child = s->g->child[k->first_child + i];

			if (--s->live[child].waits == 0)
				rc = release(s, child, core);
		}
	}
	stay_busy(s, core);
	return rc;
}

static int end_part(struct sim *s, int core)
{
	const struct core *c = &s->core[core];

	if (s->live[c->task].place.width > 1 && type_of(s, c->task)->split == TASK_SPLIT_DYNAMIC &&
		take_block(s, &s->core[core]))
		return 0;
	return leave(s, core);
}

/* A blocking exchange: nothing moves before the other side is there. */
static bool waits_for_other(const struct sim *s, int task)
{
	int other = s->g->task[task].meets;

	return other > 0 && s->live[other - 1].came == 0;
}

/* Speeds of all parts, and when each would end at them. */
static void set_rates(struct sim *s)
{
	struct task_load load[TASK_CORES_MAX];
	double rate[TASK_CORES_MAX];

	for (int i = 0; i < s->m->n_cores; i++) {
		struct core *c = &s->core[i];

		load[i] = (struct task_load){.task = -1};
		if (c->state != CORE_RUNNING || waits_for_other(s, c->task))
			continue;
		load[i] = (struct task_load){
			.type = s->g->task[c->task].type,
			.task = c->task,
			.width = s->live[c->task].place.width,
		};
	}
	task_rate(s->m, s->g, &s->weather, load, rate);
	for (int i = 0; i < s->m->n_cores; i++) {
		struct core *c = &s->core[i];

		if (c->state != CORE_RUNNING)
			continue;
		c->rate = rate[i];
		c->end = c->rate > 0 ? s->now + fmax(c->left, 0) / c->rate : INFINITY;
	}
}

static double next_event(const struct sim *s)
{
	double next = s->weather.next;

	for (int i = 0; i < s->m->n_cores; i++) {
		const struct core *c = &s->core[i];

		if (c->state == CORE_RUNNING)
			next = fmin(next, c->end);
		else if (c->state != CORE_PARKED)
			next = fmin(next, c->until);
	}
	return next;
}

static void advance(struct sim *s, double to)
{
	double dt = to - s->now;

	for (int i = 0; i < s->m->n_cores; i++) {
		struct core *c = &s->core[i];

		if (c->state != CORE_RUNNING)
			continue;
		s->ret->busy_s[i] += dt;
		s->ret->work[i] += c->rate * dt;
		c->left -= c->rate * dt;
	}
	s->now = to;
}

static int step(struct sim *s)
{
	double next;
	int rc = 0;

	set_rates(s);
	next = next_event(s);
	if (!(next <= s->run->most_s))
		return err_set(s->err, -ETIME, "%d of %d tasks done after %g virtual seconds",
			s->n_done, s->g->n_tasks, s->run->most_s);
	advance(s, next);
	if (s->weather.next <= s->now)
		task_weather_step(&s->weather);
	for (int i = 0; i < s->m->n_cores && !rc; i++)
		if (s->core[i].state == CORE_RUNNING && s->core[i].end <= s->now)
			rc = end_part(s, i);
	for (int i = 0; i < s->m->n_cores && !rc; i++) {
		struct core *c = &s->core[i];

		if (c->until > s->now)
			continue;
		if (c->state == CORE_BUSY)
			rc = look(s, i);
		else if (c->state == CORE_STEALING)
			rc = steal(s, i);
	}
	return rc;
}

static int run_graph(struct sim *s)
{
	int rc = 0;

	for (int i = 0; i < s->g->n_tasks; i++)
		s->live[i].waits = s->g->task[i].n_before;
	/* XiTAO pushes what nothing comes before to the first core. */
	for (int i = 0; i < s->g->n_tasks && !rc; i++)
		if (s->g->task[i].n_before == 0)
			rc = release(s, i, s->g->task[i].node * s->m->node_cores);
	s->looks = 0;
	while (!rc && s->n_done < s->g->n_tasks)
		rc = step(s);
	return rc;
}

int task_run(const struct task_run *run, struct task_result *ret, struct errbuf *err)
{
	struct sim *s = calloc(1, sizeof(*s));
	struct task_result *r = calloc(1, sizeof(*r));
	int n = 0, rc = 0;

	if (s)
		s->live = calloc((size_t)run->g->n_tasks + 1, sizeof(*s->live));
	if (!s || !r || !s->live)
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc) {
		s->run = run;
		s->m = run->m;
		s->g = run->g;
		s->ret = r;
		s->err = err;
		rng_init(&s->steal, run->seed, STREAM_STEAL);
		rng_init(&s->clock, run->seed, STREAM_CLOCK);
		task_weather_start(&s->weather, run->m);
		for (; n < run->m->n_nodes && !rc; n++)
			rc = task_placer_init(&s->placer[n], run->policy, run->m->topo,
				&run->m->fast, run->seed + (uint64_t)n, err);
		n -= rc != 0;
	}
	if (!rc) {
		rc = run_graph(s);
		r->seconds = s->now;
		r->n_tasks = s->n_done;
		r->tasks_per_s = s->n_done / s->now;
	}
	while (n > 0) {
		r->decisions += s->placer[--n].n_decisions;
		task_placer_done(&s->placer[n]);
	}
	for (int i = 0; s && i < TASK_CORES_MAX; i++) {
		task_queue_done(&s->core[i].low);
		task_queue_done(&s->core[i].high);
		task_queue_done(&s->core[i].assembly);
	}
	if (!rc)
		*ret = *r;
	if (s)
		free(s->live);
	free(s);
	free(r);
	return rc;
}

static double share(int n, int of)
{
	return of > 0 ? (double)n / of : 0;
}

double task_result_on_core(const struct task_result *r, int core, bool high)
{
	int n = 0;

	for (int i = 0; i < r->n_places; i++)
		if (r->count[i].place.core <= core &&
			core < r->count[i].place.core + r->count[i].place.width)
			n += high ? r->count[i].high : r->count[i].all;
	return share(n, high ? r->n_high : r->n_tasks);
}
