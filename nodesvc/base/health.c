/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/base/log.h"

#include <stdarg.h>
#include <stdio.h>

static char last_error[256];

void health_error(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(last_error, sizeof(last_error), fmt, args);
	va_end(args);
}

const char *health_last_error(void)
{
	return last_error;
}
