/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/engine/engine.h"

#include <stddef.h>

bool hysteresis_look(struct hysteresis *h, int64_t now_ns, bool wants, int64_t hysteresis_ns)
{
	bool against = wants == h->lent;

	if (against && !h->against)
		h->from_ns = h->lent || !h->last_ns ? now_ns : h->last_ns;
	h->against = against;
	h->last_ns = now_ns;
	if (!against || now_ns - h->from_ns < hysteresis_ns)
		return false;
	h->lent = !h->lent;
	h->against = false;
	return true;
}

/* ---- owners -------------------------------------------------------------------------------- */

static bool can_own(const struct priority *p, int t, const struct priority_slot *s)
{
	return p->thread[t].slot < 0 && p->thread[t].job == s->job &&
	       coreset_has(&p->thread[t].cpu, (unsigned int)s->pu);
}

static void give(struct priority *p, int slot, int t)
{
	struct priority_slot *s = &p->slot[slot];

	s->owner = t;
	s->owner_id = p->thread[t].id;
	s->guest = -1;
	s->guest_id = 0;
	s->h = (struct hysteresis){.lent = false};
	p->thread[t].slot = slot;
}

static int index_of(const struct priority *p, int64_t id)
{
	for (int t = 0; id && t < p->n_threads; t++)
		if (p->thread[t].id == id)
			return t;
	return -1;
}

/* Owners and guests of before that are still there. */
static void keep_known(struct priority *p)
{
	for (int i = 0; i < p->n_slots; i++) {
		struct priority_slot *s = &p->slot[i];
		int owner = index_of(p, s->owner_id);

		s->owner = -1;
		if (owner >= 0 && can_own(p, owner, s)) {
			s->owner = owner;
			p->thread[owner].slot = i;
		} else if (s->owner_id) {
			s->owner_id = 0;
			s->h = (struct hysteresis){.lent = false};
		}
	}
	for (int i = 0; i < p->n_slots; i++) {
		struct priority_slot *s = &p->slot[i];
		int guest = s->h.lent ? index_of(p, s->guest_id) : -1;

		s->guest = guest >= 0 && p->thread[guest].slot < 0 ? guest : -1;
		if (s->guest >= 0)
			p->thread[guest].slot = i;
		else
			s->guest_id = 0;
	}
}

/* Main threads have the first choice: they produce what the others work on (section 5.1). */
static void give_free(struct priority *p, bool leaders)
{
	for (int t = 0; t < p->n_threads; t++)
		for (int i = 0; p->thread[t].leader == leaders && i < p->n_slots; i++)
			if (p->slot[i].owner < 0 && can_own(p, t, &p->slot[i])) {
				give(p, i, t);
				break;
			}
}

static int tell(struct priority *p)
{
	int changed = 0;

	for (int t = 0; t < p->n_threads; t++) {
		struct priority_thread *x = &p->thread[t];
		const struct priority_slot *s = x->slot < 0 ? NULL : &p->slot[x->slot];
		/* An owner that is out stays high while there is nobody to take its place. */
		bool high = s && (s->owner != t || !s->h.lent || s->guest < 0);

		changed += high != x->high;
		x->high = high;
	}
	return changed;
}

void priority_assign(struct priority *p)
{
	for (int t = 0; t < p->n_threads; t++)
		p->thread[t].slot = -1;
	keep_known(p);
	give_free(p, true);
	give_free(p, false);
	if (p->next >= p->n_threads)
		p->next = 0;
	tell(p);
}

/* ---- looks --------------------------------------------------------------------------------- */

/* How far a thread's job is from being the next whose turn it is; its own job comes first. */
static int turn_of(const struct priority *p, const struct priority_slot *s, int job)
{
	return job == s->job ? 0 : 1 + (job - s->last_job - 1 + p->n_jobs) % p->n_jobs;
}

static void end_guest(struct priority *p, struct priority_slot *s)
{
	if (s->guest >= 0)
		p->thread[s->guest].slot = -1;
	s->guest = -1;
	s->guest_id = 0;
}

/* Low threads that want a core, from the one that is next, into @ret; how many. */
static int find_waiting(
	struct priority *p, bool (*wants)(void *arg, int thread), void *arg, int ret[PRIORITY_ASKS])
{
	int n = 0, asked = 0, first = p->next;

	for (int k = 0; k < p->n_threads && asked < PRIORITY_ASKS; k++) {
		int t = (first + k) % p->n_threads;

		if (p->thread[t].slot >= 0)
			continue;
		asked++;
		p->next = (t + 1) % p->n_threads;
		if (wants(arg, t))
			ret[n++] = t;
	}
	return n;
}

static void choose_guest(struct priority *p, int slot, const int *waiting, int n)
{
	struct priority_slot *s = &p->slot[slot];
	int best = -1;

	for (int k = 0; k < n; k++) {
		const struct priority_thread *x = &p->thread[waiting[k]];

		if (x->slot >= 0 || !coreset_has(&x->cpu, (unsigned int)s->pu))
			continue;
		if (best < 0 || turn_of(p, s, x->job) < turn_of(p, s, p->thread[best].job))
			best = waiting[k];
	}
	if (best < 0)
		return;
	s->guest = best;
	s->guest_id = p->thread[best].id;
	s->last_job = p->thread[best].job;
	p->thread[best].slot = slot;
}

/* A place for a guest: the owner is out, and does not want it back. */
static bool is_vacant(const struct priority_slot *s)
{
	return s->h.lent && s->guest < 0 && !s->h.against;
}

int priority_look(struct priority *p, int64_t now_ns, int64_t hysteresis_ns,
	bool (*wants)(void *arg, int thread), void *arg)
{
	int waiting[PRIORITY_ASKS], n = 0;
	bool vacant = false;

	for (int i = 0; i < p->n_slots; i++) {
		struct priority_slot *s = &p->slot[i];

		hysteresis_look(
			&s->h, now_ns, s->owner >= 0 && wants(arg, s->owner), hysteresis_ns);
		if (!s->h.lent || (s->guest >= 0 && !wants(arg, s->guest)))
			end_guest(p, s);
		vacant |= is_vacant(s);
	}
	if (vacant)
		n = find_waiting(p, wants, arg, waiting);
	for (int i = 0; n && i < p->n_slots; i++)
		if (is_vacant(&p->slot[i]))
			choose_guest(p, i, waiting, n);
	return tell(p);
}
