/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any file as an executable or a library, which its owner wrote to mislead: nothing is read outside
 * of it, and each function that is found lies in it. */
#include "nodesvc/counters/symbols.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct callnames_own own = {.n = 1, .name = {"main"}};
	const char *path = fuzz_file(data, size);
	struct symbols_reader *r = symbols_reader_new(&own);
	const struct symbols *s;

	FUZZ_ASSERT(r);
	/* Twice: the second may ask for what the first has. */
	for (int i = 0; i < 2; i++)
		symbols_read(r, open(path, O_RDONLY | O_CLOEXEC), path, i == 1);
	s = symbols_result(r);
	FUZZ_ASSERT(s->n_files <= SYMBOLS_FILES_MAX && s->n_sites <= SYMBOLS_SITES_MAX);
	for (int i = 0; i < s->n_sites; i++) {
		FUZZ_ASSERT(s->site[i].offset < size);
		FUZZ_ASSERT(s->site[i].file < s->n_files);
		FUZZ_ASSERT(*callnames_get(s->site[i].call, &own).name);
	}
	FUZZ_ASSERT((s->n_sites == 0) == (symbols_why_none(s) != NULL));
	symbols_reader_free(r);
	return 0;
}
