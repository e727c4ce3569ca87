/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live_liar SECONDS SEED - a program of a step that reports whatever it likes to colocd: it maps
 * its own report pages again and writes them full of counts that stop, wrap, go backwards, are 0,
 * infinite or no numbers, and of processes that are not there. Exit 3: no pages were given.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/ipc.h"
#include "nodesvc/runtime/coloc.h"
#include "nodesvc/runtime/page.h"

/* The mapping that begins with the magic of a report: libcoloc hands out no pointer to it. */
static struct coloc_report *find_pages(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	struct coloc_report *found = NULL;
	char line[512], mode[8];
	unsigned long from, to;

	/* NOLINTBEGIN(performance-no-int-to-ptr): the kernel tells them as numbers */
	while (f && !found && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) == 3 &&
			strncmp(mode, "rw-s", 4) == 0 && to - from >= sizeof(struct coloc_report) &&
			((struct coloc_report *)from)->magic == COLOC_REPORT_MAGIC)
			found = (struct coloc_report *)from;
	/* NOLINTEND(performance-no-int-to-ptr) */
	if (f)
		fclose(f);
	return found;
}

static uint64_t any(void)
{
	static const double odd[] = {0, -1, 1e308, -1e308, 1e-300};

	switch (random() % 4) {
	case 0:
		return coloc_bits(odd[random() % 5]);
	case 1:
		return UINT64_MAX; /* not a number */
	case 2:
		return (uint64_t)random() << 33 ^ (uint64_t)random();
	default:
		return coloc_bits((double)random());
	}
}

static void lie(struct coloc_slot *s)
{
	s->pid = random() % 3 ? (int32_t)random() : 0;
	s->updates = random() % 2 ? UINT32_MAX : (uint32_t)random();
	s->progress = any();
	s->updated_ns = (int64_t)any();
	s->unit = any();
	for (int i = 0; i < COLOC_SLOT_NAMES; i++) {
		s->counter[i].name = any();
		s->counter[i].value = any();
	}
}

int main(int argc, char **argv)
{
	struct coloc *c = coloc_attach();
	struct coloc_report *pages;
	int64_t until_ns;

	if (argc != 3)
		return 2;
	coloc_progress(c, 1);
	pages = find_pages();
	if (!pages)
		return 3;
	srandom((unsigned int)atoi(argv[2]));
	until_ns = ipc_now_ns() + (int64_t)(atof(argv[1]) * 1e9);
	while (ipc_now_ns() < until_ns) {
		for (int i = 0; i < COLOC_SLOTS; i++)
			lie(&pages->slot[i]);
		pages->n_slots = (uint32_t)any();
		pages->slot_bytes = (uint32_t)any();
		pages->magic = random() % 2 ? COLOC_REPORT_MAGIC : (uint32_t)any();
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	}
	return 0;
}
