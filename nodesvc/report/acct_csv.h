/* SPDX-License-Identifier: GPL-2.0-or-later */
/* acct_csv.h - colocacct --csv: rows as CSV (common/csv.h), whose columns colocacct(1) lists. */
#ifndef COLOC_REPORT_ACCT_CSV_H
#define COLOC_REPORT_ACCT_CSV_H

#include <json-c/json.h>
#include <stdio.h>

void acct_csv_head(FILE *f);
/* @row: as acct_query.h gives it. */
void acct_csv_row(FILE *f, struct json_object *row);

#endif
