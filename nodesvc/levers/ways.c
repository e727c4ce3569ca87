/* SPDX-License-Identifier: GPL-2.0-or-later */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nodesvc/levers/internal.h"
#include "nodesvc/base/log.h"

void ways_open(struct levers *lv)
{
	struct ways *w = &lv->ways;
	struct errbuf err;
	int n;

	if (resctrl_open(&w->resctrl, &lv->node->root, lv->ledger, &err) < 0) {
		snprintf(w->why_not, sizeof(w->why_not), "%.159s", err.text);
		return;
	}
	n = resctrl_clear(w->resctrl, &err);
	if (n < 0)
		owed_note(lv, err.text);
	if (n < 0)
		log_error("resctrl groups of a former colocd: %s", err.text);
	else if (n > 0)
		log_info("removed %d resctrl groups of a former colocd", n);
}

int ways_clear(struct levers *lv)
{
	struct errbuf err;

	if (!lv->ways.resctrl)
		return 0;
	lv->ways.n = 0;
	for (int i = 0; i < lv->jobs->n; i++)
		lv->jobs->step[i]->ways.cluster = 0;
	if (resctrl_clear(lv->ways.resctrl, &err) >= 0)
		return 0;
	log_error("resctrl: %s", err.text);
	owed_note(lv, err.text);
	health_error("resctrl: %.200s", err.text);
	return -EIO;
}

void ways_close(struct levers *lv)
{
	if (!lv->ways.resctrl)
		return;
	ways_clear(lv);
	resctrl_close(lv->ways.resctrl);
	lv->ways.resctrl = NULL;
}

const char *ways_lack(const struct levers *lv, const struct plan *p)
{
	static char why[200];
	const struct ways *w = &lv->ways;
	bool bandwidth = false;

	if (!p->clusters_asked)
		return NULL;
	for (int k = 0; k < p->n_clusters; k++)
		bandwidth |= p->cluster[k].bandwidth > 0;
	if (!w->resctrl)
		snprintf(why, sizeof(why), "cache ways (%s)", w->why_not);
	else if (!resctrl_get_caps(w->resctrl)->n_ways)
		snprintf(why, sizeof(why), "cache ways (resctrl has none to give)");
	else if (bandwidth && !resctrl_get_caps(w->resctrl)->bandwidth_step)
		snprintf(why, sizeof(why), "steps of bandwidth (resctrl has none in percent)");
	else
		return NULL;
	return why;
}

static bool is_same(
	const struct resctrl_cluster *a, int n_a, const struct resctrl_cluster *b, int n_b)
{
	bool same = n_a == n_b;

	for (int k = 0; same && k < n_a; k++)
		same = a[k].ways == b[k].ways && a[k].bandwidth == b[k].bandwidth;
	return same;
}

bool ways_plan(struct levers *lv, const struct plan *p, struct step *const *step)
{
	struct ways *w = &lv->ways;
	struct resctrl_cluster wanted[RESCTRL_CLUSTERS_MAX];

	for (int k = 0; k < p->n_clusters; k++)
		wanted[k] = (struct resctrl_cluster){p->cluster[k].ways, p->cluster[k].bandwidth};
	/* What failed is tried again when it is another. */
	if (!is_same(wanted, p->n_clusters, w->wanted, w->n_wanted))
		w->failed = false;
	memcpy(w->wanted, wanted, sizeof(wanted[0]) * (size_t)p->n_clusters);
	w->n_wanted = p->n_clusters;
	for (int i = 0; i < lv->jobs->n; i++)
		lv->jobs->step[i]->ways.wanted = 0;
	for (int i = 0; i < p->n_jobs && p->n_clusters; i++)
		step[i]->ways.wanted = p->job[i].cluster + 1;
	return false;
}

static bool may_join(const struct levers *lv, const struct step *s)
{
	return s->status == STATUS_PLACED && s->located && !s->ways.failed && !s->dry_run &&
	       !lv->conf->dry_run;
}

