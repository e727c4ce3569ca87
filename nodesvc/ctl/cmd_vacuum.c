/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vacuum - brings the accounting within its limits now: through the service, which does it in
 * slices, or, where none runs, in the store itself, whose file is then written anew.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "nodesvc/ctl/ctl.h"
#include "nodesvc/record/record.h"

struct options {
	const char *store;
	long keep_days; /* -1 not given */
};

static int take(int c, const char *value, void *arg)
{
	struct options *o = arg;
	char *end;

	if (c == 'S') {
		o->store = value;
		return 0;
	}
	o->keep_days = strtol(value, &end, 10);
	if (!*value || *end || o->keep_days < 0 || o->keep_days > 36500)
		return ctl_error(EXIT_USAGE, "--keep-days: '%s' is not 0 to 36500", value);
	return 0;
}

/* The daemon's lock: the file must not be written anew under it. */
static int lock_store(const char *store)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/lock", store);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		ctl_error(EXIT_FAILED, "%s: %s", path, strerror(errno));
		return -1;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	ctl_error(EXIT_FAILED, "%s: colocd runs on this store: leave out --store", path);
	close(fd);
	return -1;
}

static int offline(const struct options *o)
{
	cleanup_close int lock = lock_store(o->store);
	struct record *r = NULL;
	struct errbuf err = {""};
	char path[PATH_MAX];
	int64_t before, after = -1;
	int rc, n = 0;

	if (lock < 0)
		return EXIT_FAILED;
	/* Not made by a mistyped name. */
	snprintf(path, sizeof(path), "%s/coloc.db", o->store);
	if (access(path, F_OK) < 0)
		return ctl_error(EXIT_FAILED, "%s: %s", path, strerror(errno));
	rc = record_open(&r, path, false, &err);
	before = rc == 0 ? record_size_bytes(r, &err) : -1;
	if (rc == 0 && o->keep_days > 0)
		n = record_step_prune(r,
			(time(NULL) - o->keep_days * INT64_C(86400)) * INT64_C(1000000000), &err);
	if (rc == 0 && n >= 0)
		rc = record_compact(r, &err);
	if (rc == 0)
		after = record_size_bytes(r, &err);
	record_close(r);
	if (rc < 0 || n < 0)
		return ctl_error(EXIT_FAILED, "%s", err.text);
	printf("Removed %d steps; %.1f MiB, before %.1f MiB\n", n, (double)after / (1 << 20),
		(double)before / (1 << 20));
	return EXIT_OK;
}

static int show(struct json_object *o)
{
	double limit = json_object_get_double(json_object_object_get(o, "limit_bytes"));

	printf("Removing %s steps that are too old; %.1f MiB in use",
		json_object_get_string(json_object_object_get(o, "old_steps")),
		json_object_get_double(json_object_object_get(o, "bytes")) / (1 << 20));
	if (limit > 0)
		printf(" of %.0f MiB", limit / (1 << 20));
	printf(". colocd does it in the background.\n");
	return EXIT_OK;
}

static int exec(struct ctl *ctl, const struct ctl_cmd *cmd, int argc, char **argv)
{
	static const struct option own[] = {
		{"store", required_argument, NULL, 'S'},
		{"keep-days", required_argument, NULL, 'k'},
		{NULL, 0, NULL, 0},
	};
	struct ctl_request rq = {.cmd = "vacuum"};
	struct options o = {.keep_days = -1};
	int rc = ctl_options(ctl, cmd, argc, argv, own, take, &o);

	if (rc != EXIT_OK || ctl->help)
		return rc;
	if (optind < argc)
		return ctl_usage(cmd);
	if (o.keep_days >= 0 && !o.store)
		return ctl_error(EXIT_USAGE, "--keep-days is for --store: colocd has its own");
	return o.store ? offline(&o) : ctl_ask_and_show(ctl, &rq, show);
}

const struct ctl_cmd cmd_vacuum = {
	.name = "vacuum",
	.args = "[--store=DIR [--keep-days=N]]",
	.summary = "drop accounting beyond its limits and give the space back",
	.help = "      --store=DIR    no service runs: work on the store itself\n"
		"      --keep-days=N  drop steps that ended longer ago (0, default: none)\n",
	.exec = exec,
};
