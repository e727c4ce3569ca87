/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * run_cmd.c - `colocsim run`: one workload on a simulated machine, job by job.
 */
#include <getopt.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "config.h"
#include "nodesvc/sim/exec_policy.h"
#include "nodesvc/sim/rows.h"
#include "nodesvc/sim/sim.h"
#include "nodesvc/sim/task_workload.h"
#include "nodesvc/sim/workload.h"
#include "nodesvc/trace/trace.h"

static const char usage_text[] =
	"Usage: colocsim run [--policy=NAME[,k=v...]] [--record=FILE] [--json|--csv] "
	"WORKLOAD.yaml\n"
	"\n"
	"Runs a workload on a simulated machine. All results are simulated.\n"
	"  --policy    instead of the policies in the file; exec:COMMAND: a program\n"
	"  --policy-timeout=S  seconds that such a program may take for an answer (default 10)\n"
	"  --record    write every decision of the one policy to FILE, for colocsim replay\n"
	"  --json      print JSON\n"
	"  --csv       print CSV, a record for each policy and job\n"
	"\n"
	"colocsim(1) has the keys of a workload.\n";

static void free_topo_p(struct topo **t)
{
	topo_free(*t);
}

static int failed(const char *text)
{
	fprintf(stderr, "colocsim run: %s\n", text);
	return SIM_FAILED;
}

static json_object *number(double v)
{
	return isfinite(v) ? json_object_new_double(v) : NULL;
}

static json_object *result_json(
	const struct workload *w, const char *policy, const struct drive_result *r)
{
	json_object *o = json_object_new_object(), *jobs = json_object_new_array();

	json_object_object_add(o, "policy", json_object_new_string(policy));
	json_object_object_add(o, "stp", number(drive_stp(r, NTT_SHARE)));
	json_object_object_add(o, "antt", number(drive_antt(r, NTT_SHARE)));
	json_object_object_add(o, "worst_ntt", number(drive_worst_ntt(r, NTT_SHARE)));
	json_object_object_add(o, "stp_full", number(drive_stp(r, NTT_ALL)));
	json_object_object_add(o, "antt_full", number(drive_antt(r, NTT_ALL)));
	json_object_object_add(o, "moves_per_s", number(r->moves_per_s));
	json_object_object_add(o, "seconds", number(r->elapsed_s));
	if (drive_search_name(r->search))
		json_object_object_add(
			o, "search", json_object_new_string(drive_search_name(r->search)));
	for (int i = 0; i < r->n_jobs; i++) {
		json_object *j = json_object_new_object();

		json_object_object_add(
			j, "program", json_object_new_string(w->job[i].program->name));
		json_object_object_add(j, "runs", json_object_new_int(r->job[i].runs));
		json_object_object_add(j, "mean_run_s", number(r->job[i].mean_run_s));
		json_object_object_add(j, "ntt", number(r->job[i].ntt_share));
		json_object_object_add(j, "ntt_full", number(r->job[i].ntt_all));
		json_object_object_add(j, "ntt_best", number(r->job[i].ntt_best));
		json_object_array_add(jobs, j);
	}
	json_object_object_add(o, "jobs", jobs);
	return o;
}

/* A record for each job: it, and the figures of the run that it was in. */
static const char *const run_names[] = {"provenance", "workload", "seed", "penalties", NULL};
static const char *const policy_names[] = {"policy", "stp", "antt", "worst_ntt", "stp_full",
	"antt_full", "moves_per_s", "seconds", NULL};
static const char *const job_names[] = {
	"job", "program", "runs", "mean_run_s", "ntt", "ntt_full", "ntt_best", NULL};
static const char *const *const csv_names[ROWS_PARTS] = {run_names, policy_names, job_names};

static void print_csv(json_object *run, json_object *result)
{
	json_object *jobs = json_object_object_get(result, "jobs");

	for (size_t i = 0; i < json_object_array_length(jobs); i++) {
		json_object *of[ROWS_PARTS] = {run, result, json_object_array_get_idx(jobs, i)};

		json_object_object_add(of[2], "job", json_object_new_int((int)i));
		rows_csv(stdout, csv_names, of);
	}
}

static void print_result(const struct workload *w, const char *policy, const struct drive_result *r)
{
	printf("simulated: policy %s: STP %.3f, ANTT %.3f, worst NTT %.2f, %.3f moves/s, %.1f s\n",
		policy, drive_stp(r, NTT_SHARE), drive_antt(r, NTT_SHARE),
		drive_worst_ntt(r, NTT_SHARE), r->moves_per_s, r->elapsed_s);
	if (drive_search_name(r->search))
		printf("  %s search, see colocsim(1)\n", drive_search_name(r->search));
	printf("  %-20s %6s %12s %10s %10s\n", "program", "runs", "mean run", "NTT share",
		"NTT full");
	for (int i = 0; i < r->n_jobs; i++) {
		char mean[32] = ""; /* no run completed: not known */

		if (isfinite(r->job[i].mean_run_s))
			snprintf(mean, sizeof(mean), "%.2f s", r->job[i].mean_run_s);
		printf("  %-20s %6d %12s %10.3f %10.3f\n", w->job[i].program->name, r->job[i].runs,
			mean, r->job[i].ntt_share, r->job[i].ntt_all);
	}
}

static void record(void *ctx, const struct view *v, const struct plan *p, const char *refused)
{
	struct trace_writer *t = ctx;

	trace_begin(t, v);
	trace_ruling(t, refused ? NULL : p, refused);
	if (refused)
		trace_fallback(t, p, NULL);
	trace_end(t);
}

