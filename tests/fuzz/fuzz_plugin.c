/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the plugin reads inside Slurm's processes: its line in plugstack.conf, srun's options, the
 * user's environment, the daemon's answer. Lines: "aTEXT" an argument, "0TEXT" to "8TEXT" an
 * option, "eNAME=VALUE" the environment, "rKEY=VALUE" the answer, "lNAME=VALUE"
 * what the answer to a task renews. Refusals change nothing; what
 * the user set himself stays.
 */
#include <errno.h>

#include "spank/args.h"
#include "spank/launch.h"
#include "spank/opts.h"
#include "tests/fuzz/fuzz.h"

#define VARS 32
struct env {
	char *var[VARS]; /* "NAME=VALUE" */
	int n;
};

static char **find(struct env *e, const char *name)
{
	size_t len = strlen(name);

	for (int i = 0; i < e->n; i++)
		if (strncmp(e->var[i], name, len) == 0 && e->var[i][len] == '=')
			return &e->var[i];
	return NULL;
}

static int env_get(void *env, const char *name, char *buf, int size)
{
	char **v = find(env, name);

	if (!v)
		return -ENOENT;
	return snprintf(buf, (size_t)size, "%s", *v + strlen(name) + 1) < size ? 0 : -ENOSPC;
}

static int env_unset(void *env, const char *name)
{
	struct env *e = env;
	char **v = find(e, name);

	if (v) {
		free(*v);
		*v = e->var[--e->n];
	}
	return 0;
}

static int env_set(void *env, const char *name, const char *value)
{
	struct env *e = env;
	char *text = NULL;

	FUZZ_ASSERT(*name && !strchr(name, '='));
	env_unset(env, name);
	if (e->n == VARS)
		return -ENOSPC;
	FUZZ_ASSERT(asprintf(&text, "%s=%s", name, value) >= 0);
	e->var[e->n++] = text;
	return 0;
}

static void take_option(struct opts *o, char digit, const char *text)
{
	struct opts before = *o;
	struct errbuf err = {""};
	int rc = opts_set(o, (enum opt_id)(digit - '0'), text, &err);

	FUZZ_ASSERT_RESULT(rc, err);
	if (rc < 0)
		FUZZ_ASSERT(fuzz_same(o, &before, sizeof(*o)));
}

static void take_argument(struct args *a, const char *text)
{
	struct args before = *a;
	struct errbuf err = {""};
	int rc = args_set(a, text, &err);

	FUZZ_ASSERT_RESULT(rc, err);
	if (rc < 0)
		FUZZ_ASSERT(fuzz_same(a, &before, sizeof(*a)));
	FUZZ_ASSERT(a->timeout_ms > 0 && a->timeout_ms <= 60000 && a->socket[0] == '/');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct opts line, none;
	static struct msg reply, report, late;
	struct launch_io io = {.get = env_get, .set = env_set, .unset = env_unset};
	char *text = fuzz_text(data, size), *save = NULL;
	struct env env = {.n = 0};
	struct args a;
	int n = 0;

	io.env = &env;
	memset(&line, 0, sizeof(line));
	args_init(&a);
	msg_init(&reply, "step_ok");
	msg_init(&late, "task_ok");
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		char *eq = strchr(l, '=');

		if (*l == 'a') {
			take_argument(&a, l + 1);
		} else if (*l >= '0' && *l < '0' + OPT_COUNT) {
			take_option(&line, *l, l + 1);
		} else if (*l == 'e' && eq && eq > l + 1) {
			*eq = '\0';
			env_set(&env, l + 1, eq + 1);
		} else if (*l == 'r' && eq) {
			*eq = '\0';
			msg_put(&reply, l + 1, eq + 1);
		} else if (*l == 'l') {
			msg_put(&late, "env", l + 1);
		}
	}
	for (int id = 0; id < OPT_COUNT; id++)
		n += opts_get(&line, &none, (enum opt_id)id) != NULL;
	FUZZ_ASSERT(opts_on(&line, &none, false) <= (n > 0));
	FUZZ_ASSERT(opts_verbose(&line, &none) >= 0);
	msg_init(&report, "step_start");
	launch_report(&io, &report);
	FUZZ_ASSERT(msg_check(&report, NULL) == 0);
	if (!reply.overflow && msg_check(&reply, NULL) == 0)
		launch_apply(&io, &reply);
	for (const char *v = msg_get(&late, "env"); v; v = msg_get_next(&late, "env", v))
		launch_renew(&io, v);
	launch_apply(&io, NULL); /* and out again */
	while (env.n)
		free(env.var[--env.n]);
	free(text);
	return 0;
}
