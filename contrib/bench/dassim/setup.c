/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/bench/dassim/setup.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_S 3600
/* CFS of Linux 4.4 (section 4.2.1): 6 ms x (1 + log2 of the CPUs, six here, rounded down), halved
 * where two want to run. */
#define SLICE_S 9e-3

const char *const policies[N_POLICIES] = {
	"das-rws", "das-rwsm-c", "das-fa", "das-fam-c", "das-da", "das-dam-c", "das-dam-p"};

int runs = 8;
const char *plots;

void need(int rc, const struct errbuf *err)
{
	if (!rc)
		return;
	fprintf(stderr, "dassim: %s\n", err->text);
	exit(1);
}

const char *text(const char *format, ...)
{
	static char buffer[8][512];
	static int next;
	char *at = buffer[next = (next + 1) % 8];
	va_list ap;

	va_start(ap, format);
	vsnprintf(at, sizeof(buffer[0]), format, ap);
	va_end(ap);
	return at;
}

void open_setup(struct setup *a, const char *machine)
{
	memset(a, 0, sizeof(*a));
	need(task_preset_machine(&a->m, machine), &(struct errbuf){"no such machine"});
}

struct task_type *add_type(struct setup *a, const char *name)
{
	struct task_type *y = &a->g.type[a->g.n_types++];

	need(task_preset_type(y, name), &(struct errbuf){"no such type"});
	return y;
}

void disturb(struct setup *a, int first, int last, double share, double bytes_per_s)
{
	struct task_disturb *d = &a->m.disturb[a->m.n_disturbs++];

	*d = (struct task_disturb){.share = share, .bytes_per_s = bytes_per_s, .until_s = INFINITY};
	coreset_add_range(&d->cores, (unsigned int)first, (unsigned int)last);
}

void disturb_in_slices(struct setup *a, double bytes_per_s)
{
	disturb(a, 0, 0, 0.001, bytes_per_s);
	a->m.disturb[0].period_s = 2 * SLICE_S;
	a->m.disturb[0].on_s = SLICE_S;
}

void run_list(struct setup *a, const char *const *policy, int n)
{
	struct task_eval e = {
		.m = &a->m,
		.g = &a->g,
		.n_policies = n,
		.n_seeds = runs,
		.seed = 1,
		.most_s = MOST_S,
		.when = a->when,
	};
	struct task_result *r = calloc((size_t)n * (size_t)runs, sizeof(*r));
	struct errbuf err = {"out of memory"};

	need(r ? 0 : -1, &err);
	memcpy(e.policy, policy, (size_t)n * sizeof(*policy));
	need(task_machine_init(&a->m, &err), &err);
	need(task_eval_run(&e, r, &err), &err);
	for (int p = 0; p < n; p++)
		need(task_eval_sum(&e, r, p, 0, &a->sum[p], &err), &err);
	task_machine_done(&a->m);
	free(r);
}

void close_setup(struct setup *a)
{
	task_graph_done(&a->g);
}

double ratio(const struct setup *a, int p)
{
	return 1 + a->sum[p].gain.mean;
}

double over(const struct setup *a, int p, int q)
{
	return a->sum[p].tasks_per_s.mean / a->sum[q].tasks_per_s.mean;
}

void print_rows_head(void)
{
	printf("\n| # | paper | simulated | accepted | verdict |\n|---|---|---|---|---|\n");
}

void row(const char *number, const char *target, const char *accept, const char *verdict,
	const char *ours)
{
	printf("| %s | %s | %s | %s | %s |\n", number, target, ours, accept, verdict);
}

const char *verdict(bool met)
{
	return met ? "met" : "**missed**";
}
