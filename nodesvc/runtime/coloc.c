/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * coloc.c - libcoloc. Runs inside other people's programs: no threads, no output, no locks, no
 * descriptor kept, and no waiting but in coloc_attach() and coloc_wait().
 *
 * Both pages are mapped into one range that is reserved once. Attaching again (another daemon)
 * maps the new pages over the old ones, so that other threads always find memory there.
 */
#include "nodesvc/runtime/coloc.h"

#include <errno.h>
#include <linux/futex.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/ipc.h"
#include "nodesvc/runtime/client.h"
#include "nodesvc/runtime/page.h"

#define DEFAULT_SOCKET "/run/coloc/colocd.sock"
#define ATTACH_NS      INT64_C(200000000)
/* Attaching again happens inside the program's own calls: shorter, and ever more seldom. */
#define AGAIN_NS     INT64_C(20000000)
#define AGAIN_MIN_NS INT64_C(5000000000)
#define AGAIN_MAX_NS INT64_C(300000000000)
/* Renewals that a living daemon may miss. */
#define BEATS_MISSED 5
/* A daemon that died while it wrote leaves the generation odd for ever. */
#define READ_TRIES 10000

#define GRANT_BYTES  4096
#define REPORT_BYTES 20480
static_assert(sizeof(struct coloc_grant) <= GRANT_BYTES, "grant page");
static_assert(sizeof(struct coloc_report) <= REPORT_BYTES, "report pages");

struct coloc {
	char *base; /* GRANT_BYTES + REPORT_BYTES, reserved */
	struct coloc_grant *grant;
	struct coloc_report *report;
	int attached;     /* set last, and never taken back */
	int refused;      /* in no step of this daemon: not to be asked again */
	int slot;         /* -1 none looked for; a hint: the slot's pid decides */
	uint64_t unit;    /* for the slots of children and of later pages */
	int busy;         /* a thread attaches again */
	int64_t again_ns; /* not before */
	int64_t backoff_ns;
};

/* Maps @fd at its place when it is what we know; the descriptor stays the caller's. */
static bool map_page(void *at, size_t bytes, int prot, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || (size_t)st.st_size < bytes)
		return false;
	return mmap(at, bytes, prot, MAP_SHARED | MAP_FIXED, fd, 0) == at;
}

/* Looks before it maps over what is in use: of another version, we do without. */
static bool is_known(int fd, uint32_t magic)
{
	uint32_t head[2];

	return pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) && head[0] == magic &&
	       head[1] == COLOC_PAGE_VERSION;
}

/* One try: connect, ask, take the pages. A closed connection (too many at once) is worth another.
 */
static int attach_once(struct coloc *c, const char *path, int64_t deadline_ns, struct msg *m)
{
	int fds[2] = {-1, -1}, n = 0, rc, fd = ipc_connect(path, deadline_ns, NULL);

	if (fd < 0)
		return fd;
	msg_init(m, "attach");
	rc = ipc_send(fd, m, deadline_ns, NULL);
	if (rc == 0)
		rc = ipc_recv_fds(fd, m, fds, 2, &n, deadline_ns, NULL);
	close(fd);
	if (rc < 0)
		return rc;
	rc = -EPROTO;
	if (n == 2 && strcmp(msg_get(m, "type"), "attach_ok") == 0 &&
		is_known(fds[0], COLOC_GRANT_MAGIC) && is_known(fds[1], COLOC_REPORT_MAGIC) &&
		map_page(c->base, GRANT_BYTES, PROT_READ, fds[0]) &&
		map_page(c->base + GRANT_BYTES, REPORT_BYTES, PROT_READ | PROT_WRITE, fds[1]))
		rc = 0;
	for (int i = 0; i < n; i++)
		close(fds[i]);
	return rc;
}

static int attach(struct coloc *c, int64_t budget_ns)
{
	const char *path = secure_getenv("COLOC_SOCKET");
	int64_t deadline_ns = ipc_now_ns() + budget_ns;
	struct msg *m = malloc(sizeof(*m)); /* 32 KiB: the caller's stack may be small */
	int rc;

	if (!m)
		return -ENOMEM;
	while ((rc = attach_once(c, path && *path ? path : DEFAULT_SOCKET, deadline_ns, m)) ==
			-ECONNRESET ||
		rc == -EPIPE) {
		struct timespec nap = {.tv_nsec = 3000000};

		if (ipc_now_ns() + nap.tv_nsec >= deadline_ns)
			break;
		nanosleep(&nap, NULL);
	}
	free(m);
	return rc;
}

