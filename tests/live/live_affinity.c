/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live_affinity DIR CPULIST STAGES SCRIPT - a program that makes the calls by which programs bind
 * themselves, and their neighbours, and says what each returned: "STAGE WHO CALL: RESULT ERRNO".
 * Of what placement may change (masks, times, priorities) it says nothing, so that two runs are the
 * same text if no call fared differently.
 *
 * CPULIST is what the job was given: a program may know it, whatever it runs on now. Each stage
 * begins when DIR/go.STAGE is there and ends with DIR/done.STAGE; last, DIR/go.race to
 * DIR/stop.race, it makes its calls without a pause and says which fared otherwise than the first
 * time. SCRIPT is run by a shell in every stage, with the stage as its argument.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Masks as large as glibc's; a machine with more CPUs is tested on the first of them. */
#define CPUS CPU_SETSIZE
/* No machine has this one. */
#define NO_SUCH_CPU (CPUS - 1)

static int cpu[CPUS], n_cpus;
static const char *dir;
static __thread bool quiet;
static __thread unsigned long n_failed; /* of the quiet ones */

/* --- what is said ------------------------------------------------------------------------------
 */

static __thread char said[64]; /* "STAGE WHO" */

/* @result as it is if it is a failure, else 0: descriptors, sizes and pids differ. */
__attribute__((format(printf, 3, 4))) static void say(
	long result, int error, const char *format, ...)
{
	char call[160];
	va_list ap;

	va_start(ap, format);
	vsnprintf(call, sizeof(call), format, ap);
	va_end(ap);
	if (!quiet)
		printf("%s %s: %ld %s\n", said, call, result < 0 ? result : 0,
			result < 0 ? strerrorname_np(error) : "ok");
	else if (result < 0)
		n_failed++;
}

/* A call with errno; one that returns the error. */
#define CALL(expr, ...)                                                                            \
	do {                                                                                       \
		errno = 0;                                                                         \
		long result_ = (long)(expr);                                                       \
		say(result_, errno, __VA_ARGS__);                                                  \
	} while (0)
#define PCALL(expr, ...)                                                                           \
	do {                                                                                       \
		int error_ = (expr);                                                               \
		say(error_ ? -1 : 0, error_, __VA_ARGS__);                                         \
	} while (0)

static void parse_cpus(const char *p)
{
	while (isdigit((unsigned char)*p)) {
		char *end;
		long from = strtol(p, &end, 10), to = from;

		if (*end == '-')
			to = strtol(end + 1, &end, 10);
		for (long c = from; c <= to && n_cpus < CPUS - 1; c++)
			cpu[n_cpus++] = (int)c;
		p = end + (*end == ',');
	}
}

static void set_one(cpu_set_t *s, int c)
{
	CPU_ZERO(s);
	CPU_SET((size_t)c, s);
}

static void set_whole(cpu_set_t *s)
{
	CPU_ZERO(s);
	for (int i = 0; i < n_cpus; i++)
		CPU_SET((size_t)cpu[i], s);
}

/* --- the calls ---------------------------------------------------------------------------------
 */

static void bind_pid(pid_t pid, const char *whom)
{
	cpu_set_t s, mine;

	for (int i = 0; i < n_cpus; i++) {
		set_one(&s, cpu[i]);
		CALL(sched_setaffinity(pid, sizeof(s), &s), "sched_setaffinity %s to %d", whom,
			cpu[i]);
		CALL(sched_getaffinity(pid, sizeof(mine), &mine), "sched_getaffinity %s", whom);
	}
	for (int i = 1; i < n_cpus; i++) {
		set_one(&s, cpu[i - 1]);
		CPU_SET((size_t)cpu[i], &s);
		CALL(sched_setaffinity(pid, sizeof(s), &s), "sched_setaffinity %s to %d and %d",
			whom, cpu[i - 1], cpu[i]);
	}
	/* What was read is set again, as GROMACS does. */
	CALL(sched_getaffinity(pid, sizeof(mine), &mine), "sched_getaffinity %s", whom);
	CALL(sched_setaffinity(pid, sizeof(mine), &mine), "sched_setaffinity %s to what it has",
		whom);
	memset(&s, 0xff, sizeof(s));
	CALL(sched_setaffinity(pid, sizeof(s), &s), "sched_setaffinity %s to every bit", whom);
	set_one(&s, NO_SUCH_CPU);
	CALL(sched_setaffinity(pid, sizeof(s), &s), "sched_setaffinity %s to none that exists",
		whom);
	CPU_ZERO(&s);
	CALL(sched_setaffinity(pid, sizeof(s), &s), "sched_setaffinity %s to none", whom);
	set_whole(&s);
	CALL(sched_setaffinity(pid, sizeof(s), &s), "sched_setaffinity %s to all", whom);
}

