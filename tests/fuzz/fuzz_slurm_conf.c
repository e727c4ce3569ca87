/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any text as slurm.conf and, after "\n===\n", cgroup.conf and plugstack.conf of a recorded tree:
 * `colocctl check` reads them and has its say. */
#include <sys/stat.h>

#include "nodesvc/ctl/check.h"
#include "tests/fuzz/fuzz.h"

static void put(const char *name, const char *text)
{
	char path[400];
	FILE *f;

	snprintf(path, sizeof(path), "%s/etc", fuzz_dir());
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/etc/slurm", fuzz_dir());
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/etc/slurm/%s", fuzz_dir(), name);
	f = fopen(path, "we");
	FUZZ_ASSERT(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"slurm.conf", "cgroup.conf", "plugstack.conf"};
	static struct check_list list;
	struct ctl ctl = {.socket = "/nonexistent/colocd.sock", .timeout_ms = 1};
	struct slurm_conf *c = NULL;
	struct errbuf err = {""};
	int rc;

	for (int i = 0; i < 3; i++) {
		char *text = fuzz_part(&data, &size);

		put(names[i], text ? text : "");
		free(text);
	}
	rc = slurm_conf_load(&c, fuzz_dir(), 1000, &err);
	FUZZ_ASSERT((rc == 0) == (c != NULL));
	if (c)
		check_slurm(
			&list, &(struct check_env){
				       .ctl = &ctl, .tree = fuzz_dir(), .root = {-1}, .slurm = c});
	FUZZ_ASSERT(list.n_lost == 0);
	check_done(&list);
	slurm_conf_free(c);
	return 0;
}
