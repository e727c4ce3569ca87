/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * waits.c - what a step's wall time went into (engine/waits.h), gathered reading by reading: its
 * threads' schedstat (utilization.c), its time out of turn, what all others and the hypervisor had
 * of its CPUs (/proc/stat), and pressure stall information of its cgroup (v2).
 *
 * A span is a second at least, so that the kernel's ticks of a hundredth say something; one in
 * which the step was moved is left out, and one in which half of its threads were not seen twice.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ipc.h"
#include "nodesvc/measure/internal.h"

#define SPAN_NS INT64_C(1000000000)
/* What was read of the node so long ago is of now. */
#define FRESH_NS INT64_C(100000000)
/* /proc/stat has each interrupt of each CPU and takes long on a large machine: so many times as
 * long without it. */
#define PAUSE 200
/* Of a span. */
#define SLEPT 0.05
/* So many threads are asked for children. */
#define CHILDREN_OF 16
/* Of a CPU: below it, what nobody is known to have run is little. */
#define UNTOLD 0.05
/* Steps on each CPU are added up again so often. */
#define LOADS_NS INT64_C(1000000000)

struct waits_node {
	int64_t at_ns, again_ns, loads_ns;
	struct {
		double busy_s, stolen_s; /* since the boot */
		double load;             /* steps of ours run on it, CPUs */
	} cpu[CORESET_MAX];
};

int waits_open(struct measure *m)
{
	m->waits = calloc(1, sizeof(*m->waits));
	return m->waits ? 0 : -ENOMEM;
}

void waits_close(struct measure *m)
{
	free(m->waits);
}

/* ---- the node ---- */

/* "cpu3 user nice system idle iowait irq softirq steal ...", in ticks. */
static void take_line(struct waits_node *n, const char *line, double tick_s)
{
	unsigned int cpu;
	unsigned long long v[8];

	if (sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &cpu, &v[0], &v[1], &v[2],
		    &v[3], &v[4], &v[5], &v[6], &v[7]) != 9 ||
		cpu >= CORESET_MAX)
		return;
	n->cpu[cpu].busy_s = (double)(v[0] + v[1] + v[2] + v[5] + v[6]) * tick_s;
	n->cpu[cpu].stolen_s = (double)v[7] * tick_s;
}

/* The lines of CPUs come first. False: it cannot be read. */
static bool read_stat(struct waits_node *n, const struct fsroot *root)
{
	cleanup_close int fd = fsroot_openat(root, "proc/stat", O_RDONLY);
	double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
	char buf[4096];
	size_t kept = 0;

	if (fd < 0)
		return false;
	for (;;) {
		ssize_t got = read(fd, buf + kept, sizeof(buf) - 1 - kept);
		char *line = buf, *end;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return false;
		buf[kept + (size_t)got] = '\0';
		for (; (end = strchr(line, '\n')); line = end + 1) {
			if (strncmp(line, "cpu", 3) != 0)
				return true;
			take_line(n, line, tick_s);
		}
		kept = strlen(line);
		if (got == 0 || kept == sizeof(buf) - 1)
			return true;
		memmove(buf, line, kept);
	}
}

/* Where it is: by the plan only where the plan is carried out. */
static struct coreset cpus_of(const struct step *s)
{
	return s->status == STATUS_PLACED ? step_cpus(s) : s->slurm_step;
}

/* How many of our steps run on each CPU. */
static void add_loads(const struct measure *m, struct waits_node *n)
{
	for (int i = 0; i < CORESET_MAX; i++)
		n->cpu[i].load = 0;
	for (int i = 0; i < m->use.jobs->n; i++) {
		const struct step *s = m->use.jobs->step[i];
		struct coreset cpus = cpus_of(s);
		int count = coreset_count(&cpus);

		if (s->status == STATUS_SUSPENDED || !(s->seen.waits.running > 0) || !count)
			continue;
		coreset_for_each (cpu, &cpus)
			n->cpu[cpu].load += s->seen.waits.running / count;
	}
}

