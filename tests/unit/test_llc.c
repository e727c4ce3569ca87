/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <string.h>
#include <sys/stat.h>

#include "nodesvc/ctl/ctl.h"
#include "tests/unit/tmpdir.h"

static const struct {
	const char *text;
	bool good;
	struct llc want;
} PARSE[] = {
	{"1048576", true, {1048576, 0, 0}},
	{"32M", true, {32 << 20, 0, 0}},
	{"512K,16,64", true, {512 << 10, 16, 64}},
	{"1G,8,128", true, {1 << 30, 8, 128}},
	{"", false, {0, 0, 0}},
	{"0", false, {0, 0, 0}},
	{"auto", false, {0, 0, 0}},
	{"1M,16", false, {0, 0, 0}},
	{"1M,16,64x", false, {0, 0, 0}},
	{"1M,0,64", false, {0, 0, 0}},
	{"1MB", false, {0, 0, 0}},
	{"-1", false, {0, 0, 0}},
	{"99999999999G", false, {0, 0, 0}},
};

START_TEST(size_parses_or_is_left)
{
	struct llc llc = {7, 7, 7};

	ck_assert_int_eq(llc_parse(PARSE[_i].text, &llc), PARSE[_i].good);
	if (!PARSE[_i].good) {
		ck_assert_uint_eq(llc.bytes, 7);
		return;
	}
	ck_assert_uint_eq(llc.bytes, PARSE[_i].want.bytes);
	ck_assert_int_eq(llc.assoc, PARSE[_i].want.assoc);
	ck_assert_int_eq(llc.line, PARSE[_i].want.line);
}
END_TEST

static struct tmpdir tmp;
static struct fsroot root;

static void cache(int index, const char *level, const char *type, const char *size)
{
	const char *const file[][2] = {{"level", level}, {"type", type}, {"size", size},
		{"shared_cpu_list", index == 3 ? "0-7\n" : "0-1\n"},
		{"ways_of_associativity", "16\n"}, {"coherency_line_size", "64\n"}};
	char name[128];

	for (size_t i = 0; i < sizeof(file) / sizeof(file[0]); i++) {
		snprintf(name, sizeof(name), "sys/devices/system/cpu/cpu0/cache/index%d/%s", index,
			file[i][0]);
		for (char *p = name; (p = strchr(p, '/')); p++) {
			*p = '\0';
			mkdir(tmpdir_path(&tmp, name), 0755);
			*p = '/';
		}
		tmpdir_write(&tmp, name, file[i][1]);
	}
}

static void setup(void)
{
	tmpdir_create(&tmp);
	ck_assert_int_eq(fsroot_open(&root, tmp.dir, NULL), 0);
}

static void teardown(void)
{
	fsroot_close(&root);
	tmpdir_remove(&tmp);
}

static const struct {
	int n_pus, n_domains;
	uint64_t want;
} SHARE[] = {
	{8, 1, 16 << 20},  /* the domain has the cache alone */
	{16, 2, 16 << 20}, /* two packages, each with its own */
	{8, 2, 8 << 20},
	{8, 4, 4 << 20},
	{8, 3, 16 * 1024 * 1024 / 4}, /* 2 CPUs each, rounded down: never too much */
	{0, 0, 2 << 20},
};

START_TEST(share_is_the_domains)
{
	struct llc llc;

	cache(0, "1\n", "Data\n", "32K\n");
	cache(1, "1\n", "Instruction\n", "32K\n");
	cache(2, "2\n", "Unified\n", "512K\n");
	cache(3, "3\n", "Unified\n", "16M\n");
	llc_share(&root, SHARE[_i].n_pus, SHARE[_i].n_domains, &llc);
	ck_assert_uint_eq(llc.bytes, SHARE[_i].want);
	ck_assert_int_eq(llc.assoc, 16);
	ck_assert_int_eq(llc.line, 64);
}
END_TEST

START_TEST(hosts_cache_is_not_believed)
{
	struct llc llc;

	mkdir(tmpdir_path(&tmp, "proc"), 0755);
	tmpdir_write(&tmp, "proc/cpuinfo", "flags\t\t: fpu vme avx512f\n");
	cache(0, "3\n", "Unified\n", "107520K\n");
	llc_share(&root, 2, 2, &llc);
	ck_assert_uint_eq(llc.bytes, UINT64_C(107520) * 1024 / 2);
	tmpdir_write(&tmp, "proc/cpuinfo", "flags\t\t: fpu vme hypervisor avx512f\n");
	llc_share(&root, 2, 2, &llc);
	ck_assert_uint_eq(llc.bytes, 2 << 20);
	llc_share(&root, 2, 1, &llc);
	ck_assert_uint_eq(llc.bytes, 4 << 20);
	/* A believable one is taken in a virtual machine too. */
	cache(0, "3\n", "Unified\n", "8M\n");
	llc_share(&root, 2, 2, &llc);
	ck_assert_uint_eq(llc.bytes, 4 << 20);
}
END_TEST

START_TEST(unknown_cache_is_zero)
{
	struct llc llc;

	llc_share(&root, 8, 2, &llc);
	ck_assert_uint_eq(llc.bytes, 0);
}
END_TEST

#define COUNT(a) (int)(sizeof(a) / sizeof((a)[0]))

int main(void)
{
	Suite *s = suite_create("llc");
	TCase *t = tcase_create("a cache's size is read as it is written");
	SRunner *r;
	int failed;

	tcase_add_loop_test(t, size_parses_or_is_left, 0, COUNT(PARSE));
	suite_add_tcase(s, t);
	t = tcase_create("a domain gets its share and never the host's cache");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, share_is_the_domains, 0, COUNT(SHARE));
	tcase_add_test(t, hosts_cache_is_not_believed);
	tcase_add_test(t, unknown_cache_is_zero);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
