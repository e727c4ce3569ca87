/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/ctl/top.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nodesvc/ctl/ctl.h"

/* A page without end would be no page; nobody's table is as wide. */
#define BATCH_COLS_MAX 4000

/* How the window's rows are dealt; 0: left out. */
struct deal {
	int service, error, map, head, steps, detail, foot;
};

static void most(int *n, int want, int *left)
{
	*n = want < *left ? want : *left;
	*left -= *n;
}

static struct deal deal_rows(const struct top_model *m, const struct top_view *v)
{
	const bool has_last_error = *show_text(m->status, "last_error") != '\0';
	int rows = v->rows, left = rows - 1; /* the title */
	int map = top_nodemap(NULL, 0, rows, v->cols, m, false);
	struct deal d = {0};

	if (left < 0)
		return d;
	most(&d.error, *m->error || (has_last_error && rows >= 16), &left);
	most(&d.head, rows >= 3, &left);
	most(&d.service, rows >= 6, &left);
	most(&d.foot, rows >= 10, &left);
	if (rows >= 8)
		most(&d.map, map < (rows + 3) / 4 ? map : (rows + 3) / 4, &left);
	/* The details have a third, and what the table leaves over. */
	if (rows >= 18 && m->n > 0 && left > rows / 3 + 1)
		d.detail = left - m->n - 1 > rows / 3 ? left - m->n - 1 : rows / 3;
	d.steps = left - d.detail;
	return d;
}

static struct deal deal_batch(const struct top_model *m, const struct top_view *v, int cols)
{
	struct deal d = {.service = m->status != NULL, .steps = m->n, .head = m->status != NULL};

	(void)v;
	d.error = *m->error || *show_text(m->status, "last_error");
	d.map = top_nodemap(NULL, 0, CORESET_MAX, cols, m, false);
	if (m->status && m->n == 0)
		d.steps = 1;
	return d;
}

/* Selection and scroll position that fit what is there. */
static void settle(const struct top_model *m, struct top_view *v, int page)
{
	int at = *v->selected ? top_model_find(m, v->selected) : -1, last = m->n - page;

	if (at < 0)
		at = v->at < 0 || !*v->selected ? 0 : v->at; /* its neighbour has moved up */
	v->at = at < m->n ? at : m->n - 1;
	snprintf(v->selected, sizeof(v->selected), "%s", v->at < 0 ? "" : m->step[v->at].id);
	v->page = page > 0 ? page : 0;
	if (v->at >= 0 && v->first > v->at)
		v->first = v->at;
	if (v->page && v->first < v->at - v->page + 1)
		v->first = v->at - v->page + 1;
	if (v->first > last)
		v->first = last;
	if (v->first < 0)
		v->first = 0;
	if (v->column > top_table_skippable())
		v->column = top_table_skippable();
}

static int draw_node(struct canvas *c, int at, int end, const struct top_model *m)
{
	struct json_object *o = m->status;
	const char *spec = show_text(o, "policy_spec"), *node = show_text(o, "node"),
		   *host = show_text(o, "host");
	int64_t steps = show_int(o, "steps", -1);

	at = canvas_put(c, 0, at, end - at, LOOK_PLAIN, host);
	if (*node && strcmp(node, host) != 0)
		at = canvas_printf(c, 0, at, end - at, LOOK_PLAIN, " (%s)", node);
	at = canvas_printf(
		c, 0, at + 2, end - at - 2, LOOK_BOLD, "%s", *spec ? spec : show_text(o, "policy"));
	at = canvas_printf(c, 0, at, end - at, LOOK_PLAIN, " by %s", show_text(o, "ruling_by"));
	if (!m->sees_all && steps > m->n)
		return canvas_printf(c, 0, at + 2, end - at - 2, LOOK_PLAIN,
			"%d of %lld steps are yours", m->n, (long long)steps);
	return canvas_printf(
		c, 0, at + 2, end - at - 2, LOOK_PLAIN, "%d step%s", m->n, m->n == 1 ? "" : "s");
}

static void draw_title(struct canvas *c, const struct top_model *m, const struct top_view *v)
{
	int at = canvas_put(c, 0, 0, c->cols, LOOK_BOLD, "coloc top"), end = c->cols, width;
	char clock[32];

	width = canvas_width(say_clock(m->t_unix, clock, sizeof(clock)));
	if (c->cols >= 40)
		end -= width + 2;
	if (m->status)
		at = draw_node(c, at + 2, end, m);
	else if (!*m->error)
		canvas_put(c, 0, at + 2, end - at - 2, LOOK_PLAIN, "waiting for colocd");
	if (end < c->cols)
		canvas_put(c, 0, v->batch ? at + 2 : end + 2, width, LOOK_DIM, clock);
}

