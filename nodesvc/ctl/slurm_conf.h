/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurm_conf.h - Slurm's configuration as keys and values, as far as the checks need it: asked of
 * the controller where there is one, else read from the files.
 */
#ifndef COLOC_CTL_SLURM_CONF_H
#define COLOC_CTL_SLURM_CONF_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

struct slurm_pair {
	char *key, *value;
};

/* In the order in which they were read: the last of a key is in force. */
struct slurm_pairs {
	struct slurm_pair *pair;
	int n;
};

struct slurm_conf {
	struct slurm_pairs all;        /* all but those of partitions and nodes */
	struct slurm_pairs *partition; /* each with PartitionName, and what DEFAULT gave it */
	int n_partitions;
	struct slurm_pairs preset; /* of PartitionName=DEFAULT, so far */
	char **complaint;          /* for people: files that cannot be read */
	int n_complaints;
	int release;      /* 2205: Slurm 22.05; 0 unknown */
	char dir[256];    /* of slurm.conf */
	char source[320]; /* for people: "scontrol show config", a path */
	/* Why slurmctld did not answer; "" it did, or there is no scontrol to ask it with. */
	char controller[256];
};

/*
 * slurm_conf_load - @tree "": this machine (scontrol first, which has @timeout_ms for each answer;
 * $SLURM_CONF names the file), else the files below @tree. cgroup.conf's keys are among the pairs.
 * Files are read as Slurm reads them (its src/common/parse_config.c), but for what Slurm refuses:
 * that is passed over. Their release is scontrol's, below a @tree the one that this was built for.
 * Errors: -ENOENT none found.
 */
int slurm_conf_load(struct slurm_conf **ret, const char *tree, int timeout_ms, struct errbuf *err);
void slurm_conf_free(struct slurm_conf *c);

/* In any case of letters; NULL not there. */
const char *slurm_pairs_get(const struct slurm_pairs *p, const char *key);
const char *slurm_conf_get(const struct slurm_conf *c, const char *key);
/* Is @item in a value that is a comma list? */
int slurm_conf_lists(const char *value, const char *item);
/* Every spelling of Slurm's: yes, up, true, 1. NULL is no. */
bool slurm_conf_is_yes(const char *value);

#endif
