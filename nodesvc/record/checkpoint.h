/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * checkpoint.h - checkpoints of SQLite databases in a thread of their own. A checkpoint waits for
 * the disk, 5 to 20 ms and at times far longer, and in the daemon's loop a starting step would wait
 * with it.
 *
 * The thread has connections of its own, opened for each checkpoint, and shares nothing with the
 * owner's: SQLite's locks keep them apart, and a passive checkpoint waits for nobody.
 */
#ifndef COLOC_RECORD_CHECKPOINT_H
#define COLOC_RECORD_CHECKPOINT_H

#include <stdbool.h>

struct checkpointer;

/* NULL: no memory. The thread starts with the first checkpoint. */
struct checkpointer *checkpoint_new(void);
/* One of the database at @path (copied), soon. Does not wait. False: the last one goes on still, or
 * there is no thread to be had. What fails leaves the log as it is, for the next one. */
bool checkpoint_ask(struct checkpointer *c, const char *path);
/* Waits for the one that goes on. NULL is fine. */
void checkpoint_free(struct checkpointer *c);

#endif
