/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "common/cleanup.h"
#include "nodesvc/ctl/ctl.h"

static int exec(struct ctl *ctl, const struct ctl_cmd *cmd, int argc, char **argv)
{
	struct ctl_request rq = {.cmd = "ping"};
	cleanup_free char *text = NULL;
	struct errbuf err = {""};
	struct json_object *o;
	char up[32];
	int rc = ctl_arguments(ctl, cmd, argc, argv, 0, 0);

	if (rc != EXIT_OK || ctl->help)
		return rc;
	rc = client_call_text(ctl->socket, ctl->timeout_ms, &rq, &text, &err);
	if (rc < 0)
		return ctl_error(client_is_down(rc) ? EXIT_DOWN : EXIT_FAILED,
			"colocd does not answer: %s", err.text);
	o = json_tokener_parse(text);
	if (ctl->json)
		return ctl_print_json(o);
	printf("colocd %s answers: pid %s, up %s\n", show_text(o, "version"), show_text(o, "pid"),
		show_elapsed(show_double(o, "uptime_s"), up, sizeof(up)));
	json_object_put(o);
	return EXIT_OK;
}

const struct ctl_cmd cmd_ping = {
	.name = "ping",
	.args = "",
	.summary = "is colocd there? Exit status 3 when it is not",
	.exec = exec,
};
