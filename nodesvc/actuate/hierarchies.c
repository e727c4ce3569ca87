/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hierarchies.c - the list of local.mk, as a table. */
#include "nodesvc/actuate/internal.h"

#include <stddef.h>

#define HIERARCHY(name) extern const struct hierarchy hierarchy_##name;
HIERARCHIES
#undef HIERARCHY
#define HIERARCHY(name) &hierarchy_##name,
const struct hierarchy *const hierarchies[] = {HIERARCHIES NULL};
