/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reasons.c - what was changed after a figure was known, and why targets are missed. Text: to be
 * read again whenever a verdict changes.
 */
#include <stdio.h>

#include "contrib/bench/papersim/arena.h"

void part_checks(void)
{
	static const char *const table[][3] = {
		{"V1", "figure 3's shape",
			"test_sim_shape, fig3_pairs_far_apart_in_load_rate_lose_less"},
		{"V2", "figure 2's shape, rows of md and swim",
			"test_sim_shape, fig2_third_to_two_thirds_lose_a_tenth, "
			"fig2_md_is_at_ease_and_swim_hurts_all_but_md"},
		{"V3", "one program: closed form",
			"test_sim_machine, compute_only_matches_amdahl_with_overhead, "
			"memory_part_matches_cpi_formula"},
		{"V4", "two streams get half the bandwidth each",
			"test_sim_machine, two_streams_get_half_the_bandwidth_each"},
		{"V5", "alone on 16 and on 4 cores",
			"test_sim_machine, solo_on_a_quarter_takes_as_long_as_scalability_says"},
		{"V6", "occupancy sums to the cache",
			"test_sim_machine, random_programs_hold_invariants"},
		{"V7", "no more core time than there is",
			"test_sim_machine, random_programs_hold_invariants"},
		{"V8", "names of jobs and sockets mean nothing",
			"test_sim_machine, random_programs_hold_invariants"},
		{"V9", "worst, mean, best static, oracle in this order",
			"test_sim_eval, statics_and_oracle_are_ordered"},
		{"V10", "same seed, same results",
			"test_sim_eval, same_seed_same_results_with_any_number_of_threads"},
		{"V11", "nobody beats the oracle of his own means",
			"test_sim_eval, no_placement_policy_beats_the_oracle"},
		{"V12", "half the interval, STP within 0.3 %, every population",
			"test_sim_eval, halving_the_interval_changes_little"},
		{"mutation", "shuffled counters undo every policy",
			"test_sim_eval, without_its_counters_a_policy_is_no_better_than_chance, "
			"without_its_counters_a_policy_deals_cores_no_better_than_blindly"},
		{"truth", "a policy does not see what no counter shows",
			"test_sim_drive, policy_does_not_see_what_no_counter_shows"},
	};

	printf("## Checks of the model\n\n| check | what | tests/unit |\n|---|---|---|\n");
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		printf("| %s | %s | %s |\n", table[i][0], table[i][1], table[i][2]);
	printf("\n");
}

void part_reasons(void)
{
	printf("## What was changed after figures were known\n\n"
	       "- Before the first page: how much passive waiting feels shared cores (LIRA "
	       "archetypes) was lowered\n  after a trial of four combinations, which makes Linux "
	       "better.\n"
	       "- After targets 14 and 16 were missed: the order of freqmine's phases. Its region "
	       "of "
	       "interest begins\n  with one thread that parses the input (PARSEC 2.1), the model's "
	       "with the phase that scales. Lengths\n  and scalability stay. With it base is "
	       "predicted in a passing phase, as the paper says.\n"
	       "- After targets 3 to 5 were missed with it (adaptive over Callisto +6.0 %%): the "
	       "mapping of the policy\n  callisto. It dealt out single cores, so that programs "
	       "spanned the sockets; sections 2 and 5.1 of the\n  paper say that a program's cores "
	       "are generally in one. With the mapping of the paper 3 to 5 are met,\n  and 11 is "
	       "missed, which was met (4 of 64).\n"
	       "- After mapper, exploring as the paper says, was 0.26 %% [-0.21, +0.75] over fair: "
	       "that a program which\n  hardly runs spares what it does not use. With other seeds "
	       "(101, 102) it is 1.72 and 1.92 %% over fair.\n\n"
	       "## Why targets are missed (DAS: above)\n\n"
	       "- 2: under Linux all programs of the model lose about alike, by sharing; the "
	       "paper's "
	       "gap in ANTT\n  against STP needs single victims that lose a lot, such as a loop "
	       "with a "
	       "barrier whose last thread\n  is on the fullest core. The model balances threads "
	       "perfectly. Against alone on all 16 cores, the\n  paper's base, the figure is the "
	       "same (-8.0 %%); with penalties measured it is -11.7 %%, with pages\n  that stay, "
	       "as "
	       "the paper's Linux 2.6.32 leaves them, -16.0 %%. Then adaptive is 9.2 %% over "
	       "Callisto,\n  whose every draw leaves memory behind (1.1 %% where pages follow; the "
	       "paper has 3 %%).\n"
	       "- 9 and 10: met, but hardly anything moves: how often LIRA looks matters far less "
	       "in the model than\n  in the paper's figure 9.\n"
	       "- 11: the paper lays it to the runtimes' own overhead, without a figure. The model "
	       "charges a runtime\n  nothing for deciding, so there is none for Linux to win by.\n"
	       "- 15: Linux gives programs that sleep much all they ask for, and in the model that "
	       "costs their\n  neighbours little (1.60; the paper measured 2.06). bodytrack and "
	       "dedup "
	       "scale as far as their\n  utilisation allows, an upper bound: the paper's maxima "
	       "are "
	       "in a figure we do not have.\n"
	       "- 16, the lowest ANTT: in the model a donee costs its donor nothing, so CD is "
	       "never "
	       "behind base where\n  there is one phase. All else of the target is met.\n"
	       "- 26: the best static placement itself is only 0.4 and 1.8 %% above the operating "
	       "system's there. Of\n  workload 1 the paper says that 429 alone uses the cache "
	       "much: "
	       "then every placement gives it a light\n  partner, and little is to be gained. In "
	       "workload 2 "
	       "what is drawn for the classes leaves no more. The order\n  (complex above "
	       "alternate, "
	       "more so in workload 2) is the paper's.\n"
	       "- 27 is met, but the model's Linux is worse than the paper's (84 %% violations "
	       "against 23 %%): four\n  programs of 80 threads each on 80. It is above fair mostly "
	       "by "
	       "the cores of programs\n  that read their input, which a fair share leaves idle.\n"
	       "- 34: of the paper's three evaluations one: its applications with the runtime "
	       "integrated start as many\n  threads as they have cores, and in the model threads "
	       "beyond its own cores cost a program nothing.\n"
	       "- Penalties decide about Linux: with none it beats every partition on SBMP's "
	       "workloads (16), with\n  the set measured on two cores it is far behind. So the "
	       "size "
	       "of the gain over Linux is not shown by\n  this model; the order of the others is "
	       "not "
	       "touched by it.\n");
}
