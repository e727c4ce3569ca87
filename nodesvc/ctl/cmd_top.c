/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nodesvc/ctl/ctl.h"
#include "nodesvc/ctl/top.h"

#define DELAY_S 2.0
/* For connecting: keys are not looked at meanwhile. Only a daemon that stands still takes as long.
 */
#define OPEN_MS 100

struct options {
	bool batch;
	double delay_s;
	long count, width;
	enum top_sort sort;
	bool reverse;
};

static int set_count(const char *option, const char *text, long max, long *ret)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (errno || end == text || *end || n < 1 || n > max)
		return ctl_error(
			EXIT_USAGE, "--%s: '%s' is no number from 1 to %ld", option, text, max);
	*ret = n;
	return EXIT_OK;
}

static int set_delay(const char *text, double *ret)
{
	char *end;
	double s = strtod(text, &end);

	if (end == text || *end || !(s >= 0.1 && s <= 3600))
		return ctl_error(
			EXIT_USAGE, "--delay: '%s' is no number of seconds from 0.1 to 3600", text);
	*ret = s;
	return EXIT_OK;
}

static int set_sort(const char *text, struct options *o)
{
	const char *name = text + (*text == '-');

	if (top_sort_parse(name, &o->sort) < 0) {
		char all[128] = "";

		for (int i = 0; i < SORT_COUNT; i++)
			snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s",
				i ? ", " : "", top_sort_name((enum top_sort)i));
		return ctl_error(EXIT_USAGE, "--sort: '%s' is none of %s", name, all);
	}
	o->reverse = *text == '-';
	return EXIT_OK;
}

static int take(int c, const char *value, void *arg)
{
	struct options *o = arg;

	switch (c) {
	case 'b':
		o->batch = true;
		return EXIT_OK;
	case 'd':
		return set_delay(value, &o->delay_s);
	case 'n':
		return set_count("count", value, 1000000000, &o->count);
	case 's':
		return set_sort(value, o);
	default:
		return set_count("width", value, 4000, &o->width);
	}
}

static void want_all(struct top_model *m, void *arg)
{
	(void)arg;
	for (int i = 0; i < m->n; i++)
		m->step[i].wanted = true;
}

static int print_page(struct top_model *m, struct top_view *v)
{
	struct canvas *c;
	int rc = top_layout(m, v, &c);

	if (rc == 0)
		rc = canvas_print(c, stdout);
	if (rc < 0)
		return ctl_error(EXIT_FAILED, "top: %s", strerror(-rc));
	free(c);
	return EXIT_OK;
}

/* Fails as the last round did: the service may come and go while it is watched. */
static int batch(struct top_fetch *f, struct top_view *v, const struct options *o)
{
	struct timespec nap = {.tv_sec = (time_t)o->delay_s,
		.tv_nsec = (long)((o->delay_s - (double)(time_t)o->delay_s) * 1e9)};
	int status = EXIT_OK;

	f->want = want_all;
	for (long i = 0; o->count == 0 || i < o->count; i++) {
		struct errbuf err = {""};

		if (i > 0)
			clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
		if (top_fetch_all(f, &err) < 0) {
			status = ctl_error(EXIT_FAILED, "colocd does not answer: %s", err.text);
			continue;
		}
		if (i > 0)
			putchar('\n');
		status = print_page(f->m, v);
		if (status != EXIT_OK)
			return status;
	}
	return status;
}

static int exec(struct ctl *ctl, const struct ctl_cmd *cmd, int argc, char **argv)
{
	static const struct option OWN[] = {
		{"batch", no_argument, NULL, 'b'},
		{"delay", required_argument, NULL, 'd'},
		{"count", required_argument, NULL, 'n'},
		{"sort", required_argument, NULL, 's'},
		{"width", required_argument, NULL, 'w'},
		{NULL, 0, NULL, 0},
	};
	struct options o = {.delay_s = DELAY_S};
	struct top_model m;
	struct top_fetch f = {.m = &m};
	struct top_view v = {0};
	struct errbuf err = {""};
	int rc = ctl_options(ctl, cmd, argc, argv, OWN, take, &o);

	if (rc != EXIT_OK || ctl->help)
		return rc;
	if (optind < argc)
		return ctl_misused(cmd, "top: unexpected argument '%s'", argv[optind]);
	if (ctl->json)
		return ctl_error(EXIT_USAGE,
			"top: no --json: status, jobs and explain have it (colocctl --json jobs)");
	f.socket = ctl->socket;
	f.timeout_ms = ctl->timeout_ms;
	v.sort = o.sort;
	v.reverse = o.reverse;
	v.batch = o.batch;
	v.cols = (int)o.width;
	f.open_ms = o.batch || f.timeout_ms < OPEN_MS ? f.timeout_ms : OPEN_MS;
	f.most = o.batch ? INT32_MAX : TOP_EXPLAINED;
	top_model_init(&m, geteuid() == 0);
	if (o.batch)
		rc = batch(&f, &v, &o);
	else if (top_live(&f, &v, (int64_t)(o.delay_s * 1e9), o.count, &err) < 0)
		rc = ctl_error(EXIT_FAILED, "top: %s", err.text);
	top_fetch_done(&f);
	top_model_done(&m);
	return rc;
}

const struct ctl_cmd cmd_top = {
	.name = "top",
	.args = "[-b] [-d SECONDS] [-n COUNT] [-s [-]KEY] [-w COLUMNS]",
	.summary = "live view: steps, cores, signals, phases, decisions",
	.help = "  -b, --batch          plain text, every step, for files and pipes\n"
		"  -d, --delay=SECONDS  between two looks (default 2, from 0.1)\n"
		"  -n, --count=COUNT    so many looks, then end (default: until q)\n"
		"  -s, --sort=[-]KEY    step, user, program, cores, busy, progress, loads, ntt,\n"
		"                       gain, elapsed; -: the other way round\n"
		"  -w, --width=COLUMNS  with -b: lines no longer than this (default: as needed)\n"
		"Keys: h help, q quit, s sort, r reverse, arrows select and scroll.\n",
	.shorts = "bd:n:s:w:",
	.exec = exec,
};
