/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/actuate/actuate.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "nodesvc/actuate/internal.h"

#define TOP        "sys/fs/resctrl"
#define PREFIX     "coloc-"
#define WHAT       LEDGER_WHAT_RESCTRL
#define TEXT_MAX   2048
#define ROUNDS_MAX 20

struct resctrl {
	const struct fsroot *root;
	struct ledger *ledger;
	const struct resctrl_dirs *dirs;
	struct resctrl_caps caps;
};

static const struct resctrl_dirs real_dirs = {fsroot_mkdir, fsroot_rmdir};

void resctrl_set_dirs(struct resctrl *r, const struct resctrl_dirs *dirs)
{
	r->dirs = dirs;
}

/* ---- what there is ------------------------------------------------------------------------- */

/* @base 16 or 10; -1 no such file or no number. */
static int64_t read_info(const struct fsroot *root, const char *file, int base)
{
	char path[96], text[64], *end;
	unsigned long long v;

	snprintf(path, sizeof(path), TOP "/info/%s", file);
	if (fsroot_read(root, path, text, sizeof(text)) <= 0)
		return -1;
	v = strtoull(text, &end, base);
	return end == text || v > UINT32_MAX ? -1 : (int64_t)v;
}

/*
 * The line of a schemata that begins with "@name:", "  L3:0=7ff;1=7ff": ids and values, @base 16
 * or 10. Number of pairs; 0 no such line, or it is not understood.
 */
static int read_line(
	const char *schemata, const char *name, int base, int *ret_id, uint32_t *ret_value)
{
	size_t len = strlen(name);
	int n = 0;

	for (const char *p = schemata; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		const char *q = p + strspn(p, " ");
		char *end;

		if (strncmp(q, name, len) != 0 || q[len] != ':')
			continue;
		for (q += len + 1; n < RESCTRL_CACHES_MAX; q = end + 1) {
			ret_id[n] = (int)strtol(q, &end, 10);
			if (end == q || *end != '=')
				return 0;
			q = end + 1;
			ret_value[n] = (uint32_t)strtoul(q, &end, base);
			if (end == q)
				return 0;
			n++;
			if (*end != ';')
				return n;
		}
		return 0; /* more than we can hold */
	}
	return 0;
}

static bool is_contiguous(uint32_t mask)
{
	uint32_t shifted = mask ? mask >> __builtin_ctz(mask) : 0;

	return mask && (shifted & (shifted + 1)) == 0;
}

static void read_cache(const struct fsroot *root, const char *schemata, struct resctrl_caps *c)
{
	const char *dir = c->code_data ? "L3CODE" : "L3";
	uint32_t value[RESCTRL_CACHES_MAX];
	int64_t mask, least, shareable;
	char file[64];

	snprintf(file, sizeof(file), "%s/cbm_mask", dir);
	mask = read_info(root, file, 16);
	snprintf(file, sizeof(file), "%s/min_cbm_bits", dir);
	least = read_info(root, file, 10);
	snprintf(file, sizeof(file), "%s/shareable_bits", dir);
	shareable = read_info(root, file, 16);
	c->n_caches = read_line(schemata, dir, 16, c->cache, value);
	if (mask <= 0 || least < 0 || !is_contiguous((uint32_t)mask) || !c->n_caches)
		return;
	c->ways = (uint32_t)mask;
	c->n_ways = __builtin_popcount(c->ways);
	c->min_ways = least > 32 ? 32 : least > 1 ? (int)least : 1;
	c->shareable = shareable > 0 ? (uint32_t)shareable & c->ways : 0;
}

static void read_bandwidth(const struct fsroot *root, const char *schemata, struct resctrl_caps *c)
{
	int64_t step = read_info(root, "MB/bandwidth_gran", 10);
	int64_t least = read_info(root, "MB/min_bandwidth", 10);
	uint32_t value[RESCTRL_CACHES_MAX];

	c->n_domains = read_line(schemata, "MB", 10, c->domain, value);
	/* More than a hundred: AMD's eighths of GB/s, or MB/s by mount option. */
	if (step <= 0 || step > 100 || least < 0 || least > 100 || !c->n_domains || value[0] > 100)
		return;
	c->bandwidth_step = (int)step;
	c->bandwidth_least = least ? (int)least : (int)step;
}

static int64_t least_groups(const struct fsroot *root, const struct resctrl_caps *c)
{
	int64_t cache = read_info(root, c->code_data ? "L3CODE/num_closids" : "L3/num_closids", 10);
	int64_t mb = read_info(root, "MB/num_closids", 10);

	return cache < 0 ? mb : mb < 0 || cache < mb ? cache : mb;
}

