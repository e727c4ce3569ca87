/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * setup.h - what dassim's parts share: one graph on one machine under a list of policies, and rows
 * of the page.
 */
#ifndef COLOC_DASSIM_SETUP_H
#define COLOC_DASSIM_SETUP_H

#include <stdbool.h>

#include "nodesvc/sim/task_eval.h"
#include "nodesvc/sim/task_preset.h"

enum { RWS, RWSM, FA, FAM, DA, DAM_C, DAM_P, N_POLICIES };
extern const char *const policies[N_POLICIES];

extern int runs;          /* seeds */
extern const char *plots; /* directory; NULL none */

/* All against the first policy. */
struct setup {
	struct task_machine m;
	struct task_graph g;
	enum task_when when;
	struct task_summary sum[N_POLICIES];
};

/* Ends the program with the text where @rc is an error. */
void need(int rc, const struct errbuf *err);
/* The last eight texts stay. */
const char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));

void open_setup(struct setup *a, const char *machine);
struct task_type *add_type(struct setup *a, const char *name);
void disturb(struct setup *a, int first, int last, double share, double bytes_per_s);
/* A program beside ours on core 0 of a TX2, as the system shares the core: in slices. */
void disturb_in_slices(struct setup *a, double bytes_per_s);
void run_list(struct setup *a, const char *const *policy, int n);
void close_setup(struct setup *a);

double ratio(const struct setup *a, int p);
/* Against another policy than the first: of means, for orientation. */
double over(const struct setup *a, int p, int q);

void print_rows_head(void);
void row(const char *number, const char *target, const char *accept, const char *verdict,
	const char *ours);
const char *verdict(bool met);

/* Section 5.4, in apps.c. */
void part_kmeans(void);
void part_heat(void);

#endif
