/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages about steps: who is placed where, by which policy, and what is refused. What is kept of
 * them: test_lifecycle_kept.c.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc.h"
#include "common/runtimes.h"
#include "nodesvc/books/internal.h"
#include "nodesvc/choose/internal.h"
#include "nodesvc/levers/internal.h"
#include "nodesvc/launch/linkage.h"
#include "nodesvc/launch/spin.h"
#include "nodesvc/steps/steps.h"
#include "tests/unit/fstree.h"
#include "tests/unit/levers_of.h"
#include "tests/unit/lifecycle_fixture.h"

START_TEST(steps_share_the_node_from_their_start)
{
	ck_assert_str_eq(run(1, ""), "step_ok");
	ck_assert_str_eq(coreset_of(1), "0-1");
	run(2, "");
	ck_assert_str_eq(coreset_of(1), "0");
	ck_assert_str_eq(coreset_of(2), "1");
	finish(1, 0);
	ck_assert_str_eq(coreset_of(2), "0-1");
}
END_TEST

static void put_online(const char *cpus, const char *machine)
{
	char file[240];
	FILE *f;

	snprintf(file, sizeof(file),
		"mkdir -p %s/sys/devices/system/cpu && echo %s >%s/sys/devices/system/cpu/online",
		dir, cpus, dir);
	f = popen(file, "r");
	ck_assert(f && pclose(f) == 0);
	setenv("HWLOC_SYNTHETIC", machine, 1);
}

/* The topology is read again, and everybody placed on what there is; also when it comes back. */
START_TEST(cpus_go_offline_and_come_back)
{
	put_online("0-1", "core:2 pu:1");
	online_look(&d);
	run(1, "");
	run(2, "");
	ck_assert_str_eq(coreset_of(1), "0");
	ck_assert_str_eq(coreset_of(2), "1");
	put_online("0", "core:1 pu:1");
	daemon_tick(&d);
	ck_assert_int_eq(d.node->topo->n_cores, 1);
	ck_assert_str_eq(coreset_of(1), "0");
	ck_assert_str_eq(coreset_of(2), "0");
	run(3, "");
	ck_assert_str_eq(coreset_of(3), "0");
	finish(3, 0);
	put_online("0-1", "core:2 pu:1");
	daemon_tick(&d);
	ck_assert_int_eq(d.node->topo->n_cores, 2);
	ck_assert_str_eq(coreset_of(1), "0");
	ck_assert_str_eq(coreset_of(2), "1");
	unsetenv("HWLOC_SYNTHETIC");
}
END_TEST

/* What is reserved is used where nothing else is left, until it is back. */
START_TEST(without_other_cpus_the_reserved_are_used)
{
	struct errbuf err;

	ck_assert_int_eq(coreset_parse(&d.conf->reserve, "0", &err), 0);
	ck_assert_int_eq(node_reserve(d.node, &d.conf->reserve, &err), 0);
	put_online("0-1", "core:2 pu:1");
	online_look(&d);
	run(1, "");
	ck_assert_str_eq(coreset_of(1), "1");
	put_online("0", "core:1 pu:1");
	daemon_tick(&d);
	ck_assert(coreset_has(&d.node->usable, 0));
	put_online("0-1", "core:2 pu:1");
	daemon_tick(&d);
	ck_assert_str_eq(coreset_of(1), "1");
	unsetenv("HWLOC_SYNTHETIC");
}
END_TEST

/* Nothing is to be decided for a step that has the node for itself; until somebody comes. */
START_TEST(one_that_is_alone_for_a_while_needs_fewer_ticks)
{
	const int64_t while_ns = INT64_C(10000000000);
	struct step *s;

	run(1, "");
	d.course->last_ns = ipc_now_ns();
	daemon_tick(&d);
	ck_assert_int_eq(d.course->tick_ms, 100);
	d.course->last_ns -= while_ns;
	daemon_tick(&d);
	ck_assert_int_eq(d.course->tick_ms, 400);
	/* A tick of its own length. */
	d.conf->tick_ms = 200;
	daemon_tick(&d);
	ck_assert_int_eq(d.course->tick_ms, 500);
	d.conf->tick_ms = 1000;
	daemon_tick(&d);
	ck_assert_int_eq(d.course->tick_ms, 1000);
	d.conf->tick_ms = 100;
	daemon_tick(&d);
	ck_assert_int_eq(d.course->tick_ms, 400);
	run(2, "");
	d.course->last_ns = ipc_now_ns();
	ck_assert_int_eq(d.course->tick_ms, 100);
	d.course->last_ns -= while_ns;
	daemon_tick(&d);
	ck_assert_int_eq(d.course->tick_ms, 100);
	finish(2, 0);
	d.course->last_ns = ipc_now_ns();
	daemon_tick(&d);
	ck_assert_int_eq(d.course->tick_ms, 100);
	d.course->last_ns -= while_ns;
	daemon_tick(&d);
	ck_assert_int_eq(d.course->tick_ms, 400);
	/* Who is told at each tick what to do. */
	s = jobs_find(d.jobs, 1, 0, 0);
	s->pages = calloc(1, sizeof(*s->pages));
	ck_assert_int_eq(daemon_pace_ms(&d), 100);
	free(s->pages);
	s->pages = NULL;
}
END_TEST

