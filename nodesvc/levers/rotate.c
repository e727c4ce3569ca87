/* SPDX-License-Identifier: GPL-2.0-or-later */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "common/cleanup.h"
#include "common/ipc.h"
#include "nodesvc/levers/internal.h"
#include "nodesvc/base/log.h"

/* No slice is shorter, however many there are: a switch takes some 0.1 ms of kernel work. */
#define SLICE_MIN_MS 10
/* Slurm thaws a step before each signal that is to end it. So long it is let alone; KillWait is
 * 30 s by default, and a turn comes round in less than freeze_max_ms anyway. */
#define ENDING_NS INT64_C(60000000000)
static void on_timer(void *arg);

static void on_guard_gone(int fd, uint32_t events, void *arg);

static void watch_guard(struct levers *lv)
{
	struct rotate *r = lv->rotate;
	struct errbuf err;

	if (guard_fd(r->guard) >= 0 && loop_add_fd(lv->loop, guard_fd(r->guard), EPOLLIN,
					       on_guard_gone, lv, &r->guard_watch, &err) < 0)
		log_warning("guard: %s", err.text);
}

static void on_guard_gone(int fd, uint32_t events, void *arg)
{
	struct levers *lv = arg;
	struct rotate *r = lv->rotate;
	struct errbuf err;

	(void)fd, (void)events;
	loop_remove(lv->loop, r->guard_watch);
	r->guard_watch = NULL;
	log_warning("the guard process is gone, starting it again");
	if (guard_restart(r->guard, &err) == 0) {
		watch_guard(lv);
		return;
	}
	/* Nobody would thaw after a crash: then nobody is frozen. */
	log_error("%s", err.text);
	snprintf(r->why_not, sizeof(r->why_not), "%.200s", err.text);
	for (int i = 0; i < lv->jobs->n; i++)
		rotate_leave(lv, lv->jobs->step[i]);
	r->on = false;
}

int rotate_guard(struct levers *lv, struct errbuf *err)
{
	struct rotate *r = calloc(1, sizeof(*r));
	char mark[sizeof(lv->conf->store) + 16];
	int rc;

	snprintf(mark, sizeof(mark), "%s/guard-thawed", lv->conf->store);
	rc = r ? guard_start(&r->guard, &lv->node->root, mark, FREEZER_MAX, err)
	       : err_set(err, -ENOMEM, "out of memory");

	if (rc < 0) {
		free(r);
		return rc;
	}
	r->slice = -1;
	lv->rotate = r;
	return 0;
}

static void on_watch(int fd, uint32_t events, void *arg);

static int open_freezer(struct levers *lv, struct errbuf *err)
{
	struct rotate *r = lv->rotate;
	int rc = freezer_open(&r->freezer, &lv->node->root, lv->ledger, r->guard, err), mark;

	if (rc < 0)
		return rc;
	mark = guard_take_mark(r->guard);
	rc = freezer_restore_all(r->freezer, mark == 1, err);
	if (rc > 0)
		log_info("thawed %d steps that a former colocd had in its rotation", rc);
	if (rc < 0) {
		log_error("thawing what a former colocd left: %s", err->text);
		owed_note(lv, err->text);
	}
	if (mark < 0)
		return err_set(err, mark, "the guard's mark in the store: %s", strerror(-mark));
	rc = freezer_watch(r->freezer, err);
	if (rc == 0)
		rc = loop_add_fd(lv->loop, freezer_watch_fd(r->freezer), EPOLLIN, on_watch, lv,
			&r->watch, err);
	if (rc == 0)
		rc = loop_add_timer(lv->loop, on_timer, lv, &r->timer, err);
	return rc;
}

bool rotate_holds(const struct levers *lv, const char *path)
{
	return lv->rotate && lv->rotate->freezer && freezer_holds(lv->rotate->freezer, path);
}

int rotate_restore_path(struct levers *lv, const char *path, struct errbuf *err)
{
	struct freezer *f = lv->rotate ? lv->rotate->freezer : NULL, *own = NULL;
	int rc = f ? 0 : freezer_open(&own, &lv->node->root, lv->ledger, NULL, err);

	if (rc == 0)
		rc = freezer_restore_path(f ? f : own, path, err);
	freezer_close(own);
	return rc;
}

