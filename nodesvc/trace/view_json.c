/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/trace/trace.h"

#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "nodesvc/trace/internal.h"

struct one_view {
	struct view view;
	struct view_job *job;
	bool *has_current;
	struct event *event;
	int *capacity;
	struct coreset fast_cores, reserved;
	struct ptt_entry *ptt;
};

struct view_file {
	json_object *root; /* strings of the views point into it */
	bool is_list;
	int n;
	struct one_view *one;
};

static int parse_job(struct where *w, struct one_view *one, int i, json_object *o)
{
	struct view_job *j = &one->job[i];
	int rc = view_job_parse(w, j, i, &one->has_current[i], o);

	for (int l = 0; rc == 0 && l < i; l++)
		if (strcmp(one->job[l].id, j->id) == 0) {
			w->job = j->id;
			rc = value_fail(w, "id: twice in one view");
		}
	return rc;
}

static int parse_event_type(
	const struct where *w, const char *field, json_object *o, enum event_type *ret)
{
	for (int i = 0; json_object_is_type(o, json_type_string) && i <= EVENT_TASK_DONE; i++)
		if (strcmp(json_object_get_string(o), event_type_name((enum event_type)i)) == 0) {
			*ret = (enum event_type)i;
			return 0;
		}
	return value_bad(w, field, o, "arrival, end, phase, tick, experiment_result or task_done");
}

/* What each event must say. */
static int check_event(const struct where *w, const struct event *e, int i)
{
	const char *missing = NULL;
	char text[80];

	if (e->type <= EVENT_PHASE && !e->job)
		missing = "job";
	if (e->type == EVENT_EXPERIMENT_RESULT)
		missing = !e->job ? "job" : e->cores < 1 ? "cores" : e->speed <= 0 ? "speed" : NULL;
	if (e->type == EVENT_TASK_DONE)
		missing = !e->task_type     ? "task_type"
			  : e->core < 0     ? "core"
			  : e->width < 1    ? "width"
			  : e->seconds <= 0 ? "seconds"
					    : NULL;
	if (!missing)
		return 0;
	snprintf(text, sizeof(text), "events[%d]: %s is missing or not above 0", i, missing);
	return value_fail(w, text);
}

/* {"event": "task_done", "type": "matmul"} and {"type": "task_done", "task_type": "matmul"}. */
static int parse_event(const struct where *w, struct event *e, int i, json_object *o)
{
#define AT(member) offsetof(struct event, member)
	static const struct member member[] = {
		{"job", MEMBER_TEXT, AT(job), 0, JOB_ID_MAX},
		{"cores", MEMBER_INT, AT(cores), 1, CORESET_MAX},
		{"speed", MEMBER_REAL, AT(speed), 0, INFINITY},
		{"task_type", MEMBER_TEXT, AT(task_type), 0, JOB_TYPE_MAX},
		{"owner", MEMBER_WHOLE, AT(owner), 0, 9e15},
		{"core", MEMBER_INT, AT(core), 0, CORESET_MAX - 1},
		{"width", MEMBER_INT, AT(width), 1, CORESET_MAX},
		{"seconds", MEMBER_REAL, AT(seconds), 0, INFINITY},
		{.key = NULL},
	};
#undef AT
	json_object *kind;
	bool by_event;
	char field[48];
	int rc;

	snprintf(field, sizeof(field), "events[%d]", i);
	rc = value_type(w, field, o, json_type_object);
	if (rc)
		return rc;
	*e = (struct event){.core = -1};
	by_event = json_object_object_get_ex(o, "event", &kind);
	if (!by_event && !json_object_object_get_ex(o, "type", &kind)) {
		snprintf(field, sizeof(field), "events[%d]: type is missing", i);
		return value_fail(w, field);
	}
	snprintf(field, sizeof(field), "events[%d].%s", i, by_event ? "event" : "type");
	rc = parse_event_type(w, field, kind, &e->type);
	json_object_object_foreach(o, key, value)
	{
		if (rc)
			return rc;
		snprintf(field, sizeof(field), "events[%d].%.20s", i, key);
		if (value != kind)
			rc = value_member(w, field,
				by_event && strcmp(key, "type") == 0 ? "task_type" : key, value,
				member, e);
	}
	return rc;
}

