/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * putback.h - the way back of a step of many threads, aside (common/aside.h): the loop goes on
 * meanwhile. The ledger has the originals until it is through, for the next daemon and for whoever
 * tries again. Loop thread.
 */
#ifndef COLOC_NODESVC_PUTBACK_H
#define COLOC_NODESVC_PUTBACK_H

#include <stdbool.h>
#include <stdint.h>

struct levers;
struct errbuf;
struct step;
struct putback;

/*
 * putback_begin - 1: it has begun, and goes on with putback_go_on(); 0: it is through; <0 it
 * failed, with the text. One of this step that was under way is stopped.
 */
int putback_begin(struct levers *lv, struct step *s, struct errbuf *err);
/* For a moment; its end, and what failed, are in the log. */
void putback_go_on(struct levers *lv, struct step *s);
/* Before anything else is done to the step's threads. What was not put back stays in the ledger. */
void putback_stop(struct step *s);

#endif
