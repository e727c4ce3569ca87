/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/opts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Far above any node; keeps sums of such numbers inside an int. */
#define MIN_CORES_MAX 65536
#define VERBOSE_MAX   3
/* A tag is a key of the profile store and a column of reports. */
#define TYPE_MAX 64

const struct opt_desc opt_descs[OPT_COUNT] = {
	[OPT_COLOC] = {"coloc", "on|off", true,
		"[coloc] let the node's service place this job beside others", "COLOC", NULL},
	[OPT_POLICY] = {"coloc-policy", "NAME[,KEY=VALUE...]", false,
		"[coloc] policy to be placed by, with its options; dry_run=yes decides and touches "
		"nothing; `list' shows the policies",
		"COLOC_POLICY", "policy"},
	[OPT_PRIORITY] = {"coloc-priority", "high|low", false,
		"[coloc] high: gives cores away last, gets them back first", "COLOC_PRIORITY",
		"priority"},
	[OPT_TYPE] = {"coloc-type", "TAG", false,
		"[coloc] the program's name in profiles and trace tables (default: executable)",
		"COLOC_TYPE", "tag"},
	[OPT_QOS] = {"coloc-qos", "FRACTION", false,
		"[coloc] keep at least this fraction (0 < x <= 1) of the speed alone", "COLOC_QOS",
		"qos"},
	[OPT_MIN_CORES] = {"coloc-min-cores", "N", false,
		"[coloc] never run on fewer cores than this", "COLOC_MIN_CORES", "min_cores"},
	[OPT_OMP] = {"coloc-omp", NULL, false,
		"[coloc] let OpenMP regions follow the number of cores granted", "COLOC_OMP",
		"omp"},
	[OPT_EXCLUDE] = {"coloc-exclude", NULL, false, "[coloc] never move this job; others see it",
		"COLOC_EXCLUDE", "exclude"},
	[OPT_VERBOSE] = {"coloc-verbose", "N", false, "[coloc] 1: say on stderr what was decided",
		"COLOC_VERBOSE", "verbose"},
};

static const char *const policy_names[] = {
#define POLICY(id, name) name,
#include "nodesvc/engine/registry.def"
#undef POLICY
};

#define POLICY_COUNT ((int)(sizeof(policy_names) / sizeof(policy_names[0])))

const char *opts_policies(char *buf, int size, const char *sep)
{
	int len = 0;

	buf[0] = '\0';
	for (int i = 0; i < POLICY_COUNT && len < size; i++)
		len += snprintf(
			buf + len, (size_t)(size - len), "%s%s", i ? sep : "", policy_names[i]);
	return buf;
}

int opts_bool(const char *text, bool *ret)
{
	static const char *const words[][2] = {
		{"off", "on"}, {"no", "yes"}, {"false", "true"}, {"0", "1"}, {"n", "y"}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		for (int v = 0; v < 2; v++)
			if (strcasecmp(text, words[i][v]) == 0) {
				*ret = v;
				return 0;
			}
	return -EINVAL;
}

static int check_number(const char *text, long min, long max, const char *what, struct errbuf *err)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(text, &end, 10);
	if (errno || end == text || *end || !isdigit((unsigned char)*text) || v < min || v > max)
		return err_set(err, -EINVAL, "%s '%.60s' is not a number from %ld to %ld", what,
			text, min, max);
	return 0;
}

static int check_fraction(const char *text, struct errbuf *err)
{
	char *end = NULL;
	double v = 0;

	/* strtod() would take nan, inf and hexadecimal as well. */
	if (strspn(text, "0123456789.") == strlen(text))
		v = strtod(text, &end);
	if (!end || *end || v <= 0 || v > 1)
		return err_set(
			err, -EINVAL, "qos '%.60s' is not a fraction above 0 and up to 1", text);
	return 0;
}

static int check_type(const char *text, struct errbuf *err)
{
	size_t len = strlen(text);

	if (!len || len > TYPE_MAX || text[0] == '-' || text[0] == '.')
		return err_set(err, -EINVAL, "type '%.70s' is not a name of 1 to %d characters",
			text, TYPE_MAX);
	for (const char *p = text; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("_.+-", *p))
			return err_set(err, -EINVAL,
				"type '%.70s' has characters other than letters, digits and _.+-",
				text);
	return 0;
}

/* One "key=value" of a policy's options; takes out dry_run. */
static int policy_option(const char *item, bool *dry_run, bool *ret_keep, struct errbuf *err)
{
	const char *eq = strchr(item, '=');

	if (!eq || eq == item || !eq[1])
		return err_set(err, -EINVAL, "policy option '%.80s' is not key=value", item);
	for (const char *p = item; p < eq; p++)
		if (!islower((unsigned char)*p) && !isdigit((unsigned char)*p) &&
			!strchr("_.-", *p))
			return err_set(
				err, -EINVAL, "policy option '%.80s' has a malformed key", item);
	for (const char *p = eq; *p; p++)
		if (!isgraph((unsigned char)*p))
			return err_set(err, -EINVAL,
				"policy option '%.80s' has a blank or unprintable value", item);
	*ret_keep = strncmp(item, "dry_run=", 8) != 0;
	if (!*ret_keep && opts_bool(eq + 1, dry_run) < 0)
		return err_set(err, -EINVAL, "policy option '%.80s' is neither yes nor no", item);
	return 0;
}

