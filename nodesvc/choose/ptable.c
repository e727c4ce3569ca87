/* SPDX-License-Identifier: GPL-2.0-or-later */

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ipc.h"
#include "nodesvc/choose/internal.h"
#include "nodesvc/engine/ptt.h"
#include "nodesvc/base/log.h"

#define FILE_VERSION 2
/* All types at all places of a node of 1024 cores are less. */
#define FILE_BYTES_MAX (32 << 20)

struct ptable {
	struct arena memory; /* of both below */
	struct ptt ptt;
	struct ptt_entry *entry; /* [PTT_TYPES * n_places] what an engine is told */
	bool dirty, failed;
};

static void file_name(const struct choose *ch, const char *suffix, char *ret, size_t size)
{
	snprintf(ret, size, "%s/trace-table.json%s", ch->conf->store, suffix);
}

/* ---- reading ------------------------------------------------------------------------------- */

static void put_json(struct json_object **o)
{
	json_object_put(*o);
}

static int read_entry(struct ptable *t, int64_t owner, const char *type, struct json_object *o,
	struct errbuf *err)
{
	struct json_object *core, *width, *seconds;
	double s;
	int place;

	if (!json_object_is_type(o, json_type_object) ||
		!json_object_object_get_ex(o, "core", &core) ||
		!json_object_object_get_ex(o, "width", &width) ||
		!json_object_object_get_ex(o, "seconds", &seconds))
		return err_set(err, -EINVAL, "types.%.60s: core, width and seconds expected", type);
	s = json_object_get_double(seconds);
	place = ptt_find(&t->ptt, json_object_get_int(core), json_object_get_int(width));
	if (place < 0 || !isfinite(s) || !(s > 0))
		return err_set(err, -EINVAL,
			"types.%.60s: core %d, width %d, %g s is no sample of this node", type,
			json_object_get_int(core), json_object_get_int(width), s);
	t->ptt.type[ptt_type(&t->ptt, owner, type)].seconds[place] = s;
	return 0;
}

