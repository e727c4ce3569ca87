/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/busy_node.h"

#include <stdio.h>
#include <string.h>

static double rnd(struct busy_node *b)
{
	b->random ^= b->random << 13;
	b->random ^= b->random >> 7;
	b->random ^= b->random << 17;
	return (double)(b->random >> 11) * 0x1p-53;
}

static void new_job(struct busy_node *b, int i)
{
	struct view_job *j = &b->job[i];

	snprintf(b->id[i], sizeof(b->id[i]), "%llu.0", (unsigned long long)b->serial);
	snprintf(b->type[i], sizeof(b->type[i]), "program%llu",
		(unsigned long long)(b->serial % 16));
	*j = (struct view_job){
		.id = b->id[i],
		.type = b->type[i],
		.order = (int64_t)b->serial,
		.threads = 8,
		.home_numa = -1,
		.rss_bytes = -1,
		.core = -1,
		.nodes = 1,
		.has_priority = true,
		.priority_high = b->serial % 4 == 0,
	};
	b->serial++;
}

void busy_node_init(struct busy_node *b, int n)
{
	memset(b, 0, sizeof(*b));
	b->random = 1;
	b->view.seed = 1;
	b->view.cache_ways = 16;
	b->view.job = b->job;
	b->view.n_jobs = n;
	b->view.event = b->event;
	coreset_add_range(&b->fast, 0, 3);
	b->view.fast_cores = &b->fast;
	for (int i = 0; i < n; i++)
		new_job(b, i);
}

void busy_node_step(struct busy_node *b)
{
	if (b->round++ % 4 == 0)
		new_job(b, (int)(rnd(b) * b->view.n_jobs));
	for (int i = 0; i < b->view.n_jobs; i++) {
		for (int s = 0; s < SIGNAL_COUNT; s++) {
			bool ratio = s == SIGNAL_UTILIZATION || s == SIGNAL_LLC_MISS_RATIO;

			b->job[i].signal[s].value = ratio ? rnd(b) : 1e9 * rnd(b);
			b->job[i].signal[s].provenance = PROVENANCE_HW;
		}
		b->job[i].sample_no++;
	}
	b->view.now_s += 0.25;
}

void busy_node_carry_out(struct busy_node *b, const struct plan *p)
{
	b->view.n_events = 0;
	for (int i = 0; i < p->n_jobs; i++)
		b->job[i].current = p->job[i].coreset;
	for (int e = 0; e < p->n_experiments; e++) {
		const struct plan_experiment *x = &p->experiment[e];
		double serial = 0.02 + 0.1 * (double)(x->job % 4);

		b->event[b->view.n_events++] = (struct event){
			.type = EVENT_EXPERIMENT_RESULT,
			.job = b->job[x->job].id,
			.cores = x->cores,
			.speed = 1e9 / (serial + (1 - serial) / x->cores),
		};
	}
}

void busy_node_topology(int jobs, int sockets, char *buf, size_t size)
{
	int cores = jobs / sockets > 8 ? jobs / sockets : 8;

	snprintf(buf, size, "pack:%d l3:1 core:%d pu:1", sockets, cores);
}
