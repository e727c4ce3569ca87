/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * realmix - what sharing one real node costs and what brings it back: a mix of programs under
 * real Slurm, alone and together, with nothing set (plain), with short spinning set by hand
 * (tuned), and under a policy (coloc).
 *
 * How it measures. Each program of a mix is a Slurm job of its own: an allocation of the whole
 * node (so the partition must let jobs share: OverSubscribe=FORCE), held open by `salloc
 * --no-shell`. A run is one `srun` step in it, timed from the start of srun to its end, as its
 * user would: launch included, alike in all arms, and small beside the run (30 ms inside an
 * allocation, 60-160 ms with an allocation for each run). A policy sees each run arrive and end.
 *
 *   solo      the program alone in plain, --min-runs runs (3) one after the other; their median.
 *   batch     all programs submitted at once, each run once: `makespan_s`, and `work` = sum of
 *             the solo times / makespan.
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

#include "contrib/bench/realmix/measure.h"

#define RESAMPLES 2000
#define SEED      1

/* LAMMPS's Lennard-Jones melt, about 5 s alone on two cores; argv[2] is filled in. */
#define LAMMPS                                                                                     \
	{                                                                                          \
		"lmp", {"/usr/bin/lmp", "-in", NULL, "-log", "none", "-screen", "none"}, 2         \
	}

static const struct mix mixes[] = {
	{"mixed",
		{{"spin", {0}, 0}, {"cachehog", {0}, 0}, {"pagerank", {0}, 0}, {"stencil", {0}, 0}},
		4},
	{"openmp",
		{{"stencil", {0}, 0}, {"stencil", {0}, 0}, {"stencil", {0}, 0},
			{"stencil", {0}, 0}},
		4},
	{"mpi", {LAMMPS, LAMMPS, LAMMPS, LAMMPS}, 4},
	{"bursty",
		{{"bursty", {0}, 0}, {"bursty", {0}, 0}, {"stencil", {0}, 0}, {"stencil", {0}, 0}},
		4},
};
#define N_MIXES (sizeof(mixes) / sizeof(mixes[0]))

static const struct arm arms[] = {
	{.name = "plain"},
	{.name = "tuned", .env = {"GOMP_SPINCOUNT=1000", "OMPI_MCA_mpi_yield_when_idle=1"}},
	{.name = "coloc", .option = {"--coloc-policy=lira"}},
	{.name = "fair", .option = {"--coloc-policy=fair"}},
	{.name = "gang", .option = {"--coloc-policy=gang"}},
	{.name = "callisto", .option = {"--coloc-policy=callisto"}},
	{.name = "omp", .option = {"--coloc-policy=fair", "--coloc-omp"}},
	{.name = "serial", .mode = MODE_SERIAL},
	{.name = "slurmgang", .mode = MODE_BATCH},
};
#define N_ARMS (sizeof(arms) / sizeof(arms[0]))

static const char *const removed[] = {"OMP_NUM_THREADS", "OMP_WAIT_POLICY", "OMP_PROC_BIND",
	"OMP_PLACES", "OMP_DYNAMIC", "GOMP_SPINCOUNT", "GOMP_CPU_AFFINITY", "KMP_BLOCKTIME",
	"KMP_AFFINITY", "OMPI_MCA_mpi_yield_when_idle"};

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	stop = sig;
}

struct args {
	const char *mix, *arms, *dir;
	int min_runs, tries, foreign_percent, cut;
	bool json;
};

