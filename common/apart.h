/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * apart.h - what a user wrote, read by a process of its own: with his rights, so that a name opens
 * no file for him, and with a deadline, since a file system may not answer.
 */
#ifndef COLOC_COMMON_APART_H
#define COLOC_COMMON_APART_H

#include <sys/types.h>

struct apart_work {
	/* Before the rights are given up; NULL: nothing is to be done. */
	void (*prepare)(void *arg);
	/* With the rights of the user; what it writes to @fd, whole messages of a SOCK_SEQPACKET
	 * socket, is the answer. */
	void (*answer)(void *arg, int fd);
};

/*
 * apart_run - has @w done with the rights of @uid, within @deadline_s seconds. Costs two forks of
 * the caller; nothing of it but the other end is open there, and nobody has to wait for it.
 * Returns where the answer comes, the caller's to close: an end without one says that it did not
 * come about. Or -errno.
 */
int apart_run(const struct apart_work *w, void *arg, uid_t uid, unsigned int deadline_s);

#endif
