/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log.h - the daemon's log: stderr with "<N>" priorities where a journal reads them, time stamps
 * otherwise. Only main.c and the daemon's own files log; rooms below return texts.
 */
#ifndef COLOC_BASE_LOG_H
#define COLOC_BASE_LOG_H

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void log_init(enum log_level level);
/* Everything from now on, whatever log_init() says. */
void log_verbose(void);
/* "error" "warning" "info" "debug"; -EINVAL unknown. */
int log_level_parse(const char *name, enum log_level *ret);
void log_at(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...)   log_at(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_at(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)    log_at(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)   log_at(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
