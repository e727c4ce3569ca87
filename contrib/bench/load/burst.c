/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/bench/load/burst.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/ipc.h"

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Registrations @client, @client + @clients ... of all, of steps that no other client has. */
__attribute__((noreturn)) static void be_client(
	struct node *n, int client, int clients, int total, double *ms)
{
	int own = (n->steps - client + clients - 1) / clients;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	node_disown();
	for (int i = client, k = 0; i < total; i += clients, k++) {
		int step = client + k % own * clients;

		node_end_step(n, step);
		ms[i] = (double)node_register(n, step) / 1e6;
	}
	_exit(0);
}

void burst_run(struct node *n, int total, int clients, struct burst *ret)
{
	size_t bytes = (size_t)total * sizeof(double);
	double *ms = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid[BURST_CLIENTS_MAX];
	double peak;
	int64_t t0;

	if (ms == MAP_FAILED) {
		perror("overhead: burst");
		exit(1);
	}
	if (clients > n->steps)
		clients = n->steps;
	if (clients > BURST_CLIENTS_MAX)
		clients = BURST_CLIENTS_MAX;
	*ret = (struct burst){.n = total, .clients = clients};
	node_daemon_rss(n, &ret->rss_before_mib, &peak);
	t0 = ipc_now_ns();
	for (int c = 0; c < clients; c++) {
		pid[c] = fork();
		if (pid[c] < 0) {
			perror("overhead: burst: fork");
			exit(1);
		}
		if (pid[c] == 0)
			be_client(n, c, clients, total, ms);
	}
	for (int c = 0; c < clients; c++) {
		int status;

		if (waitpid(pid[c], &status, 0) < 0 || status != 0) {
			fputs("overhead: burst: a client was not answered\n", stderr);
			exit(1);
		}
	}
	ret->per_s = total / ((double)(ipc_now_ns() - t0) / 1e9);
	node_daemon_rss(n, &ret->rss_after_mib, &peak);
	qsort(ms, (size_t)total, sizeof(*ms), ascending);
	ret->p50_ms = ms[(int)ceil(0.5 * total) - 1];
	ret->p99_ms = ms[(int)ceil(0.99 * total) - 1];
	ret->max_ms = ms[total - 1];
	for (int i = 0; i < total; i++)
		ret->late += ms[i] > BURST_LATE_MS;
	munmap(ms, bytes);
}
