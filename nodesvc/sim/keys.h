/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keys.h - mappings of a YAML file by tables of keys: what is in no table, twice, of the wrong
 * kind or out of bounds is refused with file and line.
 */
#ifndef COLOC_SIM_KEYS_H
#define COLOC_SIM_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yaml.h>

#include "common/err.h"

struct reader {
	const char *path;
	yaml_document_t *doc;
	void *document; /* what the file is read into */
	struct errbuf *err;
};

enum kind { KIND_NUMBER, KIND_INT, KIND_BOOL, KIND_TEXT, KIND_CUSTOM };

/* One key of a mapping. Numbers are read, multiplied by scale and stored at offset. */
struct key {
	const char *name;
	enum kind kind;
	size_t offset, size; /* size: of a text, with its end */
	double low, high, scale;
	int (*custom)(struct reader *r, yaml_node_t *node, void *object);
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

/* Errors of all below: -EINVAL, the text starts with "FILE:LINE: ". */
int keys_refuse(const struct reader *r, const yaml_node_t *node, const char *text);
int keys_refuse_value(
	const struct reader *r, const yaml_node_t *node, const char *key, const char *expected);

/* The scalar's text, NULL: it is none. */
const char *keys_text(const yaml_node_t *node);
int keys_number(const struct reader *r, const yaml_node_t *node, const struct key *k, double *ret);
int keys_value(struct reader *r, yaml_node_t *node, const struct key *k, void *object);

/* @what names the mapping in errors; at most 64 keys. */
int keys_mapping(struct reader *r, yaml_node_t *node, const char *what, const struct key *keys,
	size_t n_keys, void *object);
/* The same, for who needs keys: bit i of *ret_seen says that keys[i] was there. */
int keys_mapping_seen(struct reader *r, yaml_node_t *node, const char *what, const struct key *keys,
	size_t n_keys, void *object, uint64_t *ret_seen);
#define READ_MAPPING(r, node, what, keys, object)                                                  \
	keys_mapping(r, node, what, keys, sizeof(keys) / sizeof((keys)[0]), object)

typedef int (*keys_item_f)(struct reader *r, yaml_node_t *node, void *object);
int keys_list(
	struct reader *r, yaml_node_t *node, const char *what, keys_item_f item, void *object);

/* The one text that a file of this kind has there. */
int keys_is(const struct reader *r, const yaml_node_t *node, const char *key, const char *value);
/* Of random numbers: 0 to 9e15. */
int keys_seed(const struct reader *r, yaml_node_t *node, uint64_t *ret);

/* Texts, one after the other at @at, @size bytes each with the end. */
struct keys_texts {
	const char *key, *expected, *too_many; /* for errors */
	char *at;
	size_t size;
	int most, *n;
};
/* Adds one text or a list of them. */
int keys_texts(struct reader *r, yaml_node_t *node, const struct keys_texts *texts);

/*
 * keys_load - parses @path and hands its root to @root with a reader for @document.
 * Errors: -EINVAL as above, -errno the file cannot be read, -ENOMEM, what @root returns.
 */
int keys_load(const char *path, keys_item_f root, void *document, struct errbuf *err);
/* The same of @text; @path is for errors only. */
int keys_load_text(
	const char *path, const char *text, keys_item_f root, void *document, struct errbuf *err);

#endif
