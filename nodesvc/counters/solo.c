/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/counters/solo.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ipc.h"
#include "common/schedstat.h"

/* A look costs about 20 us per thread: under 0.5 % of a core up to a handful of threads. */
#define FIRST_LOOK_MS 2
#define LOOK_MS       20
#define MAX_DEPTH     16
#define MAX_BUSY      4096

struct busy {
	uint64_t run_ns[MAX_BUSY];
	struct thread_wait wait[MAX_BUSY];
	int n;
};

static void look_at_process(pid_t pid, struct busy *b, int depth);

static void look_at_thread(pid_t pid, const char *tid, struct busy *b, int depth)
{
	cleanup_file FILE *stat = NULL, *children = NULL;
	char path[320];
	char line[128];
	struct schedstat now;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", (int)pid, tid);
	stat = fopen(path, "re");
	if (stat && b->n < MAX_BUSY && fgets(line, sizeof(line), stat) &&
		schedstat_parse(line, &now)) {
		b->run_ns[b->n] = now.run_ns;
		b->wait[b->n++] = (struct thread_wait){atoi(tid), now.wait_ns};
	}
	snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid, tid);
	children = fopen(path, "re"); /* a kernel without it: the first process is what we see */
	while (children && fscanf(children, "%d", &child) == 1)
		look_at_process(child, b, depth + 1);
}

static void look_at_process(pid_t pid, struct busy *b, int depth)
{
	cleanup_dir DIR *d = NULL;
	struct dirent *e;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = depth < MAX_DEPTH ? opendir(path) : NULL;
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			look_at_thread(pid, e->d_name, b, depth);
}

static int count_busy(const struct busy *b)
{
	uint64_t most = 0;
	int n = 0;

	for (int i = 0; i < b->n; i++)
		most = b->run_ns[i] > most ? b->run_ns[i] : most;
	for (int i = 0; most && i < b->n; i++)
		n += b->run_ns[i] >= most / 20;
	return n;
}

int solo_count_threads(pid_t pid)
{
	cleanup_free struct busy *b = calloc(1, sizeof(*b));

	if (!b)
		return 0;
	look_at_process(pid, b, 0);
	return count_busy(b);
}

static int compare_tid(const void *a, const void *b)
{
	pid_t x = ((const struct thread_wait *)a)->tid, y = ((const struct thread_wait *)b)->tid;

	return (x > y) - (x < y);
}

void wait_sum_take(struct wait_sum *w, struct thread_wait *now, int n)
{
	if (n)
		qsort(now, (size_t)n, sizeof(*now), compare_tid);
	for (int i = 0; i < w->n; i++) {
		const struct thread_wait *same =
			n ? bsearch(&w->last[i], now, (size_t)n, sizeof(*now), compare_tid) : NULL;

		/* Gone, or its number is another's now: a delay never shrinks. */
		if (!same || same->wait_ns < w->last[i].wait_ns)
			w->gone_ns += w->last[i].wait_ns;
	}
	free(w->last);
	w->last = now;
	w->n = n;
}

uint64_t wait_sum_ns(const struct wait_sum *w)
{
	uint64_t sum = w->gone_ns;

	for (int i = 0; i < w->n; i++)
		sum += w->last[i].wait_ns;
	return sum;
}

void wait_sum_done(struct wait_sum *w)
{
	free(w->last);
	*w = (struct wait_sum){0};
}

/* Watches the width while the caller waits for the end: waiting itself must be exact. */
struct watch {
	pid_t pid;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool over;
	int threads;
	struct wait_sum wait;
};

static void look(struct watch *w)
{
	cleanup_free struct busy *b = calloc(1, sizeof(*b));
	struct thread_wait *now;
	int n;

	if (!b)
		return;
	look_at_process(w->pid, b, 0);
	n = count_busy(b);
	w->threads = n > w->threads ? n : w->threads;
	if (!b->n)
		return; /* over: the last look stands */
	now = malloc(sizeof(*now) * (size_t)b->n);
	if (!now)
		return;
	memcpy(now, b->wait, sizeof(*now) * (size_t)b->n);
	wait_sum_take(&w->wait, now, b->n);
}

