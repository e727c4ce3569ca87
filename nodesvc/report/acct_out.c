/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/report/acct.h"

#include <errno.h>
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config.h"

/* Rows that are looked at for the widths of a table before its first line is printed. */
#define TABLE_HELD 256

/* Longest cell; a coreset history may be long, a row stays on one line. */
#define CELL_MAX 16384

struct acct_out {
	const struct acct_opts *opts;
	FILE *f;
	struct libscols_table *table; /* NULL unless ACCT_TABLE */
	struct libscols_line *dashes; /* under the heading; filled when widths are known */
	int width[ACCT_COLUMNS_MAX];
	struct html_data *html; /* NULL unless ACCT_HTML */
	bool has_begun, streams;
	long n_rows;
	int error; /* -errno that ended the rows */
};

static void heading(const struct acct_column *c, char *buf, size_t size)
{
	snprintf(buf, size, "%s", c->field->name);
}

static int table_open(struct acct_out *out)
{
	const struct acct_format *fmt = &out->opts->format;

	out->table = scols_new_table();
	if (!out->table)
		return -ENOMEM;
	scols_table_set_stream(out->table, out->f);
	/* Our own widths hold, whatever the terminal's: nothing is cut unless asked for. */
	scols_table_set_termforce(out->table, SCOLS_TERMFORCE_NEVER);
	scols_table_enable_noheadings(out->table, out->opts->no_header);
	scols_table_set_column_separator(out->table, " ");
	for (int i = 0; i < fmt->n; i++) {
		const struct acct_column *c = &fmt->column[i];
		char name[64];

		heading(c, name, sizeof(name));
		if (c->width && (size_t)c->width < strlen(name))
			name[c->width] = '\0'; /* as sacct: without a '+' */
		out->width[i] = out->opts->no_header ? 0 : acct_text_width(name);
		if (c->width)
			out->width[i] = c->width;
		if (!scols_table_new_column(out->table, name, c->width,
			    (c->right ? SCOLS_FL_RIGHT : 0) |
				    (c->width ? SCOLS_FL_STRICTWIDTH : 0)))
			return -ENOMEM;
	}
	if (!out->opts->no_header) {
		out->dashes = scols_table_new_line(out->table, NULL);
		if (!out->dashes)
			return -ENOMEM;
	}
	return 0;
}

static int table_finish(struct acct_out *out)
{
	const struct acct_format *fmt = &out->opts->format;
	char dashes[CELL_MAX];

	for (int i = 0; out->dashes && i < fmt->n; i++) {
		int n = out->width[i] < CELL_MAX ? out->width[i] : CELL_MAX - 1;

		memset(dashes, '-', (size_t)n);
		dashes[n] = '\0';
		if (scols_line_set_data(out->dashes, (size_t)i, dashes) < 0)
			return -ENOMEM;
	}
	if (out->n_rows == 0 && out->opts->no_header)
		return 0;
	return scols_print_table(out->table);
}

/* A line like the table's, in the widths that the held rows had. */
static void stream_row(struct acct_out *out, struct json_object *row)
{
	const struct acct_format *fmt = &out->opts->format;

	for (int i = 0; i < fmt->n; i++) {
		const struct acct_column *c = &fmt->column[i];
		char cell[CELL_MAX];
		int pad;

		acct_cell(c, row, cell, sizeof(cell));
		acct_cut(cell, out->width[i]);
		pad = out->width[i] - acct_text_width(cell);
		if (i > 0)
			fputc(' ', out->f);
		if (c->right)
			fprintf(out->f, "%*s%s", pad, "", cell);
		else
			fprintf(out->f, "%s%*s", cell, i == fmt->n - 1 ? 0 : pad, "");
	}
	fputc('\n', out->f);
}

