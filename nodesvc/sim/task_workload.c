/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/infile.h"
#include "nodesvc/sim/keys.h"
#include "nodesvc/sim/task_preset.h"
#include "nodesvc/sim/task_workload.h"

enum shape { SHAPE_NONE, SHAPE_LAYERS, SHAPE_HEAT, SHAPE_KMEANS, SHAPE_RANDOM };

/* What the file says of a graph; built when all types are known. */
struct shape_keys {
	enum shape shape;
	size_t line;
	char type[TASK_NAME_MAX], exchange[TASK_NAME_MAX], reduce[TASK_NAME_MAX];
	int tasks, parallelism, blocks, iterations, before;
	double high, largest;
};

struct document {
	struct task_workload *w;
	struct shape_keys graph;
	size_t machine_line, type_line[TASK_TYPES_MAX];
};

static size_t line_of(const yaml_node_t *node)
{
	return node->start_mark.line + 1;
}

static int read_kind_keys(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key keys[] = {
		TEXT("name", struct task_kind, name),
		NUMBER("clock_mhz", struct task_kind, hz, 1, 1e5, 1e6),
		NUMBER("speed", struct task_kind, speed, 1e-3, 1e3, 1),
		NUMBER("memory", struct task_kind, memory, 1e-3, 1e3, 1),
		BOOL("fast", struct task_kind, fast),
	};
	struct task_machine *m = object;
	struct task_kind *k = &m->kind[m->n_kinds];
	int rc;

	if (m->n_kinds == TASK_KINDS_MAX)
		return keys_refuse(r, node, "too many kinds (8)");
	*k = (struct task_kind){.hz = 2e9, .speed = 1, .memory = 1};
	rc = READ_MAPPING(r, node, "a kind", keys, k);
	if (rc)
		return rc;
	if (!k->name[0])
		return keys_refuse(r, node, "a kind needs a name");
	for (int i = 0; i < m->n_kinds; i++)
		if (strcmp(m->kind[i].name, k->name) == 0)
			return keys_refuse(r, node, "two kinds of one name");
	m->n_kinds++;
	return 0;
}

static int read_kinds(struct reader *r, yaml_node_t *node, void *object)
{
	struct task_machine *m = object;

	m->n_kinds = 0;
	return keys_list(r, node, "kinds", read_kind_keys, object);
}

struct partition_keys {
	int cores;
	char kind[TASK_NAME_MAX];
	double cache_bytes;
};

static int read_partition(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key keys[] = {
		INT("cores", struct partition_keys, cores, 1, TASK_CORES_MAX),
		TEXT("kind", struct partition_keys, kind),
		NUMBER("cache_mb", struct partition_keys, cache_bytes, 0, 1e6, 1e6),
	};
	struct task_machine *m = object;
	struct partition_keys p = {.cache_bytes = INFINITY};
	int rc = READ_MAPPING(r, node, "a partition", keys, &p);

	if (rc)
		return rc;
	if (m->n_partitions == TASK_PARTITIONS_MAX)
		return keys_refuse(r, node, "too many partitions (16)");
	if (p.cores == 0)
		return keys_refuse(r, node, "a partition needs cores");
	for (int k = 0; k < m->n_kinds; k++)
		if (strcmp(m->kind[k].name, p.kind) == 0) {
			m->partition[m->n_partitions++] =
				(struct task_partition){p.cores, k, p.cache_bytes};
			return 0;
		}
	return keys_refuse(r, node, "a partition needs a kind, one of those above");
}

static int read_partitions(struct reader *r, yaml_node_t *node, void *object)
{
	struct task_machine *m = object;

	m->n_partitions = 0;
	return keys_list(r, node, "partitions", read_partition, object);
}

static int read_cores(struct reader *r, yaml_node_t *node, struct coreset *ret)
{
	const char *text = keys_text(node);

	if (!text || !*text || coreset_parse(ret, text, NULL))
		return keys_refuse_value(r, node, "cores", "a list like 0,2-3");
	return 0;
}

