/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/record/record.h"

#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>

#include "common/cleanup.h"
#include "common/ipc.h"
#include "common/text.h"
#include "nodesvc/record/record_internal.h"

#define NS_PER_S 1e9
/* A list longer than this is a mistake, and each entry is compared with every row. */
#define LIST_MAX 4096

struct query {
	struct step_filter filter;
	struct step_term *term;
	uint32_t (*job_step)[2];
	uint32_t *uid;
	int n_uids;
	uint32_t states; /* bit per enum step_state; 0 all */
	/* Lists of text, NULL all; the filter's own. */
	struct json_object *accounts, *partitions, *names, *nodes;
	bool truncate, history;
	struct record *record;
	int64_t now_ns;
	int (*emit)(const char *json_row, void *arg);
	void *arg;
	bool out_of_memory;
};

static void put_json(struct json_object **o)
{
	json_object_put(*o);
}
#define cleanup_json __attribute__((cleanup(put_json)))

/* An older Coloc stored the users' bytes as they came. */
static struct json_object *text_or_null(const char *text)
{
	cleanup_free char *copy = text ? strdup(text) : NULL;

	return copy ? json_object_new_string(text_clean(copy)) : NULL;
}

static struct json_object *int_or_null(int64_t value, int64_t blank)
{
	return value == blank ? NULL : json_object_new_int64(value);
}

static struct json_object *time_or_null(int64_t t_ns)
{
	char text[40];

	if (t_ns == 0)
		return NULL;
	/* Digits by hand: microseconds, where a plain double prints 17 digits. */
	snprintf(text, sizeof(text), "%lld.%06lld", (long long)(t_ns / 1000000000),
		(long long)(t_ns % 1000000000 / 1000));
	return json_object_new_double_s((double)t_ns / NS_PER_S, text);
}

/* "a;b" -> ["a","b"]; NULL -> null. */
static struct json_object *list_or_null(const char *text, char separator)
{
	cleanup_free char *copy = text ? strdup(text) : NULL;
	struct json_object *list;

	if (!copy)
		return NULL;
	list = json_object_new_array();
	text = text_clean(copy);
	while (list) {
		const char *end = strchrnul(text, separator);

		json_object_array_add(list, json_object_new_string_len(text, (int)(end - text)));
		if (!*end)
			break;
		text = end + 1;
	}
	return list;
}

static struct json_object *step_name(uint32_t step_id)
{
	char text[STEP_ID_STR_MAX];

	if (step_id < STEP_ID_INTERACTIVE)
		return json_object_new_int64(step_id);
	step_id_format(0, step_id, 0, ARRAY_TASK_NONE, text, sizeof(text));
	return json_object_new_string(strchr(text, '.') + 1);
}

static struct json_object *real_or_null(double value)
{
	char text[40];

	if (!isfinite(value))
		return NULL;
	snprintf(text, sizeof(text), "%.9g", value);
	return json_object_new_double_s(value, text);
}

static struct json_object *span_or_null(int64_t ns)
{
	return ns < 0 ? NULL : real_or_null((double)ns / NS_PER_S);
}

#define JSON_REAL(value)  real_or_null(value)
#define JSON_TEXT(value)  text_or_null(value)
#define JSON_COUNT(value) int_or_null(value, FIGURE_NO_COUNT)
#define JSON_SPAN(value)  span_or_null(value)
#define JSON_TIME(value)  time_or_null(value)

static void add_figures(struct json_object *o, const struct step_figures *f)
{
#define ADD(kind, member, key, since) json_object_object_add(o, key, JSON_##kind(f->member));
	STEP_FIGURES(ADD)
}

static int add_coreset(int64_t t_ns, const char *coreset, const char *why, void *arg)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "unix_s", time_or_null(t_ns));
	json_object_object_add(o, "coreset", text_or_null(coreset));
	json_object_object_add(o, "why", text_or_null(why));
	return json_object_array_add(arg, o);
}

static int add_phase(int64_t t_ns, const char *signature, void *arg)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "unix_s", time_or_null(t_ns));
	json_object_object_add(o, "signature", text_or_null(signature));
	return json_object_array_add(arg, o);
}

struct sample_lists {
	struct json_object *samples, *sources;
};

static int add_sample(int64_t t_ns, const struct signal *signal, void *arg)
{
	struct json_object *o = json_object_new_object();
	struct sample_lists *lists = arg;

	json_object_object_add(o, "unix_s", time_or_null(t_ns));
	for (int i = 0; i < SIGNAL_COUNT; i++) {
		const char *name = record_signal_name((enum signal_id)i);

		if (signal[i].provenance == PROVENANCE_NONE)
			continue;
		json_object_object_add(o, name, real_or_null(signal[i].value));
		json_object_object_add(lists->sources, name,
			json_object_new_string(provenance_name(signal[i].provenance)));
	}
	return json_object_array_add(lists->samples, o);
}

