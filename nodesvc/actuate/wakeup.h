/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wakeup.h - idle CPUs of a virtual machine that look for work for a moment before they halt, so
 * that a thread that has gone to sleep there runs at once when it is woken soon.
 *
 * A virtual CPU that halts has to be brought back by its hypervisor. The kernel's cpuidle governor
 * haltpoll polls first, for as long as has paid lately and at most guest_halt_poll_ns: 200 us as
 * kernels have it, and 0, never, where it was turned off. A thread that becomes runnable takes the
 * CPU from the polling at once. It is one setting for all CPUs.
 *
 * The original is in the ledger before it is changed; what somebody else has written since is left
 * as it is. Called from the daemon's loop only.
 * Source: the kernel's Documentation/virt/guest-halt-polling.rst.
 */
#ifndef COLOC_ACTUATE_WAKEUP_H
#define COLOC_ACTUATE_WAKEUP_H

#include <stdbool.h>

#include "common/err.h"
#include "common/fsroot.h"
#include "nodesvc/record/ledger.h"

/* The kernel's own default. 50 us and 1 ms did as well (doc/results/waitpolicy.md). */
#define WAKEUP_POLL_NS 200000

/*
 * wakeup_probe - can idle CPUs be told to poll? -ENOTSUP: the text says why not.
 * *ret_polls: they do as it is, for WAKEUP_POLL_NS or longer.
 */
int wakeup_probe(const struct fsroot *root, bool *ret_polls, struct errbuf *err);

/* They poll for WAKEUP_POLL_NS at most from now on, read back; who polls as long leaves it. Errors:
 * -EIO the kernel holds something else, or what reading and writing and the ledger give. */
int wakeup_poll(const struct fsroot *root, struct ledger *ledger, struct errbuf *err);
/* Puts back what the ledger has, whoever wrote it, and forgets it. 1, 0 there was nothing, or <0:
 * it could not be, and stays in the ledger. */
int wakeup_restore(const struct fsroot *root, struct ledger *ledger, struct errbuf *err);

#endif
