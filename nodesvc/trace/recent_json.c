/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/trace/trace.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

#define ADD(o, key, value) json_object_object_add((o), (key), (value))

/* Reads on; what it is laid out by was written by recent.c in this process. */
struct cursor {
	const unsigned char *at, *end;
};

static void get(struct cursor *c, void *ret, size_t n)
{
	size_t have = (size_t)(c->end - c->at);

	if (n > have)
		n = have;
	if (n)
		memcpy(ret, c->at, n);
	c->at += n;
}

static const char *get_text(struct cursor *c, size_t room)
{
	const char *text = (const char *)c->at;

	c->at += room;
	return *text ? text : NULL;
}

/* The slots of @size bytes each that come here. */
static const unsigned char *get_slots(struct cursor *c, int n, size_t size)
{
	const unsigned char *at = c->at;

	c->at += (size_t)n * size;
	return at;
}

/* A view with the memory behind it; texts and slots stay in the flat entry. */
struct flat_view {
	struct view view;
	const unsigned char *slot; /* flat_slot of each job */
	int n_slots;
	struct view_job *job;
	struct speed_point *speed;
	struct event *event;
	struct ptt_entry *ptt;
	int *capacity;
	struct coreset fast, reserved;
};

static void view_done(struct flat_view *f)
{
	free(f->job);
	free(f->speed);
	free(f->event);
	free(f->ptt);
	free(f->capacity);
}

static size_t slot_of(const struct flat_view *f, int job)
{
	flat_slot k;

	memcpy(&k, f->slot + (size_t)job * sizeof(k), sizeof(k));
	return k;
}

static bool get_jobs(struct cursor *c, struct flat_view *f, const struct flat_head *h)
{
	const unsigned char *slots;

	f->n_slots = h->n_slots;
	f->slot = get_slots(c, h->n_slots, sizeof(flat_slot));
	slots = get_slots(c, h->n_slots, sizeof(struct flat_job));
	f->job = calloc((size_t)h->n_jobs + 1, sizeof(*f->job));
	if (!f->job)
		return false;
	for (int i = 0; i < h->n_jobs; i++) {
		const unsigned char *at = slots + slot_of(f, i) * sizeof(struct flat_job);
		const char *type = (const char *)at + offsetof(struct flat_job, type);

		memcpy(&f->job[i], at, sizeof(f->job[i]));
		f->job[i].id = (const char *)at + offsetof(struct flat_job, id);
		f->job[i].type = *type ? type : NULL;
	}
	return true;
}

static bool get_speeds(struct cursor *c, struct flat_view *f, int n)
{
	size_t points = 0, at = 0;

	for (int i = 0; i < n; i++)
		points += (size_t)f->job[i].n_speed;
	f->speed = calloc(points + 1, sizeof(*f->speed));
	if (!f->speed)
		return false;
	get(c, f->speed, points * sizeof(*f->speed));
	for (int i = 0; i < n; i++) {
		f->job[i].speed = f->job[i].n_speed ? f->speed + at : NULL;
		at += (size_t)f->job[i].n_speed;
	}
	return true;
}

static bool get_events(struct cursor *c, struct flat_view *f, const struct flat_head *h)
{
	f->event = calloc((size_t)h->n_events + 1, sizeof(*f->event));
	f->ptt = calloc((size_t)h->n_ptt + 1, sizeof(*f->ptt));
	if (!f->event || !f->ptt)
		return false;
	for (int i = 0; i < h->n_events; i++) {
		get(c, &f->event[i], sizeof(f->event[i]));
		f->event[i].job = get_text(c, JOB_ID_MAX);
		f->event[i].task_type = get_text(c, JOB_TYPE_MAX);
	}
	for (int i = 0; i < h->n_ptt; i++) {
		get(c, &f->ptt[i], sizeof(f->ptt[i]));
		f->ptt[i].type = get_text(c, JOB_TYPE_MAX);
	}
	return true;
}

/* @c goes on to the answers, which end where @later begins. */
static bool get_view(
	struct cursor *c, struct cursor *later, struct flat_view *f, const struct flat_head *h)
{
	if (!get_jobs(c, f, h) || !get_speeds(later, f, h->n_jobs))
		return false;
	if (h->has_fast)
		get(c, &f->fast, sizeof(f->fast));
	if (h->has_reserved)
		get(c, &f->reserved, sizeof(f->reserved));
	f->capacity = calloc((size_t)h->n_capacity + 1, sizeof(int));
	if (!f->capacity)
		return false;
	get(c, f->capacity, (size_t)h->n_capacity * sizeof(int));
	if (!get_events(later, f, h))
		return false;
	f->view = (struct view){
		.now_s = h->now_s,
		.seed = h->seed,
		.slice_ms = h->slice_ms,
		.cache_ways = h->cache_ways,
		.event = f->event,
		.n_events = h->n_events,
		.job = f->job,
		.n_jobs = h->n_jobs,
		.capacity = h->n_capacity ? f->capacity : NULL,
		.n_capacity = h->n_capacity,
		.fast_cores = h->has_fast ? &f->fast : NULL,
		.reserved = h->has_reserved ? &f->reserved : NULL,
		.ptt = f->ptt,
		.n_ptt = h->n_ptt,
	};
	return true;
}

