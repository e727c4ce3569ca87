/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/args.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "spank/opts.h"

/* A step that waits a minute for a service that may be gone is an outage. */
#define TIMEOUT_MS_MAX 60000

void args_init(struct args *a)
{
	*a = (struct args){.socket = "/run/coloc/colocd.sock", .timeout_ms = 250};
}

static int number(const char *text, unsigned long max, unsigned long *ret)
{
	char *end;

	errno = 0;
	*ret = strtoul(text, &end, 10);
	return errno || !isdigit((unsigned char)*text) || *end || *ret > max ? -EINVAL : 0;
}

static int set_default(struct args *a, const char *value)
{
	return opts_bool(value, &a->default_on);
}

static int set_socket(struct args *a, const char *value)
{
	if (value[0] != '/' || strlen(value) >= sizeof(a->socket))
		return -EINVAL;
	memcpy(a->socket, value, strlen(value) + 1);
	return 0;
}

static int set_timeout_ms(struct args *a, const char *value)
{
	unsigned long v;

	if (number(value, TIMEOUT_MS_MAX, &v) < 0 || v == 0)
		return -EINVAL;
	a->timeout_ms = (int)v;
	return 0;
}

static int set_minimum_uid(struct args *a, const char *value)
{
	unsigned long v;

	if (number(value, (uid_t)-2, &v) < 0)
		return -EINVAL;
	a->minimum_uid = (uid_t)v;
	return 0;
}

static const struct {
	const char *key;
	int (*set)(struct args *a, const char *value);
	const char *wants;
} keys[] = {
	{"default", set_default, "on or off"},
	{"socket", set_socket, "an absolute path of at most 107 characters"},
	{"timeout_ms", set_timeout_ms, "a number from 1 to 60000"},
	{"minimum_uid", set_minimum_uid, "a user id"},
};

int args_set(struct args *a, const char *arg, struct errbuf *err)
{
	size_t len = strcspn(arg, "=");

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strlen(keys[i].key) != len || strncmp(arg, keys[i].key, len) != 0)
			continue;
		if (!arg[len] || keys[i].set(a, arg + len + 1) < 0)
			return err_set(err, -EINVAL, "'%.120s': %s takes %s", arg, keys[i].key,
				keys[i].wants);
		return 0;
	}
	return err_set(err, -EINVAL,
		"unknown key '%.*s' (known: default, socket, timeout_ms, minimum_uid)",
		(int)(len > 60 ? 60 : len), arg);
}
