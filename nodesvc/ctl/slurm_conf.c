/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/ctl/check.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "config.h"
#include "nodesvc/ctl/ctl.h"

/* Slurm has no bound; a file that includes itself ends it. */
#define INCLUDE_DEPTH 16
#define FILES_MAX     1024
/* `scontrol show config` prints over a hundred; fewer is an error text. */
#define PAIRS_MIN 20
#define BLANKS    " \t\r\n\v\f"

struct span {
	const char *at;
	size_t len;
};

static bool is_word(struct span s, const char *word)
{
	return s.len == strlen(word) && strncasecmp(s.at, word, s.len) == 0;
}

static int add_pair(struct slurm_pairs *p, struct span key, struct span value)
{
	struct slurm_pair *bigger = realloc(p->pair, (size_t)(p->n + 1) * sizeof(*p->pair));
	struct slurm_pair *new;

	if (!bigger)
		return -ENOMEM;
	p->pair = bigger;
	new = &p->pair[p->n];
	new->key = strndup(key.at, key.len);
	new->value = strndup(value.at, value.len);
	if (!new->key || !new->value) {
		free(new->key);
		free(new->value);
		return -ENOMEM;
	}
	p->n++;
	return 0;
}

static int add_pairs(struct slurm_pairs *to, const struct slurm_pairs *from)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < from->n; i++) {
		const struct slurm_pair *p = &from->pair[i];

		rc = add_pair(to, (struct span){p->key, strlen(p->key)},
			(struct span){p->value, strlen(p->value)});
	}
	return rc;
}

static void clear_pairs(struct slurm_pairs *p)
{
	for (int i = 0; i < p->n; i++) {
		free(p->pair[i].key);
		free(p->pair[i].value);
	}
	free(p->pair);
	*p = (struct slurm_pairs){0};
}

__attribute__((format(printf, 2, 3))) static int complain(
	struct slurm_conf *c, const char *fmt, ...)
{
	char **bigger = realloc(c->complaint, (size_t)(c->n_complaints + 1) * sizeof(char *));
	va_list ap;
	int rc;

	if (!bigger)
		return -ENOMEM;
	c->complaint = bigger;
	va_start(ap, fmt);
	rc = vasprintf(&c->complaint[c->n_complaints], fmt, ap);
	va_end(ap);
	if (rc < 0)
		return -ENOMEM;
	c->n_complaints++;
	return 0;
}

