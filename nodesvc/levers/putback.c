/* SPDX-License-Identifier: GPL-2.0-or-later */

#include <errno.h>
#include <stdlib.h>

#include "common/aside.h"
#include "nodesvc/levers/internal.h"
#include "nodesvc/base/log.h"

/* Of the loop's time, at once. */
#define SLICE_NS INT64_C(2000000)

struct putback {
	struct aside *work;
	struct actuate *a;
	struct step_cgroup cgroup;
	struct errbuf err;
	int rc;
};

static void put_back(void *arg)
{
	struct putback *b = arg;

	b->rc = actuate_get_ops(b->a)->restore(b->a, &b->cgroup, &b->err);
}

void putback_stop(struct step *s)
{
	if (!s->back)
		return;
	aside_end(s->back->work);
	free(s->back);
	s->back = NULL;
}

int putback_begin(struct levers *lv, struct step *s, struct errbuf *err)
{
	struct putback *b;
	int rc;

	putback_stop(s);
	b = calloc(1, sizeof(*b));
	if (b)
		*b = (struct putback){.a = lv->actuate, .cgroup = s->cgroup, .rc = -ECANCELED};
	/* Without a stack of its own: in one go, all the same. */
	if (!b || aside_start(&b->work, put_back, b, NULL) < 0) {
		free(b);
		return actuate_get_ops(lv->actuate)->restore(lv->actuate, &s->cgroup, err);
	}
	s->back = b;
	s->back_stop = putback_stop;
	if (!aside_go_on(b->work, SLICE_NS)) {
		if (lv->on->goes_on)
			lv->on->goes_on(lv->arg);
		return 1;
	}
	rc = b->rc;
	*err = b->err;
	putback_stop(s);
	return rc;
}

void putback_go_on(struct levers *lv, struct step *s)
{
	struct putback *b = s->back;

	if (!b || !aside_go_on(b->work, SLICE_NS))
		return;
	if (b->rc < 0) {
		log_error("step %s: restore: %s", s->id, b->err.text);
		owed_note(lv, b->err.text);
		health_error("step %s: restore: %.180s", s->id, b->err.text);
	} else {
		log_info("step %s: all its threads are as they were", s->id);
	}
	putback_stop(s);
}
