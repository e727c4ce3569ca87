/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/bench/papersim/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Told apart by people who see no red or no green, too (Okabe and Ito). */
static const char *const colours[] = {
	"#000000", "#e69f00", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#8a8a8a"};
#define COLOURS ((int)(sizeof(colours) / sizeof(colours[0])))

static double y_of(const struct panel *p, double value)
{
	return p->y + p->h * (1 - (value - p->low) / (p->high - p->low));
}

static double slot_width(const struct panel *p)
{
	return p->w / p->slots;
}

static void put_text(struct svg *s, const char *text)
{
	for (; *text; text++) {
		if (*text == '&')
			fputs("&amp;", s->f);
		else if (*text == '<')
			fputs("&lt;", s->f);
		else
			putc(*text, s->f);
	}
}

static void put_label(struct svg *s, double x, double y, double size, const char *anchor,
	double turn, const char *text)
{
	fprintf(s->f, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%g\" text-anchor=\"%s\"", x, y, size,
		anchor);
	if (turn != 0)
		fprintf(s->f, " transform=\"rotate(%g %.1f %.1f)\"", turn, x, y);
	fputs(">", s->f);
	put_text(s, text);
	fputs("</text>\n", s->f);
}

static void put_line(
	struct svg *s, double x1, double y1, double x2, double y2, const char *colour, double width)
{
	fprintf(s->f,
		"<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
		"stroke-width=\"%g\"/>\n",
		x1, y1, x2, y2, colour, width);
}

static void put_rect(
	struct svg *s, double x, double y, double w, double h, const char *fill, const char *stroke)
{
	fprintf(s->f,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\" "
		"stroke=\"%s\"/>\n",
		x, y, w, h, fill, stroke);
}

void svg_open(struct svg *s, const char *dir, const char *name, double width, double height,
	const char *title, const char *note)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	*s = (struct svg){.f = fopen(path, "we"), .width = width, .height = height};
	if (!s->f) {
		perror(path);
		exit(1);
	}
	fprintf(s->f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" "
		"viewBox=\"0 0 %g %g\" font-family=\"Helvetica, Arial, sans-serif\">\n",
		width, height, width, height);
	put_rect(s, 0, 0, width, height, "#ffffff", "none");
	put_label(s, 16, 26, 16, "start", 0, title);
	put_label(s, 16, 45, 12, "start", 0, note);
}

void svg_close(struct svg *s)
{
	fputs("</svg>\n", s->f);
	if (fclose(s->f)) {
		perror("plot");
		exit(1);
	}
}

void panel_hold(struct panel *p, const double *value, int n)
{
	double low = p->low, high = p->high;

	for (int i = 0; i < n; i++) {
		low = fmin(low, value[i]);
		high = fmax(high, value[i]);
	}
	p->low = low;
	p->high = high;
}

void panel_pad(struct panel *p)
{
	double room = fmax(1e-9, 0.04 * (p->high - p->low));

	p->low -= room;
	p->high += room;
}

/* 1, 2 or 5 times a power of ten, for about five lines. */
static double grid_step(double span)
{
	double rough = span / 5, power = pow(10, floor(log10(rough)));

	return (rough / power < 1.5          ? 1
		       : rough / power < 3.5 ? 2
		       : rough / power < 7.5 ? 5
					     : 10) *
	       power;
}

void panel_draw(struct svg *s, const struct panel *p, const char *title, const char *y_name,
	double reference)
{
	double step = grid_step(p->high - p->low);
	int digits = step >= 1 ? 0 : (int)ceil(-log10(step) - 1e-9);

	put_rect(s, p->x, p->y, p->w, p->h, "none", "#444444");
	for (long i = lround(ceil(p->low / step - 1e-9)); (double)i <= p->high / step + 1e-9; i++) {
		double v = (double)i * step;
		char text[32];

		if (fabs(v) < step * 1e-6)
			v = 0;
		snprintf(text, sizeof(text), "%.*f", digits, v);
		put_line(s, p->x, y_of(p, v), p->x + p->w, y_of(p, v), "#dddddd", 1);
		put_label(s, p->x - 6, y_of(p, v) + 4, 11, "end", 0, text);
	}
	if (isfinite(reference) && reference >= p->low && reference <= p->high)
		put_line(s, p->x, y_of(p, reference), p->x + p->w, y_of(p, reference), "#888888",
			1.5);
	put_label(s, p->x + p->w / 2, p->y - 8, 13, "middle", 0, title);
	put_label(s, p->x - 44, p->y + p->h / 2, 12, "middle", -90, y_name);
}

