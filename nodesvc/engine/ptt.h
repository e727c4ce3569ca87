/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ptt.h - execution places and the performance trace table: how long a task of a type took at
 * each place.
 *
 * A place is a leader core and a width inside cores that share a last-level cache; widths divide
 * the number of those cores, places are aligned to their width.
 * Source: Chen, Manivannan, Goel, Abduljabbar, Pericas: Dynamic Asymmetry Scheduler, ICPP
 * Workshops 2020, section 4.1.1.
 */
#ifndef COLOC_ENGINE_PTT_H
#define COLOC_ENGINE_PTT_H

#include "nodesvc/engine/internal.h"

#define PTT_WEIGHTS 5
#define PTT_TYPES                                                                                  \
	128 /* programs of all owners; of who has most, the one not used for longest makes room */

struct ptt_place {
	int core;  /* leader, core_lx */
	int width; /* cores */
	int first; /* of its cores in ptt.units.core[] */
};

struct ptt_type {
	char name[JOB_TYPE_MAX];
	int64_t owner;
	uint64_t used;   /* tick of the last look; 0 free */
	double *seconds; /* [n_places]; 0 not explored */
	uint16_t *age;   /* [n_places] looks since the last sample */
};

struct ptt {
	struct units units;
	int n_places;
	struct ptt_place *place; /* by (core, width) */
	int *at_core;            /* places that hold a core, in order of number */
	int *first_at_core;      /* [topo.n_cores + 1] into at_core[], by core_lx */
	int new_weight;          /* of a sample, in PTT_WEIGHTS; 1 (section 4.1.1) unless changed */
	struct ptt_type type[PTT_TYPES];
	uint64_t tick;
	double *memory;
	uint16_t *age_memory;
};

/* In @cfg->memory. */
int ptt_init(struct ptt *t, const struct policy_cfg *cfg, struct errbuf *err);

/* Index of an owner's type, made if new; NULL is the type "". */
int ptt_type(struct ptt *t, int64_t owner, const char *name);
/* Index of a place, -1: there is none. */
int ptt_find(const struct ptt *t, int core, int width);
/* First sample is stored, later ones weigh new_weight in five (sections 4.1.1 and 5.3). */
void ptt_update(struct ptt *t, int type, int place, double seconds);
/*
 * ptt_age - one look at a type: entries without a sample for @after looks drift towards the best
 * one, 2 % a look, so that a place slow once is tried again. Ours; off in the paper.
 */
void ptt_age(struct ptt *t, int type, int after);

#endif