static bool anybody_wants(const struct levers *lv)
{
	for (int i = 0; i < lv->jobs->n; i++)
		if (lv->jobs->step[i]->ways.wanted && may_join(lv, lv->jobs->step[i]))
			return true;
	return false;
}

/* -1: nothing can be moved into groups. */
static int set_groups(struct levers *lv)
{
	struct ways *w = &lv->ways;
	struct errbuf err;

	if (w->failed)
		return -1;
	if (!anybody_wants(lv)) {
		if (w->n)
			ways_clear(lv);
		return -1;
	}
	if (is_same(w->cluster, w->n, w->wanted, w->n_wanted))
		return 0;
	if (resctrl_set(w->resctrl, w->wanted, w->n_wanted, &err) < 0) {
		w->failed = true;
		ways_clear(lv);
		log_error("clusters of cache: %s", err.text);
		health_error("clusters of cache: %.200s", err.text);
		return -1;
	}
	memcpy(w->cluster, w->wanted, sizeof(w->cluster));
	w->n = w->n_wanted;
	/* Groups beyond have gone, and who was in them is in the default group. */
	for (int i = 0; i < lv->jobs->n; i++)
		if (lv->jobs->step[i]->ways.cluster > w->n)
			lv->jobs->step[i]->ways.cluster = 0;
	for (int k = 0; k < w->n; k++)
		log_info("cluster %d: %.0f %% of the cache%s", k, 100 * w->cluster[k].ways,
			w->cluster[k].bandwidth > 0 ? ", less bandwidth" : "");
	return 0;
}

static void assign(struct levers *lv, struct step *s, int wanted)
{
	struct errbuf err;
	int rc = wanted ? step_check_threads(s, STEP_THREADS_EACH, &err) : 0;

	if (rc == 0)
		rc = resctrl_assign(lv->ways.resctrl, lv->actuate, &s->cgroup, wanted - 1, &err);
	if (rc == 0) {
		s->ways.cluster = wanted;
	} else if (rc != -ENOENT) {
		/* Not again: it runs well enough with the whole cache. */
		s->ways.failed = true;
		s->ways.cluster = 0;
		snprintf(
			s->reason, sizeof(s->reason), "no cache ways of its own: %.120s", err.text);
		log_warning("step %s: %s", s->id, s->reason);
		resctrl_assign(lv->ways.resctrl, lv->actuate, &s->cgroup, -1, &err);
	}
}

void ways_update(struct levers *lv)
{
	if (!lv->ways.resctrl || set_groups(lv) < 0)
		return;
	for (int i = 0; i < lv->jobs->n; i++) {
		struct step *s = lv->jobs->step[i];

		if (may_join(lv, s) && s->ways.wanted != s->ways.cluster)
			assign(lv, s, s->ways.wanted);
	}
}

int ways_end(struct levers *lv, struct step *s, bool ended)
{
	struct errbuf err;
	bool any = false;
	int rc;

	(void)ended;
	if (!s->ways.cluster)
		return 0;
	s->ways.cluster = 0;
	rc = resctrl_assign(lv->ways.resctrl, lv->actuate, &s->cgroup, -1, &err);
	if (rc < 0 && rc != -ENOENT)
		log_error("step %s: %s", s->id, err.text);
	/* The last turns off the light. */
	for (int i = 0; i < lv->jobs->n; i++)
		any |= lv->jobs->step[i]->ways.cluster != 0;
	if (!any)
		ways_clear(lv);
	return 0;
}

bool ways_hold(const struct levers *lv, const char *path)
{
	(void)path;
	return lv->ways.n > 0;
}

int ways_restore_path(struct levers *lv, const char *path, struct errbuf *err)
{
	return lv->ways.resctrl ? resctrl_remove(lv->ways.resctrl, path, err)
				: resctrl_remove_left(&lv->node->root, lv->ledger, path, err);
}
