/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arrival.c - steps come: step_start, task_start, and what slurmctld says of a job that was waited
 * for. Messages were checked to come from root; steps/registration.c reads them. A step that may
 * not come is told why; one that may is placed when its tasks are there.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/ipc.h"
#include "common/launch_family.h"
#include "common/msg.h"
#include "common/runtimes.h"
#include "common/starters.h"
#include "common/text.h"
#include "nodesvc/base/log.h"
#include "nodesvc/books/books.h"
#include "nodesvc/choose/launches.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/engine/policy.h"
#include "nodesvc/launch/launch.h"
#include "nodesvc/launch/learned.h"
#include "nodesvc/launch/linkage.h"
#include "nodesvc/measure/measure.h"
#include "nodesvc/socket/socket.h"
#include "nodesvc/steps/steps.h"

/* A control launch is placed when its runtime has chosen its threads and its way of waiting. */
#define CONTROL_NS INT64_C(1000000000)
/* Refused steps are logged one in so long. */
#define REFUSALS_NS INT64_C(60000000000)

/* A site that keeps many out, by its lists, is not to find that in its log for each step. */
static void log_refusal(const char *id, const char *why)
{
	static int64_t last_ns = -REFUSALS_NS;
	static int unsaid;
	int64_t now_ns = ipc_now_ns();

	if (now_ns - last_ns < REFUSALS_NS) {
		unsaid++;
		log_debug("step %s: refused: %s", id, why);
		return;
	}
	if (unsaid)
		log_info("step %s: refused: %s (and %d more steps since the last such line)", id,
			why, unsaid);
	else
		log_info("step %s: refused: %s", id, why);
	last_ns = now_ns;
	unsaid = 0;
}

static void put_step_reply(const struct step *s, struct msg *reply)
{
	char names[512] = "";

	msg_init(reply, "step_ok");
	msg_put(reply, "policy", s->policy);
	msg_put(reply, "req_policy", s->req_policy);
	msg_put(reply, "reason", step_reason(s));
	/* For cores lent to it, and turns of single threads. */
	if (s->status != STATUS_EXCLUDED && !s->dry_run)
		msg_put(reply, "may_idle", "1");
	for (int i = 0; i < s->n_env; i++) {
		if (*s->env[i].why)
			continue;
		msg_putf(reply, "env", "%s=%s", s->env[i].name, s->env[i].value);
		step_note(names, sizeof(names), ",", s->env[i].name, false);
	}
}

static void refuse_step(struct msg *reply, const char *why)
{
	msg_init(reply, "step_refused");
	msg_put(reply, "reason", why);
}

static enum launch_around around(const struct daemon *d, const struct step *s)
{
	struct choose_state state;
	const struct policy_ops *ops;

	choose_get_state(d->choose, &state);
	ops = state.decided_by ? policy_find(state.decided_by) : NULL;
	/* Whoever decided gives cores to one at a time, and the node and the step allow of it. */
	if (ops && ops->in_turns && !s->held && !s->batch && s->nnodes == 1 &&
		!rotate_why_not(d->levers))
		return LAUNCH_IN_TURNS;
	/* CPUs poll for nobody who may not wait that way: a script, or what is not known. */
	return idlepoll_is_on(d->levers) && !s->held && (s->links & RUNTIME_LIBGOMP)
		       ? LAUNCH_POLLED
		       : LAUNCH_SHARES;
}

/* What of the user's environment binds threads to the CPUs that a program sees at its start; NULL
 * nothing. A cpuset that becomes narrower would make that fail. */
static const char *binds_itself(const struct msg *m)
{
	for (const char *name = msg_get(m, "set"); name; name = msg_get_next(m, "set", name))
		if (launch_family(name) == LAUNCH_openmp_bind)
			return name;
	return NULL;
}

