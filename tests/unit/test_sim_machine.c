/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/sim/run.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/sim/rng.h"

static struct topo *topo;
static struct machine machine;

static void set_up_machine(const char *topology, enum numa_mode numa)
{
	struct machine_params p;
	struct errbuf err = {""};

	machine_defaults(&p);
	p.llc_bytes = 20e6;
	p.numa = numa;
	ck_assert_msg(topo_load(&topo, topology, &err) == 0, "%s", err.text);
	ck_assert_int_eq(machine_init(&machine, topo, &p, &err), 0);
}

static void set_up(void)
{
	set_up_machine("pack:2 core:8 pu:1", NUMA_FOLLOW);
}

static void tear_down(void)
{
	machine_done(&machine);
	topo_free(topo);
}

static struct program make(const char *name)
{
	struct program p = {.n_phases = 1};

	snprintf(p.name, sizeof(p.name), "%s", name);
	phase_init(&p.phase[0]);
	return p;
}

static struct program make_stream(void)
{
	struct program p = make("stream");

	p.phase[0].refs = 0.1;
	p.phase[0].miss_lo = p.phase[0].miss_hi = 1;
	p.phase[0].mlp = 100;
	p.phase[0].cpi = 0.5;
	return p;
}

static void random_program(struct rng *r, struct program *p)
{
	struct phase *f = &p->phase[0];

	*p = make("random");
	f->alpha = rng_uniform(r, 0, 0.2);
	f->gamma = rng_uniform(r, 0, 0.002);
	f->beta = 1 - f->alpha - f->gamma;
	f->cpi = rng_uniform(r, 0.4, 1.5);
	f->refs = rng_log_uniform(r, 1e-4, 0.05);
	f->miss_lo = rng_uniform(r, 0, 0.3);
	f->miss_hi = rng_uniform(r, 0.3, 1);
	f->working_set_bytes = rng_log_uniform(r, 1e5, 1e8);
	f->mlp = rng_uniform(r, 1, 8);
	f->sync = rng_uniform(r, 0, 1);
	f->comm = rng_uniform(r, 0, 0.5);
	f->wait = rng_uniform(r, 0, 1);
}

/* Solves one placement of single-phase programs. */
static void solve(const struct program *p, const struct place *place, int n, struct solve_out *out)
{
	struct layout l;
	struct solver *s;
	struct solve_in in[8];

	ck_assert_int_eq(layout_init(&l, &machine, n, NULL), 0);
	ck_assert_int_eq(solver_create(&s, &machine, n, NULL), 0);
	layout_set(&l, place, n);
	for (int i = 0; i < n; i++)
		in[i] = (struct solve_in){&p[i], 0, 16, NULL};
	solver_run(s, &l, in, out);
	for (int c = 0; c < machine.n_caches; c++) {
		double held = 0;

		for (int i = 0; i < n; i++)
			held += solver_occupancy(s, i, c);
		ck_assert_double_le(held, machine.llc_bytes * (1 + 1e-5));
	}
	ck_assert_int_lt(solver_iterations(s), 200);
	solver_free(s);
	layout_done(&l);
}

static struct place on(unsigned int first, unsigned int last)
{
	struct place p = {.active = true};

	coreset_add_range(&p.own, first, last);
	return p;
}

START_TEST(compute_only_matches_amdahl_with_overhead)
{
	struct program p = make("p");
	struct place place = on(0, 3);
	struct solve_out out;

	p.phase[0].alpha = 0.1;
	p.phase[0].beta = 0.88;
	p.phase[0].gamma = 0.02;
	p.phase[0].cpi = 0.8;
	solve(&p, &place, 1, &out);
	ck_assert_double_eq_tol(out.instr_per_s, 2.2e9 / 0.8 / (0.1 + 0.88 / 4 + 0.02 * 4), 1);
}
END_TEST

