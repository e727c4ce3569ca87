/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "nodesvc/ctl/ctl.h"

static int show(struct json_object *o)
{
	struct json_object *list = show_get(o, "report");
	struct show_table *t;

	show_line(stdout, "Source", "%s", show_text(o, "source"));
	for (size_t i = 0; list && i < json_object_array_length(list); i++)
		show_line(stdout, i ? "" : "Tried", "%s",
			json_object_get_string(json_object_array_get_idx(list, i)));
	printf("\n");
	t = show_table_create("SIGNAL|LIVE|SOURCE|EVENT|REMARK");
	list = show_get(o, "signals");
	for (size_t i = 0; t && list && i < json_object_array_length(list); i++) {
		struct json_object *s = json_object_array_get_idx(list, i);

		show_table_row(t, (const char *const[]){
					  show_text(s, "name"),
					  show_bool(s, "available") ? "yes" : "no",
					  show_text(s, "source"),
					  show_text(s, "event"),
					  show_text(s, "reason"),
				  });
	}
	return show_table_print(t, stdout, "No signals");
}

const struct ctl_cmd cmd_counters = {
	.name = "counters",
	.args = "",
	.summary = "which signals there are on this node, and why others are not",
	.show = show,
};
