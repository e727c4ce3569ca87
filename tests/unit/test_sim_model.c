/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/sim/model.h"
#include "nodesvc/sim/population.h"
#include "tests/unit/tmpdir.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char good[] =
	"schema: 1\n"
	"name: x\n"
	"program: 'it''s a program'\n"
	"command: ./x {n}\n"
	"work: fixed\n"
	"counts:\n"
	"  tool: valgrind-3.19.0\n"
	"  private_bytes: 262144\n"
	"  instructions: 1000\n"
	"  loads: 300\n"
	"  refs: 20\n"
	"  points:\n"
	"    - {llc_bytes: 1048576, misses: 10}\n"
	"    - {llc_bytes: 2097152, misses: 5}\n"
	"native:\n"
	"  machine: some\n"
	"  clock_ghz: 2.5\n"
	"  runs: 3\n"
	"  points:\n"
	"    - {threads: 1, seconds: 2, cpu_s: 2, utilization: 1, foreign: 0, "
	"steal: 0, disturbed: no}\n"
	"    - {threads: 2, seconds: 1.1, cpu_s: 2, utilization: 0.9, foreign: 0, "
	"steal: 0, disturbed: no}\n"
	"measured_widths: [1, 2]\n"
	"residual: {miss_ratio: 0.01, speedup: 0}\n"
	"phase:\n"
	"  seconds: {value: 60, from: assumed}\n"
	"  alpha: {value: 0.1, from: extrapolated}\n"
	"  gamma: {value: 0, from: assumed}\n"
	"  cpi: {value: 0.8, from: measured}\n"
	"  loads: {value: 0.3, from: cachegrind}\n"
	"  refs: {value: 0.02, from: cachegrind}\n"
	"  miss_lo: {value: 0.1, from: cachegrind}\n"
	"  miss_hi: {value: 0.9, from: cachegrind}\n"
	"  working_set_mb: {value: 2.5, from: cachegrind}\n"
	"  mlp: {value: 4, from: assumed}\n"
	"  sync: {value: 0.1, from: assumed}\n"
	"  comm: {value: 0.1, from: assumed}\n"
	"  wait: {value: 0.5, from: assumed}\n";

START_TEST(what_is_read_is_what_is_written)
{
	struct model m, again;
	struct errbuf err = {""};
	char *text = NULL;
	size_t size;
	FILE *f;

	ck_assert_msg(model_read(&m, "x.yaml", good, &err) == 0, "%s", err.text);
	ck_assert_str_eq(m.program, "it's a program");
	ck_assert_int_eq(m.native.n, 2);
	ck_assert_double_eq(m.phase.working_set_bytes.value, 2.5e6);
	ck_assert_int_eq(m.phase.cpi.from, MODEL_MEASURED);
	ck_assert_int_eq(m.phase.alpha.from, MODEL_EXTRAPOLATED);
	f = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(model_print(&m, f), 0);
	fclose(f);
	ck_assert_msg(model_read(&again, "again.yaml", text, &err) == 0, "%s", err.text);
	ck_assert_str_eq(again.program, m.program);
	ck_assert_int_eq(again.counts.n, m.counts.n);
	ck_assert_double_eq(again.counts.point[1].misses, 5);
	ck_assert_double_eq(again.native.point[1].seconds, 1.1);
	ck_assert_double_eq(again.phase.cpi.value, 0.8);
	ck_assert_int_eq(again.phase.miss_lo.from, MODEL_CACHEGRIND);
	free(text);
}
END_TEST