static int table_row(struct acct_out *out, struct json_object *row)
{
	const struct acct_format *fmt = &out->opts->format;
	struct libscols_line *line;

	if (!out->streams && out->n_rows == TABLE_HELD) {
		int rc = table_finish(out);

		if (rc < 0)
			return rc;
		out->streams = true;
		fputc('\n', out->f);
	}
	if (out->streams) {
		stream_row(out, row);
		return 0;
	}
	line = scols_table_new_line(out->table, NULL);
	if (!line)
		return -ENOMEM;
	for (int i = 0; i < fmt->n; i++) {
		const struct acct_column *c = &fmt->column[i];
		char cell[CELL_MAX];
		int width;

		acct_cell(c, row, cell, sizeof(cell));
		if (c->width)
			acct_cut(cell, c->width);
		width = acct_text_width(cell);
		if (width > out->width[i])
			out->width[i] = width;
		if (scols_line_set_data(line, (size_t)i, cell) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void parsable_line_end(struct acct_out *out)
{
	fprintf(out->f, "%s\n", out->opts->output == ACCT_PARSABLE ? out->opts->delimiter : "");
}

static void parsable_head(struct acct_out *out)
{
	const struct acct_format *fmt = &out->opts->format;

	for (int i = 0; i < fmt->n; i++)
		fprintf(out->f, "%s%s", i ? out->opts->delimiter : "", fmt->column[i].field->name);
	parsable_line_end(out);
}

/* Text that a user may choose freely. */
static bool is_users(const char *key)
{
	static const char *const KEYS[] = {
		"name", "program", "user", "account", "partition", "req_policy", "reason"};

	for (size_t i = 0; i < sizeof(KEYS) / sizeof(KEYS[0]); i++) {
		if (strcmp(key, KEYS[i]) == 0)
			return true;
	}
	return false;
}

static void parsable_row(struct acct_out *out, struct json_object *row)
{
	const struct acct_format *fmt = &out->opts->format;
	char cell[CELL_MAX];

	for (int i = 0; i < fmt->n; i++) {
		acct_cell(&fmt->column[i], row, cell, sizeof(cell));
		/* A name with the delimiter in it would begin a column. */
		for (char *p = cell; is_users(fmt->column[i].field->key) &&
				     (p = strstr(p, out->opts->delimiter));
			p++)
			*p = '?';
		fprintf(out->f, "%s%s", i ? out->opts->delimiter : "", cell);
	}
	parsable_line_end(out);
}

int acct_out_open(struct acct_out **ret, const struct acct_opts *o, FILE *f, struct errbuf *err)
{
	struct acct_out *out = calloc(1, sizeof(*out));

	if (!out)
		return err_set(err, -ENOMEM, "out of memory");
	out->opts = o;
	out->f = f;
	if (o->output == ACCT_HTML)
		out->html = calloc(1, sizeof(*out->html));
	if ((o->output == ACCT_TABLE && table_open(out) < 0) ||
		(o->output == ACCT_HTML && !out->html)) {
		acct_out_free(out);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*ret = out;
	return 0;
}

/* With the first row, not before: a source that fails leaves no half an answer. */
static void begin(struct acct_out *out)
{
	if (out->has_begun)
		return;
	out->has_begun = true;
	if (out->opts->output == ACCT_JSON)
		fprintf(out->f,
			"{\"meta\":{\"schema\":\"coloc.acct/1\",\"program\":\"colocacct\","
			"\"version\":\"%s\"},\n\"steps\":[",
			PACKAGE_VERSION);
	else if ((out->opts->output == ACCT_PARSABLE || out->opts->output == ACCT_PARSABLE2) &&
		 !out->opts->no_header)
		parsable_head(out);
	else if (out->opts->output == ACCT_CSV && !out->opts->no_header)
		acct_csv_head(out->f);
}

int acct_out_row(const char *json_row, void *arg)
{
	struct acct_out *out = arg;
	struct json_object *row;

	begin(out);
	if (out->html)
		return out->error = html_data_add(out->html, json_row);
	if (out->opts->output == ACCT_JSON) {
		fprintf(out->f, "%s\n%s", out->n_rows ? "," : "", json_row);
		out->n_rows++;
		return out->error = ferror(out->f) ? -EIO : 0;
	}
	row = json_tokener_parse(json_row);
	if (!row)
		return out->error = -EPROTO;
	if (out->opts->output == ACCT_TABLE)
		out->error = table_row(out, row);
	else if (out->opts->output == ACCT_CSV)
		acct_csv_row(out->f, row);
	else
		parsable_row(out, row);
	out->n_rows++;
	json_object_put(row);
	if (!out->error && ferror(out->f))
		out->error = -EIO; /* a closed pipe: no use in going on */
	return out->error;
}

int acct_out_finish(struct acct_out *out, struct errbuf *err)
{
	int rc = out->error;

	begin(out);
	if (rc == 0 && out->opts->output == ACCT_TABLE && !out->streams)
		rc = table_finish(out);
	/* Whose turn it is on this node says nothing about another's store. */
	if (rc == 0 && out->html && out->html->running && !out->opts->cluster &&
		(!out->opts->store || strcmp(out->opts->store, ACCT_STORE) == 0))
		out->html->jobs = acct_source_jobs(out->opts->socket);
	if (rc == 0 && out->html)
		rc = acct_html_write(out->f, out->html, (double)time(NULL), err);
	if (rc == 0 && out->opts->output == ACCT_JSON)
		fprintf(out->f, "%s]}\n", out->n_rows ? "\n" : "");
	if (rc == 0 && (fflush(out->f) != 0 || ferror(out->f)))
		rc = -EIO;
	return rc < 0 ? err_set(err, rc, "cannot write the report: %s", strerror(-rc)) : 0;
}

void acct_out_free(struct acct_out *out)
{
	if (!out)
		return;
	scols_unref_table(out->table);
	if (out->html)
		html_data_done(out->html);
	free(out->html);
	free(out);
}
