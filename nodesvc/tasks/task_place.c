/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/tasks/task_place.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_policy(const char *spec, const char *name)
{
	size_t n = strlen(name);

	return strncmp(spec, name, n) == 0 && (spec[n] == '\0' || spec[n] == ',');
}

int task_placer_init(struct task_placer *p, const char *policy, const struct topo *topo,
	const struct coreset *fast, uint64_t seed, struct errbuf *err)
{
	struct policy_cfg cfg = {.topo = topo, .max_jobs = 1};
	int rc;

	memset(p, 0, sizeof(*p));
	p->fast = fast;
	p->seed = seed;
	p->ignores_priority = is_policy(policy, "das-rws") || is_policy(policy, "das-rwsm-c");
	if (strncmp(policy, "das-", 4) != 0)
		return err_set(err, -EINVAL, "policy '%s': tasks are placed by das-* only", policy);
	rc = engine_create(&p->engine, policy, &cfg, err);
	if (!rc)
		rc = plan_init(&p->plan, 1, err);
	if (rc)
		task_placer_done(p);
	return rc;
}

void task_placer_done(struct task_placer *p)
{
	engine_free(p->engine);
	plan_done(&p->plan);
	p->engine = NULL;
}

static int ask(struct task_placer *p, double now_s, const struct view_job *job, struct errbuf *err)
{
	struct view v = {
		.now_s = now_s,
		.seed = p->seed,
		.event = p->sample,
		.n_events = p->n_samples,
		.job = job,
		.n_jobs = job ? 1 : 0,
		.fast_cores = p->fast,
	};

	p->n_samples = 0;
	return engine_decide(p->engine, &v, &p->plan, err);
}

int task_placer_report(struct task_placer *p, double now_s, const char *type, struct task_place at,
	double seconds, struct errbuf *err)
{
	int rc = p->n_samples == TASK_SAMPLES_MAX ? ask(p, now_s, NULL, err) : 0;

	p->sample[p->n_samples++] = (struct event){
		.type = EVENT_TASK_DONE,
		.task_type = type,
		.core = at.core,
		.width = at.width,
		.seconds = seconds,
	};
	return rc;
}

int task_placer_decide(struct task_placer *p, double now_s, const char *type, bool high, int core,
	struct task_place *ret, struct errbuf *err)
{
	char id[JOB_ID_MAX];
	struct view_job job = {
		.id = id,
		.type = type,
		.order = (int64_t)p->n_decisions,
		.home_numa = -1,
		.rss_bytes = -1,
		.has_priority = true,
		.priority_high = high,
		.core = core,
		.envelope = p->usable,
	};
	int rc;

	/* Never the same id twice: a stolen task looks as if for the first time. */
	snprintf(id, sizeof(id), "%llu", (unsigned long long)p->n_decisions++);
	rc = ask(p, now_s, &job, err);
	if (!rc)
		*ret = (struct task_place){
			p->plan.job[0].place_core,
			p->plan.job[0].place_width,
		};
	return rc;
}
