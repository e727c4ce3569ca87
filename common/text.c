/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/text.h"

#include <stdint.h>
#include <string.h>

/* The character at @p and its bytes; 0: there is none. */
static size_t decode(const unsigned char *p, uint32_t *ret)
{
	/* The least that so many bytes are for: what fits in fewer is written in fewer. */
	static const uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	uint32_t c = n < 2 ? p[0] : p[0] & (0x7fU >> n);

	if (n == 4 && p[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80) /* also where the text ends */
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	*ret = c;
	return n && c >= LEAST[n] && c <= 0x10ffff ? n : 0;
}

static bool is_visible(uint32_t c)
{
	static const struct {
		uint32_t from, to;
	} HIDDEN[] = {
		{0, 0x1f},
		{0x7f, 0x9f},
		{0xad, 0xad},
		{0x61c, 0x61c},
		{0x180e, 0x180e},
		{0x200b, 0x200f},
		{0x2028, 0x202e},
		{0x2060, 0x206f},
		{0xd800, 0xdfff},
		{0xfdd0, 0xfdef},
		{0xfeff, 0xfeff},
		{0xfff0, 0xfffb},
		{0xfffe, 0xffff},
		{0xe0000, 0xe0fff},
	};

	for (size_t i = 0; i < sizeof(HIDDEN) / sizeof(HIDDEN[0]); i++) {
		if (c >= HIDDEN[i].from && c <= HIDDEN[i].to)
			return false;
	}
	return true;
}

/* Bytes of a whole, visible character at @p; 0: its first byte is not to be shown. */
static size_t shown(const char *p)
{
	uint32_t c;
	size_t n = decode((const unsigned char *)p, &c);

	return n && is_visible(c) ? n : 0;
}

char *text_clean(char *text)
{
	for (char *p = text; *p;) {
		size_t n = (unsigned char)(*p - 0x20) < 0x5f ? 1 : shown(p);

		if (n == 0) {
			*p = '?';
			n = 1;
		}
		p += n;
	}
	return text;
}

bool text_is_clean(const char *text)
{
	for (size_t n; *text; text += n) {
		n = shown(text);
		if (n == 0)
			return false;
	}
	return true;
}

char *text_copy(char *dst, size_t size, const char *src)
{
	size_t len = src ? strlen(src) : 0, cut = len;

	if (size == 0)
		return dst;
	if (len >= size) {
		cut = size - 1;
		/* Not into a character that would have been whole. */
		for (size_t back = 1; back < 4 && back <= cut; back++) {
			if (shown(src + cut - back) > back) {
				cut -= back;
				break;
			}
		}
	}
	if (cut)
		memcpy(dst, src, cut);
	dst[cut] = '\0';
	return text_clean(dst);
}

uint64_t text_hash(uint64_t h, const char *text)
{
	const uint64_t prime = UINT64_C(1099511628211);

	for (; text && *text; text++)
		h = (h ^ (unsigned char)*text) * prime;
	/* Where one ends, the next begins. */
	return (h ^ (text ? 0x100u : 0x101u)) * prime;
}
