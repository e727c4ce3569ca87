/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_term.h - the terminal of `colocctl top`, by ncurses, which sends only the cells that changed.
 * top_term.c is the only file that knows curses; top_noterm.c stands in for it where it is not
 * there.
 *
 * One terminal at a time, the process's own. Whatever ends the process but SIGKILL, a crash too,
 * the terminal is as before.
 */
#ifndef COLOC_CTL_TOP_TERM_H
#define COLOC_CTL_TOP_TERM_H

#include <stdbool.h>

#include "common/err.h"
#include "nodesvc/ctl/canvas.h"

/* What top_term_key() returns besides characters. */
enum {
	TOP_KEY_NONE = -1,
	TOP_KEY_UP = 0x110000, /* beyond every character */
	TOP_KEY_DOWN,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_OTHER,
};

/*
 * Takes over standard input and output. Handlers of SIGINT, SIGTERM and SIGWINCH have to be there
 * before. Errors, nothing changed: -ENOTTY no terminal, -EINVAL its type is unknown or cannot do
 * it, -ENOTSUP built without ncurses.
 */
int top_term_open(struct errbuf *err);
void top_term_close(void);
/* The window's size has changed, or it may have. */
void top_term_resize(void);
void top_term_size(int *ret_rows, int *ret_cols);
/* Shows the page. @anew: sends all of it. */
void top_term_draw(struct canvas *c, bool anew);
/* The next key that was pressed, never waits. */
int top_term_key(void);

#endif
