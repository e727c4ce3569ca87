/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/sim/parameter.h"

#include <math.h>
#include <stddef.h>

/* Offsets into machine_params, or into a phase. */
static const struct parameter {
	const char *name;
	bool program;
	size_t offset;
} parameters[] = {
	{"nothing", false, 0},
#define MACHINE(name, field)                                                                       \
	{                                                                                          \
		name, false, offsetof(struct machine_params, field)                                \
	}
#define PROGRAM(field)                                                                             \
	{                                                                                          \
		"program: " #field, true, offsetof(struct phase, field)                            \
	}
	MACHINE("machine: clock", hz),
	MACHINE("machine: cache", llc_bytes),
	MACHINE("machine: bandwidth", bytes_per_s),
	MACHINE("machine: latency", latency_s),
	MACHINE("machine: remote", remote),
	MACHINE("machine: smt_cpi", smt_cpi),
	MACHINE("machine: fill", fill),
	MACHINE("machine: warmup", warmup_s),
	MACHINE("machine: gang_switch", gang_switch_s),
	MACHINE("penalty: lock_holder", penalties.lock_holder),
	MACHINE("penalty: wake", penalties.wake),
	MACHINE("penalty: context", penalties.context),
	PROGRAM(seconds),
	PROGRAM(alpha),
	PROGRAM(gamma),
	PROGRAM(cpi),
	PROGRAM(loads),
	PROGRAM(refs),
	PROGRAM(miss_lo),
	PROGRAM(miss_hi),
	PROGRAM(working_set_bytes),
	PROGRAM(mlp),
	PROGRAM(sync),
	PROGRAM(comm),
	PROGRAM(wait),
	PROGRAM(utilization_scale),
};
#define N_PARAMETERS ((int)(sizeof(parameters) / sizeof(parameters[0])))

int parameter_count(void)
{
	return N_PARAMETERS;
}

const char *parameter_name(int parameter)
{
	return parameter >= 0 && parameter < N_PARAMETERS ? parameters[parameter].name : NULL;
}

bool parameter_is_program(int parameter)
{
	return parameters[parameter].program;
}

static double clamp(double v, double low, double high)
{
	return fmin(high, fmax(low, v));
}

void parameter_change_machine(int parameter, double factor, struct machine_params *m)
{
	const struct parameter *p = &parameters[parameter];

	if (parameter == 0 || p->program)
		return;
	*(double *)(void *)((char *)m + p->offset) *= factor;
	/* Below 1 another node would be nearer, and a busy sibling a help. */
	m->remote = fmax(1, m->remote);
	m->smt_cpi = clamp(m->smt_cpi, 1, 2);
	m->fill = clamp(m->fill, 0, 1);
}

void parameter_change_program(int parameter, double factor, struct program *p)
{
	const struct parameter *what = &parameters[parameter];

	if (!what->program)
		return;
	for (int i = 0; i < p->n_phases; i++) {
		struct phase *f = &p->phase[i];

		*(double *)(void *)((char *)f + what->offset) *= factor;
		f->seconds = fmax(f->seconds, 1e-3);
		f->cpi = clamp(f->cpi, 0.05, 100);
		f->loads = clamp(f->loads, 0, 2);
		f->mlp = clamp(f->mlp, 0.1, 1000);
		f->utilization_scale = clamp(f->utilization_scale, 0, 10);
		f->alpha = clamp(f->alpha, 0, 1);
		f->gamma = clamp(f->gamma, 0, 1 - f->alpha);
		f->beta = f->io ? f->beta : 1 - f->alpha - f->gamma;
		f->refs = clamp(f->refs, 0, 1);
		f->miss_hi = clamp(f->miss_hi, 0, 1);
		f->miss_lo = clamp(f->miss_lo, 0, 1);
		/* The one that was changed gives way. */
		if (f->miss_lo > f->miss_hi && what->offset == offsetof(struct phase, miss_lo))
			f->miss_lo = f->miss_hi;
		else if (f->miss_lo > f->miss_hi)
			f->miss_hi = f->miss_lo;
		f->sync = clamp(f->sync, 0, 1);
		f->comm = clamp(f->comm, 0, 1);
		f->wait = clamp(f->wait, 0, 1);
	}
}
