/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Golden vectors: tests/golden/FILE.json is a list of {"case", "policy", "topology", "domain"?,
 * "share_smt"?, "views", "expect" | "error", "tol"?}. What "expect" names must be in the plan:
 * "groups" are the jobs by domain ("AB CD", one letter a job, domains in any order), everything
 * else is matched key by key, lists by position, numbers to "tol" (default 1e-9, relative above 1).
 */
#include <check.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/engine/engine.h"
#include "nodesvc/trace/trace.h"

static const char *const files[] = {
	"basic.json",
	"das.json",
	"dio.json",
	"lira-cost.json",
	"lira-static.json",
	"lira.json",
	"llc-complex.json",
	"mapper.json",
	"mixed.json",
	"others.json",
	"sbmp.json",
	"sbmp-pp.json",
	"sizes.json",
	"smt.json",
};

static const char *current_case;
static double tol;

static void match(json_object *want, json_object *have, const char *at)
{
	enum json_type type = json_object_get_type(want);

	if (type == json_type_int || type == json_type_double) {
		double w = json_object_get_double(want), h = json_object_get_double(have);
		double scale = fabs(w) > 1 ? fabs(w) : 1;

		ck_assert_msg(
			have != NULL, "%s: %s: %g wanted, nothing there", current_case, at, w);
		ck_assert_msg(fabs(w - h) <= tol * scale, "%s: %s: %.9g wanted, %.9g", current_case,
			at, w, h);
	} else if (type == json_type_array) {
		ck_assert_msg(json_object_is_type(have, json_type_array), "%s: %s: no list",
			current_case, at);
		ck_assert_msg(json_object_array_length(want) == json_object_array_length(have),
			"%s: %s: %s wanted, %s", current_case, at, json_object_to_json_string(want),
			json_object_to_json_string(have));
		for (size_t i = 0; i < json_object_array_length(want); i++) {
			char path[128];

			snprintf(path, sizeof(path), "%.100s[%zu]", at, i);
			match(json_object_array_get_idx(want, i),
				json_object_array_get_idx(have, i), path);
		}
	} else if (type == json_type_object) {
		json_object_object_foreach(want, key, value)
		{
			json_object *other = NULL;
			char path[160];

			snprintf(path, sizeof(path), "%.100s.%.50s", at, key);
			json_object_object_get_ex(have, key, &other);
			match(value, other, path);
		}
	} else {
		ck_assert_msg(json_object_equal(want, have), "%s: %s: %s wanted, %s", current_case,
			at, json_object_to_json_string(want), json_object_to_json_string(have));
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static int by_letter(const void *a, const void *b)
{
	return *(const char *)a - *(const char *)b;
}

#define GROUP_MAX 64

/* "CA B" -> sorted words, so that two writings of one grouping compare equal. */
static int split_words(const char *text, char word[][GROUP_MAX])
{
	int n = 0, len = 0;

	memset(word, 0, (size_t)GROUP_MAX * GROUP_MAX);
	for (; *text; text++)
		if (*text == ' ') {
			n++;
			len = 0;
		} else {
			word[n][len++] = *text;
		}
	n++;
	for (int w = 0; w < n; w++)
		qsort(word[w], strlen(word[w]), 1, by_letter);
	qsort(word, (size_t)n, GROUP_MAX, by_text);
	return n;
}

static void match_groups(const char *want, const struct plan *p, const struct topo *t)
{
	char text[GROUP_MAX * 4] = "", a[GROUP_MAX][GROUP_MAX], b[GROUP_MAX][GROUP_MAX];
	size_t len = 0;
	int n;

	for (int d = 0; d < t->n_domains; d++) {
		bool any = false;

		for (int i = 0; i < p->n_jobs; i++)
			if (coreset_intersects(&p->job[i].coreset, &t->domain[d].pus)) {
				if (!any && len)
					text[len++] = ' ';
				text[len++] = p->job[i].id[0];
				any = true;
			}
	}
	n = split_words(want, a);
	ck_assert_msg(n == split_words(text, b) && memcmp(a, b, sizeof(a)) == 0,
		"%s: groups %s wanted, %s", current_case, want, text);
}

static const char *text_of(json_object *o, const char *key)
{
	json_object *v;

	return json_object_object_get_ex(o, key, &v) ? json_object_get_string(v) : NULL;
}

/* An XML file lies beside the vectors. */
static const char *machine(const char *topology, char *path, size_t size)
{
	const char *dir = getenv("COLOC_SRCDIR");

	if (!strstr(topology, ".xml"))
		return topology;
	snprintf(path, size, "%s/tests/golden/%s", dir ? dir : ".", topology);
	return path;
}

static void run_case(json_object *c)
{
	char path[4096];

	json_object *views = NULL, *expect = NULL, *root = json_object_new_object(), *v;
	struct errbuf err = {""};
	struct view_file *f = NULL;
	struct topo *t = NULL;
	struct engine *e = NULL;
	struct policy_cfg cfg = {0};
	struct plan plan;
	const char *text;
	int rc;

	current_case = text_of(c, "case");
	tol = json_object_object_get_ex(c, "tol", &v) ? json_object_get_double(v) : 1e-9;
	json_object_object_get_ex(c, "views", &views);
	json_object_object_get_ex(c, "expect", &expect);
	json_object_object_add(root, "views", json_object_get(views));
	text = json_object_to_json_string(root);
	rc = view_file_parse(&f, text, strlen(text), &err);
	ck_assert_msg(rc == 0, "%s: %s", current_case, err.text);
	rc = topo_load(&t, machine(text_of(c, "topology"), path, sizeof(path)), &err);
	ck_assert_msg(rc == 0, "%s: %s", current_case, err.text);
	if (text_of(c, "domain")) {
		enum topo_level level;

		ck_assert_int_eq(topo_level_parse(text_of(c, "domain"), &level), 0);
		ck_assert_int_eq(topo_set_domains(t, level, &err), 0);
	}
	cfg.topo = t;
	cfg.max_jobs = view_file_max_jobs(f);
	cfg.share_smt = json_object_object_get_ex(c, "share_smt", &v) && json_object_get_boolean(v);
	rc = engine_create(&e, text_of(c, "policy"), &cfg, &err);
	ck_assert_msg(rc == 0, "%s: %s", current_case, err.text);
	ck_assert_int_eq(plan_init(&plan, cfg.max_jobs, &err), 0);
	for (int i = 0; i < view_file_count(f); i++) {
		json_object *want = expect ? json_object_array_get_idx(expect, (size_t)i) : NULL;
		json_object *have;

		for (int j = 0; i > 0 && j < plan.n_jobs; j++)
			view_file_carry(f, i, plan.job[j].id, &plan.job[j].coreset);
		plan.want_explain = true;
		rc = engine_decide(e, view_file_view(f, i), &plan, &err);
		if (text_of(c, "error")) {
			ck_assert_msg(rc < 0, "%s: view %d was taken", current_case, i);
			ck_assert_msg(strstr(err.text, text_of(c, "error")) != NULL,
				"%s: '%s' wanted, '%s'", current_case, text_of(c, "error"),
				err.text);
			continue;
		}
		ck_assert_msg(rc == 0, "%s: view %d: %s", current_case, i, err.text);
		if (!want)
			continue;
		have = plan_to_json(&plan, t, engine_policy(e)->name, true);
		json_object_object_foreach(want, key, value)
		{
			json_object *other = NULL;

			if (strcmp(key, "groups") == 0) {
				match_groups(json_object_get_string(value), &plan, t);
				continue;
			}
			json_object_object_get_ex(have, key, &other);
			match(value, other, key);
		}
		json_object_put(have);
	}
	plan_done(&plan);
	engine_free(e);
	topo_free(t);
	view_file_free(f);
	json_object_put(root);
}

START_TEST(golden_file_matches)
{
	const char *dir = getenv("COLOC_SRCDIR");
	char path[4096];
	json_object *list;

	snprintf(path, sizeof(path), "%s/tests/golden/%s", dir ? dir : ".", files[_i]);
	list = json_object_from_file(path);
	ck_assert_msg(json_object_is_type(list, json_type_array), "%s: no list of cases", path);
	for (size_t i = 0; i < json_object_array_length(list); i++)
		run_case(json_object_array_get_idx(list, i));
	json_object_put(list);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("golden");
	TCase *tc = tcase_create("every policy answers its golden vectors");
	SRunner *r;
	int failed;

	tcase_add_loop_test(tc, golden_file_matches, 0, (int)(sizeof(files) / sizeof(files[0])));
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
