/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pages.h - the two pages (runtime/page.h) that a step's processes share with colocd, as memory
 * files: the grant, which the kernel lets nobody but colocd write, and the reports. Their sizes
 * are sealed: no other side can make colocd fault.
 */
#ifndef COLOC_STEPS_PAGES_H
#define COLOC_STEPS_PAGES_H

#include <stdbool.h>

#include "common/coreset.h"
#include "nodesvc/counters/app.h"
#include "nodesvc/runtime/page.h"

struct pages {
	int grant_fd;  /* read-only: what is handed out */
	int report_fd; /* handed out for reading and writing */
	struct coloc_grant *grant;
	struct coloc_report *report;
	struct app app;
};

/* Errors: -errno of memfd_create and friends. */
int pages_create(struct pages **ret, int beat_ms, struct errbuf *err);
/* NULL is fine. The processes keep their mappings; the grant says that nobody renews it. */
void pages_free(struct pages *p);
/* Tells a grant and wakes the waiters, when it is another than before. */
void pages_grant(struct pages *p, const struct coreset *set, int cores);
/* The daemon lives. */
void pages_beat(struct pages *p, int64_t now_ns);

#endif
