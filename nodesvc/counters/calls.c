/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/counters/calls_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A place that is not there yet is looked for again so soon. */
#define SOON_NS INT64_C(20000000)
/* What was counted from its start is waited for so long to come to its work. */
#define BEGIN_NS INT64_C(120000000000)
/* A window whose answer is so late is lost. */
#define LATE_NS INT64_C(10000000000)
/* What is counted all the time is read so often, and whatever else is to be looked at. */
#define READ_NS INT64_C(500000000)
/* Threads that are counted one by one; a step of more is counted where its tasks were before they
 * began, or not at all. */
#define THREADS_MAX 4096

struct calls *calls_new(calls_send_f send, void *arg, double budget)
{
	struct calls *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->send = send;
	c->arg = arg;
	c->budget = budget;
	for (int i = 0; i < FILES_MAX; i++)
		c->file[i].fd = -1;
	snprintf(c->why_not, sizeof(c->why_not), "it is being tried");
	return c;
}

void calls_free(struct calls *c)
{
	if (!c)
		return;
	for (int i = 0; i < FILES_MAX; i++)
		if (c->file[i].fd >= 0)
			close(c->file[i].fd);
	free(c);
}

void calls_set_budget(struct calls *c, double budget)
{
	c->budget = budget;
}

const char *calls_why_not(const struct calls *c)
{
	return *c->why_not ? c->why_not : NULL;
}

double calls_cost_ns(const struct calls *c)
{
	return c->cost_ns;
}

/* ---- steps ---- */

struct calls_step *calls_step_new(struct calls *c, uint32_t uid, void *arg)
{
	struct calls_step *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->c = c;
	s->arg = arg;
	s->uid = uid;
	s->set = ++c->last_set;
	s->rate = NAN;
	s->chosen = -1;
	callpick_init(&s->pick, s->set);
	s->next = c->first;
	if (s->next)
		s->next->before = s;
	c->first = s;
	snprintf(s->why, sizeof(s->why), "its functions are not known yet");
	return s;
}

void *calls_step_arg(const struct calls_step *s)
{
	return s->arg;
}

static void close_now(struct calls_step *s)
{
	struct call_request r = {.op = CALL_CLOSE, .set = s->set};

	if (s->open)
		s->c->send(s->c->arg, &r, -1);
	calls_forget_open(s);
	/* What is still said of this one is of nobody. */
	s->set = ++s->c->last_set;
	s->has_news = false;
}

static void forget_sites(struct calls_step *s)
{
	for (int i = 0; i < s->n_sites; i++)
		calls_release_file(s->c, s->site[i].file);
	free(s->site);
	free(s->name);
	s->site = NULL;
	s->name = NULL;
	s->n_sites = 0;
	callpick_init(&s->pick, s->set);
	s->planned = false;
	s->next_ns = 0;
}

void calls_step_free(struct calls_step *s)
{
	if (!s)
		return;
	close_now(s);
	forget_sites(s);
	if (s->before)
		s->before->next = s->next;
	else
		s->c->first = s->next;
	if (s->next)
		s->next->before = s->before;
	free(s);
}

static int candidate_of(struct calls_step *s, const char *name)
{
	int i = 0;

	while (i < s->pick.n && strcmp(s->name[i], name) != 0)
		i++;
	return i < s->pick.n ? i : -1;
}

/* The functions, in the order of their sites; each may have several. */
static void add_candidates(
	struct calls_step *s, const struct symbols *sym, const struct callnames_own *own)
{
	for (int i = 0; i < sym->n_sites; i++) {
		struct callname name = callnames_get(sym->site[i].call, own);
		bool called = false;
		int places = 0, k;

		if (candidate_of(s, name.name) >= 0)
			continue;
		for (int j = i; j < sym->n_sites; j++)
			if (sym->site[j].call == sym->site[i].call) {
				places++;
				called |= sym->site[j].called;
			}
		k = callpick_candidate(&s->pick, name.class, called, places);
		if (k >= 0)
			snprintf(s->name[k], sizeof(s->name[k]), "%s", name.name);
	}
}

