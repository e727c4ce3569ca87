/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "nodesvc/ctl/ctl.h"

static int exec(struct ctl *ctl, const struct ctl_cmd *cmd, int argc, char **argv)
{
	struct ctl_request rq = {.cmd = "record"};
	struct json_object *o = NULL;
	int rc = ctl_arguments(ctl, cmd, argc, argv, 1, 2);
	const char *verb = argv[optind];
	bool start;

	if (rc != EXIT_OK || ctl->help)
		return rc;
	start = strcmp(verb, "start") == 0;
	if ((!start && strcmp(verb, "stop") != 0) || argc - optind != (start ? 2 : 1))
		return ctl_misused(cmd, "record: 'start FILE' or 'stop'");
	if (start)
		rq.tag = argv[optind + 1];
	rc = ctl_ask(ctl, &rq, &o);
	if (rc != EXIT_OK)
		return rc;
	if (ctl->json)
		return ctl_print_json(o);
	if (start)
		printf("Recording: %s\n", rq.tag);
	else
		printf("Recorded: %s decisions, %s bytes\n", show_text(o, "decisions"),
			show_text(o, "bytes"));
	json_object_put(o);
	return EXIT_OK;
}

const struct ctl_cmd cmd_record = {
	.name = "record",
	.args = "start FILE | stop",
	.summary = "write every decision to a trace, for colocsim replay",
	.help = "  FILE  must not be there yet; without / it is in colocd's store. The policy "
		"begins "
		"anew\n",
	.exec = exec,
};
