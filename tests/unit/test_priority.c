/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Priorities of threads in virtual time: who is high on which CPU, and the 10 ms before that
 * changes. Two jobs of two threads each on two CPUs unless said: job 0 has CPU 0, job 1 CPU 1;
 * threads 0 and 2 are the main ones.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/engine/engine.h"

#define MS      INT64_C(1000000)
#define WAIT_NS (10 * MS)

static struct priority p;
static struct priority_slot slot[2];
static struct priority_thread thread[64];
static bool awake[64];
static int asked;
static int64_t now_ns;

static bool wants(void *arg, int t)
{
	(void)arg;
	asked++;
	return awake[t];
}

static void add_thread(int job, bool leader)
{
	int t = p.n_threads++;

	thread[t] =
		(struct priority_thread){.id = 100 + t, .job = job, .leader = leader, .cpu = {{3}}};
}

static void setup(void)
{
	memset(slot, 0, sizeof(slot));
	memset(awake, 0, sizeof(awake));
	p = (struct priority){.slot = slot, .n_slots = 2, .thread = thread, .n_jobs = 2};
	for (int i = 0; i < 2; i++) {
		slot[i].job = slot[i].pu = i;
		add_thread(i, true);
		add_thread(i, false);
	}
	now_ns = 1000 * MS;
	priority_assign(&p);
}

/* Looks every 10 ms for so long. */
static int run(int ms)
{
	int changed = 0;

	for (int64_t end = now_ns + ms * MS; now_ns < end;) {
		now_ns += WAIT_NS;
		changed += priority_look(&p, now_ns, WAIT_NS, wants, NULL);
	}
	return changed;
}

/* "HLHL" */
static const char *pattern(void)
{
	static char text[65];

	for (int t = 0; t < p.n_threads; t++)
		text[t] = thread[t].high ? 'H' : 'L';
	text[p.n_threads] = '\0';
	return text;
}

START_TEST(main_threads_are_high_the_others_low)
{
	ck_assert_str_eq(pattern(), "HLHL");
	memset(awake, 1, sizeof(awake));
	ck_assert_int_eq(run(1000), 0);
	ck_assert_str_eq(pattern(), "HLHL");
}
END_TEST

START_TEST(thread_that_cannot_reach_the_cpu_is_not_its_owner)
{
	/* Job 1's program has pinned its main thread to CPU 0, its other one to CPU 1. */
	thread[2].cpu = (struct coreset){{1}};
	thread[3].cpu = (struct coreset){{2}};
	memset(slot, 0, sizeof(slot));
	slot[1].job = slot[1].pu = 1;
	priority_assign(&p);
	ck_assert_str_eq(pattern(), "HLLH");
}
END_TEST

START_TEST(blocked_owner_gives_way_after_ten_milliseconds_not_before)
{
	struct hysteresis h = {.lent = false};

	ck_assert(!hysteresis_look(&h, 100 * MS, true, WAIT_NS));
	ck_assert(!hysteresis_look(&h, 105 * MS, false, WAIT_NS)); /* blocked since 100 at least */
	ck_assert(!hysteresis_look(&h, 109 * MS, false, WAIT_NS));
	ck_assert(hysteresis_look(&h, 110 * MS, false, WAIT_NS));
	ck_assert(h.lent);
	/* Back: from the first look that sees it runnable. */
	ck_assert(!hysteresis_look(&h, 200 * MS, true, WAIT_NS));
	ck_assert(!hysteresis_look(&h, 209 * MS, true, WAIT_NS));
	ck_assert(hysteresis_look(&h, 210 * MS, true, WAIT_NS));
	ck_assert(!h.lent);
}
END_TEST

