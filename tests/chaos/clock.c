/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clock.c - for the campaign of faults: preloaded into colocd alone, its wall clock is off by the
 * seconds that stand in the file COLOC_CLOCK names. The machine's own is never set.
 */
/* NOLINTNEXTLINE(bugprone-reserved-identifier): glibc's; it is compiled alone */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int (*real)(clockid_t, struct timespec *);
static int fd = -1;

__attribute__((constructor)) static void start(void)
{
	const char *path = getenv("COLOC_CLOCK");

	*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	if (path)
		fd = open(path, O_RDONLY | O_CLOEXEC);
}

int clock_gettime(clockid_t clock_id, struct timespec *tp)
{
	static long long off_s;
	char text[32];
	ssize_t n;
	int rc = real(clock_id, tp);

	if (rc != 0 || clock_id != CLOCK_REALTIME || fd < 0)
		return rc;
	/* While the file is written it may be empty: as before. */
	n = pread(fd, text, sizeof(text) - 1, 0);
	if (n > 0) {
		text[n] = '\0';
		off_s = atoll(text);
	}
	tp->tv_sec += off_s;
	return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	struct timespec ts;

	(void)tz;
	clock_gettime(CLOCK_REALTIME, &ts);
	*tv = (struct timeval){.tv_sec = ts.tv_sec, .tv_usec = ts.tv_nsec / 1000};
	return 0;
}

time_t time(time_t *timer)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	if (timer)
		*timer = ts.tv_sec;
	return ts.tv_sec;
}
