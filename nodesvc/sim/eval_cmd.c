/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * eval_cmd.c - `colocsim eval`: policies on many combinations of programs, on a simulated machine.
 */
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "nodesvc/sim/eval_print.h"
#include "nodesvc/sim/exec_policy.h"
#include "nodesvc/sim/sensitivity_print.h"
#include "nodesvc/sim/sim.h"

static const char usage_text[] =
	"Usage: colocsim eval --population=NAME --policies=A,B,... [OPTIONS]\n"
	"\n"
	"Runs combinations of programs on a simulated machine under each policy. All results are\n"
	"simulated: they follow from the model, not from a measurement.\n"
	"  --population   lira, parsec, latent, adversarial, measured, spec-wl or mapper\n"
	"  --models=DIR   of population measured: a folder of model files (default: those that\n"
	"                 are built in)\n"
	"  --policies     separated by commas; options of a policy follow a colon:\n"
	"                 lira:tie=first:h=0. Besides the policies of the engine: linux, serial,\n"
	"                 alternate, best-static, mean-static, worst-static, oracle,\n"
	"                 joint-oracle; and exec:COMMAND, a program (without commas)\n"
	"  --policy-timeout=S  seconds that such a program may take for an answer (default 10)\n"
	"  --topology     \"pack:2 core:8 pu:1\" or an hwloc XML file (default: the paper's "
	"machine)\n"
	"  --domain       auto, package, numa, l3, l2 or core (default: the paper's)\n"
	"  --seed=N       of programs, order and noise (default 1)\n"
	"  --combos=N     combinations (default 32)\n"
	"  --jobs=N       programs in a combination (default 4)\n"
	"  --threads=N    of each program (default: one per hardware thread; spec-wl: 1)\n"
	"  --seconds=S    virtual time of a run at most (default 300)\n"
	"  --runs=N       ... or until every program has completed N times (default 3)\n"
	"  --sample-ms=N  between samples of counters (default 200)\n"
	"  --decide-ms=N  between decisions (default: after every sample)\n"
	"  --phases=width|paper|none  how the driver looks for phase changes (default width)\n"
	"  --strangers    nobody has seen the programs before; default: they have been profiled,\n"
	"                 and their rates are known as they start\n"
	"  --fallback=P   decides while a policy's signals are missing (default fair)\n"
	"  --paper        population lira as its paper ran it: samples every 0.5e9 cycles,\n"
	"                 decisions every 100 ms, 9 runs of each program, strangers, and\n"
	"                 callisto,threads=yes until rates are known\n"
	"  --numa         follow or sticky: do pages move with their threads (default follow)\n"
	"  --penalties    of sharing cores by time: assumed, measured or none (default\n"
	"                 assumed)\n"
	"  --bandwidth=G  GB/s of a memory node\n"
	"  --sensitivity=P in place of the result: is the order the same when a constant of the\n"
	"                 machine, or a property of the programs, is times 1-P and 1+P\n"
	"  --sweep=KEY=A,B,...|FROM:TO:STEP  once for each value; more than one: for all\n"
	"                 combinations. KEY: an option above, POLICY.OPTION, or machine.NAME,\n"
	"                 penalty.NAME, program.NAME, which are multiplied by the values\n"
	"  --shuffle      give every job another one's counters (a check of the comparison)\n"
	"  --workers=N    threads to run on (default: one per CPU)\n"
	"  --per-combo    print every combination, too\n"
	"  --json         print JSON\n"
	"  --csv          print CSV: a record for each policy (and value of --sweep)\n";

struct args {
	const char *population, *policies, *topology, *domain, *numa, *penalties, *models,
		*fallback;
	double seed, combos, jobs, threads, seconds, runs, sample_ms, decide_ms, bandwidth, workers,
		sensitivity;
	enum phase_events phases;
	bool shuffle, strangers, paper, per_combo, json, csv;
	struct sweep sweep;
};

static int usage(const char *fmt, const char *value)
{
	fputs("colocsim eval: ", stderr);
	fprintf(stderr, fmt, value);
	fputs("\nTry 'colocsim eval --help'.\n", stderr);
	return SIM_USAGE;
}

enum { OPT_FIRST = 1000 };

