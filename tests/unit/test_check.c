/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trees are made here file by file: each test names exactly what its finding rests on.
 */
#include <check.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "common/ipc.h"
#include "nodesvc/ctl/ctl.h"
#include "nodesvc/ctl/check.h"
#include "tests/unit/tmpdir.h"

#define SLURM_CONF                                                                                 \
	"# a site's file\n"                                                                        \
	"ClusterName=mini\n"                                                                       \
	"taskplugin=task/cgroup,task/affinity ProctrackType=proctrack/cgroup\n"                    \
	"SelectType=select/linear\n"                                                               \
	"SelectTypeParameters=CR_Memory\n"                                                         \
	"NodeName=n1 CPUs=2 TaskPlugin=no\n"                                                       \
	"Include parts.conf\n"
#define PARTS_CONF                                                                                 \
	"PartitionName=main Nodes=ALL \\\n"                                                        \
	"  Default=YES OverSubscribe=FORCE:4 # shared\n"                                           \
	"PartitionName=big Nodes=ALL OverSubscribe=NO\n"
#define CGROUP_CONF "ConstrainCores=yes\nConstrainRAMSpace=yes\n"

static struct tmpdir tmp;
static struct ctl ctl = {.timeout_ms = 200};
static struct check_list list;
static char socket_path[160];

/* A file below the tree, directories made on the way. */
static void put(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", tmp.dir, name);
	for (char *p = path + strlen(tmp.dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0755);
		*p = '/';
	}
	tmpdir_write(&tmp, name, text);
}

/* A node on which nothing is missing but the daemon. */
static void setup(void)
{
	unsetenv("SLURM_CONF");
	tmpdir_create(&tmp);
	snprintf(socket_path, sizeof(socket_path), "%s/none.sock", tmp.dir);
	ctl.socket = CTL_SOCKET;
	put("etc/slurm/slurm.conf", SLURM_CONF);
	put("etc/slurm/parts.conf", PARTS_CONF);
	put("etc/slurm/cgroup.conf", CGROUP_CONF);
	put("etc/slurm/plugstack.conf", "include plugstack.conf.d/*.conf\n");
	put("etc/slurm/plugstack.conf.d/coloc.conf",
		"# co-location\noptional /usr/lib64/slurm/spank_coloc.so default=off "
		"socket=/run/coloc/colocd.sock\n");
	put("usr/lib64/slurm/spank_coloc.so", "elf");
	put("sys/fs/cgroup/cpuset/cpuset.cpus", "0-1\n");
	put("sys/fs/cgroup/freezer/tasks", "");
	put("sys/bus/event_source/devices/cpu/type", "4\n");
	put("proc/sys/kernel/perf_event_paranoid", "2\n");
	put("proc/1/comm", "systemd\n");
	put("var/lib/coloc/coloc.db", "");
	chmod(tmpdir_path(&tmp, "var/lib/coloc"), 0700);
}

static void teardown(void)
{
	check_done(&list);
	tmpdir_remove(&tmp);
}

/* What is found of @name, "LEVEL: text -> cure"; several joined by a line feed. */
static const char *found(const char *name)
{
	static const char *const LEVEL[] = {"ok", "warn", "FAIL"};
	static char text[65536];

	*text = '\0';
	for (int i = 0; i < list.n; i++) {
		const struct check_finding *f = &list.finding[i];

		if (strcmp(f->name, name) == 0)
			sprintf(text + strlen(text), "%s%s: %s%s%s", *text ? "\n" : "",
				LEVEL[f->level], f->text, *f->cure ? " -> " : "", f->cure);
	}
	return text;
}

static const char *finding(const char *name)
{
	check_run(&list, &ctl, tmp.dir);
	return found(name);
}

START_TEST(good_tree_fails_for_the_daemon_only)
{
	check_run(&list, &ctl, tmp.dir);
	for (int i = 0; i < list.n; i++) {
		const struct check_finding *f = &list.finding[i];

		/* Under a test that is not run by root the tree is not root's. */
		if (f->level == CHECK_FAIL && strcmp(f->name, "colocd") != 0 &&
			!(geteuid() != 0 && strcmp(f->name, "store") == 0))
			ck_abort_msg("%s: %s", f->name, f->text);
	}
	ck_assert(check_has_failed(&list));
}
END_TEST

