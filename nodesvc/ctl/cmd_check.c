/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/ctl/check.h"

static int exec(struct ctl *ctl, const struct ctl_cmd *cmd, int argc, char **argv)
{
	static const struct option OWN[] = {
		{"root", required_argument, NULL, 'r'},
		{NULL, 0, NULL, 0},
	};
	const char *tree = NULL;
	struct check_list list = {0};
	int rc = ctl_options(ctl, cmd, argc, argv, OWN, ctl_take_text, &tree);

	if (rc != EXIT_OK || ctl->help)
		return rc;
	if (optind < argc)
		return ctl_misused(cmd, "check: unexpected argument '%s'", argv[optind]);
	list.out = ctl->json ? NULL : stdout;
	check_run(&list, ctl, tree);
	rc = check_has_failed(&list) ? EXIT_FAILED : EXIT_OK;
	if (!ctl->json)
		check_print_total(&list, stdout);
	else if (ctl_print_json(check_to_json(&list)) != EXIT_OK)
		rc = EXIT_FAILED;
	check_done(&list);
	return rc;
}

const struct ctl_cmd cmd_check = {
	.name = "check",
	.args = "[--root=DIR]",
	.summary = "is this node ready? Every finding with its cure",
	.help = "  --root=DIR  look at a recorded tree instead of this machine\n",
	.exec = exec,
};
