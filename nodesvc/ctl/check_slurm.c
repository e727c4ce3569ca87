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
#include "nodesvc/ctl/ctl.h"

static const char *get(const struct check_env *e, const char *key)
{
	const char *value = slurm_conf_get(e->slurm, key);

	return value ? value : "";
}

/* What is in force where slurm.conf does not say it; "" depends on the release, unknown here. */
static const char *select_type_in_force(const struct check_env *e)
{
	const char *value = get(e, "SelectType");

	if (*value || !e->slurm->release)
		return value;
	return e->slurm->release >= 2311 ? "select/cons_tres" : "select/linear";
}

/* " (default of Slurm 22.05)" where slurm.conf does not say it. */
static const char *by_default(const struct check_env *e, const char *key, char *buf, size_t size)
{
	*buf = '\0';
	if (!*get(e, key))
		snprintf(buf, size, " (default of Slurm %02d.%02d)", e->slurm->release / 100,
			e->slurm->release % 100);
	return buf;
}

static void task_plugin(struct check_list *l, const struct check_env *e)
{
	const char *value = get(e, "TaskPlugin");

	if (!slurm_conf_lists(value, "task/cgroup") && !slurm_conf_lists(value, "cgroup"))
		check_add(l, CHECK_FAIL, "TaskPlugin",
			"slurm.conf: TaskPlugin=task/cgroup,task/affinity; restart slurmctld and "
			"slurmd.",
			"'%s' has no task/cgroup: steps get no cpuset of their own",
			*value ? value : "task/none (default)");
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

	if (!slurm_conf_is_yes(value))
		check_add(l, CHECK_FAIL, "ConstrainCores",
			"cgroup.conf: ConstrainCores=yes; restart slurmd.",
			"'%s': Slurm makes no cpusets, so there is nothing to rebind",
			*value ? value : "no (default)");
	else
		check_ok(l, "ConstrainCores", "yes");
}

/* Who may be on one CPU of a partition: OverSubscribe, as slurmctld understands it. */
struct share {
	int jobs; /* 0 EXCLUSIVE, 1 nobody beside another */
	bool forced;
	const char *value; /* as written */
};

static struct share share_of(const struct slurm_pairs *partition)
{
	const char *value = slurm_pairs_get(partition, "OverSubscribe");
	struct share s = {.jobs = 1};

	if (!value)
		value = slurm_pairs_get(partition, "Shared"); /* before 16.05 */
	s.value = value ? value : "NO";
	s.forced = strncasecmp(s.value, "FORCE", 5) == 0;
	if (strcasecmp(s.value, "EXCLUSIVE") == 0)
		s.jobs = 0;
	else if (strcasecmp(s.value, "YES") == 0 || strcasecmp(s.value, "FORCE") == 0)
		s.jobs = 4;
	else if (s.forced && s.value[5] == ':')
		s.jobs = atoi(s.value + 6);
	else if (strncasecmp(s.value, "YES:", 4) == 0)
		s.jobs = atoi(s.value + 4);
	else
		return s;
	if (s.jobs < 0 || (s.jobs == 0 && strchr(s.value, ':')))
		s.jobs = 1; /* slurmctld complains, and takes NO */
	return s;
}

static void billing(struct check_list *l, const struct check_env *e,
	const struct slurm_pairs *partition, const char *name)
{
	const char *weights = slurm_pairs_get(partition, "TRESBillingWeights");

	if (strstr(get(e, "AccountingStorageType"), "slurmdbd") == NULL)
		return;
	if (weights && strcasecmp(weights, "(null)") != 0)
		check_ok(l, "billing", "partition %s: TRESBillingWeights=%s", name, weights);
	else
		check_add(l, CHECK_WARN, "billing",
			"Give the partition TRESBillingWeights that divide by the number of jobs "
			"that share a node (\"CPU=0.25\" with FORCE:4).",
			"partition %s: every job is charged all that it is allocated, though it "
			"shares it",
			name);
}

/*
 * Under `envelope: node' steps get one another's cores, so it is enough that jobs are on the node
 * together: each with cores of its own, of which select/linear knows nothing.
 */
static bool is_shared_without_force(const struct check_env *e)
{
	return strcmp(show_text(e->status, "envelope"), "node") == 0 &&
	       strncasecmp(select_type_in_force(e), "select/cons_", 12) == 0;
}

static void no_forced_partition(struct check_list *l, const struct check_env *e, int exclusive)
{
	if (exclusive == e->slurm->n_partitions && exclusive > 0)
		check_add(l, CHECK_FAIL, "partition",
			"slurm.conf: a partition without OverSubscribe=EXCLUSIVE.",
			"each of %d partitions is EXCLUSIVE: jobs never share a node",
			e->slurm->n_partitions);
	else if (is_shared_without_force(e))
		check_ok(l, "partition",
			"jobs share nodes with cores of their own; envelope: node needs no "
			"OverSubscribe=FORCE");
	else
		check_add(l, CHECK_FAIL, "partition",
			"slurm.conf: a partition for co-location, e.g. PartitionName=coloc "
			"Nodes=... "
			"OverSubscribe=FORCE:4; or select/cons_tres and coloc.yaml: envelope: "
			"node.",
			"none of %d partitions has OverSubscribe=FORCE:N, N > 1: jobs never share "
			"a CPU",
			e->slurm->n_partitions);
}

