/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.c - `colocctl profile -- COMMAND`: measures a command alone and has the profile stored.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/coreset.h"
#include "common/fsroot.h"
#include "nodesvc/counters/profile_json.h"
#include "nodesvc/counters/profile_run.h"
#include "nodesvc/ctl/ctl.h"

struct options {
	struct profile_opts run;
	struct counter_events events;
	const char *output;
};

static int take_number(const char *name, const char *text, long max, int *ret)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (!*text || *end || n < 1 || n > max)
		return ctl_error(
			EXIT_USAGE, "%s: '%s' is no number from 1 to %ld", name, text, max);
	*ret = (int)n;
	return EXIT_OK;
}

static int take_with(struct options *o, const char *text)
{
	static const char *const SOURCE[] = {"papi", "perf", "cachegrind"};

	for (size_t i = 0; i < sizeof(SOURCE) / sizeof(SOURCE[0]); i++) {
		if (strcmp(text, SOURCE[i]) == 0) {
			o->run.with = SOURCE[i];
			return EXIT_OK;
		}
	}
	return ctl_error(EXIT_USAGE, "--with: unknown source '%s' (papi, perf, cachegrind)", text);
}

static int take(int c, const char *value, void *arg)
{
	struct options *o = arg;
	struct llc llc;

	switch (c) {
	case 'w':
		return take_with(o, value);
	case 't':
		if (!*value || strlen(value) >= JOB_TYPE_MAX)
			return ctl_error(EXIT_USAGE, "--type: '%s' must be 1 to %d characters",
				value, JOB_TYPE_MAX - 1);
		o->run.type = value;
		return EXIT_OK;
	case 'l':
		if (!llc_parse(value, &llc))
			return ctl_error(
				EXIT_USAGE, "--ll: '%s' is no cache (BYTES[,ASSOC,LINE])", value);
		o->run.ll_bytes = llc.bytes;
		o->run.ll_assoc = llc.assoc;
		o->run.ll_line = llc.line;
		return EXIT_OK;
	case 'r':
		return take_number("--runs", value, 1000, &o->run.runs);
	case 'n':
		return take_number("--threads", value, CORESET_MAX, &o->run.threads);
	case 'o':
		o->output = value;
		return EXIT_OK;
	default:
		return EXIT_USAGE;
	}
}

static void progress(const char *text, void *arg)
{
	(void)arg;
	fprintf(stderr, "colocctl: %s\n", text);
}

/* What live counts are made of: solo ones must be the same. */
static void take_events(struct options *o, struct json_object *list)
{
	for (int c = 0; c < COUNTER_COUNT; c++) {
		const char *key = counter_event_key((enum counter_id)c);
		const char *text = list && key ? show_text(list, key) : "";

		if (*text && counter_event_parse(&o->events.of[c], text, NULL) == 0)
			o->run.events = &o->events;
	}
}

/* What the node's service knows: the events to count by, and the domain's share of the last
 * level: the configured one, else the topology's. */
static void ask_node(struct ctl *ctl, struct options *o)
{
	struct ctl_request rq = {.cmd = "status"};
	cleanup_free char *text = NULL;
	struct json_object *status = NULL;
	struct fsroot root = {.fd = -1};
	struct errbuf err = {""};
	struct llc llc = {0};

	if (client_call_text(ctl->socket, ctl->timeout_ms, &rq, &text, &err) < 0)
		return;
	status = json_tokener_parse(text);
	take_events(o, show_get(status, "events"));
	if (o->run.ll_bytes) {
		json_object_put(status);
		return;
	}
	if (!llc_parse(show_text(status, "cachegrind_ll"), &llc)) {
		struct coreset pus;

		coreset_zero(&pus);
		coreset_parse(&pus, show_text(status, "pus"), NULL);
		if (fsroot_open(&root, NULL, &err) == 0)
			llc_share(&root, coreset_count(&pus), (int)show_int(status, "n_domains", 1),
				&llc);
		fsroot_close(&root);
	}
	json_object_put(status);
	o->run.ll_bytes = llc.bytes;
	o->run.ll_assoc = llc.assoc;
	o->run.ll_line = llc.line;
}

