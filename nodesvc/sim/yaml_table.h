/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * yaml_table.h - a YAML document read by tables: every key with its kind, bounds and place. What is
 * in no table, of the wrong kind or out of bounds is refused with file and line.
 */
#ifndef COLOC_SIM_YAML_TABLE_H
#define COLOC_SIM_YAML_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <yaml.h>

#include "common/err.h"

struct table_reader {
	const char *path; /* for messages */
	yaml_document_t *doc;
	void *whole; /* what the document describes, for custom keys */
	struct errbuf *err;
};

enum table_kind { KIND_NUMBER, KIND_INT, KIND_BOOL, KIND_TEXT, KIND_CUSTOM };

/* One key of a mapping. Numbers are read, multiplied by scale and stored at offset. */
struct table_key {
	const char *name;
	enum table_kind kind;
	size_t offset, size; /* size: of a text, with its end */
	double low, high, scale;
	int (*custom)(struct table_reader *r, yaml_node_t *node, void *object);
};

#define NUMBER(name, type, field, low, high, scale)                                                \
	{                                                                                          \
		name, KIND_NUMBER, offsetof(type, field), 0, low, high, scale, NULL                \
	}
#define INT(name, type, field, low, high)                                                          \
	{                                                                                          \
		name, KIND_INT, offsetof(type, field), 0, low, high, 1, NULL                       \
	}
#define BOOL(name, type, field)                                                                    \
	{                                                                                          \
		name, KIND_BOOL, offsetof(type, field), 0, 0, 0, 0, NULL                           \
	}
#define TEXT(name, type, field)                                                                    \
	{                                                                                          \
		name, KIND_TEXT, offsetof(type, field), sizeof(((type *)0)->field), 0, 0, 0, NULL  \
	}
#define CUSTOM(name, function)                                                                     \
	{                                                                                          \
		name, KIND_CUSTOM, 0, 0, 0, 0, 0, function                                         \
	}

/* All of these return 0, or -EINVAL with "FILE:LINE: ..." in r->err. */
int table_refuse(const struct table_reader *r, const yaml_node_t *node, const char *text);
int table_refuse_value(const struct table_reader *r, const yaml_node_t *node, const char *key,
	const char *expected);
/* NULL: not a scalar. */
const char *table_text(const yaml_node_t *node);
int table_number(const struct table_reader *r, const yaml_node_t *node, const struct table_key *k,
	double *ret);
int table_value(struct table_reader *r, yaml_node_t *node, const struct table_key *k, void *object);
/* @what: for messages; @ret_seen: bit i: key i was there; NULL: not asked. At most 64 keys. */
int table_mapping(struct table_reader *r, yaml_node_t *node, const char *what,
	const struct table_key *keys, size_t n_keys, void *object, uint64_t *ret_seen);
#define TABLE_MAPPING(r, node, what, keys, object)                                                 \
	table_mapping(r, node, what, keys, sizeof(keys) / sizeof((keys)[0]), object, NULL)

typedef int (*table_item_f)(struct table_reader *r, yaml_node_t *node, void *object);
int table_list(struct table_reader *r, yaml_node_t *node, const char *what, table_item_f item,
	void *object);

/*
 * table_document - loads one document from @f, or from @text where @f is NULL, and hands its root
 * to
 * @root. Errors: as above; -ENOMEM.
 */
int table_document(
	struct table_reader *r, FILE *f, const char *text, table_item_f root, void *object);

#endif
