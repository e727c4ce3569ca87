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

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/topo.h"
#include "nodesvc/engine/plan.h"
#include "nodesvc/engine/policy.h"
#include "nodesvc/engine/view.h"

struct recent;
struct view_file;

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

/*
 * view_json.c: views written as JSON (colocsim plan --jobs, saved views, traces): strict reading,
 * with errors that name job, field and value.
 */

/* Of the form; a view may say "version": 1, and no other. */
#define VIEW_VERSION 1

/* A view with the memory behind it. */

/*
 * view_file_parse - reads {"views": [...]} or one view object.
 * Views keep their order; a job without "current" runs where the plan of the view before put it
 * (view_file_carry()). Errors: -EINVAL no JSON, unknown key, bad value; -ENOMEM.
 * Free with view_file_free().
 */
int view_file_parse(struct view_file **ret, const char *text, size_t len, struct errbuf *err);
/* The same from an object that is read already; keeps a reference to @o. */
int view_file_from_json(struct view_file **ret, json_object *o, struct errbuf *err);
void view_file_free(struct view_file *f);

int view_file_count(const struct view_file *f);
/* True where the file was {"views": [...]}. */
bool view_file_is_list(const struct view_file *f);
const struct view *view_file_view(const struct view_file *f, int i);
int view_file_max_jobs(const struct view_file *f);

/* Sets the current coreset of job @id in view @i, if the file did not. */
void view_file_carry(struct view_file *f, int i, const char *id, const struct coreset *coreset);
/* Sets it whatever the file says. */
void view_file_move(struct view_file *f, int i, const char *id, const struct coreset *coreset);

/*
 * view_to_json - a view as view_file_from_json() reads it back, bit for bit: what is unknown or
 * the default is left out, numbers have 17 digits, where a signal comes from stands beside it.
 * A new object (json_object_put()); NULL out of memory.
 */
json_object *view_to_json(const struct view *v);
/* A number that reads back as the same bits; NULL (null) where it is none. */
json_object *exact_number(double x);

/* plan_json.c: a plan as the JSON that `colocsim plan` prints. */

/*
 * plan_to_json - a new object (json_object_put()), NULL out of memory.
 * @explain: carry the policy's own figures; else "explain" is {}.
 */
json_object *plan_to_json(
	const struct plan *p, const struct topo *t, const char *policy, bool explain);

/* All of a plan but the policy's own figures, numbers with 17 digits: what a trace keeps and
 * replay compares. */
json_object *plan_to_exact_json(const struct plan *p, const struct topo *t);

/*
 * plan_from_json - reads a plan into @p, which plan_reset() has prepared for @v: what the text
 * leaves out stays as it is there. Jobs of equal coresets become a group. Strict, as views;
 * what follows from the rest (policy, domain, domains, cores, moves, keep) is read over.
 * Errors: -EINVAL, the text names job, field and value; -ENODATA it says {"refused": "..."}, the
 * text is that; @p is then of no use.
 */
int plan_from_json(struct plan *p, const struct view *v, json_object *o, struct errbuf *err);

/*
 * plan_json_diff - false: equal, member by member and bit for bit. True: where they first differ
 * and how, as "jobs[1].coreset: recorded "0-3", replayed "4-7"".
 */
bool plan_json_diff(json_object *recorded, json_object *replayed, char *ret_where, size_t size);

/*
 * recent.c: what the engines of a service were asked and answered since they were made, kept in
 * memory so that any decision can be decided again elsewhere: most policies remember, and a
 * decision follows from every view before it, not from its own alone.
 *
 * A decision is kept as what differs from the one before it. Where the room is used up the older
 * half goes, and the page says that it is cut. Failures to allocate forget all (nothing is kept
 * then), never anything else. One thread.
 */

/* @max_bytes: the most that it keeps. Errors: -ENOMEM. Free with recent_free(). */
int recent_create(struct recent **ret, size_t max_bytes, struct errbuf *err);
void recent_free(struct recent *t);

