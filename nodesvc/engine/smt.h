/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * smt.h - which jobs share the hardware threads of one core, where share_smt allows it: LIRA's
 * grouping once more, one level down, with the cores of a domain for its domains.
 *
 * Source: the generalisation of LIRA (ROSS 2015, section 4.2) to hardware threads is ours; that
 * siblings want different demands is what Settle et al. and SAM-MPH (ATC 2016) found.
 */
#ifndef COLOC_ENGINE_SMT_H
#define COLOC_ENGINE_SMT_H

#include "nodesvc/engine/shares.h"

/*
 * smt_pair - takes the whole cores that the members of each domain were given in @p and deals their
 * hardware threads anew, as many to each job as before, so that the sum over cores of |R_i - R_j|
 * is largest. What runs stays if its sum is at least the best divided by 1 + @h.
 * @domain_of, @value: by competing job. @sum: [topo.n_cores] room. Only where envelopes are alike
 * and jobs do not outnumber cores; else nothing is done.
 */
void smt_pair(struct shares *c, const int *domain_of, const double *value, double h, double *sum,
	struct plan *p);

#endif
