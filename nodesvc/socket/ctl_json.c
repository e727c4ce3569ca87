/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/socket/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ipc.h"
#include "common/text.h"
#include "config.h"
#include "nodesvc/actuate/actuate.h"
#include "nodesvc/base/log.h"
#include "nodesvc/choose/choose.h"
#include "nodesvc/engine/policy.h"
#include "nodesvc/measure/measure.h"

#define ADD(o, key, value) json_object_object_add((o), (key), (value))

/* "" becomes null. */
static struct json_object *clean_text(const char *text)
{
	cleanup_free char *copy = text && *text ? strdup(text) : NULL;

	/* Of an older store, or cut in the middle of a character. */
	return copy ? json_object_new_string(text_clean(copy)) : NULL;
}

/* Empty: null. */
static struct json_object *cpulist(const struct coreset *s)
{
	char text[CORESET_STR_MAX];

	return clean_text(coreset_format(s, text, sizeof(text)));
}

static struct json_object *number(double v)
{
	return isfinite(v) ? json_object_new_double(v) : NULL;
}

/* Only what is known: a signal without provenance is left out. */
static struct json_object *signals(const struct step *s)
{
	struct json_object *o = json_object_new_object();

	for (int i = 0; i < SIGNAL_COUNT; i++) {
		const struct signal *sig = &s->signal[i];
		struct json_object *one;

		if (sig->provenance == PROVENANCE_NONE)
			continue;
		one = json_object_new_object();
		ADD(one, "value", number(sig->value));
		ADD(one, "provenance", json_object_new_string(provenance_name(sig->provenance)));
		ADD(o, signal_name((enum signal_id)i), one);
	}
	return o;
}

static struct json_object *known_text(const char *text)
{
	return text ? json_object_new_string(text) : NULL;
}

/* Speeds and what follows from them; null is unknown. */
static struct json_object *figures(const struct socket *k, struct step *s)
{
	struct json_object *o = json_object_new_object();
	struct step_figures f;

	corun_figures(k->measure, s, false, &f);
	ADD(o, "speed", number(s->seen.rate));
	ADD(o, "speed_unit", known_text(f.speed_unit));
	ADD(o, "speed_source",
		s->seen.has_last ? json_object_new_string(provenance_name(s->seen.last.basis))
				 : NULL);
	/* Done so far, and when that was known, CLOCK_MONOTONIC. */
	ADD(o, "work", s->seen.has_last ? number(s->seen.last.total) : NULL);
	ADD(o, "work_s", s->seen.has_last ? number((double)s->seen.last.t_ns / 1e9) : NULL);
	ADD(o, "calls", known_text(measure_calls_why(k->measure, s)));
	ADD(o, "shared_speed", number(f.shared_speed));
	ADD(o, "solo_speed", number(f.solo_speed));
	ADD(o, "solo_basis", known_text(f.speed_basis));
	ADD(o, "ntt_share", number(f.ntt_share));
	ADD(o, "ntt_full", number(f.ntt_full));
	ADD(o, "stp_share", number(f.stp_share));
	ADD(o, "stp_full", number(f.stp_full));
	ADD(o, "antt_share", number(f.antt_share));
	ADD(o, "antt_full", number(f.antt_full));
	ADD(o, "gain_placement", number(f.gain_placement));
	ADD(o, "gain_placement_lo", number(f.gain_placement_lo));
	ADD(o, "gain_placement_hi", number(f.gain_placement_hi));
	ADD(o, "gain_basis", known_text(f.gain_basis));
	ADD(o, "windows", json_object_new_int(s->seen.windows.n));
	ADD(o, "launch", known_text(f.launch));
	ADD(o, "unmeasured_s", number((double)f.gap_ns / 1e9));
	return o;
}