/* task_done may name a live job instead of its type. */
static void fill_task_type(const struct view *v, struct event *e)
{
	for (int i = 0; e->type == EVENT_TASK_DONE && !e->task_type && e->job && i < v->n_jobs; i++)
		if (strcmp(v->job[i].id, e->job) == 0) {
			e->task_type = v->job[i].type;
			e->owner = v->job[i].owner;
		}
}

static int parse_ptt_entry(
	const struct where *w, struct ptt_entry *e, const char *type, json_object *o)
{
#define AT(member) offsetof(struct ptt_entry, member)
	static const struct member member[] = {
		{"core", MEMBER_INT, AT(core), 0, CORESET_MAX - 1},
		{"width", MEMBER_INT, AT(width), 1, CORESET_MAX},
		{"seconds", MEMBER_REAL, AT(seconds), 0, INFINITY},
		{"owner", MEMBER_WHOLE, AT(owner), 0, 9e15},
		{.key = NULL},
	};
#undef AT
	char field[JOB_TYPE_MAX + 16];
	int rc, n;

	snprintf(field, sizeof(field), "ptt.%s", type);
	rc = value_members(w, field, o, member, e);
	e->type = type;
	if (rc)
		return rc;
	n = json_object_object_length(o) - json_object_object_get_ex(o, "owner", NULL);
	if (n == 3)
		return 0;
	snprintf(field, sizeof(field), "ptt.%.40s: core, width and seconds expected", type);
	return value_fail(w, field);
}

static int parse_ptt(const struct where *w, struct one_view *one, json_object *o)
{
	int rc = value_type(w, "ptt", o, json_type_object), n = 0;

	if (rc)
		return rc;
	{
		json_object_object_foreach(o, type, list)
		{
			rc = value_type(w, type, list, json_type_array);
			if (rc)
				return rc;
			if (strlen(type) >= JOB_TYPE_MAX || !*type)
				return value_unknown_key(w, type);
			n += (int)json_object_array_length(list);
		}
	}
	one->ptt = calloc((size_t)n + 1, sizeof(*one->ptt));
	if (!one->ptt)
		return err_set(w->err, -ENOMEM, "out of memory");
	json_object_object_foreach(o, type, list)
	{
		for (size_t i = 0; i < json_object_array_length(list); i++) {
			rc = parse_ptt_entry(w, &one->ptt[one->view.n_ptt], type,
				json_object_array_get_idx(list, i));
			if (rc)
				return rc;
			one->view.n_ptt++;
		}
	}
	one->view.ptt = one->ptt;
	return 0;
}

static int parse_list(struct where *w, struct one_view *one, const char *key, json_object *o)
{
	size_t n;
	int rc = value_type(w, key, o, json_type_array);

	if (rc)
		return rc;
	n = json_object_array_length(o);
	if (n > 4096)
		return value_fail(w, "a list of more than 4096");
	if (strcmp(key, "capacity") == 0) {
		one->capacity = calloc(n + 1, sizeof(int));
		if (!one->capacity)
			return err_set(w->err, -ENOMEM, "out of memory");
		one->view.capacity = one->capacity;
		one->view.n_capacity = (int)n;
		for (size_t i = 0; i < n && !rc; i++)
			rc = value_int(w, key, json_object_array_get_idx(o, i), 0, CORESET_MAX,
				&one->capacity[i]);
	} else if (strcmp(key, "jobs") == 0) {
		one->job = calloc(n + 1, sizeof(*one->job));
		one->has_current = calloc(n + 1, sizeof(bool));
		if (!one->job || !one->has_current)
			return err_set(w->err, -ENOMEM, "out of memory");
		one->view.job = one->job;
		for (size_t i = 0; i < n && !rc; i++) {
			one->view.n_jobs = (int)i + 1;
			rc = parse_job(w, one, (int)i, json_object_array_get_idx(o, i));
		}
	} else {
		one->event = calloc(n + 1, sizeof(*one->event));
		if (!one->event)
			return err_set(w->err, -ENOMEM, "out of memory");
		one->view.event = one->event;
		one->view.n_events = (int)n;
		for (size_t i = 0; i < n && !rc; i++)
			rc = parse_event(
				w, &one->event[i], (int)i, json_object_array_get_idx(o, i));
	}
	return rc;
}

