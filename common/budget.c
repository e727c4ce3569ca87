/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/budget.h"

#include "common/ipc.h"

struct budget budget_of(int things, int64_t ns)
{
	return (struct budget){.left = things, .until_ns = ipc_now_ns() + ns};
}

bool budget_take(struct budget *b)
{
	if (!b)
		return true;
	if (b->left <= 0 || (b->taken >= BUDGET_LEAST && ipc_now_ns() >= b->until_ns)) {
		b->is_short = true;
		return false;
	}
	b->left--;
	b->taken++;
	return true;
}
