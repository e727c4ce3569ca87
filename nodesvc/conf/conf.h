/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conf.h - coloc.yaml as a checked struct, or a refusal with file:line.
 *
 * conf_keys.c has the table of keys, types, ranges and defaults; coloc.yaml(5) explains them.
 * Strings belong to the struct. Not thread-safe.
 */
#ifndef COLOC_CONF_CONF_H
#define COLOC_CONF_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "common/coreset.h"
#include "common/err.h"
#include "common/topo.h"
#include "nodesvc/counters/counters.h"

#define CONF_LIST_MAX 64
#define CONF_TEXT_MAX 256

struct conf_list {
	int n;
	char item[CONF_LIST_MAX][64];
};

struct conf_pair {
	char key[64], value[128];
	int line;
};

/* Launch variables of one family (launch_family.h). */
struct conf_family {
	struct conf_pair pair[16];
	int n;
};

enum conf_envelope { ENVELOPE_ALLOCATION, ENVELOPE_NODE };
enum conf_rebind { REBIND_MASKS, REBIND_CPUSET };
enum conf_multi_node { MULTI_NODE_ENVELOPE, MULTI_NODE_INDEPENDENT };
enum conf_conflict { CONFLICT_RULING, CONFLICT_REFUSE };
enum conf_detector { DETECTOR_WIDTH, DETECTOR_PAPER };
enum conf_memory { MEMORY_STAY, MEMORY_FOLLOW };
enum conf_idle { IDLE_POLL, IDLE_LEAVE };
enum conf_threads { THREADS_ENVELOPE, THREADS_PLACEMENT, THREADS_LEAVE };

struct conf {
	char policy[CONF_TEXT_MAX];
	struct conf_list allow_policies; /* empty: all */
	bool policy_lock;
	enum conf_conflict policy_conflict;
	struct conf_pair policy_option[CONF_LIST_MAX]; /* key "POLICY.option" */
	int n_policy_options;
	char fallback[64];
	enum conf_envelope envelope;
	enum conf_rebind rebind;
	enum topo_level domain;
	struct coreset reserve;
	struct coreset fast_cores; /* das-fa, das-fam-c; empty: unknown */
	bool share_smt;
	enum conf_multi_node multi_node;
	bool respect_user_binding;
	int interval_ms;           /* sampling */
	int tick_ms;               /* decisions */
	double profile_interval_s; /* of a run, measured and kept per program */
	struct {
		enum conf_detector detector;
		double epoch_s, first_epoch_s; /* paper */
		double ratio;                  /* 0: the detector's own */
	} phase;
	double baseline_fraction; /* of the time under Slurm's own placement; 0 never */
	double control_fraction;  /* of steps that start without a lever; 0 none */
	struct {
		bool enabled;
		double threshold;    /* loss of speed from which on it acts */
		double confidence;   /* engine/verdict.h: 1 - error */
		int min_windows;     /* before it says anything */
		double quarantine_h; /* of a policy for a set; and what is known is forgotten */
	} guard;
	double min_dwell_s;
	bool gang_polling; /* MPI ranks that poll take turns, whatever policy rules */
	bool gang_coupled; /* ... and steps whose threads wait for one another, on shared cores */
	int gang_slice_ms; /* of policies that give slices and were told nothing else */
	int freeze_max_ms; /* no step is frozen longer */
	int max_moves_per_min; /* per step; 0 no limit */
	enum conf_memory memory;
	int memory_mib_per_s;
	bool dry_run;
	struct {
		bool enabled, batch;
		enum conf_threads threads;
		enum conf_idle idle;   /* of CPUs, while steps spin for a moment only */
		char omp_library[128]; /* "auto": where it is installed; as a launch_var's value */
		struct conf_family openmp, openmpi, mpirun;
	} launch_env;
	struct {
		char source[64];        /* "auto", or a list to try: "perf,papi", "none" */
		char cachegrind_ll[32]; /* "auto" or "BYTES,WAYS,LINE" */
	} counters;
	struct counter_events events;
	struct conf_list allow_partitions, allow_users, allow_accounts; /* empty: all */
	int keep_days;                    /* of ended steps in the accounting; 0: all */
	int store_limit_mib;              /* of coloc.db; 0: no limit */
	char metrics_file[CONF_TEXT_MAX]; /* of node_exporter's textfile collector; "" none */
	int metrics_interval_s;
	bool slurm_accounting;     /* summaries into Slurm's AdminComment */
	char store[CONF_TEXT_MAX]; /* directory */
	char socket[CONF_TEXT_MAX];
	char log_level[16]; /* error, warning, info, debug */
};

void conf_defaults(struct conf *c);
/* Longer waits are no short spins, whatever the machine. */
#define CONF_SPIN_US_MAX 100000
/*
 * conf_spin_us - microseconds of @text, "13us", as GOMP_SPINCOUNT may have them; -1: it is no such
 * time (a count, say, or a word of libgomp's own), or not from 0 to CONF_SPIN_US_MAX.
 */
int conf_spin_us(const char *text);
/*
 * conf_load - reads and checks @path into @ret (defaults first). @check_owner: refuse a file that
 * is not root's or that others may write. Errors: -EINVAL "coloc.yaml:LINE: key 'x': ..."; @ret
 * untouched on error.
 */
int conf_load(struct conf *ret, const char *path, bool check_owner, struct errbuf *err);

#endif