struct coloc *coloc_attach(void)
{
	int rc, old_errno = errno;
	struct coloc *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->slot = -1;
	c->base = mmap(NULL, GRANT_BYTES + REPORT_BYTES, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (c->base == MAP_FAILED)
		c->base = NULL;
	c->grant = (struct coloc_grant *)c->base;
	c->report = c->base ? (struct coloc_report *)(c->base + GRANT_BYTES) : NULL;
	c->backoff_ns = AGAIN_MIN_NS;
	rc = c->base ? attach(c, ATTACH_NS) : -ENOMEM;
	c->attached = rc == 0;
	c->refused = rc == -EPROTO || rc == -ENOMEM;
	if (rc < 0)
		c->again_ns = ipc_now_ns() + c->backoff_ns;
	errno = old_errno;
	return c;
}

void coloc_detach(struct coloc *c)
{
	if (!c)
		return;
	if (c->base)
		munmap(c->base, GRANT_BYTES + REPORT_BYTES);
	free(c);
}

int coloc_is_attached(const struct coloc *c)
{
	return c && __atomic_load_n(&c->attached, __ATOMIC_ACQUIRE);
}

const uint32_t *client_generation(const struct coloc *c)
{
	return coloc_is_attached(c) ? &c->grant->generation : NULL;
}

/* A daemon gave pages, and renews them. */
static bool is_served(const struct coloc *c, int64_t now_ns)
{
	int64_t alive_ns = __atomic_load_n(&c->grant->alive_ns, __ATOMIC_RELAXED);
	int64_t stale_ns = BEATS_MISSED * (int64_t)c->grant->beat_ms * 1000000;

	if (stale_ns < AGAIN_MIN_NS)
		stale_ns = AGAIN_MIN_NS;
	return now_ns - alive_ns < stale_ns;
}

/* The daemon is gone: is there another? Or it was too busy at first, or began later than we did. */
static void look_again(struct coloc *c, int64_t now_ns)
{
	int old_errno = errno, rc;

	if ((coloc_is_attached(c) && is_served(c, now_ns)) ||
		now_ns < __atomic_load_n(&c->again_ns, __ATOMIC_RELAXED) ||
		__atomic_exchange_n(&c->busy, 1, __ATOMIC_ACQUIRE))
		return;
	rc = attach(c, AGAIN_NS);
	if (rc == 0) {
		c->backoff_ns = AGAIN_MIN_NS;
		__atomic_store_n(&c->attached, 1, __ATOMIC_RELEASE);
	} else if (c->backoff_ns < AGAIN_MAX_NS) {
		c->backoff_ns *= 2;
	}
	if (rc == -EPROTO && !coloc_is_attached(c))
		__atomic_store_n(&c->refused, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&c->again_ns, now_ns + c->backoff_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&c->busy, 0, __ATOMIC_RELEASE);
	errno = old_errno;
}

/* The time now, where there are pages, also after another look; else 0. Who was refused does not
 * even ask for the time. */
static int64_t served_now(struct coloc *c)
{
	int64_t now_ns;

	if (!c || __atomic_load_n(&c->refused, __ATOMIC_RELAXED))
		return 0;
	now_ns = ipc_now_ns();
	look_again(c, now_ns);
	return coloc_is_attached(c) ? now_ns : 0;
}

/* This process's slot, claimed when it has none; NULL all are taken. */
static struct coloc_slot *own_slot(struct coloc *c)
{
	int at = __atomic_load_n(&c->slot, __ATOMIC_RELAXED);
	int32_t pid = getpid(); /* not kept: fork() must be seen */
	struct coloc_slot *s;

