/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctx_local.c - in srun, sbatch and salloc: refuse what is wrong while the user is looking.
 *
 * Options travel to slurmstepd by Slurm's own means, COLOC_* variables with the job's environment;
 * nothing is sent from here. An `optional' plugin that only returns an error is passed over in
 * silence, so what must not be ignored ends the program from here; nothing is submitted yet.
 */
#include "spank/ctx.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What srun itself exits with on a bad option. */
#define EXIT_BAD_OPTION 255

#define POLICIES_MAX 1024

static struct opts from_line;
static struct opts from_env;

/*
 * srun takes its default binding from SLURM_CPU_BIND. Slurm puts that into every task's
 * environment, with three variables that hold its parts, so that an srun inside a task looks as
 * if the user had bound it. A user who sets SLURM_CPU_BIND does not set the parts with it: all
 * four in agreement are Slurm's. slurmstepd is told the inherited value, and compares it with
 * what the step gets, which --cpu-bind on the command line changes.
 */
static void pass_outer_bind(void)
{
	const char *whole = getenv("SLURM_CPU_BIND");
	const char *verbose = getenv("SLURM_CPU_BIND_VERBOSE");
	const char *type = getenv("SLURM_CPU_BIND_TYPE");
	const char *list = getenv("SLURM_CPU_BIND_LIST");
	size_t len = verbose ? strlen(verbose) : 0;

	/* One of an outer srun's, which says nothing about this one. */
	unsetenv(OUTER_BIND_ENV);
	if (!whole || !len || !type || !list)
		return;
	if (strncmp(whole, verbose, len) != 0 || whole[len] != ',')
		return;
	whole += len + 1;
	len = strlen(type);
	if (strncmp(whole, type, len) == 0 && strcmp(whole + len, list) == 0)
		setenv(OUTER_BIND_ENV, whole, 1);
}

/* Is the step to run elsewhere: -D, --chdir, or a variable that stands for it? A program's own
 * arguments are not told from srun's: then it looks so, and nothing is passed. */
static bool may_run_elsewhere(void)
{
	FILE *f = fopen("/proc/self/cmdline", "re");
	bool found = !f || getenv("SLURM_REMOTE_CWD") || getenv("SLURM_WORKING_DIR");
	char *arg = NULL;
	size_t size = 0;

	while (!found && getdelim(&arg, &size, '\0', f) > 0)
		found = strncmp(arg, "--ch", 4) == 0 ||
			(arg[0] == '-' && arg[1] != '-' && strchr(arg, 'D'));
	free(arg);
	if (f)
		fclose(f);
	return found;
}

/* For names like ./app; salloc and sbatch execute none. */
static void pass_cwd(void)
{
	char cwd[PATH_MAX];

	unsetenv(SRUN_CWD_ENV);
	if (spank_context() == S_CTX_LOCAL && !may_run_elsewhere() && getcwd(cwd, sizeof(cwd)))
		setenv(SRUN_CWD_ENV, cwd, 1);
}

void ctx_local_init(int ac, char **av)
{
	struct args args;
	int bad = 0;

	args_init(&args);
	for (int i = 0; i < ac; i++) {
		struct errbuf err;

		if (args_set(&args, av[i], &err) < 0) {
			slurm_error("coloc: plugstack: %s", err.text);
			bad++;
		}
	}
	if (bad)
		exit(EXIT_FAILURE);
	pass_outer_bind();
	pass_cwd();
}

static void complain(const char *where, int rc, const struct errbuf *err)
{
	char names[POLICIES_MAX];

	if (rc == -ENOENT)
		slurm_error("coloc: %s%s (known: %s)", where, err->text,
			opts_policies(names, sizeof(names), ", "));
	else
		slurm_error("coloc: %s%s", where, err->text);
}

/* `--coloc-policy=list' is a question, not a job. */
static void answer(const char *text)
{
	char names[POLICIES_MAX];

	if (strcmp(text, "list") == 0)
		printf("%s\n", opts_policies(names, sizeof(names), "\n"));
	else if (strcmp(text, "help") == 0)
		printf("--coloc-policy=NAME[,KEY=VALUE...]\n"
		       "Policies:\n  %s\n"
		       "Options of every policy:\n"
		       "  dry_run=yes  decide and record, touch nothing\n"
		       "`colocctl policies' tells what each does and which are allowed on a "
		       "node.\n",
			opts_policies(names, sizeof(names), "\n  "));
	else
		return;
	fflush(stdout);
	exit(EXIT_SUCCESS);
}

int ctx_local_option(enum opt_id id, const char *text)
{
	struct errbuf err;
	int rc;

	if (id == OPT_POLICY && text)
		answer(text);
	rc = opts_set(&from_line, id, text, &err);
	if (rc < 0) {
		complain("", rc, &err);
		return -1;
	}
	return ESPANK_SUCCESS;
}

void ctx_local_post_opt(void)
{
	for (int id = 0; id < OPT_COUNT; id++) {
		const char *name = opt_descs[id].env;
		const char *text = getenv(name);
		char where[OPT_VALUE_MAX];
		struct errbuf err;
		int rc;

		/* The command line wins: what it overrides may be anything. */
		if (!text || !*text || from_line.set[id])
			continue;
		rc = opts_set(&from_env, (enum opt_id)id, text, &err);
		if (rc < 0) {
			snprintf(where, sizeof(where), "environment %s=%.60s: ", name, text);
			complain(where, rc, &err);
			exit(EXIT_BAD_OPTION);
		}
	}
}
