/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replay_cmd.c - `colocsim replay`: asks the engine again what it was asked while a trace was
 * recorded, and compares the plans; or asks another policy instead.
 *
 * With another policy nothing is compared against the world: the signals are those that came
 * about under the recorded placements. Only what it would have decided is told.
 */
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "nodesvc/engine/engine.h"
#include "nodesvc/sim/exec_policy.h"
#include "nodesvc/sim/sim.h"
#include "nodesvc/trace/trace.h"

static const char usage_text[] =
	"Usage: colocsim replay [--policy=NAME[,k=v...]] [--json] TRACE\n"
	"\n"
	"Decides again what a recorded trace holds (colocctl record, colocsim run --record), and\n"
	"compares the plans bit for bit. All results are replayed.\n"
	"  --policy    ask this policy instead, and tell how often it differs\n"
	"  --policy-timeout=S  seconds that a program (exec:COMMAND) may take for an answer\n"
	"  --json      print JSON\n";

struct replay {
	const char *command;       /* who asks, for messages: "replay" or "plan" */
	const char *path, *policy; /* policy: instead of the recorded one; NULL */
	struct trace_reader *reader;
	const struct trace_head *head;
	struct engine *ruling, *fallback;
	struct plan plan;
	bool has_plan; /* of the decision before, by another policy */
	long decisions, identical, refused, moves;
	char recorded[TRACE_SPEC_MAX];
	char first[600]; /* where plans first differed */
	bool last_same, last_fallback;
	const char *ended;
};

static int failed(const struct replay *r, const char *text)
{
	fprintf(stderr, "colocsim %s: %s\n", r->command, text);
	return SIM_FAILED;
}

static int make_engine(struct replay *r, struct engine **e, const struct trace_engine *from,
	const char *instead, struct errbuf *err)
{
	struct policy_cfg cfg = {
		.topo = r->head->topo,
		.max_jobs = r->head->max_jobs,
		.share_smt = r->head->share_smt,
		.multi_node_independent = r->head->multi_node_independent,
		.option = from->option,
		.n_options = instead ? 0 : from->n_options,
	};

	engine_free(*e);
	*e = NULL;
	return exec_policy_engine(e, instead ? instead : from->policy, &cfg, err);
}

static void differs(struct replay *r, int line, const char *who, const char *text)
{
	if (!*r->first)
		snprintf(r->first, sizeof(r->first), "%s:%d: %s: %s", r->path, line, who, text);
}

/* One engine's answer beside the recorded one. */
static bool same_answer(struct replay *r, struct engine *e, const struct view *v, int line,
	const char *who, const struct trace_answer *recorded)
{
	struct errbuf why = {""};
	char text[400];
	json_object *now;
	bool differ;
	int rc = engine_decide(e, v, &r->plan, &why);

	if (rc || recorded->refused) {
		differ = !rc || !recorded->refused || strcmp(recorded->refused, why.text) != 0;
		if (differ) {
			snprintf(text, sizeof(text), "recorded %s%.120s, replayed %s%.120s",
				recorded->refused ? "refusal: " : "a plan",
				recorded->refused ? recorded->refused : "",
				rc ? "refusal: " : "a plan", rc ? why.text : "");
			differs(r, line, who, text);
		}
		return !differ;
	}
	now = plan_to_exact_json(&r->plan, r->head->topo);
	differ = !now || plan_json_diff(recorded->plan, now, text, sizeof(text));
	if (differ)
		differs(r, line, who, now ? text : "out of memory");
	json_object_put(now);
	return !differ;
}

static void replay_same(struct replay *r, const struct trace_record *rec)
{
	const struct view *v = view_file_view(rec->view, 0);
	bool same = same_answer(r, r->ruling, v, rec->line, "ruling", &rec->ruling);

	r->refused += rec->ruling.refused != NULL;
	if (rec->fallback.plan || rec->fallback.refused)
		same &= same_answer(r, r->fallback, v, rec->line, "fallback", &rec->fallback);
	r->decisions++;
	r->identical += same;
	r->last_same = same;
	r->last_fallback = rec->fallback.plan != NULL;
}

