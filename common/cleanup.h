/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cleanup.h - attributes that release on leaving scope, and the hand-over of ownership.
 * close() is never retried: on Linux the descriptor is gone whatever it returns.
 */
#ifndef COLOC_COMMON_CLEANUP_H
#define COLOC_COMMON_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define cleanup_free  __attribute__((cleanup(cleanup_free_p)))
#define cleanup_close __attribute__((cleanup(cleanup_close_p)))
#define cleanup_file  __attribute__((cleanup(cleanup_file_p)))
#define cleanup_dir   __attribute__((cleanup(cleanup_dir_p)))

static inline void cleanup_free_p(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close_p(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_file_p(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void cleanup_dir_p(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* Hands over: yields the pointer and leaves NULL behind. */
#define take_ptr(p)                                                                                \
	({                                                                                         \
		__typeof__(p) take_ptr_ = (p);                                                     \
		(p) = NULL;                                                                        \
		take_ptr_;                                                                         \
	})

/* Hands over a descriptor and leaves -1 behind. */
#define take_fd(fd)                                                                                \
	({                                                                                         \
		int take_fd_ = (fd);                                                               \
		(fd) = -1;                                                                         \
		take_fd_;                                                                          \
	})

#endif
