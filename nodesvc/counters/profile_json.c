/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/counters/profile_json.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"

#define SCHEMA 1

/* Signals of a profile: the first ones. */
#define N_SIGNALS (SIGNAL_LLC_MISS_RATIO + 1)

static const char *waiting_of(const char *source)
{
	return strcmp(source, "cachegrind") ? "native" : "passive";
}

/* Unknown is null. */
static struct json_object *number(double v)
{
	return isfinite(v) ? json_object_new_double(v) : NULL;
}

struct json_object *profile_to_json(const struct profile *p)
{
	struct json_object *o = json_object_new_object(), *s = json_object_new_object();

	if (!o || !s) {
		json_object_put(o);
		json_object_put(s);
		return NULL;
	}
	json_object_object_add(o, "schema", json_object_new_int(SCHEMA));
	json_object_object_add(o, "type", json_object_new_string(p->type));
	json_object_object_add(o, "user", json_object_new_string(p->user));
	json_object_object_add(o, "node_type", json_object_new_string(p->node_type));
	json_object_object_add(o, "source", json_object_new_string(p->source));
	json_object_object_add(o, "waiting", json_object_new_string(waiting_of(p->source)));
	json_object_object_add(o, "threads", json_object_new_int(p->threads));
	json_object_object_add(o, "solo_s", number(p->solo_s));
	json_object_object_add(o, "utilization", number(p->utilization));
	for (int i = 0; i < N_SIGNALS; i++)
		json_object_object_add(s, signal_name(i), number(p->rate[i]));
	json_object_object_add(o, "signals", s);
	json_object_object_add(o, "ll_bytes",
		p->ll_bytes > 0 ? json_object_new_int64((int64_t)p->ll_bytes) : NULL);
	json_object_object_add(o, "taken_unix_s", json_object_new_int64(p->taken_unix_s));
	json_object_object_add(o, "count", json_object_new_int(p->count));
	json_object_object_add(o, "spread", number(p->spread));
	return o;
}

static int refuse(struct errbuf *err, const char *field, struct json_object *v, const char *want)
{
	return err_set(err, -EINVAL, "profile: %s: %.80s is not %s", field,
		v ? json_object_to_json_string(v) : "null", want);
}

static int get_text(char *ret, size_t size, const char *field, struct json_object *v,
	bool may_be_empty, struct errbuf *err)
{
	const char *text;

	if (!json_object_is_type(v, json_type_string))
		return refuse(err, field, v, "a text");
	text = json_object_get_string(v);
	if (strlen(text) != (size_t)json_object_get_string_len(v))
		return refuse(err, field, v, "a text without NUL");
	if (!text_is_clean(text))
		return refuse(err, field, v, "a text of visible characters (UTF-8)");
	if (strlen(text) >= size)
		return err_set(err, -EINVAL, "profile: %s: '%.60s...' is longer than %zu", field,
			text, size - 1);
	if (!*text && !may_be_empty)
		return refuse(err, field, v, "a name");
	strcpy(ret, text);
	return 0;
}

/* @null_ok: null gives NAN. */
static int get_double(double *ret, const char *field, struct json_object *v, double min, double max,
	bool null_ok, struct errbuf *err)
{
	char want[80];
	double d;

	if (!v && null_ok) {
		*ret = NAN;
		return 0;
	}
	d = json_object_get_double(v);
	if ((json_object_is_type(v, json_type_double) || json_object_is_type(v, json_type_int)) &&
		isfinite(d) && d >= min && d <= max) {
		*ret = d;
		return 0;
	}
	if (isfinite(max))
		snprintf(want, sizeof(want), "a number from %g to %g", min, max);
	else
		snprintf(want, sizeof(want), "a finite number from %g", min);
	return refuse(err, field, v, want);
}

static int get_int(int64_t *ret, const char *field, struct json_object *v, int64_t min, int64_t max,
	struct errbuf *err)
{
	char want[80];

	if (json_object_is_type(v, json_type_int)) {
		int64_t i = json_object_get_int64(v);

		if (i >= min && i <= max) {
			*ret = i;
			return 0;
		}
	}
	snprintf(
		want, sizeof(want), "an integer from %lld to %lld", (long long)min, (long long)max);
	return refuse(err, field, v, want);
}

static int get_signals(struct profile *p, struct json_object *o, struct errbuf *err)
{
	if (!json_object_is_type(o, json_type_object))
		return refuse(err, "signals", o, "an object");
	json_object_object_foreach(o, key, v)
	{
		int i, rc;

		for (i = 0; i < N_SIGNALS && strcmp(key, signal_name(i)) != 0; i++)
			;
		if (i == N_SIGNALS)
			return err_set(err, -EINVAL, "profile: signals: '%.60s' is no signal", key);
		rc = get_double(&p->rate[i], key, v, 0.0,
			i == SIGNAL_LLC_MISS_RATIO ? 1.0 : signal_max(i), true, err);
		if (rc)
			return err_wrap(err, rc, "signals");
	}
	return 0;
}

static int get_source(char *ret, struct json_object *v, struct errbuf *err)
{
	int rc = get_text(ret, sizeof(((struct profile *)0)->source), "source", v, false, err);

	if (rc)
		return rc;
	if (strcmp(ret, "papi") != 0 && strcmp(ret, "perf") != 0 && strcmp(ret, "cachegrind") != 0)
		return refuse(err, "source", v, "papi, perf or cachegrind");
	return 0;
}

