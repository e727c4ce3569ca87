/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/levers/idlepoll.h"

#include <stdio.h>

#include "nodesvc/actuate/wakeup.h"
#include "nodesvc/base/health.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/log.h"

int idlepoll_clear(struct daemon *d)
{
	struct errbuf err;
	int rc = wakeup_restore(&d->node.root, d->ledger, &err);

	d->idlepoll.on = false;
	if (rc >= 0)
		return 0;
	log_error("idle CPUs: %s", err.text);
	owed_note(d, err.text);
	health_error("idle CPUs: %.200s", err.text);
	return rc;
}

void idlepoll_open(struct daemon *d)
{
	struct idlepoll *p = &d->idlepoll;
	struct errbuf err;
	bool by_itself = false;
	int rc = wakeup_restore(&d->node.root, d->ledger, &err);

	if (rc < 0)
		owed_note(d, err.text);
	if (rc < 0)
		log_error("idle CPUs, as a former colocd left them: %s", err.text);
	else if (rc > 0)
		log_info("idle CPUs wait as before a former colocd");
	*p = (struct idlepoll){.can = wakeup_probe(&d->node.root, &by_itself, &err) == 0};
	p->by_itself = by_itself;
	if (!p->can)
		snprintf(p->why_not, sizeof(p->why_not), "%.159s", err.text);
}

void idlepoll_close(struct daemon *d)
{
	if (d->ledger)
		idlepoll_clear(d);
}

bool idlepoll_is_on(const struct daemon *d)
{
	const struct idlepoll *p = &d->idlepoll;

	return p->can && !p->failed && (p->by_itself || d->conf.launch_env.idle == IDLE_POLL);
}

static bool is_wanted(const struct daemon *d)
{
	if (!idlepoll_is_on(d) || d->idlepoll.by_itself || d->conf.dry_run)
		return false;
	for (int i = 0; i < d->jobs.n; i++) {
		const struct step *s = d->jobs.step[i];

		if (s->short_spins && s->status == STATUS_PLACED && s->located && !s->dry_run)
			return true;
	}
	return false;
}

void idlepoll_update(struct daemon *d)
{
	struct idlepoll *p = &d->idlepoll;
	struct errbuf err;

	if (is_wanted(d) == p->on)
		return;
	if (p->on) {
		idlepoll_clear(d);
		return;
	}
	p->on = true;
	if (wakeup_poll(&d->node.root, d->ledger, &err) == 0)
		return;
	/* Steps run as well with what their CPUs do by themselves, but for some per cent. */
	p->failed = true;
	snprintf(p->why_not, sizeof(p->why_not), "%.159s", err.text);
	log_error("idle CPUs do not poll: %s", p->why_not);
	idlepoll_clear(d);
	health_error("idle CPUs: %.200s", p->why_not);
}

const char *idlepoll_says(const struct daemon *d, char *buf, size_t size)
{
	const struct idlepoll *p = &d->idlepoll;

	if (!p->can || p->failed)
		snprintf(buf, size, "as the kernel has them: %s", p->why_not);
	else if (p->by_itself)
		return "poll before they halt, by the kernel's own setting";
	else if (d->conf.launch_env.idle == IDLE_LEAVE)
		return "halt, as launch_env.idle says";
	else
		return p->on ? "poll before they halt, for OpenMP steps"
			     : "halt; they poll before while OpenMP steps are placed";
	return buf;
}
