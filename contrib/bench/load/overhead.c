/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * overhead - what does colocd use on a node full of job steps, what does a registration take
 * there, and how much slower is a program beside it? Prints a table, or JSON with --json.
 *
 * Steps are real processes in a cpuset tree as Slurm makes it, registered through the real socket
 * (node.h); no Slurm takes part. Cpu time is the kernel's own account (schedstat), so a busy
 * machine changes it little; times of registrations are wall time and want a quiet one.
 *
 * Slowdown: a program that only computes shares a core with colocd's work. colocd is stopped and
 * goes on in turns (A B B A); the ratio of the program's speeds has a 95 % interval from the
 * windows (gain.h). "idle" has one registered step that sleeps, "sampling" all of them.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/ipc.h"
#include "common/out.h"
#include "contrib/bench/load/burst.h"
#include "contrib/bench/load/echo.h"
#include "contrib/bench/machinetime.h"
#include "contrib/bench/load/node.h"
#include "contrib/bench/load/reads.h"
#include "contrib/bench/load/ticks.h"
#include "nodesvc/engine/engine.h"

#define LIST_MAX   16
#define PINGS      50
#define STRETCH_MS 200

static struct {
	int steps[LIST_MAX], n_steps;
	int tasks[LIST_MAX], n_tasks;
	int interval[LIST_MAX], n_interval;
	int settle, seconds, registrations, gap_ms, burst, clients, windows, tries;
	double load;
	const char *policy, *colocd;
	bool json, no_reads;
} opt = {
	.steps = {0, 16, 64},
	.n_steps = 3,
	.tasks = {8},
	.n_tasks = 1,
	.interval = {100},
	.n_interval = 1,
	/* Steps in which nothing changes are read least after 12 s (nodesvc/measure/sampler.c). */
	.settle = 16,
	.seconds = 10,
	.registrations = 600,
	.gap_ms = 0,
	.clients = 32,
	.windows = 0,
	.tries = DISTURBED_TRIES,
	.load = 0.5,
	.policy = "fair",
};

struct result {
	int steps, tasks, interval_ms;
	double cpu_percent, rss_mib, rss_peak_mib;
	double register_p50_ms, register_p99_ms, register_max_ms; /* NAN none */
	double echo_p50_ms, echo_p99_ms, echo_max_ms; /* by turns with these, see echo.h */
	/* Of a round, without registrations. */
	double looks, readings, clocks, threads;
	struct ticks ticks; /* at the end, of all that colocd did */
	double ping_max_ms;
	struct burst burst; /* n 0: none was asked for */
	double foreign;     /* of the machine's cpu time; also stolen */
	int n_windows;
	struct gain_estimate slowdown;
};

static void usage(FILE *to)
{
	fputs("usage: overhead [--json] [OPTION...]\n"
	      "  --steps=N[,N...]     job steps on the node (default 0,16,64)\n"
	      "  --tasks=N[,N...]     tasks of each (default 8)\n"
	      "  --interval=MS[,...]  interval_ms and tick_ms (default 100)\n"
	      "  --settle=N           seconds before that: jobs last longer (default 16)\n"
	      "  --seconds=N          cpu time is taken over so long (default 10)\n"
	      "  --load=CORES         what all tasks together compute (default 0.5; 0 they sleep)\n"
	      "  --registrations=N    timed under that load (default 600; 0 none)\n"
	      "  --gap=MS             from the end of a step to the next (default 0: jobs of 1 s)\n"
	      "  --burst=N            then so many as fast as they are answered (default 0)\n"
	      "  --clients=N          at once, of the burst (default 32)\n"
	      "  --windows=N          A B B A windows for the slowdown of a program (default 0)\n"
	      "  --policy=NAME        (default fair)\n"
	      "  --colocd=FILE        the program (default: of this build)\n"
	      "  --tries=N            again when others used over 2 % (default 5)\n"
	      "  --no-reads           leave out what single reads cost\n"
	      "root, and a cgroup v1 cpuset hierarchy; 77 without.\n",
		to);
}

static int parse_list(const char *text, int min, int max, int *ret)
{
	int n = 0;

	for (const char *p = text; n < LIST_MAX; p++) {
		char *end;
		long v = strtol(p, &end, 10);

		if (end == p || v < min || v > max || (*end && *end != ','))
			break;
		ret[n++] = (int)v;
		if (!*end)
			return n;
		p = end;
	}
	fprintf(stderr, "overhead: '%s': want up to %d numbers from %d to %d\n", text, LIST_MAX,
		min, max);
	exit(2);
}

