/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cpuset.mems that follows and comes back, on files that stand for a machine of two memory nodes.
 */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nodesvc/actuate/internal.h"
#include "nodesvc/actuate/actuate.h"
#include "tests/unit/fstree.h"
#include "tests/unit/ledger_mem.h"

#define V1    "sys/fs/cgroup/cpuset/slurm_n1/uid_0/job_7"
#define V2    "sys/fs/cgroup/system.slice/n1_slurmstepd.scope/job_7"
#define NODES "sys/devices/system/node"
#define NODE1 NODES "/node1/meminfo"

static struct fstree tree;
static struct ledger *ledger;
static struct actuate *act;
static struct errbuf err;
static struct step_cgroup step;
static struct mems_moved moved;
static const struct coreset all = {{0xff}}, node0 = {{1}}, node1 = {{2}};

static void put_node(int n, const char *cpus, int free_kib, int cache_kib)
{
	char path[96], text[256];

	snprintf(path, sizeof(path), NODES "/node%d/cpulist", n);
	fstree_put(&tree, path, cpus);
	snprintf(path, sizeof(path), NODES "/node%d/meminfo", n);
	snprintf(text, sizeof(text),
		"Node %d MemTotal:     1000 kB\nNode %d MemFree:      %d kB\n"
		"Node %d Active(file):   %d kB\nNode %d Inactive(file): 0 kB\n",
		n, n, free_kib, n, cache_kib, n);
	fstree_put(&tree, path, text);
}

static void open_all(const char *mountinfo, const char *job, const char *below)
{
	fstree_put(&tree, NODES "/online", "0-1\n");
	put_node(0, "0-3\n", 500, 0);
	put_node(1, "4-7\n", 400, 100);
	fstree_put(&tree, "proc/self/mountinfo", mountinfo);
	ck_assert_int_eq(ledger_open(&ledger, ":memory:", "boot", &err), 0);
	ck_assert_int_eq(actuate_open(&act, &tree.root, ledger, &all, &err), 0);
	memset(&step, 0, sizeof(step));
	strcpy(step.job_path, job);
	snprintf(step.step_path, sizeof(step.step_path), "%s/step_0%s", job, below);
	step.step_inode = fsroot_inode(&tree.root, step.step_path);
	ledger_mem_adds_left = -1;
}

static void setup_v1(void)
{
	fstree_make(&tree);
	fstree_put(&tree, "sys/fs/cgroup/cpuset/cpuset.cpus", "0-7\n");
	fstree_put(&tree, V1 "/cpuset.mems", "0-1\n");
	fstree_put(&tree, V1 "/step_0/cpuset.mems", "0-1\n");
	fstree_put(&tree, V1 "/step_0/cgroup.procs", "");
	open_all("32 22 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n", V1, "");
}

static void setup_v2(void)
{
	fstree_make(&tree);
	fstree_put(&tree, "sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory\n");
	fstree_put(&tree, V2 "/cpuset.mems.effective", "0-1\n");
	fstree_put(&tree, V2 "/step_0/user/cpuset.mems", "\n");
	fstree_put(&tree, V2 "/step_0/user/cpuset.mems.effective", "1\n");
	fstree_put(&tree, V2 "/step_0/user/cgroup.procs", "");
	fstree_put(&tree, V2 "/step_0/user/task_0/cgroup.procs", "");
	open_all("30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", V2, "/user");
}

static void teardown(void)
{
	actuate_close(act);
	ledger_close(ledger);
	fstree_remove(&tree);
}

/* cpuset.mems of the step; a file keeps the tail of what it had, the kernel's do not. */
static bool holds(const char *nodes)
{
	struct coreset want, now;

	ck_assert_int_eq(coreset_parse(&want, nodes, NULL), 0);
	ck_assert_int_eq(cpus_read_file(&tree.root, step.step_path, "cpuset.mems", &now, &err), 0);
	return coreset_is_equal(&now, &want);
}

