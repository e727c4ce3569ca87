# contrib: example programs, benchmarks, packaging, and the two commands of the README.
# Nothing depends on it.
EXTRA_DIST += contrib/ansi-svg contrib/grafana/coloc.json contrib/lib.sh contrib/packages contrib/quickstart \
	contrib/runtests contrib/screenshot contrib/cluster/minislurm
include contrib/programs/local.mk

# Benchmarks: each prints JSON.
EXTRA_DIST += contrib/bench/launch contrib/bench/ompregion contrib/bench/realnode contrib/bench/rebind \
	contrib/bench/waitpolicy contrib/programs/ring.c
noinst_PROGRAMS += contrib/bench/bin/launchpairs
contrib_bench_bin_launchpairs_SOURCES = contrib/bench/launchpairs.c
contrib_bench_bin_launchpairs_LDADD = -lm
include contrib/bench/realmix/local.mk

# libcoloc from other languages
EXTRA_DIST += contrib/examples/job_submit.lua contrib/examples/coloc.f90 contrib/examples/coloc.py contrib/examples/coloc_mpi.c
dist_check_SCRIPTS += contrib/examples/test_examples.sh
TESTS += contrib/examples/test_examples.sh
include contrib/bench/model/local.mk
include contrib/bench/load/local.mk
