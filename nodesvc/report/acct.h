/* SPDX-License-Identifier: GPL-2.0-or-later */
/* acct.h - what the files of colocacct share. */
#ifndef COLOC_REPORT_ACCT_H
#define COLOC_REPORT_ACCT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "common/coreset.h"
#include "common/err.h"

struct acct_alloc;
struct acct_out;

/* acct_time.c: the times that sacct's users write, and the default window that they expect. */

/*
 * acct_time_parse - Unix seconds of @text in local time, for a past event seen from @now_s:
 *   HH:MM[:SS][AM|PM]  today
 *   MMDD[YY][-HH:MM[:SS]]  MM.DD[.YY][-…]  MM/DD[/YY][-…]  no year: the last such day
 *   YYYY-MM-DD[THH:MM[:SS]]
 *   today midnight noon fika teatime yesterday tomorrow
 *   now[{+|-}COUNT[seconds|minutes|hours|days|weeks]], units may be abbreviated
 *   utsSECONDS
 * Errors: -EINVAL with the text quoted; @ret untouched.
 */
int acct_time_parse(const char *text, int64_t now_s, int64_t *ret, struct errbuf *err);

/* sacct's DEFAULT TIME WINDOW: what -S and -E mean when they are not given. */
void acct_time_window(const int64_t *start_s, const int64_t *end_s, bool has_jobs, bool has_state,
	int64_t now_s, int64_t *ret_start_s, int64_t *ret_end_s);

/* "[DD-]HH:MM:SS" as sacct prints Elapsed. Returns @buf. */
char *acct_time_elapsed(int64_t seconds, char *buf, size_t size);

/*
 * acct_row.c: is a row that came over a socket one of acct_query.c's? Whoever prints or sums rows
 * relies on the types of what they count, list and draw.
 */

/* A time or a span in seconds that fits a calendar: finite, up to the year 5138. */
bool acct_row_is_seconds(double value);
/* 0, or -EPROTO naming the key. Keys that nobody knows may be anything; absent and null are blank.
 */
int acct_row_check(struct json_object *row, struct errbuf *err);

/*
 * acct_source.c: where the rows come from: the store, which only root can read, or the daemon,
 * which gives a user his own.
 */

/* coloc.db below @store: all rows, for whoever may read the file. */
int acct_source_store(const char *store, const char *filter,
	int (*row)(const char *json_row, void *arg), void *arg, struct errbuf *err);

/* ctl cmd=acct json=FILTER; the answer is {"steps": [row, ...]}. -EPROTO: a row is none
 * (acct_row_check()); then @row is called for none. */
int acct_source_daemon(const char *socket_path, const char *filter,
	int (*row)(const char *json_row, void *arg), void *arg, struct errbuf *err);
/* Who runs now (ctl cmd=jobs), json_object_put(). NULL: colocd does not answer, or not so. */
struct json_object *acct_source_jobs(const char *socket_path);

/* acct_field.c: the columns of colocacct: names, --format, and a row's cell as text. */

#define ACCT_COLUMNS_MAX 64
#define ACCT_FORMAT      "JobID,JobName,User,Policy,Cores,Coreset,Elapsed,Rebinds,State"
#define ACCT_FORMAT_LONG                                                                           \
	"JobID,JobName,Program,User,Account,Partition,NodeList,Policy,ReqPolicy,Cores,Coreset,"    \
	"CoresetHistory,Partners,NTasks,Start,End,Elapsed,Rebinds,Moves,Phases,SoloSpeed,"         \
	"SharedSpeed,SpeedUnit,NTT,STP,ANTT,Gain,Waits,Launch,GainLaunch,GainBasis,State,"         \
	"ExitCode,DryRun,Reason"
#define ACCT_FORMAT_BRIEF "JobID,State,ExitCode"

struct acct_field {
	const char *name;
	bool right; /* numbers */
	/* Writes the cell; leaves "" where unknown. */
	void (*cell)(struct json_object *row, const char *key, char *buf, size_t size);
	const char *key; /* in a row of acct_query.c */
	const char *help;
	bool unit; /* a number that --units and --noconvert speak of */
};

