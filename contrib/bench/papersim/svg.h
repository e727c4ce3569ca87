/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg.h - the few kinds of plot that the papers use, as SVG: boxes, sorted curves, bars.
 * Lengths are pixels, y grows downwards. One thread per picture.
 */
#ifndef COLOC_PAPERSIM_SVG_H
#define COLOC_PAPERSIM_SVG_H

#include <stdbool.h>
#include <stdio.h>

struct svg {
	FILE *f;
	double width, height;
};

/* One plot in a picture: where it is, and what its y axis spans. */
struct panel {
	double x, y, w, h;
	double low, high; /* of the y axis */
	int slots;        /* places along x */
};

/* Begins a file; the title stands on top, the note under it. Exits with a message on failure. */
void svg_open(struct svg *s, const char *dir, const char *name, double width, double height,
	const char *title, const char *note);
void svg_close(struct svg *s);

/* Widens low and high to hold @n values. Begin with low > high. */
void panel_hold(struct panel *p, const double *value, int n);
/* A little room above and below what it holds. */
void panel_pad(struct panel *p);
/* Frame, grid, numbers and names of the axes; a stronger line at @reference (NAN: none). */
void panel_draw(struct svg *s, const struct panel *p, const char *title, const char *y_name,
	double reference);
/* What stands under place @slot; turned where @turn. */
void panel_label(struct svg *s, const struct panel *p, int slot, const char *text, int turn);
/* Median, quartiles, and whiskers to the least and the greatest; sorts a copy. */
void panel_box(struct svg *s, const struct panel *p, int slot, const double *value, int n);
/* Values along x, one per slot, as they are. */
void panel_line(struct svg *s, const struct panel *p, int colour, const double *value, int n);
/* Bar @k of @of at @slot from the axis' low end; interval low..high (NAN: none). */
void panel_bar(struct svg *s, const struct panel *p, int slot, int k, int of, int colour,
	double value, double low, double high);
/* A number axis under the panel in place of slots; @at below is 0 at its low end, 1 at its high. */
void panel_axis(struct svg *s, const struct panel *p, double low, double high, const char *name);
void panel_curve(struct svg *s, const struct panel *p, int colour, const double *at,
	const double *value, int n);
void panel_mark(
	struct svg *s, const struct panel *p, int colour, bool hollow, double at, double value);
/* A cell of a table of colours: @shade 0 white, 1 the greatest loss, -1 the greatest gain. */
void svg_cell(
	struct svg *s, double x, double y, double w, double h, double shade, const char *sign);
void svg_text(struct svg *s, double x, double y, const char *anchor, double turn, const char *text);
/* Names of colours in a row from (x, y). */
void svg_legend(struct svg *s, double x, double y, const char *const *name, int n);

#endif
