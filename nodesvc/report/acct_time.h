/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * acct_time.h - the times that sacct's users write, and the default window that they expect.
 */
#ifndef COLOC_REPORT_ACCT_TIME_H
#define COLOC_REPORT_ACCT_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * acct_time_parse - Unix seconds of @text in local time, for a past event seen from @now_s:
 *   HH:MM[:SS][AM|PM]  today
 *   MMDD[YY][-HH:MM[:SS]]  MM.DD[.YY][-…]  MM/DD[/YY][-…]  no year: the last such day
 *   YYYY-MM-DD[THH:MM[:SS]]
 *   today midnight noon fika teatime yesterday tomorrow
 *   now[{+|-}COUNT[seconds|minutes|hours|days|weeks]], units may be abbreviated
 *   utsSECONDS
 * Errors: -EINVAL with the text quoted; @ret untouched.
 */
int acct_time_parse(const char *text, int64_t now_s, int64_t *ret, struct errbuf *err);

/* sacct's DEFAULT TIME WINDOW: what -S and -E mean when they are not given. */
void acct_time_window(const int64_t *start_s, const int64_t *end_s, bool has_jobs, bool has_state,
	int64_t now_s, int64_t *ret_start_s, int64_t *ret_end_s);

/* "[DD-]HH:MM:SS" as sacct prints Elapsed. Returns @buf. */
char *acct_time_elapsed(int64_t seconds, char *buf, size_t size);

#endif
