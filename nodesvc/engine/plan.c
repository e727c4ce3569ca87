/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan.c - a plan's memory, and the invariants that every plan must hold whoever made it.
 */
#include "nodesvc/engine/plan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/engine/internal.h"

static const char *const role_text[] = {
	[ROLE_OWNER] = "owner",
	[ROLE_DONEE] = "donee",
	[ROLE_DONOR] = "donor",
	[ROLE_GANG] = "gang",
	[ROLE_EXCLUDED] = "excluded",
};

const char *plan_role_name(enum plan_role r)
{
	return role_text[r];
}

int plan_init(struct plan *p, int max_jobs, struct errbuf *err)
{
	int *slice_jobs;

	memset(p, 0, sizeof(*p));
	if (max_jobs < 1)
		return err_set(err, -EINVAL, "a plan for %d jobs", max_jobs);
	p->job = calloc((size_t)max_jobs, sizeof(*p->job));
	slice_jobs = calloc((size_t)max_jobs * PLAN_SLICES_MAX, sizeof(*slice_jobs));
	if (!p->job || !slice_jobs) {
		free(p->job);
		free(slice_jobs);
		p->job = NULL;
		return err_set(err, -ENOMEM, "out of memory for a plan of %d jobs", max_jobs);
	}
	for (int s = 0; s < PLAN_SLICES_MAX; s++)
		p->slice[s].job = slice_jobs + (size_t)s * (size_t)max_jobs;
	p->max_jobs = max_jobs;
	p->score = NAN;
	return 0;
}

void plan_done(struct plan *p)
{
	free(p->job);
	free(p->slice[0].job);
	memset(p, 0, sizeof(*p));
}

void plan_base_coreset(
	struct coreset *ret, const struct view *v, const struct topo *t, const struct view_job *j)
{
	const struct coreset *base = coreset_is_empty(&j->envelope) ? &t->all : &j->envelope;

	if (v->reserved)
		coreset_andnot(ret, base, v->reserved);
	else
		*ret = *base;
}

int plan_reset(struct plan *p, const struct view *v, const struct topo *t, struct errbuf *err)
{
	if (v->n_jobs > p->max_jobs)
		return err_set(
			err, -E2BIG, "%d jobs: the plan has room for %d", v->n_jobs, p->max_jobs);
	p->n_jobs = v->n_jobs;
	p->urgent = false;
	p->keep = false;
	p->observe = false;
	p->score = NAN;
	p->hysteresis_ms = 0;
	p->n_clusters = 0;
	p->clusters_asked = false;
	p->may_turn = p->all_turn = false;
	p->turns_ms = 0;
	p->moves = 0;
	p->n_slices = 0;
	p->n_experiments = 0;
	p->explain[0] = '\0';
	for (int i = 0; i < v->n_jobs; i++) {
		struct plan_job *j = &p->job[i];
		const struct view_job *vj = &v->job[i];
		size_t len = strnlen(vj->id, JOB_ID_MAX - 1);

		memcpy(j->id, vj->id, len);
		j->id[len] = '\0';
		if (coreset_is_empty(&vj->current))
			plan_base_coreset(&j->coreset, v, t, vj);
		else
			j->coreset = vj->current;
		j->cores = 0;
		j->role = vj->excluded ? ROLE_EXCLUDED : ROLE_OWNER;
		j->group = -1;
		coreset_zero(&j->low);
		j->cluster = -1;
		j->n_lent = 0;
		j->place_core = -1;
		j->place_width = -1;
		j->why[0] = '\0';
	}
	return 0;
}

/* State of one check. */
struct check {
	const struct plan *p;
	const struct view *v;
	const struct topo *t;
	bool share_smt;
	int words;
	struct errbuf *err;
	uint32_t slices[CHECK_JOBS_MAX]; /* bit s: runs in slice s */
	int16_t pu_owner[CORESET_MAX];
	int16_t core_owner[CORESET_MAX];
};

static int broken(struct check *c, int i, const char *rule)
{
	return err_set(c->err, -EINVAL, "plan: job %s: %s", c->p->job[i].id, rule);
}