static int parse_one(const char *text, int min, int max)
{
	int list[LIST_MAX];

	if (parse_list(text, min, max, list) != 1) {
		fprintf(stderr, "overhead: '%s': want one number\n", text);
		exit(2);
	}
	return list[0];
}

static void parse_args(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"steps", required_argument, NULL, 's'},
		{"tasks", required_argument, NULL, 't'},
		{"interval", required_argument, NULL, 'i'},
		{"settle", required_argument, NULL, 'e'},
		{"seconds", required_argument, NULL, 'S'},
		{"load", required_argument, NULL, 'l'},
		{"registrations", required_argument, NULL, 'r'},
		{"gap", required_argument, NULL, 'g'},
		{"burst", required_argument, NULL, 'b'},
		{"clients", required_argument, NULL, 'C'},
		{"windows", required_argument, NULL, 'w'},
		{"policy", required_argument, NULL, 'p'},
		{"colocd", required_argument, NULL, 'c'},
		{"tries", required_argument, NULL, 'T'},
		{"no-reads", no_argument, NULL, 'n'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	char *end;
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case 'j':
			opt.json = true;
			break;
		case 's':
			opt.n_steps = parse_list(optarg, 0, 1000, opt.steps);
			break;
		case 't':
			opt.n_tasks = parse_list(optarg, 1, 256, opt.tasks);
			break;
		case 'i':
			opt.n_interval = parse_list(optarg, 20, 60000, opt.interval);
			break;
		case 'e':
			opt.settle = parse_one(optarg, 1, 3600);
			break;
		case 'S':
			opt.seconds = parse_one(optarg, 1, 3600);
			break;
		case 'l':
			opt.load = strtod(optarg, &end);
			if (end == optarg || *end || !(opt.load >= 0 && opt.load <= 1024)) {
				fprintf(stderr, "overhead: --load: '%s' is no number of cores\n",
					optarg);
				exit(2);
			}
			break;
		case 'r':
			opt.registrations = parse_one(optarg, 0, 100000);
			break;
		case 'g':
			opt.gap_ms = parse_one(optarg, 0, 60000);
			break;
		case 'b':
			opt.burst = parse_one(optarg, 0, 1000000);
			break;
		case 'C':
			opt.clients = parse_one(optarg, 1, BURST_CLIENTS_MAX);
			break;
		case 'w':
			opt.windows = parse_one(optarg, 0, 10000);
			break;
		case 'T':
			opt.tries = parse_one(optarg, 1, 100);
			break;
		case 'p':
			opt.policy = optarg;
			break;
		case 'c':
			opt.colocd = optarg;
			break;
		case 'n':
			opt.no_reads = true;
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(2);
		}
	}
	if (optind < argc) {
		fprintf(stderr, "overhead: unexpected '%s'\n", argv[optind]);
		exit(2);
	}
}

/* ---- measuring ----------------------------------------------------------------------------- */

static void nap_ms(int ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000L};

	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(const double *sorted, int n, double q)
{
	int i = (int)ceil(q * n) - 1;

	return n ? sorted[i < 0 ? 0 : i] : NAN;
}

static void take_cpu(struct node *n, struct result *r)
{
	double busy0, steal0, busy1, steal1, ours, wall, rounds;
	struct ticks before, after;
	int64_t t0, cpu0, tasks0;

	ticks_read(n, &before);
	t0 = ipc_now_ns();
	cpu0 = node_daemon_cpu_ns(n);
	tasks0 = node_tasks_cpu_ns(n);
	machine_time(&busy0, &steal0);
	nap_ms(opt.seconds * 1000);
	machine_time(&busy1, &steal1);
	wall = (double)(ipc_now_ns() - t0);
	r->cpu_percent = 100 * (double)(node_daemon_cpu_ns(n) - cpu0) / wall;
	ours = r->cpu_percent / 100 + (double)(node_tasks_cpu_ns(n) - tasks0) / wall;
	r->foreign = ((busy1 - busy0 + steal1 - steal0) / (wall / 1e9) - ours) /
		     (double)sysconf(_SC_NPROCESSORS_ONLN);
	if (r->foreign < 0) /* ticks of 10 ms */
		r->foreign = 0;
	node_daemon_rss(n, &r->rss_mib, &r->rss_peak_mib);
	ticks_read(n, &after);
	rounds = after.rounds.n - before.rounds.n;
	r->looks = (after.looks - before.looks) / rounds;
	r->readings = (after.readings - before.readings) / rounds;
	r->clocks = (after.clocks - before.clocks) / rounds;
	r->threads = (after.threads - before.threads) / rounds;
}

