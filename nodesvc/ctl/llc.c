/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/ctl/ctl.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/coreset.h"

#define CACHE_DIR "sys/devices/system/cpu/cpu0/cache/index%d/%s"
#define INDEX_MAX 8
/*
 * A virtual machine reports its host's whole cache as shared by its own few CPUs: 105 MiB by 2 was
 * seen. Server parts have 1.25 to 4 MiB per core, so more than that per CPU is not believed there
 * and the usual size of a slice is taken.
 */
#define VM_PER_PU_MAX   (UINT64_C(4) << 20)
#define VM_PER_PU_BYTES (UINT64_C(2) << 20)

static bool parse_bytes(const char *text, char **end, uint64_t *ret)
{
	static const char UNITS[] = "KMG";
	unsigned long long n;
	const char *unit;
	int shift = 0;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	n = strtoull(text, end, 10);
	unit = **end ? strchr(UNITS, **end) : NULL;
	if (unit) {
		shift = 10 * (int)(unit - UNITS + 1);
		(*end)++;
	}
	if (errno || n == 0 || n > (UINT64_C(1) << 50) >> shift)
		return false;
	*ret = (uint64_t)n << shift;
	return true;
}

bool llc_parse(const char *text, struct llc *ret)
{
	struct llc llc = {0};
	char *end;
	int used = 0;

	if (!parse_bytes(text, &end, &llc.bytes))
		return false;
	if (*end && (sscanf(end, ",%d,%d%n", &llc.assoc, &llc.line, &used) != 2 || end[used] ||
			    llc.assoc < 1 || llc.line < 1))
		return false;
	*ret = llc;
	return true;
}

static bool read_cache(const struct fsroot *root, int index, const char *name, char *buf, size_t n)
{
	char path[128];
	ssize_t len;

	snprintf(path, sizeof(path), CACHE_DIR, index, name);
	len = fsroot_read(root, path, buf, n);
	if (len <= 0)
		return false;
	buf[strcspn(buf, "\n")] = '\0';
	return true;
}

/* x86 says it in the flags; elsewhere the kernel's cache figures are taken as they are. */
static bool is_virtual(const struct fsroot *root)
{
	char *text = NULL;
	bool found;

	if (fsroot_read_alloc(root, "proc/cpuinfo", &text) < 0)
		return false;
	found = strstr(text, " hypervisor") != NULL;
	free(text);
	return found;
}

void llc_share(const struct fsroot *root, int n_pus, int n_domains, struct llc *ret)
{
	char text[CORESET_STR_MAX];
	int best = -1, best_level = 0, sharing = 1, per_domain;
	struct coreset pus;
	char *end;

	memset(ret, 0, sizeof(*ret));
	for (int i = 0; i < INDEX_MAX; i++) {
		if (!read_cache(root, i, "level", text, sizeof(text)))
			break;
		if (atoi(text) > best_level && read_cache(root, i, "type", text, sizeof(text)) &&
			strcmp(text, "Instruction") != 0) {
			read_cache(root, i, "level", text, sizeof(text));
			best_level = atoi(text);
			best = i;
		}
	}
	if (best < 0 || !read_cache(root, best, "size", text, sizeof(text)) ||
		!parse_bytes(text, &end, &ret->bytes))
		return;
	if (read_cache(root, best, "ways_of_associativity", text, sizeof(text)))
		ret->assoc = atoi(text);
	if (read_cache(root, best, "coherency_line_size", text, sizeof(text)))
		ret->line = atoi(text);
	if (read_cache(root, best, "shared_cpu_list", text, sizeof(text)) &&
		coreset_parse(&pus, text, NULL) == 0)
		sharing = coreset_count(&pus);
	if (sharing < 1)
		sharing = 1;
	if (is_virtual(root) && ret->bytes / (uint64_t)sharing > VM_PER_PU_MAX)
		ret->bytes = VM_PER_PU_BYTES * (uint64_t)sharing;
	per_domain = n_domains > 0 && n_pus >= n_domains ? n_pus / n_domains : 1;
	if (sharing > per_domain)
		ret->bytes /= (uint64_t)((sharing + per_domain - 1) / per_domain);
}
