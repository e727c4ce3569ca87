/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * workload.c - YAML to a checked workload. Every key is in a table; what is in no table, of the
 * wrong kind or out of bounds is refused with file and line.
 */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "nodesvc/sim/keys.h"
#include "nodesvc/sim/population.h"
#include "nodesvc/sim/workload.h"

static int read_penalties(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key keys[] = {
		NUMBER("lock_holder", struct penalties, lock_holder, 0, 100, 1),
		NUMBER("wake", struct penalties, wake, 0, 100, 1),
		NUMBER("context", struct penalties, context, 0, 10, 1),
	};
	struct machine_params *m = object;
	const char *name = keys_text(node);

	if (!name) {
		m->penalties = (struct penalties){.name = "workload"};
		return READ_MAPPING(r, node, "penalties", keys, &m->penalties);
	}
	if (machine_penalties(name, &m->penalties))
		return keys_refuse_value(
			r, node, "penalties", "assumed, measured, none or their values");
	return 0;
}

static int read_numa(struct reader *r, yaml_node_t *node, void *object)
{
	struct machine_params *m = object;
	const char *name = keys_text(node);

	if (!name || (strcmp(name, "follow") != 0 && strcmp(name, "sticky") != 0))
		return keys_refuse_value(r, node, "numa", "follow or sticky");
	m->numa = *name == 's' ? NUMA_STICKY : NUMA_FOLLOW;
	return 0;
}

static int read_topology(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key key = TEXT("topology", struct workload, topology);

	(void)object;
	return keys_value(r, node, &key, r->document);
}

static int read_domain(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key key = TEXT("domain", struct workload, domain);

	(void)object;
	return keys_value(r, node, &key, r->document);
}

static int read_machine(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key keys[] = {
		CUSTOM("topology", read_topology),
		CUSTOM("domain", read_domain),
		NUMBER("clock_ghz", struct machine_params, hz, 0.01, 100, 1e9),
		NUMBER("llc_mb", struct machine_params, llc_bytes, 0.01, 1e5, 1e6),
		NUMBER("bandwidth_gb_s", struct machine_params, bytes_per_s, 0.01, 1e5, 1e9),
		NUMBER("latency_ns", struct machine_params, latency_s, 1, 1e5, 1e-9),
		NUMBER("remote", struct machine_params, remote, 1, 100, 1),
		NUMBER("smt_cpi", struct machine_params, smt_cpi, 1, 2, 1),
		NUMBER("fill", struct machine_params, fill, 0, 1, 1),
		NUMBER("warmup_ms", struct machine_params, warmup_s, 0, 1e5, 1e-3),
		NUMBER("gang_switch_ms", struct machine_params, gang_switch_s, 0, 1e4, 1e-3),
		CUSTOM("numa", read_numa),
		CUSTOM("penalties", read_penalties),
	};

	struct workload *w = object;

	return READ_MAPPING(r, node, "machine", keys, &w->machine);
}

static int read_waits(struct reader *r, yaml_node_t *node, void *object)
{
	const char *name = keys_text(node);

	if (!name || program_waits(name, &((struct phase *)object)->waits))
		return keys_refuse_value(r, node, "waits", "asleep, yielding, polling or spinning");
	return 0;
}

static int read_phase(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key keys[] = {
		NUMBER("seconds", struct phase, seconds, 1e-3, 1e9, 1),
		BOOL("io", struct phase, io),
		NUMBER("alpha", struct phase, alpha, 0, 1, 1),
		NUMBER("gamma", struct phase, gamma, 0, 1, 1),
		NUMBER("cpi", struct phase, cpi, 0.05, 100, 1),
		NUMBER("loads", struct phase, loads, 0, 2, 1),
		NUMBER("refs", struct phase, refs, 0, 1, 1),
		NUMBER("miss_lo", struct phase, miss_lo, 0, 1, 1),
		NUMBER("miss_hi", struct phase, miss_hi, 0, 1, 1),
		NUMBER("working_set_mb", struct phase, working_set_bytes, 0, 1e9, 1e6),
		NUMBER("mlp", struct phase, mlp, 0.1, 1000, 1),
		NUMBER("sync", struct phase, sync, 0, 1, 1),
		NUMBER("comm", struct phase, comm, 0, 1, 1),
		NUMBER("wait", struct phase, wait, 0, 1, 1),
		NUMBER("utilization_scale", struct phase, utilization_scale, 0, 10, 1),
		NUMBER("coupled", struct phase, coupled, 0, 1, 1),
		CUSTOM("waits", read_waits),
		BOOL("bursty", struct phase, bursty),
	};
	struct program *p = object;
	struct phase *f;
	int rc;

	if (p->n_phases == PROGRAM_PHASES_MAX)
		return keys_refuse(r, node, "too many phases (16)");
	f = &p->phase[p->n_phases++];
	phase_init(f);
	rc = READ_MAPPING(r, node, "a phase", keys, f);
	f->beta = 1 - f->alpha - f->gamma;
	return rc;
}

