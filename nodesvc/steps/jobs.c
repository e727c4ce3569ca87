/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/steps/steps.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc.h"

const char *step_status_name(enum step_status s)
{
	static const char *const names[] = {
		[STATUS_PENDING] = "pending",
		[STATUS_PLACED] = "placed",
		[STATUS_OBSERVED] = "observed",
		[STATUS_EXCLUDED] = "excluded",
		[STATUS_ASIDE] = "aside",
		[STATUS_RELEASED] = "released",
		[STATUS_SUSPENDED] = "suspended",
	};

	return names[s];
}

void step_format_id(uint32_t job_id, uint32_t step_id, char *buf, size_t size)
{
	if (step_id == STEP_BATCH)
		snprintf(buf, size, "%u.batch", job_id);
	else if (step_id == STEP_EXTERN)
		snprintf(buf, size, "%u.extern", job_id);
	else if (step_id == STEP_INTERACTIVE)
		snprintf(buf, size, "%u.interactive", job_id);
	else
		snprintf(buf, size, "%u.%u", job_id, step_id);
}

struct step *jobs_find(struct jobs *j, uint32_t job_id, uint32_t step_id, uint32_t nodeid)
{
	for (int i = 0; i < j->n; i++)
		if (j->step[i]->job_id == job_id && j->step[i]->step_id == step_id &&
			j->step[i]->nodeid == nodeid)
			return j->step[i];
	return NULL;
}

/* Ids are unique: a step's parts on one kernel are told apart by the node's number in the step. */
static void name_step(const struct jobs *j, struct step *s)
{
	size_t len;

	step_format_id(s->job_id, s->step_id, s->id, sizeof(s->id));
	for (int i = 0; i < j->n; i++) {
		if (strcmp(j->step[i]->id, s->id) != 0)
			continue;
		len = strlen(s->id);
		snprintf(s->id + len, sizeof(s->id) - len, "@%u", s->nodeid);
		return;
	}
}

struct step *jobs_find_id(struct jobs *j, const char *id)
{
	struct step *aside = NULL;

	for (int i = 0; i < j->n; i++) {
		struct step *s = j->step[i];
		char job[16];

		if (strcmp(s->id, id) == 0)
			return s;
		snprintf(job, sizeof(job), "%u", s->job_id);
		if (strcmp(job, id) != 0)
			continue;
		if (s->status != STATUS_ASIDE)
			return s;
		aside = aside ? aside : s;
	}
	return aside;
}

struct step *jobs_add(struct jobs *j, uint32_t job_id, uint32_t step_id, uint32_t nodeid)
{
	struct step *s;

	if (j->n == JOBS_MAX)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->job_id = job_id;
	s->step_id = step_id;
	s->nodeid = nodeid;
	s->array_task = 0xfffffffeu;
	s->order = j->next_order++;
	s->exit_status = -1;
	s->nnodes = 1;
	s->start_mono_ns = ipc_now_ns();
	s->start_unix_ns = ipc_unix_ns();
	name_step(j, s);
	j->step[j->n++] = s;
	return s;
}

bool jobs_has_room_for(const struct jobs *j, const struct step *s)
{
	int own = 0;

	for (int i = 0; i < j->n; i++)
		own += j->step[i]->uid == s->uid;
	return own <= JOBS_MAX - j->n + 1;
}

struct explanation *explanation_new(const char *text)
{
	size_t size = strlen(text) + 1;
	struct explanation *e = malloc(sizeof(*e) + size);

	if (!e)
		return NULL;
	e->refs = 1;
	memcpy(e->text, text, size);
	return e;
}

void explanation_put(struct explanation *e)
{
	if (e && --e->refs == 0)
		free(e);
}

static void step_free(struct step *s)
{
	for (int i = 0; i < STEP_DECISIONS_MAX; i++)
		explanation_put(s->decision[i].explain);
	utilization_close(s->util);
	clocks_done(&s->pace.clocks);
	thread_list_done(&s->pace.list);
	if (s->back)
		s->back_stop(s);
	look_done(&s->polling.look);
	look_done(&s->coupling.look);
	look_done(&s->mapped.look);
	free(s->prio.thread);
	turn_done(&s->turn);
	thread_list_done(&s->stop.list);
	pages_free(s->pages);
	free(s->task);
	free(s->message);
	free(s);
}

int step_check_threads(const struct step *s, int most, struct errbuf *err)
{
	int n = s->threads > s->n_tasks ? s->threads : s->n_tasks;

	return n <= most ? 0 : err_set(err, -E2BIG, "it has %d threads, more than %d", n, most);
}

void jobs_remove(struct jobs *j, struct step *s)
{
	for (int i = 0; i < j->n; i++) {
		if (j->step[i] != s)
			continue;
		memmove(&j->step[i], &j->step[i + 1], (size_t)(j->n - i - 1) * sizeof(j->step[0]));
		j->n--;
		break;
	}
	step_free(s);
}

void jobs_done(struct jobs *j)
{
	while (j->n)
		jobs_remove(j, j->step[j->n - 1]);
}

struct decision *step_new_decision(struct step *s)
{
	struct decision *d = &s->decision[s->n_decisions++ % STEP_DECISIONS_MAX];

	explanation_put(d->explain);
	memset(d, 0, sizeof(*d));
	d->t_unix = (double)ipc_unix_ns() / 1e9;
	d->score = NAN;
	return d;
}

const struct decision *step_get_decision(const struct step *s, int k)
{
	if (k < 0 || k >= s->n_decisions || k >= STEP_DECISIONS_MAX)
		return NULL;
	return &s->decision[(s->n_decisions - 1 - k) % STEP_DECISIONS_MAX];
}