START_TEST(the_rest_of_a_decision_waits_for_the_launch_or_the_tick)
{
	start(1, 0);
	ck_assert_str_eq(go(), "step_ok");
	ck_assert(d.course->finish_put_off);
	/* The next one's plan does not displace it. */
	start(2, 0);
	ck_assert_str_eq(go(), "step_ok");
	ck_assert(d.course->finish_put_off);
	/* Its tasks never come. */
	daemon_tick(&d);
	ck_assert(!d.course->finish_put_off);
	/* A message that is refused is a launch's last as well. */
	start(3, 0);
	ck_assert_str_eq(go(), "step_ok");
	ck_assert(d.course->finish_put_off);
	msg_init(&in, "task_start");
	arrival_task(&d, &in, &out);
	arrival_after_answer(&d);
	ck_assert(!d.course->finish_put_off);
}
END_TEST

START_TEST(who_decides_is_told_also_if_nothing_moves)
{
	struct step *s;

	ck_assert_str_eq(run(1, "dio"), "step_ok");
	s = jobs_find(d.jobs, 1, 0, 0);
	ck_assert_msg(strstr(s->why, "(fallback: ") != NULL, "%s", s->why);
	s->signal[SIGNAL_LLC_REFS] = (struct signal){1e6, PROVENANCE_HW};
	s->signal[SIGNAL_LLC_MISSES] = (struct signal){1e5, PROVENANCE_HW};
	s->sample_no++;
	decide_run(d.choose, EVENT_TICK, NULL, NULL);
	ck_assert_str_eq(d.choose->decided_by, "dio");
	ck_assert_str_eq(coreset_of(1), "0-1");
	ck_assert_msg(strstr(s->why, "fallback") == NULL, "%s", s->why);
}
END_TEST

/* A policy that settles is asked anew for what it goes by, not for what was measured. */
START_TEST(what_was_measured_asks_nobody_anew)
{
	struct choose_state before, after;
	struct step *s;

	ck_assert_str_eq(run(1, "fair"), "step_ok");
	ck_assert_str_eq(run(2, "fair"), "step_ok");
	s = jobs_find(d.jobs, 1, 0, 0);
	decide_run(d.choose, EVENT_TICK, NULL, NULL);
	choose_get_state(d.choose, &before);
	s->signal[SIGNAL_UTILIZATION] = (struct signal){.25, PROVENANCE_OS};
	s->sample_no++;
	s->has_executed = true;
	s->executed = .25;
	s->runnable = .5;
	decide_run(d.choose, EVENT_TICK, NULL, NULL);
	s->executed = .75;
	decide_run(d.choose, EVENT_TICK, NULL, NULL);
	choose_get_state(d.choose, &after);
	ck_assert_uint_eq(after.decisions, before.decisions);
	s->threads = 7;
	decide_run(d.choose, EVENT_TICK, NULL, NULL);
	choose_get_state(d.choose, &after);
	ck_assert_uint_eq(after.decisions, before.decisions + 1);
}
END_TEST

/* Nobody can be frozen here, and nobody is told that he takes turns. */
START_TEST(a_fallbacks_turns_are_dropped_where_there_are_none)
{
	struct errbuf err;
	struct step *s;

	snprintf(d.conf->fallback, sizeof(d.conf->fallback), "gang");
	ck_assert_int_eq(ruling_reconfigure(d.choose, &err), 0);
	run(1, "dio");
	run(2, "dio");
	s = jobs_find(d.jobs, 1, 0, 0);
	ck_assert_str_eq(d.choose->decided_by, "gang");
	ck_assert_str_eq(coreset_of(1), "0-1");
	ck_assert_msg(strstr(s->why, "no turns") != NULL, "%s", s->why);
	ck_assert_int_eq(d.choose->plan.n_slices, 0);
	ck_assert_int_eq(d.choose->plan.job[0].role, ROLE_OWNER);
	ck_assert_uint_eq(s->turn.slices, 0);
}
END_TEST