	if (at >= 0 && __atomic_load_n(&c->report->slot[at].pid, __ATOMIC_ACQUIRE) == pid)
		return &c->report->slot[at];
	for (int i = 0; i < COLOC_SLOTS; i++) {
		if (__atomic_load_n(&c->report->slot[i].pid, __ATOMIC_ACQUIRE) != pid)
			continue;
		__atomic_store_n(&c->slot, i, __ATOMIC_RELAXED);
		return &c->report->slot[i];
	}
	for (int i = 0; i < COLOC_SLOTS; i++) {
		int32_t none = 0;

		s = &c->report->slot[i];
		if (!__atomic_compare_exchange_n(
			    &s->pid, &none, pid, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&s->unit, c->unit, __ATOMIC_RELAXED);
		__atomic_store_n(&c->slot, i, __ATOMIC_RELAXED);
		return s;
	}
	return NULL;
}

static void report(struct coloc_slot *s, double units, int64_t now_ns)
{
	uint64_t old, new;

	old = __atomic_load_n(&s->progress, __ATOMIC_RELAXED);
	do
		new = coloc_bits(coloc_double(old) + units);
	while (!__atomic_compare_exchange_n(
		&s->progress, &old, new, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	__atomic_store_n(&s->updated_ns, now_ns, __ATOMIC_RELAXED);
	/* Last: who sees the number of reports move finds the report there. */
	__atomic_fetch_add(&s->updates, 1, __ATOMIC_RELEASE);
}

/* From now on the slot counts @unit, unless it counts what is worth more: false. */
static bool take_unit(struct coloc_slot *s, uint64_t unit)
{
	uint64_t has = __atomic_load_n(&s->unit, __ATOMIC_RELAXED);

	while (coloc_worth(has) < coloc_worth(unit))
		if (__atomic_compare_exchange_n(
			    &s->unit, &has, unit, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return true;
	return has == unit;
}

void coloc_progress(struct coloc *c, double units)
{
	struct coloc_slot *s;
	int64_t now_ns;

	if (!isfinite(units) || units < 0)
		return;
	now_ns = served_now(c);
	s = now_ns ? own_slot(c) : NULL;
	if (!s)
		return;
	/* From now on it counts what the program says, of a name that what is counted does not
	 * have. */
	if (__atomic_load_n(&s->unit, __ATOMIC_RELAXED))
		take_unit(s, c->unit ? c->unit : coloc_name("units"));
	report(s, units, now_ns);
}

void client_counted(struct coloc *c, const char *unit, unsigned int n)
{
	int64_t now_ns = served_now(c);
	struct coloc_slot *s = now_ns ? own_slot(c) : NULL;

	/* Who has told of something without a name tells himself. */
	if (!s || (!__atomic_load_n(&s->unit, __ATOMIC_RELAXED) &&
			  __atomic_load_n(&s->updates, __ATOMIC_ACQUIRE) > 0))
		return;
	if (take_unit(s, coloc_name(unit)))
		report(s, n, now_ns);
}

void coloc_unit(struct coloc *c, const char *unit)
{
	struct coloc_slot *s;

	if (!c || !unit)
		return;
	__atomic_store_n(&c->unit, coloc_name(unit), __ATOMIC_RELAXED);
	s = coloc_is_attached(c) ? own_slot(c) : NULL;
	if (s)
		__atomic_store_n(&s->unit, coloc_name(unit), __ATOMIC_RELAXED);
}

void coloc_counter(struct coloc *c, const char *name, double value)
{
	struct coloc_slot *s;
	uint64_t word;

	if (!coloc_is_attached(c) || !name || !*name || !isfinite(value))
		return;
	s = own_slot(c);
	if (!s)
		return;
	word = coloc_name(name);
	for (int i = 0; i < COLOC_SLOT_NAMES; i++) {
		uint64_t have = 0;

		if (!__atomic_compare_exchange_n(&s->counter[i].name, &have, word, false,
			    __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
			have != word)
			continue;
		__atomic_store_n(&s->counter[i].value, coloc_bits(value), __ATOMIC_RELAXED);
		return;
	}
}

/* One state of the grant, not half of two; false: there is none to be had. */
static bool read_grant(const struct coloc *c, uint32_t *ret_generation, uint32_t *ret_cores,
	uint64_t set[COLOC_GRANT_WORDS])
{
	for (int i = 0; i < READ_TRIES; i++) {
		uint32_t before = __atomic_load_n(&c->grant->generation, __ATOMIC_ACQUIRE);

		if (before & 1)
			continue;
		*ret_cores = __atomic_load_n(&c->grant->cores, __ATOMIC_RELAXED);
		for (int w = 0; set && w < COLOC_GRANT_WORDS; w++)
			set[w] = __atomic_load_n(&c->grant->set[w], __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&c->grant->generation, __ATOMIC_RELAXED) == before) {
			*ret_generation = before;
			return true;
		}
	}
	return false;
}

int coloc_granted(struct coloc *c, uint32_t *ret_generation)
{
	uint32_t generation = 0, cores = 0;

	if (served_now(c) && !read_grant(c, &generation, &cores, NULL))
		cores = 0;
	if (ret_generation)
		*ret_generation = generation;
	return (int)cores;
}

int coloc_cores(struct coloc *c, int *cpus, int max)
{
	uint64_t set[COLOC_GRANT_WORDS];
	uint32_t generation, cores;
	int n = 0;

	if (!served_now(c))
		return 0;
	if (!read_grant(c, &generation, &cores, set))
		return 0;
	for (int w = 0; w < COLOC_GRANT_WORDS; w++)
		for (uint64_t left = set[w]; left; left &= left - 1, n++)
			if (n < max)
				cpus[n] = w * 64 + __builtin_ctzll(left);
	return n;
}

int coloc_wait(struct coloc *c, uint32_t generation, int timeout_ms)
{
	struct timespec ts = {
		.tv_sec = timeout_ms / 1000, .tv_nsec = (long)(timeout_ms % 1000) * 1000000};
	int old_errno = errno;

	if (!served_now(c))
		return -1;
	/* The kernel compares and sleeps in one: no change is missed. A change under way counts as
	 * one: the caller reads the grant next, which waits for its end. */
	if (__atomic_load_n(&c->grant->generation, __ATOMIC_ACQUIRE) == generation)
		syscall(SYS_futex, &c->grant->generation, FUTEX_WAIT, generation,
			timeout_ms < 0 ? NULL : &ts, NULL, 0);
	errno = old_errno;
	return __atomic_load_n(&c->grant->generation, __ATOMIC_ACQUIRE) != generation;
}
