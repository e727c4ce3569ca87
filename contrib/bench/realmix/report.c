/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/bench/realmix/report.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <json-c/json.h>

#include "contrib/bench/realmix/mixes.h"
#include "contrib/bench/realmix/summary.h"

#define BLANK ""

struct report {
	FILE *to;
	const struct report_input *in;
	struct summary first, second; /* of the mix at hand */
	/* One line per target, printed at the end. */
	char verdict[64][512];
	int n_verdicts;
};

static const char *shown(double v, int digits, char *buf, size_t size)
{
	if (isnan(v))
		return BLANK;
	snprintf(buf, size, "%.*f", digits, v);
	return buf;
}

/* "1.23 [1.20, 1.26]"; without rounds to compare "1.23". */
static const char *shown_estimate(const struct estimate *e, char *buf, size_t size)
{
	if (isnan(e->mean))
		return BLANK;
	if (isnan(e->lo))
		snprintf(buf, size, "%.2f", e->mean);
	else
		snprintf(buf, size, "%.2f [%.2f, %.2f]", e->mean, e->lo, e->hi);
	return buf;
}

/* ---- verdicts ------------------------------------------------------------------------------ */

static void add_verdict(struct report *r, const char *target, const char *measured, bool met)
{
	if (r->n_verdicts < 64)
		snprintf(r->verdict[r->n_verdicts++], sizeof(r->verdict[0]), "| %s | %s | %s |",
			target, measured,
			!measured[0] ? "not measured"
			: met        ? "met"
				     : "**missed**");
}

/* The run that counts for a pair: the second where it has both, else the first. */
static bool find_pair(struct report *r, const char *a, const char *b, const struct cell **ret_a,
	const struct cell **ret_b)
{
	*ret_a = summary_find(&r->second, a);
	*ret_b = summary_find(&r->second, b);
	if (*ret_a && *ret_b)
		return true;
	/* What is known bad is measured once only, in the first run. */
	if (*ret_a && (*ret_b = summary_find(&r->first, b)) && (*ret_b)->cut)
		return true;
	*ret_a = summary_find(&r->first, a);
	*ret_b = summary_find(&r->first, b);
	return *ret_a && *ret_b;
}

static void want_ratio(
	struct report *r, const char *target, const char *a, const char *b, double least)
{
	const struct cell *ca, *cb;
	char text[256] = "", number[64];
	struct estimate e = {NAN, NAN, NAN, 0};
	int bound;

	if (find_pair(r, a, b, &ca, &cb)) {
		e = summary_ratio(ca, cb, &bound);
		snprintf(text, sizeof(text), "%s / %s: %s%s (rounds: %d%s)", a, b,
			bound > 0   ? ">= "
			: bound < 0 ? "<= "
				    : "",
			shown_estimate(&e, number, sizeof(number)), e.n ? e.n : ca->rounds,
			e.n ? "" : ", not paired");
	}
	add_verdict(r, target, text, e.mean >= least);
}

static void want_less_antt(struct report *r, const char *target, const char *a, const char *b)
{
	const struct cell *ca, *cb;
	char text[256] = "", number[2][64];
	bool met = false;

	if (find_pair(r, a, b, &ca, &cb) && !isnan(ca->antt.mean) && !isnan(cb->antt.mean)) {
		snprintf(text, sizeof(text), "%s %s, %s %s", a,
			shown_estimate(&ca->antt, number[0], sizeof(number[0])), b,
			shown_estimate(&cb->antt, number[1], sizeof(number[1])));
		met = ca->antt.mean < cb->antt.mean;
	}
	add_verdict(r, target, text, met);
}

static void want_best(struct report *r)
{
	const struct cell *best = summary_best(&r->first, ARM_POLICY);
	const struct cell *peer = summary_best(&r->first, ARM_PEER);
	const char *mix = r->first.mix->name;
	char target[128];

	if (!best || !peer)
		return;
	snprintf(target, sizeof(target),
		"%s: best policy of the first run >= 0.98 of the best peer", mix);
	want_ratio(r, target, best->arm->name, peer->arm->name, 0.98);
	if (strcmp(mix, "gromacs") == 0) {
		want_ratio(r, "gromacs: best policy >= 5 x plain sharing", best->arm->name, "plain",
			5);
		want_ratio(r, "gromacs: best policy >= 1.05 of one after another", best->arm->name,
			"serial", 1.05);
	}
}

