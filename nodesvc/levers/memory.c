/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/levers/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/ipc.h"
#include "nodesvc/actuate/mems.h"
#include "nodesvc/base/health.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/log.h"

/* Between two looks at how much memory the nodes have left. */
#define LOOK_NS INT64_C(250000000)

struct memory {
	pid_t worker; /* 0 none */
	int pipe_fd;
	struct loop_source *pipe_source;
	char step[JOB_ID_MAX]; /* whose pages it moves; "" he left: put back when it has ended */
	struct step_cgroup cgroup;
	int64_t start_ns, look_ns;
	bool one_node; /* said already */
};

/* What the worker says, in one write. */
struct report {
	int rc;
	struct mems_moved moved;
	char text[200];
};

static void kick(struct daemon *d);

static struct memory *get(struct daemon *d)
{
	if (!d->memory) {
		d->memory = calloc(1, sizeof(*d->memory));
		if (d->memory)
			d->memory->pipe_fd = -1;
	}
	return d->memory;
}

static void put_back(struct daemon *d, const char *id, const struct step_cgroup *cgroup)
{
	struct errbuf err;

	if (mems_restore(d->actuate, cgroup, &err) < 0) {
		log_error("step %s: its memory nodes: %s", id, err.text);
		health_error("step %s: %.200s", id, err.text);
		owed_note(d, err.text);
	}
}

static void give_up(struct daemon *d, struct step *s, const char *why)
{
	s->memory.failed = true;
	log_warning("step %s: its memory does not follow: %s", s->id, why);
	memory_leave(d, s);
}

/* ---- the worker ---------------------------------------------------------------------------- */

static void work(
	struct daemon *d, int fd, const struct step_cgroup *cgroup, const struct coreset *nodes)
{
	struct report r = {0};
	struct errbuf err = {""};

	r.rc = mems_move(d->actuate, cgroup, nodes, d->conf.memory_mib_per_s, &r.moved, &err);
	snprintf(r.text, sizeof(r.text), "%.199s", err.text);
	if (write(fd, &r, sizeof(r)) < 0)
		_exit(1);
	_exit(0);
}

static void end_worker(struct daemon *d)
{
	struct memory *m = d->memory;

	loop_remove(d->loop, m->pipe_source);
	m->pipe_source = NULL;
	close(m->pipe_fd);
	m->pipe_fd = -1;
	waitpid(m->worker, NULL, 0);
	m->worker = 0;
}

static void on_worker(int fd, uint32_t events, void *arg)
{
	struct daemon *d = arg;
	struct memory *m = d->memory;
	struct report r;
	/* One write of less than a pipe's atomic size: all of it or the end. */
	ssize_t n = read(fd, &r, sizeof(r));
	struct step *s;
	char nodes[CORESET_STR_MAX];

	(void)events;
	end_worker(d);
	s = *m->step ? jobs_find_id(&d->jobs, m->step) : NULL;
	if (!s || !s->memory.held) {
		put_back(d, *m->step ? m->step : "that left", &m->cgroup);
	} else if (n != sizeof(r)) {
		give_up(d, s, "the worker died");
	} else if (r.rc == -ENOENT) {
		/* Its end is on its way. */
	} else if (r.rc < 0) {
		give_up(d, s, r.text);
	} else {
		log_info("step %s: memory on node %s: %" PRIu64 " MiB moved, %" PRIu64
			 " KiB left, %.1f s",
			s->id, coreset_format(&s->memory.wanted, nodes, sizeof(nodes)),
			r.moved.moved_bytes >> 20, r.moved.left_bytes >> 10,
			(double)(ipc_now_ns() - m->start_ns) / 1e9);
	}
	kick(d);
}

static int start_worker(struct daemon *d, const struct step *s, struct errbuf *err)
{
	struct memory *m = d->memory;
	int fd[2], rc, root, out;
	sigset_t none;

	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_set(err, -errno, "pipe: %s", strerror(errno));
	m->worker = fork();
	if (m->worker == 0) {
		for (int sig = 1; sig < 32; sig++)
			signal(sig, SIG_DFL);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* Nothing of the daemon's but its root: above all not its lock, nor the pipe by
		 * which the guard knows that it lives. */
		root = fcntl(d->node.root.fd, F_DUPFD, 10);
		out = fcntl(fd[1], F_DUPFD, 10);
		if (root < 0 || out < 0)
			_exit(1);
		dup2(out, 4);
		d->node.root.fd = dup2(root, 3);
		close_range(5, ~0U, 0);
		prctl(PR_SET_NAME, "colocd-memory");
		/* The daemon's own priority is for launches. */
		setpriority(PRIO_PROCESS, 0, 0);
		work(d, 4, &s->cgroup, &s->memory.wanted);
	}
	rc = m->worker < 0 ? err_set(err, -errno, "fork: %s", strerror(errno)) : 0;
	close(fd[1]);
	m->pipe_fd = fd[0];
	if (rc == 0)
		rc = loop_add_fd(d->loop, fd[0], EPOLLIN, on_worker, d, &m->pipe_source, err);
	if (rc < 0) {
		if (m->worker > 0) {
			kill(m->worker, SIGKILL);
			waitpid(m->worker, NULL, 0);
		}
		close(fd[0]);
		m->worker = 0;
		m->pipe_fd = -1;
		return rc;
	}
	m->start_ns = ipc_now_ns();
	m->cgroup = s->cgroup;
	snprintf(m->step, sizeof(m->step), "%s", s->id);
	return 0;
}

