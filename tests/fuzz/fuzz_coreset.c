/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any text: refused with the set untouched, or a set whose shortest text reads back the same. */
#include <stdlib.h>
#include <string.h>

#include "common/coreset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct coreset s = {{42}}, back;
	char *text = malloc(size + 1), buf[CORESET_STR_MAX];
	struct errbuf err = {""};

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (coreset_parse(&s, text, &err) < 0) {
		if (s.w[0] != 42 || !err.text[0])
			abort();
	} else {
		coreset_format(&s, buf, sizeof(buf));
		if (coreset_parse(&back, buf, NULL) < 0 || !coreset_is_equal(&s, &back))
			abort();
	}
	free(text);
	return 0;
}
