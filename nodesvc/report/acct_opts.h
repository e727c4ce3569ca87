/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * acct_opts.h - colocacct's command line, checked, as one struct.
 */
#ifndef COLOC_REPORT_ACCT_OPTS_H
#define COLOC_REPORT_ACCT_OPTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "nodesvc/report/acct_field.h"

#define ACCT_STORE "/var/lib/coloc"

enum acct_output { ACCT_TABLE, ACCT_PARSABLE, ACCT_PARSABLE2, ACCT_JSON, ACCT_HTML, ACCT_CSV };
enum acct_action { ACCT_REPORT, ACCT_HELP, ACCT_USAGE, ACCT_VERSION, ACCT_HELPFORMAT };

struct acct_opts {
	enum acct_action action;
	enum acct_output output;
	bool no_header;
	bool allocations; /* -X: one line per job */
	bool cluster;     /* from Slurm's accounting, all nodes */
	bool verbose;
	char delimiter[16];
	struct acct_format format;
	const char *store; /* NULL: ask the daemon (users; root when --socket is given) */
	const char *socket;
	char *filter; /* JSON of acct_query.h; acct_opts_done() */
};

/*
 * acct_opts_parse - reads @argv (and $COLOCACCT_FORMAT) as user @uid at @now_s.
 * Errors: -EINVAL a mistake of the user's that @err names; "" when getopt has already said it.
 */
int acct_opts_parse(
	struct acct_opts *ret, int argc, char **argv, uid_t uid, int64_t now_s, struct errbuf *err);
void acct_opts_done(struct acct_opts *o);

#endif
