/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What mask a thread is to have where its step is placed (actuate/steer_rules.c). */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/actuate/steer.h"

#define MEMBERS 8

struct rule {
	const char *name;
	const char *slurm, *set;
	const char *own[MEMBERS]; /* "p:" before what the program chose */
	const char *want[MEMBERS];
};

static const struct rule rules[] = {
	{"nobody is bound: the whole set", "0-3", "2-3", {"0-3", "0-3"}, {"2-3", "2-3"}},
	{"a task that Slurm bound alone: the whole set", "0-3", "1-2", {"0"}, {"1-2"}},
	{"Slurm's ranks: the same parts", "0-3", "2-3", {"0-1", "2-3"}, {"2", "3"}},
	{"... of a larger set", "0-3", "0-7", {"0-1", "2-3"}, {"0-3", "4-7"}},
	{"... which is theirs where the set is Slurm's", "0-3", "0-3", {"0-1", "2-3"},
		{"0-1", "2-3"}},
	{"four pins on two CPUs: two and two", "0-3", "2-3", {"p:0", "p:1", "p:2", "p:3"},
		{"2", "2", "3", "3"}},
	{"two pins on two others: one each", "0-3", "2-3", {"p:0", "p:1"}, {"2", "3"}},
	{"two pins on four others: two each", "0-7", "4-7", {"p:0", "p:1"}, {"4-5", "6-7"}},
	{"pins inside stay", "0-7", "0-3", {"p:1", "p:2", "0-7"}, {"1", "2", "0-3"}},
	{"one outside, all are translated", "0-3", "0-1", {"p:1", "p:2"}, {"0", "1"}},
	{"pins are the program's where the set is Slurm's", "0-3", "0-3", {"p:3", "p:0"},
		{"3", "0"}},
	{"a pin of all there is is none", "0-3", "1-2", {"p:0-3"}, {"1-2"}},
	{"a pin of more than there is is none", "0-3", "1-2", {"p:0-63"}, {"1-2"}},
	{"sockets as places", "0-3", "0-1", {"p:0-1", "p:2-3"}, {"0", "1"}},
};
#define RULES ((int)(sizeof(rules) / sizeof(rules[0])))

START_TEST(thread_has_what_the_rules_say)
{
	const struct rule *r = &rules[_i];
	struct steered row[MEMBERS];
	struct member member[MEMBERS];
	struct steer st = {.member = member};
	char text[CORESET_STR_MAX];
	struct coreset want;

	memset(row, 0, sizeof(row));
	memset(member, 0, sizeof(member));
	ck_assert_int_eq(coreset_parse(&st.slurm, r->slurm, NULL), 0);
	ck_assert_int_eq(coreset_parse(&st.set, r->set, NULL), 0);
	coreset_or(&st.wall, &st.slurm, &st.set);
	st.part = calloc(1, sizeof(*st.part));
	st.part[st.n_parts++].cpus = st.slurm;
	for (; st.n < MEMBERS && r->own[st.n]; st.n++) {
		struct own *own = &row[st.n].own;
		bool program = strncmp(r->own[st.n], "p:", 2) == 0;

		ck_assert_int_eq(
			coreset_parse(&own->mask, r->own[st.n] + (program ? 2 : 0), NULL), 0);
		own->program = program;
		own->part = program ? 0 : steer_part(&st, &own->mask);
		member[st.n].row = &row[st.n];
	}
	steer_sum_pins(&st);
	for (int i = 0; i < st.n; i++) {
		steer_want(&st, &row[i].own, false, &want);
		ck_assert_msg(strcmp(coreset_format(&want, text, sizeof(text)), r->want[i]) == 0,
			"%s: thread %d has '%s', not '%s'", r->name, i, text, r->want[i]);
	}
	free(st.part);
}
END_TEST

/* A rank that binds its threads does so within its part. */
START_TEST(pins_stay_in_their_ranks_part)
{
	struct steered row[4];
	struct member member[4];
	struct steer st = {.slurm = {{0xff}}, .wall = {{0xff}}, .set = {{0xf}}, .n = 4};
	static const uint64_t own[4] = {0xf, 0xf0, 0x10, 0x20}, wanted[4] = {0x3, 0xc, 0x4, 0x8};
	struct coreset want;

	memset(row, 0, sizeof(row));
	memset(member, 0, sizeof(member));
	st.member = member;
	st.part = calloc(1, sizeof(*st.part));
	st.part[st.n_parts++].cpus = st.slurm;
	for (int i = 0; i < 4; i++) {
		row[i].own.mask.w[0] = own[i];
		row[i].own.program = i > 1;
		row[i].own.part = i > 1 ? row[1].own.part : steer_part(&st, &row[i].own.mask);
		member[i].row = &row[i];
	}
	steer_sum_pins(&st);
	for (int i = 0; i < 4; i++) {
		steer_want(&st, &row[i].own, false, &want);
		ck_assert_uint_eq(want.w[0], wanted[i]);
	}
	free(st.part);
}
END_TEST

