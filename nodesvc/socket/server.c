/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server.c - the socket: connections, peers, quotas, dispatch.
 *
 * Every message is answered in the callback that read it; answers that do not fit into the
 * socket's buffer wait in the connection's queue. Steps and tasks are root's to register; what
 * others may ask is ctl.c's to decide.
 *
 * Nobody but root can use the daemon up (doc/security.md): a user holds CONNS_PER_UID connections,
 * all users together half of them; what answering a user costs is measured, and who has had his
 * share of the loop's time waits; and what users do wrong fills no log.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ipc.h"
#include "common/msg.h"
#include "nodesvc/base/log.h"
#include "nodesvc/socket/internal.h"
#include "nodesvc/steps/steps.h"
#include "nodesvc/socket/socket.h"

#define CONNS_MAX     2048
#define CONNS_PER_UID 16
/* Of all users but root: their number is no limit where a user owns a range of ids. */
#define CONNS_OF_USERS 1024
/* So long after somebody touched the socket's file it is looked for, and when it could not be put
 * back, again. */
#define LOOK_MS  200
#define AGAIN_MS 5000
/* At most; a plugin waits 250 for all. */
#define WHOSE_MS 100
/* Bytes of answer waiting in one connection: of a user, and of root, who sees what all have. */
#define QUEUE_MAX         (4u << 20)
#define QUEUE_OF_ROOT_MAX (64u << 20)

/* One part in so many of the loop's time is a user's, or all users'. */
#define SHARE_OF_ONE INT64_C(10)
#define SHARE_OF_ALL INT64_C(3)
/* Time that may be saved up: some 50 ms of answers at once for one user. */
#define SAVED_NS    INT64_C(500000000)
#define PEERS_MAX   64
#define COMPLAINTS  5 /* in */
#define COMPLAIN_NS INT64_C(10000000000)
/* Processes without pages ask again, every few minutes: what each of so many was told is known. */
#define REFUSED_MAX 16

struct packet {
	struct packet *next;
	size_t len;
	char data[];
};

/* A user's use of the daemon's time, kept beyond his connections. */
struct peer {
	uint32_t uid;
	int64_t free_at_ns; /* before this he waits; 0: not in use */
};

struct conn {
	struct server *server;
	struct loop_source *source;
	int fd;
	uint32_t uid;
	pid_t pid;
	bool waits; /* for its user's next share of time, or */
	/* ... so long for slurmctld's word on the job it is about to register; 0 not */
	int64_t whose_until_ns;
	uint32_t whose_job;
	bool whose_asked; /* for the message that waits in its socket */
	uint32_t events;  /* asked of the loop */
	struct packet *head, **tail;
	size_t queued;
	struct conn *next, **prev;
};

struct server {
	struct socket k;
	struct listener listener;
	struct loop_source *source;       /* NULL: it was taken away, and is not back yet */
	struct loop_source *look, *watch; /* watch NULL: no inotify */
	int watch_fd, look_rc;            /* of the last attempt to put it back */
	struct conn *conns;
	int n_conns, n_of_users;
	bool full_logged;
	int spare_fd; /* to have one when there are no more */
	struct peer peer[PEERS_MAX];
	int64_t all_free_at_ns;
	struct loop_source *wake;
	int64_t wake_at_ns; /* 0: not set */
	int64_t complain_ns;
	int n_complaints;
	pid_t refused[REFUSED_MAX];
	int next_refused;
	struct msg in, out; /* 32 KiB each: not on the stack */
};

static void conn_close(struct conn *c)
{
	struct server *s = c->server;

	loop_remove(s->k.loop, c->source);
	close(c->fd);
	*c->prev = c->next;
	if (c->next)
		c->next->prev = c->prev;
	s->n_conns--;
	s->n_of_users -= c->uid != 0;
	s->full_logged = false;
	while (c->head) {
		struct packet *p = c->head;

		c->head = p->next;
		free(p);
	}
	free(c);
}

/* ---- what a user may use -------------------------------------------------------------------- */