/* A whole number; above 9e15, which a JSON number need not hold exactly, in quotes. */
static int get_seed(const struct where *w, json_object *o, uint64_t *ret)
{
	if (json_object_is_type(o, json_type_string)) {
		const char *text = json_object_get_string(o);
		char *end;

		errno = 0;
		*ret = strtoull(text, &end, 10);
		if (*text < '0' || *text > '9' || *end || errno)
			return value_bad(w, "seed", o, "whole number");
		return 0;
	}
	return value_whole(w, "seed", o, 0, (int64_t *)ret);
}

static int parse_view(struct where *w, struct one_view *one, json_object *o)
{
#define AT(member) offsetof(struct one_view, member)
	static const struct member member[] = {
		{"now_s", MEMBER_REAL, AT(view.now_s), 0, INFINITY},
		{"slice_ms", MEMBER_INT, AT(view.slice_ms), 1, 60000},
		{"cache_ways", MEMBER_INT, AT(view.cache_ways), 0, 64},
		{"fast_cores", MEMBER_CORESET, AT(fast_cores), 0, 0},
		{"reserved", MEMBER_CORESET, AT(reserved), 0, 0},
		{.key = NULL},
	};
#undef AT
	int rc = value_type(w, "view", o, json_type_object);

	if (rc)
		return rc;
	one->view.seed = 1;
	json_object_object_foreach(o, key, value)
	{
		if (strcmp(key, "version") == 0) {
			int version;

			rc = value_int(w, key, value, VIEW_VERSION, VIEW_VERSION, &version);
		} else if (strcmp(key, "seed") == 0) {
			rc = get_seed(w, value, &one->view.seed);
		} else if (strcmp(key, "ptt") == 0) {
			rc = parse_ptt(w, one, value);
		} else if (strcmp(key, "jobs") == 0 || strcmp(key, "events") == 0 ||
			   strcmp(key, "capacity") == 0) {
			rc = parse_list(w, one, key, value);
		} else {
			rc = value_member(w, key, key, value, member, one);
		}
		if (rc)
			return rc;
	}
	if (json_object_object_get_ex(o, "fast_cores", NULL))
		one->view.fast_cores = &one->fast_cores;
	if (json_object_object_get_ex(o, "reserved", NULL))
		one->view.reserved = &one->reserved;
	for (int i = 0; i < one->view.n_events && !rc; i++) {
		fill_task_type(&one->view, &one->event[i]);
		rc = check_event(w, &one->event[i], i);
	}
	return rc;
}

static void view_file_free_p(struct view_file **f)
{
	view_file_free(*f);
}

