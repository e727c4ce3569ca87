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

# The unit tests with valgrind (one process each: leaks of what a test forked would be its own), and
# in asan/ of the build folder with AddressSanitizer, LeakSanitizer and UBSan.
VALGRIND_TESTS = $(filter-out %.sh,$(filter tests/unit/test_%,$(TESTS)))
VALGRIND = valgrind -q --error-exitcode=1 --leak-check=full --errors-for-leak-kinds=definite
.PHONY: check-valgrind
check-valgrind:
	@CK_FORK=no CK_TIMEOUT_MULTIPLIER=30 $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(VALGRIND_TESTS)' \
	  LOG_COMPILER='$(LIBTOOL) --mode=execute $(VALGRIND)'

.PHONY: check-asan
check-asan:
	@$(MKDIR_P) asan && cd asan && \
	{ test Makefile -nt '$(abs_top_srcdir)/configure' || '$(abs_top_srcdir)/configure' \
	  --enable-sanitizers CC='$(CC)' CFLAGS='-g -O1' >configure.out 2>&1 || \
	  { tail -5 configure.out; exit 1; }; } && \
	ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 $(MAKE) $(AM_MAKEFLAGS) check

# Threads that share queues, with ThreadSanitizer, in tsan/ of the build folder.
.PHONY: check-tsan
check-tsan:
	@$(MKDIR_P) tsan && cd tsan && \
	{ test Makefile -nt '$(abs_top_srcdir)/configure' || '$(abs_top_srcdir)/configure' \
	  CC='$(CC)' CFLAGS='-g -O1 -fsanitize=thread -Wno-tsan' >configure.out 2>&1 || \
	  { tail -5 configure.out; exit 1; }; } && \
	$(MAKE) $(AM_MAKEFLAGS) tests/unit/test_tasks && \
	CK_FORK=no CK_TIMEOUT_MULTIPLIER=30 tests/unit/test_tasks

include tests/guest/local.mk
TESTS += tests/check-chaos-sum.sh
dist_check_SCRIPTS += tests/check-chaos-sum.sh

include tests/live/local.mk
include tests/unit/common.mk
