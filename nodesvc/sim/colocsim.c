/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * colocsim - the node's decision engine away from the node.
 */
#include <stdio.h>
#include <string.h>

#include "common/out.h"
#include "config.h"
#include "nodesvc/sim/sim.h"

static const struct command {
	const char *name, *summary;
	int (*run)(int argc, char **argv);
} commands[] = {
	{"plan", "decide placements for views written as JSON", sim_plan},
	{"replay", "decide again what a recorded trace holds", sim_replay},
	{"run", "run a workload on the simulated machine", sim_run_workload},
	{"eval", "compare policies on the simulated machine", sim_eval},
};

static void print_usage(FILE *f)
{
	fputs("Usage: colocsim COMMAND [OPTIONS]\n\n", f);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		fprintf(f, "  %-8s %s\n", commands[i].name, commands[i].summary);
	fputs("\n'colocsim COMMAND --help' tells more; --version prints the version.\n", f);
}

int main(int argc, char **argv)
{
	out_check_at_exit("colocsim");
	if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0)) {
		print_usage(stdout);
		return SIM_OK;
	}
	if (argc >= 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) {
		puts("colocsim (coloc) " PACKAGE_VERSION);
		return SIM_OK;
	}
	for (size_t i = 0; argc >= 2 && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	if (argc >= 2)
		fprintf(stderr, "colocsim: unknown command '%s'\n", argv[1]);
	print_usage(stderr);
	return SIM_USAGE;
}