static void show_profile(const struct profile *p)
{
	char number[32];

	fprintf(stderr, "\n");
	show_line(stdout, "Profile", "%s, %d threads, by %s", p->type, p->threads, p->source);
	show_line(stdout, "Alone", "%.3g s, median of %d", p->solo_s, p->count);
	if (!isnan(p->spread))
		show_line(stdout, "Spread", "%.1f%%", p->spread * 100);
	show_line(stdout, "Busy", "%.0f%%", p->utilization * 100);
	show_line(stdout, "Loads/s", "%s per thread",
		show_si(p->rate[SIGNAL_LOADS], number, sizeof(number)));
	show_line(stdout, "LLC refs/s", "%s",
		show_si(p->rate[SIGNAL_LLC_REFS], number, sizeof(number)));
	show_line(stdout, "LLC misses/s", "%s",
		show_si(p->rate[SIGNAL_LLC_MISSES], number, sizeof(number)));
	if (p->ll_bytes > 0)
		show_line(stdout, "Last level", "%.0f bytes, simulated", p->ll_bytes);
}

static int write_file(const char *path, struct json_object *o)
{
	const char *text = json_object_to_json_string_ext(
		o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	FILE *f = fopen(path, "we");
	int bad = !f || fprintf(f, "%s\n", text) < 0;

	if (f && fclose(f) != 0)
		bad = 1;
	return bad ? ctl_error(EXIT_FAILED, "%s: %s", path, strerror(errno)) : EXIT_OK;
}

static int store(struct ctl *ctl, struct json_object *o)
{
	struct ctl_request rq = {.cmd = "profile_put",
		.json = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN)};
	struct json_object *stored = NULL;
	int rc = ctl_ask(ctl, &rq, &stored);

	if (rc != EXIT_OK) {
		/* It may have taken an hour: it must not be lost. */
		printf("%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
		return ctl_error(rc, "the profile was not stored: save the line above for "
				     "`colocctl profile import`");
	}
	json_object_put(stored);
	return EXIT_OK;
}

int ctl_profile_run(struct ctl *ctl, const struct ctl_cmd *cmd, int argc, char **argv)
{
	static const struct option OWN[] = {
		{"ll", required_argument, NULL, 'l'},
		{"output", required_argument, NULL, 'o'},
		{"runs", required_argument, NULL, 'r'},
		{"threads", required_argument, NULL, 'n'},
		{"type", required_argument, NULL, 't'},
		{"with", required_argument, NULL, 'w'},
		{NULL, 0, NULL, 0},
	};
	struct options o = {.run = {.progress = progress}};
	struct errbuf err = {""};
	struct json_object *json;
	struct profile p;
	int rc = ctl_options(ctl, cmd, argc, argv, OWN, take, &o);

	if (rc != EXIT_OK || ctl->help)
		return rc;
	if (optind == argc)
		return ctl_misused(cmd, "profile: no command given");
	if (!o.output) {
		struct ctl_request ping = {.cmd = "ping"};
		struct json_object *pong = NULL;

		rc = ctl_ask(ctl, &ping, &pong);
		json_object_put(pong);
		if (rc != EXIT_OK)
			return ctl_error(rc, "nobody to store the profile: --output=FILE keeps it");
	}
	/* Only cachegrind needs the size of the last level, and says so where nobody knows it. */
	ask_node(ctl, &o);
	rc = profile_run(&o.run, argv + optind, &p, &err);
	if (rc < 0)
		return ctl_error(EXIT_FAILED, "%s", err.text);
	json = profile_to_json(&p);
	if (!json)
		return ctl_error(EXIT_FAILED, "out of memory");
	rc = o.output ? write_file(o.output, json) : store(ctl, json);
	if (ctl->json)
		return ctl_print_json(json) != EXIT_OK ? EXIT_FAILED : rc;
	show_profile(&p);
	json_object_put(json);
	return rc;
}
