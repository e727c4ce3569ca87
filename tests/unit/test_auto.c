/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * auto on made-up programs whose speed is known exactly: what it learns, what it deals, and when it
 * leaves things as they are.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/small_node.h"

#define SAMPLE_S 0.2
#define THREADS  16

/* Amdahl: of the time on one core the part that no further core shortens. */
struct program {
	const char *type;
	double serial;
	bool shows_speed;
	double slows;                  /* and each core more costs that of the time on one */
	double period_s, other_serial; /* every so long it is another program, as long; 0: never */
	bool reads;                    /* that one reads a file: it computes nothing */
	double misses;                 /* of its references */
	double walled; /* as fast, over that, in a cluster of the cache; 0: as ever */
	double lent;   /* the same while others borrow of it */
	/* What it shows of its speed: of its cores so many, none of it below eight; 0: the truth.
	 */
	double claims, collapses;
	bool busy; /* its threads poll, or wait for memory */
};

struct world {
	struct small_node x;
	struct program program[SMALL_NODE_JOBS];
	uint64_t random;
	double noise;
	int moves; /* plans that moved somebody */
	double moved_s, shortest_s;
	double done[SMALL_NODE_JOBS], would[SMALL_NODE_JOBS]; /* work; on half of the cores */
	double walled_s;                                      /* with clusters */
	double lent_s[SMALL_NODE_JOBS];                       /* while others borrowed of it */
	/* Of who was moved, samples at half its speed; of these, how many are left. */
	int cold, left[SMALL_NODE_JOBS];
	struct coreset was[SMALL_NODE_JOBS];
};

static double speed_of(const struct program *p, double cores)
{
	return 1 / (p->serial + (1 - p->serial - p->slows) / cores + p->slows * cores);
}

/* -1 to 1 */
static double draw(struct world *w)
{
	w->random = w->random * 6364136223846793005u + 1442695040888963407u;
	return (double)(int32_t)(w->random >> 32) / INT32_MAX;
}

static void open_world(struct world *w, const char *source, const char *spec, int n)
{
	memset(w, 0, sizeof(*w));
	w->random = 1;
	w->shortest_s = INFINITY;
	w->moved_s = -INFINITY;
	small_node_open(&w->x, source, spec, n);
	for (int i = 0; i < n; i++) {
		w->program[i].shows_speed = true;
		w->x.job[i].threads = THREADS;
	}
}

static int cores_of(const struct world *w, int i)
{
	return topo_count_cores(w->x.t, &w->x.job[i].current);
}

/* The part of others' idle time that a borrower gets, as cores. */
static double borrowed(const struct world *w, int i)
{
	double cores = 0;

	for (int l = 0; l < w->x.plan.job[i].n_lent; l++) {
		int donor = w->x.plan.job[i].lent[l].donor, takers = 0;

		for (int k = 0; k < w->x.v.n_jobs; k++)
			for (int m = 0; m < w->x.plan.job[k].n_lent; m++)
				takers += w->x.plan.job[k].lent[m].donor == donor;
		cores += 0.65 * cores_of(w, donor) *
			 (1 - w->x.job[donor].signal[SIGNAL_UTILIZATION].value) / takers;
	}
	return cores;
}

static bool is_lent(const struct world *w, int i)
{
	for (int k = 0; k < w->x.v.n_jobs; k++)
		for (int l = 0; l < w->x.plan.job[k].n_lent; l++)
			if (w->x.plan.job[k].lent[l].donor == i)
				return true;
	return false;
}

/* What counters show of a stretch in which each ran where it is. */
static void sample(struct world *w)
{
	for (int i = 0; i < w->x.v.n_jobs; i++) {
		struct view_job *j = &w->x.job[i];
		struct program p = w->program[i];
		bool other = p.period_s > 0 && fmod(w->x.v.now_s, 2 * p.period_s) >= p.period_s;
		bool walled = w->x.plan.n_clusters > 0 && w->x.plan.job[i].cluster >= 0;
		double cores = cores_of(w, i) + borrowed(w, i), speed, shown;

		if (other && p.reads) {
			j->sample_no++;
			j->signal[SIGNAL_UTILIZATION] =
				(struct signal){0.2 / cores_of(w, i), PROVENANCE_OS};
			j->signal[SIGNAL_INSTRUCTIONS] = (struct signal){1e3, PROVENANCE_HW};
			continue;
		}
		if (other)
			p.serial = p.other_serial;
		speed = speed_of(&p, cores) * (walled && p.walled > 0 ? p.walled : 1);
		if (is_lent(w, i)) {
			speed *= p.lent > 0 ? p.lent : 1;
			w->lent_s[i] += SAMPLE_S;
		}
		if (!coreset_is_equal(&j->current, &w->was[i]))
			w->left[i] = w->cold;
		w->was[i] = j->current;
		if (w->left[i] > 0) {
			w->left[i]--;
			speed *= 0.5;
		}
		w->done[i] += speed;
		w->would[i] += speed_of(&p, 8);
		shown = p.claims > 0 ? pow(cores_of(w, i), p.claims) : speed;
		if (p.collapses > 0 && cores_of(w, i) != 8)
			shown *= p.collapses;
		j->sample_no++;
		/* Who waits for memory is busy. */
		j->signal[SIGNAL_UTILIZATION] =
			(struct signal){p.busy ? 1 : speed_of(&p, cores) / cores, PROVENANCE_OS};
		if (w->program[i].shows_speed)
			j->signal[SIGNAL_INSTRUCTIONS] = (struct signal){
				1e9 * shown / THREADS * (1 + w->noise * draw(w)), PROVENANCE_HW};
		if (p.misses > 0) {
			j->signal[SIGNAL_LLC_REFS] = (struct signal){1e7 * speed, PROVENANCE_HW};
			j->signal[SIGNAL_LLC_MISSES] =
				(struct signal){1e7 * speed * p.misses, PROVENANCE_HW};
		}
	}
}

