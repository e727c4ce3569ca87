/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctl.c - what colocctl and colocacct ask the daemon; one handler per command.
 *
 * Everybody may ask; a user sees his own steps and profiles only. Commands that change something
 * on the node are root's.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc.h"
#include "common/msg.h"
#include "common/text.h"
#include "config.h"
#include "nodesvc/books/books.h"
#include "nodesvc/choose/choose.h"
#include "nodesvc/conf/conf_keys.h"
#include "nodesvc/counters/profile_json.h"
#include "nodesvc/base/log.h"
#include "nodesvc/measure/measure.h"
#include "nodesvc/record/record.h"
#include "nodesvc/socket/internal.h"
#include "nodesvc/steps/steps.h"

struct request {
	const struct socket *k;
	uint32_t uid;
	const struct msg *m;
	struct errbuf *err;
	struct json_object *ret; /* the answer; the caller's */
};

static bool may_see(const struct request *r, const struct step *s)
{
	return r->uid == 0 || r->uid == s->uid;
}

static int do_ping(struct request *r)
{
	json_object_object_add(r->ret, "version", json_object_new_string(PACKAGE_VERSION));
	json_object_object_add(r->ret, "pid", json_object_new_int(getpid()));
	json_object_object_add(r->ret, "uptime_s",
		json_object_new_double((double)(ipc_now_ns() - r->k->start_ns) / 1e9));
	return 0;
}

static int replace(struct request *r, struct json_object *o)
{
	json_object_put(r->ret);
	r->ret = o;
	return o ? 0 : err_set(r->err, -ENOMEM, "out of memory");
}

/* Who asked for the policy that rules, for a user. */
static void name_ruler(struct request *r)
{
	const char *id = json_object_get_string(json_object_object_get(r->ret, "ruling_by"));
	const struct step *s = id ? jobs_find_id(r->k->jobs, id) : NULL;

	if (s && !may_see(r, s))
		json_object_object_add(
			r->ret, "ruling_by", json_object_new_string("another user's step"));
}

static int do_status(struct request *r)
{
	struct json_object *lags = json_object_new_array();
	int rc = replace(r, ctl_json_status(r->k));

	for (int i = 0; i < r->k->jobs->n; i++)
		if (may_see(r, r->k->jobs->step[i]))
			ctl_json_lags(r->k, r->k->jobs->step[i], lags);
	json_object_object_add(r->ret, "lags", lags);
	/* They name others' steps. */
	if (r->uid != 0) {
		json_object_object_del(r->ret, "owed_why");
		json_object_object_del(r->ret, "last_error");
		name_ruler(r);
	}
	return rc;
}

static int do_policies(struct request *r)
{
	return replace(r, ctl_json_policies(r->k));
}

static int do_counters(struct request *r)
{
	return replace(r, ctl_json_counters(r->k));
}

static int do_jobs(struct request *r)
{
	struct json_object *list = json_object_new_array();

	sampler_refresh(r->k->measure);
	for (int i = 0; i < r->k->jobs->n; i++)
		if (may_see(r, r->k->jobs->step[i]))
			json_object_array_add(list, ctl_json_step(r->k, r->k->jobs->step[i]));
	json_object_object_add(r->ret, "steps", list);
	return 0;
}

/* The step named by job=; the text of the error does not tell strangers' steps from none. */
static struct step *named_step(struct request *r)
{
	const char *id = msg_get(r->m, "job");
	struct step *s = id ? jobs_find_id(r->k->jobs, id) : NULL;

	if (!id)
		err_set(r->err, -EINVAL, "no job named");
	else if (!s || !may_see(r, s))
		err_set(r->err, -ENOENT, "no step '%.40s' runs under coloc on this node", id);
	return s && may_see(r, s) ? s : NULL;
}

/* Of the last decision, or "json={"decision": N}", as a trace, a page at a time: "from" goes on. */
static int add_trace(struct request *r)
{
	const char *text = msg_get(r->m, "json");
	struct json_object *o = text ? json_tokener_parse(text) : NULL, *value = NULL, *lines;
	struct choose_state state;
	uint64_t to, from = 0;
	int rc;

	choose_get_state(r->k->choose, &state);
	to = state.number;

	if (json_object_object_get_ex(o, "decision", &value))
		to = (uint64_t)json_object_get_int64(value);
	if (json_object_object_get_ex(o, "from", &value))
		from = (uint64_t)json_object_get_int64(value);
	json_object_put(o);
	rc = recording_page(r->k->choose, from, to, &lines, &from, r->err);
	if (rc < 0)
		return rc;
	json_object_object_add(r->ret, "trace", lines);
	json_object_object_add(r->ret, "decision", json_object_new_int64((int64_t)to));
	json_object_object_add(r->ret, "next", json_object_new_int64((int64_t)from));
	return 0;
}

