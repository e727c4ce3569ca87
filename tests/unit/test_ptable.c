/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The das policies' table of the daemon: whose samples it tells an engine, before and after a
 * restart.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "common/ipc.h"
#include "nodesvc/base/log.h"
#include "nodesvc/choose/internal.h"
#include "tests/unit/tmpdir.h"

static struct tmpdir tmp;
static struct conf conf;
static struct node node;
static struct jobs jobs;
static struct choose choose;
static struct errbuf err;

static void setup(void)
{
	tmpdir_create(&tmp);
	log_init(LOG_LEVEL_ERROR);
	ck_assert_int_eq(topo_load(&node.topo, "pack:1 l3:1 core:2 pu:1", &err), 0);
	snprintf(node.type, sizeof(node.type), "a node");
	snprintf(conf.store, sizeof(conf.store), "%s", tmp.dir);
	choose = (struct choose){.conf = &conf, .node = &node, .jobs = &jobs};
	ck_assert_int_eq(ptable_open(&choose, &err), 0);
}

static void teardown(void)
{
	ptable_close(&choose);
	jobs_done(&jobs);
	topo_free(node.topo);
	tmpdir_remove(&tmp);
}

/* A step of the user's "app" ends, that ran on one core. */
static void ends(uint32_t job, uint32_t uid, unsigned int core)
{
	struct step *s = jobs_add(&jobs, job, 0, 0);
	struct event e;

	ck_assert_ptr_nonnull(s);
	s->uid = uid;
	s->nnodes = 1;
	s->status = STATUS_PLACED;
	s->start_mono_ns = ipc_now_ns() - INT64_C(1000000000);
	snprintf(s->type, sizeof(s->type), "app");
	snprintf(s->policy, sizeof(s->policy), "das-dam-c");
	coreset_zero(&s->coreset);
	coreset_add(&s->coreset, core);
	ck_assert(ptable_note(&choose, s, &e));
	ck_assert_int_eq(e.owner, uid);
	ck_assert_str_eq(e.task_type, "app");
}

/* What is told is one sample of each of the two. */
static void check_told(void)
{
	struct view v = {.n_ptt = 0};

	ptable_tell(&choose, "das-dam-c", &v);
	ck_assert_int_eq(v.n_ptt, 2);
	for (int i = 0; i < 2; i++) {
		ck_assert_str_eq(v.ptt[i].type, "app");
		ck_assert_int_eq(v.ptt[i].width, 1);
		ck_assert_int_eq(v.ptt[i].owner, v.ptt[i].core == 0 ? 0 : 4294967294);
	}
	ck_assert_int_ne(v.ptt[0].core, v.ptt[1].core);
}

START_TEST(samples_are_the_users_also_after_a_restart)
{
	ends(1, 0, 0);
	ends(2, 4294967294, 1);
	check_told();
	ptable_close(&choose);
	ck_assert_int_eq(ptable_open(&choose, &err), 0);
	check_told();
}
END_TEST

static int read_back(const char *text)
{
	struct view v = {.n_ptt = 0};
	char path[320];
	FILE *f;

	ptable_close(&choose);
	snprintf(path, sizeof(path), "%s/trace-table.json", tmp.dir);
	f = fopen(path, "we");
	ck_assert(f && fputs(text, f) >= 0 && fclose(f) == 0);
	ck_assert_int_eq(ptable_open(&choose, &err), 0);
	ptable_tell(&choose, "das-dam-c", &v);
	return v.n_ptt;
}

#define HEAD   "{\"version\": 2, \"node_type\": \"a node\", \"owners\": "
#define SAMPLE "[{\"core\": 0, \"width\": 1, \"seconds\": 1}]"

START_TEST(a_table_without_owners_is_not_read)
{
	ck_assert_int_eq(read_back(HEAD "{\"7\": {\"app\": " SAMPLE "}}}"), 1);
	/* As it was written before it knew them. */
	ck_assert_int_eq(read_back("{\"version\": 1, \"node_type\": \"a node\", \"types\": "
				   "{\"app\": " SAMPLE "}}"),
		0);
	ck_assert_int_eq(read_back(HEAD "{\"ada\": {\"app\": " SAMPLE "}}}"), 0);
	ck_assert_int_eq(read_back(HEAD "{\"-1\": {\"app\": " SAMPLE "}}}"), 0);
	ck_assert_int_eq(read_back(HEAD "{\"4294967296\": {\"app\": " SAMPLE "}}}"), 0);
	ck_assert_int_eq(read_back(HEAD "{\"7\": " SAMPLE "}}"), 0);
	ck_assert_int_eq(read_back(HEAD "{\"app\": " SAMPLE "}}"), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ptable");
	TCase *owners = tcase_create("what a program took is its owner's");
	SRunner *r = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(owners, setup, teardown);
	tcase_add_test(owners, samples_are_the_users_also_after_a_restart);
	tcase_add_test(owners, a_table_without_owners_is_not_read);
	suite_add_tcase(suite, owners);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
