/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/ledger_mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/record/ledger.h"

int ledger_mem_adds_left = -1;
int ledger_mem_adds;
int (*ledger_mem_hook)(const char *what);

static int ask_hook(const char *what, struct errbuf *err)
{
	int rc = ledger_mem_hook ? ledger_mem_hook(what) : 0;

	return rc < 0 ? err_set(err, rc, "ledger: %s: %s", what, strerror(-rc)) : 0;
}

struct ledger {
	struct ledger_cpuset *cs;
	int n_cs;
	struct ledger_thread *thread;
	int n_threads;
	struct ledger_thread *pin;
	int n_pins;
	struct ledger_given *given;
	int n_given;
	struct ledger_setting *setting;
	int n_settings;
};

int ledger_open(struct ledger **ret, const char *path, const char *boot_id, struct errbuf *err)
{
	struct ledger *l = calloc(1, sizeof(*l));

	(void)path, (void)boot_id;
	if (!l)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = l;
	return 0;
}

void ledger_close(struct ledger *l)
{
	if (!l)
		return;
	free(l->cs);
	free(l->thread);
	free(l->pin);
	for (int i = 0; i < l->n_given; i++)
		free(l->given[i].mask);
	free(l->given);
	free(l->setting);
	free(l);
}

static bool has_thread(const struct ledger *l, const struct ledger_thread *t)
{
	for (int i = 0; i < l->n_threads; i++)
		if (l->thread[i].tid == t->tid && l->thread[i].start_ticks == t->start_ticks &&
			strcmp(l->thread[i].path, t->path) == 0)
			return true;
	return false;
}

static const struct ledger_cpuset *find_cpuset(const struct ledger *l, const char *path)
{
	for (int i = 0; i < l->n_cs; i++)
		if (strcmp(l->cs[i].path, path) == 0)
			return &l->cs[i];
	return NULL;
}

/* Drops those of @path, and says how many are left. */
static int drop(struct ledger_thread *t, int n_threads, const char *path)
{
	int n = 0;

	for (int i = 0; i < n_threads; i++)
		if (strcmp(t[i].path, path) != 0)
			t[n++] = t[i];
	return n;
}

/* @merge: what is there of @path stays, but for threads that are among @pin. */
static int add_rows(struct ledger *l, const struct ledger_cpuset *cs,
	const struct ledger_thread *thread, int n_threads, const char *path,
	const struct ledger_thread *pin, int n_pins, bool merge, struct errbuf *err)
{
	struct ledger_thread *t, *p;
	struct ledger_cpuset *c;
	int rc = ask_hook("add", err);

	if (rc < 0)
		return rc;
	if (ledger_mem_adds_left == 0)
		return err_set(err, -EIO, "the disk is on fire");
	if (ledger_mem_adds_left > 0)
		ledger_mem_adds_left--;
	c = realloc(l->cs, (size_t)(l->n_cs + 1) * sizeof(*c));
	if (c)
		l->cs = c;
	t = realloc(l->thread, (size_t)(l->n_threads + n_threads + 1) * sizeof(*t));
	if (t)
		l->thread = t;
	p = realloc(l->pin, (size_t)(l->n_pins + n_pins + 1) * sizeof(*p));
	if (p)
		l->pin = p;
	if (!c || !t || !p)
		return err_set(err, -ENOMEM, "out of memory");
	if (cs && !find_cpuset(l, cs->path))
		l->cs[l->n_cs++] = *cs;
	for (int i = 0; i < n_threads; i++)
		if (!has_thread(l, &thread[i]))
			l->thread[l->n_threads++] = thread[i];
	if (path && !merge)
		l->n_pins = drop(p, l->n_pins, path);
	for (int i = 0; i < n_pins; i++) {
		int at = 0;

		while (at < l->n_pins &&
			(p[at].tid != pin[i].tid || p[at].start_ticks != pin[i].start_ticks ||
				strcmp(p[at].path, pin[i].path) != 0))
			at++;
		p[at] = pin[i];
		l->n_pins += at == l->n_pins;
	}
	ledger_mem_adds++;
	return 0;
}

