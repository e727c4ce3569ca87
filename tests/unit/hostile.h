/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostile.h - the names of tests/hostile-names, and what holds for every way out that has them:
 * whole lines of clean text, however many there were without names. Header only.
 */
#ifndef COLOC_TESTS_UNIT_HOSTILE_H
#define COLOC_TESTS_UNIT_HOSTILE_H

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

#define HOSTILE_MAX 32

static char hostile_name[HOSTILE_MAX][512];
static int hostile_n;

static inline void hostile_unescape(char *to, const char *from)
{
	static const char WORD[] = "nrtae", MEANS[] = "\n\r\t\a\033";

	for (; *from && *from != '\n'; from++) {
		const char *w = *from == '\\' ? strchr(WORD, from[1]) : NULL;
		unsigned int byte;

		if (*from != '\\') {
			*to++ = *from;
		} else if (sscanf(from, "\\x%2x", &byte) == 1) {
			*to++ = (char)byte;
			from += 3;
		} else {
			*to++ = (char)(w ? MEANS[w - WORD] : from[1]);
			from++;
		}
	}
	*to = '\0';
}

static inline void hostile_load(void)
{
	const char *src = getenv("COLOC_SRCDIR");
	char path[512], line[2048];
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/hostile-names", src ? src : ".");
	f = fopen(path, "r");
	ck_assert_msg(f != NULL, "%s: %s", path, strerror(errno));
	hostile_n = 0;
	while (fgets(line, sizeof(line), f)) {
		if (*line == '#')
			continue;
		ck_assert_int_lt(hostile_n, HOSTILE_MAX);
		hostile_unescape(hostile_name[hostile_n++], line);
	}
	fclose(f);
	ck_assert_int_eq(hostile_n, 20);
}

/* Every line of @output is clean (CR LF ends one, too). Returns their number. */
static inline int hostile_check(const char *what, const char *output)
{
	int n = 0;

	for (const char *p = output; *p; n++) {
		size_t len = strcspn(p, "\n");
		char *line = strndup(p, len);

		if (len && line[len - 1] == '\r')
			line[len - 1] = '\0';
		ck_assert_msg(text_is_clean(line), "%s: line %d: %s", what, n + 1, line);
		free(line);
		p += len + (p[len] == '\n');
	}
	return n;
}

#endif
