/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every call that a change of a step makes is made to fail in turn, with each error that it can
 * have, and before each call in turn tasks fork, die, the step ends, or we are killed. After each,
 * a change that failed is undone or in the ledger, the next one is as if nothing had been, nobody
 * is taken for pinned who is not, and in the end everything is back.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/kernel_fake.h"
#include "tests/unit/ledger_mem.h"

static struct ledger *ledger;
static struct actuate *act;
static const struct actuate_ops *ops;
static struct step_cgroup step;
static struct errbuf err;

/* ---- nodes --------------------------------------------------------------------------------------
 */

static const struct node {
	const char *name;
	bool v2, remembers;
	const char *step_cpus;
	const char *part[2]; /* what Slurm gave the tasks */
} nodes[] = {
	{"v1, old kernel, ranks", false, false, "0-7", {"0-3", "4-7"}},
	{"v1, ranks", false, true, "0-7", {"0-3", "4-7"}},
	{"v1, old kernel, whole", false, false, "0-7", {"0-7", "0-7"}},
	{"v1, whole", false, true, "0-7", {"0-7", "0-7"}},
	{"v2, ranks", true, true, "0-7", {"0-3", "4-7"}},
	{"v2, old kernel, whole", true, false, "0-7", {"0-7", "0-7"}},
	{"v2, nothing of its own, ranks", true, true, "", {"0-4", "5-9"}},
	{"v2, old kernel, nothing of its own, ranks", true, false, "", {"0-4", "5-9"}},
};
#define NODES ((int)(sizeof(nodes) / sizeof(nodes[0])))

/* A first set, one that has what the pinned thread is on, one that has not. Ranks' shares of
 * them are not what is left there of their parts, nor what is pinned. */
#define SET_A "4-7"
#define PIN   "5"
#define SET_B "2,4-5,9"
#define SET_C "0-1,8-9"

static const struct node *node;
/* The other rank may have ended before anything was noted: one alone has the whole set. */
static bool was_alone;
/* An old kernel wiped a pin, and it could not be put back. */
static bool pin_is_lost;
static int stop_after;
/* The way of placing: by masks, or by the cpuset. By masks, also with a task that hardly runs, and
 * with such a one of a step that is born placed. */
static bool masks, with_young, born_placed;
#define WAYS 4
static char context[200];

static void open_actuate(void)
{
	struct coreset all = fake_set("0-15");

	ck_assert_int_eq(actuate_open(&act, &fake.tree.root, ledger, &all, &err), 0);
	ops = actuate_get_ops(act);
	actuate_by_masks(act, masks);
}

/* Two tasks of two threads; in v1 slurmstepd is beside them, with a mask of its own. */
static void open_node(const struct node *n)
{
	node = n;
	fake_open(n->v2, n->remembers, n->step_cpus);
	ledger_mem_adds_left = -1;
	ck_assert_int_eq(ledger_open(&ledger, ":memory:", "boot", &err), 0);
	open_actuate();
	ck_assert_str_eq(ops->name, n->v2 ? "cgroup-v2" : "cgroup-v1");
	for (int k = 0; k < 2; k++) {
		int leader = fake_add_thread(-1, 1, n->part[k]);

		fake_add_thread(leader, 1, n->part[k]);
		fake.thread[leader].young = with_young && k == 0;
	}
	if (!n->v2)
		fake.thread[fake_add_thread(-1, 1, "5-6")].stepd = true;
	ck_assert_msg(ops->locate(act, fake.thread[0].tid, &step, &err) == 0, "%s", err.text);
	step.born_placed = born_placed;
}

static void choose_way(int i)
{
	masks = i > 0;
	with_young = i >= 2;
	born_placed = i == 3;
}

static const char *way(void)
{
	return born_placed  ? "by masks, one is young and born placed"
	       : with_young ? "by masks, one is young"
	       : masks      ? "by masks"
			    : "by the cpuset";
}

/* Node and way number @i of NODES times WAYS. */
static void open_way(int i)
{
	choose_way(i / NODES);
	snprintf(context, sizeof(context), "%s, %s", nodes[i % NODES].name, way());
	open_node(&nodes[i % NODES]);
}

