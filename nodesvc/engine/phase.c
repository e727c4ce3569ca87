/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/engine/phase.h"

#define REFERENCE_SAMPLES 2
#define CONFIRMATIONS     2

const struct phase_cfg phase_paper = {PHASE_PAPER, 2.5, 10, 2};
const struct phase_cfg phase_width = {PHASE_WIDTH, 0, 0, 1.6};

void phase_restart(struct phase *p, const struct phase_cfg *cfg, double now_s, int cores)
{
	*p = (struct phase){
		.started = true,
		.cores = cores,
		.start_s = now_s,
		.length_s = cfg->first_epoch_s,
	};
}

/* Strictly more than ratio times, or less than 1/ratio of, the reference. */
static bool deviates(const struct phase_cfg *cfg, double reference, double u)
{
	return u > reference * cfg->ratio || u * cfg->ratio < reference;
}

/* Half of it may be of a phase that just deviates from the one before. */
static bool is_mixed(const struct phase_cfg *cfg, double before, double u)
{
	double part = 2 * cfg->ratio / (cfg->ratio + 1);

	return u > before * part || u * part < before;
}

static bool sample_paper(struct phase *p, const struct phase_cfg *cfg, double now_s, double u)
{
	bool changed = false;

	p->sum += u;
	p->n++;
	/* Clocks are doubles: an epoch may end a rounding early. */
	if (now_s - p->start_s < p->length_s - 1e-9)
		return false;
	u = p->sum / p->n;
	changed = p->has_reference && deviates(cfg, p->reference, u);
	p->reference = p->level = u;
	p->has_reference = true;
	p->start_s = now_s;
	p->length_s = cfg->epoch_s;
	p->sum = 0;
	p->n = 0;
	return changed;
}

static bool sample_width(struct phase *p, const struct phase_cfg *cfg, double u)
{
	if (!p->has_reference) {
		p->sum += u;
		if (++p->n < REFERENCE_SAMPLES)
			return false;
		p->reference = p->sum / p->n;
		p->has_reference = true;
		return false;
	}
	p->suspect = deviates(cfg, p->reference, u) || (p->last > 0 && is_mixed(cfg, p->last, u));
	p->last = u;
	if (!deviates(cfg, p->reference, u)) {
		p->deviating = 0;
		return false;
	}
	p->level = u;
	if (++p->deviating < CONFIRMATIONS)
		return false;
	p->deviating = 0;
	p->suspect = false;
	p->reference = u;
	return true;
}

bool phase_sample(struct phase *p, const struct phase_cfg *cfg, double now_s, double utilization)
{
	return cfg->mode == PHASE_PAPER ? sample_paper(p, cfg, now_s, utilization)
					: sample_width(p, cfg, utilization);
}
