/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recording.c - decisions for colocsim to make again: the recent ones, in memory, that explain
 * --save-view gives out, and `colocctl record`, the decisions from now on. For that both engines
 * begin anew, since what they remember is in no trace. A full disk or the limit ends a recording;
 * it never ends anything else.
 */

#include <errno.h>
#include <stdio.h>

#include "common/ipc.h"
#include "config.h"
#include "nodesvc/choose/internal.h"
#include "nodesvc/base/log.h"

static void fill_engine(struct choose *ch, const char *spec, struct trace_engine *ret)
{
	ret->policy = spec;
	ret->n_options = options_of(ch->conf, spec, ret->option, TRACE_OPTIONS_MAX);
}

static void fill_head(const struct choose *ch, struct trace_head *ret)
{
	*ret = (struct trace_head){
		.recorder = "colocd " PACKAGE_VERSION,
		.started_unix_s = (double)ipc_unix_ns() / 1e9,
		.topo = ch->node->topo,
		.share_smt = ch->conf->share_smt,
		.multi_node_independent = ch->conf->multi_node == MULTI_NODE_INDEPENDENT,
		.want_explain = ch->plan.want_explain,
		.max_jobs = JOBS_MAX,
		.interval_ms = ch->conf->interval_ms,
		.tick_ms = ch->conf->tick_ms,
	};
}

int recording_begin_file(struct choose *ch, const char *path, uint64_t max_bytes,
	int (*renew)(struct choose *ch, struct errbuf *err), struct errbuf *err)
{
	static struct trace_head head; /* some KiB */
	char full[512];
	int rc;

	if (ch->trace)
		return err_set(err, -EBUSY, "recording already: colocctl record stop");
	/* Another directory may be closed to the service (systemd's ProtectSystem=). */
	if (snprintf(full, sizeof(full), "%s%s%s", *path == '/' ? "" : ch->conf->store,
		    *path == '/' ? "" : "/", path) >= (int)sizeof(full))
		return err_set(err, -ENAMETOOLONG, "%.80s...: too long", path);
	fill_head(ch, &head);
	fill_engine(ch, ch->ruling, &head.ruling);
	fill_engine(ch, ch->conf->fallback, &head.fallback);
	rc = renew(ch, err);
	if (rc == 0)
		rc = trace_writer_open(&ch->trace, full, &head, max_bytes, err);
	if (rc < 0) {
		ch->trace = NULL;
		return rc;
	}
	log_info("recording decisions to %s", full);
	return 0;
}

bool recording_is_on(const struct choose *ch)
{
	return ch->trace;
}

int recording_stop(
	struct choose *ch, uint64_t *ret_decisions, uint64_t *ret_bytes, struct errbuf *err)
{
	struct trace_writer *w = ch->trace;

	if (!w)
		return err_set(err, -ENOENT, "nothing is being recorded");
	*ret_decisions = trace_writer_decisions(w);
	*ret_bytes = trace_writer_bytes(w);
	ch->trace = NULL;
	log_info("recorded %llu decisions", (unsigned long long)*ret_decisions);
	return trace_writer_close(w, err);
}

void recording_engine(struct choose *ch, bool fallback)
{
	static struct trace_engine e;

	fill_engine(ch, fallback ? ch->conf->fallback : ch->ruling, &e);
	recent_engine(ch->recent, fallback, &e);
	if (ch->trace)
		trace_write_engine(ch->trace, fallback, &e);
}

void recording_begin(struct choose *ch, const struct view *v)
{
	recent_begin(ch->recent, v);
	if (ch->trace)
		trace_begin(ch->trace, v);
}

void recording_answer(
	struct choose *ch, bool fallback, const struct plan *p, const struct errbuf *why)
{
	const char *refused = p ? NULL : why->text;

	recent_answer(ch->recent, fallback, p, refused);
	if (ch->trace)
		(fallback ? trace_fallback : trace_ruling)(ch->trace, p, refused);
}

void recording_end(struct choose *ch)
{
	recent_end(ch->recent);
	if (ch->trace)
		trace_end(ch->trace);
}

/* The loop stands still while a page is made. */
#define PAGE_BYTES (1u << 20)

int recording_page(struct choose *ch, uint64_t from, uint64_t to, json_object **ret,
	uint64_t *ret_next, struct errbuf *err)
{
	static struct trace_head head;

	fill_head(ch, &head);
	/* Of when its beginning is unknown: views have monotonic times only. */
	head.started_unix_s = 0;
	return recent_page(ch->recent, &head, from, to, PAGE_BYTES, ret, ret_next, err);
}

void recording_check(struct choose *ch)
{
	uint64_t decisions, bytes;
	struct errbuf err = {.text = "its limit is reached"};

	if (!ch->trace || trace_writer_failed(ch->trace) == 0)
		return;
	if (recording_stop(ch, &decisions, &bytes, &err) < 0)
		health_error("recording: %.200s", err.text);
	log_warning("the recording ended: %s", err.text);
}
