/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/arena.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>

START_TEST(pieces_are_zeroed_aligned_and_apart)
{
	struct arena a = {.last = NULL};
	unsigned char *piece[64];

	for (size_t i = 0; i < 64; i++) {
		piece[i] = arena_alloc(&a, i, 3);
		ck_assert_ptr_nonnull(piece[i]);
		ck_assert_uint_eq((uintptr_t)piece[i] % _Alignof(max_align_t), 0);
		for (size_t k = 0; k < 3 * i; k++) {
			ck_assert_uint_eq(piece[i][k], 0);
			piece[i][k] = (unsigned char)i;
		}
	}
	for (size_t i = 0; i < 64; i++)
		for (size_t k = 0; k < 3 * i; k++)
			ck_assert_uint_eq(piece[i][k], i);
	ck_assert(!a.failed);
	arena_free(&a);
	ck_assert_ptr_null(a.last);
	arena_free(&a);
}
END_TEST

START_TEST(what_cannot_be_is_noted_and_the_rest_stays)
{
	struct arena a = {.last = NULL};
	int *first = arena_alloc(&a, 1, sizeof(*first));

	*first = 7;
	ck_assert_ptr_null(arena_alloc(&a, SIZE_MAX / 2, 3));
	ck_assert_ptr_null(arena_alloc(&a, 1, SIZE_MAX));
	ck_assert(a.failed);
	ck_assert_ptr_nonnull(arena_alloc(&a, 1, 0));
	ck_assert(a.failed);
	ck_assert_int_eq(*first, 7);
	arena_free(&a);
	ck_assert(!a.failed);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("arena");
	SRunner *r = srunner_create(s);
	TCase *t = tcase_create("pieces live until all are freed");
	int failed;

	tcase_add_test(t, pieces_are_zeroed_aligned_and_apart);
	suite_add_tcase(s, t);
	t = tcase_create("a piece that cannot be had is told once");
	tcase_add_test(t, what_cannot_be_is_noted_and_the_rest_stays);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
