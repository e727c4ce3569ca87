/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/sim/task_queue.h"
#include "contrib/programs/tasks.h"

#include <check.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define N 400

static struct tasks_task task[N];
static int child[2 * N];
static atomic_int work[N], order_at[N], clock_now;

static void run(void *ctx, int i)
{
	(void)ctx;
	/* The first to come does it; whoever comes later finds it done. */
	if (atomic_fetch_add(&work[i], 1) == 0)
		order_at[i] = ++clock_now;
}

/* Task i waits for (i - 1) / 2: a binary tree; every fifth is critical. */
static void make_tree(struct tasks_graph *g)
{
	int at = 0;

	memset(task, 0, sizeof(task));
	for (int i = 0; i < N; i++) {
		task[i] = (struct tasks_task){.type = i % 3 ? "a" : "b",
			.high = i % 5 == 0,
			.n_before = i > 0,
			.first_child = at};
		for (int k = 2 * i + 1; k <= 2 * i + 2 && k < N; k++, at++) {
			child[at] = k;
			task[i].n_children++;
		}
		work[i] = 0;
	}
	clock_now = 0;
	*g = (struct tasks_graph){N, task, child, run, NULL};
}

static const char *const das[] = {
	"das-rws", "das-rwsm-c", "das-fa", "das-fam-c", "das-da", "das-dam-c", "das-dam-p"};

START_TEST(every_task_runs_after_the_one_before)
{
	struct errbuf err = {""};
	struct topo *t;

	ck_assert_int_eq(topo_load(&t, NULL, &err), 0);
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct tasks_graph g;
		struct tasks_result r;

		make_tree(&g);
		ck_assert_msg(
			tasks_run(&g, das[_i], t, &t->all, seed, &r, &err) == 0, "%s", err.text);
		ck_assert_int_eq(r.n_high, N / 5);
		ck_assert_double_gt(r.seconds, 0);
		for (int i = 0; i < N; i++) {
			ck_assert_int_ge(work[i], 1);
			ck_assert(i == 0 || order_at[i] > order_at[(i - 1) / 2]);
		}
	}
	topo_free(t);
}
END_TEST

START_TEST(another_policy_is_refused)
{
	struct errbuf err = {""};
	struct tasks_result r = {.seconds = -1};
	struct tasks_graph g;
	struct topo *t;

	make_tree(&g);
	ck_assert_int_eq(topo_load(&t, NULL, &err), 0);
	ck_assert_int_eq(tasks_run(&g, "fair", t, &t->all, 1, &r, &err), -EINVAL);
	ck_assert_str_eq(err.text, "policy 'fair': tasks are placed by das-* only");
	ck_assert_int_eq(work[0], 0);
	/* A policy that cannot decide ends the run with its reason. */
	struct coreset none = {{0}};
	ck_assert_int_eq(tasks_run(&g, "das-fa", t, &none, 1, &r, &err), -ENODATA);
	ck_assert_ptr_nonnull(strstr(err.text, "fast_cores is missing"));
	ck_assert_double_eq(r.seconds, -1);
	topo_free(t);
}
END_TEST

START_TEST(owner_takes_the_newest_thief_the_oldest)
{
	struct task_queue q = {0};

	ck_assert_int_eq(task_queue_newest(&q), -1);
	ck_assert_int_eq(task_queue_oldest(&q), -1);
	/* Goes round and grows with its head in the middle. */
	for (int i = 0; i < 12; i++)
		ck_assert_int_eq(task_queue_push(&q, i), 0);
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(task_queue_oldest(&q), i);
	for (int i = 12; i < 100; i++)
		ck_assert_int_eq(task_queue_push(&q, i), 0);
	ck_assert_int_eq(task_queue_newest(&q), 99);
	ck_assert_int_eq(task_queue_oldest(&q), 10);
	for (int i = 98; i > 10; i--)
		ck_assert_int_eq(task_queue_newest(&q), i);
	ck_assert_int_eq(q.n, 0);
	task_queue_done(&q);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tasks");
	TCase *order = tcase_create("a graph runs in order under every policy");
	TCase *bad = tcase_create("what cannot run is refused");
	TCase *queue = tcase_create("a queue has two ends");
	SRunner *sr;
	int failed;

	tcase_set_timeout(order, 60);
	tcase_add_loop_test(order, every_task_runs_after_the_one_before, 0, 7);
	tcase_add_test(bad, another_policy_is_refused);
	tcase_add_test(queue, owner_takes_the_newest_thief_the_oldest);
	suite_add_tcase(s, order);
	suite_add_tcase(s, bad);
	suite_add_tcase(s, queue);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