/* True: what is known of the node is of now. */
static bool look_at_node(struct measure *m, int64_t now_ns)
{
	struct waits_node *n = m->waits;
	int64_t began_ns;

	if (!n || (n->at_ns && now_ns - n->at_ns <= FRESH_NS))
		return n != NULL;
	if (now_ns < n->again_ns)
		return false;
	began_ns = ipc_now_ns();
	if (!read_stat(n, &m->use.node->root))
		return false;
	n->again_ns = now_ns + PAUSE * (ipc_now_ns() - began_ns);
	n->at_ns = now_ns;
	if (now_ns - n->loads_ns >= LOADS_NS) {
		add_loads(m, n);
		n->loads_ns = now_ns;
	}
	return true;
}

static void sum_cpus(const struct waits_node *n, const struct coreset *cpus, double *ret_busy_s,
	double *ret_stolen_s, double *ret_load)
{
	*ret_busy_s = *ret_stolen_s = *ret_load = 0;
	coreset_for_each (cpu, cpus) {
		*ret_busy_s += n->cpu[cpu].busy_s;
		*ret_stolen_s += n->cpu[cpu].stolen_s;
		*ret_load += n->cpu[cpu].load;
	}
}

/* ---- a step ---- */

/* "full avg10=0.00 avg60=0.00 avg300=0.00 total=1234", microseconds. NAN: there is none. */
static double read_full_s(const struct fsroot *root, const char *cgroup, const char *what)
{
	char path[320], text[256];
	const char *full, *total;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s.pressure", cgroup, what);
	n = fsroot_read_once(root, path, text, sizeof(text));
	full = n > 0 ? strstr(text, "full ") : NULL;
	total = full ? strstr(full, "total=") : NULL;
	return total ? strtod(total + strlen("total="), NULL) / 1e6 : NAN;
}

/* NAN: the kernel does not tell. */
static double read_stalled_s(const struct measure *m, struct step *s)
{
	double memory, disk;

	if (s->seen.waits.no_pressure)
		return NAN;
	memory = read_full_s(&m->use.node->root, s->cgroup.step_path, "memory");
	disk = read_full_s(&m->use.node->root, s->cgroup.step_path, "io");
	s->seen.waits.no_pressure = isnan(memory) && isnan(disk);
	return isnan(memory) ? disk : isnan(disk) ? memory : memory + disk;
}

/*
 * Since it was asked last; NAN: the kernel does not tell. It adds up all CPUs for an answer, so a
 * step that slept for less than SLEPT of the span is not asked about: what little it was stalled
 * comes with the next answer.
 */
static double take_stalled_s(const struct measure *m, struct step *s, double slept)
{
	struct seen_waits *w = &s->seen.waits;
	double before = w->stalled_s;

	if (w->no_pressure || (slept < SLEPT && w->pressure_read))
		return w->no_pressure ? NAN : 0;
	w->stalled_s = read_stalled_s(m, s);
	if (!w->pressure_read)
		before = w->stalled_s;
	w->pressure_read = !w->no_pressure;
	return fmax(w->stalled_s - before, w->no_pressure ? NAN : 0);
}

/* Have children of its processes ended, since this was asked last, that had run? True where it was
 * never asked before. */
static bool children_ended(const struct measure *m, struct step *s)
{
	struct seen_waits *w = &s->seen.waits;
	const struct thread_list *l = &s->pace.list;
	uint64_t ticks = 0, before = w->child_ticks;
	bool known = w->has_child_ticks;

	for (int i = 0; i < l->n && i < CHILDREN_OF; i++) {
		char text[512];
		unsigned long long user, system;
		const char *line =
			fsroot_task_stat(&m->use.node->root, l->tid[i], text, sizeof(text));

		if (line && sscanf(line,
				    "%*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu "
				    "%llu",
				    &user, &system) == 2)
			ticks += user + system;
	}
	w->child_ticks = ticks;
	w->has_child_ticks = true;
	return !known || ticks > before;
}

void waits_forget(struct step *s)
{
	struct seen_waits *w = &s->seen.waits;

	w->from_ns = w->last_ns = w->own_ns = 0;
	w->pressure_read = false;
}

