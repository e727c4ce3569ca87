/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/report/acct.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define DAY_S      86400
#define COUNT_N(a) (int)(sizeof(a) / sizeof((a)[0]))

/* Exactly @n digits; moves *@p behind them. */
static bool digits(const char **p, int n, int *ret)
{
	int value = 0;

	for (int i = 0; i < n; i++) {
		if (!isdigit((unsigned char)(*p)[i]))
			return false;
		value = value * 10 + ((*p)[i] - '0');
	}
	*p += n;
	*ret = value;
	return true;
}

/* One or two digits. */
static bool short_number(const char **p, int *ret)
{
	if (!digits(p, 1, ret))
		return false;
	if (isdigit((unsigned char)**p)) {
		*ret = *ret * 10 + (**p - '0');
		(*p)++;
	}
	return true;
}

/* HH:MM[:SS][AM|PM] to the end of the text. */
static bool clock_time(const char *p, struct tm *tm)
{
	int h, m, s = 0;

	if (!short_number(&p, &h) || *p++ != ':' || !digits(&p, 2, &m))
		return false;
	if (*p == ':') {
		p++;
		if (!digits(&p, 2, &s))
			return false;
	}
	if (strcasecmp(p, "am") == 0 || strcasecmp(p, "pm") == 0) {
		if (h < 1 || h > 12)
			return false;
		h = h % 12 + (tolower((unsigned char)*p) == 'p' ? 12 : 0);
		p += 2;
	}
	if (*p || h > 23 || m > 59 || s > 59)
		return false;
	tm->tm_hour = h;
	tm->tm_min = m;
	tm->tm_sec = s;
	return true;
}

/* A day without a year is the last one that has been: this is for what was recorded. */
static int year_of(int month, int mday, const struct tm *now)
{
	bool is_ahead = month > now->tm_mon || (month == now->tm_mon && mday > now->tm_mday);

	return now->tm_year - (is_ahead ? 1 : 0);
}

/* MMDD[YY], MM.DD[.YY], MM/DD[/YY] or YYYY-MM-DD; moves *@p behind it. */
static bool date(const char **p, const struct tm *now, struct tm *tm)
{
	const char *q = *p;
	size_t n = strspn(q, "0123456789");
	int year = -1, month = 0, mday = 0;

	if (n == 4 && q[4] == '-' && isdigit((unsigned char)q[5]) && q[6] && q[7] == '-') {
		if (!digits(&q, 4, &year) || *q++ != '-' || !digits(&q, 2, &month) || *q++ != '-' ||
			!digits(&q, 2, &mday))
			return false;
		year -= 1900;
	} else if (n == 4 || n == 6) {
		if (!digits(&q, 2, &month) || !digits(&q, 2, &mday))
			return false;
		if (n == 6 && digits(&q, 2, &year))
			year += 100;
	} else {
		char separator;

		if (!short_number(&q, &month) || (*q != '.' && *q != '/'))
			return false;
		separator = *q++;
		if (!short_number(&q, &mday))
			return false;
		if (*q == separator) {
			q++;
			if (!digits(&q, 2, &year))
				return false;
			year += 100;
		}
	}
	if (month < 1 || month > 12 || mday < 1 || mday > 31)
		return false;
	tm->tm_mon = month - 1;
	tm->tm_mday = mday;
	tm->tm_year = year >= 0 ? year : year_of(tm->tm_mon, mday, now);
	*p = q;
	return true;
}

/* now[{+|-}COUNT[unit]] */
static bool relative(const char *p, int64_t now_s, int64_t *ret)
{
	static const struct {
		const char *name;
		int64_t seconds;
	} UNIT[] = {
		{"seconds", 1},
		{"minutes", 60},
		{"hours", 3600},
		{"days", DAY_S},
		{"weeks", INT64_C(7) * DAY_S},
	};
	int64_t count, unit = 1;
	char sign = *p, *end;

	if (!sign) {
		*ret = now_s;
		return true;
	}
	if ((sign != '+' && sign != '-') || !isdigit((unsigned char)p[1]))
		return false;
	errno = 0;
	count = strtoll(p + 1, &end, 10);
	if (errno || count > INT64_C(100000000000))
		return false;
	if (*end) {
		int i = 0;

		while (i < COUNT_N(UNIT) && strncasecmp(end, UNIT[i].name, strlen(end)) != 0)
			i++;
		if (i == COUNT_N(UNIT))
			return false;
		unit = UNIT[i].seconds;
	}
	*ret = now_s + (sign == '-' ? -1 : 1) * count * unit;
	return true;
}

