/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/conf/conf.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <yaml.h>

#include "common/cleanup.h"
#include "nodesvc/conf/conf_keys.h"
#include "common/launch_family.h"
#include "nodesvc/base/log.h"

struct reader {
	const char *file; /* last path component, for messages */
	yaml_document_t *doc;
	struct conf *conf;
	int *seen; /* [conf_n_keys] line of the first occurrence */
	struct errbuf *err;
};

static int refuse(struct reader *r, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int refuse(struct reader *r, int line, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(r->err, -EINVAL, "%s:%d: %s", r->file, line, text);
}

static int line_of(const yaml_node_t *n)
{
	return (int)n->start_mark.line + 1;
}

static const char *scalar(const yaml_node_t *n)
{
	return n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : NULL;
}

static int read_bool(const char *text, bool *ret)
{
	static const char *const yes[] = {"yes", "true", "on", "1"};
	static const char *const no[] = {"no", "false", "off", "0"};

	for (size_t i = 0; i < 4; i++) {
		if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
			*ret = strcmp(text, yes[i]) == 0;
			return 0;
		}
	}
	return -EINVAL;
}

static int read_number(
	struct reader *r, const struct conf_key *k, const char *text, int line, double *ret)
{
	char *end;
	double v;

	errno = 0;
	v = strtod(text, &end);
	if (!*text || *end || errno || !isfinite(v))
		return refuse(r, line, "key '%s': '%s' is not a number", k->name, text);
	if (k->type == CONF_INT && v != floor(v))
		return refuse(r, line, "key '%s': '%s' is not a whole number", k->name, text);
	if (v < k->min || v > k->max)
		return refuse(
			r, line, "key '%s': %s is outside %g..%g", k->name, text, k->min, k->max);
	*ret = v;
	return 0;
}

static int read_list(struct reader *r, const struct conf_key *k, yaml_node_t *n)
{
	struct conf_list *list = (struct conf_list *)((char *)r->conf + k->offset);

	if (n->type != YAML_SEQUENCE_NODE)
		return refuse(r, line_of(n), "key '%s': want a list, like [a, b]", k->name);
	list->n = 0;
	for (yaml_node_item_t *i = n->data.sequence.items.start; i < n->data.sequence.items.top;
		i++) {
		yaml_node_t *item = yaml_document_get_node(r->doc, *i);
		const char *text = scalar(item);

		if (!text || !*text || strlen(text) >= sizeof(list->item[0]))
			return refuse(r, line_of(item), "key '%s': item %d is no name", k->name,
				list->n + 1);
		if (list->n == CONF_LIST_MAX)
			return refuse(r, line_of(item), "key '%s': more than %d items", k->name,
				CONF_LIST_MAX);
		memcpy(list->item[list->n++], text, strlen(text) + 1);
	}
	return 0;
}

/* One "key: value" of a free-form mapping into @pair; @prefix goes before the key with a dot. */
static int read_pair(struct reader *r, const struct conf_key *k, const char *prefix,
	yaml_node_t *key, yaml_node_t *value, struct conf_pair *pair)
{
	const char *name = scalar(key), *text = scalar(value);

	if (!name || !text)
		return refuse(r, line_of(value), "key '%s': want name: value", k->name);
	if ((size_t)snprintf(pair->key, sizeof(pair->key), "%s%s%s", prefix, *prefix ? "." : "",
		    name) >= sizeof(pair->key) ||
		strlen(text) >= sizeof(pair->value))
		return refuse(r, line_of(key), "key '%s': '%s' is too long", k->name, name);
	memcpy(pair->value, text, strlen(text) + 1);
	pair->line = line_of(key);
	return 0;
}

/* As for keys: whoever wrote it twice meant two things. */
static int refuse_twice(
	struct reader *r, const struct conf_key *k, const struct conf_pair *pair, int n)
{
	for (int i = 0; i < n; i++)
		if (strcmp(pair[i].key, pair[n].key) == 0)
			return refuse(r, pair[n].line, "key '%s': '%s' stands on line %d already",
				k->name, pair[n].key, pair[i].line);
	return 0;
}

