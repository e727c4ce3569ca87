# report: colocacct, sacct's grammar over what was recorded.
noinst_LTLIBRARIES += libreport.la
libreport_la_SOURCES = \
	nodesvc/report/acct_field.c nodesvc/report/acct.h \
	nodesvc/report/acct_alloc.c \
	nodesvc/report/acct_csv.c \
	nodesvc/report/acct_cluster.c \
	nodesvc/report/acct_hosts.c \
	nodesvc/report/acct_html.c \
	nodesvc/report/acct_html_data.c \
	nodesvc/report/acct_html_gain.c \
	nodesvc/report/acct_html_heat.c \
	nodesvc/report/acct_opts.c \
	nodesvc/report/acct_out.c \
	nodesvc/report/acct_row.c \
	nodesvc/report/acct_source.c \
	nodesvc/report/acct_time.c
# End of libreport_la_SOURCES
libreport_la_CFLAGS = $(AM_CFLAGS) $(JSON_CFLAGS) $(SMARTCOLS_CFLAGS)
libreport_la_LIBADD = librecord.la libctlclient.la libcommon.la $(JSON_LIBS) $(SMARTCOLS_LIBS) -lm

bin_PROGRAMS += nodesvc/colocacct
nodesvc_colocacct_SOURCES = nodesvc/report/colocacct.c
nodesvc_colocacct_CFLAGS = $(AM_CFLAGS) $(JSON_CFLAGS)
nodesvc_colocacct_LDADD = libreport.la
dist_man_MANS += nodesvc/report/colocacct.1

noinst_PROGRAMS += contrib/bench/bin/acct
contrib_bench_bin_acct_SOURCES = contrib/bench/acct.c
contrib_bench_bin_acct_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
contrib_bench_bin_acct_LDADD = librecord.la libcommon.la $(SQLITE_LIBS) -lm

check_PROGRAMS += tests/unit/test_acct_time
tests_unit_test_acct_time_SOURCES = tests/unit/test_acct_time.c
tests_unit_test_acct_time_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_acct_time_LDADD = libreport.la libcommon.la $(CHECK_LIBS)
TESTS += tests/unit/test_acct_time

check_PROGRAMS += tests/unit/test_acct_field
tests_unit_test_acct_field_SOURCES = tests/unit/test_acct_field.c
tests_unit_test_acct_field_CFLAGS = $(UNIT_CFLAGS) $(JSON_CFLAGS)
tests_unit_test_acct_field_LDADD = libreport.la libcommon.la $(JSON_LIBS) $(CHECK_LIBS)
TESTS += tests/unit/test_acct_field

check_PROGRAMS += tests/unit/test_acct_opts
tests_unit_test_acct_opts_SOURCES = tests/unit/test_acct_opts.c
tests_unit_test_acct_opts_CFLAGS = $(UNIT_CFLAGS) $(JSON_CFLAGS)
tests_unit_test_acct_opts_LDADD = libreport.la libcommon.la $(CHECK_LIBS)
TESTS += tests/unit/test_acct_opts

check_PROGRAMS += tests/unit/test_colocacct
tests_unit_test_colocacct_SOURCES = tests/unit/test_colocacct.c tests/unit/cli.h tests/unit/hostile.h tests/unit/tmpdir.h
tests_unit_test_colocacct_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_colocacct_LDADD = librecord.la libcommon.la $(CHECK_LIBS)
TESTS += tests/unit/test_colocacct
EXTRA_DIST += \
	tests/golden/acct-accounts.txt \
	tests/golden/acct-all.txt \
	tests/golden/acct-array.txt \
	tests/golden/acct-brief.txt \
	tests/golden/acct-default.txt \
	tests/golden/acct-csv-none.txt \
	tests/golden/acct-csv.txt \
	tests/golden/acct-duplicates.txt \
	tests/golden/acct-figures.txt \
	tests/golden/acct-help.txt \
	tests/golden/acct-helpformat.txt \
	tests/golden/acct-job.txt \
	tests/golden/acct-json-history.txt \
	tests/golden/acct-json-none.txt \
	tests/golden/acct-json.txt \
	tests/golden/acct-long.txt \
	tests/golden/acct-name.txt \
	tests/golden/acct-newest.txt \
	tests/golden/acct-noconvert.txt \
	tests/golden/acct-nodelist.txt \
	tests/golden/acct-noheader.txt \
	tests/golden/acct-none.txt \
	tests/golden/acct-parsable.txt \
	tests/golden/acct-parsable2.txt \
	tests/golden/acct-partition.txt \
	tests/golden/acct-state.txt \
	tests/golden/acct-truncate.txt \
	tests/golden/acct-units-small.txt \
	tests/golden/acct-units.txt \
	tests/golden/acct-usage.txt \
	tests/golden/acct-user.txt \
	tests/golden/acct-widths.txt \
	tests/golden/acct-window.txt
# End of EXTRA_DIST