static void go_on(struct world *w, double s)
{
	for (int i = 0; i < w->x.v.n_jobs; i++)
		w->x.job[i].type = w->program[i].type;
	for (double until = w->x.v.now_s + s; w->x.v.now_s < until;) {
		if (!coreset_is_empty(&w->x.job[0].current))
			sample(w);
		small_node_decide(&w->x);
		w->walled_s += w->x.plan.n_clusters > 0 ? SAMPLE_S : 0;
		if (w->x.plan.moves > 0 && w->x.v.now_s > 0) {
			w->moves++;
			w->shortest_s = fmin(w->shortest_s, w->x.v.now_s - w->moved_s);
			w->moved_s = w->x.v.now_s;
		}
		w->x.v.now_s += SAMPLE_S;
	}
}

/* One scales, the other hardly does: the cores go where they are worth something. */
static void two_unlike(struct world *w, const char *spec)
{
	open_world(w, "core:16", spec, 2);
	w->program[0] = (struct program){.type = "scales", .shows_speed = true};
	w->program[1] = (struct program){.type = "hardly", .serial = 0.4, .shows_speed = true};
	w->noise = 0.02;
}

START_TEST(cores_go_where_they_are_worth_something)
{
	struct world w;
	double before = speed_of(&(struct program){.serial = 0.4}, 8);

	two_unlike(&w, "auto");
	go_on(&w, 60);
	ck_assert_int_ge(cores_of(&w, 0), 10);
	/* Its floor: 0.85 of what half of the node would give it. */
	ck_assert_double_ge(speed_of(&w.program[1], cores_of(&w, 1)), 0.84 * before);
	small_node_close(&w.x);
}
END_TEST

START_TEST(nobody_is_dealt_less_than_its_floor)
{
	struct world w;
	double before = speed_of(&(struct program){.serial = 0.4}, 8);

	two_unlike(&w, "auto");
	w.x.job[1].qos = 0.97;
	go_on(&w, 60);
	ck_assert_double_ge(speed_of(&w.program[1], cores_of(&w, 1)), 0.96 * before);
	small_node_close(&w.x);
}
END_TEST

/* One has work for all cores, the other sleeps for a third of the time and is @lent times as fast
 * while the first has that. */
static void one_that_lends(struct world *w, double lent)
{
	open_world(w, "pack:2 core:8", "auto,trials=no", 2);
	w->noise = 0.02;
	w->program[0] = (struct program){.type = "scales", .shows_speed = true};
	w->program[1] = (struct program){
		.type = "lends", .serial = 0.06, .shows_speed = true, .lent = lent};
	go_on(w, 60);
}

START_TEST(whom_a_loan_takes_below_its_floor_lends_no_more)
{
	struct world w;

	one_that_lends(&w, 0.7);
	ck_assert_double_gt(w.lent_s[1], 0);
	ck_assert_double_le(w.lent_s[1], 6);
	ck_assert_double_ge(w.done[1], 0.85 * w.would[1]);
	small_node_close(&w.x);
	one_that_lends(&w, 0.99);
	ck_assert_double_ge(w.lent_s[1], 50);
	small_node_close(&w.x);
}
END_TEST

START_TEST(a_minimum_of_cores_is_kept)
{
	struct world w;

	two_unlike(&w, "auto");
	w.x.job[1].min_cores = 7;
	go_on(&w, 60);
	ck_assert_int_ge(cores_of(&w, 1), 7);
	small_node_close(&w.x);
}
END_TEST

START_TEST(alike_stay_where_they_are)
{
	struct world w;

	open_world(&w, "pack:2 core:8", "auto,trials=no", 4);
	w.noise = 0.02;
	for (int i = 0; i < 4; i++)
		w.program[i] =
			(struct program){.type = "same", .serial = 0.02, .shows_speed = true};
	go_on(&w, 60);
	ck_assert_int_eq(w.moves, 0);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(cores_of(&w, i), 4);
	small_node_close(&w.x);
}
END_TEST

/* What two gain by a core that goes from one to the other is the same beside fourteen others. */
START_TEST(two_of_many_exchange_cores_as_two_alone_do)
{
	struct world w;

	open_world(&w, "core:64", "auto,trials=no,lend=no", 16);
	w.noise = 0.02;
	w.program[0] = (struct program){.type = "scales", .shows_speed = true};
	w.program[1] = (struct program){.type = "hardly", .serial = 0.4, .shows_speed = true};
	for (int i = 2; i < 16; i++)
		w.program[i] = (struct program){.type = "unknown", .serial = 0.08};
	go_on(&w, 60);
	ck_assert_int_ge(cores_of(&w, 0), 5);
	for (int i = 2; i < 16; i++)
		ck_assert_int_eq(cores_of(&w, i), 4);
	small_node_close(&w.x);
}
END_TEST

/* As unlike as above, but no gain is sure enough for a sceptic. */
START_TEST(a_gain_that_is_not_sure_moves_nobody)
{
	struct world w;
	bool told = false;

	two_unlike(&w, "auto,sure=10,trials=no");
	w.x.plan.want_explain = true;
	for (int t = 0; t < 30; t++) {
		go_on(&w, 1);
		told |= strstr(w.x.plan.explain, "is not sure to pay for the move") != NULL;
	}
	ck_assert_int_eq(w.moves, 0);
	ck_assert_int_eq(cores_of(&w, 0), 8);
	ck_assert(told);
	small_node_close(&w.x);
}
END_TEST

START_TEST(moves_are_as_far_apart_as_was_asked_for)
{
	struct world w;

	two_unlike(&w, "auto,dwell_s=7,trials=no"); /* a trial is there and back */
	go_on(&w, 90);
	ck_assert_int_gt(w.moves, 0);
	ck_assert_double_ge(w.shortest_s, 7 - 1e-6);
	small_node_close(&w.x);
}
END_TEST