/* ---- who is on his way ---- */

#define MS INT64_C(1000000)

/* Looks at a thread that shows a CPU; @ran_ms of its life. */
static const struct stray_case {
	const char *name;
	struct {
		int at_ms, cpu;
		int64_t ran_ms;
		bool chose;
	} look[6];
} strays[] = {
	{"it runs there: chosen", {{1, 3, 100, false}, {101, 3, 119, false}, {151, 3, 120, true}}},
	{"from CPU to CPU: not", {{1, 0, 10, false}, {51, 1, 40, false}, {101, 2, 70, false}}},
	{"... until it stays",
		{{1, 0, 10, false}, {51, 1, 40, false}, {101, 1, 59, false}, {151, 1, 60, true}}},
	{"it sleeps there: chosen after two seconds",
		{{1, 3, 7, false}, {1000, 3, 7, false}, {2000, 3, 7, false}, {2001, 3, 7, true}}},
	{"it never stays: a choice after two seconds",
		{{1, 0, 10, false}, {1000, 1, 500, false}, {2001, 2, 900, true}}},
	{"nobody knows how much it runs: chosen at once", {{1, 0, -1, true}}},
};

START_TEST(mask_that_stays_is_a_choice)
{
	const struct stray_case *c = &strays[_i];
	struct stray p = {.since_ns = 0};

	for (int i = 0; c->look[i].at_ms; i++) {
		struct coreset mask;
		int64_t ran = c->look[i].ran_ms;

		coreset_zero(&mask);
		coreset_add(&mask, (unsigned int)c->look[i].cpu);
		ck_assert_msg(steer_stray_chose(&p, &mask, c->look[i].at_ms * MS,
				      ran < 0 ? ran : ran * MS) == c->look[i].chose,
			"%s: look %d", c->name, i);
	}
}
END_TEST

/* Moved at 1 s from @past; it shows @mask at @at_ms. */
static const struct back_case {
	const char *name, *past, *mask;
	int64_t moved_ms, at_ms;
	bool back;
} backs[] = {
	{"a rank reads its CPU, is moved, and puts it back", "0", "0", 1000, 1100, true},
	{"another CPU is a choice", "0", "1", 1000, 1100, false},
	{"so is that one, if it comes late", "0", "0", 1000, 11000, false},
	{"all of what it had is none, whenever", "0-1", "0-1", 1000, 60000, true},
	{"it was never moved", "0-1", "0-1", 0, 60000, false},
};

START_TEST(mask_of_before_a_move_is_put_back)
{
	const struct back_case *c = &backs[_i];
	struct steered row = {.given_ns = c->moved_ms * MS};
	struct coreset mask;

	ck_assert_int_eq(coreset_parse(&row.past, c->past, NULL), 0);
	ck_assert_int_eq(coreset_parse(&mask, c->mask, NULL), 0);
	ck_assert_msg(steer_puts_back(&row, &mask, c->at_ms * MS) == c->back, "%s", c->name);
}
END_TEST

/* ---- who runs ---- */

/* Looks each @every_ms, in each of which so many ms of processor time were used. */
static const struct rest_case {
	const char *name;
	bool starter;
	int before_ms, every_ms;
	int used_ms[16];
	bool reaps;
	const char *rests; /* a letter a look: r rests, w does not, W for good */
} paces[] = {
	{"a program that has hardly begun, then works", false, 0, 100, {5, 5, 100, 100}, false,
		"rrWW"},
	{"... and is at rest later: it stays where it is", false, 0, 100, {5, 100, 0, 0}, false,
		"rWWW"},
	{"one that hardly ever runs", false, 0, 100, {1, 1, 1, 1, 1, 1, 1, 1}, false, "rrrrrrrr"},
	{"one that is there when we come", false, 5000, 100, {0, 0}, false, "WW"},
	{"a shell that waits", true, 50, 100, {1, 0, 3, 9}, false, "rrrr"},
	{"a shell whose commands are many", true, 50, 100,
		{60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60}, true, "rrrrrrrrrrrr"},
	{"a shell that counts to a million: a second of it is work", true, 50, 200,
		{0, 200, 200, 200, 200, 200, 200}, false, "rrrrrww"},
	{"... until it waits again", true, 50, 500, {0, 500, 500, 100, 200, 10, 10}, false,
		"rrwwwrr"},
	{"a shell that runs half a second at times", true, 50, 500, {0, 400, 30, 400, 30}, false,
		"rrrrr"},
	{"looks one after another say nothing", true, 50, 1, {0, 1, 1, 1, 1, 1}, false, "rrrrrr"},
};
#define PACES ((int)(sizeof(paces) / sizeof(paces[0])))

