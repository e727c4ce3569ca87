/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/infile.h"
#include "nodesvc/sim/keys.h"

int keys_refuse(const struct reader *r, const yaml_node_t *node, const char *text)
{
	return err_set(r->err, -EINVAL, "%s:%zu: %s", r->path, node->start_mark.line + 1, text);
}

int keys_refuse_value(
	const struct reader *r, const yaml_node_t *node, const char *key, const char *expected)
{
	const char *value = node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value
							   : "(not a value)";

	return err_set(r->err, -EINVAL, "%s:%zu: %s: '%.60s': %s expected", r->path,
		node->start_mark.line + 1, key, value, expected);
}

const char *keys_text(const yaml_node_t *node)
{
	return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

int keys_number(const struct reader *r, const yaml_node_t *node, const struct key *k, double *ret)
{
	const char *text = keys_text(node);
	char expected[80], *end;
	double v = 0;

	if (text)
		v = strtod(text, &end);
	if (!text || end == text || *end || !(v >= k->low && v <= k->high) ||
		(k->kind == KIND_INT && v != floor(v))) {
		snprintf(expected, sizeof(expected), "%s of %g to %g",
			k->kind == KIND_INT ? "a whole number" : "a number", k->low, k->high);
		return keys_refuse_value(r, node, k->name, expected);
	}
	*ret = v * k->scale;
	return 0;
}

int keys_value(struct reader *r, yaml_node_t *node, const struct key *k, void *object)
{
	char *at = (char *)object + k->offset;
	const char *text = keys_text(node);
	double v;
	int rc;

	switch (k->kind) {
	case KIND_NUMBER:
		return keys_number(r, node, k, (double *)at);
	case KIND_INT:
		rc = keys_number(r, node, k, &v);
		if (!rc)
			*(int *)at = (int)v;
		return rc;
	case KIND_BOOL:
		if (!text || (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0 &&
				     strcmp(text, "true") != 0 && strcmp(text, "false") != 0))
			return keys_refuse_value(r, node, k->name, "yes or no");
		*(bool *)at = *text == 'y' || *text == 't';
		return 0;
	case KIND_TEXT:
		if (!text || !*text || strlen(text) >= k->size)
			return keys_refuse_value(r, node, k->name, "a text (not too long)");
		snprintf(at, k->size, "%s", text);
		return 0;
	case KIND_CUSTOM:
		break;
	}
	return k->custom(r, node, object);
}

int keys_mapping_seen(struct reader *r, yaml_node_t *node, const char *what, const struct key *keys,
	size_t n_keys, void *object, uint64_t *ret_seen)
{
	uint64_t seen = 0;

	if (node->type != YAML_MAPPING_NODE)
		return keys_refuse_value(r, node, what, "keys and values");
	for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
		p++) {
		yaml_node_t *key = yaml_document_get_node(r->doc, p->key);
		const char *name = keys_text(key);
		size_t i = 0;
		int rc;

		while (name && i < n_keys && strcmp(keys[i].name, name) != 0)
			i++;
		if (!name || i == n_keys)
			return err_set(r->err, -EINVAL, "%s:%zu: unknown key '%.40s' in %s",
				r->path, key->start_mark.line + 1, name ? name : "?", what);
		if (seen & (UINT64_C(1) << i))
			return err_set(r->err, -EINVAL, "%s:%zu: key '%s' twice in %s", r->path,
				key->start_mark.line + 1, name, what);
		seen |= UINT64_C(1) << i;
		rc = keys_value(r, yaml_document_get_node(r->doc, p->value), &keys[i], object);
		if (rc)
			return rc;
	}
	*ret_seen = seen;
	return 0;
}

int keys_mapping(struct reader *r, yaml_node_t *node, const char *what, const struct key *keys,
	size_t n_keys, void *object)
{
	uint64_t ignored;

	return keys_mapping_seen(r, node, what, keys, n_keys, object, &ignored);
}

int keys_list(struct reader *r, yaml_node_t *node, const char *what, keys_item_f item, void *object)
{
	int rc = 0;

	if (node->type != YAML_SEQUENCE_NODE)
		return keys_refuse_value(r, node, what, "a list");
	for (yaml_node_item_t *i = node->data.sequence.items.start;
		i < node->data.sequence.items.top && !rc; i++)
		rc = item(r, yaml_document_get_node(r->doc, *i), object);
	return rc;
}

int keys_is(const struct reader *r, const yaml_node_t *node, const char *key, const char *value)
{
	const char *text = keys_text(node);

	return text && strcmp(text, value) == 0 ? 0 : keys_refuse_value(r, node, key, value);
}

int keys_seed(const struct reader *r, yaml_node_t *node, uint64_t *ret)
{
	static const struct key key = {"seed", KIND_INT, 0, 0, 0, 9e15, 1, NULL};
	double v = 0;
	int rc = keys_number(r, node, &key, &v);

	if (!rc)
		*ret = (uint64_t)v;
	return rc;
}

static int add_text(struct reader *r, yaml_node_t *node, void *object)
{
	const struct keys_texts *t = object;
	const char *text = keys_text(node);

	if (!text || !*text || strlen(text) >= t->size)
		return keys_refuse_value(r, node, t->key, t->expected);
	if (*t->n == t->most)
		return keys_refuse(r, node, t->too_many);
	strcpy(t->at + (size_t)(*t->n)++ * t->size, text);
	return 0;
}

int keys_texts(struct reader *r, yaml_node_t *node, const struct keys_texts *texts)
{
	if (node->type == YAML_SCALAR_NODE)
		return add_text(r, node, (void *)texts);
	return keys_list(r, node, texts->key, add_text, (void *)texts);
}

/* From @f, or from @text where @f is NULL. */
static int load(const char *path, FILE *f, const char *text, keys_item_f root, void *document,
	struct errbuf *err)
{
	yaml_parser_t parser;
	yaml_document_t doc;
	struct reader r = {.path = path, .doc = &doc, .document = document, .err = err};
	yaml_node_t *top;
	int rc;

	if (!yaml_parser_initialize(&parser))
		return err_set(err, -ENOMEM, "out of memory");
	if (f)
		yaml_parser_set_input_file(&parser, f);
	else
		yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
	if (!yaml_parser_load(&parser, &doc)) {
		rc = err_set(err, -EINVAL, "%s:%zu: %s", path, parser.problem_mark.line + 1,
			parser.problem ? parser.problem : "no YAML");
	} else {
		top = yaml_document_get_root_node(&doc);
		rc = top ? root(&r, top, document)
			 : err_set(err, -EINVAL, "%s:1: nothing in it", path);
		yaml_document_delete(&doc);
	}
	yaml_parser_delete(&parser);
	return rc;
}

int keys_load(const char *path, keys_item_f root, void *document, struct errbuf *err)
{
	cleanup_file FILE *f = infile_open(path);

	if (!f)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	return load(path, f, NULL, root, document, err);
}

int keys_load_text(
	const char *path, const char *text, keys_item_f root, void *document, struct errbuf *err)
{
	return load(path, NULL, text, root, document, err);
}
