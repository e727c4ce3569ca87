# counters: where signals come from. PAPI stays in papi.c.
noinst_LTLIBRARIES += libcounters.la
libcounters_la_SOURCES = \
	nodesvc/counters/choose.c nodesvc/counters/counters.h \
	nodesvc/counters/cover.c nodesvc/counters/cover.h \
	nodesvc/counters/perf.c \
	nodesvc/counters/probe.c nodesvc/counters/probe.h \
	nodesvc/counters/rates.c \
	nodesvc/counters/utilization.c
# End of libcounters_la_SOURCES
if HAVE_PAPI
libcounters_la_SOURCES += nodesvc/counters/papi.c
endif
libcounters_la_CFLAGS = $(AM_CFLAGS) $(JSON_CFLAGS)
libcounters_la_LIBADD = libcommon.la $(JSON_LIBS) $(PAPI_LIBS) -lm

check_PROGRAMS += tests/unit/test_utilization
tests_unit_test_utilization_SOURCES = tests/unit/test_utilization.c
tests_unit_test_utilization_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_utilization_LDADD = libcounters.la libcommon.la $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_rates
tests_unit_test_rates_SOURCES = tests/unit/test_rates.c
tests_unit_test_rates_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_rates_LDADD = libcounters.la libcommon.la $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_choose
tests_unit_test_choose_SOURCES = tests/unit/test_choose.c
tests_unit_test_choose_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_choose_LDADD = libcounters.la libcommon.la $(CHECK_LIBS)

TESTS += tests/unit/test_utilization tests/unit/test_rates tests/unit/test_choose
