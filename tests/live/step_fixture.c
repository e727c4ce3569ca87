/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/live/step_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CPUSET "/sys/fs/cgroup/cpuset"

static void die(const char *what)
{
	perror(what);
	exit(2);
}

const char *step_tree_why_not(void)
{
	if (geteuid() != 0)
		return "not root";
	if (access(CPUSET "/cpuset.cpus", W_OK) < 0)
		return "no cgroup v1 cpuset hierarchy at " CPUSET;
	return NULL;
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), rc = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

static void read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, buf, size - 1);

	buf[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

static void make_dir(const char *path, const char *cpus)
{
	char file[512], mems[64];

	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		die(path);
	read_file(CPUSET "/cpuset.mems", mems, sizeof(mems));
	snprintf(file, sizeof(file), "%s/cpuset.mems", path);
	if (write_file(file, mems) < 0)
		die(file);
	snprintf(file, sizeof(file), "%s/cpuset.cpus", path);
	if (write_file(file, cpus) < 0)
		die(file);
}

void step_tree_mkdir(const char *top, const char *sub, const char *cpus)
{
	char path[400];

	snprintf(path, sizeof(path), CPUSET "/%s/%s", top, sub);
	make_dir(path, cpus);
}

void step_tree_make(const char *top, const char *cpus)
{
	step_tree_mkdir(top, "", cpus);
	step_tree_mkdir(top, "uid_0", cpus);
	step_tree_mkdir(top, "uid_0/job_1", cpus);
	step_tree_mkdir(top, "uid_0/job_1/step_0", cpus);
}

static int kill_in(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	char file[512], text[65536];

	(void)st, (void)ftw;
	if (flag != FTW_DP)
		return 0;
	snprintf(file, sizeof(file), "%s/cgroup.procs", path);
	for (int i = 0; i < 2000; i++) {
		struct timespec nap = {.tv_nsec = 2000000};

		read_file(file, text, sizeof(text));
		for (char *p = strtok(text, "\n"); p; p = strtok(NULL, "\n"))
			kill(atoi(p), SIGKILL);
		/* A dead process stays until it has been reaped. */
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (rmdir(path) == 0 || errno != EBUSY)
			break;
		nanosleep(&nap, NULL);
	}
	return 0;
}

void step_tree_sweep(const char *top)
{
	char path[400];

	snprintf(path, sizeof(path), CPUSET "/%s", top);
	nftw(path, kill_in, 8, FTW_DEPTH | FTW_PHYS);
}

int step_write(const char *top, const char *sub, const char *cpus)
{
	char file[512];

	snprintf(file, sizeof(file), CPUSET "/%s/%s/cpuset.cpus", top, sub);
	return write_file(file, cpus);
}

const char *step_read(const char *top, const char *sub)
{
	static char text[256];
	char file[512];

	snprintf(file, sizeof(file), CPUSET "/%s/%s/cpuset.cpus", top, sub);
	read_file(file, text, sizeof(text));
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* ---- processes ----------------------------------------------------------------------------- */

static int ready_fd;

static void tell(pid_t tid)
{
	if (write(ready_fd, &tid, sizeof(tid)) != sizeof(tid))
		_exit(3);
}

static void *wait_forever(void *arg)
{
	(void)arg;
	tell(gettid());
	for (;;)
		pause();
	return NULL;
}

static void *short_life(void *arg)
{
	for (volatile int i = 0; i < 20000; i++)
		;
	return arg;
}

static void storm_of_threads(void)
{
	for (;;) {
		pthread_t t[8];

		for (int i = 0; i < 8; i++)
			if (pthread_create(&t[i], NULL, short_life, NULL))
				_exit(4);
		for (int i = 0; i < 8; i++)
			pthread_join(t[i], NULL);
	}
}

static void storm_of_forks(void)
{
	for (;;) {
		pid_t pid = fork();

		if (pid == 0) {
			short_life(NULL);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

static void work(int n, enum worker_kind kind)
{
	tell(getpid());
	if (kind == WORKER_LATER) {
		sigset_t usr1;
		int sig;

		/* Blocked since before fork(). */
		sigemptyset(&usr1);
		sigaddset(&usr1, SIGUSR1);
		sigwait(&usr1, &sig);
	}
	if (kind == WORKER_PARENT || kind == WORKER_LATER) {
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, 0);
			tell(getpid());
		}
	} else {
		for (int i = 1; i < n; i++) {
			pthread_t t;

			if (pthread_create(&t, NULL, wait_forever, NULL))
				_exit(4);
		}
	}
	if (kind == WORKER_THREADS)
		storm_of_threads();
	if (kind == WORKER_FORKS)
		storm_of_forks();
	for (;;)
		pause();
}

struct worker worker_start(const char *top, const char *sub, const char *comm, const char *mask,
	int n, enum worker_kind kind)
{
	struct worker w = {.n = n};
	char file[512], text[32];
	sigset_t usr1;
	int fd[2];

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	if (pipe2(fd, O_CLOEXEC) < 0)
		die("pipe");
	w.pid = fork();
	if (w.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, comm);
		ready_fd = fd[1];
		snprintf(file, sizeof(file), CPUSET "/%s/%s/tasks", top, sub);
		snprintf(text, sizeof(text), "%d", (int)getpid());
		if (write_file(file, text) < 0)
			_exit(5);
		if (mask)
			set_mask_of(0, mask);
		work(n, kind);
	}
	close(fd[1]);
	for (int i = 0; i < n; i++)
		if (read(fd[0], &w.tid[i], sizeof(w.tid[i])) != sizeof(w.tid[i]))
			die("worker");
	w.fd = fd[0];
	return w;
}

pid_t worker_fork(struct worker *w)
{
	pid_t pid = -1;

	if (kill(w->pid, SIGUSR1) < 0 || read(w->fd, &pid, sizeof(pid)) != sizeof(pid))
		die("worker_fork");
	return pid;
}

void worker_stop(struct worker *w)
{
	kill(w->pid, SIGKILL);
	waitpid(w->pid, NULL, 0);
	w->pid = -1;
}

const char *mask_of(pid_t tid)
{
	static char text[8][128];
	static int next;
	struct coreset mask;
	cpu_set_t set;

	next = (next + 1) % 8;
	CPU_ZERO(&set);
	if (sched_getaffinity(tid, sizeof(set), &set) < 0)
		return "gone";
	memcpy(&mask, &set, sizeof(mask));
	return coreset_format(&mask, text[next], sizeof(text[next]));
}

void set_mask_of(pid_t tid, const char *cpus)
{
	struct coreset mask;
	cpu_set_t set;

	if (coreset_parse(&mask, cpus, NULL) < 0)
		die(cpus);
	memcpy(&set, &mask, sizeof(set));
	if (sched_setaffinity(tid, sizeof(set), &set) < 0)
		die("sched_setaffinity");
}

char *step_snapshot(const char *top, const char *sub)
{
	char file[512], tasks[65536], *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		die("open_memstream");
	snprintf(file, sizeof(file), CPUSET "/%s/%s/tasks", top, sub);
	read_file(file, tasks, sizeof(tasks));
	fprintf(f, "cpuset %s\n", step_read(top, sub));
	for (char *p = strtok(tasks, "\n"); p; p = strtok(NULL, "\n"))
		fprintf(f, "%s: %s\n", p, mask_of(atoi(p)));
	fclose(f);
	return text;
}

static int run(Suite *suite)
{
	SRunner *sr = srunner_create(suite);
	int failed;

	/* One process: the tests' children have it as their parent. */
	srunner_set_fork_status(sr, CK_NOFORK);
	srunner_set_tap(sr, "/dev/stdout");
	srunner_run_all(sr, CK_SILENT);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}

int step_tree_main(Suite *suite, char *top, size_t size, struct coreset *ret_pus)
{
	const char *why = step_tree_why_not();
	cpu_set_t cpus;
	int status;
	pid_t pid;

	if (!why && (sched_getaffinity(0, sizeof(cpus), &cpus) < 0 || !CPU_ISSET(0, &cpus) ||
			    !CPU_ISSET(1, &cpus)))
		why = "needs CPUs 0 and 1";
	if (why) {
		printf("1..0 # SKIP %s\n", why);
		return 77;
	}
	for (int i = 0; i < CORESET_MAX; i++)
		if (CPU_ISSET(i, &cpus))
			coreset_add(ret_pus, (unsigned int)i);
	snprintf(top, size, "slurm_coloctest%d", (int)getpid());
	pid = fork();
	if (pid == 0) {
		alarm(120);
		exit(run(suite));
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		status = 1;
	step_tree_sweep(top);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
