/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/engine/engine.h"

#include <math.h>

/*
 * Variance of the effect, in units of the windows' spread, that the mixture expects: any value is
 * valid; this one tells effects of about three spreads soonest: a tenth, where windows scatter by
 * 3 %.
 */
#define EFFECT_VARIANCE 9.0
/* Nothing that is measured repeats more exactly: windows that agree to the last digit come of
 * programs that count coarsely, not of certainty. */
#define SPREAD_MIN 1e-3

const char *verdict_name(enum verdict v)
{
	static const char *const names[] = {"unknown", "better", "worse"};

	return names[v];
}

/*
 * Half the interval's width. The likelihood ratio of the t-statistic against mean 0, the effect
 * drawn from N(0, g), is (1 + ng)^(-1/2) ((1 + x) / (1 + x / (1 + ng)))^(n/2), x = t^2 / (n - 1);
 * a mean is in the interval while the ratio against it is below 1/error.
 */
static double half_width(double error, int n, double spread)
{
	double inflated = 1 + n * EFFECT_VARIANCE;
	double a = pow(inflated, 1.0 / n) * pow(1 / error, 2.0 / n);
	double x = (a - 1) / (1 - a / inflated);

	return a < inflated ? spread * sqrt(x * (n - 1) / n) : INFINITY;
}

void verdict_judge(
	const struct verdict_cfg *cfg, int n, double mean, double m2, struct judgement *ret)
{
	double half;

	*ret = (struct judgement){.verdict = VERDICT_UNKNOWN,
		.windows = n > 0 ? n : 0,
		.ratio = n > 0 && isfinite(mean) ? exp(mean) : NAN,
		.lo = 0,
		.hi = INFINITY};
	if (n < 2 || !isfinite(mean) || !isfinite(m2) || m2 < 0 ||
		!(cfg->error > 0 && cfg->error < 1))
		return;
	half = half_width(cfg->error, n, fmax(sqrt(m2 / (n - 1)), SPREAD_MIN));
	ret->lo = exp(mean - half);
	ret->hi = exp(mean + half);
	if (n < cfg->min_windows)
		return;
	if (ret->hi < 1) {
		ret->verdict = VERDICT_WORSE;
		ret->matters = ret->ratio <= 1 - cfg->margin;
	} else if (ret->lo > 1) {
		ret->verdict = VERDICT_BETTER;
		ret->matters = ret->ratio >= 1 + cfg->margin;
	}
}
