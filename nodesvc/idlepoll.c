/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/idlepoll.h"

#include <errno.h>
#include <stdio.h>

#include "nodesvc/actuate/wakeup.h"
#include "nodesvc/daemon.h"
#include "nodesvc/log.h"

int idlepoll_clear(struct daemon *d)
{
	struct errbuf err;
	int rc = wakeup_restore(&d->root, d->ledger, NULL, &err);

	coreset_zero(&d->idlepoll.cpus);
	if (rc >= 0)
		return 0;
	log_error("idle CPUs: %s", err.text);
	snprintf(d->last_error, sizeof(d->last_error), "idle CPUs: %.200s", err.text);
	return rc;
}

void idlepoll_open(struct daemon *d)
{
	struct idlepoll *p = &d->idlepoll;
	struct errbuf err;
	int rc = wakeup_restore(&d->root, d->ledger, NULL, &err);

	if (rc < 0)
		log_error("idle CPUs of a former colocd: %s", err.text);
	else if (rc > 0)
		log_info("%d CPUs that a former colocd let poll are as they were", rc);
	coreset_zero(&p->cpus);
	p->failed = false;
	p->can = wakeup_probe(&d->root, &p->guest, &err) == 0;
	if (p->can)
		return;
	snprintf(p->why_not, sizeof(p->why_not), "%.159s", err.text);
	if (d->conf.launch_env.idle == IDLE_POLL)
		log_warning("launch_env.idle: poll: %s", p->why_not);
}

void idlepoll_close(struct daemon *d)
{
	if (d->ledger)
		idlepoll_clear(d);
}

bool idlepoll_is_on(const struct daemon *d)
{
	const struct idlepoll *p = &d->idlepoll;

	return p->can && !p->failed &&
	       (d->conf.launch_env.idle == IDLE_POLL ||
		       (d->conf.launch_env.idle == IDLE_AUTO && p->guest));
}

static void find_wanted(const struct daemon *d, struct coreset *ret)
{
	coreset_zero(ret);
	if (!idlepoll_is_on(d))
		return;
	for (int i = 0; i < d->jobs.n; i++) {
		const struct step *s = d->jobs.step[i];

		if (s->short_spins && s->status == STATUS_PLACED && s->located && !s->dry_run &&
			!d->conf.dry_run)
			coreset_or(ret, ret, &s->coreset);
	}
}

void idlepoll_update(struct daemon *d)
{
	struct idlepoll *p = &d->idlepoll;
	struct coreset wanted, more, less;
	struct errbuf err;
	int rc = 0;

	find_wanted(d, &wanted);
	if (coreset_is_equal(&wanted, &p->cpus))
		return;
	coreset_andnot(&more, &wanted, &p->cpus);
	coreset_andnot(&less, &p->cpus, &wanted);
	p->cpus = wanted;
	if (!coreset_is_empty(&less))
		rc = wakeup_restore(&d->root, d->ledger, &less, &err);
	if (rc >= 0 && !coreset_is_empty(&more))
		rc = wakeup_poll(&d->root, d->ledger, &more, &err);
	if (rc >= 0)
		return;
	/* Steps run as well with what their CPUs do by themselves, but for some per cent. */
	p->failed = true;
	snprintf(p->why_not, sizeof(p->why_not), "%.159s", err.text);
	log_error("idle CPUs do not poll: %s", p->why_not);
	idlepoll_clear(d);
	snprintf(d->last_error, sizeof(d->last_error), "idle CPUs: %.200s", p->why_not);
}

const char *idlepoll_says(const struct daemon *d, char *buf, size_t size)
{
	const struct idlepoll *p = &d->idlepoll;
	char cpus[CORESET_STR_MAX];

	if (d->conf.launch_env.idle == IDLE_LEAVE)
		return "as the kernel has them";
	if (!p->can || p->failed)
		snprintf(buf, size, "as the kernel has them: %s", p->why_not);
	else if (!idlepoll_is_on(d))
		return "as the kernel has them: no virtual machine";
	else if (coreset_is_empty(&p->cpus))
		return "poll under OpenMP steps, of which there are none";
	else
		snprintf(buf, size, "%s poll", coreset_format(&p->cpus, cpus, sizeof(cpus)));
	return buf;
}