static void add_judgement(
	struct json_object *o, const struct judged *set, const struct judgement *j)
{
	ADD(o, "verdict", json_object_new_string(verdict_name(j->verdict)));
	ADD(o, "ratio", number(j->ratio));
	/* Nothing is bounded yet: 0 and infinity are no figures. */
	ADD(o, "lo", isfinite(j->hi) ? number(j->lo) : NULL);
	ADD(o, "hi", number(j->hi));
	ADD(o, "windows", json_object_new_int(j->windows));
	ADD(o, "basis", set ? clean_text(set->basis) : NULL);
	ADD(o, "until_unix_s",
		set && quarantine_is_active(set) ? json_object_new_int64(set->until_unix_s) : NULL);
}

/* Of the steps that run now: without names, users see it. */
static struct json_object *guard(const struct socket *k, const struct step *s)
{
	struct json_object *o = json_object_new_object();
	struct quarantine_says says;

	if (!step_is_managed(s))
		return o;
	quarantine_say(k->choose, &says);
	add_judgement(o, says.set, &says.judged);
	ADD(o, "policy", says.set ? json_object_new_string(says.set->policy) : NULL);
	ADD(o, "held", json_object_new_boolean(s->held));
	ADD(o, "why", clean_text(says.why));
	return o;
}

struct json_object *ctl_json_quarantine(const struct socket *k)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();
	struct quarantine_says says;

	quarantine_say(k->choose, &says);
	ADD(o, "enabled", json_object_new_boolean(k->conf->guard.enabled));
	for (int i = 0; i < quarantine_count(k->choose); i++) {
		const struct judged *set = quarantine_get(k->choose, i);
		struct json_object *one = json_object_new_object();
		struct judgement judged;
		char id[16];

		snprintf(id, sizeof(id), "%08x", quarantine_id(set));
		quarantine_judge(k->choose, set, &judged);
		ADD(one, "id", json_object_new_string(id));
		ADD(one, "policy", json_object_new_string(set->policy));
		ADD(one, "programs", clean_text(set->members));
		ADD(one, "node_type", clean_text(set->node_type));
		add_judgement(one, set, &judged);
		ADD(one, "quarantined", json_object_new_boolean(quarantine_is_active(set)));
		ADD(one, "times", json_object_new_int(set->times));
		ADD(one, "last_unix_s", json_object_new_int64(set->last_unix_s));
		ADD(one, "runs_now", json_object_new_boolean(set == says.set));
		json_object_array_add(list, one);
	}
	ADD(o, "sets", list);
	return o;
}

static struct json_object *phases(const struct step *s)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();
	const struct step_seen *t = &s->seen;

	ADD(o, "changes", json_object_new_int(t->changes));
	ADD(o, "now", t->n_phases ? json_object_new_int(t->phase_now + 1) : NULL);
	ADD(o, "last_change_unix", t->changes ? number(t->phase_unix_s) : NULL);
	for (int i = 0; i < t->n_phases; i++) {
		struct json_object *p = json_object_new_object();

		ADD(p, "phase", json_object_new_int(i + 1));
		ADD(p, "cores", json_object_new_int(t->phase[i].cores));
		ADD(p, "utilization", number(t->phase[i].utilization));
		ADD(p, "units_per_cpu_s", number(t->phase[i].intensity));
		ADD(p, "seconds", number(t->phase[i].seconds));
		json_object_array_add(list, p);
	}
	ADD(o, "table", list);
	return o;
}

static struct json_object *own_counters(const struct step *s)
{
	struct json_object *o = json_object_new_object();

	for (int i = 0; s->pages && i < COLOC_SLOT_NAMES; i++) {
		char name[COLOC_NAME_LEN + 1];
		double v;

		app_counter(s->pages->report, i, name, &v);
		if (*name)
			ADD(o, name, number(v));
	}
	return o;
}

/* Shares of its time; null is unknown. */
static struct json_object *waits(const struct step *s)
{
	const struct seen_waits *w = &s->seen.waits;
	struct json_object *o = *w->text ? json_object_new_object() : NULL;

