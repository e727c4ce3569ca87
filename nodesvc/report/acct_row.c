/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/report/acct.h"

#include <errno.h>
#include <limits.h>
#include <math.h>

#include "nodesvc/record/figures.h"

#define SECONDS_MAX 1e11

enum kind { ANY, SECONDS, COUNT, TEXTS, RECORDS, RECORD };

static const struct {
	const char *key;
	enum kind kind;
	int max; /* of a count */
} KEYS[] = {{"start_unix_s", SECONDS, 0}, {"end_unix_s", SECONDS, 0}, {"elapsed_s", SECONDS, 0},
	{"rebinds", COUNT, INT_MAX}, {"tasks", COUNT, INT_MAX}, {"exit_status", COUNT, 255},
	{"exit_signal", COUNT, 127}, {"coreset_history", TEXTS, 0}, {"partners", TEXTS, 0},
	{"coreset_changes", RECORDS, 0}, {"phase_changes", RECORDS, 0}, {"samples", RECORDS, 0},
	{"sample_sources", RECORD, 0},
#define CHECK_REAL                       ANY, 0
#define CHECK_TEXT                       ANY, 0
#define CHECK_COUNT                      COUNT, INT_MAX
#define CHECK_SPAN                       SECONDS, 0
#define CHECK_TIME                       SECONDS, 0
#define FIGURE(kind, member, key, since) {key, CHECK_##kind},
	STEP_FIGURES(FIGURE)};

bool acct_row_is_seconds(double value)
{
	return fabs(value) <= SECONDS_MAX; /* NaN is not */
}

static bool is_seconds(struct json_object *value)
{
	return (json_object_is_type(value, json_type_double) ||
		       json_object_is_type(value, json_type_int)) &&
	       acct_row_is_seconds(json_object_get_double(value));
}

static bool is_record(struct json_object *value)
{
	struct json_object *t = NULL;

	return json_object_is_type(value, json_type_object) &&
	       (!json_object_object_get_ex(value, "unix_s", &t) || !t || is_seconds(t));
}

static bool is_list(struct json_object *value, enum kind kind)
{
	if (!json_object_is_type(value, json_type_array))
		return false;
	for (size_t i = 0; i < json_object_array_length(value); i++) {
		struct json_object *item = json_object_array_get_idx(value, i);

		if (kind == TEXTS ? !json_object_is_type(item, json_type_string) : !is_record(item))
			return false;
	}
	return true;
}

static bool is_kind(struct json_object *value, enum kind kind, int max)
{
	int64_t n = json_object_get_int64(value);

	switch (kind) {
	case ANY:
		return true;
	case SECONDS:
		return is_seconds(value);
	case COUNT:
		return json_object_is_type(value, json_type_int) && n >= 0 && n <= max;
	case TEXTS:
	case RECORDS:
		return is_list(value, kind);
	case RECORD:
		return json_object_is_type(value, json_type_object);
	}
	return false;
}

int acct_row_check(struct json_object *row, struct errbuf *err)
{
	static const char *const EXPECTED[] = {
		[SECONDS] = "seconds",
		[COUNT] = "a count",
		[TEXTS] = "a list of texts",
		[RECORDS] = "a list of objects with times",
		[RECORD] = "an object",
	};

	if (!json_object_is_type(row, json_type_object))
		return err_set(err, -EPROTO, "no object");
	for (size_t i = 0; i < sizeof(KEYS) / sizeof(KEYS[0]); i++) {
		struct json_object *value = NULL;

		if (!json_object_object_get_ex(row, KEYS[i].key, &value) || !value ||
			is_kind(value, KEYS[i].kind, KEYS[i].max))
			continue;
		return err_set(err, -EPROTO, "'%s': %.60s is not %s", KEYS[i].key,
			json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN),
			EXPECTED[KEYS[i].kind]);
	}
	return 0;
}