static const struct {
	const char *path, *text; /* what is written over the good tree; NULL removed */
	const char *name, *want;
} TREE[] = {
	{"etc/slurm/none", "", "slurm.conf", "ok: read from /etc/slurm/slurm.conf"},
	{"etc/slurm/slurm.conf", NULL, "slurm.conf",
		"FAIL: no slurm.conf found (SLURM_CONF may name it) and scontrol does not answer "
		"-> "
		"Set SLURM_CONF, or run this where slurmd runs."},
	{"etc/slurm/none", "", "TaskPlugin", "ok: task/cgroup,task/affinity"},
	{"etc/slurm/slurm.conf", "TaskPlugin=task/affinity\n", "TaskPlugin",
		"FAIL: 'task/affinity' has no task/cgroup: steps get no cpuset of their own -> "
		"slurm.conf: TaskPlugin=task/cgroup,task/affinity; restart slurmctld and slurmd."},
	{"etc/slurm/slurm.conf", "TaskPlugin=task/cgroup\n", "TaskPlugin",
		"warn: 'task/cgroup' has no task/affinity -> slurm.conf: "
		"TaskPlugin=task/cgroup,task/affinity, so that --cpu-bind works for those who want "
		"to bind themselves."},
	{"etc/slurm/slurm.conf", "ClusterName=x\n", "ProctrackType",
		"ok: proctrack/cgroup (default)"},
	{"etc/slurm/slurm.conf", "ProctrackType=proctrack/linuxproc\n", "ProctrackType",
		"FAIL: 'proctrack/linuxproc': a step's processes cannot be told by their cgroup -> "
		"slurm.conf: ProctrackType=proctrack/cgroup; restart slurmctld and slurmd when no "
		"job runs."},
	{"etc/slurm/cgroup.conf", NULL, "ConstrainCores",
		"FAIL: 'no (default)': Slurm makes no cpusets, so there is nothing to rebind -> "
		"cgroup.conf: ConstrainCores=yes; restart slurmd."},
	{"etc/slurm/cgroup.conf", "ConstrainCores=Yes", "ConstrainCores", "ok: yes"},
	{"etc/slurm/none", "", "partition",
		"ok: main: OverSubscribe=FORCE:4, up to 4 jobs share a CPU"},
	{"etc/slurm/parts.conf", "PartitionName=a OverSubscribe=YES:4\n", "partition",
		"ok: a: OverSubscribe=YES:4, up to 4 jobs share a CPU: those submitted with "
		"--oversubscribe"},
	{"etc/slurm/parts.conf", "PartitionName=a OverSubscribe=FORCE:1\n", "partition",
		"FAIL: none of 1 partitions has OverSubscribe=FORCE:N, N > 1: jobs never share a "
		"CPU -> "
		"slurm.conf: a partition for co-location, e.g. PartitionName=coloc Nodes=... "
		"OverSubscribe=FORCE:4; or select/cons_tres and coloc.yaml: envelope: node."},
	{"etc/slurm/none", "", "SelectType", "ok: select/linear: jobs share whole nodes"},
	{"etc/slurm/slurm.conf", "SelectType=select/cons_tres\n", "SelectType",
		"warn: 'select/cons_tres': a step is placed within its job's own CPUs, and never "
		"wider -> SelectType=select/linear with OverSubscribe=FORCE:N lets every job use "
		"every core of its node; otherwise coloc.yaml: envelope: node."},
	{"etc/slurm/none", "", "memory", "ok: SelectTypeParameters=CR_Memory"},
	{"etc/slurm/slurm.conf", "SelectTypeParameters=CR_CPU\n", "memory",
		"warn: SelectTypeParameters 'CR_CPU' does not count memory: jobs that share a node "
		"may ask for more "
		"than "
		"it has -> slurm.conf: SelectTypeParameters=CR_Memory (select/linear) or "
		"CR_Core_Memory, and DefMemPerNode or DefMemPerCPU."},
	{"etc/slurm/cgroup.conf", "ConstrainRAMSpace=no", "memory limit",
		"warn: ConstrainRAMSpace is 'no': one job can use up the memory of its neighbours "
		"-> "
		"cgroup.conf: ConstrainRAMSpace=yes."},
	{"etc/slurm/none", "", "billing", ""},
	{"etc/slurm/slurm.conf",
		"AccountingStorageType=accounting_storage/slurmdbd\nInclude parts.conf\n",
		"billing",
		"warn: partition main: every job is charged all that it is allocated, though it "
		"shares it -> Give the partition TRESBillingWeights that divide by the number of "
		"jobs that share a node (\"CPU=0.25\" with FORCE:4)."},
	{"etc/slurm/none", "", "plugstack.conf",
		"ok: /etc/slurm/plugstack.conf.d/coloc.conf:2: optional"},
	{"etc/slurm/plugstack.conf", "required spank_coloc.so\n", "plugstack.conf",
		"warn: /etc/slurm/plugstack.conf:1: the plugin is 'required' -> Write 'optional': "
		"if "
		"the file is ever missing, 'required' fails every job and keeps slurmd from "
		"starting."},
	{"etc/slurm/plugstack.conf", "optional other.so\n", "plugstack.conf",
		"FAIL: /etc/slurm/plugstack.conf and what it includes have no line for "
		"spank_coloc.so -> Add the line: optional spank_coloc.so default=off (on every "
		"node, and where users submit)."},
	{"etc/slurm/plugstack.conf", "# optional spank_coloc.so\n", "plugstack.conf",
		"FAIL: /etc/slurm/plugstack.conf and what it includes have no line for "
		"spank_coloc.so -> Add the line: optional spank_coloc.so default=off (on every "
		"node, and where users submit)."},
	{"etc/slurm/plugstack.conf", NULL, "plugstack.conf",
		"FAIL: /etc/slurm/plugstack.conf: No such file or directory -> Make it with the "
		"line: optional spank_coloc.so default=off"},
	{"etc/slurm/plugstack.conf", "optional /a/spank_coloc.so socket=/x\n", "plugin socket",
		"warn: the plugin talks to /x, this program to /run/coloc/colocd.sock -> Give "
		"colocd, plugstack.conf (socket=) and COLOC_SOCKET the same path."},
	{"etc/slurm/none", "", "plugin socket", ""},
	{"etc/slurm/none", "", "cgroups", "ok: v1 with cpuset and freezer"},
	{"sys/fs/cgroup/unified/cgroup.procs", "", "cgroups",
		"ok: v1 with cpuset and freezer, hybrid"},
	{"sys/fs/cgroup/cpuset/cpuset.cpus", NULL, "cgroups",
		"FAIL: neither v2 nor a v1 cpuset hierarchy at /sys/fs/cgroup -> Mount the cpuset "
		"controller, or boot with cgroup v2."},
	{"sys/fs/cgroup/cgroup.controllers", "cpuset cpu io\n", "cgroups", "ok: v2, with cpuset"},
	{"sys/fs/cgroup/cgroup.controllers", "cpusets cpu io\n", "cgroups",
		"FAIL: v2, but its root has no cpuset controller -> Boot without a v1 cpuset "
		"hierarchy (systemd.unified_cgroup_hierarchy=1) on a kernel with CONFIG_CPUSETS."},
	{"etc/slurm/none", "", "counters", "ok: the kernel has a hardware PMU"},
	{"proc/sys/kernel/perf_event_paranoid", "4\n", "perf_event",
		"warn: perf_event_paranoid is 4: only root counts -> sysctl "
		"kernel.perf_event_paranoid=2, for users who take profiles."},
	{"etc/slurm/none", "", "rivals", "ok: nobody else moves processes"},
	{"proc/77/comm", "numad\n", "rivals",
		"warn: numad runs (pid 77): it moves processes too, and does not put them back -> "
		"Stop and disable it on this node."},
};