START_TEST(interrupted_block_begins_anew)
{
	struct hysteresis h = {.lent = false};

	hysteresis_look(&h, 100 * MS, true, WAIT_NS);
	for (int64_t t = 105; t < 1000; t += 10) {
		ck_assert(!hysteresis_look(&h, t * MS, false, WAIT_NS));
		ck_assert(!hysteresis_look(&h, (t + 4) * MS, true, WAIT_NS));
	}
	ck_assert(!h.lent);
}
END_TEST

START_TEST(first_look_counts_from_itself)
{
	struct hysteresis h = {.lent = false};

	ck_assert(!hysteresis_look(&h, 100 * MS, false, WAIT_NS));
	ck_assert(!hysteresis_look(&h, 109 * MS, false, WAIT_NS));
	ck_assert(hysteresis_look(&h, 110 * MS, false, WAIT_NS));
}
END_TEST

START_TEST(guest_is_of_the_owners_job_first_then_of_the_next)
{
	memset(awake, 1, sizeof(awake));
	run(20);
	awake[0] = false;
	run(20);
	ck_assert_str_eq(pattern(), "LHHL");
	awake[1] = false; /* both of job 0 sleep */
	run(10);
	ck_assert_str_eq(pattern(), "LLHH");
	awake[3] = false; /* nobody is left: the owner may as well be high */
	run(10);
	ck_assert_str_eq(pattern(), "HLHL");
}
END_TEST

START_TEST(owner_is_high_again_when_runnable_for_ten_milliseconds)
{
	memset(awake, 1, sizeof(awake));
	run(20);
	awake[0] = awake[1] = false;
	run(30);
	ck_assert_str_eq(pattern(), "LLHH");
	awake[0] = true;
	run(10);
	ck_assert_str_eq(pattern(), "LLHH");
	run(10);
	ck_assert_str_eq(pattern(), "HLHL");
}
END_TEST

START_TEST(nobody_takes_the_place_of_an_owner_who_wants_it_back)
{
	memset(awake, 1, sizeof(awake));
	run(20);
	awake[0] = awake[1] = awake[3] = false;
	run(30); /* out, without a guest */
	awake[0] = awake[3] = true;
	ck_assert_int_eq(run(10), 0);
	ck_assert_str_eq(pattern(), "HLHL");
}
END_TEST

START_TEST(cpu_without_a_thread_of_its_job_is_lent)
{
	thread[1].job = 1; /* job 0 has one thread, and no CPU 0 but 1 beside it */
	memset(slot, 0, sizeof(slot));
	p.n_threads = 4;
	slot[0].job = slot[1].job = 1;
	slot[0].pu = 0;
	slot[1].pu = 1;
	thread[1].cpu = thread[3].cpu = (struct coreset){{1}};
	thread[2].cpu = (struct coreset){{1}};
	memset(awake, 1, sizeof(awake));
	priority_assign(&p);
	run(20); /* nobody of job 1 reaches CPU 1; job 0's only thread does */
	ck_assert(thread[0].high);
	ck_assert_int_eq(slot[1].guest, 0);
}
END_TEST

START_TEST(state_is_kept_when_threads_come_and_go)
{
	memset(awake, 1, sizeof(awake));
	run(20);
	awake[0] = awake[1] = false;
	run(30);
	add_thread(1, false);
	priority_assign(&p);
	ck_assert_str_eq(pattern(), "LLHHL");
	/* The guest ends: another takes its place. */
	memmove(&thread[3], &thread[4], sizeof(thread[0]));
	p.n_threads--;
	priority_assign(&p);
	ck_assert_str_eq(pattern(), "HLHL");
	run(10);
	ck_assert_str_eq(pattern(), "LLHH");
	/* The owner ends: a new one begins high. */
	memmove(&thread[0], &thread[1], 3 * sizeof(thread[0]));
	p.n_threads--;
	priority_assign(&p);
	ck_assert_str_eq(pattern(), "HHL");
}
END_TEST

