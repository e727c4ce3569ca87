/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steer.h - what the files of steer_*.c share; only they and their tests include it.
 */
#ifndef COLOC_ACTUATE_STEER_H
#define COLOC_ACTUATE_STEER_H

#include "nodesvc/actuate/internal.h"

/* A mask that a thread has without us, and by whom. */
struct own {
	struct coreset mask;
	int part;     /* of struct steer: what Slurm bound its task to */
	bool program; /* its program's choice, not Slurm's */
};

/* Whether a process runs, or only waits for others that do: steer_rules.c. */
struct rest {
	int64_t at_ns, cpu_ns; /* ran and in line in all, when it was looked at; 0: not yet */
	uint64_t reaped;       /* proc_stat's child_faults, when it worked last */
	int64_t busy_ns;       /* has worked for so long, and no child of it has ended */
	bool settled;          /* starts nobody, and has run: no more looks at this */
	bool begins;           /* binds OpenMP threads, and may not have begun to */
	bool rests;
};

/* A thread whose masks are noted: who leads a process, and who differs from his leader. */
struct steered {
	struct own own;
	struct coreset asked; /* what we set last; empty: nothing */
	struct coreset given; /* what the kernel made of it, or showed at the last look */
	/* The same before its last change: who follows him may still have that. */
	struct own past_own;
	struct coreset past;
	int64_t given_ns;     /* of that change, ipc_now_ns() */
	uint64_t start_ticks; /* 0 not read */
	bool saved;           /* own is in the ledger, or told by who is there */
	struct rest rest;     /* of who leads a process */
};

/* A mask that a thread has set itself since we gave it another: maybe for a moment. */
struct stray {
	struct coreset mask;
	int64_t since_ns; /* first seen off what was given */
	int64_t ran_ns;   /* of its processor time, when it was first seen with @mask */
};

struct member {
	pid_t tid, tgid;     /* tgid 0: not known yet */
	bool foreign;        /* slurmstepd's own */
	bool seen;           /* at an earlier look; what it has since, it has not inherited */
	struct steered *row; /* NULL: as its leader */
	struct stray *stray; /* NULL: it has what it was given, or what it chose is known */
};

/* A mask that we gave, and what who has it would have: for those who inherit it. */
struct handed {
	struct coreset mask;
	struct own own;
	bool several; /* others with another own have the same */
	bool guessed; /* who had it one before us knew: ask its leader, its parent */
	int unused;   /* quiet passes in which nobody had it */
};

/* What Slurm bound tasks to; part 0 is all of the step's. */
struct part {
	struct coreset cpus;
	struct coreset pins; /* what programs bound threads of it to, together */
};

struct steer {
	const struct hierarchy *h;
	struct step_cgroup step;
	char dir[FILE_MAX];        /* where its threads are */
	struct coreset set;        /* where it is to be */
	struct coreset slurm;      /* what Slurm gave it */
	struct coreset wall, past; /* in force at the last look, and before that */
	struct ledger_cpuset cs;
	bool is_recorded; /* cs is in the ledger */
	bool first;       /* its threads are as Slurm and its program left them */
	bool moving;      /* some may have what was given before this set */
	bool with_stepd;  /* slurmstepd's masks are noted: the cpuset is not what it was */
	bool wall_moved;  /* the kernel may have wiped masks */
	bool unsaved;     /* set and handed are not in the ledger as they are here */
	struct member *member;
	int n, cap;
	pid_t *procs; /* processes, of the last reading that found somebody new */
	int n_procs;
	bool newcomers;
	bool leaving;    /* being put back, maybe aside (common/aside.h) */
	bool abandoned;  /* ... by somebody else: whoever had begun it frees this */
	bool quiet;      /* the last pass found nothing to do */
	int64_t next_ns; /* a step that takes long to list is looked at less often */
	int64_t listed_ns;
	pid_t newest; /* actuate.newest before its threads were listed */
	int at;       /* the look goes on here */
	int changed;  /* in this pass: masks set, and newcomers */
	int refused;  /* the last error of setting a mask in this pass, 0 none */
	struct part *part;
	int n_parts;
	struct handed *handed;
	int n_handed;
	int n_pins_saved; /* rows of pins in the ledger, the dead's included */
	/* Of one before us, until all have been looked at. */
	struct rows recorded, recorded_pins;
};

/* ---- steer_members.c: who is there ---------------------------------------------------------- */

/* Lists who is there, by number; who was known stays known. -ENOENT: the step has ended. */
int steer_list(struct actuate *a, struct steer *st);
/* Whose thread it is: 0, or -ESRCH gone. */
int steer_learn(struct actuate *a, struct steer *st, struct member *t);
struct member *steer_find(struct steer *st, pid_t tid);
/* Who leads @t's process, if its masks are noted; NULL: @t itself does, or he has gone. */
struct member *steer_leader(struct steer *st, const struct member *t);
/* NULL: out of memory. */
struct steered *steer_add_row(struct member *t);
void steer_members_done(struct steer *st);

