/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The worker is here: what is asked of it is noted, and what it answers is what a made-up program
 * does, whose functions are called so often a second.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nodesvc/counters/calls.h"

#define SECOND INT64_C(1000000000)
#define STEP   (SECOND / 50)
#define SETS   8

struct open_set {
	struct call_request r;
	double before[CALLS_PROBES]; /* calls when it was opened */
	int64_t cpu_ns;              /* processor time then */
	int64_t since_ns;
	bool on;
};

/* The program: functions at offsets 0x1000, 0x2000 .. */
static double per_s[4];
static double done[4];
static bool frozen, crowded; /* others leave it a twentieth of its core every other while */
static double gets;
static int64_t now_ns, frozen_ns;
static int64_t own_ns[100000]; /* its own clock, by steps */
static struct open_set set[SETS];
static uint64_t place[CALLS_PROBES_ALL];
static int refuse_offset, drops, messages, started, opened;
static struct calls *calls;
static struct calls_step *step;
static struct calls_look at;
static const pid_t tid[2] = {100, 101};
static double hits, cost_ns = 1000;
/* While it traps, its team sleeps for such a part of the time. */
static double sleeps;
/* Or a trap of its master holds up all of them, who spin. */
static bool spins;

/* The worker takes its time: to open what it is told to, and to say what it has counted. */
static int64_t late_ns;
static struct {
	struct call_answer a;
	int64_t at_ns;
} said[SETS];
static int n_said;

static void say(void)
{
	while (n_said && now_ns >= said[0].at_ns) {
		struct call_answer a = said[0].a;

		memmove(said, said + 1, (size_t)--n_said * sizeof(*said));
		if (calls_take(calls, &a))
			calls_step_look(step, &at);
	}
}

static void answer(struct open_set *o, bool end)
{
	struct call_answer a = {.kind = CALL_COUNTS,
		.set = o->r.set,
		.ended = end,
		.began_ns = o->since_ns,
		.t_ns = now_ns,
		.n_probes = o->r.n_probes,
		.tasks = o->r.n_tids,
		.started = o->r.unstarted ? started : 0};
	double seconds = (double)(now_ns - o->since_ns) / 1e9;

	for (int i = 0; i < o->r.n_probes; i++) {
		int f = (int)(place[o->r.probe[i]] / 0x1000) - 1;
		double n = floor(done[f]) - floor(o->before[i]);

		a.count[i] = (struct call_counts){.calls = (uint64_t)n,
			.per_s = seconds > 0 ? n / seconds : 0,
			.cpu_s = at.cpu_ns >= 0 ? (double)(at.cpu_ns - o->cpu_ns) / 1e9 : 0,
			.callers = n > 0};
	}
	if (end)
		o->on = false;
	ck_assert_int_lt(n_said, SETS);
	said[n_said].a = a;
	said[n_said++].at_ns = now_ns + late_ns;
	say();
}

static void made(uint32_t probe, int rc)
{
	struct call_answer a = {.kind = CALL_MADE, .probe = probe, .rc = rc};

	calls_take(calls, &a);
}

static struct open_set *find(uint32_t id)
{
	for (int i = 0; i < SETS; i++)
		if (set[i].on && set[i].r.set == id)
			return &set[i];
	return NULL;
}

/* Requests wait until the program goes on: no answer comes while one is asked. */
static struct call_request queue[64];
static int64_t queue_ns[64];
static int queued;

static int take_request(void *arg, const struct call_request *r, int fd)
{
	(void)arg;
	messages++;
	if (r->op == CALL_PROBE)
		ck_assert_int_ge(fd, 0);
	ck_assert_int_lt(queued, 64);
	queue_ns[queued] = now_ns + late_ns;
	queue[queued++] = *r;
	return 0;
}

static void serve(const struct call_request *r)
{
	struct open_set *o = find(r->set);

	switch (r->op) {
	case CALL_PROBE:
		place[r->probe[0]] = r->offset;
		made(r->probe[0], (int)r->offset == refuse_offset ? -EINVAL : 0);
		break;
	case CALL_DROP:
		drops++;
		break;
	case CALL_OPEN:
		for (int i = 0; i < SETS; i++)
			if (!set[i].on) {
				o = &set[i];
				break;
			}
		ck_assert_ptr_nonnull(o);
		opened++;
		*o = (struct open_set){
			.r = *r, .cpu_ns = at.cpu_ns, .since_ns = now_ns, .on = true};
		for (int i = 0; i < r->n_probes; i++)
			o->before[i] = done[(int)(place[r->probe[i]] / 0x1000) - 1];
		break;
	case CALL_TASKS:
		break;
	case CALL_READ:
		if (o)
			answer(o, false);
		break;
	case CALL_CLOSE:
		if (o)
			answer(o, true);
		break;
	}
}

