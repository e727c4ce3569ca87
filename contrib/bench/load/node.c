/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/bench/load/node.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/ipc.h"
#include "common/msg.h"
#include "tests/live/step_fixture.h"

#define CPUSET     "/sys/fs/cgroup/cpuset"
#define PERIOD_NS  INT64_C(100000000)
#define REPLY_NS   INT64_C(10000000000)
#define STARTED_NS INT64_C(30000000000)

static void die(const char *what)
{
	fprintf(stderr, "overhead: %s: %s\n", what, strerror(errno));
	exit(1);
}

const char *node_why_not(void)
{
	return step_tree_why_not();
}

static void nap_ns(int64_t ns)
{
	struct timespec ts = {ns / 1000000000, ns % 1000000000};

	nanosleep(&ts, NULL);
}

/* A task: so much of each period, at a phase of its own. */
__attribute__((noreturn)) static void be_task(double duty, unsigned int seed)
{
	int64_t busy = (int64_t)(duty * (double)PERIOD_NS);

	if (busy <= 0)
		for (;;)
			pause();
	nap_ns((int64_t)(seed * UINT64_C(2654435761) % (uint64_t)PERIOD_NS));
	for (;;) {
		int64_t until = ipc_now_ns() + busy;

		while (ipc_now_ns() < until)
			;
		nap_ns(PERIOD_NS - busy);
	}
}

static void sub_of(int i, char *ret, size_t size)
{
	snprintf(ret, size, "uid_0/job_%d/step_0", i + 1);
}

static pid_t start_task(const struct node *n, int step, double duty, unsigned int seed, int joined)
{
	char file[512], sub[64];
	pid_t pid = fork();
	FILE *f;

	if (pid < 0)
		die("fork");
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "task");
	/* What else runs here goes first. */
	setpriority(PRIO_PROCESS, 0, 19);
	sub_of(step, sub, sizeof(sub));
	snprintf(file, sizeof(file), CPUSET "/%s/%s/tasks", n->top, sub);
	f = fopen(file, "we");
	if (!f || fprintf(f, "%d\n", (int)getpid()) < 0 || fclose(f) != 0 ||
		write(joined, "", 1) != 1)
		_exit(5);
	be_task(duty, seed);
}

static void make_tree(struct node *n, const struct node_cfg *cfg)
{
	double duty = cfg->load_cores / (cfg->steps * cfg->tasks + 1e-9);
	char cpus[256] = "", sub[64], byte;
	int joined[2];
	FILE *f = fopen(CPUSET "/cpuset.cpus", "re");

	if (!f || !fgets(cpus, sizeof(cpus), f))
		die(CPUSET "/cpuset.cpus");
	fclose(f);
	if (pipe2(joined, O_CLOEXEC) < 0)
		die("pipe");
	cpus[strcspn(cpus, "\n")] = '\0';
	step_tree_mkdir(n->top, "", cpus);
	step_tree_mkdir(n->top, "uid_0", cpus);
	for (int i = 0; i < cfg->steps; i++) {
		snprintf(sub, sizeof(sub), "uid_0/job_%d", i + 1);
		step_tree_mkdir(n->top, sub, cpus);
		sub_of(i, sub, sizeof(sub));
		step_tree_mkdir(n->top, sub, cpus);
		for (int k = 0; k < cfg->tasks; k++)
			n->task[i * cfg->tasks + k] = start_task(
				n, i, duty, (unsigned int)(i * cfg->tasks + k + 1), joined[1]);
	}
	close(joined[1]);
	for (int i = 0; i < cfg->steps * cfg->tasks; i++)
		if (read(joined[0], &byte, 1) != 1)
			die("a task did not come into its step");
	close(joined[0]);
}