START_TEST(who_runs_is_told_by_processor_time)
{
	const struct rest_case *c = &paces[_i];
	int64_t at_ns = 1000 * MS, cpu_ns = c->before_ms * MS;
	struct rest p = {.at_ns = 0};
	uint64_t reaped = 0;

	for (int i = 0; c->rests[i]; i++) {
		char got;

		at_ns += c->every_ms * MS;
		cpu_ns += c->used_ms[i] * MS;
		reaped += c->reaps;
		if (steer_rest_asks(&p, at_ns, cpu_ns)) {
			if (!c->starter) {
				p.settled = true;
				p.rests = false;
			} else {
				steer_rest_tell(&p, at_ns, cpu_ns,
					steer_rest_works(&p, at_ns, cpu_ns) ? reaped : p.reaped);
			}
		}
		got = (char)(p.rests ? 'r' : p.settled ? 'W' : 'w');
		ck_assert_msg(got == c->rests[i], "%s: look %d says '%c', not '%c'", c->name, i,
			got, c->rests[i]);
	}
}
END_TEST

/* A look reads three files. That it has ended to work is seen a second later, and one look. */
START_TEST(who_works_on_is_looked_at_less_and_less)
{
	int64_t at_ns = 1000 * MS, cpu_ns = 0, rested_ns = 0;
	struct rest p = {.at_ns = 0};
	int asked = 0;

	for (int i = 0; i < 600; i++) {
		at_ns += 100 * MS;
		cpu_ns += 100 * MS;
		if (!steer_rest_asks(&p, at_ns, cpu_ns))
			continue;
		steer_rest_tell(&p, at_ns, cpu_ns, 0);
		asked++;
	}
	ck_assert_int_ge(asked, 60);
	ck_assert_int_lt(asked, 150);
	ck_assert(!p.rests);
	for (; !p.rests && rested_ns < 10000 * MS; rested_ns += 100 * MS) {
		at_ns += 100 * MS;
		if (steer_rest_asks(&p, at_ns, cpu_ns))
			steer_rest_tell(&p, at_ns, cpu_ns, 0);
	}
	ck_assert_int_le(rested_ns, 2000 * MS);
}
END_TEST

START_TEST(who_rests_has_his_own)
{
	struct steer st = {.slurm = {{0xf}}, .wall = {{0xf}}, .set = {{0xc}}};
	static const struct own all = {.mask = {{0xf}}}, pin = {.mask = {{0x2}}, .program = true},
				outside = {.mask = {{0x10}}, .program = true};
	struct coreset want;

	st.part = calloc(1, sizeof(*st.part));
	st.part[st.n_parts++].cpus = st.slurm;
	steer_want(&st, &all, true, &want);
	ck_assert_uint_eq(want.w[0], 0xf);
	steer_want(&st, &pin, true, &want);
	ck_assert_uint_eq(want.w[0], 0x2);
	/* The cpuset has lost it. */
	steer_want(&st, &outside, true, &want);
	ck_assert_uint_eq(want.w[0], 0xc);
	free(st.part);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("steer_rules");
	TCase *t = tcase_create("each has its part of where the step is");
	SRunner *r;
	int failed;

	tcase_add_loop_test(t, thread_has_what_the_rules_say, 0, RULES);
	tcase_add_test(t, pins_stay_in_their_ranks_part);
	suite_add_tcase(s, t);
	t = tcase_create("who is on his way has made no choice");
	tcase_add_loop_test(
		t, mask_of_before_a_move_is_put_back, 0, sizeof(backs) / sizeof(backs[0]));
	tcase_add_loop_test(t, mask_that_stays_is_a_choice, 0, sizeof(strays) / sizeof(strays[0]));
	suite_add_tcase(s, t);
	t = tcase_create("who does not run is not moved");
	tcase_add_loop_test(t, who_runs_is_told_by_processor_time, 0, PACES);
	tcase_add_test(t, who_works_on_is_looked_at_less_and_less);
	tcase_add_test(t, who_rests_has_his_own);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
