/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/report/acct_opts.h"

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
#include "nodesvc/record/step_id.h"
#include "nodesvc/report/acct_time.h"

#define NS_PER_S INT64_C(1000000000)

enum {
	OPT_DELIMITER = 256,
	OPT_JSON,
	OPT_STORE,
	OPT_SOCKET,
	OPT_USAGE,
};

static const struct option LONG[] = {
	{"allusers", no_argument, NULL, 'a'},
	{"delimiter", required_argument, NULL, OPT_DELIMITER},
	{"endtime", required_argument, NULL, 'E'},
	{"format", required_argument, NULL, 'o'},
	{"help", no_argument, NULL, 'h'},
	{"helpformat", no_argument, NULL, 'e'},
	{"jobs", required_argument, NULL, 'j'},
	{"json", no_argument, NULL, OPT_JSON},
	{"long", no_argument, NULL, 'l'},
	{"noheader", no_argument, NULL, 'n'},
	{"parsable", no_argument, NULL, 'p'},
	{"parsable2", no_argument, NULL, 'P'},
	{"socket", required_argument, NULL, OPT_SOCKET},
	{"starttime", required_argument, NULL, 'S'},
	{"state", required_argument, NULL, 's'},
	{"store", required_argument, NULL, OPT_STORE},
	{"usage", no_argument, NULL, OPT_USAGE},
	{"user", required_argument, NULL, 'u'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

/* What is given on the command line before it is one filter. */
struct given {
	struct json_object *jobs, *uids, *states;
	int64_t start_s, end_s;
	bool has_start, has_end, all_users;
};

static void given_done(struct given *g)
{
	json_object_put(g->jobs);
	json_object_put(g->uids);
	json_object_put(g->states);
}
#define cleanup_given __attribute__((cleanup(given_done)))

typedef int (*item_f)(const char *item, struct json_object *list, struct errbuf *err);

/* Adds every item of a comma list to *@list, made when it is not there. */
static int add_items(const char *option, const char *text, struct json_object **list, item_f add,
	struct errbuf *err)
{
	cleanup_free char *copy = strdup(text);
	char *save = NULL;
	int n = 0, rc;

	if (!*list)
		*list = json_object_new_array();
	if (!copy || !*list)
		return err_set(err, -ENOMEM, "out of memory");
	for (char *item = strtok_r(copy, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		rc = add(item, *list, err);
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
		return add_items("--jobs", optarg, &g->jobs, add_job, err);
	case 'u':
		return add_items("--user", optarg, &g->uids, add_user, err);
	case 's':
		return add_items("--state", optarg, &g->states, add_state, err);
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
	case OPT_DELIMITER:
		return set_delimiter(o, optarg, err);
	case OPT_STORE:
		o->store = optarg;
		return 0;
	case OPT_SOCKET:
		o->socket = optarg;
		return 0;
	default:
		if (err)
			*err->text = '\0';
		return -EINVAL;
	}
}

/*
 * The daemon gives a user his own rows; asking for others is told rather than answered with
 * nothing. Of a store the file's mode decides.
 */
static int check_users(struct given *g, uid_t uid, struct errbuf *err)
{
	if (uid == 0)
		return 0;
	if (g->all_users)
		return err_set(err, -EINVAL, "--allusers: only root sees the rows of other users");
	for (size_t i = 0; g->uids && i < json_object_array_length(g->uids); i++) {
		if (json_object_get_int64(json_object_array_get_idx(g->uids, i)) != (int64_t)uid)
			return err_set(
				err, -EINVAL, "--user: only root sees the rows of other users");
	}
	return 0;
}

static int make_filter(struct acct_opts *o, struct given *g, int64_t now_s, struct errbuf *err)
{
	struct json_object *f = json_object_new_object();
	int64_t from, to;

	acct_time_window(g->has_start ? &g->start_s : NULL, g->has_end ? &g->end_s : NULL,
		g->jobs != NULL, g->states != NULL, now_s, &from, &to);
	if (f) {
		if (g->jobs)
			json_object_object_add(f, "jobs", json_object_get(g->jobs));
		if (g->uids && !g->all_users)
			json_object_object_add(f, "uids", json_object_get(g->uids));
		if (g->states)
			json_object_object_add(f, "states", json_object_get(g->states));
		json_object_object_add(f, "from_ns", json_object_new_int64(from * NS_PER_S));
		/* To the end of that second: now is later than its whole seconds. */
		json_object_object_add(
			f, "to_ns", json_object_new_int64(to * NS_PER_S + NS_PER_S - 1));
		o->filter = strdup(json_object_to_json_string_ext(f, JSON_C_TO_STRING_PLAIN));
		json_object_put(f);
	}
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
	cleanup_given struct given g = {0};
	const char *env = getenv("COLOCACCT_FORMAT");
	int c, rc = 0;

	optind = 0; /* glibc: start over, tests call this often */
	while (rc == 0 && (c = getopt_long(argc, argv, "aE:ehj:lno:pPS:s:u:V", LONG, NULL)) != -1)
		rc = take_option(&o, &g, c, now_s, err);
	if (rc == 0 && optind < argc)
		rc = err_set(err, -EINVAL, "unexpected argument '%s'", argv[optind]);
	if (rc == 0 && o.format.n == 0 && env && *env)
		rc = set_format(&o, "COLOCACCT_FORMAT", env, err);
	if (rc == 0 && o.format.n == 0)
		rc = set_format(&o, "default format", ACCT_FORMAT, err);
	if (!o.store && !o.socket && uid == 0)
		o.store = ACCT_STORE;
	if (rc == 0 && !o.store)
		rc = check_users(&g, uid, err);
	if (rc == 0 && o.action == ACCT_REPORT)
		rc = make_filter(&o, &g, now_s, err);
	if (rc < 0) {
		acct_opts_done(&o);
		return rc;
	}
	o.socket = ctl_socket_path(o.socket);
	*ret = o;
	return 0;
}

void acct_opts_done(struct acct_opts *o)
{
	free(o->filter);
	o->filter = NULL;
}
