/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * registration.h - what a step_start says: every field is checked here, and the site's lists of who
 * may come. It places nothing and answers nothing.
 */
#ifndef COLOC_STEPS_REGISTRATION_H
#define COLOC_STEPS_REGISTRATION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/msg.h"
#include "nodesvc/conf/conf.h"
#include "nodesvc/steps/jobs.h"

struct step_key {
	uint32_t job_id, step_id, nodeid;
};

/* Of any message about a step. */
int registration_key(const struct msg *m, struct step_key *ret, struct errbuf *err);
/* NULL: no such step. */
struct step *registration_step(struct jobs *j, const struct step_key *k);
/* -EINVAL, -ERANGE: the field is named. */
int registration_read(const struct msg *m, struct step *s, struct errbuf *err);
/* Keeps it for a colocd that comes after this one: all but what only a launch needs. */
void registration_keep(struct step *s, const struct msg *m);

/* -EPERM: not in the configuration's lists; of a job, after slurmctld said whose it is. */
int registration_check_user(const struct conf *c, const struct step *s, struct errbuf *err);
int registration_check_job(const struct conf *c, const struct step *s, struct errbuf *err);
/* Do its lists go by what slurmctld says of a job? */
bool registration_goes_by_job(const struct conf *c);

#endif
