/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/whose.h"

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
#include "common/text.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/log.h"

#define KNOWN_MAX 1024
#define ASKED_MAX JOBS_MAX
/* A job that was requeued may have been given to another account or partition meanwhile. */
#define KEPT_NS    INT64_C(600000000000)
#define WORKER_S   10
#define WAIT_MAX_S 60
/* So long somebody may be about to register. */
#define FIRST_NS  INT64_C(10000000000)
#define SECOND_NS INT64_C(1000000000)

struct known {
	struct whose_job job;
	int64_t at_ns;
};

struct asked {
	uint32_t job_id;
	int64_t first_ns, due_ns;
	int wait_s;
};

struct whose {
	struct known known[KNOWN_MAX]; /* ring */
	int next;
	struct asked asked[ASKED_MAX];
	int n_asked;
	struct loop_source *timer, *pipe_source;
	int pipe_fd;
	pid_t worker; /* 0 none */
	struct asked current;
	char said[512]; /* by the worker */
	size_t said_len;
	char trouble[200];
};

static void kick(struct daemon *d);

bool whose_parse(const char *line, struct whose_job *ret)
{
	struct whose_job j = {0};
	char account[sizeof(j.account)];
	int used = 0;

	if (sscanf(line, "%u %u %63s%n", &j.job_id, &j.uid, j.partition, &used) != 3 ||
		(line[used] != ' ' && line[used] != '\n' && line[used] != '\0'))
		return false;
	line += used + (line[used] == ' ');
	snprintf(account, sizeof(account), "%.*s", (int)strcspn(line, "\n"), line);
	text_clean(account);
	/* squeue's word for none. */
	if (strcmp(account, "(null)") != 0)
		memcpy(j.account, account, sizeof(account));
	text_clean(j.partition);
	*ret = j;
	return true;
}

static const struct known *find(const struct whose *w, uint32_t job_id)
{
	int64_t now = ipc_now_ns();

	for (int i = 0; i < KNOWN_MAX; i++)
		if (w->known[i].at_ns && w->known[i].job.job_id == job_id &&
			now - w->known[i].at_ns < KEPT_NS)
			return &w->known[i];
	return NULL;
}

static bool is_waited_for(const struct daemon *d, uint32_t job_id)
{
	for (int i = 0; i < d->jobs.n; i++)
		if (d->jobs.step[i]->job_id == job_id && d->jobs.step[i]->unowned)
			return true;
	return false;
}

static void ask_again(struct daemon *d)
{
	struct whose *w = d->whose;
	struct asked a = w->current;

	if ((ipc_now_ns() - a.first_ns >= FIRST_NS && !is_waited_for(d, a.job_id)) ||
		w->n_asked == ASKED_MAX)
		return;
	a.wait_s = a.wait_s * 2 > WAIT_MAX_S ? WAIT_MAX_S : a.wait_s * 2;
	a.due_ns = ipc_now_ns() + a.wait_s * SECOND_NS;
	w->asked[w->n_asked++] = a;
}

static void on_worker(int fd, uint32_t events, void *arg)
{
	struct daemon *d = arg;
	struct whose *w = d->whose;
	struct whose_job j;
	int status = 0;
	ssize_t n = read(fd, w->said + w->said_len, sizeof(w->said) - 1 - w->said_len);

	(void)events;
	if (n > 0) {
		w->said_len += (size_t)n;
		if (w->said_len < sizeof(w->said) - 1)
			return;
		kill(w->worker, SIGKILL); /* that was no answer */
	}
	w->said[w->said_len] = '\0';
	loop_remove(d->loop, w->pipe_source);
	close(w->pipe_fd);
	w->pipe_source = NULL;
	w->pipe_fd = -1;
	waitpid(w->worker, &status, 0);
	w->worker = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && whose_parse(w->said, &j) &&
		j.job_id == w->current.job_id) {
		w->trouble[0] = '\0';
		whose_learn(d, &j);
	} else {
		char before[sizeof(w->trouble)];

		memcpy(before, w->trouble, sizeof(before));
		w->said[strcspn(w->said, "\n")] = '\0';
		if (!WIFEXITED(status))
			snprintf(w->trouble, sizeof(w->trouble), "squeue: no answer within %d s",
				WORKER_S);
		else if (WEXITSTATUS(status) == 127)
			snprintf(w->trouble, sizeof(w->trouble), "no squeue is on colocd's PATH");
		else
			snprintf(w->trouble, sizeof(w->trouble), "squeue: %.150s",
				*w->said ? w->said : "no such job");
		if (strcmp(before, w->trouble) != 0)
			log_warning("allow: job %u: its partition and account are not known: %s",
				w->current.job_id, w->trouble);
		ask_again(d);
		lifecycle_learn(d, w->current.job_id, NULL);
	}
	kick(d);
}