START_TEST(without_a_speed_nobody_gives_or_takes)
{
	struct world w;

	two_unlike(&w, "auto");
	w.x.plan.want_explain = true;
	w.program[1].shows_speed = false;
	go_on(&w, 60);
	ck_assert_int_eq(w.moves, 0);
	ck_assert_int_eq(cores_of(&w, 0), 8);
	ck_assert_int_eq(cores_of(&w, 1), 8);
	ck_assert_ptr_nonnull(strstr(w.x.plan.job[1].why, "its speed is not known"));
	/* It sleeps much: that is known of any, and its idle time is lent. */
	ck_assert_int_eq(w.x.plan.job[1].role, ROLE_DONOR);
	ck_assert_int_eq(w.x.plan.job[0].role, ROLE_DONEE);
	small_node_close(&w.x);
}
END_TEST

START_TEST(the_next_of_a_program_begins_where_the_last_was)
{
	static const char *const again[] = {"again0", "again1"};
	struct world w;
	int cores;

	two_unlike(&w, "auto");
	go_on(&w, 60);
	cores = cores_of(&w, 0);
	ck_assert_int_gt(cores, 8);
	/* Both end, and are begun again: new ids, nothing known but the type. */
	for (int i = 0; i < 2; i++) {
		snprintf(w.x.id[i], sizeof(w.x.id[i]), "%s", again[i]);
		coreset_zero(&w.x.job[i].current);
		w.x.job[i].sample_no = 0;
		memset(w.x.job[i].signal, 0, sizeof(w.x.job[i].signal));
	}
	small_node_decide(&w.x);
	ck_assert_int_eq(cores_of(&w, 0), cores);
	small_node_close(&w.x);
}
END_TEST

/*
 * One that is fastest on a few cores, and busy on all it has: nothing but trying shows it. As
 * SBMP's streamcluster (PACT 2012, section 2), fastest on six.
 */
static int cores_of_the_slowed(const char *spec, double s, const struct speed_point *stored, int n)
{
	struct world w;
	int cores;

	open_world(&w, "core:16", spec, 2);
	w.noise = 0.02;
	w.program[0] = (struct program){.type = "even", .serial = 0.05, .shows_speed = true};
	w.program[1] = (struct program){
		.type = "slowed", .serial = 0.1, .slows = 0.025, .shows_speed = true};
	w.x.job[1].speed = stored;
	w.x.job[1].n_speed = n;
	go_on(&w, s);
	cores = cores_of(&w, 1);
	small_node_close(&w.x);
	return cores;
}

START_TEST(what_earlier_runs_showed_is_not_learnt_again)
{
	/* In a unit of their own. */
	static const struct speed_point stored[] = {{2, 1702}, {4, 2388}, {8, 2443}, {16, 1802}};

	int cores = cores_of_the_slowed("auto,trials=no,lend=no", 5, stored, 4);

	/* It is quickest on 6. That it sleeps a lot may be as well on fewer or on more. */
	ck_assert_int_ge(cores, 5);
	ck_assert_int_le(cores, 7);
	cores = cores_of_the_slowed("auto,trials=no,lend=no", 5, NULL, 0);
	ck_assert(cores < 5 || cores > 7);
}
END_TEST

START_TEST(a_trial_finds_what_nothing_else_shows)
{
	ck_assert_int_le(cores_of_the_slowed("auto", 120, NULL, 0), 7);
}
END_TEST

/* Cores of the two that scale, beside two on their packages that poll for most of their time. */
static int cores_beside_pollers(const char *spec)
{
	struct world w;
	int cores;

	open_world(&w, "pack:2 core:8", spec, 4);
	w.noise = 0.02;
	for (int i = 0; i < 4; i++)
		w.program[i] =
			i % 2 ? (struct program){.type = "even", .serial = 0.02}
			      : (struct program){.type = "polls", .serial = 0.5, .busy = true};
	for (int i = 0; i < 4; i++)
		w.program[i].shows_speed = true;
	go_on(&w, 60);
	cores = cores_of(&w, 1) + cores_of(&w, 3);
	for (int i = 0; i < 4; i++)
		ck_assert_int_ge(cores_of(&w, i), 3); /* 0.94 of its speed on four */
	small_node_close(&w.x);
	return cores;
}

START_TEST(who_is_busy_need_not_scale)
{
	ck_assert_int_eq(cores_beside_pollers("auto,trials=no"), 8);
	ck_assert_int_eq(cores_beside_pollers("auto"), 10);
}
END_TEST

/* The part of ten minutes in which two that are alike have unlike cores. */
static double part_tried(const char *spec)
{
	struct world w;
	int away = 0, n;

	open_world(&w, "core:16", spec, 2);
	w.noise = 0.01;
	for (int i = 0; i < 2; i++)
		w.program[i] = (struct program){.type = "same", .serial = 0.2, .shows_speed = true};
	for (n = 0; n < 3000; n++) {
		go_on(&w, SAMPLE_S);
		away += cores_of(&w, 0) != 8;
	}
	small_node_close(&w.x);
	return (double)away / n;
}

/* 3.6 s at first, and 1 % of the time; nothing found, so that it goes back each time. */
START_TEST(trials_take_no_more_than_their_part_of_the_time)
{
	double part = part_tried("auto,sure=10,h=0.0005");

	ck_assert_double_gt(part, 0);
	ck_assert_double_le(part, 0.01 + 3.6 / 600 + 0.001);
	ck_assert_double_eq(part_tried("auto,sure=10,h=0.0005,trials=no"), 0);
}
END_TEST

/* What is a phase's is not taken for the other's: by utilisation on as many cores. */
START_TEST(phases_are_told_apart_by_how_busy_they_are)
{
	struct world w;
	double least = 16;

	open_world(&w, "core:16", "auto", 2);
	w.program[0] = (struct program){.type = "even", .shows_speed = true};
	w.program[1] = (struct program){.type = "two phases",
		.serial = 0.5,
		.shows_speed = true,
		.period_s = 40,
		.other_serial = 0};
	w.noise = 0.02;
	go_on(&w, 200);
	/* In the phase that scales as well as the other job both have the same again. */
	go_on(&w, 4);
	for (int t = 0; t < 150; t++) {
		go_on(&w, SAMPLE_S);
		if (fmod(w.x.v.now_s, 80) >= 50)
			least = fmin(least, cores_of(&w, 1));
	}
	ck_assert_double_ge(least, 6);
	small_node_close(&w.x);
}
END_TEST

