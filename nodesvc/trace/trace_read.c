/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/infile.h"
#include "nodesvc/trace/trace.h"
#include "nodesvc/trace/internal.h"

#define LINE_BYTES_MAX (64u << 20)

struct trace_reader {
	FILE *f;
	char path[160];
	char *text; /* the line at hand */
	size_t size;
	int line;
	bool cut; /* the last line had no end */
	struct topo *topo;
	struct trace_head head;
	json_object *head_json, *json; /* of the head, of the line at hand */
	struct view_file *view;
};

/* "FILE:LINE: " before the text. */
static int at_line(const struct trace_reader *r, int rc, struct errbuf *err)
{
	return err_wrap(err, rc, "%s:%d", r->path, r->line);
}

/* 1: a line, as JSON in r->json; 0: the end. */
static int next_line(struct trace_reader *r, struct errbuf *err)
{
	struct json_tokener *tok;
	ssize_t len;

	json_object_put(r->json);
	r->json = NULL;
	errno = 0;
	len = getline(&r->text, &r->size, r->f);
	if (len < 0)
		return errno ? err_set(err, -errno, "%s: %s", r->path, strerror(errno)) : 0;
	r->line++;
	if ((size_t)len > LINE_BYTES_MAX)
		return at_line(r, err_set(err, -EFBIG, "more than %u bytes", LINE_BYTES_MAX), err);
	/* A recorder that was killed leaves half a line; all before it is good. */
	r->cut = r->text[len - 1] != '\n';
	if (r->cut)
		return 0;
	tok = json_tokener_new_ex(32);
	if (!tok)
		return err_set(err, -ENOMEM, "out of memory");
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
	r->json = json_tokener_parse_ex(tok, r->text, (int)len - 1);
	if (r->json && json_tokener_get_parse_end(tok) != (size_t)len - 1) {
		json_object_put(r->json);
		r->json = NULL;
	}
	json_tokener_free(tok);
	if (!json_object_is_type(r->json, json_type_object))
		return at_line(r, err_set(err, -EINVAL, "a JSON object expected"), err);
	return 1;
}

/* Member @key of @o, which must be there. */
static json_object *need(const struct where *w, json_object *o, const char *key, int *rc)
{
	json_object *value = NULL;
	char text[80];

	if (*rc || json_object_object_get_ex(o, key, &value))
		return value;
	snprintf(text, sizeof(text), "%.60s is missing", key);
	*rc = value_fail(w, text);
	return NULL;
}

static int read_engine(
	const struct where *w, const char *key, json_object *o, struct trace_engine *ret)
{
	struct trace_engine e = {0};
	json_object *policy, *options = NULL;
	int rc = value_type(w, key, o, json_type_object);

	policy = need(w, o, "policy", &rc);
	if (!rc)
		rc = value_string(w, "policy", policy, TRACE_SPEC_MAX, &e.policy);
	if (!rc && json_object_object_get_ex(o, "options", &options))
		rc = value_type(w, "options", options, json_type_object);
	if (rc || !options) {
		*ret = rc ? *ret : e;
		return rc;
	}
	json_object_object_foreach(options, name, value)
	{
		const char *text;

		rc = value_string(w, name, value, TRACE_SPEC_MAX, &text);
		if (!rc && e.n_options == TRACE_OPTIONS_MAX)
			rc = value_fail(w, "too many options");
		if (rc)
			return rc;
		e.option[e.n_options++] = (struct policy_option){name, text};
	}
	*ret = e;
	return 0;
}

static int read_topology(
	struct trace_reader *r, const struct where *w, json_object *source, json_object *domain)
{
	enum topo_level level;
	const char *text;
	int rc = value_string(w, "topology", source, LINE_BYTES_MAX, &text);

	if (!rc && *text != '<' && strchr(text, '/')) /* a file of whoever reads it: never */
		rc = value_bad(w, "topology", source, "XML or a synthetic description");
	if (!rc)
		rc = topo_load(&r->topo, text, w->err);
	if (!rc)
		rc = value_string(w, "domain", domain, 16, &text);
	if (!rc && topo_level_parse(text, &level))
		rc = value_bad(w, "domain", domain, "package, numa, l3, l2 or core");
	if (!rc)
		rc = topo_set_domains(r->topo, level, w->err);
	r->head.topo = r->topo;
	return rc;
}