static void read_sizes(void)
{
	static const size_t sizes[] = {0, 1, 4, 8, 12, 64, 128, 1024, 8192};
	static unsigned long buf[8192 / sizeof(long)];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		CALL(syscall(SYS_sched_getaffinity, 0, sizes[i], buf),
			"sched_getaffinity of %zu bytes", sizes[i]);
}

static void *idle_thread(void *arg)
{
	pthread_barrier_wait(arg);
	pthread_barrier_wait(arg);
	return NULL;
}

static void *nothing(void *arg)
{
	return arg;
}

static void create_on(int c, const pthread_attr_t *attr)
{
	pthread_t t;
	int rc = pthread_create(&t, attr, nothing, NULL);

	say(rc ? -1 : 0, rc, "pthread_create bound to %d", c);
	if (rc == 0)
		pthread_join(t, NULL);
}

static void bind_threads(void)
{
	pthread_barrier_t b;
	pthread_attr_t attr;
	cpu_set_t s;
	pthread_t t;

	pthread_barrier_init(&b, NULL, 2);
	if (pthread_create(&t, NULL, idle_thread, &b) != 0)
		return;
	pthread_barrier_wait(&b);
	for (int i = 0; i < n_cpus; i++) {
		set_one(&s, cpu[i]);
		PCALL(pthread_setaffinity_np(t, sizeof(s), &s), "pthread_setaffinity_np to %d",
			cpu[i]);
		PCALL(pthread_getaffinity_np(t, sizeof(s), &s), "pthread_getaffinity_np");
	}
	pthread_barrier_wait(&b);
	pthread_join(t, NULL);
	pthread_barrier_destroy(&b);
	for (int i = 0; i < n_cpus; i++) {
		pthread_attr_init(&attr);
		set_one(&s, cpu[i]);
		PCALL(pthread_attr_setaffinity_np(&attr, sizeof(s), &s),
			"pthread_attr_setaffinity_np to %d", cpu[i]);
		create_on(cpu[i], &attr);
		pthread_attr_destroy(&attr);
	}
}

/* The kernel's struct sched_attr, which only newer C libraries have. */
struct kernel_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static long set_attr(uint32_t policy, int nice)
{
	struct kernel_attr a = {.size = sizeof(a), .policy = policy, .nice = nice};

	return syscall(SYS_sched_setattr, 0, &a, 0);
}

static void explicit_class(void)
{
	struct sched_param p = {0};
	pthread_attr_t attr;
	pthread_t t;
	int rc;

	pthread_attr_init(&attr);
	PCALL(pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED), "explicit scheduling");
	PCALL(pthread_attr_setschedpolicy(&attr, SCHED_OTHER), "of SCHED_OTHER");
	rc = pthread_create(&t, &attr, nothing, NULL);
	say(rc ? -1 : 0, rc, "pthread_create in SCHED_OTHER");
	if (rc == 0)
		pthread_join(t, NULL);
	pthread_attr_destroy(&attr);
	PCALL(pthread_setschedparam(pthread_self(), SCHED_OTHER, &p), "pthread_setschedparam");
}

