/* SPDX-License-Identifier: GPL-2.0-or-later */
/* v1.h - between v1.c (steps), v1_below.c (what lies below them) and v1_out.c (moved out). */
#ifndef COLOC_ACTUATE_V1_H
#define COLOC_ACTUATE_V1_H

#include "nodesvc/actuate/internal.h"

/*
 * Before @set is written into the step of @m: levels below get @set, their originals in the ledger
 * first; the step has @set and what it had until it is written itself. Nothing below: 0 at once.
 */
int v1_below_follow(const struct masks *m, const struct coreset *set, struct errbuf *err);
/* How many levels are below a step's. */
int v1_below_count(struct actuate *a, const char *step_path, int *ret_n, struct errbuf *err);
/* Is @path below a step's level? */
bool v1_is_below(const char *path);
/* One level below a step, back to what the ledger has, as far as the step allows it. */
int v1_below_restore(struct actuate *a, const char *path, struct errbuf *err);
/* All of a step that has been restored, or has ended. */
int v1_below_restore_all(struct actuate *a, const char *step_path, struct errbuf *err);

/* Our own directory of the cpuset hierarchy. */
#define V1_OUT "coloc"

/* Has the step been moved out? 1 yes, @ret is its directory there; 0 no; <0 that cannot be told. */
int v1_out_look(const struct actuate *a, const char *step_path, char *ret, size_t size);
/* The same, for what does no harm where it is taken to be at its place. */
bool v1_out_where(const struct actuate *a, const char *step_path, char *ret, size_t size);
/* As locate_step(), also for a process that was moved out. */
int v1_out_locate(const char *path, struct step_cgroup *ret);
int v1_out_scan(const struct fsroot *root, const char *path, struct proc_known *known,
	struct proc_thread **ret, int *ret_n);
/* Out: same CPUs as before. Its originals are in the ledger. On failure it is where it was, unless
 * v1_out_where() says that the way back failed too. */
int v1_out_move(struct actuate *a, const struct step_cgroup *s, struct errbuf *err);
/* Back, and the directory removed. Not moved out: 0. -EBUSY: a step that has ended is still in it;
 * to be asked again. */
int v1_out_return(struct actuate *a, const char *step_path, struct errbuf *err);

#endif
