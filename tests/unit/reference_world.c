/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/reference_world.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static uint64_t state;

int world_rnd(int n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (int)((state >> 11) % (uint64_t)n);
}

static void seed(void)
{
	state = 88172645463325252u;
}

void world_open(struct world *w, const char *source, const char *spec, int n)
{
	struct policy_cfg cfg = {.max_jobs = WORLD_JOBS};
	struct errbuf err = {""};
	int rc;

	memset(w, 0, sizeof(*w));
	ck_assert_int_eq(topo_load(&w->t, source, NULL), 0);
	cfg.topo = w->t;
	rc = engine_create(&w->e, spec, &cfg, &err);
	ck_assert_msg(rc == 0, "%s: %s", spec, err.text);
	ck_assert_int_eq(plan_init(&w->plan, WORLD_JOBS, NULL), 0);
	w->n = n;
	w->s = w->t->n_domains;
	w->v = (struct view){.job = w->job, .n_jobs = n, .seed = state};
	for (int i = 0; i < n; i++) {
		snprintf(w->id[i], sizeof(w->id[i]), "j%d", i);
		w->job[i] = (struct view_job){
			.id = w->id[i],
			.order = i,
			.nodes = 1,
			.home_numa = -1,
			.rss_bytes = -1,
			.core = -1,
			.type = "t",
			.threads = 1,
		};
	}
}

void world_close(struct world *w)
{
	plan_done(&w->plan);
	engine_free(w->e);
	topo_free(w->t);
}

void world_tell(struct world *w, int i, enum signal_id id, double x)
{
	w->job[i].signal[id] = (struct signal){x, PROVENANCE_HW};
}

void world_decide(struct world *w)
{
	struct errbuf err = {""};
	int rc;

	for (int i = 0; i < w->n; i++)
		w->job[i].sample_no++;
	rc = engine_decide(w->e, &w->v, &w->plan, &err);
	ck_assert_msg(rc == 0, "%s: %s", engine_policy(w->e)->name, err.text);
}

void world_carry_out(struct world *w)
{
	for (int i = 0; i < w->n; i++)
		w->job[i].current = w->plan.job[i].coreset;
}

int world_domain_of(const struct world *w, int i)
{
	int d = 0;

	while (!coreset_intersects(&w->plan.job[i].coreset, &w->t->domain[d].pus))
		d++;
	ck_assert(coreset_is_subset(&w->plan.job[i].coreset, &w->t->domain[d].pus));
	return d;
}

bool world_next_assignment(int *a, int n, int base)
{
	int k = 0;

	while (k < n && ++a[k] == base)
		a[k++] = 0;
	return k < n;
}

/* Relative time on n cores. */
double world_curve(const double *c, int n)
{
	return fmax(1e-3, c[0] + c[1] / n + c[2] * n);
}

void world_add_case(Suite *s, const char *name, const TTest *test, int loops)
{
	TCase *tc = tcase_create(name);

	tcase_add_checked_fixture(tc, seed, NULL);
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, test, 0, loops);
	suite_add_tcase(s, tc);
}