START_TEST(memory_part_matches_cpi_formula)
{
	struct program p = make("p");
	struct place place = on(0, 0);
	struct solve_out out;
	double cpi;

	/* One core with a miss every 1000 instructions does not load the memory. */
	p.phase[0].refs = 0.001;
	p.phase[0].miss_lo = p.phase[0].miss_hi = 1;
	p.phase[0].mlp = 2;
	solve(&p, &place, 1, &out);
	cpi = 1 + 0.001 * 85e-9 * 2.2e9 / 2;
	ck_assert_double_eq_tol(out.instr_per_s / (2.2e9 / cpi), 1, 1e-4);
}
END_TEST

START_TEST(two_streams_get_half_the_bandwidth_each)
{
	struct program p[2] = {make_stream(), make_stream()};
	struct place place[2] = {on(0, 3), on(4, 7)};
	struct solve_out out[2];

	solve(p, place, 2, out);
	for (int i = 0; i < 2; i++)
		ck_assert_double_eq_tol(out[i].bytes_per_s / (38e9 / 2), 1, 0.03);
	place[1] = on(8, 11);
	solve(p, place, 2, out);
	ck_assert_double_gt(out[1].bytes_per_s, 1.2 * 38e9 / 2);
}
END_TEST

START_TEST(remote_memory_is_slower)
{
	struct program p = make_stream();
	struct run_spec spec = {.program = &p, .threads = 4};
	struct place place = on(0, 3);
	struct run *r;
	double local, remote;
	int who;

	p.phase[0].mlp = 2;
	tear_down();
	set_up_machine("pack:2 core:8 pu:1", NUMA_STICKY);
	ck_assert_int_eq(run_create(&r, &machine, &spec, 1, NULL), 0);
	run_place(r, &place, NULL, 0);
	run_advance(r, 0.5, &who);
	local = run_rates(r)->instr_per_s;
	place = on(8, 11);
	run_place(r, &place, NULL, 0);
	remote = run_rates(r)->instr_per_s;
	ck_assert_double_gt(local, 1.05 * remote);

	/* A new process touches its pages where it now is, placed anew or not. */
	run_advance(r, 100, &who);
	ck_assert_int_eq(r->job[0].runs, 1);
	run_advance(r, r->now_s + 0.2, &who);
	ck_assert_double_eq_tol(run_rates(r)->instr_per_s / local, 1, 1e-6);
	place = on(0, 3);
	run_place(r, &place, NULL, 0);
	ck_assert_double_eq_tol(run_rates(r)->instr_per_s / remote, 1, 1e-6);
	run_free(r);
}
END_TEST

START_TEST(random_programs_hold_invariants)
{
	struct rng r;
	struct program p[6], q[6];
	struct place place[6];
	struct solve_out out[6], turned[6];
	double busy = 0;

	rng_init(&r, 7, (uint64_t)_i);
	for (int i = 0; i < 6; i++) {
		random_program(&r, &p[i]);
		/* Three partitions and a pool of three. */
		place[i] =
			i < 3 ? on((unsigned int)(4 * i), (unsigned int)(4 * i + 3)) : on(12, 15);
	}
	solve(p, place, 6, out);
	for (int i = 0; i < 6; i++) {
		ck_assert(isfinite(out[i].instr_per_s) && out[i].instr_per_s > 0);
		busy += out[i].busy;
	}
	/* Work conservation: no more core time than cores. */
	ck_assert_double_le(busy, 16 + 1e-9);

	/* Names of jobs and sockets mean nothing: reverse both. */
	for (int i = 0; i < 6; i++) {
		struct coreset *own = &place[5 - i].own;

		q[5 - i] = p[i];
		*own = (i < 3 ? on((unsigned int)(12 - 4 * i), (unsigned int)(15 - 4 * i))
			      : on(0, 3))
			       .own;
	}
	solve(q, place, 6, turned);
	for (int i = 0; i < 6; i++)
		ck_assert_double_eq_tol(turned[5 - i].instr_per_s / out[i].instr_per_s, 1, 1e-4);
}
END_TEST

