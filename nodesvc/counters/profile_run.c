/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/counters/profile_run.h"

#include <errno.h>
#include <math.h>
#include <pwd.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "nodesvc/counters/cachegrind.h"
#include "nodesvc/counters/solo.h"

#define RUNS_DEFAULT 3
#define RUNS_MAX     100
/* Below it a run's start and end, some ms, are felt in its rates. */
#define SHORT_S 0.2
/* What a policy that looks at the cache needs: less than that, and cachegrind gives more. */
#define CACHE_COUNTERS                                                                             \
	(COUNTER_BIT(COUNTER_LOADS) | COUNTER_BIT(COUNTER_LLC_REFS) |                              \
		COUNTER_BIT(COUNTER_LLC_MISSES))

/* Each runtime's own variable: the general one does not reach all, and the user may have set one
 * that would win. */
const char *const profile_passive_env[] = {
	"OMP_WAIT_POLICY=passive",
	"GOMP_SPINCOUNT=0",
	"KMP_BLOCKTIME=0",
	"OMPI_MCA_mpi_yield_when_idle=1",
	NULL,
};

static void say(const struct profile_opts *o, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void say(const struct profile_opts *o, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (!o->progress)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	o->progress(text, o->progress_arg);
}

static int copy_name(
	char *ret, size_t size, const char *field, const char *value, struct errbuf *err)
{
	if (strlen(value) >= size)
		return err_set(
			err, -EINVAL, "%s '%.80s' is longer than %zu", field, value, size - 1);
	strcpy(ret, value);
	return 0;
}

static int fill_names(
	struct profile *p, const struct profile_opts *o, const char *argv0, struct errbuf *err)
{
	const char *slash = strrchr(argv0, '/');
	const struct passwd *pw = o->user ? NULL : getpwuid(geteuid());
	char uid[16];
	int rc;

	snprintf(uid, sizeof(uid), "%u", (unsigned int)geteuid());
	rc = copy_name(p->type, sizeof(p->type), "type",
		o->type ? o->type
		: slash ? slash + 1
			: argv0,
		err);
	if (!rc)
		rc = copy_name(p->user, sizeof(p->user), "user",
			o->user ? o->user
			: pw    ? pw->pw_name
				: uid,
			err);
	if (!rc)
		rc = copy_name(p->node_type, sizeof(p->node_type), "node type",
			o->node_type ? o->node_type : "", err);
	if (!rc && !p->type[0])
		rc = err_set(err, -EINVAL, "type is empty");
	return rc;
}

static int probe(const struct profile_opts *o, const struct counters_ops *ops, uint32_t *provides,
	struct errbuf *err)
{
	enum counter_id bad = COUNTER_COUNT;
	struct errbuf why = {""};

	if ((o->events && ops->set_events && ops->set_events(o->events, &bad, &why)) ||
		ops->probe(provides, &why))
		return err_set(err, -ENOTSUP, "%s: %s", ops->name, why.text);
	return 0;
}

/* *@ret NULL: cachegrind. */
static int choose(const struct profile_opts *o, const struct counters_ops **ret, struct errbuf *err)
{
	static const struct counters_ops *const hw[] = {&counters_papi, &counters_perf};
	uint32_t provides;
	struct errbuf why;

	*ret = NULL;
	for (size_t i = 0; i < 2; i++) {
		if (o->with && strcmp(o->with, hw[i]->name) != 0)
			continue;
		if (probe(o, hw[i], &provides, o->with ? err : &why)) {
			if (o->with)
				return -ENOTSUP;
			say(o, "%s", why.text);
			continue;
		}
		if (!o->with && (provides & CACHE_COUNTERS) != CACHE_COUNTERS) {
			say(o, "%s: does not count loads, llc refs and llc misses", hw[i]->name);
			continue;
		}
		*ret = hw[i];
		return 0;
	}
	if (o->with && strcmp(o->with, "cachegrind") != 0)
		return err_set(
			err, -EINVAL, "source '%s' is none of papi, perf, cachegrind", o->with);
	return 0;
}

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const double *v, int n)
{
	double sorted[RUNS_MAX];

	memcpy(sorted, v, sizeof(*v) * (size_t)n);
	qsort(sorted, (size_t)n, sizeof(*sorted), compare_double);
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static int allowed_pus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
}

