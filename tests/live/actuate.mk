# The actuator against the kernel; root only, so not in TESTS: contrib/runtests runs LIVE_TESTS.
live_compiled = tests/live/live_actuate tests/live/live_calls tests/live/live_levels tests/live/live_out
check_PROGRAMS += $(live_compiled)
LIVE_TESTS += $(live_compiled)
tests_live_live_actuate_SOURCES = \
	tests/live/live_actuate.c tests/live/live_actuate.h \
	tests/live/live_actuate_restore.c \
	tests/live/step_fixture.c tests/live/step_fixture.h \
	tests/unit/ledger_mem.c tests/unit/ledger_mem.h
tests_live_live_actuate_CFLAGS = $(UNIT_CFLAGS)
tests_live_live_actuate_LDADD = libactuate.la libcommon.la $(CHECK_LIBS) -lpthread
tests_live_live_calls_SOURCES = tests/live/live_calls.c tests/live/hanging_fs.c tests/live/hanging_fs.h
tests_live_live_calls_CFLAGS = $(UNIT_CFLAGS)
tests_live_live_calls_LDADD = libcounters.la libcommon.la $(CHECK_LIBS) -lpthread
tests_live_live_levels_SOURCES = \
	tests/live/live_levels.c \
	tests/live/step_fixture.c tests/live/step_fixture.h \
	tests/unit/ledger_mem.c tests/unit/ledger_mem.h
tests_live_live_levels_CFLAGS = $(UNIT_CFLAGS)
tests_live_live_levels_LDADD = libactuate.la libcommon.la $(CHECK_LIBS) -lpthread
tests_live_live_out_SOURCES = \
	tests/live/live_out.c \
	tests/live/step_fixture.c tests/live/step_fixture.h \
	tests/unit/ledger_mem.c tests/unit/ledger_mem.h
tests_live_live_out_CFLAGS = $(UNIT_CFLAGS)
tests_live_live_out_LDADD = libactuate.la libcommon.la $(CHECK_LIBS) -lpthread
# What a move costs its mover; contrib/bench/movecost.c says more.
check_PROGRAMS += contrib/bench/bin/movecost
contrib_bench_bin_movecost_SOURCES = contrib/bench/movecost.c \
	tests/live/step_fixture.c tests/live/step_fixture.h
contrib_bench_bin_movecost_CFLAGS = $(UNIT_CFLAGS)
contrib_bench_bin_movecost_LDADD = libactuate.la librecord.la libcommon.la \
	$(SQLITE_LIBS) $(JSON_LIBS) $(CHECK_LIBS) -lpthread
