/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/ctl/top.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

struct canvas *canvas_create(int rows, int cols)
{
	size_t n;
	struct canvas *c;

	rows = rows < 0 ? 0 : rows;
	cols = cols < 0 ? 0 : cols;
	n = (size_t)rows * (size_t)cols;
	c = calloc(1, sizeof(*c) + n * sizeof(c->cell[0]));
	if (!c)
		return NULL;
	c->rows = rows;
	c->cols = cols;
	for (size_t i = 0; i < n; i++) {
		c->cell[i].text[0] = ' ';
		c->cell[i].width = 1;
	}
	return c;
}

struct canvas_cell *canvas_at(struct canvas *c, int row, int col)
{
	return &c->cell[(size_t)row * (size_t)c->cols + (size_t)col];
}

/* Characters that turn the direction of what follows, or show nothing where a name has them. */
static bool is_hidden(wchar_t w)
{
	return w == 0xad || w == 0x61c || (w >= 0x200b && w <= 0x200f) ||
	       (w >= 0x2028 && w <= 0x202e) || (w >= 0x2060 && w <= 0x206f) || w == 0xfeff;
}

/* One character of a text. Its width; 0: it combines with the one before. */
struct glyph {
	const char *text;
	size_t len;
	int width;
};

/* False at the end. */
static bool next_glyph(const char **text, struct glyph *ret)
{
	mbstate_t state = {0};
	wchar_t w = 0;
	size_t n;

	if (!**text)
		return false;
	n = mbrtowc(&w, *text, strlen(*text), &state);
	if (n == (size_t)-1 || n == (size_t)-2) {
		*ret = (struct glyph){"?", 1, 1};
		(*text)++;
		return true;
	}
	*ret = (struct glyph){*text, n, wcwidth(w)};
	*text += n;
	if (ret->width < 0 || !iswprint((wint_t)w) || is_hidden(w))
		*ret = (struct glyph){"?", 1, 1};
	return true;
}

int canvas_width(const char *text)
{
	struct glyph g;
	int width = 0;

	while (next_glyph(&text, &g))
		width += g.width;
	return width;
}

static void set_cell(struct canvas_cell *cell, enum canvas_look look, const struct glyph *g)
{
	*cell = (struct canvas_cell){.look = (uint8_t)look, .width = (uint8_t)g->width};
	memcpy(cell->text, g->text, g->len < CANVAS_CELL_BYTES ? g->len : 0);
}

static void combine(struct canvas_cell *cell, const struct glyph *g)
{
	size_t len = strlen(cell->text);

	if (len + g->len < CANVAS_CELL_BYTES)
		memcpy(cell->text + len, g->text, g->len);
}

int canvas_put(
	struct canvas *c, int row, int col, int room, enum canvas_look look, const char *text)
{
	static const struct glyph CUT = {"+", 1, 1}, RIGHT_HALF = {"", 0, 0};
	struct canvas_cell *last = NULL;
	struct glyph g;
	int end;

	if (row < 0 || row >= c->rows || col < 0 || col >= c->cols || room <= 0)
		return col;
	end = room < c->cols - col ? col + room : c->cols;
	if (canvas_width(text) > end - col)
		end--; /* for the mark */
	else
		room = -1;
	while (next_glyph(&text, &g) && col + g.width <= end) {
		if (g.width == 0) {
			if (last)
				combine(last, &g);
			continue;
		}
		last = canvas_at(c, row, col++);
		set_cell(last, look, &g);
		if (g.width == 2)
			set_cell(canvas_at(c, row, col++), look, &RIGHT_HALF);
	}
	if (room >= 0)
		set_cell(canvas_at(c, row, col++), look, &CUT);
	return col;
}

int canvas_printf(
	struct canvas *c, int row, int col, int room, enum canvas_look look, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return canvas_put(c, row, col, room, look, text);
}

void canvas_put_right(
	struct canvas *c, int row, int col, int room, enum canvas_look look, const char *text)
{
	int width = canvas_width(text), left = width < room ? room - width : 0;

	canvas_put(c, row, col + left, room - left, look, text);
}

void canvas_bar(struct canvas *c, int row, enum canvas_look look)
{
	for (int col = 0; row >= 0 && row < c->rows && col < c->cols; col++)
		canvas_at(c, row, col)->look = (uint8_t)look;
}

int canvas_print(const struct canvas *c, FILE *f)
{
	for (int row = 0; row < c->rows; row++) {
		const struct canvas_cell *cell = c->cell + (size_t)row * (size_t)c->cols;
		int n = c->cols;

		while (n > 0 && strcmp(cell[n - 1].text, " ") == 0)
			n--;
		for (int i = 0; i < n; i++)
			fputs(cell[i].text, f);
		fputc('\n', f);
	}
	return fflush(f) == 0 && !ferror(f) ? 0 : -(errno ? errno : EIO);
}
