/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a user asks the accounting: "U" and a filter as JSON, "T" a time, "I" a step's name; and "C"
 * a comment in Slurm's accounting, which anybody may have written. A user never gets another's row.
 */
#include <errno.h>
#include <json-c/json.h>

#include "nodesvc/record/record.h"
#include "nodesvc/report/acct.h"
#include "tests/fuzz/fuzz.h"

#define USER 1000

static struct record *store(void)
{
	static struct record *r;

	if (r)
		return r;
	FUZZ_ASSERT(record_open(&r, ":memory:", false, NULL) == 0);
	for (uint32_t i = 0; i < 6; i++) {
		struct step_row row = {
			.job_id = 12 + i / 2,
			.step_id = i % 2 ? STEP_ID_BATCH : 0,
			.array_job_id = i == 5 ? 7 : 0,
			.array_task_id = i == 5 ? 3 : ARRAY_TASK_NONE,
			.node = "n1",
			.name = "job",
			.program = "stencil",
			.uid = i < 3 ? USER : 0,
			.account = "a",
			.partition = "p",
			.policy = "fair",
			.coreset = "0-1",
			.start_ns = INT64_C(1700000000000000000) + i * INT64_C(1000000000),
			.end_ns = i % 2 ? 0 : INT64_C(1700000010000000000),
			.exit_code = -1,
			.state = i % 2 ? STEP_RUNNING : STEP_COMPLETED,
		};

		FUZZ_ASSERT(record_step_put(r, &row, NULL) == 0);
	}
	return r;
}

static int is_users(const char *text, void *arg)
{
	struct json_object *o = json_tokener_parse(text), *uid = NULL;

	(void)arg;
	FUZZ_ASSERT(o && json_object_object_get_ex(o, "uid", &uid));
	FUZZ_ASSERT(json_object_get_int(uid) == USER);
	json_object_put(o);
	return 0;
}

static int on_pair(int part, const char *key, const char *value, void *arg)
{
	(void)arg;
	FUZZ_ASSERT(part >= 0 && key && value);
	return 0;
}

static void check_comment(const char *text)
{
	struct errbuf err = {""};
	char *merged = NULL, *twice = NULL;
	int rc;

	summary_parse(text, on_pair, NULL);
	rc = summary_merge(text, "{node=n1;policy=fair}", &merged, &err);
	FUZZ_ASSERT_RESULT(rc, err);
	if (rc < 0)
		return;
	FUZZ_ASSERT(strstr(merged, "{node=n1;policy=fair}"));
	/* What is there is replaced, not added to. */
	FUZZ_ASSERT(summary_merge(merged, "{node=n1;policy=fair}", &twice, &err) == 0);
	FUZZ_ASSERT(strcmp(merged, twice) == 0);
	free(merged);
	free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct errbuf err = {""};
	struct step_term term;
	char buf[STEP_ID_STR_MAX];
	int64_t at;
	int rc = 0;

	switch (*text) {
	case 'U':
		rc = acct_query_json(store(), USER, text + 1, is_users, NULL, &err);
		break;
	case 'T':
		rc = acct_time_parse(text + 1, INT64_C(1700000000), &at, &err);
		if (rc == 0)
			acct_time_elapsed(at, buf, sizeof(buf));
		break;
	case 'I':
		rc = step_term_parse(text + 1, &term, &err);
		if (rc == 0)
			step_id_format(term.job_id, term.step_id, term.job_id, term.array_task_id,
				buf, sizeof(buf));
		break;
	case 'C':
		check_comment(text + 1);
		break;
	default:
		break;
	}
	FUZZ_ASSERT_RESULT(rc, err);
	free(text);
	return 0;
}
