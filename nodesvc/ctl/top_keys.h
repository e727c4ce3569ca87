/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top_keys.h - what a key does to the view of `colocctl top`. */
#ifndef COLOC_CTL_TOP_KEYS_H
#define COLOC_CTL_TOP_KEYS_H

#include "nodesvc/ctl/top_layout.h"
#include "nodesvc/ctl/top_term.h"

enum top_action {
	ACTION_NONE,
	ACTION_DRAW,   /* the view has changed */
	ACTION_REDRAW, /* and send all of the page */
	ACTION_ASK,    /* do not wait for the next round */
	ACTION_QUIT,
};

/* @v as the last top_layout() of @m left it. */
enum top_action top_keys(struct top_view *v, const struct top_model *m, int key);

#endif
