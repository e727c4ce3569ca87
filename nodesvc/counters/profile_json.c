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

static const struct {
	const char *name;
	enum signal_id id;
} signals[] = {
	{"instructions_per_s", SIGNAL_INSTRUCTIONS},
	{"loads_per_s", SIGNAL_LOADS},
	{"llc_refs_per_s", SIGNAL_LLC_REFS},
	{"llc_misses_per_s", SIGNAL_LLC_MISSES},
	{"mem_bytes_per_s", SIGNAL_MEM_BYTES},
	{"llc_miss_ratio", SIGNAL_LLC_MISS_RATIO},
};
#define N_SIGNALS (sizeof(signals) / sizeof(signals[0]))

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
	for (size_t i = 0; i < N_SIGNALS; i++)
		json_object_object_add(s, signals[i].name, number(p->rate[signals[i].id]));
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
		size_t i;
		int rc;

		for (i = 0; i < N_SIGNALS && strcmp(key, signals[i].name) != 0; i++)
			;
		if (i == N_SIGNALS)
			return err_set(err, -EINVAL, "profile: signals: '%.60s' is no signal", key);
		rc = get_double(&p->rate[signals[i].id], key, v, 0.0,
			signals[i].id == SIGNAL_LLC_MISS_RATIO ? 1.0 : signal_max(signals[i].id),
			true, err);
		if (rc)
			return err_wrap(err, rc, "signals");
	}
	return 0;
}

static int get_source(struct profile *p, struct json_object *v, struct errbuf *err)
{
	int rc = get_text(p->source, sizeof(p->source), "source", v, false, err);

	if (rc)
		return rc;
	if (strcmp(p->source, "papi") != 0 && strcmp(p->source, "perf") != 0 &&
		strcmp(p->source, "cachegrind") != 0)
		return refuse(err, "source", v, "papi, perf or cachegrind");
	return 0;
}

enum {
	F_SCHEMA,
	F_TYPE,
	F_USER,
	F_NODE_TYPE,
	F_SOURCE,
	F_WAITING,
	F_THREADS,
	F_SOLO,
	F_UTILIZATION,
	F_SIGNALS,
	F_LL,
	F_TAKEN,
	F_COUNT,
	F_SPREAD,
	FIELD_COUNT
};
static const struct {
	const char *name;
	bool required;
} fields[FIELD_COUNT] = {
	[F_SCHEMA] = {"schema", false},
	[F_TYPE] = {"type", true},
	[F_USER] = {"user", false},
	[F_NODE_TYPE] = {"node_type", false},
	[F_SOURCE] = {"source", true},
	[F_WAITING] = {"waiting", false},
	[F_THREADS] = {"threads", true},
	[F_SOLO] = {"solo_s", true},
	[F_UTILIZATION] = {"utilization", true},
	[F_SIGNALS] = {"signals", true},
	[F_LL] = {"ll_bytes", false},
	[F_TAKEN] = {"taken_unix_s", false},
	[F_COUNT] = {"count", false},
	[F_SPREAD] = {"spread", false},
};

static int get_field(
	struct profile *p, int field, struct json_object *v, char waiting[16], struct errbuf *err)
{
	const char *name = fields[field].name;
	int64_t i = 0;
	int rc = 0;

	switch (field) {
	case F_SCHEMA:
		return get_int(&i, name, v, SCHEMA, SCHEMA, err);
	case F_TYPE:
		return get_text(p->type, sizeof(p->type), name, v, false, err);
	case F_USER:
		return get_text(p->user, sizeof(p->user), name, v, true, err);
	case F_NODE_TYPE:
		return get_text(p->node_type, sizeof(p->node_type), name, v, true, err);
	case F_SOURCE:
		return get_source(p, v, err);
	case F_WAITING:
		return get_text(waiting, 16, name, v, false, err);
	case F_THREADS:
		rc = get_int(&i, name, v, 1, 1 << 20, err);
		p->threads = (int)i;
		return rc;
	case F_SOLO:
		rc = get_double(&p->solo_s, name, v, 0.0, HUGE_VAL, false, err);
		return !rc && p->solo_s <= 0 ? refuse(err, name, v, "above 0") : rc;
	case F_UTILIZATION:
		rc = get_double(&p->utilization, name, v, 0.0, 1.0, false, err);
		return !rc && p->utilization <= 0 ? refuse(err, name, v, "above 0") : rc;
	case F_SIGNALS:
		return get_signals(p, v, err);
	case F_LL:
		rc = get_int(&i, name, v, 0, INT64_C(1) << 50, v ? err : NULL);
		p->ll_bytes = (double)i;
		return v ? rc : 0;
	case F_TAKEN:
		return get_int(&p->taken_unix_s, name, v, 0, INT64_C(1) << 40, err);
	case F_COUNT:
		rc = get_int(&i, name, v, 1, 1 << 20, err);
		p->count = (int)i;
		return rc;
	case F_SPREAD:
		return get_double(&p->spread, name, v, 0.0, HUGE_VAL, true, err);
	}
	return 0;
}

int profile_from_json(const struct json_object *json, struct profile *ret, struct errbuf *err)
{
	struct json_object *o = (struct json_object *)json; /* json-c's readers take no const */
	struct profile p = {.count = 1, .spread = NAN};
	bool seen[FIELD_COUNT] = {false};
	char waiting[16] = "";

	if (!json_object_is_type(o, json_type_object))
		return refuse(err, "JSON", o, "an object");
	for (int s = 0; s < SIGNAL_COUNT; s++)
		p.rate[s] = NAN;
	json_object_object_foreach(o, key, v)
	{
		int f, rc;

		for (f = 0; f < FIELD_COUNT && strcmp(key, fields[f].name) != 0; f++)
			;
		if (f == FIELD_COUNT)
			return err_set(err, -EINVAL, "profile: '%.60s' is no field", key);
		rc = get_field(&p, f, v, waiting, err);
		if (rc)
			return rc;
		seen[f] = true;
	}
	for (int f = 0; f < FIELD_COUNT; f++)
		if (fields[f].required && !seen[f])
			return err_set(err, -EINVAL, "profile: '%s' is missing", fields[f].name);
	if (seen[F_WAITING] && strcmp(waiting, waiting_of(p.source)) != 0)
		return err_set(err, -EINVAL, "profile: waiting: '%s', but %s runs are '%s'",
			waiting, p.source, waiting_of(p.source));
	p.rate[SIGNAL_UTILIZATION] = p.utilization;
	*ret = p;
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
		rc = profile_from_json(o, ret, err);
	json_object_put(o);
	json_tokener_free(tok);
	return rc;
}
