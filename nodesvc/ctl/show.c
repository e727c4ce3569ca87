/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/ctl/ctl.h"

#include <libsmartcols.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text.h"

#define DAY_S 86400

struct json_object *show_get(struct json_object *o, const char *key)
{
	struct json_object *value = NULL;

	if (json_object_is_type(o, json_type_object))
		json_object_object_get_ex(o, key, &value);
	return value;
}

const char *show_text(struct json_object *o, const char *key)
{
	struct json_object *value = show_get(o, key);

	const char *text = value ? json_object_get_string(value) : "";
	char *copy;

	/* Names are the users', and the service may be an older one, which sent them as they came.
	 */
	if (text_is_clean(text) || !json_object_is_type(value, json_type_string))
		return text;
	copy = strdup(text);
	json_object_set_string(value, copy ? text_clean(copy) : "");
	free(copy);
	return json_object_get_string(value);
}

int64_t show_int(struct json_object *o, const char *key, int64_t blank)
{
	struct json_object *value = show_get(o, key);

	return value ? json_object_get_int64(value) : blank;
}

double show_double(struct json_object *o, const char *key)
{
	struct json_object *value = show_get(o, key);

	return value ? json_object_get_double(value) : (double)NAN;
}

bool show_bool(struct json_object *o, const char *key)
{
	return json_object_get_boolean(show_get(o, key));
}

char *show_list(struct json_object *o, const char *key, char *buf, size_t size)
{
	struct json_object *list = show_get(o, key);
	size_t len = 0;

	*buf = '\0';
	if (list && !json_object_is_type(list, json_type_array)) {
		snprintf(buf, size, "%s", json_object_get_string(list));
		return buf;
	}
	for (size_t i = 0; list && i < json_object_array_length(list) && len < size; i++) {
		const char *text = json_object_get_string(json_object_array_get_idx(list, i));

		len += (size_t)snprintf(
			buf + len, size - len, "%s%s", i ? ", " : "", text ? text : "");
	}
	return buf;
}

char *show_si(double value, char *buf, size_t size)
{
	static const char *const UNIT[] = {"", "k", "M", "G", "T", "P"};
	int u = 0;

	*buf = '\0';
	if (isnan(value))
		return buf;
	while (fabs(value) >= 999.5 && u < 5) {
		value /= 1000;
		u++;
	}
	snprintf(buf, size, "%.3g%s", value, UNIT[u]);
	return buf;
}

char *show_elapsed(double seconds, char *buf, size_t size)
{
	long long s;
	int rest;

	*buf = '\0';
	if (isnan(seconds) || seconds < 0 || seconds > 1e12)
		return buf;
	s = (long long)seconds;
	rest = (int)(s % DAY_S);
	if (s >= DAY_S)
		snprintf(buf, size, "%lld-%02d:%02d:%02d", s / DAY_S, rest / 3600, rest / 60 % 60,
			rest % 60);
	else
		snprintf(buf, size, "%02d:%02d:%02d", rest / 3600, rest / 60 % 60, rest % 60);
	return buf;
}

struct show_table {
	struct libscols_table *table;
	int n_columns;
};

struct show_table *show_table_create(const char *columns)
{
	struct show_table *t = calloc(1, sizeof(*t));
	cleanup_free char *copy = strdup(columns);
	char *save = NULL;

	if (!t || !copy || !(t->table = scols_new_table())) {
		free(t);
		return NULL;
	}
	scols_table_set_termforce(t->table, SCOLS_TERMFORCE_NEVER);
	scols_table_set_column_separator(t->table, "  ");
	for (char *name = strtok_r(copy, "|", &save); name; name = strtok_r(NULL, "|", &save)) {
		bool right = *name == '>';

		scols_table_new_column(
			t->table, right ? name + 1 : name, 0, right ? SCOLS_FL_RIGHT : 0);
		t->n_columns++;
	}
	return t;
}

void show_table_row(struct show_table *t, const char *const *cells)
{
	struct libscols_line *line = t ? scols_table_new_line(t->table, NULL) : NULL;

	for (int i = 0; line && i < t->n_columns; i++) {
		cleanup_free char *text = strdup(cells[i] ? cells[i] : "");

		if (text)
			scols_line_set_data(line, (size_t)i, text_clean(text));
	}
}

int show_table_print(struct show_table *t, FILE *f, const char *none)
{
	int rc = 1;

	if (!t)
		return rc;
	scols_table_set_stream(t->table, f);
	if (scols_table_get_nlines(t->table) == 0)
		fprintf(f, "%s\n", none); /* the library would leave even the heading out */
	rc = scols_print_table(t->table) == 0 ? 0 : 1;
	scols_unref_table(t->table);
	free(t);
	return rc;
}

void show_line(FILE *f, const char *name, const char *fmt, ...)
{
	va_list ap;

	fprintf(f, "%-14s ", name);
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fputc('\n', f);
}
