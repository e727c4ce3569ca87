/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/report/acct.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "nodesvc/ctl/client.h"
#include "nodesvc/record/record.h"

#define NS_PER_S INT64_C(1000000000)

enum {
	OPT_DELIMITER = 256,
	OPT_JSON,
	OPT_STORE,
	OPT_SOCKET,
	OPT_USAGE,
	OPT_NAME,
	OPT_UNITS,
	OPT_NOCONVERT,
	OPT_HTML,
	OPT_CSV,
	OPT_HISTORY,
	OPT_CLUSTER,
	OPT_ARRAY,
	OPT_UID,
	OPT_LOCAL_UID,
	OPT_REFUSED, /* and up: an index into REFUSED */
};

/* Options of sacct's that have no meaning here: said, not ignored. */
static const struct {
	const char *name, *why;
	int c; /* 0 has no letter */
} REFUSED[] = {
	{"-B, --batch-script", "the script is Slurm's: sacct -B", 'B'},
	{"-c, --completion", "Coloc keeps no job completion log", 'c'},
	{"-C, --constraints", "constraints are not recorded: sacct -C", 'C'},
	{"-f, --file", "there is no such file; --store names the directory", 'f'},
	{"-F, --flags", "scheduler flags are not recorded: sacct -F", 'F'},
	{"-g, --gid", "groups are not recorded: use -u", 'g'},
	{"-i, --nnodes", "a line is of one node: sacct -i", 'i'},
	{"-I, --ncpus", "a step's cores change: -o Cores, or sacct -I", 'I'},
	{"-k, --timelimit-min", "time limits are not recorded: sacct -k", 'k'},
	{"-K, --timelimit-max", "time limits are not recorded: sacct -K", 'K'},
	{"-L, --allclusters", "the store holds one node: see --cluster", 'L'},
	{"-M, --clusters", "the store holds one node: see --cluster", 'M'},
	{"-q, --qos", "Slurm's QOS is not recorded: sacct -q", 'q'},
	{"-R, --reason", "that is Slurm's reason: -o Reason shows Coloc's", 'R'},
	{"-W, --wckeys", "wckeys are not recorded: sacct -W", 'W'},
	{"-x, --associations", "associations are not recorded: sacct -x", 'x'},
	{"--env-vars", "the environment is Slurm's: sacct --env-vars", 0},
	{"--federation", "the store holds one node: see --cluster", 0},
	{"--local", "the store holds one node: see --cluster", 0},
	{"--whole-hetjob", "components are jobs of their own: name them with -j", 0},
	{"--yaml", "use --json", 0},
};

static const struct option LONG[] = {
	{"accounts", required_argument, NULL, 'A'},
	{"allocations", no_argument, NULL, 'X'},
	{"allusers", no_argument, NULL, 'a'},
	{"array", no_argument, NULL, OPT_ARRAY},
	{"brief", no_argument, NULL, 'b'},
	{"cluster", no_argument, NULL, OPT_CLUSTER},
	{"csv", no_argument, NULL, OPT_CSV},
	{"delimiter", required_argument, NULL, OPT_DELIMITER},
	{"duplicates", no_argument, NULL, 'D'},
	{"endtime", required_argument, NULL, 'E'},
	{"format", required_argument, NULL, 'o'},
	{"help", no_argument, NULL, 'h'},
	{"helpformat", no_argument, NULL, 'e'},
	{"history", no_argument, NULL, OPT_HISTORY},
	{"html", no_argument, NULL, OPT_HTML},
	{"jobs", required_argument, NULL, 'j'},
	{"json", no_argument, NULL, OPT_JSON},
	{"long", no_argument, NULL, 'l'},
	{"name", required_argument, NULL, OPT_NAME},
	{"noconvert", no_argument, NULL, OPT_NOCONVERT},
	{"nodelist", required_argument, NULL, 'N'},
	{"noheader", no_argument, NULL, 'n'},
	{"parsable", no_argument, NULL, 'p'},
	{"parsable2", no_argument, NULL, 'P'},
	{"partition", required_argument, NULL, 'r'},
	{"socket", required_argument, NULL, OPT_SOCKET},
	{"starttime", required_argument, NULL, 'S'},
	{"state", required_argument, NULL, 's'},
	{"store", required_argument, NULL, OPT_STORE},
	{"truncate", no_argument, NULL, 'T'},
	{"uid", required_argument, NULL, OPT_UID},
	{"units", required_argument, NULL, OPT_UNITS},
	{"usage", no_argument, NULL, OPT_USAGE},
	{"use-local-uid", no_argument, NULL, OPT_LOCAL_UID},
	{"user", required_argument, NULL, 'u'},
	{"verbose", no_argument, NULL, 'v'},
	{"version", no_argument, NULL, 'V'},
	{"allclusters", no_argument, NULL, 'L'},
	{"associations", required_argument, NULL, 'x'},
	{"batch-script", no_argument, NULL, 'B'},
	{"clusters", required_argument, NULL, 'M'},
	{"completion", no_argument, NULL, 'c'},
	{"constraints", required_argument, NULL, 'C'},
	{"env-vars", no_argument, NULL, OPT_REFUSED + 16},
	{"federation", no_argument, NULL, OPT_REFUSED + 17},
	{"file", required_argument, NULL, 'f'},
	{"flags", required_argument, NULL, 'F'},
	{"gid", required_argument, NULL, 'g'},
	{"group", required_argument, NULL, 'g'},
	{"local", no_argument, NULL, OPT_REFUSED + 18},
	{"ncpus", required_argument, NULL, 'I'},
	{"nnodes", required_argument, NULL, 'i'},
	{"qos", required_argument, NULL, 'q'},
	{"reason", required_argument, NULL, 'R'},
	{"timelimit-max", required_argument, NULL, 'K'},
	{"timelimit-min", required_argument, NULL, 'k'},
	{"wckeys", required_argument, NULL, 'W'},
	{"whole-hetjob", optional_argument, NULL, OPT_REFUSED + 19},
	{"yaml", no_argument, NULL, OPT_REFUSED + 20},
	{NULL, 0, NULL, 0},
};