/* Not placed by the policy: excluded, or a multi-node step that keeps its envelope. */
static bool is_bystander(const struct check *c, int i)
{
	struct coreset base;

	if (c->v->job[i].excluded || c->p->observe)
		return true;
	if (c->v->job[i].nodes <= 1)
		return false;
	plan_base_coreset(&base, c->v, c->t, &c->v->job[i]);
	return coreset_is_equal(&base, &c->p->job[i].coreset);
}

/* Two jobs may have a PU in common: same group and coreset, or never at the same time. */
static bool may_overlap(const struct check *c, int a, int b)
{
	const struct plan_job *ja = &c->p->job[a], *jb = &c->p->job[b];

	if (c->p->n_slices && c->slices[a] && c->slices[b] && !(c->slices[a] & c->slices[b]))
		return true;
	return ja->group >= 0 && ja->group == jb->group &&
	       coreset_is_equal(&ja->coreset, &jb->coreset);
}

/* Two jobs may have hardware threads of one core: as above, or the group shares the core so. */
static bool may_split(const struct check *c, int a, int b)
{
	const struct plan_job *ja = &c->p->job[a], *jb = &c->p->job[b];

	return c->share_smt || (ja->group >= 0 && ja->group == jb->group) || may_overlap(c, a, b);
}

static int check_bounds(struct check *c, int i)
{
	const struct plan_job *j = &c->p->job[i];
	const struct coreset *base;
	uint64_t any = 0;

	for (int w = 0; w < CORESET_WORDS; w++)
		any |= j->coreset.w[w];
	if (!any)
		return broken(c, i, "its coreset is empty");
	if (c->v->job[i].excluded) {
		bool placed = !coreset_is_empty(&c->v->job[i].current);

		if (j->role != ROLE_EXCLUDED ||
			(placed && !coreset_is_equal(&j->coreset, &c->v->job[i].current)))
			return broken(c, i, "is excluded but would be moved");
		return 0;
	}
	if (c->p->observe && coreset_is_equal(&j->coreset, &c->v->job[i].current))
		return 0;
	base = bits_empty(&c->v->job[i].envelope, c->words) ? &c->t->all : &c->v->job[i].envelope;
	if (!bits_subset(&j->coreset, base, c->words) ||
		(c->v->reserved && bits_intersect(&j->coreset, c->v->reserved, c->words)))
		return broken(c, i, "its coreset leaves the envelope or takes reserved CPUs");
	if (!bits_subset_all(&j->coreset, &c->t->all))
		return broken(c, i, "its coreset has CPUs the node has not");
	if (j->cores != topo_count_cores(c->t, &j->coreset))
		return broken(c, i, "its core count is not that of its coreset");
	return 0;
}

static int check_overlap(struct check *c, int i)
{
	const struct plan_job *j = &c->p->job[i];

	bits_for_each (pu, &j->coreset, c->words) {
		int core = c->t->pu_core[pu];
		int o = c->pu_owner[pu];

		if (o >= 0 && !may_overlap(c, i, o))
			return broken(c, i, "shares CPUs with a job outside its group");
		c->pu_owner[pu] = (int16_t)i;
		o = c->core_owner[core];
		if (o >= 0 && o != i && !may_split(c, i, o))
			return broken(c, i, "shares an SMT pair with a job outside its group");
		c->core_owner[core] = (int16_t)i;
	}
	return 0;
}

/* Wishes count only where all of them fit, which is plain to see when envelopes are alike. */
static bool min_cores_fit(const struct check *c)
{
	const struct coreset *envelope = NULL;
	struct coreset base;
	int sum = 0;

	for (int i = 0; i < c->p->n_jobs; i++) {
		const struct view_job *j = &c->v->job[i];

		if (j->excluded)
			continue;
		if (envelope && !coreset_is_equal(envelope, &j->envelope))
			return false;
		envelope = &j->envelope;
		plan_base_coreset(&base, c->v, c->t, j);
		sum += j->min_cores > 1 ? j->min_cores : 1;
	}
	return !envelope || sum <= topo_count_cores(c->t, &base);
}

