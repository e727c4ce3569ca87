/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "nodesvc/ctl/ctl.h"

/* "lira,tie=missbal" rules as lira. */
static bool is_ruling(struct json_object *o, const char *name)
{
	const char *ruling = show_text(o, "ruling");
	size_t len = strcspn(ruling, ",");

	return strlen(name) == len && strncmp(name, ruling, len) == 0;
}

static int show_one(struct json_object *o, struct json_object *list, const char *name)
{
	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *p = json_object_array_get_idx(list, i);
		char text[1024];

		if (strcmp(show_text(p, "name"), name) != 0)
			continue;
		show_line(stdout, "Policy", "%s%s", name, is_ruling(o, name) ? ", rules now" : "");
		show_line(stdout, "", "%s", show_text(p, "summary"));
		show_line(stdout, "Usable", "%s", show_bool(p, "usable") ? "yes" : "no");
		if (*show_text(p, "reason"))
			show_line(stdout, "", "%s", show_text(p, "reason"));
		show_line(stdout, "Needs", "%s", show_list(p, "needs", text, sizeof(text)));
		show_line(stdout, "Options", "%s", show_list(p, "options", text, sizeof(text)));
		return EXIT_OK;
	}
	return ctl_error(EXIT_FAILED, "policies: no policy '%s' on this node", name);
}

/* Each reason once, with the policies that it is of: it may be longer than a column should be. */
static void show_reasons(struct json_object *list)
{
	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		const char *reason = show_text(json_object_array_get_idx(list, i), "reason");
		size_t first = 0;

		while (strcmp(reason,
			       show_text(json_object_array_get_idx(list, first), "reason")) != 0)
			first++;
		if (!*reason || first < i)
			continue;
		printf("\n");
		for (size_t k = i; k < json_object_array_length(list); k++) {
			struct json_object *p = json_object_array_get_idx(list, k);

			if (strcmp(reason, show_text(p, "reason")) == 0)
				printf("%s%s", k > i ? ", " : "", show_text(p, "name"));
		}
		printf(": %s\n", reason);
	}
}

static int show_all(struct json_object *o, struct json_object *list)
{
	struct show_table *t = show_table_create("POLICY|RULES|USABLE|NEEDS|SUMMARY");
	int rc;

	for (size_t i = 0; t && list && i < json_object_array_length(list); i++) {
		struct json_object *p = json_object_array_get_idx(list, i);
		const char *name = show_text(p, "name");
		char needs[256];

		show_table_row(t, (const char *const[]){
					  name,
					  is_ruling(o, name) ? "yes" : "",
					  show_bool(p, "usable") ? "yes" : "no",
					  show_list(p, "needs", needs, sizeof(needs)),
					  show_text(p, "summary"),
				  });
	}
	rc = show_table_print(t, stdout, "No policies");
	show_reasons(list);
	return rc;
}

static int exec(struct ctl *ctl, const struct ctl_cmd *cmd, int argc, char **argv)
{
	struct ctl_request rq = {.cmd = "policies"};
	struct json_object *o = NULL;
	int rc = ctl_arguments(ctl, cmd, argc, argv, 0, 1);

	if (rc != EXIT_OK || ctl->help)
		return rc;
	rc = ctl_ask(ctl, &rq, &o);
	if (rc != EXIT_OK)
		return rc;
	if (ctl->json)
		return ctl_print_json(o);
	if (optind < argc)
		rc = show_one(o, show_get(o, "policies"), argv[optind]);
	else
		rc = show_all(o, show_get(o, "policies"));
	json_object_put(o);
	return rc;
}

const struct ctl_cmd cmd_policies = {
	.name = "policies",
	.args = "[NAME]",
	.summary = "what policies there are, what they need, and which rules",
	.help = "  NAME  one policy, with its options\n",
	.exec = exec,
};
