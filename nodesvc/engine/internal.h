/* SPDX-License-Identifier: GPL-2.0-or-later */
/* internal.h - what policies and the engine's own files are made of. */
#ifndef COLOC_ENGINE_INTERNAL_H
#define COLOC_ENGINE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "common/topo.h"
#include "nodesvc/engine/plan.h"
#include "nodesvc/engine/policy.h"
#include "nodesvc/engine/view.h"

struct cluster_job;

/*
 * bits.c: walks over coresets, inline and only over the words a node uses: a decision makes
 * thousands of them.
 */

/*
 * Every PU of a set, ascending. Three loops in one: `continue` goes on with the next PU, but a
 * `break` leaves only the innermost; use return.
 */
/* NOLINTBEGIN(bugprone-macro-parentheses): @pu is declared here */
#define bits_for_each(pu, s, words)                                                                \
	for (int pu##_word = 0; pu##_word < (words); pu##_word++)                                  \
		for (uint64_t pu##_left = (s)->w[pu##_word]; pu##_left;                            \
			pu##_left &= pu##_left - 1)                                                \
			for (int pu = pu##_word * 64 + __builtin_ctzll(pu##_left), pu##_once = 1;  \
				pu##_once; pu##_once = 0)
/* NOLINTEND(bugprone-macro-parentheses) */

static inline bool bits_intersect(const struct coreset *a, const struct coreset *b, int words)
{
	for (int i = 0; i < words; i++)
		if (a->w[i] & b->w[i])
			return true;
	return false;
}

static inline bool bits_empty(const struct coreset *s, int words)
{
	for (int i = 0; i < words; i++)
		if (s->w[i])
			return false;
	return true;
}

static inline bool bits_subset(const struct coreset *inner, const struct coreset *outer, int words)
{
	for (int i = 0; i < words; i++)
		if (inner->w[i] & ~outer->w[i])
			return false;
	return true;
}

/* The same over all words, without a branch for each. */
static inline bool bits_subset_all(const struct coreset *inner, const struct coreset *outer)
{
	uint64_t more = 0;

	for (int i = 0; i < CORESET_WORDS; i++)
		more |= inner->w[i] & ~outer->w[i];
	return !more;
}

static inline bool bits_equal_all(const struct coreset *a, const struct coreset *b)
{
	uint64_t differ = 0;

	for (int i = 0; i < CORESET_WORDS; i++)
		differ |= a->w[i] ^ b->w[i];
	return !differ;
}

static inline bool bits_has(const struct coreset *s, int pu)
{
	return s->w[pu / 64] >> (pu % 64) & 1;
}

static inline void bits_put(struct coreset *s, int pu)
{
	s->w[pu / 64] |= UINT64_C(1) << (pu % 64);
}

/* Takes all out of @s but @from..@to - 1. */
static inline void bits_clip(struct coreset *s, int from, int to)
{
	for (int i = 0; i < CORESET_WORDS; i++) {
		int low = from - i * 64, high = to - i * 64;

		if (high <= 0 || low >= 64)
			s->w[i] = 0;
		if (low > 0 && low < 64)
			s->w[i] &= ~UINT64_C(0) << low;
		if (high > 0 && high < 64)
			s->w[i] &= ~(~UINT64_C(0) << high);
	}
}

static inline void bits_add(struct coreset *s, const struct coreset *more, int words)
{
	for (int i = 0; i < words; i++)
		s->w[i] |= more->w[i];
}

/* option.c: a policy's options: one table per policy, read strictly. */

enum option_type {
	OPTION_DOUBLE, /* double, min <= value <= max */
	OPTION_INT,    /* int, min <= value <= max */
	OPTION_BOOL,   /* bool: yes no 1 0 true false */
	OPTION_CHOICE, /* int: index in choice, "a|b|c" */
};

struct option_spec {
	const char *key;
	enum option_type type;
	size_t offset; /* into the policy's configuration struct */
	double min, max;
	const char *choice;
};

/*
 * option_read - stores every option of @cfg by @spec (ends with key NULL; NULL: takes none).
 * Errors: -EINVAL, the text names policy, key and value; values read so far stay stored.
 */
int option_read(const struct policy_cfg *cfg, const char *policy, const struct option_spec *spec,
	void *ret, struct errbuf *err);

/*
 * explain.c: writes plan.explain, one JSON object, with snprintf only. A text that does not fit
 * becomes {"truncated": true}: never broken JSON.
 *
 * Does nothing where the caller of the engine did not ask for it (plan.want_explain).
 */

struct explain {
	struct plan *plan; /* NULL: not wanted */
	size_t len;
	bool first, full;
};

void explain_open(struct explain *x, struct plan *p);
void explain_close(struct explain *x);
/* {"key": { ... and its end; members in between are written with the calls below. */
void explain_object(struct explain *x, const char *key);
void explain_end(struct explain *x);
/* NAN becomes null. */
void explain_number(struct explain *x, const char *key, double value);
void explain_text(struct explain *x, const char *key, const char *value);
void explain_bool(struct explain *x, const char *key, bool value);

/* The sentence of one job; only where explain is wanted. */
void plan_why(struct plan *p, int job, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * curve.c: speed by cores as measured: points, linear in between, the last slope beyond. Unlike
 * scalability.c nothing is assumed about the shape (peaks stay peaks).
 */

#define CURVE_POINTS 32

struct curve {
	int n;
	struct speed_point point[CURVE_POINTS]; /* ascending cores */
};

/* Adds or replaces a point; a full curve keeps what it has. */
void curve_set(struct curve *c, int cores, double speed);
/* Speed at @cores; below the first point in proportion. NAN for an empty curve. */
double curve_at(const struct curve *c, int cores);
bool curve_has(const struct curve *c, int cores);
/* Between two measured points, or on one. */
bool curve_covers(const struct curve *c, int cores);

/*
 * shares.c: who competes for which cores, how many each gets by right, and how a grouping by
 * domains becomes coresets. The rules of placement that hold for every policy live here; what
 * stays with a policy is who goes with whom.
 *
 * Competing jobs are numbered 0..n-1 by order of arrival (then id), its domains 0..n_domains-1 in
 * the order of the topology. Cores, not PUs, are dealt out: an SMT pair is never split.
 *
 * Do not compete: excluded jobs, steps of several nodes (they keep their envelope), jobs whose
 * envelope nobody else touches (they get all of it), and polling ones that take turns.
 */

/*
 * What a job larger than any domain has of one: it stays, beside the domain's other jobs, with the
 * job's own figures.
 */
struct shares_piece {
	int job;    /* index in the view */
	int domain; /* of those here */
	int size;   /* cores */
};

/* What runs in a domain now; for shares_incumbent(). */
struct shares_load {
	int members, sum; /* jobs, and their cores there */
	int least, most;  /* cores of one job */
	bool overlap;     /* two jobs on one core */
	bool partial;     /* one has not all that it may use of a core */
};

struct shares {
	const struct topo *t;
	const struct view *v;
	int max_jobs;
	bool independent; /* multi-node steps take part */
	bool in_place; /* set by the policy: polling jobs take no turns, they compete; nor others */

	int n;            /* competing jobs */
	int *job;         /* [n] index in the view */
	int *size;        /* [n] cores by right (c_i) */
	int sum, biggest; /* of the sizes */
	bool given;       /* every size was asked for */
	bool even;        /* nobody asked for a size or minimum: sizes differ by C/N's remainder */
	bool equal;       /* all sizes are the same, or even: jobs count, not cores */
	bool shared;      /* more jobs than cores: a domain's members share it */
	bool uniform;     /* all envelopes hold all usable cores */
	bool uneven;      /* uniform, and domains differ in cores: equal parts before domains */
	int n_domains;    /* domains with a usable core */
	int *domain;      /* [n_domains] index in the topology */
	int *capacity;    /* [n_domains] usable cores */
	int *first_core;  /* [n_domains] into core[] */
	int *core;        /* [total] core_lx by domain */
	int total;        /* cores to be had */
	int n_pieces;     /* of jobs that were dealt whole domains first */
	struct shares_piece *piece; /* [max_jobs] */
	int *core_domain;           /* [topo.n_cores] competing domain of a core, -1 not usable */
	bool whole;                 /* domains and cores are all of the topology's */

	/* room for shares.c and shares_apply.c */
	int words;    /* of coresets on this node */
	int *running; /* [n_cores] the one job that runs there; -1 none, -2 several */
	const struct coreset **envelope; /* [max_jobs] by competing job, without reserved PUs */
	const struct coreset **of_job;   /* [max_jobs] by view job; NULL: does not compete */
	struct coreset *base;            /* [max_jobs] by view job: where PUs are reserved */
	bool *polls;                     /* [max_jobs] shares_turns.c */
	unsigned char *allowed;          /* [max_jobs * topo.n_domains] */
	struct coreset *reach;           /* [max_jobs] envelopes differ: its places in core[] */
	struct coreset *here;            /* [max_jobs] ... and of those, where it runs now */
	int *place;                      /* [n_cores] of a usable core in core[] */
	struct coreset free;             /* shares_mixed.c: places in core[] nobody owns */
	int *owner;                      /* [n_cores] */
	int *member;                     /* [max_jobs] competing jobs by domain, then number */
	int *first_member;               /* [topo.n_domains + 1] into member[] */
	struct shares_load *load;        /* [topo.n_domains] */
	int n_sorted;                    /* view jobs of the last build, and ... */
	int *sorted;                     /* [max_jobs] ... their order of arrival: a guess */
	int *scratch;                    /* [4 * max(max_jobs, n_cores)] */
	int *queue, *before, *via;       /* [max_jobs] shares_mixed.c: a search's jobs */
	bool *full;                      /* [max_jobs] shares_mixed.c: it cannot grow */
};

void shares_init(struct shares *c, const struct policy_cfg *cfg);

/*
 * shares_build - reads a view. Jobs that do not compete are placed in @p at once; the others keep
 * the coreset they have in @p (the current one) until shares_apply().
 * Errors: -EINVAL a job whose envelope leaves it no CPU, or asks for more cores than that has.
 */
int shares_build(struct shares *c, const struct view *v, struct plan *p, struct errbuf *err);

/* May job @k run in domain @d at all? */
static inline bool shares_allowed(const struct shares *c, int k, int d)
{
	return c->uniform || c->allowed[(size_t)k * (size_t)c->t->n_domains + (size_t)d];
}

/*
 * shares_counts - how many jobs each domain takes when sizes do not decide: shares of n by
 * capacity, largest remainder, ties to a domain that would be empty, then to the lower;
 * floor/ceil(N/S) on equal domains.
 */
void shares_counts(const struct shares *c, int *ret_count);

/*
 * shares_balanced - balanced by cores: measured from its share of all cores asked for, no domain
 * is fuller than another by more than the biggest job. For equal sizes on equal domains this is
 * floor/ceil(N/S) jobs. @load: by domain, cores, or jobs where
 * all are equal.
 */
bool shares_balanced(const struct shares *c, const int *load);

/* True when the sizes fit the domains under @domain_of[k]. */
bool shares_fits(const struct shares *c, const int *domain_of);

/*
 * shares_blocks - the rule for no more jobs than domains and no sizes asked for: a block of
 * domains each, equal but for the remainder, keeping what jobs have; where domains differ in cores,
 * equal parts by shares_deal_row(). Places them; false where the rule does not apply (then
 * nothing was done).
 */
bool shares_blocks(struct shares *c, struct plan *p);

/*
 * shares_incumbent - the grouping that runs now, when it is one that could be chosen:
 * every job placed inside one domain, alone or with its group, sizes and balance kept.
 */
bool shares_incumbent(struct shares *c, int *ret_domain_of);

/*
 * shares_grouped - the grouping that runs now, as shares_incumbent(), but without regard to how
 * the cores inside the domains are dealt: shares_apply() deals them anew where they are not right.
 */
bool shares_grouped(struct shares *c, int *ret_domain_of);

/* Leaves the incumbent @domain_of in place; @why is each job's sentence. */
void shares_keep(struct shares *c, const int *domain_of, const char *why, struct plan *p);

/*
 * shares_relabel - gives groups to domains of the same capacity so that the fewest cores move;
 * where that is alike, to the one whose NUMA node holds most of the group's memory; else the
 * group of the earliest job gets the first domain.
 */
void shares_relabel(struct shares *c, int *domain_of);

/* Turns a grouping into coresets: current cores first, then the lowest free ones. */
void shares_apply(struct shares *c, const int *domain_of, struct plan *p);

/*
 * Deals all cores by size: exact shares that may straddle domains. In one row; where domains differ
 * in cores, by shares_deal_sizes().
 */
void shares_deal_row(struct shares *c, struct plan *p);

/*
 * shares_deal_sizes - each job exactly @size[k] cores: those it has first, then a domain it fills
 * best, then whatever is free. For policies that choose sizes and leave the where to us.
 */
void shares_deal_sizes(struct shares *c, const int *size, struct plan *p);
/* The same, jobs of much @heat (per core, by competing job) apart where that costs no domain more.
 */
void shares_deal_apart(struct shares *c, const int *size, const double *heat, struct plan *p);

/*
 * Where envelopes differ (shares_mixed.c): sizes grow core by core by augmenting paths, from
 * shares_mixed_start() on. A job that cannot grow never will until a new start.
 */
void shares_mixed_start(struct shares *c);
bool shares_mixed_grow(struct shares *c, int k);
/* The same; where it cannot, @full[job] is set for it and all others that this shows cannot. */
bool shares_mixed_grow_or_full(struct shares *c, int k, bool *full);
/* The same within domain @d alone (-1: any), and only onto a core that nobody owns. */
bool shares_mixed_take(struct shares *c, int k, int d);
/*
 * shares_mixed_reach - whose core could become @k's, by exchanges among those between? Sets
 * @ret_from[job] by competing job, false for @k itself; true: it could have one that nobody owns.
 */
bool shares_mixed_reach(struct shares *c, int k, bool *ret_from);
/* A core of @from becomes @k's, which shares_mixed_reach() said could be. */
void shares_mixed_exchange(struct shares *c, int from, int k);
void shares_mixed_give(struct shares *c, struct plan *p); /* what was grown */
/* Can these sizes be dealt? Leaves them ready to give. */
bool shares_mixed_fits(struct shares *c, const int *size);
/*
 * shares_mixed_fill - from what is grown so far, @size[k] cores each (0: not to grow), to the fair
 * sizes, and on until no core is left that somebody may use who asked for no number of his own.
 */
void shares_mixed_fill(struct shares *c, int *size);
/* Fair sizes that can be dealt, all cores used; false: not even a core for each. */
bool shares_mixed_sizes(struct shares *c, int *ret_size);

/* No choice to be made: equal shares by arrival, or groups where jobs outnumber cores. */
void shares_equal(struct shares *c, int *domain_of, struct plan *p);

/* A number that changes with the set of competing jobs. */
uint64_t shares_set(const struct shares *c);

/* A grouping by arrival that keeps jobs where they are if balance allows: fair's. */
void shares_by_arrival(struct shares *c, int *ret_domain_of);

/* Gives job @k exactly the listed cores (its PUs of them). */
void shares_give(const struct shares *c, int k, const int *core, int n, struct plan *p);

/*
 * shares_seat - gives job @k what it may use of @pus, beside those whose group is @group already:
 * hardware threads of its own where that can be, else the same ones as another has. Who has more
 * than @k may use moves over to the rest. Its envelope has something of @pus.
 */
void shares_seat(
	const struct shares *c, int k, const struct coreset *pus, int group, struct plan *p);

/* --- for shares_*.c */

/*
 * shares_take_turns - polling jobs short of cores get their envelope, a slice of the plan each,
 * and compete no more; true: some did, so that it must be read anew. (shares_turns.c)
 */
bool shares_take_turns(struct shares *c, struct plan *p);

static inline const struct coreset *shares_current(const struct shares *c, int k)
{
	return &c->v->job[c->job[k]].current;
}

/* Where jobs outnumber cores a group owns its domain, also one that is not itself too large. */
static inline bool shares_owns_as_group(const struct shares *c, int d, int members)
{
	return members > c->capacity[d] || (c->shared && members > 1);
}

/* Domain that holds all of the current coreset of @k, -1 none. */
int shares_current_domain(const struct shares *c, int k);

/* Fills member[] and first_member[]: the members of each domain, in order of number. */
void shares_list_members(struct shares *c, const int *domain_of);

/*
 * snake.c: jobs sorted by one figure; the smallest and the biggest together to the first domain,
 * the second pair to the next, and so on. Shared by dio and llc-complex.
 */

/*
 * snake_group - @value by competing job; @sorted, @sum, @load: scratch of [n], [n_domains] each.
 * @strict: the published rule to the letter: pairs alternate though one domain may get two jobs
 * more; else pairs that do not go round are split, the larger to the domain with the smaller sum.
 */
void snake_group(const struct shares *c, const double *value, bool strict, int *sorted, double *sum,
	int *load, int *ret_domain_of);

/*
 * smt.c: which jobs share the hardware threads of one core, where share_smt allows it: LIRA's
 * grouping once more, one level down, with the cores of a domain for its domains.
 *
 * Source: the generalisation of LIRA (ROSS 2015, section 4.2) to hardware threads is ours; that
 * siblings want different demands is what Settle et al. and SAM-MPH (ATC 2016) found.
 */

/*
 * smt_pair - takes the whole cores that the members of each domain were given in @p and deals their
 * hardware threads anew, as many to each job as before, so that the sum over cores of |R_i - R_j|
 * is largest. What runs stays if its sum is at least the best divided by 1 + @h.
 * @domain_of, @value: by competing job. @sum: [topo.n_cores] room. Only where envelopes are alike
 * and jobs do not outnumber cores; else nothing is done.
 */
void smt_pair(struct shares *c, const int *domain_of, const double *value, double h, double *sum,
	struct plan *p);

/*
 * units.c: the cores to be had in units that share a last-level cache: what SBMP deals out ("die"
 * in the paper) and what the DAS schedulers call a resource partition.
 */

enum unit_fallback {
	UNIT_CORE, /* no caches to tell apart: every core is a unit */
	UNIT_NODE, /* ... : all cores are one unit */
};

struct units {
	int n;
	int *first;  /* [n] into core[] */
	int *count;  /* [n] cores */
	int *core;   /* [cores] core_lx by unit */
	int size;    /* cores of the largest unit */
	bool uneven; /* units differ in cores */
};

void units_init(struct units *u, const struct policy_cfg *cfg);

/* Cores that share an L3 (without L3: an L2), else a grouping domain, else as @fallback says. */
void units_build(struct units *u, const struct shares *c, enum unit_fallback fallback);
/* Every core a unit. */
void units_split(struct units *u, const struct shares *c);

/*
 * allocate.c: U equal units among N jobs, each at least one, so that a sum (or the largest) of
 * per-job costs is least.
 */

enum combine { COMBINE_SUM, COMBINE_MAX };

/* Of a search, some ns each. */
#define ALLOCATE_STEPS_MAX 4000000

struct allocate {
	int max_jobs, max_units;
	bool cut; /* the last search would have taken more steps: its result is good, not the best
		   */
	double *cost;  /* [max_jobs * (max_units + 1)]: of job i at u units, filled by the caller */
	double *value; /* [max_jobs * (max_units + 1)] */
	short *choice; /* [max_jobs * (max_units + 1)] */
};

void allocate_init(struct allocate *a, struct arena *memory, int max_jobs, int max_units);

static inline double *allocate_cost(const struct allocate *a, int job, int units)
{
	return &a->cost[(unsigned long)job * (unsigned long)(a->max_units + 1) +
			(unsigned long)units];
}

/*
 * allocate_best - exact; all @units are dealt. Convex sums greedily (exact there), anything else
 * by dynamic programming over units, O(N U^2), where that is no more than ALLOCATE_STEPS_MAX;
 * beyond, greedily, the slowest first where the largest counts. Ties: the smaller part grows, then
 * the lower job. Returns the sum or largest of the costs. Needs 1 <= @n <= @units.
 */
double allocate_best(struct allocate *a, int n, int units, enum combine how, int *ret_units);

/*
 * allocate_climb - as published (SBMP section 3.1, after Cazorla et al.): from equal parts the
 * best transfer of one unit, as long as it gains more than 1e-9 and steps are left; ties to the
 * lowest pair. Nobody has fewer than @least units, [@n] of at least 1 (NULL: 1 each), where those
 * are @units at most: from equal parts a minimum may be out of reach.
 */
double allocate_climb(
	struct allocate *a, int n, int units, enum combine how, const int *least, int *ret_units);

/*
 * grouping.c: which jobs go to which domain so that the sum over domains of |R_i - R_j| over the
 * pairs in it is largest, among groupings balanced by number of jobs, or by cores where sizes were
 * asked for.
 *
 * Equal sizes: exact in O(N log N) by tiers of coefficients (rearrangement inequality). Unequal
 * sizes (pairs weigh c_i*c_j / smallest c squared) are NP-hard: exhaustive up to 8 jobs, else
 * first fit by size and at most two rounds of one-job moves and swaps. Source: Collins et al.,
 * LIRA, ROSS 2015, section 5 (score for two sockets of two programs); the generalisation is ours,
 * proven against brute force in the tests.
 */

enum grouping_tie {
	TIE_AUTO,    /* missbal where every job has it, else balance */
	TIE_BALANCE, /* equal sums of R */
	TIE_FIRST,   /* the first of the best in order of arrival */
	TIE_MISSBAL, /* equal sums of LLC misses */
};

struct grouping {
	int max_jobs, max_domains;
	bool any;           /* any grouping that leaves each job a core, balanced or not */
	bool per_domain;    /* divide a domain's sum by its jobs less one (norm=per_socket) */
	bool anchored;      /* some jobs are pinned, or pieces of large jobs stand in domains */
	const int *pin;     /* [n] domain a job must have, -1 any; NULL nobody */
	double *extra;      /* [max_jobs * max_domains] what a job adds beside a domain's pieces */
	double fixed;       /* pieces beside pieces */
	bool weighted;      /* pairs weigh c_i*c_j (sizes differ and fit); set by grouping_best() */
	double *weight;     /* [max_jobs^2] value of a pair */
	double *gain;       /* [max_jobs * max_domains] value of a job beside those of a domain */
	double *sum, *part; /* [max_domains] */
	int *sorted;        /* [max_jobs] */
	int *tier_of;       /* [max_jobs] */
	int *count, *load, *max, *label; /* [max_domains] */
	int *trial, *best, *head;        /* [max_jobs] */
	unsigned char *free_slot;        /* [2 * max_jobs * max_domains] */
};

void grouping_init(struct grouping *g, const struct policy_cfg *cfg);

/*
 * grouping_best - fills @ret_domain_of[0..n-1] and returns the score.
 * @value: R by competing job; @second: what a tie balances (value or misses);
 * @tie: TIE_FIRST or TIE_BALANCE.
 */
double grouping_best(struct grouping *g, struct shares *c, const double *value,
	const double *second, enum grouping_tie tie, int *ret_domain_of);

/*
 * grouping_anchor - before grouping_best(), where it applies: pins, and the figures of the
 * pieces (@piece_value by piece). With anchors the search for different sizes is used.
 */
void grouping_anchor(struct grouping *g, const struct shares *c, const double *value,
	const int *pin, const double *piece_value);

/* @idx := 0..n-1 ascending by value, then arrival; allocates nothing. */
void grouping_sort(int *idx, int n, const double *value);

/* Score of any grouping of the same values, weighted as the last grouping_best() was. */
double grouping_score(
	struct grouping *g, const struct shares *c, const double *value, const int *domain_of);

/* --- of grouping_search.c */

/* Cores of the smallest job or piece: pairs weigh c_i*c_j over its square. */
double grouping_smallest(const struct shares *c);

/*
 * First fit and local search; false: no grouping fits. @second NULL: ties go to
 * the first in order of arrival.
 */
bool grouping_search(struct grouping *g, struct shares *c, const double *value,
	const double *second, int *ret_domain_of);

/*
 * clusters.c: two to four clusters of jobs for the ways of the last-level cache, and for steps of
 * memory bandwidth, beside whatever placement a policy has chosen.
 *
 * Jobs that share a cache are grouped by how much it does for them: their miss ratio, cut where
 * neighbours are furthest apart. A cluster gets ways by the hits of its jobs, which is what it
 * would lose, and at least an eighth of the cache.
 *
 * Source: El-Sayed et al., KPart, HPCA 2018: few clusters, since a partition for each job hurts.
 * KPart groups by miss curves; where nobody measures them live, the miss ratio is the one point of
 * the curve that is known. That, the shares, the bounds and the hysteresis are ours.
 */

struct clusters_cfg {
	int most;       /* clusters at most, 2..PLAN_CLUSTERS_MAX; 0, 1: off */
	bool bandwidth; /* and steps of bandwidth */
};

struct clusters {
	struct clusters_cfg cfg;
	struct cluster_job *job; /* [max_jobs] by slot */
	int *shared, *cluster;   /* [max_jobs] competing jobs; by competing job */
	uint64_t *caches;        /* [max_jobs] by competing job: a bit each */
	uint64_t placed;         /* who was where when it was decided; 0 never */
	double decided_s;
	int n;
	struct plan_cluster part[PLAN_CLUSTERS_MAX];
};

void clusters_init(
	struct clusters *s, const struct clusters_cfg *own, const struct policy_cfg *cfg);
void clusters_forget(struct clusters *s, int slot);

/*
 * clusters_decide - into @p, whose coresets are chosen. A job without references and misses, or
 * that has the cache to itself or only beside its own cluster, is in none. Decided anew when a job
 * comes, goes or moves, and when a smoothed miss ratio has moved by a tenth, then at most every 10
 * s.
 */
void clusters_decide(struct clusters *s, const struct shares *c, const int *slot, struct plan *p);

/*
 * The same by hand: what is known of a job, per thread and second (negative: nothing); clusters of
 * those that are known, for the coresets of @p (how many: s->n, 0 none; of whom: s->cluster[]); and
 * these into a plan.
 */
void clusters_know(struct clusters *s, int slot, double refs, double misses);
void clusters_make(
	struct clusters *s, const struct shares *c, const int *slot, const struct plan *p);
void clusters_put(
	const struct clusters *s, const struct shares *c, const int *slot, struct plan *p);

/*
 * fill.c: idle time of some jobs' cores for the threads of others, at low priority.
 *
 * Source: Harris, Maas, Marathe: Callisto, EuroSys 2014, as LIRA, ROSS 2015, has it in section 5.1
 * ("a low priority thread is allowed to run when the high priority thread is not runnable") and,
 * for one socket, in 5.2 ("within each socket, we use Callisto to schedule the threads").
 * FILL_THREADS is that, thread by thread (priority.c); FILL_JOBS, ours, goes by whole jobs: who
 * uses less than 70 % of what it has lends its cores to all who use more, at a low weight, which
 * stands for the hysteresis.
 */

enum fill_how { FILL_NO, FILL_JOBS, FILL_THREADS };
#define FILL_CHOICE "no|jobs|threads"
/* ROSS 2015, section 5.1: "typically around 10ms". */
#define FILL_HYSTERESIS_MS 10

struct fill_cfg {
	int how; /* enum fill_how */
	int hysteresis_ms;
};

struct idling;

struct fill {
	struct fill_cfg cfg;
	bool in_domain;        /* only on cores of the domains a job runs in itself */
	struct idling *idling; /* [max_jobs] by slot */
};

void fill_init(struct fill *f, const struct fill_cfg *own, const struct policy_cfg *cfg);
void fill_forget(struct fill *f, int slot);
/* Into @p, whose coresets are chosen; only competing jobs lend and borrow. */
void fill_plan(struct fill *f, const struct shares *c, const struct view *v, const int *slot,
	struct plan *p);

/*
 * shared_turns.c: jobs that a plan lets share cores take turns there, where that serves them.
 *
 * Where several threads of a job share a core, one of them waits at each barrier, and what the
 * kernel runs next is as likely another job's thread as the job's own: caches and translations are
 * filled anew several times per region. In turns each has them for a whole slice. Measured on two
 * cores (contrib/bench/rebind: four OpenMP programs of two threads, two to a core, 2.9 MB grids,
 * regions of 0.26 ms): 0.98 of one thread each, side by side 0.76.
 *
 * Ours. That jobs of fine-grained synchronization gain by running as a whole: Feitelson & Rudolph,
 * J. Parallel Distrib. Comput. 16(4), 1992; there it is the waiting that is saved, here the
 * caches.
 */

/* Room for a node's jobs; nothing is kept from one plan to the next. */
struct shared_turns {
	int n_groups;
	int *sorted; /* view jobs of the last plan by arrival: a guess for the next */
	int n_sorted;
	int *rank;   /* [view job] so many of its group came before it */
	int *count;  /* [group] how many share; 0: they take no turns */
	int *cores;  /* [group] */
	int *first;  /* [group] view job */
	bool *waits; /* [group] one has several threads */
};

void shared_turns_init(struct shared_turns *c, const struct policy_cfg *cfg);

/*
 * shared_turns_plan - slices for the groups of @p, each group by itself and all at once: of those
 * whose jobs are all coupled (view.h), or, where the policy asked for all (plan.all_turn), of every
 * group with a job of several threads. Only where each job has at least as many threads as the
 * group has cores: a turn leaves none idle. Nothing where the plan has slices, or asks for what
 * does not go with them.
 */
void shared_turns_plan(
	struct shared_turns *c, const struct topo *t, const struct view *v, struct plan *p);

/* --- foreground.c: of jobs that take turns, who came first goes first for a while */

#define FOREGROUND_MS        10000 /* ours, as the other */
#define FOREGROUND_BEHIND_MS 10000

struct served;

struct foreground {
	int first_ms, behind_ms;
	struct served *served; /* [max_jobs] by slot; NULL: nobody goes first */
	double last_s;
};

/* @first_ms: a job goes first until it has had so much of the node; 0: nobody does. While another
 * is @behind_ms behind equal turns, nobody does either. */
void foreground_init(
	struct foreground *f, int first_ms, int behind_ms, const struct policy_cfg *cfg);
void foreground_forget(struct foreground *f, int slot);
/* The time since the last decision; before each plan, with turns or without. */
void foreground_account(struct foreground *f, const struct view *v, const int *slot);
/* All compute in bursts: one before the other, the last would wait alone at the end. */
bool foreground_has_none(const struct shares *c);
/*
 * foreground_take - the slice of @p that goes first is made longer: its number, -1 none. Then
 * *@ret_behind is who does not let anybody go first, by @c; -1 nobody. @parts: of the node that go
 * to a job each at a time, so that it needs so many times as long for as much of the node. To be
 * asked after each foreground_account().
 */
int foreground_take(struct foreground *f, const struct shares *c, const int *slot, int parts,
	struct plan *p, int *ret_behind);
/* Tells each job: @what it has before the others, and @it as a pronoun. */
void foreground_say(const struct foreground *f, struct plan *p, int first, int parts,
	const char *what, const char *it);

#endif
