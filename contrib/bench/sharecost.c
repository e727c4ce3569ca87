/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sharecost - what it costs programs of several threads to share cores by time, beyond getting
 * fewer of them. One JSON object on stdout; contrib/bench/oversubscribe runs it.
 *
 * Jobs (processes) of one thread per CPU run one kernel, alone and then 2, 3 and 4 at once, with
 * nothing bound. "cost" is how much slower a job is than its part of the CPUs explains:
 * rate alone / jobs / rate - 1. "per_thread" divides it by the runnable threads too many per CPU,
 * as the simulated machine does (its lock_holder penalty; the compute kernel gives its context
 * penalty). Every figure is the median of three; one with more than 2 % of foreign cpu time or
 * steal is run again, at most five times, then marked disturbed.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/out.h"
#include "contrib/bench/machinetime.h"
#include "contrib/bench/number.h"

#define JOBS_MAX    4
#define THREADS_MAX 64
#define REPEATS     3
#define WORK_US     50 /* between two meetings of a job's threads */

struct job {
	int threads;
	pthread_barrier_t barrier;
	atomic_int arrived, sense;  /* spinning barrier */
	atomic_int ticket, serving; /* spin lock, in order of arrival */
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int stage;          /* pipeline: whose turn it is */
	atomic_int mail[2]; /* polling: message to thread 0, 1, as its number */
	atomic_long done;   /* rounds */
	atomic_bool *stop;
};

struct shared {
	atomic_bool go, stop;
	long rounds[JOBS_MAX];
};

struct thread {
	struct job *job;
	int number;
	void (*kernel)(struct thread *t);
	pthread_t id;
};

static long loops_per_us = 100;
static volatile unsigned long sink;

