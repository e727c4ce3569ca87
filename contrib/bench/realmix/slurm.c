/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/bench/realmix/slurm.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "common/cleanup.h"

#define ARGS_MAX   64
#define BATCH_NAME "realmix-batch"
#define OF_BATCH   ("--name=" BATCH_NAME)

/* Starts @argv with standard output and error to @fd, out of reach of the terminal's ^C: the
 * caller decides when its steps end. */
static pid_t spawn(char *const argv[], int fd, struct errbuf *err)
{
	sigset_t none;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return err_set(err, -errno, "fork: %s", strerror(errno));
	if (pid)
		return pid;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	fd = open("/dev/null", O_RDONLY);
	if (fd >= 0)
		dup2(fd, STDIN_FILENO);
	execvp(argv[0], argv);
	dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* Runs @argv and reads what it says (cut to @size); 0, or its failure with the first line. */
static int ask(char *const argv[], char *buf, size_t size, struct errbuf *err)
{
	int fd[2], status = 0;
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC))
		return err_set(err, -errno, "pipe: %s", strerror(errno));
	pid = spawn(argv, fd[1], err);
	close(fd[1]);
	while (pid > 0 && n + 1 < size) {
		got = read(fd[0], buf + n, size - 1 - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	buf[n] = '\0';
	close(fd[0]);
	if (pid < 0)
		return pid;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status)
		return err_set(err, -EIO, "%s: %.*s", argv[0], (int)strcspn(buf, "\n"), buf);
	return 0;
}

int slurm_find_node(struct slurm_node *ret, struct errbuf *err)
{
	char *const argv[] = {"sinfo", "-h", "-N", "-o", "%c %N", NULL};
	char text[4096];
	int rc = ask(argv, text, sizeof(text), err);

	if (rc)
		return rc;
	if (sscanf(text, "%d %63s", &ret->cpus, ret->name) != 2 || ret->cpus < 1)
		return err_set(err, -EPROTO, "sinfo: '%.80s' is no node", text);
	return 0;
}

int slurm_hold(uint32_t *ret_job, const struct slurm_node *node, struct errbuf *err)
{
	char cpus[32], *at, text[4096];
	char *const argv[] = {"salloc", "--no-shell", "-N1", "-n1", cpus, "-w", (char *)node->name,
		"-J", "realmix", "--immediate=30", NULL};
	unsigned int job;
	int rc;

	snprintf(cpus, sizeof(cpus), "-c%d", node->cpus);
	rc = ask(argv, text, sizeof(text), err);
	if (rc)
		return rc;
	at = strstr(text, "Granted job allocation ");
	if (!at || sscanf(at, "Granted job allocation %u", &job) != 1)
		return err_set(err, -EPROTO, "salloc: '%.80s' names no job", text);
	*ret_job = job;
	return 0;
}

int slurm_release(const uint32_t *job, int n, struct errbuf *err)
{
	char list[512] = "", text[4096];
	char *const cancel[] = {"scancel", "-Q", NULL, NULL};
	char *const left[] = {"squeue", "-h", "-o", "%A", "-j", list, NULL};
	char *argv[4];
	int rc = 0;

	for (int i = 0; i < n; i++) {
		char one[16];

		snprintf(one, sizeof(one), "%u", job[i]);
		memcpy(argv, cancel, sizeof(cancel));
		argv[2] = one;
		rc = ask(argv, text, sizeof(text), err);
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? "," : "",
			one);
	}
	for (int i = 0; i < 200; i++) {
		/* squeue fails once Slurm has forgotten them. */
		if (ask(left, text, sizeof(text), NULL) || !text[0])
			return rc;
		nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
	}
	return err_set(err, -ETIMEDOUT, "jobs %.100s do not end", list);
}

/* srun's command line for one task on all CPUs, and its strings. */
struct command {
	const char *argv[ARGS_MAX];
	char job[32], tasks[16], cpus[32];
};

static char *const *make_command(struct command *c, uint32_t job, const struct slurm_node *node,
	const char *const *options, const char *const *argv, int ranks)
{
	int n = 0, tasks = ranks ? ranks : 1;

	snprintf(c->job, sizeof(c->job), "--jobid=%u", job);
	snprintf(c->tasks, sizeof(c->tasks), "-n%d", tasks);
	snprintf(c->cpus, sizeof(c->cpus), "-c%d", node->cpus > tasks ? node->cpus / tasks : 1);
	c->argv[n++] = "srun";
	c->argv[n++] = c->job;
	c->argv[n++] = "--overlap"; /* the step before may still be on its way out */
	c->argv[n++] = "-N1";
	c->argv[n++] = c->tasks;
	c->argv[n++] = c->cpus;
	c->argv[n++] = ranks ? "--mpi=pmix" : "--mpi=none";
	c->argv[n++] = "-Q";
	for (int i = 0; options && options[i] && n < ARGS_MAX - 1; i++)
		c->argv[n++] = options[i];
	for (int i = 0; argv[i] && n < ARGS_MAX - 1; i++)
		c->argv[n++] = argv[i];
	c->argv[n] = NULL;
	return (char *const *)c->argv;
}

pid_t slurm_step(uint32_t job, const struct slurm_node *node, const char *const *options,
	const char *const *argv, int ranks, int log_fd, struct errbuf *err)
{
	struct command c = {0};

	return spawn(make_command(&c, job, node, options, argv, ranks), log_fd, err);
}

