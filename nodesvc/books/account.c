/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * account.c - a step's row in the store: at its start, while it runs, and at its end. What is only
 * written down waits for the tick.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/ipc.h"
#include "nodesvc/books/internal.h"
#include "nodesvc/engine/engine.h"
#include "nodesvc/base/log.h"

/* The newest launches count: programs and nodes change. */
#define LAUNCHES_MAX 50
/* So much of what was measured a crash may lose. */
#define CARRY_NS INT64_C(5000000000)
/* After an error (a full disk) nothing is tried for so long. */
#define AGAIN_NS INT64_C(2000000000)
/* Nobody looks at a step's history closer than this; and one transaction writes it for all. */
#define HISTORY_NS INT64_C(1000000000)

static int add_log(double speed, void *arg)
{
	gain_mean_add(arg, log(speed));
	return 0;
}

/* This launch and those of its program before it: with the levers over without. */
static void compare_launches(struct books *b, const struct step_row *row, enum provenance basis,
	struct step_figures *figures)
{
	struct gain_mean with = {0}, without = {0};
	struct gain_estimate gain;
	struct errbuf err;

	if (!figures->launch || !figures->speed_unit || !row->program)
		return;
	if (record_launches(b->use.record, row, "lever", LAUNCHES_MAX, add_log, &with, &err) < 0 ||
		record_launches(
			b->use.record, row, "control", LAUNCHES_MAX, add_log, &without, &err) < 0)
		return;
	if (figures->shared_speed > 0)
		gain_mean_add(strcmp(figures->launch, "lever") == 0 ? &with : &without,
			log(figures->shared_speed));
	gain_unpaired(&with, &without, &gain);
	if (!isfinite(gain.ratio))
		return;
	figures->gain_launch = gain.ratio;
	figures->gain_launch_lo = gain.lo;
	figures->gain_launch_hi = gain.hi;
	figures->launches = gain.n;
	if (!figures->gain_basis || strcmp(figures->gain_basis, "elapsed") == 0)
		figures->gain_basis = provenance_name(basis);
}

/* By the time that they took, where speeds do not tell. */
static void judge_launches(const struct step *s, struct step_figures *figures)
{
	const struct judgement *j = &s->seen.launch_judged;

	if (j->windows < GAIN_MIN || !(j->lo > 0) || !isfinite(j->hi))
		return;
	figures->gain_launch = j->ratio;
	figures->gain_launch_lo = j->lo;
	figures->gain_launch_hi = j->hi;
	figures->launches = j->windows;
	if (!figures->gain_basis)
		figures->gain_basis = "elapsed";
}

/* Its own, or how long it was suspended: a part of its time that is in none of the figures. */
static const char *reason_of(const struct step *s, char *buf, size_t size)
{
	int64_t suspended_ns = step_suspended_ns(s, ipc_now_ns());

	if (*step_reason(s))
		return step_reason(s);
	if (!suspended_ns)
		return NULL;
	snprintf(buf, size, "suspended for %.1f s, which are in no figure but the time",
		(double)suspended_ns / 1e9);
	return buf;
}

void account_put(struct books *b, struct step *s, enum step_state state, int64_t end_ns)
{
	char cores[CORESET_STR_MAX], reason[96];
	struct step_figures figures;
	struct errbuf err;
	int rc;
	struct step_row row = {
		.row_id = s->row_id,
		.job_id = s->job_id,
		.step_id = s->step_id,
		.array_job_id = s->array_job,
		.array_task_id = s->array_task,
		.node = *s->cgroup.node ? s->cgroup.node : NULL,
		.name = *s->job_name ? s->job_name : NULL,
		.program = *s->type ? s->type : NULL,
		.uid = s->uid,
		.user = *s->user ? s->user : NULL,
		/* Who may come goes by them: the environment's are nobody's word. */
		.account = *s->account && !s->unowned ? s->account : NULL,
		.partition = *s->partition && !s->unowned ? s->partition : NULL,
		.policy = *s->policy ? s->policy : NULL,
		.req_policy = *s->req_policy ? s->req_policy : NULL,
		.reason = reason_of(s, reason, sizeof(reason)),
		.cores = topo_count_cores(b->use.node->topo, &s->coreset),
		.coreset_history = *s->history ? s->history : NULL,
		.partners = *s->partners ? s->partners : NULL,
		.start_ns = s->start_unix_ns,
		.end_ns = end_ns,
		.rebinds = s->rebinds,
		.tasks = s->n_tasks,
		.exit_code = s->exit_status,
		.state = state,
		.dry_run = s->dry_run || b->use.conf->dry_run,
		.figures = &figures,
	};

	corun_figures(b->use.measure, s, state == STEP_COMPLETED, &figures);
	if (end_ns)
		judge_launches(s, &figures);
	if (end_ns)
		compare_launches(b, &row, s->seen.last.basis, &figures);
	if (!coreset_is_empty(&s->coreset))
		row.coreset = coreset_format(&s->coreset, cores, sizeof(cores));
	rc = record_step_put(b->use.record, &row, &err);
	if (rc < 0 && store_recover(b, rc)) {
		row.row_id = 0;
		rc = record_step_put(b->use.record, &row, &err);
	}
	if (rc < 0) {
		log_error("step %s: accounting: %s", s->id, err.text);
		health_error("accounting: %.200s", err.text);
		return;
	}
	s->row_id = row.row_id;
}