static void start_daemon(struct node *n, const struct node_cfg *cfg)
{
	char conf[160], log[160];
	int64_t until = ipc_now_ns() + STARTED_NS;
	FILE *f;

	snprintf(conf, sizeof(conf), "%s/coloc.yaml", n->dir);
	snprintf(log, sizeof(log), "%s/log", n->dir);
	snprintf(n->socket, sizeof(n->socket), "%s/colocd.sock", n->dir);
	f = fopen(conf, "we");
	if (!f)
		die(conf);
	fprintf(f,
		"policy: %s\nsocket: %s\nstore: %s/store\ninterval_ms: %d\ntick_ms: %d\n"
		"counters: {source: none}\n",
		cfg->policy, n->socket, n->dir, cfg->interval_ms, cfg->interval_ms);
	fclose(f);
	n->daemon = fork();
	if (n->daemon < 0)
		die("fork");
	if (n->daemon == 0) {
		int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		prctl(PR_SET_PDEATHSIG, SIGTERM);
		dup2(fd, STDOUT_FILENO);
		dup2(fd, STDERR_FILENO);
		execl(cfg->colocd, cfg->colocd, "-c", conf, (char *)NULL);
		_exit(127);
	}
	while (access(n->socket, F_OK) < 0) {
		if (waitpid(n->daemon, NULL, WNOHANG) != 0 || ipc_now_ns() > until) {
			fprintf(stderr, "overhead: colocd does not start; see %s\n", log);
			exit(1);
		}
		nap_ns(5000000);
	}
}

/* Whatever ends the program. */
static struct node *up;
static bool registered;

static void clean_up(void)
{
	if (up)
		node_down(up);
}

void node_up(struct node *n, const struct node_cfg *cfg)
{
	memset(n, 0, sizeof(*n));
	n->steps = cfg->steps;
	n->tasks = cfg->tasks;
	n->task = calloc((size_t)(cfg->steps * cfg->tasks) + 1, sizeof(*n->task));
	snprintf(n->top, sizeof(n->top), "slurm_cobench%d", (int)getpid());
	snprintf(n->dir, sizeof(n->dir), "/tmp/coloc-overhead.XXXXXX");
	if (!n->task || !mkdtemp(n->dir))
		die("set up");
	if (!registered)
		atexit(clean_up);
	registered = true;
	up = n;
	make_tree(n, cfg);
	start_daemon(n, cfg);
}

void node_down(struct node *n)
{
	char cmd[192];

	if (n->daemon > 0) {
		kill(n->daemon, SIGCONT);
		kill(n->daemon, SIGTERM);
		while (waitpid(n->daemon, NULL, 0) < 0 && errno == EINTR)
			;
	}
	for (int i = 0; i < n->steps * n->tasks; i++)
		if (n->task[i] > 0)
			kill(n->task[i], SIGKILL);
	step_tree_sweep(n->top);
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", n->dir);
	/* NOLINTNEXTLINE(cert-env33-c): a folder that we made */
	if (system(cmd) != 0)
		fprintf(stderr, "overhead: %s stays\n", n->dir);
	free(n->task);
	memset(n, 0, sizeof(*n));
	up = NULL;
}

void node_disown(void)
{
	up = NULL;
}

/* ---- messages ------------------------------------------------------------------------------ */

static int open_conn(const struct node *n)
{
	struct errbuf err;
	int fd = ipc_connect(n->socket, ipc_now_ns() + REPLY_NS, &err);

	if (fd < 0) {
		fprintf(stderr, "overhead: %s\n", err.text);
		exit(1);
	}
	return fd;
}

static void put_ids(struct msg *m, const char *type, int i)
{
	msg_init(m, type);
	msg_putf(m, "job", "%d", i + 1);
	msg_put(m, "step", "0");
	msg_put(m, "nodeid", "0");
}

static void ask(int fd, struct msg *m, const char *want)
{
	struct errbuf err;
	int64_t deadline = ipc_now_ns() + REPLY_NS;

	if (ipc_send(fd, m, deadline, &err) < 0 || ipc_recv(fd, m, deadline, &err) < 0) {
		fprintf(stderr, "overhead: %s\n", err.text);
		exit(1);
	}
	if (strcmp(msg_get(m, "type"), want) != 0) {
		fprintf(stderr, "overhead: %s, not %s: %s\n", msg_get(m, "type"), want,
			msg_get(m, "reason") ? msg_get(m, "reason") : "");
		exit(1);
	}
}

int64_t node_register(struct node *n, int i)
{
	static struct msg m;
	int64_t start = ipc_now_ns();
	int fd = open_conn(n);

	put_ids(&m, "step_start", i);
	msg_put(&m, "uid", "0");
	msg_put(&m, "nnodes", "1");
	msg_putf(&m, "ntasks", "%d", n->tasks);
	msg_putf(&m, "name", "/opt/bin/program%d", i % 8);
	msg_put(&m, "jobname", "overhead");
	msg_put(&m, "partition", "bench");
	ask(fd, &m, "step_ok");
	for (int k = 0; k < n->tasks; k++) {
		put_ids(&m, "task_start", i);
		msg_putf(&m, "task", "%d", k);
		msg_putf(&m, "pid", "%d", (int)n->task[i * n->tasks + k]);
		ask(fd, &m, "task_ok");
	}
	close(fd);
	return ipc_now_ns() - start;
}