static void close_node(void)
{
	fake_at(FAKE_NOTHING, 0, 0);
	actuate_close(act);
	ledger_close(ledger);
	fake_close();
}

static int apply(const char *set)
{
	struct coreset s = fake_set(set);
	struct actuate_result result;
	int rc;

	err.text[0] = '\0';
	rc = ops->apply(act, &step, &s, &result, &err);
	if (rc < 0)
		ck_assert_msg(err.text[0], "%s: %d without a text", context, rc);
	return rc;
}

static void apply_well(const char *set)
{
	ck_assert_msg(apply(set) == 0, "%s: %s", context, err.text);
}

/* A thread goes by its process. */
static bool leads_young(const struct fake_thread *t)
{
	for (int i = 0; i < fake.n_threads; i++)
		if (fake.thread[i].tid == t->tgid)
			return fake.thread[i].alive && fake.thread[i].young;
	return false;
}

static bool is_young(const struct fake_thread *t)
{
	return !born_placed && leads_young(t);
}

/* Of what a young process of a step that is born placed forks, nobody says which look finds it. */
static bool may_be_young(int i)
{
	return born_placed && i > 4 && leads_young(&fake.thread[i]);
}

static void let_run(void)
{
	for (int i = 0; i < fake.n_threads; i++)
		fake.thread[i].young = false;
}

/* The program binds its second thread, as OMP_PROC_BIND does. */
static void pin(void)
{
	fake.thread[1].asked = fake.thread[1].first = fake_set(PIN);
	fake.thread[1].pinned = true;
}

/* ---- what must hold -----------------------------------------------------------------------------
 */

static void is_set(const struct coreset *got, const struct coreset *want, const char *what, int i)
{
	char g[CORESET_STR_MAX], w[CORESET_STR_MAX];

	ck_assert_msg(coreset_is_equal(got, want), "%s: %s %d has '%s', not '%s'; %s", context,
		what, i, coreset_format(got, g, sizeof(g)), coreset_format(want, w, sizeof(w)),
		err.text);
}

/* A pin that a set displaced is gone for old kernels: then it is what Slurm gave. */
static void check_pin(int i, const struct coreset *now)
{
	struct coreset part = fake_set(node->part[0]);

	if (masks || !coreset_is_equal(now, &part))
		is_set(now, &fake.thread[i].first, "pinned thread", i);
}

/* All is as without us, and the ledger empty. */
static void check_back(void)
{
	ck_assert_msg(ledger_count(ledger) == 0, "%s: %d rows are left: %s", context,
		ledger_count(ledger), err.text);
	for (int i = 0; i < fake.n_dirs && !fake.gone; i++) {
		struct coreset now = fake_in_force(i);

		is_set(&now, &fake.dir[i].first, "directory", i);
	}
	for (int i = 0; i < fake.n_threads; i++) {
		struct coreset now = fake_mask(&fake.thread[i]);

		if (fake.thread[i].alive && !fake.thread[i].orphan && !fake.thread[i].pinned)
			is_set(&now, &fake.thread[i].first, "thread", i);
		else if (fake.thread[i].alive && fake.thread[i].pinned)
			check_pin(i, &now);
	}
}

/* What a change had no time for. */
static void let_settle(void)
{
	ck_assert(!masks || actuate_look(act, INT64_C(60000000000)));
}

