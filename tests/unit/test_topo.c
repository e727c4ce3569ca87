/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/topo.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct topo *load(const char *source)
{
	struct errbuf err = {""};
	struct topo *t = NULL;
	int rc = topo_load(&t, source, &err);

	ck_assert_msg(rc == 0, "%s: %s", source, err.text);
	return t;
}

START_TEST(auto_takes_highest_level_with_two_of_many_cores)
{
	static const struct {
		const char *source;
		enum topo_level level;
		int domains;
	} table[] = {
		{"pack:2 core:4 pu:1", TOPO_PACKAGE, 2},
		{"pack:2 numa:2 core:4 pu:2", TOPO_PACKAGE, 2},
		{"pack:1 numa:2 core:4 pu:2", TOPO_NUMA, 2},
		{"pack:1 l3:4 core:3 pu:2", TOPO_L3, 4},
		{"pack:1 l3:1 l2:4 core:2 pu:1", TOPO_L2, 4},
		{"pack:1 core:2 pu:1", TOPO_CORE, 2},
		{"pack:2 core:1 pu:1", TOPO_CORE, 2},
		{"pack:1 core:8 pu:2", TOPO_CORE, 8},
		{"core:2", TOPO_CORE, 2},
	};
	struct topo *t = load(table[_i].source);

	ck_assert_str_eq(topo_level_name(t->domain_level), topo_level_name(table[_i].level));
	ck_assert_int_eq(t->n_domains, table[_i].domains);
	topo_free(t);
}
END_TEST

START_TEST(smt_siblings_are_one_core)
{
	struct topo *t = load("pack:2 core:2 pu:2");
	struct coreset s, whole;

	ck_assert_int_eq(t->n_cores, 4);
	ck_assert_int_eq(t->n_pus, 8);
	coreset_zero(&s);
	coreset_add(&s, 1);
	coreset_add(&s, 2);
	ck_assert_int_eq(topo_count_cores(t, &s), 2);
	topo_whole_cores(t, &s, &whole);
	ck_assert_int_eq(coreset_count(&whole), 4);
	topo_free(t);
}
END_TEST

START_TEST(refusals_name_the_source)
{
	struct errbuf err = {""};
	struct topo *t = NULL;

	ck_assert_int_eq(topo_load(&t, "/nonexistent/x.xml", &err), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "/nonexistent/x.xml"));
	ck_assert_int_eq(topo_load(&t, "pack:banana", &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "pack:banana"));
	ck_assert_int_eq(topo_load(&t, "/proc/self/comm", &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "not hwloc's XML"));
	ck_assert_ptr_null(t);
}
END_TEST

START_TEST(xml_newer_than_hwloc_is_refused_for_that)
{
	static const char *const texts[] = {
		"<?xml version=\"1.0\"?>\n<topology version=\"99.0\"><object type=\"Machine\"/>"
		"</topology>",
		"<topology version='99'></topology>",
	};
	struct errbuf err = {""};
	struct topo *t = NULL;

	ck_assert_int_eq(topo_load(&t, texts[_i], &err), -EINVAL);
	ck_assert_msg(
		strstr(err.text, "version 99.0; this hwloc reads up to version"), "%s", err.text);
}
END_TEST

/* hwloc 2.9 fills gigabytes with the bits below number 4 294 967 295 before it fails; found by
 * tests/fuzz/fuzz_topo.c. */
#define MACHINE(pu)                                                                                \
	"<?xml version=\"1.0\"?><topology version=\"2.0\"><object type=\"Machine\" "               \
	"os_index=\"0\" "                                                                          \
	"cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" complete_nodeset=\"0x1\" "         \
	"allowed_cpuset=\"0x1\" allowed_nodeset=\"0x1\" gp_index=\"1\"><object type=\"NUMANode\" " \
	"os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" "                   \
	"complete_nodeset=\"0x1\" gp_index=\"3\"/>" pu "</object></topology>"
#define PU(attributes)                                                                             \
	"<object type=\"PU\" " attributes " cpuset=\"0x1\" complete_cpuset=\"0x1\" "               \
	"nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"2\"/>"

static const struct {
	const char *source;
	int rc;
} numbers[] = {
	{MACHINE(PU("os_index=\"0\"")), 0},
	{MACHINE(PU("os_injex=\"0\"")), -EINVAL},
	{MACHINE(PU("os_index=\"\"")), -EINVAL},
	{MACHINE(PU("os_index=\"-1\"")), -EINVAL},
	{MACHINE(PU("os_index=\"1024\"")), -E2BIG},
	{MACHINE(PU("os_index=\"4294967295\"")), -E2BIG},
	{MACHINE(PU("os_index='4294967295'")), -E2BIG},
	{"core:1024 pu:1", 0},
	{"[numa] core:4 pu:2(indexes=0,2,4,6,1,3,5,7)", 0},
	{"2 2 2", 0},
	{"core:1024 pu:2", -E2BIG},
	{"pack:99999 core:99999", -E2BIG},
	{"core:0xfffff", -E2BIG},
	{"2 9999999", -E2BIG},
	/* hwloc looks for the colon beyond the brackets: minutes. */
	{"pa(memory=[:99core:999999", -EINVAL},
	{"pa(memory=):99core:999999", -EINVAL},
	{"core:4 [numa", -EINVAL},
	{"l3:501l3:50", -E2BIG},
	{"l3:501 [numa]50", -E2BIG},
	{"core:-1", -E2BIG},
	{"049400", -E2BIG},
	{"l2:2l1:2 core:4 pu:2", 0},
};