/* Only where there is something to choose. */
static void find_links(struct daemon *d, struct step *s, const struct msg *m)
{
	const struct command c = {msg_get(m, "name"), msg_get(m, "cwd"), msg_get(m, "path")};
	uint32_t linked, loads;
	enum starter kind;

	if (!c.name || s->batch || !d->conf->launch_env.enabled)
		return;
	kind = starter_of(c.name);
	measure_expect(d->measure, s, &c);
	linked = linkage_of(d->linkage, &c, s->uid, LINKAGE_WAIT_MS, s->start_mono_ns);
	/* What an interpreter or a launcher links is not what it runs. */
	s->links = kind == STARTER_NONE ? linked : 0;
	loads = learned_of(linkage_learned(d->linkage), s->uid, s->program_key);
	s->links_learned = loads & ~s->links;
	/* A script's next command may be another program; an interpreter goes on with its own. */
	s->runs_any = kind == STARTER_LAUNCHER || (kind == STARTER_NONE && !linked);
	s->links |= loads;
	/* OpenMP runtimes decide at their start, by the CPUs that they have then, whether their
	 * threads wait by spinning. Who binds them names CPUs of Slurm's. */
	s->born_placed = (linked & (RUNTIME_LIBGOMP | RUNTIME_LIBOMP)) && !binds_itself(m) &&
			 kind == STARTER_NONE;
}

static bool has_settings(const struct step *s)
{
	for (int i = 0; i < s->n_env; i++)
		if (!*s->env[i].why)
			return true;
	return false;
}

/* Nothing of ours is in force before its program runs, to know what that is worth. */
static void start_control(struct step *s)
{
	s->n_env = 0;
	*s->threads_why = '\0';
	s->short_spins = s->born_placed = false;
	s->seen.launch = "control";
	s->seen.control_until_ns = s->start_mono_ns + CONTROL_NS;
	log_debug("step %s: starts without a lever, to compare", s->id);
}

/* What is left of its settings where they make the program slower: the library that its user asked
 * for. */
static void withhold(struct step *s, const char *why)
{
	for (int i = 0; i < s->n_env; i++)
		if (!*s->env[i].why && launch_family(s->env[i].name) != LAUNCH_preload)
			snprintf(s->env[i].why, sizeof(s->env[i].why), "%s", why);
	*s->threads_why = '\0';
	s->short_spins = s->counts_granted = false;
	s->seen.launch = "withheld";
}

static int envelope_cores(const struct daemon *d, const struct step *s)
{
	return topo_count_cores(d->node->topo, &s->envelope);
}

static void decide_launch(struct daemon *d, struct step *s, const struct msg *m)
{
	launch_decide(d->conf, s, m, envelope_cores(d, s),
		topo_count_cores(d->node->topo, s->held ? &s->envelope : &s->coreset),
		around(d, s));
}

/* Cores that the plan just made, with it in it, gives a step whose threads go by that; else 0. On
 * several nodes each would grant another number, and a shell's steps inherit it. */
static int granted(const struct daemon *d, const struct step *s)
{
	struct choose_state state;
	const struct policy_ops *ops;

	choose_get_state(d->choose, &state);
	ops = policy_find(state.policy);
	if (s->held || s->batch || s->nnodes > 1 ||
		!(d->conf->launch_env.threads == THREADS_GRANTED ||
			(d->conf->launch_env.threads == THREADS_AUTO && ops && ops->deals_threads)))
		return 0;
	return decide_granted(d->choose, s);
}

/* Fewer threads than Slurm has cores for, or all the same: as its earlier runs tell. */
static void choose_width(struct daemon *d, struct step *s)
{
	int all = envelope_cores(d, s);

	s->takes_all = s->narrow && learned_takes_all(linkage_learned(d->linkage), s->uid,
					    s->program_key, s->granted, s->width, all);
	if (s->takes_all)
		launch_regrant(s, s->granted, all);
}

/*
 * Who came since its own plan was made, and before its program begins, shares the cores as well: of
 * four that are submitted at once the first had all of them by its plan, and begins with its
 * quarter. A width that was found slower than Slurm's is not given that way either.
 */
