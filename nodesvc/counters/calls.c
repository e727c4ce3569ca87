/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/counters/calls.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nodesvc/counters/callpick.h"

#define FILES_MAX 256
/* A place that nobody has counted for so long is given back: it holds a file. */
#define SOON_NS INT64_C(20000000)
/* What was counted from its start is waited for so long to come to its work. */
#define BEGIN_NS INT64_C(120000000000)
#define KEPT_NS  INT64_C(60000000000)
#define TIDY_NS  INT64_C(5000000000)
/* A window whose answer is so late is lost. */
#define LATE_NS INT64_C(10000000000)
/* What is counted all the time is read so often, and whatever else is to be looked at. */
#define READ_NS INT64_C(500000000)
/* Threads that are counted one by one; a step of more is counted where its tasks were before they
 * began, or not at all. */
#define THREADS_MAX 4096
struct file {
	int fd, refs;
	dev_t dev;
	ino_t ino;
};

enum place_state { PLACE_FREE, PLACE_ASKED, PLACE_MADE, PLACE_FAILED };

/* One that the worker knows by its index. */
struct place {
	enum place_state state;
	int file, open; /* sets that count it */
	uint64_t offset;
	int64_t used_ns;
};

struct calls {
	calls_send_f send;
	void *arg;
	double budget, cost_ns;
	char why_not[160]; /* "" it works */
	uint32_t last_set;
	int64_t tidied_ns;
	struct file file[FILES_MAX];
	struct place place[CALLS_PROBES_ALL];
	struct calls_step *first;
};

struct site {
	int file;
	uint64_t offset;
	int candidate;
};

struct calls_step {
	struct calls *c;
	void *arg;
	uint32_t uid;
	struct calls_step *next, *before;
	uint32_t set;
	struct site *site;
	char (*name)[CALLNAME_MAX]; /* of the candidates */
	int n_sites;
	char why[160];
	char unit[CALLS_UNIT_MAX];

	char prefer[CALLNAME_MAX]; /* "" none */
	struct callpick pick;
	struct callpick_plan plan;
	bool planned;            /* it is not carried out yet */
	int chosen;              /* candidate whose calls total has; -1 none yet */
	int64_t next_ns, due_ns; /* not before; a look */
	bool waits;              /* for a place that the worker makes */

	/* what is open */
	bool open, window; /* a set; that ends by itself */
	bool attended;     /* open while it is attended only */
	bool begun;        /* before its tasks began */
	bool others;       /* its threads are others than were opened */
	bool closing;      /* told to end, the answer is to come */
	int n_open;
	int open_place[CALLS_PROBES], open_candidate[CALLS_PROBES];
	int64_t open_ns, open_own_ns, until_ns, read_ns;
	/* of its last figures, of this set, and of any */
	int64_t told_ns, read_own_ns, added_own_ns;
	int64_t cpu_ns;      /* its processor time then; -1 unknown */
	uint64_t counted;    /* of it so far */
	int64_t work_cpu_ns; /* its processor time at the newest figure; -1 unknown */

	/* what is known */
	bool has_work, exact, has_news;
	struct call_answer news;
	double total, rate;
	int64_t t_ns, own_ns; /* of the newest figure */
	uint64_t figures;
};

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

/* ---- files and places ---- */

static int keep_file(struct calls *c, const struct symbol_file *f)
{
	int room = -1;

	for (int i = 0; i < FILES_MAX; i++) {
		if (c->file[i].fd < 0) {
			room = i;
		} else if (c->file[i].dev == f->dev && c->file[i].ino == f->ino) {
			c->file[i].refs++;
			return i;
		}
	}
	if (room < 0 || f->fd < 0)
		return -1;
	c->file[room].fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 3);
	if (c->file[room].fd < 0)
		return -1;
	c->file[room].dev = f->dev;
	c->file[room].ino = f->ino;
	c->file[room].refs = 1;
	return room;
}

static void drop_place(struct calls *c, int i)
{
	struct call_request r = {.op = CALL_DROP, .n_probes = 1, .probe = {(uint32_t)i}};

	if (c->place[i].state != PLACE_FREE)
		c->send(c->arg, &r, -1);
	c->place[i].state = PLACE_FREE;
}

/* Places of it stay for a while, and with them the file: the next run wants them again. */
static void release_file(struct calls *c, int file)
{
	c->file[file].refs--;
}

