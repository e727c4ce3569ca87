/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top_live.h - `colocctl top` on a terminal: one loop over keys, signals, answers and the clock. */
#ifndef COLOC_CTL_TOP_LIVE_H
#define COLOC_CTL_TOP_LIVE_H

#include "nodesvc/ctl/top_fetch.h"
#include "nodesvc/ctl/top_layout.h"

/*
 * top_live - shows @v until somebody quits, @count rounds are over (0: no end), the terminal is
 * gone
 * (-EIO) or a signal comes, of which the process then ends. @f is idle, with everything set but
 * want. Errors: as top_term_open(), -ENOMEM.
 */
int top_live(struct top_fetch *f, struct top_view *v, int64_t delay_ns, int64_t count,
	struct errbuf *err);

#endif
