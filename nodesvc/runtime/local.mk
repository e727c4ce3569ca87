# runtime: what is linked into users' programs. libcoloc exports coloc_* only; what it shares with
# the other rooms is inside it.
lib_LTLIBRARIES = libcoloc.la
include_HEADERS = nodesvc/runtime/coloc.h
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = nodesvc/runtime/coloc.pc
dist_man_MANS += nodesvc/runtime/libcoloc.3

COLOC_CLIENT_SOURCES = \
	nodesvc/runtime/coloc.c nodesvc/runtime/coloc.h \
	nodesvc/runtime/client.h \
	nodesvc/runtime/page.h \
	common/err.c common/ipc.c common/msg.c common/text.c
libcoloc_la_SOURCES = $(COLOC_CLIENT_SOURCES)
libcoloc_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
libcoloc_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined -export-symbols-regex '^coloc_' \
	-Wl,-z,relro -Wl,-z,now

# The same for our example programs, which are started as they lie in the build folder: no shared
# library to find, no sanitizer (they are load, and their time is a measurement).
noinst_LTLIBRARIES += libcolocclient.la
libcolocclient_la_SOURCES = $(COLOC_CLIENT_SOURCES)
libcolocclient_la_CFLAGS = $(WARN_CFLAGS) -fno-common
libcolocclient_la_LDFLAGS =

# For LD_PRELOAD: OpenMP programs follow the grant. Never linked to; exports what it stands before.
lib_LTLIBRARIES += libcoloc_omp.la
libcoloc_omp_la_SOURCES = \
	nodesvc/runtime/omp.c nodesvc/runtime/omp.h nodesvc/runtime/omp_symbols.h \
	nodesvc/runtime/omp_cpus.c nodesvc/runtime/omp_entry.c nodesvc/runtime/omp_processes.c \
	nodesvc/runtime/omp_runtime.c \
	nodesvc/runtime/omp_wait.c \
	nodesvc/runtime/sleeper.h
# Without sanitizers: programs that are not built with them load it.
libcoloc_omp_la_CFLAGS = $(WARN_CFLAGS) -fno-common -fvisibility=hidden $(COVERAGE_CFLAGS)
libcoloc_omp_la_LDFLAGS = -module -avoid-version -no-undefined -shared \
	-export-symbols-regex '^(GOMP_|omp_|__kmpc_|pthread_getaffinity_np)' -Wl,-z,relro -Wl,-z,now $(COVERAGE_CFLAGS)
libcoloc_omp_la_LIBADD = libcolocclient.la -ldl

# For LD_PRELOAD, or linked before the MPI library: its operations are counted. It is linked to none.
lib_LTLIBRARIES += libcoloc_mpi.la
libcoloc_mpi_la_SOURCES = nodesvc/runtime/mpi.c nodesvc/runtime/mpi_calls.h
libcoloc_mpi_la_CFLAGS = $(WARN_CFLAGS) -fno-common -fvisibility=hidden $(COVERAGE_CFLAGS)
libcoloc_mpi_la_LDFLAGS = -module -avoid-version -no-undefined -shared \
	-export-symbols-regex '^(MPI_|mpi_)' -Wl,-z,relro -Wl,-z,now $(COVERAGE_CFLAGS)
libcoloc_mpi_la_LIBADD = libcolocclient.la -ldl

check_PROGRAMS += tests/unit/test_runtime
TESTS += tests/unit/test_runtime
tests_unit_test_runtime_SOURCES = tests/unit/test_runtime.c
tests_unit_test_runtime_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_runtime_LDADD = $(NODESVC_LIBS) libcolocclient.la $(CHECK_LIBS)
tests_unit_test_runtime_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=ipc_now_ns

# libcoloc_omp under programs that are compiled by the test itself.
check_PROGRAMS += tests/unit/omp_granter
tests_unit_omp_granter_SOURCES = tests/unit/omp_granter.c
tests_unit_omp_granter_LDADD = $(NODESVC_LIBS)
dist_check_SCRIPTS += tests/unit/test_omp.sh
TESTS += tests/unit/test_omp.sh
EXTRA_DIST += tests/unit/omp_probe.c
# The same of libcoloc_mpi.
dist_check_SCRIPTS += tests/unit/test_mpi.sh
TESTS += tests/unit/test_mpi.sh
EXTRA_DIST += tests/unit/mpi_fake.c