static int check_min_cores(struct check *c)
{
	int wishes = 0;

	for (int i = 0; i < c->p->n_jobs; i++)
		wishes += c->v->job[i].min_cores > 1;
	if (!wishes || c->v->capacity || !min_cores_fit(c))
		return 0;
	for (int i = 0; i < c->p->n_jobs; i++) {
		const struct view_job *vj = &c->v->job[i];
		struct coreset base;

		if (vj->excluded || vj->min_cores <= 1 || c->p->job[i].cores >= vj->min_cores)
			continue;
		plan_base_coreset(&base, c->v, c->t, vj);
		if (topo_count_cores(c->t, &base) >= vj->min_cores)
			return broken(c, i, "gets fewer than its minimum of cores");
	}
	return 0;
}

static int check_lent(struct check *c, int i)
{
	const struct plan_job *j = &c->p->job[i];

	if (j->n_lent < 0 || j->n_lent > PLAN_LENT_MAX)
		return broken(c, i, "borrows from too many");
	if (j->n_lent > 0 && j->role != ROLE_DONEE)
		return broken(c, i, "borrows cores but is not a donee");
	if (j->n_lent == 0 && j->role == ROLE_DONEE)
		return broken(c, i, "is a donee of nobody");
	for (int l = 0; l < j->n_lent; l++) {
		const struct plan_lent *lent = &j->lent[l];
		struct coreset base;

		if (lent->donor < 0 || lent->donor >= c->p->n_jobs || lent->donor == i)
			return broken(c, i, "borrows from a job that is not there");
		if (c->p->job[lent->donor].role != ROLE_DONOR)
			return broken(c, i, "borrows from a job that is not a donor");
		plan_base_coreset(&base, c->v, c->t, &c->v->job[i]);
		if (coreset_is_empty(&lent->coreset) ||
			!coreset_is_subset(&lent->coreset, &c->p->job[lent->donor].coreset) ||
			!coreset_is_subset(&lent->coreset, &base))
			return broken(c, i, "borrows CPUs that the donor or its envelope has not");
		if (lent->weight < 1 || lent->weight > 100)
			return broken(c, i, "borrows at a weight outside 1..100");
	}
	return 0;
}

static int check_low(struct check *c, int i)
{
	const struct plan_job *j = &c->p->job[i];
	struct coreset base;

	if (coreset_is_empty(&j->low))
		return 0;
	if (c->p->hysteresis_ms < 1 || c->p->hysteresis_ms > PLAN_HYSTERESIS_MAX)
		return broken(c, i, "has threads at low priority and no hysteresis");
	if (j->role != ROLE_OWNER)
		return broken(c, i, "has threads at low priority but is not an owner");
	plan_base_coreset(&base, c->v, c->t, &c->v->job[i]);
	if (!coreset_is_subset(&j->low, &base) || coreset_intersects(&j->low, &j->coreset))
		return broken(c, i, "has low CPUs outside its envelope, or of its own");
	return 0;
}

static int check_clusters(struct check *c)
{
	const struct plan *p = c->p;
	double sum = 0;

	if (p->n_clusters != 0 && (p->n_clusters < 2 || p->n_clusters > PLAN_CLUSTERS_MAX))
		return err_set(c->err, -EINVAL, "plan: %d clusters", p->n_clusters);
	for (int k = 0; k < p->n_clusters; k++) {
		const struct plan_cluster *x = &p->cluster[k];

		if (!(x->ways > 0 && x->ways <= 1) || !(x->bandwidth >= 0 && x->bandwidth <= 1))
			return err_set(c->err, -EINVAL,
				"plan: cluster %d has %g of the cache and %g of the bandwidth", k,
				x->ways, x->bandwidth);
		sum += x->ways;
	}
	if (sum > 1 + 1e-9)
		return err_set(c->err, -EINVAL, "plan: clusters have %g of the cache", sum);
	for (int i = 0; i < p->n_jobs; i++)
		if (p->job[i].cluster < -1 || p->job[i].cluster >= p->n_clusters)
			return broken(c, i, "is in a cluster that is not there");
		else if (p->job[i].cluster >= 0 && p->job[i].role == ROLE_EXCLUDED)
			return broken(c, i, "is excluded, and in a cluster");
	return 0;
}

