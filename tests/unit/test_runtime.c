/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libcoloc against the daemon's own pages: a child process stands for colocd's socket, the pages
 * are the daemon's (nodesvc/steps/pages.c), and what is reported is read by the daemon's reader
 * (nodesvc/counters/app.c).
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/ipc.h"
#include "nodesvc/runtime/client.h"
#include "nodesvc/runtime/coloc.h"
#include "nodesvc/steps/steps.h"

#define S_NS INT64_C(1000000000)

static struct errbuf err;
static struct pages *pages;
static char dir[64], path[96];
static pid_t server;
static int64_t t_ns; /* of the tests that write slots themselves */
static int64_t late_ns;

int64_t __real_ipc_now_ns(void);
int64_t __wrap_ipc_now_ns(void);

int64_t __wrap_ipc_now_ns(void)
{
	return __real_ipc_now_ns() + late_ns;
}

/* Answers "attach" for ever with the pages, or refuses. */
static void serve(int listener, bool refuse)
{
	static struct msg m;

	for (;;) {
		int fd = accept(listener, NULL, NULL);
		int fds[2] = {pages->grant_fd, pages->report_fd};

		if (fd < 0 || ipc_recv(fd, &m, ipc_now_ns() + S_NS, NULL) < 0 ||
			strcmp(msg_get(&m, "type"), "attach") != 0)
			_exit(1);
		msg_init(&m, refuse ? "attach_refused" : "attach_ok");
		if (refuse)
			ipc_send(fd, &m, ipc_now_ns() + S_NS, NULL);
		else
			ipc_send_fds(fd, &m, fds, 2, NULL);
		close(fd);
	}
}

static void start_server(bool refuse)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	server = fork();
	if (server == 0)
		serve(fd, refuse);
	close(fd);
}

static void setup(void)
{
	struct coreset one;

	strcpy(dir, "/tmp/coloc-rt-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/sock", dir);
	setenv("COLOC_SOCKET", path, 1);
	ck_assert_msg(pages_create(&pages, 1000, &err) == 0, "%s", err.text);
	coreset_parse(&one, "2-3,64", NULL);
	pages_grant(pages, &one, 3);
	server = 0;
	late_ns = 0;
	t_ns = 10 * S_NS;
}

static void teardown(void)
{
	if (server > 0) {
		kill(server, SIGKILL);
		waitpid(server, NULL, 0);
	}
	pages_free(pages);
	unlink(path);
	rmdir(dir);
}

START_TEST(without_a_daemon_everything_does_nothing)
{
	uint32_t generation = 7;
	struct coloc *c = coloc_attach();
	int cpu;

	ck_assert_ptr_nonnull(c);
	ck_assert(!coloc_is_attached(c));
	coloc_unit(c, "sweeps");
	coloc_progress(c, 1);
	coloc_counter(c, "x", 1);
	ck_assert_int_eq(coloc_granted(c, &generation), 0);
	ck_assert_int_eq(coloc_cores(c, &cpu, 1), 0);
	ck_assert_int_eq(coloc_wait(c, 0, 1000000), -1);
	coloc_detach(c);
	coloc_progress(NULL, 1);
	ck_assert_int_eq(coloc_granted(NULL, NULL), 0);
	coloc_detach(NULL);
}
END_TEST

START_TEST(a_refusal_is_as_no_daemon)
{
	struct coloc *c;

	start_server(true);
	c = coloc_attach();
	ck_assert_ptr_nonnull(c);
	ck_assert(!coloc_is_attached(c));
	coloc_progress(c, 1);
	coloc_detach(c);
}
END_TEST

START_TEST(a_daemon_that_does_not_answer_costs_the_budget_once)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int64_t before_ns = ipc_now_ns();
	struct coloc *c;

	strcpy(addr.sun_path, path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	c = coloc_attach();
	ck_assert(!coloc_is_attached(c));
	ck_assert_int_le(ipc_now_ns() - before_ns, 5 * S_NS / 5);
	coloc_detach(c);
	close(fd);
}
END_TEST

