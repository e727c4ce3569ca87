/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/engine/internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int read_bool(const char *text, bool *ret)
{
	static const char *const yes[] = {"yes", "1", "true", "on"};
	static const char *const no[] = {"no", "0", "false", "off"};

	for (int i = 0; i < 4; i++)
		if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
			*ret = strcmp(text, yes[i]) == 0;
			return 0;
		}
	return -EINVAL;
}

static int read_choice(const char *text, const char *choice, int *ret)
{
	size_t len = strlen(text);

	for (int i = 0; choice; i++) {
		const char *bar = strchr(choice, '|');
		size_t n = bar ? (size_t)(bar - choice) : strlen(choice);

		if (n == len && memcmp(text, choice, n) == 0) {
			*ret = i;
			return 0;
		}
		choice = bar ? bar + 1 : NULL;
	}
	return -EINVAL;
}

static int read_number(const char *text, const struct option_spec *s, double *ret)
{
	char *end;
	double x = strtod(text, &end);

	if (end == text || *end || !isfinite(x) || x < s->min || x > s->max)
		return -EINVAL;
	if (s->type == OPTION_INT && x != floor(x))
		return -EINVAL;
	*ret = x;
	return 0;
}

static int read_one(const char *policy, const struct option_spec *s, const char *value, void *at,
	struct errbuf *err)
{
	double x;

	switch (s->type) {
	case OPTION_BOOL:
		if (read_bool(value, at) == 0)
			return 0;
		return err_set(err, -EINVAL, "policy '%s': option %s=%.40s: yes or no expected",
			policy, s->key, value);
	case OPTION_CHOICE:
		if (read_choice(value, s->choice, at) == 0)
			return 0;
		return err_set(err, -EINVAL, "policy '%s': option %s=%.40s: one of %s expected",
			policy, s->key, value, s->choice);
	default:
		if (read_number(value, s, &x))
			return err_set(err, -EINVAL,
				"policy '%s': option %s=%.40s: %s from %g to %g expected", policy,
				s->key, value, s->type == OPTION_INT ? "whole number" : "number",
				s->min, s->max);
		if (s->type == OPTION_INT)
			*(int *)at = (int)x;
		else
			*(double *)at = x;
		return 0;
	}
}

int option_read(const struct policy_cfg *cfg, const char *policy, const struct option_spec *spec,
	void *ret, struct errbuf *err)
{
	for (int i = 0; i < cfg->n_options; i++) {
		const struct policy_option *o = &cfg->option[i];
		const struct option_spec *s = spec;
		int rc;

		while (s && s->key && strcmp(s->key, o->key) != 0)
			s++;
		if (!s || !s->key)
			return err_set(err, -EINVAL, "policy '%s': unknown option '%.40s=%.40s'",
				policy, o->key, o->value);
		rc = read_one(policy, s, o->value, (char *)ret + s->offset, err);
		if (rc)
			return rc;
	}
	return 0;
}
