/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/rotation.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/aside.h"
#include "common/ipc.h"
#include "nodesvc/levers/internal.h"
#include "nodesvc/base/log.h"
#include "nodesvc/measure/measure.h"
#include "tests/unit/levers_of.h"

struct fstree tree;
struct daemon d;
struct plan plan;
int64_t now, next;
uint32_t idle;
static struct errbuf err;

int64_t __real_ipc_now_ns(void);
int64_t __wrap_ipc_now_ns(void);

/*
 * Made-up time is so far ahead of the machine's. The guard is a process that goes by the latter: on
 * a machine so busy that a test takes longer than the time it makes up, it would thaw in the
 * middle.
 */
#define AHEAD_NS (3600000 * MS)

/* What rotate.c asks for itself must not depend on the machine. */
int64_t __wrap_ipc_now_ns(void)
{
	return now;
}

int64_t __wrap_aside_spent_ns(const struct aside *a);

/* Nor must how soon a step's threads are listed again: what took the machine long, under sanitizers
 * say, is not for a while. */
int64_t __wrap_aside_spent_ns(const struct aside *a)
{
	(void)a;
	return 0;
}

void put_run(uint32_t job, int64_t run_ms, int slices)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "proc/%u/schedstat", job * 10);
	snprintf(text, sizeof(text), "%lld 0 %d\n", (long long)run_ms * MS, slices);
	fstree_put(&tree, path, text);
}

void setup(void)
{
	daemon_init(&d);
	idle = 0;
	now = __real_ipc_now_ns() + AHEAD_NS;
	log_init(LOG_LEVEL_ERROR);
	conf_defaults(d.conf);
	fstree_make(&tree);
	d.node->root = tree.root;
	fstree_put(&tree, "proc/self/mountinfo",
		"31 22 0:27 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n"
		"32 22 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
	fstree_put(&tree, "sys/fs/cgroup/cpuset/cpuset.cpus", "0-1\n");
	ck_assert_int_eq(topo_load(&d.node->topo, "core:2 pu:1", &err), 0);
	ck_assert_int_eq(loop_create(&d.loop, &err), 0);
	ck_assert_int_eq(ledger_open(&d.ledger, ":memory:", "boot", &err), 0);
	ck_assert_int_eq(
		actuate_open(&d.actuate, &d.node->root, d.ledger, &d.node->topo->all, &err), 0);
	levers_of(&d);
	ck_assert_int_eq(plan_init(&plan, JOBS_MAX, &err), 0);
	ck_assert_int_eq(daemon_open_rooms(&d, &err), 0);
	ck_assert_int_eq(rotate_guard(d.levers, &err), 0);
	rotate_open(d.levers);
}

void teardown(void)
{
	rotate_close(d.levers);
	jobs_done(d.jobs);
	daemon_close_rooms(&d);
	free(d.levers);
	plan_done(&plan);
	actuate_close(d.actuate);
	ledger_close(d.ledger);
	loop_free(d.loop);
	topo_free(d.node->topo);
	fstree_remove(&tree);
}

void freezer_file(uint32_t job, char *ret, size_t size)
{
	snprintf(
		ret, size, "sys/fs/cgroup/freezer/slurm_n1/uid_0/job_%u/step_0/freezer.state", job);
}

bool frozen(uint32_t job)
{
	char path[128], text[16] = "";

	freezer_file(job, path, sizeof(path));
	ck_assert_int_gt(fsroot_read(&tree.root, path, text, sizeof(text)), 0);
	return strncmp(text, "FROZEN", 6) == 0;
}

struct step *add(uint32_t job)
{
	struct step *s = jobs_add(d.jobs, job, 0, 0);
	char path[160], text[160];

	freezer_file(job, path, sizeof(path));
	fstree_put(&tree, path, "THAWED\n");
	snprintf(path, sizeof(path), "proc/%u/cgroup", job * 10);
	snprintf(text, sizeof(text),
		"9:cpuset:/slurm_n1/uid_0/job_%u/step_0\n3:freezer:/slurm_n1/uid_0/job_%u/step_0\n",
		job, job);
	fstree_put(&tree, path, text);
	snprintf(text, sizeof(text), "%u\n", job * 10);
	snprintf(s->cgroup.step_path, sizeof(s->cgroup.step_path),
		"sys/fs/cgroup/cpuset/slurm_n1/uid_0/job_%u/step_0", job);
	snprintf(path, sizeof(path), "%.120s/tasks", s->cgroup.step_path);
	fstree_put(&tree, path, text);
	snprintf(path, sizeof(path), "%.120s/cgroup.procs", s->cgroup.step_path);
	fstree_put(&tree, path, text);
	snprintf(path, sizeof(path), "proc/%u/task/%u/stat", job * 10, job * 10);
	fstree_put(&tree, path, "1 (app) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100\n");
	put_run(job, 0, 1);
	s->cgroup.job_id = job;
	s->ntasks = 1;
	s->located = true;
	ck_assert_int_eq(coreset_parse(&s->coreset, "0-1", &err), 0);
	s->start_mono_ns -= RUNS_FOR_NS;
	s->status = STATUS_PLACED;
	ck_assert_int_eq(step_add_task(s, 0, (pid_t)(job * 10)), 0);
	return s;
}

void turn(void)
{
	static int64_t ran_ms;

	ran_ms += 100000;
	for (int i = 0; i < d.jobs->n; i++)
		if (d.jobs->step[i]->job_id != idle)
			put_run(d.jobs->step[i]->job_id, ran_ms, 1);
	now = next;
	rotate_run(d.levers, now, &next);
}

void give(const int *ms, int n)
{
	bool was;

	plan.n_jobs = n;
	plan.n_slices = n;
	for (int i = 0; i < n; i++) {
		snprintf(plan.job[i].id, sizeof(plan.job[i].id), "%d.0", i + 1);
		plan.slice[i].ms = ms[i];
		plan.slice[i].n_jobs = 1;
		plan.slice[i].job[0] = i;
	}
	rotate_plan(d.levers, &plan, d.jobs->step);
	rotate_update(d.levers);
	rotate_run(d.levers, now, &next);
	for (was = frozen(1); next && frozen(1) == was;)
		turn();
}

int64_t run_until(int64_t until, uint32_t job)
{
	int64_t ran = 0;

	while (next && next <= until) {
		if (!frozen(job))
			ran += next - now;
		turn();
	}
	if (!frozen(job))
		ran += until - now;
	now = until;
	return ran / MS;
}

int rotation_run(Suite *suite)
{
	SRunner *sr = srunner_create(suite);
	int failed;

	/* Not as root there is no fanotify, and then no rotation: nothing to see here. */
	if (geteuid() != 0) {
		printf("needs root: fanotify\n");
		srunner_free(sr);
		return 77;
	}
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
