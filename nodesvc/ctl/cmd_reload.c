/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "nodesvc/ctl/cmd.h"
#include "nodesvc/ctl/show.h"

static int exec(struct ctl *ctl, const struct ctl_cmd *cmd, int argc, char **argv)
{
	struct ctl_request rq = {.cmd = "reload"};
	struct json_object *o = NULL;
	char list[2048];
	int rc = ctl_arguments(ctl, cmd, argc, argv, 0, 0);

	if (rc != EXIT_OK || ctl->help)
		return rc;
	rc = ctl_ask(ctl, &rq, &o);
	if (rc != EXIT_OK)
		return rc;
	if (ctl->json)
		return ctl_print_json(o);
	show_list(o, "changed", list, sizeof(list));
	printf("Changed: %s\n", *list ? list : "nothing");
	if (*show_list(o, "needs_restart", list, sizeof(list)))
		printf("Needs a restart of colocd: %s\n", list);
	json_object_put(o);
	return EXIT_OK;
}

const struct ctl_cmd cmd_reload = {
	.name = "reload",
	.args = "",
	.summary = "read coloc.yaml again",
	.exec = exec,
};
