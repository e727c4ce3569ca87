/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * engine.h - one decision: view -> policy -> checked plan. Pure; the same on the node, in replay
 * and in the simulator.
 *
 * One thread per engine. After engine_create() nothing is allocated and no system call is made.
 */
#ifndef COLOC_ENGINE_ENGINE_H
#define COLOC_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/coreset.h"
#include "nodesvc/engine/policy.h"
#include "nodesvc/engine/view.h"

struct engine;

/*
 * engine_create - an instance of one policy.
 * @spec: "NAME" or "NAME,key=value,..."; values given here win over @cfg->option.
 * Errors: -ENOENT unknown policy (text lists the known ones), -EINVAL bad option (text names key
 * and value), -ENOMEM. Free with engine_free().
 */
int engine_create(
	struct engine **ret, const char *spec, const struct policy_cfg *cfg, struct errbuf *err);
/*
 * engine_create_with - the same around @ops, which no registry knows (a program of colocsim's
 * user); @cfg's options are all handed on. @ops outlives the engine.
 */
int engine_create_with(struct engine **ret, const struct policy_ops *ops,
	const struct policy_cfg *cfg, struct errbuf *err);
void engine_free(struct engine *e);
const struct policy_ops *engine_policy(const struct engine *e);

/*
 * engine_decide - observes the view's events and samples, decides, checks the plan.
 * @ret: from plan_init() with the same max_jobs; on an error it holds nothing of use.
 * A figure of one job that cannot be (signal_is_sane(), a speed, an account) is unknown for that
 * job, and a minimum above what its envelope has is one of all of it: its "why" says so.
 * Errors: -ENODATA a needed signal is missing (text names job and field), -ENOTSUP the policy
 * cannot place such jobs (text says why; another can), -EINVAL bad view, -EPROTO the policy's plan
 * broke an invariant (a bug: the driver keeps the old placement).
 */
int engine_decide(struct engine *e, const struct view *asked, struct plan *ret, struct errbuf *err);

/* Would engine_decide() ask the policy, or say -ENODATA without it? */
bool engine_has_signals(const struct engine *e, const struct view *v);

/*
 * gain.c: the estimators behind what is claimed: ratios of speeds with 95 % intervals. Pure.
 *
 * Ratios are averaged as logarithms: 2 and 1/2 cancel. No interval, no figure: below GAIN_MIN
 * observations everything is NAN.
 */

#define GAIN_MIN 3
/* A program that is so much faster or slower for a moment met something else than a placement, a
 * counter that jumped for one. (Seen: a spinning program at 1/41 of its speed for one neighbour
 * that wakes.) */
#define GAIN_RATIO_MAX 200.0

/* Running mean and spread (Welford). Zeroed: empty. */
struct gain_mean {
	int n;
	double mean, m2;
};
void gain_mean_add(struct gain_mean *m, double x);
/* Of the sample; NAN below two. */
double gain_mean_sd(const struct gain_mean *m);

struct gain_estimate {
	int n; /* observations behind it */
	double ratio, lo, hi;
};

/*
 * gain_abba - one paired window: speeds of the four stretches in the order A B B A. Logarithm of
 * A over B; a drift that is linear in time over the four (in the logarithm) falls out.
 * false: a speed is not above 0, or the ratio beyond GAIN_RATIO_MAX: nothing is to be learnt.
 */
bool gain_abba(const double speed[4], double *ret_log_ratio);

/* Mean of paired logarithms with Student's t interval. */
void gain_paired(const struct gain_mean *log_ratio, struct gain_estimate *ret);

/* Ratio of two independent groups of logarithms, @with over @without, with Welch's interval. */
void gain_unpaired(
	const struct gain_mean *with, const struct gain_mean *without, struct gain_estimate *ret);

/* Two-sided 95 % quantile of Student's t with @df degrees of freedom (real, >= 1). */
double gain_t95(double df);

/*
 * verdict.c: is one way of placing jobs better or worse than another, judged anew after every
 * paired window of speeds? Pure: the windows' moments in, a verdict out.
 *
 * A window is one number: the logarithm of the speed under the first way over that under the
 * second, measured at the same time on the same jobs (gain.c: A B B A). The daemon compares the
 * ruling policy with Slurm's own placement; any two ways would do.
 *
 * Looking after every window and stopping when one likes what one sees is what ordinary intervals
 * do not allow: looked at often enough, a 95 % interval misses the truth with certainty. So this
 * is a confidence sequence: with probability 1 - error *all* its intervals, over any number of
 * windows, hold the true mean. Hence, of sets of jobs that the first way does not slow down, at
 * most a share `error` is ever called worse.
 *
 * What that rests on: windows that are independent and scatter as a normal distribution with any
 * spread. tests/unit/test_verdict.c measures the rate for these and for windows with heavy tails,
 * and what is left of it where each window resembles the one before.
 *
 * Source: H. Wang, A. Ramdas, "Anytime-valid t-tests and confidence sequences for Gaussian means
 * with unknown variance", Sequential Analysis 44 (2025), arXiv:2310.03722: the t-test's likelihood
 * ratio, a normal distribution over the effect, and Ville's inequality; after T. L. Lai, "On
 * confidence sequences", Annals of Statistics 4 (1976).
 */

enum verdict {
	VERDICT_UNKNOWN, /* it may be either */
	VERDICT_BETTER,
	VERDICT_WORSE,
};
const char *verdict_name(enum verdict v); /* "unknown" "better" "worse" */

