/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lifecycle.c - steps come (step_start, task_start), go (task_exit, step_end, or their cgroup is
 * gone), and are accounted. Messages were checked to come from root; every field is checked here.
 */
#include <errno.h>
#include <math.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/ipc.h"
#include "common/msg.h"
#include "nodesvc/daemon.h"
#include "nodesvc/linkage.h"
#include "nodesvc/log.h"
#include "nodesvc/ptable.h"
#include "nodesvc/quarantine.h"

/* A registered step whose tasks never came: the launch failed before fork. */
#define PENDING_MAX_NS INT64_C(30000000000)
/* A control launch is placed when its runtime has chosen its threads and its way of waiting. */
#define CONTROL_NS INT64_C(1000000000)
/* An executable that is not read in this time, a fraction of the plugin's budget, is not known. */
#define LINKS_MS 20
/* The newest launches count: programs and nodes change. */
#define LAUNCHES_MAX 50
/* Refused steps are logged one in so long. */
#define REFUSALS_NS INT64_C(60000000000)
/* So much of what was measured a crash may lose. */
#define CARRY_NS INT64_C(5000000000)
/* A batch shell comes back into the set when its job ran no step for this long. */
#define ASIDE_BACK_NS INT64_C(2000000000)
#define VERIFY_NS     INT64_C(10000000000)
/* Nobody looks at a step's history closer than this; and one transaction writes it for all. */
#define HISTORY_NS INT64_C(1000000000)

static int64_t unix_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static void copy_field(const struct msg *m, const char *key, char *ret, size_t size)
{
	const char *v = msg_get(m, key);

	snprintf(ret, size, "%s", v ? v : "");
}

static int optional_int(const struct msg *m, const char *key, int64_t min, int64_t max, int *ret,
	struct errbuf *err)
{
	int64_t v;
	int rc = msg_get_int(m, key, min, max, &v, err);

	if (rc == 0)
		*ret = (int)v;
	return rc == -ENOENT ? 0 : rc;
}

struct step_key {
	uint32_t job_id, step_id, nodeid;
};

static int step_ids(const struct msg *m, struct step_key *ret, struct errbuf *err)
{
	int64_t job, step, node = 0;
	int rc = msg_get_int(m, "job", 1, UINT32_MAX, &job, err);

	if (rc == 0)
		rc = msg_get_int(m, "step", 0, UINT32_MAX, &step, err);
	if (rc == 0 && msg_get(m, "nodeid"))
		rc = msg_get_int(m, "nodeid", 0, UINT32_MAX, &node, err);
	if (rc < 0)
		return rc;
	*ret = (struct step_key){(uint32_t)job, (uint32_t)step, (uint32_t)node};
	return 0;
}

static struct step *find_step(struct daemon *d, const struct step_key *k)
{
	return jobs_find(&d->jobs, k->job_id, k->step_id, k->nodeid);
}

/* "NAME,k=v,dry_run=yes" -> spec without dry_run, and the flag. */
static int split_policy(
	const char *text, char *ret_spec, size_t size, bool *ret_dry, struct errbuf *err)
{
	char copy[256];
	char *save = NULL;

	if (strlen(text) >= sizeof(copy) || strlen(text) >= size)
		return err_set(err, -EINVAL, "policy '%.40s...' is too long", text);
	memcpy(copy, text, strlen(text) + 1);
	*ret_spec = '\0';
	for (char *p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
		if (strncmp(p, "dry_run=", 8) == 0) {
			if (strcmp(p + 8, "yes") != 0 && strcmp(p + 8, "no") != 0)
				return err_set(err, -EINVAL, "%s: neither yes nor no", p);
			*ret_dry = strcmp(p + 8, "yes") == 0;
			continue;
		}
		step_note(ret_spec, size, ",", p, true);
	}
	return 0;
}

