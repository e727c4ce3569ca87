/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "nodesvc/ctl/top.h"

enum canvas_look top_key_look(char key)
{
	if (key >= 'a' && key <= 'z')
		return LOOK_KEY + (key - 'a') % LOOK_KEYS;
	if (key >= 'A' && key <= 'Z')
		return LOOK_KEY + (key - 'A' + 'z' - 'a' + 1) % LOOK_KEYS;
	return LOOK_PLAIN;
}

struct sign {
	char text[2];
	enum canvas_look look;
};

static struct sign core_sign(const struct top_model *m, int core)
{
	const struct coreset *pus = &m->map.core[core].pus;
	struct sign s = {".", LOOK_DIM};
	int n = 0;

	if (m->map.core[core].reserved)
		s.text[0] = 'x';
	for (int i = 0; i < m->n; i++) {
		if (!coreset_intersects(&m->step[i].cores, pus))
			continue;
		if (n++ == 0) {
			s.text[0] = m->step[i].key;
			s.look = top_key_look(m->step[i].key);
		}
	}
	if (n > 1) {
		s.text[0] = (char)(n > 9 ? '+' : '0' + n);
		s.look = LOOK_BOLD;
	}
	return s;
}

/* Columns of a domain that begins at @core. */
static int domain_width(const struct top_map *map, int core)
{
	int i = core;

	while (i < map->n_cores && map->core[i].domain == map->core[core].domain)
		i++;
	return i - core;
}

static int first_pu(const struct top_map *map, int core)
{
	return coreset_next(&map->core[core].pus, 0);
}

static int label_width(const struct top_map *map)
{
	char text[16];
	int most = 0;

	for (int i = 0; i < map->n_cores; i++)
		most = first_pu(map, i) > most ? first_pu(map, i) : most;
	return snprintf(text, sizeof(text), "%d", most);
}

/* Where one core after the other goes. */
struct pen {
	int begin, end, at; /* columns; begin: behind the label */
	int rows;
};

/* Moves to the place of @core; false: the row is full. */
static bool pen_fits(struct pen *p, const struct top_map *map, int core)
{
	bool is_new = core == 0 || map->core[core].domain != map->core[core - 1].domain;
	int gap = is_new && map->has_gaps && p->at > p->begin;
	int width =
		gap && domain_width(map, core) <= p->end - p->begin ? domain_width(map, core) : 1;

	/* A domain is not broken where a row has room for a whole one. */
	if (p->at + gap + width > p->end)
		return false;
	p->at += gap;
	return true;
}

static int count_rows(const struct top_map *map, struct pen p)
{
	p.rows = 1;
	for (int i = 0; i < map->n_cores; i++, p.at++) {
		if (!pen_fits(&p, map, i)) {
			p.rows++;
			p.at = p.begin;
		}
	}
	return p.rows;
}

#define MORE "+1024 more"

int top_nodemap(
	struct canvas *c, int row, int max_rows, int cols, const struct top_model *m, bool stale)
{
	const struct top_map *map = &m->map;
	const int label = label_width(map);
	struct pen p = {.begin = label + 5, .end = cols, .at = label + 5};
	int need;

	if (map->n_cores == 0 || max_rows <= 0 || p.begin >= cols)
		return 0;
	need = count_rows(map, p);
	if (!c)
		return need < max_rows ? need : max_rows;
	for (int i = 0; i < map->n_cores; i++, p.at++) {
		struct sign s = core_sign(m, i);

		if (i == 0 || !pen_fits(&p, map, i)) {
			if (p.rows == max_rows) {
				canvas_printf(c, row + p.rows - 1, p.at + 1, cols, LOOK_DIM,
					"+%d more", map->n_cores - i);
				break;
			}
			p.at = p.begin;
			canvas_printf(c, row + p.rows, 0, cols, LOOK_DIM, "%s %*d",
				p.rows ? "   " : "CPU", label, first_pu(map, i));
			if (++p.rows == max_rows && need > max_rows && cols > 30)
				p.end = cols - (int)sizeof(MORE);
		}
		canvas_put(c, row + p.rows - 1, p.at, 1, stale ? LOOK_DIM : s.look, s.text);
	}
	return p.rows;
}
