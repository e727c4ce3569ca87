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
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "common/fsroot.h"
#include "nodesvc/ctl/client.h"

struct show_table;

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
/* For a command with one option: without a value *(bool *)@arg, with one *(const char **)@arg. */
int ctl_take_flag(int c, const char *value, void *arg);
int ctl_take_text(int c, const char *value, void *arg);

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
/* Both: how @cmd was misused, and how it is used. */
#define ctl_misused(cmd, ...) (ctl_error(EXIT_USAGE, __VA_ARGS__), ctl_usage(cmd))

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

/* show.c: JSON values as cells, and cells as a table. Unknown is blank. */

/* "" where the key is missing or null. Lives as long as @o. */
const char *show_text(struct json_object *o, const char *key);
int64_t show_int(struct json_object *o, const char *key, int64_t blank);
double show_double(struct json_object *o, const char *key); /* NAN unknown */
bool show_bool(struct json_object *o, const char *key);
/* The value of that key, NULL when missing. */
struct json_object *show_get(struct json_object *o, const char *key);
/* Items of the list @key, joined by ", "; a text stands for itself. Returns @buf. */
char *show_list(struct json_object *o, const char *key, char *buf, size_t size);
/* 1234567 -> "1.23M"; NAN: "". Returns @buf. */
char *show_si(double value, char *buf, size_t size);
/* Seconds as "[DD-]HH:MM:SS"; NAN: "". Returns @buf. */
char *show_elapsed(double seconds, char *buf, size_t size);

/* @columns: names separated by '|', a leading '>' aligns right: "ID|>CORES|STATE". */
struct show_table *show_table_create(const char *columns);
/* One text per column, NULL blank. Control characters become '?'. */
void show_table_row(struct show_table *t, const char *const *cells);
/* @none: said instead of an empty table. Returns an exit status; @t is freed. */
int show_table_print(struct show_table *t, FILE *f, const char *none);

/* "name  value" lines, for one object. */
void show_line(FILE *f, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * say.c: what colocd says of a step, as people read it: one line of text each, for explain, jobs
 * and top. Every function writes into @buf (cut to @size), returns it, and leaves "" where nobody
 * knows. The objects are parts of the daemon's answers; NULL is fine.
 */

/* Of an entry of "steps". "98%"; "415k profile"; "lira (asked fair)". */
char *say_percent(struct json_object *step, const char *signal, char *buf, size_t size);
char *say_rate(struct json_object *step, const char *signal, char *buf, size_t size);
char *say_waits(struct json_object *step, char *buf, size_t size); /* "neighbour 43%" */
/* "waits; next slice of 100 ms in 230 ms, one of 4"; nothing where it takes no turns. */
char *say_turn(struct json_object *step, char *buf, size_t size);
char *say_policy(struct json_object *step, char *buf, size_t size);

/* Unix time as HH:MM:SS here; NAN and 0: "". */
char *say_clock(double t_unix, char *buf, size_t size);

/* An entry of "decisions": "arrival  lira: 0-1 -> 0, score 11, with 13.0: best pair". */
char *say_decision(struct json_object *decision, char *buf, size_t size);
/* One of "phases": "2*: 12 s on 2 cores, busy 98%, 1.2k units per cpu second"; * marks @now. */
char *say_phase(struct json_object *phase, const char *now, char *buf, size_t size);

/* Of "figures". */
char *say_speed(struct json_object *figures, char *buf, size_t size);
char *say_slowdown(struct json_object *figures, char *buf, size_t size);
char *say_corun(struct json_object *figures, char *buf, size_t size);
char *say_gain(struct json_object *figures, char *buf, size_t size);

/* capture.c: a program's output, within a time limit. It does not interpret what was said. */

#define CAPTURE_NO_PROGRAM 127 /* exit status: nothing by that name */

/*
 * capture - runs @argv (found on PATH; no shell, for paths come from configuration) with both its
 * output streams in *@ret (free(); never NULL, also after an error, unless -ENOMEM).
 * After @timeout_ms it is killed with all that it has started. Once it takes longer than a second,
 * standard error says what is being waited for, and for how long at most.
 * Returns its exit status, or -errno: -ETIMEDOUT, -EINTR a signal ended it, -ENOMEM.
 * Not thread-safe where another thread changes the environment.
 */
int capture(char *const argv[], int timeout_ms, char **ret);

/* The notice, for those who wait in another way: "colocctl: waiting for @what (up to 5 s)". */
void capture_notice(const char *what, int timeout_ms);
#define CAPTURE_NOTICE_MS 1000

/* llc.c: the last-level cache that a grouping domain can call its own. */

struct llc {
	uint64_t bytes;
	int assoc, line; /* 0: unknown */
};

/* "BYTES[,ASSOC,LINE]"; BYTES may end in K, M or G. false: @ret untouched. */
bool llc_parse(const char *text, struct llc *ret);

/*
 * llc_share - CPU 0's last level, divided by the number of domains that share it when @n_pus CPUs
 * make @n_domains; never the host's where this is a virtual machine. bytes 0: the kernel does
 * not tell.
 */
void llc_share(const struct fsroot *root, int n_pus, int n_domains, struct llc *ret);

#endif
