/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cli.h - for tests that run one of the programs as its users do: what it wrote is in cli_output,
 * both streams together. Header only; one test, one output.
 */
#ifndef COLOC_TEST_CLI_H
#define COLOC_TEST_CLI_H

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static char cli_output[262144];

/* Runs a shell line in which "$B" is the folder of the built programs. Its exit status. */
static inline int cli_shell(const char *line)
{
	const char *build = getenv("COLOC_BUILDDIR");
	char command[8192];
	FILE *p;
	size_t n;
	int status;

	snprintf(command, sizeof(command), "{ B='%s/nodesvc'; %s\n} 2>&1", build ? build : ".",
		line);
	p = popen(command, "r");
	ck_assert_ptr_nonnull(p);
	n = fread(cli_output, 1, sizeof(cli_output) - 1, p);
	cli_output[n] = '\0';
	status = pclose(p);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Runs nodesvc/@program with @args, as a shell reads them. */
static inline int cli_run(const char *program, const char *args)
{
	char line[4096];

	snprintf(line, sizeof(line), "exec \"$B/%s\" %s", program, args);
	return cli_shell(line);
}

/* The text of a file of the source tree, at most @size - 1 bytes of it. */
static inline void cli_read_source(const char *name, char *ret, size_t size)
{
	const char *src = getenv("COLOC_SRCDIR");
	char path[512];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", src ? src : ".", name);
	f = fopen(path, "r");
	ck_assert_msg(f != NULL, "%s: %s", path, strerror(errno));
	n = fread(ret, 1, size - 1, f);
	ret[n] = '\0';
	fclose(f);
}

/* tests/golden/PREFIX-NAME.txt, rewritten by UPDATE_GOLDEN=1 and reviewed as code. */
static inline void cli_assert_golden(const char *prefix, const char *name)
{
	static char want[sizeof(cli_output)];
	const char *src = getenv("COLOC_SRCDIR");
	char file[256], path[512];
	FILE *f;

	snprintf(file, sizeof(file), "tests/golden/%s-%s.txt", prefix, name);
	if (getenv("UPDATE_GOLDEN")) {
		snprintf(path, sizeof(path), "%s/%s", src ? src : ".", file);
		f = fopen(path, "w");
		ck_assert_ptr_nonnull(f);
		fputs(cli_output, f);
		fclose(f);
		return;
	}
	cli_read_source(file, want, sizeof(want));
	ck_assert_msg(strcmp(want, cli_output) == 0, "%s differs; got:\n%s", file, cli_output);
}

/* Every option that the help text in cli_output names stands in nodesvc/@page. */
static inline void cli_assert_in_manual(const char *page)
{
	static char man[65536];
	char file[256], option[64], roff[128];

	snprintf(file, sizeof(file), "nodesvc/%s", page);
	cli_read_source(file, man, sizeof(man));
	for (const char *p = cli_output; (p = strstr(p, "--")); p += 2) {
		size_t len = strspn(p + 2, "abcdefghijklmnopqrstuvwxyz0123456789-"), out = 0;

		if (len == 0 || len >= sizeof(option) - 2)
			continue;
		snprintf(option, sizeof(option), "%.*s", (int)len + 2, p);
		for (const char *o = option; *o; o++) {
			if (*o == '-')
				roff[out++] = '\\';
			roff[out++] = *o;
		}
		roff[out] = '\0';
		ck_assert_msg(strstr(man, roff) != NULL, "%s lacks %s", page, option);
	}
}

#endif
