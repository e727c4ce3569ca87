/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * soak - a colocd of one's own on a node full of steps that come and go, for an hour: does its
 * memory or the number of its descriptors grow? A line for each of ROWS parts of the time; the last
 * one is the verdict.
 *
 * The first FIRST parts are left out: caches fill (SQLite's page cache, tables of programs). Of the
 * others the median of the first third is compared with that of the last.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/ipc.h"
#include "common/out.h"
#include "contrib/bench/load/node.h"

#define ROWS     30
#define FIRST    6
#define THIRD    ((ROWS - FIRST) / 3)
#define GROW_MIB 1.0
#define GROW_FDS 2

struct row {
	double rss_mib, fds;
};

static struct {
	double minutes, rate, load;
	int steps, tasks, interval_ms;
	const char *policy, *colocd;
} opt = {.minutes = 60,
	.rate = 10,
	.load = 0.5,
	.steps = 64,
	.tasks = 8,
	.interval_ms = 100,
	.policy = "fair"};

static void usage(FILE *to)
{
	fputs("usage: soak [OPTION...]\n"
	      "  --minutes=N    (default 60)\n"
	      "  --steps=N      job steps on the node (default 64)\n"
	      "  --tasks=N      tasks of each (default 8)\n"
	      "  --interval=MS  interval_ms and tick_ms (default 100)\n"
	      "  --rate=N       steps that end and come in a second (default 10)\n"
	      "  --load=CORES   what all tasks together compute (default 0.5)\n"
	      "  --policy=NAME  (default fair)\n"
	      "  --colocd=FILE  the program (default: of this build)\n"
	      "root, and a cgroup v1 cpuset hierarchy; 77 without. Exit 1: it grew, or ended.\n",
		to);
}

static double number(const char *text, double min, double max)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !(v >= min && v <= max)) {
		fprintf(stderr, "soak: '%s': want a number from %g to %g\n", text, min, max);
		exit(2);
	}
	return v;
}

static void parse_args(int argc, char **argv)
{
	static const struct option options[] = {
		{"minutes", required_argument, NULL, 'm'},
		{"steps", required_argument, NULL, 's'},
		{"tasks", required_argument, NULL, 't'},
		{"interval", required_argument, NULL, 'i'},
		{"rate", required_argument, NULL, 'r'},
		{"load", required_argument, NULL, 'l'},
		{"policy", required_argument, NULL, 'p'},
		{"colocd", required_argument, NULL, 'c'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case 'm':
			opt.minutes = number(optarg, 0.5, 10000);
			break;
		case 's':
			opt.steps = (int)number(optarg, 1, 256);
			break;
		case 't':
			opt.tasks = (int)number(optarg, 1, 256);
			break;
		case 'i':
			opt.interval_ms = (int)number(optarg, 20, 60000);
			break;
		case 'r':
			opt.rate = number(optarg, 0.01, 1000);
			break;
		case 'l':
			opt.load = number(optarg, 0, 1024);
			break;
		case 'p':
			opt.policy = optarg;
			break;
		case 'c':
			opt.colocd = optarg;
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
		fprintf(stderr, "soak: unexpected '%s'\n", argv[optind]);
		exit(2);
	}
}

static void nap_until(int64_t mono_ns)
{
	struct timespec ts = {mono_ns / 1000000000, mono_ns % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

/* One part of the time: steps end and come; prints its line. */
static void take_row(struct node *n, int at, long *ended, struct row *ret)
{
	int64_t part_ns = (int64_t)(opt.minutes * 60e9 / ROWS);
	int64_t start = ipc_now_ns(), next = start, cpu = node_daemon_cpu_ns(n);
	double worst_ms = 0, ms, peak;

	while (ipc_now_ns() - start < part_ns) {
		int step = (int)(*ended % opt.steps);

		node_end_step(n, step);
		ms = (double)node_register(n, step) / 1e6;
		if (ms > worst_ms)
			worst_ms = ms;
		++*ended;
		next += (int64_t)(1e9 / opt.rate);
		nap_until(next);
	}
	node_daemon_rss(n, &ret->rss_mib, &peak);
	ret->fds = node_daemon_fds(n);
	printf("%7.1f %9ld %8.2f %5.0f %8.3f %12.3f\n", (at + 1) * opt.minutes / ROWS, *ended,
		ret->rss_mib, ret->fds,
		100 * (double)(node_daemon_cpu_ns(n) - cpu) / (double)(ipc_now_ns() - start),
		worst_ms);
	fflush(stdout);
}

static int by_rss(const void *a, const void *b)
{
	double x = ((const struct row *)a)->rss_mib, y = ((const struct row *)b)->rss_mib;

	return (x > y) - (x < y);
}

static int by_fds(const void *a, const void *b)
{
	double x = ((const struct row *)a)->fds, y = ((const struct row *)b)->fds;

	return (x > y) - (x < y);
}

/* Sorts @r: the last two questions about it. */
static void medians(struct row *r, struct row *ret)
{
	qsort(r, THIRD, sizeof(*r), by_rss);
	ret->rss_mib = r[THIRD / 2].rss_mib;
	qsort(r, THIRD, sizeof(*r), by_fds);
	ret->fds = r[THIRD / 2].fds;
}

int main(int argc, char **argv)
{
	const char *why, *build = getenv("COLOC_BUILDDIR");
	struct row row[ROWS], early, late;
	static char colocd[512];
	long ended = 0;
	struct node n;
	bool grew;

	out_check_at_exit("soak");
	parse_args(argc, argv);
	why = node_why_not();
	if (why) {
		fprintf(stderr, "soak: %s\n", why);
		return 77;
	}
	snprintf(colocd, sizeof(colocd), "%s/nodesvc/colocd", build ? build : ".");
	if (!opt.colocd)
		opt.colocd = colocd;
	if (access(opt.colocd, X_OK) < 0) {
		fprintf(stderr, "soak: %s: %s; name it with --colocd or COLOC_BUILDDIR\n",
			opt.colocd, strerror(errno));
		return 2;
	}
	node_up(&n, &(struct node_cfg){.steps = opt.steps,
			    .tasks = opt.tasks,
			    .interval_ms = opt.interval_ms,
			    .load_cores = opt.load,
			    .policy = opt.policy,
			    .colocd = opt.colocd});
	printf("%d steps of %d tasks, %d ms, %g steps a second end and come\n", opt.steps,
		opt.tasks, opt.interval_ms, opt.rate);
	puts("minutes     ended  rss_mib   fds cpu%core reg_worst_ms");
	for (int i = 0; i < opt.steps; i++)
		node_register(&n, i);
	for (int i = 0; i < ROWS; i++)
		take_row(&n, i, &ended, &row[i]);
	node_down(&n);
	medians(&row[FIRST], &early);
	medians(&row[ROWS - THIRD], &late);
	grew = late.rss_mib - early.rss_mib > GROW_MIB || late.fds - early.fds > GROW_FDS;
	printf("soak: %s: rss %.2f to %.2f MiB, descriptors %.0f to %.0f, %ld steps\n",
		grew ? "grew" : "steady", early.rss_mib, late.rss_mib, early.fds, late.fds, ended);
	return grew;
}
