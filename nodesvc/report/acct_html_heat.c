/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * acct_html_heat.c - who was slow beside whom: of programs, what their steps' slow-down was beside
 * each program that shared the node with them. A step has one slow-down, so it counts in the column
 * of each of its partners' programs; nothing here claims whose fault it was.
 */
#include "nodesvc/report/acct.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

#define PROGRAMS_MAX 24

struct pair {
	int n_steps, n_measured;
	double sum_ntt; /* of the measured */
};

/* Index PROGRAMS_MAX: programs beyond so many, and steps that the page does not have. */
struct heat {
	const char *name[PROGRAMS_MAX]; /* of the rows */
	int n;
	bool has_others;
	struct pair pair[PROGRAMS_MAX + 1][PROGRAMS_MAX + 1]; /* [whose][beside] */
};

/* A step's id and its program's index. */
struct known {
	const char *id;
	int program;
};

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct known *)a)->id, ((const struct known *)b)->id);
}

static const char *program_of(struct json_object *row)
{
	const char *name = html_text(row, "program");

	return name && *name ? name : html_text(row, "name");
}

/* The last one stands for whom the page does not name: others' steps, and programs beyond it. */
static int take_program(struct heat *h, const char *name)
{
	for (int i = 0; i < h->n && name; i++) {
		if (strcmp(h->name[i], name) == 0)
			return i;
	}
	if (!name || h->n == PROGRAMS_MAX)
		return PROGRAMS_MAX;
	h->name[h->n] = name;
	return h->n++;
}

static int find(const struct known *known, int n, const char *id)
{
	struct known key = {.id = id ? id : ""};
	const struct known *at;

	at = bsearch(&key, known, (size_t)n, sizeof(*known), by_id);
	return at ? at->program : PROGRAMS_MAX;
}

static void count_step(
	struct heat *h, struct json_object *row, int program, const struct known *known, int n)
{
	struct json_object *partners = html_get(row, "partners");
	size_t n_partners = partners ? json_object_array_length(partners) : 0;
	bool beside[PROGRAMS_MAX + 1] = {false};
	double ntt = html_number(row, "ntt_full");

	for (size_t k = 0; k < n_partners; k++)
		beside[find(known, n,
			json_object_get_string(json_object_array_get_idx(partners, k)))] = true;
	for (int i = 0; i <= PROGRAMS_MAX; i++) {
		struct pair *p = &h->pair[program][i];

		if (!beside[i])
			continue;
		p->n_steps++;
		h->has_others |= i == PROGRAMS_MAX || program == PROGRAMS_MAX;
		if (isnan(ntt))
			continue;
		p->n_measured++;
		p->sum_ntt += ntt;
	}
}

static int count(struct heat *ret, const struct html_data *d)
{
	struct known *known = calloc((size_t)d->n_steps + 1, sizeof(*known));
	int *program = calloc((size_t)d->n_steps + 1, sizeof(*program));
	int n = 0, rc = known && program ? 0 : -ENOMEM;

	memset(ret, 0, sizeof(*ret));
	for (int i = 0; rc == 0 && i < d->n_steps; i++) {
		const char *id = html_text(d->step[i], "id");

		program[i] = take_program(ret, program_of(d->step[i]));
		if (id)
			known[n++] = (struct known){id, program[i]};
	}
	if (rc == 0)
		qsort(known, (size_t)n, sizeof(*known), by_id);
	for (int i = 0; rc == 0 && i < d->n_steps; i++)
		count_step(ret, d->step[i], program[i], known, n);
	free(known);
	free(program);
	return rc;
}

static const char *heat_name(const struct heat *h, int i)
{
	return i == PROGRAMS_MAX ? "others" : h->name[i];
}

/* 0 no slow-down to 100 the worst of the page, which is at least 1.5. */
static int shade(double ntt, double max)
{
	double p = 100 * (ntt - 1) / (fmax(max, 1.5) - 1);

	return p < 0 ? 0 : p > 100 ? 100 : (int)p;
}

static void write_pair(FILE *f, const struct pair *p, double max)
{
	if (p->n_steps == 0) {
		fputs("<td class=r></td>", f);
	} else if (p->n_measured == 0) {
		fprintf(f, "<td class=\"r dim\">%d step%s</td>", p->n_steps,
			p->n_steps == 1 ? "" : "s");
	} else {
		double ntt = p->sum_ntt / p->n_measured;

		fprintf(f,
			"<td class=\"r v\" style=\"--v:%d\">%.2f <span class=dim>of %d</span></td>",
			shade(ntt, max), ntt, p->n_measured);
	}
}

static void write_heat_row(FILE *f, const struct heat *h, int i, double max)
{
	int last = h->has_others ? PROGRAMS_MAX : h->n - 1;

	fputs("<tr><th scope=row>", f);
	html_escape(f, heat_name(h, i));
	fputs("</th>", f);
	for (int k = 0; k <= last; k++)
		if (k < h->n || k == PROGRAMS_MAX)
			write_pair(f, &h->pair[i][k], max);
	fputs("</tr>\n", f);
}

int html_heat_write(FILE *f, const struct html_data *d)
{
	cleanup_free struct heat *h = malloc(sizeof(*h));
	double max = 1;
	int pairs = 0, last, rc = h ? count(h, d) : -ENOMEM;

	if (rc < 0)
		return rc;
	for (int i = 0; i <= PROGRAMS_MAX; i++) {
		for (int k = 0; k <= PROGRAMS_MAX; k++) {
			const struct pair *p = &h->pair[i][k];

			pairs += p->n_steps;
			if (p->n_measured)
				max = fmax(max, p->sum_ntt / p->n_measured);
		}
	}
	fputs("<h2>Slow-down beside others</h2>", f);
	if (pairs == 0) {
		fputs("<p class=dim>No step had a partner.</p>", f);
		return 0;
	}
	last = h->has_others ? PROGRAMS_MAX : h->n - 1;
	fputs("<p class=dim>Each row: a program, and how many times as long its steps took as "
	      "alone (NTT, mean of so many steps) while the column's program was on the node. "
	      "A step counts for each of its partners; without a known speed only the steps "
	      "are counted.</p><div class=scroll tabindex=0 role=region aria-label=\"Slow-down "
	      "beside others\"><table class=heat><thead><tr><td></td>",
		f);
	for (int k = 0; k <= last; k++) {
		if (k >= h->n && k < PROGRAMS_MAX)
			continue;
		fputs("<th scope=col>", f);
		html_escape(f, heat_name(h, k));
		fputs("</th>", f);
	}
	fputs("</tr></thead><tbody>\n", f);
	for (int i = 0; i <= last; i++) {
		if (i < h->n || (i == PROGRAMS_MAX && h->has_others))
			write_heat_row(f, h, i, max);
	}
	fputs("</tbody></table></div>", f);
	return 0;
}