START_TEST(tree_gives_finding_and_cure)
{
	if (TREE[_i].text)
		put(TREE[_i].path, TREE[_i].text);
	else
		ck_assert_int_eq(unlink(tmpdir_path(&tmp, TREE[_i].path)), 0);
	ck_assert_str_eq(finding(TREE[_i].name), TREE[_i].want);
}
END_TEST

START_TEST(missing_plugin_file_is_named)
{
	char want[400];

	ck_assert_int_eq(unlink(tmpdir_path(&tmp, "usr/lib64/slurm/spank_coloc.so")), 0);
	snprintf(want, sizeof(want),
		"FAIL: %s/usr/lib64/slurm/spank_coloc.so: No such file or directory -> Install the "
		"plugin there, or correct the path in plugstack.conf.",
		tmp.dir);
	ck_assert_str_eq(finding("plugin"), want);
}
END_TEST

START_TEST(missing_pmu_asks_for_profiles)
{
	unlink(tmpdir_path(&tmp, "sys/bus/event_source/devices/cpu/type"));
	rmdir(tmpdir_path(&tmp, "sys/bus/event_source/devices/cpu"));
	ck_assert_ptr_nonnull(strstr(finding("counters"), "warn: no hardware PMU"));
	check_done(&list);
	ck_assert_str_eq(finding("valgrind"),
		"warn: not found: without it and without a PMU no profile can be taken -> Install "
		"the package valgrind.");
}
END_TEST

START_TEST(silent_daemon_is_told)
{
	char want[400];

	ctl.socket = socket_path;
	snprintf(want, sizeof(want),
		"FAIL: does not answer: %s: No such file or directory -> systemctl enable --now "
		"colocd; then journalctl -u colocd if it does not stay.",
		socket_path);
	ck_assert_str_eq(finding("colocd"), want);
}
END_TEST

START_TEST(store_open_to_others_is_told)
{
	char foreign[128];

	chmod(tmpdir_path(&tmp, "var/lib/coloc"), 0755);
	snprintf(foreign, sizeof(foreign),
		"FAIL: /var/lib/coloc belongs to uid %u -> chown root: it.", geteuid());
	ck_assert_str_eq(finding("store"),
		geteuid() ? foreign
			  : "warn: /var/lib/coloc has mode 0755: it names users and their jobs -> "
			    "chmod 0700 it.");
	check_done(&list);
	chmod(tmpdir_path(&tmp, "var/lib/coloc"), 0777);
	ck_assert_str_eq(finding("store"),
		geteuid() ? foreign
			  : "FAIL: /var/lib/coloc has mode 0777: others than root may write it -> "
			    "chmod go-w it.");
}
END_TEST

START_TEST(json_has_every_finding)
{
	struct json_object *o, *findings = NULL, *ready = NULL;

	check_run(&list, &ctl, tmp.dir);
	o = check_to_json(&list);
	ck_assert(json_object_object_get_ex(o, "findings", &findings));
	ck_assert_int_eq((int)json_object_array_length(findings), list.n);
	ck_assert(json_object_object_get_ex(o, "ready", &ready));
	ck_assert(!json_object_get_boolean(ready));
	json_object_put(o);
}
END_TEST