/* What job 0 leaves of its cores in 20 s in which it reads, core-seconds. */
static double left_by_a_reader(struct world *w, double qos)
{
	double left = 0;

	open_world(w, "core:16", "auto,trials=no,lend=no", 2);
	w->program[0] = (struct program){.type = "reads",
		.serial = 0.02,
		.shows_speed = true,
		.period_s = 20,
		.reads = true};
	w->program[1] = (struct program){.type = "computes", .serial = 0.02, .shows_speed = true};
	w->x.job[0].qos = qos;
	go_on(w, 60);
	for (double until = w->x.v.now_s + 20; w->x.v.now_s < until;) {
		go_on(w, SAMPLE_S);
		left += (cores_of(w, 1) - 8) * SAMPLE_S;
	}
	return left;
}

START_TEST(who_reads_gives_its_cores_until_it_computes_again)
{
	struct world w;

	/* Of 7 cores for 20 s. */
	ck_assert_double_ge(left_by_a_reader(&w, 0), 0.75 * 7 * 20);
	go_on(&w, 1);
	ck_assert_int_ge(cores_of(&w, 0), 7);
	small_node_close(&w.x);
}
END_TEST

START_TEST(who_asked_for_a_floor_keeps_its_cores_while_it_reads)
{
	struct world w;

	ck_assert_double_le(left_by_a_reader(&w, 0.9), 20);
	small_node_close(&w.x);
}
END_TEST

/* A glance at a file is not worth the way. */
START_TEST(who_reads_for_a_moment_keeps_its_cores)
{
	struct world w;

	open_world(&w, "core:16", "auto,trials=no,lend=no", 2);
	for (int i = 0; i < 2; i++)
		w.program[i] = (struct program){
			.type = i ? "computes" : "reads", .serial = 0.02, .shows_speed = true};
	w.program[0].period_s = 0.8;
	w.program[0].reads = true;
	go_on(&w, 60);
	ck_assert_int_le(w.moves, 4);
	small_node_close(&w.x);
}
END_TEST

/* Caches are cold after a move: nobody is below his floor for that. */
START_TEST(what_was_just_moved_is_no_reason_to_move_back)
{
	struct world w;

	two_unlike(&w, "auto,trials=no");
	w.cold = 2;
	/* Floors are looked at by now. */
	w.program[0].shows_speed = w.program[1].shows_speed = false;
	go_on(&w, 3);
	w.program[0].shows_speed = w.program[1].shows_speed = true;
	go_on(&w, 60);
	ck_assert_int_ge(cores_of(&w, 0), 10);
	ck_assert_int_le(w.moves, 2);
	small_node_close(&w.x);
}
END_TEST

/* --- clusters of the cache */

/* Two that are alike but for what the cache does for them, and ways of their own. */
static void two_in_clusters(struct world *w, const char *spec, double first, double second)
{
	open_world(w, "pack:1 core:16", spec, 2);
	w->noise = 0.02;
	w->x.v.cache_ways = 20;
	w->x.plan.want_explain = true;
	w->program[0] = (struct program){.type = "little",
		.serial = 0.05,
		.shows_speed = true,
		.misses = 0.1,
		.walled = first};
	w->program[1] = (struct program){.type = "much",
		.serial = 0.05,
		.shows_speed = true,
		.misses = 0.8,
		.walled = second};
}

START_TEST(clusters_are_set_where_they_are_seen_to_pay)
{
	struct world w;

	two_in_clusters(&w, "auto,trials=no", 1.08, 0.99);
	go_on(&w, 60);
	ck_assert_int_eq(w.x.plan.n_clusters, 2);
	ck_assert_int_eq(w.x.plan.job[0].cluster, 0);
	ck_assert_int_eq(w.x.plan.job[1].cluster, 1);
	ck_assert_double_ge(w.walled_s, 50);
	ck_assert_ptr_nonnull(strstr(w.x.plan.explain, "they pay"));
	small_node_close(&w.x);
}
END_TEST

/* The next job has the place of the one before, and its own clusters. */
START_TEST(clusters_are_set_again_when_a_program_is_run_again)
{
	struct world w;

	two_in_clusters(&w, "auto,trials=no", 1.08, 0.99);
	go_on(&w, 30);
	ck_assert_int_eq(w.x.plan.n_clusters, 2);
	snprintf(w.x.id[1], sizeof(w.x.id[1]), "again");
	w.x.job[1].order = 7;
	w.x.job[1].sample_no = 0;
	memset(w.x.job[1].signal, 0, sizeof(w.x.job[1].signal));
	coreset_zero(&w.x.job[1].current);
	small_node_decide(&w.x);
	for (int i = 0; i < 150; i++) {
		go_on(&w, SAMPLE_S);
		/* What they are worth is always a number. */
		ck_assert_ptr_null(strstr(w.x.plan.explain, "\"gain\": null"));
	}
	ck_assert_int_eq(w.x.plan.n_clusters, 2);
	ck_assert_ptr_nonnull(strstr(w.x.plan.explain, "they pay"));
	small_node_close(&w.x);
}
END_TEST

START_TEST(clusters_that_cost_are_taken_back)
{
	struct world w;

	two_in_clusters(&w, "auto,trials=no", 1.01, 0.95);
	go_on(&w, 100);
	ck_assert_int_eq(w.x.plan.n_clusters, 0);
	/* One trial, and a little. */
	ck_assert_double_gt(w.walled_s, 0);
	ck_assert_double_le(w.walled_s, 3);
	ck_assert_ptr_nonnull(strstr(w.x.plan.explain, "they are not seen to pay"));
	small_node_close(&w.x);
}
END_TEST