/* Sleeps and wakes at random, mostly shorter than the hysteresis: 8 of 10 looks see it asleep. */
START_TEST(noise_shorter_than_the_hysteresis_does_not_flap)
{
	unsigned int x = 1;
	int changed = 0, seen_asleep = 0;

	memset(awake, 1, sizeof(awake));
	/* Looks come more often than threads stay asleep. */
	for (int i = 0; i < 100000; i++) {
		x = x * 1103515245 + 12345;
		now_ns += 2 * MS;
		/* At most four looks asleep in a row: 8 ms, and one that it ran in. */
		awake[0] = seen_asleep == 4 || (x >> 16) % 10 >= 8;
		seen_asleep = awake[0] ? 0 : seen_asleep + 1;
		changed += priority_look(&p, now_ns, WAIT_NS, wants, NULL);
	}
	ck_assert_int_eq(changed, 0);
	/* Whatever the noise: no two changes of a CPU within 10 ms. */
	for (int i = 0, last = -100; i < 100000; i++) {
		x = x * 1103515245 + 12345;
		now_ns += 2 * MS;
		awake[0] = (x >> 16) % 7 == 0 ? !awake[0] : awake[0];
		bool lent = slot[0].h.lent;

		priority_look(&p, now_ns, WAIT_NS, wants, NULL);
		if (slot[0].h.lent == lent)
			continue;
		ck_assert_int_ge(i - last, 4);
		last = i;
		changed++;
	}
	ck_assert_int_gt(changed, 100);
}
END_TEST

START_TEST(same_looks_give_the_same_answers)
{
	char first[200][8];

	for (int round = 0; round < 2; round++) {
		setup();
		for (int i = 0; i < 200; i++) {
			for (int t = 0; t < 4; t++)
				awake[t] = (i / (3 + t)) % 2;
			run(10);
			if (round == 0)
				strcpy(first[i], pattern());
			else
				ck_assert_str_eq(first[i], pattern());
		}
	}
}
END_TEST

START_TEST(few_are_asked_however_many_there_are)
{
	while (p.n_threads < 64)
		add_thread(1, false);
	priority_assign(&p);
	run(30); /* all asleep, both CPUs vacant */
	asked = 0;
	run(10);
	ck_assert_int_eq(asked, 2 + PRIORITY_ASKS);
	awake[60] = true; /* found in turn */
	run(40);
	ck_assert(thread[60].high);
	/* Most of them end, also the one whose turn was next. */
	ck_assert_int_gt(p.next, 3);
	p.n_threads = 3;
	priority_assign(&p);
	run(40);
	ck_assert_str_eq(pattern(), "HLH");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("priority");
	SRunner *r = srunner_create(s);
	TCase *tc;
	int failed;

	tc = tcase_create("one thread is high on each CPU, a main thread where there is one");
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, main_threads_are_high_the_others_low);
	tcase_add_test(tc, thread_that_cannot_reach_the_cpu_is_not_its_owner);
	tcase_add_test(tc, cpu_without_a_thread_of_its_job_is_lent);
	tcase_add_test(tc, state_is_kept_when_threads_come_and_go);
	suite_add_tcase(s, tc);
	tc = tcase_create("that changes after the hysteresis");
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, blocked_owner_gives_way_after_ten_milliseconds_not_before);
	tcase_add_test(tc, interrupted_block_begins_anew);
	tcase_add_test(tc, first_look_counts_from_itself);
	tcase_add_test(tc, guest_is_of_the_owners_job_first_then_of_the_next);
	tcase_add_test(tc, owner_is_high_again_when_runnable_for_ten_milliseconds);
	tcase_add_test(tc, nobody_takes_the_place_of_an_owner_who_wants_it_back);
	suite_add_tcase(s, tc);
	tc = tcase_create("it does not flap, costs a bounded number of looks, and is repeatable");
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, noise_shorter_than_the_hysteresis_does_not_flap);
	tcase_add_test(tc, same_looks_give_the_same_answers);
	tcase_add_test(tc, few_are_asked_however_many_there_are);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
