# record: the ledger of originals, accounting and profiles; the only SQL.
noinst_LTLIBRARIES += librecord.la
librecord_la_SOURCES = \
	nodesvc/record/acct_query.c \
	nodesvc/record/checkpoint.c \
	nodesvc/record/db.c \
	nodesvc/record/figures.h \
	nodesvc/record/ledger.c nodesvc/record/ledger.h \
	nodesvc/record/record.c nodesvc/record/record.h \
	nodesvc/record/record_history.c \
	nodesvc/record/record_internal.h \
	nodesvc/record/record_judged.c \
	nodesvc/record/record_measurement.c \
	nodesvc/record/record_learnt.c \
	nodesvc/record/record_open.c \
	nodesvc/record/record_profile.c \
	nodesvc/record/record_registration.c \
	nodesvc/record/record_retain.c \
	nodesvc/record/record_step.c \
	nodesvc/record/step_id.c \
	nodesvc/record/summary.c
# End of librecord_la_SOURCES
librecord_la_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS) $(JSON_CFLAGS)
librecord_la_LIBADD = libcommon.la $(SQLITE_LIBS) $(JSON_LIBS)

check_PROGRAMS += tests/unit/test_ledger
tests_unit_test_ledger_SOURCES = tests/unit/test_ledger.c tests/unit/tmpdir.h
tests_unit_test_ledger_CFLAGS = $(UNIT_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_ledger_LDADD = librecord.la libcommon.la $(SQLITE_LIBS) $(CHECK_LIBS)
TESTS += tests/unit/test_ledger

record_db_tests = \
	tests/unit/test_record \
	tests/unit/test_record_history \
	tests/unit/test_record_judged \
	tests/unit/test_record_learnt \
	tests/unit/test_record_open \
	tests/unit/test_record_profile \
	tests/unit/test_record_registration
# End of record_db_tests
check_PROGRAMS += $(record_db_tests)
TESTS += $(record_db_tests)
record_db_sources = tests/unit/record_db.c tests/unit/record_db.h tests/unit/tmpdir.h
tests_unit_test_record_SOURCES = tests/unit/test_record.c $(record_db_sources)
tests_unit_test_record_CFLAGS = $(UNIT_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_record_LDADD = librecord.la libcommon.la $(SQLITE_LIBS) $(CHECK_LIBS)
tests_unit_test_record_history_SOURCES = tests/unit/test_record_history.c $(record_db_sources)
tests_unit_test_record_history_CFLAGS = $(UNIT_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_record_history_LDADD = librecord.la libcommon.la $(SQLITE_LIBS) $(CHECK_LIBS)
tests_unit_test_record_judged_SOURCES = tests/unit/test_record_judged.c $(record_db_sources)
tests_unit_test_record_judged_CFLAGS = $(UNIT_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_record_judged_LDADD = librecord.la libcommon.la $(SQLITE_LIBS) $(CHECK_LIBS)
tests_unit_test_record_learnt_SOURCES = tests/unit/test_record_learnt.c $(record_db_sources)
tests_unit_test_record_learnt_CFLAGS = $(UNIT_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_record_learnt_LDADD = librecord.la libcommon.la $(SQLITE_LIBS) $(CHECK_LIBS)
tests_unit_test_record_open_SOURCES = tests/unit/test_record_open.c $(record_db_sources)
tests_unit_test_record_open_CFLAGS = $(UNIT_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_record_open_LDADD = librecord.la libcommon.la $(SQLITE_LIBS) $(CHECK_LIBS)
tests_unit_test_record_profile_SOURCES = tests/unit/test_record_profile.c $(record_db_sources)
tests_unit_test_record_profile_CFLAGS = $(UNIT_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_record_profile_LDADD = librecord.la libcommon.la $(SQLITE_LIBS) $(CHECK_LIBS)
tests_unit_test_record_registration_SOURCES = tests/unit/test_record_registration.c $(record_db_sources)
tests_unit_test_record_registration_CFLAGS = $(UNIT_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_record_registration_LDADD = librecord.la libcommon.la $(SQLITE_LIBS) $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_step_id
tests_unit_test_step_id_SOURCES = tests/unit/test_step_id.c
tests_unit_test_step_id_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_step_id_LDADD = librecord.la libcommon.la $(CHECK_LIBS)
TESTS += tests/unit/test_step_id

check_PROGRAMS += tests/unit/test_summary
tests_unit_test_summary_SOURCES = tests/unit/test_summary.c
tests_unit_test_summary_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_summary_LDADD = librecord.la libcommon.la $(CHECK_LIBS)
TESTS += tests/unit/test_summary

check_PROGRAMS += tests/unit/test_acct_query
tests_unit_test_acct_query_SOURCES = tests/unit/test_acct_query.c
tests_unit_test_acct_query_CFLAGS = $(UNIT_CFLAGS) $(JSON_CFLAGS)
tests_unit_test_acct_query_LDADD = librecord.la libcommon.la $(JSON_LIBS) $(CHECK_LIBS)
TESTS += tests/unit/test_acct_query
