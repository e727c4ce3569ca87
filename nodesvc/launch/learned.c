/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/launch/learned.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "common/text.h"

struct learned {
	struct {
		uint64_t key; /* 0 free */
		uid_t uid;
		uint32_t runtimes;
		uint64_t used;
	} entry[LEARNED_MAX];
	uint64_t uses;
};

struct learned *learned_new(void)
{
	return calloc(1, sizeof(struct learned));
}

void learned_free(struct learned *l)
{
	free(l);
}

uint64_t learned_key(const struct msg *step_start)
{
	/* Where the name is no absolute one, what it is found by. */
	static const char *const part[] = {"name", "cwd", "path", "script"};
	uint64_t h = TEXT_HASH_START;

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		h = text_hash(h, msg_get(step_start, part[i]));
	return h ? h : 1;
}

static bool is_of(const struct learned *l, int i, uid_t uid, uint64_t key)
{
	return l->entry[i].key == key && l->entry[i].uid == uid;
}

void learned_note(struct learned *l, uid_t uid, uint64_t key, uint32_t runtimes)
{
	int at = 0;

	if (!l || !key || !runtimes)
		return;
	for (int i = 0; i < LEARNED_MAX; i++) {
		if (is_of(l, i, uid, key)) {
			at = i;
			break;
		}
		if (l->entry[i].used < l->entry[at].used)
			at = i;
	}
	if (!is_of(l, at, uid, key)) {
		l->entry[at].key = key;
		l->entry[at].uid = uid;
		l->entry[at].runtimes = 0;
	}
	l->entry[at].runtimes |= runtimes;
	l->entry[at].used = ++l->uses;
}

uint32_t learned_of(struct learned *l, uid_t uid, uint64_t key)
{
	for (int i = 0; l && key && i < LEARNED_MAX; i++)
		if (is_of(l, i, uid, key)) {
			l->entry[i].used = ++l->uses;
			return l->entry[i].runtimes;
		}
	return 0;
}