START_TEST(sharing_by_time_costs_what_the_penalties_say)
{
	struct program p[2] = {make("a"), make("b")};
	struct place place[2] = {on(0, 15), on(0, 15)};
	struct solve_out out[2];

	p[0].phase[0].sync = 1;
	solve(p, place, 2, out);
	/* Two programs of 16 threads on 16 cores: half each, 2 runnable threads per core. */
	ck_assert_double_eq_tol(out[0].instr_per_s, 8 * 2.2e9 / 1.02 / 1.3, 1e3);
	ck_assert_double_eq_tol(out[1].instr_per_s, 8 * 2.2e9 / 1.02, 1e3);
	place[1].active = false;
	solve(p, place, 2, out);
	ck_assert_double_eq_tol(out[0].instr_per_s, 16 * 2.2e9, 1e3);
}
END_TEST

START_TEST(donee_runs_in_the_idle_time_of_its_donor)
{
	struct program p[2] = {make("donor"), make("donee")};
	struct place place[2] = {on(0, 7), on(8, 15)};
	struct solve_out alone[2], lent[2];

	p[0].phase[0].alpha = 0.2;
	p[0].phase[0].beta = 0.8;
	p[0].phase[0].wait = 1;
	solve(p, place, 2, alone);
	ck_assert_double_lt(alone[0].utilization, 0.5);
	place[1].n_lent = 1;
	place[1].lent[0].donor = 0;
	place[1].lent[0].coreset = place[0].own;
	solve(p, place, 2, lent);
	ck_assert_double_eq(lent[0].instr_per_s, alone[0].instr_per_s);
	ck_assert_double_eq_tol(lent[1].width, 8 + 0.65 * 8 * (1 - alone[0].utilization), 1e-9);
	ck_assert_double_gt(lent[1].instr_per_s, 1.3 * alone[1].instr_per_s);
	ck_assert_double_le(lent[0].busy + lent[1].busy, 16);
}
END_TEST

START_TEST(siblings_give_a_quarter_more)
{
	struct program p = make("p");
	struct place place;
	struct solve_out one, both;

	tear_down();
	set_up_machine("pack:1 core:4 pu:2", NUMA_FOLLOW);
	place = (struct place){.active = true, .own = topo->all};
	solve(&p, &place, 1, &both);
	coreset_zero(&place.own);
	for (int i = 0; i < 4; i++)
		coreset_add(&place.own, (unsigned int)coreset_next(&topo->core[i].pus, 0));
	solve(&p, &place, 1, &one);
	ck_assert_double_eq_tol(both.instr_per_s / one.instr_per_s, 2 / 1.6, 1e-6);
}
END_TEST

START_TEST(solo_on_a_quarter_takes_as_long_as_scalability_says)
{
	struct program p = make("p");
	struct run_spec spec[4];
	struct run *r;

	p.phase[0].alpha = 0.05;
	p.phase[0].beta = 0.95;
	p.phase[0].seconds = 10;
	for (int i = 0; i < 4; i++)
		spec[i] = (struct run_spec){.program = &p};
	ck_assert_int_eq(run_create(&r, &machine, spec, 4, NULL), 0);
	ck_assert_double_eq_tol(r->job[0].phase_all_s[0], 10, 1e-9);
	ck_assert_double_eq_tol(r->job[0].phase_best_s[0], 10, 1e-9);
	ck_assert_double_eq_tol(
		r->job[0].phase_share_s[0], 10 * (0.05 + 0.95 / 4) / (0.05 + 0.95 / 16), 1e-6);
	run_free(r);
}
END_TEST

START_TEST(gang_slices_divide_the_time)
{
	struct program p = make("p");
	struct run_spec spec[2] = {{.program = &p}, {.program = &p}};
	struct place place[2] = {on(0, 15), on(0, 15)};
	const bool first[2] = {true, false}, second[2] = {false, true};
	struct run_slice slice[2] = {{first, 0.1}, {second, 0.3}};
	struct run *r;
	const struct solve_out *o;

	ck_assert_int_eq(run_create(&r, &machine, spec, 2, NULL), 0);
	run_place(r, place, slice, 2);
	o = run_rates(r);
	ck_assert_double_eq_tol(o[0].instr_per_s, 16 * 2.2e9 * (0.1 - 0.003) / 0.4, 1e3);
	ck_assert_double_eq_tol(o[1].instr_per_s, 16 * 2.2e9 * (0.3 - 0.003) / 0.4, 1e3);
	run_free(r);
}
END_TEST