static void run_squeue(int out, uint32_t job_id)
{
	char job[16];
	char *const argv[] = {(char *)"squeue", (char *)"-h", (char *)"-a", (char *)"-j", job,
		(char *)"-o", (char *)"%A %U %P %a", NULL};
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	snprintf(job, sizeof(job), "%u", job_id);
	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	/* Nothing of the daemon's: above all not its lock. */
	close_range(3, ~0U, 0);
	for (int sig = 1; sig < 32; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(WORKER_S);
	execvp(argv[0], argv);
	_exit(127);
}

static int start_worker(struct daemon *d, struct errbuf *err)
{
	struct whose *w = d->whose;
	int fd[2], rc;

	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_set(err, -errno, "pipe: %s", strerror(errno));
	w->worker = fork();
	if (w->worker == 0)
		run_squeue(fd[1], w->current.job_id);
	rc = w->worker < 0 ? err_set(err, -errno, "fork: %s", strerror(errno)) : 0;
	close(fd[1]);
	w->said_len = 0;
	w->pipe_fd = fd[0];
	if (rc == 0)
		rc = loop_add_fd(d->loop, fd[0], EPOLLIN, on_worker, d, &w->pipe_source, err);
	if (rc == 0)
		return 0;
	if (w->worker > 0) {
		kill(w->worker, SIGKILL);
		waitpid(w->worker, NULL, 0);
	}
	close(fd[0]);
	w->worker = 0;
	w->pipe_fd = -1;
	return rc;
}

static void on_timer(void *arg)
{
	struct daemon *d = arg;
	struct whose *w = d->whose;
	int64_t now = ipc_now_ns();
	struct errbuf err;
	int i = 0;

	while (i < w->n_asked && w->asked[i].due_ns > now)
		i++;
	if (!w->worker && i < w->n_asked) {
		w->current = w->asked[i];
		memmove(&w->asked[i], &w->asked[i + 1],
			(size_t)(w->n_asked - i - 1) * sizeof(w->asked[0]));
		w->n_asked--;
		if ((now - w->current.first_ns < FIRST_NS || is_waited_for(d, w->current.job_id)) &&
			start_worker(d, &err) < 0) {
			snprintf(w->trouble, sizeof(w->trouble), "%.190s", err.text);
			ask_again(d);
		}
	}
	kick(d);
}

/* The timer to when the next is due; a worker's end looks again anyway. */
static void kick(struct daemon *d)
{
	struct whose *w = d->whose;
	int64_t next = INT64_MAX;

	for (int i = 0; i < w->n_asked; i++)
		if (w->asked[i].due_ns < next)
			next = w->asked[i].due_ns;
	loop_set_timer_at(w->timer, w->worker || w->n_asked == 0 ? 0 : next);
}

static struct whose *get(struct daemon *d)
{
	struct whose *w = d->whose;

	if (w)
		return w;
	w = calloc(1, sizeof(*w));
	if (!w || loop_add_timer(d->loop, on_timer, d, &w->timer, NULL) < 0) {
		free(w);
		return NULL;
	}
	w->pipe_fd = -1;
	return d->whose = w;
}

bool whose_ask(struct daemon *d, uint32_t job_id, struct whose_job *ret)
{
	struct whose *w = get(d);
	const struct known *k = w ? find(w, job_id) : NULL;

	if (k) {
		*ret = k->job;
		return true;
	}
	if (!w || (w->worker && w->current.job_id == job_id))
		return false;
	for (int i = 0; i < w->n_asked; i++)
		if (w->asked[i].job_id == job_id)
			return false;
	if (w->n_asked < ASKED_MAX)
		w->asked[w->n_asked++] = (struct asked){.job_id = job_id,
			.first_ns = ipc_now_ns(),
			.due_ns = ipc_now_ns(),
			.wait_s = 1};
	kick(d);
	return false;
}

const char *whose_trouble(const struct daemon *d)
{
	return d->whose ? d->whose->trouble : "";
}

void whose_learn(struct daemon *d, const struct whose_job *j)
{
	struct whose *w = get(d);

	if (w) {
		w->known[w->next] = (struct known){.job = *j, .at_ns = ipc_now_ns()};
		w->next = (w->next + 1) % KNOWN_MAX;
	}
	lifecycle_learn(d, j->job_id, j);
}

void whose_close(struct daemon *d)
{
	struct whose *w = d->whose;

	if (!w)
		return;
	loop_remove(d->loop, w->pipe_source);
	loop_remove(d->loop, w->timer);
	if (w->worker) {
		kill(w->worker, SIGKILL);
		waitpid(w->worker, NULL, 0);
	}
	if (w->pipe_fd >= 0)
		close(w->pipe_fd);
	free(w);
	d->whose = NULL;
}
