/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/steps/steps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/msg.h"
#include "common/text.h"

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

int registration_read(const struct msg *m, struct step *s, struct errbuf *err)
{
	const char *name = msg_get(m, "name"), *text;
	const char *slash = name ? strrchr(name, '/') : NULL;
	int array_job = 0, rc;
	int64_t id, uid = 0;

	/* Directories number users up to the largest. */
	rc = msg_get_int(m, "uid", 0, UINT32_MAX - 1, &uid, err);
	if (rc == -ENOENT)
		rc = 0;
#define NUMBER(member, key, least, most)                                                           \
	if (rc == 0)                                                                               \
		rc = optional_int(m, key, least, most, &s->member, err);
#define FLAG(member, key) s->member = msg_get(m, key) != NULL;
#include "nodesvc/steps/registration.def"
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
	text = msg_get(m, "args");
	s->args = text ? (uint32_t)strtoul(text, NULL, 16) : 0;
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
	text = msg_get(m, "bind_type");
	s->user_bound = text && *text && strcmp(text, "none") != 0 && !msg_get(m, "bind_unasked");
	text = msg_get(m, "policy");
	rc = split_policy(text ? text : "", s->req_policy, sizeof(s->req_policy), &s->dry_run, err);
	if (rc == 0 && msg_get(m, "dry_run"))
		s->dry_run = true;
	/* By uid: the environment, where Slurm has the name too, is the user's to write. */
	registration_user_name(s->uid, s->user, sizeof(s->user));
	return rc;
}

static bool allowed(const struct conf_list *l, const char *item)
{
	for (int i = 0; i < l->n; i++)
		if (strcmp(l->item[i], item) == 0)
			return true;
	return l->n == 0;
}

int registration_check_user(const struct conf *c, const struct step *s, struct errbuf *err)
{
	if (!allowed(&c->allow.users, s->user))
		return err_set(err, -EPERM, "user '%s' is not in allow.users", s->user);
	return 0;
}

bool registration_goes_by_job(const struct conf *c)
{
	return c->allow.partitions.n > 0 || c->allow.accounts.n > 0;
}

int registration_check_job(const struct conf *c, const struct step *s, struct errbuf *err)
{
	if (!allowed(&c->allow.partitions, s->partition))
		return err_set(
			err, -EPERM, "partition '%s' is not in allow.partitions", s->partition);
	if (!allowed(&c->allow.accounts, s->account))
		return err_set(err, -EPERM, "account '%s' is not in allow.accounts", s->account);
	return 0;
}

int registration_key(const struct msg *m, struct step_key *ret, struct errbuf *err)
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

void registration_keep(struct step *s, const struct msg *m)
{
	s->message = malloc(m->len);
	for (size_t at = 0; s->message && at < m->len;) {
		const char *record = m->buf + at;
		size_t len = strlen(record) + 1;

		at += len;
		if (strncmp(record, "cwd=", 4) == 0 || strncmp(record, "path=", 5) == 0)
			continue;
		memcpy(s->message + s->message_len, record, len);
		s->message_len += len;
	}
}

struct step *registration_step(struct jobs *j, const struct step_key *k)
{
	return jobs_find(j, k->job_id, k->step_id, k->nodeid);
}
