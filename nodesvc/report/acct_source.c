/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/report/acct_source.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/ctl/client.h"
#include "nodesvc/record/acct_query.h"

/* A row is some hundred bytes; its histories are bounded by the service. */
#define LINE_MAX_BYTES ((size_t)1 << 20)

int acct_source_store(const char *store, const char *filter,
	int (*row)(const char *json_row, void *arg), void *arg, struct errbuf *err)
{
	struct record *r = NULL;
	char path[PATH_MAX];
	int rc;

	if (snprintf(path, sizeof(path), "%s/coloc.db", store) >= (int)sizeof(path))
		return err_set(err, -ENAMETOOLONG, "--store: '%.80s...' is too long", store);
	rc = record_open(&r, path, true, err);
	if (rc == 0)
		rc = acct_query_json(r, 0, filter, row, arg, err);
	record_close(r);
	return rc;
}

/* Makes lines of the pieces that come. */
struct lines {
	char *buf;
	size_t len, size;
	int (*row)(const char *json_row, void *arg);
	void *arg;
};

static int keep(struct lines *l, const char *text, size_t len)
{
	if (l->len + len + 1 > l->size) {
		size_t size = (l->len + len + 1) * 2;
		char *bigger = size > LINE_MAX_BYTES ? NULL : realloc(l->buf, size);

		if (!bigger)
			return -ENOMEM;
		l->buf = bigger;
		l->size = size;
	}
	memcpy(l->buf + l->len, text, len);
	l->len += len;
	l->buf[l->len] = '\0';
	return 0;
}

static int take_piece(const char *text, size_t len, void *arg)
{
	struct lines *l = arg;
	const char *end = text + len, *newline;
	int rc = 0;

	while (rc == 0 && (newline = memchr(text, '\n', (size_t)(end - text)))) {
		rc = keep(l, text, (size_t)(newline - text));
		if (rc == 0 && l->len > 0)
			rc = l->row(l->buf, l->arg);
		l->len = 0;
		text = newline + 1;
	}
	return rc ? rc : keep(l, text, (size_t)(end - text));
}

int acct_source_daemon(const char *socket_path, const char *filter,
	int (*row)(const char *json_row, void *arg), void *arg, struct errbuf *err)
{
	struct ctl_request rq = {.cmd = "acct", .json = filter};
	struct lines l = {.row = row, .arg = arg};
	int rc = ctl_call(socket_path, CTL_TIMEOUT_MS, &rq, take_piece, &l, err);

	if (rc == -ENOMEM)
		err_set(err, rc, "colocd sent a row that is too long");
	if (rc == 0 && l.len > 0)
		rc = row(l.buf, arg); /* the last line may lack its end */
	if (ctl_is_down(rc))
		err_wrap(err, rc, "colocd does not answer (users read their rows through it)");
	free(l.buf);
	return rc;
}
