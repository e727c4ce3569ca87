/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * llc.h - the last-level cache that a grouping domain can call its own.
 */
#ifndef COLOC_CTL_LLC_H
#define COLOC_CTL_LLC_H

#include <stdbool.h>
#include <stdint.h>

#include "common/fsroot.h"

struct llc {
	uint64_t bytes;
	int assoc, line; /* 0: unknown */
};

/* "BYTES[,ASSOC,LINE]"; BYTES may end in K, M or G. false: @ret untouched. */
bool llc_parse(const char *text, struct llc *ret);

/*
 * llc_share - CPU 0's last level, divided by the number of domains that share it when @n_pus CPUs
 * make @n_domains; never the host's where this is a virtual machine. bytes 0: the kernel does
 * not tell.
 */
void llc_share(const struct fsroot *root, int n_pus, int n_domains, struct llc *ret);

#endif
