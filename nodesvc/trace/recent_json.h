/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recent_json.h - between recent.c and recent_json.c: how a decision is laid out flat, and from
 * that to the lines of a trace. All pointers inside are 0; texts have fixed room.
 *
 * Flat: flat_head; for decisions the slots of the view's jobs (flat_slot, as many as there are
 * slots), the slots (flat_job), fast cores, reserved, capacity; then an answer or two: flat_answer
 * with the text of the refusal, or the slots once more (flat_plan_job), what the jobs borrow,
 * slices (ms, n, jobs), experiments. At later_at what may come and go: speed points, events (struct
 * event, job, type), table (struct ptt_entry, type). For engines: their JSON text.
 *
 * A job stays in its slot while it lives, whatever comes and goes beside it: so its fields stay in
 * their place. A slot without a job has what was in it before.
 */
#ifndef COLOC_TRACE_RECENT_JSON_H
#define COLOC_TRACE_RECENT_JSON_H

#include "nodesvc/trace/recent.h"

enum { FLAT_DECISION, FLAT_RULING, FLAT_FALLBACK };

struct flat_head {
	int kind;
	int slice_ms, n_jobs, n_slots, n_events, n_ptt, n_capacity, has_fast, has_reserved;
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