static bool is_file(const struct calls *c, int file, const struct symbol_file *f)
{
	return c->file[file].dev == f->dev && c->file[file].ino == f->ino;
}

/* It is what is known already: what was found out of it holds. */
static bool is_known(
	const struct calls_step *s, const struct symbols *sym, const struct callnames_own *own)
{
	if (!s->n_sites || s->n_sites != sym->n_sites)
		return false;
	for (int i = 0; i < s->n_sites; i++) {
		const struct symbol_site *from = &sym->site[i];
		const struct site *t = &s->site[i];

		if (t->offset != from->offset || !is_file(s->c, t->file, &sym->file[from->file]) ||
			strcmp(s->name[t->candidate], callnames_get(from->call, own).name) != 0)
			return false;
	}
	return true;
}

bool calls_step_is_silent(const struct calls_step *s)
{
	return s->open && s->begun && !s->counted && s->read_own_ns > s->open_own_ns;
}

bool calls_step_counts_in(const struct calls_step *s, const struct symbols *sym)
{
	for (int i = 0; s->open && i < s->n_open; i++)
		for (int k = 0; k < sym->n_files; k++)
			if (is_file(s->c, s->c->place[s->open_place[i]].file, &sym->file[k]))
				return true;
	return false;
}

void calls_step_know(struct calls_step *s, const struct symbols *sym,
	const struct callnames_own *own, int64_t now_ns)
{
	struct callpick_cfg cfg = calls_cfg(s);

	if (is_known(s, sym, own))
		return;
	close_now(s);
	forget_sites(s);
	/* What it has called so far was not seen. */
	s->chosen = -1;
	s->exact = false;
	s->site = calloc(SYMBOLS_SITES_MAX, sizeof(*s->site));
	s->name = calloc(CALLPICK_MAX, sizeof(*s->name));
	if (!s->site || !s->name)
		return;
	add_candidates(s, sym, own);
	if (*s->prefer)
		callpick_prefer(&s->pick, &cfg, candidate_of(s, s->prefer), s->prefer_per_s,
			s->prefer_spread);
	for (int i = 0; i < sym->n_sites; i++) {
		const struct symbol_site *from = &sym->site[i];
		struct callname name = callnames_get(from->call, own);
		int k = candidate_of(s, name.name);
		int file = k < 0 ? -1 : calls_keep_file(s->c, &sym->file[from->file]);

		if (file >= 0)
			s->site[s->n_sites++] =
				(struct site){.file = file, .offset = from->offset, .candidate = k};
	}
	/* For calls_step_begin(): the kernel takes a while. */
	for (int i = 0; i < s->n_sites && !*s->c->why_not; i++)
		if (s->site[i].candidate == s->pick.preferred)
			calls_get_place(s, s->site[i].file, s->site[i].offset, now_ns);
	if (s->n_sites)
		snprintf(s->why, sizeof(s->why), "which function marks its work is tried out");
	else
		snprintf(s->why, sizeof(s->why), "%s",
			symbols_why_none(sym) ? symbols_why_none(sym)
					      : "too many files are counted on this node");
}

void calls_step_prefer(struct calls_step *s, const char *name, double per_s, double spread)
{
	s->prefer_per_s = per_s;
	s->prefer_spread = spread;
	snprintf(s->prefer, sizeof(s->prefer), "%s", name);
}

void calls_step_know_nothing(struct calls_step *s, const char *why)
{
	if (!s->n_sites)
		snprintf(s->why, sizeof(s->why), "%s", why);
}

void calls_step_pause(struct calls_step *s)
{
	close_now(s);
	s->planned = s->exact = false;
	s->t_ns = s->own_ns = s->added_own_ns = 0;
	s->rate = NAN;
}