static void grant_anew(struct daemon *d, struct step *s, struct msg *reply)
{
	int before = s->granted, now = decide_granted(d->choose, s);
	bool narrow = s->narrow, took_all = s->takes_all;

	if (!s->counts_granted)
		return;
	if (now > 0 && now != before) {
		s->takes_all = false;
		launch_regrant(s, now, envelope_cores(d, s));
		choose_width(d, s);
		if (s->narrow != narrow && !launches_change_width(d->choose, s)) {
			s->takes_all = took_all;
			launch_regrant(s, before, envelope_cores(d, s));
		}
	}
	for (int i = 0; i < s->n_env; i++)
		if (launch_counts_threads(s, &s->env[i]))
			msg_putf(reply, "env", "%s=%s", s->env[i].name, s->env[i].value);
}

/* Its environment; or none. */
static void set_environment(struct daemon *d, struct step *s, const struct msg *m)
{
	char why[sizeof(s->env[0].why)];
	enum launch_draw draw;

	find_links(d, s, m);
	s->granted = granted(d, s);
	if (s->granted) {
		s->usual_cores =
			learned_cores_of(linkage_learned(d->linkage), s->uid, s->program_key);
		decide_note_cores(d->choose, s, s->start_mono_ns);
	}
	decide_launch(d, s, m);
	choose_width(d, s);
	if (!has_settings(s))
		return;
	draw = launches_draw(d->choose, s, why, sizeof(why));
	/* First its width is given back; the rest has a verdict of its own. */
	if (draw == LAUNCH_WITHHELD && s->narrow) {
		s->granted = 0;
		decide_launch(d, s, m);
		snprintf(s->threads_why, sizeof(s->threads_why), "not as granted: %s", why);
		draw = launches_draw(d->choose, s, why, sizeof(why));
	}
	switch (draw) {
	case LAUNCH_SET:
		break;
	case LAUNCH_CONTROL:
		start_control(s);
		break;
	case LAUNCH_WITHHELD:
		withhold(s, why);
		break;
	}
}

/* ---- may it come? ---- */

/* Slurm's abstract cores (socket by socket) are hwloc's logical cores. */
static void envelope_from_cores(struct daemon *d, const char *cores, struct coreset *ret)
{
	struct coreset abstract;

	coreset_zero(ret);
	if (cores && coreset_parse(&abstract, cores, NULL) == 0)
		coreset_for_each (core, &abstract)
			if (core < d->node->topo->n_cores)
				coreset_or(ret, ret, &d->node->topo->core[core].pus);
	if (coreset_is_empty(ret))
		*ret = d->node->topo->all;
}

/* A job's batch shell makes room for the job's steps: it only waits for them. */
static void put_batch_aside(struct daemon *d, const struct step *s)
{
	struct step *batch = jobs_find(d->jobs, s->job_id, STEP_BATCH, 0);

	if (!batch || batch == s || !step_is_managed(batch))
		return;
	levers_restore(d->levers, batch, STATUS_ASIDE, "its job runs steps of its own");
}

static void keep_out(struct step *s, const char *why)
{
	s->status = STATUS_EXCLUDED;
	snprintf(s->policy, sizeof(s->policy), "none");
	text_copy(s->reason, sizeof(s->reason), why);
}

static void keep_waiting(struct daemon *d, struct step *s)
{
	const char *trouble = whose_trouble(d->jobs->whose);
	struct errbuf why;

	err_set(&why, 0, "slurmctld has not said yet in which partition and account its job is%s%s",
		*trouble ? ": " : "", trouble);
	keep_out(s, why.text);
}

static void take_owner(struct step *s, const struct whose_job *j)
{
	text_copy(s->account, sizeof(s->account), j->account);
	text_copy(s->partition, sizeof(s->partition), j->partition);
	s->owned = true;
	s->unowned = false;
	s->dirty = true;
}

/* What a step that may come still has to pass. */
static int join(struct daemon *d, struct step *s, struct errbuf *err)
{
	int rc;

	s->reason[0] = '\0';
	if (s->nnodes > 1 && d->conf->multi_node == MULTI_NODE_ENVELOPE)
		snprintf(s->reason, sizeof(s->reason), "runs on %d nodes: keeps its envelope",
			s->nnodes);
	put_batch_aside(d, s);
	/* While its own status is "pending" it would count as the set it is to join. */
	s->status = STATUS_RELEASED;
	rc = ruling_admit(d->choose, s->req_policy, s->id, s->reason, sizeof(s->reason), err);
	s->status = STATUS_PENDING;
	return rc;
}

