/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/bench/realmix/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "common/cleanup.h"

#define FILE_VERSION 1

/* A file being read: the first thing wrong with it. */
struct reader {
	const char *path;
	struct json_object *root;
	struct errbuf *err;
	int rc;
};

static void row_path(
	char *ret, size_t size, const char *dir, const char *mix, const char *arm, int round)
{
	if (round == ROUND_SUSTAINED)
		snprintf(ret, size, "%s/%s.%s.sustained.json", dir, mix, arm);
	else
		snprintf(ret, size, "%s/%s.%s.%d.json", dir, mix, arm, round);
}

static int bad(struct reader *r, const char *key, const char *what)
{
	if (!r->rc)
		r->rc = err_set(r->err, -EINVAL, "%s: damaged: '%s' %s", r->path, key, what);
	return r->rc;
}

static struct json_object *get(
	struct reader *r, struct json_object *o, const char *key, enum json_type type)
{
	struct json_object *v = NULL;
	bool number = type == json_type_double;

	if (r->rc)
		return NULL;
	if (!json_object_object_get_ex(o, key, &v))
		bad(r, key, "is missing");
	else if (v && !json_object_is_type(v, type) &&
		 !(number && json_object_is_type(v, json_type_int)))
		bad(r, key, "is of another type");
	return r->rc ? NULL : v;
}

/* NAN: null, where that is allowed. */
static double get_number(struct reader *r, struct json_object *o, const char *key, bool may_be_null)
{
	struct json_object *v = get(r, o, key, json_type_double);
	double d = v ? json_object_get_double(v) : NAN;

	if (!r->rc && v && (!isfinite(d) || d < 0))
		bad(r, key, "is no such number");
	if (!r->rc && !v && !may_be_null)
		bad(r, key, "is null");
	return d;
}

static bool get_bool(struct reader *r, struct json_object *o, const char *key)
{
	struct json_object *v = get(r, o, key, json_type_boolean);

	if (!r->rc && !v)
		bad(r, key, "is null");
	return v && json_object_get_boolean(v);
}

static void get_text(
	struct reader *r, struct json_object *o, const char *key, char *ret, size_t size)
{
	struct json_object *v = get(r, o, key, json_type_string);

	snprintf(ret, size, "%s", v ? json_object_get_string(v) : "");
}

/* The name that the file stands for must be the one in it. */
static void check_text(struct reader *r, const char *key, const char *wanted)
{
	char text[64];

	get_text(r, r->root, key, text, sizeof(text));
	if (!r->rc && strcmp(text, wanted) != 0)
		bad(r, key, "is not that of the file's name");
}

static int open_reader(struct reader *r)
{
	struct json_object *v;

	if (access(r->path, F_OK))
		return r->rc = -errno;
	r->root = json_object_from_file(r->path);
	if (!json_object_is_type(r->root, json_type_object))
		return r->rc = err_set(r->err, -EINVAL, "%s: damaged: no JSON object", r->path);
	v = get(r, r->root, "version", json_type_int);
	if (!r->rc && (!v || json_object_get_int(v) != FILE_VERSION))
		bad(r, "version", "is not one that this realmix knows");
	check_text(r, "bench", "realmix");
	return r->rc;
}

static void read_program(struct reader *r, struct json_object *o, struct row *ret)
{
	int i = ret->n;
	struct json_object *v;

	if (!json_object_is_type(o, json_type_object)) {
		bad(r, "programs", "holds something else");
		return;
	}
	get_text(r, o, "name", ret->program[i], sizeof(ret->program[i]));
	ret->time_s[i] = get_number(r, o, "seconds", true);
	v = get(r, o, "runs", json_type_int);
	ret->runs[i] = v ? json_object_get_int(v) : 0;
	v = get(r, o, "each", json_type_array);
	if (!r->rc && (int)json_object_array_length(v) !=
			      (ret->runs[i] < RUNS_KEPT ? ret->runs[i] : RUNS_KEPT))
		bad(r, "each", "has another number of runs");
	for (int k = 0; !r->rc && k < ret->runs[i] && k < RUNS_KEPT; k++) {
		struct json_object *x = json_object_array_get_idx(v, (size_t)k);

		ret->run_s[i][k] = x ? json_object_get_double(x) : NAN;
		if (!(ret->run_s[i][k] > 0))
			bad(r, "each", "holds something else");
	}
	if (!r->rc && !ret->program[i][0])
		bad(r, "name", "is empty");
	if (!r->rc && (ret->runs[i] < 0 || ret->runs[i] > RUNS_MAX))
		bad(r, "runs", "is no such number");
	if (!r->rc && isnan(ret->time_s[i]) && ret->runs[i])
		bad(r, "seconds", "is null although it ran");
	ret->n++;
}