/* Numbers with their bounds: one table instead of one case each. */
static const struct number {
	const char *name;
	size_t offset;
	double low, high;
	bool whole;
} numbers[] = {
	{"seed", offsetof(struct args, seed), 0, 9e15, true},
	{"combos", offsetof(struct args, combos), 1, 100000, true},
	{"jobs", offsetof(struct args, jobs), 1, DRIVE_JOBS_MAX, true},
	{"threads", offsetof(struct args, threads), 1, 100000, true},
	{"seconds", offsetof(struct args, seconds), 0.001, 1e7, false},
	{"runs", offsetof(struct args, runs), 1, 1e6, true},
	{"sample-ms", offsetof(struct args, sample_ms), 1, 1e6, false},
	{"decide-ms", offsetof(struct args, decide_ms), 1, 1e6, false},
	{"bandwidth", offsetof(struct args, bandwidth), 0.001, 1e5, false},
	{"workers", offsetof(struct args, workers), 1, 64, true},
	{"sensitivity", offsetof(struct args, sensitivity), 0.001, 0.9, false},
};
#define N_NUMBERS ((int)(sizeof(numbers) / sizeof(numbers[0])))

static bool read_number(struct args *a, const struct number *n, const char *text)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !(v >= n->low && v <= n->high) || (n->whole && v != floor(v)))
		return false;
	*(double *)((char *)a + n->offset) = v;
	return true;
}

/* -1: go on; else the exit status. */
static int read_args(struct args *a, int argc, char **argv)
{
	struct option options[N_NUMBERS + 19] = {
		{"population", required_argument, NULL, 'p'},
		{"policies", required_argument, NULL, 'P'},
		{"topology", required_argument, NULL, 't'},
		{"domain", required_argument, NULL, 'd'},
		{"numa", required_argument, NULL, 'n'},
		{"penalties", required_argument, NULL, 'k'},
		{"shuffle", no_argument, NULL, 's'},
		{"per-combo", no_argument, NULL, 'c'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{"models", required_argument, NULL, 'm'},
		{"phases", required_argument, NULL, 'f'},
		{"policy-timeout", required_argument, NULL, 'w'},
		{"sweep", required_argument, NULL, 'W'},
		{"csv", no_argument, NULL, 'v'},
		{"strangers", no_argument, NULL, 'S'},
		{"paper", no_argument, NULL, 'R'},
		{"fallback", required_argument, NULL, 'F'},
	};
	struct errbuf err;
	char text[128];
	int c;

	for (int i = 0; i < N_NUMBERS; i++)
		options[18 + i] =
			(struct option){numbers[i].name, required_argument, NULL, OPT_FIRST + i};
	optind = 1;
	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c >= OPT_FIRST) {
			if (read_number(a, &numbers[c - OPT_FIRST], optarg))
				continue;
			snprintf(text, sizeof(text), "--%s=%%s: %s%g to %g expected",
				numbers[c - OPT_FIRST].name,
				numbers[c - OPT_FIRST].whole ? "whole number " : "",
				numbers[c - OPT_FIRST].low, numbers[c - OPT_FIRST].high);
			return usage(text, optarg);
		}
		switch (c) {
		case 'p':
			a->population = optarg;
			break;
		case 'P':
			a->policies = optarg;
			break;
		case 't':
			a->topology = optarg;
			break;
		case 'd':
			a->domain = optarg;
			break;
		case 'n':
			a->numa = optarg;
			break;
		case 'k':
			a->penalties = optarg;
			break;
		case 'm':
			a->models = optarg;
			break;
		case 'f':
			if (drive_phases(optarg, &a->phases))
				return usage("--phases=%s: width, paper or none expected", optarg);
			break;
		case 'w':
			if (exec_policy_read_timeout(optarg))
				return usage(EXEC_POLICY_TIMEOUT_USAGE, optarg);
			break;
		case 'W':
			if (sweep_add(&a->sweep, optarg, &err))
				return usage("--sweep: %s", err.text);
			break;
		case 'v':
			a->csv = true;
			break;
		case 'S':
			a->strangers = true;
			break;
		case 'R':
			a->paper = true;
			break;
		case 'F':
			a->fallback = optarg;
			break;
		case 's':
			a->shuffle = true;
			break;
		case 'c':
			a->per_combo = true;
			break;
		case 'j':
			a->json = true;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return SIM_OK;
		default:
			fputs("Try 'colocsim eval --help'.\n", stderr);
			return SIM_USAGE;
		}
	}
	if (optind < argc)
		return usage("unexpected argument '%s'", argv[optind]);
	if (!a->population || !a->policies)
		return usage("%s is missing", a->population ? "--policies" : "--population");
	if (a->csv && (a->json || a->per_combo))
		return usage("--csv: not with %s", a->json ? "--json" : "--per-combo");
	if (a->sensitivity > 0 && (a->csv || a->sweep.n > 0))
		return usage("--sensitivity: not with %s", a->csv ? "--csv" : "--sweep");
	return -1;
}

