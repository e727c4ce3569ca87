/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/counters/cachegrind.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "nodesvc/counters/profile_run.h"

#define OUT_PREFIX "cachegrind.out."
#define LOG_PREFIX "cachegrind.log."

/* Event names as cachegrind writes them, and what each adds to. */
enum column { IR, I1MR, ILMR, DR, D1MR, DLMR, DW, D1MW, DLMW, COLUMN_COUNT };
static const char *const event_name[COLUMN_COUNT] = {
	"Ir", "I1mr", "ILmr", "Dr", "D1mr", "DLmr", "Dw", "D1mw", "DLmw"};

/* Columns of the file, by event; -1 not there. */
struct columns {
	int at[COLUMN_COUNT];
	int n;
};

static int parse_events(char *text, struct columns *ret, struct errbuf *err)
{
	struct columns c;
	char *save = NULL;

	c.n = 0;
	for (int e = 0; e < COLUMN_COUNT; e++)
		c.at[e] = -1;
	for (char *w = strtok_r(text, " \n", &save); w; w = strtok_r(NULL, " \n", &save)) {
		for (int e = 0; e < COLUMN_COUNT; e++)
			if (!strcmp(w, event_name[e]))
				c.at[e] = c.n;
		c.n++;
	}
	for (int e = 0; e < COLUMN_COUNT; e++)
		if (c.at[e] < 0)
			return err_set(err, -EPROTO, "no event '%s' (was --cache-sim=yes given?)",
				event_name[e]);
	*ret = c;
	return 0;
}

static int parse_summary(
	char *text, const struct columns *c, uint64_t value[COLUMN_COUNT], struct errbuf *err)
{
	char *save = NULL;
	int n = 0;

	for (char *w = strtok_r(text, " \n", &save); w; w = strtok_r(NULL, " \n", &save), n++) {
		char *end;
		uint64_t v;

		errno = 0;
		v = strtoull(w, &end, 10);
		if (errno || *end || *w < '0' || *w > '9')
			return err_set(err, -EPROTO, "'%.40s' is not a count", w);
		for (int e = 0; e < COLUMN_COUNT; e++)
			if (c->at[e] == n)
				value[e] = v;
	}
	if (n != c->n)
		return err_set(err, -EPROTO, "%d counts for %d events", n, c->n);
	return 0;
}

static bool add(uint64_t *sum, uint64_t n)
{
	return !__builtin_add_overflow(*sum, n, sum);
}

int cachegrind_parse(FILE *f, const char *name, struct cachegrind_counts *ret, struct errbuf *err)
{
	cleanup_free char *line = NULL;
	struct columns columns = {.n = 0};
	struct cachegrind_counts sum = *ret;
	uint64_t v[COLUMN_COUNT] = {0}, ll_bytes = 0;
	bool summed = false;
	size_t size = 0;
	int line_no = 0, rc;

	while (getline(&line, &size, f) >= 0) {
		line_no++;
		rc = 0;
		if (sscanf(line, "desc: LL cache: %" SCNu64 " B,", &ll_bytes) == 1) {
			if (ret->ll_bytes && ret->ll_bytes != ll_bytes)
				rc = err_set(err, -EPROTO,
					"an LL cache of %" PRIu64 " bytes, not %" PRIu64, ll_bytes,
					ret->ll_bytes);
		} else if (!strncmp(line, "events:", 7)) {
			rc = columns.n ? err_set(err, -EPROTO, "a second 'events:'")
				       : parse_events(line + 7, &columns, err);
		} else if (!strncmp(line, "summary:", 8)) {
			rc = !columns.n ? err_set(err, -EPROTO, "'summary:' before 'events:'")
			     : summed   ? err_set(err, -EPROTO, "a second 'summary:'")
					: parse_summary(line + 8, &columns, v, err);
			summed = true;
		}
		if (rc)
			return err_wrap(err, rc, "%s:%d", name, line_no);
	}
	if (ferror(f))
		return err_set(err, -EIO, "%s: %s", name, strerror(errno));
	if (!summed)
		return err_set(err, -EPROTO, "%s:%d: ends without 'summary:'", name, line_no);
	if (!ll_bytes)
		return err_set(err, -EPROTO, "%s: no 'desc: LL cache:'", name);
	sum.ll_bytes = ll_bytes;
	if (!add(&sum.instructions, v[IR]) || !add(&sum.loads, v[DR]) ||
		!add(&sum.llc_refs, v[I1MR]) || !add(&sum.llc_refs, v[D1MR]) ||
		!add(&sum.llc_refs, v[D1MW]) || !add(&sum.llc_misses, v[ILMR]) ||
		!add(&sum.llc_misses, v[DLMR]) || !add(&sum.llc_misses, v[DLMW]))
		return err_set(err, -EPROTO, "%s: counts add up to more than 64 bits hold", name);
	*ret = sum;
	return 0;
}