/* Policies tell their figures by step: those of others, or of steps that have ended, are not his.
 */
static void leave_out_others(const struct request *r, struct json_object *figures)
{
	if (!json_object_is_type(figures, json_type_object))
		return;
	json_object_object_foreach(figures, key, value)
	{
		bool is_step = isdigit((unsigned char)*key) && strchr(key, '.');
		const struct step *s = is_step ? jobs_find_id(r->k->jobs, key) : NULL;

		if (is_step && (!s || !may_see(r, s)))
			json_object_object_del(figures, key);
		else
			leave_out_others(r, value);
	}
}

static void leave_out_of_decisions(const struct request *r)
{
	struct json_object *list = json_object_object_get(r->ret, "decisions");

	for (size_t i = 0; list && i < json_object_array_length(list); i++)
		leave_out_others(
			r, json_object_object_get(json_object_array_get_idx(list, i), "explain"));
}

static int do_explain(struct request *r)
{
	struct step *s = named_step(r);

	if (!s)
		return -ENOENT;
	replace(r, ctl_json_explain(r->k, s));
	if (r->uid != 0)
		leave_out_of_decisions(r);
	/* The views name others' steps: root's to save. */
	if (msg_get(r->m, "all") && r->uid != 0)
		return err_set(r->err, -EPERM, "the view has other users' steps: only root may");
	return msg_get(r->m, "all") ? add_trace(r) : 0;
}

static int do_release(struct request *r)
{
	const char *id = msg_get(r->m, "job");
	struct json_object *list = json_object_new_array();
	struct levers_state state;
	int rc = 0, matched = 0;

	json_object_object_add(r->ret, "released", list);
	for (int i = 0; i < r->k->jobs->n; i++) {
		struct step *s = r->k->jobs->step[i];
		char job[16];

		snprintf(job, sizeof(job), "%u", s->job_id);
		if (id && strcmp(id, s->id) != 0 && strcmp(id, job) != 0)
			continue;
		matched++;
		if (!status_is_managed(step_standing(s)) && step_standing(s) != STATUS_ASIDE)
			continue;
		if (levers_restore(r->k->levers, s, STATUS_RELEASED, "colocctl release") < 0)
			rc = err_set(r->err, -EIO, "%s", health_last_error());
		kept_mark_released(r->k->books, s);
		json_object_array_add(list, json_object_new_string(s->id));
		account_put(r->k->books, s, STEP_RUNNING, 0);
	}
	if (id && !matched)
		return err_set(
			r->err, -ENOENT, "no step '%.40s' runs under coloc on this node", id);
	/* What an earlier end could not put back is tried again, whatever its kind. */
	if (!id)
		levers_release(r->k->levers);
	if (owed_pass(r->k->levers, "an earlier change", r->err) < 0)
		rc = -EIO;
	levers_get_state(r->k->levers, &state);
	json_object_object_add(r->ret, "owed", json_object_new_int(state.owed));
	json_object_object_add(
		r->ret, "rows_left", json_object_new_int(ledger_count(r->k->ledger)));
	log_info("release %s: %zu steps left to Slurm's placement", id ? id : "all",
		json_object_array_length(list));
	if (id)
		decide_run(r->k->choose, EVENT_END, id, NULL);
	return rc;
}

static int do_reload(struct request *r)
{
	struct json_object *changed = json_object_new_array(), *restart = json_object_new_array();
	struct conf old, asked;
	int rc;

	json_object_object_add(r->ret, "changed", changed);
	json_object_object_add(r->ret, "needs_restart", restart);
	rc = r->k->on.reload(r->k->on.arg, &old, r->err);
	if (rc < 0)
		return rc;
	rc = conf_load(&asked, r->k->conf_path, true, r->err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < conf_n_keys; i++) {
		const struct conf_key *k = &conf_keys[i];

		if (memcmp((char *)&old + k->offset, (char *)&asked + k->offset, k->size) != 0)
			json_object_array_add(
				k->reload ? changed : restart, json_object_new_string(k->name));
	}
	return 0;
}

