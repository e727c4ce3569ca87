/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_slurm.c - slurm.conf and cgroup.conf: what placement needs, and what sharing nodes means
 * for memory and billing.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "nodesvc/ctl/check.h"
#include "nodesvc/ctl/show.h"

static const char *get(const struct check_env *e, const char *key)
{
	const char *value = slurm_conf_get(e->slurm, key);

	return value ? value : "";
}

static void task_plugin(struct check_list *l, const struct check_env *e)
{
	const char *value = get(e, "TaskPlugin");

	if (!slurm_conf_lists(value, "task/cgroup") && !slurm_conf_lists(value, "cgroup"))
		check_add(l, CHECK_FAIL, "TaskPlugin",
			"slurm.conf: TaskPlugin=task/cgroup,task/affinity; restart slurmctld and "
			"slurmd.",
			"'%s' has no task/cgroup: steps get no cpuset of their own", value);
	else if (!slurm_conf_lists(value, "task/affinity") && !slurm_conf_lists(value, "affinity"))
		check_add(l, CHECK_WARN, "TaskPlugin",
			"slurm.conf: TaskPlugin=task/cgroup,task/affinity, so that --cpu-bind "
			"works "
			"for those who want to bind themselves.",
			"'%s' has no task/affinity", value);
	else
		check_ok(l, "TaskPlugin", "%s", value);
}

static void proctrack(struct check_list *l, const struct check_env *e)
{
	const char *value = get(e, "ProctrackType");

	/* Left out, it is proctrack/cgroup. */
	if (*value && strcasecmp(value, "proctrack/cgroup") != 0)
		check_add(l, CHECK_FAIL, "ProctrackType",
			"slurm.conf: ProctrackType=proctrack/cgroup; restart slurmctld and slurmd "
			"when no job runs.",
			"'%s': a step's processes cannot be told by their cgroup", value);
	else
		check_ok(l, "ProctrackType", "%s", *value ? value : "proctrack/cgroup (default)");
}

static void constrain_cores(struct check_list *l, const struct check_env *e)
{
	const char *value = get(e, "ConstrainCores");

	if (strcasecmp(value, "yes") != 0)
		check_add(l, CHECK_FAIL, "ConstrainCores",
			"cgroup.conf: ConstrainCores=yes; restart slurmd.",
			"'%s': Slurm makes no cpusets, so there is nothing to rebind",
			*value ? value : "no (default)");
	else
		check_ok(l, "ConstrainCores", "yes");
}

/* N of FORCE:N, 4 being Slurm's default; 0: not FORCE. */
static int forced(const char *value)
{
	if (strncasecmp(value, "FORCE", 5) != 0)
		return 0;
	return value[5] == ':' ? atoi(value + 6) : 4;
}

static void billing(
	struct check_list *l, const struct check_env *e, const char *line, const char *partition)
{
	char weights[256];

	slurm_partition_get(line, "TRESBillingWeights", weights, sizeof(weights));
	if (strstr(get(e, "AccountingStorageType"), "slurmdbd") == NULL)
		return;
	if (*weights && strcasecmp(weights, "(null)") != 0)
		check_ok(l, "billing", "partition %s: TRESBillingWeights=%s", partition, weights);
	else
		check_add(l, CHECK_WARN, "billing",
			"Give the partition TRESBillingWeights that divide by the number of jobs "
			"that share a node (\"CPU=0.25\" with FORCE:4).",
			"partition %s: every job is charged all that it is allocated, though it "
			"shares it",
			partition);
}

/*
 * Under `envelope: node' steps get one another's cores, so it is enough that jobs are on the node
 * together: each with cores of its own, of which select/linear knows nothing.
 */
static bool is_shared_without_force(const struct check_env *e)
{
	return strcmp(show_text(e->status, "envelope"), "node") == 0 &&
	       strncasecmp(get(e, "SelectType"), "select/cons_", 12) == 0;
}

