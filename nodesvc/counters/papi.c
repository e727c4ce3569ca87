/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * papi.c - counts from PAPI's presets, attached to each thread of a step. The only file that
 * includes papi.h.
 *
 * Where no PMU is there PAPI_attach() fails, and a set started all the same counts the caller:
 * every return code is checked, and a preset is only provided when it counted a child's known
 * work (a preset may also start well and stay at 0).
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

struct preset {
	enum counter_id counter;
	int level; /* cache level it speaks of; 0 none */
	const char *name;
};

static const struct preset presets[] = {
	{COUNTER_INSTRUCTIONS, 0, "PAPI_TOT_INS"},
	{COUNTER_CYCLES, 0, "PAPI_TOT_CYC"},
	{COUNTER_LOADS, 0, "PAPI_LD_INS"},
	{COUNTER_LLC_REFS, 3, "PAPI_L3_TCA"},
	{COUNTER_LLC_MISSES, 3, "PAPI_L3_TCM"},
	{COUNTER_LLC_REFS, 2, "PAPI_L2_TCA"},
	{COUNTER_LLC_MISSES, 2, "PAPI_L2_TCM"},
};
#define N_PRESETS (sizeof(presets) / sizeof(presets[0]))

/* What the probe saw counting; the machine does not change while we run. */
static const struct preset *chosen[COUNTER_COUNT];
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
 * Starts @n presets on thread @tid. -ENOTSUP with PAPI's reason; -EBUSY: they do not fit into the
 * PMU together.
 */
static int set_start(int *ret, pid_t tid, const struct preset *const *preset, int n, bool inherit,
	bool multiplex, struct errbuf *err)
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
		code = PAPI_add_named_event(set, preset[i]->name);
		if (code != PAPI_OK) {
			rc = fail(err, "PAPI_add_named_event", preset[i]->name, code);
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

/* Does @p count a child's work, and not ours? */
static int try_preset(const struct preset *p, bool inherit, struct errbuf *why)
{
	struct probe_child child;
	long long count = -1;
	int set, code, rc;

	rc = probe_child_start(&child, why);
	if (rc)
		return rc;
	rc = set_start(&set, child.pid, &p, 1, inherit, false, why);
	if (!rc) {
		rc = probe_child_go(&child, why);
		code = PAPI_read(set, &count);
		if (!rc && code != PAPI_OK)
			rc = fail(why, "PAPI_read", p->name, code);
		if (!rc && (count < 0 || !probe_is_plausible(p->counter, (uint64_t)count)))
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
	*ret_remark = c == COUNTER_MEM_BYTES ? "no preset counts memory bytes" : NULL;
	return chosen[c] ? chosen[c]->name : NULL;
}

static int papi_probe(uint32_t *ret_provides, struct errbuf *why)
{
	const PAPI_component_info_t *cpu;
	const PAPI_hw_info_t *hw;
	uint32_t provides = 0;
	int code, levels, rc;

	usable = false;
	memset(chosen, 0, sizeof(chosen));
	code = PAPI_is_initialized() ? (int)PAPI_VER_CURRENT : PAPI_library_init(PAPI_VER_CURRENT);
	if (code != (int)PAPI_VER_CURRENT)
		return err_set(why, -ENOTSUP, "PAPI_library_init: %s",
			code < 0 ? PAPI_strerror(code)
				 : "the library has another version than its header");
	PAPI_multiplex_init(); /* a failure shows when a set needs it */
	cpu = PAPI_get_component_info(0);
	if (cpu && cpu->disabled)
		return err_set(why, -ENOTSUP, "component %s is disabled: %.120s", cpu->name,
			cpu->disabled_reason);
	/* The first preset is the most common one; where it fails there is nothing else. Its
	 * plain form is tried when inheriting does not work. */
	can_inherit = true;
	rc = try_preset(&presets[0], true, why);
	if (rc) {
		can_inherit = false;
		rc = try_preset(&presets[0], false, why);
	}
	if (rc)
		return err_wrap(why, rc, "no hardware counters for another process");
	hw = PAPI_get_hardware_info();
	levels = hw ? hw->mem_hierarchy.levels : 0;
	chosen[presets[0].counter] = &presets[0];
	provides = COUNTER_BIT(presets[0].counter);
	for (size_t i = 1; i < N_PRESETS; i++) {
		const struct preset *p = &presets[i];

		if (chosen[p->counter] || (p->level && levels && p->level != levels))
			continue;
		if (try_preset(p, can_inherit, NULL))
			continue;
		chosen[p->counter] = p;
		provides |= COUNTER_BIT(p->counter);
	}
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
	const struct preset *list[COUNTER_COUNT];
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
				s.count[e] += (uint64_t)value[n++];
	}
	for (int e = 0; e < COUNTER_COUNT; e++)
		if (chosen[e])
			s.valid |= COUNTER_BIT(e);
	*ret = s;
	return 0;
}

const struct counters_ops counters_papi = {
	.name = "papi",
	.event = papi_event,
	.probe = papi_probe,
	.open = papi_open,
	.read = papi_read,
	.close = papi_close,
};
