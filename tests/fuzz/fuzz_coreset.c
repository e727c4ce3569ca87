/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any text as a cpulist: refused with the set untouched, or a set whose shortest text reads back
 * the same. Two of them as masks: the algebra of sets holds.
 */
#include "common/coreset.h"
#include "tests/fuzz/fuzz.h"

static bool read_set(const char *text, struct coreset *ret)
{
	struct errbuf err = {""};
	struct coreset s = {{42}}, back;
	char buf[CORESET_STR_MAX];
	int rc = coreset_parse(&s, text, &err);

	FUZZ_ASSERT_RESULT(rc, err);
	if (rc < 0) {
		FUZZ_ASSERT(s.w[0] == 42);
		return false;
	}
	coreset_format(&s, buf, sizeof(buf));
	FUZZ_ASSERT(coreset_parse(&back, buf, NULL) == 0 && coreset_is_equal(&s, &back));
	*ret = s;
	return true;
}

static void check_algebra(const struct coreset *a, const struct coreset *b)
{
	struct coreset both, either, rest;
	int n = 0;

	coreset_and(&both, a, b);
	coreset_or(&either, a, b);
	coreset_andnot(&rest, a, b);
	FUZZ_ASSERT(coreset_count(&both) + coreset_count(&rest) == coreset_count(a));
	FUZZ_ASSERT(coreset_count(a) + coreset_count(b) ==
		    coreset_count(&both) + coreset_count(&either));
	FUZZ_ASSERT(coreset_intersects(a, b) == !coreset_is_empty(&both));
	FUZZ_ASSERT(coreset_is_subset(&both, a) && coreset_is_subset(b, &either));
	coreset_for_each (pu, &either) {
		FUZZ_ASSERT(coreset_has(a, (unsigned int)pu) || coreset_has(b, (unsigned int)pu));
		n++;
	}
	FUZZ_ASSERT(n == coreset_count(&either));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct coreset a, b;
	char *text = fuzz_part(&data, &size), small[8];
	bool has_a = read_set(text, &a);

	free(text);
	text = fuzz_part(&data, &size);
	if (text && read_set(text, &b) && has_a)
		check_algebra(&a, &b);
	if (has_a)
		coreset_format(&a, small, sizeof(small)); /* cut, never overrun */
	free(text);
	return 0;
}
