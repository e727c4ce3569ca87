/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/engine/internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 2, 3))) static void put(struct explain *x, const char *fmt, ...)
{
	size_t room = PLAN_EXPLAIN_MAX - x->len;
	va_list ap;
	int n;

	if (x->full)
		return;
	va_start(ap, fmt);
	n = vsnprintf(x->plan->explain + x->len, room, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= room)
		x->full = true;
	else
		x->len += (size_t)n;
}

/* Job ids and types are the user's: quote what JSON wants quoted. */
static void put_string(struct explain *x, const char *s)
{
	put(x, "\"");
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			put(x, "\\%c", c);
		else if (c < 0x20)
			put(x, "\\u%04x", c);
		else
			put(x, "%c", c);
	}
	put(x, "\"");
}

static void put_key(struct explain *x, const char *key)
{
	if (!x->first)
		put(x, ", ");
	x->first = false;
	put_string(x, key);
	put(x, ": ");
}

void explain_open(struct explain *x, struct plan *p)
{
	*x = (struct explain){.plan = p->want_explain ? p : NULL, .first = true};
	if (x->plan)
		put(x, "{");
}

void explain_close(struct explain *x)
{
	if (!x->plan)
		return;
	put(x, "}");
	if (x->full)
		snprintf(x->plan->explain, PLAN_EXPLAIN_MAX, "{\"truncated\": true}");
}

void explain_object(struct explain *x, const char *key)
{
	if (!x->plan)
		return;
	put_key(x, key);
	put(x, "{");
	x->first = true;
}

void explain_end(struct explain *x)
{
	if (!x->plan)
		return;
	put(x, "}");
	x->first = false;
}

void explain_number(struct explain *x, const char *key, double value)
{
	if (!x->plan)
		return;
	put_key(x, key);
	if (isfinite(value))
		put(x, "%.12g", value);
	else
		put(x, "null");
}

void explain_text(struct explain *x, const char *key, const char *value)
{
	if (!x->plan)
		return;
	put_key(x, key);
	put_string(x, value);
}

void explain_bool(struct explain *x, const char *key, bool value)
{
	if (!x->plan)
		return;
	put_key(x, key);
	put(x, value ? "true" : "false");
}

void plan_why(struct plan *p, int job, const char *fmt, ...)
{
	va_list ap;

	if (!p->want_explain)
		return;
	va_start(ap, fmt);
	vsnprintf(p->job[job].why, PLAN_WHY_MAX, fmt, ap);
	va_end(ap);
}