/* Local time that exists: mktime() would turn 30 February into March. */
static bool to_seconds(struct tm *tm, int64_t *ret)
{
	struct tm copy = *tm;
	time_t t;

	copy.tm_isdst = -1;
	t = mktime(&copy);
	if (t == (time_t)-1 || copy.tm_mday != tm->tm_mday || copy.tm_mon != tm->tm_mon)
		return false;
	*ret = t;
	return true;
}

static bool word(const char *text, struct tm *tm)
{
	static const struct {
		const char *name;
		int days, hour;
	} WORD[] = {
		{"today", 0, 0},
		{"midnight", 0, 0},
		{"noon", 0, 12},
		{"fika", 0, 15},
		{"teatime", 0, 16},
		{"yesterday", -1, 0},
		{"tomorrow", 1, 0},
	};

	for (int i = 0; i < COUNT_N(WORD); i++) {
		if (strcasecmp(text, WORD[i].name) != 0)
			continue;
		tm->tm_hour = WORD[i].hour;
		if (WORD[i].days) {
			/* By way of noon: a day is not always 24 hours. */
			struct tm noon = *tm;

			noon.tm_hour = 12;
			noon.tm_mday += WORD[i].days;
			noon.tm_isdst = -1;
			if (mktime(&noon) == (time_t)-1)
				return false;
			tm->tm_year = noon.tm_year;
			tm->tm_mon = noon.tm_mon;
			tm->tm_mday = noon.tm_mday;
		}
		return true;
	}
	return false;
}

int acct_time_parse(const char *text, int64_t now_s, int64_t *ret, struct errbuf *err)
{
	time_t now_t = (time_t)now_s;
	struct tm now, tm;
	const char *p = text;
	bool good;

	localtime_r(&now_t, &now);
	tm = now;
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	if (strncasecmp(text, "now", 3) == 0) {
		good = relative(text + 3, now_s, ret);
	} else if (strncasecmp(text, "uts", 3) == 0) {
		char *end;

		errno = 0;
		now_s = strtoll(text + 3, &end, 10);
		good = isdigit((unsigned char)text[3]) && !*end && !errno &&
		       now_s < INT64_C(100000000000);
		if (good)
			*ret = now_s;
	} else if (word(text, &tm) || clock_time(text, &tm)) {
		good = to_seconds(&tm, ret);
	} else {
		good = date(&p, &now, &tm);
		if (good && *p)
			good = (*p == '-' || *p == 'T') && clock_time(p + 1, &tm);
		if (good)
			good = to_seconds(&tm, ret);
	}
	if (!good)
		return err_set(err, -EINVAL,
			"'%s' is no time (HH:MM[:SS], MMDD[YY], MM/DD[/YY], "
			"YYYY-MM-DD[THH:MM[:SS]], today, noon, now[{+|-}COUNT[UNIT]])",
			text);
	return 0;
}

void acct_time_window(const int64_t *start_s, const int64_t *end_s, bool has_jobs, bool has_state,
	int64_t now_s, int64_t *ret_start_s, int64_t *ret_end_s)
{
	if (start_s)
		*ret_start_s = *start_s;
	else if (has_jobs)
		*ret_start_s = 0;
	else if (has_state)
		*ret_start_s = now_s;
	else
		acct_time_parse("today", now_s, ret_start_s, NULL);
	if (end_s)
		*ret_end_s = *end_s;
	else if (has_state && start_s)
		*ret_end_s = *start_s;
	else
		*ret_end_s = now_s;
}

char *acct_time_elapsed(int64_t seconds, char *buf, size_t size)
{
	int64_t days = seconds / DAY_S;
	int rest = (int)(seconds % DAY_S);

	if (days > 0)
		snprintf(buf, size, "%" PRId64 "-%02d:%02d:%02d", days, rest / 3600, rest / 60 % 60,
			rest % 60);
	else
		snprintf(buf, size, "%02d:%02d:%02d", rest / 3600, rest / 60 % 60, rest % 60);
	return buf;
}
