/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * online.c - CPUs that go offline, or come back, while we run: the topology is read again, the
 * policies begin anew on it, and who was on a CPU that has gone is placed anew. The kernel tells
 * not everybody (uevents need a socket of the right network namespace), so its list is compared.
 */
#include <string.h>

#include "nodesvc/daemon/daemon.h"
#include "nodesvc/base/log.h"

/* The domains that the configuration wants, or what there is. */
static int load(struct daemon *d, struct topo **ret, struct errbuf *err)
{
	struct topo *t;
	int rc = topo_load(&t, NULL, err);

	if (rc < 0)
		return rc;
	if (topo_set_domains(t, d->conf->domain, err) < 0)
		log_warning("domain: %s: %s; auto as long as that is so",
			topo_level_name(d->conf->domain), err->text);
	*ret = t;
	return 0;
}

static int take(struct daemon *d, struct errbuf *err)
{
	struct topo *was = d->node->topo, *fresh;
	int rc = load(d, &fresh, err);

	if (rc < 0)
		return rc;
	d->node->topo = fresh;
	/* Nothing but reserved CPUs is left: better those than none. */
	if (node_reserve(d->node, &d->conf->reserve, err) < 0)
		d->node->usable = fresh->all;
	rc = ruling_renew(d->choose, err);
	if (rc < 0) {
		d->node->topo = was;
		node_reserve(d->node, &d->conf->reserve, NULL);
		topo_free(fresh);
		return rc;
	}
	actuate_set_pus(d->actuate, &fresh->all);
	/* Its table is of the cores that there were at the start. */
	ptable_close(d->choose);
	if (coreset_is_equal(&fresh->all, &d->node->start_pus) && ptable_open(d->choose, err) < 0)
		log_warning("%s", err->text);
	topo_free(was);
	return 0;
}

/* What Slurm's cgroups still have; a step's CPUs that are no more are not its. */
static void follow(struct daemon *d, struct step *s)
{
	struct coreset job, step;
	struct errbuf err;

	if (s->located &&
		actuate_get_ops(d->actuate)
				->allocation(d->actuate, &s->cgroup, &job, &step, &err) == 0) {
		coreset_and(&s->slurm_job, &job, &d->node->topo->all);
		coreset_and(&s->slurm_step, &step, &d->node->topo->all);
		s->envelope = s->slurm_job;
	}
	coreset_and(&s->coreset, &s->coreset, &d->node->topo->all);
	coreset_zero(&s->lent_wanted);
	/* The kernel has changed its cpuset and masks under us. */
	s->to_apply = s->located && s->status == STATUS_PLACED;
}

void online_look(struct daemon *d)
{
	char now[sizeof(d->node->online)], cpus[CORESET_STR_MAX];
	struct errbuf err;

	if (fsroot_read_once(&d->node->root, NODE_ONLINE, now, sizeof(now)) <= 0)
		return; /* one CPU, or an emulation: nothing goes */
	now[strcspn(now, "\n")] = '\0';
	if (strcmp(now, d->node->online) == 0)
		return;
	if (take(d, &err) < 0) {
		if (strcmp(d->node->online_failed, now) != 0)
			log_error("CPUs %s are online now: %s", now, err.text);
		memcpy(d->node->online_failed, now, sizeof(now));
		return;
	}
	memcpy(d->node->online, now, sizeof(now));
	d->node->online_failed[0] = '\0';
	log_info("CPUs %s are online now: %d cores, %d domains, steps are placed on %s", now,
		d->node->topo->n_cores, d->node->topo->n_domains,
		coreset_format(&d->node->usable, cpus, sizeof(cpus)));
	trial_abort(d->choose);
	for (int i = 0; i < d->jobs->n; i++)
		follow(d, d->jobs->step[i]);
	if (jobs_count_managed(d->jobs))
		decide_run(d->choose, EVENT_ARRIVAL, d->jobs->step[d->jobs->n - 1]->id, NULL);
}