/* Of polling ranks, for one of gang's arms. */
static void want_of_gang(struct report *r, const char *mix, const char *arm)
{
	char target[128];

	if (strcmp(mix, "mpi") == 0) {
		snprintf(target, sizeof(target), "%s: %s >= 1.9 x plain sharing", mix, arm);
		want_ratio(r, target, arm, "plain", 1.9);
		snprintf(target, sizeof(target),
			"%s: %s >= 1.9 x plain sharing, ranks not bound to cores", mix, arm);
		want_ratio(r, target, arm, "unbound", 1.9);
		snprintf(target, sizeof(target), "%s: %s >= 0.95 of one after another", mix, arm);
		want_ratio(r, target, arm, "serial", 0.95);
	}
	snprintf(target, sizeof(target), "%s: %s better than Slurm's gang in work", mix, arm);
	want_ratio(r, target, arm, "slurmgang", 1);
	snprintf(target, sizeof(target), "%s: %s better than Slurm's gang in ANTT", mix, arm);
	want_less_antt(r, target, arm, "slurmgang");
}

static void want_of_mix(struct report *r)
{
	const char *mix = r->first.mix->name;

	want_best(r);
	if (strcmp(mix, "mpi") == 0 || strcmp(mix, "mpi-long") == 0) {
		want_of_gang(r, mix, "gang");
		want_of_gang(r, mix, "gang-rr");
	}
	if (strcmp(mix, "bursty") == 0) {
		want_ratio(r, "bursty: gang with yielding >= 1.15 x static equal partition", "gang",
			"fair", 1.15);
		want_ratio(r, "bursty: donation >= 1.15 x static equal partition", "callisto",
			"fair", 1.15);
	}
}

/* ---- tables -------------------------------------------------------------------------------- */

/* "gang" rules what asked for "gang,foreground_ms=0". */
static bool rules_itself(const struct cell *c)
{
	const char *asked = c->arm->option[0] + strlen("--coloc-policy=");
	size_t len = strcspn(asked, ",");

	return strlen(c->policy) == len && strncmp(c->policy, asked, len) == 0;
}

static void print_note(FILE *to, const struct cell *c)
{
	if (c->n_disturbed)
		fprintf(to, "%d disturbed and left out; ", c->n_disturbed);
	if (strcmp(c->arm->name, "slurmgang") == 0)
		fputs("batch jobs without inner srun; ", to);
	if (c->arm->helper)
		fputs(c->reason, to);
	if (c->policy[0] && c->arm->option[0] && !rules_itself(c))
		fprintf(to, "**ruled by %s**: %s", c->policy, c->reason);
}

static void print_cell(FILE *to, const struct summary *s, const struct cell *c)
{
	const struct cell *peer = summary_best(s, ARM_PEER);
	struct estimate ratio = {NAN, NAN, NAN, 0};
	char text[9][64];
	int bound = 0;

	if (c->rounds && peer)
		ratio = summary_ratio(c, peer, &bound);
	fprintf(to, "| %s | %d | %s%s | %s%s | %s%s | %s | %s | %s | %s | %s | %s | ", c->arm->name,
		c->rounds, c->cut ? "<= " : "", shown_estimate(&c->work, text[0], sizeof(text[0])),
		c->cut ? ">= " : "", shown_estimate(&c->makespan, text[1], sizeof(text[1])),
		bound < 0 ? "<= " : "", shown_estimate(&ratio, text[2], sizeof(text[2])),
		shown_estimate(&c->antt, text[3], sizeof(text[3])),
		shown_estimate(&c->worst_ntt, text[4], sizeof(text[4])),
		shown_estimate(&c->stp, text[5], sizeof(text[5])),
		shown(c->sustained_antt, 2, text[6], sizeof(text[6])),
		shown(c->sustained_worst, 2, text[7], sizeof(text[7])),
		shown(c->service_s, 3, text[8], sizeof(text[8])));
	print_note(to, c);
	fputs(" |\n", to);
}

