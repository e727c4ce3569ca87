/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/ctl/check.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "nodesvc/ctl/show.h"

static const char *const LEVEL[] = {
	[CHECK_OK] = "ok", [CHECK_WARN] = "warn", [CHECK_FAIL] = "FAIL"};

void check_add(struct check_list *l, enum check_level level, const char *name, const char *cure,
	const char *fmt, ...)
{
	struct check_finding *f;
	va_list ap;

	if (l->n == CHECK_MAX)
		return;
	f = &l->finding[l->n++];
	f->level = level;
	f->name = name;
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	snprintf(f->cure, sizeof(f->cure), "%s", cure);
}

int check_capture(char *const argv[], char *buf, size_t size)
{
	int fd[2], status = -1;
	size_t len = 0;
	ssize_t n;
	pid_t pid;
	char more[512];

	*buf = '\0';
	if (pipe2(fd, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		dup2(fd[1], STDOUT_FILENO);
		dup2(fd[1], STDERR_FILENO);
		execv(argv[0], argv);
		_exit(127);
	}
	close(fd[1]);
	while (pid > 0 && (n = read(fd[0], more, sizeof(more))) > 0) {
		size_t room = size - 1 - len, take = (size_t)n < room ? (size_t)n : room;

		memcpy(buf + len, more, take);
		len += take;
	}
	buf[len] = '\0';
	close(fd[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static void ask_status(struct check_env *e)
{
	struct ctl_request rq = {.cmd = "status"};
	cleanup_free char *text = NULL;
	struct errbuf err = {""};

	if (ctl_call_text(e->ctl->socket, e->ctl->timeout_ms, &rq, &text, &err) == 0)
		e->status = json_tokener_parse(text);
	else
		snprintf(e->status_error, sizeof(e->status_error), "%s", err.text);
}

void check_run(struct check_list *l, const struct ctl *ctl, const char *tree)
{
	struct check_env e = {.ctl = ctl, .tree = tree ? tree : "", .root = {.fd = -1}};
	struct errbuf err = {""};

	if (fsroot_open(&e.root, tree, &err) < 0) {
		check_add(l, CHECK_FAIL, "root", "Give a directory.", "%s", err.text);
		return;
	}
	if (slurm_conf_load(&e.slurm, e.tree, &err) < 0)
		snprintf(e.slurm_error, sizeof(e.slurm_error), "%s", err.text);
	ask_status(&e);
	check_slurm(l, &e);
	check_plugin(l, &e);
	check_service(l, &e);
	check_node(l, &e);
	slurm_conf_free(e.slurm);
	json_object_put(e.status);
	fsroot_close(&e.root);
}

bool check_has_failed(const struct check_list *l)
{
	for (int i = 0; i < l->n; i++) {
		if (l->finding[i].level == CHECK_FAIL)
			return true;
	}
	return false;
}

void check_print(const struct check_list *l, FILE *f)
{
	int count[3] = {0};

	for (int i = 0; i < l->n; i++) {
		const struct check_finding *c = &l->finding[i];

		count[c->level]++;
		fprintf(f, "%-4s  %-16s %s\n", LEVEL[c->level], c->name, c->text);
		if (*c->cure)
			fprintf(f, "%24s-> %s\n", "", c->cure);
	}
	fprintf(f, "%d ok, %d warnings, %d failures\n", count[CHECK_OK], count[CHECK_WARN],
		count[CHECK_FAIL]);
}

struct json_object *check_to_json(const struct check_list *l)
{
	struct json_object *o = json_object_new_object(), *meta = json_object_new_object();
	struct json_object *list = json_object_new_array();

	json_object_object_add(meta, "schema", json_object_new_string("coloc.check/1"));
	json_object_object_add(o, "meta", meta);
	json_object_object_add(o, "ready", json_object_new_boolean(!check_has_failed(l)));
	for (int i = 0; i < l->n; i++) {
		const struct check_finding *c = &l->finding[i];
		struct json_object *f = json_object_new_object();

		json_object_object_add(f, "level",
			json_object_new_string(c->level == CHECK_FAIL ? "fail" : LEVEL[c->level]));
		json_object_object_add(f, "name", json_object_new_string(c->name));
		json_object_object_add(f, "finding", json_object_new_string(c->text));
		json_object_object_add(
			f, "cure", *c->cure ? json_object_new_string(c->cure) : NULL);
		json_object_array_add(list, f);
	}
	json_object_object_add(o, "findings", list);
	return o;
}
