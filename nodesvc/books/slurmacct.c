/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/books/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "nodesvc/base/errands.h"
#include "nodesvc/base/log.h"
#include "nodesvc/record/record.h"

/* slurmdbd knows of a job's end some seconds after it (measured: about 2). */
#define FIRST_WAIT_S 3
#define TRIES_MAX    8 /* of failures; a job that still runs is waited for */
#define DEADLINE_S   20

/* Exit status of the process. */
enum { WRITTEN = 0, FAILED = 1, NOT_YET = 75 };

struct slurmacct {
	struct record *record;
	struct errands *errands;
	char part[SUMMARY_PART_MAX]; /* of the one that is under way */
	char said_before[256];
};

/* ---- blocking calls, in a process of its own ---- */

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

static int work(void *arg, const struct errand *e, int fd)
{
	static char answer[SUMMARY_COMMENT_MAX + 8192];
	char job[16], where[32];
	cleanup_free char *merged = NULL, *set = NULL;
	char *argv[] = {(char *)"sacctmgr", (char *)"-i", (char *)"-Q", (char *)"modify",
		(char *)"job", (char *)"where", where, (char *)"set", NULL, NULL};
	const char *part = ((const struct slurmacct *)arg)->part;
	char *comment = NULL;
	struct errbuf err;
	int rc;

	snprintf(job, sizeof(job), "%u", e->job_id);
	snprintf(where, sizeof(where), "jobid=%u", e->job_id);
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

static bool begin(void *arg, const struct errand *e)
{
	struct slurmacct *a = arg;
	struct errbuf err;

	if (summary_of_job(a->record, e->job_id, e->node, a->part, &err) == 0)
		return true;
	log_warning("%s", err.text);
	return false;
}

static void on_failed(struct slurmacct *a, const struct errand *e)
{
	struct errand failed = *e;

	if (++failed.failures < TRIES_MAX)
		errands_again(a->errands, &failed);
	else
		log_warning("job %u: no summary in Slurm's accounting after %d tries", e->job_id,
			failed.failures);
}

static void on_done(void *arg, const struct errand *e, int status, const char *said)
{
	struct slurmacct *a = arg;

	/* A cluster that is away says the same for every job. */
	if (*said && strncmp(said, a->said_before, sizeof(a->said_before) - 1) != 0)
		log_warning("job %u: Slurm's accounting: %s", e->job_id, said);
	snprintf(a->said_before, sizeof(a->said_before), "%s", said);
	if (status != ERRANDS_NO_PROCESS && !WIFEXITED(status))
		log_warning("job %u: Slurm's accounting did not answer within %d s", e->job_id,
			DEADLINE_S);
	if (status == ERRANDS_NO_PROCESS || !WIFEXITED(status) || WEXITSTATUS(status) == FAILED) {
		on_failed(a, e);
	} else if (WEXITSTATUS(status) == NOT_YET) {
		errands_again(a->errands, e);
	} else {
		log_debug("job %u: summary is in Slurm's accounting", e->job_id);
	}
}

int slurmacct_open(
	struct slurmacct **ret, struct loop *loop, struct record *record, struct errbuf *err)
{
	static const struct errands_ops ops = {
		.max = 256,
		.deadline_s = DEADLINE_S,
		.wait_max_s = 300,
		.spread_ms = 2000,
		.begin = begin,
		.run = work,
		.done = on_done,
	};
	struct slurmacct *a = calloc(1, sizeof(*a));
	int rc;

	if (!a)
		return err_set(err, -ENOMEM, "out of memory");
	a->record = record;
	rc = errands_open(&a->errands, loop, &ops, a, err);
	if (rc < 0) {
		free(a);
		return rc;
	}
	*ret = a;
	return 0;
}

void slurmacct_close(struct slurmacct *a)
{
	if (!a)
		return;
	errands_close(a->errands);
	free(a);
}

void slurmacct_step_ended(struct slurmacct *a, const struct step *s)
{
	struct errand first;

	if (!*s->cgroup.node)
		return;
	/* A job that waits here has got a new step meanwhile: its sums are new, and so is the time.
	 */
	errands_drop(a->errands, s->job_id, s->cgroup.node);
	if (errands_add(a->errands, s->job_id, s->cgroup.node, FIRST_WAIT_S))
		return;
	first = *errands_first(a->errands);
	log_warning("job %u: no summary in Slurm's accounting: too many wait", first.job_id);
	errands_drop(a->errands, first.job_id, first.node);
	errands_add(a->errands, s->job_id, s->cgroup.node, FIRST_WAIT_S);
}
