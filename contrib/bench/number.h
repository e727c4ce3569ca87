/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * number.h - numbers on a benchmark's command line: what is none ends it with status 2, naming the
 * option and the text. atoi() would go on with 0.
 */
#ifndef COLOC_BENCH_NUMBER_H
#define COLOC_BENCH_NUMBER_H

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static inline double number_real(const char *what, const char *text)
{
	char *end;
	double x;

	errno = 0;
	x = strtod(text, &end);
	if (end == text || *end || errno || !(x >= 0)) {
		fprintf(stderr, "%s: '%s' is not a number of 0 or more\n", what, text);
		exit(2);
	}
	return x;
}

static inline int number_int(const char *what, const char *text)
{
	double x = number_real(what, text);

	if (x > INT_MAX || x != (double)(int)x) {
		fprintf(stderr, "%s: '%s' is not a whole number\n", what, text);
		exit(2);
	}
	return (int)x;
}

#endif