/* Who waits for whom: where each program has its place in line. */
static void print_times(FILE *to, const struct summary *s)
{
	char text[64];

	fprintf(to,
		"\nEach submitted %d ms after the one before it; s from then to its end:\n\n| "
		"arm |",
		s->mix->stagger_ms);
	for (int p = 0; p < s->mix->n; p++)
		fprintf(to, " %s |", s->mix->program[p].name);
	fputs("\n|---|", to);
	for (int p = 0; p < s->mix->n; p++)
		fputs("---|", to);
	fputs("\n| alone |", to);
	for (int p = 0; p < s->mix->n; p++)
		fprintf(to, " %s |", shown(s->solo_s[p], 2, text, sizeof(text)));
	fputc('\n', to);
	for (int i = 0; i < s->n; i++) {
		fprintf(to, "| %s |", s->cell[i].arm->name);
		for (int p = 0; p < s->mix->n; p++)
			fprintf(to, " %s |",
				shown_estimate(&s->cell[i].time[p], text, sizeof(text)));
		fputc('\n', to);
	}
}

static void print_mix(FILE *to, const struct summary *s, const char *run)
{
	const struct cell *peer = summary_best(s, ARM_PEER);
	char text[64];

	if (!s->n)
		return;
	fprintf(to, "\n### Mix %s, %s run\n\n", s->mix->name, run);
	for (int p = 0; p < s->mix->n; p++)
		fprintf(to, "%s%s", p ? ", " : "Programs: ", s->mix->program[p].name);
	fprintf(to, "; alone %s s one after another (sum of medians).\nBest peer: %s.\n\n",
		shown(s->solo_sum_s, 2, text, sizeof(text)), peer ? peer->arm->name : "none");
	fputs("| arm | rounds | work | makespan, s | work / best peer | ANTT at once | worst NTT "
	      "at "
	      "once | STP | ANTT | worst NTT | colocd, s | "
	      "|\n|---|---|---|---|---|---|---|---|---|---|---|---|\n",
		to);
	for (int i = 0; i < s->n; i++)
		print_cell(to, s, &s->cell[i]);
	if (s->mix->stagger_ms)
		print_times(to, s);
}

static const char head[] =
	"## On a real node\n\n"
	"Every figure of this section is *measured*, under real Slurm, by\n"
	"contrib/bench/realnode. Four programs are submitted at once: `work` is the sum of the\n"
	"programs' times alone over the time until all have ended; ANTT and worst NTT at once are\n"
	"times from submission to end over times alone. STP, ANTT and worst NTT after them are "
	"the\n"
	"papers': each program is started again until all have run three times; blank where that "
	"was\n"
	"not measured. Intervals are 95 %, by Student's t on logarithms over rounds, ratios paired "
	"by\n"
	"round (STP: by bootstrap over runs); one round has none. colocd, s: its processor time\n"
	"meanwhile (its guard's apart), mean; blank where it was not read. Arms that took 5 to 10 "
	"times the "
	"time\nalone were ended there and not repeated; their figures are bounds. unbound: plain "
	"sharing,\nbut with --cpu-bind=none, for else srun binds each rank to a core (where Slurm "
	"has no\ntask/affinity, nobody does). tuned: GOMP_SPINCOUNT=1000\n"
	"and Open MPI yielding, passive: OMP_WAIT_POLICY=passive and the same, both set by hand "
	"for\n"
	"all. slurmgang: PreemptMode=SUSPEND,GANG with slices of 5 s; its jobs have no inner "
	"srun,\n"
	"for Slurm creates no step in a suspended job. gang: as it is by default, who came first\n"
	"goes first for 10 s of the node; gang-rr: foreground_ms=0, equal turns of 100 ms.\n"
	"fair: coupled jobs that share a core take turns of 100 ms there; fair-turns: all that "
	"share "
	"one\nturns of 50 ms (turns=all,turns_ms=50); fair-apart: nobody does (turns=no). omp: "
	"fair "
	"with\n--coloc-omp, omp-keep: the same with COLOC_OMP_KEEP_THREADS.\n";

/* ---- the other benchmarks ------------------------------------------------------------------ */