/* Where recorded jobs run is what the other policy's last plan says, once it made one. */
static int replay_other(struct replay *r, const struct trace_record *rec)
{
	const struct trace_answer *was = rec->ruling.plan ? &rec->ruling : &rec->fallback;
	bool same = was->plan != NULL;
	struct errbuf why = {""};
	json_object *now;
	char text[400];
	int rc;

	for (int i = 0; r->has_plan && i < r->plan.n_jobs; i++)
		view_file_move(rec->view, 0, r->plan.job[i].id, &r->plan.job[i].coreset);
	rc = engine_decide(r->ruling, view_file_view(rec->view, 0), &r->plan, &why);
	r->decisions++;
	r->has_plan = rc == 0;
	if (rc) {
		r->refused++;
		differs(r, rec->line, "refused", why.text);
		return rc == -ENODATA ? 0 : failed(r, why.text);
	}
	r->moves += r->plan.moves;
	now = plan_to_exact_json(&r->plan, r->head->topo);
	/* Sentences and scores are each policy's own: cores tell whether it would act alike. */
	for (size_t i = 0; same && i < (size_t)r->plan.n_jobs; i++) {
		json_object *jobs = NULL, *old = NULL, *new = NULL;

		if (json_object_object_get_ex(was->plan, "jobs", &jobs))
			json_object_object_get_ex(
				json_object_array_get_idx(jobs, i), "coreset", &old);
		json_object_object_get_ex(now, "jobs", &jobs);
		json_object_object_get_ex(json_object_array_get_idx(jobs, i), "coreset", &new);
		if (plan_json_diff(old, new, text, sizeof(text))) {
			differs(r, rec->line, r->plan.job[i].id, text);
			same = false;
		}
	}
	r->identical += same;
	json_object_put(now);
	return 0;
}

static int replay_all(struct replay *r)
{
	struct errbuf err = {""};

	for (;;) {
		struct trace_record rec;
		int rc = trace_reader_next(r->reader, &rec, &err);

		if (rc)
			return failed(r, err.text);
		if (rec.kind == TRACE_ENDED) {
			r->ended = rec.reason ? strcmp(rec.reason, "size") == 0 ? "size" : "closed"
					      : NULL;
			return SIM_OK;
		}
		if (rec.kind == TRACE_ENGINE && rec.is_fallback)
			rc = make_engine(r, &r->fallback, &rec.engine, NULL, &err);
		else if (rec.kind == TRACE_ENGINE && !r->policy)
			rc = make_engine(r, &r->ruling, &rec.engine, NULL, &err);
		else if (rec.kind == TRACE_DECISION && r->policy)
			rc = replay_other(r, &rec);
		else if (rec.kind == TRACE_DECISION)
			replay_same(r, &rec);
		if (rc && !*err.text)
			return SIM_FAILED;
		if (rc) {
			fprintf(stderr, "colocsim %s: %s:%d: %s\n", r->command, r->path, rec.line,
				err.text);
			return SIM_FAILED;
		}
	}
}