/* Everybody has @set, or the same part of it that he had of what Slurm gave. */
static void check_placed(const char *set)
{
	struct coreset s = fake_set(set), now = fake_in_force(fake.step);

	let_settle();
	/* By masks the cpuset stays as it is, or as wide as it had to be. */
	if (!masks)
		is_set(&now, &s, "step", 0);
	ck_assert_msg(coreset_is_subset(&s, &now) &&
			      (!masks || coreset_is_subset(&fake.dir[fake.step].first, &now)),
		"%s: the step's cpuset was narrowed", context);
	for (int i = 0; i < fake.n_threads; i++) {
		const struct fake_thread *t = &fake.thread[i];
		struct coreset share = s;

		if (!t->alive || t->orphan)
			continue;
		if (t->stepd && fake.remembers)
			is_set(&t->asked, &t->first, "slurmstepd", i);
		if (t->stepd)
			continue;
		now = fake_mask(t);
		if (is_young(t) && !(t->pinned && pin_is_lost)) {
			is_set(&now, &t->first, "a young process's thread", i);
			continue;
		}
		if (may_be_young(i))
			continue;
		if (t->pinned) {
			bool inside;

			/* By masks it stays in its rank's part, too. */
			if (masks && strcmp(node->part[0], node->part[1]) != 0) {
				const struct coreset part = fake_set(node->part[0]);

				ranks_share(&share, &part, &fake.dir[fake.step].first, &s);
			}
			inside = coreset_is_subset(&t->first, &share);

			ck_assert_msg(pin_is_lost || (inside ? coreset_is_equal(&now, &t->first)
							     : coreset_is_subset(&now, &s)),
				"%s: the pinned thread was moved", context);
			continue;
		}
		if (strcmp(node->part[0], node->part[1]) != 0)
			ranks_share(&share, &t->first, &fake.dir[fake.step].first, &s);
		if (was_alone && coreset_is_equal(&now, &s))
			continue;
		is_set(&now, &share, "thread", i);
	}
}

/* As before a change that failed. */
struct before {
	int n, rows;
	struct coreset cpus, mask[FAKE_THREADS];
};

static void take_before(struct before *b)
{
	b->n = fake.n_threads;
	b->rows = ledger_count(ledger);
	b->cpus = fake.dir[fake.step].cpus;
	for (int i = 0; i < b->n; i++)
		b->mask[i] = fake_mask(&fake.thread[i]);
}

static void check_undone(const struct before *b)
{
	struct coreset now = fake_in_force(fake.step), was = b->cpus;

	let_settle();
	if (coreset_is_empty(&was))
		was = fake.dir[fake.step].first;
	if (!masks)
		is_set(&now, &was, "after an undone change, step", 0);
	for (int i = 0; i < b->n; i++) {
		now = fake_mask(&fake.thread[i]);
		if (fake.thread[i].alive)
			is_set(&now, &b->mask[i], "after an undone change, thread", i);
	}
	ck_assert_msg(
		b->rows || ledger_count(ledger) == 0, "%s: rows of an undone change", context);
}

static void restore_well(void)
{
	err.text[0] = '\0';
	ck_assert_msg(actuate_restore_all(act, &err) >= 0, "%s: %s", context, err.text);
	check_back();
}

/* ---- a call fails -------------------------------------------------------------------------------
 */

enum change { FIRST, LATER, BACK };

static const char *const change_names[] = {"the first change", "a later change", "the way back"};

static int run_change(enum change change)
{
	int rc;

	switch (change) {
	case FIRST:
		return apply(SET_A);
	case LATER:
		return apply(SET_B);
	default:
		err.text[0] = '\0';
		rc = actuate_restore_all(act, &err);
		return rc < 0 ? rc : 0;
	}
}

/* False: there is no such call, or no such error of it. */
static bool live(const struct node *n, enum change change, enum fake_event event, int at, int which,
	bool *ret_more)
{
	struct before before;
	bool happened;
	int rc;

	snprintf(context, sizeof(context), "%s, %s, %s, event %d, call %d", n->name, way(),
		change_names[change], event, at);
	open_node(n);
	was_alone = event == FAKE_DIE && change == FIRST;
	pin_is_lost = false;
	if (change != FIRST) {
		apply_well(SET_A);
		pin();
	}
	take_before(&before);
	fake_at(event, at, which);
	fake.stop_after = stop_after;
	rc = run_change(change);
	happened = fake.calls >= at;
	*ret_more = fake.more;
	snprintf(context + strlen(context), sizeof(context) - strlen(context), " (%.80s, %d)",
		fake.where, which);
	if (event == FAKE_FAIL || event == FAKE_FAIL_ON)
		happened = happened || fake.happened;
	fake_at(FAKE_NOTHING, 0, 0);
	if (event == FAKE_STOP || stop_after) {
		actuate_close(act);
		open_actuate();
		restore_well();
	} else if (rc < 0 && change != BACK && !fake.gone) {
		if (!strstr(err.text, "not undone"))
			check_undone(&before);
		else
			ck_assert_msg(ledger_count(ledger) > 0, "%s: '%s', and not in the ledger",
				context, err.text);
		pin_is_lost = strstr(err.text, "not undone") && !n->remembers;
	} else if (rc == 0 && change == BACK) {
		check_back();
	} else if (rc == 0 && !fake.gone) {
		check_placed(change == FIRST ? SET_A : SET_B);
	}
	if (event != FAKE_STOP && !stop_after && change != BACK && !fake.gone) {
		apply_well("0-9");
		check_placed("0-9");
		apply_well(SET_C);
		check_placed(SET_C);
		let_run();
		apply_well(SET_C);
		check_placed(SET_C);
	}
	restore_well();
	close_node();
	return happened;
}

