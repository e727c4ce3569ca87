/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "nodesvc/ctl/ctl.h"

static int show(struct json_object *o)
{
	char list[4096];

	show_list(o, "released", list, sizeof(list));
	printf("Released: %s. Originals left in the ledger: %s\n", *list ? list : "none",
		show_text(o, "rows_left"));
	return EXIT_OK;
}

static int exec(struct ctl *ctl, const struct ctl_cmd *cmd, int argc, char **argv)
{
	static const struct option OWN[] = {
		{"all", no_argument, NULL, 'a'},
		{NULL, 0, NULL, 0},
	};
	struct ctl_request rq = {.cmd = "release"};
	int rc = ctl_options(ctl, cmd, argc, argv, OWN, ctl_take_flag, &rq.all);

	if (rc != EXIT_OK || ctl->help)
		return rc;
	if (argc - optind > (rq.all ? 0 : 1))
		return ctl_misused(cmd, "release: name one JOB[.STEP], or none for all");
	/* In a hurry nobody wants to look up an option: alone it means everything. */
	rq.all = rq.all || argc == optind;
	if (!rq.all) {
		rc = ctl_job_argument(cmd, argv[optind]);
		if (rc != EXIT_OK)
			return rc;
		rq.job = argv[optind];
	}
	return ctl_ask_and_show(ctl, &rq, show);
}

const struct ctl_cmd cmd_release = {
	.name = "release",
	.args = "[JOB[.STEP] | --all]",
	.summary = "put Slurm's own placement back and leave the step alone",
	.help = "  --all  every step, and whatever the ledger still holds; the same as naming "
		"none\n",
	.exec = exec,
};
