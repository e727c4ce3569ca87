/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * papi.c - counts from PAPI's presets or from the events that the site names, attached to each
 * thread of a step. The only file that includes papi.h.
 *
 * Where no PMU is there PAPI_attach() fails, and a set started all the same counts the caller:
 * every return code is checked, and an event is only provided when it counted a child's known
 * work (one may also start well and stay at 0).
 */
#include <errno.h>
#include <math.h>
#include <papi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc.h"
#include "nodesvc/counters/counters.h"
#include "nodesvc/counters/cover.h"
#include "nodesvc/counters/probe.h"

struct papi_event {
	enum counter_id counter;
	int level; /* cache level it speaks of; 0 none */
	const char *name;
	double factor;
};

/* The instructions are the first: where they do not count nothing of PAPI's does. */
static const struct papi_event presets[] = {
	{COUNTER_INSTRUCTIONS, 0, "PAPI_TOT_INS", 1},
	{COUNTER_CYCLES, 0, "PAPI_TOT_CYC", 1},
	{COUNTER_LOADS, 0, "PAPI_LD_INS", 1},
	{COUNTER_LLC_REFS, 3, "PAPI_L3_TCA", 1},
	{COUNTER_LLC_MISSES, 3, "PAPI_L3_TCM", 1},
	{COUNTER_LLC_REFS, 2, "PAPI_L2_TCA", 1},
	{COUNTER_LLC_MISSES, 2, "PAPI_L2_TCM", 1},
};
#define N_PRESETS (sizeof(presets) / sizeof(presets[0]))

/* What the site named, and why it is not what counts. */
static struct counter_events site;
static char site_why[COUNTER_COUNT][256];

/* The events tried: the site's, else the presets. What the probe saw counting; the machine does
 * not change while we run. */
static struct papi_event events[N_PRESETS + COUNTER_COUNT];
static const struct papi_event *chosen[COUNTER_COUNT];
static bool usable, can_inherit;

struct counters {
	struct cover cover;
	int *set; /* one event set per attached thread */
	int n_sets;
	bool multiplexed;
};

/* Ends an event set in whatever state it is. */
static void set_end(int set)
{
	long long ignored[COUNTER_COUNT];
	int state = 0;

	if (set == PAPI_NULL)
		return;
	if (PAPI_state(set, &state) == PAPI_OK && state & PAPI_RUNNING)
		PAPI_stop(set, ignored);
	PAPI_cleanup_eventset(set);
	PAPI_destroy_eventset(&set);
}

static int fail(struct errbuf *err, const char *call, const char *what, int code)
{
	return err_set(err, -ENOTSUP, "%s%s%s%s: %s", call, what ? "(" : "", what ? what : "",
		what ? ")" : "", PAPI_strerror(code));
}

/*
 * Starts @n events on thread @tid. -ENOTSUP with PAPI's reason; -EBUSY: they do not fit into the
 * PMU together.
 */
static int set_start(int *ret, pid_t tid, const struct papi_event *const *event, int n,
	bool inherit, bool multiplex, struct errbuf *err)
{
	PAPI_option_t opt;
	int set = PAPI_NULL, code, rc = -ENOTSUP;

	code = PAPI_create_eventset(&set);
	if (code != PAPI_OK)
		return fail(err, "PAPI_create_eventset", NULL, code);
	code = PAPI_assign_eventset_component(set, 0);
	if (code != PAPI_OK) {
		fail(err, "PAPI_assign_eventset_component", NULL, code);
		goto out;
	}
	if (inherit) {
		memset(&opt, 0, sizeof(opt));
		opt.inherit.eventset = set;
		opt.inherit.inherit = PAPI_INHERIT_ALL;
		code = PAPI_set_opt(PAPI_INHERIT, &opt);
		if (code != PAPI_OK) {
			fail(err, "PAPI_set_opt", "PAPI_INHERIT", code);
			goto out;
		}
	}
	if (multiplex) {
		code = PAPI_set_multiplex(set);
		if (code != PAPI_OK) {
			fail(err, "PAPI_set_multiplex", NULL, code);
			goto out;
		}
	}
	code = PAPI_attach(set, (unsigned long)tid);
	if (code != PAPI_OK) {
		fail(err, "PAPI_attach", NULL, code);
		goto out;
	}
	for (int i = 0; i < n; i++) {
		code = PAPI_add_named_event(set, event[i]->name);
		if (code != PAPI_OK) {
			rc = fail(err, "PAPI_add_named_event", event[i]->name, code);
			rc = code == PAPI_ECNFLCT || code == PAPI_ECOUNT ? -EBUSY : rc;
			goto out;
		}
	}
	code = PAPI_start(set);
	if (code != PAPI_OK) {
		rc = fail(err, "PAPI_start", NULL, code);
		goto out;
	}
	*ret = set;
	return 0;
out:
	set_end(set);
	return rc;
}