/* The native runs: times, width, utilisation, and the counts of the run nearest the median. */
static int run_native(const struct profile_opts *o, char *const argv[],
	const struct counters_ops *ops, struct profile *p, struct solo_result *ret_typical,
	struct errbuf *err)
{
	struct solo_opts run = {.argv = argv, .ops = ops};
	struct solo_result r[RUNS_MAX] = {0};
	double wall[RUNS_MAX] = {0}, busy[RUNS_MAX], least, most;
	int n = p->count, typical = 0, allowed = allowed_pus(), width, rc;

	for (int i = 0; i < n; i++) {
		say(o, "native run %d of %d", i + 1, n);
		rc = solo_run(&run, &r[i], err);
		if (rc)
			return rc;
		wall[i] = r[i].wall_s;
		p->threads = r[i].threads > p->threads ? r[i].threads : p->threads;
	}
	if (o->threads)
		p->threads = o->threads;
	if (!p->threads) {
		say(o, "over before a thread was seen: taken as one");
		p->threads = 1;
	}
	width = p->threads < allowed ? p->threads : allowed;
	least = most = wall[0];
	p->solo_s = median(wall, n);
	for (int i = 0; i < n; i++) {
		busy[i] = fmin((r[i].cpu_s + r[i].wait_s) / (wall[i] * width), 1.0);
		least = fmin(least, wall[i]);
		most = fmax(most, wall[i]);
		if (fabs(wall[i] - p->solo_s) < fabs(wall[typical] - p->solo_s))
			typical = i;
	}
	if (p->solo_s < SHORT_S)
		say(o,
			"a run takes %.0f ms: what starting takes is a part of its rates; from "
			"%.1f s on "
			"they are better",
			p->solo_s * 1e3, SHORT_S);
	/* With a core for each of its threads it waits only for others. */
	if (p->threads <= allowed && r[typical].wait_s > 0.02 * r[typical].cpu_s)
		say(o,
			"not alone: its threads waited %.2f s for a core (%.2f s of cpu time); the "
			"solo "
			"time is too long by that",
			r[typical].wait_s, r[typical].cpu_s);
	p->utilization = median(busy, n);
	p->spread = n > 1 ? (most - least) / p->solo_s : NAN;
	*ret_typical = r[typical];
	return 0;
}

static void put_rate(struct profile *p, enum signal_id s, uint64_t count, double wall_s)
{
	p->rate[s] = (double)count / p->threads / wall_s;
}

static void put_miss_ratio(struct profile *p)
{
	if (p->rate[SIGNAL_LLC_REFS] > 0 && isfinite(p->rate[SIGNAL_LLC_MISSES]))
		p->rate[SIGNAL_LLC_MISS_RATIO] =
			fmin(p->rate[SIGNAL_LLC_MISSES] / p->rate[SIGNAL_LLC_REFS], 1.0);
}

static void put_counted(struct profile *p, const struct solo_result *r)
{
	struct sample zero = {.t_ns = 0, .valid = r->counted.valid};
	struct sample end = r->counted;
	struct signal rate[SIGNAL_COUNT];

	end.t_ns = (int64_t)(r->wall_s * 1e9);
	for (int s = 0; s < SIGNAL_COUNT; s++)
		rate[s] = (struct signal){NAN, PROVENANCE_NONE};
	counters_rates(&zero, &end, p->threads, rate);
	for (int s = 0; s < SIGNAL_COUNT; s++)
		p->rate[s] = rate[s].provenance == PROVENANCE_HW ? rate[s].value : NAN;
}

