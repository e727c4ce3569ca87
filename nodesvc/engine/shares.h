/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shares.h - who competes for which cores, how many each gets by right, and how a grouping by
 * domains becomes coresets. The rules of placement that hold for every policy live here; what
 * stays with a policy is who goes with whom.
 *
 * Competing jobs are numbered 0..n-1 by order of arrival (then id), its domains 0..n_domains-1
 * in the order of the topology. Cores, not PUs, are dealt out: an SMT pair is never split.
 *
 * Do not compete: excluded jobs, steps of several nodes (they keep their envelope), jobs whose
 * envelope nobody else touches (they get all of it), and polling ones that take turns.
 */
#ifndef COLOC_ENGINE_SHARES_H
#define COLOC_ENGINE_SHARES_H

#include "nodesvc/engine/plan.h"
#include "nodesvc/engine/policy.h"

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

int shares_init(struct shares *c, const struct policy_cfg *cfg, struct errbuf *err);
void shares_done(struct shares *c);

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

#endif
