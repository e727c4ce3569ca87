/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recent.c - decisions as differences: a decision is laid out flat, such that the same fields of
 * the same jobs come to the same place (recent_json.c), and what is kept is its exclusive or with
 * the one before, runs of zeros counted.
 */
#include "nodesvc/trace/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROW_MAX ((size_t)64 << 10)

struct bytes {
	unsigned char *data;
	size_t len, room;
};

/* The older and the newer half; each can be read without the other. */
struct half {
	struct bytes packed;
	uint64_t first; /* number of its first decision, 0 none */
	int n;          /* decisions and engines */
};

/* Which job has which slot of the flat decision. */
struct slot {
	char id[JOB_ID_MAX]; /* of the job that has it, or had it */
	bool used;           /* in the view that is being written */
};

struct slots {
	struct slot *slot;
	flat_slot *of, *was; /* of the jobs of that view, in its order; of the last one's */
	int n, n_of, n_was, room;
};

struct recent {
	size_t max_bytes;
	struct half old, new;
	struct bytes flat, before; /* being written; the last one written */
	struct bytes later;        /* goes to the end of flat */
	struct slots slots;
	bool writing, failed, cut;
	bool made[2];                            /* since the last decision: ruling, fallback */
	json_object *engine[2], *head_engine[2]; /* those now, those at the beginning */
	uint64_t number;
};

/* ---- bytes ---- */

static bool grow(struct bytes *b, size_t more)
{
	size_t room = b->room ? b->room : 1024;
	unsigned char *data;

	if (b->len + more <= b->room)
		return true;
	/* Not twice as much for long: it stays, and most of it is never used. */
	while (room < b->len + more)
		room += room < GROW_MAX ? room : GROW_MAX;
	data = realloc(b->data, room);
	if (!data)
		return false;
	b->data = data;
	b->room = room;
	return true;
}

/* Nothing more is added. */
static void fit(struct bytes *b)
{
	unsigned char *data = realloc(b->data, b->len);

	if (!data)
		return;
	b->data = data;
	b->room = b->len;
}

static void clear(struct bytes *b)
{
	free(b->data);
	*b = (struct bytes){0};
}

static void put_into(struct recent *t, struct bytes *b, const void *data, size_t n)
{
	if (n == 0 || t->failed)
		return;
	if (!grow(b, n)) {
		t->failed = true;
		return;
	}
	memcpy(b->data + b->len, data, n);
	b->len += n;
}

static void put(struct recent *t, const void *data, size_t n)
{
	put_into(t, &t->flat, data, n);
}

static bool put_count(struct bytes *b, size_t n)
{
	if (!grow(b, 10))
		return false;
	for (; n >= 128; n >>= 7)
		b->data[b->len++] = (unsigned char)(n | 128);
	b->data[b->len++] = (unsigned char)n;
	return true;
}

static size_t get_count(const struct bytes *b, size_t *at)
{
	size_t n = 0;

	for (int shift = 0; *at < b->len; shift += 7) {
		unsigned char c = b->data[(*at)++];

		n |= (size_t)(c & 127) << shift;
		if (c < 128)
			break;
	}
	return n;
}

static unsigned char differs_at(const struct bytes *a, const struct bytes *b, size_t i)
{
	return (unsigned char)(a->data[i] ^ (i < b->len ? b->data[i] : 0));
}

/* Length, then pairs: so many equal bytes, so many that follow. */
static bool pack(struct bytes *ret, const struct bytes *flat, const struct bytes *before)
{
	size_t i = 0;

	if (!put_count(ret, flat->len))
		return false;
	while (i < flat->len) {
		size_t start = i, other = 0;

		while (i + 64 <= flat->len && i + 64 <= before->len &&
			memcmp(flat->data + i, before->data + i, 64) == 0)
			i += 64;
		while (i < flat->len && !differs_at(flat, before, i))
			i++;
		/* A shorter run of equal bytes would cost more than it saves. */
		for (size_t n = i; n < flat->len && n - i - other < 3; n++)
			if (differs_at(flat, before, n))
				other = n - i + 1;
		if (!put_count(ret, i - start) || !put_count(ret, other) || !grow(ret, other))
			return false;
		for (size_t k = 0; k < other; k++, i++)
			ret->data[ret->len++] = differs_at(flat, before, i);
	}
	return true;
}

