/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_profile.c - stored profiles: list, rm, export, import. Anything else is a command to
 * measure, see profile.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "nodesvc/ctl/ctl.h"

/* What running steps showed: the first interval of each run, experiments, runs alone. */
static int list_measured(struct json_object *o)
{
	struct json_object *list = show_get(o, "measured");
	struct show_table *t;

	if (!list || json_object_array_length(list) == 0)
		return EXIT_OK;
	printf("\nMeasured of running steps:\n");
	t = show_table_create("TYPE|USER|>CORES|KIND|SIGNAL|>MEAN|UNIT|>SPREAD|>COUNT|SOURCE|>AGE");
	for (size_t i = 0; t && i < json_object_array_length(list); i++) {
		struct json_object *m = json_object_array_get_idx(list, i);
		double spread = show_double(m, "spread");
		char mean[32], age[32], percent[32] = "";

		if (spread == spread)
			snprintf(percent, sizeof(percent), "%.1f%%", spread * 100);
		show_table_row(
			t, (const char *const[]){
				   show_text(m, "type"),
				   show_text(m, "user"),
				   show_text(m, "cores"),
				   show_text(m, "kind"),
				   show_text(m, "signal"),
				   show_si(show_double(m, "mean"), mean, sizeof(mean)),
				   show_text(m, "unit"),
				   percent,
				   show_text(m, "count"),
				   show_text(m, "source"),
				   show_elapsed((double)time(NULL) - show_double(m, "last_unix_s"),
					   age, sizeof(age)),
			   });
	}
	return show_table_print(t, stdout, "");
}

/* Functions whose calls stand for the work of programs. */
static int list_calls(struct json_object *o)
{
	struct json_object *list = show_get(o, "calls");
	struct show_table *t;

	if (!list || json_object_array_length(list) == 0)
		return EXIT_OK;
	printf("\nWork is counted by calls of:\n");
	t = show_table_create("TYPE|USER|FUNCTION|>SPREAD|>ALONE/S|>CORES|>AGE");
	for (size_t i = 0; t && i < json_object_array_length(list); i++) {
		struct json_object *c = json_object_array_get_idx(list, i);
		double spread = show_double(c, "spread");
		char alone[32], age[32], percent[32] = "";

		if (spread == spread)
			snprintf(percent, sizeof(percent), "%.1f%%", spread * 100);
		show_table_row(
			t, (const char *const[]){
				   show_text(c, "type"),
				   show_text(c, "user"),
				   show_text(c, "function"),
				   percent,
				   show_si(show_double(c, "alone_per_s"), alone, sizeof(alone)),
				   show_text(c, "alone_cores"),
				   show_elapsed((double)time(NULL) - show_double(c, "last_unix_s"),
					   age, sizeof(age)),
			   });
	}
	return show_table_print(t, stdout, "");
}

static int show(struct json_object *o)
{
	struct json_object *profiles;
	struct show_table *t;
	int rc;

	t = show_table_create(
		"TYPE|USER|>THREADS|SOURCE|>SOLO_S|>SPREAD|>BUSY|>LOADS/S|>LLC_REFS/S|"
		">LLC_MISSES/S|>RUNS|>AGE");
	profiles = show_get(o, "profiles");
	for (size_t i = 0; t && profiles && i < json_object_array_length(profiles); i++) {
		struct json_object *p = json_object_array_get_idx(profiles, i);
		struct json_object *s = show_get(p, "signals");
		char solo[32], busy[32] = "", loads[32], refs[32], misses[32];
		char spread[32] = "", age[32];
		double u = show_double(p, "utilization"), sd = show_double(p, "spread");

		if (u == u)
			snprintf(busy, sizeof(busy), "%.0f%%", u * 100);
		if (sd == sd)
			snprintf(spread, sizeof(spread), "%.1f%%", sd * 100);
		show_table_row(t,
			(const char *const[]){
				show_text(p, "type"),
				show_text(p, "user"),
				show_text(p, "threads"),
				show_text(p, "source"),
				show_si(show_double(p, "solo_s"), solo, sizeof(solo)),
				spread,
				busy,
				show_si(show_double(s, "loads_per_s"), loads, sizeof(loads)),
				show_si(show_double(s, "llc_refs_per_s"), refs, sizeof(refs)),
				show_si(show_double(s, "llc_misses_per_s"), misses, sizeof(misses)),
				show_text(p, "count"),
				show_elapsed((double)time(NULL) - show_double(p, "taken_unix_s"),
					age, sizeof(age)),
			});
	}
	rc = show_table_print(t, stdout, "No profiles stored");
	if (rc == EXIT_OK)
		rc = list_measured(o);
	return rc == EXIT_OK ? list_calls(o) : rc;
}