START_TEST(the_grant_is_read_and_followed)
{
	uint32_t generation, later;
	struct coreset more;
	struct coloc *c;
	int cpu[4];
	pid_t child;

	start_server(false);
	c = coloc_attach();
	ck_assert(coloc_is_attached(c));
	ck_assert_int_eq(coloc_granted(c, &generation), 3);
	ck_assert_int_eq(coloc_cores(c, cpu, 4), 3);
	ck_assert(cpu[0] == 2 && cpu[1] == 3 && cpu[2] == 64);
	ck_assert_int_eq(coloc_cores(c, cpu, 1), 3);
	ck_assert_int_eq(coloc_wait(c, generation, 1), 0);
	/* The same grant again wakes nobody. */
	coreset_parse(&more, "2-3,64", NULL);
	pages_grant(pages, &more, 3);
	ck_assert_int_eq(coloc_wait(c, generation, 1), 0);
	child = fork();
	if (child == 0) {
		usleep(50000);
		coreset_parse(&more, "0-7", NULL);
		pages_grant(pages, &more, 8);
		_exit(0);
	}
	ck_assert_int_eq(coloc_wait(c, generation, 20000), 1);
	ck_assert_int_eq(coloc_granted(c, &later), 8);
	ck_assert_uint_ne(later, generation);
	ck_assert_int_eq(coloc_wait(c, generation, -1), 1);
	waitpid(child, NULL, 0);
	coloc_detach(c);
}
END_TEST

static void *report_thousand(void *c)
{
	for (int i = 0; i < 1000; i++)
		coloc_progress(c, 0.5);
	return NULL;
}

START_TEST(threads_and_children_add_up)
{
	static struct app app;
	struct signal rate;
	pthread_t thread[4];
	struct coloc *c;
	pid_t child;
	int status;

	start_server(false);
	c = coloc_attach();
	coloc_unit(c, "sweeps");
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, report_thousand, c), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	child = fork();
	if (child == 0) {
		report_thousand(c);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	app_read(&app, pages->report, ipc_now_ns(), &rate);
	ck_assert_double_eq_tol(app.total, 2500, 1e-9);
	ck_assert_str_eq(app.unit, "sweeps");
	ck_assert_int_eq(pages->report->slot[0].pid, getpid());
	ck_assert_int_eq(pages->report->slot[1].pid, child);
	ck_assert_int_eq(pages->report->slot[2].pid, 0);
	/* One report, or many at once, is no rate yet. */
	ck_assert_int_eq(rate.provenance, PROVENANCE_NONE);
	coloc_progress(c, NAN);
	coloc_progress(c, -1);
	coloc_progress(c, INFINITY);
	app_read(&app, pages->report, ipc_now_ns(), &rate);
	ck_assert_double_eq_tol(app.total, 2500, 1e-9);
	coloc_progress(c, 100);
	app_read(&app, pages->report, ipc_now_ns(), &rate);
	ck_assert_int_eq(rate.provenance, PROVENANCE_APP);
	ck_assert_double_eq_tol(app.total, 2600, 1e-9);
	coloc_detach(c);
}
END_TEST

/* Reports until somebody has answered, each time when the library looks again: it waits 20 ms for
 * an answer, and a process that has just begun may need longer. */
static void report_until(struct coloc *c, double amount, bool (*is_so)(struct coloc *c))
{
	for (int i = 0; i < 20; i++) {
		coloc_progress(c, amount);
		if (is_so(c))
			return;
		late_ns += 301 * S_NS;
	}
}

static bool is_granted_one(struct coloc *c)
{
	return coloc_granted(c, NULL) == 1;
}

static bool is_attached(struct coloc *c)
{
	return coloc_is_attached(c);
}

START_TEST(the_next_daemon_is_found)
{
	struct pages *old = pages;
	struct signal rate;
	static struct app app;
	struct coreset set;
	struct coloc *c;

	start_server(false);
	c = coloc_attach();
	coloc_unit(c, "steps");
	coloc_progress(c, 5);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	unlink(path);
	/* Stopped in order: says so, and the library looks at its next call. */
	ck_assert_int_eq(pages_create(&pages, 1000, &err), 0);
	coreset_parse(&set, "0", NULL);
	pages_grant(pages, &set, 1);
	pages_free(old);
	start_server(false);
	report_until(c, 7, is_granted_one);
	ck_assert_int_eq(coloc_granted(c, NULL), 1);
	app_read(&app, pages->report, ipc_now_ns(), &rate);
	ck_assert_double_eq_tol(app.total, 7, 1e-9);
	ck_assert_str_eq(app.unit, "steps");
	coloc_detach(c);
}
END_TEST

/* It was busy, or began later than the program. */
START_TEST(a_first_daemon_is_found_later)
{
	static struct app app;
	struct signal rate;
	struct coloc *c = coloc_attach();

	ck_assert(!coloc_is_attached(c));
	coloc_unit(c, "steps");
	start_server(false);
	coloc_progress(c, 5); /* too soon to look */
	ck_assert(!coloc_is_attached(c));
	late_ns = 6 * S_NS;
	report_until(c, 7, is_attached);
	ck_assert(coloc_is_attached(c));
	ck_assert_int_eq(coloc_granted(c, NULL), 3);
	app_read(&app, pages->report, ipc_now_ns(), &rate);
	ck_assert_double_eq_tol(app.total, 7, 1e-9);
	ck_assert_str_eq(app.unit, "steps");
	coloc_detach(c);
}
END_TEST

