/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steer.c - a step is placed by its threads' masks, inside the cpuset that Slurm gave it. Nothing
 * that a program may know from its start or from Slurm goes away from under it: whatever mask it
 * sets for itself, the kernel takes. When it has run with that for a moment, it is put where the
 * plan has it, and its own is in the ledger, for the end.
 *
 * apply() goes round until a pass (steer_pass.c) changes nothing, actuate_look() does as much as it
 * may at each tick. Of a step in which nothing happens and on whose node nobody was forked it reads
 * masks alone, and neither its cpuset nor its list of threads.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/aside.h"
#include "common/cleanup.h"
#include "common/ipc.h"
#include "nodesvc/actuate/steer.h"

/* What outruns so many passes sets masks or forks on purpose: the looks go on with it. */
#define ROUNDS_MAX 20
/* How long one change may take of the loop's time; the looks do the rest. */
#define APPLY_NS INT64_C(5000000)
/* A quiet step's threads are listed after so long, whoever was forked meanwhile; and at each look
 * if they are more than so many. */
#define LIST_NS     INT64_C(1000000000)
#define GLANCES_MAX (8 * STEER_CHUNK)

static struct steer *find(const struct actuate *a, const char *step_path)
{
	for (int i = 0; i < a->n_steers; i++)
		if (strcmp(a->steer[i]->step.step_path, step_path) == 0)
			return a->steer[i];
	return NULL;
}

static void steer_free(struct steer *st)
{
	steer_members_done(st);
	rows_free(&st->recorded);
	rows_free(&st->recorded_pins);
	free(st->part);
	free(st->handed);
	free(st);
}

static void take_out(struct actuate *a, const struct steer *st)
{
	for (int i = 0; i < a->n_steers; i++)
		if (a->steer[i] == st) {
			a->steer[i] = a->steer[--a->n_steers];
			return;
		}
}

static void drop(struct actuate *a, struct steer *st)
{
	take_out(a, st);
	steer_free(st);
}

void steer_close(struct actuate *a)
{
	while (a->n_steers)
		drop(a, a->steer[0]);
	free(a->steer);
	a->steer = NULL;
}

/* The directory of @path's job: the ledger names only the step's. */
static void find_job(const struct hierarchy *h, struct step_cgroup *s)
{
	char *end;

	if (s->job_path[0])
		return;
	snprintf(s->job_path, sizeof(s->job_path), "%s", s->step_path);
	for (int i = 0; i < h->levels_below_job && (end = strrchr(s->job_path, '/')); i++)
		*end = '\0';
}

static int load_rows(struct rows *to, struct ledger_thread *v, int n)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < n; i++)
		rc = rows_put(to, &v[i]);
	free(v);
	return rc;
}

/* What one before us gave it. */
static int load(
	struct actuate *a, struct steer *st, const struct ledger_given *g, struct errbuf *err)
{
	struct ledger_thread *v;
	int n, rc = ledger_get_threads(a->ledger, g->path, &v, &n, err);

	if (rc == 0)
		rc = load_rows(&st->recorded, v, n);
	if (rc == 0)
		rc = ledger_get_pins(a->ledger, g->path, &v, &n, err);
	if (rc == 0) {
		st->n_pins_saved = n;
		rc = load_rows(&st->recorded_pins, v, n);
	}
	st->set = g->set;
	st->first = false;
	st->moving = true;
	for (int i = 0; rc == 0 && i < st->recorded.n; i++)
		steer_part(st, &st->recorded.v[i].mask);
	for (int i = 0; rc == 0 && i < g->n; i++) {
		struct own own = {.mask = st->slurm};

		/* Whose it was: the task's whose share it is. */
		for (int k = 1; k < st->n_parts; k++) {
			const struct own part = {.mask = st->part[k].cpus, .part = k};
			struct coreset share;

			steer_want(st, &part, false, &share);
			if (coreset_is_equal(&share, &g->mask[i]))
				own = part;
		}
		rc = steer_hand(st, &g->mask[i], &own);
		if (rc == 0)
			st->handed[st->n_handed - 1].guessed = true;
	}
	/* Killed while it was widened or narrowed? */
	st->wall_moved = st->with_stepd = true;
	return rc;
}

