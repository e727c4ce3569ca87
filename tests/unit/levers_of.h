/* SPDX-License-Identifier: GPL-2.0-or-later */
/* levers_of.h - the levers over what a test's daemon has by now, none of them opened. Free them. */
#ifndef COLOC_TESTS_UNIT_LEVERS_OF_H
#define COLOC_TESTS_UNIT_LEVERS_OF_H

#include <check.h>

#include "nodesvc/daemon/daemon.h"
#include "nodesvc/levers/internal.h"

static inline void levers_of(struct daemon *of)
{
	ck_assert_int_eq(daemon_create_levers(of), 0);
	levers_attach(of->levers, of->loop, of->ledger, of->actuate);
}

#endif
