/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_plugin.c - plugstack.conf's line and the plugin file behind it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "nodesvc/ctl/ctl.h"
#include "nodesvc/ctl/check.h"

#define PLUGIN        "spank_coloc.so"
#define INCLUDE_DEPTH 4

struct line {
	bool found, required;
	char plugin[PATH_MAX];
	char args[512];
	char where[PATH_MAX + 16]; /* file:line */
};

static int read_plugstack(const struct check_env *e, const char *path, int depth, struct line *ret);

static void read_pattern(const struct check_env *e, const char *from, const char *pattern,
	int depth, struct line *ret)
{
	char full[PATH_MAX];
	const char *slash = strrchr(from, '/');
	glob_t g;
	int n;

	if (*pattern == '/')
		n = snprintf(full, sizeof(full), "%s%s", e->tree, pattern);
	else
		n = snprintf(full, sizeof(full), "%s%.*s/%s", e->tree,
			slash ? (int)(slash - from) : 0, from, pattern);
	if (n >= (int)sizeof(full) || depth >= INCLUDE_DEPTH || glob(full, 0, NULL, &g) != 0)
		return;
	for (size_t i = 0; i < g.gl_pathc && !ret->found; i++)
		read_plugstack(e, g.gl_pathv[i] + strlen(e->tree), depth + 1, ret);
	globfree(&g);
}

/* "optional /path/spank_coloc.so key=value ..." or "include pattern". */
static void read_line(const struct check_env *e, const char *path, int line_no, char *text,
	int depth, struct line *ret)
{
	char *save = NULL, *verb = strtok_r(text, " \t\r\n", &save);
	char *what = verb ? strtok_r(NULL, " \t\r\n", &save) : NULL;
	const char *base;

	if (!what)
		return;
	if (strcmp(verb, "include") == 0) {
		read_pattern(e, path, what, depth, ret);
		return;
	}
	base = strrchr(what, '/');
	if (strcmp(base ? base + 1 : what, PLUGIN) != 0)
		return;
	ret->found = true;
	ret->required = strcmp(verb, "required") == 0;
	snprintf(ret->plugin, sizeof(ret->plugin), "%s", what);
	snprintf(ret->args, sizeof(ret->args), "%s", save ? save + strspn(save, " \t") : "");
	ret->args[strcspn(ret->args, "\r\n")] = '\0';
	snprintf(ret->where, sizeof(ret->where), "%s:%d", path, line_no);
}

static int read_plugstack(const struct check_env *e, const char *path, int depth, struct line *ret)
{
	char full[PATH_MAX], text[2048];
	cleanup_file FILE *f = NULL;

	if (snprintf(full, sizeof(full), "%s%s", e->tree, path) >= (int)sizeof(full))
		return -ENAMETOOLONG;
	f = fopen(full, "re");
	if (!f)
		return -errno;
	for (int n = 1; !ret->found && fgets(text, sizeof(text), f); n++) {
		text[strcspn(text, "#")] = '\0';
		read_line(e, path, n, text, depth, ret);
	}
	return 0;
}

/* Where Slurm's own builds and the distributions' look without a PluginDir. */
#define PLUGIN_DIRS                                                                                \
	"/usr/lib64/slurm:/usr/lib/slurm:/usr/local/lib/slurm:"                                    \
	"/usr/lib/x86_64-linux-gnu/slurm-wlm:/usr/lib/aarch64-linux-gnu/slurm-wlm"

/* A bare name is looked for in PluginDir, a list separated by ':'. What to say of one that is
 * not there names the last place, or all where Slurm has its own; NULL: it is @ret. */
static const char *find_plugin(
	const struct check_env *e, const struct line *line, char *ret, size_t size)
{
	const char *dirs = slurm_conf_get(e->slurm, "PluginDir");
	cleanup_free char *copy = NULL;
	char *save = NULL;

	snprintf(ret, size, "%s%s", e->tree, line->plugin);
	if (*line->plugin == '/')
		return access(ret, R_OK) < 0 ? strerror(errno) : NULL;
	copy = strdup(dirs ? dirs : PLUGIN_DIRS);
	for (char *d = copy ? strtok_r(copy, ":", &save) : NULL; d;
		d = strtok_r(NULL, ":", &save)) {
		snprintf(ret, size, "%s%s/%s", e->tree, d, line->plugin);
		if (access(ret, R_OK) == 0)
			return NULL;
	}
	if (dirs)
		return strerror(errno);
	snprintf(ret, size, "%s", line->plugin);
	return "in none of " PLUGIN_DIRS;
}

