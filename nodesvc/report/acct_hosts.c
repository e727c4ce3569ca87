/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/report/acct.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX     4096
#define NODE_NAME_MAX 256

struct expansion {
	int (*add)(const char *name, void *arg);
	void *arg;
	int n;
	const char *text; /* as given: for messages */
	struct errbuf *err;
};

static int bad(const struct expansion *x, const char *what)
{
	return err_set(x->err, -EINVAL, "'%s' is no node list: %s", x->text, what);
}

static int add_name(struct expansion *x, const char *name)
{
	if (++x->n > NAMES_MAX)
		return err_set(x->err, -E2BIG, "'%s' names more than %d nodes", x->text, NAMES_MAX);
	return x->add(name, x->arg);
}

static int expand(struct expansion *x, const char *prefix, const char *rest);

/* One "1-3" or "07" of a bracket, before @rest: every number with as many digits as its first. */
static int expand_range(
	struct expansion *x, const char *prefix, const char *range, size_t len, const char *rest)
{
	size_t digits = strspn(range, "0123456789");
	unsigned long from = strtoul(range, NULL, 10), to = from;
	const char *p = range + digits;

	if (digits == 0 || digits > 9)
		return bad(x, "a number is missing");
	if (p < range + len && *p == '-') {
		size_t n = strspn(++p, "0123456789");

		if (n == 0 || n > 9)
			return bad(x, "a number is missing");
		to = strtoul(p, NULL, 10);
		p += n;
	}
	if (p != range + len || to < from)
		return bad(x, "a range must be FROM-TO");
	for (unsigned long i = from; i <= to; i++) {
		char name[NODE_NAME_MAX];
		int rc;

		if (snprintf(name, sizeof(name), "%s%0*lu", prefix, (int)digits, i) >=
			(int)sizeof(name))
			return bad(x, "a name is too long");
		rc = expand(x, name, rest);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* @prefix is written out, @rest may hold brackets. */
static int expand(struct expansion *x, const char *prefix, const char *rest)
{
	const char *open = strchr(rest, '['), *close;
	char name[NODE_NAME_MAX];
	int plain = open ? (int)(open - rest) : (int)strlen(rest);

	if (snprintf(name, sizeof(name), "%s%.*s", prefix, plain, rest) >= (int)sizeof(name))
		return bad(x, "a name is too long");
	if (memchr(rest, ']', (size_t)plain))
		return bad(x, "a ']' too many");
	if (!open)
		return *name ? add_name(x, name) : bad(x, "a name is missing");
	close = strchr(open, ']');
	if (!close)
		return bad(x, "a ']' is missing");
	for (const char *p = open + 1; p <= close;) {
		size_t len = strcspn(p, ",]");
		int rc = expand_range(x, name, p, len, close + 1);

		if (rc < 0)
			return rc;
		p += len + 1;
	}
	return 0;
}

int acct_hosts_expand(
	const char *text, int (*add)(const char *name, void *arg), void *arg, struct errbuf *err)
{
	struct expansion x = {.add = add, .arg = arg, .text = text, .err = err};
	const char *p = text;

	/* At commas outside of brackets. */
	for (;;) {
		char part[1024];
		size_t len = 0;
		int depth = 0, rc;

		while (p[len] && (depth || p[len] != ',')) {
			depth += p[len] == '[' ? 1 : p[len] == ']' ? -1 : 0;
			len++;
		}
		if (len >= sizeof(part))
			return bad(&x, "a part is too long");
		memcpy(part, p, len);
		part[len] = '\0';
		rc = expand(&x, "", part);
		if (rc < 0)
			return rc;
		if (!p[len])
			return 0;
		p += len + 1;
	}
}
