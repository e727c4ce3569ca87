/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * realmix - what sharing one real node costs and what brings it back: a mix of programs under
 * real Slurm, alone and together, with nothing set (plain), with short spinning or passive waiting
 * set by hand (tuned, passive), and under policies.
 *
 * With --state each measurement is kept in a file of its own and all arms are measured in
 * turns, round after round (rounds.h); without, each arm once, printed at the end.
 *
 * How it measures. Each program of a mix is a Slurm job of its own: an allocation of the whole
 * node (so the partition must let jobs share: OverSubscribe=FORCE), held open by `salloc
 * --no-shell`. A run is one `srun` step in it, timed from the start of srun to its end, as its
 * user would: launch included, alike in all arms, and small beside the run (30 ms inside an
 * allocation, 60-160 ms with an allocation for each run). A policy sees each run arrive and end.
 *
 *   solo      the program alone in plain, --min-runs runs (3) one after the other; their median.
 *   batch     all programs submitted at once (or as far apart as the mix says), each run once:
 *             `makespan_s`, and `work` = sum of the solo times / makespan.
 *   sustained all programs start together; one that ends is started again at once, until each has
 *             completed --min-runs. That moment closes the window in which all are running;
 *             runs then under way are ended and not counted. T_corun of a program is the mean of
 *             its runs completed in the window (the first ones included: they start together).
 *             STP = sum of solo / T_corun, ANTT = mean of T_corun / solo.
 *
 * Arms "serial" and "slurmgang" are the other ways to share a node: one job after another, each
 * alone (a program that is started again waits in line, and its wait counts), and Slurm's gang
 * scheduling. The latter creates no steps in a suspended job, so its jobs are batch jobs without an
 * inner srun, and MPI programs start by mpirun: unlike all other arms.
 *
 * A solo, batch or sustained measurement during which others used more than 2 % of the machine
 * (--max-foreign) (their processes, steal) is repeated, 5 tries in all, then reported as disturbed
 * and left out. Variables that any arm or user could have set for OpenMP, Open MPI or coloc are
 * removed first.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/out.h"
#include "contrib/bench/realmix/mixes.h"
#include "contrib/bench/realmix/profile.h"
#include "contrib/bench/realmix/report.h"
#include "contrib/bench/realmix/rounds.h"
#include "contrib/bench/realmix/summary.h"

#define RESULTS_MAX 128
#define RESAMPLES   2000
#define SEED        1

static const char *const removed[] = {"OMP_NUM_THREADS", "OMP_WAIT_POLICY", "OMP_PROC_BIND",
	"OMP_PLACES", "OMP_DYNAMIC", "GOMP_SPINCOUNT", "GOMP_CPU_AFFINITY", "KMP_BLOCKTIME",
	"KMP_AFFINITY", "OMPI_MCA_mpi_yield_when_idle", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
	"BLIS_NUM_THREADS"};

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	stop = sig;
}

struct args {
	const char *mix, *arms, *dir, *inputs, *gang_conf, *socket, *service_conf;
	const char *state, *first, *sustained;
	int min_runs, tries, foreign_percent, cut, rounds, minutes;
	bool json, resume, report, profile;
	struct report_input to_report;
};

