/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * figures.h - what a step's company cost it and what placement gained it, as the accounting keeps
 * it: a row of STEP_FIGURES for each column. The column of coloc.db, the member of a JSON row and
 * the column of CSV come of it; its name and help in colocacct are a row of report/acct_field.c.
 *
 * NAN, -1 and NULL are unknown: without a speed signal nobody can say, and cpu time is no speed.
 */
#ifndef COLOC_RECORD_FIGURES_H
#define COLOC_RECORD_FIGURES_H

#include <math.h>
#include <stdint.h>

/*
 * X(kind, member, "key", since): @key in JSON and CSV, where new ones come last; the column of the
 * table is called as the member is, and is there from schema version @since on. A new version needs
 * no more than a row that has it.
 *
 * ntt: slow-down against running alone (science.md 1.1): on the cores of its share, and on its
 * whole envelope; >= 1 under interference. stp, antt: of its co-run, where all are known.
 * gain_placement: speed under the policy over speed under Slurm's own placement (paired windows),
 * with the 95 % interval; > 1 is a gain. gain_launch: over launches without the lever. Never mixed.
 * solo_speed: on its whole envelope, alone; shared_speed: of its whole life, in company; speed_unit
 * per second. speed_basis, of solo_speed: "alone", "profile", "progress". gain_basis: signal behind
 * the gains, "app", "hw".
 * phases: changes of phase; windows: behind gain_placement.
 * launch: "lever", "control" (started without, to compare); NULL neither. launches: behind
 * gain_launch, of the kind of which there were fewer.
 * gap: for how long nobody measured: colocd was away. Of the first time from, of the last to; the
 * figures are of the rest. gap_ns 0: measured throughout.
 * guard: of its set under its policy: "better", "worse", "quarantined" (it was left to Slurm's
 * placement for that); NULL: windows did not tell.
 * waits: why its threads did not run, in shares of its time, the largest first: "neighbour 43%, own
 * threads 5%" (engine/waits.h); "none": they ran throughout.
 */
#define STEP_FIGURES(X)                                                                            \
	X(REAL, ntt_share, "ntt_share", 2)                                                         \
	X(REAL, ntt_full, "ntt_full", 2)                                                           \
	X(REAL, stp_share, "stp_share", 2)                                                         \
	X(REAL, stp_full, "stp_full", 2)                                                           \
	X(REAL, antt_share, "antt_share", 2)                                                       \
	X(REAL, antt_full, "antt_full", 2)                                                         \
	X(REAL, gain_placement, "gain_placement", 2)                                               \
	X(REAL, gain_placement_lo, "gain_placement_lo", 2)                                         \
	X(REAL, gain_placement_hi, "gain_placement_hi", 2)                                         \
	X(REAL, gain_launch, "gain_launch", 2)                                                     \
	X(REAL, gain_launch_lo, "gain_launch_lo", 2)                                               \
	X(REAL, gain_launch_hi, "gain_launch_hi", 2)                                               \
	X(REAL, solo_speed, "solo_speed", 2)                                                       \
	X(REAL, shared_speed, "shared_speed", 2)                                                   \
	X(TEXT, gain_basis, "gain_basis", 2)                                                       \
	X(TEXT, speed_unit, "speed_unit", 2)                                                       \
	X(TEXT, speed_basis, "speed_basis", 2)                                                     \
	X(COUNT, phases, "phases", 2)                                                              \
	X(COUNT, moves, "moves", 2)                                                                \
	X(COUNT, windows, "windows", 2)                                                            \
	X(TEXT, launch, "launch", 4)                                                               \
	X(COUNT, launches, "launches", 5)                                                          \
	X(SPAN, gap_ns, "unmeasured_s", 5)                                                         \
	X(TIME, gap_from_ns, "unmeasured_from_unix_s", 5)                                          \
	X(TIME, gap_to_ns, "unmeasured_to_unix_s", 5)                                              \
	X(TEXT, guard, "guard", 6)                                                                 \
	X(TEXT, waits, "waits", 8)

/* How a kind is kept: ratios and speeds; text; a number of things; nanoseconds, told as seconds;
 * and Unix nanoseconds, told as Unix seconds, 0 never. */
#define FIGURE_REAL  double
#define FIGURE_TEXT  const char *
#define FIGURE_COUNT int
#define FIGURE_SPAN  int64_t
#define FIGURE_TIME  int64_t

struct step_figures {
#define FIGURE(kind, member, key, since) FIGURE_##kind member;
	STEP_FIGURES(FIGURE)
#undef FIGURE
};

#define FIGURE_NO_REAL                        NAN
#define FIGURE_NO_TEXT                        NULL
#define FIGURE_NO_COUNT                       (-1)
#define FIGURE_NO_SPAN                        (-1)
#define FIGURE_NO_TIME                        0
#define FIGURE_NONE(kind, member, key, since) .member = FIGURE_NO_##kind,
#define STEP_FIGURES_NONE                                                                          \
	{                                                                                          \
		STEP_FIGURES(FIGURE_NONE)                                                          \
	}

#endif