static int read_provenance(const struct where *w, json_object *o, bool *ret)
{
	const char *text;
	int rc = value_string(w, "provenance", o, 16, &text);

	if (rc)
		return rc;
	if (strcmp(text, "simulated") != 0 && strcmp(text, "measured") != 0)
		return value_bad(w, "provenance", o, "measured or simulated");
	*ret = *text == 's';
	return 0;
}

static int read_head_key(
	const struct where *w, struct trace_head *h, const char *key, json_object *value)
{
#define AT(member) offsetof(struct trace_head, member)
	static const struct member member[] = {
		{"coloc_trace", MEMBER_ELSEWHERE, 0, 0, 0},
		{"topology", MEMBER_ELSEWHERE, 0, 0, 0},
		{"domain", MEMBER_ELSEWHERE, 0, 0, 0},
		{"recorder", MEMBER_ELSEWHERE, 0, 0, 0},
		{"provenance", MEMBER_ELSEWHERE, 0, 0, 0},
		{"ruling", MEMBER_ELSEWHERE, 0, 0, 0},
		{"max_jobs", MEMBER_ELSEWHERE, 0, 0, 0},
		{"started_unix_s", MEMBER_REAL, AT(started_unix_s), 0, INFINITY},
		{"share_smt", MEMBER_BOOL, AT(share_smt), 0, 0},
		{"multi_node_independent", MEMBER_BOOL, AT(multi_node_independent), 0, 0},
		{"cut", MEMBER_BOOL, AT(cut), 0, 0},
		{"want_explain", MEMBER_BOOL, AT(want_explain), 0, 0},
		{"interval_ms", MEMBER_INT, AT(interval_ms), 0, 1 << 30},
		{"tick_ms", MEMBER_INT, AT(tick_ms), 0, 1 << 30},
		{.key = NULL},
	};
#undef AT

	if (strcmp(key, "fallback") == 0)
		return read_engine(w, key, value, &h->fallback);
	return value_member(w, key, key, value, member, h);
}

static int read_head(struct trace_reader *r, struct errbuf *err)
{
	struct where w = {.err = err};
	struct trace_head *h = &r->head;
	json_object *o = r->json, *value;
	int rc = 0, version = 0;

	value = need(&w, o, "coloc_trace", &rc);
	if (!rc)
		rc = value_int(&w, "coloc_trace", value, 1, 1 << 20, &version);
	if (!rc && version != TRACE_VERSION)
		return err_set(err, -EINVAL, "coloc_trace: version %d; this program reads %d",
			version, TRACE_VERSION);
	value = need(&w, o, "max_jobs", &rc);
	if (!rc)
		rc = value_int(&w, "max_jobs", value, 1, CHECK_JOBS_MAX, &h->max_jobs);
	value = need(&w, o, "recorder", &rc);
	if (!rc)
		rc = value_string(&w, "recorder", value, 128, &h->recorder);
	value = need(&w, o, "provenance", &rc);
	if (!rc)
		rc = read_provenance(&w, value, &h->simulated);
	value = need(&w, o, "ruling", &rc);
	if (!rc)
		rc = read_engine(&w, "ruling", value, &h->ruling);
	json_object_object_foreach(o, key, v)
	{
		if (!rc)
			rc = read_head_key(&w, h, key, v);
	}
	value = need(&w, o, "topology", &rc);
	return rc ? rc : read_topology(r, &w, value, need(&w, o, "domain", &rc));
}

static void reader_close_p(struct trace_reader **r)
{
	trace_reader_close(*r);
}

