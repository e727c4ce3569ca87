/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "nodesvc/ctl/cmd.h"
#include "nodesvc/ctl/show.h"

static int exec(struct ctl *ctl, const struct ctl_cmd *cmd, int argc, char **argv)
{
	struct ctl_request rq = {.cmd = "policies"};
	struct json_object *o = NULL, *list;
	struct show_table *t;
	int rc = ctl_arguments(ctl, cmd, argc, argv, 0, 0);

	if (rc != EXIT_OK || ctl->help)
		return rc;
	rc = ctl_ask(ctl, &rq, &o);
	if (rc != EXIT_OK)
		return rc;
	if (ctl->json)
		return ctl_print_json(o);
	t = show_table_create("POLICY|RULES|USABLE|NEEDS|OPTIONS|SUMMARY|REASON");
	list = show_get(o, "policies");
	for (size_t i = 0; t && list && i < json_object_array_length(list); i++) {
		struct json_object *p = json_object_array_get_idx(list, i);
		const char *name = show_text(p, "name"), *ruling = show_text(o, "ruling");
		size_t len = strcspn(ruling, ","); /* "lira,tie=missbal" rules as lira */
		char needs[256], options[256];

		show_table_row(t,
			(const char *const[]){
				name,
				strlen(name) == len && strncmp(name, ruling, len) == 0 ? "yes" : "",
				show_bool(p, "usable") ? "yes" : "no",
				show_list(p, "needs", needs, sizeof(needs)),
				show_list(p, "options", options, sizeof(options)),
				show_text(p, "summary"),
				show_text(p, "reason"),
			});
	}
	rc = show_table_print(t, stdout);
	json_object_put(o);
	return rc;
}

const struct ctl_cmd cmd_policies = {
	.name = "policies",
	.args = "",
	.summary = "what policies there are, what they need, and which rules",
	.exec = exec,
};
