/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * csv.h - comma-separated values as RFC 4180 has them: CR LF ends a record, a field with a comma, a
 * quote or a line break stands in quotes, a quote is doubled. Unknown is blank, never 0. Before
 * text that a spreadsheet would run (it begins with = + - @, a tab or CR) stands an apostrophe.
 */
#ifndef COLOC_COMMON_CSV_H
#define COLOC_COMMON_CSV_H

#include <stdbool.h>
#include <stdio.h>

/* One field; NULL: blank. @first: of its record. */
void csv_text(FILE *f, bool first, const char *text);
/* The shortest text that reads back as @x; NAN and infinity: blank. */
void csv_number(FILE *f, bool first, double x);
void csv_end(FILE *f);

#endif