static int open_results(const char *path, const char *bench, struct json_object **ret_root,
	struct json_object **ret_results, struct errbuf *err)
{
	struct json_object *name;

	*ret_root = json_object_from_file(path);
	if (!*ret_root || !json_object_object_get_ex(*ret_root, "bench", &name) ||
		strcmp(json_object_get_string(name), bench) != 0 ||
		!json_object_object_get_ex(*ret_root, "results", ret_results) ||
		!json_object_is_type(*ret_results, json_type_array)) {
		json_object_put(*ret_root);
		return err_set(err, -EINVAL, "%s: no result of %s", path, bench);
	}
	return 0;
}

static double number_of(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) && v ? json_object_get_double(v) : NAN;
}

static const char *text_of(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) && v ? json_object_get_string(v) : BLANK;
}

static int print_dag(struct report *r, struct errbuf *err)
{
	struct json_object *root = NULL, *results = NULL;
	char text[4][64] = {{0}}, line[256] = "";
	bool met = false;
	int rc = open_results(r->in->dag, "dag", &root, &results, err);

	if (rc)
		return rc;
	fprintf(r->to,
		"\n### Tasks beside a program on core %.0f (contrib/programs/dag)\n\n"
		"%s, %.0f tasks, %.0f side by side, %.0f rounds, %.0f cores. Ratios to das-rws, "
		"paired by round. The paper's\ntext gives a ratio for das-dam-c only, and as a "
		"most.\n\n| policy | tasks/s | ratio to das-rws | critical tasks on the hit core | "
		"paper, at most |\n|---|---|---|---|---|\n",
		number_of(root, "hit"), text_of(root, "kernel"), number_of(root, "tasks"),
		number_of(root, "parallelism"), number_of(root, "rounds"),
		number_of(root, "cores"));
	for (size_t i = 0; i < json_object_array_length(results); i++) {
		struct json_object *o = json_object_array_get_idx(results, i);
		struct estimate e = {number_of(o, "ratio"), number_of(o, "ratio_lo"),
			number_of(o, "ratio_hi"), 1};

		fprintf(r->to, "| %s | %s | %s | %s | %s |\n", text_of(o, "policy"),
			shown(number_of(o, "tasks_per_s"), 0, text[0], sizeof(text[0])),
			shown_estimate(&e, text[1], sizeof(text[1])),
			shown(number_of(o, "critical_on_hit"), 2, text[2], sizeof(text[2])),
			shown(number_of(o, "paper_ratio_at_most"), 1, text[3], sizeof(text[3])));
		if (strcmp(text_of(o, "policy"), "das-dam-c") == 0) {
			snprintf(line, sizeof(line), "%s", text[1]);
			met = e.mean >= 1.1 && e.lo > 1;
		}
	}
	json_object_put(root);
	add_verdict(r, "das-dam-c >= 1.10 x das-rws, interval without 1", line, met);
	return 0;
}

/* What rebind found with GROMACS, in @key's list; absent where it was not asked. */
static void print_rebind_gromacs(struct report *r, struct json_object *root, const char *key,
	const char *what, const char *to)
{
	struct json_object *list = NULL;
	char text[2][64] = {{0}};

	if (!json_object_object_get_ex(root, key, &list) ||
		!json_object_is_type(list, json_type_array) || json_object_array_length(list) == 0)
		return;
	fprintf(r->to, "\n%s:\n\n| arm | ns/day | ratio to %s |\n|---|---|---|\n", what, to);
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *o = json_object_array_get_idx(list, i);

		fprintf(r->to, "| %s | %s | %s |\n", text_of(o, "arm"),
			shown(number_of(o, "ns_per_day"), 2, text[0], sizeof(text[0])),
			shown(number_of(o, "ratio"), 3, text[1], sizeof(text[1])));
		if (strcmp(text_of(o, "arm"), "narrow") == 0)
			add_verdict(r,
				"alone again with the launch environment, begun on one core, "
				"loses at most 5 %",
				isnan(number_of(o, "ratio")) ? BLANK : text[1],
				number_of(o, "ratio") >= 0.95);
	}
}

