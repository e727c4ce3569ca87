/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the calls of steps are counted: whose functions are asked for when, what that may cost, and
 * what becomes of each kind of program. The process that counts and the reader of files are here:
 * made-up programs call their functions so often a second, and lie in made-up files. No kernel, no
 * clock.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/command.h"
#include "common/ipc.h"
#include "nodesvc/base/log.h"
#include "nodesvc/counters/calls.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/measure/internal.h"

#define SECOND INT64_C(1000000000)
#define TICK   (SECOND / 100)
#define COST_S 2e-6
#define CORES  2.0

/* ---- programs ---- */

#define FUNCTIONS 4
#define PROGRAMS  64

/* What lies in a file at 0x1000, 0x2000 ..., and how often the program that has mapped it calls
 * that. */
struct program {
	ino_t ino; /* of its file */
	double per_s[FUNCTIONS];
	double done[FUNCTIONS], hits;
	double jitter; /* share by which its rates differ from one moment to the next */
	double wobble;
};

static const char *const names[FUNCTIONS] = {
	"GOMP_parallel", "MPI_Allreduce", "MPI_Send", "GOMP_barrier"};
static struct program program[PROGRAMS];
static int64_t now_ns;

int64_t __wrap_ipc_now_ns(void);
int64_t __wrap_ipc_now_ns(void)
{
	return now_ns;
}

/* ---- the loop: handlers are called by the test ---- */

struct loop_source {
	loop_timer_f timer;
	loop_fd_f ready;
	void *arg;
	int64_t at_ns;
	int period_ms;
	bool used;
};
static struct loop_source source[16];

static struct loop_source *new_source(void)
{
	for (int i = 0; i < 16; i++)
		if (!source[i].used) {
			source[i] = (struct loop_source){.used = true};
			return &source[i];
		}
	ck_abort_msg("no source left");
	return NULL;
}

int __wrap_loop_add_timer(
	struct loop *l, loop_timer_f fn, void *arg, struct loop_source **ret, struct errbuf *err);
int __wrap_loop_add_timer(
	struct loop *l, loop_timer_f fn, void *arg, struct loop_source **ret, struct errbuf *err)
{
	(void)l, (void)err;
	*ret = new_source();
	(*ret)->timer = fn;
	(*ret)->arg = arg;
	return 0;
}

int __wrap_loop_set_timer(struct loop_source *s, int first_ms, int period_ms);
int __wrap_loop_set_timer(struct loop_source *s, int first_ms, int period_ms)
{
	s->at_ns = first_ms ? now_ns + first_ms * (SECOND / 1000) : 0;
	s->period_ms = period_ms;
	return 0;
}

int __wrap_loop_set_timer_at(struct loop_source *s, int64_t mono_ns);
int __wrap_loop_set_timer_at(struct loop_source *s, int64_t mono_ns)
{
	s->at_ns = mono_ns;
	s->period_ms = 0;
	return 0;
}

int __wrap_loop_add_fd(struct loop *l, int fd, uint32_t events, loop_fd_f fn, void *arg,
	struct loop_source **ret, struct errbuf *err);
int __wrap_loop_add_fd(struct loop *l, int fd, uint32_t events, loop_fd_f fn, void *arg,
	struct loop_source **ret, struct errbuf *err)
{
	(void)l, (void)fd, (void)events, (void)err;
	*ret = new_source();
	(*ret)->ready = fn;
	(*ret)->arg = arg;
	return 0;
}

void __wrap_loop_remove(struct loop *l, struct loop_source *s);
void __wrap_loop_remove(struct loop *l, struct loop_source *s)
{
	(void)l;
	if (s)
		s->used = false;
}

int __wrap_thread_list_update(
	struct thread_list *l, struct actuate *a, const struct step_cgroup *s, bool *ret_changed);
int __wrap_thread_list_update(
	struct thread_list *l, struct actuate *a, const struct step_cgroup *s, bool *ret_changed)
{
	(void)l, (void)a, (void)s;
	*ret_changed = false;
	return 0;
}

/* ---- the process that counts ---- */

#define SETS    64
#define ANSWERS 256

struct open_set {
	struct call_request r;
	struct program *p;
	double before[CALLS_PROBES], hits;
	int64_t since_ns;
	bool on;
};
static struct {
	struct open_set set[SETS];
	struct {
		ino_t ino;
		uint64_t offset;
	} place[CALLS_PROBES_ALL];
	struct call_answer answer[ANSWERS];
	int n_answers, started, opened;
	bool lives, dies, hangs, killed;
	uint32_t hangs_of;
	const char *why_not;
} worker;