pid_t slurm_batch(const struct slurm_node *node, const char *const *argv, int ranks, int log_fd,
	struct errbuf *err)
{
	/* The job tells its end through a pipe of its own: asking Slurm would cost seconds. */
	static const char script[] =
		"cmd=$1 node=$2 tasks=$3 cpus=$4; d=$(mktemp -d) && mkfifo \"$d/f\" || exit 1\n"
		"sbatch --parsable -J " BATCH_NAME
		" -N1 -n$tasks -c$cpus -w \"$node\" -o /dev/null "
		"--wrap=\"$cmd; echo \\$? >$d/f\" >/dev/null || exit 1\n"
		"read -r rc <\"$d/f\"; rm -r \"$d\"; exit \"$rc\"\n";
	char cmd[2048] = "", tasks[16], cpus[16];
	char *const sh[] = {
		"sh", "-c", (char *)script, "sh", cmd, (char *)node->name, tasks, cpus, NULL};
	int n = ranks ? ranks : 1;

	/* Inside of Slurm, Open MPI would start its ranks by a step of its own, which Slurm's gang
	 * refuses as long as the job is suspended. */
	if (ranks)
		snprintf(cmd, sizeof(cmd),
			"mpirun --mca plm isolated --mca ras ^slurm --allow-run-as-root "
			"--oversubscribe -np %d ",
			ranks);
	for (int i = 0; argv[i]; i++)
		snprintf(cmd + strlen(cmd), sizeof(cmd) - strlen(cmd), "'%s' ", argv[i]);
	snprintf(tasks, sizeof(tasks), "%d", n);
	snprintf(cpus, sizeof(cpus), "%d", node->cpus > n ? node->cpus / n : 1);
	return spawn(sh, log_fd, err);
}

int slurm_batch_end(struct errbuf *err)
{
	char text[4096];
	char *const cancel[] = {"scancel", "-Q", OF_BATCH, NULL};
	char *const left[] = {"squeue", "-h", "-o", "%A", OF_BATCH, NULL};
	int rc = ask(cancel, text, sizeof(text), err);

	for (int i = 0; rc == 0 && i < 200; i++) {
		if (ask(left, text, sizeof(text), NULL) || !text[0])
			return 0;
		nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
	}
	return rc ? rc : err_set(err, -ETIMEDOUT, "jobs " BATCH_NAME " do not end");
}

int slurm_ask_step(uint32_t job, const struct slurm_node *node, const char *const *options,
	const char *const *argv, char *buf, size_t size, struct errbuf *err)
{
	struct command c = {0};

	return ask(make_command(&c, job, node, options, argv, 0), buf, size, err);
}

int slurm_run(const char *const *argv, int log_fd, struct errbuf *err)
{
	pid_t pid = spawn((char *const *)argv, log_fd, err);
	int status = 0;

	if (pid < 0)
		return pid;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		kill(-pid, SIGTERM);
	return status ? err_set(err, -EIO, "%s failed", argv[0]) : 0;
}

/* numad has no foreground: it is found by its name in the namespace of a shell that waits. */
pid_t slurm_helper(const char *const *argv, int log_fd, struct errbuf *err)
{
	/* It leaves the scan time of huge pages changed: that is put back. */
	static const char script[] =
		"f=/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs\n"
		"old=$(cat $f); end() { \"$1\" -i 0; echo \"$old\" >$f; exit 0; }\n"
		"trap 'end \"$1\"' TERM; \"$@\" || exit 1\n"
		"while :; do sleep 1 & wait $!; done\n";
	const char *sh[16] = {"sh", "-c", script, "sh"};
	int n = 4;

	for (int i = 0; argv[i] && n < 15; i++)
		sh[n++] = argv[i];
	return spawn((char *const *)sh, log_fd, err);
}

void slurm_helper_end(pid_t pid)
{
	kill(pid, SIGTERM);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static const char *text_of(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) && v ? json_object_get_string(v) : "";
}

/* What colocctl says in JSON; NULL: nothing that can be understood. */
static struct json_object *service_says(const char *socket, const char *what)
{
	char option[128];
	char *const argv[] = {"colocctl", option, "--json", (char *)what, NULL};
	static char text[65536];

	snprintf(option, sizeof(option), "--socket=%s", socket);
	return ask(argv, text, sizeof(text), NULL) ? NULL : json_tokener_parse(text);
}

pid_t service_pid(const char *socket)
{
	struct json_object *root = service_says(socket, "status"), *pid;
	pid_t ret = 0;

	if (root && json_object_object_get_ex(root, "pid", &pid))
		ret = json_object_get_int(pid);
	json_object_put(root);
	return ret;
}

int service_configure(const char *socket, const char *file, const char *variant, struct errbuf *err)
{
	static const char script[] = "cp \"$1.$2\" \"$1\" && exec colocctl --socket=\"$3\" reload";
	char text[4096];
	char *const argv[] = {"sh", "-c", (char *)script, "sh", (char *)file, (char *)variant,
		(char *)socket, NULL};

	return ask(argv, text, sizeof(text), err);
}

void service_policy(
	const char *socket, char *policy, size_t policy_size, char *reason, size_t reason_size)
{
	struct json_object *root = service_says(socket, "jobs"), *jobs;

	policy[0] = reason[0] = '\0';
	if (root && json_object_object_get_ex(root, "steps", &jobs))
		for (size_t i = 0; i < json_object_array_length(jobs); i++) {
			struct json_object *job = json_object_array_get_idx(jobs, i);

			if (!policy[0])
				snprintf(policy, policy_size, "%s", text_of(job, "policy"));
			if (!reason[0])
				snprintf(reason, reason_size, "%s", text_of(job, "reason"));
		}
	json_object_put(root);
}