static int check_capacity(struct check *c)
{
	for (int d = 0; d < c->v->n_capacity && d < c->t->n_domains; d++) {
		int used = 0, last = -1;

		for (int k = 0; k < c->t->domain[d].n_cores; k++) {
			int core = c->t->domain_core[c->t->domain[d].first_core + k];

			if (c->core_owner[core] >= 0) {
				used++;
				last = c->core_owner[core];
			}
		}
		if (used > c->v->capacity[d])
			return broken(c, last, "its domain holds more cores than the capacity");
	}
	return 0;
}

static int check_experiments(struct check *c)
{
	for (int e = 0; e < c->p->n_experiments; e++) {
		const struct plan_experiment *x = &c->p->experiment[e];
		struct coreset base;

		if (x->job < 0 || x->job >= c->p->n_jobs)
			return err_set(
				c->err, -EINVAL, "plan: experiment for job number %d", x->job);
		plan_base_coreset(&base, c->v, c->t, &c->v->job[x->job]);
		if (x->ms < 1 || x->cores < 1 || coreset_is_empty(&x->coreset) ||
			topo_count_cores(c->t, &x->coreset) != x->cores ||
			!coreset_is_subset(&x->coreset, &base))
			return broken(c, x->job, "experiment outside its envelope or of no length");
	}
	return 0;
}

static int check_slices(struct check *c)
{
	if (c->p->n_slices < 0 || c->p->n_slices > PLAN_SLICES_MAX)
		return err_set(c->err, -EINVAL, "plan: %d slices", c->p->n_slices);
	for (int s = 0; s < c->p->n_slices; s++) {
		const struct plan_slice *slice = &c->p->slice[s];

		if (slice->ms < 1 || slice->n_jobs < 1 || slice->n_jobs > c->p->n_jobs)
			return err_set(c->err, -EINVAL, "plan: slice %d is empty", s);
		for (int k = 0; k < slice->n_jobs; k++) {
			int i = slice->job[k];

			if (i < 0 || i >= c->p->n_jobs)
				return err_set(
					c->err, -EINVAL, "plan: slice %d: job number %d", s, i);
			if (c->v->job[i].excluded || c->v->job[i].nodes > 1)
				return broken(c, i, "must not be frozen by slices");
			c->slices[i] |= UINT32_C(1) << s;
		}
	}
	return 0;
}

int plan_check(const struct plan *p, const struct view *v, const struct topo *t, bool share_smt,
	struct errbuf *err)
{
	struct check c; /* only the part of its tables that this node uses is set */
	int rc;

	if (p->n_jobs != v->n_jobs || p->n_jobs > CHECK_JOBS_MAX)
		return err_set(
			err, -EINVAL, "plan: %d jobs for a view of %d", p->n_jobs, v->n_jobs);
	c.p = p;
	c.v = v;
	c.t = t;
	c.share_smt = share_smt;
	c.words = t->n_words;
	c.err = err;
	memset(c.slices, 0, (size_t)p->n_jobs * sizeof(c.slices[0]));
	memset(c.pu_owner, 0xff, (size_t)c.words * 64 * sizeof(c.pu_owner[0]));
	memset(c.core_owner, 0xff, (size_t)t->n_cores * sizeof(c.core_owner[0]));
	rc = check_slices(&c);
	for (int i = 0; !rc && i < p->n_jobs; i++) {
		if (strncmp(p->job[i].id, v->job[i].id, JOB_ID_MAX - 1) != 0)
			return broken(&c, i, "is not the view's job at this place");
		rc = check_bounds(&c, i);
		if (!rc && !is_bystander(&c, i))
			rc = check_overlap(&c, i);
		if (!rc)
			rc = check_lent(&c, i);
		if (!rc)
			rc = check_low(&c, i);
	}
	if (!rc && !p->observe)
		rc = check_capacity(&c);
	if (!rc && !p->observe)
		rc = check_min_cores(&c);
	if (!rc)
		rc = check_experiments(&c);
	return rc ? rc : check_clusters(&c);
}