static char *trim(char *s)
{
	char *end;

	s += strspn(s, BLANKS);
	end = s + strlen(s);
	while (end > s && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return s;
}

/* "Key   = value" of `scontrol show config`. */
static int parse_shown(struct slurm_conf *c, char *line)
{
	char *equals = strchr(line, '=');
	size_t len;

	if (!equals)
		return 0;
	for (len = (size_t)(equals - line); len > 0 && isspace((unsigned char)line[len - 1]);)
		len--;
	equals = trim(equals + 1);
	return len ? add_pair(&c->all, (struct span){line, len},
			     (struct span){equals, strlen(equals)})
		   : 0;
}

/*
 * The next pair behind *@at, as Slurm's regular expression finds it: blanks may stand round "=",
 * the value is in quotes or ends at a blank. Of "Key+=value" the sign is no part of the key.
 */
static bool take_pair(const char **at, struct span *key, struct span *value)
{
	const char *p = *at + strspn(*at, BLANKS), *end;

	*key = (struct span){p, 0};
	while (isalnum((unsigned char)*p) || *p == '_' || *p == '.')
		p++;
	key->len = (size_t)(p - key->at);
	p += strspn(p, BLANKS);
	if (*p && strchr("-*+/", *p))
		p++;
	if (key->len == 0 || *p != '=')
		return false;
	p++;
	p += strspn(p, BLANKS);
	end = *p == '"' ? strchr(p + 1, '"') : NULL;
	if (end && (end[1] == '\0' || strchr(BLANKS, end[1]))) {
		*value = (struct span){p + 1, (size_t)(end - p - 1)};
		*at = end + 1;
		return true;
	}
	*value = (struct span){p, strcspn(p, BLANKS)};
	*at = p + value->len;
	return value->len > 0;
}

/* All pairs of @line; what is none is passed over. */
static int take_pairs(struct slurm_pairs *p, const char *line)
{
	struct span key, value;
	int rc = 0;

	while (rc == 0 && *(line += strspn(line, BLANKS))) {
		if (take_pair(&line, &key, &value))
			rc = add_pair(p, key, value);
		else
			line += strcspn(line, BLANKS);
	}
	return rc;
}

/* @line: what follows the name. DEFAULT is for those that come after it, and adds to an earlier. */
static int add_partition(struct slurm_conf *c, struct span name, const char *line)
{
	static const char KEY[] = "PartitionName";
	struct slurm_pairs new = {0}, *bigger;
	bool preset = is_word(name, "DEFAULT");
	int rc = preset ? 0 : add_pairs(&new, &c->preset);

	if (rc == 0 && !preset)
		rc = add_pair(&new, (struct span){KEY, sizeof(KEY) - 1}, name);
	if (rc == 0)
		rc = take_pairs(&new, line);
	if (rc == 0 && preset) {
		rc = add_pairs(&c->preset, &new);
		clear_pairs(&new);
		return rc;
	}
	bigger = rc < 0 ? NULL
			: realloc(c->partition,
				  (size_t)(c->n_partitions + 1) * sizeof(*c->partition));
	if (!bigger) {
		clear_pairs(&new);
		return -ENOMEM;
	}
	c->partition = bigger;
	c->partition[c->n_partitions++] = new;
	return 0;
}

/* One file and those that it includes. */
struct reading {
	struct slurm_conf *c;
	const char *tree;
	int n_files;
};

static int read_file(struct reading *r, const char *path, int depth);

/* %c is the cluster's name in small letters; NULL not known, or out of memory. */
static char *include_name(const struct slurm_conf *c, const char *name)
{
	const char *cluster = slurm_conf_get(c, "ClusterName"), *mark;
	char *done = strdup(name);

	while (done && (mark = strstr(done, "%c"))) {
		char *longer = NULL;

		if (!cluster || strstr(cluster, "%c") ||
			asprintf(&longer, "%.*s%s%s", (int)(mark - done), done, cluster, mark + 2) <
				0)
			longer = NULL;
		for (char *p = longer ? longer + (mark - done) : NULL;
			p && p < longer + (mark - done) + strlen(cluster); p++)
			*p = (char)tolower((unsigned char)*p);
		free(done);
		done = longer;
	}
	return done;
}

static int include(struct reading *r, const char *from, char *text, int depth)
{
	char path[PATH_MAX];
	cleanup_free char *name = NULL;
	const char *slash = strrchr(from, '/');
	int rc;

	text[strcspn(text, BLANKS)] = '\0';
	name = include_name(r->c, text);
	if (!name)
		return complain(r->c, "%s includes '%s' before it says ClusterName", from, text);
	if (depth >= INCLUDE_DEPTH || r->n_files >= FILES_MAX)
		return complain(r->c, "%s includes '%s': too many files are included", from, name);
	if (snprintf(path, sizeof(path), "%.*s%s%s",
		    *name == '/' || !slash ? 0 : (int)(slash - from), from, *name == '/' ? "" : "/",
		    name) >= (int)sizeof(path))
		return complain(r->c, "%s includes a file with too long a name", from);
	rc = read_file(r, path, depth + 1);
	return rc == 0 || rc == -ENOMEM
		       ? rc
		       : complain(r->c, "%s includes %s: %s", from, path, strerror(-rc));
}

/* One logical line of slurm.conf. */
static int parse_line(struct reading *r, const char *path, char *line, int depth)
{
	static const char *const OTHERS[] = {
		"NodeName", "NodeSet", "DownNodes", "FrontendName", "SlurmctldHost"};
	struct span key, value;
	const char *rest;

	line = trim(line);
	rest = line;
	if (strncasecmp(line, "Include", 7) == 0 && isspace((unsigned char)line[7]))
		return include(r, path, trim(line + 7), depth);
	if (!take_pair(&rest, &key, &value))
		return 0;
	if (is_word(key, "PartitionName"))
		return add_partition(r->c, value, rest);
	for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++) {
		if (is_word(key, OTHERS[i]))
			return 0;
	}
	return take_pairs(&r->c->all, line);
}

/* Behind a "#" that has no backslash before it. */
static void drop_comment(char *line)
{
	for (; *line && *line != '#'; line++) {
		if (*line == '\\' && line[1])
			line++;
	}
	*line = '\0';
}

/* Does the line go on in the next? Its last character, blanks apart, is a lone backslash then. */
static bool drop_continuation(char *line)
{
	size_t end = strlen(line), n = 0;

	while (end > 0 && isspace((unsigned char)line[end - 1]))
		end--;
	while (n < end && line[end - 1 - n] == '\\')
		n++;
	if (n % 2 == 1)
		line[end - 1] = '\0';
	return n % 2 == 1;
}

