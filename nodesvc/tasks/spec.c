/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/tasks/spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int choice(const char *key, const char *value, const char *no, const char *yes, bool *ret,
	struct errbuf *err)
{
	if (strcmp(value, no) != 0 && strcmp(value, yes) != 0)
		return err_set(err, -EINVAL, "%s=%s: %s or %s expected", key, value, no, yes);
	*ret = strcmp(value, yes) == 0;
	return 0;
}

static int read_fast(struct tasks_spec *s, const char *value, struct errbuf *err)
{
	s->all_fast = strcmp(value, "all") == 0;
	if (!s->all_fast && (!*value || coreset_parse(&s->fast, value, NULL)))
		return err_set(err, -EINVAL, "fast=%s: all, or CPUs like 0,2-3 expected", value);
	return 0;
}

static int read_seed(struct tasks_spec *s, const char *value, struct errbuf *err)
{
	char *end;

	errno = 0;
	s->seed = strtoull(value, &end, 10);
	if (errno || end == value || *end || *value == '-')
		return err_set(err, -EINVAL, "seed=%s: a whole number expected", value);
	return 0;
}

/* 1: a key of the engine's. */
static int read_key(struct tasks_spec *s, const char *key, const char *value, struct errbuf *err)
{
	if (strcmp(key, "at") == 0)
		return choice(key, value, "dequeue", "wakeup", &s->at_wakeup, err);
	if (strcmp(key, "time") == 0)
		return choice(key, value, "task", "leader", &s->leader_time, err);
	if (strcmp(key, "fast") == 0)
		return read_fast(s, value, err);
	if (strcmp(key, "seed") == 0)
		return read_seed(s, value, err);
	return 1;
}

/* The comma after @at: the next one that a key follows, as a list of CPUs has commas, too. */
static char *end_of(char *at)
{
	for (char *comma = strchr(at, ','); comma; comma = strchr(comma + 1, ','))
		if (strcspn(comma + 1, "=") < strcspn(comma + 1, ","))
			return comma;
	return at + strlen(at);
}

int spec_parse(struct tasks_spec *ret, const char *text, struct errbuf *err)
{
	char copy[SPEC_TEXT_MAX], *at = copy;
	struct tasks_spec s = {.seed = 1};

	if (strlen(text) >= sizeof(copy))
		return err_set(err, -EINVAL, "policy: %zu characters: at most %d", strlen(text),
			SPEC_TEXT_MAX - 1);
	strcpy(copy, text);
	while (*at) {
		char *end = end_of(at), *value, *next = *end ? end + 1 : end;
		int rc = 1;

		*end = '\0';
		value = strchr(at, '=');
		if (value && at != copy) {
			*value = '\0';
			rc = read_key(&s, at, value + 1, err);
			*value = '=';
		}
		if (rc < 0)
			return rc;
		if (rc > 0) {
			if (at != copy)
				strcat(s.policy, ",");
			strcat(s.policy, at);
		}
		at = next;
	}
	*ret = s;
	return 0;
}