void account_end(struct books *b, struct step *s, enum step_state state, int64_t end_unix_ns)
{
	bool one = record_begin(b->use.record, NULL) == 0;
	int n_stores = b->n_stores;
	struct errbuf err;

	priors_close(b->use.measure, s);
	account_put(b, s, state, end_unix_ns);
	/* A full disk undoes a transaction; what comes after it would not be. */
	if (one && n_stores == b->n_stores && !record_is_open(b->use.record))
		return;
	history_write(b, s);
	if (s->kept)
		kept_forget(b, s);
	if (!one || n_stores != b->n_stores || !record_is_open(b->use.record))
		return;
	if (record_end(b->use.record, 0, &err) < 0) {
		log_error("step %s: accounting: %s", s->id, err.text);
		health_error("accounting: %.200s", err.text);
	}
}

static void write_histories(struct books *b)
{
	int64_t now_ns = ipc_now_ns();

	b->last_history_ns = now_ns;
	for (int i = 0; i < b->use.jobs->n; i++) {
		struct step *s = b->use.jobs->step[i];

		if (s->kept && now_ns - s->carried_ns >= CARRY_NS)
			kept_carry(b, s);
		history_write(b, s);
	}
}

static bool is_to_keep(const struct step *s)
{
	return s->located && (!s->kept || s->n_tasks > s->kept_tasks);
}

/* @one: in one transaction; where an error undoes that, the rest waits. */
static void write_rows(struct books *b, bool one)
{
	for (int i = 0; i < b->use.jobs->n; i++)
		b->use.jobs->step[i]->flushing = false;
	for (int i = 0; i < b->use.jobs->n && (!one || record_is_open(b->use.record)); i++) {
		struct step *s = b->use.jobs->step[i];
		bool keep = is_to_keep(s);

		s->flushing = s->dirty || keep;
		s->flushed_row_id = s->row_id;
		s->flushed_kept = s->kept;
		if (s->flushing)
			account_put(b, s, STEP_RUNNING, 0);
		if (keep) {
			kept_put(b, s);
			s->kept_tasks = s->n_tasks;
		}
		s->kept |= keep;
		if (s->kept && s->dirty)
			kept_carry(b, s);
		s->dirty = false;
	}
}

/* The store has nothing of what was written: at the next tick again. */
static void take_rows_back(struct books *b)
{
	for (int i = 0; i < b->use.jobs->n; i++) {
		struct step *s = b->use.jobs->step[i];

		if (!s->flushing)
			continue;
		s->row_id = s->flushed_row_id;
		s->kept = s->flushed_kept;
		s->kept_tasks = 0;
		s->dirty = true;
	}
}

static bool has_rows(const struct books *b)
{
	for (int i = 0; i < b->use.jobs->n; i++)
		if (b->use.jobs->step[i]->dirty || is_to_keep(b->use.jobs->step[i]))
			return true;
	return false;
}

/*
 * What is only written down can wait for the next tick: on a node whose cores are all taken, our
 * writing would run where the step being launched runs. The ledger never waits. All of it is one
 * transaction: each would write the pages they share anew.
 */
void account_flush(struct books *b)
{
	bool histories = b->use.jobs->n && ipc_now_ns() - b->last_history_ns >= HISTORY_NS;
	int n_stores = b->n_stores;
	struct errbuf err;
	bool one, undone;

	if (ipc_now_ns() < b->flush_again_ns || (!histories && !has_rows(b)))
		return;
	b->flush_again_ns = 0;
	one = record_begin(b->use.record, NULL) == 0;
	write_rows(b, one);
	if (histories && one == record_is_open(b->use.record))
		write_histories(b);
	/* A damaged store was met: a new one has it, or will at the next tick. */
	if (!one || n_stores != b->n_stores)
		return;
	undone = !record_is_open(b->use.record);
	if (!undone && record_end(b->use.record, 0, &err) == 0)
		return;
	if (!undone) {
		log_error("accounting: %s", err.text);
		health_error("accounting: %.200s", err.text);
	}
	take_rows_back(b);
	b->flush_again_ns = ipc_now_ns() + AGAIN_NS;
}
