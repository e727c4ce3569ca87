/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kept.c - what the next daemon needs of a step, beside its row: what it registered with, and what
 * was measured of it (steps/carry.c). daemon/ adopts it from there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/ipc.h"
#include "common/msg.h"
#include "nodesvc/books/internal.h"
#include "nodesvc/base/log.h"
#include "nodesvc/steps/steps.h"

/* "LID:PID,..." of those that have not ended; NULL out of memory. */
static char *list_tasks(const struct step *s, pid_t *ret_first)
{
	const size_t one = sizeof("4294967295:2147483647,");
	char *text = malloc((size_t)s->n_tasks * one + 1);
	size_t len = 0;

	*ret_first = 0;
	if (!text)
		return NULL;
	text[0] = '\0';
	for (int i = 0; i < s->n_tasks; i++) {
		if (s->task[i].ended)
			continue;
		if (!*ret_first)
			*ret_first = s->task[i].pid;
		len += (size_t)snprintf(text + len, one, "%s%u:%d", len ? "," : "", s->task[i].lid,
			(int)s->task[i].pid);
	}
	return text;
}

void kept_put(const struct books *b, struct step *s)
{
	struct registration reg = {
		.job_id = s->job_id,
		.step_id = s->step_id,
		.nodeid = s->nodeid,
		.row_id = s->row_id,
		.start_ns = s->start_unix_ns,
		.cgroup = s->located ? s->cgroup.step_path : NULL,
		.inode = s->cgroup.step_inode,
		.message = s->message,
		.message_len = s->message_len,
	};
	cleanup_free char *tasks = list_tasks(s, &reg.pid);
	struct errbuf err;

	if (!s->message)
		return;
	reg.tasks = tasks;
	if (record_registration_put(b->use.record, &reg, &err) < 0)
		log_warning("step %s: a restart would not know it: %s", s->id, err.text);
}

void kept_carry(const struct books *b, struct step *s)
{
	static struct msg figures; /* 32 KiB */
	struct registration reg = {
		.job_id = s->job_id,
		.step_id = s->step_id,
		.nodeid = s->nodeid,
		.figures = figures.buf,
	};
	struct errbuf err;

	reg.figures_ns = ipc_unix_ns();
	/* Of a gap that is not over, the figures are as old as its beginning. */
	if (s->seen.gap.open_ns)
		reg.figures_ns = s->seen.gap.open_ns;
	carry_save(s, &figures);
	reg.figures_len = figures.len;
	s->carried_ns = ipc_now_ns();
	if (record_registration_figures(b->use.record, &reg, &err) < 0)
		log_debug("step %s: a restart would lose its figures: %s", s->id, err.text);
}

/*
 * Takes @n bytes off the longest value of a message that has no room for more: only a program's
 * path may be that long, and its end is what names the program.
 */
static void shorten(struct step *s, size_t n)
{
	char *end = s->message + s->message_len, *longest = NULL;
	size_t len = 0;

	for (char *p = s->message; p < end; p += strlen(p) + 1) {
		char *equals = strchr(p, '=');

		if (equals && strlen(equals + 1) > len) {
			longest = equals + 1;
			len = strlen(longest);
		}
	}
	if (len <= n)
		return;
	memmove(longest, longest + n, (size_t)(end - longest) - n);
	s->message_len -= n;
}

/* Adds records ("key=value", each with its NUL) to the message that the next daemon will read. */
static void add_mark(struct step *s, const char *mark, size_t size)
{
	const size_t room = MSG_MAX - size;
	char *longer;

	if (!s->message)
		return;
	if (s->message_len > room)
		shorten(s, s->message_len - room);
	longer = s->message_len > room ? NULL : realloc(s->message, s->message_len + size);
	if (!longer) {
		log_warning("step %s: a restart would not know of '%s'", s->id, mark);
		return;
	}
	memcpy(longer + s->message_len, mark, size);
	s->message = longer;
	s->message_len += size;
}

void kept_mark_released(const struct books *b, struct step *s)
{
	static const char mark[] = "released=1";

	add_mark(s, mark, sizeof(mark));
	kept_put(b, s);
}

void kept_mark_owner(const struct books *b, struct step *s)
{
	char marks[sizeof(s->partition) + sizeof(s->account) + 40];
	int n = snprintf(marks, sizeof(marks), "slurm_partition=%s", s->partition) + 1;

	n += snprintf(marks + n, sizeof(marks) - (size_t)n, "slurm_account=%s", s->account) + 1;
	add_mark(s, marks, (size_t)n);
	if (s->kept)
		kept_put(b, s);
}

void kept_forget(const struct books *b, const struct step *s)
{
	struct errbuf err;

	if (record_registration_rm(b->use.record, s->job_id, s->step_id, s->nodeid, &err) < 0)
		log_warning("step %s: %s", s->id, err.text);
}