START_TEST(nodes_are_those_of_the_cpus)
{
	static const struct {
		const char *cpus, *nodes;
	} rows[] = {{"0", "0"}, {"2-3", "0"}, {"4-7", "1"}, {"3-4", "0-1"}, {"", ""}};
	struct coreset cpus, want, got;
	int n;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		coreset_parse(&cpus, rows[i].cpus, NULL);
		coreset_parse(&want, rows[i].nodes, NULL);
		ck_assert_int_eq(mems_of_cpus(&tree.root, &cpus, &got, &n, &err), 0);
		ck_assert(coreset_is_equal(&got, &want));
		ck_assert_int_eq(n, 2);
	}
}
END_TEST

START_TEST(kernel_without_numa_has_one_node)
{
	struct coreset got;
	int n = 0;

	ck_assert_int_eq(unlinkat(tree.root.fd, NODES "/online", 0), 0);
	ck_assert_int_eq(mems_of_cpus(&tree.root, &all, &got, &n, &err), 0);
	ck_assert_int_eq(n, 1);
}
END_TEST

START_TEST(node_that_does_not_say_is_an_error)
{
	struct coreset got = node1;
	uint64_t total, left;
	int n;

	ck_assert_int_eq(unlinkat(tree.root.fd, NODES "/node0/cpulist", 0), 0);
	ck_assert_int_eq(mems_of_cpus(&tree.root, &all, &got, &n, &err), -EIO);
	ck_assert_ptr_nonnull(strstr(err.text, "node0/cpulist"));
	ck_assert_int_eq(unlinkat(tree.root.fd, NODE1, 0), 0);
	ck_assert_int_eq(mems_free(&tree.root, &node1, &total, &left, &err), -ENOENT);
	fstree_put(&tree, NODE1, "nothing\n");
	ck_assert_int_eq(mems_free(&tree.root, &node1, &total, &left, &err), -EIO);
}
END_TEST

START_TEST(caches_of_files_count_as_free)
{
	struct coreset both = {{3}};
	uint64_t total, left;

	ck_assert_int_eq(mems_free(&tree.root, &node1, &total, &left, &err), 0);
	ck_assert_uint_eq(total, 1000 * 1024);
	ck_assert_uint_eq(left, 500 * 1024);
	ck_assert_int_eq(mems_free(&tree.root, &both, &total, &left, &err), 0);
	ck_assert_uint_eq(left, 1000 * 1024);
}
END_TEST