/* The line that says `old` says `new` instead. */
static const struct {
	const char *old, *new, *text;
} bad[] = {
	{"schema: 1", "schema: 2", "m.yaml:1: schema: '2': 1 expected"},
	{"name: x", "nome: x", "m.yaml:2: unknown key 'nome'"},
	{"work: fixed", "work: some", "m.yaml:5: work: 'some': fixed or per-thread expected"},
	{"  loads: 300", "  loads: many", "m.yaml:10: loads: 'many': a number"},
	{"misses: 10}", "misses: 30}", "more misses than references"},
	{"{llc_bytes: 2097152", "{llc_bytes: 1000000", "m.yaml:14: points: llc_bytes does not"},
	{"threads: 2,", "threads: 1,", "m.yaml:21: widths: threads do not ascend"},
	{"measured_widths: [1, 2]", "measured_widths: [1, 2, 4]", "m.yaml:22: measured_widths"},
	{"measured_widths: [1, 2]", "measured_widths: [1]", "measured_widths: not the widths"},
	{"  alpha: {value: 0.1, from: extrapolated}", "  alpha: {value: 0.1}",
		"m.yaml:26: alpha: from is missing"},
	{"  alpha: {value: 0.1, from: extrapolated}", "  alpha: {value: 0.1, from: guess}",
		"m.yaml:26: from: 'guess'"},
	{"  alpha: {value: 0.1,", "  alpha: {value: 1.5,", "m.yaml:26: value: '1.5'"},
	{"  mlp: {value: 4, from: assumed}\n", "", "phase: mlp is missing"},
	{"miss_hi: {value: 0.9", "miss_hi: {value: 0.05", "phase 0: miss_hi"},
	{"  cpi: ", "  alpha: ", "m.yaml:28: key 'alpha' twice in phase"},
	{"  tool: valgrind-3.19.0\n", "", "m.yaml:7: counts: tool, private_bytes"},
	{"schema: 1", "schema: [1", "m.yaml:"},
};

START_TEST(a_bad_model_is_refused_with_place_and_value)
{
	struct model m = {.count_scale = 7};
	struct errbuf err = {""};
	char text[4096];
	const char *at = strstr(good, bad[_i].old);

	ck_assert_ptr_nonnull(at);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good, bad[_i].new,
		at + strlen(bad[_i].old));
	ck_assert_int_eq(model_read(&m, "m.yaml", text, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, bad[_i].text) != NULL, "'%s' does not say '%s'", err.text,
		bad[_i].text);
	ck_assert_msg(strncmp(err.text, "m.yaml:", 7) == 0, "'%s' does not begin with the file",
		err.text);
	ck_assert_double_eq(m.count_scale, 7);
}
END_TEST

static void put_curve(struct model *m, double lo, double hi, double working_set)
{
	memset(m, 0, sizeof(*m));
	m->count_scale = 1;
	m->counts.instructions = 1e9;
	m->counts.loads = 3e8;
	m->counts.refs = 1e7;
	for (double c = 1 << 20; c <= 64 << 20; c *= 2) {
		double x = c / working_set;

		m->counts.point[m->counts.n].llc_bytes = c;
		m->counts.point[m->counts.n++].misses = 1e7 * (lo + (hi - lo) / (1 + x * x));
	}
}

START_TEST(a_curve_of_the_models_own_shape_is_found_again)
{
	static const double curve[][3] = {
		{0.1, 0.8, 4e6}, {0, 1, 20e6}, {0.5, 0.6, 2e6}, {0.02, 0.3, 10e6}};
	struct model m;

	put_curve(&m, curve[_i][0], curve[_i][1], curve[_i][2]);
	ck_assert_int_eq(model_fit_misses(&m, NULL), 0);
	ck_assert_double_eq_tol(m.phase.miss_lo.value, curve[_i][0], 0.01);
	ck_assert_double_eq_tol(m.phase.miss_hi.value, curve[_i][1], 0.02);
	ck_assert_double_eq_tol(m.phase.working_set_bytes.value / curve[_i][2], 1, 0.05);
	ck_assert_double_le(m.miss_residual, 0.002);
	ck_assert_double_eq(m.phase.loads.value, 0.3);
	ck_assert_double_eq(m.phase.refs.value, 0.01);
}
END_TEST

