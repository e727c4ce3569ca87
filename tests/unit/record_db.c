/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/record_db.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

struct tmpdir tmp;
struct record *record;
struct errbuf err;

static void setup(void)
{
	memset(&err, 0, sizeof(err));
	tmpdir_create(&tmp);
	ck_assert_msg(record_open(&record, tmpdir_path(&tmp, "coloc.db"), false, &err) == 0, "%s",
		err.text);
}

static void teardown(void)
{
	record_close(record);
	record = NULL;
	tmpdir_remove(&tmp);
}

TCase *record_db_tcase(Suite *s, const char *name)
{
	TCase *t = tcase_create(name);

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	return t;
}

int record_db_run(Suite *s)
{
	SRunner *r = srunner_create(s);
	int failed;

	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}

static int note_registration(const struct registration *reg, void *arg)
{
	char *text = arg;

	sprintf(text + strlen(text), "%u.%u row %lld pid %d tasks %s message %.*s", reg->job_id,
		reg->step_id, (long long)reg->row_id, (int)reg->pid, reg->tasks ? reg->tasks : "-",
		(int)reg->message_len, (const char *)reg->message);
	if (reg->cgroup && *reg->cgroup)
		sprintf(text + strlen(text), " in %s %llu", reg->cgroup,
			(unsigned long long)reg->inode);
	strcat(text, "; ");
	return 0;
}

const char *record_db_registrations(void)
{
	static char text[512];

	*text = '\0';
	ck_assert_int_eq(record_registration_list(record, note_registration, text, &err), 0);
	return text;
}
