/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * locate.c - reads the kernel's own words on where a process lives. Paths are only ever taken
 * from /proc, never put together from job and step numbers: newer releases of Slurm name
 * directories differently, and several slurmd may share a host.
 */
#include "nodesvc/actuate/internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One comma-separated word of @list. */
static bool has_word(const char *list, size_t len, const char *word)
{
	size_t wlen = strlen(word);

	for (const char *p = list, *end = list + len; p < end;) {
		const char *comma = memchr(p, ',', (size_t)(end - p));
		size_t n = (size_t)((comma ? comma : end) - p);

		if (n == wlen && memcmp(p, word, n) == 0)
			return true;
		p += n + 1;
	}
	return false;
}

/* Copies a field of mountinfo, where blanks are \040 and so on, without its leading slashes. */
static int copy_unescaped(char *dst, size_t size, const char *src, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		char c = src[i];

		if (c == '\\' && i + 3 < len && src[i + 1] >= '0' && src[i + 1] <= '3') {
			c = (char)((src[i + 1] - '0') * 64 + (src[i + 2] - '0') * 8 +
				   (src[i + 3] - '0'));
			i += 3;
		}
		if (n == 0 && c == '/')
			continue;
		if (n + 1 >= size)
			return -ENAMETOOLONG;
		dst[n++] = c;
	}
	dst[n] = '\0';
	return 0;
}

/* Field @i (from 0) of a line of blanks-separated fields; NULL when there are fewer. */
static const char *field(const char *line, size_t len, int i, size_t *ret_len)
{
	const char *p = line, *end = line + len;

	for (;; i--) {
		const char *stop = memchr(p, ' ', (size_t)(end - p));

		if (!stop)
			stop = end;
		if (i == 0) {
			*ret_len = (size_t)(stop - p);
			return p;
		}
		if (stop == end)
			return NULL;
		p = stop + 1;
	}
}

int locate_mounted(
	const char *mountinfo, const struct mount_kind *kind, char *mount, char *root, size_t size)
{
	for (const char *line = mountinfo; *line;) {
		size_t len = strcspn(line, "\n"), n;
		size_t type_len = 0, opt_len = 0, root_len = 0, at_len = 0;
		const char *next = line + len + (line[len] == '\n');
		const char *dash = memmem(line, len, " - ", 3);
		const char *type, *opts, *r, *at;

		/* ID PARENT MAJ:MIN ROOT MOUNTPOINT OPTIONS [TAGS] - TYPE SOURCE SUPEROPTIONS */
		n = dash ? (size_t)(line + len - dash - 3) : 0;
		type = dash ? field(dash + 3, n, 0, &type_len) : NULL;
		opts = dash ? field(dash + 3, n, 2, &opt_len) : NULL;
		r = dash ? field(line, (size_t)(dash - line), 3, &root_len) : NULL;
		at = dash ? field(line, (size_t)(dash - line), 4, &at_len) : NULL;
		if (type && opts && r && at && type_len == strlen(kind->type) &&
			memcmp(type, kind->type, type_len) == 0 &&
			(!kind->option || has_word(opts, opt_len, kind->option))) {
			int rc = copy_unescaped(mount, size, at, at_len);

			return rc < 0 ? rc : copy_unescaped(root, size, r, root_len);
		}
		line = next;
	}
	return -ENOENT;
}

int locate_cgroup_path(const char *cgroup, const char *controller, char *ret, size_t size)
{
	for (const char *line = cgroup; *line;) {
		size_t len = strcspn(line, "\n");
		const char *c1 = memchr(line, ':', len);
		const char *c2 = c1 ? memchr(c1 + 1, ':', len - (size_t)(c1 + 1 - line)) : NULL;

		if (c2 && (*controller ? has_word(c1 + 1, (size_t)(c2 - c1 - 1), controller)
				       : c2 == c1 + 1)) {
			size_t n = len - (size_t)(c2 + 1 - line);

			if (n >= size)
				return -ENAMETOOLONG;
			memcpy(ret, c2 + 1, n);
			ret[n] = '\0';
			return 0;
		}
		line += len + (line[len] == '\n');
	}
	return -ENOENT;
}

/* "PREFIXnumber", whole. */
static bool parse_id(const char *part, const char *prefix, uint32_t *ret)
{
	size_t plen = strlen(prefix);
	unsigned long long v;
	char *end;

	if (strncmp(part, prefix, plen) != 0 || !isdigit((unsigned char)part[plen]))
		return false;
	errno = 0;
	v = strtoull(part + plen, &end, 10);
	if (errno || *end || v > UINT32_MAX)
		return false;
	*ret = (uint32_t)v;
	return true;
}