static int fill(struct actuate *a, struct steer *st, struct errbuf *err)
{
	struct coreset job, recorded;
	int rc = a->ops->allocation(a, &st->step, &job, &st->slurm, err);

	if (rc < 0)
		return rc;
	if (coreset_intersects(&st->slurm, &job))
		coreset_and(&st->slurm, &st->slurm, &job);
	rc = change_recorded(a, st->step.step_path, &st->cs, &recorded, err);
	st->is_recorded = rc == 0;
	if (rc == -ENOENT) {
		snprintf(st->cs.path, sizeof(st->cs.path), "%s", st->step.step_path);
		rc = change_inode(a, st->step.step_path, &st->cs.inode, err);
		if (rc == 0)
			rc = cpus_read_text(a->root, st->step.step_path, st->cs.cpus,
				sizeof(st->cs.cpus), NULL, err);
	}
	if (rc == 0)
		rc = cpus_read_file(a->root, st->dir, st->h->effective, &st->wall, err);
	st->past = st->wall;
	st->part = calloc(1, sizeof(*st->part));
	if (rc < 0 || !st->part)
		return rc < 0 ? rc : -ENOMEM;
	st->part[st->n_parts++].cpus = st->slurm;
	return 0;
}

/* One that is being put back stays with him who does it, who stops; whoever comes then begins anew
 * from the ledger: NULL. */
static struct steer *leave_alone(struct actuate *a, struct steer *st)
{
	if (!st || !st->leaving)
		return st;
	st->abandoned = true;
	take_out(a, st);
	return NULL;
}

/* Has it another cpuset than Slurm gave? */
static bool is_otherwise_placed(struct actuate *a, const char *step_path)
{
	struct ledger_cpuset cs;

	return ledger_get_cpuset(a->ledger, step_path, &cs, NULL) == 0 && !steer_has(a, step_path);
}

/* The step's state: ours, or as one before us has left it, or new. */
static int open_step(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	struct steer **ret, struct errbuf *err)
{
	struct steer *st = leave_alone(a, find(a, s->step_path)), **more;
	struct ledger_given g = {.mask = NULL};
	int rc;

	if (st && (!s->step_inode || st->step.step_inode == s->step_inode)) {
		*ret = st;
		return 0;
	}
	if (st)
		drop(a, st);
	more = realloc(a->steer, ((size_t)a->n_steers + 1) * sizeof(struct steer *));
	if (more)
		a->steer = more;
	/* By one before us, whose way was the other. */
	if (is_otherwise_placed(a, s->step_path)) {
		rc = a->ops->restore(a, s, err);
		if (rc < 0)
			return rc;
	}
	st = calloc(1, sizeof(*st));
	if (!more || !st) {
		free(st);
		return err_set(err, -ENOMEM, "out of memory");
	}
	st->h = h;
	st->step = *s;
	st->first = true;
	find_job(h, &st->step);
	change_where(h, a, s->step_path, st->dir, sizeof(st->dir));
	rc = fill(a, st, err);
	if (rc == 0 && st->is_recorded) {
		st->step.step_inode = st->cs.inode;
		rc = ledger_get_given(a->ledger, s->step_path, &g, err);
		rc = rc == -ENOENT ? 0 : rc < 0 ? rc : load(a, st, &g, err);
	}
	free(g.mask);
	if (rc < 0) {
		steer_free(st);
		return rc == -ENOMEM ? err_set(err, rc, "out of memory") : rc;
	}
	a->steer[a->n_steers++] = st;
	*ret = st;
	return 0;
}

/* So that its file's writes are known, and Slurm's to the job's. */
static void hold(struct actuate *a, const struct steer *st)
{
	struct coreset cpus, job;

	if (cpus_read(a->root, st->dir, &cpus, NULL) < 0)
		return;
	if (cpus_read(a->root, st->step.job_path, &job, NULL) < 0)
		coreset_zero(&job);
	watch_hold(a, &st->step, st->dir, &cpus, &job);
}

static void count(struct steer *st, struct actuate_result *ret)
{
	*ret = (struct actuate_result){.coreset = st->set};
	for (int i = 0; i < st->n; i++) {
		const struct member *t = &st->member[i];
		bool pinned = t->row && t->row->own.program &&
			      !coreset_is_subset(&st->slurm, &t->row->own.mask);

		ret->foreign += t->foreign;
		ret->pinned += !t->foreign && pinned;
		ret->resting += !t->foreign && !pinned && steer_rests(st, t);
		ret->threads += !t->foreign && !pinned && !steer_rests(st, t);
	}
}