void rotate_open(struct levers *lv)
{
	struct errbuf err = {""};

	if (!lv->rotate)
		return;
	watch_guard(lv);
	if (open_freezer(lv, &err) < 0)
		snprintf(lv->rotate->why_not, sizeof(lv->rotate->why_not), "%.250s", err.text);
	if (*lv->rotate->why_not)
		log_info("steps cannot take turns: %s", lv->rotate->why_not);
}

void rotate_close(struct levers *lv)
{
	struct rotate *r = lv->rotate;

	if (!r)
		return;
	for (int i = 0; i < lv->jobs->n; i++)
		rotate_leave(lv, lv->jobs->step[i]);
	loop_remove(lv->loop, r->watch);
	loop_remove(lv->loop, r->timer);
	loop_remove(lv->loop, r->guard_watch);
	freezer_close(r->freezer);
	guard_stop(r->guard);
	free(r);
	lv->rotate = NULL;
}

const char *rotate_why_not(const struct levers *lv)
{
	if (!lv->rotate)
		return "no guard process runs";
	return *lv->rotate->why_not ? lv->rotate->why_not : NULL;
}

bool rotate_has_foreground(const struct levers *lv)
{
	return lv->rotate && lv->rotate->on && turns_have_foreground(lv->rotate);
}

int rotate_round_ms(const struct levers *lv)
{
	const struct rotate *r = lv->rotate;
	int sum = 0;

	for (int k = 0; r && r->on && k < r->n_slices; k++)
		sum += r->ms[k];
	return sum;
}

bool rotate_tell(
	const struct levers *lv, const struct step *s, int64_t now_ns, struct turn_told *ret)
{
	const struct rotate *r = lv->rotate;
	int64_t left_ns;

	if (!r || !r->on || r->slice < 0 || r->slice >= r->n_slices || !s->turn.hold ||
		!s->turn.slices)
		return false;
	left_ns = r->end_ns > now_ns ? r->end_ns - now_ns : 0;
	*ret = (struct turn_told){.runs = s->turn.slices >> r->slice & 1, .n_slices = r->n_slices};
	for (int k = 1; k <= r->n_slices; k++) {
		int slice = (r->slice + k) % r->n_slices;

		if (s->turn.slices >> slice & 1) {
			ret->slice_ms = r->ms[slice];
			ret->next_ns = left_ns;
			return true;
		}
		left_ns += r->ms[slice] * MS;
	}
	return false;
}

/* ---- freezing and thawing one step --------------------------------------------------------- */

/* Once who wants a core may have changed. */
static void note(const struct levers *lv, struct step *s, int64_t now_ns)
{
	struct turn *t = &s->turn;

	t->wanted_ns = turn_wanted_ns(&s->turn, now_ns);
	t->noted_ns = now_ns;
	/* Nobody looks whether one alone waits: what it could have had it has had. */
	t->wants = lv->rotate->on ? turns_wanted_by(s, now_ns)
				  : t->hold && !freezer_is_suspended(t->hold);
}

static void note_all(const struct levers *lv, int64_t now_ns)
{
	for (int i = 0; i < lv->jobs->n; i++)
		note(lv, lv->jobs->step[i], now_ns);
}

static void on_news(struct freezer_hold *h, enum freezer_news news, void *arg)
{
	struct levers *lv = arg;

	for (int i = 0; i < lv->jobs->n; i++) {
		struct step *s = lv->jobs->step[i];

		if (s->turn.hold != h)
			continue;
		turn_thawed(&s->turn, ipc_now_ns());
		if (news == FREEZER_THAWED)
			s->turn.off_until_ns = ipc_now_ns() + ENDING_NS;
		note(lv, s, ipc_now_ns());
		log_info("step %s: %s", s->id,
			news == FREEZER_SUSPENDED ? "suspended by Slurm, its turns are over"
			: news == FREEZER_RESUMED ? "resumed by Slurm, takes its turns again"
						  : "thawed by Slurm for a signal, left alone");
		if (lv->on->suspended)
			lv->on->suspended(lv->arg);
	}
}

/*
 * What Slurm wrote comes before what we are about to write: our thaw would undo its suspend. What
 * remains is the time between the two system calls.
 */
static void hear_slurm(struct levers *lv)
{
	freezer_watch_read(lv->rotate->freezer, on_news, lv);
}