static int start_recording(
	const struct drive *d, const char *path, struct trace_writer **ret, struct errbuf *err)
{
	struct trace_head head = {
		.recorder = "colocsim " PACKAGE_VERSION,
		.simulated = true,
		.topo = d->m->topo,
		.max_jobs = d->n_jobs,
		.interval_ms = (int)(d->sample_s * 1e3),
		.ruling.policy = d->policy,
		.fallback.policy = "fair",
	};

	return trace_writer_open(ret, path, &head, 0, err);
}

static int run_all(const struct workload *w, const char *path, const struct machine *m,
	const char *trace, bool json, bool csv)
{
	struct trace_writer *writer = NULL;
	struct drive_watch watch = {.decided = record};
	json_object *out = json_object_new_object(), *list = json_object_new_array();
	cleanup_free struct drive_result *r = calloc(1, sizeof(*r));
	struct errbuf err = {"out of memory"};
	struct drive d;
	int rc = r ? SIM_OK : SIM_FAILED;

	drive_defaults(&d);
	d.m = m;
	d.spec = w->job;
	d.n_jobs = w->n_jobs;
	d.seed = w->seed;
	d.objective = w->objective;
	d.most_s = w->seconds;
	d.min_runs = w->runs;
	d.sample_s = w->sample_ms / 1e3;
	d.decide_s = w->decide_ms / 1e3;
	d.phases = w->phases;
	json_object_object_add(out, "schema", json_object_new_int(1));
	json_object_object_add(out, "provenance", json_object_new_string("simulated"));
	json_object_object_add(out, "workload", json_object_new_string(path));
	json_object_object_add(out, "penalties", json_object_new_string(m->p.penalties.name));
	if (csv) {
		json_object_object_add(out, "seed", json_object_new_int64((int64_t)w->seed));
		rows_csv_head(stdout, csv_names);
	}
	for (int p = 0; p < w->n_policies && rc == SIM_OK; p++) {
		json_object *result;

		d.policy = w->policy[p];
		if (trace && start_recording(&d, trace, &writer, &err)) {
			rc = SIM_FAILED;
			break;
		}
		watch.ctx = writer;
		d.watch = writer ? &watch : NULL;
		rc = drive_run(&d, r, &err) ? SIM_FAILED : SIM_OK;
		if (writer && trace_writer_close(take_ptr(writer), rc ? NULL : &err))
			rc = SIM_FAILED;
		if (rc)
			break;
		result = result_json(w, d.policy, r);
		if (csv)
			print_csv(out, result);
		else if (!json)
			print_result(w, d.policy, r);
		json_object_array_add(list, result);
	}
	json_object_object_add(out, "results", list);
	if (rc != SIM_OK)
		failed(err.text);
	else if (json)
		puts(json_object_to_json_string_ext(
			out, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(out);
	return rc == SIM_OK && fflush(stdout) ? SIM_FAILED : rc;
}

int sim_run_workload(int argc, char **argv)
{
	static const struct option options[] = {
		{"policy", required_argument, NULL, 'p'},
		{"policy-timeout", required_argument, NULL, 'w'},
		{"record", required_argument, NULL, 'r'},
		{"json", no_argument, NULL, 'j'},
		{"csv", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	__attribute__((cleanup(free_topo_p))) struct topo *t = NULL;
	cleanup_free struct workload *w = NULL;
	const char *policy = NULL, *trace = NULL;
	enum topo_level level;
	struct errbuf err = {""};
	struct machine m;
	bool json = false, csv = false;
	int c, rc;

	optind = 1;
	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case 'p':
			policy = optarg;
			break;
		case 'w':
			if (exec_policy_read_timeout(optarg)) {
				fprintf(stderr, "colocsim run: " EXEC_POLICY_TIMEOUT_USAGE "\n",
					optarg);
				return SIM_USAGE;
			}
			break;
		case 'r':
			trace = optarg;
			break;
		case 'j':
			json = true;
			break;
		case 'v':
			csv = true;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return SIM_OK;
		default:
			fputs("Try 'colocsim run --help'.\n", stderr);
			return SIM_USAGE;
		}
	}
	if (optind + 1 != argc) {
		fputs("colocsim run: one workload file expected\nTry 'colocsim run --help'.\n",
			stderr);
		return SIM_USAGE;
	}
	if (json && csv) {
		fputs("colocsim run: --csv: not with --json\n", stderr);
		return SIM_USAGE;
	}
	if (task_workload_is(argv[optind]))
		return sim_run_tasks(argv[optind], policy, json, csv);
	if (workload_read(&w, argv[optind], &err))
		return failed(err.text);
	if (policy) {
		if (strlen(policy) >= sizeof(w->policy[0]))
			return failed("--policy: too long");
		snprintf(w->policy[0], sizeof(w->policy[0]), "%s", policy);
		w->n_policies = 1;
	}
	if (topo_level_parse(w->domain, &level))
		return failed("domain: auto, package, numa, l3, l2 or core expected");
	if (machine_topology(&t, w->topology, &err) || topo_set_domains(t, level, &err))
		return failed(err.text);
	for (int p = 0; p < w->n_policies; p++)
		if (drive_check(w->policy[p], t, w->n_jobs, &err))
			return failed(err.text);
	if (trace && (w->n_policies != 1 || drive_is_reference(w->policy[0]))) {
		fputs("colocsim run: --record: one policy of the engine expected\n", stderr);
		return SIM_USAGE;
	}
	if (machine_init(&m, t, &w->machine, &err))
		return failed(err.text);
	rc = run_all(w, argv[optind], &m, trace, json, csv);
	machine_done(&m);
	return rc;
}