static int set_draining(struct request *r, bool draining)
{
	r->k->on.drain(r->k->on.arg, draining);
	json_object_object_add(r->ret, "draining", json_object_new_boolean(draining));
	log_info("%s", draining ? "draining: no new steps are taken" : "taking new steps again");
	return 0;
}

static int do_drain(struct request *r)
{
	return set_draining(r, true);
}

static int do_resume(struct request *r)
{
	return set_draining(r, false);
}

/* Profiles that a user may keep in the store: more than anybody has programs, and some 200 KiB. Of
 * his measurements the store keeps those made last. */
#define KEPT_PER_USER 500

struct kept_count {
	const char *user;
	int n;
};

static int count_profile(const struct profile *p, void *arg)
{
	struct kept_count *c = arg;

	c->n += strcmp(p->user, c->user) == 0;
	return 0;
}

/* -EDQUOT: he has to remove some first. Root may keep what it likes. */
static int check_quota(struct request *r, const char *user)
{
	struct kept_count c = {.user = user};
	int rc;

	if (r->uid == 0)
		return 0;
	rc = record_profile_list(r->k->record, count_profile, &c, r->err);
	if (rc < 0 || c.n < KEPT_PER_USER)
		return rc;
	log_warning("uid %u: no more than %d profiles are kept", r->uid, KEPT_PER_USER);
	return err_set(
		r->err, -EDQUOT, "%d are kept for you already: remove some (profile rm)", c.n);
}

static int put_measured(struct request *r, const char *json)
{
	struct measurement m;
	int rc = measured_from_text(json, &m, r->err);

	if (rc < 0)
		return rc;
	if (r->uid != 0 || !*m.user)
		registration_user_name(r->uid, m.user, sizeof(m.user));
	if (!*m.node_type)
		snprintf(m.node_type, sizeof(m.node_type), "%s", r->k->node->type);
	rc = record_measurement_put(r->k->record, &m, r->err);
	return rc < 0 ? rc : replace(r, measured_to_json(&m));
}

static int add_measured(const struct measurement *m, void *arg)
{
	json_object_array_add(arg, measured_to_json(m));
	return 0;
}

static int do_profile_put(struct request *r)
{
	const char *json = msg_get(r->m, "json");
	struct profile p;
	int rc;

	if (!json)
		return err_set(r->err, -EINVAL, "no profile sent");
	if (measured_is_text(json))
		return put_measured(r, json);
	rc = profile_from_text(json, &p, r->err);
	if (rc < 0)
		return rc;
	/* Users speak for themselves, and of this node. Root may import others'. */
	if (r->uid != 0 || !*p.user)
		registration_user_name(r->uid, p.user, sizeof(p.user));
	if (!*p.node_type)
		snprintf(p.node_type, sizeof(p.node_type), "%s", r->k->node->type);
	rc = check_quota(r, p.user);
	if (rc < 0)
		return rc;
	rc = record_profile_put(r->k->record, &p, r->err);
	if (rc < 0)
		return rc;
	return replace(r, profile_to_json(&p));
}

struct profile_walk {
	struct json_object *list;
	const char *type, *user;
};

static int add_profile(const struct profile *p, void *arg)
{
	struct profile_walk *w = arg;

	if ((!w->type || strcmp(w->type, p->type) == 0) &&
		(!w->user || strcmp(w->user, p->user) == 0))
		json_object_array_add(w->list, profile_to_json(p));
	return 0;
}

struct marks_walk {
	struct json_object *list;
	const char *type, *user;
};