int trace_reader_open(struct trace_reader **ret, const char *path, struct errbuf *err)
{
	__attribute__((cleanup(reader_close_p))) struct trace_reader *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	snprintf(r->path, sizeof(r->path), "%s", path);
	r->f = infile_open(path);
	if (!r->f)
		return err_set(err, -errno, "%s: %s", r->path, strerror(errno));
	rc = next_line(r, err);
	if (rc == 0)
		return err_set(err, -EINVAL, "%s: not a trace: no head line", r->path);
	if (rc > 0)
		rc = read_head(r, err) ? at_line(r, -EINVAL, err) : 0;
	if (rc)
		return rc;
	r->head_json = take_ptr(r->json);
	*ret = take_ptr(r);
	return 0;
}

void trace_reader_close(struct trace_reader *r)
{
	if (!r)
		return;
	if (r->f)
		fclose(r->f);
	view_file_free(r->view);
	json_object_put(r->json);
	json_object_put(r->head_json);
	topo_free(r->topo);
	free(r->text);
	free(r);
}

const struct trace_head *trace_reader_head(const struct trace_reader *r)
{
	return &r->head;
}

static int read_answer(
	const struct where *w, const char *who, json_object *o, struct trace_answer *ret)
{
	json_object *refused = NULL;
	char text[80];
	int rc = value_type(w, who, o, json_type_object);

	if (rc)
		return rc;
	if (json_object_object_get_ex(o, "plan", &ret->plan))
		return value_type(w, "plan", ret->plan, json_type_object);
	if (json_object_object_get_ex(o, "refused", &refused))
		return value_string(w, "refused", refused, sizeof(struct errbuf), &ret->refused);
	snprintf(text, sizeof(text), "%s: plan or refused expected", who);
	return value_fail(w, text);
}

static int read_decision(struct trace_reader *r, const struct where *w, struct trace_record *ret)
{
	json_object *view = NULL, *ruling;
	int rc = 0;

	json_object_object_get_ex(r->json, "view", &view);
	rc = value_type(w, "view", view, json_type_object);
	if (!rc)
		rc = view_file_from_json(&r->view, view, w->err);
	if (!rc && (view_file_is_list(r->view) ||
			   view_file_view(r->view, 0)->n_jobs > r->head.max_jobs))
		rc = value_fail(w, "view: one, with no more than the head's max_jobs, expected");
	ruling = need(w, r->json, "ruling", &rc);
	if (!rc)
		rc = read_answer(w, "ruling", ruling, &ret->ruling);
	json_object_object_foreach(r->json, key, value)
	{
		if (rc)
			break;
		if (strcmp(key, "fallback") == 0)
			rc = r->head.fallback.policy
				     ? read_answer(w, key, value, &ret->fallback)
				     : value_fail(w, "fallback: the head names none");
		else if (strcmp(key, "view") != 0 && strcmp(key, "ruling") != 0)
			rc = value_unknown_key(w, key);
	}
	ret->kind = TRACE_DECISION;
	ret->view = r->view;
	return rc;
}

static int read_end(const struct where *w, json_object *o, struct trace_record *ret)
{
	json_object *reason;
	int rc = value_type(w, "end", o, json_type_object);

	ret->kind = TRACE_ENDED;
	reason = need(w, o, "reason", &rc);
	return rc ? rc : value_string(w, "end.reason", reason, 32, &ret->reason);
}

int trace_reader_next(struct trace_reader *r, struct trace_record *ret, struct errbuf *err)
{
	struct where w = {.err = err};
	json_object *value;
	int rc = next_line(r, err);

	view_file_free(r->view);
	r->view = NULL;
	*ret = (struct trace_record){.kind = TRACE_ENDED, .line = r->line};
	if (rc <= 0)
		return rc;
	if (json_object_object_get_ex(r->json, "end", &value)) {
		rc = read_end(&w, value, ret);
	} else if (json_object_object_get_ex(r->json, "ruling_engine", &value)) {
		ret->kind = TRACE_ENGINE;
		rc = read_engine(&w, "ruling_engine", value, &ret->engine);
	} else if (json_object_object_get_ex(r->json, "fallback_engine", &value)) {
		ret->kind = TRACE_ENGINE;
		ret->is_fallback = true;
		rc = read_engine(&w, "fallback_engine", value, &ret->engine);
	} else {
		rc = read_decision(r, &w, ret);
	}
	return rc ? at_line(r, rc, err) : 0;
}
