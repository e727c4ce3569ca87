/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deaf.h - a file system that does not answer, as a user's own or a server that is down: whoever
 * asks it for a file's attributes or bytes gets an error. For a process that ends soon after.
 */
#ifndef COLOC_TESTS_DEAF_H
#define COLOC_TESTS_DEAF_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define DEAF(nr, error)                                                                            \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1),                                           \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))

static inline bool deaf_begin(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		DEAF(SYS_newfstatat, ETIMEDOUT),
		DEAF(SYS_fstat, ETIMEDOUT),
		DEAF(SYS_pread64, ETIMEDOUT),
		/* It can only be waited for. */
		DEAF(SYS_preadv2, EOPNOTSUPP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#endif
