# characterise: models of real programs for colocsim, nodesvc/sim/models/.
EXTRA_DIST += contrib/bench/characterise contrib/bench/models
noinst_PROGRAMS += contrib/bench/bin/characterise
contrib_bench_bin_characterise_SOURCES = \
	contrib/bench/model/characterise.c \
	contrib/bench/model/measure.c contrib/bench/model/measure.h
# End of contrib_bench_bin_characterise_SOURCES
contrib_bench_bin_characterise_LDADD = libsim.la libcounters.la libcommon.la $(YAML_LIBS) -lm

dist_check_SCRIPTS += tests/check-characterise.sh
TESTS += tests/check-characterise.sh
