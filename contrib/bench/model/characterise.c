/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * characterise - makes a model of a program for colocsim: counts it under cachegrind at several
 * sizes of the last level, times it natively at several widths, fits, and writes a model file.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/out.h"
#include "contrib/bench/model/measure.h"
#include "nodesvc/counters/profile_run.h"

static const char usage_text[] =
	"Usage: characterise [OPTIONS] --out=FILE PROGRAM [ARG...]\n"
	"       characterise --native-only [--runs=N] [--tries=N] FILE...\n"
	"       characterise --counts-only FILE.yaml...\n"
	"\n"
	"Runs PROGRAM under cachegrind at several sizes of the last level cache and natively at\n"
	"several widths, and writes a model file for colocsim eval --population=measured "
	"--models=.\n"
	"In PROGRAM and in the commands of options {n} stands for the width; OMP_NUM_THREADS is "
	"set\n"
	"to it, too.\n"
	"--native-only times the commands of model files again, --counts-only without --out "
	"counts\n"
	"them again (at --llc and --private), from the folder that they were first run in; the "
	"rest\n"
	"of a file stays. A file that fails stays whole and does not stop the others.\n"
	"  --out=FILE         of the model; written when all is counted, and again when it is "
	"timed\n"
	"  --name=NAME        of the model (default: the program's)\n"
	"  --about=TEXT       version and input, for people\n"
	"  --baseline=COMMAND the same program without its work; what it takes is subtracted\n"
	"  --count=COMMAND    to count in place of PROGRAM at width 1 (without an MPI launcher)\n"
	"  --count-baseline=COMMAND ... and its baseline\n"
	"  --count-scale=X    work of PROGRAM over that of --count (default 1)\n"
	"  --per-thread       every thread brings its own work (default: they cut up the same)\n"
	"  --widths=N,...     threads, from 1 (default: 1, 2, 4, ... up to the CPUs)\n"
	"  --llc=SIZE,...     last levels in bytes, k or M (default 1M,2M,4M,8M,16M,32M,64M)\n"
	"  --private=SIZE     the cache in front of it (default 256k)\n"
	"  --runs=N           of each width (default 3; the median counts)\n"
	"  --tries=N          of a run during which others took over 2 % of the machine (default "
	"5)\n"
	"  --assume=KEY=V,... values nobody can measure here: seconds, mlp, sync, comm, wait\n"
	"  --counts-only      no native runs: speedup and cpi stay assumed\n"
	"  --native-only      no counts\n";

struct options {
	struct model model;
	struct measure measure;
	const char *out;
	bool native_only, counts_only;
	bool again; /* what is named are model files, not a program */
};

static void say(const char *text)
{
	fprintf(stderr, "characterise: %s\n", text);
}

static int usage(const char *fmt, const char *value)
{
	fputs("characterise: ", stderr);
	fprintf(stderr, fmt, value);
	fputs("\nTry 'characterise --help'.\n", stderr);
	return 2;
}

static bool read_size(const char *text, uint64_t *ret)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text)
		return false;
	if (*end == 'k')
		v *= 1024, end++;
	else if (*end == 'M')
		v *= 1024 * 1024, end++;
	if (*end || !(v >= 16384 && v <= 1e12))
		return false;
	*ret = profile_ll_round((uint64_t)v, 16, 64);
	return true;
}

static bool read_sizes(const char *list, struct measure *m)
{
	char text[256], *rest = text, *one;

	snprintf(text, sizeof(text), "%s", list);
	for (m->n_llc = 0; (one = strsep(&rest, ",")); m->n_llc++) {
		if (m->n_llc == MODEL_POINTS_MAX || !read_size(one, &m->llc[m->n_llc]))
			return false;
		if (m->n_llc > 0 && m->llc[m->n_llc] <= m->llc[m->n_llc - 1])
			return false;
	}
	return true;
}

