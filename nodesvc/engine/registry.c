/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * registry.c - the list of policies, generated from registry.def.
 */
#include <stddef.h>
#include <string.h>

#include "nodesvc/engine/policy.h"

#define POLICY(ident, name) extern const struct policy_ops policy_##ident;
#include "nodesvc/engine/registry.def"
#undef POLICY

#define POLICY(ident, name) &policy_##ident,
const struct policy_ops *const policy_registry[] = {
#include "nodesvc/engine/registry.def"
	NULL,
};
#undef POLICY

const struct policy_ops *policy_find(const char *name)
{
	for (int i = 0; policy_registry[i]; i++)
		if (strcmp(policy_registry[i]->name, name) == 0)
			return policy_registry[i];
	return NULL;
}
