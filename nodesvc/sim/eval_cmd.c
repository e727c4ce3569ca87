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
#include "nodesvc/sim/eval.h"
#include "nodesvc/sim/exec_policy.h"
#include "nodesvc/sim/sensitivity_print.h"
#include "nodesvc/sim/sim.h"
#include "nodesvc/sim/stats.h"

static const char usage_text[] =
	"Usage: colocsim eval --population=NAME --policies=A,B,... [OPTIONS]\n"
	"\n"
	"Runs combinations of programs on a simulated machine under each policy. All results are\n"
	"simulated: they follow from the model, not from a measurement.\n"
	"  --population   lira, parsec, latent, adversarial, measured, spec-wl or mapper\n"
	"  --models=DIR   of population measured: a folder of model files (default: those that\n"
	"                 are built in)\n"
	"  --policies     separated by commas; options of a policy follow a colon:\n"
	"                 lira:tie=first:h=0. Besides the policies of the engine: linux,\n"
	"                 alternate, best-static, mean-static, worst-static, oracle; and\n"
	"                 exec:COMMAND, a program (without commas)\n"
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
	"  --numa         follow or sticky: do pages move with their threads (default follow)\n"
	"  --penalties    of sharing cores by time: assumed, measured or none (default\n"
	"                 assumed)\n"
	"  --bandwidth=G  GB/s of a memory node\n"
	"  --sensitivity=P in place of the result: is the order the same when a constant of the\n"
	"                 machine, or a property of the programs, is times 1-P and 1+P\n"
	"  --shuffle      give every job another one's counters (a check of the comparison)\n"
	"  --workers=N    threads to run on (default: one per CPU)\n"
	"  --per-combo    print every combination, too\n"
	"  --json         print JSON\n";

struct args {
	const char *population, *policies, *topology, *domain, *numa, *penalties, *models;
	double seed, combos, jobs, threads, seconds, runs, sample_ms, decide_ms, bandwidth, workers,
		sensitivity;
	enum phase_events phases;
	bool shuffle, per_combo, json;
};

static void free_topo_p(struct topo **t)
{
	topo_free(*t);
}

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
	struct option options[N_NUMBERS + 14] = {
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
	};
	char text[128];
	int c;

	for (int i = 0; i < N_NUMBERS; i++)
		options[13 + i] =
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
	return -1;
}

/* "a,b:x=1:y=2" into specs of the engine ("b,x=1,y=2"), in place. */
static int split_policies(char *text, struct eval *e)
{
	char *rest = text, *one;

	while ((one = strsep(&rest, ","))) {
		if (e->n_policies == EVAL_POLICIES_MAX)
			return usage("--policies: more than %s", "32");
		if (!*one)
			return usage("--policies: an empty name in '%s'", text);
		for (char *c = one; *c && !exec_policy_is(one); c++)
			if (*c == ':')
				*c = ',';
		e->policy[e->n_policies++] = one;
	}
	return -1;
}

static void show_progress(int done, int all)
{
	fprintf(stderr, "\rsimulating %d/%d%s", done, all, done == all ? "\n" : "");
}

struct figures {
	struct interval stp, antt, gain;
	double stp_all, antt_all, antt_best, stp_share, antt_share, worst, moves, decisions;
	double violations, worst_of_fair; /* of QOS; the least speed over that on the equal share */
};

/* MAPPER's guarantee (PPoPP 2019, section 3). */
#define QOS 0.85

static double *values(const struct eval *e, const struct drive_result *r, enum ntt_base base,
	double (*of)(const struct drive_result *, enum ntt_base))
{
	double *v = e->n_combos > 0 ? calloc((size_t)e->n_combos, sizeof(*v)) : NULL;

	for (int k = 0; v && k < e->n_combos; k++)
		v[k] = of(&r[k], base);
	return v;
}