#define SPEC_MAX 512

/* One point: options, and what is made of them. */
struct setup {
	struct args a;
	const struct sweep *sweep;
	int point;
	struct population population;
	struct topo *t;
	char spec[EVAL_POLICIES_MAX][SPEC_MAX];
	struct machine_params params;
	struct machine m;
	struct eval e;
};

/* "a,b:x=1:y=2" into specs of the engine ("b,x=1,y=2"). */
static int split_policies(struct setup *s)
{
	cleanup_free char *text = strdup(s->a.policies);
	char *rest = text, *one;

	if (!text)
		return SIM_FAILED;
	while ((one = strsep(&rest, ","))) {
		char *spec;

		if (s->e.n_policies == EVAL_POLICIES_MAX)
			return usage("--policies: more than %s", "32");
		spec = s->spec[s->e.n_policies];
		if (!*one)
			return usage("--policies: an empty name in '%s'", s->a.policies);
		if (strlen(one) >= SPEC_MAX)
			return usage("--policies: '%s' is too long", one);
		strcpy(spec, one);
		for (char *c = spec; *c && !exec_policy_is(spec); c++)
			if (*c == ':')
				*c = ',';
		s->e.policy[s->e.n_policies++] = spec;
	}
	return -1;
}

static void show_progress(int done, int all)
{
	fprintf(stderr, "\rsimulating %d/%d%s", done, all, done == all ? "\n" : "");
}

static int set_machine(const struct args *a, const struct population *p, struct machine_params *m)
{
	machine_defaults(m);
	population_machine(p, m);
	if (a->bandwidth > 0)
		m->bytes_per_s = a->bandwidth * 1e9;
	if (a->numa && strcmp(a->numa, "sticky") == 0)
		m->numa = NUMA_STICKY;
	else if (a->numa && strcmp(a->numa, "follow") != 0)
		return usage("--numa=%s: follow or sticky expected", a->numa);
	if (a->penalties && machine_penalties(a->penalties, &m->penalties))
		return usage("--penalties=%s: assumed, measured or none expected", a->penalties);
	return -1;
}

static int bad_sweep(const char *key, const char *value, const char *why)
{
	fprintf(stderr, "colocsim eval: --sweep=%s: '%s': %s\nTry 'colocsim eval --help'.\n", key,
		value, why);
	return SIM_USAGE;
}

/* A key that is an option of eval. */
static int sweep_option(struct args *a, const char *key, const char *value)
{
	const struct {
		const char *name;
		const char **to;
	} texts[] = {{"population", &a->population}, {"topology", &a->topology},
		{"domain", &a->domain}, {"numa", &a->numa}, {"penalties", &a->penalties}};
	char why[80];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strcmp(key, texts[i].name) == 0) {
			*texts[i].to = value;
			return -1;
		}
	if (strcmp(key, "phases") == 0)
		return drive_phases(value, &a->phases)
			       ? bad_sweep(key, value, "width, paper or none expected")
			       : -1;
	for (int i = 0; i < N_NUMBERS; i++) {
		const struct number *n = &numbers[i];

		if (strcmp(key, n->name) != 0 || strcmp(key, "workers") == 0 ||
			strcmp(key, "sensitivity") == 0)
			continue;
		if (read_number(a, n, value))
			return -1;
		snprintf(why, sizeof(why), "%s%g to %g expected", n->whole ? "whole number " : "",
			n->low, n->high);
		return bad_sweep(key, value, why);
	}
	return bad_sweep(key, value,
		"no such key: an option of eval, POLICY.OPTION, or machine., "
		"penalty. or program.NAME expected");
}