void calls_tidy(struct calls *c, int64_t now_ns)
{
	if (now_ns - c->tidied_ns < TIDY_NS)
		return;
	c->tidied_ns = now_ns;
	for (int i = 0; i < CALLS_PROBES_ALL; i++) {
		struct place *p = &c->place[i];

		if (p->state != PLACE_FREE && !p->open && now_ns - p->used_ns > KEPT_NS)
			drop_place(c, i);
	}
	for (int f = 0; f < FILES_MAX; f++) {
		bool used = c->file[f].fd < 0 || c->file[f].refs > 0;

		for (int i = 0; i < CALLS_PROBES_ALL && !used; i++)
			used = c->place[i].state != PLACE_FREE && c->place[i].file == f;
		if (used)
			continue;
		close(c->file[f].fd);
		c->file[f].fd = -1;
	}
}

static int find_place(const struct calls *c, int file, uint64_t offset)
{
	for (int i = 0; i < CALLS_PROBES_ALL; i++)
		if (c->place[i].state != PLACE_FREE && c->place[i].file == file &&
			c->place[i].offset == offset)
			return i;
	return -1;
}

/* In place of the one that is not counted for longest. */
static int free_place(struct calls *c)
{
	int oldest = -1;

	for (int i = 0; i < CALLS_PROBES_ALL; i++) {
		const struct place *p = &c->place[i];

		if (p->state == PLACE_FREE)
			return i;
		if (!p->open && (oldest < 0 || p->used_ns < c->place[oldest].used_ns))
			oldest = i;
	}
	if (oldest >= 0)
		drop_place(c, oldest);
	return oldest;
}