/* Asked for each step, and a directory service may be slow: the last names are kept. */
static void user_name(uint32_t uid, char *ret, size_t size)
{
	static struct {
		bool known;
		uint32_t uid;
		char name[33];
	} cache[64];
	struct passwd pw, *found = NULL;
	char buf[4096];
	size_t at = uid % 64;

	if (!cache[at].known || cache[at].uid != uid) {
		if (getpwuid_r(uid, &pw, buf, sizeof(buf), &found) == 0 && found)
			snprintf(cache[at].name, sizeof(cache[at].name), "%s", found->pw_name);
		else
			snprintf(cache[at].name, sizeof(cache[at].name), "%u", uid);
		cache[at].uid = uid;
		cache[at].known = true;
	}
	snprintf(ret, size, "%s", cache[at].name);
}

int lifecycle_read_step(const struct msg *m, struct step *s, struct errbuf *err)
{
	const char *name = msg_get(m, "name"), *text;
	const char *slash = name ? strrchr(name, '/') : NULL;
	int uid = 0, array_job = 0, rc;
	int64_t id;

	rc = optional_int(m, "uid", 0, INT32_MAX, &uid, err);
	if (rc == 0)
		rc = optional_int(m, "nnodes", 1, 1 << 20, &s->nnodes, err);
	if (rc == 0)
		rc = optional_int(m, "ntasks", 0, STEP_TASKS_MAX, &s->ntasks, err);
	if (rc == 0)
		rc = optional_int(m, "cpus_asked", 0, CORESET_MAX, &s->cpus_per_task, err);
	if (rc == 0)
		rc = optional_int(m, "min_cores", 0, CORESET_MAX, &s->min_cores, err);
	if (rc == 0)
		rc = optional_int(m, "array_job", 0, INT32_MAX, &array_job, err);
	if (rc < 0)
		return rc;
	if (msg_get_int(m, "array_task", 0, UINT32_MAX, &id, NULL) == 0)
		s->array_task = (uint32_t)id;
	s->uid = (uint32_t)uid;
	s->array_job = (uint32_t)array_job;
	copy_field(m, "account", s->account, sizeof(s->account));
	copy_field(m, "partition", s->partition, sizeof(s->partition));
	copy_field(m, "jobname", s->job_name, sizeof(s->job_name));
	snprintf(s->program, sizeof(s->program), "%s", slash ? slash + 1 : name ? name : "");
	text = msg_get(m, "tag");
	snprintf(s->type, sizeof(s->type), "%s", text && *text ? text : s->program);
	text = msg_get(m, "priority");
	s->has_priority = text && *text;
	s->priority_high = text && strcmp(text, "high") == 0;
	text = msg_get(m, "qos");
	if (text && *text) {
		char *end;

		s->qos = strtod(text, &end);
		if (*end || !(s->qos > 0 && s->qos <= 1))
			return err_set(err, -EINVAL, "qos '%s' is not in (0, 1]", text);
	}
	s->batch = msg_get(m, "batch") != NULL;
	s->omp = msg_get(m, "omp") != NULL;
	s->exclude = msg_get(m, "exclude") != NULL;
	text = msg_get(m, "bind_type");
	s->user_bound = text && *text && strcmp(text, "none") != 0 && !msg_get(m, "bind_inherited");
	text = msg_get(m, "policy");
	rc = split_policy(text ? text : "", s->req_policy, sizeof(s->req_policy), &s->dry_run, err);
	if (rc == 0 && msg_get(m, "dry_run"))
		s->dry_run = true;
	/* By uid: the environment, where Slurm has the name too, is the user's to write. */
	user_name(s->uid, s->user, sizeof(s->user));
	return rc;
}

/* Slurm's abstract cores (socket by socket) are hwloc's logical cores. */
static void envelope_from_cores(struct daemon *d, const char *cores, struct coreset *ret)
{
	struct coreset abstract;

	coreset_zero(ret);
	if (cores && coreset_parse(&abstract, cores, NULL) == 0)
		coreset_for_each (core, &abstract)
			if (core < d->topo->n_cores)
				coreset_or(ret, ret, &d->topo->core[core].pus);
	if (coreset_is_empty(ret))
		*ret = d->topo->all;
}

static bool allowed(const struct conf_list *l, const char *item)
{
	for (int i = 0; i < l->n; i++)
		if (strcmp(l->item[i], item) == 0)
			return true;
	return l->n == 0;
}

