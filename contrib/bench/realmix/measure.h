/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * measure.h - programs under Slurm: one alone, several submitted at once, several restarted until
 * each has run often enough.
 */
#ifndef COLOC_REALMIX_MEASURE_H
#define COLOC_REALMIX_MEASURE_H

#include <signal.h>
#include <stdbool.h>

#include "common/err.h"
#include "contrib/bench/realmix/slurm.h"
#include "contrib/bench/realmix/stats.h"

#define PROGRAMS_MAX 8
#define RUNS_MAX     256
#define ARGV_MAX     24

struct program {
	const char *name;
	const char *argv[ARGV_MAX]; /* ends with NULL */
	int ranks;                  /* of an MPI program; 0 none */
};

struct mix {
	const char *name;
	struct program program[PROGRAMS_MAX];
	int n;
	int stagger_ms; /* each submitted so long after the one before it; 0 all at once */
};

enum arm_mode {
	MODE_SHARED, /* steps side by side */
	MODE_SERIAL, /* one after another, in order, each with the node to itself */
	MODE_BATCH,  /* batch jobs without an inner srun, for Slurm's own gang scheduling */
};

enum arm_kind {
	ARM_POLICY, /* of ours */
	ARM_PEER,   /* what there is without us */
};

struct arm {
	const char *name;
	enum arm_kind kind;
	enum arm_mode mode;
	const char
		*env[4]; /* "NAME=VALUE"; {share}: the node's CPUs over the programs, 1 at least */
	const char *option[4]; /* of srun */
	const char *helper;    /* a daemon that runs beside; NULL none */
	const char *conf;      /* of colocd while it runs: FILE.CONF; NULL: FILE.usual */
};

struct setting {
	struct slurm_node node;
	/* Slurm's gang scheduling is another cluster, with its own configuration; "" none */
	char gang_conf[512];
	struct slurm_node gang_node;
	int min_runs, tries;
	double cut_s;                /* a batch measurement is ended after this; 0 never */
	double foreign_limit;        /* ratio of the machine's cpu time */
	int log_fd;                  /* of what srun and programs say */
	const char *socket;          /* of colocd, to ask which policy rules; NULL do not ask */
	const char *conf;            /* its FILE; NULL: no arm may have another */
	volatile sig_atomic_t *stop; /* set by a signal */
	const char *label;           /* for progress */
};

struct measured {
	struct times times[PROGRAMS_MAX]; /* .s: measured_free() */
	double makespan_s;                /* measure_batch() */
	bool cut;                         /* makespan_s is a lower bound */
	char policy[32], reason[160];     /* ruling while all ran, as colocctl says; "" unknown */
	double service_s;                 /* processor time of colocd meanwhile; NAN unknown */
	double foreign_ratio;             /* of the try that counts, or of the last */
	bool disturbed;                   /* every try was */
};
void measured_free(struct measured *m);

/*
 * All of these repeat a measurement during which others took more than the limit of the
 * machine, up to setting.tries times in all; 0 also when all were disturbed. -EINTR: told to stop.
 */

/* Program alone on the whole node, setting.min_runs times, into ret->times[0]. */
int measure_solo(const struct setting *s, const struct program *p, const struct arm *arm,
	struct measured *ret, struct errbuf *err);
/* All programs once, submitted at the same moment or staggered: ret->makespan_s. */
int measure_batch(const struct setting *s, const struct mix *mix, const struct arm *arm,
	struct measured *ret, struct errbuf *err);
/* All programs, each started again when it ends, until each has completed min_runs. */
int measure_sustained(const struct setting *s, const struct mix *mix, const struct arm *arm,
	struct measured *ret, struct errbuf *err);

/*
 * measure_policy - the policy that rules steps of @arm's options, as the plugin says it. An arm
 * that is to show a policy must not be measured without one: -ENOTCONN the service takes no part,
 * with what srun said.
 */
int measure_policy(const struct setting *s, const struct program *p, const struct arm *arm,
	char *ret, size_t size, struct errbuf *err);

#endif
