/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/small_node.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

void small_node_open(struct small_node *x, const char *source, const char *spec, int n_jobs)
{
	struct policy_cfg cfg = {.max_jobs = SMALL_NODE_JOBS};
	int rc;

	memset(x, 0, sizeof(*x));
	ck_assert_int_eq(topo_load(&x->t, source, NULL), 0);
	cfg.topo = x->t;
	rc = engine_create(&x->e, spec, &cfg, &x->err);
	ck_assert_msg(rc == 0, "%s", x->err.text);
	ck_assert_int_eq(plan_init(&x->plan, SMALL_NODE_JOBS, NULL), 0);
	x->v.job = x->job;
	x->v.n_jobs = n_jobs;
	for (int i = 0; i < SMALL_NODE_JOBS; i++) {
		snprintf(x->id[i], sizeof(x->id[i]), "j%d", i);
		x->job[i] = (struct view_job){
			.id = x->id[i], .order = i, .nodes = 1, .home_numa = -1, .core = -1};
	}
}

void small_node_close(struct small_node *x)
{
	plan_done(&x->plan);
	engine_free(x->e);
	topo_free(x->t);
}

int small_node_try(struct small_node *x)
{
	int rc;

	x->err.text[0] = '\0';
	rc = engine_decide(x->e, &x->v, &x->plan, &x->err);
	for (int i = 0; rc == 0 && i < x->v.n_jobs; i++)
		x->job[i].current = x->plan.job[i].coreset;
	return rc;
}

void small_node_decide(struct small_node *x)
{
	int rc = small_node_try(x);

	ck_assert_msg(rc == 0, "%s", x->err.text);
}

int small_node_domain_of(const struct small_node *x, int job)
{
	for (int d = 0; d < x->t->n_domains; d++)
		if (coreset_is_subset(&x->plan.job[job].coreset, &x->t->domain[d].pus))
			return d;
	return -1;
}