	for (int i = 0; o && i < WAIT_CAUSES; i++)
		ADD(o, waits_key((enum wait_cause)i),
			i != WAIT_STALLED || w->sum.stalls
				? number(waits_share(&w->sum, (enum wait_cause)i))
				: NULL);
	if (o) {
		ADD(o, "largest", json_object_new_string(waits_name(waits_largest(&w->sum))));
		ADD(o, "text", json_object_new_string(w->text));
	}
	return o;
}

static struct json_object *turn(const struct socket *k, const struct step *s, int64_t now_ns)
{
	struct turn_told t;
	struct json_object *o;

	if (!rotate_tell(k->levers, s, now_ns, &t))
		return NULL;
	o = json_object_new_object();
	ADD(o, "runs", json_object_new_boolean(t.runs));
	ADD(o, "next_ms", json_object_new_int64(t.next_ns / 1000000));
	ADD(o, "slice_ms", json_object_new_int(t.slice_ms));
	ADD(o, "of", json_object_new_int(t.n_slices));
	return o;
}

struct json_object *ctl_json_step(const struct socket *k, const struct step *s)
{
	struct json_object *o = json_object_new_object();
	int64_t now_ns = ipc_now_ns();
	double elapsed_s = (double)(now_ns - s->start_mono_ns) / 1e9;
	bool placed = !coreset_is_empty(&s->coreset);

	ADD(o, "id", json_object_new_string(s->id));
	ADD(o, "job", json_object_new_int64(s->job_id));
	ADD(o, "step", json_object_new_int64(s->step_id));
	ADD(o, "node", clean_text(s->cgroup.node));
	ADD(o, "user", clean_text(s->user));
	ADD(o, "uid", json_object_new_int64(s->uid));
	ADD(o, "name", clean_text(s->job_name));
	ADD(o, "program", clean_text(s->program));
	ADD(o, "type", clean_text(s->type));
	ADD(o, "policy", clean_text(s->policy));
	ADD(o, "req_policy", clean_text(s->req_policy));
	ADD(o, "state", json_object_new_string(step_status_name(s->status)));
	ADD(o, "dry_run", json_object_new_boolean(s->dry_run || k->conf->dry_run));
	ADD(o, "cores",
		placed ? json_object_new_int(topo_count_cores(k->node->topo, &s->coreset)) : NULL);
	ADD(o, "coreset", cpulist(&s->coreset));
	ADD(o, "envelope", cpulist(&s->envelope));
	ADD(o, "slurm_cpus", cpulist(&s->slurm_step));
	ADD(o, "threads", s->threads ? json_object_new_int(s->threads) : NULL);
	ADD(o, "threads_why", clean_text(s->threads_why));
	ADD(o, "tasks", json_object_new_int(s->n_tasks));
	ADD(o, "signals", signals(s));
	ADD(o, "progress_unit",
		s->signal[SIGNAL_PROGRESS].provenance == PROVENANCE_APP ||
				s->signal[SIGNAL_PROGRESS].provenance == PROVENANCE_CALLS
			? json_object_new_string(speed_unit(s))
			: NULL);
	ADD(o, "waits", waits(s));
	ADD(o, "turn", turn(k, s, now_ns));
	ADD(o, "rebinds", json_object_new_int(s->rebinds));
	ADD(o, "reapplied", json_object_new_int(s->reapplied));
	ADD(o, "elapsed_s", json_object_new_double(elapsed_s));
	/* Of that; in none of the figures. */
	ADD(o, "suspended_s", json_object_new_double((double)step_suspended_ns(s, now_ns) / 1e9));
	ADD(o, "partners", clean_text(s->partners));
	ADD(o, "reason", clean_text(*step_reason(s) ? step_reason(s) : s->why));
	return o;
}

static struct json_object *decision(const struct decision *dec)
{
	struct json_object *o = json_object_new_object();

