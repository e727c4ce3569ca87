/* SPDX-License-Identifier: GPL-2.0-or-later */
/* eval_print.h - results of `colocsim eval` as text, JSON or CSV, with the values of a sweep. */
#ifndef COLOC_SIM_EVAL_PRINT_H
#define COLOC_SIM_EVAL_PRINT_H

#include <json-c/json.h>

#include "nodesvc/sim/eval.h"
#include "nodesvc/sim/sweep.h"

/* What of an evaluation is printed, and how. */
struct eval_shown {
	const struct eval *e; /* with its machine */
	const char *topology;
	const struct sweep *sweep;
	int point; /* of the sweep */
	bool json, csv, per_combo;
};

/* Before the first point: the names of the columns, where there are any. */
void eval_print_head(const struct eval_shown *s);
/* @r: eval_run()'s. Prints, but the objects of a sweep in JSON go to @list. An exit status. */
int eval_print(const struct eval_shown *s, const struct drive_result *r, json_object *list);
/* The JSON of all points; @list remains the caller's. An exit status. */
int eval_print_sweep(const struct sweep *sweep, json_object *list);

#endif