static void tell(struct call_answer a)
{
	ck_assert_int_lt(worker.n_answers, ANSWERS);
	worker.answer[worker.n_answers++] = a;
}

int __wrap_callworker_start(
	struct callworker **ret, const struct fsroot *root, const char *owner, struct errbuf *err);
int __wrap_callworker_start(
	struct callworker **ret, const struct fsroot *root, const char *owner, struct errbuf *err)
{
	struct call_answer ready = {.kind = CALL_READY, .cost_ns = COST_S * 1e9};

	(void)root, (void)owner, (void)err;
	memset(worker.set, 0, sizeof(worker.set));
	worker.n_answers = 0;
	worker.started++;
	worker.lives = true;
	worker.dies = worker.hangs = false;
	if (worker.why_not) {
		ready.rc = -ENOTSUP;
		snprintf(ready.text, sizeof(ready.text), "%s", worker.why_not);
	}
	tell(ready);
	*ret = (struct callworker *)&worker;
	return 0;
}

void __wrap_callworker_stop(struct callworker *w);
void __wrap_callworker_stop(struct callworker *w)
{
	if (w)
		worker.lives = false;
}

int __wrap_callworker_fd(const struct callworker *w);
/* Always readable: who waits for an answer takes what there is. */
int __wrap_callworker_fd(const struct callworker *w)
{
	static int fd = -1;

	(void)w;
	if (fd < 0)
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return fd;
}

static struct open_set *find_set(uint32_t id)
{
	for (int i = 0; i < SETS; i++)
		if (worker.set[i].on && worker.set[i].r.set == id)
			return &worker.set[i];
	return NULL;
}

/* Program k has the threads 100 k and 100 k + 1. */
static void open_it(const struct call_request *r)
{
	struct open_set *o = NULL;

	for (int i = 0; i < SETS && !o; i++)
		if (!worker.set[i].on)
			o = &worker.set[i];
	ck_assert_ptr_nonnull(o);
	*o = (struct open_set){
		.r = *r, .p = &program[r->tid[0] / 100], .since_ns = now_ns, .on = true};
	for (int i = 0; i < r->n_probes; i++)
		o->before[i] = o->p->done[worker.place[r->probe[i]].offset / 0x1000 - 1];
	worker.opened++;
}

/* Calls of a file that it has not mapped nobody sees. */
static double calls_of(const struct open_set *o, int i)
{
	uint32_t at = o->r.probe[i];

	return worker.place[at].ino == o->p->ino
		       ? floor(o->p->done[worker.place[at].offset / 0x1000 - 1]) -
				 floor(o->before[i])
		       : 0;
}

static void say_counts(struct open_set *o, bool end)
{
	struct call_answer a = {.kind = CALL_COUNTS,
		.set = o->r.set,
		.ended = end,
		.began_ns = o->since_ns,
		.t_ns = now_ns,
		.n_probes = o->r.n_probes,
		.tasks = o->r.n_tids};
	double seconds = (double)(now_ns - o->since_ns) / 1e9;

	for (int i = 0; i < o->r.n_probes; i++) {
		double n = calls_of(o, i);

		a.count[i] = (struct call_counts){.calls = (uint64_t)n,
			.per_s = seconds > 0 ? n / seconds : 0,
			.callers = n > 0};
	}
	if (end)
		o->on = false;
	tell(a);
}

static struct stat last_file;

int __wrap_callworker_send(struct callworker *w, const struct call_request *r, int fd);
int __wrap_callworker_send(struct callworker *w, const struct call_request *r, int fd)
{
	struct open_set *o = find_set(r->set);

	(void)w;
	switch (r->op) {
	case CALL_PROBE:
		/* The file says whose it is by its size. */
		ck_assert_int_eq(fstat(fd, &last_file), 0);
		worker.place[r->probe[0]].ino = (ino_t)last_file.st_size;
		worker.place[r->probe[0]].offset = r->offset;
		tell((struct call_answer){.kind = CALL_MADE, .probe = r->probe[0]});
		break;
	case CALL_OPEN:
		open_it(r);
		break;
	case CALL_READ:
	case CALL_CLOSE:
		if (o)
			say_counts(o, r->op == CALL_CLOSE);
		break;
	case CALL_DROP:
	case CALL_TASKS:
		break;
	}
	return 0;
}

