/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rounds.h - many arms, interleaved, round after round, each result kept as soon as it is there.
 */
#ifndef COLOC_REALMIX_ROUNDS_H
#define COLOC_REALMIX_ROUNDS_H

#include "contrib/bench/realmix/mixes.h"
#include "contrib/bench/realmix/state.h"

struct rounds {
	const char *dir;       /* of results: state.h */
	const char *first_dir; /* of the run that chooses "best" and "peer"; NULL none */
	const char *mixes;     /* names with commas between */
	const char *arms;      /* also "best" and "peer", where there is first_dir */
	const char *sustained; /* the same; NULL none: arms that are measured restarted, too */
	int rounds;
	double cut;   /* of the sum of solo times; 0 never */
	double until; /* seconds of this run after which nothing new is begun; 0 no end */
	struct mix_paths paths;
};

/*
 * rounds_run - measures what is not there yet, or was disturbed. 0; -ETIME: until was reached, the
 * rest is left; -EINTR; other errors with what and where.
 */
int rounds_run(struct setting *s, const struct rounds *r, struct errbuf *err);

#endif