int resctrl_open(
	struct resctrl **ret, const struct fsroot *root, struct ledger *ledger, struct errbuf *err)
{
	char schemata[TEXT_MAX];
	struct resctrl_caps c = {0};
	struct resctrl *r;
	int64_t groups;

	if (!fsroot_exists(root, TOP))
		return err_set(
			err, -ENOTSUP, "the kernel or the processor has no resctrl (no /" TOP ")");
	if (fsroot_read(root, TOP "/schemata", schemata, sizeof(schemata)) <= 0)
		return err_set(err, -ENOTSUP,
			"/" TOP " is not mounted (mount -t resctrl resctrl /" TOP ")");
	c.code_data = fsroot_exists(root, TOP "/info/L3CODE");
	read_cache(root, schemata, &c);
	read_bandwidth(root, schemata, &c);
	groups = least_groups(root, &c);
	c.n_groups = groups > 0 && groups < INT16_MAX ? (int)groups : 0;
	if (!c.n_ways && !c.bandwidth_step)
		return err_set(err, -ENOTSUP,
			"resctrl has neither ways of an L3 nor bandwidth in percent to give here");
	if (c.n_groups < 3)
		return err_set(err, -ENOTSUP, "resctrl has %d groups here: too few for clusters",
			c.n_groups);
	r = calloc(1, sizeof(*r));
	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	r->root = root;
	r->ledger = ledger;
	r->dirs = &real_dirs;
	r->caps = c;
	*ret = r;
	return 0;
}

void resctrl_close(struct resctrl *r)
{
	free(r);
}

const struct resctrl_caps *resctrl_get_caps(const struct resctrl *r)
{
	return &r->caps;
}

/* ---- shares -------------------------------------------------------------------------------- */

static int check_clusters(const struct resctrl_cluster *c, int n, struct errbuf *err)
{
	double sum = 0;

	if (n < 2 || n > RESCTRL_CLUSTERS_MAX)
		return err_set(
			err, -EINVAL, "%d clusters: 2 to %d make sense", n, RESCTRL_CLUSTERS_MAX);
	for (int i = 0; i < n; i++) {
		if (!(c[i].ways > 0 && c[i].ways <= 1))
			return err_set(err, -EINVAL, "cluster %d: %g is no part of the cache", i,
				c[i].ways);
		if (!(c[i].bandwidth >= 0 && c[i].bandwidth <= 1))
			return err_set(err, -EINVAL, "cluster %d: %g is no part of the bandwidth",
				i, c[i].bandwidth);
		sum += c[i].ways;
	}
	return sum > 1 + 1e-9
		       ? err_set(err, -EINVAL, "the clusters' parts of the cache sum to %g", sum)
		       : 0;
}

int resctrl_masks(const struct resctrl_caps *caps, const struct resctrl_cluster *c, int n,
	uint32_t *ret, struct errbuf *err)
{
	uint32_t usable = caps->ways & ~caps->shareable;
	int ways[RESCTRL_CLUSTERS_MAX] = {0}, total, used = 0, want = 0, at;
	double sum = 0;
	int rc = check_clusters(c, n, err);

	if (rc < 0)
		return rc;
	if (!is_contiguous(usable) || __builtin_popcount(usable) < n * caps->min_ways)
		usable = caps->ways;
	total = __builtin_popcount(usable);
	if (total < n * caps->min_ways)
		return err_set(err, -ERANGE, "%d ways are too few for %d clusters of %d", total, n,
			caps->min_ways);
	for (int i = 0; i < n; i++) {
		ways[i] = (int)floor(c[i].ways * total + 1e-9);
		if (ways[i] < caps->min_ways)
			ways[i] = caps->min_ways;
		used += ways[i];
		sum += c[i].ways;
	}
	want = (int)floor(sum * total + 1e-9);
	/* What rounding left over, to the largest remainders; what least sizes took too much, from
	 * the largest. */
	while (used < want) {
		int best = 0;

		for (int i = 1; i < n; i++)
			if (c[i].ways * total - ways[i] > c[best].ways * total - ways[best])
				best = i;
		ways[best]++;
		used++;
	}
	while (used > total) {
		int most = 0;

		for (int i = 1; i < n; i++)
			if (ways[i] > ways[most])
				most = i;
		ways[most]--;
		used--;
	}
	at = __builtin_ctz(usable);
	for (int i = 0; i < n; i++) {
		ret[i] = ~UINT32_C(0) >> (32 - ways[i]) << at; /* of 1 to 32 */
		at += ways[i];
	}
	return 0;
}

int resctrl_bandwidth(const struct resctrl_caps *caps, double part)
{
	int percent = (int)lround(part * 100 / caps->bandwidth_step) * caps->bandwidth_step;

	if (percent < caps->bandwidth_least)
		percent = caps->bandwidth_least;
	return percent > 100 ? 100 : percent;
}

