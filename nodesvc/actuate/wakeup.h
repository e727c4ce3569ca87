/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wakeup.h - CPUs that wait for work instead of sleeping, so that a thread that has gone to sleep
 * there runs at once when it is woken.
 *
 * An idle CPU halts, and waking it takes time: from a deep state of a processor, or where the CPU
 * is a virtual one that its hypervisor has to bring back. The kernel polls on a CPU whose allowed
 * resume latency is 0 (cpuN/power/pm_qos_resume_latency_us reads "n/a"; "0" there means that
 * nobody asks for anything). A thread that becomes runnable there takes the CPU from it at once.
 *
 * Originals are in the ledger before they are changed, one row for each CPU; a CPU that polls
 * already, or that somebody has written to since, is left as it is. Called from the daemon's loop
 * only.
 * Source: the kernel's Documentation/admin-guide/pm/cpuidle.rst; drivers/base/power/sysfs.c for
 * the two texts.
 */
#ifndef COLOC_ACTUATE_WAKEUP_H
#define COLOC_ACTUATE_WAKEUP_H

#include <stdbool.h>

#include "common/coreset.h"
#include "common/err.h"
#include "common/fsroot.h"
#include "nodesvc/record/ledger.h"

/*
 * wakeup_probe - can idle CPUs be told to poll? -ENOTSUP: the text says why not.
 * *ret_guest: the kernel runs in a virtual machine and knows that halting is dear there (its
 * cpuidle driver is haltpoll).
 */
int wakeup_probe(const struct fsroot *root, bool *ret_guest, struct errbuf *err);

/* The CPUs of @cpus poll when idle from now on, read back. Errors: -EIO the kernel holds something
 * else, or what reading and writing and the ledger give; some may poll then, and have their row. */
int wakeup_poll(const struct fsroot *root, struct ledger *ledger, const struct coreset *cpus,
	struct errbuf *err);
/* Puts back what the ledger has for @cpus (NULL: for all), whoever wrote it, and forgets it. How
 * many CPUs, or <0: some could not be, and stay in the ledger. */
int wakeup_restore(const struct fsroot *root, struct ledger *ledger, const struct coreset *cpus,
	struct errbuf *err);

#endif