/* "machine.latency" is parameter "machine: latency"; 0 none. */
static int constant_number(const char *key)
{
	char name[SWEEP_NAME_MAX + 2];
	const char *dot = strchr(key, '.');

	snprintf(name, sizeof(name), "%.*s: %s", (int)(dot - key), key, dot + 1);
	for (int i = 1; parameter_name(i); i++)
		if (strcmp(parameter_name(i), name) == 0)
			return i;
	return 0;
}

/* A constant of the machine or the programs, times the value. */
static int sweep_constant(struct setup *s, const char *key, const char *value)
{
	int parameter = constant_number(key);
	char *end;
	double factor = strtod(value, &end);

	if (!parameter)
		return bad_sweep(key, value, "no such constant: see colocsim(1)");
	if (end == value || *end || !(factor > 0 && factor <= 1000))
		return bad_sweep(key, value, "a factor above 0, at most 1000, expected");
	if (!parameter_is_program(parameter)) {
		parameter_change_machine(parameter, factor, &s->params);
		return -1;
	}
	if (s->e.change)
		return bad_sweep(key, value, "one program.NAME at a time");
	s->e.change = parameter;
	s->e.change_factor = factor;
	return -1;
}

/* "lira.h": of every policy lira that is named. */
static int sweep_policy(struct setup *s, const char *key, const char *value)
{
	size_t len = strcspn(key, ".");
	bool any = false;

	for (int p = 0; p < s->e.n_policies; p++) {
		char *spec = s->spec[p];
		size_t at = strlen(spec);

		if (strcspn(spec, ",") != len || memcmp(spec, key, len) != 0)
			continue;
		any = true;
		if (snprintf(spec + at, SPEC_MAX - at, ",%s=%s", key + len + 1, value) >=
			(int)(SPEC_MAX - at))
			return bad_sweep(key, value, "too long");
	}
	return any ? -1 : bad_sweep(key, value, "no such policy among --policies");
}

static bool is_constant(const char *key)
{
	return strncmp(key, "machine.", 8) == 0 || strncmp(key, "penalty.", 8) == 0 ||
	       strncmp(key, "program.", 8) == 0;
}

/* What the point has of the sweep; @early: the options, from which the rest is made. */
static int apply_sweep(struct setup *s, bool early)
{
	int rc = -1;

	for (int k = 0; k < s->sweep->n && rc < 0; k++) {
		const char *key = s->sweep->key[k].name;
		const char *value = sweep_value(s->sweep, s->point, k);

		if (!strchr(key, '.'))
			rc = early ? sweep_option(&s->a, key, value) : -1;
		else if (!early)
			rc = is_constant(key) ? sweep_constant(s, key, value)
					      : sweep_policy(s, key, value);
	}
	return rc;
}

static int failed(const char *text)
{
	fprintf(stderr, "colocsim eval: %s\n", text);
	return SIM_FAILED;
}

static void fill_eval(struct setup *s)
{
	const struct args *a = &s->a;
	struct eval *e = &s->e;

	e->seed = (uint64_t)a->seed;
	e->n_combos = (int)a->combos;
	e->n_jobs = a->jobs > 0 ? (int)a->jobs : s->population.n_jobs;
	e->threads = (int)a->threads;
	e->workers = (int)a->workers;
	e->progress = isatty(STDERR_FILENO) ? show_progress : NULL;
	drive_defaults(&e->drive);
	e->drive.stored = !a->strangers;
	if (a->paper)
		population_paper(&s->population, s->params.hz, &e->drive);
	if (a->fallback)
		e->drive.fallback = a->fallback;
	if (a->seconds > 0)
		e->drive.most_s = a->seconds;
	if (a->runs > 0)
		e->drive.min_runs = (int)a->runs;
	if (a->sample_ms > 0)
		e->drive.sample_s = a->sample_ms / 1e3;
	if (a->decide_ms > 0)
		e->drive.decide_s = a->decide_ms / 1e3;
	e->drive.phases = a->phases;
	e->drive.shuffle = a->shuffle;
}

static void setup_done(struct setup *s)
{
	if (s->e.m)
		machine_done(&s->m);
	topo_free(s->t);
	s->t = NULL;
	s->e.m = NULL;
}

