/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * echo.h - what a registration's messages would take with nobody's work in between: as many, as
 * long, to a process that answers at once. What is beyond it is colocd's; it itself is the
 * machine's: its scheduler's, its other load's, its host's.
 */
#ifndef COLOC_BENCH_LOAD_ECHO_H
#define COLOC_BENCH_LOAD_ECHO_H

#include <stdint.h>
#include <sys/types.h>

struct echo {
	int fd;
	pid_t child;
};

/* Starts the process that answers; ends the program when it cannot. */
void echo_up(struct echo *e);
/* Nanoseconds of a step's message and of @tasks tasks' ones, each with its answer. */
int64_t echo_take(struct echo *e, int tasks);
void echo_down(struct echo *e);

#endif