START_TEST(who_was_refused_does_not_ask_again)
{
	struct coloc *c;

	start_server(true);
	c = coloc_attach();
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	unlink(path);
	start_server(false);
	late_ns = 6 * S_NS;
	coloc_progress(c, 7);
	ck_assert_int_eq(coloc_granted(c, NULL), 0);
	ck_assert(!coloc_is_attached(c));
	coloc_detach(c);
}
END_TEST

START_TEST(the_kernel_refuses_to_write_the_grant)
{
	char link[64];
	void *map;
	int fd;

	ck_assert_ptr_eq(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, pages->grant_fd, 0),
		MAP_FAILED);
	ck_assert_int_eq(write(pages->grant_fd, "x", 1), -1);
	/* Also for a job of root's, who may open it for writing. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", pages->grant_fd);
	fd = open(link, O_RDWR | O_CLOEXEC);
	if (geteuid() == 0) {
		ck_assert_int_ge(fd, 0);
		ck_assert_ptr_eq(
			mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
		ck_assert_int_eq(errno, EPERM);
		ck_assert_int_eq(pwrite(fd, "x", 1, 0), -1);
		ck_assert_int_eq(ftruncate(fd, 0), -1);
		close(fd);
	} else {
		ck_assert_int_eq(fd, -1);
	}
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, pages->grant_fd, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	ck_assert_int_eq(mprotect(map, 4096, PROT_READ | PROT_WRITE), -1);
	munmap(map, 4096);
}
END_TEST

START_TEST(nobody_can_cut_the_report_page)
{
	ck_assert_int_eq(ftruncate(pages->report_fd, 0), -1);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_eq(ftruncate(pages->report_fd, 1 << 20), -1);
	ck_assert_int_eq(fcntl(pages->report_fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
}
END_TEST

/* ---- the daemon's reader ---- */

/* Regions that libcoloc_omp counts, of a process that tells nothing itself, until it does. */
START_TEST(regions_stand_for_work_until_the_program_counts_itself)
{
	static struct app app;
	struct signal rate;
	struct coloc *omp, *own;

	start_server(false);
	omp = coloc_attach();
	client_counted(omp, COLOC_REGIONS, 100);
	app_read(&app, pages->report, ipc_now_ns(), &rate);
	client_counted(omp, COLOC_REGIONS, 20);
	app_read(&app, pages->report, ipc_now_ns(), &rate);
	ck_assert_int_eq(rate.provenance, PROVENANCE_CALLS);
	ck_assert_str_eq(app.unit, "regions");
	ck_assert_double_eq_tol(app.total, 120, 1e-9);
	own = coloc_attach();
	coloc_progress(own, 3);
	client_counted(omp, COLOC_REGIONS, 100);
	app_read(&app, pages->report, ipc_now_ns(), &rate);
	ck_assert_int_eq(app_basis(&app), PROVENANCE_APP);
	ck_assert_str_eq(app.unit, "units");
	ck_assert_double_eq_tol(app.total, 123, 1e-9);
	coloc_unit(own, "sweeps");
	client_counted(omp, COLOC_REGIONS, 100);
	coloc_progress(own, 1);
	ck_assert_double_eq_tol(coloc_double(pages->report->slot[0].progress), 124, 1e-9);
	coloc_detach(own);
	coloc_detach(omp);
}
END_TEST

/* A process that has both, in whatever order they come. */
START_TEST(operations_count_for_more_than_regions_and_for_less_than_progress)
{
	static struct app app;
	struct signal rate;
	struct coloc *omp, *mpi, *own;

	start_server(false);
	omp = coloc_attach();
	mpi = coloc_attach();
	own = coloc_attach();
	client_counted(omp, COLOC_REGIONS, 100);
	app_read(&app, pages->report, ipc_now_ns(), &rate);
	ck_assert_str_eq(app.unit, COLOC_REGIONS);
	client_counted(mpi, COLOC_OPERATIONS, 20);
	client_counted(omp, COLOC_REGIONS, 100);
	app_read(&app, pages->report, ipc_now_ns(), &rate);
	ck_assert_str_eq(app.unit, COLOC_OPERATIONS);
	ck_assert_int_eq(app_basis(&app), PROVENANCE_CALLS);
	ck_assert_double_eq_tol(coloc_double(pages->report->slot[0].progress), 120, 1e-9);
	coloc_unit(own, "sweeps");
	coloc_progress(own, 1);
	client_counted(mpi, COLOC_OPERATIONS, 20);
	app_read(&app, pages->report, ipc_now_ns(), &rate);
	ck_assert_str_eq(app.unit, "sweeps");
	ck_assert_int_eq(app_basis(&app), PROVENANCE_APP);
	ck_assert_double_eq_tol(coloc_double(pages->report->slot[0].progress), 121, 1e-9);
	coloc_detach(own);
	coloc_detach(mpi);
	coloc_detach(omp);
}
END_TEST

