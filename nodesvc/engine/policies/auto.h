/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * auto.h - between auto.c (the policy), auto_deal.c (plans and dealings), auto_model.c (what is
 * known of programs) and auto_search.c (which dealing is best). All of it ours, but for what a line
 * says.
 *
 * State. By program (its owner's type; a job without one is its own) and phase: the speeds seen,
 * each with the cores it was seen on, the load of its memory and who was beside it; what it moves
 * per unit of speed; how busy it is. A phase is known by its references and loads per instruction,
 * which do not hang on where it runs, by utilisation on as many cores, and by whether it computes
 * at all; another one is believed after three samples. It stays when the job ends, so that the next
 * of the program begins where that one was.
 *
 * Model. ln speed = level + ln S(n) - ln((1 + x l) / (1 + x)): S is SBMP's curve (PACT 2012, eq. 2;
 * alpha + beta/n + gamma n), x the part of its time that it waits for memory which answers at once,
 * l the latency there over that. l = 1 + r / (2 (1 - r)), the wait in a queue of even service
 * (M/D/1), r the domain's traffic over the most it can carry: 4 GB/s a core, or the most that was
 * ever seen. x is by misses per instruction, which fall with the part of a cache that is held as
 * was seen (theta); that part follows from what each inserts there. S and the cost of a miss are
 * never known, so a grid of both is weighed: by what utilisation tells of S (how well it scales at
 * the most: who polls, or waits for memory, is busy) and misses per instruction of x before
 * anything else, then by how well each explains the speeds seen (Bayes; the level falls out). What
 * was seen on as many cores beside the same company counts for itself, in place of the model, the
 * more often the more (the pair table).
 *
 * Proposals. What runs; what fair, lira and dio would do, as far as their signals are there; the
 * exact allocation by the curves, as sbmp has it (allocate.c); and from the best of them the best
 * transfers of cores inside a domain and exchanges of places, or one of each at once, as long as
 * they gain. The worth of one is the objective over what fair's is predicted to give; fair's is
 * where fair would have them, had nobody else ever moved them. No job below its floor, `q' and 3 %
 * of what it would have alone on its fair share, which is at least the most that was seen on no
 * more cores, unless it is so under fair, too, and then not below that.
 *
 * Acting. What runs stays, unless the gain less `sure' times its standard deviation, for as long as
 * the phases at hand are expected to last, is above what moving costs (75 ms of each moved part:
 * SBMP has 150 ms of warm-up, at half speed), and the gain, as a mean of those whose cores change,
 * above `h'. Not before `dwell_s' after the last move, twice that after each one that went back on
 * it within a minute. A job that comes is placed at once. Where one is seen below its floor, with
 * other cores or company than under fair, the others' samples choose anew at once, and fair where
 * they choose what runs; clusters end.
 *
 * Who is idle, for it reads or writes, keeps its least number of cores where the others gain more
 * by the rest, for as long as that phase is expected to last, than it loses until it is seen to
 * compute again: a sample and a half, and two moves. One sample in which it is busy is enough, and
 * its cores come back at once; that is no reversal. Who asked for a floor keeps all.
 *
 * Trials. Where nothing is to be moved, a quarter of one job's cores goes to another for 1.2 s, and
 * the same of two others at once; or two exchange their places, for what company does to a job's
 * cache is not known before it was seen beside two. It is the one that is expected to gain most for
 * as long as the phases last, less what it costs, if by two standard deviations it may be `h'
 * better with whoever gives still above his floor, and by its mean is not 3 % worse; none of widths
 * that were seen. In 1 % of the time, and 3.6 s in advance; floors are not looked at meanwhile.
 * Then what ran before runs again, unless the trial is better.
 *
 * Loans. Who is under 95 % utilisation lends to those of its domains who are busy, else
 * to all who are; but to nobody whose threads wait for one another.
 * Who has a speed lends once it was seen there without, and no more where it was below its floor
 * while others borrowed. What is seen meanwhile counts as beside other company.
 *
 * Cache clusters, where the driver can set them (view.cache_ways): clusters.c says which, first.
 * What they do to a job is not known before it is seen: where all who compute were seen without, as
 * they are now, clusters are set for 1.6 s if they may gain anything by one deviation, and stay
 * where they are sure to gain. What is missed meanwhile tells more of theta; by that, of up to six
 * jobs, every two clusters at a quarter, a half and three quarters are weighed, and better ones are
 * tried, three times at most. Of up to four jobs what clusters promise is part of a proposal's
 * worth. Whoever moves or changes phase ends them, and speeds that were seen under them are not in
 * the model above.
 *
 * Never worse. The windows against Slurm's placement that the daemon makes (choose/quarantine.c)
 * judge this policy as any other, by set of programs, and outlive it.
 *
 * Without a speed. No core is taken from a job whose speed nobody knows, nor given to one: it has
 * its fair share. Where jobs outnumber cores: turns if each has threads for all cores, else fair.
 * Whose threads leave a core while they wait (coupled; processes told to yield, and no threads
 * beside them), or do not wait for one another (no calls of a runtime that make a speed), lose
 * nothing by being all on one: where all are such, they have fair's cores, as many at once as there
 * are cores, and who came first has them first (foreground.c). Else half of the threads would wait
 * for the other half, on a core that they do not leave: each has the whole node in its turn (gang),
 * also where all compute in bursts, or one has high priority. Which it is shows while they share
 * cores as under fair, in three seconds, and is kept for the next job of the program; in turns of
 * the whole node it would not show.
 */
#ifndef COLOC_ENGINE_AUTO_H
#define COLOC_ENGINE_AUTO_H

#include "nodesvc/engine/internal.h"

extern const struct policy_ops policy_fair, policy_lira, policy_dio, policy_gang;

#define AUTO_ALPHAS 8
#define AUTO_GAMMAS 4
#define AUTO_CURVES (AUTO_ALPHAS * AUTO_GAMMAS)
#define AUTO_STALLS 4
#define AUTO_SEEN   16 /* of a phase: widths and companies, the least seen is forgotten */
#define AUTO_PHASES 4  /* of a program */
#define AUTO_STORED 8  /* widths of earlier runs */
/* Company that borrows of it is other company: what is seen then is not how fast it is there. */
#define AUTO_LENT UINT64_C(0x9e3779b97f4a7c15)

struct auto_seen {
	double cores; /* with what it borrowed */
	double own;   /* without */
	double utilization;
	double latency;
	uint64_t beside; /* who was in its domains, on how many cores */
	bool lent;       /* some of them in its idle time, ^ AUTO_LENT: not in the model's curve */
	double n;        /* samples; 0 unused */
	double speed;    /* mean of logarithms, as if in one domain */
	/* Means of logarithms, of n_held samples: misses per instruction, and the part of the
	 * domain's cache that it held. */
	double miss, held, n_held;
};

/* Under clusters of the cache, means of n samples: ln of its speed over that without; as auto_seen
 * has them. */
struct auto_walled {
	double n, mean, miss, held;
};
#define AUTO_WALLED 4 /* parts of the cache that clusters left a phase */
enum { AUTO_SIDES = 2, AUTO_NO_SIDE = AUTO_SIDES }; /* clusters; a job that is in none */

struct auto_phase {
	bool used, idle;
	bool signed_;       /* refs and loads are known */
	double refs, loads; /* ln of per instruction */
	double utilization; /* smoothed */
	double cores;       /* on which that was */
	double bytes;       /* smoothed, per unit of speed */
	double stall0;      /* x by misses per instruction */
	double held;        /* ln, of which part of a cache these two are; NAN unknown */
	double theta;       /* ln of misses falls by so much of ln of the part it holds */
	double fitted;      /* samples when it was fitted; < 0 never */
	double samples;
	double level;  /* ln speed of one core, memory idle */
	double stall;  /* x, mean */
	double mean_s; /* how long it lasts; 0 unknown */
	float weight[AUTO_CURVES * AUTO_STALLS];
	struct auto_seen seen[AUTO_SEEN];
	/* Without clusters: per thread and second, smoothed. */
	double llc_refs, llc_misses, llc_samples;
	struct auto_walled walled[AUTO_WALLED];
};

struct auto_program {
	uint64_t name; /* hash of owner and type, of the id without one; 0 free */
	int64_t owner; /* beside it: users choose types, so hashes, too */
	double used_s;
	/* What its threads do with a core while they wait, as was seen where jobs share cores:
	 * leave it; maybe not; or nothing says that they wait for one another at all. */
	enum { AUTO_WAITS_UNKNOWN, AUTO_WAITS_LEAVING, AUTO_WAITS_KEEPING, AUTO_WAITS_NOT } waits;
	/* What the first of its jobs was told of earlier runs: ln speed in a unit of their own, so
	 * the shape of the curve and nothing else. */
	int n_stored;
	float stored_cores[AUTO_STORED], stored_speed[AUTO_STORED];
	struct auto_phase phase[AUTO_PHASES];
};

/* A live job, by slot. */
struct auto_job {
	bool known, has_speed, lends;
	bool lent; /* and somebody borrows of it */
	bool woke; /* it was idle a sample ago */
	int program, phase, next_phase, deviating;
	uint64_t sample_no;
	double met_s;
	double since_s;            /* of the phase */
	double lends_s;            /* since it began or stopped lending */
	double lent_s;             /* since somebody, or nobody any more, borrows of it */
	int below;                 /* samples in a row under its floor */
	int side;                  /* of the clusters that are set or thought of */
	struct auto_walled walled; /* under just these */
	double walled_prior, walled_deviation; /* of what they do, before */
	int old_side;                          /* the same of those before */
	struct auto_walled old_walled;
	/* Of the curve below: */
	int curve_program, curve_phase;
	double curve_fitted;
};

struct auto_model {
	const struct topo *t;
	int max_jobs, n_programs;
	int most;   /* cores of the node */
	int stride; /* of curves, for 0 to most cores; whole blocks */
	bool pairs; /* what was seen beside the same company counts for itself */
	struct auto_program *program;
	struct auto_job *job; /* [max_jobs] by slot */
	float *speedup;       /* [AUTO_CURVES * stride] ln S(n) */
	float *curve;         /* [max_jobs * stride] mean ln S(n) of each job's phase, by slot */
	double *capacity;     /* [topo.n_domains] bytes/s of the topology's domains */
};

/* What a job is under the plan that runs, for a sample of it. */
struct auto_context {
	double cores; /* with what it borrows */
	double own, latency;
	double span;     /* ln: what its threads lose by being in several domains */
	double held;     /* ln: its part of what is inserted into the caches of its domains; NAN */
	uint64_t beside; /* ^ AUTO_LENT where somebody borrows of it */
	bool settled;    /* nobody was moved lately, so that the sample is of this placement */
	bool walled;     /* and of clusters of the cache */
};

void auto_model_init(struct auto_model *m, const struct policy_cfg *cfg);
/* Which program it is, and its first phase; before anything else of a job. */
void auto_model_meet(struct auto_model *m, const struct view_job *j, int slot, double now_s);
/* One look at a job; true: it has changed phase. */
bool auto_model_look(struct auto_model *m, const struct view_job *j, int slot,
	const struct auto_context *x, double now_s);
/* Brings curve[], level and stall up to date. */
void auto_model_fit(struct auto_model *m, int slot);
void auto_model_forget(struct auto_model *m, int slot, double now_s);

static inline struct auto_phase *auto_phase_of(const struct auto_model *m, int slot)
{
	const struct auto_job *j = &m->job[slot];

	return &m->program[j->program].phase[j->phase];
}

/* ln S(n) of one curve of the grid, between whole cores in proportion. */
double auto_speedup(const struct auto_model *m, int curve, double n);
/* Mean and variance of ln S(@to) - ln S(@from) for the job's phase. */
double auto_spread(const struct auto_model *m, int slot, double from, double to);
/* Most samples on so many cores of its own beside that company; NULL none. */
const struct auto_seen *auto_seen_own(const struct auto_phase *f, double own, uint64_t beside);
/* Samples on so many cores beside that company; NULL none. */
const struct auto_seen *auto_seen_find(const struct auto_phase *f, double cores, uint64_t beside);
/* Bytes per second, NAN unknown; speed in the unit that stays the same, 0 unknown. */
double auto_traffic(const struct view_job *j);
double auto_live_speed(const struct view_job *j);
/* Latency of a memory of which so much of what it can carry is asked for. */
double auto_latency(double load);

enum auto_objective { AUTO_GEOMEAN, AUTO_STP, AUTO_ANTT, AUTO_WORST };

/* A dealing: cores of job k in domain d, n[k * n_domains + d]. */
struct auto_deal {
	short *n;
	double worth; /* by the objective, of fair's; -INFINITY not to be had */
	bool there;
};

struct auto_search {
	struct auto_model *m;
	struct shares *c;
	const int *slot;
	int max_jobs;
	enum auto_objective objective;
	double q;
	long steps, most_steps; /* looks at a job or a domain */
	int next;               /* pair of jobs that is looked at next */
	/* Of the dealing last looked at: */
	int *size;            /* [max_jobs] */
	double *speed, *flow; /* [max_jobs] ln; bytes/s */
	double *latency;      /* [n_domains] of memory, over that unloaded */
	float *miss;          /* [max_jobs * n_domains] misses there, over those that stall is of */
	uint64_t *sum;        /* [n_domains] */
	double *most;         /* [n_domains] bytes/s that are asked for at the most ... */
	int *members;         /* [n_domains] ... by so many jobs */
	/* Of fair's: */
	double *fair, *floor, *alone; /* [max_jobs] ln speed */
	bool *fixed;                  /* [max_jobs] neither gives nor takes */
	/* Room: */
	double *asks, *waits, *idle_wait, *was_speed, *was_latency;
	int *member;
	float *was_miss, *held, *theta; /* of a domain's members */
	uint64_t *was_sum;
	short *trial, *first;
	/* Of what runs, while trials are looked for: */
	double base, base_broken;
	uint64_t *company; /* [max_jobs] */
	/* Clusters of the cache that are thought of: [max_jobs] sides, and their parts; NULL none.
	 */
	const signed char *side;
	double ways[AUTO_SIDES];
};

void auto_search_init(struct auto_search *s, struct auto_model *m, struct shares *c,
	const struct policy_cfg *cfg);
/* Predicts speed[] under @n; returns the objective less what floors that are broken cost. */
double auto_search_worth(struct auto_search *s, const short *n);
/* fair[], floor[] from fair's dealing. */
void auto_search_base(struct auto_search *s, const short *fair);
/* Best transfers and exchanges from @d on. */
void auto_search_improve(struct auto_search *s, struct auto_deal *d);
struct auto_try {
	double optimism;  /* so many deviations above the mean may be hoped for */
	double least;     /* what has to be gained then */
	double most_loss; /* by the mean */
	double lasts_s;
	double horizon_s; /* for so long what was learnt is of use */
	double move_s;    /* lost by a job that is moved */
	long most_steps;
};
/*
 * auto_search_trial - a quarter of one job's cores to another, from @from: that by which most is
 * expected to be gained over @t->horizon_s, less what it costs. False: there is nothing to be
 * learnt that would be worth it.
 */
bool auto_search_trial(struct auto_search *s, const struct auto_deal *from,
	const struct auto_try *t, struct auto_deal *ret);
/* Who is in the job's domains, as auto_seen keeps it. */
uint64_t auto_search_beside(const struct auto_search *s, const short *n, int k);
double auto_search_span(const struct auto_search *s, const short *n, int k);
/* Mean latency of job @k's memory by latency[]. */
double auto_search_latency(const struct auto_search *s, const short *n, int k);

struct auto_config {
	int objective, clusters;
	double q, h, sure, dwell_s;
	bool pair, lend, search, trials;
};

/* Clusters of the cache: of whom, and whether they are set. */
struct auto_walls {
	struct clusters clusters;
	uint64_t key; /* who is where, in which phase */
	bool made, on, hurts;
	double changed_s, try_until_s; /* < 0: not tried yet */
	double gain, sd;
	const char *why;
	double ways[AUTO_SIDES];   /* parts of the cache; [0] 0: no clusters to be had */
	int tries;                 /* others, by the model */
	bool has_old;              /* those before were worth old_gain */
	double old_gain, old_ways; /* [0] */
	double looked_s;
	signed char *side, *best; /* [max_jobs] by competing job */
};

enum { AUTO_RUNS, AUTO_FAIR, AUTO_LIRA, AUTO_DIO, AUTO_EXACT, AUTO_BEST, AUTO_TRIAL, AUTO_DEALS };

/* Another policy, asked what it would do. */
struct auto_other {
	const struct policy_ops *ops;
	struct policy *state; /* its own, not ours */
};

struct policy {
	struct auto_config cfg;
	struct shares shares;
	struct auto_model model;
	struct auto_search search;
	struct allocate allocate;
	struct auto_walls walls;
	struct auto_other other[AUTO_DEALS], gang;
	struct shared_turns turns;
	struct foreground first;
	struct plan scratch;
	struct auto_deal deal[AUTO_DEALS];
	/* Where fair would have them, had nobody else ever moved them: [max_jobs] by slot; and a
	 * view of that. */
	struct coreset *fair_now;
	struct view_job *fair_job;
	short *before; /* [max_jobs * n_domains] by slot: what ran before the last move */
	int *size;
	/* [n_domains][AUTO_SIDES + 1] bytes/s, by cluster; the last of all. */
	double *inserts;
	double *heat, *borrowed; /* [max_jobs] by competing job; by slot */
	/* auto_loans.c: [n_domains] idle cores, and who borrows or where a donor is; [max_jobs] by
	 * competing job. */
	double *idle;
	int *domains;
	bool *borrows;
	/* [max_jobs] by competing job: what it may take of that donor. */
	enum { TAKES_NOTHING, TAKES_NEAR, TAKES_FAR } * takes;
	uint64_t set;
	double trial_s; /* until then; < 0 none */
	double tried_s; /* all trials together */
	double began_s;
	double looked_s, moved_s, dwell_s, sample_s, interval_s;
	int chosen;      /* of the last ranking */
	double shared_s; /* since then jobs outnumber cores; NAN: they do not */
	bool turning;    /* jobs that outnumber cores take turns */
	bool in_place;   /* ... on the cores that fair gives them */
	const char *why; /* and why */
	double gain, sd, cost, horizon_s;
	int moved; /* jobs whose mean gain is held against h */
};

/* --- auto_deal.c: dealings from plans, and plans from dealings */

/* Cores of job @k in each domain. */
static inline short *auto_cell(const struct policy *p, const struct auto_deal *d, int k)
{
	return d->n + (size_t)k * (size_t)p->shares.n_domains;
}
/* Of job @k, all its cores. */
int auto_size(const struct policy *p, const struct auto_deal *d, int k);
void auto_clear_deal(struct policy *p, struct auto_deal *d);
/* What runs; who has come gets what is free, in equal parts. */
void auto_read_current(struct policy *p, struct auto_deal *d);
int auto_open_other(struct auto_other *o, const struct policy_ops *ops,
	const struct policy_cfg *cfg, struct errbuf *err);
/* What fair would do where fair had ruled from the start. */
void auto_ask_fair(struct policy *p, const int *slot);
/* What another policy would do: its dealing, if it has the signals and its plan is one. */
void auto_ask_other(struct policy *p, int which, const int *slot);
/* Sizes by the curves alone, exactly; then where, the heavy on memory apart. */
void auto_allocate(struct policy *p, const int *slot);
/* Current cores first, then the lowest free ones of each domain. */
void auto_deal_out(struct policy *p, const struct auto_deal *d, struct plan *ret);

/* --- auto_loans.c: idle time, to whom that is worth most */

void auto_lend(struct policy *p, const struct view *v, const int *slot, struct plan *ret);

/* --- auto_walls.c: clusters of the cache, where they were seen to pay */

void auto_walls_init(struct policy *p, const struct policy_cfg *cfg);
/* There are none now. */
void auto_walls_drop(struct policy *p, const struct view *v);
/* What clusters are expected to add to the worth of @d; and what those that are set were seen to.
 */
double auto_walls_promise(
	struct policy *p, const struct view *v, const int *slot, const struct auto_deal *d);
double auto_walls_gain(const struct policy *p);
void auto_walls_decide(struct policy *p, const struct view *v, const int *slot, struct plan *ret);

#endif
