/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin.c - the symbols Slurm looks for; only tells its processes apart.
 *
 * No job_prolog and job_epilog: with them a plugin that cannot be loaded drains nodes. In
 * slurmstepd every hook succeeds, whatever happened.
 */
#pragma GCC visibility push(default)
#include "spank/ctx.h"

#include <stddef.h>

SPANK_PLUGIN(coloc, 1)

static int option_cb(int val, const char *optarg, int remote)
{
	if (!remote)
		return ctx_local_option((enum opt_id)val, optarg);
	ctx_stepd_option((enum opt_id)val, optarg);
	return ESPANK_SUCCESS;
}

/* slurm_spank_init() registers rather than a `spank_options' table: sbatch and salloc know only
 * what was registered. */
static void register_options(spank_t sp)
{
	for (int id = 0; id < OPT_COUNT; id++) {
		const struct opt_desc *d = &opt_descs[id];
		/* Slurm copies the strings and changes none of them. */
		struct spank_option opt = {
			.name = (char *)d->name,
			.arginfo = (char *)d->arginfo,
			.usage = (char *)d->usage,
			/* getopt's: 2 takes a value behind "=" only. Slurm hands the number on. */
			.has_arg = d->bare ? 2 : d->arginfo != NULL,
			.val = id,
			.cb = option_cb,
		};
		spank_err_t rc = spank_option_register(sp, &opt);

		if (rc != ESPANK_SUCCESS)
			slurm_error(
				"coloc: option --%s: %s, ignoring", d->name, spank_strerror(rc));
	}
}

/* In daemons a wrong line in plugstack.conf is logged and passed over: as an error by slurmd, once
 * when it starts, and quietly by the slurmstepd of every step. */
static void read_args(struct args *ret, int ac, char **av)
{
	void (*log)(const char *, ...) = spank_context() == S_CTX_SLURMD ? slurm_error : slurm_info;

	args_init(ret);
	for (int i = 0; i < ac; i++) {
		struct errbuf err;

		if (args_set(ret, av[i], &err) < 0)
			log("coloc: plugstack: %s, ignoring", err.text);
	}
}

int slurm_spank_init(spank_t sp, int ac, char **av)
{
	struct args args;

	switch (spank_context()) {
	case S_CTX_LOCAL:
	case S_CTX_ALLOCATOR:
		ctx_local_init(ac, av);
		break;
	case S_CTX_REMOTE:
		read_args(&args, ac, av);
		ctx_stepd_init(sp, &args);
		break;
	case S_CTX_SLURMD:
		read_args(&args, ac, av);
		return ESPANK_SUCCESS;
	default:
		return ESPANK_SUCCESS;
	}
	register_options(sp);
	return ESPANK_SUCCESS;
}

int slurm_spank_init_post_opt(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	switch (spank_context()) {
	case S_CTX_LOCAL:
	case S_CTX_ALLOCATOR:
		ctx_local_post_opt();
		break;
	case S_CTX_REMOTE:
		ctx_stepd_post_opt(sp);
		break;
	default:
		break;
	}
	return ESPANK_SUCCESS;
}

int slurm_spank_local_user_init(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	ctx_local_user_init(sp);
	return ESPANK_SUCCESS;
}

int slurm_spank_task_post_fork(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	if (spank_context() == S_CTX_REMOTE)
		ctx_stepd_task_post_fork(sp);
	return ESPANK_SUCCESS;
}

int slurm_spank_task_init(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	if (spank_context() == S_CTX_REMOTE)
		ctx_stepd_task_init(sp);
	return ESPANK_SUCCESS;
}

int slurm_spank_task_exit(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	if (spank_context() == S_CTX_REMOTE)
		ctx_stepd_task_exit(sp);
	return ESPANK_SUCCESS;
}

int slurm_spank_exit(spank_t sp, int ac, char **av)
{
	(void)sp;
	(void)ac;
	(void)av;
	if (spank_context() == S_CTX_REMOTE)
		ctx_stepd_exit();
	return ESPANK_SUCCESS;
}
