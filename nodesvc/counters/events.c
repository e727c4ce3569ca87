/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/counters/events.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

#define ANY_PREFETCH "with the prefetchers' of the first and second level"
#define INTEL_BANDWIDTH                                                                            \
	"counted by the memory controllers (uncore_imc), which do not know jobs; per group of "    \
	"tasks by resctrl's mbm_total_bytes"
#define AMD_BANDWIDTH                                                                              \
	"counted by the data fabric (amd_df, amd_umc), which does not know jobs; per group of "    \
	"tasks by resctrl's mbm_total_bytes"
#define ARM_BANDWIDTH                                                                              \
	"counted by the interconnect or the memory controllers, which do not know jobs"

#define INTEL(PMU, REFS)                                                                           \
	{                                                                                          \
		[COUNTER_LOADS] = {PMU "::MEM_INST_RETIRED:ALL_LOADS", 0x81d0, NULL},              \
		[COUNTER_LLC_REFS] = {PMU "::LONGEST_LAT_CACHE:" REFS, 0x4f2e, ANY_PREFETCH},      \
		[COUNTER_LLC_MISSES] = {PMU "::LONGEST_LAT_CACHE:MISS", 0x412e, ANY_PREFETCH},     \
		[COUNTER_MEM_BYTES] = {NULL, 0, INTEL_BANDWIDTH},                                  \
	}

/* The masks of fills: 0x08 memory of this node, 0x40 of another. */
#define ZEN_LOADS "loads dispatched, those on a wrong path too"
#define ZEN_REFS  "requests that missed the second level, without its prefetcher's"

/* Common events of the Arm architecture. */
#define ARM_LOADS                                                                                  \
	{                                                                                          \
		"LD_SPEC", 0x70, "loads executed, those on a wrong path too"                       \
	}
#define ARM_LL                                                                                     \
	{                                                                                          \
		[COUNTER_LOADS] = ARM_LOADS,                                                       \
		[COUNTER_LLC_REFS] = {"LL_CACHE_RD", 0x36,                                         \
			"of the level the firmware calls last"},                                   \
		[COUNTER_LLC_MISSES] = {"LL_CACHE_MISS_RD", 0x37,                                  \
			"of the level the firmware calls last"},                                   \
		[COUNTER_MEM_BYTES] = {NULL, 0, ARM_BANDWIDTH},                                    \
	}

