/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counting.c - the calls of the steps' runtimes (counters/calls.h): the process that counts them on
 * the loop, whose functions are read when, and the looks that each step gets.
 *
 * A step that publishes its progress, or whose one thread the hardware counts, is not counted: its
 * speed is known for nothing.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/command.h"
#include "common/ipc.h"
#include "nodesvc/base/log.h"
#include "nodesvc/counters/calls.h"
#include "nodesvc/measure/internal.h"

/* The worker that has died is started again after so long. */
#define RESTART_NS INT64_C(30000000000)
/* Of a look at all steps. */
#define SLICE_NS INT64_C(500000)
/* One reader of functions is started in this time: two forks of the daemon, some 3 ms. */
#define ASK_NS INT64_C(100000000)
/* A program maps its libraries in its first moments; some much later: looked at after so long, and
 * each time twice as long, while nothing is known of its work. */
#define FIRST_ASK_NS INT64_C(300000000)
#define LAST_ASK_NS  INT64_C(300000000000)
/* Programs whose functions are remembered, and how long: their files are held open. */
#define PROGRAMS_MAX 32
#define KEPT_NS      INT64_C(60000000000)
/* A figure of now is waited for so long at most. */
#define NOW_MS 5
/* Which step is due is looked for so often in the mean, half to one and a half of it: windows that
 * began every so often would beat with the programs' steps. */
#define LOOK_NS INT64_C(50000000)
/* Where the work of all is known nobody is looked for before he is due, but so often. */
#define QUIET_NS INT64_C(1000000000)
/* A step of so many tasks at most is counted from its start. */
#define BEGIN_TASKS 512
/* Clocks that are read in one go, 0.4 us each. */
#define CLOCKS_MAX 256
/* Users a file of whose did not answer the worker, and how long none of theirs is counted. */
#define SHUNNED_MAX 16
#define SHUN_NS     INT64_C(3600000000000)

/* What the file that a user's steps execute has; read again after KEPT_NS. */
struct program {
	uint64_t key; /* step.program_key; 0 none */
	uid_t uid;
	int fd; /* where the answer comes; 0 none */
	bool has_sym;
	struct callnames_own own;
	struct symbols sym;
	int64_t asked_ns;
};

/* Of a command's name, folder and PATH; of one that is longer its functions are found when it runs.
 */
#define COMMAND_MAX 4096

struct counting {
	struct measure *m;
	struct program program[PROGRAMS_MAX];
	struct calls *calls;
	struct callworker *worker; /* NULL: it has died */
	struct loop_source *fd, *timer, *later;
	struct {
		uint64_t key; /* 0: none */
		uid_t uid;
		struct callnames_own own;
		char text[3][COMMAND_MAX];
	} wanted; /* it has registered and waits for our answer: its program is asked for after it
		   */
	struct {
		uint32_t uid;
		int64_t until_ns;
	} shunned[SHUNNED_MAX];
	bool on, attended; /* the timer; all have seen that they are */
	int64_t asked_ns, restart_ns;
	char refused[160]; /* why this kernel does not count; empty: it does */
	bool for_good;     /* it never will: no other process is started */
	int64_t timer_ns;  /* when the timer goes */
	int64_t next;      /* order of the step that is looked at next */
	uint32_t draws;
};

static int send_request(void *arg, const struct call_request *r, int fd)
{
	struct counting *c = arg;

	return c->worker ? callworker_send(c->worker, r, fd) : -EPIPE;
}

/* ---- programs ---- */

static void forget_program(struct program *p)
{
	if (p->fd)
		close(p->fd);
	if (p->has_sym)
		symbols_done(&p->sym);
	*p = (struct program){0};
}

static void take_program(struct program *p, int64_t now_ns)
{
	int rc;

	if (!p->fd)
		return;
	rc = symbols_take(p->fd, &p->own, &p->sym);
	if (rc == -EAGAIN && now_ns - p->asked_ns < SYMBOLS_DEADLINE_S * INT64_C(1000000000))
		return;
	close(p->fd);
	p->fd = 0;
	p->has_sym = rc == 0;
}

/* The functions that the site names for it. */
static void own_of(const struct measure *m, const struct step *s, struct callnames_own *ret)
{
	conf_functions_of(&m->use.conf->calls.functions, s->type, ret);
}