static double mean_of(const struct eval *e, const struct drive_result *r, enum ntt_base base,
	double (*of)(const struct drive_result *, enum ntt_base))
{
	double sum = 0;

	for (int k = 0; k < e->n_combos; k++)
		sum += of(&r[k], base) / e->n_combos;
	return sum;
}

/* Figures of one policy; @first: results of the first one, which the gain is against. */
static int summarise(const struct eval *e, const struct drive_result *r,
	const struct drive_result *first, struct figures *ret)
{
	enum ntt_base base = e->population->base;
	cleanup_free double *stp = values(e, r, base, drive_stp);
	cleanup_free double *antt = values(e, r, base, drive_antt);
	cleanup_free double *before = values(e, first, base, drive_stp);

	memset(ret, 0, sizeof(*ret));
	if (!stp || !antt || !before)
		return -ENOMEM;
	ret->stp = stats_mean(stp, e->n_combos, e->seed);
	ret->antt = stats_mean(antt, e->n_combos, e->seed);
	ret->gain = stats_gain(stp, before, e->n_combos, e->seed);
	ret->stp_all = mean_of(e, r, NTT_ALL, drive_stp);
	ret->antt_all = mean_of(e, r, NTT_ALL, drive_antt);
	ret->antt_best = mean_of(e, r, NTT_BEST, drive_antt);
	ret->stp_share = mean_of(e, r, NTT_SHARE, drive_stp);
	ret->antt_share = mean_of(e, r, NTT_SHARE, drive_antt);
	ret->worst_of_fair = INFINITY;
	for (int k = 0; k < e->n_combos; k++) {
		ret->worst = fmax(ret->worst, drive_worst_ntt(&r[k], base));
		ret->moves += r[k].moves_per_s / e->n_combos;
		ret->decisions += r[k].decisions;
		for (int i = 0; i < r[k].n_jobs; i++) {
			double part = drive_of_fair(&r[k], i);

			ret->violations += (part < QOS) / (double)(e->n_combos * r[k].n_jobs);
			ret->worst_of_fair = fmin(ret->worst_of_fair, part);
		}
	}
	return 0;
}

static json_object *number(double v)
{
	return isfinite(v) ? json_object_new_double(v) : NULL;
}

static json_object *policy_json(const struct eval *e, const char *policy, const struct figures *f)
{
	static const char *const base[] = {"all_cores", "best_width", "equal_share"};
	json_object *o = json_object_new_object();

	json_object_object_add(o, "policy", json_object_new_string(policy));
	json_object_object_add(o, "stp", number(f->stp.mean));
	json_object_object_add(o, "stp_lo", number(f->stp.low));
	json_object_object_add(o, "stp_hi", number(f->stp.high));
	json_object_object_add(o, "antt", number(f->antt.mean));
	json_object_object_add(o, "antt_lo", number(f->antt.low));
	json_object_object_add(o, "antt_hi", number(f->antt.high));
	json_object_object_add(o, "worst_ntt", number(f->worst));
	json_object_object_add(o, "moves_per_s", number(f->moves));
	json_object_object_add(o, "alone", json_object_new_string(base[e->population->base]));
	json_object_object_add(o, "stp_gain", number(f->gain.mean));
	json_object_object_add(o, "stp_gain_lo", number(f->gain.low));
	json_object_object_add(o, "stp_gain_hi", number(f->gain.high));
	json_object_object_add(o, "stp_full", number(f->stp_all));
	json_object_object_add(o, "antt_full", number(f->antt_all));
	json_object_object_add(o, "antt_best", number(f->antt_best));
	json_object_object_add(o, "stp_share", number(f->stp_share));
	json_object_object_add(o, "antt_share", number(f->antt_share));
	json_object_object_add(o, "qos_violations", number(f->violations));
	json_object_object_add(o, "worst_of_fair", number(f->worst_of_fair));
	return o;
}

