/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report.h - doc/results/realnode.md's section, from saved results: every mix and arm,
 * and a verdict on each target. Misses are printed as such; what was not measured is blank.
 */
#ifndef COLOC_REALMIX_REPORT_H
#define COLOC_REALMIX_REPORT_H

#include <stdio.h>

#include "common/err.h"

struct report_input {
	const char *first_dir, *second_dir;    /* of realmix; NULL none */
	const char *dag, *rebind, *omp_region; /* files of these benchmarks; NULL none */
};

/* Markdown. 0 or -errno: a file cannot be read or is damaged, named. */
int report_print(FILE *to, const struct report_input *in, struct errbuf *err);
/* The mixes alone, in the benchmarks' JSON: one result per mix, arm and run. */
int report_print_json(FILE *to, const struct report_input *in, struct errbuf *err);

#endif