int ledger_record(struct ledger *l, const struct ledger_cpuset *cs,
	const struct ledger_thread *thread, int n_threads, const char *path,
	const struct ledger_thread *pin, int n_pins, struct errbuf *err)
{
	return add_rows(l, cs, thread, n_threads, path, pin, n_pins, false, err);
}

static void drop_given(struct ledger *l, const char *path)
{
	int n = 0;

	for (int i = 0; i < l->n_given; i++)
		if (strcmp(l->given[i].path, path) != 0)
			l->given[n++] = l->given[i];
		else
			free(l->given[i].mask);
	l->n_given = n;
}

static int copy_given(const struct ledger_given *from, struct ledger_given *ret, struct errbuf *err)
{
	*ret = *from;
	ret->mask = calloc((size_t)from->n + 1, sizeof(*ret->mask));
	if (!ret->mask)
		return err_set(err, -ENOMEM, "out of memory");
	if (from->n)
		memcpy(ret->mask, from->mask, (size_t)from->n * sizeof(*ret->mask));
	return 0;
}

int ledger_steer(struct ledger *l, const struct ledger_cpuset *cs,
	const struct ledger_thread *thread, int n_threads, const struct ledger_thread *pin,
	int n_pins, bool fresh, const struct ledger_given *given, struct errbuf *err)
{
	struct ledger_given *g = realloc(l->given, (size_t)(l->n_given + 1) * sizeof(*g)), copy;
	int rc;

	if (!g)
		return err_set(err, -ENOMEM, "out of memory");
	l->given = g;
	rc = copy_given(given, &copy, err);
	if (rc == 0)
		rc = add_rows(l, cs, thread, n_threads, given->path, pin, n_pins, !fresh, err);
	if (rc < 0) {
		free(copy.mask);
		return rc;
	}
	drop_given(l, given->path);
	l->given[l->n_given++] = copy;
	return 0;
}

int ledger_get_given(
	struct ledger *l, const char *path, struct ledger_given *ret, struct errbuf *err)
{
	int rc = ask_hook("get_given", err);

	for (int i = 0; rc == 0 && i < l->n_given; i++)
		if (strcmp(l->given[i].path, path) == 0)
			return copy_given(&l->given[i], ret, err);
	return rc < 0 ? rc : err_set(err, -ENOENT, "%s: no masks in the ledger", path);
}

int ledger_add(struct ledger *l, const struct ledger_cpuset *cs, const struct ledger_thread *thread,
	int n_threads, struct errbuf *err)
{
	return ledger_record(l, cs, thread, n_threads, NULL, NULL, 0, err);
}

int ledger_get_cpuset(
	struct ledger *l, const char *path, struct ledger_cpuset *ret, struct errbuf *err)
{
	const struct ledger_cpuset *cs = find_cpuset(l, path);
	int rc = ask_hook("get_cpuset", err);

	if (rc < 0)
		return rc;
	if (!cs)
		return err_set(err, -ENOENT, "%s: not in the ledger", path);
	*ret = *cs;
	return 0;
}

static int copy_masks(const struct ledger_thread *from, int n_from, const char *path,
	struct ledger_thread **ret, int *ret_n, struct errbuf *err)
{
	struct ledger_thread *t = calloc((size_t)n_from + 1, sizeof(*t));
	int n = 0;

	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	for (int i = 0; i < n_from; i++)
		if (strcmp(from[i].path, path) == 0)
			t[n++] = from[i];
	*ret = t;
	*ret_n = n;
	return 0;
}

int ledger_get_threads(struct ledger *l, const char *path, struct ledger_thread **ret, int *ret_n,
	struct errbuf *err)
{
	int rc = ask_hook("get_threads", err);