/* Its cpuset as wide as its job's, or as it may ever be needed: once. Whose masks are whose is told
 * before, as the kernel may wipe them. */
static int widen(struct actuate *a, struct steer *st, const struct coreset *set, struct errbuf *err)
{
	char want[CORESET_STR_MAX], have[CORESET_STR_MAX];
	int rc = 0;

	if (coreset_is_subset(set, &st->wall) &&
		!(a->outside && st->first && !coreset_is_subset(&a->all_pus, &st->wall)))
		return 0;
	st->at = st->changed = 0;
	st->with_stepd = true;
	rc = steer_settle(a, st, false, ROUNDS_MAX, INT64_MAX, err);
	if (rc < 0)
		return rc;
	rc = st->h->widen(a, &st->step, set, err);
	st->wall_moved = true;
	change_where(st->h, a, st->step.step_path, st->dir, sizeof(st->dir));
	if (rc < 0 && coreset_is_subset(set, &st->wall))
		rc = 0; /* it stays where it is */
	if (rc == 0)
		rc = steer_read_wall(a, st, err);
	if (rc < 0 || coreset_is_subset(set, &st->wall))
		return rc;
	return err_set(err, -ERANGE, "%s: '%.60s' is not inside the job's CPUs '%.60s'",
		st->step.step_path, coreset_format(set, want, sizeof(want)),
		coreset_format(&st->wall, have, sizeof(have)));
}

/* Back to @before; NULL: to Slurm's, of a step that nothing was given before. */
static void undo(
	struct actuate *a, struct steer *st, const struct coreset *before, struct errbuf *err)
{
	struct errbuf first = *err, why = {""};
	struct step_cgroup s = st->step;
	int rc;

	if (before) {
		st->set = *before;
		st->at = st->changed = 0;
		st->moving = st->unsaved = true;
		rc = steer_settle(a, st, true, ROUNDS_MAX, ipc_now_ns() + APPLY_NS, &why);
		if (rc >= 0 && st->refused)
			rc = err_set(&why, st->refused, "%s", strerror(-st->refused));
	} else if (st->is_recorded) {
		rc = steer_restore(st->h, a, &s, &why);
	} else {
		drop(a, st);
		return;
	}
	if (rc < 0)
		err_set(err, rc, "%.140s; not undone: %.90s", first.text, why.text);
}

int steer_apply(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	const struct coreset *set, struct actuate_result *ret, struct errbuf *err)
{
	struct coreset before;
	struct steer *st;
	bool is_new;
	int rc = open_step(h, a, s, &st, err);

	if (rc < 0)
		return rc;
	is_new = st->first;
	before = is_new ? st->slurm : st->set;
	if (is_new)
		st->set = st->slurm;
	rc = steer_read_wall(a, st, err);
	if (rc == 0)
		rc = widen(a, st, set, err);
	if (rc >= 0) {
		st->moving = true;
		st->unsaved |= !coreset_is_equal(&st->set, set);
		st->set = *set;
		st->at = st->changed = 0;
		rc = steer_settle(a, st, true, ROUNDS_MAX, ipc_now_ns() + APPLY_NS, err);
		if (rc >= 0 && st->refused)
			rc = err_set(err, st->refused, "%s: cannot set a thread's mask: %s",
				st->step.step_path, strerror(-st->refused));
	}
	if (rc >= 0) {
		hold(a, st);
		count(st, ret);
		return 0;
	}
	undo(a, st, is_new ? NULL : &before, err);
	return rc;
}

int steer_verify(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	const struct coreset *set)
{
	const struct steer *st = find(a, s->step_path);
	char dir[FILE_MAX];
	struct coreset wall;
	int rc;

	change_where(h, a, s->step_path, dir, sizeof(dir));
	rc = cpus_read_file(a->root, dir, h->effective, &wall, NULL);
	if (rc < 0)
		return rc;
	rc = change_is_there(a, s->step_path, s->step_inode, NULL);
	if (rc < 0)
		return rc;
	return !st || !coreset_is_equal(&st->set, set) || !coreset_is_subset(set, &wall);
}

