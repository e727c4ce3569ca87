/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/report/acct.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <wchar.h>

#include "common/text.h"

#define WIDTH_MAX 4096

static void cell_text(struct json_object *row, const char *key, char *buf, size_t size)
{
	struct json_object *value = json_object_object_get(row, key);

	if (value)
		snprintf(buf, size, "%s", json_object_get_string(value));
}

/* "7_3.0" is the array's name for it; raw is Slurm's own job id. */
static void cell_raw_id(struct json_object *row, const char *key, char *buf, size_t size)
{
	struct json_object *job = json_object_object_get(row, key),
			   *step = json_object_object_get(row, "step_id");

	if (job)
		snprintf(buf, size, "%s%s%s", json_object_get_string(job), step ? "." : "",
			step ? json_object_get_string(step) : "");
}

/* A list, joined as the record joins it: placements by ';', since a coreset holds ','. */
static void cell_list(struct json_object *row, const char *key, char *buf, size_t size)
{
	struct json_object *list = json_object_object_get(row, key);
	char separator = strcmp(key, "coreset_history") == 0 ? ';' : ',';
	size_t len = 0;

	if (!json_object_is_type(list, json_type_array))
		return;
	for (size_t i = 0; i < json_object_array_length(list) && len < size; i++) {
		const char *text = json_object_get_string(json_object_array_get_idx(list, i));

		if (i > 0 && len + 1 < size)
			buf[len++] = separator;
		len += (size_t)snprintf(buf + len, size - len, "%s", text ? text : "");
	}
}

static void cell_elapsed(struct json_object *row, const char *key, char *buf, size_t size)
{
	struct json_object *value = json_object_object_get(row, key);

	if (value)
		acct_time_elapsed((int64_t)json_object_get_double(value), buf, size);
}

static void cell_seconds(struct json_object *row, const char *key, char *buf, size_t size)
{
	struct json_object *value = json_object_object_get(row, key);

	if (value)
		snprintf(buf, size, "%lld", (long long)json_object_get_double(value));
}

static void cell_time(struct json_object *row, const char *key, char *buf, size_t size)
{
	struct json_object *value = json_object_object_get(row, key);
	const char *format = getenv("SLURM_TIME_FORMAT");
	struct tm tm;
	time_t t;

	if (!value)
		return;
	t = (time_t)json_object_get_double(value);
	localtime_r(&t, &tm);
	/* As sacct: a format, or the word "standard". */
	if (!format || !strchr(format, '%'))
		format = "%Y-%m-%dT%H:%M:%S";
	if (strftime(buf, size, format, &tm) == 0)
		*buf = '\0';
}

static void cell_exit(struct json_object *row, const char *key, char *buf, size_t size)
{
	struct json_object *status = json_object_object_get(row, key),
			   *sig = json_object_object_get(row, "exit_signal");

	if (status)
		snprintf(buf, size, "%d:%d", json_object_get_int(status), json_object_get_int(sig));
}

/* "1.52 (1.40-1.64)": a gain and its 95 % interval; one without an interval is not printed. */
static void cell_gain(struct json_object *row, const char *key, char *buf, size_t size)
{
	struct json_object *value = json_object_object_get(row, key), *lo, *hi;
	char bound[48];

	snprintf(bound, sizeof(bound), "%s_lo", key);
	lo = json_object_object_get(row, bound);
	snprintf(bound, sizeof(bound), "%s_hi", key);
	hi = json_object_object_get(row, bound);
	if (value && lo && hi)
		snprintf(buf, size, "%.3f (%.3f-%.3f)", json_object_get_double(value),
			json_object_get_double(lo), json_object_get_double(hi));
}

static void cell_ratio(struct json_object *row, const char *key, char *buf, size_t size)
{
	struct json_object *value = json_object_object_get(row, key);

	if (value)
		snprintf(buf, size, "%.3f", json_object_get_double(value));
}

static void cell_bool(struct json_object *row, const char *key, char *buf, size_t size)
{
	struct json_object *value = json_object_object_get(row, key);

	if (value)
		snprintf(buf, size, "%s", json_object_get_boolean(value) ? "yes" : "no");
}