	ADD(o, "decision", json_object_new_int64((int64_t)dec->number));
	ADD(o, "t_unix", json_object_new_double(dec->t_unix));
	ADD(o, "event", json_object_new_string(dec->event));
	ADD(o, "policy", json_object_new_string(dec->policy));
	ADD(o, "from", cpulist(&dec->from));
	ADD(o, "to", cpulist(&dec->to));
	ADD(o, "moved", json_object_new_boolean(dec->moved));
	ADD(o, "score", number(dec->score));
	ADD(o, "why", clean_text(dec->why));
	ADD(o, "shares", clean_text(dec->shares));
	ADD(o, "explain", dec->explain ? json_tokener_parse(dec->explain->text) : NULL);
	return o;
}

struct json_object *ctl_json_explain(const struct socket *k, struct step *s)
{
	struct json_object *o = json_object_new_object();
	struct json_object *decisions = json_object_new_array();
	struct json_object *set = json_object_new_array(), *not_set = json_object_new_array();
	const struct decision *dec;

	ADD(o, "id", json_object_new_string(s->id));
	ADD(o, "now", ctl_json_step(k, s));
	ADD(o, "figures", figures(k, s));
	ADD(o, "guard", guard(k, s));
	ADD(o, "phases", phases(s));
	ADD(o, "counters", own_counters(s));
	for (int i = 0; (dec = step_get_decision(s, i)); i++)
		json_object_array_add(decisions, decision(dec));
	ADD(o, "decisions", decisions);
	for (int i = 0; i < s->n_env; i++) {
		struct json_object *v = json_object_new_object();

		ADD(v, "name", json_object_new_string(s->env[i].name));
		ADD(v, "value", json_object_new_string(s->env[i].value));
		if (*s->env[i].why)
			ADD(v, "why", json_object_new_string(s->env[i].why));
		else if (*s->threads_why && strstr(s->env[i].name, "_NUM_THREADS"))
			ADD(v, "why", clean_text(s->threads_why));
		json_object_array_add(*s->env[i].why ? not_set : set, v);
	}
	ADD(o, "launch_env", set);
	ADD(o, "not_set", not_set);
	return o;
}

/* What the node's counters may give. */
static const struct {
	enum signal_id signal;
	enum counter_id counter;
} COUNTED[] = {
	{SIGNAL_INSTRUCTIONS, COUNTER_INSTRUCTIONS},
	{SIGNAL_LOADS, COUNTER_LOADS},
	{SIGNAL_LLC_REFS, COUNTER_LLC_REFS},
	{SIGNAL_LLC_MISSES, COUNTER_LLC_MISSES},
	{SIGNAL_MEM_BYTES, COUNTER_MEM_BYTES},
};
#define N_COUNTED (sizeof(COUNTED) / sizeof(COUNTED[0]))

/* Does any counter the node has, or any live step's profile, give what the policy needs? */
static const char *missing_signal(const struct socket *k, uint32_t needs)
{
	for (int i = 0; i < SIGNAL_COUNT; i++) {
		bool there = i == SIGNAL_UTILIZATION;

		if (!(needs & SIGNAL_BIT(i)))
			continue;
		for (size_t c = 0; c < N_COUNTED; c++)
			there |= COUNTED[c].signal == (enum signal_id)i &&
				 k->node->counters.provides & COUNTER_BIT(COUNTED[c].counter);
		if (!there)
			return signal_name((enum signal_id)i);
	}
	return NULL;
}