static void serve_all(void)
{
	while (queued && now_ns >= queue_ns[0]) {
		struct call_request r = queue[0];

		queued--;
		memmove(queue, queue + 1, (size_t)queued * sizeof(*queue));
		memmove(queue_ns, queue_ns + 1, (size_t)queued * sizeof(*queue_ns));
		serve(&r);
	}
}

/* What it is left by the traps of one set. */
static double left_by(const struct open_set *o)
{
	double held = 0; /* over the time it computes */

	for (int k = 0; spins && k < o->r.n_probes; k++)
		held += per_s[place[o->r.probe[k]] / 0x1000 - 1] * cost_ns / 1e9;
	return (1 - sleeps) / (1 + held);
}

static void run(double seconds)
{
	int64_t until_ns = now_ns + (int64_t)(seconds * 1e9);

	while (now_ns < until_ns) {
		now_ns += STEP;
		if (frozen)
			frozen_ns += STEP;
		gets = crowded && now_ns / (SECOND / 3) % 2 ? 0.05 : 1;
		for (int i = 0; i < SETS; i++)
			if (set[i].on)
				gets *= left_by(&set[i]);
		if (at.cpu_ns >= 0 && !frozen)
			at.cpu_ns += (int64_t)((spins ? 2 : gets) * STEP);
		for (int f = 0; f < 4 && !frozen; f++)
			done[f] += per_s[f] * gets * STEP / 1e9;
		at.frozen = frozen;
		at.now_ns = now_ns;
		at.own_ns = own_ns[now_ns / STEP] = now_ns - frozen_ns;
		for (int i = 0; i < SETS; i++)
			for (int k = 0; set[i].on && !frozen && k < set[i].r.n_probes; k++)
				hits += per_s[place[set[i].r.probe[k]] / 0x1000 - 1] * STEP / 1e9;
		for (int i = 0; i < SETS; i++)
			if (set[i].on && set[i].r.length_ns &&
				now_ns - set[i].since_ns >= set[i].r.length_ns)
				answer(&set[i], true);
		say();
		if (step && now_ns >= calls_step_due_ns(step))
			calls_step_look(step, &at);
		serve_all();
	}
}

static void know(const char *const *name, int n)
{
	struct symbols s = {.n_files = 1, .n_sites = n, .has_program = 1};

	s.file[0].fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < n; i++)
		s.site[i] = (struct symbol_site){.offset = (uint64_t)(i + 1) * 0x1000,
			.call = (uint16_t)callnames_find(name[i], NULL),
			.called = 1};
	calls_step_know(step, &s, NULL, now_ns);
	close(s.file[0].fd);
}

static const char *const two[] = {"GOMP_parallel", "MPI_Allreduce"};

static int64_t own_at(const void *turn, int64_t t_ns)
{
	(void)turn;
	ck_assert_int_lt(t_ns / STEP, 100000);
	return t_ns <= SECOND ? t_ns : own_ns[t_ns / STEP];
}

static void setup(void)
{
	struct call_answer ready = {.kind = CALL_READY, .cost_ns = cost_ns};

	memset(set, 0, sizeof(set));
	memset(per_s, 0, sizeof(per_s));
	memset(done, 0, sizeof(done));
	now_ns = SECOND;
	frozen_ns = 0;
	frozen = crowded = false;
	sleeps = 0;
	spins = false;
	refuse_offset = -1;
	drops = queued = messages = n_said = 0;
	late_ns = 0;
	hits = 0;
	at = (struct calls_look){.now_ns = now_ns,
		.own_ns = now_ns,
		.own_at = own_at,
		.running = 2,
		.cpu_ns = -1,
		.tid = tid,
		.n_tids = 2};
	calls = calls_new(take_request, NULL, 0.005);
	ck_assert_ptr_nonnull(calls_why_not(calls));
	ck_assert_ptr_null(calls_take(calls, &ready));
	ck_assert_ptr_null(calls_why_not(calls));
	step = calls_step_new(calls, 0, NULL);
}

static void teardown(void)
{
	calls_step_free(step);
	calls_free(calls);
	step = NULL;
}

