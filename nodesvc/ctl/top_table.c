/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nodesvc/ctl/ctl.h"
#include "nodesvc/ctl/top.h"

#define CELL_MAX 2600 /* the longest cpulist */
/* The last column takes what is left, if it is at least this. */
#define LAST_MIN 10

enum source {
	FROM_NOW,     /* a field of the step, as it is */
	FROM_RATE,    /* a signal, "415k profile" */
	FROM_PERCENT, /* a signal, "98%" */
	FROM_TEXT,    /* text() */
	FROM_MAP,
};

enum { LEFT = 1, IF_KNOWN = 2 /* not there where nobody has a value */ };

struct column {
	const char *name;
	enum top_sort sort; /* SORT_COUNT: not by it */
	enum source source;
	const char *key;
	void (*text)(const struct top_step *s, char *buf, size_t size);
	int max; /* widest; 0: any */
	unsigned int is;
};

/* "2/3": the second of three that were seen. */
static void text_phase(const struct top_step *s, char *buf, size_t size)
{
	struct json_object *phases = show_get(s->detail, "phases"), *table;
	const char *now = show_text(phases, "now");

	table = show_get(phases, "table");
	*buf = '\0';
	if (*now && json_object_is_type(table, json_type_array))
		snprintf(buf, size, "%s/%zu", now, json_object_array_length(table));
}

/* The request is worth a word only where something else rules. */
static void text_policy(const struct top_step *s, char *buf, size_t size)
{
	const char *rules = show_text(s->now, "policy"), *asked = show_text(s->now, "req_policy");
	size_t len = strcspn(asked, ",");

	if (strlen(rules) == len && strncmp(rules, asked, len) == 0)
		snprintf(buf, size, "%s", rules);
	else
		say_policy(s->now, buf, size);
}

static void text_decided(const struct top_step *s, char *buf, size_t size)
{
	struct json_object *list = show_get(s->detail, "decisions"), *newest = NULL;
	char when[32];

	if (json_object_is_type(list, json_type_array))
		newest = json_object_array_get_idx(list, 0);
	say_clock(show_double(newest, "t_unix"), when, sizeof(when));
	snprintf(buf, size, "%s%s%s", when, *when ? " " : "", show_text(newest, "event"));
}

static void text_elapsed(const struct top_step *s, char *buf, size_t size)
{
	show_elapsed(show_double(s->now, "elapsed_s"), buf, size);
}

/* "1.23 alone": against what is part of it. */
static void text_ntt(const struct top_step *s, char *buf, size_t size)
{
	double v = top_step_figure(s, "ntt_full");

	*buf = '\0';
	if (!isnan(v))
		snprintf(buf, size, "%.2f %s", v,
			show_text(show_get(s->detail, "figures"), "solo_basis"));
}

/* "1.05 (0.98-1.12) app" */
static void text_gain(const struct top_step *s, char *buf, size_t size)
{
	double v = top_step_figure(s, "gain_placement");

	*buf = '\0';
	if (!isnan(v))
		snprintf(buf, size, "%.2f (%.2f-%.2f) %s", v,
			top_step_figure(s, "gain_placement_lo"),
			top_step_figure(s, "gain_placement_hi"),
			show_text(show_get(s->detail, "figures"), "gain_basis"));
}

static void text_waits(const struct top_step *s, char *buf, size_t size)
{
	say_waits(s->now, buf, size);
}

/* "runs", or until its next slice. */
static void text_turn(const struct top_step *s, char *buf, size_t size)
{
	struct json_object *t = show_get(s->now, "turn");

	*buf = '\0';
	if (t && show_bool(t, "runs"))
		snprintf(buf, size, "runs");
	else if (t)
		snprintf(buf, size, "in %s ms", show_text(t, "next_ms"));
}

static void text_key(const struct top_step *s, char *buf, size_t size)
{
	snprintf(buf, size, " %c", s->key);
}

/* The first KEPT stay when the others are moved out of sight. */
#define KEPT 2
static const struct column COLUMN[] = {
	{"", SORT_COUNT, FROM_TEXT, NULL, text_key, 0, LEFT},
	{"STEP", SORT_STEP, FROM_NOW, "id", NULL, 20, LEFT},
	{"USER", SORT_USER, FROM_NOW, "user", NULL, 12, LEFT},
	{"PROGRAM", SORT_PROGRAM, FROM_NOW, "program", NULL, 16, LEFT},
	{"CORES", SORT_CORES, FROM_MAP, NULL, NULL, 0, LEFT},
	{"CORESET", SORT_COUNT, FROM_NOW, "coreset", NULL, 20, LEFT},
	{"THR", SORT_COUNT, FROM_NOW, "threads", NULL, 0, 0},
	{"BUSY", SORT_BUSY, FROM_PERCENT, "utilization", NULL, 0, 0},
	{"WAITS", SORT_COUNT, FROM_TEXT, NULL, text_waits, 0, LEFT | IF_KNOWN},
	{"TURN", SORT_COUNT, FROM_TEXT, NULL, text_turn, 0, LEFT | IF_KNOWN},
	{"PROGRESS/S", SORT_PROGRESS, FROM_RATE, "progress_per_s", NULL, 0, IF_KNOWN},
	{"PHASE", SORT_COUNT, FROM_TEXT, NULL, text_phase, 0, IF_KNOWN},
	{"NTT", SORT_NTT, FROM_TEXT, NULL, text_ntt, 0, IF_KNOWN},
	{"GAIN", SORT_GAIN, FROM_TEXT, NULL, text_gain, 0, IF_KNOWN},
	{"LOADS/S", SORT_LOADS, FROM_RATE, "loads_per_s", NULL, 0, IF_KNOWN},
	{"INSTR/S", SORT_COUNT, FROM_RATE, "instructions_per_s", NULL, 0, IF_KNOWN},
	{"MISSES", SORT_COUNT, FROM_PERCENT, "llc_miss_ratio", NULL, 0, IF_KNOWN},
	{"MEMBYTES/S", SORT_COUNT, FROM_RATE, "mem_bytes_per_s", NULL, 0, IF_KNOWN},
	{"POLICY", SORT_COUNT, FROM_TEXT, NULL, text_policy, 32, LEFT},
	{"STATE", SORT_COUNT, FROM_NOW, "state", NULL, 0, LEFT},
	{"REBINDS", SORT_COUNT, FROM_NOW, "rebinds", NULL, 0, 0},
	{"ELAPSED", SORT_ELAPSED, FROM_TEXT, NULL, text_elapsed, 0, 0},
	{"DECIDED", SORT_COUNT, FROM_TEXT, NULL, text_decided, 0, LEFT},
	{"REASON", SORT_COUNT, FROM_NOW, "reason", NULL, 0, LEFT},
};
#define COLUMNS (int)(sizeof(COLUMN) / sizeof(COLUMN[0]))
_Static_assert(sizeof(COLUMN) / sizeof(COLUMN[0]) <= TOP_COLUMNS_MAX, "TOP_COLUMNS_MAX");