START_TEST(repeated_message_gets_the_same_answer)
{
	char first[MSG_MAX];

	run(1, "");
	memcpy(first, out.buf, out.len);
	ck_assert_str_eq(run(1, ""), "step_ok");
	ck_assert_mem_eq(first, out.buf, out.len);
	ck_assert_int_eq(d.jobs->n, 1);
}
END_TEST

START_TEST(first_request_rules_until_the_set_is_empty)
{
	run(1, "spread");
	ck_assert_str_eq(d.choose->ruling, "spread");
	ck_assert_str_eq(run(2, "fair"), "step_ok");
	ck_assert_str_eq(d.choose->ruling, "spread");
	ck_assert_ptr_nonnull(strstr(msg_get(&out, "reason"), "asked for fair; spread rules"));
	finish(1, 0);
	finish(2, 0);
	run(3, "");
	ck_assert_str_eq(d.choose->ruling, "fair");
}
END_TEST

START_TEST(locked_policy_rules_whatever_is_asked)
{
	d.conf->policy_lock = true;
	ck_assert_str_eq(run(1, "spread"), "step_ok");
	ck_assert_str_eq(d.choose->ruling, "fair");
	ck_assert_ptr_nonnull(strstr(msg_get(&out, "reason"), "policy_lock"));
}
END_TEST

START_TEST(conflict_is_refused_where_configured)
{
	d.conf->policy_conflict = CONFLICT_REFUSE;
	run(1, "spread");
	ck_assert_str_eq(run(2, "fair"), "step_refused");
	ck_assert_ptr_nonnull(strstr(msg_get(&out, "reason"), "policy_conflict is refuse"));
	ck_assert_int_eq(d.jobs->n, 1);
}
END_TEST

START_TEST(missing_signal_falls_back_and_says_so)
{
	run(1, "lira");
	run(2, "");
	run(3, "");
	ck_assert_str_eq(jobs_find(d.jobs, 3, 0, 0)->policy, "fair");
	ck_assert_ptr_nonnull(strstr(jobs_find(d.jobs, 3, 0, 0)->why, "loads_per_s is missing"));
}
END_TEST

START_TEST(what_a_node_cannot_do_falls_back_and_says_so)
{
	run(1, "gang");
	run(2, "");
	ck_assert_str_eq(jobs_find(d.jobs, 2, 0, 0)->policy, "fair");
	ck_assert_ptr_nonnull(strstr(jobs_find(d.jobs, 2, 0, 0)->why, "gang"));
}
END_TEST

/* As squeue prints it of a job of root's. */
static void slurmctld_says(uint32_t job, const char *partition_and_account)
{
	struct whose_job j;
	char line[128];

	snprintf(line, sizeof(line), "%u 0 %s\n", job, partition_and_account);
	ck_assert(whose_parse(line, &j));
	whose_learn(d.jobs->whose, &j);
}

START_TEST(lists_keep_others_out)
{
	d.conf->allow.partitions.n = 1;
	strcpy(d.conf->allow.partitions.item[0], "shared");
	slurmctld_says(1, "main ");
	start(1, 0);
	msg_put(&in, "partition", "shared"); /* what the environment says is not believed */
	ck_assert_str_eq(go(), "step_refused");
	ck_assert_str_eq(msg_get(&out, "reason"), "partition 'main' is not in allow.partitions");
	slurmctld_says(3, "shared ");
	start(3, 0);
	msg_put(&in, "partition", "main");
	ck_assert_str_eq(go(), "step_ok");
	ck_assert_str_eq(coreset_of(3), "0-1");
	d.conf->allow.users.n = d.conf->allow.accounts.n = 1;
	strcpy(d.conf->allow.users.item[0], "nobody");
	strcpy(d.conf->allow.accounts.item[0], "physics");
	slurmctld_says(2, "shared (null)");
	start(2, 0);
	msg_put(&in, "user", "nobody");
	ck_assert_str_eq(go(), "step_refused");
	ck_assert_str_eq(msg_get(&out, "reason"), "user 'root' is not in allow.users");
	strcpy(d.conf->allow.users.item[0], "root");
	start(2, 0);
	msg_put(&in, "account", "physics");
	ck_assert_str_eq(go(), "step_refused");
	ck_assert_str_eq(msg_get(&out, "reason"), "account '' is not in allow.accounts");
	slurmctld_says(4, "shared physics");
	start(4, 0);
	msg_put(&in, "account", "none");
	ck_assert_str_eq(go(), "step_ok");
	ck_assert_str_eq(jobs_find(d.jobs, 4, 0, 0)->account, "physics");
	finish(4, 0);
	d.conf->allow.users.n = d.conf->allow.accounts.n = d.conf->allow.partitions.n = 0;
	d.conf->allow_policies.n = 1;
	strcpy(d.conf->allow_policies.item[0], "fair");
	ck_assert_str_eq(run(2, "spread"), "step_refused");
}
END_TEST

