/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * acct - how soon colocacct prints and how much memory it takes, over stores of many records.
 *
 * Usage: acct COLOCACCT [--keep=DIR] [RECORDS]...   (default 10000 1000000)
 * Per size: a store is filled (a step every 30 s on average up to now, 1 in 50 a day long, 1 in
 * 500 ten days, 100 users), then colocacct is run as a child and its first byte, its end, and its
 * largest RSS are taken. first_ms and total_ms are medians of 5 runs (one of all records). Prints
 * one JSON object.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/out.h"
#include "contrib/bench/number.h"
#include "nodesvc/record/record_internal.h"

#define NS   INT64_C(1000000000)
#define RUNS 5
#define STEP 30 /* s between starts */

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static uint32_t next(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* Records of one step every STEP s that ended by @end_s; every tenth has history and figures. */
static int fill(const char *dir, int n, int64_t end_s)
{
	static const char *const POLICY[] = {"lira", "fair", "llc-complex", "das-da"};
	struct errbuf err = {""};
	struct record *r = NULL;
	uint32_t rng = 2463534242U;
	char path[512];
	int rc;

	snprintf(path, sizeof(path), "%s/coloc.db", dir);
	rc = record_open(&r, path, false, &err);
	for (int i = 0; rc == 0 && i < n; i++) {
		struct step_figures figures = STEP_FIGURES_NONE;
		char name[32], user[16];
		int64_t start = end_s - (int64_t)(n - i) * STEP;
		int64_t lasts = i % 500 == 0  ? 864000
				: i % 50 == 0 ? 86400
					      : 10 + next(&rng) % 3000;
		struct step_row row = {.job_id = (uint32_t)(i / 2 + 1),
			.step_id = (uint32_t)(i % 2),
			.array_task_id = 0xfffffffe,
			.node = "node-with-a-name-042",
			.name = name,
			.program = "solver.x",
			.uid = 1000 + (uint32_t)i % 100,
			.user = user,
			.account = "physics",
			.partition = "shared",
			.policy = POLICY[i % 4],
			.cores = 8,
			.coreset = "0-7",
			.coreset_history = "0-63;0-15;0-7",
			.partners = "1234567.0,1234568.0",
			.start_ns = start * NS + 123456789,
			.end_ns = (start + lasts < end_s ? start + lasts : end_s) * NS,
			.rebinds = 2,
			.tasks = 8,
			.state = STEP_COMPLETED,
			.figures = &figures};

		snprintf(name, sizeof(name), "job-%d", i);
		snprintf(user, sizeof(user), "user%02d", i % 100);
		if (i % 10 == 0)
			figures.ntt_share = 1.25;
		if (i % 10000 == 0)
			rc = record_begin(r, &err);
		if (rc == 0)
			rc = record_step_put(r, &row, &err);
		if (rc == 0 && i % 10 == 0)
			rc = record_coreset(r, row.row_id, row.start_ns, "0-63", "alone", &err);
		if (i % 10000 == 9999 || i == n - 1)
			rc = record_end(r, rc, &err);
	}
	record_close(r);
	if (rc < 0)
		fprintf(stderr, "acct: %s\n", err.text);
	return rc;
}

struct run {
	double first_ms, total_ms, rss_mib;
	long lines;
};

static int measure(const char *program, char **argv, struct run *ret)
{
	double begin = now_ms(), first = NAN;
	char buf[65536];
	struct rusage ru;
	ssize_t n;
	int fd[2], status;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		dup2(fd[1], STDOUT_FILENO);
		execv(program, argv);
		_exit(127);
	}
	close(fd[1]);
	ret->lines = 0;
	while ((n = read(fd[0], buf, sizeof(buf))) > 0) {
		if (isnan(first))
			first = now_ms() - begin;
		for (ssize_t i = 0; i < n; i++)
			ret->lines += buf[i] == '\n';
	}
	close(fd[0]);
	if (pid < 0 || wait4(pid, &status, 0, &ru) < 0 || status != 0)
		return -EIO;
	ret->first_ms = first;
	ret->total_ms = now_ms() - begin;
	ret->rss_mib = (double)ru.ru_maxrss / 1024;
	return 0;
}

static bool has_result;