static void usage(FILE *to)
{
	fputs("usage: realmix [OPTION]...\n"
	      "       realmix --report DIR [DIR] [--dag=FILE] [--rebind=FILE] [--ompregion=FILE]\n"
	      "Runs a mix of programs on a Slurm node, alone and together (SLURM_CONF says "
	      "which).\n\n"
	      "  --mix=NAME[,NAME]     mixed, openmp (the tree's own programs; default), gromacs,\n"
	      "                        mpi (LAMMPS), mpi-long, both, numpy, espresso, four\n"
	      "                        (GROMACS, LAMMPS, numpy, Quantum ESPRESSO), four-pool (a\n"
	      "                        Python pool for LAMMPS), lammps-numpy, pools, bursty,\n"
	      "                        waits, unequal, openmp-long; first-waits-40, -110, -200:\n"
	      "                        submitted in order, 300 ms apart\n"
	      "  --arms=NAME[,NAME]    default: plain,tuned,coloc; also unbound and\n"
	      "                        tuned-unbound (with --cpu-bind=none), passive, serial (one "
	      "after\n"
	      "                        another), slurmgang (batch jobs without inner srun, in a\n"
	      "                        partition with PreemptMode=SUSPEND,GANG), numad, one (fair\n"
	      "                        with one thread a granted core, set by hand), granted "
	      "(fair\n"
	      "                        with launch_env.threads: granted), a policy's\n"
	      "                        name, omp (fair with --coloc-omp), omp-keep (and\n"
	      "                        COLOC_OMP_KEEP_THREADS)\n"
	      "  --programs-dir=DIR    where spin, cachehog, pagerank, stencil and bursty are\n"
	      "                        (default: ../../programs/bin beside this program)\n"
	      "  --inputs=DIR          where GROMACS's water.tpr is\n"
	      "  --gang-conf=FILE      slurm.conf of slurmgang's cluster (default: SLURM_CONF)\n"
	      "  --socket=PATH         colocd's, to ask which policy rules\n"
	      "  --profile             first have colocd profile each program on one socket, for\n"
	      "                        policies that go by profiles (lira-static, llc-complex, "
	      "dio,\n"
	      "                        lira where loads are not counted); takes minutes\n"
	      "  --service-conf=FILE   its configuration, a copy of FILE.usual; of FILE.granted "
	      "in\n"
	      "                        the arm granted\n"
	      "  --min-runs=N          runs each program must complete (default 3)\n"
	      "  --tries=N             tries before a measurement counts as disturbed (default 5)\n"
	      "  --max-foreign=PERCENT of the machine that others may use (default 2)\n"
	      "  --cut=N               end a batch after N times the solo times' sum (default 10; "
	      "0\n"
	      "                        never): its makespan is then a lower bound, STP is not\n"
	      "                        measured\n"
	      "  --json                print JSON, not a table\n\n"
	      "Many rounds, each result kept in a file:\n"
	      "  --state=DIR           of results; it must be empty unless --resume\n"
	      "  --resume              measure only what is not there or was disturbed\n"
	      "  --rounds=N            of all arms, interleaved (default 3)\n"
	      "  --sustained=NAME,...  arms that are measured restarted, too (STP)\n"
	      "  --minutes=N           begin nothing new after so long\n"
	      "  --choose-from=DIR     arms may name `best' and `peer': the policy and the peer "
	      "that\n"
	      "                        were fastest in that run\n"
	      "  --report DIR [DIR]    print what was found as Markdown: a first run and a "
	      "second\n",
		to);
}

static int parse_number(const char *option, const char *text, int min, int max)
{
	char *end;
	long v = strtol(text, &end, 10);

	if (end == text || *end || v < min || v > max) {
		fprintf(stderr, "realmix: %s='%s' is not a number from %d to %d\n", option, text,
			min, max);
		exit(2);
	}
	return (int)v;
}

static bool in_list(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!strncmp(at, name, len) && (at[len] == ',' || !at[len]))
			return true;
	return false;
}

/* Every name of @list must be one that @known() knows, or one of @also (NULL: none). */
static void check_list(
	const char *option, const char *list, const char *(*known)(size_t), const char *also)
{
	char copy[512], *save = NULL;

	if (strlen(list) >= sizeof(copy)) {
		fprintf(stderr, "realmix: %s: too long\n", option);
		exit(2);
	}
	snprintf(copy, sizeof(copy), "%s", list);
	for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
		size_t i = 0;

		if (also && in_list(also, w))
			continue;
		while (known(i) && strcmp(known(i), w) != 0)
			i++;
		if (!known(i)) {
			fprintf(stderr, "realmix: %s: '%s' is none of:", option, w);
			for (i = 0; known(i); i++)
				fprintf(stderr, " %s", known(i));
			fputc('\n', stderr);
			exit(2);
		}
	}
}

static const char *mix_name(size_t i)
{
	const struct mix *mix = mixes_get(i);

	return mix ? mix->name : NULL;
}

static const char *arm_name(size_t i)
{
	const struct arm *arm = arms_get(i);

	return arm ? arm->name : NULL;
}

static const char *value_of(const char *arg, const char *option)
{
	size_t len = strlen(option);

	return !strncmp(arg, option, len) && arg[len] == '=' ? arg + len + 1 : NULL;
}