/* A cliff is not of that shape: the residual has to say so. */
START_TEST(a_curve_of_another_shape_leaves_a_residual)
{
	struct model m;

	put_curve(&m, 0, 0, 1e6);
	for (int i = 0; i < 5; i++)
		m.counts.point[i].misses = 1e7;
	ck_assert_int_eq(model_fit_misses(&m, NULL), 0);
	ck_assert_double_ge(m.miss_residual, 0.1);
}
END_TEST

START_TEST(a_program_that_always_misses_has_a_flat_curve)
{
	struct model m;

	put_curve(&m, 0.7, 0.7, 1e6);
	ck_assert_int_eq(model_fit_misses(&m, NULL), 0);
	for (int i = 0; i < m.counts.n; i++) {
		struct program p;

		model_program(&m, &p);
		ck_assert_double_eq_tol(phase_miss_ratio(&p.phase[0], m.counts.point[i].llc_bytes,
						p.phase[0].working_set_bytes),
			0.7, 0.001);
	}
	m.counts.n = 0;
	ck_assert_int_eq(model_fit_misses(&m, NULL), -ENODATA);
}
END_TEST

static void put_speed(struct model *m, double alpha, double gamma, const int *width, int n)
{
	put_curve(m, 0.1, 0.8, 4e6);
	m->native.clock_hz = 2e9;
	m->phase.wait = (struct model_value){0.5, MODEL_ASSUMED};
	m->phase.alpha = (struct model_value){0.02, MODEL_ASSUMED};
	for (int i = 0; i < n; i++)
		m->native.point[m->native.n++] = (struct model_run){
			.threads = width[i],
			.seconds = 4 * (alpha + (1 - alpha - gamma) / width[i] + gamma * width[i]),
			.cpu_s = 4,
			.utilization = 0.9,
		};
}

START_TEST(two_widths_give_alpha_and_mark_it_extrapolated)
{
	static const int width[] = {1, 2};
	struct model m;

	put_speed(&m, 0.1, 0, width, 2);
	ck_assert_int_eq(model_fit_speed(&m, NULL), 0);
	ck_assert_double_eq_tol(m.phase.alpha.value, 0.1, 1e-6);
	ck_assert_int_eq(m.phase.alpha.from, MODEL_EXTRAPOLATED);
	ck_assert_double_eq(m.phase.gamma.value, 0);
	ck_assert_int_eq(m.phase.gamma.from, MODEL_ASSUMED);
	/* 4 s at 2 GHz for 1e9 instructions; five times the work that was counted: a fifth. */
	ck_assert_double_eq_tol(m.phase.cpi.value, 8, 1e-9);
	m.count_scale = 5;
	ck_assert_int_eq(model_fit_speed(&m, NULL), 0);
	ck_assert_double_eq_tol(m.phase.cpi.value, 1.6, 1e-9);
	ck_assert_int_eq(m.phase.cpi.from, MODEL_MEASURED);
}
END_TEST

START_TEST(more_widths_give_gamma_too)
{
	static const int width[] = {1, 2, 4, 8};
	struct model m;

	put_speed(&m, 0.05, 0.004, width, 4);
	ck_assert_int_eq(model_fit_speed(&m, NULL), 0);
	ck_assert_double_eq_tol(m.phase.alpha.value, 0.05, 1e-3);
	ck_assert_double_eq_tol(m.phase.gamma.value, 0.004, 1e-4);
	ck_assert_double_le(m.speed_residual, 1e-3);
}
END_TEST

START_TEST(a_disturbed_machine_says_nothing_of_speed)
{
	static const int width[] = {1, 2};
	struct model m;

	put_speed(&m, 0.9, 0, width, 2);
	m.native.point[1].disturbed = true;
	ck_assert_int_eq(model_fit_speed(&m, NULL), 0);
	ck_assert_double_eq(m.phase.alpha.value, 0.02);
	ck_assert_int_eq(m.phase.alpha.from, MODEL_ASSUMED);
	ck_assert_double_eq(m.phase.wait.value, 0.5);
	m.native.n = 0;
	ck_assert_int_eq(model_fit_speed(&m, NULL), -ENODATA);
}
END_TEST