static void print_json(const struct replay *r)
{
	json_object *o = json_object_new_object(), *list = json_object_new_array();
	json_object *result = json_object_new_object();

	json_object_object_add(o, "bench", json_object_new_string("replay"));
	json_object_object_add(o, "schema", json_object_new_int(1));
	json_object_object_add(o, "provenance", json_object_new_string("replayed"));
	json_object_object_add(o, "recorded_provenance",
		json_object_new_string(r->head->simulated ? "simulated" : "measured"));
	json_object_object_add(o, "trace", json_object_new_string(r->path));
	json_object_object_add(o, "complete", json_object_new_boolean(r->ended != NULL));
	json_object_object_add(
		result, "policy", json_object_new_string(r->policy ? r->policy : r->recorded));
	json_object_object_add(result, "recorded_policy", json_object_new_string(r->recorded));
	json_object_object_add(result, "decisions", json_object_new_int64(r->decisions));
	json_object_object_add(result, "identical", json_object_new_int64(r->identical));
	json_object_object_add(result, "refused", json_object_new_int64(r->refused));
	if (r->policy)
		json_object_object_add(result, "moves", json_object_new_int64(r->moves));
	if (*r->first)
		json_object_object_add(
			result, "first_difference", json_object_new_string(r->first));
	json_object_array_add(list, result);
	json_object_object_add(o, "results", list);
	puts(json_object_to_json_string_ext(
		o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

static void print_text(const struct replay *r)
{
	if (!r->policy) {
		printf("replay: %ld decisions, %ld identical%s%s\n", r->decisions, r->identical,
			r->head->simulated ? " (recorded from a simulated machine)" : "",
			r->ended ? "" : " (the recording was cut off)");
		if (*r->first)
			printf("first difference: %s\n", r->first);
		return;
	}
	printf("replayed: %ld decisions by %s, recorded with %s: %ld on the same cores, "
	       "%ld moves, %ld refused%s\n",
		r->decisions, r->policy, r->recorded, r->identical, r->moves, r->refused,
		r->head->simulated ? " (recorded from a simulated machine)" : "");
	if (*r->first)
		printf("first difference: %s\n", r->first);
}

/* Engines as recorded, or the one asked for; then all decisions. */
static int replay_trace(struct replay *r)
{
	struct errbuf err = {""};
	int rc;

	if (trace_reader_open(&r->reader, r->path, &err))
		return failed(r, err.text);
	r->head = trace_reader_head(r->reader);
	snprintf(r->recorded, sizeof(r->recorded), "%s", r->head->ruling.policy);
	rc = make_engine(r, &r->ruling, &r->head->ruling, r->policy, &err);
	if (rc && r->policy) {
		fprintf(stderr, "colocsim %s: %s\n", r->command, err.text);
		return SIM_USAGE;
	}
	if (!rc && r->head->fallback.policy)
		rc = make_engine(r, &r->fallback, &r->head->fallback, NULL, &err);
	if (!rc)
		rc = plan_init(&r->plan, r->head->max_jobs, &err);
	if (rc) {
		fprintf(stderr, "colocsim %s: %s:1: %s\n", r->command, r->path, err.text);
		return SIM_FAILED;
	}
	r->plan.want_explain = r->head->want_explain;
	return replay_all(r);
}

static int replay(struct replay *r, bool json)
{
	int rc = replay_trace(r);

	if (rc == SIM_OK && json)
		print_json(r);
	else if (rc == SIM_OK)
		print_text(r);
	if (rc == SIM_OK && fflush(stdout))
		rc = SIM_FAILED;
	return rc == SIM_OK && !r->policy && r->identical != r->decisions ? SIM_FAILED : rc;
}

static void replay_done(struct replay *r)
{
	engine_free(r->ruling);
	engine_free(r->fallback);
	plan_done(&r->plan);
	trace_reader_close(r->reader);
}

static int print_last_plan(const struct replay *r, bool explain)
{
	const struct engine *e = r->last_fallback ? r->fallback : r->ruling;
	json_object *o = plan_to_json(&r->plan, r->head->topo, engine_policy(e)->name, explain);
	int rc = !o ||
		 puts(json_object_to_json_string_ext(
			 o, JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE)) < 0 ||
		 fflush(stdout) != 0;

	json_object_put(o);
	return rc ? SIM_FAILED : SIM_OK;
}

int sim_plan_trace(const char *path, const char *policy, bool explain)
{
	struct replay r = {.command = "plan", .path = path, .policy = policy};
	int rc = replay_trace(&r);

	if (rc == SIM_OK && r.decisions == 0)
		rc = failed(&r, "no decision in it");
	if (rc == SIM_OK && r.policy && !r.has_plan)
		rc = failed(&r, r.first);
	if (rc == SIM_OK)
		rc = print_last_plan(&r, explain);
	if (rc == SIM_OK && !r.policy && !r.last_same) {
		fprintf(stderr, "colocsim plan: not the recorded plan%s: %s\n",
			r.head->cut ? " (views before the first one are missing)" : "", r.first);
		rc = SIM_FAILED;
	}
	replay_done(&r);
	return rc;
}

int sim_replay(int argc, char **argv)
{
	static const struct option options[] = {
		{"policy", required_argument, NULL, 'p'},
		{"policy-timeout", required_argument, NULL, 'w'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct replay r = {.command = "replay"};
	bool json = false;
	int c, rc;

	optind = 1;
	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case 'p':
			r.policy = optarg;
			break;
		case 'w':
			if (exec_policy_read_timeout(optarg)) {
				fprintf(stderr, "colocsim replay: " EXEC_POLICY_TIMEOUT_USAGE "\n",
					optarg);
				return SIM_USAGE;
			}
			break;
		case 'j':
			json = true;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return SIM_OK;
		default:
			fputs("Try 'colocsim replay --help'.\n", stderr);
			return SIM_USAGE;
		}
	}
	if (optind + 1 != argc) {
		fputs("colocsim replay: one trace expected\nTry 'colocsim replay --help'.\n",
			stderr);
		return SIM_USAGE;
	}
	r.path = argv[optind];
	rc = replay(&r, json);
	replay_done(&r);
	return rc;
}
