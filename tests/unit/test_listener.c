/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nodesvc/socket/internal.h"
#include "tests/unit/tmpdir.h"

static struct tmpdir tmp;
static struct listener l;
static struct errbuf err;
static char path[128];

static void setup(void)
{
	tmpdir_create(&tmp);
	snprintf(path, sizeof(path), "%s/run/colocd.sock", tmp.dir);
	err.text[0] = '\0';
	ck_assert_msg(listener_open(&l, path, &err) == 0, "%s", err.text);
}

static void teardown(void)
{
	if (l.fd >= 0)
		listener_close(&l);
	tmpdir_remove(&tmp);
}

static bool connects(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc;

	memcpy(addr.sun_path, path, strlen(path) + 1);
	rc = connect(fd, (struct sockaddr *)&addr, sizeof(addr));
	close(fd);
	return rc == 0;
}

START_TEST(directory_is_made_and_all_may_connect)
{
	struct stat st;

	ck_assert(listener_is_there(&l));
	ck_assert(connects());
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0666);
}
END_TEST

START_TEST(lost_directory_is_noticed_and_made_anew)
{
	char dir[128];

	snprintf(dir, sizeof(dir), "%s/run", tmp.dir);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(dir), 0);
	ck_assert(!listener_is_there(&l));
	listener_close(&l);
	ck_assert_msg(listener_open(&l, path, &err) == 0, "%s", err.text);
	ck_assert(listener_is_there(&l));
	ck_assert(connects());
}
END_TEST

START_TEST(anothers_socket_is_not_ours_and_stays)
{
	struct listener other;

	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(listener_open(&other, path, &err), 0);
	ck_assert(!listener_is_there(&l));
	listener_close(&l);
	ck_assert(listener_is_there(&other));
	ck_assert_int_eq(listener_open(&l, path, &err), -EADDRINUSE);
	ck_assert_ptr_nonnull(strstr(err.text, "another colocd serves there"));
	listener_close(&other);
	ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

START_TEST(dead_ones_place_is_taken)
{
	close(l.fd); /* as a killed daemon leaves it */
	ck_assert_int_eq(access(path, F_OK), 0);
	ck_assert_msg(listener_open(&l, path, &err) == 0, "%s", err.text);
	ck_assert(connects());
}
END_TEST

START_TEST(file_in_the_way_is_refused)
{
	listener_close(&l);
	tmpdir_write(&tmp, "run/colocd.sock", "text");
	ck_assert_int_eq(listener_open(&l, path, &err), -EEXIST);
	ck_assert_ptr_nonnull(strstr(err.text, "is there and no socket"));
	ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

START_TEST(directory_of_others_is_refused)
{
	char dir[128];

	listener_close(&l);
	snprintf(dir, sizeof(dir), "%s/run", tmp.dir);
	ck_assert_int_eq(chmod(dir, 0777), 0);
	ck_assert_int_eq(listener_open(&l, path, &err), -EPERM);
	ck_assert_ptr_nonnull(strstr(err.text, "owner or mode lets others write"));
	ck_assert_int_eq(l.fd, -1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("listener");
	TCase *t = tcase_create("a socket is known again, put back, and taken from nobody");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, directory_is_made_and_all_may_connect);
	tcase_add_test(t, lost_directory_is_noticed_and_made_anew);
	tcase_add_test(t, anothers_socket_is_not_ours_and_stays);
	tcase_add_test(t, dead_ones_place_is_taken);
	tcase_add_test(t, file_in_the_way_is_refused);
	tcase_add_test(t, directory_of_others_is_refused);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
