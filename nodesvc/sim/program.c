/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program.c - the curves of a program: speed and utilisation over cores, misses over cache.
 */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "nodesvc/sim/program.h"

/* Threads that load a graph or read a file hardly run; LIRA, ROSS 2015, fig. 6 shows a CPU load
 * near 0 while pagerank loads. The value is ours. */
#define IO_UTILIZATION 0.03

void phase_init(struct phase *f)
{
	*f = (struct phase){
		.seconds = 1,
		.beta = 1,
		.cpi = 1,
		.loads = 0.25,
		.working_set_bytes = 1e6,
		.mlp = 1,
		.utilization_scale = 1,
	};
}

double phase_speedup(const struct phase *f, double n)
{
	if (f->io || n <= 0)
		return 0;
	/* Part of one core: the formula's pole at 0 has no meaning. */
	if (n < 1 && !f->bursty)
		return n;
	return 1 / (f->alpha + f->beta / n + f->gamma * n);
}

static double table_utilization(const struct program *p, double n)
{
	int last = p->n_points - 1;

	if (n >= p->point[last].cores)
		return p->point[last].utilization;
	for (int i = 0; i <= last; i++) {
		/* Below the first point towards 1 on one core: that one always runs. */
		double n0 = i > 0 ? p->point[i - 1].cores : 1;
		double u0 = i > 0 ? p->point[i - 1].utilization : 1;

		if (n <= p->point[i].cores)
			return p->point[i].cores <= n0
				       ? p->point[i].utilization
				       : u0 + (p->point[i].utilization - u0) * (n - n0) /
							 (p->point[i].cores - n0);
	}
	return 1;
}

double program_utilization(const struct program *p, int phase, double n)
{
	const struct phase *f = &p->phase[phase];
	double scale = f->utilization_scale > 0 ? f->utilization_scale : 1;

	if (f->io)
		return IO_UTILIZATION;
	if (f->bursty)
		return n > 0 ? 1 - f->alpha * phase_speedup(f, n) : 1;
	if (n <= 1 || f->waits >= WAITS_POLLING)
		return 1;
	if (p->n_points > 0)
		return fmin(1, scale * table_utilization(p, n));
	return 1 - f->wait * fmax(0, 1 - phase_speedup(f, n) / n);
}

/*
 * Busy time over width is not always monotone (x264 in SBMP's table 1 uses 17.8 cores' worth on
 * 30 cores and 16.0 on 48), so the curve is walked from below in steps of a quarter core.
 */
double program_width(const struct program *p, int phase, double busy, double most)
{
	double low = 0, high;

	if (busy >= most * program_utilization(p, phase, most))
		return most;
	/* NOLINTNEXTLINE(clang-analyzer-security.FloatLoopCounter): quarters are exact */
	for (high = fmin(0.25, most); high < most; high += 0.25) {
		if (high * program_utilization(p, phase, high) >= busy)
			break;
		low = high;
	}
	high = fmin(high, most);
	for (int i = 0; i < 30; i++) {
		double mid = 0.5 * (low + high);

		if (mid * program_utilization(p, phase, mid) >= busy)
			high = mid;
		else
			low = mid;
	}
	return high;
}

/*
 * Our model of a miss-ratio curve: smooth, falling, half way down at the working set. The square
 * makes the knee as sharp as in the published curves of SPEC CPU2000.
 */
double phase_miss_ratio(const struct phase *f, double cached_bytes, double working_set_bytes)
{
	double fill = working_set_bytes > 0 ? cached_bytes / working_set_bytes : 1e9;

	return f->miss_lo + (f->miss_hi - f->miss_lo) / (1 + fill * fill);
}

int program_waits(const char *name, enum waits *ret)
{
	static const char *const names[WAITS_COUNT] = {"asleep", "yielding", "polling", "spinning"};

	for (int i = 0; i < WAITS_COUNT; i++)
		if (strcmp(name, names[i]) == 0) {
			*ret = (enum waits)i;
			return 0;
		}
	return -EINVAL;
}

static int check_phase(const struct phase *f, int i, struct errbuf *err)
{
	const struct {
		const char *name;
		double value, low, high;
	} table[] = {
		{"seconds", f->seconds, 1e-3, 1e9},
		{"alpha", f->alpha, 0, 1},
		{"beta", f->beta, 0, 1},
		{"gamma", f->gamma, 0, 1},
		{"cpi", f->cpi, 0.05, 100},
		{"loads", f->loads, 0, 2},
		{"refs", f->refs, 0, 1},
		{"miss_lo", f->miss_lo, 0, 1},
		{"miss_hi", f->miss_hi, f->miss_lo, 1},
		{"working_set_bytes", f->working_set_bytes, 0, 1e15},
		{"mlp", f->mlp, 0.1, 1000},
		{"sync", f->sync, 0, 1},
		{"comm", f->comm, 0, 1},
		{"wait", f->wait, 0, 1},
		{"utilization_scale", f->utilization_scale, 0, 10},
		{"coupled", f->coupled, 0, 1},
	};

	for (size_t k = 0; k < sizeof(table) / sizeof(table[0]); k++)
		if (!(table[k].value >= table[k].low && table[k].value <= table[k].high))
			return err_set(err, -EINVAL, "phase %d: %s: %g is not within %g..%g", i,
				table[k].name, table[k].value, table[k].low, table[k].high);
	if (!f->io && fabs(f->alpha + f->beta + f->gamma - 1) > 1e-3)
		return err_set(err, -EINVAL, "phase %d: alpha + beta + gamma is %g, not 1", i,
			f->alpha + f->beta + f->gamma);
	if (f->bursty && (f->io || f->gamma > 0))
		return err_set(err, -EINVAL, "phase %d: bursty: not with io or gamma", i);
	return 0;
}

int program_check(const struct program *p, struct errbuf *err)
{
	int rc = 0;
	bool computes = false;

	if (p->n_phases < 1 || p->n_phases > PROGRAM_PHASES_MAX)
		return err_set(err, -EINVAL, "%d phases: 1 to %d expected", p->n_phases,
			PROGRAM_PHASES_MAX);
	for (int i = 0; i < p->n_phases && !rc; i++) {
		rc = check_phase(&p->phase[i], i, err);
		computes |= !p->phase[i].io;
	}
	if (!rc && !computes)
		rc = err_set(err, -EINVAL, "no phase computes");
	for (int i = 0; i < p->n_points && !rc; i++) {
		if (p->point[i].cores < 1 || (i > 0 && p->point[i].cores <= p->point[i - 1].cores))
			rc = err_set(err, -EINVAL, "utilization: cores do not ascend");
		else if (!(p->point[i].utilization > 0 && p->point[i].utilization <= 1))
			rc = err_set(err, -EINVAL, "utilization: %g is not within 0..1",
				p->point[i].utilization);
	}
	return rc;
}