/* The next step that waits. */
static void kick(struct daemon *d)
{
	for (int i = 0; i < d->jobs.n && !d->memory->worker; i++) {
		struct step *s = d->jobs.step[i];
		struct errbuf err;
		int rc;

		if (!s->memory.waiting)
			continue;
		s->memory.waiting = false;
		rc = mems_record(d->actuate, &s->cgroup, &s->memory.wanted, &err);
		if (rc == 0) {
			s->memory.held = true;
			rc = start_worker(d, s, &err);
		}
		if (rc < 0 && rc != -ENOENT)
			give_up(d, s, err.text);
	}
}

/* ---- steps --------------------------------------------------------------------------------- */

void memory_open(struct daemon *d)
{
	struct errbuf err;
	int n = mems_restore_all(d->actuate, &err);

	if (n < 0) {
		log_error("memory nodes that a former colocd set: %s", err.text);
		owed_note(d, err.text);
	}
	if (n > 0)
		log_info("put back the memory nodes of %d steps", n);
}

void memory_close(struct daemon *d)
{
	struct errbuf err;

	if (d->memory && d->memory->worker) {
		kill(d->memory->worker, SIGKILL);
		end_worker(d);
	}
	if (d->actuate && mems_restore_all(d->actuate, &err) < 0)
		log_error("memory nodes at stop: %s", err.text);
	free(d->memory);
	d->memory = NULL;
}

void memory_leave(struct daemon *d, struct step *s)
{
	struct step_memory *sm = &s->memory;
	struct memory *m = d->memory;

	sm->waiting = false;
	coreset_zero(&sm->wanted);
	if (!sm->held)
		return;
	sm->held = false;
	if (m && m->worker && strcmp(m->step, s->id) == 0) {
		/* It may be in the middle of its write: put back when it has ended. */
		m->step[0] = '\0';
		kill(m->worker, SIGKILL);
		return;
	}
	put_back(d, s->id, &s->cgroup);
}

void memory_follow(struct daemon *d, struct step *s)
{
	struct step_memory *sm = &s->memory;
	struct coreset nodes;
	struct memory *m;
	struct errbuf err;
	int n;

	if (d->conf.memory != MEMORY_FOLLOW) {
		memory_leave(d, s);
		return;
	}
	m = get(d);
	if (!m || sm->failed)
		return;
	if (mems_of_cpus(&d->node.root, &s->coreset, &nodes, &n, &err) < 0) {
		give_up(d, s, err.text);
		return;
	}
	if (n < 2) {
		if (!m->one_node)
			log_info("memory: follow: this machine has one memory node, nothing moves");
		m->one_node = true;
		return;
	}
	if (coreset_is_equal(&nodes, &sm->wanted))
		return;
	if (m->worker && strcmp(m->step, s->id) == 0)
		memory_leave(d, s); /* on its way to where it is no longer wanted */
	sm->wanted = nodes;
	sm->waiting = true;
	kick(d);
}

void memory_tick(struct daemon *d, int64_t now_ns)
{
	if (!d->memory || now_ns - d->memory->look_ns < LOOK_NS)
		return;
	d->memory->look_ns = now_ns;
	for (int i = 0; i < d->jobs.n; i++) {
		struct step *s = d->jobs.step[i];
		uint64_t total, left;
		struct errbuf err;

		if (d->conf.memory != MEMORY_FOLLOW)
			memory_leave(d, s); /* a reload changed it */
		if (!s->memory.held ||
			mems_free(&d->node.root, &s->memory.wanted, &total, &left, &err) < 0)
			continue;
		if ((double)left < MEMS_RESERVE_RATIO / 2 * (double)total)
			give_up(d, s, "its memory nodes run short");
	}
}

const char *memory_says(const struct daemon *d)
{
	if (d->conf.memory != MEMORY_FOLLOW)
		return "stay";
	return d->memory && d->memory->one_node ? "follow, but there is one memory node" : "follow";
}

bool memory_holds(const struct daemon *d, const char *step_path)
{
	const struct memory *m = d->memory;

	if (m && m->worker && strcmp(m->cgroup.step_path, step_path) == 0)
		return true;
	for (int i = 0; i < d->jobs.n; i++)
		if (d->jobs.step[i]->memory.held &&
			strcmp(d->jobs.step[i]->cgroup.step_path, step_path) == 0)
			return true;
	return false;
}
