/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * health.h - the last error that colocd met, whichever part of it: status tells it, and check.
 * Whoever notes one has logged it, or has said why not. Loop thread only.
 */
#ifndef COLOC_NODESVC_BASE_HEALTH_H
#define COLOC_NODESVC_BASE_HEALTH_H

/* Cut to 255 bytes. */
void health_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "": none yet. */
const char *health_last_error(void);

#endif
