/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * acct_csv.c - colocacct --csv: the fields of a JSON row as columns, always the same ones.
 */
#include "nodesvc/report/acct.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/csv.h"
#include "common/text.h"
#include "nodesvc/record/figures.h"

/* Those of acct_query.c in its order; names end in their unit. New ones come last. */
static const char *const columns[] = {"id", "job_id", "step_id", "array_job_id", "array_task_id",
	"node", "name", "program", "uid", "user", "account", "partition", "policy", "req_policy",
	"reason", "cores", "coreset", "coreset_history", "partners", "start_unix_s", "end_unix_s",
	"elapsed_s", "rebinds", "tasks", "exit_status", "exit_signal", "state", "dry_run",
#define KEY(kind, member, key, since) key,
	STEP_FIGURES(KEY)};
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void put_text(FILE *f, bool first, const char *text)
{
	cleanup_free char *copy = text ? strdup(text) : NULL;

	csv_text(f, first, copy ? text_clean(copy) : NULL);
}

/* A list in one field, parts separated by ';': a coreset holds commas. */
static void put_list(FILE *f, bool first, struct json_object *list)
{
	char *text = NULL;
	size_t len = 0;
	FILE *part = open_memstream(&text, &len);

	for (size_t i = 0; part && i < json_object_array_length(list); i++) {
		const char *item = json_object_get_string(json_object_array_get_idx(list, i));

		fprintf(part, "%s%s", i ? ";" : "", item ? item : "");
	}
	if (part)
		fclose(part);
	put_text(f, first, text);
	free(text);
}

void acct_csv_head(FILE *f)
{
	for (size_t i = 0; i < N_COLUMNS; i++)
		csv_text(f, i == 0, columns[i]);
	csv_end(f);
}

void acct_csv_row(FILE *f, struct json_object *row)
{
	for (size_t i = 0; i < N_COLUMNS; i++) {
		struct json_object *value = NULL;

		json_object_object_get_ex(row, columns[i], &value);
		if (json_object_is_type(value, json_type_array))
			put_list(f, i == 0, value);
		else
			put_text(f, i == 0, value ? json_object_get_string(value) : NULL);
	}
	csv_end(f);
}
