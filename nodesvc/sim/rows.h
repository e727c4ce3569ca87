/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rows.h - results, JSON objects, as CSV (common/csv.h): one record each, in stable columns. */
#ifndef COLOC_SIM_ROWS_H
#define COLOC_SIM_ROWS_H

#include <json-c/json.h>
#include <stdio.h>

/* Members of up to three objects, or of none (NULL), each list ended by NULL: where the figures
 * come from, the swept parameters, the figures. What is not there is blank. */
#define ROWS_PARTS 3

void rows_csv_head(FILE *f, const char *const *const names[ROWS_PARTS]);
void rows_csv(FILE *f, const char *const *const names[ROWS_PARTS], json_object *of[ROWS_PARTS]);

#endif