static void drop_escapes(char *line)
{
	char *to = line;

	for (; *line; line++) {
		if (*line == '\\' && !*++line)
			break;
		*to++ = *line;
	}
	*to = '\0';
}

static int read_file(struct reading *r, const char *path, int depth)
{
	char full[PATH_MAX];
	cleanup_file FILE *f = NULL;
	cleanup_free char *line = NULL, *joined = NULL;
	size_t size = 0, len = 0;
	bool goes_on = false;
	int rc = 0;

	if (snprintf(full, sizeof(full), "%s%s", r->tree, path) >= (int)sizeof(full))
		return -ENAMETOOLONG;
	f = fopen(full, "re");
	if (!f)
		return -errno;
	r->n_files++;
	errno = 0;
	while (rc == 0 && getline(&line, &size, f) >= 0) {
		char *bigger;
		size_t n;

		drop_comment(line);
		goes_on = drop_continuation(line);
		n = strlen(line);
		bigger = realloc(joined, len + n + 1);
		if (!bigger)
			return -ENOMEM;
		joined = bigger;
		memcpy(joined + len, line, n + 1);
		len += n;
		if (goes_on)
			continue;
		drop_escapes(joined);
		rc = parse_line(r, path, joined, depth);
		len = 0;
	}
	if (rc == 0 && ferror(f))
		return errno ? -errno : -EIO;
	if (rc == 0 && goes_on) { /* the last line promised another */
		drop_escapes(joined);
		rc = parse_line(r, path, joined, depth);
	}
	return rc;
}

/* What scontrol said against it: its first line with "error", which names the function first. */
static void complaint(struct slurm_conf *c, char *text, int status, int timeout_ms)
{
	char *save = NULL;

	if (status == CAPTURE_NO_PROGRAM)
		return;
	if (status == -ETIMEDOUT) {
		snprintf(c->controller, sizeof(c->controller), "no answer within %g s",
			timeout_ms / 1e3);
		return;
	}
	for (char *line = strtok_r(text, "\r\n", &save); line;
		line = strtok_r(NULL, "\r\n", &save)) {
		if (strstr(line, "error")) {
			snprintf(c->controller, sizeof(c->controller), "%.250s", line);
			return;
		}
	}
	snprintf(c->controller, sizeof(c->controller), "scontrol ended with status %d", status);
}

static int from_controller(struct slurm_conf *c, int timeout_ms)
{
	char scontrol[] = "scontrol", show[] = "show", config[] = "config";
	char one_line[] = "-o", hidden[] = "-a", partition[] = "partition";
	char *const ask_config[] = {scontrol, show, config, NULL};
	char *const ask_partitions[] = {scontrol, hidden, one_line, show, partition, NULL};
	cleanup_free char *pairs = NULL, *partitions = NULL;
	char *save = NULL;
	int rc = 0, status = capture(ask_config, timeout_ms, &pairs);

	if (status != 0) {
		complaint(c, pairs, status, timeout_ms);
		return -ENOENT;
	}
	for (char *line = strtok_r(pairs, "\n", &save); rc == 0 && line;
		line = strtok_r(NULL, "\n", &save))
		rc = parse_shown(c, line);
	if (rc < 0 || c->all.n < PAIRS_MIN)
		return -ENOENT;
	status = capture(ask_partitions, timeout_ms, &partitions);
	if (status != 0) {
		complaint(c, partitions, status, timeout_ms);
		return -ENOENT;
	}
	save = NULL;
	for (char *line = strtok_r(partitions, "\n", &save); rc == 0 && line;
		line = strtok_r(NULL, "\n", &save)) {
		const char *rest = line;
		struct span key, value;

		if (take_pair(&rest, &key, &value) && is_word(key, "PartitionName"))
			rc = add_partition(c, value, rest);
	}
	return rc;
}

static void set_dir(struct slurm_conf *c, const char *path)
{
	const char *slash = strrchr(path, '/');

	snprintf(c->dir, sizeof(c->dir), "%.*s", slash ? (int)(slash - path) : 0, path);
}

