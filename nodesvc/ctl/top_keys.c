/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/ctl/top.h"

#include <stdio.h>

#define CTRL_L 12

static enum top_action select_step(struct top_view *v, const struct top_model *m, int at)
{
	if (at >= m->n)
		at = m->n - 1;
	if (at < 0)
		at = 0;
	if (m->n == 0)
		return ACTION_NONE;
	v->at = at;
	snprintf(v->selected, sizeof(v->selected), "%s", m->step[at].id);
	return ACTION_DRAW;
}

static enum top_action sort_by(struct top_view *v, int by)
{
	v->sort = (enum top_sort)((by + SORT_COUNT) % SORT_COUNT);
	return ACTION_DRAW;
}

enum top_action top_keys(struct top_view *v, const struct top_model *m, int key)
{
	const int page = v->page > 0 ? v->page : 1;

	if (key == TOP_KEY_NONE)
		return ACTION_NONE;
	if (key == CTRL_L)
		return ACTION_REDRAW;
	if (v->help) {
		v->help = false;
		return ACTION_DRAW;
	}
	switch (key) {
	case 'q':
	case 'Q':
		return ACTION_QUIT;
	case 'h':
	case '?':
		v->help = true;
		return ACTION_DRAW;
	case ' ':
		return ACTION_ASK;
	case 's':
		return sort_by(v, (int)v->sort + 1);
	case 'S':
		return sort_by(v, (int)v->sort - 1);
	case 'r':
		v->reverse = !v->reverse;
		return ACTION_DRAW;
	case TOP_KEY_UP:
	case 'k':
		return select_step(v, m, v->at - 1);
	case TOP_KEY_DOWN:
	case 'j':
		return select_step(v, m, v->at + 1);
	case TOP_KEY_PAGE_UP:
		return select_step(v, m, v->at - page);
	case TOP_KEY_PAGE_DOWN:
		return select_step(v, m, v->at + page);
	case TOP_KEY_HOME:
		return select_step(v, m, 0);
	case TOP_KEY_END:
		return select_step(v, m, m->n - 1);
	case TOP_KEY_LEFT:
		v->column -= v->column > 0;
		return ACTION_DRAW;
	case TOP_KEY_RIGHT:
		v->column += v->is_wide;
		return ACTION_DRAW;
	default:
		return ACTION_NONE;
	}
}
