/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/ctl/slurm_conf.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "nodesvc/ctl/capture.h"

#define INCLUDE_DEPTH 4
/* `scontrol show config` prints over a hundred; fewer is an error text. */
#define PAIRS_MIN 20

static int add_pair(struct slurm_conf *c, const char *key, size_t key_len, const char *value)
{
	struct slurm_pair *bigger = realloc(c->pair, (size_t)(c->n_pairs + 1) * sizeof(*c->pair));

	if (!bigger)
		return -ENOMEM;
	c->pair = bigger;
	c->pair[c->n_pairs].key = strndup(key, key_len);
	c->pair[c->n_pairs].value = strdup(value);
	if (!c->pair[c->n_pairs].key || !c->pair[c->n_pairs].value) {
		free(c->pair[c->n_pairs].key);
		free(c->pair[c->n_pairs].value);
		return -ENOMEM;
	}
	c->n_pairs++;
	return 0;
}

static int add_partition(struct slurm_conf *c, const char *line)
{
	char **bigger =
		realloc(c->partition, (size_t)(c->n_partitions + 1) * sizeof(*c->partition));

	if (!bigger)
		return -ENOMEM;
	c->partition = bigger;
	c->partition[c->n_partitions] = strdup(line);
	return c->partition[c->n_partitions] ? c->n_partitions++, 0 : -ENOMEM;
}

static char *trim(char *s)
{
	char *end;

	while (isspace((unsigned char)*s))
		s++;
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
	return len ? add_pair(c, line, len, trim(equals + 1)) : 0;
}

static int read_file(struct slurm_conf *c, const char *tree, const char *path, int depth);

static int include(struct slurm_conf *c, const char *tree, const char *name, int depth)
{
	char path[PATH_MAX];

	if (depth >= INCLUDE_DEPTH)
		return 0;
	if (*name == '/')
		snprintf(path, sizeof(path), "%s", name);
	else
		snprintf(path, sizeof(path), "%s/%s", c->dir, name);
	read_file(c, tree, path, depth + 1); /* what is missing slurmd has complained about */
	return 0;
}

/* One logical line of slurm.conf: pairs separated by blanks. */
static int parse_line(struct slurm_conf *c, const char *tree, char *line, int depth)
{
	char *save = NULL;
	int rc = 0;

	line = trim(line);
	if (strncasecmp(line, "PartitionName", 13) == 0)
		return add_partition(c, line);
	if (strncasecmp(line, "NodeName", 8) == 0)
		return 0;
	if (strncasecmp(line, "Include", 7) == 0 && isspace((unsigned char)line[7]))
		return include(c, tree, trim(line + 7), depth);
	for (char *t = strtok_r(line, " \t", &save); rc == 0 && t;
		t = strtok_r(NULL, " \t", &save)) {
		char *equals = strchr(t, '=');

		if (equals)
			rc = add_pair(c, t, (size_t)(equals - t), equals + 1);
	}
	return rc;
}

/* Joins lines that end in a backslash and drops comments. */
static int read_file(struct slurm_conf *c, const char *tree, const char *path, int depth)
{
	char full[PATH_MAX];
	cleanup_file FILE *f = NULL;
	cleanup_free char *line = NULL, *joined = NULL;
	size_t size = 0, len = 0;
	int rc = 0;

	if (snprintf(full, sizeof(full), "%s%s", tree, path) >= (int)sizeof(full))
		return -ENAMETOOLONG;
	f = fopen(full, "re");
	if (!f)
		return -errno;
	while (rc == 0 && getline(&line, &size, f) >= 0) {
		bool goes_on;
		char *bigger;
		size_t n;

		line[strcspn(line, "#\r\n")] = '\0';
		n = strlen(line);
		goes_on = n > 0 && line[n - 1] == '\\';
		if (goes_on)
			line[--n] = '\0';
		bigger = realloc(joined, len + n + 1);
		if (!bigger)
			return -ENOMEM;
		joined = bigger;
		memcpy(joined + len, line, n + 1);
		len += n;
		if (goes_on)
			continue;
		rc = parse_line(c, tree, joined, depth);
		len = 0;
	}
	/* The last line promised another. */
	return rc == 0 && len > 0 ? parse_line(c, tree, joined, depth) : rc;
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
	char one_line[] = "-o", partition[] = "partition";
	char *const ask_config[] = {scontrol, show, config, NULL};
	char *const ask_partitions[] = {scontrol, one_line, show, partition, NULL};
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
	if (rc < 0 || c->n_pairs < PAIRS_MIN)
		return -ENOENT;
	status = capture(ask_partitions, timeout_ms, &partitions);
	if (status != 0) {
		complaint(c, partitions, status, timeout_ms);
		return -ENOENT;
	}
	save = NULL;
	for (char *line = strtok_r(partitions, "\n", &save); rc == 0 && line;
		line = strtok_r(NULL, "\n", &save)) {
		if (strncmp(line, "PartitionName=", 14) == 0)
			rc = add_partition(c, trim(line));
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
		if (!path[i] || !*path[i])
			continue;
		set_dir(c, path[i]);
		if (read_file(c, tree, path[i], 0) == 0) {
			snprintf(c->source, sizeof(c->source), "%.*s", (int)sizeof(c->source) - 1,
				path[i]);
			return 0;
		}
	}
	return -ENOENT;
}

static void clear(struct slurm_conf *c)
{
	for (int i = 0; i < c->n_pairs; i++) {
		free(c->pair[i].key);
		free(c->pair[i].value);
	}
	for (int i = 0; i < c->n_partitions; i++)
		free(c->partition[i]);
	free(c->pair);
	free(c->partition);
	c->pair = NULL;
	c->partition = NULL;
	c->n_pairs = c->n_partitions = 0;
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
		snprintf(path, sizeof(path), "%s/cgroup.conf", c->dir);
		read_file(c, tree, path, 0);
	}
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

const char *slurm_conf_get(const struct slurm_conf *c, const char *key)
{
	for (int i = 0; i < c->n_pairs; i++) {
		if (strcasecmp(c->pair[i].key, key) == 0)
			return c->pair[i].value;
	}
	return NULL;
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

char *slurm_partition_get(const char *line, const char *key, char *buf, size_t size)
{
	size_t len = strlen(key);

	*buf = '\0';
	for (const char *p = line; *p;) {
		p += strspn(p, " \t");
		if (strncasecmp(p, key, len) == 0 && p[len] == '=') {
			snprintf(buf, size, "%.*s", (int)strcspn(p + len + 1, " \t"), p + len + 1);
			return buf;
		}
		p += strcspn(p, " \t");
	}
	return buf;
}
