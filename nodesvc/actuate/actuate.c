/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/actuate/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_reason(struct actuate *a, const char *name, const char *why)
{
	size_t n = strlen(a->why_not);

	snprintf(a->why_not + n, sizeof(a->why_not) - n, "%s%s: %.120s", n ? "; " : "", name, why);
}

static void try(struct actuate *a, const struct hierarchy *h)
{
	struct errbuf why = {""};
	int rc = locate_mount(a->root, &h->mount, a->mount, a->mount_root, sizeof(a->mount), &why);

	if (rc == 0 && h->check)
		rc = h->check(a->root, a->mount, &why);
	if (rc < 0) {
		a->mount[0] = '\0';
		add_reason(a, h->ops.name, why.text);
		return;
	}
	a->h = h;
	a->ops = &h->ops;
	a->why_not[0] = '\0';
}

int actuate_open(struct actuate **ret, const struct fsroot *root, struct ledger *ledger,
	const struct coreset *all_pus, struct errbuf *err)
{
	struct actuate *a = calloc(1, sizeof(*a));

	if (!a)
		return err_set(err, -ENOMEM, "out of memory");
	a->root = root;
	a->ledger = ledger;
	a->all_pus = *all_pus;
	watch_open(a);
	a->ops = &actuate_none;
	for (int i = 0; hierarchies[i] && !a->h; i++)
		try(a, hierarchies[i]);
	*ret = a;
	return 0;
}

void actuate_close(struct actuate *a)
{
	if (!a)
		return;
	watch_close(a);
	steer_close(a);
	free(a->woken);
	free(a);
}

bool actuate_find(const struct fsroot *root, struct actuate_found *ret)
{
	bool found = false;

	for (int i = 0; hierarchies[i]; i++)
		found |= hierarchies[i]->find(root, ret);
	return found;
}

const struct actuate_ops *actuate_get_ops(const struct actuate *a)
{
	return a->ops;
}

const char *actuate_why_not(const struct actuate *a)
{
	return a->why_not;
}

void actuate_by_masks(struct actuate *a, bool yes)
{
	a->by_masks = yes;
}

void actuate_set_pus(struct actuate *a, const struct coreset *all_pus)
{
	a->all_pus = *all_pus;
}

void actuate_allow_outside(struct actuate *a, bool allow)
{
	a->outside = allow;
}

int actuate_restore_all(struct actuate *a, struct errbuf *err)
{
	char **path;
	int n, done = 0, first_rc = 0;
	int rc = ledger_paths(a->ledger, &path, &n, err);

	if (rc < 0)
		return rc;
	for (int i = 0; i < n; i++) {
		/* Restoring needs the path alone: the ledger has the inode. */
		struct step_cgroup s = {.step_path = ""};
		struct errbuf why = {""};

		snprintf(s.step_path, sizeof(s.step_path), "%s", path[i]);
		rc = a->ops->restore(a, &s, &why);
		if (rc == 0)
			done++;
		else if (!first_rc)
			first_rc = err_set(err, rc, "%s", why.text);
		free(path[i]);
	}
	free(path);
	return first_rc ? first_rc : done;
}