static int add_history(struct json_object *o, struct record *r, int64_t row_id)
{
	struct json_object *coresets = json_object_new_array(), *phases = json_object_new_array();
	struct sample_lists lists = {json_object_new_array(), json_object_new_object()};
	int rc;

	json_object_object_add(o, "coreset_changes", coresets);
	json_object_object_add(o, "phase_changes", phases);
	json_object_object_add(o, "samples", lists.samples);
	json_object_object_add(o, "sample_sources", lists.sources);
	if (!coresets || !phases || !lists.samples || !lists.sources)
		return -ENOMEM;
	rc = record_coreset_list(r, row_id, add_coreset, coresets, NULL);
	if (rc == 0)
		rc = record_phase_list(r, row_id, add_phase, phases, NULL);
	if (rc == 0)
		rc = record_sample_list(r, row_id, add_sample, &lists, NULL);
	return rc;
}

static struct json_object *row_json(const struct step_row *row, int64_t now_ns)
{
	struct json_object *o = json_object_new_object();
	int64_t until = row->end_ns ? row->end_ns : now_ns;
	char id[STEP_ID_STR_MAX], elapsed[40];

	if (!o)
		return NULL;
	step_id_format(
		row->job_id, row->step_id, row->array_job_id, row->array_task_id, id, sizeof(id));
	json_object_object_add(o, "id", json_object_new_string(id));
	json_object_object_add(o, "job_id", json_object_new_int64(row->job_id));
	json_object_object_add(o, "step_id", step_name(row->step_id));
	json_object_object_add(o, "array_job_id", int_or_null(row->array_job_id, 0));
	json_object_object_add(
		o, "array_task_id", int_or_null(row->array_task_id, ARRAY_TASK_NONE));
	json_object_object_add(o, "node", text_or_null(row->node));
	json_object_object_add(o, "name", text_or_null(row->name));
	json_object_object_add(o, "program", text_or_null(row->program));
	json_object_object_add(o, "uid", json_object_new_int64(row->uid));
	json_object_object_add(o, "user", text_or_null(row->user));
	json_object_object_add(o, "account", text_or_null(row->account));
	json_object_object_add(o, "partition", text_or_null(row->partition));
	json_object_object_add(o, "policy", text_or_null(row->policy));
	json_object_object_add(o, "req_policy", text_or_null(row->req_policy));
	json_object_object_add(o, "reason", text_or_null(row->reason));
	json_object_object_add(o, "cores", int_or_null(row->cores, 0));
	json_object_object_add(o, "coreset", text_or_null(row->coreset));
	json_object_object_add(o, "coreset_history", list_or_null(row->coreset_history, ';'));
	json_object_object_add(o, "partners", list_or_null(row->partners, ','));
	json_object_object_add(o, "start_unix_s", time_or_null(row->start_ns));
	json_object_object_add(o, "end_unix_s", time_or_null(row->end_ns));
	if (until < row->start_ns) /* the clock was set back */
		until = row->start_ns;
	snprintf(elapsed, sizeof(elapsed), "%lld.%03lld",
		(long long)((until - row->start_ns) / 1000000000),
		(long long)((until - row->start_ns) % 1000000000 / 1000000));
	json_object_object_add(o, "elapsed_s",
		json_object_new_double_s((double)(until - row->start_ns) / NS_PER_S, elapsed));
	json_object_object_add(o, "rebinds", json_object_new_int(row->rebinds));
	json_object_object_add(o, "tasks", int_or_null(row->tasks, 0));
	json_object_object_add(o, "exit_status",
		row->exit_code < 0 ? NULL : json_object_new_int(WEXITSTATUS(row->exit_code)));
	json_object_object_add(o, "exit_signal",
		row->exit_code < 0 ? NULL : json_object_new_int(row->exit_code & 0x7f));
	json_object_object_add(o, "state", json_object_new_string(step_state_name(row->state)));
	json_object_object_add(o, "dry_run", json_object_new_boolean(row->dry_run));
	add_figures(o, row->figures);
	return o;
}

/* @list NULL: all; else exactly one of them, as sacct compares. */
static bool is_listed(struct json_object *list, const char *text)
{
	cleanup_free char *shown = list && text ? strdup(text) : NULL;

	if (shown)
		text_clean(shown);
	if (!list)
		return true;
	for (size_t i = 0; shown && i < json_object_array_length(list); i++) {
		if (strcmp(json_object_get_string(json_object_array_get_idx(list, i)), shown) == 0)
			return true;
	}
	return false;
}