/* slurm.conf's lines and the envelope that colocd has, by which the finding is another. */
static const struct {
	const char *select, *partitions, *envelope, *name, *want;
} ENVELOPE[] = {
	{"select/cons_tres", "PartitionName=a\n", "node", "partition",
		"ok: jobs share nodes with cores of their own; envelope: node needs no "
		"OverSubscribe=FORCE"},
	{"select/cons_tres", "PartitionName=a\n", "node", "SelectType",
		"ok: select/cons_tres with envelope: node: a step is placed on the cores of all "
		"co-located jobs"},
	{"select/cons_tres", "PartitionName=a OverSubscribe=EXCLUSIVE\nPartitionName=b\n", "node",
		"partition",
		"ok: jobs share nodes with cores of their own; envelope: node needs no "
		"OverSubscribe=FORCE"},
	{"select/cons_tres", "PartitionName=a OverSubscribe=EXCLUSIVE\n", "node", "partition",
		"FAIL: each of 1 partitions is EXCLUSIVE: jobs never share a node -> slurm.conf: "
		"a partition without OverSubscribe=EXCLUSIVE."},
	{"select/cons_tres", "PartitionName=a\n", "allocation", "partition",
		"FAIL: none of 1 partitions has OverSubscribe=FORCE:N, N > 1: jobs never share a "
		"CPU -> "
		"slurm.conf: a partition for co-location, e.g. PartitionName=coloc Nodes=... "
		"OverSubscribe=FORCE:4; or select/cons_tres and coloc.yaml: envelope: node."},
	{"select/linear", "PartitionName=a\n", "node", "partition",
		"FAIL: none of 1 partitions has OverSubscribe=FORCE:N, N > 1: jobs never share a "
		"CPU -> "
		"slurm.conf: a partition for co-location, e.g. PartitionName=coloc Nodes=... "
		"OverSubscribe=FORCE:4; or select/cons_tres and coloc.yaml: envelope: node."},
};

START_TEST(envelope_decides_whether_jobs_share)
{
	struct check_env e = {.ctl = &ctl, .tree = tmp.dir, .root = {.fd = -1}};
	struct errbuf err = {""};
	char text[256];

	snprintf(text, sizeof(text), "SelectType=%s\nInclude parts.conf\n", ENVELOPE[_i].select);
	put("etc/slurm/slurm.conf", text);
	put("etc/slurm/parts.conf", ENVELOPE[_i].partitions);
	ck_assert_int_eq(slurm_conf_load(&e.slurm, tmp.dir, 200, &err), 0);
	e.status = json_object_new_object();
	json_object_object_add(e.status, "envelope", json_object_new_string(ENVELOPE[_i].envelope));
	check_slurm(&list, &e);
	ck_assert_str_eq(found(ENVELOPE[_i].name), ENVELOPE[_i].want);
	json_object_put(e.status);
	slurm_conf_free(e.slurm);
}
END_TEST

#define NONE_SHARES(n)                                                                             \
	"FAIL: none of " n                                                                         \
	" partitions has OverSubscribe=FORCE:N, N > 1: jobs never share a CPU -> "                 \
	"slurm.conf: a partition for co-location, e.g. PartitionName=coloc Nodes=... "             \
	"OverSubscribe=FORCE:4; or select/cons_tres and coloc.yaml: envelope: node."
#define IN_TURNS(name, share, mode)                                                                \
	"FAIL: " name ": OverSubscribe=" share ", but PreemptMode=" mode                           \
	": Slurm's own gang runs jobs on a CPU in turns, never beside one another -> slurm.conf: " \
	"PreemptMode without GANG (OFF, CANCEL, REQUEUE); restart slurmctld."
#define REFUSED " -> Put it right: slurmctld and slurmd do not start with such a file."