/* A text option; false: @arg is none of them. */
static bool parse_text(struct args *a, const char *arg)
{
	const struct {
		const char *option, **ret;
	} text[] = {
		{"--mix", &a->mix},
		{"--arms", &a->arms},
		{"--programs-dir", &a->dir},
		{"--inputs", &a->inputs},
		{"--gang-conf", &a->gang_conf},
		{"--socket", &a->socket},
		{"--service-conf", &a->service_conf},
		{"--state", &a->state},
		{"--sustained", &a->sustained},
		{"--choose-from", &a->first},
		{"--dag", &a->to_report.dag},
		{"--rebind", &a->to_report.rebind},
		{"--ompregion", &a->to_report.omp_region},
	};

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		const char *v = value_of(arg, text[i].option);

		if (v) {
			*text[i].ret = v;
			return true;
		}
	}
	return false;
}

static bool parse_numbers(struct args *a, const char *arg)
{
	const struct {
		const char *option;
		int min, max, *ret;
	} number[] = {
		{"--min-runs", 1, RUNS_MAX, &a->min_runs},
		{"--tries", 1, 100, &a->tries},
		{"--cut", 0, 1000, &a->cut},
		{"--max-foreign", 0, 100, &a->foreign_percent},
		{"--rounds", 1, ROUNDS_MAX, &a->rounds},
		{"--minutes", 1, 100000, &a->minutes},
	};

	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++) {
		const char *v = value_of(arg, number[i].option);

		if (v) {
			*number[i].ret =
				parse_number(number[i].option, v, number[i].min, number[i].max);
			return true;
		}
	}
	return false;
}

static struct args parse(int argc, char **argv)
{
	struct args a = {.mix = "mixed,openmp",
		.arms = "plain,tuned,coloc",
		.min_runs = 3,
		.tries = 5,
		.foreign_percent = 2,
		.rounds = 3,
		.cut = 10};
	const char *chosen;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help")) {
			usage(stdout);
			exit(0);
		} else if (!strcmp(argv[i], "--json")) {
			a.json = true;
		} else if (!strcmp(argv[i], "--resume")) {
			a.resume = true;
		} else if (!strcmp(argv[i], "--profile")) {
			a.profile = true;
		} else if (!strcmp(argv[i], "--report")) {
			a.report = true;
		} else if (a.report && argv[i][0] != '-' && !a.to_report.second_dir) {
			*(a.to_report.first_dir ? &a.to_report.second_dir
						: &a.to_report.first_dir) = argv[i];
		} else if (!parse_text(&a, argv[i]) && !parse_numbers(&a, argv[i])) {
			fprintf(stderr, "realmix: '%s' is not an option\n", argv[i]);
			usage(stderr);
			exit(2);
		}
	}
	chosen = a.first ? "best,peer" : NULL;
	check_list("--mix", a.mix, mix_name, NULL);
	check_list("--arms", a.arms, arm_name, a.state ? chosen : NULL);
	if (a.sustained)
		check_list("--sustained", a.sustained, arm_name, chosen);
	if (!a.state && (a.resume || a.first || a.sustained || a.minutes)) {
		fputs("realmix: --resume, --choose-from, --sustained and --minutes need --state\n",
			stderr);
		exit(2);
	}
	if (a.profile && !a.socket) {
		fputs("realmix: --profile needs --socket\n", stderr);
		exit(2);
	}
	return a;
}

struct result {
	const struct mix *mix;
	const struct arm *arm;
	bool disturbed, cut;
	double work, makespan_s, foreign_ratio, solo_s;
	struct score score;
	char policy[64]; /* that ruled; "" none was asked for */
	int runs[PROGRAMS_MAX];
	double corun_s[PROGRAMS_MAX];
};