static void set_frozen(struct levers *lv, struct step *s, bool frozen, int64_t now_ns)
{
	struct rotate *r = lv->rotate;
	struct turn *t = &s->turn;
	struct errbuf err;
	int rc;

	if (!frozen)
		hear_slurm(lv);
	if (freezer_is_suspended(t->hold) || freezer_is_frozen(t->hold) == frozen)
		return;
	rc = frozen ? freezer_freeze(
			      r->freezer, t->hold, now_ns + lv->conf->freeze_max_ms * MS, &err)
		    : freezer_thaw(r->freezer, t->hold, &err);
	if (rc == 0 && frozen)
		t->frozen_since_ns = now_ns;
	else if (rc == 0)
		turn_thawed(t, now_ns);
	if (rc >= 0 || rc == -ENOENT) /* ended: the next look takes it out */
		return;
	log_error("step %s: %s", s->id, err.text);
	health_error("step %s: %.200s", s->id, err.text);
}

static void refuse(struct step *s, const char *why)
{
	s->turn.refused = true;
	snprintf(s->reason, sizeof(s->reason), "runs beside the slices: %.120s", why);
	log_info("step %s: %s", s->id, s->reason);
}

/* Somebody in the step, by whom its freezer is found. Tasks that ended while no colocd ran are in
 * its table still. */
static pid_t live_pid(struct levers *lv, const struct step *s)
{
	cleanup_free pid_t *tid = NULL;
	int n = 0;

	if (actuate_get_ops(lv->actuate)->threads(lv->actuate, &s->cgroup, &tid, &n) == 0 && n > 0)
		return tid[0];
	for (int i = 0; i < s->n_tasks; i++)
		if (!s->task[i].ended)
			return s->task[i].pid;
	return 0;
}

/* Placed by us, and not in the middle of its launch. */
static bool may_join(const struct levers *lv, const struct step *s)
{
	return s->status == STATUS_PLACED && s->located && step_is_launched(s) &&
	       (s->n_alive || s->tasks_lost) && !s->dry_run && !lv->conf->dry_run &&
	       !s->turn.refused;
}

static void join(struct levers *lv, struct step *s)
{
	struct turn *t = &s->turn;
	struct errbuf err;
	int rc = step_check_threads(s, STEP_THREADS_FROZEN, &err);

	if (rc == 0)
		rc = freezer_hold(lv->rotate->freezer, live_pid(lv, s), &s->cgroup, &t->hold, &err);
	if (rc == -ENOENT)
		return; /* ended meanwhile, or its first task only */
	if (rc < 0) {
		t->hold = NULL;
		refuse(s, err.text);
		return;
	}
	if (!t->util && utilization_open(&t->util, &lv->node->root, &err) < 0)
		t->util = NULL; /* it never yields then */
	t->burst = (struct burst){.at_ns = ipc_now_ns()};
	lv->rotate->n_turns++;
	turns_join(lv, s, ipc_now_ns());
}

void rotate_leave(struct levers *lv, struct step *s)
{
	struct turn *t = &s->turn;
	struct errbuf err;

	if (!t->hold)
		return;
	hear_slurm(lv);
	if (freezer_drop(lv->rotate->freezer, t->hold, &err) < 0) {
		owed_note(lv, err.text);
		log_error("step %s: %s", s->id, err.text);
		health_error("step %s: %.200s", s->id, err.text);
	}
	t->hold = NULL;
	turn_thawed(&s->turn, ipc_now_ns());
	note(lv, s, ipc_now_ns());
	lv->rotate->n_turns--;
	lv->rotate->stale = true;
}

int rotate_end(struct levers *lv, struct step *s, bool ended)
{
	(void)ended;
	rotate_leave(lv, s);
	s->turn.slices = 0;
	return 0;
}

/* ---- slices -------------------------------------------------------------------------------- */

/* CPUs of those of the slice that want to run, siblings included: what the others keep off. */
static void slice_cpus(const struct levers *lv, int64_t now_ns, struct coreset *ret)
{
	struct coreset cpus;

	coreset_zero(&cpus);
	for (int i = 0; i < lv->jobs->n; i++) {
		const struct step *s = lv->jobs->step[i];

		if (s->turn.slices & (UINT32_C(1) << lv->rotate->slice) &&
			turns_wanted_by(s, now_ns))
			coreset_or(&cpus, &cpus, &s->coreset);
	}
	topo_whole_cores(lv->node->topo, &cpus, ret);
}

/*
 * First those who stop, then those who go: no moment has both running. Who stands in nobody's way
 * goes: another group's turns, or the one whose slice it is waits.
 */