/* What slurmctld 22.05 makes of such a file, but for what it refuses. */
static const struct {
	const char *slurm, *parts, *name, *want;
} WRITTEN[] = {
	/* blanks, quotes, signs, letters, comments */
	{"TaskPlugin = task/affinity,task/cgroup\n", "", "TaskPlugin",
		"ok: task/affinity,task/cgroup"},
	{"  TASKPLUGIN\t=\ttask/affinity,task/cgroup # both\r\n", "", "TaskPlugin",
		"ok: task/affinity,task/cgroup"},
	{"TaskPlugin=\"task/affinity,task/cgroup\"\n", "", "TaskPlugin",
		"ok: task/affinity,task/cgroup"},
	{"#TaskPlugin = x\nTaskPlugin= task/affinity,task/cgroup", "", "TaskPlugin",
		"ok: task/affinity,task/cgroup"},
	{"ProctrackType\\\n = \\  \nproctrack/linuxproc\n", "", "ProctrackType",
		"FAIL: 'proctrack/linuxproc': a step's processes cannot be told by their cgroup -> "
		"slurm.conf: ProctrackType=proctrack/cgroup; restart slurmctld and slurmd when no "
		"job runs."},
	{"# a comment does not go on \\\nSelectType=select/linear\n", "", "SelectType",
		"ok: select/linear: jobs share whole nodes"},
	/* the last value is in force, wherever it is written */
	{"TaskPlugin=task/none\nTaskPlugin=task/cgroup,task/affinity\n", "", "TaskPlugin",
		"ok: task/cgroup,task/affinity"},
	{"TaskPlugin=task/none\nInclude parts.conf\n", "TaskPlugin=task/cgroup,task/affinity\n",
		"TaskPlugin", "ok: task/cgroup,task/affinity"},
	{"TaskPlugin=task/cgroup,task/affinity\ninclude /etc/slurm/parts.conf\n"
	 "TaskPlugin=task/affinity\n",
		"TaskPlugin=task/none\n", "TaskPlugin",
		"FAIL: 'task/affinity' has no task/cgroup: steps get no cpuset of their own -> "
		"slurm.conf: TaskPlugin=task/cgroup,task/affinity; restart slurmctld and slurmd."},
	/* what is included: by the cluster's name, or not there */
	{"ClusterName=PARTS\nInclude %c.conf\n", "SelectType=select/linear\n", "SelectType",
		"ok: select/linear: jobs share whole nodes"},
	{"Include /etc/slurm/none.conf\n", "", "slurm.conf",
		"ok: read from /etc/slurm/slurm.conf\nwarn: /etc/slurm/slurm.conf includes "
		"/etc/slurm/none.conf: No such file or directory" REFUSED},
	{"Include %c.conf\nClusterName=parts\n", "", "slurm.conf",
		"ok: read from /etc/slurm/slurm.conf\nwarn: /etc/slurm/slurm.conf includes "
		"'%c.conf' before it says ClusterName" REFUSED},
	{"Include parts.conf\n", "Include sub/none.conf\n", "slurm.conf",
		"ok: read from /etc/slurm/slurm.conf\nwarn: /etc/slurm/parts.conf includes "
		"/etc/slurm/sub/none.conf: No such file or directory" REFUSED},
	{"Include parts.conf\n", "Include slurm.conf\n", "slurm.conf",
		"ok: read from /etc/slurm/slurm.conf\nwarn: /etc/slurm/slurm.conf includes "
		"'parts.conf': too many files are included" REFUSED},
	/* DEFAULT is for those behind it, and is no partition */
	{"", "PartitionName=DEFAULT OverSubscribe=FORCE:1\nPartitionName=a\nPartitionName=b\n",
		"partition", NONE_SHARES("2")},
	{"", "PartitionName=DEFAULT AllocNodes=x State=UP\nPartitionName=DEBUG Nodes=n1\n",
		"partition", NONE_SHARES("1")},
	{"", "PartitionName=default Shared=FORCE:4\nPartitionName=a\nPartitionName=b Shared=NO\n",
		"partition", "ok: a: OverSubscribe=FORCE:4, up to 4 jobs share a CPU"},
	{"", "PartitionName=a\nPartitionName=DEFAULT OverSubscribe=FORCE:4\nPartitionName=b\n",
		"partition", "ok: b: OverSubscribe=FORCE:4, up to 4 jobs share a CPU"},
	{"",
		"PartitionName=DEFAULT OverSubscribe=FORCE:4\nPartitionName=DEFAULT MaxTime=1\n"
		"PartitionName=DEFAULT MaxTime=2\nPartitionName=b\n",
		"partition", "ok: b: OverSubscribe=FORCE:4, up to 4 jobs share a CPU"},
	/* a name twice is an error of Slurm's own */
	{"", "PartitionName=a OverSubscribe=FORCE:4\nPartitionName=a Nodes=x\nPartitionName=A\n",
		"partition",
		"ok: a: OverSubscribe=FORCE:4, up to 4 jobs share a CPU\nFAIL: a: a second line of "
		"that PartitionName, with which slurmctld does not start -> slurm.conf: one line "
		"for each."},
	{"", "PartitionName=DEFAULT OverSubscribe=FORCE\nPartitionName=b Shared=NO\n", "partition",
		"ok: b: OverSubscribe=FORCE, up to 4 jobs share a CPU"},
	{"AccountingStorageType=accounting_storage/slurmdbd\n",
		"PartitionName=DEFAULT TRESBillingWeights=\"CPU=0.25\"\nPartitionName=b "
		"OverSubscribe=FORCE:4\n",
		"billing", "ok: partition b: TRESBillingWeights=CPU=0.25"},
	/* OverSubscribe in each spelling */
	{"", "PartitionName = a Nodes = x \\\n  OverSubscribe = \"yes:2\" State=UP\n", "partition",
		"ok: a: OverSubscribe=yes:2, up to 2 jobs share a CPU: those submitted with "
		"--oversubscribe"},
	{"", "PartitionName=a OverSubscribe=YES\n", "partition",
		"ok: a: OverSubscribe=YES, up to 4 jobs share a CPU: those submitted with "
		"--oversubscribe"},
	{"", "PartitionName=a OverSubscribe=FORCE:0\nPartitionName=b OverSubscribe=YES:-3\n",
		"partition", NONE_SHARES("2")},
	{"", "PartitionName=DEFAULT OverSubscribe=EXCLUSIVE\nPartitionName=a\nPartitionName=b\n",
		"partition",
		"FAIL: each of 2 partitions is EXCLUSIVE: jobs never share a node -> slurm.conf: "
		"a partition without OverSubscribe=EXCLUSIVE."},
	/* Slurm's own gang */
	{"PreemptMode=GANG\n", "PartitionName=a OverSubscribe=FORCE:6\n", "partition",
		IN_TURNS("a", "FORCE:6", "GANG")},
	{"PreemptMode=suspend,gang\n", "PartitionName=a OverSubscribe=YES:2\n", "partition",
		IN_TURNS("a", "YES:2", "suspend,gang")},
	{"PreemptMode=suspend,gang\n", "PartitionName=a OverSubscribe=FORCE:1\n", "partition",
		NONE_SHARES("1")},
	{"PreemptMode=GANG\nSchedulerTimeSlice = 5\n", "", "PreemptMode",
		"ok: GANG: Slurm has jobs on a CPU take turns of 5 s; Coloc's placement and turns "
		"are among those that Slurm runs, who is stopped competes for nothing"},
	{"PreemptMode=suspend,Gang\n", "", "PreemptMode",
		"ok: suspend,Gang: Slurm has jobs on a CPU take turns of 30 s; Coloc's placement "
		"and turns are among those that Slurm runs, who is stopped competes for nothing"},
	{"PreemptMode=SUSPEND\n", "", "PreemptMode",
		"ok: SUSPEND: who is suspended competes for nothing; his cores are the others'"},
	{"PreemptMode=CANCEL\n", "", "PreemptMode", ""},
	{"PreemptMode=REQUEUE\n", "PartitionName=a OverSubscribe=FORCE:6\n", "partition",
		"ok: a: OverSubscribe=FORCE:6, up to 6 jobs share a CPU"},
};

