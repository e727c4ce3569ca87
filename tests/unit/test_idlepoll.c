/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUs that poll while they idle, in a tree of files: for whom, and back at a step's end, release,
 * stop and after a crash. What it does to programs: contrib/bench/idlepoll.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "nodesvc/actuate/wakeup.h"
#include "nodesvc/daemon.h"
#include "nodesvc/log.h"
#include "tests/unit/fstree.h"

#define CPUS "sys/devices/system/cpu"

static struct fstree tree;
static struct daemon d;
static struct errbuf err;

static void latency_file(char ret[static 96], int cpu)
{
	snprintf(ret, 96, CPUS "/cpu%d/power/pm_qos_resume_latency_us", cpu);
}

static void put_latency(int cpu, const char *text)
{
	char path[96];

	latency_file(path, cpu);
	fstree_put(&tree, path, text);
}

/* What CPUs 0 to 3 have. */
static const char *latencies(void)
{
	static char all[128];

	all[0] = '\0';
	for (int cpu = 0; cpu < 4; cpu++) {
		char path[96], text[32] = "?";

		latency_file(path, cpu);
		fsroot_read(&tree.root, path, text, sizeof(text));
		text[strcspn(text, "\n")] = '\0';
		snprintf(
			all + strlen(all), sizeof(all) - strlen(all), "%s%s", cpu ? " " : "", text);
	}
	return all;
}

static void setup(void)
{
	memset(&d, 0, sizeof(d));
	log_init(LOG_LEVEL_ERROR);
	conf_defaults(&d.conf);
	fstree_make(&tree);
	d.root = tree.root;
	fstree_put(&tree, CPUS "/cpuidle/current_driver", "haltpoll\n");
	fstree_put(&tree, CPUS "/cpu0/cpuidle/state0/name", "POLL\n");
	for (int cpu = 0; cpu < 4; cpu++)
		put_latency(cpu, "0\n");
	ck_assert_int_eq(ledger_open(&d.ledger, ":memory:", "boot", &err), 0);
	idlepoll_open(&d);
}

static void teardown(void)
{
	jobs_done(&d.jobs);
	ledger_close(d.ledger);
	fstree_remove(&tree);
}

/* A placed step on @cpus that was told to spin shortly. */
static struct step *add(uint32_t job, const char *cpus)
{
	struct step *s = jobs_add(&d.jobs, job, 0, 0);

	s->located = s->short_spins = true;
	s->status = STATUS_PLACED;
	ck_assert_int_eq(coreset_parse(&s->coreset, cpus, &err), 0);
	return s;
}

static void end(struct step *s)
{
	jobs_remove(&d.jobs, s);
	idlepoll_update(&d);
}

START_TEST(cpus_of_a_step_poll_until_it_ends)
{
	struct step *s = add(1, "1-2"), *other;

	idlepoll_update(&d);
	ck_assert_str_eq(latencies(), "0 n/a n/a 0");
	ck_assert_int_eq(ledger_count(d.ledger), 2);
	/* Somebody comes, and it is moved. */
	other = add(2, "3");
	coreset_parse(&s->coreset, "1", &err);
	idlepoll_update(&d);
	ck_assert_str_eq(latencies(), "0 n/a 0 n/a");
	end(other);
	ck_assert_str_eq(latencies(), "0 n/a 0 0");
	end(s);
	ck_assert_str_eq(latencies(), "0 0 0 0");
	ck_assert_int_eq(ledger_count(d.ledger), 0);
}
END_TEST

START_TEST(only_placed_steps_that_spin_shortly_count)
{
	struct step *s = add(1, "0");

	s->short_spins = false;
	idlepoll_update(&d);
	s->short_spins = s->dry_run = true;
	idlepoll_update(&d);
	s->dry_run = false;
	s->status = STATUS_RELEASED;
	idlepoll_update(&d);
	ck_assert_str_eq(latencies(), "0 0 0 0");
	s->status = STATUS_PLACED;
	idlepoll_update(&d);
	ck_assert_str_eq(latencies(), "n/a 0 0 0");
	/* The site says otherwise, at a reload. */
	d.conf.launch_env.idle = IDLE_LEAVE;
	idlepoll_update(&d);
	ck_assert_str_eq(latencies(), "0 0 0 0");
}
END_TEST

START_TEST(what_the_site_asked_of_a_cpu_comes_back)
{
	struct step *s;

	put_latency(0, "20\n");
	put_latency(1, "n/a\n");
	s = add(1, "0-2");
	idlepoll_update(&d);
	ck_assert_str_eq(latencies(), "n/a n/a n/a 0");
	ck_assert_int_eq(ledger_count(d.ledger), 2);
	/* Another hand writes meanwhile. */
	put_latency(2, "7\n");
	end(s);
	ck_assert_str_eq(latencies(), "20 n/a 7 0");
	ck_assert_int_eq(ledger_count(d.ledger), 0);
}
END_TEST

START_TEST(a_cpu_that_is_not_there_is_passed_by)
{
	struct step *s = add(1, "3-5");

	idlepoll_update(&d);
	ck_assert_str_eq(latencies(), "0 0 0 n/a");
	ck_assert(idlepoll_is_on(&d));
	end(s);
	ck_assert_str_eq(latencies(), "0 0 0 0");
}
END_TEST

