/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctl.h - what colocctl's commands share: one const entry per command, global options, and the
 * two ways of showing an answer.
 */
#ifndef COLOC_CTL_CTL_H
#define COLOC_CTL_CTL_H

#include <getopt.h>
#include <json-c/json.h>
#include <stdbool.h>

#include "common/err.h"
#include "nodesvc/ctl/client.h"

#define EXIT_OK     0
#define EXIT_FAILED 1
#define EXIT_USAGE  2
#define EXIT_DOWN   3 /* ping only */

struct ctl {
	const char *socket;
	int timeout_ms;
	bool json;
	bool help; /* the command's own help was asked for */
};

struct ctl_cmd {
	const char *name;
	const char *args;    /* "JOB[.STEP]" for the usage line */
	const char *summary; /* one line */
	const char *help;    /* of its own options; NULL none */
	const char *shorts;  /* its own short options, as getopt() has them; NULL none */
	bool stops;          /* options end at the first argument: what follows is a command */
	/* An exit status. NULL: the command has no option and no argument, asks colocd what it is
	 * itself called, and show() prints the answer. */
	int (*exec)(struct ctl *ctl, const struct ctl_cmd *cmd, int argc, char **argv);
	int (*show)(struct json_object *answer);
};

/* Those with a file of their own; the others are rows of CTL_COMMANDS (colocctl.c). */
extern const struct ctl_cmd cmd_bundle, cmd_check, cmd_counters, cmd_explain, cmd_jobs, cmd_ping,
	cmd_policies, cmd_profile, cmd_quarantine, cmd_record, cmd_release, cmd_status, cmd_top,
	cmd_vacuum;

/* All of them, NULL at the end. */
extern const struct ctl_cmd *const CTL_COMMANDS[];

int ctl_exec(struct ctl *ctl, const struct ctl_cmd *cmd, int argc, char **argv);

/* A command's own option: 0 taken, else an exit status (its message printed). */
typedef int (*ctl_option_f)(int c, const char *value, void *arg);

/*
 * ctl_options - reads the global options and @own (may be NULL); optind then points at the first
 * argument that is no option. Returns EXIT_OK or EXIT_USAGE, the message printed. With
 * --help prints it and sets ctl->help.
 */
int ctl_options(struct ctl *ctl, const struct ctl_cmd *cmd, int argc, char **argv,
	const struct option *own, ctl_option_f take, void *arg);
/* The same for commands with @min to @max arguments and no option of their own. */
int ctl_arguments(
	struct ctl *ctl, const struct ctl_cmd *cmd, int argc, char **argv, int min, int max);

/* Prints "colocctl: error: ..." and returns @status. */
int ctl_error(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int ctl_usage(const struct ctl_cmd *cmd);

/*
 * ctl_ask - the answer as a JSON object (json_object_put()). Returns EXIT_OK, or EXIT_FAILED with
 * the message printed.
 */
int ctl_ask(const struct ctl *ctl, const struct ctl_request *rq, struct json_object **ret);
/* The same, and prints it: as it came with --json, else by @show. Returns an exit status. */
int ctl_ask_and_show(const struct ctl *ctl, const struct ctl_request *rq,
	int (*show)(struct json_object *answer));
/* Prints @o as it came; @o is released. Returns an exit status. */
int ctl_print_json(struct json_object *o);

/* Reads a JOB[.STEP] argument; EXIT_OK or EXIT_USAGE with the message printed. */
int ctl_job_argument(const struct ctl_cmd *cmd, const char *text);

/* profile.c: measures a command and stores what it saw. */
int ctl_profile_run(struct ctl *ctl, const struct ctl_cmd *cmd, int argc, char **argv);

#endif
