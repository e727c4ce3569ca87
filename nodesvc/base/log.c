/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/text.h"

static enum log_level log_level = LOG_LEVEL_INFO;
static bool verbose;
static bool log_journal;

static const struct {
	const char *name;
	int syslog_priority;
} levels[] = {
	[LOG_LEVEL_ERROR] = {"error", 3},
	[LOG_LEVEL_WARNING] = {"warning", 4},
	[LOG_LEVEL_INFO] = {"info", 6},
	[LOG_LEVEL_DEBUG] = {"debug", 7},
};

void log_init(enum log_level level)
{
	log_level = level;
	log_journal = getenv("JOURNAL_STREAM") != NULL;
	setvbuf(stderr, NULL, _IOLBF, 0);
}

void log_verbose(void)
{
	verbose = true;
}

int log_level_parse(const char *name, enum log_level *ret)
{
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (strcmp(levels[i].name, name) == 0) {
			*ret = (enum log_level)i;
			return 0;
		}
	return -EINVAL;
}

void log_at(enum log_level level, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if (level > log_level && !verbose)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* One line, whatever it quotes: a second one could claim any priority and time. */
	text_clean(text);
	if (log_journal) {
		fprintf(stderr, "<%d>%s\n", levels[level].syslog_priority, text);
	} else {
		struct timespec ts;
		struct tm tm;
		char when[32];

		clock_gettime(CLOCK_REALTIME, &ts);
		localtime_r(&ts.tv_sec, &tm);
		if (strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
			*when = '\0';
		fprintf(stderr, "%s.%03ld %s: %s\n", when, ts.tv_nsec / 1000000, levels[level].name,
			text);
	}
}
