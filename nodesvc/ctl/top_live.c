/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/ctl/top.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/ipc.h"

/* Signals wait but in ppoll(): nothing is lost between looking and sleeping. */
static volatile sig_atomic_t end_signal, resized;
static const int ENDS[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
#define N_ENDS (sizeof(ENDS) / sizeof(ENDS[0]))

static void on_signal(int sig)
{
	if (sig == SIGWINCH)
		resized = 1;
	else
		end_signal = sig;
}

static void watch_signals(sigset_t *ret_before)
{
	struct sigaction sa = {.sa_handler = on_signal};
	sigset_t wait;

	end_signal = resized = 0;
	sigemptyset(&wait);
	sigaddset(&wait, SIGWINCH);
	sigaction(SIGWINCH, &sa, NULL);
	for (size_t i = 0; i < N_ENDS; i++) {
		struct sigaction is;

		/* nohup's choice stands. */
		if (sigaction(ENDS[i], NULL, &is) == 0 && is.sa_handler == SIG_IGN)
			continue;
		sigaddset(&wait, ENDS[i]);
		sigaction(ENDS[i], &sa, NULL);
	}
	sigprocmask(SIG_BLOCK, &wait, ret_before);
}

static void unwatch_signals(const sigset_t *before)
{
	signal(SIGWINCH, SIG_DFL);
	for (size_t i = 0; i < N_ENDS; i++)
		signal(ENDS[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, before, NULL);
}

struct live {
	struct top_fetch *f;
	struct top_view *v;
	int64_t delay_ns, next_ns, left; /* left: rounds; below 0 no end */
	bool draw, anew, quit;
	int deaf; /* times that standard input was readable and had no key */
};

static void want(struct top_model *m, void *arg)
{
	struct live *l = arg;
	struct canvas *c = NULL;

	/* Which steps are in sight is known when they are laid out. */
	if (top_layout(m, l->v, &c) == 0)
		top_layout_want(m, l->v);
	free(c);
}

static int draw(struct live *l)
{
	struct top_model *m = l->f->m;
	struct canvas *c;
	int rc;

	top_term_size(&l->v->rows, &l->v->cols);
	rc = top_layout(m, l->v, &c);
	if (rc < 0)
		return rc;
	top_term_draw(c, l->anew);
	free(c);
	l->draw = l->anew = false;
	top_layout_want(m, l->v);
	return 0;
}

static void end_round(struct live *l, int rc, const struct errbuf *err)
{
	if (rc > 0)
		return;
	if (rc < 0)
		top_model_fail(l->f->m, err->text, top_unix_now());
	l->draw = true;
}

/* Steps that came into sight have no details yet. */
static bool lacks_details(const struct top_model *m)
{
	for (int i = 0; i < m->n; i++)
		if (m->step[i].wanted && m->step[i].asked == 0)
			return true;
	return false;
}

static void ask(struct live *l)
{
	struct errbuf err = {""};
	int64_t now = ipc_now_ns();

	if (!top_fetch_is_idle(l->f))
		return;
	if (now >= l->next_ns) {
		l->next_ns = now + l->delay_ns;
		if (l->left == 0)
			l->quit = true;
		else
			end_round(l, top_fetch_begin(l->f, false, &err), &err);
		l->left -= l->left > 0;
	} else if (!*l->f->m->error && lacks_details(l->f->m)) {
		end_round(l, top_fetch_begin(l->f, true, &err), &err);
	}
}

static void take_keys(struct live *l)
{
	int key, n = 0;

	for (; (key = top_term_key()) != TOP_KEY_NONE; n++) {
		switch (top_keys(l->v, l->f->m, key)) {
		case ACTION_NONE:
			break;
		case ACTION_QUIT:
			l->quit = true;
			break;
		case ACTION_ASK:
			l->next_ns = 0;
			break;
		case ACTION_REDRAW:
			l->anew = true;
			l->draw = true;
			break;
		case ACTION_DRAW:
			l->draw = true;
		}
	}
	l->deaf = n ? 0 : l->deaf + 1;
}

/* Until a key, a signal, an answer, or the time for something. */
static int wait_and_serve(struct live *l, const sigset_t *mask)
{
	struct pollfd p[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
		{.fd = top_fetch_fd(l->f), .events = POLLIN}};
	int64_t now = ipc_now_ns(), until = l->next_ns, left;
	struct errbuf err = {""};
	struct timespec ts;

	if (!top_fetch_is_idle(l->f))
		until = l->f->deadline_ns;
	left = until > now ? until - now : 0;
	ts.tv_sec = left / 1000000000;
	ts.tv_nsec = left % 1000000000;
	if (ppoll(p, 2, &ts, mask) < 0)
		return errno == EINTR ? 0 : -errno;
	if (p[0].revents)
		take_keys(l);
	/* End of file, or a terminal that is gone: readable for ever, and never a key. */
	if (p[0].revents & (POLLHUP | POLLERR | POLLNVAL) || l->deaf > 10)
		return -EIO;
	if (!top_fetch_is_idle(l->f) && (p[1].revents || ipc_now_ns() >= l->f->deadline_ns))
		end_round(l, top_fetch_go_on(l->f, &err), &err);
	return 0;
}

int top_live(struct top_fetch *f, struct top_view *v, int64_t delay_ns, int64_t count,
	struct errbuf *err)
{
	struct live l = {f, v, delay_ns, 0, count > 0 ? count : -1, true, false, false, 0};
	sigset_t before;
	int rc, sig;

	f->want = want;
	/* cppcheck-suppress autoVariables; taken back below */
	f->arg = &l;
	watch_signals(&before);
	rc = top_term_open(err);
	if (rc < 0) {
		unwatch_signals(&before);
		f->arg = NULL;
		return rc;
	}
	while (rc == 0 && !l.quit && !end_signal) {
		if (resized) {
			resized = 0;
			top_term_resize();
			l.draw = true;
		}
		if (l.draw)
			rc = draw(&l);
		ask(&l);
		if (rc == 0 && !l.quit && !l.draw)
			rc = wait_and_serve(&l, &before);
	}
	top_term_close();
	f->arg = NULL;
	sig = end_signal;
	unwatch_signals(&before);
	if (sig)
		raise(sig);
	return rc < 0 ? err_set(err, rc, rc == -EIO ? "the terminal is gone" : "out of memory") : 0;
}
