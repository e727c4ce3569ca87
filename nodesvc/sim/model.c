/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * model.c - model files: read, check, write.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "nodesvc/sim/keys.h"
#include "nodesvc/sim/model.h"

static const char *const from_names[] = {
	[MODEL_ASSUMED] = "assumed",
	[MODEL_CACHEGRIND] = "cachegrind",
	[MODEL_MEASURED] = "measured",
	[MODEL_EXTRAPOLATED] = "extrapolated",
};
#define N_FROM (sizeof(from_names) / sizeof(from_names[0]))

/* The phase's values: name, unit of the file, bounds, what colocsim makes of it. */
static const struct value_key {
	const char *name;
	size_t offset; /* in struct model_phase */
	double low, high, scale;
} value_keys[] = {
#define VALUE(name, field, low, high, scale)                                                       \
	{                                                                                          \
		name, offsetof(struct model_phase, field), low, high, scale                        \
	}
	VALUE("seconds", seconds, 1e-3, 1e9, 1),
	VALUE("alpha", alpha, 0, 1, 1),
	VALUE("gamma", gamma, 0, 1, 1),
	VALUE("cpi", cpi, 0.05, 100, 1),
	VALUE("loads", loads, 0, 2, 1),
	VALUE("refs", refs, 0, 1, 1),
	VALUE("miss_lo", miss_lo, 0, 1, 1),
	VALUE("miss_hi", miss_hi, 0, 1, 1),
	VALUE("working_set_mb", working_set_bytes, 0, 1e9, 1e6),
	VALUE("mlp", mlp, 0.1, 1000, 1),
	VALUE("sync", sync, 0, 1, 1),
	VALUE("comm", comm, 0, 1, 1),
	VALUE("wait", wait, 0, 1, 1),
};
#define N_VALUES (sizeof(value_keys) / sizeof(value_keys[0]))

static struct model_value *value_at(struct model_phase *p, const struct value_key *k)
{
	return (struct model_value *)(void *)((char *)p + k->offset);
}

static int read_from(struct reader *r, yaml_node_t *node, void *object)
{
	struct model_value *v = object;
	const char *text = keys_text(node);

	for (size_t i = 0; text && i < N_FROM; i++) {
		if (strcmp(text, from_names[i]) == 0) {
			v->from = (enum model_from)i;
			return 0;
		}
	}
	return keys_refuse_value(r, node, "from", "measured, cachegrind, assumed or extrapolated");
}

/* "{value: 0.5, from: assumed}" */
static int read_one_value(
	struct reader *r, yaml_node_t *node, const struct value_key *k, struct model_value *ret)
{
	const struct key keys[] = {
		{"value", KIND_NUMBER, offsetof(struct model_value, value), 0, k->low, k->high,
			k->scale, NULL},
		CUSTOM("from", read_from),
	};
	uint64_t seen;
	int rc = keys_mapping_seen(r, node, k->name, keys, 2, ret, &seen);

	if (!rc && seen != 3)
		rc = err_set(r->err, -EINVAL, "%s:%zu: %s: %s is missing", r->path,
			node->start_mark.line + 1, k->name, seen & 1 ? "from" : "value");
	return rc;
}

static int read_phase(struct reader *r, yaml_node_t *node, void *object)
{
	struct model *m = object;
	uint64_t seen = 0;

	if (node->type != YAML_MAPPING_NODE)
		return keys_refuse_value(r, node, "phase", "keys and values");
	for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
		p++) {
		yaml_node_t *key = yaml_document_get_node(r->doc, p->key);
		const char *name = keys_text(key);
		size_t i = 0;
		int rc;

		while (name && i < N_VALUES && strcmp(value_keys[i].name, name) != 0)
			i++;
		if (!name || i == N_VALUES)
			return err_set(r->err, -EINVAL, "%s:%zu: unknown key '%.40s' in phase",
				r->path, key->start_mark.line + 1, name ? name : "?");
		if (seen & (UINT64_C(1) << i))
			return err_set(r->err, -EINVAL, "%s:%zu: key '%s' twice in phase", r->path,
				key->start_mark.line + 1, name);
		seen |= UINT64_C(1) << i;
		rc = read_one_value(r, yaml_document_get_node(r->doc, p->value), &value_keys[i],
			value_at(&m->phase, &value_keys[i]));
		if (rc)
			return rc;
	}
	for (size_t i = 0; i < N_VALUES; i++)
		if (!(seen & (UINT64_C(1) << i)))
			return err_set(r->err, -EINVAL, "%s:%zu: phase: %s is missing", r->path,
				node->start_mark.line + 1, value_keys[i].name);
	return 0;
}