int top_table_skippable(void)
{
	return COLUMNS - KEPT - 1;
}

static void cell_text(const struct column *col, const struct top_model *m, const struct top_step *s,
	char *buf, size_t size)
{
	switch (col->source) {
	case FROM_NOW:
		snprintf(buf, size, "%s", show_text(s->now, col->key));
		break;
	case FROM_RATE:
		say_rate(s->now, col->key, buf, size);
		break;
	case FROM_PERCENT:
		say_percent(s->now, col->key, buf, size);
		break;
	case FROM_TEXT:
		col->text(s, buf, size);
		break;
	case FROM_MAP:
		*buf = '\0';
		if (!coreset_is_empty(&s->cores))
			top_map_row(&m->map, &s->cores, buf, size);
	}
}

/* Of all steps, also those out of sight: columns do not jump when one scrolls. 0: leave it out. */
static int natural_width(const struct top_model *m, const struct column *col)
{
	int width = 0;

	for (int i = 0; i < m->n; i++) {
		char text[CELL_MAX];
		int w;

		cell_text(col, m, &m->step[i], text, sizeof(text));
		w = canvas_width(text);
		width = w > width ? w : width;
	}
	if (col->is & IF_KNOWN && width == 0)
		return 0;
	if (col->max && width > col->max)
		width = col->max;
	return width > (int)strlen(col->name) ? width : (int)strlen(col->name);
}

void top_table_fit(struct top_table *t, const struct top_model *m, int cols, int skip)
{
	/* A map that would push out all else: the coreset is beside it, the node's map above. */
	int map = top_map_width(&m->map), map_max = cols ? cols / 3 : 64;

	*t = (struct top_table){.gap = cols && cols < 100 ? 1 : 2};
	for (int i = 0; i < COLUMNS; i++) {
		const struct column *col = &COLUMN[i];
		int width, left = cols - t->width - (t->n ? t->gap : 0);

		if ((i >= KEPT && i < KEPT + skip) ||
			(col->source == FROM_MAP && (map == 0 || map > map_max)))
			continue;
		width = natural_width(m, col);
		if (cols && i == COLUMNS - 1 && left >= LAST_MIN && width > left)
			width = left;
		if (width == 0)
			continue;
		if (cols && i >= KEPT && width > left) {
			t->is_wide = true;
			break;
		}
		t->width += width + (t->n ? t->gap : 0);
		t->use[t->n].column = i;
		t->use[t->n++].width = width;
	}
}

static void draw(struct canvas *c, int row, int at, int width, bool right, enum canvas_look look,
	const char *text)
{
	if (right)
		canvas_put_right(c, row, at, width, look, text);
	else
		canvas_put(c, row, at, width, look, text);
}

void top_table_head(const struct top_table *t, struct canvas *c, int row, enum top_sort by)
{
	int at = 0;

	canvas_bar(c, row, LOOK_HEAD);
	for (int i = 0; i < t->n; i++) {
		const struct column *col = &COLUMN[t->use[i].column];

		draw(c, row, at, t->use[i].width, !(col->is & LEFT),
			col->sort == by ? LOOK_BAR : LOOK_HEAD, col->name);
		at += t->use[i].width + t->gap;
	}
	if (t->is_wide)
		canvas_put(c, row, c->cols - 1, 1, LOOK_HEAD, ">");
}

void top_table_row(const struct top_table *t, struct canvas *c, int row, const struct top_model *m,
	const struct top_step *s, bool selected)
{
	const bool stale = *m->error != '\0';
	int at = 0;

	for (int i = 0; i < t->n; i++) {
		const struct column *col = &COLUMN[t->use[i].column];
		enum canvas_look look = stale ? LOOK_DIM
					: t->use[i].column == 0 || col->source == FROM_MAP
						? top_key_look(s->key)
						: LOOK_PLAIN;
		char text[CELL_MAX];

		cell_text(col, m, s, text, sizeof(text));
		draw(c, row, at, t->use[i].width, !(col->is & LEFT), look, text);
		at += t->use[i].width + t->gap;
	}
	if (selected) {
		canvas_put(c, row, 0, 1, LOOK_PLAIN, ">");
		canvas_bar(c, row, LOOK_BAR);
	}
}
