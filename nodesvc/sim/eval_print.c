/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/sim/eval_print.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "nodesvc/sim/rows.h"
#include "nodesvc/sim/sim.h"
#include "nodesvc/sim/stats.h"

struct figures {
	struct interval stp, antt, gain;
	double stp_all, antt_all, antt_best, stp_share, antt_share, worst, moves, decisions;
	double violations, worst_of_fair; /* of QOS; the least speed over that on the equal share */
};

/* MAPPER's guarantee (PPoPP 2019, section 3). */
#define QOS 0.85

static double *values(const struct eval *e, const struct drive_result *r, enum ntt_base base,
	double (*of)(const struct drive_result *, enum ntt_base))
{
	double *v = e->n_combos > 0 ? calloc((size_t)e->n_combos, sizeof(*v)) : NULL;

	for (int k = 0; v && k < e->n_combos; k++)
		v[k] = of(&r[k], base);
	return v;
}

static double mean_of(const struct eval *e, const struct drive_result *r, enum ntt_base base,
	double (*of)(const struct drive_result *, enum ntt_base))
{
	double sum = 0;

	for (int k = 0; k < e->n_combos; k++)
		sum += of(&r[k], base) / e->n_combos;
	return sum;
}

/* Figures of one policy; @first: results of the first one, which the gain is against. */
static int summarise(const struct eval *e, const struct drive_result *r,
	const struct drive_result *first, struct figures *ret)
{
	enum ntt_base base = e->population->base;
	cleanup_free double *stp = values(e, r, base, drive_stp);
	cleanup_free double *antt = values(e, r, base, drive_antt);
	cleanup_free double *before = values(e, first, base, drive_stp);

	memset(ret, 0, sizeof(*ret));
	if (!stp || !antt || !before)
		return -ENOMEM;
	ret->stp = stats_mean(stp, e->n_combos, e->seed);
	ret->antt = stats_mean(antt, e->n_combos, e->seed);
	ret->gain = stats_gain(stp, before, e->n_combos, e->seed);
	ret->stp_all = mean_of(e, r, NTT_ALL, drive_stp);
	ret->antt_all = mean_of(e, r, NTT_ALL, drive_antt);
	ret->antt_best = mean_of(e, r, NTT_BEST, drive_antt);
	ret->stp_share = mean_of(e, r, NTT_SHARE, drive_stp);
	ret->antt_share = mean_of(e, r, NTT_SHARE, drive_antt);
	ret->worst_of_fair = INFINITY;
	for (int k = 0; k < e->n_combos; k++) {
		ret->worst = fmax(ret->worst, drive_worst_ntt(&r[k], base));
		ret->moves += r[k].moves_per_s / e->n_combos;
		ret->decisions += r[k].decisions;
		for (int i = 0; i < r[k].n_jobs; i++) {
			double part = drive_of_fair(&r[k], i);

			ret->violations += (part < QOS) / (double)(e->n_combos * r[k].n_jobs);
			ret->worst_of_fair = fmin(ret->worst_of_fair, part);
		}
	}
	return 0;
}

static json_object *number(double v)
{
	return isfinite(v) ? json_object_new_double(v) : NULL;
}

static json_object *policy_json(const struct eval *e, const char *policy, const struct figures *f)
{
	static const char *const base[] = {"all_cores", "best_width", "equal_share"};
	json_object *o = json_object_new_object();

	json_object_object_add(o, "policy", json_object_new_string(policy));
	json_object_object_add(o, "stp", number(f->stp.mean));
	json_object_object_add(o, "stp_lo", number(f->stp.low));
	json_object_object_add(o, "stp_hi", number(f->stp.high));
	json_object_object_add(o, "antt", number(f->antt.mean));
	json_object_object_add(o, "antt_lo", number(f->antt.low));
	json_object_object_add(o, "antt_hi", number(f->antt.high));
	json_object_object_add(o, "worst_ntt", number(f->worst));
	json_object_object_add(o, "moves_per_s", number(f->moves));
	json_object_object_add(o, "alone", json_object_new_string(base[e->population->base]));
	json_object_object_add(o, "stp_gain", number(f->gain.mean));
	json_object_object_add(o, "stp_gain_lo", number(f->gain.low));
	json_object_object_add(o, "stp_gain_hi", number(f->gain.high));
	json_object_object_add(o, "stp_full", number(f->stp_all));
	json_object_object_add(o, "antt_full", number(f->antt_all));
	json_object_object_add(o, "antt_best", number(f->antt_best));
	json_object_object_add(o, "stp_share", number(f->stp_share));
	json_object_object_add(o, "antt_share", number(f->antt_share));
	json_object_object_add(o, "qos_violations", number(f->violations));
	json_object_object_add(o, "worst_of_fair", number(f->worst_of_fair));
	return o;
}