/*
 * Loads it the way that users do: srun lists the options of the plugins that it could load, and
 * complains about the others. 1 loaded, 0 not (@why has the complaint), -1 no answer.
 */
static int ask_srun(const struct check_env *e, char *why, size_t size)
{
	char srun[] = "srun", help[] = "--help", *const argv[] = {srun, help, NULL};
	cleanup_free char *text = NULL;
	char *save = NULL;
	int status = capture(argv, e->ctl->timeout_ms, &text);

	*why = '\0';
	if (status < 0)
		return -1;
	if (strstr(text, "--coloc-policy"))
		return 1;
	for (char *line = strtok_r(text, "\r\n", &save); line && !*why;
		line = strtok_r(NULL, "\r\n", &save)) {
		if (strstr(line, "error") && strstr(line, "coloc"))
			snprintf(why, size, "%s", line);
	}
	return !*why && status != 0 ? -1 : 0;
}

/* Without srun: undefined symbols of Slurm are no fault, only its own processes have them. */
static int try_load(const char *path, char *why, size_t size)
{
	void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	const char *text = handle ? NULL : dlerror();

	*why = '\0';
	if (text && !strstr(text, "undefined symbol: slurm_") &&
		!strstr(text, "undefined symbol: spank_")) {
		snprintf(why, size, "%.250s", text);
		return 0;
	}
	if (handle)
		dlclose(handle);
	return 1;
}

static void plugin_file(struct check_list *l, const struct check_env *e, const struct line *line)
{
	char path[PATH_MAX * 2], why[300];
	const char *absent = find_plugin(e, line, path, sizeof(path));
	int rc;

	if (absent) {
		check_add(l, CHECK_FAIL, "plugin",
			"Install the plugin there, or correct the path in plugstack.conf.",
			"%.200s: %s", path, absent);
		return;
	}
	if (*e->tree) {
		check_ok(l, "plugin", "%.200s", path);
		return;
	}
	rc = ask_srun(e, why, sizeof(why));
	if (rc < 0)
		rc = try_load(path, why, sizeof(why));
	if (rc > 0)
		check_ok(l, "plugin", "%.200s loads", path);
	else
		check_add(l, CHECK_FAIL, "plugin",
			"Rebuild the plugin on a machine like this one, against this Slurm.",
			"%.200s: %s", path, *why ? why : "srun --help does not show its options");
}

/* The plugin and this program must mean the same daemon. */
static void plugin_socket(struct check_list *l, const struct check_env *e, const struct line *line)
{
	const char *p = strstr(line->args, "socket=");
	char path[256];

	snprintf(path, sizeof(path), "%.*s", p ? (int)strcspn(p + 7, " \t") : 255,
		p ? p + 7 : CTL_SOCKET);
	if (strcmp(path, e->ctl->socket) != 0)
		check_add(l, CHECK_WARN, "plugin socket",
			"Give colocd, plugstack.conf (socket=) and COLOC_SOCKET the same path.",
			"the plugin talks to %s, this program to %.150s", path, e->ctl->socket);
}

void check_plugin(struct check_list *l, const struct check_env *e)
{
	const char *conf = e->slurm ? slurm_conf_get(e->slurm, "PlugStackConfig") : NULL;
	struct line *line;
	char path[PATH_MAX];
	int rc;

	if (!e->slurm)
		return;
	if (conf && *conf == '/')
		snprintf(path, sizeof(path), "%s", conf);
	else
		snprintf(path, sizeof(path), "%s/plugstack.conf", e->slurm->dir);
	line = calloc(1, sizeof(*line));
	if (!line)
		return;
	rc = read_plugstack(e, path, 0, line);
	if (rc < 0) {
		check_add(l, CHECK_FAIL, "plugstack.conf",
			"Make it with the line: optional " PLUGIN " default=off", "%.200s: %s",
			path, strerror(-rc));
	} else if (!line->found) {
		check_add(l, CHECK_FAIL, "plugstack.conf",
			"Add the line: optional " PLUGIN
			" default=off (on every node, and where users "
			"submit).",
			"%.200s and what it includes have no line for " PLUGIN, path);
	} else {
		if (line->required)
			check_add(l, CHECK_WARN, "plugstack.conf",
				"Write 'optional': if the file is ever missing, 'required' fails "
				"every "
				"job and keeps slurmd from starting.",
				"%.200s: the plugin is 'required'", line->where);
		else
			check_ok(l, "plugstack.conf", "%.200s: optional", line->where);
		plugin_file(l, e, line);
		plugin_socket(l, e, line);
	}
	free(line);
}