/* *n: programs so far, of all owners. */
static int read_types(
	struct ptable *t, int64_t owner, struct json_object *types, int *n, struct errbuf *err)
{
	json_object_object_foreach(types, type, list)
	{
		if (!json_object_is_type(list, json_type_array) || strlen(type) >= JOB_TYPE_MAX ||
			++*n > PTT_TYPES)
			return err_set(err, -EINVAL,
				"types.%.60s: not a list of samples, or the "
				"name or number of types is too large",
				type);
		for (size_t i = 0; i < json_object_array_length(list); i++) {
			int rc =
				read_entry(t, owner, type, json_object_array_get_idx(list, i), err);

			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

/* {"1000": {"TYPE": [...]}}: programs by their owners' uids. */
static int read_owners(struct ptable *t, struct json_object *owners, struct errbuf *err)
{
	int n = 0;

	json_object_object_foreach(owners, uid, types)
	{
		char *end;
		unsigned long owner;
		int rc;

		errno = 0;
		owner = strtoul(uid, &end, 10);
		if (*uid < '0' || *uid > '9' || *end || errno || owner > UINT32_MAX ||
			!json_object_is_type(types, json_type_object))
			return err_set(err, -EINVAL, "owners.%.60s: no programs of a uid", uid);
		rc = read_types(t, (int64_t)owner, types, &n, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* 0 read or not there; -EINVAL damaged, -ENODEV of another machine or version. */
static int read_file(struct choose *ch, struct ptable *t, const char *path, struct errbuf *err)
{
	__attribute__((cleanup(put_json))) struct json_object *root = NULL;
	struct json_object *o;
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : err_set(err, -EINVAL, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_size > FILE_BYTES_MAX)
		return err_set(err, -EINVAL, "not a file, or too large");
	root = json_object_from_file(path);
	if (!root || !json_object_is_type(root, json_type_object) ||
		!json_object_object_get_ex(root, "version", &o))
		return err_set(err, -EINVAL, "not the JSON of a trace table");
	if (json_object_get_int(o) != FILE_VERSION)
		return err_set(err, -ENODEV, "version %d, %d expected", json_object_get_int(o),
			FILE_VERSION);
	if (!json_object_object_get_ex(root, "node_type", &o) ||
		strcmp(json_object_get_string(o) ? json_object_get_string(o) : "",
			ch->node->type) != 0)
		return err_set(err, -ENODEV, "measured on '%.60s', this is '%.60s'",
			o && json_object_get_string(o) ? json_object_get_string(o) : "",
			ch->node->type);
	if (!json_object_object_get_ex(root, "owners", &o) ||
		!json_object_is_type(o, json_type_object))
		return err_set(err, -EINVAL, "owners is missing");
	return read_owners(t, o, err);
}

static void clear(struct ptable *t)
{
	for (int i = 0; i < PTT_TYPES; i++) {
		t->ptt.type[i].used = 0;
		memset(t->ptt.type[i].seconds, 0, (size_t)t->ptt.n_places * sizeof(double));
	}
}

int ptable_open(struct choose *ch, struct errbuf *err)
{
	struct ptable *t = calloc(1, sizeof(*t));
	struct policy_cfg cfg = {.topo = ch->node->topo, .max_jobs = 1, .memory = &t->memory};
	char path[CONF_TEXT_MAX + 32], aside[CONF_TEXT_MAX + 40];
	int rc;

	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	rc = ptt_init(&t->ptt, &cfg, err);
	t->entry = arena_alloc(&t->memory, (size_t)t->ptt.n_places * PTT_TYPES, sizeof(*t->entry));
	if (rc == 0 && !t->entry)
		rc = err_set(err, -ENOMEM, "out of memory");
	if (rc < 0) {
		arena_free(&t->memory);
		free(t);
		return rc;
	}
	ch->ptable = t;
	file_name(ch, "", path, sizeof(path));
	rc = read_file(ch, t, path, err);
	if (rc == 0)
		return 0;
	clear(t);
	file_name(ch, ".unread", aside, sizeof(aside));
	log_warning("%s: %s; the das policies begin with an empty table%s", path, err->text,
		rename(path, aside) == 0 ? ", the file is kept as .unread" : "");
	return 0;
}

/* ---- writing ------------------------------------------------------------------------------- */

static struct json_object *type_to_json(const struct ptt *ptt, const struct ptt_type *type)
{
	struct json_object *list = json_object_new_array();

	for (int i = 0; i < ptt->n_places; i++) {
		struct json_object *o;

		if (!(type->seconds[i] > 0))
			continue;
		o = json_object_new_object();
		json_object_object_add(o, "core", json_object_new_int(ptt->place[i].core));
		json_object_object_add(o, "width", json_object_new_int(ptt->place[i].width));
		json_object_object_add(o, "seconds", json_object_new_double(type->seconds[i]));
		json_object_array_add(list, o);
	}
	return list;
}

static int write_file(const struct choose *ch, const struct ptable *t)
{
	__attribute__((cleanup(put_json))) struct json_object *root = json_object_new_object();
	struct json_object *owners = json_object_new_object(), *types;
	char path[CONF_TEXT_MAX + 32], tmp[CONF_TEXT_MAX + 40];
	int rc;

	json_object_object_add(root, "version", json_object_new_int(FILE_VERSION));
	json_object_object_add(root, "node_type", json_object_new_string(ch->node->type));
	json_object_object_add(root, "owners", owners);
	for (int i = 0; i < PTT_TYPES; i++) {
		const struct ptt_type *type = &t->ptt.type[i];
		char uid[24];

		if (!type->used)
			continue;
		snprintf(uid, sizeof(uid), "%" PRId64, type->owner);
		if (!json_object_object_get_ex(owners, uid, &types)) {
			types = json_object_new_object();
			json_object_object_add(owners, uid, types);
		}
		json_object_object_add(types, type->name, type_to_json(&t->ptt, type));
	}
	file_name(ch, "", path, sizeof(path));
	file_name(ch, ".tmp", tmp, sizeof(tmp));
	/* No fsync: after a power cut an older table, or none, is as good. */
	unlink(tmp);
	if (json_object_to_file_ext(tmp, root, JSON_C_TO_STRING_PLAIN) < 0)
		rc = -EIO;
	else
		rc = rename(tmp, path) < 0 ? -errno : 0;
	if (rc < 0)
		unlink(tmp);
	return rc;
}

void ptable_flush(struct choose *ch)
{
	struct ptable *t = ch->ptable;
	int rc;

	if (!t || !t->dirty)
		return;
	t->dirty = false;
	rc = write_file(ch, t);
	if (rc < 0 && !t->failed)
		log_warning("%s/trace-table.json cannot be written: %s", ch->conf->store,
			strerror(-rc));
	t->failed = rc < 0;
}

void ptable_close(struct choose *ch)
{
	struct ptable *t = ch->ptable;

	if (!t)
		return;
	ptable_flush(ch);
	arena_free(&t->memory);
	free(t);
	ch->ptable = NULL;
}

/* ---- samples ------------------------------------------------------------------------------- */

/* The place whose cores the set has, and no others; -1 none. */
static int place_of(const struct choose *ch, const struct ptt *ptt, const struct coreset *set)
{
	int pu = coreset_next(set, 0);
	int place = pu < 0 ? -1
			   : ptt_find(ptt, ch->node->topo->pu_core[pu],
				     topo_count_cores(ch->node->topo, set));

	for (int i = 0; place >= 0 && i < ptt->place[place].width; i++) {
		int core = ptt->units.core[ptt->place[place].first + i];

		if (!coreset_intersects(&ch->node->topo->core[core].pus, set))
			return -1;
	}
	return place;
}

static bool was_alone_there(const struct step *s)
{
	const struct decision *dec;

	for (int k = 0; (dec = step_get_decision(s, k)); k++)
		if (*dec->shares)
			return false;
	return true;
}

bool ptable_note(struct choose *ch, const struct step *s, struct event *ret)
{
	struct ptable *t = ch->ptable;
	int64_t now_ns = ipc_now_ns();
	double seconds = (double)(turn_clock(&s->turn, now_ns) - s->start_mono_ns) / 1e9;
	int place, type;

	if (!t || s->status != STATUS_PLACED || s->rebinds > 0 || s->was_placed || s->nnodes > 1 ||
		step_suspended_ns(s, now_ns) > 0 || s->batch ||
		strncmp(s->policy, "das-", 4) != 0 || !was_alone_there(s) || !(seconds > 0))
		return false;
	place = place_of(ch, &t->ptt, &s->coreset);
	if (place < 0)
		return false;
	type = ptt_type(&t->ptt, s->uid, s->type);
	ptt_update(&t->ptt, type, place, seconds);
	t->dirty = true;
	*ret = (struct event){
		.type = EVENT_TASK_DONE,
		.task_type = t->ptt.type[type].name,
		.owner = s->uid,
		.core = t->ptt.place[place].core,
		.width = t->ptt.place[place].width,
		.seconds = seconds,
	};
	log_debug("step %s: %s took %.3f s at core %d, width %d", s->id, s->type, seconds,
		ret->core, ret->width);
	return true;
}

void ptable_tell(struct choose *ch, const char *policy, struct view *v)
{
	struct ptable *t = ch->ptable;
	int n = 0;

	if (!t || strncmp(policy, "das-", 4) != 0)
		return;
	for (int i = 0; i < PTT_TYPES; i++)
		for (int p = 0; t->ptt.type[i].used && p < t->ptt.n_places; p++)
			if (t->ptt.type[i].seconds[p] > 0)
				t->entry[n++] = (struct ptt_entry){t->ptt.type[i].name,
					t->ptt.place[p].core, t->ptt.place[p].width,
					t->ptt.type[i].seconds[p], t->ptt.type[i].owner};
	v->ptt = t->entry;
	v->n_ptt = n;
}
