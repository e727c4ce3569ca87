/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * show.h - JSON values as cells, and cells as a table. Unknown is blank.
 */
#ifndef COLOC_CTL_SHOW_H
#define COLOC_CTL_SHOW_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* "" where the key is missing or null. Lives as long as @o. */
const char *show_text(struct json_object *o, const char *key);
int64_t show_int(struct json_object *o, const char *key, int64_t blank);
double show_double(struct json_object *o, const char *key); /* NAN unknown */
bool show_bool(struct json_object *o, const char *key);
/* The value of that key, NULL when missing. */
struct json_object *show_get(struct json_object *o, const char *key);
/* Items of the list @key, joined by ", "; a text stands for itself. Returns @buf. */
char *show_list(struct json_object *o, const char *key, char *buf, size_t size);
/* 1234567 -> "1.23M"; NAN: "". Returns @buf. */
char *show_si(double value, char *buf, size_t size);
/* Seconds as "[DD-]HH:MM:SS"; NAN: "". Returns @buf. */
char *show_elapsed(double seconds, char *buf, size_t size);

struct show_table;
/* @columns: names separated by '|', a leading '>' aligns right: "ID|>CORES|STATE". */
struct show_table *show_table_create(const char *columns);
/* One text per column, NULL blank. Control characters become '?'. */
void show_table_row(struct show_table *t, const char *const *cells);
/* @none: said instead of an empty table. Returns an exit status; @t is freed. */
int show_table_print(struct show_table *t, FILE *f, const char *none);

/* "name  value" lines, for one object. */
void show_line(FILE *f, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
