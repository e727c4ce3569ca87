/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any file as an executable, which its owner wrote to mislead: nothing is read outside of it, and
 * it does not keep the reader. */
#include "common/runtimes.h"
#include "nodesvc/launch/linkage.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t links;
	char text[64];

	links = linkage_read(fuzz_file(data, size));
	runtimes_text(links, text, sizeof(text));
	FUZZ_ASSERT((links == 0) == (text[0] == '\0'));
	return 0;
}