static int read_disturb_cores(struct reader *r, yaml_node_t *node, void *object)
{
	return read_cores(r, node, &((struct task_disturb *)object)->cores);
}

static int read_disturb(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key keys[] = {
		CUSTOM("cores", read_disturb_cores),
		NUMBER("share", struct task_disturb, share, 1e-3, 1, 1),
		NUMBER("bandwidth_gb_s", struct task_disturb, bytes_per_s, 0, 1e5, 1e9),
		NUMBER("from_s", struct task_disturb, from_s, 0, 1e6, 1),
		NUMBER("until_s", struct task_disturb, until_s, 0, 1e6, 1),
		NUMBER("period_s", struct task_disturb, period_s, 1e-3, 1e6, 1),
		NUMBER("on_s", struct task_disturb, on_s, 1e-6, 1e6, 1),
		INT("from_task", struct task_disturb, from_task, 0, TASK_TASKS_MAX),
		INT("until_task", struct task_disturb, until_task, 1, TASK_TASKS_MAX),
	};
	struct task_machine *m = object;
	struct task_disturb *d = &m->disturb[m->n_disturbs];

	if (m->n_disturbs == TASK_DISTURBS_MAX)
		return keys_refuse(r, node, "too many disturbances (16)");
	*d = (struct task_disturb){.share = 1, .until_s = INFINITY};
	m->n_disturbs++;
	return READ_MAPPING(r, node, "a disturbance", keys, d);
}

static int read_disturbs(struct reader *r, yaml_node_t *node, void *object)
{
	return keys_list(r, node, "disturb", read_disturb, object);
}

static int read_step(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key mhz = {"steps", KIND_NUMBER, 0, 0, 1, 1e5, 1e6, NULL};
	static const struct key s = {"steps", KIND_NUMBER, 0, 0, 1e-3, 1e6, 1, NULL};
	struct task_clock *c = object;
	yaml_node_item_t *item = node->data.sequence.items.start;

	if (node->type != YAML_SEQUENCE_NODE || node->data.sequence.items.top - item != 2 ||
		c->n_steps == TASK_STEPS_MAX)
		return keys_refuse(r, node, "steps: up to 16 pairs [MHz, seconds] expected");
	if (keys_number(r, yaml_document_get_node(r->doc, item[0]), &mhz, &c->hz[c->n_steps]) ||
		keys_number(
			r, yaml_document_get_node(r->doc, item[1]), &s, &c->seconds[c->n_steps]))
		return -EINVAL;
	c->n_steps++;
	return 0;
}

static int read_steps(struct reader *r, yaml_node_t *node, void *object)
{
	return keys_list(r, node, "steps", read_step, object);
}

static int read_clock_cores(struct reader *r, yaml_node_t *node, void *object)
{
	return read_cores(r, node, &((struct task_clock *)object)->cores);
}

static int read_clock(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key keys[] = {
		CUSTOM("cores", read_clock_cores),
		CUSTOM("steps", read_steps),
	};
	struct task_machine *m = object;
	struct task_clock *c = &m->clock[m->n_clocks];
	int rc;

	if (m->n_clocks == TASK_CLOCKS_MAX)
		return keys_refuse(r, node, "too many clocks (8)");
	m->n_clocks++;
	rc = READ_MAPPING(r, node, "a clock", keys, c);
	return rc || c->n_steps > 0 ? rc : keys_refuse(r, node, "a clock needs steps");
}

static int read_clocks(struct reader *r, yaml_node_t *node, void *object)
{
	return keys_list(r, node, "clocks", read_clock, object);
}

static int read_machine_from(struct reader *r, yaml_node_t *node, void *object)
{
	const char *name = keys_text(node);

	if (!name || task_preset_machine(object, name))
		return keys_refuse_value(r, node, "from", "tx2 or haswell");
	return 0;
}