static void usage(FILE *to)
{
	fputs("usage: realmix [OPTION]...\n"
	      "Runs a mix of programs on a Slurm node, alone and together (SLURM_CONF says "
	      "which).\n\n"
	      "  --mix=NAME[,NAME]     mixed, openmp, mpi (LAMMPS), bursty (default: "
	      "mixed,openmp)\n"
	      "  --arms=NAME[,NAME]    default: plain,tuned,coloc; also fair, gang, callisto, omp\n"
	      "                        (policies; omp: fair with --coloc-omp), serial (one after\n"
	      "                        another), slurmgang (batch jobs without inner srun, in a\n"
	      "                        partition with PreemptMode=SUSPEND,GANG)\n"
	      "  --programs-dir=DIR    where spin, cachehog, pagerank, stencil and bursty are\n"
	      "                        (default: ../../programs/bin beside this program)\n"
	      "  --min-runs=N          runs each program must complete (default 3)\n"
	      "  --tries=N             tries before a measurement counts as disturbed (default 5)\n"
	      "  --max-foreign=PERCENT of the machine that others may use (default 2)\n"
	      "  --cut=N               end a batch after N times the solo times' sum (default 10; "
	      "0\n"
	      "                        never): its makespan is then a lower bound, STP is not\n"
	      "                        measured\n"
	      "  --json                print JSON, not a table\n",
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

/* Every name of @list must be one that @known() knows. */
static void check_list(const char *option, const char *list, const char *(*known)(size_t))
{
	char copy[256], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", list);
	for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
		size_t i = 0;

		while (known(i) && strcmp(known(i), w))
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
	return i < N_MIXES ? mixes[i].name : NULL;
}

static const char *arm_name(size_t i)
{
	return i < N_ARMS ? arms[i].name : NULL;
}

static const char *value_of(const char *arg, const char *option)
{
	size_t len = strlen(option);

	return !strncmp(arg, option, len) && arg[len] == '=' ? arg + len + 1 : NULL;
}

static struct args parse(int argc, char **argv)
{
	struct args a = {.mix = "mixed,openmp",
		.arms = "plain,tuned,coloc",
		.min_runs = 3,
		.tries = 5,
		.foreign_percent = 2,
		.cut = 10};
	const char *v;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help")) {
			usage(stdout);
			exit(0);
		} else if (!strcmp(argv[i], "--json")) {
			a.json = true;
		} else if ((v = value_of(argv[i], "--mix"))) {
			check_list("--mix", a.mix = v, mix_name);
		} else if ((v = value_of(argv[i], "--arms"))) {
			check_list("--arms", a.arms = v, arm_name);
		} else if ((v = value_of(argv[i], "--programs-dir"))) {
			a.dir = v;
		} else if ((v = value_of(argv[i], "--min-runs"))) {
			a.min_runs = parse_number("--min-runs", v, 1, RUNS_MAX);
		} else if ((v = value_of(argv[i], "--tries"))) {
			a.tries = parse_number("--tries", v, 1, 100);
		} else if ((v = value_of(argv[i], "--cut"))) {
			a.cut = parse_number("--cut", v, 0, 1000);
		} else if ((v = value_of(argv[i], "--max-foreign"))) {
			a.foreign_percent = parse_number("--max-foreign", v, 0, 100);
		} else {
			fprintf(stderr, "realmix: '%s' is not an option\n", argv[i]);
			usage(stderr);
			exit(2);
		}
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

		while (same < p && strcmp(mix->program[same].name, mix->program[p].name))
			same++;
		if (same < p) {
			solo[p] = solo[same];
			continue;
		}
		s->label = mix->program[p].name;
		rc = measure_solo(s, &mix->program[p], &arms[0], &ret[*n_ret], err);
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

	if (arm->option[0])
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

static char input_path[] = "/tmp/realmix-lammps-XXXXXX";
static bool has_input;

static void remove_input(void)
{
	if (has_input)
		unlink(input_path);
}

/* Written once; readable by whoever runs the jobs. NULL: @err says why. */
static const char *lammps_input(struct errbuf *err)
{
	static const char text[] =
		"units lj\natom_style atomic\nlattice fcc 0.8442\n"
		"region box block 0 20 0 20 0 20\ncreate_box 1 box\ncreate_atoms 1 box\n"
		"mass 1 1.0\nvelocity all create 3.0 87287 loop geom\npair_style lj/cut 2.5\n"
		"pair_coeff 1 1 1.0 1.0 2.5\nneighbor 0.3 bin\n"
		"neigh_modify every 20 delay 0 check no\nfix 1 all nve\nrun 230\n";
	int fd;

	if (has_input)
		return input_path;
	fd = mkstemp(input_path);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || fchmod(fd, 0644)) {
		err_set(err, -errno, "%s: %s", input_path, strerror(errno));
		return NULL;
	}
	close(fd);
	has_input = true;
	atexit(remove_input);
	return input_path;
}

static int run_mix(struct setting *s, const struct args *a, const struct mix *base,
	struct result *result, int *n_results, struct errbuf *err)
{
	struct measured alone[PROGRAMS_MAX];
	static char path[PROGRAMS_MAX][1024];
	struct times solo[PROGRAMS_MAX];
	struct mix mix = *base;
	double foreign;
	int n_alone = 0, rc;

	for (int p = 0; p < mix.n; p++) {
		if (mix.program[p].argv[0])
			snprintf(path[p], sizeof(path[p]), "%s", mix.program[p].argv[0]);
		else
			snprintf(path[p], sizeof(path[p]), "%s/%s", a->dir, mix.program[p].name);
		if (access(path[p], X_OK))
			return err_set(err, -errno, "%s: %s", path[p], strerror(errno));
		mix.program[p].argv[0] = path[p];
		if (mix.program[p].ranks)
			mix.program[p].argv[2] = lammps_input(err);
		if (mix.program[p].ranks && !mix.program[p].argv[2])
			return -EIO;
	}
	rc = solos(s, &mix, alone, &n_alone, solo, &foreign, err);
	for (size_t i = 0; i < N_ARMS && !rc; i++) {
		struct result *r = &result[*n_results];

		if (!in_list(a->arms, arms[i].name))
			continue;
		*r = (struct result){.mix = base, .arm = &arms[i]};
		++*n_results;
		if (foreign > 0) { /* nothing to compare with */
			r->disturbed = true;
			r->foreign_ratio = foreign;
		} else {
			rc = run_arm(s, &mix, &arms[i], solo, r, err);
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
	extern char **environ;
	struct sigaction act = {.sa_handler = on_signal};
	sigset_t child;

	for (size_t i = 0; i < sizeof(removed) / sizeof(removed[0]); i++)
		unsetenv(removed[i]);
	/* Inside a job, srun would take its sizes and bindings. */
	for (char **e = environ; *e;) {
		char name[128];

		if ((strncmp(*e, "SLURM_", 6) && strncmp(*e, "COLOC_", 6) &&
			    strncmp(*e, "SLURMD_", 7)) ||
			!strncmp(*e, "SLURM_CONF=", 11)) {
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
		if (strncmp(line, "program=", 8))
			fprintf(stderr, "realmix: srun: %s", line);
}

int main(int argc, char **argv)
{
	static struct result result[N_MIXES * N_ARMS];
	struct args a = parse(argc, argv);
	struct setting s = {.min_runs = a.min_runs,
		.tries = a.tries,
		.stop = &stop,
		.cut_s = a.cut,
		.foreign_limit = a.foreign_percent / 100.0};
	char beside[512];
	struct errbuf err = {""};
	FILE *log = tmpfile();
	int n = 0, rc, measured = 0;

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
	rc = slurm_find_node(&s.node, &err);
	for (size_t i = 0; i < N_MIXES && !rc; i++)
		if (in_list(a.mix, mixes[i].name))
			rc = run_mix(&s, &a, &mixes[i], result, &n, &err);
	if (rc) {
		fprintf(stderr, "realmix: %s\n", err.text);
		if (rc != -EINTR)
			show_log(log);
	}
	for (int i = 0; i < n; i++)
		measured += !result[i].disturbed;
	if (n && a.json)
		print_json(result, n);
	else if (n)
		print_table(result, n);
	fclose(log);
	return rc || !measured ? 1 : 0;
}
