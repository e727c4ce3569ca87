/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"

#undef err_set /* the analyzer's: see err.h */
#undef err_wrap

int err_set(struct errbuf *err, int rc, const char *fmt, ...)
{
	if (err) {
		int saved = errno;
		va_list ap;

		va_start(ap, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
		text_clean(err->text);
		errno = saved;
	}
	return rc;
}

int err_wrap(struct errbuf *err, int rc, const char *fmt, ...)
{
	if (err) {
		int saved = errno;
		char old[sizeof(err->text)];
		va_list ap;
		size_t len;

		memcpy(old, err->text, sizeof(old));
		va_start(ap, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
		len = strlen(err->text);
		snprintf(err->text + len, sizeof(err->text) - len, ": %s", old);
		text_clean(err->text);
		errno = saved;
	}
	return rc;
}
