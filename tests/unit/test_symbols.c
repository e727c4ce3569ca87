/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nodesvc/counters/symbols.h"
#include "tests/unit/deaf.h"

static char dir[] = "/tmp/coloc-symbols-XXXXXX";
static bool compiler;

/* @command with "D" in place of the folder; false: it failed. */
static bool shell(const char *command)
{
	char text[2048];

	setenv("D", dir, 1);
	snprintf(text, sizeof(text), "cd $D && { %s; } >/dev/null 2>&1", command);
	return system(text) == 0;
}

static const char *in_dir(const char *name)
{
	static char path[2][128];
	static int next;

	next = !next;
	snprintf(path[next], sizeof(path[0]), "%s/%s", dir, name);
	return path[next];
}

static void setup(void)
{
	strcpy(dir, "/tmp/coloc-symbols-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chmod(dir, 0755), 0);
	/* A library with functions of two runtimes, a datum and an ifunc of such names; a program
	 * that calls one of them; one of Fortran's between them. */
	compiler = shell(
		"cat >r.c <<'X'\n"
		"void GOMP_parallel(void) {} void GOMP_barrier(void) {} int MPI_Send(void) { "
		"return 1; }\n"
		"int MPI_Recv(void) { return 2; } int MPI_Test(void) { return 3; } int MPI_Wait = "
		"4;\n"
		"static int here(void) { return 5; } static void *pick(void) { return here; }\n"
		"int MPI_Bcast(void) __attribute__((ifunc(\"pick\")));\n"
		"X\n"
		"echo 'int MPI_Send(void); int mpi_send_(void) { return MPI_Send(); }' >f.c\n"
		"echo 'void GOMP_parallel(void); int main(void) { GOMP_parallel(); }' >c.c\n"
		"echo 'int mpi_send_(void); int main(void) { return mpi_send_(); }' >g.c\n"
		"cc -shared -fPIC -Wl,-soname,libruns.so -o libruns.so r.c && cc -shared -fPIC "
		"-Wl,-soname,libf.so -o libf.so f.c ./libruns.so &&"
		"cc -Wl,--no-as-needed -o calls c.c ./libruns.so -Wl,-rpath,'$ORIGIN' &&"
		"cc -Wl,--no-as-needed -o fortran g.c ./libf.so ./libruns.so -Wl,-rpath,'$ORIGIN' "
		"&&"
		"cc -static -o whole c.c r.c && strip -o bare whole && chmod -R a+rX .");
}

static void teardown(void)
{
	shell("rm -rf \"$D\"");
}

static int open_file(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Of one file, here; free by symbols_reader_free(). */
static struct symbols_reader *read_file(const char *path, bool is_program)
{
	struct symbols_reader *r = symbols_reader_new(NULL);
	int fd = open_file(path);

	ck_assert_ptr_nonnull(r);
	ck_assert_int_ge(fd, 0);
	symbols_read(r, fd, path, is_program);
	return r;
}

static const struct symbol_site *site_of(const struct symbols *s, const char *name)
{
	for (int i = 0; i < s->n_sites; i++)
		if (strcmp(callnames_get(s->site[i].call, NULL).name, name) == 0)
			return &s->site[i];
	return NULL;
}

/* Where in its file the function begins that the loader has at @at. */
static uint64_t loaded_offset(const void *at)
{
	unsigned long from, to, offset;
	uint64_t found = 0;
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];

	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx", &from, &to, &offset) == 3 &&
			(unsigned long)at >= from && (unsigned long)at < to)
			found = (unsigned long)at - from + offset;
	fclose(f);
	return found;
}

/* Every function that is found there is where the loader has it; returns how many. */
static int check_loaded(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	struct symbols_reader *r;
	const struct symbols *s;
	int n;

	if (!lib)
		return 0;
	r = read_file(path, false);
	s = symbols_result(r);
	n = s->n_sites;
	for (int i = 0; i < n; i++) {
		const char *name = callnames_get(s->site[i].call, NULL).name;
		void *at = dlsym(lib, name);

		ck_assert_msg(at != NULL, "%s: %s", path, name);
		ck_assert_msg(s->site[i].offset == loaded_offset(at), "%s: %s", path, name);
		ck_assert_int_eq(s->site[i].file, 0);
	}
	symbols_reader_free(r);
	return n;
}

