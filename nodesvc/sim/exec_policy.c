/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/sim/exec_policy.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "nodesvc/trace/trace.h"

#define PREFIX "exec:"
/* A program that has seen the end of its input is given so long to end by itself. */
#define END_MS 1000
/* No status of waitpid()'s. */
#define UNKNOWN (-1)

static double timeout_s = 10;

struct policy {
	const struct topo *topo;
	char *command;
	pid_t pid; /* 0: gone */
	int to, from;
	long asked;
	char *line; /* what it has said since the last answer */
	size_t len, size;
};

bool exec_policy_is(const char *spec)
{
	return strncmp(spec, PREFIX, strlen(PREFIX)) == 0;
}

int exec_policy_read_timeout(const char *text)
{
	char *end;
	double s = strtod(text, &end);

	if (end == text || *end || !(s >= 0.001 && s <= 3600))
		return -EINVAL;
	timeout_s = s;
	return 0;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* "exec 'COMMAND': answer 3: ..." */
static int wrong(const struct policy *p, int rc, struct errbuf *err, const char *text)
{
	return err_set(err, rc, "exec '%.80s': answer %ld: %.140s", p->command, p->asked, text);
}

/* ---- the process ---- */

static int start_process(struct policy *p, struct errbuf *err)
{
	char *argv[] = {"sh", "-c", p->command, NULL};
	int in[2] = {-1, -1}, out[2] = {-1, -1}, rc;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0) {
		rc = errno;
		if (in[0] >= 0) {
			close(in[0]);
			close(in[1]);
		}
		return err_set(err, -rc, "exec '%.80s': %s", p->command, strerror(rc));
	}
	sigemptyset(&none);
	sigemptyset(&all);
	sigaddset(&all, SIGPIPE);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
	/* A group of its own: what the shell started is ended with it. */
	posix_spawnattr_setflags(
		&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	rc = posix_spawn(&p->pid, "/bin/sh", &files, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	close(in[0]);
	close(out[1]);
	p->to = in[1];
	p->from = out[0];
	if (rc) {
		p->pid = 0;
		return err_set(err, -rc, "exec '%.80s': %s", p->command, strerror(rc));
	}
	fcntl(p->to, F_SETFL, O_NONBLOCK);
	fcntl(p->from, F_SETFL, O_NONBLOCK);
	return 0;
}

/*
 * Waits at most @ms for the end; true: it has ended, *ret_status tells how, or is UNKNOWN: who
 * started us may ignore SIGCHLD, and then the kernel keeps no status.
 */
static bool reap(struct policy *p, int ms, int *ret_status)
{
	int64_t until = now_ms() + ms;
	pid_t rc;

	while ((rc = waitpid(p->pid, ret_status, WNOHANG)) == 0) {
		if (now_ms() >= until)
			return false;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	if (rc < 0)
		*ret_status = UNKNOWN;
	p->pid = 0;
	return true;
}

/* @patient: it is told by the end of its input, and given time. */
static void end_process(struct policy *p, bool patient)
{
	pid_t group = p->pid;
	int status;

	if (p->to >= 0)
		close(take_fd(p->to));
	if (p->from >= 0)
		close(take_fd(p->from));
	if (!group)
		return;
	if (!patient || !reap(p, END_MS, &status)) {
		kill(-group, SIGKILL);
		reap(p, END_MS, &status);
	}
}

/* It closed its side: ended, or it will not say any more. */
static int has_ended(struct policy *p, struct errbuf *err)
{
	char text[80] = "it closed its output";
	int status;

	if (reap(p, END_MS, &status)) {
		if (status == UNKNOWN)
			snprintf(text, sizeof(text), "the program ended");
		else if (WIFEXITED(status))
			snprintf(text, sizeof(text), "the program ended with status %d",
				WEXITSTATUS(status));
		else
			snprintf(text, sizeof(text), "the program was ended by signal %d",
				WTERMSIG(status));
	}
	return wrong(p, -EPIPE, err, text);
}

/* ---- lines ---- */

/* write() whose SIGPIPE, if any, comes to nobody. */
static ssize_t write_quietly(int fd, const char *text, size_t len)
{
	sigset_t pipe, before;
	struct timespec at_once = {0};
	ssize_t n;
	int error;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	n = write(fd, text, len);
	error = errno;
	if (n < 0 && error == EPIPE)
		sigtimedwait(&pipe, NULL, &at_once);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return n;
}

/* Takes in what it has said. 1: something, 0: nothing now, -EPIPE: the end, -E2BIG, -ENOMEM. */
static int take_in(struct policy *p)
{
	ssize_t n;

	if (p->len + 1 >= p->size) {
		size_t size = p->size ? 2 * p->size : 4096;
		char *more = size > (size_t)2 * EXEC_LINE_MAX ? NULL : realloc(p->line, size);

		if (!more)
			return size > (size_t)2 * EXEC_LINE_MAX ? -E2BIG : -ENOMEM;
		p->line = more;
		p->size = size;
	}
	n = read(p->from, p->line + p->len, p->size - p->len - 1);
	if (n == 0)
		return -EPIPE;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -EPIPE;
	p->len += (size_t)n;
	return 1;
}

static int too_long(struct policy *p, struct errbuf *err)
{
	char text[64];

	snprintf(text, sizeof(text), "longer than %u bytes", EXEC_LINE_MAX);
	return wrong(p, -E2BIG, err, text);
}

/* What it has said since the last look, after @before bytes. 1: a whole line. */
static int listen(struct policy *p, size_t before, bool asked, struct errbuf *err)
{
	int rc = take_in(p);
	char *end;

	if (rc == -EPIPE)
		return has_ended(p, err);
	if (rc == -ENOMEM)
		return err_set(err, rc, "out of memory");
	if (rc == -E2BIG)
		return too_long(p, err);
	end = rc ? memchr(p->line + before, '\n', p->len - before) : NULL;
	if ((end ? (size_t)(end - p->line) : p->len) > EXEC_LINE_MAX)
		return too_long(p, err);
	if (end && (!asked || end + 1 != p->line + p->len))
		return wrong(p, -EPROTO, err, "a line that nobody asked for");
	return end != NULL;
}

/* Sends @len bytes of @text, then waits for one line, if one is due. */
static int talk(struct policy *p, const char *text, size_t len, bool answers, struct errbuf *err)
{
	int64_t until = now_ms() + (int64_t)(timeout_s * 1e3 + 0.5);
	int heard = 0;

	while (len > 0 || (answers && !heard)) {
		struct pollfd fd[2] = {{.fd = answers ? p->from : -1, .events = POLLIN},
			{.fd = len > 0 ? p->to : -1, .events = POLLOUT}};
		int64_t left = until - now_ms();

		if (left <= 0 || poll(fd, 2, (int)left) == 0) {
			char late[64];

			snprintf(late, sizeof(late), "none within %g s", timeout_s);
			return wrong(p, -ETIMEDOUT, err, late);
		}
		/* First: what it says before it has heard all of the view is no answer. */
		if (fd[0].revents) {
			heard = listen(p, p->len, len == 0, err);
			if (heard < 0)
				return heard;
		}
		if (fd[1].revents) {
			ssize_t n = write_quietly(p->to, text, len);

			if (n < 0 && errno != EAGAIN && errno != EINTR)
				return answers ? has_ended(p, err) : -EPIPE;
			text += n > 0 ? n : 0;
			len -= n > 0 ? (size_t)n : 0;
		}
	}
	return 0;
}

/* @o as one line; takes it over. */
static int say(struct policy *p, json_object *o, bool answers, struct errbuf *err)
{
	size_t len = 0;
	const char *json = json_object_to_json_string_length(
		o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &len);
	cleanup_free char *text = json ? malloc(len + 1) : NULL;
	int rc;

	if (!text) {
		json_object_put(o);
		return err_set(err, -ENOMEM, "out of memory");
	}
	memcpy(text, json, len);
	text[len] = '\n';
	rc = talk(p, text, len + 1, answers, err);
	json_object_put(o);
	return rc;
}

/* ---- the policy ---- */

static json_object *core_json(const struct topo_core *c)
{
	const struct {
		const char *name;
		int index;
	} level[] = {{"domain", c->domain}, {"package", c->package}, {"numa", c->numa},
		{"l3", c->l3}, {"l2", c->l2}};
	json_object *o = json_object_new_object();
	char text[CORESET_STR_MAX];

	json_object_object_add(
		o, "pus", json_object_new_string(coreset_format(&c->pus, text, sizeof(text))));
	for (size_t i = 0; i < sizeof(level) / sizeof(level[0]); i++)
		if (level[i].index >= 0)
			json_object_object_add(
				o, level[i].name, json_object_new_int(level[i].index));
	return o;
}

/* The first line: what holds for all views. It is not answered. */
static json_object *head_json(const struct policy_cfg *cfg)
{
	const struct topo *t = cfg->topo;
	json_object *o = json_object_new_object(), *cores = json_object_new_array();

	json_object_object_add(o, "coloc_policy", json_object_new_int(EXEC_POLICY_VERSION));
	json_object_object_add(
		o, "domain", json_object_new_string(topo_level_name(t->domain_level)));
	json_object_object_add(o, "share_smt", json_object_new_boolean(cfg->share_smt));
	json_object_object_add(
		o, "multi_node_independent", json_object_new_boolean(cfg->multi_node_independent));
	for (int i = 0; i < t->n_cores; i++)
		json_object_array_add(cores, core_json(&t->core[i]));
	json_object_object_add(o, "cores", cores);
	return o;
}

static void exec_free(struct policy *p)
{
	end_process(p, true);
	free(p->command);
	free(p->line);
}

static int exec_create(struct policy *p, const struct policy_cfg *cfg, struct errbuf *err)
{
	int rc;

	p->to = p->from = -1;
	p->topo = cfg->topo;
	p->command = strdup(cfg->option[0].value);
	rc = p->command ? start_process(p, err) : err_set(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = say(p, head_json(cfg), false, err);
	return rc == -EPIPE ? 0 : rc; /* it has ended already: told at its first answer */
}

static int read_plan(struct policy *p, const struct view *v, struct plan *ret, struct errbuf *err)
{
	struct json_tokener *tok = json_tokener_new();
	json_object *o = tok ? json_tokener_parse_ex(tok, p->line, (int)p->len) : NULL;
	size_t end = o ? json_tokener_get_parse_end(tok) : 0;
	struct errbuf why = {""};
	char text[128];
	int rc;

	if (!tok)
		return err_set(err, -ENOMEM, "out of memory");
	if (json_tokener_get_error(tok) != json_tokener_success || !o ||
		strspn(p->line + end, " \t\r\n") != p->len - end) {
		snprintf(text, sizeof(text), "no JSON object: '%.*s'",
			(int)strcspn(p->line, "\n") > 60 ? 60 : (int)strcspn(p->line, "\n"),
			p->line);
		rc = wrong(p, -EPROTO, err, text);
	} else {
		rc = plan_from_json(ret, v, o, &why);
		if (rc == -ENODATA)
			err_set(err, rc, "%s", why.text);
		else if (rc)
			rc = wrong(p, rc == -ENOMEM ? rc : -EPROTO, err, why.text);
	}
	json_object_put(o);
	json_tokener_free(tok);
	return rc;
}

static int exec_decide(struct policy *p, const struct view *v, const int *slot, struct plan *ret,
	struct errbuf *err)
{
	json_object *o = view_to_json(v);
	int rc;

	(void)slot;
	p->asked++;
	if (!o)
		return err_set(err, -ENOMEM, "out of memory");
	json_object_object_add(o, "version", json_object_new_int(VIEW_VERSION));
	if (p->from < 0)
		rc = wrong(p, -EPIPE, err, "the program was given up before");
	else
		rc = say(p, json_object_get(o), true, err);
	json_object_put(o);
	if (!rc) {
		p->line[p->len] = '\0';
		rc = read_plan(p, v, ret, err);
	}
	p->len = 0;
	/* Whatever it says now belongs to no view. */
	if (rc && rc != -ENODATA)
		end_process(p, false);
	return rc;
}

static const struct policy_ops policy_exec = {
	.name = "exec",
	.summary = "a program that reads views and answers plans",
	.asks = POLICY_ASKS_SLICES | POLICY_ASKS_EXPERIMENTS | POLICY_ASKS_LENT,
	.size = sizeof(struct policy),
	.create = exec_create,
	.decide = exec_decide,
	.free = exec_free,
};

int exec_policy_check(const char *spec, struct errbuf *err)
{
	const char *command = spec + strlen(PREFIX);

	if (command[strspn(command, " ")])
		return 0;
	return err_set(err, -EINVAL, "policy '%s': a command expected after 'exec:'", spec);
}

int exec_policy_engine(
	struct engine **ret, const char *spec, const struct policy_cfg *cfg, struct errbuf *err)
{
	struct policy_option command = {"command", NULL};
	struct policy_cfg with_command = *cfg;

	if (!exec_policy_is(spec))
		return engine_create(ret, spec, cfg, err);
	if (exec_policy_check(spec, err))
		return -EINVAL;
	command.value = spec + strlen(PREFIX);
	with_command.option = &command;
	with_command.n_options = 1;
	return engine_create_with(ret, &policy_exec, &with_command, err);
}