/* The next flat one in place of @flat, which is the one before it. */
static bool unpack(struct bytes *flat, const struct bytes *packed, size_t *at)
{
	size_t len = get_count(packed, at), i = 0;

	if (len > flat->len) {
		size_t more = len - flat->len;

		if (!grow(flat, more))
			return false;
		memset(flat->data + flat->len, 0, more);
	}
	flat->len = len;
	while (i < len) {
		i += get_count(packed, at);
		for (size_t n = get_count(packed, at); n > 0 && i < len; n--, i++)
			flat->data[i] ^= packed->data[(*at)++];
	}
	return true;
}

/* ---- writing ---- */

int recent_create(struct recent **ret, size_t max_bytes, struct errbuf *err)
{
	struct recent *t = calloc(1, sizeof(*t));

	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	t->max_bytes = max_bytes;
	*ret = t;
	return 0;
}

static void empty(struct recent *t)
{
	clear(&t->old.packed);
	clear(&t->new.packed);
	t->old = t->new = (struct half){0};
	t->before.len = 0;
	t->slots.n = t->slots.n_of = 0; /* ids that are left are of none */
	t->cut = false;
}

void recent_free(struct recent *t)
{
	if (!t)
		return;
	empty(t);
	clear(&t->flat);
	clear(&t->before);
	clear(&t->later);
	free(t->slots.slot);
	free(t->slots.of);
	free(t->slots.was);
	for (int i = 0; i < 2; i++) {
		json_object_put(t->engine[i]);
		json_object_put(t->head_engine[i]);
	}
	free(t);
}

/* What was written is kept. */
static void keep(struct recent *t, uint64_t number)
{
	struct bytes swap;

	if (!t->failed && t->new.packed.len > t->max_bytes / 2) {
		t->cut = t->cut || t->old.n > 0;
		clear(&t->old.packed);
		fit(&t->new.packed);
		t->old = t->new;
		t->new = (struct half){0};
		t->before.len = 0;
	}
	if (!t->failed)
		t->failed = !pack(&t->new.packed, &t->flat, &t->before);
	if (t->failed) {
		empty(t);
		t->cut = true;
		t->failed = false;
		return;
	}
	if (number && !t->new.first)
		t->new.first = number;
	t->new.n++;
	swap = t->before;
	t->before = t->flat;
	t->flat = swap;
}

static void set_engine(json_object **to, json_object *o)
{
	json_object_put(*to);
	*to = json_object_get(o);
}

void recent_engine(struct recent *t, bool fallback, const struct trace_engine *e)
{
	struct flat_head h;
	json_object *o = trace_engine_to_json(e);
	const char *text;

	set_engine(&t->engine[fallback], o);
	json_object_put(o);
	t->made[fallback] = true;
	if (t->made[0] && t->made[1])
		empty(t);
	if (t->new.n + t->old.n == 0) {
		set_engine(&t->head_engine[0], t->engine[0]);
		set_engine(&t->head_engine[1], t->engine[1]);
		return;
	}
	text = json_object_to_json_string_ext(t->engine[fallback], JSON_C_TO_STRING_PLAIN);
	memset(&h, 0, sizeof(h));
	h.kind = fallback ? FLAT_FALLBACK : FLAT_RULING;
	h.number = t->number + 1; /* the decision that it is there for */
	t->flat.len = 0;
	put(t, &h, sizeof(h));
	put(t, text, strlen(text) + 1);
	keep(t, 0);
}

