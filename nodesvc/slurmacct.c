/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/slurmacct.h"

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

#include "common/cleanup.h"
#include "common/ipc.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/log.h"
#include "nodesvc/record/summary.h"

#define QUEUE_MAX 256
/* slurmdbd knows of a job's end some seconds after it (measured: about 2). */
#define FIRST_WAIT_S 3
#define WAIT_MAX_S   300
#define TRIES_MAX    8 /* of failures; a job that still runs is waited for */
#define WORKER_S     20
#define SECOND_NS    INT64_C(1000000000)

/* Exit status of the worker. */
enum { WRITTEN = 0, FAILED = 1, NOT_YET = 75 };

struct entry {
	uint32_t job_id;
	char node[64];
	int64_t due_ns;
	int wait_s, failures;
};

struct slurmacct {
	struct entry queue[QUEUE_MAX];
	int n;
	struct loop_source *timer;
	struct loop_source *pipe_source;
	int pipe_fd;
	pid_t worker; /* 0 none */
	struct entry current;
	char said[256], said_before[256]; /* by the worker */
	size_t said_len;
	int jitter; /* so that a job's nodes do not all write at once */
};

/* ---- the worker: blocking calls, in a process of its own ---- */

/* Runs a command; its output (cut) is in @buf unless NULL. The exit status, or -1. */
static int run(char *const argv[], char *buf, size_t size)
{
	size_t len = 0;
	int fd[2], status;
	ssize_t n;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(null, STDIN_FILENO);
		dup2(buf ? fd[1] : null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		setenv("SLURM_TIME_FORMAT", "%s", 1);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(fd[1]);
	if (buf) {
		while (len + 1 < size && (n = read(fd[0], buf + len, size - 1 - len)) > 0)
			len += (size_t)n;
		buf[len] = '\0';
	}
	close(fd[0]);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/*
 * The line of @job in sacct's answer: of an array's own number it gives all of its tasks. A comment
 * may go on over lines; the next record is a line with separators.
 */
static char *find_job(char *answer, const char *job)
{
	size_t len = strlen(job);

	for (char *p = answer; p && *p; p = strchr(p, '\n'), p += p != NULL) {
		char *end = p;

		if (strncmp(p, job, len) != 0 || p[len] != '\x1f')
			continue;
		while ((end = strchr(end, '\n'))) {
			size_t line = strcspn(end + 1, "\n");

			if (line == 0 || memchr(end + 1, '\x1f', line)) {
				*end = '\0';
				break;
			}
			end++;
		}
		return p + len + 1;
	}
	return NULL;
}

/* What Slurm's database has of the job: 1 it has ended, *ret_comment into @buf; 0 not yet; -1. */
static int ask(const char *job, char *buf, size_t size, char **ret_comment)
{
	char *argv[] = {(char *)"sacct", (char *)"-X", (char *)"-n", (char *)"-P",
		(char *)"--delimiter=\x1f", (char *)"--starttime=1970-01-02",
		(char *)"--format=JobIDRaw,End,AdminComment", (char *)"-j", (char *)job, NULL};
	char *end, *comment;

	if (run(argv, buf, size) != 0)
		return -1;
	end = find_job(buf, job);
	comment = end ? strchr(end, '\x1f') : NULL;
	if (!comment)
		return 0; /* the database has no such job yet */
	*ret_comment = comment + 1;
	return atoll(end) > 0; /* "Unknown" while it runs */
}

static void say(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) < 0)
		return;
}

