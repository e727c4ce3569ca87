/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * value.c - one JSON value at a time, checked.
 */
#include "nodesvc/trace/internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

int value_fail(const struct where *w, const char *text)
{
	char view[32] = "";

	if (w->is_list)
		snprintf(view, sizeof(view), "view %d: ", w->view);
	if (w->job)
		return err_set(w->err, -EINVAL, "%sjob %.60s: %s", view, w->job, text);
	return err_set(w->err, -EINVAL, "%s%s", view, text);
}

int value_bad(const struct where *w, const char *field, json_object *node, const char *expected)
{
	char text[200];

	snprintf(text, sizeof(text), "%.60s: %.60s: %s expected", field,
		json_object_to_json_string_ext(node, JSON_C_TO_STRING_PLAIN), expected);
	return value_fail(w, text);
}

int value_unknown_key(const struct where *w, const char *key)
{
	char text[100];

	snprintf(text, sizeof(text), "unknown key '%.60s'", key);
	return value_fail(w, text);
}

static bool is_number(json_object *o)
{
	return json_object_is_type(o, json_type_int) || json_object_is_type(o, json_type_double);
}

int value_double(const struct where *w, const char *field, json_object *o, double min, double max,
	double *ret)
{
	char expected[64];
	double x;

	if (is_number(o)) {
		x = json_object_get_double(o);
		if (isfinite(x) && x >= min && x <= max) {
			*ret = x;
			return 0;
		}
	}
	if (max < 1e300)
		snprintf(expected, sizeof(expected), "number from %g to %g", min, max);
	else
		snprintf(expected, sizeof(expected), "finite number >= %g", min);
	return value_bad(w, field, o, expected);
}

int value_int(const struct where *w, const char *field, json_object *o, int min, int max, int *ret)
{
	double x;
	char expected[64];

	/* 4.0 is a whole number too. */
	if (is_number(o)) {
		x = json_object_get_double(o);
		if (x >= min && x <= max && x == floor(x)) {
			*ret = (int)x;
			return 0;
		}
	}
	snprintf(expected, sizeof(expected), "whole number from %d to %d", min, max);
	return value_bad(w, field, o, expected);
}

int value_string(
	const struct where *w, const char *field, json_object *o, size_t max, const char **ret)
{
	if (!json_object_is_type(o, json_type_string))
		return value_bad(w, field, o, "text");
	if (json_object_get_string_len(o) < 1 || (size_t)json_object_get_string_len(o) >= max ||
		strlen(json_object_get_string(o)) != (size_t)json_object_get_string_len(o))
		return value_bad(w, field, o, "shorter, non-empty text");
	*ret = json_object_get_string(o);
	return 0;
}

static int value_coreset(
	const struct where *w, const char *field, json_object *o, struct coreset *ret)
{
	if (!json_object_is_type(o, json_type_string) ||
		coreset_parse(ret, json_object_get_string(o), NULL))
		return value_bad(w, field, o, "list of CPUs (\"0-3,8\")");
	return 0;
}

static int value_bool(const struct where *w, const char *field, json_object *o, bool *ret)
{
	if (!json_object_is_type(o, json_type_boolean))
		return value_bad(w, field, o, "true or false");
	*ret = json_object_get_boolean(o);
	return 0;
}

int value_type(const struct where *w, const char *field, json_object *o, json_type type)
{
	if (json_object_is_type(o, type))
		return 0;
	return value_bad(w, field, o, type == json_type_object ? "object" : "list");
}

int value_whole(const struct where *w, const char *field, json_object *o, double min, int64_t *ret)
{
	double x = 0;
	int rc = value_double(w, field, o, min, 9e15, &x);

	if (rc == 0 && x != floor(x))
		return value_bad(w, field, o, "whole number");
	if (rc == 0)
		*ret = (int64_t)x;
	return rc;
}

int value_member(const struct where *w, const char *field, const char *key, json_object *o,
	const struct member *table, void *ret)
{
	void *at;

	while (table->key && strcmp(table->key, key) != 0)
		table++;
	if (!table->key)
		return value_unknown_key(w, key);
	at = (char *)ret + table->at;
	switch (table->kind) {
	case MEMBER_ELSEWHERE:
		break;
	case MEMBER_INT:
		return value_int(w, field, o, (int)table->min, (int)table->max, at);
	case MEMBER_WHOLE:
		return value_whole(w, field, o, table->min, at);
	case MEMBER_REAL:
		return value_double(w, field, o, table->min, table->max, at);
	case MEMBER_BOOL:
		return value_bool(w, field, o, at);
	case MEMBER_TEXT:
		return value_string(w, field, o, (size_t)table->max, at);
	case MEMBER_CORESET:
		return value_coreset(w, field, o, at);
	}
	return 0;
}

int value_members(const struct where *w, const char *field, json_object *o,
	const struct member *table, void *ret)
{
	int rc = value_type(w, field, o, json_type_object);

	if (rc)
		return rc;
	json_object_object_foreach(o, key, value)
	{
		char name[80];

		snprintf(name, sizeof(name), "%.44s.%.20s", field, key);
		rc = value_member(w, name, key, value, table, ret);
		if (rc)
			return rc;
	}
	return 0;
}