static int check_policy(const char *text, char *ret, bool *ret_dry_run, struct errbuf *err)
{
	char copy[OPT_VALUE_MAX];
	char out[OPT_VALUE_MAX];
	char *rest = copy, *item;
	bool dry_run = false;
	size_t len;
	int i = 0;

	memcpy(copy, text, strlen(text) + 1);
	item = strsep(&rest, ",");
	while (i < POLICY_COUNT && strcmp(item, policy_names[i]) != 0)
		i++;
	if (i == POLICY_COUNT)
		return err_set(err, -ENOENT, "unknown policy '%.80s'", item);
	len = strlen(item);
	memcpy(out, item, len + 1);
	while ((item = strsep(&rest, ","))) {
		bool keep = false;
		int rc = policy_option(item, &dry_run, &keep, err);

		if (rc < 0)
			return rc;
		if (keep) {
			/* Never longer than @text, of which it is a part. */
			out[len++] = ',';
			memcpy(out + len, item, strlen(item) + 1);
			len += strlen(item);
		}
	}
	memcpy(ret, out, len + 1);
	*ret_dry_run = dry_run;
	return 0;
}

/* on|off, as "1" or "0". */
static int check_switch(const char *text, char *ret, struct errbuf *err)
{
	bool on;

	if (opts_bool(text, &on) < 0)
		return err_set(err, -EINVAL, "'%.60s' is neither on nor off", text);
	ret[0] = on ? '1' : '0';
	ret[1] = '\0';
	return 0;
}

/* What an option without a value has become where sbatch hands it down, and where salloc does: a
 * null pointer that was printed. */
static bool is_no_value(const char *text)
{
	return !*text || strcmp(text, "(null)") == 0;
}

int opts_set(struct opts *o, enum opt_id id, const char *text, struct errbuf *err)
{
	bool may_be_bare = !opt_descs[id].arginfo || opt_descs[id].bare;
	char *value = o->value[id];
	int rc = 0;

	if (!text)
		text = "";
	if (may_be_bare && is_no_value(text))
		text = "on";
	if (strlen(text) >= OPT_VALUE_MAX)
		return err_set(err, -EINVAL, "value '%.40s...' is longer than %d characters", text,
			OPT_VALUE_MAX - 1);
	switch (id) {
	case OPT_POLICY:
		rc = check_policy(text, value, &o->dry_run, err);
		break;
	case OPT_COLOC:
	case OPT_OMP:
	case OPT_EXCLUDE:
		rc = check_switch(text, value, err);
		break;
	case OPT_PRIORITY:
		if (strcmp(text, "high") != 0 && strcmp(text, "low") != 0)
			rc = err_set(
				err, -EINVAL, "priority '%.60s' is neither high nor low", text);
		break;
	case OPT_TYPE:
		rc = check_type(text, err);
		break;
	case OPT_QOS:
		rc = check_fraction(text, err);
		break;
	case OPT_MIN_CORES:
		rc = check_number(text, 1, MIN_CORES_MAX, "min-cores", err);
		break;
	case OPT_VERBOSE:
		rc = check_number(text, 0, VERBOSE_MAX, "verbose", err);
		break;
	case OPT_COUNT:
		return err_set(err, -EINVAL, "option %d does not exist", id);
	}
	if (rc < 0)
		return rc;
	/* Policy and switches have written their own form of it. */
	if (id == OPT_PRIORITY || id == OPT_TYPE || id == OPT_QOS || id == OPT_MIN_CORES ||
		id == OPT_VERBOSE)
		memcpy(value, text, strlen(text) + 1);
	o->set[id] = true;
	return 0;
}

/* A switch that was given as off says nothing about the others. */
static bool asks(const struct opts *o, enum opt_id id)
{
	return o->set[id] && strcmp(o->value[id], "0") != 0;
}

static int on_off_unknown(const struct opts *o)
{
	if (o->set[OPT_COLOC])
		return o->value[OPT_COLOC][0] == '1';
	for (int id = OPT_COLOC + 1; id < OPT_COUNT; id++)
		if (asks(o, id))
			return 1;
	return -1;
}

bool opts_on(const struct opts *line, const struct opts *env, bool default_on)
{
	int on = on_off_unknown(line);

	if (on < 0)
		on = on_off_unknown(env);
	return on < 0 ? default_on : on;
}

const char *opts_get(const struct opts *line, const struct opts *env, enum opt_id id)
{
	if (line->set[id])
		return line->value[id];
	return env->set[id] ? env->value[id] : NULL;
}

bool opts_dry_run(const struct opts *line, const struct opts *env)
{
	return line->set[OPT_POLICY] ? line->dry_run : env->dry_run;
}

int opts_verbose(const struct opts *line, const struct opts *env)
{
	const char *text = opts_get(line, env, OPT_VERBOSE);

	return text ? atoi(text) : 0;
}