static struct calls_work work(void)
{
	struct calls_work w;

	ck_assert(calls_step_work(step, &w));
	return w;
}

START_TEST(rare_calls_are_counted_all_of_them)
{
	struct calls_work a, b;
	double before;

	per_s[1] = 500;
	know(two, 2);
	run(10);
	ck_assert_str_eq(calls_step_unit(step), "calls of MPI_Allreduce");
	a = work();
	before = done[1] - (double)(now_ns - a.t_ns) / 1e9 * 500;
	run(20);
	b = work();
	ck_assert_double_eq_tol(
		b.total - a.total, done[1] - (double)(now_ns - b.t_ns) / 1e9 * 500 - before, 2);
	ck_assert_double_eq_tol(calls_step_rate(step), 500, 5);
}
END_TEST

/* The windows by which it was chosen tell it. */
START_TEST(speed_is_known_as_soon_as_the_function_is)
{
	per_s[1] = 20000;
	know(two, 2);
	while (now_ns < 30 * SECOND && !*calls_step_unit(step))
		run(0.01);
	ck_assert_str_eq(calls_step_unit(step), "calls of MPI_Allreduce");
	ck_assert_double_eq_tol(calls_step_rate(step), 20000 / 0.98, 500);
	ck_assert_int_eq((int)work().figures, 1);
	ck_assert_double_eq(work().total, 0);
}
END_TEST

START_TEST(frequent_calls_are_counted_in_windows_within_the_budget)
{
	struct calls_work a, b;

	/* 1 us each: 5 % of two cores' time. */
	per_s[0] = 100000;
	know(two, 2);
	run(30);
	ck_assert_str_eq(calls_step_unit(step), "calls of GOMP_parallel");
	a = work();
	hits = 0;
	run(60);
	b = work();
	ck_assert_double_le(hits * cost_ns / 1e9, 0.005 * 2 * 60 * 1.1);
	ck_assert_double_gt(hits, 1000);
	/* As if it had not been held up by them: 10 % of its one caller's time. */
	ck_assert_double_eq_tol(
		(b.total - a.total) / ((double)(b.t_ns - a.t_ns) / 1e9), 100000 / 0.9, 2000);
	ck_assert(!b.exact);
}
END_TEST

/* A team that sleeps whenever its master traps does less in windows than beside them. */
START_TEST(what_is_done_between_windows_goes_by_processor_time)
{
	struct calls_work a, b;
	double did;

	per_s[0] = 25000;
	sleeps = 0.2;
	at.cpu_ns = 0;
	know(two, 2);
	run(30);
	ck_assert_str_eq(calls_step_unit(step), "calls of GOMP_parallel");
	a = work();
	did = done[0];
	run(60);
	b = work();
	did = done[0] - did;
	/* Less what the traps take, which hold nobody up here. */
	ck_assert_double_eq_tol((b.total - a.total) / did, 1 / 0.975, 0.01);
	/* By the clock, where it is not known. */
	at.cpu_ns = -1;
	run(30);
	a = work();
	run(60);
	b = work();
	ck_assert_double_eq_tol(
		(b.total - a.total) / ((double)(b.t_ns - a.t_ns) / 1e9), 25000 * 0.8 / 0.98, 300);
}
END_TEST

/* A window of two functions has the traps of both, and while their master is held up by one the
 * others compute nothing. */
START_TEST(team_that_spins_while_its_master_traps_is_held_up_with_it)
{
	struct calls_work a, b;
	double did;

	per_s[0] = 60000;
	per_s[1] = 90000;
	spins = true;
	at.cpu_ns = 0;
	know(two, 2);
	/* At first, in windows of both; and later. */
	for (int i = 0; i < 2; i++) {
		int f;

		run(i ? 60 : 3);
		f = strcmp(calls_step_unit(step), "calls of MPI_Allreduce") == 0;
		a = work();
		did = done[f];
		run(20);
		b = work();
		did = (done[f] - did) * (double)(b.t_ns - a.t_ns) / 20e9;
		ck_assert_double_eq_tol((b.total - a.total) / did, 1, 0.02);
	}
}
END_TEST

START_TEST(speed_of_a_frozen_program_is_of_its_own_time)
{
	struct calls_work a, b;

	per_s[0] = 25000;
	know(two, 2);
	run(30);
	a = work();
	for (int i = 0; i < 200; i++) {
		frozen = i % 2;
		run(0.1);
	}
	b = work();
	ck_assert_double_eq_tol(
		(b.total - a.total) / ((double)(b.t_ns - a.t_ns) / 1e9), 12500 / 0.975, 1000);
}
END_TEST

