/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * acct_html_data.h - what the HTML report shows, gathered from rows: a bounded number of steps
 * with their history, and sums over all.
 */
#ifndef COLOC_REPORT_ACCT_HTML_DATA_H
#define COLOC_REPORT_ACCT_HTML_DATA_H

#include <json-c/json.h>
#include <stdbool.h>

#include "common/coreset.h"
#include "common/err.h"

/* A page with more helps nobody, and each step may carry 256 samples. */
#define HTML_STEPS_MAX    400
#define HTML_POLICIES_MAX 32
#define HTML_SEGMENTS_MAX 20000

/* A stretch of time on one coreset. */
struct html_segment {
	int step;        /* index into steps */
	double from, to; /* Unix seconds */
	struct coreset cores;
	const char *why; /* the row's; NULL unknown */
};

struct html_policy {
	char name[64];
	int n_steps, n_gains;
	double sum_gain, min_gain, max_gain;
};

struct html_data {
	struct json_object *step[HTML_STEPS_MAX]; /* rows of acct_query.h with history */
	int n_steps;                              /* shown */
	long n_all;                               /* that the filter found */
	long n_gains;                             /* of all */
	struct html_policy policy[HTML_POLICIES_MAX];
	int n_policies;
	/* After html_data_lay_out() */
	double from, to; /* of what is shown; Unix seconds */
	struct html_segment *segment;
	int n_segments;
	bool cut_segments;
	struct coreset cores; /* all that appear */
};

int html_data_add(struct html_data *d, const char *json_row);
/* Segments and the span of time. -ENOMEM. */
int html_data_lay_out(struct html_data *d);
void html_data_done(struct html_data *d);

/* Of a row: NULL for null and absent. */
struct json_object *html_get(struct json_object *row, const char *key);
const char *html_text(struct json_object *row, const char *key);
/* NAN for null. */
double html_number(struct json_object *row, const char *key);

#endif
