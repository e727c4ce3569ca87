/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/steps/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/ipc.h"
#include "common/text.h"
#include "nodesvc/base/errands.h"
#include "nodesvc/base/log.h"

#define KNOWN_MAX 1024
/* A job that was requeued may have been given to another account or partition meanwhile. */
#define KEPT_NS    INT64_C(600000000000)
#define DEADLINE_S 10
/* So long somebody may be about to register. */
#define FIRST_NS INT64_C(10000000000)

struct known {
	struct whose_job job;
	int64_t at_ns;
};

struct whose {
	const struct jobs *jobs;
	struct whose_events tell;
	struct errands *errands;
	struct known known[KNOWN_MAX]; /* ring */
	int next;
	char trouble[200];
};

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

static bool is_wanted(void *arg, const struct errand *e)
{
	const struct whose *w = arg;

	if (ipc_now_ns() - e->first_ns < FIRST_NS)
		return true;
	for (int i = 0; i < w->jobs->n; i++)
		if (w->jobs->step[i]->job_id == e->job_id && w->jobs->step[i]->unowned)
			return true;
	return false;
}

static int run_squeue(void *arg, const struct errand *e, int out)
{
	char job[16];
	char *const argv[] = {(char *)"squeue", (char *)"-h", (char *)"-a", (char *)"-j", job,
		(char *)"-o", (char *)"%A %U %P %a", NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)arg;
	snprintf(job, sizeof(job), "%u", e->job_id);
	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	execvp(argv[0], argv);
	return 127;
}

static void on_no_answer(struct whose *w, const struct errand *e, int status, const char *said)
{
	char before[sizeof(w->trouble)];

	memcpy(before, w->trouble, sizeof(before));
	if (status == ERRANDS_NO_PROCESS)
		snprintf(w->trouble, sizeof(w->trouble), "%.190s", said);
	else if (!WIFEXITED(status))
		snprintf(w->trouble, sizeof(w->trouble), "squeue: no answer within %d s",
			DEADLINE_S);
	else if (WEXITSTATUS(status) == 127)
		snprintf(w->trouble, sizeof(w->trouble), "no squeue is on colocd's PATH");
	else
		snprintf(w->trouble, sizeof(w->trouble), "squeue: %.150s",
			*said ? said : "no such job");
	w->trouble[strcspn(w->trouble, "\n")] = '\0';
	if (strcmp(before, w->trouble) != 0)
		log_warning("allow: job %u: its partition and account are not known: %s", e->job_id,
			w->trouble);
	if (is_wanted(w, e))
		errands_again(w->errands, e);
	w->tell.on_answer(w->tell.arg, e->job_id, NULL);
}

static void on_done(void *arg, const struct errand *e, int status, const char *said)
{
	struct whose *w = arg;
	struct whose_job j;

	if (status == ERRANDS_NO_PROCESS || !WIFEXITED(status) || WEXITSTATUS(status) != 0 ||
		!whose_parse(said, &j) || j.job_id != e->job_id) {
		on_no_answer(w, e, status, said);
		return;
	}
	w->trouble[0] = '\0';
	whose_learn(w, &j);
}

int whose_open(struct whose **ret, struct loop *loop, const struct jobs *jobs,
	const struct whose_events *events, struct errbuf *err)
{
	static const struct errands_ops ops = {
		.max = JOBS_MAX,
		.deadline_s = DEADLINE_S,
		.wait_max_s = 60,
		.begin = is_wanted,
		.run = run_squeue,
		.done = on_done,
	};
	struct whose *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	w->jobs = jobs;
	w->tell = *events;
	rc = errands_open(&w->errands, loop, &ops, w, err);
	if (rc < 0) {
		free(w);
		return rc;
	}
	*ret = w;
	return 0;
}

void whose_close(struct whose *w)
{
	if (!w)
		return;
	errands_close(w->errands);
	free(w);
}

bool whose_ask(struct whose *w, uint32_t job_id, struct whose_job *ret)
{
	const struct known *k = find(w, job_id);

	if (k)
		*ret = k->job;
	else if (!errands_has(w->errands, job_id))
		errands_add(w->errands, job_id, "", 0);
	return k;
}

const char *whose_trouble(const struct whose *w)
{
	return w->trouble;
}

void whose_learn(struct whose *w, const struct whose_job *j)
{
	w->known[w->next] = (struct known){.job = *j, .at_ns = ipc_now_ns()};
	w->next = (w->next + 1) % KNOWN_MAX;
	w->tell.on_answer(w->tell.arg, j->job_id, j);
}
