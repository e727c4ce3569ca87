/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * callturns - counts the calls of a function in programs that run, as colocd does (callworker.h),
 * for 0.2 s and then not for as long, in turn: what counting costs is what they do less meanwhile.
 * Prints of each turn whether it was counted, its begin and its end (CLOCK_MONOTONIC), from before
 * the first trap goes in until the last is out; and where it was counted both again, from when all
 * traps are in until the first goes out. contrib/bench/calls runs it.
 */
#include <dirent.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/ipc.h"
#include "common/out.h"
#include "contrib/bench/number.h"
#include "nodesvc/counters/callworker.h"
#include "nodesvc/counters/symbols.h"

#define TURN_NS INT64_C(200000000)
/* After the first task is counted, so are all; the process that counts is as late as that. */
#define ALL_NS  INT64_C(20000000)
#define LATE_NS INT64_C(2000000)
#define WAIT_MS 10000

static struct callworker *worker;
static struct call_request set = {.set = 1, .length_ns = TURN_NS};
static struct errbuf err;

__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("callturns: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

static struct call_answer take(void)
{
	struct pollfd p = {.fd = callworker_fd(worker), .events = POLLIN};
	struct call_answer a;

	if (poll(&p, 1, WAIT_MS) != 1 || callworker_take(worker, &a) != 1)
		die("the process that counts does not answer");
	if (a.rc || a.failed)
		die("%s", a.text);
	return a;
}

static void ask(const struct call_request *r, int fd)
{
	if (callworker_send(worker, r, fd) < 0)
		die("the process that counts takes nothing");
}

/* Wherever process @pid has @function mapped. */
static void add_places(pid_t pid, const char *function)
{
	int fd = symbols_ask_thread(pid, 0, NULL);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct symbols sym;

	if (fd < 0 || poll(&p, 1, WAIT_MS) != 1 || symbols_take(fd, NULL, &sym) < 0)
		die("process %d could not be read", (int)pid);
	close(fd);
	for (int i = 0; i < sym.n_sites && set.n_probes < CALLS_PROBES; i++) {
		const struct symbol_site *t = &sym.site[i];
		struct call_request r = {.op = CALL_PROBE,
			.n_probes = 1,
			.probe = {(uint32_t)set.n_probes},
			.offset = t->offset};

		if (strcmp(callnames_get(t->call, NULL).name, function) != 0)
			continue;
		ask(&r, sym.file[t->file].fd);
		take();
		set.probe[set.n_probes] = (uint32_t)set.n_probes;
		set.n_probes++;
	}
	symbols_done(&sym);
}

static void add_threads(int pid)
{
	char path[64];
	const struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	if (!d)
		die("there is no process %d", pid);
	while ((e = readdir(d)))
		if (*e->d_name != '.' && set.n_tids < CALLS_TIDS)
			set.tid[set.n_tids++] = atoi(e->d_name);
	closedir(d);
}

/* Returns how many calls were counted. */
static uint64_t count(void)
{
	int64_t from_ns = ipc_now_ns();
	uint64_t calls = 0;
	struct call_answer a;

	set.op = CALL_OPEN;
	ask(&set, -1);
	a = take();
	for (int i = 0; i < a.n_probes; i++)
		calls += a.count[i].calls;
	printf("yes %.6f %.6f %.6f %.6f\n", (double)from_ns / 1e9, (double)ipc_now_ns() / 1e9,
		(double)(a.began_ns + ALL_NS) / 1e9,
		(double)(a.began_ns + TURN_NS - LATE_NS) / 1e9);
	return calls;
}

int main(int argc, char **argv)
{
	struct fsroot root;
	uint64_t calls = 0;
	int64_t until_ns;
	pid_t pid;

	out_check_at_exit("callturns");
	if (argc < 4) {
		fprintf(stderr, "usage: callturns FUNCTION SECONDS PID [PID]...\n");
		return 2;
	}
	if (fsroot_open(&root, NULL, &err) < 0 ||
		callworker_start(&worker, &root, "callturns", &err) < 0)
		die("%s", err.text);
	take();
	for (int i = 3; i < argc; i++)
		add_threads(number_int("PID", argv[i]));
	add_places(number_int("PID", argv[3]), argv[1]);
	if (!set.n_probes)
		die("%s: process %s has no such function", argv[1], argv[3]);
	until_ns = ipc_now_ns() + (int64_t)(number_real("SECONDS", argv[2]) * 1e9);
	while (ipc_now_ns() < until_ns) {
		int64_t from_ns = ipc_now_ns();

		usleep(TURN_NS / 1000);
		printf("no %.6f %.6f\n", (double)from_ns / 1e9, (double)ipc_now_ns() / 1e9);
		calls += count();
	}
	pid = callworker_pid(worker);
	callworker_stop(worker);
	waitpid(pid, NULL, 0);
	fsroot_close(&root);
	if (!calls)
		die("%s was not called", argv[1]);
	return 0;
}
