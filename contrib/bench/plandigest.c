/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plandigest - one line per policy and topology: a digest of the plans for some thousand random
 * views. A change that is about speed only must leave every line as it was: run it before and
 * after, and compare. Says nothing about whether the plans are good.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/out.h"
#include "contrib/bench/number.h"
#include "nodesvc/engine/engine.h"

#define MAX_JOBS   80
#define MAX_EVENTS 16
#define SEQUENCE   12 /* views in a row that one engine sees */

static const char *const topologies[] = {
	"core:2",
	"pack:2 core:4 pu:2",
	"pack:2 l3:2 core:3 pu:1",
	"pack:1 l3:4 core:3 pu:2",
	"pack:8 l3:1 core:8 pu:1",
	"pack:2 l3:5 core:8 pu:2",
};

/* Beside every policy with its defaults. */
static const char *const variants[] = {
	"lira,tie=balance",
	"lira,tie=first",
	"lira,fill=threads",
	"lira,h=0,metric=llc_miss",
	"lira-static,tie=missbal",
	"dio,h=0",
	"llc-complex,strict=yes",
	"llc-complex,miss=mpki",
	"das-rwsm-c,explore=0.3",
	"das-dam-c,age=2",
	"das-dam-p,explore=0.2,age=3",
};

static uint64_t random_state;

