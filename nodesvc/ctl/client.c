/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/ctl/client.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/ipc.h"
#include "common/text.h"

/* An answer longer than this is no answer for people. */
#define TEXT_MAX ((size_t)256 << 20)

const char *client_socket_path(const char *option)
{
	const char *env = getenv("COLOC_SOCKET");

	if (option)
		return option;
	return env && *env ? env : CTL_SOCKET;
}

bool client_is_down(int rc)
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

int client_text_add(struct ctl_text *t, const char *more, size_t n, size_t max)
{
	if (t->len + n + 1 > t->size) {
		size_t size = (t->len + n + 1) * 2;
		char *bigger = size > max ? NULL : realloc(t->buf, size);

		if (!bigger)
			return size > max ? -EFBIG : -ENOMEM;
		t->buf = bigger;
		t->size = size;
	}
	memcpy(t->buf + t->len, more, n);
	t->len += n;
	t->buf[t->len] = '\0';
	return 0;
}

static int add(struct ctl_text *t, const char *text, struct errbuf *err)
{
	return client_text_add(t, text, strlen(text), TEXT_MAX) < 0
		       ? err_set(err, -ENOMEM, "colocd's answer is too long")
		       : 0;
}

int client_open(
	const char *socket_path, int timeout_ms, const struct ctl_request *rq, struct errbuf *err)
{
	cleanup_close int fd = ipc_connect(socket_path, deadline(timeout_ms), err);
	int rc = fd < 0 ? fd : send_request(fd, rq, timeout_ms, err);

	return rc < 0 ? rc : take_fd(fd);
}

int client_read(
	int fd, const char *socket_path, int timeout_ms, struct ctl_text *t, struct errbuf *err)
{
	struct msg m;
	const char *type, *text;
	int rc = ipc_recv(fd, &m, deadline(timeout_ms), err);

	if (rc < 0)
		return err_wrap(err, rc, "%s", socket_path);
	type = msg_get(&m, "type");
	if (strcmp(type, "ctl_end") == 0)
		return finish(&m, err);
	text = msg_get(&m, "json");
	if (strcmp(type, "ctl_part") != 0 || !text)
		return err_set(err, -EPROTO, "%s: unexpected answer '%s'", socket_path, type);
	rc = add(t, text, err);
	return rc < 0 ? rc : 1;
}

int client_call_text(const char *socket_path, int timeout_ms, const struct ctl_request *rq,
	char **ret, struct errbuf *err)
{
	cleanup_close int fd = client_open(socket_path, timeout_ms, rq, err);
	struct ctl_text t = {0};
	int rc = fd < 0 ? fd : add(&t, "", err);

	while (fd >= 0 && rc >= 0) {
		rc = client_read(fd, socket_path, timeout_ms, &t, err);
		if (rc == 0) {
			*ret = text_clean(t.buf);
			return 0;
		}
	}
	free(t.buf);
	return rc;
}
