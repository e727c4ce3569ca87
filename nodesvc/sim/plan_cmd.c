/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan_cmd.c - `colocsim plan`: the decision engine over views written by hand or saved from a
 * node. What a plan says is taken as done: a job without "current" in the next view runs where the
 * plan before put it.
 */
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/infile.h"
#include "nodesvc/engine/engine.h"
#include "nodesvc/sim/exec_policy.h"
#include "nodesvc/sim/sim.h"
#include "nodesvc/trace/trace.h"

#define JOBS_BYTES_MAX (64u << 20)

static const char usage_text[] =
	"Usage: colocsim plan --policy=NAME[,key=value...] --topology=SYNTHETIC|FILE.xml\n"
	"                     --jobs=FILE [--domain=LEVEL] [--share-smt] [--explain] --json\n"
	"       colocsim plan [--policy=NAME] [--explain] TRACE\n"
	"\n"
	"Decides placements for the views in FILE (\"-\": standard input) and prints the plans. Of "
	"a\n"
	"TRACE (colocctl explain --save-view) the last decision is made again, and compared.\n"
	"  --policy    a policy and its options; --policy=help lists them; exec:COMMAND: a\n"
	"              program that reads views and answers plans, a JSON line each\n"
	"  --policy-timeout=S  seconds such a program may take for an answer (default 10)\n"
	"  --topology  \"pack:2 l3:1 core:8 pu:2\", or an hwloc XML file (lstopo FILE.xml)\n"
	"  --domain    auto, package, numa, l3, l2 or core (default auto)\n"
	"  --share-smt let two jobs share the hardware threads of one core\n"
	"  --multi-node-independent  place steps of several nodes like any other\n"
	"  --explain   print the policy's own figures\n"
	"  --json      print JSON (the only format)\n";

struct args {
	const char *policy, *topology, *jobs;
	enum topo_level domain;
	bool share_smt, independent, explain, json;
};

static void free_topo_p(struct topo **t)
{
	topo_free(*t);
}

static void free_engine_p(struct engine **e)
{
	engine_free(*e);
}

static void free_views_p(struct view_file **f)
{
	view_file_free(*f);
}

static int usage(const char *fmt, const char *value)
{
	fputs("colocsim plan: ", stderr);
	fprintf(stderr, fmt, value);
	fputs("\nTry 'colocsim plan --help'.\n", stderr);
	return SIM_USAGE;
}

static int failed(const char *subject, const struct errbuf *err)
{
	fprintf(stderr, "colocsim plan: %s: %s\n", subject, err->text);
	return SIM_FAILED;
}

static int list_policies(void)
{
	for (int i = 0; policy_registry[i]; i++)
		printf("%-12s %s%s%s%s\n", policy_registry[i]->name, policy_registry[i]->summary,
			policy_registry[i]->options ? " [" : "",
			policy_registry[i]->options ? policy_registry[i]->options : "",
			policy_registry[i]->options ? "]" : "");
	return SIM_OK;
}

/* -1: go on; else the exit status. */
static int read_args(struct args *a, int argc, char **argv)
{
	static const struct option options[] = {
		{"policy", required_argument, NULL, 'p'},
		{"policy-timeout", required_argument, NULL, 'w'},
		{"topology", required_argument, NULL, 't'},
		{"jobs", required_argument, NULL, 'f'},
		{"domain", required_argument, NULL, 'd'},
		{"share-smt", no_argument, NULL, 's'},
		{"multi-node-independent", no_argument, NULL, 'm'},
		{"explain", no_argument, NULL, 'e'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case 'p':
			a->policy = optarg;
			break;
		case 'w':
			if (exec_policy_read_timeout(optarg))
				return usage(EXEC_POLICY_TIMEOUT_USAGE, optarg);
			break;
		case 't':
			a->topology = optarg;
			break;
		case 'f':
			a->jobs = optarg;
			break;
		case 'd':
			if (topo_level_parse(optarg, &a->domain))
				return usage("--domain=%s: auto, package, numa, l3, l2 or core "
					     "expected",
					optarg);
			break;
		case 's':
			a->share_smt = true;
			break;
		case 'm':
			a->independent = true;
			break;
		case 'e':
			a->explain = true;
			break;
		case 'j':
			a->json = true;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return SIM_OK;
		default:
			fputs("Try 'colocsim plan --help'.\n", stderr);
			return SIM_USAGE;
		}
	}
	if (optind < argc && !a->jobs)
		a->jobs = argv[optind++];
	if (optind < argc)
		return usage("unexpected argument '%s'", argv[optind]);
	if (a->policy && (strcmp(a->policy, "help") == 0 || strcmp(a->policy, "list") == 0))
		return list_policies();
	if (!a->jobs)
		return usage("%s is missing", "--jobs");
	return -1;
}