START_TEST(mappings_elsewhere_are_found)
{
	static const struct {
		const char *line;
		uint64_t foreign; /* 0: none */
		bool is_file;
	} rows[] = {
		{"7f00 default anon=8 dirty=8 N0=3 N1=5 kernelpagesize_kB=4", 3, false},
		{"7f00 default heap anon=5 dirty=5 N1=5 kernelpagesize_kB=4", 0, false},
		{"7f00 default stack anon=2 dirty=2 N0=2 kernelpagesize_kB=4", 2, false},
		{"7f00 default file=/usr/lib/x.so mapped=4 N0=4 kernelpagesize_kB=4", 4, true},
		{"7f00 default file=/dev/shm/seg dirty=6 N0=6 kernelpagesize_kB=4", 6, false},
		{"7f00 default file=/SYSV00000000\\040(deleted) dirty=1 N0=1 kernelpagesize_kB=4",
			1, false},
		{"7f00 default file=/mnt/huge/a huge dirty=1 N0=1 kernelpagesize_kB=2048", 0,
			false},
		{"7f00 default file=/x", 0, true},
		{"", 0, false},
		{"no number", 0, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mems_vma v = {0};

		ck_assert_msg(mems_vma_parse(rows[i].line, &node1, &v) == (rows[i].foreign > 0),
			"%s", rows[i].line);
		if (!rows[i].foreign)
			continue;
		ck_assert_uint_eq(v.start, 0x7f00);
		ck_assert_uint_eq(v.foreign, rows[i].foreign);
		ck_assert_int_eq(v.is_file, rows[i].is_file);
	}
}
END_TEST

START_TEST(nodes_follow_and_come_back)
{
	ck_assert_msg(mems_record(act, &step, &node1, &err) == 0, "%s", err.text);
	ck_assert_int_eq(ledger_count(ledger), 1);
	ck_assert(holds("0-1"));
	ck_assert_msg(mems_move(act, &step, &node1, 1, &moved, &err) == 0, "%s", err.text);
	ck_assert(holds("1"));
	fstree_put(&tree, V1 "/step_0/cpuset.mems", "1\n"); /* as the kernel would have it */
	/* Once more elsewhere: the ledger keeps the first original. */
	ck_assert_int_eq(mems_record(act, &step, &node0, &err), 0);
	ck_assert_int_eq(ledger_count(ledger), 1);
	ck_assert_int_eq(mems_restore(act, &step, &err), 0);
	ck_assert(holds("0-1"));
	ck_assert_int_eq(ledger_count(ledger), 0);
	ck_assert_int_eq(mems_restore(act, &step, &err), 0); /* nothing there: fine */
}
END_TEST

START_TEST(crash_between_record_and_write_is_undone)
{
	ck_assert_int_eq(mems_record(act, &step, &node1, &err), 0);
	ck_assert_int_eq(mems_restore_all(act, &err), 1);
	ck_assert_int_eq(ledger_count(ledger), 0);
	ck_assert_int_eq(mems_record(act, &step, &node1, &err), 0);
	ck_assert_int_eq(mems_move(act, &step, &node1, 1, &moved, &err), 0);
	ck_assert_int_eq(mems_restore_all(act, &err), 1);
	ck_assert(holds("0-1"));
}
END_TEST

START_TEST(without_a_ledger_nothing_is_changed)
{
	ledger_mem_adds_left = 0;
	ck_assert_int_eq(mems_record(act, &step, &node1, &err), -EIO);
	ledger_mem_adds_left = -1;
	ck_assert(holds("0-1"));
}
END_TEST

START_TEST(nodes_that_are_not_the_jobs_are_refused)
{
	const struct coreset other = {{4}}, none = {{0}};

	ck_assert_int_eq(mems_record(act, &step, &other, &err), -ERANGE);
	ck_assert_ptr_nonnull(strstr(err.text, "'2' are not inside its '0-1'"));
	ck_assert_int_eq(mems_record(act, &step, &none, &err), -ERANGE);
	ck_assert_int_eq(ledger_count(ledger), 0);
}
END_TEST

START_TEST(full_nodes_take_nothing)
{
	put_node(1, "4-7\n", 60, 39); /* a tenth of 1000 is to stay */
	ck_assert_int_eq(mems_record(act, &step, &node1, &err), 0);
	ck_assert_int_eq(mems_move(act, &step, &node1, 1, &moved, &err), -ENOSPC);
	ck_assert(holds("0-1"));
}
END_TEST

START_TEST(ended_step_is_only_forgotten)
{
	struct step_cgroup other = step;

	other.step_inode++;
	ck_assert_int_eq(mems_record(act, &other, &node1, &err), -ENOENT);
	ck_assert_int_eq(mems_record(act, &step, &node1, &err), 0);
	ck_assert_int_eq(mems_move(act, &step, &node1, 1, &moved, &err), 0);
	/* A later namesake: another directory. */
	ck_assert_int_eq(renameat(tree.root.fd, V1 "/step_0", tree.root.fd, V1 "/gone"), 0);
	fstree_put(&tree, V1 "/step_0/cpuset.mems", "0\n");
	ck_assert_int_eq(mems_restore(act, &step, &err), 0);
	ck_assert(holds("0"));
	ck_assert_int_eq(ledger_count(ledger), 0);
}
END_TEST

START_TEST(file_that_is_gone_names_itself)
{
	ck_assert_int_eq(unlinkat(tree.root.fd, V1 "/step_0/cpuset.mems", 0), 0);
	ck_assert_int_eq(mems_record(act, &step, &node1, &err), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "step_0/cpuset.mems"));
	ck_assert_int_eq(ledger_count(ledger), 0);
}
END_TEST