START_TEST(functions_are_where_the_loader_has_them)
{
	if (compiler)
		ck_assert_int_eq(check_loaded(in_dir("libruns.so")), 4);
}
END_TEST

START_TEST(real_runtimes_are_read)
{
	static const struct {
		const char *name;
		int at_least;
	} real[] = {{"libgomp.so.1", 18}, {"libomp.so.5", 30}, {"libmpich.so.12", 60},
		{"libmpi.so.40", 60}};
	void *lib;

	for (size_t i = 0; i < sizeof(real) / sizeof(real[0]); i++) {
		char path[4096];

		lib = dlopen(real[i].name, RTLD_NOW | RTLD_LOCAL);
		if (!lib || dlinfo(lib, RTLD_DI_ORIGIN, path) < 0)
			continue;
		snprintf(path + strlen(path), 64, "/%s", real[i].name);
		ck_assert_int_ge(check_loaded(path), real[i].at_least);
	}
}
END_TEST

START_TEST(what_polls_is_no_candidate)
{
	static const char *const never[] = {"MPI_Test", "MPI_Testall", "MPI_Iprobe", "MPI_Probe",
		"mpi_testsome_", "GOMP_loop_dynamic_next", "__kmpc_dispatch_next_4", "MPI_Wtime",
		"omp_get_thread_num", "PMPI_Send", "MPI_Sender", "mpi_send___", "", "MPI_"};

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		ck_assert_msg(callnames_find(never[i], NULL) < 0, "%s", never[i]);
}
END_TEST

START_TEST(names_of_fortran_stand_for_those_of_c)
{
	static const char *const send[] = {"MPI_Send", "mpi_send", "mpi_send_", "mpi_send__",
		"MPI_SEND", "mpi_send_f08_", "mpi_send_f08ts_"};

	for (size_t i = 0; i < sizeof(send) / sizeof(send[0]); i++)
		ck_assert_str_eq(
			callnames_get(callnames_find(send[i], NULL), NULL).name, "MPI_Send");
	/* A name begins another's. */
	ck_assert_str_eq(
		callnames_get(callnames_find("mpi_sendrecv_", NULL), NULL).name, "MPI_Sendrecv");
	for (int i = 0; i < callnames_n(); i++) {
		ck_assert_int_eq(callnames_find(callnames_get(i, NULL).name, NULL), i);
		ck_assert_ptr_nonnull(call_class_text(callnames_get(i, NULL).class));
	}
}
END_TEST

START_TEST(a_sites_own_functions_are_found)
{
	struct callnames_own own = {.n = 2, .name = {"main", "MPI_Test"}};
	struct symbols_reader *r = symbols_reader_new(&own);
	const struct symbols *s;

	if (compiler) {
		symbols_read(r, open_file(in_dir("calls")), "calls", true);
		symbols_read(r, open_file(in_dir("libruns.so")), "libruns.so", false);
		s = symbols_result(r);
		ck_assert_int_eq(s->n_files, 2);
		ck_assert_int_eq(s->site[0].called, 1);
		for (int i = 0, seen = 0; i < s->n_sites; i++) {
			struct callname c = callnames_get(s->site[i].call, &own);

			if (c.class == CALL_OWN)
				ck_assert_str_eq(c.name, own.name[seen++]);
			ck_assert(i < s->n_sites - 1 || seen == 2);
		}
	}
	symbols_reader_free(r);
}
END_TEST

START_TEST(what_the_program_asks_for_comes_first)
{
	struct symbols_reader *r = symbols_reader_new(NULL);
	const struct symbols *s;

	if (compiler) {
		symbols_read(r, open_file(in_dir("fortran")), in_dir("fortran"), true);
		symbols_read(r, open_file(in_dir("libf.so")), in_dir("libf.so"), false);
		symbols_read(r, open_file(in_dir("libruns.so")), in_dir("libruns.so"), false);
		s = symbols_result(r);
		/* Both libraries have it, and Fortran's calls that of C. What libf.so asks for the
		 * program does not. */
		ck_assert_str_eq(s->file[s->site[0].file].name, "libruns.so");
		ck_assert_str_eq(callnames_get(s->site[0].call, NULL).name, "MPI_Send");
		ck_assert_int_eq(s->site[0].called, 1);
		ck_assert_str_ne(callnames_get(s->site[1].call, NULL).name, "MPI_Send");
		ck_assert_int_eq(site_of(s, "MPI_Recv")->called, 0);
		ck_assert_int_eq(site_of(s, "GOMP_parallel")->called, 0);
		ck_assert_ptr_null(symbols_why_none(s));
		ck_assert_int_eq(s->is_static, 0);
	}
	symbols_reader_free(r);
}
END_TEST