static int check_allowed(const struct conf *c, const struct step *s, struct errbuf *err)
{
	if (!allowed(&c->allow_partitions, s->partition))
		return err_set(
			err, -EPERM, "partition '%s' is not in allow.partitions", s->partition);
	if (!allowed(&c->allow_users, s->user))
		return err_set(err, -EPERM, "user '%s' is not in allow.users", s->user);
	if (!allowed(&c->allow_accounts, s->account))
		return err_set(err, -EPERM, "account '%s' is not in allow.accounts", s->account);
	return 0;
}

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

/* A job's batch shell makes room for the job's steps: it only waits for them. */
static void put_batch_aside(struct daemon *d, const struct step *s)
{
	struct step *batch = jobs_find(&d->jobs, s->job_id, STEP_BATCH, 0);

	if (!batch || batch == s || !step_is_managed(batch))
		return;
	decide_restore(d, batch, STATUS_ASIDE, "its job runs steps of its own");
}

static void put_step_reply(const struct step *s, struct msg *reply)
{
	char names[512] = "";

	msg_init(reply, "step_ok");
	msg_put(reply, "policy", s->policy);
	msg_put(reply, "req_policy", s->req_policy);
	msg_put(reply, "reason", step_reason(s));
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

static void note_partners(struct daemon *d, struct step *s)
{
	for (int i = 0; i < d->jobs.n; i++) {
		struct step *o = d->jobs.step[i];

		if (o == s || o->job_id == s->job_id)
			continue;
		step_note(s->partners, sizeof(s->partners), ",", o->id, false);
		step_note(o->partners, sizeof(o->partners), ",", s->id, false);
	}
}

int lifecycle_admit(struct daemon *d, struct step *s, const struct msg *m, struct errbuf *err)
{
	const char *job_cores = msg_get(m, "job_cores");
	int rc = check_allowed(&d->conf, s, err);

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
	if (s->exclude || (s->user_bound && d->conf.respect_user_binding)) {
		s->status = STATUS_EXCLUDED;
		snprintf(s->policy, sizeof(s->policy), "none");
		snprintf(s->reason, sizeof(s->reason), "%s",
			s->exclude ? "--coloc-exclude" : "its user bound it (--cpu-bind)");
		return 0;
	}
	if (s->nnodes > 1 && d->conf.multi_node == MULTI_NODE_ENVELOPE)
		snprintf(s->reason, sizeof(s->reason), "runs on %d nodes: keeps its envelope",
			s->nnodes);
	put_batch_aside(d, s);
	/* While its own status is "pending" it would count as the set it is to join. */
	s->status = STATUS_RELEASED;
	rc = decide_admit(d, s->req_policy, s->id, s->reason, sizeof(s->reason), err);
	s->status = STATUS_PENDING;
	return rc;
}

/* One launch in so many without the levers that act before exec, to know what they are worth. */
static bool start_control(struct daemon *d, struct step *s)
{
	if (s->batch || drand48() >= d->conf.control_fraction)
		return false;
	s->track.launch = "control";
	s->track.control_until_ns = s->start_mono_ns + CONTROL_NS;
	log_debug("step %s: starts without a lever, to compare", s->id);
	return true;
}

/* Only where there is something to choose. */
static void find_links(struct daemon *d, struct step *s, const struct msg *m)
{
	const char *name = msg_get(m, "name");

	if (!name || s->batch || !d->conf.launch_env.enabled)
		return;
	s->links = linkage_of(d->linkage, name, s->uid, LINKS_MS, s->start_mono_ns);
}

void lifecycle_step_start(struct daemon *d, const struct msg *m, struct msg *reply)
{
	struct errbuf err;
	struct step *s;
	struct step_key key = {0};
	int rc = step_ids(m, &key, &err);

	if (rc < 0 || key.step_id == STEP_EXTERN) {
		refuse_step(reply, rc < 0 ? err.text : "the extern step is never touched");
		return;
	}
	s = find_step(d, &key);
	if (s && s->n_tasks == 0) { /* sent twice: same answer */
		put_step_reply(s, reply);
		return;
	}
	if (s) /* requeued under the same ids: the old life is over */
		lifecycle_end(d, s, unix_ns());
	if (d->draining) {
		refuse_step(reply, "the node drains: colocctl resume");
		return;
	}
	s = jobs_add(&d->jobs, key.job_id, key.step_id, key.nodeid);
	if (!s) {
		refuse_step(reply, "the table of steps is full");
		return;
	}
	rc = lifecycle_read_step(m, s, &err);
	if (rc == 0)
		rc = lifecycle_admit(d, s, m, &err);
	if (rc < 0) {
		log_refusal(s->id, err.text);
		refuse_step(reply, err.text);
		jobs_remove(&d->jobs, s);
		return;
	}
	s->message = malloc(m->len);
	if (s->message) {
		memcpy(s->message, m->buf, m->len);
		s->message_len = m->len;
	}
	note_partners(d, s);
	if (s->status == STATUS_PENDING) {
		sample_open_step(d, s);
		decide_run(d, EVENT_ARRIVAL, s->id, s);
		/* The guard judges placements: both sides of its windows have the environment. */
		if ((strcmp(s->policy, "none") != 0 || s->held) && !s->dry_run &&
			!d->conf.dry_run && !start_control(d, s)) {
			find_links(d, s, m);
			launch_decide(&d->conf, s, m, topo_count_cores(d->topo, &s->envelope),
				topo_count_cores(d->topo, s->held ? &s->envelope : &s->coreset));
		}
		if (s->n_env && !s->track.launch)
			s->track.launch = "lever";
	}
	decide_start_ticking(d);
	put_step_reply(s, reply);
}

void lifecycle_after_answer(struct daemon *d)
{
	decide_finish(d);
	for (int i = 0; i < d->jobs.n; i++)
		if (d->jobs.step[i]->row_id == 0)
			d->jobs.step[i]->dirty = true;
}

/* What may be lost, in one transaction; rows of steps are not among it. */
static void write_histories(struct daemon *d)
{
	int64_t now_ns = ipc_now_ns();
	bool own;

	if (d->jobs.n == 0 || now_ns - d->last_history_ns < HISTORY_NS)
		return;
	d->last_history_ns = now_ns;
	own = record_begin(d->record, NULL) == 0;
	for (int i = 0; i < d->jobs.n; i++) {
		struct step *s = d->jobs.step[i];

		if (s->kept && now_ns - s->carried_ns >= CARRY_NS)
			adopt_carry(d, s);
		history_write(d, s);
	}
	if (own)
		record_end(d->record, 0, NULL);
}

/*
 * What is only written down can wait for the next tick: on a node whose cores are all taken, our
 * writing would run where the step being launched runs. The ledger never waits.
 */
void lifecycle_flush(struct daemon *d)
{
	decide_flush(d);
	ptable_flush(d);
	for (int i = 0; i < d->jobs.n; i++) {
		struct step *s = d->jobs.step[i];
		bool keep = !s->kept && s->n_tasks && s->n_tasks >= s->ntasks;

		if (s->dirty || keep)
			lifecycle_put_row(d, s, STEP_RUNNING, 0);
		if (keep)
			adopt_keep(d, s);
		s->kept |= keep;
		if (s->kept && s->dirty)
			adopt_carry(d, s);
		s->dirty = false;
	}
	write_histories(d);
}

int lifecycle_locate(struct daemon *d, struct step *s, pid_t pid, struct errbuf *err)
{
	const struct actuate_ops *ops = actuate_get_ops(d->actuate);
	struct step_cgroup cg;
	int rc = ops->locate(d->actuate, pid, &cg, err);

	if (rc < 0)
		return rc;
	/* A path without the job's number (actuate.h: sluid) leaves the plugin's word for it. */
	if (cg.sluid[0])
		cg.job_id = s->job_id;
	if (cg.job_id != s->job_id || cg.step_id != s->step_id)
		return err_set(err, -EPROTO, "pid %d is in step %u.%u, not %s", (int)pid, cg.job_id,
			cg.step_id, s->id);
	rc = ops->allocation(d->actuate, &cg, &s->slurm_job, &s->slurm_step, err);
	if (rc < 0)
		return rc;
	s->cgroup = cg;
	s->located = true;
	s->envelope = s->slurm_job;
	return 0;
}

void lifecycle_task_start(struct daemon *d, const struct msg *m, struct msg *reply)
{
	char cores[CORESET_STR_MAX];
	struct errbuf err;
	struct step_key key = {0};
	int64_t pid = 0, lid = 0;
	struct step *s = NULL;
	int rc = step_ids(m, &key, &err);

	if (rc == 0)
		rc = msg_get_int(m, "pid", 1, INT32_MAX, &pid, &err);
	if (rc == 0)
		rc = msg_get_int(m, "task", 0, UINT32_MAX, &lid, &err);
	if (rc == 0 && !(s = find_step(d, &key)))
		rc = err_set(
			&err, -ENOENT, "step %u.%u is not registered", key.job_id, key.step_id);
	if (rc == 0 && !s->located) {
		rc = lifecycle_locate(d, s, (pid_t)pid, &err);
		quarantine_stale(d); /* its allocation may be another than was said */
	}
	if (rc == 0 && !step_find_task(s, (uint32_t)lid))
		rc = step_add_task(s, (uint32_t)lid, (pid_t)pid);
	/* All tasks of a step wait for the last one's fork before any execs, and Slurm still sets
	 * masks of its own meanwhile: one placement, when all are there. */
	if (rc == 0 && s->n_tasks >= s->ntasks)
		rc = decide_place(d, s, &err);
	if (rc < 0) {
		log_warning("step %u.%u: task not placed: %s", key.job_id, key.step_id, err.text);
		msg_init(reply, "task_refused");
		msg_put(reply, "reason", err.text);
		return;
	}
	msg_init(reply, "task_ok");
	msg_put(reply, "coreset", coreset_format(&s->coreset, cores, sizeof(cores)));
	msg_putf(reply, "cores", "%d", topo_count_cores(d->topo, &s->coreset));
	msg_put(reply, "policy", s->policy);
	msg_put(reply, "reason", *step_reason(s) ? step_reason(s) : s->why);
}

static enum step_state final_state(const struct step *s)
{
	if (s->n_tasks == 0 || s->n_alive > 0 || s->exit_status < 0 || s->exit_unknown)
		return STEP_UNKNOWN;
	return s->exit_status == 0 ? STEP_COMPLETED : STEP_FAILED;
}

static int add_log(double speed, void *arg)
{
	gain_mean_add(arg, log(speed));
	return 0;
}

/* This launch and those of its program before it: with the levers over without. */
static void compare_launches(struct daemon *d, const struct step_row *row, enum provenance basis,
	struct step_figures *figures)
{
	struct gain_mean with = {0}, without = {0};
	struct gain_estimate gain;
	struct errbuf err;

	if (!figures->launch || !figures->speed_unit || !row->program)
		return;
	if (record_launches(d->record, row, "lever", LAUNCHES_MAX, add_log, &with, &err) < 0 ||
		record_launches(d->record, row, "control", LAUNCHES_MAX, add_log, &without, &err) <
			0)
		return;
	if (figures->shared_speed > 0)
		gain_mean_add(strcmp(figures->launch, "lever") == 0 ? &with : &without,
			log(figures->shared_speed));
	gain_unpaired(&with, &without, &gain);
	figures->gain_launch = gain.ratio;
	figures->gain_launch_lo = gain.lo;
	figures->gain_launch_hi = gain.hi;
	figures->launches = gain.n;
	if (isfinite(gain.ratio) && !figures->gain_basis)
		figures->gain_basis = provenance_name(basis);
}

void lifecycle_put_row(struct daemon *d, struct step *s, enum step_state state, int64_t end_ns)
{
	char cores[CORESET_STR_MAX];
	struct step_figures figures;
	struct errbuf err;
	int rc;
	struct step_row row = {
		.row_id = s->row_id,
		.job_id = s->job_id,
		.step_id = s->step_id,
		.array_job_id = s->array_job,
		.array_task_id = s->array_task,
		.node = *s->cgroup.node ? s->cgroup.node : NULL,
		.name = *s->job_name ? s->job_name : NULL,
		.program = *s->type ? s->type : NULL,
		.uid = s->uid,
		.user = *s->user ? s->user : NULL,
		.account = *s->account ? s->account : NULL,
		.partition = *s->partition ? s->partition : NULL,
		.policy = *s->policy ? s->policy : NULL,
		.req_policy = *s->req_policy ? s->req_policy : NULL,
		.reason = *step_reason(s) ? step_reason(s) : NULL,
		.cores = topo_count_cores(d->topo, &s->coreset),
		.coreset_history = *s->history ? s->history : NULL,
		.partners = *s->partners ? s->partners : NULL,
		.start_ns = s->start_unix_ns,
		.end_ns = end_ns,
		.rebinds = s->rebinds,
		.tasks = s->n_tasks,
		.exit_code = s->exit_status,
		.state = state,
		.dry_run = s->dry_run || d->conf.dry_run,
		.figures = &figures,
	};

	track_figures(d, s, state == STEP_COMPLETED, &figures);
	if (end_ns)
		compare_launches(d, &row, s->track.last.basis, &figures);
	if (!coreset_is_empty(&s->coreset))
		row.coreset = coreset_format(&s->coreset, cores, sizeof(cores));
	rc = record_step_put(d->record, &row, &err);
	if (rc < 0 && store_recover(d, rc)) {
		row.row_id = 0;
		rc = record_step_put(d->record, &row, &err);
	}
	if (rc < 0) {
		log_error("step %s: accounting: %s", s->id, err.text);
		snprintf(d->last_error, sizeof(d->last_error), "accounting: %.200s", err.text);
		return;
	}
	s->row_id = row.row_id;
}

void lifecycle_end(struct daemon *d, struct step *s, int64_t end_unix_ns)
{
	bool managed = step_is_managed(s);
	char id[JOB_ID_MAX];
	struct errbuf err;

	rotate_leave(d, s);
	lend_end(d, s);
	memory_leave(d, s);
	/* Mostly gone already; then this only empties the ledger. */
	if (s->located && actuate_get_ops(d->actuate)->restore(d->actuate, &s->cgroup, &err) < 0)
		log_error("step %s: restore at its end: %s", s->id, err.text);
	trial_abort(d);
	track_close(d, s);
	lifecycle_put_row(d, s, final_state(s), end_unix_ns);
	history_write(d, s);
	if (s->kept)
		adopt_forget(d, s);
	sample_close_step(d, s);
	snprintf(id, sizeof(id), "%s", s->id);
	slurmacct_step_ended(d, s);
	if (final_state(s) == STEP_COMPLETED)
		d->has_task_done = ptable_note(d, s, &d->task_done);
	jobs_remove(&d->jobs, s);
	if (managed)
		decide_run(d, EVENT_END, id, NULL);
}

void lifecycle_task_exit(struct daemon *d, const struct msg *m)
{
	struct errbuf err;
	struct step_key key = {0};
	int64_t lid, status;
	struct step *s;
	struct task *t;

	if (step_ids(m, &key, &err) < 0 || msg_get_int(m, "task", 0, UINT32_MAX, &lid, &err) < 0)
		return;
	s = find_step(d, &key);
	t = s ? step_find_task(s, (uint32_t)lid) : NULL;
	if (!t || t->ended)
		return;
	t->ended = true;
	s->n_alive--;
	if (msg_get_int(m, "status", 0, INT32_MAX, &status, &err) == 0) {
		t->status = (int)status;
		if (t->status > s->exit_status)
			s->exit_status = t->status;
	}
}

void lifecycle_step_end(struct daemon *d, const struct msg *m)
{
	struct errbuf err;
	struct step_key key = {0};
	struct step *s;

	if (step_ids(m, &key, &err) < 0)
		return;
	s = find_step(d, &key);
	if (s)
		lifecycle_end(d, s, unix_ns());
}

static bool job_has_steps(const struct daemon *d, const struct step *batch)
{
	for (int i = 0; i < d->jobs.n; i++)
		if (d->jobs.step[i] != batch && d->jobs.step[i]->job_id == batch->job_id)
			return true;
	return false;
}

/* Ours again, after another hand wrote the step's or its job's cpuset. */
static void place_again(struct daemon *d, struct step *s)
{
	struct actuate_result result;
	struct coreset cpus;
	struct errbuf err;
	int rc;

	if (s->status != STATUS_PLACED || trial_is_on(d))
		return;
	cpus = step_cpus(s);
	rc = actuate_get_ops(d->actuate)->apply(d->actuate, &s->cgroup, &cpus, &result, &err);
	if (rc == -ENOENT)
		return; /* ended meanwhile: step_end, or the next look, tells */
	if (rc < 0) {
		log_warning("step %s: placement again: %s", s->id, err.text);
		return;
	}
	s->reapplied++;
	log_info("step %s: its cpuset was rewritten by another hand, placed again", s->id);
}

static void on_rewritten(const char *step_path, void *arg)
{
	struct daemon *d = arg;

	for (int i = 0; i < d->jobs.n; i++)
		if (strcmp(d->jobs.step[i]->cgroup.step_path, step_path) == 0)
			place_again(d, d->jobs.step[i]);
}

void lifecycle_watch(int fd, uint32_t events, void *daemon)
{
	struct daemon *d = daemon;

	(void)fd;
	(void)events;
	actuate_watch_read(d->actuate, on_rewritten, d);
}

/* Without a backend that lists a step's threads, its tasks' pids have to tell. */
static bool tasks_gone(const struct step *s)
{
	for (int i = 0; i < s->n_tasks; i++)
		if (!s->task[i].ended && (kill(s->task[i].pid, 0) == 0 || errno != ESRCH))
			return false;
	return s->n_tasks > 0;
}

/* Is the step still there? As threads() says it; where there is a directory, for less. */
static int look_for(struct daemon *d, const struct step *s)
{
	const struct actuate_ops *ops = actuate_get_ops(d->actuate);
	cleanup_free pid_t *tid = NULL;
	int n;

	if (s->cgroup.step_inode)
		return fsroot_inode(&d->root, s->cgroup.step_path) == s->cgroup.step_inode
			       ? 0
			       : -ENOENT;
	return ops->threads(d->actuate, &s->cgroup, &tid, &n);
}

/* Somebody may have written unseen: where the kernel tells of writes, this is for those it lost. */
static bool verify_is_due(const struct daemon *d, struct step *s, int64_t now_ns)
{
	int64_t every_ns = actuate_watch_fd(d->actuate) >= 0 ? VERIFY_NS : 0;

	/* Not all in one tick. */
	if (s->pace.verified_ns == 0)
		s->pace.verified_ns = now_ns - s->order % 10 * (every_ns / 10);
	if (s->status != STATUS_PLACED || now_ns - s->pace.verified_ns < every_ns)
		return false;
	s->pace.verified_ns = now_ns;
	return true;
}

void lifecycle_reconcile(struct daemon *d, int64_t now_ns)
{
	for (int i = d->jobs.n - 1; i >= 0; i--) {
		struct step *s = d->jobs.step[i];
		struct coreset cpus;
		int rc;

		if (!s->located) {
			if (now_ns - s->start_mono_ns > PENDING_MAX_NS)
				lifecycle_end(d, s, unix_ns());
			continue;
		}
		rc = look_for(d, s);
		if (rc == -ENOENT || (rc < 0 && tasks_gone(s))) {
			/* What tells its exit status may wait in the socket: at the next look. */
			if (s->gone)
				lifecycle_end(d, s, unix_ns());
			else
				s->gone = true;
			continue;
		}
		cpus = step_cpus(s);
		if (verify_is_due(d, s, now_ns) &&
			actuate_get_ops(d->actuate)->verify(d->actuate, &s->cgroup, &cpus) == 1)
			place_again(d, s);
		if (s->status == STATUS_ASIDE && job_has_steps(d, s)) {
			s->last_move_ns = now_ns;
		} else if (s->status == STATUS_ASIDE && now_ns - s->last_move_ns > ASIDE_BACK_NS) {
			s->status = STATUS_PENDING;
			s->reason[0] = '\0';
			decide_run(d, EVENT_ARRIVAL, s->id, NULL);
		}
	}
}
