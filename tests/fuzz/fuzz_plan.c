/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two plans as JSON, as replay compares them: equal to itself, told apart both ways round. */
#include "nodesvc/trace/trace.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_part(&data, &size), *other = fuzz_part(&data, &size), where[160];
	json_object *a = json_tokener_parse(text), *b = other ? json_tokener_parse(other) : NULL;

	FUZZ_ASSERT(!plan_json_diff(a, a, where, sizeof(where)));
	FUZZ_ASSERT(plan_json_diff(a, b, where, sizeof(where)) ==
		    plan_json_diff(b, a, where, sizeof(where)));
	FUZZ_ASSERT(memchr(where, '\0', sizeof(where)));
	json_object_put(a);
	json_object_put(b);
	free(text);
	free(other);
	return 0;
}