/* In others' turns, before a function is chosen and after. */
START_TEST(nothing_is_opened_while_it_is_frozen)
{
	int before;

	per_s[0] = 100000;
	know(two, 2);
	for (int i = 0; i < 2; i++) {
		run(0.2 + 20 * i);
		frozen = true;
		run(1);
		before = opened;
		run(30);
		ck_assert_int_eq(opened, before);
		frozen = false;
		run(5);
		ck_assert_int_gt(opened, before);
	}
}
END_TEST

/* To install a trap and to take it out again takes the kernel tens of ms. */
START_TEST(rate_is_of_the_window_however_late_the_answer)
{
	struct calls_work a, b;

	per_s[0] = 20000;
	late_ns = 3 * STEP;
	know(two, 2);
	run(30);
	ck_assert_str_eq(calls_step_unit(step), "calls of GOMP_parallel");
	ck_assert_double_eq_tol(calls_step_rate(step), 20000 / 0.98, 450);
	a = work();
	run(30);
	b = work();
	ck_assert_double_eq_tol(
		(b.total - a.total) / ((double)(b.t_ns - a.t_ns) / 1e9), 20000 / 0.98, 450);
	frozen = true;
	run(10);
	frozen = false;
	run(10);
	ck_assert_double_eq_tol(calls_step_rate(step), 20000 / 0.98, 450);
	/* Nor where it is counted all the time for a moment. */
	at.attend = true;
	calls_step_look(step, &at);
	run(0.3);
	at.attend = false;
	calls_step_look(step, &at);
	run(0.2);
	ck_assert_double_eq_tol(calls_step_rate(step), 20000 / 0.98, 450);
}
END_TEST

START_TEST(another_function_is_counted_by_its_own_calls)
{
	static const char *const name[] = {"MPI_Barrier", "MPI_Allreduce"};

	per_s[0] = 400;
	per_s[1] = 300;
	know(name, 2);
	run(2);
	ck_assert_str_eq(calls_step_unit(step), "calls of MPI_Allreduce");
	for (int i = 0; i < 20 && strcmp(calls_step_unit(step), "calls of MPI_Barrier") != 0; i++) {
		per_s[1] = i % 2 ? 20 : 700;
		run(0.5);
	}
	ck_assert_str_eq(calls_step_unit(step), "calls of MPI_Barrier");
	per_s[1] = 20;
	run(5);
	ck_assert_str_eq(calls_step_unit(step), "calls of MPI_Barrier");
	ck_assert_double_eq_tol(calls_step_rate(step), 400, 5);
	ck_assert_double_le(work().total, 400 * 6);
}
END_TEST

START_TEST(attended_one_is_counted_without_a_gap)
{
	struct calls_work a, b;

	per_s[0] = 25000;
	know(two, 2);
	run(30);
	at.attend = true;
	calls_step_look(step, &at);
	run(0.2);
	ck_assert(calls_step_ask(step));
	serve_all();
	a = work();
	ck_assert_int_eq(a.t_ns, now_ns);
	per_s[0] = 12500;
	run(0.5);
	ck_assert(calls_step_ask(step));
	serve_all();
	b = work();
	ck_assert_double_eq_tol(
		(b.total - a.total) / ((double)(b.t_ns - a.t_ns) / 1e9), 12500 / 0.9875, 125);
	at.attend = false;
	run(2);
	ck_assert(!calls_step_ask(step));
}
END_TEST

/* What is asked for takes nothing of the budget of windows, which go on as before. */
START_TEST(windows_go_on_after_attention)
{
	uint64_t before;

	per_s[0] = 25000;
	know(two, 2);
	run(30);
	at.attend = true;
	calls_step_look(step, &at);
	run(10);
	at.attend = false;
	run(1);
	before = work().figures;
	run(20);
	ck_assert_int_ge((int)(work().figures - before), 8);
}
END_TEST

START_TEST(known_function_is_counted_from_the_first_call)
{
	struct calls_work w;

	calls_step_prefer(step, "MPI_Allreduce", 0, NAN);
	know(two, 2);
	serve_all();
	ck_assert(calls_step_begin(step, &at));
	serve_all();
	/* It reads its input first; its threads are others then. */
	run(30);
	ck_assert(!calls_step_work(step, &w));
	at.threads_changed = true;
	per_s[1] = 500;
	run(10);
	at.threads_changed = false;
	ck_assert(calls_step_ask(step));
	serve_all();
	w = work();
	ck_assert(w.exact);
	ck_assert_double_eq_tol(w.total, floor(done[1]), 0.1);
	ck_assert_str_eq(calls_step_unit(step), "calls of MPI_Allreduce");
}
END_TEST

