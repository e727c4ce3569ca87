/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * acct_row.h - is a row that came over a socket one of acct_query.h's? Whoever prints or sums rows
 * relies on the types of what they count, list and draw.
 */
#ifndef COLOC_REPORT_ACCT_ROW_H
#define COLOC_REPORT_ACCT_ROW_H

#include <json-c/json.h>
#include <stdbool.h>

#include "common/err.h"

/* A time or a span in seconds that fits a calendar: finite, up to the year 5138. */
bool acct_row_is_seconds(double value);
/* 0, or -EPROTO naming the key. Keys that nobody knows may be anything; absent and null are blank.
 */
int acct_row_check(struct json_object *row, struct errbuf *err);

#endif