/* Of a policy: exact where it was in every combination. */
static const char *search_name(const struct eval *e, const struct drive_result *r)
{
	enum search all = SEARCH_NONE;

	for (int k = 0; k < e->n_combos; k++)
		if (r[k].search > all)
			all = r[k].search;
	return drive_search_name(all);
}

static json_object *combos_json(const struct eval *e, const struct drive_result *r)
{
	json_object *list = json_object_new_array();
	struct program *program = calloc((size_t)e->n_jobs, sizeof(*program));

	for (int k = 0; program && k < e->n_combos; k++) {
		json_object *o = json_object_new_object(), *names = json_object_new_array();
		json_object *ntt = json_object_new_array();

		population_combo(e->population, e->seed, k, e->n_jobs, program, NULL);
		for (int i = 0; i < e->n_jobs; i++) {
			json_object_array_add(names, json_object_new_string(program[i].name));
			json_object_array_add(
				ntt, number(drive_ntt(&r[k], i, e->population->base)));
		}
		json_object_object_add(o, "programs", names);
		json_object_object_add(o, "ntt", ntt);
		json_object_object_add(o, "stp", number(drive_stp(&r[k], e->population->base)));
		json_object_object_add(o, "antt", number(drive_antt(&r[k], e->population->base)));
		json_object_object_add(o, "seconds", number(r[k].elapsed_s));
		json_object_array_add(list, o);
	}
	free(program);
	return list;
}

static int print_json(const struct eval_shown *s, const struct drive_result *r)
{
	const struct eval *e = s->e;
	json_object *out = json_object_new_object(), *list = json_object_new_array();
	int rc;

	json_object_object_add(out, "bench", json_object_new_string("eval"));
	json_object_object_add(out, "schema", json_object_new_int(1));
	json_object_object_add(out, "provenance", json_object_new_string("simulated"));
	json_object_object_add(out, "population", json_object_new_string(e->population->name));
	json_object_object_add(out, "topology", json_object_new_string(s->topology));
	json_object_object_add(out, "seed", json_object_new_int64((int64_t)e->seed));
	json_object_object_add(out, "combos", json_object_new_int(e->n_combos));
	json_object_object_add(out, "jobs", json_object_new_int(e->n_jobs));
	json_object_object_add(out, "penalties", json_object_new_string(e->m->p.penalties.name));
	json_object_object_add(out, "stp_gain_against", json_object_new_string(e->policy[0]));
	for (int p = 0; p < e->n_policies; p++) {
		struct figures f;
		json_object *o;

		if (summarise(e, r + (size_t)p * (size_t)e->n_combos, r, &f)) {
			json_object_put(out);
			json_object_put(list);
			return SIM_FAILED;
		}
		o = policy_json(e, e->policy[p], &f);
		if (search_name(e, r + (size_t)p * (size_t)e->n_combos))
			json_object_object_add(o, "search",
				json_object_new_string(
					search_name(e, r + (size_t)p * (size_t)e->n_combos)));
		if (s->per_combo)
			json_object_object_add(o, "combinations",
				combos_json(e, r + (size_t)p * (size_t)e->n_combos));
		json_object_array_add(list, o);
	}
	json_object_object_add(out, "results", list);
	rc = puts(json_object_to_json_string_ext(
		     out, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE)) < 0 ||
	     fflush(stdout) != 0;
	json_object_put(out);
	return rc ? SIM_FAILED : SIM_OK;
}

