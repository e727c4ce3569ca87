/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text.h - bytes that users chose (names of programs and jobs, types, what an error quotes) made
 * fit for every way out: a log, root's terminal, JSON, a metrics file, a table. It does not escape:
 * what CSV or HTML take for their own is theirs to mark. Thread-safe; no locale, no allocation.
 */
#ifndef COLOC_COMMON_TEXT_H
#define COLOC_COMMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * text_clean - leaves whole, visible characters of UTF-8 and blanks; each other byte becomes '?':
 * control characters (also U+0080 to U+009F, which terminals obey), what is no UTF-8 or is cut in
 * the middle, surrogates, line and paragraph separators, and characters that show nothing or turn
 * the direction of what follows. Never longer. Returns @text.
 */
char *text_clean(char *text);
bool text_is_clean(const char *text);
/* @src (NULL: "") cleaned into @dst, cut behind a whole character. Returns @dst. */
char *text_copy(char *dst, size_t size, const char *src);

/* A number that stands for texts, one after the other, from TEXT_HASH_START on (FNV-1a): for those
 * who have no reason to look for two that share one. NULL is another text than "". */
#define TEXT_HASH_START UINT64_C(14695981039346656037)
uint64_t text_hash(uint64_t h, const char *text);

#endif