/* What is given on the command line before the filter is whole. */
struct given {
	struct json_object *filter;
	int64_t start_s, end_s;
	bool has_start, has_end, all_users;
	char unit;
};

static void given_done(struct given *g)
{
	json_object_put(g->filter);
}
#define cleanup_given __attribute__((cleanup(given_done)))

static struct json_object *given(const struct given *g, const char *key)
{
	return json_object_object_get(g->filter, key);
}

/* The list @key of the filter, made when it is not there; NULL out of memory. */
static struct json_object *list_of(struct given *g, const char *key)
{
	if (!given(g, key))
		json_object_object_add(g->filter, key, json_object_new_array());
	return given(g, key);
}

static int set_flag(struct given *g, const char *key, struct errbuf *err)
{
	return json_object_object_add(g->filter, key, json_object_new_boolean(true))
		       ? err_set(err, -ENOMEM, "out of memory")
		       : 0;
}

typedef int (*item_f)(const char *item, struct json_object *list, struct errbuf *err);

/* Adds every item of a comma list. */
static int add_items(struct given *g, const char *option, const char *key, const char *text,
	item_f add, struct errbuf *err)
{
	struct json_object *list = list_of(g, key);
	cleanup_free char *copy = strdup(text);
	char *save = NULL;
	int n = 0, rc;

	if (!copy || !list)
		return err_set(err, -ENOMEM, "out of memory");
	for (char *item = strtok_r(copy, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		rc = add(item, list, err);
		if (rc < 0)
			return err_wrap(err, rc, "%s", option);
		n++;
	}
	return n ? 0 : err_set(err, -EINVAL, "%s: '%s' names none", option, text);
}

static int add_job(const char *item, struct json_object *list, struct errbuf *err)
{
	struct step_term term;
	int rc = step_term_parse(item, &term, err);

	return rc < 0 ? rc : json_object_array_add(list, json_object_new_string(item));
}

static int add_user(const char *item, struct json_object *list, struct errbuf *err)
{
	struct passwd *pw = getpwnam(item);
	unsigned long uid;
	char *end;

	if (!pw) {
		errno = 0;
		uid = strtoul(item, &end, 10);
		if (!isdigit((unsigned char)*item) || *end || errno || uid >= UINT32_MAX)
			return err_set(err, -EINVAL, "unknown user '%s'", item);
	} else {
		uid = pw->pw_uid;
	}
	return json_object_array_add(list, json_object_new_int64((int64_t)uid));
}

/* In full or as sacct shortens it. */
static int add_state(const char *item, struct json_object *list, struct errbuf *err)
{
	static const char *const STATE[][2] = {
		{"RUNNING", "R"}, {"COMPLETED", "CD"}, {"FAILED", "F"}, {"UNKNOWN", "UN"}};

	for (size_t i = 0; i < sizeof(STATE) / sizeof(STATE[0]); i++) {
		if (strcasecmp(item, STATE[i][0]) == 0 || strcasecmp(item, STATE[i][1]) == 0)
			return json_object_array_add(list, json_object_new_string(STATE[i][0]));
	}
	return err_set(err, -EINVAL,
		"unknown state '%s' (RUNNING R, COMPLETED CD, FAILED F, UNKNOWN UN)", item);
}

static int add_text(const char *item, struct json_object *list, struct errbuf *err)
{
	(void)err;
	return json_object_array_add(list, json_object_new_string(item));
}

static int add_node(const char *name, void *list)
{
	return json_object_array_add(list, json_object_new_string(name));
}

static int set_nodes(struct given *g, const char *text, struct errbuf *err)
{
	struct json_object *list = list_of(g, "nodes");
	int rc;

	if (!list)
		return err_set(err, -ENOMEM, "out of memory");
	rc = acct_hosts_expand(text, add_node, list, err);
	return rc < 0 ? err_wrap(err, rc, "--nodelist") : 0;
}

static int set_unit(struct given *g, const char *text, struct errbuf *err)
{
	char unit = (char)toupper((unsigned char)*text);

	if (!unit || text[1] || !strchr("KMGTP", unit))
		return err_set(err, -EINVAL, "--units: '%s' is none of K M G T P", text);
	g->unit = unit;
	return 0;
}

static int refuse(int c, struct errbuf *err)
{
	for (size_t i = 0; i < sizeof(REFUSED) / sizeof(REFUSED[0]); i++) {
		if (c == OPT_REFUSED + (int)i || (REFUSED[i].c && c == REFUSED[i].c))
			return err_set(err, -EINVAL, "%s: %s", REFUSED[i].name, REFUSED[i].why);
	}
	/* getopt has said it. */
	if (err)
		*err->text = '\0';
	return -EINVAL;
}

static int set_time(const char *option, const char *text, int64_t now_s, int64_t *ret,
	bool *ret_has, struct errbuf *err)
{
	int rc = acct_time_parse(text, now_s, ret, err);

	if (rc < 0)
		return err_wrap(err, rc, "%s", option);
	*ret_has = true;
	return 0;
}

static int set_format(struct acct_opts *o, const char *from, const char *text, struct errbuf *err)
{
	int rc = acct_format_parse(text, &o->format, err);

	return rc < 0 ? err_wrap(err, rc, "%s", from) : 0;
}

static int set_delimiter(struct acct_opts *o, const char *text, struct errbuf *err)
{
	if (!*text || strlen(text) >= sizeof(o->delimiter))
		return err_set(err, -EINVAL, "--delimiter: '%s' must be 1 to %d characters", text,
			(int)sizeof(o->delimiter) - 1);
	snprintf(o->delimiter, sizeof(o->delimiter), "%s", text);
	return 0;
}

static int take_option(
	struct acct_opts *o, struct given *g, int c, int64_t now_s, struct errbuf *err)
{
	switch (c) {
	case 'a':
		g->all_users = true;
		return 0;
	case 'e':
		o->action = ACCT_HELPFORMAT;
		return 0;
	case 'h':
		o->action = ACCT_HELP;
		return 0;
	case 'V':
		o->action = ACCT_VERSION;
		return 0;
	case OPT_USAGE:
		o->action = ACCT_USAGE;
		return 0;
	case 'j':
		return add_items(g, "--jobs", "jobs", optarg, add_job, err);
	case 'u':
		return add_items(g, "--user", "uids", optarg, add_user, err);
	case 's':
		return add_items(g, "--state", "states", optarg, add_state, err);
	case 'S':
		return set_time("--starttime", optarg, now_s, &g->start_s, &g->has_start, err);
	case 'E':
		return set_time("--endtime", optarg, now_s, &g->end_s, &g->has_end, err);
	case 'o':
		return set_format(o, "--format", optarg, err);
	case 'l':
		return set_format(o, "--long", ACCT_FORMAT_LONG, err);
	case 'n':
		o->no_header = true;
		return 0;
	case 'p':
		o->output = ACCT_PARSABLE;
		return 0;
	case 'P':
		o->output = ACCT_PARSABLE2;
		return 0;
	case OPT_JSON:
		o->output = ACCT_JSON;
		return 0;
	case OPT_CSV:
		o->output = ACCT_CSV;
		return 0;
	case OPT_DELIMITER:
		return set_delimiter(o, optarg, err);
	case OPT_STORE:
		o->store = optarg;
		return 0;
	case OPT_SOCKET:
		o->socket = optarg;
		return 0;
	case 'A':
		return add_items(g, "--accounts", "accounts", optarg, add_text, err);
	case 'r':
		return add_items(g, "--partition", "partitions", optarg, add_text, err);
	case 'N':
		return set_nodes(g, optarg, err);
	case OPT_NAME:
		return add_items(g, "--name", "names", optarg, add_text, err);
	case OPT_UID:
		return add_items(g, "--uid", "uids", optarg, add_user, err);
	case 'b':
		return set_format(o, "--brief", ACCT_FORMAT_BRIEF, err);
	case 'D':
		return set_flag(g, "duplicates", err);
	case 'T':
		return set_flag(g, "truncate", err);
	case 'v':
		o->verbose = true;
		return 0;
	case 'X':
		o->allocations = true;
		return 0;
	case OPT_UNITS:
		return set_unit(g, optarg, err);
	case OPT_NOCONVERT:
		if (!g->unit) /* --units takes precedence */
			g->unit = '-';
		return 0;
	case OPT_HTML:
		o->output = ACCT_HTML;
		return set_flag(g, "history", err);
	case OPT_HISTORY:
		return set_flag(g, "history", err);
	case OPT_CLUSTER:
		o->cluster = true;
		return 0;
	case OPT_ARRAY:     /* an array's tasks always have lines of their own */
	case OPT_LOCAL_UID: /* a step's user is always this node's */
		return 0;
	default:
		return refuse(c, err);
	}
}

/*
 * The daemon gives a user his own rows; asking for others is told rather than answered with
 * nothing. Of a store the file's mode decides.
 */
static int check_users(const struct given *g, uid_t uid, struct errbuf *err)
{
	struct json_object *uids = given(g, "uids");

	if (uid == 0)
		return 0;
	if (g->all_users)
		return err_set(err, -EINVAL, "--allusers: only root sees the rows of other users");
	for (size_t i = 0; uids && i < json_object_array_length(uids); i++) {
		if (json_object_get_int64(json_object_array_get_idx(uids, i)) != (int64_t)uid)
			return err_set(
				err, -EINVAL, "--user: only root sees the rows of other users");
	}
	return 0;
}

/* Nanoseconds end in 2262: what is later is as late. */
static int64_t to_ns(int64_t s)
{
	const int64_t most = INT64_MAX / NS_PER_S - 1;

	return (s > most ? most : s < -most ? -most : s) * NS_PER_S;
}

static int make_filter(struct acct_opts *o, struct given *g, int64_t now_s, struct errbuf *err)
{
	struct json_object *f = g->filter;
	int64_t from, to;

	acct_time_window(g->has_start ? &g->start_s : NULL, g->has_end ? &g->end_s : NULL,
		given(g, "jobs"), given(g, "states"), now_s, &from, &to);
	if (g->all_users)
		json_object_object_del(f, "uids");
	json_object_object_add(f, "from_ns", json_object_new_int64(to_ns(from)));
	/* To the end of that second: now is later than its whole seconds. */
	json_object_object_add(f, "to_ns", json_object_new_int64(to_ns(to) + NS_PER_S - 1));
	o->filter = strdup(json_object_to_json_string_ext(f, JSON_C_TO_STRING_PLAIN));
	if (!o->filter)
		return err_set(err, -ENOMEM, "out of memory");
	if (from > to)
		return err_set(err, -EINVAL, "--starttime is later than --endtime");
	return 0;
}

int acct_opts_parse(
	struct acct_opts *ret, int argc, char **argv, uid_t uid, int64_t now_s, struct errbuf *err)
{
	struct acct_opts o = {.delimiter = "|"};
	cleanup_given struct given g = {.filter = json_object_new_object()};
	const char *env = getenv("COLOCACCT_FORMAT"), *daemon = getenv("COLOC_SOCKET");
	int c, rc = 0;

	if (!g.filter)
		return err_set(err, -ENOMEM, "out of memory");
	optind = 0; /* glibc: start over, tests call this often */
	while (rc == 0 && (c = getopt_long(argc, argv,
				   "A:aBbcC:DE:ef:F:g:hi:I:j:k:K:lLM:nN:o:pPq:r:R:S:s:Tu:vVW:Xx:",
				   LONG, NULL)) != -1)
		rc = take_option(&o, &g, c, now_s, err);
	if (rc == 0 && optind < argc)
		rc = err_set(err, -EINVAL, "unexpected argument '%s'", argv[optind]);
	if (rc == 0 && o.format.n == 0 && env && *env)
		rc = set_format(&o, "COLOCACCT_FORMAT", env, err);
	if (rc == 0 && o.format.n == 0)
		rc = set_format(&o, "default format", ACCT_FORMAT, err);
	if (!o.store && !o.socket && uid == 0 && !(daemon && *daemon))
		o.store = ACCT_STORE;
	if (rc == 0 && !o.store)
		rc = check_users(&g, uid, err);
	if (rc == 0 && o.action == ACCT_REPORT)
		rc = make_filter(&o, &g, now_s, err);
	for (int i = 0; i < o.format.n; i++)
		o.format.column[i].unit = g.unit;
	if (rc < 0) {
		acct_opts_done(&o);
		return rc;
	}
	o.socket = client_socket_path(o.socket);
	*ret = o;
	return 0;
}

void acct_opts_done(struct acct_opts *o)
{
	free(o->filter);
	o->filter = NULL;
}
