# overhead: what colocd uses on a node full of job steps. Not installed.
noinst_PROGRAMS += contrib/bench/bin/overhead
contrib_bench_bin_overhead_SOURCES = \
	contrib/bench/load/overhead.c \
	contrib/bench/load/burst.c contrib/bench/load/burst.h \
	contrib/bench/load/echo.c contrib/bench/load/echo.h \
	contrib/bench/load/node.c contrib/bench/load/node.h \
	contrib/bench/load/reads.c contrib/bench/load/reads.h \
	contrib/bench/load/ticks.c contrib/bench/load/ticks.h \
	tests/live/step_fixture.c tests/live/step_fixture.h \
	nodesvc/engine/gain.c
contrib_bench_bin_overhead_CFLAGS = $(UNIT_CFLAGS) $(JSON_CFLAGS)
contrib_bench_bin_overhead_LDADD = libcommon.la $(CHECK_LIBS) $(JSON_LIBS) -lm
EXTRA_DIST += contrib/bench/overhead contrib/bench/soak

# soak: the same node, for an hour, with steps that come and go. Not installed.
noinst_PROGRAMS += contrib/bench/bin/soak
contrib_bench_bin_soak_SOURCES = \
	contrib/bench/load/soak.c \
	contrib/bench/load/node.c contrib/bench/load/node.h \
	tests/live/step_fixture.c tests/live/step_fixture.h
contrib_bench_bin_soak_CFLAGS = $(UNIT_CFLAGS)
contrib_bench_bin_soak_LDADD = libcommon.la $(CHECK_LIBS) -lm