static int from_files(struct slurm_conf *c, const char *tree)
{
	const char *env = *tree ? NULL : getenv("SLURM_CONF");
	const char *const path[] = {env, "/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf",
		"/usr/local/etc/slurm.conf", "/usr/local/etc/slurm/slurm.conf",
		"/run/slurm/conf/slurm.conf"};

	for (size_t i = 0; i < sizeof(path) / sizeof(path[0]); i++) {
		struct reading r = {.c = c, .tree = tree};
		int rc;

		if (!path[i] || !*path[i])
			continue;
		set_dir(c, path[i]);
		rc = read_file(&r, path[i], 0);
		if (rc == 0) {
			snprintf(c->source, sizeof(c->source), "%.*s", (int)sizeof(c->source) - 1,
				path[i]);
			return 0;
		}
		if (rc == -ENOMEM)
			return rc;
	}
	return -ENOENT;
}

/* Of "slurm-wlm 22.05.8"; 0 there is none. */
static int release_of(const char *text)
{
	int year = 0, month = 0;

	text += strcspn(text, "0123456789");
	return sscanf(text, "%2d.%2d", &year, &month) == 2 ? year * 100 + month : 0;
}

static int find_release(const struct slurm_conf *c, const char *tree, int timeout_ms)
{
	char scontrol[] = "scontrol", version[] = "--version";
	char *const argv[] = {scontrol, version, NULL};
	const char *shown = slurm_conf_get(c, "SLURM_VERSION");
	cleanup_free char *text = NULL;
	int release = shown ? release_of(shown) : 0;

	if (!release && !*tree && capture(argv, timeout_ms, &text) == 0)
		release = release_of(text);
	return release ? release : COLOC_SLURM_RELEASE;
}

static void clear(struct slurm_conf *c)
{
	clear_pairs(&c->all);
	clear_pairs(&c->preset);
	for (int i = 0; i < c->n_partitions; i++)
		clear_pairs(&c->partition[i]);
	for (int i = 0; i < c->n_complaints; i++)
		free(c->complaint[i]);
	free(c->partition);
	free(c->complaint);
	c->partition = NULL;
	c->complaint = NULL;
	c->n_partitions = c->n_complaints = 0;
}

int slurm_conf_load(struct slurm_conf **ret, const char *tree, int timeout_ms, struct errbuf *err)
{
	struct slurm_conf *c = calloc(1, sizeof(*c));
	char path[320];
	int rc = -ENOENT;

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	if (!*tree) {
		rc = from_controller(c, timeout_ms);
		if (rc == 0) {
			const char *conf = slurm_conf_get(c, "SLURM_CONF");

			set_dir(c, conf ? conf : "/etc/slurm/slurm.conf");
			snprintf(c->source, sizeof(c->source), "scontrol show config");
		} else {
			clear(c);
		}
	}
	if (rc < 0)
		rc = from_files(c, tree);
	if (rc < 0) {
		err_set(err, rc,
			"no slurm.conf found (SLURM_CONF may name it) and scontrol does "
			"not answer%s%.150s",
			*c->controller ? ": " : "", c->controller);
		slurm_conf_free(c);
		return rc;
	}
	/* Older controllers do not show it, and this node's own copy is what slurmd reads. */
	if (!slurm_conf_get(c, "ConstrainCores")) {
		struct reading r = {.c = c, .tree = tree};

		snprintf(path, sizeof(path), "%s/cgroup.conf", c->dir);
		read_file(&r, path, 0);
	}
	c->release = find_release(c, tree, timeout_ms);
	*ret = c;
	return 0;
}

void slurm_conf_free(struct slurm_conf *c)
{
	if (!c)
		return;
	clear(c);
	free(c);
}

const char *slurm_pairs_get(const struct slurm_pairs *p, const char *key)
{
	for (int i = p->n; i-- > 0;) {
		if (strcasecmp(p->pair[i].key, key) == 0)
			return p->pair[i].value;
	}
	return NULL;
}

const char *slurm_conf_get(const struct slurm_conf *c, const char *key)
{
	return slurm_pairs_get(&c->all, key);
}

int slurm_conf_lists(const char *value, const char *item)
{
	size_t len = strlen(item);

	for (const char *p = value; p && *p; p = strchr(p, ',')) {
		p += *p == ',';
		if (strncasecmp(p, item, len) == 0 && (p[len] == ',' || p[len] == '\0'))
			return 1;
	}
	return 0;
}

bool slurm_conf_is_yes(const char *value)
{
	static const char *const YES[] = {"yes", "up", "true", "1"};

	for (size_t i = 0; value && i < sizeof(YES) / sizeof(YES[0]); i++) {
		if (strcasecmp(value, YES[i]) == 0)
			return true;
	}
	return false;
}