/* An engine was made anew. Once both are, since the last decision, they begin anew. */
void recent_engine(struct recent *t, bool fallback, const struct trace_engine *e);

/*
 * One decision: recent_begin() with the view, recent_answer() for each engine that was asked, with
 * its plan or the text of its refusal, recent_end(). The number of the decision, from 1, is
 * recent_number() from recent_begin() on.
 */
void recent_begin(struct recent *t, const struct view *v);
void recent_answer(struct recent *t, bool fallback, const struct plan *p, const char *refused);
void recent_end(struct recent *t);
uint64_t recent_number(const struct recent *t);

/* Bytes that are kept now, and the first decision of them (0: none). */
size_t recent_bytes(const struct recent *t);
uint64_t recent_first(const struct recent *t);

/*
 * recent_page - the lines of a trace (doc/trace.md) from decision @from to @to, an array of objects
 * that ends where @max_bytes of text are reached. @from 0: from the beginning, with the head; its
 * engines and `cut` are ours. *ret_next: where to go on, 0 when all, with the end, is there.
 * Errors: -ENOENT the decision is not kept, the text says which are; -ENOMEM.
 */
int recent_page(const struct recent *t, const struct trace_head *head, uint64_t from, uint64_t to,
	size_t max_bytes, json_object **ret, uint64_t *ret_next, struct errbuf *err);

/*
 * recent_json.c: between recent.c and recent_json.c: how a decision is laid out flat, and from
 * that to the lines of a trace. All pointers inside are 0; texts have fixed room.
 *
 * Flat: flat_head; for decisions the slots of the view's jobs (flat_slot, as many as there are
 * slots), the slots (flat_job), fast cores, reserved, capacity; then an answer or two: flat_answer
 * with the text of the refusal, or the slots once more (flat_plan_job), what the jobs borrow,
 * slices (ms, n, jobs), experiments. At later_at what may come and go: speed points, events
 * (struct event, job, type), table (struct ptt_entry, type). For engines: their JSON text.
 *
 * A job stays in its slot while it lives, whatever comes and goes beside it: so its fields stay in
 * their place. A slot without a job has what was in it before.
 */

enum { FLAT_DECISION, FLAT_RULING, FLAT_FALLBACK };

struct flat_head {
	int kind;
	int slice_ms, n_jobs, n_slots, n_events, n_ptt, n_capacity, has_fast, has_reserved;
	int cache_ways;
	uint64_t number; /* of the decision; of an engine: the next one's */
	uint64_t seed;
	double now_s;
	uint64_t later_at;
};

typedef uint16_t flat_slot; /* of the view's first job, second, ...; the rest is 0 */

struct flat_job {
	struct view_job job;
	char id[JOB_ID_MAX], type[JOB_TYPE_MAX];
};

struct flat_answer {
	int fallback, refused, keep, observe, moves, hysteresis_ms, n_slices, n_experiments;
	int n_clusters;
	double score;
	struct plan_cluster cluster[PLAN_CLUSTERS_MAX];
};

struct flat_plan_job {
	struct coreset coreset, low;
	int cores, cluster, group, place_core, place_width, n_lent;
	enum plan_role role;
	char why[PLAN_WHY_MAX];
};

#define FLAT_REFUSED_MAX sizeof(((struct errbuf *)0)->text)

/* A page of lines. */
struct recent_text {
	const struct topo *topo;
	json_object *lines;
	uint64_t first, from, to, next; /* first: kept; next: not on this page; 0 all are there */
	size_t bytes, max_bytes;
};

/* @flat: one whole entry of @len bytes, 8-byte aligned. 0: go on; 1: enough; -ENOMEM. */
int recent_text_add(struct recent_text *t, const unsigned char *flat, size_t len);

/* trace_write.c */
json_object *trace_head_to_json(const struct trace_head *h);
json_object *trace_engine_to_json(const struct trace_engine *e);

#endif
