/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/sim/task_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int grow(struct task_queue *q)
{
	int size = q->size ? 2 * q->size : 16;
	int *item = calloc((size_t)size, sizeof(*item));

	if (!item)
		return -ENOMEM;
	for (int i = 0; i < q->n; i++)
		item[i] = q->item[(q->head + i) & (q->size - 1)];
	free(q->item);
	q->item = item;
	q->size = size;
	q->head = 0;
	return 0;
}

int task_queue_push(struct task_queue *q, int task)
{
	if (q->n == q->size && grow(q))
		return -ENOMEM;
	q->item[(q->head + q->n++) & (q->size - 1)] = task;
	return 0;
}

int task_queue_newest(struct task_queue *q)
{
	return q->n > 0 ? q->item[(q->head + --q->n) & (q->size - 1)] : -1;
}

int task_queue_oldest(struct task_queue *q)
{
	int task;

	if (q->n == 0)
		return -1;
	task = q->item[q->head];
	q->head = (q->head + 1) & (q->size - 1);
	q->n--;
	return task;
}

void task_queue_done(struct task_queue *q)
{
	free(q->item);
	memset(q, 0, sizeof(*q));
}