	return rc < 0 ? rc : copy_masks(l->thread, l->n_threads, path, ret, ret_n, err);
}

int ledger_get_pins(struct ledger *l, const char *path, struct ledger_thread **ret, int *ret_n,
	struct errbuf *err)
{
	int rc = ask_hook("get_pins", err);

	return rc < 0 ? rc : copy_masks(l->pin, l->n_pins, path, ret, ret_n, err);
}

int ledger_paths(struct ledger *l, char ***ret, int *ret_n, struct errbuf *err)
{
	int rc = ask_hook("paths", err);
	char **path;

	if (rc < 0)
		return rc;
	path = calloc((size_t)l->n_cs + 1, sizeof(*path));
	if (!path)
		return err_set(err, -ENOMEM, "out of memory");
	for (int i = 0; i < l->n_cs; i++)
		path[i] = strdup(l->cs[i].path);
	*ret = path;
	*ret_n = l->n_cs;
	return 0;
}

int ledger_forget(struct ledger *l, const char *path, struct errbuf *err)
{
	int n = 0, rc = ask_hook("forget", err);

	if (rc < 0)
		return rc;
	for (int i = 0; i < l->n_cs; i++)
		if (strcmp(l->cs[i].path, path) != 0)
			l->cs[n++] = l->cs[i];
	l->n_cs = n;
	l->n_threads = drop(l->thread, l->n_threads, path);
	l->n_pins = drop(l->pin, l->n_pins, path);
	drop_given(l, path);
	return 0;
}

static bool is_about(const struct ledger_setting *v, const char *path, const char *what)
{
	return (!path || strcmp(v->path, path) == 0) && strncmp(v->what, what, strlen(what)) == 0;
}

int ledger_setting_add(struct ledger *l, const struct ledger_setting *v, int n, struct errbuf *err)
{
	int rc = ask_hook("setting_add", err);

	if (rc < 0)
		return rc;
	if (ledger_mem_adds_left == 0)
		return err_set(err, -EIO, "the disk is on fire");
	if (ledger_mem_adds_left > 0)
		ledger_mem_adds_left--;
	for (int i = 0; i < n; i++) {
		struct ledger_setting *more =
			realloc(l->setting, (size_t)(l->n_settings + 1) * sizeof(*more));
		bool known = false;

		if (!more)
			return err_set(err, -ENOMEM, "out of memory");
		l->setting = more;
		for (int k = 0; k < l->n_settings; k++)
			known |= strcmp(more[k].path, v[i].path) == 0 &&
				 strcmp(more[k].what, v[i].what) == 0;
		if (!known)
			more[l->n_settings++] = v[i];
	}
	ledger_mem_adds++;
	return 0;
}

int ledger_settings(struct ledger *l, const char *path, const char *what,
	struct ledger_setting **ret, int *ret_n, struct errbuf *err)
{
	int n = 0, rc = ask_hook("settings", err);
	struct ledger_setting *v;

	if (rc < 0)
		return rc;
	v = calloc((size_t)l->n_settings + 1, sizeof(*v));
	if (!v)
		return err_set(err, -ENOMEM, "out of memory");
	for (int i = 0; i < l->n_settings; i++)
		if (is_about(&l->setting[i], path, what))
			v[n++] = l->setting[i];
	*ret = v;
	*ret_n = n;
	return 0;
}

int ledger_setting_forget(struct ledger *l, const char *path, const char *what, struct errbuf *err)
{
	int n = 0, rc = ask_hook("setting_forget", err);

	if (rc < 0)
		return rc;
	for (int i = 0; i < l->n_settings; i++)
		if (!is_about(&l->setting[i], path, what))
			l->setting[n++] = l->setting[i];
	l->n_settings = n;
	return 0;
}

int ledger_count(struct ledger *l)
{
	return l->n_cs + l->n_threads + l->n_pins + l->n_given + l->n_settings;
}