/* Each thread brings its own work: twice the work in the same time is twice as fast. */
START_TEST(work_per_thread_counts_as_speed)
{
	static const int width[] = {1, 2};
	struct model m;

	put_speed(&m, 0.5, 0, width, 2);
	m.per_thread = true;
	m.native.point[1].seconds = m.native.point[0].seconds;
	ck_assert_int_eq(model_fit_speed(&m, NULL), 0);
	ck_assert_double_eq_tol(m.phase.alpha.value, 0, 1e-9);
}
END_TEST

START_TEST(the_population_has_eight_real_programs)
{
	static const char *const wanted[] = {
		"gromacs", "lammps", "stream", "randomaccess", "fft", "dgemm"};
	struct population p;
	struct errbuf err = {""};

	ck_assert_msg(population_find(&p, "measured", &err) == 0, "%s", err.text);
	ck_assert_int_ge(p.n_programs, 8);
	for (size_t w = 0; w < sizeof(wanted) / sizeof(wanted[0]); w++) {
		int found = 0;

		for (int i = 0; i < p.n_programs; i++)
			found += strcmp(p.program[i].name, wanted[w]) == 0;
		ck_assert_msg(found == 1, "no model of %s", wanted[w]);
	}
	for (int i = 0; i < p.n_programs; i++)
		ck_assert_int_eq(program_check(&p.program[i], &err), 0);
}
END_TEST

START_TEST(a_folder_of_models_takes_the_place_of_those_built_in)
{
	struct population p;
	struct errbuf err = {""};
	struct tmpdir t;

	tmpdir_create(&t);
	ck_assert_int_eq(population_find(&p, "measured", &err), 0);
	ck_assert_int_eq(population_models(&p, t.dir, &err), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "no model"));
	tmpdir_write(&t, "one.yaml", good);
	ck_assert_msg(population_models(&p, t.dir, &err) == 0, "%s", err.text);
	ck_assert_int_eq(p.n_programs, 1);
	ck_assert_str_eq(p.program[0].name, "x");
	tmpdir_write(&t, "two.yaml", good);
	ck_assert_int_eq(population_models(&p, t.dir, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "two.yaml: a second model named 'x'"));
	ck_assert_int_eq(population_models(&p, "/nowhere/at/all", &err), -ENOENT);
	tmpdir_remove(&t);
}
END_TEST

static void add(Suite *s, const char *behaviour, const TTest *test, size_t n)
{
	TCase *tc = tcase_create(behaviour);

	if (n > 0)
		tcase_add_loop_test(tc, test, 0, (int)n);
	else
		tcase_add_test(tc, test);
	suite_add_tcase(s, tc);
}

int main(void)
{
	Suite *s = suite_create("sim_model");
	SRunner *sr;
	int failed;

	add(s, "a model is written as it is read", what_is_read_is_what_is_written, 0);
	add(s, "a bad model is refused with file and line",
		a_bad_model_is_refused_with_place_and_value, sizeof(bad) / sizeof(bad[0]));
	add(s, "the fit finds a curve again", a_curve_of_the_models_own_shape_is_found_again, 4);
	add(s, "a curve of another shape is told by its residual",
		a_curve_of_another_shape_leaves_a_residual, 0);
	add(s, "streaming is flat", a_program_that_always_misses_has_a_flat_curve, 0);
	add(s, "two widths are an extrapolation", two_widths_give_alpha_and_mark_it_extrapolated,
		0);
	add(s, "four widths tell gamma", more_widths_give_gamma_too, 0);
	add(s, "disturbed times are not used", a_disturbed_machine_says_nothing_of_speed, 0);
	add(s, "work may grow with the threads", work_per_thread_counts_as_speed, 0);
	add(s, "the models of the tree are all sound", the_population_has_eight_real_programs, 0);
	add(s, "a site may bring its own models",
		a_folder_of_models_takes_the_place_of_those_built_in, 0);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