static bool read_widths(const char *list, struct measure *m)
{
	char text[256], *rest = text, *one, *end;

	snprintf(text, sizeof(text), "%s", list);
	for (m->n_widths = 0; (one = strsep(&rest, ",")); m->n_widths++) {
		long v = strtol(one, &end, 10);

		if (m->n_widths == 8 || end == one || *end || v > 100000 ||
			(m->n_widths == 0 ? v != 1 : v <= m->width[m->n_widths - 1]))
			return false;
		m->width[m->n_widths] = (int)v;
	}
	return true;
}

static bool read_assumed(const char *list, struct model_phase *p)
{
	const struct {
		const char *name;
		struct model_value *v;
		double low, high;
	} table[] = {
		{"seconds", &p->seconds, 1e-3, 1e9},
		{"mlp", &p->mlp, 0.1, 1000},
		{"sync", &p->sync, 0, 1},
		{"comm", &p->comm, 0, 1},
		{"wait", &p->wait, 0, 1},
	};
	char text[256], *rest = text, *one, *end;

	snprintf(text, sizeof(text), "%s", list);
	while ((one = strsep(&rest, ","))) {
		char *value = strchr(one, '=');
		size_t i = 0;
		double v;

		if (!value)
			return false;
		*value++ = '\0';
		while (i < 5 && strcmp(table[i].name, one) != 0)
			i++;
		v = strtod(value, &end);
		if (i == 5 || end == value || *end || !(v >= table[i].low && v <= table[i].high))
			return false;
		table[i].v->value = v;
	}
	return true;
}

static void set_defaults(struct options *o)
{
	struct model_phase *p = &o->model.phase;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	memset(o, 0, sizeof(*o));
	/* What contrib/bench/models takes for all its programs; written down before any policy was
	 * run on them. */
	o->model.count_scale = 1;
	p->seconds.value = 60;
	p->alpha.value = 0.02;
	p->cpi.value = 1;
	p->mlp.value = 4;
	p->sync.value = 0.05;
	p->comm.value = 0.1;
	p->wait.value = 0.5;
	o->measure = (struct measure){
		.private_bytes = UINT64_C(256) * 1024,
		.runs = 3,
		.tries = 5,
		.limit = 0.02,
		.say = say,
	};
	read_sizes("1M,2M,4M,8M,16M,32M,64M", &o->measure);
	for (int n = 1; n < cpus && o->measure.n_widths < 7; n *= 2)
		o->measure.width[o->measure.n_widths++] = n;
	o->measure.width[o->measure.n_widths++] = (int)(cpus > 1 ? cpus : 1);
}

static bool put(char *at, const char *text)
{
	if (strlen(text) >= MODEL_TEXT_MAX || strchr(text, '\n'))
		return false;
	strcpy(at, text);
	return true;
}