static void put_text(struct recent *t, struct bytes *b, const char *text, size_t room)
{
	char fixed[256] = "";

	if (text)
		memcpy(fixed, text, strnlen(text, room - 1));
	put_into(t, b, fixed, room);
}

/* ---- slots ---- */

static bool slots_room(struct slots *s, int n_jobs)
{
	size_t n = (size_t)n_jobs;
	flat_slot *order;
	struct slot *slot;

	if (n_jobs <= s->room)
		return true;
	slot = realloc(s->slot, n * sizeof(*slot));
	if (!slot)
		return false;
	s->slot = slot;
	order = realloc(s->of, n * sizeof(*order));
	if (!order)
		return false;
	s->of = order;
	order = realloc(s->was, n * sizeof(*order));
	if (!order)
		return false;
	s->was = order;
	s->room = n_jobs;
	return true;
}

/*
 * The slot that @id has, or s->n. Jobs mostly come in the order of the last view, where some have
 * gone: what comes *next in it is looked at first.
 */
static int slots_find(const struct slots *s, const char *id, int *next)
{
	for (int i = *next; i < s->n_was && i < *next + 2; i++)
		if (strncmp(s->slot[s->was[i]].id, id, JOB_ID_MAX - 1) == 0) {
			*next = i + 1;
			return s->was[i];
		}
	for (int k = 0; k < s->n; k++)
		if (strncmp(s->slot[k].id, id, JOB_ID_MAX - 1) == 0)
			return k;
	return s->n;
}

/* Every job to its slot, and who has none to a free one. */
static bool slots_assign(struct slots *s, const struct view *v)
{
	int next = 0, free_slot = 0, n = s->n;
	flat_slot *was;

	if (!slots_room(s, v->n_jobs))
		return false;
	was = s->of;
	s->of = s->was;
	s->was = was;
	s->n_was = s->n_of;
	s->n_of = v->n_jobs;
	for (int k = 0; k < s->room; k++)
		s->slot[k].used = false;
	for (int i = 0; i < v->n_jobs; i++) {
		s->of[i] = (flat_slot)slots_find(s, v->job[i].id, &next);
		if (s->of[i] < n)
			s->slot[s->of[i]].used = true;
	}
	for (int i = 0; i < v->n_jobs; i++) {
		if (s->of[i] < n)
			continue;
		while (s->slot[free_slot].used)
			free_slot++;
		s->slot[free_slot].used = true;
		s->of[i] = (flat_slot)free_slot;
		snprintf(s->slot[free_slot].id, JOB_ID_MAX, "%s", v->job[i].id);
		if (free_slot >= s->n)
			s->n = free_slot + 1;
	}
	return true;
}

/* Room for @size bytes of each slot, as it was before; NULL: failed. */
static unsigned char *put_slots(struct recent *t, size_t size)
{
	size_t at = t->flat.len, n = (size_t)t->slots.n * size, same = 0;

	if (t->failed || !grow(&t->flat, n)) {
		t->failed = true;
		return NULL;
	}
	if (t->before.len > at)
		same = t->before.len - at < n ? t->before.len - at : n;
	if (same)
		memcpy(t->flat.data + at, t->before.data + at, same);
	if (n > same)
		memset(t->flat.data + at + same, 0, n - same);
	t->flat.len += n;
	return t->flat.data + at;
}

static void put_jobs(struct recent *t, const struct view *v)
{
	unsigned char *at = put_slots(t, sizeof(flat_slot));

	if (!at)
		return;
	memset(at, 0, (size_t)t->slots.n * sizeof(flat_slot));
	if (v->n_jobs)
		memcpy(at, t->slots.of, (size_t)v->n_jobs * sizeof(flat_slot));
	at = put_slots(t, sizeof(struct flat_job));
	for (int i = 0; at && i < v->n_jobs; i++) {
		struct flat_job f;

		memset(&f, 0, sizeof(f));
		memcpy(&f.job, &v->job[i], sizeof(f.job));
		f.job.id = f.job.type = NULL;
		f.job.speed = NULL;
		snprintf(f.id, sizeof(f.id), "%s", v->job[i].id);
		if (v->job[i].type)
			snprintf(f.type, sizeof(f.type), "%s", v->job[i].type);
		memcpy(at + t->slots.of[i] * sizeof(f), &f, sizeof(f));
	}
	for (int i = 0; i < v->n_jobs; i++)
		put_into(t, &t->later, v->job[i].speed,
			(size_t)v->job[i].n_speed * sizeof(struct speed_point));
}

