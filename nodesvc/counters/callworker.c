/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/counters/callworker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/perf_event.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/ipc.h"
#include "nodesvc/counters/symbols.h"
#include "nodesvc/counters/tracefs.h"

/* The child's own numbers for what it keeps. */
#define CHILD_SOCKET 3
#define CHILD_ROOT   4
#define OWN_NAME     "self"
#define SETS_MAX     2048
/* Descriptors of one set, of all: a step of 4 000 tasks has one each. */
#define SET_FDS_MAX 8192
#define ALL_FDS_MAX 32768
/* How often a set with a bound on hits is looked at: after a ms, for some programs begin with
 * bursts of 200 000 calls a second, then of twice that up to 5 ms while it has none; where it has
 * some, when half of those left will have come. A look interrupts who is counted; looks each 5 ms
 * took two thirds of this process's time. */
#define FIRST_LOOK_NS INT64_C(1000000)
#define LOOK_NS       (5 * FIRST_LOOK_NS)
#define LOOK_MOST_NS  (20 * FIRST_LOOK_NS)
/* The size of its socket: hundreds of requests. */
#define SOCKET_BYTES (1 << 20)
/* Calls of ours to know what one costs. */
#define COST_CALLS 200
/* Names that are in use are tried again at the end, so often, and so far apart. */
#define LEAVE_TRIES 100
#define LEAVE_US    20000
/* Of proc/PID/stat, include/linux/sched.h: forked, but has not executed anything. */
#define PF_FORKNOEXEC 0x40ul

/* What it is about, for who waits for it. */
struct doing {
	_Atomic int64_t since_ns; /* 0: it waits for requests */
	_Atomic uint32_t owner;
};

struct callworker {
	pid_t pid;
	int fd;
	struct doing *doing; /* shared with the child */
};

/* ---- the child ----------------------------------------------------------------------------- */

struct place {
	bool made;
	uint64_t id;
	int keeper; /* an event on ourselves: who never comes by it never traps, and opening and
		     * closing others is quick meanwhile */
};

/* One that is counted: since when, and its processor time then, if it is a process (@ran_ns -1: a
 * further thread of one). */
struct task {
	int64_t since_ns, ran_ns;
	clockid_t clock;
};

struct set {
	uint32_t id, ask;
	int n_probes, n_tasks, room, failed, started;
	uint32_t probe[CALLS_PROBES];
	int *fd; /* n_probes of each task; -1 none */
	struct task *task;
	int64_t began_ns, until_ns, look_ns, gap_ns; /* until: 0 it is told */
	uint64_t max_hits;
	int first_errno;
};

struct counting {
	struct fsroot root;
	struct tracefs fs;
	struct place place[CALLS_PROBES_ALL];
	struct set *set[SETS_MAX];
	int n_sets, n_fds;
	struct doing *doing;
	struct place own; /* called() below; its keeper is an event on the daemon */
	int parent; /* a pidfd: somebody else may hold the daemon's end of the socket for a while */
};

