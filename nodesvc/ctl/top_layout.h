/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_layout.h - from what is known of a node and the size of a window to a page of text. Pure: the
 * same model and view give the same page; no terminal, no clock. Fits any size, down to nothing:
 * what matters least goes first.
 */
#ifndef COLOC_CTL_TOP_LAYOUT_H
#define COLOC_CTL_TOP_LAYOUT_H

#include <stdbool.h>

#include "nodesvc/ctl/canvas.h"
#include "nodesvc/ctl/top_model.h"

struct top_view {
	bool batch;     /* every step, as many rows as it takes, no keys */
	int rows, cols; /* of the window; batch: cols 0 is as wide as needed */
	enum top_sort sort;
	bool reverse, help;
	char selected[TOP_ID_MAX]; /* "" none: the first */
	int first;                 /* step in the first row of the table */
	int column;                /* so many columns of the table are out of sight to the left */

	/* What top_layout() made of it, for keys. */
	int page;     /* rows of the table */
	int at;       /* index of the selected step; -1 none */
	bool is_wide; /* columns are out of sight to the right */
};

/*
 * top_layout - sorts @m, settles @v (a selection that is gone goes to its neighbour, the selected
 * step is in sight) and draws. Errors: -ENOMEM.
 */
int top_layout(struct top_model *m, struct top_view *v, struct canvas **ret);
/* Marks the steps whose details @v shows. */
void top_layout_want(struct top_model *m, const struct top_view *v);

/* top_nodemap.c */
/*
 * Which step has which core, a character each: a step's key, the number of steps that share it (+
 * more than 9), x reserved, . none that is seen. Each row begins with the PU of its first core.
 * Returns the rows it takes, at most @max_rows; @c NULL: only counts them.
 */
int top_nodemap(
	struct canvas *c, int row, int max_rows, int cols, const struct top_model *m, bool stale);
/* The colour of a step's key. */
enum canvas_look top_key_look(char key);

/* top_table.c */
#define TOP_COLUMNS_MAX 24
struct top_table {
	int n, width; /* columns in use; their width with what is between them */
	int gap;
	bool is_wide;
	struct {
		int column, width;
	} use[TOP_COLUMNS_MAX];
};
/* Chooses columns for @cols (0: any number); @skip of those that may go are left out in front. */
void top_table_fit(struct top_table *t, const struct top_model *m, int cols, int skip);
/* As many may be left out. */
int top_table_skippable(void);
void top_table_head(const struct top_table *t, struct canvas *c, int row, enum top_sort by);
void top_table_row(const struct top_table *t, struct canvas *c, int row, const struct top_model *m,
	const struct top_step *s, bool selected);

/* top_detail.c: all about one step, in at most @rows rows. */
void top_detail(struct canvas *c, int row, int rows, const struct top_step *s, bool stale);
/* Keys, columns and signs. */
void top_help(struct canvas *c);

#endif