int __wrap_callworker_take(struct callworker *w, struct call_answer *ret);
int __wrap_callworker_take(struct callworker *w, struct call_answer *ret)
{
	(void)w;
	if (worker.dies)
		return -EPIPE;
	if (!worker.n_answers)
		return 0;
	*ret = worker.answer[0];
	memmove(worker.answer, worker.answer + 1,
		(size_t)--worker.n_answers * sizeof(worker.answer[0]));
	return 1;
}

bool __wrap_callworker_hangs(const struct callworker *w, uint32_t *ret_owner);
bool __wrap_callworker_hangs(const struct callworker *w, uint32_t *ret_owner)
{
	(void)w;
	*ret_owner = worker.hangs_of;
	return worker.hangs;
}

void __wrap_callworker_kill(const struct callworker *w);
void __wrap_callworker_kill(const struct callworker *w)
{
	(void)w;
	worker.killed = true;
}

/* ---- the reader of files ---- */

static struct {
	int commands, threads; /* asked for */
	int64_t last_ns, shortest_ns;
	uid_t uid;
	pid_t tid;
	int rc;                           /* what is answered, */
	struct symbols s;                 /* with these */
	const char *of_thread[FUNCTIONS]; /* what a process has mapped; NULL as a command */
	ino_t thread_ino;
	bool by_thread; /* the last question */
	struct callnames_own own;
} reader;

