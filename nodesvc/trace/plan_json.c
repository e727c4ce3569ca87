/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/trace/internal.h"
#include "nodesvc/trace/trace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Doubles with 15 significant digits: every figure of a person reads back as written. */
static json_object *number(double x)
{
	char text[40];

	if (!isfinite(x))
		return NULL; /* null */
	snprintf(text, sizeof(text), "%.15g", x);
	return json_object_new_double_s(x, text);
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
		json_object_object_add(e, "coreset", trace_cpulist(&j->lent[l].coreset));
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
	json_object_object_add(o, "coreset", trace_cpulist(&j->coreset));
	json_object_object_add(o, "cores", json_object_new_int(j->cores));
	json_object_object_add(o, "role", json_object_new_string(plan_role_name(j->role)));
	json_object_object_add(o, "donors", donors);
	json_object_object_add(o, "lent_from", lent);
	json_object_object_add(o, "place", place);
	if (!coreset_is_empty(&j->low))
		json_object_object_add(o, "low", trace_cpulist(&j->low));
	if (j->cluster >= 0)
		json_object_object_add(o, "cluster", json_object_new_int(j->cluster));
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
		json_object_object_add(o, "coreset", trace_cpulist(&x->coreset));
		json_object_array_add(a, o);
	}
	return a;
}

static void add_clusters(json_object *o, const struct plan *p, json_object *(*as)(double))
{
	json_object *a = json_object_new_array();

	for (int k = 0; k < p->n_clusters; k++) {
		json_object *e = json_object_new_object();

		json_object_object_add(e, "ways", as(p->cluster[k].ways));
		json_object_object_add(e, "bandwidth", as(p->cluster[k].bandwidth));
		json_object_array_add(a, e);
	}
	json_object_object_add(o, "clusters", a);
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
	if (p->n_clusters)
		add_clusters(o, p, number);
	if (p->hysteresis_ms)
		json_object_object_add(o, "hysteresis_ms", json_object_new_int(p->hysteresis_ms));
	json_object_object_add(o, "slices", slices_to_json(p));
	json_object_object_add(o, "experiments", experiments_to_json(p));
	json_object_object_add(o, "explain", figures ? figures : json_object_new_object());
	return o;
}

json_object *plan_to_exact_json(const struct plan *p, const struct topo *t)
{
	json_object *o = plan_to_json(p, t, "", false), *jobs;

	if (!o)
		return NULL;
	json_object_object_del(o, "policy");
	json_object_object_del(o, "explain");
	json_object_object_add(o, "score", exact_number(p->score));
	if (p->n_clusters)
		add_clusters(o, p, exact_number);
	json_object_object_add(o, "keep", json_object_new_boolean(p->keep));
	json_object_object_add(o, "observe", json_object_new_boolean(p->observe));
	json_object_object_get_ex(o, "jobs", &jobs);
	for (int i = 0; i < p->n_jobs; i++)
		json_object_object_add(json_object_array_get_idx(jobs, (size_t)i), "group",
			json_object_new_int(p->job[i].group));
	return o;
}

static const char *shown(json_object *o)
{
	return o ? json_object_to_json_string_ext(
			   o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)
		 : "nothing";
}

static bool tell(const char *path, json_object *a, json_object *b, char *ret, size_t size)
{
	snprintf(ret, size, "%s%srecorded %.100s, replayed %.100s", path, *path ? ": " : "",
		shown(a), shown(b));
	return true;
}

static bool is_number(json_object *o)
{
	return json_object_is_type(o, json_type_int) || json_object_is_type(o, json_type_double);
}

static bool differ(json_object *a, json_object *b, const char *path, char *ret, size_t size)
{
	char below[200];

	if (json_object_is_type(a, json_type_object) && json_object_is_type(b, json_type_object)) {
		json_object_object_foreach(a, key, one)
		{
			json_object *other = NULL;

			snprintf(
				below, sizeof(below), "%.150s%s%.40s", path, *path ? "." : "", key);
			if (!json_object_object_get_ex(b, key, &other) && one)
				return tell(below, one, NULL, ret, size);
			if (differ(one, other, below, ret, size))
				return true;
		}
		json_object_object_foreach(b, name, added)
		{
			snprintf(below, sizeof(below), "%.150s%s%.40s", path, *path ? "." : "",
				name);
			if (!json_object_object_get_ex(a, name, NULL) && added)
				return tell(below, NULL, added, ret, size);
		}
		return false;
	}
	if (json_object_is_type(a, json_type_array) && json_object_is_type(b, json_type_array)) {
		size_t n = json_object_array_length(a);

		for (size_t i = 0; i < n && i < json_object_array_length(b); i++) {
			snprintf(below, sizeof(below), "%.170s[%zu]", path, i);
			if (differ(json_object_array_get_idx(a, i), json_object_array_get_idx(b, i),
				    below, ret, size))
				return true;
		}
		return n != json_object_array_length(b) && tell(path, a, b, ret, size);
	}
	/* 3 was written for 3.0: the type tells nothing, the bits of the value do. */
	if (is_number(a) && is_number(b)) {
		double x = json_object_get_double(a), y = json_object_get_double(b);

		/* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): the bits are meant */
		return memcmp(&x, &y, sizeof(x)) != 0 && tell(path, a, b, ret, size);
	}
	return !json_object_equal(a, b) && tell(path, a, b, ret, size);
}

bool plan_json_diff(json_object *recorded, json_object *replayed, char *ret_where, size_t size)
{
	return differ(recorded, replayed, "", ret_where, size);
}
