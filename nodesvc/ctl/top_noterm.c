/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "nodesvc/ctl/top.h"

int top_term_open(struct errbuf *err)
{
	return err_set(err, -ENOTSUP,
		"colocctl was built without ncurses, which the live view needs (to build: "
		"libncurses-dev or ncurses-devel); -b prints plain text");
}

void top_term_close(void)
{
}

void top_term_resize(void)
{
}

void top_term_size(int *ret_rows, int *ret_cols)
{
	*ret_rows = *ret_cols = 0;
}

void top_term_draw(struct canvas *c, bool anew)
{
	(void)c;
	(void)anew;
}

int top_term_key(void)
{
	return TOP_KEY_NONE;
}
