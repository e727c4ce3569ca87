/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * canvas.h - a page of character cells: what `colocctl top` shows, before anybody knows what a
 * terminal is. Texts come from users (names of jobs and programs): what is no printable character
 * of the locale becomes '?', a wide character takes two cells, nothing is ever drawn outside.
 *
 * Not thread-safe (mbrtowc() and the locale).
 */
#ifndef COLOC_CTL_CANVAS_H
#define COLOC_CTL_CANVAS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* One character with what combines with it; longer ones lose their last marks. */
#define CANVAS_CELL_BYTES 14

enum canvas_look {
	LOOK_PLAIN,
	LOOK_BOLD,
	LOOK_HEAD, /* the names of columns */
	LOOK_BAR,  /* stands out: the selected step */
	LOOK_DIM,  /* old, or of little weight */
	LOOK_WARN,
	LOOK_KEY, /* and the LOOK_KEYS - 1 after it: a step's own colour */
};
#define LOOK_KEYS  6
#define LOOK_COUNT (LOOK_KEY + LOOK_KEYS)

struct canvas_cell {
	char text[CANVAS_CELL_BYTES]; /* "" in the right half of a wide character */
	uint8_t look;
	uint8_t width; /* 1 or 2; 0 the right half */
};

struct canvas {
	int rows, cols;
	struct canvas_cell cell[]; /* [rows * cols], row after row; blanks at first */
};

/* NULL: out of memory. free() it. Sizes below 0 count as 0. */
struct canvas *canvas_create(int rows, int cols);
struct canvas_cell *canvas_at(struct canvas *c, int row, int col); /* must be inside */

/* Columns that @text takes, as canvas_put() would draw it. */
int canvas_width(const char *text);
/*
 * canvas_put - draws @text from @col on, in at most @room columns and never beyond the row's end; a
 * text that is cut ends in '+'. Returns the column behind what was drawn. Outside: draws nothing.
 */
int canvas_put(
	struct canvas *c, int row, int col, int room, enum canvas_look look, const char *text);
/* The same with what is to be printed. */
int canvas_printf(struct canvas *c, int row, int col, int room, enum canvas_look look,
	const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* Flush right in the @room columns from @col on. */
void canvas_put_right(
	struct canvas *c, int row, int col, int room, enum canvas_look look, const char *text);
/* Gives all cells of a row this look. */
void canvas_bar(struct canvas *c, int row, enum canvas_look look);

/* All rows as lines, without blanks at their ends. 0, or -errno of writing. */
int canvas_print(const struct canvas *c, FILE *f);

#endif
