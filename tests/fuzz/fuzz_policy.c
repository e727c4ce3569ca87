/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any text as a policy with its options, as srun's --coloc-policy, `policy:`, `fallback:` and
 * `allow_policies:` hold it: refused by plugin or engine with a text that names it, or an engine
 * that decides for a node with and without jobs.
 */
#include <errno.h>

#include "nodesvc/engine/engine.h"
#include "spank/opts.h"
#include "tests/fuzz/fuzz.h"

static void decide(const struct topo *t, struct engine *e, struct plan *plan)
{
	struct view_job job[3] = {
		{.id = "1.0", .order = 1, .threads = 2, .home_numa = -1, .core = -1},
		{.id = "2.0", .order = 2, .threads = 8, .home_numa = -1, .core = -1},
		{.id = "3.0", .order = 3, .home_numa = -1, .core = -1}};
	struct event event = {.type = EVENT_ARRIVAL, .job = "3.0"};
	struct view v = {.now_s = 1, .seed = 7, .event = &event, .n_events = 1, .job = job};
	struct errbuf err = {""};

	(void)t;
	for (int i = 0; i < 3; i++)
		for (int s = 0; s < SIGNAL_COUNT; s++)
			job[i].signal[s] = (struct signal){
				s == SIGNAL_UTILIZATION || s == SIGNAL_LLC_MISS_RATIO
					? 0.25 * (i + 1)
					: 1e6 * (i + 1),
				PROVENANCE_HW};
	for (v.n_jobs = 3; v.n_jobs >= 0; v.n_jobs--, v.now_s += 1, v.n_events = 0)
		if (engine_decide(e, &v, plan, &err) == -EPROTO) {
			fprintf(stderr, "%s\n", err.text);
			abort();
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct topo *t;
	static struct plan plan;
	static struct opts o;
	struct policy_cfg cfg = {.max_jobs = 8};
	char *text = fuzz_text(data, size);
	struct errbuf err = {""};
	struct engine *e = NULL;
	int rc;

	if (!t)
		FUZZ_ASSERT(topo_load(&t, "pack:2 l3:1 core:2 pu:2", NULL) == 0 &&
			    plan_init(&plan, 8, NULL) == 0);
	cfg.topo = t;
	memset(&o, 0, sizeof(o));
	rc = opts_set(&o, OPT_POLICY, text, &err);
	FUZZ_ASSERT_RESULT(rc, err);
	if (rc == 0)
		FUZZ_ASSERT(strlen(o.value[OPT_POLICY]) < OPT_VALUE_MAX);
	err.text[0] = '\0';
	rc = engine_create(&e, text, &cfg, &err);
	FUZZ_ASSERT_RESULT(rc, err);
	if (rc == 0)
		decide(t, e, &plan);
	engine_free(e);
	free(text);
	return 0;
}