void arrival_learn(struct daemon *d, uint32_t job_id, const struct whose_job *j)
{
	bool joined = false;

	for (int i = 0; i < d->jobs->n; i++) {
		struct step *s = d->jobs->step[i];
		struct errbuf err;

		if (s->job_id != job_id || !s->unowned)
			continue;
		if (!j) {
			keep_waiting(d, s);
			continue;
		}
		take_owner(s, j);
		kept_mark_owner(d->books, s);
		if (registration_check_job(d->conf, s, &err) < 0 || join(d, s, &err) < 0) {
			keep_out(s, err.text);
			log_debug("step %s: stays out: %s", s->id, err.text);
			continue;
		}
		reading_open(d->measure, s);
		/* Its tasks may register yet: then each is put where the plan has it. */
		decide_run(d->choose, EVENT_ARRIVAL, s->id, s->located ? NULL : s);
		joined = true;
	}
	server_learned(d->server, job_id);
	if (joined) {
		decide_finish(d->choose);
		daemon_start_ticking(d);
	}
}

int arrival_admit(struct daemon *d, struct step *s, const struct msg *m, struct errbuf *err)
{
	const char *job_cores = msg_get(m, "job_cores"), *own;
	struct whose_job j;
	int rc = registration_check_user(d->conf, s, err);

	if (rc < 0)
		return rc;
	s->program_key = learned_key(m);
	if (registration_goes_by_job(d->conf)) {
		s->unowned = !s->owned;
		if (s->unowned && whose_ask(d->jobs->whose, s->job_id, &j))
			take_owner(s, &j);
		rc = s->unowned ? 0 : registration_check_job(d->conf, s, err);
	}
	if (rc < 0)
		return rc;
	if (!s->located) {
		envelope_from_cores(d, job_cores, &s->envelope);
		s->slurm_step = s->envelope;
	}
	if (msg_get(m, "released")) { /* our own mark, from before a restart */
		s->status = STATUS_RELEASED;
		snprintf(s->policy, sizeof(s->policy), "none");
		snprintf(s->reason, sizeof(s->reason), "colocctl release");
		return 0;
	}
	if (s->exclude || (s->user_bound && d->conf->respect_user_binding)) {
		keep_out(s, s->exclude ? "--coloc-exclude"
				       : "its user bound it (--cpu-bind or SLURM_CPU_BIND)");
		s->unowned = false;
		return 0;
	}
	own = d->conf->rebind == REBIND_CPUSET ? binds_itself(m) : NULL;
	if (own) {
		struct errbuf why;

		err_set(&why, 0,
			"its user set %.40s: under rebind: cpuset it stays on Slurm's cores", own);
		keep_out(s, why.text);
		s->unowned = false;
		return 0;
	}
	if (s->unowned) {
		keep_waiting(d, s);
		return 0;
	}
	return join(d, s, err);
}

/* ---- messages ---- */

