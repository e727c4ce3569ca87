/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "spank/bind.h"

#define WORDS 12

struct line {
	const char *word[WORDS]; /* srun's, then the program's */
	int argc;                /* so many are the program's, as srun counts; 0: not known yet */
	bool in_env, asked;
};

static const struct line lines[] = {
	/* Slurm's own doing. */
	{.word = {"srun", "app"}},
	{.word = {"srun", "--hint=nomultithread", "app"}, .argc = 1},
	{.word = {"srun", "--threads-per-core=1", "app"}, .argc = 1},
	{.word = {"srun", "--ntasks-per-core=1", "--ntasks-per-socket=1", "app"}, .argc = 1},
	{.word = {"srun", "-B", "1:2:1", "app"}, .argc = 1},
	{.word = {"srun", "--cpus-per-task=2", "--cpu-freq=high", "app"}, .argc = 1},
	/* His word. */
	{.word = {"srun", "--cpu-bind=cores", "app"}, .argc = 1, .asked = true},
	{.word = {"srun", "--cpu-bind", "map_cpu:0", "app"}, .argc = 1, .asked = true},
	{.word = {"srun", "--cpu-b=rank", "app"}, .argc = 1, .asked = true},
	{.word = {"srun", "--cpu_bind=cores", "app"}, .argc = 1, .asked = true},
	{.word = {"srun", "--cpu-bind=verbose,threads", "app"}, .asked = true},
	{.word = {"srun", "--hint=nomultithread", "--cpu-bind=cores", "app"}, .asked = true},
	{.word = {"srun", "app"}, .argc = 1, .in_env = true, .asked = true},
	/* Of him, and no binding. */
	{.word = {"srun", "--cpu-bind=none", "app"}, .argc = 1},
	{.word = {"srun", "--cpu-bind", "v", "app"}, .argc = 1},
	{.word = {"srun", "--cpu-bind=q,no", "app"}, .argc = 1, .in_env = true},
	{.word = {"srun", "--cpu-bind=cores", "--cpu-bind=none", "app"}, .argc = 1},
	/* The program's own words. */
	{.word = {"srun", "app", "--cpu-bind=cores", "x"}, .argc = 3},
	{.word = {"srun", "app", "--cpu-bind=cores", "x"}, .asked = true},
	{.word = {"srun", "--cpu-bind=cores", "app", "--cpu-bind=none"}, .argc = 2, .asked = true},
	/* Parts of a heterogeneous job. */
	{.word = {"srun", "--cpu-bind=cores", "a", ":", "--cpu-bind=none", "b"},
		.argc = 1,
		.asked = true},
};

static bool ask(const struct line *l, int argc)
{
	char text[512];
	size_t len = 0;
	int n = 0;
	FILE *f;
	bool asked;

	for (; n < WORDS && l->word[n]; n++) {
		memcpy(text + len, l->word[n], strlen(l->word[n]) + 1);
		len += strlen(l->word[n]) + 1;
	}
	f = fmemopen(text, len, "r");
	ck_assert_ptr_nonnull(f);
	asked = bind_asked(f, argc, (char *const *)(l->word + n - argc), l->in_env);
	fclose(f);
	return asked;
}

START_TEST(his_word_is_told_from_slurms_doing)
{
	ck_assert_msg(ask(&lines[_i], lines[_i].argc) == lines[_i].asked, "line %d", _i);
}
END_TEST

START_TEST(unreadable_line_counts_as_his)
{
	ck_assert(bind_asked(NULL, 0, NULL, false));
}
END_TEST

START_TEST(file_of_programs_has_other_words_than_the_line)
{
	const struct line mp = {.word = {"srun", "--multi-prog", "--cpu-bind=cores", "conf"}};
	char *argv[] = {(char *)"conf", (char *)"x"};
	char text[] = "srun\0--multi-prog\0--cpu-bind=cores\0conf";
	FILE *f = fmemopen(text, sizeof(text), "r");

	ck_assert(bind_asked(f, 2, argv, false));
	fclose(f);
	ck_assert(ask(&mp, 1));
}
END_TEST

static const struct {
	struct bind_env env;
	bool his;
} envs[] = {
	{{NULL, NULL, NULL, NULL}, false},
	{{"cores", NULL, NULL, NULL}, true},
	{{"none", NULL, NULL, NULL}, false},
	{{"verbose,map_cpu:0", NULL, NULL, NULL}, true},
	/* An enclosing task's, and the user's beside parts that it left. */
	{{"quiet,mask_cpu:0x3", "quiet", "mask_cpu:", "0x3"}, false},
	{{"quiet,corescores", "quiet", "cores", "cores"}, false},
	{{"cores", "quiet", "mask_cpu:", "0x3"}, true},
	{{"quiet,mask_cpu:0x1", "quiet", "mask_cpu:", "0x3"}, true},
};

START_TEST(variable_of_an_enclosing_step_is_not_his)
{
	ck_assert_msg(bind_in_env(&envs[_i].env) == envs[_i].his, "environment %d", _i);
}
END_TEST

#define N_OF(a) ((int)(sizeof(a) / sizeof((a)[0])))

int main(void)
{
	Suite *s = suite_create("spank bind");
	TCase *t = tcase_create("a binding is the user's if he said so");
	SRunner *r;
	int failed;

	tcase_add_loop_test(t, his_word_is_told_from_slurms_doing, 0, N_OF(lines));
	tcase_add_test(t, unreadable_line_counts_as_his);
	tcase_add_test(t, file_of_programs_has_other_words_than_the_line);
	tcase_add_loop_test(t, variable_of_an_enclosing_step_is_not_his, 0, N_OF(envs));
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
