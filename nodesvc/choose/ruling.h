/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ruling.h - of the room's own: the engines. What others may ask of it is in choose.h. */
#ifndef COLOC_NODESVC_CHOOSE_RULING_H
#define COLOC_NODESVC_CHOOSE_RULING_H

#include "common/err.h"

struct choose;

/* The recent decisions, and both engines as the configuration has them. */
int ruling_open(struct choose *ch, struct errbuf *err);
void ruling_close(struct choose *ch);

#endif