void panel_label(struct svg *s, const struct panel *p, int slot, const char *text, int turn)
{
	double x = p->x + (slot + 0.5) * slot_width(p);

	put_label(s, turn ? x + 4 : x, p->y + p->h + 16, 11, turn ? "end" : "middle",
		turn ? -35 : 0, text);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(const double *sorted, int n, double q)
{
	double at = q * (n - 1);
	int i = (int)at;

	return i + 1 < n ? sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

void panel_box(struct svg *s, const struct panel *p, int slot, const double *value, int n)
{
	double *v = malloc((size_t)n * sizeof(*v));
	double x = p->x + (slot + 0.5) * slot_width(p), half = fmin(16, 0.32 * slot_width(p));
	double q1, q2, q3;

	if (!v || n < 1) {
		free(v);
		return;
	}
	memcpy(v, value, (size_t)n * sizeof(*v));
	qsort(v, (size_t)n, sizeof(*v), compare);
	q1 = quantile(v, n, 0.25);
	q2 = quantile(v, n, 0.5);
	q3 = quantile(v, n, 0.75);
	put_line(s, x, y_of(p, v[0]), x, y_of(p, q1), "#000000", 1);
	put_line(s, x, y_of(p, q3), x, y_of(p, v[n - 1]), "#000000", 1);
	put_line(s, x - half / 2, y_of(p, v[0]), x + half / 2, y_of(p, v[0]), "#000000", 1);
	put_line(s, x - half / 2, y_of(p, v[n - 1]), x + half / 2, y_of(p, v[n - 1]), "#000000", 1);
	put_rect(s, x - half, y_of(p, q3), 2 * half, y_of(p, q1) - y_of(p, q3), "#bcd7ea",
		"#000000");
	put_line(s, x - half, y_of(p, q2), x + half, y_of(p, q2), "#000000", 3);
	free(v);
}

void panel_line(struct svg *s, const struct panel *p, int colour, const double *value, int n)
{
	fprintf(s->f, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s points=\"",
		colours[colour % COLOURS], colour % 2 ? " stroke-dasharray=\"7 3\"" : "");
	for (int i = 0; i < n; i++)
		fprintf(s->f, "%.1f,%.1f ", p->x + (i + 0.5) * slot_width(p), y_of(p, value[i]));
	fputs("\"/>\n", s->f);
}

void panel_bar(struct svg *s, const struct panel *p, int slot, int k, int of, int colour,
	double value, double low, double high)
{
	double w = 0.8 * slot_width(p) / of;
	double x = p->x + slot * slot_width(p) + 0.1 * slot_width(p) + k * w;

	put_rect(s, x, y_of(p, value), w, y_of(p, p->low) - y_of(p, value),
		colours[colour % COLOURS], "none");
	if (isfinite(low) && isfinite(high))
		put_line(s, x + w / 2, y_of(p, low), x + w / 2, y_of(p, high), "#000000", 1);
}

void panel_axis(struct svg *s, const struct panel *p, double low, double high, const char *name)
{
	double step = grid_step(high - low);
	int digits = step >= 1 ? 0 : (int)ceil(-log10(step) - 1e-9);

	for (long i = lround(ceil(low / step - 1e-9)); (double)i <= high / step + 1e-9; i++) {
		double v = (double)i * step, x = p->x + p->w * (v - low) / (high - low);
		char text[32];

		snprintf(text, sizeof(text), "%.*f", digits, v);
		put_line(s, x, p->y + p->h, x, p->y + p->h + 4, "#444444", 1);
		put_label(s, x, p->y + p->h + 17, 11, "middle", 0, text);
	}
	put_label(s, p->x + p->w / 2, p->y + p->h + 34, 12, "middle", 0, name);
}

void panel_curve(struct svg *s, const struct panel *p, int colour, const double *at,
	const double *value, int n)
{
	fprintf(s->f, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s points=\"",
		colours[colour % COLOURS], colour % 2 ? " stroke-dasharray=\"7 3\"" : "");
	for (int i = 0; i < n; i++)
		fprintf(s->f, "%.1f,%.1f ", p->x + p->w * at[i], y_of(p, value[i]));
	fputs("\"/>\n", s->f);
}

void panel_mark(
	struct svg *s, const struct panel *p, int colour, bool hollow, double at, double value)
{
	fprintf(s->f,
		"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\" stroke=\"%s\" "
		"stroke-width=\"1.5\"/>\n",
		p->x + p->w * at, y_of(p, value), hollow ? "none" : colours[colour % COLOURS],
		colours[colour % COLOURS]);
}

void svg_cell(struct svg *s, double x, double y, double w, double h, double shade, const char *sign)
{
	int fade = (int)lround(255 * (1 - fmin(1, fabs(shade))));
	char fill[8];

	/* Losses in orange, gains in blue: the pair that everybody tells apart. */
	if (shade >= 0)
		snprintf(fill, sizeof(fill), "#ff%02x%02x", 110 + fade * 145 / 255, fade);
	else
		snprintf(fill, sizeof(fill), "#%02x%02xff", fade, 110 + fade * 145 / 255);
	put_rect(s, x, y, w, h, fill, "#dddddd");
	put_label(s, x + w / 2, y + h / 2 + 4, 11, "middle", 0, sign);
}

void svg_text(struct svg *s, double x, double y, const char *anchor, double turn, const char *text)
{
	put_label(s, x, y, 11, anchor, turn, text);
}

void svg_legend(struct svg *s, double x, double y, const char *const *name, int n)
{
	for (int i = 0; i < n; i++) {
		put_line(s, x, y - 4, x + 22, y - 4, colours[i % COLOURS], 4);
		put_label(s, x + 28, y, 12, "start", 0, name[i]);
		x += 44 + 7 * (double)strlen(name[i]);
	}
}