static int work(int fd, uint32_t job_id, const char *part)
{
	static char answer[SUMMARY_COMMENT_MAX + 8192];
	char job[16], where[32];
	cleanup_free char *merged = NULL, *set = NULL;
	char *argv[] = {(char *)"sacctmgr", (char *)"-i", (char *)"-Q", (char *)"modify",
		(char *)"job", (char *)"where", where, (char *)"set", NULL, NULL};
	char *comment = NULL;
	struct errbuf err;
	int rc;

	snprintf(job, sizeof(job), "%u", job_id);
	snprintf(where, sizeof(where), "jobid=%u", job_id);
	rc = ask(job, answer, sizeof(answer), &comment);
	if (rc <= 0) {
		if (rc < 0)
			say(fd, "sacct failed: is slurmdbd there, and SLURM_CONF set?");
		return rc < 0 ? FAILED : NOT_YET;
	}
	if (strstr(comment, part))
		return WRITTEN;
	rc = summary_merge(comment, part, &merged, &err);
	if (rc < 0) {
		say(fd, err.text);
		return rc == -EBADMSG || rc == -E2BIG ? WRITTEN : FAILED;
	}
	if (asprintf(&set, "AdminComment=%s", merged) < 0)
		return FAILED;
	argv[8] = set;
	if (run(argv, NULL, 0) != 0) {
		say(fd, "sacctmgr failed: may root of this node modify jobs?");
		return FAILED;
	}
	/* Another node may have read before we wrote, and written after. */
	sleep(1);
	rc = ask(job, answer, sizeof(answer), &comment);
	return rc > 0 && strstr(comment, part) ? WRITTEN : NOT_YET;
}

/* ---- the daemon's side ---- */

static void kick(struct daemon *d);

static void drop(struct slurmacct *q, int i)
{
	memmove(&q->queue[i], &q->queue[i + 1], (size_t)(q->n - i - 1) * sizeof(q->queue[0]));
	q->n--;
}

static void put_back(struct daemon *d, bool failed)
{
	struct slurmacct *q = d->slurmacct;
	struct entry e = q->current;

	if (failed && ++e.failures >= TRIES_MAX) {
		log_warning("job %u: no summary in Slurm's accounting after %d tries", e.job_id,
			e.failures);
		return;
	}
	e.wait_s = e.wait_s * 2 > WAIT_MAX_S ? WAIT_MAX_S : e.wait_s * 2;
	e.due_ns = ipc_now_ns() + e.wait_s * SECOND_NS + q->jitter * SECOND_NS / 1000;
	if (q->n < QUEUE_MAX)
		q->queue[q->n++] = e;
}

static void on_worker(int fd, uint32_t events, void *arg)
{
	struct daemon *d = arg;
	struct slurmacct *q = d->slurmacct;
	int status = 0;
	ssize_t n = read(fd, q->said + q->said_len, sizeof(q->said) - 1 - q->said_len);

	(void)events;
	if (n > 0) {
		q->said_len += (size_t)n;
		/* More than fits is a worker gone mad: no use in listening on. */
		if (q->said_len < sizeof(q->said) - 1)
			return;
	}
	q->said[q->said_len] = '\0';
	loop_remove(d->loop, q->pipe_source);
	close(q->pipe_fd);
	q->pipe_source = NULL;
	q->pipe_fd = -1;
	/* It holds the other end until it ends. */
	waitpid(q->worker, &status, 0);
	q->worker = 0;
	/* A cluster that is away says the same for every job. */
	if (q->said_len && strcmp(q->said, q->said_before) != 0)
		log_warning("job %u: Slurm's accounting: %s", q->current.job_id, q->said);
	memcpy(q->said_before, q->said, sizeof(q->said_before));
	if (!WIFEXITED(status)) {
		log_warning("job %u: Slurm's accounting did not answer within %d s",
			q->current.job_id, WORKER_S);
		put_back(d, true);
	} else if (WEXITSTATUS(status) == FAILED) {
		put_back(d, true);
	} else if (WEXITSTATUS(status) == NOT_YET) {
		put_back(d, false);
	} else {
		log_debug("job %u: summary is in Slurm's accounting", q->current.job_id);
	}
	kick(d);
}