/* NULL: it is not known. */
static struct program *find_program(struct counting *c, const struct step *s)
{
	struct callnames_own own;

	own_of(c->m, s, &own);
	for (int i = 0; s->program_key && i < PROGRAMS_MAX; i++)
		if (c->program[i].key == s->program_key && c->program[i].uid == s->uid &&
			memcmp(&c->program[i].own, &own, sizeof(own)) == 0)
			return &c->program[i];
	return NULL;
}

static struct program *add_program(
	struct counting *c, uint64_t key, uid_t uid, const struct callnames_own *own)
{
	struct program *oldest = &c->program[0];

	for (int i = 1; i < PROGRAMS_MAX; i++)
		if (c->program[i].asked_ns < oldest->asked_ns)
			oldest = &c->program[i];
	forget_program(oldest);
	oldest->key = key;
	oldest->uid = uid;
	oldest->own = *own;
	return oldest;
}

static void tidy_programs(struct counting *c, int64_t now_ns)
{
	for (int i = 0; i < PROGRAMS_MAX; i++) {
		take_program(&c->program[i], now_ns);
		if (c->program[i].key && now_ns - c->program[i].asked_ns > KEPT_NS)
			forget_program(&c->program[i]);
	}
}

static bool is_shunned(const struct counting *c, uint32_t uid)
{
	int64_t now_ns = ipc_now_ns();

	for (int i = 0; i < SHUNNED_MAX; i++)
		if (c->shunned[i].uid == uid && now_ns < c->shunned[i].until_ns)
			return true;
	return false;
}

/* In place of the one that is soonest over. */
static void shun(struct counting *c, uint32_t uid)
{
	int at = 0;

	for (int i = 1; i < SHUNNED_MAX; i++)
		if (c->shunned[i].until_ns < c->shunned[at].until_ns)
			at = i;
	c->shunned[at].uid = uid;
	c->shunned[at].until_ns = ipc_now_ns() + SHUN_NS;
}

static bool is_counted(const struct measure *m, const struct step *s)
{
	/* Who is left alone traps nowhere. What it publishes, and what hardware counts of a single
	 * thread, is known for nothing. */
	return m->use.conf->calls.enabled && !m->use.conf->dry_run && !s->dry_run &&
	       !is_shunned(m->counting, s->uid) && s->status != STATUS_EXCLUDED &&
	       s->status != STATUS_RELEASED && !(s->pages && s->pages->app.reports) &&
	       !(m->use.node->counters.ops != &counters_none && threads_are_one(s));
}

static bool has_step(struct counting *c, struct step *s, int64_t now_ns)
{
	struct seen_calls *k = &s->seen.calls;

	if (k->step)
		return true;
	k->step = calls_step_new(c->calls, s->uid, s);
	k->ask_ns = now_ns + FIRST_ASK_NS;
	if (k->step && *k->mark_before.name)
		calls_step_prefer(k->step, k->mark_before.name, k->mark_before.alone_per_s,
			k->mark_before.spread);
	return k->step != NULL;
}

static void know(
	struct step *s, const struct symbols *sym, const struct callnames_own *own, int64_t now_ns)
{
	struct calls_step *step = s->seen.calls.step;

	calls_step_know(step, sym, own, now_ns);
	log_debug("step %s: %d places of functions in %d files: %s", s->id, sym->n_sites,
		sym->n_files, calls_step_why(step));
}

/* Of its executable and the libraries that this links, as far as they are known. */
static void know_program(struct counting *c, struct step *s, int64_t now_ns)
{
	struct program *p = s->seen.calls.knows ? NULL : find_program(c, s);

	if (!p)
		return;
	take_program(p, now_ns);
	s->seen.calls.knows = !p->fd;
	if (s->seen.calls.knows && p->has_sym && p->sym.n_sites)
		know(s, &p->sym, &p->own, now_ns);
}

void measure_expect(struct measure *m, struct step *s, const struct command *cmd)
{
	struct counting *c = m->counting;
	int64_t now_ns = ipc_now_ns();
	const char *text[3] = {cmd->name, cmd->cwd, cmd->search};
	struct program *p;

	if (!c || !c->worker || calls_why_not(c->calls) || !is_counted(m, s) ||
		!has_step(c, s, now_ns))
		return;
	p = find_program(c, s);
	if (p) {
		know_program(c, s, now_ns);
		return;
	}
	if (!s->program_key || now_ns - c->asked_ns < ASK_NS)
		return;
	for (int i = 0; i < 3; i++) {
		if (text[i] && strlen(text[i]) >= COMMAND_MAX)
			return;
		snprintf(c->wanted.text[i], COMMAND_MAX, "%s", text[i] ? text[i] : "");
	}
	c->wanted.key = s->program_key;
	c->wanted.uid = s->uid;
	own_of(m, s, &c->wanted.own);
	loop_set_timer_at(c->later, now_ns);
}