START_TEST(fortrans_names_are_found_where_c_has_none)
{
	struct symbols_reader *r = symbols_reader_new(NULL);
	const struct symbols *s;

	if (compiler) {
		symbols_read(r, open_file(in_dir("fortran")), in_dir("fortran"), true);
		symbols_read(r, open_file(in_dir("libf.so")), in_dir("libf.so"), false);
		s = symbols_result(r);
		ck_assert_int_eq(s->n_sites, 1);
		ck_assert_str_eq(s->file[s->site[0].file].name, "libf.so");
		ck_assert_str_eq(callnames_get(s->site[0].call, NULL).name, "MPI_Send");
		ck_assert_int_eq(s->site[0].called, 1);
	}
	symbols_reader_free(r);
}
END_TEST

START_TEST(no_sections_are_needed)
{
	struct symbols_reader *r;
	int fd;

	if (!compiler)
		return;
	fd = open(in_dir("libruns.so"), O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(pwrite(fd, &(Elf64_Off){0}, 8, offsetof(Elf64_Ehdr, e_shoff)), 8);
	ck_assert_int_eq(pwrite(fd, &(Elf64_Half){0}, 2, offsetof(Elf64_Ehdr, e_shnum)), 2);
	close(fd);
	r = read_file(in_dir("libruns.so"), false);
	ck_assert_int_eq(symbols_result(r)->n_sites, 4);
	symbols_reader_free(r);
	ck_assert(shell("cc -shared -fPIC -Wl,--hash-style=sysv -o libruns.so r.c"));
	r = read_file(in_dir("libruns.so"), false);
	ck_assert_int_eq(symbols_result(r)->n_sites, 4);
	symbols_reader_free(r);
}
END_TEST

START_TEST(static_programs_are_read_by_their_symbols)
{
	struct symbols_reader *r;

	if (!compiler)
		return;
	r = read_file(in_dir("whole"), true);
	ck_assert_int_eq(symbols_result(r)->is_static, 1);
	ck_assert_int_eq(site_of(symbols_result(r), "GOMP_parallel")->called, 1);
	symbols_reader_free(r);
	r = read_file(in_dir("bare"), true);
	ck_assert_int_eq(symbols_result(r)->n_sites, 0);
	ck_assert_ptr_nonnull(strstr(symbols_why_none(symbols_result(r)), "statically"));
	symbols_reader_free(r);
	r = read_file(in_dir("r.c"), true);
	ck_assert_ptr_nonnull(strstr(symbols_why_none(symbols_result(r)), "script"));
	symbols_reader_free(r);
}
END_TEST

/* Whatever bytes a library holds, it is read within its bounds, and no site lies outside. */
START_TEST(damaged_files_do_no_harm)
{
	static unsigned char whole[1 << 20], cut[1 << 20];
	struct symbols_reader *r;
	ssize_t n;
	int fd;

	if (!compiler)
		return;
	fd = open_file(in_dir("libruns.so"));
	n = read(fd, whole, sizeof(whole));
	close(fd);
	ck_assert_int_gt(n, 1000);
	srand(1);
	for (int k = 0; k < 300; k++) {
		ssize_t len = k % 3 ? n : rand() % n;

		memcpy(cut, whole, (size_t)n);
		for (int i = 0; i < k % 20; i++)
			cut[rand() % (k % 2 ? 2048 : n)] = (unsigned char)rand();
		fd = open(in_dir("damaged"), O_CREAT | O_TRUNC | O_WRONLY, 0755);
		ck_assert_int_eq(write(fd, cut, (size_t)len), len);
		close(fd);
		r = read_file(in_dir("damaged"), k % 5 == 0);
		for (int i = 0; i < symbols_result(r)->n_sites; i++)
			ck_assert_int_lt(symbols_result(r)->site[i].offset, (uint64_t)len);
		symbols_reader_free(r);
	}
}
END_TEST

/* 5 s: the answer is what is tested here, not the time. */
static int wait_and_take(int fd, struct symbols *ret)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int rc;

	ck_assert_int_ge(fd, 0);
	poll(&p, 1, 5000);
	rc = symbols_take(fd, NULL, ret);
	close(fd);
	return rc;
}

