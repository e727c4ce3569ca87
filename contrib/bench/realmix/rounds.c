/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/bench/realmix/rounds.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "contrib/bench/realmix/summary.h"

struct walk {
	struct setting *s;
	const struct rounds *r;
	double start_s;
	struct mix mix;
	double solo_sum_s;
	const struct arm *arm[ARMS_MAX], *sustained[ARMS_MAX];
	int n_arms, n_sustained, failed;
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int check_time(const struct walk *w, struct errbuf *err)
{
	if (w->r->until > 0 && now_s() - w->start_s > w->r->until)
		return err_set(err, -ETIME, "time is up; --resume goes on");
	return 0;
}

/* "best" and "peer" by the first run; the arm itself otherwise. */
static const struct arm *resolve(
	const struct rounds *r, const char *mix, const char *name, struct errbuf *err)
{
	static struct summary s;
	bool best = strcmp(name, "best") == 0;
	const struct arm *arm = arms_find(name);
	const struct cell *c;

	if (!best && strcmp(name, "peer") != 0) {
		if (!arm)
			err_set(err, -EINVAL, "arm '%s' is not known", name);
		return arm;
	}
	if (!r->first_dir) {
		err_set(err, -EINVAL, "arm '%s' needs --choose-from", name);
		return NULL;
	}
	if (summary_read(&s, r->first_dir, mixes_find(mix), err))
		return NULL;
	c = summary_best(&s, best ? ARM_POLICY : ARM_PEER);
	if (!c) {
		err_set(err, -ENOENT, "%s: no undisturbed %s of mix %s to choose", r->first_dir,
			best ? "policy" : "peer", mix);
		return NULL;
	}
	fprintf(stderr, "realmix: %s: %s is %s (%.2f s in %s)\n", mix, name, c->arm->name,
		c->makespan.mean, r->first_dir);
	return c->arm;
}

/* The arms of a list, each once, in its order; -1 error. */
static int resolve_all(const struct rounds *r, const char *mix, const char *list,
	const struct arm **ret, struct errbuf *err)
{
	char copy[512], *save = NULL;
	int n = 0;

	snprintf(copy, sizeof(copy), "%s", list ? list : "");
	for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
		const struct arm *arm = resolve(r, mix, w, err);
		int i = 0;

		if (!arm)
			return -1;
		while (i < n && ret[i] != arm)
			i++;
		if (i == n && n < ARMS_MAX)
			ret[n++] = arm;
	}
	return n;
}

/* The same program earlier in the mix: it has been measured just now. */
static bool solo_done(const struct walk *w, int p)
{
	for (int i = 0; i < p; i++)
		if (strcmp(w->mix.program[i].name, w->mix.program[p].name) == 0)
			return true;
	return false;
}

static int solos(struct walk *w, struct errbuf *err)
{
	static struct solo solo;
	int rc;

	w->solo_sum_s = 0;
	for (int p = 0; p < w->mix.n; p++) {
		const struct program *prog = &w->mix.program[p];
		struct measured m;

		rc = state_read_solo(&solo, w->r->dir, prog->name, err);
		if (rc == -ENOENT || (!rc && solo.disturbed && !solo_done(w, p))) {
			w->s->label = prog->name;
			rc = check_time(w, err);
			if (!rc)
				rc = measure_solo(w->s, prog, arms_get(0), &m, err);
			if (rc)
				return rc;
			memset(&solo, 0, sizeof(solo));
			snprintf(solo.program, sizeof(solo.program), "%s", prog->name);
			solo.n = m.times[0].n;
			memcpy(solo.run_s, m.times[0].s, sizeof(double) * (size_t)solo.n);
			solo.disturbed = m.disturbed;
			solo.foreign_ratio = m.foreign_ratio;
			measured_free(&m);
			rc = state_write_solo(&solo, w->r->dir, err);
			fprintf(stderr, "realmix: %s alone: %.3f s%s\n", prog->name,
				stats_median(solo.run_s, solo.n),
				solo.disturbed ? " (disturbed)" : "");
		}
		if (rc)
			return rc;
		w->solo_sum_s += stats_median(solo.run_s, solo.n);
	}
	return 0;
}

static void fill_row(struct row *row, const struct walk *w, const struct arm *arm, int round,
	const struct measured *m)
{
	memset(row, 0, sizeof(*row));
	snprintf(row->mix, sizeof(row->mix), "%s", w->mix.name);
	snprintf(row->arm, sizeof(row->arm), "%s", arm->name);
	row->round = round;
	row->cut = m->cut;
	row->disturbed = m->disturbed;
	row->makespan_s = round == ROUND_SUSTAINED ? 0 : m->makespan_s;
	row->foreign_ratio = m->foreign_ratio;
	row->service_s = m->service_s;
	memcpy(row->policy, m->policy, sizeof(row->policy));
	memcpy(row->reason, m->reason, sizeof(row->reason));
	row->n = w->mix.n;
	for (int p = 0; p < w->mix.n; p++) {
		snprintf(row->program[p], sizeof(row->program[p]), "%s", w->mix.program[p].name);
		row->time_s[p] = stats_mean(m->times[p].s, m->times[p].n);
		row->runs[p] = m->times[p].n;
		for (int k = 0; k < row->runs[p] && k < RUNS_KEPT; k++)
			row->run_s[p][k] = m->times[p].s[k];
	}
}

