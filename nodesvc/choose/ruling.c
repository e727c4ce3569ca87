/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ruling.c - which policy rules: its engine and the fallback's, from start to reload, and who may
 * bring one in. What they decide is decide.c's.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nodesvc/choose/internal.h"
#include "nodesvc/base/log.h"

/* Of memory, at most. */
#define RECENT_BYTES (1u << 20)

static int make_engine(struct choose *ch, const char *spec, struct engine **ret, struct errbuf *err)
{
	struct policy_option options[CONF_LIST_MAX + 1];
	struct policy_cfg cfg = {
		.topo = ch->node->topo,
		.max_jobs = JOBS_MAX,
		.share_smt = ch->conf->share_smt,
		.multi_node_independent = ch->conf->multi_node == MULTI_NODE_INDEPENDENT,
		.option = options,
	};

	settled_forget();
	ch->generation++;
	cfg.n_options = options_of(ch->conf, spec, options, CONF_LIST_MAX + 1);
	return engine_create(ret, spec, &cfg, err);
}

static int set_ruling(struct choose *ch, const char *spec, const char *by, struct errbuf *err)
{
	struct engine *e;
	int rc = make_engine(ch, spec, &e, err);

	if (rc < 0)
		return rc;
	engine_free(ch->engine);
	ch->engine = e;
	ch->engine_is_new = true;
	snprintf(ch->ruling, sizeof(ch->ruling), "%s", spec);
	snprintf(ch->ruling_by, sizeof(ch->ruling_by), "%s", by);
	recording_engine(ch, false);
	return 0;
}

int ruling_renew(struct choose *ch, struct errbuf *err)
{
	struct engine *ruling, *fallback;
	int rc = make_engine(ch, ch->ruling, &ruling, err);

	if (rc < 0)
		return rc;
	rc = make_engine(ch, ch->conf->fallback, &fallback, err);
	if (rc < 0) {
		engine_free(ruling);
		return rc;
	}
	engine_free(ch->engine);
	engine_free(ch->fallback);
	ch->engine = ruling;
	ch->engine_is_new = true;
	ch->fallback = fallback;
	recording_engine(ch, false);
	recording_engine(ch, true);
	return 0;
}

/*
 * Nobody is placed: what a policy remembers is of no use. It begins anew where the recent decisions
 * would else grow for as long as the service runs, and where the ruling one does so in any case.
 */
static void begin_anew(struct choose *ch, bool ruling_is_new)
{
	struct engine *fallback;
	struct errbuf err;

	if (!ruling_is_new && recent_bytes(ch->recent) > RECENT_BYTES / 4)
		ruling_renew(ch, &err);
	if (!ruling_is_new || make_engine(ch, ch->conf->fallback, &fallback, &err) < 0)
		return;
	engine_free(ch->fallback);
	ch->fallback = fallback;
	recording_engine(ch, true);
}

int ruling_open(struct choose *ch, struct errbuf *err)
{
	int rc = recent_create(&ch->recent, RECENT_BYTES, err);

	if (rc < 0)
		return rc;
	rc = make_engine(ch, ch->conf->fallback, &ch->fallback, err);
	if (rc < 0)
		return err_wrap(err, rc, "key 'fallback'");
	rc = set_ruling(ch, ch->conf->policy, "", err);
	if (rc < 0)
		return err_wrap(err, rc, "key 'policy'");
	recording_engine(ch, true);
	return 0;
}

void ruling_close(struct choose *ch)
{
	engine_free(ch->engine);
	engine_free(ch->fallback);
	ch->engine = ch->fallback = NULL;
	recent_free(ch->recent);
	ch->recent = NULL;
}

int ruling_reconfigure(struct choose *ch, struct errbuf *err)
{
	struct engine *fallback;
	int rc = make_engine(ch, ch->conf->fallback, &fallback, err);

	if (rc < 0)
		return err_wrap(err, rc, "key 'fallback'");
	/* A policy that a user's step brought in goes on ruling until the set is empty. */
	rc = *ch->ruling_by ? 0 : set_ruling(ch, ch->conf->policy, "", err);
	if (rc < 0) {
		engine_free(fallback);
		return err_wrap(err, rc, "key 'policy'");
	}
	engine_free(ch->fallback);
	ch->fallback = fallback;
	recording_engine(ch, true);
	return 0;
}

static bool listed(const struct conf_list *l, const char *item, size_t len)
{
	for (int i = 0; i < l->n; i++)
		if (strncmp(l->item[i], item, len) == 0 && l->item[i][len] == '\0')
			return true;
	return l->n == 0;
}

int ruling_admit(struct choose *ch, const char *spec, const char *step_id, char *ret_reason,
	size_t size, struct errbuf *err)
{
	const char *want = *spec ? spec : ch->conf->policy;
	size_t len = strcspn(want, ",");
	bool empty = jobs_count_managed(ch->jobs) == 0;
	char name[64];

	*ret_reason = '\0';
	snprintf(name, sizeof(name), "%.*s", (int)len, want);
	if (*spec) {
		const struct policy_ops *ops = policy_find(name);

		if (!ops || !ops->on_node)
			return err_set(err, -EINVAL, "policy '%s' does not run on a node", name);
		if (!listed(&ch->conf->allow_policies, name, len))
			return err_set(err, -EPERM, "policy '%s' is not in allow_policies", name);
	}
	if (empty && (!*spec || ch->conf->policy_lock)) {
		bool other = strcmp(ch->ruling, ch->conf->policy) != 0 || *ch->ruling_by;

		if (other) {
			int rc = set_ruling(ch, ch->conf->policy, "", err);

			if (rc < 0)
				return rc;
		}
		begin_anew(ch, other);
	} else if (empty) {
		int rc = set_ruling(ch, want, step_id, err);

		if (rc < 0)
			return rc;
		begin_anew(ch, true);
		log_info("policy %s rules: step %s asked for it", ch->ruling, step_id);
	}
	if (*spec && strcmp(ch->ruling, want) != 0) {
		const char *why = ch->conf->policy_lock ? "policy_lock" : "the running set has it";

		if (ch->conf->policy_conflict == CONFLICT_REFUSE)
			return err_set(err, -EPERM,
				"policy '%s' asked for, '%s' rules (%s), and policy_conflict is "
				"refuse",
				want, ch->ruling, why);
		snprintf(ret_reason, size, "asked for %s; %s rules (%s)", want, ch->ruling, why);
	}
	return 0;
}
