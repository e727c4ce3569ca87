/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_model.h - what `colocctl top` knows of a node: the newest answers of the daemon, and of each
 * step what it said when it was asked to explain it. No terminal, no socket, no clock.
 */
#ifndef COLOC_CTL_TOP_MODEL_H
#define COLOC_CTL_TOP_MODEL_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "nodesvc/ctl/top_map.h"

#define TOP_ID_MAX 64
#define TOP_NO_KEY '*'

struct top_step {
	char id[TOP_ID_MAX];
	struct json_object *now;    /* its entry of "jobs" */
	struct json_object *detail; /* the answer to "explain"; NULL: not asked yet */
	uint64_t asked;             /* the round of that answer */
	bool wanted;                /* its details are to be shown: ask for them */
	int order;                  /* in the daemon's list: by arrival */
	char key;                   /* its letter in the map, as long as it lives */
	struct coreset cores;       /* where it is; empty: nowhere */
};

struct top_model {
	struct json_object *status; /* NULL: never had one */
	struct top_map map;
	struct top_step *step; /* as sorted last */
	int n;
	uint64_t round;      /* of answers, from 1 */
	double t_unix;       /* of the newest; NAN none */
	char error[256];     /* why there is no newer one; "" there is */
	double error_t_unix; /* since when */
	bool sees_all;       /* root: nobody's steps are kept from it */
};

void top_model_init(struct top_model *m, bool sees_all);
void top_model_done(struct top_model *m);

/*
 * The answers of one round, in this order; the texts are the daemon's JSON. Steps that are no
 * longer in "jobs" are forgotten, those that are keep key and details. Errors: -EPROTO the answer
 * is not what it should be, -ENOMEM; the model is as before.
 */
int top_model_status(struct top_model *m, const char *json, struct errbuf *err);
int top_model_jobs(struct top_model *m, const char *json, double t_unix, struct errbuf *err);
/* A step that is gone meanwhile: nothing happens. */
int top_model_detail(struct top_model *m, const char *id, const char *json, struct errbuf *err);
/* There is no answer since @t_unix (of the first such call in a row). */
void top_model_fail(struct top_model *m, const char *why, double t_unix);

/* The wanted step whose details are oldest and not of this round; NULL none. */
struct top_step *top_model_next_wanted(struct top_model *m);
/* Index in step[], -1 not there. */
int top_model_find(const struct top_model *m, const char *id);

/* Unknown values stand last, equals in order of arrival. */
enum top_sort {
	SORT_STEP,
	SORT_USER,
	SORT_PROGRAM,
	SORT_CORES,
	SORT_BUSY,
	SORT_PROGRESS,
	SORT_LOADS,
	SORT_NTT,
	SORT_GAIN,
	SORT_ELAPSED,
	SORT_COUNT,
};
const char *top_sort_name(enum top_sort s);               /* "step", "user", ... */
int top_sort_parse(const char *name, enum top_sort *ret); /* -EINVAL */
/* It is sorted by what only details tell: all steps' are wanted. */
bool top_sort_needs_details(enum top_sort s);
/* Texts and step ascending, figures descending; @reverse: the other way. */
void top_model_sort(struct top_model *m, enum top_sort by, bool reverse);

/* A figure of "explain"'s "figures"; NAN unknown. */
double top_step_figure(const struct top_step *s, const char *key);
/* A signal's value; NAN unknown. */
double top_step_signal(const struct top_step *s, const char *signal);

#endif
