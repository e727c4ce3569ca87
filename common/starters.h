/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * starters.h - executables whose work is to start others: shells, wrappers, launchers of MPI,
 * interpreters. What such a process has (its mask, its environment) is what its children begin
 * with, and what it links says little of what runs.
 */
#ifndef COLOC_COMMON_STARTERS_H
#define COLOC_COMMON_STARTERS_H

#include <stdint.h>

enum starter {
	STARTER_NONE,
	STARTER_LAUNCHER,    /* runs others and waits, or becomes them */
	STARTER_INTERPRETER, /* runs others, or computes itself with what it loads */
};

/* What @executable is, by the last component of its path without a release ("python3.11",
 * "mpiexec.hydra"). */
enum starter starter_of(const char *executable);

/*
 * starter_script - a number for what a starter, argv[0], is told to run: of an interpreter's
 * arguments those up to the first that is no option (its script, or the text after -c), of a
 * launcher's all; and @cwd (may be NULL), unless the former's is an absolute path.
 */
uint64_t starter_script(int argc, char *const *argv, const char *cwd);

#endif