static const struct event_map maps[] = {
	{"skl", "Intel Skylake, Kaby Lake, Coffee Lake (client)", CPU_VENDOR_INTEL, 6,
		{{0x4e, 0x4e}, {0x5e, 0x5e}, {0x8e, 0x8e}, {0x9e, 0x9e}},
		INTEL("skl", "REFERENCE")},
	{"skx", "Intel Xeon: Skylake, Cascade Lake, Cooper Lake", CPU_VENDOR_INTEL, 6,
		{{0x55, 0x55}}, INTEL("skx", "REFERENCE")},
	{"icx", "Intel Xeon: Ice Lake", CPU_VENDOR_INTEL, 6, {{0x6a, 0x6a}, {0x6c, 0x6c}},
		INTEL("icx", "REFERENCES")},
	{"spr", "Intel Xeon: Sapphire Rapids, Emerald Rapids", CPU_VENDOR_INTEL, 6,
		{{0x8f, 0x8f}, {0xcf, 0xcf}}, INTEL("spr", "REFERENCE")},
	{"gnr", "Intel Xeon: Granite Rapids", CPU_VENDOR_INTEL, 6, {{0xad, 0xae}},
		INTEL("gnr", "REFERENCE")},
	{"amd64_fam17h_zen2", "AMD Zen 2: EPYC 7002 (Rome)", CPU_VENDOR_AMD, 0x17, {{0x30, 0xff}},
		{
			[COUNTER_LOADS] = {"amd64_fam17h_zen2::LS_DISPATCH:LD_DISPATCH", 0x0129,
				ZEN_LOADS},
			[COUNTER_LLC_REFS] = {"amd64_fam17h_zen2::CORE_TO_L2_CACHEABLE_REQUEST_"
					      "ACCESS_STATUS:LS_RD_BLK_C:IC_FILL_MISS",
				0x0964, ZEN_REFS},
			[COUNTER_LLC_MISSES] = {"amd64_fam17h_zen2::DATA_CACHE_REFILLS_FROM_"
						"SYSTEM:LS_MABRESP_LCL_DRAM:LS_MABRESP_RMT_DRAM",
				0x4843, "demand fills from memory, without the prefetchers'"},
			[COUNTER_MEM_BYTES] = {NULL, 0, AMD_BANDWIDTH},
		}},
	/* Zen 4 before Zen 3: its models lie among Zen 3's. */
	{"amd64_fam19h_zen4", "AMD Zen 4: EPYC 9004, 8004 (Genoa, Bergamo, Siena)", CPU_VENDOR_AMD,
		0x19, {{0x10, 0x1f}, {0x60, 0x7f}, {0xa0, 0xaf}},
		{
			[COUNTER_LOADS] = {"amd64_fam19h_zen4::LS_DISPATCH:LD_DISPATCH", 0x0129,
				ZEN_LOADS},
			[COUNTER_LLC_REFS] = {"amd64_fam19h_zen4::CORE_TO_L2_CACHEABLE_REQUEST_"
					      "ACCESS_STATUS:LS_RD_BLK_C:IC_FILL_MISS",
				0x0964, ZEN_REFS},
			[COUNTER_LLC_MISSES] = {"amd64_fam19h_zen4::ANY_DATA_CACHE_FILLS_FROM_"
						"SYSTEM:DRAM_IO_NEAR:DRAM_IO_FAR",
				0x4844, "fills from memory, with the first level's prefetcher's"},
			[COUNTER_MEM_BYTES] = {NULL, 0, AMD_BANDWIDTH},
		}},
	{"amd64_fam19h_zen3", "AMD Zen 3: EPYC 7003 (Milan)", CPU_VENDOR_AMD, 0x19, {{0}},
		{
			[COUNTER_LOADS] = {"amd64_fam19h_zen3::LS_DISPATCH:LD_DISPATCH", 0x0129,
				ZEN_LOADS},
			[COUNTER_LLC_REFS] = {"amd64_fam19h_zen3::CORE_TO_L2_CACHEABLE_REQUEST_"
					      "ACCESS_STATUS:LS_RD_BLK_C:IC_FILL_MISS",
				0x0964, ZEN_REFS},
			[COUNTER_LLC_MISSES] = {"amd64_fam19h_zen3::ANY_DATA_CACHE_FILLS_FROM_"
						"SYSTEM:MEM_IO_LCL:MEM_IO_RMT",
				0x4844, "fills from memory, with the first level's prefetcher's"},
			[COUNTER_MEM_BYTES] = {NULL, 0, AMD_BANDWIDTH},
		}},
	{"amd64_fam1ah_zen5", "AMD Zen 5: EPYC 9005 (Turin)", CPU_VENDOR_AMD, 0x1a, {{0}},
		{
			[COUNTER_LOADS] = {"amd64_fam1ah_zen5::LS_DISPATCH:LD_DISPATCH", 0x0129,
				ZEN_LOADS},
			[COUNTER_LLC_REFS] = {"amd64_fam1ah_zen5::CORE_TO_L2_CACHEABLE_REQUEST_"
					      "ACCESS_STATUS:LS_RD_BLK_C:IC_FILL_MISS",
				0x0964, ZEN_REFS},
			[COUNTER_LLC_MISSES] = {"amd64_fam1ah_zen5::ANY_DATA_CACHE_FILLS_FROM_"
						"SYSTEM:DRAM_IO_NEAR:DRAM_IO_FAR",
				0x4844, "fills from memory, with the first level's prefetcher's"},
			[COUNTER_MEM_BYTES] = {NULL, 0, AMD_BANDWIDTH},
		}},
	{"arm_n1", "Arm Neoverse N1 (Graviton2, Altra)", CPU_VENDOR_ARM, 0x41, {{0xd0c, 0xd0c}},
		ARM_LL},
	{"arm_v1", "Arm Neoverse V1 (Graviton3)", CPU_VENDOR_ARM, 0x41, {{0xd40, 0xd40}}, ARM_LL},
	{"arm_n2", "Arm Neoverse N2", CPU_VENDOR_ARM, 0x41, {{0xd49, 0xd49}}, ARM_LL},
	{"arm_v2", "Arm Neoverse V2 (NVIDIA Grace, Graviton4)", CPU_VENDOR_ARM, 0x41,
		{{0xd4f, 0xd4f}}, ARM_LL},
	{"arm_a64fx", "Fujitsu A64FX", CPU_VENDOR_ARM, 0x46, {{0x001, 0x001}},
		{
			[COUNTER_LOADS] = ARM_LOADS,
			[COUNTER_LLC_REFS] = {"L2D_CACHE", 0x16, "the second level is the last"},
			[COUNTER_LLC_MISSES] = {"L2D_CACHE_REFILL", 0x17,
				"with the prefetchers'; the second level is the last"},
			[COUNTER_MEM_BYTES] = {NULL, 0,
				"BUS_READ_TOTAL_MEM and BUS_WRITE_TOTAL_MEM count a whole core "
				"memory group, not a job"},
		}},
};
#define N_MAPS ((int)(sizeof(maps) / sizeof(maps[0])))

