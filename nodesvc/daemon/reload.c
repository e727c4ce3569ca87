/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reload.c - the checks a configuration passes beyond its syntax, and taking a new one. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nodesvc/books/books.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/engine/engine.h"
#include "nodesvc/base/log.h"

/* A policy that a start would make: it must be one, with good options, and one for a node. */
static int check_policy(
	const struct daemon *d, const char *key, const char *spec, struct errbuf *err)
{
	struct policy_cfg cfg = {.topo = d->node->topo, .max_jobs = 4};
	struct engine *e;
	bool on_node;
	int rc = engine_create(&e, spec, &cfg, err);

	if (rc < 0)
		return err_wrap(err, rc, "key '%s'", key);
	on_node = engine_policy(e)->on_node;
	engine_free(e);
	return on_node ? 0
		       : err_set(err, -EINVAL, "key '%s': policy '%s' does not run on a node", key,
				 spec);
}

/* Before a source is looked for: an event that the CPU does not have is a mistake, not a reason
 * to count less. */
static int check_events(const struct conf *c, struct errbuf *err)
{
	enum counter_id bad = COUNTER_COUNT;

	if (!counters_papi.set_events || !counters_papi.set_events(&c->events, &bad, err))
		return 0;
	return err_wrap(err, -EINVAL, "key 'events.%s'", counter_event_key(bad));
}

/* Policies and their options are checked too: "-t" must find what a start would. */
int reload_check(struct daemon *d, struct errbuf *err)
{
	static const char *const sources[] = {"auto", "papi", "perf", "none"};
	const struct conf *c = d->conf;
	int rc = check_policy(d, "policy", c->policy, err);

	if (rc == 0)
		rc = check_policy(d, "fallback", c->fallback, err);
	if (rc < 0)
		return rc;
	for (int i = 0; i < c->allow_policies.n; i++)
		if (!policy_find(c->allow_policies.item[i]))
			return err_set(err, -EINVAL, "key 'allow_policies': unknown policy '%s'",
				c->allow_policies.item[i]);
	for (const char *p = c->counters.source; *p; p += strcspn(p, ","), p += *p == ',') {
		size_t len = strcspn(p, ",");
		bool known = false;

		for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
			known |= strlen(sources[i]) == len && strncmp(sources[i], p, len) == 0;
		if (!known)
			return err_set(err, -EINVAL,
				"key 'counters.source': '%.*s' is none of auto, papi, perf, none",
				(int)len, p);
	}
	rc = check_events(c, err);
	if (rc < 0)
		return rc;
	if (c->phase.ratio != 0 && c->phase.ratio <= 1)
		return err_set(err, -EINVAL, "key 'phase.ratio': %g is neither 0 nor above 1",
			c->phase.ratio);
	for (int i = 0; i < c->policy_options.n; i++) {
		const struct conf_pair *p = &c->policy_options.pair[i];
		char spec[256];
		size_t len = strcspn(p->key, ".");
		struct policy_cfg cfg = {.topo = d->node->topo, .max_jobs = 4};
		struct engine *e;

		snprintf(spec, sizeof(spec), "%.*s,%s=%s", (int)len, p->key, p->key + len + 1,
			p->value);
		rc = engine_create(&e, spec, &cfg, err);
		if (rc < 0)
			return err_wrap(err, rc, "line %d, key 'policy_options'", p->line);
		engine_free(e);
	}
	return 0;
}

int reload_conf(struct daemon *d, struct conf *ret_old, struct errbuf *err)
{
	struct conf old = *d->conf, fresh;
	enum log_level level;
	int rc = conf_load(&fresh, d->course->conf_path, true, err);

	if (rc < 0)
		return rc;
	/* What only a restart takes stays as it is. */
	fresh.domain = old.domain;
	fresh.envelope = old.envelope;
	fresh.rebind = old.rebind;
	fresh.share_smt = old.share_smt;
	memcpy(fresh.store, old.store, sizeof(old.store));
	memcpy(fresh.socket, old.socket, sizeof(old.socket));
	fresh.events = old.events;
	memcpy(&fresh.counters.source, &old.counters.source, sizeof(old.counters.source));
	*d->conf = fresh;
	rc = node_reserve(d->node, &d->conf->reserve, err);
	if (rc == 0)
		rc = reload_check(d, err);
	if (rc == 0)
		rc = ruling_reconfigure(d->choose, err);
	if (rc < 0) {
		*d->conf = old;
		node_reserve(d->node, &d->conf->reserve, NULL);
		return rc;
	}
	if (log_level_parse(fresh.log, &level) == 0)
		log_init(level);
	metrics_reconfigure(d->books);
	*ret_old = old;
	log_info("configuration read again");
	return 0;
}
