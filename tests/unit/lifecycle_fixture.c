/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/lifecycle_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/daemon_fixture.h"

struct daemon d;
char dir[64];
struct msg in, out;

void setup_on(void (*node)(void))
{
	strcpy(dir, "/tmp/coloc-life-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	daemon_up(&d, dir, node);
}

void setup(void)
{
	setup_on(NULL);
}

void teardown(void)
{
	char command[96];

	daemon_down(&d);
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