static void get_plan(
	struct cursor *c, struct plan *p, const struct flat_view *f, const struct flat_answer *a)
{
	const unsigned char *slots = get_slots(c, f->n_slots, sizeof(struct flat_plan_job));

	p->n_jobs = f->view.n_jobs;
	p->keep = a->keep;
	p->observe = a->observe;
	p->score = a->score;
	p->moves = a->moves;
	p->hysteresis_ms = a->hysteresis_ms;
	p->n_clusters = a->n_clusters;
	memcpy(p->cluster, a->cluster, sizeof(p->cluster));
	p->n_slices = a->n_slices;
	p->n_experiments = a->n_experiments;
	for (int i = 0; i < p->n_jobs; i++) {
		struct plan_job *j = &p->job[i];
		struct flat_plan_job from = {.n_lent = 0};

		memcpy(&from, slots + slot_of(f, i) * sizeof(from), sizeof(from));
		memcpy(j->id, f->job[i].id, JOB_ID_MAX);
		j->coreset = from.coreset;
		j->low = from.low;
		j->cluster = from.cluster;
		j->cores = from.cores;
		j->role = from.role;
		j->group = from.group;
		j->place_core = from.place_core;
		j->place_width = from.place_width;
		j->n_lent = from.n_lent;
		memcpy(j->why, from.why, sizeof(j->why));
	}
	for (int i = 0; i < p->n_jobs; i++)
		get(c, p->job[i].lent, (size_t)p->job[i].n_lent * sizeof(struct plan_lent));
	for (int s = 0; s < p->n_slices; s++) {
		get(c, &p->slice[s].ms, sizeof(int));
		get(c, &p->slice[s].n_jobs, sizeof(int));
		get(c, p->slice[s].job, (size_t)p->slice[s].n_jobs * sizeof(int));
	}
	get(c, p->experiment, (size_t)p->n_experiments * sizeof(p->experiment[0]));
}

static int add_answer(
	struct recent_text *t, struct cursor *c, const struct flat_view *f, json_object *line)
{
	json_object *o = json_object_new_object();
	struct flat_answer a = {.fallback = 0};
	struct plan plan;

	get(c, &a, sizeof(a));
	ADD(line, a.fallback ? "fallback" : "ruling", o);
	if (a.refused) {
		const char *why = get_text(c, FLAT_REFUSED_MAX);

		ADD(o, "refused", json_object_new_string(why ? why : ""));
		return 0;
	}
	if (plan_init(&plan, f->view.n_jobs > 0 ? f->view.n_jobs : 1, NULL))
		return -ENOMEM;
	get_plan(c, &plan, f, &a);
	ADD(o, "plan", plan_to_exact_json(&plan, t->topo));
	plan_done(&plan);
	return 0;
}

/* Takes @o over. */
static int add_line(struct recent_text *t, json_object *o)
{
	size_t len = 0;

	json_object_to_json_string_length(o, JSON_C_TO_STRING_PLAIN, &len);
	t->bytes += len + 1;
	return json_object_array_add(t->lines, o) ? -ENOMEM : 0;
}

static int add_decision(struct recent_text *t, struct cursor *c, const struct flat_head *h)
{
	__attribute__((cleanup(view_done))) struct flat_view f = {.job = NULL};
	const unsigned char *end = c->at + (h->later_at - sizeof(*h));
	struct cursor later = {end, c->end};
	json_object *line = json_object_new_object();
	int rc = line && get_view(c, &later, &f, h) ? 0 : -ENOMEM;

	if (!rc)
		ADD(line, "view", view_to_json(&f.view));
	while (!rc && c->at < end)
		rc = add_answer(t, c, &f, line);
	if (rc) {
		json_object_put(line);
		return rc;
	}
	return add_line(t, line);
}

static int add_end(struct recent_text *t, uint64_t decisions)
{
	json_object *o = json_object_new_object(), *end = json_object_new_object();

	ADD(end, "decisions", json_object_new_int64((int64_t)decisions));
	ADD(end, "reason", json_object_new_string("closed"));
	ADD(o, "end", end);
	return add_line(t, o);
}

int recent_text_add(struct recent_text *t, const unsigned char *flat, size_t len)
{
	struct cursor c = {flat, flat + len};
	struct flat_head h = {0};
	json_object *o;
	int rc;

	get(&c, &h, sizeof(h));
	if (h.number < t->from)
		return 0;
	if (t->bytes > t->max_bytes) {
		t->next = h.number;
		return 1;
	}
	if (h.kind != FLAT_DECISION) {
		o = json_object_new_object();
		ADD(o, h.kind == FLAT_FALLBACK ? "fallback_engine" : "ruling_engine",
			json_tokener_parse((const char *)c.at));
		return add_line(t, o);
	}
	rc = add_decision(t, &c, &h);
	if (rc || h.number < t->to)
		return rc;
	rc = add_end(t, h.number - t->first + 1);
	return rc ? rc : 1;
}