static int read_machine(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key keys[] = {
		CUSTOM("from", read_machine_from),
		INT("nodes", struct task_machine, n_nodes, 1, TASK_NODES_MAX),
		CUSTOM("kinds", read_kinds),
		CUSTOM("partitions", read_partitions),
		NUMBER("bandwidth_gb_s", struct task_machine, bytes_per_s, 0, 1e5, 1e9),
		NUMBER("steal_us", struct task_machine, steal_s, 1e-3, 1e6, 1e-6),
		NUMBER("decide_us", struct task_machine, decide_s, 0, 1e6, 1e-6),
		CUSTOM("disturb", read_disturbs),
		CUSTOM("clocks", read_clocks),
	};
	struct document *d = object;

	d->machine_line = line_of(node);
	if (keys_text(node))
		return read_machine_from(r, node, &d->w->machine);
	return READ_MAPPING(r, node, "machine", keys, &d->w->machine);
}

static int read_type_from(struct reader *r, yaml_node_t *node, void *object)
{
	const char *name = keys_text(node);

	if (!name || task_preset_type(object, name))
		return keys_refuse_value(
			r, node, "from", "matmul, copy, stencil, heat, exchange, kmeans or reduce");
	return 0;
}

static int read_speed(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key key = {"speed", KIND_NUMBER, 0, 0, 1e-3, 1e3, 1, NULL};
	struct task_type *y = object;
	int i = 0;

	while (i < TASK_KINDS_MAX && y->speed[i] > 0)
		i++;
	if (i == TASK_KINDS_MAX)
		return keys_refuse(r, node, "speed: more numbers than kinds can be");
	return keys_number(r, node, &key, &y->speed[i]);
}

static int read_speeds(struct reader *r, yaml_node_t *node, void *object)
{
	struct task_type *y = object;

	memset(y->speed, 0, sizeof(y->speed));
	return keys_list(r, node, "speed", read_speed, object);
}

static int read_split(struct reader *r, yaml_node_t *node, void *object)
{
	struct task_type *y = object;
	const char *text = keys_text(node);

	if (!text || (strcmp(text, "dynamic") != 0 && strcmp(text, "static") != 0))
		return keys_refuse_value(r, node, "split", "dynamic or static");
	y->split = *text == 'd' ? TASK_SPLIT_DYNAMIC : TASK_SPLIT_STATIC;
	return 0;
}

static int read_type(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key keys[] = {
		CUSTOM("from", read_type_from),
		TEXT("name", struct task_type, name),
		NUMBER("seconds", struct task_type, seconds, 1e-9, 1e6, 1),
		NUMBER("memory", struct task_type, memory, 0, 1, 1),
		NUMBER("traffic_mb", struct task_type, bytes, 0, 1e9, 1e6),
		NUMBER("working_set_mb", struct task_type, working_set_bytes, 0, 1e9, 1e6),
		NUMBER("spill", struct task_type, spill, 1, 1000, 1),
		CUSTOM("speed", read_speeds),
		NUMBER("width_loss", struct task_type, width_loss, 0, 1000, 1),
		NUMBER("noise", struct task_type, noise, 0, 2, 1),
		NUMBER("clock_us", struct task_type, clock_s, 0, 1e6, 1e-6),
		CUSTOM("split", read_split),
		INT("blocks", struct task_type, blocks, 1, 10000),
	};
	struct document *d = object;
	struct task_graph *g = &d->w->graph;
	struct task_type *y = &g->type[g->n_types];
	int rc;

	if (g->n_types == TASK_TYPES_MAX)
		return keys_refuse(r, node, "too many types (16)");
	*y = (struct task_type){.spill = 1, .blocks = 8};
	rc = READ_MAPPING(r, node, "a type", keys, y);
	if (rc)
		return rc;
	if (!y->name[0] || !(y->seconds > 0))
		return keys_refuse(r, node, "a type needs a name and seconds, or from");
	for (int i = 0; i < g->n_types; i++)
		if (strcmp(g->type[i].name, y->name) == 0)
			return keys_refuse(r, node, "two types of one name");
	d->type_line[g->n_types++] = line_of(node);
	return 0;
}

static int read_types(struct reader *r, yaml_node_t *node, void *object)
{
	return keys_list(r, node, "types", read_type, object);
}