static void take_registrations(struct node *n, struct result *r)
{
	double *ms = calloc(2 * (size_t)opt.registrations + 1, sizeof(*ms));
	double *echo_ms;
	struct echo echo;

	r->register_p50_ms = r->register_p99_ms = r->register_max_ms = NAN;
	r->echo_p50_ms = r->echo_p99_ms = r->echo_max_ms = NAN;
	if (!ms || n->steps == 0 || opt.registrations == 0) {
		free(ms);
		return;
	}
	echo_ms = ms + opt.registrations;
	echo_up(&echo);
	for (int i = 0; i < opt.registrations; i++) {
		node_end_step(n, i % n->steps);
		/* At any point of the daemon's rhythm. */
		nap_ms(opt.gap_ms + 3 + i % 17);
		echo_ms[i] = (double)echo_take(&echo, n->tasks) / 1e6;
		nap_ms(3 + i % 13);
		ms[i] = (double)node_register(n, i % n->steps) / 1e6;
	}
	echo_down(&echo);
	qsort(echo_ms, (size_t)opt.registrations, sizeof(*ms), ascending);
	r->echo_p50_ms = quantile(echo_ms, opt.registrations, 0.5);
	r->echo_p99_ms = quantile(echo_ms, opt.registrations, 0.99);
	r->echo_max_ms = echo_ms[opt.registrations - 1];
	qsort(ms, (size_t)opt.registrations, sizeof(*ms), ascending);
	r->register_p50_ms = quantile(ms, opt.registrations, 0.5);
	r->register_p99_ms = quantile(ms, opt.registrations, 0.99);
	r->register_max_ms = ms[opt.registrations - 1];
	free(ms);
}

static void take_pings(struct node *n, struct result *r)
{
	for (int i = 0; i < PINGS; i++) {
		double ms = (double)node_ping(n) / 1e6;

		if (ms > r->ping_max_ms)
			r->ping_max_ms = ms;
		nap_ms(7);
	}
}

/* ---- slowdown ------------------------------------------------------------------------------ */

static pid_t start_victim(_Atomic uint64_t *count)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (uint64_t x = 88172645463325252u;;) {
		for (int i = 0; i < 2000; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
		}
		atomic_fetch_add_explicit(count, 1 + (x == 0), memory_order_relaxed);
	}
}

static double stretch(_Atomic uint64_t *count)
{
	uint64_t before = atomic_load(count);
	int64_t t0 = ipc_now_ns();

	nap_ms(STRETCH_MS);
	return (double)(atomic_load(count) - before) / (double)(ipc_now_ns() - t0);
}

