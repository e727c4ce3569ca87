/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view_write.c - a view as JSON that reads back bit for bit.
 */
#include <math.h>
#include <stdio.h>

#include "nodesvc/trace/internal.h"
#include "nodesvc/trace/trace.h"

#define ADD(o, key, value) json_object_object_add((o), (key), (value))

json_object *exact_number(double x)
{
	char text[40];

	if (!isfinite(x))
		return NULL;
	snprintf(text, sizeof(text), "%.17g", x);
	return json_object_new_double_s(x, text);
}

json_object *trace_cpulist(const struct coreset *s)
{
	char text[CORESET_STR_MAX];

	return json_object_new_string(coreset_format(s, text, sizeof(text)));
}

static void add_coreset(json_object *o, const char *key, const struct coreset *s)
{
	if (!coreset_is_empty(s))
		ADD(o, key, trace_cpulist(s));
}

/* Two signals stand beside the job, as people write them; those have their own usual source. */
static void add_signals(json_object *o, const struct view_job *j)
{
	json_object *signals = json_object_new_object(), *from = json_object_new_object();

	for (int i = 0; i < SIGNAL_COUNT; i++) {
		const struct signal *s = &j->signal[i];
		const char *name = signal_name((enum signal_id)i);
		enum provenance usual = PROVENANCE_HW;
		json_object *to = signals;

		if (s->provenance == PROVENANCE_NONE || !isfinite(s->value))
			continue;
		if (i == SIGNAL_UTILIZATION || i == SIGNAL_TIME_LEFT) {
			usual = i == SIGNAL_UTILIZATION ? PROVENANCE_OS : PROVENANCE_APP;
			to = o;
		}
		ADD(to, name, exact_number(s->value));
		if (s->provenance != usual)
			ADD(from, name, json_object_new_string(provenance_name(s->provenance)));
	}
	if (json_object_object_length(signals))
		ADD(o, "signals", signals);
	else
		json_object_put(signals);
	if (json_object_object_length(from))
		ADD(o, "provenance", from);
	else
		json_object_put(from);
}

static void add_int(json_object *o, const char *key, int64_t value, int64_t unless)
{
	if (value != unless)
		ADD(o, key, json_object_new_int64(value));
}

static json_object *job_to_json(const struct view_job *j)
{
	json_object *o = json_object_new_object(), *part;

	ADD(o, "id", json_object_new_string(j->id));
	ADD(o, "order", json_object_new_int64(j->order));
	if (j->type && *j->type)
		ADD(o, "type", json_object_new_string(j->type));
	add_int(o, "owner", j->owner, 0);
	add_int(o, "threads", j->threads, 0);
	if (j->runnable > 0)
		ADD(o, "runnable", exact_number(j->runnable));
	add_int(o, "cores", j->cores, 0);
	add_int(o, "min_cores", j->min_cores, 0);
	add_coreset(o, "envelope", &j->envelope);
	if (!coreset_is_empty(&j->current)) {
		part = json_object_new_object();
		ADD(part, "coreset", trace_cpulist(&j->current));
		ADD(o, "current", part);
	}
	add_signals(o, j);
	ADD(o, "sample_no", json_object_new_int64((int64_t)j->sample_no));
	if (j->n_speed > 0) {
		part = json_object_new_object();
		for (int k = 0; k < j->n_speed; k++) {
			char cores[16];

			snprintf(cores, sizeof(cores), "%d", j->speed[k].cores);
			ADD(part, cores, exact_number(j->speed[k].speed));
		}
		ADD(o, "speed", part);
	}
	add_int(o, "home_numa", j->home_numa, -1);
	if (j->rss_bytes >= 0)
		ADD(o, "rss_bytes", exact_number(j->rss_bytes));
	if (j->has_priority)
		ADD(o, "priority", json_object_new_string(j->priority_high ? "high" : "low"));
	add_int(o, "core", j->core, -1);
	if (j->qos > 0)
		ADD(o, "qos", exact_number(j->qos));
	if (j->in_turns) {
		ADD(o, "wanted_s", exact_number(j->wanted_s));
		ADD(o, "served_s", exact_number(j->served_s));
	}
	if (j->nodes > 1)
		ADD(o, "nodes", json_object_new_int(j->nodes));
	if (j->polling > 0)
		ADD(o, "polling", json_object_new_int(j->polling));
	if (j->yielding > 0)
		ADD(o, "yielding", json_object_new_int(j->yielding));
	if (j->bursty)
		ADD(o, "bursty", json_object_new_boolean(true));
	if (j->coupled)
		ADD(o, "coupled", json_object_new_boolean(true));
	if (j->has_executed)
		ADD(o, "executed", exact_number(j->executed));
	if (j->borrows)
		ADD(o, "borrows", json_object_new_boolean(true));
	if (j->excluded)
		ADD(o, "excluded", json_object_new_boolean(true));
	return o;
}