/* Two forks of the daemon, some 3 ms: after the step has its answer. */
static void ask_for_wanted(void *arg)
{
	struct counting *c = arg;
	const struct command cmd = {c->wanted.text[0],
		*c->wanted.text[1] ? c->wanted.text[1] : NULL,
		*c->wanted.text[2] ? c->wanted.text[2] : NULL};
	struct program *p;
	int fd;

	if (!c->wanted.key)
		return;
	c->asked_ns = ipc_now_ns();
	fd = symbols_ask_command(&cmd, c->wanted.uid, &c->wanted.own);
	if (fd >= 0) {
		p = add_program(c, c->wanted.key, c->wanted.uid, &c->wanted.own);
		p->fd = fd;
		p->asked_ns = c->asked_ns;
	}
	c->wanted.key = 0;
}

/* ---- one step ---- */

static int64_t cpu_of(const struct step *s)
{
	int64_t ns;

	return s->pace.clocks.n && s->pace.clocks.n <= CLOCKS_MAX &&
			       clocks_read(&s->pace.clocks, &ns) == 0
		       ? ns
		       : -1;
}

static int64_t own_at(const void *turn, int64_t t_ns)
{
	return turn_clock(turn, t_ns);
}

static void look(struct counting *c, struct step *s, int64_t now_ns)
{
	struct seen_calls *k = &s->seen.calls;
	const struct thread_list *list = &s->pace.list;
	struct calls_look l = {
		.now_ns = now_ns,
		.own_ns = turn_clock(&s->turn, now_ns),
		.own_at = own_at,
		.turn = &s->turn,
		.running = s->pace.running,
		.cpu_ns = cpu_of(s),
		.tid = list->tid,
		.n_tids = list->n,
		.threads_changed = k->mark != list->mark || k->n_tids != list->n,
		.frozen = s->turn.frozen_since_ns != 0,
		.attend = c->m->attending,
	};

	k->mark = list->mark;
	k->n_tids = list->n;
	calls_step_look(k->step, &l);
}

static void stop_asking(struct seen_calls *k)
{
	if (k->fd > 0)
		close(k->fd);
	k->fd = 0;
}

/* The one of its processes that has worked most; each time another where no clock tells. */
static pid_t busiest(const struct step *s)
{
	const struct thread_list *list = &s->pace.list;
	pid_t found = list->tid[(s->seen.calls.asks + list->n - 1) % list->n];
	int64_t most = 0;

	for (int i = 0; i < s->pace.clocks.n && i < CLOCKS_MAX; i++) {
		clockid_t id = s->pace.clocks.id[i];
		struct timespec ts;

		if (clock_gettime(id, &ts) < 0 ||
			ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec <= most)
			continue;
		most = ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
		found = clocks_pid(id);
	}
	return found;
}

static void ask(struct counting *c, struct step *s, int64_t now_ns)
{
	struct seen_calls *k = &s->seen.calls;
	const struct thread_list *list = &s->pace.list;
	uint64_t code;
	pid_t pid;
	int fd;

	if (k->fd || now_ns < k->ask_ns || now_ns - c->asked_ns < ASK_NS || list->n == 0)
		return;
	pid = busiest(s);
	code = mapped_code(&c->m->use.node->root, pid);
	k->ask_ns = now_ns + (FIRST_ASK_NS << k->asks);
	if (FIRST_ASK_NS << k->asks < LAST_ASK_NS)
		k->asks++;
	/* It has loaded nothing since, so the answer would be the same. */
	if (code && code == k->asked_code)
		return;
	k->asked_code = code;
	own_of(c->m, s, &k->asked_own);
	fd = symbols_ask_thread(pid, s->uid, &k->asked_own);
	c->asked_ns = k->asked_ns = now_ns;
	if (fd >= 0)
		k->fd = fd;
	else
		k->asked_code = 0;
}

