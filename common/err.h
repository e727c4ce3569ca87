/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * err.h - one error text, no allocation: works in slurmstepd and when memory is gone.
 *
 * A function that can fail returns 0 or -errno and may take a struct errbuf last (NULL: the
 * caller does not want the text). On success the buffer is left as it was. Thread-safe.
 */
#ifndef COLOC_COMMON_ERR_H
#define COLOC_COMMON_ERR_H

struct errbuf {
	char text[256];
};

/* Formats the text, returns @rc: `return err_set(err, -EIO, "cgroup '%s': ...", path);` */
int err_set(struct errbuf *err, int rc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "context: " before the text that is there, returns @rc. */
int err_wrap(struct errbuf *err, int rc, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#ifdef __clang_analyzer__ /* it sees one source at a time: what they return, said here */
#define err_returns(call, value)                                                                   \
	__extension__({                                                                            \
		int rc_ = (value);                                                                 \
		(void)(call);                                                                      \
		__builtin_assume(rc_ < 0);                                                         \
		rc_;                                                                               \
	})
#define err_set(err, rc, ...)  err_returns(err_set((err), rc_, __VA_ARGS__), (rc))
#define err_wrap(err, rc, ...) err_returns(err_wrap((err), rc_, __VA_ARGS__), (rc))
#endif

#endif