const struct event_map *event_map_at(int i)
{
	return i >= 0 && i < N_MAPS ? &maps[i] : NULL;
}

static bool has_model(const struct event_map *m, unsigned int model)
{
	if (!m->model[0].last)
		return true;
	for (size_t i = 0; i < sizeof(m->model) / sizeof(m->model[0]) && m->model[i].last; i++)
		if (model >= m->model[i].first && model <= m->model[i].last)
			return true;
	return false;
}

const struct event_map *event_map_find(const struct cpu_id *id)
{
	for (int i = 0; i < N_MAPS; i++)
		if (maps[i].vendor == id->vendor && maps[i].family == id->family &&
			has_model(&maps[i], id->model))
			return &maps[i];
	return NULL;
}

/* "key : value" of /proc/cpuinfo; NULL: another key. */
static const char *value_of(const char *line, const char *key)
{
	size_t len = strlen(key);

	if (strncmp(line, key, len) != 0)
		return NULL;
	line += len + strspn(line + len, " \t");
	return *line == ':' ? line + 1 + strspn(line + 1, " \t") : NULL;
}

int cpu_id_read(struct cpu_id *ret, const struct fsroot *root, struct errbuf *err)
{
	cleanup_free char *text = NULL;
	struct cpu_id id = {.vendor = CPU_VENDOR_UNKNOWN};
	bool family = false, model = false;
	char *line, *rest;
	ssize_t n = fsroot_read_alloc(root, "proc/cpuinfo", &text);

	if (n < 0)
		return err_set(err, (int)n, "/proc/cpuinfo: %s", strerror((int)-n));
	for (line = strtok_r(text, "\n", &rest); line && !(family && model);
		line = strtok_r(NULL, "\n", &rest)) {
		const char *v;

		v = value_of(line, "vendor_id");
		if (v)
			id.vendor = strcmp(v, "GenuineIntel") == 0   ? CPU_VENDOR_INTEL
				    : strcmp(v, "AuthenticAMD") == 0 ? CPU_VENDOR_AMD
								     : CPU_VENDOR_UNKNOWN;
		v = value_of(line, "cpu family");
		if (!v) {
			v = value_of(line, "CPU implementer");
			if (v)
				id.vendor = CPU_VENDOR_ARM;
		}
		if (v) {
			id.family = (unsigned int)strtoul(v, NULL, 0);
			family = true;
		}
		v = value_of(line, "model");
		if (!v)
			v = value_of(line, "CPU part");
		if (v) {
			id.model = (unsigned int)strtoul(v, NULL, 0);
			model = true;
		}
	}
	if (id.vendor == CPU_VENDOR_UNKNOWN || !family || !model)
		return err_set(err, -ENODATA, "/proc/cpuinfo names no CPU of Intel, AMD or Arm");
	*ret = id;
	return 0;
}
