/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "nodesvc/ctl/ctl.h"

struct options {
	bool save_view;
	long long decision; /* 0: the last one */
};

static int take(int c, const char *value, void *arg)
{
	struct options *o = arg;
	char *end;

	(void)c;
	o->save_view = true;
	if (!value)
		return EXIT_OK;
	errno = 0;
	o->decision = strtoll(value, &end, 10);
	if (*value >= '0' && *value <= '9' && !*end && !errno && o->decision > 0)
		return EXIT_OK;
	return ctl_error(
		EXIT_USAGE, "explain: --save-view=%s: the number of a decision expected", value);
}

static void show_now(struct json_object *now)
{
	char elapsed[32], turn[128];

	show_line(stdout, "Step", "%s of %s, %s", show_text(now, "id"), show_text(now, "user"),
		show_text(now, "program"));
	show_line(stdout, "Policy", "%s%s%s", show_text(now, "policy"),
		*show_text(now, "req_policy") ? ", asked for " : "", show_text(now, "req_policy"));
	show_line(stdout, "State", "%s for %s, %s rebinds", show_text(now, "state"),
		show_elapsed(show_double(now, "elapsed_s"), elapsed, sizeof(elapsed)),
		show_text(now, "rebinds"));
	show_line(stdout, "Cores", "%s of %s (Slurm gave %s)", show_text(now, "coreset"),
		show_text(now, "envelope"), show_text(now, "slurm_cpus"));
	show_line(stdout, "Threads", "%s in %s tasks", show_text(now, "threads"),
		show_text(now, "tasks"));
	if (*show_text(now, "reason"))
		show_line(stdout, "Reason", "%s", show_text(now, "reason"));
	if (*say_turn(now, turn, sizeof(turn)))
		show_line(stdout, "Turn", "%s", turn);
}

static void show_signals(struct json_object *now)
{
	struct json_object *signals = show_get(now, "signals");
	const char *label = "Signals";

	if (!signals)
		return;
	json_object_object_foreach(signals, key, value)
	{
		char number[32];

		show_line(stdout, label, "%s %s (%s)", key,
			show_si(show_double(value, "value"), number, sizeof(number)),
			show_text(value, "provenance"));
		label = "";
	}
}

/* "loads_per_s=1.2e9" pairs of the policy's own figures. */
static void show_figures(struct json_object *figures)
{
	if (!json_object_is_type(figures, json_type_object))
		return;
	json_object_object_foreach(figures, key, value)
	{
		printf("%-14s   %s = %s\n", "", key,
			json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
	}
}

static void show_decision(struct json_object *d)
{
	char when[32], text[1024];

	printf("%-8s %5s %s\n", say_clock(show_double(d, "t_unix"), when, sizeof(when)),
		show_text(d, "decision"), say_decision(d, text, sizeof(text)));
	show_figures(show_get(d, "explain"));
}

static void show_environment(struct json_object *o)
{
	struct json_object *set = show_get(o, "launch_env"), *left = show_get(o, "not_set");

	for (size_t i = 0; set && i < json_object_array_length(set); i++) {
		struct json_object *v = json_object_array_get_idx(set, i);

		show_line(stdout, i ? "" : "Launch set", "%s=%s%s%s", show_text(v, "name"),
			show_text(v, "value"), *show_text(v, "why") ? ": " : "",
			show_text(v, "why"));
	}
	for (size_t i = 0; left && i < json_object_array_length(left); i++) {
		struct json_object *v = json_object_array_get_idx(left, i);

		show_line(stdout, i ? "" : "Launch left", "%s: %s", show_text(v, "name"),
			show_text(v, "why"));
	}
}

static void show_known(const char *name, const char *text)
{
	if (*text)
		show_line(stdout, name, "%s", text);
}

/* What company costs it, and what placing it gains; nothing where nobody knows. */
static void show_speeds(struct json_object *f)
{
	char text[256];

	show_known("Speed", say_speed(f, text, sizeof(text)));
	show_known("Calls", show_text(f, "calls"));
	show_known("Slow-down", say_slowdown(f, text, sizeof(text)));
	show_known("Co-run", say_corun(f, text, sizeof(text)));
	show_known("Gain", say_gain(f, text, sizeof(text)));
	if (show_double(f, "unmeasured_s") > 0)
		show_line(stdout, "Unmeasured", "%.1f s: colocd was away",
			show_double(f, "unmeasured_s"));
}

/* Does placing make the programs that run together slower than Slurm's placement would? */
static void show_guard(struct json_object *g)
{
	double lo = show_double(g, "lo"), hi = show_double(g, "hi");
	char until[64] = "", when[32];
	time_t t = (time_t)show_int(g, "until_unix_s", 0);
	struct tm tm;

	if (!*show_text(g, "verdict"))
		return;
	if (*show_text(g, "why")) {
		show_line(stdout, "Guard", "%s: %s", show_text(g, "verdict"), show_text(g, "why"));
		return;
	}
	if (t && localtime_r(&t, &tm) && strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm))
		snprintf(until, sizeof(until), "; in quarantine until %s", when);
	show_line(stdout, "Guard",
		"%s: %.3f (%.3f to %.3f) of the speed under Slurm's placement with %s, %s windows, "
		"by %s%s",
		show_text(g, "verdict"), show_double(g, "ratio"), lo, hi, show_text(g, "policy"),
		show_text(g, "windows"), show_text(g, "basis"), until);
}

