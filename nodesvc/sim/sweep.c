/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/sim/sweep.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int bad(struct errbuf *err, const struct sweep_key *k, const char *value, const char *why)
{
	return err_set(err, -EINVAL, "%s: '%.60s': %s", k->name, value, why);
}

static int add_value(struct sweep_key *k, const char *text, size_t len, struct errbuf *err)
{
	char(*more)[SWEEP_VALUE_MAX];

	if (len == 0 || len >= SWEEP_VALUE_MAX)
		return bad(err, k, text, "a value expected");
	if (k->n == SWEEP_VALUES_MAX)
		return err_set(err, -E2BIG, "%s: more than %d values", k->name, SWEEP_VALUES_MAX);
	for (int i = 0; i < k->n; i++)
		if (strlen(k->value[i]) == len && memcmp(k->value[i], text, len) == 0)
			return bad(err, k, k->value[i], "there already");
	more = realloc(k->value, (size_t)(k->n + 1) * sizeof(*more));
	if (!more)
		return err_set(err, -ENOMEM, "out of memory");
	k->value = more;
	memcpy(more[k->n], text, len);
	more[k->n++][len] = '\0';
	return 0;
}

/* "FROM:TO:STEP" in numbers? */
static bool is_range(const char *text, double *ret)
{
	for (int i = 0; i < 3; i++) {
		char *end;

		ret[i] = strtod(text, &end);
		if (end == text || *end != (i < 2 ? ':' : '\0') || !isfinite(ret[i]))
			return false;
		text = end + 1;
	}
	return true;
}

static int add_range(struct sweep_key *k, const char *text, const double *r, struct errbuf *err)
{
	double steps = (r[1] - r[0]) / r[2];
	int n = 0, rc = 0;

	if (!(r[2] > 0) || !(r[1] >= r[0]))
		return bad(err, k, text, "FROM:TO:STEP, upwards, expected");
	/* 0:1:0.1 ends at 1, though ten steps of 0.1 are not quite that. */
	if (steps >= SWEEP_VALUES_MAX)
		return err_set(err, -E2BIG, "%s: '%.60s': more than %d values", k->name, text,
			SWEEP_VALUES_MAX);
	for (n = (int)floor(steps + 1e-9) + 1; k->n < n && !rc;) {
		char value[32];

		snprintf(value, sizeof(value), "%.12g", r[0] + k->n * r[2]);
		rc = add_value(k, value, strlen(value), err);
	}
	return rc;
}

int sweep_add(struct sweep *s, const char *text, struct errbuf *err)
{
	const char *equals = strchr(text, '=');
	size_t len = equals ? (size_t)(equals - text) : 0;
	struct sweep_key k = {.n = 0};
	double range[3];
	int rc = 0;

	if (len == 0 || len >= sizeof(k.name))
		return err_set(err, -EINVAL, "'%.60s': KEY=VALUE,... expected", text);
	memcpy(k.name, text, len);
	for (int i = 0; i < s->n; i++)
		if (strcmp(s->key[i].name, k.name) == 0)
			return err_set(err, -EINVAL, "%s: twice", k.name);
	if (s->n == SWEEP_KEYS_MAX)
		return err_set(err, -E2BIG, "%s: more than %d keys", k.name, SWEEP_KEYS_MAX);
	text = equals + 1;
	if (is_range(text, range)) {
		rc = add_range(&k, text, range, err);
	} else {
		for (;; text += len + 1) {
			len = strcspn(text, ",");
			rc = add_value(&k, text, len, err);
			if (rc || !text[len])
				break;
		}
	}
	if (!rc && (long)sweep_points(s) * k.n > SWEEP_POINTS_MAX)
		rc = err_set(
			err, -E2BIG, "%s: more than %d points in all", k.name, SWEEP_POINTS_MAX);
	if (rc)
		free(k.value);
	else
		s->key[s->n++] = k;
	return rc;
}

void sweep_done(struct sweep *s)
{
	for (int i = 0; i < s->n; i++)
		free(s->key[i].value);
	s->n = 0;
}

int sweep_points(const struct sweep *s)
{
	int n = 1;

	for (int i = 0; i < s->n; i++)
		n *= s->key[i].n;
	return n;
}

const char *sweep_value(const struct sweep *s, int point, int key)
{
	for (int i = s->n - 1; i > key; i--)
		point /= s->key[i].n;
	return s->key[key].value[point % s->key[key].n];
}