static int run_cachegrind(
	const struct profile_opts *o, char *const argv[], struct profile *p, struct errbuf *err)
{
	uint64_t ll_bytes = profile_ll_round(o->ll_bytes, o->ll_assoc, o->ll_line);
	const char *tmp = getenv("TMPDIR");
	cleanup_free char **wrapped = NULL;
	struct cachegrind_counts counts;
	struct solo_opts run = {.env = profile_passive_env};
	struct solo_result ignored;
	char dir[256];
	int rc;

	tmp = tmp && *tmp ? tmp : "/tmp";
	if (snprintf(dir, sizeof(dir), "%s/coloc-profile.XXXXXX", tmp) >= (int)sizeof(dir))
		return err_set(err, -ENAMETOOLONG, "TMPDIR '%.100s...' is too long", tmp);
	if (!mkdtemp(dir))
		return err_set(
			err, -errno, "no temporary directory in %s: %s", tmp, strerror(errno));
	wrapped = cachegrind_argv(argv, dir,
		&(struct cachegrind_caches){
			.ll_bytes = ll_bytes, .ll_assoc = o->ll_assoc, .ll_line = o->ll_line});
	if (!wrapped) {
		rmdir(dir);
		return err_set(err, -ENOMEM, "cachegrind: out of memory");
	}
	run.argv = wrapped;
	say(o,
		"cachegrind run, LL %llu bytes, %d ways of %d; waiting made passive (this takes "
		"20 to 100 times as long)",
		(unsigned long long)ll_bytes, o->ll_assoc, o->ll_line);
	rc = solo_run(&run, &ignored, err);
	if (rc == -ENOENT)
		rc = err_set(
			err, -ENOENT, "valgrind is not installed (Debian: apt install valgrind)");
	else if (rc && o->progress)
		cachegrind_messages(dir, o->progress, o->progress_arg);
	if (rc && rc != -ENOENT)
		rc = err_wrap(err, rc, "under cachegrind (natively it ran well): '%.60s'", argv[0]);
	if (!rc)
		rc = cachegrind_settle(dir, CACHEGRIND_SETTLE_MS, err);
	if (!rc)
		rc = cachegrind_sum(dir, &counts, err);
	if (!rc && counts.ll_bytes != ll_bytes)
		rc = err_set(err, -EPROTO,
			"cachegrind simulated a last level of %llu bytes, not the %llu asked for",
			(unsigned long long)counts.ll_bytes, (unsigned long long)ll_bytes);
	cachegrind_clean(dir);
	if (rc)
		return rc;
	p->ll_bytes = (double)counts.ll_bytes;
	put_rate(p, SIGNAL_INSTRUCTIONS, counts.instructions, p->solo_s);
	put_rate(p, SIGNAL_LOADS, counts.loads, p->solo_s);
	put_rate(p, SIGNAL_LLC_REFS, counts.llc_refs, p->solo_s);
	put_rate(p, SIGNAL_LLC_MISSES, counts.llc_misses, p->solo_s);
	put_miss_ratio(p);
	return 0;
}

static int check(const struct profile_opts *o, char *const argv[], struct errbuf *err)
{
	if (!argv || !argv[0] || !*argv[0])
		return err_set(err, -EINVAL, "no command to profile");
	if (o->runs < 0 || o->runs > RUNS_MAX)
		return err_set(err, -EINVAL, "%d runs: not from 1 to %d", o->runs, RUNS_MAX);
	if (o->threads < 0)
		return err_set(err, -EINVAL, "%d threads: not positive", o->threads);
	return 0;
}

int profile_run(const struct profile_opts *opts, char *const argv[], struct profile *ret,
	struct errbuf *err)
{
	struct profile_opts o = *opts;
	const struct counters_ops *ops;
	struct solo_result typical;
	struct profile p = {.count = o.runs ? o.runs : RUNS_DEFAULT};
	int rc = check(&o, argv, err);

	if (!rc)
		rc = fill_names(&p, &o, argv[0], err);
	if (!rc)
		rc = choose(&o, &ops, err);
	if (rc)
		return rc;
	o.ll_assoc = o.ll_assoc ? o.ll_assoc : 16;
	o.ll_line = o.ll_line ? o.ll_line : 64;
	/* Before the runs: nobody likes to hear it after them. */
	if (!ops && !o.ll_bytes)
		return err_set(err, -EINVAL,
			"cachegrind: the size of the last level is not known: start colocd, which "
			"knows it, or give --ll=BYTES");
	if (!ops && !profile_ll_round(o.ll_bytes, o.ll_assoc, o.ll_line))
		return err_set(err, -EINVAL,
			"cachegrind: last level of %llu bytes, %d ways of %d bytes is no cache "
			"(counters.cachegrind_ll)",
			(unsigned long long)o.ll_bytes, o.ll_assoc, o.ll_line);
	strcpy(p.source, ops ? ops->name : "cachegrind");
	for (int s = 0; s < SIGNAL_COUNT; s++)
		p.rate[s] = NAN;
	rc = run_native(&o, argv, ops, &p, &typical, err);
	if (rc)
		return rc;
	if (ops)
		put_counted(&p, &typical);
	else
		rc = run_cachegrind(&o, argv, &p, err);
	if (rc)
		return rc;
	p.rate[SIGNAL_UTILIZATION] = p.utilization;
	p.taken_unix_s = (int64_t)time(NULL);
	*ret = p;
	return 0;
}