/* In a child: who is not root does not get back from some of them. */
static void change_class(void)
{
	struct sched_param p = {0};
	struct kernel_attr a;

	CALL(sched_setscheduler(0, SCHED_OTHER, &p), "SCHED_OTHER");
	CALL(sched_setscheduler(0, SCHED_BATCH, &p), "SCHED_BATCH");
	CALL(sched_setscheduler(0, SCHED_OTHER, &p), "SCHED_OTHER from SCHED_BATCH");
	CALL(set_attr(SCHED_OTHER, 0), "sched_setattr nice 0");
	CALL(syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0), "sched_getattr");
	explicit_class();
	errno = 0;
	CALL(setpriority(PRIO_PROCESS, 0, 0), "setpriority 0");
	CALL(setpriority(PRIO_PGRP, 0, 0), "setpriority 0 of the process group");
	CALL(setpriority(PRIO_PROCESS, 0, 1), "setpriority 1");
	CALL(setpriority(PRIO_PROCESS, 0, 0), "setpriority 0 from 1");
	CALL(sched_setscheduler(0, SCHED_IDLE, &p), "SCHED_IDLE");
	CALL(sched_setscheduler(0, SCHED_OTHER, &p), "SCHED_OTHER from SCHED_IDLE");
	CALL(sched_setscheduler(0, SCHED_BATCH, &p), "SCHED_BATCH from SCHED_IDLE");
}

static void change_limits(void)
{
	static const int limit[] = {RLIMIT_NOFILE, RLIMIT_NPROC, RLIMIT_STACK, RLIMIT_CPU,
		RLIMIT_NICE, RLIMIT_RTPRIO, RLIMIT_MEMLOCK};
	struct rlimit l;

	for (size_t i = 0; i < sizeof(limit) / sizeof(limit[0]); i++) {
		CALL(getrlimit((__rlimit_resource_t)limit[i], &l), "getrlimit %d", limit[i]);
		CALL(setrlimit((__rlimit_resource_t)limit[i], &l), "setrlimit %d to what it is",
			limit[i]);
	}
	CALL(prctl(PR_SET_NAME, "affine"), "prctl name");
	CALL(prctl(PR_SET_TIMERSLACK, 50000), "prctl timer slack");
	CALL(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl no new privileges");
}

static void use_memory(void)
{
	size_t size = 1 << 16;
	unsigned long node = 1;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *page = p;
	int where = 0, status = 0;
	char path[64];

	if (p == MAP_FAILED)
		return;
	memset(p, 1, size);
	/* Every node that the machine has. */
	for (int i = 0; i < 64; i++, node <<= 1, where++) {
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d", i);
		if (i && access(path, F_OK) != 0)
			continue;
		CALL(syscall(SYS_mbind, p, size, MPOL_BIND, &node, 64, 0), "mbind to node %d", i);
		CALL(syscall(SYS_set_mempolicy, MPOL_BIND, &node, 64), "set_mempolicy to node %d",
			i);
		CALL(syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0), "set_mempolicy to default");
		CALL(syscall(SYS_move_pages, 0, 1, &page, &where, &status, 0),
			"move_pages to node %d", i);
	}
	CALL(syscall(SYS_get_mempolicy, &where, NULL, 0, p, 3), "get_mempolicy");
	munmap(p, size);
}

static pid_t stopped_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		for (;;)
			pause();
	}
	return pid;
}

static void signal_child(void)
{
	pid_t pid = stopped_child();
	int status = 0;

	CALL(pid, "fork");
	if (pid < 0)
		return;
	CALL(kill(pid, SIGSTOP), "SIGSTOP to a child");
	CALL(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status) ? 0 : -1, "it stops");
	bind_pid(pid, "a stopped child");
	CALL(kill(pid, SIGCONT), "SIGCONT to it");
	CALL(waitpid(pid, &status, WCONTINUED) == pid && WIFCONTINUED(status) ? 0 : -1,
		"it goes on");
	bind_pid(pid, "a child");
	CALL(setpriority(PRIO_PROCESS, (id_t)pid, 2), "setpriority 2 of a child");
	CALL(ptrace(PTRACE_SEIZE, pid, 0, 0), "ptrace seize");
	CALL(ptrace(PTRACE_INTERRUPT, pid, 0, 0), "ptrace interrupt");
	CALL(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) ? 0 : -1, "it is interrupted");
	CALL(ptrace(PTRACE_DETACH, pid, 0, 0), "ptrace detach");
	CALL(kill(pid, SIGKILL), "SIGKILL to it");
	CALL(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) ? 0 : -1, "it ends");
}

