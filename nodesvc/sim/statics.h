/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * statics.h - every static placement of a set of jobs, for best, mean and worst static and for
 * the oracle.
 *
 * More jobs than domains: every way to put them into the domains in equal numbers, each with an
 * equal part of its domain (LIRA, ROSS 2015, section 6.3). Otherwise: every way to deal out whole
 * domains in a row, at least one each (SBMP, PACT 2012, section 2). Placements that only rename
 * equal domains are listed once.
 */
#ifndef COLOC_SIM_STATICS_H
#define COLOC_SIM_STATICS_H

#include "nodesvc/sim/layout.h"

struct statics {
	int n, n_jobs;
	struct place *place; /* [n * n_jobs] */
};

#define STATICS_MAX 6000

/* Errors: -E2BIG more than STATICS_MAX, -ENOMEM. Free with statics_done(). */
int statics_list(struct statics *ret, const struct topo *t, int n_jobs, struct errbuf *err);
void statics_done(struct statics *s);
/* Each job may run in the idle time of the others of its domain (ROSS 2015, section 5.2). */
void statics_fill(struct statics *s, const struct topo *t);
/*
 * statics_alternate - jobs go round the domains in order of their start, members of a domain share
 * it equally; fewer jobs than domains: equal runs of whole domains. What the LLC-complex paper
 * takes for the operating system (section 2.2). @ret: [n_jobs]. Errors: -ENOMEM.
 */
int statics_alternate(struct place *ret, const struct topo *t, int n_jobs, struct errbuf *err);

#endif