/* The number of whoever was forked last on the node; 0: unknown. */
static pid_t newest_on_node(const struct actuate *a)
{
	char text[128];
	int newest;

	/* "0.20 0.18 0.12 1/80 11206" */
	return fsroot_read_once(a->root, "proc/loadavg", text, sizeof(text)) > 0 &&
			       sscanf(text, "%*s %*s %*s %*s %d", &newest) == 1 && newest > 0
		       ? newest
		       : 0;
}

/* Has @t what it had, and does it run or rest as before? */
static bool is_as_it_was(struct actuate *a, struct steer *st, const struct member *t)
{
	const struct member *has = t->row ? t : steer_leader(st, t);
	struct coreset now;
	bool rested;

	if (!t->seen || !has || proc_get_mask(t->tid, &now) < 0 ||
		!coreset_is_equal(&now, &has->row->given))
		return false;
	if (t->tid != t->tgid)
		return true;
	rested = t->row->rest.rests;
	steer_watch_rest(a, st, t);
	return t->row->rest.rests == rested;
}

/* Nothing was to be done at the last pass, and nothing has happened since. Who was forked is on the
 * step's masks; who was moved here without a fork is found after LIST_NS. */
static bool is_still_quiet(struct actuate *a, struct steer *st)
{
	if (!st->quiet || st->moving || st->at || st->n > GLANCES_MAX || !a->newest ||
		st->newest != a->newest || ipc_now_ns() - st->listed_ns >= LIST_NS)
		return false;
	for (int i = 0; i < st->n; i++)
		if (!st->member[i].foreign && !is_as_it_was(a, st, &st->member[i]))
			return false;
	return true;
}

static bool look_at_steps(struct actuate *a, int64_t until_ns)
{
	struct errbuf err;

	for (int i = 0; i < a->n_steers; i++) {
		struct steer *st = a->steer[a->look_at % a->n_steers];
		bool rests = st->leaving ||
			     (!st->moving && st->at == 0 && ipc_now_ns() < st->next_ns) ||
			     is_still_quiet(a, st);

		/* What fails is tried again at the next look; who has ended others will tell. */
		if (!rests &&
			steer_settle(a, st, true, st->moving ? ROUNDS_MAX : 1, until_ns, &err) < 0)
			st->at = 0;
		if (!rests && st->at)
			return false;
		a->look_at = (a->look_at + 1) % a->n_steers;
		if (ipc_now_ns() >= until_ns)
			return i + 1 == a->n_steers;
	}
	return true;
}

bool actuate_look(struct actuate *a, int64_t budget_ns)
{
	int64_t until_ns = ipc_now_ns() + budget_ns;
	bool all;

	/* Before any list is read: whoever comes after that is found at the next look. */
	a->newest = a->n_steers ? newest_on_node(a) : 0;
	all = look_at_steps(a, until_ns);
	a->newest = 0;
	return all;
}

int actuate_left(const struct actuate *a, const struct step_cgroup *s, int *ret_of)
{
	const struct steer *st = find(a, s->step_path);

	*ret_of = st ? st->n : 0;
	return st && st->moving && !st->leaving ? st->n - st->at : 0;
}

/* ---- the way back -------------------------------------------------------------------------- */

/* Others may have their turn here, and may have begun the same anew. */
static int breathe(const struct steer *st, struct errbuf *err)
{
	return aside_breathe() || st->abandoned
		       ? err_set(err, -ECANCELED, "%s: stopped", st->step.step_path)
		       : 0;
}

/* One pass: everybody his own. */
static int put_back(struct actuate *a, struct steer *st, struct errbuf *err)
{
	cleanup_free struct todo *todo = calloc(STEER_CHUNK, sizeof(*todo));
	int n, rc = todo ? 0 : -ENOMEM;

	while (rc == 0 && st->at < st->n) {
		rc = breathe(st, err);
		if (rc == 0)
			rc = steer_look_on(a, st, todo, &n, err);
		for (int i = 0; rc == 0 && i < n; i++) {
			const struct own *own = steer_own(st, todo[i].t);
			struct coreset cut;

			if (!own)
				continue;
			todo[i].want =
				coreset_is_subset(&st->slurm, &own->mask) ? st->wall : own->mask;
			coreset_and(&cut, &todo[i].want, &st->wall);
			if (!coreset_is_equal(&cut, &todo[i].now))
				rc = steer_set(st, &todo[i]);
		}
	}
	return rc;
}

