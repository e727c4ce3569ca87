/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/engine/engine.h"

#include <math.h>
#include <stddef.h>

void gain_mean_add(struct gain_mean *m, double x)
{
	double delta = x - m->mean;

	m->n++;
	m->mean += delta / m->n;
	m->m2 += delta * (x - m->mean);
}

double gain_mean_sd(const struct gain_mean *m)
{
	return m->n < 2 ? NAN : sqrt(m->m2 / (m->n - 1));
}

bool gain_abba(const double speed[4], double *ret_log_ratio)
{
	double r;

	for (int i = 0; i < 4; i++)
		if (!(speed[i] > 0) || !isfinite(speed[i]))
			return false;
	r = (log(speed[0]) + log(speed[3]) - log(speed[1]) - log(speed[2])) / 2;
	if (fabs(r) > log(GAIN_RATIO_MAX))
		return false;
	*ret_log_ratio = r;
	return true;
}

/* Tabulated to 10, where the expansion is off by more than 0.1 %. */
double gain_t95(double df)
{
	static const double table[] = {
		12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};
	const double z = 1.959964;
	double g1 = (z * z * z + z) / 4, g2 = (5 * pow(z, 5) + 16 * z * z * z + 3 * z) / 96;
	double g3 = (3 * pow(z, 7) + 19 * pow(z, 5) + 17 * z * z * z - 15 * z) / 384;
	size_t n = sizeof(table) / sizeof(table[0]);

	if (df < 1)
		return table[0];
	if (df < (double)n) {
		size_t i = (size_t)df;

		/* Linear in 1/df between the entries. */
		return table[i - 1] + (table[i] - table[i - 1]) * (1.0 / (double)i - 1 / df) /
					      (1.0 / (double)i - 1.0 / (double)(i + 1));
	}
	/* Cornish-Fisher expansion, Abramowitz & Stegun 26.7.5. */
	return z + g1 / df + g2 / (df * df) + g3 / (df * df * df);
}

static void none(struct gain_estimate *ret, int n)
{
	*ret = (struct gain_estimate){.n = n, .ratio = NAN, .lo = NAN, .hi = NAN};
}

static void estimate(struct gain_estimate *ret, int n, double mean, double half)
{
	*ret = (struct gain_estimate){
		.n = n, .ratio = exp(mean), .lo = exp(mean - half), .hi = exp(mean + half)};
}

void gain_paired(const struct gain_mean *log_ratio, struct gain_estimate *ret)
{
	int n = log_ratio->n;

	if (n < GAIN_MIN)
		none(ret, n);
	else
		estimate(ret, n, log_ratio->mean,
			gain_t95(n - 1) * gain_mean_sd(log_ratio) / sqrt((double)n));
}

void gain_unpaired(
	const struct gain_mean *with, const struct gain_mean *without, struct gain_estimate *ret)
{
	int n = with->n < without->n ? with->n : without->n;
	double a, b, df;

	if (n < GAIN_MIN) {
		none(ret, n);
		return;
	}
	a = with->m2 / (with->n - 1) / with->n;
	b = without->m2 / (without->n - 1) / without->n;
	/* Welch-Satterthwaite. */
	df = a + b > 0 ? (a + b) * (a + b) / (a * a / (with->n - 1) + b * b / (without->n - 1))
		       : n - 1;
	estimate(ret, n, with->mean - without->mean, gain_t95(df) * sqrt(a + b));
}
