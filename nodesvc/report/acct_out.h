/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * acct_out.h - rows to a table, delimited lines, JSON or HTML. Lines and JSON stream. A table takes
 * its widths from the first rows (TABLE_HELD) and streams on; HTML is bounded (acct_html_data.h).
 */
#ifndef COLOC_REPORT_ACCT_OUT_H
#define COLOC_REPORT_ACCT_OUT_H

#include <stdio.h>

#include "common/err.h"
#include "nodesvc/report/acct_opts.h"

struct acct_out;

int acct_out_open(struct acct_out **ret, const struct acct_opts *o, FILE *f, struct errbuf *err);
/* One row of acct_query.h. Fits acct_query_json()'s @emit with @arg the struct acct_out. */
int acct_out_row(const char *json_row, void *arg);
/* Prints what waits. Errors: -EIO and such when the file did not take it. */
int acct_out_finish(struct acct_out *out, struct errbuf *err);
void acct_out_free(struct acct_out *out);

#endif