void node_end_step(struct node *n, int i)
{
	static struct msg m;
	struct errbuf err;
	int fd = open_conn(n);

	put_ids(&m, "step_end", i);
	if (ipc_send(fd, &m, ipc_now_ns() + REPLY_NS, &err) < 0)
		fprintf(stderr, "overhead: %s\n", err.text);
	close(fd);
	/* No answer comes; one that is asked afterwards says that it was heard. */
	node_ping(n);
}

int64_t node_ping(struct node *n)
{
	static struct msg m;
	int64_t start = ipc_now_ns();
	int fd = open_conn(n);

	msg_init(&m, "ctl");
	msg_put(&m, "cmd", "ping");
	ask(fd, &m, "ctl_part");
	close(fd);
	return ipc_now_ns() - start;
}

char *node_status(const struct node *n)
{
	static struct msg m;
	struct errbuf err;
	int64_t deadline = ipc_now_ns() + REPLY_NS;
	char *text = calloc(1, 1);
	size_t len = 0;
	int fd = open_conn(n);

	msg_init(&m, "ctl");
	msg_put(&m, "cmd", "status");
	ask(fd, &m, "ctl_part");
	while (text && strcmp(msg_get(&m, "type"), "ctl_part") == 0) {
		const char *part = msg_get(&m, "json");
		char *longer = realloc(text, len + strlen(part) + 1);

		if (!longer)
			break;
		text = longer;
		strcpy(text + len, part);
		len += strlen(part);
		if (ipc_recv(fd, &m, deadline, &err) < 0)
			die(err.text);
	}
	close(fd);
	if (!text)
		die("status");
	return text;
}

/* ---- what the daemon uses ------------------------------------------------------------------ */

/* colocd and its children (the guard). */
static void each_process(const struct node *n, void (*fn)(pid_t pid, void *arg), void *arg)
{
	char path[64], text[4096] = "";
	FILE *f;

	fn(n->daemon, arg);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)n->daemon, (int)n->daemon);
	f = fopen(path, "re");
	if (f && fgets(text, sizeof(text), f))
		for (char *p = strtok(text, " \n"); p; p = strtok(NULL, " \n"))
			fn(atoi(p), arg);
	if (f)
		fclose(f);
}

static void add_cpu(pid_t pid, void *arg)
{
	int64_t *sum = arg;
	uint64_t run = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%" SCNu64, &run) == 1)
		*sum += (int64_t)run;
	if (f)
		fclose(f);
}

int64_t node_daemon_cpu_ns(const struct node *n)
{
	int64_t sum = 0;

	each_process(n, add_cpu, &sum);
	return sum;
}

int64_t node_tasks_cpu_ns(const struct node *n)
{
	int64_t sum = 0;

	for (int i = 0; i < n->steps * n->tasks; i++)
		add_cpu(n->task[i], &sum);
	return sum;
}

int node_daemon_fds(const struct node *n)
{
	char path[64];
	int fds = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)n->daemon);
	dir = opendir(path);
	if (!dir)
		return -1;
	for (struct dirent *e; (e = readdir(dir));)
		fds += e->d_name[0] != '.';
	closedir(dir);
	return fds;
}

struct rss {
	double now, peak;
	pid_t daemon;
};

static void add_rss(pid_t pid, void *arg)
{
	struct rss *r = arg;
	char path[64], line[256];
	double now = 0, file = 0, peak = 0, v;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "VmRSS: %lf", &v) == 1)
			now = v;
		if (sscanf(line, "VmHWM: %lf", &v) == 1)
			peak = v;
		if (sscanf(line, "RssFile: %lf", &v) == 1)
			file = v;
	}
	if (f)
		fclose(f);
	/* The guard's program pages are the daemon's. */
	if (pid != r->daemon) {
		now -= file;
		peak = now;
	}
	r->now += now / 1024;
	r->peak += peak / 1024;
}

void node_daemon_rss(const struct node *n, double *ret_now, double *ret_peak)
{
	struct rss r = {.daemon = n->daemon};

	each_process(n, add_rss, &r);
	*ret_now = r.now;
	*ret_peak = r.peak;
}