struct task *step_find_task(struct step *s, uint32_t lid)
{
	/* They register in order, mostly. */
	if (lid < (uint32_t)s->n_tasks && s->task[lid].lid == lid)
		return &s->task[lid];
	for (int i = s->n_tasks - 1; i >= 0; i--)
		if (s->task[i].lid == lid)
			return &s->task[i];
	return NULL;
}

int step_add_task(struct step *s, uint32_t lid, pid_t pid)
{
	struct task *t;

	/* Room for a power of two. */
	if ((s->n_tasks & (s->n_tasks - 1)) == 0) {
		t = realloc(s->task, (size_t)(s->n_tasks ? 2 * s->n_tasks : 1) * sizeof(*t));
		if (!t)
			return -ENOMEM;
		s->task = t;
	}
	s->last_task_ns = ipc_now_ns();
	s->task[s->n_tasks++] = (struct task){.lid = lid, .pid = pid, .status = -1};
	s->n_alive++;
	return 0;
}

void step_note(char *list, size_t size, const char *sep, const char *text, bool last)
{
	size_t len = strlen(list), tlen = strlen(text);

	if (len >= 3 && memcmp(list + len - 3, "...", 3) == 0)
		return;
	/* What is nowhere within the text is no part of the list: most often so. */
	for (const char *p = strstr(list, text) ? list : ""; *p;) {
		const char *end = strstr(p, sep);
		size_t n = end ? (size_t)(end - p) : strlen(p);

		if (n == tlen && memcmp(p, text, n) == 0 && (!last || !end))
			return;
		if (!end)
			break;
		p = end + strlen(sep);
	}
	/* A full list keeps its beginning and ends in "...": history is for reading. */
	if (len + strlen(sep) + tlen + 5 >= size) {
		snprintf(list + len, size - len, "%s...", sep);
		return;
	}
	snprintf(list + len, size - len, "%s%s", len ? sep : "", text);
}

const char *step_reason(const struct step *s)
{
	if (s->status == STATUS_SUSPENDED)
		return step_suspended_why(s);
	return s->held && step_is_managed(s) ? s->held_why : s->reason;
}

enum step_status step_standing(const struct step *s)
{
	return s->status == STATUS_SUSPENDED ? s->status_before : s->status;
}

bool status_is_managed(enum step_status status)
{
	return status == STATUS_PENDING || status == STATUS_PLACED || status == STATUS_OBSERVED;
}

static void add_grant(struct step_grants *g, int width, int64_t now_ns)
{
	double ns = (double)(now_ns - g->since_ns);
	double filled = width > 0 && width < g->cores ? width : g->cores;

	if (!g->since_ns || !(ns > 0))
		return;
	g->work += filled * ns;
	g->work_core += filled * ns * g->cores;
	g->fair_ns += g->part * ns;
}

void step_note_cores(struct step *s, int cores, double part, int64_t now_ns)
{
	add_grant(&s->grants, s->width, now_ns);
	s->grants.cores = cores;
	s->grants.part = part;
	s->grants.since_ns = now_ns;
}

double step_mean_cores(const struct step *s, int64_t now_ns)
{
	struct step_grants g = s->grants;

	add_grant(&g, s->width, now_ns);
	return g.work > 0 ? g.work_core / g.work : 0;
}

double step_fair_s(const struct step *s, int64_t now_ns)
{
	struct step_grants g = s->grants;

	add_grant(&g, s->width, now_ns);
	return g.fair_ns / 1e9;
}

bool step_is_launched(const struct step *s)
{
	return s->n_tasks >= s->ntasks || s->tasks_lost;
}

bool step_is_managed(const struct step *s)
{
	return status_is_managed(s->status);
}

struct coreset step_cpus(const struct step *s)
{
	struct coreset all;

	coreset_or(&all, &s->coreset, &s->lent);
	coreset_or(&all, &all, &s->prio.low);
	return all;
}

int jobs_count_managed(const struct jobs *j)
{
	int n = 0;

	for (int i = 0; i < j->n; i++)
		n += step_is_managed(j->step[i]);
	return n;
}

bool step_is_company(const struct step *s)
{
	return s->located && !s->gone && s->status != STATUS_ASIDE && s->status != STATUS_PENDING &&
	       s->status != STATUS_SUSPENDED;
}

bool jobs_is_alone(const struct jobs *j, const struct step *s)
{
	for (int i = 0; i < j->n; i++)
		if (j->step[i] != s && step_is_company(j->step[i]))
			return false;
	return true;
}

const char *step_guard(const struct step *s)
{
	return *s->guard ? s->guard : NULL;
}

int64_t step_suspended_ns(const struct step *s, int64_t now_ns)
{
	return s->stop.ns + (s->stop.kind ? now_ns - s->stop.noted_ns : 0);
}

const char *step_suspended_why(const struct step *s)
{
	return s->stop.kind == STOP_FROZEN
		       ? "suspended: its cgroup is frozen, as by Slurm's suspend"
		       : "suspended: its processes are stopped (SIGTSTP, SIGSTOP)";
}

enum step_state step_final_state(const struct step *s)
{
	if (s->n_tasks == 0 || s->n_alive > 0 || s->exit_status < 0 || s->exit_unknown)
		return STEP_UNKNOWN;
	return s->exit_status == 0 ? STEP_COMPLETED : STEP_FAILED;
}

void jobs_note_partners(struct jobs *j, struct step *s)
{
	for (int i = 0; i < j->n; i++) {
		struct step *o = j->step[i];

		if (o == s || o->job_id == s->job_id || o->status == STATUS_SUSPENDED)
			continue;
		step_note(s->partners, sizeof(s->partners), ",", o->id, false);
		step_note(o->partners, sizeof(o->partners), ",", s->id, false);
	}
}
