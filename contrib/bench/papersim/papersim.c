/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * papersim - re-runs on the simulated machine what the papers report, and prints a Markdown page:
 * target, what comes out, verdict. Plots go into the directory it is given.
 * contrib/bench/papers writes doc/results/papers.md and doc/plots/ with it.
 *
 * Targets and what counts as met were written down before the model was; nothing in here feeds
 * back into it.
 */
#include <stdio.h>
#include <string.h>

#include "common/out.h"
#include "contrib/bench/papersim/arena.h"

static const char *plots;

static void part_head(void)
{
	printf("# The papers' experiments on the simulated machine: data\n\n"
	       "For whoever cites a figure of it: every table that `contrib/bench/papers` prints. "
	       "[evaluation.md](../evaluation.md) has the targets in one table.\n\n"
	       "Every figure is *simulated*: it follows from the model in nodesvc/sim/, most of "
	       "whose constants are assumptions. Targets that are missed stay in the tables. "
	       "Intervals are 95 %% bootstrap intervals over combinations, paired where two "
	       "policies are compared.\n\n");
}

static void lira(void)
{
	part_lira(plots);
}

static void lira_figures(void)
{
	part_lira_figures(plots);
}

static void sbmp_figures(void)
{
	part_sbmp_figures(plots);
}

static void sbmp(void)
{
	part_sbmp(plots);
}

static void other_figures(void)
{
	part_other_figures(plots);
}

static const struct {
	const char *name;
	void (*print)(void);
} parts[] = {
	{"head", part_head},
	{"lira", lira},
	{"lira-figures", lira_figures},
	{"sbmp", sbmp},
	{"sbmp-figures", sbmp_figures},
	{"others", part_others},
	{"other-figures", other_figures},
	{"held-out", part_held_out},
	{"stability", part_stability},
	{"checks", part_checks},
	{"reasons", part_reasons},
};

int main(int argc, char **argv)
{
	enum { N = sizeof(parts) / sizeof(parts[0]) };

	out_check_at_exit("papersim");
	plots = argv[1];
	for (int i = 2; i < argc; i++) {
		int k = 0;

		while (k < N && strcmp(argv[i], parts[k].name) != 0)
			k++;
		if (k == N)
			argc = 0;
		else
			parts[k].print();
	}
	if (argc < 3) {
		fputs("usage: papersim PLOTS-DIRECTORY PART...\nparts:", stderr);
		for (int k = 0; k < N; k++)
			fprintf(stderr, " %s", parts[k].name);
		fputs("\n", stderr);
		return 2;
	}
	return fflush(stdout) ? 1 : 0;
}
