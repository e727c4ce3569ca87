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

/*
 * health.c: the last error that colocd met, whichever part of it: status tells it, and check.
 * Whoever notes one has logged it, or has said why not. Loop thread only.
 */

/* Cut to 255 bytes. */
void health_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "": none yet. */
const char *health_last_error(void);

/* notify.c: the one-datagram protocol of sd_notify(3), without libsystemd. */

/* Sends "READY=1" etc. to $NOTIFY_SOCKET; 0 also where there is none, else -errno. */
int notify_send(const char *state);
/* Half of $WATCHDOG_USEC in ms, as systemd advises; 0: no watchdog asked for. */
int notify_watchdog_ms(void);

#endif