static int note_ask(uid_t uid, const struct callnames_own *own)
{
	reader.own = *own;
	if (reader.last_ns && now_ns - reader.last_ns < reader.shortest_ns)
		reader.shortest_ns = now_ns - reader.last_ns;
	reader.last_ns = now_ns;
	reader.uid = uid;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int __wrap_symbols_ask_command(const struct command *c, uid_t uid, const struct callnames_own *own);
int __wrap_symbols_ask_command(const struct command *c, uid_t uid, const struct callnames_own *own)
{
	(void)c;
	reader.commands++;
	reader.by_thread = false;
	return note_ask(uid, own);
}

int __wrap_symbols_ask_thread(pid_t tid, uid_t uid, const struct callnames_own *own);
int __wrap_symbols_ask_thread(pid_t tid, uid_t uid, const struct callnames_own *own)
{
	reader.threads++;
	reader.tid = tid;
	reader.by_thread = true;
	return note_ask(uid, own);
}

static void add_function(struct symbols *s, ino_t ino, const char *name)
{
	int f = 0;

	while (strcmp(names[f], name) != 0)
		f++;
	if (!s->n_files) {
		char path[] = "/tmp/coloc-counting-XXXXXX";

		s->n_files = 1;
		s->file[0] = (struct symbol_file){.fd = mkostemp(path, O_CLOEXEC), .ino = ino};
		ck_assert_int_eq(ftruncate(s->file[0].fd, (off_t)ino), 0);
		unlink(path);
	}
	s->site[s->n_sites++] = (struct symbol_site){.offset = (uint64_t)(f + 1) * 0x1000,
		.call = (uint16_t)callnames_find(name, NULL),
		.called = 1};
}

/* It changes as other libraries are mapped. */
uint64_t __wrap_mapped_code(const struct fsroot *root, pid_t pid);
uint64_t __wrap_mapped_code(const struct fsroot *root, pid_t pid)
{
	uint64_t code = (uint64_t)pid / 100 + reader.thread_ino; /* its threads have the same */

	(void)root;
	for (int i = 0; i < FUNCTIONS; i++)
		code = code * 31 + (reader.of_thread[i] ? strlen(reader.of_thread[i]) : 0);
	return code;
}

int __wrap_symbols_take(int fd, const struct callnames_own *own, struct symbols *ret);
int __wrap_symbols_take(int fd, const struct callnames_own *own, struct symbols *ret)
{
	(void)fd;
	if (reader.rc < 0)
		return reader.rc;
	/* The answer has numbers. */
	ck_assert(memcmp(own, &reader.own, sizeof(*own)) == 0);
	*ret = reader.s;
	for (int i = 0; i < FUNCTIONS && reader.s.n_sites == 0; i++) {
		const char *name = reader.of_thread[i];

		if (name && (reader.by_thread || !reader.thread_ino))
			add_function(ret, reader.thread_ino ? reader.thread_ino : 1, name);
	}
	return 0;
}

/* ---- the daemon ---- */

static struct daemon d;
static struct errbuf err;
static struct step *s;

static struct step *add(uint32_t job)
{
	struct step *t = jobs_add(d.jobs, job, 0, 0);

	snprintf(t->type, sizeof(t->type), "app%u", job);
	strcpy(t->user, "ada");
	t->uid = 1000;
	t->located = true;
	t->status = STATUS_PLACED;
	t->nnodes = t->ntasks = 1;
	t->program_key = job;
	t->pace.running = CORES;
	t->pace.list.tid = calloc(2, sizeof(pid_t));
	t->pace.list.tid[0] = (pid_t)(100 * job);
	t->pace.list.tid[1] = (pid_t)(100 * job + 1);
	t->pace.list.n = 2;
	return t;
}

static void setup(void)
{
	memset(source, 0, sizeof(source));
	memset(&worker, 0, sizeof(worker));
	memset(program, 0, sizeof(program));
	memset(&reader, 0, sizeof(reader));
	reader.shortest_ns = INT64_MAX;
	srand48(3);
	now_ns = 1000 * SECOND;
	for (int i = 0; i < PROGRAMS; i++)
		program[i].ino = 1;
	reader.s.has_program = 1;
	daemon_init(&d);
	log_init(LOG_LEVEL_ERROR);
	conf_defaults(d.conf);
	strcpy(d.node->type, "model, 2 cores");
	d.node->counters.ops = &counters_none;
	ck_assert_int_eq(topo_load(&d.node->topo, "core:2 pu:1", &err), 0);
	ck_assert_int_eq(record_open(&d.record, ":memory:", false, &err), 0);
	ck_assert_int_eq(daemon_open_rooms(&d, &err), 0);
	ck_assert_int_eq(measure_count_calls(d.measure, &err), 0);
	s = add(1);
	priors_open(d.measure, s);
	counting_start(d.measure);
}

static void teardown(void)
{
	for (int i = 0; i < d.jobs->n; i++)
		reading_close(d.measure, d.jobs->step[i]);
	jobs_done(d.jobs);
	daemon_close_rooms(&d);
	record_close(d.record);
	topo_free(d.node->topo);
}

static void call_functions(struct program *p)
{
	double share = 1;

	/* Moments as long as a window, fast or slow by chance. */
	if (p->jitter > 0 && now_ns % (SECOND / 4) < TICK)
		p->wobble = drand48() < 0.5 ? p->jitter : -p->jitter;
	share += p->wobble;
	for (int f = 0; f < FUNCTIONS; f++)
		p->done[f] += p->per_s[f] * share * TICK / 1e9;
	for (int i = 0; i < SETS; i++) {
		struct open_set *o = &worker.set[i];

		for (int k = 0; o->on && o->p == p && k < o->r.n_probes; k++)
			if (worker.place[o->r.probe[k]].ino == p->ino)
				o->hits +=
					p->per_s[worker.place[o->r.probe[k]].offset / 0x1000 - 1] *
					share * TICK / 1e9;
	}
}

/* It traps on them all the time, whoever looks. */
static void note_hits(void)
{
	for (int i = 0; i < SETS; i++) {
		struct open_set *o = &worker.set[i];
		bool over = o->r.length_ns && now_ns - o->since_ns >= o->r.length_ns;

		if (!o->on)
			continue;
		o->p->hits += o->hits;
		o->r.max_hits = o->r.max_hits && (double)o->r.max_hits <= o->hits
					? 1
					: o->r.max_hits - (uint64_t)(o->r.max_hits ? o->hits : 0);
		over |= o->r.max_hits == 1;
		o->hits = 0;
		if (over)
			say_counts(o, true);
	}
}

static void run(double seconds)
{
	int64_t until_ns = now_ns + (int64_t)(seconds * 1e9);

	while (now_ns < until_ns) {
		now_ns += TICK;
		for (int k = 0; k < PROGRAMS; k++)
			call_functions(&program[k]);
		note_hits();
		for (int i = 0; i < 16; i++) {
			struct loop_source *t = &source[i];

			if (t->used && t->timer && t->at_ns && now_ns >= t->at_ns) {
				t->at_ns =
					t->period_ms ? now_ns + t->period_ms * (SECOND / 1000) : 0;
				t->timer(t->arg);
			}
			if (t->used && t->ready && (worker.n_answers || worker.dies))
				t->ready(-1, 0, t->arg);
		}
	}
}

static const char *why(void)
{
	const char *text = measure_calls_why(d.measure, s);

	return text ? text : "nobody counts it";
}

static bool has_speed(const struct step *t)
{
	return t->seen.calls.step && !isnan(calls_step_rate(t->seen.calls.step));
}

/* Of the processor time that the program takes. */
static double share_of(const struct program *p, double seconds)
{
	return p->hits * COST_S / (CORES * seconds);
}

static void maps(const char *a, const char *b)
{
	reader.of_thread[0] = a;
	reader.of_thread[1] = b;
}

/* ---- what it costs ---- */

START_TEST(counting_costs_no_more_than_the_budget)
{
	struct program *p = &program[1];

	/* 100 000 a second: 10 % of its two cores. */
	maps("GOMP_parallel", NULL);
	p->per_s[0] = 100000;
	run(20);
	ck_assert_str_eq(calls_step_unit(s->seen.calls.step), "calls of GOMP_parallel");
	/* While it was looked for some seconds' worth was spent ahead, and no more. */
	ck_assert_double_le(share_of(p, 20), d.conf->calls.budget * (20 + 6) / 20);
	p->hits = 0;
	run(100);
	ck_assert_double_gt(p->hits, 0);
	ck_assert_double_le(share_of(p, 100), d.conf->calls.budget * 1.1);
	ck_assert_ptr_nonnull(strstr(why(), "in windows"));
	ck_assert(has_speed(s));
}
END_TEST

START_TEST(a_smaller_budget_holds_from_the_reload_on)
{
	struct program *p = &program[1];

	maps("GOMP_parallel", NULL);
	p->per_s[0] = 20000;
	run(30);
	d.conf->calls.budget = 0.001;
	run(20);
	p->hits = 0;
	run(200);
	ck_assert_double_gt(p->hits, 0);
	ck_assert_double_le(share_of(p, 200), 0.001 * 1.1);
}
END_TEST

START_TEST(every_program_has_a_budget_of_its_own)
{
	maps("GOMP_parallel", "MPI_Allreduce");
	for (uint32_t job = 2; job < 12; job++)
		priors_open(d.measure, add(job));
	for (int k = 1; k < 12; k++)
		program[k].per_s[k % 2] = 1000 * k * k;
	run(60);
	for (int k = 1; k < 12; k++)
		program[k].hits = 0;
	run(100);
	for (int k = 1; k < 12; k++) {
		ck_assert_msg(has_speed(d.jobs->step[k - 1]), "%d", k);
		ck_assert_msg(share_of(&program[k], 100) <= d.conf->calls.budget * 1.1, "%d: %g", k,
			share_of(&program[k], 100));
	}
}
END_TEST

START_TEST(of_steady_functions_one_that_is_called_rarely_is_taken)
{
	struct program *p = &program[1];

	maps("GOMP_parallel", "MPI_Allreduce");
	p->per_s[0] = 50000;
	p->per_s[1] = 60;
	run(20);
	ck_assert_str_eq(calls_step_unit(s->seen.calls.step), "calls of MPI_Allreduce");
	ck_assert_ptr_nonnull(strstr(why(), "all the time"));
	p->hits = 0;
	run(100);
	ck_assert_double_eq_tol(p->hits, 60 * 100, 60);
	ck_assert_double_eq_tol(calls_step_rate(s->seen.calls.step), 60, 2);
}
END_TEST

/* Two forks of the daemon each. */
START_TEST(files_are_read_seldom_however_many_steps_come)
{
	for (uint32_t job = 2; job < 50; job++)
		priors_open(d.measure, add(job));
	run(60);
	ck_assert_int_ge(reader.shortest_ns, SECOND / 10);
	ck_assert_int_gt(reader.threads, 48);
	/* Each again, ever more seldom: nothing is found. */
	reader.threads = 0;
	run(3600);
	ck_assert_int_le(reader.threads, 49 * 22);
}
END_TEST

/* ---- each kind of program has its answer ---- */

START_TEST(a_library_that_is_loaded_late_is_found)
{
	program[1].per_s[1] = 200;
	run(20);
	ck_assert(!has_speed(s));
	ck_assert_str_eq(why(), "it loads no OpenMP or MPI library whose functions are known");
	maps("MPI_Allreduce", NULL);
	run(60);
	ck_assert(has_speed(s));
}
END_TEST

START_TEST(a_program_that_cannot_be_read_says_so)
{
	/* A setuid program, or a script: its user may execute it, and not read. */
	reader.s.has_program = 0;
	run(5);
	ck_assert_str_eq(why(), "its executable is a script, or may not be read");
	ck_assert_uint_eq(reader.uid, 1000); /* with his rights, not root's */
	reader.thread_ino = 2;               /* it executes another */
	reader.rc = -ENODATA;
	run(60);
	ck_assert_str_eq(why(), "its program could not be read");
	reader.rc = -EBADMSG;
	run(60);
	ck_assert_str_eq(why(), "its program could not be read");
	ck_assert_int_eq(worker.opened, 0);
}
END_TEST

START_TEST(a_static_program_has_a_speed_by_its_symbols_or_the_reason)
{
	reader.s.is_static = 1;
	run(5);
	ck_assert_str_eq(
		why(), "it is linked statically, and no symbol names an OpenMP or MPI function");
	program[1].per_s[0] = 100;
	maps("GOMP_parallel", NULL);
	run(60);
	ck_assert(has_speed(s));
}
END_TEST

START_TEST(one_that_calls_nothing_says_so_and_traps_nowhere)
{
	maps("GOMP_parallel", "MPI_Send");
	run(60);
	ck_assert_str_eq(why(), "none of its 2 functions that could be counted is called");
	ck_assert_double_eq(program[1].hits, 0);
}
END_TEST

START_TEST(one_whose_calls_come_unevenly_says_so)
{
	int said = 0, known = 0;

	maps("MPI_Send", "MPI_Allreduce");
	program[1].per_s[1] = 300;
	program[1].per_s[2] = 400;
	program[1].jitter = 0.9;
	s->pace.running = NAN;
	/* Three windows in a row may be alike by chance; what is counted then tells. */
	for (int i = 0; i < 120; i++) {
		run(1);
		said += strstr(why(), "no function is called steadily") != NULL;
		known += has_speed(s);
	}
	ck_assert_msg(said > 5, "%d of 120: %s", said, why());
	ck_assert_msg(known < 60, "%d of 120", known);
	/* It is tried again, and found when it has settled. */
	program[1].jitter = program[1].wobble = 0;
	run(120);
	ck_assert(has_speed(s));
}
END_TEST

START_TEST(a_node_without_probes_says_so_for_every_step)
{
	worker.why_not = "this kernel has no uprobes";
	worker.dies = true;
	run(40);
	ck_assert_int_eq(worker.started, 2);
	ck_assert_str_eq(measure_calls_why_not(d.measure), "this kernel has no uprobes");
	ck_assert_str_eq(why(), "this kernel has no uprobes");
	ck_assert_int_eq(worker.opened, 0);
}
END_TEST

/* ---- a program that ran before ---- */

static void expect(struct step *t)
{
	const struct command c = {.name = "/opt/app"};

	t->located = false;
	run(0.1);
	measure_expect(d.measure, t, &c);
	run(0.1);
	measure_expect(d.measure, t, &c);
	run(0.1);
}

static void begin(struct step *t)
{
	ck_assert_int_eq(step_add_task(t, 0, t->pace.list.tid[0]), 0);
	t->located = true;
	measure_begin(d.measure, t);
}

static void ran_before(const char *function)
{
	char value[64];
	struct learnt l = {.what = PRIORS_MARKS,
		.node_type = d.node->type,
		.owner = s->user,
		.name = s->type,
		.value = value};

	snprintf(value, sizeof(value), "%s 0.01 0 0", function);
	ck_assert_int_eq(record_learnt_put(d.record, &l, 9, &err), 0);
	priors_open(d.measure, s);
}

START_TEST(one_that_is_known_is_counted_from_its_first_call)
{
	struct calls_work work;

	ran_before("MPI_Allreduce");
	maps("GOMP_parallel", "MPI_Allreduce");
	expect(s);
	begin(s);
	ck_assert_ptr_nonnull(strstr(why(), "from its start"));
	program[1].per_s[1] = 100;
	run(30);
	counting_now(d.measure, s);
	ck_assert(calls_step_work(s->seen.calls.step, &work));
	ck_assert_double_eq_tol(work.total, program[1].done[1], 60);
	ck_assert_int_eq(reader.threads, 0);
}
END_TEST

/* It reads its input for a while: that it calls nothing is no reason to begin anew. */
START_TEST(one_that_is_known_and_starts_slowly_stays_counted)
{
	struct calls_work work;

	ran_before("MPI_Allreduce");
	maps("GOMP_parallel", "MPI_Allreduce");
	expect(s);
	begin(s);
	run(60);
	ck_assert_ptr_nonnull(strstr(why(), "from its start"));
	program[1].per_s[1] = 100;
	run(30);
	ck_assert(calls_step_work(s->seen.calls.step, &work));
	ck_assert(work.total > 2900 && work.exact);
}
END_TEST

/*
 * In a container of that name lies another file; so it does where a library was replaced, or the
 * program built anew, since it was read. What was opened before it began nobody calls.
 */
START_TEST(one_that_runs_another_file_than_was_read_is_found)
{
	struct calls_work work;

	ran_before("MPI_Allreduce");
	maps("GOMP_parallel", "MPI_Allreduce");
	expect(s);
	begin(s);
	program[1].ino = reader.thread_ino = 7;
	program[1].per_s[1] = 100;
	run(10);
	ck_assert_msg(has_speed(s), "%s", why());
	ck_assert(calls_step_work(s->seen.calls.step, &work));
	/* Its first calls were missed. */
	ck_assert(!work.exact);
}
END_TEST

/* It is asked what it has mapped while it calls nothing, and begins before there is an answer. */
START_TEST(one_that_begins_while_it_is_read_stays_counted)
{
	struct calls_work work;

	ran_before("MPI_Allreduce");
	maps("GOMP_parallel", "MPI_Allreduce");
	expect(s);
	begin(s);
	reader.rc = -EAGAIN;
	run(3);
	ck_assert_int_eq(reader.threads, 1);
	program[1].per_s[1] = 100;
	run(2);
	/* It has mapped more than was known. */
	reader.of_thread[2] = "MPI_Send";
	reader.rc = 0;
	run(30);
	ck_assert(calls_step_work(s->seen.calls.step, &work));
	ck_assert_msg(work.exact, "%s", why());
	ck_assert_double_eq_tol(work.total, program[1].done[1], 60);
}
END_TEST

START_TEST(a_reload_does_not_mix_up_the_sites_functions)
{
	maps("MPI_Allreduce", NULL);
	reader.rc = -EAGAIN;
	run(1);
	ck_assert_int_eq(reader.threads, 1);
	strcpy(d.conf->calls.functions.pair[0].key, "app1");
	strcpy(d.conf->calls.functions.pair[0].value, "solve");
	d.conf->calls.functions.n = 1;
	reader.rc = 0;
	program[1].per_s[1] = 100;
	/* The reader's stand-in compares. */
	run(10);
	ck_assert_msg(has_speed(s), "%s", why());
}
END_TEST

/* ---- who is not counted ---- */

static bool traps(void)
{
	for (int i = 0; i < SETS; i++)
		if (worker.set[i].on)
			return true;
	return false;
}

START_TEST(who_is_left_alone_or_ends_traps_nowhere)
{
	static const enum step_status alone[] = {STATUS_EXCLUDED, STATUS_RELEASED};

	maps("MPI_Allreduce", NULL);
	program[1].per_s[1] = 100;
	for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); i++) {
		s->status = STATUS_PLACED;
		run(10);
		ck_assert(has_speed(s) && traps());
		s->status = alone[i];
		run(1);
		ck_assert(!traps());
		ck_assert_ptr_null(measure_calls_why(d.measure, s));
	}
	s->status = STATUS_PLACED;
	run(10);
	ck_assert(traps());
	d.conf->calls.enabled = false;
	run(1);
	ck_assert(!traps());
	d.conf->calls.enabled = true;
	run(10);
	ck_assert(has_speed(s) && traps());
	reading_close(d.measure, s);
	jobs_remove(d.jobs, s);
	ck_assert(!traps());
}
END_TEST

