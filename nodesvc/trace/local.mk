# trace: views, plans and recorded decisions as JSON; what colocd writes and colocsim reads.
noinst_LTLIBRARIES += libviewjson.la
libviewjson_la_SOURCES = \
	nodesvc/trace/plan_json.c \
	nodesvc/trace/plan_read.c \
	nodesvc/trace/internal.h nodesvc/trace/trace.h \
	nodesvc/trace/trace_read.c \
	nodesvc/trace/trace_write.c \
	nodesvc/trace/recent.c \
	nodesvc/trace/recent_json.c \
	nodesvc/trace/value.c \
	nodesvc/trace/view_job.c \
	nodesvc/trace/view_json.c \
	nodesvc/trace/view_write.c
# End of libviewjson_la_SOURCES
libviewjson_la_CFLAGS = $(AM_CFLAGS) $(JSON_CFLAGS)
libviewjson_la_LIBADD = libengine.la $(JSON_LIBS)

check_PROGRAMS += tests/unit/test_trace
TESTS += tests/unit/test_trace
tests_unit_test_trace_SOURCES = tests/unit/test_trace.c tests/unit/cli.h tests/unit/tmpdir.h
tests_unit_test_trace_CFLAGS = $(UNIT_CFLAGS) $(JSON_CFLAGS)
tests_unit_test_trace_LDADD = libviewjson.la libengine.la libtopo.la libcommon.la $(CHECK_LIBS) \
	$(JSON_LIBS) -lm
EXTRA_DIST += doc/trace.md
check_PROGRAMS += tests/unit/test_recent
TESTS += tests/unit/test_recent
tests_unit_test_recent_SOURCES = tests/unit/test_recent.c
tests_unit_test_recent_CFLAGS = $(UNIT_CFLAGS) $(JSON_CFLAGS)
tests_unit_test_recent_LDADD = libviewjson.la libengine.la libtopo.la libcommon.la $(CHECK_LIBS) \
	$(JSON_LIBS) -lm
