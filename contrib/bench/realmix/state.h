/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * state.h - a folder of results, one JSON file each, written as soon as it is there, so that a run
 * that was stopped goes on where it was:
 *
 *   solo.PROGRAM.json         runs of a program alone
 *   MIX.ARM.ROUND.json        all programs of a mix at once
 *   MIX.ARM.sustained.json    all programs, restarted until each has run often enough
 *
 * A file appears whole or not at all. One that is there and cannot be understood is an error
 * that names it: it is never measured again in silence.
 */
#ifndef COLOC_REALMIX_STATE_H
#define COLOC_REALMIX_STATE_H

#include "contrib/bench/realmix/measure.h"

#define ROUND_SUSTAINED 0
#define ROUNDS_MAX      32
#define PATH_LEN        512
#define RUNS_KEPT       64

struct row {
	char mix[32], arm[32];
	int round; /* from 1; ROUND_SUSTAINED */
	bool cut, disturbed;
	double makespan_s; /* cut: at least; sustained: 0 */
	double foreign_ratio;
	double service_s;             /* of colocd's processor time; NAN not known */
	char policy[32], reason[160]; /* as colocctl said; "" not asked or not known */
	int n;
	char program[PROGRAMS_MAX][32];
	/* Seconds from submission to end; NAN did not end. Sustained: the runs' mean. */
	double time_s[PROGRAMS_MAX];
	int runs[PROGRAMS_MAX];
	double run_s[PROGRAMS_MAX][RUNS_KEPT]; /* each of them, of as many as there is room for */
};

struct solo {
	char program[32];
	double run_s[RUNS_MAX];
	int n;
	double foreign_ratio;
	bool disturbed;
};

/* 0 read, -ENOENT not there, -EINVAL damaged: file and key named. */
int state_read_row(struct row *ret, const char *dir, const char *mix, const char *arm, int round,
	struct errbuf *err);
int state_read_solo(struct solo *ret, const char *dir, const char *program, struct errbuf *err);
int state_write_row(const struct row *row, const char *dir, struct errbuf *err);
int state_write_solo(const struct solo *solo, const char *dir, struct errbuf *err);
/* Are there results in @dir? -errno it cannot be read (-ENOENT: not there). */
int state_is_used(const char *dir, struct errbuf *err);

#endif
