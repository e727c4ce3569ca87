/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live_calls - counts calls of a function of its own, made by children of its own, with the
 * kernel's probes. Needs root and uprobes; exits 77 with the reason otherwise.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/ipc.h"
#include "nodesvc/counters/callworker.h"
#include "nodesvc/counters/symbols.h"
#include "nodesvc/counters/tracefs.h"
#include "tests/live/hanging_fs.h"

#define WAIT_MS 20000

static char owner[64];
static struct fsroot root = {.fd = -1};
static struct callworker *worker;
static struct call_answer got;
static struct errbuf err;
static int go[2]; /* a child goes on when it can read */

/* A function that is known (callnames.h). */
__attribute__((noinline, used)) static int MPI_Barrier(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x;
}

__attribute__((noinline, used)) static int counted(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x;
}

static int find(struct dl_phdr_info *info, size_t size, void *arg)
{
	uint64_t *ret = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr, fn = (uintptr_t)counted;

		if (p->p_type == PT_LOAD && fn >= at && fn - at < p->p_filesz) {
			*ret = fn - at + p->p_offset;
			return 1;
		}
	}
	return 0;
}

/* ---- the other side ---- */

static void take(void)
{
	struct pollfd p = {.fd = callworker_fd(worker), .events = POLLIN};

	ck_assert_int_eq(poll(&p, 1, WAIT_MS), 1);
	ck_assert_int_eq(callworker_take(worker, &got), 1);
}

static void ask(struct call_request r, int fd)
{
	ck_assert_int_eq(callworker_send(worker, &r, fd), 0);
}

static void make_probe(void)
{
	struct call_request r = {.op = CALL_PROBE, .n_probes = 1, .probe = {3}};
	int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(dl_iterate_phdr(find, &r.offset), 1);
	ask(r, exe);
	close(exe);
	take();
	ck_assert_int_eq(got.kind, CALL_MADE);
	ck_assert_msg(got.rc == 0, "%s", got.text);
	ck_assert_uint_eq(got.probe, 3);
}

static struct call_request request(enum call_op op, pid_t tid)
{
	return (struct call_request){
		.op = op, .set = 7, .n_probes = 1, .probe = {3}, .n_tids = 1, .tid = {tid}};
}

/* From now on @pid is counted. */
static void count(struct call_request r)
{
	ask(r, -1);
	ask(request(CALL_READ, r.tid[0]), -1);
	take();
	ck_assert_int_eq(got.tasks, 1);
	ck_assert_uint_eq(got.count[0].calls, 0);
}

/* ---- children ---- */

static void *call_often(void *arg)
{
	for (int i = 0; i < *(int *)arg; i++)
		counted(i);
	return NULL;
}

/* Itself @n times, and as often in a thread and in a child; all the same whoever counts. */
static void family(int n)
{
	pthread_t t;
	pid_t pid;

	call_often(&n);
	if (pthread_create(&t, NULL, call_often, &n) != 0 || pthread_join(t, NULL) != 0)
		_exit(1);
	pid = fork();
	if (pid == 0) {
		call_often(&n);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) < 0)
		_exit(1);
}

static pid_t start(int n)
{
	pid_t pid = fork();
	char c;

	if (pid == 0) {
		if (read(go[0], &c, 1) != 1)
			_exit(2);
		family(n);
		_exit(0);
	}
	ck_assert_int_gt(pid, 0);
	return pid;
}

static void let_go(void)
{
	ck_assert_int_eq(write(go[1], "", 1), 1);
}