static void put_events(struct recent *t, const struct view *v)
{
	for (int i = 0; i < v->n_events; i++) {
		struct event e;

		memset(&e, 0, sizeof(e));
		e = v->event[i];
		e.job = e.task_type = NULL;
		put_into(t, &t->later, &e, sizeof(e));
		put_text(t, &t->later, v->event[i].job, JOB_ID_MAX);
		put_text(t, &t->later, v->event[i].task_type, JOB_TYPE_MAX);
	}
	for (int i = 0; i < v->n_ptt; i++) {
		struct ptt_entry e = v->ptt[i];

		e.type = NULL;
		put_into(t, &t->later, &e, sizeof(e));
		put_text(t, &t->later, v->ptt[i].type, JOB_TYPE_MAX);
	}
}

void recent_begin(struct recent *t, const struct view *v)
{
	struct flat_head h;

	memset(&h, 0, sizeof(h));
	h.kind = FLAT_DECISION;
	h.number = ++t->number;
	h.now_s = v->now_s;
	h.seed = v->seed;
	h.slice_ms = v->slice_ms;
	h.cache_ways = v->cache_ways;
	h.n_jobs = v->n_jobs;
	t->failed = t->failed || !slots_assign(&t->slots, v);
	h.n_slots = t->slots.n;
	h.n_events = v->n_events;
	h.n_ptt = v->n_ptt;
	h.n_capacity = v->capacity ? v->n_capacity : 0;
	h.has_fast = v->fast_cores != NULL;
	h.has_reserved = v->reserved != NULL;
	t->made[0] = t->made[1] = false;
	t->flat.len = t->later.len = 0;
	t->writing = true;
	put(t, &h, sizeof(h));
	put_jobs(t, v);
	if (v->fast_cores)
		put(t, v->fast_cores, sizeof(*v->fast_cores));
	if (v->reserved)
		put(t, v->reserved, sizeof(*v->reserved));
	put(t, v->capacity, (size_t)h.n_capacity * sizeof(int));
	put_events(t, v);
}

static void put_plan(struct recent *t, const struct plan *p)
{
	unsigned char *at = put_slots(t, sizeof(struct flat_plan_job));

	for (int i = 0; at && i < p->n_jobs; i++) {
		const struct plan_job *from = &p->job[i];
		struct flat_plan_job j;

		memset(&j, 0, sizeof(j));
		j.coreset = from->coreset;
		j.low = from->low;
		j.cluster = from->cluster;
		j.cores = from->cores;
		j.role = from->role;
		j.group = from->group;
		j.place_core = from->place_core;
		j.place_width = from->place_width;
		j.n_lent = from->n_lent;
		memcpy(j.why, from->why, strnlen(from->why, sizeof(j.why) - 1));
		memcpy(at + t->slots.of[i] * sizeof(j), &j, sizeof(j));
	}
	for (int i = 0; i < p->n_jobs; i++)
		put(t, p->job[i].lent, (size_t)p->job[i].n_lent * sizeof(struct plan_lent));
	for (int s = 0; s < p->n_slices; s++) {
		put(t, &p->slice[s].ms, sizeof(int));
		put(t, &p->slice[s].n_jobs, sizeof(int));
		put(t, p->slice[s].job, (size_t)p->slice[s].n_jobs * sizeof(int));
	}
	put(t, p->experiment, (size_t)p->n_experiments * sizeof(p->experiment[0]));
}

