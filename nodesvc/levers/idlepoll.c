/* SPDX-License-Identifier: GPL-2.0-or-later */

#include <stdio.h>

#include "nodesvc/actuate/actuate.h"
#include "nodesvc/levers/internal.h"
#include "nodesvc/base/log.h"

int idlepoll_clear(struct levers *lv)
{
	struct errbuf err;
	int rc = wakeup_restore(&lv->node->root, lv->ledger, &err);

	lv->idlepoll.on = false;
	if (rc >= 0)
		return 0;
	log_error("idle CPUs: %s", err.text);
	owed_note(lv, err.text);
	health_error("idle CPUs: %.200s", err.text);
	return rc;
}

void idlepoll_open(struct levers *lv)
{
	struct idlepoll *p = &lv->idlepoll;
	struct errbuf err;
	bool by_itself = false;
	int rc = wakeup_restore(&lv->node->root, lv->ledger, &err);

	if (rc < 0)
		owed_note(lv, err.text);
	if (rc < 0)
		log_error("idle CPUs, as a former colocd left them: %s", err.text);
	else if (rc > 0)
		log_info("idle CPUs wait as before a former colocd");
	*p = (struct idlepoll){.can = wakeup_probe(&lv->node->root, &by_itself, &err) == 0};
	p->by_itself = by_itself;
	if (!p->can)
		snprintf(p->why_not, sizeof(p->why_not), "%.159s", err.text);
}

void idlepoll_close(struct levers *lv)
{
	if (lv->ledger)
		idlepoll_clear(lv);
}

bool idlepoll_is_on(const struct levers *lv)
{
	const struct idlepoll *p = &lv->idlepoll;

	return p->can && !p->failed && (p->by_itself || lv->conf->launch_env.idle == IDLE_POLL);
}

static bool is_wanted(const struct levers *lv)
{
	if (!idlepoll_is_on(lv) || lv->idlepoll.by_itself || lv->conf->dry_run)
		return false;
	for (int i = 0; i < lv->jobs->n; i++) {
		const struct step *s = lv->jobs->step[i];

		if (s->short_spins && s->status == STATUS_PLACED && s->located && !s->dry_run)
			return true;
	}
	return false;
}

void idlepoll_update(struct levers *lv)
{
	struct idlepoll *p = &lv->idlepoll;
	struct errbuf err;

	if (is_wanted(lv) == p->on)
		return;
	if (p->on) {
		idlepoll_clear(lv);
		return;
	}
	p->on = true;
	if (wakeup_poll(&lv->node->root, lv->ledger, &err) == 0)
		return;
	/* Steps run as well with what their CPUs do by themselves, but for some per cent. */
	p->failed = true;
	snprintf(p->why_not, sizeof(p->why_not), "%.159s", err.text);
	log_error("idle CPUs do not poll: %s", p->why_not);
	idlepoll_clear(lv);
	health_error("idle CPUs: %.200s", p->why_not);
}

void idlepoll_tick(struct levers *lv, int64_t now_ns)
{
	(void)now_ns;
	idlepoll_update(lv);
}

bool idlepoll_holds(const struct levers *lv, const char *path)
{
	(void)path;
	return lv->idlepoll.on;
}

int idlepoll_restore_path(struct levers *lv, const char *path, struct errbuf *err)
{
	int rc = wakeup_restore(&lv->node->root, lv->ledger, err);

	(void)path;
	return rc < 0 ? rc : 0;
}

const char *idlepoll_says(const struct levers *lv, char *buf, size_t size)
{
	const struct idlepoll *p = &lv->idlepoll;

	if (!p->can || p->failed)
		snprintf(buf, size, "as the kernel has them: %s", p->why_not);
	else if (p->by_itself)
		return "poll before they halt, by the kernel's own setting";
	else if (lv->conf->launch_env.idle == IDLE_LEAVE)
		return "halt, as launch_env.idle says";
	else
		return p->on ? "poll before they halt, for OpenMP steps"
			     : "halt; they poll before while OpenMP steps are placed";
	return buf;
}
