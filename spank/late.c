/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/late.h"

#include <string.h>
#include <sys/mman.h>

/* A few numbers of threads. */
#define TEXT_MAX 1000

static struct shared {
	size_t len;          /* of all records, each with its NUL */
	char text[TEXT_MAX]; /* "NAME=VALUE" */
} * shared;

void late_open(void)
{
	void *at;

	if (shared)
		return;
	at = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (at != MAP_FAILED)
		shared = at;
}

void late_put(const struct msg *reply)
{
	const char *record = NULL;
	size_t len = 0;

	if (!shared)
		return;
	shared->len = 0;
	while ((record = msg_get_next(reply, "env", record))) {
		size_t size = strlen(record) + 1;

		if (size > TEXT_MAX - len)
			return;
		memcpy(shared->text + len, record, size);
		len += size;
	}
	shared->len = len;
}

void late_apply(const struct launch_io *io)
{
	if (!shared)
		return;
	for (size_t at = 0; at < shared->len; at += strlen(shared->text + at) + 1)
		launch_renew(io, shared->text + at);
}