/* ---- the worker ---- */

void calls_lost(struct calls *c, const char *why)
{
	snprintf(c->why_not, sizeof(c->why_not), "%s", why);
	for (struct calls_step *s = c->first; s; s = s->next) {
		calls_forget_open(s);
		s->has_news = s->planned = s->exact = false;
		s->t_ns = 0;
	}
	for (int i = 0; i < CALLS_PROBES_ALL; i++)
		c->place[i].state = PLACE_FREE;
}

struct calls_step *calls_take(struct calls *c, const struct call_answer *a)
{
	if (a->kind == CALL_READY) {
		snprintf(c->why_not, sizeof(c->why_not), "%s", a->rc ? a->text : "");
		c->cost_ns = a->cost_ns;
		return NULL;
	}
	if (a->kind == CALL_MADE) {
		struct place *p = a->probe < CALLS_PROBES_ALL ? &c->place[a->probe] : NULL;

		if (p && p->state == PLACE_ASKED)
			p->state = a->rc ? PLACE_FAILED : PLACE_MADE;
		return NULL;
	}
	for (struct calls_step *s = c->first; s; s = s->next)
		if (s->set == a->set && s->open) {
			s->news = *a;
			s->has_news = true;
			return s;
		}
	return NULL;
}

/* ---- what is opened ---- */

/* The places of candidate @k. 1: they can be counted; 0: not yet; -1: never. */
static int add_candidate(struct calls_step *s, int k, int64_t now_ns)
{
	int n = s->n_open, made = 0, asked = 0;

	for (int i = 0; i < s->n_sites; i++) {
		const struct site *t = &s->site[i];
		int at;

		if (t->candidate != k)
			continue;
		at = calls_get_place(s, t->file, t->offset, now_ns);
		if (at < 0)
			continue;
		asked += s->c->place[at].state == PLACE_ASKED;
		if (s->c->place[at].state != PLACE_MADE || n == CALLS_PROBES)
			continue;
		s->open_place[n] = at;
		s->open_candidate[n++] = k;
		made++;
	}
	if (asked)
		return 0;
	s->n_open = n;
	return made ? 1 : -1;
}

/* All of the plan. False: nothing can be opened now. */
static bool add_planned(struct calls_step *s, int64_t now_ns)
{
	bool refused = false;

	s->n_open = 0;
	s->waits = false;
	for (int i = 0; i < s->plan.n; i++) {
		int rc = add_candidate(s, s->plan.candidate[i], now_ns);

		if (rc < 0)
			callpick_refuse(&s->pick, s->plan.candidate[i]);
		refused |= rc < 0;
		s->waits |= rc == 0;
	}
	if (refused)
		s->planned = false;
	return !refused && !s->waits && s->n_open > 0;
}

/* Opens what was added, on all its threads. */
static void open_set(struct calls_step *s, const struct calls_look *l, int64_t length_ns,
	uint64_t max_hits, bool unstarted)
{
	struct call_request r = {.op = CALL_OPEN,
		.set = ++s->c->last_set,
		.n_probes = s->n_open,
		.length_ns = length_ns,
		.max_hits = max_hits,
		.unstarted = unstarted,
		.owner = s->uid};
	int sent = 0;

	for (int i = 0; i < s->n_open; i++)
		r.probe[i] = (uint32_t)s->open_place[i];
	while (sent < l->n_tids) {
		r.n_tids = l->n_tids - sent < CALLS_TIDS ? l->n_tids - sent : CALLS_TIDS;
		memcpy(r.tid, l->tid + sent, (size_t)r.n_tids * sizeof(*r.tid));
		if (s->c->send(s->c->arg, &r, -1) < 0)
			break;
		sent += r.n_tids;
		r.op = CALL_TASKS;
	}
	if (!sent)
		return;
	s->set = r.set;
	s->open = true;
	s->window = length_ns > 0;
	s->attended = s->others = s->begun = false;
	for (int i = 0; i < s->n_open; i++)
		s->c->place[s->open_place[i]].open++;
	s->open_ns = s->read_ns = l->now_ns;
	s->open_own_ns = l->own_ns;
	s->told_ns = 0;
	s->cpu_ns = l->cpu_ns;
	s->until_ns = l->now_ns + length_ns;
	s->counted = 0;
}

