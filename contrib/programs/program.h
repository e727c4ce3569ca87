/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program.h - what the example programs share: their options and the line they end with. Header
 * only, so that each program stays one file plus this one.
 */
#ifndef COLOC_CONTRIB_PROGRAM_H
#define COLOC_CONTRIB_PROGRAM_H

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nodesvc/runtime/coloc.h"

struct program_option {
	const char *name; /* without the dashes */
	const char *help; /* unit and meaning */
	int64_t min, max;
	int64_t *value; /* the default, then what was given */
};

static inline int64_t program_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Where a node service runs it learns how fast we are; elsewhere the calls do nothing. */
static struct coloc *program_coloc;

static inline void program_unit(const char *unit)
{
	program_coloc = coloc_attach();
	coloc_unit(program_coloc, unit);
}

static inline void program_progress(double units)
{
	coloc_progress(program_coloc, units);
}

static inline void program_usage(
	FILE *to, const char *name, const char *what, const struct program_option *opt, int n)
{
	fprintf(to, "usage: %s [--OPTION=N]...\n%s\n\n", name, what);
	for (int i = 0; i < n; i++)
		fprintf(to, "  --%-10s %s (default %" PRId64 ")\n", opt[i].name, opt[i].help,
			*opt[i].value);
}

/* Reads "--name=N" options; ends the program on --help (0) and on anything it does not take (2). */
static inline void program_options(int argc, char **argv, const char *name, const char *what,
	const struct program_option *opt, int n)
{
	for (int a = 1; a < argc; a++) {
		const char *eq = strchr(argv[a], '=');
		char *end = NULL;
		long long v;
		int i;

		if (!strcmp(argv[a], "--help")) {
			program_usage(stdout, name, what, opt, n);
			exit(0);
		}
		for (i = 0; i < n; i++) {
			size_t len = strlen(opt[i].name);

			if (eq && !strncmp(argv[a], "--", 2) && (size_t)(eq - argv[a]) == len + 2 &&
				!strncmp(argv[a] + 2, opt[i].name, len))
				break;
		}
		if (i == n) {
			fprintf(stderr, "%s: '%s' is not an option (see --help)\n", name, argv[a]);
			exit(2);
		}
		errno = 0;
		v = strtoll(eq + 1, &end, 10);
		if (errno || end == eq + 1 || *end || v < opt[i].min || v > opt[i].max) {
			fprintf(stderr,
				"%s: --%s='%s' is not a number from %" PRId64 " to %" PRId64 "\n",
				name, opt[i].name, eq + 1, opt[i].min, opt[i].max);
			exit(2);
		}
		*opt[i].value = v;
	}
}

static inline int program_fail(const char *name, const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", name, what, strerror(errno));
	return 1;
}

/* The last line. @work in @unit; @check keeps the result alive and shows that it is the same. */
static inline int program_report(
	const char *name, int64_t start_ns, int64_t work, const char *unit, double check)
{
	double s = (double)(program_now_ns() - start_ns) / 1e9;

	printf("program=%s seconds=%.6f work=%" PRId64 " rate=%.6g unit=%s check=%.9g\n", name, s,
		work, s > 0 ? (double)work / s : 0.0, unit, check);
	return fflush(stdout) || ferror(stdout) ? program_fail(name, "standard output") : 0;
}

#endif