/* All together gain much, but one loses what it is to keep. */
START_TEST(clusters_leave_nobody_below_its_floor)
{
	struct world w;

	two_in_clusters(&w, "auto,trials=no", 1.6, 0.7);
	go_on(&w, 60);
	ck_assert_int_eq(w.x.plan.n_clusters, 0);
	/* Tried once, and once more when they had other cores. */
	ck_assert_double_le(w.walled_s, 4);
	small_node_close(&w.x);
}
END_TEST

START_TEST(no_clusters_where_the_node_has_none_to_give)
{
	struct world w;

	two_in_clusters(&w, "auto", 1.08, 1.08);
	w.x.v.cache_ways = 0;
	go_on(&w, 30);
	ck_assert(w.walled_s == 0);
	ck_assert(!w.x.plan.clusters_asked);
	small_node_close(&w.x);
	two_in_clusters(&w, "auto,clusters=0", 1.08, 1.08);
	go_on(&w, 30);
	ck_assert(w.walled_s == 0);
	small_node_close(&w.x);
}
END_TEST

/* --- programs made to fool the model */

/* Each keeps 0.84 of what half of the node would have done for it: its floor, and what it takes to
 * see that it is below. */
static void check_floors(const struct world *w, int n)
{
	for (int i = 0; i < n; i++)
		ck_assert_msg(w->done[i] >= 0.84 * w->would[i], "%s: %.3f of its share",
			w->program[i].type, w->done[i] / w->would[i]);
}

/* When one scales the other does not, and what is learnt is of a second ago. */
START_TEST(phases_against_each_other_leave_both_their_floor)
{
	static const double period_s[] = {0.6, 1, 3, 10};
	struct world w;

	two_unlike(&w, "auto");
	for (int i = 0; i < 2; i++)
		w.program[i] = (struct program){.type = i ? "tock" : "tick",
			.serial = i ? 0 : 0.5,
			.other_serial = i ? 0.5 : 0,
			.shows_speed = true,
			.period_s = period_s[_i]};
	go_on(&w, 240);
	check_floors(&w, 2);
	small_node_close(&w.x);
}
END_TEST

/* It is busy on all it has, and its instructions are those of its waiting. */
START_TEST(one_that_spins_gets_no_more_than_floors_allow)
{
	struct world w;

	two_unlike(&w, "auto");
	w.program[1] =
		(struct program){.type = "spins", .serial = 0.9, .shows_speed = true, .claims = 1};
	w.program[0].serial = 0.02;
	w.x.plan.want_explain = true;
	go_on(&w, 240);
	check_floors(&w, 2);
	ck_assert_ptr_nonnull(strstr(w.x.plan.job[0].why, " of its speed under fair"));
	small_node_close(&w.x);
}
END_TEST

/* With each core more it claims to be faster by far: the others keep theirs all the same. */
START_TEST(one_that_boasts_gets_no_more_than_floors_allow)
{
	struct world w;

	two_unlike(&w, "auto");
	w.program[0].serial = 0.02;
	w.program[1] =
		(struct program){.type = "boasts", .serial = 0.3, .shows_speed = true, .claims = 3};
	go_on(&w, 240);
	check_floors(&w, 2);
	small_node_close(&w.x);
}
END_TEST

/* It claims to stand still on all but its fair share: it has that, and no more, and that is told.
 */
START_TEST(one_that_complains_gets_its_fair_share)
{
	struct world w;
	bool told = false;
	int away = 0;

	two_unlike(&w, "auto");
	w.x.plan.want_explain = true;
	w.program[1].collapses = 0.3;
	for (int t = 0; t < 1200; t++) {
		go_on(&w, SAMPLE_S);
		told |= strstr(w.x.plan.explain, "a job is below its floor") != NULL;
		away += cores_of(&w, 1) != 8;
	}
	ck_assert(told);
	ck_assert_int_le(away, 60);
	check_floors(&w, 2);
	small_node_close(&w.x);
}
END_TEST

/* All that is decided in a minute, as one number. */
static uint64_t digest(const char *scales, const char *hardly, const char *id)
{
	struct world w;
	uint64_t h = 14695981039346656037u;

	open_world(&w, "pack:2 core:8", "auto", 4);
	w.noise = 0.02;
	for (int i = 0; i < 4; i++) {
		w.program[i] = (struct program){.type = i % 2 ? scales : hardly,
			.serial = i % 2 ? 0 : 0.3,
			.shows_speed = true};
		snprintf(w.x.id[i], sizeof(w.x.id[i]), "%s%d", id, i);
	}
	for (int t = 0; t < 300; t++) {
		go_on(&w, SAMPLE_S);
		for (int i = 0; i < 4; i++)
			h = (h ^ w.x.job[i].current.w[0]) * 1099511628211u;
	}
	small_node_close(&w.x);
	return h;
}

START_TEST(the_same_is_decided_again_and_under_other_names)
{
	uint64_t once = digest("scales", "hardly", "j");

	ck_assert_uint_eq(digest("scales", "hardly", "j"), once);
	ck_assert_uint_eq(digest("x", "another", "step."), once);
}
END_TEST

/*
 * All that is decided and told while owner 3's "same" runs beside owner 2's job, after one that is
 * like it in all but name did: @type, of @owner.
 */
