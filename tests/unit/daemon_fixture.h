/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon_fixture.h - colocd's rooms, opened over a file tree that stands for /proc and /sys, with
 * the shipped backend "none" for the actuator: nothing is moved.
 */
#ifndef COLOC_TESTS_DAEMON_FIXTURE_H
#define COLOC_TESTS_DAEMON_FIXTURE_H

#include "nodesvc/daemon/daemon.h"

/* A node of two cores under fair, its tree and its store (coloc.db) in @dir. @node, if any, changes
 * the configuration and puts files there before anything is opened. */
void daemon_up(struct daemon *d, const char *dir, void (*node)(void));
void daemon_down(struct daemon *d);

#endif
