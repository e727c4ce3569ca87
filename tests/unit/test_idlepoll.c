/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUs that poll before they halt, in a tree of files: for whom, and back at a step's end, release,
 * stop and after a crash. What it does to programs: contrib/bench/idlepoll.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nodesvc/daemon/daemon.h"
#include "nodesvc/levers/internal.h"
#include "nodesvc/base/log.h"
#include "tests/unit/fstree.h"
#include "tests/unit/levers_of.h"

#define GOVERNOR "sys/devices/system/cpu/cpuidle/current_governor"
#define POLL_NS  "sys/module/haltpoll/parameters/guest_halt_poll_ns"

static struct fstree tree;
static struct daemon d;
static struct errbuf err;

static const char *poll_ns(void)
{
	static char text[32];

	text[0] = '\0';
	fsroot_read(&tree.root, POLL_NS, text, sizeof(text));
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static void setup(void)
{
	daemon_init(&d);
	log_init(LOG_LEVEL_ERROR);
	conf_defaults(d.conf);
	fstree_make(&tree);
	d.node->root = tree.root;
	fstree_put(&tree, GOVERNOR, "haltpoll\n");
	fstree_put(&tree, POLL_NS, "0\n");
	ck_assert_int_eq(ledger_open(&d.ledger, ":memory:", "boot", &err), 0);
	levers_of(&d);
	idlepoll_open(d.levers);
}

static void teardown(void)
{
	jobs_done(d.jobs);
	free(d.levers);
	ledger_close(d.ledger);
	fstree_remove(&tree);
}

/* A placed step that was told to spin shortly. */
static struct step *add(uint32_t job)
{
	struct step *s = jobs_add(d.jobs, job, 0, 0);

	s->located = s->short_spins = true;
	s->status = STATUS_PLACED;
	return s;
}

static void end(struct step *s)
{
	jobs_remove(d.jobs, s);
	idlepoll_update(d.levers);
}

START_TEST(cpus_poll_from_the_first_step_to_the_last)
{
	struct step *s = add(1), *other;

	idlepoll_update(d.levers);
	ck_assert_str_eq(poll_ns(), "200000");
	ck_assert_int_eq(ledger_count(d.ledger), 1);
	other = add(2);
	idlepoll_update(d.levers);
	end(s);
	ck_assert_str_eq(poll_ns(), "200000");
	end(other);
	ck_assert_str_eq(poll_ns(), "0");
	ck_assert_int_eq(ledger_count(d.ledger), 0);
}
END_TEST

START_TEST(only_placed_steps_that_spin_shortly_count)
{
	struct step *s = add(1);

	s->short_spins = false;
	idlepoll_update(d.levers);
	ck_assert_str_eq(poll_ns(), "0");
	s->short_spins = s->dry_run = true;
	idlepoll_update(d.levers);
	ck_assert_str_eq(poll_ns(), "0");
	s->dry_run = false;
	s->status = STATUS_RELEASED;
	idlepoll_update(d.levers);
	ck_assert_str_eq(poll_ns(), "0");
	s->status = STATUS_PLACED;
	idlepoll_update(d.levers);
	ck_assert_str_eq(poll_ns(), "200000");
	/* The site says otherwise, at a reload. */
	d.conf->launch_env.idle = IDLE_LEAVE;
	idlepoll_update(d.levers);
	ck_assert_str_eq(poll_ns(), "0");
}
END_TEST

START_TEST(what_the_site_chose_comes_back)
{
	struct step *s;

	fstree_put(&tree, POLL_NS, "1000\n");
	idlepoll_open(d.levers);
	s = add(1);
	idlepoll_update(d.levers);
	ck_assert_str_eq(poll_ns(), "200000");
	end(s);
	ck_assert_str_eq(poll_ns(), "1000");
}
END_TEST

START_TEST(what_another_hand_wrote_stays)
{
	struct step *s = add(1);

	idlepoll_update(d.levers);
	fstree_put(&tree, POLL_NS, "50000\n");
	end(s);
	ck_assert_str_eq(poll_ns(), "50000");
	ck_assert_int_eq(ledger_count(d.ledger), 0);
}
END_TEST

START_TEST(a_kernel_that_polls_needs_nothing)
{
	char says[256];

	fstree_put(&tree, POLL_NS, "200000\n");
	idlepoll_open(d.levers);
	ck_assert(idlepoll_is_on(d.levers));
	ck_assert_ptr_nonnull(strstr(idlepoll_says(d.levers, says, sizeof(says)), "kernel's own"));
	add(1);
	idlepoll_update(d.levers);
	ck_assert_int_eq(ledger_count(d.ledger), 0);
	/* What is so anyway may be counted on, whatever we may write. */
	d.conf->launch_env.idle = IDLE_LEAVE;
	ck_assert(idlepoll_is_on(d.levers));
}
END_TEST

START_TEST(leave_leaves_it)
{
	char says[256];

	d.conf->launch_env.idle = IDLE_LEAVE;
	ck_assert(!idlepoll_is_on(d.levers));
	add(1);
	idlepoll_update(d.levers);
	ck_assert_str_eq(poll_ns(), "0");
	ck_assert_ptr_nonnull(
		strstr(idlepoll_says(d.levers, says, sizeof(says)), "launch_env.idle"));
}
END_TEST

START_TEST(a_former_daemons_setting_is_put_back)
{
	add(1);
	idlepoll_update(d.levers);
	/* Killed; the next one has the ledger only, and steps that it does not know yet. */
	jobs_done(d.jobs);
	memset(d.jobs, 0, sizeof(*d.jobs));
	memset(&d.levers->idlepoll, 0, sizeof(d.levers->idlepoll));
	idlepoll_open(d.levers);
	ck_assert_str_eq(poll_ns(), "0");
	ck_assert_int_eq(ledger_count(d.ledger), 0);
	ck_assert(!d.levers->idlepoll.by_itself);
}
END_TEST

START_TEST(stop_puts_it_back)
{
	add(1);
	idlepoll_update(d.levers);
	idlepoll_close(d.levers);
	ck_assert_str_eq(poll_ns(), "0");
	ck_assert_int_eq(ledger_count(d.ledger), 0);
}
END_TEST

static const struct {
	const char *file, *text, *why;
} LACKS[] = {
	{GOVERNOR, "menu\n", "the cpuidle governor is menu, not haltpoll"},
	{GOVERNOR, NULL, "no cpuidle governor"},
	{POLL_NS, NULL, "guest_halt_poll_ns cannot be read"},
};

START_TEST(a_node_without_the_means_says_so)
{
	char says[256];

	if (LACKS[_i].text)
		fstree_put(&tree, LACKS[_i].file, LACKS[_i].text);
	else
		ck_assert_int_eq(unlinkat(tree.root.fd, LACKS[_i].file, 0), 0);
	idlepoll_open(d.levers);
	ck_assert(!idlepoll_is_on(d.levers));
	ck_assert_ptr_nonnull(strstr(idlepoll_says(d.levers, says, sizeof(says)), LACKS[_i].why));
	add(1);
	idlepoll_update(d.levers);
	ck_assert_int_eq(ledger_count(d.ledger), 0);
}
END_TEST

START_TEST(what_the_kernel_refuses_is_not_asked_again)
{
	char says[256];
	struct step *s = add(1);

	/* A directory cannot be read: as an error of the file's. */
	ck_assert_int_eq(unlinkat(tree.root.fd, POLL_NS, 0), 0);
	ck_assert_int_eq(mkdirat(tree.root.fd, POLL_NS, 0755), 0);
	idlepoll_update(d.levers);
	ck_assert(!idlepoll_is_on(d.levers));
	ck_assert_ptr_nonnull(strstr(health_last_error(), "guest_halt_poll_ns"));
	ck_assert_ptr_nonnull(
		strstr(idlepoll_says(d.levers, says, sizeof(says)), "guest_halt_poll_ns"));
	ck_assert_int_eq(ledger_count(d.ledger), 0);
	health_error("%s", "");
	end(s);
	add(2);
	idlepoll_update(d.levers);
	ck_assert_str_eq(health_last_error(), "");
}
END_TEST

/* What cannot be put back stays known until it can. */
START_TEST(a_failed_way_back_is_tried_again)
{
	struct step *s = add(1);

	idlepoll_update(d.levers);
	ck_assert_int_eq(unlinkat(tree.root.fd, POLL_NS, 0), 0);
	ck_assert_int_eq(mkdirat(tree.root.fd, POLL_NS, 0755), 0);
	end(s);
	ck_assert_int_eq(ledger_count(d.ledger), 1);
	ck_assert_ptr_nonnull(strstr(health_last_error(), "guest_halt_poll_ns"));
	ck_assert_int_eq(unlinkat(tree.root.fd, POLL_NS, AT_REMOVEDIR), 0);
	fstree_put(&tree, POLL_NS, "200000\n");
	ck_assert_int_eq(idlepoll_clear(d.levers), 0);
	ck_assert_str_eq(poll_ns(), "0");
	ck_assert_int_eq(ledger_count(d.ledger), 0);
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

	add_case(s, "CPUs poll from the first step that spins shortly to the last",
		cpus_poll_from_the_first_step_to_the_last, 1);
	add_case(s, "for nobody else", only_placed_steps_that_spin_shortly_count, 1);
	add_case(s, "the site's setting comes back", what_the_site_chose_comes_back, 1);
	add_case(s, "what another hand wrote stays", what_another_hand_wrote_stays, 1);
	add_case(s, "nothing is written where they poll", a_kernel_that_polls_needs_nothing, 1);
	add_case(s, "the site may leave it", leave_leaves_it, 1);
	add_case(s, "a crash leaves nothing", a_former_daemons_setting_is_put_back, 1);
	add_case(s, "a stop leaves nothing", stop_puts_it_back, 1);
	add_case(s, "a node that cannot says why", a_node_without_the_means_says_so,
		(int)(sizeof(LACKS) / sizeof(LACKS[0])));
	add_case(s, "a refusal is not repeated", what_the_kernel_refuses_is_not_asked_again, 1);
	add_case(s, "a failed way back is tried again", a_failed_way_back_is_tried_again, 1);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