struct json_object *ctl_json_policies(const struct socket *k)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();
	const uint32_t lacks = levers_lack(k->levers);
	struct choose_state choose;

	choose_get_state(k->choose, &choose);
	ADD(o, "ruling", json_object_new_string(choose.ruling));
	for (int i = 0; policy_registry[i]; i++) {
		const struct policy_ops *ops = policy_registry[i];
		struct json_object *p = json_object_new_object(), *needs = json_object_new_array();
		const char *missing = missing_signal(k, ops->needs);
		char reason[160] = "";

		for (int n = 0; n < SIGNAL_COUNT; n++)
			if (ops->needs & SIGNAL_BIT(n))
				json_object_array_add(needs,
					json_object_new_string(signal_name((enum signal_id)n)));
		if (!ops->on_node)
			snprintf(reason, sizeof(reason), "runs in colocsim only");
		else if (ops->asks & lacks)
			snprintf(reason, sizeof(reason),
				"asks for%s%s, not to be had on a node yet: %s decides",
				ops->asks & lacks & POLICY_ASKS_SLICES ? " time slices" : "",
				ops->asks & lacks & POLICY_ASKS_LENT ? " lent cores" : "",
				k->conf->fallback);
		else if (ops->asks & POLICY_ASKS_EXPERIMENTS)
			snprintf(reason, sizeof(reason),
				"experiments need each program's speed (libcoloc, or counters and "
				"one thread): else %s decides",
				k->conf->fallback);
		else if (missing)
			snprintf(reason, sizeof(reason),
				"no counter gives %s here: each program needs a stored profile, "
				"else %s decides",
				missing, k->conf->fallback);
		ADD(p, "name", json_object_new_string(ops->name));
		ADD(p, "summary", clean_text(ops->summary));
		ADD(p, "options", clean_text(ops->options));
		ADD(p, "needs", needs);
		ADD(p, "usable", json_object_new_boolean(ops->on_node && !(ops->asks & lacks)));
		ADD(p, "reason", clean_text(reason));
		json_object_array_add(list, p);
	}
	ADD(o, "policies", list);
	return o;
}

static struct json_object *report_lines(const char *report)
{
	struct json_object *list = json_object_new_array();

	while (*report) {
		size_t len = strcspn(report, "\n");

		if (len)
			json_object_array_add(list, json_object_new_string_len(report, (int)len));
		report += len + (report[len] == '\n');
	}
	return list;
}

/* The site's own events, as coloc.yaml has them; NULL none. */
static struct json_object *events_json(const struct conf *c)
{
	struct json_object *o = NULL;

	for (int i = 0; i < COUNTER_COUNT; i++) {
		char text[COUNTER_EVENT_TEXT_MAX];

		if (!c->events.of[i].name[0])
			continue;
		if (!o)
			o = json_object_new_object();
		ADD(o, counter_event_key((enum counter_id)i),
			json_object_new_string(counter_event_text(&c->events.of[i], text)));
	}
	return o;
}

/* Are calls counted here, and what does one cost? Else why not. */
static const char *calls_text(const struct socket *k, char *buf, size_t size)
{
	const char *why_not = measure_calls_why_not(k->measure);

	if (why_not)
		snprintf(buf, size, "%s", why_not);
	else
		snprintf(buf, size, "%.1f us a call that is counted",
			measure_calls_cost_ns(k->measure) / 1e3);
	return buf;
}

/* One more source of a signal; its reason is the caller's to add. */
static struct json_object *add_source(
	struct json_object *list, enum signal_id signal, const char *source, bool available)
{
	struct json_object *o = json_object_new_object();

	ADD(o, "name", json_object_new_string(signal_name(signal)));
	ADD(o, "source", json_object_new_string(source));
	ADD(o, "available", json_object_new_boolean(available));
	json_object_array_add(list, o);
	return o;
}

