/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resctrl.h - ways of the last-level cache and steps of memory bandwidth for a few clusters of
 * steps, by the kernel's resctrl file system (Intel CAT and MBA, AMD QoS).
 *
 * A cluster is a control group "coloc-N". Masks of clusters are contiguous and disjoint; steps in
 * none share the whole cache as before, in the default group. Groups of others are never touched,
 * nor threads that are in one. Every group is in the ledger before it is made; removing it puts
 * its threads back into the default group. Called from the daemon's loop only.
 *
 * Source: the kernel's Documentation/arch/x86/resctrl.rst; few clusters, not one class per job:
 * El-Sayed et al., KPart, HPCA 2018.
 */
#ifndef COLOC_ACTUATE_RESCTRL_H
#define COLOC_ACTUATE_RESCTRL_H

#include "nodesvc/actuate/actuate.h"

#define RESCTRL_CLUSTERS_MAX 4
#define RESCTRL_CACHES_MAX   64

struct resctrl_caps {
	int n_ways;              /* 0: no cache allocation */
	uint32_t ways;           /* cbm_mask: all of them */
	uint32_t shareable;      /* ways that other hardware may use too */
	int min_ways;            /* of a group */
	bool code_data;          /* code and data apart (mount option cdp) */
	int n_groups;            /* the kernel's limit, the default group included */
	int bandwidth_step;      /* percent; 0: no bandwidth allocation in percent */
	int bandwidth_least;     /* percent */
	int n_caches, n_domains; /* of cache and bandwidth lines */
	int cache[RESCTRL_CACHES_MAX], domain[RESCTRL_CACHES_MAX]; /* their ids */
};

struct resctrl_cluster {
	double ways;      /* part of the cache, (0, 1]; the clusters' sum is at most 1 */
	double bandwidth; /* part of the bandwidth its cores may draw, (0, 1]; 0: no limit */
};

struct resctrl;

/*
 * resctrl_open - looks at what is mounted. -ENOTSUP: the text says what is missing and how it is
 * had. @root and @ledger outlive it.
 */
int resctrl_open(
	struct resctrl **ret, const struct fsroot *root, struct ledger *ledger, struct errbuf *err);
/* Groups that are there stay: see resctrl_clear(). NULL is fine. */
void resctrl_close(struct resctrl *r);
const struct resctrl_caps *resctrl_get_caps(const struct resctrl *r);

/*
 * resctrl_masks - each cluster's ways: contiguous, disjoint, at least min_ways, without those that
 * other hardware shares where enough are left; parts by largest remainder. Errors: -EINVAL parts
 * outside (0, 1] or more than 1 together, -ERANGE not so many ways. @ret untouched then.
 */
int resctrl_masks(const struct resctrl_caps *caps, const struct resctrl_cluster *c, int n,
	uint32_t *ret, struct errbuf *err);
/* The nearest step of bandwidth, percent. */
int resctrl_bandwidth(const struct resctrl_caps *caps, double part);

/*
 * resctrl_set - 2 to RESCTRL_CLUSTERS_MAX clusters as they are to be: makes groups, writes and
 * reads back their schemata; groups of ours beyond @n go. Errors: as resctrl_masks(); -ENOTSUP no
 * such lever here; -ENOSPC no group is left; -EEXIST a group of that name is not ours; -EIO the
 * kernel holds something else; or the ledger's. On an error no group of ours is left.
 */
int resctrl_set(struct resctrl *r, const struct resctrl_cluster *c, int n, struct errbuf *err);
/*
 * resctrl_assign - all threads of the step into cluster @cluster (-1: the default group), until no
 * new one turns up; what they fork goes with them. -EBUSY: one is in a group of others', nothing
 * is moved; -ENOENT the step has ended, -EAGAIN its threads do not settle.
 */
int resctrl_assign(struct resctrl *r, struct actuate *a, const struct step_cgroup *s, int cluster,
	struct errbuf *err);
/* Removes every group in the ledger, whoever made it; number of them, or <0. */
int resctrl_clear(struct resctrl *r, struct errbuf *err);
/* One of them; the second where there is no resctrl to open any more. */
int resctrl_remove(struct resctrl *r, const char *path, struct errbuf *err);
int resctrl_remove_left(
	const struct fsroot *root, struct ledger *ledger, const char *path, struct errbuf *err);

#endif
