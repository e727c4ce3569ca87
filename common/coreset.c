/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/coreset.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

void coreset_zero(struct coreset *s)
{
	memset(s, 0, sizeof(*s));
}

void coreset_add(struct coreset *s, unsigned int pu_os)
{
	if (pu_os < CORESET_MAX)
		s->w[pu_os / 64] |= UINT64_C(1) << (pu_os % 64);
}

void coreset_add_range(struct coreset *s, unsigned int first, unsigned int last)
{
	for (unsigned int pu = first; pu <= last && pu < CORESET_MAX; pu++)
		coreset_add(s, pu);
}

void coreset_del(struct coreset *s, unsigned int pu_os)
{
	if (pu_os < CORESET_MAX)
		s->w[pu_os / 64] &= ~(UINT64_C(1) << (pu_os % 64));
}

bool coreset_has(const struct coreset *s, unsigned int pu_os)
{
	return pu_os < CORESET_MAX && (s->w[pu_os / 64] >> (pu_os % 64) & 1);
}

int coreset_count(const struct coreset *s)
{
	int n = 0;

	for (int i = 0; i < CORESET_WORDS; i++)
		n += __builtin_popcountll(s->w[i]);
	return n;
}

bool coreset_is_empty(const struct coreset *s)
{
	for (int i = 0; i < CORESET_WORDS; i++)
		if (s->w[i])
			return false;
	return true;
}

bool coreset_is_equal(const struct coreset *a, const struct coreset *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

bool coreset_is_subset(const struct coreset *inner, const struct coreset *outer)
{
	for (int i = 0; i < CORESET_WORDS; i++)
		if (inner->w[i] & ~outer->w[i])
			return false;
	return true;
}

bool coreset_intersects(const struct coreset *a, const struct coreset *b)
{
	for (int i = 0; i < CORESET_WORDS; i++)
		if (a->w[i] & b->w[i])
			return true;
	return false;
}

void coreset_and(struct coreset *ret, const struct coreset *a, const struct coreset *b)
{
	for (int i = 0; i < CORESET_WORDS; i++)
		ret->w[i] = a->w[i] & b->w[i];
}

void coreset_or(struct coreset *ret, const struct coreset *a, const struct coreset *b)
{
	for (int i = 0; i < CORESET_WORDS; i++)
		ret->w[i] = a->w[i] | b->w[i];
}

void coreset_andnot(struct coreset *ret, const struct coreset *a, const struct coreset *b)
{
	for (int i = 0; i < CORESET_WORDS; i++)
		ret->w[i] = a->w[i] & ~b->w[i];
}

int coreset_next(const struct coreset *s, int from)
{
	if (from < 0)
		from = 0;
	for (int i = from / 64; i < CORESET_WORDS; i++) {
		uint64_t w = s->w[i];

		if (i == from / 64)
			w &= ~UINT64_C(0) << (from % 64);
		if (w)
			return i * 64 + __builtin_ctzll(w);
	}
	return -1;
}

/* Reads digits at *@p; -1 when there are none, CORESET_MAX when too large. */
static long parse_number(const char **p)
{
	long n = -1;

	while (isdigit((unsigned char)**p)) {
		n = (n < 0 ? 0 : n) * 10 + (**p - '0');
		if (n > CORESET_MAX)
			n = CORESET_MAX;
		(*p)++;
	}
	return n;
}

int coreset_parse(struct coreset *ret, const char *text, struct errbuf *err)
{
	struct coreset s;
	const char *p = text;

	coreset_zero(&s);
	while (isspace((unsigned char)*p))
		p++;
	while (*p && !isspace((unsigned char)*p)) {
		long first = parse_number(&p), last = first;

		if (first >= 0 && *p == '-') {
			p++;
			last = parse_number(&p);
		}
		if (first < 0 || last < first)
			return err_set(err, -EINVAL, "'%.80s' is not a list of CPUs", text);
		if (last >= CORESET_MAX)
			return err_set(err, -ERANGE, "'%.80s': CPU number above %d", text,
				CORESET_MAX - 1);
		coreset_add_range(&s, (unsigned int)first, (unsigned int)last);
		if (*p != ',')
			break;
		p++;
		if (!isdigit((unsigned char)*p))
			return err_set(err, -EINVAL, "'%.80s' is not a list of CPUs", text);
	}
	while (isspace((unsigned char)*p))
		p++;
	if (*p)
		return err_set(err, -EINVAL, "'%.80s' is not a list of CPUs", text);
	*ret = s;
	return 0;
}

char *coreset_format(const struct coreset *s, char *buf, size_t size)
{
	size_t len = 0;

	if (!size)
		return buf;
	buf[0] = '\0';
	for (int first = coreset_next(s, 0); first >= 0 && len < size;) {
		int last = first;

		while (coreset_has(s, (unsigned int)last + 1))
			last++;
		if (last > first)
			len += (size_t)snprintf(
				buf + len, size - len, "%s%d-%d", len ? "," : "", first, last);
		else
			len += (size_t)snprintf(
				buf + len, size - len, "%s%d", len ? "," : "", first);
		first = coreset_next(s, last + 1);
	}
	return buf;
}
