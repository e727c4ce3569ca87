/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurm.h - the little of Slurm that realmix needs, through its commands: held allocations, and
 * steps in them. SLURM_CONF comes from the environment.
 */
#ifndef COLOC_REALMIX_SLURM_H
#define COLOC_REALMIX_SLURM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

struct slurm_node {
	char name[64];
	int cpus;
};

/* The node that jobs will go to: realmix is for one. */
int slurm_find_node(struct slurm_node *ret, struct errbuf *err);

/* An allocation of the whole node with nothing running in it. */
int slurm_hold(uint32_t *ret_job, const struct slurm_node *node, struct errbuf *err);
/* Ends the allocations and all that runs in them, and waits until they are gone (20 s). */
int slurm_release(const uint32_t *job, int n, struct errbuf *err);

/*
 * Starts srun for one step on all CPUs of @job, of one task or of so many MPI @ranks (0: no MPI
 * program): @options (NULL-terminated, may be NULL), then @argv. Its output goes to @log_fd.
 * Returns srun's pid or -errno.
 */
pid_t slurm_step(uint32_t job, const struct slurm_node *node, const char *const *options,
	const char *const *argv, int ranks, int log_fd, struct errbuf *err);

/*
 * slurm_batch - the same program as a batch job of its own, without an inner srun (Slurm's gang
 * scheduling creates no steps in a job that is suspended); MPI programs are started by mpirun.
 * Returns the pid of a process that ends with the job's program, and as it does, or -errno.
 */
pid_t slurm_batch(const struct slurm_node *node, const char *const *argv, int ranks, int log_fd,
	struct errbuf *err);
/* Ends all such jobs and waits until they are gone. */
int slurm_batch_end(struct errbuf *err);

/* Runs a command to its end, its output to @log_fd; a signal to us ends it. -errno, or -EIO: it
 * failed. */
int slurm_run(const char *const *argv, int log_fd, struct errbuf *err);

/* A daemon of a peer's (numad) in the foreground of a process of ours, and its end. */
pid_t slurm_helper(const char *const *argv, int log_fd, struct errbuf *err);
void slurm_helper_end(pid_t pid);

/*
 * service_policy - what colocctl says of the steps that run now: the policy that rules most of
 * them, and the first reason given. Nothing known: both "".
 */
void service_policy(
	const char *socket, char *policy, size_t policy_size, char *reason, size_t reason_size);

/* colocd goes by its configuration @file from now on, after a copy of @file.@variant. Errors: with
 * what cp or colocctl said. */
int service_configure(
	const char *socket, const char *file, const char *variant, struct errbuf *err);

/* colocd's process; 0: it does not answer. */
pid_t service_pid(const char *socket);

/* Runs such a step to its end and reads what srun and the task say; 0 or the step's failure. */
int slurm_ask_step(uint32_t job, const struct slurm_node *node, const char *const *options,
	const char *const *argv, char *buf, size_t size, struct errbuf *err);

#endif
