/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/choose/internal.h"

#include <stdio.h>
#include <string.h>

int options_of(const struct conf *c, const char *spec, struct policy_option *ret, int max)
{
	static char slice_ms[16];
	size_t len = strcspn(spec, ",");
	const struct policy_ops *ops;
	char name[64];
	int n = 0;

	/* First, so that anything more particular stands after it. */
	snprintf(name, sizeof(name), "%.*s", (int)len, spec);
	ops = policy_find(name);
	if (ops && ops->options && strstr(ops->options, "slice_ms=") && n < max) {
		snprintf(slice_ms, sizeof(slice_ms), "%d", c->gang_slice_ms);
		ret[n++] = (struct policy_option){"slice_ms", slice_ms};
	}
	for (int i = 0; i < c->policy_options.n && n < max; i++) {
		const struct conf_pair *p = &c->policy_options.pair[i];

		if (strncmp(p->key, spec, len) == 0 && p->key[len] == '.')
			ret[n++] = (struct policy_option){p->key + len + 1, p->value};
	}
	return n;
}
