/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan_read.c - a plan that somebody else made, as JSON, into struct plan. What follows from the
 * rest (domains, cores, moves) is read over; whether the plan holds is plan_check()'s.
 */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "nodesvc/trace/trace.h"
#include "nodesvc/trace/internal.h"

struct reading {
	struct where w;
	struct plan *p;
	json_object *lent[CHECK_JOBS_MAX], *donors[CHECK_JOBS_MAX];
	bool named[CHECK_JOBS_MAX];
};

/* Index in the plan of the job that @o names. */
static int job_index(const struct reading *r, const char *field, json_object *o, int *ret)
{
	const char *id;
	int i = 0, rc = value_string(&r->w, field, o, JOB_ID_MAX, &id);

	if (rc)
		return rc;
	while (i < r->p->n_jobs && strcmp(r->p->job[i].id, id) != 0)
		i++;
	if (i == r->p->n_jobs)
		return value_bad(&r->w, field, o, "a job of the view");
	*ret = i;
	return 0;
}

static int read_role(const struct reading *r, json_object *o, enum plan_role *ret)
{
	for (int role = ROLE_OWNER; role <= ROLE_EXCLUDED; role++)
		if (json_object_is_type(o, json_type_string) &&
			strcmp(json_object_get_string(o), plan_role_name((enum plan_role)role)) ==
				0) {
			*ret = (enum plan_role)role;
			return 0;
		}
	return value_bad(&r->w, "role", o, "owner, donee, donor, gang or excluded");
}

static int read_place(const struct reading *r, json_object *o, struct plan_job *j)
{
	static const struct member member[] = {
		{"core", MEMBER_INT, offsetof(struct plan_job, place_core), 0, CORESET_MAX - 1},
		{"width", MEMBER_INT, offsetof(struct plan_job, place_width), 1, CORESET_MAX},
		{.key = NULL},
	};

	return o ? value_members(&r->w, "place", o, member, j) : 0;
}

static int read_job_key(struct reading *r, int i, const char *key, json_object *o)
{
#define AT(member) offsetof(struct plan_job, member)
	static const struct member member[] = {
		{"id", MEMBER_ELSEWHERE, 0, 0, 0},
		{"domains", MEMBER_ELSEWHERE, 0, 0, 0},
		{"cores", MEMBER_ELSEWHERE, 0, 0, 0},
		{"coreset", MEMBER_CORESET, AT(coreset), 0, 0},
		{"cluster", MEMBER_INT, AT(cluster), -1, PLAN_CLUSTERS_MAX - 1},
		{"low", MEMBER_CORESET, AT(low), 0, 0},
		{"group", MEMBER_INT, AT(group), -1, 1 << 20},
		{.key = NULL},
	};
#undef AT
	struct plan_job *j = &r->p->job[i];
	const char *text;
	int rc;

	if (strcmp(key, "role") == 0)
		return read_role(r, o, &j->role);
	if (strcmp(key, "place") == 0)
		return read_place(r, o, j);
	if (strcmp(key, "why") == 0) {
		if (json_object_is_type(o, json_type_string) && json_object_get_string_len(o) == 0)
			return 0;
		rc = value_string(&r->w, key, o, PLAN_WHY_MAX, &text);
		if (rc == 0)
			strcpy(j->why, text);
		return rc;
	}
	if (strcmp(key, "donors") == 0) {
		r->donors[i] = o;
		return value_type(&r->w, key, o, json_type_array);
	}
	if (strcmp(key, "lent_from") == 0) {
		r->lent[i] = o;
		return value_type(&r->w, key, o, json_type_array);
	}
	return value_member(&r->w, key, key, o, member, j);
}

static int read_job(struct reading *r, int n, json_object *o)
{
	json_object *id;
	char field[32];
	int i = 0, rc;

	snprintf(field, sizeof(field), "jobs[%d]", n);
	rc = value_type(&r->w, field, o, json_type_object);
	if (rc)
		return rc;
	snprintf(field, sizeof(field), "jobs[%d].id", n);
	if (!json_object_object_get_ex(o, "id", &id)) {
		snprintf(field, sizeof(field), "jobs[%d]: id is missing", n);
		return value_fail(&r->w, field);
	}
	rc = job_index(r, field, id, &i);
	if (rc)
		return rc;
	r->w.job = r->p->job[i].id;
	if (r->named[i])
		return value_fail(&r->w, "id: twice in one plan");
	r->named[i] = true;
	json_object_object_foreach(o, key, value)
	{
		rc = read_job_key(r, i, key, value);
		if (rc)
			return rc;
	}
	r->w.job = NULL;
	return 0;
}

