/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace.h - recorded decisions: what an engine saw and what it answered, so that the same engine
 * can be asked again elsewhere (colocsim replay). doc/trace.md is the format.
 *
 * A trace is JSON lines: a head (version, topology, policy, options), then one line per decision
 * in order. A recording starts with new engines: what an older one remembered is not in it, and
 * the first replayed decisions would differ.
 *
 * One thread per writer or reader. The writer makes no decision late: a full disk ends the
 * recording, never the service (trace_writer_failed()).
 */
#ifndef COLOC_TRACE_TRACE_H
#define COLOC_TRACE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/topo.h"
#include "nodesvc/engine/plan.h"
#include "nodesvc/engine/policy.h"
#include "nodesvc/engine/view.h"
#include "nodesvc/trace/view_json.h"

#define TRACE_VERSION     1
#define TRACE_OPTIONS_MAX 32
#define TRACE_SPEC_MAX    512

/* What makes an engine. Strings belong to whoever filled it in. */
struct trace_engine {
	const char *policy; /* "NAME,key=value"; NULL none (no fallback) */
	int n_options;
	struct policy_option option[TRACE_OPTIONS_MAX];
};

struct trace_head {
	const char *recorder;    /* "colocd 1.2", "colocsim" */
	bool simulated;          /* of a simulated machine: said wherever a figure is shown */
	double started_unix_s;   /* 0: unknown (simulated time) */
	const struct topo *topo; /* with its source, topo.h */
	bool share_smt, multi_node_independent;
	bool cut;          /* decisions before the first line are missing: engines knew more */
	bool want_explain; /* plan.want_explain: why sentences are part of a plan */
	int max_jobs;
	int interval_ms, tick_ms; /* told, not used; 0 unknown */
	struct trace_engine ruling, fallback;
};

/* ---- writing ---- */

struct trace_writer;

/*
 * trace_writer_open - creates @path (0600; there must be none) and writes the head.
 * @max_bytes: the recording ends there (its last line says so); 0: none.
 * Errors: -errno of the file, -EEXIST, -EINVAL the topology has no source, -ENOMEM.
 */
int trace_writer_open(struct trace_writer **ret, const char *path, const struct trace_head *head,
	uint64_t max_bytes, struct errbuf *err);
/* Writes the last line. Errors: the first one that writing met. Frees in any case. */
int trace_writer_close(struct trace_writer *w, struct errbuf *err);

/* An engine was made anew (another policy rules, the configuration was read again). */
void trace_write_engine(struct trace_writer *w, bool fallback, const struct trace_engine *e);

/*
 * One decision, in this order: trace_begin() with the view; trace_ruling() with what the ruling
 * engine answered, or @refused its error text; trace_fallback() likewise if that engine was
 * asked too; trace_end(). Failures are kept until trace_writer_failed() or _close().
 */
void trace_begin(struct trace_writer *w, const struct view *v);
void trace_ruling(struct trace_writer *w, const struct plan *p, const char *refused);
void trace_fallback(struct trace_writer *w, const struct plan *p, const char *refused);
void trace_end(struct trace_writer *w);

/* -errno since the recording stopped (-EFBIG: @max_bytes), 0 while it goes on. */
int trace_writer_failed(const struct trace_writer *w);
uint64_t trace_writer_decisions(const struct trace_writer *w);
uint64_t trace_writer_bytes(const struct trace_writer *w);

/* ---- reading ---- */

struct trace_reader;

/* One answer: a plan as plan_to_exact_json() wrote it, or why there was none, or nobody asked. */
struct trace_answer {
	json_object *plan;   /* NULL none */
	const char *refused; /* NULL none */
};

enum trace_kind { TRACE_DECISION, TRACE_ENGINE, TRACE_ENDED };

struct trace_record {
	enum trace_kind kind;
	int line; /* in the file, from 1 */
	/* TRACE_DECISION */
	struct view_file *view; /* one view */
	struct trace_answer ruling, fallback;
	/* TRACE_ENGINE */
	bool is_fallback;
	struct trace_engine engine;
	/* TRACE_ENDED */
	const char *reason; /* "closed", "size"; NULL: the file was cut off */
};

/*
 * trace_reader_open - reads the head. Errors name file, line and field: -EINVAL not a trace,
 * another version, bad value; -errno of the file; -ENOMEM.
 */
int trace_reader_open(struct trace_reader **ret, const char *path, struct errbuf *err);
void trace_reader_close(struct trace_reader *r);
/* Valid until close, its topology included. */
const struct trace_head *trace_reader_head(const struct trace_reader *r);
/* The next line, valid until the next call. Errors: as above. After TRACE_ENDED: don't. */
int trace_reader_next(struct trace_reader *r, struct trace_record *ret, struct errbuf *err);

#endif