static void ask_for(struct calls_step *s, enum call_op op)
{
	struct call_request r = {.op = op, .set = s->set};

	if (s->c->send(s->c->arg, &r, -1) == 0 && op == CALL_CLOSE)
		s->closing = true;
}

/* ---- a look ---- */

static void make_plan(struct calls_step *s, const struct calls_look *l)
{
	struct callpick_cfg c = calls_cfg(s);
	double rate;

	callpick_next(&s->pick, &c, &s->plan);
	s->planned = s->plan.what != CALLPICK_NONE;
	s->next_ns = l->now_ns + s->plan.gap_ns;
	calls_take_chosen(s);
	if (s->pick.chosen < 0) {
		s->rate = NAN;
		callpick_why(&s->pick, &c, s->why, sizeof(s->why));
		return;
	}
	rate = callpick_rate(&s->pick, s->chosen);
	snprintf(s->why, sizeof(s->why), "%s are counted %s (%.3g/s)", s->unit,
		s->plan.what == CALLPICK_ALWAYS ? "all the time" : "in windows", rate);
}

/* What is open and told when to end. */
static void look_at_open(struct calls_step *s, const struct calls_look *l)
{
	bool over;

	if (s->window || s->closing) {
		if (l->now_ns > (s->window ? s->until_ns : s->read_ns) + LATE_NS) {
			close_now(s);
			s->planned = false;
		}
		return;
	}
	if (l->now_ns - s->read_ns < READ_NS && !(s->attended && !l->attend))
		return;
	s->read_ns = l->now_ns;
	if (!s->attended && !(s->begun && !s->counted && l->now_ns - s->open_ns < BEGIN_NS))
		make_plan(s, l);
	/* Others: a thread that was started by one whom nobody counts. */
	over = s->attended ? !l->attend
			   : s->plan.what != CALLPICK_ALWAYS || (s->others && !s->begun) ||
				     s->plan.candidate[0] != s->open_candidate[0];
	ask_for(s, over ? CALL_CLOSE : CALL_READ);
}

static void open_planned(struct calls_step *s, const struct calls_look *l)
{
	struct callpick_cfg c = calls_cfg(s);
	bool attend = s->plan.what == CALLPICK_WINDOWS && l->attend &&
		      callpick_bears_attention(&s->pick, &c);

	if ((!attend && l->now_ns < s->next_ns) || !add_planned(s, l->now_ns))
		return;
	if (s->plan.what == CALLPICK_ALWAYS || attend)
		open_set(s, l, 0, 0, false);
	else
		open_set(s, l, s->plan.length_ns, s->plan.max_hits, false);
	s->attended = attend;
}

bool calls_step_begin(struct calls_step *s, const struct calls_look *l)
{
	struct callpick_cfg c = calls_cfg(s);
	int k = s->pick.preferred;

	s->n_open = 0;
	if (*s->c->why_not || s->open || !s->n_sites || k < 0 || l->n_tids == 0 ||
		l->n_tids > THREADS_MAX)
		return false;
	if (callpick_was_costly(&s->pick, &c, k) || add_candidate(s, k, l->now_ns) <= 0)
		return false;
	open_set(s, l, 0, 0, true);
	if (!s->open)
		return false;
	s->plan = (struct callpick_plan){.what = CALLPICK_ALWAYS, .n = 1, .candidate = {k}};
	s->planned = s->begun = true;
	calls_count_of(s, k);
	s->exact = true;
	s->read_own_ns = s->added_own_ns = l->own_ns;
	s->due_ns = l->now_ns + READ_NS;
	snprintf(s->why, sizeof(s->why), "%s are counted from its start", s->unit);
	return true;
}

