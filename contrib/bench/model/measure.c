/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/bench/model/measure.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "nodesvc/counters/cachegrind.h"
#include "nodesvc/counters/profile_run.h"
#include "nodesvc/counters/solo.h"

#define RUNS_MAX 64

static void say(const struct measure *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void say(const struct measure *s, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (s->say)
		s->say(text);
}

int measure_command(char *ret, size_t size, const char *command, int width, struct errbuf *err)
{
	size_t n = 0;

	for (const char *c = command; *c;) {
		int w = 1;

		if (strncmp(c, "{n}", 3) == 0) {
			w = snprintf(ret + n, size - n, "%d", width);
			c += 3;
		} else if (n + 1 < size) {
			ret[n] = *c++;
		}
		n += (size_t)w;
		if (n >= size)
			return err_set(err, -E2BIG, "command '%.60s...' is too long", command);
	}
	ret[n] = '\0';
	return 0;
}

/* Runs @command (a shell's) on @width threads, below @before where that is not NULL. */
static int run_one(const char *command, int width, bool passive, const char *dir,
	const struct cachegrind_caches *caches, struct solo_result *ret, struct errbuf *err)
{
	char text[2 * MODEL_TEXT_MAX], exec[2 * MODEL_TEXT_MAX + 8], threads[40];
	const char *env[8] = {threads};
	char *const shell[] = {(char *)"sh", (char *)"-c", exec, NULL};
	cleanup_free char **wrapped = NULL;
	struct solo_opts run = {.argv = shell, .env = env};
	int rc = measure_command(text, sizeof(text), command, width, err);

	if (rc)
		return rc;
	snprintf(exec, sizeof(exec), "exec %s", text);
	snprintf(threads, sizeof(threads), "OMP_NUM_THREADS=%d", width);
	for (int i = 0; passive && profile_passive_env[i] && i < 6; i++)
		env[i + 1] = profile_passive_env[i];
	if (caches) {
		wrapped = cachegrind_argv(shell, dir, caches);
		if (!wrapped)
			return err_set(err, -ENOMEM, "out of memory");
		run.argv = wrapped;
	}
	rc = solo_run(&run, ret, err);
	return rc ? err_wrap(err, rc, "'%.80s'", text) : 0;
}

static void pass_on(const char *text, void *arg)
{
	say(arg, "%s", text);
}

static int count_one(const struct measure *s, const char *command, uint64_t llc_bytes,
	struct cachegrind_counts *ret, struct errbuf *err)
{
	struct cachegrind_caches caches = {
		.ll_bytes = llc_bytes, .ll_assoc = 16, .ll_line = 64, .d1_bytes = s->private_bytes};
	const char *tmp = getenv("TMPDIR");
	struct solo_result ignored;
	char dir[256];
	int rc;

	snprintf(dir, sizeof(dir), "%s/coloc-model.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		return err_set(err, -errno, "%s: %s", dir, strerror(errno));
	rc = run_one(command, 1, true, dir, &caches, &ignored, err);
	if (rc == -ENOENT)
		rc = err_set(err, rc, "valgrind is not installed (Debian: apt install valgrind)");
	else if (rc)
		cachegrind_messages(dir, pass_on, (void *)s);
	if (!rc)
		rc = cachegrind_settle(dir, CACHEGRIND_SETTLE_MS, err);
	if (!rc)
		rc = cachegrind_sum(dir, ret, err);
	if (!rc && ret->ll_bytes != llc_bytes)
		rc = err_set(err, -EPROTO,
			"cachegrind simulated %" PRIu64 " bytes of last level, not %" PRIu64,
			ret->ll_bytes, llc_bytes);
	cachegrind_clean(dir);
	return rc;
}

static double less(uint64_t all, uint64_t base)
{
	return all > base ? (double)(all - base) : 0;
}

int measure_counts(const struct measure *s, struct model *m, struct errbuf *err)
{
	const char *command = m->count[0] ? m->count : m->command;
	const char *baseline = m->count[0] ? m->count_baseline : m->baseline;
	struct model new = *m;

	memset(&new.counts, 0, sizeof(new.counts));
	snprintf(new.counts.tool, sizeof(new.counts.tool), "%s", m->counts.tool);
	new.counts.private_bytes = (double)s->private_bytes;
	for (int i = 0; i < s->n_llc; i++) {
		struct cachegrind_counts all = {0}, base = {0};
		double refs;
		int rc;

		say(s, "%s: cachegrind, last level of %.1f MB (%d of %d)", m->name,
			(double)s->llc[i] / 1e6, i + 1, s->n_llc);
		rc = count_one(s, command, s->llc[i], &all, err);
		if (!rc && baseline[0])
			rc = count_one(s, baseline, s->llc[i], &base, err);
		if (rc)
			return rc;
		refs = less(all.llc_refs, base.llc_refs);
		/* The last level is not in what comes before it: only threads and time could make
		 * one run differ from the next. */
		if (i == 0) {
			new.counts.instructions = less(all.instructions, base.instructions);
			new.counts.loads = less(all.loads, base.loads);
			new.counts.refs = refs;
		} else if (fabs(refs - new.counts.refs) > 0.01 * new.counts.refs) {
			say(s,
				"%s: %.0f references this time, %.0f the first: it does not always "
				"do the same",
				m->name, refs, new.counts.refs);
		}
		new.counts.point[i].llc_bytes = (double)s->llc[i];
		new.counts.point[i].misses =
			fmin(less(all.llc_misses, base.llc_misses), new.counts.refs);
		new.counts.n++;
	}
	*m = new;
	return 0;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Written out: where a loop takes longer than an addition, its rounds would be the clock. */
#define ADD                                                                                        \
	do {                                                                                       \
		x += step;                                                                         \
		__asm__ volatile("" : "+r"(x));                                                    \
	} while (0)
#define ADD_4                                                                                      \
	do {                                                                                       \
		ADD;                                                                               \
		ADD;                                                                               \
		ADD;                                                                               \
		ADD;                                                                               \
	} while (0)
#define ADD_16                                                                                     \
	do {                                                                                       \
		ADD_4;                                                                             \
		ADD_4;                                                                             \
		ADD_4;                                                                             \
		ADD_4;                                                                             \
	} while (0)

/* A counter of a coverage build at each addition would be measured as well. */
__attribute__((no_profile_instrument_function)) double measure_clock(void)
{
	enum { CHAIN = 64, ROUNDS = 62500 };
	double best = 0;

	for (int k = 0; k < 100; k++) {
		double start = now_s(), took;
		/* Built without optimisation, it would be memory that is measured. */
		register uint64_t x = 1, step = 3;

		/* A register, not a constant: some processors fold those into one addition. */
		__asm__ volatile("" : "+r"(step));
		for (int i = 0; i < ROUNDS; i++) {
			ADD_16;
			ADD_16;
			ADD_16;
			ADD_16;
		}
		took = now_s() - start;
		best = fmax(best, CHAIN * (double)ROUNDS / took);
	}
	return best;
}

/* Ticks of all CPUs: busy without steal, steal. */
struct ticks {
	double busy_s, steal_s;
};

static struct ticks read_ticks(void)
{
	cleanup_file FILE *f = fopen("/proc/stat", "re");
	double v[8] = {0}, hz = (double)sysconf(_SC_CLK_TCK);

	if (!f || fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &v[0], &v[1], &v[2], &v[3],
			  &v[4], &v[5], &v[6], &v[7]) != 8)
		return (struct ticks){0, 0};
	return (struct ticks){(v[0] + v[1] + v[2] + v[5] + v[6]) / hz, v[7] / hz};
}

struct timing {
	double wall_s, cpu_s, wait_s, foreign, steal;
	bool disturbed;
};

/* One run that others left alone, or the least disturbed of the tries. */
static int time_one(const struct measure *s, const char *command, int width, struct timing *ret,
	struct errbuf *err)
{
	double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);

	ret->foreign = INFINITY;
	for (int k = 0; k < s->tries; k++) {
		struct ticks before = read_ticks(), after;
		struct solo_result r;
		struct timing t;
		int rc = run_one(command, width, false, NULL, NULL, &r, err);

		if (rc)
			return rc;
		after = read_ticks();
		t = (struct timing){
			.wall_s = r.wall_s,
			.cpu_s = r.cpu_s,
			.wait_s = r.wait_s,
			.foreign =
				fmax(0, after.busy_s - before.busy_s - r.cpu_s) / (cpus * r.wall_s),
			.steal = (after.steal_s - before.steal_s) / (cpus * r.wall_s),
		};
		t.disturbed = t.foreign + t.steal > s->limit;
		if (t.foreign + t.steal < ret->foreign + ret->steal || k == 0)
			*ret = t;
		if (!t.disturbed)
			return 0;
	}
	return 0;
}

static int compare_wall(const void *a, const void *b)
{
	double x = ((const struct timing *)a)->wall_s, y = ((const struct timing *)b)->wall_s;

	return (x > y) - (x < y);
}

/* Median by wall time. Disturbed ones sort among the others: the flag tells. */
static int time_median(const struct measure *s, const char *command, int width, struct timing *ret,
	struct errbuf *err)
{
	struct timing t[RUNS_MAX] = {{0}};
	bool disturbed = false;
	int n = s->runs < RUNS_MAX ? s->runs : RUNS_MAX;

	for (int i = 0; i < n; i++) {
		int rc = time_one(s, command, width, &t[i], err);

		if (rc)
			return rc;
		disturbed |= t[i].disturbed;
	}
	qsort(t, (size_t)n, sizeof(*t), compare_wall);
	*ret = t[n / 2];
	ret->disturbed = disturbed;
	return 0;
}

int measure_native(const struct measure *s, struct model *m, struct errbuf *err)
{
	struct model new = *m;

	memset(new.native.point, 0, sizeof(new.native.point));
	new.native.n = 0;
	new.native.runs = s->runs;
	new.native.clock_hz = measure_clock();
	for (int i = 0; i < s->n_widths; i++) {
		struct model_run *run = &new.native.point[i];
		struct timing t, base = {0};
		int rc;

		say(s, "%s: native, %d %s", m->name, s->width[i],
			s->width[i] == 1 ? "thread" : "threads");
		rc = time_median(s, m->command, s->width[i], &t, err);
		if (!rc && m->baseline[0])
			rc = time_median(s, m->baseline, s->width[i], &base, err);
		if (rc)
			return rc;
		run->threads = s->width[i];
		run->seconds = t.wall_s - base.wall_s;
		run->cpu_s = fmax(0, t.cpu_s - base.cpu_s);
		if (run->seconds < 0.02)
			return err_set(err, -EINVAL,
				"%s: %.3f s on %d threads, start-up (%.3f s) taken off: too short "
				"to "
				"tell",
				m->name, run->seconds, s->width[i], base.wall_s);
		run->utilization = fmin(1, fmax(0, run->cpu_s + t.wait_s - base.wait_s) /
						   (run->seconds * run->threads));
		run->foreign = fmin(1, fmax(t.foreign, base.foreign));
		run->steal = fmin(1, fmax(t.steal, base.steal));
		/* Less work than start-up: what is left over is mostly the start-up's own scatter.
		 */
		run->disturbed = t.disturbed || base.disturbed || run->seconds < base.wall_s;
		new.native.n++;
	}
	*m = new;
	return 0;
}
