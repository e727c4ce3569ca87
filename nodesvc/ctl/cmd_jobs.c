/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "nodesvc/ctl/cmd.h"
#include "nodesvc/ctl/say.h"
#include "nodesvc/ctl/show.h"

static void add(struct show_table *t, struct json_object *step)
{
	char rule[160], busy[16], loads[64], elapsed[32];

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
			   show_text(step, "rebinds"),
			   show_elapsed(show_double(step, "elapsed_s"), elapsed, sizeof(elapsed)),
			   show_text(step, "reason"),
		   });
}

static int exec(struct ctl *ctl, const struct ctl_cmd *cmd, int argc, char **argv)
{
	struct ctl_request rq = {.cmd = "jobs"};
	struct json_object *o = NULL, *steps;
	struct show_table *t;
	int rc = ctl_arguments(ctl, cmd, argc, argv, 0, 0);

	if (rc != EXIT_OK || ctl->help)
		return rc;
	rc = ctl_ask(ctl, &rq, &o);
	if (rc != EXIT_OK)
		return rc;
	if (ctl->json)
		return ctl_print_json(o);
	t = show_table_create("STEP|USER|PROGRAM|POLICY|STATE|>CORES|CORESET|>THREADS|>BUSY|"
			      ">LOADS/S|>REBINDS|>ELAPSED|REASON");
	steps = show_get(o, "steps");
	for (size_t i = 0; t && steps && i < json_object_array_length(steps); i++)
		add(t, json_object_array_get_idx(steps, i));
	rc = show_table_print(t, stdout, "No job steps under coloc on this node");
	json_object_put(o);
	return rc;
}

const struct ctl_cmd cmd_jobs = {
	.name = "jobs",
	.args = "",
	.summary = "job steps on this node and where they are",
	.exec = exec,
};
