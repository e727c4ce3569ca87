/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger.h - what the kernel had before we changed it. Written, and committed, before the change;
 * a row goes only when the original is back or its owner is gone.
 *
 * SQLite (WAL, synchronous=NORMAL: kernel state does not survive a power cut either). Rows of
 * another boot (/proc/sys/kernel/random/boot_id) are dropped on open.
 */
#ifndef COLOC_RECORD_LEDGER_H
#define COLOC_RECORD_LEDGER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/coreset.h"
#include "common/err.h"

struct ledger;
struct checkpointer;

/* One cpuset directory. @path below the fsroot, @inode tells a later namesake apart. */
struct ledger_cpuset {
	char path[256];
	uint64_t inode;
	char cpus[CORESET_STR_MAX]; /* cpuset.cpus as it read */
};

/* One thread; @start_ticks (field 22 of /proc/TID/stat) tells a reused tid apart. */
struct ledger_thread {
	char path[256]; /* the cpuset it belongs to */
	pid_t tid;
	uint64_t start_ticks;
	struct coreset mask;
};

/* What a step was given by its threads' masks (actuate/steer.c). */
struct ledger_given {
	char path[256];
	struct coreset set;   /* where it is to be */
	struct coreset *mask; /* every mask that a thread of it may have from us; [n] */
	int n;
};

/*
 * What a row is about. Each kind has a way back of its own, all in one table
 * (nodesvc/levers/owed.c): a new one is refused here until it is named, and does not build there
 * until it has its own.
 */
enum ledger_kind {
	LEDGER_CPUSET,    /* CPUs of a directory, masks and pins of its threads */
	LEDGER_CPU_IDLE,  /* v2: cpu.idle of a job */
	LEDGER_SCHED,     /* v1: the class of a thread */
	LEDGER_AUTOGROUP, /* v1: the weight of a session */
	LEDGER_MEMS,      /* memory nodes of a step */
	LEDGER_FREEZER,   /* a step that takes turns */
	LEDGER_RESCTRL,   /* a group of ours */
	LEDGER_HALTPOLL,  /* how long idle CPUs poll */
	LEDGER_KINDS,
};
/* How ledger_setting.what begins; a last blank: a thread's or process's number and start follow. */
#define LEDGER_WHAT_CPU_IDLE  "cpu.idle"
#define LEDGER_WHAT_SCHED     "sched "
#define LEDGER_WHAT_AUTOGROUP "autogroup "
#define LEDGER_WHAT_MEMS      "cpuset.mems"
#define LEDGER_WHAT_FREEZER   "freezer"
#define LEDGER_WHAT_RESCTRL   "resctrl"
#define LEDGER_WHAT_HALTPOLL  "guest_halt_poll_ns"

/* One value beside cpusets and masks: @what of the directory @path. */
struct ledger_setting {
	char path[256];
	char what[48]; /* "freezer", "cpu.idle", "sched TID START" */
	uint64_t inode;
	char value[64]; /* as it was */
};

/* @path: the database, or ":memory:". @boot_id: of this boot. Errors as record_open(). */
int ledger_open(struct ledger **ret, const char *path, const char *boot_id, struct errbuf *err);
void ledger_close(struct ledger *l);

/*
 * ledger_add - one transaction, committed on return; rows that are already there stay as they
 * are (the first original is the true one). @cs may be NULL. A cpuset of the same path but
 * another inode is another directory: the old one's rows, threads included, make way.
 */
int ledger_add(struct ledger *l, const struct ledger_cpuset *cs, const struct ledger_thread *thread,
	int n_threads, struct errbuf *err);

/*
 * ledger_record - the same; also, and in the same transaction, the pins of @path are these from now
 * on (@n_pins may be 0), whatever they were. A pin is a mask that the program chose for a thread of
 * its own while we held its step: the kernel hides it behind some cpusets, so it cannot be read
 * again at any time.
 */
int ledger_record(struct ledger *l, const struct ledger_cpuset *cs,
	const struct ledger_thread *thread, int n_threads, const char *path,
	const struct ledger_thread *pin, int n_pins, struct errbuf *err);

/*
 * ledger_steer - one transaction: as ledger_add(); then, of @given's path, these pins beside those
 * that are there, a thread's new one in place of its old one (@fresh: in place of all), and what
 * it was given, instead of what it was before.
 */
int ledger_steer(struct ledger *l, const struct ledger_cpuset *cs,
	const struct ledger_thread *thread, int n_threads, const struct ledger_thread *pin,
	int n_pins, bool fresh, const struct ledger_given *given, struct errbuf *err);
/* -ENOENT: its masks are not ours. ret->mask is malloc'ed. */
int ledger_get_given(
	struct ledger *l, const char *path, struct ledger_given *ret, struct errbuf *err);

/* -ENOENT: nothing recorded for @path. */
int ledger_get_cpuset(
	struct ledger *l, const char *path, struct ledger_cpuset *ret, struct errbuf *err);
/* All threads of @path, malloc'ed; *ret_n may be 0. */
int ledger_get_threads(struct ledger *l, const char *path, struct ledger_thread **ret, int *ret_n,
	struct errbuf *err);
/* The same of its pins. */
int ledger_get_pins(struct ledger *l, const char *path, struct ledger_thread **ret, int *ret_n,
	struct errbuf *err);
/* Paths that have rows, malloc'ed array of malloc'ed strings. */
int ledger_paths(struct ledger *l, char ***ret, int *ret_n, struct errbuf *err);
/* The same of one kind, in ascending order. */
int ledger_owners(
	struct ledger *l, enum ledger_kind kind, char ***ret, int *ret_n, struct errbuf *err);
int ledger_forget(struct ledger *l, const char *path, struct errbuf *err);

/* ledger_setting_add - one transaction; as ledger_add() in all else. -EINVAL: of no kind. */
int ledger_setting_add(struct ledger *l, const struct ledger_setting *v, int n, struct errbuf *err);
/* All of @path (NULL: of every path) whose what begins with @what, malloc'ed. */
int ledger_settings(struct ledger *l, const char *path, const char *what,
	struct ledger_setting **ret, int *ret_n, struct errbuf *err);
int ledger_setting_forget(struct ledger *l, const char *path, const char *what, struct errbuf *err);

int ledger_count(struct ledger *l); /* rows of all kinds, <0 error */

/* Pages that wait in the log. Commits do not wait for the disk, but a checkpoint does: the owner
 * chooses when, and by whom (db.c). */
int ledger_wal_frames(const struct ledger *l);
void ledger_checkpoint(struct ledger *l, struct checkpointer *by);

#endif