int cachegrind_sum(const char *dir, struct cachegrind_counts *ret, struct errbuf *err)
{
	cleanup_dir DIR *d = opendir(dir);
	struct cachegrind_counts sum = {0};
	struct dirent *e;
	int n = 0;

	if (!d)
		return err_set(err, -errno, "%s: %s", dir, strerror(errno));
	while ((e = readdir(d))) {
		cleanup_file FILE *f = NULL;
		char path[512];
		int rc;

		if (strncmp(e->d_name, OUT_PREFIX, strlen(OUT_PREFIX)) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		f = fopen(path, "re");
		if (!f)
			return err_set(err, -errno, "%s: %s", path, strerror(errno));
		rc = cachegrind_parse(f, path, &sum, err);
		if (rc)
			return rc;
		n++;
	}
	if (!n)
		return err_set(err, -EPROTO, "%s: valgrind left no output", dir);
	*ret = sum;
	return 0;
}

/* Neither gone nor waiting for its parent to notice. */
static bool is_running(int pid)
{
	cleanup_file FILE *f = NULL;
	char path[40], state;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	return f && fscanf(f, "%*d (%*[^)]) %c", &state) == 1 && state != 'Z' && state != 'X';
}

/* A process that runs and that valgrind writes messages of into @dir; 0 none, or -errno. */
static int find_running(const char *dir)
{
	cleanup_dir DIR *d = opendir(dir);
	struct dirent *e;
	int pid;

	if (!d)
		return -errno;
	while ((e = readdir(d)))
		if (sscanf(e->d_name, LOG_PREFIX "%d", &pid) == 1 && is_running(pid))
			return pid;
	return 0;
}

int cachegrind_settle(const char *dir, int wait_ms, struct errbuf *err)
{
	enum { LOOK_MS = 20 };
	int pid;

	while ((pid = find_running(dir)) > 0 && wait_ms > 0) {
		nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000L}, NULL);
		wait_ms -= LOOK_MS;
	}
	if (pid < 0)
		return err_set(err, pid, "%s: %s", dir, strerror(-pid));
	if (pid > 0)
		return err_set(err, -EBUSY,
			"the command left process %d behind, which runs on: not all is counted",
			pid);
	return 0;
}

static bool is_ours(const char *name)
{
	return !strncmp(name, OUT_PREFIX, strlen(OUT_PREFIX)) ||
	       !strncmp(name, LOG_PREFIX, strlen(LOG_PREFIX));
}

void cachegrind_messages(const char *dir, void (*line)(const char *text, void *arg), void *arg)
{
	cleanup_dir DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		cleanup_file FILE *f = NULL;
		char text[512];

		if (strncmp(e->d_name, LOG_PREFIX, strlen(LOG_PREFIX)) != 0)
			continue;
		snprintf(text, sizeof(text), "%s/%s", dir, e->d_name);
		f = fopen(text, "re");
		while (f && fgets(text, sizeof(text), f)) {
			text[strcspn(text, "\n")] = '\0';
			line(text, arg);
		}
	}
}

void cachegrind_clean(const char *dir)
{
	cleanup_dir DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (is_ours(e->d_name))
			unlinkat(dirfd(d), e->d_name, 0);
	rmdir(dir);
}

char **cachegrind_argv(char *const argv[], const char *dir, const struct cachegrind_caches *caches)
{
	enum { N_BEFORE = 10, TEXT = 600, N_TEXTS = 4 };
	size_t n = 0, vector, k = 0;
	char **all, *text;

	while (argv[n])
		n++;
	vector = (n + N_BEFORE + 1) * sizeof(*all);
	all = malloc(vector + (size_t)N_TEXTS * TEXT);
	if (!all)
		return NULL;
	text = (char *)all + vector;
	snprintf(text, TEXT, "--cachegrind-out-file=%s/" OUT_PREFIX "%%p", dir);
	snprintf(text + TEXT, TEXT, "--LL=%" PRIu64 ",%d,%d", caches->ll_bytes, caches->ll_assoc,
		caches->ll_line);
	/* It warns about the host's caches although we name ours: only worth showing on failure. */
	snprintf(text + (size_t)2 * TEXT, TEXT, "--log-file=%s/" LOG_PREFIX "%%p", dir);
	snprintf(text + (size_t)3 * TEXT, TEXT, "--D1=%" PRIu64 ",8,64", caches->d1_bytes);
	all[k++] = (char *)"valgrind";
	all[k++] = (char *)"--tool=cachegrind";
	all[k++] = (char *)"--cache-sim=yes";
	all[k++] = (char *)"--quiet";
	all[k++] = (char *)"--trace-children=yes"; /* a wrapper script is not the program */
	for (int i = 0; i < 3; i++)
		all[k++] = text + (size_t)i * TEXT;
	if (caches->d1_bytes) {
		all[k++] = text + 3 * (size_t)TEXT;
		all[k++] = (char *)"--I1=32768,8,64";
	}
	memcpy(all + k, argv, (n + 1) * sizeof(*all));
	return all;
}

uint64_t profile_ll_round(uint64_t bytes, int assoc, int line)
{
	uint64_t sets, way;

	if (assoc <= 0 || line < 16 || (line & (line - 1)))
		return 0;
	way = (uint64_t)assoc * (uint64_t)line;
	for (sets = 1; sets <= bytes / way / 2; sets *= 2)
		;
	return bytes >= way ? sets * way : 0;
}
