/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any file as a trace: refused with file and line, or read to its end, its topology and views
 * being sound and each recorded plan equal to itself. */
#include "nodesvc/trace/trace.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_reader *r = NULL;
	struct errbuf err = {""};
	struct trace_record rec;
	char where[160];
	int rc = trace_reader_open(&r, fuzz_file(data, size), &err);

	FUZZ_ASSERT_RESULT(rc, err);
	if (rc == 0)
		FUZZ_ASSERT(trace_reader_head(r)->topo && trace_reader_head(r)->topo->n_cores > 0);
	while (rc == 0) {
		rc = trace_reader_next(r, &rec, &err);
		FUZZ_ASSERT_RESULT(rc, err);
		if (rc < 0 || rec.kind == TRACE_ENDED)
			break;
		if (rec.kind != TRACE_DECISION)
			continue;
		FUZZ_ASSERT(rec.view && view_file_count(rec.view) == 1);
		if (rec.ruling.plan)
			FUZZ_ASSERT(!plan_json_diff(
				rec.ruling.plan, rec.ruling.plan, where, sizeof(where)));
	}
	trace_reader_close(r);
	return 0;
}