const struct acct_field ACCT_FIELDS[] = {
	{"JobID", false, cell_text, "id", "job and step, in an array ARRAYJOB_TASK.STEP", false},
	{"JobIDRaw", false, cell_raw_id, "job_id", "job and step by Slurm's own job id", false},
	{"JobName", false, cell_text, "name", "name of the job", false},
	{"Program", false, cell_text, "program", "what ran, or --coloc-type", false},
	{"User", false, cell_text, "user", "user name", false},
	{"UID", true, cell_text, "uid", "user id", false},
	{"Account", false, cell_text, "account", "account charged", false},
	{"Partition", false, cell_text, "partition", "Slurm's partition", false},
	{"NodeList", false, cell_text, "node", "node it ran on", false},
	{"Policy", false, cell_text, "policy", "policy that ruled", false},
	{"ReqPolicy", false, cell_text, "req_policy", "policy that was asked for", false},
	{"Cores", true, cell_text, "cores", "cores of the last coreset", false},
	{"Coreset", false, cell_text, "coreset", "cores it had last", false},
	{"CoresetHistory", false, cell_list, "coreset_history", "every coreset, in order", false},
	{"Partners", false, cell_list, "partners", "steps it shared the node with", false},
	{"NTasks", true, cell_text, "tasks", "tasks on this node", false},
	{"Start", false, cell_time, "start_unix_s", "when it started", false},
	{"End", false, cell_time, "end_unix_s", "when it ended", false},
	{"Elapsed", true, cell_elapsed, "elapsed_s", "[DD-]HH:MM:SS", false},
	{"ElapsedRaw", true, cell_seconds, "elapsed_s", "seconds", false},
	{"Rebinds", true, cell_text, "rebinds", "changes of placement after the first", false},
	{"State", false, cell_text, "state", "RUNNING, COMPLETED, FAILED or UNKNOWN", false},
	{"ExitCode", true, cell_exit, "exit_status", "STATUS:SIGNAL, the highest of its tasks",
		false},
	{"Moves", true, cell_text, "moves", "moves of this step", false},
	{"Phases", true, cell_text, "phases", "changes of phase", false},
	{"SoloSpeed", true, cell_text, "solo_speed", "speed alone", true},
	{"SharedSpeed", true, cell_text, "shared_speed", "speed in company", true},
	{"SpeedUnit", false, cell_text, "speed_unit", "of both, per second", false},
	{"SpeedBasis", false, cell_text, "speed_basis", "how SoloSpeed is known", false},
	{"NTT", true, cell_ratio, "ntt_full", "slow-down against running alone", false},
	{"NTTShare", true, cell_ratio, "ntt_share", "against alone on the cores it had", false},
	{"STP", true, cell_ratio, "stp_full", "throughput of the co-run: sum of 1/NTT", false},
	{"STPShare", true, cell_ratio, "stp_share", "the same, by NTTShare", false},
	{"ANTT", true, cell_ratio, "antt_full", "mean NTT of the co-run", false},
	{"ANTTShare", true, cell_ratio, "antt_share", "the same, by NTTShare", false},
	{"Gain", false, cell_gain, "gain_placement", "over Slurm's placement (95 %)", false},
	{"GainLaunch", false, cell_gain, "gain_launch", "over plain launches (95 %)", false},
	{"GainBasis", false, cell_text, "gain_basis", "signal behind the gains", false},
	{"Windows", true, cell_text, "windows", "paired windows behind Gain", false},
	{"Launch", false, cell_text, "launch", "lever, control or withheld: without", false},
	{"Launches", true, cell_text, "launches", "of each kind behind GainLaunch", false},
	{"Unmeasured", true, cell_ratio, "unmeasured_s", "seconds in which nobody measured", false},
	{"UnmeasuredFrom", false, cell_time, "unmeasured_from_unix_s", "the first time from",
		false},
	{"UnmeasuredTo", false, cell_time, "unmeasured_to_unix_s", "the last time to", false},
	{"Guard", false, cell_text, "guard", "better or worse than Slurm's placement", false},
	{"Waits", false, cell_text, "waits", "why it did not run, the largest part first", false},
	{"DryRun", false, cell_bool, "dry_run", "decided and recorded, but not touched", false},
	{"Reason", false, cell_text, "reason", "why it was not placed, or placed so", false},
	{NULL, false, NULL, NULL, NULL, false},
};