static uint64_t digest_after(const char *type, int64_t owner)
{
	struct world w;
	uint64_t h = 14695981039346656037u;

	two_unlike(&w, "auto");
	w.x.plan.want_explain = true;
	w.program[1].type = type;
	w.x.job[0].owner = 2;
	w.x.job[1].owner = owner;
	go_on(&w, 40);
	ck_assert_int_gt(cores_of(&w, 0), 8);
	snprintf(w.x.id[1], sizeof(w.x.id[1]), "next");
	w.x.job[1].type = w.program[1].type = "same";
	w.x.job[1].owner = 3;
	coreset_zero(&w.x.job[1].current);
	w.x.job[1].sample_no = 0;
	memset(w.x.job[1].signal, 0, sizeof(w.x.job[1].signal));
	small_node_decide(&w.x);
	for (int t = 0; t < 200; t++) {
		go_on(&w, SAMPLE_S);
		h = (h ^ w.x.job[0].current.w[0]) * 1099511628211u;
		h = (h ^ w.x.job[1].current.w[0]) * 1099511628211u;
		for (const char *c = w.x.plan.explain; *c; c++)
			h = (h ^ (unsigned char)*c) * 1099511628211u;
		for (const char *c = w.x.plan.job[1].why; *c; c++)
			h = (h ^ (unsigned char)*c) * 1099511628211u;
	}
	small_node_close(&w.x);
	return h;
}

START_TEST(what_is_learnt_of_a_program_is_its_owners)
{
	uint64_t of_another = digest_after("other", 1);

	ck_assert_uint_eq(digest_after("same", 1), of_another);
	ck_assert_uint_ne(digest_after("same", 3), of_another);
}
END_TEST

/* Slices that job @i is in. */
static int slices_of(const struct plan *p, int i)
{
	int n = 0;

	for (int s = 0; s < p->n_slices; s++)
		for (int k = 0; k < p->slice[s].n_jobs; k++)
			n += p->slice[s].job[k] == i;
	return n;
}

START_TEST(of_jobs_that_outnumber_cores_who_came_first_goes_first)
{
	struct world w;
	const struct plan *p = &w.x.plan;
	int first = 0;

	open_world(&w, "core:2", "auto", 4);
	w.x.plan.want_explain = true;
	/* How they wait is not known yet. */
	small_node_decide(&w.x);
	ck_assert_int_eq(p->n_slices, 0);
	for (int i = 0; i < 4; i++)
		w.x.job[i].coupled = true;
	small_node_decide(&w.x);
	ck_assert_int_eq(p->n_slices, 2);
	for (int s = 0; s < 2; s++) {
		ck_assert_int_eq(p->slice[s].n_jobs, 2);
		ck_assert(!coreset_intersects(
			&p->job[p->slice[s].job[0]].coreset, &p->job[p->slice[s].job[1]].coreset));
	}
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(p->job[i].cores, 1);
		ck_assert_int_eq(p->job[i].role, ROLE_GANG);
		ck_assert_int_eq(slices_of(p, i), 1);
	}
	ck_assert_int_eq(p->slice[0].ms, 10000);
	ck_assert_int_lt(p->slice[1].ms, 1000);
	ck_assert(p->slice[0].job[0] == 0 || p->slice[0].job[1] == 0);
	ck_assert(strstr(p->job[0].why, "its cores before the others"));
	/* Only gang has longer slices for some. */
	w.x.job[2].priority_high = true;
	small_node_decide(&w.x);
	ck_assert_int_eq(p->n_slices, 4);
	w.x.job[2].priority_high = false;
	/* What they were seen to be once they are. */
	for (int i = 0; i < 4; i++)
		w.x.job[i].coupled = false;
	/* Half a node twice as long; then the others do, and then nobody. */
	for (int t = 0; t < 60; t++) {
		w.x.v.now_s += 1;
		small_node_decide(&w.x);
		if (t < 15)
			ck_assert_int_eq(p->slice[0].ms, 10000);
		if (p->n_slices == 2 && p->slice[1].ms == 10000)
			first++;
	}
	ck_assert_int_gt(first, 10);
	ck_assert_int_eq(p->n_slices, 0);
	ck_assert_int_eq(p->job[0].role, ROLE_OWNER);
	/* One who comes finds those before it served. Of three, one has a core to itself. */
	w.x.job[3].id = "late";
	w.x.job[3].coupled = true;
	w.x.v.now_s += 1;
	small_node_decide(&w.x);
	ck_assert_int_eq(p->n_slices, 2);
	ck_assert_int_eq(p->slice[p->slice[0].ms == 10000 ? 0 : 1].ms, 10000);
	w.x.job[1] = w.x.job[3];
	w.x.v.n_jobs = 3;
	w.x.v.now_s += 1;
	small_node_decide(&w.x);
	ck_assert_int_eq(slices_of(p, 0) + slices_of(p, 1) + slices_of(p, 2), 2);
	/* Two have a core each, and take no turns. */
	w.x.v.n_jobs = 2;
	w.x.v.now_s += 1;
	small_node_decide(&w.x);
	ck_assert_int_eq(p->n_slices, 0);
	ck_assert(!coreset_intersects(&p->job[0].coreset, &p->job[1].coreset));
	small_node_close(&w.x);
}
END_TEST

/* Of programs that nobody knows the speed of, or who all have one. */
static void open_many(struct world *w, bool speed)
{
	open_world(w, "core:2", "auto", 4);
	for (int i = 0; speed && i < 4; i++)
		w->x.job[i].signal[SIGNAL_PROGRESS] = (struct signal){100, PROVENANCE_CALLS};
	small_node_decide(&w->x);
	ck_assert_int_eq(w->x.plan.n_slices, 0);
	w->x.v.now_s += 3;
	small_node_decide(&w->x);
}

