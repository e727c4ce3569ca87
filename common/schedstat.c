/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/schedstat.h"

#include <stdlib.h>

/* For each thread at each reading: scanf() would take longer than the kernel does. */
static bool take_number(const char **at, uint64_t *ret)
{
	char *end;

	*ret = strtoull(*at, &end, 10);
	if (end == *at)
		return false;
	*at = end;
	return true;
}

bool schedstat_parse(const char *text, struct schedstat *ret)
{
	struct schedstat s;

	if (!take_number(&text, &s.run_ns) || !take_number(&text, &s.wait_ns) ||
		!take_number(&text, &s.slices))
		return false;
	*ret = s;
	return true;
}