/* A warning about what a user did; he cannot fill the log with them. */
static void complain(struct server *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void complain(struct server *s, const char *fmt, ...)
{
	int64_t now = ipc_now_ns();
	char text[256];
	va_list ap;

	if (now - s->complain_ns >= COMPLAIN_NS) {
		if (s->n_complaints > COMPLAINTS)
			log_warning("%d more of the kind", s->n_complaints - COMPLAINTS);
		s->complain_ns = now;
		s->n_complaints = 0;
	}
	if (++s->n_complaints > COMPLAINTS)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_warning("%s", text);
}

static int64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* His record; a new one takes the place of the one that has waited for nothing longest. */
static struct peer *peer_of(struct server *s, uint32_t uid)
{
	struct peer *oldest = &s->peer[0];

	for (int i = 0; i < PEERS_MAX; i++) {
		if (s->peer[i].free_at_ns && s->peer[i].uid == uid)
			return &s->peer[i];
		if (s->peer[i].free_at_ns < oldest->free_at_ns)
			oldest = &s->peer[i];
	}
	*oldest = (struct peer){.uid = uid, .free_at_ns = 1};
	return oldest;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void charge(struct server *s, uint32_t uid, int64_t cost_ns)
{
	struct peer *p = peer_of(s, uid);
	int64_t saved = ipc_now_ns() - SAVED_NS;

	p->free_at_ns = later(p->free_at_ns, saved) + cost_ns * SHARE_OF_ONE;
	s->all_free_at_ns = later(s->all_free_at_ns, saved) + cost_ns * SHARE_OF_ALL;
}

/* When he may ask again; not in the future: now. */
static int64_t free_at(struct server *s, uint32_t uid)
{
	return uid == 0 ? 0 : later(peer_of(s, uid)->free_at_ns, s->all_free_at_ns);
}

static uint32_t wanted_events(const struct conn *c)
{
	return (c->waits ? 0 : (uint32_t)EPOLLIN) | (c->head ? (uint32_t)EPOLLOUT : 0);
}

static void ask_events(struct conn *c)
{
	uint32_t events = wanted_events(c);

	if (events != c->events && loop_set_events(c->server->k.loop, c->source, events) == 0)
		c->events = events;
}

static void on_wake(void *arg)
{
	struct server *s = arg;
	int64_t now = ipc_now_ns(), next = 0;

	for (struct conn *c = s->conns; c; c = c->next) {
		int64_t at;

		if (!c->waits)
			continue;
		at = c->whose_until_ns ? c->whose_until_ns : free_at(s, c->uid);
		if (at <= now) {
			c->waits = false;
			c->whose_until_ns = 0;
			ask_events(c);
		} else if (!next || at < next) {
			next = at;
		}
	}
	s->wake_at_ns = next;
	if (next)
		loop_set_timer_at(s->wake, next);
}

static void wait_until(struct conn *c, int64_t at)
{
	c->waits = true;
	if (!c->server->wake_at_ns || at < c->server->wake_at_ns) {
		c->server->wake_at_ns = at;
		loop_set_timer_at(c->server->wake, at);
	}
}

/*
 * A step whose partition or account decides waits a part of the plugin's patience for slurmctld's
 * word on them, so that it is placed before it starts. Nobody waits with it.
 */
static bool must_learn(struct conn *c)
{
	struct server *s = c->server;
	int64_t job, ms = WHOSE_MS;
	struct whose_job known;
	ssize_t n;

	if (c->uid != 0 || c->whose_asked || !registration_goes_by_job(s->k.conf))
		return false;
	n = recv(c->fd, s->in.buf, sizeof(s->in.buf), MSG_DONTWAIT | MSG_TRUNC | MSG_PEEK);
	if (n <= 0 || (size_t)n > sizeof(s->in.buf))
		return false;
	s->in.len = (size_t)n;
	if (msg_check(&s->in, NULL) < 0 || strcmp(msg_get(&s->in, "type"), "step_start") != 0 ||
		msg_get_int(&s->in, "job", 1, UINT32_MAX, &job, NULL) < 0 ||
		whose_ask(s->k.jobs->whose, (uint32_t)job, &known))
		return false;
	if (msg_get_int(&s->in, "timeout_ms", 1, INT32_MAX, &ms, NULL) == 0)
		ms = ms / 2 < WHOSE_MS ? ms / 2 : WHOSE_MS;
	c->whose_asked = true;
	c->whose_job = (uint32_t)job;
	c->whose_until_ns = ipc_now_ns() + ms * 1000000;
	wait_until(c, c->whose_until_ns);
	return true;
}

void server_learned(struct server *s, uint32_t job_id)
{
	for (struct conn *c = s ? s->conns : NULL; c; c = c->next) {
		if (!c->whose_until_ns || c->whose_job != job_id)
			continue;
		c->waits = false;
		c->whose_until_ns = 0;
		ask_events(c);
	}
}

/* True: not now; what it has sent stays in its socket. */
static bool must_wait(struct conn *c)
{
	int64_t at = free_at(c->server, c->uid);

	if (at <= ipc_now_ns())
		return must_learn(c);
	wait_until(c, at);
	return true;
}

/* 0, or -errno when the connection is of no use any more. */
static int conn_flush(struct conn *c)
{
	while (c->head) {
		struct packet *p = c->head;

		if (send(c->fd, p->data, p->len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		c->head = p->next;
		if (!c->head)
			c->tail = &c->head;
		c->queued -= p->len;
		free(p);
	}
	return 0;
}

static size_t queue_max(const struct conn *c)
{
	return c->uid ? QUEUE_MAX : QUEUE_OF_ROOT_MAX;
}

static int conn_send(struct conn *c, const struct msg *m)
{
	struct packet *p;

	if (m->overflow)
		return -EMSGSIZE;
	if (!c->head && send(c->fd, m->buf, m->len, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return 0;
	if (!c->head && errno != EAGAIN && errno != EINTR)
		return -errno;
	if (c->queued + m->len > queue_max(c))
		return -ENOBUFS;
	p = malloc(sizeof(*p) + m->len);
	if (!p)
		return -ENOMEM;
	p->next = NULL;
	p->len = m->len;
	memcpy(p->data, m->buf, m->len);
	*c->tail = p;
	c->tail = &p->next;
	c->queued += p->len;
	return 0;
}

static int answer_ctl(struct conn *c, struct msg *in, struct msg *out)
{
	cleanup_free char *json = NULL;
	struct errbuf err = {.text = ""};
	int status = ctl_run(&c->server->k, c->uid, in, &json, &err), rc = 0;
	size_t len = json ? strlen(json) : 0;

	/* With what each part has around it, and room for the end. */
	if (len + len / 64 > queue_max(c) - MSG_MAX) {
		status = err_set(&err, -EFBIG,
			"the answer would be too long (%zu MiB): ask for less at once", len >> 20);
		len = 0;
	}
	for (size_t at = 0; at < len && rc == 0; at += MSG_PART) {
		char piece[MSG_PART + 1];
		size_t n = len - at < MSG_PART ? len - at : MSG_PART;

		memcpy(piece, json + at, n);
		piece[n] = '\0';
		msg_init(out, "ctl_part");
		msg_put(out, "json", piece);
		rc = conn_send(c, out);
	}
	msg_init(out, "ctl_end");
	msg_putf(out, "rc", "%d", status < 0 ? 1 : 0);
	if (status < 0)
		msg_put(out, "error", err.text);
	return rc < 0 ? rc : conn_send(c, out);
}

/* Once for a process. */
static void complain_refused(struct conn *c, const char *reason)
{
	struct server *s = c->server;

	for (int i = 0; i < REFUSED_MAX; i++)
		if (s->refused[i] == c->pid)
			return;
	s->refused[s->next_refused] = c->pid;
	s->next_refused = (s->next_refused + 1) % REFUSED_MAX;
	complain(s, "process %d of uid %u: no pages: %s", (int)c->pid, c->uid, reason);
}

static int answer_attach(struct conn *c, struct msg *out)
{
	int fds[2];

	if (attach_answer(&c->server->k, c->uid, c->pid, out, fds) < 0) {
		complain_refused(c, msg_get(out, "reason"));
		return conn_send(c, out);
	}
	/* Descriptors do not wait in a queue: a peer who has not read its answers asks again. */
	if (c->head)
		return -EAGAIN;
	return ipc_send_fds(c->fd, out, fds, 2, NULL);
}

/* 0 to go on, <0 to hang up. */
static int dispatch(struct conn *c, struct msg *in, struct msg *out)
{
	const struct socket_events *on = &c->server->k.on;
	const char *type = msg_get(in, "type");
	int rc;

	if (strcmp(type, "ctl") == 0)
		return answer_ctl(c, in, out);
	if (strcmp(type, "attach") == 0)
		return answer_attach(c, out);
	if (c->uid != 0) {
		complain(c->server, "uid %u sent '%.40s': only root registers steps", c->uid, type);
		return -EPERM;
	}
	rc = on->message(on->arg, in, out);
	if (rc > 0) {
		rc = conn_send(c, out);
		on->answered(on->arg);
	} else if (rc == -EPROTO) {
		log_warning("message of unknown type '%.40s' from uid %u", type, c->uid);
	}
	return rc;
}

static void on_conn(int fd, uint32_t events, void *arg)
{
	struct conn *c = arg;
	struct server *s = c->server;
	struct errbuf err;
	ssize_t n;
	int rc = 0;
	int64_t start_ns = c->uid ? cpu_ns() : 0;

	if (events & EPOLLOUT)
		rc = conn_flush(c);
	/* Gone while it waited: nobody is there to be answered. */
	if (c->waits && (events & (EPOLLHUP | EPOLLERR)))
		rc = -ECONNRESET;
	/* One message a turn: nobody keeps the loop to himself. */
	if (rc == 0 && !c->waits && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) && !must_wait(c)) {
		n = recv(fd, s->in.buf, sizeof(s->in.buf), MSG_DONTWAIT | MSG_TRUNC);
		c->whose_asked = false;
		if (n > 0 && (size_t)n <= sizeof(s->in.buf)) {
			s->in.len = (size_t)n;
			rc = msg_check(&s->in, &err);
			if (rc < 0)
				complain(s, "uid %u: %s", c->uid, err.text);
			else
				rc = dispatch(c, &s->in, &s->out);
		} else if (n > 0) {
			complain(s, "uid %u: message of %zd bytes, limit %d", c->uid, n, MSG_MAX);
			rc = -EMSGSIZE;
		} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
			rc = -ECONNRESET;
		}
	}
	if (c->uid)
		charge(s, c->uid, cpu_ns() - start_ns);
	if (rc < 0) {
		conn_close(c);
		return;
	}
	ask_events(c);
}

static int count_uid(const struct server *s, uint32_t uid)
{
	int n = 0;

	for (const struct conn *c = s->conns; c; c = c->next)
		n += c->uid == uid;
	return n;
}

/* Without a descriptor left, who knocks would be heard again and again: he is let in and out. */
static void turn_away(struct server *s, int fd)
{
	int cfd;

	close(s->spare_fd);
	cfd = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (cfd >= 0)
		close(cfd);
	s->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	complain(s, "no descriptor is left: a connection was turned away");
}

static void on_accept(int fd, uint32_t events, void *arg)
{
	struct server *s = arg;

	(void)events;
	for (;;) {
		int cfd = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct ucred cred;
		socklen_t len = sizeof(cred);
		struct conn *c;

		if (cfd < 0) {
			if (errno == EMFILE || errno == ENFILE)
				turn_away(s, fd);
			return;
		}
		if (getsockopt(cfd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0) {
			close(cfd);
			continue;
		}
		if (s->n_conns >= CONNS_MAX ||
			(cred.uid != 0 && (s->n_of_users >= CONNS_OF_USERS ||
						  count_uid(s, cred.uid) >= CONNS_PER_UID))) {
			if (!s->full_logged)
				log_warning("uid %u: too many connections", cred.uid);
			s->full_logged = true;
			close(cfd);
			continue;
		}
		c = calloc(1, sizeof(*c));
		if (!c || loop_add_fd(s->k.loop, cfd, EPOLLIN, on_conn, c, &c->source, NULL) < 0) {
			free(c);
			close(cfd);
			continue;
		}
		c->server = s;
		c->fd = cfd;
		c->uid = cred.uid;
		c->pid = cred.pid;
		c->tail = &c->head;
		c->events = EPOLLIN;
		c->next = s->conns;
		c->prev = &s->conns;
		if (c->next)
			c->next->prev = &c->next;
		s->conns = c;
		s->n_conns++;
		s->n_of_users += c->uid != 0;
	}
}

static int listen_on(struct server *s, struct errbuf *err)
{
	int rc = listener_open(&s->listener, s->k.conf->socket, err);

	if (rc < 0)
		return rc;
	rc = loop_add_fd(s->k.loop, s->listener.fd, EPOLLIN, on_accept, s, &s->source, err);
	if (rc < 0) {
		listener_close(&s->listener);
		return rc;
	}
	/* Its number of links: 0 when it is removed, or another takes its name. */
	if (s->watch)
		inotify_add_watch(s->watch_fd, s->listener.path, IN_ATTRIB | IN_MOVE_SELF);
	return 0;
}

/* The socket was taken away: listens there again. Connections that are open go on. */
static void on_look(void *arg)
{
	struct server *s = arg;
	struct errbuf err;
	int rc;

	if (s->source && listener_is_there(&s->listener))
		return;
	loop_remove(s->k.loop, s->source);
	if (s->source)
		listener_close(&s->listener);
	s->source = NULL;
	rc = listen_on(s, &err);
	if (rc == 0) {
		log_warning("%s was taken away: listens there again", s->k.conf->socket);
	} else {
		if (rc != s->look_rc)
			log_error("%s was taken away, and cannot be put back: %s",
				s->k.conf->socket, err.text);
		loop_set_timer(s->look, AGAIN_MS, 0);
	}
	s->look_rc = rc;
}

static void on_watch(int fd, uint32_t events, void *arg)
{
	struct server *s = arg;
	char drop[4096];

	(void)events;
	while (read(fd, drop, sizeof(drop)) > 0)
		;
	loop_set_timer(s->look, LOOK_MS, 0);
}

/* Without it, a socket that is taken away is put back at the next start only. */
static void watch_socket(struct server *s)
{
	s->watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (s->watch_fd >= 0 &&
		loop_add_fd(s->k.loop, s->watch_fd, EPOLLIN, on_watch, s, &s->watch, NULL) < 0)
		s->watch = NULL;
	if (!s->watch)
		log_warning("nobody tells when %s is taken away", s->k.conf->socket);
}

int server_create(struct server **ret, const struct socket *k, struct errbuf *err)
{
	struct server *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->k = *k;
	s->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	watch_socket(s);
	rc = loop_add_timer(k->loop, on_wake, s, &s->wake, err);
	if (rc == 0)
		rc = loop_add_timer(k->loop, on_look, s, &s->look, err);
	if (rc == 0)
		rc = listen_on(s, err);
	if (rc < 0) {
		server_free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void server_free(struct server *s)
{
	if (!s)
		return;
	while (s->conns)
		conn_close(s->conns);
	loop_remove(s->k.loop, s->wake);
	loop_remove(s->k.loop, s->look);
	loop_remove(s->k.loop, s->source);
	if (s->source)
		listener_close(&s->listener);
	loop_remove(s->k.loop, s->watch);
	if (s->watch_fd >= 0)
		close(s->watch_fd);
	close(s->spare_fd);
	free(s);
}