struct verdict_cfg {
	double error;    /* of all sets that are not worse, called worse: at most; (0, 1) */
	double margin;   /* a difference from which on it matters: 0.05 is 5 %; [0, 1) */
	int min_windows; /* below it everything is unknown; at least 2 */
};

struct judgement {
	enum verdict verdict; /* the interval does not hold 1 */
	bool matters;         /* and the estimate differs from 1 by the margin, too */
	int windows;
	double ratio;  /* estimate, speed under the first over the second; NAN without windows */
	double lo, hi; /* the sequence's interval now; 0 and infinity: nothing is bounded yet */
};

/*
 * verdict_judge - after @n windows with mean @mean and sum of squared deviations @m2 of their
 * logarithms (gain_mean's). Anything that is no number is unknown.
 */
void verdict_judge(
	const struct verdict_cfg *cfg, int n, double mean, double m2, struct judgement *ret);

/*
 * priority.c: which threads have high priority on the cores of a node, and which low: Callisto's
 * scheduler of threads, in whatever time its caller brings.
 *
 * A job has a slot for each CPU of its own. One of its threads is high there, its processes' main
 * threads first; all others are low and run where nobody high wants to. When the owner of a slot
 * has been blocked for as long as the hysteresis, a low thread is high in its place (its guest)
 * and the owner low; it is high again when it has been runnable for as long.
 *
 * Source: Callisto (EuroSys 2014) as LIRA, ROSS 2015, section 5.1, has it: "If a high priority
 * thread blocks for longer than a fixed number of processor cycles, it is stopped and a low
 * priority thread allowed to run. The high priority thread is only allowed to run again after it
 * has been runnable for sufficiently many processor cycles", "typically around 10ms". Ours: time
 * for cycles; what a look can see for what a runtime is told; guests first from the owner's own
 * job, so that helper threads that sleep do not cost it a core, then from the others in turn.
 * Pure: no clock, no system call; the caller looks at threads.
 */

/* Low threads that are asked for at one look at most: each costs the caller a reading. */
#define PRIORITY_ASKS 16

/* What holds, until the opposite has been seen for long enough. Zeroed: owner runs, no look yet. */
struct hysteresis {
	bool lent;       /* the owner has blocked: a guest has its slot */
	bool against;    /* the last look showed the opposite of that ... */
	int64_t from_ns; /* ... since */
	int64_t last_ns; /* the last look; 0 none */
};

/*
 * hysteresis_look - one look at the owner, at @now_ns. @wants: it runs, waits for a core, or ran
 * since the last look; so one that does not has been blocked for all that time, while one that does
 * counts as runnable from this look on. True: h->lent has changed.
 */
bool hysteresis_look(struct hysteresis *h, int64_t now_ns, bool wants, int64_t hysteresis_ns);

struct priority_thread {
	int64_t id;         /* unique; the caller's */
	int job;            /* 0.. */
	bool leader;        /* its process's main thread */
	struct coreset cpu; /* where it may run */
	bool high;          /* set by priority_assign() and priority_look() */
	int slot;           /* owner or guest of; -1 none */
};

struct priority_slot {
	int job, pu;      /* whose, and the CPU */
	int64_t owner_id; /* 0: fewer threads than CPUs */
	int owner, guest; /* into thread[]; -1 none */
	int64_t guest_id; /* 0 none */
	int last_job;     /* the last guest's */
	struct hysteresis h;
};

struct priority {
	struct priority_slot *slot;
	int n_slots;
	struct priority_thread *thread; /* by job, in order of arrival; a job's in order of birth */
	int n_threads, n_jobs;
	int next; /* thread to be asked next */
};

/*
 * priority_assign - after thread[] or slot[] were made anew: keeps owners and guests that are still
 * there (slots and threads are known by pu and id), gives every other slot an owner, and says who
 * is high. A slot whose job or owner has changed begins anew.
 */
void priority_assign(struct priority *p);

/*
 * priority_look - one look at all slots. @wants tells, of a thread by index, what hysteresis_look()
 * wants to know; it is asked of all owners and guests, and of at most PRIORITY_ASKS others.
 * Returns the number of threads whose priority has changed.
 */
int priority_look(struct priority *p, int64_t now_ns, int64_t hysteresis_ns,
	bool (*wants)(void *arg, int thread), void *arg);

/*
 * scalability.c: how a job's time depends on its cores: y(n) = alpha + beta/n + gamma*n with alpha
 * + beta + gamma = 1, y(n) = speed(1)/speed(n).
 *
 * Source: Sasaki, Tanimoto, Inoue, Nakamura, SBMP, PACT 2012, equation (2).
 */

#define SCALABILITY_POINTS 8
#define SCALABILITY_Y_MIN  1e-3 /* a fit may not promise more than a thousandfold */

struct scalability {
	double alpha, beta, gamma;
};

/*
 * scalability_fit - least squares over the points (speed at 1 core must be among them), all three
 * coefficients >= 0; where a free fit is negative the best on that edge is taken. With fewer than
 * three core counts gamma is 0. Returns false (nothing done) without a point at 1 core and one
 * more; a single point at 1 core gives no shape.
 */
bool scalability_fit(const struct speed_point *point, int n, struct scalability *ret);

/* Speed at @cores relative to one core: 1/y. */
double scalability_speed(const struct scalability *s, int cores);

#endif