static int read_options(struct reader *r, const struct conf_key *k, yaml_node_t *n)
{
	struct conf *c = r->conf;

	if (n->type != YAML_MAPPING_NODE)
		return refuse(r, line_of(n), "key '%s': want POLICY: {option: value}", k->name);
	c->policy_options.n = 0;
	for (yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top;
		p++) {
		yaml_node_t *policy = yaml_document_get_node(r->doc, p->key);
		yaml_node_t *opts = yaml_document_get_node(r->doc, p->value);

		if (!scalar(policy) || opts->type != YAML_MAPPING_NODE)
			return refuse(r, line_of(opts), "key '%s': want POLICY: {option: value}",
				k->name);
		for (yaml_node_pair_t *o = opts->data.mapping.pairs.start;
			o < opts->data.mapping.pairs.top; o++) {
			int rc;

			if (c->policy_options.n == CONF_LIST_MAX)
				return refuse(r, line_of(opts), "key '%s': more than %d options",
					k->name, CONF_LIST_MAX);
			rc = read_pair(r, k, scalar(policy), yaml_document_get_node(r->doc, o->key),
				yaml_document_get_node(r->doc, o->value),
				&c->policy_options.pair[c->policy_options.n]);
			if (rc == 0)
				rc = refuse_twice(
					r, k, c->policy_options.pair, c->policy_options.n);
			if (rc < 0)
				return rc;
			c->policy_options.n++;
		}
	}
	return 0;
}

void conf_functions_of(
	const struct conf_functions *f, const char *program, struct callnames_own *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (int i = 0; i < f->n && ret->n < CALLNAMES_OWN_MAX; i++)
		if (strcmp(f->pair[i].key, program) == 0)
			snprintf(ret->name[ret->n++], CALLNAME_MAX, "%s", f->pair[i].value);
}

/* "program" and "function" of one item, each once. */
static int read_function(struct reader *r, const struct conf_key *k, yaml_node_t *n, int at)
{
	struct conf_functions *f = (struct conf_functions *)((char *)r->conf + k->offset);
	struct conf_pair *pair = &f->pair[at];

	*pair = (struct conf_pair){.line = line_of(n)};
	for (yaml_node_pair_t *p = n->data.mapping.pairs.start;
		n->type == YAML_MAPPING_NODE && p < n->data.mapping.pairs.top; p++) {
		const char *name = scalar(yaml_document_get_node(r->doc, p->key));
		const char *text = scalar(yaml_document_get_node(r->doc, p->value));
		bool program = name && strcmp(name, "program") == 0;
		char *to = program ? pair->key : pair->value;

		if (!name || (!program && strcmp(name, "function") != 0))
			return refuse(r, pair->line,
				"key '%s': item %d has '%s', not program or "
				"function",
				k->name, at + 1, name ? name : "");
		if (!text || !*text || *to || strpbrk(text, " \t/") ||
			strlen(text) >= (program ? sizeof(pair->key) : sizeof(pair->value)))
			return refuse(r, pair->line, "key '%s': item %d: %s '%s' is no name",
				k->name, at + 1, name, text ? text : "");
		memcpy(to, text, strlen(text) + 1);
	}
	if (!*pair->key || !*pair->value)
		return refuse(r, pair->line,
			"key '%s': item %d: want {program: NAME, function: NAME}", k->name, at + 1);
	return 0;
}

static int read_functions(struct reader *r, const struct conf_key *k, yaml_node_t *n)
{
	struct conf_functions *f = (struct conf_functions *)((char *)r->conf + k->offset);

	if (n->type != YAML_SEQUENCE_NODE)
		return refuse(r, line_of(n),
			"key '%s': want a list of {program: NAME, function: NAME}", k->name);
	f->n = 0;
	for (yaml_node_item_t *i = n->data.sequence.items.start; i < n->data.sequence.items.top;
		i++) {
		yaml_node_t *item = yaml_document_get_node(r->doc, *i);
		int rc, same = 0;

		if (f->n == CONF_LIST_MAX)
			return refuse(r, line_of(item), "key '%s': more than %d items", k->name,
				CONF_LIST_MAX);
		rc = read_function(r, k, item, f->n);
		if (rc < 0)
			return rc;
		for (int j = 0; j < f->n; j++)
			same += strcmp(f->pair[j].key, f->pair[f->n].key) == 0;
		if (same == CALLNAMES_OWN_MAX)
			return refuse(r, line_of(item), "key '%s': more than %d functions of '%s'",
				k->name, CALLNAMES_OWN_MAX, f->pair[f->n].key);
		f->n++;
	}
	return 0;
}

/* Counts have libgomp's own suffixes (k, M, infinite); no other time is one of them. */
static bool is_bad_time(const char *value)
{
	size_t n = strlen(value);

	return n > 0 && value[n - 1] == 's' && conf_spin_us(value) < 0;
}