struct count_text {
	double llc_bytes, misses;
};

static int read_count(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key keys[] = {
		NUMBER("llc_bytes", struct count_text, llc_bytes, 1024, 1e12, 1),
		NUMBER("misses", struct count_text, misses, 0, 1e18, 1),
	};
	struct model *m = object;
	struct count_text c = {0};
	uint64_t seen;
	int n = m->counts.n, rc;

	if (n == MODEL_POINTS_MAX)
		return keys_refuse(r, node, "points: at most 16");
	rc = keys_mapping_seen(r, node, "a point", keys, 2, &c, &seen);
	if (rc)
		return rc;
	if (seen != 3)
		return keys_refuse(r, node, "a point needs llc_bytes and misses");
	if (n > 0 && c.llc_bytes <= m->counts.point[n - 1].llc_bytes)
		return keys_refuse(r, node, "points: llc_bytes does not ascend");
	m->counts.point[n].llc_bytes = c.llc_bytes;
	m->counts.point[n].misses = c.misses;
	m->counts.n++;
	return 0;
}

static int read_count_points(struct reader *r, yaml_node_t *node, void *object)
{
	return keys_list(r, node, "points", read_count, object);
}

static int read_counts(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key keys[] = {
		TEXT("tool", struct model, counts.tool),
		NUMBER("private_bytes", struct model, counts.private_bytes, 1024, 1e12, 1),
		NUMBER("instructions", struct model, counts.instructions, 1, 1e18, 1),
		NUMBER("loads", struct model, counts.loads, 0, 1e18, 1),
		NUMBER("refs", struct model, counts.refs, 0, 1e18, 1),
		CUSTOM("points", read_count_points),
	};
	struct model *m = object;
	uint64_t seen;
	int rc = keys_mapping_seen(r, node, "counts", keys, 6, m, &seen);

	if (rc)
		return rc;
	if (seen != 63 || m->counts.n == 0)
		return keys_refuse(r, node,
			"counts: tool, private_bytes, instructions, loads, refs and points are "
			"needed");
	for (int i = 0; i < m->counts.n; i++)
		if (m->counts.point[i].misses > m->counts.refs)
			return keys_refuse(r, node, "counts: more misses than references");
	return 0;
}

static int read_run(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key keys[] = {
		INT("threads", struct model_run, threads, 1, 1e6),
		NUMBER("seconds", struct model_run, seconds, 1e-6, 1e9, 1),
		NUMBER("cpu_s", struct model_run, cpu_s, 0, 1e9, 1),
		NUMBER("utilization", struct model_run, utilization, 0, 1, 1),
		NUMBER("foreign", struct model_run, foreign, 0, 1, 1),
		NUMBER("steal", struct model_run, steal, 0, 1, 1),
		BOOL("disturbed", struct model_run, disturbed),
	};
	struct model *m = object;
	struct model_run run = {0};
	uint64_t seen;
	int n = m->native.n, rc;

	if (n == MODEL_POINTS_MAX)
		return keys_refuse(r, node, "points: at most 16");
	rc = keys_mapping_seen(r, node, "a width", keys, 7, &run, &seen);
	if (rc)
		return rc;
	if (seen != 127)
		return keys_refuse(r, node,
			"a width needs threads, seconds, cpu_s, utilization, foreign, steal and "
			"disturbed");
	if (n > 0 ? run.threads <= m->native.point[n - 1].threads : run.threads != 1)
		return keys_refuse(r, node, "widths: threads do not ascend from 1");
	m->native.point[m->native.n++] = run;
	return 0;
}

static int read_runs(struct reader *r, yaml_node_t *node, void *object)
{
	return keys_list(r, node, "points", read_run, object);
}

