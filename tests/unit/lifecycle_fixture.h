/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lifecycle_fixture.h - the daemon's decisions about steps, without a kernel to move anything in: a
 * file tree stands for /proc and /sys, the shipped backend "none" for the actuator.
 */
#ifndef COLOC_TESTS_LIFECYCLE_FIXTURE_H
#define COLOC_TESTS_LIFECYCLE_FIXTURE_H

#include "common/msg.h"
#include "nodesvc/daemon/daemon.h"

extern struct daemon d;
extern char dir[64];       /* the tree, and the store in it */
extern struct msg in, out; /* the last message, and its answer */

/* A node of two cores under fair, with nothing on it. */
void setup(void);
/* The same; @node puts more files there before anything is opened. */
void setup_on(void (*node)(void));
void teardown(void);

/* Begins a step_start of one task; the test adds to it and calls go(). */
void start(uint32_t job, uint32_t step);
/* Sends it; returns the answer's type. */
const char *go(void);
/* Both, for JOB.0 with --coloc-policy=@policy ("": none given). */
const char *run(uint32_t job, const char *policy);
/* Where JOB.0 is: a list in a static buffer, or "none". */
const char *coreset_of(uint32_t job);
void finish(uint32_t job, uint32_t step);

#endif