START_TEST(who_publishes_its_progress_traps_nowhere)
{
	maps("MPI_Allreduce", NULL);
	program[1].per_s[1] = 100;
	run(10);
	ck_assert(traps());
	ck_assert_int_eq(pages_create(&s->pages, 1000, &err), 0);
	s->pages->app.reports = 1;
	run(1);
	ck_assert(!traps());
}
END_TEST

/* No process, and no probe of ours in the kernel. */
START_TEST(where_nothing_is_to_be_counted_nothing_is_started)
{
	counting_close(d.measure);
	d.conf->calls.enabled = false;
	worker.started = 0;
	ck_assert_int_eq(measure_count_calls(d.measure, &err), 0);
	counting_start(d.measure);
	maps("MPI_Allreduce", NULL);
	program[1].per_s[1] = 100;
	run(60);
	ck_assert_int_eq(worker.started, 0);
	d.conf->calls.enabled = true;
	run(10);
	ck_assert_int_eq(worker.started, 1);
	ck_assert_msg(has_speed(s), "%s", why());
}
END_TEST

START_TEST(a_process_that_dies_is_started_again_and_counts_on)
{
	struct calls_work a, b;

	maps("MPI_Allreduce", NULL);
	program[1].per_s[1] = 100;
	run(10);
	ck_assert(calls_step_work(s->seen.calls.step, &a));
	worker.dies = true;
	run(1);
	ck_assert_int_eq(worker.started, 1);
	ck_assert_str_eq(why(), "the process that counts has ended; it is started again");
	run(45);
	ck_assert_int_eq(worker.started, 2);
	ck_assert(calls_step_work(s->seen.calls.step, &b));
	ck_assert_double_gt(b.total, a.total);
}
END_TEST

