/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "nodesvc/trace/trace.h"

#define ADD(o, key, value) json_object_object_add((o), (key), (value))

struct trace_writer {
	FILE *f;
	const struct topo *topo; /* the caller's: outlives the recording */
	uint64_t bytes, max_bytes, decisions;
	int failed;
	json_object *line; /* the decision being written */
};

static void writer_free_p(struct trace_writer **w)
{
	if (!*w)
		return;
	if ((*w)->f)
		fclose((*w)->f);
	json_object_put((*w)->line);
	free(*w);
}

/* Takes @o over. Whole lines only: a reader of a growing file sees no half one for long. */
static void put_line(struct trace_writer *w, json_object *o, bool last)
{
	cleanup_free char *text = NULL;
	size_t len = 0;

	if (!w->failed) {
		const char *plain =
			o ? json_object_to_json_string_length(o,
				    JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &len)
			  : NULL;

		text = plain ? strdup(plain) : NULL;
		if (text)
			text_clean(text); /* a reason that was cut in the middle of a character */
		if (!text)
			w->failed = -ENOMEM;
		else if (!last && w->max_bytes && w->bytes + len + 1 > w->max_bytes)
			w->failed = -EFBIG;
		else if (fwrite(text, 1, len, w->f) != len || putc('\n', w->f) == EOF ||
			 fflush(w->f) != 0)
			w->failed = errno ? -errno : -EIO;
		else
			w->bytes += len + 1;
	}
	json_object_put(o);
}

json_object *trace_engine_to_json(const struct trace_engine *e)
{
	json_object *o = json_object_new_object(), *options = json_object_new_object();

	ADD(o, "policy", json_object_new_string(e->policy));
	for (int i = 0; i < e->n_options; i++)
		ADD(options, e->option[i].key, json_object_new_string(e->option[i].value));
	ADD(o, "options", options);
	return o;
}

json_object *trace_head_to_json(const struct trace_head *h)
{
	json_object *o = json_object_new_object();

	ADD(o, "coloc_trace", json_object_new_int(TRACE_VERSION));
	ADD(o, "recorder", json_object_new_string(h->recorder));
	ADD(o, "provenance", json_object_new_string(h->simulated ? "simulated" : "measured"));
	if (h->started_unix_s > 0)
		ADD(o, "started_unix_s", exact_number(h->started_unix_s));
	ADD(o, "topology", json_object_new_string(h->topo->source));
	ADD(o, "domain", json_object_new_string(topo_level_name(h->topo->domain_level)));
	ADD(o, "share_smt", json_object_new_boolean(h->share_smt));
	ADD(o, "multi_node_independent", json_object_new_boolean(h->multi_node_independent));
	ADD(o, "want_explain", json_object_new_boolean(h->want_explain));
	ADD(o, "max_jobs", json_object_new_int(h->max_jobs));
	if (h->interval_ms > 0)
		ADD(o, "interval_ms", json_object_new_int(h->interval_ms));
	if (h->tick_ms > 0)
		ADD(o, "tick_ms", json_object_new_int(h->tick_ms));
	ADD(o, "ruling", trace_engine_to_json(&h->ruling));
	if (h->fallback.policy)
		ADD(o, "fallback", trace_engine_to_json(&h->fallback));
	return o;
}

int trace_writer_open(struct trace_writer **ret, const char *path, const struct trace_head *head,
	uint64_t max_bytes, struct errbuf *err)
{
	__attribute__((cleanup(writer_free_p))) struct trace_writer *w = NULL;
	int fd, rc;

	if (!head->topo->source)
		return err_set(
			err, -EINVAL, "trace '%.160s': this topology cannot be written", path);
	w = calloc(1, sizeof(*w));
	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	w->topo = head->topo;
	w->max_bytes = max_bytes;
	/* Never over, or through a link to, something else: root may be asked to record. */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, -errno, "trace '%.160s': %s", path, strerror(errno));
	w->f = fdopen(fd, "w");
	if (!w->f) {
		close(fd);
		unlink(path);
		return err_set(err, -ENOMEM, "out of memory");
	}
	put_line(w, trace_head_to_json(head), true);
	if (w->failed) {
		rc = w->failed;
		unlink(path);
		return err_set(err, rc, "trace '%.160s': %s", path, strerror(-rc));
	}
	*ret = take_ptr(w);
	return 0;
}

int trace_writer_close(struct trace_writer *w, struct errbuf *err)
{
	__attribute__((cleanup(writer_free_p), unused)) struct trace_writer *old = w;
	json_object *o = json_object_new_object(), *end = json_object_new_object();
	int failed = w->failed;

	ADD(end, "decisions", json_object_new_int64((int64_t)w->decisions));
	ADD(end, "reason", json_object_new_string(failed == -EFBIG ? "size" : "closed"));
	ADD(o, "end", end);
	if (failed == -EFBIG)
		w->failed = 0;
	put_line(w, o, true);
	if (fclose(take_ptr(w->f)) != 0 && !w->failed)
		w->failed = errno ? -errno : -EIO;
	if (!failed)
		failed = w->failed;
	return failed ? err_set(err, failed, "recording stopped after %llu decisions: %s",
				(unsigned long long)w->decisions, strerror(-failed))
		      : 0;
}

void trace_write_engine(struct trace_writer *w, bool fallback, const struct trace_engine *e)
{
	json_object *o = json_object_new_object();

	ADD(o, fallback ? "fallback_engine" : "ruling_engine", trace_engine_to_json(e));
	put_line(w, o, false);
}

void trace_begin(struct trace_writer *w, const struct view *v)
{
	json_object_put(w->line);
	w->line = NULL;
	if (w->failed)
		return;
	w->line = json_object_new_object();
	ADD(w->line, "view", view_to_json(v));
}

static void add_answer(
	struct trace_writer *w, const char *who, const struct plan *p, const char *refused)
{
	json_object *o;

	if (!w->line)
		return;
	o = json_object_new_object();
	if (p)
		ADD(o, "plan", plan_to_exact_json(p, w->topo));
	else
		ADD(o, "refused", json_object_new_string(refused));
	ADD(w->line, who, o);
}

void trace_ruling(struct trace_writer *w, const struct plan *p, const char *refused)
{
	add_answer(w, "ruling", p, refused);
}

void trace_fallback(struct trace_writer *w, const struct plan *p, const char *refused)
{
	add_answer(w, "fallback", p, refused);
}

void trace_end(struct trace_writer *w)
{
	if (!w->line)
		return;
	put_line(w, take_ptr(w->line), false);
	w->decisions += !w->failed;
}

int trace_writer_failed(const struct trace_writer *w)
{
	return w->failed;
}

uint64_t trace_writer_decisions(const struct trace_writer *w)
{
	return w->decisions;
}

uint64_t trace_writer_bytes(const struct trace_writer *w)
{
	return w->bytes;
}