static int add_mark(const struct learnt *l, void *arg)
{
	struct marks_walk *w = arg;
	struct seen_mark k;
	struct json_object *o;

	if ((w->type && strcmp(w->type, l->name) != 0) ||
		(w->user && strcmp(w->user, l->owner) != 0) || !priors_parse_mark(l->value, &k))
		return 0;
	o = json_object_new_object();
	json_object_object_add(o, "type", json_object_new_string(l->name));
	json_object_object_add(o, "user", json_object_new_string(l->owner));
	json_object_object_add(o, "node_type", json_object_new_string(l->node_type));
	json_object_object_add(o, "function", json_object_new_string(k.name));
	json_object_object_add(
		o, "spread", isfinite(k.spread) ? json_object_new_double(k.spread) : NULL);
	json_object_object_add(
		o, "alone_per_s", k.alone_cores ? json_object_new_double(k.alone_per_s) : NULL);
	json_object_object_add(
		o, "alone_cores", k.alone_cores ? json_object_new_int(k.alone_cores) : NULL);
	json_object_object_add(o, "last_unix_s", json_object_new_int64(l->put_unix_s));
	json_object_array_add(w->list, o);
	return 0;
}

static int do_profile_list(struct request *r)
{
	char user[33];
	struct profile_walk w = {
		.list = json_object_new_array(),
		.type = msg_get(r->m, "tag"),
	};

	struct json_object *measured = json_object_new_array();
	struct marks_walk marks;
	int rc;

	json_object_object_add(r->ret, "profiles", w.list);
	if (r->uid != 0) {
		registration_user_name(r->uid, user, sizeof(user));
		w.user = user;
	}
	rc = record_profile_list(r->k->record, add_profile, &w, r->err);
	if (rc < 0)
		return rc;
	json_object_object_add(r->ret, "measured", measured);
	rc = record_measurement_list(r->k->record, w.type, w.user, add_measured, measured, r->err);
	if (rc < 0)
		return rc;
	marks = (struct marks_walk){json_object_new_array(), w.type, w.user};
	json_object_object_add(r->ret, "calls", marks.list);
	return record_learnt_list(r->k->record, PRIORS_MARKS, add_mark, &marks, r->err);
}

static int do_profile_rm(struct request *r)
{
	const char *type = msg_get(r->m, "tag");
	char user[33];
	int n, rc;

	if (!type)
		return err_set(r->err, -EINVAL, "no profile named");
	registration_user_name(r->uid, user, sizeof(user));
	n = record_profile_rm(r->k->record, type, r->uid ? user : NULL, r->err);
	if (n < 0)
		return n;
	rc = record_measurement_rm(r->k->record, type, r->uid ? user : NULL, r->err);
	if (rc < 0)
		return rc;
	n += rc;
	rc = record_learnt_rm(r->k->record, PRIORS_MARKS, r->uid ? user : NULL, type, r->err);
	if (rc < 0)
		return rc;
	n += rc;
	if (n == 0)
		return err_set(r->err, -ENOENT, "no profile '%.60s'", type);
	json_object_object_add(r->ret, "removed", json_object_new_int(n));
	return 0;
}

/* The loop stands still while an answer is made: some 50 ms for so many rows. */
#define ACCT_ROWS_MAX 5000
/* With history a row is some 256 samples. */
#define ACCT_HISTORIES_MAX 60

struct acct_rows {
	struct json_object *list;
	size_t max;
};

static int add_row(const char *json_row, void *arg)
{
	struct acct_rows *rows = arg;
	struct json_object *row;

	if (json_object_array_length(rows->list) >= rows->max)
		return -EFBIG;
	row = json_tokener_parse(json_row);
	if (row)
		json_object_array_add(rows->list, row);
	return 0;
}

static bool wants_history(const char *filter)
{
	struct json_object *o = filter ? json_tokener_parse(filter) : NULL, *value = NULL;
	bool wants = json_object_is_type(o, json_type_object) &&
		     json_object_object_get_ex(o, "history", &value) &&
		     json_object_get_boolean(value);

	json_object_put(o);
	return wants;
}

static int do_acct(struct request *r)
{
	const char *filter = msg_get(r->m, "json");
	bool history = wants_history(filter);
	struct acct_rows rows = {.list = json_object_new_array(),
		.max = history ? ACCT_HISTORIES_MAX : ACCT_ROWS_MAX};
	int rc;

	json_object_object_add(r->ret, "steps", rows.list);
	ptable_flush(r->k->choose);
	account_flush(r->k->books); /* not a tick behind */
	rc = acct_query_json(r->k->record, r->uid, filter, add_row, &rows, r->err);
	if (rc == -EFBIG)
		err_set(r->err, rc, "more than %zu steps%s: narrow the time or name jobs", rows.max,
			history ? " with their history" : "");
	return rc;
}