START_TEST(slurm_conf_is_read_as_slurm_reads_it)
{
	char text[600];

	snprintf(text, sizeof(text), "%s%s", WRITTEN[_i].slurm,
		strcasestr(WRITTEN[_i].slurm, "include") ? "" : "\nInclude parts.conf\n");
	put("etc/slurm/slurm.conf", text);
	put("etc/slurm/parts.conf", WRITTEN[_i].parts);
	ck_assert_str_eq(finding(WRITTEN[_i].name), WRITTEN[_i].want);
}
END_TEST

static const struct {
	const char *value;
	bool yes;
} BOOLEAN[] = {
	{"yes", true},
	{"YES", true},
	{"up", true},
	{"True", true},
	{"1", true},
	{"no", false},
	{"down", false},
	{"FALSE", false},
	{"0", false},
	{"2", false},
	{"\"\"", false},
};

START_TEST(boolean_has_every_spelling)
{
	char text[80];

	snprintf(text, sizeof(text), "ConstrainCores = no\nConstrainCores = %s\n",
		BOOLEAN[_i].value);
	put("etc/slurm/cgroup.conf", text);
	ck_assert_int_eq(strcmp(finding("ConstrainCores"), "ok: yes") == 0, (int)BOOLEAN[_i].yes);
}
END_TEST

/* Slurm's release, what is written, the finding. */
static const struct {
	int release;
	const char *slurm, *name, *want;
} RELEASE[] = {
	{2205, "", "SelectType",
		"ok: select/linear (default of Slurm 22.05): jobs share whole nodes"},
	{2302, "", "SelectType",
		"ok: select/linear (default of Slurm 23.02): jobs share whole nodes"},
	{2311, "", "SelectType",
		"warn: 'select/cons_tres' (default of Slurm 23.11): a step is placed within its "
		"job's own CPUs, and never wider -> SelectType=select/linear with "
		"OverSubscribe=FORCE:N lets every job use every core of its node; otherwise "
		"coloc.yaml: envelope: node."},
	{2605, "SelectType=select/linear\n", "SelectType",
		"ok: select/linear: jobs share whole nodes"},
	{0, "", "SelectType",
		"warn: 'not set': a step is placed within its job's own CPUs, and never wider -> "
		"SelectType=select/linear with OverSubscribe=FORCE:N lets every job use every core "
		"of its node; otherwise coloc.yaml: envelope: node."},
	{2405, "", "memory", "ok: SelectTypeParameters=CR_Core_Memory (default of Slurm 24.05)"},
	{2311, "", "memory",
		"warn: SelectTypeParameters '' does not count memory: jobs that share a node may "
		"ask for more than it "
		"has -> slurm.conf: SelectTypeParameters=CR_Memory (select/linear) or "
		"CR_Core_Memory, and DefMemPerNode or DefMemPerCPU."},
};

START_TEST(default_is_that_of_the_release)
{
	struct check_env e = {.ctl = &ctl, .tree = tmp.dir, .root = {.fd = -1}};
	struct errbuf err = {""};

	put("etc/slurm/slurm.conf", RELEASE[_i].slurm);
	ck_assert_int_eq(slurm_conf_load(&e.slurm, tmp.dir, 200, &err), 0);
	e.slurm->release = RELEASE[_i].release;
	check_slurm(&list, &e);
	ck_assert_str_eq(found(RELEASE[_i].name), RELEASE[_i].want);
	slurm_conf_free(e.slurm);
}
END_TEST

/* Two findings each: more than any fixed table that was thought large. */
START_TEST(no_finding_is_dropped)
{
	enum { PARTITIONS = 200 };
	char text[PARTITIONS * 64] = "AccountingStorageType=accounting_storage/slurmdbd\n";
	int billing = 0, service = 0;

	for (int i = 0; i < PARTITIONS; i++)
		sprintf(text + strlen(text), "PartitionName=p%d OverSubscribe=FORCE:2\n", i);
	put("etc/slurm/slurm.conf", text);
	ctl.socket = socket_path;
	check_run(&list, &ctl, tmp.dir);
	for (int i = 0; i < list.n; i++) {
		billing += strcmp(list.finding[i].name, "billing") == 0;
		service += strcmp(list.finding[i].name, "colocd") == 0;
	}
	ck_assert_int_eq(billing, PARTITIONS);
	ck_assert_int_eq(service, 1);
	ck_assert(check_has_failed(&list));
}
END_TEST

START_TEST(finding_that_is_lost_makes_the_node_not_ready)
{
	static struct check_list l = {.n_lost = 3};
	struct json_object *o = check_to_json(&l), *ready = NULL, *lost = NULL;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	ck_assert(check_has_failed(&l));
	ck_assert(json_object_object_get_ex(o, "ready", &ready));
	ck_assert(!json_object_get_boolean(ready));
	ck_assert(json_object_object_get_ex(o, "lost", &lost));
	ck_assert_int_eq(json_object_get_int(lost), 3);
	json_object_put(o);
	ck_assert_ptr_nonnull(f);
	check_print_total(&l, f);
	fclose(f);
	ck_assert_str_eq(text, "0 ok, 0 warnings, 0 failures; not ready: 3 more findings, for "
			       "which memory is short\n");
	free(text);
}
END_TEST

