/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.h - has colocd keep a profile of each program that is measured: lira-static, llc-complex
 * and dio go by profiles where there are no hardware counters.
 */
#ifndef COLOC_REALMIX_PROFILE_H
#define COLOC_REALMIX_PROFILE_H

#include "contrib/bench/realmix/mixes.h"

/*
 * profile_mix - "colocctl profile" of each distinct executable of @mix (prepared), one after the
 * other, with nothing else running, on the cores of one socket as LIRA's section 5.3 has it. MPI
 * programs run as one rank: rates are per thread. Their output goes to @log_fd. @done:
 * space-separated executables that have a profile already, appended to; @size bytes. Returns 0, or
 * -errno what failed.
 */
int profile_mix(const struct mix *mix, const char *socket, int log_fd, char *done, size_t size,
	struct errbuf *err);

#endif