START_TEST(who_may_keep_a_core_while_it_waits_has_the_whole_node)
{
	struct world w;

	/* Nothing says that its threads wait for one another. */
	open_many(&w, false);
	ck_assert_int_eq(w.x.plan.n_slices, 2);
	ck_assert_int_eq(w.x.plan.job[0].cores, 1);
	small_node_close(&w.x);
	open_many(&w, true);
	ck_assert_int_eq(w.x.plan.n_slices, 4);
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(w.x.plan.job[i].role, ROLE_GANG);
		ck_assert_int_eq(w.x.plan.job[i].cores, 2);
	}
	/* Known for long, but not where cores are shared. */
	small_node_close(&w.x);
	open_world(&w, "core:2", "auto", 4);
	w.x.v.n_jobs = 1;
	for (int i = 0; i < 4; i++) {
		w.x.job[i].type = "same";
		w.x.job[i].signal[SIGNAL_PROGRESS] = (struct signal){100, PROVENANCE_CALLS};
	}
	small_node_decide(&w.x);
	w.x.v.now_s += 60;
	w.x.v.n_jobs = 4;
	small_node_decide(&w.x);
	ck_assert_int_eq(w.x.plan.n_slices, 0);
	w.x.v.now_s += 3;
	small_node_decide(&w.x);
	ck_assert_int_eq(w.x.plan.n_slices, 4);
	/* It is what it was seen to be, also while it is frozen and nothing is counted. */
	for (int i = 0; i < 4; i++)
		w.x.job[i].signal[SIGNAL_PROGRESS].provenance = PROVENANCE_NONE;
	w.x.v.now_s += 1;
	small_node_decide(&w.x);
	ck_assert_int_eq(w.x.plan.n_slices, 4);
	/* The last two have as many threads as before. */
	w.x.v.n_jobs = 2;
	w.x.v.now_s += 1;
	small_node_decide(&w.x);
	ck_assert_int_eq(w.x.plan.n_slices, 2);
	ck_assert_int_eq(w.x.plan.job[1].cores, 2);
	w.x.v.n_jobs = 1;
	w.x.v.now_s += 1;
	small_node_decide(&w.x);
	ck_assert_int_eq(w.x.plan.n_slices, 0);
	small_node_close(&w.x);
	/* So have those who all compute in bursts, and nobody goes first. */
	open_world(&w, "core:2", "auto", 4);
	for (int i = 0; i < 4; i++)
		w.x.job[i].bursty = true;
	small_node_decide(&w.x);
	ck_assert_int_eq(w.x.plan.n_slices, 4);
	ck_assert_int_eq(w.x.plan.slice[0].ms, w.x.plan.slice[3].ms);
	small_node_close(&w.x);
}
END_TEST

START_TEST(mpi_that_was_told_to_yield_has_its_part_of_the_cores)
{
	struct world w;

	open_world(&w, "core:2", "auto", 4);
	for (int i = 0; i < 4; i++) {
		w.x.job[i].type = "same";
		w.x.job[i].signal[SIGNAL_PROGRESS] = (struct signal){100, PROVENANCE_CALLS};
		w.x.job[i].yielding = 2;
		/* Its ranks have threads of their own, nobody knows how those wait. */
		w.x.job[i].threads = 4;
		w.x.job[i].runnable = 3.2;
	}
	small_node_decide(&w.x);
	w.x.v.now_s += 3;
	small_node_decide(&w.x);
	ck_assert_int_eq(w.x.plan.n_slices, 4);
	for (int i = 0; i < 4; i++)
		w.x.job[i].runnable = 2;
	w.x.v.now_s += 1;
	small_node_decide(&w.x);
	ck_assert_int_eq(w.x.plan.n_slices, 2);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(w.x.plan.job[i].cores, 1);
	small_node_close(&w.x);
}
END_TEST

/* Their slices are theirs: nobody is before them. */
START_TEST(beside_who_polls_nobody_goes_first)
{
	struct world w;

	open_world(&w, "core:2", "auto", 4);
	for (int i = 0; i < 4; i++) {
		w.x.job[i].coupled = true;
		w.x.job[i].polling = i == 0 ? 2 : 0;
	}
	small_node_decide(&w.x);
	ck_assert_int_eq(w.x.plan.n_slices, 2);
	for (int s = 0; s < 2; s++)
		ck_assert_int_lt(w.x.plan.slice[s].ms, 1000);
	small_node_close(&w.x);
}
END_TEST

START_TEST(who_has_little_to_do_takes_no_turns)
{
	struct world w;

	/* One that has other threads, but something to do for one only. */
	open_world(&w, "core:2", "auto", 4);
	for (int i = 0; i < 4; i++) {
		w.x.job[i].runnable = i == 2 ? 1.1 : 1.6;
		w.x.job[i].coupled = true;
	}
	small_node_decide(&w.x);
	ck_assert_int_eq(w.x.plan.slice[0].ms, w.x.plan.slice[1].ms); /* fair's turns */
	w.x.job[2].runnable = 1.6;
	w.x.v.now_s += 1;
	small_node_decide(&w.x);
	ck_assert_int_eq(w.x.plan.slice[0].ms, 10000);
	/* A moment of less ends none. */
	w.x.job[2].runnable = 1.2;
	w.x.v.now_s += 1;
	small_node_decide(&w.x);
	ck_assert_int_eq(w.x.plan.slice[0].ms, 10000);
	w.x.job[2].runnable = 1;
	w.x.v.now_s += 1;
	small_node_decide(&w.x);
	ck_assert_int_lt(w.x.plan.slice[0].ms, 10000);
	small_node_close(&w.x);
	/* One that has a single thread. */
	open_many(&w, false);
	w.x.job[2].threads = 1;
	w.x.v.now_s += 1;
	small_node_decide(&w.x);
	ck_assert_int_eq(w.x.plan.n_slices, 0);
	small_node_close(&w.x);
}
END_TEST

/* Of the third job, as an imported profile or a program that reports its work may have them. */
static const struct absurd {
	double instructions, bytes, misses;
} absurd[] = {
	{1e308, 1e308, 1e308},
	{1e-300, 1e15, 1},
	{1e-300, 1, 1e15},
	{5e-324, 0, 1e15},
	{1e9, 1e15, 1e15},
	{1e9, 5e-324, 5e-324},
	{1e-30, 1e15, 1e15},
};