static int print_rebind(struct report *r, struct errbuf *err)
{
	struct json_object *root = NULL, *results = NULL;
	char text[4][64] = {{0}};
	int rc = open_results(r->in->rebind, "rebind", &root, &results, err);

	if (rc)
		return rc;
	fprintf(r->to,
		"\n### Running OpenMP programs bound to one core (contrib/bench/rebind)\n\n"
		"Four stencils, two on each core. before: bound before exec, so that they have one "
		"thread each; two: the same\nwith two threads; placed: two, with the launch "
		"environment; none: bound when they ran; env: the same with\nthe launch "
		"environment "
		"(env1000, env300, env0: with so many spins); omp: the same with libcoloc_omp; "
		"wait: env\nand omp, all threads kept; turns: env, and the two of a core take "
		"turns "
		"of %s ms. A sweep is a parallel region;\nits length is that of one thread.\n\n"
		"| arm | region, ms | sweeps/s | ratio to before | ratio to two |\n"
		"|---|---|---|---|---|\n",
		shown(number_of(root, "turn_ms"), 0, text[0], sizeof(text[0])));
	for (size_t i = 0; i < json_object_array_length(results); i++) {
		struct json_object *o = json_object_array_get_idx(results, i), *cut;
		const char *arm = text_of(o, "arm"), *most = "";
		double ratio = number_of(o, "ratio"), region = number_of(o, "region_ms");
		double to_two = number_of(o, "ratio_to_two");
		char target[128], length[48] = "";

		if (json_object_object_get_ex(o, "cut", &cut) && json_object_get_boolean(cut))
			most = "<= ";
		if (!isnan(region))
			snprintf(length, sizeof(length), ", regions of %.2f ms", region);
		fprintf(r->to, "| %s | %s | %s%s | %s%s | %s |\n", arm,
			shown(region, 2, text[2], sizeof(text[2])), most,
			shown(number_of(o, "sweeps_per_s"), 0, text[0], sizeof(text[0])), most,
			shown(ratio, 3, text[1], sizeof(text[1])),
			shown(to_two, 3, text[3], sizeof(text[3])));
		if (strcmp(arm, "env") != 0 && strcmp(arm, "omp") != 0 && strcmp(arm, "turns") != 0)
			continue;
		snprintf(target, sizeof(target), "rebinding with %s loses under 5 %%%s", arm,
			length);
		add_verdict(r, target, isnan(ratio) ? BLANK : text[1], ratio > 0.95 && !*most);
		if (isnan(to_two))
			continue;
		snprintf(target, sizeof(target),
			"the same against two threads that were bound before exec, %s%s", arm,
			length);
		add_verdict(r, target, text[3], to_two > 0.95 && !*most);
	}
	print_rebind_gromacs(r, root, "gromacs", "GROMACS, two threads on one core", "before");
	print_rebind_gromacs(r, root, "widened",
		"GROMACS that began on one core and has both since, to one that began on both with "
		"nothing set\n(unset; both: with the launch environment). narrow: with the launch "
		"environment; passive: but with\nOMP_WAIT_POLICY=passive; lib: with libcoloc_omp, "
		"all "
		"threads kept. four_narrow, four_passive: the\nsame as narrow and passive while "
		"two "
		"share each core, to passive",
		"unset, or four_passive");
	json_object_put(root);
	return 0;
}

static int print_omp_region(struct report *r, struct errbuf *err)
{
	struct json_object *root = NULL, *results = NULL;
	char text[2][64] = {{0}};
	int rc = open_results(r->in->omp_region, "ompregion", &root, &results, err);

	if (rc)
		return rc;
	fputs("\n### A parallel region without and with libcoloc_omp (contrib/bench/ompregion)\n\n"
	      "| compiler | arm | threads | ns per region | instructions per region |\n"
	      "|---|---|---|---|---|\n",
		r->to);
	for (size_t i = 0; i < json_object_array_length(results); i++) {
		struct json_object *o = json_object_array_get_idx(results, i);

		fprintf(r->to, "| %s | %s | %.0f | %s | %s |\n", text_of(o, "compiler"),
			text_of(o, "arm"), number_of(o, "threads"),
			shown(number_of(o, "ns_per_region"), 0, text[0], sizeof(text[0])),
			shown(number_of(o, "instructions_per_region"), 1, text[1],
				sizeof(text[1])));
	}
	json_object_put(root);
	return 0;
}