static int read_family(struct reader *r, const struct conf_key *k, yaml_node_t *n)
{
	struct conf_family *f = (struct conf_family *)((char *)r->conf + k->offset);
	enum launch_family family = k->type == CONF_OPENMP    ? LAUNCH_openmp
				    : k->type == CONF_OPENMPI ? LAUNCH_openmpi
							      : LAUNCH_mpirun;
	const int max = (int)(sizeof(f->pair) / sizeof(*f->pair));

	if (n->type != YAML_MAPPING_NODE)
		return refuse(r, line_of(n), "key '%s': want VARIABLE: value", k->name);
	f->n = 0;
	for (yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top;
		p++) {
		yaml_node_t *key = yaml_document_get_node(r->doc, p->key);
		int rc;

		if (f->n == max)
			return refuse(
				r, line_of(key), "key '%s': more than %d variables", k->name, max);
		rc = read_pair(
			r, k, "", key, yaml_document_get_node(r->doc, p->value), &f->pair[f->n]);
		if (rc == 0)
			rc = refuse_twice(r, k, f->pair, f->n);
		if (rc < 0)
			return rc;
		/* The plugin watches only these for the user's own settings. */
		if (launch_family(f->pair[f->n].key) != family)
			return refuse(r, line_of(key),
				"key '%s': '%s' is not a variable of this family", k->name,
				f->pair[f->n].key);
		if (strcmp(f->pair[f->n].key, "GOMP_SPINCOUNT") == 0 &&
			is_bad_time(f->pair[f->n].value))
			return refuse(r, line_of(key),
				"key '%s': GOMP_SPINCOUNT: '%s' is neither auto nor a count nor "
				"0us to %dus",
				k->name, f->pair[f->n].value, CONF_SPIN_US_MAX);
		f->n++;
	}
	return 0;
}

static int read_scalar(struct reader *r, const struct conf_key *k, const char *text, int line)
{
	void *at = (char *)r->conf + k->offset;
	enum log_level level;
	struct errbuf sub;
	double number = 0;
	int rc;

	switch (k->type) {
	case CONF_PATH_OR_NONE:
		if (strcmp(text, "none") == 0) {
			*(char *)at = '\0';
			return 0;
		}
		/* fall through */
	case CONF_PATH:
		if (text[0] != '/')
			return refuse(
				r, line, "key '%s': '%s' is not an absolute path", k->name, text);
		/* fall through */
	case CONF_TEXT:
		if (!*text || strlen(text) >= k->size)
			return refuse(r, line, "key '%s': empty or longer than %zu", k->name,
				k->size - 1);
		memcpy(at, text, strlen(text) + 1);
		return 0;
	case CONF_LOG:
		if (log_level_parse(text, &level) < 0)
			return refuse(r, line,
				"key '%s': '%s' is none of error, warning, info, debug", k->name,
				text);
		memcpy(at, text, strlen(text) + 1);
		return 0;
	case CONF_BOOL:
		if (read_bool(text, at) < 0)
			return refuse(
				r, line, "key '%s': '%s' is neither yes nor no", k->name, text);
		return 0;
	case CONF_INT:
	case CONF_DOUBLE:
		rc = read_number(r, k, text, line, &number);
		if (rc < 0)
			return rc;
		if (k->type == CONF_INT)
			*(int *)at = (int)number;
		else
			*(double *)at = number;
		return 0;
	case CONF_CHOICE:
		rc = conf_choice(k->values, text);
		if (rc < 0)
			return refuse(
				r, line, "key '%s': '%s' is none of %s", k->name, text, k->values);
		*(int *)at = rc;
		return 0;
	case CONF_CPULIST:
		if (coreset_parse(at, text, &sub) < 0)
			return refuse(r, line, "key '%s': %s", k->name, sub.text);
		return 0;
	case CONF_DOMAIN:
		if (topo_level_parse(text, at) < 0)
			return refuse(r, line,
				"key '%s': '%s' is none of auto, package, numa, l3, l2, core",
				k->name, text);
		return 0;
	case CONF_EVENT:
		if (counter_event_parse(at, text, &sub) < 0)
			return refuse(r, line, "key '%s': %s", k->name, sub.text);
		return 0;
	default:
		return refuse(r, line, "key '%s': want a list or a mapping", k->name);
	}
}

static int read_node(struct reader *r, const char *prefix, yaml_node_t *n);

