/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any file as coloc.yaml: refused with file and line and nothing changed, or every value within
 * the bounds of its key. */
#include "nodesvc/conf/conf_keys.h"
#include "tests/fuzz/fuzz.h"

static void check_key(const struct conf *c, const struct conf_key *k)
{
	const char *at = (const char *)c + k->offset;
	const struct conf_list *list;

	switch (k->type) {
	case CONF_INT:
		FUZZ_ASSERT(*(const int *)at >= k->min && *(const int *)at <= k->max);
		break;
	case CONF_DOUBLE:
		FUZZ_ASSERT(*(const double *)at >= k->min && *(const double *)at <= k->max);
		break;
	case CONF_LIST:
		list = (const struct conf_list *)at;
		FUZZ_ASSERT(list->n >= 0 && list->n <= CONF_LIST_MAX);
		for (int i = 0; i < list->n; i++)
			FUZZ_ASSERT(memchr(list->item[i], '\0', sizeof(list->item[i])));
		break;
	case CONF_TEXT:
	case CONF_PATH:
	case CONF_PATH_OR_NONE:
	case CONF_LOG:
		FUZZ_ASSERT(memchr(at, '\0', k->size));
		break;
	default:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct conf c, before;
	struct errbuf err = {""};
	int rc;

	memset(&c, 42, sizeof(c));
	before = c;
	rc = conf_load(&c, fuzz_file(data, size), false, &err);
	FUZZ_ASSERT_RESULT(rc, err);
	if (rc < 0)
		FUZZ_ASSERT(fuzz_same(&c, &before, sizeof(c)));
	for (size_t i = 0; rc == 0 && i < conf_n_keys; i++)
		check_key(&c, &conf_keys[i]);
	return 0;
}
