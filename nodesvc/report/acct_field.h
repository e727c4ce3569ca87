/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * acct_field.h - the columns of colocacct: names, --format, and a row's cell as text.
 */
#ifndef COLOC_REPORT_ACCT_FIELD_H
#define COLOC_REPORT_ACCT_FIELD_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

#define ACCT_COLUMNS_MAX 64
#define ACCT_FORMAT      "JobID,JobName,User,Policy,Cores,Coreset,Elapsed,Rebinds,State"
#define ACCT_FORMAT_LONG                                                                           \
	"JobID,JobName,Program,User,Account,Partition,NodeList,Policy,ReqPolicy,Cores,Coreset,"    \
	"CoresetHistory,Partners,NTasks,Start,End,Elapsed,Rebinds,Moves,Phases,SoloSpeed,"         \
	"SharedSpeed,SpeedUnit,NTT,STP,ANTT,Gain,Waits,Launch,GainLaunch,GainBasis,State,"         \
	"ExitCode,"                                                                                \
	"DryRun,Reason"
#define ACCT_FORMAT_BRIEF "JobID,State,ExitCode"

struct acct_field {
	const char *name;
	bool right; /* numbers */
	/* Writes the cell; leaves "" where unknown. */
	void (*cell)(struct json_object *row, const char *key, char *buf, size_t size);
	const char *key; /* in a row of acct_query.h */
	const char *help;
	bool unit; /* a number that --units and --noconvert speak of */
};

struct acct_column {
	const struct acct_field *field;
	int width; /* 0: as wide as its longest cell */
	bool right;
	char unit; /* of a field with unit: K M G T P, '-' as it is, 0 the largest that fits */
};

struct acct_format {
	int n;
	struct acct_column column[ACCT_COLUMNS_MAX];
};

/* All fields; the last has no name. */
extern const struct acct_field ACCT_FIELDS[];

/*
 * acct_format_parse - FIELD[%[-]WIDTH],… ; names in any case, abbreviated as in sacct (the first
 * that begins so), ALL stands for every field. %WIDTH is right-aligned, %-WIDTH left.
 * Errors: -EINVAL names the field or width, -E2BIG more than ACCT_COLUMNS_MAX.
 */
int acct_format_parse(const char *text, struct acct_format *ret, struct errbuf *err);

/* The cell's text; control characters are shown as '?'. Returns @buf. */
char *acct_cell(const struct acct_column *c, struct json_object *row, char *buf, size_t size);

/* Cuts @text in place to @width columns as sacct does, with '+' as the last one. */
void acct_cut(char *text, int width);
/* Columns that a terminal needs for @text. */
int acct_text_width(const char *text);

#endif
