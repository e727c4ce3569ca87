/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/launch/linkage.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/apart.h"
#include "common/elf_image.h"
#include "common/runtimes.h"
#include "nodesvc/launch/learned.h"

#define ENTRIES_MAX 64
/* argv[0], working directory and PATH; with more a program is one that is not known. */
#define KEY_MAX 8192
/* A program that was built anew is seen after so long. */
#define KEPT_NS INT64_C(60000000000)
/* So many launches wait for the same answer; one that is late is taken when it comes. */
#define WAITS_MAX 3
/* For a file system that does not answer. */
#define READ_S 10

/* ---- one program --------------------------------------------------------------------------- */

/* What a runtime needs itself is no matter, but whose threads OpenBLAS takes is. */
static bool on_need(void *links, const char *soname)
{
	uint32_t runtime = runtime_of(soname);

	*(uint32_t *)links |= runtime;
	return !(runtime & ~(uint32_t)RUNTIMES_BLAS);
}

uint32_t linkage_read(const char *path)
{
	struct elf_libraries *l = calloc(1, sizeof(*l));
	uint32_t links = 0;

	if (!l)
		return 0;
	elf_libraries(l, path, on_need, &links);
	free(l);
	return links;
}

/* ---- within a time ------------------------------------------------------------------------- */

/* A command's three texts, one after the other, each ended by NUL; "" for NULL. */
struct key {
	char text[KEY_MAX];
	size_t len;
};

struct entry {
	struct key key;
	uid_t uid;
	uint32_t links;
	int64_t until_ns;
	bool used; /* again, since it was read */
	int64_t asked_ns;
	int fd;    /* where an answer is still to come; -1 none is */
	int waits; /* for that one */
};

struct linkage {
	struct entry entry[ENTRIES_MAX];
	int next;
	struct learned *learned;
};

struct linkage *linkage_new(void)
{
	struct linkage *l = calloc(1, sizeof(*l));

	for (int i = 0; l && i < ENTRIES_MAX; i++)
		l->entry[i].fd = -1;
	if (l)
		l->learned = learned_new();
	return l;
}

struct learned *linkage_learned(const struct linkage *l)
{
	return l ? l->learned : NULL;
}

static void stop_waiting(struct entry *e)
{
	if (e->fd >= 0)
		close(e->fd);
	e->fd = -1;
}

void linkage_free(struct linkage *l)
{
	for (int i = 0; l && i < ENTRIES_MAX; i++)
		stop_waiting(&l->entry[i]);
	if (l)
		learned_free(l->learned);
	free(l);
}

/* Only what decides: programs with absolute names are the same wherever they are started. */
static bool make_key(const struct command *c, struct key *ret)
{
	const char first = *c->name;
	const char *part[3] = {c->name, first == '.' ? c->cwd : NULL,
		first == '.' || first == '/' ? NULL : c->search};

	ret->len = 0;
	for (int i = 0; i < 3; i++) {
		size_t len = part[i] ? strlen(part[i]) + 1 : 1;

		if (len > sizeof(ret->text) - ret->len)
			return false;
		memcpy(ret->text + ret->len, part[i] ? part[i] : "", len);
		ret->len += len;
	}
	return true;
}

static struct command command_of(const struct key *key)
{
	struct command c = {.name = key->text};

	c.cwd = c.name + strlen(c.name) + 1;
	c.search = c.cwd + strlen(c.cwd) + 1;
	return c;
}

static void answer(void *arg, int fd)
{
	const struct entry *e = arg;
	struct command c = command_of(&e->key);
	char path[PATH_MAX];
	uint32_t links = command_find(&c, path, sizeof(path)) == 0 ? linkage_read(path) : 0;

	while (write(fd, &links, sizeof(links)) < 0 && errno == EINTR)
		;
}

/* Has it read, with no more rights than the step's owner has; the answer comes at e->fd, or never.
 */
static void ask(struct entry *e, int64_t now_ns)
{
	static const struct apart_work work = {.answer = answer};

	stop_waiting(e);
	e->fd = apart_run(&work, e, e->uid, READ_S);
	e->asked_ns = now_ns;
	e->waits = 0;
}

/* Waits so long for what was asked for; without an answer all stays as it is. However late one is
 * taken, it is as old as its question. */
static void take_answer(struct entry *e, int timeout_ms)
{
	struct pollfd p = {.fd = e->fd, .events = POLLIN};
	uint32_t links;

	if (e->fd < 0 || poll(&p, 1, timeout_ms) != 1)
		return;
	if (read(e->fd, &links, sizeof(links)) == (ssize_t)sizeof(links)) {
		e->links = links;
		e->until_ns = e->asked_ns + KEPT_NS;
	}
	stop_waiting(e);
}

/* A launch waits; not each again and again for a file system that does not answer. */
static void wait_for_answer(struct entry *e, int timeout_ms)
{
	take_answer(e, e->waits < WAITS_MAX ? timeout_ms : 0);
	e->waits++;
}

static struct entry *find(struct linkage *l, const struct key *key, uid_t uid)
{
	for (int i = 0; i < ENTRIES_MAX; i++)
		if (l->entry[i].key.len == key->len && l->entry[i].uid == uid &&
			memcmp(l->entry[i].key.text, key->text, key->len) == 0)
			return &l->entry[i];
	return NULL;
}

/* In place of the oldest. */
static struct entry *replace(struct linkage *l, const struct key *key, uid_t uid)
{
	struct entry *e = &l->entry[l->next];

	l->next = (l->next + 1) % ENTRIES_MAX;
	stop_waiting(e);
	memcpy(e->key.text, key->text, key->len);
	e->key.len = key->len;
	e->uid = uid;
	e->links = 0;
	return e;
}

uint32_t linkage_of(
	struct linkage *l, const struct command *c, uid_t uid, int timeout_ms, int64_t now_ns)
{
	struct entry *e;
	struct key key;

	if (!l || !c->name || !*c->name || !make_key(c, &key))
		return 0;
	e = find(l, &key, uid);
	if (e && now_ns < e->until_ns) {
		wait_for_answer(e, timeout_ms);
		e->used = true;
		return e->links;
	}
	if (!e)
		e = replace(l, &key, uid);
	e->used = false;
	/* No answer is remembered, too: a dead file system is asked once in a while only. Until one
	 * comes it is what it was. */
	e->until_ns = now_ns + KEPT_NS;
	ask(e, now_ns);
	wait_for_answer(e, timeout_ms);
	return e->links;
}

void linkage_refresh(struct linkage *l, int timeout_ms, int64_t now_ns)
{
	for (int i = 0; l && i < ENTRIES_MAX; i++) {
		struct entry *e = &l->entry[i];
		int64_t left_ns;

		take_answer(e, 0);
		left_ns = e->until_ns - now_ns;
		if (!e->used || left_ns <= 0 || left_ns > KEPT_NS / 2)
			continue;
		e->used = false;
		/* Without an answer the old one stays for its time, and no launch waits. */
		ask(e, now_ns);
		e->waits = WAITS_MAX;
		take_answer(e, timeout_ms);
		return;
	}
}