static void lives(enum fake_event event)
{
	for (int i = 0; i < NODES; i++)
		for (int change = FIRST; change <= BACK; change++) {
			bool more = false;
			int at = 1, which = 0;

			while (live(&nodes[i], (enum change)change, event, at, which, &more)) {
				/* One error stands for all where all calls fail. */
				more = more && event == FAKE_FAIL;
				which = more ? which + 1 : 0;
				at += !more;
			}
			ck_assert_int_gt(at, 25); /* else nothing was tested */
		}
}

START_TEST(one_call_fails)
{
	choose_way(_i);
	lives(FAKE_FAIL);
}
END_TEST

START_TEST(all_calls_fail_from_one_on)
{
	choose_way(_i);
	lives(FAKE_FAIL_ON);
}
END_TEST

START_TEST(masks_are_refused_from_one_call_on)
{
	choose_way(_i);
	lives(FAKE_REFUSE);
}
END_TEST

START_TEST(tasks_fork_at_a_call)
{
	choose_way(_i);
	lives(FAKE_FORK);
}
END_TEST

START_TEST(a_task_dies_at_a_call)
{
	choose_way(_i);
	lives(FAKE_DIE);
}
END_TEST

START_TEST(the_step_ends_at_a_call)
{
	choose_way(_i);
	lives(FAKE_VANISH);
}
END_TEST

START_TEST(we_are_killed_at_a_call)
{
	choose_way(_i);
	lives(FAKE_STOP);
}
END_TEST

/* In the middle of the way back from a change that no thread takes. */
START_TEST(we_are_killed_while_undoing)
{
	bool more;

	choose_way(_i);
	for (stop_after = 1; stop_after < 50; stop_after++)
		for (int at = 1; live(&nodes[1], LATER, FAKE_FAIL, at, 0, &more);)
			at++;
	stop_after = 0;
}
END_TEST

/* ---- by name ------------------------------------------------------------------------------------
 */

START_TEST(a_rank_left_alone_still_has_its_share)
{
	open_way(_i);
	apply_well(SET_A);
	fake_end(2);
	apply_well("6-9");
	check_placed("6-9");
	apply_well("0-5");
	check_placed("0-5");
	restore_well();
	close_node();
}
END_TEST

/* It looks like Slurm's mask there, and an old kernel wipes it on the way. */
START_TEST(a_pin_inside_the_new_set_stays)
{
	open_way(_i);
	apply_well("2-5");
	fake.thread[1].asked = fake.thread[1].first = fake_set("3");
	fake.thread[1].pinned = true;
	apply_well("3,6-8");
	check_placed("3,6-8");
	restore_well();
	close_node();
}
END_TEST

/* Whose own file is empty has what is above it, not the node. */
START_TEST(shares_are_parts_of_what_was_in_force)
{
	open_way(_i);
	apply_well(SET_A);
	check_placed(SET_A);
	apply_well("0-9");
	check_placed("0-9");
	if (node->v2) {
		apply_well("0-13"); /* the job is widened */
		check_placed("0-13");
		apply_well(SET_B);
		check_placed(SET_B);
	}
	restore_well();
	close_node();
}
END_TEST

/* A thread that takes no mask does not keep those after it from getting theirs. */
START_TEST(one_that_refuses_does_not_stop_the_others)
{
	open_way(_i);
	apply_well(SET_A);
	fake.thread[0].stubborn = true;
	err.text[0] = '\0';
	actuate_restore_all(act, &err);
	for (int i = 1; i < fake.n_threads; i++) {
		struct coreset now = fake_mask(&fake.thread[i]);

		is_set(&now, &fake.thread[i].first, "thread", i);
	}
	fake.thread[0].stubborn = false;
	restore_well();
	close_node();
}
END_TEST