struct acct_column {
	const struct acct_field *field;
	int width; /* 0: as wide as its longest cell */
	bool right;
	char unit; /* of a field with unit: K M G T P, '-' as it is, 0 the largest that fits */
};

struct acct_format {
	int n;
	struct acct_column column[ACCT_COLUMNS_MAX];
};

/* All fields; the last has no name. */
extern const struct acct_field ACCT_FIELDS[];

/*
 * acct_format_parse - FIELD[%[-]WIDTH],… ; names in any case, abbreviated as in sacct (the first
 * that begins so), ALL stands for every field. %WIDTH is right-aligned, %-WIDTH left.
 * Errors: -EINVAL names the field or width, -E2BIG more than ACCT_COLUMNS_MAX.
 */
int acct_format_parse(const char *text, struct acct_format *ret, struct errbuf *err);

/* The cell's text; control characters are shown as '?'. Returns @buf. */
char *acct_cell(const struct acct_column *c, struct json_object *row, char *buf, size_t size);

/* Cuts @text in place to @width columns as sacct does, with '+' as the last one. */
void acct_cut(char *text, int width);
/* Columns that a terminal needs for @text. */
int acct_text_width(const char *text);

/* acct_opts.c: colocacct's command line, checked, as one struct. */

#define ACCT_STORE "/var/lib/coloc"

enum acct_output { ACCT_TABLE, ACCT_PARSABLE, ACCT_PARSABLE2, ACCT_JSON, ACCT_HTML, ACCT_CSV };
enum acct_action { ACCT_REPORT, ACCT_HELP, ACCT_USAGE, ACCT_VERSION, ACCT_HELPFORMAT };

struct acct_opts {
	enum acct_action action;
	enum acct_output output;
	bool no_header;
	bool allocations; /* -X: one line per job */
	bool cluster;     /* from Slurm's accounting, all nodes */
	bool verbose;
	char delimiter[16];
	struct acct_format format;
	const char *store; /* NULL: ask the daemon (users; root when --socket is given) */
	const char *socket;
	char *filter; /* JSON of acct_query.c; acct_opts_done() */
};

/*
 * acct_opts_parse - reads @argv (and $COLOCACCT_FORMAT) as user @uid at @now_s.
 * Errors: -EINVAL a mistake of the user's that @err names; "" when getopt has already said it.
 */
int acct_opts_parse(
	struct acct_opts *ret, int argc, char **argv, uid_t uid, int64_t now_s, struct errbuf *err);
void acct_opts_done(struct acct_opts *o);

/*
 * acct_out.c: rows to a table, delimited lines, JSON or HTML. Lines and JSON stream. A table takes
 * its widths from the first rows (TABLE_HELD) and streams on; HTML is bounded (acct_html_data.c).
 */

int acct_out_open(struct acct_out **ret, const struct acct_opts *o, FILE *f, struct errbuf *err);
/* One row of acct_query.c. Fits acct_query_json()'s @emit with @arg the struct acct_out. */
int acct_out_row(const char *json_row, void *arg);
/* Prints what waits. Errors: -EIO and such when the file did not take it. */
int acct_out_finish(struct acct_out *out, struct errbuf *err);
void acct_out_free(struct acct_out *out);

/* acct_csv.c: colocacct --csv: rows as CSV (common/csv.h), whose columns colocacct(1) lists. */

void acct_csv_head(FILE *f);
/* @row: as acct_query.c gives it. */
void acct_csv_row(FILE *f, struct json_object *row);

/*
 * acct_alloc.c: -X: the steps of a job as one line of the job on this node.
 *
 * Counts are summed, times span all steps, partners are united, the state is the one that matters
 * most (RUNNING, FAILED, UNKNOWN, COMPLETED). What differs between steps and cannot be summed, a
 * coreset, a gain, is blank: a mean over different programs would be nobody's figure. Keeps one
 * row per job in memory.
 */