START_TEST(numbers_that_no_machine_has_are_refused_before_hwloc_counts_to_them)
{
	struct errbuf err = {""};
	struct topo *t = NULL;

	ck_assert_int_eq(topo_load(&t, numbers[_i].source, &err), numbers[_i].rc);
	ck_assert_int_eq(err.text[0] != '\0', numbers[_i].rc != 0);
	topo_free(t);
}
END_TEST

START_TEST(missing_level_leaves_domains)
{
	struct errbuf err = {""};
	struct topo *t = load("pack:2 core:4 pu:1");

	ck_assert_int_eq(topo_set_domains(t, TOPO_L3, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "l3"));
	ck_assert_int_eq(t->n_domains, 2);
	ck_assert_int_eq(topo_set_domains(t, TOPO_CORE, &err), 0);
	ck_assert_int_eq(t->n_domains, 8);
	topo_free(t);
}
END_TEST

static void check_shape(const struct topo *t, const char *name)
{
	struct coreset seen;
	int cores = 0;

	coreset_zero(&seen);
	ck_assert_msg(t->n_cores > 0 && t->n_domains > 0, "%s", name);
	for (int d = 0; d < t->n_domains; d++) {
		ck_assert_msg(t->domain[d].n_cores > 0, "%s: domain %d is empty", name, d);
		ck_assert_msg(!coreset_intersects(&seen, &t->domain[d].pus),
			"%s: domain %d overlaps", name, d);
		coreset_or(&seen, &seen, &t->domain[d].pus);
		cores += t->domain[d].n_cores;
	}
	ck_assert_msg(cores == t->n_cores && coreset_is_equal(&seen, &t->all), "%s", name);
}

START_TEST(real_machines_load)
{
	const char *src = getenv("COLOC_SRCDIR");
	char dir[3000], path[4096];
	struct dirent *e;
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/../shared/topo", src ? src : ".");
	d = opendir(dir);
	if (!d) {
		printf("skipped: no recorded machines beside the source tree\n");
		return;
	}
	while ((e = readdir(d))) {
		struct topo *t;

		if (!strstr(e->d_name, ".xml"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		t = load(path);
		check_shape(t, e->d_name);
		for (int level = TOPO_PACKAGE; level <= TOPO_CORE; level++)
			if (topo_set_domains(t, (enum topo_level)level, NULL) == 0)
				check_shape(t, e->d_name);
		topo_free(t);
	}
	closedir(d);
}
END_TEST

START_TEST(this_machine_loads)
{
	struct topo *t = load(NULL);

	check_shape(t, "this machine");
	topo_free(t);
}
END_TEST

START_TEST(source_loads_the_same_again)
{
	static const char *const sources[] = {"pack:2 numa:2 core:4 pu:2", NULL};
	struct errbuf err = {""};
	struct topo *t = NULL, *again;

	ck_assert_int_eq(topo_load(&t, sources[_i], &err), 0);
	ck_assert_ptr_nonnull(t->source);
	again = load(t->source);
	ck_assert_int_eq(t->n_pus, again->n_pus);
	ck_assert_int_eq(t->n_cores, again->n_cores);
	ck_assert_int_eq(t->n_numa, again->n_numa);
	ck_assert_int_eq(t->n_l3, again->n_l3);
	ck_assert_uint_eq(t->llc_bytes, again->llc_bytes);
	ck_assert_int_eq(t->domain_level, again->domain_level);
	for (int i = 0; i < t->n_cores; i++)
		ck_assert_mem_eq(&t->core[i], &again->core[i], sizeof(t->core[i]));
	topo_free(again);
	topo_free(t);
	ck_assert_int_eq(topo_load(&t, "<topology", &err), -EINVAL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("topo");
	TCase *tc;
	SRunner *r;
	int failed;

	tc = tcase_create("auto is the highest level that groups cores");
	tcase_add_loop_test(tc, auto_takes_highest_level_with_two_of_many_cores, 0, 9);
	suite_add_tcase(s, tc);
	tc = tcase_create("hardware threads of a core count once");
	tcase_add_test(tc, smt_siblings_are_one_core);
	suite_add_tcase(s, tc);
	tc = tcase_create("a refusal names what was wrong and changes nothing");
	tcase_add_test(tc, refusals_name_the_source);
	tcase_add_loop_test(tc, numbers_that_no_machine_has_are_refused_before_hwloc_counts_to_them,
		0, (int)(sizeof(numbers) / sizeof(numbers[0])));
	tcase_add_loop_test(tc, xml_newer_than_hwloc_is_refused_for_that, 0, 2);
	tcase_add_test(tc, missing_level_leaves_domains);
	suite_add_tcase(s, tc);
	tc = tcase_create("recorded machines and this one load");
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, real_machines_load);
	tcase_add_test(tc, this_machine_loads);
	tcase_add_loop_test(tc, source_loads_the_same_again, 0, 2);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