static void print_json(const struct result *r, int n)
{
	const char *sep = "";

	printf("{\"bench\": \"realmix\", \"provenance\": \"measured\", \"results\": [");
	for (int i = 0; i < n; i++) {
		if (r[i].disturbed)
			continue;
		if (r[i].cut) {
			printf("%s\n  {\"mix\": \"%s\", \"arm\": \"%s\", \"cut\": true, "
			       "\"work\": %.4f, \"makespan_s\": %.3f, \"solo_sum_s\": %.3f, "
			       "\"stp\": null, \"antt\": null, \"foreign_ratio\": %.4f}",
				sep, r[i].mix->name, r[i].arm->name, r[i].work, r[i].makespan_s,
				r[i].solo_s, r[i].foreign_ratio);
			sep = ",";
			continue;
		}
		printf("%s\n  {\"mix\": \"%s\", \"arm\": \"%s\", \"work\": %.4f, \"stp\": %.4f, "
		       "\"stp_lo\": %.4f, \"stp_hi\": %.4f, \"antt\": %.4f, \"worst_ntt\": %.4f, "
		       "\"makespan_s\": %.3f, \"solo_sum_s\": %.3f, \"foreign_ratio\": %.4f, "
		       "\"policy\": %s%s%s, \"programs\": [",
			sep, r[i].mix->name, r[i].arm->name, r[i].work, r[i].score.stp,
			r[i].score.stp_lo, r[i].score.stp_hi, r[i].score.antt, r[i].score.worst_ntt,
			r[i].makespan_s, r[i].solo_s, r[i].foreign_ratio,
			r[i].policy[0] ? "\"" : "", r[i].policy[0] ? r[i].policy : "null",
			r[i].policy[0] ? "\"" : "");
		for (int p = 0; p < r[i].mix->n; p++)
			printf("%s{\"name\": \"%s\", \"runs\": %d, \"corun_s\": %.3f}",
				p ? ", " : "", r[i].mix->program[p].name, r[i].runs[p],
				r[i].corun_s[p]);
		printf("]}");
		sep = ",";
	}
	printf("],\n \"disturbed\": [");
	sep = "";
	for (int i = 0; i < n; i++)
		if (r[i].disturbed) {
			printf("%s{\"mix\": \"%s\", \"arm\": \"%s\", \"foreign_ratio\": %.4f}", sep,
				r[i].mix->name, r[i].arm->name, r[i].foreign_ratio);
			sep = ", ";
		}
	printf("]}\n");
}

static void print_table(const struct result *r, int n)
{
	printf("%-8s %-9s %6s %6s %15s %7s %9s %10s\n", "mix", "arm", "work", "STP", "95 %", "ANTT",
		"worst NTT", "makespan s");
	for (int i = 0; i < n; i++)
		if (r[i].disturbed)
			printf("%-8s %-9s disturbed (others used %.1f %% of the machine)\n",
				r[i].mix->name, r[i].arm->name, 100 * r[i].foreign_ratio);
		else if (r[i].cut)
			printf("%-8s %-9s <=%.2f  cut: makespan >= %.2f s\n", r[i].mix->name,
				r[i].arm->name, r[i].work, r[i].makespan_s);
		else
			printf("%-8s %-9s %6.2f %6.2f %7.2f-%-7.2f %7.2f %9.2f %10.2f\n",
				r[i].mix->name, r[i].arm->name, r[i].work, r[i].score.stp,
				r[i].score.stp_lo, r[i].score.stp_hi, r[i].score.antt,
				r[i].score.worst_ntt, r[i].makespan_s);
}

/* Solo times of all programs of a mix, each distinct one once; shared vectors, owner frees. */
static int solos(struct setting *s, const struct mix *mix, struct measured *ret, int *n_ret,
	struct times solo[PROGRAMS_MAX], double *ret_foreign, struct errbuf *err)
{
	*n_ret = 0;
	*ret_foreign = 0.0;
	for (int p = 0; p < mix->n; p++) {
		int same = 0, rc;

		while (same < p && strcmp(mix->program[same].name, mix->program[p].name) != 0)
			same++;
		if (same < p) {
			solo[p] = solo[same];
			continue;
		}
		s->label = mix->program[p].name;
		rc = measure_solo(s, &mix->program[p], arms_get(0), &ret[*n_ret], err);
		if (rc)
			return rc;
		solo[p] = ret[*n_ret].times[0];
		if (ret[*n_ret].disturbed)
			*ret_foreign = fmax(*ret_foreign, ret[*n_ret].foreign_ratio);
		fprintf(stderr, "realmix: %s alone: %.3f s%s\n", mix->program[p].name,
			stats_median(solo[p].s, solo[p].n),
			ret[*n_ret].disturbed ? " (disturbed)" : "");
		++*n_ret;
	}
	s->label = mix->name;
	return 0;
}

