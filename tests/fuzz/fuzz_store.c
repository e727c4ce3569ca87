/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as coloc.db or ledger.db: refused and left as it was, or every list that is made of it
 * (for colocacct, profiles export, the next daemon) comes to its end. SQLite checks its pages;
 * what stands in them is ours to check.
 */
#include <errno.h>

#include "nodesvc/record/ledger.h"
#include "nodesvc/record/record.h"
#include "tests/fuzz/fuzz.h"

struct step_seen {
	struct record *r;
	int n;
	int64_t row_id[8];
};

static int on_json(const char *row, void *arg)
{
	FUZZ_ASSERT(row && *row == '{' && arg);
	return 0;
}

static int on_step(const struct step_row *row, void *arg)
{
	struct step_seen *s = arg;

	FUZZ_ASSERT(row->figures);
	if (s->n < 8)
		s->row_id[s->n++] = row->row_id;
	return 0;
}

static int on_profile(const struct profile *p, void *arg)
{
	(void)arg;
	FUZZ_ASSERT(
		memchr(p->type, '\0', sizeof(p->type)) && memchr(p->user, '\0', sizeof(p->user)));
	return 0;
}

static int on_measurement(const struct measurement *m, void *arg)
{
	(void)arg;
	FUZZ_ASSERT(m->kind < MEASURED_COUNT && m->signal < SIGNAL_COUNT);
	return 0;
}

static int on_learnt(const struct learnt *m, void *arg)
{
	(void)arg;
	FUZZ_ASSERT(m->what && strcmp(m->what, "launch") == 0);
	return 0;
}

static int on_registration(const struct registration *reg, void *arg)
{
	(void)arg;
	FUZZ_ASSERT(!reg->message_len || reg->message);
	FUZZ_ASSERT(!reg->figures_len || reg->figures);
	return 0;
}

static int on_coreset(int64_t t_ns, const char *coreset, const char *why, void *arg)
{
	(void)t_ns, (void)coreset, (void)why, (void)arg;
	return 0;
}

static int on_phase(int64_t t_ns, const char *signature, void *arg)
{
	(void)t_ns, (void)signature, (void)arg;
	return 0;
}

static int on_sample(int64_t t_ns, const struct signal *signal, void *arg)
{
	(void)t_ns, (void)arg;
	for (int i = 0; i < SIGNAL_COUNT; i++)
		FUZZ_ASSERT(signal[i].provenance < PROVENANCE_COUNT);
	return 0;
}

static void read_record(const char *path)
{
	struct errbuf err = {""};
	struct step_seen seen = {0};
	char part[SUMMARY_PART_MAX];
	int rc = record_open(&seen.r, path, true, &err);

	FUZZ_ASSERT_RESULT(rc, err);
	if (rc < 0)
		return;
	record_step_list(seen.r, &(struct step_filter){0}, on_step, &seen, &err);
	acct_query_json(seen.r, 0, "{\"history\": true}", on_json, &seen, &err);
	for (int i = 0; i < seen.n; i++) {
		record_coreset_list(seen.r, seen.row_id[i], on_coreset, NULL, &err);
		record_phase_list(seen.r, seen.row_id[i], on_phase, NULL, &err);
		record_sample_list(seen.r, seen.row_id[i], on_sample, NULL, &err);
	}
	record_profile_list(seen.r, on_profile, NULL, &err);
	record_measurement_list(seen.r, NULL, NULL, on_measurement, NULL, &err);
	record_registration_list(seen.r, on_registration, NULL, &err);
	record_learnt_list(seen.r, "launch", on_learnt, NULL, &err);
	record_size_bytes(seen.r, &err);
	summary_of_job(seen.r, 12, "n1", part, &err);
	record_close(seen.r);
}

static void read_ledger(const char *path)
{
	struct ledger_setting *settings = NULL;
	struct ledger *l = NULL;
	struct errbuf err = {""};
	char **paths = NULL;
	int n = 0, rc = ledger_open(&l, path, "boot", &err);

	FUZZ_ASSERT_RESULT(rc, err);
	if (rc < 0)
		return;
	if (ledger_paths(l, &paths, &n, &err) < 0)
		n = 0;
	for (int i = 0; i < n; i++) {
		struct ledger_cpuset cs;
		struct ledger_thread *t = NULL;
		int m;

		ledger_get_cpuset(l, paths[i], &cs, &err);
		if (ledger_get_threads(l, paths[i], &t, &m, &err) == 0)
			free(t);
		if (ledger_get_pins(l, paths[i], &t, &m, &err) == 0)
			free(t);
		free(paths[i]);
	}
	free(paths);
	if (ledger_settings(l, NULL, "", &settings, &n, &err) == 0)
		free(settings);
	ledger_count(l);
	ledger_close(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[300], side[320];
	FILE *f;

	/* Beside it SQLite makes files of its own: not in memory. */
	snprintf(path, sizeof(path), "%s/x.db", fuzz_dir());
	f = fopen(path, "we");
	FUZZ_ASSERT(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
	read_record(path);
	read_ledger(path);
	for (int i = 0; i < 4; i++) {
		static const char *const ends[] = {"", "-wal", "-shm", "-journal"};

		snprintf(side, sizeof(side), "%s%s", path, ends[i]);
		unlink(side);
	}
	return 0;
}
