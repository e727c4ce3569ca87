/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/conf/conf_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RELOAD  true
#define RESTART false

const struct conf_key conf_keys[] = {
/* NOLINTBEGIN(bugprone-macro-parentheses): members */
#define ROW(key, member, type_, lo, hi, values_, when)                                             \
	{                                                                                          \
		.name = key,                                                                       \
		.type = (type_),                                                                   \
		.offset = offsetof(struct conf, member),                                           \
		.size = sizeof(((struct conf *)0)->member),                                        \
		.min = (lo),                                                                       \
		.max = (hi),                                                                       \
		.values = (values_),                                                               \
		.reload = (when),                                                                  \
	},
#define KEY(in, field, declaration, type, set, lo, hi, values, when)                               \
	ROW(#in #field, in field, type, lo, hi, values, when)
#define SECTION(name)
#define SECTION_END(name)
#define EVENT(name, counter)                                                                       \
	ROW("events." #name, events.of[counter], CONF_EVENT, 0, 0, NULL, RESTART)
#include "nodesvc/conf/conf_keys.def"
	/* NOLINTEND(bugprone-macro-parentheses) */
};
const size_t conf_n_keys = sizeof(conf_keys) / sizeof(conf_keys[0]);

int conf_choice(const char *values, const char *text)
{
	size_t len = strlen(text);
	int i = 0;

	for (const char *p = values;; i++) {
		const char *end = strchr(p, '|');
		size_t n = end ? (size_t)(end - p) : strlen(p);

		if (n == len && memcmp(p, text, n) == 0)
			return i;
		if (!end)
			return -1;
		p = end + 1;
	}
}

int conf_spin_us(const char *text)
{
	char *end;
	long n;

	if (*text < '0' || *text > '9')
		return -1;
	n = strtol(text, &end, 10);
	return strcmp(end, "us") == 0 && n <= CONF_SPIN_US_MAX ? (int)n : -1;
}

static void set_family(struct conf_family *f, const char *name, const char *value)
{
	struct conf_pair *p = &f->pair[f->n++];

	snprintf(p->key, sizeof(p->key), "%s", name);
	snprintf(p->value, sizeof(p->value), "%s", value);
}

void conf_defaults(struct conf *c)
{
	memset(c, 0, sizeof(*c));
#define KEY(in, field, declaration, type, set, ...) set;
#define SECTION(name)
#define SECTION_END(name)
#define EVENT(name, counter)
#include "nodesvc/conf/conf_keys.def"
	/* launch.c: auto_spin_us().
	 * LLVM's runtime does not collapse when shared (clang 14, stencil on 2 cores: 1.0-1.3 s
	 * each of four with 0, 1, 200 ms and unset); alone 0 ms cost 15-26 %, 1 ms under 7 %. */
	set_family(&c->launch_env.openmp, "GOMP_SPINCOUNT", "auto");
	set_family(&c->launch_env.openmp, "KMP_BLOCKTIME", "1");
	/* launch.c: auto_wait(). */
	set_family(&c->launch_env.openmp, "OMP_WAIT_POLICY", "auto");
	/* Measured on LAMMPS, 2 ranks: 2.1 s alone with and 2.2 s without; four at once 8 s
	 * instead of 25 s. */
	set_family(&c->launch_env.openmpi, "OMPI_MCA_mpi_yield_when_idle", "1");
	/* Seen with 6.0.0rc2: it ends with an error where it would bind more ranks than it finds
	 * cores, and a step beside another has fewer than Slurm allocated. */
	set_family(&c->launch_env.mpirun, "PRTE_MCA_bindto", "none");
}
