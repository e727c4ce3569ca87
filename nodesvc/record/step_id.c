/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/record/record.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	uint32_t id;
	const char *name;
} SPECIAL[] = {
	{STEP_ID_BATCH, "batch"},
	{STEP_ID_EXTERN, "extern"},
	{STEP_ID_INTERACTIVE, "interactive"},
};
#define N_SPECIAL (int)(sizeof(SPECIAL) / sizeof(SPECIAL[0]))

/* A decimal number; moves *@p behind it. */
static bool parse_number(const char **p, uint32_t *ret)
{
	unsigned long long value;
	char *end;

	if (!isdigit((unsigned char)**p))
		return false;
	errno = 0;
	value = strtoull(*p, &end, 10);
	if (errno || value >= STEP_ID_INTERACTIVE)
		return false;
	*ret = (uint32_t)value;
	*p = end;
	return true;
}

static bool parse_step(const char *p, uint32_t *ret)
{
	for (int i = 0; i < N_SPECIAL; i++) {
		if (strcmp(p, SPECIAL[i].name) == 0) {
			*ret = SPECIAL[i].id;
			return true;
		}
	}
	return parse_number(&p, ret) && *p == '\0';
}

int step_term_parse(const char *text, struct step_term *ret, struct errbuf *err)
{
	struct step_term t = {.array_task_id = ARRAY_TASK_NONE, .step_id = STEP_ID_ALL};
	const char *p = text;
	bool good = parse_number(&p, &t.job_id) && t.job_id > 0;

	if (good && *p == '_') {
		p++;
		good = parse_number(&p, &t.array_task_id);
	}
	if (good && *p == '.')
		good = parse_step(p + 1, &t.step_id);
	else if (*p)
		good = false;
	if (!good)
		return err_set(err, -EINVAL,
			"'%s' is no job or step (JOB, JOB.STEP, ARRAYJOB_TASK[.STEP])", text);
	*ret = t;
	return 0;
}

bool step_term_matches(const struct step_term *t, uint32_t job_id, uint32_t step_id,
	uint32_t array_job, uint32_t array_task)
{
	if (t->step_id != STEP_ID_ALL && t->step_id != step_id)
		return false;
	if (t->array_task_id != ARRAY_TASK_NONE)
		return array_job == t->job_id && array_task == t->array_task_id;
	return job_id == t->job_id || (array_job && array_job == t->job_id);
}

char *step_id_format(uint32_t job_id, uint32_t step_id, uint32_t array_job, uint32_t array_task,
	char *buf, size_t size)
{
	char job[24];

	if (array_job && array_task != ARRAY_TASK_NONE)
		snprintf(job, sizeof(job), "%u_%u", array_job, array_task);
	else
		snprintf(job, sizeof(job), "%u", job_id);
	if (step_id == STEP_ID_ALL) {
		snprintf(buf, size, "%s", job);
		return buf;
	}
	for (int i = 0; i < N_SPECIAL; i++) {
		if (step_id == SPECIAL[i].id) {
			snprintf(buf, size, "%s.%s", job, SPECIAL[i].name);
			return buf;
		}
	}
	snprintf(buf, size, "%s.%u", job, step_id);
	return buf;
}