static void work(int us)
{
	unsigned long x = 1;

	for (long i = loops_per_us * us; i > 0; i--)
		x = x * 6364136223846793005UL + 1;
	sink = x;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool stopped(const struct job *j)
{
	return atomic_load_explicit(j->stop, memory_order_relaxed);
}

/* Nothing in common: only context switches and caches. */
static void compute(struct thread *t)
{
	while (!stopped(t->job)) {
		work(WORK_US);
		if (t->number == 0)
			t->job->done++;
	}
}

/* A barrier whose waiters sleep: OpenMP with a passive wait policy. */
static void barrier_sleep(struct thread *t)
{
	static atomic_bool last;

	for (bool over = false; !over;) {
		work(WORK_US);
		/* One thread decides for all, or some would wait for ever. */
		/* NOLINTNEXTLINE(bugprone-posix-return): POSIX lets it return -1, here alone */
		if (pthread_barrier_wait(&t->job->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
			last = stopped(t->job);
			t->job->done++;
		}
		pthread_barrier_wait(&t->job->barrier);
		over = last;
	}
}

/* A barrier whose waiters spin: an active wait policy. */
static void barrier_spin(struct thread *t)
{
	struct job *j = t->job;

	for (int mine = 1; !stopped(j); mine = !mine) {
		work(WORK_US);
		if (atomic_fetch_add(&j->arrived, 1) == j->threads - 1) {
			j->arrived = 0;
			j->done++;
			j->sense = mine;
		}
		while (j->sense != mine && !stopped(j))
			;
	}
}

/* A fair spin lock: every waiter waits for one that may not be running. */
static void spin_lock(struct thread *t)
{
	struct job *j = t->job;

	while (!stopped(j)) {
		int mine;

		work(WORK_US);
		mine = atomic_fetch_add(&j->ticket, 1);
		while (j->serving != mine && !stopped(j))
			;
		work(WORK_US / 10);
		j->done++;
		j->serving++;
	}
}

/* A ring of stages that wake one another: mostly asleep. */
static void pipeline(struct thread *t)
{
	struct job *j = t->job;

	while (!stopped(j)) {
		pthread_mutex_lock(&j->mutex);
		while (j->stage != t->number && !stopped(j))
			pthread_cond_wait(&j->changed, &j->mutex);
		pthread_mutex_unlock(&j->mutex);
		work(WORK_US);
		pthread_mutex_lock(&j->mutex);
		j->stage = (t->number + 1) % j->threads;
		j->done++;
		pthread_cond_broadcast(&j->changed);
		pthread_mutex_unlock(&j->mutex);
	}
	pthread_mutex_lock(&j->mutex);
	pthread_cond_broadcast(&j->changed);
	pthread_mutex_unlock(&j->mutex);
}

/* Two ranks that exchange messages and poll for them, as MPI does inside a node. */
static void polling(struct thread *t)
{
	struct job *j = t->job;
	int other = t->number ^ 1;

	if (t->number > 1 || j->threads < 2)
		return;
	for (int round = 1; !stopped(j); round++) {
		work(WORK_US);
		j->mail[other] = round;
		while (j->mail[t->number] < round && !stopped(j))
			;
		if (t->number == 0)
			j->done++;
	}
}

static const struct kernel {
	const char *name;
	void (*run)(struct thread *t);
} kernels[] = {
	{"compute", compute},
	{"barrier_sleep", barrier_sleep},
	{"barrier_spin", barrier_spin},
	{"spin_lock", spin_lock},
	{"pipeline", pipeline},
	{"polling", polling},
};
#define N_KERNELS (sizeof(kernels) / sizeof(kernels[0]))

static void *start(void *arg)
{
	struct thread *t = arg;

	t->kernel(t);
	return NULL;
}

/* A child: runs until told to stop, then writes its rounds. */
static void run_job(const struct kernel *k, int threads, struct shared *s, int number)
{
	static struct job j;
	static struct thread t[THREADS_MAX];

	j.threads = threads;
	j.stop = &s->stop;
	pthread_barrier_init(&j.barrier, NULL, (unsigned int)threads);
	pthread_mutex_init(&j.mutex, NULL);
	pthread_cond_init(&j.changed, NULL);
	while (!s->go)
		sched_yield();
	for (int i = 0; i < threads; i++) {
		t[i] = (struct thread){&j, i, k->run, 0};
		if (pthread_create(&t[i].id, NULL, start, &t[i]))
			_exit(1);
	}
	for (int i = 0; i < threads; i++)
		pthread_join(t[i].id, NULL);
	s->rounds[number] = j.done;
	_exit(0);
}

static double own_time(void)
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* Mean rounds per second of one job; *ret_foreign: part of the cpu time that was not ours. */
static double measure(const struct kernel *k, int jobs, int threads, double seconds,
	struct shared *s, double *ret_foreign, double *ret_steal, double *ret_busy)
{
	double busy[2], steal[2], own = own_time(), begin, elapsed;
	long sum = 0;

	memset(s, 0, sizeof(*s));
	for (int i = 0; i < jobs; i++)
		if (fork() == 0)
			run_job(k, threads, s, i);
	machine_time(&busy[0], &steal[0]);
	begin = now_s();
	s->go = true;
	usleep((useconds_t)(seconds * 1e6));
	s->stop = true;
	elapsed = now_s() - begin;
	while (wait(NULL) > 0)
		;
	machine_time(&busy[1], &steal[1]);
	own = own_time() - own;
	for (int i = 0; i < jobs; i++)
		sum += s->rounds[i];
	*ret_busy = own / elapsed / threads;
	*ret_foreign = (busy[1] - busy[0] - own) / elapsed / threads;
	*ret_steal = (steal[1] - steal[0]) / elapsed / threads;
	return (double)sum / jobs / elapsed;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct figure {
	double rate, busy, foreign, steal;
	bool disturbed;
};

static struct figure median(
	const struct kernel *k, int jobs, int threads, double seconds, struct shared *s)
{
	struct figure ret = {0};
	double rate[REPEATS];

	for (int i = 0; i < REPEATS; i++) {
		double foreign = 0, steal = 0;

		for (int attempt = 0; attempt < DISTURBED_TRIES; attempt++) {
			rate[i] =
				measure(k, jobs, threads, seconds, s, &foreign, &steal, &ret.busy);
			if (foreign + steal <= FOREIGN_MAX)
				break;
			ret.disturbed |= attempt == DISTURBED_TRIES - 1;
		}
		ret.foreign = foreign > ret.foreign ? foreign : ret.foreign;
		ret.steal = steal > ret.steal ? steal : ret.steal;
	}
	qsort(rate, REPEATS, sizeof(rate[0]), compare);
	ret.rate = rate[REPEATS / 2];
	return ret;
}

static void calibrate(void)
{
	double best = 1e9;

	for (int i = 0; i < 20; i++) {
		double begin = now_s();

		work(1000);
		best = now_s() - begin < best ? now_s() - begin : best;
	}
	loops_per_us = (long)((double)loops_per_us * 1e-3 / best);
	if (loops_per_us < 1)
		loops_per_us = 1;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? number_real("SECONDS", argv[1]) : 0.5;
	int threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
	struct shared *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bool first = true;

	out_check_at_exit("sharecost");
	if (s == MAP_FAILED || seconds <= 0 || seconds > 60) {
		fputs("usage: sharecost [SECONDS]\n", stderr);
		return 2;
	}
	if (threads > THREADS_MAX)
		threads = THREADS_MAX;
	calibrate();
	printf("{\"bench\": \"oversubscribe\", \"provenance\": \"measured\", \"cpus\": %d, "
	       "\"work_us\": %d, \"seconds\": %g, \"results\": [",
		threads, WORK_US, seconds);
	for (size_t k = 0; k < N_KERNELS; k++) {
		struct figure alone = median(&kernels[k], 1, threads, seconds, s);

		for (int jobs = 1; jobs <= JOBS_MAX; jobs++) {
			struct figure f =
				jobs == 1 ? alone : median(&kernels[k], jobs, threads, seconds, s);
			double cost = alone.rate / jobs / f.rate - 1;

			printf("%s\n {\"kernel\": \"%s\", \"jobs\": %d, \"threads\": %d, "
			       "\"rounds_per_s\": %.1f, \"busy\": %.3f, \"foreign\": %.4f, "
			       "\"steal\": %.4f, \"disturbed\": %s",
				first ? "" : ",", kernels[k].name, jobs, threads, f.rate, f.busy,
				f.foreign, f.steal, f.disturbed ? "true" : "false");
			if (jobs > 1)
				printf(", \"cost\": %.4f, \"per_thread\": %.4f", cost,
					cost / (jobs - 1));
			printf("}");
			fflush(stdout);
			first = false;
		}
	}
	printf("\n]}\n");
	return 0;
}