static void draw_service(struct canvas *c, int row, const struct top_model *m)
{
	struct json_object *o = m->status;
	char up[32];
	int at;

	if (!o)
		return;
	at = canvas_printf(c, row, 0, c->cols, LOOK_PLAIN,
		"colocd up %s, %s x %s, signals: %s, decides every %s ms; %s decisions, %s "
		"rebinds",
		show_elapsed(show_double(o, "uptime_s"), up, sizeof(up)), show_text(o, "n_domains"),
		show_text(o, "domain"), show_text(show_get(o, "signals"), "source"),
		show_text(o, "tick_ms"), show_text(o, "decisions"), show_text(o, "rebinds"));
	if (show_bool(o, "dry_run"))
		at = canvas_put(c, row, at, c->cols, LOOK_WARN, "; dry run");
	if (show_bool(o, "draining"))
		canvas_put(c, row, at, c->cols, LOOK_WARN, "; draining: no new steps are taken");
}

static void draw_error(struct canvas *c, int row, const struct top_model *m)
{
	char since[32], seen[32];

	if (!*m->error) {
		canvas_printf(c, row, 0, c->cols, LOOK_WARN, "Last error: %s",
			show_text(m->status, "last_error"));
		return;
	}
	say_clock(m->t_unix, seen, sizeof(seen));
	canvas_printf(c, row, 0, c->cols, LOOK_WARN, "No answer since %s%s%s: %s",
		say_clock(m->error_t_unix, since, sizeof(since)), *seen ? "; this is of " : "",
		seen, m->error);
}

/* Why the table is empty. */
static void draw_empty(struct canvas *c, int row, const struct top_model *m)
{
	if (m->status && m->n == 0)
		canvas_put(c, row, 0, c->cols, LOOK_PLAIN,
			m->sees_all || show_int(m->status, "steps", 0) == 0
				? "No job steps under coloc on this node"
				: "None of your job steps is under coloc on this node");
}

static void draw_foot(
	struct canvas *c, int row, const struct top_model *m, const struct top_view *v)
{
	int at = canvas_printf(c, row, 0, c->cols, LOOK_DIM,
		"q quit  h help  s sort: %s%s  arrows select, scroll", top_sort_name(v->sort),
		v->reverse ? " (reversed)" : "");
	char text[64];
	int end = v->first + v->page < m->n ? v->first + v->page : m->n;

	if (m->n <= v->page)
		return;
	snprintf(text, sizeof(text), "%d-%d of %d", v->first + 1, end, m->n);
	if (at + (int)strlen(text) < c->cols)
		canvas_put_right(c, row, at, c->cols - at, LOOK_DIM, text);
}

static int widest(const struct top_model *m, const struct top_view *v)
{
	struct top_table t;
	int map = top_map_width(&m->map) + 10;

	top_table_fit(&t, m, 0, v->column);
	/* The line of the service and an error are some 200 characters. */
	map = map < 256 ? 256 : map;
	map = t.width > map ? t.width : map;
	return map < BATCH_COLS_MAX ? map : BATCH_COLS_MAX;
}

static void draw(struct canvas *c, const struct top_model *m, struct top_view *v,
	const struct deal *d, const struct top_table *t)
{
	const bool stale = *m->error != '\0';
	int row = 1;

	draw_title(c, m, v);
	if (d->service)
		draw_service(c, row++, m);
	if (d->error)
		draw_error(c, row++, m);
	if (d->map)
		row += top_nodemap(c, row, d->map, c->cols, m, stale);
	if (d->head)
		top_table_head(t, c, row++, v->batch ? SORT_COUNT : v->sort);
	if (d->steps > 0)
		draw_empty(c, row, m);
	for (int i = 0; i < d->steps && v->first + i < m->n; i++)
		top_table_row(t, c, row + i, m, &m->step[v->first + i],
			!v->batch && v->first + i == v->at);
	row += d->steps;
	if (v->at >= 0 && !v->batch)
		top_detail(c, row, d->detail, &m->step[v->at], stale);
	row += d->detail;
	if (d->foot)
		draw_foot(c, row, m, v);
}

int top_layout(struct top_model *m, struct top_view *v, struct canvas **ret)
{
	const int cols = v->batch && v->cols == 0 ? widest(m, v) : v->cols;
	struct top_table t;
	struct deal d;
	struct canvas *c;

	top_model_sort(m, v->sort, v->reverse);
	d = v->batch ? deal_batch(m, v, cols) : deal_rows(m, v);
	settle(m, v, d.steps);
	top_table_fit(&t, m, v->batch ? v->cols : cols > 0 ? cols : 1, v->column);
	v->is_wide = t.is_wide;
	c = canvas_create(
		v->batch ? 1 + d.service + d.error + d.map + d.head + d.steps : v->rows, cols);
	if (!c)
		return -ENOMEM;
	if (v->help && !v->batch)
		top_help(c);
	else if (c->rows > 0)
		draw(c, m, v, &d, &t);
	*ret = c;
	return 0;
}

void top_layout_want(struct top_model *m, const struct top_view *v)
{
	bool all = v->batch || top_sort_needs_details(v->sort);

	for (int i = 0; i < m->n; i++)
		m->step[i].wanted = all || i == v->at || (i >= v->first && i < v->first + v->page);
}
