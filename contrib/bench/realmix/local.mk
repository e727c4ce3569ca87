# realmix: programs sharing a real Slurm node, measured. Not installed.
noinst_LTLIBRARIES += librealmix.la
librealmix_la_SOURCES = \
	contrib/bench/realmix/disturb.c contrib/bench/realmix/disturb.h \
	contrib/bench/realmix/measure.c contrib/bench/realmix/measure.h \
	contrib/bench/realmix/mixes.c contrib/bench/realmix/mixes.h \
	contrib/bench/realmix/profile.c contrib/bench/realmix/profile.h \
	contrib/bench/realmix/report.c contrib/bench/realmix/report.h \
	contrib/bench/realmix/rounds.c contrib/bench/realmix/rounds.h \
	contrib/bench/realmix/slurm.c contrib/bench/realmix/slurm.h \
	contrib/bench/realmix/state.c contrib/bench/realmix/state.h \
	contrib/bench/realmix/stats.c contrib/bench/realmix/stats.h \
	contrib/bench/realmix/summary.c contrib/bench/realmix/summary.h
# End of librealmix_la_SOURCES
librealmix_la_CFLAGS = $(AM_CFLAGS) $(JSON_CFLAGS)
librealmix_la_LIBADD = libcommon.la $(JSON_LIBS) -lm

noinst_PROGRAMS += contrib/bench/bin/realmix
contrib_bench_bin_realmix_SOURCES = contrib/bench/realmix/realmix.c
contrib_bench_bin_realmix_LDADD = librealmix.la libcommon.la -lm

check_PROGRAMS += tests/unit/test_realmix
tests_unit_test_realmix_SOURCES = tests/unit/test_realmix.c tests/unit/fstree.c tests/unit/fstree.h
tests_unit_test_realmix_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_realmix_LDADD = librealmix.la libcommon.la $(CHECK_LIBS) -lm
TESTS += tests/unit/test_realmix
