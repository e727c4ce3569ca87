/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_gain.c - a step's measured speeds, slowdown and gain. Apart from record_step.c: the row
 * is written at every change of placement, these once something was measured.
 */
#include <errno.h>
#include <math.h>

#include "nodesvc/record/record_internal.h"

/* Order of RECORD_GAIN_COLUMNS. */
const char *const RECORD_GAIN_SQL[N_GAIN_STMTS] = {
	[GAIN_SET] = "UPDATE step SET ntt_share = ?1, ntt_full = ?2, stp_share = ?3, "
		     "stp_full = ?4, antt_share = ?5, antt_full = ?6, gain_placement = ?7, "
		     "gain_placement_lo = ?8, gain_placement_hi = ?9, gain_launch = ?10, "
		     "gain_launch_lo = ?11, gain_launch_hi = ?12, gain_basis = ?13, "
		     "solo_speed = ?14, shared_speed = ?15, speed_unit = ?16, speed_basis = ?17, "
		     "phases = ?18, moves = ?19, windows = ?20 WHERE row_id = ?21",
};

void step_gain_init(struct step_gain *g)
{
	const struct gain_estimate unknown = {NAN, NAN, NAN};

	*g = (struct step_gain){
		.ntt_share = NAN,
		.ntt_full = NAN,
		.stp_share = NAN,
		.stp_full = NAN,
		.antt_share = NAN,
		.antt_full = NAN,
		.placement = unknown,
		.launch = unknown,
		.solo_speed = NAN,
		.shared_speed = NAN,
		.phases = -1,
		.moves = -1,
		.windows = -1,
	};
}

static int bind_estimate(sqlite3_stmt *s, int i, const struct gain_estimate *e)
{
	db_bind_double(s, ++i, e->value);
	db_bind_double(s, ++i, e->lo);
	db_bind_double(s, ++i, e->hi);
	return i;
}

int record_step_gain(
	struct record *r, int64_t row_id, const struct step_gain *g, struct errbuf *err)
{
	sqlite3_stmt *s = r->gain[GAIN_SET];
	int i = 0, rc;

	db_bind_double(s, ++i, g->ntt_share);
	db_bind_double(s, ++i, g->ntt_full);
	db_bind_double(s, ++i, g->stp_share);
	db_bind_double(s, ++i, g->stp_full);
	db_bind_double(s, ++i, g->antt_share);
	db_bind_double(s, ++i, g->antt_full);
	i = bind_estimate(s, i, &g->placement);
	i = bind_estimate(s, i, &g->launch);
	db_bind_text(s, ++i, g->basis);
	db_bind_double(s, ++i, g->solo_speed);
	db_bind_double(s, ++i, g->shared_speed);
	db_bind_text(s, ++i, g->speed_unit);
	db_bind_text(s, ++i, g->speed_basis);
	db_bind_int(s, ++i, g->phases, -1);
	db_bind_int(s, ++i, g->moves, -1);
	db_bind_int(s, ++i, g->windows, -1);
	sqlite3_bind_int64(s, ++i, row_id);
	rc = db_run(r->db, s, err, "write a gain");
	if (rc < 0)
		return rc;
	if (sqlite3_changes(r->db) == 0)
		return err_set(err, -ENOENT, "gain: no row %lld", (long long)row_id);
	return 0;
}

static int read_estimate(sqlite3_stmt *s, int i, struct gain_estimate *ret)
{
	ret->value = db_column_double(s, i++);
	ret->lo = db_column_double(s, i++);
	ret->hi = db_column_double(s, i++);
	return i;
}

void record_gain_read(sqlite3_stmt *s, int i, struct step_gain *ret)
{
	ret->ntt_share = db_column_double(s, i++);
	ret->ntt_full = db_column_double(s, i++);
	ret->stp_share = db_column_double(s, i++);
	ret->stp_full = db_column_double(s, i++);
	ret->antt_share = db_column_double(s, i++);
	ret->antt_full = db_column_double(s, i++);
	i = read_estimate(s, i, &ret->placement);
	i = read_estimate(s, i, &ret->launch);
	ret->basis = db_column_text(s, i++);
	ret->solo_speed = db_column_double(s, i++);
	ret->shared_speed = db_column_double(s, i++);
	ret->speed_unit = db_column_text(s, i++);
	ret->speed_basis = db_column_text(s, i++);
	ret->phases = (int)db_column_int(s, i++, -1);
	ret->moves = (int)db_column_int(s, i++, -1);
	ret->windows = (int)db_column_int(s, i++, -1);
}