static const char *command = "/usr/bin/python3";

/* Is @name among what the step of @job gets, run by @uid as @command with that script? */
static bool gets(uint32_t job, uint32_t uid, const char *script, const char *name)
{
	size_t len = strlen(name);

	msg_init(&in, "step_start");
	msg_putf(&in, "job", "%u", job);
	msg_put(&in, "step", "0");
	msg_putf(&in, "uid", "%u", uid);
	msg_put(&in, "ntasks", "1");
	msg_put(&in, "name", command);
	msg_put(&in, "script", script);
	ck_assert_str_eq(go(), "step_ok");
	for (const char *v = msg_get(&out, "env"); v; v = msg_get_next(&out, "env", v))
		if (strncmp(v, name, len) == 0 && v[len] == '=')
			return true;
	return false;
}

START_TEST(what_a_program_loaded_is_what_its_next_launch_is_for)
{
	d.linkage = linkage_new();
	ck_assert(gets(1, 0, "0a", "KMP_BLOCKTIME"));
	ck_assert(gets(2, 0, "0a", "MKL_NUM_THREADS"));
	/* Nobody has looked yet; then somebody has. */
	daemon_tick(&d);
	ck_assert(gets(3, 0, "0a", "KMP_BLOCKTIME"));
	jobs_find(d.jobs, 1, 0, 0)->mapped.runtimes = RUNTIME_LIBGOMP | RUNTIME_OPENBLAS;
	daemon_tick(&d);
	ck_assert(!gets(4, 0, "0a", "KMP_BLOCKTIME"));
	ck_assert(gets(5, 0, "0a", "GOMP_SPINCOUNT"));
	ck_assert(gets(6, 0, "0a", "OPENBLAS_NUM_THREADS"));
	ck_assert(!gets(7, 0, "0a", "MKL_NUM_THREADS"));
	/* Another script, and another user, are another program. */
	ck_assert(gets(8, 0, "0b", "KMP_BLOCKTIME"));
	ck_assert(gets(9, 1, "0a", "KMP_BLOCKTIME"));
	/* What comes to it later. */
	jobs_find(d.jobs, 4, 0, 0)->mapped.runtimes = RUNTIME_LIBOMP;
	daemon_tick(&d);
	ck_assert(gets(10, 0, "0a", "KMP_BLOCKTIME"));
	ck_assert(gets(11, 0, "0a", "GOMP_SPINCOUNT"));
	/* A script's next command may bring what was not seen. */
	command = "/bin/bash";
	ck_assert(gets(12, 0, "0c", "KMP_BLOCKTIME"));
	jobs_find(d.jobs, 12, 0, 0)->mapped.runtimes = RUNTIME_LIBGOMP;
	daemon_tick(&d);
	ck_assert(gets(13, 0, "0c", "KMP_BLOCKTIME"));
	ck_assert_uint_eq(jobs_find(d.jobs, 13, 0, 0)->links, RUNTIME_LIBGOMP);
	linkage_free(d.linkage);
	d.linkage = NULL;
}
END_TEST

/* Where a narrower cpuset would make it fail. */
START_TEST(what_binds_itself_is_left_alone_under_cpusets)
{
	start(1, 0);
	msg_put(&in, "set", "OMP_PLACES");
	go();
	ck_assert_int_eq(jobs_find(d.jobs, 1, 0, 0)->status, STATUS_PENDING);
	d.conf->rebind = REBIND_CPUSET;
	start(2, 0);
	msg_put(&in, "set", "OMP_NUM_THREADS");
	go();
	ck_assert_int_eq(jobs_find(d.jobs, 2, 0, 0)->status, STATUS_PENDING);
	start(3, 0);
	msg_put(&in, "set", "OMP_NUM_THREADS");
	msg_put(&in, "set", "OMP_PLACES");
	go();
	ck_assert_int_eq(jobs_find(d.jobs, 3, 0, 0)->status, STATUS_EXCLUDED);
	ck_assert_str_eq(jobs_find(d.jobs, 3, 0, 0)->reason,
		"its user set OMP_PLACES: under rebind: cpuset it stays on Slurm's cores");
}
END_TEST