static uint64_t rnd_bits(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static int rnd(int n)
{
	return (int)((rnd_bits() >> 11) % (uint64_t)n);
}

static bool one_in(int n)
{
	return rnd(n) == 0;
}

struct world {
	const struct topo *t;
	struct view view;
	struct view_job job[MAX_JOBS];
	char id[MAX_JOBS][16];
	struct speed_point speed[MAX_JOBS][3];
	struct event event[MAX_EVENTS];
	struct ptt_entry ptt[4];
	struct coreset fast, reserved;
	int capacity[CORESET_MAX];
	int serial;
	bool plain; /* no envelopes, sizes, exclusions */
};

static const char *const types[] = {"matmul", "copy", "heat", "kmeans", "fft"};

static void random_set(struct coreset *ret, const struct topo *t)
{
	int first = rnd(t->n_cores), n = 1 + rnd(t->n_cores - first);

	coreset_zero(ret);
	for (int i = 0; i < n; i++)
		coreset_or(ret, ret, &t->core[first + i].pus);
}

static void new_job(struct world *w, int i)
{
	struct view_job *j = &w->job[i];
	int serial = w->serial++;

	snprintf(w->id[i], sizeof(w->id[i]), "%d.%d", serial, rnd(3));
	*j = (struct view_job){
		.id = w->id[i],
		.type = one_in(9) ? NULL : types[rnd(5)],
		.order = one_in(4) ? -serial : serial,
		.threads = rnd(9),
		.home_numa = -1,
		.rss_bytes = -1,
		.core = one_in(3) ? rnd(w->t->n_cores) : -1,
		.nodes = 1,
		.has_priority = one_in(2),
		.priority_high = one_in(3),
	};
	if (!w->plain) {
		j->cores = one_in(3) ? 1 + rnd(1 + w->t->n_cores / 4) : 0;
		j->min_cores = one_in(6) ? rnd(4) : 0;
		j->nodes = one_in(12) ? 2 : 1;
		j->excluded = one_in(12);
		j->qos = one_in(8) ? 0.9 : 0;
		if (one_in(3) && (!j->cores || one_in(20)))
			random_set(&j->envelope, w->t);
		if (one_in(8))
			random_set(&j->current, w->t);
	}
	if (one_in(3)) {
		for (int k = 0; k < 3; k++)
			w->speed[i][k] = (struct speed_point){1 << k, 1 + k + rnd(100) / 50.0};
		j->speed = w->speed[i];
		j->n_speed = 3;
	}
}

static void new_samples(struct world *w)
{
	for (int i = 0; i < w->view.n_jobs; i++) {
		if (one_in(4))
			continue;
		for (int s = 0; s < SIGNAL_COUNT; s++) {
			bool ratio = s == SIGNAL_UTILIZATION || s == SIGNAL_LLC_MISS_RATIO;

			/* Few different values: ties must break alike, too. */
			w->job[i].signal[s].value = ratio       ? rnd(20) / 20.0
						    : one_in(3) ? rnd(5)
								: rnd(1000000);
			w->job[i].signal[s].provenance =
				one_in(8000) ? PROVENANCE_NONE : PROVENANCE_HW;
		}
		w->job[i].sample_no++;
	}
	w->view.now_s += one_in(5) ? 12 : 0.25;
}

static void new_events(struct world *w, const struct plan *p)
{
	w->view.n_events = 0;
	for (int e = 0; p && e < p->n_experiments && w->view.n_events < MAX_EVENTS; e++)
		w->event[w->view.n_events++] = (struct event){
			.type = EVENT_EXPERIMENT_RESULT,
			.job = w->job[p->experiment[e].job].id,
			.cores = p->experiment[e].cores,
			.speed = 1 + rnd(1000) / 100.0,
		};
	while (one_in(2) && w->view.n_events < MAX_EVENTS)
		w->event[w->view.n_events++] = (struct event){
			.type = one_in(3) ? EVENT_PHASE : EVENT_TASK_DONE,
			.job = w->job[rnd(w->view.n_jobs)].id,
			.task_type = types[rnd(5)],
			.core = rnd(w->t->n_cores),
			.width = 1 << rnd(3),
			.seconds = 1 + rnd(20),
		};
}

static void open_world(struct world *w, const struct topo *t)
{
	memset(w, 0, sizeof(*w));
	w->t = t;
	w->plain = one_in(2);
	w->view.seed = rnd_bits();
	w->view.job = w->job;
	w->view.event = w->event;
	w->view.n_jobs = 1 + rnd(one_in(2) ? 8 : MAX_JOBS);
	random_set(&w->fast, t);
	w->view.fast_cores = one_in(10) ? NULL : &w->fast;
	if (!w->plain && one_in(4)) {
		coreset_or(&w->reserved, &w->reserved, &t->core[rnd(t->n_cores)].pus);
		w->view.reserved = &w->reserved;
	}
	if (!w->plain && one_in(4)) {
		for (int d = 0; d < t->n_domains; d++)
			w->capacity[d] = rnd(t->domain[d].n_cores + 1);
		w->view.capacity = w->capacity;
		w->view.n_capacity = t->n_domains;
	}
	for (int i = 0; i < 4; i++)
		w->ptt[i] = (struct ptt_entry){types[i], rnd(t->n_cores), 1, 1 + rnd(30), 0};
	w->view.ptt = w->ptt;
	w->view.n_ptt = one_in(2) ? 4 : 0;
	for (int i = 0; i < w->view.n_jobs; i++)
		new_job(w, i);
	new_samples(w);
	new_events(w, NULL);
}

static void next_view(struct world *w, const struct plan *p)
{
	new_events(w, p);
	for (int i = 0; p && i < p->n_jobs; i++)
		w->job[i].current = p->job[i].coreset;
	if (one_in(3))
		new_job(w, rnd(w->view.n_jobs));
	if (one_in(5) && w->view.n_jobs < MAX_JOBS)
		new_job(w, w->view.n_jobs++);
	else if (one_in(5) && w->view.n_jobs > 1)
		w->view.n_jobs--;
	new_samples(w);
}

struct digest {
	uint64_t h;
	long plans, refused;
};

static void add(struct digest *g, const void *data, size_t n)
{
	const unsigned char *b = data;

	for (size_t i = 0; i < n; i++)
		g->h = (g->h ^ b[i]) * 1099511628211u; /* FNV-1a */
}

static void add_int(struct digest *g, int x)
{
	add(g, &x, sizeof(x));
}

static void add_plan(struct digest *g, const struct plan *p)
{
	add_int(g, p->keep + 2 * p->observe);
	add_int(g, p->moves);
	if (p->score == p->score)
		add(g, &p->score, sizeof(p->score));
	add(g, p->explain, strlen(p->explain));
	for (int i = 0; i < p->n_jobs; i++) {
		const struct plan_job *j = &p->job[i];

		add(g, j->id, strlen(j->id));
		add(g, &j->coreset, sizeof(j->coreset));
		add_int(g, j->cores);
		add_int(g, (int)j->role);
		add_int(g, j->group);
		add_int(g, j->place_core);
		add_int(g, j->place_width);
		add(g, j->why, strlen(j->why));
		for (int l = 0; l < j->n_lent; l++) {
			add(g, &j->lent[l].coreset, sizeof(j->lent[l].coreset));
			add_int(g, j->lent[l].donor);
			add_int(g, j->lent[l].weight);
		}
	}
	for (int s = 0; s < p->n_slices; s++) {
		add(g, p->slice[s].job, (size_t)p->slice[s].n_jobs * sizeof(int));
		add_int(g, p->slice[s].ms);
	}
	for (int e = 0; e < p->n_experiments; e++) {
		add_int(g, p->experiment[e].job);
		add_int(g, p->experiment[e].ms);
		add(g, &p->experiment[e].coreset, sizeof(p->experiment[e].coreset));
	}
}

static int run_sequence(const char *spec, const struct topo *t, struct digest *g)
{
	static struct world w;
	struct policy_cfg cfg = {.topo = t,
		.max_jobs = MAX_JOBS,
		.share_smt = one_in(4),
		.multi_node_independent = one_in(4)};
	struct errbuf err = {""};
	struct engine *e = NULL;
	struct plan plan;

	if (engine_create(&e, spec, &cfg, &err) || plan_init(&plan, MAX_JOBS, &err)) {
		fprintf(stderr, "plandigest: %s: %s\n", spec, err.text);
		engine_free(e);
		return 1;
	}
	plan.want_explain = one_in(2);
	open_world(&w, t);
	for (int i = 0; i < SEQUENCE; i++) {
		int rc = engine_decide(e, &w.view, &plan, &err);

		g->plans += rc == 0;
		g->refused += rc != 0;
		add_int(g, rc);
		if (rc)
			add(g, err.text, strlen(err.text));
		else
			add_plan(g, &plan);
		next_view(&w, rc ? NULL : &plan);
	}
	plan_done(&plan);
	engine_free(e);
	return 0;
}

static int run_spec(const char *spec, int sequences)
{
	for (size_t i = 0; i < sizeof(topologies) / sizeof(topologies[0]); i++) {
		struct digest g = {.h = 14695981039346656037u};
		struct errbuf err = {""};
		struct topo *t = NULL;
		int rc = 0;

		if (topo_load(&t, topologies[i], &err)) {
			fprintf(stderr, "plandigest: %s\n", err.text);
			return 1;
		}
		random_state = 88172645463325252u + i;
		for (int s = 0; s < sequences && !rc; s++)
			rc = run_sequence(spec, t, &g);
		topo_free(t);
		if (rc)
			return rc;
		printf("%-28s %-24s %016" PRIx64 " %6ld plans %6ld refused\n", spec, topologies[i],
			g.h, g.plans, g.refused);
	}
	return 0;
}

int main(int argc, char **argv)
{
	int sequences = argc > 1 ? number_int("SEQUENCES", argv[1]) : 100, rc = 0;

	out_check_at_exit("plandigest");
	if (argc > 2 || sequences < 1) {
		fputs("Usage: plandigest [SEQUENCES]\nA digest of the plans for random views, per "
		      "policy and topology.\n",
			stderr);
		return 2;
	}
	for (int p = 0; policy_registry[p] && !rc; p++)
		if (policy_registry[p]->on_node)
			rc = run_spec(policy_registry[p]->name, sequences);
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]) && !rc; i++)
		rc = run_spec(variants[i], sequences);
	return rc;
}