static int print_mixes(struct report *r, struct errbuf *err)
{
	static struct summary none;

	for (size_t i = 0; mixes_get(i); i++) {
		int rc = 0;

		r->first = r->second = none;
		r->first.mix = r->second.mix = mixes_get(i);
		if (r->in->first_dir)
			rc = summary_read(&r->first, r->in->first_dir, mixes_get(i), err);
		if (!rc && r->in->second_dir)
			rc = summary_read(&r->second, r->in->second_dir, mixes_get(i), err);
		if (rc)
			return rc;
		print_mix(r->to, &r->first, "first");
		print_mix(r->to, &r->second, "second");
		if (r->first.n)
			want_of_mix(r);
	}
	return 0;
}

int report_print(FILE *to, const struct report_input *in, struct errbuf *err)
{
	static struct report r;
	int rc;

	memset(&r, 0, sizeof(r));
	r.to = to;
	r.in = in;
	fputs(head, to);
	rc = print_mixes(&r, err);
	if (!rc && in->rebind)
		rc = print_rebind(&r, err);
	if (!rc && in->omp_region)
		rc = print_omp_region(&r, err);
	if (!rc && in->dag)
		rc = print_dag(&r, err);
	if (rc)
		return rc;
	fputs("\n### Targets\n\nBest policy and best peer are those of the first run; the ratio is "
	      "the second run's where there is one.\n\n| target | measured | verdict |\n"
	      "|---|---|---|\n",
		to);
	for (int i = 0; i < r.n_verdicts; i++)
		fprintf(to, "%s\n", r.verdict[i]);
	return ferror(to) ? err_set(err, -EIO, "cannot write") : 0;
}

static void print_number(FILE *to, const char *key, double v)
{
	if (isfinite(v))
		fprintf(to, ", \"%s\": %.4f", key, v);
	else
		fprintf(to, ", \"%s\": null", key);
}

static void print_json_cell(FILE *to, const struct summary *s, const struct cell *c, int run)
{
	fprintf(to,
		"\n  {\"mix\": \"%s\", \"arm\": \"%s\", \"run\": %d, \"rounds\": %d, "
		"\"cut\": %s",
		s->mix->name, c->arm->name, run, c->rounds, c->cut ? "true" : "false");
	print_number(to, "work", c->work.mean);
	print_number(to, "work_lo", c->work.lo);
	print_number(to, "work_hi", c->work.hi);
	print_number(to, "stp", c->stp.mean);
	print_number(to, "stp_lo", c->stp.lo);
	print_number(to, "stp_hi", c->stp.hi);
	print_number(to, "antt", c->sustained_antt);
	print_number(to, "worst_ntt", c->sustained_worst);
	print_number(to, "antt_at_once", c->antt.mean);
	print_number(to, "worst_ntt_at_once", c->worst_ntt.mean);
	print_number(to, "makespan_s", c->makespan.mean);
	print_number(to, "service_s", c->service_s);
	fprintf(to, ", \"policy\": %s%s%s}", c->policy[0] ? "\"" : "",
		c->policy[0] ? c->policy : "null", c->policy[0] ? "\"" : "");
}

int report_print_json(FILE *to, const struct report_input *in, struct errbuf *err)
{
	const char *const dir[] = {in->first_dir, in->second_dir};
	static struct summary s;
	const char *sep = "";

	fputs("{\"bench\": \"realmix\", \"provenance\": \"measured\", \"results\": [", to);
	for (size_t i = 0; mixes_get(i); i++)
		for (int run = 0; run < 2; run++) {
			int rc = dir[run] ? summary_read(&s, dir[run], mixes_get(i), err) : 0;

			if (rc)
				return rc;
			for (int k = 0; dir[run] && k < s.n; k++) {
				if (!s.cell[k].rounds)
					continue;
				fputs(sep, to);
				print_json_cell(to, &s, &s.cell[k], run + 1);
				sep = ",";
			}
		}
	fputs("]}\n", to);
	return 0;
}
