/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "nodesvc/ctl/ctl.h"

static void add(struct show_table *t, struct json_object *step)
{
	char rule[160], busy[16], loads[64], elapsed[32], waits[64];

	show_table_row(
		t, (const char *const[]){
			   show_text(step, "id"),
			   show_text(step, "user"),
			   show_text(step, "program"),
			   say_policy(step, rule, sizeof(rule)),
			   show_text(step, "state"),
			   show_text(step, "cores"),
			   show_text(step, "coreset"),
			   show_text(step, "threads"),
			   say_percent(step, "utilization", busy, sizeof(busy)),
			   say_rate(step, "loads_per_s", loads, sizeof(loads)),
			   say_waits(step, waits, sizeof(waits)),
			   show_text(step, "rebinds"),
			   show_elapsed(show_double(step, "elapsed_s"), elapsed, sizeof(elapsed)),
			   show_text(step, "reason"),
		   });
}

static int show(struct json_object *o)
{
	struct json_object *steps = show_get(o, "steps");
	struct show_table *t =
		show_table_create("STEP|USER|PROGRAM|POLICY|STATE|>CORES|CORESET|>THREADS|>BUSY|"
				  ">LOADS/S|WAITS|>REBINDS|>ELAPSED|REASON");

	for (size_t i = 0; t && steps && i < json_object_array_length(steps); i++)
		add(t, json_object_array_get_idx(steps, i));
	return show_table_print(t, stdout, "No job steps under coloc on this node");
}

const struct ctl_cmd cmd_jobs = {
	.name = "jobs",
	.args = "",
	.summary = "job steps on this node and where they are",
	.show = show,
};
