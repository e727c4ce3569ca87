# Unit tests of common/, and the check of which room may use what.
common_unit_tests = \
	tests/unit/test_arena \
	tests/unit/test_aside \
	tests/unit/test_coreset \
	tests/unit/test_err \
	tests/unit/test_fsroot \
	tests/unit/test_ipc \
	tests/unit/test_msg \
	tests/unit/test_runtimes \
	tests/unit/test_starters \
	tests/unit/test_text
# End of common_unit_tests
check_PROGRAMS += $(common_unit_tests)
TESTS += $(common_unit_tests) tests/check-layers.sh tests/check-layers-catches.sh
dist_check_SCRIPTS += tests/check-layers.sh tests/check-layers-catches.sh
EXTRA_DIST += tests/layers.awk tests/layers.known tests/layers.rooms
common_test_libs = libcommon.la $(CHECK_LIBS)
tests_unit_test_aside_SOURCES = tests/unit/test_aside.c
tests_unit_test_aside_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_aside_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=ipc_now_ns,--wrap=clock_gettime
tests_unit_test_aside_LDADD = $(common_test_libs)
tests_unit_test_arena_SOURCES = tests/unit/test_arena.c
tests_unit_test_arena_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_arena_LDADD = $(common_test_libs)
tests_unit_test_coreset_SOURCES = tests/unit/test_coreset.c
tests_unit_test_coreset_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_coreset_LDADD = $(common_test_libs)
tests_unit_test_err_SOURCES = tests/unit/test_err.c
tests_unit_test_err_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_err_LDADD = $(common_test_libs)
tests_unit_test_fsroot_SOURCES = \
	tests/unit/fstree.c tests/unit/fstree.h \
	tests/unit/test_fsroot.c
tests_unit_test_fsroot_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_fsroot_LDADD = $(common_test_libs)
tests_unit_test_ipc_SOURCES = tests/unit/test_ipc.c
tests_unit_test_ipc_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_ipc_LDADD = $(common_test_libs)
tests_unit_test_msg_SOURCES = tests/unit/test_msg.c
tests_unit_test_msg_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_msg_LDADD = $(common_test_libs)
tests_unit_test_runtimes_SOURCES = tests/unit/test_runtimes.c
tests_unit_test_runtimes_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_runtimes_LDADD = $(common_test_libs)
tests_unit_test_starters_SOURCES = tests/unit/test_starters.c
tests_unit_test_starters_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_starters_LDADD = $(common_test_libs)
tests_unit_test_text_SOURCES = tests/unit/hostile.h tests/unit/test_text.c
tests_unit_test_text_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_text_LDADD = $(common_test_libs)
EXTRA_DIST += tests/hostile-names
include tests/fuzz/fuzz.mk