START_TEST(clock_stops_at_phase_ends_and_charges_moves)
{
	struct program p = make("p");
	struct run_spec spec = {.program = &p, .runs = 2};
	struct place place = on(0, 7);
	struct run *r;
	int who;

	p.n_phases = 2;
	p.phase[0].seconds = 4;
	p.phase[1] = p.phase[0];
	p.phase[1].io = true;
	p.phase[1].seconds = 3;
	ck_assert_int_eq(run_create(&r, &machine, &spec, 1, NULL), 0);
	run_place(r, &place, NULL, 0);
	ck_assert_int_eq(run_advance(r, 100, &who), RUN_PHASE);
	ck_assert_double_eq_tol(r->now_s, 8, 1e-9); /* half the cores */
	ck_assert_int_eq(run_advance(r, 100, &who), RUN_ENDED);
	ck_assert_double_eq_tol(r->now_s, 11, 1e-9);
	ck_assert_int_eq(run_advance(r, 12, &who), RUN_UNTIL);
	place = on(8, 15);
	run_place(r, &place, NULL, 0);
	ck_assert_int_eq(r->moves, 1);
	/* 150 ms at half speed. */
	ck_assert_int_eq(run_advance(r, 100, &who), RUN_PHASE);
	ck_assert_double_eq_tol(r->now_s, 19 + 0.075, 1e-9);
	ck_assert_int_eq(run_advance(r, 100, &who), RUN_ENDED);
	ck_assert(run_is_over(r, 0));
	ck_assert_int_eq(run_advance(r, 100, &who), RUN_UNTIL);
	run_free(r);
}
END_TEST

/* A hog beside one that lives in the cache: its own ways give the latter its speed back. */
START_TEST(ways_keep_a_hog_out)
{
	struct program p[2] = {make("lover"), make_stream()};
	struct place place[2] = {on(0, 3), on(4, 7)};
	struct solve_out open[2], split[2], alone;

	p[0].phase[0].refs = 0.02;
	p[0].phase[0].miss_lo = 0.01;
	p[0].phase[0].miss_hi = 0.9;
	p[0].phase[0].working_set_bytes = 6e6;
	p[1].phase[0].working_set_bytes = 60e6;
	solve(p, place, 1, &alone);
	solve(p, place, 2, open);
	place[0].levers.ways = 0xffff0; /* 16 of 20 */
	place[1].levers.ways = 0x0000f;
	solve(p, place, 2, split); /* checks that no cache holds more than it has */
	ck_assert_double_lt(open[0].instr_per_s, 0.9 * alone.instr_per_s);
	ck_assert_double_gt(split[0].instr_per_s, 1.05 * open[0].instr_per_s);
	ck_assert_double_le(split[0].instr_per_s, alone.instr_per_s * (1 + 1e-6));
	/* Ways in common are fought for as before. */
	place[1].levers.ways = 0xfffff;
	solve(p, place, 2, split);
	ck_assert_double_lt(split[0].instr_per_s, open[0].instr_per_s);
}
END_TEST

START_TEST(same_ways_for_all_are_a_smaller_cache)
{
	struct program p[2];
	struct place place[2] = {on(0, 3), on(4, 7)};
	struct solve_out few[2], small[2];
	struct rng r;

	rng_init(&r, 5, 5);
	random_program(&r, &p[0]);
	random_program(&r, &p[1]);
	place[0].levers.ways = place[1].levers.ways = 0x3ff; /* 10 of 20 */
	solve(p, place, 2, few);
	place[0].levers.ways = place[1].levers.ways = 0;
	machine.llc_bytes /= 2;
	solve(p, place, 2, small);
	machine.llc_bytes *= 2;
	for (int i = 0; i < 2; i++)
		ck_assert_double_eq_tol(few[i].instr_per_s / small[i].instr_per_s, 1, 1e-6);
}
END_TEST