/* A trace says policy and topology itself. */
static bool is_trace(const char *path)
{
	static const char head[] = "{\"coloc_trace\"";
	char text[sizeof(head)] = "";
	cleanup_file FILE *f = infile_open(path);

	return f && fgets(text, sizeof(text), f) && strcmp(text, head) == 0;
}

static char *read_file(const char *path, size_t *ret_len, struct errbuf *err)
{
	cleanup_free char *text = NULL;
	cleanup_file FILE *f = NULL;
	size_t size = 0, len = 0, n;

	f = infile_open(path);
	if (!f) {
		err_set(err, -errno, "%s", strerror(errno));
		return NULL;
	}
	do {
		if (size - len < 4096) {
			char *more;

			size = size ? 2 * size : 16384;
			more = size > JOBS_BYTES_MAX ? NULL : realloc(text, size);
			if (!more) {
				err_set(err, -EFBIG, "more than %u bytes", JOBS_BYTES_MAX);
				return NULL;
			}
			text = more;
		}
		n = fread(text + len, 1, size - len - 1, f);
		len += n;
	} while (n > 0);
	if (ferror(f)) {
		err_set(err, -EIO, "%s", strerror(errno));
		return NULL;
	}
	text[len] = '\0';
	*ret_len = len;
	return take_ptr(text);
}

static int decide_all(const struct args *a, struct engine *e, const struct topo *t,
	struct view_file *f, struct plan *plan, json_object *plans)
{
	struct errbuf err = {""};

	for (int i = 0; i < view_file_count(f); i++) {
		const struct view *v = view_file_view(f, i);
		json_object *o;
		char subject[32];

		/* The plan before this one is taken as carried out. */
		for (int j = 0; i > 0 && j < plan->n_jobs; j++)
			view_file_carry(f, i, plan->job[j].id, &plan->job[j].coreset);
		snprintf(subject, sizeof(subject), "view %d", i);
		plan->want_explain = true;
		if (engine_decide(e, v, plan, &err))
			return failed(view_file_is_list(f) ? subject : "view", &err);
		o = plan_to_json(plan, t, engine_policy(e)->name, a->explain);
		if (!o)
			return failed("plan", &(struct errbuf){"out of memory"});
		json_object_array_add(plans, o);
	}
	return SIM_OK;
}

static int print_plans(json_object *plans, bool list)
{
	json_object *out = plans;
	int rc;

	if (list) {
		out = json_object_new_object();
		json_object_object_add(out, "plans", json_object_get(plans));
	} else {
		out = json_object_get(json_object_array_get_idx(plans, 0));
	}
	rc = puts(json_object_to_json_string_ext(
		     out, JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE)) < 0 ||
	     fflush(stdout) != 0;
	json_object_put(out);
	return rc ? SIM_FAILED : SIM_OK;
}

int sim_plan(int argc, char **argv)
{
	struct args a = {.domain = TOPO_AUTO};
	__attribute__((cleanup(free_topo_p))) struct topo *t = NULL;
	__attribute__((cleanup(free_engine_p))) struct engine *e = NULL;
	__attribute__((cleanup(free_views_p))) struct view_file *f = NULL;
	cleanup_free char *text = NULL;
	struct policy_cfg cfg = {0};
	struct errbuf err = {""};
	struct plan plan;
	json_object *plans;
	size_t len;
	int rc = read_args(&a, argc, argv);

	if (rc >= 0)
		return rc;
	if (is_trace(a.jobs)) {
		if (a.topology || a.domain != TOPO_AUTO || a.share_smt || a.independent)
			return usage("%s: a trace has the machine that it is of", a.jobs);
		return sim_plan_trace(a.jobs, a.policy, a.explain);
	}
	if (!a.policy || !a.topology)
		return usage("%s is missing", !a.policy ? "--policy" : "--topology");
	if (topo_load(&t, a.topology, &err) || topo_set_domains(t, a.domain, &err))
		return failed(a.topology, &err);
	cfg.topo = t;
	cfg.share_smt = a.share_smt;
	cfg.multi_node_independent = a.independent;
	cfg.max_jobs = 1;
	/* A mistyped policy is told before the views are read. */
	rc = exec_policy_is(a.policy) ? exec_policy_check(a.policy, &err)
				      : engine_create(&e, a.policy, &cfg, &err);
	if (rc == -ENOENT || rc == -EINVAL)
		return usage("%s", err.text);
	engine_free(take_ptr(e));
	text = read_file(a.jobs, &len, &err);
	if (!text || view_file_parse(&f, text, len, &err))
		return failed(a.jobs, &err);
	cfg.max_jobs = view_file_max_jobs(f);
	rc = exec_policy_engine(&e, a.policy, &cfg, &err);
	if (rc || plan_init(&plan, cfg.max_jobs, &err))
		return failed(a.policy, &err);
	plans = json_object_new_array();
	rc = decide_all(&a, e, t, f, &plan, plans);
	if (rc == SIM_OK)
		rc = print_plans(plans, view_file_is_list(f));
	json_object_put(plans);
	plan_done(&plan);
	return rc;
}