static bool is_wanted(const struct query *q, const struct step_row *row)
{
	bool found = q->filter.n_job_steps == 0;

	if (q->states && !(q->states & (1U << row->state)))
		return false;
	for (int i = 0; !found && i < q->filter.n_job_steps; i++)
		found = step_term_matches(&q->term[i], row->job_id, row->step_id, row->array_job_id,
			row->array_task_id);
	if (!found || !is_listed(q->accounts, row->account) ||
		!is_listed(q->partitions, row->partition) || !is_listed(q->names, row->name) ||
		!is_listed(q->nodes, row->node))
		return false;
	if (q->n_uids == 0)
		return true;
	for (int i = 0; i < q->n_uids; i++) {
		if (q->uid[i] == row->uid)
			return true;
	}
	return false;
}

/* Started before or ended after the window: as if it had at its edge. */
static void truncate_row(const struct query *q, struct step_row *row)
{
	if (row->start_ns < q->filter.from_ns)
		row->start_ns = q->filter.from_ns;
	if (q->filter.to_ns && (row->end_ns > q->filter.to_ns ||
				       (row->end_ns == 0 && q->now_ns > q->filter.to_ns)))
		row->end_ns = q->filter.to_ns;
}

static int emit_row(const struct step_row *row, void *arg)
{
	struct query *q = arg;
	cleanup_json struct json_object *o = NULL;
	struct step_row cut = *row;
	const char *text;

	if (!is_wanted(q, row))
		return 0;
	if (q->truncate)
		truncate_row(q, &cut);
	o = row_json(&cut, q->now_ns);
	if (o && q->history && add_history(o, q->record, row->row_id) < 0) {
		q->out_of_memory = true;
		return -ENOMEM;
	}
	text = o ? json_object_to_json_string_ext(o, JSON_C_TO_STRING_NOSLASHESCAPE) : NULL;
	if (!text) {
		q->out_of_memory = true;
		return -ENOMEM;
	}
	return q->emit(text, q->arg);
}

/* An array of at most LIST_MAX; its length or -EINVAL. */
static int check_list(struct json_object *o, const char *key, struct errbuf *err)
{
	if (!json_object_is_type(o, json_type_array))
		return err_set(err, -EINVAL, "filter: '%s' must be a list", key);
	if (json_object_array_length(o) > LIST_MAX)
		return err_set(
			err, -EINVAL, "filter: '%s' has more than %d entries", key, LIST_MAX);
	return (int)json_object_array_length(o);
}

static int read_jobs(struct query *q, struct json_object *o, struct errbuf *err)
{
	int n = check_list(o, "jobs", err);

	if (n <= 0)
		return n;
	q->term = calloc((size_t)n, sizeof(*q->term));
	q->job_step = calloc((size_t)n, sizeof(*q->job_step));
	if (!q->term || !q->job_step)
		return err_set(err, -ENOMEM, "filter: out of memory");
	for (int i = 0; i < n; i++) {
		const char *text = json_object_get_string(json_object_array_get_idx(o, (size_t)i));
		int rc = step_term_parse(text ? text : "", &q->term[i], err);

		if (rc < 0)
			return err_wrap(err, rc, "filter: jobs");
		q->job_step[i][0] = q->term[i].job_id;
		q->job_step[i][1] = q->term[i].step_id;
	}
	q->filter.job_step = (const uint32_t(*)[2])q->job_step;
	q->filter.n_job_steps = n;
	return 0;
}

static int read_uids(struct query *q, struct json_object *o, struct errbuf *err)
{
	int n = check_list(o, "uids", err);

	if (n <= 0)
		return n;
	q->uid = calloc((size_t)n, sizeof(*q->uid));
	if (!q->uid)
		return err_set(err, -ENOMEM, "filter: out of memory");
	for (int i = 0; i < n; i++) {
		struct json_object *item = json_object_array_get_idx(o, (size_t)i);
		int64_t value = json_object_get_int64(item);

		if (!json_object_is_type(item, json_type_int) || value < 0 || value >= UINT32_MAX)
			return err_set(err, -EINVAL, "filter: uids: '%s' is no user id",
				item ? json_object_get_string(item) : "null");
		q->uid[i] = (uint32_t)value;
	}
	q->n_uids = n;
	return 0;
}