struct json_object *ctl_json_counters(const struct socket *k)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array(), *s;
	int reporting = 0;
	char text[192];

	for (int i = 0; i < k->jobs->n; i++)
		reporting += k->jobs->step[i]->signal[SIGNAL_PROGRESS].provenance == PROVENANCE_APP;
	ADD(o, "source", json_object_new_string(k->node->counters.ops->name));
	ADD(o, "report", report_lines(k->node->counters.report));
	s = add_source(list, SIGNAL_UTILIZATION, "schedstat", true);
	ADD(s, "reason", NULL);
	s = add_source(list, SIGNAL_PROGRESS, "app", reporting > 0);
	ADD(s, "reason",
		known_text(reporting ? NULL : "no step publishes its progress now (libcoloc)"));
	s = add_source(list, SIGNAL_PROGRESS, "calls", !measure_calls_why_not(k->measure));
	ADD(s, "reason", clean_text(calls_text(k, text, sizeof(text))));
	for (size_t i = 0; i < N_COUNTED; i++) {
		enum counter_id c = COUNTED[i].counter;
		bool hw = k->node->counters.provides & COUNTER_BIT(c);
		const char *event = NULL, *remark = NULL;
		char unused[COUNTER_EVENT_MAX + 64];

		if (k->node->counters.ops->event)
			event = k->node->counters.ops->event(c, &remark);
		s = add_source(
			list, COUNTED[i].signal, hw ? k->node->counters.ops->name : "profile", hw);
		ADD(s, "event", hw && event ? json_object_new_string(event) : NULL);
		if (!k->node->counters.ops->set_events && k->conf->events.of[c].name[0]) {
			snprintf(unused, sizeof(unused), "%s is not used: PAPI does not count here",
				k->conf->events.of[c].name);
			remark = unused;
		}
		if (!hw && !remark)
			remark = "no hardware counter; from the program's stored profile";
		ADD(s, "reason", known_text(remark));
	}
	ADD(o, "signals", list);
	return o;
}

/* What the node has, and what is set; or why it has nothing. */
static struct json_object *resctrl_json(const struct levers_state *state)
{
	const struct resctrl_caps *c = state->cache;
	char text[160];
	int n = 0;

	if (!c)
		return clean_text(state->cache_why_not);
	if (c->n_ways)
		n = snprintf(text, sizeof(text), "%d ways, ", c->n_ways);
	if (c->bandwidth_step)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "bandwidth by %d %%, ",
			c->bandwidth_step);
	snprintf(text + n, sizeof(text) - (size_t)n, "%d groups; %d clusters are set", c->n_groups,
		state->n_clusters);
	return json_object_new_string(text);
}

/* A list for each grouping domain: its cores, each by the PUs that are its hardware threads. */
static struct json_object *domain_cores(const struct topo *t)
{
	struct json_object *domains = json_object_new_array();

	for (int i = 0; i < t->n_domains; i++) {
		struct json_object *cores = json_object_new_array();

		for (int k = 0; k < t->domain[i].n_cores; k++)
			json_object_array_add(cores,
				cpulist(&t->core[t->domain_core[t->domain[i].first_core + k]].pus));
		json_object_array_add(domains, cores);
	}
	return domains;
}

void ctl_json_lags(const struct socket *k, const struct step *s, struct json_object *to)
{
	struct lag lag[LAGS_MAX];
	int n = reading_lags(k->measure, s, ipc_now_ns(), lag);

	for (int i = 0; i < n; i++) {
		struct json_object *o = json_object_new_object();

		ADD(o, "step", json_object_new_string(s->id));
		ADD(o, "what", json_object_new_string(lag[i].what));
		if (lag[i].of) {
			ADD(o, "left", json_object_new_int(lag[i].left));
			ADD(o, "of", json_object_new_int(lag[i].of));
		}
		if (lag[i].behind_ns)
			ADD(o, "behind_s", json_object_new_double((double)lag[i].behind_ns / 1e9));
		json_object_array_add(to, o);
	}
}

struct json_object *ctl_json_status(const struct socket *k)
{
	struct json_object *o = json_object_new_object(), *sig = json_object_new_object();
	struct json_object *events = events_json(k->conf);
	struct levers_state state;
	struct choose_state choose;
	char host[64] = "", calls[192];
	int tasks = 0;