static int run_arm(const struct setting *s, const struct mix *mix, const struct arm *arm,
	const struct times *solo, struct result *r, struct errbuf *err)
{
	struct measured batch = {0}, sustained = {0};
	struct setting setting = *s;
	int rc = 0;

	if (arm->kind == ARM_POLICY)
		rc = measure_policy(s, &mix->program[0], arm, r->policy, sizeof(r->policy), err);
	for (int p = 0; p < mix->n; p++)
		r->solo_s += stats_median(solo[p].s, solo[p].n);
	setting.cut_s = s->cut_s * r->solo_s;
	if (!rc)
		rc = measure_batch(&setting, mix, arm, &batch, err);
	if (!rc) {
		r->makespan_s = batch.makespan_s;
		r->cut = batch.cut;
		r->work = r->solo_s / batch.makespan_s;
		fprintf(stderr, "realmix: %s, %s: all at once in %.2f s\n", mix->name, arm->name,
			batch.makespan_s);
		if (r->cut)
			fprintf(stderr, "realmix: %s, %s: cut there\n", mix->name, arm->name);
		else
			rc = measure_sustained(s, mix, arm, &sustained, err);
	}
	if (!rc && r->cut) {
		r->disturbed = batch.disturbed;
		r->foreign_ratio = batch.foreign_ratio;
	} else if (!rc) {
		r->disturbed = batch.disturbed || sustained.disturbed;
		r->foreign_ratio = fmax(batch.foreign_ratio, sustained.foreign_ratio);
		for (int p = 0; p < mix->n; p++) {
			r->runs[p] = sustained.times[p].n;
			r->corun_s[p] = stats_mean(sustained.times[p].s, sustained.times[p].n);
		}
		rc = stats_score(&r->score, solo, sustained.times, mix->n, RESAMPLES, SEED);
		fprintf(stderr, "realmix: %s, %s: STP %.2f, ANTT %.2f%s\n", mix->name, arm->name,
			r->score.stp, r->score.antt, r->disturbed ? " (disturbed)" : "");
	}
	measured_free(&batch);
	measured_free(&sustained);
	return rc;
}

static int run_mix(struct setting *s, const struct args *a, const struct mix *base,
	struct result *result, int *n_results, struct errbuf *err)
{
	struct mix_paths paths = {a->dir, a->inputs, s->node.cpus};
	struct measured alone[PROGRAMS_MAX];
	struct times solo[PROGRAMS_MAX];
	struct mix mix;
	double foreign;
	int n_alone = 0, rc = mix_prepare(base, &paths, &mix, err);

	if (rc)
		return rc;
	rc = solos(s, &mix, alone, &n_alone, solo, &foreign, err);
	for (size_t i = 0; arms_get(i) && !rc; i++) {
		struct result *r = &result[*n_results];

		if (!in_list(a->arms, arms_get(i)->name))
			continue;
		*r = (struct result){.mix = base, .arm = arms_get(i)};
		++*n_results;
		if (foreign > 0) { /* nothing to compare with */
			r->disturbed = true;
			r->foreign_ratio = foreign;
		} else {
			rc = run_arm(s, &mix, arms_get(i), solo, r, err);
			if (rc)
				--*n_results;
		}
	}
	for (int i = 0; i < n_alone; i++)
		measured_free(&alone[i]);
	return rc;
}

static void prepare_environment(void)
{
	struct sigaction act = {.sa_handler = on_signal};
	sigset_t child;

	for (size_t i = 0; i < sizeof(removed) / sizeof(removed[0]); i++)
		unsetenv(removed[i]);
	/* Inside a job, srun would take its sizes and bindings. */
	for (char **e = environ; *e;) {
		char name[128];

		if ((strncmp(*e, "SLURM_", 6) != 0 && strncmp(*e, "COLOC_", 6) != 0 &&
			    strncmp(*e, "SLURMD_", 7) != 0) ||
			strncmp(*e, "SLURM_CONF=", 11) == 0) {
			e++;
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*e, "="), *e);
		if (unsetenv(name))
			e++;
	}
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
}

static void show_log(FILE *log)
{
	char line[512];

	rewind(log);
	while (fgets(line, sizeof(line), log))
		if (strncmp(line, "program=", 8) != 0)
			fprintf(stderr, "realmix: srun: %s", line);
}

static int run_once(struct setting *s, const struct args *a, struct errbuf *err)
{
	static struct result result[RESULTS_MAX];
	int n = 0, rc = 0, measured = 0;

	for (size_t i = 0; mixes_get(i) && !rc; i++)
		if (in_list(a->mix, mixes_get(i)->name) && n + ARMS_MAX <= RESULTS_MAX)
			rc = run_mix(s, a, mixes_get(i), result, &n, err);
	for (int i = 0; i < n; i++)
		measured += !result[i].disturbed;
	if (n && a->json)
		print_json(result, n);
	else if (n)
		print_table(result, n);
	if (!rc && !measured)
		rc = err_set(err, -EAGAIN, "others kept the machine busy: nothing measured");
	return rc;
}