void arrival_step(struct daemon *d, const struct msg *m, struct msg *reply)
{
	struct errbuf err;
	struct step *s;
	struct step_key key = {0};
	int rc = registration_key(m, &key, &err);

	d->course->finish_put_off = false;
	if (rc < 0 || key.step_id == STEP_EXTERN) {
		refuse_step(reply, rc < 0 ? err.text : "the extern step is never touched");
		return;
	}
	if (d->jobs->n == 0)
		online_look(d); /* nothing ticked meanwhile */
	s = registration_step(d->jobs, &key);
	if (s && s->n_tasks == 0) { /* sent twice: same answer */
		put_step_reply(s, reply);
		return;
	}
	if (s) /* requeued under the same ids: the old life is over */
		departure_end(d, s, ipc_unix_ns());
	if (d->course->draining) {
		refuse_step(reply, "the node drains: colocctl resume");
		return;
	}
	/* Slurm stops whom a job preempts just before. */
	suspend_look(d->jobs->suspend, ipc_now_ns());
	s = jobs_add(d->jobs, key.job_id, key.step_id, key.nodeid);
	if (!s) {
		refuse_step(reply, "the table of steps is full");
		return;
	}
	rc = registration_read(m, s, &err);
	if (rc == 0 && !jobs_has_room_for(d->jobs, s))
		rc = err_set(&err, -EDQUOT, "its user's share of the table of steps is full");
	if (rc == 0)
		rc = arrival_admit(d, s, m, &err);
	if (rc < 0) {
		log_refusal(s->id, err.text);
		refuse_step(reply, err.text);
		jobs_remove(d->jobs, s);
		return;
	}
	registration_keep(s, m);
	if (s->owned)
		kept_mark_owner(d->books, s);
	jobs_note_partners(d->jobs, s);
	if (s->status == STATUS_PENDING) {
		reading_open(d->measure, s);
		decide_run(d->choose, EVENT_ARRIVAL, s->id, s);
		/* The guard judges placements: both sides of its windows have the environment. */
		if ((strcmp(s->policy, "none") != 0 || s->held) && !s->dry_run && !d->conf->dry_run)
			set_environment(d, s, m);
		if (s->n_env && !s->seen.launch)
			s->seen.launch = "lever";
	}
	/* Its tasks are about to register: they would wait for it. */
	d->course->finish_put_off = s->status == STATUS_PENDING;
	daemon_start_ticking(d);
	put_step_reply(s, reply);
}

void arrival_after_answer(struct daemon *d)
{
	if (!d->course->finish_put_off)
		decide_finish(d->choose);
	for (int i = 0; i < d->jobs->n; i++)
		if (d->jobs->step[i]->row_id == 0)
			d->jobs->step[i]->dirty = true;
}

void arrival_task(struct daemon *d, const struct msg *m, struct msg *reply)
{
	char cores[CORESET_STR_MAX];
	struct errbuf err;
	struct step_key key = {0};
	int64_t pid = 0, lid = 0;
	struct step *s = NULL;
	int rc = registration_key(m, &key, &err);

	d->course->finish_put_off = false;
	if (rc == 0)
		rc = msg_get_int(m, "pid", 1, INT32_MAX, &pid, &err);
	if (rc == 0)
		rc = msg_get_int(m, "task", 0, UINT32_MAX, &lid, &err);
	if (rc == 0 && !(s = registration_step(d->jobs, &key)))
		rc = err_set(
			&err, -ENOENT, "step %u.%u is not registered", key.job_id, key.step_id);
	if (rc == 0 && !s->located) {
		rc = find_by_pid(d->jobs, d->actuate, s, (pid_t)pid, &err);
		quarantine_stale(d->choose); /* its allocation may be another than was said */
	}
	if (rc == 0 && !step_find_task(s, (uint32_t)lid))
		rc = step_add_task(s, (uint32_t)lid, (pid_t)pid);
	/* All tasks of a step wait for the last one's fork before any execs, and Slurm still sets
	 * masks of its own meanwhile: one placement, when all are there. */
	if (rc == 0 && step_is_launched(s))
		rc = decide_place(d->choose, s, &err);
	if (rc == 0 && step_is_launched(s))
		measure_begin(d->measure, s);
	else
		d->course->finish_put_off = rc == 0;
	if (rc < 0) {
		log_warning("step %u.%u: task not placed: %s", key.job_id, key.step_id, err.text);
		msg_init(reply, "task_refused");
		msg_put(reply, "reason", err.text);
		return;
	}
	msg_init(reply, "task_ok");
	msg_put(reply, "coreset", coreset_format(&s->coreset, cores, sizeof(cores)));
	msg_putf(reply, "cores", "%d", topo_count_cores(d->node->topo, &s->coreset));
	msg_put(reply, "policy", s->policy);
	msg_put(reply, "reason", *step_reason(s) ? step_reason(s) : s->why);
	if (step_is_launched(s))
		grant_anew(d, s, reply);
}
