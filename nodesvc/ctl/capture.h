/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * capture.h - a program's output, within a time limit. It does not interpret what was said.
 */
#ifndef COLOC_CTL_CAPTURE_H
#define COLOC_CTL_CAPTURE_H

#define CAPTURE_NO_PROGRAM 127 /* exit status: nothing by that name */

/*
 * capture - runs @argv (found on PATH; no shell, for paths come from configuration) with both its
 * output streams in *@ret (free(); never NULL, also after an error, unless -ENOMEM).
 * After @timeout_ms it is killed with all that it has started. Once it takes longer than a second,
 * standard error says what is being waited for, and for how long at most.
 * Returns its exit status, or -errno: -ETIMEDOUT, -EINTR a signal ended it, -ENOMEM.
 * Not thread-safe where another thread changes the environment.
 */
int capture(char *const argv[], int timeout_ms, char **ret);

/* The notice, for those who wait in another way: "colocctl: waiting for @what (up to 5 s)". */
void capture_notice(const char *what, int timeout_ms);
#define CAPTURE_NOTICE_MS 1000

#endif