static const struct acct_field *find(const char *name, size_t len)
{
	const struct acct_field *f;

	for (f = ACCT_FIELDS; f->name; f++) {
		if (strlen(f->name) == len && strncasecmp(f->name, name, len) == 0)
			return f;
	}
	for (f = ACCT_FIELDS; f->name; f++) {
		if (strncasecmp(f->name, name, len) == 0)
			return f;
	}
	return NULL;
}

static int add(struct acct_format *f, const struct acct_field *field, int width, bool right,
	struct errbuf *err)
{
	if (f->n == ACCT_COLUMNS_MAX)
		return err_set(err, -E2BIG, "more than %d fields", ACCT_COLUMNS_MAX);
	f->column[f->n++] = (struct acct_column){.field = field, .width = width, .right = right};
	return 0;
}

static int parse_one(const char *text, size_t len, struct acct_format *f, struct errbuf *err)
{
	const char *percent = memchr(text, '%', len);
	size_t name_len = percent ? (size_t)(percent - text) : len;
	const struct acct_field *field;
	bool right;
	long width = 0;

	if (name_len == 3 && strncasecmp(text, "all", 3) == 0 && !percent) {
		int rc = 0;

		for (field = ACCT_FIELDS; rc == 0 && field->name; field++)
			rc = add(f, field, 0, field->right, err);
		return rc;
	}
	field = name_len ? find(text, name_len) : NULL;
	if (!field)
		return err_set(err, -EINVAL, "unknown field '%.*s' (see --helpformat)",
			(int)name_len, text);
	right = field->right;
	if (percent) {
		const char *p = percent + 1;
		char *end;

		right = *p != '-';
		if (*p == '-')
			p++;
		width = isdigit((unsigned char)*p) ? strtol(p, &end, 10) : 0;
		if (width < 1 || width > WIDTH_MAX || end != text + len)
			return err_set(err, -EINVAL, "field '%.*s': bad width '%.*s' (1 to %d)",
				(int)name_len, text, (int)(text + len - percent - 1), percent + 1,
				WIDTH_MAX);
	}
	return add(f, field, (int)width, right, err);
}

int acct_format_parse(const char *text, struct acct_format *ret, struct errbuf *err)
{
	struct acct_format f = {0};

	while (*text) {
		size_t len = strcspn(text, ",");

		if (len > 0) {
			int rc = parse_one(text, len, &f, err);

			if (rc < 0)
				return rc;
		}
		text += len;
		text += *text == ',';
	}
	if (f.n == 0)
		return err_set(err, -EINVAL, "no field given");
	*ret = f;
	return 0;
}

/* Speeds, by thousands: "6.60K". */
static void convert(char *buf, size_t size, char unit)
{
	static const char UNIT[] = "KMGTP";
	double value = strtod(buf, NULL);
	char which = 0;

	if (!*buf || unit == '-')
		return;
	if (unit || fabs(value) >= 10000) {
		const char *u = UNIT;

		do {
			value /= 1000;
			which = *u++;
		} while (*u && (unit ? which != unit : fabs(value) >= 1000));
	}
	if (which)
		snprintf(buf, size, "%.2f%c", value, which);
	else
		snprintf(buf, size, "%.6g", value);
}

char *acct_cell(const struct acct_column *c, struct json_object *row, char *buf, size_t size)
{
	*buf = '\0';
	c->field->cell(row, c->field->key, buf, size);
	if (c->field->unit)
		convert(buf, size, c->unit);
	return text_clean(buf);
}

/* Bytes and columns of the character at @text; an invalid byte counts as one column. */
static int next_char(const char *text, int *ret_columns)
{
	mbstate_t state = {0};
	wchar_t wc;
	size_t n = mbrtowc(&wc, text, strlen(text), &state);
	int columns;

	if (n == 0 || n == (size_t)-1 || n == (size_t)-2) {
		*ret_columns = 1;
		return 1;
	}
	columns = wcwidth(wc);
	*ret_columns = columns < 0 ? 1 : columns;
	return (int)n;
}

int acct_text_width(const char *text)
{
	int width = 0, columns;

	while (*text) {
		text += next_char(text, &columns);
		width += columns;
	}
	return width;
}

void acct_cut(char *text, int width)
{
	char *p = text;
	int used = 0, columns;

	if (acct_text_width(text) <= width)
		return;
	while (*p) {
		int n = next_char(p, &columns);

		if (used + columns > width - 1)
			break;
		used += columns;
		p += n;
	}
	p[0] = '+';
	p[1] = '\0';
}
