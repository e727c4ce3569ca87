/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "nodesvc/sim/sensitivity_print.h"
#include "nodesvc/sim/sim.h"

static json_object *number(double v)
{
	return isfinite(v) ? json_object_new_double(v) : NULL;
}

static void print_rows_json(
	const struct eval *e, const char *topology, const struct sensitivity_row *row, int n)
{
	json_object *out = json_object_new_object(), *list = json_object_new_array();

	json_object_object_add(out, "bench", json_object_new_string("sensitivity"));
	json_object_object_add(out, "schema", json_object_new_int(1));
	json_object_object_add(out, "provenance", json_object_new_string("simulated"));
	json_object_object_add(out, "population", json_object_new_string(e->population->name));
	json_object_object_add(out, "topology", json_object_new_string(topology));
	json_object_object_add(out, "seed", json_object_new_int64((int64_t)e->seed));
	json_object_object_add(out, "combos", json_object_new_int(e->n_combos));
	json_object_object_add(out, "gain_against", json_object_new_string(e->policy[0]));
	for (int i = 0; i < n; i++) {
		json_object *o = json_object_new_object(), *gain = json_object_new_object();
		json_object *rank = json_object_new_object();

		json_object_object_add(
			o, "parameter", json_object_new_string(parameter_name(row[i].parameter)));
		json_object_object_add(o, "factor", number(row[i].factor));
		for (int p = 0; p < e->n_policies; p++) {
			json_object_object_add(gain, e->policy[p], number(row[i].gain[p].mean));
			json_object_object_add(
				rank, e->policy[p], json_object_new_int(row[i].rank[p]));
		}
		json_object_object_add(o, "gain", gain);
		json_object_object_add(o, "rank", rank);
		json_object_object_add(o, "tau", number(row[i].tau));
		json_object_object_add(o, "reversals", json_object_new_int(row[i].reversals));
		json_object_array_add(list, o);
	}
	json_object_object_add(out, "results", list);
	puts(json_object_to_json_string_ext(
		out, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(out);
}

/* A table that Markdown takes as it is. */
static void print_rows(const struct eval *e, const struct sensitivity_row *row, int n)
{
	printf("simulated: population %s, %d combinations of %d, seed %llu: %s against %s, %%\n\n"
	       "| changed | times |",
		e->population->name, e->n_combos, e->n_jobs, (unsigned long long)e->seed,
		e->population->objective == OBJECTIVE_STP ? "STP" : "turnaround", e->policy[0]);
	for (int p = 0; p < e->n_policies; p++)
		printf(" %s |", e->policy[p]);
	printf(" tau | reversals |\n|---|---|");
	for (int p = 0; p < e->n_policies + 2; p++)
		printf("---|");
	printf("\n");
	for (int i = 0; i < n; i++) {
		printf("| %s | %.2f |", parameter_name(row[i].parameter), row[i].factor);
		for (int p = 0; p < e->n_policies; p++)
			printf(" %+.2f |", 100 * row[i].gain[p].mean);
		printf(" %.2f | %d |\n", row[i].tau, row[i].reversals);
	}
}

int sim_sensitivity(const struct eval *e, const struct topo *t, const struct machine_params *params,
	const char *topology, double by, bool json)
{
	cleanup_free struct sensitivity_row *row = NULL;
	struct errbuf err = {""};
	int n;

	if (sensitivity_run(e, t, params, by, &row, &n, &err)) {
		fprintf(stderr, "colocsim eval: %s\n", err.text);
		return SIM_FAILED;
	}
	if (json)
		print_rows_json(e, topology, row, n);
	else
		print_rows(e, row, n);
	return fflush(stdout) ? SIM_FAILED : SIM_OK;
}
