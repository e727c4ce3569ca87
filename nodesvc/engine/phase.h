/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * phase.h - has a job entered another phase? Judged by its CPU utilisation.
 *
 * paper: mean over an epoch against the epoch before; more than twice or less than half of it is
 * a change (SBMP, PACT 2012, section 3.3 and Table 3). A change inside the long first epoch is
 * averaged into the reference and missed.
 * width: against the mean of the first two samples at the present number of cores (utilisation
 * depends on it: SBMP Table 1); 1.6 times, twice running, to the same side. Ours. A sample that
 * deviates, or is as far from the one before as if half of it were of another phase, is suspect:
 * whoever samples takes the next one after half an interval, and has the second of the two within
 * two intervals of any change, wherever it fell. On a crowded node a sample says less: others that
 * held its threads up may be all that kept it from running. Then it is a range, and a change is
 * what no value of the range explains.
 *
 * One struct per job; time is the view's.
 */
#ifndef COLOC_ENGINE_PHASE_H
#define COLOC_ENGINE_PHASE_H

#include <stdbool.h>

enum phase_mode { PHASE_PAPER, PHASE_WIDTH };

struct phase_cfg {
	enum phase_mode mode;
	double epoch_s;       /* 2.5 (Table 3) */
	double first_epoch_s; /* 10, after any re-scheduling */
	double ratio;         /* paper 2; width 1.6 */
};
extern const struct phase_cfg phase_paper, phase_width;

struct phase {
	bool started;
	int cores;      /* the reference holds at this width */
	double start_s; /* of the epoch */
	double length_s;
	double sum; /* of the samples of the epoch, or of the reference being made */
	int n;
	bool has_reference;
	double reference;
	double reference_high; /* >= reference: it may have been as high as this */
	double sum_high;       /* of the reference being made */
	int deviating;         /* samples in a row, all to the same side */
	bool up;               /* to which */
	double level;          /* utilisation of the deviating samples, last one */
	double last;           /* of the sample before; 0 none */
	bool suspect; /* the last sample may have had a change in it, or be the first after one */
};

/* Re-scheduled, or newly placed, at @now_s on @cores: references start anew. */
void phase_restart(struct phase *p, const struct phase_cfg *cfg, double now_s, int cores);

/* One new sample of utilisation (0..1) that ended at @now_s. True: the phase changed. */
bool phase_sample(struct phase *p, const struct phase_cfg *cfg, double now_s, double utilization);

/*
 * The same for one that lies between @low and @high >= @low (paper: @low). To learn @high may cost
 * something: it is worth it only where phase_asks_high() says so.
 */
bool phase_sample_range(
	struct phase *p, const struct phase_cfg *cfg, double now_s, double low, double high);
/* No sample could be taken: what deviated before it has nothing that confirms it. */
void phase_no_sample(struct phase *p);
bool phase_asks_high(const struct phase *p, const struct phase_cfg *cfg, double low);

#endif