START_TEST(last_line_that_goes_on_is_read)
{
	struct slurm_conf *c = NULL;
	struct errbuf err = {""};

	put("etc/slurm/slurm.conf", "SelectType=\\\nselect/linear\nProctrackType=proctrack/cgroup "
				    "\\\nTaskPlugin=task/cgroup\\");
	ck_assert_int_eq(slurm_conf_load(&c, tmp.dir, 200, &err), 0);
	ck_assert_str_eq(slurm_conf_get(c, "SelectType"), "select/linear");
	ck_assert_str_eq(slurm_conf_get(c, "ProctrackType"), "proctrack/cgroup");
	ck_assert_str_eq(slurm_conf_get(c, "TaskPlugin"), "task/cgroup");
	slurm_conf_free(c);
}
END_TEST

/* A program of that name on PATH that does @script. */
static void stand_in(const char *name, const char *script)
{
	static char path[512];
	char file[64], text[512];

	snprintf(file, sizeof(file), "bin/%s", name);
	snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", script);
	put(file, text);
	ck_assert_int_eq(chmod(tmpdir_path(&tmp, file), 0755), 0);
	snprintf(path, sizeof(path), "%s/bin:/usr/bin:/bin", tmp.dir);
	ck_assert_int_eq(setenv("PATH", path, 1), 0);
}

/* slurm_conf_load() of this machine whose slurm.conf is the tree's. */
static struct slurm_conf *load_here(int timeout_ms)
{
	struct slurm_conf *c = NULL;
	struct errbuf err = {""};

	ck_assert_int_eq(setenv("SLURM_CONF", tmpdir_path(&tmp, "etc/slurm/slurm.conf"), 1), 0);
	ck_assert_msg(slurm_conf_load(&c, "", timeout_ms, &err) == 0, "%s", err.text);
	return c;
}

START_TEST(silent_controller_is_left_after_its_time)
{
	int64_t start = ipc_now_ns();
	struct check_env e = {.ctl = &ctl, .tree = "", .root = {.fd = -1}};

	/* The child of the child holds the output open. */
	stand_in("scontrol", "echo TaskPlugin=none; sleep 600 & wait");
	e.slurm = load_here(200);
	/* It is asked twice: for its configuration, and for its release. */
	ck_assert_int_lt((int)((ipc_now_ns() - start) / 1000000), 5 * 2 * 200);
	check_slurm(&list, &e);
	ck_assert_str_eq(found("slurmctld"),
		"warn: no answer within 0.2 s -> See scontrol ping; what follows is read from "
		"files, which may differ.");
	ck_assert_str_eq(found("TaskPlugin"), "ok: task/cgroup,task/affinity");
	slurm_conf_free(e.slurm);
}
END_TEST

/* What the file says is of no account: it may be another node's, or newer than slurmctld. */
START_TEST(controller_that_answers_is_believed)
{
	struct check_env e = {.ctl = &ctl, .tree = "", .root = {.fd = -1}};

	stand_in("scontrol",
		"[ \"$*\" = '-a -o show partition' ] && exec echo 'PartitionName=real "
		"AllowGroups=ALL OverSubscribe=FORCE:3 PreemptMode=OFF TRESBillingWeights=(null)'\n"
		"for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do\n"
		"  echo \"Key$i                    = value with blanks\"\ndone\n"
		"echo 'SLURM_VERSION           = 24.11.5'\n"
		"echo 'TaskPlugin              = task/affinity'\n"
		"echo 'SelectType              = select/linear'\n"
		"echo 'ConstrainCores          = yes'");
	e.slurm = load_here(20000);
	check_slurm(&list, &e);
	ck_assert_str_eq(found("slurm.conf"), "ok: read from scontrol show config");
	ck_assert_str_eq(found("partition"), "ok: real: OverSubscribe=FORCE:3, up to 3 jobs share "
					     "a CPU");
	ck_assert_str_eq(found("TaskPlugin"),
		"FAIL: 'task/affinity' has no task/cgroup: steps get no cpuset of their own -> "
		"slurm.conf: TaskPlugin=task/cgroup,task/affinity; restart slurmctld and slurmd.");
	ck_assert_int_eq(e.slurm->release, 2411);
	slurm_conf_free(e.slurm);
}
END_TEST

/* Slurm's Debian package says it in another way than Slurm. */
static const struct {
	const char *said;
	int release;
} VERSION[] = {{"slurm 23.02.4", 2302}, {"slurm-wlm 22.05.8", 2205}};

START_TEST(release_of_a_file_is_that_of_scontrol)
{
	struct slurm_conf *c;
	char script[128];

	snprintf(script, sizeof(script), "[ \"$1\" = --version ] || exit 1; echo %s",
		VERSION[_i].said);
	stand_in("scontrol", script);
	c = load_here(20000);
	ck_assert_int_eq(c->release, VERSION[_i].release);
	slurm_conf_free(c);
}
END_TEST

START_TEST(refusing_controller_is_quoted)
{
	struct slurm_conf *c;

	stand_in("scontrol",
		"echo 'slurm_load_ctl_conf error: Unable to contact slurm controller' >&2; exit 1");
	c = load_here(5000);
	ck_assert_str_eq(
		c->controller, "slurm_load_ctl_conf error: Unable to contact slurm controller");
	slurm_conf_free(c);
}
END_TEST

