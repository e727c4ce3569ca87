/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/bind.h"

#include <stdlib.h>
#include <string.h>

/* Of --cpu-bind's types those that bind nothing, in full and as srun takes them for short. */
static const char *const no_binding[] = {"none", "no", "n", "quiet", "q", "verbose", "v"};

static bool is_binding(const char *value)
{
	for (const char *p = value; *p;) {
		size_t len = strcspn(p, ",");
		bool known = len == 0;

		for (size_t i = 0; i < sizeof(no_binding) / sizeof(no_binding[0]); i++)
			known |= strlen(no_binding[i]) == len && !strncmp(p, no_binding[i], len);
		if (!known)
			return true;
		p += len + (p[len] == ',');
	}
	return false;
}

/*
 * srun takes its default binding from SLURM_CPU_BIND. Slurm puts that into every task's
 * environment, with three variables that hold its parts, so that an srun inside a task looks as
 * if the user had bound it. A user who sets SLURM_CPU_BIND does not set the parts with it: all
 * four in agreement are Slurm's.
 */
static bool is_slurms(const struct bind_env *env)
{
	size_t len = env->verbose ? strlen(env->verbose) : 0;
	const char *rest = env->whole;

	if (!len || !env->type || !env->list || strncmp(rest, env->verbose, len) != 0 ||
		rest[len] != ',')
		return false;
	rest += len + 1;
	len = strlen(env->type);
	return strncmp(rest, env->type, len) == 0 && strcmp(rest + len, env->list) == 0;
}

bool bind_in_env(const struct bind_env *env)
{
	return env->whole && !is_slurms(env) && is_binding(env->whole);
}

/* The value of an argument that is --cpu-bind, as far as getopt needs it spelled out (or with the
 * underscore of old); "" if the next argument has it; NULL: another option. */
static const char *cpu_bind(const char *arg)
{
	const char *value;

	if (strncmp(arg, "--cpu-b", 7) != 0 && strncmp(arg, "--cpu_b", 7) != 0)
		return NULL;
	value = strchr(arg, '=');
	return value ? value + 1 : "";
}

bool bind_asked(FILE *line, int argc, char *const *argv, bool in_env)
{
	bool last = in_env, any = in_env, several = false, is_value = false;
	char *arg = NULL;
	size_t size = 0;
	long n = 0;

	while (line && getdelim(&arg, &size, '\0', line) > 0)
		n++;
	if (n == 0)
		return true;
	rewind(line);
	for (long i = 0; getdelim(&arg, &size, '\0', line) > 0; i++) {
		/* A file of programs (--multi-prog) has other words than the command line. */
		bool programs = i >= n - argc && strcmp(arg, argv[i - (n - argc)]) == 0;
		const char *value = programs ? NULL : cpu_bind(arg);

		several |= strcmp(arg, ":") == 0;
		if (is_value || (value && *value))
			any |= last = is_binding(is_value ? arg : value);
		is_value = value && !*value;
	}
	free(arg);
	/* Of the parts of a heterogeneous job each has options of its own. */
	return several ? any : last;
}
