/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any text as a synthetic topology: refused, or a node whose arrays fit each other whatever its
 * grouping domain. hwloc parses; what it made is checked. Not XML: hwloc 2.9 itself crashes on
 * objects without attributes; the numbers in it are tested in tests/unit/test_topo.c.
 */
#include "common/topo.h"
#include "tests/fuzz/fuzz.h"

static void check_domains(const struct topo *t)
{
	int n = 0;

	FUZZ_ASSERT(t->n_domains > 0 && t->domain_level != TOPO_AUTO);
	for (int d = 0; d < t->n_domains; d++) {
		const struct topo_domain *dom = &t->domain[d];

		FUZZ_ASSERT(dom->first_core == n && dom->n_cores > 0);
		for (int i = 0; i < dom->n_cores; i++) {
			int core = t->domain_core[n++];

			FUZZ_ASSERT(core >= 0 && core < t->n_cores && t->core[core].domain == d);
			FUZZ_ASSERT(coreset_is_subset(&t->core[core].pus, &dom->pus));
		}
	}
	FUZZ_ASSERT(n <= t->n_cores);
}

static void check_node(const struct topo *t)
{
	struct coreset all;
	int pus = 0;

	coreset_zero(&all);
	FUZZ_ASSERT(t->n_cores > 0 && t->n_pus == coreset_count(&t->all));
	for (int c = 0; c < t->n_cores; c++) {
		FUZZ_ASSERT(!coreset_is_empty(&t->core[c].pus));
		FUZZ_ASSERT(!coreset_intersects(&all, &t->core[c].pus));
		coreset_or(&all, &all, &t->core[c].pus);
		FUZZ_ASSERT(t->core[c].numa < t->n_numa && t->core[c].l3 < t->n_l3 &&
			    t->core[c].l2 < t->n_l2 && t->core[c].package < t->n_packages);
	}
	FUZZ_ASSERT(coreset_is_equal(&all, &t->all));
	for (int pu = 0; pu < CORESET_MAX; pu++) {
		FUZZ_ASSERT((t->pu_core[pu] >= 0) == coreset_has(&t->all, (unsigned int)pu));
		FUZZ_ASSERT(t->pu_core[pu] < t->n_cores);
		pus += t->pu_core[pu] >= 0;
	}
	FUZZ_ASSERT(pus == t->n_pus && topo_count_cores(t, &t->all) == t->n_cores);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct errbuf err = {""};
	struct topo *t = NULL;
	int rc;

	/* Nor a path: what lies on this machine is no input. */
	if (strstr(text, ".xml") || *text == '<') {
		free(text);
		return 0;
	}
	rc = topo_load(&t, text, &err);
	FUZZ_ASSERT_RESULT(rc, err);
	FUZZ_ASSERT((rc == 0) == (t != NULL));
	if (t) {
		check_node(t);
		check_domains(t);
	}
	for (int l = TOPO_AUTO; t && l <= TOPO_CORE; l++)
		if (topo_set_domains(t, (enum topo_level)l, NULL) == 0)
			check_domains(t);
	topo_free(t);
	free(text);
	return 0;
}