static void make_true(struct levers *lv, int64_t now_ns)
{
	struct rotate *r = lv->rotate;
	struct coreset taken;

	if (r->slice >= 0)
		slice_cpus(lv, now_ns, &taken);
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < lv->jobs->n; i++) {
			struct step *s = lv->jobs->step[i];
			bool out;

			if (!s->turn.hold)
				continue;
			out = r->slice >= 0 && turns_wanted_by(s, now_ns) &&
			      !(s->turn.slices & (UINT32_C(1) << r->slice)) &&
			      coreset_intersects(&s->coreset, &taken);
			if (out == (pass == 0))
				set_frozen(lv, s, out, now_ns);
		}
}

/* Whoever waited already, in line behind slices of another plan, gets his turn in time. */
static void end_before_limit(struct levers *lv, int64_t now_ns)
{
	struct rotate *r = lv->rotate;
	int64_t latest_ns = r->slice < 0 ? r->end_ns : turns_latest_end(lv, now_ns);
	int64_t least_ns = r->start_ns + turns_slice_ns(r);

	if (latest_ns < r->end_ns)
		r->due_ns = r->end_ns = latest_ns > least_ns ? latest_ns : least_ns;
}

static void begin_slice(struct levers *lv, int slice, int64_t at_ns, int64_t now_ns)
{
	struct rotate *r = lv->rotate;

	r->slice = slice;
	r->start_ns = at_ns;
	/* With nobody in line: look again after as long as a slice. */
	r->due_ns = r->end_ns = at_ns + (slice < 0 ? turns_slice_ns(r) : r->ms[slice] * MS);
	make_true(lv, now_ns);
	turns_slice_begins(lv, now_ns);
	end_before_limit(lv, now_ns);
	r->look_ns = slice < 0 ? 0 : turns_first_look(lv, now_ns);
	r->wake_all_ns = 0;
	turns_set_wake(lv, now_ns);
}

/* The looks that are due: who waits in the slice, and who does not wait any more. */
static void look(struct levers *lv, int64_t now_ns)
{
	struct rotate *r = lv->rotate;

	if (r->look_ns && now_ns >= r->look_ns) {
		bool some;

		r->look_ns = 0;
		if (turns_slice_waits(lv, now_ns, &some)) {
			r->end_ns = now_ns;
			return;
		}
		if (some)
			make_true(lv, now_ns);
		r->look_ns = turns_next_look(lv, now_ns);
	}
	if (r->wake_ns && now_ns >= r->wake_ns) {
		if (turns_wake(lv, !turns_wake_all(r, now_ns), now_ns)) {
			if (r->slice < 0 || turns_foreground_is_back(lv, now_ns))
				r->end_ns = now_ns;
			else
				make_true(lv, now_ns);
		}
		turns_set_wake(lv, now_ns);
	}
}

static int64_t next_time(const struct rotate *r)
{
	int64_t next_ns = r->end_ns;

	if (r->look_ns && r->look_ns < next_ns)
		next_ns = r->look_ns;
	if (r->wake_ns && r->wake_ns < next_ns)
		next_ns = r->wake_ns;
	return next_ns;
}

void rotate_run(struct levers *lv, int64_t now_ns, int64_t *ret_next_ns)
{
	struct rotate *r = lv->rotate;
	int64_t late;

	*ret_next_ns = 0;
	if (!r->on)
		return;
	hear_slurm(lv);
	if (now_ns < r->end_ns)
		look(lv, now_ns);
	if (now_ns >= r->end_ns && !turns_go_on(lv, now_ns)) {
		turns_settle(lv, now_ns);
		turns_wake(lv, false, now_ns);
		/* On time to the tick, so that shares do not drift; a late loop starts afresh. */
		late = now_ns - r->end_ns;
		begin_slice(lv, turns_next_slice(lv, now_ns),
			late < turns_slice_ns(r) / 2 ? r->end_ns : now_ns, now_ns);
	}
	note_all(lv, now_ns);
	*ret_next_ns = next_time(r);
}

static void on_timer(void *arg)
{
	struct levers *lv = arg;
	int64_t next;

	rotate_run(lv, ipc_now_ns(), &next);
	loop_set_timer_at(lv->rotate->timer, next);
}

static void on_watch(int fd, uint32_t events, void *arg)
{
	struct levers *lv = arg;

	(void)fd, (void)events;
	hear_slurm(lv);
}