static uint64_t scaled(const struct papi_event *e, long long count)
{
	if (count <= 0)
		return 0;
	return e->factor == 1 ? (uint64_t)count : (uint64_t)((double)count * e->factor);
}

/* Does @p count a child's work, and not ours? */
static int try_event(const struct papi_event *p, bool inherit, struct errbuf *why)
{
	struct probe_child child;
	long long count = -1;
	int set = PAPI_NULL, code, rc;

	rc = probe_child_start(&child, why);
	if (rc)
		return rc;
	rc = set_start(&set, child.pid, &p, 1, inherit, false, why);
	if (!rc) {
		rc = probe_child_go(&child, why);
		code = PAPI_read(set, &count);
		if (!rc && code != PAPI_OK)
			rc = fail(why, "PAPI_read", p->name, code);
		if (!rc && (count < 0 || !probe_is_plausible(p->counter, scaled(p, count))))
			rc = err_set(why, -ENOTSUP,
				"%s attached to a child reads %lld for %lu million loop turns: "
				"it does not count the child",
				p->name, count, (unsigned long)(PROBE_TURNS / 1000000));
		set_end(set);
	}
	probe_child_finish(&child);
	return rc;
}

static const char *papi_event(enum counter_id c, const char **ret_remark)
{
	*ret_remark = site_why[c][0]                         ? site_why[c]
		      : c == COUNTER_MEM_BYTES && !chosen[c] ? "no preset counts memory bytes"
							     : NULL;
	return chosen[c] ? chosen[c]->name : NULL;
}

static int start_library(struct errbuf *why)
{
	int code =
		PAPI_is_initialized() ? (int)PAPI_VER_CURRENT : PAPI_library_init(PAPI_VER_CURRENT);

	if (code == (int)PAPI_VER_CURRENT)
		return 0;
	return err_set(why, -ENOTSUP, "PAPI_library_init: %s",
		code < 0 ? PAPI_strerror(code) : "the library has another version than its header");
}

/* Does this CPU have the event, in a set of its own component? */
static int check_event(const char *name, struct errbuf *why)
{
	const PAPI_component_info_t *c;
	int id = 0, component, code;
	char copy[COUNTER_EVENT_MAX]; /* PAPI 7.0 wants to be able to write to it */

	snprintf(copy, sizeof(copy), "%s", name);
	code = PAPI_event_name_to_code(copy, &id);
	if (code != PAPI_OK)
		return err_set(why, -EINVAL, "PAPI knows no event '%s' of this CPU: %s", name,
			PAPI_strerror(code));
	component = PAPI_get_event_component(id);
	c = component > 0 ? PAPI_get_component_info(component) : NULL;
	if (component > 0)
		return err_set(why, -EINVAL, "'%s' is of PAPI's component %s, which knows no tasks",
			name, c ? c->short_name : "?");
	return 0;
}

