/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/sim/task_machine.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Faster changes than this would be noise of a task, and cost an event each. */
#define PERIOD_MIN_S 1e-3

static int check_kinds(const struct task_machine *m, struct errbuf *err)
{
	for (int i = 0; i < m->n_kinds; i++) {
		const struct task_kind *k = &m->kind[i];

		if (!(k->speed > 0 && k->memory > 0 && k->hz > 0 && isfinite(k->speed) &&
			    isfinite(k->memory) && isfinite(k->hz)))
			return err_set(err, -EINVAL,
				"kind '%s': speed %g, memory %g, clock %g Hz: above 0 expected",
				k->name, k->speed, k->memory, k->hz);
	}
	return 0;
}

static int check_changes(const struct task_machine *m, struct errbuf *err)
{
	for (int i = 0; i < m->n_disturbs; i++) {
		const struct task_disturb *d = &m->disturb[i];

		if (!(d->share > 0 && d->share <= 1))
			return err_set(err, -EINVAL,
				"disturbance %d: share %g: above 0, at most 1 expected", i,
				d->share);
		if (!(d->bytes_per_s >= 0 && d->from_s >= 0 && d->until_s > d->from_s))
			return err_set(err, -EINVAL,
				"disturbance %d: from %g to %g s: no time between", i, d->from_s,
				d->until_s);
		if (d->period_s != 0 &&
			!(d->period_s >= PERIOD_MIN_S && d->on_s > 0 && d->on_s < d->period_s))
			return err_set(err, -EINVAL,
				"disturbance %d: %g of %g s: a period of %g s or more, on for a "
				"part of it expected",
				i, d->on_s, d->period_s, PERIOD_MIN_S);
		if ((d->from_task > 0 || d->until_task > 0) && d->until_task <= d->from_task)
			return err_set(err, -EINVAL,
				"disturbance %d: from task %d to %d: no task between", i,
				d->from_task, d->until_task);
		if (d->bytes_per_s > 0 && !(m->bytes_per_s > 0))
			return err_set(err, -EINVAL,
				"disturbance %d: wants bandwidth of a memory without end", i);
	}
	for (int i = 0; i < m->n_clocks; i++)
		for (int s = 0; s < m->clock[i].n_steps; s++)
			if (!(m->clock[i].hz[s] > 0 && m->clock[i].seconds[s] >= PERIOD_MIN_S))
				return err_set(err, -EINVAL,
					"clock %d: %g Hz for %g s: above 0 for %g s or more "
					"expected",
					i, m->clock[i].hz[s], m->clock[i].seconds[s], PERIOD_MIN_S);
	return 0;
}

static int check_cores(
	const struct task_machine *m, const struct coreset *s, const char *what, struct errbuf *err)
{
	struct coreset all = {{0}};

	coreset_add_range(&all, 0, (unsigned int)m->n_cores - 1);
	if (coreset_is_empty(s) || !coreset_is_subset(s, &all))
		return err_set(err, -EINVAL, "%s: cores 0 to %d expected", what, m->n_cores - 1);
	return 0;
}

/* Plain arrays as topo_load() makes them: hwloc has no text for partitions of unequal size. */
static int build_topo(struct task_machine *m, struct errbuf *err)
{
	struct topo *t = calloc(1, sizeof(*t));

	if (t) {
		t->core = calloc((size_t)m->node_cores, sizeof(*t->core));
		t->domain_core = calloc((size_t)m->node_cores, sizeof(*t->domain_core));
	}
	if (!t || !t->core || !t->domain_core) {
		topo_free(t);
		return err_set(err, -ENOMEM, "out of memory");
	}
	t->n_pus = t->n_cores = m->node_cores;
	t->n_packages = t->n_numa = 1;
	t->n_l2 = m->n_partitions;
	t->n_words = (m->node_cores + 63) / 64;
	for (int i = 0; i < CORESET_MAX; i++)
		t->pu_core[i] = (int16_t)(i < m->node_cores ? i : -1);
	for (int i = 0; i < m->node_cores; i++) {
		t->core[i].l3 = -1;
		t->core[i].l2 = m->core_partition[i];
		coreset_add(&t->core[i].pus, (unsigned int)i);
		coreset_add(&t->all, (unsigned int)i);
	}
	m->topo = t;
	return topo_set_domains(t, TOPO_L2, err);
}

int task_machine_init(struct task_machine *m, struct errbuf *err)
{
	int rc;

	int n = 0;

	m->topo = NULL;
	m->n_nodes = m->n_nodes > 0 ? m->n_nodes : 1;
	coreset_zero(&m->fast);
	for (int p = 0; p < m->n_partitions; p++) {
		if (m->partition[p].n_cores < 1 ||
			(n + m->partition[p].n_cores) * m->n_nodes > TASK_CORES_MAX)
			return err_set(err, -EINVAL, "partitions: 1 to %d cores in all expected",
				TASK_CORES_MAX);
		m->first_core[p] = n;
		for (int i = 0; i < m->partition[p].n_cores; i++) {
			if (m->kind[m->partition[p].kind].fast)
				coreset_add(&m->fast, (unsigned int)n);
			m->core_partition[n++] = p;
		}
	}
	if (n == 0)
		return err_set(err, -EINVAL, "partitions: none");
	m->node_cores = n;
	m->n_cores = n * m->n_nodes;
	for (int c = n; c < m->n_cores; c++)
		m->core_partition[c] = m->core_partition[c - n];
	rc = check_kinds(m, err);
	if (!rc)
		rc = check_changes(m, err);
	if (!rc && !(m->steal_s > 0 && m->decide_s >= 0 && m->bytes_per_s >= 0))
		rc = err_set(err, -EINVAL, "steal %g s: above 0 expected", m->steal_s);
	if (!rc)
		rc = build_topo(m, err);
	for (int i = 0; i < m->n_disturbs && !rc; i++)
		rc = check_cores(m, &m->disturb[i].cores, "disturbance", err);
	for (int i = 0; i < m->n_clocks && !rc; i++)
		rc = check_cores(m, &m->clock[i].cores, "clock", err);
	if (rc)
		task_machine_done(m);
	return rc;
}

