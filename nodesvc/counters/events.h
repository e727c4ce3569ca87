/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * events.h - which raw event of which core PMU is which counter. The kernel's generic events say
 * instructions and cycles everywhere, but not loads, and "cache misses" is the last level on
 * Intel, the second on AMD and the first on many Arm cores.
 *
 * Codes: Intel's and AMD's processor programming references and Arm's common events, as libpfm
 * and Linux's tools/perf/pmu-events name them; tests/unit/test_events compares with libpfm. A
 * code is only used when it counted a child's known work (probe.h).
 */
#ifndef COLOC_COUNTERS_EVENTS_H
#define COLOC_COUNTERS_EVENTS_H

#include <stdint.h>

#include "common/err.h"
#include "common/fsroot.h"
#include "nodesvc/counters/counters.h"

enum cpu_vendor { CPU_VENDOR_UNKNOWN, CPU_VENDOR_INTEL, CPU_VENDOR_AMD, CPU_VENDOR_ARM };

/* Family and model of x86 as CPUID gives them; implementer and part of Arm. */
struct cpu_id {
	enum cpu_vendor vendor;
	unsigned int family, model;
};

struct event_code {
	const char *name;   /* libpfm's name; NULL: this PMU has no such event of a thread */
	uint64_t config;    /* perf_event_attr.config of type PERF_TYPE_RAW */
	const char *remark; /* what it counts besides, or who counts it instead; NULL nothing */
};

struct event_map {
	const char *pmu;  /* libpfm's name of the PMU */
	const char *cpus; /* the processors it stands for */
	enum cpu_vendor vendor;
	unsigned int family;
	struct {
		unsigned int first, last;
	} model[8]; /* ranges, both ends in; all zero: any model of the family */
	/* loads, LLC references, LLC misses, memory bytes; the rest are the kernel's generic
	 * events */
	struct event_code code[COUNTER_COUNT];
};

/* What /proc/cpuinfo under @root says. -ENODATA with the reason: it names no CPU we can tell. */
int cpu_id_read(struct cpu_id *ret, const struct fsroot *root, struct errbuf *err);

/* NULL: no map for this CPU; the kernel's generic events are all there is. Static storage. */
const struct event_map *event_map_find(const struct cpu_id *id);
/* The @i-th map, in order; NULL past the last. */
const struct event_map *event_map_at(int i);

#endif