static bool parse_step(const char *part, uint32_t *ret)
{
	if (strcmp(part, "step_batch") == 0)
		*ret = ACTUATE_STEP_BATCH;
	else if (strcmp(part, "step_extern") == 0)
		*ret = ACTUATE_STEP_EXTERN;
	else if (strcmp(part, "step_interactive") == 0)
		*ret = ACTUATE_STEP_INTERACTIVE;
	else
		return parse_id(part, "step_", ret);
	return true;
}

/* "slurm" or "slurm_<node>", as Slurm names its top directory. */
static bool parse_node(const char *part, char *ret, size_t size)
{
	if (strcmp(part, "slurm") == 0) {
		ret[0] = '\0';
		return true;
	}
	if (strncmp(part, "slurm_", 6) != 0 || !part[6] || strlen(part + 6) >= size)
		return false;
	strcpy(ret, part + 6);
	return true;
}

int locate_step(const char *path, struct step_cgroup *ret)
{
	struct step_cgroup s = {.job_id = 0};
	char copy[256], part[4][72] = {""};
	size_t end[4] = {0};
	uint32_t uid;
	int n = 0;

	if (path[0] != '/' || strlen(path) >= sizeof(copy))
		return -ENOENT;
	strcpy(copy, path);
	/* The first four levels; what is below a step (task_N) does not matter. */
	for (const char *p = copy + 1; *p && n < 4;) {
		size_t len = strcspn(p, "/");

		if (len == 0 || len >= sizeof(part[0]))
			return -ENOENT;
		memcpy(part[n], p, len);
		part[n][len] = '\0';
		end[n++] = (size_t)(p + len - copy);
		p += len + (p[len] == '/');
	}
	/* A removed directory reads "... (deleted)" and so fails as a number. */
	if (n < 4 || !parse_node(part[0], s.node, sizeof(s.node)) ||
		!parse_id(part[1], "uid_", &uid) || !parse_id(part[2], "job_", &s.job_id) ||
		!parse_step(part[3], &s.step_id) || strstr(copy, " (deleted)"))
		return -ENOENT;
	memcpy(s.job_path, copy + 1, end[2] - 1);
	memcpy(s.step_path, copy + 1, end[3] - 1);
	*ret = s;
	return 0;
}

#define SCOPE "slurmstepd.scope"

/* "slurmstepd.scope", or "<node>_slurmstepd.scope" where several slurmd may share a host. */
static bool parse_scope(const char *part, char *ret, size_t size)
{
	size_t len = strlen(part), scope = strlen(SCOPE);

	if (len < scope || strcmp(part + len - scope, SCOPE) != 0)
		return false;
	if (len > scope && part[len - scope - 1] != '_')
		return false;
	len = len > scope ? len - scope - 1 : 0;
	if (len >= size || (len == 0 && part[0] == '_'))
		return false;
	memcpy(ret, part, len);
	ret[len] = '\0';
	return true;
}

/* "s" and 13 digits or capitals: what Slurm 26.05 calls a job's directory. */
static bool parse_sluid(const char *part, char *ret, size_t size)
{
	size_t len = strlen(part);

	if (len != SLUID_LEN || len >= size || part[0] != 's')
		return false;
	for (const char *p = part + 1; *p; p++)
		if (!isdigit((unsigned char)*p) && (*p < 'A' || *p > 'Z'))
			return false;
	memcpy(ret, part, len + 1);
	return true;
}

int locate_step_v2(const char *path, struct step_cgroup *ret)
{
	struct step_cgroup s = {.job_id = 0};
	size_t len = strlen(path), job_end = 0;
	const char *p = path + 1;
	char part[256];
	int level = 0; /* how many of scope, job, step and "user" have been seen */

	if (path[0] != '/' || len >= sizeof(s.step_path) || strstr(path, " (deleted)"))
		return -ENOENT;
	for (; *p && level < 4; p += strcspn(p, "/"), p += *p == '/') {
		size_t n = strcspn(p, "/");

		if (n == 0)
			return -ENOENT;
		memcpy(part, p, n);
		part[n] = '\0';
		/* Slices, and whatever a container engine puts above, come before the scope. */
		if (level == 0) {
			level += parse_scope(part, s.node, sizeof(s.node));
			continue;
		}
		if (!(level == 1 ? parse_id(part, "job_", &s.job_id) ||
					    parse_sluid(part, s.sluid, sizeof(s.sluid))
			    : level == 2 ? parse_step(part, &s.step_id)
					 : strcmp(part, "user") == 0))
			return -ENOENT;
		if (level == 1)
			job_end = (size_t)(p + n - path);
		if (++level == 4)
			len = (size_t)(p + n - path);
	}
	if (level < 4)
		return -ENOENT;
	memcpy(s.job_path, path + 1, job_end - 1);
	memcpy(s.step_path, path + 1, len - 1);
	*ret = s;
	return 0;
}