static int read_native(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key keys[] = {
		TEXT("machine", struct model, native.machine),
		NUMBER("clock_ghz", struct model, native.clock_hz, 0.01, 100, 1e9),
		INT("runs", struct model, native.runs, 1, 1e6),
		CUSTOM("points", read_runs),
	};
	struct model *m = object;
	uint64_t seen;
	int rc = keys_mapping_seen(r, node, "native", keys, 4, m, &seen);

	if (!rc && (seen != 15 || m->native.n == 0))
		rc = keys_refuse(r, node, "native: machine, clock_ghz, runs and points are needed");
	return rc;
}

static int read_residual(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key keys[] = {
		NUMBER("miss_ratio", struct model, miss_residual, 0, 1, 1),
		NUMBER("speedup", struct model, speed_residual, 0, 1e3, 1),
	};

	return READ_MAPPING(r, node, "residual", keys, object);
}

static int read_schema(struct reader *r, yaml_node_t *node, void *object)
{
	(void)object;
	return keys_is(r, node, "schema", "1");
}

static int read_work(struct reader *r, yaml_node_t *node, void *object)
{
	struct model *m = object;
	const char *text = keys_text(node);

	if (!text || (strcmp(text, "fixed") != 0 && strcmp(text, "per-thread") != 0))
		return keys_refuse_value(r, node, "work", "fixed or per-thread");
	m->per_thread = *text == 'p';
	return 0;
}

struct widths {
	const struct model *m;
	int n;
};

static int read_width(struct reader *r, yaml_node_t *node, void *object)
{
	static const struct key key = {"measured_widths", KIND_INT, 0, 0, 1, 1e6, 1, NULL};
	struct widths *w = object;
	double v;
	int rc = keys_number(r, node, &key, &v);

	if (rc)
		return rc;
	if (w->n >= w->m->native.n || (int)v != w->m->native.point[w->n].threads)
		return keys_refuse(r, node, "measured_widths: not the widths of native");
	w->n++;
	return 0;
}

/* Says in one line what the reader should know first; it has to stand below native. */
static int read_widths(struct reader *r, yaml_node_t *node, void *object)
{
	struct widths w = {.m = object};
	int rc = keys_list(r, node, "measured_widths", read_width, &w);

	if (!rc && w.n != w.m->native.n)
		rc = keys_refuse(r, node, "measured_widths: not the widths of native");
	return rc;
}

static int read_model(struct reader *r, yaml_node_t *root, void *object)
{
	static const struct key keys[] = {
		CUSTOM("schema", read_schema),
		TEXT("name", struct model, name),
		TEXT("program", struct model, program),
		TEXT("command", struct model, command),
		CUSTOM("work", read_work),
		CUSTOM("counts", read_counts),
		CUSTOM("phase", read_phase),
		TEXT("baseline", struct model, baseline),
		TEXT("count", struct model, count),
		TEXT("count_baseline", struct model, count_baseline),
		NUMBER("count_scale", struct model, count_scale, 1e-6, 1e9, 1),
		CUSTOM("native", read_native),
		CUSTOM("measured_widths", read_widths),
		CUSTOM("residual", read_residual),
	};
	enum { N_NEEDED = 7 };
	struct model *m = object;
	struct errbuf why = {""};
	struct program p;
	uint64_t seen;
	int rc = keys_mapping_seen(
		r, root, "a model", keys, sizeof(keys) / sizeof(keys[0]), m, &seen);

	if (rc)
		return rc;
	for (int i = 0; i < N_NEEDED; i++)
		if (!(seen & (UINT64_C(1) << i)))
			return err_set(r->err, -EINVAL, "%s:%zu: %s is missing", r->path,
				root->start_mark.line + 1, keys[i].name);
	model_program(m, &p);
	if (program_check(&p, &why))
		return keys_refuse(r, root, why.text);
	return 0;
}

int model_read(struct model *ret, const char *path, const char *text, struct errbuf *err)
{
	struct model m = {.count_scale = 1};
	int rc = text ? keys_load_text(path, text, read_model, &m, err)
		      : keys_load(path, read_model, &m, err);

	if (!rc)
		*ret = m;
	return rc;
}

