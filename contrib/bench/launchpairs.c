/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * launchpairs - what does the plugin cost a job step? Times `srun` steps of several arms, one
 * after the other in changing order, inside the allocation it is started in, and prints JSON.
 * contrib/bench/launch sets everything up around it.
 *
 *   launchpairs --plugstack FILE --plain FILE --coloc FILE --policy NAME [--pairs MAX]
 *               [--half-width MS] [--bound MS] [--ours PID,PID...]
 *
 * Without the plugin means: neither srun nor slurmstepd loads it. Both read plugstack.conf anew
 * for every step, so one allocation of one cluster serves all arms: before each step the file is
 * replaced (rename) by the arm's, in every arm alike. Two clusters, one without the plugin, would
 * compare two controllers and two slurmd's as well; --coloc=off would leave out the loading.
 *
 * Arms: plain (no plugin), again (no plugin: the A/A), idle (plugin there, the step asks for
 * nothing), coloc (--coloc-policy). A round runs each arm once; its order rotates and turns round,
 * so that no arm always follows the same one. Compared are differences within a round.
 *
 * Intervals: 95 %, from order statistics of the differences (binomial; no assumption about the
 * distribution). Rounds go on until the interval of coloc - plain is no wider than twice the half
 * width, at most --pairs. The rule looks at the width only, never at the value.
 *
 * A block of rounds in which other processes took more than 2 % of a core, or the host took it, is
 * run again; after five of these it counts and the result says "disturbed".
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/out.h"
#include "contrib/bench/number.h"

#define ROUNDS_MAX      1000
#define ROUNDS_MIN      30
#define BLOCK           10
#define WARM_UP         3
#define DISCARDS_MAX    5
#define DISTURBED_RATIO 0.02

enum arm { PLAIN, AGAIN, IDLE, COLOC, ARMS };

static const char *const arm_names[ARMS] = {"plain", "again", "idle", "coloc"};

static struct {
	const char *plugstack, *plain, *coloc, *policy;
	int pairs;
	double half_width_ms, bound_ms;
} opt = {.policy = "lira", .pairs = ROUNDS_MAX, .half_width_ms = 0.5, .bound_ms = 2.0};

static pid_t ours[16];
static int n_ours;
static double ms[ARMS][ROUNDS_MAX];
static int failed;

static void die(const char *what)
{
	fprintf(stderr, "launchpairs: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* --- statistics */

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct interval {
	double lo, mid, hi;
};

/* Median and its 95 % interval: ranks n/2 -+ 1.96 sqrt(n)/2. */
static struct interval median(const double *values, int n)
{
	static double v[ROUNDS_MAX];
	int lo = (int)floor(n / 2.0 - 0.98 * sqrt(n)) - 1;
	int hi = (int)ceil(n / 2.0 + 0.98 * sqrt(n));

	memcpy(v, values, (size_t)n * sizeof(*v));
	qsort(v, (size_t)n, sizeof(*v), ascending);
	if (lo < 0)
		lo = 0;
	if (hi > n - 1)
		hi = n - 1;
	return (struct interval){v[lo], n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2, v[hi]};
}

static struct interval difference(enum arm a, enum arm b, int n)
{
	static double d[ROUNDS_MAX];

	for (int i = 0; i < n; i++)
		d[i] = ms[a][i] - ms[b][i];
	return median(d, n);
}

/* --- what else the machine did */

struct load {
	double at_ms, steal_s, others_s;
};

/*
 * Processor time of a process and of its children that it has waited for, in seconds; 0 for ours.
 * A child's time moves to its parent when it ends, so that the sum over all processes grows by
 * what was used. Ours: the daemons named by --ours, our own session, the slurmstepd of each step,
 * and process 1, which inherits them.
 */
static double others_cpu(pid_t pid)
{
	char path[64], text[1024], *p;
	unsigned long u, s, cu, cs;
	int session, n;
	FILE *f;

	for (int i = 0; i < n_ours; i++)
		if (ours[i] == pid)
			return 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = pid == 1 ? NULL : fopen(path, "re");
	if (!f)
		return 0;
	n = (int)fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n > 0 ? n : 0] = '\0';
	/* The name may hold blanks and parentheses. */
	p = strrchr(text, ')');
	if (!p || strstr(text, "(slurmstepd"))
		return 0;
	n = sscanf(p + 2, "%*c %*d %*d %d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu", &session,
		&u, &s, &cu, &cs);
	if (n != 5 || session == getsid(0))
		return 0;
	return (double)(u + s + cu + cs) / (double)sysconf(_SC_CLK_TCK);
}

static double steal_s(void)
{
	unsigned long long v[8] = {0};
	FILE *f = fopen("/proc/stat", "re");
	int n = f ? fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2],
			    &v[3], &v[4], &v[5], &v[6], &v[7])
		  : 0;

	if (f)
		fclose(f);
	return n == 8 ? (double)v[7] / (double)sysconf(_SC_CLK_TCK) : 0;
}

