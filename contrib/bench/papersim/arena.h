/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arena.h - a population on its paper's machine under some policies, and what is said of the
 * results: figures with intervals, rows of the tables of targets, boxes.
 *
 * For one short-lived program: what fails ends it with a message.
 */
#ifndef COLOC_PAPERSIM_ARENA_H
#define COLOC_PAPERSIM_ARENA_H

#include <stdbool.h>

#include "nodesvc/sim/eval.h"
#include "nodesvc/sim/stats.h"

#define COMBOS     64 /* a gain of half a percent scatters by 1 % from one combination to the next */
#define COMBOS_MAX 128

struct arena {
	struct population population;
	struct topo *topo;
	struct machine_params params;
	struct machine m;
	struct eval e;
	struct drive_result *r; /* [policies * combinations] */
};

void need(int rc, const struct errbuf *err);

void open_arena(struct arena *a, const char *population, uint64_t seed, int combos);
/* params and e.drive as they are now. */
void run_arena(struct arena *a, const char *const *policy, int n);
void close_arena(struct arena *a);

typedef double (*figure_f)(const struct arena *a, int p, int k);
double stp(const struct arena *a, int p, int k);
double antt(const struct arena *a, int p, int k);

/* Of all combinations: @ret holds COMBOS_MAX. */
void collect(const struct arena *a, figure_f of, int p, double *ret);
/* Per cent that policy @p is above @q, combination by combination. */
void collect_gain(const struct arena *a, figure_f of, int p, int q, double *ret);
/* Mean of @of over combinations, or (@q >= 0) of @p's gain over @q, with its interval. */
struct interval compare(const struct arena *a, figure_f of, int p, int q);

/* ---- text ---- */

/* One of eight buffers in turn. */
const char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "+1.23 % [+1.00, +1.50]" */
const char *gain_text(struct interval i);
/* A policy's name without its options. */
const char *name_of(const char *policy);
void print_head(void);
void print_row(
	const char *number, const char *target, const char *ours, const char *accept, bool met);
/* STP, ANTT and gain over the first policy, each with its interval; names without options. */
void print_arms(const struct arena *a, const char *const *policy, int n);

/* ---- figures one by one ---- */

const char *verdict(bool met);
void print_figures_head(const char *paper);
/* @command makes it; "": nothing does. */
void print_figure(const char *number, const char *paper, const char *ours, const char *said,
	const char *command);

/* Exits where nobody has that name. */
const struct program *program_named(const struct program *list, int n, const char *name);

#define FIXED_MOST_S 3000
/* Turnaround times of @n jobs that stay at @place until each has ended @runs times. */
void run_fixed(const struct machine *m, const struct run_spec *spec, const struct place *place,
	int n, int runs, struct drive_result *ret);

/* ---- parts of the page; plots go into directory @plots ---- */

void part_lira(const char *plots);
void part_lira_figures(const char *plots);
void part_sbmp(const char *plots);
void part_sbmp_figures(const char *plots);
void part_others(void);
void part_other_figures(const char *plots);
void part_held_out(void);
void part_stability(void);
void part_checks(void);
void part_reasons(void);

#endif
