/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/bench/realmix/summary.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "contrib/bench/realmix/mixes.h"

#define RESAMPLES 2000
#define SEED      1

/* Student's t, 97.5 %, by degrees of freedom. */
static double t_quantile(int df)
{
	static const double t[] = {NAN, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
		2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120};
	const int n = (int)(sizeof(t) / sizeof(t[0]));

	return t[df < n ? df : n - 1];
}

struct estimate estimate_of(const double *v, int n)
{
	struct estimate e = {NAN, NAN, NAN, n};
	double mean = 0, square = 0, half;

	if (n < 1)
		return e;
	for (int i = 0; i < n; i++)
		mean += log(v[i]) / n;
	e.mean = exp(mean);
	if (n < 2)
		return e;
	for (int i = 0; i < n; i++)
		square += (log(v[i]) - mean) * (log(v[i]) - mean);
	half = t_quantile(n - 1) * sqrt(square / (n - 1) / n);
	e.lo = exp(mean - half);
	e.hi = exp(mean + half);
	return e;
}

static int read_solos(struct summary *s, const char *dir, struct errbuf *err)
{
	s->solo_sum_s = 0;
	for (int p = 0; p < s->mix->n; p++) {
		struct solo *solo = &s->solo[p];
		int rc = state_read_solo(solo, dir, s->mix->program[p].name, err);

		if (rc && rc != -ENOENT)
			return rc;
		s->solo_s[p] = rc || solo->disturbed ? NAN : stats_median(solo->run_s, solo->n);
		s->solo_sum_s += s->solo_s[p];
	}
	return 0;
}

static bool row_ended(const struct row *row)
{
	for (int p = 0; p < row->n; p++)
		if (isnan(row->time_s[p]))
			return false;
	return true;
}

static void slowdowns(
	const struct summary *s, const struct row *row, double *ret_mean, double *ret_worst)
{
	*ret_mean = 0;
	*ret_worst = 0;
	for (int p = 0; p < row->n; p++) {
		double ntt = row->time_s[p] / s->solo_s[p];

		*ret_mean += ntt / row->n;
		*ret_worst = fmax(*ret_worst, ntt);
	}
}

static int read_sustained(struct summary *s, struct cell *c, const char *dir, struct errbuf *err)
{
	struct times solo[PROGRAMS_MAX], corun[PROGRAMS_MAX];
	struct score score;
	struct row row;
	int rc = state_read_row(&row, dir, s->mix->name, c->arm->name, ROUND_SUSTAINED, err);

	c->stp = (struct estimate){NAN, NAN, NAN, 0};
	c->sustained_antt = c->sustained_worst = NAN;
	if (rc == -ENOENT || (!rc && (row.disturbed || row.n != s->mix->n || !row_ended(&row) ||
					     isnan(s->solo_sum_s))))
		return 0;
	for (int p = 0; !rc && p < row.n; p++) {
		solo[p] = (struct times){s->solo[p].run_s, s->solo[p].n};
		corun[p] = (struct times){
			row.run_s[p], row.runs[p] < RUNS_KEPT ? row.runs[p] : RUNS_KEPT};
	}
	if (!rc)
		rc = stats_score(&score, solo, corun, row.n, RESAMPLES, SEED);
	if (rc)
		return rc;
	c->stp = (struct estimate){score.stp, score.stp_lo, score.stp_hi, row.runs[0]};
	c->sustained_antt = score.antt;
	c->sustained_worst = score.worst_ntt;
	return 0;
}

static int read_cell(struct summary *s, struct cell *c, const char *dir, struct errbuf *err)
{
	double makespan[ROUNDS_MAX], work[ROUNDS_MAX], antt[ROUNDS_MAX], worst[ROUNDS_MAX];
	double time[PROGRAMS_MAX][ROUNDS_MAX], service = 0;
	int n = 0, ended = 0, served = 0;

	c->makespan_s[0] = NAN;
	for (int k = 1; k <= ROUNDS_MAX; k++) {
		struct row row;
		int rc = state_read_row(&row, dir, s->mix->name, c->arm->name, k, err);

		c->makespan_s[k] = NAN;
		if (rc == -ENOENT)
			continue;
		if (rc)
			return rc;
		if (row.n != s->mix->n)
			return err_set(err, -EINVAL,
				"%s/%s.%s.%d.json: damaged: not the mix's %d "
				"programs",
				dir, s->mix->name, c->arm->name, k, s->mix->n);
		if (row.policy[0])
			memcpy(c->policy, row.policy, sizeof(c->policy));
		if (row.reason[0])
			memcpy(c->reason, row.reason, sizeof(c->reason));
		if (row.disturbed) {
			c->n_disturbed++;
			continue;
		}
		c->cut |= row.cut;
		c->makespan_s[k] = makespan[n] = row.makespan_s;
		work[n++] = s->solo_sum_s / row.makespan_s;
		if (!isnan(row.service_s)) {
			service += row.service_s;
			served++;
		}
		if (!row.cut && row_ended(&row)) {
			slowdowns(s, &row, &antt[ended], &worst[ended]);
			for (int p = 0; p < row.n; p++)
				time[p][ended] = row.time_s[p];
			ended++;
		}
	}
	c->rounds = n;
	c->makespan = estimate_of(makespan, n);
	c->work = estimate_of(work, n);
	c->antt = estimate_of(antt, ended);
	c->worst_ntt = estimate_of(worst, ended);
	for (int p = 0; p < s->mix->n; p++)
		c->time[p] = estimate_of(time[p], ended);
	c->service_s = served ? service / served : NAN;
	return read_sustained(s, c, dir, err);
}

int summary_read(struct summary *ret, const char *dir, const struct mix *mix, struct errbuf *err)
{
	int rc;

	memset(ret, 0, sizeof(*ret));
	ret->mix = mix;
	rc = read_solos(ret, dir, err);
	for (size_t a = 0; !rc && arms_get(a) && ret->n < ARMS_MAX; a++) {
		struct cell *c = &ret->cell[ret->n];

		memset(c, 0, sizeof(*c));
		c->arm = arms_get(a);
		rc = read_cell(ret, c, dir, err);
		ret->n += c->rounds || c->n_disturbed;
	}
	return rc;
}

const struct cell *summary_find(const struct summary *s, const char *arm)
{
	for (int i = 0; i < s->n; i++)
		if (strcmp(s->cell[i].arm->name, arm) == 0)
			return s->cell[i].rounds ? &s->cell[i] : NULL;
	return NULL;
}

const struct cell *summary_best(const struct summary *s, enum arm_kind kind)
{
	const struct cell *best = NULL;

	for (int i = 0; i < s->n; i++) {
		const struct cell *c = &s->cell[i];

		if (c->arm->kind == kind && c->rounds && !c->cut &&
			(!best || c->makespan.mean < best->makespan.mean))
			best = c;
	}
	return best;
}

struct estimate summary_ratio(const struct cell *a, const struct cell *b, int *ret_bound)
{
	double ratio[ROUNDS_MAX];
	int n = 0;

	*ret_bound = a->cut && !b->cut ? -1 : b->cut ? 1 : 0;
	for (int k = 1; k <= ROUNDS_MAX; k++)
		if (!isnan(a->makespan_s[k]) && !isnan(b->makespan_s[k]))
			ratio[n++] = b->makespan_s[k] / a->makespan_s[k];
	if (!n && a->rounds && b->rounds)
		return (struct estimate){b->makespan.mean / a->makespan.mean, NAN, NAN, 0};
	return estimate_of(ratio, n);
}