/* Words as a shell takes them, quoted where needed. */
static bool join(char *at, char **argv, int n)
{
	size_t used = 0;

	for (int i = 0; i < n; i++) {
		bool plain =
			argv[i][strspn(argv[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
						"UVWXYZ0123456789_-+=./,:{}%@")] == '\0';

		if (strchr(argv[i], '\'') || strchr(argv[i], '\n'))
			return false;
		used += (size_t)snprintf(at + used, MODEL_TEXT_MAX - used, "%s%s%s%s",
			i > 0 ? " " : "", plain ? "" : "'", argv[i], plain ? "" : "'");
		if (used >= MODEL_TEXT_MAX)
			return false;
	}
	return true;
}

static bool read_whole(const char *text, int most, int *ret)
{
	char *end;
	long v = strtol(text, &end, 10);

	if (end == text || *end || v < 1 || v > most)
		return false;
	*ret = (int)v;
	return true;
}

/* -1: go on; else the exit status. */
static int read_options(struct options *o, int argc, char **argv)
{
	static const struct option options[] = {
		{"out", required_argument, NULL, 'o'},
		{"name", required_argument, NULL, 'n'},
		{"about", required_argument, NULL, 'a'},
		{"baseline", required_argument, NULL, 'b'},
		{"count", required_argument, NULL, 'c'},
		{"count-baseline", required_argument, NULL, 'C'},
		{"count-scale", required_argument, NULL, 's'},
		{"per-thread", no_argument, NULL, 'p'},
		{"widths", required_argument, NULL, 'w'},
		{"llc", required_argument, NULL, 'l'},
		{"private", required_argument, NULL, 'P'},
		{"runs", required_argument, NULL, 'r'},
		{"tries", required_argument, NULL, 't'},
		{"assume", required_argument, NULL, 'A'},
		{"counts-only", no_argument, NULL, 'x'},
		{"native-only", no_argument, NULL, 'N'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct model *m = &o->model;
	char *end;
	int c;

	while ((c = getopt_long(argc, argv, "+h", options, NULL)) != -1) {
		bool good = true;

		switch (c) {
		case 'o':
			o->out = optarg;
			break;
		case 'n':
			good = *optarg && strlen(optarg) < sizeof(m->name) &&
			       optarg[strspn(optarg, "abcdefghijklmnopqrstuvwxyz0123456789_-")] ==
				       '\0';
			if (good)
				strcpy(m->name, optarg);
			break;
		case 'a':
			good = put(m->program, optarg);
			break;
		case 'b':
			good = put(m->baseline, optarg);
			break;
		case 'c':
			good = put(m->count, optarg);
			break;
		case 'C':
			good = put(m->count_baseline, optarg);
			break;
		case 's':
			m->count_scale = strtod(optarg, &end);
			good = end != optarg && !*end && m->count_scale >= 1e-6 &&
			       m->count_scale <= 1e9;
			break;
		case 'p':
			m->per_thread = true;
			break;
		case 'w':
			good = read_widths(optarg, &o->measure);
			break;
		case 'l':
			good = read_sizes(optarg, &o->measure);
			break;
		case 'P':
			good = read_size(optarg, &o->measure.private_bytes);
			break;
		case 'r':
			good = read_whole(optarg, 64, &o->measure.runs);
			break;
		case 't':
			good = read_whole(optarg, 100, &o->measure.tries);
			break;
		case 'A':
			good = read_assumed(optarg, &m->phase);
			break;
		case 'x':
			o->counts_only = true;
			break;
		case 'N':
			o->native_only = true;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return 0;
		default:
			fputs("Try 'characterise --help'.\n", stderr);
			return 2;
		}
		if (!good)
			return usage("'%s' is not what that option takes", optarg);
	}
	if (o->native_only && o->counts_only)
		return usage("%s", "--native-only and --counts-only exclude each other");
	o->again = o->native_only || (o->counts_only && !o->out);
	if (optind == argc)
		return usage("%s", o->again ? "no model file" : "no program");
	if (o->again)
		return -1;
	if (!o->out)
		return usage("%s", "--out is missing");
	if (!join(m->command, argv + optind, argc - optind))
		return usage(
			"'%s...': the command is too long, or has a quote in it", argv[optind]);
	if (!m->name[0]) {
		const char *slash = strrchr(argv[optind], '/');

		snprintf(m->name, sizeof(m->name), "%s", slash ? slash + 1 : argv[optind]);
	}
	if (!m->program[0])
		snprintf(m->program, sizeof(m->program), "%s", m->command);
	return -1;
}

/* The processor's name, and how many of them: what the times are of. */
static void name_machine(char *ret, size_t size)
{
	cleanup_file FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256], model[96] = "unknown processor";

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "model name : %95[^\n]", model) == 1)
			break;
	snprintf(ret, size, "%s, %ld CPUs", model, sysconf(_SC_NPROCESSORS_ONLN));
}

static void name_tool(char *ret, size_t size)
{
	/* NOLINTNEXTLINE(cert-env33-c): a constant */
	FILE *f = popen("valgrind --version 2>/dev/null", "re");

	if (!f || !fgets(ret, (int)size, f))
		snprintf(ret, size, "valgrind");
	ret[strcspn(ret, "\n")] = '\0';
	if (f)
		pclose(f);
}