START_TEST(absurd_figures_are_their_jobs_alone)
{
	const struct absurd *a = &absurd[_i];
	struct world w;

	open_world(&w, "core:16", "auto", 3);
	w.x.plan.want_explain = true;
	for (int i = 0; i < 3; i++)
		w.program[i] = (struct program){.type = i == 2 ? "absurd"
							: i    ? "hardly"
							       : "scales",
			.serial = i == 1 ? 0.4 : 0,
			.shows_speed = i < 2};
	for (int t = 0; t < 200; t++) {
		struct signal *s = w.x.job[2].signal;

		s[SIGNAL_INSTRUCTIONS] = (struct signal){a->instructions, PROVENANCE_HW};
		s[SIGNAL_MEM_BYTES] = (struct signal){a->bytes, PROVENANCE_HW};
		s[SIGNAL_LLC_MISSES] = (struct signal){a->misses, PROVENANCE_HW};
		s[SIGNAL_LLC_REFS] = (struct signal){a->misses, PROVENANCE_HW};
		s[SIGNAL_LOADS] = (struct signal){1e9, PROVENANCE_HW};
		go_on(&w, SAMPLE_S);
		ck_assert(isfinite(w.x.plan.score));
	}
	ck_assert_int_gt(cores_of(&w, 0), cores_of(&w, 1));
	small_node_close(&w.x);
}
END_TEST

START_TEST(explain_ranks_the_proposals)
{
	struct world w;

	two_unlike(&w, "auto");
	w.x.plan.want_explain = true;
	go_on(&w, 20);
	ck_assert_ptr_nonnull(
		strstr(w.x.plan.explain, "\"proposals\": {\"runs\": {\"predicted\": "));
	ck_assert_ptr_nonnull(strstr(w.x.plan.explain, "\"fair\": {\"predicted\": 1, "));
	ck_assert_ptr_nonnull(strstr(w.x.plan.explain, "\"exact\": "));
	ck_assert_ptr_nonnull(strstr(w.x.plan.job[0].why, "(fair 8), predicted 1."));
	small_node_close(&w.x);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("auto");
	TCase *deals = tcase_create("cores go where they are worth something, above each floor");
	TCase *stays = tcase_create("what runs stays unless the gain is sure to pay for the move");
	TCase *blind = tcase_create("without speeds it goes by what is always known");
	TCase *walls = tcase_create("clusters of the cache are set where they are seen to pay");
	TCase *fools = tcase_create("who fools the model takes nothing from the others' floors");
	TCase *pure = tcase_create("the same views, the same plans");
	SRunner *r = srunner_create(suite);
	int failed;

	tcase_set_timeout(deals, 60);
	tcase_set_timeout(pure, 60);
	tcase_add_test(deals, cores_go_where_they_are_worth_something);
	tcase_add_test(deals, nobody_is_dealt_less_than_its_floor);
	tcase_add_test(deals, whom_a_loan_takes_below_its_floor_lends_no_more);
	tcase_add_test(deals, a_minimum_of_cores_is_kept);
	tcase_add_test(deals, the_next_of_a_program_begins_where_the_last_was);
	tcase_add_test(deals, what_earlier_runs_showed_is_not_learnt_again);
	tcase_add_test(deals, a_trial_finds_what_nothing_else_shows);
	tcase_add_test(deals, who_is_busy_need_not_scale);
	tcase_add_test(deals, who_reads_gives_its_cores_until_it_computes_again);
	tcase_add_test(deals, who_asked_for_a_floor_keeps_its_cores_while_it_reads);
	tcase_add_test(deals, who_reads_for_a_moment_keeps_its_cores);
	tcase_add_test(deals, phases_are_told_apart_by_how_busy_they_are);
	tcase_add_test(stays, trials_take_no_more_than_their_part_of_the_time);
	tcase_set_timeout(stays, 60);
	tcase_add_test(stays, alike_stay_where_they_are);
	tcase_add_test(stays, two_of_many_exchange_cores_as_two_alone_do);
	tcase_add_test(stays, a_gain_that_is_not_sure_moves_nobody);
	tcase_add_test(stays, what_was_just_moved_is_no_reason_to_move_back);
	tcase_add_test(stays, moves_are_as_far_apart_as_was_asked_for);
	tcase_add_test(blind, without_a_speed_nobody_gives_or_takes);
	tcase_add_test(blind, of_jobs_that_outnumber_cores_who_came_first_goes_first);
	tcase_add_test(blind, who_may_keep_a_core_while_it_waits_has_the_whole_node);
	tcase_add_test(blind, mpi_that_was_told_to_yield_has_its_part_of_the_cores);
	tcase_add_test(blind, beside_who_polls_nobody_goes_first);
	tcase_add_test(blind, who_has_little_to_do_takes_no_turns);
	tcase_add_test(pure, the_same_is_decided_again_and_under_other_names);
	tcase_add_test(pure, what_is_learnt_of_a_program_is_its_owners);
	tcase_add_test(pure, explain_ranks_the_proposals);
	suite_add_tcase(suite, deals);
	suite_add_tcase(suite, stays);
	suite_add_tcase(suite, blind);
	tcase_set_timeout(walls, 60);
	tcase_add_test(walls, clusters_are_set_where_they_are_seen_to_pay);
	tcase_add_test(walls, clusters_are_set_again_when_a_program_is_run_again);
	tcase_add_test(walls, clusters_that_cost_are_taken_back);
	tcase_add_test(walls, clusters_leave_nobody_below_its_floor);
	tcase_add_test(walls, no_clusters_where_the_node_has_none_to_give);
	tcase_set_timeout(fools, 60);
	tcase_add_loop_test(fools, phases_against_each_other_leave_both_their_floor, 0, 4);
	tcase_add_test(fools, one_that_spins_gets_no_more_than_floors_allow);
	tcase_add_test(fools, one_that_boasts_gets_no_more_than_floors_allow);
	tcase_add_loop_test(fools, absurd_figures_are_their_jobs_alone, 0,
		(int)(sizeof(absurd) / sizeof(absurd[0])));
	tcase_add_test(fools, one_that_complains_gets_its_fair_share);
	suite_add_tcase(suite, walls);
	suite_add_tcase(suite, fools);
	suite_add_tcase(suite, pure);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