void model_program(const struct model *m, struct program *ret)
{
	const struct model_phase *p = &m->phase;

	memset(ret, 0, sizeof(*ret));
	memcpy(ret->name, m->name, sizeof(ret->name));
	ret->n_phases = 1;
	phase_init(&ret->phase[0]);
	ret->phase[0] = (struct phase){
		.seconds = p->seconds.value,
		.alpha = p->alpha.value,
		.beta = 1 - p->alpha.value - p->gamma.value,
		.gamma = p->gamma.value,
		.cpi = p->cpi.value,
		.loads = p->loads.value,
		.refs = p->refs.value,
		.miss_lo = p->miss_lo.value,
		.miss_hi = p->miss_hi.value,
		.working_set_bytes = p->working_set_bytes.value,
		.mlp = p->mlp.value,
		.sync = p->sync.value,
		.comm = p->comm.value,
		.wait = p->wait.value,
		.utilization_scale = 1,
	};
}

/* Single quotes: in them only the quote itself is special. */
static void print_text(FILE *f, const char *key, const char *text)
{
	if (!*text)
		return;
	fprintf(f, "%s: '", key);
	for (; *text; text++)
		fprintf(f, *text == '\'' ? "''" : "%c", *text);
	fputs("'\n", f);
}

static void print_native(const struct model *m, FILE *f)
{
	fputs("native:\n", f);
	print_text(f, "  machine", m->native.machine);
	fprintf(f, "  clock_ghz: %.3f\n  runs: %d\n  points:\n", m->native.clock_hz / 1e9,
		m->native.runs);
	for (int i = 0; i < m->native.n; i++) {
		const struct model_run *p = &m->native.point[i];

		fprintf(f,
			"    - {threads: %d, seconds: %.4f, cpu_s: %.4f, utilization: %.3f, "
			"foreign: %.4f, steal: %.4f, disturbed: %s}\n",
			p->threads, p->seconds, p->cpu_s, p->utilization, p->foreign, p->steal,
			p->disturbed ? "yes" : "no");
	}
	fputs("measured_widths: [", f);
	for (int i = 0; i < m->native.n; i++)
		fprintf(f, "%s%d", i > 0 ? ", " : "", m->native.point[i].threads);
	fputs("]\n", f);
}

int model_print(const struct model *m, FILE *f)
{
	struct model_phase phase = m->phase;

	fputs("# A program as colocsim sees it; written by contrib/bench/characterise, format in\n"
	      "# colocsim(1).\n"
	      "schema: 1\n",
		f);
	print_text(f, "name", m->name);
	print_text(f, "program", m->program);
	print_text(f, "command", m->command);
	print_text(f, "baseline", m->baseline);
	print_text(f, "count", m->count);
	print_text(f, "count_baseline", m->count_baseline);
	if (m->count_scale != 1)
		fprintf(f, "count_scale: %g\n", m->count_scale);
	fprintf(f, "work: %s\ncounts:\n", m->per_thread ? "per-thread" : "fixed");
	print_text(f, "  tool", m->counts.tool);
	fprintf(f, "  private_bytes: %.0f\n  instructions: %.0f\n  loads: %.0f\n  refs: %.0f\n",
		m->counts.private_bytes, m->counts.instructions, m->counts.loads, m->counts.refs);
	fputs("  points:\n", f);
	for (int i = 0; i < m->counts.n; i++)
		fprintf(f, "    - {llc_bytes: %.0f, misses: %.0f}\n", m->counts.point[i].llc_bytes,
			m->counts.point[i].misses);
	if (m->native.n > 0)
		print_native(m, f);
	fprintf(f, "residual: {miss_ratio: %.4f, speedup: %.4f}\nphase:\n", m->miss_residual,
		m->speed_residual);
	for (size_t i = 0; i < N_VALUES; i++) {
		const struct model_value *v = value_at(&phase, &value_keys[i]);

		fprintf(f, "  %s: {value: %.6g, from: %s}\n", value_keys[i].name,
			v->value / value_keys[i].scale, from_names[v->from]);
	}
	return ferror(f) ? -EIO : 0;
}
