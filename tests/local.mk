# tests: each room lists its unit tests in its own local.mk as
#   check_PROGRAMS += tests/unit/test_x
#   tests_unit_test_x_SOURCES = tests/unit/test_x.c
#   tests_unit_test_x_CFLAGS = $(UNIT_CFLAGS)
#   tests_unit_test_x_LDADD = <its libraries> libcommon.la $(CHECK_LIBS)
# and adds it to TESTS. Exit 77: skipped, with the reason printed.
UNIT_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

# Of tests that need root: a line each, and at the end how many passed.
RUN_LIST = COLOC_SRCDIR='$(abs_top_srcdir)' COLOC_BUILDDIR='$(abs_top_builddir)' $(srcdir)/tests/run-list
dist_check_SCRIPTS += tests/packages.sh tests/run-list tests/compat-table

include tests/guest/local.mk
TESTS += tests/check-chaos-sum.sh
dist_check_SCRIPTS += tests/check-chaos-sum.sh

include tests/live/local.mk
include tests/unit/common.mk