int acct_alloc_create(struct acct_alloc **ret, struct errbuf *err);
/* One row of acct_query.c; fits its @emit with @arg the struct acct_alloc. */
int acct_alloc_row(const char *json_row, void *arg);
/* The jobs' rows by first start; a non-zero return of @emit ends it and is returned. */
int acct_alloc_emit(struct acct_alloc *a, int (*emit)(const char *json_row, void *arg), void *arg);
void acct_alloc_free(struct acct_alloc *a);

/*
 * acct_cluster.c: --cluster: what the nodes wrote into Slurm's accounting, read through sacct with
 * the rights of whoever asks. One row per job and node.
 */

/*
 * @filter as of acct_query.c; @all_users: as root. Errors: -EINVAL the filter has what sacct
 * cannot pick (a step), -ENOENT no sacct, -EIO sacct failed (it has said why on stderr).
 */
int acct_source_cluster(const char *filter, bool all_users,
	int (*row)(const char *json_row, void *arg), void *arg, struct errbuf *err);

/* acct_hosts.c: Slurm's node lists, "n[1-3,07],login", written out. */

/*
 * acct_hosts_expand - calls @add for each name of @text; a negative return ends it and is returned.
 * Errors: -EINVAL names the part that is no node list, -E2BIG more than 4096 names.
 */
int acct_hosts_expand(
	const char *text, int (*add)(const char *name, void *arg), void *arg, struct errbuf *err);

/*
 * acct_html_data.c: what the HTML report shows, gathered from rows: a bounded number of steps with
 * their history, and sums over all.
 */

/* A page with more helps nobody, and each step may carry 256 samples. */
#define HTML_STEPS_MAX    400
#define HTML_POLICIES_MAX 32
#define HTML_SEGMENTS_MAX 20000

/* A stretch of time on one coreset. */
struct html_segment {
	int step;        /* index into steps */
	double from, to; /* Unix seconds */
	struct coreset cores;
	const char *why; /* the row's; NULL unknown */
};

struct html_policy {
	char name[64];
	int n_steps, n_gains;
	double sum_gain, min_gain, max_gain;
};

struct html_data {
	struct json_object *step[HTML_STEPS_MAX]; /* rows of acct_query.c with history */
	int n_steps;                              /* shown */
	long n_all;                               /* that the filter found */
	long n_gains;                             /* of all */
	bool running;                             /* one of them is */
	struct json_object *jobs;                 /* colocd's, of who runs now; NULL unknown */
	struct html_policy policy[HTML_POLICIES_MAX];
	int n_policies;
	/* After html_data_lay_out() */
	bool timed;      /* of one step at least it is known when it ran */
	double from, to; /* of what is shown; Unix seconds; an empty second where that is not */
	struct html_segment *segment;
	int n_segments;
	bool cut_segments;
	struct coreset cores; /* all that appear */
};

int html_data_add(struct html_data *d, const char *json_row);
/* Segments and the span of time. -ENOMEM. */
int html_data_lay_out(struct html_data *d);
void html_data_done(struct html_data *d);

/* Of a row: NULL for null and absent. */
struct json_object *html_get(struct json_object *row, const char *key);
const char *html_text(struct json_object *row, const char *key);
/* NAN for null. */
double html_number(struct json_object *row, const char *key);
/* Has it not ended? */
bool html_runs(struct json_object *row);
/* @text with markup as entities, without control characters; NULL: nothing. */
void html_escape(FILE *f, const char *text);
/* The hue of step @i, in degrees. */
int html_hue(int i);

/* acct_html_gain.c: the sections on gains; @d laid out. */
void html_gains_write(FILE *f, const struct html_data *d);

/* acct_html_heat.c: a table of programs, by whom they shared the node with. -ENOMEM. */
int html_heat_write(FILE *f, const struct html_data *d);

/*
 * acct_html.c: the HTML report: one file without script, font or network. Who ran on which cores,
 * signals and phases under it, gains, and the table. All text of users is escaped; a policy in the
 * page (CSP) forbids whatever a mistake there might let through.
 */

/* Writes the page; @d laid out. Errors of @f are the caller's to look for. -ENOMEM. */
int acct_html_write(FILE *f, struct html_data *d, double now_s, struct errbuf *err);

#endif
