/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "nodesvc/ctl/cmd.h"

static int exec(struct ctl *ctl, const struct ctl_cmd *cmd, int argc, char **argv)
{
	struct ctl_request rq = {.cmd = "drain"};
	struct json_object *o = NULL;
	int rc = ctl_arguments(ctl, cmd, argc, argv, 0, 0);

	if (rc != EXIT_OK || ctl->help)
		return rc;
	rc = ctl_ask(ctl, &rq, &o);
	if (rc != EXIT_OK)
		return rc;
	if (ctl->json)
		return ctl_print_json(o);
	printf("Draining: no new steps are taken. Those that run stay managed: colocctl release "
	       "--all\n");
	json_object_put(o);
	return EXIT_OK;
}

const struct ctl_cmd cmd_drain = {
	.name = "drain",
	.args = "",
	.summary = "take no new steps; those that run stay managed",
	.exec = exec,
};