/* taskset, between its own call and what it starts: it has bound itself to where another's pin is
 * now, which its parent never had. */
START_TEST(a_choice_that_is_anothers_place_by_chance_is_kept)
{
	char text[CORESET_STR_MAX];
	struct coreset there, parents, now;
	struct fake_thread *t;
	int child;

	open_way(NODES + _i); /* by masks */
	for (int i = 0; i < 2; i++) {
		fake.thread[i].asked = fake.thread[i].first = fake_set(i ? "3" : "2");
		fake.thread[i].pinned = true;
	}
	apply_well(SET_C);
	let_settle();
	there = fake_mask(&fake.thread[1]);
	parents = fake_mask(&fake.thread[2]);
	child = fake_add_thread(-1, fake.thread[2].tid, coreset_format(&there, text, sizeof(text)));
	t = &fake.thread[child];
	t->young = true;
	/* What its parent has, too, is no choice of its own. */
	t->pinned = !coreset_is_equal(&there, &parents);
	t->first = t->pinned ? there : fake.thread[2].first;
	apply_well(SET_C);
	let_settle();
	now = fake_mask(t);
	is_set(&now, &t->first, "a process that bound itself", child);
	restore_well();
	close_node();
}
END_TEST

/* What its runtime makes of OMP_PLACES it makes once, of the CPUs that it finds then. */
START_TEST(program_that_binds_its_threads_is_left_until_it_has_begun)
{
	static const char *const variable[] = {"OMP_PLACES={0},{1}", "OMP_PROC_BIND=true",
		"GOMP_CPU_AFFINITY=0", "KMP_AFFINITY=compact"};
	struct coreset now;
	char path[64], text[64];

	open_way(NODES + _i); /* by masks */
	snprintf(path, sizeof(path), "proc/%d/environ", fake.thread[0].tid);
	snprintf(text, sizeof(text), "PATH=/bin\n%s\nX=1", variable[_i % 4]);
	fstree_put(&fake.tree, path, text);
	for (int i = 0; i < 2; i++)
		fake.thread[i].cpu_ns = 100000000;
	apply_well(SET_A);
	for (int i = 0; i < 2; i++) {
		now = fake_mask(&fake.thread[i]);
		is_set(&now, &fake.thread[i].first, "thread", i);
	}
	now = fake_mask(&fake.thread[2]);
	ck_assert_msg(!coreset_is_equal(&now, &fake.thread[2].first), "%s", context);
	for (int i = 0; i < 2; i++)
		fake.thread[i].cpu_ns = 1100000000;
	apply_well(SET_A);
	check_placed(SET_A);
	restore_well();
	close_node();
}
END_TEST

/* An exec that is under way shows the program before its environment: what it binds is not known.
 */
START_TEST(program_whose_environment_is_not_there_yet_is_asked_again)
{
	static const char *const environment[] = {"X=1", "OMP_PROC_BIND=true"};
	bool binds = _i % 2;
	struct timespec ts;
	struct coreset now;
	char path[64];

	open_way(NODES + _i / 2); /* by masks */
	snprintf(path, sizeof(path), "proc/%d/environ", fake.thread[0].tid);
	fstree_put(&fake.tree, path, "");
	for (int i = 0; i < 2; i++)
		fake.thread[i].cpu_ns = 100000000;
	apply_well(SET_A);
	fstree_put(&fake.tree, path, environment[binds]);
	for (int look = 0; look < 2; look++) {
		for (int i = 0; i < 2; i++) {
			now = fake_mask(&fake.thread[i]);
			ck_assert_msg(coreset_is_equal(&now, &fake.thread[i].first) ==
					      (look == 0 || binds),
				"%s, look %d, thread %d", context, look, i);
		}
		/* A look so soon after the last asks nothing. Each asking is a microsecond. */
		for (int i = 0; i < 60000; i++)
			clock_gettime(CLOCK_MONOTONIC, &ts);
		for (int i = 0; i < 2; i++)
			fake.thread[i].cpu_ns += 60000000;
		apply_well(SET_A);
	}
	for (int i = 0; i < 2; i++)
		fake.thread[i].cpu_ns = 1100000000;
	apply_well(SET_A);
	check_placed(SET_A);
	restore_well();
	close_node();
}
END_TEST

