/* SPDX-License-Identifier: GPL-2.0-or-later */

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
#include "nodesvc/actuate/actuate.h"
#include "nodesvc/levers/internal.h"
#include "nodesvc/base/log.h"

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

static void kick(struct levers *lv);

static struct memory *get(struct levers *lv)
{
	if (!lv->memory) {
		lv->memory = calloc(1, sizeof(*lv->memory));
		if (lv->memory)
			lv->memory->pipe_fd = -1;
	}
	return lv->memory;
}

static void put_back(struct levers *lv, const char *id, const struct step_cgroup *cgroup)
{
	struct errbuf err;

	if (mems_restore(lv->actuate, cgroup, &err) < 0) {
		log_error("step %s: its memory nodes: %s", id, err.text);
		health_error("step %s: %.200s", id, err.text);
		owed_note(lv, err.text);
	}
}

static void give_up(struct levers *lv, struct step *s, const char *why)
{
	s->memory.failed = true;
	log_warning("step %s: its memory does not follow: %s", s->id, why);
	memory_leave(lv, s, false);
}

/* ---- the worker ---------------------------------------------------------------------------- */

static void work(
	struct levers *lv, int fd, const struct step_cgroup *cgroup, const struct coreset *nodes)
{
	struct report r = {0};
	struct errbuf err = {""};

	r.rc = mems_move(lv->actuate, cgroup, nodes, lv->conf->memory_mib_per_s, &r.moved, &err);
	snprintf(r.text, sizeof(r.text), "%.199s", err.text);
	if (write(fd, &r, sizeof(r)) < 0)
		_exit(1);
	_exit(0);
}

static void end_worker(struct levers *lv)
{
	struct memory *m = lv->memory;

	loop_remove(lv->loop, m->pipe_source);
	m->pipe_source = NULL;
	close(m->pipe_fd);
	m->pipe_fd = -1;
	waitpid(m->worker, NULL, 0);
	m->worker = 0;
}

static void on_worker(int fd, uint32_t events, void *arg)
{
	struct levers *lv = arg;
	struct memory *m = lv->memory;
	struct report r;
	/* One write of less than a pipe's atomic size: all of it or the end. */
	ssize_t n = read(fd, &r, sizeof(r));
	struct step *s;
	char nodes[CORESET_STR_MAX];

	(void)events;
	end_worker(lv);
	s = *m->step ? jobs_find_id(lv->jobs, m->step) : NULL;
	if (!s || !s->memory.held) {
		put_back(lv, *m->step ? m->step : "that left", &m->cgroup);
	} else if (n != sizeof(r)) {
		give_up(lv, s, "the worker died");
	} else if (r.rc == -ENOENT) {
		/* Its end is on its way. */
	} else if (r.rc < 0) {
		give_up(lv, s, r.text);
	} else {
		log_info("step %s: memory on node %s: %" PRIu64 " MiB moved, %" PRIu64
			 " KiB left, %.1f s",
			s->id, coreset_format(&s->memory.wanted, nodes, sizeof(nodes)),
			r.moved.moved_bytes >> 20, r.moved.left_bytes >> 10,
			(double)(ipc_now_ns() - m->start_ns) / 1e9);
	}
	kick(lv);
}

/* But standard input, output and error, too. */
static void close_all_but(int a, int b)
{
	const int keep[] = {a < b ? a : b, a < b ? b : a};
	int from = 3;

	for (int i = 0; i < 2; i++) {
		if (keep[i] > from)
			close_range((unsigned)from, (unsigned)keep[i] - 1, 0);
		if (keep[i] >= from)
			from = keep[i] + 1;
	}
	close_range((unsigned)from, ~0U, 0);
}

static int start_worker(struct levers *lv, const struct step *s, struct errbuf *err)
{
	struct memory *m = lv->memory;
	int fd[2], rc;
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
		close_all_but(lv->node->root.fd, fd[1]);
		prctl(PR_SET_NAME, "colocd-memory");
		/* The daemon's own priority is for launches. */
		setpriority(PRIO_PROCESS, 0, 0);
		work(lv, fd[1], &s->cgroup, &s->memory.wanted);
	}
	rc = m->worker < 0 ? err_set(err, -errno, "fork: %s", strerror(errno)) : 0;
	close(fd[1]);
	m->pipe_fd = fd[0];
	if (rc == 0)
		rc = loop_add_fd(lv->loop, fd[0], EPOLLIN, on_worker, lv, &m->pipe_source, err);
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
static void kick(struct levers *lv)
{
	for (int i = 0; i < lv->jobs->n && !lv->memory->worker; i++) {
		struct step *s = lv->jobs->step[i];
		struct errbuf err;
		int rc;

		if (!s->memory.waiting)
			continue;
		s->memory.waiting = false;
		rc = mems_record(lv->actuate, &s->cgroup, &s->memory.wanted, &err);
		if (rc == 0) {
			s->memory.held = true;
			rc = start_worker(lv, s, &err);
		}
		if (rc < 0 && rc != -ENOENT)
			give_up(lv, s, err.text);
	}
}

