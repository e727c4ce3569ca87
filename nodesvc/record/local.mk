# record: the ledger of originals, accounting and profiles; the only SQL.
noinst_LTLIBRARIES += librecord.la
librecord_la_SOURCES = \
	nodesvc/record/db.c nodesvc/record/db.h \
	nodesvc/record/ledger.c nodesvc/record/ledger.h \
	nodesvc/record/record.c nodesvc/record/record.h \
	nodesvc/record/record_decision.c \
	nodesvc/record/record_internal.h \
	nodesvc/record/record_profile.c \
	nodesvc/record/record_step.c
# End of librecord_la_SOURCES
librecord_la_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
librecord_la_LIBADD = libcommon.la $(SQLITE_LIBS)

check_PROGRAMS += tests/unit/test_ledger
tests_unit_test_ledger_SOURCES = tests/unit/test_ledger.c tests/unit/tmpdir.h
tests_unit_test_ledger_CFLAGS = $(UNIT_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_ledger_LDADD = librecord.la libcommon.la $(SQLITE_LIBS) $(CHECK_LIBS)
TESTS += tests/unit/test_ledger

check_PROGRAMS += tests/unit/test_record
tests_unit_test_record_SOURCES = tests/unit/test_record.c tests/unit/tmpdir.h
tests_unit_test_record_CFLAGS = $(UNIT_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_record_LDADD = librecord.la libcommon.la $(SQLITE_LIBS) $(CHECK_LIBS)
TESTS += tests/unit/test_record
