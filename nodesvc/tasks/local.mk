# tasks: libcoloc_tasks, which runs a program's tasks by the engine's das-* policies. Exports
# coloc_task_* and coloc_tasks_* only; what it shares with the other rooms is inside it.
noinst_LTLIBRARIES += libtasks.la
libtasks_la_SOURCES = \
	nodesvc/tasks/coloc_tasks.c nodesvc/tasks/coloc_tasks.h \
	nodesvc/tasks/grant.c nodesvc/tasks/grant.h \
	nodesvc/tasks/pool.h \
	nodesvc/tasks/spec.c nodesvc/tasks/spec.h \
	nodesvc/tasks/task_place.c nodesvc/tasks/task_place.h \
	nodesvc/tasks/worker.c
# End of libtasks_la_SOURCES
libtasks_la_CFLAGS = $(AM_CFLAGS) -pthread -fvisibility=default
TASKS_LIBS = libtasks.la libengine.la libtopo.la libcommon.la

lib_LTLIBRARIES += libcoloc_tasks.la
include_HEADERS += nodesvc/tasks/coloc_tasks.h
pkgconfig_DATA += nodesvc/tasks/coloc_tasks.pc
dist_man_MANS += nodesvc/tasks/libcoloc_tasks.3
# Sources and not the libraries, of which libtool would take all with what each holds of the others.
libcoloc_tasks_la_SOURCES = \
	$(libtasks_la_SOURCES) $(libengine_la_SOURCES) $(libtopo_la_SOURCES) \
	common/arena.c common/coreset.c common/err.c common/infile.c common/text.c
# End of libcoloc_tasks_la_SOURCES
libcoloc_tasks_la_CFLAGS = $(libtasks_la_CFLAGS) $(HWLOC_CFLAGS)
libcoloc_tasks_la_LIBADD = libcoloc.la $(HWLOC_LIBS) -lpthread -lm
libcoloc_tasks_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined \
	-export-symbols-regex '^coloc_tasks?_' -Wl,-z,relro -Wl,-z,now

check_PROGRAMS += tests/unit/test_tasks
TESTS += tests/unit/test_tasks
tests_unit_test_tasks_SOURCES = tests/unit/test_tasks.c
tests_unit_test_tasks_CFLAGS = $(UNIT_CFLAGS) -pthread
tests_unit_test_tasks_LDADD = $(TASKS_LIBS) libcolocclient.la $(CHECK_LIBS) -lpthread -lm
# The grant is the test's.
tests_unit_test_tasks_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=coloc_granted -Wl,--wrap=coloc_cores
