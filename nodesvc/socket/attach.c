/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attach.c - a process asks for the pages of its step. Whose it is the kernel says: user and pid
 * of the socket's peer, and the cgroup of that pid. The message itself holds nothing to believe.
 */
#include <errno.h>
#include <string.h>

#include "common/msg.h"
#include "nodesvc/socket/socket.h"
#include "nodesvc/steps/steps.h"

/* The grant is renewed with the look at the cgroups, once a second, or at each slower tick. */
static int beat_ms(const struct socket *k)
{
	return k->conf->tick_ms > 1000 ? k->conf->tick_ms : 1000;
}

static struct step *find_step(const struct socket *k, pid_t pid, struct errbuf *err)
{
	struct step_cgroup cg;

	if (actuate_get_ops(k->actuate)->locate(k->actuate, pid, &cg, err) < 0)
		return NULL;
	for (int i = 0; i < k->jobs->n; i++) {
		struct step *s = k->jobs->step[i];

		/* By the directory: it proves the step also where its name has no job number. */
		if (s->located && strcmp(s->cgroup.step_path, cg.step_path) == 0)
			return s;
	}
	err_set(err, -ENOENT, "its step is not registered");
	return NULL;
}

static void grant(const struct socket *k, struct step *s)
{
	const struct coreset *set = &s->slurm_step;

	if (s->status == STATUS_PLACED && !coreset_is_empty(&s->coreset))
		set = &s->coreset;
	pages_grant(s->pages, set, topo_count_cores(k->node->topo, set));
}

void attach_beat(struct jobs *jobs, int64_t now_ns)
{
	for (int i = 0; i < jobs->n; i++)
		if (jobs->step[i]->pages)
			pages_beat(jobs->step[i]->pages, now_ns);
}

int attach_answer(
	const struct socket *k, uint32_t uid, pid_t pid, struct msg *reply, int ret_fds[2])
{
	struct errbuf err = {.text = ""};
	struct step *s = find_step(k, pid, &err);
	int rc = s ? 0 : -ENOENT;

	if (s && s->uid != uid)
		rc = err_set(&err, -EPERM, "step %s is another user's", s->id);
	if (rc == 0 && !s->pages)
		rc = pages_create(&s->pages, beat_ms(k), &err);
	if (rc < 0) {
		msg_init(reply, "attach_refused");
		msg_put(reply, "reason", err.text);
		return rc;
	}
	grant(k, s);
	msg_init(reply, "attach_ok");
	msg_put(reply, "step", s->id);
	ret_fds[0] = s->pages->grant_fd;
	ret_fds[1] = s->pages->report_fd;
	return 0;
}