static void take_functions(struct step *s, int64_t now_ns)
{
	struct seen_calls *k = &s->seen.calls;
	struct calls_work work;
	struct symbols sym;
	int rc;

	if (!k->fd)
		return;
	/* The answer numbers the functions as they were asked for: a reload may name others. */
	rc = symbols_take(k->fd, &k->asked_own, &sym);
	if (rc == -EAGAIN && now_ns - k->asked_ns < SYMBOLS_DEADLINE_S * INT64_C(1000000000))
		return;
	stop_asking(k);
	if (rc < 0) {
		k->asked_code = 0;
		calls_step_know_nothing(k->step, "its program could not be read");
		return;
	}
	/* One that has begun to call meanwhile is counted, and goes on. */
	if (!calls_step_work(k->step, &work) &&
		!(calls_step_is_silent(k->step) && calls_step_counts_in(k->step, &sym)))
		know(s, &sym, &k->asked_own, now_ns);
	symbols_done(&sym);
}

/* @news: not only what is due. */
static void go_on_with(struct counting *c, struct step *s, int64_t now_ns, bool news)
{
	struct seen_calls *k = &s->seen.calls;
	struct calls_work work;

	if (!is_counted(c->m, s)) {
		counting_forget(s);
		return;
	}
	if (!has_step(c, s, now_ns))
		return;
	know_program(c, s, now_ns);
	take_functions(s, now_ns);
	if ((!news && now_ns < calls_step_due_ns(k->step)) || threads_list(c->m, s) < 0)
		return;
	/* In a container another file has that name; a library may have been replaced. */
	if (calls_step_is_silent(k->step) ||
		(!calls_step_work(k->step, &work) && !calls_step_is_trying(k->step)))
		ask(c, s, now_ns);
	look(c, s, now_ns);
}

/* ---- all of them ---- */

static void start_worker(struct counting *c);

static void look_at_worker(struct counting *c);

/* Nothing is to be done for any step before that; 0: that is not known. */
static int64_t quiet_until_ns(const struct counting *c, int64_t now_ns)
{
	const struct jobs *jobs = c->m->use.jobs;
	int64_t until_ns = now_ns + QUIET_NS;
	struct calls_work work;

	for (int i = 0; i < jobs->n; i++) {
		const struct seen_calls *k = &jobs->step[i]->seen.calls;

		if (!is_counted(c->m, jobs->step[i]))
			continue;
		if (!k->step || k->fd > 0 || !calls_step_work(k->step, &work))
			return 0;
		if (calls_step_due_ns(k->step) < until_ns)
			until_ns = calls_step_due_ns(k->step);
	}
	return until_ns;
}

/* When somebody is due then. */
static int64_t next_look_ns(struct counting *c, int64_t due_ns)
{
	/* The golden ratio's multiples are spread evenly, and repeat with no period. */
	uint64_t x = (uint32_t)(++c->draws * UINT32_C(2654435769));
	int64_t next_ns = ipc_now_ns() + LOOK_NS / 2 + (int64_t)(x * LOOK_NS >> 32);

	return due_ns > next_ns ? due_ns : next_ns;
}

static void set_timer(struct counting *c, int64_t at_ns)
{
	c->timer_ns = at_ns;
	loop_set_timer_at(c->timer, at_ns);
}

/* One step is due then by now. */
static void bring_forward(struct counting *c, int64_t due_ns)
{
	int64_t next_ns = c->on ? next_look_ns(c, due_ns) : INT64_MAX;

	if (next_ns < c->timer_ns)
		set_timer(c, next_ns);
}

static void on_timer(void *arg)
{
	struct counting *c = arg;
	const struct jobs *jobs = c->m->use.jobs;
	int64_t now_ns = ipc_now_ns(), until_ns = now_ns + SLICE_NS;
	bool all = true, news = c->attended != c->m->attending;

	if (jobs->n == 0) {
		c->on = false;
		return;
	}
	/* Again when that is known: what comes first may fail. */
	set_timer(c, now_ns + LOOK_NS);
	look_at_worker(c);
	if (!c->worker && !c->for_good && c->m->use.conf->calls.enabled && now_ns >= c->restart_ns)
		start_worker(c);
	if (calls_why_not(c->calls))
		return;
	calls_set_budget(c->calls, c->m->use.conf->calls.budget);
	for (int i = 0; i < jobs->n; i++) {
		struct step *s = jobs->step[i];

		if (s->order < c->next || !s->located || s->status == STATUS_SUSPENDED)
			continue;
		if (ipc_now_ns() >= until_ns) {
			c->next = s->order;
			all = false;
			break;
		}
		go_on_with(c, s, now_ns, news);
	}
	if (all) {
		c->next = 0;
		c->attended = c->m->attending;
	}
	tidy_programs(c, now_ns);
	calls_tidy(c->calls, now_ns);
	set_timer(c, next_look_ns(c, all ? quiet_until_ns(c, now_ns) : 0));
}

