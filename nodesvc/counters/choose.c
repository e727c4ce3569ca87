/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * choose.c - which source of counts this node has, found out by trying, and why not the others.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc.h"
#include "nodesvc/counters/counters.h"
#include "nodesvc/counters/probe.h"

#define SOURCES_DEFAULT "papi,perf"

struct counters {
	char unused; /* none counts nothing; callers still get something to close */
};

static int none_probe(uint32_t *ret_provides, struct errbuf *why)
{
	(void)why;
	*ret_provides = 0;
	return 0;
}

static int none_open(struct counters **ret, const struct counter_target *target, struct errbuf *err)
{
	struct counters *c = calloc(1, sizeof(*c));

	(void)target;
	if (!c)
		return err_set(err, -ENOMEM, "counters: out of memory");
	*ret = c;
	return 0;
}

static int none_read(struct counters *c, const struct counter_target *target, struct sample *ret,
	struct errbuf *err)
{
	(void)c;
	(void)target;
	(void)err;
	*ret = (struct sample){.t_ns = ipc_now_ns(), .running_ratio = NAN};
	return 0;
}

static void none_close(struct counters *c)
{
	free(c);
}

const struct counters_ops counters_none = {
	.name = "none",
	.probe = none_probe,
	.open = none_open,
	.read = none_read,
	.close = none_close,
};

#if !HAVE_PAPI
static int absent_probe(uint32_t *ret_provides, struct errbuf *why)
{
	*ret_provides = 0;
	return err_set(why, -ENOTSUP, "built without PAPI");
}

static int absent_open(
	struct counters **ret, const struct counter_target *target, struct errbuf *err)
{
	(void)ret;
	(void)target;
	return err_set(err, -ENOTSUP, "built without PAPI");
}

const struct counters_ops counters_papi = {
	.name = "papi",
	.probe = absent_probe,
	.open = absent_open,
	.read = none_read,
	.close = none_close,
};
#endif

static const struct counters_ops *const sources_known[] = {
	&counters_papi, &counters_perf, &counters_none};

static void report(struct counters_choice *c, const char *name, const char *text)
{
	size_t at = strlen(c->report);

	snprintf(c->report + at, sizeof(c->report) - at, "%s: %s\n", name, text);
}

/* Tries one source; true: it is the choice. */
static bool try_source(
	struct counters_choice *c, const char *name, const struct counter_events *events)
{
	const struct counters_ops *ops = NULL;
	enum counter_id bad = COUNTER_COUNT;
	struct errbuf why = {""};
	char list[128], text[160];
	uint32_t provides = 0;

	for (size_t i = 0; i < sizeof(sources_known) / sizeof(sources_known[0]); i++)
		if (!strcmp(sources_known[i]->name, name))
			ops = sources_known[i];
	if (!ops) {
		report(c, name, "no such source (papi, perf, none)");
		return false;
	}
	if (ops == &counters_none) {
		report(c, name, "asked for: nothing is counted");
		c->ops = ops;
		return true;
	}
	if (events && ops->set_events && ops->set_events(events, &bad, &why)) {
		err_wrap(&why, -EINVAL, "for the %s", counter_name(bad));
		report(c, name, why.text);
		return false;
	}
	if (ops->probe(&provides, &why)) {
		report(c, name, why.text[0] ? why.text : "does not work");
		return false;
	}
	snprintf(text, sizeof(text), "counts %s", counter_list(provides, list, sizeof(list)));
	report(c, name, text);
	c->ops = ops;
	c->provides = provides;
	return true;
}

/* PAPI's and libpfm's names: "PAPI_L3_TCM", "skx::MEM_INST_RETIRED:ALL_LOADS:u=1". */
#define EVENT_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:=.-"
/* More than any event stands for: a page. */
#define FACTOR_MAX 65536.0

int counter_event_parse(struct counter_event *ret, const char *text, struct errbuf *err)
{
	struct counter_event e = {.factor = 1};
	size_t len = strcspn(text, "*");
	char *end;

	if (!strcmp(text, "auto")) {
		*ret = (struct counter_event){.factor = 0};
		return 0;
	}
	if (!isalpha((unsigned char)*text) || strspn(text, EVENT_CHARS) < len)
		return err_set(err, -EINVAL, "'%.100s' is no name of an event", text);
	if (len >= sizeof(e.name))
		return err_set(err, -EINVAL, "the name is longer than %zu", sizeof(e.name) - 1);
	memcpy(e.name, text, len);
	if (text[len]) {
		e.factor = strtod(text + len + 1, &end);
		if (!isdigit((unsigned char)text[len + 1]) || *end || !isfinite(e.factor) ||
			e.factor <= 0 || e.factor > FACTOR_MAX)
			return err_set(err, -EINVAL,
				"'%.60s': what follows '*' is no number above 0 and up to %g",
				text + len, FACTOR_MAX);
	}
	*ret = e;
	return 0;
}

const char *counter_event_key(enum counter_id id)
{
	static const char *const key[COUNTER_COUNT] = {
		[COUNTER_INSTRUCTIONS] = "instructions",
		[COUNTER_LOADS] = "loads",
		[COUNTER_LLC_REFS] = "llc_refs",
		[COUNTER_LLC_MISSES] = "llc_misses",
		[COUNTER_MEM_BYTES] = "mem_bytes",
	};

	return id < COUNTER_COUNT ? key[id] : NULL;
}

const char *counter_event_text(const struct counter_event *e, char ret[COUNTER_EVENT_TEXT_MAX])
{
	int n = snprintf(ret, COUNTER_EVENT_TEXT_MAX, "%s", *e->name ? e->name : "auto");

	if (*e->name && e->factor != 1)
		snprintf(ret + n, COUNTER_EVENT_TEXT_MAX - (size_t)n, "*%.17g", e->factor);
	return ret;
}

void counters_choose(
	struct counters_choice *ret, const char *sources, const struct counter_events *events)
{
	const char *at = sources ? sources : SOURCES_DEFAULT;

	*ret = (struct counters_choice){.ops = &counters_none};
	while (*at) {
		size_t len = strcspn(at, ", ");
		char name[32];

		if (len) {
			snprintf(name, sizeof(name), "%.*s", (int)len, at);
			if (try_source(ret, name, events))
				return;
		}
		at += len;
		at += strspn(at, ", ");
	}
}