/* ---- CPUs go offline ------------------------------------------------------------------------- */

/* What is left of Slurm's, whatever the kernel says to the whole; nothing left: what is above. */
static const struct {
	const char *off, *step, *part[2];
} offs[] = {
	{"9", "0-7", {"0-3", "4-7"}},
	{"5-7", "0-4", {"0-3", "4"}},
	{"4-7", "0-3", {"0-3", "0-3"}},   /* all of the second rank's */
	{"0-7", "8-9", {"8-9", "8-9"}},   /* all of the step's */
	{"0-3,8", "4-7", {"4-7", "4-7"}}, /* the first rank's */
	{"0,10-15", "1-7", {"1-3", "4-7"}},
};
#define OFFS ((int)(sizeof(offs) / sizeof(offs[0])))

START_TEST(what_is_left_of_the_originals_comes_back)
{
	const struct node *n = &nodes[_i / OFFS];
	const char *const *part = offs[_i % OFFS].part;
	struct coreset want = fake_set(offs[_i % OFFS].step), now;

	if (strcmp(n->step_cpus, "0-7") != 0 || !strstr(n->name, "ranks"))
		return;
	snprintf(context, sizeof(context), "%s, offline %s", n->name, offs[_i % OFFS].off);
	choose_way(0);
	open_node(n);
	apply_well("0-9");
	fake_offline(offs[_i % OFFS].off);
	err.text[0] = '\0';
	ck_assert_msg(actuate_restore_all(act, &err) >= 0, "%s: %s", context, err.text);
	ck_assert_msg(ledger_count(ledger) == 0, "%s: rows are left", context);
	now = fake_in_force(fake.step);
	is_set(&now, &want, "step", 0);
	for (int i = 0; i < fake.n_threads; i++) {
		if (fake.thread[i].stepd)
			continue;
		want = fake_set(part[i / 2]);
		now = fake_mask(&fake.thread[i]);
		is_set(&now, &want, "thread", i);
	}
	close_node();
}
END_TEST

/* On a slow node the fork of slurmstepd has run for as long as a program that works before it
 * executes the step's command. What it is then is not what the command is. */
START_TEST(fork_of_slurmstepd_is_no_program_that_runs)
{
	open_way(_i);
	fake.thread[0].executable = "/usr/sbin/slurmstepd-wlm";
	fake.thread[0].cpu_ns = INT64_C(30000000);
	fake.thread[0].young = true;
	apply_well(SET_A);
	check_placed(SET_A);
	fake.thread[0].executable = "/usr/bin/bash";
	fake.thread[0].cpu_ns += 1000;
	for (int i = 0; i < 8; i++) {
		fake.later_us = 1000000;
		check_placed(SET_A);
	}
	restore_well();
	close_node();
}
END_TEST

/* At a look @us later. */
static int lists_at_look(int64_t us)
{
	fake.later_us = us;
	fake.lists = 0;
	ck_assert(actuate_look(act, INT64_C(60000000000)));
	return fake.lists;
}

static void have_quiet(void)
{
	for (int i = 0; i < 8; i++)
		lists_at_look(100000);
	ck_assert_msg(lists_at_look(100000) == 0, "%s: a quiet step is listed", context);
}

/* Each has up to a thousand masks to be read. */
START_TEST(quiet_steps_have_a_budget_together)
{
	struct steer **own, *three[3];

	open_way(_i);
	apply_well(SET_A);
	have_quiet();
	own = act->steer;
	for (int i = 0; i < 3; i++)
		three[i] = own[0];
	act->steer = three;
	act->n_steers = 3;
	/* One of them at a look, and the next one at the next. */
	for (int i = 1; i <= 3; i++) {
		ck_assert_int_eq(actuate_look(act, 0), false);
		ck_assert_int_eq(act->look_at, i % 3);
	}
	act->steer = own;
	act->n_steers = 1;
	act->look_at = 0;
	restore_well();
	close_node();
}
END_TEST

/* Reading its list of threads is most of a look. What there is to see is seen at the next look all
 * the same. */