static int by_first(const void *a, const void *b)
{
	double d = ((const struct run *)a)->first_ms - ((const struct run *)b)->first_ms;

	return (d > 0) - (d < 0);
}

static int report(const char *program, const char *dir, int n, const char *what, int runs,
	const char *from, const char *to, const char *option)
{
	char store[520], start[64], end[64];
	struct run run[RUNS] = {{0}};
	char *argv[] = {(char *)"colocacct", store, start, end, (char *)option, NULL};

	snprintf(store, sizeof(store), "--store=%s", dir);
	snprintf(start, sizeof(start), "-S%s", from);
	snprintf(end, sizeof(end), "-E%s", to);
	for (int i = 0; i < runs; i++) {
		if (measure(program, argv, &run[i]) < 0) {
			fprintf(stderr, "acct: %s failed\n", program);
			return -EIO;
		}
	}
	qsort(run, (size_t)runs, sizeof(run[0]), by_first);
	printf("%s\n {\"records\": %d, \"query\": \"%s\", \"lines\": %ld, \"first_ms\": %.1f, "
	       "\"first_max_ms\": %.1f, \"total_ms\": %.1f, \"rss_mib\": %.1f}",
		has_result ? "," : "", n, what, run[0].lines, run[runs / 2].first_ms,
		run[runs - 1].first_ms, run[runs / 2].total_ms, run[0].rss_mib);
	has_result = true;
	fflush(stdout);
	return 0;
}

static int bench(const char *program, const char *keep, int n)
{
	int64_t end_s = time(NULL), middle_s = end_s - (int64_t)n * STEP / 2;
	char dir[256], from[32], to[32], command[300];
	int rc;

	snprintf(dir, sizeof(dir), "%s/acct-bench-%d", keep ? keep : "/tmp", n);
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return -errno;
	snprintf(command, sizeof(command), "%s/coloc.db", dir);
	if (access(command, F_OK) < 0) {
		rc = fill(dir, n, end_s);
		if (rc < 0)
			return rc;
	}
	snprintf(from, sizeof(from), "uts%lld", (long long)middle_s);
	snprintf(to, sizeof(to), "uts%lld", (long long)middle_s + 86400);
	rc = report(program, dir, n, "last day, table", RUNS, "now-1day", "now", "-l");
	if (rc == 0)
		rc = report(program, dir, n, "a day in the middle, table", RUNS, from, to, "-l");
	if (rc == 0)
		rc = report(program, dir, n, "a day in the middle, JSON", RUNS, from, to, "--json");
	if (rc == 0)
		rc = report(program, dir, n, "a day of one user", RUNS, from, to, "-u1042");
	if (rc == 0)
		rc = report(program, dir, n, "one job", RUNS, "uts0", "now", "-j17");
	if (rc == 0)
		rc = report(program, dir, n, "all, lines", 1, "uts0", "now", "-P");
	if (!keep) {
		snprintf(command, sizeof(command), "rm -rf '%s'", dir);
		/* NOLINTNEXTLINE(cert-env33-c): a folder that we made */
		if (system(command) != 0)
			fprintf(stderr, "acct: %s stays\n", dir);
	}
	return rc;
}

int main(int argc, char **argv)
{
	static const int SIZE[] = {10000, 1000000};
	const char *keep = NULL;
	int rc = 0, n = 0, i = 2;

	out_check_at_exit("acct");
	if (argc < 2 || argv[1][0] == '-') {
		fprintf(stderr, "usage: acct COLOCACCT [--keep=DIR] [RECORDS]...\n");
		return 2;
	}
	if (argc > 2 && strncmp(argv[2], "--keep=", 7) == 0)
		keep = argv[i++] + 7;
	printf("{\"bench\": \"acct\", \"provenance\": \"measured\", \"results\": [");
	fflush(stdout); /* before a fork: the child would print it too */
	for (; rc == 0 && i < argc; i++, n++)
		rc = bench(argv[1], keep, number_int("RECORDS", argv[i]));
	for (size_t k = 0; rc == 0 && n == 0 && k < sizeof(SIZE) / sizeof(SIZE[0]); k++)
		rc = bench(argv[1], keep, SIZE[k]);
	printf("]}\n");
	return rc < 0 ? 1 : 0;
}
