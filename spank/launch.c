/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/launch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/launch_names.h"

/* Names and values of runtimes' variables are short; a longer value is the user's for certain. */
#define NAME_MAX_LEN 128
#define VALUE_MAX    1024
/* Room for the two lists: some ten names. */
#define LIST_MAX 1024
/* Eight hexadecimal digits and the comma. */
#define SUM_LEN 9

/* What an enclosing step was given by us, as the environment says. */
struct marks {
	char names[LIST_MAX];
	char sums[LIST_MAX];
};

static const char *const known[] = {
#define LAUNCH_VAR(family, name) name,
	LAUNCH_VARS(LAUNCH_VAR)
#undef LAUNCH_VAR
};

/* FNV-1a: tells a changed value from an unchanged one, nothing more. */
static uint32_t checksum(const char *text)
{
	uint32_t h = UINT32_C(2166136261);

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT32_C(16777619);
	return h;
}

static void marks_read(const struct launch_io *io, struct marks *ret)
{
	if (io->get(io->env, LAUNCH_ENV_NAMES, ret->names, sizeof(ret->names)) < 0 ||
		io->get(io->env, LAUNCH_ENV_SUMS, ret->sums, sizeof(ret->sums)) < 0)
		ret->names[0] = ret->sums[0] = '\0';
}

static void marks_add(struct marks *k, const char *name, const char *value)
{
	size_t nlen = strlen(k->names), slen = strlen(k->sums);

	snprintf(k->names + nlen, sizeof(k->names) - nlen, "%s%s", nlen ? "," : "", name);
	snprintf(
		k->sums + slen, sizeof(k->sums) - slen, "%s%08x", slen ? "," : "", checksum(value));
}

static bool marks_have_room(const struct marks *k, const char *name)
{
	return strlen(k->names) + strlen(name) + 2 < sizeof(k->names) &&
	       strlen(k->sums) + SUM_LEN + 1 < sizeof(k->sums);
}

/* Position of @name in the list, or -1. */
static int marks_find(const struct marks *k, const char *name)
{
	size_t len = strlen(name);
	int at = 0;

	for (const char *p = k->names; *p; at++) {
		size_t n = strcspn(p, ",");

		if (n == len && memcmp(p, name, len) == 0)
			return at;
		p += n + (p[n] == ',');
	}
	return -1;
}

/* Is @name set in the environment, and still as we set it? */
static bool is_ours(
	const struct launch_io *io, const struct marks *k, const char *name, bool *ret_set)
{
	char value[VALUE_MAX], sum[SUM_LEN];
	int rc = io->get(io->env, name, value, sizeof(value));
	int at = marks_find(k, name);

	*ret_set = rc != -ENOENT;
	if (rc < 0 || at < 0 || strlen(k->sums) < (size_t)at * SUM_LEN + SUM_LEN - 1)
		return false;
	snprintf(sum, sizeof(sum), "%08x", checksum(value));
	return memcmp(k->sums + (size_t)at * SUM_LEN, sum, SUM_LEN - 1) == 0;
}

/* A variable about binding that says not to bind. */
static bool binds_nothing(const struct launch_io *io, const char *name)
{
	char value[sizeof("false")];

	return strcmp(name, "OMP_PROC_BIND") == 0 &&
	       io->get(io->env, name, value, sizeof(value)) == 0 && strcasecmp(value, "false") == 0;
}

void launch_report(const struct launch_io *io, struct msg *m)
{
	struct marks old;

	marks_read(io, &old);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		bool set;

		if (!is_ours(io, &old, known[i], &set) && set && !binds_nothing(io, known[i]))
			msg_put(m, "set", known[i]);
	}
}

static void unset_inherited(const struct launch_io *io, const struct marks *old)
{
	for (const char *p = old->names; *p;) {
		char name[NAME_MAX_LEN];
		size_t n = strcspn(p, ",");
		bool set;

		if (n < sizeof(name)) {
			memcpy(name, p, n);
			name[n] = '\0';
			if (is_ours(io, old, name, &set))
				io->unset(io->env, name);
		}
		p += n + (p[n] == ',');
	}
}

/* "NAME=VALUE": its name, and where its value is; NULL it is none. */
static const char *split_record(const char *record, char name[static NAME_MAX_LEN])
{
	size_t n = strcspn(record, "=");

	if (!n || !record[n] || n >= NAME_MAX_LEN)
		return NULL;
	memcpy(name, record, n);
	name[n] = '\0';
	return record + n + 1;
}

static void set_one(const struct launch_io *io, const char *record, struct marks *now)
{
	char name[NAME_MAX_LEN], seen[2];
	const char *value = split_record(record, name);

	if (!value || strchr(name, ',') || !marks_have_room(now, name) ||
		marks_find(now, name) >= 0)
		return;
	/* What is there now is the user's: ours has been taken out before. */
	if (io->get(io->env, name, seen, sizeof(seen)) != -ENOENT)
		return;
	if (io->set(io->env, name, value) == 0)
		marks_add(now, name, value);
}

void launch_renew(const struct launch_io *io, const char *record)
{
	char name[NAME_MAX_LEN], sum[SUM_LEN], *at;
	const char *value = split_record(record, name);
	struct marks now;
	bool set;

	if (!value)
		return;
	marks_read(io, &now);
	if (!is_ours(io, &now, name, &set))
		return;
	at = now.sums + (size_t)marks_find(&now, name) * SUM_LEN;
	snprintf(sum, sizeof(sum), "%08x", checksum(value));
	if (memcmp(at, sum, SUM_LEN - 1) == 0 || io->set(io->env, name, value) < 0)
		return;
	memcpy(at, sum, SUM_LEN - 1);
	io->set(io->env, LAUNCH_ENV_SUMS, now.sums);
}

void launch_apply(const struct launch_io *io, const struct msg *reply)
{
	struct marks old, now = {"", ""};
	const char *record = NULL;

	marks_read(io, &old);
	unset_inherited(io, &old);
	while (reply && (record = msg_get_next(reply, "env", record)))
		set_one(io, record, &now);
	if (now.names[0]) {
		io->set(io->env, LAUNCH_ENV_NAMES, now.names);
		io->set(io->env, LAUNCH_ENV_SUMS, now.sums);
	} else if (old.names[0]) {
		io->unset(io->env, LAUNCH_ENV_NAMES);
		io->unset(io->env, LAUNCH_ENV_SUMS);
	}
}
