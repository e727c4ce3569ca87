/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/command.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int join(const char *dir, int len, const char *name, char *ret, size_t size)
{
	int n = snprintf(ret, size, "%.*s/%s", len, dir, name);

	return n >= 0 && (size_t)n < size ? 0 : -ENAMETOOLONG;
}

uint32_t command_arguments(int argc, char *const argv[])
{
	uint32_t hash = UINT32_C(2166136261); /* FNV-1a */

	for (int i = 1; i < argc; i++)
		for (const char *p = argv[i];; p++) {
			/* Of a number only how many digits it has. */
			unsigned char c = *p >= '0' && *p <= '9' ? '0' : (unsigned char)*p;

			hash = (hash ^ c) * UINT32_C(16777619);
			if (!*p)
				break;
		}
	return hash ? hash : 1;
}

/* gmx, gmx_mpi, mdrun_d: all of its programs that compute. */
static bool is_gromacs(const char *arg)
{
	const char *slash = strrchr(arg, '/'), *name = slash ? slash + 1 : arg;

	return strncmp(name, "gmx", 3) == 0 || strncmp(name, "mdrun", 5) == 0;
}

const char *command_threads_by(int argc, char *const argv[])
{
	bool gromacs = false;

	for (int i = 0; i + 1 < argc; i++) {
		const char *name = argv[i] + strspn(argv[i], "-"), *value = argv[i + 1];

		gromacs |= is_gromacs(argv[i]);
		/* 0 leaves it to the program; one rank says nothing of its threads. */
		if (!gromacs || *argv[i] != '-' || strcmp(value, "0") == 0)
			continue;
		if (strcmp(name, "ntomp") == 0 || strcmp(name, "nt") == 0 ||
			(strcmp(name, "ntmpi") == 0 && strcmp(value, "1") != 0))
			return argv[i];
	}
	return NULL;
}

int command_find(const struct command *c, char *ret, size_t size)
{
	struct stat st;
	size_t len;

	if (!c->name || !*c->name)
		return -ENOENT;
	if (*c->name == '/') {
		int n = snprintf(ret, size, "%s", c->name);

		return n >= 0 && (size_t)n < size ? 0 : -ENAMETOOLONG;
	}
	if (*c->name == '.')
		return c->cwd && *c->cwd == '/'
			       ? join(c->cwd, (int)strlen(c->cwd), c->name, ret, size)
			       : -ENOENT;
	for (const char *dir = c->search ? c->search : ""; *dir; dir += len + (dir[len] == ':')) {
		int rc;

		len = strcspn(dir, ":");
		if (len == 0)
			continue; /* Slurm passes over empty ones */
		if (*dir != '/')
			return -ENOENT;
		rc = join(dir, (int)len, c->name, ret, size);
		if (rc < 0)
			return rc;
		if (stat(ret, &st) == 0 && !S_ISDIR(st.st_mode))
			return 0;
	}
	return -ENOENT;
}
