/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpus.c - reads and writes cpuset.cpus; every error names the file, the value and what the
 * kernel's answer means there.
 */
#include "nodesvc/actuate/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int read_file(const struct fsroot *root, const char *dir, const char *file, char *text,
	size_t size, struct coreset *ret, struct errbuf *err)
{
	char path[FILE_MAX], full[CPUS_TEXT_MAX];
	struct coreset set;
	ssize_t n;
	int rc;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	/* A cpuset's file comes in one piece; one that fills the buffer is looked at again. */
	n = fsroot_read_once(root, path, full, sizeof(full));
	if (n == (ssize_t)sizeof(full) - 1)
		n = fsroot_read(root, path, full, sizeof(full));
	if (n == -ENODEV)
		n = -ENOENT; /* the directory went while the file was open */
	if (n < 0)
		return err_set(err, (int)n, "%s: %s", path, strerror((int)-n));
	rc = coreset_parse(&set, full, err);
	if (rc < 0)
		return err_wrap(err, rc, "%s", path);
	if (text)
		snprintf(text, size, "%.*s", (int)strcspn(full, "\n"), full);
	if (ret)
		*ret = set;
	return 0;
}

int cpus_read_file(const struct fsroot *root, const char *dir, const char *file,
	struct coreset *ret, struct errbuf *err)
{
	return read_file(root, dir, file, NULL, 0, ret, err);
}

int cpus_read_text(const struct fsroot *root, const char *dir, char *text, size_t size,
	struct coreset *ret, struct errbuf *err)
{
	return read_file(root, dir, "cpuset.cpus", text, size, ret, err);
}

int cpus_read(const struct fsroot *root, const char *dir, struct coreset *ret, struct errbuf *err)
{
	return read_file(root, dir, "cpuset.cpus", NULL, 0, ret, err);
}

int cpus_check(const struct fsroot *root, const char *dir, const char *file,
	const struct coreset *set, struct errbuf *err)
{
	char want[CORESET_STR_MAX], got[CORESET_STR_MAX];
	struct coreset now;
	int rc = cpus_read_file(root, dir, file, &now, err);

	if (rc < 0 || coreset_is_equal(&now, set))
		return rc;
	return err_set(err, -EIO, "%s/%s: wrote '%.40s', reads '%.40s'", dir, file,
		coreset_format(set, want, sizeof(want)), coreset_format(&now, got, sizeof(got)));
}

static const char *meaning(int rc)
{
	switch (rc) {
	case -EACCES:
		return "not inside the level above";
	case -EBUSY:
		return "a level below holds more";
	case -ERANGE:
		return "no such CPU";
	case -ENOSPC:
		return "it would be left with threads and no CPU";
	case -ENOENT:
	case -ENODEV:
		return "the step has ended";
	default:
		return strerror(-rc);
	}
}

int cpus_write(
	const struct fsroot *root, const char *dir, const struct coreset *set, struct errbuf *err)
{
	char path[FILE_MAX], want[CORESET_STR_MAX];
	struct coreset now;
	int rc = cpus_read(root, dir, &now, err);

	if (rc < 0)
		return rc;
	if (coreset_is_equal(&now, set))
		return 0;
	snprintf(path, sizeof(path), "%s/cpuset.cpus", dir);
	coreset_format(set, want, sizeof(want));
	/* No bytes at all would be no write. */
	rc = fsroot_write(root, path, *want ? want : "\n");
	if (rc == -ENODEV)
		rc = -ENOENT;
	if (rc < 0)
		return err_set(err, rc, "%s: cannot write '%.60s': %s", path, want, meaning(rc));
	return cpus_check(root, dir, "cpuset.cpus", set, err);
}

int cpus_cut_to_above(const struct fsroot *root, const char *dir, const char *effective,
	const struct coreset *set, struct coreset *ret, struct errbuf *err)
{
	char above[FILE_MAX];
	struct coreset allowed;
	char *slash;
	int rc;

	snprintf(above, sizeof(above), "%s", dir);
	slash = strrchr(above, '/');
	if (!slash)
		return err_set(err, -EINVAL, "%s: no level above", dir);
	*slash = '\0';
	rc = cpus_read_file(root, above, effective, &allowed, err);
	if (rc < 0)
		return rc;
	coreset_and(ret, set, &allowed);
	if (coreset_is_empty(ret))
		*ret = allowed;
	return 0;
}

int cpus_put_back(const struct fsroot *root, const char *dir, const char *effective,
	const struct coreset *set, struct coreset *ret, struct errbuf *err)
{
	struct coreset want = *set;
	int rc = -EINVAL;

	if (strcmp(effective, "cpuset.cpus") != 0)
		rc = cpus_write(root, dir, &want, err);
	/* Twice: the level above may change in between. */
	for (int i = 0; i < 2 && rc < 0 && rc != -ENOENT; i++) {
		rc = cpus_cut_to_above(root, dir, effective, set, &want, err);
		if (rc < 0)
			break;
		rc = cpus_write(root, dir, &want, err);
	}
	if (rc == 0)
		*ret = want;
	return rc;
}