/* @at_exec: it counts from @tid's next exec on, which puts the traps in. */
static int open_event(uint64_t id, pid_t tid, bool inherit, bool at_exec)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(a),
		.config = id,
		.inherit = inherit,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.disabled = at_exec,
		.enable_on_exec = at_exec,
	};

	return (int)syscall(SYS_perf_event_open, &a, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void answer(const struct call_answer *a)
{
	/* Who does not read what hundreds of answers say has lost them: whoever is counted must not
	 * trap any longer for that. */
	send(CHILD_SOCKET, a, sizeof(*a), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void name_of(uint32_t probe, char ret[16])
{
	snprintf(ret, 16, "p%u", probe);
}

/* -EBUSY: a thread that ends at this moment still holds its event of it; it stays made. */
static int drop(struct counting *c, struct place *p, const char *name)
{
	int rc;

	if (!p->made)
		return 0;
	if (p->keeper >= 0)
		close(p->keeper);
	p->keeper = -1;
	rc = tracefs_remove(&c->fs, name);
	p->made = rc == -EBUSY;
	return rc;
}

static int drop_place(struct counting *c, uint32_t probe)
{
	char name[16];

	name_of(probe, name);
	return drop(c, &c->place[probe], name);
}

static void drop_all(struct counting *c)
{
	bool again = true;

	for (int tries = 0; again && tries < LEAVE_TRIES; tries++) {
		if (tries)
			usleep(LEAVE_US);
		again = false;
		for (uint32_t i = 0; i < CALLS_PROBES_ALL; i++)
			again |= drop_place(c, i) == -EBUSY;
		again |= drop(c, &c->own, OWN_NAME) == -EBUSY;
	}
	/* Of one before us that was killed and still waited for a file when we began. */
	tracefs_sweep(&c->fs);
}

static void make_place(struct counting *c, const struct call_request *r, int fd)
{
	struct call_answer a = {.kind = CALL_MADE, .probe = r->probe[0], .ask = r->ask};
	struct place *p = &c->place[r->probe[0]];
	struct errbuf err = {""};
	char name[16];

	drop_place(c, r->probe[0]);
	name_of(r->probe[0], name);
	/* The kernel would put a probe anywhere. */
	a.rc = fd < 0 || !symbols_is_code(fd, r->offset)
		       ? err_set(&err, -EBADF, "no function of a file at 0x%llx",
				 (unsigned long long)r->offset)
		       : tracefs_add(&c->fs, name, fd, r->offset, &p->id, &err);
	if (a.rc == 0) {
		p->keeper = open_event(p->id, 0, false, true);
		if (p->keeper < 0) {
			a.rc = err_set(&err, -errno, "perf: %s", strerror(errno));
			tracefs_remove(&c->fs, name);
		}
	}
	p->made = a.rc == 0;
	snprintf(a.text, sizeof(a.text), "%.*s", (int)sizeof(a.text) - 1, err.text);
	answer(&a);
}

static struct set *find_set(struct counting *c, uint32_t id)
{
	for (int i = 0; i < c->n_sets; i++)
		if (c->set[i]->id == id)
			return c->set[i];
	return NULL;
}

static void note_failure(struct set *s, int why)
{
	s->failed++;
	if (!s->first_errno)
		s->first_errno = why;
}

static bool make_room(struct set *s, int more)
{
	int room = s->n_tasks + more;
	int *fd;
	struct task *task;

	if (room <= s->room)
		return true;
	fd = realloc(s->fd, (size_t)(room * s->n_probes) * sizeof(*fd));
	if (fd)
		s->fd = fd;
	task = realloc(s->task, (size_t)room * sizeof(*task));
	if (task)
		s->task = task;
	if (!fd || !task)
		return false;
	s->room = room;
	return true;
}

/* Has it executed a program since it was forked? Who is gone has. */
static bool has_executed(const struct fsroot *root, pid_t tid)
{
	char buf[512];
	const char *line = fsroot_task_stat(root, tid, buf, sizeof(buf));
	unsigned long flags;

	return !line || sscanf(line, "%*c %*d %*d %*d %*d %*d %lu", &flags) != 1 ||
	       !(flags & PF_FORKNOEXEC);
}

static int64_t ran_ns(clockid_t clock)
{
	struct timespec ts;

	return clock_gettime(clock, &ts) == 0 ? ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec : -1;
}

/* One task; 0, or what kept all of its events from being opened. */
static int open_task(struct counting *c, struct set *s, pid_t tid, bool at_exec)
{
	int *fd = s->fd + (ptrdiff_t)s->n_tasks * s->n_probes, opened = 0, why = 0;
	clockid_t clock = 0;

	for (int i = 0; i < s->n_probes; i++) {
		const struct place *p = &c->place[s->probe[i]];

		fd[i] = -1;
		if (!p->made)
			why = ENOENT;
		else if (c->n_fds >= ALL_FDS_MAX)
			why = EMFILE;
		else if ((fd[i] = open_event(p->id, tid, true, at_exec)) < 0)
			why = errno;
		if (fd[i] < 0)
			continue;
		c->n_fds++;
		opened++;
	}
	if (!opened)
		return why;
	s->task[s->n_tasks].ran_ns = clock_getcpuclockid(tid, &clock) == 0 ? ran_ns(clock) : -1;
	s->task[s->n_tasks].clock = clock;
	s->task[s->n_tasks++].since_ns = ipc_now_ns();
	return 0;
}

static void close_task(struct counting *c, struct set *s, int task)
{
	for (int i = 0; i < s->n_probes; i++)
		if (s->fd[(ptrdiff_t)task * s->n_probes + i] >= 0) {
			close(s->fd[(ptrdiff_t)task * s->n_probes + i]);
			c->n_fds--;
		}
}

static int add_task(struct counting *c, struct set *s, pid_t tid, bool unstarted)
{
	int rc = open_task(c, s, tid, unstarted);

	if (rc || !unstarted || !has_executed(&c->root, tid))
		return rc;
	/* Who no longer waited for us executes nothing any more that would begin the count. */
	s->started++;
	close_task(c, s, --s->n_tasks);
	return open_task(c, s, tid, false);
}

static void add_tasks(struct counting *c, struct set *s, const struct call_request *r)
{
	int n = r->n_tids, rc;

	if ((s->n_tasks + n) * s->n_probes > SET_FDS_MAX || !make_room(s, n)) {
		s->failed += n;
		s->first_errno = EMFILE;
		return;
	}
	for (int i = 0; i < n; i++) {
		rc = add_task(c, s, r->tid[i], r->unstarted);
		/* One that has ended is none that fails. */
		if (rc && rc != ESRCH)
			note_failure(s, rc);
	}
	/* The first one takes the kernel ms to open, and counts when it is. */
	if (!s->began_ns && s->n_tasks)
		s->began_ns = s->task[0].since_ns;
}

/* What an event has: its hits, and the time in which its task and those it started ran, ns: a
 * task's events are enabled only while it runs. Not what a switch to another task takes: half of
 * the time of two that do nothing but yield to each other. */
struct reading {
	uint64_t hits, ran_ns;
};

static struct reading read_event(int fd)
{
	struct reading r = {0};

	return fd >= 0 && read(fd, &r, sizeof(r)) == (ssize_t)sizeof(r) ? r : (struct reading){0};
}

/* Processor time of its processes, with all their threads, since they are counted, s. Without those
 * that have ended, and those that were started since: of these only their events tell. */
static double ran_by_clocks(const struct set *s)
{
	int64_t sum_ns = 0;

	for (int t = 0; t < s->n_tasks; t++) {
		int64_t now_ns = s->task[t].ran_ns < 0 ? -1 : ran_ns(s->task[t].clock);

		/* Less: another process has its number by now. */
		if (now_ns >= s->task[t].ran_ns)
			sum_ns += now_ns - s->task[t].ran_ns;
	}
	return (double)sum_ns / 1e9;
}

static void read_set(const struct set *s, struct call_answer *ret)
{
	int64_t now_ns = 0;
	double ran_s;

	*ret = (struct call_answer){.kind = CALL_COUNTS,
		.set = s->id,
		.ask = s->ask,
		.began_ns = s->began_ns,
		.n_probes = s->n_probes,
		.tasks = s->n_tasks,
		.failed = s->failed,
		.started = s->started};
	if (s->first_errno)
		snprintf(ret->text, sizeof(ret->text), "%s", strerror(s->first_errno));
	for (int t = 0; t < s->n_tasks; t++)
		for (int i = 0; i < s->n_probes; i++) {
			struct reading r = read_event(s->fd[(ptrdiff_t)t * s->n_probes + i]);

			now_ns = ipc_now_ns();
			ret->count[i].calls += r.hits;
			ret->count[i].callers += r.hits > 0;
			ret->count[i].cpu_s += (double)r.ran_ns / 1e9;
			if (now_ns > s->task[t].since_ns)
				ret->count[i].per_s += (double)r.hits * 1e9 /
						       (double)(now_ns - s->task[t].since_ns);
		}
	/* Of what is counted all the time nobody asks it. */
	ran_s = s->until_ns ? ran_by_clocks(s) : 0;
	for (int i = 0; i < s->n_probes; i++)
		ret->count[i].cpu_s = fmax(ret->count[i].cpu_s, ran_s);
	ret->t_ns = now_ns ? now_ns : ipc_now_ns();
}

/*
 * close_set - takes the traps out, and says in *@ret (NULL: nobody asks) what it has. The kernel
 * (seen with 6.18) holds up who comes by a trap while it takes it out, some ms, unless it has just
 * waited for another: an event on ourselves, whom nobody waits for, comes first. The team of a
 * program of 2 000 regions a second stood for 7 ms at each window's end.
 */
static void close_set(struct counting *c, struct set *s, struct call_answer *ret)
{
	int fd = c->own.made ? open_event(c->own.id, 0, false, false) : -1;

	if (ret)
		read_set(s, ret);
	for (int t = 0; t < s->n_tasks; t++)
		close_task(c, s, t);
	for (int i = 0; i < c->n_sets; i++)
		if (c->set[i] == s)
			c->set[i] = c->set[--c->n_sets];
	free(s->fd);
	free(s->task);
	free(s);
	if (fd >= 0)
		close(fd);
}

static void tell_set(struct counting *c, struct set *s, bool end)
{
	struct call_answer a;

	/* First the trap goes, then the news. */
	if (end)
		close_set(c, s, &a);
	else
		read_set(s, &a);
	a.ended = end;
	answer(&a);
}

static void open_set(struct counting *c, const struct call_request *r)
{
	struct set *s = find_set(c, r->set);

	if (s)
		close_set(c, s, NULL);
	s = c->n_sets < SETS_MAX ? calloc(1, sizeof(*s)) : NULL;
	if (!s) {
		answer(&(struct call_answer){.kind = CALL_COUNTS,
			.set = r->set,
			.ask = r->ask,
			.rc = -ENOMEM,
			.ended = true,
			.text = "too many steps are counted"});
		return;
	}
	s->id = r->set;
	s->ask = r->ask;
	s->n_probes = r->n_probes;
	memcpy(s->probe, r->probe, sizeof(s->probe));
	c->set[c->n_sets++] = s;
	add_tasks(c, s, r);
	s->max_hits = r->max_hits;
	if (r->length_ns)
		s->until_ns = ipc_now_ns() + r->length_ns;
	if (r->length_ns && r->max_hits)
		s->look_ns = ipc_now_ns() + (s->gap_ns = FIRST_LOOK_NS);
}

/* What no request of the daemon's has. */
static bool is_sound(const struct call_request *r, ssize_t len)
{
	if (len < (ssize_t)offsetof(struct call_request, tid) || r->n_tids < 0 ||
		r->n_tids > CALLS_TIDS || r->n_probes < 0 || r->n_probes > CALLS_PROBES ||
		len != (ssize_t)(offsetof(struct call_request, tid) +
				 (size_t)r->n_tids * sizeof(pid_t)))
		return false;
	for (int i = 0; i < r->n_probes; i++)
		if (r->probe[i] >= CALLS_PROBES_ALL)
			return false;
	return r->n_probes > 0 || (r->op != CALL_PROBE && r->op != CALL_DROP && r->op != CALL_OPEN);
}

static void handle(struct counting *c, const struct call_request *r, int fd)
{
	struct set *s = find_set(c, r->set);

	switch (r->op) {
	case CALL_PROBE:
		make_place(c, r, fd);
		break;
	case CALL_DROP:
		drop_place(c, r->probe[0]);
		break;
	case CALL_OPEN:
		open_set(c, r);
		break;
	case CALL_TASKS:
		if (s)
			add_tasks(c, s, r);
		break;
	case CALL_READ:
	case CALL_CLOSE:
		if (s)
			s->ask = r->ask;
		if (s)
			tell_set(c, s, r->op == CALL_CLOSE);
		else
			answer(&(struct call_answer){.kind = CALL_COUNTS,
				.set = r->set,
				.ask = r->ask,
				.rc = -ENOENT,
				.ended = true});
		break;
	}
}

static void begin(struct doing *d, uint32_t owner)
{
	d->owner = owner;
	d->since_ns = ipc_now_ns();
}

/* One request; false: there is none more, or (*ret_gone) nobody who asks. */
static bool take_request(struct counting *c, bool *ret_gone)
{
	static struct call_request r;
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec io = {&r, sizeof(r)};
	struct msghdr m = {.msg_iov = &io,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(CHILD_SOCKET, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *h;
	int fd = -1;

	*ret_gone = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
	if (n <= 0)
		return false;
	h = CMSG_FIRSTHDR(&m);
	if (h && h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(h), sizeof(fd));
	if (is_sound(&r, n)) {
		begin(c->doing, r.op == CALL_CLOSE ? CALLS_NOBODY : r.owner);
		handle(c, &r, fd);
		c->doing->since_ns = 0;
	}
	if (fd >= 0)
		close(fd);
	return true;
}

/* Of one that has had so many hits of the most it may have. */
static int64_t next_gap_ns(const struct set *s, uint64_t hits, int64_t now_ns)
{
	int64_t ns;

	if (!hits)
		return 2 * s->gap_ns < LOOK_NS ? 2 * s->gap_ns : LOOK_NS;
	ns = (int64_t)((double)(now_ns - s->began_ns) * (double)(s->max_hits - hits) / 2 /
		       (double)hits);
	return ns < FIRST_LOOK_NS ? FIRST_LOOK_NS : ns < LOOK_MOST_NS ? ns : LOOK_MOST_NS;
}

/* Closes what has had its time or its hits; when the next one is due, 0 none. */
static int64_t look_at_sets(struct counting *c)
{
	int64_t now_ns = ipc_now_ns(), next_ns = 0;

	for (int i = 0; i < c->n_sets; i++) {
		struct set *s = c->set[i];
		bool over = s->until_ns && now_ns >= s->until_ns;
		int64_t due_ns;

		if (!over && s->look_ns && now_ns >= s->look_ns) {
			struct call_answer a;
			uint64_t hits = 0;
			int64_t began_ns = ipc_now_ns();

			read_set(s, &a);
			for (int k = 0; k < a.n_probes; k++)
				hits += a.count[k].calls;
			over = hits >= s->max_hits;
			/* The more there is to read, the less often. */
			now_ns = ipc_now_ns();
			s->gap_ns = over ? 0 : next_gap_ns(s, hits, now_ns);
			s->look_ns = now_ns + s->gap_ns + 4 * (now_ns - began_ns);
		}
		if (over) {
			tell_set(c, s, true);
			i--;
			continue;
		}
		due_ns = s->look_ns && s->look_ns < s->until_ns ? s->look_ns : s->until_ns;
		if (due_ns && (!next_ns || due_ns < next_ns))
			next_ns = due_ns;
	}
	return next_ns;
}

static void serve(struct counting *c)
{
	int64_t next_ns = 0;
	bool gone = false;

	while (!gone) {
		struct pollfd p[] = {{.fd = CHILD_SOCKET, .events = POLLIN},
			{.fd = c->parent, .events = POLLIN}};
		int64_t left_ns = next_ns ? next_ns - ipc_now_ns() : 0;
		struct timespec wait = {.tv_sec = left_ns / 1000000000,
			.tv_nsec = left_ns > 0 ? left_ns % 1000000000 : 0};

		if (left_ns < 0)
			wait.tv_sec = 0;
		ppoll(p, 2, next_ns ? &wait : NULL, NULL);
		gone = p[1].revents != 0;
		while (!gone && take_request(c, &gone))
			/* A window's end does not wait for all requests. */
			if (next_ns && ipc_now_ns() >= next_ns)
				break;
		next_ns = look_at_sets(c);
	}
}

/* ---- does it work here, and what does it cost? ---- */

__attribute__((noinline, used)) static int called(int x)
{
	__asm__ volatile("" : "+r"(x)); /* NOLINT(hicpp-no-assembler): a call has to be one */
	return x;
}

struct own {
	uintptr_t address;
	uint64_t offset;
};

static int find_own(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct own *o = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && o->address >= at &&
			o->address - at < p->p_filesz) {
			o->offset = o->address - at + p->p_offset;
			return 1;
		}
	}
	return 0;
}

static int64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* Counts calls of a function of our own. Its event stays. */
static int try_out(struct counting *c, double *ret_cost_ns, struct errbuf *err)
{
	struct own own = {.address = (uintptr_t)called};
	uint64_t n;
	int exe, fd, rc;
	int64_t start_ns, plain_ns, counted_ns;

	if (!dl_iterate_phdr(find_own, &own))
		return err_set(err, -ENOTSUP, "own code is not found");
	exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (exe < 0)
		return err_set(err, -errno, "/proc/self/exe: %s", strerror(errno));
	rc = tracefs_add(&c->fs, OWN_NAME, exe, own.offset, &c->own.id, err);
	close(exe);
	if (rc < 0)
		return rc;
	c->own.made = true;
	fd = open_event(c->own.id, 0, true, false);
	rc = fd < 0 ? err_set(err, -errno, "perf: %s", strerror(errno)) : 0;
	c->own.keeper = open_event(c->own.id, getppid(), false, true);
	start_ns = cpu_ns();
	for (int i = 0; rc == 0 && i < COST_CALLS; i++)
		called(i);
	counted_ns = cpu_ns() - start_ns;
	n = read_event(fd).hits;
	if (fd >= 0)
		close(fd);
	start_ns = cpu_ns();
	for (int i = 0; i < COST_CALLS; i++)
		called(i);
	plain_ns = cpu_ns() - start_ns;
	if (rc < 0 || c->own.keeper < 0)
		drop(c, &c->own, OWN_NAME);
	if (rc < 0)
		return rc;
	if (n != COST_CALLS)
		return err_set(err, -EIO, "of %d calls the kernel counts %llu", COST_CALLS,
			(unsigned long long)n);
	/* By the clock it may be none, but windows are as long as so many calls may cost. */
	*ret_cost_ns = counted_ns > plain_ns ? (double)(counted_ns - plain_ns) / COST_CALLS : 1;
	return 0;
}

static void raise_limit(void)
{
	struct rlimit l = {ALL_FDS_MAX + 512, ALL_FDS_MAX + 512};

	if (setrlimit(RLIMIT_NOFILE, &l) < 0 && getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

__attribute__((noreturn)) static void child(
	const struct fsroot *root, const char *owner, int socket, struct doing *doing, pid_t parent)
{
	static struct counting c = {.root = {CHILD_ROOT}};
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct call_answer ready = {.kind = CALL_READY};
	int null = open("/dev/null", O_RDWR), top = fcntl(root->fd, F_DUPFD, 10);
	int end = fcntl(socket, F_DUPFD, 10);
	struct errbuf err = {""};
	sigset_t none;

	sigaction(SIGTERM, &ignore, NULL);
	sigaction(SIGINT, &ignore, NULL);
	sigaction(SIGHUP, &ignore, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid(); /* what is sent to the daemon's group is not for us */
	prctl(PR_SET_NAME, "colocd-calls");
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(end, CHILD_SOCKET);
	dup2(top, CHILD_ROOT);
	close_range(CHILD_ROOT + 1, ~0u, 0);
	if (null < 0 || top < 0 || end < 0 || chdir("/") < 0)
		_exit(1);
	raise_limit();
	c.doing = doing;
	begin(doing, CALLS_NOBODY);
	c.parent = (int)syscall(SYS_pidfd_open, parent, 0);
	if (getppid() != parent)
		_exit(0);
	ready.rc = tracefs_open(&c.fs, &c.root, owner, &err);
	if (ready.rc == 0) {
		tracefs_sweep(&c.fs);
		ready.rc = try_out(&c, &ready.cost_ns, &err);
	}
	snprintf(ready.text, sizeof(ready.text), "%.*s", (int)sizeof(ready.text) - 1, err.text);
	answer(&ready);
	doing->since_ns = 0;
	if (ready.rc == 0)
		serve(&c);
	while (c.n_sets)
		close_set(&c, c.set[0], NULL);
	drop_all(&c);
	_exit(0);
}

/* ---- the daemon's side --------------------------------------------------------------------- */

/* One that was still ending when it was stopped; 0 none. */
static pid_t ending;

static void wait_for_ended(void)
{
	if (ending && waitpid(ending, NULL, WNOHANG) != 0)
		ending = 0;
}

static void free_worker(struct callworker *w)
{
	if (w->doing)
		munmap(w->doing, sizeof(*w->doing));
	free(w);
}

int callworker_start(
	struct callworker **ret, const struct fsroot *root, const char *owner, struct errbuf *err)
{
	struct callworker *w = calloc(1, sizeof(*w));
	sigset_t all, before;
	pid_t self = getpid();
	int fd[2], rc, size = SOCKET_BYTES;
	void *doing;

	wait_for_ended();
	if (!w)
		return err_set(err, -ENOMEM, "counting calls: out of memory");
	doing = mmap(
		NULL, sizeof(*w->doing), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	w->doing = doing == MAP_FAILED ? NULL : doing;
	if (!w->doing || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) < 0) {
		rc = err_set(err, -errno, "counting calls: %s: %s",
			w->doing ? "socketpair" : "mmap", strerror(errno));
		free_worker(w);
		return rc;
	}
	for (int i = 0; i < 2; i++)
		setsockopt(fd[i], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	w->pid = fork();
	if (w->pid == 0)
		child(root, owner, fd[1], w->doing, self);
	rc = -errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(fd[1]);
	w->fd = fd[0];
	if (w->pid < 0) {
		close(fd[0]);
		free_worker(w);
		return err_set(err, rc, "counting calls: fork: %s", strerror(-rc));
	}
	*ret = w;
	return 0;
}

void callworker_stop(struct callworker *w)
{
	if (!w)
		return;
	close(w->fd);
	/* It may wait for the kernel for a second: at the next start, or it is init's. */
	wait_for_ended();
	ending = w->pid;
	wait_for_ended();
	free_worker(w);
}

bool callworker_hangs(const struct callworker *w, uint32_t *ret_owner)
{
	int64_t since_ns = w->doing->since_ns;

	*ret_owner = w->doing->owner;
	return since_ns && ipc_now_ns() - since_ns > CALLS_HANG_NS;
}

void callworker_kill(const struct callworker *w)
{
	kill(w->pid, SIGKILL);
}

int callworker_fd(const struct callworker *w)
{
	return w->fd;
}

pid_t callworker_pid(const struct callworker *w)
{
	return w->pid;
}

int callworker_send(struct callworker *w, const struct call_request *r, int fd)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec io = {
		(void *)r, offsetof(struct call_request, tid) + (size_t)r->n_tids * sizeof(pid_t)};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1};

	if (fd >= 0) {
		struct cmsghdr *h = &control.align;

		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(h), &fd, sizeof(fd));
	}
	if (sendmsg(w->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	return errno == EAGAIN || errno == ENOBUFS ? -EAGAIN : -EPIPE;
}

int callworker_take(struct callworker *w, struct call_answer *ret)
{
	ssize_t n = recv(w->fd, ret, sizeof(*ret), MSG_DONTWAIT);

	if (n == (ssize_t)sizeof(*ret))
		return 1;
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -EPIPE;
}
