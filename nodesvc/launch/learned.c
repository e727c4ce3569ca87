/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/launch/learned.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/coreset.h"
#include "common/runtimes.h"
#include "common/text.h"
#include "nodesvc/record/record.h"

#define WHAT "loads"
/* One that is still launched stays in the store before those that are not: its row is put again
 * after so long. */
#define AGAIN_S 86400

struct learned {
	struct {
		uint64_t key; /* 0 free */
		uid_t uid;
		uint32_t runtimes;
		double cores; /* 0 unknown */
		uint64_t used;
		uint32_t saved; /* what of them the store has */
		int64_t saved_unix_s;
		bool unsaved;
	} entry[LEARNED_MAX];
	uint64_t uses;
	bool unsaved; /* one of them */
};

struct learned *learned_new(void)
{
	return calloc(1, sizeof(struct learned));
}

void learned_free(struct learned *l)
{
	free(l);
}

static bool is_cores(double cores)
{
	return isfinite(cores) && cores > 0 && cores <= CORESET_MAX;
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

static int find(const struct learned *l, uid_t uid, uint64_t key)
{
	int i = 0;

	while (i < LEARNED_MAX && !is_of(l, i, uid, key))
		i++;
	return i < LEARNED_MAX ? i : -1;
}

/* A free one; else of the user who has most the one that was used longest ago: a user calls his
 * programs as he likes. */
static int find_room(const struct learned *l)
{
	int at = -1, most = 0;

	for (int i = 0; i < LEARNED_MAX; i++) {
		int n = 0;

		if (!l->entry[i].key)
			return i;
		for (int k = 0; k < LEARNED_MAX; k++)
			n += l->entry[k].uid == l->entry[i].uid;
		if (n > most || (n == most && l->entry[i].used < l->entry[at].used)) {
			most = n;
			at = i;
		}
	}
	return at;
}

/* Its entry, or one in another's place. */
static int entry_of(struct learned *l, uid_t uid, uint64_t key)
{
	int at = find(l, uid, key);

	if (at < 0) {
		at = find_room(l);
		l->entry[at].key = key;
		l->entry[at].uid = uid;
		l->entry[at].runtimes = l->entry[at].saved = 0;
		l->entry[at].cores = 0;
		l->entry[at].unsaved = false;
		l->entry[at].saved_unix_s = 0;
	}
	l->entry[at].used = ++l->uses;
	return at;
}

void learned_note(struct learned *l, uid_t uid, uint64_t key, uint32_t runtimes)
{
	int at;

	if (!l || !key || !runtimes)
		return;
	at = entry_of(l, uid, key);
	l->entry[at].runtimes |= runtimes;
	if (l->entry[at].saved != l->entry[at].runtimes ||
		time(NULL) - l->entry[at].saved_unix_s >= AGAIN_S)
		l->entry[at].unsaved = l->unsaved = true;
}

uint32_t learned_of(struct learned *l, uid_t uid, uint64_t key)
{
	int i = l && key ? find(l, uid, key) : -1;

	if (i < 0)
		return 0;
	l->entry[i].used = ++l->uses;
	return l->entry[i].runtimes;
}

void learned_note_cores(struct learned *l, uid_t uid, uint64_t key, double cores)
{
	int at;

	if (!l || !key || !is_cores(cores))
		return;
	at = entry_of(l, uid, key);
	l->entry[at].cores = l->entry[at].cores > 0 ? (l->entry[at].cores + cores) / 2 : cores;
	l->entry[at].unsaved = l->unsaved = true;
}

double learned_cores_of(struct learned *l, uid_t uid, uint64_t key)
{
	int i = l && key ? find(l, uid, key) : -1;

	return i < 0 ? 0 : l->entry[i].cores;
}

/* ---- for the next daemon ---- */

/* "0000000f", "0000000f 3.5" */
static bool parse_value(const char *text, uint32_t *ret_runtimes, double *ret_cores)
{
	int end = -1;

	*ret_cores = 0;
	if (sscanf(text, "%8" SCNx32 "%n", ret_runtimes, &end) != 1 || end < 0 ||
		(*ret_runtimes & ~(uint32_t)RUNTIMES_ALL))
		return false;
	if (!text[end])
		return *ret_runtimes != 0;
	text += end;
	end = -1;
	return sscanf(text, " %lf%n", ret_cores, &end) == 1 && end >= 0 && !text[end] &&
	       is_cores(*ret_cores);
}

static bool parse(const struct learnt *m, uint64_t *ret_key, uid_t *ret_uid, uint32_t *ret_runtimes,
	double *ret_cores)
{
	int64_t uid;
	int end[2];

	if (sscanf(m->name, "%16" SCNx64 "%n", ret_key, &end[0]) != 1 || m->name[end[0]] ||
		sscanf(m->owner, "%10" SCNd64 "%n", &uid, &end[1]) != 1 || m->owner[end[1]] ||
		!parse_value(m->value, ret_runtimes, ret_cores))
		return false;
	*ret_uid = (uid_t)uid;
	return uid >= 0 && uid <= UINT32_MAX && *ret_key;
}

static int load(const struct learnt *m, void *arg)
{
	struct learned *l = arg;
	uint64_t key;
	uint32_t runtimes;
	double cores;
	uid_t uid;
	int at;

	if (!parse(m, &key, &uid, &runtimes, &cores))
		return 0;
	at = entry_of(l, uid, key);
	l->entry[at].saved = l->entry[at].runtimes = runtimes;
	l->entry[at].cores = cores;
	l->entry[at].saved_unix_s = m->put_unix_s;
	l->entry[at].unsaved = false;
	return 0;
}

int learned_load(struct learned *l, struct record *r, struct errbuf *err)
{
	int rc = l ? record_learnt_list(r, WHAT, load, l, err) : 0;

	if (l)
		l->unsaved = false;
	return rc;
}

static int save(const struct learned *l, int i, struct record *r, struct errbuf *err)
{
	char name[24], owner[16], value[32];
	struct learnt m = {.what = WHAT,
		.node_type = "",
		.owner = owner,
		.name = name,
		.value = value,
		.put_unix_s = time(NULL)};

	snprintf(name, sizeof(name), "%016" PRIx64, l->entry[i].key);
	snprintf(owner, sizeof(owner), "%u", l->entry[i].uid);
	if (l->entry[i].cores > 0)
		snprintf(value, sizeof(value), "%08" PRIx32 " %.4g", l->entry[i].runtimes,
			l->entry[i].cores);
	else
		snprintf(value, sizeof(value), "%08" PRIx32, l->entry[i].runtimes);
	return record_learnt_put(r, &m, LEARNED_MAX, err);
}

int learned_save(struct learned *l, struct record *r, struct errbuf *err)
{
	int rc;

	if (!l || !l->unsaved)
		return 0;
	/* A store that does not answer is not waited for at every tick. */
	l->unsaved = false;
	rc = record_begin(r, err);
	if (rc < 0)
		return rc;
	for (int i = 0; rc == 0 && i < LEARNED_MAX; i++)
		if (l->entry[i].unsaved)
			rc = save(l, i, r, err);
	rc = record_end(r, rc, err);
	if (rc < 0)
		return rc;
	for (int i = 0; i < LEARNED_MAX; i++)
		if (l->entry[i].unsaved) {
			l->entry[i].unsaved = false;
			l->entry[i].saved = l->entry[i].runtimes;
			l->entry[i].saved_unix_s = time(NULL);
		}
	return 0;
}