static void no_forced_partition(struct check_list *l, const struct check_env *e, int exclusive)
{
	if (is_shared_without_force(e) && exclusive < e->slurm->n_partitions)
		check_ok(l, "partition",
			"jobs share nodes with cores of their own; envelope: node needs no "
			"OverSubscribe=FORCE");
	else if (is_shared_without_force(e))
		check_add(l, CHECK_FAIL, "partition",
			"slurm.conf: a partition without OverSubscribe=EXCLUSIVE.",
			"each of %d partitions is EXCLUSIVE: jobs never share a node",
			e->slurm->n_partitions);
	else
		check_add(l, CHECK_FAIL, "partition",
			"slurm.conf: a partition for co-location, e.g. PartitionName=coloc "
			"Nodes=... "
			"OverSubscribe=FORCE:4; or select/cons_tres and coloc.yaml: envelope: "
			"node.",
			"none of %d partitions has OverSubscribe=FORCE:N: jobs never share a CPU",
			e->slurm->n_partitions);
}

static void partitions(struct check_list *l, const struct check_env *e)
{
	int found = 0, exclusive = 0;

	for (int i = 0; i < e->slurm->n_partitions; i++) {
		const char *line = e->slurm->partition[i];
		char name[128], share[64];
		int n;

		slurm_partition_get(line, "PartitionName", name, sizeof(name));
		slurm_partition_get(line, "OverSubscribe", share, sizeof(share));
		if (!*share)
			slurm_partition_get(
				line, "Shared", share, sizeof(share)); /* before 16.05 */
		exclusive += strncasecmp(share, "EXCLUSIVE", 9) == 0;
		n = forced(share);
		if (n < 2)
			continue;
		found++;
		check_ok(l, "partition", "%s: OverSubscribe=%s, up to %d jobs share a CPU", name,
			share, n);
		billing(l, e, line, name);
	}
	if (!found)
		no_forced_partition(l, e, exclusive);
}

static void select_type(struct check_list *l, const struct check_env *e)
{
	const char *value = get(e, "SelectType");

	if (strcasecmp(value, "select/linear") == 0)
		check_ok(l, "SelectType", "select/linear: jobs share whole nodes");
	else if (is_shared_without_force(e))
		check_ok(l, "SelectType",
			"%s with envelope: node: a step is placed on the cores of all co-located "
			"jobs",
			value);
	else
		check_add(l, CHECK_WARN, "SelectType",
			"SelectType=select/linear with OverSubscribe=FORCE:N lets every job use "
			"every core of its node; otherwise coloc.yaml: envelope: node.",
			"'%s': a step is placed within its job's own CPUs, and never wider",
			*value ? value : "not set");
}

static void memory(struct check_list *l, const struct check_env *e)
{
	const char *params = get(e, "SelectTypeParameters");
	const char *ram = get(e, "ConstrainRAMSpace");

	if (strcasestr(params, "MEMORY"))
		check_ok(l, "memory", "SelectTypeParameters=%s", params);
	else
		check_add(l, CHECK_WARN, "memory",
			"slurm.conf: SelectTypeParameters=CR_Memory (select/linear) or "
			"CR_Core_Memory, and DefMemPerNode or DefMemPerCPU.",
			"'%s' does not count memory: jobs that share a node may ask for more than "
			"it has",
			params);
	if (strcasecmp(ram, "yes") == 0)
		check_ok(l, "memory limit", "ConstrainRAMSpace=yes");
	else
		check_add(l, CHECK_WARN, "memory limit", "cgroup.conf: ConstrainRAMSpace=yes.",
			"ConstrainRAMSpace is '%s': one job can use up the memory of its "
			"neighbours",
			*ram ? ram : "no (default)");
}

void check_slurm(struct check_list *l, const struct check_env *e)
{
	if (!e->slurm) {
		check_add(l, CHECK_FAIL, "slurm.conf",
			"Set SLURM_CONF, or run this where slurmd runs.", "%s", e->slurm_error);
		return;
	}
	if (*e->slurm->controller)
		check_add(l, CHECK_WARN, "slurmctld",
			"See scontrol ping; what follows is read from files, which may differ.",
			"%s", e->slurm->controller);
	check_ok(l, "slurm.conf", "read from %s", e->slurm->source);
	task_plugin(l, e);
	proctrack(l, e);
	constrain_cores(l, e);
	partitions(l, e);
	select_type(l, e);
	memory(l, e);
}