static void lose_worker(struct counting *c)
{
	loop_remove(c->m->use.loop, c->fd);
	c->fd = NULL;
	callworker_stop(c->worker);
	c->worker = NULL;
	c->restart_ns = ipc_now_ns() + RESTART_NS;
	calls_lost(c->calls, c->refused[0]
				     ? c->refused
				     : "the process that counts has ended; it is started again");
}

/* Counting goes on for all others, without the files of who holds it up. */
static void look_at_worker(struct counting *c)
{
	uint32_t owner;

	if (!c->worker || !callworker_hangs(c->worker, &owner))
		return;
	if (owner == CALLS_NOBODY) {
		log_warning(
			"calls are not counted: the kernel does not answer the process that does");
	} else {
		log_warning("calls are not counted: a file of user %u does not answer; none of "
			    "theirs are for an hour",
			owner);
		shun(c, owner);
	}
	callworker_kill(c->worker);
	lose_worker(c);
}

static void note_counts(const struct calls_step *step, const struct call_answer *a)
{
	const struct step *s = step ? calls_step_arg(step) : NULL;
	char counted[256];

	log_debug("step %s: %s in %.3f s from %.3f s on, %d threads%s%s", s ? s->id : "?",
		step ? calls_step_counted(step, a, counted, sizeof(counted)) : "not awaited",
		(double)(a->t_ns - a->began_ns) / 1e9, (double)a->began_ns / 1e9, a->tasks,
		a->failed ? ", not all: " : "", a->failed ? a->text : "");
}

/* It ends after that; the same reason is told once, however often it is started. */
static void take_ready(struct counting *c, const struct call_answer *a)
{
	if (a->rc == 0)
		log_info("calls are counted, %.1f us each", a->cost_ns / 1e3);
	else if (strcmp(c->refused, a->text) != 0)
		log_warning("calls are not counted: %s", a->text);
	snprintf(c->refused, sizeof(c->refused), "%s", a->rc ? a->text : "");
	c->for_good = a->rc == -ENOTSUP;
}

static void take_answers(struct counting *c)
{
	struct call_answer a;
	struct calls_step *step;
	int rc = 0;

	while (c->worker && (rc = callworker_take(c->worker, &a)) == 1) {
		step = calls_take(c->calls, &a);
		if (a.kind == CALL_COUNTS)
			note_counts(step, &a);
		if (step) {
			look(c, calls_step_arg(step), ipc_now_ns());
			bring_forward(c, calls_step_due_ns(step));
		}
		if (a.kind == CALL_READY)
			take_ready(c, &a);
		else if (a.kind == CALL_MADE && a.rc)
			log_debug("calls: %s", a.text);
	}
	if (rc < 0) {
		if (!c->refused[0])
			log_warning("calls are not counted: the process that does has ended");
		lose_worker(c);
	}
}

static void on_answer(int fd, uint32_t events, void *arg)
{
	(void)fd;
	(void)events;
	take_answers(arg);
}

static void start_worker(struct counting *c)
{
	struct errbuf err;

	c->restart_ns = ipc_now_ns() + RESTART_NS;
	if (callworker_start(&c->worker, &c->m->use.node->root, c->m->use.conf->socket, &err) < 0 ||
		loop_add_fd(c->m->use.loop, callworker_fd(c->worker), EPOLLIN, on_answer, c, &c->fd,
			&err) < 0) {
		callworker_stop(c->worker);
		c->worker = NULL;
		log_warning("%s", err.text);
	}
}