START_TEST(a_former_daemons_cpus_are_put_back)
{
	add(1, "0-1");
	idlepoll_update(&d);
	/* Killed; the next one has the ledger only, and steps that it does not know yet. */
	jobs_done(&d.jobs);
	memset(&d.jobs, 0, sizeof(d.jobs));
	memset(&d.idlepoll, 0, sizeof(d.idlepoll));
	d.conf.launch_env.idle = IDLE_LEAVE;
	idlepoll_open(&d);
	ck_assert_str_eq(latencies(), "0 0 0 0");
	ck_assert_int_eq(ledger_count(d.ledger), 0);
}
END_TEST

START_TEST(stop_puts_all_back)
{
	add(1, "0-3");
	idlepoll_update(&d);
	ck_assert_str_eq(latencies(), "n/a n/a n/a n/a");
	idlepoll_close(&d);
	ck_assert_str_eq(latencies(), "0 0 0 0");
	ck_assert_int_eq(ledger_count(d.ledger), 0);
}
END_TEST

START_TEST(auto_is_for_virtual_machines)
{
	char says[256];

	ck_assert(idlepoll_is_on(&d));
	fstree_put(&tree, CPUS "/cpuidle/current_driver", "intel_idle\n");
	idlepoll_open(&d);
	ck_assert(!idlepoll_is_on(&d));
	ck_assert_ptr_nonnull(strstr(idlepoll_says(&d, says, sizeof(says)), "no virtual machine"));
	d.conf.launch_env.idle = IDLE_POLL;
	ck_assert(idlepoll_is_on(&d));
	d.conf.launch_env.idle = IDLE_LEAVE;
	ck_assert(!idlepoll_is_on(&d));
}
END_TEST

static const struct {
	const char *file, *text, *why;
} LACKS[] = {
	{CPUS "/cpuidle/current_driver", "none\n", "no cpuidle driver"},
	{CPUS "/cpu0/cpuidle/state0/name", "C1\n", "no idle state in which they poll"},
};

START_TEST(a_node_without_the_means_says_so)
{
	char says[256];

	fstree_put(&tree, LACKS[_i].file, LACKS[_i].text);
	idlepoll_open(&d);
	ck_assert(!idlepoll_is_on(&d));
	ck_assert_ptr_nonnull(strstr(idlepoll_says(&d, says, sizeof(says)), LACKS[_i].why));
	add(1, "0");
	idlepoll_update(&d);
	ck_assert_str_eq(latencies(), "0 0 0 0");
}
END_TEST

START_TEST(what_the_kernel_refuses_is_not_asked_again)
{
	char path[96], says[256];

	/* A directory cannot be read: as an error of the file's. */
	latency_file(path, 2);
	ck_assert_int_eq(unlinkat(tree.root.fd, path, 0), 0);
	ck_assert_int_eq(mkdirat(tree.root.fd, path, 0755), 0);
	add(1, "0-2");
	idlepoll_update(&d);
	ck_assert(!idlepoll_is_on(&d));
	ck_assert_ptr_nonnull(strstr(d.last_error, "cpu2/power"));
	ck_assert_ptr_nonnull(strstr(idlepoll_says(&d, says, sizeof(says)), "cpu2/power"));
	ck_assert_str_eq(latencies(), "0 0 ? 0");
	ck_assert_int_eq(ledger_count(d.ledger), 0);
	idlepoll_update(&d);
	ck_assert_str_eq(latencies(), "0 0 ? 0");
}
END_TEST

/* More CPUs than one transaction of the ledger takes. */
START_TEST(a_large_node_polls_and_comes_back)
{
	struct step *s;

	for (int cpu = 4; cpu < 200; cpu++)
		put_latency(cpu, "0\n");
	s = add(1, "0-199");
	idlepoll_update(&d);
	ck_assert_int_eq(ledger_count(d.ledger), 200);
	ck_assert_str_eq(latencies(), "n/a n/a n/a n/a");
	end(s);
	ck_assert_int_eq(ledger_count(d.ledger), 0);
	ck_assert_str_eq(latencies(), "0 0 0 0");
}
END_TEST

static void add_case(Suite *s, const char *behaviour, const TTest *test, int n)
{
	TCase *tc = tcase_create(behaviour);

	tcase_add_checked_fixture(tc, setup, teardown);
	if (n > 1)
		tcase_add_loop_test(tc, test, 0, n);
	else
		tcase_add_test(tc, test);
	suite_add_tcase(s, tc);
}

int main(void)
{
	Suite *s = suite_create("idlepoll");
	SRunner *sr = srunner_create(s);
	int failed;

	add_case(s, "the cores of a step that spins shortly poll, until its end",
		cpus_of_a_step_poll_until_it_ends, 1);
	add_case(s, "nobody else's do", only_placed_steps_that_spin_shortly_count, 1);
	add_case(s, "what others asked for stays theirs", what_the_site_asked_of_a_cpu_comes_back,
		1);
	add_case(s, "CPUs that are not there are passed by", a_cpu_that_is_not_there_is_passed_by,
		1);
	add_case(s, "a crash leaves nothing", a_former_daemons_cpus_are_put_back, 1);
	add_case(s, "a stop leaves nothing", stop_puts_all_back, 1);
	add_case(s, "auto polls in virtual machines only", auto_is_for_virtual_machines, 1);
	add_case(s, "a node that cannot says why", a_node_without_the_means_says_so,
		(int)(sizeof(LACKS) / sizeof(LACKS[0])));
	add_case(s, "a refusal is not repeated", what_the_kernel_refuses_is_not_asked_again, 1);
	add_case(s, "a large node", a_large_node_polls_and_comes_back, 1);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
