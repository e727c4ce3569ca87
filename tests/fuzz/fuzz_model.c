/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any text as the model file of a program: refused with file and line and nothing changed, or a
 * model that is written and read back, fitted, and made a program of. */
#include "nodesvc/sim/model.h"
#include "tests/fuzz/fuzz.h"

static void check_written(const struct model *m)
{
	struct errbuf err = {""};
	struct model back;
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	FUZZ_ASSERT(f && model_print(m, f) == 0 && fclose(f) == 0);
	if (model_read(&back, "written", text, &err) < 0) {
		fprintf(stderr, "written model is refused: %s\n%s\n", err.text, text);
		abort();
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct model m, before;
	static struct program p;
	char *text = fuzz_text(data, size);
	struct errbuf err = {""};
	int rc;

	memset(&m, 42, sizeof(m));
	before = m;
	rc = model_read(&m, "model.yaml", text, &err);
	FUZZ_ASSERT_RESULT(rc, err);
	if (rc < 0) {
		FUZZ_ASSERT(fuzz_same(&m, &before, sizeof(m)));
	} else {
		check_written(&m);
		model_program(&m, &p);
		model_fit_misses(&m, &err);
		model_fit_speed(&m, &err);
	}
	free(text);
	return 0;
}
