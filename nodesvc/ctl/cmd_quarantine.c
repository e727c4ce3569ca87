/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_quarantine.c - what the guard over policies knows of sets of programs: list, rm.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "nodesvc/ctl/ctl.h"

static const char *state_of(struct json_object *set)
{
	return show_bool(set, "quarantined") ? "quarantined" : show_text(set, "verdict");
}

static int list(struct ctl *ctl, bool all)
{
	struct ctl_request rq = {.cmd = "quarantine_list"};
	struct json_object *o = NULL, *sets;
	struct show_table *t;
	int rc = ctl_ask(ctl, &rq, &o), left = 0;

	if (rc != EXIT_OK)
		return rc;
	if (ctl->json)
		return ctl_print_json(o);
	t = show_table_create(
		"ID|POLICY|STATE|>SPEED|>LOW|>HIGH|>WINDOWS|BASIS|>LEFT|NOW|PROGRAMS");
	sets = show_get(o, "sets");
	for (size_t i = 0; t && sets && i < json_object_array_length(sets); i++) {
		struct json_object *set = json_object_array_get_idx(sets, i);
		static const char *const keys[] = {"ratio", "lo", "hi"};
		char figure[3][32], time_left[32];

		if (!all && !show_bool(set, "quarantined")) {
			left++;
			continue;
		}
		for (int k = 0; k < 3; k++) {
			double v = show_double(set, keys[k]);

			if (v == v)
				snprintf(figure[k], sizeof(figure[k]), "%.3f", v);
			else
				*figure[k] = '\0';
		}
		show_table_row(t,
			(const char *const[]){
				show_text(set, "id"),
				show_text(set, "policy"),
				state_of(set),
				figure[0],
				figure[1],
				figure[2],
				show_text(set, "windows"),
				show_text(set, "basis"),
				show_elapsed(show_double(set, "until_unix_s") - (double)time(NULL),
					time_left, sizeof(time_left)),
				show_bool(set, "runs_now") ? "yes" : "",
				show_text(set, "programs"),
			});
	}
	rc = show_table_print(t, stdout,
		all ? "The guard has judged no set of programs yet" : "Nothing is in quarantine");
	if (rc == EXIT_OK && left)
		printf("%d more sets were judged: --all\n", left);
	if (rc == EXIT_OK && !show_bool(o, "enabled"))
		printf("The guard is off: guard.enabled\n");
	json_object_put(o);
	return rc;
}

static int show_removed(struct json_object *o)
{
	printf("Forgotten: %s\n", show_text(o, "removed"));
	return EXIT_OK;
}

static int rm(struct ctl *ctl, const char *id)
{
	struct ctl_request rq = {.cmd = "quarantine_rm", .tag = id};

	return ctl_ask_and_show(ctl, &rq, show_removed);
}

static int exec(struct ctl *ctl, const struct ctl_cmd *cmd, int argc, char **argv)
{
	static const struct option OWN[] = {
		{"all", no_argument, NULL, 'a'},
		{NULL, 0, NULL, 0},
	};
	bool all = false;
	int rc = ctl_options(ctl, cmd, argc, argv, OWN, ctl_take_flag, &all), n = argc - optind;
	const char *verb = n > 0 ? argv[optind] : "list";

	if (rc != EXIT_OK || ctl->help)
		return rc;
	if (strcmp(verb, "list") == 0 && n <= 1)
		return list(ctl, all);
	if (strcmp(verb, "rm") == 0 && n == 2 && !all)
		return rm(ctl, argv[optind + 1]);
	return ctl_misused(cmd, "quarantine: 'list [--all]' or 'rm ID', 'rm all'");
}

const struct ctl_cmd cmd_quarantine = {
	.name = "quarantine",
	.args = "[list [--all]] | rm ID | rm all",
	.summary = "programs that a policy made slower, and is kept away from",
	.help = "      --all  also sets of programs that were judged and are not in quarantine\n"
		"  rm         forgets a set, and what was measured of it: the policy is tried "
		"again\n",
	.exec = exec,
};