/* -1: @s is ready, but for the machine; else the exit status. setup_done() in any case. */
static int prepare(struct setup *s, const struct args *a, int point)
{
	struct errbuf err = {""};
	enum topo_level level;
	int rc;

	*s = (struct setup){.a = *a, .sweep = &a->sweep, .point = point};
	rc = apply_sweep(s, true);
	if (rc >= 0)
		return rc;
	s->e.population = &s->population;
	rc = population_find(&s->population, s->a.population, &err);
	if (rc == -ENOENT)
		return usage("%s", err.text);
	if (s->a.paper && s->population.paper.runs == 0)
		return usage("--paper: not with --population=%s", s->a.population);
	if (s->a.models && strcmp(s->population.name, "measured") != 0)
		return usage(
			"--models=%s: only population measured is made of models", s->a.models);
	if (s->a.models)
		rc = population_models(&s->population, s->a.models, &err);
	if (rc)
		return failed(err.text);
	rc = set_machine(&s->a, &s->population, &s->params);
	if (rc < 0)
		rc = split_policies(s);
	if (rc < 0)
		rc = apply_sweep(s, false);
	if (rc >= 0)
		return rc;
	level = s->a.topology ? TOPO_AUTO : s->population.domain;
	if (s->a.domain && topo_level_parse(s->a.domain, &level))
		return usage(
			"--domain=%s: auto, package, numa, l3, l2 or core expected", s->a.domain);
	if (!s->a.topology)
		s->a.topology = s->population.topology;
	fill_eval(s);
	if (machine_topology(&s->t, s->a.topology, &err) || topo_set_domains(s->t, level, &err)) {
		err_wrap(&err, -EINVAL, "%s", s->a.topology);
		return failed(err.text);
	}
	for (int p = 0; p < s->e.n_policies; p++)
		if (drive_check(s->e.policy[p], s->t, s->e.n_jobs, &err))
			return usage("%s", err.text);
	if (s->a.fallback && (drive_is_reference(s->a.fallback) || exec_policy_is(s->a.fallback) ||
				     drive_check(s->a.fallback, s->t, s->e.n_jobs, &err)))
		return usage("--fallback=%s: a policy of the engine expected", s->a.fallback);
	return -1;
}

static int make_machine(struct setup *s)
{
	struct errbuf err = {""};

	if (machine_init(&s->m, s->t, &s->params, &err))
		return failed(err.text);
	s->e.m = &s->m;
	return -1;
}

/* Runs a point and prints it. */
static int run_point(struct setup *s, json_object *list)
{
	cleanup_free struct drive_result *r =
		calloc((size_t)s->e.n_policies * (size_t)s->e.n_combos, sizeof(*r));
	struct eval_shown shown = {.e = &s->e,
		.topology = s->a.topology,
		.sweep = s->sweep,
		.point = s->point,
		.json = s->a.json,
		.csv = s->a.csv,
		.per_combo = s->a.per_combo};
	struct errbuf err = {"out of memory"};

	if (s->point == 0)
		eval_print_head(&shown);
	if (!r || eval_run(&s->e, r, &err))
		return failed(err.text);
	return eval_print(&shown, r, list);
}

/* All points, or the one that there is without --sweep. */
static int run_points(struct setup *s, const struct args *a)
{
	json_object *list = json_object_new_array();
	int rc = SIM_OK;

	for (int i = 0; i < sweep_points(&a->sweep) && rc == SIM_OK; i++) {
		rc = prepare(s, a, i);
		if (rc < 0)
			rc = make_machine(s);
		if (rc < 0)
			rc = run_point(s, list);
		setup_done(s);
	}
	if (rc == SIM_OK && a->sweep.n > 0 && a->json)
		rc = eval_print_sweep(&a->sweep, list);
	json_object_put(list);
	return rc == SIM_OK && fflush(stdout) ? SIM_FAILED : rc;
}

int sim_eval(int argc, char **argv)
{
	struct args a = {.seed = 1, .combos = 32};
	cleanup_free struct setup *s = calloc(1, sizeof(*s));
	int rc = read_args(&a, argc, argv);

	/* A bad value is told before anything runs. */
	for (int i = 0; rc < 0 && s && i < sweep_points(&a.sweep); i++) {
		rc = prepare(s, &a, i);
		if (rc < 0 && a.sensitivity > 0)
			rc = sim_sensitivity(
				&s->e, s->t, &s->params, s->a.topology, a.sensitivity, a.json);
		setup_done(s);
	}
	if (rc < 0)
		rc = s ? run_points(s, &a) : failed("out of memory");
	sweep_done(&a.sweep);
	return rc;
}