/* What is read: the profile, and what is only looked at. */
struct reading {
	struct profile p;
	int schema;
	char waiting[16];
};

static const struct field {
	const char *name;
	enum { TEXT, NAME, SOURCE, INT, TIME, BYTES, ABOVE_0, MAYBE, SIGNALS } kind;
	bool required;
	size_t at;
	double min, max; /* of a text: its room */
} fields[] = {
#define AT(member) offsetof(struct reading, member)
	{"schema", INT, false, AT(schema), SCHEMA, SCHEMA},
	{"type", NAME, true, AT(p.type), 0, JOB_TYPE_MAX},
	{"user", TEXT, false, AT(p.user), 0, sizeof(((struct profile *)0)->user)},
	{"node_type", TEXT, false, AT(p.node_type), 0, sizeof(((struct profile *)0)->node_type)},
	{"source", SOURCE, true, AT(p.source), 0, sizeof(((struct profile *)0)->source)},
	{"waiting", NAME, false, AT(waiting), 0, 16},
	{"threads", INT, true, AT(p.threads), 1, 1 << 20},
	{"solo_s", ABOVE_0, true, AT(p.solo_s), 0, HUGE_VAL},
	{"utilization", ABOVE_0, true, AT(p.utilization), 0, 1},
	{"signals", SIGNALS, true, AT(p), 0, 0},
	{"ll_bytes", BYTES, false, AT(p.ll_bytes), 0, INT64_C(1) << 50},
	{"taken_unix_s", TIME, false, AT(p.taken_unix_s), 0, INT64_C(1) << 40},
	{"count", INT, false, AT(p.count), 1, 1 << 20},
	{"spread", MAYBE, false, AT(p.spread), 0, HUGE_VAL},
#undef AT
};
#define N_FIELDS (int)(sizeof(fields) / sizeof(fields[0]))

static int get_field(
	struct reading *r, const struct field *f, struct json_object *v, struct errbuf *err)
{
	void *at = (char *)r + f->at;
	int64_t i = 0;
	int rc = 0;

	switch (f->kind) {
	case TEXT:
	case NAME:
		return get_text(at, (size_t)f->max, f->name, v, f->kind == TEXT, err);
	case SOURCE:
		return get_source(at, v, err);
	case INT:
		rc = get_int(&i, f->name, v, (int64_t)f->min, (int64_t)f->max, err);
		*(int *)at = (int)i;
		return rc;
	case TIME:
		return get_int(at, f->name, v, (int64_t)f->min, (int64_t)f->max, err);
	case BYTES:
		if (v)
			rc = get_int(&i, f->name, v, (int64_t)f->min, (int64_t)f->max, err);
		*(double *)at = (double)i;
		return rc;
	case ABOVE_0:
		rc = get_double(at, f->name, v, f->min, f->max, false, err);
		return !rc && *(double *)at <= 0 ? refuse(err, f->name, v, "above 0") : rc;
	case MAYBE:
		return get_double(at, f->name, v, f->min, f->max, true, err);
	case SIGNALS:
		return get_signals(at, v, err);
	}
	return 0;
}

static int from_json(struct json_object *o, struct profile *ret, struct errbuf *err)
{
	struct reading r = {.p = {.count = 1, .spread = NAN}};
	bool seen[N_FIELDS] = {false};

	if (!json_object_is_type(o, json_type_object))
		return refuse(err, "JSON", o, "an object");
	for (int s = 0; s < SIGNAL_COUNT; s++)
		r.p.rate[s] = NAN;
	json_object_object_foreach(o, key, v)
	{
		int f, rc;

		for (f = 0; f < N_FIELDS && strcmp(key, fields[f].name) != 0; f++)
			;
		if (f == N_FIELDS)
			return err_set(err, -EINVAL, "profile: '%.60s' is no field", key);
		rc = get_field(&r, &fields[f], v, err);
		if (rc)
			return rc;
		seen[f] = true;
	}
	for (int f = 0; f < N_FIELDS; f++)
		if (fields[f].required && !seen[f])
			return err_set(err, -EINVAL, "profile: '%s' is missing", fields[f].name);
	if (*r.waiting && strcmp(r.waiting, waiting_of(r.p.source)) != 0)
		return err_set(err, -EINVAL, "profile: waiting: '%s', but %s runs are '%s'",
			r.waiting, r.p.source, waiting_of(r.p.source));
	r.p.rate[SIGNAL_UTILIZATION] = r.p.utilization;
	*ret = r.p;
	return 0;
}

int profile_from_text(const char *text, struct profile *ret, struct errbuf *err)
{
	struct json_tokener *tok = json_tokener_new();
	struct json_object *o;
	size_t len = strlen(text);
	int rc;

	if (!tok)
		return err_set(err, -ENOMEM, "profile: out of memory");
	if (len > INT_MAX / 2) {
		json_tokener_free(tok);
		return err_set(err, -EINVAL, "profile: the text is too long");
	}
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
	/* With the NUL: a number alone would else be waited on for more digits. */
	o = json_tokener_parse_ex(tok, text, (int)len + 1);
	if (!o)
		rc = err_set(err, -EINVAL, "profile: byte %zu: %s",
			(size_t)json_tokener_get_parse_end(tok),
			json_tokener_error_desc(json_tokener_get_error(tok)));
	else
		rc = from_json(o, ret, err);
	json_object_put(o);
	json_tokener_free(tok);
	return rc;
}