/* One whose program has said first what it counts is let alone. */
START_TEST(regions_are_not_told_beside_progress)
{
	struct coloc *omp, *own;

	start_server(false);
	own = coloc_attach();
	coloc_progress(own, 3);
	omp = coloc_attach();
	client_counted(omp, COLOC_REGIONS, 100);
	ck_assert_double_eq_tol(coloc_double(pages->report->slot[0].progress), 3, 1e-9);
	coloc_detach(own);
	coloc_detach(omp);
}
END_TEST

static struct app app;

static void report(int slot, int pid, double progress, int64_t at_ns)
{
	struct coloc_slot *s = &pages->report->slot[slot];

	s->pid = pid;
	s->progress = coloc_bits(progress);
	s->updated_ns = at_ns;
	s->updates++;
}

static double rate_at(int64_t now_ns)
{
	struct signal rate;

	app_read(&app, pages->report, now_ns, &rate);
	ck_assert_int_eq(rate.provenance, isnan(rate.value) ? PROVENANCE_NONE : PROVENANCE_APP);
	return rate.value;
}

START_TEST(rate_is_by_the_reports_own_times)
{
	memset(&app, 0, sizeof(app));
	report(0, 100, 10, t_ns);
	ck_assert(isnan(rate_at(t_ns + S_NS / 10)));
	report(0, 100, 30, t_ns + 2 * S_NS);
	ck_assert_double_eq_tol(rate_at(t_ns + 2 * S_NS + 1), 10, 1e-9);
	/* Between two reports it holds; long after the next was due it is 0. */
	ck_assert_double_eq_tol(rate_at(t_ns + 5 * S_NS), 10, 1e-9);
	ck_assert_double_eq_tol(rate_at(t_ns + 7 * S_NS), 0, 1e-9);
	ck_assert_double_eq_tol(app.total, 30, 1e-9);
}
END_TEST

START_TEST(processes_add_up_and_the_dead_ones_units_stay)
{
	memset(&app, 0, sizeof(app));
	report(0, 100, 1, t_ns);
	report(1, 101, 1, t_ns);
	rate_at(t_ns);
	report(0, 100, 3, t_ns + S_NS);
	report(1, 101, 4, t_ns + S_NS);
	ck_assert_double_eq_tol(rate_at(t_ns + S_NS), 5, 1e-9);
	/* The slot is another process's now, which starts at 0. */
	report(1, 102, 1, t_ns + 2 * S_NS);
	ck_assert_double_eq_tol(rate_at(t_ns + 2 * S_NS), 2, 1e-9);
	ck_assert_double_eq_tol(app.total, 8, 1e-9);
}
END_TEST

START_TEST(what_cannot_be_is_passed_over)
{
	memset(&app, 0, sizeof(app));
	report(0, 100, 10, t_ns);
	rate_at(t_ns);
	report(0, 100, 20, t_ns + S_NS);
	ck_assert_double_eq_tol(rate_at(t_ns + S_NS), 10, 1e-9);
	report(0, 100, NAN, t_ns + 2 * S_NS);
	ck_assert_double_eq_tol(rate_at(t_ns + 2 * S_NS), 10, 1e-9);
	report(0, 100, INFINITY, t_ns + 2 * S_NS);
	rate_at(t_ns + 2 * S_NS);
	ck_assert_double_eq_tol(app.total, 20, 1e-9);
	/* Backwards: nothing is taken away. */
	report(0, 100, 5, t_ns + 2 * S_NS);
	rate_at(t_ns + 2 * S_NS);
	ck_assert_double_eq_tol(app.total, 20, 1e-9);
	/* A time that has not come, or has long been: now. */
	report(0, 100, 15, INT64_MAX);
	ck_assert_double_eq_tol(rate_at(t_ns + 4 * S_NS), 5, 1e-9);
	report(0, 100, 25, -1);
	ck_assert_double_eq_tol(rate_at(t_ns + 5 * S_NS), 10, 1e-9);
	report(0, 100, 1e308, t_ns + 6 * S_NS);
	rate_at(t_ns + 6 * S_NS);
	report(0, 100, -1e308, t_ns + 7 * S_NS);
	rate_at(t_ns + 7 * S_NS);
	report(0, 100, 1e308, t_ns + 8 * S_NS);
	rate_at(t_ns + 8 * S_NS);
	ck_assert(isfinite(app.total));
}
END_TEST

