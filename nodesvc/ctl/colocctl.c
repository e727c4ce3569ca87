/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * colocctl - asks and steers the node service. A command that only asks and prints is a row here,
 * others are a file of their own.
 */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "common/out.h"
#include "config.h"
#include "nodesvc/ctl/ctl.h"

static int show_reloaded(struct json_object *o)
{
	char list[2048];

	show_list(o, "changed", list, sizeof(list));
	printf("Changed: %s\n", *list ? list : "nothing");
	if (*show_list(o, "needs_restart", list, sizeof(list)))
		printf("Needs a restart of colocd: %s\n", list);
	return EXIT_OK;
}

static int show_drained(struct json_object *o)
{
	(void)o;
	printf("Draining: no new steps are taken. Those that run stay managed: colocctl release "
	       "--all\n");
	return EXIT_OK;
}

static int show_resumed(struct json_object *o)
{
	(void)o;
	printf("Taking new steps\n");
	return EXIT_OK;
}

/* In the order of --help. */
#define ASKS(name_, summary_, show_)                                                               \
	&(const struct ctl_cmd)                                                                    \
	{                                                                                          \
		.name = (name_), .args = "", .summary = (summary_), .show = (show_)                \
	}
const struct ctl_cmd *const CTL_COMMANDS[] = {
	&cmd_check,
	&cmd_status,
	&cmd_jobs,
	&cmd_top,
	&cmd_explain,
	&cmd_policies,
	&cmd_counters,
	&cmd_profile,
	&cmd_quarantine,
	&cmd_record,
	&cmd_release,
	ASKS("reload", "read coloc.yaml again", show_reloaded),
	ASKS("drain", "take no new steps; those that run stay managed", show_drained),
	ASKS("resume", "take new steps again", show_resumed),
	&cmd_vacuum,
	&cmd_ping,
	&cmd_bundle,
	NULL,
};

static const char SYNOPSIS[] = "[--socket=PATH] [--json] [--timeout=SECONDS] COMMAND ...";

static void help(void)
{
	printf("Usage: colocctl %s\n\nAsks and steers the co-location service of this node.\n\n",
		SYNOPSIS);
	for (int i = 0; CTL_COMMANDS[i]; i++)
		printf("  %-11s %s\n", CTL_COMMANDS[i]->name, CTL_COMMANDS[i]->summary);
	printf("\nOptions, before the command or after it:\n"
	       "  --socket=PATH      colocd's socket (default $COLOC_SOCKET, else %s)\n"
	       "  --json             JSON as colocd answers it\n"
	       "  --timeout=SECONDS  wait so long for each part of the answer (default 5)\n"
	       "  -h, --help         this, or of a command: colocctl COMMAND --help\n"
	       "  -V, --version\n"
	       "Exit status: 0 done, 1 failed, 2 usage; ping: 3 colocd is down.\n",
		CTL_SOCKET);
}

int main(int argc, char **argv)
{
	static const struct ctl_cmd SELF = {
		.name = SYNOPSIS, .args = "", .summary = "", .stops = true};
	struct ctl ctl = {.timeout_ms = CTL_TIMEOUT_MS};
	const char *first = argc > 1 ? argv[1] : "";
	int rc;

	out_check_at_exit("colocctl");
	setlocale(LC_ALL, "");
	if (strcmp(first, "-h") == 0 || strcmp(first, "--help") == 0) {
		help();
		return EXIT_OK;
	}
	if (strcmp(first, "-V") == 0 || strcmp(first, "--version") == 0) {
		printf("colocctl (coloc) %s\n", PACKAGE_VERSION);
		return EXIT_OK;
	}
	ctl.socket = client_socket_path(NULL);
	rc = ctl_options(&ctl, &SELF, argc, argv, NULL, NULL, NULL);
	if (rc != EXIT_OK || ctl.help)
		return rc;
	if (optind == argc)
		return ctl_misused(&SELF, "no command given (see colocctl --help)");
	for (int i = 0; CTL_COMMANDS[i]; i++) {
		const char *name = argv[optind];

		if (strcmp(name, CTL_COMMANDS[i]->name) == 0)
			return ctl_exec(&ctl, CTL_COMMANDS[i], argc - optind, argv + optind);
	}
	return ctl_misused(&SELF, "unknown command '%s' (see colocctl --help)", argv[optind]);
}