/* slurmctld has not answered when the step begins. */
START_TEST(list_waits_for_slurmctld)
{
	struct step *s;

	d.conf->allow.accounts.n = 1;
	strcpy(d.conf->allow.accounts.item[0], "physics");
	for (uint32_t job = 1; job <= 3; job++) {
		start(job, 0);
		msg_put(&in, "account", "physics");
		ck_assert_str_eq(go(), "step_ok");
		s = jobs_find(d.jobs, job, 0, 0);
		ck_assert_int_eq(s->status, STATUS_EXCLUDED);
		ck_assert_str_eq(coreset_of(job), "");
		ck_assert_str_eq(step_reason(s), "slurmctld has not said yet in which partition "
						 "and account its job is");
	}
	slurmctld_says(1, "main physics");
	ck_assert_str_eq(coreset_of(1), "0-1");
	ck_assert_str_eq(coreset_of(2), "");
	ck_assert_str_eq(step_reason(jobs_find(d.jobs, 1, 0, 0)), "");
	slurmctld_says(2, "main chemistry");
	s = jobs_find(d.jobs, 2, 0, 0);
	ck_assert_int_eq(s->status, STATUS_EXCLUDED);
	ck_assert_str_eq(step_reason(s), "account 'chemistry' is not in allow.accounts");
	/* Nothing is known of the third, now and later. */
	arrival_learn(&d, 3, NULL);
	ck_assert_int_eq(jobs_find(d.jobs, 3, 0, 0)->status, STATUS_EXCLUDED);
	/* A daemon after this one does not ask again. */
	s = jobs_find(d.jobs, 1, 0, 0);
	ck_assert_ptr_nonnull(memmem(s->message, s->message_len, "\0slurm_account=physics", 23));
}
END_TEST

static const struct {
	const char *line;
	bool good;
	const char *partition, *account;
} SQUEUE[] = {
	{"12 1000 main physics\n", true, "main", "physics"},
	{"12 1000 main (null)\n", true, "main", ""},
	{"12 1000 main \n", true, "main", ""},
	{"12 1000 main", true, "main", ""},
	{"12 1000 main a b\n13 0 vip paid\n", true, "main", "a b"},
	{"slurm_load_jobs error: Invalid job id specified\n", false, "", ""},
	{"12 1000\n", false, "", ""},
	{"", false, "", ""},
};

START_TEST(squeue_is_read)
{
	struct whose_job j;

	ck_assert_int_eq(whose_parse(SQUEUE[_i].line, &j), SQUEUE[_i].good);
	if (!SQUEUE[_i].good)
		return;
	ck_assert_uint_eq(j.job_id, 12);
	ck_assert_uint_eq(j.uid, 1000);
	ck_assert_str_eq(j.partition, SQUEUE[_i].partition);
	ck_assert_str_eq(j.account, SQUEUE[_i].account);
}
END_TEST

START_TEST(users_own_binding_stands)
{
	start(1, 0);
	msg_put(&in, "bind_type", "map_cpu:");
	ck_assert_str_eq(go(), "step_ok");
	ck_assert_int_eq(jobs_find(d.jobs, 1, 0, 0)->status, STATUS_EXCLUDED);
	start(2, 0);
	msg_put(&in, "bind_type", "mask_cpu:");
	msg_put(&in, "bind_unasked", "1");
	go();
	ck_assert_int_eq(jobs_find(d.jobs, 2, 0, 0)->status, STATUS_PENDING);
	d.conf->respect_user_binding = false;
	start(3, 0);
	msg_put(&in, "bind_type", "map_cpu:");
	go();
	ck_assert_int_eq(jobs_find(d.jobs, 3, 0, 0)->status, STATUS_PENDING);
}
END_TEST

START_TEST(batch_shell_makes_room_for_its_steps)
{
	start(1, STEP_BATCH);
	msg_put(&in, "batch", "1");
	go();
	/* What mpirun reads, and nothing else. */
	ck_assert_str_eq(msg_get(&out, "env"), "PRTE_MCA_bindto=none");
	ck_assert_ptr_null(msg_get_next(&out, "env", msg_get(&out, "env")));
	start(1, 0);
	ck_assert_str_eq(go(), "step_ok");
	ck_assert_int_eq(jobs_find(d.jobs, 1, STEP_BATCH, 0)->status, STATUS_ASIDE);
	ck_assert_str_eq(coreset_of(1), "0-1");
}
END_TEST

