/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * colocacct - what co-location did with job steps, in sacct's grammar.
 */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/out.h"
#include "config.h"
#include "nodesvc/report/acct.h"

#define EXIT_FAILED 1
#define EXIT_USAGE  2

static const char USAGE[] = "Usage: colocacct [-j JOB[.STEP],...] [-S TIME] [-E TIME] "
			    "[-o FIELD[%[-]WIDTH],...] [OPTION...]\n";

static const char HELP[] =
	"What co-location did with job steps on this node.\n\n"
	"Which steps:\n"
	"  -j, --jobs=JOB[.STEP],...     these; arrays as ARRAYJOB[_TASK]\n"
	"  -S, --starttime=TIME          that ran at or after TIME (default: midnight; with -j: "
	"all;\n"
	"                                with -s: now)\n"
	"  -E, --endtime=TIME            that ran at or before TIME (default: now)\n"
	"  -s, --state=STATE,...         RUNNING (R), COMPLETED (CD), FAILED (F), UNKNOWN (UN)\n"
	"  -u, --user, --uid=USER,...    of these users (root; others see their own)\n"
	"  -A, --accounts=NAME,...       charged to these accounts\n"
	"  -r, --partition=NAME,...      in these partitions\n"
	"  -N, --nodelist=NODES          on these nodes, as n[1-3,5]\n"
	"      --name=JOBNAME,...        of these names\n"
	"  -D, --duplicates              with -j: also older records of the same step\n"
	"  -X, --allocations             one line per job\n"
	"  -a, --allusers                of all users (root's default)\n"
	"TIME is HH:MM[:SS][AM|PM], MMDD[YY][-HH:MM], MM/DD[/YY], YYYY-MM-DD[THH:MM[:SS]],\n"
	"today, midnight, noon, yesterday or now[{+|-}COUNT[seconds|minutes|hours|days|weeks]].\n\n"
	"What to print:\n"
	"  -o, --format=FIELD[%[-]WIDTH],...  these fields; ALL stands for all of them\n"
	"  -b, --brief                   JobID,State,ExitCode\n"
	"  -l, --long                    most fields\n"
	"  -e, --helpformat              list the fields\n"
	"  -n, --noheader                no heading\n"
	"  -p, --parsable                fields ended by '|'\n"
	"  -P, --parsable2               fields separated by '|'\n"
	"      --delimiter=TEXT          instead of '|'\n"
	"  -T, --truncate                cut times to the window\n"
	"      --units=K|M|G|T|P         speeds in this unit; --noconvert: as they are\n"
	"      --json                    JSON, schema coloc.acct/1; --history: with times\n"
	"      --csv                     CSV (RFC 4180): every field, unrounded, unknown is blank\n"
	"      --html                    one HTML file: timeline, signals, gains, table\n\n"
	"Where from:\n"
	"      --store=DIR               the store (root's default: " ACCT_STORE ")\n"
	"      --socket=PATH             ask colocd, as users do (also $COLOC_SOCKET)\n"
	"      --cluster                 Slurm's accounting: all nodes, a line per job and node\n\n"
	"  -h, --help  --usage  -V, --version  -v, --verbose\n"
	"Environment: COLOCACCT_FORMAT is the format when -o and -l are not given.\n";

static int help_format(void)
{
	for (const struct acct_field *f = ACCT_FIELDS; f->name; f++)
		printf("%-15s %s\n", f->name, f->help);
	return 0;
}

static int read_from(
	const struct acct_opts *o, int (*row)(const char *, void *), void *arg, struct errbuf *err)
{
	if (o->verbose)
		fprintf(stderr, "colocacct: from %s, filter %s\n",
			o->cluster ? "sacct"
			: o->store ? o->store
				   : o->socket,
			o->filter);
	if (o->cluster)
		return acct_source_cluster(o->filter, geteuid() == 0, row, arg, err);
	return o->store ? acct_source_store(o->store, o->filter, row, arg, err)
			: acct_source_daemon(o->socket, o->filter, row, arg, err);
}

/* -X: all steps first, then a line per job. */
static int read_rows(const struct acct_opts *o, struct acct_out *out, struct errbuf *err)
{
	struct acct_alloc *jobs = NULL;
	int rc;

	if (!o->allocations || o->cluster)
		return read_from(o, acct_out_row, out, err);
	rc = acct_alloc_create(&jobs, err);
	if (rc == 0)
		rc = read_from(o, acct_alloc_row, jobs, err);
	if (rc == 0)
		rc = acct_alloc_emit(jobs, acct_out_row, out);
	acct_alloc_free(jobs);
	return rc;
}

static int report(const struct acct_opts *o)
{
	struct errbuf err = {""};
	struct acct_out *out = NULL;
	int rc;

	rc = acct_out_open(&out, o, stdout, &err);
	if (rc == 0) {
		struct errbuf why = {""};

		rc = read_rows(o, out, &err);
		/* The writer's own error says more than the source that it ended. */
		if (rc == 0 || !*err.text) {
			int end = acct_out_finish(out, &why);

			if (end < 0) {
				rc = end;
				err = why;
			}
		}
	}
	acct_out_free(out);
	if (rc == 0)
		return 0;
	fprintf(stderr, "colocacct: error: %s\n", *err.text ? err.text : strerror(-rc));
	return EXIT_FAILED;
}

int main(int argc, char **argv)
{
	struct acct_opts o;
	struct errbuf err = {""};
	int rc;

	out_check_at_exit("colocacct");
	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C"); /* 0.5 in every language: scripts read this */
	signal(SIGPIPE, SIG_DFL);   /* `colocacct | head` ends quietly */
	rc = acct_opts_parse(&o, argc, argv, geteuid(), time(NULL), &err);
	if (rc < 0) {
		if (*err.text)
			fprintf(stderr, "colocacct: error: %s\n", err.text);
		fprintf(stderr, "Try 'colocacct --help' for more information.\n");
		return rc == -ENOMEM ? EXIT_FAILED : EXIT_USAGE;
	}
	switch (o.action) {
	case ACCT_HELP:
		printf("%s%s", USAGE, HELP);
		break;
	case ACCT_USAGE:
		printf("%s", USAGE);
		break;
	case ACCT_VERSION:
		printf("colocacct (coloc) %s\n", PACKAGE_VERSION);
		break;
	case ACCT_HELPFORMAT:
		help_format();
		break;
	case ACCT_REPORT:
		rc = report(&o);
		break;
	}
	acct_opts_done(&o);
	return rc;
}