static int list(struct ctl *ctl, const char *tag)
{
	struct ctl_request rq = {.cmd = "profile_list", .tag = tag};

	return ctl_ask_and_show(ctl, &rq, show);
}

static int show_removed(struct json_object *o)
{
	printf("Removed: %s\n", show_text(o, "removed"));
	return EXIT_OK;
}

static int rm(struct ctl *ctl, const char *tag)
{
	struct ctl_request rq = {.cmd = "profile_rm", .tag = tag};

	return ctl_ask_and_show(ctl, &rq, show_removed);
}

static void print_lines(struct json_object *list)
{
	for (size_t i = 0; list && i < json_object_array_length(list); i++)
		printf("%s\n", json_object_to_json_string_ext(json_object_array_get_idx(list, i),
				       JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
}

/* One per line: `import` and other tools take it line by line. */
static int export(struct ctl *ctl, const char *tag)
{
	struct ctl_request rq = {.cmd = "profile_list", .tag = tag};
	struct json_object *o = NULL;
	int rc = ctl_ask(ctl, &rq, &o);

	if (rc != EXIT_OK)
		return rc;
	print_lines(show_get(o, "profiles"));
	print_lines(show_get(o, "measured"));
	json_object_put(o);
	return fflush(stdout) == 0 ? EXIT_OK : EXIT_FAILED;
}

static int import(struct ctl *ctl, const char *path)
{
	cleanup_file FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	cleanup_free char *line = NULL;
	size_t size = 0;
	ssize_t len;
	int line_no = 0, n = 0;

	if (!f)
		return ctl_error(EXIT_FAILED, "%s: %s", path, strerror(errno));
	while ((len = getline(&line, &size, f)) >= 0) {
		struct ctl_request rq = {.cmd = "profile_put", .json = line};
		struct json_object *o = NULL;

		line_no++;
		while (len > 0 && strchr(" \t\r\n", line[len - 1]))
			line[--len] = '\0';
		if (len == 0)
			continue;
		if (ctl_ask(ctl, &rq, &o) != EXIT_OK)
			return ctl_error(EXIT_FAILED, "%s:%d: not stored (%d before it were)", path,
				line_no, n);
		json_object_put(o);
		n++;
	}
	printf("Stored: %d\n", n);
	return EXIT_OK;
}

static const struct {
	const char *name, *needs; /* NULL: the argument may be left out */
	int (*run)(struct ctl *ctl, const char *argument);
} SUB[] = {
	{"list", NULL, list},
	{"show", "TYPE", list},
	{"rm", "TYPE", rm},
	{"export", NULL, export},
	{"import", "FILE", import},
};

static int exec(struct ctl *ctl, const struct ctl_cmd *cmd, int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	for (size_t i = 0; i < sizeof(SUB) / sizeof(SUB[0]); i++) {
		struct ctl_cmd sub = {.name = SUB[i].name, .args = "", .summary = cmd->summary};
		char full[64];
		int rc;

		if (strcmp(name, SUB[i].name) != 0)
			continue;
		snprintf(full, sizeof(full), "profile %s", SUB[i].name);
		sub.name = full;
		sub.args = SUB[i].needs ? SUB[i].needs : "";
		rc = ctl_arguments(ctl, &sub, argc - 1, argv + 1, SUB[i].needs ? 1 : 0, 1);
		if (rc != EXIT_OK || ctl->help)
			return rc;
		/* `show` is for one type and for scripts as well: all that is stored of it. */
		if (SUB[i].run == list && strcmp(name, "show") == 0)
			ctl->json = true;
		return SUB[i].run(ctl, argv[1 + optind]);
	}
	return ctl_profile_run(ctl, cmd, argc, argv);
}

const struct ctl_cmd cmd_profile = {
	.name = "profile",
	.args = "[OPTION...] -- COMMAND... | list [TYPE] | show TYPE | rm TYPE | export [TYPE] | "
		"import FILE",
	.summary = "measure a program alone, and keep what was seen",
	.help = "  --with=papi|perf|cachegrind  how to count (default: the first that works here)\n"
		"  --type=TAG                   name of the profile (default: the program's)\n"
		"  --ll=BYTES[,ASSOC,LINE]      cachegrind's last level (default: the domain's "
		"share)\n"
		"  --runs=N                     native runs (default 3)\n"
		"  --threads=N                  width (default: the most busy threads seen at "
		"once)\n"
		"  --output=FILE                write the profile there instead of storing it\n",
	.stops = true,
	.exec = exec,
};