static int measure_one(struct walk *w, const struct arm *arm, int round, struct errbuf *err)
{
	struct setting setting = *w->s;
	struct measured m = {0};
	struct row row;
	int rc = check_time(w, err);

	if (rc)
		return rc;
	setting.label = w->mix.name;
	setting.cut_s = round == ROUND_SUSTAINED ? 0 : w->r->cut * w->solo_sum_s;
	rc = round == ROUND_SUSTAINED ? measure_sustained(&setting, &w->mix, arm, &m, err)
				      : measure_batch(&setting, &w->mix, arm, &m, err);
	if (rc)
		return rc;
	fill_row(&row, w, arm, round, &m);
	measured_free(&m);
	if (round == ROUND_SUSTAINED)
		fprintf(stderr, "realmix: %s, %s: restarted%s\n", w->mix.name, arm->name,
			row.disturbed ? " (disturbed)" : "");
	else
		fprintf(stderr, "realmix: %s, %s, round %d: %s%.2f s%s%s%s\n", w->mix.name,
			arm->name, round, row.cut ? ">= " : "", row.makespan_s,
			row.policy[0] ? ", policy " : "", row.policy,
			row.disturbed ? " (disturbed)" : "");
	return state_write_row(&row, w->r->dir, err);
}

/* Was it so bad in an earlier round that once is enough? */
static int known_bad(
	const struct walk *w, const struct arm *arm, int round, bool *ret, struct errbuf *err)
{
	struct row row;

	*ret = false;
	for (int k = 1; k < round && !*ret; k++) {
		int rc = state_read_row(&row, w->r->dir, w->mix.name, arm->name, k, err);

		if (rc && rc != -ENOENT)
			return rc;
		*ret = !rc && row.cut;
	}
	return 0;
}

/* One arm that does not run keeps the others from nothing; a damaged file stops all. */
static bool arm_failed(struct walk *w, const struct arm *arm, int rc, const struct errbuf *err)
{
	if (!rc || rc == -EINTR || rc == -ETIME || rc == -EINVAL)
		return false;
	fprintf(stderr, "realmix: %s, %s: left out: %s\n", w->mix.name, arm->name, err->text);
	w->failed++;
	return true;
}

static int run_round(struct walk *w, int round, struct errbuf *err)
{
	for (int i = 0; i < w->n_arms; i++) {
		/* Each round begins with another arm: none is always the first after a pause. */
		const struct arm *arm = w->arm[(i + round - 1) % w->n_arms];
		struct row row;
		bool bad;
		int rc = state_read_row(&row, w->r->dir, w->mix.name, arm->name, round, err);

		if (rc == -ENOENT || (!rc && row.disturbed)) {
			rc = known_bad(w, arm, round, &bad, err);
			if (!rc && !bad)
				rc = measure_one(w, arm, round, err);
			if (arm_failed(w, arm, rc, err))
				rc = 0;
		}
		if (rc)
			return rc;
	}
	return 0;
}

static int run_mix(struct walk *w, const struct mix *base, struct errbuf *err)
{
	struct row row;
	int rc = mix_prepare(base, &w->r->paths, &w->mix, err);

	if (rc)
		return rc;
	w->n_arms = resolve_all(w->r, base->name, w->r->arms, w->arm, err);
	w->n_sustained = resolve_all(w->r, base->name, w->r->sustained, w->sustained, err);
	if (w->n_arms < 0 || w->n_sustained < 0)
		return -EINVAL;
	rc = solos(w, err);
	for (int k = 1; k <= w->r->rounds && !rc; k++)
		rc = run_round(w, k, err);
	for (int i = 0; i < w->n_sustained && !rc; i++) {
		rc = state_read_row(
			&row, w->r->dir, base->name, w->sustained[i]->name, ROUND_SUSTAINED, err);
		if (rc == -ENOENT)
			rc = measure_one(w, w->sustained[i], ROUND_SUSTAINED, err);
		if (arm_failed(w, w->sustained[i], rc, err))
			rc = 0;
	}
	return rc;
}

int rounds_run(struct setting *s, const struct rounds *r, struct errbuf *err)
{
	struct walk w = {.s = s, .r = r, .start_s = now_s()};
	char copy[256], *save = NULL;
	int rc = 0;

	snprintf(copy, sizeof(copy), "%s", r->mixes);
	for (char *m = strtok_r(copy, ",", &save); m && !rc; m = strtok_r(NULL, ",", &save))
		rc = run_mix(&w, mixes_find(m), err);
	if (!rc && w.failed)
		rc = err_set(err, -EIO, "%d measurements failed", w.failed);
	return rc;
}
