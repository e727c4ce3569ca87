/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any file as cachegrind's output: refused with file and line and nothing changed, or counted. */
#include "nodesvc/counters/cachegrind.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cachegrind_counts c = {.instructions = 42}, before = c;
	struct errbuf err = {""};
	FILE *f = fopen(fuzz_file(data, size), "re");
	int rc;

	FUZZ_ASSERT(f);
	rc = cachegrind_parse(f, "out", &c, &err);
	FUZZ_ASSERT_RESULT(rc, err);
	if (rc < 0)
		FUZZ_ASSERT(fuzz_same(&c, &before, sizeof(c)));
	else
		FUZZ_ASSERT(c.ll_bytes && c.instructions >= 42); /* a sum that wraps is no count */
	fclose(f);
	return 0;
}