static void go_on(struct calls_step *s, const struct calls_look *l)
{
	if (s->has_news)
		calls_take_news(s, l);
	if (s->open) {
		look_at_open(s, l);
		return;
	}
	/* Traps that nobody meets are put in and taken out for nothing, and who runs waits for
	 * that. */
	if (l->n_tids == 0 || l->frozen)
		return;
	if (l->n_tids > THREADS_MAX) {
		snprintf(s->why, sizeof(s->why), "it has too many threads to be counted: %d",
			l->n_tids);
		return;
	}
	if (!s->planned && l->now_ns >= s->next_ns)
		make_plan(s, l);
	if (s->planned)
		open_planned(s, l);
}

void calls_step_look(struct calls_step *s, const struct calls_look *l)
{
	s->waits = false;
	s->others |= l->threads_changed;
	/* Who has ended has taken his processor time with him. */
	if (l->threads_changed)
		s->work_cpu_ns = -1;
	if (!*s->c->why_not && s->n_sites)
		go_on(s, l);
	s->due_ns = l->now_ns + READ_NS;
	if (s->open && s->window)
		s->due_ns = s->until_ns + LATE_NS; /* or when it has ended */
	else if (s->waits)
		s->due_ns = l->now_ns + SOON_NS;
	else if (!s->open && s->n_sites)
		s->due_ns = s->next_ns;
}

int64_t calls_step_due_ns(const struct calls_step *s)
{
	return s->due_ns;
}

/* ---- what is told ---- */

bool calls_step_work(const struct calls_step *s, struct calls_work *ret)
{
	if (!s->has_work)
		return false;
	*ret = (struct calls_work){
		.total = s->total, .t_ns = s->t_ns, .figures = s->figures, .exact = s->exact};
	return true;
}

double calls_step_rate(const struct calls_step *s)
{
	return s->rate;
}

bool calls_step_choice(const struct calls_step *s, struct calls_choice *ret)
{
	struct callpick_cfg cfg = calls_cfg(s);

	if (s->pick.chosen < 0)
		return false;
	*ret = (struct calls_choice){.name = s->name[s->pick.chosen],
		.spread = callpick_chosen_spread(&s->pick, &cfg),
		.per_s = callpick_rate(&s->pick, s->pick.chosen)};
	return true;
}

bool calls_step_is_trying(const struct calls_step *s)
{
	return s->n_sites > 0 && s->pick.windows < 2 * s->pick.n;
}

const char *calls_step_unit(const struct calls_step *s)
{
	return s->unit;
}

const char *calls_step_counted(
	const struct calls_step *s, const struct call_answer *a, char *ret, size_t size)
{
	size_t at = 0;
	uint64_t calls = 0;

	*ret = '\0';
	for (int i = 0; i < a->n_probes && i < s->n_open; i++) {
		int k = s->open_candidate[i];
		int n;

		calls += a->count[i].calls;
		if (i + 1 < s->n_open && s->open_candidate[i + 1] == k)
			continue;
		n = snprintf(ret + at, size - at, "%s%s %llu", at ? " " : "", s->name[k],
			(unsigned long long)calls);
		if (n < 0 || (size_t)n >= size - at)
			break;
		at += (size_t)n;
		calls = 0;
	}
	return ret;
}

const char *calls_step_why(const struct calls_step *s)
{
	return *s->c->why_not ? s->c->why_not : s->why;
}

int64_t calls_step_told_ns(const struct calls_step *s)
{
	return s->news.t_ns;
}

bool calls_step_ask(struct calls_step *s)
{
	if (!s->open || s->window || s->closing)
		return false;
	ask_for(s, CALL_READ);
	return true;
}
