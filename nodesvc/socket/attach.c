/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attach.c - a process asks for the pages of its step. Whose it is the kernel says: user and pid
 * of the socket's peer, and the cgroup of that pid. The message itself holds nothing to believe.
 */
#include <errno.h>
#include <string.h>

#include "common/msg.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/steps/pages.h"

/* The grant is renewed with the look at the cgroups, once a second, or at each slower tick. */
static int beat_ms(const struct daemon *d)
{
	return d->conf.tick_ms > 1000 ? d->conf.tick_ms : 1000;
}

static struct step *find_step(struct daemon *d, pid_t pid, struct errbuf *err)
{
	struct step_cgroup cg;

	if (actuate_get_ops(d->actuate)->locate(d->actuate, pid, &cg, err) < 0)
		return NULL;
	for (int i = 0; i < d->jobs.n; i++) {
		struct step *s = d->jobs.step[i];

		/* By the directory: it proves the step also where its name has no job number. */
		if (s->located && strcmp(s->cgroup.step_path, cg.step_path) == 0)
			return s;
	}
	err_set(err, -ENOENT, "its step is not registered");
	return NULL;
}

void attach_update(struct daemon *d, struct step *s)
{
	const struct coreset *set = &s->slurm_step;

	if (!s->pages)
		return;
	if (s->status == STATUS_PLACED && !coreset_is_empty(&s->coreset))
		set = &s->coreset;
	pages_grant(s->pages, set, topo_count_cores(d->node.topo, set));
}

void attach_beat(struct daemon *d, int64_t now_ns)
{
	for (int i = 0; i < d->jobs.n; i++)
		if (d->jobs.step[i]->pages)
			pages_beat(d->jobs.step[i]->pages, now_ns);
}

int attach_answer(struct daemon *d, uint32_t uid, pid_t pid, struct msg *reply, int ret_fds[2])
{
	struct errbuf err = {.text = ""};
	struct step *s = find_step(d, pid, &err);
	int rc = s ? 0 : -ENOENT;

	if (s && s->uid != uid)
		rc = err_set(&err, -EPERM, "step %s is another user's", s->id);
	if (rc == 0 && !s->pages)
		rc = pages_create(&s->pages, beat_ms(d), &err);
	if (rc < 0) {
		msg_init(reply, "attach_refused");
		msg_put(reply, "reason", err.text);
		return rc;
	}
	attach_update(d, s);
	msg_init(reply, "attach_ok");
	msg_put(reply, "step", s->id);
	ret_fds[0] = s->pages->grant_fd;
	ret_fds[1] = s->pages->report_fd;
	return 0;
}
