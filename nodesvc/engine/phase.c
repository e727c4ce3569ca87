/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/engine/phase.h"

#define REFERENCE_SAMPLES 2
#define CONFIRMATIONS     2
/* A reference that may be this much higher than told gives way to one that is known better. */
#define VAGUE 1.1

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

/* Strictly more than @ratio times, or less than 1/@ratio of, the reference, wherever both lie. */
static bool deviates(const struct phase *p, double ratio, double low, double high)
{
	return low > p->reference_high * ratio || high * ratio < p->reference;
}

/* Half of it may be of a phase that just deviates from the one before. */
static bool is_mixed(const struct phase_cfg *cfg, double before, double low, double high)
{
	double part = 2 * cfg->ratio / (cfg->ratio + 1);

	return low > before * part || high * part < before;
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
	changed = p->has_reference && deviates(p, cfg->ratio, u, u);
	p->reference = p->reference_high = p->level = u;
	p->has_reference = true;
	p->start_s = now_s;
	p->length_s = cfg->epoch_s;
	p->sum = 0;
	p->n = 0;
	return changed;
}

static bool sample_width(struct phase *p, const struct phase_cfg *cfg, double low, double high)
{
	bool deviating, up;

	if (!p->has_reference) {
		p->sum += low;
		p->sum_high += high;
		if (++p->n < REFERENCE_SAMPLES)
			return false;
		p->reference = p->sum / p->n;
		p->reference_high = p->sum_high / p->n;
		p->has_reference = true;
		return false;
	}
	deviating = deviates(p, cfg->ratio, low, high);
	p->suspect = deviating || (p->last > 0 && is_mixed(cfg, p->last, low, high));
	p->last = low;
	if (!deviating) {
		p->deviating = 0;
		if (p->reference_high > p->reference * VAGUE && high <= low * VAGUE) {
			p->reference = low;
			p->reference_high = high;
		}
		return false;
	}
	p->level = low;
	/* Off to the other side than the one before: what one sample had too much of, the next had
	 * too little of. */
	up = low > p->reference_high;
	if (p->deviating && up != p->up)
		p->deviating = 0;
	p->up = up;
	if (++p->deviating < CONFIRMATIONS)
		return false;
	p->deviating = 0;
	p->suspect = false;
	p->reference = low;
	p->reference_high = high;
	return true;
}

void phase_no_sample(struct phase *p)
{
	p->deviating = 0;
	p->suspect = false;
	p->last = 0;
}

bool phase_asks_high(const struct phase *p, const struct phase_cfg *cfg, double low)
{
	if (cfg->mode == PHASE_PAPER)
		return false;
	return !p->has_reference || p->reference_high > p->reference * VAGUE ||
	       deviates(p, cfg->ratio, low, low) ||
	       (p->last > 0 && is_mixed(cfg, p->last, low, low));
}

bool phase_sample_range(
	struct phase *p, const struct phase_cfg *cfg, double now_s, double low, double high)
{
	return cfg->mode == PHASE_PAPER ? sample_paper(p, cfg, now_s, low)
					: sample_width(p, cfg, low, high > low ? high : low);
}

bool phase_sample(struct phase *p, const struct phase_cfg *cfg, double now_s, double utilization)
{
	return phase_sample_range(p, cfg, now_s, utilization, utilization);
}