static int papi_set_events(
	const struct counter_events *e, enum counter_id *ret_bad, struct errbuf *why)
{
	const PAPI_component_info_t *cpu;

	for (int c = 0; c < COUNTER_COUNT; c++) {
		int rc = 0;

		if (!e->of[c].name[0])
			continue;
		*ret_bad = (enum counter_id)c;
		/* PAPI refuses to have an event in a set twice. */
		for (int b = 0; b < c; b++)
			if (!strcmp(e->of[b].name, e->of[c].name))
				return err_set(why, -EINVAL, "'%s' counts the %s already",
					e->of[c].name, counter_name((enum counter_id)b));
		cpu = start_library(NULL) ? NULL : PAPI_get_component_info(0);
		if (cpu && !cpu->disabled)
			rc = check_event(e->of[c].name, why);
		if (rc)
			return rc;
	}
	/* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): or it is tried again */
	if (memcmp(&site, e, sizeof(site)) != 0) {
		site = *e;
		usable = false;
	}
	return 0;
}

/* Fills events[]; returns how many. */
static size_t list_events(void)
{
	size_t n = 0;

	for (int c = 0; c < COUNTER_COUNT; c++) {
		site_why[c][0] = '\0';
		if (site.of[c].name[0])
			events[n++] = (struct papi_event){
				(enum counter_id)c, 0, site.of[c].name, site.of[c].factor};
		for (size_t i = 0; i < N_PRESETS && !site.of[c].name[0]; i++)
			if (presets[i].counter == (enum counter_id)c)
				events[n++] = presets[i];
	}
	return n;
}

static bool is_chosen(const char *name)
{
	for (int c = 0; c < COUNTER_COUNT; c++)
		if (chosen[c] && !strcmp(chosen[c]->name, name))
			return true;
	return false;
}

/* Its plain form is tried when inheriting does not work; the first that counts decides for all. */
static int try_forms(const struct papi_event *e, bool decided, struct errbuf *why)
{
	int rc;

	if (is_chosen(e->name))
		return err_set(why, -EINVAL, "%s counts something else already", e->name);
	if (!decided)
		can_inherit = true;
	rc = try_event(e, can_inherit, why);
	if (rc && !decided) {
		can_inherit = false;
		rc = try_event(e, false, why);
	}
	return rc;
}

static int papi_probe(uint32_t *ret_provides, struct errbuf *why)
{
	const PAPI_component_info_t *cpu;
	const PAPI_hw_info_t *hw;
	uint32_t provides = 0;
	size_t n = list_events();
	int levels, rc, first_rc = 0;

	usable = false;
	memset(chosen, 0, sizeof(chosen));
	rc = start_library(why);
	if (rc)
		return rc;
	PAPI_multiplex_init(); /* a failure shows when a set needs it */
	cpu = PAPI_get_component_info(0);
	if (cpu && cpu->disabled)
		return err_set(why, -ENOTSUP, "component %s is disabled: %.120s", cpu->name,
			cpu->disabled_reason);
	hw = PAPI_get_hardware_info();
	levels = hw ? hw->mem_hierarchy.levels : 0;
	for (size_t i = 0; i < n; i++) {
		const struct papi_event *e = &events[i];
		bool sites = site.of[e->counter].name[0];
		struct errbuf reason = {""};

		if (chosen[e->counter] || (e->level && levels && e->level != levels))
			continue;
		/* Where the commonest preset fails the others are not worth a child each. */
		if (!sites && first_rc && !provides)
			continue;
		rc = try_forms(e, provides != 0, &reason);
		if (rc && sites)
			snprintf(site_why[e->counter], sizeof(site_why[0]), "not counting: %.230s",
				reason.text);
		if (rc && !first_rc) {
			first_rc = rc;
			err_set(why, rc, "%s", reason.text);
		}
		if (rc)
			continue;
		chosen[e->counter] = e;
		provides |= COUNTER_BIT(e->counter);
		if (sites)
			snprintf(site_why[e->counter], sizeof(site_why[0]),
				"named in the configuration%s", e->factor != 1 ? ", scaled" : "");
	}
	if (!provides)
		return err_wrap(why, first_rc, "no hardware counters for another process");
	usable = true;
	*ret_provides = provides;
	return 0;
}