static int read_shape(struct reader *r, yaml_node_t *node, void *object)
{
	static const char *const name[] = {[SHAPE_LAYERS] = "layers",
		[SHAPE_HEAT] = "heat",
		[SHAPE_KMEANS] = "kmeans",
		[SHAPE_RANDOM] = "random"};
	struct shape_keys *g = object;
	const char *text = keys_text(node);

	for (int i = SHAPE_LAYERS; i <= SHAPE_RANDOM && text; i++)
		if (strcmp(text, name[i]) == 0) {
			g->shape = (enum shape)i;
			return 0;
		}
	return keys_refuse_value(r, node, "shape", "layers, heat, kmeans or random");
}

static int read_graph(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key keys[] = {
		CUSTOM("shape", read_shape),
		TEXT("type", struct shape_keys, type),
		TEXT("exchange", struct shape_keys, exchange),
		TEXT("reduce", struct shape_keys, reduce),
		INT("tasks", struct shape_keys, tasks, 1, TASK_TASKS_MAX),
		INT("parallelism", struct shape_keys, parallelism, 1, 10000),
		INT("blocks", struct shape_keys, blocks, 2, 10000),
		INT("iterations", struct shape_keys, iterations, 1, 100000),
		INT("before", struct shape_keys, before, 1, 8),
		NUMBER("critical", struct shape_keys, high, 0, 1, 1),
		NUMBER("largest", struct shape_keys, largest, 1e-3, 1e3, 1),
	};
	struct document *d = object;

	d->graph.line = line_of(node);
	return READ_MAPPING(r, node, "graph", keys, &d->graph);
}

static int read_policies(struct reader *r, yaml_node_t *node, void *object)
{
	struct task_workload *w = ((struct document *)object)->w;
	const struct keys_texts policies = {
		.key = "policies",
		.expected = "das-NAME or \"das-NAME,key=value\"",
		.too_many = "too many policies (32)",
		.at = w->policy[0],
		.size = TASK_POLICY_TEXT_MAX,
		.most = TASK_POLICIES_MAX,
		.n = &w->n_policies,
	};

	return keys_texts(r, node, &policies);
}

static int read_places(struct reader *r, yaml_node_t *node, void *object)
{
	const char *text = keys_text(node);

	if (!text || (strcmp(text, "wakeup") != 0 && strcmp(text, "dequeue") != 0))
		return keys_refuse_value(r, node, "places", "wakeup or dequeue");
	((struct document *)object)->w->when = *text == 'w' ? TASK_AT_WAKEUP : TASK_AT_DEQUEUE;
	return 0;
}

static int read_seed(struct reader *r, yaml_node_t *node, void *object)
{
	return keys_seed(r, node, &((struct document *)object)->w->seed);
}

static int read_runs(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key key = INT("runs", struct task_workload, runs, 1, TASK_SEEDS_MAX);

	return keys_value(r, node, &key, ((struct document *)object)->w);
}

static int read_seconds(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key key =
		NUMBER("seconds", struct task_workload, seconds, 1e-6, 1e6, 1);

	return keys_value(r, node, &key, ((struct document *)object)->w);
}

static int read_schema(struct reader *r, yaml_node_t *node, void *object)
{
	(void)object;
	return keys_is(r, node, "schema", "1");
}

static int read_kind(struct reader *r, yaml_node_t *node, void *object)
{
	(void)object;
	return keys_is(r, node, "kind", "tasks");
}

static int refuse_line(const struct reader *r, size_t line, int rc)
{
	return err_wrap(r->err, rc, "%s:%zu", r->path, line);
}

/* Index of the type named in the file; the only one need not be named. */
static int find_type(const struct reader *r, const struct document *d, const char *key,
	const char *name, int *ret)
{
	const struct task_graph *g = &d->w->graph;

	for (int i = 0; i < g->n_types; i++)
		if (strcmp(g->type[i].name, name) == 0) {
			*ret = i;
			return 0;
		}
	return err_set(r->err, -EINVAL, "%s:%zu: %s: '%.31s' is not among the types", r->path,
		d->graph.line, key, name);
}

