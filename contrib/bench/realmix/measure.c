/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/bench/realmix/measure.h"

#include <errno.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "contrib/bench/realmix/disturb.h"

/* All steps of a batch have arrived by then. */
#define ASK_S         2.0
#define OPTION_POLICY "--coloc-policy="

struct instance {
	const struct program *program;
	uint32_t job;
	pid_t pid;      /* of srun; 0 not running */
	double start_s; /* since when its user waits for it */
	struct times *times;
};

struct run {
	const struct setting *s;
	const struct arm *arm;
	struct instance instance[PROGRAMS_MAX];
	int n, n_submitted;
	double stagger_s;
	bool restart, cut;
	double first_start_s, last_end_s;
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* What process @pid has used of the processors so far; NAN: there is none. */
static double cpu_s(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (pid <= 0 || clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return NAN;
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void measured_free(struct measured *m)
{
	for (int i = 0; i < PROGRAMS_MAX; i++)
		free(m->times[i].s);
	memset(m, 0, sizeof(*m));
}

/* The node that the arm's jobs go to. */
static const struct slurm_node *node_of(const struct setting *s, const struct arm *arm)
{
	return arm->mode == MODE_BATCH && s->gang_conf[0] ? &s->gang_node : &s->node;
}

static int launch(struct run *r, struct instance *in, struct errbuf *err)
{
	const struct program *p = in->program;
	pid_t pid = r->arm->mode == MODE_BATCH ? slurm_batch(node_of(r->s, r->arm), p->argv,
							 p->ranks, r->s->log_fd, err)
					       : slurm_step(in->job, &r->s->node, r->arm->option,
							 p->argv, p->ranks, r->s->log_fd, err);

	if (pid < 0)
		return pid;
	in->pid = pid;
	return 0;
}

/* Submits it: it runs at once, or when its turn comes. */
static int start(struct run *r, struct instance *in, struct errbuf *err)
{
	in->start_s = now_s();
	if (r->arm->mode == MODE_SERIAL)
		for (int i = 0; i < r->n; i++)
			if (r->instance[i].pid)
				return 0;
	return launch(r, in, err);
}

/* Those whose time has come, in the mix's order. */
static int submit_due(struct run *r, struct errbuf *err)
{
	int rc = 0;

	while (!rc && r->n_submitted < r->n &&
		now_s() - r->first_start_s >= r->n_submitted * r->stagger_s)
		rc = start(r, &r->instance[r->n_submitted++], err);
	return rc;
}

/* Until the next is to be submitted, or others are looked at. */
static struct timespec time_to_wait(const struct run *r)
{
	double look_s = DISTURB_LOOK_MS / 1000.0, due_s = look_s;

	if (r->n_submitted < r->n)
		due_s = r->first_start_s + r->n_submitted * r->stagger_s - now_s();
	due_s = fmin(fmax(due_s, 0), look_s);
	return (struct timespec){
		.tv_sec = (time_t)due_s, .tv_nsec = (long)((due_s - (double)(time_t)due_s) * 1e9)};
}

static bool is_complete(const struct run *r)
{
	for (int i = 0; i < r->n; i++)
		if (r->instance[i].times->n < r->s->min_runs)
			return false;
	return true;
}

static bool is_running(const struct run *r)
{
	for (int i = 0; i < r->n; i++)
		if (r->instance[i].pid)
			return true;
	return false;
}

static void show(const struct run *r)
{
	char text[128] = "";

	for (int i = 0; i < r->n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %d",
			r->instance[i].times->n);
	fprintf(stderr, "realmix: %s, %s: runs completed:%s\n", r->s->label, r->arm->name, text);
}

/* One after another: the one after @i that waits; @i itself is submitted again at the end of the
 * line where programs go on. */
static int next_in_line(struct run *r, int i, struct errbuf *err)
{
	r->instance[i].start_s = now_s();
	if (r->restart && is_complete(r))
		return 0;
	for (int k = 1; k <= r->n; k++) {
		int next = (i + k) % r->n;
		struct instance *in = &r->instance[next];

		if (next < r->n_submitted && (r->restart || in->times->n == 0))
			return launch(r, in, err);
	}
	return 0;
}

/* One srun has ended: takes its time, starts the program again where it is to go on. */
static int ended(struct run *r, pid_t pid, int status, struct errbuf *err)
{
	double end_s = now_s();

	for (int i = 0; i < r->n; i++) {
		struct instance *in = &r->instance[i];

		if (in->pid != pid)
			continue;
		in->pid = 0;
		if (status)
			return err_set(err, -ECHILD, "srun %s failed (wait status 0x%x)",
				in->program->name, (unsigned int)status);
		r->last_end_s = end_s;
		if (in->times->n < RUNS_MAX)
			in->times->s[in->times->n++] = end_s - in->start_s;
		if (r->arm->mode == MODE_SERIAL)
			return next_in_line(r, i, err);
		return r->restart && !is_complete(r) ? start(r, in, err) : 0;
	}
	return 0;
}

/* Also of a peer: then it is not measured as plain unseen. */
static bool asks_policy(const struct arm *arm)
{
	return arm->option[0] && strncmp(arm->option[0], OPTION_POLICY, strlen(OPTION_POLICY)) == 0;
}

/* Until all is done; with SIGCHLD blocked, so that the wait ends at a child's end or a look. */
static int follow(struct run *r, struct disturb *d, struct measured *ret, struct errbuf *err)
{
	sigset_t child;
	double shown_s = now_s(), looked_s = shown_s;
	bool asked = r->n < 2 || !r->s->socket;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	while (!(r->restart ? is_complete(r) : r->n_submitted == r->n && !is_running(r))) {
		struct timespec wait = time_to_wait(r);
		int status, rc;
		pid_t pid;

		if (*r->s->stop)
			return err_set(err, -EINTR, "stopped by a signal");
		if (r->s->cut_s > 0 && !r->restart && now_s() - r->first_start_s > r->s->cut_s) {
			r->cut = true;
			r->last_end_s = now_s();
			return 0;
		}
		sigtimedwait(&child, NULL, &wait);
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
			rc = ended(r, pid, status, err);
			if (rc)
				return rc;
		}
		rc = submit_due(r, err);
		if (rc)
			return rc;
		if (now_s() - looked_s >= DISTURB_LOOK_MS / 1000.0) {
			disturb_look(d);
			looked_s = now_s();
		}
		if (!asked && asks_policy(r->arm) && now_s() - r->first_start_s >= ASK_S) {
			asked = true;
			service_policy(r->s->socket, ret->policy, sizeof(ret->policy), ret->reason,
				sizeof(ret->reason));
		}
		if (r->n > 1 && now_s() - shown_s >= 5.0) {
			show(r);
			shown_s = now_s();
		}
	}
	return 0;
}

static void set_or_unset(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

/* What the arm's jobs start with, and which Slurm they go to; off: all as it was. */
static void apply_env(const struct setting *s, const struct arm *arm, int programs, bool on)
{
	static char conf[512];
	static bool had_conf;

	if (arm->mode == MODE_BATCH && s->gang_conf[0]) {
		if (on) {
			const char *now = getenv("SLURM_CONF");

			had_conf = now != NULL;
			snprintf(conf, sizeof(conf), "%s", now ? now : "");
		}
		set_or_unset("SLURM_CONF", on ? s->gang_conf : had_conf ? conf : NULL);
	}
	for (int i = 0; i < 4 && arm->env[i]; i++) {
		char name[64], share[16];
		const char *eq = strchr(arm->env[i], '='), *value = eq + 1;

		snprintf(name, sizeof(name), "%.*s", (int)(eq - arm->env[i]), arm->env[i]);
		snprintf(share, sizeof(share), "%d",
			s->node.cpus > programs ? s->node.cpus / programs : 1);
		if (!strcmp(value, "{share}"))
			value = share;
		set_or_unset(name, on ? value : NULL);
	}
}

/* numad moves programs from node to node: with one it has nothing to do. */
static void note_nodes(struct measured *ret)
{
	glob_t g = {0};

	if (glob("/sys/devices/system/node/node[0-9]*", 0, NULL, &g) == 0)
		snprintf(ret->reason, sizeof(ret->reason), "%zu NUMA node%s", g.gl_pathc,
			g.gl_pathc == 1 ? ": nothing to move" : "s");
	globfree(&g);
}

/* A peer's daemon runs as long as the arm; what it does is its own. */
static pid_t start_helper(const struct run *r, struct errbuf *err)
{
	static const char *const numad[] = {"numad", "-i", "5", NULL};

	return r->arm->helper ? slurm_helper(numad, r->s->log_fd, err) : 0;
}

/* colocd goes by the arm's configuration, or by the usual one again. */
static int configure(const struct run *r, bool on, struct errbuf *err)
{
	if (!r->arm->conf)
		return 0;
	if (!r->s->conf || !r->s->socket)
		return err_set(
			err, -EINVAL, "arm %s needs --service-conf and --socket", r->arm->name);
	return service_configure(r->s->socket, r->s->conf, on ? r->arm->conf : "usual", err);
}

/* One try, in fresh allocations that are gone afterwards. */
static int try_once(struct run *r, struct measured *ret, struct errbuf *err)
{
	uint32_t job[PROGRAMS_MAX];
	struct errbuf end_err;
	struct disturb *d;
	double service_s;
	int held, rc = 0, end_rc;
	pid_t helper = 0, service;

	for (held = 0; held < r->n && r->arm->mode != MODE_BATCH; held++) {
		rc = slurm_hold(&job[held], &r->s->node, err);
		if (rc)
			break;
		r->instance[held].job = job[held];
	}
	if (ftruncate(r->s->log_fd, 0)) /* only this try's messages explain its failure */
		rc = err_set(err, -errno, "log: %s", strerror(errno));
	d = disturb_start("/proc", node_of(r->s, r->arm)->name);
	if (!rc && !d)
		rc = err_set(err, -ENOMEM, "out of memory");
	apply_env(r->s, r->arm, r->n, true);
	if (!rc)
		rc = configure(r, true, err);
	helper = rc ? 0 : start_helper(r, err);
	if (helper < 0)
		rc = helper;
	if (helper > 0)
		note_nodes(ret);
	service = r->s->socket ? service_pid(r->s->socket) : 0;
	service_s = cpu_s(service);
	r->first_start_s = now_s();
	if (!rc)
		rc = submit_due(r, err);
	if (!rc)
		rc = follow(r, d, ret, err);
	ret->service_s = cpu_s(service) - service_s;
	if (!rc) {
		ret->foreign_ratio = disturb_ratio(d);
		ret->makespan_s = r->last_end_s - r->first_start_s;
		ret->cut = r->cut;
		ret->disturbed = ret->foreign_ratio > r->s->foreign_limit;
		if (ret->disturbed)
			fprintf(stderr,
				"realmix: %s, %s: others used %.1f %% of the machine (%s)\n",
				r->s->label, r->arm->name, 100 * ret->foreign_ratio,
				disturb_worst(d));
	}
	disturb_free(d);
	end_rc = held ? slurm_release(job, held, &end_err) : 0;
	if (r->arm->mode == MODE_BATCH)
		end_rc = slurm_batch_end(&end_err);
	apply_env(r->s, r->arm, r->n, false);
	if (!end_rc)
		end_rc = configure(r, false, &end_err);
	if (helper > 0)
		slurm_helper_end(helper);
	for (int i = 0; i < r->n; i++) {
		if (!r->instance[i].pid)
			continue;
		/* What waits for a batch job's word would wait for ever. */
		if (r->arm->mode == MODE_BATCH)
			kill(r->instance[i].pid, SIGTERM);
		waitpid(r->instance[i].pid, NULL, 0);
	}
	if (!rc && end_rc) {
		*err = end_err;
		rc = end_rc;
	}
	return rc;
}

static int measure(const struct setting *s, const struct mix *mix, const struct arm *arm,
	bool restart, int runs, struct measured *ret, struct errbuf *err)
{
	struct setting setting = *s;
	struct measured m = {.disturbed = true};
	int n = mix->n, rc = 0;

	setting.min_runs = runs;
	for (int i = 0; i < n && !rc; i++) {
		m.times[i].s = calloc(RUNS_MAX, sizeof(double));
		if (!m.times[i].s)
			rc = err_set(err, -ENOMEM, "out of memory");
	}
	for (int t = 0; t < s->tries && m.disturbed && !rc; t++) {
		struct run r = {.s = &setting,
			.arm = arm,
			.n = n,
			.stagger_s = mix->stagger_ms / 1000.0,
			.restart = restart};

		for (int i = 0; i < n; i++) {
			r.instance[i] = (struct instance){
				.program = &mix->program[i], .times = &m.times[i]};
			m.times[i].n = 0;
		}
		rc = try_once(&r, &m, err);
	}
	if (rc)
		measured_free(&m);
	else
		*ret = m;
	return rc;
}

int measure_solo(const struct setting *s, const struct program *p, const struct arm *arm,
	struct measured *ret, struct errbuf *err)
{
	struct mix alone = {.name = p->name, .program = {*p}, .n = 1};

	return measure(s, &alone, arm, true, s->min_runs, ret, err);
}

int measure_batch(const struct setting *s, const struct mix *mix, const struct arm *arm,
	struct measured *ret, struct errbuf *err)
{
	return measure(s, mix, arm, false, 1, ret, err);
}

int measure_sustained(const struct setting *s, const struct mix *mix, const struct arm *arm,
	struct measured *ret, struct errbuf *err)
{
	return measure(s, mix, arm, true, s->min_runs, ret, err);
}

int measure_policy(const struct setting *s, const struct program *p, const struct arm *arm,
	char *ret, size_t size, struct errbuf *err)
{
	static const char *const nothing[] = {"true", NULL};
	const char *option[8] = {"--coloc-verbose=1"};
	char type[64], text[4096], *at;
	struct errbuf ignored;
	uint32_t job;
	int n = 1, rc;

	/* As if it were the program: whether a policy can rule hangs on what is known of it. */
	snprintf(type, sizeof(type), "--coloc-type=%s", p->name);
	option[n++] = type;
	for (int i = 0; i < 4 && arm->option[i]; i++)
		option[n++] = arm->option[i];
	rc = slurm_hold(&job, &s->node, err);
	if (rc)
		return rc;
	rc = slurm_ask_step(job, &s->node, option, nothing, text, sizeof(text), err);
	slurm_release(&job, 1, &ignored);
	if (rc)
		return rc;
	at = strstr(text, "coloc: step ");
	at = at ? strstr(at, ": policy ") : NULL;
	if (!at)
		return err_set(err, -ENOTCONN, "no service takes part: %.*s",
			(int)strcspn(text, "\n"), text[0] ? text : "srun says nothing");
	at += strlen(": policy ");
	snprintf(ret, size, "%.*s", (int)strcspn(at, ", \n"), at);
	fprintf(stderr, "realmix: %s\n", strtok(strstr(text, "coloc: step "), "\n"));
	return 0;
}
