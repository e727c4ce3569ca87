/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/sim/plan_json.h"

#include <math.h>
#include <stdio.h>

/* Doubles with 15 significant digits: every figure of a person reads back as written. */
static json_object *number(double x)
{
	char text[40];

	if (!isfinite(x))
		return NULL; /* null */
	snprintf(text, sizeof(text), "%.15g", x);
	return json_object_new_double_s(x, text);
}

static json_object *cpulist(const struct coreset *s)
{
	char text[CORESET_STR_MAX];

	return json_object_new_string(coreset_format(s, text, sizeof(text)));
}

static json_object *domains_of(const struct plan_job *j, const struct topo *t)
{
	json_object *a = json_object_new_array();

	for (int d = 0; d < t->n_domains; d++)
		if (coreset_intersects(&j->coreset, &t->domain[d].pus))
			json_object_array_add(a, json_object_new_int(d));
	return a;
}

static json_object *job_to_json(
	const struct plan *p, const struct plan_job *j, const struct topo *t)
{
	json_object *o = json_object_new_object(), *donors = json_object_new_array();
	json_object *lent = json_object_new_array(), *place = NULL;

	for (int l = 0; l < j->n_lent; l++) {
		json_object *e = json_object_new_object();

		json_object_array_add(donors, json_object_new_string(p->job[j->lent[l].donor].id));
		json_object_object_add(e, "coreset", cpulist(&j->lent[l].coreset));
		json_object_object_add(e, "weight", json_object_new_int(j->lent[l].weight));
		json_object_array_add(lent, e);
	}
	if (j->place_core >= 0) {
		place = json_object_new_object();
		json_object_object_add(place, "core", json_object_new_int(j->place_core));
		json_object_object_add(place, "width", json_object_new_int(j->place_width));
	}
	json_object_object_add(o, "id", json_object_new_string(j->id));
	json_object_object_add(o, "domains", domains_of(j, t));
	json_object_object_add(o, "coreset", cpulist(&j->coreset));
	json_object_object_add(o, "cores", json_object_new_int(j->cores));
	json_object_object_add(o, "role", json_object_new_string(plan_role_name(j->role)));
	json_object_object_add(o, "donors", donors);
	json_object_object_add(o, "lent_from", lent);
	json_object_object_add(o, "place", place);
	json_object_object_add(o, "why", json_object_new_string(j->why));
	return o;
}

static json_object *slices_to_json(const struct plan *p)
{
	json_object *a = json_object_new_array();

	for (int s = 0; s < p->n_slices; s++) {
		json_object *o = json_object_new_object(), *jobs = json_object_new_array();

		for (int i = 0; i < p->slice[s].n_jobs; i++)
			json_object_array_add(
				jobs, json_object_new_string(p->job[p->slice[s].job[i]].id));
		json_object_object_add(o, "jobs", jobs);
		json_object_object_add(o, "ms", json_object_new_int(p->slice[s].ms));
		json_object_array_add(a, o);
	}
	return a;
}

static json_object *experiments_to_json(const struct plan *p)
{
	json_object *a = json_object_new_array();

	for (int e = 0; e < p->n_experiments; e++) {
		const struct plan_experiment *x = &p->experiment[e];
		json_object *o = json_object_new_object();

		json_object_object_add(o, "job", json_object_new_string(p->job[x->job].id));
		json_object_object_add(o, "cores", json_object_new_int(x->cores));
		json_object_object_add(o, "ms", json_object_new_int(x->ms));
		json_object_object_add(o, "coreset", cpulist(&x->coreset));
		json_object_array_add(a, o);
	}
	return a;
}

json_object *plan_to_json(
	const struct plan *p, const struct topo *t, const char *policy, bool explain)
{
	json_object *o = json_object_new_object(), *jobs = json_object_new_array();
	json_object *figures = NULL;

	if (!o || !jobs)
		return NULL;
	for (int i = 0; i < p->n_jobs; i++)
		json_object_array_add(jobs, job_to_json(p, &p->job[i], t));
	if (explain && p->explain[0])
		figures = json_tokener_parse(p->explain);
	json_object_object_add(o, "policy", json_object_new_string(policy));
	json_object_object_add(
		o, "domain", json_object_new_string(topo_level_name(t->domain_level)));
	json_object_object_add(o, "score", number(p->score));
	json_object_object_add(o, "moves", json_object_new_int(p->moves));
	json_object_object_add(o, "jobs", jobs);
	json_object_object_add(o, "slices", slices_to_json(p));
	json_object_object_add(o, "experiments", experiments_to_json(p));
	json_object_object_add(o, "explain", figures ? figures : json_object_new_object());
	return o;
}