static void *watch_main(void *arg)
{
	struct watch *w = arg;
	int64_t at = ipc_now_ns() + FIRST_LOOK_MS * INT64_C(1000000);

	pthread_mutex_lock(&w->lock);
	while (!w->over) {
		struct timespec t = {.tv_sec = at / 1000000000, .tv_nsec = at % 1000000000};

		if (pthread_cond_timedwait(&w->wake, &w->lock, &t) != ETIMEDOUT)
			continue;
		pthread_mutex_unlock(&w->lock);
		look(w); /* what it fills is read after the thread has ended */
		pthread_mutex_lock(&w->lock);
		at = ipc_now_ns() + LOOK_MS * INT64_C(1000000);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void child_main(const struct solo_opts *o, int go_fd, int failed_fd)
{
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC), e;
	char c;

	if (read(go_fd, &c, 1) != 1)
		_exit(127);
	if (null_fd >= 0)
		dup2(null_fd, STDIN_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	for (int i = 0; o->env && o->env[i]; i++)
		putenv((char *)o->env[i]);
	execvp(o->argv[0], o->argv);
	e = errno;
	if (write(failed_fd, &e, sizeof(e)) < 0)
		_exit(126);
	_exit(127);
}

static int judge(const char *name, int status, struct errbuf *err)
{
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	if (WIFSIGNALED(status))
		return err_set(err, -ECHILD, "'%s' was killed by signal %d (%s)", name,
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	return err_set(err, -ECHILD, "'%s' ended with exit status %d", name, WEXITSTATUS(status));
}

/* Lets the child exec and waits for its end. */
static int follow(const struct solo_opts *o, pid_t pid, int go_fd, int failed_fd,
	struct solo_result *ret, struct errbuf *err)
{
	struct watch w = {.pid = pid, .lock = PTHREAD_MUTEX_INITIALIZER};
	int64_t start_ns = ipc_now_ns();
	pthread_condattr_t attr;
	struct rusage used;
	int status = 0, failed = 0, rc;
	pthread_t watcher;
	bool watching = false;

	if (write(go_fd, "", 1) != 1)
		return err_set(err, -errno, "'%s': %s", o->argv[0], strerror(errno));
	rc = read(failed_fd, &failed, sizeof(failed)) == sizeof(failed) ? failed : 0;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w.wake, &attr);
	pthread_condattr_destroy(&attr);
	if (!rc)
		watching = !pthread_create(&watcher, NULL, watch_main, &w);
	while (wait4(pid, &status, 0, &used) < 0 && errno == EINTR)
		;
	ret->wall_s = (double)(ipc_now_ns() - start_ns) / 1e9;
	if (watching) {
		pthread_mutex_lock(&w.lock);
		w.over = true;
		pthread_cond_signal(&w.wake);
		pthread_mutex_unlock(&w.lock);
		pthread_join(watcher, NULL);
	}
	pthread_cond_destroy(&w.wake);
	ret->wait_s = (double)wait_sum_ns(&w.wait) / 1e9;
	wait_sum_done(&w.wait);
	if (rc)
		return err_set(err, -rc, "'%s': %s", o->argv[0], strerror(rc));
	ret->threads = w.threads;
	ret->cpu_s = (double)used.ru_utime.tv_sec + (double)used.ru_utime.tv_usec / 1e6 +
		     (double)used.ru_stime.tv_sec + (double)used.ru_stime.tv_usec / 1e6;
	return judge(o->argv[0], status, err);
}

/* Opens the counters before exec: with inheritance they see all there will be. */
static int run_counted(const struct solo_opts *o, pid_t pid, int go_fd, int failed_fd,
	struct solo_result *ret, struct errbuf *err)
{
	struct counter_target target = {.tid = &pid, .n_tids = 1};
	struct counters *c = NULL;
	int rc = o->ops ? o->ops->open(&c, &target, err) : 0;

	if (rc) {
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		return err_wrap(err, rc, "%s", o->ops->name);
	}
	rc = follow(o, pid, go_fd, failed_fd, ret, err);
	if (!rc && o->ops)
		rc = o->ops->read(c, &target, &ret->counted, err);
	if (o->ops)
		o->ops->close(c);
	return rc;
}

int solo_run(const struct solo_opts *opts, struct solo_result *ret, struct errbuf *err)
{
	cleanup_close int go_read = -1, go_write = -1, failed_read = -1, failed_write = -1;
	struct solo_result result = {0};
	int fd[2], rc;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC))
		return err_set(err, -errno, "pipe: %s", strerror(errno));
	go_read = fd[0];
	go_write = fd[1];
	if (pipe2(fd, O_CLOEXEC))
		return err_set(err, -errno, "pipe: %s", strerror(errno));
	failed_read = fd[0];
	failed_write = fd[1];
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return err_set(err, -errno, "fork: %s", strerror(errno));
	if (pid == 0) {
		close(go_write); /* or we would never see the parent's end */
		child_main(opts, go_read, failed_write);
	}
	close(take_fd(failed_write));
	rc = run_counted(opts, pid, go_write, failed_read, &result, err);
	if (!rc)
		*ret = result;
	return rc;
}
