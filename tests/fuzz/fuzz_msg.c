/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any packet: refused, or every record of it can be walked by its key. */
#include "common/msg.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct msg *m = malloc(sizeof(*m)); /* so that reading past the packet is seen */
	struct errbuf err = {""};
	int64_t n;

	if (!m || size > sizeof(m->buf)) {
		free(m);
		return 0;
	}
	memset(m->buf, '=', sizeof(m->buf)); /* what recv() leaves behind the packet is no end */
	memcpy(m->buf, data, size);
	m->len = size;
	m->overflow = false;
	if (msg_check(m, &err) < 0) {
		if (!err.text[0])
			abort();
		free(m);
		return 0;
	}
	if (!msg_get(m, "type") || strcmp(msg_get(m, "coloc"), MSG_VERSION) != 0)
		abort();
	for (size_t at = 0; at < m->len; at += strlen(m->buf + at) + 1) {
		char key[64];
		size_t len = strcspn(m->buf + at, "=");
		const char *v = NULL;
		bool found = false;

		if (len >= sizeof(key))
			continue;
		memcpy(key, m->buf + at, len);
		key[len] = '\0';
		while ((v = msg_get_next(m, key, v)))
			found |= v == m->buf + at + len + 1;
		if (!found)
			abort();
		if (msg_get_int(m, key, -10, 10, &n, &err) == 0 && (n < -10 || n > 10))
			abort();
	}
	free(m);
	return 0;
}
