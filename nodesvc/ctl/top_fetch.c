/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/ctl/top.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/ipc.h"

double top_unix_now(void)
{
	return (double)ipc_unix_ns() / 1e9;
}

int top_fetch_fd(const struct top_fetch *f)
{
	return f->stage == FETCH_IDLE ? -1 : f->fd;
}

bool top_fetch_is_idle(const struct top_fetch *f)
{
	return f->stage == FETCH_IDLE;
}

static void hang_up(struct top_fetch *f)
{
	if (f->stage != FETCH_IDLE)
		close(f->fd);
	f->stage = FETCH_IDLE;
	free(f->text.buf);
	f->text = (struct ctl_text){0};
}

void top_fetch_done(struct top_fetch *f)
{
	hang_up(f);
}

static void set_deadline(struct top_fetch *f)
{
	f->deadline_ns = ipc_now_ns() + (int64_t)f->timeout_ms * 1000000;
}

static int ask(struct top_fetch *f, int stage, const struct ctl_request *rq, struct errbuf *err)
{
	int fd = client_open(f->socket, f->open_ms, rq, err);

	if (fd < 0)
		return fd;
	f->fd = fd;
	f->stage = stage;
	set_deadline(f);
	return 1;
}

/* The next step to explain; 0: there is none. */
static int ask_next(struct top_fetch *f, struct errbuf *err)
{
	struct ctl_request rq = {.cmd = "explain", .job = f->id};
	struct top_step *s = f->left > 0 ? top_model_next_wanted(f->m) : NULL;

	if (!s)
		return 0;
	f->left--;
	snprintf(f->id, sizeof(f->id), "%s", s->id);
	return ask(f, FETCH_EXPLAIN, &rq, err);
}

int top_fetch_begin(struct top_fetch *f, bool details_only, struct errbuf *err)
{
	static const struct ctl_request STATUS = {.cmd = "status"};

	hang_up(f);
	f->left = f->most;
	return details_only ? ask_next(f, err) : ask(f, FETCH_STATUS, &STATUS, err);
}

/* An answer is whole. */
static int take(struct top_fetch *f, int stage, const char *json, struct errbuf *err)
{
	static const struct ctl_request JOBS = {.cmd = "jobs"};
	int rc;

	switch (stage) {
	case FETCH_STATUS:
		rc = top_model_status(f->m, json, err);
		return rc < 0 ? rc : ask(f, FETCH_JOBS, &JOBS, err);
	case FETCH_JOBS:
		rc = top_model_jobs(f->m, json, top_unix_now(), err);
		if (rc < 0)
			return rc;
		f->want(f->m, f->arg);
		break;
	default:
		rc = top_model_detail(f->m, f->id, json, err);
		if (rc < 0)
			return rc;
	}
	return ask_next(f, err);
}

/* The daemon refused to explain: the step has just ended. Not asked for again. */
static int skip(struct top_fetch *f, struct errbuf *err)
{
	int i = top_model_find(f->m, f->id);

	if (i >= 0)
		f->m->step[i].asked = f->m->round;
	return ask_next(f, err);
}

int top_fetch_go_on(struct top_fetch *f, struct errbuf *err)
{
	struct pollfd p = {.fd = f->fd, .events = POLLIN};
	int stage = f->stage, rc;
	char *json;

	if (poll(&p, 1, 0) == 0) {
		if (ipc_now_ns() < f->deadline_ns)
			return 1;
		hang_up(f);
		return err_set(err, -ETIMEDOUT, "%s: no answer in %.3g s", f->socket,
			f->timeout_ms / 1000.0);
	}
	rc = client_read(f->fd, f->socket, 1, &f->text, err);
	if (rc > 0) {
		set_deadline(f);
		return rc;
	}
	json = f->text.buf;
	f->text = (struct ctl_text){0};
	hang_up(f);
	if (rc == 0)
		rc = take(f, stage, json ? json : "", err);
	else if (rc == -EREMOTEIO && stage == FETCH_EXPLAIN)
		rc = skip(f, err);
	free(json);
	return rc;
}

int top_fetch_all(struct top_fetch *f, struct errbuf *err)
{
	int rc = top_fetch_begin(f, false, err);

	while (rc > 0) {
		struct pollfd p = {.fd = f->fd, .events = POLLIN};
		int64_t left_ms = (f->deadline_ns - ipc_now_ns()) / 1000000 + 1;

		poll(&p, 1, left_ms > 0 ? (int)left_ms : 0);
		rc = top_fetch_go_on(f, err);
	}
	return rc;
}
