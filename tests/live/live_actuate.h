/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live_actuate.h - what the files of live_actuate share: one step of a tree that looks like
 * Slurm's, with tasks that are unbound, bound to 0 and to 1, and a slurmstepd bound to 0.
 */
#ifndef COLOC_TESTS_LIVE_ACTUATE_H
#define COLOC_TESTS_LIVE_ACTUATE_H

#include <check.h>

#include "nodesvc/actuate/actuate.h"
#include "tests/live/step_fixture.h"

#define JOB  "uid_0/job_1"
#define STEP "uid_0/job_1/step_0"

extern char top[64];
extern struct fsroot root;
extern struct ledger *ledger;
extern struct actuate *act;
extern const struct actuate_ops *ops;
extern struct coreset all_pus;
extern struct worker plain, bound0, bound1, stepd;
extern struct step_cgroup step;
extern struct errbuf err;

void setup(void);
void teardown(void);
void open_backend(void);
struct coreset set_of(const char *text);
/* All end the test unless it is so. */
struct actuate_result apply(const char *cpus);
void restore(void);
void all_on(const struct worker *w, const char *cpus);
void all_as(char *before); /* frees it */
/* Of a set that may not hold. */
int apply_fails(const char *cpus);

void add_restore_cases(Suite *s);

#define CASE(s, sentence, test)                                                                    \
	do {                                                                                       \
		TCase *tc = tcase_create(sentence);                                                \
		tcase_add_checked_fixture(tc, setup, teardown);                                    \
		tcase_add_test(tc, test);                                                          \
		suite_add_tcase(s, tc);                                                            \
	} while (0)

#endif