static json_object *combos_json(const struct eval *e, const struct drive_result *r)
{
	json_object *list = json_object_new_array();
	struct program *program = calloc((size_t)e->n_jobs, sizeof(*program));

	for (int k = 0; program && k < e->n_combos; k++) {
		json_object *o = json_object_new_object(), *names = json_object_new_array();
		json_object *ntt = json_object_new_array();

		population_combo(e->population, e->seed, k, e->n_jobs, program, NULL);
		for (int i = 0; i < e->n_jobs; i++) {
			json_object_array_add(names, json_object_new_string(program[i].name));
			json_object_array_add(
				ntt, number(drive_ntt(&r[k], i, e->population->base)));
		}
		json_object_object_add(o, "programs", names);
		json_object_object_add(o, "ntt", ntt);
		json_object_object_add(o, "stp", number(drive_stp(&r[k], e->population->base)));
		json_object_object_add(o, "antt", number(drive_antt(&r[k], e->population->base)));
		json_object_object_add(o, "seconds", number(r[k].elapsed_s));
		json_object_array_add(list, o);
	}
	free(program);
	return list;
}

static int print_json(const struct eval *e, const struct args *a, const struct drive_result *r)
{
	json_object *out = json_object_new_object(), *list = json_object_new_array();
	int rc;

	json_object_object_add(out, "bench", json_object_new_string("eval"));
	json_object_object_add(out, "schema", json_object_new_int(1));
	json_object_object_add(out, "provenance", json_object_new_string("simulated"));
	json_object_object_add(out, "population", json_object_new_string(e->population->name));
	json_object_object_add(out, "topology", json_object_new_string(a->topology));
	json_object_object_add(out, "seed", json_object_new_int64((int64_t)e->seed));
	json_object_object_add(out, "combos", json_object_new_int(e->n_combos));
	json_object_object_add(out, "jobs", json_object_new_int(e->n_jobs));
	json_object_object_add(out, "penalties", json_object_new_string(e->m->p.penalties.name));
	json_object_object_add(out, "stp_gain_against", json_object_new_string(e->policy[0]));
	for (int p = 0; p < e->n_policies; p++) {
		struct figures f;
		json_object *o;

		if (summarise(e, r + (size_t)p * (size_t)e->n_combos, r, &f)) {
			json_object_put(out);
			json_object_put(list);
			return SIM_FAILED;
		}
		o = policy_json(e, e->policy[p], &f);
		if (a->per_combo)
			json_object_object_add(o, "combinations",
				combos_json(e, r + (size_t)p * (size_t)e->n_combos));
		json_object_array_add(list, o);
	}
	json_object_object_add(out, "results", list);
	rc = puts(json_object_to_json_string_ext(
		     out, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE)) < 0 ||
	     fflush(stdout) != 0;
	json_object_put(out);
	return rc ? SIM_FAILED : SIM_OK;
}

