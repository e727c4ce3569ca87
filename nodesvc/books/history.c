/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * history.c - what a step goes through, for the report's timeline: coresets as they are applied
 * and, thinned, its signals. Noted in memory where a launch may wait, written at the tick.
 */
#include <stdio.h>

#include "common/ipc.h"
#include "nodesvc/books/internal.h"
#include "nodesvc/base/log.h"

void history_note(struct step *s, const struct coreset *cores, const char *why)
{
	struct step_change *c;

	if (s->n_changes && coreset_is_equal(&s->change[s->n_changes - 1].coreset, cores))
		return;
	/* More in one tick than anybody could look at: the last one is the one that holds. */
	if (s->n_changes == STEP_CHANGES_MAX)
		s->n_changes--;
	c = &s->change[s->n_changes++];
	c->t_ns = ipc_unix_ns();
	c->coreset = *cores;
	snprintf(c->why, sizeof(c->why), "%s", why ? why : "");
}

void history_write(const struct books *b, struct step *s)
{
	char text[CORESET_STR_MAX];
	struct errbuf err = {""};
	int64_t now_ns = ipc_now_ns();
	int rc = 0;

	/* Without a row there is nothing to belong to; the row comes with the first tick. */
	if (!s->row_id)
		return;
	for (int i = 0; rc == 0 && i < s->n_changes; i++)
		rc = record_coreset(b->use.record, s->row_id, s->change[i].t_ns,
			coreset_format(&s->change[i].coreset, text, sizeof(text)), s->change[i].why,
			&err);
	s->n_changes = 0;
	/* Nobody looks closer than a second (account.c asks once in one, give or take); the store
	 * thins further as the step grows old. */
	if (rc == 0 && s->sample_no != s->sample_written &&
		now_ns - s->last_record_ns >= INT64_C(900000000)) {
		rc = record_sample(
			b->use.record, s->row_id, &s->thin, ipc_unix_ns(), s->signal, &err);
		s->sample_written = s->sample_no;
		s->last_record_ns = now_ns;
	}
	if (rc < 0) {
		log_debug("step %s: history: %s", s->id, err.text);
		health_error("history: %.200s", err.text);
	}
}
