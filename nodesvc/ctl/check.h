/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check.h - is this node ready for co-location? Findings with their cures; works without the
 * daemon, without Slurm and on a recorded tree.
 */
#ifndef COLOC_CTL_CHECK_H
#define COLOC_CTL_CHECK_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>

#include "common/fsroot.h"
#include "nodesvc/ctl/ctl.h"
#include "nodesvc/ctl/slurm_conf.h"

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

#endif