static int run_rounds(struct setting *s, const struct args *a, struct errbuf *err)
{
	struct rounds r = {
		.dir = a->state,
		.first_dir = a->first,
		.mixes = a->mix,
		.arms = a->arms,
		.sustained = a->sustained,
		.rounds = a->rounds,
		.cut = a->cut,
		.until = a->minutes * 60.0,
		.paths = {a->dir, a->inputs, s->node.cpus},
	};
	int used;

	if (mkdir(a->state, 0755) && errno != EEXIST)
		return err_set(err, -errno, "%s: %s", a->state, strerror(errno));
	used = state_is_used(a->state, err);
	if (used < 0)
		return used;
	if (used && !a->resume)
		return err_set(
			err, -EEXIST, "%s: has results: --resume goes on with them", a->state);
	return rounds_run(s, &r, err);
}

static int profile_all(const struct setting *s, const struct args *a, struct errbuf *err)
{
	struct mix_paths paths = {.programs = a->dir, .inputs = a->inputs, .cpus = s->node.cpus};
	char done[4096] = "";
	int rc = 0;

	for (size_t i = 0; mixes_get(i) && !rc; i++) {
		struct mix mix;

		if (!in_list(a->mix, mixes_get(i)->name))
			continue;
		rc = mix_prepare(mixes_get(i), &paths, &mix, err);
		if (!rc)
			rc = profile_mix(&mix, a->socket, s->log_fd, done, sizeof(done), err);
	}
	return rc;
}

/* Also slurmgang's node, where it is another cluster's. */
static int find_nodes(struct setting *s, const struct args *a, struct errbuf *err)
{
	char conf[512];
	const char *now = getenv("SLURM_CONF");
	int rc = slurm_find_node(&s->node, err);

	if (rc || !a->gang_conf)
		return rc;
	snprintf(conf, sizeof(conf), "%s", now ? now : "");
	snprintf(s->gang_conf, sizeof(s->gang_conf), "%s", a->gang_conf);
	setenv("SLURM_CONF", s->gang_conf, 1);
	rc = slurm_find_node(&s->gang_node, err);
	if (now)
		setenv("SLURM_CONF", conf, 1);
	else
		unsetenv("SLURM_CONF");
	return rc;
}

static int run_or_report(int argc, char **argv)
{
	struct args a = parse(argc, argv);
	struct setting s = {.min_runs = a.min_runs,
		.tries = a.tries,
		.stop = &stop,
		.cut_s = a.cut,
		.socket = a.socket,
		.conf = a.service_conf,
		.foreign_limit = a.foreign_percent / 100.0};
	char beside[512];
	struct errbuf err = {""};
	FILE *log;
	int rc;

	if (a.report) {
		rc = (a.json ? report_print_json : report_print)(stdout, &a.to_report, &err);
		if (rc)
			fprintf(stderr, "realmix: %s\n", err.text);
		return rc ? 1 : 0;
	}
	log = tmpfile();
	if (!a.dir) {
		const char *slash = strrchr(argv[0], '/');

		snprintf(beside, sizeof(beside), "%.*s../../programs/bin",
			slash ? (int)(slash - argv[0]) + 1 : 0, argv[0]);
		a.dir = beside;
	}
	if (!log) {
		fprintf(stderr, "realmix: temporary file: %s\n", strerror(errno));
		return 1;
	}
	fcntl(fileno(log), F_SETFL, O_APPEND); /* several write it at once */
	fcntl(fileno(log), F_SETFD, FD_CLOEXEC);
	s.log_fd = fileno(log);
	prepare_environment();
	rc = find_nodes(&s, &a, &err);
	if (!rc && a.profile)
		rc = profile_all(&s, &a, &err);
	if (!rc)
		rc = a.state ? run_rounds(&s, &a, &err) : run_once(&s, &a, &err);
	if (rc) {
		fprintf(stderr, "realmix: %s\n", err.text);
		if (rc != -EINTR && rc != -ETIME && rc != -EAGAIN)
			show_log(log);
	}
	fclose(log);
	return rc ? 1 : 0;
}

int main(int argc, char **argv)
{
	out_check_at_exit("realmix");
	return run_or_report(argc, argv);
}
