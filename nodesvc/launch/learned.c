/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/launch/learned.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/coreset.h"
#include "common/runtimes.h"
#include "common/text.h"
#include "nodesvc/record/record.h"

#define WHAT "loads"
/* One that is still launched stays in the store before those that are not: its row is put again
 * after so long. */
#define AGAIN_S 86400
/* All threads are tried where they are to save that share of a run's time. */
#define SAVES 0.1
/* Runs of one program differ by so much, as a logarithm. The newest ones count, so many of them. */
#define DOUBT     0.15
#define TOOK_KEPT 16
#define LOG_S_MAX 40.0
#define LOST_MOST 3

struct learned {
	struct {
		uint64_t key; /* 0 free */
		uid_t uid;
		uint32_t runtimes;
		double cores; /* 0 unknown */
		/* What its runs took, with fewer threads and with all: how many, and the mean of
		 * the logarithm of their core seconds. */
		struct learned_took {
			int n;
			double log_s;
		} took[2];
		int lost; /* runs with all in a row that did not complete; the store has it not */
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
		memset(l->entry[at].took, 0, sizeof(l->entry[at].took));
		l->entry[at].lost = 0;
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

static void note_took(struct learned_took *t, double took_s)
{
	double log_s = log(took_s);

	if (!(took_s > 0) || !(fabs(log_s) <= LOG_S_MAX))
		return;
	if (t->n < TOOK_KEPT)
		t->n++;
	t->log_s += (log_s - t->log_s) / t->n;
}

void learned_note_run(struct learned *l, uid_t uid, uint64_t key, const struct learned_run *run)
{
	double *cores;
	int at;

	if (!l || !key || !is_cores(run->cores))
		return;
	at = entry_of(l, uid, key);
	cores = &l->entry[at].cores;
	*cores = *cores > 0 ? (*cores + run->cores) / 2 : run->cores;
	note_took(&l->entry[at].took[run->all], run->took_s);
	if (run->all)
		l->entry[at].lost = 0;
	l->entry[at].unsaved = l->unsaved = true;
}

void learned_note_lost(struct learned *l, uid_t uid, uint64_t key)
{
	int i = l && key ? find(l, uid, key) : -1;

	if (i >= 0)
		l->entry[i].lost++;
}

double learned_cores_of(struct learned *l, uid_t uid, uint64_t key)
{
	int i = l && key ? find(l, uid, key) : -1;

	return i < 0 ? 0 : l->entry[i].cores;
}

/* Of its time: it does a part of its work on the cores that are its own at first, the rest on all.
 */
static double saved_by_all(double cores, int granted, int width, int all)
{
	double later = (cores - granted) / (all - granted);
	double first_s = (1 - later) / granted, later_s = later / width;

	return (later_s - later / all) / (first_s + later_s);
}

/* The least that they may take. */
static double at_least(const struct learned_took *t)
{
	return t->log_s - DOUBT / sqrt(t->n);
}

bool learned_takes_all(struct learned *l, uid_t uid, uint64_t key, int granted, int width, int all)
{
	double cores = fmin(learned_cores_of(l, uid, key), all);
	const struct learned_took *few, *many;
	int i;

	if (!(cores > granted) || granted < 1 || width < granted || width >= all ||
		saved_by_all(cores, granted, width, all) < SAVES)
		return false;
	i = find(l, uid, key);
	if (l->entry[i].lost >= LOST_MOST)
		return false;
	few = &l->entry[i].took[false];
	many = &l->entry[i].took[true];
	return !many->n || (few->n && at_least(many) < at_least(few));
}

/* ---- for the next daemon ---- */

/* "0000000f", "0000000f 3.5", "0000000f 3.5 2 1.9 1 1.7": what it loads, its cores, what few and
 * all took. */
static bool parse_value(const char *text, uint32_t *ret_runtimes, double *ret_cores,
	struct learned_took ret[static 2])
{
	int end = -1;

	*ret_cores = 0;
	memset(ret, 0, 2 * sizeof(*ret));
	if (sscanf(text, "%8" SCNx32 "%n", ret_runtimes, &end) != 1 || end < 0 ||
		(*ret_runtimes & ~(uint32_t)RUNTIMES_ALL))
		return false;
	if (!text[end])
		return *ret_runtimes != 0;
	text += end;
	end = -1;
	if (sscanf(text, " %lf%n", ret_cores, &end) != 1 || end < 0 || !is_cores(*ret_cores))
		return false;
	text += end;
	for (int i = 0; i < 2 && *text; i++) {
		end = -1;
		if (sscanf(text, " %4d %lf%n", &ret[i].n, &ret[i].log_s, &end) != 2 || end < 0 ||
			ret[i].n < 0 || ret[i].n > TOOK_KEPT || !(fabs(ret[i].log_s) <= LOG_S_MAX))
			return false;
		text += end;
	}
	return !*text;
}

static bool parse(const struct learnt *m, uint64_t *ret_key, uid_t *ret_uid, uint32_t *ret_runtimes,
	double *ret_cores, struct learned_took ret_took[static 2])
{
	int64_t uid;
	int end[2];

	if (sscanf(m->name, "%16" SCNx64 "%n", ret_key, &end[0]) != 1 || m->name[end[0]] ||
		sscanf(m->owner, "%10" SCNd64 "%n", &uid, &end[1]) != 1 || m->owner[end[1]] ||
		!parse_value(m->value, ret_runtimes, ret_cores, ret_took))
		return false;
	*ret_uid = (uid_t)uid;
	return uid >= 0 && uid <= UINT32_MAX && *ret_key;
}

static int load(const struct learnt *m, void *arg)
{
	struct learned *l = arg;
	struct learned_took took[2];
	uint64_t key;
	uint32_t runtimes;
	double cores;
	uid_t uid;
	int at;

	if (!parse(m, &key, &uid, &runtimes, &cores, took))
		return 0;
	at = entry_of(l, uid, key);
	l->entry[at].saved = l->entry[at].runtimes = runtimes;
	l->entry[at].cores = cores;
	memcpy(l->entry[at].took, took, sizeof(took));
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
	char name[24], owner[16], value[96];
	const struct learned_took *took = l->entry[i].took;
	struct learnt m = {.what = WHAT,
		.node_type = "",
		.owner = owner,
		.name = name,
		.value = value,
		.put_unix_s = time(NULL)};

	snprintf(name, sizeof(name), "%016" PRIx64, l->entry[i].key);
	snprintf(owner, sizeof(owner), "%u", l->entry[i].uid);
	if (l->entry[i].cores > 0)
		snprintf(value, sizeof(value), "%08" PRIx32 " %.4g %d %.6g %d %.6g",
			l->entry[i].runtimes, l->entry[i].cores, took[0].n, took[0].log_s,
			took[1].n, took[1].log_s);
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