	levers_get_state(k->levers, &state);
	choose_get_state(k->choose, &choose);
	gethostname(host, sizeof(host) - 1);
	for (int i = 0; i < k->jobs->n; i++)
		tasks += k->jobs->step[i]->n_alive;
	ADD(o, "version", json_object_new_string(PACKAGE_VERSION));
	ADD(o, "host", json_object_new_string(host));
	ADD(o, "node",
		clean_text(k->jobs->n && *k->jobs->step[0]->cgroup.node
				   ? k->jobs->step[0]->cgroup.node
				   : ""));
	ADD(o, "pid", json_object_new_int(getpid()));
	ADD(o, "uptime_s", json_object_new_double((double)(ipc_now_ns() - k->start_ns) / 1e9));
	ADD(o, "policy", json_object_new_string(choose.policy));
	ADD(o, "policy_spec", json_object_new_string(choose.ruling));
	ADD(o, "ruling_by",
		json_object_new_string(*choose.ruling_by ? choose.ruling_by : "configuration"));
	ADD(o, "fallback", json_object_new_string(k->conf->fallback));
	ADD(o, "domain", json_object_new_string(topo_level_name(k->node->topo->domain_level)));
	ADD(o, "n_domains", json_object_new_int(k->node->topo->n_domains));
	ADD(o, "domain_cores", domain_cores(k->node->topo));
	ADD(o, "envelope",
		json_object_new_string(k->conf->envelope == ENVELOPE_NODE ? "node" : "allocation"));
	ADD(o, "rebind",
		json_object_new_string(k->conf->rebind == REBIND_CPUSET ? "cpuset" : "masks"));
	ADD(o, "pus", cpulist(&k->node->topo->all));
	ADD(o, "reserved", cpulist(&k->conf->reserve));
	ADD(o, "node_type", clean_text(k->node->type));
	ADD(o, "interval_ms", json_object_new_int(k->conf->interval_ms));
	ADD(o, "tick_ms", json_object_new_int(k->conf->tick_ms));
	ADD(o, "actuator", json_object_new_string(actuate_get_ops(k->actuate)->name));
	ADD(o, "resctrl", resctrl_json(&state));
	ADD(o, "memory", json_object_new_string(state.memory));
	ADD(o, "idle", json_object_new_string(state.idle));
	ADD(sig, "source", json_object_new_string(k->node->counters.ops->name));
	ADD(sig, "report", report_lines(k->node->counters.report));
	ADD(sig, "calls", json_object_new_boolean(!measure_calls_why_not(k->measure)));
	ADD(sig, "calls_text", clean_text(calls_text(k, calls, sizeof(calls))));
	ADD(o, "signals", sig);
	ADD(o, "steps", json_object_new_int(k->jobs->n));
	ADD(o, "tasks", json_object_new_int(tasks));
	ADD(o, "ledger_rows", json_object_new_int(ledger_count(k->ledger)));
	ADD(o, "owed", json_object_new_int(state.owed));
	ADD(o, "owed_why", clean_text(state.owed_why));
	ADD(o, "draining",
		json_object_new_boolean(k->on.is_draining && k->on.is_draining(k->on.arg)));
	ADD(o, "dry_run", json_object_new_boolean(k->conf->dry_run));
	ADD(o, "decisions", json_object_new_int64((int64_t)choose.decisions));
	ADD(o, "rebinds", json_object_new_int64((int64_t)choose.rebinds));
	ADD(o, "work", work_json(k->work, k->loop ? loop_longest_ns(k->loop) : 0));
	ADD(o, "last_error", clean_text(health_last_error()));
	if (strcmp(k->conf->counters.cachegrind_ll, "auto") != 0)
		ADD(o, "cachegrind_ll", json_object_new_string(k->conf->counters.cachegrind_ll));
	if (events)
		ADD(o, "events", events);
	ADD(o, "store", json_object_new_string(k->conf->store));
	ADD(o, "config", json_object_new_string(k->conf_path));
	return o;
}
