/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * "POLICY[,key=value...]\n" and views as JSON (colocsim plan, saved views): refused, or views that
 * are written and read back the same, and plans that hold every invariant. The policies are the
 * real ones: a view that makes one break an invariant, or loop, is a finding.
 */
#include <errno.h>

#include "nodesvc/engine/engine.h"
#include "nodesvc/trace/trace.h"
#include "tests/fuzz/fuzz.h"

/* Policies cost with jobs; more of them show nothing new. */
#define JOBS_MOST 24

static void check_round_trip(const struct view *v)
{
	struct errbuf err = {""};
	json_object *o = view_to_json(v), *again;
	struct view_file *f = NULL;

	FUZZ_ASSERT(o);
	if (view_file_from_json(&f, o, &err) < 0) {
		fprintf(stderr, "written view is refused: %s\n%s\n", err.text,
			json_object_to_json_string(o));
		abort();
	}
	again = view_to_json(view_file_view(f, 0));
	FUZZ_ASSERT(json_object_equal(o, again));
	json_object_put(again);
	json_object_put(o);
	view_file_free(f);
}

static void decide(struct view_file *f, const char *spec)
{
	static struct topo *t;
	struct errbuf err = {""};
	struct policy_cfg cfg = {.max_jobs = view_file_max_jobs(f)};
	struct engine *e = NULL;
	struct plan plan;

	FUZZ_ASSERT(t || topo_load(&t, "pack:2 l3:1 core:4 pu:2", NULL) == 0);
	cfg.topo = t;
	if (cfg.max_jobs > JOBS_MOST || engine_create(&e, spec, &cfg, &err) < 0)
		return;
	FUZZ_ASSERT(plan_init(&plan, cfg.max_jobs, NULL) == 0);
	plan.want_explain = true;
	for (int i = 0; i < view_file_count(f) && i < 8; i++) {
		const struct view *v = view_file_view(f, i);
		json_object *o;
		int rc = engine_decide(e, v, &plan, &err);

		if (rc == -EPROTO) { /* the policy's own fault */
			fprintf(stderr, "%s: %s\n", spec, err.text);
			abort();
		}
		if (rc < 0)
			break;
		o = plan_to_exact_json(&plan, t);
		FUZZ_ASSERT(o);
		json_object_put(o);
		for (int j = 0; j < plan.n_jobs && i + 1 < view_file_count(f); j++)
			view_file_carry(f, i + 1, plan.job[j].id, &plan.job[j].coreset);
	}
	plan_done(&plan);
	engine_free(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	char *json = strchr(text, '\n');
	struct view_file *f = NULL;
	struct errbuf err = {""};
	int rc;

	if (json) {
		*json++ = '\0';
		rc = view_file_parse(&f, json, size - (size_t)(json - text), &err);
		FUZZ_ASSERT_RESULT(rc, err);
		if (rc == 0) {
			for (int i = 0; i < view_file_count(f) && i < 8; i++)
				check_round_trip(view_file_view(f, i));
			decide(f, text);
		}
		view_file_free(f);
	}
	free(text);
	return 0;
}