/* lent_from[k] belongs to donors[k], as plan_to_json() writes them. */
static int read_lent(struct reading *r, int i)
{
	static const struct member member[] = {
		{"coreset", MEMBER_CORESET, offsetof(struct plan_lent, coreset), 0, 0},
		{"weight", MEMBER_INT, offsetof(struct plan_lent, weight), 1, 100},
		{.key = NULL},
	};
	size_t n = r->lent[i] ? json_object_array_length(r->lent[i]) : 0;
	struct plan_job *j = &r->p->job[i];

	r->w.job = j->id;
	if ((r->donors[i] ? json_object_array_length(r->donors[i]) : 0) != n)
		return value_fail(&r->w, "lent_from: as many entries as donors expected");
	if (n > PLAN_LENT_MAX)
		return value_fail(&r->w, "lent_from: too many");
	for (size_t k = 0; k < n; k++) {
		json_object *e = json_object_array_get_idx(r->lent[i], k);
		int rc = value_type(&r->w, "lent_from", e, json_type_object);

		j->lent[k] = (struct plan_lent){.weight = 1};
		if (rc == 0)
			rc = job_index(r, "donors", json_object_array_get_idx(r->donors[i], k),
				&j->lent[k].donor);
		if (rc == 0)
			rc = value_members(&r->w, "lent_from", e, member, &j->lent[k]);
		if (rc)
			return rc;
	}
	j->n_lent = (int)n;
	r->w.job = NULL;
	return 0;
}

static int read_jobs(struct reading *r, json_object *o)
{
	int rc = value_type(&r->w, "jobs", o, json_type_array);

	for (size_t n = 0; !rc && n < json_object_array_length(o); n++)
		rc = read_job(r, (int)n, json_object_array_get_idx(o, n));
	for (int i = 0; !rc && i < r->p->n_jobs; i++)
		if (r->lent[i] || r->donors[i])
			rc = read_lent(r, i);
	return rc;
}

static int read_slice(const struct reading *r, int n, json_object *o, struct plan_slice *ret)
{
	char field[32];
	int rc;

	snprintf(field, sizeof(field), "slices[%d]", n);
	rc = value_type(&r->w, field, o, json_type_object);
	ret->n_jobs = 0;
	ret->ms = 0;
	if (rc)
		return rc;
	json_object_object_foreach(o, key, value)
	{
		snprintf(field, sizeof(field), "slices[%d].%.10s", n, key);
		if (strcmp(key, "ms") == 0) {
			rc = value_int(&r->w, field, value, 1, 3600000, &ret->ms);
		} else if (strcmp(key, "jobs") == 0) {
			rc = value_type(&r->w, field, value, json_type_array);
			for (size_t k = 0; !rc && k < json_object_array_length(value); k++) {
				if (ret->n_jobs == r->p->n_jobs)
					return value_bad(&r->w, field, value, "each job once");
				rc = job_index(r, field, json_object_array_get_idx(value, k),
					&ret->job[ret->n_jobs++]);
			}
		} else {
			rc = value_unknown_key(&r->w, key);
		}
		if (rc)
			return rc;
	}
	return 0;
}

static int read_experiment(
	const struct reading *r, int n, json_object *o, struct plan_experiment *ret)
{
#define AT(member) offsetof(struct plan_experiment, member)
	static const struct member member[] = {
		{"cores", MEMBER_INT, AT(cores), 1, CORESET_MAX},
		{"ms", MEMBER_INT, AT(ms), 1, 3600000},
		{"coreset", MEMBER_CORESET, AT(coreset), 0, 0},
		{.key = NULL},
	};
#undef AT
	char field[48];
	int rc;

	snprintf(field, sizeof(field), "experiments[%d]", n);
	rc = value_type(&r->w, field, o, json_type_object);
	*ret = (struct plan_experiment){.job = -1};
	if (rc)
		return rc;
	json_object_object_foreach(o, key, value)
	{
		snprintf(field, sizeof(field), "experiments[%d].%.10s", n, key);
		if (strcmp(key, "job") == 0)
			rc = job_index(r, field, value, &ret->job);
		else
			rc = value_member(&r->w, field, key, value, member, ret);
		if (rc)
			return rc;
	}
	return 0;
}

static int read_explain(const struct reading *r, json_object *o, struct plan *p)
{
	const char *text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);
	int rc = value_type(&r->w, "explain", o, json_type_object);

	if (rc)
		return rc;
	if (strlen(text) >= sizeof(p->explain))
		return value_fail(&r->w, "explain: too long");
	if (p->want_explain && json_object_object_length(o) > 0)
		strcpy(p->explain, text);
	return 0;
}