START_TEST(a_file_that_does_not_answer_costs_its_user_alone)
{
	struct step *other = add(2);

	other->uid = 1001;
	priors_open(d.measure, other);
	maps("MPI_Allreduce", NULL);
	program[1].per_s[1] = program[2].per_s[1] = 100;
	run(10);
	ck_assert(has_speed(s) && has_speed(other));
	worker.hangs = true;
	worker.hangs_of = s->uid;
	run(1);
	ck_assert(worker.killed && !worker.lives);
	run(45);
	ck_assert_int_eq(worker.started, 2);
	ck_assert(has_speed(other));
	ck_assert_ptr_null(s->seen.calls.step);
	ck_assert_str_eq(why(), "a file of its user's did not answer the process that counts: not "
				"counted for an hour");
	run(3600);
	ck_assert_msg(has_speed(s), "%s", why());
}
END_TEST

START_TEST(a_kernel_that_does_not_answer_is_nobodys_fault)
{
	maps("MPI_Allreduce", NULL);
	program[1].per_s[1] = 100;
	worker.hangs = true;
	worker.hangs_of = CALLS_NOBODY;
	run(1);
	ck_assert(worker.killed);
	run(45);
	ck_assert_msg(has_speed(s), "%s", why());
}
END_TEST

static void add_case(Suite *suite, const char *what, const TTest *const *tests, int n)
{
	TCase *t = tcase_create(what);

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	for (int i = 0; i < n; i++)
		tcase_add_test(t, tests[i]);
	suite_add_tcase(suite, t);
}

