/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls.h - how much a step works, by the calls of its runtime's functions: an unmodified program
 * that repeats its parallel regions or MPI operations does as many of them as it does work. Which
 * function stands for its work is found out by counting (callpick.h); the kernel counts in a
 * process of its own (callworker.h).
 *
 * A call that is counted costs its program up to some microseconds (a trap). So it is counted all
 * the time only where that is within the budget, a share of the step's processor time; else in
 * windows, and the work between two of them is taken to have gone as in the second, by processor
 * time. What is told is for ratios, of one step at two times, or of one program in two runs.
 *
 * Steps are known by handles. Nothing here waits, looks at processes or knows what a step is: who
 * uses it says when, and which threads there are. Loop thread only.
 */
#ifndef COLOC_COUNTERS_CALLS_H
#define COLOC_COUNTERS_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "nodesvc/counters/callworker.h"
#include "nodesvc/counters/symbols.h"

struct calls;
struct calls_step;

/* Its unit is this and the function's name. */
#define CALLS_UNIT     "calls of "
#define CALLS_UNIT_MAX 48

/* As callworker_send(), to whom @arg is the worker. */
typedef int (*calls_send_f)(void *arg, const struct call_request *r, int fd);

/* @budget: share of a step's processor time that counting it may cost. NULL: out of memory. */
struct calls *calls_new(calls_send_f send, void *arg, double budget);
/* NULL is fine. Its steps are gone before. */
void calls_free(struct calls *c);
void calls_set_budget(struct calls *c, double budget);
/* Gives back what nobody has counted for a while. */
void calls_tidy(struct calls *c, int64_t now_ns);
/* What the worker said. The step that wants a look at once, since it has news: NULL none. */
struct calls_step *calls_take(struct calls *c, const struct call_answer *a);
/* The worker has gone: nothing is counted until calls_take() has a CALL_READY. */
void calls_lost(struct calls *c, const char *why);
/* Why nothing is counted on this node; NULL: it works. */
const char *calls_why_not(const struct calls *c);
/* Processor time of one counted call, ns; 0 unknown. */
double calls_cost_ns(const struct calls *c);

/* A step of @uid's comes, to its user @arg; NULL: out of memory. */
struct calls_step *calls_step_new(struct calls *c, uint32_t uid, void *arg);
void *calls_step_arg(const struct calls_step *s);
/* NULL is fine. What is counted of it is counted no more. */
void calls_step_free(struct calls_step *s);
/* Before calls_step_know(): the function that marked its program's work in earlier runs; callpick.h
 * has the rest. */
void calls_step_prefer(struct calls_step *s, const char *name, double per_s, double spread);
/* Where its functions are; more than once, the last one holds. Takes the files it wants from @sym,
 * which stays the caller's. */
void calls_step_know(struct calls_step *s, const struct symbols *sym,
	const struct callnames_own *own, int64_t now_ns);
/* Nothing is known of where they are: why. */
void calls_step_know_nothing(struct calls_step *s, const char *why);

/* How a step is at a moment. */
struct calls_look {
	int64_t now_ns, own_ns; /* CLOCK_MONOTONIC; the same without the time it was frozen */
	/* That clock of its own at @t_ns, at most some seconds before @now_ns; @turn is for it. */
	int64_t (*own_at)(const void *turn, int64_t t_ns);
	const void *turn;
	double running;   /* cores it runs on; NAN unknown */
	int64_t cpu_ns;   /* its processor time so far; -1 unknown */
	const pid_t *tid; /* its threads */
	int n_tids;
	bool threads_changed; /* since the look before */
	bool frozen;          /* now: nothing is opened */
	bool attend; /* its speed of just now is wanted: counted all the time for a while */
};
/*
 * calls_step_begin - its tasks (@l->tid) have not begun: that function, if it can be counted now,
 * is counted from their first call on, in all that they will start. False: it is not, as where it
 * was called so often in earlier runs that it would be counted in windows soon.
 */
bool calls_step_begin(struct calls_step *s, const struct calls_look *l);
/* It was begun, and had called nothing when it was read last: it reads its input, or executes
 * another file than was told. */
bool calls_step_is_silent(const struct calls_step *s);
/* One of the files of @sym is one in which it is counted now. */
bool calls_step_counts_in(const struct calls_step *s, const struct symbols *sym);
/* Goes on with it: when calls_take() says so, when @attend has changed, and when it is due. */
void calls_step_look(struct calls_step *s, const struct calls_look *l);
/* When it wants to be looked at next, CLOCK_MONOTONIC. */
int64_t calls_step_due_ns(const struct calls_step *s);
/* It stands still from now on, or goes on: what was counted until now is no rate. */
void calls_step_pause(struct calls_step *s);

struct calls_work {
	double total;     /* calls so far, since it is known; never falls */
	int64_t t_ns;     /* of the newest figure, CLOCK_MONOTONIC */
	uint64_t figures; /* so many so far */
	bool exact;       /* all calls of its run were counted, none estimated */
};
/* False: nothing is known of its work. */
bool calls_step_work(const struct calls_step *s, struct calls_work *ret);
/* Units/s of the newest figure; NAN none. */
double calls_step_rate(const struct calls_step *s);
/* The function that marks its work, of this run. */
struct calls_choice {
	const char *name; /* the step's */
	double spread;    /* how much its windows differ; NAN not known yet */
	double per_s;     /* calls, mean of the newest windows */
};
/* False: none is chosen. */
bool calls_step_choice(const struct calls_step *s, struct calls_choice *ret);
/* It has functions that are being tried, or counted. */
bool calls_step_is_trying(const struct calls_step *s);
/* "calls of GOMP_parallel"; "" not chosen. */
const char *calls_step_unit(const struct calls_step *s);
/* Why its speed is not known by calls, or how it is counted. */
const char *calls_step_why(const struct calls_step *s);
/* What @a, its newest answer, has of each function, for a log: "MPI_Send 91 MPI_Recv 90"; cut to
 * @size. */
const char *calls_step_counted(
	const struct calls_step *s, const struct call_answer *a, char *ret, size_t size);
/* When the worker last said what it has of it, CLOCK_MONOTONIC; 0 never. */
int64_t calls_step_told_ns(const struct calls_step *s);
/* Asks for a figure of now; true: one will come soon (calls_take()). */
bool calls_step_ask(struct calls_step *s);

#endif