START_TEST(program_that_had_begun_has_not_all_calls)
{
	calls_step_prefer(step, "MPI_Allreduce", 0, NAN);
	know(two, 2);
	serve_all();
	started = 1;
	ck_assert(calls_step_begin(step, &at));
	ck_assert(calls_step_ask(step));
	ck_assert_int_lt(calls_step_told_ns(step), now_ns);
	per_s[1] = 500;
	run(10);
	ck_assert_int_ge(calls_step_told_ns(step), now_ns - SECOND);
	ck_assert(!work().exact);
}
END_TEST

START_TEST(known_function_that_is_called_too_often_by_now_is_counted_in_windows)
{
	calls_step_prefer(step, "GOMP_parallel", 0, NAN);
	know(two, 2);
	serve_all();
	ck_assert(calls_step_begin(step, &at));
	serve_all();
	per_s[0] = 100000;
	run(10);
	hits = 0;
	run(30);
	ck_assert(!work().exact);
	ck_assert_double_le(hits * cost_ns / 1e9, 0.005 * 2 * 30 * 1.2);
}
END_TEST

/* Counting it from its start would take the budget of tens of seconds. */
START_TEST(one_called_too_often_is_counted_in_windows_at_once)
{
	calls_step_prefer(step, "GOMP_parallel", 30000, NAN);
	know(two, 2);
	serve_all();
	ck_assert(!calls_step_begin(step, &at));
	per_s[0] = 30000;
	run(10);
	hits = 0;
	run(20);
	ck_assert_uint_gt(hits, 500);
	ck_assert_str_eq(calls_step_unit(step), "calls of GOMP_parallel");
}
END_TEST

START_TEST(unknown_function_does_not_begin)
{
	know(two, 2);
	serve_all();
	ck_assert(!calls_step_begin(step, &at));
	calls_step_prefer(step, "MPI_Send", 0, NAN);
	know(two, 2);
	ck_assert(!calls_step_begin(step, &at));
}
END_TEST

/* What is steady by its own processor time marks its work, however little of that it gets. */
START_TEST(crowded_program_is_known_by_its_processor_time)
{
	struct calls_work w;

	crowded = true;
	per_s[0] = 300;
	per_s[1] = 250;
	know(two, 2);
	run(10);
	ck_assert(!calls_step_work(step, &w));
	calls_step_free(step);
	step = calls_step_new(calls, 0, NULL);
	at.cpu_ns = 0;
	know(two, 2);
	run(10);
	ck_assert(calls_step_work(step, &w));
}
END_TEST

START_TEST(program_that_calls_nothing_has_no_speed_and_a_reason)
{
	struct calls_work w;

	know(two, 2);
	run(20);
	ck_assert(!calls_step_work(step, &w));
	ck_assert(isnan(calls_step_rate(step)));
	ck_assert_str_ne(calls_step_why(step), "");
	ck_assert_double_eq(hits, 0);
}
END_TEST

START_TEST(function_that_cannot_be_counted_is_left_out)
{
	per_s[0] = 10;
	per_s[1] = 200;
	refuse_offset = 0x1000;
	know(two, 2);
	run(15);
	ck_assert_str_eq(calls_step_unit(step), "calls of MPI_Allreduce");
}
END_TEST

START_TEST(lost_worker_is_said_and_what_is_known_stays)
{
	struct call_answer ready = {.kind = CALL_READY, .cost_ns = cost_ns};
	struct calls_work a, b;

	per_s[1] = 500;
	know(two, 2);
	run(10);
	a = work();
	calls_lost(calls, "gone");
	memset(set, 0, sizeof(set));
	ck_assert_str_eq(calls_step_why(step), "gone");
	run(5);
	b = work();
	ck_assert_double_eq(a.total, b.total);
	calls_take(calls, &ready);
	run(10);
	b = work();
	ck_assert_double_gt(b.total, a.total);
}
END_TEST