static int start_worker(struct daemon *d, const char *part, struct errbuf *err)
{
	struct slurmacct *q = d->slurmacct;
	int fd[2], rc;
	sigset_t none;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_set(err, -errno, "pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0) {
		rc = err_set(err, -errno, "fork: %s", strerror(errno));
		close(fd[0]);
		close(fd[1]);
		return rc;
	}
	if (pid == 0) {
		/* Nothing of the daemon's: above all not its lock. */
		dup2(fd[1], 3);
		fcntl(3, F_SETFD, FD_CLOEXEC);
		close_range(4, ~0U, 0);
		for (int sig = 1; sig < 32; sig++)
			signal(sig, SIG_DFL);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(WORKER_S);
		_exit(work(3, q->current.job_id, part));
	}
	close(fd[1]);
	q->said_len = 0;
	q->worker = pid;
	q->pipe_fd = fd[0];
	rc = loop_add_fd(d->loop, fd[0], EPOLLIN, on_worker, d, &q->pipe_source, err);
	if (rc < 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		close(fd[0]);
		q->worker = 0;
		q->pipe_fd = -1;
	}
	return rc;
}

static void on_timer(void *arg)
{
	struct daemon *d = arg;
	struct slurmacct *q = d->slurmacct;
	int64_t now_ns = ipc_now_ns();
	char part[SUMMARY_PART_MAX];
	struct errbuf err;
	int i = 0;

	while (i < q->n && q->queue[i].due_ns > now_ns)
		i++;
	if (q->worker || i == q->n) {
		kick(d);
		return;
	}
	q->current = q->queue[i];
	drop(q, i);
	if (summary_of_job(d->record, q->current.job_id, q->current.node, part, &err) < 0) {
		log_warning("%s", err.text);
	} else if (start_worker(d, part, &err) < 0) {
		log_warning("job %u: %s", q->current.job_id, err.text);
		put_back(d, true);
	}
	kick(d);
}

/* The timer to when the next entry is due; a worker's end looks again anyway. */
static void kick(struct daemon *d)
{
	struct slurmacct *q = d->slurmacct;
	int64_t next = INT64_MAX;

	for (int i = 0; i < q->n; i++)
		if (q->queue[i].due_ns < next)
			next = q->queue[i].due_ns;
	loop_set_timer_at(q->timer, q->worker || q->n == 0 ? 0 : next);
}

static struct slurmacct *get(struct daemon *d)
{
	struct slurmacct *q = d->slurmacct;
	struct errbuf err;

	if (q)
		return q;
	q = calloc(1, sizeof(*q));
	if (!q || loop_add_timer(d->loop, on_timer, d, &q->timer, &err) < 0) {
		free(q);
		return NULL;
	}
	q->pipe_fd = -1;
	q->jitter = (int)(ipc_now_ns() / 1000 % 2000);
	d->slurmacct = q;
	return q;
}

void slurmacct_step_ended(struct daemon *d, const struct step *s)
{
	struct slurmacct *q;
	struct entry *e;

	if (!d->conf.slurm_accounting || !*s->cgroup.node)
		return;
	q = get(d);
	if (!q)
		return;
	/* A job that waits here has got a new step meanwhile: its sums are new, and so is the time.
	 */
	for (int i = 0; i < q->n; i++)
		if (q->queue[i].job_id == s->job_id &&
			strcmp(q->queue[i].node, s->cgroup.node) == 0)
			drop(q, i--);
	if (q->n == QUEUE_MAX) {
		log_warning("job %u: no summary in Slurm's accounting: too many wait",
			q->queue[0].job_id);
		drop(q, 0);
	}
	e = &q->queue[q->n++];
	*e = (struct entry){.job_id = s->job_id, .wait_s = FIRST_WAIT_S};
	snprintf(e->node, sizeof(e->node), "%s", s->cgroup.node);
	e->due_ns = ipc_now_ns() + e->wait_s * SECOND_NS + q->jitter * SECOND_NS / 1000;
	kick(d);
}

void slurmacct_close(struct daemon *d)
{
	struct slurmacct *q = d->slurmacct;

	if (!q)
		return;
	loop_remove(d->loop, q->pipe_source);
	loop_remove(d->loop, q->timer);
	if (q->worker) {
		kill(q->worker, SIGKILL);
		waitpid(q->worker, NULL, 0);
	}
	if (q->pipe_fd >= 0)
		close(q->pipe_fd);
	free(q);
	d->slurmacct = NULL;
}
