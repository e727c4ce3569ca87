# overhead: what colocd uses on a node full of job steps. Not installed.
noinst_PROGRAMS += contrib/bench/bin/overhead
contrib_bench_bin_overhead_SOURCES = \
	contrib/bench/load/overhead.c \
	contrib/bench/load/node.c contrib/bench/load/node.h \
	contrib/bench/load/reads.c contrib/bench/load/reads.h \
	tests/live/step_fixture.c tests/live/step_fixture.h \
	nodesvc/gain.c nodesvc/gain.h
contrib_bench_bin_overhead_LDADD = libcommon.la $(CHECK_LIBS) -lm
EXTRA_DIST += contrib/bench/overhead