START_TEST(bandwidth_is_held_to_the_part_set)
{
	struct program p[2] = {make_stream(), make_stream()};
	struct place place[2] = {on(0, 3), on(4, 7)};
	struct solve_out free_run[2], held[2];

	solve(p, place, 2, free_run);
	place[0].levers.bandwidth = 0.2;
	solve(p, place, 2, held);
	ck_assert_double_le(held[0].bytes_per_s, 0.2 * 38e9 * 1.001);
	ck_assert_double_ge(held[0].bytes_per_s, 0.2 * 38e9 * 0.98);
	/* The other one gets what is left. */
	ck_assert_double_gt(held[1].bytes_per_s, 1.2 * free_run[1].bytes_per_s);
}
END_TEST

START_TEST(clock_moves_computing_more_than_waiting)
{
	struct program p[2] = {make("compute"), make_stream()};
	struct place place = on(0, 3);
	struct solve_out full, slow;

	solve(&p[0], &place, 1, &full);
	place.levers.clock = 0.5;
	solve(&p[0], &place, 1, &slow);
	ck_assert_double_eq_tol(slow.instr_per_s / full.instr_per_s, 0.5, 1e-9);
	place.levers.clock = 0;
	solve(&p[1], &place, 1, &full);
	place.levers.clock = 0.5;
	solve(&p[1], &place, 1, &slow);
	ck_assert_double_gt(slow.instr_per_s / full.instr_per_s, 0.55);
}
END_TEST

START_TEST(unsound_programs_are_refused_by_name)
{
	struct program p = make("odd");
	struct run_spec spec = {.program = &p};
	struct errbuf err = {""};
	struct run *r;

	p.phase[0].alpha = 0.5;
	ck_assert_int_ne(run_create(&r, &machine, &spec, 1, &err), 0);
	ck_assert_str_eq(err.text, "program 'odd': phase 0: alpha + beta + gamma is 1.5, not 1");
}
END_TEST

static void add(Suite *s, const char *behaviour, const TTest *test, int n)
{
	TCase *tc = tcase_create(behaviour);

	tcase_add_checked_fixture(tc, set_up, tear_down);
	if (n > 0)
		tcase_add_loop_test(tc, test, 0, n);
	else
		tcase_add_test(tc, test);
	suite_add_tcase(s, tc);
}

int main(void)
{
	Suite *s = suite_create("sim_machine");
	SRunner *sr;
	int failed;

	add(s, "V3: one program alone follows the closed form",
		compute_only_matches_amdahl_with_overhead, 0);
	add(s, "V3: a miss costs latency over overlap", memory_part_matches_cpi_formula, 0);
	add(s, "V4: two streams on one socket share its bandwidth",
		two_streams_get_half_the_bandwidth_each, 0);
	add(s, "pages left behind are far away", remote_memory_is_slower, 0);
	add(s, "V6, V7, V8: caches and cores are never overbooked, names mean nothing",
		random_programs_hold_invariants, 50);
	add(s, "sharing by time costs what the penalties say",
		sharing_by_time_costs_what_the_penalties_say, 0);
	add(s, "a donee takes idle time only", donee_runs_in_the_idle_time_of_its_donor, 0);
	add(s, "two threads of a core give a quarter more", siblings_give_a_quarter_more, 0);
	add(s, "V5: a quarter of the machine takes its time",
		solo_on_a_quarter_takes_as_long_as_scalability_says, 0);
	add(s, "gang slices divide the time", gang_slices_divide_the_time, 0);
	add(s, "time jumps from event to event", clock_stops_at_phase_ends_and_charges_moves, 0);
	add(s, "cache ways belong to whom they are given", ways_keep_a_hog_out, 0);
	add(s, "cache ways are cache", same_ways_for_all_are_a_smaller_cache, 0);
	add(s, "bandwidth can be held", bandwidth_is_held_to_the_part_set, 0);
	add(s, "clocks can be lowered", clock_moves_computing_more_than_waiting, 0);
	add(s, "an unsound program is refused", unsound_programs_are_refused_by_name, 0);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
