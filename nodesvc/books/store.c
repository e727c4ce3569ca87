/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store.c - the accounting store of a running service: opened, or begun afresh where the old one
 * is damaged (accounting is no reason to leave jobs unplaced), and kept within keep_days and
 * store_limit_mib, a slice at a time.
 *
 * The ledger is not begun afresh: it holds what the kernel had, and a damaged one is a person's
 * business.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "nodesvc/books/internal.h"
#include "nodesvc/base/log.h"

#define DAY_MS   86400000
#define SLICE_MS 50
/* With at most some 2 000 rows of history each: milliseconds of the loop's time. */
#define SLICE_STEPS 16
#define SLICE_PAGES 64

/* The damaged file and what SQLite keeps beside it get a name of their own, for whoever looks. */
static int move_aside(const char *path, char *ret_name, size_t size, struct errbuf *err)
{
	static const char *const SUFFIX[] = {"", "-wal", "-shm"};
	long long now = (long long)time(NULL);

	snprintf(ret_name, size, "%s.damaged-%lld", path, now);
	for (size_t i = 0; i < sizeof(SUFFIX) / sizeof(SUFFIX[0]); i++) {
		char from[CONF_TEXT_MAX + 32], to[CONF_TEXT_MAX + 80];

		snprintf(from, sizeof(from), "%s%s", path, SUFFIX[i]);
		snprintf(to, sizeof(to), "%s.damaged-%lld%s", path, now, SUFFIX[i]);
		if (rename(from, to) < 0 && (i == 0 || errno != ENOENT))
			return err_set(
				err, -errno, "%s: cannot move it aside: %s", from, strerror(errno));
	}
	return 0;
}

int store_open(struct record **ret, const struct conf *c, struct errbuf *err)
{
	char path[CONF_TEXT_MAX + 16], aside[CONF_TEXT_MAX + 64];
	int rc;

	snprintf(path, sizeof(path), "%s/coloc.db", c->store);
	rc = record_open(ret, path, false, err);
	/* -EIO: SQLite can make nothing of it, or the disk not read it. */
	if (rc != -EBADMSG && rc != -EIO)
		return rc;
	log_error("%s", err->text);
	rc = move_aside(path, aside, sizeof(aside), err);
	if (rc < 0)
		return rc;
	log_error("accounting begins anew; the damaged file is %s", aside);
	health_error("accounting began anew: damaged: %.180s", aside);
	return record_open(ret, path, false, err);
}

/* The store is @r's from now on, in the same place: others hold a pointer to it. */
static void replace_record(struct books *b, struct record *r)
{
	record_swap(b->use.record, r);
	record_close(r);
}

bool store_recover(struct books *b, int rc)
{
	struct record *other = NULL;
	struct errbuf err;

	/* In memory first: whatever happens on disk, the service goes on with a store. */
	if (rc != -EBADMSG || record_open(&other, ":memory:", false, &err) < 0)
		return false;
	replace_record(b, other);
	b->n_stores++;
	if (store_open(&other, b->use.conf, &err) == 0)
		replace_record(b, other);
	else
		log_error("%s; accounting is kept in memory only", err.text);
	/* The rows of the live steps were the old store's. */
	for (int i = 0; i < b->use.jobs->n; i++) {
		struct step *s = b->use.jobs->step[i];

		s->row_id = 0;
		s->kept = false;
		s->dirty = true;
		memset(&s->thin, 0, sizeof(s->thin));
	}
	return true;
}

/* ---- checkpoints ---- */

/* A checkpoint waits for the disk, in a thread of its own (checkpoint.c). Commits compete with it
 * for the disk all the same: so it comes when nobody has registered for a while; in a burst when
 * the log has grown to BUSY times as much (some 300 registrations with their ends, 24 MB). */
#define LEDGER_FRAMES 250
#define RECORD_FRAMES 1000
#define BUSY          6

static bool is_due(int frames, int enough, bool quiet)
{
	return frames >= (quiet ? enough : BUSY * enough);
}

void store_checkpoint(struct books *b, bool quiet)
{
	bool of_ledger = is_due(ledger_wal_frames(b->use.ledger), LEDGER_FRAMES, quiet);

	if (!of_ledger && !is_due(record_wal_frames(b->use.record), RECORD_FRAMES, quiet))
		return;
	if (!b->checkpointer)
		b->checkpointer = checkpoint_new();
	/* One of them a tick. */
	if (of_ledger)
		ledger_checkpoint(b->use.ledger, b->checkpointer);
	else
		record_checkpoint(b->use.record, b->checkpointer);
}

/* ---- retention ---- */

static int64_t age_limit(const struct books *b)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return b->use.conf->keep_days
		       ? (ts.tv_sec - b->use.conf->keep_days * INT64_C(86400)) * INT64_C(1000000000)
		       : INT64_MIN;
}

static int64_t size_limit(const struct books *b)
{
	return b->use.conf->store_limit_mib ? b->use.conf->store_limit_mib * (INT64_C(1) << 20)
					    : INT64_MAX;
}

/* One slice; 0: nothing is left to do. */
static int slice(const struct books *b, struct errbuf *err)
{
	int n = record_prune_slice(b->use.record, age_limit(b), SLICE_STEPS, err);
	int64_t size;

	if (n == 0) {
		size = record_size_bytes(b->use.record, err);
		if (size < 0)
			return (int)size;
		if (size > size_limit(b))
			n = record_prune_slice(b->use.record, INT64_MAX, SLICE_STEPS, err);
	}
	if (n >= 0)
		record_release_pages(b->use.record, SLICE_PAGES, NULL);
	return n;
}

static void on_retain(void *arg)
{
	struct books *b = arg;
	struct errbuf err;
	int n = slice(b, &err);

	if (n > 0) {
		b->retained += n;
		loop_set_timer(b->retain, SLICE_MS, DAY_MS);
		return;
	}
	if (n < 0) {
		log_error("accounting: %s", err.text);
		store_recover(b, n);
	}
	if (b->retained)
		log_info("dropped %ld steps (keep_days %d, store_limit_mib %d)", b->retained,
			b->use.conf->keep_days, b->use.conf->store_limit_mib);
	b->retained = 0;
	b->retaining = false;
	loop_set_timer(b->retain, DAY_MS, DAY_MS);
}

int store_retain_open(struct books *b, struct errbuf *err)
{
	return loop_add_timer(b->use.loop, on_retain, b, &b->retain, err);
}

void store_retain_start(struct books *b)
{
	/* A while after the start, not during a boot. */
	loop_set_timer(b->retain, 60000, DAY_MS);
}

void store_retain_now(struct books *b)
{
	b->retaining = true;
	loop_set_timer(b->retain, 1, DAY_MS);
}

int store_retain_look(const struct books *b, struct store_look *ret, struct errbuf *err)
{
	int64_t old = record_count_before(b->use.record, age_limit(b), err);
	int64_t size = old < 0 ? old : record_size_bytes(b->use.record, err);

	if (size < 0)
		return (int)size;
	ret->old_steps = old;
	ret->bytes = size;
	ret->limit_bytes = b->use.conf->store_limit_mib ? size_limit(b) : 0;
	return 0;
}