/* colocd and the program on one core: what the one uses the other lacks. */
static void take_slowdown(struct node *n, struct result *r)
{
	_Atomic uint64_t *count = mmap(
		NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct gain_mean windows = {0};
	cpu_set_t one, all;
	pid_t victim;

	if (count == MAP_FAILED || opt.windows == 0)
		return;
	victim = start_victim(count);
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_getaffinity(n->daemon, sizeof(all), &all);
	sched_setaffinity(victim, sizeof(one), &one);
	sched_setaffinity(n->daemon, sizeof(one), &one);
	for (int i = 0; i < opt.windows; i++) {
		double speed[4], ratio;

		for (int k = 0; k < 4; k++) {
			/* A runs, B stands still. */
			kill(n->daemon, k == 0 || k == 3 ? SIGCONT : SIGSTOP);
			nap_ms(20);
			speed[k] = stretch(count);
		}
		if (gain_abba(speed, &ratio))
			gain_mean_add(&windows, ratio);
	}
	kill(n->daemon, SIGCONT);
	sched_setaffinity(n->daemon, sizeof(all), &all);
	kill(victim, SIGKILL);
	waitpid(victim, NULL, 0);
	munmap((void *)count, sizeof(*count));
	r->n_windows = windows.n;
	gain_paired(&windows, &r->slowdown);
}

/* ---- results ------------------------------------------------------------------------------- */

static void print_number(const char *name, double v, int digits)
{
	if (isfinite(v))
		printf(", \"%s\": %.*f", name, digits, v);
	else
		printf(", \"%s\": null", name);
}

static void print_times(const char *what, const struct ticks_times *t)
{
	printf(", \"%s\": {\"n\": %.0f", what, isfinite(t->n) ? t->n : 0);
	print_number("p50_ms", t->p50, 4);
	print_number("p99_ms", t->p99, 4);
	print_number("max_ms", t->max, 4);
	putchar('}');
}

static void print_json(const struct result *r, bool first)
{
	printf("%s\n  {\"steps\": %d, \"tasks\": %d, \"interval_ms\": %d", first ? "" : ",",
		r->steps, r->tasks, r->interval_ms);
	print_number("cpu_percent_of_core", r->cpu_percent, 4);
	print_number("rss_mib", r->rss_mib, 2);
	print_number("rss_peak_mib", r->rss_peak_mib, 2);
	printf(", \"register_gap_ms\": %d", opt.gap_ms);
	print_number("register_p50_ms", r->register_p50_ms, 3);
	print_number("register_p99_ms", r->register_p99_ms, 3);
	print_number("register_max_ms", r->register_max_ms, 3);
	print_number("echo_p50_ms", r->echo_p50_ms, 3);
	print_number("echo_p99_ms", r->echo_p99_ms, 3);
	print_number("echo_max_ms", r->echo_max_ms, 3);
	print_number("ping_max_ms", r->ping_max_ms, 3);
	print_number("looks_per_round", r->looks, 2);
	print_number("readings_per_round", r->readings, 2);
	print_number("clocks_per_round", r->clocks, 2);
	print_number("threads_per_round", r->threads, 2);
	print_times("round", &r->ticks.rounds);
	print_times("tick", &r->ticks.ticks);
	if (r->burst.n) {
		printf(", \"burst\": {\"registrations\": %d, \"clients\": %d", r->burst.n,
			r->burst.clients);
		print_number("per_s", r->burst.per_s, 1);
		print_number("p50_ms", r->burst.p50_ms, 3);
		print_number("p99_ms", r->burst.p99_ms, 3);
		print_number("max_ms", r->burst.max_ms, 3);
		print_number("rss_mib_before", r->burst.rss_before_mib, 2);
		print_number("rss_mib_after", r->burst.rss_after_mib, 2);
		printf(", \"later_than_timeout\": %d}", r->burst.late);
	}
	if (opt.windows) {
		/* Times as long with colocd as without. */
		print_number("slowdown", 1 / r->slowdown.ratio, 5);
		print_number("slowdown_lo", 1 / r->slowdown.hi, 5);
		print_number("slowdown_hi", 1 / r->slowdown.lo, 5);
		printf(", \"windows\": %d", r->n_windows);
	}
	print_number("foreign_ratio", r->foreign, 4);
	printf(", \"disturbed\": %s}", r->foreign > FOREIGN_MAX ? "true" : "false");
}

static void print_row(const struct result *r)
{
	printf("%5d %5d %8d %8.3f %8.2f %8.2f %9.3f %9.3f %9.3f %9.3f%s\n", r->steps, r->tasks,
		r->interval_ms, r->cpu_percent, r->rss_mib, r->rss_peak_mib, r->register_p50_ms,
		r->register_p99_ms, r->register_max_ms, r->ping_max_ms,
		r->foreign > FOREIGN_MAX ? "  disturbed" : "");
	if (isfinite(r->echo_p50_ms))
		printf("      a registration's messages, answered at once by a process that does "
		       "nothing: ms p50 %.3f, p99 %.3f, max %.3f\n",
			r->echo_p50_ms, r->echo_p99_ms, r->echo_max_ms);
	if (r->ticks.rounds.n > 0)
		printf("      a round: %.1f steps looked at, %.1f read (%.1f clocks, %.1f lines of "
		       "schedstat)\n      with the registrations, ms p50, p99, max: a round %.3f, "
		       "%.3f, %.3f; a tick %.3f, %.3f, %.3f\n",
			r->looks, r->readings, r->clocks, r->threads, r->ticks.rounds.p50,
			r->ticks.rounds.p99, r->ticks.rounds.max, r->ticks.ticks.p50,
			r->ticks.ticks.p99, r->ticks.ticks.max);
	if (r->burst.n)
		printf("      a burst of %d by %d clients: %.0f a second, ms p50 %.3f, p99 %.3f, "
		       "max %.3f, %d over %d ms; rss %.2f MiB before, %.2f after\n",
			r->burst.n, r->burst.clients, r->burst.per_s, r->burst.p50_ms,
			r->burst.p99_ms, r->burst.max_ms, r->burst.late, BURST_LATE_MS,
			r->burst.rss_before_mib, r->burst.rss_after_mib);
	if (opt.windows)
		printf("      a program on colocd's core: %.5f times as long (%.5f to %.5f)\n",
			1 / r->slowdown.ratio, 1 / r->slowdown.hi, 1 / r->slowdown.lo);
	fflush(stdout);
}

static void print_reads(const struct reads *c)
{
	if (!opt.json) {
		printf("one read here, us: schedstat %.2f a thread (%.2f kept open), cpu clock "
		       "%.2f a process, list of threads %.2f a step,\n/proc/PID/task %.2f a "
		       "process, stat %.2f a thread, cpuacct.usage %.2f a step, cpu.stat %.2f a "
		       "step\n",
			c->schedstat_us, c->kept_us, c->clock_us, c->tasks_us, c->task_dir_us,
			c->stat_us, c->cpuacct_us, c->cpu_stat_us);
		return;
	}
	printf(", \"reads\": {\"unit\": \"us\"");
	print_number("schedstat", c->schedstat_us, 3);
	print_number("schedstat_kept_open", c->kept_us, 3);
	print_number("process_clock", c->clock_us, 3);
	print_number("tasks", c->tasks_us, 3);
	print_number("task_dir", c->task_dir_us, 3);
	print_number("stat", c->stat_us, 3);
	print_number("cpuacct_usage", c->cpuacct_us, 3);
	print_number("cpu_stat", c->cpu_stat_us, 3);
	putchar('}');
}

static void run_one(struct node *n, struct result *r)
{
	for (int i = 0; i < n->steps; i++)
		node_register(n, i);
	nap_ms(opt.settle * 1000);
	for (int i = 0; i < opt.tries; i++) {
		take_cpu(n, r);
		if (r->foreign <= FOREIGN_MAX)
			break;
	}
	take_pings(n, r);
	take_slowdown(n, r);
	take_registrations(n, r);
	ticks_read(n, &r->ticks);
	if (opt.burst && n->steps)
		burst_run(n, opt.burst, opt.clients, &r->burst);
}

int main(int argc, char **argv)
{
	const char *why, *build = getenv("COLOC_BUILDDIR");
	static char colocd[512];
	bool first = true, has_reads = false;
	struct reads reads;

	out_check_at_exit("overhead");
	parse_args(argc, argv);
	why = node_why_not();
	if (why) {
		fprintf(stderr, "overhead: %s\n", why);
		return 77;
	}
	snprintf(colocd, sizeof(colocd), "%s/nodesvc/colocd", build ? build : ".");
	if (!opt.colocd)
		opt.colocd = colocd;
	if (access(opt.colocd, X_OK) < 0) {
		fprintf(stderr, "overhead: %s: %s; name it with --colocd or COLOC_BUILDDIR\n",
			opt.colocd, strerror(errno));
		return 2;
	}
	if (opt.json)
		printf("{\"bench\": \"overhead\", \"provenance\": \"measured\", \"cpus\": %ld, "
		       "\"policy\": \"%s\", \"load_cores\": %g, \"results\": [",
			sysconf(_SC_NPROCESSORS_ONLN), opt.policy, opt.load);
	else
		puts("steps tasks interval cpu%core  rss_mib peak_mib reg_p50ms reg_p99ms "
		     "reg_maxms  ping_max");
	for (int s = 0; s < opt.n_steps; s++)
		for (int t = 0; t < opt.n_tasks; t++)
			for (int i = 0; i < opt.n_interval; i++) {
				struct node_cfg cfg = {.steps = opt.steps[s],
					.tasks = opt.tasks[t],
					.interval_ms = opt.interval[i],
					.load_cores = opt.load,
					.policy = opt.policy,
					.colocd = opt.colocd};
				struct result r = {.steps = cfg.steps,
					.tasks = cfg.tasks,
					.interval_ms = cfg.interval_ms};
				struct node n;

				node_up(&n, &cfg);
				if (cfg.steps && !opt.no_reads && !has_reads) {
					reads_measure(&n, &reads);
					has_reads = true;
					/* First what reading costs, then what comes of it. */
					if (!opt.json)
						print_reads(&reads);
				}
				run_one(&n, &r);
				if (opt.json)
					print_json(&r, first);
				else
					print_row(&r);
				first = false;
				node_down(&n);
			}
	if (opt.json)
		fputs("\n]", stdout);
	if (has_reads && opt.json)
		print_reads(&reads);
	if (opt.json)
		puts("}");
	return 0;
}