static void ended_well(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

/* ---- tests ---- */

static void setup(void)
{
	snprintf(owner, sizeof(owner), "live_calls %d", (int)getpid());
	ck_assert_int_eq(pipe2(go, O_CLOEXEC), 0);
	ck_assert_int_eq(fsroot_open(&root, NULL, &err), 0);
	ck_assert_msg(callworker_start(&worker, &root, owner, &err) == 0, "%s", err.text);
	take();
	ck_assert_int_eq(got.kind, CALL_READY);
	ck_assert_msg(got.rc == 0, "%s", got.text);
}

static int names_left(void)
{
	struct tracefs t;
	int n;

	ck_assert_int_eq(tracefs_open(&t, &root, owner, &err), 0);
	n = tracefs_sweep(&t);
	tracefs_close(&t);
	return n;
}

static void teardown(void)
{
	pid_t pid = callworker_pid(worker);

	callworker_stop(worker);
	waitpid(pid, NULL, 0);
	close(go[0]);
	close(go[1]);
	ck_assert_int_eq(names_left(), 0);
	fsroot_close(&root);
}

START_TEST(task_threads_and_children_are_counted_exactly)
{
	pid_t pid;

	make_probe();
	pid = start(1000);
	count(request(CALL_OPEN, pid));
	let_go();
	ended_well(pid);
	ask(request(CALL_CLOSE, pid), -1);
	take();
	ck_assert(got.ended);
	ck_assert_uint_eq(got.count[0].calls, 3000);
}
END_TEST

static pid_t start_program(const char *n)
{
	pid_t pid = fork();
	char c;

	if (pid == 0) {
		if (read(go[0], &c, 1) == 1)
			execl("/proc/self/exe", "live_calls", n, NULL);
		_exit(3);
	}
	ck_assert_int_gt(pid, 0);
	return pid;
}

START_TEST(program_is_counted_from_its_exec)
{
	struct call_request r;
	pid_t pid;

	make_probe();
	pid = start_program("1000");
	r = request(CALL_OPEN, pid);
	r.unstarted = true;
	count(r);
	let_go();
	ended_well(pid);
	ask(request(CALL_CLOSE, pid), -1);
	take();
	ck_assert_int_eq(got.started, 0);
	ck_assert_uint_eq(got.count[0].calls, 3000);
}
END_TEST

static bool is_waiting(pid_t pid)
{
	char path[32], buf[64] = "";

	snprintf(path, sizeof(path), "proc/%d/wchan", (int)pid);
	return fsroot_read(&root, path, buf, sizeof(buf)) > 0 && strstr(buf, "pipe");
}

/* It did not wait until it is counted. */
START_TEST(program_that_has_begun_is_counted_and_said_to_have)
{
	struct call_request r;
	pid_t pid;

	make_probe();
	pid = fork();
	if (pid == 0) {
		dup2(go[0], STDIN_FILENO);
		execl("/proc/self/exe", "live_calls", "1000", "waits", NULL);
		_exit(3);
	}
	r = request(CALL_OPEN, pid);
	r.unstarted = true;
	for (int i = 0; i < WAIT_MS / 10 && !is_waiting(pid); i++)
		usleep(10000);
	count(r);
	let_go();
	ended_well(pid);
	ask(request(CALL_CLOSE, pid), -1);
	take();
	ck_assert_int_eq(got.started, 1);
	ck_assert_int_eq(got.tasks, 1);
	ck_assert_uint_eq(got.count[0].calls, 3000);
}
END_TEST

START_TEST(window_ends_by_itself)
{
	struct call_request r;
	pid_t pid;

	make_probe();
	pid = start(10);
	r = request(CALL_OPEN, pid);
	r.length_ns = INT64_C(20000000);
	let_go();
	ask(r, -1);
	take();
	ck_assert(got.ended);
	ck_assert_int_ge(got.t_ns - got.began_ns, r.length_ns / 2);
	ended_well(pid);
	ask(request(CALL_READ, pid), -1);
	take();
	ck_assert_int_eq(got.rc, -ENOENT);
}
END_TEST

static int first_cpu(void)
{
	cpu_set_t set;
	int cpu = 0;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(set), &set), 0);
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	return cpu;
}