/* ---- groups -------------------------------------------------------------------------------- */

static void group_path(char *ret, size_t size, int cluster, const char *file)
{
	if (cluster < 0)
		snprintf(ret, size, TOP "%s", file);
	else
		snprintf(ret, size, TOP "/" PREFIX "%d%s", cluster, file);
}

static void add_line(
	char *text, size_t size, const char *name, const int *id, int n, const char *value)
{
	size_t len = strlen(text);

	len += (size_t)snprintf(text + len, size - len, "%s:", name);
	for (int i = 0; i < n && len < size; i++)
		len += (size_t)snprintf(
			text + len, size - len, "%s%d=%s", i ? ";" : "", id[i], value);
	if (len < size)
		snprintf(text + len, size - len, "\n");
}

/* Do all of a line's values read @want? */
static bool reads(const char *schemata, const char *name, int base, uint32_t want)
{
	uint32_t value[RESCTRL_CACHES_MAX];
	int id[RESCTRL_CACHES_MAX], n = read_line(schemata, name, base, id, value);

	for (int i = 0; i < n; i++)
		if (value[i] != want)
			return false;
	return n > 0;
}

/* One line a write: the kernel takes all of a line or nothing. */
static int set_line(struct resctrl *r, int cluster, const char *name, const int *id, int n,
	uint32_t value, int base, struct errbuf *err)
{
	char path[96], text[TEXT_MAX] = "", now[TEXT_MAX] = "", word[16];
	int rc;

	snprintf(word, sizeof(word), base == 16 ? "%" PRIx32 : "%" PRIu32, value);
	add_line(text, sizeof(text), name, id, n, word);
	group_path(path, sizeof(path), cluster, "/schemata");
	rc = fsroot_write(r->root, path, text);
	if (rc == 0 && fsroot_read(r->root, path, now, sizeof(now)) < 0)
		rc = -EIO;
	if (rc < 0)
		return err_set(err, rc, "/%s: cannot write '%.80s': %s", path, text, strerror(-rc));
	return reads(now, name, base, value)
		       ? 0
		       : err_set(err, -EIO, "/%s: wrote %s of %s, reads otherwise", path, word,
				 name);
}

static int set_schemata(struct resctrl *r, int cluster, uint32_t mask,
	const struct resctrl_cluster *c, struct errbuf *err)
{
	const struct resctrl_caps *caps = &r->caps;
	int rc = 0;

	if (caps->n_ways && caps->code_data) {
		rc = set_line(r, cluster, "L3CODE", caps->cache, caps->n_caches, mask, 16, err);
		if (rc == 0)
			rc = set_line(
				r, cluster, "L3DATA", caps->cache, caps->n_caches, mask, 16, err);
	} else if (caps->n_ways) {
		rc = set_line(r, cluster, "L3", caps->cache, caps->n_caches, mask, 16, err);
	}
	if (rc == 0 && caps->bandwidth_step)
		rc = set_line(r, cluster, "MB", caps->domain, caps->n_domains,
			(uint32_t)(c->bandwidth > 0 ? resctrl_bandwidth(caps, c->bandwidth) : 100),
			10, err);
	return rc;
}

static bool is_ours(struct resctrl *r, const char *path)
{
	cleanup_free struct ledger_setting *row = NULL;
	int n = 0;

	return ledger_settings(r->ledger, path, WHAT, &row, &n, NULL) == 0 && n > 0;
}

static int make_group(struct resctrl *r, int cluster, struct errbuf *err)
{
	struct ledger_setting row = {.what = WHAT};
	int rc;

	group_path(row.path, sizeof(row.path), cluster, "");
	if (is_ours(r, row.path) && fsroot_exists(r->root, row.path))
		return 0;
	if (fsroot_exists(r->root, row.path))
		return err_set(err, -EEXIST, "/%s is not ours", row.path);
	rc = ledger_setting_add(r->ledger, &row, 1, err);
	if (rc < 0)
		return rc;
	rc = r->dirs->make(r->root, row.path);
	if (rc == 0)
		return 0;
	ledger_setting_forget(r->ledger, row.path, WHAT, NULL);
	return err_set(
		err, rc, "/%s: %s", row.path, rc == -ENOSPC ? "no group is left" : strerror(-rc));
}

int resctrl_remove(struct resctrl *r, const char *path, struct errbuf *err)
{
	int rc = r->dirs->remove(r->root, path);

	if (rc < 0 && rc != -ENOENT)
		return err_set(err, rc, "/%s: cannot remove: %s", path, strerror(-rc));
	return ledger_setting_forget(r->ledger, path, WHAT, err);
}