static void load_now(struct load *ret)
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	ret->others_s = 0;
	while (d && (e = readdir(d)))
		if (isdigit((unsigned char)e->d_name[0]))
			ret->others_s += others_cpu(atoi(e->d_name));
	if (d)
		closedir(d);
	ret->steal_s = steal_s();
	ret->at_ms = now_ms();
}

/* --- steps */

static void use_plugstack(enum arm arm)
{
	const char *from = arm == PLAIN || arm == AGAIN ? opt.plain : opt.coloc;
	char next[4096];

	/* A hard link and a rename: the file is never half there. */
	snprintf(next, sizeof(next), "%s.next", opt.plugstack);
	unlink(next);
	if (link(from, next) < 0 || rename(next, opt.plugstack) < 0)
		die(opt.plugstack);
	/* rename(2) leaves a link to the same file alone. */
	unlink(next);
}

static double run_step(enum arm arm)
{
	char option[256];
	char *argv[] = {"srun", "--overlap", "-N1", "-n1", option, "true", NULL};
	double start;
	pid_t pid;
	int status;

	snprintf(option, sizeof(option), "--coloc-policy=%s", opt.policy);
	if (arm != COLOC)
		strcpy(option, "--quiet");
	use_plugstack(arm);
	start = now_ms();
	errno = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
	if (errno)
		die("srun");
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid");
	if (status != 0)
		failed++;
	return now_ms() - start;
}

static void run_round(int no, double *ret)
{
	for (int i = 0; i < ARMS; i++) {
		int at = (i + no) % ARMS;

		/* Every other round backwards. */
		if (no / ARMS % 2)
			at = ARMS - 1 - at;
		ret[at] = run_step((enum arm)at);
	}
}

struct totals {
	double elapsed_s, foreign_s, steal_s;
	int discarded;
	bool disturbed;
};

/* Runs rounds until the interval is narrow enough; returns how many count. */
static int measure(struct totals *t)
{
	struct load before, after;
	double one[ARMS];
	int n = 0;

	for (int i = 0; i < WARM_UP; i++)
		run_round(i, one);
	failed = 0;
	while (n < opt.pairs) {
		int block = opt.pairs - n < BLOCK ? opt.pairs - n : BLOCK;
		double elapsed, foreign, steal;
		struct interval d;

		load_now(&before);
		for (int i = 0; i < block; i++) {
			run_round(n + i, one);
			for (int a = 0; a < ARMS; a++)
				ms[a][n + i] = one[a];
		}
		load_now(&after);
		elapsed = (after.at_ms - before.at_ms) / 1e3;
		foreign = fmax(0, after.others_s - before.others_s);
		steal = after.steal_s - before.steal_s;
		if (foreign + steal > DISTURBED_RATIO * elapsed) {
			if (t->discarded < DISCARDS_MAX) {
				t->discarded++;
				continue;
			}
			t->disturbed = true;
		}
		t->elapsed_s += elapsed;
		t->foreign_s += foreign;
		t->steal_s += steal;
		n += block;
		d = difference(COLOC, PLAIN, n);
		if (isatty(STDERR_FILENO))
			fprintf(stderr, "\r%4d rounds: coloc - plain %+.2f ms (%+.2f to %+.2f) ", n,
				d.mid, d.lo, d.hi);
		if (n >= ROUNDS_MIN && d.hi - d.lo <= 2 * opt.half_width_ms)
			break;
	}
	if (isatty(STDERR_FILENO))
		fputc('\n', stderr);
	return n;
}