void task_machine_done(struct task_machine *m)
{
	topo_free(m->topo);
	m->topo = NULL;
}

/* Times are counted from whole cycles, so that no sum of roundings stops the clock. */
static void schedule_disturb(struct task_weather *w, int i)
{
	const struct task_disturb *d = &w->m->disturb[i];
	double begin = d->from_s + (double)w->disturb_cycle[i] * d->period_s;

	if (w->on[i])
		w->disturb_next[i] =
			d->period_s > 0 ? fmin(begin + d->on_s, d->until_s) : d->until_s;
	else
		w->disturb_next[i] = begin < d->until_s ? begin : INFINITY;
}

static void schedule_clock(struct task_weather *w, int i)
{
	const struct task_clock *c = &w->m->clock[i];
	double cycle = 0, at = 0;

	for (int s = 0; s < c->n_steps; s++) {
		cycle += c->seconds[s];
		at += s <= w->step[i] ? c->seconds[s] : 0;
	}
	w->clock_next[i] = c->n_steps > 1 ? (double)w->clock_cycle[i] * cycle + at : INFINITY;
}

static bool is_its_turn(const struct task_weather *w, const struct task_disturb *d)
{
	return d->until_task == 0 || (w->n_ended >= d->from_task && w->n_ended < d->until_task);
}

static void settle(struct task_weather *w)
{
	const struct task_machine *m = w->m;
	bool on_node[TASK_NODES_MAX] = {false};

	w->next = INFINITY;
	memset(w->bytes_per_s, 0, sizeof(w->bytes_per_s));
	for (int c = 0; c < m->n_cores; c++) {
		w->share[c] = 1;
		w->clock_ratio[c] = 1;
	}
	for (int i = 0; i < m->n_disturbs; i++) {
		w->next = fmin(w->next, w->disturb_next[i]);
		if (!w->on[i] || !is_its_turn(w, &m->disturb[i]))
			continue;
		for (int c = 0; c < m->n_cores; c++)
			if (coreset_has(&m->disturb[i].cores, (unsigned int)c)) {
				w->share[c] *= m->disturb[i].share;
				on_node[c / m->node_cores] = true;
			}
		for (int node = 0; node < m->n_nodes; node++) {
			w->bytes_per_s[node] += on_node[node] ? m->disturb[i].bytes_per_s : 0;
			on_node[node] = false;
		}
	}
	for (int i = 0; i < m->n_clocks; i++) {
		w->next = fmin(w->next, w->clock_next[i]);
		for (int c = 0; c < m->n_cores; c++)
			if (coreset_has(&m->clock[i].cores, (unsigned int)c))
				w->clock_ratio[c] =
					m->clock[i].hz[w->step[i]] /
					m->kind[m->partition[m->core_partition[c]].kind].hz;
	}
}

void task_weather_start(struct task_weather *w, const struct task_machine *m)
{
	memset(w, 0, sizeof(*w));
	w->m = m;
	for (int i = 0; i < m->n_disturbs; i++) {
		w->on[i] = m->disturb[i].from_s == 0;
		schedule_disturb(w, i);
	}
	for (int i = 0; i < m->n_clocks; i++)
		schedule_clock(w, i);
	settle(w);
}

void task_weather_step(struct task_weather *w)
{
	const struct task_machine *m = w->m;
	double now = w->next;

	for (int i = 0; i < m->n_disturbs; i++) {
		if (w->disturb_next[i] > now)
			continue;
		w->disturb_cycle[i] += w->on[i];
		w->on[i] = !w->on[i];
		schedule_disturb(w, i);
		/* Without a period it was on once; past its end it never comes back. */
		if (!w->on[i] && (m->disturb[i].period_s == 0 || now >= m->disturb[i].until_s))
			w->disturb_next[i] = INFINITY;
	}
	for (int i = 0; i < m->n_clocks; i++) {
		if (w->clock_next[i] > now)
			continue;
		w->step[i]++;
		if (w->step[i] == m->clock[i].n_steps) {
			w->step[i] = 0;
			w->clock_cycle[i]++;
		}
		schedule_clock(w, i);
	}
	settle(w);
}

void task_weather_ended(struct task_weather *w)
{
	bool news = false;

	w->n_ended++;
	for (int i = 0; i < w->m->n_disturbs; i++)
		news |= w->m->disturb[i].until_task > 0 &&
			(w->n_ended == w->m->disturb[i].from_task ||
				w->n_ended == w->m->disturb[i].until_task);
	if (news)
		settle(w);
}