static void papi_close(struct counters *c)
{
	if (!c)
		return;
	for (int i = 0; i < c->n_sets; i++)
		set_end(c->set[i]);
	free(c->set);
	cover_done(&c->cover);
	free(c);
}

static int add_set(struct counters *c, pid_t tid, struct errbuf *err)
{
	const struct papi_event *list[COUNTER_COUNT];
	int *grown = realloc(c->set, sizeof(*c->set) * (size_t)(c->n_sets + 1));
	int n = 0, rc;

	if (!grown)
		return err_set(err, -ENOMEM, "papi: out of memory");
	c->set = grown;
	for (int e = 0; e < COUNTER_COUNT; e++)
		if (chosen[e])
			list[n++] = chosen[e];
	rc = set_start(&c->set[c->n_sets], tid, list, n, can_inherit, c->multiplexed, err);
	if (rc == -EBUSY && !c->multiplexed && !c->n_sets) {
		c->multiplexed = true;
		rc = set_start(&c->set[c->n_sets], tid, list, n, can_inherit, true, err);
	}
	if (!rc)
		c->n_sets++;
	return rc;
}

static int take_up(struct counters *c, const struct counter_target *target, struct errbuf *err)
{
	for (int i = 0; i < target->n_tids; i++) {
		int rc = cover_take(&c->cover, target->tid[i]);

		if (rc < 0)
			return err_set(err, rc, "papi: out of memory");
		if (rc == 0)
			continue;
		rc = add_set(c, target->tid[i], err);
		/* A thread may end while it is attached to: that is no failure of the step. */
		if (rc && cover_is_alive(target->tid[i]))
			return rc;
	}
	cover_seal(&c->cover);
	return 0;
}

static int papi_open(struct counters **ret, const struct counter_target *target, struct errbuf *err)
{
	struct counters *c;
	uint32_t provides;
	int rc;

	if (!usable) {
		rc = papi_probe(&provides, err);
		if (rc)
			return rc;
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return err_set(err, -ENOMEM, "papi: out of memory");
	cover_init(&c->cover, can_inherit);
	rc = take_up(c, target, err);
	if (!rc && !c->n_sets)
		rc = err_set(err, -ESRCH, "papi: none of the step's threads is there");
	if (rc) {
		papi_close(c);
		return rc;
	}
	*ret = c;
	return 0;
}

static int papi_read(struct counters *c, const struct counter_target *target, struct sample *ret,
	struct errbuf *err)
{
	/* PAPI scales multiplexed counts but does not say by how much. */
	struct sample s = {.running_ratio = c->multiplexed ? NAN : 1.0};
	int rc;

	if (!target->n_tids)
		return err_set(err, -ESRCH, "papi: the step has no threads left");
	rc = take_up(c, target, err);
	if (rc)
		return rc;
	s.t_ns = ipc_now_ns();
	for (int i = 0; i < c->n_sets; i++) {
		long long value[COUNTER_COUNT];
		int code = PAPI_read(c->set[i], value), n = 0;

		if (code != PAPI_OK)
			return fail(err, "PAPI_read", NULL, code);
		for (int e = 0; e < COUNTER_COUNT; e++)
			if (chosen[e])
				s.count[e] += scaled(chosen[e], value[n++]);
	}
	for (int e = 0; e < COUNTER_COUNT; e++)
		if (chosen[e])
			s.valid |= COUNTER_BIT(e);
	*ret = s;
	return 0;
}

const struct counters_ops counters_papi = {
	.name = "papi",
	.set_events = papi_set_events,
	.event = papi_event,
	.probe = papi_probe,
	.open = papi_open,
	.read = papi_read,
	.close = papi_close,
};
