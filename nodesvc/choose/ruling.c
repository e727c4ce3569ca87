/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ruling.c - which policy rules: its engine and the fallback's, from start to reload, and who may
 * bring one in. What they decide is decide.c's.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nodesvc/measure/measure.h"
#include "nodesvc/choose/quarantine.h"
#include "nodesvc/choose/settled.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/base/log.h"

/* Of memory, at most. */
#define TRAIL_BYTES (1u << 20)

int decide_options(struct daemon *d, const char *spec, struct policy_option *ret, int max)
{
	size_t len = strcspn(spec, ",");
	const struct policy_ops *ops;
	char name[64];
	int n = 0;

	/* First, so that anything more particular stands after it. */
	snprintf(name, sizeof(name), "%.*s", (int)len, spec);
	ops = policy_find(name);
	if (ops && ops->options && strstr(ops->options, "slice_ms=") && n < max) {
		snprintf(d->slice_ms, sizeof(d->slice_ms), "%d", d->conf.gang_slice_ms);
		ret[n++] = (struct policy_option){"slice_ms", d->slice_ms};
	}
	for (int i = 0; i < d->conf.policy_options.n && n < max; i++) {
		const struct conf_pair *p = &d->conf.policy_options.pair[i];

		if (strncmp(p->key, spec, len) == 0 && p->key[len] == '.')
			ret[n++] = (struct policy_option){p->key + len + 1, p->value};
	}
	return n;
}

static int make_engine(struct daemon *d, const char *spec, struct engine **ret, struct errbuf *err)
{
	struct policy_option options[CONF_LIST_MAX + 1];
	struct policy_cfg cfg = {
		.topo = d->node.topo,
		.max_jobs = JOBS_MAX,
		.share_smt = d->conf.share_smt,
		.multi_node_independent = d->conf.multi_node == MULTI_NODE_INDEPENDENT,
		.option = options,
	};

	settled_forget();
	cfg.n_options = decide_options(d, spec, options, CONF_LIST_MAX + 1);
	return engine_create(ret, spec, &cfg, err);
}

static int set_ruling(struct daemon *d, const char *spec, const char *by, struct errbuf *err)
{
	struct engine *e;
	int rc = make_engine(d, spec, &e, err);

	if (rc < 0)
		return rc;
	engine_free(d->engine);
	d->engine = e;
	d->engine_is_new = true;
	snprintf(d->ruling, sizeof(d->ruling), "%s", spec);
	snprintf(d->ruling_by, sizeof(d->ruling_by), "%s", by);
	recording_engine(d, false);
	quarantine_stale(d);
	return 0;
}

int decide_renew(struct daemon *d, struct errbuf *err)
{
	struct engine *ruling, *fallback;
	int rc = make_engine(d, d->ruling, &ruling, err);

	if (rc < 0)
		return rc;
	rc = make_engine(d, d->conf.fallback, &fallback, err);
	if (rc < 0) {
		engine_free(ruling);
		return rc;
	}
	engine_free(d->engine);
	engine_free(d->fallback);
	d->engine = ruling;
	d->engine_is_new = true;
	d->fallback = fallback;
	recording_engine(d, false);
	recording_engine(d, true);
	return 0;
}

/*
 * Nobody is placed: what a policy remembers is of no use. It begins anew where the trail would
 * else grow for as long as the service runs, and where the ruling one does so in any case.
 */
static void begin_anew(struct daemon *d, bool ruling_is_new)
{
	struct engine *fallback;
	struct errbuf err;

	if (!ruling_is_new && trail_bytes(d->trail) > TRAIL_BYTES / 4)
		decide_renew(d, &err);
	if (!ruling_is_new || make_engine(d, d->conf.fallback, &fallback, &err) < 0)
		return;
	engine_free(d->fallback);
	d->fallback = fallback;
	recording_engine(d, true);
}