static int print_text(const struct eval *e, const struct args *a, const struct drive_result *r)
{
	static const char *const base[] = {"on all cores", "on its best width", "on its share"};

	printf("simulated: population %s, %d combinations of %d on \"%s\", seed %llu, penalties "
	       "%s; against each program alone %s\n",
		e->population->name, e->n_combos, e->n_jobs, a->topology,
		(unsigned long long)e->seed, e->m->p.penalties.name, base[e->population->base]);
	printf("%-24s %-20s %-20s %9s %8s %6s %6s  STP against %s\n", "policy", "STP", "ANTT",
		"worst NTT", "moves/s", "<0.85", "worst", e->policy[0]);
	for (int p = 0; p < e->n_policies; p++) {
		struct figures f;

		if (summarise(e, r + (size_t)p * (size_t)e->n_combos, r, &f))
			return SIM_FAILED;
		printf("%-24s %5.3f [%5.3f %5.3f]  %5.3f [%5.3f %5.3f]  %9.2f %8.3f %5.1f%% %6.3f  "
		       "%+6.2f%% [%+.2f %+.2f]\n",
			e->policy[p], f.stp.mean, f.stp.low, f.stp.high, f.antt.mean, f.antt.low,
			f.antt.high, f.worst, f.moves, 100 * f.violations, f.worst_of_fair,
			100 * f.gain.mean, 100 * f.gain.low, 100 * f.gain.high);
	}
	printf("<0.85, worst: of each program's speed on its equal share alone\n");
	return fflush(stdout) ? SIM_FAILED : SIM_OK;
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

static int run_eval(const struct args *a, struct eval *e)
{
	cleanup_free struct drive_result *r =
		calloc((size_t)e->n_policies * (size_t)e->n_combos, sizeof(*r));
	struct errbuf err = {"out of memory"};

	if (!r || eval_run(e, r, &err)) {
		fprintf(stderr, "colocsim eval: %s\n", err.text);
		return SIM_FAILED;
	}
	return a->json ? print_json(e, a, r) : print_text(e, a, r);
}

int sim_eval(int argc, char **argv)
{
	struct args a = {.seed = 1, .combos = 32};
	struct population population;
	__attribute__((cleanup(free_topo_p))) struct topo *t = NULL;
	cleanup_free char *policies = NULL;
	struct eval e = {.population = &population};
	struct machine_params params;
	struct machine m;
	struct errbuf err = {""};
	enum topo_level level;
	int rc = read_args(&a, argc, argv);

	if (rc >= 0)
		return rc;
	rc = population_find(&population, a.population, &err);
	if (rc == -ENOENT)
		return usage("%s", err.text);
	if (a.models && strcmp(population.name, "measured") != 0)
		return usage("--models=%s: only population measured is made of models", a.models);
	if (a.models)
		rc = population_models(&population, a.models, &err);
	if (rc) {
		fprintf(stderr, "colocsim eval: %s\n", err.text);
		return SIM_FAILED;
	}
	rc = set_machine(&a, &population, &params);
	if (rc >= 0)
		return rc;
	policies = strdup(a.policies);
	if (!policies)
		return SIM_FAILED;
	rc = split_policies(policies, &e);
	if (rc >= 0)
		return rc;
	level = a.topology ? TOPO_AUTO : population.domain;
	if (a.domain && topo_level_parse(a.domain, &level))
		return usage("--domain=%s: auto, package, numa, l3, l2 or core expected", a.domain);
	if (!a.topology)
		a.topology = population.topology;
	e.seed = (uint64_t)a.seed;
	e.n_combos = (int)a.combos;
	e.n_jobs = a.jobs > 0 ? (int)a.jobs : population.n_jobs;
	e.threads = (int)a.threads;
	e.workers = (int)a.workers;
	e.progress = isatty(STDERR_FILENO) ? show_progress : NULL;
	drive_defaults(&e.drive);
	if (a.seconds > 0)
		e.drive.most_s = a.seconds;
	if (a.runs > 0)
		e.drive.min_runs = (int)a.runs;
	if (a.sample_ms > 0)
		e.drive.sample_s = a.sample_ms / 1e3;
	e.drive.decide_s = a.decide_ms / 1e3;
	e.drive.phases = a.phases;
	e.drive.shuffle = a.shuffle;
	if (topo_load(&t, a.topology, &err) || topo_set_domains(t, level, &err)) {
		fprintf(stderr, "colocsim eval: %s: %s\n", a.topology, err.text);
		return SIM_FAILED;
	}
	for (int p = 0; p < e.n_policies; p++)
		if (drive_check(e.policy[p], t, e.n_jobs, &err))
			return usage("%s", err.text);
	if (a.sensitivity > 0)
		return sim_sensitivity(&e, t, &params, a.topology, a.sensitivity, a.json);
	if (machine_init(&m, t, &params, &err)) {
		fprintf(stderr, "colocsim eval: %s\n", err.text);
		return SIM_FAILED;
	}
	e.m = &m;
	rc = run_eval(&a, &e);
	machine_done(&m);
	return rc;
}
