/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conf.h - coloc.yaml as a checked struct, or a refusal with file:line.
 *
 * conf_keys.def has the keys, types, ranges and defaults; coloc.yaml(5) explains them.
 * Strings belong to the struct. Not thread-safe.
 */
#ifndef COLOC_CONF_CONF_H
#define COLOC_CONF_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "common/coreset.h"
#include "common/err.h"
#include "common/topo.h"
#include "nodesvc/counters/callnames.h"
#include "nodesvc/counters/counters.h"

#define CONF_LIST_MAX 64
#define CONF_TEXT_MAX 256

struct conf_list {
	int n;
	char item[CONF_LIST_MAX][64];
};

struct conf_pair {
	char key[64], value[128];
	int line;
};

/* Launch variables of one family (launch_family.h). */
struct conf_family {
	struct conf_pair pair[16];
	int n;
};

/* Functions of programs that mark their work, as a site knows: key has the program, value one of
 * its functions. */
struct conf_functions {
	struct conf_pair pair[CONF_LIST_MAX];
	int n;
};

enum conf_envelope { ENVELOPE_ALLOCATION, ENVELOPE_NODE };
enum conf_rebind { REBIND_MASKS, REBIND_CPUSET };
enum conf_multi_node { MULTI_NODE_ENVELOPE, MULTI_NODE_INDEPENDENT };
enum conf_conflict { CONFLICT_RULING, CONFLICT_REFUSE };
enum conf_detector { DETECTOR_WIDTH, DETECTOR_PAPER };
enum conf_memory { MEMORY_STAY, MEMORY_FOLLOW };
enum conf_idle { IDLE_POLL, IDLE_LEAVE };
enum conf_threads {
	THREADS_AUTO,
	THREADS_ENVELOPE,
	THREADS_PLACEMENT,
	THREADS_GRANTED,
	THREADS_LEAVE
};

/* Of policies; key "POLICY.option". */
struct conf_options {
	struct conf_pair pair[CONF_LIST_MAX];
	int n;
};

/* conf_keys.def says what each member is. */
struct conf {
	struct counter_events events;
/* NOLINTBEGIN(bugprone-macro-parentheses): members and sections */
#define KEY(in, field, declaration, ...) declaration;
#define SECTION(name)                    struct {
#define SECTION_END(name)                                                                          \
	}                                                                                          \
	name;
#define EVENT(name, counter)
#include "nodesvc/conf/conf_keys.def"
	/* NOLINTEND(bugprone-macro-parentheses) */
};

void conf_defaults(struct conf *c);
/* Longer waits are no short spins, whatever the machine. */
#define CONF_SPIN_US_MAX 100000
/*
 * conf_spin_us - microseconds of @text, "13us", as GOMP_SPINCOUNT may have them; -1: it is no such
 * time (a count, say, or a word of libgomp's own), or not from 0 to CONF_SPIN_US_MAX.
 */
int conf_spin_us(const char *text);
/* conf_functions_of - those of @program, at most CALLNAMES_OWN_MAX. */
void conf_functions_of(
	const struct conf_functions *f, const char *program, struct callnames_own *ret);
/*
 * conf_load - reads and checks @path into @ret (defaults first). @check_owner: refuse a file that
 * is not root's or that others may write. Errors: -EINVAL "coloc.yaml:LINE: key 'x': ..."; @ret
 * untouched on error.
 */
int conf_load(struct conf *ret, const char *path, bool check_owner, struct errbuf *err);

#endif
