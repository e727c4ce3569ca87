/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_id.h - a step's name as Slurm's commands print it: "12.0", "12.batch", "7_3.0".
 */
#ifndef COLOC_RECORD_STEP_ID_H
#define COLOC_RECORD_STEP_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define STEP_ID_INTERACTIVE UINT32_C(0xfffffffa)
#define STEP_ID_BATCH       UINT32_C(0xfffffffb)
#define STEP_ID_EXTERN      UINT32_C(0xfffffffc)
#define STEP_ID_ALL         UINT32_C(0xffffffff) /* not a step: the whole job was meant */
#define ARRAY_TASK_NONE     UINT32_C(0xfffffffe)

#define STEP_ID_STR_MAX 48

/* What a user asks for: JOB, JOB.STEP, JOB_TASK or JOB_TASK.STEP. */
struct step_term {
	uint32_t job_id;
	uint32_t array_task_id; /* ARRAY_TASK_NONE: any */
	uint32_t step_id;       /* STEP_ID_ALL: any */
};

/* -EINVAL with the text quoted; @ret untouched. */
int step_term_parse(const char *text, struct step_term *ret, struct errbuf *err);

/* Does a step (array_job 0, array_task ARRAY_TASK_NONE: no array) fall under the term? */
bool step_term_matches(const struct step_term *t, uint32_t job_id, uint32_t step_id,
	uint32_t array_job, uint32_t array_task);

/* "12.0", "12.batch", or in an array "7_3.0"; STEP_ID_ALL: without step. Returns @buf. */
char *step_id_format(uint32_t job_id, uint32_t step_id, uint32_t array_job, uint32_t array_task,
	char *buf, size_t size);

#endif
