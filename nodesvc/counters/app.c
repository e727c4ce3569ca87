/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/counters/app.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#define SILENT_MIN_NS INT64_C(1000000000)

/* Printable, or cut there: it is shown to people. */
static void copy_name(uint64_t word, char ret[COLOC_NAME_LEN + 1])
{
	memcpy(ret, &word, COLOC_NAME_LEN);
	ret[COLOC_NAME_LEN] = '\0';
	for (char *c = ret; *c; c++)
		if (!isgraph((unsigned char)*c)) {
			*c = '\0';
			break;
		}
}

static void forget_slot(struct app_slot *s, int32_t pid)
{
	*s = (struct app_slot){.pid = pid, .rate = NAN};
}

static void take_report(
	struct app *a, struct app_slot *s, const struct coloc_slot *now, int64_t now_ns)
{
	uint32_t updates = __atomic_load_n(&now->updates, __ATOMIC_ACQUIRE);
	double progress = coloc_double(__atomic_load_n(&now->progress, __ATOMIC_RELAXED));
	int64_t t_ns = __atomic_load_n(&now->updated_ns, __ATOMIC_RELAXED);
	double done;

	if (updates == s->updates || !isfinite(progress))
		return;
	if (t_ns > now_ns || t_ns <= s->updated_ns)
		t_ns = now_ns;
	done = progress - s->progress;
	if (s->updated_ns != 0 && t_ns > s->updated_ns && done >= 0 && !s->paused) {
		s->gap_ns = t_ns - s->updated_ns;
		s->rate = done / ((double)s->gap_ns / 1e9);
		if (!isfinite(s->rate))
			s->rate = NAN;
	}
	if (done > 0 && isfinite(a->total + done))
		a->total += done;
	a->reports += updates - s->updates;
	s->paused = false;
	s->updates = updates;
	s->progress = progress;
	s->updated_ns = t_ns;
	if (t_ns > a->updated_ns)
		a->updated_ns = t_ns;
}

/* Its last rate; 0 when it should have reported long ago. */
static double slot_rate(const struct app_slot *s, int64_t now_ns)
{
	int64_t silent_ns = now_ns - s->updated_ns;
	int64_t usual_ns = 2 * s->gap_ns > SILENT_MIN_NS ? 2 * s->gap_ns : SILENT_MIN_NS;

	return silent_ns <= usual_ns ? s->rate : 0;
}

void app_read(struct app *a, const struct coloc_report *r, int64_t now_ns, struct signal *ret)
{
	double sum = NAN;

	a->n_other_unit = 0;
	for (int i = 0; i < COLOC_SLOTS; i++) {
		const struct coloc_slot *now = &r->slot[i];
		struct app_slot *s = &a->slot[i];
		int32_t pid = __atomic_load_n(&now->pid, __ATOMIC_ACQUIRE);
		uint64_t unit;

		if (pid != s->pid)
			forget_slot(s, pid);
		if (pid == 0)
			continue;
		unit = __atomic_load_n(&now->unit, __ATOMIC_RELAXED);
		/* What the program counts itself is worth more. */
		if (coloc_worth(unit) > coloc_worth(a->unit_word)) {
			a->unit_word = unit;
			copy_name(unit, a->unit);
		}
		/* Sweeps and steps do not add up. */
		if (unit && unit != a->unit_word) {
			a->n_other_unit++;
			continue;
		}
		take_report(a, s, now, now_ns);
		if (isfinite(s->rate))
			sum = (isnan(sum) ? 0 : sum) + slot_rate(s, now_ns);
	}
	*ret = signal_is_sane(SIGNAL_PROGRESS, sum) ? (struct signal){sum, app_basis(a)}
						    : (struct signal){NAN, PROVENANCE_NONE};
}

enum provenance app_basis(const struct app *a)
{
	int worth = coloc_worth(a->unit_word);

	return worth && worth < COLOC_WORTH_OWN ? PROVENANCE_CALLS : PROVENANCE_APP;
}

void app_pause(struct app *a)
{
	for (int i = 0; i < COLOC_SLOTS; i++) {
		a->slot[i].paused = a->slot[i].updated_ns;
		a->slot[i].rate = NAN;
	}
}

void app_counter(const struct coloc_report *r, int i, char name[COLOC_NAME_LEN + 1], double *ret)
{
	uint64_t word = 0;

	*ret = NAN;
	name[0] = '\0';
	for (int k = 0; k < COLOC_SLOTS; k++) {
		const struct coloc_slot *s = &r->slot[k];
		uint64_t own = __atomic_load_n(&s->counter[i].name, __ATOMIC_RELAXED);
		double v = coloc_double(__atomic_load_n(&s->counter[i].value, __ATOMIC_RELAXED));

		if (!__atomic_load_n(&s->pid, __ATOMIC_RELAXED) || !own || (word && own != word) ||
			!isfinite(v))
			continue;
		word = own;
		*ret = (isnan(*ret) ? 0 : *ret) + v;
	}
	if (word)
		copy_name(word, name);
}

static int compare_pids(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void app_release(struct app *a, struct coloc_report *r, const pid_t *tid, int n_tids)
{
	int used = 0;

	for (int i = 0; i < COLOC_SLOTS; i++)
		used += __atomic_load_n(&r->slot[i].pid, __ATOMIC_RELAXED) != 0;
	if (used <= COLOC_SLOTS / 2)
		return;
	for (int i = 0; i < COLOC_SLOTS; i++) {
		struct app_slot *s = &a->slot[i];
		struct coloc_slot *shared = &r->slot[i];
		pid_t pid = s->pid;

		if (pid == 0 || bsearch(&pid, tid, (size_t)n_tids, sizeof(*tid), compare_pids))
			s->absent = 0;
		else if (++s->absent >= 2) {
			/* Cleared before it is free: the next owner finds it empty. */
			__atomic_store_n(&shared->progress, 0, __ATOMIC_RELAXED);
			__atomic_store_n(&shared->updates, 0, __ATOMIC_RELAXED);
			__atomic_store_n(&shared->updated_ns, 0, __ATOMIC_RELAXED);
			__atomic_store_n(&shared->unit, 0, __ATOMIC_RELAXED);
			for (int k = 0; k < COLOC_SLOT_NAMES; k++) {
				__atomic_store_n(&shared->counter[k].name, 0, __ATOMIC_RELAXED);
				__atomic_store_n(&shared->counter[k].value, 0, __ATOMIC_RELAXED);
			}
			__atomic_store_n(&shared->pid, 0, __ATOMIC_RELEASE);
			forget_slot(s, 0);
		}
	}
}