static int64_t ran_ns(pid_t pid)
{
	struct timespec ts;
	clockid_t clock;

	ck_assert_int_eq(clock_getcpuclockid(pid, &clock), 0);
	ck_assert_int_eq(clock_gettime(clock, &ts), 0);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* As ranks that wait for each other on one CPU: the time that their events tell has no switch in
 * it, their clocks have. */
START_TEST(window_has_the_processor_time_of_those_who_yield)
{
	struct call_request r;
	pid_t pid[2];
	int64_t before_ns = 0, after_ns = 0;

	make_probe();
	for (int i = 0; i < 2; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			cpu_set_t set;

			alarm(60); /* a test that fails does not come to its end */
			CPU_ZERO(&set);
			CPU_SET(first_cpu(), &set);
			sched_setaffinity(0, sizeof(set), &set);
			for (;;)
				sched_yield();
		}
		ck_assert_int_gt(pid[i], 0);
	}
	r = request(CALL_OPEN, pid[0]);
	r.tid[r.n_tids++] = pid[1];
	r.length_ns = INT64_C(300000000);
	for (int i = 0; i < 2; i++)
		before_ns += ran_ns(pid[i]);
	ask(r, -1);
	take();
	for (int i = 0; i < 2; i++)
		after_ns += ran_ns(pid[i]);
	for (int i = 0; i < 2; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	ck_assert(got.ended);
	ck_assert_int_eq(got.tasks, 2);
	ck_assert_msg(got.count[0].cpu_s > 0.7 * (double)(after_ns - before_ns) / 1e9,
		"%.3f s of %.3f", got.count[0].cpu_s, (double)(after_ns - before_ns) / 1e9);
}
END_TEST

START_TEST(window_ends_with_its_hits)
{
	struct call_request r;
	pid_t pid;

	make_probe();
	pid = start(10000);
	r = request(CALL_OPEN, pid);
	r.length_ns = INT64_C(1000000000) * WAIT_MS;
	r.max_hits = 50;
	count(r);
	let_go();
	take();
	ck_assert(got.ended);
	ck_assert_uint_ge(got.count[0].calls, 50);
	ck_assert_double_gt(got.count[0].per_s, 0);
	ended_well(pid);
}
END_TEST

START_TEST(program_that_is_counted_runs_as_without)
{
	static const char *const text =
		"taskset -c 0 true && sh -c 'exec true' && (ulimit -v 4000000; true) && "
		"python3 -c 'import threading, ctypes, os\n"
		"t = [threading.Thread(target=os.getpid) for _ in range(50)]\n"
		"[x.start() for x in t]\n[x.join() for x in t]\nctypes.CDLL(\"libc.so.6\")'";
	pid_t pid;
	char c;

	make_probe();
	pid = fork();
	if (pid == 0) {
		if (read(go[0], &c, 1) == 1)
			execl("/bin/sh", "sh", "-c", text, NULL);
		_exit(3);
	}
	count(request(CALL_OPEN, pid));
	let_go();
	ended_well(pid);
	ask(request(CALL_CLOSE, pid), -1);
	take();
	ck_assert_int_eq(got.failed, 0);
}
END_TEST

START_TEST(one_that_has_ended_is_no_failure)
{
	pid_t pid;

	make_probe();
	pid = start(1);
	let_go();
	ended_well(pid);
	ask(request(CALL_OPEN, pid), -1);
	ask(request(CALL_CLOSE, pid), -1);
	take();
	ck_assert_int_eq(got.tasks, 0);
	ck_assert_int_eq(got.failed, 0);
}
END_TEST

START_TEST(place_outside_of_the_file_is_refused)
{
	struct call_request r = {
		.op = CALL_PROBE, .n_probes = 1, .probe = {4}, .offset = UINT64_C(1) << 40};
	int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	ask(r, exe);
	close(exe);
	take();
	ck_assert_int_eq(got.kind, CALL_MADE);
	ck_assert_int_lt(got.rc, 0);
	ck_assert_str_ne(got.text, "");
}
END_TEST

/* A daemon of its own that is killed while it counts. */
START_TEST(killed_daemon_leaves_no_name)
{
	pid_t daemon = fork(), counter;
	int out[2];

	ck_assert_int_eq(pipe(out), 0);
	if (daemon == 0)
		_exit(0);
	waitpid(daemon, NULL, 0);
	daemon = fork();
	if (daemon == 0) {
		snprintf(owner, sizeof(owner), "live_calls killed %d", (int)getppid());
		if (callworker_start(&worker, &root, owner, &err) < 0)
			_exit(1);
		take();
		make_probe();
		counter = callworker_pid(worker);
		ck_assert_int_eq(write(out[1], &counter, sizeof(counter)), sizeof(counter));
		pause();
	}
	ck_assert_int_eq(read(out[0], &counter, sizeof(counter)), sizeof(counter));
	kill(daemon, SIGKILL);
	waitpid(daemon, NULL, 0);
	for (int i = 0; i < WAIT_MS / 10 && kill(counter, 0) == 0; i++)
		usleep(10000);
	snprintf(owner, sizeof(owner), "live_calls killed %d", (int)getpid());
	ck_assert_int_eq(names_left(), 0);
	snprintf(owner, sizeof(owner), "live_calls %d", (int)getpid());
	close(out[0]);
	close(out[1]);
}
END_TEST

/* ---- a file system that does not answer ---- */

#define SOMEBODY 1234u

static void wait_until_it_hangs(void)
{
	uint32_t whose = 0;

	for (int i = 0; i < 5 * CALLS_HANG_NS / 100000000; i++) {
		if (callworker_hangs(worker, &whose))
			break;
		usleep(100000);
	}
	ck_assert(callworker_hangs(worker, &whose));
	ck_assert_uint_eq(whose, SOMEBODY);
}

static void start_fs(struct hanging_fs *f, uid_t uid)
{
	int rc = hanging_fs_start(f, "/proc/self/exe", uid);

	ck_assert_msg(rc == 0, "FUSE: %s", strerror(-rc));
}

/* It is not to be killed; the next one counts, while the file system still hangs. */
START_TEST(file_that_cannot_be_read_holds_up_nobody)
{
	struct call_request r = {.op = CALL_PROBE, .n_probes = 1, .probe = {3}, .owner = SOMEBODY};
	pid_t before = callworker_pid(worker);
	struct hanging_fs f;
	int fd;

	start_fs(&f, 0);
	hanging_fs_hang(&f);
	fd = open(f.path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(dl_iterate_phdr(find, &r.offset), 1);
	ask(r, fd);
	close(fd);
	wait_until_it_hangs();
	callworker_kill(worker);
	callworker_stop(worker);
	ck_assert_int_eq(callworker_start(&worker, &root, owner, &err), 0);
	take();
	ck_assert_int_eq(got.kind, CALL_READY);
	ck_assert_msg(got.rc == 0, "%s", got.text);
	make_probe();
	hanging_fs_stop(&f);
	waitpid(before, NULL, 0);
}
END_TEST

/* What a process has mapped of the file, as @uid. */
static struct symbols symbols_in(const char *path, uid_t uid)
{
	struct symbols s;
	int fd = open(path, O_RDONLY | O_CLOEXEC), in, rc = -EAGAIN;
	pid_t pid = fork();

	if (pid == 0) {
		mmap(NULL, (size_t)lseek(fd, 0, SEEK_END), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			0);
		let_go();
		pause();
		_exit(0);
	}
	close(fd);
	ck_assert_int_eq(read(go[0], got.text, 1), 1);
	in = symbols_ask_thread(pid, uid, NULL);
	ck_assert_int_ge(in, 0);
	for (int i = 0; i < WAIT_MS / 10 && rc == -EAGAIN; i++) {
		usleep(10000);
		rc = symbols_take(in, NULL, &s);
	}
	ck_assert_int_eq(rc, 0);
	close(in);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return s;
}

/* The kernel would wait for it with locks of all events. */
START_TEST(file_that_a_user_serves_is_not_counted)
{
	struct hanging_fs f;
	struct symbols own = symbols_in("/proc/self/exe", 0), s;

	ck_assert_int_gt(own.n_sites, 0);
	start_fs(&f, 0);
	s = symbols_in(f.path, 0);
	/* Its own executable, and that of the file system of root's. */
	ck_assert_int_eq(s.n_sites, 2 * own.n_sites);
	ck_assert_int_eq(s.served, 0);
	symbols_done(&s);
	hanging_fs_stop(&f);
	start_fs(&f, SOMEBODY);
	s = symbols_in(f.path, 0);
	ck_assert_int_eq(s.n_sites, own.n_sites);
	ck_assert_int_eq(s.served, 1);
	symbols_done(&s);
	ck_assert_str_eq(symbols_why_none(&s),
		"its OpenMP or MPI library is on a file system that a user serves (FUSE)");
	symbols_done(&own);
	hanging_fs_stop(&f);
}
END_TEST

static bool can_serve(void)
{
	struct hanging_fs f;
	int rc = hanging_fs_start(&f, "/proc/self/exe", 0);

	if (rc == 0)
		hanging_fs_stop(&f);
	else
		printf("# not tested, file systems that hang: FUSE: %s\n", strerror(-rc));
	return rc == 0;
}

static const char *why_not(void)
{
	struct tracefs t;

	if (geteuid() != 0)
		return "needs root";
	if (fsroot_open(&root, NULL, &err) < 0 || tracefs_open(&t, &root, "live_calls", &err) < 0)
		return err.text;
	tracefs_close(&t);
	fsroot_close(&root);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *why;
	Suite *s = suite_create("calls");
	TCase *t = tcase_create("what is counted is all of it");
	SRunner *r;
	int failed;
	char c;

	if (argc > 2 && read(STDIN_FILENO, &c, 1) != 1)
		return 2;
	if (argc > 1) {
		family(atoi(argv[1]));
		return 0;
	}
	why = why_not();
	if (why) {
		printf("1..0 # SKIP %s\n", why);
		return 77;
	}
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, task_threads_and_children_are_counted_exactly);
	tcase_add_test(t, program_is_counted_from_its_exec);
	tcase_add_test(t, program_that_has_begun_is_counted_and_said_to_have);
	tcase_add_test(t, one_that_has_ended_is_no_failure);
	tcase_add_test(t, place_outside_of_the_file_is_refused);
	suite_add_tcase(s, t);
	t = tcase_create("a window closes what it opened");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, window_ends_by_itself);
	tcase_add_test(t, window_ends_with_its_hits);
	tcase_add_test(t, window_has_the_processor_time_of_those_who_yield);
	suite_add_tcase(s, t);
	t = tcase_create("counting is seen by nobody, and leaves nothing");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, program_that_is_counted_runs_as_without);
	tcase_add_test(t, killed_daemon_leaves_no_name);
	suite_add_tcase(s, t);
	if (can_serve()) {
		t = tcase_create(
			"a file system that does not answer keeps nobody from being counted");
		tcase_add_checked_fixture(t, setup, teardown);
		tcase_set_timeout(t, 300);
		tcase_add_test(t, file_that_cannot_be_read_holds_up_nobody);
		tcase_add_test(t, file_that_a_user_serves_is_not_counted);
		suite_add_tcase(s, t);
	}
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
