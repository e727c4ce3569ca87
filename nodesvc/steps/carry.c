/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/steps/steps.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

#define CARRY_VERSION 1

/* _OR_NONE: older daemons had none. */
enum kind { DOUBLE, INT, INT64, INT64_OR_NONE, BOOL, BOOL_OR_NONE, TEXT, TEXT_OR_NONE };

struct field {
	const char *key;
	enum kind kind;
	size_t offset, size;
};

#define FIELD(key, kind, member)                                                                   \
	{                                                                                          \
		key, kind, offsetof(struct step, member), sizeof(((struct step *)0)->member)       \
	}

static const struct field FIELDS[] = {
	FIELD("alone_units", DOUBLE, seen.alone.units),
	FIELD("alone_s", DOUBLE, seen.alone.seconds),
	FIELD("shared_units", DOUBLE, seen.shared.units),
	FIELD("shared_s", DOUBLE, seen.shared.seconds),
	FIELD("known_s", DOUBLE, seen.known_s),
	FIELD("unknown_s", DOUBLE, seen.unknown_s),
	FIELD("share_known_s", DOUBLE, seen.share_known_s),
	FIELD("share_unknown_s", DOUBLE, seen.share_unknown_s),
	FIELD("share_solo_s", DOUBLE, seen.share_solo_s),
	FIELD("stp_full", DOUBLE, seen.stp_full),
	FIELD("stp_share", DOUBLE, seen.stp_share),
	FIELD("antt_full", DOUBLE, seen.antt_full),
	FIELD("antt_share", DOUBLE, seen.antt_share),
	FIELD("windows", INT, seen.windows.n),
	FIELD("windows_mean", DOUBLE, seen.windows.mean),
	FIELD("windows_m2", DOUBLE, seen.windows.m2),
	FIELD("changes", INT, seen.changes),
	FIELD("phases", INT, seen.n_phases),
	FIELD("phase_now", INT, seen.phase_now),
	FIELD("phase_unix_s", DOUBLE, seen.phase_unix_s),
	FIELD("first_done", BOOL, seen.first_done),
	FIELD("unit", TEXT, seen.unit),
	FIELD("gap_ns", INT64, seen.gap.ns),
	FIELD("gap_from_ns", INT64, seen.gap.from_ns),
	FIELD("gap_to_ns", INT64, seen.gap.to_ns),
	FIELD("exit_status", INT, exit_status),
	FIELD("exit_unknown", BOOL, exit_unknown),
	FIELD("rebinds", INT, rebinds),
	FIELD("reapplied", INT, reapplied),
	FIELD("history", TEXT, history),
	FIELD("partners", TEXT, partners),
	FIELD("guard", TEXT_OR_NONE, guard),
	FIELD("short_spins", BOOL_OR_NONE, short_spins),
	FIELD("narrow", BOOL_OR_NONE, narrow),
	FIELD("threads_why", TEXT_OR_NONE, threads_why),
	FIELD("suspended_ns", INT64_OR_NONE, stop.ns),
	FIELD("suspended", BOOL_OR_NONE, stop.carried),
};
#define N_FIELDS (sizeof(FIELDS) / sizeof(FIELDS[0]))

static const char *const LAUNCH[] = {"lever", "control", "withheld"};

/* Every bit of it; in hexadecimal, which costs a tenth: this is for each step, every few seconds.
 */
static void put_double(struct msg *m, const char *key, double v)
{
	if (v == 0)
		msg_put(m, key, "0");
	else
		msg_putf(m, key, "%a", v);
}

static void save_field(const struct field *f, const struct step *s, struct msg *m)
{
	const void *at = (const char *)s + f->offset;

	switch (f->kind) {
	case DOUBLE:
		put_double(m, f->key, *(const double *)at);
		return;
	case INT:
		msg_putf(m, f->key, "%d", *(const int *)at);
		return;
	case INT64:
	case INT64_OR_NONE:
		msg_putf(m, f->key, "%lld", (long long)*(const int64_t *)at);
		return;
	case BOOL:
	case BOOL_OR_NONE:
		msg_putf(m, f->key, "%d", *(const bool *)at);
		return;
	case TEXT:
	case TEXT_OR_NONE:
		msg_put(m, f->key, at);
	}
}

/* How many tasks from the @i-th on ended with its status, with numbers one after another. */
static int ended_alike(const struct step *s, int i)
{
	const struct task *first = &s->task[i];
	int n = 0;

	while (i + n < s->n_tasks && first[n].ended && first[n].status == first->status &&
		first[n].lid == first->lid + (uint32_t)n)
		n++;
	return n;
}