#define ADD(what, ...)                                                                             \
	do {                                                                                       \
		const TTest *const tests[] = {__VA_ARGS__};                                        \
		add_case(suite, what, tests, (int)(sizeof(tests) / sizeof(tests[0])));             \
	} while (0)

int main(void)
{
	Suite *suite = suite_create("counting");
	SRunner *r;
	int failed;

	ADD("counting has a budget", counting_costs_no_more_than_the_budget,
		a_smaller_budget_holds_from_the_reload_on, every_program_has_a_budget_of_its_own,
		of_steady_functions_one_that_is_called_rarely_is_taken,
		files_are_read_seldom_however_many_steps_come);
	ADD("each kind of program has a speed or the reason why not",
		a_library_that_is_loaded_late_is_found, a_program_that_cannot_be_read_says_so,
		a_static_program_has_a_speed_by_its_symbols_or_the_reason,
		one_that_calls_nothing_says_so_and_traps_nowhere,
		one_whose_calls_come_unevenly_says_so,
		a_node_without_probes_says_so_for_every_step);
	ADD("a program that ran before is counted from its start",
		one_that_is_known_is_counted_from_its_first_call,
		one_that_is_known_and_starts_slowly_stays_counted,
		one_that_runs_another_file_than_was_read_is_found,
		one_that_begins_while_it_is_read_stays_counted,
		a_reload_does_not_mix_up_the_sites_functions);
	ADD("who needs no counting is not counted", who_is_left_alone_or_ends_traps_nowhere,
		who_publishes_its_progress_traps_nowhere,
		where_nothing_is_to_be_counted_nothing_is_started,
		a_process_that_dies_is_started_again_and_counts_on,
		a_file_that_does_not_answer_costs_its_user_alone,
		a_kernel_that_does_not_answer_is_nobodys_fault);
	r = srunner_create(suite);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