#define RECORDING_MAX (UINT64_C(256) << 20)

static int do_record(struct request *r)
{
	const char *path = msg_get(r->m, "tag");
	uint64_t decisions, bytes;
	int rc;

	if (path)
		return recording_start(r->k->choose, path, RECORDING_MAX, r->err);
	rc = recording_stop(r->k->choose, &decisions, &bytes, r->err);
	if (rc < 0)
		return rc;
	json_object_object_add(r->ret, "decisions", json_object_new_int64((int64_t)decisions));
	json_object_object_add(r->ret, "bytes", json_object_new_int64((int64_t)bytes));
	return 0;
}

static int do_vacuum(struct request *r)
{
	struct store_look look;
	int rc = store_retain_look(r->k->books, &look, r->err);

	if (rc < 0)
		return rc;
	json_object_object_add(r->ret, "old_steps", json_object_new_int64(look.old_steps));
	json_object_object_add(r->ret, "bytes", json_object_new_int64(look.bytes));
	json_object_object_add(r->ret, "limit_bytes", json_object_new_int64(look.limit_bytes));
	store_retain_now(r->k->books);
	return 0;
}

static int do_quarantine_list(struct request *r)
{
	return replace(r, ctl_json_quarantine(r->k));
}

static int do_quarantine_rm(struct request *r)
{
	const char *name = msg_get(r->m, "tag");
	bool all = name && strcmp(name, "all") == 0;
	char *end = NULL;
	uint32_t id = 0;
	int n;

	if (!name)
		return err_set(r->err, -EINVAL, "no set named");
	if (!all) {
		id = (uint32_t)strtoul(name, &end, 16);
		if (strlen(name) != 8 || *end)
			return err_set(r->err, -EINVAL, "'%.40s' is no id of a set", name);
	}
	n = quarantine_forget(r->k->choose, all ? NULL : &id);
	if (n == 0 && !all)
		return err_set(r->err, -ENOENT, "no set '%s' is known", name);
	json_object_object_add(r->ret, "removed", json_object_new_int(n));
	log_info("guard: %d sets forgotten: colocctl quarantine rm %s", n, name);
	/* Who was kept away is tried again at once. */
	if (jobs_count_managed(r->k->jobs))
		decide_run(r->k->choose, EVENT_TICK, NULL, NULL);
	return 0;
}

static const struct {
	const char *name;
	bool root;
	int (*run)(struct request *r);
} commands[] = {
	{"ping", false, do_ping},
	{"status", false, do_status},
	{"jobs", false, do_jobs},
	{"explain", false, do_explain},
	{"policies", false, do_policies},
	{"counters", false, do_counters},
	{"acct", false, do_acct},
	{"profile_put", false, do_profile_put},
	{"profile_list", false, do_profile_list},
	{"profile_rm", false, do_profile_rm},
	{"quarantine_list", true, do_quarantine_list}, /* names others' programs */
	{"quarantine_rm", true, do_quarantine_rm},
	{"record", true, do_record},
	{"release", true, do_release},
	{"reload", true, do_reload},
	{"drain", true, do_drain},
	{"resume", true, do_resume},
	{"vacuum", true, do_vacuum},
};

int ctl_run(const struct socket *k, uint32_t uid, const struct msg *m, char **ret_json,
	struct errbuf *err)
{
	struct request r = {.k = k, .uid = uid, .m = m, .err = err};
	const char *cmd = msg_get(m, "cmd");
	int rc = -ENOENT;

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (!cmd || strcmp(commands[i].name, cmd) != 0)
			continue;
		if (commands[i].root && uid != 0) {
			log_info("uid %u asked for '%s': only root may", uid, cmd);
			return err_set(err, -EPERM, "%s: only root may", cmd);
		}
		r.ret = json_object_new_object();
		rc = r.ret ? commands[i].run(&r) : err_set(err, -ENOMEM, "out of memory");
		if (r.ret)
			*ret_json = strdup(
				json_object_to_json_string_ext(r.ret, JSON_C_TO_STRING_PLAIN));
		if (*ret_json)
			text_clean(*ret_json); /* what is in the store may be older than that */
		json_object_put(r.ret);
		return rc;
	}
	return err_set(err, rc, "unknown command '%.40s'", cmd ? cmd : "");
}