static int put_all_back(struct actuate *a, struct steer *st, struct errbuf *err)
{
	int rc = 0;

	st->moving = true;
	for (int round = 0; rc == 0 && round < ROUNDS_MAX; round++) {
		st->at = st->changed = st->refused = 0;
		rc = steer_read_wall(a, st, err);
		if (rc == 0)
			rc = steer_list_now(a, st, err);
		if (rc == 0)
			rc = put_back(a, st, err);
		if (rc == 0 && st->changed == 0)
			return st->refused ? err_set(err, st->refused,
						     "%s: cannot put a thread's mask back: %s",
						     st->step.step_path, strerror(-st->refused))
					   : 0;
	}
	return rc < 0 ? rc
		      : err_set(err, -EAGAIN,
				"%s: its threads still change their masks after %d rounds",
				st->step.step_path, ROUNDS_MAX);
}

/* And that is known. */
static bool has_ended(const struct actuate *a, const struct steer *st)
{
	return fsroot_is_there(a->root, st->step.step_path, st->cs.inode) == 0;
}

/* Whose are whose, then Slurm's cpuset where it was widened, then the masks. */
static int go_back(struct actuate *a, struct steer *st, struct errbuf *err)
{
	int rc = 0;

	st->leaving = true;
	if (!has_ended(a, st)) {
		st->at = st->changed = 0;
		st->set = st->slurm;
		rc = steer_list_now(a, st, err);
		while (rc == 0 && st->at < st->n) {
			cleanup_free struct todo *todo = calloc(STEER_CHUNK, sizeof(*todo));
			int n;

			rc = todo ? steer_look_on(a, st, todo, &n, err) : -ENOMEM;
			if (rc == 0)
				rc = breathe(st, err);
		}
	}
	if (rc == 0 || has_ended(a, st)) {
		st->wall_moved = true;
		rc = st->h->narrow(a, &st->step, err);
		change_where(st->h, a, st->step.step_path, st->dir, sizeof(st->dir));
	}
	if (rc == 0 && !has_ended(a, st))
		rc = put_all_back(a, st, err);
	st->leaving = false;
	return rc;
}

bool steer_has(struct actuate *a, const char *step_path)
{
	struct ledger_given g;

	if (find(a, step_path))
		return true;
	if (ledger_get_given(a->ledger, step_path, &g, NULL) < 0)
		return false;
	free(g.mask);
	return true;
}

int steer_restore(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	struct errbuf *err)
{
	struct step_cgroup step = *s;
	struct steer *st;
	int rc;

	if (!steer_has(a, s->step_path))
		return -EXDEV;
	find_job(h, &step);
	rc = change_recorded(a, s->step_path, NULL, NULL, err);
	if (rc < 0 && rc != -ENOENT)
		return rc;
	st = leave_alone(a, find(a, s->step_path));
	if (rc == -ENOENT && !st) /* that directory has gone, and its rows with it */
		return h->narrow(a, &step, err);
	if (!st)
		rc = open_step(h, a, s, &st, err);
	else
		rc = 0;
	if (rc == 0)
		rc = go_back(a, st, err);
	if (st && st->abandoned) {
		steer_free(st);
		return err_set(err, -ECANCELED, "%s: put back by others", s->step_path);
	}
	if (rc == -ENOENT && (!st || has_ended(a, st)))
		rc = 0;
	if (rc == 0)
		rc = ledger_forget(a->ledger, s->step_path, err);
	if (rc < 0)
		return rc;
	watch_drop(a, s->step_path);
	if (st)
		drop(a, st);
	return 0;
}

int steer_current(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	struct coreset *ret, struct errbuf *err)
{
	struct steer *st;
	int rc;

	if (!steer_has(a, s->step_path))
		return -ENOENT;
	rc = open_step(h, a, s, &st, err);
	if (rc < 0)
		return rc;
	hold(a, st);
	*ret = st->set;
	return 0;
}