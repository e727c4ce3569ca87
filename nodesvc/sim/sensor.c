/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <string.h>

#include "nodesvc/sim/sensor.h"

/* Width of a counter on most x86 processors. */
#define COUNTER_MASK ((UINT64_C(1) << 48) - 1)

void sensor_defaults(struct sensor_params *ret)
{
	/* Assumed: a few programmable counters taking turns are good to about 2 %. */
	*ret = (struct sensor_params){
		.noise = 0.02,
		.utilization_noise = 0.01,
		.dropout = 0.01,
		.late = 0.005,
	};
}

void sensor_init(struct sensor *s, uint64_t seed, uint64_t stream)
{
	memset(s, 0, sizeof(*s));
	rng_init(&s->rng, seed, stream);
	/* Counters start anywhere, so that wrapping happens in every longer run. */
	for (int c = 0; c < COUNTER_COUNT; c++)
		s->count[c] = (double)(rng_next(&s->rng) & COUNTER_MASK);
}

void sensor_restart(struct sensor *s, const struct run_job *j, double now_s)
{
	s->seen = j->counts;
	s->seen_s = now_s;
	s->has_last = false;
	s->executed = NAN;
}

static void count(struct sensor *s, const struct sensor_params *p, enum counter_id c, double more,
	struct sample *ret)
{
	/* What a counter did not see is taken to be as what it saw: the less, the wider off. */
	double noise = p->running > 0 ? p->noise / sqrt(p->running) : p->noise;

	s->count[c] += fmax(0, more * (1 + noise * rng_normal(&s->rng)));
	if (s->count[c] > (double)COUNTER_MASK)
		s->count[c] -= (double)COUNTER_MASK + 1;
	ret->count[c] = (uint64_t)s->count[c] & COUNTER_MASK;
	if (rng_uniform(&s->rng, 0, 1) >= p->dropout)
		ret->valid |= COUNTER_BIT(c);
}

bool sensor_read(struct sensor *s, const struct sensor_params *p, const struct run_job *j,
	double now_s, struct signal signal[SIGNAL_COUNT])
{
	const struct run_counts *c = &j->counts;
	struct sample now = {
		.t_ns = (int64_t)(now_s * 1e9), .running_ratio = p->running > 0 ? p->running : 1};
	struct signal fresh[SIGNAL_COUNT] = {{0}};
	double elapsed = now_s - s->seen_s, own_s = c->own_s - s->seen.own_s, noise, utilization;

	if (elapsed <= 0 || rng_uniform(&s->rng, 0, 1) < p->late)
		return false;
	count(s, p, COUNTER_INSTRUCTIONS, c->instr - s->seen.instr, &now);
	count(s, p, COUNTER_LOADS, c->loads - s->seen.loads, &now);
	count(s, p, COUNTER_LLC_REFS, c->refs - s->seen.refs, &now);
	count(s, p, COUNTER_LLC_MISSES, c->misses - s->seen.misses, &now);
	count(s, p, COUNTER_MEM_BYTES, c->bytes - s->seen.bytes, &now);
	noise = p->utilization_noise * rng_normal(&s->rng);
	utilization = (c->utilization_s - s->seen.utilization_s) / elapsed + noise;
	s->executed =
		own_s > 0 ? fmin(1, fmax(0, (c->executed_s - s->seen.executed_s) / own_s + noise))
			  : NAN;
	s->seen = *c;
	s->seen_s = now_s;
	signal[SIGNAL_UTILIZATION] = (struct signal){fmin(1, fmax(0, utilization)), PROVENANCE_OS};
	if (s->has_last)
		counters_rates(&s->last, &now, j->threads, fresh);
	for (int k = 0; s->has_last && k < SIGNAL_COUNT; k++)
		if (fresh[k].provenance != PROVENANCE_NONE)
			signal[k] = fresh[k];
	/* The next difference spans a sample that lacks a counter only for that counter. */
	s->last = now;
	s->has_last = true;
	return true;
}