/* Views from @of->root; takes @of over. */
static int fill_file(struct view_file **ret, struct view_file *of, struct errbuf *err)
{
	__attribute__((cleanup(view_file_free_p))) struct view_file *f = of;
	json_object *views = NULL;
	int rc = 0;

	if (!json_object_is_type(f->root, json_type_object))
		return err_set(err, -EINVAL, "an object expected: one view, or {\"views\": [...]}");
	f->is_list = json_object_object_get_ex(f->root, "views", &views);
	if (f->is_list && (json_object_object_length(f->root) != 1 ||
				  !json_object_is_type(views, json_type_array)))
		return err_set(err, -EINVAL, "{\"views\": [...]} expected, and nothing beside it");
	f->n = f->is_list ? (int)json_object_array_length(views) : 1;
	f->one = calloc((size_t)f->n + 1, sizeof(*f->one));
	if (!f->one)
		return err_set(err, -ENOMEM, "out of memory");
	for (int i = 0; i < f->n && !rc; i++) {
		struct where w = {.view = i, .is_list = f->is_list, .err = err};

		rc = parse_view(&w, &f->one[i],
			f->is_list ? json_object_array_get_idx(views, (size_t)i) : f->root);
	}
	if (rc)
		return rc;
	*ret = take_ptr(f);
	return 0;
}

int view_file_parse(struct view_file **ret, const char *text, size_t len, struct errbuf *err)
{
	__attribute__((cleanup(view_file_free_p))) struct view_file *f = calloc(1, sizeof(*f));
	struct json_tokener *tok = json_tokener_new_ex(32);
	int rc = 0;

	if (!f || !tok) {
		if (tok)
			json_tokener_free(tok);
		return err_set(err, -ENOMEM, "out of memory");
	}
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
	f->root = json_tokener_parse_ex(tok, text, (int)len);
	if (!f->root) {
		rc = err_set(err, -EINVAL, "no JSON: %s at byte %zu",
			json_tokener_get_error(tok) == json_tokener_continue
				? "text ends too early"
				: json_tokener_error_desc(json_tokener_get_error(tok)),
			json_tokener_get_parse_end(tok));
	} else {
		size_t end = json_tokener_get_parse_end(tok);

		while (end < len && strchr(" \t\r\n", text[end]))
			end++;
		if (end < len)
			rc = err_set(err, -EINVAL, "no JSON: text after its end, at byte %zu", end);
	}
	json_tokener_free(tok);
	if (rc)
		return rc;
	return fill_file(ret, take_ptr(f), err);
}
int view_file_from_json(struct view_file **ret, json_object *o, struct errbuf *err)
{
	struct view_file *f = calloc(1, sizeof(*f));

	if (!f)
		return err_set(err, -ENOMEM, "out of memory");
	f->root = json_object_get(o);
	return fill_file(ret, f, err);
}

void view_file_free(struct view_file *f)
{
	if (!f)
		return;
	for (int i = 0; f->one && i < f->n; i++) {
		for (int j = 0; f->one[i].job && j < f->one[i].view.n_jobs; j++)
			free((void *)f->one[i].job[j].speed);
		free(f->one[i].job);
		free(f->one[i].has_current);
		free(f->one[i].event);
		free(f->one[i].capacity);
		free(f->one[i].ptt);
	}
	free(f->one);
	json_object_put(f->root);
	free(f);
}

int view_file_count(const struct view_file *f)
{
	return f->n;
}

bool view_file_is_list(const struct view_file *f)
{
	return f->is_list;
}

const struct view *view_file_view(const struct view_file *f, int i)
{
	return &f->one[i].view;
}

int view_file_max_jobs(const struct view_file *f)
{
	int most = 1;

	for (int i = 0; i < f->n; i++)
		most = f->one[i].view.n_jobs > most ? f->one[i].view.n_jobs : most;
	return most;
}

void view_file_carry(struct view_file *f, int i, const char *id, const struct coreset *coreset)
{
	int j = 0;

	while (j < f->one[i].view.n_jobs && strcmp(f->one[i].job[j].id, id) != 0)
		j++;
	if (j < f->one[i].view.n_jobs && !f->one[i].has_current[j])
		f->one[i].job[j].current = *coreset;
}

void view_file_move(struct view_file *f, int i, const char *id, const struct coreset *coreset)
{
	for (int j = 0; j < f->one[i].view.n_jobs; j++)
		if (strcmp(f->one[i].job[j].id, id) == 0)
			f->one[i].job[j].current = *coreset;
}