START_TEST(a_command_is_read_apart_with_its_libraries)
{
	struct command c = {.name = "calls", .search = dir};
	struct symbols s;
	struct stat st;

	if (!compiler)
		return;
	ck_assert_int_eq(wait_and_take(symbols_ask_command(&c, getuid(), NULL), &s), 0);
	ck_assert_int_eq(stat(in_dir("libruns.so"), &st), 0);
	ck_assert_int_eq(s.has_program, 1);
	ck_assert_int_eq(s.site[0].called, 1);
	ck_assert_str_eq(callnames_get(s.site[0].call, NULL).name, "GOMP_parallel");
	ck_assert_str_eq(s.file[s.site[0].file].name, "libruns.so");
	ck_assert_uint_eq(s.file[s.site[0].file].ino, st.st_ino);
	symbols_done(&s);
	symbols_done(&s);
	c.name = "nothing";
	ck_assert_int_eq(wait_and_take(symbols_ask_command(&c, getuid(), NULL), &s), 0);
	ck_assert_int_eq(s.has_program, 0);
	if (geteuid() == 0) {
		/* What he may not read is not read for him. */
		c.name = "calls";
		ck_assert_int_eq(chmod(in_dir("calls"), 0700), 0);
		ck_assert_int_eq(wait_and_take(symbols_ask_command(&c, 65534, NULL), &s), 0);
		ck_assert_int_eq(s.has_program, 0);
	}
}
END_TEST

/* The name of the library leads to another file by now, or to none: what is mapped is read. */
START_TEST(a_process_is_read_by_what_it_has_mapped)
{
	struct symbols s;
	struct stat st;
	int ready[2], fd;
	char byte;
	pid_t pid;

	if (!compiler || geteuid() != 0)
		return;
	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		/* As a user's: the program runs with his rights. */
		if (setresuid(65534, 65534, 65534) == 0 && dlopen(in_dir("libruns.so"), RTLD_NOW))
			byte = (char)write(ready[1], "x", 1);
		pause();
		_exit(0);
	}
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	ck_assert_int_eq(stat(in_dir("libruns.so"), &st), 0);
	ck_assert(shell("rm libruns.so && echo other >libruns.so"));
	ck_assert_int_eq(wait_and_take(symbols_ask_thread(pid, 65534, NULL), &s), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ck_assert_int_eq(s.has_program, 1);
	fd = s.file[site_of(&s, "MPI_Recv")->file].fd;
	ck_assert_uint_eq(s.file[site_of(&s, "MPI_Recv")->file].ino, st.st_ino);
	ck_assert_int_eq(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	symbols_done(&s);
	ck_assert_int_eq(wait_and_take(symbols_ask_thread(pid, 65534, NULL), &s), -ENODATA);
	ck_assert_int_eq(symbols_ask_thread(0, 65534, NULL), -ESRCH);
}
END_TEST

static int open_now(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* What the reader's answer claims is looked at: it has read what nobody believes. */
static int take_forged(const struct symbols *s, size_t size, int n_fds)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * 16)];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {.iov_base = (void *)s, .iov_len = size};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c;
	struct symbols ret;
	int pair[2], rc;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	if (n_fds) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)n_fds);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)n_fds);
		for (int i = 0; i < n_fds; i++)
			memcpy(CMSG_DATA(c) + (size_t)i * sizeof(int), &s->file[i].fd, sizeof(int));
	}
	ck_assert_int_ge(sendmsg(pair[1], &m, 0), 0);
	close(pair[1]);
	rc = symbols_take(pair[0], NULL, &ret);
	if (rc == 0)
		symbols_done(&ret);
	close(pair[0]);
	return rc;
}

