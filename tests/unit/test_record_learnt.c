/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "nodesvc/record/record_internal.h"
#include "tests/unit/record_db.h"

static int note(const struct learnt *m, void *arg)
{
	char *text = arg;

	sprintf(text + strlen(text), "%s/%s/%s=%s ", m->node_type, m->owner, m->name, m->value);
	return 0;
}

static const char *learnt(const char *what)
{
	static char text[4096];

	*text = '\0';
	ck_assert_int_eq(record_learnt_list(record, what, note, text, &err), 0);
	return text;
}

static struct learnt of(const char *what, const char *owner, const char *name, const char *value)
{
	return (struct learnt){.what = what,
		.node_type = "n",
		.owner = owner,
		.name = name,
		.value = value,
		.put_unix_s = 9};
}

static void put(const char *what, const char *owner, const char *name, const char *value, int most)
{
	struct learnt m = of(what, owner, name, value);

	ck_assert_msg(record_learnt_put(record, &m, most, &err) == 0, "%s", err.text);
}

START_TEST(what_was_learned_is_kept_by_program_owner_and_kind)
{
	struct learnt key = of("launch", "ada", "gmx", "");
	char text[64] = "";

	put("launch", "ada", "gmx", "1", 9);
	put("launch", "bob", "gmx", "2", 9);
	put("loads", "ada", "gmx", "3", 9);
	put("launch", "ada", "gmx", "4", 9);
	ck_assert_str_eq(learnt("launch"), "n/bob/gmx=2 n/ada/gmx=4 ");
	ck_assert_str_eq(learnt("loads"), "n/ada/gmx=3 ");
	ck_assert_str_eq(learnt("calls"), "");
	ck_assert_int_eq(record_learnt_get(record, &key, note, text, &err), 0);
	ck_assert_str_eq(text, "n/ada/gmx=4 ");
	/* Another kind of node is another place. */
	key.node_type = "m";
	ck_assert_int_eq(record_learnt_get(record, &key, note, text, &err), 0);
	ck_assert_str_eq(text, "n/ada/gmx=4 ");
	ck_assert_int_eq(record_learnt_rm(record, "launch", "bob", "gmx", &err), 1);
	ck_assert_int_eq(record_learnt_rm(record, "launch", "bob", "gmx", &err), 0);
	put("launch", "bob", "gmx", "5", 9);
	ck_assert_int_eq(record_learnt_rm(record, "launch", NULL, "gmx", &err), 2);
	ck_assert_str_eq(learnt("launch"), "");
	ck_assert_str_eq(learnt("loads"), "n/ada/gmx=3 ");
}
END_TEST

START_TEST(those_that_were_put_last_stay)
{
	char name[16];

	put("loads", "ada", "other", "1", 3);
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		put("launch", "ada", name, "1", 3);
		put("launch", "ada", "p0", "1", 3); /* in use */
	}
	ck_assert_str_eq(learnt("launch"), "n/ada/p8=1 n/ada/p9=1 n/ada/p0=1 ");
	ck_assert_str_eq(learnt("loads"), "n/ada/other=1 ");
}
END_TEST

START_TEST(who_has_most_makes_room)
{
	char name[16];

	put("launch", "ada", "gmx", "1", 4);
	put("launch", "bob", "lmp", "1", 4);
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		put("launch", "eve", name, "1", 4);
	}
	ck_assert_str_eq(learnt("launch"), "n/ada/gmx=1 n/bob/lmp=1 n/eve/p8=1 n/eve/p9=1 ");
	/* Both have two: the oldest of theirs. */
	put("launch", "ada", "lmp", "1", 4);
	ck_assert_str_eq(learnt("launch"), "n/bob/lmp=1 n/eve/p8=1 n/eve/p9=1 n/ada/lmp=1 ");
}
END_TEST

START_TEST(what_cannot_be_kept_is_refused)
{
	char text[LEARNT_VALUE_MAX + 1];
	struct learnt m = of("launch", "ada", "gmx", text);

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ck_assert_int_eq(record_learnt_put(record, &m, 3, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "'gmx' cannot be kept"));
	m.value = "1";
	m.name = "";
	ck_assert_int_eq(record_learnt_put(record, &m, 3, &err), -EINVAL);
	ck_assert_str_eq(learnt("launch"), "");
}
END_TEST

START_TEST(it_goes_with_the_transaction_that_it_is_in)
{
	struct learnt m = of("launch", "ada", "gmx", "1");

	ck_assert_int_eq(record_begin(record, &err), 0);
	ck_assert_int_eq(record_learnt_put(record, &m, 3, &err), 0);
	ck_assert(record_is_open(record));
	ck_assert_int_eq(record_end(record, -EIO, NULL), -EIO);
	ck_assert_str_eq(learnt("launch"), "");
	ck_assert_int_eq(record_learnt_put(record, &m, 3, &err), 0);
	ck_assert(!record_is_open(record));
	ck_assert_str_eq(learnt("launch"), "n/ada/gmx=1 ");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("record_learnt");
	TCase *t = record_db_tcase(s, "what was learned of programs is there for the next service");

	tcase_add_test(t, what_was_learned_is_kept_by_program_owner_and_kind);
	tcase_add_test(t, those_that_were_put_last_stay);
	tcase_add_test(t, who_has_most_makes_room);
	tcase_add_test(t, what_cannot_be_kept_is_refused);
	tcase_add_test(t, it_goes_with_the_transaction_that_it_is_in);
	return record_db_run(s);
}