/* Slurm's own gang stops all but one of the jobs that it put on a CPU, and lets them take turns. */
static void partition_in_turns(
	struct check_list *l, const struct check_env *e, const char *name, const struct share *s)
{
	check_add(l, is_shared_without_force(e) ? CHECK_WARN : CHECK_FAIL, "partition",
		"slurm.conf: PreemptMode without GANG (OFF, CANCEL, REQUEUE); restart slurmctld.",
		"%s: OverSubscribe=%s, but PreemptMode=%s: Slurm's own gang runs jobs on a CPU in "
		"turns, never beside one another",
		name, s->value, get(e, "PreemptMode"));
}

static const char *partition_name(const struct check_env *e, int i)
{
	return slurm_pairs_get(&e->slurm->partition[i], "PartitionName");
}

/* slurmctld ends at the second line of a partition; its own answer has each once. */
static bool is_named_before(const struct check_env *e, int i)
{
	for (int j = 0; j < i; j++)
		if (strcmp(partition_name(e, j), partition_name(e, i)) == 0)
			return true;
	return false;
}

static void partitions(struct check_list *l, const struct check_env *e)
{
	bool in_turns = slurm_conf_lists(get(e, "PreemptMode"), "GANG");
	int found = 0, exclusive = 0;

	for (int i = 0; i < e->slurm->n_partitions; i++) {
		const struct slurm_pairs *p = &e->slurm->partition[i];
		const char *name = partition_name(e, i);
		struct share s = share_of(p);

		if (is_named_before(e, i)) {
			check_add(l, CHECK_FAIL, "partition", "slurm.conf: one line for each.",
				"%s: a second line of that PartitionName, with which slurmctld "
				"does "
				"not start",
				name);
			continue;
		}
		exclusive += s.jobs == 0;
		if (s.jobs < 2)
			continue;
		found++;
		if (in_turns)
			partition_in_turns(l, e, name, &s);
		else
			check_ok(l, "partition",
				"%s: OverSubscribe=%s, up to %d jobs share a CPU%s", name, s.value,
				s.jobs, s.forced ? "" : ": those submitted with --oversubscribe");
		billing(l, e, p, name);
	}
	if (!found)
		no_forced_partition(l, e, exclusive);
}

/* What Slurm's stopping of whole jobs and our placing are to one another. */
static void preemption(struct check_list *l, const struct check_env *e)
{
	const char *mode = get(e, "PreemptMode"), *slice = get(e, "SchedulerTimeSlice");
	bool gang = slurm_conf_lists(mode, "GANG");

	if (gang)
		check_ok(l, "PreemptMode",
			"%s: Slurm has jobs on a CPU take turns of %d s; Coloc's placement and "
			"turns are among those that Slurm runs, who is stopped competes for "
			"nothing",
			mode, *slice ? atoi(slice) : 30);
	else if (slurm_conf_lists(mode, "SUSPEND"))
		check_ok(l, "PreemptMode",
			"%s: who is suspended competes for nothing; his cores are the others'",
			mode);
}

static void select_type(struct check_list *l, const struct check_env *e)
{
	const char *value = select_type_in_force(e);
	char buf[64];

	if (strcasecmp(value, "select/linear") == 0)
		check_ok(l, "SelectType", "select/linear%s: jobs share whole nodes",
			by_default(e, "SelectType", buf, sizeof(buf)));
	else if (is_shared_without_force(e))
		check_ok(l, "SelectType",
			"%s%s with envelope: node: a step is placed on the cores of all co-located "
			"jobs",
			value, by_default(e, "SelectType", buf, sizeof(buf)));
	else
		check_add(l, CHECK_WARN, "SelectType",
			"SelectType=select/linear with OverSubscribe=FORCE:N lets every job use "
			"every core of its node; otherwise coloc.yaml: envelope: node.",
			"'%s'%s: a step is placed within its job's own CPUs, and never wider",
			*value ? value : "not set",
			*value ? by_default(e, "SelectType", buf, sizeof(buf)) : "");
}

static void memory(struct check_list *l, const struct check_env *e)
{
	const char *params = get(e, "SelectTypeParameters");
	const char *ram = get(e, "ConstrainRAMSpace");
	char buf[64];

	if (!*params && e->slurm->release >= 2405 &&
		strcasecmp(select_type_in_force(e), "select/cons_tres") == 0)
		params = "CR_Core_Memory";
	if (strcasestr(params, "MEMORY"))
		check_ok(l, "memory", "SelectTypeParameters=%s%s", params,
			by_default(e, "SelectTypeParameters", buf, sizeof(buf)));
	else
		check_add(l, CHECK_WARN, "memory",
			"slurm.conf: SelectTypeParameters=CR_Memory (select/linear) or "
			"CR_Core_Memory, and DefMemPerNode or DefMemPerCPU.",
			"SelectTypeParameters '%s' does not count memory: jobs that share a node "
			"may ask for more than it has",
			params);
	if (slurm_conf_is_yes(ram))
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
	for (int i = 0; i < e->slurm->n_complaints; i++)
		check_add(l, CHECK_WARN, "slurm.conf",
			"Put it right: slurmctld and slurmd do not start with such a file.", "%s",
			e->slurm->complaint[i]);
	task_plugin(l, e);
	proctrack(l, e);
	constrain_cores(l, e);
	partitions(l, e);
	preemption(l, e);
	select_type(l, e);
	memory(l, e);
}