int resctrl_remove_left(
	const struct fsroot *root, struct ledger *ledger, const char *path, struct errbuf *err)
{
	struct resctrl r = {.root = root, .ledger = ledger, .dirs = &real_dirs};

	return resctrl_remove(&r, path, err);
}

int resctrl_clear(struct resctrl *r, struct errbuf *err)
{
	cleanup_free struct ledger_setting *row = NULL;
	int n, done = 0, first_rc = 0, rc = ledger_settings(r->ledger, NULL, WHAT, &row, &n, err);

	if (rc < 0)
		return rc;
	for (int i = 0; i < n; i++) {
		struct errbuf why = {""};

		rc = resctrl_remove(r, row[i].path, &why);
		if (rc == 0)
			done++;
		else if (!first_rc)
			first_rc = err_set(err, rc, "%s", why.text);
	}
	return first_rc ? first_rc : done;
}

int resctrl_set(struct resctrl *r, const struct resctrl_cluster *c, int n, struct errbuf *err)
{
	uint32_t mask[RESCTRL_CLUSTERS_MAX] = {0};
	int rc = check_clusters(c, n, err);

	if (rc == 0 && r->caps.n_ways)
		rc = resctrl_masks(&r->caps, c, n, mask, err);
	for (int i = 0; rc == 0 && i < n; i++)
		if (c[i].bandwidth > 0 && !r->caps.bandwidth_step)
			rc = err_set(err, -ENOTSUP, "no bandwidth to give by resctrl here");
	if (rc < 0)
		return rc;
	for (int i = 0; rc == 0 && i < n; i++) {
		rc = make_group(r, i, err);
		if (rc == 0)
			rc = set_schemata(r, i, mask[i], &c[i], err);
	}
	for (int i = n; rc == 0 && i < RESCTRL_CLUSTERS_MAX; i++) {
		char path[96];

		group_path(path, sizeof(path), i, "");
		if (is_ours(r, path))
			rc = resctrl_remove(r, path, err);
	}
	if (rc < 0)
		resctrl_clear(r, NULL);
	return rc;
}

/* ---- threads ------------------------------------------------------------------------------- */

static bool lists(const char *tasks, pid_t tid)
{
	for (const char *p = tasks; *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (atoi(p) == (int)tid)
			return true;
	return false;
}

/* -EBUSY: one of the threads is in a group that is not ours. */
static int check_foreign(struct resctrl *r, const pid_t *tid, int n, struct errbuf *err)
{
	cleanup_dir DIR *d = NULL;
	int fd = fsroot_openat(r->root, TOP, O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		return err_set(err, fd, "/" TOP ": %s", strerror(-fd));
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return -ENOMEM;
	}
	for (struct dirent *e; (e = readdir(d));) {
		cleanup_free char *tasks = NULL;
		char path[FILE_MAX];

		snprintf(path, sizeof(path), TOP "/%.240s", e->d_name);
		if (e->d_type != DT_DIR || e->d_name[0] == '.' || is_ours(r, path))
			continue;
		snprintf(path, sizeof(path), TOP "/%.240s/tasks", e->d_name);
		if (fsroot_read_alloc(r->root, path, &tasks) < 0)
			continue; /* info, mon_data, ...: no group */
		for (int i = 0; i < n; i++)
			if (lists(tasks, tid[i]))
				return err_set(err, -EBUSY,
					"thread %d is in /" TOP "/%.80s, not ours", (int)tid[i],
					e->d_name);
	}
	return 0;
}

int resctrl_assign(struct resctrl *r, struct actuate *a, const struct step_cgroup *s, int cluster,
	struct errbuf *err)
{
	char path[96];

	group_path(path, sizeof(path), cluster, "/tasks");
	for (int round = 0; round < ROUNDS_MAX; round++) {
		cleanup_free pid_t *tid = NULL;
		cleanup_free char *there = NULL;
		int n = 0, moved = 0, rc = actuate_get_ops(a)->threads(a, s, &tid, &n);

		if (rc < 0)
			return err_set(err, rc, "%s: cannot list its threads", s->step_path);
		rc = check_foreign(r, tid, n, err);
		if (rc < 0)
			return rc;
		rc = (int)fsroot_read_alloc(r->root, path, &there);
		for (int i = 0; rc >= 0 && i < n; i++) {
			char text[16];

			if (lists(there, tid[i]))
				continue;
			snprintf(text, sizeof(text), "%d\n", (int)tid[i]);
			rc = fsroot_write(r->root, path, text);
			if (rc == -ESRCH)
				rc = 0; /* ended */
			moved++;
		}
		if (rc < 0)
			return err_set(err, rc, "/%s: %s", path, strerror(-rc));
		if (!moved)
			return 0;
	}
	return err_set(err, -EAGAIN, "%s: its threads do not settle", s->step_path);
}
