/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/bench/realmix/stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

#define RUNS_DRAWN_MAX 256

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double stats_mean(const double *v, int n)
{
	double sum = 0.0;

	for (int i = 0; i < n; i++)
		sum += v[i];
	return n > 0 ? sum / n : NAN;
}

double stats_median(const double *v, int n)
{
	double sorted[RUNS_DRAWN_MAX];

	n = n < RUNS_DRAWN_MAX ? n : RUNS_DRAWN_MAX;
	if (n <= 0)
		return NAN;
	memcpy(sorted, v, sizeof(*v) * (size_t)n);
	qsort(sorted, (size_t)n, sizeof(*sorted), compare);
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static uint64_t random_next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* As many runs as there are, drawn with replacement; returns how many. */
static int draw(double *ret, const struct times *t, uint64_t *x)
{
	int n = t->n < RUNS_DRAWN_MAX ? t->n : RUNS_DRAWN_MAX;

	for (int i = 0; i < n; i++)
		ret[i] = t->s[random_next(x) % (uint64_t)t->n];
	return n;
}

int stats_score(struct score *ret, const struct times *solo, const struct times *corun,
	int n_programs, int resamples, uint64_t seed)
{
	cleanup_free double *stp = malloc(sizeof(*stp) * (size_t)(resamples > 0 ? resamples : 1));
	uint64_t x = seed ? seed : 1;
	struct score s = {0};

	if (!stp)
		return -ENOMEM;
	for (int p = 0; p < n_programs; p++) {
		double ntt;

		if (!solo[p].n || !corun[p].n)
			return -EINVAL;
		ntt = stats_mean(corun[p].s, corun[p].n) / stats_median(solo[p].s, solo[p].n);
		s.stp += 1.0 / ntt;
		s.antt += ntt / n_programs;
		s.worst_ntt = fmax(s.worst_ntt, ntt);
	}
	s.stp_lo = s.stp_hi = s.stp;
	for (int r = 0; r < resamples; r++) {
		double a[RUNS_DRAWN_MAX], b[RUNS_DRAWN_MAX];

		stp[r] = 0.0;
		for (int p = 0; p < n_programs; p++) {
			int na = draw(a, &solo[p], &x), nb = draw(b, &corun[p], &x);

			stp[r] += stats_median(a, na) / stats_mean(b, nb);
		}
	}
	if (resamples > 0) {
		qsort(stp, (size_t)resamples, sizeof(*stp), compare);
		s.stp_lo = stp[(int)(0.025 * (resamples - 1))];
		s.stp_hi = stp[(int)ceil(0.975 * (resamples - 1))];
	}
	*ret = s;
	return 0;
}
