/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls_internal.h - what calls' files share: calls_places.c keeps the files and the functions in
 * them that the worker knows; calls_figures.c makes figures of what it counted; calls.c opens and
 * closes.
 */
#ifndef COLOC_COUNTERS_CALLS_INTERNAL_H
#define COLOC_COUNTERS_CALLS_INTERNAL_H

#include <sys/types.h>

#include "nodesvc/counters/callpick.h"
#include "nodesvc/counters/calls.h"

#define FILES_MAX 256

struct file {
	int fd, refs; /* fd -1: free */
	dev_t dev;
	ino_t ino;
};

enum place_state { PLACE_FREE, PLACE_ASKED, PLACE_MADE, PLACE_FAILED };

/* One that the worker knows by its index. */
struct place {
	enum place_state state;
	int file, open; /* sets that count it */
	uint64_t offset;
	int64_t used_ns;
};

struct calls {
	calls_send_f send;
	void *arg;
	double budget, cost_ns;
	char why_not[160]; /* "" it works */
	uint32_t last_set;
	int64_t tidied_ns;
	struct file file[FILES_MAX];
	struct place place[CALLS_PROBES_ALL];
	struct calls_step *first;
};

struct site {
	int file;
	uint64_t offset;
	int candidate;
};

struct calls_step {
	struct calls *c;
	void *arg;
	uint32_t uid;
	struct calls_step *next, *before;
	uint32_t set;
	struct site *site;
	char (*name)[CALLNAME_MAX]; /* of the candidates */
	int n_sites;
	char why[160];
	char unit[CALLS_UNIT_MAX];

	char prefer[CALLNAME_MAX]; /* "" none */
	double prefer_per_s;       /* in earlier runs, alone; 0 not known */
	double prefer_spread;      /* of its windows then; NAN not known */
	struct callpick pick;
	struct callpick_plan plan;
	bool planned;            /* it is not carried out yet */
	int chosen;              /* candidate whose calls total has; -1 none yet */
	int64_t next_ns, due_ns; /* not before; a look */
	bool waits;              /* for a place that the worker makes */

	/* what is open */
	bool open, window; /* a set; that ends by itself */
	bool attended;     /* open while it is attended only */
	bool begun;        /* before its tasks began */
	bool others;       /* its threads are others than were opened */
	bool closing;      /* told to end, the answer is to come */
	int n_open;
	int open_place[CALLS_PROBES], open_candidate[CALLS_PROBES];
	int64_t open_ns, open_own_ns, until_ns, read_ns;
	/* of its last figures, of this set, and of any */
	int64_t told_ns, read_own_ns, added_own_ns;
	int64_t cpu_ns;      /* its processor time then; -1 unknown */
	uint64_t counted;    /* of it so far */
	int64_t work_cpu_ns; /* its processor time at the newest figure; -1 unknown */

	/* what is known */
	bool has_work, exact, has_news;
	struct call_answer news;
	double total, rate;
	int64_t t_ns, own_ns; /* of the newest figure */
	uint64_t figures;
};

/* ---- calls_places.c ---- */

/* Holds the file, with a descriptor of its own: its index; -1: there is no room. */
int calls_keep_file(struct calls *c, const struct symbol_file *f);
/* Places of it stay for a while, and with them the file: the next run wants them again. */
void calls_release_file(struct calls *c, int file);
/* Its index; -1: there is none free. The worker has it when it says so. */
int calls_get_place(struct calls_step *s, int file, uint64_t offset, int64_t now_ns);

/* What is open is no more, or is another's. */
void calls_forget_open(struct calls_step *s);

/* ---- calls_figures.c ---- */

/* By what callpick judges it. */
struct callpick_cfg calls_cfg(const struct calls_step *s);
/* Its work is the calls of candidate @k, from now on. */
void calls_count_of(struct calls_step *s, int k);
/* What callpick has chosen, if that is another. */
void calls_take_chosen(struct calls_step *s);
/* s->news, which the worker has sent. */
void calls_take_news(struct calls_step *s, const struct calls_look *l);

#endif
