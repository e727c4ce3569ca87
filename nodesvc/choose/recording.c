/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recording.c - decisions for colocsim to make again: the trail in memory that explain --save-view
 * gives out, and `colocctl record`, the decisions from now on. For that both engines begin anew,
 * since what they remember is in no trace. A full disk or the limit ends a recording; it never ends
 * anything else.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "config.h"
#include "nodesvc/base/health.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/base/log.h"

static void fill_engine(struct daemon *d, const char *spec, struct trace_engine *ret)
{
	ret->policy = spec;
	ret->n_options = decide_options(d, spec, ret->option, TRACE_OPTIONS_MAX);
}

static void fill_head(const struct daemon *d, struct trace_head *ret)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	*ret = (struct trace_head){
		.recorder = "colocd " PACKAGE_VERSION,
		.started_unix_s = (double)ts.tv_sec + (double)ts.tv_nsec / 1e9,
		.topo = d->node.topo,
		.share_smt = d->conf.share_smt,
		.multi_node_independent = d->conf.multi_node == MULTI_NODE_INDEPENDENT,
		.want_explain = d->plan.want_explain,
		.max_jobs = JOBS_MAX,
		.interval_ms = d->conf.interval_ms,
		.tick_ms = d->conf.tick_ms,
	};
}

int recording_start(struct daemon *d, const char *path, uint64_t max_bytes, struct errbuf *err)
{
	static struct trace_head head; /* some KiB */
	char full[512];
	int rc;

	if (d->trace)
		return err_set(err, -EBUSY, "recording already: colocctl record stop");
	/* Another directory may be closed to the service (systemd's ProtectSystem=). */
	if (snprintf(full, sizeof(full), "%s%s%s", *path == '/' ? "" : d->conf.store,
		    *path == '/' ? "" : "/", path) >= (int)sizeof(full))
		return err_set(err, -ENAMETOOLONG, "%.80s...: too long", path);
	fill_head(d, &head);
	fill_engine(d, d->ruling, &head.ruling);
	fill_engine(d, d->conf.fallback, &head.fallback);
	trial_abort(d);
	rc = decide_renew(d, err);
	if (rc == 0)
		rc = trace_writer_open(&d->trace, full, &head, max_bytes, err);
	if (rc < 0) {
		d->trace = NULL;
		return rc;
	}
	log_info("recording decisions to %s", full);
	return 0;
}

int recording_stop(
	struct daemon *d, uint64_t *ret_decisions, uint64_t *ret_bytes, struct errbuf *err)
{
	struct trace_writer *w = d->trace;

	if (!w)
		return err_set(err, -ENOENT, "nothing is being recorded");
	*ret_decisions = trace_writer_decisions(w);
	*ret_bytes = trace_writer_bytes(w);
	d->trace = NULL;
	log_info("recorded %llu decisions", (unsigned long long)*ret_decisions);
	return trace_writer_close(w, err);
}

void recording_engine(struct daemon *d, bool fallback)
{
	static struct trace_engine e;

	fill_engine(d, fallback ? d->conf.fallback : d->ruling, &e);
	trail_engine(d->trail, fallback, &e);
	if (d->trace)
		trace_write_engine(d->trace, fallback, &e);
}

void recording_begin(struct daemon *d, const struct view *v)
{
	trail_begin(d->trail, v);
	if (d->trace)
		trace_begin(d->trace, v);
}

void recording_answer(
	struct daemon *d, bool fallback, const struct plan *p, const struct errbuf *why)
{
	const char *refused = p ? NULL : why->text;

	trail_answer(d->trail, fallback, p, refused);
	if (d->trace)
		(fallback ? trace_fallback : trace_ruling)(d->trace, p, refused);
}

void recording_end(struct daemon *d)
{
	trail_end(d->trail);
	if (d->trace)
		trace_end(d->trace);
}

/* The loop stands still while a page is made. */
#define PAGE_BYTES (1u << 20)

int recording_page(struct daemon *d, uint64_t from, uint64_t to, json_object **ret,
	uint64_t *ret_next, struct errbuf *err)
{
	static struct trace_head head;

	fill_head(d, &head);
	/* Of when its beginning is unknown: views have monotonic times only. */
	head.started_unix_s = 0;
	return trail_page(d->trail, &head, from, to, PAGE_BYTES, ret, ret_next, err);
}

void recording_check(struct daemon *d)
{
	uint64_t decisions, bytes;
	struct errbuf err = {.text = "its limit is reached"};

	if (!d->trace || trace_writer_failed(d->trace) == 0)
		return;
	if (recording_stop(d, &decisions, &bytes, &err) < 0)
		health_error("recording: %.200s", err.text);
	log_warning("the recording ended: %s", err.text);
}
