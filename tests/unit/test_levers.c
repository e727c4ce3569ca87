/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order in which a step is let go, whatever the occasion: thawed before it is moved, idle until
 * it is off the cores that it borrowed; and that release of all forgets no lever. The kernel is the
 * test's.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/levers/internal.h"
#include "nodesvc/base/log.h"
#include "tests/unit/levers_of.h"

static struct daemon d;
static struct step *s;
static char did[256];

const struct actuate_ops *__wrap_actuate_get_ops(const struct actuate *a);
int __wrap_idle_restore(struct actuate *a, const struct step_cgroup *g, struct errbuf *why);
int __wrap_idle_restore_all(struct actuate *a, struct errbuf *why);
int __wrap_mems_restore(struct actuate *a, const struct step_cgroup *g, struct errbuf *why);
int __wrap_mems_restore_all(struct actuate *a, struct errbuf *why);
int __wrap_resctrl_assign(struct resctrl *r, struct actuate *a, const struct step_cgroup *g,
	int cluster, struct errbuf *why);
int __wrap_resctrl_clear(struct resctrl *r, struct errbuf *why);
void __wrap_resctrl_close(struct resctrl *r);
int __wrap_wakeup_restore(const struct fsroot *r, struct ledger *l, struct errbuf *why);
int __wrap_actuate_restore_all(struct actuate *a, struct errbuf *why);

static int note(const char *what)
{
	snprintf(did + strlen(did), sizeof(did) - strlen(did), "%s ", what);
	return 0;
}

static int fake_restore(struct actuate *a, const struct step_cgroup *g, struct errbuf *why)
{
	(void)a, (void)g, (void)why;
	return note("cpus");
}

const struct actuate_ops *__wrap_actuate_get_ops(const struct actuate *a)
{
	static const struct actuate_ops fake = {.name = "fake", .restore = fake_restore};

	(void)a;
	return &fake;
}

int __wrap_idle_restore(struct actuate *a, const struct step_cgroup *g, struct errbuf *why)
{
	(void)a, (void)g, (void)why;
	return note("priority");
}

int __wrap_idle_restore_all(struct actuate *a, struct errbuf *why)
{
	(void)a, (void)why;
	return note("priorities");
}

int __wrap_mems_restore(struct actuate *a, const struct step_cgroup *g, struct errbuf *why)
{
	(void)a, (void)g, (void)why;
	return note("mems");
}

int __wrap_mems_restore_all(struct actuate *a, struct errbuf *why)
{
	(void)a, (void)why;
	return note("all-mems");
}

int __wrap_resctrl_assign(struct resctrl *r, struct actuate *a, const struct step_cgroup *g,
	int cluster, struct errbuf *why)
{
	(void)r, (void)a, (void)g, (void)why;
	ck_assert_int_eq(cluster, -1);
	return note("ways");
}

int __wrap_resctrl_clear(struct resctrl *r, struct errbuf *why)
{
	(void)r, (void)why;
	return note("groups");
}

void __wrap_resctrl_close(struct resctrl *r)
{
	(void)r;
}

int __wrap_wakeup_restore(const struct fsroot *r, struct ledger *l, struct errbuf *why)
{
	(void)r, (void)l, (void)why;
	return note("halt");
}

int __wrap_actuate_restore_all(struct actuate *a, struct errbuf *why)
{
	(void)a, (void)why;
	return note("all-cpus");
}

/* A step that every lever holds something of, but for turns: test_rotate has those. */
static void setup(void)
{
	daemon_init(&d);
	log_init(LOG_LEVEL_ERROR);
	conf_defaults(d.conf);
	*did = '\0';
	/* Not looked into by anything but what this test stands in for. */
	d.actuate = (struct actuate *)&d;
	d.ledger = (struct ledger *)&d;
	levers_of(&d);
	d.levers->ways.resctrl = (struct resctrl *)&d;
	s = jobs_add(d.jobs, 1, 0, 0);
	ck_assert_ptr_nonnull(s);
	s->located = true;
	s->status = STATUS_PLACED;
	coreset_add(&s->coreset, 0);
	coreset_add(&s->lent, 1);
	s->memory.held = true;
	s->ways.cluster = 1;
	s->turn.slices = 1;
	d.levers->ways.n = 1;
	d.levers->idlepoll.on = true;
}

static void teardown(void)
{
	jobs_done(d.jobs);
	free(d.levers);
}

START_TEST(who_leaves_the_set_is_off_foreign_cores_before_it_has_its_priority)
{
	ck_assert_int_eq(levers_restore(d.levers, s, STATUS_RELEASED, "release"), 0);
	ck_assert_str_eq(did, "mems cpus ways groups priority ");
	ck_assert(coreset_is_empty(&s->coreset) && coreset_is_empty(&s->lent));
	ck_assert_int_eq(s->status, STATUS_RELEASED);
	ck_assert_uint_eq(s->turn.slices, 0);
}
END_TEST

START_TEST(who_ends_leaves_in_the_same_order)
{
	levers_end(d.levers, s);
	ck_assert_str_eq(did, "mems cpus ways groups priority ");
}
END_TEST

START_TEST(all_is_let_go_in_the_same_order_at_the_stop)
{
	levers_close(d.levers);
	d.levers = NULL;
	ck_assert_str_eq(did, "halt all-mems all-cpus groups priorities ");
}
END_TEST

/* Of a step that is not placed any more, too. */
START_TEST(release_of_all_forgets_no_lever)
{
	s->status = STATUS_EXCLUDED;
	levers_release(d.levers);
	ck_assert_str_eq(did, "halt mems ways groups groups priority ");
	ck_assert(!s->memory.held && !s->ways.cluster && coreset_is_empty(&s->lent));
	ck_assert(!d.levers->idlepoll.on);
	ck_assert_int_eq(d.levers->ways.n, 0);
}
END_TEST

START_TEST(what_a_step_does_not_hold_is_not_put_back)
{
	levers_end(d.levers, s);
	*did = '\0';
	levers_end(d.levers, s);
	ck_assert_str_eq(did, "cpus ");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("levers");
	TCase *tc = tcase_create("one order back");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, who_leaves_the_set_is_off_foreign_cores_before_it_has_its_priority);
	tcase_add_test(tc, who_ends_leaves_in_the_same_order);
	tcase_add_test(tc, all_is_let_go_in_the_same_order_at_the_stop);
	tcase_add_test(tc, release_of_all_forgets_no_lever);
	tcase_add_test(tc, what_a_step_does_not_hold_is_not_put_back);
	suite_add_tcase(suite, tc);
	sr = srunner_create(suite);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