int decide_open(struct daemon *d, struct errbuf *err)
{
	int rc = plan_init(&d->plan, JOBS_MAX, err);

	if (rc == 0)
		rc = trail_create(&d->trail, TRAIL_BYTES, err);
	if (rc < 0)
		return rc;
	d->plan.want_explain = true;
	rc = make_engine(d, d->conf.fallback, &d->fallback, err);
	if (rc < 0)
		return err_wrap(err, rc, "key 'fallback'");
	rc = set_ruling(d, d->conf.policy, "", err);
	if (rc < 0)
		return err_wrap(err, rc, "key 'policy'");
	recording_engine(d, true);
	rc = trial_open(d, err);
	return rc < 0 ? rc : loop_add_timer(d->loop, decide_tick, d, &d->tick, err);
}

void decide_close(struct daemon *d)
{
	engine_free(d->engine);
	engine_free(d->fallback);
	d->engine = d->fallback = NULL;
	trail_free(d->trail);
	d->trail = NULL;
	plan_done(&d->plan);
	if (d->tick)
		loop_remove(d->loop, d->tick);
	if (d->trial.timer)
		loop_remove(d->loop, d->trial.timer);
	d->tick = d->trial.timer = NULL;
}

int decide_reconfigure(struct daemon *d, struct errbuf *err)
{
	struct engine *fallback;
	int rc = make_engine(d, d->conf.fallback, &fallback, err);

	if (rc < 0)
		return err_wrap(err, rc, "key 'fallback'");
	/* A policy that a user's step brought in goes on ruling until the set is empty. */
	rc = *d->ruling_by ? 0 : set_ruling(d, d->conf.policy, "", err);
	if (rc < 0) {
		engine_free(fallback);
		return err_wrap(err, rc, "key 'policy'");
	}
	engine_free(d->fallback);
	d->fallback = fallback;
	recording_engine(d, true);
	quarantine_stale(d);
	if (d->ticking) {
		d->ticking = false;
		sampler_restart(d->measure);
		decide_start_ticking(d);
	}
	return 0;
}

static bool listed(const struct conf_list *l, const char *item, size_t len)
{
	for (int i = 0; i < l->n; i++)
		if (strncmp(l->item[i], item, len) == 0 && l->item[i][len] == '\0')
			return true;
	return l->n == 0;
}

int decide_admit(struct daemon *d, const char *spec, const char *step_id, char *ret_reason,
	size_t size, struct errbuf *err)
{
	const char *want = *spec ? spec : d->conf.policy;
	size_t len = strcspn(want, ",");
	bool empty = jobs_count_managed(&d->jobs) == 0;
	char name[64];

	*ret_reason = '\0';
	snprintf(name, sizeof(name), "%.*s", (int)len, want);
	if (*spec) {
		const struct policy_ops *ops = policy_find(name);

		if (!ops || !ops->on_node)
			return err_set(err, -EINVAL, "policy '%s' does not run on a node", name);
		if (!listed(&d->conf.allow_policies, name, len))
			return err_set(err, -EPERM, "policy '%s' is not in allow_policies", name);
	}
	if (empty && (!*spec || d->conf.policy_lock)) {
		bool other = strcmp(d->ruling, d->conf.policy) != 0 || *d->ruling_by;

		if (other) {
			int rc = set_ruling(d, d->conf.policy, "", err);

			if (rc < 0)
				return rc;
		}
		begin_anew(d, other);
	} else if (empty) {
		int rc = set_ruling(d, want, step_id, err);

		if (rc < 0)
			return rc;
		begin_anew(d, true);
		log_info("policy %s rules: step %s asked for it", d->ruling, step_id);
	}
	if (*spec && strcmp(d->ruling, want) != 0) {
		const char *why = d->conf.policy_lock ? "policy_lock" : "the running set has it";

		if (d->conf.policy_conflict == CONFLICT_REFUSE)
			return err_set(err, -EPERM,
				"policy '%s' asked for, '%s' rules (%s), and policy_conflict is "
				"refuse",
				want, d->ruling, why);
		snprintf(ret_reason, size, "asked for %s; %s rules (%s)", want, d->ruling, why);
	}
	return 0;
}