static int print_text(const struct eval_shown *s, const struct drive_result *r)
{
	const struct eval *e = s->e;
	static const char *const base[] = {"on all cores", "on its best width", "on its share"};

	printf("simulated: population %s, %d combinations of %d on \"%s\", seed %llu, penalties "
	       "%s; against each program alone %s\n",
		e->population->name, e->n_combos, e->n_jobs, s->topology,
		(unsigned long long)e->seed, e->m->p.penalties.name, base[e->population->base]);
	printf("%-24s %-20s %-20s %9s %8s %6s %6s  STP against %s\n", "policy", "STP", "ANTT",
		"worst NTT", "moves/s", "<0.85", "worst", e->policy[0]);
	for (int p = 0; p < e->n_policies; p++) {
		struct figures f;

		if (summarise(e, r + (size_t)p * (size_t)e->n_combos, r, &f))
			return SIM_FAILED;
		printf("%-24s %5.3f [%5.3f %5.3f]  %5.3f [%5.3f %5.3f]  %9.2f %8.3f %5.1f%% %6.3f  "
		       "%+6.2f%% [%+.2f %+.2f]\n",
			e->policy[p], f.stp.mean, f.stp.low, f.stp.high, f.antt.mean, f.antt.low,
			f.antt.high, f.worst, f.moves, 100 * f.violations, f.worst_of_fair,
			100 * f.gain.mean, 100 * f.gain.low, 100 * f.gain.high);
	}
	printf("<0.85, worst: of each program's speed on its equal share alone\n");
	for (int p = 0; p < e->n_policies; p++) {
		const char *name = search_name(e, r + (size_t)p * (size_t)e->n_combos);

		if (name)
			printf("%s: %s search, see colocsim(1)\n", e->policy[p], name);
	}
	return fflush(stdout) ? SIM_FAILED : SIM_OK;
}

/* ---- rows: --csv, --sweep ---- */

#define SPEC_MAX 512

static const char *const context_names[] = {
	"provenance", "population", "topology", "seed", "combos", "jobs", "penalties", NULL};
static const char *const figure_names[] = {"policy", "alone", "stp", "stp_lo", "stp_hi", "antt",
	"antt_lo", "antt_hi", "worst_ntt", "moves_per_s", "stp_gain", "stp_gain_lo", "stp_gain_hi",
	"stp_full", "antt_full", "antt_best", "stp_share", "antt_share", "qos_violations",
	"worst_of_fair", NULL};

static json_object *context_json(const struct eval_shown *s)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "provenance", json_object_new_string("simulated"));
	json_object_object_add(o, "population", json_object_new_string(s->e->population->name));
	json_object_object_add(o, "topology", json_object_new_string(s->topology));
	json_object_object_add(o, "seed", json_object_new_int64((int64_t)s->e->seed));
	json_object_object_add(o, "combos", json_object_new_int(s->e->n_combos));
	json_object_object_add(o, "jobs", json_object_new_int(s->e->n_jobs));
	json_object_object_add(o, "penalties", json_object_new_string(s->e->m->p.penalties.name));
	return o;
}

/* Numbers as numbers. */
static json_object *parameters_json(const struct eval_shown *s)
{
	json_object *o = json_object_new_object();

	for (int k = 0; k < s->sweep->n; k++) {
		const char *value = sweep_value(s->sweep, s->point, k);
		char *end;
		double x = strtod(value, &end);

		json_object_object_add(o, s->sweep->key[k].name,
			*end || end == value || !isfinite(x) ? json_object_new_string(value)
							     : json_object_new_double_s(x, value));
	}
	return o;
}

/* Parameters that have no column among the context's. */
static void parameter_names(const struct sweep *sweep, const char **ret)
{
	for (int k = 0; k < sweep->n; k++) {
		bool known = false;

		for (int i = 0; context_names[i]; i++)
			known = known || strcmp(context_names[i], sweep->key[k].name) == 0;
		if (!known)
			*ret++ = sweep->key[k].name;
	}
	*ret = NULL;
}

static void print_point_text(
	const struct eval_shown *s, const char *policy, const struct figures *f)
{
	for (int k = 0; k < s->sweep->n; k++)
		printf("%-*s ",
			(int)strlen(s->sweep->key[k].name) > 10 ? (int)strlen(s->sweep->key[k].name)
								: 10,
			sweep_value(s->sweep, s->point, k));
	printf("%-24s %5.3f [%5.3f %5.3f]  %5.3f [%5.3f %5.3f]  %9.2f %8.3f  %+6.2f%%\n", policy,
		f->stp.mean, f->stp.low, f->stp.high, f->antt.mean, f->antt.low, f->antt.high,
		f->worst, f->moves, 100 * f->gain.mean);
}

