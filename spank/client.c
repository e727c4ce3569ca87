/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/client.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "common/ipc.h"

/*
 * timeout_ms is what a step may be delayed by, not what we may wait: a part is kept for waking up
 * on a busy node and for what else the plugin does.
 */
#define BUDGET_NS_PER_MS INT64_C(950000)

void client_init(struct client *c, const char *path, int timeout_ms)
{
	*c = (struct client){.path = path,
		.fd = -1,
		.owner = getpid(),
		.budget_ns = timeout_ms * BUDGET_NS_PER_MS};
}

void client_done(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

static bool is_lost(int rc)
{
	return rc == -EPIPE || rc == -ECONNRESET || rc == -ENOTCONN;
}

/* Once over the connection there is or a new one; @ret NULL: no reply is waited for. */
static int talk(struct client *c, const struct msg *m, struct msg *ret, int64_t deadline_ns,
	struct errbuf *err)
{
	int rc;

	if (c->fd < 0) {
		rc = ipc_connect(c->path, deadline_ns, err);
		if (rc < 0)
			return rc;
		c->fd = rc;
	}
	rc = ipc_send(c->fd, m, deadline_ns, err);
	if (rc == 0 && ret)
		rc = ipc_recv(c->fd, ret, deadline_ns, err);
	/* After a failure a late reply could be taken for the answer to something else. */
	if (rc < 0)
		client_done(c);
	return rc;
}

static int talk_again(struct client *c, const struct msg *m, struct msg *ret, int64_t deadline_ns,
	struct errbuf *err)
{
	bool had_one = c->fd >= 0;
	int rc;

	if (c->owner != getpid())
		return err_set(err, -EPERM, "process %d did not open this", (int)getpid());
	rc = talk(c, m, ret, deadline_ns, err);
	return had_one && is_lost(rc) ? talk(c, m, ret, deadline_ns, err) : rc;
}

int client_ask(struct client *c, const struct msg *m, struct msg *ret, struct errbuf *err)
{
	int64_t start = ipc_now_ns();
	int rc = talk_again(c, m, ret, start + c->budget_ns, err);

	c->budget_ns -= ipc_now_ns() - start;
	if (c->budget_ns < 0)
		c->budget_ns = 0;
	return rc;
}

int client_tell(struct client *c, const struct msg *m, struct errbuf *err)
{
	return talk_again(c, m, NULL, ipc_now_ns(), err);
}
