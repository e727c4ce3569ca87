/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/out.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *name;

static void check(void)
{
	/* A write that failed earlier has left no errno; most often the last one fails as well. */
	int failed = ferror(stdout);

	errno = 0;
	if (fclose(stdout) != 0 && errno != EBADF)
		failed = 1;
	if (!failed)
		return;
	fprintf(stderr, "%s: error: standard output: %s\n", name,
		errno ? strerror(errno) : "not all of it could be written");
	fflush(NULL);
	_exit(1);
}

void out_check_at_exit(const char *program)
{
	bool again = name;

	name = program;
	/* Looking twice would close twice. */
	if (!again && atexit(check) != 0)
		fprintf(stderr, "%s: warning: nobody will look whether its output was written\n",
			program);
}