int state_read_row(struct row *ret, const char *dir, const char *mix, const char *arm, int round,
	struct errbuf *err)
{
	char path[PATH_LEN];
	struct reader r = {.path = path, .err = err};
	struct json_object *v;

	memset(ret, 0, sizeof(*ret));
	row_path(path, sizeof(path), dir, mix, arm, round);
	if (open_reader(&r))
		goto out;
	snprintf(ret->mix, sizeof(ret->mix), "%s", mix);
	snprintf(ret->arm, sizeof(ret->arm), "%s", arm);
	ret->round = round;
	check_text(&r, "mix", mix);
	check_text(&r, "arm", arm);
	v = get(&r, r.root, "round", json_type_int);
	if (!r.rc && (!v || json_object_get_int(v) != round))
		bad(&r, "round", "is not that of the file's name");
	ret->cut = get_bool(&r, r.root, "cut");
	ret->disturbed = get_bool(&r, r.root, "disturbed");
	ret->makespan_s = get_number(&r, r.root, "makespan_s", false);
	ret->foreign_ratio = get_number(&r, r.root, "foreign_ratio", false);
	/* Results of before it was read have none. */
	ret->service_s = json_object_object_get_ex(r.root, "service_s", NULL)
				 ? get_number(&r, r.root, "service_s", true)
				 : NAN;
	get_text(&r, r.root, "policy", ret->policy, sizeof(ret->policy));
	get_text(&r, r.root, "reason", ret->reason, sizeof(ret->reason));
	v = get(&r, r.root, "programs", json_type_array);
	if (!r.rc &&
		(!v || !json_object_array_length(v) || json_object_array_length(v) > PROGRAMS_MAX))
		bad(&r, "programs", "has no or too many");
	for (size_t i = 0; !r.rc && i < json_object_array_length(v); i++)
		read_program(&r, json_object_array_get_idx(v, i), ret);
	if (!r.rc && round != ROUND_SUSTAINED && !(ret->makespan_s > 0))
		bad(&r, "makespan_s", "is 0");
out:
	json_object_put(r.root);
	return r.rc;
}

int state_read_solo(struct solo *ret, const char *dir, const char *program, struct errbuf *err)
{
	char path[PATH_LEN];
	struct reader r = {.path = path, .err = err};
	struct json_object *v;

	memset(ret, 0, sizeof(*ret));
	snprintf(path, sizeof(path), "%s/solo.%s.json", dir, program);
	if (open_reader(&r))
		goto out;
	snprintf(ret->program, sizeof(ret->program), "%s", program);
	check_text(&r, "program", program);
	ret->disturbed = get_bool(&r, r.root, "disturbed");
	ret->foreign_ratio = get_number(&r, r.root, "foreign_ratio", false);
	v = get(&r, r.root, "seconds", json_type_array);
	if (!r.rc && (!v || !json_object_array_length(v) || json_object_array_length(v) > RUNS_MAX))
		bad(&r, "seconds", "has no or too many");
	for (size_t i = 0; !r.rc && i < json_object_array_length(v); i++) {
		struct json_object *x = json_object_array_get_idx(v, i);

		ret->run_s[ret->n] = x ? json_object_get_double(x) : NAN;
		if (!(ret->run_s[ret->n++] > 0))
			bad(&r, "seconds", "holds something else");
	}
out:
	json_object_put(r.root);
	return r.rc;
}