/* Into a new file first: a model is whole or as it was. */
static int write_model(const struct model *m, const char *path, struct errbuf *err)
{
	char temporary[4096];
	FILE *f;
	int rc;

	if (snprintf(temporary, sizeof(temporary), "%s.new", path) >= (int)sizeof(temporary))
		return err_set(err, -ENAMETOOLONG, "%.60s...: too long", path);
	f = fopen(temporary, "we");
	if (!f)
		return err_set(err, -errno, "%s: %s", temporary, strerror(errno));
	rc = model_print(m, f);
	if (fclose(f))
		rc = -EIO;
	if (!rc && rename(temporary, path))
		rc = -errno;
	if (rc)
		unlink(temporary);
	return rc ? err_set(err, rc, "%s: %s", path, strerror(-rc)) : 0;
}

static int add_native(const struct options *o, struct model *m, struct errbuf *err)
{
	int rc;

	name_machine(m->native.machine, sizeof(m->native.machine));
	rc = measure_native(&o->measure, m, err);
	if (!rc)
		rc = model_fit_speed(m, err);
	for (int i = 0; i < m->native.n && !rc; i++)
		if (m->native.point[i].disturbed)
			fprintf(stderr,
				"characterise: %s: disturbed on %d threads (%.0f %% of the machine "
				"went to "
				"others): its speedup stays assumed; run --native-only again when "
				"it is quiet\n",
				m->name, m->native.point[i].threads,
				100 * (m->native.point[i].foreign + m->native.point[i].steal));
	return rc;
}

static int make(struct options *o, struct errbuf *err)
{
	struct model *m = &o->model;
	int rc;

	name_tool(m->counts.tool, sizeof(m->counts.tool));
	rc = measure_counts(&o->measure, m, err);
	if (!rc)
		rc = model_fit_misses(m, err);
	/* Counting takes long: whatever the native runs come to, it is not lost. */
	if (!rc)
		rc = write_model(m, o->out, err);
	if (!rc && !o->counts_only)
		rc = add_native(o, m, err);
	return rc ? rc : write_model(m, o->out, err);
}

static bool is_disturbed(const struct model *m)
{
	for (int i = 0; i < m->native.n; i++)
		if (m->native.point[i].disturbed)
			return true;
	return m->native.n == 0;
}

static int recount(const struct options *o, const char *path, struct errbuf *err)
{
	struct model m;
	int rc = model_read(&m, path, NULL, err);

	if (rc)
		return rc;
	name_tool(m.counts.tool, sizeof(m.counts.tool));
	rc = measure_counts(&o->measure, &m, err);
	if (!rc)
		rc = model_fit_misses(&m, err);
	/* A CPI is of times and counts. */
	if (!rc && m.native.n > 0)
		rc = model_fit_speed(&m, err);
	return rc ? rc : write_model(&m, path, err);
}

static int renew(const struct options *o, const char *path, struct errbuf *err)
{
	struct model m, old;
	int rc = model_read(&m, path, NULL, err);

	/* The phase follows from what the file says was counted, also where someone wrote into it.
	 */
	if (!rc)
		rc = model_fit_misses(&m, err);
	if (rc)
		return rc;
	old = m;
	rc = add_native(o, &m, err);
	/* Good times are not given up for bad ones. */
	if (!rc && is_disturbed(&m) && !is_disturbed(&old)) {
		fprintf(stderr,
			"characterise: %s: stays as it was: those times were not disturbed\n",
			path);
		return 0;
	}
	return rc ? rc : write_model(&m, path, err);
}

int main(int argc, char **argv)
{
	struct errbuf err = {""};
	struct options o;
	int rc, failed = 0;

	out_check_at_exit("characterise");
	set_defaults(&o);
	rc = read_options(&o, argc, argv);
	if (rc >= 0)
		return rc;
	if (!o.again) {
		rc = make(&o, &err);
		if (rc)
			fprintf(stderr, "characterise: %s\n", err.text);
		return rc ? 1 : 0;
	}
	for (int i = optind; i < argc; i++) {
		rc = (o.native_only ? renew : recount)(&o, argv[i], &err);
		if (rc)
			fprintf(stderr, "characterise: %s\n", err.text);
		failed += rc != 0;
	}
	return failed ? 1 : 0;
}