static void print(int n, const struct totals *t)
{
	struct interval d = difference(COLOC, PLAIN, n);

	printf("{\"bench\": \"launch\", \"provenance\": \"measured\", \"results\": [\n");
	for (int a = 0; a < ARMS; a++) {
		struct interval m = median(ms[a], n);

		printf("  {\"arm\": \"%s\", \"p50_ms\": %.3f, \"lo_ms\": %.3f, \"hi_ms\": %.3f",
			arm_names[a], m.mid, m.lo, m.hi);
		if (a != PLAIN) {
			struct interval e = difference((enum arm)a, PLAIN, n);

			printf(", \"diff_p50_ms\": %.3f, \"diff_lo_ms\": %.3f, "
			       "\"diff_hi_ms\": %.3f",
				e.mid, e.lo, e.hi);
		}
		printf("}%s\n", a < ARMS - 1 ? "," : "");
	}
	printf(" ], \"policy\": \"%s\", \"pairs\": %d, \"steps_failed\": %d,\n", opt.policy, n,
		failed);
	printf("  \"half_width_ms\": %.3f, \"half_width_reached\": %s, \"bound_ms\": %.3f, "
	       "\"within_bound\": %s,\n",
		opt.half_width_ms, d.hi - d.lo <= 2 * opt.half_width_ms ? "true" : "false",
		opt.bound_ms, d.hi <= opt.bound_ms ? "true" : "false");
	printf("  \"elapsed_s\": %.1f, \"foreign_cpu_percent\": %.2f, \"steal_percent\": %.2f, "
	       "\"blocks_repeated\": %d, \"disturbed\": %s}\n",
		t->elapsed_s, 100 * t->foreign_s / t->elapsed_s, 100 * t->steal_s / t->elapsed_s,
		t->discarded, t->disturbed ? "true" : "false");
}

static void usage(void)
{
	fprintf(stderr, "usage: launchpairs --plugstack FILE --plain FILE --coloc FILE "
			"[--policy NAME] [--pairs MAX]\n"
			"                   [--half-width MS] [--bound MS] [--ours PID,PID...]\n"
			"inside an allocation; see contrib/bench/launch\n");
	exit(2);
}

static void read_ours(char *list)
{
	for (char *p = strtok(list, ","); p && n_ours < 16; p = strtok(NULL, ","))
		ours[n_ours++] = number_int("--ours", p);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"plugstack", required_argument, NULL, 's'},
		{"plain", required_argument, NULL, 'a'},
		{"coloc", required_argument, NULL, 'b'},
		{"policy", required_argument, NULL, 'p'},
		{"pairs", required_argument, NULL, 'n'},
		{"half-width", required_argument, NULL, 'w'},
		{"bound", required_argument, NULL, 'u'},
		{"ours", required_argument, NULL, 'o'},
		{NULL, 0, NULL, 0},
	};
	struct totals totals = {0};
	int c, n;

	out_check_at_exit("launchpairs");
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 's':
			opt.plugstack = optarg;
			break;
		case 'a':
			opt.plain = optarg;
			break;
		case 'b':
			opt.coloc = optarg;
			break;
		case 'p':
			opt.policy = optarg;
			break;
		case 'n':
			opt.pairs = number_int("--pairs", optarg);
			break;
		case 'w':
			opt.half_width_ms = number_real("--half-width", optarg);
			break;
		case 'u':
			opt.bound_ms = number_real("--bound", optarg);
			break;
		case 'o':
			read_ours(optarg);
			break;
		default:
			usage();
		}
	}
	if (!opt.plugstack || !opt.plain || !opt.coloc || opt.pairs < 2 || opt.pairs > ROUNDS_MAX ||
		!getenv("SLURM_JOB_ID"))
		usage();
	n = measure(&totals);
	print(n, &totals);
	return failed != 0;
}