/* ---- steer_rules.c: what a thread is to have ------------------------------------------------- */

/* The number of the part that is @cpus of what Slurm gave the step; 0 too for all, and on -ENOMEM.
 */
int steer_part(struct steer *st, const struct coreset *cpus);
/* Sums up the programs' pins. */
void steer_sum_pins(struct steer *st);
/* The mask that who has @own is to have where the step is; @rests: who does not run. */
void steer_want(const struct steer *st, const struct own *own, bool rests, struct coreset *ret);
/* Is @mask what Slurm gave the step, or bound a task to? Then @ret says so. */
bool steer_is_slurms(const struct steer *st, const struct coreset *mask, struct own *ret);
const struct handed *steer_find_handed(const struct steer *st, const struct coreset *mask);
bool steer_is_same(const struct own *a, const struct own *b);
/* Notes that @mask is given to who has @own. -ENOMEM. */
int steer_hand(struct steer *st, const struct coreset *mask, const struct own *own);

/*
 * A process has used @cpu_ns in its life. True: whether it rests depends on what it executes; where
 * that starts nobody it runs, for good (@p->settled), else steer_rest_works() and _tell() follow,
 * whose @cpu_ns, of an interpreter, has the time in line for a CPU, too: others leave it little of
 * one.
 */
bool steer_rest_asks(struct rest *p, int64_t now_ns, int64_t cpu_ns);
/* Has it worked since the last look? Then _tell() wants @reaped. */
bool steer_rest_works(const struct rest *p, int64_t now_ns, int64_t cpu_ns);
void steer_rest_tell(struct rest *p, int64_t now_ns, int64_t cpu_ns, uint64_t reaped);

/*
 * A thread shows @mask, which we did not give it last: does it put back what it read before we
 * moved it? Who binds himself for a moment does (hwloc, for each rank of Open MPI), some time after
 * he was moved. A single CPU that comes late may as well be a choice.
 */
bool steer_puts_back(const struct steered *row, const struct coreset *mask, int64_t now_ns);
/*
 * A thread shows @mask, which we did not give it, and has run for @ran_ns (-1: not known). @p has
 * since_ns 0 at the first such look. True: it has made a choice; else it may be on its way.
 */
bool steer_stray_chose(struct stray *p, const struct coreset *mask, int64_t now_ns, int64_t ran_ns);

/* ---- steer_whose.c: whose a mask is --------------------------------------------------------- */

/* Notes @t's own mask, and what it has of us. @saved: it is in the ledger, or need not be. -ENOMEM.
 */
int steer_give_row(
	struct member *t, const struct own *own, const struct coreset *given, bool saved);
/* Reads @t's mask and tells whose it is, and whether it runs. @depth: 0. -ESRCH: it has ended.
 * slurmstepd's: 0, and nothing is told. */
int steer_look_at(
	struct actuate *a, struct steer *st, struct member *t, struct coreset *ret_now, int depth);

/* ---- steer_rest.c: who runs ----------------------------------------------------------------- */

/* Does the process that @t leads run? What cannot be read is taken for running, as anybody who is
 * placed. */
void steer_watch_rest(struct actuate *a, const struct steer *st, const struct member *t);
/* Does it rest? Threads go by the process that they are of. */
bool steer_rests(struct steer *st, const struct member *t);

/* ---- steer_pass.c: a pass over all members --------------------------------------------------- */

/* Members that are looked at, written down and set together. */
#define STEER_CHUNK 128

struct todo {
	struct member *t;
	struct coreset now, want;
	bool set;
};

/* What is in force of its cpuset. */
int steer_read_wall(struct actuate *a, struct steer *st, struct errbuf *err);
/* steer_list(), and when that was. */
int steer_list_now(struct actuate *a, struct steer *st, struct errbuf *err);
/* The members from st->at on, as many as go together; *@ret_n of them live and are not
 * slurmstepd's. */
int steer_look_on(struct actuate *a, struct steer *st, struct todo todo[STEER_CHUNK], int *ret_n,
	struct errbuf *err);
/* The mask that @t has without us, or its leader; NULL: not noted. */
struct own *steer_own(struct steer *st, struct member *t);
/* Sets what is to be done. What is refused is in st->refused; -ENOMEM. */
int steer_set(struct steer *st, const struct todo *todo);
/* Goes round until all is quiet, @rounds passes or @until_ns (ipc_now_ns()): 1 quiet. @set: puts
 * them where they are to be; else only tells whose their masks are. */
int steer_settle(struct actuate *a, struct steer *st, bool set, int rounds, int64_t until_ns,
	struct errbuf *err);

#endif