static int read_phases(struct reader *r, yaml_node_t *node, void *object)
{
	return keys_list(r, node, "phases", read_phase, object);
}

/* "POPULATION/PROGRAM" */
static int read_from(struct reader *r, yaml_node_t *node, void *object)
{
	struct program *p = object;
	const char *text = keys_text(node), *slash = text ? strchr(text, '/') : NULL;
	struct population population;
	char name[32], kept[PROGRAM_NAME_MAX];

	if (!slash || slash - text >= (int)sizeof(name))
		return keys_refuse_value(r, node, "from", "POPULATION/PROGRAM");
	snprintf(name, sizeof(name), "%.*s", (int)(slash - text), text);
	if (population_find(&population, name, NULL))
		return keys_refuse_value(
			r, node, "from", "population lira, parsec, adversarial or measured");
	for (int i = 0; i < population.n_programs; i++) {
		if (strcmp(population.program[i].name, slash + 1) != 0)
			continue;
		memcpy(kept, p->name, sizeof(kept));
		*p = population.program[i];
		if (kept[0])
			memcpy(p->name, kept, sizeof(kept));
		return 0;
	}
	return keys_refuse_value(r, node, "from", "a program of that population");
}

static int read_point(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key cores = INT("utilization", struct program, n_points, 1, 1e6);
	static const struct key part = NUMBER("utilization", struct program, n_points, 0, 1, 1);
	struct program *p = object;
	yaml_node_item_t *item = node->data.sequence.items.start;
	double n, u;

	if (node->type != YAML_SEQUENCE_NODE || node->data.sequence.items.top - item != 2 ||
		p->n_points == PROGRAM_POINTS_MAX)
		return keys_refuse(r, node, "utilization: up to 8 pairs [cores, ratio] expected");
	if (keys_number(r, yaml_document_get_node(r->doc, item[0]), &cores, &n) ||
		keys_number(r, yaml_document_get_node(r->doc, item[1]), &part, &u))
		return -EINVAL;
	p->point[p->n_points].cores = (int)n;
	p->point[p->n_points++].utilization = u;
	return 0;
}

static int read_utilization(struct reader *r, yaml_node_t *node, void *object)
{
	return keys_list(r, node, "utilization", read_point, object);
}

static int read_program(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key keys[] = {
		TEXT("name", struct program, name),
		CUSTOM("from", read_from),
		CUSTOM("phases", read_phases),
		CUSTOM("utilization", read_utilization),
	};
	struct workload *w = object;
	struct program *p = &w->program[w->n_programs];
	struct errbuf why = {""};
	int rc;

	if (w->n_programs == WORKLOAD_PROGRAMS_MAX)
		return keys_refuse(r, node, "too many programs (64)");
	rc = READ_MAPPING(r, node, "a program", keys, p);
	if (rc)
		return rc;
	if (!p->name[0])
		return keys_refuse(r, node, "a program needs a name");
	for (int i = 0; i < w->n_programs; i++)
		if (strcmp(w->program[i].name, p->name) == 0)
			return keys_refuse(r, node, "two programs of one name");
	if (program_check(p, &why))
		return keys_refuse(r, node, why.text);
	w->n_programs++;
	return 0;
}

static int read_programs(struct reader *r, yaml_node_t *node, void *object)
{
	return keys_list(r, node, "programs", read_program, object);
}

struct job_text {
	char program[PROGRAM_NAME_MAX];
	int threads, runs, count, owner;
	double arrival_s;
	struct levers levers;
};

/* "0-3,8": numbers of ways of the machine's */
static int read_ways(struct reader *r, yaml_node_t *node, void *object)
{
	const struct workload *w = r->document;
	struct job_text *j = object;
	const char *text = keys_text(node);
	char expected[80];
	struct coreset ways;

	if (!text || coreset_parse(&ways, text, NULL) || coreset_is_empty(&ways) ||
		coreset_next(&ways, w->machine.llc_ways) >= 0) {
		snprintf(expected, sizeof(expected), "a list of the machine's %d ways (\"0-%d\")",
			w->machine.llc_ways, w->machine.llc_ways - 1);
		return keys_refuse_value(r, node, "llc_ways", expected);
	}
	j->levers.ways = (uint32_t)ways.w[0];
	return 0;
}

