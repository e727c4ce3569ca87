/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "nodesvc/ctl/ctl.h"

static void show_signals(struct json_object *o)
{
	struct json_object *signals = show_get(o, "signals"), *list = show_get(signals, "report");

	show_line(stdout, "Signals", "%s", show_text(signals, "source"));
	for (size_t i = 0; list && i < json_object_array_length(list); i++)
		show_line(stdout, "", "%s",
			json_object_get_string(json_object_array_get_idx(list, i)));
	if (show_get(signals, "calls"))
		show_line(stdout, "", "calls: %s%s",
			show_bool(signals, "calls") ? "counted, " : "not counted: ",
			show_text(signals, "calls_text"));
}

/* "step 12.0: threads, 18976 of 20000 left, up to 3.2 s old" */
static void show_lags(struct json_object *lags)
{
	for (size_t i = 0; lags && i < json_object_array_length(lags); i++) {
		struct json_object *lag = json_object_array_get_idx(lags, i);
		char left[48] = "", old[48] = "";

		if (show_get(lag, "of"))
			snprintf(left, sizeof(left), ", %s of %s left", show_text(lag, "left"),
				show_text(lag, "of"));
		if (show_get(lag, "behind_s"))
			snprintf(old, sizeof(old), ", up to %.1f s old",
				show_double(lag, "behind_s"));
		show_line(stdout, i ? "" : "Lags", "step %s: %s%s%s", show_text(lag, "step"),
			show_text(lag, "what"), left, old);
	}
}

static int show(struct json_object *o)
{
	char up[32];
	const char *spec = show_text(o, "policy_spec");

	show_line(stdout, "Service", "colocd %s, pid %s, up %s", show_text(o, "version"),
		show_text(o, "pid"), show_elapsed(show_double(o, "uptime_s"), up, sizeof(up)));
	show_line(stdout, "Node", "%s%s%s", show_text(o, "host"),
		*show_text(o, "node") ? ", to Slurm " : "", show_text(o, "node"));
	show_line(stdout, "Policy", "%s, by %s%s%s", *spec ? spec : show_text(o, "policy"),
		show_text(o, "ruling_by"), show_bool(o, "dry_run") ? ", dry run" : "",
		show_bool(o, "draining") ? ", draining: no new steps are taken" : "");
	show_line(stdout, "Domains", "%s x %s, envelope: %s", show_text(o, "n_domains"),
		show_text(o, "domain"), show_text(o, "envelope"));
	show_line(stdout, "CPUs", "%s%s%s", show_text(o, "pus"),
		*show_text(o, "reserved") ? ", reserved " : "", show_text(o, "reserved"));
	show_line(stdout, "Rebinding", "%s, by %s, samples every %s ms, decides every %s ms",
		show_text(o, "actuator"), show_text(o, "rebind"), show_text(o, "interval_ms"),
		show_text(o, "tick_ms"));
	show_signals(o);
	if (*show_text(o, "memory"))
		show_line(stdout, "Memory", "%s", show_text(o, "memory"));
	if (*show_text(o, "resctrl"))
		show_line(stdout, "Resctrl", "%s", show_text(o, "resctrl"));
	if (*show_text(o, "idle"))
		show_line(stdout, "Idle CPUs", "%s", show_text(o, "idle"));
	show_line(stdout, "Now", "%s steps, %s tasks; originals in the ledger: %s",
		show_text(o, "steps"), show_text(o, "tasks"), show_text(o, "ledger_rows"));
	if (show_double(o, "owed") > 0)
		show_line(stdout, "Owed", "%s not put back yet, tried at each tick%s%s",
			show_text(o, "owed"), *show_text(o, "owed_why") ? ": " : "",
			show_text(o, "owed_why"));
	show_line(stdout, "So far", "%s decisions, %s rebinds", show_text(o, "decisions"),
		show_text(o, "rebinds"));
	show_lags(show_get(o, "lags"));
	if (*show_text(o, "last_error"))
		show_line(stdout, "Last error", "%s", show_text(o, "last_error"));
	show_line(stdout, "Configuration", "%s", show_text(o, "config"));
	show_line(stdout, "Store", "%s", show_text(o, "store"));
	return EXIT_OK;
}

const struct ctl_cmd cmd_status = {
	.name = "status",
	.args = "",
	.summary = "the service, its policy and where its signals come from",
	.show = show,
};
