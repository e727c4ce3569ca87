/* SPDX-License-Identifier: GPL-2.0-or-later */
/* notify.h - the one-datagram protocol of sd_notify(3), without libsystemd. */
#ifndef COLOC_BASE_NOTIFY_H
#define COLOC_BASE_NOTIFY_H

/* Sends "READY=1" etc. to $NOTIFY_SOCKET; 0 also where there is none, else -errno. */
int notify_send(const char *state);
/* Half of $WATCHDOG_USEC in ms, as systemd advises; 0: no watchdog asked for. */
int notify_watchdog_ms(void);

#endif
