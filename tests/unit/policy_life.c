/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/policy_life.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static uint64_t state;

void life_seed(uint64_t seed)
{
	state = seed;
}

uint64_t life_where(void)
{
	return state;
}

int life_rnd(int n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (int)((state >> 11) % (uint64_t)n);
}

void life_open(struct life *w, const char *source, const char *policy, const char *prefix)
{
	struct policy_cfg cfg = {.max_jobs = LIFE_JOBS};
	struct errbuf err = {""};
	int rc;

	memset(w, 0, sizeof(*w));
	w->prefix = prefix;
	ck_assert_int_eq(topo_load(&w->t, source, NULL), 0);
	cfg.topo = w->t;
	rc = engine_create(&w->e, policy, &cfg, &err);
	ck_assert_msg(rc == 0, "%s: %s", policy, err.text);
	ck_assert_int_eq(plan_init(&w->plan, LIFE_JOBS, NULL), 0);
	w->v.job = w->job;
	w->v.event = w->event;
	w->v.seed = 3;
	coreset_or(&w->fast, &w->t->core[0].pus, &w->t->core[1].pus);
	w->v.fast_cores = &w->fast;
}

void life_close(struct life *w)
{
	plan_done(&w->plan);
	engine_free(w->e);
	topo_free(w->t);
}

void life_arrive(struct life *w)
{
	int i = w->v.n_jobs++, cores = w->t->n_cores;
	double serial = life_rnd(50) / 100.0;

	/* A prefix that ends in '-' numbers downwards: the alphabet goes the other way. */
	snprintf(w->id[i], sizeof(w->id[i]), "%s%d", w->prefix,
		strchr(w->prefix, '-') ? 9999 - w->serial : w->serial);
	w->job[i] = (struct view_job){
		.id = w->id[i],
		.type = w->serial % 2 ? "odd" : "even",
		.order = w->serial++,
		.threads = 1 + life_rnd(8),
		.home_numa = -1,
		.rss_bytes = -1,
		.core = -1,
		.nodes = life_rnd(12) == 0 ? 2 : 1,
		.has_priority = life_rnd(2),
		.priority_high = life_rnd(2),
		.excluded = life_rnd(12) == 0,
		.min_cores = life_rnd(6) == 0 ? 2 : 0,
	};
	if (w->plain) {
		w->job[i].nodes = 1;
		w->job[i].excluded = false;
		w->job[i].min_cores = 0;
	} else if (w->threads) {
		w->job[i].min_cores = 0;
		for (int n = 1 + life_rnd(3); n > 0; n--)
			coreset_add(&w->job[i].envelope,
				(unsigned int)life_rnd(coreset_count(&w->t->all) / 2));
	} else if (life_rnd(5) == 0 && cores >= 4)
		for (int c = life_rnd(cores - 2); c < cores; c++)
			coreset_or(&w->job[i].envelope, &w->job[i].envelope, &w->t->core[c].pus);
	for (int p = 0; p < 5; p++) {
		int n = p == 0 ? 1 : 1 + p * (cores - 1) / 4;

		w->speed[i][p] = (struct speed_point){n, 1 / (serial + (1 - serial) / n)};
	}
	if (life_rnd(2)) {
		w->job[i].speed = w->speed[i];
		w->job[i].n_speed = 5;
	}
}

static void leave(struct life *w, int i)
{
	int last = --w->v.n_jobs;

	/* Like a table with a hole filled: order in the view is not order of arrival. */
	w->job[i] = w->job[last];
	memcpy(w->id[i], w->id[last], sizeof(w->id[i]));
	memcpy(w->speed[i], w->speed[last], sizeof(w->speed[i]));
	w->job[i].id = w->id[i];
	if (w->job[i].speed)
		w->job[i].speed = w->speed[i];
}

void life_sample(struct life *w)
{
	w->v.now_s += 1 + life_rnd(5);
	for (int i = 0; i < w->v.n_jobs; i++) {
		for (int s = 0; s < SIGNAL_COUNT; s++) {
			bool ratio = s == SIGNAL_UTILIZATION || s == SIGNAL_LLC_MISS_RATIO;

			w->job[i].signal[s].value = ratio ? life_rnd(100) / 100.0 : life_rnd(1000);
			w->job[i].signal[s].provenance = PROVENANCE_HW;
		}
		w->job[i].sample_no++;
	}
}

void life_carry_out(struct life *w)
{
	w->v.n_events = 0;
	for (int i = 0; i < w->plan.n_jobs; i++)
		w->job[i].current = w->plan.job[i].coreset;
	for (int e = 0; e < w->plan.n_experiments && w->v.n_events < 60; e++)
		w->event[w->v.n_events++] = (struct event){
			.type = EVENT_EXPERIMENT_RESULT,
			.job = w->plan.job[w->plan.experiment[e].job].id,
			.cores = w->plan.experiment[e].cores,
			.speed = 1 + sqrt(w->plan.experiment[e].cores),
		};
	/* A view must not point into the plan that is being made. */
	for (int e = 0; e < w->v.n_events; e++)
		w->event[e].job = w->job[view_job_index(&w->v, w->event[e].job)].id;
	if (life_rnd(4) == 0)
		w->event[w->v.n_events++] = (struct event){
			.type = EVENT_TASK_DONE,
			.task_type = "odd",
			.width = 1,
			.seconds = 1 + life_rnd(9),
		};
	if (life_rnd(6) == 0 && w->v.n_jobs)
		w->event[w->v.n_events++] =
			(struct event){.type = EVENT_PHASE, .job = w->job[0].id};
}

bool life_step(struct life *w)
{
	struct errbuf err = {""};
	int rc;

	if (w->v.n_jobs && life_rnd(4) == 0) {
		int i = life_rnd(w->v.n_jobs);

		for (int e = 0; e < w->v.n_events; e++)
			if (w->event[e].job)
				w->event[e].job = NULL;
		for (int e = 0; e < w->v.n_events; e++)
			w->event[e].type = EVENT_TICK;
		leave(w, i);
	}
	if (w->v.n_jobs < LIFE_JOBS && life_rnd(2))
		life_arrive(w);
	life_sample(w);
	w->plan.want_explain = true;
	rc = engine_decide(w->e, &w->v, &w->plan, &err);
	ck_assert_msg(rc != -EPROTO, "%s: %s", engine_policy(w->e)->name, err.text);
	if (rc == 0)
		life_carry_out(w);
	else
		w->v.n_events = 0;
	return rc == 0;
}