static void save_waits(const struct waits *w, struct msg *ret)
{
	char text[WAIT_CAUSES * 32];
	size_t n = 0;

	for (int i = 0; i < WAIT_CAUSES; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%a ", w->s[i]);
	msg_putf(ret, "waits", "%s%d", text, w->stalls);
}

void carry_save(const struct step *s, struct msg *ret)
{
	const struct step_seen *t = &s->seen;
	int ended = 0;

	msg_init(ret, "carry");
	msg_putf(ret, "version", "%d", CARRY_VERSION);
	for (size_t i = 0; i < N_FIELDS; i++)
		save_field(&FIELDS[i], s, ret);
	msg_put(ret, "basis", provenance_name(t->last.basis));
	msg_put(ret, "launch", t->launch);
	if (t->launch_draw)
		msg_putf(ret, "launch_drawn", "%" PRIu64 " %" PRIu64 " %d %d", t->launch_key,
			t->launch_draw, (int)t->launch_side, t->launch_mixed);
	save_waits(&t->waits.sum, ret);
	for (int i = 0; i < t->n_phases; i++) {
		const struct seen_phase *p = &t->phase[i];

		msg_putf(ret, "phase", "%d %a %a %a %d %d", p->cores, p->utilization, p->intensity,
			p->seconds, p->n, p->n_intensity);
	}
	for (int i = 0; i < s->n_tasks; i++)
		ended += s->task[i].ended;
	msg_putf(ret, "n_ended", "%d", ended);
	/* Neighbours that ended alike are one entry. Room for a few hundred; of a step with more of
	 * them the next daemon will not know the status. */
	for (int i = 0, n; i < s->n_tasks && ret->len < MSG_MAX - 64; i += n) {
		n = ended_alike(s, i);
		if (n > 0)
			msg_putf(ret, "ended", "%u-%u %d", s->task[i].lid, s->task[i + n - 1].lid,
				s->task[i].status);
		else
			n = 1;
	}
}

static int bad(const char *key, const char *value, struct errbuf *err)
{
	return err_set(err, -EINVAL, "carried figures: %s: '%.40s' cannot be", key,
		value ? value : "nothing");
}

/* Into @s, or nowhere (NULL) to see whether it could be. */
static int load_field(
	const struct field *f, const struct msg *m, struct step *s, struct errbuf *err)
{
	const char *text = msg_get(m, f->key);
	void *at = s ? (char *)s + f->offset : NULL;
	bool is_wide = f->kind == INT64 || f->kind == INT64_OR_NONE;
	int64_t whole = 0;
	double real;
	char *end;

	if (!text &&
		(f->kind == TEXT_OR_NONE || f->kind == BOOL_OR_NONE || f->kind == INT64_OR_NONE))
		return 0;
	if (!text)
		return bad(f->key, text, err);
	if (f->kind == TEXT || f->kind == TEXT_OR_NONE) {
		if (strlen(text) >= f->size)
			return bad(f->key, text, err);
		if (s)
			text_copy(at, f->size, text);
		return 0;
	}
	if (f->kind == DOUBLE) {
		real = strtod(text, &end);
		if (end == text || *end || isinf(real))
			return bad(f->key, text, err);
		if (s)
			*(double *)at = real;
		return 0;
	}
	if (msg_get_int(m, f->key, f->kind == INT ? -1 : 0,
		    is_wide          ? INT64_MAX
		    : f->kind == INT ? INT_MAX
				     : 1,
		    &whole, NULL) < 0)
		return bad(f->key, text, err);
	if (s && is_wide)
		*(int64_t *)at = whole;
	else if (s && f->kind == INT)
		*(int *)at = (int)whole;
	else if (s)
		*(bool *)at = whole != 0;
	return 0;
}

static int load_phases(const struct msg *m, struct seen_phase *ret, int n, struct errbuf *err)
{
	const char *text = NULL;
	int used;

	for (int i = 0; i < n; i++) {
		struct seen_phase *p = &ret[i];

		text = msg_get_next(m, "phase", text);
		if (!text ||
			sscanf(text, "%d %lf %lf %lf %d %d%n", &p->cores, &p->utilization,
				&p->intensity, &p->seconds, &p->n, &p->n_intensity, &used) != 6 ||
			text[used])
			return bad("phase", text, err);
	}
	return 0;
}

static void load_one_ended(struct step *s, uint32_t lid, int status)
{
	struct task *t = step_find_task(s, lid);

	if (!t && step_add_task(s, lid, 0) == 0)
		t = step_find_task(s, lid);
	if (!t || t->ended)
		return;
	t->ended = true;
	t->status = status;
	s->n_alive--;
}

/* They ended while a daemon still looked: their status is known. */
static void load_ended(struct step *s, const struct msg *m)
{
	const char *text = NULL;
	int64_t wanted = 0, n = 0;
	unsigned int from, to;
	int status;

	if (msg_get_int(m, "n_ended", 0, INT_MAX, &wanted, NULL) < 0)
		wanted = -1;
	while ((text = msg_get_next(m, "ended", text))) {
		if (sscanf(text, "%u-%u %d", &from, &to, &status) != 3) {
			if (sscanf(text, "%u %d", &from, &status) != 2)
				continue;
			to = from; /* of an older daemon */
		}
		if (to < from || to - from >= wanted - n)
			break;
		for (uint32_t lid = from; lid - from <= to - from; lid++, n++)
			load_one_ended(s, lid, status);
	}
	if (wanted != n)
		s->exit_unknown = true;
}

/* Older daemons had none. */
static int load_waits(const struct msg *m, struct waits *ret, struct errbuf *err)
{
	const char *text = msg_get(m, "waits");
	const char *at = text;
	char *end;

	if (!text)
		return 0;
	for (int i = 0; i < WAIT_CAUSES; i++, at = end) {
		ret->s[i] = strtod(at, &end);
		if (end == at || !(ret->s[i] >= 0) || isinf(ret->s[i]))
			return bad("waits", text, err);
	}
	if (strcmp(at, " 0") != 0 && strcmp(at, " 1") != 0)
		return bad("waits", text, err);
	ret->stalls = at[1] == '1';
	return 0;
}

struct drawn {
	uint64_t key, draw;
	int side, mixed;
};

/* Older daemons had none, nor has who was not drawn. */
static int load_drawn(const struct msg *m, struct drawn *ret, struct errbuf *err)
{
	const char *text = msg_get(m, "launch_drawn");
	int used = 0;

	if (text && (sscanf(text, "%" SCNu64 " %" SCNu64 " %9d %9d%n", &ret->key, &ret->draw,
			     &ret->side, &ret->mixed, &used) != 4 ||
			    text[used] || ret->draw > INT64_MAX || (ret->side & ~1) ||
			    (ret->mixed & ~1)))
		return bad("launch_drawn", text, err);
	return 0;
}

static enum provenance parse_basis(const char *text)
{
	for (int i = 0; text && i < PROVENANCE_COUNT; i++)
		if (strcmp(text, provenance_name((enum provenance)i)) == 0)
			return (enum provenance)i;
	return PROVENANCE_NONE;
}

int carry_load(struct step *s, const struct msg *m, struct errbuf *err)
{
	struct seen_phase phase[SEEN_PHASES];
	struct drawn drawn = {0};
	struct waits waits;
	const char *launch;
	int64_t version, n, now;
	int rc = msg_check(m, err);

	memset(phase, 0, sizeof(phase));
	memset(&waits, 0, sizeof(waits));
	if (rc == 0)
		rc = msg_get_int(m, "version", CARRY_VERSION, CARRY_VERSION, &version, err);
	for (size_t i = 0; rc == 0 && i < N_FIELDS; i++)
		rc = load_field(&FIELDS[i], m, NULL, err);
	if (rc == 0)
		rc = msg_get_int(m, "phases", 0, SEEN_PHASES, &n, err);
	if (rc == 0)
		rc = msg_get_int(m, "phase_now", 0, n ? n - 1 : 0, &now, err);
	if (rc == 0)
		rc = load_phases(m, phase, (int)n, err);
	if (rc == 0)
		rc = load_waits(m, &waits, err);
	if (rc == 0)
		rc = load_drawn(m, &drawn, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < N_FIELDS; i++)
		load_field(&FIELDS[i], m, s, err);
	memcpy(s->seen.phase, phase, sizeof(phase));
	s->seen.waits.sum = waits;
	waits_text(&waits, s->seen.waits.text, sizeof(s->seen.waits.text));
	s->seen.last.basis = parse_basis(msg_get(m, "basis"));
	launch = msg_get(m, "launch");
	for (size_t i = 0; launch && i < sizeof(LAUNCH) / sizeof(LAUNCH[0]); i++)
		if (strcmp(launch, LAUNCH[i]) == 0)
			s->seen.launch = LAUNCH[i];
	s->seen.launch_key = drawn.key;
	s->seen.launch_draw = drawn.draw;
	s->seen.launch_side = (enum launch_side)drawn.side;
	s->seen.launch_mixed = drawn.mixed;
	load_ended(s, m);
	return 0;
}
