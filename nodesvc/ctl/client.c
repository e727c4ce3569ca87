/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/ctl/client.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/ipc.h"

/* An answer longer than this is no answer for people. */
#define TEXT_MAX ((size_t)256 << 20)

const char *ctl_socket_path(const char *option)
{
	const char *env = getenv("COLOC_SOCKET");

	if (option)
		return option;
	return env && *env ? env : CTL_SOCKET;
}

bool ctl_is_down(int rc)
{
	return rc == -ENOENT || rc == -ECONNREFUSED || rc == -ETIMEDOUT || rc == -ECONNRESET ||
	       rc == -EPIPE;
}

static int64_t deadline(int timeout_ms)
{
	return ipc_now_ns() + (int64_t)timeout_ms * 1000000;
}

static int send_request(int fd, const struct ctl_request *rq, int timeout_ms, struct errbuf *err)
{
	struct msg m;

	msg_init(&m, "ctl");
	msg_put(&m, "cmd", rq->cmd);
	msg_put(&m, "job", rq->job);
	msg_put(&m, "tag", rq->tag);
	if (rq->all)
		msg_put(&m, "all", "1");
	msg_put(&m, "json", rq->json);
	return ipc_send(fd, &m, deadline(timeout_ms), err);
}

/* ctl_end: 0, or the daemon's refusal. */
static int finish(const struct msg *m, struct errbuf *err)
{
	const char *text = msg_get(m, "error");
	int64_t rc = 1;
	int bad = msg_get_int(m, "rc", 0, 1, &rc, err);

	if (bad < 0)
		return err_wrap(err, -EPROTO, "colocd's answer");
	if (rc == 0)
		return 0;
	return err_set(err, -EREMOTEIO, "%s", text && *text ? text : "colocd refused");
}

int ctl_call(const char *socket_path, int timeout_ms, const struct ctl_request *rq,
	int (*part)(const char *text, size_t len, void *arg), void *arg, struct errbuf *err)
{
	cleanup_close int fd = ipc_connect(socket_path, deadline(timeout_ms), err);
	int rc;

	if (fd < 0)
		return fd;
	rc = send_request(fd, rq, timeout_ms, err);
	while (rc == 0) {
		struct msg m;
		const char *type, *text;

		rc = ipc_recv(fd, &m, deadline(timeout_ms), err);
		if (rc < 0)
			return err_wrap(err, rc, "%s", socket_path);
		type = msg_get(&m, "type");
		if (strcmp(type, "ctl_end") == 0)
			return finish(&m, err);
		text = msg_get(&m, "json");
		if (strcmp(type, "ctl_part") != 0 || !text)
			return err_set(
				err, -EPROTO, "%s: unexpected answer '%s'", socket_path, type);
		rc = part(text, strlen(text), arg);
	}
	return rc;
}

struct text {
	char *buf;
	size_t len, size;
};

static int append(const char *text, size_t len, void *arg)
{
	struct text *t = arg;

	if (t->len + len + 1 > t->size) {
		size_t size = (t->len + len + 1) * 2;
		char *bigger = size > TEXT_MAX ? NULL : realloc(t->buf, size);

		if (!bigger)
			return -ENOMEM;
		t->buf = bigger;
		t->size = size;
	}
	memcpy(t->buf + t->len, text, len + 1);
	t->len += len;
	return 0;
}

int ctl_call_text(const char *socket_path, int timeout_ms, const struct ctl_request *rq, char **ret,
	struct errbuf *err)
{
	struct text t = {0};
	int rc;

	if (append("", 0, &t) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	rc = ctl_call(socket_path, timeout_ms, rq, append, &t, err);
	if (rc == -ENOMEM)
		err_set(err, rc, "colocd's answer is too long");
	if (rc < 0) {
		free(t.buf);
		return rc;
	}
	*ret = t.buf;
	return 0;
}
