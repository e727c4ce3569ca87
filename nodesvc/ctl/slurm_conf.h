/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurm_conf.h - Slurm's configuration as keys and values, as far as the checks need it: asked of
 * the controller where there is one, else read from the files.
 */
#ifndef COLOC_CTL_SLURM_CONF_H
#define COLOC_CTL_SLURM_CONF_H

#include <stddef.h>

#include "common/err.h"

struct slurm_pair {
	char *key, *value;
};

struct slurm_conf {
	struct slurm_pair *pair;
	int n_pairs;
	char **partition; /* "PartitionName=... Key=value ..." lines */
	int n_partitions;
	char dir[256];    /* of slurm.conf */
	char source[320]; /* for people: "scontrol show config", a path */
	/* Why slurmctld did not answer; "" it did, or there is no scontrol to ask it with. */
	char controller[256];
};

/*
 * slurm_conf_load - @tree "": this machine (scontrol first, which has @timeout_ms for each answer;
 * $SLURM_CONF names the file), else the files below @tree. cgroup.conf's keys are among the pairs.
 * Errors: -ENOENT none found.
 */
int slurm_conf_load(struct slurm_conf **ret, const char *tree, int timeout_ms, struct errbuf *err);
void slurm_conf_free(struct slurm_conf *c);

/* In any case of letters; NULL not there. */
const char *slurm_conf_get(const struct slurm_conf *c, const char *key);
/* Is @item in a value that is a comma list? */
int slurm_conf_lists(const char *value, const char *item);
/* Value of @key in a partition line; "" not there. Returns @buf. */
char *slurm_partition_get(const char *line, const char *key, char *buf, size_t size);

#endif
