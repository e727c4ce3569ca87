/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/actuate/steer.h"
#include "nodesvc/actuate/v1.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernel gives the cpuset controller to one hierarchy: at most one of these has it, also on a
 * hybrid node. The last one always probes. */
static const struct actuate_ops *const backends[] = {
	&actuate_cgroup_v1,
	&actuate_cgroup_v2,
	&actuate_none,
};

static void add_reason(struct actuate *a, const char *name, const char *why)
{
	size_t n = strlen(a->why_not);

	snprintf(a->why_not + n, sizeof(a->why_not) - n, "%s%s: %.120s", n ? "; " : "", name, why);
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
	for (size_t i = 0; !a->ops && i < sizeof(backends) / sizeof(backends[0]); i++) {
		struct errbuf why = {""};

		if (backends[i]->probe(root, &why) == 0)
			a->ops = backends[i];
		else
			add_reason(a, backends[i]->name, why.text);
	}
	if (a->ops != &actuate_none)
		a->why_not[0] = '\0';
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
