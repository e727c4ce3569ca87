# Example programs: small, real, and what realmix and the quickstart run. Not installed.
noinst_PROGRAMS += \
	contrib/programs/bin/bursty \
	contrib/programs/bin/cachehog \
	contrib/programs/bin/dag \
	contrib/programs/bin/pagerank \
	contrib/programs/bin/phases \
	contrib/programs/bin/spin \
	contrib/programs/bin/stencil
# End of noinst_PROGRAMS
# No sanitizers: the programs are load, and their time is a measurement.
PROGRAM_CFLAGS = $(WARN_CFLAGS) -fno-common
contrib_programs_bin_bursty_SOURCES = contrib/programs/bursty.c contrib/programs/program.h
contrib_programs_bin_bursty_CFLAGS = $(PROGRAM_CFLAGS) -fopenmp
contrib_programs_bin_bursty_LDFLAGS =
contrib_programs_bin_bursty_LDADD = libcolocclient.la
contrib_programs_bin_cachehog_SOURCES = contrib/programs/cachehog.c contrib/programs/program.h
contrib_programs_bin_cachehog_CFLAGS = $(PROGRAM_CFLAGS)
contrib_programs_bin_cachehog_LDFLAGS =
contrib_programs_bin_cachehog_LDADD = libcolocclient.la
# With the libraries' flags: it schedules with them.
contrib_programs_bin_dag_SOURCES = contrib/programs/dag.c
contrib_programs_bin_dag_CFLAGS = $(AM_CFLAGS) -pthread
contrib_programs_bin_dag_LDADD = libsim.la $(TASKS_LIBS) libcolocclient.la -lpthread -lm
contrib_programs_bin_pagerank_SOURCES = contrib/programs/pagerank.c contrib/programs/program.h
contrib_programs_bin_pagerank_CFLAGS = $(PROGRAM_CFLAGS) -fopenmp
contrib_programs_bin_pagerank_LDFLAGS =
contrib_programs_bin_pagerank_LDADD = libcolocclient.la
contrib_programs_bin_phases_SOURCES = contrib/programs/phases.c contrib/programs/program.h
contrib_programs_bin_phases_CFLAGS = $(PROGRAM_CFLAGS) -fopenmp
contrib_programs_bin_phases_LDFLAGS =
contrib_programs_bin_phases_LDADD = libcolocclient.la
contrib_programs_bin_spin_SOURCES = contrib/programs/spin.c contrib/programs/program.h
contrib_programs_bin_spin_CFLAGS = $(PROGRAM_CFLAGS)
contrib_programs_bin_spin_LDFLAGS =
contrib_programs_bin_spin_LDADD = libcolocclient.la
contrib_programs_bin_stencil_SOURCES = contrib/programs/stencil.c contrib/programs/program.h
contrib_programs_bin_stencil_CFLAGS = $(PROGRAM_CFLAGS) -fopenmp
contrib_programs_bin_stencil_LDFLAGS =
contrib_programs_bin_stencil_LDADD = libcolocclient.la

dist_check_SCRIPTS += contrib/programs/test_programs.sh
TESTS += contrib/programs/test_programs.sh
