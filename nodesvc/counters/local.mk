# counters: where signals come from. PAPI stays in papi.c.
noinst_LTLIBRARIES += libcounters.la
libcounters_la_SOURCES = \
	nodesvc/counters/app.c nodesvc/counters/app.h \
	nodesvc/counters/cachegrind.c nodesvc/counters/cachegrind.h \
	nodesvc/counters/callnames.c nodesvc/counters/callnames.h \
	nodesvc/counters/callpick.c nodesvc/counters/callpick.h \
	nodesvc/counters/callpick_best.c nodesvc/counters/callpick_next.c \
	nodesvc/counters/callpick_internal.h \
	nodesvc/counters/calls.c nodesvc/counters/calls.h \
	nodesvc/counters/calls_figures.c nodesvc/counters/calls_places.c \
	nodesvc/counters/calls_internal.h \
	nodesvc/counters/callworker.c nodesvc/counters/callworker.h \
	nodesvc/counters/choose.c nodesvc/counters/counters.h \
	nodesvc/counters/clocks.c nodesvc/counters/clocks.h \
	nodesvc/counters/coupling.c nodesvc/counters/coupling.h \
	nodesvc/counters/cover.c nodesvc/counters/cover.h \
	nodesvc/counters/events.c nodesvc/counters/events.h \
	nodesvc/counters/idle.h \
	nodesvc/counters/mapped.c nodesvc/counters/mapped.h \
	nodesvc/counters/perf.c \
	nodesvc/counters/look.c nodesvc/counters/look.h \
	nodesvc/counters/polling.c nodesvc/counters/polling.h \
	nodesvc/counters/probe.c nodesvc/counters/probe.h \
	nodesvc/counters/profile_json.c nodesvc/counters/profile_json.h \
	nodesvc/counters/profile_run.c nodesvc/counters/profile_run.h \
	nodesvc/counters/rates.c \
	nodesvc/counters/solo.c nodesvc/counters/solo.h \
	nodesvc/counters/symbols.c nodesvc/counters/symbols.h \
	nodesvc/counters/userfs.c nodesvc/counters/userfs.h \
	nodesvc/counters/tracefs.c nodesvc/counters/tracefs.h \
	nodesvc/counters/utilization.c
# End of libcounters_la_SOURCES
if HAVE_PAPI
libcounters_la_SOURCES += nodesvc/counters/papi.c
endif
libcounters_la_CFLAGS = $(AM_CFLAGS) -pthread $(JSON_CFLAGS)
libcounters_la_LIBADD = libcommon.la $(JSON_LIBS) $(PAPI_LIBS) -lpthread -lm

check_PROGRAMS += tests/unit/test_utilization
tests_unit_test_utilization_SOURCES = tests/unit/test_utilization.c
tests_unit_test_utilization_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_utilization_LDADD = libcounters.la libcommon.la $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_callpick
tests_unit_test_callpick_SOURCES = tests/unit/test_callpick.c
tests_unit_test_callpick_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_callpick_LDADD = libcounters.la libcommon.la $(CHECK_LIBS) -lm

check_PROGRAMS += tests/unit/test_symbols
tests_unit_test_symbols_SOURCES = tests/unit/test_symbols.c tests/unit/deaf.h
tests_unit_test_symbols_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_symbols_LDADD = libcounters.la libcommon.la $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_rates
tests_unit_test_rates_SOURCES = tests/unit/test_rates.c
tests_unit_test_rates_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_rates_LDADD = libcounters.la libcommon.la $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_choose
tests_unit_test_choose_SOURCES = tests/unit/test_choose.c
tests_unit_test_choose_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_choose_LDADD = libcounters.la libcommon.la $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_site_events
tests_unit_test_site_events_SOURCES = tests/unit/test_site_events.c
tests_unit_test_site_events_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_site_events_LDADD = libcounters.la libcommon.la $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_cachegrind
tests_unit_test_cachegrind_SOURCES = tests/unit/test_cachegrind.c
tests_unit_test_cachegrind_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_cachegrind_LDADD = libcounters.la libcommon.la $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_events
tests_unit_test_events_SOURCES = tests/unit/test_events.c tests/unit/fstree.c tests/unit/fstree.h
tests_unit_test_events_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_events_LDADD = libcounters.la libcommon.la $(CHECK_LIBS) $(PFM_LIBS)

check_PROGRAMS += tests/unit/test_calls
tests_unit_test_calls_SOURCES = tests/unit/test_calls.c
tests_unit_test_calls_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_calls_LDADD = libcounters.la libcommon.la $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_tracefs
tests_unit_test_tracefs_SOURCES = tests/unit/test_tracefs.c tests/unit/fstree.c tests/unit/fstree.h
tests_unit_test_tracefs_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_tracefs_LDADD = libcounters.la libcommon.la $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_callworker
tests_unit_test_callworker_SOURCES = tests/unit/test_callworker.c tests/unit/fstree.c tests/unit/fstree.h
tests_unit_test_callworker_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_callworker_LDADD = libcounters.la libcommon.la $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_profile_json
tests_unit_test_profile_json_SOURCES = tests/unit/test_profile_json.c
tests_unit_test_profile_json_CFLAGS = $(UNIT_CFLAGS) $(JSON_CFLAGS)
tests_unit_test_profile_json_LDADD = libcounters.la libcommon.la $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_profile_run
tests_unit_test_profile_run_SOURCES = tests/unit/test_profile_run.c
tests_unit_test_profile_run_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_profile_run_LDADD = libcounters.la libcommon.la $(CHECK_LIBS)

TESTS += \
	tests/unit/test_cachegrind \
	tests/unit/test_calls \
	tests/unit/test_callpick \
	tests/unit/test_callworker \
	tests/unit/test_choose \
	tests/unit/test_events \
	tests/unit/test_profile_json \
	tests/unit/test_profile_run \
	tests/unit/test_rates \
	tests/unit/test_site_events \
	tests/unit/test_symbols \
	tests/unit/test_tracefs \
	tests/unit/test_utilization
# End of TESTS