static int read_clusters(const struct reading *r, json_object *o, struct plan *p)
{
	static const struct member member[] = {
		{"ways", MEMBER_REAL, offsetof(struct plan_cluster, ways), 0, 1},
		{"bandwidth", MEMBER_REAL, offsetof(struct plan_cluster, bandwidth), 0, 1},
		{.key = NULL},
	};
	int rc = value_type(&r->w, "clusters", o, json_type_array);
	size_t n = rc ? 0 : json_object_array_length(o);

	if (n > PLAN_CLUSTERS_MAX)
		return value_bad(&r->w, "clusters", o, "a shorter list");
	for (size_t i = 0; !rc && i < n; i++) {
		p->cluster[i] = (struct plan_cluster){.ways = 0};
		rc = value_members(
			&r->w, "clusters", json_object_array_get_idx(o, i), member, &p->cluster[i]);
	}
	p->n_clusters = rc ? 0 : (int)n;
	p->clusters_asked = n > 0;
	return rc;
}

static int read_key(struct reading *r, const char *key, json_object *o)
{
	static const struct member member[] = {
		{"policy", MEMBER_ELSEWHERE, 0, 0, 0},
		{"domain", MEMBER_ELSEWHERE, 0, 0, 0},
		{"moves", MEMBER_ELSEWHERE, 0, 0, 0},
		{"keep", MEMBER_ELSEWHERE, 0, 0, 0},
		{"hysteresis_ms", MEMBER_INT, offsetof(struct plan, hysteresis_ms), 1,
			PLAN_HYSTERESIS_MAX},
		{"observe", MEMBER_BOOL, offsetof(struct plan, observe), 0, 0},
		{.key = NULL},
	};
	struct plan *p = r->p;
	size_t n;
	int rc;

	if (strcmp(key, "jobs") == 0)
		return read_jobs(r, o);
	if (strcmp(key, "score") == 0)
		return o ? value_double(&r->w, key, o, -INFINITY, INFINITY, &p->score) : 0;
	if (strcmp(key, "clusters") == 0)
		return read_clusters(r, o, p);
	if (strcmp(key, "explain") == 0)
		return read_explain(r, o, p);
	if (strcmp(key, "slices") != 0 && strcmp(key, "experiments") != 0)
		return value_member(&r->w, key, key, o, member, p);
	rc = value_type(&r->w, key, o, json_type_array);
	n = rc ? 0 : json_object_array_length(o);
	if (n > PLAN_SLICES_MAX || n > PLAN_EXPERIMENTS_MAX)
		return value_bad(&r->w, key, o, "a shorter list");
	for (int i = 0; !rc && i < (int)n; i++) {
		json_object *e = json_object_array_get_idx(o, (size_t)i);

		if (*key == 's') {
			rc = read_slice(r, i, e, &p->slice[i]);
			p->n_slices = i + 1;
		} else {
			rc = read_experiment(r, i, e, &p->experiment[i]);
			p->n_experiments = i + 1;
		}
	}
	return rc;
}

/* Jobs that were given the same cores share them: one group. */
static void group_alike(struct plan *p, const struct view *v)
{
	for (int i = 0; i < p->n_jobs; i++)
		for (int k = 0; k < i && p->job[i].group < 0; k++) {
			if (v->job[i].excluded || v->job[k].excluded ||
				!coreset_is_equal(&p->job[i].coreset, &p->job[k].coreset))
				continue;
			if (p->job[k].group < 0)
				p->job[k].group = k;
			p->job[i].group = p->job[k].group;
		}
}

int plan_from_json(struct plan *p, const struct view *v, json_object *o, struct errbuf *err)
{
	struct reading r = {.w = {.err = err}, .p = p};
	int rc = value_type(&r.w, "plan", o, json_type_object);
	json_object *refused;
	const char *text;

	if (rc)
		return rc;
	if (json_object_object_get_ex(o, "refused", &refused)) {
		rc = value_string(&r.w, "refused", refused, 200, &text);
		if (rc == 0 && json_object_object_length(o) > 1)
			rc = value_fail(&r.w, "refused: nothing else expected beside it");
		return rc ? rc : err_set(err, -ENODATA, "%s", text);
	}
	json_object_object_foreach(o, key, value)
	{
		rc = read_key(&r, key, value);
		if (rc)
			return rc;
	}
	if (p->n_jobs > 0 && !json_object_object_get_ex(o, "jobs", NULL))
		return value_fail(&r.w, "jobs is missing");
	group_alike(p, v);
	return 0;
}
