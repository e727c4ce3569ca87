/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any text as a profile or as measurements (colocctl profile import, profile_put): refused and
 * nothing changed, or exported and imported again as the same, and stored and found again.
 */
#include <errno.h>
#include <math.h>

#include "nodesvc/counters/profile_json.h"
#include "nodesvc/socket/internal.h"
#include "nodesvc/record/record.h"
#include "tests/fuzz/fuzz.h"

static struct record *store(void)
{
	static struct record *r;

	FUZZ_ASSERT(r || record_open(&r, ":memory:", false, NULL) == 0);
	return r;
}

static void check_profile(const char *text)
{
	struct profile p, before, back, found;
	struct signal rate[SIGNAL_COUNT];
	struct errbuf err = {""};
	struct json_object *o;
	int rc;

	memset(&p, 42, sizeof(p));
	before = p;
	rc = profile_from_text(text, &p, &err);
	FUZZ_ASSERT_RESULT(rc, err);
	if (rc < 0) {
		FUZZ_ASSERT(fuzz_same(&p, &before, sizeof(p)));
		return;
	}
	FUZZ_ASSERT(isfinite(p.solo_s) && isfinite(p.utilization));
	profile_scale(&p, 0.5, rate);
	o = profile_to_json(&p);
	FUZZ_ASSERT(o && profile_from_text(json_object_to_json_string(o), &back, &err) == 0);
	json_object_put(o);
	FUZZ_ASSERT(strcmp(p.type, back.type) == 0 && p.threads == back.threads &&
		    p.count == back.count);
	rc = record_profile_put(store(), &p, &err);
	FUZZ_ASSERT(rc == 0);
	FUZZ_ASSERT(record_profile_find(
			    store(), p.type, p.user, p.threads, p.node_type, &found, &err) == 0);
	FUZZ_ASSERT(strcmp(p.type, found.type) == 0 && found.threads == p.threads);
	FUZZ_ASSERT(record_profile_rm(store(), p.type, NULL, &err) == 1);
}

static void check_measured(const char *text)
{
	struct measurement m, back;
	struct errbuf err = {""};
	struct json_object *o;
	int rc = measured_from_text(text, &m, &err);

	FUZZ_ASSERT_RESULT(rc, err);
	if (rc < 0)
		return;
	o = measured_to_json(&m);
	FUZZ_ASSERT(o && measured_from_text(json_object_to_json_string(o), &back, &err) == 0);
	json_object_put(o);
	FUZZ_ASSERT(strcmp(m.type, back.type) == 0 && m.cores == back.cores &&
		    m.count == back.count && m.kind == back.kind && m.signal == back.signal);
	/* As the daemon: a name and a node type are filled in where there are none. */
	if (record_measurement_put(store(), &m, &err) == 0)
		FUZZ_ASSERT(record_measurement_rm(store(), m.type, NULL, &err) == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);

	if (measured_is_text(text))
		check_measured(text);
	else
		check_profile(text);
	free(text);
	return 0;
}
