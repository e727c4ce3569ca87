/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check.h - is this node ready for co-location? Findings with their cures; works without the
 * daemon, without Slurm and on a recorded tree.
 */
#ifndef COLOC_CTL_CHECK_H
#define COLOC_CTL_CHECK_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/err.h"
#include "common/fsroot.h"
#include "nodesvc/ctl/ctl.h"

enum check_level { CHECK_OK, CHECK_WARN, CHECK_FAIL };

struct check_finding {
	enum check_level level;
	const char *name; /* what was looked at */
	char text[320];   /* what was found */
	char cure[400];   /* "" when ok */
};

struct check_list {
	FILE *out; /* findings are printed there as they are made; NULL: nowhere */
	int n;
	struct check_finding *finding;
	int n_lost; /* found, but there was no memory to keep them: the node is not ready */
};

/* What the checks look at. */
struct check_env {
	const struct ctl *ctl;
	const char *tree;         /* root of a recorded tree; "" this machine */
	struct fsroot root;       /* the same, open */
	struct slurm_conf *slurm; /* NULL: none found */
	char slurm_error[256];
	struct json_object *status; /* colocd's; NULL it does not answer */
	char status_error[256];
};

void check_add(struct check_list *l, enum check_level level, const char *name, const char *cure,
	const char *fmt, ...) __attribute__((format(printf, 5, 6)));
#define check_ok(l, name, ...) check_add((l), CHECK_OK, (name), "", __VA_ARGS__)

/*
 * All checks; @tree NULL: this machine. Whatever is asked (scontrol, srun, colocd) has
 * @ctl->timeout_ms to answer, and standard error says when it is being waited for.
 */
void check_run(struct check_list *l, const struct ctl *ctl, const char *tree);
void check_done(struct check_list *l);
bool check_has_failed(const struct check_list *l);
void check_print_total(const struct check_list *l, FILE *f);
struct json_object *check_to_json(const struct check_list *l);

/* One file each. */
void check_slurm(struct check_list *l, const struct check_env *e);   /* slurm.conf, cgroup.conf */
void check_plugin(struct check_list *l, const struct check_env *e);  /* plugstack.conf */
void check_service(struct check_list *l, const struct check_env *e); /* colocd, its files */
void check_node(struct check_list *l, const struct check_env *e);    /* kernel, counters */

/*
 * slurm_conf.c: Slurm's configuration as keys and values, as far as the checks need it: asked of
 * the controller where there is one, else read from the files.
 */

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
