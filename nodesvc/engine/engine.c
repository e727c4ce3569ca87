/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * engine.c - knows jobs by small slot numbers, asks the policy, checks what it says.
 */
#include "nodesvc/engine/engine.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "nodesvc/engine/internal.h"

#define OPTIONS_MAX 32
#define SPEC_MAX    512

struct slot {
	char id[JOB_ID_MAX];
	unsigned int hash; /* of id */
	bool used;
	uint64_t seen; /* round in which the job was last in the view */
};

struct engine {
	const struct policy_ops *ops;
	struct arena memory; /* of all below */
	struct policy *policy;
	struct policy_cfg cfg;
	struct slot *slot; /* [max_jobs] */
	int *bucket;       /* [n_buckets] slot + 1, open addressing; rebuilt every round */
	int n_buckets;     /* a power of two, at least twice max_jobs */
	int *slot_of;      /* [max_jobs] view index -> slot; last round's until matched */
	uint64_t round;
	struct shared_turns shared_turns;
	/* A view with figures that cannot be, as the policy sees it. */
	struct view_job *job; /* [max_jobs] */
	const char **dropped; /* [max_jobs] what one lacks by that; NULL nothing */
	bool any_dropped;
};

static void engine_free_p(struct engine **e)
{
	engine_free(*e);
}

/* Options: those of the configuration for this policy, then those of the spec. */
struct option_list {
	char text[SPEC_MAX];
	struct policy_option option[OPTIONS_MAX];
	int n;
};

static int add_option(struct option_list *l, const char *key, const char *value, struct errbuf *err)
{
	for (int i = 0; i < l->n; i++)
		if (strcmp(l->option[i].key, key) == 0) {
			l->option[i].value = value;
			return 0;
		}
	if (l->n == OPTIONS_MAX)
		return err_set(err, -EINVAL, "more than %d policy options", OPTIONS_MAX);
	l->option[l->n++] = (struct policy_option){.key = key, .value = value};
	return 0;
}

