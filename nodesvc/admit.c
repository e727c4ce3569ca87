/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * admit.c - what a step_start says: every field is checked here, and whether the step may come.
 * It places nothing and answers nothing.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/msg.h"
#include "common/text.h"
#include "nodesvc/books/books.h"
#include "nodesvc/daemon/daemon.h"
#include "common/launch_family.h"
#include "nodesvc/base/log.h"
#include "nodesvc/measure/measure.h"
#include "nodesvc/steps/whose.h"

/* Of a user's choosing: cleaned here, so that all who show it later may. */
static void copy_field(const struct msg *m, const char *key, char *ret, size_t size)
{
	text_copy(ret, size, msg_get(m, key));
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

/* "NAME,k=v,dry_run=yes" -> spec without dry_run, and the flag. */
static int split_policy(
	const char *text, char *ret_spec, size_t size, bool *ret_dry, struct errbuf *err)
{
	char copy[256];
	char *save = NULL;

	if (strlen(text) >= sizeof(copy) || strlen(text) >= size)
		return err_set(err, -EINVAL, "policy '%.40s...' is too long", text);
	text_copy(copy, sizeof(copy), text);
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
			text_copy(cache[at].name, sizeof(cache[at].name), found->pw_name);
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
		rc = optional_int(m, "ntasks", 0, INT32_MAX, &s->ntasks, err);
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
	/* Our own mark, from before a restart: no environment writes it. */
	if (msg_get(m, "slurm_partition")) {
		copy_field(m, "slurm_account", s->account, sizeof(s->account));
		copy_field(m, "slurm_partition", s->partition, sizeof(s->partition));
		s->owned = true;
	}
	copy_field(m, "jobname", s->job_name, sizeof(s->job_name));
	text_copy(s->program, sizeof(s->program), slash ? slash + 1 : name);
	text = msg_get(m, "tag");
	text_copy(s->type, sizeof(s->type), text && *text ? text : s->program);
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
	s->user_bound = text && *text && strcmp(text, "none") != 0 && !msg_get(m, "bind_unasked");
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
			if (core < d->node.topo->n_cores)
				coreset_or(ret, ret, &d->node.topo->core[core].pus);
	if (coreset_is_empty(ret))
		*ret = d->node.topo->all;
}

static bool allowed(const struct conf_list *l, const char *item)
{
	for (int i = 0; i < l->n; i++)
		if (strcmp(l->item[i], item) == 0)
			return true;
	return l->n == 0;
}

static int check_user(const struct conf *c, const struct step *s, struct errbuf *err)
{
	if (!allowed(&c->allow.users, s->user))
		return err_set(err, -EPERM, "user '%s' is not in allow.users", s->user);
	return 0;
}

bool lifecycle_goes_by_job(const struct conf *c)
{
	return c->allow.partitions.n > 0 || c->allow.accounts.n > 0;
}

/* After they are slurmctld's word. */
static int check_job(const struct conf *c, const struct step *s, struct errbuf *err)
{
	if (!allowed(&c->allow.partitions, s->partition))
		return err_set(
			err, -EPERM, "partition '%s' is not in allow.partitions", s->partition);
	if (!allowed(&c->allow.accounts, s->account))
		return err_set(err, -EPERM, "account '%s' is not in allow.accounts", s->account);
	return 0;
}

/* A job's batch shell makes room for the job's steps: it only waits for them. */
static void put_batch_aside(struct daemon *d, const struct step *s)
{
	struct step *batch = jobs_find(&d->jobs, s->job_id, STEP_BATCH, 0);

	if (!batch || batch == s || !step_is_managed(batch))
		return;
	levers_restore(d->levers, batch, STATUS_ASIDE, "its job runs steps of its own");
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

static void keep_out(struct step *s, const char *why)
{
	s->status = STATUS_EXCLUDED;
	snprintf(s->policy, sizeof(s->policy), "none");
	text_copy(s->reason, sizeof(s->reason), why);
}

static void keep_waiting(struct daemon *d, struct step *s)
{
	const char *trouble = whose_trouble(d->whose);
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
}

/* What a step that may come still has to pass. */
static int join(struct daemon *d, struct step *s, struct errbuf *err)
{
	int rc;

	s->reason[0] = '\0';
	if (s->nnodes > 1 && d->conf.multi_node == MULTI_NODE_ENVELOPE)
		snprintf(s->reason, sizeof(s->reason), "runs on %d nodes: keeps its envelope",
			s->nnodes);
	put_batch_aside(d, s);
	/* While its own status is "pending" it would count as the set it is to join. */
	s->status = STATUS_RELEASED;
	rc = ruling_admit(d->choose, s->req_policy, s->id, s->reason, sizeof(s->reason), err);
	s->status = STATUS_PENDING;
	return rc;
}

void lifecycle_learn(struct daemon *d, uint32_t job_id, const struct whose_job *j)
{
	bool joined = false;

	for (int i = 0; i < d->jobs.n; i++) {
		struct step *s = d->jobs.step[i];
		struct errbuf err;

		if (s->job_id != job_id || !s->unowned)
			continue;
		if (!j) {
			keep_waiting(d, s);
			continue;
		}
		take_owner(s, j);
		kept_mark_owner(d->books, s);
		if (check_job(&d->conf, s, &err) < 0 || join(d, s, &err) < 0) {
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

int lifecycle_admit(struct daemon *d, struct step *s, const struct msg *m, struct errbuf *err)
{
	const char *job_cores = msg_get(m, "job_cores"), *own;
	struct whose_job j;
	int rc = check_user(&d->conf, s, err);

	if (rc < 0)
		return rc;
	if (lifecycle_goes_by_job(&d->conf)) {
		s->unowned = !s->owned;
		if (s->unowned && whose_ask(d->whose, s->job_id, &j))
			take_owner(s, &j);
		rc = s->unowned ? 0 : check_job(&d->conf, s, err);
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
	if (s->exclude || (s->user_bound && d->conf.respect_user_binding)) {
		keep_out(s, s->exclude ? "--coloc-exclude"
				       : "its user bound it (--cpu-bind or SLURM_CPU_BIND)");
		s->unowned = false;
		return 0;
	}
	own = d->conf.rebind == REBIND_CPUSET ? binds_itself(m) : NULL;
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