double waits_own_busy(struct measure *m, struct step *s, int64_t now_ns)
{
	struct seen_waits *w = &s->seen.waits;
	double busy_s, stolen_s, load, part = NAN, cpus = coreset_count(&s->coreset);

	if (!look_at_node(m, now_ns))
		return NAN;
	sum_cpus(m->waits, &s->coreset, &busy_s, &stolen_s, &load);
	if (w->own_ns && now_ns > w->own_ns && coreset_is_equal(&w->own_cpus, &s->coreset))
		part = (busy_s - w->own_busy_s) * 1e9 / ((double)(now_ns - w->own_ns) * cpus);
	w->own_ns = now_ns;
	w->own_cpus = s->coreset;
	w->own_busy_s = busy_s;
	return part;
}

/* Without what is known of the node, at the next reading. */
static void begin_span(struct measure *m, struct step *s, int64_t now_ns, int64_t own_ns)
{
	struct seen_waits *w = &s->seen.waits;
	double load;

	w->from_ns = 0;
	if (!look_at_node(m, now_ns))
		return;
	w->from_ns = now_ns;
	w->from_own_ns = own_ns;
	w->span = (struct waits_span){.stalled_s = NAN};
	w->cpus = cpus_of(s);
	if (!w->pressure_read)
		take_stalled_s(m, s, 1);
	sum_cpus(m->waits, &w->cpus, &w->busy_s, &w->stolen_s, &load);
}

static void end_span(struct measure *m, struct step *s, int64_t now_ns, int64_t own_ns, int threads)
{
	struct seen_waits *w = &s->seen.waits;
	struct waits_span *f = &w->span;
	double busy, stolen, load, slept;

	f->wall_s = (double)(now_ns - w->from_ns) / 1e9;
	f->frozen_s = fmax(f->wall_s - (double)(own_ns - w->from_own_ns) / 1e9, 0);
	f->threads = threads;
	f->envelope = coreset_count(&s->envelope);
	f->placed = coreset_count(&w->cpus);
	slept = (f->wall_s - f->frozen_s - f->most_wanted_s) / f->wall_s;
	f->stalled_s = take_stalled_s(m, s, slept);
	sum_cpus(m->waits, &w->cpus, &busy, &stolen, &load);
	busy = fmax(busy - w->busy_s, 0);
	stolen = fmax(stolen - w->stolen_s, 0);
	f->neighbours_s = fmax(load - w->running, 0) * f->wall_s;
	f->outside_s = fmax(busy - f->ran_s - f->neighbours_s, 0);
	/* Of the time in which one of its threads had the CPU, or would have had it. */
	f->stolen_s = busy > 0 ? stolen * fmin(f->ran_s / busy, 1) : stolen;
	/* Who starts others that soon end is asleep himself, and they are not seen: they may be
	 * what runs there. */
	if (slept > SLEPT && f->outside_s > UNTOLD * f->wall_s && children_ended(m, s))
		return;
	waits_add(&w->sum, f);
	waits_text(&w->sum, w->text, sizeof(w->text));
}

void waits_reading(struct measure *m, struct step *s, int64_t now_ns, int64_t own_ns)
{
	struct seen_waits *w = &s->seen.waits;
	struct coreset cpus = cpus_of(s);
	struct utilization_span u;
	bool known = utilization_span(s->util, &u);

	if (known && w->last_ns && now_ns > w->last_ns)
		w->running = u.ran_s * 1e9 / (double)(now_ns - w->last_ns);
	w->last_ns = now_ns;
	if (!known || !w->from_ns || !coreset_is_equal(&cpus, &w->cpus)) {
		begin_span(m, s, now_ns, own_ns);
		return;
	}
	w->span.ran_s += u.ran_s;
	w->span.held_s += u.held_s;
	w->span.most_ran_s += u.most_ran_s;
	w->span.most_wanted_s += u.most_wanted_s;
	if (now_ns - w->from_ns < SPAN_NS || !look_at_node(m, now_ns))
		return;
	end_span(m, s, now_ns, own_ns, u.works);
	begin_span(m, s, now_ns, own_ns);
}
