/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/conf/conf_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(field)     offsetof(struct conf, field), sizeof(((struct conf *)0)->field)
#define RANGE(lo, hi) .min = (lo), .max = (hi)
#define RELOAD        .reload = true

const struct conf_key conf_keys[] = {
	{"policy", CONF_TEXT, AT(policy), RELOAD},
	{"allow_policies", CONF_LIST, AT(allow_policies), RELOAD},
	{"policy_lock", CONF_BOOL, AT(policy_lock), RELOAD},
	{"policy_conflict", CONF_CHOICE, AT(policy_conflict), .values = "ruling|refuse", RELOAD},
	{"policy_options", CONF_OPTIONS, AT(policy_option), RELOAD},
	{"fallback", CONF_TEXT, AT(fallback), RELOAD},
	{"envelope", CONF_CHOICE, AT(envelope), .values = "allocation|node"},
	{"rebind", CONF_CHOICE, AT(rebind), .values = "masks|cpuset"},
	{"domain", CONF_DOMAIN, AT(domain), .reload = false},
	{"reserve", CONF_CPULIST, AT(reserve), RELOAD},
	{"fast_cores", CONF_CPULIST, AT(fast_cores), RELOAD},
	{"share_smt", CONF_BOOL, AT(share_smt), .reload = false},
	{"multi_node", CONF_CHOICE, AT(multi_node), .values = "envelope|independent", RELOAD},
	{"respect_user_binding", CONF_BOOL, AT(respect_user_binding), RELOAD},
	{"interval_ms", CONF_INT, AT(interval_ms), RANGE(20, 60000), RELOAD},
	{"tick_ms", CONF_INT, AT(tick_ms), RANGE(20, 60000), RELOAD},
	{"profile_interval_s", CONF_DOUBLE, AT(profile_interval_s), RANGE(0.1, 600), RELOAD},
	{"phase.detector", CONF_CHOICE, AT(phase.detector), .values = "width|paper", RELOAD},
	{"phase.epoch_s", CONF_DOUBLE, AT(phase.epoch_s), RANGE(0.1, 600), RELOAD},
	{"phase.first_epoch_s", CONF_DOUBLE, AT(phase.first_epoch_s), RANGE(0.1, 600), RELOAD},
	{"phase.ratio", CONF_DOUBLE, AT(phase.ratio), RANGE(0, 100), RELOAD},
	{"baseline_fraction", CONF_DOUBLE, AT(baseline_fraction), RANGE(0, 0.5), RELOAD},
	{"control_fraction", CONF_DOUBLE, AT(control_fraction), RANGE(0, 1), RELOAD},
	{"guard.enabled", CONF_BOOL, AT(guard.enabled), RELOAD},
	{"guard.threshold", CONF_DOUBLE, AT(guard.threshold), RANGE(0, 0.9), RELOAD},
	{"guard.confidence", CONF_DOUBLE, AT(guard.confidence), RANGE(0.5, 0.9999), RELOAD},
	{"guard.min_windows", CONF_INT, AT(guard.min_windows), RANGE(3, 1000), RELOAD},
	{"guard.quarantine_h", CONF_DOUBLE, AT(guard.quarantine_h), RANGE(0.001, 87600), RELOAD},
	{"min_dwell_s", CONF_DOUBLE, AT(min_dwell_s), RANGE(0, 3600), RELOAD},
	{"max_moves_per_min", CONF_INT, AT(max_moves_per_min), RANGE(0, 10000), RELOAD},
	{"memory", CONF_CHOICE, AT(memory), .values = "stay|follow", RELOAD},
	{"memory_mib_per_s", CONF_INT, AT(memory_mib_per_s), RANGE(1, 1048576), RELOAD},
	{"gang_polling", CONF_BOOL, AT(gang_polling), RELOAD},
	{"gang_coupled", CONF_BOOL, AT(gang_coupled), RELOAD},
	{"gang_slice_ms", CONF_INT, AT(gang_slice_ms), RANGE(50, 60000), RELOAD},
	{"freeze_max_ms", CONF_INT, AT(freeze_max_ms), RANGE(200, 60000), RELOAD},
	{"dry_run", CONF_BOOL, AT(dry_run), RELOAD},
	{"launch_env.enabled", CONF_BOOL, AT(launch_env.enabled), RELOAD},
	{"launch_env.batch", CONF_BOOL, AT(launch_env.batch), RELOAD},
	{"launch_env.threads", CONF_CHOICE, AT(launch_env.threads),
		.values = "envelope|placement|leave", RELOAD},
	{"launch_env.idle", CONF_CHOICE, AT(launch_env.idle), .values = "poll|leave", RELOAD},
	{"launch_env.omp_library", CONF_TEXT, AT(launch_env.omp_library), RELOAD},
	{"launch_env.openmp", CONF_OPENMP, AT(launch_env.openmp), RELOAD},
	{"launch_env.openmpi", CONF_OPENMPI, AT(launch_env.openmpi), RELOAD},
	{"launch_env.mpirun", CONF_MPIRUN, AT(launch_env.mpirun), RELOAD},
	{"counters.source", CONF_TEXT, AT(counters.source), .reload = false},
	{"counters.cachegrind_ll", CONF_TEXT, AT(counters.cachegrind_ll), RELOAD},
	{"events.instructions", CONF_EVENT, AT(events.of[COUNTER_INSTRUCTIONS]), .reload = false},
	{"events.loads", CONF_EVENT, AT(events.of[COUNTER_LOADS]), .reload = false},
	{"events.llc_refs", CONF_EVENT, AT(events.of[COUNTER_LLC_REFS]), .reload = false},
	{"events.llc_misses", CONF_EVENT, AT(events.of[COUNTER_LLC_MISSES]), .reload = false},
	{"events.mem_bytes", CONF_EVENT, AT(events.of[COUNTER_MEM_BYTES]), .reload = false},
	{"allow.partitions", CONF_LIST, AT(allow_partitions), RELOAD},
	{"allow.users", CONF_LIST, AT(allow_users), RELOAD},
	{"allow.accounts", CONF_LIST, AT(allow_accounts), RELOAD},
	{"store", CONF_PATH, AT(store), .reload = false},
	{"keep_days", CONF_INT, AT(keep_days), RANGE(0, 36500), RELOAD},
	{"store_limit_mib", CONF_INT, AT(store_limit_mib), RANGE(0, 1048576), RELOAD},
	{"metrics_file", CONF_PATH_OR_NONE, AT(metrics_file), RELOAD},
	{"metrics_interval_s", CONF_INT, AT(metrics_interval_s), RANGE(1, 3600), RELOAD},
	{"slurm_accounting", CONF_BOOL, AT(slurm_accounting), RELOAD},
	{"socket", CONF_PATH, AT(socket), .reload = false},
	{"log", CONF_LOG, AT(log_level), RELOAD},
};
const size_t conf_n_keys = sizeof(conf_keys) / sizeof(conf_keys[0]);