static int read_key(struct reader *r, const char *prefix, yaml_node_t *key, yaml_node_t *value)
{
	const char *name = scalar(key);
	char full[128];
	bool section = false;

	if (!name)
		return refuse(r, line_of(key), "a key must be a word");
	snprintf(full, sizeof(full), "%s%s%s", prefix, *prefix ? "." : "", name);
	for (size_t i = 0; i < conf_n_keys; i++) {
		const struct conf_key *k = &conf_keys[i];
		size_t len = strlen(full);

		if (strncmp(k->name, full, len) == 0 && k->name[len] == '.')
			section = true;
		if (strcmp(k->name, full) != 0)
			continue;
		if (r->seen[i])
			return refuse(r, line_of(key), "key '%s' stands on line %d already", full,
				r->seen[i]);
		r->seen[i] = line_of(key);
		if (k->type == CONF_LIST)
			return read_list(r, k, value);
		if (k->type == CONF_OPTIONS)
			return read_options(r, k, value);
		if (k->type == CONF_FUNCTIONS)
			return read_functions(r, k, value);
		if (k->type == CONF_OPENMP || k->type == CONF_OPENMPI || k->type == CONF_MPIRUN)
			return read_family(r, k, value);
		if (!scalar(value))
			return refuse(r, line_of(value), "key '%s': want one value", full);
		return read_scalar(r, k, scalar(value), line_of(value));
	}
	if (section && value->type == YAML_MAPPING_NODE)
		return read_node(r, full, value);
	if (section)
		return refuse(r, line_of(value), "key '%s': want a mapping", full);
	return refuse(r, line_of(key), "unknown key '%s'", full);
}

static int read_node(struct reader *r, const char *prefix, yaml_node_t *n)
{
	for (yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top;
		p++) {
		int rc = read_key(r, prefix, yaml_document_get_node(r->doc, p->key),
			yaml_document_get_node(r->doc, p->value));

		if (rc < 0)
			return rc;
	}
	return 0;
}

static int check_file(FILE *f, const char *path, struct errbuf *err)
{
	struct stat st;

	if (fstat(fileno(f), &st) < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (st.st_uid != 0)
		return err_set(err, -EPERM, "%s: owned by uid %u, must be root's", path,
			(unsigned int)st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return err_set(err, -EPERM, "%s: mode %04o lets others write", path,
			(unsigned int)st.st_mode & 07777u);
	return 0;
}

static int load_document(struct reader *r, FILE *f)
{
	yaml_parser_t parser;
	yaml_document_t doc;
	yaml_node_t *root;
	int rc = 0;

	if (!yaml_parser_initialize(&parser))
		return err_set(r->err, -ENOMEM, "out of memory");
	yaml_parser_set_input_file(&parser, f);
	if (!yaml_parser_load(&parser, &doc)) {
		rc = refuse(r, (int)parser.problem_mark.line + 1, "%s",
			parser.problem ? parser.problem : "not YAML");
		yaml_parser_delete(&parser);
		return rc;
	}
	r->doc = &doc;
	root = yaml_document_get_root_node(&doc);
	if (root && root->type == YAML_MAPPING_NODE)
		rc = read_node(r, "", root);
	else if (root && !(scalar(root) && !*scalar(root)))
		rc = refuse(r, line_of(root), "want key: value");
	r->doc = NULL;
	yaml_document_delete(&doc);
	yaml_parser_delete(&parser);
	return rc;
}

int conf_load(struct conf *ret, const char *path, bool check_owner, struct errbuf *err)
{
	cleanup_free struct conf *c = malloc(sizeof(*c));
	cleanup_free int *seen = calloc(conf_n_keys, sizeof(*seen));
	cleanup_file FILE *f = NULL;
	const char *base = strrchr(path, '/');
	struct reader r = {.file = base ? base + 1 : path, .conf = c, .seen = seen, .err = err};
	int rc;

	if (!c || !seen)
		return err_set(err, -ENOMEM, "out of memory");
	conf_defaults(c);
	f = fopen(path, "re");
	if (!f)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	rc = check_owner ? check_file(f, path, err) : 0;
	if (rc == 0)
		rc = load_document(&r, f);
	if (rc < 0)
		return rc;
	if (strcmp(c->launch_env.omp_library, "auto") != 0 && *c->launch_env.omp_library != '/')
		return err_set(err, -EINVAL,
			"%s: key 'launch_env.omp_library': '%.100s' is neither auto nor an "
			"absolute path",
			r.file, c->launch_env.omp_library);
	*ret = *c;
	return 0;
}