static int read_states(struct query *q, struct json_object *o, struct errbuf *err)
{
	int n = check_list(o, "states", err);

	for (int i = 0; i < n; i++) {
		const char *text = json_object_get_string(json_object_array_get_idx(o, (size_t)i));
		int s = 0;

		while (s <= STEP_UNKNOWN &&
			strcasecmp(text ? text : "", step_state_name((enum step_state)s)) != 0)
			s++;
		if (s > STEP_UNKNOWN)
			return err_set(err, -EINVAL, "filter: states: unknown state '%s'",
				text ? text : "");
		q->states |= 1U << s;
	}
	return n < 0 ? n : 0;
}

static int read_texts(
	struct json_object **ret, struct json_object *o, const char *key, struct errbuf *err)
{
	int n = check_list(o, key, err);

	for (int i = 0; i < n; i++) {
		struct json_object *item = json_object_array_get_idx(o, (size_t)i);
		cleanup_free char *copy = NULL;

		if (!json_object_is_type(item, json_type_string))
			return err_set(err, -EINVAL, "filter: '%s' must hold text", key);
		/* Names are compared as they are shown. */
		copy = strdup(json_object_get_string(item));
		if (!copy || !json_object_set_string(item, text_clean(copy)))
			return err_set(err, -ENOMEM, "filter: out of memory");
	}
	*ret = o;
	return n < 0 ? n : 0;
}

static int read_bool(struct json_object *o, const char *key, bool *ret, struct errbuf *err)
{
	if (!json_object_is_type(o, json_type_boolean))
		return err_set(err, -EINVAL, "filter: '%s' must be true or false", key);
	*ret = json_object_get_boolean(o);
	return 0;
}

static int read_time(struct json_object *o, const char *key, int64_t *ret, struct errbuf *err)
{
	if (!json_object_is_type(o, json_type_int) || json_object_get_int64(o) < 0)
		return err_set(err, -EINVAL, "filter: '%s' must be nanoseconds since 1970", key);
	*ret = json_object_get_int64(o);
	return 0;
}

static int read_filter(struct query *q, struct json_object *root, struct errbuf *err)
{
	int rc = 0;

	if (!json_object_is_type(root, json_type_object))
		return err_set(err, -EINVAL, "filter: not a JSON object");
	json_object_object_foreach(root, key, value)
	{
		if (strcmp(key, "jobs") == 0)
			rc = read_jobs(q, value, err);
		else if (strcmp(key, "uids") == 0)
			rc = read_uids(q, value, err);
		else if (strcmp(key, "states") == 0)
			rc = read_states(q, value, err);
		else if (strcmp(key, "from_ns") == 0)
			rc = read_time(value, key, &q->filter.from_ns, err);
		else if (strcmp(key, "to_ns") == 0)
			rc = read_time(value, key, &q->filter.to_ns, err);
		else if (strcmp(key, "accounts") == 0)
			rc = read_texts(&q->accounts, value, key, err);
		else if (strcmp(key, "partitions") == 0)
			rc = read_texts(&q->partitions, value, key, err);
		else if (strcmp(key, "names") == 0)
			rc = read_texts(&q->names, value, key, err);
		else if (strcmp(key, "nodes") == 0)
			rc = read_texts(&q->nodes, value, key, err);
		else if (strcmp(key, "duplicates") == 0)
			rc = read_bool(value, key, &q->filter.duplicates, err);
		else if (strcmp(key, "truncate") == 0)
			rc = read_bool(value, key, &q->truncate, err);
		else if (strcmp(key, "history") == 0)
			rc = read_bool(value, key, &q->history, err);
		else
			rc = err_set(err, -EINVAL, "filter: unknown key '%s'", key);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int acct_query_json(struct record *r, uint32_t uid, const char *filter_json,
	int (*emit)(const char *json_row, void *arg), void *arg, struct errbuf *err)
{
	struct query q = {.emit = emit, .arg = arg, .record = r, .now_ns = ipc_unix_ns()};
	cleanup_json struct json_object *root = NULL;
	int rc = 0;

	if (filter_json && *filter_json) {
		root = json_tokener_parse(filter_json);
		rc = read_filter(&q, root, err);
	}
	if (rc == 0 && uid) {
		for (int i = 0; rc == 0 && i < q.n_uids; i++) {
			if (q.uid[i] != uid)
				rc = err_set(err, -EPERM, "only root sees the rows of other users");
		}
		q.filter.has_uid = true;
		q.filter.uid = uid;
	}
	if (rc == 0)
		rc = record_step_list(r, &q.filter, emit_row, &q, err);
	if (q.out_of_memory)
		rc = err_set(err, -ENOMEM, "out of memory");
	free(q.term);
	free(q.job_step);
	free(q.uid);
	return rc;
}
