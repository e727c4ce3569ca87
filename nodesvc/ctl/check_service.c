/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_service.c - colocd itself, its configuration file and its store.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "config.h"
#include "nodesvc/ctl/ctl.h"
#include "nodesvc/ctl/check.h"

#define STORE "/var/lib/coloc"

static void daemon_answers(struct check_list *l, const struct check_env *e)
{
	if (!e->status) {
		check_add(l, CHECK_FAIL, "colocd",
			"systemctl enable --now colocd; then journalctl -u colocd if it does not "
			"stay.",
			"does not answer: %s", e->status_error);
		return;
	}
	check_ok(l, "colocd", "%s answers on %.200s, policy %s", show_text(e->status, "version"),
		e->ctl->socket, show_text(e->status, "policy"));
	if (strcmp(show_text(e->status, "version"), PACKAGE_VERSION) != 0)
		check_add(l, CHECK_WARN, "colocd", "systemctl restart colocd.",
			"runs as version %s, installed is %s", show_text(e->status, "version"),
			PACKAGE_VERSION);
	if (*show_text(e->status, "last_error"))
		check_add(l, CHECK_WARN, "colocd", "See journalctl -u colocd.",
			"its last error: %.250s", show_text(e->status, "last_error"));
	if (show_double(e->status, "owed") > 0)
		check_add(l, CHECK_WARN, "restore",
			"colocctl release tries at once; the reason says what is in the way.",
			"%s changes are not put back yet%s%.200s", show_text(e->status, "owed"),
			*show_text(e->status, "owed_why") ? ": " : "",
			show_text(e->status, "owed_why"));
	if (show_bool(e->status, "draining"))
		check_add(l, CHECK_WARN, "colocd", "colocctl resume.",
			"is draining: it takes no new steps");
}

/* Of a file that others could write, root would take orders. */
static bool is_safe(struct check_list *l, const char *name, const char *path, const struct stat *st)
{
	if (st->st_uid != 0) {
		check_add(l, CHECK_FAIL, name, "chown root: it.", "%.200s belongs to uid %u", path,
			st->st_uid);
		return false;
	}
	if (st->st_mode & (S_IWGRP | S_IWOTH)) {
		check_add(l, CHECK_FAIL, name, "chmod go-w it.",
			"%.200s has mode %04o: others than root may write it", path,
			st->st_mode & 07777);
		return false;
	}
	return true;
}

/* Only colocd knows its keys. */
static void parse_configuration(struct check_list *l, const struct check_env *e, const char *path)
{
	char colocd[] = COLOC_SBINDIR "/colocd", test[] = "-t", option[] = "-c";
	cleanup_free char *text = NULL;
	char *const argv[] = {colocd, test, option, (char *)path, NULL};
	int status;

	if (*e->tree || access(colocd, X_OK) < 0 || access(path, R_OK) < 0) {
		check_ok(l, "coloc.yaml", "%.200s", path);
		return;
	}
	status = capture(argv, e->ctl->timeout_ms, &text);
	if (status == 0)
		check_ok(l, "coloc.yaml", "%.200s, every key is good", path);
	else if (status < 0)
		check_add(l, CHECK_WARN, "coloc.yaml", "Try it: colocd -t.",
			"colocd -t does not answer: %s", strerror(-status));
	else
		check_add(l, CHECK_FAIL, "coloc.yaml",
			"Correct that line; colocd -t tries the file.", "%.*s",
			(int)strcspn(text, "\n"), text);
}

static void configuration(struct check_list *l, const struct check_env *e)
{
	const char *told = show_text(e->status, "config");
	const char *path = *told ? told : COLOC_SYSCONFDIR "/coloc.yaml";
	struct stat st;

	if (fstatat(e->root.fd, path + (*path == '/'), &st, 0) < 0) {
		if (errno == ENOENT)
			check_ok(l, "coloc.yaml", "%.200s is not there: defaults", path);
		else
			check_add(l, CHECK_FAIL, "coloc.yaml", "Make it readable for root.",
				"%.200s: %s", path, strerror(errno));
		return;
	}
	if (is_safe(l, "coloc.yaml", path, &st))
		parse_configuration(l, e, path);
}

static void store(struct check_list *l, const struct check_env *e)
{
	const char *told = show_text(e->status, "store");
	const char *path = *told ? told : STORE;
	struct stat st;

	if (fstatat(e->root.fd, path + (*path == '/'), &st, 0) < 0) {
		check_add(l, CHECK_WARN, "store", "colocd makes it when it starts.", "%.200s: %s",
			path, strerror(errno));
		return;
	}
	if (!S_ISDIR(st.st_mode)) {
		check_add(l, CHECK_FAIL, "store", "Move the file away.", "%.200s is no directory",
			path);
		return;
	}
	if (!is_safe(l, "store", path, &st))
		return;
	if (st.st_mode & S_IRWXO)
		check_add(l, CHECK_WARN, "store", "chmod 0700 it.",
			"%.200s has mode %04o: it names users and their jobs", path,
			st.st_mode & 07777);
	else
		check_ok(l, "store", "%.200s, mode %04o", path, st.st_mode & 07777);
}

void check_service(struct check_list *l, const struct check_env *e)
{
	daemon_answers(l, e);
	configuration(l, e);
	store(l, e);
}
