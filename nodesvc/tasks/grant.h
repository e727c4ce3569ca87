/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * grant.h - which CPUs the tasks of this process may use: what colocd grants its step, or else the
 * mask that the process was started with. Only here does libcoloc_tasks call libcoloc.
 */
#ifndef COLOC_TASKS_GRANT_H
#define COLOC_TASKS_GRANT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/coreset.h"

struct coloc;

struct grant {
	struct coloc *c; /* NULL: nobody is asked */
	uint32_t generation;
	struct coreset cpus;
};

/* The caller's mask where nobody grants. */
void grant_open(struct grant *g);
void grant_close(struct grant *g);
/* Another one than that of @generation? Any thread, no lock; about 0.1 us. */
bool grant_is_news(const struct grant *g, uint32_t generation);
/* Reads it; true: .cpus changed. One thread at a time. */
bool grant_read(struct grant *g);

#endif