START_TEST(pages_that_are_there_already_are_left)
{
	/* The list says node 1, the kernel of this machine that they are on node 0: node 0 wanted.
	 */
	size_t bytes = 64 * (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64], text[160];
	pid_t child;

	ck_assert_ptr_ne(p, MAP_FAILED);
	memset(p, 1, bytes);
	child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	snprintf(text, sizeof(text), "%d\n999999999\n", (int)child);
	fstree_put(&tree, V1 "/step_0/cgroup.procs", text);
	snprintf(path, sizeof(path), "proc/%d/numa_maps", (int)child);
	snprintf(text, sizeof(text), "%lx default anon=64 N1=64 kernelpagesize_kB=4\n",
		(unsigned long)p);
	fstree_put(&tree, path, text);
	snprintf(path, sizeof(path), "proc/%d/maps", (int)child);
	snprintf(text, sizeof(text), "1000-2000 r--p 0 0:0 0\n%lx-%lx rw-p 00000000 00:00 0\n",
		(unsigned long)p, (unsigned long)p + bytes);
	fstree_put(&tree, path, text);
	put_node(0, "0-3\n", 1000, 0);
	fstree_put(&tree, V1 "/step_0/cpuset.mems", "0\n");
	ck_assert_int_eq(mems_record(act, &step, &node0, &err), 0);
	ck_assert_int_eq(mems_move(act, &step, &node0, 1, &moved, &err), 0);
	ck_assert_uint_eq(moved.moved_bytes + moved.left_bytes, 0);
	/* More of it than there is room. */
	put_node(0, "0-3\n", 350, 0);
	ck_assert_int_eq(mems_move(act, &step, &node0, 1, &moved, &err), -ENOSPC);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	munmap(p, bytes);
}
END_TEST

START_TEST(v2_reads_back_what_is_in_force)
{
	ck_assert_msg(mems_record(act, &step, &node1, &err) == 0, "%s", err.text);
	ck_assert_int_eq(mems_move(act, &step, &node1, 1, &moved, &err), 0);
	ck_assert_int_eq(mems_move(act, &step, &node0, 1, &moved, &err), -EIO);
	ck_assert_ptr_nonnull(strstr(err.text, "wrote '0-1', reads '1'"));
	ck_assert_int_eq(mems_restore(act, &step, &err), 0);
	ck_assert_int_eq(ledger_count(ledger), 0);
	/* What is in force above counts, not what is asked for there. */
	fstree_put(&tree, V2 "/cpuset.mems.effective", "0\n");
	ck_assert_int_eq(mems_record(act, &step, &node1, &err), -ERANGE);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mems");
	SRunner *sr = srunner_create(s);
	TCase *tc;
	int failed;

	tc = tcase_create("the machine's nodes and what they have left");
	tcase_add_checked_fixture(tc, setup_v1, teardown);
	tcase_add_test(tc, nodes_are_those_of_the_cpus);
	tcase_add_test(tc, kernel_without_numa_has_one_node);
	tcase_add_test(tc, node_that_does_not_say_is_an_error);
	tcase_add_test(tc, caches_of_files_count_as_free);
	suite_add_tcase(s, tc);
	tc = tcase_create("pages that are elsewhere");
	tcase_add_checked_fixture(tc, setup_v1, teardown);
	tcase_add_test(tc, mappings_elsewhere_are_found);
	tcase_add_test(tc, pages_that_are_there_already_are_left);
	suite_add_tcase(s, tc);
	tc = tcase_create("a step's nodes follow, and are as before again");
	tcase_add_checked_fixture(tc, setup_v1, teardown);
	tcase_add_test(tc, nodes_follow_and_come_back);
	tcase_add_test(tc, crash_between_record_and_write_is_undone);
	tcase_add_test(tc, ended_step_is_only_forgotten);
	suite_add_tcase(s, tc);
	tc = tcase_create("what cannot be leaves all as it is");
	tcase_add_checked_fixture(tc, setup_v1, teardown);
	tcase_add_test(tc, without_a_ledger_nothing_is_changed);
	tcase_add_test(tc, nodes_that_are_not_the_jobs_are_refused);
	tcase_add_test(tc, full_nodes_take_nothing);
	tcase_add_test(tc, file_that_is_gone_names_itself);
	suite_add_tcase(s, tc);
	tc = tcase_create("v2: what is in force counts");
	tcase_add_checked_fixture(tc, setup_v2, teardown);
	tcase_add_test(tc, v2_reads_back_what_is_in_force);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
