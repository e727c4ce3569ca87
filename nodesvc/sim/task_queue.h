/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * task_queue.h - a core's queues of tasks. Work-stealing queue: its core takes the newest, a thief
 * the oldest. Assembly queue: first in, first out.
 * Source: Chen et al., ICPP Workshops 2020, section 4.1.2.
 */
#ifndef COLOC_SIM_TASK_QUEUE_H
#define COLOC_SIM_TASK_QUEUE_H

struct task_queue {
	int *item;
	int head, n, size; /* size: a power of two, or 0 */
};

/* -ENOMEM: as before. */
int task_queue_push(struct task_queue *q, int task);
/* -1: empty. */
int task_queue_newest(struct task_queue *q);
int task_queue_oldest(struct task_queue *q);
void task_queue_done(struct task_queue *q);

#endif
