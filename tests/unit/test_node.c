/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a node knows of its CPUs when one comes while it is opened. The kernel's list is a variable,
 * and so is what hwloc finds.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "nodesvc/node/node.h"

static const char *online;                     /* the kernel's list */
static const char *machine;                    /* what hwloc finds */
static const char *online_then, *machine_then; /* right after hwloc has looked */
static struct node node;
static struct errbuf err;

int __real_topo_load(struct topo **ret, const char *source, struct errbuf *why);
int __wrap_topo_load(struct topo **ret, const char *source, struct errbuf *why);
ssize_t __wrap_fsroot_read(const struct fsroot *root, const char *path, char *buf, size_t size);

int __wrap_topo_load(struct topo **ret, const char *source, struct errbuf *why)
{
	int rc = __real_topo_load(ret, source ? source : machine, why);

	online = online_then;
	machine = machine_then;
	return rc;
}

ssize_t __wrap_fsroot_read(const struct fsroot *root, const char *path, char *buf, size_t size)
{
	(void)root;
	ck_assert_str_eq(path, NODE_ONLINE);
	return snprintf(buf, size, "%s\n", online);
}

static void open_while(const char *cpus, const char *becomes)
{
	online = cpus;
	online_then = becomes;
	machine = "core:1 pu:1";
	machine_then = "core:2 pu:1";
	ck_assert_msg(node_open(&node, TOPO_AUTO, &err) == 0, "%s", err.text);
}

/* online_look() compares with it. */
START_TEST(list_of_then_differs_from_the_one_that_was_noted)
{
	open_while("0", "0-1");
	ck_assert_int_eq(node.topo->n_cores, 1);
	ck_assert_str_ne(node.online, online);
	node_close(&node);
}
END_TEST

START_TEST(list_that_stayed_is_the_one_that_was_noted)
{
	open_while("0", "0");
	ck_assert_str_eq(node.online, online);
	node_close(&node);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("node");
	TCase *tc =
		tcase_create("a CPU that comes while the node is opened is seen at the next look");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(tc, list_of_then_differs_from_the_one_that_was_noted);
	tcase_add_test(tc, list_that_stayed_is_the_one_that_was_noted);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