static void print_sweep_head(const struct eval_shown *s)
{
	printf("simulated: %d points, %d combinations each\n", sweep_points(s->sweep),
		s->e->n_combos);
	for (int k = 0; k < s->sweep->n; k++)
		printf("%-10s ", s->sweep->key[k].name);
	printf("%-24s %-20s %-20s %9s %8s  STP against the first\n", "policy", "STP", "ANTT",
		"worst NTT", "moves/s");
}

/* A policy as its user wrote it: what the sweep put behind it has columns of its own. */
static void own_spec(const struct eval_shown *s, int p, char *ret)
{
	char *cut = ret + strlen(s->e->policy[p]);

	strcpy(ret, s->e->policy[p]);
	for (int k = 0; k < s->sweep->n; k++) {
		const char *key = s->sweep->key[k].name;
		size_t len = strcspn(key, ".");

		if (strcspn(ret, ",") == len && memcmp(ret, key, len) == 0 && key[len])
			cut -= 2 + strlen(key + len + 1) +
			       strlen(sweep_value(s->sweep, s->point, k));
	}
	*cut = '\0';
}

/* Results of one point: CSV records, lines, or objects of @list. */
static int put_point(const struct eval_shown *s, const struct drive_result *r, json_object *list)
{
	const char *parameters[SWEEP_KEYS_MAX + 1];
	const char *const *const names[ROWS_PARTS] = {context_names, parameters, figure_names};
	json_object *of[ROWS_PARTS] = {context_json(s), parameters_json(s), NULL};
	int rc = SIM_OK;

	parameter_names(s->sweep, parameters);
	for (int p = 0; p < s->e->n_policies && rc == SIM_OK; p++) {
		const struct drive_result *of_policy = r + (size_t)p * (size_t)s->e->n_combos;
		char spec[SPEC_MAX];
		struct figures f;

		if (summarise(s->e, of_policy, r, &f)) {
			fputs("colocsim eval: out of memory\n", stderr);
			rc = SIM_FAILED;
			break;
		}
		own_spec(s, p, spec);
		of[2] = policy_json(s->e, spec, &f);
		if (s->csv) {
			rows_csv(stdout, names, of);
		} else if (s->json) {
			if (s->per_combo)
				json_object_object_add(
					of[2], "combinations", combos_json(s->e, of_policy));
			json_object_object_add(of[2], "parameters", json_object_get(of[1]));
			for (int i = 1; context_names[i]; i++)
				json_object_object_add(of[2], context_names[i],
					json_object_get(
						json_object_object_get(of[0], context_names[i])));
			json_object_array_add(list, json_object_get(of[2]));
		} else {
			print_point_text(s, spec, &f);
		}
		json_object_put(of[2]);
	}
	json_object_put(of[0]);
	json_object_put(of[1]);
	return rc;
}

int eval_print_sweep(const struct sweep *sweep, json_object *list)
{
	json_object *out = json_object_new_object(), *names = json_object_new_array();
	int rc;

	for (int k = 0; k < sweep->n; k++)
		json_object_array_add(names, json_object_new_string(sweep->key[k].name));
	json_object_object_add(out, "bench", json_object_new_string("sweep"));
	json_object_object_add(out, "schema", json_object_new_int(1));
	json_object_object_add(out, "provenance", json_object_new_string("simulated"));
	json_object_object_add(out, "parameters", names);
	json_object_object_add(out, "points", json_object_new_int(sweep_points(sweep)));
	json_object_object_add(out, "results", json_object_get(list));
	rc = puts(json_object_to_json_string_ext(
		     out, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE)) < 0;
	json_object_put(out);
	return rc ? SIM_FAILED : SIM_OK;
}

void eval_print_head(const struct eval_shown *s)
{
	const char *parameters[SWEEP_KEYS_MAX + 1];
	const char *const *const names[ROWS_PARTS] = {context_names, parameters, figure_names};

	parameter_names(s->sweep, parameters);
	if (s->csv)
		rows_csv_head(stdout, names);
	else if (s->sweep->n > 0 && !s->json)
		print_sweep_head(s);
}

int eval_print(const struct eval_shown *s, const struct drive_result *r, json_object *list)
{
	if (s->csv || s->sweep->n > 0)
		return put_point(s, r, list);
	return s->json ? print_json(s, r) : print_text(s, r);
}