/* "fair.key" belongs to fair only; a bare key to any policy. */
static int add_config_options(
	struct option_list *l, const struct policy_cfg *cfg, const char *policy, struct errbuf *err)
{
	for (int i = 0; i < cfg->n_options; i++) {
		const char *key = cfg->option[i].key;
		const char *dot = strchr(key, '.');
		size_t n = dot ? (size_t)(dot - key) : 0;
		int rc;

		if (dot && (strlen(policy) != n || memcmp(policy, key, n) != 0))
			continue;
		rc = add_option(l, dot ? dot + 1 : key, cfg->option[i].value, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int read_spec(struct option_list *l, const char *spec, const struct policy_cfg *cfg,
	const struct policy_ops **ret, struct errbuf *err)
{
	char *item, *rest = l->text;
	int rc;

	if (strlen(spec) >= sizeof(l->text))
		return err_set(err, -EINVAL, "policy '%.40s...': too long", spec);
	strcpy(l->text, spec);
	item = strsep(&rest, ",");
	*ret = policy_find(item);
	if (!*ret) {
		char known[208] = "";
		size_t len = 0;

		for (int i = 0; policy_registry[i] && len < sizeof(known); i++)
			len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s",
				i ? " " : "", policy_registry[i]->name);
		return err_set(err, -ENOENT, "unknown policy '%.20s'; known: %s", item, known);
	}
	rc = add_config_options(l, cfg, item, err);
	while (!rc && (item = strsep(&rest, ","))) {
		char *value = strchr(item, '=');

		if (!value)
			return err_set(err, -EINVAL,
				"policy '%s': option '%.40s': key=value expected", (*ret)->name,
				item);
		*value++ = '\0';
		/* "sbmp.search=paper" in a spec is "search=paper": the policy is named already. */
		if (strrchr(item, '.'))
			item = strrchr(item, '.') + 1;
		rc = add_option(l, item, value, err);
	}
	return rc;
}

int engine_create_with(struct engine **ret, const struct policy_ops *ops,
	const struct policy_cfg *cfg, struct errbuf *err)
{
	__attribute__((cleanup(engine_free_p))) struct engine *e = NULL;
	size_t max = (size_t)cfg->max_jobs;
	int rc;

	if (!cfg->topo || cfg->max_jobs < 1 || cfg->max_jobs > CHECK_JOBS_MAX)
		return err_set(err, -EINVAL, "an engine for %d jobs: 1 to %d expected",
			cfg->max_jobs, CHECK_JOBS_MAX);
	e = calloc(1, sizeof(*e));
	if (!e)
		return err_set(err, -ENOMEM, "out of memory");
	e->ops = ops;
	for (e->n_buckets = 4; e->n_buckets < 2 * cfg->max_jobs;)
		e->n_buckets *= 2;
	e->cfg = *cfg;
	e->cfg.memory = &e->memory;
	e->slot = arena_alloc(&e->memory, max, sizeof(*e->slot));
	e->slot_of = arena_alloc(&e->memory, max, sizeof(*e->slot_of));
	e->bucket = arena_alloc(&e->memory, (size_t)e->n_buckets, sizeof(*e->bucket));
	e->job = arena_alloc(&e->memory, max, sizeof(*e->job));
	e->dropped = arena_alloc(&e->memory, max, sizeof(*e->dropped));
	shared_turns_init(&e->shared_turns, &e->cfg);
	e->policy = arena_alloc(&e->memory, 1, ops->size);
	rc = e->policy ? ops->create(e->policy, &e->cfg, err) : 0;
	if (!rc && e->memory.failed)
		rc = err_set(err, -ENOMEM, "out of memory");
	if (rc)
		return rc;
	e->cfg.option = NULL; /* the caller's strings are not kept */
	e->cfg.n_options = 0;
	*ret = take_ptr(e);
	return 0;
}

int engine_create(
	struct engine **ret, const char *spec, const struct policy_cfg *cfg, struct errbuf *err)
{
	struct option_list options = {.n = 0};
	struct policy_cfg with_options = *cfg;
	const struct policy_ops *ops = NULL;
	int rc = read_spec(&options, spec, cfg, &ops, err);

	if (rc)
		return rc;
	with_options.option = options.option;
	with_options.n_options = options.n;
	return engine_create_with(ret, ops, &with_options, err);
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	if (e->policy && e->ops->free)
		e->ops->free(e->policy);
	arena_free(&e->memory);
	free(e);
}

const struct policy_ops *engine_policy(const struct engine *e)
{
	return e->ops;
}

static unsigned int hash_id(const char *id)
{
	unsigned int h = 2166136261u; /* FNV-1a */

	for (; *id; id++)
		h = (h ^ (unsigned char)*id) * 16777619u;
	return h;
}

/* Bucket of @id, or the empty one where it would go. */
static int find_bucket(const struct engine *e, const char *id, unsigned int hash)
{
	unsigned int mask = (unsigned int)e->n_buckets - 1;
	unsigned int b = hash & mask;

	while (e->bucket[b]) {
		const struct slot *s = &e->slot[e->bucket[b] - 1];

		if (s->hash == hash && strcmp(s->id, id) == 0)
			break;
		b = (b + 1) & mask;
	}
	return (int)b;
}

/* False: an id is there twice. */
static bool fill_buckets(struct engine *e)
{
	bool unique = true;

	memset(e->bucket, 0, (size_t)e->n_buckets * sizeof(*e->bucket));
	for (int s = 0; s < e->cfg.max_jobs; s++) {
		int b;

		if (!e->slot[s].used)
			continue;
		b = find_bucket(e, e->slot[s].id, e->slot[s].hash);
		unique = unique && !e->bucket[b];
		e->bucket[b] = s + 1;
	}
	return unique;
}

/* Forgets the jobs that are gone; true: there were some. */
static bool drop_gone(struct engine *e)
{
	bool any = false;

	for (int s = 0; s < e->cfg.max_jobs; s++)
		if (e->slot[s].used && e->slot[s].seen != e->round) {
			e->slot[s].used = false;
			any = true;
			if (e->ops->forget)
				e->ops->forget(e->policy, s);
		}
	return any;
}

static int check_view_job(const struct engine *e, const struct view_job *j, struct errbuf *err)
{
	size_t len = j->id ? strnlen(j->id, JOB_ID_MAX) : 0;

	if (len == 0 || len >= JOB_ID_MAX)
		return err_set(err, -EINVAL, "job id '%.60s': 1 to %d characters expected",
			j->id ? j->id : "", JOB_ID_MAX - 1);
	if (!bits_subset_all(&j->envelope, &e->cfg.topo->all))
		return err_set(err, -EINVAL, "job %s: envelope has CPUs the node has not", j->id);
	return 0;
}

/* What of @j cannot be, the last of several, NULL nothing; it is not in @ret, a copy, NULL none. */
static const char *drop_figures(const struct engine *e, const struct view *v,
	const struct view_job *j, struct view_job *ret)
{
	const struct topo *t = e->cfg.topo;
	const char *what = NULL;
	struct view_job unused = *j;

	ret = ret ? ret : &unused;
	for (int s = 0; s < SIGNAL_COUNT; s++)
		if (j->signal[s].provenance != PROVENANCE_NONE &&
			!signal_is_sane((enum signal_id)s, j->signal[s].value)) {
			ret->signal[s].provenance = PROVENANCE_NONE;
			what = signal_name((enum signal_id)s);
		}
	for (int i = 0; i < j->n_speed; i++)
		if (j->speed[i].cores < 1 || !speed_is_sane(j->speed[i].speed)) {
			ret->n_speed = 0;
			what = "speed";
		}
	if (!(j->rss_bytes <= 1e18)) {
		ret->rss_bytes = -1;
		what = "rss_bytes";
	}
	if (!(j->qos >= 0 && j->qos <= 1)) {
		ret->qos = 0;
		what = "qos";
	}
	if (j->has_executed && !signal_is_sane(SIGNAL_UTILIZATION, j->executed)) {
		ret->has_executed = false;
		what = "executed";
	}
	if (!(j->runnable >= 0 && j->runnable <= 1e6)) {
		ret->runnable = 0;
		what = "runnable";
	}
	if (j->in_turns && !(fabs(j->wanted_s) <= 1e12 && fabs(j->served_s) <= 1e12)) {
		ret->in_turns = false;
		what = "wanted_s or served_s";
	}
	if (j->min_cores > 1 || v->reserved) {
		struct coreset base;
		int cores;

		plan_base_coreset(&base, v, t, j);
		cores = topo_count_cores(t, &base);
		if (j->min_cores > cores) {
			ret->min_cores = cores;
			what = "min_cores";
		}
		if (cores == 0 && !j->excluded) {
			ret->excluded = true;
			if (coreset_is_empty(&j->current))
				ret->current =
					coreset_is_empty(&j->envelope) ? t->all : j->envelope;
			what = "envelope";
		}
	}
	return what;
}

/*
 * One job's bad figure is that job's alone. @at: the view as the policy gets it, of the engine's
 * own jobs from the first such figure on.
 */
static void believe(struct engine *e, const struct view *v, struct view *at)
{
	*at = *v;
	e->any_dropped = false;
	for (int i = 0; i < v->n_jobs; i++) {
		e->dropped[i] = drop_figures(e, v, &v->job[i], NULL);
		if (e->dropped[i] && !e->any_dropped) {
			memcpy(e->job, v->job, (size_t)v->n_jobs * sizeof(*e->job));
			at->job = e->job;
			e->any_dropped = true;
		}
		if (e->dropped[i])
			drop_figures(e, v, &v->job[i], &e->job[i]);
	}
}

/* What is said of them, whatever the policy says. */
static void say_dropped(const struct engine *e, const struct view *v, struct plan *p)
{
	for (int i = 0; i < p->n_jobs && p->want_explain && e->any_dropped; i++) {
		char was[PLAN_WHY_MAX];
		const struct view_job *j = &v->job[i], *as = &e->job[i];
		const char *how = "no figure, taken for unknown";

		if (!e->dropped[i])
			continue;
		if (j->excluded != as->excluded)
			how = "no CPU is left in it (reserved?)";
		else if (j->min_cores != as->min_cores)
			how = "more than its envelope has";
		memcpy(was, p->job[i].why, sizeof(was));
		plan_why(p, i, "%.100s%s%s: %s", was, *was ? "; " : "", e->dropped[i], how);
	}
}

/* -1: a job not seen before. */
static int slot_by_id(const struct engine *e, const char *id)
{
	return e->bucket[find_bucket(e, id, hash_id(id))] - 1;
}

static int match_slots(struct engine *e, const struct view *v, struct errbuf *err)
{
	int free_slot = 0;
	bool changed;

	e->round++;
	for (int i = 0; i < v->n_jobs; i++) {
		int rc = check_view_job(e, &v->job[i], err), guess = e->slot_of[i];

		if (rc)
			return rc;
		/* Most views list their jobs as the one before did. */
		if (guess < 0 || !e->slot[guess].used ||
			strcmp(e->slot[guess].id, v->job[i].id) != 0)
			e->slot_of[i] = slot_by_id(e, v->job[i].id);
		if (e->slot_of[i] < 0)
			continue;
		if (e->slot[e->slot_of[i]].seen == e->round)
			return err_set(err, -EINVAL, "job %s: twice in one view", v->job[i].id);
		e->slot[e->slot_of[i]].seen = e->round;
	}
	changed = drop_gone(e);
	for (int i = 0; i < v->n_jobs; i++) {
		struct slot *s;

		if (e->slot_of[i] >= 0)
			continue;
		while (e->slot[free_slot].used)
			free_slot++;
		s = &e->slot[free_slot];
		strcpy(s->id, v->job[i].id);
		s->hash = hash_id(s->id);
		s->used = true;
		s->seen = e->round;
		e->slot_of[i] = free_slot;
		changed = true;
	}
	if (!changed || fill_buckets(e))
		return 0;
	for (int i = 0; i < v->n_jobs; i++)
		if (slot_by_id(e, v->job[i].id) != e->slot_of[i])
			return err_set(err, -EINVAL, "job %s: twice in one view", v->job[i].id);
	return 0;
}

static uint32_t needs_now(const struct engine *e)
{
	return e->ops->needs_now ? e->ops->needs_now(e->policy) : e->ops->needs;
}

static uint32_t missing_of(uint32_t needs, const struct view_job *j)
{
	uint32_t missing = 0;

	for (; needs; needs &= needs - 1) {
		int s = __builtin_ctz(needs);

		if (j->signal[s].provenance == PROVENANCE_NONE ||
			!signal_is_sane((enum signal_id)s, j->signal[s].value))
			missing |= SIGNAL_BIT(s);
	}
	return missing;
}

static int check_signals(const struct engine *e, const struct view *v, struct errbuf *err)
{
	uint32_t needs = needs_now(e);

	for (int i = 0; i < v->n_jobs && needs; i++) {
		bool placed = !v->job[i].excluded &&
			      (v->job[i].nodes <= 1 || e->cfg.multi_node_independent);
		uint32_t missing = placed ? missing_of(needs, &v->job[i]) : 0;

		if (missing)
			return policy_no_signal(err, e->ops->name, &v->job[i],
				(enum signal_id)__builtin_ctz(missing));
	}
	return 0;
}

bool engine_has_signals(const struct engine *e, const struct view *v)
{
	struct errbuf unused;

	return check_signals(e, v, &unused) == 0;
}

/* Who shares the first slice was dealt cores as if the others were not there: their slices are
 * what it does not know of. */
static void say_turns(struct plan *p)
{
	const struct plan_slice *rest = &p->slice[0];

	for (int k = 0; p->want_explain && p->n_slices > 1 && k < rest->n_jobs; k++) {
		char was[PLAN_WHY_MAX];
		int i = rest->job[k];

		if (p->job[i].role == ROLE_GANG)
			continue;
		memcpy(was, p->job[i].why, sizeof(was));
		plan_why(p, i, "%.120s%sin turns with %d other%s", was, *was ? "; " : "",
			p->n_slices - 1, p->n_slices > 2 ? "s" : "");
	}
}

static void finish(const struct engine *e, const struct view *v, struct plan *p)
{
	p->moves = 0;
	for (int i = 0; i < p->n_jobs; i++) {
		p->job[i].cores = topo_count_cores(e->cfg.topo, &p->job[i].coreset);
		if (!bits_equal_all(&p->job[i].coreset, &v->job[i].current) &&
			p->job[i].role != ROLE_EXCLUDED && !p->observe)
			p->moves++;
	}
	p->keep = p->moves == 0;
}

int engine_decide(struct engine *e, const struct view *asked, struct plan *ret, struct errbuf *err)
{
	struct view at;
	const struct view *v = &at;
	int rc;

	if (asked->n_jobs > e->cfg.max_jobs)
		return err_set(err, -EINVAL, "%d jobs: the engine was made for %d", asked->n_jobs,
			e->cfg.max_jobs);
	believe(e, asked, &at);
	rc = match_slots(e, v, err);
	if (!rc)
		rc = check_signals(e, v, err);
	if (!rc)
		rc = plan_reset(ret, v, e->cfg.topo, err);
	if (!rc)
		rc = e->ops->decide(e->policy, v, e->slot_of, ret, err);
	if (rc)
		return rc;
	shared_turns_plan(&e->shared_turns, e->cfg.topo, v, ret);
	finish(e, v, ret);
	say_turns(ret);
	say_dropped(e, asked, ret);
	rc = plan_check(ret, v, e->cfg.topo, e->cfg.share_smt, err);
	return rc ? err_wrap(err, -EPROTO, "policy '%s'", e->ops->name) : 0;
}