static int build_graph(const struct reader *r, struct document *d)
{
	struct task_graph *g = &d->w->graph;
	const struct shape_keys *k = &d->graph;
	int type = 0, last = 0, n = g->n_types, rc = 0;

	if (k->shape == SHAPE_NONE)
		return err_set(r->err, -EINVAL, "%s:%zu: graph: a shape expected", r->path,
			k->line ? k->line : 1);
	if (k->type[0]) {
		rc = find_type(r, d, "type", k->type, &type);
		n = 1;
	}
	if (rc)
		return rc;
	if (k->shape == SHAPE_LAYERS)
		rc = task_graph_layers(g, type, n, k->tasks, k->parallelism, r->err);
	else if (k->shape == SHAPE_RANDOM)
		rc = task_graph_random(g, k->tasks, k->before, k->high, d->w->seed, r->err);
	else if (k->shape == SHAPE_HEAT && !(rc = find_type(r, d, "exchange", k->exchange, &last)))
		rc = task_graph_heat(
			g, type, last, d->w->machine.n_nodes, k->blocks, k->iterations, r->err);
	else if (k->shape == SHAPE_KMEANS && !(rc = find_type(r, d, "reduce", k->reduce, &last)))
		rc = task_graph_kmeans(g, type, last, k->blocks, k->iterations, k->largest, r->err);
	else
		return rc;
	return rc ? refuse_line(r, k->line, rc) : 0;
}

static int read_document(struct reader *r, yaml_node_t *root, void *object)
{
	static const struct key keys[] = {
		CUSTOM("schema", read_schema),
		CUSTOM("kind", read_kind),
		CUSTOM("machine", read_machine),
		CUSTOM("types", read_types),
		CUSTOM("graph", read_graph),
		CUSTOM("policies", read_policies),
		CUSTOM("places", read_places),
		CUSTOM("seed", read_seed),
		CUSTOM("runs", read_runs),
		CUSTOM("seconds", read_seconds),
	};
	struct document *d = object;
	struct task_workload *w = d->w;
	int rc = READ_MAPPING(r, root, "a workload", keys, d);

	if (rc)
		return rc;
	if (w->graph.n_types == 0)
		return keys_refuse(r, root, "no types");
	if (w->n_policies == 0)
		return keys_refuse(r, root, "no policies");
	rc = task_machine_init(&w->machine, r->err);
	if (rc)
		return refuse_line(r, d->machine_line ? d->machine_line : 1, rc);
	for (int i = 0; i < w->graph.n_types; i++) {
		rc = task_type_check(&w->graph.type[i], &w->machine, r->err);
		if (rc)
			return refuse_line(r, d->type_line[i], rc);
	}
	return build_graph(r, d);
}

bool task_workload_is(const char *path)
{
	cleanup_file FILE *f = infile_open(path);
	char line[256], value[16];

	while (f && fgets(line, sizeof(line), f)) {
		if (strchr("#\n-", line[0]) || strncmp(line, "schema:", 7) == 0)
			continue;
		return sscanf(line, "kind: %15s", value) == 1 && strcmp(value, "tasks") == 0;
	}
	return false;
}

int task_workload_read(struct task_workload **ret, const char *path, struct errbuf *err)
{
	struct task_workload *w = calloc(1, sizeof(*w));
	struct document d = {.w = w,
		.graph = {.tasks = 1000,
			.parallelism = 2,
			.blocks = 20,
			.iterations = 50,
			.before = 2,
			.high = 0.2,
			.largest = 2}};
	int rc;

	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	task_preset_machine(&w->machine, "tx2");
	w->seed = 1;
	w->runs = 64;
	w->seconds = 3600;
	rc = keys_load(path, read_document, &d, err);
	if (rc) {
		task_workload_free(w);
		return rc;
	}
	*ret = w;
	return 0;
}

void task_workload_free(struct task_workload *w)
{
	if (!w)
		return;
	task_graph_done(&w->graph);
	task_machine_done(&w->machine);
	free(w);
}