int conf_choice(const char *values, const char *text)
{
	size_t len = strlen(text);
	int i = 0;

	for (const char *p = values;; i++) {
		const char *end = strchr(p, '|');
		size_t n = end ? (size_t)(end - p) : strlen(p);

		if (n == len && memcmp(p, text, n) == 0)
			return i;
		if (!end)
			return -1;
		p = end + 1;
	}
}

int conf_spin_us(const char *text)
{
	char *end;
	long n;

	if (*text < '0' || *text > '9')
		return -1;
	n = strtol(text, &end, 10);
	return strcmp(end, "us") == 0 && n <= CONF_SPIN_US_MAX ? (int)n : -1;
}

static void set_family(struct conf_family *f, const char *name, const char *value)
{
	struct conf_pair *p = &f->pair[f->n++];

	snprintf(p->key, sizeof(p->key), "%s", name);
	snprintf(p->value, sizeof(p->value), "%s", value);
}

void conf_defaults(struct conf *c)
{
	memset(c, 0, sizeof(*c));
	snprintf(c->policy, sizeof(c->policy), "lira");
	snprintf(c->fallback, sizeof(c->fallback), "fair");
	c->domain = TOPO_AUTO;
	c->respect_user_binding = true;
	/* LIRA section 5.4: counters every 0.5e9 cycles (0.227 s at its 2.2 GHz), scheduler
	 * tick 0.1 s. */
	c->interval_ms = 227;
	c->tick_ms = 100;
	/* One epoch of SBMP (Table 3): long enough for a rate, short beside a job. */
	c->profile_interval_s = 2.5;
	/* SBMP Table 3. The ratio is the detector's: paper 2, width 1.6. */
	c->phase.epoch_s = 2.5;
	c->phase.first_epoch_s = 10;
	c->baseline_fraction = 0.01;
	/* Ours, chosen. With four windows the interval's half is over three of their spreads, with
	 * five 2.4 (verdict.c). A week: programs and inputs change. */
	c->guard.enabled = true;
	c->guard.threshold = 0.05;
	c->guard.confidence = 0.95;
	c->guard.min_windows = 5;
	c->guard.quarantine_h = 168;
	/* LIRA names none. Two seconds: a move costs about 150 ms (SBMP's warm-up per sample). */
	c->min_dwell_s = 2;
	c->max_moves_per_min = 12;
	/* Ours: some tenth of what a socket's memory gives, so that others hardly see it. */
	c->memory_mib_per_s = 1024;
	c->gang_polling = true;
	c->gang_coupled = true;
	/* Measured on GROMACS and LAMMPS, two cores: 0.1 s slices cost under 5 %. */
	c->gang_slice_ms = 100;
	/* Nobody names one. Well below what a user takes for a hang, or a peer for a dead one. */
	c->freeze_max_ms = 5000;
	c->launch_env.enabled = true;
	c->launch_env.threads = THREADS_ENVELOPE;
	c->launch_env.idle = IDLE_POLL;
	snprintf(c->launch_env.omp_library, sizeof(c->launch_env.omp_library), "auto");
	/* launch.c: auto_spin_us().
	 * LLVM's runtime does not collapse when shared (clang 14, stencil on 2 cores: 1.0-1.3 s
	 * each of four with 0, 1, 200 ms and unset); alone 0 ms cost 15-26 %, 1 ms under 7 %. */
	set_family(&c->launch_env.openmp, "GOMP_SPINCOUNT", "auto");
	set_family(&c->launch_env.openmp, "KMP_BLOCKTIME", "1");
	/* launch.c: auto_wait(). */
	set_family(&c->launch_env.openmp, "OMP_WAIT_POLICY", "auto");
	/* Measured on LAMMPS, 2 ranks: 2.1 s alone with and 2.2 s without; four at once 8 s
	 * instead of 25 s. */
	set_family(&c->launch_env.openmpi, "OMPI_MCA_mpi_yield_when_idle", "1");
	/* Seen with 6.0.0rc2: it ends with an error where it would bind more ranks than it finds
	 * cores, and a step beside another has fewer than Slurm allocated. */
	set_family(&c->launch_env.mpirun, "PRTE_MCA_bindto", "none");
	snprintf(c->counters.source, sizeof(c->counters.source), "auto");
	snprintf(c->counters.cachegrind_ll, sizeof(c->counters.cachegrind_ll), "auto");
	c->keep_days = 365;
	/* About 600 bytes a step, 40 KB with a full history. */
	c->store_limit_mib = 1024;
	/* Prometheus asks every 15 s where nothing is configured. */
	c->metrics_interval_s = 15;
	snprintf(c->store, sizeof(c->store), "/var/lib/coloc");
	snprintf(c->socket, sizeof(c->socket), "/run/coloc/colocd.sock");
	snprintf(c->log_level, sizeof(c->log_level), "info");
}
