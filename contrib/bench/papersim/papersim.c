/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * papersim - re-runs on the simulated machine what the papers report, and prints a Markdown page:
 * target, what comes out, verdict. Plots go into the directory it is given.
 * contrib/bench/papers writes doc/evaluation.md and doc/plots/ with it.
 *
 * Targets and what counts as met were written down before the model was; nothing in here feeds
 * back into it.
 */
#include <stdio.h>

#include "contrib/bench/papersim/arena.h"

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: papersim PLOTS-DIRECTORY\n");
		return 2;
	}
	printf("# Evaluation on the simulated machine\n\n"
	       "Every figure on this page is *simulated*: it follows from the model in "
	       "nodesvc/sim/, most of\nwhose constants are assumptions, not from a measurement. "
	       "`contrib/bench/papers` writes page and plots anew.\n"
	       "Targets that are missed stay in the tables. Intervals are 95 %% bootstrap "
	       "intervals over\ncombinations, paired where two policies are compared.\n\n");
	part_lira(argv[1]);
	part_sbmp(argv[1]);
	part_held_out();
	part_stability();
	part_reasons();
	return fflush(stdout) ? 1 : 0;
}
