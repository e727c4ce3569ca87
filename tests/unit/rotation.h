/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rotation.h - a rotation over files that stand for /proc and the v1 freezer, at times the test
 * makes up. Needs root, for fanotify. Link with
 * --wrap=ipc_now_ns,--wrap=aside_spent_ns.
 */
#ifndef COLOC_TESTS_ROTATION_H
#define COLOC_TESTS_ROTATION_H

#include <check.h>

#include "nodesvc/daemon/daemon.h"
#include "tests/unit/fstree.h"

#define MS INT64_C(1000000)
/* So long the steps of add() have run already. */
#define RUNS_FOR_NS (60000 * MS)

extern struct fstree tree;
extern struct daemon d;
extern struct plan plan;
extern int64_t now, next; /* made up, ns; when the rotation wants to be called, 0 never */
extern uint32_t idle;     /* job whose threads sleep in turn(); 0 none */

/* Runs the suite and frees it: main()'s status, 77 without root. */
int rotation_run(Suite *suite);

/* Before and after each test. */
void setup(void);
void teardown(void);

/* A step with one task, PID 10 x @job, placed and not yet in a slice. */
struct step *add(uint32_t job);
/* Its thread has run for so long, in so many slices of the kernel's. */
void put_run(uint32_t job, int64_t run_ms, int slices);
void freezer_file(uint32_t job, char *ret, size_t size);
bool frozen(uint32_t job);

/* Jobs 1..n, each in a slice of its own, of these lengths; then to the start of a slice. */
void give(const int *ms, int n);
/* One turn of the rotation, at the time it asked for; who is not idle has run meanwhile. */
void turn(void);
/* Time goes on to @until by the deadlines asked for; thawed time of @job meanwhile, ms. */
int64_t run_until(int64_t until, uint32_t job);

#endif