START_TEST(worker_that_cannot_count_says_why)
{
	struct call_answer no = {
		.kind = CALL_READY, .rc = -ENOTSUP, .text = "this kernel has no uprobes"};

	calls_take(calls, &no);
	know(two, 2);
	run(2);
	ck_assert_str_eq(calls_why_not(calls), "this kernel has no uprobes");
	ck_assert_str_eq(calls_step_why(step), "this kernel has no uprobes");
	ck_assert_int_eq(messages, 0);
}
END_TEST

START_TEST(step_that_ends_is_closed_and_its_places_go_later)
{
	per_s[1] = 500;
	know(two, 2);
	run(10);
	ck_assert_int_eq(drops, 0);
	calls_step_free(step);
	step = NULL;
	serve_all();
	for (int i = 0; i < SETS; i++)
		ck_assert(!set[i].on);
	calls_tidy(calls, now_ns + 10 * SECOND);
	serve_all();
	ck_assert_int_eq(drops, 0);
	calls_tidy(calls, now_ns + 100 * SECOND);
	serve_all();
	ck_assert_int_eq(drops, 2);
}
END_TEST

START_TEST(paused_step_is_not_counted)
{
	per_s[1] = 500;
	know(two, 2);
	run(10);
	calls_step_pause(step);
	serve_all();
	for (int i = 0; i < SETS; i++)
		ck_assert(!set[i].on);
	ck_assert(isnan(calls_step_rate(step)));
}
END_TEST

START_TEST(answers_of_a_closed_set_are_nobodys)
{
	struct call_answer late = {.kind = CALL_COUNTS, .n_probes = 1, .ended = true};

	per_s[1] = 500;
	know(two, 2);
	run(10);
	for (uint32_t id = 1000; id < 1010; id++) {
		late.set = id;
		ck_assert_ptr_null(calls_take(calls, &late));
	}
	late = (struct call_answer){.kind = CALL_MADE, .probe = 9999};
	ck_assert_ptr_null(calls_take(calls, &late));
}
END_TEST

START_TEST(step_of_too_many_threads_is_not_counted_one_by_one)
{
	per_s[1] = 500;
	know(two, 2);
	at.n_tids = 20000;
	run(5);
	ck_assert_ptr_nonnull(strstr(calls_step_why(step), "too many threads"));
	ck_assert_double_eq(hits, 0);
}
END_TEST

static void add(Suite *s, const char *what, const TTest *const *tests, int n)
{
	TCase *t = tcase_create(what);

	tcase_add_checked_fixture(t, setup, teardown);
	for (int i = 0; i < n; i++)
		tcase_add_test(t, tests[i]);
	suite_add_tcase(s, t);
}

#define ADD(what, ...)                                                                             \
	do {                                                                                       \
		const TTest *const tests[] = {__VA_ARGS__};                                        \
		add(s, what, tests, (int)(sizeof(tests) / sizeof(tests[0])));                      \
	} while (0)

int main(void)
{
	Suite *s = suite_create("calls");
	SRunner *r;
	int failed;

	ADD("work is the calls of the function that marks it", rare_calls_are_counted_all_of_them,
		speed_is_known_as_soon_as_the_function_is,
		frequent_calls_are_counted_in_windows_within_the_budget,
		what_is_done_between_windows_goes_by_processor_time,
		team_that_spins_while_its_master_traps_is_held_up_with_it,
		speed_of_a_frozen_program_is_of_its_own_time, nothing_is_opened_while_it_is_frozen,
		attended_one_is_counted_without_a_gap, windows_go_on_after_attention,
		rate_is_of_the_window_however_late_the_answer,
		another_function_is_counted_by_its_own_calls);
	ADD("what cannot be known is not told, and why",
		program_that_calls_nothing_has_no_speed_and_a_reason,
		function_that_cannot_be_counted_is_left_out, worker_that_cannot_count_says_why,
		step_of_too_many_threads_is_not_counted_one_by_one);
	ADD("a program that ran before is counted from its start",
		known_function_is_counted_from_the_first_call,
		program_that_had_begun_has_not_all_calls,
		known_function_that_is_called_too_often_by_now_is_counted_in_windows,
		one_called_too_often_is_counted_in_windows_at_once,
		unknown_function_does_not_begin);
	ADD("neighbours do not hide what marks the work",
		crowded_program_is_known_by_its_processor_time);
	ADD("nothing stays open for nobody", step_that_ends_is_closed_and_its_places_go_later,
		paused_step_is_not_counted, answers_of_a_closed_set_are_nobodys,
		lost_worker_is_said_and_what_is_known_stays);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