/* --- who calls ---------------------------------------------------------------------------------
 */

static char stage[16];

static void as(const char *who)
{
	snprintf(said, sizeof(said), "%s %s", stage, who);
}

static void all_calls(void)
{
	bind_pid(0, "itself");
	bind_pid((pid_t)syscall(SYS_gettid), "its tid");
	read_sizes();
	bind_threads();
	explicit_class();
	use_memory();
}

static void *thread(void *who)
{
	as(who);
	all_calls();
	return NULL;
}

/* The child's lines come with its end. */
static void in_child(const char *who, void (*what)(void))
{
	int status = 0;
	pid_t pid;

	as(who);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		what();
		fflush(stdout);
		_exit(0);
	}
	CALL(pid < 0 || waitpid(pid, &status, 0) != pid || status ? -1 : 0, "its end");
}

static const char *script;

static void exec_script(void)
{
	execl("/bin/sh", "sh", script, stage, (char *)NULL);
	_exit(127);
}

static void run_stage(void)
{
	pthread_t t;

	as("main");
	all_calls();
	/* What a thread of the program asks for another of its threads. */
	bind_pid(getpid(), "the first thread");
	if (pthread_create(&t, NULL, thread, (void *)"thread") == 0)
		pthread_join(t, NULL);
	in_child("child", all_calls);
	in_child("class", change_class);
	in_child("limits", change_limits);
	as("signals");
	signal_child();
	in_child("shell", exec_script);
}

/* --- stages ------------------------------------------------------------------------------------
 */

static bool there(const char *what, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s.%s", dir, what, name);
	return access(path, F_OK) == 0;
}

static void await(const char *what, const char *name)
{
	while (!there(what, name))
		usleep(5000);
}

static void tell(const char *what, const char *name)
{
	char path[512];

	fflush(stdout);
	snprintf(path, sizeof(path), "%s/%s.%s", dir, what, name);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
}

static unsigned long failures(void)
{
	n_failed = 0;
	all_calls();
	return n_failed;
}

static void *rounds(void *ret_odd)
{
	unsigned long usual, *odd = (unsigned long *)ret_odd;

	quiet = true;
	usual = failures();
	await("go", "race");
	while (!there("stop", "race"))
		*odd += failures() != usual;
	return NULL;
}

/* Neighbours come and go meanwhile, and no call fares otherwise than before. A thread for each CPU:
 * such a program is also lent others' cores. */
static void race(void)
{
	unsigned long odd[CPUS] = {0}, all = 0;
	pthread_t t[CPUS];
	int n = 0;

	while (n < n_cpus && pthread_create(&t[n], NULL, rounds, &odd[n]) == 0)
		n++;
	tell("done", "race");
	for (int i = 0; i < n; i++) {
		pthread_join(t[i], NULL);
		all += odd[i];
	}
	as("race");
	say(all ? -1 : 0, EINVAL, "rounds with other failures than the first");
	say(n < n_cpus ? -1 : 0, EAGAIN, "a thread for each CPU");
}

int main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "usage: live_affinity DIR CPULIST STAGES SCRIPT\n");
		return 2;
	}
	dir = argv[1];
	parse_cpus(argv[2]);
	script = argv[4];
	for (int i = 0; i < atoi(argv[3]); i++) {
		snprintf(stage, sizeof(stage), "%d", i);
		await("go", stage);
		run_stage();
		tell("done", stage);
	}
	race();
	tell("done", "all");
	return 0;
}
