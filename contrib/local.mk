# contrib: example programs, benchmarks, packaging, and the two commands of the README.
# Nothing depends on it.
EXTRA_DIST += .ci/run .clang-tidy tests/.clang-tidy contrib/codespell.words contrib/ansi-svg contrib/coverage \
	contrib/coverage.reasons contrib/grafana/coloc.json contrib/lib.sh contrib/lint contrib/lint-pages contrib/packages contrib/quickstart \
	contrib/runtests contrib/screenshot contrib/cluster/minislurm
EXTRA_DIST += contrib/ansible/README.md contrib/ansible/site.yml contrib/ansible/roles/coloc/defaults/main.yml \
	contrib/ansible/roles/coloc/handlers/main.yml contrib/ansible/roles/coloc/meta/main.yml \
	contrib/ansible/roles/coloc/tasks/absent.yml contrib/ansible/roles/coloc/tasks/main.yml \
	contrib/ansible/roles/coloc/tasks/present.yml contrib/ansible/roles/coloc/templates/coloc.yaml.j2 \
	contrib/openhpc/README.md contrib/openhpc/recipe.sh
include contrib/programs/local.mk

# Looks over the sources without running them: make lint LINT="format man" picks some checks.
LINT =
LINT_FLAGS = -std=gnu17 $(DEFS) -I. $(AM_CPPFLAGS) $(libctl_la_CPPFLAGS) $(CPPFLAGS) $(HWLOC_CFLAGS) $(YAML_CFLAGS) \
	$(JSON_CFLAGS) $(SQLITE_CFLAGS) $(SMARTCOLS_CFLAGS) $(CHECK_CFLAGS) $(SLURM_CFLAGS) -fopenmp
.PHONY: lint
lint:
	@CC='$(CC)' $(srcdir)/contrib/lint $(LINT) -- $(LINT_FLAGS)

# Benchmarks: each prints JSON.
EXTRA_DIST += contrib/bench/calls contrib/bench/gains contrib/bench/idlepoll contrib/bench/launch contrib/bench/ompregion contrib/bench/own_rate.sh \
	contrib/bench/realnode contrib/bench/rebind \
	contrib/bench/waitpolicy contrib/programs/ring.c
noinst_PROGRAMS += contrib/bench/bin/launchpairs
contrib_bench_bin_launchpairs_SOURCES = contrib/bench/launchpairs.c contrib/bench/number.h
contrib_bench_bin_launchpairs_LDADD = libcommon.la -lm
noinst_PROGRAMS += contrib/bench/bin/callturns
contrib_bench_bin_callturns_SOURCES = contrib/bench/callturns.c contrib/bench/number.h
contrib_bench_bin_callturns_LDADD = $(NODESVC_LIBS)
include contrib/bench/realmix/local.mk

# Programs for libcoloc and libcoloc_tasks.
programsdir = $(pkgdatadir)/programs
dist_programs_DATA = contrib/examples/kmeans.c
EXTRA_DIST += contrib/examples/job_submit.lua contrib/examples/coloc.f90 contrib/examples/coloc.py contrib/examples/coloc_mpi.c
dist_check_SCRIPTS += contrib/examples/test_examples.sh
TESTS += contrib/examples/test_examples.sh
include contrib/bench/model/local.mk
include contrib/bench/load/local.mk

# Which lines the tests run, by room: in coverage/ of the build folder (see contrib/coverage).
.PHONY: coverage
coverage:
	@$(srcdir)/contrib/coverage
