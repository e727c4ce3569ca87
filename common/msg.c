/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/msg.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void msg_init(struct msg *m, const char *type)
{
	m->len = 0;
	m->overflow = false;
	msg_put(m, "coloc", MSG_VERSION);
	msg_put(m, "type", type);
}

void msg_put(struct msg *m, const char *key, const char *value)
{
	size_t klen = strlen(key), vlen;

	if (!value)
		return;
	vlen = strlen(value);
	if (klen + vlen + 2 > sizeof(m->buf) - m->len) {
		m->overflow = true;
		return;
	}
	memcpy(m->buf + m->len, key, klen);
	m->buf[m->len + klen] = '=';
	memcpy(m->buf + m->len + klen + 1, value, vlen + 1);
	m->len += klen + vlen + 2;
}

void msg_putf(struct msg *m, const char *key, const char *fmt, ...)
{
	char value[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(value))
		m->overflow = true;
	else
		msg_put(m, key, value);
}

int msg_check(const struct msg *m, struct errbuf *err)
{
	size_t at = 0;
	int n = 0;

	if (m->len == 0 || m->len > sizeof(m->buf) || m->buf[m->len - 1] != '\0')
		return err_set(err, -EPROTO, "message of %zu bytes does not end with NUL", m->len);
	for (; at < m->len; n++) {
		const char *rec = m->buf + at;
		const char *eq = strchr(rec, '=');

		if (!eq || eq == rec)
			return err_set(err, -EPROTO, "record %d '%.40s' is not key=value", n, rec);
		if (n == 0 && strcmp(rec, "coloc=" MSG_VERSION) != 0)
			return err_set(err, -EPROTO,
				"protocol '%.20s', this side speaks coloc=" MSG_VERSION, rec);
		if (n == 1 && strncmp(rec, "type=", 5) != 0)
			return err_set(err, -EPROTO, "second record '%.40s' is not the type", rec);
		at += strlen(rec) + 1;
	}
	if (n < 2)
		return err_set(err, -EPROTO, "message without a type");
	return 0;
}

const char *msg_get_next(const struct msg *m, const char *key, const char *prev)
{
	size_t klen = strlen(key);
	size_t at = prev ? (size_t)(prev - m->buf) + strlen(prev) + 1 : 0;

	while (at < m->len) {
		const char *rec = m->buf + at;

		if (strncmp(rec, key, klen) == 0 && rec[klen] == '=')
			return rec + klen + 1;
		at += strlen(rec) + 1;
	}
	return NULL;
}

const char *msg_get(const struct msg *m, const char *key)
{
	return msg_get_next(m, key, NULL);
}

int msg_get_int(const struct msg *m, const char *key, int64_t min, int64_t max, int64_t *ret,
	struct errbuf *err)
{
	const char *text = msg_get(m, key);
	char *end;
	long long v;

	if (!text)
		return err_set(err, -ENOENT, "message has no '%s'", key);
	errno = 0;
	v = strtoll(text, &end, 10);
	if (errno || end == text || *end)
		return err_set(err, -EINVAL, "message: %s='%.60s' is not a number", key, text);
	if (v < min || v > max)
		return err_set(err, -EINVAL, "message: %s=%lld is outside %lld..%lld", key, v,
			(long long)min, (long long)max);
	*ret = v;
	return 0;
}