static int read_job(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key keys[] = {
		TEXT("program", struct job_text, program),
		INT("threads", struct job_text, threads, 1, 1e6),
		INT("runs", struct job_text, runs, 1, 1e6),
		INT("count", struct job_text, count, 1, DRIVE_JOBS_MAX),
		INT("owner", struct job_text, owner, 0, 1e9),
		NUMBER("arrival_s", struct job_text, arrival_s, 0, 1e9, 1),
		CUSTOM("llc_ways", read_ways),
		NUMBER("bandwidth", struct job_text, levers.bandwidth, 0.01, 1, 1),
		NUMBER("clock", struct job_text, levers.clock, 0.05, 2, 1),
	};
	struct workload *w = object;
	struct job_text j = {.count = 1};
	int rc = READ_MAPPING(r, node, "a job", keys, &j);

	if (rc)
		return rc;
	for (int i = 0; i < w->n_programs; i++) {
		if (strcmp(w->program[i].name, j.program) != 0)
			continue;
		if (w->n_jobs + j.count > DRIVE_JOBS_MAX)
			return keys_refuse(r, node, "too many jobs (256)");
		while (j.count-- > 0)
			w->job[w->n_jobs++] = (struct run_spec){
				&w->program[i], j.threads, j.arrival_s, j.runs, j.levers, j.owner};
		return 0;
	}
	return err_set(r->err, -EINVAL, "%s:%zu: job: program '%s' is not among the programs above",
		r->path, node->start_mark.line + 1, j.program);
}

static int read_jobs(struct reader *r, yaml_node_t *node, void *object)
{
	return keys_list(r, node, "jobs", read_job, object);
}

static int read_policies(struct reader *r, yaml_node_t *node, void *object)
{
	struct workload *w = object;
	const struct keys_texts policies = {
		.key = "policies",
		.expected = "NAME or \"NAME,key=value\"",
		.too_many = "too many policies (32)",
		.at = w->policy[0],
		.size = WORKLOAD_TEXT_MAX,
		.most = WORKLOAD_POLICIES_MAX,
		.n = &w->n_policies,
	};

	return keys_texts(r, node, &policies);
}

static int read_seed(struct reader *r, yaml_node_t *node, void *object)
{
	return keys_seed(r, node, &((struct workload *)object)->seed);
}

static int read_schema(struct reader *r, yaml_node_t *node, void *object)
{
	(void)object;
	return keys_is(r, node, "schema", "1");
}

static int read_objective(struct reader *r, yaml_node_t *node, void *object)
{
	struct workload *w = object;
	const char *text = keys_text(node);

	if (!text || (strcmp(text, "stp") != 0 && strcmp(text, "antt") != 0))
		return keys_refuse_value(r, node, "objective", "stp or antt");
	w->objective = *text == 's' ? OBJECTIVE_STP : OBJECTIVE_ANTT;
	return 0;
}

static int read_phase_events(struct reader *r, yaml_node_t *node, void *object)
{
	struct workload *w = object;
	const char *text = keys_text(node);

	if (!text || drive_phases(text, &w->phases))
		return keys_refuse_value(r, node, "phases", "width, paper or none");
	return 0;
}

static int read_document(struct reader *r, yaml_node_t *root, void *object)
{
	static const struct key keys[] = {
		CUSTOM("schema", read_schema),
		CUSTOM("machine", read_machine),
		CUSTOM("policies", read_policies),
		CUSTOM("seed", read_seed),
		NUMBER("seconds", struct workload, seconds, 1e-3, 1e7, 1),
		NUMBER("sample_ms", struct workload, sample_ms, 1, 1e6, 1),
		NUMBER("decide_ms", struct workload, decide_ms, 1, 1e6, 1),
		CUSTOM("phases", read_phase_events),
		INT("runs", struct workload, runs, 1, 1e6),
		CUSTOM("objective", read_objective),
		CUSTOM("programs", read_programs),
		CUSTOM("jobs", read_jobs),
	};
	struct workload *w = object;
	int rc = READ_MAPPING(r, root, "a workload", keys, w);

	if (rc)
		return rc;
	if (w->n_jobs == 0)
		return keys_refuse(r, root, "no jobs");
	if (w->n_policies == 0)
		return keys_refuse(r, root, "no policies");
	return 0;
}

int workload_read(struct workload **ret, const char *path, struct errbuf *err)
{
	cleanup_free struct workload *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	snprintf(w->topology, sizeof(w->topology), "pack:2 core:8 pu:1");
	snprintf(w->domain, sizeof(w->domain), "auto");
	w->seed = 1;
	w->seconds = 300;
	w->sample_ms = 200;
	w->runs = 3;
	machine_defaults(&w->machine);
	rc = keys_load(path, read_document, w, err);
	if (!rc)
		*ret = take_ptr(w);
	return rc;
}
