/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * choose.c - which source of counts this node has, found out by trying, and why not the others.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

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
static bool try_source(struct counters_choice *c, const char *name)
{
	const struct counters_ops *ops = NULL;
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

void counters_choose(struct counters_choice *ret, const char *sources)
{
	const char *at = sources ? sources : SOURCES_DEFAULT;

	*ret = (struct counters_choice){.ops = &counters_none};
	while (*at) {
		size_t len = strcspn(at, ", ");
		char name[32];

		if (len) {
			snprintf(name, sizeof(name), "%.*s", (int)len, at);
			if (try_source(ret, name))
				return;
		}
		at += len;
		at += strspn(at, ", ");
	}
}
