/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <unistd.h>

#include "nodesvc/counters/calls_internal.h"

/* A place that nobody has counted for so long is given back: it holds a file. */
#define KEPT_NS INT64_C(60000000000)
#define TIDY_NS INT64_C(5000000000)

int calls_keep_file(struct calls *c, const struct symbol_file *f)
{
	int room = -1;

	for (int i = 0; i < FILES_MAX; i++) {
		if (c->file[i].fd < 0) {
			room = i;
		} else if (c->file[i].dev == f->dev && c->file[i].ino == f->ino) {
			c->file[i].refs++;
			return i;
		}
	}
	if (room < 0 || f->fd < 0)
		return -1;
	c->file[room].fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 3);
	if (c->file[room].fd < 0)
		return -1;
	c->file[room].dev = f->dev;
	c->file[room].ino = f->ino;
	c->file[room].refs = 1;
	return room;
}

static void drop_place(struct calls *c, int i)
{
	struct call_request r = {.op = CALL_DROP, .n_probes = 1, .probe = {(uint32_t)i}};

	if (c->place[i].state != PLACE_FREE)
		c->send(c->arg, &r, -1);
	c->place[i].state = PLACE_FREE;
}

/* Places of it stay for a while, and with them the file: the next run wants them again. */
void calls_release_file(struct calls *c, int file)
{
	c->file[file].refs--;
}

void calls_tidy(struct calls *c, int64_t now_ns)
{
	if (now_ns - c->tidied_ns < TIDY_NS)
		return;
	c->tidied_ns = now_ns;
	for (int i = 0; i < CALLS_PROBES_ALL; i++) {
		struct place *p = &c->place[i];

		if (p->state != PLACE_FREE && !p->open && now_ns - p->used_ns > KEPT_NS)
			drop_place(c, i);
	}
	for (int f = 0; f < FILES_MAX; f++) {
		bool used = c->file[f].fd < 0 || c->file[f].refs > 0;

		for (int i = 0; i < CALLS_PROBES_ALL && !used; i++)
			used = c->place[i].state != PLACE_FREE && c->place[i].file == f;
		if (used)
			continue;
		close(c->file[f].fd);
		c->file[f].fd = -1;
	}
}

static int find_place(const struct calls *c, int file, uint64_t offset)
{
	for (int i = 0; i < CALLS_PROBES_ALL; i++)
		if (c->place[i].state != PLACE_FREE && c->place[i].file == file &&
			c->place[i].offset == offset)
			return i;
	return -1;
}

/* In place of the one that is not counted for longest. */
static int free_place(struct calls *c)
{
	int oldest = -1;

	for (int i = 0; i < CALLS_PROBES_ALL; i++) {
		const struct place *p = &c->place[i];

		if (p->state == PLACE_FREE)
			return i;
		if (!p->open && (oldest < 0 || p->used_ns < c->place[oldest].used_ns))
			oldest = i;
	}
	if (oldest >= 0)
		drop_place(c, oldest);
	return oldest;
}

/* Its index; -1: there is none free. The worker has it when it says so. */
int calls_get_place(struct calls_step *s, int file, uint64_t offset, int64_t now_ns)
{
	struct calls *c = s->c;
	int i = find_place(c, file, offset);

	if (i < 0) {
		struct call_request r = {
			.op = CALL_PROBE, .n_probes = 1, .offset = offset, .owner = s->uid};

		i = free_place(c);
		if (i < 0)
			return -1;
		r.probe[0] = (uint32_t)i;
		if (c->send(c->arg, &r, c->file[file].fd) < 0)
			return -1;
		c->place[i] = (struct place){.state = PLACE_ASKED, .file = file, .offset = offset};
	}
	c->place[i].used_ns = now_ns;
	return i;
}

void calls_forget_open(struct calls_step *s)
{
	for (int i = 0; s->open && i < s->n_open; i++)
		s->c->place[s->open_place[i]].open--;
	s->open = s->closing = s->attended = false;
}