START_TEST(answers_that_cannot_be_are_refused)
{
	struct symbols_reader *r;
	struct symbols good, s;
	int pair[2], before;

	if (!compiler)
		return;
	r = read_file(in_dir("libruns.so"), false);
	good = *symbols_result(r);
	before = open_now();
	ck_assert_int_eq(take_forged(&good, sizeof(good), 1), 0);
	ck_assert_int_eq(take_forged(&good, sizeof(good) - 1, 1), -EBADMSG);
	ck_assert_int_eq(take_forged(&good, sizeof(good), 0), -EBADMSG);
#define REFUSED(change)                                                                            \
	do {                                                                                       \
		s = good;                                                                          \
		change;                                                                            \
		ck_assert_msg(take_forged(&s, sizeof(s), 1) == -EBADMSG, "%s", #change);           \
	} while (0)
	REFUSED(s.n_sites = SYMBOLS_SITES_MAX + 1);
	REFUSED(s.n_sites = -1);
	REFUSED(s.n_files = SYMBOLS_FILES_MAX + 1);
	REFUSED(s.n_files = -1);
	REFUSED(s.site[1].file = 1);
	REFUSED(s.site[1].call = (uint16_t)callnames_n());
	REFUSED(s.site[1].offset = 0); /* the head of the file is not executed */
	REFUSED(s.site[1].offset = s.file[0].size);
	REFUSED(s.site[1].offset = UINT64_MAX);
	REFUSED(s.file[0].fd = open_file("/dev/null"); before++);
	REFUSED(s.file[0].fd = open_file(in_dir("r.c")); before++);
	ck_assert_int_eq(open_now(), before);
	/* Nothing yet, and never. */
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	ck_assert_int_eq(symbols_take(pair[0], NULL, &s), -EAGAIN);
	close(pair[1]);
	ck_assert_int_eq(symbols_take(pair[0], NULL, &s), -ENODATA);
	close(pair[0]);
	symbols_reader_free(r);
}
END_TEST

START_TEST(no_file_system_is_waited_for)
{
	struct symbols_reader *r;
	struct symbols good;
	int status;
	pid_t child;

	if (!compiler)
		return;
	r = read_file(in_dir("libruns.so"), false);
	good = *symbols_result(r);
	child = fork();
	if (child == 0)
		_exit(!deaf_begin() ? 77 : take_forged(&good, sizeof(good), 1) != 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(status == 0 || status == 77 << 8, "status %x", status);
	symbols_reader_free(r);
}
END_TEST

START_TEST(who_may_wait_tells_code_from_what_is_none)
{
	struct symbols_reader *r;
	const struct symbols *good;
	int fd = open_file("/dev/null");

	if (!compiler)
		return;
	r = read_file(in_dir("libruns.so"), false);
	good = symbols_result(r);
	ck_assert(symbols_is_code(good->file[0].fd, good->site[0].offset));
	ck_assert(!symbols_is_code(good->file[0].fd, 0));
	ck_assert(!symbols_is_code(good->file[0].fd, UINT64_MAX));
	ck_assert(!symbols_is_code(fd, good->site[0].offset));
	ck_assert(!symbols_is_code(-1, good->site[0].offset));
	close(fd);
	symbols_reader_free(r);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("symbols");
	TCase *tc;
	SRunner *sr;
	int failed;

	tc = tcase_create("a function is known by any of its names");
	tcase_add_test(tc, what_polls_is_no_candidate);
	tcase_add_test(tc, names_of_fortran_stand_for_those_of_c);
	suite_add_tcase(s, tc);
	tc = tcase_create("functions are found in whatever files a program has");
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, functions_are_where_the_loader_has_them);
	tcase_add_test(tc, real_runtimes_are_read);
	tcase_add_test(tc, a_sites_own_functions_are_found);
	tcase_add_test(tc, what_the_program_asks_for_comes_first);
	tcase_add_test(tc, fortrans_names_are_found_where_c_has_none);
	tcase_add_test(tc, no_sections_are_needed);
	tcase_add_test(tc, static_programs_are_read_by_their_symbols);
	tcase_add_test(tc, damaged_files_do_no_harm);
	suite_add_tcase(s, tc);
	tc = tcase_create("files are read apart and what comes back is checked");
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_command_is_read_apart_with_its_libraries);
	tcase_add_test(tc, a_process_is_read_by_what_it_has_mapped);
	tcase_add_test(tc, answers_that_cannot_be_are_refused);
	tcase_add_test(tc, no_file_system_is_waited_for);
	tcase_add_test(tc, who_may_wait_tells_code_from_what_is_none);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