static json_object *event_to_json(const struct event *e)
{
	json_object *o = json_object_new_object();

	ADD(o, "type", json_object_new_string(event_type_name(e->type)));
	if (e->job)
		ADD(o, "job", json_object_new_string(e->job));
	if (e->type == EVENT_EXPERIMENT_RESULT) {
		ADD(o, "cores", json_object_new_int(e->cores));
		ADD(o, "speed", exact_number(e->speed));
	}
	if (e->type == EVENT_TASK_DONE) {
		if (e->task_type)
			ADD(o, "task_type", json_object_new_string(e->task_type));
		add_int(o, "owner", e->owner, 0);
		ADD(o, "core", json_object_new_int(e->core));
		ADD(o, "width", json_object_new_int(e->width));
		ADD(o, "seconds", exact_number(e->seconds));
	}
	return o;
}

static json_object *table_to_json(const struct view *v)
{
	json_object *o = json_object_new_object();

	for (int i = 0; i < v->n_ptt; i++) {
		json_object *list, *entry = json_object_new_object();

		if (!json_object_object_get_ex(o, v->ptt[i].type, &list)) {
			list = json_object_new_array();
			ADD(o, v->ptt[i].type, list);
		}
		ADD(entry, "core", json_object_new_int(v->ptt[i].core));
		ADD(entry, "width", json_object_new_int(v->ptt[i].width));
		ADD(entry, "seconds", exact_number(v->ptt[i].seconds));
		add_int(entry, "owner", v->ptt[i].owner, 0);
		json_object_array_add(list, entry);
	}
	return o;
}

/* Above 9e15 in quotes: a JSON number need not hold it exactly. */
static json_object *seed_to_json(uint64_t seed)
{
	char text[24];

	if (seed <= UINT64_C(9000000000000000))
		return json_object_new_int64((int64_t)seed);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)seed);
	return json_object_new_string(text);
}

json_object *view_to_json(const struct view *v)
{
	json_object *o = json_object_new_object(), *list;

	if (!o)
		return NULL;
	ADD(o, "now_s", exact_number(v->now_s));
	ADD(o, "seed", seed_to_json(v->seed));
	if (v->slice_ms > 0)
		ADD(o, "slice_ms", json_object_new_int(v->slice_ms));
	add_int(o, "cache_ways", v->cache_ways, 0);
	if (v->n_events > 0) {
		list = json_object_new_array();
		for (int i = 0; i < v->n_events; i++)
			json_object_array_add(list, event_to_json(&v->event[i]));
		ADD(o, "events", list);
	}
	if (v->capacity) {
		list = json_object_new_array();
		for (int i = 0; i < v->n_capacity; i++)
			json_object_array_add(list, json_object_new_int(v->capacity[i]));
		ADD(o, "capacity", list);
	}
	if (v->fast_cores)
		ADD(o, "fast_cores", trace_cpulist(v->fast_cores));
	if (v->reserved)
		ADD(o, "reserved", trace_cpulist(v->reserved));
	if (v->n_ptt > 0)
		ADD(o, "ptt", table_to_json(v));
	list = json_object_new_array();
	for (int i = 0; i < v->n_jobs; i++)
		json_object_array_add(list, job_to_json(&v->job[i]));
	ADD(o, "jobs", list);
	return o;
}
