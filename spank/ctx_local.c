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

#include "spank/bind.h"

/* What srun itself exits with on a bad option. */
#define EXIT_BAD_OPTION 255

#define POLICIES_MAX 1024

static struct opts from_line;
static struct opts from_env;

/* SLURM_CPU_BIND bound it, when we began: later srun has its own values there. */
static bool bound_in_env;

/* @argv: NULL while the program's words are not known. */
static void pass_bind(int argc, char **argv)
{
	FILE *line = fopen("/proc/self/cmdline", "re");

	setenv(BIND_ASKED_ENV, bind_asked(line, argc, argv, bound_in_env) ? "yes" : "no", 1);
	if (line)
		fclose(line);
}

/* The environment may have one of an outer srun's, which says nothing about this one. */
static void look_at_bind(void)
{
	const struct bind_env env = {
		.whole = getenv("SLURM_CPU_BIND"),
		.verbose = getenv("SLURM_CPU_BIND_VERBOSE"),
		.type = getenv("SLURM_CPU_BIND_TYPE"),
		.list = getenv("SLURM_CPU_BIND_LIST"),
	};

	unsetenv(BIND_ASKED_ENV);
	bound_in_env = bind_in_env(&env);
	/* A batch shell may have been submitted from inside a step, and bears its marks. */
	if (spank_context() == S_CTX_LOCAL || env.type)
		pass_bind(0, NULL);
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
	look_at_bind();
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

void ctx_local_user_init(spank_t sp)
{
	char **argv = NULL;
	int argc = 0;

	if (spank_get_item(sp, S_JOB_ARGV, &argc, &argv) == ESPANK_SUCCESS && argv)
		pass_bind(argc, argv);
}