static void add_head(struct json_object *o)
{
	json_object_object_add(o, "bench", json_object_new_string("realmix"));
	json_object_object_add(o, "version", json_object_new_int(FILE_VERSION));
	json_object_object_add(o, "provenance", json_object_new_string("measured"));
}

static struct json_object *number(double v)
{
	char text[32];

	if (!isfinite(v))
		return NULL;
	snprintf(text, sizeof(text), "%.4f", v);
	return json_object_new_double_s(v, text);
}

/* Consumes @o. */
static int write_object(struct json_object *o, const char *path, struct errbuf *err)
{
	const char *text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY);
	char temporary[PATH_LEN + 8];
	int fd, rc = 0;
	ssize_t len = (ssize_t)strlen(text);

	snprintf(temporary, sizeof(temporary), "%s.new", path);
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, (size_t)len) != len || write(fd, "\n", 1) != 1 || fsync(fd))
		rc = err_set(err, -errno, "%s: %s", temporary, strerror(errno));
	if (fd >= 0)
		close(fd);
	if (!rc && rename(temporary, path))
		rc = err_set(err, -errno, "%s: %s", path, strerror(errno));
	json_object_put(o);
	return rc;
}

int state_write_row(const struct row *row, const char *dir, struct errbuf *err)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();
	char path[PATH_LEN];

	add_head(o);
	json_object_object_add(o, "mix", json_object_new_string(row->mix));
	json_object_object_add(o, "arm", json_object_new_string(row->arm));
	json_object_object_add(o, "round", json_object_new_int(row->round));
	json_object_object_add(o, "cut", json_object_new_boolean(row->cut));
	json_object_object_add(o, "disturbed", json_object_new_boolean(row->disturbed));
	json_object_object_add(o, "makespan_s", number(row->makespan_s));
	json_object_object_add(o, "foreign_ratio", number(row->foreign_ratio));
	json_object_object_add(o, "service_s", number(row->service_s));
	json_object_object_add(
		o, "policy", row->policy[0] ? json_object_new_string(row->policy) : NULL);
	json_object_object_add(
		o, "reason", row->reason[0] ? json_object_new_string(row->reason) : NULL);
	for (int i = 0; i < row->n; i++) {
		struct json_object *p = json_object_new_object(), *each = json_object_new_array();

		json_object_object_add(p, "name", json_object_new_string(row->program[i]));
		json_object_object_add(p, "seconds", number(row->time_s[i]));
		json_object_object_add(p, "runs", json_object_new_int(row->runs[i]));
		for (int k = 0; k < row->runs[i] && k < RUNS_KEPT; k++)
			json_object_array_add(each, number(row->run_s[i][k]));
		json_object_object_add(p, "each", each);
		json_object_array_add(list, p);
	}
	json_object_object_add(o, "programs", list);
	row_path(path, sizeof(path), dir, row->mix, row->arm, row->round);
	return write_object(o, path, err);
}

int state_write_solo(const struct solo *solo, const char *dir, struct errbuf *err)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();
	char path[PATH_LEN];

	add_head(o);
	json_object_object_add(o, "program", json_object_new_string(solo->program));
	json_object_object_add(o, "disturbed", json_object_new_boolean(solo->disturbed));
	json_object_object_add(o, "foreign_ratio", number(solo->foreign_ratio));
	for (int i = 0; i < solo->n; i++)
		json_object_array_add(list, number(solo->run_s[i]));
	json_object_object_add(o, "seconds", list);
	snprintf(path, sizeof(path), "%s/solo.%s.json", dir, solo->program);
	return write_object(o, path, err);
}

int state_is_used(const char *dir, struct errbuf *err)
{
	cleanup_dir DIR *d = opendir(dir);
	struct dirent *e;

	if (!d)
		return err_set(err, -errno, "%s: %s", dir, strerror(errno));
	while ((e = readdir(d))) {
		size_t len = strlen(e->d_name);

		if (len > 5 && strcmp(e->d_name + len - 5, ".json") == 0)
			return 1;
	}
	return 0;
}