START_TEST(quiet_step_is_not_listed_at_each_look)
{
	int other, i;

	open_way(_i);
	apply_well(SET_A);
	have_quiet();
	ck_assert_int_gt(lists_at_look(1000000), 0);
	have_quiet();
	/* A thread binds itself. */
	fake.thread[1].asked = fake.thread[1].first = fake_set("2");
	fake.thread[1].pinned = true;
	ck_assert_int_gt(lists_at_look(100000), 0);
	check_placed(SET_A);
	have_quiet();
	/* One is born, and binds itself before it is seen. */
	i = fake_add_thread(2, 1, node->part[1]);
	fake.thread[i].asked = fake_set("8");
	fake.thread[i].pinned = true;
	fake.thread[i].first = fake.thread[i].asked;
	ck_assert_int_gt(lists_at_look(100000), 0);
	check_placed(SET_A);
	have_quiet();
	/* Another step's. */
	other = fake.thread[fake_add_thread(-1, 1, "15")].tid;
	fake.thread[other - fake.thread[0].tid].alive = false;
	ck_assert_int_gt(lists_at_look(100000), 0);
	have_quiet();
	/* One ends. */
	fake_end(i);
	ck_assert_int_gt(lists_at_look(100000), 0);
	restore_well();
	close_node();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("inject");
	TCase *t = tcase_create("whatever fails or ends in the middle, nothing is lost");
	SRunner *r;
	int failed;

	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 0); /* thousands of small trees */
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, one_call_fails, 0, WAYS);
	tcase_add_loop_test(t, all_calls_fail_from_one_on, 0, WAYS);
	tcase_add_loop_test(t, masks_are_refused_from_one_call_on, 0, WAYS);
	tcase_add_loop_test(t, tasks_fork_at_a_call, 0, WAYS);
	tcase_add_loop_test(t, a_task_dies_at_a_call, 0, WAYS);
	tcase_add_loop_test(t, the_step_ends_at_a_call, 0, WAYS);
	tcase_add_loop_test(t, we_are_killed_at_a_call, 0, WAYS);
	tcase_add_loop_test(t, we_are_killed_while_undoing, 0, WAYS);
	suite_add_tcase(s, t);
	t = tcase_create("ranks keep their part, whoever has ended");
	tcase_add_loop_test(t, a_rank_left_alone_still_has_its_share, 0, WAYS * NODES);
	suite_add_tcase(s, t);
	t = tcase_create("parts are parts of what Slurm had in force");
	tcase_add_loop_test(t, shares_are_parts_of_what_was_in_force, 0, WAYS * NODES);
	suite_add_tcase(s, t);
	t = tcase_create("what a program bound itself stays");
	tcase_add_loop_test(t, a_pin_inside_the_new_set_stays, 0, WAYS * NODES);
	tcase_add_loop_test(
		t, a_choice_that_is_anothers_place_by_chance_is_kept, 0, (WAYS - 1) * NODES);
	suite_add_tcase(s, t);
	t = tcase_create("one thread's refusal is its own");
	tcase_add_loop_test(t, one_that_refuses_does_not_stop_the_others, 0, WAYS * NODES);
	suite_add_tcase(s, t);
	t = tcase_create("who binds OpenMP threads by variables finds Slurm's CPUs");
	tcase_add_loop_test(t, program_that_binds_its_threads_is_left_until_it_has_begun, 0, NODES);
	tcase_add_loop_test(
		t, program_whose_environment_is_not_there_yet_is_asked_again, 0, 2 * NODES);
	suite_add_tcase(s, t);
	t = tcase_create("what has not begun is not taken for what it will be");
	tcase_add_loop_test(t, fork_of_slurmstepd_is_no_program_that_runs, NODES, 2 * NODES);
	suite_add_tcase(s, t);
	t = tcase_create("a look costs little where nothing happens");
	tcase_add_loop_test(t, quiet_step_is_not_listed_at_each_look, NODES, 2 * NODES);
	tcase_add_loop_test(t, quiet_steps_have_a_budget_together, NODES, 2 * NODES);
	suite_add_tcase(s, t);
	t = tcase_create("a restore ends though CPUs have gone offline");
	tcase_add_loop_test(t, what_is_left_of_the_originals_comes_back, 0, NODES * OFFS);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
