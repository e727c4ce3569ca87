/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trail_json.h - between trail.c and trail_json.c: how a decision is laid out flat, and from that
 * to the lines of a trace. All pointers inside are 0; texts have fixed room.
 *
 * Flat: flat_head; for decisions jobs (struct view_job, id, type), speed points, fast cores,
 * reserved, capacity, events (struct event, job, type), table (struct ptt_entry, type); then an
 * answer or two: flat_answer with the text of the refusal, or flat_plan_job for each job, what
 * they borrow, slices (ms, n, jobs), experiments. For engines: their JSON text.
 */
#ifndef COLOC_TRACE_TRAIL_JSON_H
#define COLOC_TRACE_TRAIL_JSON_H

#include "nodesvc/trace/trail.h"

enum { FLAT_DECISION, FLAT_RULING, FLAT_FALLBACK };

struct flat_head {
	int kind;
	int slice_ms, n_jobs, n_events, n_ptt, n_capacity, has_fast, has_reserved;
	uint64_t number; /* of the decision; of an engine: the next one's */
	uint64_t seed;
	double now_s;
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
struct trail_text {
	const struct topo *topo;
	json_object *lines;
	uint64_t first, from, to, next; /* first: kept; next: not on this page; 0 all are there */
	size_t bytes, max_bytes;
};

/* @flat: one whole entry of @len bytes, 8-byte aligned. 0: go on; 1: enough; -ENOMEM. */
int trail_text_add(struct trail_text *t, const unsigned char *flat, size_t len);

/* trace_write.c */
json_object *trace_head_to_json(const struct trace_head *h);
json_object *trace_engine_to_json(const struct trace_engine *e);

#endif
