/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/ctl/check.h"

#include <stdarg.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/text.h"

static const char *const LEVEL[] = {
	[CHECK_OK] = "ok", [CHECK_WARN] = "warn", [CHECK_FAIL] = "FAIL"};

/* At once: the next check may take its time. */
static void print(const struct check_finding *c, FILE *f)
{
	fprintf(f, "%-4s  %-16s %s\n", LEVEL[c->level], c->name, c->text);
	if (*c->cure)
		fprintf(f, "%24s-> %s\n", "", c->cure);
	fflush(f);
}

void check_add(struct check_list *l, enum check_level level, const char *name, const char *cure,
	const char *fmt, ...)
{
	struct check_finding f = {.level = level, .name = name}, *bigger;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f.text, sizeof(f.text), fmt, ap);
	va_end(ap);
	text_clean(f.text); /* quotes files, and what other programs said */
	snprintf(f.cure, sizeof(f.cure), "%s", cure);
	if (l->out)
		print(&f, l->out);
	bigger = realloc(l->finding, (size_t)(l->n + 1) * sizeof(*l->finding));
	if (!bigger) {
		l->n_lost++;
		return;
	}
	l->finding = bigger;
	l->finding[l->n++] = f;
}

void check_done(struct check_list *l)
{
	free(l->finding);
	*l = (struct check_list){0};
}

bool check_has_failed(const struct check_list *l)
{
	for (int i = 0; i < l->n; i++) {
		if (l->finding[i].level == CHECK_FAIL)
			return true;
	}
	return l->n_lost > 0;
}

void check_print_total(const struct check_list *l, FILE *f)
{
	int count[3] = {0};

	for (int i = 0; i < l->n; i++)
		count[l->finding[i].level]++;
	fprintf(f, "%d ok, %d warnings, %d failures", count[CHECK_OK], count[CHECK_WARN],
		count[CHECK_FAIL]);
	if (l->n_lost)
		fprintf(f, "; not ready: %d more findings, for which memory is short", l->n_lost);
	fputc('\n', f);
}

struct json_object *check_to_json(const struct check_list *l)
{
	struct json_object *o = json_object_new_object(), *meta = json_object_new_object();
	struct json_object *list = json_object_new_array();

	json_object_object_add(meta, "schema", json_object_new_string("coloc.check/1"));
	json_object_object_add(o, "meta", meta);
	json_object_object_add(o, "ready", json_object_new_boolean(!check_has_failed(l)));
	for (int i = 0; i < l->n; i++) {
		const struct check_finding *c = &l->finding[i];
		struct json_object *f = json_object_new_object();

		json_object_object_add(f, "level",
			json_object_new_string(c->level == CHECK_FAIL ? "fail" : LEVEL[c->level]));
		json_object_object_add(f, "name", json_object_new_string(c->name));
		json_object_object_add(f, "finding", json_object_new_string(c->text));
		json_object_object_add(
			f, "cure", *c->cure ? json_object_new_string(c->cure) : NULL);
		json_object_array_add(list, f);
	}
	json_object_object_add(o, "findings", list);
	json_object_object_add(o, "lost", json_object_new_int(l->n_lost));
	return o;
}
