/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/base/errands.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/ipc.h"
#include "nodesvc/base/loop.h"

#define SECOND_NS INT64_C(1000000000)
#define MS_NS     INT64_C(1000000)

struct errands {
	struct loop *loop;
	const struct errands_ops *ops;
	void *arg;
	struct loop_source *timer, *pipe_source;
	int pipe_fd;
	pid_t process; /* 0 none */
	int spread_ms; /* drawn */
	struct errand current;
	char said[512];
	size_t said_len;
	int n;
	struct errand queue[];
};

/* The timer to when the next is due; the end of a process looks again anyway. */
static void kick(struct errands *q)
{
	int64_t next = INT64_MAX;

	for (int i = 0; i < q->n; i++)
		if (q->queue[i].due_ns < next)
			next = q->queue[i].due_ns;
	loop_set_timer_at(q->timer, q->process || q->n == 0 ? 0 : next);
}

static void take_out(struct errands *q, int i)
{
	memmove(&q->queue[i], &q->queue[i + 1], (size_t)(q->n - i - 1) * sizeof(q->queue[0]));
	q->n--;
}

static void reap(struct errands *q, int *ret_status)
{
	loop_remove(q->loop, q->pipe_source);
	close(q->pipe_fd);
	q->pipe_source = NULL;
	q->pipe_fd = -1;
	waitpid(q->process, ret_status, 0);
	q->process = 0;
}

static void on_said(int fd, uint32_t events, void *arg)
{
	struct errands *q = arg;
	int status = 0;
	ssize_t n = read(fd, q->said + q->said_len, sizeof(q->said) - 1 - q->said_len);

	(void)events;
	if (n > 0) {
		q->said_len += (size_t)n;
		if (q->said_len < sizeof(q->said) - 1)
			return;
		kill(q->process, SIGKILL); /* that is no answer */
	}
	q->said[q->said_len] = '\0';
	/* It holds the other end until it ends. */
	reap(q, &status);
	q->ops->done(q->arg, &q->current, status, q->said);
	kick(q);
}

/* Nothing of the daemon's: above all not its lock. */
static _Noreturn void run(const struct errands *q, int out)
{
	sigset_t none;

	dup2(out, 3);
	fcntl(3, F_SETFD, FD_CLOEXEC);
	close_range(4, ~0U, 0);
	for (int sig = 1; sig < 32; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm((unsigned int)q->ops->deadline_s);
	_exit(q->ops->run(q->arg, &q->current, 3));
}

static int start(struct errands *q, struct errbuf *err)
{
	int fd[2], rc;

	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_set(err, -errno, "pipe: %s", strerror(errno));
	q->process = fork();
	if (q->process == 0)
		run(q, fd[1]);
	rc = q->process < 0 ? err_set(err, -errno, "fork: %s", strerror(errno)) : 0;
	close(fd[1]);
	q->said_len = 0;
	q->pipe_fd = fd[0];
	if (rc == 0)
		rc = loop_add_fd(q->loop, fd[0], EPOLLIN, on_said, q, &q->pipe_source, err);
	if (rc == 0)
		return 0;
	if (q->process > 0) {
		kill(q->process, SIGKILL);
		waitpid(q->process, NULL, 0);
	}
	close(fd[0]);
	q->process = 0;
	q->pipe_fd = -1;
	return rc;
}

static void on_timer(void *arg)
{
	struct errands *q = arg;
	int64_t now_ns = ipc_now_ns();
	struct errbuf err;
	int i = 0;

	while (i < q->n && q->queue[i].due_ns > now_ns)
		i++;
	if (!q->process && i < q->n) {
		q->current = q->queue[i];
		take_out(q, i);
		if (q->ops->begin(q->arg, &q->current) && start(q, &err) < 0)
			q->ops->done(q->arg, &q->current, ERRANDS_NO_PROCESS, err.text);
	}
	kick(q);
}

static int64_t due(const struct errands *q, int wait_s)
{
	return ipc_now_ns() + (wait_s ? wait_s * SECOND_NS + q->spread_ms * MS_NS : 0);
}

bool errands_add(struct errands *q, uint32_t job_id, const char *node, int wait_s)
{
	struct errand *e = &q->queue[q->n];

	if (q->n == q->ops->max)
		return false;
	*e = (struct errand){.job_id = job_id,
		.first_ns = ipc_now_ns(),
		.due_ns = due(q, wait_s),
		.wait_s = wait_s ? wait_s : 1};
	snprintf(e->node, sizeof(e->node), "%s", node);
	q->n++;
	kick(q);
	return true;
}

void errands_again(struct errands *q, const struct errand *e)
{
	struct errand again = *e;

	again.wait_s = e->wait_s * 2 > q->ops->wait_max_s ? q->ops->wait_max_s : e->wait_s * 2;
	again.due_ns = due(q, again.wait_s);
	if (q->n < q->ops->max)
		q->queue[q->n++] = again;
}

bool errands_has(const struct errands *q, uint32_t job_id)
{
	for (int i = 0; i < q->n; i++)
		if (q->queue[i].job_id == job_id)
			return true;
	return q->process && q->current.job_id == job_id;
}

void errands_drop(struct errands *q, uint32_t job_id, const char *node)
{
	for (int i = 0; i < q->n; i++)
		if (q->queue[i].job_id == job_id && strcmp(q->queue[i].node, node) == 0)
			take_out(q, i--);
}

const struct errand *errands_first(const struct errands *q)
{
	return q->n ? &q->queue[0] : NULL;
}

int errands_open(struct errands **ret, struct loop *loop, const struct errands_ops *ops, void *arg,
	struct errbuf *err)
{
	struct errands *q = calloc(1, sizeof(*q) + (size_t)ops->max * sizeof(q->queue[0]));
	int rc;

	if (!q)
		return err_set(err, -ENOMEM, "out of memory");
	q->loop = loop;
	q->ops = ops;
	q->arg = arg;
	q->pipe_fd = -1;
	if (ops->spread_ms)
		q->spread_ms = (int)(ipc_now_ns() / 1000 % ops->spread_ms);
	rc = loop_add_timer(loop, on_timer, q, &q->timer, err);
	if (rc < 0) {
		free(q);
		return rc;
	}
	*ret = q;
	return 0;
}

void errands_close(struct errands *q)
{
	int status;

	if (!q)
		return;
	if (q->process) {
		kill(q->process, SIGKILL);
		reap(q, &status);
	}
	loop_remove(q->loop, q->timer);
	free(q);
}