void rotate_task_exited(struct levers *lv, struct step *s)
{
	struct rotate *r = lv->rotate;
	int64_t now_ns = ipc_now_ns();

	if (!r || !r->on || !turns_has_ended(lv, s, now_ns))
		return;
	note(lv, s, now_ns);
	if (r->slice < 0)
		return;
	if (turns_slice_is_wanted(lv, r->slice, now_ns)) {
		make_true(lv, now_ns); /* its cores are others' now */
		return;
	}
	r->end_ns = now_ns;
	loop_set_timer_at(r->timer, now_ns);
}

/* ---- the plan ------------------------------------------------------------------------------ */

/* Slices so short that nobody is frozen longer than freeze_max_ms, with a tenth to spare. */
static void fit_slices(struct levers *lv)
{
	struct rotate *r = lv->rotate;
	double limit = 0.9 * lv->conf->freeze_max_ms, longest = 0;
	int total = 0;

	for (int k = 0; k < r->n_slices; k++)
		total += r->asked_ms[k];
	for (int k = 0; k < r->n_slices; k++)
		longest = fmax(longest, total - r->asked_ms[k]);
	for (int k = 0; k < r->n_slices; k++) {
		r->ms[k] =
			longest > limit ? (int)(r->asked_ms[k] * limit / longest) : r->asked_ms[k];
		if (r->ms[k] < SLICE_MIN_MS)
			r->ms[k] = SLICE_MIN_MS;
	}
}

/* A slice that is shorter by the new plan ends by it, and is no longer than it for another job. */
static void cut_current(struct levers *lv)
{
	struct rotate *r = lv->rotate;
	int64_t end_ns;

	if (!r->on || r->slice < 0 || r->slice >= r->n_slices || r->end_ns != r->due_ns)
		return;
	end_ns = r->start_ns + r->ms[r->slice] * MS;
	if (end_ns >= r->end_ns)
		return;
	r->due_ns = r->end_ns = end_ns;
	loop_set_timer_at(r->timer, next_time(r));
}

bool rotate_plan(struct levers *lv, const struct plan *p, struct step *const *step)
{
	struct rotate *r = lv->rotate;
	uint32_t before[JOBS_MAX];
	bool other_length = false;

	if (!r)
		return false;
	for (int i = 0; i < lv->jobs->n; i++) {
		before[i] = lv->jobs->step[i]->turn.slices;
		lv->jobs->step[i]->turn.slices = 0;
	}
	r->n_slices = p->n_slices;
	for (int k = 0; k < p->n_slices; k++) {
		other_length |= r->asked_ms[k] != p->slice[k].ms;
		r->asked_ms[k] = p->slice[k].ms;
		for (int j = 0; j < p->slice[k].n_jobs; j++)
			step[p->slice[k].job[j]]->turn.slices |= UINT32_C(1) << k;
	}
	for (int i = 0; i < lv->jobs->n; i++)
		r->stale |= lv->jobs->step[i]->turn.slices != before[i];
	/* The timer may come before rotate_update(). */
	fit_slices(lv);
	cut_current(lv);
	return other_length;
}

void rotate_update(struct levers *lv)
{
	struct rotate *r = lv->rotate;
	int64_t now_ns = ipc_now_ns();
	bool changed, on;

	if (!r || *r->why_not)
		return;
	/* Whose slice the current one is now: nobody stands still in his own. */
	changed = r->stale;
	r->stale = false;
	for (int i = 0; i < lv->jobs->n; i++) {
		struct step *s = lv->jobs->step[i];
		bool in = s->turn.slices && may_join(lv, s);

		if (in && !s->turn.hold) {
			join(lv, s);
			changed |= s->turn.hold != NULL;
		} else if (!in && s->turn.hold) {
			rotate_leave(lv, s);
			changed = true;
		}
	}
	if (r->n_slices)
		fit_slices(lv);
	on = r->n_turns > 1;
	if (!on && r->on) {
		/* One alone needs no turns. */
		r->slice = -1;
		make_true(lv, now_ns);
		loop_set_timer_at(r->timer, 0);
	}
	r->on = on;
	note_all(lv, now_ns);
	if (!on || !changed)
		return;
	if (r->slice < 0 || r->slice >= r->n_slices ||
		!turns_slice_is_wanted(lv, r->slice, now_ns)) {
		memset(r->skip, 0, sizeof(r->skip));
		begin_slice(lv, turns_next_slice(lv, now_ns), now_ns, now_ns);
	} else {
		make_true(lv, now_ns); /* who came waits for his turn */
	}
	loop_set_timer_at(r->timer, next_time(r));
}
