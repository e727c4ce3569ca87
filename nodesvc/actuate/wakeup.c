/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/actuate/actuate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

#define GOVERNOR "sys/devices/system/cpu/cpuidle/current_governor"
#define DIR      "sys/module/haltpoll/parameters"
#define WHAT     LEDGER_WHAT_HALTPOLL
#define FILE_    DIR "/" WHAT

static int read_line(const struct fsroot *root, const char *path, char *ret, size_t size)
{
	ssize_t n = fsroot_read(root, path, ret, size);

	if (n < 0)
		return (int)n;
	ret[strcspn(ret, "\n")] = '\0';
	return 0;
}

static int fail(int rc, struct errbuf *err)
{
	return err_set(err, rc, "/" FILE_ ": %s", strerror(-rc));
}

static int write_line(const struct fsroot *root, const char *text)
{
	char line[66];

	snprintf(line, sizeof(line), "%s\n", text);
	return fsroot_write(root, FILE_, line);
}

static bool is_long_enough(const char *text)
{
	return strtoul(text, NULL, 10) >= WAKEUP_POLL_NS;
}

int wakeup_probe(const struct fsroot *root, bool *ret_polls, struct errbuf *err)
{
	char text[64];

	if (read_line(root, GOVERNOR, text, sizeof(text)) < 0)
		return err_set(err, -ENOTSUP, "the kernel has no cpuidle governor");
	if (strcmp(text, "haltpoll") != 0)
		return err_set(err, -ENOTSUP, "the cpuidle governor is %.40s, not haltpoll", text);
	if (read_line(root, FILE_, text, sizeof(text)) < 0)
		return err_set(err, -ENOTSUP, "/" FILE_ " cannot be read");
	*ret_polls = is_long_enough(text);
	return 0;
}

int wakeup_poll(const struct fsroot *root, struct ledger *ledger, struct errbuf *err)
{
	struct ledger_setting row = {.path = DIR, .what = WHAT};
	char text[sizeof(row.value)], wanted[16];
	int rc = read_line(root, FILE_, row.value, sizeof(row.value));

	if (rc < 0)
		return fail(rc, err);
	if (is_long_enough(row.value))
		return 0;
	rc = ledger_setting_add(ledger, &row, 1, err);
	if (rc < 0)
		return rc;
	snprintf(wanted, sizeof(wanted), "%d", WAKEUP_POLL_NS);
	rc = write_line(root, wanted);
	if (rc == 0)
		rc = read_line(root, FILE_, text, sizeof(text));
	if (rc < 0)
		return fail(rc, err);
	if (strcmp(text, wanted) != 0)
		return err_set(
			err, -EIO, "/" FILE_ ": '%s' was written, '%s' is there", wanted, text);
	return 0;
}

int wakeup_restore(const struct fsroot *root, struct ledger *ledger, struct errbuf *err)
{
	cleanup_free struct ledger_setting *row = NULL;
	char text[sizeof(row->value)], ours[16];
	int n, rc = ledger_settings(ledger, DIR, WHAT, &row, &n, err);

	if (rc < 0 || n == 0)
		return rc;
	snprintf(ours, sizeof(ours), "%d", WAKEUP_POLL_NS);
	rc = read_line(root, FILE_, text, sizeof(text));
	/* What another hand wrote since is its. */
	if (rc == 0 && strcmp(text, ours) == 0)
		rc = write_line(root, row->value);
	if (rc < 0 && rc != -ENOENT)
		return fail(rc, err);
	rc = ledger_setting_forget(ledger, DIR, WHAT, err);
	return rc < 0 ? rc : 1;
}