/* ---- steps --------------------------------------------------------------------------------- */

void memory_open(struct levers *lv)
{
	struct errbuf err;
	int n = mems_restore_all(lv->actuate, &err);

	if (n < 0) {
		log_error("memory nodes that a former colocd set: %s", err.text);
		owed_note(lv, err.text);
	}
	if (n > 0)
		log_info("put back the memory nodes of %d steps", n);
}

void memory_close(struct levers *lv)
{
	struct errbuf err;

	if (lv->memory && lv->memory->worker) {
		kill(lv->memory->worker, SIGKILL);
		end_worker(lv);
	}
	if (lv->actuate && mems_restore_all(lv->actuate, &err) < 0)
		log_error("memory nodes at stop: %s", err.text);
	free(lv->memory);
	lv->memory = NULL;
}

int memory_leave(struct levers *lv, struct step *s, bool ended)
{
	struct step_memory *sm = &s->memory;
	struct memory *m = lv->memory;

	(void)ended;
	sm->waiting = false;
	coreset_zero(&sm->wanted);
	if (!sm->held)
		return 0;
	sm->held = false;
	if (m && m->worker && strcmp(m->step, s->id) == 0) {
		/* It may be in the middle of its write: put back when it has ended. */
		m->step[0] = '\0';
		kill(m->worker, SIGKILL);
		return 0;
	}
	put_back(lv, s->id, &s->cgroup);
	return 0;
}

void memory_follow(struct levers *lv, struct step *s)
{
	struct step_memory *sm = &s->memory;
	struct coreset nodes;
	struct memory *m;
	struct errbuf err;
	int n;

	if (lv->conf->memory != MEMORY_FOLLOW) {
		memory_leave(lv, s, false);
		return;
	}
	m = get(lv);
	if (!m || sm->failed)
		return;
	if (mems_of_cpus(&lv->node->root, &s->coreset, &nodes, &n, &err) < 0) {
		give_up(lv, s, err.text);
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
		memory_leave(lv, s, false); /* on its way to where it is no longer wanted */
	sm->wanted = nodes;
	sm->waiting = true;
	kick(lv);
}

void memory_tick(struct levers *lv, int64_t now_ns)
{
	if (!lv->memory || now_ns - lv->memory->look_ns < LOOK_NS)
		return;
	lv->memory->look_ns = now_ns;
	for (int i = 0; i < lv->jobs->n; i++) {
		struct step *s = lv->jobs->step[i];
		uint64_t total, left;
		struct errbuf err;

		if (lv->conf->memory != MEMORY_FOLLOW)
			memory_leave(lv, s, false); /* a reload changed it */
		if (!s->memory.held ||
			mems_free(&lv->node->root, &s->memory.wanted, &total, &left, &err) < 0)
			continue;
		if ((double)left < MEMS_RESERVE_RATIO / 2 * (double)total)
			give_up(lv, s, "its memory nodes run short");
	}
}

const char *memory_says(const struct levers *lv)
{
	if (lv->conf->memory != MEMORY_FOLLOW)
		return "stay";
	return lv->memory && lv->memory->one_node ? "follow, but there is one memory node"
						  : "follow";
}

bool memory_holds(const struct levers *lv, const char *step_path)
{
	const struct memory *m = lv->memory;

	if (m && m->worker && strcmp(m->cgroup.step_path, step_path) == 0)
		return true;
	for (int i = 0; i < lv->jobs->n; i++)
		if (lv->jobs->step[i]->memory.held &&
			strcmp(lv->jobs->step[i]->cgroup.step_path, step_path) == 0)
			return true;
	return false;
}

int memory_restore_path(struct levers *lv, const char *path, struct errbuf *err)
{
	return mems_restore_path(lv->actuate, path, err);
}