/* Its index; -1: there is none free. The worker has it when it says so. */
static int get_place(struct calls_step *s, int file, uint64_t offset, int64_t now_ns)
{
	struct calls *c = s->c;
	int i = find_place(c, file, offset);

	if (i < 0) {
		struct call_request r = {
			.op = CALL_PROBE, .n_probes = 1, .offset = offset, .owner = s->uid};

		i = free_place(c);
		if (i < 0)
			return -1;
		r.probe[0] = (uint32_t)i;
		if (c->send(c->arg, &r, c->file[file].fd) < 0)
			return -1;
		c->place[i] = (struct place){.state = PLACE_ASKED, .file = file, .offset = offset};
	}
	c->place[i].used_ns = now_ns;
	return i;
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

static void forget_open(struct calls_step *s)
{
	for (int i = 0; s->open && i < s->n_open; i++)
		s->c->place[s->open_place[i]].open--;
	s->open = s->closing = s->attended = false;
}

static void close_now(struct calls_step *s)
{
	struct call_request r = {.op = CALL_CLOSE, .set = s->set};

	if (s->open)
		s->c->send(s->c->arg, &r, -1);
	forget_open(s);
	/* What is still said of this one is of nobody. */
	s->set = ++s->c->last_set;
	s->has_news = false;
}

static void forget_sites(struct calls_step *s)
{
	for (int i = 0; i < s->n_sites; i++)
		release_file(s->c, s->site[i].file);
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
		callpick_prefer(&s->pick, candidate_of(s, s->prefer));
	for (int i = 0; i < sym->n_sites; i++) {
		const struct symbol_site *from = &sym->site[i];
		struct callname name = callnames_get(from->call, own);
		int k = candidate_of(s, name.name);
		int file = k < 0 ? -1 : keep_file(s->c, &sym->file[from->file]);

		if (file >= 0)
			s->site[s->n_sites++] =
				(struct site){.file = file, .offset = from->offset, .candidate = k};
	}
	/* For calls_step_begin(): the kernel takes a while. */
	for (int i = 0; i < s->n_sites && !*s->c->why_not; i++)
		if (s->site[i].candidate == s->pick.preferred)
			get_place(s, s->site[i].file, s->site[i].offset, now_ns);
	if (s->n_sites)
		snprintf(s->why, sizeof(s->why), "which function marks its work is tried out");
	else
		snprintf(s->why, sizeof(s->why), "%s",
			symbols_why_none(sym) ? symbols_why_none(sym)
					      : "too many files are counted on this node");
}

void calls_step_prefer(struct calls_step *s, const char *name)
{
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
		forget_open(s);
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

static struct callpick_cfg cfg(const struct calls_step *s)
{
	return (struct callpick_cfg){.budget = s->c->budget, .hit_cost_s = s->c->cost_ns / 1e9};
}

/* The places of candidate @k. 1: they can be counted; 0: not yet; -1: never. */
static int add_candidate(struct calls_step *s, int k, int64_t now_ns)
{
	int n = s->n_open, made = 0, asked = 0;

	for (int i = 0; i < s->n_sites; i++) {
		const struct site *t = &s->site[i];
		int at;

		if (t->candidate != k)
			continue;
		at = get_place(s, t->file, t->offset, now_ns);
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

/* ---- what is known ---- */

/* Each call that is counted held up its task by so much: without that it would have done more. */
static double undisturbed(const struct calls_step *s, double rate, int callers)
{
	double share = rate / callpick_payers(&s->pick, callers) * s->c->cost_ns / 1e9;

	return rate / (1 - fmin(share, 0.5));
}

/* Its work is the calls of @k, from now on. */
static void count_of(struct calls_step *s, int k)
{
	s->chosen = k;
	snprintf(s->unit, sizeof(s->unit), CALLS_UNIT "%.38s", s->name[k]);
	s->has_work = s->exact = false;
	s->total = 0;
	s->t_ns = 0;
	s->rate = NAN;
}

/* The windows by which it was chosen tell how fast it is: its work is counted from there on. */
static void take_chosen(struct calls_step *s)
{
	const struct callpick_candidate *c;

	if (s->pick.chosen < 0 || s->pick.chosen == s->chosen)
		return;
	count_of(s, s->pick.chosen);
	c = &s->pick.candidate[s->chosen];
	if (c->n == 0 || c->silent || !s->added_own_ns)
		return;
	s->rate = undisturbed(s, c->window[(c->n - 1) % CALLPICK_KEPT].per_s, c->callers);
	s->t_ns = s->news.t_ns;
	s->own_ns = s->added_own_ns;
	s->work_cpu_ns = s->cpu_ns;
	s->figures++;
	s->has_work = true;
}

/* What a figure is of: from when to when by the program's own clock, and how long that was. */
struct span {
	int64_t from_own_ns, to_own_ns;
	double seconds, wall_s;
	double of_look; /* the share of what passed between the request and the look */
};

/* The worker opens later than it is told, and says what it has when it has taken its traps out:
 * tens of ms. So neither the request's time nor that of the look is the figure's. */
static struct span span_of(const struct calls_step *s, const struct calls_look *l)
{
	bool read = !s->window && s->told_ns;
	int64_t began_ns = s->news.began_ns > s->open_ns ? s->news.began_ns : s->open_ns;
	int64_t from_ns = read ? s->told_ns : began_ns;
	struct span ret = {.from_own_ns = read ? s->read_own_ns : l->own_at(l->turn, began_ns),
		.to_own_ns = l->own_at(l->turn, s->news.t_ns),
		.wall_s = (double)(s->news.t_ns - from_ns) / 1e9,
		.of_look = 1};

	ret.seconds = (double)(ret.to_own_ns - ret.from_own_ns) / 1e9;
	if (!read && l->now_ns > s->open_ns)
		ret.of_look = ret.wall_s * 1e9 / (double)(l->now_ns - s->open_ns);
	return ret;
}

static void note(struct calls_step *s, const struct calls_look *l, double units, double rate,
	const struct span *of)
{
	s->total += units;
	s->rate = rate;
	s->t_ns = s->news.t_ns;
	s->own_ns = of->to_own_ns;
	s->work_cpu_ns = l->cpu_ns;
	s->figures++;
	s->has_work = true;
}

/* What is counted all the time, since it was read last. */
static void take_reading(struct calls_step *s, const struct calls_look *l, const struct span *of,
	uint64_t calls, int callers)
{
	double rate = (double)(calls - s->counted) / of->seconds;
	double free = s->attended ? undisturbed(s, rate, callers) : rate;

	/* What it did before it was opened. */
	if (s->t_ns && s->own_ns < of->from_own_ns && s->rate > 0)
		s->total += s->rate * (double)(of->from_own_ns - s->own_ns) / 1e9;
	note(s, l, free * of->seconds, free, of);
}

/*
 * What it did between two windows is taken to have gone as in the second, by processor time: a team
 * sleeps when its master traps, so by the clock less is done in a window than beside it, but not in
 * the time in which threads run, less that of the traps. By the clock where that is not known.
 */
static void take_window(struct calls_step *s, const struct calls_look *l, const struct span *of,
	double calls, double per_s, int callers)
{
	double rate = undisturbed(s, per_s, callers), traps_s = calls * s->c->cost_ns / 1e9;
	double units = rate * (double)(of->to_own_ns - s->own_ns) / 1e9;
	double cpu_s = s->news.count[0].cpu_s;

	if (cpu_s > 2 * traps_s && s->work_cpu_ns >= 0 && l->cpu_ns > s->work_cpu_ns)
		units = fmax(0, (double)(l->cpu_ns - s->work_cpu_ns) / 1e9 - traps_s) * calls /
			(cpu_s - traps_s);
	note(s, l, s->t_ns ? units : 0, rate, of);
}

/* The news, by function. */
static int sum_up(const struct calls_step *s, double stretch, struct callpick_counted *ret)
{
	int n = 0;

	for (int i = 0; i < s->n_open; i++) {
		const struct call_counts *from = &s->news.count[i];

		if (!n || ret[n - 1].candidate != s->open_candidate[i])
			ret[n++] = (struct callpick_counted){.candidate = s->open_candidate[i]};
		ret[n - 1].calls += from->calls;
		ret[n - 1].callers += from->callers;
		ret[n - 1].per_s += from->per_s * stretch;
	}
	return n;
}

/* Processor time since its last figures, s; the kernel's where it is of a window. A process that
 * ended has taken its own with it. */
static double cpu_since(
	const struct calls_step *s, const struct calls_look *l, const struct span *of)
{
	if (s->window && s->news.count[0].cpu_s > 0)
		return s->news.count[0].cpu_s;
	return s->cpu_ns >= 0 && l->cpu_ns >= s->cpu_ns
		       ? (double)(l->cpu_ns - s->cpu_ns) / 1e9 * of->of_look
		       : l->running * of->seconds;
}

static void take_news(struct calls_step *s, const struct calls_look *l)
{
	struct callpick_counted counted[CALLS_PROBES] = {0};
	struct callpick_cfg c = cfg(s);
	int64_t before_ns = s->added_own_ns;
	struct span of;
	double since_s;
	int n, callers = 0;

	s->has_news = false;
	if (s->news.rc < 0) {
		forget_open(s);
		return;
	}
	/* Their first calls were not seen. */
	if (s->news.started)
		s->exact = false;
	of = span_of(s, l);
	since_s = before_ns ? (double)(of.to_own_ns - before_ns) / 1e9 : of.seconds;
	/* Of a window: by the time in which it was not frozen. */
	n = sum_up(s, of.seconds > 0 ? of.wall_s / of.seconds : 0, counted);
	for (int i = 0; i < s->n_open; i++)
		callers += s->news.count[i].callers;
	/* It has not come to its work yet. */
	if (s->begun && s->news.count[0].calls == 0) {
		s->read_own_ns = s->added_own_ns = of.to_own_ns;
		s->told_ns = s->news.t_ns;
		of.seconds = 0;
	}
	/* Else it was frozen for most of it. */
	if (of.seconds > 0 && (!s->window || of.seconds > 0.1 * of.wall_s)) {
		uint64_t calls = counted[0].calls;

		if (!s->window) {
			counted[0].calls -= s->counted;
			counted[0].per_s = NAN;
		}
		callpick_add(&s->pick, &c, of.seconds, since_s, cpu_since(s, l, &of), counted, n);
		s->added_own_ns = of.to_own_ns;
		/* Else another has been chosen meanwhile. */
		if (!s->window && s->open_candidate[0] == s->chosen)
			take_reading(s, l, &of, calls, callers);
		else if (s->window && s->plan.what == CALLPICK_WINDOWS)
			take_window(s, l, &of, (double)calls, counted[0].per_s, callers);
		if (!s->window)
			s->counted = calls;
		s->read_own_ns = of.to_own_ns;
		s->told_ns = s->news.t_ns;
		s->cpu_ns = l->cpu_ns;
	}
	if (s->news.ended)
		forget_open(s);
	if (s->news.ended && !s->window)
		s->exact = false;
	if (s->window)
		s->planned = false;
}

/* ---- a look ---- */

static void make_plan(struct calls_step *s, const struct calls_look *l)
{
	struct callpick_cfg c = cfg(s);
	double rate;

	callpick_next(&s->pick, &c, &s->plan);
	s->planned = s->plan.what != CALLPICK_NONE;
	s->next_ns = l->now_ns + s->plan.gap_ns;
	take_chosen(s);
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
	struct callpick_cfg c = cfg(s);
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
	int k = s->pick.preferred;

	s->n_open = 0;
	if (*s->c->why_not || s->open || !s->n_sites || k < 0 || l->n_tids == 0 ||
		l->n_tids > THREADS_MAX || add_candidate(s, k, l->now_ns) <= 0)
		return false;
	open_set(s, l, 0, 0, true);
	if (!s->open)
		return false;
	s->plan = (struct callpick_plan){.what = CALLPICK_ALWAYS, .n = 1, .candidate = {k}};
	s->planned = s->begun = true;
	count_of(s, k);
	s->exact = true;
	s->read_own_ns = s->added_own_ns = l->own_ns;
	s->due_ns = l->now_ns + READ_NS;
	snprintf(s->why, sizeof(s->why), "%s are counted from its start", s->unit);
	return true;
}

static void go_on(struct calls_step *s, const struct calls_look *l)
{
	if (s->has_news)
		take_news(s, l);
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
	if (s->pick.chosen < 0)
		return false;
	*ret = (struct calls_choice){.name = s->name[s->pick.chosen],
		.spread = callpick_spread(&s->pick, s->pick.chosen),
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
