/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBPFM
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>
#endif

#include "nodesvc/counters/events.h"
#include "tests/unit/fstree.h"

static const struct {
	const char *cpuinfo;
	const char *pmu; /* NULL: no map */
} cpus[] = {
	{"processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n"
	 "model name\t: Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz\n",
		"skx"},
	{"vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\nmodel name\t: x\n", "icx"},
	{"vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 207\n", "spr"},
	{"vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 173\n", "gnr"},
	{"vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 63\n", NULL},
	{"vendor_id\t: AuthenticAMD\ncpu family\t: 23\nmodel\t\t: 49\n", "amd64_fam17h_zen2"},
	{"vendor_id\t: AuthenticAMD\ncpu family\t: 23\nmodel\t\t: 1\n", NULL},
	{"vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\n", "amd64_fam19h_zen3"},
	{"vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n", "amd64_fam19h_zen4"},
	{"vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 33\n", "amd64_fam19h_zen3"},
	{"vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 160\n", "amd64_fam19h_zen4"},
	{"vendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\n", "amd64_fam1ah_zen5"},
	{"processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
	 "CPU variant\t: 0x0\nCPU part\t: 0xd4f\nCPU revision\t: 0\n",
		"arm_v2"},
	{"CPU implementer\t: 0x46\nCPU part\t: 0x001\n", "arm_a64fx"},
	{"CPU implementer\t: 0x41\nCPU part\t: 0xd08\n", NULL},
};

START_TEST(a_cpu_is_told_by_cpuinfo)
{
	const struct event_map *map;
	struct fstree tree;
	struct errbuf err;
	struct cpu_id id;

	fstree_make(&tree);
	fstree_put(&tree, "proc/cpuinfo", cpus[_i].cpuinfo);
	ck_assert_msg(!cpu_id_read(&id, &tree.root, &err), "%s", err.text);
	map = event_map_find(&id);
	if (cpus[_i].pmu) {
		ck_assert_ptr_nonnull(map);
		ck_assert_str_eq(map->pmu, cpus[_i].pmu);
	} else {
		ck_assert_ptr_null(map);
	}
	fstree_remove(&tree);
}
END_TEST

START_TEST(a_cpuinfo_without_a_known_vendor_is_an_error)
{
	static const char *const bad[] = {"", "vendor_id\t: GenuineIntel\n",
		"vendor_id\t: CentaurHauls\ncpu family\t: 6\nmodel\t\t: 15\n",
		"hart\t: 0\nisa\t: rv64imafdc\n"};
	struct fstree tree;
	struct errbuf err;
	struct cpu_id id;

	fstree_make(&tree);
	ck_assert_int_eq(cpu_id_read(&id, &tree.root, &err), -ENOENT);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		fstree_put(&tree, "proc/cpuinfo", bad[i]);
		ck_assert_int_eq(cpu_id_read(&id, &tree.root, &err), -ENODATA);
	}
	fstree_remove(&tree);
}
END_TEST

/* Each map has what a policy asks of a thread, or says who has it. */
START_TEST(every_map_has_a_code_or_a_remark)
{
	const struct event_map *m;

	for (int i = 0; (m = event_map_at(i)); i++) {
		for (int c = COUNTER_LOADS; c < COUNTER_COUNT; c++) {
			ck_assert_msg(m->code[c].name || m->code[c].remark, "%s: %d", m->pmu, c);
			ck_assert_msg(!m->code[c].name == !m->code[c].config, "%s: %d", m->pmu, c);
		}
		for (int j = 0; j < i; j++)
			ck_assert_str_ne(m->pmu, event_map_at(j)->pmu);
	}
	ck_assert_ptr_null(event_map_at(-1));
}
END_TEST

#ifdef HAVE_LIBPFM
/* What the kernel takes of an x86 event: event bits 0-7 and 32-35, unit mask. */
#define X86_EVENT UINT64_C(0xf0000ffff)

/* The PMUs that this libpfm knows; Arm's are not in an x86 build of it, the newest not in an
 * old one. */
START_TEST(codes_are_those_of_libpfm)
{
	const struct event_map *m;
	int compared = 0, pmus = 0;

	ck_assert_int_eq(setenv("LIBPFM_ENCODE_INACTIVE", "1", 1), 0);
	ck_assert_int_eq(pfm_initialize(), PFM_SUCCESS);
	for (int i = 0; (m = event_map_at(i)); i++) {
		bool known = false;

		for (int p = 0; p < PFM_PMU_MAX && !known; p++) {
			pfm_pmu_info_t info = {.size = sizeof(info)};

			known = pfm_get_pmu_info((pfm_pmu_t)p, &info) == PFM_SUCCESS &&
				strcmp(info.name, m->pmu) == 0;
		}
		if (!known)
			continue;
		pmus++;
		for (int c = 0; c < COUNTER_COUNT; c++) {
			pfm_pmu_encode_arg_t arg = {.size = sizeof(arg)};
			char name[192];

			if (!m->code[c].name)
				continue;
			snprintf(name, sizeof(name), "%s%s%s",
				strstr(m->code[c].name, "::") ? "" : m->pmu,
				strstr(m->code[c].name, "::") ? "" : "::", m->code[c].name);
			ck_assert_msg(pfm_get_os_event_encoding(
					      name, PFM_PLM3, PFM_OS_NONE, &arg) == PFM_SUCCESS,
				"%s: libpfm does not know it", name);
			ck_assert_msg((arg.codes[0] & X86_EVENT) == m->code[c].config,
				"%s: libpfm says %#llx, the map %#llx", name,
				(unsigned long long)(arg.codes[0] & X86_EVENT),
				(unsigned long long)m->code[c].config);
			free(arg.codes);
			compared++;
		}
	}
	printf("test_events: %d codes of %d PMUs compared with libpfm\n", compared, pmus);
	fflush(stdout); /* the test runs in a child that does not flush */
#if defined(__x86_64__)
	ck_assert_int_ge(compared, 18);
#endif
	pfm_terminate();
}
END_TEST
#endif

int main(void)
{
	Suite *s = suite_create("events");
	SRunner *r = srunner_create(s);
	TCase *tc;
	int failed;

	tc = tcase_create("cpu");
	tcase_add_loop_test(tc, a_cpu_is_told_by_cpuinfo, 0, sizeof(cpus) / sizeof(cpus[0]));
	tcase_add_test(tc, a_cpuinfo_without_a_known_vendor_is_an_error);
	suite_add_tcase(s, tc);
	tc = tcase_create("maps");
	tcase_add_test(tc, every_map_has_a_code_or_a_remark);
#ifdef HAVE_LIBPFM
	tcase_add_test(tc, codes_are_those_of_libpfm);
#endif
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