START_TEST(dry_run_decides_and_sets_nothing)
{
	start(1, 0);
	msg_put(&in, "policy", "fair,dry_run=yes");
	ck_assert_str_eq(go(), "step_ok");
	ck_assert(jobs_find(d.jobs, 1, 0, 0)->dry_run);
	ck_assert_str_eq(d.choose->ruling, "fair");
	ck_assert_str_eq(coreset_of(1), "0-1");
	ck_assert_ptr_null(msg_get(&out, "env"));
}
END_TEST

START_TEST(draining_node_takes_no_new_steps)
{
	run(1, "");
	d.course->draining = true;
	ck_assert_str_eq(run(2, ""), "step_refused");
	ck_assert_int_eq(d.jobs->n, 1);
}
END_TEST

static const char *run_on(uint32_t job, const char *cores)
{
	start(job, 0);
	msg_put(&in, "job_cores", cores);
	return go();
}

static struct step *find(uint32_t job)
{
	return jobs_find(d.jobs, job, 0, 0);
}

static int on_core(unsigned int core)
{
	int n = 0;

	for (int i = 0; i < d.jobs->n; i++)
		n += coreset_has(&d.jobs->step[i]->coreset, core);
	return n;
}

START_TEST(node_envelope_is_what_the_steps_have_together)
{
	/* Inside their own allocation two of one core share it. */
	run_on(1, "0");
	run_on(2, "0");
	ck_assert_str_eq(coreset_of(1), "0");
	ck_assert_str_eq(coreset_of(2), "0");
	finish(1, 0);
	finish(2, 0);
	d.conf->envelope = ENVELOPE_NODE;
	run_on(3, "0");
	ck_assert_str_eq(coreset_of(3), "0"); /* nobody else's core */
	run_on(4, "0");
	run_on(5, "1");
	finish(4, 0);
	run_on(6, "1");
	finish(3, 0);
	run_on(7, "0");
	finish(6, 0);
	/* Two are left, of cores 0 and 1: one each, whosever they are. */
	ck_assert_int_eq(coreset_count(&find(5)->coreset), 1);
	ck_assert(!coreset_intersects(&find(5)->coreset, &find(7)->coreset));
	finish(5, 0);
	ck_assert_str_eq(coreset_of(7), "0"); /* core 1 is nobody's now */
	/* Three of core 0 and one of core 1: two cores, two on each. */
	run_on(9, "0");
	run_on(10, "0");
	ck_assert_str_eq(coreset_of(10), "0");
	run_on(11, "1");
	ck_assert_int_eq(on_core(0), 2);
	ck_assert_int_eq(on_core(1), 2);
	finish(7, 0);
	finish(9, 0);
	finish(10, 0);
	finish(11, 0);
	/* A step of several nodes keeps its own. */
	start(8, 0);
	msg_put(&in, "job_cores", "1");
	msg_put(&in, "nnodes", "2");
	go();
	ck_assert_str_eq(coreset_of(8), "1");
}
END_TEST

START_TEST(reserved_allocation_is_left_alone)
{
	coreset_zero(&d.node->usable);
	coreset_add(&d.node->usable, 1);
	start(1, 0);
	msg_put(&in, "job_cores", "0");
	go();
	ck_assert_int_eq(jobs_find(d.jobs, 1, 0, 0)->status, STATUS_EXCLUDED);
	ck_assert_str_eq(jobs_find(d.jobs, 1, 0, 0)->reason, "its allocation is reserved");
}
END_TEST

static const struct {
	const char *key, *value, *says;
} bad[] = {
	{"job", "x", "message: job='x' is not a number"},
	{"uid", "-1", "message: uid=-1 is outside"},
	{"qos", "2", "qos '2' is not in (0, 1]"},
	{"policy", "bogus", "policy 'bogus' does not run on a node"},
	{"policy", "fair,dry_run=maybe", "dry_run=maybe: neither yes nor no"},
	{"policy", "lira,tie=dice", "tie"},
};

