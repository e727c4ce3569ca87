/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/socket/internal.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "common/text.h"

#define SCHEMA 1

struct json_object *measured_to_json(const struct measurement *m)
{
	struct json_object *o = json_object_new_object();
	double sd = m->count > 1 ? sqrt(m->m2 / (m->count - 1)) : NAN;

	if (!o)
		return NULL;
	json_object_object_add(o, "measured", json_object_new_int(SCHEMA));
	json_object_object_add(o, "type", json_object_new_string(m->type));
	json_object_object_add(o, "user", json_object_new_string(m->user));
	json_object_object_add(o, "node_type", json_object_new_string(m->node_type));
	json_object_object_add(o, "cores", json_object_new_int(m->cores));
	json_object_object_add(o, "kind", json_object_new_string(measured_name(m->kind)));
	json_object_object_add(o, "signal", json_object_new_string(signal_name(m->signal)));
	json_object_object_add(o, "unit", json_object_new_string(m->unit));
	json_object_object_add(o, "source", json_object_new_string(m->source));
	json_object_object_add(o, "count", json_object_new_int(m->count));
	json_object_object_add(o, "mean", json_object_new_double(m->mean));
	json_object_object_add(o, "m2", json_object_new_double(m->m2));
	json_object_object_add(o, "spread",
		isfinite(sd) && m->mean != 0 ? json_object_new_double(sd / fabs(m->mean)) : NULL);
	json_object_object_add(o, "first_unix_s", json_object_new_int64(m->first_unix_s));
	json_object_object_add(o, "last_unix_s", json_object_new_int64(m->last_unix_s));
	return o;
}

static int refuse(struct errbuf *err, const char *field, struct json_object *v)
{
	return err_set(err, -EINVAL, "measurement: %s: %.80s cannot be", field,
		v ? json_object_to_json_string(v) : "null");
}

static bool get_text(char *ret, size_t size, struct json_object *v)
{
	const char *text = json_object_get_string(v);

	if (!json_object_is_type(v, json_type_string) || strlen(text) >= size ||
		strlen(text) != (size_t)json_object_get_string_len(v))
		return false;
	if (!text_is_clean(text))
		return false;
	strcpy(ret, text);
	return true;
}

static bool get_number(double *ret, struct json_object *v, double min, double max)
{
	double x = json_object_get_double(v);

	if ((!json_object_is_type(v, json_type_double) && !json_object_is_type(v, json_type_int)) ||
		!isfinite(x) || x < min || x > max)
		return false;
	*ret = x;
	return true;
}

static bool get_name(int *ret, struct json_object *v, const char *(*name)(int), int n)
{
	char text[32];

	if (!get_text(text, sizeof(text), v))
		return false;
	for (int i = 0; i < n; i++)
		if (strcmp(text, name(i)) == 0) {
			*ret = i;
			return true;
		}
	return false;
}

static const char *kind_name(int i)
{
	return measured_name((enum measured)i);
}

static const char *name_of_signal(int i)
{
	return signal_name((enum signal_id)i);
}

static const char *source_name(int i)
{
	return provenance_name((enum provenance)i);
}

static const char *const FIELDS[] = {"measured", "type", "user", "node_type", "cores", "kind",
	"signal", "unit", "source", "count", "mean", "m2", "spread", "first_unix_s", "last_unix_s"};
#define N_FIELDS (sizeof(FIELDS) / sizeof(FIELDS[0]))

static bool take(struct measurement *m, size_t field, struct json_object *v)
{
	double x = 0;
	int i = 0;
	bool ok = false;

	switch (field) {
	case 0:
		return get_number(&x, v, SCHEMA, SCHEMA);
	case 1:
		return get_text(m->type, sizeof(m->type), v) && *m->type;
	case 2:
		return get_text(m->user, sizeof(m->user), v);
	case 3:
		return get_text(m->node_type, sizeof(m->node_type), v);
	case 4:
		ok = get_number(&x, v, 1, CORESET_MAX);
		m->cores = (int)x;
		return ok;
	case 5:
		ok = get_name(&i, v, kind_name, MEASURED_COUNT);
		m->kind = (enum measured)i;
		return ok;
	case 6:
		ok = get_name(&i, v, name_of_signal, SIGNAL_COUNT);
		m->signal = (enum signal_id)i;
		return ok;
	case 7:
		return get_text(m->unit, sizeof(m->unit), v);
	case 8:
		return get_name(&i, v, source_name, PROVENANCE_COUNT) &&
		       get_text(m->source, sizeof(m->source), v);
	case 9:
		ok = get_number(&x, v, 1, 1e9);
		m->count = (int)x;
		return ok;
	case 10:
		return get_number(&m->mean, v, 0, HUGE_VAL);
	case 11:
		return get_number(&m->m2, v, 0, HUGE_VAL);
	case 12:
		return !v || get_number(&x, v, 0, HUGE_VAL);
	case 13:
		ok = get_number(&x, v, 0, 1e12);
		m->first_unix_s = (int64_t)x;
		return ok;
	default:
		ok = get_number(&x, v, 0, 1e12);
		m->last_unix_s = (int64_t)x;
		return ok;
	}
}

static int from_json(struct json_object *o, struct measurement *ret, struct errbuf *err)
{
	struct measurement m = {0};
	bool seen[N_FIELDS] = {false};

	if (!json_object_is_type(o, json_type_object))
		return refuse(err, "JSON", o);
	json_object_object_foreach(o, key, v)
	{
		size_t f;

		for (f = 0; f < N_FIELDS && strcmp(key, FIELDS[f]) != 0; f++)
			;
		if (f == N_FIELDS)
			return err_set(err, -EINVAL, "measurement: '%.60s' is no field", key);
		if (!take(&m, f, v))
			return refuse(err, key, v);
		seen[f] = true;
	}
	for (size_t f = 0; f < N_FIELDS; f++)
		if (!seen[f] && strcmp(FIELDS[f], "spread") != 0)
			return err_set(err, -EINVAL, "measurement: '%s' is missing", FIELDS[f]);
	*ret = m;
	return 0;
}

int measured_from_text(const char *text, struct measurement *ret, struct errbuf *err)
{
	struct json_object *o = json_tokener_parse(text);
	int rc = o ? from_json(o, ret, err) : err_set(err, -EINVAL, "measurement: no JSON");

	json_object_put(o);
	return rc;
}

bool measured_is_text(const char *text)
{
	struct json_object *o = json_tokener_parse(text), *v;
	bool is = o && json_object_is_type(o, json_type_object) &&
		  json_object_object_get_ex(o, "measured", &v);

	json_object_put(o);
	return is;
}
