/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_bundle.c - one text to attach to a ticket: what an expert would ask for first. Each part
 * is a command whose failure is part of the answer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "config.h"
#include "nodesvc/ctl/check.h"
#include "nodesvc/ctl/ctl.h"

#define LOG_LINES "200"

static void head(FILE *f, const char *title)
{
	fprintf(f, "\n===== %s =====\n", title);
}

static void machine(FILE *f)
{
	struct utsname u;
	time_t now = time(NULL);
	char when[64];
	struct tm tm;

	localtime_r(&now, &tm);
	if (strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S%z", &tm) == 0)
		*when = '\0';
	fprintf(f, "coloc %s, %s\n", PACKAGE_VERSION, when);
	if (uname(&u) == 0)
		fprintf(f, "%s %s %s %s\n", u.nodename, u.sysname, u.release, u.machine);
}

static void answer(FILE *f, const struct ctl *ctl, const char *name)
{
	struct ctl_request rq = {.cmd = name};
	cleanup_free char *text = NULL;
	struct errbuf err = {""};
	struct json_object *o;
	int rc = client_call_text(ctl->socket, ctl->timeout_ms, &rq, &text, &err);

	head(f, name);
	if (rc < 0) {
		fprintf(f, "%s\n", err.text);
		return;
	}
	o = json_tokener_parse(text);
	fprintf(f, "%s\n",
		json_object_to_json_string_ext(
			o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

static void file(FILE *f, const char *path)
{
	cleanup_file FILE *in = fopen(path, "re");
	char line[1024];

	head(f, path);
	if (!in)
		fprintf(f, "%s\n", strerror(errno));
	while (in && fgets(line, sizeof(line), in))
		fputs(line, f);
}

/* @command is one of ours, not built from anything read. */
static void output_of(FILE *f, const char *command)
{
	char line[1024];
	FILE *in;

	head(f, command);
	fflush(f);
	/* NOLINTNEXTLINE(cert-env33-c): one of the table's constants */
	in = popen(command, "re");
	if (!in) {
		fprintf(f, "%s\n", strerror(errno));
		return;
	}
	while (fgets(line, sizeof(line), in))
		fputs(line, f);
	pclose(in);
}

static int exec(struct ctl *ctl, const struct ctl_cmd *cmd, int argc, char **argv)
{
	static const struct option OWN[] = {
		{"output", required_argument, NULL, 'o'},
		{NULL, 0, NULL, 0},
	};
	const char *path = NULL;
	struct check_list *list = calloc(1, sizeof(*list));
	FILE *f = stdout;
	int rc = ctl_options(ctl, cmd, argc, argv, OWN, ctl_take_text, &path);

	if (!list)
		return ctl_error(EXIT_FAILED, "out of memory");
	if (rc == EXIT_OK && !ctl->help && optind < argc)
		rc = ctl_error(EXIT_USAGE, "bundle: unexpected argument '%s'", argv[optind]);
	if (rc == EXIT_OK && !ctl->help && path && !(f = fopen(path, "wxe")))
		rc = ctl_error(EXIT_FAILED, "%s: %s", path, strerror(errno));
	if (rc == EXIT_OK && !ctl->help) {
		machine(f);
		head(f, "check");
		list->out = f;
		check_run(list, ctl, NULL);
		check_print_total(list, f);
		answer(f, ctl, "status");
		answer(f, ctl, "jobs");
		answer(f, ctl, "policies");
		answer(f, ctl, "counters");
		answer(f, ctl, "quarantine_list");
		file(f, COLOC_SYSCONFDIR "/coloc.yaml");
		output_of(f, "journalctl -u colocd -n " LOG_LINES " --no-pager 2>&1");
		if (fflush(f) != 0 || (f != stdout && fclose(f) != 0))
			rc = ctl_error(
				EXIT_FAILED, "%s: %s", path ? path : "stdout", strerror(errno));
		else if (path)
			printf("Wrote %s; read it before you send it: it names users and jobs\n",
				path);
	}
	check_done(list);
	free(list);
	return rc;
}

const struct ctl_cmd cmd_bundle = {
	.name = "bundle",
	.args = "[--output=FILE]",
	.summary = "everything to attach to a ticket, as one text",
	.help = "  --output=FILE  a new file (default: standard output)\n",
	.exec = exec,
};