START_TEST(what_is_waited_for_is_said_while_waiting)
{
	static const char *const WANT = "colocctl: waiting for scontrol show config (up to 20 s)\n";
	struct slurm_conf *c;
	char text[256] = "";
	FILE *f;

	/* It ends once it has been announced. */
	stand_in("scontrol", "until grep -q waiting \"$0.err\"; do sleep 0.05; done; exit 4");
	ck_assert_ptr_nonnull(freopen(tmpdir_path(&tmp, "bin/scontrol.err"), "w", stderr));
	setvbuf(stderr, NULL, _IONBF, 0);
	c = load_here(20000);
	ck_assert_str_eq(c->controller, "scontrol ended with status 4");
	slurm_conf_free(c);
	f = fopen(tmpdir_path(&tmp, "bin/scontrol.err"), "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(fgets(text, sizeof(text), f));
	fclose(f);
	ck_assert_str_eq(text, WANT);
}
END_TEST

START_TEST(findings_are_printed_as_they_are_made)
{
	static struct check_list l;
	char *text = NULL;
	size_t size;

	l.out = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(l.out);
	check_add(&l, CHECK_WARN, "name", "The cure.", "finding %d", 7);
	ck_assert_str_eq(
		text, "warn  name             finding 7\n                        -> The cure.\n");
	fclose(l.out);
	free(text);
	check_done(&l);
}
END_TEST

static const struct {
	const char *script, *want;
	int status;
} CAPTURE[] = {
	{"echo out; echo err >&2", "out\nerr\n", 0},
	{"echo x; exit 3", "x\n", 3},
	{"exec >&- 2>&-; exit 5", "", 5}, /* ends after its output does */
	{"kill -KILL $$", "", -EINTR},
};

START_TEST(capture_keeps_output_and_status)
{
	char sh[] = "sh", c[] = "-c", *argv[] = {sh, c, (char *)CAPTURE[_i].script, NULL};
	char *text = NULL;
	int status = capture(argv, 30000, &text);

	ck_assert_str_eq(text, CAPTURE[_i].want);
	ck_assert_int_eq(status, CAPTURE[_i].status);
	free(text);
}
END_TEST

START_TEST(capture_of_no_program_says_so)
{
	char none[] = "coloc-no-such-program", *argv[] = {none, NULL}, *text = NULL;

	ck_assert_int_eq(capture(argv, 30000, &text), CAPTURE_NO_PROGRAM);
	ck_assert_str_eq(text, "");
	free(text);
}
END_TEST

#define COUNT(a) (int)(sizeof(a) / sizeof((a)[0]))

static TCase *tcase(Suite *s, const char *name)
{
	TCase *t = tcase_create(name);

	tcase_add_checked_fixture(t, setup, teardown);
	suite_add_tcase(s, t);
	return t;
}

int main(void)
{
	Suite *s = suite_create("check");
	SRunner *r;
	TCase *t;
	int failed;

	t = tcase(s, "a good node fails for nothing but what is missing");
	tcase_add_test(t, good_tree_fails_for_the_daemon_only);
	tcase_add_test(t, json_has_every_finding);
	t = tcase(s, "every finding comes with its cure");
	tcase_add_loop_test(t, tree_gives_finding_and_cure, 0, COUNT(TREE));
	tcase_add_test(t, missing_plugin_file_is_named);
	tcase_add_test(t, missing_pmu_asks_for_profiles);
	tcase_add_test(t, silent_daemon_is_told);
	tcase_add_test(t, store_open_to_others_is_told);
	t = tcase(s, "envelope: node needs no partition with FORCE");
	tcase_add_loop_test(t, envelope_decides_whether_jobs_share, 0, COUNT(ENVELOPE));
	t = tcase(s, "slurm.conf is read as Slurm reads it");
	tcase_add_loop_test(t, slurm_conf_is_read_as_slurm_reads_it, 0, COUNT(WRITTEN));
	tcase_add_loop_test(t, boolean_has_every_spelling, 0, COUNT(BOOLEAN));
	tcase_add_loop_test(t, default_is_that_of_the_release, 0, COUNT(RELEASE));
	tcase_add_test(t, last_line_that_goes_on_is_read);
	t = tcase(s, "no finding is dropped unsaid");
	tcase_add_test(t, no_finding_is_dropped);
	tcase_add_test(t, finding_that_is_lost_makes_the_node_not_ready);
	t = tcase(s, "slurmctld's configuration is asked where it answers");
	tcase_add_test(t, controller_that_answers_is_believed);
	tcase_add_loop_test(t, release_of_a_file_is_that_of_scontrol, 0, COUNT(VERSION));
	t = tcase(s, "a controller that is away holds nobody up for long");
	tcase_add_test(t, silent_controller_is_left_after_its_time);
	tcase_add_test(t, refusing_controller_is_quoted);
	tcase_set_timeout(t, 30);
	tcase_add_test(t, what_is_waited_for_is_said_while_waiting);
	tcase_add_test(t, findings_are_printed_as_they_are_made);
	t = tcase(s, "a program's output is kept, with its status");
	tcase_add_loop_test(t, capture_keeps_output_and_status, 0, COUNT(CAPTURE));
	tcase_add_test(t, capture_of_no_program_says_so);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
