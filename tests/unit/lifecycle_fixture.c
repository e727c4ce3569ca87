/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/lifecycle_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/base/log.h"
#include "nodesvc/measure/measure.h"
#include "tests/unit/levers_of.h"

struct daemon d;
char dir[64];
struct msg in, out;

void setup_on(void (*node)(void))
{
	struct errbuf err = {""};
	char path[96];

	daemon_init(&d);
	strcpy(dir, "/tmp/coloc-life-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	log_init(LOG_LEVEL_ERROR);
	conf_defaults(d.conf);
	ck_assert_int_eq(fsroot_open(&d.node->root, dir, &err), 0);
	if (node)
		node();
	ck_assert_int_eq(topo_load(&d.node->topo, "core:2 pu:1", &err), 0);
	d.node->usable = d.node->topo->all;
	ck_assert_int_eq(loop_create(&d.loop, &err), 0);
	ck_assert_int_eq(ledger_open(&d.ledger, ":memory:", "boot", &err), 0);
	snprintf(path, sizeof(path), "%s/coloc.db", dir);
	ck_assert_msg(record_open(&d.record, path, false, &err) == 0, "%s", err.text);
	ck_assert_int_eq(
		actuate_open(&d.actuate, &d.node->root, d.ledger, &d.node->topo->all, &err), 0);
	levers_of(&d);
	counters_choose(&d.node->counters, "none", NULL);
	snprintf(d.conf->policy, sizeof(d.conf->policy), "fair");
	ck_assert_int_eq(daemon_open_rooms(&d, &err), 0);
	ck_assert_msg(daemon_open_choose(&d, &err) == 0, "%s", err.text);
}

void setup(void)
{
	setup_on(NULL);
}

void teardown(void)
{
	char command[96];

	for (int i = 0; i < d.jobs->n; i++)
		reading_close(d.measure, d.jobs->step[i]);
	jobs_done(d.jobs);
	daemon_close_choose(&d);
	daemon_close_rooms(&d);
	free(d.levers);
	actuate_close(d.actuate);
	record_close(d.record);
	ledger_close(d.ledger);
	loop_free(d.loop);
	topo_free(d.node->topo);
	fsroot_close(&d.node->root);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}

void start(uint32_t job, uint32_t step)
{
	msg_init(&in, "step_start");
	msg_putf(&in, "job", "%u", job);
	msg_putf(&in, "step", "%u", step);
	msg_put(&in, "uid", "0");
	msg_put(&in, "ntasks", "1");
	msg_put(&in, "name", "/usr/bin/app");
}

const char *go(void)
{
	arrival_step(&d, &in, &out);
	arrival_after_answer(&d);
	return msg_get(&out, "type");
}

const char *run(uint32_t job, const char *policy)
{
	start(job, 0);
	msg_put(&in, "policy", policy);
	return go();
}

const char *coreset_of(uint32_t job)
{
	static char text[CORESET_STR_MAX];
	struct step *s = jobs_find(d.jobs, job, 0, 0);

	return s ? coreset_format(&s->coreset, text, sizeof(text)) : "none";
}

void finish(uint32_t job, uint32_t step)
{
	msg_init(&in, "step_end");
	msg_putf(&in, "job", "%u", job);
	msg_putf(&in, "step", "%u", step);
	departure_step(&d, &in);
}