START_TEST(bad_field_is_refused_with_its_value)
{
	msg_init(&in, "step_start");
	msg_put(&in, bad[_i].key, bad[_i].value);
	msg_put(&in, "job", "1");
	msg_put(&in, "step", "0");
	ck_assert_str_eq(go(), "step_refused");
	ck_assert_msg(strstr(msg_get(&out, "reason"), bad[_i].says) != NULL, "got: %s",
		msg_get(&out, "reason"));
	ck_assert_int_eq(d.jobs->n, 0);
}
END_TEST

START_TEST(unregistered_task_is_refused)
{
	msg_init(&in, "task_start");
	msg_put(&in, "job", "1");
	msg_put(&in, "step", "0");
	msg_put(&in, "task", "0");
	msg_put(&in, "pid", "1");
	arrival_task(&d, &in, &out);
	ck_assert_str_eq(msg_get(&out, "type"), "task_refused");
	ck_assert_str_eq(msg_get(&out, "reason"), "step 1.0 is not registered");
}
END_TEST

/* ---- whose process is it? ---- */

#define SCOPE "/system.slice/n1_slurmstepd.scope"

static void put_v2(void)
{
	struct fstree t;

	snprintf(t.dir, sizeof(t.dir), "%s", dir);
	t.root = d.node->root;
	fstree_put(&t, "proc/self/mountinfo", "1 2 0:1 / /cg rw - cgroup2 c rw\n");
	fstree_put(&t, "cg/cgroup.controllers", "cpuset\n");
}

/* The same daemon on cgroup v2. */
static void setup_v2(void)
{
	setup_on(put_v2);
	ck_assert_str_eq(actuate_get_ops(d.actuate)->name, "cgroup-v2");
}

/* Process @pid is in task_0 of step @job (as its directory is named).0. */
static void put_task(pid_t pid, const char *job)
{
	static const char *const level[] = {"", "/step_0", "/step_0/user", "/step_0/user/task_0"};
	char path[256], text[256];
	struct fstree t;

	snprintf(t.dir, sizeof(t.dir), "%s", dir);
	t.root = d.node->root;
	for (size_t i = 0; i < sizeof(level) / sizeof(level[0]); i++) {
		snprintf(path, sizeof(path), "cg" SCOPE "/%s%s/cpuset.cpus", job, level[i]);
		fstree_put(&t, path, "0-1\n");
		snprintf(path, sizeof(path), "cg" SCOPE "/%s%s/cpuset.cpus.effective", job,
			level[i]);
		fstree_put(&t, path, "0-1\n");
	}
	snprintf(path, sizeof(path), "proc/%d/cgroup", (int)pid);
	snprintf(text, sizeof(text), "0::" SCOPE "/%s/step_0/user/task_0\n", job);
	fstree_put(&t, path, text);
}

/* One of two tasks: nothing is placed yet. */
static const char *say_task(uint32_t job, pid_t pid)
{
	msg_init(&in, "task_start");
	msg_putf(&in, "job", "%u", job);
	msg_put(&in, "step", "0");
	msg_put(&in, "task", "0");
	msg_putf(&in, "pid", "%d", (int)pid);
	arrival_task(&d, &in, &out);
	arrival_after_answer(&d);
	return msg_get(&out, "type");
}

static void start_two_tasks(uint32_t job)
{
	msg_init(&in, "step_start");
	msg_putf(&in, "job", "%u", job);
	msg_put(&in, "step", "0");
	msg_put(&in, "uid", "0");
	msg_put(&in, "ntasks", "2");
	msg_put(&in, "name", "app");
	ck_assert_str_eq(go(), "step_ok");
}

/* 22.05 and 24.11, 26.05: there the path does not say which job it is. */
static const char *const job_dir[][2] = {{"job_1", "job_2"}, {"sF7DM7XM43H300", "sEKNKTV3WPV500"}};

START_TEST(task_of_another_step_is_refused)
{
	put_task(5000, job_dir[_i][0]);
	put_task(6000, job_dir[_i][1]);
	start_two_tasks(1);
	ck_assert_str_eq(say_task(1, 5000), "task_ok");
	start_two_tasks(2);
	ck_assert_str_eq(say_task(2, 5000), "task_refused");
	ck_assert_str_eq(msg_get(&out, "reason"), "pid 5000 is in step 1.0, not 2.0");
	ck_assert(!jobs_find(d.jobs, 2, 0, 0)->located);
	ck_assert_str_eq(say_task(2, 6000), "task_ok");
	ck_assert_str_eq(say_task(1, 5000), "task_ok");
}
END_TEST

/*
 * How long libgomp's threads of a step of @nodes nodes are told to spin that asks for @policy with
 * the node to itself: 25 or 50 us, 0 otherwise.
 */
