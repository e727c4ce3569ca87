/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>

#include "common/runtimes.h"

static const struct {
	const char *file;
	uint32_t is;
} CASES[] = {
	{"libgomp.so.1", RUNTIME_LIBGOMP},
	{"libgomp-a34b3233.so.1.0.0", RUNTIME_LIBGOMP},
	{"libgomp.so.1.0.0 (deleted)", RUNTIME_LIBGOMP},
	{"libomp.so.5", RUNTIME_LIBOMP},
	{"libomp5.so", RUNTIME_LIBOMP},
	{"libiomp5.so", RUNTIME_LIBOMP},
	{"libmpi.so.40.30.4", RUNTIME_OPENMPI},
	{"libmpi.so.12", RUNTIME_MPICH},
	{"libmpich.so.12.2.1", RUNTIME_MPICH},
	{"libopen-pal.so.40", RUNTIME_OPENMPI},
	{"libopenblas.so.0", RUNTIME_OPENBLAS},
	{"libopenblasp-r0.3.21.so", RUNTIME_OPENBLAS},
	{"libscipy_openblas64_-ff651d7f.so", RUNTIME_OPENBLAS},
	{"libmkl_core.so.2", RUNTIME_MKL},
	{"libblis-mt.so.4", RUNTIME_BLIS},
	{"libompstub.so", 0},
	{"libmpi_cxx.so.40", 0},
	{"libgomp", 0},
	{"libgomp.txt", 0},
	{"xlibgomp.so", 0},
	{"libblas.so.3", 0},
	{"libc.so.6", 0},
	{"", 0},
	{"li", 0},
};

START_TEST(a_runtime_is_known_by_its_file)
{
	ck_assert_msg(runtime_of(CASES[_i].file) == CASES[_i].is, "%s", CASES[_i].file);
}
END_TEST

START_TEST(each_has_a_name)
{
	char text[64], cut[8];

	ck_assert_str_eq(runtimes_text(0, text, sizeof(text)), "");
	ck_assert_str_eq(
		runtimes_text(RUNTIME_LIBGOMP | RUNTIME_BLIS, text, sizeof(text)), "libgomp, BLIS");
	ck_assert_str_eq(runtimes_text(RUNTIME_OPENMPI, cut, sizeof(cut)), "Open MP");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("runtimes");
	TCase *t = tcase_create("a runtime is known by its file, whatever the release");
	SRunner *r;
	int failed;

	tcase_add_loop_test(
		t, a_runtime_is_known_by_its_file, 0, (int)(sizeof(CASES) / sizeof(CASES[0])));
	tcase_add_test(t, each_has_a_name);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