int measure_count_calls(struct measure *m, struct errbuf *err)
{
	struct counting *c = calloc(1, sizeof(*c));
	int rc;

	if (!c || !(c->calls = calls_new(send_request, c, m->use.conf->calls.budget))) {
		free(c);
		return err_set(err, -ENOMEM, "out of memory");
	}
	c->m = m;
	m->counting = c;
	if (m->use.conf->calls.enabled)
		start_worker(c);
	rc = loop_add_timer(m->use.loop, ask_for_wanted, c, &c->later, err);
	return rc < 0 ? rc : loop_add_timer(m->use.loop, on_timer, c, &c->timer, err);
}

void counting_close(struct measure *m)
{
	struct counting *c = m->counting;

	if (!c)
		return;
	loop_remove(m->use.loop, c->fd);
	loop_remove(m->use.loop, c->timer);
	loop_remove(m->use.loop, c->later);
	callworker_stop(c->worker);
	for (int i = 0; i < PROGRAMS_MAX; i++)
		forget_program(&c->program[i]);
	calls_free(c->calls);
	free(c);
	m->counting = NULL;
}

void counting_start(struct measure *m)
{
	struct counting *c = m->counting;

	if (!c)
		return;
	if (c->on) {
		bring_forward(c, 0);
		return;
	}
	c->on = true;
	set_timer(c, next_look_ns(c, 0));
}

void counting_forget(struct step *s)
{
	struct seen_calls *k = &s->seen.calls;

	calls_step_free(k->step);
	k->step = NULL;
	stop_asking(k);
	/* What was known of its functions has gone with it: whoever is counted again is read again.
	 */
	k->knows = false;
	k->asks = 0;
	k->asked_code = 0;
}

void counting_now(const struct measure *m, struct step *s)
{
	struct counting *c = m->counting;
	struct seen_calls *k = &s->seen.calls;
	struct pollfd p;
	int64_t from_ns = ipc_now_ns(), until_ns = from_ns + NOW_MS * INT64_C(1000000), left_ns;

	if (!c || !c->worker || !k->step || !calls_step_ask(k->step))
		return;
	p = (struct pollfd){.fd = callworker_fd(c->worker), .events = POLLIN};
	do {
		left_ns = until_ns - ipc_now_ns();
		if (poll(&p, 1, left_ns > 0 ? (int)(left_ns / 1000000) + 1 : 0) == 1)
			take_answers(c);
		if (!k->step || !c->worker)
			return;
		/* Not what was asked for before. */
	} while (calls_step_told_ns(k->step) < from_ns && left_ns > 0);
}

void measure_begin(struct measure *m, struct step *s)
{
	struct counting *c = m->counting;
	int64_t now_ns = ipc_now_ns();
	pid_t tid[BEGIN_TASKS];
	struct calls_look l = {.now_ns = now_ns,
		.own_ns = turn_clock(&s->turn, now_ns),
		.own_at = own_at,
		.turn = &s->turn,
		.running = NAN,
		.cpu_ns = -1,
		.tid = tid};

	if (!c || !c->worker || !s->seen.calls.step || s->n_tasks > BEGIN_TASKS)
		return;
	know_program(c, s, now_ns);
	for (int i = 0; i < s->n_tasks; i++)
		tid[l.n_tids++] = s->task[i].pid;
	if (!calls_step_begin(s->seen.calls.step, &l))
		return;
	log_debug("step %s: %s", s->id, calls_step_why(s->seen.calls.step));
	/* It executes its program as soon as it has our answer. */
	counting_now(m, s);
}

const char *measure_calls_why_not(const struct measure *m)
{
	if (!m->use.conf->calls.enabled)
		return "calls.enabled is no";
	return m->counting ? calls_why_not(m->counting->calls) : "this process does not count";
}

double measure_calls_cost_ns(const struct measure *m)
{
	return m->counting ? calls_cost_ns(m->counting->calls) : 0;
}

const char *measure_calls_why(const struct measure *m, const struct step *s)
{
	if (m->counting && is_shunned(m->counting, s->uid))
		return "a file of its user's did not answer the process that counts: not counted "
		       "for an hour";
	if (s->seen.calls.step)
		return calls_step_why(s->seen.calls.step);
	return m->counting && is_counted(m, s) ? calls_why_not(m->counting->calls) : NULL;
}

void measure_attend(struct measure *m, bool on)
{
	if (!m) /* a trial where nothing is measured (test_lend) */
		return;
	if (m->counting && m->counting->on && m->attending != on)
		set_timer(m->counting, ipc_now_ns());
	m->attending = on;
}