static int spins_us(const char *policy, const char *nodes)
{
	const struct step *s;
	long count = -1;

	start(1, 0);
	msg_put(&in, "policy", policy);
	msg_put(&in, "nnodes", nodes);
	ck_assert_str_eq(go(), "step_ok");
	s = jobs_find(d.jobs, 1, 0, 0);
	for (int i = 0; i < s->n_env; i++)
		if (strcmp(s->env[i].name, "GOMP_SPINCOUNT") == 0)
			count = atol(s->env[i].value);
	finish(1, 0);
	return count == spin_count(25) ? 25 : count == spin_count(50) ? 50 : 0;
}

START_TEST(who_takes_turns_is_told_to_spin_longer)
{
	struct rotate r = {.slice = -1};

	d.conf->multi_node = MULTI_NODE_INDEPENDENT;
	ck_assert_int_eq(spins_us("fair", "1"), 25);
	/* No guard, no turns: those who come beside it will share its cores. */
	ck_assert_int_eq(spins_us("gang", "1"), 25);
	d.levers->rotate = &r;
	ck_assert_int_eq(spins_us("gang", "1"), 50);
	ck_assert_int_eq(spins_us("fair", "1"), 25);
	/* It is in no rotation. */
	ck_assert_int_eq(spins_us("gang", "2"), 25);
	strcpy(r.why_not, "the freezer is away");
	ck_assert_int_eq(spins_us("gang", "1"), 25);
	d.levers->rotate = NULL;
}
END_TEST

int main(void)
{
	Suite *s = suite_create("lifecycle");
	SRunner *sr = srunner_create(s);
	TCase *tc;
	int failed;

	tc = tcase_create("steps come and go");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, steps_share_the_node_from_their_start);
	tcase_add_test(tc, cpus_go_offline_and_come_back);
	tcase_add_test(tc, without_other_cpus_the_reserved_are_used);
	tcase_add_test(tc, one_that_is_alone_for_a_while_needs_fewer_ticks);
	tcase_add_test(tc, the_rest_of_a_decision_waits_for_the_launch_or_the_tick);
	tcase_add_test(tc, what_was_measured_asks_nobody_anew);
	tcase_add_test(tc, who_decides_is_told_also_if_nothing_moves);
	tcase_add_test(tc, a_fallbacks_turns_are_dropped_where_there_are_none);
	tcase_add_test(tc, repeated_message_gets_the_same_answer);
	tcase_add_test(tc, draining_node_takes_no_new_steps);
	tcase_add_test(tc, batch_shell_makes_room_for_its_steps);
	tcase_add_test(tc, who_takes_turns_is_told_to_spin_longer);
	suite_add_tcase(s, tc);
	tc = tcase_create("one policy rules the set");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, first_request_rules_until_the_set_is_empty);
	tcase_add_test(tc, locked_policy_rules_whatever_is_asked);
	tcase_add_test(tc, conflict_is_refused_where_configured);
	tcase_add_test(tc, missing_signal_falls_back_and_says_so);
	tcase_add_test(tc, what_a_node_cannot_do_falls_back_and_says_so);
	suite_add_tcase(s, tc);
	tc = tcase_create("what must not be touched is not");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, lists_keep_others_out);
	tcase_add_test(tc, list_waits_for_slurmctld);
	tcase_add_loop_test(tc, squeue_is_read, 0, (int)(sizeof(SQUEUE) / sizeof(SQUEUE[0])));
	tcase_add_test(tc, users_own_binding_stands);
	tcase_add_test(tc, what_a_program_loaded_is_what_its_next_launch_is_for);
	tcase_add_test(tc, what_binds_itself_is_left_alone_under_cpusets);
	tcase_add_test(tc, dry_run_decides_and_sets_nothing);
	tcase_add_test(tc, reserved_allocation_is_left_alone);
	tcase_add_test(tc, node_envelope_is_what_the_steps_have_together);
	suite_add_tcase(s, tc);
	tc = tcase_create("bad messages are refused and change nothing");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(
		tc, bad_field_is_refused_with_its_value, 0, sizeof(bad) / sizeof(bad[0]));
	tcase_add_test(tc, unregistered_task_is_refused);
	suite_add_tcase(s, tc);
	tc = tcase_create("the kernel says whose a process is");
	tcase_add_checked_fixture(tc, setup_v2, teardown);
	tcase_add_loop_test(tc, task_of_another_step_is_refused, 0, 2);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
