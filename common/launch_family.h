/* SPDX-License-Identifier: GPL-2.0-or-later */
/* launch_family.h - which runtime's family an environment variable belongs to. */
#ifndef COLOC_COMMON_LAUNCH_FAMILY_H
#define COLOC_COMMON_LAUNCH_FAMILY_H

#include <string.h>

#include "common/launch_names.h"

enum launch_family {
	LAUNCH_NO_FAMILY = -1,
#define FAMILY(name) LAUNCH_##name,
	LAUNCH_FAMILIES(FAMILY)
#undef FAMILY
};

static inline enum launch_family launch_family(const char *variable)
{
#define LAUNCH_VAR(family, name)                                                                   \
	if (strcmp(variable, name) == 0)                                                           \
		return LAUNCH_##family;
	LAUNCH_VARS(LAUNCH_VAR)
#undef LAUNCH_VAR
	return LAUNCH_NO_FAMILY;
}

#endif
