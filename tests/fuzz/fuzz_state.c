/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a daemon left for the next one: "T" and its trace table (trace-table.json); else what it
 * measured of a step (carry.h, "\n" for the NUL after each record). Refused and the step as it
 * was, or taken, and then saved and taken again as the same.
 */
#include "nodesvc/choose/internal.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/base/log.h"
#include "nodesvc/steps/steps.h"
#include "tests/fuzz/fuzz.h"

static struct conf conf;
static struct node node;
static struct choose choose = {.conf = &conf, .node = &node};

static void check_table(const uint8_t *data, size_t size)
{
	struct errbuf err = {""};
	struct view v = {0};
	char path[400];
	FILE *f;

	if (!node.topo) {
		log_init(LOG_LEVEL_ERROR);
		FUZZ_ASSERT(topo_load(&node.topo, "pack:2 l3:1 core:4 pu:1", NULL) == 0);
		snprintf(node.type, sizeof(node.type), "cpu 8");
		snprintf(conf.store, sizeof(conf.store), "%s", fuzz_dir());
	}
	snprintf(path, sizeof(path), "%s/trace-table.json", fuzz_dir());
	f = fopen(path, "we");
	FUZZ_ASSERT(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
	FUZZ_ASSERT(ptable_open(&choose, &err) == 0); /* never fails for the file's sake */
	ptable_tell(&choose, "das-fam-c", &v);
	for (int i = 0; i < v.n_ptt; i++)
		FUZZ_ASSERT(v.ptt[i].seconds > 0 && v.ptt[i].width > 0 && v.ptt[i].core >= 0 &&
			    v.ptt[i].core < node.topo->n_cores &&
			    strlen(v.ptt[i].type) < JOB_TYPE_MAX);
	ptable_close(&choose);
	unlink(path);
	snprintf(path, sizeof(path), "%s/trace-table.json.unread", fuzz_dir());
	unlink(path);
}

static void check_carry(const uint8_t *data, size_t size)
{
	static struct msg m, saved, again;
	struct jobs jobs = {.n = 0};
	struct step *s = jobs_add(&jobs, 12, 0, 0);
	struct errbuf err = {""};
	int rc;

	FUZZ_ASSERT(s);
	memset(m.buf, '=', sizeof(m.buf));
	for (size_t i = 0; i < size; i++)
		m.buf[i] = (char)(data[i] == '\n' ? '\0' : data[i]);
	m.len = size;
	rc = carry_load(s, &m, &err);
	FUZZ_ASSERT_RESULT(rc, err);
	if (rc == 0) {
		carry_save(s, &saved);
		FUZZ_ASSERT(!saved.overflow && carry_load(s, &saved, &err) == 0);
		carry_save(s, &again);
		FUZZ_ASSERT(saved.len == again.len && memcmp(saved.buf, again.buf, saved.len) == 0);
	}
	jobs_done(&jobs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && *data == 'T')
		check_table(data + 1, size - 1);
	else if (size <= MSG_MAX)
		check_carry(data, size);
	return 0;
}