void recent_answer(struct recent *t, bool fallback, const struct plan *p, const char *refused)
{
	struct flat_answer a;

	if (!t->writing)
		return;
	memset(&a, 0, sizeof(a));
	a.fallback = fallback;
	a.refused = p == NULL;
	if (p) {
		a.keep = p->keep;
		a.observe = p->observe;
		a.score = p->score;
		a.moves = p->moves;
		a.hysteresis_ms = p->hysteresis_ms;
		a.n_clusters = p->n_clusters;
		memcpy(a.cluster, p->cluster, sizeof(a.cluster[0]) * (size_t)p->n_clusters);
		a.n_slices = p->n_slices;
		a.n_experiments = p->n_experiments;
	}
	put(t, &a, sizeof(a));
	if (p)
		put_plan(t, p);
	else
		put_text(t, &t->flat, refused, FLAT_REFUSED_MAX);
}

void recent_end(struct recent *t)
{
	struct flat_head h;

	if (!t->writing)
		return;
	t->writing = false;
	if (!t->failed) {
		memcpy(&h, t->flat.data, sizeof(h));
		h.later_at = t->flat.len;
		memcpy(t->flat.data, &h, sizeof(h));
	}
	put(t, t->later.data, t->later.len);
	keep(t, t->number);
}

uint64_t recent_number(const struct recent *t)
{
	return t->number;
}

size_t recent_bytes(const struct recent *t)
{
	return t->old.packed.len + t->new.packed.len;
}

uint64_t recent_first(const struct recent *t)
{
	return t->old.first ? t->old.first : t->new.first;
}

/* ---- reading ---- */

/* Lines of one half. 1: the page is full or all there. */
static int add_half(const struct half *half, struct recent_text *text)
{
	__attribute__((cleanup(clear))) struct bytes flat = {0};
	size_t at = 0;

	for (int i = 0; i < half->n; i++) {
		int rc = unpack(&flat, &half->packed, &at) ? 0 : -ENOMEM;

		if (!rc)
			rc = recent_text_add(text, flat.data, flat.len);
		if (rc)
			return rc;
	}
	return 0;
}

static int add_head(const struct recent *t, const struct trace_head *head, struct recent_text *text)
{
	struct trace_head ours = *head;
	json_object *o;

	ours.ruling = ours.fallback = (struct trace_engine){.policy = "", .n_options = 0};
	o = trace_head_to_json(&ours);
	if (!o)
		return -ENOMEM;
	json_object_object_add(o, "ruling", json_object_get(t->head_engine[0]));
	json_object_object_add(o, "fallback", json_object_get(t->head_engine[1]));
	if (t->cut)
		json_object_object_add(o, "cut", json_object_new_boolean(true));
	json_object_array_add(text->lines, o);
	return 0;
}

int recent_page(const struct recent *t, const struct trace_head *head, uint64_t from, uint64_t to,
	size_t max_bytes, json_object **ret, uint64_t *ret_next, struct errbuf *err)
{
	struct recent_text text = {
		.topo = head->topo, .max_bytes = max_bytes, .to = to, .first = recent_first(t)};
	uint64_t first = recent_first(t);
	int rc = 0;

	if (first == 0 || to < first || to > t->number || (from && from < first))
		return err_set(err, -ENOENT,
			"decision %llu is not kept: %llu to %llu are, since the policy began",
			(unsigned long long)(from && from < first ? from : to),
			(unsigned long long)first, (unsigned long long)(first ? t->number : 0));
	text.from = from ? from : first;
	text.lines = json_object_new_array();
	if (!text.lines)
		return err_set(err, -ENOMEM, "out of memory");
	if (from == 0)
		rc = add_head(t, head, &text);
	if (!rc)
		rc = add_half(&t->old, &text);
	if (!rc)
		rc = add_half(&t->new, &text);
	if (rc < 0) {
		json_object_put(text.lines);
		return err_set(err, rc, "out of memory");
	}
	*ret = text.lines;
	*ret_next = text.next;
	return 0;
}
