/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/daemon_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "nodesvc/base/log.h"
#include "nodesvc/measure/measure.h"
#include "tests/unit/levers_of.h"

void daemon_up(struct daemon *d, const char *dir, void (*node)(void))
{
	struct errbuf err = {""};
	char path[320];

	daemon_init(d);
	log_init(LOG_LEVEL_ERROR);
	conf_defaults(d->conf);
	snprintf(d->conf->policy, sizeof(d->conf->policy), "fair");
	ck_assert_int_eq(fsroot_open(&d->node->root, dir, &err), 0);
	if (node)
		node();
	ck_assert_int_eq(topo_load(&d->node->topo, "core:2 pu:1", &err), 0);
	d->node->usable = d->node->topo->all;
	ck_assert_int_eq(loop_create(&d->loop, &err), 0);
	ck_assert_int_eq(ledger_open(&d->ledger, ":memory:", "boot", &err), 0);
	snprintf(path, sizeof(path), "%s/coloc.db", dir);
	ck_assert_msg(record_open(&d->record, path, false, &err) == 0, "%s", err.text);
	ck_assert_int_eq(
		actuate_open(&d->actuate, &d->node->root, d->ledger, &d->node->topo->all, &err), 0);
	levers_of(d);
	counters_choose(&d->node->counters, "none", NULL);
	ck_assert_int_eq(daemon_open_rooms(d, &err), 0);
	ck_assert_msg(daemon_open_choose(d, &err) == 0, "%s", err.text);
}

void daemon_down(struct daemon *d)
{
	for (int i = 0; i < d->jobs->n; i++)
		reading_close(d->measure, d->jobs->step[i]);
	jobs_done(d->jobs);
	daemon_close_choose(d);
	daemon_close_rooms(d);
	free(d->levers);
	actuate_close(d->actuate);
	record_close(d->record);
	ledger_close(d->ledger);
	loop_free(d->loop);
	topo_free(d->node->topo);
	fsroot_close(&d->node->root);
}