static void show_phases(struct json_object *phases)
{
	struct json_object *table = show_get(phases, "table");
	const char *now = show_text(phases, "now");

	for (size_t i = 0; *now && table && i < json_object_array_length(table); i++) {
		char text[256];

		show_line(stdout, i ? "" : "Phases", "%s",
			say_phase(json_object_array_get_idx(table, i), now, text, sizeof(text)));
	}
}

static int show(struct json_object *o)
{
	struct json_object *decisions = show_get(o, "decisions");

	show_now(show_get(o, "now"));
	show_signals(show_get(o, "now"));
	show_known("Waits", show_text(show_get(show_get(o, "now"), "waits"), "text"));
	show_speeds(show_get(o, "figures"));
	show_guard(show_get(o, "guard"));
	show_phases(show_get(o, "phases"));
	show_environment(o);
	printf("\nDecisions, newest first:\n");
	for (size_t i = 0; decisions && i < json_object_array_length(decisions); i++)
		show_decision(json_object_array_get_idx(decisions, i));
	return EXIT_OK;
}

/*
 * All that the engine was asked up to the decision, as a trace that colocsim reads; in pages, which
 * end before a decision with which the next one begins.
 */
static int save_view(struct ctl *ctl, const struct options *opts, struct ctl_request *rq)
{
	long long to = opts->decision, next = 0;

	do {
		struct json_object *o = NULL, *lines;
		char json[96] = "";
		int rc;

		if (to > 0)
			snprintf(json, sizeof(json), "{\"decision\": %lld, \"from\": %lld}", to,
				next);
		rq->json = *json ? json : NULL;
		rc = ctl_ask(ctl, rq, &o);
		rq->json = NULL;
		if (rc != EXIT_OK)
			return rc;
		lines = show_get(o, "trace");
		if (!json_object_is_type(lines, json_type_array)) {
			json_object_put(o);
			return ctl_error(EXIT_FAILED, "colocd sent no view of this decision");
		}
		for (size_t i = 0; i < json_object_array_length(lines); i++)
			puts(json_object_to_json_string_ext(json_object_array_get_idx(lines, i),
				JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
		next = json_object_get_int64(show_get(o, "next"));
		to = json_object_get_int64(show_get(o, "decision"));
		json_object_put(o);
	} while (next > 0);
	return fflush(stdout) ? EXIT_FAILED : EXIT_OK;
}

static int exec(struct ctl *ctl, const struct ctl_cmd *cmd, int argc, char **argv)
{
	static const struct option OWN[] = {
		{"save-view", optional_argument, NULL, 'v'},
		{NULL, 0, NULL, 0},
	};
	struct options opts = {0};
	struct ctl_request rq = {.cmd = "explain"};
	int rc = ctl_options(ctl, cmd, argc, argv, OWN, take, &opts);

	if (rc != EXIT_OK || ctl->help)
		return rc;
	if (argc - optind != 1)
		return ctl_misused(cmd, "explain: exactly one JOB[.STEP] is needed");
	rc = ctl_job_argument(cmd, argv[optind]);
	if (rc != EXIT_OK)
		return rc;
	rq.job = argv[optind];
	rq.all = opts.save_view;
	if (opts.save_view)
		return save_view(ctl, &opts, &rq);
	return ctl_ask_and_show(ctl, &rq, show);
}

const struct ctl_cmd cmd_explain = {
	.name = "explain",
	.args = "JOB[.STEP] [--save-view[=N]]",
	.summary = "where a step is, why, and what was decided before",
	.help = "  --save-view[=N]  print what decision N (default: the last one) was made from, "
		"for\n"
		"                   colocsim plan\n",
	.exec = exec,
};
