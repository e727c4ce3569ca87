/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * account.c - a step's row in the store: at its start, while it runs, and at its end. What is only
 * written down waits for the tick.
 */
#include <math.h>
#include <stdio.h>

#include "common/ipc.h"
#include "nodesvc/daemon.h"
#include "nodesvc/gain.h"
#include "nodesvc/log.h"
#include "nodesvc/ptable.h"
#include "nodesvc/track.h"

/* The newest launches count: programs and nodes change. */
#define LAUNCHES_MAX 50
/* So much of what was measured a crash may lose. */
#define CARRY_NS INT64_C(5000000000)
/* Nobody looks at a step's history closer than this; and one transaction writes it for all. */
#define HISTORY_NS INT64_C(1000000000)

static int add_log(double speed, void *arg)
{
	gain_mean_add(arg, log(speed));
	return 0;
}

/* This launch and those of its program before it: with the levers over without. */
static void compare_launches(struct daemon *d, const struct step_row *row, enum provenance basis,
	struct step_figures *figures)
{
	struct gain_mean with = {0}, without = {0};
	struct gain_estimate gain;
	struct errbuf err;

	if (!figures->launch || !figures->speed_unit || !row->program)
		return;
	if (record_launches(d->record, row, "lever", LAUNCHES_MAX, add_log, &with, &err) < 0 ||
		record_launches(d->record, row, "control", LAUNCHES_MAX, add_log, &without, &err) <
			0)
		return;
	if (figures->shared_speed > 0)
		gain_mean_add(strcmp(figures->launch, "lever") == 0 ? &with : &without,
			log(figures->shared_speed));
	gain_unpaired(&with, &without, &gain);
	figures->gain_launch = gain.ratio;
	figures->gain_launch_lo = gain.lo;
	figures->gain_launch_hi = gain.hi;
	figures->launches = gain.n;
	if (isfinite(gain.ratio) && !figures->gain_basis)
		figures->gain_basis = provenance_name(basis);
}

void lifecycle_put_row(struct daemon *d, struct step *s, enum step_state state, int64_t end_ns)
{
	char cores[CORESET_STR_MAX];
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
		.account = *s->account ? s->account : NULL,
		.partition = *s->partition ? s->partition : NULL,
		.policy = *s->policy ? s->policy : NULL,
		.req_policy = *s->req_policy ? s->req_policy : NULL,
		.reason = *step_reason(s) ? step_reason(s) : NULL,
		.cores = topo_count_cores(d->topo, &s->coreset),
		.coreset_history = *s->history ? s->history : NULL,
		.partners = *s->partners ? s->partners : NULL,
		.start_ns = s->start_unix_ns,
		.end_ns = end_ns,
		.rebinds = s->rebinds,
		.tasks = s->n_tasks,
		.exit_code = s->exit_status,
		.state = state,
		.dry_run = s->dry_run || d->conf.dry_run,
		.figures = &figures,
	};

	track_figures(d, s, state == STEP_COMPLETED, &figures);
	if (end_ns)
		compare_launches(d, &row, s->track.last.basis, &figures);
	if (!coreset_is_empty(&s->coreset))
		row.coreset = coreset_format(&s->coreset, cores, sizeof(cores));
	rc = record_step_put(d->record, &row, &err);
	if (rc < 0 && store_recover(d, rc)) {
		row.row_id = 0;
		rc = record_step_put(d->record, &row, &err);
	}
	if (rc < 0) {
		log_error("step %s: accounting: %s", s->id, err.text);
		snprintf(d->last_error, sizeof(d->last_error), "accounting: %.200s", err.text);
		return;
	}
	s->row_id = row.row_id;
}

/* What may be lost, in one transaction; rows of steps are not among it. */
static void write_histories(struct daemon *d)
{
	int64_t now_ns = ipc_now_ns();
	bool own;

	if (d->jobs.n == 0 || now_ns - d->last_history_ns < HISTORY_NS)
		return;
	d->last_history_ns = now_ns;
	own = record_begin(d->record, NULL) == 0;
	for (int i = 0; i < d->jobs.n; i++) {
		struct step *s = d->jobs.step[i];

		if (s->kept && now_ns - s->carried_ns >= CARRY_NS)
			adopt_carry(d, s);
		history_write(d, s);
	}
	if (own)
		record_end(d->record, 0, NULL);
}

/*
 * What is only written down can wait for the next tick: on a node whose cores are all taken, our
 * writing would run where the step being launched runs. The ledger never waits.
 */
void lifecycle_flush(struct daemon *d)
{
	decide_flush(d);
	ptable_flush(d);
	for (int i = 0; i < d->jobs.n; i++) {
		struct step *s = d->jobs.step[i];
		bool keep = !s->kept && s->n_tasks && s->n_tasks >= s->ntasks;

		if (s->dirty || keep)
			lifecycle_put_row(d, s, STEP_RUNNING, 0);
		if (keep)
			adopt_keep(d, s);
		s->kept |= keep;
		if (s->kept && s->dirty)
			adopt_carry(d, s);
		s->dirty = false;
	}
	write_histories(d);
}
