/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * model_fit.c - from counts and times to the phase of a model.
 */
#include <errno.h>
#include <math.h>

#include "nodesvc/engine/engine.h"
#include "nodesvc/sim/model.h"

struct curve {
	double lo, hi, square; /* square: sum of squared residuals */
};

/* Least squares in lo and hi for a given working set; b is 1 without a cache and 0 with all of it.
 */
static struct curve fit_ends(const struct model *m, double working_set)
{
	int n = m->counts.n;
	double ss = 0, sb = 0, sbb = 0, sm = 0, sbm = 0, det;
	struct curve best = {.square = INFINITY};

	for (int i = 0; i < n; i++) {
		double x = m->counts.point[i].llc_bytes / working_set, b = 1 / (1 + x * x);
		double ratio = m->counts.refs > 0 ? m->counts.point[i].misses / m->counts.refs : 0;

		ss += (1 - b) * (1 - b);
		sb += (1 - b) * b;
		sbb += b * b;
		sm += (1 - b) * ratio;
		sbm += b * ratio;
	}
	det = ss * sbb - sb * sb;
	/* Inside, and the edges of 0 <= lo <= hi <= 1: the best one that is allowed. */
	for (int edge = 0; edge < 6; edge++) {
		struct curve c = {0};

		switch (edge) {
		case 0:
			if (fabs(det) < 1e-12)
				continue;
			c.lo = (sm * sbb - sbm * sb) / det;
			c.hi = (sbm * ss - sm * sb) / det;
			break;
		case 1: /* lo = 0 */
			c.hi = sbb > 0 ? sbm / sbb : 0;
			break;
		case 2: /* hi = 1 */
			c.hi = 1;
			c.lo = ss > 0 ? (sm - sb) / ss : 1;
			break;
		case 3: /* lo = hi */
			c.lo = c.hi = (sm + sbm) / n;
			break;
		case 4:
			c.hi = 1;
			break;
		case 5:
			break;
		}
		if (!(c.lo >= 0 && c.lo <= c.hi && c.hi <= 1))
			continue;
		for (int i = 0; i < n; i++) {
			double x = m->counts.point[i].llc_bytes / working_set;
			double ratio =
				m->counts.refs > 0 ? m->counts.point[i].misses / m->counts.refs : 0;
			double left = ratio - c.lo - (c.hi - c.lo) / (1 + x * x);

			c.square += left * left;
		}
		if (c.square < best.square)
			best = c;
	}
	return best;
}

int model_fit_misses(struct model *m, struct errbuf *err)
{
	struct model_phase *p = &m->phase;
	struct curve best = {.square = INFINITY};
	double at = 0;

	if (m->counts.n == 0 || !(m->counts.instructions > 0))
		return err_set(err, -ENODATA, "%s: nothing counted", m->name);
	/* NOLINTNEXTLINE(clang-analyzer-security.FloatLoopCounter): a scan */
	for (double ws = 64e3; ws <= 1e9; ws *= 1.02) {
		struct curve c = fit_ends(m, ws);

		/* Beyond the counted sizes a curve is anybody's guess: no larger than it must be.
		 */
		if (sqrt(c.square / m->counts.n) + 1e-4 < sqrt(best.square / m->counts.n)) {
			best = c;
			at = ws;
		}
	}
	p->loads = (struct model_value){m->counts.loads / m->counts.instructions, MODEL_CACHEGRIND};
	p->refs = (struct model_value){m->counts.refs / m->counts.instructions, MODEL_CACHEGRIND};
	p->miss_lo = (struct model_value){best.lo, MODEL_CACHEGRIND};
	p->miss_hi = (struct model_value){best.hi, MODEL_CACHEGRIND};
	p->working_set_bytes = (struct model_value){at, MODEL_CACHEGRIND};
	m->miss_residual = sqrt(best.square / m->counts.n);
	return 0;
}

static bool is_disturbed(const struct model *m)
{
	for (int i = 0; i < m->native.n; i++)
		if (m->native.point[i].disturbed)
			return true;
	return false;
}

static int fit_curve(struct model *m, struct errbuf *err)
{
	struct model_phase *p = &m->phase;
	struct speed_point speed[MODEL_POINTS_MAX] = {{0}};
	const struct model_run *one = &m->native.point[0], *widest;
	struct scalability s;
	double lost, square = 0;
	int n = m->native.n;

	for (int i = 0; i < n; i++) {
		const struct model_run *run = &m->native.point[i];

		speed[i].cores = run->threads;
		speed[i].speed = (m->per_thread ? run->threads : 1) * one->seconds / run->seconds;
	}
	if (!scalability_fit(speed, n, &s))
		return err_set(err, -ENODATA, "%s: the native runs have no shape", m->name);
	for (int i = 0; i < n; i++) {
		double left = scalability_speed(&s, speed[i].cores) / speed[i].speed - 1;

		square += left * left / n;
	}
	m->speed_residual = sqrt(square);
	p->alpha = (struct model_value){s.alpha, MODEL_EXTRAPOLATED};
	p->gamma = (struct model_value){s.gamma, n > 2 ? MODEL_EXTRAPOLATED : MODEL_ASSUMED};
	widest = &m->native.point[n - 1];
	lost = 1 - speed[n - 1].speed / widest->threads;
	/* Where hardly anything is lost, nothing tells how it is: what was assumed stays. */
	if (lost > 0.02)
		p->wait = (struct model_value){
			fmin(1, fmax(0, (1 - widest->utilization) / lost)), MODEL_EXTRAPOLATED};
	return 0;
}

int model_fit_speed(struct model *m, struct errbuf *err)
{
	const struct model_run *one = &m->native.point[0];
	int rc = 0;

	if (m->native.n == 0 || one->threads != 1 || !(one->seconds > 0))
		return err_set(err, -ENODATA, "%s: no native run of one thread", m->name);
	if (m->native.n > 1 && !is_disturbed(m))
		rc = fit_curve(m, err);
	if (!rc && m->counts.instructions > 0)
		m->phase.cpi = (struct model_value){
			fmin(100, fmax(0.05, one->cpu_s * m->native.clock_hz /
						     (m->counts.instructions * m->count_scale))),
			MODEL_MEASURED};
	return rc;
}