START_TEST(another_unit_is_left_out)
{
	memset(&app, 0, sizeof(app));
	report(0, 100, 1, t_ns);
	report(1, 101, 1000, t_ns);
	pages->report->slot[0].unit = coloc_name("sweeps");
	pages->report->slot[1].unit = coloc_name("bytes");
	rate_at(t_ns);
	ck_assert_str_eq(app.unit, "sweeps");
	ck_assert_double_eq_tol(app.total, 1, 1e-9);
	ck_assert_int_eq(app.n_other_unit, 1);
	/* For people's eyes: no control characters. */
	memset(&app, 0, sizeof(app));
	pages->report->slot[0].unit = coloc_name("a\033[2Jb");
	rate_at(t_ns);
	ck_assert_str_eq(app.unit, "a");
}
END_TEST

START_TEST(own_counters_add_up_by_name)
{
	char name[COLOC_NAME_LEN + 1];
	struct coloc_slot *s = pages->report->slot;
	double v;

	app_counter(pages->report, 0, name, &v);
	ck_assert_str_eq(name, "");
	ck_assert(isnan(v));
	for (int i = 0; i < 2; i++) {
		s[i].pid = 100 + i;
		s[i].counter[0].name = coloc_name("residual");
		s[i].counter[0].value = coloc_bits(1.5);
	}
	app_counter(pages->report, 0, name, &v);
	ck_assert_str_eq(name, "residual");
	ck_assert_double_eq_tol(v, 3, 1e-9);
}
END_TEST

START_TEST(slots_of_ended_processes_come_back_when_scarce)
{
	pid_t alive[1] = {1000};

	memset(&app, 0, sizeof(app));
	for (int i = 0; i < 200; i++)
		report(i, 1000 + i, 1, t_ns);
	rate_at(t_ns);
	app_release(&app, pages->report, alive, 1);
	ck_assert_int_eq(pages->report->slot[5].pid, 1005);
	app_release(&app, pages->report, alive, 1);
	ck_assert_int_eq(pages->report->slot[0].pid, 1000);
	ck_assert_int_eq(pages->report->slot[5].pid, 0);
	ck_assert_uint_eq(pages->report->slot[5].progress, 0);
	rate_at(t_ns);
	ck_assert_double_eq_tol(app.total, 200, 1e-9);
}
END_TEST

static void add(Suite *s, const char *name, const TTest *const *tests, int n)
{
	TCase *t = tcase_create(name);

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	for (int i = 0; i < n; i++)
		tcase_add_test(t, tests[i]);
	suite_add_tcase(s, t);
}
#define ADD(s, name, ...)                                                                          \
	do {                                                                                       \
		const TTest *const tests_[] = {__VA_ARGS__};                                       \
		add(s, name, tests_, (int)(sizeof(tests_) / sizeof(tests_[0])));                   \
	} while (0)

int main(void)
{
	Suite *s = suite_create("runtime");
	SRunner *r;
	int failed;

	ADD(s, "where nobody answers nothing happens", without_a_daemon_everything_does_nothing,
		a_refusal_is_as_no_daemon, a_daemon_that_does_not_answer_costs_the_budget_once);
	ADD(s, "a process reads its grant and reports", the_grant_is_read_and_followed,
		threads_and_children_add_up, the_next_daemon_is_found,
		a_first_daemon_is_found_later, who_was_refused_does_not_ask_again);
	ADD(s, "regions are counted of who counts nothing itself",
		regions_stand_for_work_until_the_program_counts_itself,
		operations_count_for_more_than_regions_and_for_less_than_progress,
		regions_are_not_told_beside_progress);
	ADD(s, "the pages are safe from their readers", the_kernel_refuses_to_write_the_grant,
		nobody_can_cut_the_report_page);
	ADD(s, "progress becomes a rate, whatever is written", rate_is_by_the_reports_own_times,
		processes_add_up_and_the_dead_ones_units_stay, what_cannot_be_is_passed_over,
		another_unit_is_left_out, own_counters_add_up_by_name,
		slots_of_ended_processes_come_back_when_scarce);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
